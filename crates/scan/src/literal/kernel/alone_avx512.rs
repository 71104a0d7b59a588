//! The vector filter for one window alone, with AVX-512: its bytes are compared, 256 positions at once.
//!
//! ```text
//! for at in begin, begin + 256, ... below end:
//!     bits := hay[at + p + lane] == byte[p]             in each of 256 lanes, at the two least likely places p
//!     if bits != 0:
//!         bits := bits AND the same at the other places
//!         candidates at all lanes with bits != 0
//! ```
//!
//! Shapes: a window of 1 to 4 bytes, each of them one byte or a letter in either case; any begin and end. Precondition: the
//! last window is within the haystack. CPU features: AVX-512 F, BW, VBMI2. Not constant time. Source: own; that two bytes of a
//! string are nearly all of it is known from memchr's `memmem` and others. Covered by the tests of `literal`.
//!
//! 1. Tables cost three times as much as comparisons, and most sets that users have for one string alone are for rare strings.
//! 2. Case is folded by an OR with 0x20, or 0 where it counts.
//! 3. The last positions are loaded under a mask, which keeps loads from reading behind the haystack.

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::vector_avx512::{iota, push_bits};
use super::{Alone, CAPACITY, Candidates, GROUP, Place};

const LANES: usize = 64;

/// Adds the candidates from `begin` on, relative to `begin`, while there is room. Returns the position that was reached.
pub(super) fn compare(
    _: Avx512,
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

/// Whether there is a candidate below `end`.
pub(super) fn any(_: Avx512, alone: &Alone, hay: &[u8], end: usize) -> bool {
    alone.check(hay, end);
    // SAFETY: the token proves the features; the rest is checked.
    unsafe { has_any(alone, hay, end) }
}

/// A place, with its byte and its fold in all lanes.
type Wide = (usize, __m512i, __m512i);

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn wide(place: &Place) -> Wide {
    (place.at, _mm512_set1_epi8(place.byte as i8), _mm512_set1_epi8(place.fold as i8))
}

/// The lanes, among these, whose positions from `at` on have the byte at the place.
///
/// # Safety
/// The place is within `hay` for these positions.
#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
unsafe fn equal(hay: &[u8], at: usize, (place, byte, fold): Wide, lanes: u64) -> u64 {
    let from: *const i8 = hay.as_ptr().wrapping_add(at + place).cast();
    // SAFETY: the caller's.
    let bytes = unsafe {
        match lanes {
            u64::MAX => _mm512_loadu_si512(from.cast()),
            _ => _mm512_maskz_loadu_epi8(lanes, from),
        }
    };
    _mm512_mask_cmpeq_epi8_mask(lanes, _mm512_or_si512(bytes, fold), byte)
}

/// # Safety
/// Each place is within `hay` for all positions below `end`, which is not 0.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn has_any(alone: &Alone, hay: &[u8], end: usize) -> bool {
    let [first, second] = [wide(&alone.rarest[0]), wide(&alone.rarest[1])];
    let lanes = u64::MAX >> (LANES - end.min(LANES));
    let mut at = 0;
    while at < end {
        // The last ones with some of those before.
        let from = at.min(end.saturating_sub(LANES));
        // SAFETY: `lanes` has those alone of positions below `end`.
        let equal = |place: Wide, lanes: u64| unsafe { equal(hay, from, place, lanes) };
        let bits = equal(first, lanes) & equal(second, lanes);
        if bits != 0 && alone.others.iter().fold(bits, |bits, place| equal(wide(place), bits)) != 0
        {
            return true;
        }
        at = from + LANES;
    }
    false
}

/// # Safety
/// Each place is within `hay` for all positions below `end`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run(
    alone: &Alone,
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) -> usize {
    let [first, second] = [wide(&alone.rarest[0]), wide(&alone.rarest[1])];
    let iota = iota();
    // SAFETY: `lanes` has those alone of positions below `end`.
    let equal = |at: usize, place: Wide, lanes: u64| unsafe { equal(hay, at, place, lanes) };
    let add = |out: &mut Candidates, at: usize, bits: u64| {
        let bits = alone.others.iter().fold(bits, |bits, place| equal(at, wide(place), bits));
        // SAFETY: there is room.
        unsafe { push_bits(out, (at - begin) as u32, bits, iota) };
    };
    let mut at = begin;
    while at + GROUP <= end && out.len + GROUP <= CAPACITY {
        let bits = [0, 1, 2, 3].map(|i| {
            let at = at + i * LANES;
            equal(at, first, u64::MAX) & equal(at, second, u64::MAX)
        });
        if bits.iter().fold(0, |any, bits| any | bits) != 0 {
            for (i, bits) in bits.into_iter().enumerate() {
                add(out, at + i * LANES, bits);
            }
        }
        at += GROUP;
    }
    // Fewer are left, or there is less room.
    while at < end && out.len + GROUP <= CAPACITY {
        let (mut bits, from) = ([0; GROUP / LANES], at);
        for bits in &mut bits {
            let left = (end - at).min(LANES);
            let lanes = u64::MAX >> (LANES - left);
            *bits = equal(at, first, lanes) & equal(at, second, lanes);
            at += left;
            if at == end {
                break;
            }
        }
        if bits.iter().fold(0, |any, bits| any | bits) != 0 {
            for (i, bits) in bits.into_iter().enumerate().filter(|(_, bits)| *bits != 0) {
                add(out, from + i * LANES, bits);
            }
        }
    }
    at
}
