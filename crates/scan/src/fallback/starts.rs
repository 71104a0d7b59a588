//! The engine for starts of matches: each active position knows the least offset at which its match can have begun.
//!
//! Where all paths to a position have one length the start is the distance from here; only other positions need a
//! number of their own.
use std::ops::ControlFlow;

use super::program::{Early, Program, VARIES, each, has, set};
use super::ranks::Ranks;

/// A match, in the order of reporting.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    early: Early,
    report: u32,
    start: u64,
}

/// One thread's memory for one program.
pub(super) struct Starts {
    /// For each position before the first of a fragment and each byte: whether another than a restart follows.
    wakes: Vec<[bool; 256]>,
    /// The restart position of each byte; 0 if there are none.
    restart: [u8; 256],
    bits: Vec<u64>,
    next_bits: Vec<u64>,
    starts: Vec<u64>,
    next_starts: Vec<u64>,
    found: Vec<Found>,
    /// The same, state by state.
    ranks: Ranks,
}

impl Starts {
    pub(super) fn new(program: &Program, budget: usize) -> Starts {
        let mut it = Starts {
            wakes: vec![[false; 256]; program.restarts + 1],
            restart: [0; 256],
            bits: vec![0; program.words],
            next_bits: vec![0; program.words],
            starts: vec![0; program.len],
            next_starts: vec![0; program.len],
            found: Vec::new(),
            ranks: Ranks::new(program, |_| true, budget),
        };
        for at in 0..=program.restarts {
            it.bits.fill(0);
            set(&mut it.bits, at);
            for byte in 0..256 {
                program.step(&it.bits, program.class[byte], &mut it.next_bits);
                it.wakes[at][byte] = !program.accept.list(at).is_empty();
                let mut active = 0;
                each(&it.next_bits, &vec![u64::MAX; program.words], |to| {
                    active += 1;
                    if to <= program.restarts {
                        it.restart[byte] = to as u8;
                    } else {
                        it.wakes[at][byte] = true;
                    }
                });
                it.wakes[at][byte] |= active != 1;
            }
        }
        // A restart position that reports is not passed over.
        for byte in 0..256 {
            if !program.accept.list(usize::from(it.restart[byte])).is_empty() {
                it.wakes.iter_mut().for_each(|wakes| wakes[byte] = true);
            }
        }
        let wakes = &it.wakes[it.wakes.len() - 1];
        it.ranks = Ranks::new(program, |byte| wakes[usize::from(byte)], budget);
        it
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.wakes.len() * 256 + (self.bits.len() + self.starts.len()) * 16 + self.ranks.memory()
    }

    /// The position that is the only active one, if it is the start or a restart.
    fn resting(&self, program: &Program) -> Option<usize> {
        let first = self.bits[0];
        let at = first.trailing_zeros() as usize;
        (first.is_power_of_two()
            && at <= program.restarts
            && self.bits[1..].iter().all(|&bits| bits == 0))
        .then_some(at)
    }

    fn report(
        &mut self,
        program: &Program,
        end: Option<bool>,
        at: u64,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Starts { bits, starts, found, .. } = self;
        found.clear();
        let start = |position: usize| match program.depth[position] {
            VARIES => starts[position],
            depth => at.wrapping_sub(u64::from(depth)),
        };
        if end != Some(true) {
            each(bits, &program.accepting, |position| {
                let start = start(position);
                found.extend(program.accept.list(position).iter().map(|it| Found {
                    early: it.early,
                    report: it.report,
                    start,
                }));
            });
        }
        if end.is_some() {
            let known: Vec<(Early, u32)> = match end {
                Some(true) => {
                    let mut known = Vec::new();
                    each(bits, &program.accepting, |position| {
                        known.extend(
                            program.accept.list(position).iter().map(|it| (it.early, it.report)),
                        );
                    });
                    known
                }
                _ => Vec::new(),
            };
            each(bits, &program.accepting_end, |position| {
                let start = start(position);
                let list = program.accept_end.list(position).iter();
                let new = list.filter(|it| !known.contains(&(it.early, it.report)));
                found.extend(new.map(|it| Found { early: it.early, report: it.report, start }));
            });
        }
        found.sort_unstable();
        found.dedup_by_key(|it| (it.early, it.report));
        found.iter().try_for_each(|it| hit(it.report, it.start, it.early.end(at)))
    }

    /// The positions and starts to go on from. `saved` has the starts of the positions that vary, in their order.
    pub(super) fn load(&mut self, program: &Program, bits: &[u64], saved: &[u8]) {
        self.bits.copy_from_slice(bits);
        let varying =
            program.depth.iter().zip(&mut self.starts).filter(|(depth, _)| **depth == VARIES);
        for ((_, start), saved) in varying.zip(saved.as_chunks().0) {
            *start = u64::from_le_bytes(*saved);
        }
    }

    /// The inverse of [`load`](Starts::load). Starts of positions that are not active are saved as 0.
    pub(super) fn save(&self, program: &Program, bits: &mut [u64], saved: &mut [u8]) {
        bits.copy_from_slice(&self.bits);
        let varying = program
            .depth
            .iter()
            .zip(&self.starts)
            .enumerate()
            .filter(|(_, (depth, _))| **depth == VARIES);
        for ((at, (_, start)), saved) in varying.zip(saved.as_chunks_mut().0) {
            *saved = if has(bits, at) { start.to_le_bytes() } else { [0; 8] };
        }
    }

    /// Scans from what [`load`](Starts::load) has set.
    pub(super) fn scan(
        &mut self,
        program: &Program,
        offset: u64,
        chunk: &[u8],
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Starts { ranks, bits, starts, .. } = self;
        let mut at = ranks.scan(program, bits, starts, offset, chunk, hit)?;
        while at < chunk.len() {
            if let Some(mut resting) = self.resting(program) {
                let rest = &chunk[at..];
                let quiet = if program.restarts == 1 && resting == 1 {
                    let wakes = &self.wakes[1];
                    rest.iter().position(|&byte| wakes[usize::from(byte)])
                } else {
                    rest.iter().position(|&byte| {
                        let wakes = self.wakes[resting][usize::from(byte)];
                        if !wakes {
                            resting = usize::from(self.restart[usize::from(byte)]);
                        }
                        wakes
                    })
                };
                let quiet = quiet.unwrap_or(rest.len());
                self.bits[0] = 1 << resting;
                at += quiet;
                if at == chunk.len() {
                    break;
                }
            } else if self.bits.iter().all(|&bits| bits == 0) {
                break;
            }
            self.step(
                program,
                offset.wrapping_add(at as u64),
                program.class[usize::from(chunk[at])],
            );
            at += 1;
            if self.bits.iter().zip(&program.accepting).any(|(bits, mask)| bits & mask != 0) {
                self.report(program, None, offset.wrapping_add(at as u64), hit)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// One byte, before which `at` were scanned.
    fn step(&mut self, program: &Program, at: u64, class: u8) {
        let Starts { bits, next_bits, starts, next_starts, .. } = self;
        next_bits.fill(0);
        let reach = &program.reach[usize::from(class) * program.words..][..program.words];
        let mut reached = |word: usize, mut to: u64, start: u64| {
            to &= reach[word];
            let new = to & !next_bits[word];
            next_bits[word] |= to;
            while to != 0 {
                let bit = to & to.wrapping_neg();
                let to_position = word << 6 | bit.trailing_zeros() as usize;
                to ^= bit;
                let known = &mut next_starts[to_position];
                *known = if new & bit != 0 { start } else { start.min(*known) };
            }
        };
        for (word, &bits) in bits.iter().enumerate() {
            let mut rest = bits;
            while rest != 0 {
                let from = word << 6 | rest.trailing_zeros() as usize;
                rest &= rest - 1;
                let start = match program.depth[from] {
                    VARIES => starts[from],
                    depth => at.wrapping_sub(u64::from(depth)),
                };
                if has(&program.shift, from) {
                    reached((from + 1) >> 6, 1 << ((from + 1) & 63), start);
                }
                if has(&program.exceptional, from) {
                    for to in program.follow.list(program.exception[from] as usize) {
                        reached(to.word as usize, to.bits, start);
                    }
                }
            }
        }
        std::mem::swap(bits, next_bits);
        std::mem::swap(starts, next_starts);
    }

    /// Reports what matches at the end of the data, behind `offset` bytes.
    pub(super) fn end(
        &mut self,
        program: &Program,
        offset: u64,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.report(program, Some(offset != 0), offset, hit)
    }

    /// Reports the empty matches before the first byte.
    pub(super) fn begin(
        &mut self,
        program: &Program,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.report(program, None, 0, hit)
    }
}
