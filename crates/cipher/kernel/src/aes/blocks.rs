//! Registers of one, two or four AES blocks: what the modes are written over.
//!
//! The methods are `#[inline(always)]`, so that they end up within the entry points of `modes` and
//! `xts`, which enable the features: AES-NI, AVX2 and PCLMULQDQ for a register of one block, VAES and
//! VPCLMULQDQ for one of two, with AVX-512 for one of four.

mod pair;

use core::arch::x86_64::*;

use super::{BLOCK, Schedule};

/// Some AES blocks.
///
/// Only functions compiled with the features of an implementation may call its methods: each entry
/// point is one, and is run only where a token proved those features.
pub(super) trait Blocks: Copy {
    /// How many.
    const BLOCKS: usize;
    /// The length in bytes.
    const LEN: usize = Self::BLOCKS * BLOCK;

    /// # Safety
    /// [`Blocks::LEN`] bytes are readable.
    unsafe fn load(src: *const u8) -> Self;
    /// # Safety
    /// [`Blocks::LEN`] bytes are writable.
    unsafe fn store(self, dst: *mut u8);
    /// The first `len` bytes, less than a register; the others are 0.
    ///
    /// # Safety
    /// That many bytes are readable.
    unsafe fn load_part(src: *const u8, len: usize) -> Self;
    /// Stores the first `len` bytes, less than a register.
    ///
    /// # Safety
    /// That many bytes are writable.
    unsafe fn store_part(self, dst: *mut u8, len: usize);
    /// The same block everywhere.
    fn splat(block: &[u8; BLOCK]) -> Self;
    /// The same block everywhere.
    fn repeat(block: __m128i) -> Self;

    /// Exclusive or.
    fn xor(self, other: Self) -> Self;
    /// A round of encryption.
    fn encrypt_round(self, key: Self) -> Self;
    /// The last round of encryption.
    fn encrypt_last(self, key: Self) -> Self;
    /// A round of decryption, by the equivalent inverse cipher.
    fn decrypt_round(self, key: Self) -> Self;
    /// The last round of decryption.
    fn decrypt_last(self, key: Self) -> Self;

    /// The blocks that come one before these: the last of `before`, then these but their last.
    fn shift_in(self, before: Self) -> Self;

    /// The first block.
    fn first(self) -> __m128i;

    /// Counters: numbers of 128 bits, `first` and what follows. Their low 64 bits do not wrap around.
    fn counters(first: u128) -> Self;
    /// Adds to the low 64 bits of each number.
    fn add(self, number: u64) -> Self;
    /// The order of the bytes of each block turned around.
    fn swap_bytes(self) -> Self;

    /// Blocks number `index` and following of the sequence `first x^0, first x^1` ... in GF(2^128) as
    /// XTS has it. `index` plus the number of blocks is at most 8.
    fn powers(first: __m128i, index: u64) -> Self;
    /// Each block times x^8.
    fn times_x8(self) -> Self;
}

/// Eight registers and fewer through all rounds of encryption, or decryption.
#[inline(always)]
pub(super) fn cipher<V: Blocks, const N: usize, const ENCRYPT: bool>(
    schedule: &Schedule,
    state: &mut [V; N],
) {
    whiten(&schedule.keys[0], state);
    round::<V, N, ENCRYPT>(&schedule.keys[1], state);
    round::<V, N, ENCRYPT>(&schedule.keys[2], state);
    round::<V, N, ENCRYPT>(&schedule.keys[3], state);
    round::<V, N, ENCRYPT>(&schedule.keys[4], state);
    round::<V, N, ENCRYPT>(&schedule.keys[5], state);
    round::<V, N, ENCRYPT>(&schedule.keys[6], state);
    round::<V, N, ENCRYPT>(&schedule.keys[7], state);
    round::<V, N, ENCRYPT>(&schedule.keys[8], state);
    round::<V, N, ENCRYPT>(&schedule.keys[9], state);
    last_rounds::<V, N, ENCRYPT>(schedule, state);
}

/// What comes after the ninth round.
#[inline(always)]
pub(super) fn last_rounds<V: Blocks, const N: usize, const ENCRYPT: bool>(
    schedule: &Schedule,
    state: &mut [V; N],
) {
    if schedule.rounds > 10 {
        round::<V, N, ENCRYPT>(&schedule.keys[10], state);
        round::<V, N, ENCRYPT>(&schedule.keys[11], state);
        if schedule.rounds > 12 {
            round::<V, N, ENCRYPT>(&schedule.keys[12], state);
            round::<V, N, ENCRYPT>(&schedule.keys[13], state);
        }
    }
    let key = V::splat(&schedule.last);
    for blocks in state {
        *blocks = if ENCRYPT { blocks.encrypt_last(key) } else { blocks.decrypt_last(key) };
    }
}

#[inline(always)]
pub(super) fn whiten<V: Blocks, const N: usize>(key: &[u8; BLOCK], state: &mut [V; N]) {
    let key = V::splat(key);
    for blocks in state {
        *blocks = blocks.xor(key);
    }
}

#[inline(always)]
pub(super) fn round<V: Blocks, const N: usize, const ENCRYPT: bool>(
    key: &[u8; BLOCK],
    state: &mut [V; N],
) {
    let key = V::splat(key);
    for blocks in state {
        *blocks = if ENCRYPT { blocks.encrypt_round(key) } else { blocks.decrypt_round(key) };
    }
}

/// The polynomial of XTS: x^128 = x^7 + x^2 + x + 1.
const POLYNOMIAL: i64 = 0x87;

// SAFETY of every block below: see the trait for the features; loads and stores have its
// preconditions, and arrays are as long as what is loaded from them or stored to them.

impl Blocks for __m128i {
    const BLOCKS: usize = 1;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: as above.
        unsafe { _mm_loadu_si128(src.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: as above.
        unsafe { _mm_storeu_si128(dst.cast(), self) }
    }

    #[inline(always)]
    unsafe fn load_part(src: *const u8, len: usize) -> Self {
        // Two loads that overlap, the second one shifted: a copy of a length that is not known is a
        // call, and the load of what it wrote would wait.
        // SAFETY: as above; each load is of at most `len` bytes.
        unsafe {
            let (low, high) = match len {
                8.. => {
                    let high = src.add(len - 8).cast::<u64>().read_unaligned();
                    (src.cast::<u64>().read_unaligned(), high.unbounded_shr(8 * (16 - len as u32)))
                }
                4.. => {
                    let low = u64::from(src.cast::<u32>().read_unaligned());
                    let high = u64::from(src.add(len - 4).cast::<u32>().read_unaligned());
                    (low | high << (8 * (len - 4)), 0)
                }
                1.. => {
                    let low = u64::from(*src);
                    let middle = u64::from(*src.add(len / 2)) << (8 * (len / 2));
                    (low | middle | u64::from(*src.add(len - 1)) << (8 * (len - 1)), 0)
                }
                0 => (0, 0),
            };
            _mm_set_epi64x(high.cast_signed(), low.cast_signed())
        }
    }

    #[inline(always)]
    unsafe fn store_part(self, dst: *mut u8, len: usize) {
        // SAFETY: as above; each store is of at most `len` bytes.
        unsafe {
            let low = _mm_cvtsi128_si64(self).cast_unsigned();
            match len {
                8.. => {
                    let high = _mm_extract_epi64::<1>(self).cast_unsigned();
                    let end = low.unbounded_shr(8 * (len as u32 - 8))
                        | high.unbounded_shl(8 * (16 - len as u32));
                    dst.cast::<u64>().write_unaligned(low);
                    dst.add(len - 8).cast::<u64>().write_unaligned(end);
                }
                4.. => {
                    dst.cast::<u32>().write_unaligned(low as u32);
                    let end = (low >> (8 * (len - 4))) as u32;
                    dst.add(len - 4).cast::<u32>().write_unaligned(end);
                }
                1.. => {
                    *dst = low as u8;
                    *dst.add(len / 2) = (low >> (8 * (len / 2))) as u8;
                    *dst.add(len - 1) = (low >> (8 * (len - 1))) as u8;
                }
                0 => {}
            }
        }
    }

    #[inline(always)]
    fn splat(block: &[u8; BLOCK]) -> Self {
        // SAFETY: as above.
        unsafe { Self::load(block.as_ptr()) }
    }

    #[inline(always)]
    fn repeat(block: __m128i) -> Self {
        block
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_xor_si128(self, other) }
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_aesenc_si128(self, key) }
    }

    #[inline(always)]
    fn encrypt_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_aesenclast_si128(self, key) }
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_aesdec_si128(self, key) }
    }

    #[inline(always)]
    fn decrypt_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_aesdeclast_si128(self, key) }
    }

    #[inline(always)]
    fn shift_in(self, before: Self) -> Self {
        before
    }

    #[inline(always)]
    fn first(self) -> __m128i {
        self
    }

    #[inline(always)]
    fn counters(first: u128) -> Self {
        // By registers: a load of what was just stored in two halves would wait for it.
        // SAFETY: as above.
        unsafe { _mm_set_epi64x((first >> 64) as i64, first as i64) }
    }

    #[inline(always)]
    fn add(self, number: u64) -> Self {
        // SAFETY: as above.
        unsafe { _mm_add_epi64(self, _mm_set_epi64x(0, number.cast_signed())) }
    }

    #[inline(always)]
    fn swap_bytes(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm_shuffle_epi8(self, order)
        }
    }

    #[inline(always)]
    fn powers(first: __m128i, index: u64) -> Self {
        // SAFETY: as above.
        unsafe {
            let i = _mm_set1_epi64x(index.cast_signed());
            let halves = _mm_shuffle_epi32::<0b01_00_11_10>(first);
            // Of each half what leaves at its top; a shift by 64 leaves nothing.
            let over = _mm_srlv_epi64(halves, _mm_sub_epi64(_mm_set1_epi64x(64), i));
            let back = _mm_clmulepi64_si128::<0>(over, _mm_set1_epi64x(POLYNOMIAL));
            let carry = _mm_and_si128(over, _mm_set_epi64x(-1, 0));
            _mm_sllv_epi64(first, i).xor(back).xor(carry)
        }
    }

    #[inline(always)]
    fn times_x8(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let over = _mm_srli_si128::<15>(self);
            let back = _mm_clmulepi64_si128::<0>(over, _mm_set_epi64x(0, POLYNOMIAL));
            _mm_xor_si128(_mm_slli_si128::<1>(self), back)
        }
    }
}

impl Blocks for __m512i {
    const BLOCKS: usize = 4;

    #[inline(always)]
    unsafe fn load(src: *const u8) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_loadu_si512(src.cast()) }
    }

    #[inline(always)]
    unsafe fn store(self, dst: *mut u8) {
        // SAFETY: as above.
        unsafe { _mm512_storeu_si512(dst.cast(), self) }
    }

    #[inline(always)]
    unsafe fn load_part(src: *const u8, len: usize) -> Self {
        // SAFETY: as above: bytes that the mask leaves out are not touched.
        unsafe {
            let whole = match len / BLOCK {
                0 => _mm512_setzero_si512(),
                1 => _mm512_zextsi128_si512(_mm_loadu_si128(src.cast())),
                2 => _mm512_zextsi256_si512(_mm256_loadu_si256(src.cast())),
                _ => _mm512_inserti32x4::<2>(
                    _mm512_zextsi256_si512(_mm256_loadu_si256(src.cast())),
                    _mm_loadu_si128(src.add(2 * BLOCK).cast()),
                ),
            };
            if len.is_multiple_of(BLOCK) {
                return whole;
            }
            let rest = u64::MAX << (len / BLOCK * BLOCK) & ((1 << len) - 1);
            _mm512_mask_loadu_epi8(whole, rest, src.cast())
        }
    }

    #[inline(always)]
    unsafe fn store_part(self, dst: *mut u8, len: usize) {
        // SAFETY: as above: bytes that the mask leaves out are not touched.
        unsafe {
            match len / BLOCK {
                0 => {}
                1 => _mm_storeu_si128(dst.cast(), self.first()),
                2 => _mm256_storeu_si256(dst.cast(), _mm512_castsi512_si256(self)),
                _ => {
                    _mm256_storeu_si256(dst.cast(), _mm512_castsi512_si256(self));
                    let third = _mm512_extracti32x4_epi32::<2>(self);
                    _mm_storeu_si128(dst.add(2 * BLOCK).cast(), third);
                }
            }
            if !len.is_multiple_of(BLOCK) {
                let rest = u64::MAX << (len / BLOCK * BLOCK) & ((1 << len) - 1);
                _mm512_mask_storeu_epi8(dst.cast(), rest, self);
            }
        }
    }

    #[inline(always)]
    fn splat(block: &[u8; BLOCK]) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast())) }
    }

    #[inline(always)]
    fn repeat(block: __m128i) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_broadcast_i32x4(block) }
    }

    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_xor_si512(self, other) }
    }

    #[inline(always)]
    fn encrypt_round(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_aesenc_epi128(self, key) }
    }

    #[inline(always)]
    fn encrypt_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_aesenclast_epi128(self, key) }
    }

    #[inline(always)]
    fn decrypt_round(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_aesdec_epi128(self, key) }
    }

    #[inline(always)]
    fn decrypt_last(self, key: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_aesdeclast_epi128(self, key) }
    }

    #[inline(always)]
    fn shift_in(self, before: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_alignr_epi64::<6>(self, before) }
    }

    #[inline(always)]
    fn first(self) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm512_castsi512_si128(self) }
    }

    #[inline(always)]
    fn counters(first: u128) -> Self {
        // SAFETY: as above.
        unsafe {
            let first = _mm512_broadcast_i32x4(__m128i::counters(first));
            _mm512_add_epi64(first, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0))
        }
    }

    #[inline(always)]
    fn add(self, number: u64) -> Self {
        // SAFETY: as above.
        unsafe {
            let number = _mm_set_epi64x(0, number.cast_signed());
            _mm512_add_epi64(self, _mm512_broadcast_i32x4(number))
        }
    }

    #[inline(always)]
    fn swap_bytes(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let order = _mm_set_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
            _mm512_shuffle_epi8(self, _mm512_broadcast_i32x4(order))
        }
    }

    #[inline(always)]
    fn powers(first: __m128i, index: u64) -> Self {
        // SAFETY: as above.
        unsafe {
            let first = Self::repeat(first);
            let i = _mm512_set1_epi64(index.cast_signed());
            let i = _mm512_add_epi64(i, _mm512_set_epi64(3, 3, 2, 2, 1, 1, 0, 0));
            let halves = _mm512_shuffle_epi32::<0b01_00_11_10>(first);
            // Of each half what leaves at its top; a shift by 64 leaves nothing.
            let over = _mm512_srlv_epi64(halves, _mm512_sub_epi64(_mm512_set1_epi64(64), i));
            let back = _mm512_clmulepi64_epi128::<0>(over, _mm512_set1_epi64(POLYNOMIAL));
            let carry = _mm512_maskz_mov_epi64(0b1010_1010, over);
            _mm512_sllv_epi64(first, i).xor(back).xor(carry)
        }
    }

    #[inline(always)]
    fn times_x8(self) -> Self {
        // SAFETY: as above.
        unsafe {
            let over = _mm512_bsrli_epi128::<15>(self);
            let back = _mm512_clmulepi64_epi128::<0>(over, _mm512_set1_epi64(POLYNOMIAL));
            _mm512_xor_si512(_mm512_bslli_epi128::<1>(self), back)
        }
    }
}
