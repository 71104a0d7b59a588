//! Four lanes with the multiplier of 32 bits that AVX2 has: a lane is every fourth block of a message.
//!
//! Numbers are five limbs of 26 bits. With `m[0], m[1], ...` the groups of four blocks, lane by lane:
//!
//! ```text
//! h = value so far in the lane of block 0, plus m[0]
//! for four groups a, b, c, d:  h = h r^16 + a r^12 + b r^8 + c r^4 + d
//! for each group left:         h = h r^4 + m
//! value = lane 0 * r^4 + lane 1 * r^3 + lane 2 * r^2 + lane 3 * r
//! ```
//!
//! 1. Limb `i` of a factor times limb `j` of the other weighs `2^(26 (i + j))`; where that passes
//!    `2^130` it is 5 times limb `i + j - 5`. Five times a power's limbs are prepared.
//! 2. Limbs are below `2^27` after a reduction and a power's, five times, below `2^28.4`: the four
//!    products of a step are 20 terms below `2^56`, far from 64 bits. One reduction serves four groups.
//! 3. The last group's factor differs from lane to lane: it waits until it is known to be the last.
//!
//! Shapes: any addresses, whole groups of 64 bytes. CPU: AVX2. Constant time: no branch and no address
//! depends on more than lengths. Tests: `tests/chacha20.rs`; bench: `benches/chacha20.rs`.

use std::arch::x86_64::*;

use lookaside_simd::Avx2;

use super::BLOCK;
use super::scalar::{Limbs as Limbs44, State, multiply};

pub(super) use by_side::authenticate;

mod by_side;

/// Four blocks, one for each lane.
const GROUP: usize = 4 * BLOCK;

/// Groups with one reduction.
const STEP: usize = 4;

/// What [`absorb`] leaves to the caller, because its preparations would cost more.
const SHORT: usize = 512;

const MASK: u64 = (1 << 26) - 1;

/// The bit above a block: bit 128 is bit 24 of the highest limb.
const PAD: u64 = 1 << 24;

type Limbs = [__m256i; 5];

/// A factor, and 5 times its four higher limbs.
#[derive(Clone, Copy)]
struct Power {
    r: Limbs,
    r_5: [__m256i; 4],
}

/// Takes in as much of `data` as is worth while, whole blocks, and returns the rest.
pub(super) fn absorb<'a>(_: Avx2, state: &mut State, data: &'a [u8]) -> &'a [u8] {
    if data.len() < SHORT {
        return data;
    }
    let (now, rest) = data.split_at(data.len() / GROUP * GROUP);
    // SAFETY: the token proves the features.
    unsafe { absorb_avx2(state, now) };
    rest
}

/// The whole blocks of `data`, one at a time: [`State::blocks`] with the products of BMI2, which leave the
/// flags alone. Returns the rest.
pub(super) fn blocks<'a>(_: Avx2, state: &mut State, data: &'a [u8]) -> &'a [u8] {
    #[target_feature(enable = "bmi2")]
    fn blocks_bmi2<'a>(state: &mut State, data: &'a [u8]) -> &'a [u8] {
        state.blocks(data)
    }
    // SAFETY: the token proves BMI2, which is of its tier.
    unsafe { blocks_bmi2(state, data) }
}

#[target_feature(enable = "avx2")]
fn absorb_avx2(state: &mut State, data: &[u8]) {
    let r1 = state.r();
    let r2 = multiply(r1, r1);
    let (r3, r4) = (multiply(r2, r1), multiply(r2, r2));
    let by_4 = power(broadcast(r4));
    let first = in_26(state.h());
    let mut h = group(data, 0);
    for (h, limb) in h.iter_mut().zip(first) {
        *h = _mm256_add_epi64(*h, _mm256_setr_epi64x(limb as i64, 0, 0, 0));
    }
    let mut at = GROUP;
    if data.len() - at >= STEP * GROUP {
        let r8 = multiply(r4, r4);
        let (r12, r16) = (multiply(r8, r4), multiply(r8, r8));
        let (by_8, by_12, by_16) =
            (power(broadcast(r8)), power(broadcast(r12)), power(broadcast(r16)));
        while data.len() - at >= STEP * GROUP {
            let mut sum = group(data, at + 3 * GROUP);
            accumulate(&mut sum, &group(data, at), &by_12);
            accumulate(&mut sum, &group(data, at + GROUP), &by_8);
            accumulate(&mut sum, &group(data, at + 2 * GROUP), &by_4);
            accumulate(&mut sum, &h, &by_16);
            h = reduce(sum);
            at += STEP * GROUP;
        }
    }
    while at < data.len() {
        let mut sum = group(data, at);
        accumulate(&mut sum, &h, &by_4);
        h = reduce(sum);
        at += GROUP;
    }
    // The lanes are blocks 0 2 1 3 of each group.
    let (a, b, c, d) = (in_26(r4), in_26(r2), in_26(r3), in_26(r1));
    let mut last = [_mm256_setzero_si256(); 5];
    for (i, last) in last.iter_mut().enumerate() {
        *last = _mm256_setr_epi64x(a[i] as i64, b[i] as i64, c[i] as i64, d[i] as i64);
    }
    let mut sum = [_mm256_setzero_si256(); 5];
    accumulate(&mut sum, &h, &power(last));
    let mut total = [0; 5];
    for (total, limb) in total.iter_mut().zip(reduce(sum)) {
        let pairs =
            _mm_add_epi64(_mm256_castsi256_si128(limb), _mm256_extracti128_si256::<1>(limb));
        *total = (_mm_cvtsi128_si64(pairs) + _mm_extract_epi64::<1>(pairs)) as u64;
    }
    state.set_h(in_44(total));
}

/// Limbs of 26 bits.
#[inline(always)]
fn in_26([a, b, c]: Limbs44) -> [u64; 5] {
    // Limb 1 may be a little above 44 bits.
    let c = c + (b >> 44);
    let b = b & ((1 << 44) - 1);
    [a & MASK, (a >> 26 | b << 18) & MASK, b >> 8 & MASK, (b >> 34 | c << 10) & MASK, c >> 16]
}

/// Limbs of 44 bits, carried, from limbs below `2^32`.
#[inline(always)]
fn in_44([a, b, c, d, e]: [u64; 5]) -> Limbs44 {
    const MASK: u64 = (1 << 44) - 1;
    let low = a + (b << 26);
    let middle = (low >> 44) + (c << 8) + (d << 34 & MASK);
    let high = (middle >> 44) + (d >> 10) + (e << 16);
    multiply([low & MASK, middle & MASK, high], [1, 0, 0])
}

/// `sum + a b`.
#[inline]
#[target_feature(enable = "avx2")]
fn accumulate(sum: &mut Limbs, a: &Limbs, b: &Power) {
    let [r0, r1, r2, r3, r4] = b.r;
    let [s1, s2, s3, s4] = b.r_5;
    // By rows of the product: limb i of `a` meets the limbs of `b` that carry it to limb k. Written out,
    // because the compiler would not unroll loops as large as the caller's.
    macro_rules! row {
        ($i:literal: $($b:ident)*) => {
            row!(@ $i, 0 1 2 3 4, $($b)*);
        };
        (@ $i:literal, $($k:literal)*, $($b:ident)*) => {
            $( sum[$k] = _mm256_add_epi64(sum[$k], _mm256_mul_epu32(a[$i], $b)); )*
        };
    }
    row!(0: r0 r1 r2 r3 r4);
    row!(1: s4 r0 r1 r2 r3);
    row!(2: s3 s4 r0 r1 r2);
    row!(3: s2 s3 s4 r0 r1);
    row!(4: s1 s2 s3 s4 r0);
}

/// Limbs of 26 bits, the second and the fifth a little more, from sums below `2^62`.
///
/// Two chains of carries side by side: 0 to 1 to 2 to 3, and 3 to 4 to 0 to 1.
#[inline]
#[target_feature(enable = "avx2")]
fn reduce([a, b, c, d, e]: Limbs) -> Limbs {
    let mask = _mm256_set1_epi64x(MASK as i64);
    macro_rules! carry {
        ($from:ident, $to:ident) => {
            let ($from, $to) = (
                _mm256_and_si256($from, mask),
                _mm256_add_epi64($to, _mm256_srli_epi64::<26>($from)),
            );
        };
    }
    carry!(a, b);
    carry!(d, e);
    carry!(b, c);
    // 2^130 is 5: four times and once.
    let top = _mm256_srli_epi64::<26>(e);
    let e = _mm256_and_si256(e, mask);
    let a = _mm256_add_epi64(a, _mm256_add_epi64(top, _mm256_slli_epi64::<2>(top)));
    carry!(c, d);
    carry!(a, b);
    carry!(d, e);
    [a, b, c, d, e]
}

#[inline]
#[target_feature(enable = "avx2")]
fn power(r: Limbs) -> Power {
    let mut r_5 = [r[1], r[2], r[3], r[4]];
    for x in &mut r_5 {
        *x = _mm256_add_epi64(*x, _mm256_slli_epi64::<2>(*x));
    }
    Power { r, r_5 }
}

#[inline]
#[target_feature(enable = "avx2")]
fn broadcast(limbs: Limbs44) -> Limbs {
    let [a, b, c, d, e] = in_26(limbs);
    [
        _mm256_set1_epi64x(a as i64),
        _mm256_set1_epi64x(b as i64),
        _mm256_set1_epi64x(c as i64),
        _mm256_set1_epi64x(d as i64),
        _mm256_set1_epi64x(e as i64),
    ]
}

/// The limbs of the four blocks at `at`, in lanes of the order 0 2 1 3.
#[inline]
#[target_feature(enable = "avx2")]
fn group(data: &[u8], at: usize) -> Limbs {
    let group = data[at..at + GROUP].as_ptr();
    // SAFETY: two vectors within the group.
    let (a, b) = unsafe {
        (_mm256_loadu_si256(group.cast()), _mm256_loadu_si256(group.add(GROUP / 2).cast()))
    };
    let pad = _mm256_set1_epi64x(PAD as i64);
    split(_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b), pad)
}

/// The limbs of blocks given as their low and high halves.
#[inline]
#[target_feature(enable = "avx2")]
fn split(low: __m256i, high: __m256i, pad: __m256i) -> Limbs {
    let mask = _mm256_set1_epi64x(MASK as i64);
    let middle = _mm256_or_si256(_mm256_srli_epi64::<52>(low), _mm256_slli_epi64::<12>(high));
    [
        _mm256_and_si256(low, mask),
        _mm256_and_si256(_mm256_srli_epi64::<26>(low), mask),
        _mm256_and_si256(middle, mask),
        _mm256_and_si256(_mm256_srli_epi64::<14>(high), mask),
        _mm256_or_si256(_mm256_srli_epi64::<40>(high), pad),
    ]
}
