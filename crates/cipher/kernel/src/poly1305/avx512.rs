//! Eight lanes of 64 bits with the multiplier of AVX-512 IFMA: a lane is a message
//! ([`by_side`]), or every eighth block of one ([`absorb`]).
//!
//! Four blocks of a lane are taken in at once, with one reduction for all:
//! `h' = (h + m0) r^4 + m1 r^3 + m2 r^2 + m3 r`. A lane that has fewer than four left has them at the
//! end, zeros before them, and `h` added where its own begin; it then needs no other powers.

use std::arch::x86_64::*;

use super::scalar::{MASK_42, MASK_44, State, multiply};
use super::{Authenticated, BLOCK};
use lookaside_simd::Avx512;

/// Messages side by side.
pub(super) const LANES: usize = 8;

/// Blocks of a lane at once, and their bytes.
const STEP: usize = 4;
const STEP_BYTES: usize = STEP * BLOCK;

/// The bit above a block: bit 128 is bit 40 of the highest limb.
const PAD: u64 = 1 << 40;

/// What [`absorb`] leaves to the caller, because its preparations would cost more.
const SHORT: usize = 384;

type Limbs = [__m512i; 3];

/// A factor, and 20 times its two higher limbs, for products that pass `2^132`.
#[derive(Clone, Copy)]
struct Power {
    r: Limbs,
    r_20: [__m512i; 2],
}

/// A sum of products: their low 52 bits, and the bits above these.
struct Sum {
    low: Limbs,
    high: Limbs,
}

/// Computes the tags of one to eight messages.
pub(super) fn by_side(_: Avx512, items: &mut [Authenticated<'_>]) {
    // SAFETY: the token proves the features.
    unsafe { by_side_avx512(items) }
}

/// Takes in as much of `data` as is worth while, whole blocks, and returns the rest.
pub(super) fn absorb<'a>(_: Avx512, state: &mut State, data: &'a [u8]) -> &'a [u8] {
    if data.len() < SHORT {
        return data;
    }
    let (now, rest) = data.split_at(data.len() / GROUP * GROUP);
    // SAFETY: the token proves the features.
    unsafe { absorb_avx512(state, now) };
    rest
}

/// Bytes that a lane takes in: steps of four blocks, and a last step of less, or of four with what is
/// put behind the bytes.
#[derive(Clone, Copy)]
struct Part {
    data: *const u8,
    len: usize,
    /// Steps before the last.
    steps: usize,
    /// Blocks of the last step: they stand at its end.
    last_blocks: usize,
    end: End,
}

/// What is put behind the bytes.
#[derive(Clone, Copy)]
enum End {
    /// Zeros up to a whole block.
    Zeros,
    /// Zeros up to a whole block, and a block of these two numbers.
    Lengths(usize, usize),
    /// After an odd block one bit, which then has none above it.
    Bit,
}

impl Part {
    fn new(data: &[u8], end: End) -> Part {
        let (whole, odd) = (data.len() / BLOCK, usize::from(!data.len().is_multiple_of(BLOCK)));
        let (steps, last_blocks) = match end {
            End::Zeros => ((whole + odd) / STEP, (whole + odd) % STEP),
            End::Lengths(..) => ((whole + odd) / STEP, (whole + odd) % STEP + 1),
            // The bit needs the last step, which has the odd block.
            End::Bit => (whole / STEP, whole % STEP + odd),
        };
        Part { data: data.as_ptr(), len: data.len(), steps, last_blocks, end }
    }

    /// What an AEAD's message has after the additional data, or another's all.
    fn text(item: &Authenticated<'_>) -> Part {
        match item.aead {
            true => Part::new(item.text, End::Lengths(item.aad.len(), item.text.len())),
            false => Part::new(item.text, End::Bit),
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512vbmi2")]
unsafe fn by_side_avx512(items: &mut [Authenticated<'_>]) {
    // Lanes without a message do the first again.
    let item = |j: usize| if j < items.len() { j } else { 0 };
    let mut keys = [_mm512_setzero_si512(); LANES];
    for (j, key) in keys.iter_mut().enumerate() {
        // SAFETY: 32 bytes of a key.
        *key = unsafe { _mm512_maskz_loadu_epi64(0x0f, items[item(j)].key.as_ptr().cast()) };
    }
    // Columns 0 and 1: the halves of r, of which RFC 8439, 2.5, clears some bits.
    let columns = transpose(&keys);
    let low = _mm512_and_si512(columns[0], _mm512_set1_epi64(0x0fff_fffc_0fff_ffff));
    let high = _mm512_and_si512(columns[1], _mm512_set1_epi64(0x0fff_fffc_0fff_fffc));
    let r1 = power(split(low, high, _mm512_setzero_si512()));
    let r2 = power(product(&r1.r, &r1));
    let r3 = power(product(&r2.r, &r1));
    let r4 = power(product(&r2.r, &r2));
    let powers = [r4, r3, r2, r1];
    let mut h = [_mm512_setzero_si512(); 3];
    let mut parts = [Part::new(&[], End::Zeros); LANES];
    if items.iter().any(|item| !item.aad.is_empty()) {
        for (j, part) in parts.iter_mut().enumerate() {
            *part = Part::new(items[item(j)].aad, End::Zeros);
        }
        // SAFETY: the parts' bytes are borrowed.
        h = unsafe { take_in(h, &powers, &parts) };
    }
    for (j, part) in parts.iter_mut().enumerate() {
        *part = Part::text(&items[item(j)]);
    }
    // SAFETY: the parts' bytes are borrowed.
    h = unsafe { take_in(h, &powers, &parts) };
    for (item, tag) in items.iter_mut().zip(tags(&h, columns[2], columns[3])) {
        item.tag = tag;
    }
}

/// `h` of each lane fully reduced, plus `s`, given as its halves.
#[inline]
#[target_feature(enable = "avx512f")]
fn tags(h: &Limbs, s_low: __m512i, s_high: __m512i) -> [[u8; BLOCK]; LANES] {
    let mask_44 = _mm512_set1_epi64(MASK_44 as i64);
    let mask_42 = _mm512_set1_epi64(MASK_42 as i64);
    let [mut h0, mut h1, mut h2] = *h;
    for _ in 0..2 {
        h1 = _mm512_add_epi64(h1, _mm512_srli_epi64::<44>(h0));
        h2 = _mm512_add_epi64(h2, _mm512_srli_epi64::<44>(h1));
        let top = _mm512_srli_epi64::<42>(h2);
        let top_5 = _mm512_add_epi64(top, _mm512_slli_epi64::<2>(top));
        h0 = _mm512_add_epi64(_mm512_and_si512(h0, mask_44), top_5);
        h1 = _mm512_and_si512(h1, mask_44);
        h2 = _mm512_and_si512(h2, mask_42);
    }
    // Now below 2^130, but for 5 in the lowest limb at most; with 5 more, 2^130 is reached exactly
    // where the number is not below 2^130 - 5.
    let g0 = _mm512_add_epi64(h0, _mm512_set1_epi64(5));
    let g1 = _mm512_add_epi64(h1, _mm512_srli_epi64::<44>(g0));
    let g2 = _mm512_add_epi64(h2, _mm512_srli_epi64::<44>(g1));
    let take = _mm512_test_epi64_mask(g2, _mm512_set1_epi64(1 << 42));
    h1 = _mm512_add_epi64(h1, _mm512_srli_epi64::<44>(h0));
    h2 = _mm512_add_epi64(h2, _mm512_srli_epi64::<44>(h1));
    h0 = _mm512_and_si512(_mm512_mask_mov_epi64(h0, take, g0), mask_44);
    h1 = _mm512_and_si512(_mm512_mask_mov_epi64(h1, take, g1), mask_44);
    h2 = _mm512_and_si512(_mm512_mask_mov_epi64(h2, take, g2), mask_42);
    let low = _mm512_or_si512(h0, _mm512_slli_epi64::<44>(h1));
    let high = _mm512_or_si512(_mm512_srli_epi64::<20>(h1), _mm512_slli_epi64::<24>(h2));
    let low = _mm512_add_epi64(low, s_low);
    let carry = _mm512_cmplt_epu64_mask(low, s_low);
    let high = _mm512_add_epi64(high, s_high);
    let high = _mm512_mask_add_epi64(high, carry, high, _mm512_set1_epi64(1));
    // Lanes 0 2 4 6, then 1 3 5 7.
    let halves = [_mm512_unpacklo_epi64(low, high), _mm512_unpackhi_epi64(low, high)];
    let mut out = [[0; BLOCK]; LANES];
    for (odd, half) in halves.into_iter().enumerate() {
        let mut tags = [[0; BLOCK]; LANES / 2];
        // SAFETY: 64 bytes.
        unsafe { _mm512_storeu_si512(tags.as_mut_ptr().cast(), half) };
        for (i, tag) in tags.into_iter().enumerate() {
            out[2 * i + odd] = tag;
        }
    }
    out
}

/// The values after `parts`.
///
/// # Safety
/// Every part's bytes are valid.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512vbmi2")]
unsafe fn take_in(mut h: Limbs, powers: &[Power; STEP], parts: &[Part; LANES]) -> Limbs {
    let all = parts.iter().map(|part| (part.len / STEP_BYTES).min(part.steps)).min().unwrap_or(0);
    let steps = parts.iter().map(|part| part.steps).max().unwrap_or(0);
    let pad = _mm512_set1_epi64(PAD as i64);
    for step in 0..all {
        let mut rows = [_mm512_setzero_si512(); LANES];
        for (row, part) in rows.iter_mut().zip(parts) {
            // SAFETY: the caller's: the part has this step and all its bytes.
            *row = unsafe { _mm512_loadu_si512(part.data.add(step * STEP_BYTES).cast()) };
        }
        let blocks = blocks(&rows, &[pad; STEP]);
        h = reduce(&sum(&blocks, &h, powers));
    }
    for step in all..steps {
        let mut rows = [_mm512_setzero_si512(); LANES];
        let mut begin = 0;
        for (j, (row, part)) in rows.iter_mut().zip(parts).enumerate() {
            if step < part.steps {
                begin |= 1 << j;
                let at = step * STEP_BYTES;
                let mask = !0 >> (STEP_BYTES - (part.len - at).min(STEP_BYTES));
                // SAFETY: the caller's: the mask covers what is left of the part, of which a step
                // that counts has a byte at least.
                *row = unsafe { _mm512_maskz_loadu_epi8(mask, part.data.add(at).cast()) };
            }
        }
        let blocks = blocks(&rows, &[pad; STEP]);
        h = some(&blocks, &h, powers, [begin, 0, 0, 0]);
    }
    let mut rows = [_mm512_setzero_si512(); LANES];
    let (mut begin, mut without_pad) = ([0u8; STEP], 0u8);
    for (j, (row, part)) in rows.iter_mut().zip(parts).enumerate() {
        // Where the blocks begin in the step, and how many bytes they have.
        let from = STEP_BYTES - part.last_blocks * BLOCK;
        let len = part.len - part.len.min(part.steps * STEP_BYTES);
        if len > 0 {
            let mask = (!0 >> (STEP_BYTES - len)) << from;
            // SAFETY: the mask covers the part's last `len` bytes; what it does not cover is not read.
            *row = unsafe {
                _mm512_maskz_loadu_epi8(
                    mask,
                    part.data.add(part.len - len).wrapping_sub(from).cast(),
                )
            };
        }
        match part.end {
            End::Zeros => {}
            End::Lengths(a, b) => {
                let lengths = _mm_set_epi64x(b as i64, a as i64);
                *row = _mm512_inserti64x2::<3>(*row, lengths);
            }
            End::Bit if len % BLOCK > 0 => {
                *row = _mm512_mask_set1_epi8(*row, 1 << (from + len), 1);
                without_pad |= 1 << j;
            }
            End::Bit => {}
        }
        if part.last_blocks > 0 {
            begin[STEP - part.last_blocks] |= 1 << j;
        }
    }
    let mut pads = [pad; STEP];
    let mut busy = 0;
    for (i, (pads, begin)) in pads.iter_mut().zip(begin).enumerate() {
        busy |= begin;
        let mask = if i == STEP - 1 { busy & !without_pad } else { busy };
        *pads = _mm512_maskz_mov_epi64(mask, pad);
    }
    some(&blocks(&rows, &pads), &h, powers, begin)
}

/// A step in which lane `j` begins with block `i` if bit `j` of `begin[i]` is set, and keeps its
/// value if it begins nowhere.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn some(blocks: &[Limbs; STEP], h: &Limbs, powers: &[Power; STEP], begin: [u8; STEP]) -> Limbs {
    let mut blocks = *blocks;
    for (block, mask) in blocks.iter_mut().zip(begin) {
        for (limb, h) in block.iter_mut().zip(h) {
            *limb = _mm512_mask_add_epi64(*limb, mask, *limb, *h);
        }
    }
    let new = reduce(&sum(&blocks, &[_mm512_setzero_si512(); 3], powers));
    let busy = begin.iter().fold(0, |all, mask| all | mask);
    let mut out = *h;
    for (out, new) in out.iter_mut().zip(&new) {
        *out = _mm512_mask_mov_epi64(*out, busy, *new);
    }
    out
}

/// `(h + m0) p0 + m1 p1 + m2 p2 + m3 p3`, the term that waits for `h` last.
#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn sum(blocks: &[Limbs; STEP], h: &Limbs, powers: &[Power; STEP]) -> Sum {
    let zero = [_mm512_setzero_si512(); 3];
    let mut sum = Sum { low: zero, high: zero };
    for i in 1..STEP {
        accumulate(&mut sum, &blocks[i], &powers[i]);
    }
    accumulate(&mut sum, &add(&blocks[0], h), &powers[0]);
    sum
}

#[inline]
#[target_feature(enable = "avx512f")]
fn add(a: &Limbs, b: &Limbs) -> Limbs {
    [_mm512_add_epi64(a[0], b[0]), _mm512_add_epi64(a[1], b[1]), _mm512_add_epi64(a[2], b[2])]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn accumulate(sum: &mut Sum, a: &Limbs, b: &Power) {
    let [r0, r1, r2] = b.r;
    let [r1_20, r2_20] = b.r_20;
    // By rows of the product: limb i of `a` meets the limbs of `b` that carry it to limb k.
    for (a, b) in [(a[0], [r0, r1, r2]), (a[1], [r2_20, r0, r1]), (a[2], [r1_20, r2_20, r0])] {
        for ((low, high), b) in sum.low.iter_mut().zip(&mut sum.high).zip(b) {
            *low = _mm512_madd52lo_epu64(*low, a, b);
            *high = _mm512_madd52hi_epu64(*high, a, b);
        }
    }
}

/// Limbs of 44 bits and a little, 44 and 42.
///
/// The high half of limb `k` weighs `2^(44k + 52)`, which is `2^8` of limb `k + 1`; that of limb 2
/// comes back to limb 0 as 20 times `2^8`. With factors below `2^46` and `2^50` a low half is a sum of
/// 12 numbers below `2^52` and a high half of 12 below `2^44`, so nothing passes `2^62`.
#[inline]
#[target_feature(enable = "avx512f")]
fn reduce(sum: &Sum) -> Limbs {
    let (low, high) = (&sum.low, &sum.high);
    let mask_44 = _mm512_set1_epi64(MASK_44 as i64);
    let mask_42 = _mm512_set1_epi64(MASK_42 as i64);
    // 20 * 2^8 = 2^12 + 2^10.
    let back = _mm512_add_epi64(_mm512_slli_epi64::<12>(high[2]), _mm512_slli_epi64::<10>(high[2]));
    let d0 = _mm512_add_epi64(low[0], back);
    let d1 = _mm512_add_epi64(low[1], _mm512_slli_epi64::<8>(high[0]));
    let d2 = _mm512_add_epi64(low[2], _mm512_slli_epi64::<8>(high[1]));
    let d1 = _mm512_add_epi64(d1, _mm512_srli_epi64::<44>(d0));
    let d2 = _mm512_add_epi64(d2, _mm512_srli_epi64::<44>(d1));
    let top = _mm512_srli_epi64::<42>(d2);
    let top_5 = _mm512_add_epi64(top, _mm512_slli_epi64::<2>(top));
    [
        _mm512_add_epi64(_mm512_and_si512(d0, mask_44), top_5),
        _mm512_and_si512(d1, mask_44),
        _mm512_and_si512(d2, mask_42),
    ]
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn product(a: &Limbs, b: &Power) -> Limbs {
    let zero = [_mm512_setzero_si512(); 3];
    let mut sum = Sum { low: zero, high: zero };
    accumulate(&mut sum, a, b);
    reduce(&sum)
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn power(r: Limbs) -> Power {
    // A product and not shifts, which the compiler would make into a slower one of 64 bits.
    let (zero, twenty) = (_mm512_setzero_si512(), _mm512_set1_epi64(20));
    let r_20 =
        [_mm512_madd52lo_epu64(zero, r[1], twenty), _mm512_madd52lo_epu64(zero, r[2], twenty)];
    Power { r, r_20 }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(limbs: &[u64; 3]) -> Limbs {
    let [a, b, c] = limbs.map(|limb| limb as i64);
    [_mm512_set1_epi64(a), _mm512_set1_epi64(b), _mm512_set1_epi64(c)]
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(lanes: &[[u64; LANES]; 3]) -> Limbs {
    let mut out = [_mm512_setzero_si512(); 3];
    for (out, lanes) in out.iter_mut().zip(lanes) {
        // SAFETY: 64 bytes.
        *out = unsafe { _mm512_loadu_si512(lanes.as_ptr().cast()) };
    }
    out
}

/// The limbs of four blocks of each lane, from 64 bytes of each lane.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2")]
fn blocks(rows: &[__m512i; LANES], pads: &[__m512i; STEP]) -> [Limbs; STEP] {
    let columns = transpose(rows);
    let mut out = [[_mm512_setzero_si512(); 3]; STEP];
    for (i, (out, pad)) in out.iter_mut().zip(pads).enumerate() {
        *out = split(columns[2 * i], columns[2 * i + 1], *pad);
    }
    out
}

/// The limbs of blocks given as their low and high halves.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2")]
fn split(low: __m512i, high: __m512i, pad: __m512i) -> Limbs {
    let mask = _mm512_set1_epi64(MASK_44 as i64);
    [
        _mm512_and_si512(low, mask),
        _mm512_and_si512(_mm512_shrdi_epi64::<44>(low, high), mask),
        _mm512_or_si512(_mm512_srli_epi64::<24>(high), pad),
    ]
}

/// The transpose of a matrix of 8 by 8 words of 64 bits.
#[inline]
#[target_feature(enable = "avx512f")]
fn transpose(rows: &[__m512i; LANES]) -> [__m512i; 8] {
    let mut out = [_mm512_setzero_si512(); 8];
    for odd in 0..2 {
        let mut pairs = [_mm512_setzero_si512(); 4];
        for (i, pair) in pairs.iter_mut().enumerate() {
            let (a, b) = (rows[2 * i], rows[2 * i + 1]);
            *pair = match odd {
                0 => _mm512_unpacklo_epi64(a, b),
                _ => _mm512_unpackhi_epi64(a, b),
            };
        }
        // Quarter l of pair i: column 2l + odd of rows 2i and 2i + 1. 0x88 picks the even quarters,
        // 0xdd the odd ones.
        let [a, b, c, d] = pairs;
        let (ab, cd) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0x88>(c, d));
        out[odd] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
        out[4 + odd] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
        let (ab, cd) = (_mm512_shuffle_i64x2::<0xdd>(a, b), _mm512_shuffle_i64x2::<0xdd>(c, d));
        out[2 + odd] = _mm512_shuffle_i64x2::<0x88>(ab, cd);
        out[6 + odd] = _mm512_shuffle_i64x2::<0xdd>(ab, cd);
    }
    out
}

/// Eight blocks, one for each lane.
const GROUP: usize = LANES * BLOCK;

/// The limbs of the eight blocks at `at`, in lanes of the order 0 4 1 5 2 6 3 7.
#[inline]
#[target_feature(enable = "avx512f,avx512vbmi2")]
fn group(data: &[u8], at: usize) -> Limbs {
    let group = data[at..at + GROUP].as_ptr();
    // SAFETY: two vectors within the group.
    let (a, b) = unsafe {
        (_mm512_loadu_si512(group.cast()), _mm512_loadu_si512(group.add(GROUP / 2).cast()))
    };
    let pad = _mm512_set1_epi64(PAD as i64);
    split(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b), pad)
}

/// Takes in whole groups of eight blocks: block `8i + j` in lane `j`, the steps by `r^8`, and at the
/// end lane `j` by `r^(8 - j)`.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512ifma,avx512vbmi2")]
fn absorb_avx512(state: &mut State, data: &[u8]) {
    // r^1 to r^8 and r^16 to r^32; depth matters more than number.
    let r1 = state.r();
    let r2 = multiply(r1, r1);
    let (r3, r4) = (multiply(r2, r1), multiply(r2, r2));
    let (r5, r6) = (multiply(r4, r1), multiply(r4, r2));
    let (r7, r8) = (multiply(r4, r3), multiply(r4, r4));
    let by_8 = power(broadcast(&r8));
    let h = load(&state.h().map(|limb| [limb, 0, 0, 0, 0, 0, 0, 0]));
    // The newest group waits for its factor, which the next step brings: the last has others. Lane 0
    // of the first group is where the value so far is added.
    let mut h = add(&h, &group(data, 0));
    let mut at = GROUP;
    if data.len() - at >= STEP * GROUP {
        let r16 = multiply(r8, r8);
        let (r24, r32) = (multiply(r16, r8), multiply(r16, r16));
        let by_16 = power(broadcast(&r16));
        let (by_24, by_32) = (power(broadcast(&r24)), power(broadcast(&r32)));
        while data.len() - at >= STEP * GROUP {
            // h r^32 + m0 r^24 + m1 r^16 + m2 r^8 + m3.
            let mut sum =
                Sum { low: group(data, at + 3 * GROUP), high: [_mm512_setzero_si512(); 3] };
            accumulate(&mut sum, &group(data, at), &by_24);
            accumulate(&mut sum, &group(data, at + GROUP), &by_16);
            accumulate(&mut sum, &group(data, at + 2 * GROUP), &by_8);
            accumulate(&mut sum, &h, &by_32);
            h = reduce(&sum);
            at += STEP * GROUP;
        }
    }
    while at < data.len() {
        h = add(&product(&h, &by_8), &group(data, at));
        at += GROUP;
    }
    // The lanes are blocks 0 4 1 5 2 6 3 7 of each group.
    let order = [&r8, &r4, &r7, &r3, &r6, &r2, &r5, &r1];
    let last = power(load(&[0, 1, 2].map(|i| order.map(|power| power[i]))));
    let limbs = product(&h, &last);
    // Sums of eight limbs, carried by a product with 1.
    let mut total = [0; 3];
    for (total, limb) in total.iter_mut().zip(limbs) {
        *total = _mm512_reduce_add_epi64(limb) as u64;
    }
    state.set_h(multiply(total, [1, 0, 0]));
}
