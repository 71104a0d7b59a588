//! The vector filter with AVX-512: 64 positions at once.
//!
//! ```text
//! for at in begin, begin + 64, ... below end:
//!     bits := all ones
//!     for k in 0..M: bits := bits AND table[k][hay[at + k + lane]]        in each of 64 lanes
//!     candidates at all lanes with bits != 0
//! ```
//!
//! Shapes: M is 1 to 4; any begin and end. Preconditions: `end + M - 1` is within the haystack. CPU features: AVX-512 F,
//! BW, VBMI, VBMI2. Not constant time. Source: the idea of buckets is that of Hyperscan's Teddy; the exact tables are ours.
//! Covered by the tests of `literal` and by the bench `literal`.
//!
//! 1. `vpermi2b` looks up 7 bits of a byte in 128 bytes, so that two of them and a choice by bit 7 look up all 256 bytes
//!    exactly; Teddy's nibbles also accept bytes whose halves come from two other ones. Tables in which no byte above 127
//!    has a bucket (`ASCII`) need one of them.
//! 2. Each table is applied to its own unaligned load: the results then need no shift, and loads are cheap here.
//! 3. One branch skips four vectors without a candidate, none a single one: a mispredicted branch costs more than a vector. Each
//!    stores 16 positions, and as many count as there are candidates.
//! 4. The last vector is loaded under a mask, which also keeps it from reading behind the haystack.

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::{CAPACITY, Candidates, SLACK, VectorTables};

const LANES: usize = 64;

/// Adds the candidates from `begin` to `end`, relative to `begin`.
pub(super) fn vector(
    _: Avx512,
    tables: &VectorTables,
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) {
    let exact = &*tables.exact;
    assert!(
        begin < end
            && exact.len() == tables.len
            && end + tables.len - 1 <= hay.len()
            && out.len + (end - begin) <= CAPACITY
    );
    macro_rules! choose {
        ($($len:literal)*) => {
            match (exact.len(), tables.ascii) {
                $(
                    ($len, true) => run::<$len, true>(exact, hay, begin, end, out),
                    ($len, false) => run::<$len, false>(exact, hay, begin, end, out),
                )*
                _ => unreachable!("1 to 4 tables"),
            }
        };
    }
    // SAFETY: the token proves the features; the rest is checked above.
    unsafe { choose!(1 2 3 4) }
}

/// The number of each lane.
#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn iota() -> __m512i {
    let iota: [u8; LANES] = std::array::from_fn(|lane| lane as u8);
    // SAFETY: 64 bytes.
    unsafe { _mm512_loadu_si512(iota.as_ptr().cast()) }
}

/// Adds `base` plus the index of each bit of `bits` that is set.
///
/// # Safety
/// There are at most [`CAPACITY`] candidates then.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
pub(super) unsafe fn push_bits(out: &mut Candidates, base: u32, bits: u64, iota: __m512i) {
    let mut lanes = _mm512_maskz_compress_epi8(bits, iota);
    let (mut at, end) = (out.len, out.len + bits.count_ones() as usize);
    loop {
        let positions = _mm512_cvtepu8_epi32(_mm512_castsi512_si128(lanes));
        let positions = _mm512_add_epi32(positions, _mm512_set1_epi32(base as i32));
        // SAFETY: `at` is `len` or below `end`, so CAPACITY at most, and SLACK elements follow.
        unsafe { _mm512_storeu_si512(out.at.as_mut_ptr().add(at).cast(), positions) };
        at += SLACK;
        if at >= end {
            break;
        }
        lanes = _mm512_alignr_epi64::<2>(lanes, lanes);
    }
    out.len = end;
}

/// # Safety
/// `end + M - 1` is within `hay`, and all positions fit in `out`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run<const M: usize, const ASCII: bool>(
    tables: &[[u8; 256]],
    hay: &[u8],
    begin: usize,
    end: usize,
    out: &mut Candidates,
) {
    // Each in variables of its own: an array that a loop goes through lies in memory, and is copied there for each packet.
    let quarters = |k: usize| {
        let table = &tables[k.min(M - 1)];
        // SAFETY: 64 of 256 bytes.
        let load =
            |quarter| unsafe { _mm512_loadu_si512(table.as_ptr().add(LANES * quarter).cast()) };
        let high = |quarter| if ASCII { _mm512_setzero_si512() } else { load(quarter) };
        [load(0), load(1), high(2), high(3)]
    };
    let (first, second, third, fourth) = (quarters(0), quarters(1), quarters(2), quarters(3));
    let iota = iota();
    let filter = |at: usize, valid: u64| {
        let load = |k: usize| {
            let from: *const i8 = hay.as_ptr().wrapping_add(at + k).cast();
            // SAFETY: the lanes that are loaded are within `hay`: the positions are below `end`.
            unsafe {
                match valid {
                    u64::MAX => _mm512_loadu_si512(from.cast()),
                    _ => _mm512_maskz_loadu_epi8(valid, from),
                }
            }
        };
        let found = |bytes: __m512i, [a, b, c, d]: [__m512i; 4]| {
            let low = _mm512_permutex2var_epi8(a, bytes, b);
            if ASCII {
                return low;
            }
            let high = _mm512_permutex2var_epi8(c, bytes, d);
            _mm512_mask_mov_epi8(low, _mm512_movepi8_mask(bytes), high)
        };
        let bytes = [0, 1, 2, 3].map(|k| load(if k < M { k } else { 0 }));
        let mut buckets = found(bytes[0], first);
        if M > 1 {
            buckets = _mm512_and_si512(buckets, found(bytes[1], second));
        }
        if M > 2 {
            buckets = _mm512_and_si512(buckets, found(bytes[2], third));
        }
        if M > 3 {
            buckets = _mm512_and_si512(buckets, found(bytes[3], fourth));
        }
        if ASCII {
            // No bucket has a byte above 127, which looks up that without its highest bit.
            let any = bytes.into_iter().fold(bytes[0], |any, more| _mm512_or_si512(any, more));
            return _mm512_mask_test_epi8_mask(!_mm512_movepi8_mask(any), buckets, buckets);
        }
        _mm512_test_epi8_mask(buckets, buckets)
    };
    let mut at = begin;
    while at + 4 * LANES <= end {
        let group = [0, 1, 2, 3].map(|i| filter(at + i * LANES, u64::MAX));
        if group.iter().fold(0, |any, bits| any | bits) != 0 {
            for (i, bits) in group.into_iter().enumerate() {
                // SAFETY: all positions fit.
                unsafe { push_bits(out, (at - begin + i * LANES) as u32, bits, iota) };
            }
        }
        at += 4 * LANES;
    }
    while at + LANES <= end {
        let bits = filter(at, u64::MAX);
        // SAFETY: all positions fit.
        unsafe { push_bits(out, (at - begin) as u32, bits, iota) };
        at += LANES;
    }
    if at < end {
        let valid = u64::MAX >> (LANES - (end - at));
        let bits = filter(at, valid) & valid;
        // SAFETY: all positions fit.
        unsafe { push_bits(out, (at - begin) as u32, bits, iota) };
    }
}
