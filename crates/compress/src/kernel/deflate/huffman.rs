//! Pass 3: code lengths and codes.
//!
//! Lengths are rounded logarithms: `floor(log2(total / count) + t)`, at least 1 and at most
//! `LIMIT`, with the least `t` (in 256ths) for which Kraft's sum stays within 1. What is left of
//! the sum then shortens the longest-lasting: DEFLATE wants complete codes.

use std::arch::x86_64::*;

use super::super::LOG2;
use super::PLACES;

/// Symbols that a vector holds.
pub(super) const LANES: usize = 32;
/// One bit, in what logarithms are counted in.
const UNIT: f32 = 256.0;
/// Every code fits with this threshold: four bits more than its logarithm.
const MOST: u32 = 1024;

/// The length of a code for each symbol that `counts` has, 0 for the others; at least two symbols
/// get one. At most `LIMIT` (12 at most); `N` vectors of [`LANES`] symbols.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,bmi1,bmi2,lzcnt,popcnt")]
pub(super) fn lengths<const N: usize, const LIMIT: u32>(
    counts: &[[u32; LANES]; N],
    lengths: &mut [[u16; LANES]; N],
) {
    let counts = counts.as_flattened();
    let used = counts.iter().filter(|&&count| count != 0).count();
    if used < 2 {
        // A lone symbol gets a partner.
        let only = counts.iter().position(|&count| count != 0).unwrap_or(0);
        *lengths = [[0; LANES]; N];
        lengths.as_flattened_mut()[only] = 1;
        lengths.as_flattened_mut()[usize::from(only == 0)] = 1;
        return;
    }
    let total: u32 = counts.iter().sum();
    let total = (total as f32).log2() * UNIT;
    let full = 1u32 << LIMIT;
    // SAFETY: all loads and stores are of whole vectors of these arrays.
    unsafe {
        let (vector_total, unit) = (_mm512_set1_ps(total), _mm512_set1_ps(UNIT));
        let [cubic, square, linear, constant] = LOG2.map(|factor| _mm512_set1_ps(factor));
        let mut logs = [_mm512_setzero_si512(); N];
        let mut present = [0u32; N];
        for at in 0..N {
            let half = |half: usize| {
                let counts = _mm512_loadu_si512(counts.as_ptr().add(LANES * at + 16 * half).cast());
                let count = _mm512_cvtepu32_ps(counts);
                let mantissa = _mm512_getmant_ps::<_MM_MANT_NORM_1_2, _MM_MANT_SIGN_SRC>(count);
                let log = _mm512_fmadd_ps(mantissa, cubic, square);
                let log = _mm512_fmadd_ps(log, mantissa, linear);
                let log = _mm512_fmadd_ps(log, mantissa, constant);
                let log = _mm512_add_ps(_mm512_getexp_ps(count), log);
                let log = _mm512_fnmadd_ps(log, unit, vector_total);
                let log = _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(log));
                (log, u32::from(_mm512_test_epi32_mask(counts, counts)))
            };
            let ((low, low_present), (high, high_present)) = (half(0), half(1));
            logs[at] = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high);
            present[at] = low_present | high_present << 16;
        }
        let (one, limit) = (_mm512_set1_epi16(1), _mm512_set1_epi16(LIMIT as i16));
        let whole = _mm512_set1_epi16(full as i16);
        let round = |threshold: u32, log: __m512i| {
            let log = _mm512_add_epi16(log, _mm512_set1_epi16(threshold as i16));
            let length = _mm512_srai_epi16::<8>(log);
            _mm512_max_epi16(_mm512_min_epi16(length, limit), one)
        };
        let kraft = |threshold: u32| {
            let mut sum = _mm512_setzero_si512();
            for (&log, &present) in logs.iter().zip(&present) {
                let share = _mm512_maskz_srlv_epi16(present, whole, round(threshold, log));
                sum = _mm512_add_epi16(sum, share);
            }
            _mm512_reduce_add_epi32(_mm512_madd_epi16(sum, one)).cast_unsigned()
        };
        let (mut low, mut high) = (0, MOST);
        while low < high {
            let middle = (low + high) / 2;
            if kraft(middle) <= full { high = middle } else { low = middle + 1 }
        }
        for (at, lengths) in lengths.iter_mut().enumerate() {
            let rounded = _mm512_maskz_mov_epi16(present[at], round(low, logs[at]));
            _mm512_storeu_si512(lengths.as_mut_ptr().cast(), rounded);
        }
        complete::<N, LIMIT>(counts, lengths, full - kraft(low));
    }
}

/// Shortens codes until nothing is left of Kraft's sum: always the one of the shortest length
/// that still fits, and among these the most frequent.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,lzcnt")]
fn complete<const N: usize, const LIMIT: u32>(
    counts: &[u32],
    lengths: &mut [[u16; LANES]; N],
    mut left: u32,
) {
    while left > 0 {
        // A code of `length` bits takes 2^(LIMIT - length); one bit less, twice that.
        let mut length = (LIMIT - left.ilog2()).max(2);
        let symbol = loop {
            let mut most = None;
            for (at, lengths) in lengths.iter().enumerate() {
                // SAFETY: a whole vector.
                let lengths = unsafe { _mm512_loadu_si512(lengths.as_ptr().cast()) };
                let wanted = _mm512_set1_epi16(length as i16);
                let mut found = _mm512_cmpeq_epi16_mask(lengths, wanted);
                while found != 0 {
                    let symbol = LANES * at + found.trailing_zeros() as usize;
                    found &= found - 1;
                    if most.is_none_or(|most: usize| counts[symbol] > counts[most]) {
                        most = Some(symbol);
                    }
                }
            }
            match most {
                Some(symbol) => break symbol,
                // There is one: what is left is a multiple of what the longest code takes.
                None => length += 1,
            }
        };
        lengths.as_flattened_mut()[symbol] -= 1;
        left -= 1 << (LIMIT - length);
    }
}

/// The canonical code (RFC 1951 section 3.2.2) of each symbol, first bit lowest, below its length
/// in the highest four bits.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi2,gfni,popcnt")]
pub(super) fn codes<const N: usize>(lengths: &[[u16; LANES]; N], codes: &mut [[u16; LANES]; N]) {
    // SAFETY: all loads and stores are of whole vectors of these arrays.
    unsafe {
        let order = _mm512_loadu_si512(PLACES.as_ptr().cast());
        let mut found = [_mm512_setzero_si512(); N];
        let lengths = lengths.each_ref().map(|part| _mm512_loadu_si512(part.as_ptr().cast()));
        let mut next = 0u32;
        for length in 1..=12 {
            next <<= 1;
            for (found, &lengths) in found.iter_mut().zip(&lengths) {
                let these = _mm512_cmpeq_epi16_mask(lengths, _mm512_set1_epi16(length));
                let code = _mm512_add_epi16(order, _mm512_set1_epi16(next as i16));
                *found = _mm512_or_si512(*found, _mm512_maskz_expand_epi16(these, code));
                next += these.count_ones();
            }
        }
        // A matrix that reverses the bits of bytes.
        let reverse = _mm512_set1_epi64(0x8040_2010_0804_0201_u64.cast_signed());
        for at in 0..N {
            let code = _mm512_gf2p8affine_epi64_epi8::<0>(found[at], reverse);
            let swapped =
                _mm512_or_si512(_mm512_slli_epi16::<8>(code), _mm512_srli_epi16::<8>(code));
            let rest = _mm512_sub_epi16(_mm512_set1_epi16(16), lengths[at]);
            let code = _mm512_srlv_epi16(swapped, rest);
            let code = _mm512_or_si512(code, _mm512_slli_epi16::<12>(lengths[at]));
            _mm512_storeu_si512(codes[at].as_mut_ptr().cast(), code);
        }
    }
}
