//! From candidates to occurrences.
//!
//! A candidate is a position at which a gram of some literal's window may stand. Three steps, each of which drops most of
//! what is none:
//!
//! 1. [`Alignments`] by a second hash of the gram: the offsets in windows at which such a gram may stand, as a set of 8 bits.
//!    This runs over all candidates of a block at once and without a branch for each, so that its loads overlap.
//! 2. For each offset, the hash of the whole window that would begin there, in a table of the windows.
//! 3. For each literal with that window, all of its bytes.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::bytes::members;
use super::gram::{Grams, hash_window};
use super::kernel::{Alignments, Candidates};
use super::plan::Shape;
use super::set::Literals;

/// A window of a literal.
#[derive(Clone, Copy, Debug)]
struct Entry {
    hash: u32,
    literal: u32,
    /// Where in the literal it begins.
    offset: i32,
}

#[derive(Debug)]
pub(super) struct Confirm {
    pub(super) grams: Grams,
    window: usize,
    /// Where a gram may stand in a window.
    places: usize,
    /// Candidates are pairs of neighbouring positions.
    pairs: bool,
    alignments: Alignments,
    /// Of each value of the top bits of a window's hash: its first entry. One more at the end.
    starts: Vec<u32>,
    start_bits: u32,
    entries: Vec<Entry>,
}

/// A literal's window: the distinct literal, and where in it the window begins, or how far before.
pub(super) type Window = (u32, i32);

impl Confirm {
    pub(super) fn new(
        literals: &Literals,
        windows: &[Window],
        grams: Grams,
        shape: &Shape,
    ) -> Confirm {
        let (window, pairs) = (shape.window(), shape.positions() == 2);
        let places = window - grams.len + 1;
        let spellings: Vec<_> =
            windows.iter().map(|&of| spellings(literals, of, window, grams.fold)).collect();
        let count = spellings.iter().map(Vec::len).sum::<usize>();
        let mut alignments = Alignments::new(grams, alignment_bits(count * places));
        let start_bits = count.max(16).next_power_of_two().ilog2();
        let mut entries = Vec::with_capacity(count);
        for (&(literal, offset), spellings) in windows.iter().zip(&spellings) {
            for bytes in spellings {
                for place in 0..places {
                    let gram = grams.load(bytes, place);
                    alignments.insert(gram, place);
                }
                entries.push(Entry { hash: hash_window(bytes, grams.fold), literal, offset });
            }
        }
        entries.sort_unstable_by_key(|entry| entry.hash);
        let mut starts = vec![0; (1 << start_bits) + 1];
        for entry in &entries {
            starts[(entry.hash >> (32 - start_bits)) as usize + 1] += 1;
        }
        for i in 1..starts.len() {
            starts[i] += starts[i - 1];
        }
        Confirm { grams, window, places, pairs, alignments, starts, start_bits, entries }
    }

    pub(super) fn memory(&self) -> usize {
        self.alignments.memory() + size_of_val(&*self.starts) + size_of_val(&*self.entries)
    }

    /// Reports the occurrences at the candidates of a block that begins at `base`.
    #[inline]
    pub(super) fn run(
        &self,
        literals: &Literals,
        hay: &[u8],
        base: usize,
        candidates: &mut Candidates,
        from: usize,
        hit: &mut impl FnMut(u32, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for &kept in self.alignments.sift(hay, base, self.pairs, candidates) {
            let (position, set, begin) = Alignments::unpack(kept);
            self.occurrences(literals, hay, base + position, set, from, hit)?;
            if self.pairs && begin {
                self.window_at(literals, hay, base + position + 1, from, hit)?;
            }
        }
        ControlFlow::Continue(())
    }

    /// Reports the occurrences whose window has a gram at `at`, at one of the offsets of `set`.
    #[inline(always)]
    fn occurrences(
        &self,
        literals: &Literals,
        hay: &[u8],
        at: usize,
        mut set: u8,
        from: usize,
        hit: &mut impl FnMut(u32, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while set != 0 {
            let mut offset = set.trailing_zeros() as usize;
            set &= set - 1;
            while offset < self.places && offset <= at {
                self.window_at(literals, hay, at - offset, from, hit)?;
                offset += 8;
            }
        }
        ControlFlow::Continue(())
    }

    /// Reports the occurrences whose window begins at `begin`.
    #[inline(always)]
    fn window_at(
        &self,
        literals: &Literals,
        hay: &[u8],
        begin: usize,
        from: usize,
        hit: &mut impl FnMut(u32, usize) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(window) = hay.get(begin..begin + self.window) else {
            return ControlFlow::Continue(());
        };
        let hash = hash_window(window, self.grams.fold);
        let bucket = (hash >> (32 - self.start_bits)) as usize;
        let (first, last) = (self.starts[bucket] as usize, self.starts[bucket + 1] as usize);
        for entry in &self.entries[first..last] {
            let start = begin as isize - entry.offset as isize;
            if entry.hash != hash || start < 0 {
                continue;
            }
            let literal = entry.literal as usize;
            match literals.end_at(literal, hay, start as usize) {
                Some(end) if end > from => {
                    for &owner in literals.owners(literal) {
                        hit(owner, end)?;
                    }
                }
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}

/// All spellings of a window that differ in more than case, if case does not matter.
pub(super) fn spellings(
    literals: &Literals,
    (literal, offset): Window,
    len: usize,
    fold: u64,
) -> Vec<Box<[u8]>> {
    let bytes = literals.bytes(literal as usize);
    let inside = usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..offset + len));
    if let Some(window) = inside {
        return vec![window.into()];
    }
    let (sets, _) = literals.window(literal as usize, offset, len).expect("a window was chosen");
    let mut all: Vec<Vec<u8>> = vec![vec![]];
    for set in sets {
        let folded: BTreeSet<u8> = members(&set).map(|byte| byte | fold as u8).collect();
        let longer = |start: &Vec<u8>| {
            let start = start.clone();
            folded.iter().map(move |&byte| [&start[..], &[byte]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    all.into_iter().map(Into::into).collect()
}

/// The logarithm of the size of [`Alignments`] for a number of grams: one byte in 32 is taken while the table is small, one
/// in four up to a megabyte, then one in two.
pub(super) fn alignment_bits(grams: usize) -> u32 {
    let large = (64 << 10).max((4 * grams).min(1 << 20)).max(2 * grams);
    (32 * grams).min(large).clamp(256, 8 << 20).next_power_of_two().ilog2()
}
