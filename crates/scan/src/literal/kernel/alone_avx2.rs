//! The vector filter for one window alone, with AVX2: its bytes are compared, 256 positions at once.
//!
//! ```text
//! for at in begin, begin + 256, ... below end - 255, then begin + 32, ... with the last 32 in place of fewer:
//!     bits := hay[at + p + lane] == byte[p]             in each of 256 lanes, at the two least likely places p
//!     if bits != 0:
//!         candidates at all lanes with bits != 0 whose bytes at the other places are the window's
//! ```
//!
//! Shapes: a window of 1 to 4 bytes, each of them one byte or a letter in either case; any begin and end. Precondition: the
//! last window is within the haystack. CPU features: AVX2. Not constant time. Source: own; see `alone_avx512`. Covered by the
//! tests of `literal`.
//!
//! 1. Fewer than 32 positions are for the kernel with tables; where it is only asked whether there is a candidate, they are copied.

use std::arch::x86_64::*;

use lookaside_simd::Avx2;

use super::{Alone, CAPACITY, Candidates, GROUP, MOST_TABLES, Place};

pub(super) const LANES: usize = 32;

/// Adds the candidates from `begin` on, relative to `begin`, while there is room, if there are [`LANES`] positions at least. Returns
/// the position that was reached.
pub(super) fn compare(
    _: Avx2,
    alone: &Alone,
    hay: &[u8],
    range: (usize, usize),
    out: &mut Candidates,
) -> usize {
    let places = alone.places(hay, range, out);
    // SAFETY: the token proves the features; the rest is checked by that.
    unsafe { run(places, hay, range, out) }
}

/// Whether there is a candidate below `end`.
pub(super) fn any(_: Avx2, alone: &Alone, hay: &[u8], end: usize) -> bool {
    let places = alone.places_within(hay, end);
    // SAFETY: the token proves the features; the rest is checked by that.
    unsafe { has_any(places, hay, end) }
}

/// # Safety
/// Each place is within `hay` for all positions below `end`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn has_any((rarest, others): ([&Place; 2], &[Place]), hay: &[u8], end: usize) -> bool {
    let all = |place: &Place| {
        (place.at, _mm256_set1_epi8(place.byte as i8), _mm256_set1_epi8(place.fold as i8))
    };
    let [first, second] = rarest.map(all);
    let mut few = [0; LANES + MOST_TABLES];
    let short = end < LANES;
    if short {
        let len = hay.len().min(few.len());
        few[..len].copy_from_slice(&hay[..len]);
    }
    let start = if short { few.as_ptr() } else { hay.as_ptr() };
    let equal = |at: usize, (place, byte, fold): (usize, __m256i, __m256i)| {
        // SAFETY: 32 positions from `at` on are below `end`, or `at` is 0, and places are below MOST_TABLES.
        let bytes = unsafe { _mm256_loadu_si256(start.add(at + place).cast()) };
        _mm256_cmpeq_epi8(_mm256_or_si256(bytes, fold), byte)
    };
    let mut at = 0;
    while at < end {
        // The last ones with some of those before.
        let from = at.min(end.saturating_sub(LANES));
        let mut found = _mm256_and_si256(equal(from, first), equal(from, second));
        if _mm256_testz_si256(found, found) == 0 {
            for place in others {
                found = _mm256_and_si256(found, equal(from, all(place)));
            }
            let bits = _mm256_movemask_epi8(found).cast_unsigned();
            if u64::from(bits) & !(u64::MAX << (end - from).min(LANES)) != 0 {
                return true;
            }
        }
        at = from + LANES;
    }
    false
}

/// # Safety
/// Each place is within `hay` for all positions below `end`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run(
    (rarest, others): ([&Place; 2], &[Place]),
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) -> usize {
    let all = |place: &Place| {
        (place.at, _mm256_set1_epi8(place.byte as i8), _mm256_set1_epi8(place.fold as i8))
    };
    let [first, second] = rarest.map(all);
    let equal = |at: usize, (place, byte, fold): (usize, __m256i, __m256i)| {
        // SAFETY: all of the positions are below `end`.
        let bytes = unsafe { _mm256_loadu_si256(hay.as_ptr().add(at + place).cast()) };
        _mm256_cmpeq_epi8(_mm256_or_si256(bytes, fold), byte)
    };
    // All places at 32 positions, where the two rarest are right.
    let rest = |at: usize, mut found: __m256i| {
        for place in others {
            found = _mm256_and_si256(found, equal(at, all(place)));
        }
        _mm256_movemask_epi8(found).cast_unsigned()
    };
    let mut at = begin;
    while at + GROUP <= end && out.len + GROUP <= CAPACITY {
        let found = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| {
            let at = at + i * LANES;
            _mm256_and_si256(equal(at, first), equal(at, second))
        });
        let any = found.iter().fold(_mm256_setzero_si256(), |any, it| _mm256_or_si256(any, *it));
        if _mm256_testz_si256(any, any) == 0 {
            for (i, found) in found.into_iter().enumerate() {
                let at = at + i * LANES;
                // SAFETY: there is room.
                unsafe { out.push_bits((at - begin) as u32, rest(at, found).into()) };
            }
        }
        at += GROUP;
    }
    while at < end && begin + LANES <= end && out.len + LANES <= CAPACITY {
        // The last ones with some of those before.
        let from = at.min(end - LANES);
        let found = _mm256_and_si256(equal(from, first), equal(from, second));
        if _mm256_testz_si256(found, found) == 0 {
            let bits = rest(from, found) & u32::MAX << (at - from);
            // SAFETY: there is room.
            unsafe { out.push_bits((from - begin) as u32, bits.into()) };
        }
        at = from + LANES;
    }
    at
}
