//! The vector filter for one window alone, with AVX2: its bytes are compared, 256 positions at once.
//!
//! ```text
//! for at in begin, begin + 256, ... below end - 255:
//!     bits := hay[at + p + lane] == byte[p]             in each of 256 lanes, at the two least likely places p
//!     if bits != 0:
//!         candidates at all lanes with bits != 0 whose bytes at the other places are the window's
//! ```
//!
//! Shapes: a window of 1 to 4 bytes, each of them one byte or a letter in either case; any begin and end. Precondition: the
//! last window is within the haystack. CPU features: AVX2. Not constant time. Source: own; see `alone_avx512`. Covered by the
//! tests of `literal`.
//!
//! 1. What is left of less than 256 positions is for the kernel with tables.

use std::arch::x86_64::*;

use lookaside_simd::Avx2;

use super::{Alone, CAPACITY, Candidates, GROUP, Place};

const LANES: usize = 32;

/// Adds the candidates from `begin` on, relative to `begin`, while there is room and 256 positions are left. Returns the
/// position that was reached.
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
        // SAFETY: the caller has whole groups, which end at `end` at most.
        let bytes = unsafe { _mm256_loadu_si256(hay.as_ptr().add(at + place).cast()) };
        _mm256_cmpeq_epi8(_mm256_or_si256(bytes, fold), byte)
    };
    let mut at = begin;
    while at + GROUP <= end && out.len + GROUP <= CAPACITY {
        let found = [0, 1, 2, 3, 4, 5, 6, 7].map(|i| {
            let at = at + i * LANES;
            _mm256_and_si256(equal(at, first), equal(at, second))
        });
        let any = found.iter().fold(_mm256_setzero_si256(), |any, it| _mm256_or_si256(any, *it));
        if _mm256_testz_si256(any, any) == 0 {
            for (i, mut found) in found.into_iter().enumerate() {
                let at = at + i * LANES;
                for place in others {
                    found = _mm256_and_si256(found, equal(at, all(place)));
                }
                let bits = _mm256_movemask_epi8(found).cast_unsigned();
                // SAFETY: there is room.
                unsafe { out.push_bits((at - begin) as u32, bits.into()) };
            }
        }
        at += GROUP;
    }
    at
}
