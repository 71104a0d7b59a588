//! Eight blocks side by side: vector `w` of sixteen holds word `w` of every block.
//!
//! ```text
//! v = input
//! 10 times: 4 quarter rounds on the columns, 4 on the diagonals     (RFC 8439, 2.1 and 2.3)
//! blocks = transpose(v + input);  dst = src ^ blocks
//! ```
//!
//! 1. A rotation by 16 or 8 moves whole bytes: one byte shuffle. By 12 or 7 it is two shifts and an
//!    or, there being no rotation before AVX-512. A double round is 128 instructions.
//! 2. Sixteen words and the two shuffle patterns are more than sixteen registers. The four quarter
//!    rounds of a round are therefore done in two pairs, so that four words at a time can lie in
//!    memory, and two independent chains hide the latency of each.
//! 3. The two transposes of eight by eight words are 24 instructions each.
//!
//! Shapes: any addresses. CPU: AVX2. Constant time: no branch and no address depends on more than
//! lengths. Tests: `tests/chacha20.rs`; bench: `benches/chacha20.rs`.

use std::arch::x86_64::*;

use lookaside_simd::Avx2;

use super::queue::{BLOCK, LANES, Place, Row, Rows};
use crate::poly1305::{State, step};
use crate::wipe::wipe;

/// Blocks side by side.
pub(super) const EIGHT: usize = 8;

/// Up to so many run as rows of two blocks, in less than half of the time.
const FEW: usize = 4;

/// The bytes of eight blocks.
pub(super) const CHUNK: usize = EIGHT * BLOCK;

type Words = [__m256i; 16];

/// One block of whoever's in each lane, eight at a time.
///
/// # Safety
/// As [`Queue::push`](super::queue::Queue::push) says of every place.
pub(super) unsafe fn mixed(_: Avx2, rows: &Rows, places: &[Place; LANES]) {
    for (rows, places) in rows.0.as_chunks::<EIGHT>().0.iter().zip(places.as_chunks().0) {
        // The places that are used come first.
        match places.iter().filter(|place| place.len > 0).count() {
            0 => {}
            // SAFETY: the token proves AVX2; the rest is the caller's.
            1..=FEW => unsafe { few_avx2(rows, places) },
            // SAFETY: as above.
            _ => unsafe { mixed_avx2(rows, places) },
        }
    }
}

/// Eight blocks of one text at a time, the first of which has the input `row`; the counter of `row`
/// moves on.
///
/// # Safety
/// `src` and `dst` are valid for `len` bytes, a multiple of eight blocks, and equal or apart.
pub(super) unsafe fn long(_: Avx2, row: &mut Row, src: *const u8, dst: *mut u8, len: usize) {
    for at in (0..len).step_by(CHUNK) {
        // SAFETY: the token proves AVX2; the rest is the caller's, `len` being a multiple of CHUNK.
        unsafe { chunk_avx2(row, src.add(at), dst.add(at), None) }
    }
}

/// Eight blocks of one text, as [`long`], while `mac` takes in [`CHUNK`] bytes at `data`.
///
/// # Safety
/// `src` and `dst` are valid for `CHUNK` bytes, and equal or apart. So are the bytes at `data`, which are
/// apart from `dst`, or `src`: they are read before the first is written.
pub(super) unsafe fn stitched(
    _: Avx2,
    row: &mut Row,
    src: *const u8,
    dst: *mut u8,
    mac: &mut State,
    data: *const u8,
) {
    // SAFETY: the token proves AVX2; the rest is the caller's.
    unsafe { chunk_avx2(row, src, dst, Some((mac, data))) }
}

#[target_feature(enable = "avx2")]
unsafe fn mixed_avx2(rows: &[Row; EIGHT], places: &[Place; EIGHT]) {
    let mut input = [_mm256_setzero_si256(); 16];
    for half in 0..2 {
        let mut words = [_mm256_setzero_si256(); EIGHT];
        for (words, row) in words.iter_mut().zip(rows) {
            // SAFETY: 32 bytes within a row.
            *words = unsafe { _mm256_loadu_si256(row[8 * half..].as_ptr().cast()) };
        }
        input[8 * half..8 * half + 8].copy_from_slice(&transpose(words));
    }
    let (mut v, rounds) = (input, Rounds::new());
    for _ in 0..DOUBLE_ROUNDS {
        rounds.double(&mut v);
    }
    for (v, input) in v.iter_mut().zip(input) {
        *v = _mm256_add_epi32(*v, input);
    }
    let blocks = blocks(v);
    for (i, place) in places.iter().enumerate() {
        // SAFETY: the caller's.
        unsafe { put(place, [blocks[0][i], blocks[1][i]]) };
    }
}

/// The first [`FEW`] blocks: a vector is a row of the state, of two blocks side by side, and two pairs
/// of blocks hide each other's latency.
///
/// # Safety
/// As [`mixed`]; the places from [`FEW`] on are empty.
#[target_feature(enable = "avx2")]
unsafe fn few_avx2(rows: &[Row; EIGHT], places: &[Place; EIGHT]) {
    let mut input = [[_mm256_setzero_si256(); 4]; 2];
    for (pair, rows) in input.iter_mut().zip(rows.as_chunks::<2>().0) {
        for half in 0..2 {
            // SAFETY: 32 bytes within a row each.
            let (a, b) = unsafe {
                (
                    _mm256_loadu_si256(rows[0][8 * half..].as_ptr().cast()),
                    _mm256_loadu_si256(rows[1][8 * half..].as_ptr().cast()),
                )
            };
            pair[2 * half] = _mm256_permute2x128_si256::<0x20>(a, b);
            pair[2 * half + 1] = _mm256_permute2x128_si256::<0x31>(a, b);
        }
    }
    let (mut v, rounds) = (input, Rounds::new());
    for _ in 0..DOUBLE_ROUNDS {
        rounds.round_of_rows(&mut v);
        for [_, b, c, d] in &mut v {
            *b = _mm256_shuffle_epi32::<0x39>(*b);
            *c = _mm256_shuffle_epi32::<0x4e>(*c);
            *d = _mm256_shuffle_epi32::<0x93>(*d);
        }
        rounds.round_of_rows(&mut v);
        for [_, b, c, d] in &mut v {
            *b = _mm256_shuffle_epi32::<0x93>(*b);
            *c = _mm256_shuffle_epi32::<0x4e>(*c);
            *d = _mm256_shuffle_epi32::<0x39>(*d);
        }
    }
    for ((v, input), places) in v.iter_mut().zip(&input).zip(places.as_chunks::<2>().0) {
        for (v, input) in v.iter_mut().zip(input) {
            *v = _mm256_add_epi32(*v, *input);
        }
        let [a, b, c, d] = *v;
        let (low, high) =
            (_mm256_permute2x128_si256::<0x20>(a, b), _mm256_permute2x128_si256::<0x20>(c, d));
        // SAFETY: the caller's.
        unsafe { put(&places[0], [low, high]) };
        let (low, high) =
            (_mm256_permute2x128_si256::<0x31>(a, b), _mm256_permute2x128_si256::<0x31>(c, d));
        // SAFETY: the caller's.
        unsafe { put(&places[1], [low, high]) };
    }
}

/// Combines a block with what lies at its place.
///
/// # Safety
/// The place is valid, or empty.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn put(place: &Place, block: [__m256i; 2]) {
    // SAFETY: the caller's.
    unsafe {
        if place.len == BLOCK {
            xor(place.src, place.dst, block);
        } else if place.len > 0 {
            let mut bytes = [0u8; BLOCK];
            std::ptr::copy_nonoverlapping(place.src, bytes.as_mut_ptr(), place.len);
            xor(bytes.as_ptr(), bytes.as_mut_ptr(), block);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), place.dst, place.len);
            wipe(&mut bytes);
        }
    }
}

/// Adds the input of eight blocks, the first of which has the input `row`.
#[inline]
#[target_feature(enable = "avx2")]
fn add_input(v: &mut Words, row: &Row) {
    for (v, word) in v.iter_mut().zip(row) {
        *v = _mm256_add_epi32(*v, _mm256_set1_epi32(*word as i32));
    }
    v[12] = _mm256_add_epi32(v[12], _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// # Safety
/// As [`long`] and [`stitched`].
#[target_feature(enable = "avx2,bmi2")]
unsafe fn chunk_avx2(
    row: &mut Row,
    src: *const u8,
    dst: *mut u8,
    mac: Option<(&mut State, *const u8)>,
) {
    let mut v = [_mm256_setzero_si256(); 16];
    add_input(&mut v, row);
    let rounds = Rounds::new();
    match mac {
        None => {
            for _ in 0..DOUBLE_ROUNDS {
                rounds.double(&mut v);
            }
        }
        Some((mac, data)) => {
            let (mut h, r) = mac.words();
            let mut data = data.cast::<[u8; 16]>();
            // A block after each pair of quarter rounds: further apart, the instructions that wait for
            // a product would fill the scheduler and keep the vectors' out.
            macro_rules! block {
                () => {
                    // SAFETY: the caller's: a chunk is 32 of these blocks.
                    unsafe {
                        h = step(h, r, &*data, 1);
                        data = data.add(1);
                    }
                };
            }
            for _ in 0..2 {
                rounds.quarters::<0>(&mut v);
                block!();
                rounds.quarters::<1>(&mut v);
                block!();
                rounds.quarters::<2>(&mut v);
                block!();
                rounds.quarters::<3>(&mut v);
                block!();
            }
            for _ in 2..DOUBLE_ROUNDS {
                rounds.quarters::<0>(&mut v);
                block!();
                rounds.quarters::<1>(&mut v);
                block!();
                rounds.quarters::<2>(&mut v);
                block!();
                rounds.quarters::<3>(&mut v);
            }
            mac.set_words(h);
        }
    }
    add_input(&mut v, row);
    let blocks = blocks(v);
    let [low, high] = blocks;
    for (i, low) in low.into_iter().enumerate() {
        let at = i * BLOCK;
        // SAFETY: the caller's, for eight blocks.
        unsafe { xor(src.add(at), dst.add(at), [low, high[i]]) };
    }
    row[12] = row[12].wrapping_add(EIGHT as u32);
}

/// # Safety
/// `src` and `dst` are valid for a block, and equal or apart.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn xor(src: *const u8, dst: *mut u8, block: [__m256i; 2]) {
    // SAFETY: the caller's.
    unsafe {
        let (low, high) = (_mm256_loadu_si256(src.cast()), _mm256_loadu_si256(src.add(32).cast()));
        _mm256_storeu_si256(dst.cast(), _mm256_xor_si256(low, block[0]));
        _mm256_storeu_si256(dst.add(32).cast(), _mm256_xor_si256(high, block[1]));
    }
}

/// RFC 8439, 2.3.
const DOUBLE_ROUNDS: usize = 10;

/// The shuffles that rotate words by 16 and by 8 bits.
#[derive(Clone, Copy)]
struct Rounds {
    by_16: __m256i,
    by_8: __m256i,
}

impl Rounds {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn new() -> Rounds {
        let by_16 = _mm_setr_epi8(2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13);
        let by_8 = _mm_setr_epi8(3, 0, 1, 2, 7, 4, 5, 6, 11, 8, 9, 10, 15, 12, 13, 14);
        // Opaque: the compiler would make two shuffles of halves out of the first.
        let by_16 = std::hint::black_box(_mm256_broadcastsi128_si256(by_16));
        Rounds { by_16, by_8: _mm256_broadcastsi128_si256(by_8) }
    }

    /// The four quarter rounds of a round, of two pairs of blocks by rows.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn round_of_rows(self, v: &mut [[__m256i; 4]; 2]) {
        for (left, right, by) in [(12, 20, self.by_16), (7, 25, self.by_8)] {
            let (left, right) = (_mm256_set1_epi32(left), _mm256_set1_epi32(right));
            for [a, b, c, d] in &mut *v {
                *a = _mm256_add_epi32(*a, *b);
                *d = _mm256_shuffle_epi8(_mm256_xor_si256(*d, *a), by);
                *c = _mm256_add_epi32(*c, *d);
                *b = _mm256_xor_si256(*b, *c);
                *b = _mm256_or_si256(_mm256_sllv_epi32(*b, left), _mm256_srlv_epi32(*b, right));
            }
        }
    }

    /// A double round.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn double(self, v: &mut Words) {
        self.quarters::<0>(v);
        self.quarters::<1>(v);
        self.quarters::<2>(v);
        self.quarters::<3>(v);
    }

    /// Two quarter rounds of a double round: pair 0 and 1 are the columns, 2 and 3 the diagonals.
    #[inline]
    #[target_feature(enable = "avx2")]
    fn quarters<const PAIR: usize>(self, v: &mut Words) {
        let Rounds { by_16, by_8 } = self;
        macro_rules! bits {
            ($v:expr, $left:literal, $right:literal) => {
                _mm256_or_si256(_mm256_slli_epi32::<$left>($v), _mm256_srli_epi32::<$right>($v))
            };
        }
        // Two quarter rounds step by step, so that neighbours in the code are independent.
        macro_rules! two {
            ($a:literal $b:literal $c:literal $d:literal, $e:literal $f:literal $g:literal $h:literal) => {
                v[$a] = _mm256_add_epi32(v[$a], v[$b]);
                v[$e] = _mm256_add_epi32(v[$e], v[$f]);
                v[$d] = _mm256_shuffle_epi8(_mm256_xor_si256(v[$d], v[$a]), by_16);
                v[$h] = _mm256_shuffle_epi8(_mm256_xor_si256(v[$h], v[$e]), by_16);
                v[$c] = _mm256_add_epi32(v[$c], v[$d]);
                v[$g] = _mm256_add_epi32(v[$g], v[$h]);
                v[$b] = _mm256_xor_si256(v[$b], v[$c]);
                v[$f] = _mm256_xor_si256(v[$f], v[$g]);
                v[$b] = bits!(v[$b], 12, 20);
                v[$f] = bits!(v[$f], 12, 20);
                v[$a] = _mm256_add_epi32(v[$a], v[$b]);
                v[$e] = _mm256_add_epi32(v[$e], v[$f]);
                v[$d] = _mm256_shuffle_epi8(_mm256_xor_si256(v[$d], v[$a]), by_8);
                v[$h] = _mm256_shuffle_epi8(_mm256_xor_si256(v[$h], v[$e]), by_8);
                v[$c] = _mm256_add_epi32(v[$c], v[$d]);
                v[$g] = _mm256_add_epi32(v[$g], v[$h]);
                v[$b] = _mm256_xor_si256(v[$b], v[$c]);
                v[$f] = _mm256_xor_si256(v[$f], v[$g]);
                v[$b] = bits!(v[$b], 7, 25);
                v[$f] = bits!(v[$f], 7, 25);
            };
        }
        match PAIR {
            0 => {
                two!(0 4 8 12, 1 5 9 13);
            }
            1 => {
                two!(2 6 10 14, 3 7 11 15);
            }
            2 => {
                two!(2 7 8 13, 3 4 9 14);
            }
            _ => {
                two!(0 5 10 15, 1 6 11 12);
            }
        }
    }
}

/// The low and the high halves of the blocks, from their words.
#[inline]
#[target_feature(enable = "avx2")]
fn blocks(v: Words) -> [[__m256i; EIGHT]; 2] {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = v;
    [transpose([a, b, c, d, e, f, g, h]), transpose([i, j, k, l, m, n, o, p])]
}

/// The transpose of a matrix of 8 by 8 words: 4 by 4 words within the halves of the vectors, then the
/// halves themselves.
#[inline]
#[target_feature(enable = "avx2")]
fn transpose(v: [__m256i; 8]) -> [__m256i; 8] {
    // quarters[4 * q + m], half l: words 4q to 4q + 3 of column 4l + m.
    let mut quarters = [_mm256_setzero_si256(); 8];
    for q in 0..2 {
        let (a, b, c, d) = (v[4 * q], v[4 * q + 1], v[4 * q + 2], v[4 * q + 3]);
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        quarters[4 * q] = _mm256_unpacklo_epi64(ab, cd);
        quarters[4 * q + 1] = _mm256_unpackhi_epi64(ab, cd);
        let (ab, cd) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        quarters[4 * q + 2] = _mm256_unpacklo_epi64(ab, cd);
        quarters[4 * q + 3] = _mm256_unpackhi_epi64(ab, cd);
    }
    let mut out = [_mm256_setzero_si256(); 8];
    for m in 0..4 {
        let (low, high) = (quarters[m], quarters[4 + m]);
        out[m] = _mm256_permute2x128_si256::<0x20>(low, high);
        out[4 + m] = _mm256_permute2x128_si256::<0x31>(low, high);
    }
    out
}
