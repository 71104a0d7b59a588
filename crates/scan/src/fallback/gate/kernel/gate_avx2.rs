//! Candidates with AVX2: 64 places at once, in two vectors.
//!
//! ```text
//! for at in from, from + 64, ... while all bytes are within the haystack:
//!     buckets := all ones
//!     for k in 0..M:
//!         byte := hay[at + offset[k] + lane]                              in each of 64 lanes
//!         buckets := buckets AND low[k][byte AND 15] AND high[k][byte >> 4]
//!     return at and the lanes with buckets != 0, if there are any
//! ```
//!
//! Shapes: M is 1 to 4; offsets are small. CPU features: AVX2. Not constant time. The nibbles are looked up as the vector
//! filter of `literal` does. Covered by the tests of `gate` and by the bench `fallback`.
//!
//! 1. A block without a candidate after K tests is done: K is so large that few blocks go on, since a branch that is
//!    mispredicted costs more than a test.
//! 2. At the ends of the haystack the bytes are copied first, and lanes whose byte is outside pass.

use std::arch::x86_64::*;

use lookaside_simd::Avx2;

use super::{LANES, TESTS, Test, Tests};

/// See [`Tests::block`].
pub(super) fn block(_: Avx2, tests: &Tests, hay: &[u8], at: usize) -> u64 {
    let (least, most) = tests.reach;
    let (before, behind) = (least.unsigned_abs(), most as usize);
    assert!(before + behind <= LANES && tests.tests.len() <= TESTS);
    // `copy[before]` is the byte at `at`.
    let mut copy = [0; 2 * LANES];
    let from = at.saturating_sub(before);
    let to = hay.len().min(at + LANES + behind);
    let first = before - (at - from);
    copy[first..first + to - from].copy_from_slice(&hay[from..to]);
    // SAFETY: the token proves the features; 64 bytes from `before + offset` on are within the copy.
    unsafe { edge(&tests.tests, &copy, before, hay.len(), at) }
}

/// See [`Tests::blocks`], which has checked `at`.
pub(super) fn blocks(_: Avx2, tests: &Tests, hay: &[u8], at: usize) -> (usize, u64) {
    let (least, most) = tests.reach;
    assert!(at >= least.unsigned_abs() && at + LANES + most as usize <= hay.len());
    let last = hay.len() - LANES - most as usize;
    let it = &tests.tests;
    macro_rules! choose {
        ($($len:literal $early:literal,)*) => {
            match (it.len(), tests.early) {
                $(
                    ($len, $early) => run::<$len, $early>(it, hay, at, last),
                )*
                _ => unreachable!("1 to 4 tests"),
            }
        };
    }
    // SAFETY: the token proves the features; all bytes of blocks from `at` to `last` are within `hay`.
    unsafe { choose!(1 1, 2 1, 2 2, 3 1, 3 2, 3 3, 4 1, 4 2, 4 3, 4 4,) }
}

#[target_feature(enable = "avx2")]
fn pair(test: &Test) -> [__m256i; 2] {
    test.nibbles.map(|half| {
        // SAFETY: 16 bytes.
        _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(half.as_ptr().cast()) })
    })
}

#[target_feature(enable = "avx2")]
#[inline]
fn look_up([low, high]: &[__m256i; 2], bytes: __m256i) -> __m256i {
    let nibble = _mm256_set1_epi8(15);
    let of_low = _mm256_shuffle_epi8(*low, _mm256_and_si256(bytes, nibble));
    let shifted = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), nibble);
    _mm256_and_si256(of_low, _mm256_shuffle_epi8(*high, shifted))
}

/// The lanes that are not 0.
#[target_feature(enable = "avx2")]
#[inline]
fn lanes(halves: [__m256i; 2]) -> u64 {
    let [low, high] = halves
        .map(|half| !_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, _mm256_setzero_si256())) as u32);
    u64::from(low) | u64::from(high) << 32
}

/// # Safety
/// Of all blocks from `at` to `last`, all bytes at all offsets are within `hay`.
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn run<const M: usize, const K: usize>(
    tests: &[Test],
    hay: &[u8],
    mut at: usize,
    last: usize,
) -> (usize, u64) {
    let mut tables = [[_mm256_setzero_si256(); 2]; M];
    let mut from = [hay.as_ptr(); M];
    for (k, test) in tests.iter().enumerate() {
        tables[k] = pair(test);
        from[k] = hay.as_ptr().wrapping_offset(test.offset);
    }
    while at <= last {
        let find = |k: usize, half: usize| {
            // SAFETY: within `hay`, says the caller.
            let bytes = unsafe { _mm256_loadu_si256(from[k].wrapping_add(at + 32 * half).cast()) };
            look_up(&tables[k], bytes)
        };
        let mut buckets = [find(0, 0), find(0, 1)];
        for k in 1..K {
            buckets = [0, 1].map(|half| _mm256_and_si256(buckets[half], find(k, half)));
        }
        let mut any = _mm256_or_si256(buckets[0], buckets[1]);
        if K < M && _mm256_testz_si256(any, any) == 0 {
            for k in K..M {
                buckets = [0, 1].map(|half| _mm256_and_si256(buckets[half], find(k, half)));
            }
            any = _mm256_or_si256(buckets[0], buckets[1]);
        }
        if _mm256_testz_si256(any, any) == 0 {
            return (at, lanes(buckets));
        }
        at += LANES;
    }
    (at, 0)
}

/// # Safety
/// 64 bytes of `copy` from `before` plus each offset are within it.
#[target_feature(enable = "avx2,bmi1,bmi2")]
unsafe fn edge(
    tests: &[Test],
    copy: &[u8; 2 * LANES],
    before: usize,
    len: usize,
    at: usize,
) -> u64 {
    let numbers: [i8; 32] = std::array::from_fn(|lane| lane as i8);
    // SAFETY: 32 bytes.
    let numbers = unsafe { _mm256_loadu_si256(numbers.as_ptr().cast()) };
    let mut buckets = [_mm256_set1_epi8(-1); 2];
    for test in tests {
        let first = at as isize + test.offset;
        let table = pair(test);
        for (half, buckets) in buckets.iter_mut().enumerate() {
            let from = copy.as_ptr().wrapping_add(before + 32 * half).wrapping_offset(test.offset);
            // SAFETY: within the copy.
            let bytes = unsafe { _mm256_loadu_si256(from.cast()) };
            // Lanes from `low` on and below `high` are within the haystack.
            let low = (-first - 32 * half as isize).clamp(0, 32) as i8;
            let high = (len as isize - first - 32 * half as isize).clamp(0, 32) as i8;
            let outside = _mm256_or_si256(
                _mm256_cmpgt_epi8(_mm256_set1_epi8(low), numbers),
                _mm256_cmpgt_epi8(numbers, _mm256_set1_epi8(high - 1)),
            );
            let found = _mm256_or_si256(look_up(&table, bytes), outside);
            *buckets = _mm256_and_si256(*buckets, found);
        }
    }
    lanes(buckets)
}
