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
//! before a match or behind it ([`crate::plan::alternatives`]).

mod kernel;
mod sets;
#[cfg(test)]
mod tests;

use lookaside_simd::Cpu;

use self::kernel::Classes;
use self::sets::needs;
pub(crate) use self::sets::{CLASS, Sets};
use crate::isa::Isa;
use crate::node::ByteSet;
use crate::window::Found;

/// Words that are worked on together: a kilobyte of text.
const WORDS: usize = 16;
/// Bytes of these.
const BLOCK: usize = 64 * WORDS;
/// Bytes of a stretch without the first byte of any match that it pays to pass over.
const STRETCH: usize = 128;
/// Words with such a byte in a block that is worked on as a whole.
const DENSE: usize = 4;

/// A set of places in a block.
type Places = [u64; WORDS];

/// Memory for scans, kept between them.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    sets: Vec<Places>,
    /// What may still be reported.
    reports: Vec<Report>,
}

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
    /// A bit for each set that it follows from, and for its own.
    needs: u64,
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
        let needs = needs(&all.sets);
        for report in all.reports.iter_mut().chain(&mut all.at_end) {
            report.needs = needs[usize::from(report.set)];
        }
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

    /// Whether no match is under way.
    pub(crate) fn rests(&self, state: &[u8]) -> bool {
        self.load(state) == 0
    }

    /// Whether a whole text surely has no match, since it has no byte that one begins with. Short texts are looked through.
    pub(crate) fn is_quiet(&self, text: &[u8]) -> bool {
        let begins = self.begin & self.carried != 0 || text.len() > BLOCK;
        !begins && self.firsts.as_ref().is_some_and(|firsts| !firsts.any(self.isa, text))
    }

    /// Scans the bytes of a stream from `offset` on and brings `state` behind them. What is `spent` is not reported.
    /// `memory` is for this to use.
    #[inline(never)]
    pub(crate) fn scan(
        &self,
        memory: &mut Memory,
        state: &mut [u8],
        offset: u64,
        bytes: &[u8],
        spent: &impl Fn(u32) -> bool,
        found: &mut Vec<Found>,
    ) {
        let Memory { sets, reports } = memory;
        if sets.len() <= self.sets.len() {
            sets.resize(self.sets.len() + 1, [0; WORDS]);
        }
        let is_live = |report: &&Report| !spent(report.pattern);
        reports.clear();
        reports.extend(self.reports.iter().filter(is_live));
        let at_end = self.at_end.iter().filter(is_live);
        let at_end = at_end.fold(0, |needs, report| needs | report.needs);
        let carries = self.load(state);
        let mut run = Run { all: self, sets, reports, at_end, carries, found };
        for (number, block) in bytes.chunks(BLOCK).enumerate() {
            if run.needs() == 0 {
                break;
            }
            let offset = offset.wrapping_add((number * BLOCK) as u64);
            match &self.firsts {
                Some(firsts) => run.around_firsts(firsts, block, offset),
                None => run.block(block, offset),
            }
        }
        let carries = run.carries ^ self.begin;
        // A call to copy a few bytes takes longer.
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

    /// All sets of a block that are needed; of each, bit by bit, whether the last place is in it. `carries` says so of the place
    /// before.
    fn sets(&self, memory: &mut [Places], needs: u64, carries: u64, block: &[u8]) -> u64 {
        self.classes.places(self.isa, block, needs, memory);
        let words = block.len().div_ceil(64);
        // Most packets are short.
        match words {
            1 => self.others::<1>(memory, needs, carries, 1),
            2 => self.others::<2>(memory, needs, carries, 2),
            _ => self.others::<WORDS>(memory, needs, carries, words),
        }
        let last = block.len() - 1;
        let bit = |places: &Places| places[last / 64] >> (last % 64) & 1;
        let all = memory[..self.sets.len()].iter().enumerate();
        needs & all.fold(0, |carries, (number, places)| carries | bit(places) << number)
    }

    /// All needed sets but classes of the first `words` words, which are `W` at most.
    #[inline(always)]
    fn others<const W: usize>(
        &self,
        memory: &mut [Places],
        needs: u64,
        carries: u64,
        words: usize,
    ) {
        let words = words.min(W);
        let mut number = 0;
        while let Some(set) = self.sets.get(number) {
            let (before, rest) = memory.split_at_mut(number);
            let places = &mut rest[0];
            let mut carry = carries >> number & 1;
            match *set {
                Set::Class(_) => {}
                _ if needs >> number & 1 == 0 => {}
                Set::Start => places[..words].fill(0),
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
struct Run<'a> {
    all: &'a Bitwise,
    sets: &'a mut [Places],
    /// What may still be reported.
    reports: &'a mut Vec<Report>,
    /// The sets that are needed at the end of the data.
    at_end: u64,
    carries: u64,
    found: &'a mut Vec<Found>,
}

impl Run<'_> {
    /// A bit for each set that something may still be reported by.
    fn needs(&self) -> u64 {
        self.reports.iter().fold(self.at_end, |needs, report| needs | report.needs)
    }

    /// A block, or a part of one, from `offset` on.
    fn block(&mut self, bytes: &[u8], offset: u64) {
        let needs = self.needs();
        self.carries = self.all.sets(self.sets, needs, self.carries, bytes);
        let words = bytes.len().div_ceil(64);
        let over = match &self.reports[..] {
            [one] => ends_of_one(one, self.sets, words, offset, self.found),
            _ => ends(self.reports, self.sets, words, offset, self.found),
        };
        if over {
            let found = &self.found[..];
            let is_over = |one: &Report| {
                // Those of this call, of which there is one at least, are the last ones.
                one.once && found.iter().rev().any(|it| it.pattern == one.pattern)
            };
            self.reports.retain(|one| !is_over(one));
        }
    }

    /// Whether no match is under way; what is carried is 0 then.
    fn is_at_rest(&mut self) -> bool {
        let rests = self.carries & self.all.carried == 0;
        if rests {
            self.carries = 0;
        }
        rests
    }

    /// The same; what has no first byte of a match, while none is under way, is passed over.
    fn around_firsts(&mut self, firsts: &Classes, bytes: &[u8], offset: u64) {
        if self.is_at_rest() && !firsts.any(self.all.isa, bytes) {
            return;
        }
        firsts.places(self.all.isa, bytes, u64::MAX, self.sets);
        let places = self.sets[self.all.sets.len()];
        let words = bytes.len().div_ceil(64);
        let dense = places[..words].iter().filter(|word| **word != 0).count();
        if dense > DENSE {
            return self.block(bytes, offset);
        }
        let mut word = 0;
        while word < words {
            let mut end = words;
            if self.is_at_rest() {
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

/// Reports the ends of the only expression. Returns whether something is over with its first match.
fn ends_of_one(
    report: &Report,
    sets: &[Places],
    words: usize,
    offset: u64,
    found: &mut Vec<Found>,
) -> bool {
    let Report { pattern, set, before, once, .. } = *report;
    let offset = offset.wrapping_add(u64::from(!before));
    for (word, places) in sets[usize::from(set)][..words].iter().enumerate() {
        if *places == 0 {
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
            return true;
        }
    }
    false
}

/// Reports the ends of all of them, in order of their places. Returns whether something is over with its first match.
fn ends(
    reports: &[Report],
    sets: &[Places],
    words: usize,
    offset: u64,
    found: &mut Vec<Found>,
) -> bool {
    let mut over = false;
    let places = (0..words).map(|word| (word, offset.wrapping_add(64 * word as u64)));
    for (word, offset) in places {
        let of = |report: &Report| sets[usize::from(report.set)][word];
        // Of what is over with its first match, the first one of the word.
        let first = |report: &Report| match report.once {
            true => of(report) & of(report).wrapping_neg(),
            false => of(report),
        };
        let mut any = reports.iter().fold(0, |any, report| any | first(report));
        while any != 0 {
            let bit = any.trailing_zeros();
            any &= any - 1;
            let place = offset.wrapping_add(u64::from(bit));
            for report in reports {
                if first(report) >> bit & 1 != 0 {
                    let end = place.wrapping_add(u64::from(!report.before));
                    found.push(Found { end, pattern: report.pattern, start: 0 });
                    over |= report.once;
                }
            }
        }
    }
    over
}
