//! Registers of two blocks: VAES and VPCLMULQDQ on vectors of 256 bits.

use core::arch::x86_64::*;

use super::{BLOCK, Blocks, POLYNOMIAL};

// SAFETY of every block below: as in the parent module.

impl Blocks for __m256i {
    const BLOCKS: usize = 2;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_loadu_si256(src.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: as above.
        unsafe { _mm256_storeu_si256(dst.cast(), self) }
    }

    #[inline(always)]
    unsafe fn load_part(src: *const u8, len: usize) -> Self {
        // SAFETY: as above.
        unsafe {
            if len < BLOCK {
                return _mm256_zextsi128_si256(__m128i::load_part(src, len));
            }
            let first = _mm256_castsi128_si256(__m128i::load(src));
            let second = __m128i::load_part(src.add(BLOCK), len - BLOCK);
            _mm256_inserti128_si256::<1>(first, second)
        }
    }

    #[inline(always)]
    unsafe fn store_part(self, dst: *mut u8, len: usize) {
        // SAFETY: as above.
        unsafe {
            if len < BLOCK {
                return self.first().store_part(dst, len);
            }
            self.first().store(dst);
            _mm256_extracti128_si256::<1>(self).store_part(dst.add(BLOCK), len - BLOCK);
        }
    }

    #[inline(always)]
    fn splat(block: &[u8; BLOCK]) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    fn repeat(block: __m128i) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_broadcastsi128_si256(block) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_xor_si256(self, other) }
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_aesenc_epi128(self, key) }
    }

    #[inline(always)]
    fn encrypt_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_aesenclast_epi128(self, key) }
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_aesdec_epi128(self, key) }
    }

    #[inline(always)]
    fn decrypt_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_aesdeclast_epi128(self, key) }
    }

    #[inline(always)]
    fn shift_in(self, before: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_permute2x128_si256::<0x21>(before, self) }
    }

    #[inline(always)]
    fn first(self) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm256_castsi256_si128(self) }
    }

    #[inline(always)]
    fn counters(first: u128) -> Self {
        // SAFETY: as above.
        unsafe {
            let first = Self::repeat(__m128i::counters(first));
            _mm256_add_epi64(first, _mm256_set_epi64x(0, 1, 0, 0))
        }
    }

    #[inline(always)]
    fn add(self, number: u64) -> Self {
        // SAFETY: as above.
        unsafe {
            let number = number.cast_signed();
            _mm256_add_epi64(self, _mm256_set_epi64x(0, number, 0, number))
        }
    }

    #[inline(always)]
    fn swap_bytes(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm256_shuffle_epi8(self, _mm256_broadcastsi128_si256(order))
        }
    }

    #[inline(always)]
    fn powers(first: __m128i, index: u64) -> Self {
        // SAFETY: as above.
        unsafe {
            let first = Self::repeat(first);
            let i = _mm256_set1_epi64x(index.cast_signed());
            let i = _mm256_add_epi64(i, _mm256_set_epi64x(1, 1, 0, 0));
            let halves = _mm256_shuffle_epi32::<0b01_00_11_10>(first);
            // Of each half what leaves at its top; a shift by 64 leaves nothing.
            let over = _mm256_srlv_epi64(halves, _mm256_sub_epi64(_mm256_set1_epi64x(64), i));
            let back = _mm256_clmulepi64_epi128::<0>(over, _mm256_set1_epi64x(POLYNOMIAL));
            let carry = _mm256_and_si256(over, _mm256_set_epi64x(-1, 0, -1, 0));
            _mm256_sllv_epi64(first, i).xor(back).xor(carry)
        }
    }

    #[inline(always)]
    fn times_x8(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let over = _mm256_srli_si256::<15>(self);
            let back = _mm256_clmulepi64_epi128::<0>(over, _mm256_set1_epi64x(POLYNOMIAL));
            _mm256_xor_si256(_mm256_slli_si256::<1>(self), back)
        }
    }
}
