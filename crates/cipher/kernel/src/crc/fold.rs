//! Folding by carry-less multiplication (V. Gopal et al., "Fast CRC Computation for Generic
//! Polynomials Using PCLMULQDQ Instruction", Intel, 2009): 128 bits of data are replaced by something
//! that has the same remainder and stands further on, where it is added to the data.
//!
//! Eight vectors are folded at once, because a product takes four to eight cycles and one can begin in each
//! or every other; of short texts four, or one. What is left at last are 128 bits, of which the remainder is taken by Barrett's
//! reduction.

use std::arch::asm;
use std::arch::x86_64::*;

use lookaside_simd::{Avx2, Avx512, Vaes};

use super::tables::Crc;

/// Vectors at once.
const WIDE: usize = 8;

/// Fewer.
const FEW: usize = 4;

/// The fewest bytes that are folded.
pub(super) const LEAST: usize = 16;

/// The remainder after at least [`LEAST`] bytes, which are copied if `COPY`.
///
/// # Safety
/// If `COPY`, `dst` is valid for as many bytes as `src` has, and apart from it.
pub(super) unsafe fn avx512<const COPY: bool>(
    token: (Avx512, Avx2),
    crc: &Crc,
    start: u64,
    src: &[u8],
    dst: *mut u8,
) -> u64 {
    #[target_feature(enable = "avx512f,vpclmulqdq,pclmulqdq,avx2")]
    unsafe fn fold_512<const COPY: bool>(crc: &Crc, start: u64, src: &[u8], dst: *mut u8) -> u64 {
        // SAFETY: the features are on, the source is long enough, the rest is the caller's.
        unsafe { fold::<__m512i, WIDE, COPY>(crc, start, src, dst) }
    }
    // SAFETY: the token proves the features; the rest is the caller's.
    unsafe {
        match src.len() {
            512.. => fold_512::<COPY>(crc, start, src, dst),
            _ => avx2::<COPY>(token.1, crc, start, src, dst),
        }
    }
}

/// The same with vectors of 256 bits.
///
/// # Safety
/// As [`avx512`].
pub(super) unsafe fn vaes<const COPY: bool>(
    token: (Vaes, Avx2),
    crc: &Crc,
    start: u64,
    src: &[u8],
    dst: *mut u8,
) -> u64 {
    #[target_feature(enable = "vpclmulqdq,pclmulqdq,avx2")]
    unsafe fn fold_256<const COPY: bool>(crc: &Crc, start: u64, src: &[u8], dst: *mut u8) -> u64 {
        // SAFETY: the features are on, the source is long enough, the rest is the caller's.
        unsafe { fold::<__m256i, WIDE, COPY>(crc, start, src, dst) }
    }
    // SAFETY: the token proves the features; the rest is the caller's.
    unsafe {
        match src.len() {
            256.. => fold_256::<COPY>(crc, start, src, dst),
            _ => avx2::<COPY>(token.1, crc, start, src, dst),
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
) -> u64 {
    #[target_feature(enable = "pclmulqdq,avx2")]
    unsafe fn fold_128<const COPY: bool>(crc: &Crc, start: u64, src: &[u8], dst: *mut u8) -> u64 {
        // SAFETY: the features are on, the source is long enough, the rest is the caller's.
        unsafe {
            match src.len() {
                ..64 => fold::<__m128i, 1, COPY>(crc, start, src, dst),
                64..256 => fold::<__m128i, FEW, COPY>(crc, start, src, dst),
                _ => fold::<__m128i, WIDE, COPY>(crc, start, src, dst),
            }
        }
    }
    // SAFETY: the token proves the features; the rest is the caller's.
    unsafe { fold_128::<COPY>(crc, start, src, dst) }
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
}

impl Vector for __m256i {
    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller's; only functions with AVX2 use this.
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut u8) {
        // SAFETY: the caller's; only functions with AVX2 use this.
        unsafe { store_256(self, to) }
    }
    #[inline(always)]
    fn with(self, low: u64) -> Self {
        // SAFETY: only functions with AVX2 use this.
        unsafe { _mm256_xor_si256(self, _mm256_setr_epi64x(low as i64, 0, 0, 0)) }
    }
    #[inline(always)]
    fn keys(keys: &[u64; 2]) -> Self {
        // SAFETY: only functions with AVX2 use this.
        unsafe { _mm256_broadcastsi128_si256(__m128i::keys(keys)) }
    }
    #[inline(always)]
    fn fold(self, keys: Self, next: Self) -> Self {
        // SAFETY: only functions with VPCLMULQDQ use this.
        unsafe {
            let low = _mm256_clmulepi64_epi128::<0x00>(self, keys);
            let high = _mm256_clmulepi64_epi128::<0x11>(self, keys);
            _mm256_xor_si256(_mm256_xor_si256(low, high), next)
        }
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
}

/// See the store of 128 bits.
///
/// # Safety
/// `to` is valid for 32 bytes.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_256(vector: __m256i, to: *mut u8) {
    // SAFETY: the caller's.
    unsafe {
        asm!("vmovdqu [{}], {}", in(reg) to, in(ymm_reg) vector, options(nostack, preserves_flags))
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

/// The remainder after `src`: `N` vectors at a time, then one, then sixteen bytes, then what is left.
///
/// # Safety
/// The features of `V`, PCLMULQDQ and AVX2 are on; `src` has at least `N` vectors and at least 16 bytes; as
/// [`avx512`].
#[inline(always)]
unsafe fn fold<V: Vector, const N: usize, const COPY: bool>(
    crc: &Crc,
    start: u64,
    src: &[u8],
    dst: *mut u8,
) -> u64 {
    let (size, len) = (size_of::<V>(), src.len());
    let registers = size / 16;
    let by = &crc.keys.by;
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
    let wide = V::keys(&by[N * registers]);
    while len - at >= N * size {
        for sum in &mut sums {
            *sum = sum.fold(wide, take!(V));
        }
    }
    // Each moved to the last, side by side.
    let mut sum = sums[N - 1];
    for (i, other) in sums[..N - 1].iter().enumerate() {
        sum = other.fold(V::keys(&by[(N - 1 - i) * registers]), sum);
    }
    let next = V::keys(&by[registers]);
    while len - at >= size {
        sum = sum.fold(next, take!(V));
    }
    let mut bytes = [0; 64];
    // SAFETY: no vector has more than 64 bytes.
    unsafe { sum.store(bytes.as_mut_ptr()) };
    // SAFETY: the register `i` of the vector.
    let register = |i: usize| unsafe { __m128i::load(bytes.as_ptr().add(16 * i)) };
    let mut last = register(registers - 1);
    for i in 0..registers - 1 {
        last = register(i).fold(__m128i::keys(&by[registers - 1 - i]), last);
    }
    let next = __m128i::keys(&by[1]);
    while len - at >= 16 {
        last = last.fold(next, take!(__m128i));
    }
    // SAFETY: the features are on; the source has at least 16 bytes.
    unsafe {
        if at < len {
            if COPY {
                src.add(at).copy_to_nonoverlapping(dst.add(at), len - at);
            }
            last = with_tail(crc, last, len - at, __m128i::load(src.add(len - 16)));
        }
        end(crc, last)
    }
}

/// The first `N` bytes of a shuffle clear, the last keep their place: from `16 - n` on, it shifts by `n`.
static SHIFTS: [u8; 48] = {
    let mut shifts = [0x80; 48];
    let mut i = 0;
    while i < 16 {
        shifts[16 + i] = i as u8;
        i += 1;
    }
    shifts
};

/// What has the remainder of `sum` and the `more` bytes behind it, 1 to 15: the last of the 16 bytes that
/// the text ends with.
#[inline]
#[target_feature(enable = "pclmulqdq,avx2")]
fn with_tail(crc: &Crc, sum: __m128i, more: usize, text: __m128i) -> __m128i {
    // SAFETY: `more` is below 16, so both lie within the table.
    let (first, rest) = unsafe {
        let at = SHIFTS.as_ptr().add(more);
        (__m128i::load(at), __m128i::load(at.add(16)))
    };
    // The first `more` bytes of the sum move on by a register; the rest of them, and the text, follow.
    let following = _mm_or_si128(
        _mm_shuffle_epi8(sum, rest),
        _mm_blendv_epi8(text, _mm_setzero_si128(), first),
    );
    _mm_shuffle_epi8(sum, first).fold(__m128i::keys(&crc.keys.by[1]), following)
}

/// The remainder of 128 bits, moved by 64: see [`Keys`](super::tables::Keys).
///
/// With `A x^64 + B` after the first step: the quotient `Q` of `A x^64` by `P` is the upper half of the
/// product of `A` by the quotient of `x^128` by `P`, and the remainder is the lower half of `Q P`, plus `B`.
#[inline]
#[target_feature(enable = "pclmulqdq,avx2")]
fn end(crc: &Crc, sum: __m128i) -> u64 {
    let [moved, quotient, polynomial] = crc.keys.end.map(|key| _mm_cvtsi64_si128(key as i64));
    let sum = _mm_xor_si128(_mm_clmulepi64_si128::<0x00>(sum, moved), _mm_srli_si128::<8>(sum));
    let quotient = _mm_clmulepi64_si128::<0x00>(sum, quotient);
    let product = _mm_clmulepi64_si128::<0x00>(quotient, polynomial);
    let last = _mm_cvtsi128_si64(quotient) as u64 & crc.keys.odd;
    _mm_extract_epi64::<1>(_mm_xor_si128(product, sum)) as u64 ^ last
}
