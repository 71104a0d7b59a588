//! Many fragments as one automaton of bits: bit p of a state says that position p has just consumed a byte.
//!
//! ```text
//! next = ((state & shift) << 1 | union of exception[p] for p in state & exceptional) & reach[class(byte)]
//! ```
//!
//! Most positions are followed by the next one alone, or by few others. Position 0 is the start of the data. After it
//! come the *restart* positions, which follow one another on every byte, so that a match can begin anywhere: one where
//! the byte before a match makes no difference, else one for each kind of byte that makes one.
use std::collections::{BTreeSet, HashMap};

use super::fragment::{Depth, Entry, Fragment, Kind, Position};
use super::gate::Gate;
use super::key::{self, Key};
use super::spent::Spent;
use crate::node::ByteSet;

/// A match that a position reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Report {
    /// So many bytes ago: 0 or 1. First, as reports are sorted by end.
    pub(super) early: Early,
    pub(super) report: u32,
    /// The length of the match, or [`NO_START`]. The longest first.
    pub(super) length: std::cmp::Reverse<u32>,
}

/// Whether a match ended one byte before the place where it is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Early {
    OneByte,
    No,
}

impl Early {
    fn new(late: u8) -> Early {
        if late == 0 { Early::No } else { Early::OneByte }
    }

    /// The end of a match that is reported behind `at` bytes.
    pub(super) fn end(self, at: u64) -> u64 {
        at.wrapping_sub(u64::from(self == Early::OneByte))
    }
}

/// A length that is not asked for.
pub(super) const NO_START: u32 = u32::MAX;

/// Lists of numbered things in one allocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lists<T> {
    pub(super) ends: Vec<u32>,
    pub(super) items: Vec<T>,
}

impl<T> Default for Lists<T> {
    fn default() -> Lists<T> {
        Lists { ends: Vec::new(), items: Vec::new() }
    }
}

impl<T> Lists<T> {
    pub(super) fn push(&mut self, items: impl IntoIterator<Item = T>) {
        self.items.extend(items);
        self.ends.push(self.items.len() as u32);
    }

    pub(super) fn list(&self, index: usize) -> &[T] {
        let first = if index == 0 { 0 } else { self.ends[index - 1] };
        &self.items[first as usize..self.ends[index] as usize]
    }

    pub(super) fn memory(&self) -> usize {
        self.ends.len() * 4 + self.items.len() * size_of::<T>()
    }
}

/// Some bits of one word of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Bits {
    pub(super) word: u32,
    pub(super) bits: u64,
}

/// Positions with one list of followers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) positions: Vec<u64>,
    pub(super) list: u32,
}

/// Least positions of a group, and most groups.
const GROUP: usize = 4;
const GROUPS: usize = 8;

/// The automaton.
#[derive(Clone, Debug)]
pub(super) struct Program {
    /// Positions.
    pub(super) len: usize,
    /// Words of a state, with those of `spent`.
    pub(super) words: usize,
    /// Expressions that leave with their first match.
    pub(super) spent: Option<Spent>,
    /// The class of each byte, and how many there are.
    pub(super) class: Box<[u8; 256]>,
    pub(super) classes: usize,
    /// For each class, the positions that it reaches.
    pub(super) reach: Vec<u64>,
    /// Positions that the next one follows.
    pub(super) shift: Vec<u64>,
    /// Positions with further followers, and the number of their list in `follow`.
    pub(super) exceptional: Vec<u64>,
    pub(super) exception: Vec<u32>,
    pub(super) follow: Lists<Bits>,
    /// Exceptional positions that share a list of followers, together.
    pub(super) groups: Vec<Group>,
    /// The other exceptional positions.
    pub(super) single: Vec<u64>,
    /// Positions that report, and what; at once and at the end of the data.
    pub(super) accepting: Vec<u64>,
    pub(super) accept: Lists<Report>,
    pub(super) accepting_end: Vec<u64>,
    pub(super) accept_end: Lists<Report>,
    /// The number of restart positions.
    pub(super) restarts: usize,
    /// Bytes without which nothing matches that has not begun.
    pub(super) key: Option<Key>,
    /// Whether it is worth looking at which bytes a state leaves itself.
    pub(super) skips: bool,
    /// Finds where a match may begin.
    pub(super) gate: Option<Gate>,
    /// For each position, whether a start of a match that it is in must be remembered (else its depth is known); empty
    /// where no starts are asked that the report does not know.
    pub(super) depth: Vec<u32>,
}

/// A depth that differs from path to path.
pub(super) const VARIES: u32 = u32::MAX;

pub(super) fn has(set: &[u64], index: usize) -> bool {
    set[index >> 6] >> (index & 63) & 1 != 0
}

pub(super) fn set(set: &mut [u64], index: usize) {
    set[index >> 6] |= 1 << (index & 63);
}

/// The bits of `set` that are also in `mask`, ascending.
pub(super) fn each(set: &[u64], mask: &[u64], mut f: impl FnMut(usize)) {
    for (word, (&set, &mask)) in set.iter().zip(mask).enumerate() {
        let mut bits = set & mask;
        while bits != 0 {
            f(word << 6 | bits.trailing_zeros() as usize);
            bits &= bits - 1;
        }
    }
}

/// Kinds of bytes after which the same begins, in all fragments.
fn restart_kinds(fragments: &[&Fragment]) -> Vec<(ByteSet, usize)> {
    let mut kinds: Vec<(ByteSet, usize)> = Vec::new();
    if fragments
        .iter()
        .all(|fragment| fragment.entries[1..].iter().all(|entry| *entry == Entry::default()))
    {
        return kinds;
    }
    for (index, kind) in Kind::ALL.into_iter().enumerate() {
        let same =
            |other: usize| fragments.iter().all(|it| it.entries[other] == it.entries[index + 1]);
        match kinds.iter_mut().find(|(_, other)| same(*other)) {
            Some((bytes, _)) => *bytes = bytes.union(kind.bytes()),
            None => kinds.push((kind.bytes(), index + 1)),
        }
    }
    kinds
}

/// The number of positions of a program of these fragments.
pub(super) fn positions(fragments: &[&Fragment]) -> usize {
    1 + restart_kinds(fragments).len()
        + fragments.iter().map(|it| it.positions.len()).sum::<usize>()
}

impl Program {
    /// `remember`: keep what the engine for starts of matches needs. `leave`: an expression leaves with its first match.
    pub(super) fn new(fragments: &[&Fragment], remember: bool, leave: bool) -> Program {
        let kinds = restart_kinds(fragments);
        let first = 1 + kinds.len();
        let len = positions(fragments);
        let spent = leave.then(|| Spent::new(fragments, first, len.div_ceil(64)));
        let words = len.div_ceil(64) + spent.as_ref().map_or(0, Spent::words);
        let bases: Vec<u32> = fragments
            .iter()
            .scan(first as u32, |base, it| {
                *base += it.positions.len() as u32;
                Some(*base - it.positions.len() as u32)
            })
            .collect();
        // Position 0 and the restarts, then the fragments'.
        let mut all: Vec<(ByteSet, Vec<u32>)> = Vec::with_capacity(len);
        let (mut accept, mut accept_end) = (Lists::default(), Lists::default());
        for (bytes, entry) in [(ByteSet::EMPTY, 0)].into_iter().chain(kinds) {
            let mut follow: Vec<u32> = (1..first as u32).collect();
            let empty = |accepts: fn(&Entry) -> bool| {
                fragments.iter().filter(move |it| accepts(&it.entries[entry])).map(|it| Report {
                    early: Early::No,
                    report: it.report,
                    length: std::cmp::Reverse(if it.start_of_match { 0 } else { NO_START }),
                })
            };
            accept.push(empty(|entry| entry.accept));
            accept_end.push(empty(|entry| entry.accept_end));
            for (fragment, base) in fragments.iter().zip(&bases) {
                follow.extend(fragment.entries[entry].follow.iter().map(|to| to + base));
            }
            all.push((bytes, follow));
        }
        let mut depth = vec![0; first];
        for (fragment, base) in fragments.iter().zip(&bases) {
            for position in &fragment.positions {
                let report = |late: u8| Report {
                    early: Early::new(late),
                    report: fragment.report,
                    length: std::cmp::Reverse(match position.depth {
                        Depth::Fixed(depth) if fragment.start_of_match => depth - u32::from(late),
                        _ => NO_START,
                    }),
                };
                accept.push(position.accept.map(report));
                accept_end.push(position.accept_end.map(report));
                let Position { bytes, follow, .. } = position;
                all.push((*bytes, follow.iter().map(|to| to + base).collect()));
                depth.push(match position.depth {
                    Depth::Fixed(depth) => depth,
                    Depth::Unreached | Depth::Varies => VARIES,
                });
            }
        }
        let (class, classes) = classes(all.iter().map(|(bytes, _)| *bytes));
        let mut it = Program {
            len,
            words,
            spent,
            class,
            classes,
            reach: Vec::new(),
            shift: vec![0; words],
            exceptional: vec![0; words],
            exception: vec![0; len],
            follow: Lists::default(),
            groups: Vec::new(),
            single: Vec::new(),
            accepting: accepting(&accept, words),
            accept,
            accepting_end: accepting(&accept_end, words),
            accept_end,
            restarts: first - 1,
            skips: true,
            gate: None,
            key: if first == 2 && !remember { key::of(fragments) } else { None },
            depth: if remember { depth } else { Vec::new() },
        };
        it.reach = vec![0; words * classes];
        let mut seen = [false; 256];
        for byte in 0..=255u8 {
            let class = usize::from(it.class[usize::from(byte)]);
            if !std::mem::replace(&mut seen[class], true) {
                let reach = &mut it.reach[class * words..][..words];
                all.iter()
                    .enumerate()
                    .filter(|(_, (bytes, _))| bytes.contains(byte))
                    .for_each(|(at, _)| set(reach, at));
            }
        }
        let mut known: HashMap<Vec<Bits>, u32> = HashMap::new();
        for (at, (_, follow)) in all.iter().enumerate() {
            let mut bits: Vec<Bits> = Vec::new();
            for &to in follow {
                if to as usize == at + 1 {
                    set(&mut it.shift, at);
                    continue;
                }
                let (word, bit) = (to >> 6, 1 << (to & 63));
                match bits.last_mut() {
                    Some(last) if last.word == word => last.bits |= bit,
                    _ => bits.push(Bits { word, bits: bit }),
                }
            }
            if !bits.is_empty() {
                set(&mut it.exceptional, at);
                let next = it.follow.ends.len() as u32;
                it.exception[at] = *known.entry(bits).or_insert_with_key(|bits| {
                    it.follow.push(bits.iter().copied());
                    next
                });
            }
        }
        it.group();
        it
    }

    /// Sets `groups` and `single`.
    pub(super) fn group(&mut self) {
        let mut members: HashMap<u32, Vec<usize>> = HashMap::new();
        each(&self.exceptional, &self.exceptional, |at| {
            members.entry(self.exception[at]).or_default().push(at)
        });
        let mut members: Vec<(u32, Vec<usize>)> =
            members.into_iter().filter(|it| it.1.len() >= GROUP).collect();
        members.sort_by_key(|(list, positions)| (std::cmp::Reverse(positions.len()), *list));
        members.truncate(GROUPS);
        self.single = self.exceptional.clone();
        self.groups = Vec::new();
        for (list, positions) in members {
            let mut mask = vec![0; self.words];
            positions.iter().for_each(|&at| set(&mut mask, at));
            self.single.iter_mut().zip(&mask).for_each(|(single, mask)| *single &= !mask);
            self.groups.push(Group { positions: mask, list });
        }
    }

    /// The restart position behind `byte`.
    pub(super) fn restart(&self, byte: u8) -> Option<usize> {
        let class = usize::from(self.class[usize::from(byte)]);
        let reach = &self.reach[class * self.words..];
        (1..=self.restarts).find(|&at| has(reach, at))
    }

    /// The state behind a byte of `class`.
    pub(super) fn step(&self, state: &[u64], class: u8, next: &mut [u64]) {
        let words = self.words;
        let (state, next) = (&state[..words], &mut next[..words]);
        let (shift, single) = (&self.shift[..words], &self.single[..words]);
        let mut carry = 0;
        for word in 0..words {
            let moved = state[word] & shift[word];
            next[word] = moved << 1 | carry;
            carry = moved >> 63;
        }
        for word in 0..words {
            let mut bits = state[word] & single[word];
            while bits != 0 {
                let at = word << 6 | bits.trailing_zeros() as usize;
                bits &= bits - 1;
                for to in self.follow.list(self.exception[at] as usize) {
                    next[to.word as usize] |= to.bits;
                }
            }
        }
        for group in &self.groups {
            let positions = &group.positions[..words];
            if state.iter().zip(positions).fold(0, |any, (state, group)| any | (state & group)) != 0
            {
                for to in self.follow.list(group.list as usize) {
                    next[to.word as usize] |= to.bits;
                }
            }
        }
        let reach = &self.reach[usize::from(class) * words..][..words];
        next.iter_mut().zip(reach).for_each(|(next, reach)| *next &= reach);
    }

    /// The same, without expressions that `state` or one before it has reported.
    pub(super) fn step_on(&self, state: &[u64], class: u8, next: &mut [u64]) {
        self.step(state, class, next);
        if let Some(spent) = &self.spent {
            spent.leave(state, next);
        }
    }

    /// What `state` reports at once: sorted by end, each report once an end, with the longest length.
    pub(super) fn reports(&self, state: &[u64], into: &mut Vec<Report>) {
        into.clear();
        each(state, &self.accepting, |at| into.extend_from_slice(self.accept.list(at)));
        into.sort_unstable();
        into.dedup_by_key(|it| (it.early, it.report));
    }

    /// What `state` reports at the end of the data, without what it has reported at once (if data has `begun`).
    pub(super) fn reports_end(&self, state: &[u64], begun: bool, into: &mut Vec<Report>) {
        self.reports(state, into);
        let mut known = BTreeSet::new();
        if begun {
            known.extend(into.drain(..).map(|it| (it.early, it.report)));
        }
        each(state, &self.accepting_end, |at| into.extend_from_slice(self.accept_end.list(at)));
        into.retain(|it| !known.contains(&(it.early, it.report)));
        into.sort_unstable();
        into.dedup_by_key(|it| (it.early, it.report));
    }

    pub(super) fn memory(&self) -> usize {
        let words = self.reach.len() + self.words * (5 + self.groups.len());
        let lists = self.follow.memory() + self.accept.memory() + self.accept_end.memory();
        size_of::<Program>()
            + 256
            + self.gate.as_ref().map_or(0, Gate::memory)
            + words * 8
            + (self.exception.len() + self.depth.len()) * 4
            + lists
            + self.spent.as_ref().map_or(0, Spent::memory)
    }
}

/// The positions whose lists are not empty.
pub(super) fn accepting(lists: &Lists<Report>, words: usize) -> Vec<u64> {
    let len = lists.ends.len();
    let mut mask = vec![0; words];
    (0..len).filter(|&at| !lists.list(at).is_empty()).for_each(|at| set(&mut mask, at));
    mask
}

/// Numbers the bytes so that two have the same number if no set tells them apart.
fn classes(sets: impl Iterator<Item = ByteSet>) -> (Box<[u8; 256]>, usize) {
    let mut class = Box::new([0u8; 256]);
    let mut count = 1;
    for set in sets.collect::<BTreeSet<ByteSet>>() {
        let mut parts: HashMap<(u8, bool), u8> = HashMap::new();
        for byte in 0..=255u8 {
            let next = parts.len() as u8;
            let at = &mut class[usize::from(byte)];
            *at = *parts.entry((*at, set.contains(byte))).or_insert(next);
        }
        count = parts.len();
        if count == 256 {
            break;
        }
    }
    (class, count)
}
