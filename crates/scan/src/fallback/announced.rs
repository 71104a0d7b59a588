//! Expressions whose matches all have one of a few strings: each is an automaton of its own, which runs only around an
//! occurrence.
//!
//! A match that has the string at a place begins behind the last byte before it that nothing before the string matches,
//! and ends at the latest where a byte is that nothing behind it does. What runs there from a state of rest finds
//! all such matches, and nothing that is none. Places that touch are one, so each byte is passed once for an expression.
//!
//! In a stream an expression is *active* between two pieces if its positions are known. Otherwise it is at rest, or all
//! that a match may have begun with is among the bytes of the past that are kept: an occurrence is looked at from there.

use std::ops::{ControlFlow, Range};

use super::dfa::Dfa;
use super::fragment::Fragment;
use super::gate::{Gate, Seen};
use super::passing::Spare;
use super::program::{Program, set};
use super::{CACHE_BYTES, Expression, Limits, TooLarge, dfa::emit, late::late, next_id};
use crate::node::{ByteSet, Node};
use crate::required::{Required, Side};
use crate::stretch::Stretch;
use crate::strings::Common;
use crate::words;

/// Bytes of memory that the states of one expression take at most, about.
const EACH: usize = 1 << 20;

/// What may reach so many bytes back from the end of its string has a gate, in sets for streams.
const LOOKED_AT_BY_GATES: usize = 128;

/// The strings of an expression, if it is better looked for around them. With `stream`, what stands before them has to
/// be such that little of the past is needed.
pub(crate) fn required(node: &Node, stream: bool, common: &Common) -> Option<Required> {
    Required::new(&late(node), stream, common)
}

/// One expression.
#[derive(Debug)]
struct One {
    program: Program,
    /// Finds where matches may begin, in pieces of streams.
    gate: Option<Gate>,
    report: u32,
    /// Its first match is enough.
    once: bool,
    /// Before a string, behind it, and up to its end.
    before: Reach,
    after: Reach,
    early: Reach,
    /// The length of the longest string.
    longest: usize,
    /// The bytes of a match.
    whole: u32,
    /// Where its positions are in a state.
    share: Range<usize>,
}

/// How far something may reach.
#[derive(Clone, Copy, Debug)]
struct Reach {
    most: usize,
    /// Number of the bytes that it has.
    stretch: u32,
}

/// The expressions, ready to scan; see the module.
#[derive(Debug)]
pub(crate) struct Announced {
    all: Vec<One>,
    stretches: Vec<Stretch>,
    late: Vec<u32>,
    /// Those that begin at the start of the data.
    anchored: Vec<u32>,
    /// Of the others: those that have one stretch up to the end of their string, and the most bytes that any of them may have of it.
    reaching: Vec<(u32, usize, Vec<u32>)>,
    state_len: usize,
    id: u64,
}

/// An occurrence of a string of the expression with that number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Occurrence {
    pub(crate) number: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// What is scanned.
#[derive(Clone, Copy)]
pub(crate) struct Piece<'a> {
    /// Bytes of the past, then the new ones.
    pub(crate) data: &'a [u8],
    pub(crate) fresh: usize,
    /// The offset of `data[0]`.
    pub(crate) base: u64,
    /// Nothing follows.
    pub(crate) last: bool,
    /// How many bytes the next piece has of its past.
    pub(crate) keep: usize,
}

/// What one thread needs to scan.
#[derive(Default)]
pub(crate) struct Caches {
    owner: u64,
    used: usize,
    engines: Vec<Option<Box<Dfa>>>,
    /// Those that ran since the last time that there was no room, a bit each.
    recent: Vec<u64>,
    bits: Vec<u64>,
    /// Of each stretch: behind its last byte outside, in the piece that is scanned.
    behind: Vec<Option<usize>>,
    /// The expressions to look at, a bit each.
    visits: Vec<u64>,
    /// What the last scan has written over in the state: where that is, and the bytes, one after another.
    written: Vec<Range<usize>>,
    bytes: Vec<u8>,
}

impl Caches {
    fn note(&mut self, place: Range<usize>, bytes: &[u8]) {
        self.written.push(place);
        self.bytes.extend_from_slice(bytes);
    }

    /// Makes `state` what it was before the last scan. A copy of all of it for each piece would take longer than many a scan:
    /// of hundreds of expressions few are active.
    pub(crate) fn undo(&self, state: &mut [u8]) {
        let mut bytes = &self.bytes[..];
        for place in &self.written {
            let (mine, rest) = bytes.split_at(place.len());
            state[place.clone()].copy_from_slice(mine);
            bytes = rest;
        }
    }
}

impl Announced {
    pub(crate) fn new(
        expressions: &[(Expression<'_>, Required)],
        stream: bool,
        limits: &Limits,
    ) -> Result<Announced, TooLarge> {
        let mut it = Announced {
            all: Vec::new(),
            stretches: Vec::new(),
            late: Vec::new(),
            anchored: Vec::new(),
            reaching: Vec::new(),
            state_len: expressions.len().div_ceil(8),
            id: next_id(),
        };
        for (expression, required) in expressions {
            let report = expression.report;
            let fragment =
                Fragment::new(expression, limits).map_err(|limit| TooLarge { report, limit })?;
            if fragment.positions.iter().any(|position| position.accept == Some(1)) {
                it.late.push(report);
            }
            let mut program = Program::new(&[&fragment], false, false);
            program.skips = false;
            program.key = None;
            let texts: ByteSet =
                required.strings.iter().flat_map(|text| text.bytes.iter()).copied().collect();
            // Those of texts in either case are in lower case.
            let texts = match required.strings.iter().any(|text| text.caseless) {
                true => texts.both_cases(),
                false => texts,
            };
            let longest = required.strings.iter().map(|text| text.bytes.len()).max();
            let Required { before, after, .. } = *required;
            let early = Side {
                bytes: before.bytes.union(texts),
                most: before.most.map(|most| most.saturating_add(longest.unwrap_or(0) as u64)),
            };
            let [before, after_reach, early_reach] =
                [before, after, early].map(|side| it.reach(side));
            let whole = it.stretch(early.bytes.union(after.bytes));
            let share = it.state_len..it.state_len + program.len.div_ceil(8);
            it.state_len = share.end;
            let number = it.all.len() as u32;
            match program.restarts {
                0 => it.anchored.push(number),
                _ => it.reaches_back(number, early_reach),
            }
            let far = stream && early_reach.most >= LOOKED_AT_BY_GATES;
            let gate = || Gate::new(&[&fragment], program.restarts, program.words, limits.isa);
            let gate = if far { gate() } else { None };
            it.all.push(One {
                program,
                gate,
                report,
                once: expression.once,
                before,
                after: after_reach,
                early: early_reach,
                longest: longest.unwrap_or(0),
                whole,
                share,
            });
        }
        it.late.sort_unstable();
        Ok(it)
    }

    fn stretch(&mut self, class: ByteSet) -> u32 {
        let known = self.stretches.iter().position(|it| it.class() == class);
        known.unwrap_or_else(|| {
            self.stretches.push(Stretch::new(class));
            self.stretches.len() - 1
        }) as u32
    }

    fn reaches_back(&mut self, number: u32, early: Reach) {
        match self.reaching.iter_mut().find(|it| it.0 == early.stretch) {
            Some((_, most, numbers)) => {
                *most = early.most.max(*most);
                numbers.push(number);
            }
            None => self.reaching.push((early.stretch, early.most, vec![number])),
        }
    }

    fn reach(&mut self, side: Side) -> Reach {
        let most = side.most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
        Reach { most, stretch: self.stretch(side.bytes) }
    }

    /// Whether matches of this report come with the byte behind them.
    pub(crate) fn is_late(&self, report: u32) -> bool {
        self.late.binary_search(&report).is_ok()
    }

    /// Bytes of a stream's state. All zeros: before the first byte.
    pub(crate) fn state_len(&self) -> usize {
        self.state_len
    }

    /// The first ones of these, which say what is active. All others may be anything before the first byte.
    pub(crate) fn active_len(&self) -> usize {
        self.all.len().div_ceil(8)
    }

    /// What an expression is reported as.
    pub(crate) fn report(&self, number: u32) -> u32 {
        self.all[number as usize].report
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let of = |one: &One| {
            let gate = one.gate.as_ref().map_or(0, Gate::memory);
            one.program.memory() + gate + size_of::<One>()
        };
        self.all.iter().map(of).sum()
    }

    /// What they are, in a line.
    pub(crate) fn describe(&self) -> String {
        let positions: usize = self.all.iter().map(|one| one.program.len).sum();
        let (count, state) = (self.all.len(), self.state_len);
        format!(
            "around strings: {count} lazy DFAs, {positions} positions, {state} bytes of state\n"
        )
    }

    /// Whether new bytes without a string, which are not the last ones, leave a stream's state as it is: nothing is under way, and all
    /// that may have begun is kept. `begin`: nothing came before what is kept of the past. `keep` as in [`Piece`].
    pub(crate) fn rests(&self, state: &[u8], begin: bool, new: &[u8], keep: usize) -> bool {
        let active = &state[..self.active_len()];
        let tail = &new[new.len().saturating_sub(keep)..];
        let ends = |stretch: u32| self.stretches[stretch as usize].last_outside(tail).is_some();
        active.iter().all(|it| *it == 0)
            && (!begin || self.anchored.is_empty())
            && self.reaching.iter().all(|(stretch, most, _)| *most < keep || ends(*stretch))
    }

    /// Scans a piece in which the strings `occur`, ordered; only those count that end among the new bytes.
    pub(crate) fn scan(
        &self,
        caches: &mut Caches,
        state: &mut [u8],
        piece: Piece<'_>,
        mut occur: &[Occurrence],
        spent: impl Fn(u32) -> bool,
        hit: &mut impl FnMut(u32, u64),
    ) {
        caches.own(self);
        caches.written.clear();
        caches.bytes.clear();
        let (active, shares) = state.split_at_mut(self.active_len());
        let before = active.len();
        if occur.is_empty()
            && (piece.last || piece.fresh == piece.data.len())
            && active.iter().all(|it| *it == 0)
        {
            return;
        }
        caches.note(0..before, active);
        caches.behind.clear();
        caches.behind.resize(self.stretches.len(), None);
        let mut visits = std::mem::take(&mut caches.visits);
        self.visits(&mut visits, active, piece, occur, &mut caches.behind);
        for (word, visits) in visits.iter_mut().enumerate() {
            while *visits != 0 {
                let number = word * 64 + visits.trailing_zeros() as usize;
                *visits &= *visits - 1;
                // They are few: counted from the front.
                let count = occur.iter().take_while(|it| it.number as usize == number).count();
                let mine;
                (mine, occur) = occur.split_at(count);
                let one = &self.all[number];
                let is_active = active[number / 8] >> (number % 8) & 1 != 0;
                if mine.is_empty()
                    && !is_active
                    && (piece.last || self.is_kept(one, piece, &mut caches.behind))
                {
                    continue;
                }
                let share = &mut shares[one.share.start - before..one.share.end - before];
                if is_active {
                    caches.note(one.share.clone(), share);
                }
                active[number / 8] &= !(1 << (number % 8));
                if !spent(one.report) {
                    let run = Run { all: self, one, piece, number };
                    if run.scan(caches, is_active, share, mine, hit) && !piece.last {
                        active[number / 8] |= 1 << (number % 8);
                    }
                }
            }
        }
        caches.visits = visits;
    }

    /// Sets the bits of those that this piece may be of interest to: where their strings occur, that are active, or whose matches may
    /// have begun where the next piece does not see it.
    fn visits(
        &self,
        visits: &mut Vec<u64>,
        active: &[u8],
        piece: Piece<'_>,
        occur: &[Occurrence],
        behind: &mut [Option<usize>],
    ) {
        visits.clear();
        visits.resize(self.all.len().div_ceil(64), 0);
        words::load(active, self.all.len(), visits);
        for it in occur {
            visits[it.number as usize / 64] |= 1 << (it.number % 64);
        }
        let kept = piece.data.len().saturating_sub(piece.keep);
        if piece.last || piece.base == 0 && kept == 0 {
            return;
        }
        let mut add = |numbers: &[u32]| {
            for number in numbers {
                visits[*number as usize / 64] |= 1 << (number % 64);
            }
        };
        if piece.base == 0 {
            add(&self.anchored);
        }
        for (stretch, most, numbers) in &self.reaching {
            if *most >= piece.keep && self.begun_in(*stretch, piece, behind) <= kept {
                add(numbers);
            }
        }
    }

    /// Behind the last byte of the piece that is not in a stretch.
    fn begun_in(&self, stretch: u32, piece: Piece<'_>, behind: &mut [Option<usize>]) -> usize {
        let stretch = stretch as usize;
        *behind[stretch].get_or_insert_with(|| {
            self.stretches[stretch].last_outside(piece.data).map_or(0, |at| at + 1)
        })
    }

    /// Where a match may have begun whose string has not ended.
    fn begun(&self, one: &One, piece: Piece<'_>, behind: &mut [Option<usize>]) -> usize {
        let from = piece.data.len().saturating_sub(one.early.most);
        if one.early.most <= 256 && behind[one.early.stretch as usize].is_none() {
            return from;
        }
        self.begun_in(one.early.stretch, piece, behind).max(from)
    }

    /// Whether what a match may have begun with is kept, and the byte before.
    fn is_kept(&self, one: &One, piece: Piece<'_>, behind: &mut [Option<usize>]) -> bool {
        let kept = piece.data.len().saturating_sub(piece.keep);
        let anchored = one.program.restarts == 0;
        if anchored && piece.base > 0 || piece.base == 0 && kept == 0 {
            return true;
        }
        let begun = self.begun(one, piece, behind);
        begun > kept || anchored && begun > 0
    }
}

/// One expression in one piece.
struct Run<'a> {
    all: &'a Announced,
    one: &'a One,
    piece: Piece<'a>,
    number: usize,
}

impl Run<'_> {
    /// Returns whether it is active at the end of the piece; its positions are in `share` then.
    fn scan(
        &self,
        caches: &mut Caches,
        is_active: bool,
        share: &mut [u8],
        occur: &[Occurrence],
        hit: &mut impl FnMut(u32, u64),
    ) -> bool {
        let Run { all, one, piece, .. } = *self;
        let data = piece.data;
        let mut bits = std::mem::take(&mut caches.bits);
        bits.clear();
        bits.resize(one.program.words, 0);
        // From `at` on, with these positions, it is to run up to `until`; with none, nothing is under way.
        let (mut at, mut until, mut runs) = (0, 0, is_active);
        if is_active {
            words::load(share, one.program.len, &mut bits);
            let stretch = &all.stretches[one.whole as usize];
            at = piece.fresh;
            until = stretch.first_outside(&data[at..]).map_or(data.len(), |more| at + more + 1);
        }
        // The first byte outside of what may follow, of all places in the first range.
        let mut next_outside = (1, 0);
        let mut done = false;
        for it in occur {
            let (start, end) = (it.start as usize, it.end as usize);
            if !runs || start > until {
                let stretch = &all.stretches[one.before.stretch as usize];
                // A longer string may have begun before this one, and end in a later piece.
                let start = start.min(end.saturating_sub(one.longest)).max(until);
                let from = until.max(start.saturating_sub(one.before.most));
                let begin = match stretch.last_outside(&data[from..start]) {
                    Some(outside) => from + outside + 1,
                    None => from,
                };
                if !runs || begin > until {
                    if one.program.restarts == 0 && (piece.base > 0 || begin > 0) {
                        continue;
                    }
                    if self.run(caches, &mut bits, at..until, hit) {
                        done = true;
                        break;
                    }
                    at = self.rest(&mut bits, begin);
                    runs = true;
                }
            }
            let stretch = &all.stretches[one.after.stretch as usize];
            let most = data.len().min(end.saturating_add(one.after.most));
            let (from, mut outside) = next_outside;
            if end < from || end > outside {
                outside = stretch.first_outside(&data[end..most]).map_or(most, |more| end + more);
                if outside < most || most == data.len() {
                    next_outside = (end, outside);
                }
            }
            until = until.max(data.len().min(outside.min(most) + 1));
        }
        let mut active = false;
        if !done && !self.run(caches, &mut bits, at..until, hit) {
            let mut known = runs && until == data.len();
            if !known && !piece.last && !all.is_kept(one, piece, &mut caches.behind) {
                let begun = all.begun(one, piece, &mut caches.behind);
                let at = match runs && begun <= until {
                    true => Some(until),
                    false => self.first(begun).map(|begin| self.rest(&mut bits, begin)),
                };
                known = at.is_some_and(|at| !self.run(caches, &mut bits, at..data.len(), hit));
            }
            if known && piece.last {
                let offset = piece.base.wrapping_add(data.len() as u64);
                let mut list = Vec::new();
                one.program.reports_end(&bits, offset != 0, &mut list);
                let _ = emit(&list, offset, &mut |report, _, end| {
                    hit(report, end);
                    ControlFlow::Continue(())
                });
            } else if known && under_way(&one.program, &bits) {
                words::save(&bits, share);
                active = true;
            }
        }
        caches.bits = bits;
        active
    }

    /// The first place from `begun` on at which a match may begin, if there is one.
    fn first(&self, begun: usize) -> Option<usize> {
        let Piece { data, base, .. } = self.piece;
        // The start of the data may be unlike other places.
        let Some(gate) = self.one.gate.as_ref().filter(|_| base > 0 || begun > 0) else {
            return Some(begun);
        };
        let candidate = gate.find(data, begun, &mut Seen::default());
        (candidate < data.len()).then(|| gate.begin(data, begun, candidate))
    }

    /// Sets `bits` to where nothing is under way before `begin`, and returns `begin`, or the first place at which that
    /// is known.
    fn rest(&self, bits: &mut [u64], begin: usize) -> usize {
        bits.fill(0);
        if self.piece.base == 0 && begin == 0 {
            bits[0] = 1;
            return begin;
        }
        // What began before the bytes that are kept is known to be over.
        let begin = begin.max(1);
        if let Some(restart) = self.one.program.restart(self.piece.data[begin - 1]) {
            set(bits, restart);
        }
        begin
    }

    /// Runs over a range of the piece. Returns whether nothing more is asked for.
    fn run(
        &self,
        caches: &mut Caches,
        bits: &mut [u64],
        range: Range<usize>,
        hit: &mut impl FnMut(u32, u64),
    ) -> bool {
        let Run { one, piece, number, .. } = *self;
        if range.is_empty() {
            return false;
        }
        let dfa = caches.engine(number, &one.program);
        let memory = dfa.memory();
        let offset = |at: usize| piece.base.wrapping_add(at as u64);
        let middle = piece.fresh.clamp(range.start, range.end);
        let mut found = false;
        if range.start < middle {
            let past = &piece.data[range.start..middle];
            let _ = dfa.scan(&one.program, bits, offset(range.start), past, &mut |_, _, _| {
                ControlFlow::Continue(())
            });
        }
        let _ = dfa.scan(
            &one.program,
            bits,
            offset(middle),
            &piece.data[middle..range.end],
            &mut |report, _, end| {
                hit(report, end);
                found = true;
                if one.once { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            },
        );
        let more = dfa.memory().saturating_sub(memory);
        caches.used += more;
        found && one.once
    }
}

impl Caches {
    /// Whether it was used with these last.
    pub(crate) fn is_of(&self, all: &Announced) -> bool {
        self.owner == all.id
    }

    fn own(&mut self, all: &Announced) {
        if self.owner != all.id {
            self.engines.clear();
            self.engines.resize_with(all.all.len(), || None);
            self.recent.clear();
            self.recent.resize(all.all.len().div_ceil(64), 0);
            self.owner = all.id;
            self.used = 0;
        }
    }

    /// Throws away the states of expressions that have not run since the last time, then of those that have the most.
    fn make_room(&mut self) {
        let mut kept: Vec<(usize, usize)> = vec![];
        for (number, engine) in self.engines.iter_mut().enumerate() {
            let recent = self.recent[number / 64] >> (number % 64) & 1 != 0;
            match engine {
                Some(it) if recent => kept.push((it.memory() + size_of::<Dfa>(), number)),
                _ => *engine = None,
            }
        }
        self.recent.fill(0);
        self.used = kept.iter().map(|it| it.0).sum();
        kept.sort_unstable();
        while self.used > CACHE_BYTES / 2
            && let Some((memory, number)) = kept.pop()
        {
            self.engines[number] = None;
            self.used -= memory;
        }
    }

    fn engine(&mut self, number: usize, program: &Program) -> &mut Dfa {
        if self.used > CACHE_BYTES {
            self.make_room();
        }
        self.recent[number / 64] |= 1 << (number % 64);
        let used = &mut self.used;
        let spare = if *used > CACHE_BYTES / 2 { Spare::Always } else { Spare::Half };
        let dfa = self.engines[number].get_or_insert_with(|| {
            let dfa = Box::new(Dfa::new(program, EACH));
            *used += dfa.memory() + size_of::<Dfa>();
            dfa
        });
        dfa.passing.spare = spare;
        dfa
    }
}

/// Whether a match is.
fn under_way(program: &Program, bits: &[u64]) -> bool {
    let rest = program.restarts + 1;
    bits.iter().enumerate().any(|(word, &bits)| {
        let resting = rest.saturating_sub(word * 64);
        let mask = if resting >= 64 { 0 } else { u64::MAX << resting };
        bits & mask != 0
    })
}
