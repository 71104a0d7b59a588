//! A program run as a DFA whose states are made when they are first reached, in bounded memory.
//!
//! ```text
//! next = table[state + class[byte]]        (states are numbered in steps of the table's row)
//! ```
//!
//! An entry with [`SPECIAL`] leaves the inner loop: the next state is unknown, dead, reports, or leaves itself on so
//! few bytes that a search for them is faster. A full cache is thrown away; if that happens again and again, the
//! program is run bit by bit for a while.
use std::ops::ControlFlow;

use super::effort::Effort;
use super::gate::Seen;
use super::lanes::{Lanes, Pace};
use super::narrow::AnyNarrow;
use super::passing::Passing;
use super::program::{NO_START, Program, Report};
use super::skip::{GATE_ALONE, Skip, Worth};
use super::spent::Spent;

/// Marks entries that need more than a move.
pub(super) const SPECIAL: u32 = 1 << 31;
/// Marks entries to states that skip.
pub(super) const SKIPS: u32 = 1 << 30;
/// The bits of an entry that are the next state.
pub(super) const ROW: u32 = SKIPS - 1;
/// No entry yet.
pub(super) const UNKNOWN: u32 = u32::MAX;
/// The state of no positions, from which nothing matches any more.
pub(super) const DEAD: u32 = 0;
/// For so many states it is looked at whether they can skip.
const SKIPPING_STATES: usize = 256;
#[derive(Clone, Copy)]
struct Meta {
    first_report: u32,
    last_report: u32,
    /// Number in `skips`, or [`NO_SKIP`].
    skip: u32,
}

const NO_SKIP: u32 = u32::MAX;
/// In `Meta::skip`, less how many bytes ago no match was under way (0 or 1): the program's gate finds where to go on.
const GATED: u32 = u32::MAX - 1;
/// Bytes without the gate after it did not pay.
const UNGATED: u64 = 1 << 17;

/// How a scan goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Go {
    /// State by state.
    On,
    /// Bit by bit.
    Direct,
    /// Not at all: the chunk is over.
    Over,
}

/// Where in a chunk it is.
pub(super) struct Cursor {
    /// A row.
    pub(super) state: u32,
    pub(super) at: usize,
    /// Bytes up to here are [`walked`](Dfa::walked).
    pub(super) counted: usize,
}

/// The states that one thread has made of one program.
pub(super) struct Dfa {
    /// Log2 of the length of a row.
    row: u32,
    pub(super) table: Vec<u32>,
    bits: Vec<u64>,
    meta: Vec<Meta>,
    reports: Vec<Report>,
    skips: Vec<(Skip, Worth)>,
    /// Open hash table of state numbers + 1; 0 is free.
    slots: Vec<u32>,
    pub(super) budget: usize,
    /// More memory would be of use.
    pub(super) short: bool,
    /// Bytes since the cache was empty.
    pub(super) since: u64,
    effort: Effort,
    /// Bytes still to run without states.
    direct: u64,
    pub(super) current: Vec<u64>,
    pub(super) next: Vec<u64>,
    pub(super) list: Vec<Report>,
    /// Where the next byte of the program's key is in the chunk that is walked, if it is known.
    next_key: Option<usize>,
    /// A search for the program's key did not pay.
    key_is_common: bool,
    /// Whether entries have [`SKIPS`].
    skipping: bool,
    /// The candidates of the chunk that is walked.
    seen: Seen,
    /// Whether the gate has paid so far.
    gate_worth: Worth,
    /// The skipped bytes of a search by the gate that pay for it.
    pub(super) gate_least: u64,
    /// Bytes still to scan without it.
    ungated: u64,
    /// The state that a scan began in, as a row, or [`UNKNOWN`].
    entered: u32,
    /// The state of each restart position alone, as a row, or [`UNKNOWN`]; and the expressions that have left in all of them.
    rests: Vec<u32>,
    rests_spent: Vec<u64>,
    pub(super) pace: Pace,
    pub(super) lanes: Lanes,
    narrow: AnyNarrow,
    pub(super) passing: Passing,
    /// How often the cache was thrown away, and bytes that ran without.
    pub(super) clears: u64,
    pub(super) direct_bytes: u64,
}

/// Emits what a state reports behind `at` bytes.
pub(super) fn emit(
    reports: &[Report],
    at: u64,
    hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
) -> ControlFlow<()> {
    for it in reports {
        let end = it.early.end(at);
        let start =
            if it.length.0 == NO_START { 0 } else { end.wrapping_sub(u64::from(it.length.0)) };
        hit(it.report, start, end)?;
    }
    ControlFlow::Continue(())
}

impl Dfa {
    pub(super) fn new(program: &Program, budget: usize) -> Dfa {
        let mut it = Dfa {
            row: program.classes.next_power_of_two().trailing_zeros(),
            table: Vec::new(),
            bits: Vec::new(),
            meta: Vec::new(),
            reports: Vec::new(),
            skips: Vec::new(),
            slots: vec![0; 64],
            budget,
            short: false,
            since: 0,
            effort: Effort::default(),
            direct: 0,
            current: vec![0; program.words],
            next: vec![0; program.words],
            list: Vec::new(),
            next_key: None,
            key_is_common: false,
            skipping: true,
            seen: Seen::default(),
            gate_worth: Worth::default(),
            gate_least: GATE_ALONE,
            ungated: 0,
            entered: UNKNOWN,
            rests: vec![UNKNOWN; program.restarts],
            rests_spent: vec![0; program.spent.as_ref().map_or(0, Spent::words)],
            pace: Pace::default(),
            lanes: Lanes::default(),
            narrow: AnyNarrow::None,
            passing: Passing::default(),
            clears: 0,
            direct_bytes: 0,
        };
        it.clear(program);
        it
    }

    /// Bytes of memory in use.
    pub(super) fn memory(&self) -> usize {
        let numbers = self.table.len() + self.slots.len();
        numbers * 4
            + self.narrow.memory()
            + self.passing.memory()
            + self.bits.len() * 8
            + self.meta.len() * size_of::<Meta>()
            + self.reports.len() * size_of::<Report>()
            + self.skips.len() * size_of::<(Skip, Worth)>()
    }

    /// States made.
    pub(super) fn states(&self) -> usize {
        self.meta.len()
    }

    fn clear(&mut self, program: &Program) {
        self.table.clear();
        self.bits.clear();
        self.meta.clear();
        self.reports.clear();
        self.skips.clear();
        self.entered = UNKNOWN;
        self.rests.fill(UNKNOWN);
        self.slots.fill(0);
        self.since = 0;
        self.effort.clear();
        self.passing.clear();
        self.next.fill(0);
        let dead = self.intern(program);
        debug_assert_eq!(dead & ROW, DEAD);
    }

    /// Whether there is no room for another state.
    pub(super) fn full(&self, program: &Program) -> bool {
        let state = (4 << self.row)
            + program.words * 8
            + size_of::<Meta>()
            + 16
            + size_of::<(Skip, Worth)>();
        self.meta.len() >= 4
            && (self.memory() + state > self.budget
                || (self.meta.len() + 1) << self.row >= SKIPS as usize)
    }

    pub(super) fn hash(bits: &[u64]) -> usize {
        let mut hash = 0u64;
        for &word in bits {
            hash = (hash.rotate_left(23) ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            hash ^= hash >> 32;
        }
        hash as usize
    }

    /// The number of the state of the positions `self.next`, or the slot that it is to have.
    fn find(&self, program: &Program) -> Result<u32, usize> {
        let words = program.words;
        let mask = self.slots.len() - 1;
        let mut slot = Self::hash(&self.next) & mask;
        while let Some(state) = self.slots[slot].checked_sub(1) {
            if self.bits[state as usize * words..][..words] == self.next[..] {
                return Ok(state);
            }
            slot = (slot + 1) & mask;
        }
        Err(slot)
    }

    /// The state of the positions `self.next`, as an entry, if it is made.
    pub(super) fn known(&self, program: &Program) -> Option<u32> {
        self.find(program).ok().map(|state| self.entry(state))
    }

    /// The state of the positions `self.next`, as an entry.
    pub(super) fn intern(&mut self, program: &Program) -> u32 {
        let words = program.words;
        let slot = match self.find(program) {
            Ok(state) => return self.entry(state),
            Err(slot) => slot,
        };
        let state = self.meta.len() as u32;
        self.slots[slot] = state + 1;
        self.bits.extend_from_slice(&self.next);
        program.reports(&self.next, &mut self.list);
        let first_report = self.reports.len() as u32;
        self.reports.extend_from_slice(&self.list);
        self.meta.push(Meta {
            first_report,
            last_report: self.reports.len() as u32,
            skip: NO_SKIP,
        });
        if self.meta.len() * 2 > self.slots.len() {
            self.grow(words);
        }
        let first = self.table.len();
        self.table.resize(first + (1 << self.row), UNKNOWN);
        if state == DEAD {
            self.table[first..].fill(SPECIAL | DEAD);
        } else {
            let gate = program.gate.as_ref().filter(|_| first_report == self.reports.len() as u32);
            if let Some(rested) =
                gate.and_then(|gate| gate.rested(&self.next[..program.len.div_ceil(64)]))
            {
                self.meta[state as usize].skip = GATED - rested as u32;
            } else if program.skips && (state as usize) < SKIPPING_STATES {
                self.learn_skip(program, state);
            }
        }
        self.entry(state)
    }

    fn grow(&mut self, words: usize) {
        let mut slots = vec![0; self.slots.len() * 2];
        let mask = slots.len() - 1;
        for (state, bits) in self.bits.chunks_exact(words).enumerate() {
            let mut slot = Self::hash(bits) & mask;
            while slots[slot] != 0 {
                slot = (slot + 1) & mask;
            }
            slots[slot] = state as u32 + 1;
        }
        self.slots = slots;
    }

    /// Looks at which bytes `state` leaves itself.
    fn learn_skip(&mut self, program: &Program, state: u32) {
        let words = program.words;
        let bits = self.bits[state as usize * words..][..words].to_vec();
        let mut step = vec![0; words];
        let mut stays = [false; 256];
        for (class, stays) in stays.iter_mut().enumerate().take(program.classes) {
            program.step_on(&bits, class as u8, &mut step);
            *stays = step == bits;
        }
        // At rest: only the restart position is active.
        let rests =
            program.restarts == 1 && bits[0] == 2 && bits[1..].iter().all(|bits| *bits == 0);
        let key = program.key.filter(|_| rests && !self.key_is_common && program.gate.is_none());
        let skip = match key {
            Some(key) => Skip::new(|byte| key.bytes.contains(byte))
                .map(|skip| Skip::Before(Box::new(skip), key.back as usize)),
            None => Skip::new(|byte| !stays[usize::from(program.class[usize::from(byte)])]),
        };
        if let Some(skip) = skip {
            let meta = &mut self.meta[state as usize];
            if meta.first_report == meta.last_report {
                meta.skip = self.skips.len() as u32;
                self.skips.push((skip, Worth::default()));
            }
        }
        let entry = self.entry(state);
        let row = (state as usize) << self.row;
        for (class, _) in stays.iter().enumerate().filter(|(_, stays)| **stays) {
            self.table[row + class] = entry;
        }
    }

    fn entry(&self, state: u32) -> u32 {
        let meta = self.meta[state as usize];
        let special = state == DEAD || meta.first_report != meta.last_report;
        let skips = self.skipping && self.skips(meta);
        (state << self.row) | if special { SPECIAL } else { 0 } | if skips { SKIPS } else { 0 }
    }

    fn skips(&self, meta: Meta) -> bool {
        match meta.skip {
            NO_SKIP => false,
            skip => skip < GATED - 1 || self.ungated == 0,
        }
    }

    /// Throws all states away; `self.next` becomes empty.
    pub(super) fn throw_away(&mut self, program: &Program) {
        self.clears += 1;
        self.short = true;
        self.clear(program);
    }

    /// Makes the entry for `byte` in row `state`. All other states are void if that raises `self.clears`.
    pub(super) fn make(&mut self, program: &Program, state: u32, byte: u8) -> u32 {
        let class = program.class[usize::from(byte)];
        let mut current = std::mem::take(&mut self.current);
        current.copy_from_slice(self.positions(program, state));
        let mut state = state;
        if self.full(program) {
            self.throw_away(program);
            self.next.copy_from_slice(&current);
            state = self.intern(program) & ROW;
        }
        program.step_on(&current, class, &mut self.next);
        self.current = current;
        let entry = self.intern(program);
        self.table[state as usize + usize::from(class)] = entry;
        entry
    }

    /// Scans `chunk`, whose first byte is at `offset`, from the positions `bits`, which become those behind it.
    pub(super) fn scan(
        &mut self,
        program: &Program,
        bits: &mut [u64],
        offset: u64,
        chunk: &[u8],
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut at = 0;
        if let Some(mut state) = self.enter(program, bits, chunk.len()) {
            self.decide_pace(program, chunk.len());
            self.set_skipping(!self.pace.use_lanes);
            let mut go = Go::On;
            if self.pace.use_lanes && Self::fits_lanes(chunk.len()) {
                go = self.lanes(program, &mut state, offset, chunk, &mut at, hit)?;
            }
            if go == Go::On {
                go = self.walk(program, &mut state, offset, chunk, &mut at, hit)?;
            }
            if go == Go::On {
                self.leave(program, state, bits);
                return ControlFlow::Continue(());
            }
            self.take_current(bits);
            if go == Go::Over {
                return ControlFlow::Continue(());
            }
        }
        self.scan_direct(program, bits, offset, chunk, at, hit)
    }

    /// The state of the positions `bits`, to scan `len` bytes from; `None`: it is to go on bit by bit.
    pub(super) fn enter(&mut self, program: &Program, bits: &[u64], len: usize) -> Option<u32> {
        if self.direct > 0 {
            return None;
        }
        if self.full(program) {
            self.short = true;
            self.clear(program);
        }
        if self.ungated > 0 {
            self.ungated = self.ungated.saturating_sub(len as u64);
            if self.ungated == 0 {
                self.mark_skips();
            }
        }
        // Scans mostly begin in the same state.
        if self.entered == UNKNOWN || self.positions(program, self.entered) != bits {
            self.next.copy_from_slice(bits);
            self.entered = self.intern(program) & ROW;
        }
        self.next_key = None;
        self.seen = Seen::default();
        Some(self.entered)
    }

    /// The positions at which it is to go on bit by bit.
    pub(super) fn take_current(&self, bits: &mut [u64]) {
        bits.copy_from_slice(&self.current);
    }

    /// The positions of `state` at the end of what was scanned.
    pub(super) fn leave(&self, program: &Program, state: u32, bits: &mut [u64]) {
        bits.copy_from_slice(self.positions(program, state));
    }

    /// Sets whether entries to states that skip say so: walking needs it, lanes are faster without.
    pub(super) fn set_skipping(&mut self, skipping: bool) {
        if self.skipping == skipping {
            return;
        }
        self.skipping = skipping;
        self.mark_skips();
    }

    /// Sets [`SKIPS`] in all entries.
    fn mark_skips(&mut self) {
        let mut table = std::mem::take(&mut self.table);
        for entry in table.iter_mut().filter(|entry| **entry != UNKNOWN) {
            let meta = self.meta[((*entry & ROW) >> self.row) as usize];
            let skips = self.skipping && self.skips(meta);
            *entry = *entry & !SKIPS | if skips { SKIPS } else { 0 };
        }
        self.table = table;
    }

    /// Entries made.
    pub(super) fn entries(&self) -> usize {
        self.table.len()
    }

    /// The positions of a state.
    pub(super) fn positions(&self, program: &Program, state: u32) -> &[u64] {
        &self.bits[(state >> self.row) as usize * program.words..][..program.words]
    }

    /// What a state reports.
    pub(super) fn reports(&self, state: u32) -> &[Report] {
        let meta = self.meta[(state >> self.row) as usize];
        &self.reports[meta.first_report as usize..meta.last_report as usize]
    }

    /// Scans from `at` to the end of `chunk`, or to where it goes on bit by bit, from `self.current`.
    pub(super) fn walk(
        &mut self,
        program: &Program,
        state: &mut u32,
        offset: u64,
        chunk: &[u8],
        at: &mut usize,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), Go> {
        self.next_key = None;
        self.seen = Seen::default();
        let mut cursor = Cursor { state: *state, at: *at, counted: *at };
        cursor.at = self.skip(program, &mut cursor.state, chunk, cursor.at);
        let mut go = Go::On;
        while go == Go::On
            && let Some(entry) = self.run(program, &mut cursor.state, chunk, &mut cursor.at)
        {
            go = self.turn(program, &mut cursor, entry, (offset, chunk), hit)?;
        }
        (*state, *at) = (cursor.state, cursor.at);
        if go == Go::On {
            self.walked(cursor.at - cursor.counted);
        }
        ControlFlow::Continue(go)
    }

    /// So many bytes were walked, and are not counted yet.
    pub(super) fn walked(&mut self, bytes: usize) {
        self.since += bytes as u64;
        self.pace.walked += bytes as u64;
    }

    /// Takes the special entry for the byte that the cursor is at, and what it leads to.
    pub(super) fn turn(
        &mut self,
        program: &Program,
        cursor: &mut Cursor,
        mut entry: u32,
        (offset, chunk): (u64, &[u8]),
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), Go> {
        let Cursor { state, at, counted } = cursor;
        if entry == UNKNOWN {
            let class = program.class[usize::from(chunk[*at])];
            let mut next = std::mem::take(&mut self.next);
            program.step_on(self.positions(program, *state), class, &mut next);
            self.next = next;
            entry = match self.known(program) {
                Some(entry) => {
                    self.table[*state as usize + usize::from(class)] = entry;
                    entry
                }
                None => {
                    let wanted = self.is_wanted();
                    let full = wanted && self.full(program);
                    let bytes = self.since + (*at - *counted) as u64;
                    let states = self.meta.len() + self.passing.states();
                    if let Some(direct) = self.effort.direct(bytes, states, full) {
                        self.direct = direct;
                        let mut current = std::mem::take(&mut self.current);
                        current.copy_from_slice(self.positions(program, *state));
                        self.current = current;
                        self.since = bytes;
                        return ControlFlow::Continue(Go::Direct);
                    }
                    if !wanted {
                        return self.pass(program, cursor, (offset, chunk), hit);
                    }
                    if full {
                        *counted = *at;
                    }
                    self.make(program, *state, chunk[*at])
                }
            };
        }
        self.arrive(program, cursor, entry, (offset, chunk), hit)
    }

    /// Takes `entry` for the byte that the cursor is at, and what it leads to.
    pub(super) fn arrive(
        &mut self,
        program: &Program,
        cursor: &mut Cursor,
        entry: u32,
        (offset, chunk): (u64, &[u8]),
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<(), Go> {
        let Cursor { state, at, .. } = cursor;
        *state = entry & ROW;
        *at += 1;
        if entry & (SPECIAL | SKIPS) != 0 {
            if *state == DEAD {
                *at = chunk.len();
            } else if entry & SPECIAL != 0 {
                emit(self.reports(*state), offset.wrapping_add(*at as u64), hit)?;
            } else {
                *at = self.skip(program, state, chunk, *at);
            }
        }
        ControlFlow::Continue(Go::On)
    }

    /// Moves on to the first special entry for the byte at `at`, which is returned.
    #[inline(always)]
    fn run(&self, program: &Program, state: &mut u32, chunk: &[u8], at: &mut usize) -> Option<u32> {
        let (table, class) = (&self.table[..], &program.class);
        let mut now = *state;
        for (index, &byte) in chunk[*at..].iter().enumerate() {
            let entry = table[now as usize + usize::from(class[usize::from(byte)])];
            if entry & (SPECIAL | SKIPS) != 0 {
                *at += index;
                *state = now;
                return Some(entry);
            }
            now = entry;
        }
        *at = chunk.len();
        *state = now;
        None
    }

    /// The next place at which `state` is left, if it is one that skips.
    pub(super) fn skip(
        &mut self,
        program: &Program,
        state: &mut u32,
        chunk: &[u8],
        at: usize,
    ) -> usize {
        let meta = self.meta[(*state >> self.row) as usize];
        if !self.skips(meta) {
            return at;
        }
        if meta.skip >= GATED - 1 {
            return self.pass_gate(program, state, chunk, at, (GATED - meta.skip) as usize);
        }
        let state = *state;
        let (skip, worth) = &mut self.skips[meta.skip as usize];
        let to = match skip {
            Skip::Before(keys, back) => {
                if let Some(key) = self.next_key.filter(|key| *key >= at) {
                    return at.max(key.saturating_sub(*back));
                }
                let key = keys.find(chunk, at);
                self.next_key = Some(key);
                at.max(key.saturating_sub(*back))
            }
            _ => skip.find(chunk, at),
        };
        self.pace.searches += 1;
        self.pace.skipped += (to - at) as u64;
        if !worth.add(to - at, skip) {
            self.key_is_common |= matches!(skip, Skip::Before(..));
            // Not worth it: the entries lead here without a stop.
            self.meta[(state >> self.row) as usize].skip = NO_SKIP;
            let entry = state | SKIPS;
            self.table.iter_mut().filter(|it| **it == entry).for_each(|it| *it = state);
        }
        to
    }

    /// The next place at which a match may begin, from a state before which none was under way `rested` bytes ago. A
    /// first byte of the match is taken.
    fn pass_gate(
        &mut self,
        program: &Program,
        state: &mut u32,
        chunk: &[u8],
        at: usize,
        rested: usize,
    ) -> usize {
        let (Some(gate), true) = (&program.gate, at >= rested) else {
            return at;
        };
        let to = gate.find(chunk, at - rested, &mut self.seen);
        self.pace.searches += 1;
        self.pace.skipped += to.saturating_sub(at) as u64;
        if !self.gate_worth.passes(to.saturating_sub(at), self.gate_least) {
            // A change passes over all entries.
            self.ungated = UNGATED.max(self.table.len() as u64 * 16);
            self.mark_skips();
        }
        if to < at {
            return at;
        }
        if to > at || rested > 0 {
            if to == 0 {
                return at;
            }
            let Some(rest) = self.rest(program, *state, chunk[to - 1]) else {
                return at;
            };
            *state = rest;
        }
        let Some(&byte) = chunk.get(to) else {
            return to;
        };
        let entry = self.table[*state as usize + usize::from(program.class[usize::from(byte)])];
        if entry == UNKNOWN || entry & SPECIAL != 0 {
            return to;
        }
        *state = entry & ROW;
        to + 1
    }

    /// The state in which no match is under way behind `byte`, as a row, and the same expressions have left as in `state`;
    /// `None` if there is no room for it.
    fn rest(&mut self, program: &Program, state: u32, byte: u8) -> Option<u32> {
        if program.spent.is_some() {
            let known = program.words - self.rests_spent.len();
            let mut spent = std::mem::take(&mut self.rests_spent);
            let now = &self.positions(program, state)[known..];
            if spent != now {
                spent.copy_from_slice(now);
                self.rests.fill(UNKNOWN);
            }
            self.rests_spent = spent;
        }
        let index = if program.restarts == 1 { 0 } else { program.restart(byte)? - 1 };
        if self.rests[index] == UNKNOWN {
            self.rests[index] = self.resting(program, state, byte)?;
        }
        Some(self.rests[index])
    }

    fn scan_direct(
        &mut self,
        program: &Program,
        bits: &mut [u64],
        offset: u64,
        chunk: &[u8],
        from: usize,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let done = (chunk.len() - from) as u64;
        self.direct = self.direct.saturating_sub(done);
        self.direct_bytes += done;
        if self.direct_bytes == done {
            // For the first time.
            self.narrow = AnyNarrow::new(program);
        }
        let (rest, here) = (&chunk[from..], offset.wrapping_add(from as u64));
        let list = &mut self.list;
        match &self.narrow {
            AnyNarrow::None => {}
            AnyNarrow::One(it) => return it.scan(program, bits, here, rest, list, hit),
            AnyNarrow::Two(it) => return it.scan(program, bits, here, rest, list, hit),
            AnyNarrow::Four(it) => return it.scan(program, bits, here, rest, list, hit),
            AnyNarrow::Eight(it) => return it.scan(program, bits, here, rest, list, hit),
        }
        self.current.copy_from_slice(bits);
        for (at, &byte) in chunk.iter().enumerate().skip(from) {
            program.step(&self.current, program.class[usize::from(byte)], &mut self.next);
            std::mem::swap(&mut self.current, &mut self.next);
            if self.current.iter().zip(&program.accepting).any(|(bits, mask)| bits & mask != 0) {
                program.reports(&self.current, &mut self.list);
                emit(&self.list, offset.wrapping_add(at as u64 + 1), hit)?;
            }
        }
        bits.copy_from_slice(&self.current);
        ControlFlow::Continue(())
    }
}
