//! Pass 2 where matches have four bytes or more: four cursors side by side.
//!
//! ```text
//! for each cursor, in a segment of its own, in turn:
//!     p = next position that has a distance
//!     keep the longest of the first candidates, by 32 bytes (longer ones: `extend`)
//!     p is a literal if a candidate of position p + 1 (or p + 2) is better: the next turn is at p + 1
//!     otherwise there is a match, and the next turn is behind it
//! ```
//!
//! Only matches of 32 bytes and more cost a turn a branch that depends on the text. So the processor works on the
//! turns of all four cursors at once. (`deflate` does the same with AVX-512.) A match that reaches into the next
//! segment replaces the first matches there.

use std::hint::select_unpredictable;
use std::ops::Range;

use super::blocks::{Open, Sequence, distance_symbol};
use super::links::Links;
use super::parse::{Found, eight, length};
use super::{STRIP, WINDOW};

const CURSORS: usize = 4;
/// Segments are no shorter than this, but for the last.
const LEAST_SEGMENT: usize = 512;
/// The most segments of a strip.
const SEGMENTS: usize = STRIP / LEAST_SEGMENT + 1;
/// Shorter ranges are not worth four cursors.
pub(super) const LEAST: usize = 4 * LEAST_SEGMENT;
/// The shortest match.
const SHORTEST: usize = 4;
/// The bytes that are compared at once.
const SEEN: usize = 32;
/// One and two literals in place of a match must gain more than this, in quarters of a byte.
const LEAST_GAINS: [i32; 2] = [2, 5];
/// So many bytes behind a segment are compared.
pub(super) const BEHIND: usize = SEEN + 2;

/// What the segments of a strip may have, with room between them: a match that is not taken is written too.
type Matches = [Match; STRIP / SHORTEST + 2 * SEGMENTS];

#[derive(Clone, Copy, Default)]
struct Match {
    /// Modulo 2^32.
    at: u32,
    length: u16,
    distance: u16,
}

/// What the segments of a strip have.
pub(super) struct Segments {
    matches: Box<Matches>,
    /// Which of them are whose, in the order of their bytes.
    parts: [Range<usize>; SEGMENTS],
    count: usize,
}

#[derive(Clone, Copy)]
struct Cursor {
    at: usize,
    end: usize,
    /// Where the next match goes.
    out: usize,
    segment: usize,
}

impl Segments {
    pub(super) fn new() -> Segments {
        Segments {
            matches: Box::new([Match::default(); _]),
            parts: [const { 0..0 }; SEGMENTS],
            count: 0,
        }
    }

    /// The parse of `range`, at most a strip, to `out`. [`BEHIND`] bytes are behind it; the first two of
    /// these have their distances too. So many candidates are compared at a position, the next one and the
    /// one after. Returns where the last match ends, or `range.end`.
    #[inline(always)]
    pub(super) fn parse<
        const VECTORS: bool,
        const FIRST: u32,
        const NEXT: u32,
        const THIRD: u32,
    >(
        &mut self,
        links: &Links<4>,
        src: &[u8],
        range: Range<usize>,
        out: &mut Open,
    ) -> usize {
        assert!(range.len() <= STRIP && range.end + BEHIND <= src.len());
        self.walk::<VECTORS, FIRST, NEXT, THIRD>(links, src, range.clone());
        let mut reached = range.start;
        for part in &self.parts[..self.count] {
            for found in &self.matches[part.clone()] {
                let at = range.start + found.at.wrapping_sub(range.start as u32) as usize;
                let length = usize::from(found.length);
                let from = at.max(reached);
                // What a match before has taken; three bytes that are left are literals.
                let left = (at + length).saturating_sub(from);
                if left < SHORTEST {
                    continue;
                }
                let symbol = distance_symbol(found.distance.into());
                let (length, distance) = (left as u16, found.distance);
                out.push(src, from, Sequence { literals: 0, length, distance, symbol });
                reached = from + left;
            }
        }
        reached.max(range.end)
    }

    /// The matches of each segment of `range`.
    #[inline(always)]
    fn walk<const VECTORS: bool, const FIRST: u32, const NEXT: u32, const THIRD: u32>(
        &mut self,
        links: &Links<4>,
        src: &[u8],
        range: Range<usize>,
    ) {
        let nobody = Cursor { at: range.end, end: range.end, out: 0, segment: SEGMENTS };
        let mut cursors = [nobody; CURSORS];
        let mut next = range.start;
        self.count = 0;
        loop {
            let mut open = false;
            for cursor in &mut cursors {
                if cursor.at >= cursor.end {
                    if cursor.segment < SEGMENTS {
                        self.parts[cursor.segment].end = cursor.out;
                    }
                    let left = range.end - next;
                    let len = (left / (2 * CURSORS)).max(LEAST_SEGMENT).min(left);
                    if len == 0 {
                        *cursor = nobody;
                        continue;
                    }
                    let segment = self.count;
                    let out = (next - range.start) / SHORTEST + 2 * segment;
                    *cursor = Cursor { at: next, end: next + len, out, segment };
                    self.parts[segment].start = out;
                    self.count += 1;
                    next += len;
                }
                open = true;
            }
            if !open {
                return;
            }
            let matches = &mut self.matches;
            let [mut a, mut b, mut c, mut d] = cursors;
            while (a.at < a.end) & (b.at < b.end) & (c.at < c.end) & (d.at < d.end) {
                turn::<VECTORS, FIRST, NEXT, THIRD>(links, src, matches, &mut a);
                turn::<VECTORS, FIRST, NEXT, THIRD>(links, src, matches, &mut b);
                turn::<VECTORS, FIRST, NEXT, THIRD>(links, src, matches, &mut c);
                turn::<VECTORS, FIRST, NEXT, THIRD>(links, src, matches, &mut d);
            }
            cursors = [a, b, c, d];
            if next == range.end {
                // The last ones.
                for cursor in &mut cursors {
                    while cursor.at < cursor.end {
                        turn::<VECTORS, FIRST, NEXT, THIRD>(links, src, matches, cursor);
                    }
                }
            }
        }
    }
}

/// The next match of a segment, or a literal at the next position that has a distance.
#[inline(always)]
fn turn<const VECTORS: bool, const FIRST: u32, const NEXT: u32, const THIRD: u32>(
    links: &Links<4>,
    src: &[u8],
    matches: &mut Matches,
    cursor: &mut Cursor,
) {
    let marks = links.marks(cursor.at) >> (cursor.at % 64);
    // At most to the end of these marks, where the next turn goes on.
    let at = cursor.at + (marks.trailing_zeros() as usize).min(64 - cursor.at % 64);
    let at = at.min(cursor.end);
    let is_marked = marks != 0;
    let found = best::<VECTORS, FIRST>(links, src, at);
    let next = best::<VECTORS, NEXT>(links, src, at + 1);
    let mut take = is_marked & (at < cursor.end) & (found.length >= SHORTEST);
    take &= (next.length < SHORTEST) | (next.worth() - found.worth() <= LEAST_GAINS[0]);
    if THIRD > 0 {
        let third = best::<VECTORS, THIRD>(links, src, at + 2);
        take &= (third.length < SHORTEST) | (third.worth() - found.worth() <= LEAST_GAINS[1]);
    }
    let length = if found.length == SEEN { extend(src, found.distance, at) } else { found.length };
    matches[cursor.out] =
        Match { at: at as u32, length: length as u16, distance: found.distance as u16 };
    cursor.out += usize::from(take);
    cursor.at = at + select_unpredictable(take, length, usize::from(is_marked));
}

#[cold]
#[inline(never)]
fn extend(src: &[u8], distance: usize, at: usize) -> usize {
    length(src, distance, at, SEEN)
}

/// The longest of the first `K` candidates, of those the nearest, by [`SEEN`] bytes at most. One that is too far
/// back, and the end of a chain, is the candidate before again. None: length and distance 0.
#[inline(always)]
fn best<const VECTORS: bool, const K: u32>(links: &Links<4>, src: &[u8], at: usize) -> Found {
    let furthest = WINDOW.min(at);
    let first = links.distance(at);
    let mut distance = select_unpredictable(first <= furthest, first, 0);
    let (mut longest, mut found) = (same::<VECTORS>(src, at, distance), distance);
    for _ in 1..K {
        let further = distance + links.distance(at - distance);
        distance = select_unpredictable(further <= furthest, further, distance);
        let len = same::<VECTORS>(src, at, distance);
        found = select_unpredictable(len > longest, distance, found);
        longest = select_unpredictable(len > longest, len, longest);
    }
    // Where there is no candidate, the bytes were compared with themselves.
    Found { length: select_unpredictable(found == 0, 0, longest), distance: found }
}

/// How many of [`SEEN`] bytes are the same at a distance.
#[inline(always)]
fn same<const VECTORS: bool>(src: &[u8], at: usize, distance: usize) -> usize {
    debug_assert!(at + SEEN <= src.len() && distance <= at);
    #[cfg(target_arch = "x86_64")]
    if VECTORS {
        use std::arch::x86_64::*;
        // SAFETY: `parse` has checked that so many bytes are behind the range, and `best` that no distance leads
        // to before the input. The features are there: `parse::strip_avx2` alone has vectors.
        return unsafe {
            let here = src.as_ptr().add(at);
            let there = here.sub(distance);
            let same = _mm256_cmpeq_epi8(
                _mm256_loadu_si256(here.cast()),
                _mm256_loadu_si256(there.cast()),
            );
            (!_mm256_movemask_epi8(same)).cast_unsigned().trailing_zeros() as usize
        };
    }
    let mut len = 0;
    while len < SEEN {
        // SAFETY: as above.
        let different = unsafe { eight(src, at + len) ^ eight(src, at + len - distance) };
        if different != 0 {
            return len + different.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    SEEN
}
