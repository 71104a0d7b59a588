//! The places of classes of bytes.
//!
//! ```text
//! for each byte b and each class k:
//!     AVX-512, portable    bit := table[b] >> k & 1               a table for eight classes
//!     AVX2                 halves := low[b & 15] if b < 128 else high[b & 15]
//!                          bit := halves >> (b >> 4 & 7) & 1      two tables for each class
//! ```
//!
//! Shapes: up to 1,024 bytes, into words of 64 bits; behind the last byte all bits are 0. CPU features: AVX-512 F, BW and
//! VBMI, or AVX2; a portable twin. Not constant time. Source: that two look-ups of nibbles are enough for any class is known from
//! Hyperscan ("truffle", Wang and others 2019); the large table is looked up as the vector filter of `literal` does. Covered by
//! the tests of `bitwise`.
//!
//! 1. Most classes have no byte above 127: half of the look-ups are left out then.
//! 2. A byte shuffle gives 0 where the index has its highest bit: it tells the two tables apart without a branch.
//! 3. The last bytes are loaded under a mask, or copied before zeros, which keeps loads from reading behind them.

#![allow(unsafe_code)]

use super::{BLOCK, Places};
use crate::isa::Isa;
use crate::node::ByteSet;

/// Classes of one table.
const EIGHT: usize = 8;

/// Classes of bytes, as tables.
#[derive(Clone, Debug)]
pub(super) struct Classes(Box<[Eight]>);

/// Up to eight classes.
#[derive(Clone, Debug)]
struct Eight {
    /// By the byte, a bit for each class.
    table: [u8; 256],
    /// No byte above 127 is in any of them.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    ascii: bool,
    /// A bit for the set of each of them.
    mask: u64,
    /// Which set each of them is.
    numbers: Box<[u8]>,
    /// Of each, of bytes below 128 and of others: by the low half, a bit for each high half.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    halves: Box<[[[u8; 16]; 2]]>,
}

impl Classes {
    /// Of classes, each with the number of its set.
    pub(super) fn new(all: &[(u8, ByteSet)]) -> Classes {
        let halves = |(_, bytes): &(u8, ByteSet)| {
            let mut halves = [[0; 16]; 2];
            for byte in bytes.iter() {
                halves[usize::from(byte >> 7)][usize::from(byte & 15)] |= 1 << (byte >> 4 & 7);
            }
            halves
        };
        let eight = |all: &[(u8, ByteSet)]| {
            let mut table = [0; 256];
            for (bit, (_, bytes)) in all.iter().enumerate() {
                bytes.iter().for_each(|byte| table[usize::from(byte)] |= 1 << bit);
            }
            let ascii = table[128..].iter().all(|bits| *bits == 0);
            let numbers: Box<[u8]> = all.iter().map(|(number, _)| *number).collect();
            let mask =
                numbers.iter().fold(0, |mask, number| mask | 1_u64.wrapping_shl((*number).into()));
            Eight { table, ascii, mask, numbers, halves: all.iter().map(halves).collect() }
        };
        Classes(all.chunks(EIGHT).map(eight).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(|eight| eight.numbers.len()).sum()
    }

    pub(super) fn memory(&self) -> usize {
        size_of_val(&*self.0) + self.len() * (1 + 32)
    }

    /// The places of each class that is needed (a bit for each set) in `text`, of at most [`BLOCK`] bytes, in the set of its
    /// number. Words behind the text are left as they are.
    #[inline]
    pub(super) fn places(&self, isa: Isa, text: &[u8], needs: u64, sets: &mut [Places]) {
        assert!(text.len() <= BLOCK);
        for eight in self.0.iter().filter(|eight| eight.mask & needs != 0) {
            match isa {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the token proves the features.
                Isa::Avx512(_) => unsafe {
                    match eight.ascii {
                        true => x86::avx512::<true>(eight, text, sets),
                        false => x86::avx512::<false>(eight, text, sets),
                    }
                },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the token proves the features.
                Isa::Avx2(_) => unsafe {
                    match eight.ascii {
                        true => x86::avx2::<true>(eight, text, sets),
                        false => x86::avx2::<false>(eight, text, sets),
                    }
                },
                _ => generic(eight, text, sets),
            }
        }
    }

    /// Whether any byte of `text` is in one of the classes, of which there is at most one.
    pub(super) fn any(&self, isa: Isa, text: &[u8]) -> bool {
        let Some(eight) = self.0.first() else { return false };
        let (whole, rest) = text.as_chunks::<64>();
        // The last ones with some of those before, or with one of them again and again.
        let last: [u8; 64] = match (text.last_chunk(), rest) {
            (Some(last), _) => *last,
            (None, &[first, ..]) => {
                let mut last = [first; 64];
                last[..rest.len()].copy_from_slice(rest);
                last
            }
            (None, []) => return false,
        };
        let last = if rest.is_empty() { &[][..] } else { std::slice::from_ref(&last) };
        let of = |bytes: &[u8]| bytes.iter().any(|byte| eight.table[usize::from(*byte)] != 0);
        [whole, last].into_iter().any(|words| match (isa, &eight.halves[..]) {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the token proves the features.
            (Isa::Avx512(_), [halves]) => unsafe { x86::any_avx512(halves, words) },
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the token proves the features.
            (Isa::Avx2(_), [halves]) => unsafe { x86::any_avx2(halves, words) },
            _ => of(words.as_flattened()),
        })
    }
}

/// Calls `each` with words of 64 bytes, the last one padded with zeros, with its number and the places that are there.
#[inline(always)]
fn words(text: &[u8], mut each: impl FnMut(&[u8; 64], usize, u64)) {
    let (whole, rest) = text.as_chunks::<64>();
    whole.iter().enumerate().for_each(|(word, bytes)| each(bytes, word, u64::MAX));
    if !rest.is_empty() {
        let mut last = [0; 64];
        last[..rest.len()].copy_from_slice(rest);
        each(&last, whole.len(), u64::MAX >> (64 - rest.len()));
    }
}

fn generic(eight: &Eight, text: &[u8], sets: &mut [Places]) {
    words(text, |bytes, word, lanes| {
        let looked_up = bytes.map(|byte| eight.table[usize::from(byte)]);
        for (bit, number) in eight.numbers.iter().enumerate() {
            let bits = looked_up.as_chunks::<8>().0.iter().rev().fold(0, |bits, eight| {
                let ones = u64::from_le_bytes(*eight) >> bit & 0x0101_0101_0101_0101;
                // Brings the lowest bits of eight bytes together.
                bits << 8 | ones.wrapping_mul(0x0102_0408_1020_4080) >> 56
            });
            sets[usize::from(*number)][word] = bits & lanes;
        }
    });
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use std::arch::x86_64::*;

    use super::{Eight, words};
    use crate::bitwise::Places;

    /// By the high half of a byte: the bit that it has in a table.
    const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    pub(super) fn avx512<const ASCII: bool>(eight: &Eight, text: &[u8], sets: &mut [Places]) {
        let [a, b, c, d] = [0, 1, 2, 3].map(|quarter| {
            let bytes: *const u8 = eight.table[64 * quarter..][..64].as_ptr();
            // SAFETY: 64 bytes.
            unsafe { _mm512_loadu_si512(bytes.cast()) }
        });
        for (word, bytes) in text.chunks(64).enumerate() {
            let lanes = u64::MAX >> (64 - bytes.len());
            // SAFETY: what is loaded is within the text.
            let bytes = unsafe { _mm512_maskz_loadu_epi8(lanes, bytes.as_ptr().cast()) };
            let high = _mm512_movepi8_mask(bytes);
            let classes = if ASCII {
                _mm512_maskz_permutex2var_epi8(!high, a, bytes, b)
            } else {
                let low = _mm512_permutex2var_epi8(a, bytes, b);
                _mm512_mask_mov_epi8(low, high, _mm512_permutex2var_epi8(c, bytes, d))
            };
            let mut bit = _mm512_set1_epi8(1);
            for number in &eight.numbers {
                sets[usize::from(*number)][word] = _mm512_mask_test_epi8_mask(lanes, classes, bit);
                bit = _mm512_add_epi8(bit, bit);
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    pub(super) fn any_avx512(halves: &[[u8; 16]; 2], text: &[[u8; 64]]) -> bool {
        let table = |bytes: &[u8; 16]| {
            // SAFETY: 16 bytes.
            _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        };
        let [low, high, bits] = [&halves[0], &halves[1], &BITS].map(table);
        let mut any = _mm512_setzero_si512();
        for bytes in text {
            // SAFETY: 64 bytes.
            let bytes = unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) };
            let other = _mm512_xor_si512(bytes, _mm512_set1_epi8(-128));
            let halves =
                _mm512_or_si512(_mm512_shuffle_epi8(low, bytes), _mm512_shuffle_epi8(high, other));
            let upper = _mm512_and_si512(_mm512_srli_epi16::<4>(bytes), _mm512_set1_epi8(15));
            let within = _mm512_and_si512(halves, _mm512_shuffle_epi8(bits, upper));
            any = _mm512_or_si512(any, within);
        }
        _mm512_test_epi8_mask(any, any) != 0
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn any_avx2(halves: &[[u8; 16]; 2], text: &[[u8; 64]]) -> bool {
        let table = |bytes: &[u8; 16]| {
            // SAFETY: 16 bytes.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        };
        let [low, high, bits] = [&halves[0], &halves[1], &BITS].map(table);
        let mut any = _mm256_setzero_si256();
        for bytes in text.as_flattened().as_chunks::<32>().0 {
            // SAFETY: 32 bytes.
            let bytes = unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) };
            let other = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
            let halves =
                _mm256_or_si256(_mm256_shuffle_epi8(low, bytes), _mm256_shuffle_epi8(high, other));
            let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(15));
            let within = _mm256_and_si256(halves, _mm256_shuffle_epi8(bits, upper));
            any = _mm256_or_si256(any, within);
        }
        _mm256_testz_si256(any, any) == 0
    }

    #[target_feature(enable = "avx2")]
    pub(super) fn avx2<const ASCII: bool>(eight: &Eight, text: &[u8], sets: &mut [Places]) {
        let table = |bytes: &[u8; 16]| {
            // SAFETY: 16 bytes.
            _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(bytes.as_ptr().cast()) })
        };
        let (all, fifteen) = (table(&BITS), _mm256_set1_epi8(15));
        words(text, |text, word, lanes| {
            let halves = [0, 32].map(|at| {
                // SAFETY: 32 of 64 bytes.
                let bytes = unsafe { _mm256_loadu_si256(text.as_ptr().add(at).cast()) };
                let upper = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), fifteen);
                (bytes, _mm256_shuffle_epi8(all, upper))
            });
            for (number, halves_of) in eight.numbers.iter().zip(&eight.halves) {
                let [low, high] = [0, 1].map(|i| table(&halves_of[i]));
                let [first, second] = halves.map(|(bytes, bit)| {
                    let mut halves = _mm256_shuffle_epi8(low, bytes);
                    if !ASCII {
                        let other = _mm256_xor_si256(bytes, _mm256_set1_epi8(-128));
                        halves = _mm256_or_si256(halves, _mm256_shuffle_epi8(high, other));
                    }
                    let within = _mm256_cmpeq_epi8(_mm256_and_si256(halves, bit), bit);
                    u64::from(_mm256_movemask_epi8(within) as u32)
                });
                sets[usize::from(*number)][word] = (first | second << 32) & lanes;
            }
        });
    }
}
