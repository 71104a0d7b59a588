//! Folding by carry-less multiplication (V. Gopal et al., "Fast CRC Computation for Generic
//! Polynomials Using PCLMULQDQ Instruction", Intel, 2009): 128 bits of data are replaced by something
//! that has the same remainder and stands further on, where it is added to the data.
//!
//! Eight vectors are folded at once, because a product takes eight cycles and one can begin in each.

use std::arch::asm;
use std::arch::x86_64::*;

use lookaside_simd::{Avx2, Avx512};

use super::tables::Crc;

/// Vectors at once.
const WIDE: usize = 8;

/// Sixteen bytes that have the remainder of the first so many bytes.
type Folded = Option<([u8; 16], usize)>;

/// Folds, and if `COPY` copies, what is worth while; `None` if nothing is.
///
/// # Safety
/// If `COPY`, `dst` is valid for as many bytes as `src` has, and apart from it.
pub(super) unsafe fn avx512<const COPY: bool>(
    _: Avx512,
    crc: &Crc,
    start: u64,
    src: &[u8],
    dst: *mut u8,
) -> Folded {
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    unsafe fn fold_512<const COPY: bool>(
        crc: &Crc,
        start: u64,
        src: &[u8],
        dst: *mut u8,
    ) -> Folded {
        let by = &crc.keys.bits_4096;
        // SAFETY: the features are on, the source is long enough, the rest is the caller's.
        Some(unsafe { fold::<__m512i, WIDE, COPY>(crc, by, start, src, dst) })
    }
    // SAFETY: the token proves the features; the rest is the caller's.
    unsafe {
        match src.len() {
            512.. => fold_512::<COPY>(crc, start, src, dst),
            _ => fold_128::<COPY>(crc, start, src, dst),
        }
    }
}

/// The same with vectors of 128 bits.
///
/// # Safety
/// As [`avx512`].
pub(super) unsafe fn avx2<const COPY: bool>(
    _: Avx2,
    crc: &Crc,
    start: u64,
    src: &[u8],
    dst: *mut u8,
) -> Folded {
    // SAFETY: the token proves the features; the rest is the caller's.
    unsafe { fold_128::<COPY>(crc, start, src, dst) }
}

/// # Safety
/// As [`avx512`]; AVX2 and PCLMULQDQ are there.
#[target_feature(enable = "pclmulqdq,avx2")]
unsafe fn fold_128<const COPY: bool>(crc: &Crc, start: u64, src: &[u8], dst: *mut u8) -> Folded {
    let (one, eight) = (&crc.keys.bits_128, &crc.keys.bits_1024);
    // SAFETY: the features are on, the source is long enough, the rest is the caller's.
    unsafe {
        match src.len() {
            0..32 => None,
            32..128 => Some(fold::<__m128i, 1, COPY>(crc, one, start, src, dst)),
            _ => Some(fold::<__m128i, WIDE, COPY>(crc, eight, start, src, dst)),
        }
    }
}

/// A vector of registers of 128 bits.
trait Vector: Copy {
    /// # Safety
    /// `from` is valid for the vector's bytes.
    unsafe fn load(from: *const u8) -> Self;
    /// # Safety
    /// `to` is valid for the vector's bytes.
    unsafe fn store(self, to: *mut u8);
    /// The first 64 bits differ by `low`.
    fn with(self, low: u64) -> Self;
    /// The factors for every register.
    fn keys(keys: &[u64; 2]) -> Self;
    /// Every register moved on by the distance of the keys, and `next` added.
    fn fold(self, keys: Self, next: Self) -> Self;
    /// The factors that move a vector to the next.
    fn next_keys(crc: &Crc) -> Self;
}

impl Vector for __m128i {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's.
        unsafe { _mm_loadu_si128(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // Written as an instruction: the compiler would make a call of `memcpy` of a loop that loads
        // and stores, before or after the loop that folds, and so read the source twice.
        // SAFETY: the caller's; only functions with AVX2 use this.
        unsafe {
            asm!("vmovdqu [{}], {}", in(reg) to, in(xmm_reg) self, options(nostack, preserves_flags))
        }
    }
    #[inline(always)]
    fn with(self, low: u64) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_xor_si128(self, _mm_set_epi64x(0, low as i64)) }
    }
    #[inline(always)]
    fn keys(keys: &[u64; 2]) -> Self {
        // SAFETY: SSE2 is part of x86-64.
        unsafe { _mm_set_epi64x(keys[1] as i64, keys[0] as i64) }
    }
    #[inline(always)]
    fn fold(self, keys: Self, next: Self) -> Self {
        // SAFETY: only functions with PCLMULQDQ use this.
        unsafe {
            let low = _mm_clmulepi64_si128::<0x00>(self, keys);
            let high = _mm_clmulepi64_si128::<0x11>(self, keys);
            _mm_xor_si128(_mm_xor_si128(low, high), next)
        }
    }
    #[inline(always)]
    fn next_keys(crc: &Crc) -> Self {
        Self::keys(&crc.keys.bits_128)
    }
}

impl Vector for __m512i {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's; only functions with AVX-512 use this.
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's; only functions with AVX-512 use this.
        unsafe { store_512(self, to) }
    }
    #[inline(always)]
    fn with(self, low: u64) -> Self {
        // SAFETY: only functions with AVX-512 use this.
        unsafe { _mm512_xor_si512(self, _mm512_maskz_set1_epi64(1, low as i64)) }
    }
    #[inline(always)]
    fn keys(keys: &[u64; 2]) -> Self {
        // SAFETY: only functions with AVX-512 use this.
        unsafe { _mm512_broadcast_i32x4(__m128i::keys(keys)) }
    }
    #[inline(always)]
    fn fold(self, keys: Self, next: Self) -> Self {
        // SAFETY: only functions with AVX-512 and VPCLMULQDQ use this.
        unsafe {
            let low = _mm512_clmulepi64_epi128::<0x00>(self, keys);
            let high = _mm512_clmulepi64_epi128::<0x11>(self, keys);
            // 0x96: the exclusive or of three.
            _mm512_ternarylogic_epi64::<0x96>(low, high, next)
        }
    }
    #[inline(always)]
    fn next_keys(crc: &Crc) -> Self {
        Self::keys(&crc.keys.bits_512)
    }
}

/// See the store of 128 bits.
///
/// # Safety
/// `to` is valid for 64 bytes.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store_512(vector: __m512i, to: *mut u8) {
    // SAFETY: the caller's.
    unsafe {
        asm!("vmovdqu64 [{}], {}", in(reg) to, in(zmm_reg) vector,
            options(nostack, preserves_flags))
    }
}

/// `N` vectors at a time by `keys`, then one, then sixteen bytes.
///
/// # Safety
/// The features of `V` are on; `src` has at least `N` vectors and at least 16 bytes; as [`avx512`].
#[inline(always)]
unsafe fn fold<V: Vector, const N: usize, const COPY: bool>(
    crc: &Crc,
    keys: &[u64; 2],
    start: u64,
    src: &[u8],
    dst: *mut u8,
) -> ([u8; 16], usize) {
    let (size, len) = (size_of::<V>(), src.len());
    let src = src.as_ptr();
    let mut at = 0;
    macro_rules! take {
        ($type:ty) => {{
            // SAFETY: whoever takes has seen that the source has these bytes, and so has the
            // destination if there is one.
            unsafe {
                let vector = <$type>::load(src.add(at));
                if COPY {
                    vector.store(dst.add(at));
                }
                at += size_of::<$type>();
                vector
            }
        }};
    }
    let mut sums = [V::keys(&[0, 0]); N];
    for sum in &mut sums {
        *sum = take!(V);
    }
    sums[0] = sums[0].with(start);
    let wide = V::keys(keys);
    while len - at >= N * size {
        for sum in &mut sums {
            *sum = sum.fold(wide, take!(V));
        }
    }
    let next = V::next_keys(crc);
    let mut sum = sums[0];
    for other in &sums[1..] {
        sum = sum.fold(next, *other);
    }
    while len - at >= size {
        sum = sum.fold(next, take!(V));
    }
    let mut bytes = [0; 64];
    // SAFETY: no vector has more than 64 bytes, and all have 16.
    let (mut last, keys) = unsafe {
        sum.store(bytes.as_mut_ptr());
        (__m128i::load(bytes.as_ptr()), __m128i::next_keys(crc))
    };
    for i in 1..size / 16 {
        // SAFETY: the register `i` of the vector.
        last = last.fold(keys, unsafe { __m128i::load(bytes.as_ptr().add(16 * i)) });
    }
    while len - at >= 16 {
        last = last.fold(keys, take!(__m128i));
    }
    let mut remainder = [0; 16];
    // SAFETY: 16 bytes.
    unsafe { last.store(remainder.as_mut_ptr()) };
    (remainder, at)
}
