//! SHA-1 and SHA-256 by the instructions for them, of `K` messages interleaved. A round waits for
//! the one before it, so that two messages take less time than one after the other; not half, as one
//! port runs all of these instructions (1.23 times the throughput on Sapphire Rapids for SHA-256). To
//! make the message schedule elsewhere, of both messages in one 256-bit register, costs a hundredfold
//! there: while the upper half of a register is in use, these instructions, which know no upper
//! halves, are that slow.
//!
//! Sources: Intel, "Intel SHA Extensions" (2013), for the order of the words in the registers.

use std::arch::x86_64::*;

use lookaside_simd::Sha;

use super::feed::Blocks;
use super::sha256::ROOTS;

/// Does something for each of `K` messages.
macro_rules! each {
    ($k:ident, $($code:tt)*) => {
        for $k in 0..K {
            $($code)*
        }
    };
}

/// # Safety
/// The states can be read and written, 20 bytes each; the blocks can be read, of 64 bytes.
#[target_feature(enable = "sha,avx2")]
pub(super) unsafe fn sha1<const K: usize>(_: Sha, states: &[*mut u8; K], blocks: &Blocks<K>) {
    let zero = _mm_setzero_si128();
    let reverse = _mm_set_epi64x(0x0001_0203_0405_0607, 0x0809_0a0b_0c0d_0e0f);
    // a to d from the highest word down, and e in the highest word.
    let (mut abcd, mut e) = ([zero; K], [zero; K]);
    each! { k,
        // SAFETY: by the caller, five words are there.
        let (four, fifth) = unsafe {
            (_mm_loadu_si128(states[k].cast()), states[k].cast::<i32>().add(4).read_unaligned())
        };
        abcd[k] = _mm_shuffle_epi32::<0x1b>(four);
        e[k] = _mm_set_epi32(fifth, 0, 0, 0);
    }
    for block in 0..blocks.len() {
        let (data, block) = blocks.at(block);
        let (abcd_start, e_start) = (abcd, e);
        let mut before = abcd;
        let mut w = [[zero; K]; 4];
        for (i, words) in w.iter_mut().enumerate() {
            each! { k,
                // SAFETY: by the caller, the block is there.
                let four = unsafe { _mm_loadu_si128(data[k].add(64 * block + 16 * i).cast()) };
                words[k] = _mm_shuffle_epi8(four, reverse);
            }
        }
        // Rounds 4 i to 4 i + 3.
        macro_rules! rounds {
            ($function:literal, $($i:literal)*) => { $(
                if $i >= 4 {
                    each! { k,
                        let mixed = _mm_sha1msg1_epu32(w[$i % 4][k], w[($i + 1) % 4][k]);
                        let mixed = _mm_xor_si128(mixed, w[($i + 2) % 4][k]);
                        w[$i % 4][k] = _mm_sha1msg2_epu32(mixed, w[($i + 3) % 4][k]);
                    }
                }
                each! { k,
                    let sum = match $i {
                        0 => _mm_add_epi32(e[k], w[$i % 4][k]),
                        _ => _mm_sha1nexte_epu32(before[k], w[$i % 4][k]),
                    };
                    before[k] = abcd[k];
                    abcd[k] = _mm_sha1rnds4_epu32::<$function>(abcd[k], sum);
                }
            )* };
        }
        rounds!(0, 0 1 2 3 4);
        rounds!(1, 5 6 7 8 9);
        rounds!(2, 10 11 12 13 14);
        rounds!(3, 15 16 17 18 19);
        each! { k,
            e[k] = _mm_sha1nexte_epu32(before[k], e_start[k]);
            abcd[k] = _mm_add_epi32(abcd[k], abcd_start[k]);
        }
    }
    each! { k,
        // SAFETY: by the caller, five words are there.
        unsafe {
            _mm_storeu_si128(states[k].cast(), _mm_shuffle_epi32::<0x1b>(abcd[k]));
            states[k].cast::<i32>().add(4).write_unaligned(_mm_extract_epi32::<3>(e[k]));
        }
    }
}

/// # Safety
/// The states can be read and written, 32 bytes each; the blocks can be read, of 64 bytes.
#[target_feature(enable = "sha,avx2")]
pub(super) unsafe fn sha256<const K: usize>(_: Sha, states: &[*mut u8; K], blocks: &Blocks<K>) {
    let zero = _mm_setzero_si128();
    let swap = _mm_set_epi64x(0x0c0d_0e0f_0809_0a0b, 0x0405_0607_0001_0203);
    let (mut abef, mut cdgh) = ([zero; K], [zero; K]);
    each! { k,
        // SAFETY: by the caller, eight words are there.
        (abef[k], cdgh[k]) = unsafe { load_sha256(states[k]) };
    }
    for block in 0..blocks.len() {
        let (data, block) = blocks.at(block);
        let (abef_start, cdgh_start) = (abef, cdgh);
        let mut w = [[zero; K]; 4];
        for (i, words) in w.iter_mut().enumerate() {
            each! { k,
                // SAFETY: by the caller, the block is there.
                let four = unsafe { _mm_loadu_si128(data[k].add(64 * block + 16 * i).cast()) };
                words[k] = _mm_shuffle_epi8(four, swap);
            }
        }
        // Rounds 4 i to 4 i + 3.
        macro_rules! rounds {
            ($($i:literal)*) => { $(
                if $i >= 4 {
                    each! { k,
                        let old = _mm_sha256msg1_epu32(w[$i % 4][k], w[($i + 1) % 4][k]);
                        let seven = _mm_alignr_epi8::<4>(w[($i + 3) % 4][k], w[($i + 2) % 4][k]);
                        let sum = _mm_add_epi32(old, seven);
                        w[$i % 4][k] = _mm_sha256msg2_epu32(sum, w[($i + 3) % 4][k]);
                    }
                }
                // SAFETY: four constants from 4 i on are there.
                let constants = unsafe { _mm_loadu_si128(ROOTS.as_ptr().add(4 * $i).cast()) };
                each! { k,
                    let sum = _mm_add_epi32(w[$i % 4][k], constants);
                    cdgh[k] = _mm_sha256rnds2_epu32(cdgh[k], abef[k], sum);
                    let upper = _mm_shuffle_epi32::<0x0e>(sum);
                    abef[k] = _mm_sha256rnds2_epu32(abef[k], cdgh[k], upper);
                }
            )* };
        }
        rounds!(0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        each! { k,
            abef[k] = _mm_add_epi32(abef[k], abef_start[k]);
            cdgh[k] = _mm_add_epi32(cdgh[k], cdgh_start[k]);
        }
    }
    each! { k,
        // SAFETY: by the caller, eight words are there.
        unsafe { store_sha256(states[k], abef[k], cdgh[k]) };
    }
}

/// The chaining value as the instructions take it: a, b, e, f, and c, d, g, h, from the highest
/// word down.
///
/// # Safety
/// Eight words can be read.
#[inline]
#[target_feature(enable = "sha,avx2")]
unsafe fn load_sha256(state: *const u8) -> (__m128i, __m128i) {
    // SAFETY: by the caller.
    let (abcd, efgh) =
        unsafe { (_mm_loadu_si128(state.cast()), _mm_loadu_si128(state.add(16).cast())) };
    let cdab = _mm_shuffle_epi32::<0xb1>(abcd);
    let hgfe = _mm_shuffle_epi32::<0x1b>(efgh);
    (_mm_alignr_epi8::<8>(cdab, hgfe), _mm_blend_epi16::<0xf0>(hgfe, cdab))
}

/// The way back of [`load_sha256`].
///
/// # Safety
/// Eight words can be written.
#[inline]
#[target_feature(enable = "sha,avx2")]
unsafe fn store_sha256(state: *mut u8, abef: __m128i, cdgh: __m128i) {
    let feba = _mm_shuffle_epi32::<0x1b>(abef);
    let dchg = _mm_shuffle_epi32::<0xb1>(cdgh);
    // SAFETY: by the caller.
    unsafe {
        _mm_storeu_si128(state.cast(), _mm_blend_epi16::<0xf0>(feba, dchg));
        _mm_storeu_si128(state.add(16).cast(), _mm_alignr_epi8::<8>(dchg, feba));
    }
}
