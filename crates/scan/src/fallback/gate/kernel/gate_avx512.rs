//! Candidates with AVX-512: 64 places at once.
//!
//! ```text
//! for at in from, from + 64, ... while all bytes are within the haystack:
//!     buckets := all ones
//!     for k in 0..M: buckets := buckets AND table[k][hay[at + offset[k] + lane]]     in each of 64 lanes
//!     return at and the lanes with buckets != 0, if there are any
//! ```
//!
//! Shapes: M is 1 to 4; offsets are small. CPU features: AVX-512 F, BW, VBMI. Not constant time. The tables are looked up
//! as the vector filter of `literal` does. Covered by the tests of `gate` and by the bench `fallback`.
//!
//! 1. A block without a candidate after K tests is done: K is so large that few blocks go on, since a branch that is
//!    mispredicted costs more than a test.
//! 2. At the ends of the haystack lanes whose byte is outside are loaded under a mask, and pass.

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::{LANES, Test, Tests};

/// See [`Tests::block`].
pub(super) fn block(_: Avx512, tests: &Tests, hay: &[u8], at: usize) -> u64 {
    // SAFETY: the token proves the features.
    unsafe { edge(&tests.tests, hay, at) }
}

/// See [`Tests::blocks`], which has checked `at`.
pub(super) fn blocks(_: Avx512, tests: &Tests, hay: &[u8], at: usize) -> (usize, u64) {
    let (least, most) = tests.reach;
    assert!(at >= least.unsigned_abs() && at + LANES + most as usize <= hay.len());
    let last = hay.len() - LANES - most as usize;
    let it = &tests.tests;
    macro_rules! choose {
        ($($len:literal $early:literal,)*) => {
            match (it.len(), tests.early, tests.ascii) {
                $(
                    ($len, $early, true) => run::<$len, $early, true>(it, hay, at, last),
                    ($len, $early, false) => run::<$len, $early, false>(it, hay, at, last),
                )*
                _ => unreachable!("1 to 4 tests"),
            }
        };
    }
    // SAFETY: the token proves the features; all bytes of blocks from `at` to `last` are within `hay`.
    unsafe { choose!(1 1, 2 1, 2 2, 3 1, 3 2, 3 3, 4 1, 4 2, 4 3, 4 4,) }
}

type Quarters = [__m512i; 4];

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn quarters(test: &Test) -> Quarters {
    let mut quarters = [_mm512_setzero_si512(); 4];
    for (quarter, bytes) in quarters.iter_mut().zip(test.table.chunks_exact(LANES)) {
        // SAFETY: 64 bytes.
        *quarter = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
    }
    quarters
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn look_up<const ASCII: bool>([a, b, c, d]: &Quarters, bytes: __m512i) -> __m512i {
    let high = _mm512_movepi8_mask(bytes);
    if ASCII {
        _mm512_maskz_permutex2var_epi8(!high, *a, bytes, *b)
    } else {
        let low = _mm512_permutex2var_epi8(*a, bytes, *b);
        _mm512_mask_mov_epi8(low, high, _mm512_permutex2var_epi8(*c, bytes, *d))
    }
}

/// # Safety
/// Of all blocks from `at` to `last`, all bytes at all offsets are within `hay`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
unsafe fn run<const M: usize, const K: usize, const ASCII: bool>(
    tests: &[Test],
    hay: &[u8],
    mut at: usize,
    last: usize,
) -> (usize, u64) {
    let mut tables = [[_mm512_setzero_si512(); 4]; M];
    let mut from = [hay.as_ptr(); M];
    for (k, test) in tests.iter().enumerate() {
        tables[k] = quarters(test);
        from[k] = hay.as_ptr().wrapping_offset(test.offset);
    }
    while at <= last {
        // SAFETY: within `hay`, says the caller.
        let load = |k: usize| unsafe { _mm512_loadu_si512(from[k].wrapping_add(at).cast()) };
        let mut buckets = look_up::<ASCII>(&tables[0], load(0));
        for (k, table) in tables[..K].iter().enumerate().skip(1) {
            buckets = _mm512_and_si512(buckets, look_up::<ASCII>(table, load(k)));
        }
        let mut bits = _mm512_test_epi8_mask(buckets, buckets);
        if K < M && bits != 0 {
            for (k, table) in tables.iter().enumerate().skip(K) {
                buckets = _mm512_and_si512(buckets, look_up::<ASCII>(table, load(k)));
            }
            bits = _mm512_test_epi8_mask(buckets, buckets);
        }
        if bits != 0 {
            return (at, bits);
        }
        at += LANES;
    }
    (at, 0)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn edge(tests: &[Test], hay: &[u8], at: usize) -> u64 {
    let mut buckets = _mm512_set1_epi8(-1);
    for test in tests {
        let first = at as isize + test.offset;
        let valid = lanes_below(hay.len() as isize - first) & !lanes_below(-first);
        let from = hay.as_ptr().wrapping_offset(first);
        // SAFETY: the lanes that are loaded are within `hay`.
        let bytes = unsafe { _mm512_maskz_loadu_epi8(valid, from.cast()) };
        let found = look_up::<false>(&quarters(test), bytes);
        buckets = and_where(buckets, valid, found);
    }
    _mm512_test_epi8_mask(buckets, buckets)
}

/// `buckets AND found` in the lanes of `valid`, and `buckets` in the others.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
#[inline]
fn and_where(buckets: __m512i, valid: u64, found: __m512i) -> __m512i {
    _mm512_mask_mov_epi8(buckets, valid, _mm512_and_si512(buckets, found))
}

/// The lanes below `limit`.
fn lanes_below(limit: isize) -> u64 {
    match limit {
        ..=0 => 0,
        1..64 => (1 << limit) - 1,
        _ => u64::MAX,
    }
}
