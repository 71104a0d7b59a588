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
    alone.check(hay, range.1);
    assert!(range.0 < range.1 && out.len == 0);
    // SAFETY: the token proves the features; the rest is checked.
    unsafe { run(alone, hay, range, out) }
}

/// Whether there is a candidate below `end`. Of fewer positions than 32, zeros behind the haystack may be taken for one.
pub(super) fn any(_: Avx2, alone: &Alone, hay: &[u8], end: usize) -> bool {
    alone.check(hay, end);
    // SAFETY: the token proves the features; the rest is checked.
    unsafe { has_any(alone, hay, end) }
}

/// A place, with its byte and its fold in all lanes.
type Wide = (usize, __m256i, __m256i);

#[target_feature(enable = "avx2")]
#[inline]
fn wide(place: &Place) -> Wide {
    (place.at, _mm256_set1_epi8(place.byte as i8), _mm256_set1_epi8(place.fold as i8))
}

/// Which of the 32 positions from `at` on have the byte at the place: all ones in their lanes.
///
/// # Safety
/// The place can be read for these positions.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn equal(at: *const u8, (place, byte, fold): Wide) -> __m256i {
    // SAFETY: the caller's.
    let bytes = unsafe { _mm256_loadu_si256(at.add(place).cast()) };
    _mm256_cmpeq_epi8(_mm256_or_si256(bytes, fold), byte)
}

/// Which of the 32 positions that are `found` are right at all others of these places too.
///
/// # Safety
/// As [`equal`].
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn right(at: *const u8, found: __m256i, others: &[Place]) -> u32 {
    // SAFETY: the caller's.
    let all = others
        .iter()
        .fold(found, |found, place| unsafe { _mm256_and_si256(found, equal(at, wide(place))) });
    _mm256_movemask_epi8(all).cast_unsigned()
}

/// # Safety
/// Each place is within `hay` for all positions below `end`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn has_any(alone: &Alone, hay: &[u8], end: usize) -> bool {
    let mut few = [0; LANES + MOST_TABLES];
    let start = match end < LANES {
        true => {
            let len = hay.len().min(few.len());
            few[..len].copy_from_slice(&hay[..len]);
            few.as_ptr()
        }
        false => hay.as_ptr(),
    };
    let [first, second] = [wide(&alone.rarest[0]), wide(&alone.rarest[1])];
    // SAFETY: 32 positions from here on are below `end`, or it is the copy, and places are below MOST_TABLES.
    let found = |at: usize| unsafe {
        let here = start.add(at);
        _mm256_and_si256(equal(here, first), equal(here, second))
    };
    // SAFETY: likewise.
    let real = |at: usize, found| unsafe { right(start.add(at), found, &alone.others) != 0 };
    let mut at = 0;
    while at < end {
        // The last ones with some of those before.
        let last = end.saturating_sub(LANES);
        let both = [at.min(last), (at + LANES).min(last)];
        let [one, two] = both.map(&found);
        let any = _mm256_or_si256(one, two);
        if _mm256_testz_si256(any, any) == 0 && (real(both[0], one) || real(both[1], two)) {
            return true;
        }
        at += 2 * LANES;
    }
    false
}

/// # Safety
/// Each place is within `hay` for all positions below `end`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run(
    alone: &Alone,
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) -> usize {
    let [first, second] = [wide(&alone.rarest[0]), wide(&alone.rarest[1])];
    // SAFETY: all of the positions are below `end`.
    let (equal, rest) = unsafe {
        (
            |at: usize, place: Wide| equal(hay.as_ptr().add(at), place),
            |at: usize, found: __m256i| right(hay.as_ptr().add(at), found, &alone.others),
        )
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
