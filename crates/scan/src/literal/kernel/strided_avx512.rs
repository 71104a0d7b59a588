//! Every `stride`-th gram looked up in a table of bits, 16 at once with AVX-512.
//!
//! ```text
//! for at in begin, begin + 16 stride, ... below end:
//!     gram[i] := 4 bytes at at + i stride, OR fold                       for i in 0..16
//!     hash[i] := gram[i] * first                                         of a gram of up to 4 bytes
//!     hash[i] := gram[i] * first + (its last 4 bytes) * second           of a longer one
//!     candidate at + i stride if words[hash[i] >> shift] >> (gram[i] AND 31) AND 1
//! ```
//!
//! Of pairs, what is hashed begins one byte later, and the two bytes around it choose bits of its word, as in `strided`.
//!
//! Shapes: any bytes, a stride of 1 to 8. Preconditions: a gram fits behind each position below `end`. CPU features:
//! AVX-512 F, BW, VBMI. Not constant time. Source: as `strided`. Covered by the tests of `literal` and by the bench
//! `literal`.
//!
//! 1. Grams at strides of up to 8 come out of two vectors with one `vpermi2b`: 8 of them are within 7 * 8 + 8 = 64 bytes.
//! 2. The multiplication is of 32 bits for long grams too: `vpmullq` is slow on Intel, and half as many lanes are.
//! 3. A gather takes as long as 16 loads on Zen 4, 18 cycles. The scalar loop has no gather, but each of its
//!    multiplications and shifts is for the same one or two ports, and takes 1.1 to 1.3 times as long. CPUs before Sapphire
//!    Rapids that have the mitigation of Gather Data Sampling gather slowly.
//! 4. No branch skips probes without a candidate: a mispredicted one costs more than 16 probes. All positions are stored
//!    behind the candidates so far, and as many count as there are candidates.
//! 5. The last vectors are loaded under masks, which also keeps them from reading behind the haystack.

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::{BitTable, CAPACITY, Candidates};

/// Strides up to this are served.
pub(super) const LONGEST_STRIDE: usize = 8;

/// Probes at once.
const LANES: usize = 16;

/// Which bytes of two vectors, the second [`LANES`] / 2 strides behind the first, are of use to each probe.
#[derive(Debug)]
pub(super) struct Lanes {
    /// The first and last 4 bytes of what is hashed.
    first: [u8; 64],
    last: [u8; 64],
    /// Of pairs: the byte before that, and the one behind.
    before: [u8; 64],
    behind: [u8; 64],
}

impl Lanes {
    pub(super) fn new(gram: usize, stride: usize, pairs: bool) -> Lanes {
        assert!((1..=LONGEST_STRIDE).contains(&stride) && (1..=8).contains(&gram));
        assert!(!pairs || (LANES / 2 - 1) * stride + gram < 64);
        let of = |skip: usize| {
            std::array::from_fn(|byte| {
                let (lane, byte) = (byte / 4, byte % 4);
                let (vector, lane) = (lane / (LANES / 2), lane % (LANES / 2));
                (vector * 64 + lane * stride + skip + byte) as u8
            })
        };
        Lanes {
            first: of(pairs.into()),
            last: of(gram.saturating_sub(4)),
            before: of(0),
            behind: of(gram),
        }
    }
}

/// Adds the candidates among the probes at `begin`, `begin + stride`, ... below `end`, relative to `begin`.
pub(super) fn strided(
    _: Avx512,
    (table, lanes): (&BitTable, &Lanes),
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) {
    let count = (end - begin).div_ceil(table.stride);
    assert!(begin < end && end + table.grams.len - 1 <= hay.len() && out.len + count <= CAPACITY);
    // SAFETY: the token proves the features; the rest is checked above.
    unsafe {
        match (table.hashed.wide(), table.grams.fold != 0, table.pairs) {
            (false, false, false) => run::<false, false, false>(table, lanes, hay, begin, end, out),
            (false, true, false) => run::<false, true, false>(table, lanes, hay, begin, end, out),
            (true, false, false) => run::<true, false, false>(table, lanes, hay, begin, end, out),
            (true, true, false) => run::<true, true, false>(table, lanes, hay, begin, end, out),
            (false, false, true) => run::<false, false, true>(table, lanes, hay, begin, end, out),
            (false, true, true) => run::<false, true, true>(table, lanes, hay, begin, end, out),
            (true, false, true) => run::<true, false, true>(table, lanes, hay, begin, end, out),
            (true, true, true) => run::<true, true, true>(table, lanes, hay, begin, end, out),
        }
    }
}

/// # Safety
/// A gram fits behind each position below `end`, and all positions fit in `out`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run<const WIDE: bool, const FOLD: bool, const PAIRS: bool>(
    table: &BitTable,
    lanes: &Lanes,
    hay: &[u8],
    begin: usize,
    end: usize,
    out: &mut Candidates,
) {
    let stride = table.stride;
    // SAFETY: 64 bytes each.
    let load = |lanes: &[u8; 64]| unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
    let (first, last) = (load(&lanes.first), load(&lanes.last));
    let (before, behind) = (load(&lanes.before), load(&lanes.behind));
    let [multiplier, other] = table.hashed.split_multipliers();
    let (multiplier, other) =
        (_mm512_set1_epi32(multiplier as i32), _mm512_set1_epi32(other as i32));
    let fold = _mm512_set1_epi32(table.grams.fold as i32);
    let shift = _mm_cvtsi32_si128(32 - table.bits as i32);
    let (one, words) = (_mm512_set1_epi32(1), table.words.as_ptr());
    let half = LANES / 2 * stride;
    let test = |low, high| {
        let mut hashed = _mm512_permutex2var_epi8(low, first, high);
        if FOLD {
            hashed = _mm512_or_si512(hashed, fold);
        }
        let mut hash = _mm512_mullo_epi32(hashed, multiplier);
        if WIDE {
            let mut gram = _mm512_permutex2var_epi8(low, last, high);
            if FOLD {
                gram = _mm512_or_si512(gram, fold);
            }
            hash = _mm512_add_epi32(hash, _mm512_mullo_epi32(gram, other));
        }
        // SAFETY: the shift leaves as many bits as the table's length has.
        let word =
            unsafe { _mm512_i32gather_epi32::<4>(_mm512_srl_epi32(hash, shift), words.cast()) };
        let found = if PAIRS {
            let [before, behind] = [before, behind]
                .map(|lanes| _mm512_rorv_epi32(word, _mm512_permutex2var_epi8(low, lanes, high)));
            _mm512_or_si512(before, behind)
        } else {
            _mm512_rorv_epi32(word, hashed)
        };
        _mm512_test_epi32_mask(found, one)
    };
    let start = hay.as_ptr();
    // The position of each lane, relative to the first one's.
    let ascending = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    let positions = _mm512_mullo_epi32(ascending, _mm512_set1_epi32(stride as i32));
    let store = out.at.as_mut_ptr();
    // In a register: what is stored might be `out.len`, as far as the compiler knows.
    let mut len = out.len;
    let mut push = |at: usize, bits: __mmask16| {
        let all = _mm512_add_epi32(positions, _mm512_set1_epi32((at - begin) as i32));
        // SAFETY: all positions fit, so that `len` is below CAPACITY, and SLACK elements follow that.
        unsafe {
            _mm512_storeu_si512(store.add(len).cast(), _mm512_maskz_compress_epi32(bits, all));
        }
        len += bits.count_ones() as usize;
    };
    // The first position at which the second vector would read behind the haystack, or the last lane has no position.
    let full =
        (hay.len() + 1).saturating_sub(half + 64).min(end.saturating_sub((LANES - 1) * stride));
    let mut at = begin;
    while at < full {
        // SAFETY: `at + half + 64` is within the haystack.
        let (low, high) = unsafe {
            (
                _mm512_loadu_si512(start.add(at).cast()),
                _mm512_loadu_si512(start.add(at + half).cast()),
            )
        };
        push(at, test(low, high));
        at += LANES * stride;
    }
    while at < end {
        let load = |skip: usize| {
            let left = hay.len().saturating_sub(at + skip).min(64) as u32;
            let valid = if left == 0 { 0 } else { u64::MAX >> (64 - left) };
            // SAFETY: what is loaded is within the haystack.
            unsafe { _mm512_maskz_loadu_epi8(valid, start.wrapping_add(at + skip).cast()) }
        };
        let count = (end - at).div_ceil(stride).min(LANES) as u32;
        push(at, test(load(0), load(half)) & (u16::MAX >> (16 - count)));
        at += LANES * stride;
    }
    out.len = len;
}
