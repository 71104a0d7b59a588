//! [`Lanes`] in 256 bits: eight words of 32 bits, four of 64. On AVX2 alone, and with the rotations
//! and functions of three operands of AVX-512: for few messages these beat 512 bits, as three
//! instructions of 256 bits run at a time, and two of 512.
#![allow(clippy::undocumented_unsafe_blocks)] // `proved!` holds their one reason

use std::arch::x86_64::*;

use lookaside_simd::{Avx2, Avx512Bw};

use super::lanes::Lanes;

/// Eight lanes of 32 bits, on the tier of the token `T`.
#[derive(Clone, Copy)]
pub(super) struct Words32<T>(__m256i, T);

/// Four lanes of 64 bits, on the tier of the token `T`.
#[derive(Clone, Copy)]
pub(super) struct Words64<T>(__m256i, T);

/// Runs intrinsics: a token, or a vector that was made with one, is at hand.
macro_rules! proved {
    ($($code:tt)*) => {
        // SAFETY: the token, or a vector that was made with one, proves the tier.
        unsafe { $($code)* }
    };
}

/// What the two tiers do differently.
pub(super) trait Tier: Copy {
    fn rotate_left_32(self, x: __m256i, bits: u32) -> __m256i;
    fn rotate_left_64(self, x: __m256i, bits: u32) -> __m256i;
    fn xor3(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i;
    fn select(self, mask: __m256i, one: __m256i, zero: __m256i) -> __m256i;
    fn majority(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i;
    fn xor_or_not(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i;
    fn xor_not_and(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i;
}

impl Tier for Avx2 {
    #[inline(always)]
    fn rotate_left_32(self, x: __m256i, bits: u32) -> __m256i {
        let (left, right) = (bits.cast_signed(), (32 - bits).cast_signed());
        proved!({
            let left = _mm256_sllv_epi32(x, _mm256_set1_epi32(left));
            _mm256_or_si256(left, _mm256_srlv_epi32(x, _mm256_set1_epi32(right)))
        })
    }
    #[inline(always)]
    fn rotate_left_64(self, x: __m256i, bits: u32) -> __m256i {
        let (left, right) = (i64::from(bits), i64::from(64 - bits));
        proved!({
            let left = _mm256_sllv_epi64(x, _mm256_set1_epi64x(left));
            _mm256_or_si256(left, _mm256_srlv_epi64(x, _mm256_set1_epi64x(right)))
        })
    }
    #[inline(always)]
    fn xor3(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        proved!(_mm256_xor_si256(_mm256_xor_si256(a, b), c))
    }
    #[inline(always)]
    fn select(self, mask: __m256i, one: __m256i, zero: __m256i) -> __m256i {
        proved!(_mm256_xor_si256(zero, _mm256_and_si256(mask, _mm256_xor_si256(one, zero))))
    }
    #[inline(always)]
    fn majority(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        proved!({
            let any = _mm256_and_si256(c, _mm256_or_si256(a, b));
            _mm256_or_si256(_mm256_and_si256(a, b), any)
        })
    }
    #[inline(always)]
    fn xor_or_not(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        // b | !c = !(!b & c), and a ^ !z = !a ^ z
        proved!({
            let not_a = _mm256_xor_si256(a, _mm256_set1_epi32(-1));
            _mm256_xor_si256(not_a, _mm256_andnot_si256(b, c))
        })
    }
    #[inline(always)]
    fn xor_not_and(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
        proved!(_mm256_xor_si256(a, _mm256_andnot_si256(b, c)))
    }
}

/// The immediates are those of `avx512.rs`.
macro_rules! ternary {
    ($($name:ident $table:literal)*) => { $(
        #[inline(always)]
        fn $name(self, a: __m256i, b: __m256i, c: __m256i) -> __m256i {
            proved!(_mm256_ternarylogic_epi32::<$table>(a, b, c))
        }
    )* };
}

impl Tier for Avx512Bw {
    #[inline(always)]
    fn rotate_left_32(self, x: __m256i, bits: u32) -> __m256i {
        proved!(_mm256_rolv_epi32(x, _mm256_set1_epi32(bits.cast_signed())))
    }
    #[inline(always)]
    fn rotate_left_64(self, x: __m256i, bits: u32) -> __m256i {
        proved!(_mm256_rolv_epi64(x, _mm256_set1_epi64x(i64::from(bits))))
    }
    ternary!(xor3 0x96 select 0xca majority 0xe8 xor_or_not 0x2d xor_not_and 0xd2);
}

/// What both widths share.
macro_rules! bits {
    ($($ternary:ident)*) => {
        $(
            #[inline(always)]
            fn $ternary(a: Self, b: Self, c: Self) -> Self {
                Self(a.1.$ternary(a.0, b.0, c.0), a.1)
            }
        )*
        #[inline(always)]
        fn xor(self, other: Self) -> Self {
            proved!(Self(_mm256_xor_si256(self.0, other.0), self.1))
        }
        #[inline(always)]
        fn little_endian(self) -> Self {
            self
        }
    };
}

impl<T: Tier> Lanes<8> for Words32<T> {
    type Word = u32;
    type Token = T;

    #[inline(always)]
    fn splat(token: T, word: u32) -> Self {
        proved!(Self(_mm256_set1_epi32(word.cast_signed()), token))
    }

    #[inline(always)]
    unsafe fn load8(token: T, from: &[*const u8; 8], at: usize, words: usize) -> [Self; 8] {
        let mut rows = [Self::splat(token, 0); 8];
        for i in 0..8 {
            // SAFETY: by the caller, `words` words can be read; the mask leaves the others alone.
            rows[i].0 = unsafe {
                let from = from[i].add(at);
                if words >= 8 {
                    _mm256_loadu_si256(from.cast())
                } else {
                    _mm256_maskload_epi32(from.cast(), mask32(words))
                }
            };
        }
        transpose32(rows)
    }

    #[inline(always)]
    unsafe fn store8(to: &[*mut u8; 8], at: usize, words: usize, vectors: [Self; 8]) {
        let rows = transpose32(vectors);
        for i in 0..8 {
            // SAFETY: by the caller, `words` words can be written; the mask leaves the others alone.
            unsafe {
                let to = to[i].add(at);
                if words >= 8 {
                    _mm256_storeu_si256(to.cast(), rows[i].0);
                } else {
                    _mm256_maskstore_epi32(to.cast(), mask32(words), rows[i].0);
                }
            }
        }
    }

    #[inline(always)]
    fn big_endian(self) -> Self {
        proved!({
            let order = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
            Self(_mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(order)), self.1)
        })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        proved!(Self(_mm256_add_epi32(self.0, other.0), self.1))
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        Self(self.1.rotate_left_32(self.0, bits), self.1)
    }
    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        proved!({
            let bits = _mm256_set1_epi32(bits.cast_signed());
            Self(_mm256_srlv_epi32(self.0, bits), self.1)
        })
    }

    bits!(xor3 select majority xor_or_not xor_not_and);
}

impl<T: Tier> Lanes<4> for Words64<T> {
    type Word = u64;
    type Token = T;

    #[inline(always)]
    fn splat(token: T, word: u64) -> Self {
        proved!(Self(_mm256_set1_epi64x(word.cast_signed()), token))
    }

    #[inline(always)]
    unsafe fn load8(token: T, from: &[*const u8; 4], at: usize, words: usize) -> [Self; 8] {
        // SAFETY: by the caller, `words` words can be read.
        let (a, b) = unsafe {
            (load4(token, from, at, words), load4(token, from, at + 32, words.saturating_sub(4)))
        };
        [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]]
    }

    #[inline(always)]
    unsafe fn store8(to: &[*mut u8; 4], at: usize, words: usize, v: [Self; 8]) {
        // SAFETY: by the caller, `words` words can be written.
        unsafe {
            store4(to, at, words, [v[0], v[1], v[2], v[3]]);
            store4(to, at + 32, words.saturating_sub(4), [v[4], v[5], v[6], v[7]]);
        }
    }

    #[inline(always)]
    fn big_endian(self) -> Self {
        proved!({
            let order = _mm_set_epi64x(0x0809_0a0b_0c0d_0e0f, 0x0001_0203_0405_0607);
            Self(_mm256_shuffle_epi8(self.0, _mm256_broadcastsi128_si256(order)), self.1)
        })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        proved!(Self(_mm256_add_epi64(self.0, other.0), self.1))
    }
    #[inline(always)]
    fn rotate_left(self, bits: u32) -> Self {
        Self(self.1.rotate_left_64(self.0, bits), self.1)
    }
    #[inline(always)]
    fn shift_right(self, bits: u32) -> Self {
        proved!({
            let bits = _mm256_set1_epi64x(i64::from(bits));
            Self(_mm256_srlv_epi64(self.0, bits), self.1)
        })
    }

    bits!(xor3 select majority xor_or_not xor_not_and);
}

/// The first `words` of four lanes, transposed.
///
/// # Safety
/// They can be read.
#[inline(always)]
unsafe fn load4<T: Tier>(
    token: T,
    from: &[*const u8; 4],
    at: usize,
    words: usize,
) -> [Words64<T>; 4] {
    let mut rows = [Words64::splat(token, 0); 4];
    if words == 0 {
        return rows;
    }
    for i in 0..4 {
        // SAFETY: by the caller, `words` words can be read; the mask leaves the others alone.
        rows[i].0 = unsafe {
            let from = from[i].add(at);
            if words >= 4 {
                _mm256_loadu_si256(from.cast())
            } else {
                _mm256_maskload_epi64(from.cast(), mask64(words))
            }
        };
    }
    transpose64(rows)
}

/// The way back of [`load4`].
///
/// # Safety
/// The words can be written.
#[inline(always)]
unsafe fn store4<T: Tier>(to: &[*mut u8; 4], at: usize, words: usize, vectors: [Words64<T>; 4]) {
    if words == 0 {
        return;
    }
    let rows = transpose64(vectors);
    for i in 0..4 {
        // SAFETY: by the caller, `words` words can be written; the mask leaves the others alone.
        unsafe {
            let to = to[i].add(at);
            if words >= 4 {
                _mm256_storeu_si256(to.cast(), rows[i].0);
            } else {
                _mm256_maskstore_epi64(to.cast(), mask64(words), rows[i].0);
            }
        }
    }
}

/// The lowest `words` of eight. Called where the tier is proved.
#[inline(always)]
fn mask32(words: usize) -> __m256i {
    static MASKS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
    let from = &MASKS[8 - words.min(8)..][..8];
    // SAFETY: eight words are there, and the tier is proved.
    unsafe { _mm256_loadu_si256(from.as_ptr().cast()) }
}

/// The lowest `words` of four. Called where the tier is proved.
#[inline(always)]
fn mask64(words: usize) -> __m256i {
    mask32(2 * words)
}

/// Transposes eight rows of eight 32-bit words; it is its own inverse.
#[inline(always)]
fn transpose32<T: Tier>(r: [Words32<T>; 8]) -> [Words32<T>; 8] {
    let token = r[0].1;
    proved!({
        let t = [
            _mm256_unpacklo_epi32(r[0].0, r[1].0),
            _mm256_unpackhi_epi32(r[0].0, r[1].0),
            _mm256_unpacklo_epi32(r[2].0, r[3].0),
            _mm256_unpackhi_epi32(r[2].0, r[3].0),
            _mm256_unpacklo_epi32(r[4].0, r[5].0),
            _mm256_unpackhi_epi32(r[4].0, r[5].0),
            _mm256_unpacklo_epi32(r[6].0, r[7].0),
            _mm256_unpackhi_epi32(r[6].0, r[7].0),
        ];
        // u[i], i < 4: words i and i + 4 of rows 0 to 3; u[i + 4]: those of rows 4 to 7.
        let u = [
            _mm256_unpacklo_epi64(t[0], t[2]),
            _mm256_unpackhi_epi64(t[0], t[2]),
            _mm256_unpacklo_epi64(t[1], t[3]),
            _mm256_unpackhi_epi64(t[1], t[3]),
            _mm256_unpacklo_epi64(t[4], t[6]),
            _mm256_unpackhi_epi64(t[4], t[6]),
            _mm256_unpacklo_epi64(t[5], t[7]),
            _mm256_unpackhi_epi64(t[5], t[7]),
        ];
        [
            Words32(_mm256_permute2x128_si256::<0x20>(u[0], u[4]), token),
            Words32(_mm256_permute2x128_si256::<0x20>(u[1], u[5]), token),
            Words32(_mm256_permute2x128_si256::<0x20>(u[2], u[6]), token),
            Words32(_mm256_permute2x128_si256::<0x20>(u[3], u[7]), token),
            Words32(_mm256_permute2x128_si256::<0x31>(u[0], u[4]), token),
            Words32(_mm256_permute2x128_si256::<0x31>(u[1], u[5]), token),
            Words32(_mm256_permute2x128_si256::<0x31>(u[2], u[6]), token),
            Words32(_mm256_permute2x128_si256::<0x31>(u[3], u[7]), token),
        ]
    })
}

/// Transposes four rows of four 64-bit words; it is its own inverse.
#[inline(always)]
fn transpose64<T: Tier>(r: [Words64<T>; 4]) -> [Words64<T>; 4] {
    let token = r[0].1;
    proved!({
        let t = [
            _mm256_unpacklo_epi64(r[0].0, r[1].0), // 00 10 02 12
            _mm256_unpackhi_epi64(r[0].0, r[1].0), // 01 11 03 13
            _mm256_unpacklo_epi64(r[2].0, r[3].0),
            _mm256_unpackhi_epi64(r[2].0, r[3].0),
        ];
        [
            Words64(_mm256_permute2x128_si256::<0x20>(t[0], t[2]), token),
            Words64(_mm256_permute2x128_si256::<0x20>(t[1], t[3]), token),
            Words64(_mm256_permute2x128_si256::<0x31>(t[0], t[2]), token),
            Words64(_mm256_permute2x128_si256::<0x31>(t[1], t[3]), token),
        ]
    })
}
