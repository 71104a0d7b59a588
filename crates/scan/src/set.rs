//! Sets of patterns, and scans.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use lookaside_simd::Cpu;
use lookaside_spec::scan::{BadPattern, Match, Mode, Patterns};

use crate::bitwise::{self, Bitwise};
use crate::combinations::Combinations;
use crate::counters::{Counter, Counting};
use crate::fallback::{Announced, Automaton, Cache, Caches, Piece};
use crate::input::{Input, Window};
use crate::literal::prefetch;
use crate::node::{Node, width};
use crate::program::{Program, Source};
use crate::report::{self, Layout, Rule, View};
use crate::shorten::shorten;
use crate::syntax::{Extended, Pattern};
use crate::window::{Found, Open, Spent, Work};
use crate::words;

/// How many new bytes a window has: what was found in one is put in order before the next.
const WINDOW: usize = 32 << 10;
/// The most bytes of its past that a stream keeps.
const STREAM_WIDTH: usize = 128;
/// The most bytes of a sequence in a block.
const BLOCK_WIDTH: usize = 4096;
/// What a scan of a block knows is on the stack if it is so small.
const SMALL_STATE: usize = 64;

/// How many sets a thread may scan for in turn without making the states of their automata again.
const CACHES: usize = 8;

/// A compiled set of patterns. Immutable; threads share it, each with a [`Scratch`] of its own.
#[derive(Debug)]
pub struct Set {
    program: Program,
    rules: Box<[Rule]>,
    combinations: Combinations,
    /// Whether patterns share an id.
    twins: bool,
    /// Whether of some patterns only the first match is reported.
    singles: bool,
    /// Whether some patterns are [late](Rule::late).
    lates: bool,
    /// Whether every match that is found is reported: no pattern has parameters, is one of a combination, or shares its id.
    plain: bool,
    /// Whether a scan of a block of one window knows nothing but which gaps are open, and what is looked for bit by bit.
    simple: bool,
    /// Whether a piece of a stream may be [passed](Set::passes): nothing is looked for backwards.
    passing: bool,
    layout: Layout,
    /// Bytes of a state without its past.
    fixed: usize,
    mode: Mode,
    patterns: Patterns,
    counting: Option<Arc<Counting>>,
}

/// Memory for scans, kept between them: one for each thread.
#[derive(Default)]
pub struct Scratch {
    work: Work,
    /// Of the sets that were scanned for last, the latest first.
    caches: Vec<Cache>,
    /// The same of automata around strings.
    around: Vec<Caches>,
    data: Vec<u8>,
    live: Vec<u64>,
    bitwise: bitwise::Memory,
    state: Vec<u8>,
}

impl std::fmt::Debug for Scratch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scratch")
    }
}

impl Scratch {
    /// Empty; grows with use.
    pub fn new() -> Scratch {
        Scratch::default()
    }

    /// The cache of an automaton: its own, if it is among the last [`CACHES`] that were used.
    fn cache<T: Default>(caches: &mut Vec<T>, is_own: impl Fn(&T) -> bool) -> &mut T {
        let own = caches.iter().position(is_own);
        if own.is_none() && caches.len() < CACHES {
            caches.push(T::default());
        }
        let place = own.unwrap_or(caches.len() - 1);
        caches[..=place].rotate_right(1);
        &mut caches[0]
    }
}

impl Set {
    /// Compiles patterns for a CPU.
    ///
    /// # Errors
    /// All patterns that are refused.
    pub fn compile(patterns: &Patterns, cpu: &Cpu) -> Result<Set, Vec<BadPattern>> {
        let (mut parsed, mut bad) = (vec![], vec![]);
        for (index, expression) in patterns.expressions.iter().enumerate() {
            match Pattern::of(expression) {
                Ok(pattern) => parsed.push(pattern),
                Err(e) => bad.push(BadPattern {
                    index,
                    id: expression.id,
                    offset: e.kind.has_place().then_some(e.offset),
                    what: e.kind.to_string(),
                }),
            }
        }
        if !bad.is_empty() {
            return Err(bad);
        }
        let set = Set::new(&parsed, patterns.mode, cpu)?;
        Ok(Set { patterns: patterns.clone(), ..set })
    }

    /// The set with counters, which begin with zeros. Counting costs under 1 %; where candidates are many (one for 8 bytes), scans
    /// of 16 KB and more take up to 3 % longer.
    #[must_use]
    pub fn counted(self) -> Set {
        let counting = Arc::new(Counting::new(self.rules.iter().map(|rule| rule.id)));
        Set { counting: Some(counting), ..self }
    }

    /// The counters of its scans, if they are [`counted`](Set::counted).
    pub fn counter(&self) -> Option<Counter> {
        self.counting.clone().map(Counter)
    }

    /// The patterns that it was compiled from.
    pub fn patterns(&self) -> &Patterns {
        &self.patterns
    }

    /// The same, of patterns that are parsed. Such a set is not for saving: it has no [`patterns`](Set::patterns).
    ///
    /// # Errors
    /// All patterns that are too large.
    pub fn new(patterns: &[Pattern], mode: Mode, cpu: &Cpu) -> Result<Set, Vec<BadPattern>> {
        let widest = match mode {
            Mode::Block => BLOCK_WIDTH,
            Mode::Stream => STREAM_WIDTH,
        };
        // Of a pattern that matches once, the first end is the one, if no offset or length excludes it.
        let nodes: Vec<Cow<'_, Node>> = patterns
            .iter()
            .map(|pattern| {
                let Extended { min_offset, min_length, .. } = pattern.extended;
                match pattern.flags.single_match && min_offset.is_none() && min_length.is_none() {
                    true => shorten(&pattern.node),
                    false => Cow::Borrowed(&pattern.node),
                }
            })
            .collect();
        let sources: Vec<Source<'_>> = patterns
            .iter()
            .zip(&nodes)
            .map(|(pattern, node)| Source {
                node,
                start_of_match: pattern.flags.som_leftmost || pattern.extended.min_length.is_some(),
                empty: width(&pattern.node).0 == 0,
                once: pattern.flags.single_match && pattern.extended == Extended::default(),
            })
            .collect();
        let too_large = |&index: &u32| BadPattern {
            index: index as usize,
            id: patterns[index as usize].id,
            offset: None,
            what: "too large".into(),
        };
        let program = Program::new(&sources, widest, mode == Mode::Stream, cpu)
            .map_err(|bad| bad.iter().map(too_large).collect::<Vec<_>>())?;
        let (mut bits, combinations) = Combinations::new(patterns)?;
        // Patterns with one id share their one match.
        let mut single = HashMap::new();
        let known_late = program.late();
        let late = |number: u32| {
            let automaton = program.fallback.as_ref();
            let late = automaton.is_some_and(|automaton| automaton.is_late(number))
                || program.around.as_ref().is_some_and(|around| around.is_late(number));
            mode == Mode::Stream && (late || known_late.contains(&number))
        };
        let rules = (0..).zip(patterns).map(|(number, pattern)| Rule {
            pattern: number,
            late: late(number),
            id: pattern.id,
            start_of_match: pattern.flags.som_leftmost,
            single: pattern.flags.single_match.then(|| {
                *single.entry(pattern.id).or_insert_with(|| {
                    bits += 1;
                    bits - 1
                })
            }),
            operand: combinations.operand(pattern.id),
            quiet: pattern.flags.quiet,
            min_offset: pattern.extended.min_offset.unwrap_or(0),
            max_offset: pattern.extended.max_offset.unwrap_or(u64::MAX),
            min_length: pattern.extended.min_length.unwrap_or(0),
        });
        let rules: Box<[Rule]> = rules.collect();
        let lates = rules.iter().any(|rule| rule.late);
        let mut ids: Vec<_> = patterns.iter().map(|pattern| pattern.id).collect();
        ids.sort_unstable();
        let twins = !ids.windows(2).all(|ids| ids[0] != ids[1]);
        let singles = patterns.iter().any(|pattern| pattern.flags.single_match);
        let plain = !twins && !combinations.any() && rules.iter().all(Rule::is_plain);
        let layout = Layout {
            bits: (bits as usize).div_ceil(8),
            ends: 8 * combinations.count(),
            live: program.gaps.len().div_ceil(8),
            ages: 2 * program.bounded,
            bitwise: program.bitwise.as_ref().map_or(0, Bitwise::state_len),
            around: program.around.as_ref().map_or(0, Announced::state_len),
            fallback: program.fallback.as_ref().map_or(0, Automaton::state_len),
        };
        let apart = layout.bits + layout.ends + layout.around + layout.fallback;
        let simple = apart == 0 && layout.ages.max(layout.bitwise) <= SMALL_STATE;
        let passing = program.behind.is_empty();
        let patterns = Patterns { mode, ..Patterns::default() };
        let counting = None;
        Ok(Set {
            program,
            rules,
            combinations,
            twins,
            singles,
            lates,
            plain,
            simple,
            passing,
            layout,
            fixed: layout.len(),
            mode,
            patterns,
            counting,
        })
    }

    /// Memory of the tables, in bytes.
    pub fn memory(&self) -> usize {
        self.program.memory() + size_of_val(&self.rules[..])
    }

    /// What became of the patterns: the finder's filters with their expected cost, the automata, what a stream keeps; then
    /// a line for each pattern.
    pub fn explain(&self) -> String {
        let mut out = self.program.explain();
        let (bytes, state) = (self.memory(), self.state_len());
        let _ = writeln!(out, "tables: {bytes} bytes; a stream's state: {state} bytes");
        for (pattern, rule) in self.rules.iter().enumerate() {
            let expression = self.patterns.expressions.get(pattern);
            let what = match expression.is_some_and(|expression| expression.flags.combination) {
                true => "a combination of other patterns".to_owned(),
                false => self.program.explain_pattern(pattern as u32),
            };
            let _ = writeln!(out, "{}: {what}", rule.id);
        }
        out
    }

    /// What the set is for.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Scans a whole text and calls `hit` with each match, ordered by end, then by place in the list of patterns.
    /// `hit` may stop the scan, which is then what this returns.
    pub fn scan(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        prefetch(text);
        let timer = scratch.work.tally.begin(self.counting.as_deref(), text.len(), false);
        // Combinations may be true where nothing matches.
        let (flow, done) = if !self.combinations.any() && self.program.is_quiet(text) {
            (ControlFlow::Continue(()), text.len())
        } else if self.simple && text.len() <= WINDOW {
            (self.scan_at_once(scratch, text, hit), text.len())
        } else {
            self.scan_block(scratch, text, hit)
        };
        scratch.work.tally.end(timer, 1, done);
        flow
    }

    /// Scans a block of one window, for a set that is [simple](Set::simple). Most texts are packets and lines, for which the way to
    /// the search is as long as the search.
    #[inline]
    fn scan_at_once(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Scratch { work, live, bitwise, .. } = scratch;
        let (count, end) = (self.program.gaps.len(), text.len() as u64);
        work.found.clear();
        let mut input = Input::whole(Window { data: text, fresh: 0, base: 0, last: true });
        if count == 0 {
            self.program.scan(&mut input, None, Open::default(), work);
        } else {
            live.clear();
            live.resize(count.div_ceil(64), 0);
            let mut ages = [0; SMALL_STATE];
            let ages = &mut ages[..self.layout.ages];
            self.program.scan(&mut input, None, Open { live, ages }, work);
        }
        if let Some(all) = &self.program.bitwise {
            let mut state = [0; SMALL_STATE];
            let (state, spent) = (&mut state[..self.layout.bitwise], &|_| false);
            all.scan(bitwise, state, 0, text, spent, &mut work.found);
            all.end(state, end, spent, &mut work.found);
        }
        if work.found.is_empty() {
            return ControlFlow::Continue(());
        }
        self.deliver(work, Some(end), &mut View::default(), hit)
    }

    /// Scans a block window by window. Returns also how many bytes are done.
    #[inline(never)]
    fn scan_block(
        &self,
        scratch: &mut Scratch,
        text: &[u8],
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> (ControlFlow<()>, usize) {
        let mut small = [0; SMALL_STATE];
        let mut large = vec![];
        let state = match small.get_mut(..self.fixed) {
            Some(small) => small,
            None => {
                large = std::mem::take(&mut scratch.state);
                large.resize(large.len().max(self.fixed), 0);
                &mut large[..self.fixed]
            }
        };
        // The positions of automata around strings count of active ones alone, and are most of a large state.
        let active = self.program.around.as_ref().map_or(0, Announced::active_len);
        state[..self.layout.place_of_around().start + active].fill(0);
        self.begin_fallback(state);
        let mut view = self.layout.view(state);
        let mut at = 0;
        let done = loop {
            let end = text.len().min(at + WINDOW);
            let from = at.saturating_sub(self.program.history);
            let last = end == text.len();
            let window =
                Window { data: &text[from..end], fresh: at - from, base: from as u64, last };
            let flow = self.step(scratch, Input::whole(window), &mut view, hit);
            at = end;
            if last || flow.is_break() {
                break flow;
            }
        };
        if large.capacity() > 0 {
            scratch.state = large;
        }
        (done, at)
    }

    /// The bytes of a stream's state.
    pub fn state_len(&self) -> usize {
        self.fixed + self.program.history
    }

    /// Makes `state` that of a stream at its beginning.
    ///
    /// # Panics
    /// If `state` is not of [`state_len`](Set::state_len) bytes.
    pub fn begin(&self, state: &mut [u8]) {
        assert_eq!(state.len(), self.state_len(), "a state of this set");
        state.fill(0);
        self.begin_fallback(&mut state[..self.fixed]);
    }

    /// The same of the part of the fallback automaton, which need not be 0, in a state without its past.
    fn begin_fallback(&self, fixed: &mut [u8]) {
        if let Some(automaton) = &self.program.fallback {
            automaton.begin(self.layout.view(fixed).fallback);
        }
    }

    /// Scans the next piece of a stream and returns how many bytes of it are done: all, unless `hit` stopped the scan.
    /// A match at which `hit` stops counts as not taken: scan the rest of the piece again, from the byte returned, for
    /// it and those that follow. Offsets of matches are those in the stream.
    ///
    /// A logical combination is judged at the last byte of a piece by what has matched by then: an operand that matches
    /// there because the stream ends (`$`, `\z`) comes later, with [`finish`](Set::finish).
    ///
    /// # Panics
    /// If the set is not for streams, or `state` not of [`state_len`](Set::state_len) bytes.
    pub fn scan_piece(
        &self,
        scratch: &mut Scratch,
        state: &mut [u8],
        piece: &[u8],
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> usize {
        prefetch(state);
        self.check(state);
        let timer = scratch.work.tally.begin(self.counting.as_deref(), piece.len(), true);
        let done = match self.passes(scratch, state, piece) {
            true => piece.len(),
            false => self.scan_windows(scratch, state, piece, hit),
        };
        scratch.work.tally.end(timer, 1, done);
        done
    }

    /// Brings a stream behind a piece that surely has no match, begins none, and changes nothing that is under way. Otherwise leaves
    /// it as it is, and returns false.
    #[inline(always)]
    fn passes(&self, scratch: &mut Scratch, state: &mut [u8], new: &[u8]) -> bool {
        let (fixed, history) = state.split_at_mut(self.fixed);
        let offset = report::offset(fixed);
        let past = kept(history, offset);
        let begin = offset == past.len() as u64;
        let Program { bitwise, around, fallback, .. } = &self.program;
        let layout = &self.layout;
        let live = &fixed[layout.place_of_live()];
        let behind = offset.wrapping_add(new.len() as u64);
        // Nothing has begun, and nothing will: the past is not looked at any more.
        if self.program.anchored && !begin && live.iter().all(|gaps| *gaps == 0) {
            report::set_offset(fixed, behind);
            return true;
        }
        prefetch(new);
        let passes = self.passing
            && self.program.holds(live)
            && bitwise.as_ref().is_none_or(|all| {
                all.rests(&fixed[layout.place_of_bitwise()]) && all.is_quiet(new)
            })
            && around.as_ref().is_none_or(|all| {
                all.rests(&fixed[layout.place_of_around()], begin, new, history.len())
            })
            && self.program.has_no_string((past, new), begin, &mut scratch.data)
            && fallback
                .as_ref()
                .is_none_or(|all| all.passes(&mut fixed[layout.place_of_fallback()], new));
        if passes {
            report::set_offset(fixed, behind);
            keep(history, new);
        }
        passes
    }

    /// Scans the next piece of a stream window by window. Returns how many bytes are done.
    #[inline(never)]
    fn scan_windows(
        &self,
        scratch: &mut Scratch,
        state: &mut [u8],
        piece: &[u8],
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> usize {
        let mut joined = std::mem::take(&mut scratch.data);
        let mut done = 0;
        for new in piece.chunks(WINDOW) {
            let (fixed, history) = state.split_at_mut(self.fixed);
            let offset = report::offset(fixed);
            let input = Input::piece(kept(history, offset), new, offset, &mut joined);
            if self.resumable(scratch, input, fixed, hit).is_break() {
                break;
            }
            report::set_offset(fixed, offset.wrapping_add(new.len() as u64));
            keep(history, new);
            done += new.len();
        }
        scratch.data = joined;
        done
    }

    /// The end of a stream: reports what matches only there. Stopped, it goes on where it is called again. The state is
    /// for nothing else then.
    ///
    /// # Panics
    /// As [`scan_piece`](Set::scan_piece).
    pub fn finish(
        &self,
        scratch: &mut Scratch,
        state: &mut [u8],
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        self.check(state);
        let (fixed, history) = state.split_at_mut(self.fixed);
        let offset = report::offset(fixed);
        let data = kept(history, offset);
        let window =
            Window { data, fresh: data.len(), base: offset - data.len() as u64, last: true };
        let timer = scratch.work.tally.begin(self.counting.as_deref(), 0, true);
        let flow = self.resumable(scratch, Input::whole(window), fixed, hit);
        scratch.work.tally.end(timer, 0, 0);
        flow
    }

    fn check(&self, state: &[u8]) {
        assert_eq!(
            (self.mode, state.len()),
            (Mode::Stream, self.state_len()),
            "a state of this set"
        );
    }

    /// Scans a window. If `hit` stops, the state stays as it was, with a note of how many matches were taken.
    fn resumable(
        &self,
        scratch: &mut Scratch,
        input: Input<'_>,
        fixed: &mut [u8],
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        // Automata around strings note themselves what they have changed.
        let around = self.layout.place_of_around();
        let mut before = std::mem::take(&mut scratch.state);
        before.clear();
        before.extend_from_slice(&fixed[..around.start]);
        before.extend_from_slice(&fixed[around.end..]);
        let mut view = self.layout.view(fixed);
        let skip = view.take_taken();
        scratch.work.tally.skip = skip;
        let mut reported = 0;
        let flow = self.step(scratch, input, &mut view, &mut |found| {
            if reported >= skip {
                hit(found)?;
            }
            reported += 1;
            ControlFlow::Continue(())
        });
        if flow.is_break() {
            fixed[..around.start].copy_from_slice(&before[..around.start]);
            fixed[around.end..].copy_from_slice(&before[around.start..]);
            if let Some(all) = &self.program.around {
                let cache = Scratch::cache(&mut scratch.around, |cache| cache.is_of(all));
                cache.undo(&mut fixed[around]);
            }
            self.layout.view(fixed).set_taken(reported);
        } else if reported < skip {
            // The rest of a piece that was stopped may come in smaller pieces.
            self.layout.view(fixed).set_taken(skip - reported);
        }
        scratch.state = before;
        flow
    }

    fn step(
        &self,
        scratch: &mut Scratch,
        mut input: Input<'_>,
        view: &mut View<'_>,
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Scratch { work, caches, around, live, bitwise, .. } = scratch;
        work.found.clear();
        let spent = |view| self.singles.then_some(Spent { rules: &self.rules, view });
        if self.program.gaps.is_empty() {
            self.program.scan(&mut input, spent(view), Open::default(), work);
        } else {
            // As long as it was, mostly: a length that was just stored would have to be waited for.
            let words = view.live.len().div_ceil(8);
            if live.len() != words {
                live.resize(words, 0);
            }
            words::load(view.live, self.program.gaps.len(), live);
            let ages = std::mem::take(&mut view.ages);
            self.program.scan(&mut input, spent(view), Open { live, ages }, work);
            view.ages = ages;
            words::save(live, view.live);
        }
        if let Some(all) = &self.program.bitwise {
            let state = std::mem::take(&mut view.bitwise);
            let spent = |pattern: u32| self.rules[pattern as usize].is_spent(view);
            all.scan(bitwise, state, input.offset(), input.new_bytes(), &spent, &mut work.found);
            if input.is_last() {
                all.end(state, input.end(), &spent, &mut work.found);
            }
            view.bitwise = state;
        }
        if let Some(all) = &self.program.around {
            let cache = Scratch::cache(around, |cache| cache.is_of(all));
            let window = input.window();
            let piece = Piece {
                data: window.data,
                fresh: window.fresh,
                base: window.base,
                last: window.last,
                keep: self.program.history,
            };
            work.occurrences.sort_unstable();
            let (state, found) = (std::mem::take(&mut view.around), &mut work.found);
            let seen = &*view;
            let spent = |pattern: u32| self.singles && self.rules[pattern as usize].is_spent(seen);
            all.scan(cache, state, piece, &work.occurrences, spent, &mut |pattern, end| {
                found.push(Found { end, pattern, start: 0 });
            });
            view.around = state;
        }
        if let Some(automaton) = &self.program.fallback {
            let cache = Scratch::cache(caches, |cache| cache.is_of(automaton));
            let offset = input.offset();
            let found = &mut work.found;
            let mut hit = |pattern, start, end| {
                found.push(Found { end, pattern, start });
                ControlFlow::Continue(())
            };
            let new = input.new_bytes();
            let state = std::mem::take(&mut view.fallback);
            let seen = &*view;
            let spent = |pattern: u32| self.rules[pattern as usize].is_spent(seen);
            let _ = automaton.scan(cache, state, offset, new, &spent, &mut hit);
            view.fallback = state;
            if input.is_last() {
                let _ = automaton.end(cache, view.fallback, offset + new.len() as u64, &mut hit);
            }
        }
        let ends = input.is_last().then(|| input.end());
        if work.found.is_empty() && !(ends.is_some() && self.combinations.any()) {
            return ControlFlow::Continue(());
        }
        self.deliver(work, ends, view, hit)
    }

    /// Reports what was found; `ends` is the offset behind the last byte of all, if it was among these.
    #[inline(never)]
    fn deliver(
        &self,
        work: &mut Work,
        ends: Option<u64>,
        view: &mut View<'_>,
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        match self.lates {
            false if work.found.is_sorted() => {}
            false => work.found.sort_unstable(),
            true => work.found.sort_unstable_by_key(|found| {
                (found.end, self.rules[found.pattern as usize].late, *found)
            }),
        }
        if self.plain {
            return self.deliver_all(work, hit);
        }
        // Of equal ends the leftmost start comes first.
        work.found.dedup_by_key(|found| (found.end, found.pattern));
        work.found
            .retain(|found| self.rules[found.pattern as usize].allows(found.end, found.start));
        let found = std::mem::take(&mut work.found);
        let mut counted = std::mem::take(&mut work.counted);
        let tally = &mut work.tally;
        let flow = found.chunk_by(|a, b| a.end == b.end).try_for_each(|with_end| {
            counted.clear();
            for one in with_end {
                let rule = &self.rules[one.pattern as usize];
                let start = if rule.start_of_match { one.start } else { 0 };
                if rule.is_spent(view) {
                    continue;
                }
                if self.combinations.any() {
                    counted.push(rule.id);
                }
                if let Some(bit) = rule.operand {
                    view.set(bit);
                }
                // What matches with one id at one end is one match, with the leftmost start.
                let comes_before = |other: &Found| {
                    let of = &self.rules[other.pattern as usize];
                    let other_start = if of.start_of_match { other.start } else { 0 };
                    let place = (other_start, other.pattern) < (start, one.pattern);
                    of.id == rule.id && !of.quiet && place
                };
                if self.twins && with_end.iter().any(comes_before) {
                    continue;
                }
                rule.report(one.end, start, view, tally, hit)?;
            }
            let end = with_end[0].end;
            self.combinations.report(end, &counted, &self.rules, view, tally, hit)
        });
        work.counted = counted;
        work.found = found;
        flow?;
        match ends {
            Some(end) => self.combinations.finish(end, &self.rules, view, &mut work.tally, hit),
            None => ControlFlow::Continue(()),
        }
    }

    /// Reports what was found, ordered, of a set that is [plain](Set::plain).
    fn deliver_all(
        &self,
        work: &mut Work,
        hit: &mut dyn FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut before = None;
        for one in &work.found {
            if before.replace((one.end, one.pattern)) == Some((one.end, one.pattern)) {
                continue;
            }
            let rule = &self.rules[one.pattern as usize];
            let start = if rule.start_of_match { one.start } else { 0 };
            let flow = hit(Match { end: one.end, id: rule.id, start });
            work.tally.matched(one.pattern, flow.is_break());
            flow?;
        }
        ControlFlow::Continue(())
    }
}

/// The bytes of the past that are there: a stream that has just begun has fewer than it keeps.
fn kept(history: &[u8], offset: u64) -> &[u8] {
    let missing = history.len().saturating_sub(usize::try_from(offset).unwrap_or(usize::MAX));
    &history[missing..]
}

/// Makes the end of the past and of the new bytes behind it the past.
fn keep(history: &mut [u8], new: &[u8]) {
    let length = history.len();
    match length.checked_sub(new.len()) {
        Some(left) => {
            history.copy_within(new.len().., 0);
            history[left..].copy_from_slice(new);
        }
        None => history.copy_from_slice(&new[new.len() - length..]),
    }
}
