//! Sixteen blocks side by side: vector `w` of sixteen holds word `w` of every block.
//!
//! A quarter round is four additions, four exclusive ors and four rotations, and the four of a round
//! do not depend on each other, so the two ports that 512-bit arithmetic has are kept busy: 960
//! instructions for 1,024 bytes, 64 more to turn words into blocks, and 64 to turn inputs into words
//! where the blocks are of several packets.

use std::arch::x86_64::*;

use lookaside_simd::Avx512Bw;

use super::queue::{BLOCK, LANES, Place, Row, Rows};

type Words = [__m512i; 16];

/// One block of whoever's in each lane.
///
/// # Safety
/// As [`Queue::push`](super::queue::Queue::push) says of every place.
pub(super) unsafe fn mixed(_: Avx512Bw, rows: &Rows, places: &[Place; LANES]) {
    // SAFETY: the token proves the features; the rest is the caller's.
    unsafe { mixed_avx512(rows, places) }
}

/// Sixteen blocks of one text at a time, the first of which has the input `row`.
///
/// # Safety
/// `src` and `dst` are valid for `len` bytes, a multiple of sixteen blocks, and equal or apart.
pub(super) unsafe fn long(_: Avx512Bw, row: &Row, src: *const u8, dst: *mut u8, len: usize) {
    // SAFETY: the token proves the features; the rest is the caller's.
    unsafe { long_avx512(row, src, dst, len) }
}

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn mixed_avx512(rows: &Rows, places: &[Place; LANES]) {
    let mut input = [_mm512_setzero_si512(); 16];
    for (input, row) in input.iter_mut().zip(&rows.0) {
        // SAFETY: a row is 64 bytes, aligned to 64.
        *input = unsafe { _mm512_load_si512(row.as_ptr().cast()) };
    }
    let blocks = transpose(&rounds(&transpose(&input)));
    for (block, place) in blocks.iter().zip(places) {
        // Not with an empty mask: that is slow where the pointer is to nothing.
        if place.len == 0 {
            continue;
        }
        let mask = !0 >> (BLOCK - place.len);
        // SAFETY: the caller's: the mask covers `place.len` bytes.
        unsafe {
            let text = _mm512_maskz_loadu_epi8(mask, place.src.cast());
            _mm512_mask_storeu_epi8(place.dst.cast(), mask, _mm512_xor_si512(text, *block));
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw")]
unsafe fn long_avx512(row: &Row, src: *const u8, dst: *mut u8, len: usize) {
    let mut input = [_mm512_setzero_si512(); 16];
    for (input, word) in input.iter_mut().zip(row) {
        *input = _mm512_set1_epi32(*word as i32);
    }
    let numbers = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    input[12] = _mm512_add_epi32(input[12], numbers);
    for at in (0..len).step_by(LANES * BLOCK) {
        let blocks = transpose(&rounds(&input));
        for (i, block) in blocks.iter().enumerate() {
            // SAFETY: `len` is a multiple of sixteen blocks.
            unsafe {
                let text = _mm512_loadu_si512(src.add(at + i * BLOCK).cast());
                let text = _mm512_xor_si512(text, *block);
                _mm512_storeu_si512(dst.add(at + i * BLOCK).cast(), text);
            }
        }
        input[12] = _mm512_add_epi32(input[12], _mm512_set1_epi32(LANES as i32));
    }
}

/// Ten double rounds, and the input added (RFC 8439, 2.3).
#[inline]
#[target_feature(enable = "avx512f")]
fn rounds(input: &Words) -> Words {
    let mut v = *input;
    // The four quarter rounds of a round step by step, so that neighbours in the code are
    // independent.
    macro_rules! step {
        ($rotation:literal: $($a:literal += $b:literal, $d:literal;)*) => {
            $( v[$a] = _mm512_add_epi32(v[$a], v[$b]); )*
            $( v[$d] = _mm512_xor_si512(v[$d], v[$a]); )*
            $( v[$d] = _mm512_rol_epi32::<$rotation>(v[$d]); )*
        };
    }
    for _ in 0..10 {
        step!(16: 0 += 4, 12; 1 += 5, 13; 2 += 6, 14; 3 += 7, 15;);
        step!(12: 8 += 12, 4; 9 += 13, 5; 10 += 14, 6; 11 += 15, 7;);
        step!(8: 0 += 4, 12; 1 += 5, 13; 2 += 6, 14; 3 += 7, 15;);
        step!(7: 8 += 12, 4; 9 += 13, 5; 10 += 14, 6; 11 += 15, 7;);
        step!(16: 0 += 5, 15; 1 += 6, 12; 2 += 7, 13; 3 += 4, 14;);
        step!(12: 10 += 15, 5; 11 += 12, 6; 8 += 13, 7; 9 += 14, 4;);
        step!(8: 0 += 5, 15; 1 += 6, 12; 2 += 7, 13; 3 += 4, 14;);
        step!(7: 10 += 15, 5; 11 += 12, 6; 8 += 13, 7; 9 += 14, 4;);
    }
    for (v, input) in v.iter_mut().zip(input) {
        *v = _mm512_add_epi32(*v, *input);
    }
    v
}

/// The transpose of a matrix of 16 by 16 words: 4 by 4 words within the quarters of the vectors, then
/// the quarters themselves.
#[inline]
#[target_feature(enable = "avx512f")]
pub(crate) fn transpose(v: &Words) -> Words {
    // quarters[4 * m + q], quarter l: words 4q to 4q + 3 of column 4l + m.
    let mut quarters = [_mm512_setzero_si512(); 16];
    for q in 0..4 {
        let (a, b, c, d) = (v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
        let (ab, cd) = (_mm512_unpacklo_epi32(a, b), _mm512_unpacklo_epi32(c, d));
        quarters[q] = _mm512_unpacklo_epi64(ab, cd);
        quarters[4 + q] = _mm512_unpackhi_epi64(ab, cd);
        let (ab, cd) = (_mm512_unpackhi_epi32(a, b), _mm512_unpackhi_epi32(c, d));
        quarters[8 + q] = _mm512_unpacklo_epi64(ab, cd);
        quarters[12 + q] = _mm512_unpackhi_epi64(ab, cd);
    }
    let mut out = [_mm512_setzero_si512(); 16];
    for m in 0..4 {
        let (a, b) = (quarters[4 * m], quarters[4 * m + 1]);
        let (c, d) = (quarters[4 * m + 2], quarters[4 * m + 3]);
        // 0x88: the even quarters of both; 0xdd: the odd ones.
        let (ab, cd) = (_mm512_shuffle_i32x4::<0x88>(a, b), _mm512_shuffle_i32x4::<0x88>(c, d));
        out[m] = _mm512_shuffle_i32x4::<0x88>(ab, cd);
        out[8 + m] = _mm512_shuffle_i32x4::<0xdd>(ab, cd);
        let (ab, cd) = (_mm512_shuffle_i32x4::<0xdd>(a, b), _mm512_shuffle_i32x4::<0xdd>(c, d));
        out[4 + m] = _mm512_shuffle_i32x4::<0x88>(ab, cd);
        out[12 + m] = _mm512_shuffle_i32x4::<0xdd>(ab, cd);
    }
    out
}
