//! The vector filter with AVX2: 64 positions at once, in two vectors.
//!
//! ```text
//! for at in begin, begin + 64, ... below end:
//!     bits := all ones
//!     for k in 0..M:
//!         byte := hay[at + k + lane]                                     in each of 64 lanes
//!         bits := bits AND low[k][byte AND 15] AND high[k][byte >> 4]
//!     candidates at all lanes with bits != 0, by any set of tables
//! ```
//!
//! Shapes: M is 1 to 4, and there are one or two sets of tables; any begin and end. Preconditions: `end + M - 1` is within
//! the haystack. CPU features: AVX2. Not constant time. Source: the idea is that of Hyperscan's Teddy (G. Langdale), with
//! `pshufb`. Covered by the tests of `literal` and by the bench `literal`.
//!
//! 1. Each pair of tables is applied to its own unaligned load: the results then need no shift across lanes.
//! 2. One branch skips four vectors without a candidate, none a single one: a mispredicted branch costs more than a vector. Each
//!    stores 4 positions, and as many count as there are candidates.
//! 3. A lookup gives 0 for an index of 128 and more, so that a low nibble needs no mask where no such byte has a bucket.
//! 4. The last positions are looked at once more together with those before them, and count once. A haystack with fewer
//!    than 64 positions is copied first, so that nothing behind it is read.

use std::arch::x86_64::*;

use lookaside_simd::Avx2;

use super::{CAPACITY, Candidates, VectorTables};

const LANES: usize = 64;

/// Of each position: the buckets of the low, then those of the high nibble.
pub(crate) type Nibbles = [[u8; 16]; 2];

/// Adds the candidates from `begin` to `end`, relative to `begin`.
pub(super) fn vector(
    _: Avx2,
    tables: &VectorTables,
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) {
    let nibbles = &*tables.nibbles;
    assert!(
        begin < end && end + tables.len - 1 <= hay.len() && out.len + (end - begin) <= CAPACITY
    );
    macro_rules! choose {
        ($($len:literal)*) => {
            match (tables.len, nibbles.len() / tables.len, tables.ascii) {
                $(
                    ($len, 1, true) => run::<$len, 1, true>(nibbles, hay, begin, end, out),
                    ($len, 1, false) => run::<$len, 1, false>(nibbles, hay, begin, end, out),
                    ($len, 2, true) => run::<$len, 2, true>(nibbles, hay, begin, end, out),
                    ($len, 2, false) => run::<$len, 2, false>(nibbles, hay, begin, end, out),
                )*
                _ => unreachable!("1 or 2 sets of 1 to 4 tables"),
            }
        };
    }
    // SAFETY: the token proves the features; the rest is checked above.
    unsafe { choose!(1 2 3 4) }
}

/// # Safety
/// `end + M - 1` is within `hay`, and all positions fit in `out`.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run<const M: usize, const SETS: usize, const ASCII: bool>(
    tables: &[Nibbles],
    hay: &[u8],
    begin: usize,
    end: usize,
    out: &mut Candidates,
) {
    let mut sets = [[[_mm256_setzero_si256(); 2]; M]; SETS];
    for (pair, table) in sets.as_flattened_mut().iter_mut().zip(tables) {
        for (vector, bytes) in pair.iter_mut().zip(table) {
            // SAFETY: 16 bytes.
            *vector =
                _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) });
        }
    }
    let nibble = _mm256_set1_epi8(15);
    // 64 + M - 1 bytes from `from` can be read.
    let filter = |from: *const u8| {
        let mut bits = 0;
        for half in 0..2 {
            let mut buckets = [_mm256_set1_epi8(-1); SETS];
            for k in 0..M {
                // SAFETY: as said above.
                let bytes = unsafe { _mm256_loadu_si256(from.add(32 * half + k).cast()) };
                let index = if ASCII { bytes } else { _mm256_and_si256(bytes, nibble) };
                let shifted = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble);
                for (buckets, pairs) in buckets.iter_mut().zip(&sets) {
                    let of_low = _mm256_shuffle_epi8(pairs[k][0], index);
                    let of_high = _mm256_shuffle_epi8(pairs[k][1], shifted);
                    *buckets = _mm256_and_si256(*buckets, _mm256_and_si256(of_low, of_high));
                }
            }
            let others = buckets[1..].iter();
            let buckets = others.fold(buckets[0], |any, more| _mm256_or_si256(any, *more));
            let none = _mm256_movemask_epi8(_mm256_cmpeq_epi8(buckets, _mm256_setzero_si256()));
            bits |= u64::from(!none as u32) << (32 * half);
        }
        bits
    };
    let mut at = begin;
    while at + 4 * LANES <= end {
        // SAFETY: `at + 256 + M - 1` is within `hay`.
        let group = [0, 1, 2, 3].map(|i| filter(unsafe { hay.as_ptr().add(at + i * LANES) }));
        if group.iter().fold(0, |any, bits| any | bits) != 0 {
            for (i, bits) in group.into_iter().enumerate() {
                // SAFETY: all positions fit.
                unsafe { out.push_bits((at - begin + i * LANES) as u32, bits) };
            }
        }
        at += 4 * LANES;
    }
    while at + LANES <= end {
        // SAFETY: `at + 64 + M - 1` is within `hay`.
        let bits = filter(unsafe { hay.as_ptr().add(at) });
        // SAFETY: all positions fit.
        unsafe { out.push_bits((at - begin) as u32, bits) };
        at += LANES;
    }
    let left = end - at;
    if left == 0 {
        return;
    }
    if let Some(earlier) = end.checked_sub(LANES) {
        // SAFETY: `end + M - 1` is within `hay`.
        let bits = filter(unsafe { hay.as_ptr().add(earlier) });
        let bits = bits & u64::MAX << (LANES - left);
        // SAFETY: all positions fit; the first of them are masked out.
        unsafe { out.push_bits((earlier as u32).wrapping_sub(begin as u32), bits) };
    } else {
        let mut copy = [0; LANES + 3];
        copy[..left + M - 1].copy_from_slice(&hay[at..end + M - 1]);
        let bits = filter(copy.as_ptr()) & u64::MAX >> (LANES - left);
        // SAFETY: all positions fit.
        unsafe { out.push_bits((at - begin) as u32, bits) };
    }
}
