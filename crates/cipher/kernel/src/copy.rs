//! The data mover: copy, fill, compare.
//!
//! Copying is the C library's, but for middle lengths on CPUs of the AVX2 tier, where glibc uses
//! `rep movsb`: see [`copy`]. The other two are loops over pieces of 64 bytes, compiled once for every
//! tier.
//!
//! Nothing here is constant time: [`compare`] stops at the first difference, so it is not for tags.
//!
//! Tests: `tests/crc.rs`; bench: `benches/mover.rs`.

use lookaside_simd::Cpu;

/// Bytes at once.
const PIECE: usize = 64;

/// The lengths that [`copy`] does itself with AVX2. Below, a call of `memcpy` takes no longer; above, it
/// goes around the caches.
#[cfg(target_arch = "x86_64")]
const OWN: std::ops::Range<usize> = 2048..768 << 10;

/// Copies `src` to the start of `dst`.
///
/// With AVX2 and without AVX-512, 2 to 768 KiB are four vectors at a time, stored where `dst` meets
/// them. glibc has `rep movsb` there, which takes three to four times as long on Zen 3 if source and
/// destination do not begin alike. Everything else is `memcpy`.
///
/// # Panics
/// When `dst` is shorter than `src`.
#[inline]
pub fn copy(cpu: &Cpu, src: &[u8], dst: &mut [u8]) {
    let dst = &mut dst[..src.len()];
    #[cfg(target_arch = "x86_64")]
    if OWN.contains(&src.len())
        && cpu.avx512().is_none()
        && let Some(token) = cpu.avx2()
    {
        return copy_avx2(token, src, dst);
    }
    let _ = cpu;
    dst.copy_from_slice(src);
}

/// Fills `dst` with `pattern` again and again, from its first byte on; the last one is cut off where
/// `dst` ends.
///
/// A pattern of one byte is the C library's `memset`. Every other, whether its length divides 64 or
/// not, is one read from the first cache and one write for 64 bytes after a preparation of some tens
/// of nanoseconds; `memset` is quicker for short destinations, and for long ones by the reads of
/// cache lines that it spares itself. Patterns longer than 64 bytes work too, by copies.
///
/// # Panics
/// When the pattern is empty and `dst` is not.
pub fn fill(cpu: &Cpu, dst: &mut [u8], pattern: &[u8]) {
    match pattern {
        _ if dst.is_empty() => {}
        [] => panic!("an empty pattern fills nothing"),
        [byte] => dst.fill(*byte),
        _ if pattern.len() > PIECE => {
            for piece in dst.chunks_mut(pattern.len()) {
                piece.copy_from_slice(&pattern[..piece.len()]);
            }
        }
        _ => {
            // From any place in the first pattern 64 bytes go on as the pattern does.
            let mut repeated = [0; 2 * PIECE];
            repeated[..pattern.len()].copy_from_slice(pattern);
            let mut len = pattern.len();
            while len < repeated.len() {
                let (done, rest) = repeated.split_at_mut(len);
                let more = len.min(rest.len());
                rest[..more].copy_from_slice(&done[..more]);
                len += more;
            }
            #[cfg(target_arch = "x86_64")]
            {
                if let Some(token) = cpu.avx512() {
                    return fill_avx512(token, dst, &repeated, pattern.len());
                }
                if let Some(token) = cpu.avx2() {
                    return fill_avx2(token, dst, &repeated, pattern.len());
                }
            }
            let _ = cpu;
            fill_pieces(dst, &repeated, pattern.len());
        }
    }
}

/// The offset of the first byte in which `a` and `b` differ: the length of the shorter where that is
/// the beginning of the longer, `None` where both are equal.
pub fn compare(cpu: &Cpu, a: &[u8], b: &[u8]) -> Option<usize> {
    let len = a.len().min(b.len());
    let (head_a, head_b) = (&a[..len], &b[..len]);
    #[cfg(target_arch = "x86_64")]
    let at = match (cpu.avx512(), cpu.avx2()) {
        (Some(token), _) => compare_avx512(token, head_a, head_b),
        (_, Some(token)) => compare_avx2(token, head_a, head_b),
        _ => compare_pieces(head_a, head_b),
    };
    #[cfg(not(target_arch = "x86_64"))]
    let at = compare_pieces(head_a, head_b);
    let _ = cpu;
    at.or((a.len() != b.len()).then_some(len))
}

#[inline(always)]
fn fill_pieces(dst: &mut [u8], repeated: &[u8; 2 * PIECE], period: usize) {
    let step = PIECE % period;
    let mut phase = 0;
    let (pieces, tail) = dst.as_chunks_mut::<PIECE>();
    for piece in pieces {
        piece.copy_from_slice(&repeated[phase..phase + PIECE]);
        phase += step;
        if phase >= period {
            phase -= period;
        }
    }
    let len = tail.len();
    tail.copy_from_slice(&repeated[phase..phase + len]);
}

/// Whole pieces until one differs, then its bytes.
#[inline(always)]
fn compare_pieces(a: &[u8], b: &[u8]) -> Option<usize> {
    let (pieces_a, pieces_b) = (a.as_chunks::<PIECE>().0, b.as_chunks::<PIECE>().0);
    let equal = pieces_a.len().min(pieces_b.len());
    let same = (0..equal).find(|i| differs(&pieces_a[*i], &pieces_b[*i])).unwrap_or(equal);
    let from = same * PIECE;
    a[from..].iter().zip(&b[from..]).position(|(a, b)| a != b).map(|at| from + at)
}

#[inline(always)]
fn differs(a: &[u8; PIECE], b: &[u8; PIECE]) -> bool {
    let mut all = 0;
    for (a, b) in a.as_chunks::<8>().0.iter().zip(b.as_chunks::<8>().0) {
        all |= u64::from_ne_bytes(*a) ^ u64::from_ne_bytes(*b);
    }
    all != 0
}

/// As [`copy`]: equal lengths of [`OWN`].
#[cfg(target_arch = "x86_64")]
fn copy_avx2(_: lookaside_simd::Avx2, src: &[u8], dst: &mut [u8]) {
    use std::arch::x86_64::*;

    /// Bytes of a vector, and of a step.
    const VECTOR: usize = 32;
    const STEP: usize = 4 * VECTOR;

    /// Four vectors from `src` to `dst`.
    ///
    /// # Safety
    /// Both are valid for [`STEP`] bytes.
    #[inline]
    #[target_feature(enable = "avx2")]
    unsafe fn step(src: *const u8, dst: *mut u8) {
        // SAFETY: the caller's.
        unsafe {
            let a = _mm256_loadu_si256(src.cast());
            let b = _mm256_loadu_si256(src.add(VECTOR).cast());
            let c = _mm256_loadu_si256(src.add(2 * VECTOR).cast());
            let d = _mm256_loadu_si256(src.add(3 * VECTOR).cast());
            _mm256_storeu_si256(dst.cast(), a);
            _mm256_storeu_si256(dst.add(VECTOR).cast(), b);
            _mm256_storeu_si256(dst.add(2 * VECTOR).cast(), c);
            _mm256_storeu_si256(dst.add(3 * VECTOR).cast(), d);
        }
    }

    #[target_feature(enable = "avx2")]
    fn go(src: &[u8], dst: &mut [u8]) {
        let last = src.len().min(dst.len()) - STEP;
        // The first vector; then from where `dst` meets one: a store across two cache lines takes twice
        // as long.
        let mut at = VECTOR - dst.as_ptr().addr() % VECTOR;
        let (src, dst) = (src.as_ptr(), dst.as_mut_ptr());
        // SAFETY: the length is several steps. The last four vectors end where the texts do.
        unsafe {
            _mm256_storeu_si256(dst.cast(), _mm256_loadu_si256(src.cast()));
            while at < last {
                step(src.add(at), dst.add(at));
                at += STEP;
            }
            step(src.add(last), dst.add(last));
        }
    }
    // SAFETY: the token proves the feature.
    unsafe { go(src, dst) }
}

#[cfg(target_arch = "x86_64")]
fn fill_avx2(_: lookaside_simd::Avx2, dst: &mut [u8], repeated: &[u8; 2 * PIECE], period: usize) {
    #[target_feature(enable = "avx2")]
    fn go(dst: &mut [u8], repeated: &[u8; 2 * PIECE], period: usize) {
        fill_pieces(dst, repeated, period);
    }
    // SAFETY: the token proves the feature.
    unsafe { go(dst, repeated, period) }
}

#[cfg(target_arch = "x86_64")]
fn fill_avx512(
    _: lookaside_simd::Avx512,
    dst: &mut [u8],
    repeated: &[u8; 2 * PIECE],
    period: usize,
) {
    use std::arch::x86_64::{_mm512_loadu_si512, _mm512_mask_storeu_epi8, _mm512_storeu_si512};

    #[target_feature(enable = "avx512f,avx512bw")]
    fn go(dst: &mut [u8], repeated: &[u8; 2 * PIECE], period: usize) {
        // From where `dst` meets a cache line: a write across two takes twice as long.
        let head = dst.as_ptr().align_offset(PIECE).min(dst.len());
        let (first, dst) = dst.split_at_mut(head);
        first.copy_from_slice(&repeated[..head]);
        // Four pieces have a phase each, so that none waits for the one before it.
        let mut phases = [0, 1, 2, 3].map(|i| (head + i * PIECE) % period);
        let step = 4 * PIECE % period;
        let (fours, tail) = dst.as_chunks_mut::<{ 4 * PIECE }>();
        for four in fours {
            for (piece, phase) in four.as_chunks_mut::<PIECE>().0.iter_mut().zip(&mut phases) {
                // SAFETY: the phase is below the period, which is 64 at most: 64 bytes of 128, to 64.
                unsafe {
                    let bytes = _mm512_loadu_si512(repeated.as_ptr().add(*phase).cast());
                    _mm512_storeu_si512(piece.as_mut_ptr().cast(), bytes);
                }
                *phase += step;
                if *phase >= period {
                    *phase -= period;
                }
            }
        }
        for (piece, phase) in tail.chunks_mut(PIECE).zip(phases) {
            let mask = !0 >> (PIECE - piece.len());
            // SAFETY: as above, and the mask covers the piece, which is not empty.
            unsafe {
                let bytes = _mm512_loadu_si512(repeated.as_ptr().add(phase).cast());
                _mm512_mask_storeu_epi8(piece.as_mut_ptr().cast(), mask, bytes);
            }
        }
    }
    // SAFETY: the token proves the feature.
    unsafe { go(dst, repeated, period) }
}

#[cfg(target_arch = "x86_64")]
fn compare_avx2(_: lookaside_simd::Avx2, a: &[u8], b: &[u8]) -> Option<usize> {
    #[target_feature(enable = "avx2")]
    fn go(a: &[u8], b: &[u8]) -> Option<usize> {
        compare_pieces(a, b)
    }
    // SAFETY: the token proves the feature.
    unsafe { go(a, b) }
}

#[cfg(target_arch = "x86_64")]
fn compare_avx512(_: lookaside_simd::Avx512, a: &[u8], b: &[u8]) -> Option<usize> {
    use std::arch::x86_64::*;

    /// Pieces between two questions whether any differs.
    const PIECES: usize = 4;

    #[target_feature(enable = "avx512f,avx512bw")]
    fn go(a: &[u8], b: &[u8]) -> Option<usize> {
        let len = a.len().min(b.len());
        let (a, b) = (a.as_ptr(), b.as_ptr());
        let mut at = 0;
        while len - at >= PIECES * PIECE {
            let mut all = _mm512_setzero_si512();
            for i in 0..PIECES {
                // SAFETY: 256 bytes are left of both.
                let (a, b) = unsafe {
                    let from = at + i * PIECE;
                    (_mm512_loadu_si512(a.add(from).cast()), _mm512_loadu_si512(b.add(from).cast()))
                };
                // 0xf6: the first, or the exclusive or of the others.
                all = _mm512_ternarylogic_epi64::<0xf6>(all, a, b);
            }
            if _mm512_test_epi64_mask(all, all) != 0 {
                break;
            }
            at += PIECES * PIECE;
        }
        while at < len {
            let mask = !0 >> (PIECE - (len - at).min(PIECE));
            // SAFETY: the mask covers what is left of both, at most 64 bytes.
            let different = unsafe {
                let a = _mm512_maskz_loadu_epi8(mask, a.add(at).cast());
                let b = _mm512_maskz_loadu_epi8(mask, b.add(at).cast());
                _mm512_cmpneq_epi8_mask(a, b)
            };
            if different != 0 {
                return Some(at + different.trailing_zeros() as usize);
            }
            at += PIECE;
        }
        None
    }
    // SAFETY: the token proves the features.
    unsafe { go(a, b) }
}
