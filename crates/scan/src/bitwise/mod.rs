//! Expressions of a few classes, 64 bytes at once: bit `i` of a word stands for byte `i`.
//!
//! A class of bytes is a set of places: those whose byte is in it. So is a part of an expression: the places of the last byte
//! of whatever can have matched up to its end. Each set follows from earlier ones by a few operations on words, whatever
//! the bytes are (Cameron and others, "Bitwise Data Parallelism in Regular Expression Matching", 2014):
//!
//! ```text
//! s, then X      places of X behind one of s:         (s << 1) & X
//! s, then X*     s, and how far runs of X go on:      s | (((m + X) ^ X) | m) & X,  where m = (s << 1) & X
//! A|B, A?        places of either:                    a | b
//! s, then (B)*   s, and what is behind that by B:     again and again, word by word, until nothing is added
//! ```
//!
//! From one word to the next a bit of each set is carried: that is all that a stream keeps. An automaton takes its time for
//! each byte, and most of it where matches are; this takes the same for 64 of them. It is for expressions that are
//! nearly everywhere, or whose strings are: `\n`, `[^"]+`, `[0-9]+`, `<[^>]*>`, `//.*$`. Assertions are those that can be said by a byte
//! before a match or behind it ([`alternatives`]).

mod kernel;
#[cfg(test)]
mod tests;

use lookaside_simd::Cpu;

use self::kernel::{Classes, Isa};
use crate::fallback::byte_weight;
use crate::node::{Assertion, ByteSet, Node};
use crate::plan::{End, alternatives};
use crate::window::Found;

/// Words that are worked on together: a kilobyte of text.
const WORDS: usize = 16;
/// Bytes of these.
const BLOCK: usize = 64 * WORDS;
/// The most sets: a bit of each is carried, in one word.
const MOST_SETS: usize = 64;
/// Expected cycles for a byte: of a class, of another set, and of one that is worked out again and again. Measured on Emerald
/// Rapids with AVX2; with AVX-512 it is a little less.
const CLASS: f64 = 0.06;
const STEP: f64 = 0.05;
const AGAIN: f64 = 0.3;

/// Bytes of a stretch without the first byte of any match that it pays to pass over.
const STRETCH: usize = 128;
/// Words with such a byte in a block that is worked on as a whole.
const DENSE: usize = 4;

/// A set of places in a block.
pub(crate) type Places = [u64; WORDS];

/// A set, by others, which are given by their numbers; they come before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Set {
    /// The place before the first byte.
    Start,
    /// The places of a class.
    Class(ByteSet),
    /// Places of the second set behind one of the first set.
    Then(u8, u8),
    /// The first set, and how far runs of the second one go on from there.
    Star(u8, u8),
    /// Places of either.
    Or(u8, u8),
    /// The first set, and the second one, which comes behind this one and follows from it by those between them.
    Again(u8, u8),
}

/// What is reported: at the places of a set, matches of a pattern end.
#[derive(Clone, Copy, Debug)]
struct Report {
    pattern: u32,
    set: u8,
    /// Before the byte at the place, or behind it.
    before: bool,
    /// The first match is enough.
    once: bool,
}

/// Collects expressions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    sets: Vec<Set>,
    reports: Vec<Report>,
    /// Where the data end, matches may end at the last place.
    at_end: Vec<Report>,
    /// How many sets there are that are worked out again and again.
    again: usize,
    /// The classes that expressions begin with.
    firsts: Vec<ByteSet>,
    /// Such a set is not part of another one.
    is_within_again: bool,
}

/// Where an expression, or a part of it, may begin: anywhere, or behind the places of a set.
type Before = Option<u8>;

impl Sets {
    /// Adds an expression that matches no empty string, if it is for this and costs less than `most` more.
    pub(crate) fn add(&mut self, pattern: u32, node: &Node, once: bool, most: f64) -> bool {
        let before = (self.sets.len(), self.reports.len(), self.at_end.len(), self.again);
        let firsts = self.firsts.len();
        let cost = self.cost();
        let added = self.try_add(pattern, node, once).filter(|()| self.cost() - cost < most);
        if added.is_none() {
            self.is_within_again = false;
            self.sets.truncate(before.0);
            self.reports.truncate(before.1);
            self.at_end.truncate(before.2);
            self.again = before.3;
            self.firsts.truncate(firsts);
        }
        added.is_some()
    }

    fn try_add(&mut self, pattern: u32, node: &Node, once: bool) -> Option<()> {
        let mut anywhere = None;
        for (parts, end) in alternatives(node)? {
            let set = self.behind_all(None, &parts)??;
            let mut add = |all: fn(&mut Sets) -> &mut Vec<Report>, set, before| {
                all(self).push(Report { pattern, set, before, once });
            };
            match end {
                End::Anywhere => {
                    anywhere = match anywhere {
                        None => Some(set),
                        Some(other) => self.either(Some(other), Some(set))?,
                    }
                }
                End::Text => add(|all| &mut all.at_end, set, false),
                End::TextOrNewline => {
                    add(|all| &mut all.at_end, set, false);
                    let newline = self.number(Set::Class(ByteSet::one(b'\n')))?;
                    let set = self.number(Set::Then(set, newline))?;
                    self.at_end.push(Report { pattern, set, before: true, once });
                }
                End::Before { next, text_end } => {
                    if text_end {
                        add(|all| &mut all.at_end, set, false);
                    }
                    let next = self.number(Set::Class(next))?;
                    let set = self.number(Set::Then(set, next))?;
                    self.reports.push(Report { pattern, set, before: true, once });
                }
            }
        }
        if let Some(set) = anywhere {
            self.reports.push(Report { pattern, set, before: false, once });
        }
        Some(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reports.is_empty() && self.at_end.is_empty()
    }

    /// Expected cycles for a byte.
    pub(crate) fn cost(&self) -> f64 {
        let cost = |set: &Set| if matches!(set, Set::Class(_)) { CLASS } else { STEP };
        let cost = self.sets.iter().map(cost).sum::<f64>() + self.again as f64 * AGAIN;
        match self.rare_firsts() {
            Some((_, weight)) => CLASS + cost * (weight * STRETCH as f64).min(1.0),
            None => cost,
        }
    }

    /// The bytes that matches begin with, if they are rare, and how frequent they are.
    fn rare_firsts(&self) -> Option<(ByteSet, f64)> {
        let firsts = self.firsts.iter().fold(ByteSet::EMPTY, |all, class| all.union(*class));
        let weight = firsts.iter().map(byte_weight).sum::<f64>();
        (weight * (STRETCH as f64) < 0.7 && !self.sets.contains(&Set::Start))
            .then_some((firsts, weight))
    }

    /// The number of a set.
    fn number(&mut self, set: Set) -> Option<u8> {
        let known = self.sets.iter().position(|known| *known == set);
        // What is worked out again and again has no classes.
        if known.is_none() && self.is_within_again && matches!(set, Set::Class(_)) {
            return None;
        }
        let number = known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        (number < MOST_SETS).then_some(number as u8)
    }

    /// All classes first.
    fn classes(&mut self, node: &Node) -> Option<()> {
        match node {
            Node::Empty | Node::Assert(_) => Some(()),
            Node::Class(class) => self.number(Set::Class(*class)).map(|_| ()),
            Node::Concat(parts) | Node::Alternate(parts) => {
                parts.iter().try_for_each(|part| self.classes(part))
            }
            Node::Repeat { node, .. } => self.classes(node),
        }
    }

    fn either(&mut self, a: Before, b: Before) -> Option<Before> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => self.number(Set::Or(a, b)).map(Some),
            (Some(a), Some(_)) => Some(Some(a)),
            _ => Some(None),
        }
    }

    fn behind_all(&mut self, before: Before, parts: &[Node]) -> Option<Before> {
        parts.iter().try_fold(before, |before, part| self.behind(before, part))
    }

    /// The places of the last byte of what ends with `node`. `None`: it is not for this.
    fn behind(&mut self, before: Before, node: &Node) -> Option<Before> {
        match node {
            Node::Empty => Some(before),
            Node::Assert(Assertion::TextStart) if before.is_none() => {
                self.number(Set::Start).map(Some)
            }
            Node::Assert(_) => None,
            Node::Class(bytes) => {
                let class = self.number(Set::Class(*bytes))?;
                match before {
                    None => {
                        self.firsts.push(*bytes);
                        Some(Some(class))
                    }
                    Some(before) => self.number(Set::Then(before, class)).map(Some),
                }
            }
            Node::Concat(parts) => self.behind_all(before, parts),
            Node::Alternate(parts) => self.behind_either(before, parts),
            Node::Repeat { node, min, max } => {
                let mut now = before;
                for _ in 0..*min {
                    let (last, count) = (now, self.sets.len());
                    now = self.behind(now, node)?;
                    // A round that changes nothing is like all others.
                    if now == last && count == self.sets.len() {
                        break;
                    }
                }
                let (Some(_), Some(mut last)) = (before, now) else {
                    // What may begin anywhere may as well begin with its last rounds.
                    return Some(now);
                };
                let Some(max) = max else { return self.again(last, node).map(Some) };
                let mut all = now;
                for _ in *min..*max {
                    let round = self.behind(Some(last), node)??;
                    all = self.either(all, Some(round))?;
                    if round == last {
                        break;
                    }
                    last = round;
                }
                Some(all)
            }
        }
    }

    fn behind_either(&mut self, before: Before, parts: &[Node]) -> Option<Before> {
        let (first, parts) = parts.split_first()?;
        let mut all = self.behind(before, first)?;
        for part in parts {
            let one = self.behind(before, part)?;
            all = self.either(all, one)?;
        }
        Some(all)
    }

    /// What is behind `before` by any number of rounds of `node`.
    fn again(&mut self, before: u8, node: &Node) -> Option<u8> {
        let (mut class, mut others) = (ByteSet::EMPTY, vec![]);
        let mut parts = vec![node];
        while let Some(part) = parts.pop() {
            match part {
                Node::Alternate(more) => parts.extend(more),
                Node::Concat(more) if more.len() == 1 => parts.extend(more),
                Node::Empty | Node::Repeat { max: Some(0), .. } => {}
                // Rounds of rounds.
                Node::Repeat { node, min: 0 | 1, .. } if matches!(**node, Node::Class(_)) => {
                    parts.push(node);
                }
                Node::Class(bytes) => class = class.union(*bytes),
                other => others.push(other.clone()),
            }
        }
        // `(X|B)*` is `X*(BX*)*`, which has fewer rounds.
        let class = match class.is_empty() {
            true => None,
            false => Some(self.number(Set::Class(class))?),
        };
        let star = |all: &mut Sets, set| match class {
            Some(class) => all.number(Set::Star(set, class)),
            None => Some(set),
        };
        let first = star(self, before)?;
        if others.is_empty() {
            return Some(first);
        }
        others.iter().try_for_each(|other| self.classes(other))?;
        let number = self.sets.len();
        if number >= MOST_SETS || self.is_within_again {
            return None;
        }
        self.sets.push(Set::Again(first, 0));
        self.is_within_again = true;
        let last = self.behind_either(Some(number as u8), &others);
        self.is_within_again = false;
        let last = star(self, last??)?;
        // All that is behind itself again is behind it: the last set of all.
        let last = if usize::from(last) + 1 < self.sets.len() {
            self.sets.push(Set::Or(last, last));
            self.sets.len() - 1
        } else {
            usize::from(last)
        };
        if last <= number || last >= MOST_SETS {
            return None;
        }
        self.sets[number] = Set::Again(first, last as u8);
        self.again += last - number;
        Some(number as u8)
    }
}

/// Expressions, ready to scan.
#[derive(Debug)]
pub(crate) struct Bitwise {
    isa: Isa,
    sets: Box<[Set]>,
    classes: Classes,
    /// Ascending by pattern.
    reports: Box<[Report]>,
    at_end: Box<[Report]>,
    /// What is carried to the first byte: a bit for each set that has the place before it.
    begin: u64,
    /// A bit for each set whose last place matters to the next one.
    carried: u64,
    /// The bytes that matches begin with, if they are rare.
    firsts: Option<Classes>,
    patterns: Box<[u32]>,
}

impl Bitwise {
    pub(crate) fn new(mut all: Sets, cpu: &Cpu) -> Bitwise {
        all.reports.sort_by_key(|report| report.pattern);
        let class = |(number, set): (usize, &Set)| match set {
            Set::Class(bytes) => Some((number as u8, *bytes)),
            _ => None,
        };
        let begin = all.sets.iter().enumerate().fold(0, |begin, (number, set)| {
            let has = match *set {
                Set::Start => 1,
                Set::Class(_) | Set::Then(..) => 0,
                Set::Star(a, _) | Set::Again(a, _) => begin >> a & 1,
                Set::Or(a, b) => (begin >> a | begin >> b) & 1,
            };
            begin | has << number
        });
        let carried = all.sets.iter().enumerate().fold(0, |carried, (number, set)| match set {
            Set::Then(a, _) => carried | 1 << a,
            Set::Star(..) => carried | 1 << number,
            Set::Start | Set::Class(_) | Set::Or(..) | Set::Again(..) => carried,
        });
        // What has bytes above 127 apart from what has none.
        let mut classes: Vec<_> = all.sets.iter().enumerate().filter_map(class).collect();
        let above = |bytes: &ByteSet| bytes.words()[2..] != [0, 0];
        classes.sort_by_key(|(_, bytes)| above(bytes));
        let firsts = all.rare_firsts();
        let mut patterns: Vec<u32> =
            all.reports.iter().chain(&all.at_end).map(|report| report.pattern).collect();
        patterns.sort_unstable();
        patterns.dedup();
        Bitwise {
            isa: Isa::new(cpu),
            begin,
            carried,
            firsts: firsts.map(|(bytes, _)| Classes::new(&[(all.sets.len() as u8, bytes)])),
            classes: Classes::new(&classes),
            sets: all.sets.into(),
            reports: all.reports.into(),
            at_end: all.at_end.into(),
            patterns: patterns.into(),
        }
    }

    /// Bytes of a stream's state. All zeros: before the first byte.
    pub(crate) fn state_len(&self) -> usize {
        self.sets.len().div_ceil(8)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let reports = size_of_val(&*self.reports) + size_of_val(&*self.at_end);
        let sets = size_of_val(&*self.sets) + self.classes.memory();
        size_of::<Bitwise>() + sets + reports + size_of_val(&*self.patterns)
    }

    /// Whether a pattern is among these.
    pub(crate) fn has(&self, pattern: u32) -> bool {
        self.patterns.binary_search(&pattern).is_ok()
    }

    /// The patterns whose matches are known with the byte behind them alone.
    pub(crate) fn late(&self) -> impl Iterator<Item = u32> {
        self.reports.iter().filter(|report| report.before).map(|report| report.pattern)
    }

    /// What they are, in a line.
    pub(crate) fn describe(&self) -> String {
        let classes = self.classes.len();
        let (count, others) = (self.patterns.len(), self.sets.len() - classes);
        format!(
            "bit by bit: {count} expressions, {classes} classes of bytes, {others} other sets\n"
        )
    }

    /// Scans the bytes of a stream from `offset` on and brings `state` behind them. What is `spent` is not reported.
    /// `memory` is for this to use.
    #[inline(never)]
    pub(crate) fn scan(
        &self,
        memory: &mut Vec<Places>,
        state: &mut [u8],
        offset: u64,
        bytes: &[u8],
        spent: &impl Fn(u32) -> bool,
        found: &mut Vec<Found>,
    ) {
        if memory.len() <= self.sets.len() {
            memory.resize(self.sets.len() + 1, [0; WORDS]);
        }
        let mut run = Run { all: self, memory, carries: self.load(state), spent, found };
        let first = run.found.len();
        for (number, block) in bytes.chunks(BLOCK).enumerate() {
            let offset = offset.wrapping_add((number * BLOCK) as u64);
            match &self.firsts {
                Some(firsts) => run.around_firsts(firsts, block, offset),
                None => run.block(block, offset),
            }
            if let [one] = &*self.reports
                && one.once
                && run.found.len() > first
            {
                break;
            }
        }
        let carries = run.carries;
        // A call to copy a few bytes takes longer.
        let carries = carries ^ self.begin;
        state.iter_mut().enumerate().for_each(|(i, byte)| *byte = (carries >> (8 * i)) as u8);
    }

    /// Reports what matches only because the data ends, behind `offset` bytes.
    pub(crate) fn end(
        &self,
        state: &[u8],
        offset: u64,
        spent: &impl Fn(u32) -> bool,
        found: &mut Vec<Found>,
    ) {
        let carries = self.load(state);
        for report in self.at_end.iter().filter(|it| carries >> it.set & 1 != 0) {
            if !spent(report.pattern) {
                let end = offset.wrapping_sub(u64::from(report.before));
                found.push(Found { end, pattern: report.pattern, start: 0 });
            }
        }
    }

    /// Of each set, bit by bit, whether the last place is in it.
    fn load(&self, state: &[u8]) -> u64 {
        state.iter().rev().fold(0, |carries, byte| carries << 8 | u64::from(*byte)) ^ self.begin
    }

    /// All sets of a block; of each, bit by bit, whether the last place is in it. `carries` says so of the place before.
    fn sets(&self, memory: &mut [Places], carries: u64, block: &[u8]) -> u64 {
        self.classes.places(self.isa, block, memory);
        let words = block.len().div_ceil(64);
        // Most packets are short.
        match words {
            1 => self.others::<1>(memory, carries, 1),
            2 => self.others::<2>(memory, carries, 2),
            _ => self.others::<WORDS>(memory, carries, words),
        }
        let last = block.len() - 1;
        let bit = |places: &Places| places[last / 64] >> (last % 64) & 1;
        let all = memory[..self.sets.len()].iter().enumerate();
        all.fold(0, |carries, (number, places)| carries | bit(places) << number)
    }

    /// All sets but classes of the first `words` words, which are `W` at most.
    #[inline(always)]
    fn others<const W: usize>(&self, memory: &mut [Places], carries: u64, words: usize) {
        let words = words.min(W);
        let mut number = 0;
        while let Some(set) = self.sets.get(number) {
            let (before, rest) = memory.split_at_mut(number);
            let places = &mut rest[0];
            let mut carry = carries >> number & 1;
            match *set {
                Set::Start => places[..words].fill(0),
                Set::Class(_) => {}
                Set::Then(a, b) => {
                    let mut carry = carries >> a & 1;
                    let (a, b) = (&before[usize::from(a)], &before[usize::from(b)]);
                    for i in 0..words {
                        places[i] = (a[i] << 1 | carry) & b[i];
                        carry = a[i] >> 63;
                    }
                }
                Set::Star(a, b) => {
                    let (a, b) = (&before[usize::from(a)], &before[usize::from(b)]);
                    for i in 0..words {
                        places[i] = star(a[i], b[i], carry);
                        carry = places[i] >> 63;
                    }
                }
                Set::Or(a, b) => {
                    let (a, b) = (&before[usize::from(a)], &before[usize::from(b)]);
                    for i in 0..words {
                        places[i] = a[i] | b[i];
                    }
                }
                Set::Again(_, last) => {
                    for word in 0..words {
                        self.again(memory, carries, (number, usize::from(last)), word);
                    }
                    number = usize::from(last);
                }
            }
            number += 1;
        }
    }

    /// One word of a [`Set::Again`] and all sets up to its last one.
    fn again(
        &self,
        memory: &mut [Places],
        carries: u64,
        (number, last): (usize, usize),
        word: usize,
    ) {
        let Set::Again(first, _) = self.sets[number] else { return };
        memory[number][word] = memory[usize::from(first)][word];
        loop {
            for inner in number + 1..=last {
                let carry = |of: usize| match word.checked_sub(1) {
                    Some(before) => memory[of][before] >> 63,
                    None => carries >> of & 1,
                };
                let of = |set: u8| memory[usize::from(set)][word];
                memory[inner][word] = match self.sets[inner] {
                    Set::Then(a, b) => (of(a) << 1 | carry(usize::from(a))) & of(b),
                    Set::Star(a, b) => star(of(a), of(b), carry(inner)),
                    Set::Or(a, b) => of(a) | of(b),
                    Set::Start | Set::Class(_) | Set::Again(..) => unreachable!("before these"),
                };
            }
            let more = memory[last][word] & !memory[number][word];
            if more == 0 {
                return;
            }
            memory[number][word] |= more;
        }
    }
}

/// One call of [`Bitwise::scan`].
struct Run<'a, F> {
    all: &'a Bitwise,
    memory: &'a mut [Places],
    carries: u64,
    spent: &'a F,
    found: &'a mut Vec<Found>,
}

impl<F: Fn(u32) -> bool> Run<'_, F> {
    /// A block, or a part of one, from `offset` on.
    fn block(&mut self, bytes: &[u8], offset: u64) {
        self.carries = self.all.sets(self.memory, self.carries, bytes);
        let words = bytes.len().div_ceil(64);
        match &*self.all.reports {
            [one] => ends_of_one(one, self.memory, words, offset, self.spent, self.found),
            all => ends(all, self.memory, words, offset, self.spent, self.found),
        }
    }

    /// The same; what has no first byte of a match, while none is under way, is passed over.
    fn around_firsts(&mut self, firsts: &Classes, bytes: &[u8], offset: u64) {
        firsts.places(self.all.isa, bytes, self.memory);
        let places = self.memory[self.all.sets.len()];
        let words = bytes.len().div_ceil(64);
        let dense = places[..words].iter().filter(|word| **word != 0).count();
        if dense > DENSE {
            return self.block(bytes, offset);
        }
        let mut word = 0;
        while word < words {
            let mut end = words;
            if self.carries & self.all.carried == 0 {
                self.carries = 0;
                let Some(quiet) = places[word..words].iter().position(|word| *word != 0) else {
                    return;
                };
                word += quiet;
                end = end.min(word + STRETCH / 64);
            }
            let (from, to) = (64 * word, bytes.len().min(64 * end));
            self.block(&bytes[from..to], offset.wrapping_add(from as u64));
            word = end;
        }
    }
}

/// A set, and how far a class goes on from its places, with that of the place before the word.
#[inline(always)]
fn star(set: u64, class: u64, carry: u64) -> u64 {
    let more = (set << 1 | carry) & class;
    set | ((more.wrapping_add(class) ^ class) | more) & class
}

/// Reports the ends of the only expression.
fn ends_of_one(
    report: &Report,
    memory: &[Places],
    words: usize,
    offset: u64,
    spent: &impl Fn(u32) -> bool,
    found: &mut Vec<Found>,
) {
    let Report { pattern, set, before, once } = *report;
    let offset = offset.wrapping_add(u64::from(!before));
    for (word, places) in memory[usize::from(set)][..words].iter().enumerate() {
        if *places == 0 || spent(pattern) {
            continue;
        }
        let first = offset.wrapping_add(64 * word as u64);
        let (count, mut bits) = (places.count_ones(), *places);
        found.extend((0..count).map(|_| {
            let end = first.wrapping_add(u64::from(bits.trailing_zeros()));
            bits &= bits.wrapping_sub(1);
            Found { end, pattern, start: 0 }
        }));
        if once {
            return;
        }
    }
}

/// Reports the ends of all of them, in order of their places.
fn ends(
    reports: &[Report],
    memory: &[Places],
    words: usize,
    offset: u64,
    spent: &impl Fn(u32) -> bool,
    found: &mut Vec<Found>,
) {
    let of = |report: &Report, word: usize| memory[usize::from(report.set)][word];
    for word in 0..words {
        let mut any = reports.iter().fold(0, |any, report| any | of(report, word));
        while any != 0 {
            let bit = any.trailing_zeros();
            any &= any - 1;
            let place = offset.wrapping_add(64 * word as u64 + u64::from(bit));
            for report in reports {
                if of(report, word) >> bit & 1 != 0 && !spent(report.pattern) {
                    let end = place.wrapping_add(u64::from(!report.before));
                    found.push(Found { end, pattern: report.pattern, start: 0 });
                }
            }
        }
    }
}
