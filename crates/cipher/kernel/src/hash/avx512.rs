//! [`Lanes`] of AVX-512: sixteen words of 32 bits, eight of 64. Rotations and functions of three
//! operands are one instruction each.
#![allow(clippy::undocumented_unsafe_blocks)] // `proved!` holds their one reason

use std::arch::x86_64::*;

use lookaside_simd::Avx512Bw;

use super::lanes::{Lanes, Room};

/// Sixteen lanes of 32 bits.
#[derive(Clone, Copy)]
pub(super) struct Words32(__m512i);

/// Eight lanes of 64 bits.
#[derive(Clone, Copy)]
pub(super) struct Words64(__m512i);

/// Runs intrinsics: a token, or a vector that was made with one, is at hand.
macro_rules! proved {
    ($($code:tt)*) => {
        // SAFETY: the token, or a vector that was made with one, proves the tier.
        unsafe { $($code)* }
    };
}

/// The immediate of VPTERNLOG: bit `4 a + 2 b + c` is the function's value.
macro_rules! ternary {
    ($name:ident, $a:ident, $b:ident, $c:ident, $table:literal) => {
        #[inline(always)]
        fn $name($a: Self, $b: Self, $c: Self) -> Self {
            proved!(Self(_mm512_ternarylogic_epi32::<$table>($a.0, $b.0, $c.0)))
        }
    };
}

/// What both widths share.
macro_rules! bits {
    () => {
        ternary!(xor3, a, b, c, 0x96);
        ternary!(select, mask, one, zero, 0xca);
        ternary!(majority, a, b, c, 0xe8);
        // a ^ (b | !c): of (b, c) = 00, 01, 10, 11 the bracket is 1, 0, 1, 1.
        ternary!(xor_or_not, a, b, c, 0x2d);
        // a ^ (!b & c): the bracket is 0, 1, 0, 0.
        ternary!(xor_not_and, a, b, c, 0xd2);

        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            proved!(Self(_mm512_xor_si512(self.0, other.0)))
        }
        #[inline(always)]
        fn little_endian(self) -> Self {
            self
        }
        #[inline(always)]
        fn settled(self) -> Self {
            proved!(Self(settled(self.0)))
        }
    };
}

impl Lanes<16> for Words32 {
    type Word = u32;
    type Token = Avx512Bw;

    #[inline(always)]
    fn splat(_: Avx512Bw, word: u32) -> Self {
        proved!(Self(_mm512_set1_epi32(word.cast_signed())))
    }

    /// Row `i` holds lane `i` in its lower half and lane `i + 8` in its upper one; then each half is
    /// transposed for itself.
    #[inline(always)]
    unsafe fn load8(token: Avx512Bw, from: &[*const u8; 16], at: usize, words: usize) -> [Self; 8] {
        if matches!(words, 4 | 5) {
            // SAFETY: the caller's.
            return unsafe { load_few(token, from, at, words) };
        }
        let mut rows = [Self::splat(token, 0); 8];
        for i in 0..8 {
            // SAFETY: by the caller, `words` words can be read; the mask leaves the others alone.
            rows[i] = unsafe {
                let low = half(from[i].add(at), words);
                let high = half(from[i + 8].add(at), words);
                Self(_mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high))
            };
        }
        transpose32(rows)
    }

    #[inline(always)]
    unsafe fn copy_ahead(room: &mut Room, from: &[*const u8; 16], at: usize, lane: usize) {
        let to = room.as_mut_ptr().wrapping_add(lane % 4 * 64 + lane / 4 * 16);
        for quarter in 0..4 {
            // SAFETY: by the caller, 64 bytes can be read; the room has 256 for each quarter.
            unsafe {
                let words = _mm_loadu_si128(from[lane].add(at + 16 * quarter).cast());
                _mm_store_si128(to.add(256 * quarter).cast(), words);
            }
        }
    }

    /// Within each quarter, a vector's 128-bit elements are transposed for themselves.
    #[inline(always)]
    unsafe fn ahead(token: Avx512Bw, room: &Room, _: &[*const u8; 16], _: usize) -> [Self; 16] {
        let mut words = [Self::splat(token, 0); 16];
        for quarter in 0..4 {
            let mut r = [words[0]; 4];
            for (i, row) in r.iter_mut().enumerate() {
                // SAFETY: the room has 1024 bytes, and the caller has filled it.
                let loaded =
                    unsafe { _mm512_load_si512(room.as_ptr().add(256 * quarter + 64 * i).cast()) };
                *row = Self(loaded).big_endian();
            }
            for (i, word) in transpose4(r).into_iter().enumerate() {
                words[4 * quarter + i] = word;
            }
        }
        words
    }

    #[inline(always)]
    unsafe fn store8(to: &[*mut u8; 16], at: usize, words: usize, vectors: [Self; 8]) {
        if matches!(words, 4 | 5) {
            // SAFETY: the caller's.
            return unsafe { store_few(to, at, words, vectors) };
        }
        let rows = transpose32(vectors);
        let mask = mask(words);
        for i in 0..8 {
            // SAFETY: by the caller, `words` words can be written; the mask leaves the others alone.
            unsafe {
                let low = _mm512_castsi512_si256(rows[i].0);
                let high = _mm512_extracti64x4_epi64::<1>(rows[i].0);
                _mm256_mask_storeu_epi32(to[i].add(at).cast(), mask, low);
                _mm256_mask_storeu_epi32(to[i + 8].add(at).cast(), mask, high);
            }
        }
    }

    #[inline(always)]
    fn big_endian(self) -> Self {
        proved!({
            let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
            Self(_mm512_shuffle_epi8(self.0, _mm512_broadcast_i32x4(order)))
        })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        proved!(Self(_mm512_add_epi32(self.0, other.0)))
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        proved!(Self(_mm512_rolv_epi32(self.0, _mm512_set1_epi32(bits.cast_signed()))))
    }
    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        proved!(Self(_mm512_srlv_epi32(self.0, _mm512_set1_epi32(bits.cast_signed()))))
    }

    bits!();
}

impl Lanes<8> for Words64 {
    type Word = u64;
    type Token = Avx512Bw;

    #[inline(always)]
    fn splat(_: Avx512Bw, word: u64) -> Self {
        proved!(Self(_mm512_set1_epi64(word.cast_signed())))
    }

    #[inline(always)]
    unsafe fn load8(token: Avx512Bw, from: &[*const u8; 8], at: usize, words: usize) -> [Self; 8] {
        let mut rows = [Self::splat(token, 0); 8];
        let mask = mask(words);
        for i in 0..8 {
            // SAFETY: by the caller, `words` words can be read; the mask leaves the others alone.
            rows[i] = unsafe { Self(_mm512_maskz_loadu_epi64(mask, from[i].add(at).cast())) };
        }
        transpose64(rows)
    }

    #[inline(always)]
    unsafe fn store8(to: &[*mut u8; 8], at: usize, words: usize, vectors: [Self; 8]) {
        let rows = transpose64(vectors);
        let mask = mask(words);
        for i in 0..8 {
            // SAFETY: by the caller, `words` words can be written; the mask leaves the others alone.
            unsafe { _mm512_mask_storeu_epi64(to[i].add(at).cast(), mask, rows[i].0) };
        }
    }

    #[inline(always)]
    fn big_endian(self) -> Self {
        proved!({
            let order = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
            Self(_mm512_shuffle_epi8(self.0, _mm512_broadcast_i32x4(order)))
        })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        proved!(Self(_mm512_add_epi64(self.0, other.0)))
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        proved!(Self(_mm512_rolv_epi64(self.0, _mm512_set1_epi64(i64::from(bits)))))
    }
    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        proved!(Self(_mm512_srlv_epi64(self.0, _mm512_set1_epi64(i64::from(bits)))))
    }

    bits!();
}

/// [`Lanes::settled`].
#[inline]
#[target_feature(enable = "avx512f")]
fn settled(mut vector: __m512i) -> __m512i {
    // SAFETY: the text is a comment.
    unsafe {
        core::arch::asm!(
            "/* {} */",
            inlateout(zmm_reg) vector,
            options(pure, nomem, nostack, preserves_flags),
        );
    }
    vector
}

/// The lowest `words` of eight.
#[inline(always)]
fn mask(words: usize) -> __mmask8 {
    if words >= 8 { !0 } else { (1 << words) - 1 }
}

/// # Safety
/// The tier, and that `words` words can be read.
#[inline(always)]
unsafe fn half(from: *const u8, words: usize) -> __m256i {
    // SAFETY: the caller's; the mask leaves the other words alone.
    unsafe { _mm256_maskz_loadu_epi32(mask(words), from.cast()) }
}

/// Transposes four rows of four 32-bit words, in every quarter; it is its own inverse.
#[inline(always)]
fn transpose4(r: [Words32; 4]) -> [Words32; 4] {
    proved!({
        let t = [
            _mm512_unpacklo_epi32(r[0].0, r[1].0),
            _mm512_unpackhi_epi32(r[0].0, r[1].0),
            _mm512_unpacklo_epi32(r[2].0, r[3].0),
            _mm512_unpackhi_epi32(r[2].0, r[3].0),
        ];
        [
            Words32(_mm512_unpacklo_epi64(t[0], t[2])),
            Words32(_mm512_unpackhi_epi64(t[0], t[2])),
            Words32(_mm512_unpacklo_epi64(t[1], t[3])),
            Words32(_mm512_unpackhi_epi64(t[1], t[3])),
        ]
    })
}

/// The first four words, and the fifth if there is one: states of five words are usually written, and
/// read again, as 16 bytes and 4. Another load than such would wait until they are in the cache.
///
/// # Safety
/// `words`, 4 or 5, can be read.
#[inline(always)]
unsafe fn load_few(
    token: Avx512Bw,
    from: &[*const u8; 16],
    at: usize,
    words: usize,
) -> [Words32; 8] {
    let mut rows = [Words32::splat(token, 0); 4];
    let mut fifth = rows[0];
    // SAFETY: the caller's; the token proves the tier.
    unsafe {
        let four = |lane: usize| _mm_loadu_si128(from[lane].add(at).cast());
        let word = |lane: usize| from[lane].add(at + 16).cast::<i32>().read_unaligned();
        for (i, row) in rows.iter_mut().enumerate() {
            let low = _mm512_castsi128_si512(four(i));
            let low = _mm512_inserti32x4::<1>(low, four(i + 4));
            let low = _mm512_inserti32x4::<2>(low, four(i + 8));
            *row = Words32(_mm512_inserti32x4::<3>(low, four(i + 12)));
        }
        if words > 4 {
            fifth = Words32(_mm512_set_epi32(
                word(15),
                word(14),
                word(13),
                word(12),
                word(11),
                word(10),
                word(9),
                word(8),
                word(7),
                word(6),
                word(5),
                word(4),
                word(3),
                word(2),
                word(1),
                word(0),
            ));
        }
    }
    let [a, b, c, d] = transpose4(rows);
    let zero = Words32::splat(token, 0);
    [a, b, c, d, fifth, zero, zero, zero]
}

/// The way back of [`load_few`].
///
/// # Safety
/// `words`, 4 or 5, can be written.
#[inline(always)]
unsafe fn store_few(to: &[*mut u8; 16], at: usize, words: usize, v: [Words32; 8]) {
    let rows = transpose4([v[0], v[1], v[2], v[3]]);
    // SAFETY: the caller's; the vectors prove the tier.
    unsafe {
        for (i, row) in rows.into_iter().enumerate() {
            let store = |lane: usize, four| _mm_storeu_si128(to[lane].add(at).cast(), four);
            store(i, _mm512_castsi512_si128(row.0));
            store(i + 4, _mm512_extracti32x4_epi32::<1>(row.0));
            store(i + 8, _mm512_extracti32x4_epi32::<2>(row.0));
            store(i + 12, _mm512_extracti32x4_epi32::<3>(row.0));
        }
        if words > 4 {
            let fifth: [i32; 16] = std::mem::transmute(v[4].0);
            for (lane, word) in fifth.into_iter().enumerate() {
                to[lane].add(at + 16).cast::<i32>().write_unaligned(word);
            }
        }
    }
}

/// Transposes eight rows of eight 32-bit words, in both halves; it is its own inverse.
#[inline(always)]
fn transpose32(r: [Words32; 8]) -> [Words32; 8] {
    proved!({
        let t = [
            _mm512_unpacklo_epi32(r[0].0, r[1].0),
            _mm512_unpackhi_epi32(r[0].0, r[1].0),
            _mm512_unpacklo_epi32(r[2].0, r[3].0),
            _mm512_unpackhi_epi32(r[2].0, r[3].0),
            _mm512_unpacklo_epi32(r[4].0, r[5].0),
            _mm512_unpackhi_epi32(r[4].0, r[5].0),
            _mm512_unpacklo_epi32(r[6].0, r[7].0),
            _mm512_unpackhi_epi32(r[6].0, r[7].0),
        ];
        // u[i], i < 4: words i and i + 4 of rows 0 to 3; u[i + 4]: those of rows 4 to 7.
        let u = [
            _mm512_unpacklo_epi64(t[0], t[2]),
            _mm512_unpackhi_epi64(t[0], t[2]),
            _mm512_unpacklo_epi64(t[1], t[3]),
            _mm512_unpackhi_epi64(t[1], t[3]),
            _mm512_unpacklo_epi64(t[4], t[6]),
            _mm512_unpackhi_epi64(t[4], t[6]),
            _mm512_unpacklo_epi64(t[5], t[7]),
            _mm512_unpackhi_epi64(t[5], t[7]),
        ];
        let lower = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0);
        let upper = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
        [
            Words32(_mm512_permutex2var_epi64(u[0], lower, u[4])),
            Words32(_mm512_permutex2var_epi64(u[1], lower, u[5])),
            Words32(_mm512_permutex2var_epi64(u[2], lower, u[6])),
            Words32(_mm512_permutex2var_epi64(u[3], lower, u[7])),
            Words32(_mm512_permutex2var_epi64(u[0], upper, u[4])),
            Words32(_mm512_permutex2var_epi64(u[1], upper, u[5])),
            Words32(_mm512_permutex2var_epi64(u[2], upper, u[6])),
            Words32(_mm512_permutex2var_epi64(u[3], upper, u[7])),
        ]
    })
}

/// Transposes eight rows of eight 64-bit words; it is its own inverse.
#[inline(always)]
fn transpose64(r: [Words64; 8]) -> [Words64; 8] {
    proved!({
        // t[2 i]: words 0, 2, 4, 6 of rows 2 i and 2 i + 1, alternating; t[2 i + 1]: the others.
        let t = [
            _mm512_unpacklo_epi64(r[0].0, r[1].0),
            _mm512_unpackhi_epi64(r[0].0, r[1].0),
            _mm512_unpacklo_epi64(r[2].0, r[3].0),
            _mm512_unpackhi_epi64(r[2].0, r[3].0),
            _mm512_unpacklo_epi64(r[4].0, r[5].0),
            _mm512_unpackhi_epi64(r[4].0, r[5].0),
            _mm512_unpacklo_epi64(r[6].0, r[7].0),
            _mm512_unpackhi_epi64(r[6].0, r[7].0),
        ];
        // Pairs as 128-bit elements: a 4 x 4 transpose of the even t, and one of the odd.
        let even = quarters([t[0], t[2], t[4], t[6]]);
        let odd = quarters([t[1], t[3], t[5], t[7]]);
        [
            Words64(even[0]),
            Words64(odd[0]),
            Words64(even[1]),
            Words64(odd[1]),
            Words64(even[2]),
            Words64(odd[2]),
            Words64(even[3]),
            Words64(odd[3]),
        ]
    })
}

/// Transposes four rows of four 128-bit elements. Called where the tier is proved.
#[inline(always)]
fn quarters(r: [__m512i; 4]) -> [__m512i; 4] {
    proved!({
        let a = _mm512_shuffle_i64x2::<0x88>(r[0], r[1]); // 00 02 10 12
        let b = _mm512_shuffle_i64x2::<0xdd>(r[0], r[1]); // 01 03 11 13
        let c = _mm512_shuffle_i64x2::<0x88>(r[2], r[3]);
        let d = _mm512_shuffle_i64x2::<0xdd>(r[2], r[3]);
        [
            _mm512_shuffle_i64x2::<0x88>(a, c), // 00 10 20 30
            _mm512_shuffle_i64x2::<0x88>(b, d), // 01 11 21 31
            _mm512_shuffle_i64x2::<0xdd>(a, c),
            _mm512_shuffle_i64x2::<0xdd>(b, d),
        ]
    })
}
