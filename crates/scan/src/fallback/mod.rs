//! An automaton over all bytes, for patterns that no string announces.
//!
//! [`Automaton`] is immutable and shared; [`Cache`] is what one thread needs to run it; a stream's state is flat bytes of
//! [`Automaton::state_len`].
//!
//! Matches are exact: every end of a match once for an expression, in ascending order of ends. A match that depends on
//! the byte behind it is reported with that byte, or at the end of the data. At the end of the data, matches may be
//! reported one byte before it (`$` before a last newline), after others that end with the last byte.
//!
//! The least start of a match is reported where it is asked for. One exception: before a newline that is the last byte, an
//! expression that matches both without `$` and, with an earlier start, by `$` (`xa$|a`) reports the later start, as it is
//! not known then that the newline is the last byte. Where a least length is asked for, such a match may be too short for it.
//!
//! - `announced`: automata that run only around strings.
//! - `late`, `thompson`, `fragment`: an expression becomes positions with edges (Glushkov), assertions are resolved.
//! - `program`: expressions together, as bits. `partition`: which ones together.
//! - `dfa`: states made when reached. `passing`: not the first time. `effort`: whether that pays. `lanes`: four places of a chunk at once.
//! - `spent`: expressions that leave with their first match.
//! - `gate`: where a match may begin. `skip`, `key`: other bytes that are passed over. `narrow`: bit by bit, with few words.
//! - `starts`, and `ranks` state by state: the engine that knows where a match began.

mod abreast;
mod announced;
mod dfa;
mod effort;
mod fragment;
mod gate;
mod key;
mod lanes;
mod late;
mod narrow;
mod partition;
mod passing;
mod program;
mod ranks;
mod skip;
mod spent;
mod starts;
#[cfg(test)]
pub(crate) mod tests;
mod thompson;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use self::abreast::{Chunk, Hit};
pub(crate) use self::announced::{Announced, Caches, Occurrence, Piece, required};
use self::dfa::{Dfa, emit};
use self::fragment::Fragment;
pub(crate) use self::gate::byte_weight;
use self::gate::{Gate, Isa, Seen};
use self::program::{Program, VARIES, has};
use self::skip::{GATE_ALONE, GATE_BESIDE};
use self::starts::Starts;
use crate::node::Node;
use crate::words;
use lookaside_simd::Cpu;

/// An expression to look for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Expression<'a> {
    /// What its matches are reported as. Expressions with one number are taken for one where they match together.
    pub(crate) report: u32,
    /// What it is.
    pub(crate) node: &'a Node,
    /// Whether the least start of each match is asked for.
    pub(crate) start_of_match: bool,
    /// Whether empty matches are reported.
    pub(crate) empty: bool,
    /// Whether its first match is enough.
    pub(crate) once: bool,
}

/// How large an expression may become.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Positions of an expression, with its repeats unrolled.
    pub(crate) positions: usize,
    /// States while it is built.
    pub(crate) states: usize,
    /// Edges between positions, and steps to find them.
    pub(crate) edges: usize,
    /// States of the DFA that a part may need, in a trial, and still be joined with another one.
    pub(crate) joint_states: usize,
    /// The instructions in use.
    pub(crate) isa: Isa,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            positions: 131_072,
            states: 1 << 19,
            edges: 1 << 24,
            joint_states: 1_000,
            isa: Isa::new(Cpu::host()),
        }
    }
}

/// Which limit an expression is beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    /// Its repeats unrolled.
    Positions,
    /// What can follow what.
    Edges,
}

/// An expression is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge {
    /// The expression's number.
    pub(crate) report: u32,
    /// Why.
    pub(crate) limit: Limit,
}

/// Bytes of memory that a thread's cache of one automaton takes at most, about.
pub(crate) const CACHE_BYTES: usize = 8 << 20;

/// Bytes after which the parts of an automaton take turns.
const BLOCK: usize = 16 << 10;

/// Expressions that run together.
#[derive(Clone, Debug)]
struct Part {
    program: Program,
    /// The number of starts that its state has.
    varying: usize,
    /// Where the first match of each expression is enough: their reports, ascending.
    once: Vec<u32>,
    /// Whether it reports matches behind the last byte.
    ends: bool,
}

impl Part {
    fn new(fragments: &[&Fragment], starts: bool, isa: Isa) -> Part {
        let mut once: Vec<u32> = fragments.iter().map(|it| it.report).collect();
        if starts || fragments.iter().any(|it| !it.once) {
            once.clear();
        }
        once.sort_unstable();
        once.dedup();
        let mut program = Program::new(fragments, starts, once.len() > 1);
        program.gate = Gate::new(fragments, program.restarts, program.words, isa)
            .filter(|gate| program.key.as_ref().is_none_or(|key| gate.cost() <= key.cost()));
        let varying = program.depth.iter().filter(|depth| **depth == VARIES).count();
        let ends = program.accepting_end.iter().any(|bits| *bits != 0);
        Part { program, varying, once, ends }
    }

    /// Expected cycles for a byte.
    fn cost(&self) -> f64 {
        let walking = self.program.key.map_or(gate::WALKING, |key| key.cost().min(gate::WALKING));
        self.program.gate.as_ref().map_or(walking, Gate::cost)
    }

    /// Whether the engine for starts runs it.
    fn starts(&self) -> bool {
        !self.program.depth.is_empty()
    }

    fn bits_len(&self) -> usize {
        self.program.len.div_ceil(8)
    }

    /// The bytes at the beginning of `chunk` that change nothing, as no match is under way and none may begin; `state` is
    /// that behind them.
    fn quiet(&self, state: &mut [u8], chunk: &[u8]) -> usize {
        let bits = &mut state[..self.bits_len()];
        if bits.iter().fold(0, |all, bits| all | *bits) == 0 {
            return chunk.len();
        }
        let Some(gate) = self.program.gate.as_ref().filter(|gate| gate.is_at_rest(bits)) else {
            return 0;
        };
        let candidate = gate.find(chunk, 0, &mut Seen::default());
        let to = gate.begin(chunk, 0, candidate);
        if let Some(restart) = to.checked_sub(1).and_then(|at| self.program.restart(chunk[at])) {
            bits[0] = 1 << restart;
        }
        to
    }

    fn state_len(&self) -> usize {
        self.bits_len() + 8 * self.varying
    }
}

/// The expressions, ready to scan; see the module.
#[derive(Debug)]
pub(crate) struct Automaton {
    parts: Vec<Part>,
    /// The reports of expressions whose matches are reported with the byte behind them, ascending.
    late: Vec<u32>,
    state_len: usize,
    /// Whether anything is reported before the first byte, and behind the last one.
    begins: bool,
    ends: bool,
    id: u64,
}

fn next_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Automaton {
    /// Compiles `expressions`.
    pub(crate) fn new(
        expressions: &[Expression<'_>],
        limits: &Limits,
    ) -> Result<Automaton, TooLarge> {
        let fragments = expressions
            .iter()
            .map(|it| {
                Fragment::new(it, limits).map_err(|limit| TooLarge { report: it.report, limit })
            })
            .collect::<Result<Vec<Fragment>, TooLarge>>()?;
        let waits = |it: &&Fragment| it.positions.iter().any(|position| position.accept == Some(1));
        let mut late: Vec<u32> = fragments.iter().filter(waits).map(|it| it.report).collect();
        late.sort_unstable();
        Ok(Automaton { late, ..Automaton::of(partition::parts(&fragments, limits)) })
    }

    fn of(parts: Vec<Part>) -> Automaton {
        let state_len = parts.iter().map(Part::state_len).sum();
        let begins = parts.iter().any(|it| it.program.len > 0 && has(&it.program.accepting, 0));
        let ends = parts.iter().any(|it| it.ends);
        Automaton { parts, late: Vec::new(), state_len, begins, ends, id: next_id() }
    }

    /// Whether matches of this report come with the byte behind them.
    pub(crate) fn is_late(&self, report: u32) -> bool {
        self.late.binary_search(&report).is_ok()
    }

    /// Expected cycles for a byte, with the walks behind candidates, of which the model of a gate knows nothing.
    pub(crate) fn cost(&self) -> f64 {
        const WALKS: f64 = 3.0;
        self.parts.iter().map(|part| (WALKS * part.cost()).min(gate::WALKING)).sum()
    }

    /// Bytes of a stream's state.
    pub(crate) fn state_len(&self) -> usize {
        self.state_len
    }

    /// Each part with its share of a state.
    fn shares(&self) -> impl Iterator<Item = (&Part, std::ops::Range<usize>)> {
        self.parts.iter().scan(0, |first, part| {
            let range = *first..*first + part.state_len();
            *first = range.end;
            Some((part, range))
        })
    }

    /// Sets `state` to that of a stream before its first byte.
    ///
    /// # Panics
    ///
    /// `state` is shorter than [`state_len`](Automaton::state_len); so do the other functions.
    pub(crate) fn begin(&self, state: &mut [u8]) {
        state[..self.state_len].fill(0);
        for (part, share) in self.shares() {
            if part.bits_len() > 0 {
                state[share.start] = 1;
            }
        }
    }

    /// Whether the next bytes of a stream, which are not its last ones, surely have no match and are no part of one. `state` is that
    /// behind them then.
    pub(crate) fn passes(&self, state: &mut [u8], chunk: &[u8]) -> bool {
        if state.iter().all(|byte| *byte == 0) {
            return true;
        }
        let [part] = &*self.parts else { return false };
        if !part.program.gate.as_ref().is_some_and(|gate| gate.is_seldom(chunk.len())) {
            return false;
        }
        // A part that may match nothing, before the first byte, does not rest there ([`Gate::is_at_rest`]): that match is not lost.
        let first = state[0];
        let passes = part.quiet(state, chunk) == chunk.len();
        if !passes {
            state[0] = first;
        }
        passes
    }

    /// Scans the bytes of a stream from `offset` on, calls `hit` with the report, the start (0 if it is not asked for)
    /// and the end of each match, and brings `state` behind them. If `hit` breaks, `state` is unchanged.
    pub(crate) fn scan(
        &self,
        cache: &mut Cache,
        state: &mut [u8],
        offset: u64,
        chunk: &[u8],
        spent: &impl Fn(u32) -> bool,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut firsts = std::mem::take(&mut cache.firsts);
        firsts.clear();
        firsts.extend(self.shares().map(|(_, share)| state.get(share.start).copied()));
        let state_now = &mut state[..self.state_len];
        let flow = self.scan_on(cache, state_now, offset, chunk, spent, hit);
        if flow.is_break() {
            for ((_, share), first) in self.shares().zip(&firsts) {
                if let (Some(byte), Some(first)) = (state.get_mut(share.start), first) {
                    *byte = *first;
                }
            }
        }
        cache.firsts = firsts;
        flow
    }

    /// The same; if `hit` breaks, the first byte of each part's state may be another one.
    fn scan_on(
        &self,
        cache: &mut Cache,
        state: &mut [u8],
        offset: u64,
        chunk: &[u8],
        spent: &impl Fn(u32) -> bool,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        cache.own(self);
        for (part, cache) in self.parts.iter().zip(&mut cache.parts) {
            cache.once.begin(part, spent);
        }
        // Before the first place at which a match may begin nothing changes.
        let mut quiet = 0;
        cache.quiet.clear();
        if !(self.begins && offset == 0) {
            let parts = self.shares().zip(&cache.parts).map(|((part, share), cache)| {
                if cache.once.over { chunk.len() } else { part.quiet(&mut state[share], chunk) }
            });
            cache.quiet.extend(parts);
            quiet = cache.quiet.iter().copied().min().unwrap_or(chunk.len());
            cache.quiet.iter_mut().for_each(|it| *it -= quiet);
        }
        cache.quiet.resize(self.parts.len(), 0);
        let (offset, chunk) = (offset.wrapping_add(quiet as u64), &chunk[quiet..]);
        if chunk.is_empty() {
            return ControlFlow::Continue(());
        }
        let places = std::mem::take(&mut cache.quiet);
        cache.load(self, state, false, |_, number| places[number] < chunk.len());
        cache.quiet = places;
        if offset == 0 && self.begins {
            self.parts
                .iter()
                .zip(&mut cache.parts)
                .filter(|it| it.1.loaded)
                .try_for_each(|(part, cache)| cache.begin(part, hit))?;
        }
        match (&self.parts[..], &mut cache.parts[..]) {
            ([part], [cache]) => {
                for (index, block) in chunk.chunks(BLOCK * 4).enumerate() {
                    if cache.once.over || !cache.loaded {
                        break;
                    }
                    cache.scan(
                        part,
                        offset.wrapping_add((index * BLOCK * 4) as u64),
                        block,
                        hit,
                    )?;
                }
            }
            (parts, caches) => {
                let hits = &mut cache.hits;
                for (index, block) in chunk.chunks(BLOCK).enumerate() {
                    let from = index * BLOCK;
                    hits.clear();
                    let chunk = Chunk { bytes: block, offset: offset.wrapping_add(from as u64) };
                    let parts = parts.iter().zip(&mut *caches).zip(&cache.quiet);
                    let parts = parts
                        .map(|((part, cache), quiet)| (part, cache, quiet.saturating_sub(from)));
                    abreast::scan(parts, chunk, hits);
                    hits.sort();
                    hits.iter().try_for_each(|&(end, report, start)| hit(report, start, end))?;
                }
            }
        }
        cache.save(self, state);
        ControlFlow::Continue(())
    }

    /// Reports what matches only because the data ends, behind `offset` bytes.
    pub(crate) fn end(
        &self,
        cache: &mut Cache,
        state: &[u8],
        offset: u64,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if !(self.ends || self.begins && offset == 0) {
            return ControlFlow::Continue(());
        }
        cache.own(self);
        cache.load(self, &state[..self.state_len], true, |part, _| part.ends || offset == 0);
        let hits = &mut cache.hits;
        hits.clear();
        for (part, cache) in self.parts.iter().zip(&mut cache.parts).filter(|it| it.1.loaded) {
            let _ = cache.end(part, offset, &mut |report, start, end| {
                hits.push((end, report, start));
                ControlFlow::Continue(())
            });
        }
        hits.sort();
        hits.iter().try_for_each(|&(end, report, start)| hit(report, start, end))
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Automaton>() + self.parts.iter().map(|part| part.program.memory()).sum::<usize>()
    }

    /// What each part is, a line each.
    pub(crate) fn describe(&self) -> String {
        let line = |part: &Part| {
            let it = &part.program;
            let engine = if part.starts() { "NFA with starts of matches" } else { "lazy DFA" };
            let restarts = if it.restarts == 0 { ", anchored" } else { "" };
            let (positions, classes, state) = (it.len, it.classes, part.state_len());
            let key = match (&it.gate, it.key) {
                (Some(gate), _) => gate.describe(),
                (None, Some(key)) => format!(", from {} bytes before {:?}", key.back, key.bytes),
                (None, None) => String::new(),
            };
            format!(
                "{engine}: {positions} positions, {classes} classes, {state} bytes of state{restarts}{key}\n"
            )
        };
        self.parts.iter().map(line).collect()
    }
}

/// What one thread needs to scan, for the automaton that it was used with last.
#[derive(Default)]
pub(crate) struct Cache {
    owner: u64,
    bytes: Option<usize>,
    parts: Vec<PartCache>,
    /// Bytes of memory that no part has.
    room: usize,
    /// Matches of a block.
    hits: Vec<Hit>,
    /// Of each part: the bytes at the beginning of a chunk that change nothing, and the first byte of its state.
    quiet: Vec<usize>,
    firsts: Vec<Option<u8>>,
}

enum Engine {
    Dfa(Box<Dfa>),
    Starts(Box<Starts>),
}

struct PartCache {
    engine: Engine,
    bits: Vec<u64>,
    /// Whether it takes part in what is scanned.
    loaded: bool,
    once: Once,
}

/// Of the reports of [`Part::once`]: whether it is known; how many are not; and whether all are.
#[derive(Default)]
struct Once {
    seen: Vec<bool>,
    asked: usize,
    over: bool,
}

impl Cache {
    #[cfg(test)]
    /// An empty cache of at most about `bytes` of memory; [`Cache::default`]: [`CACHE_BYTES`].
    pub(crate) fn with_bytes(bytes: usize) -> Cache {
        Cache { bytes: Some(bytes), ..Cache::default() }
    }

    #[cfg(test)]
    /// Bytes of memory in use.
    pub(crate) fn memory(&self) -> usize {
        let part = |part: &PartCache| match &part.engine {
            Engine::Dfa(dfa) => dfa.memory(),
            Engine::Starts(starts) => starts.memory(),
        };
        self.parts.iter().map(part).sum::<usize>() + self.hits.capacity() * size_of::<Hit>()
    }

    #[cfg(test)]
    /// The memory that each part may use, and what none has.
    pub(crate) fn budgets(&self) -> (Vec<usize>, usize) {
        let dfas = self.parts.iter().filter_map(|part| match &part.engine {
            Engine::Dfa(dfa) => Some(dfa.budget),
            Engine::Starts(_) => None,
        });
        (dfas.collect(), self.room)
    }

    #[cfg(test)]
    /// Bytes scanned in lanes, and bytes of lanes that had to be walked again.
    pub(crate) fn laned(&self) -> (u64, u64) {
        let engines = self.parts.iter().filter_map(|part| match &part.engine {
            Engine::Dfa(dfa) => Some(dfa.lanes.total),
            Engine::Starts(_) => None,
        });
        engines.fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    }

    /// Whether it was used with this automaton last.
    pub(crate) fn is_of(&self, automaton: &Automaton) -> bool {
        self.owner == automaton.id
    }

    #[cfg(test)]
    /// Bytes scanned bit by bit.
    pub(crate) fn direct(&self) -> u64 {
        let engines = self.parts.iter().map(|part| match &part.engine {
            Engine::Dfa(dfa) => dfa.direct_bytes,
            Engine::Starts(_) => 0,
        });
        engines.sum()
    }

    fn own(&mut self, automaton: &Automaton) {
        if self.owner == automaton.id {
            return;
        }
        // One half in equal shares, the other by their size.
        let half = self.bytes.unwrap_or(CACHE_BYTES) / 2;
        let all: usize = automaton.parts.iter().map(|part| part.program.len).sum();
        let share = |part: &Part| {
            half / automaton.parts.len()
                + (half as u64 * part.program.len as u64 / all.max(1) as u64) as usize
        };
        let least = if automaton.parts.len() > 1 { GATE_BESIDE } else { GATE_ALONE };
        // Some have few states: a part that is short of memory takes more of what others leave.
        let mut room = 0;
        let mut dfa = |part: &Part| {
            let first = share(part) / 2;
            room += first;
            let mut dfa = Dfa::new(&part.program, first);
            dfa.gate_least = least;
            dfa
        };
        self.parts.clear();
        self.parts.extend(automaton.parts.iter().map(|part| PartCache {
            engine: match part.starts() {
                true => Engine::Starts(Box::new(Starts::new(&part.program, share(part)))),
                false => Engine::Dfa(Box::new(dfa(part))),
            },
            bits: vec![0; part.program.words],
            loaded: false,
            once: Once::default(),
        }));
        self.room = room;
        self.owner = automaton.id;
    }

    /// Loads the parts' shares of a state, and saves them: of those alone that `is_asked`. At the `end`s of the data, what has
    /// matched is not known.
    fn load(
        &mut self,
        automaton: &Automaton,
        state: &[u8],
        ends: bool,
        is_asked: impl Fn(&Part, usize) -> bool,
    ) {
        for (number, ((part, share), cache)) in automaton.shares().zip(&mut self.parts).enumerate()
        {
            cache.loaded = is_asked(part, number) && (ends || !cache.once.over);
            if cache.loaded {
                let (bits, starts) = state[share].split_at(part.bits_len());
                let known = part.program.len.div_ceil(64);
                words::load(bits, part.program.len, &mut cache.bits[..known]);
                cache.bits[known..].fill(0);
                if let Some(spent) = part.program.spent.as_ref().filter(|_| !ends) {
                    spent.begin(&cache.once.seen, &mut cache.bits);
                }
                match &mut cache.engine {
                    Engine::Starts(engine) => engine.load(&part.program, &cache.bits, starts),
                    Engine::Dfa(dfa) if dfa.short => {
                        let more = dfa.budget.min(self.room);
                        self.room -= more;
                        dfa.budget += more;
                        dfa.short = false;
                    }
                    Engine::Dfa(_) => {}
                }
            }
        }
    }

    fn save(&mut self, automaton: &Automaton, state: &mut [u8]) {
        for ((part, share), cache) in automaton.shares().zip(&mut self.parts) {
            if cache.loaded {
                let (bits, starts) = state[share].split_at_mut(part.bits_len());
                if let Engine::Starts(engine) = &mut cache.engine {
                    engine.save(&part.program, &mut cache.bits, starts);
                }
                words::save(&cache.bits, bits);
            }
        }
    }
}

impl Once {
    fn begin(&mut self, part: &Part, spent: &impl Fn(u32) -> bool) {
        self.seen.clear();
        self.seen.extend(part.once.iter().map(|report| spent(*report)));
        self.asked = self.seen.iter().filter(|seen| !**seen).count();
        self.over = !part.once.is_empty() && self.asked == 0;
    }

    /// Calls `hit` unless a match with this report is known. Breaks behind the last one that is asked for.
    fn first(
        &mut self,
        part: &Part,
        report: u32,
        hit: impl FnOnce() -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        if part.once.is_empty() {
            return hit();
        }
        let at = part.once.binary_search(&report).ok();
        let Some(seen) = at.and_then(|at| self.seen.get_mut(at)).filter(|seen| !**seen) else {
            return ControlFlow::Continue(());
        };
        *seen = true;
        self.asked -= 1;
        let flow = hit();
        if self.asked == 0 { ControlFlow::Break(()) } else { flow }
    }

    /// Nothing that is under way is of use any more.
    fn end(&mut self, bits: &mut [u64]) {
        bits.fill(0);
        self.over = true;
    }
}

impl PartCache {
    fn begin(
        &mut self,
        part: &Part,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match &mut self.engine {
            Engine::Dfa(_) => {
                let mut list = Vec::new();
                part.program.reports(&self.bits, &mut list);
                emit(&list, 0, hit)
            }
            Engine::Starts(engine) => engine.begin(&part.program, hit),
        }
    }

    fn scan(
        &mut self,
        part: &Part,
        offset: u64,
        block: &[u8],
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match &mut self.engine {
            Engine::Dfa(dfa) => {
                let mut flow = ControlFlow::Continue(());
                let (bits, once) = (&mut self.bits, &mut self.once);
                let mut first = |report, start, end| {
                    once.first(part, report, || {
                        flow = hit(report, start, end);
                        flow
                    })
                };
                if dfa.scan(&part.program, bits, offset, block, &mut first).is_break()
                    && flow.is_continue()
                {
                    once.end(bits);
                }
                flow
            }
            Engine::Starts(engine) => engine.scan(&part.program, offset, block, hit),
        }
    }

    fn end(
        &mut self,
        part: &Part,
        offset: u64,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match &mut self.engine {
            Engine::Dfa(_) => {
                let ends = &part.program.accepting_end;
                if offset != 0 && self.bits.iter().zip(ends).all(|(bits, mask)| bits & mask == 0) {
                    return ControlFlow::Continue(());
                }
                let mut list = Vec::new();
                part.program.reports_end(&self.bits, offset != 0, &mut list);
                emit(&list, offset, hit)
            }
            Engine::Starts(engine) => engine.end(&part.program, offset, hit),
        }
    }
}
