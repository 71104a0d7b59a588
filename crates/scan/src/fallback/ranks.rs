//! The engine for starts of matches, as a DFA.
//!
//! Which positions are active does not depend on the starts, and which start a position inherits depends only on their
//! order: the least of those that lead to it, and a match that begins now is the latest. So a state is the active
//! positions, each with the *rank* of its start among all starts of the state. The starts themselves are kept in
//! registers, in the order of the ranks; an entry of the table names, besides the next state, the *move* that brings the
//! registers there, if there is anything to move. Where all paths to a position have one length, its start is the
//! distance from here, and needs no register.
//!
//! States are made when first reached, in bounded memory; see `dfa.rs`. Where they are too many, `starts.rs` runs.
use std::collections::HashMap;
use std::ops::ControlFlow;

use super::effort::Effort;
use super::gate::{Gate, Seen};
use super::program::{Early, Program, VARIES, each, has, set};
use super::skip::{GATE_ALONE, Skip, Worth};

const SPECIAL: u32 = 1 << 31;
/// Bytes without the gate after it did not pay.
const UNGATED: u64 = 1 << 17;
const UNKNOWN: u32 = u32::MAX;
/// The rank of positions before the start of a match.
const RESTS: u32 = u32::MAX;
/// Where a start is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Register(u32),
    /// So many bytes back from here.
    Back(u32),
}

/// A list in one of the arenas.
#[derive(Clone, Copy, Default, Debug)]
struct Range {
    first: u32,
    last: u32,
}

impl Range {
    fn of<T>(self, arena: &[T]) -> &[T] {
        &arena[self.first as usize..self.last as usize]
    }
}

fn append<T>(arena: &mut Vec<T>, items: impl IntoIterator<Item = T>) -> Range {
    let first = arena.len() as u32;
    arena.extend(items);
    Range { first, last: arena.len() as u32 }
}

#[derive(Clone, Copy, Debug)]
struct Report {
    early: Early,
    report: u32,
    start: Source,
}

#[derive(Clone, Copy)]
struct State {
    /// Active positions with their ranks.
    active: Range,
    /// For each rank, its source.
    sources: Range,
    reports: Range,
    skips: bool,
}

/// Memory for [`Ranks::enter`].
#[derive(Default)]
struct Entering {
    active: Vec<(u32, u64)>,
    sorted: Vec<u64>,
    ranked: Vec<(u32, u32)>,
}

/// The states that one thread has made of one program.
pub(super) struct Ranks {
    row: u32,
    /// Memory for [`enter`](Ranks::enter), kept between calls.
    entering: Entering,
    /// For each state and class: the next state, and the number of the move.
    table: Vec<(u32, u32)>,
    states: Vec<State>,
    active: Vec<(u32, u32)>,
    sources: Vec<Source>,
    reports: Vec<Report>,
    moves: Vec<Range>,
    moved: Vec<Source>,
    known: HashMap<Box<[(u32, u32)]>, u32>,
    registers: Vec<u64>,
    next_registers: Vec<u64>,
    /// For a step: each position's least rank, and the positions.
    ranks: Vec<u32>,
    reached: Vec<u32>,
    skip: Option<(Skip, Worth)>,
    /// The candidates of the chunk that is scanned, whether the gate has paid, and bytes still to scan without it.
    seen: Seen,
    gate_worth: Worth,
    ungated: u64,
    budget: usize,
    since: u64,
    effort: Effort,
    /// Bytes still to run without states.
    direct: u64,
}

impl Ranks {
    /// `wakes`: for each byte, whether a match may begin with it.
    pub(super) fn new(program: &Program, wakes: impl Fn(u8) -> bool, budget: usize) -> Ranks {
        Ranks {
            row: program.classes.next_power_of_two().trailing_zeros(),
            entering: Entering::default(),
            table: Vec::new(),
            states: Vec::new(),
            active: Vec::new(),
            sources: Vec::new(),
            reports: Vec::new(),
            // Move 0: none.
            moves: vec![Range::default()],
            moved: Vec::new(),
            known: HashMap::new(),
            registers: Vec::new(),
            next_registers: Vec::new(),
            ranks: vec![RESTS; program.len],
            reached: Vec::new(),
            skip: Skip::new(wakes)
                .filter(|_| program.restarts == 1 && program.gate.is_none())
                .map(|skip| (skip, Worth::default())),
            seen: Seen::default(),
            gate_worth: Worth::default(),
            ungated: 0,
            budget,
            since: 0,
            effort: Effort::default(),
            direct: 0,
        }
    }

    pub(super) fn memory(&self) -> usize {
        let active = self.active.len() * 8 * 3;
        let states =
            self.states.len() * (size_of::<State>() + 32) + self.moves.len() * size_of::<Range>();
        let sources = (self.sources.len() + self.moved.len()) * size_of::<Source>();
        self.table.len() * 8
            + active
            + states
            + sources
            + self.reports.len() * size_of::<Report>()
            + self.ranks.len() * 4
    }

    fn full(&self) -> bool {
        let row = 8 << self.row;
        self.states.len() >= 4
            && (self.memory() + row > self.budget
                || (self.states.len() + 1) << self.row >= SPECIAL as usize)
    }

    fn clear(&mut self) {
        self.table.clear();
        self.states.clear();
        self.active.clear();
        self.sources.clear();
        self.reports.clear();
        self.moves.truncate(1);
        self.moved.clear();
        self.known.clear();
        self.since = 0;
        self.effort.clear();
    }

    /// The state of `active`, which is sorted by position, as an entry.
    fn intern(&mut self, program: &Program, active: &[(u32, u32)]) -> u32 {
        if let Some(&state) = self.known.get(active) {
            return self.entry(state);
        }
        let state = self.states.len() as u32;
        let ranks = active.iter().filter(|it| it.1 != RESTS).map(|it| it.1 + 1).max().unwrap_or(0);
        let mut sources = vec![None; ranks as usize];
        for &(position, rank) in active.iter().filter(|it| it.1 != RESTS) {
            let source = &mut sources[rank as usize];
            match program.depth[position as usize] {
                VARIES => *source = Some(Source::Register(0)),
                depth => *source = source.or(Some(Source::Back(depth))),
            }
        }
        let mut register = 0;
        let sources: Vec<Source> = sources
            .into_iter()
            .map(|source| match source {
                Some(Source::Back(depth)) => Source::Back(depth),
                _ => {
                    register += 1;
                    Source::Register(register - 1)
                }
            })
            .collect();
        let mut reports: Vec<(Early, u32, u32)> = Vec::new();
        for &(position, rank) in active {
            reports.extend(
                program.accept.list(position as usize).iter().map(|it| (it.early, it.report, rank)),
            );
        }
        reports.sort_unstable();
        reports.dedup_by_key(|it| (it.0, it.1));
        let reports = reports.into_iter().map(|(early, report, rank)| Report {
            early,
            report,
            start: sources.get(rank as usize).copied().unwrap_or(Source::Back(0)),
        });
        let reports = append(&mut self.reports, reports);
        self.states.push(State {
            active: append(&mut self.active, active.iter().copied()),
            sources: append(&mut self.sources, sources),
            reports,
            skips: self.can_skip(program, active),
        });
        self.table.resize(self.table.len() + (1 << self.row), (UNKNOWN, 0));
        self.known.insert(active.into(), state);
        self.entry(state)
    }

    /// Whether no match is under way in a state of these positions, and the next one can be searched for.
    fn can_skip(&self, program: &Program, active: &[(u32, u32)]) -> bool {
        let [(position, RESTS)] = *active else { return false };
        match program.gate {
            Some(_) => position != 0 && self.ungated == 0,
            None => self.skip.is_some() && position == 1,
        }
    }

    fn entry(&self, state: u32) -> u32 {
        let it = &self.states[state as usize];
        let special =
            it.reports.first != it.reports.last || it.skips || it.active.first == it.active.last;
        (state << self.row) | if special { SPECIAL } else { 0 }
    }

    fn state(&self, row: u32) -> State {
        self.states[(row >> self.row) as usize]
    }

    /// The start that `source` has behind `at` bytes.
    fn start(&self, source: Source, at: u64) -> u64 {
        match source {
            Source::Register(register) => self.registers[register as usize],
            Source::Back(depth) => at.wrapping_sub(u64::from(depth)),
        }
    }

    /// The state of these positions and starts, behind `at` bytes; sets the registers.
    fn enter(&mut self, program: &Program, bits: &[u64], starts: &[u64], at: u64) -> u32 {
        let Entering { mut active, mut sorted, mut ranked } = std::mem::take(&mut self.entering);
        active.clear();
        each(bits, bits, |position| {
            let start = match program.depth[position] {
                VARIES => starts[position],
                depth => at.wrapping_sub(u64::from(depth)),
            };
            active.push((position as u32, start));
        });
        let rests = |position: u32| position as usize <= program.restarts;
        sorted.clear();
        sorted.extend(active.iter().filter(|it| !rests(it.0)).map(|it| it.1));
        sorted.sort_unstable();
        sorted.dedup();
        let rank = |start: u64| sorted.partition_point(|other| *other < start) as u32;
        ranked.clear();
        ranked.extend(active.iter().map(|&(position, start)| {
            (position, if rests(position) { RESTS } else { rank(start) })
        }));
        let state = self.intern(program, &ranked) & !SPECIAL;
        self.registers.clear();
        for (source, start) in self.state(state).sources.of(&self.sources).iter().zip(&sorted) {
            if let Source::Register(_) = source {
                self.registers.push(*start);
            }
        }
        self.entering = Entering { active, sorted, ranked };
        state
    }

    /// The inverse of `enter`.
    fn leave(&self, program: &Program, state: u32, at: u64, bits: &mut [u64], starts: &mut [u64]) {
        bits.fill(0);
        let state = self.state(state);
        let sources = state.sources.of(&self.sources);
        for &(position, rank) in state.active.of(&self.active) {
            set(bits, position as usize);
            if program.depth[position as usize] == VARIES {
                starts[position as usize] = self.start(sources[rank as usize], at);
            }
        }
    }

    /// Makes the entry of a state for a class.
    fn make(&mut self, program: &Program, from: u32, class: u8) -> (u32, u32) {
        let state = self.state(from);
        let news = state.sources.last - state.sources.first;
        let reach = &program.reach[usize::from(class) * program.words..][..program.words];
        let Ranks { active, ranks, reached, .. } = self;
        reached.clear();
        for &(position, rank) in state.active.of(active) {
            // A match that begins here is later than all others.
            let rank = if rank == RESTS { news } else { rank };
            let mut reach = |word: usize, bits: u64| {
                let mut bits = bits & reach[word];
                while bits != 0 {
                    let to = word << 6 | bits.trailing_zeros() as usize;
                    bits &= bits - 1;
                    if ranks[to] == RESTS {
                        reached.push(to as u32);
                    }
                    ranks[to] = ranks[to].min(rank);
                }
            };
            let at = position as usize;
            if has(&program.shift, at) {
                reach((at + 1) >> 6, 1 << ((at + 1) & 63));
            }
            if has(&program.exceptional, at) {
                for to in program.follow.list(program.exception[at] as usize) {
                    reach(to.word as usize, to.bits);
                }
            }
        }
        reached.sort_unstable();
        let rests = |position: u32| position as usize <= program.restarts;
        let mut used: Vec<u32> =
            reached.iter().filter(|to| !rests(**to)).map(|to| ranks[*to as usize]).collect();
        used.sort_unstable();
        used.dedup();
        let rank = |to: u32| {
            if rests(to) {
                RESTS
            } else {
                used.partition_point(|rank| *rank < ranks[to as usize]) as u32
            }
        };
        let next: Vec<(u32, u32)> = reached.iter().map(|&to| (to, rank(to))).collect();
        reached.iter().for_each(|to| ranks[*to as usize] = RESTS);
        let entry = self.intern(program, &next);
        let sources = state.sources.of(&self.sources);
        let to = self.state(entry & !SPECIAL).sources.of(&self.sources);
        let moved: Vec<Source> = to
            .iter()
            .zip(&used)
            .filter(|(to, _)| matches!(to, Source::Register(_)))
            .map(|(_, from)| sources.get(*from as usize).copied().unwrap_or(Source::Back(0)))
            .collect();
        let stays = moved.iter().zip(0..).all(|(from, to)| *from == Source::Register(to));
        let entry = if stays {
            (entry, 0)
        } else {
            self.moves.push(append(&mut self.moved, moved));
            (entry | SPECIAL, self.moves.len() as u32 - 1)
        };
        self.table[from as usize + usize::from(class)] = entry;
        entry
    }

    /// Scans `chunk` from the positions `bits` with their `starts`. Returns the bytes done: all, or those before the
    /// states were too many.
    pub(super) fn scan(
        &mut self,
        program: &Program,
        bits: &mut [u64],
        starts: &mut [u64],
        offset: u64,
        chunk: &[u8],
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), usize> {
        if self.direct > 0 {
            self.direct = self.direct.saturating_sub(chunk.len() as u64);
            return ControlFlow::Continue(0);
        }
        if self.full() {
            self.clear();
        }
        if self.ungated > 0 {
            self.ungated = self.ungated.saturating_sub(chunk.len() as u64);
            if self.ungated == 0 {
                // States are made anew, so that they skip.
                self.clear();
            }
        }
        let mut state = self.enter(program, bits, starts, offset);
        self.seen = Seen::default();
        let mut at = self.skip(program, &mut state, chunk, 0);
        let mut counted = 0;
        while let Some((mut entry, mut step)) = self.run(program, &mut state, chunk, &mut at) {
            let here = offset.wrapping_add(at as u64);
            if entry == UNKNOWN {
                let bytes = self.since + (at - counted) as u64;
                let full = self.full();
                if let Some(direct) = self.effort.direct(bytes, self.states.len(), full) {
                    self.direct = direct;
                    self.since = bytes;
                    self.leave(program, state, here, bits, starts);
                    return ControlFlow::Continue(at);
                }
                if full {
                    self.leave(program, state, here, bits, starts);
                    self.clear();
                    counted = at;
                    state = self.enter(program, bits, starts, here);
                }
                (entry, step) = self.make(program, state, program.class[usize::from(chunk[at])]);
            }
            if step != 0 {
                self.next_registers.clear();
                for source in self.moves[step as usize].of(&self.moved) {
                    let start = self.start(*source, here);
                    self.next_registers.push(start);
                }
                std::mem::swap(&mut self.registers, &mut self.next_registers);
            }
            state = entry & !SPECIAL;
            at += 1;
            let it = self.state(state);
            if it.active.first == it.active.last {
                at = chunk.len();
                break;
            }
            for report in it.reports.of(&self.reports) {
                let at = here.wrapping_add(1);
                hit(report.report, self.start(report.start, at), report.early.end(at))?;
            }
            if it.skips {
                at = self.skip(program, &mut state, chunk, at);
            }
        }
        self.since += (at - counted) as u64;
        self.leave(program, state, offset.wrapping_add(at as u64), bits, starts);
        ControlFlow::Continue(at)
    }

    #[inline(always)]
    fn run(
        &self,
        program: &Program,
        state: &mut u32,
        chunk: &[u8],
        at: &mut usize,
    ) -> Option<(u32, u32)> {
        let (table, class) = (&self.table[..], &program.class);
        let mut now = *state;
        for (index, &byte) in chunk[*at..].iter().enumerate() {
            let entry = table[now as usize + usize::from(class[usize::from(byte)])];
            if entry.0 & SPECIAL != 0 {
                *at += index;
                *state = now;
                return Some(entry);
            }
            now = entry.0;
        }
        *at = chunk.len();
        *state = now;
        None
    }

    /// The next place at which `state` is left, if it is at rest.
    fn skip(&mut self, program: &Program, state: &mut u32, chunk: &[u8], at: usize) -> usize {
        let it = self.state(*state);
        if let (true, Some(gate)) = (it.skips && self.ungated == 0, &program.gate) {
            return self.pass_gate(program, gate, state, chunk, at);
        }
        let state = *state;
        let (true, Some((skip, worth))) = (it.skips, &mut self.skip) else {
            return at;
        };
        let to = skip.find(chunk, at);
        if !worth.add(to - at, skip) {
            // Not worth it: the entries lead here without a stop, unless they have a move.
            self.skip = None;
            self.states[(state >> self.row) as usize].skips = false;
            if it.reports.first == it.reports.last {
                let entry = (state | SPECIAL, 0);
                self.table.iter_mut().filter(|it| **it == entry).for_each(|it| it.0 = state);
            }
        }
        to
    }

    /// The next place at which a match may begin.
    fn pass_gate(
        &mut self,
        program: &Program,
        gate: &Gate,
        state: &mut u32,
        chunk: &[u8],
        at: usize,
    ) -> usize {
        let candidate = gate.find(chunk, at, &mut self.seen);
        let to = gate.begin(chunk, at, candidate);
        if !self.gate_worth.passes(to - at, GATE_ALONE) {
            // The entries lead to states at rest without a stop, until all are made anew.
            self.ungated = UNGATED;
            for entry in self.table.iter_mut().filter(|it| it.0 != UNKNOWN && it.1 == 0) {
                let row = entry.0 & !SPECIAL;
                if self.states[(row >> self.row) as usize].skips {
                    entry.0 = row;
                }
            }
            self.states.iter_mut().for_each(|it| it.skips = false);
        }
        if to > at && program.restarts > 1 {
            let Some(position) = program.restart(chunk[to - 1]) else { return at };
            if self.full() {
                return at;
            }
            *state = self.intern(program, &[(position as u32, RESTS)]) & !SPECIAL;
            self.registers.clear();
        }
        to
    }
}
