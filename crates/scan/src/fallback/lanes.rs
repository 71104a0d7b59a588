//! Four parts of a chunk at once.
//!
//! A DFA waits for each entry before it can ask for the next one: five cycles a byte, in which the processor could do
//! four times as much. So a chunk is cut into four lanes, which take their steps in turn. Lane 0 begins in the true
//! state. The others begin where no match is under way, a few bytes early: most automata forget quickly what was before.
//! Each lane keeps what it finds, and its state after each block. Then, lane by lane: if the lane before has ended in
//! the state in which this one began, this one was right; else it is walked again from the true state, until that is the
//! state which the lane had at the end of the same block. From there on it was right.
//!
//! Nothing is reported before it is known to be true. Where lanes are wrong too often, they are not used for a while.
use std::ops::ControlFlow;

use super::dfa::{DEAD, Dfa, Go, ROW, SPECIAL, UNKNOWN, emit};
use super::program::{Program, set};

/// Chains of steps side by side.
const LANES: usize = 4;
/// Bytes after which a lane's state is kept.
const BLOCK: usize = 32;
/// Bytes before a lane in which it forgets.
const EARLY: usize = 16;
/// Least length of a lane.
const LEAST: usize = 128;
/// Bytes without lanes after they have failed, or with lanes until it is looked at again whether skipping is better.
const INTERVAL: u64 = 1 << 17;

/// What is known of the data: whether to walk (and skip) or to use lanes.
#[derive(Default, Debug)]
pub(super) struct Pace {
    /// Bytes walked, of which some were skipped by so many searches.
    pub(super) walked: u64,
    pub(super) skipped: u64,
    pub(super) searches: u64,
    /// Bytes of lanes, and those walked again.
    laned: u64,
    again: u64,
    /// Bytes until the next decision, and the last one.
    rest: u64,
    pub(super) use_lanes: bool,
}

impl Pace {
    /// The costs in cycles, about: 5 a step, 1/2 a skipped byte, 12 a search; 2 a byte in lanes.
    fn decide(&mut self, entries: usize) {
        let steps = self.walked.saturating_sub(self.skipped);
        let walk = steps * 10 + self.skipped + self.searches * 24;
        self.use_lanes =
            if self.use_lanes { self.again * 4 < self.laned } else { walk > self.walked * 5 };
        *self = Pace { use_lanes: self.use_lanes, ..Pace::default() };
        // A change passes over all entries.
        self.rest = INTERVAL.max(entries as u64 * 16);
    }
}

/// Memory of the lanes.
#[derive(Default)]
pub(super) struct Lanes {
    /// The state after each block, lanes side by side.
    blocks: Vec<[u32; LANES]>,
    /// Bytes into the lane, and the state that reports.
    found: [Vec<(u32, u32)>; LANES],
    /// Bytes of lanes, and those walked again, since the beginning.
    pub(super) total: (u64, u64),
}

impl Dfa {
    /// Whether a chunk is long enough for lanes.
    pub(super) fn fits_lanes(len: usize) -> bool {
        len >= LANES * LEAST
    }

    /// Decides from time to time whether skipping pays. `len` bytes come.
    pub(super) fn decide_pace(&mut self, program: &Program, len: usize) {
        if program.restarts == 0 {
            return;
        }
        let entries = self.entries();
        let pace = &mut self.pace;
        if pace.rest == 0 {
            if pace.use_lanes && pace.laned > 0 && pace.again * 4 < pace.laned {
                // Once in a while: would skipping be better?
                *pace = Pace { rest: len.max(4096) as u64, ..Pace::default() };
            } else if pace.walked >= 1024 || pace.laned > 0 {
                pace.decide(entries);
            }
        }
        pace.rest = pace.rest.saturating_sub(len as u64);
    }

    /// The state in which no match is under way behind `byte`, as a row, and the same expressions have left as in `state`;
    /// `None` if there is no room for it.
    pub(super) fn resting(&mut self, program: &Program, state: u32, byte: u8) -> Option<u32> {
        let at = program.restart(byte)?;
        if self.full(program) {
            return None;
        }
        let known = program.len.div_ceil(64);
        let mut next = std::mem::take(&mut self.next);
        next.copy_from_slice(self.positions(program, state));
        next[..known].fill(0);
        set(&mut next, at);
        self.next = next;
        Some(self.intern(program) & ROW)
    }

    /// The entry for `byte` in row `state`; `None` if the lanes must be given up.
    fn lane_entry(&mut self, program: &Program, state: u32, byte: u8) -> Option<u32> {
        let entry = self.table[state as usize + usize::from(program.class[usize::from(byte)])];
        if entry != UNKNOWN {
            return Some(entry);
        }
        // Throwing states away would void the other lanes'.
        (!self.full(program)).then(|| self.make(program, state, byte))
    }

    /// Scans most of `chunk` in lanes; on return, `state` is that at `at`, and all matches up to there are reported.
    pub(super) fn lanes(
        &mut self,
        program: &Program,
        state: &mut u32,
        offset: u64,
        chunk: &[u8],
        at: &mut usize,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), Go> {
        let mut lanes = std::mem::take(&mut self.lanes);
        let len = chunk.len() / LANES / BLOCK * BLOCK;
        let before = self.pace.again;
        let go = match self.run_lanes(program, *state, chunk, len, &mut lanes) {
            Some(begin) => {
                self.prove_lanes(program, begin, &lanes, (state, at), (offset, chunk, len), hit)
            }
            None => {
                self.pace.use_lanes = false;
                self.pace.rest = INTERVAL;
                ControlFlow::Continue(Go::On)
            }
        };
        lanes.total.0 += *at as u64;
        lanes.total.1 += self.pace.again - before;
        self.lanes = lanes;
        go
    }

    /// Runs the lanes. Returns the states in which they began.
    fn run_lanes(
        &mut self,
        program: &Program,
        state: u32,
        chunk: &[u8],
        len: usize,
        lanes: &mut Lanes,
    ) -> Option<[u32; LANES]> {
        let (first, mut states) = (state, [state; LANES]);
        for (lane, state) in states.iter_mut().enumerate().skip(1) {
            let from = lane * len - EARLY;
            *state = self.resting(program, first, chunk[from - 1])?;
        }
        for early in 0..EARLY {
            for (lane, state) in states.iter_mut().enumerate().skip(1) {
                *state = self.lane_entry(program, *state, chunk[lane * len - EARLY + early])? & ROW;
            }
        }
        let begin = states;
        lanes.blocks.clear();
        lanes.found.iter_mut().for_each(Vec::clear);
        let bytes: [&[[u8; BLOCK]]; LANES] =
            std::array::from_fn(|lane| chunk[lane * len..][..len].as_chunks().0);
        for block in 0..len / BLOCK {
            let bytes: [&[u8; BLOCK]; LANES] = std::array::from_fn(|lane| &bytes[lane][block]);
            let classes = classify(&program.class, bytes);
            let mut at = 0;
            loop {
                at = steps(&self.table, &classes, &mut states, at);
                if at == BLOCK {
                    break;
                }
                for lane in 0..LANES {
                    let entry = self.lane_entry(program, states[lane], bytes[lane][at])?;
                    let state = entry & ROW;
                    states[lane] = state;
                    if entry & SPECIAL != 0 {
                        if state == DEAD {
                            return None;
                        }
                        lanes.found[lane].push(((block * BLOCK + at + 1) as u32, state));
                    }
                }
                at += 1;
            }
            lanes.blocks.push(states);
        }
        Some(begin)
    }

    /// Reports what the lanes have found, once it is known to be true.
    fn prove_lanes(
        &mut self,
        program: &Program,
        begin: [u32; LANES],
        lanes: &Lanes,
        (state, at): (&mut u32, &mut usize),
        (offset, chunk, len): (u64, &[u8], usize),
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), Go> {
        let last = lanes.blocks[len / BLOCK - 1];
        for lane in 0..LANES {
            let clears = self.clears;
            let first = lane * len;
            let mut right = *state == begin[lane];
            for block in lanes.blocks.iter() {
                if right || *at == first + len {
                    break;
                }
                let to = *at + BLOCK;
                self.pace.again += BLOCK as u64;
                let mut go = self.walk(program, state, offset, &chunk[..to], at, hit)?;
                if go == Go::Over {
                    // The state is asked for.
                    if self.full(program) {
                        self.throw_away(program);
                    }
                    let Dfa { current, next, .. } = self;
                    next.copy_from_slice(current);
                    *state = self.intern(program) & ROW;
                    go = Go::On;
                }
                if go == Go::Direct || self.clears != clears {
                    return ControlFlow::Continue(go);
                }
                right = *state == block[lane];
            }
            if right {
                let from = (*at - first) as u32;
                let found = &lanes.found[lane];
                for &(to, state) in &found[found.partition_point(|it| it.0 <= from)..] {
                    emit(
                        self.reports(state),
                        offset.wrapping_add((first + to as usize) as u64),
                        hit,
                    )?;
                }
                *state = last[lane];
                *at = first + len;
            }
        }
        self.since += *at as u64;
        self.pace.laned += *at as u64;
        ControlFlow::Continue(Go::On)
    }
}

/// The classes of a block's bytes, lanes side by side.
#[inline(always)]
fn classify(class: &[u8; 256], bytes: [&[u8; BLOCK]; LANES]) -> [[u8; LANES]; BLOCK] {
    std::array::from_fn(|at| std::array::from_fn(|lane| class[usize::from(bytes[lane][at])]))
}

/// Steps of all lanes from `at` on, up to one that any lane has to stop for.
///
/// A function of its own, so that the chains of steps are kept in registers.
#[inline(never)]
fn steps(
    table: &[u32],
    classes: &[[u8; LANES]; BLOCK],
    states: &mut [u32; LANES],
    at: usize,
) -> usize {
    let [mut a, mut b, mut c, mut d] = *states;
    let mut steps = at;
    for classes in &classes[at..] {
        let next_a = table[a as usize + usize::from(classes[0])];
        let next_b = table[b as usize + usize::from(classes[1])];
        let next_c = table[c as usize + usize::from(classes[2])];
        let next_d = table[d as usize + usize::from(classes[3])];
        if (next_a | next_b | next_c | next_d) & SPECIAL != 0 {
            break;
        }
        // Without `SKIPS` (see `set_skipping`), and not special: a row.
        (a, b, c, d) = (next_a, next_b, next_c, next_d);
        steps += 1;
    }
    *states = [a, b, c, d];
    steps
}
