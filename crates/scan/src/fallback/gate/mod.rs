//! Places at which a match may begin, by a few of its bytes, with vectors.
//!
//! While no match is under way, all places can be passed over at which none begins. Every match begins with bytes of the
//! sets S0, S1, ... (the bytes of all positions reached by so many bytes), up to the length of the shortest one: for
//! `\d{3}-\d{4}` these are `\d`, `\d`, `\d`, `-`, `\d` ... Up to four of them are tested, at the distances that leave the
//! fewest places; where a match depends on the byte before it, that one can be among them. Different beginnings
//! (`GET|POST`) are kept apart, in up to eight buckets.
//!
//! A match that passes a first position again may as well have begun there, so these edges are left out: of
//! `[a-z]+@[a-z]`, the sets are `[a-z]`, `@`, `[a-z]`. Where the leftmost start is asked for, such a place is only where
//! the match can be noticed: it begins before, behind bytes of the positions that lead back to a first one, which are
//! walked back over ([`Gate::begin`]).
//!
//! At the end of the data a byte that is not there passes its test: each match that is under way there is
//! noticed, since its last first position is a candidate.

mod kernel;
mod model;

use self::kernel::{TESTS, Test, Tests};
use self::model::{Bucket, choose, early, merge, weight};
use super::fragment::{Fragment, Kind};
use super::program;
use crate::node::ByteSet;

pub(crate) use self::kernel::Isa;
pub(crate) use self::model::byte_weight;

/// The most bytes of a match that are looked at.
const DEPTH: usize = 48;
/// Positions visited for one set of fragments.
const WORK: usize = 1 << 18;
/// Beginnings of a fragment that are kept apart.
const BEGINNINGS: usize = 16;
/// Fragments that are kept apart.
const FRAGMENTS: usize = 64;
/// The bit of a program's position 0.
const START: u64 = 1;

/// Cycles for a byte: of the tests, to stop at a candidate and go on, and of a walk without a gate.
const TESTING: f64 = 0.3;
const STOP: f64 = 60.0;
pub(super) const WALKING: f64 = 5.0;

/// See the module.
#[derive(Clone, Debug)]
pub(super) struct Gate {
    isa: Isa,
    tests: Tests,
    /// The bytes before a candidate that its match may contain.
    before: Option<Box<[bool; 256]>>,
    /// Positions that a match begins with, and that nothing but a restart leads to.
    young: Vec<u64>,
    /// The start of the data is as any other place.
    uniform: bool,
    restarts: usize,
    /// Expected cycles for a byte.
    cost: f64,
}

/// The candidates of the block of a chunk that was looked at last.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seen {
    from: usize,
    to: usize,
    bits: u64,
}

/// For each position the kinds of bytes behind which a match may begin with it, a bit each.
pub(super) fn first_kinds(fragment: &Fragment) -> Vec<u8> {
    let mut kinds = vec![0; fragment.positions.len()];
    for (kind, entry) in fragment.entries[1..].iter().enumerate() {
        entry.follow.iter().for_each(|&at| kinds[at as usize] |= 1 << kind);
    }
    kinds
}

/// Whether a match may as well begin with a position, instead of reaching it by a byte of `bytes`.
pub(super) fn begins_anew(bytes: ByteSet, first: u8) -> bool {
    let all = Kind::ALL.iter().enumerate();
    let kinds = all.filter(|(_, kind)| !kind.bytes().intersection(bytes).is_empty());
    first != 0 && kinds.fold(0, |kinds, (at, _)| kinds | 1 << at) & !first == 0
}

/// The sets of a match that begins with `firsts`.
fn sets(fragment: &Fragment, kinds: &[u8], firsts: &[u32], work: &mut usize) -> Vec<ByteSet> {
    let mut sets = Vec::new();
    let mut now = firsts.to_vec();
    while sets.len() < DEPTH {
        let positions = || now.iter().map(|&at| &fragment.positions[at as usize]);
        sets.push(positions().fold(ByteSet::EMPTY, |all, it| all.union(it.bytes)));
        *work = work.saturating_sub(positions().map(|it| it.follow.len() + 1).sum());
        if *work == 0 || now.is_empty() || positions().any(|it| it.accept.is_some()) {
            break;
        }
        let mut next = Vec::new();
        for it in positions() {
            let follow = it.follow.iter().copied();
            next.extend(follow.filter(|&to| !begins_anew(it.bytes, kinds[to as usize])));
        }
        next.sort_unstable();
        next.dedup();
        now = next;
    }
    sets
}

/// The bytes of positions from which a first position can be reached again.
fn lead_back(fragment: &Fragment, kinds: &[u8]) -> ByteSet {
    let len = fragment.positions.len();
    let mut back: Vec<Vec<u32>> = vec![Vec::new(); len];
    let mut leads = vec![false; len];
    let mut work = Vec::new();
    for (at, position) in fragment.positions.iter().enumerate() {
        for &to in &position.follow {
            back[to as usize].push(at as u32);
            if begins_anew(position.bytes, kinds[to as usize]) && !leads[at] {
                leads[at] = true;
                work.push(at as u32);
            }
        }
    }
    while let Some(at) = work.pop() {
        for &from in &back[at as usize] {
            if !std::mem::replace(&mut leads[from as usize], true) {
                work.push(from);
            }
        }
    }
    let leading = fragment.positions.iter().zip(&leads).filter(|(_, leads)| **leads);
    leading.fold(ByteSet::EMPTY, |all, (it, _)| all.union(it.bytes))
}

/// The bytes of the kinds of which `kinds` has the bits.
fn bytes_of(kinds: u8) -> ByteSet {
    let all = Kind::ALL.iter().enumerate().filter(|(at, _)| kinds >> at & 1 != 0);
    all.fold(ByteSet::EMPTY, |bytes, (_, kind)| bytes.union(kind.bytes()))
}

impl Gate {
    /// The gate of fragments that run together; `None` if it is not worth having. `restarts`: restart positions of their
    /// program, which has `words` words.
    pub(super) fn new(
        fragments: &[&Fragment],
        restarts: usize,
        words: usize,
        isa: Isa,
    ) -> Option<Gate> {
        if restarts == 0 || fragments.iter().any(|it| it.entries[1..].iter().any(|it| it.accept)) {
            return None;
        }
        let (mut buckets, mut before) = (Vec::new(), ByteSet::EMPTY);
        let mut young = vec![0; words];
        let mut work = WORK;
        let mut base = 1 + restarts;
        for fragment in fragments {
            let kinds = first_kinds(fragment);
            let firsts: Vec<u32> =
                (0..kinds.len() as u32).filter(|&at| kinds[at as usize] != 0).collect();
            let apart = firsts.len() <= BEGINNINGS && fragments.len() <= FRAGMENTS;
            for firsts in firsts.chunks(if apart { 1 } else { firsts.len().max(1) }) {
                let any = firsts.iter().fold(0, |any, &at| any | kinds[at as usize]);
                let sets = sets(fragment, &kinds, firsts, &mut work);
                buckets.push(Bucket { before: bytes_of(any), sets });
            }
            let mut led_to = vec![false; kinds.len()];
            for position in &fragment.positions {
                position.follow.iter().for_each(|&to| led_to[to as usize] = true);
            }
            firsts
                .iter()
                .filter(|&&at| !led_to[at as usize])
                .for_each(|&at| program::set(&mut young, base + at as usize));
            before = before.union(lead_back(fragment, &kinds));
            base += kinds.len();
        }
        if isa.nibbles() {
            buckets.iter_mut().for_each(Bucket::close_nibbles);
        }
        let buckets = merge(buckets);
        let offsets = choose(&buckets);
        let rate: f64 = buckets.iter().map(|it| weight(it, &offsets)).sum();
        let cost = TESTING + rate * STOP;
        if offsets.is_empty() || offsets.len() > TESTS || cost > WALKING {
            return None;
        }
        let tests: Vec<Test> = offsets.iter().map(|&offset| test(&buckets, offset)).collect();
        let tests = Tests::new(tests, early(&buckets, &offsets));
        let same = |it: &&Fragment| it.entries[1..].iter().all(|other| *other == it.entries[0]);
        Some(Gate {
            isa,
            tests,
            before: (!before.is_empty())
                .then(|| Box::new(std::array::from_fn(|byte| before.contains(byte as u8)))),
            young,
            uniform: restarts == 1 && fragments.iter().all(same),
            restarts,
            cost,
        })
    }

    /// Expected cycles for a byte.
    pub(super) fn cost(&self) -> f64 {
        self.cost
    }

    /// Whether most texts of `len` bytes have no candidate.
    pub(super) fn is_seldom(&self, len: usize) -> bool {
        (self.cost - TESTING) / STOP * (len as f64) < 0.25
    }

    /// How many bytes before now no match was under way, in the state of these positions, whose starts are not asked
    /// for: 0 or 1; `None`: more, or it is not known.
    pub(super) fn rested(&self, bits: &[u64]) -> Option<usize> {
        let rests = ((1 << self.restarts) - 1) << 1;
        if self.uniform && bits[0] == START && bits[1..].iter().all(|bits| *bits == 0) {
            return Some(0);
        }
        if !(bits[0] & (rests | START)).is_power_of_two() || bits[0] & START != 0 {
            return None;
        }
        let others = |at: usize, bits: u64| if at == 0 { bits & !rests } else { bits };
        let mut all = bits.iter().zip(&self.young).enumerate();
        if all.any(|(at, (bits, young))| others(at, *bits) & !young != 0) {
            return None;
        }
        Some(usize::from(bits.iter().enumerate().any(|(at, bits)| others(at, *bits) != 0)))
    }

    /// The first candidate of `chunk` from `at` on, or its end. `seen` is of this chunk.
    pub(super) fn find(&self, chunk: &[u8], at: usize, seen: &mut Seen) -> usize {
        let mut at = at;
        if (seen.from..seen.to).contains(&at) {
            let bits = seen.bits >> (at - seen.from);
            if bits != 0 {
                return at + bits.trailing_zeros() as usize;
            }
            at = seen.to;
        }
        while at < chunk.len() {
            let (from, mut bits) = self.tests.blocks(self.isa, chunk, at);
            at = from;
            if bits == 0 && at < chunk.len() {
                bits = self.tests.block(self.isa, chunk, at);
            }
            if bits != 0 {
                *seen = Seen { from: at, to: chunk.len().min(at + kernel::LANES), bits };
                return at + bits.trailing_zeros() as usize;
            }
            at += kernel::LANES;
        }
        chunk.len()
    }

    /// The place, `from` or later, at which the match that is noticed at `candidate` may begin.
    pub(super) fn begin(&self, chunk: &[u8], from: usize, candidate: usize) -> usize {
        let Some(before) = self.before.as_ref().filter(|_| candidate < chunk.len()) else {
            return candidate;
        };
        let bytes = chunk[from..candidate].iter().rev();
        candidate - bytes.take_while(|byte| before[usize::from(**byte)]).count()
    }

    /// The restart position behind `byte`, alone, if no match is under way: for a state that is all of `bits`.
    pub(super) fn is_at_rest(&self, bits: &[u8]) -> bool {
        let Some((&first, rest)) = bits.split_first() else { return false };
        let rests = (((1u16 << self.restarts) - 1) << 1) as u8;
        let start = self.uniform && first == START as u8;
        (start || first & !rests == 0 && first.is_power_of_two())
            && rest.iter().fold(0, |all, byte| all | *byte) == 0
    }

    pub(super) fn memory(&self) -> usize {
        size_of::<Gate>() + self.tests.tests.len() * size_of::<Test>() + 256 + self.young.len() * 8
    }

    /// The distances of the bytes that are tested, in words.
    pub(super) fn describe(&self) -> String {
        let offsets: Vec<isize> = self.tests.tests.iter().map(|it| it.offset).collect();
        format!(", from where bytes {offsets:?} fit")
    }
}

/// The test of the bytes at `offset`.
fn test(buckets: &[Bucket], offset: isize) -> Test {
    let mut test = Test { offset, table: [0; 256], nibbles: [[0; 16]; 2] };
    for (index, bucket) in buckets.iter().enumerate() {
        for byte in bucket.at(offset).iter() {
            test.table[usize::from(byte)] |= 1 << index;
            test.nibbles[0][usize::from(byte & 15)] |= 1 << index;
            test.nibbles[1][usize::from(byte >> 4)] |= 1 << index;
        }
    }
    test
}

#[cfg(test)]
mod tests;
