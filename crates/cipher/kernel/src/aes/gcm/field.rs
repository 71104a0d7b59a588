//! GHASH over registers of one or two blocks: sums of carry-less products, reduced once for many blocks.
//!
//! GHASH is computed as POLYVAL of the blocks with their bytes in reverse order (RFC 8452 appendix A).
//! A product of 128 by 128 bits is three carry-less multiplications (Karatsuba): where one of them
//! takes two cycles (Zen 3), four would take longer than the AES rounds beside them.

use core::arch::x86_64::*;

use super::super::blocks::Blocks;
use super::{BLOCK, Key, POWERS};

/// Blocks as elements of GF(2^128).
///
/// Only functions compiled with the features of an implementation may call its methods, as with
/// [`Blocks`].
pub(super) trait Field: Blocks {
    /// The carry-less products of one half of each block; `HALVES` as PCLMULQDQ has it.
    fn multiply<const HALVES: i32>(self, other: Self) -> Self;
    /// The halves of each block, exchanged.
    fn swap_halves(self) -> Self;
    /// The sum of all blocks.
    fn sum(self) -> __m128i;
    /// One block, and zeros.
    fn alone(block: __m128i) -> Self;
    /// `counter` as the counter of the first block; the others count on in 32 bits.
    fn count_from(counter: __m128i) -> Self;
    /// Adds to the low 32 bits of each block, without a carry beyond these.
    fn add_32(self, number: i32) -> Self;
}

impl Field for __m128i {
    #[inline(always)]
    fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: the callers have the features; the same below.
        unsafe { _mm_clmulepi64_si128::<HALVES>(self, other) }
    }

    #[inline(always)]
    fn swap_halves(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm_shuffle_epi32::<0b01_00_11_10>(self) }
    }

    #[inline(always)]
    fn sum(self) -> __m128i {
        self
    }

    #[inline(always)]
    fn alone(block: __m128i) -> Self {
        block
    }

    #[inline(always)]
    fn count_from(counter: __m128i) -> Self {
        counter
    }

    #[inline(always)]
    fn add_32(self, number: i32) -> Self {
        // SAFETY: as above.
        unsafe { _mm_add_epi32(self, _mm_set_epi32(0, 0, 0, number)) }
    }
}

impl Field for __m256i {
    #[inline(always)]
    fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_clmulepi64_epi128::<HALVES>(self, other) }
    }

    #[inline(always)]
    fn swap_halves(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_shuffle_epi32::<0b01_00_11_10>(self) }
    }

    #[inline(always)]
    fn sum(self) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_xor_si128(_mm256_castsi256_si128(self), _mm256_extracti128_si256::<1>(self)) }
    }

    #[inline(always)]
    fn alone(block: __m128i) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_zextsi128_si256(block) }
    }

    #[inline(always)]
    fn count_from(counter: __m128i) -> Self {
        // SAFETY: as above.
        unsafe {
            let both = _mm256_broadcastsi128_si256(counter);
            _mm256_add_epi32(both, _mm256_set_epi32(0, 0, 0, 1, 0, 0, 0, 0))
        }
    }

    #[inline(always)]
    fn add_32(self, number: i32) -> Self {
        // SAFETY: as above.
        unsafe { _mm256_add_epi32(self, _mm256_set_epi32(0, 0, 0, number, 0, 0, 0, number)) }
    }
}

impl Field for __m512i {
    #[inline(always)]
    fn multiply<const HALVES: i32>(self, other: Self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_clmulepi64_epi128::<HALVES>(self, other) }
    }

    #[inline(always)]
    fn swap_halves(self) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_shuffle_epi32::<0b01_00_11_10>(self) }
    }

    #[inline(always)]
    fn sum(self) -> __m128i {
        // SAFETY: as above.
        unsafe {
            let upper = _mm512_extracti64x4_epi64::<1>(self);
            _mm256_xor_si256(_mm512_castsi512_si256(self), upper).sum()
        }
    }

    #[inline(always)]
    fn alone(block: __m128i) -> Self {
        // SAFETY: as above.
        unsafe { _mm512_zextsi128_si512(block) }
    }

    #[inline(always)]
    fn count_from(counter: __m128i) -> Self {
        // SAFETY: as above.
        unsafe {
            let all = _mm512_broadcast_i32x4(counter);
            _mm512_add_epi32(all, _mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0))
        }
    }

    #[inline(always)]
    fn add_32(self, number: i32) -> Self {
        // SAFETY: as above.
        unsafe {
            let number = _mm512_broadcast_i32x4(_mm_set_epi32(0, 0, 0, number));
            _mm512_add_epi32(self, number)
        }
    }
}

/// `mulX_POLYVAL` of RFC 8452 appendix A: x^128 = x^127 + x^126 + x^121 + 1.
#[inline(always)]
pub(in crate::aes) fn times_x(block: __m128i) -> __m128i {
    // SAFETY: as above.
    unsafe {
        let carries = _mm_srli_epi64::<63>(block);
        let top = _mm_sub_epi64(_mm_setzero_si128(), _mm_unpackhi_epi64(carries, carries));
        let polynomial = _mm_set_epi64x(0xc2 << 56, 1);
        let shifted = _mm_or_si128(_mm_slli_epi64::<1>(block), _mm_slli_si128::<8>(carries));
        _mm_xor_si128(shifted, _mm_and_si128(top, polynomial))
    }
}

/// Sums of products, not reduced yet.
#[derive(Clone, Copy)]
pub(super) struct Products<V> {
    low: V,
    /// Of the sums of both halves: `low` and `high` are still in it.
    middle: V,
    high: V,
}

impl<V: Field> Products<V> {
    /// No product.
    #[inline(always)]
    pub(super) fn none() -> Products<V> {
        // SAFETY: as above.
        let zero = V::repeat(unsafe { _mm_setzero_si128() });
        Products { low: zero, middle: zero, high: zero }
    }

    /// The products of blocks with others, whose halves' sums are given.
    #[inline(always)]
    pub(super) fn of(blocks: V, others: V, sums: V) -> Products<V> {
        let folded = blocks.xor(blocks.swap_halves());
        Products {
            low: blocks.multiply::<0x00>(others),
            middle: folded.multiply::<0x00>(sums),
            high: blocks.multiply::<0x11>(others),
        }
    }

    /// Adds the products of a register with the powers of the hash key from `power` downwards.
    #[inline(always)]
    pub(super) fn add(&mut self, key: &Key, blocks: V, power: usize) {
        debug_assert!((1..=POWERS).contains(&power));
        let (powers, sums) = (&key.powers[POWERS - power], &key.sums[POWERS - power]);
        // SAFETY: both tables go on for more than a register behind the last power.
        let (powers, sums) = unsafe { (V::load(powers.as_ptr()), V::load(sums.as_ptr())) };
        let more = Products::of(blocks, powers, sums);
        self.low = self.low.xor(more.low);
        self.middle = self.middle.xor(more.middle);
        self.high = self.high.xor(more.high);
    }

    /// The sum of all blocks' products, times x^-128 modulo POLYVAL's polynomial.
    #[inline(always)]
    pub(super) fn reduced(self) -> __m128i {
        let (low, high) = (self.low.sum(), self.high.sum());
        reduce(low, self.middle.sum().xor(low).xor(high), high)
    }
}

/// `low + middle x^64 + high x^128`, times x^-128 modulo POLYVAL's polynomial.
#[inline(always)]
pub(in crate::aes) fn reduce(low: __m128i, middle: __m128i, high: __m128i) -> __m128i {
    // SAFETY: as above.
    unsafe {
        let low = _mm_xor_si128(low, _mm_slli_si128::<8>(middle));
        let high = _mm_xor_si128(high, _mm_srli_si128::<8>(middle));
        // Twice: the lowest word is cancelled by a multiple of the polynomial, whose upper words
        // are (x^63 + x^62 + x^57) times it, and itself.
        let polynomial = _mm_set_epi64x(0, 0xc2 << 56);
        let once = _mm_xor_si128(low.swap_halves(), _mm_clmulepi64_si128::<0>(low, polynomial));
        let twice = _mm_xor_si128(once.swap_halves(), _mm_clmulepi64_si128::<0>(once, polynomial));
        _mm_xor_si128(twice, high)
    }
}

/// Fills the table of powers, the highest first, and that of their halves' sums. `first`: the hash key
/// times x, with its bytes in reverse order.
#[inline(always)]
pub(super) fn fill(powers: &mut [[u8; BLOCK]], sums: &mut [[u8; BLOCK]], first: __m128i) {
    let highest = powers.len();
    let mut power = first;
    for exponent in 1..=highest {
        if exponent > 1 {
            // Of two that were made long ago, so that nothing waits for the one before.
            let (a, b) = (highest - exponent / 2, highest - exponent.div_ceil(2));
            let [a, b, b_sums] = [&powers[a], &powers[b], &sums[b]].map(__m128i::splat);
            power = Products::of(a, b, b_sums).reduced();
        }
        // SAFETY: a block each.
        unsafe {
            power.store(powers[highest - exponent].as_mut_ptr());
            power.xor(power.swap_halves()).store(sums[highest - exponent].as_mut_ptr());
        }
    }
}
