//! The key expansion of FIPS 197 section 5.2, and that of the equivalent inverse cipher (5.3.5).

use core::arch::x86_64::{
    __m128i, _mm_aesenclast_si128, _mm_aesimc_si128, _mm_cvtsi128_si32, _mm_loadu_si128,
    _mm_set1_epi32, _mm_setzero_si128, _mm_shuffle_epi8, _mm_shuffle_epi32, _mm_slli_si128,
    _mm_storeu_si128, _mm_xor_si128,
};

use zeroize::Zeroizing;

use super::{BLOCK, Schedule};

/// The schedule of encryption. The key has 16, 24 or 32 bytes.
#[target_feature(enable = "aes,avx2")]
pub(super) fn expand(key: &[u8], schedule: &mut Schedule) {
    schedule.rounds = key.len() / 4 + 6;
    match key.as_chunks::<BLOCK>() {
        ([key], []) => expand_128(key, schedule),
        ([low, high], []) => expand_256(low, high, schedule),
        _ => expand_words(key, schedule),
    }
}

/// Keys of 128 bits: each round key is made of the one before.
#[target_feature(enable = "aes,avx2")]
fn expand_128(key: &[u8; BLOCK], schedule: &mut Schedule) {
    let (mut key, mut constant) = (load(key), 1);
    for place in &mut schedule.keys[..10] {
        store(place, key);
        key = _mm_xor_si128(running_sums(key), rotated_last_word(key, constant));
        constant = times_x(constant);
    }
    store(&mut schedule.last, key);
}

/// Keys of 256 bits: each round key is made of the two before. The words in the middle of a key are
/// substituted without rotation and constant.
#[target_feature(enable = "aes,avx2")]
fn expand_256(low: &[u8; BLOCK], high: &[u8; BLOCK], schedule: &mut Schedule) {
    let (mut low, mut high, mut constant) = (load(low), load(high), 1);
    for [even, odd] in schedule.keys.as_chunks_mut().0 {
        store(even, low);
        store(odd, high);
        low = _mm_xor_si128(running_sums(low), rotated_last_word(high, constant));
        let word = _mm_shuffle_epi32::<0xff>(low);
        let word = _mm_aesenclast_si128(word, _mm_setzero_si128());
        high = _mm_xor_si128(running_sums(high), word);
        constant = times_x(constant);
    }
    store(&mut schedule.last, low);
}

/// Any key, word by word: those of 192 bits, which are no whole number of round keys.
#[target_feature(enable = "aes,avx2")]
fn expand_words(key: &[u8], schedule: &mut Schedule) {
    let (key_words, rounds) = (key.len() / 4, schedule.rounds);
    let mut words = Zeroizing::new([0u32; 60]);
    for (word, bytes) in words.iter_mut().zip(key.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    let mut constant = 1i32;
    for i in key_words..4 * (rounds + 1) {
        let mut word = words[i - 1];
        if i % key_words == 0 {
            word = substitute(word.rotate_right(8)) ^ constant.cast_unsigned();
            constant = times_x(constant);
        } else if key_words == 8 && i % 8 == 4 {
            word = substitute(word);
        }
        words[i] = words[i - key_words] ^ word;
    }
    for (i, words) in words.as_chunks::<4>().0.iter().take(rounds + 1).enumerate() {
        let key = if i == rounds { &mut schedule.last } else { &mut schedule.keys[i] };
        for (bytes, word) in key.as_chunks_mut().0.iter_mut().zip(words) {
            *bytes = word.to_le_bytes();
        }
    }
}

/// The schedule of decryption.
#[target_feature(enable = "aes,avx2")]
pub(super) fn invert(encrypt: &Schedule, decrypt: &mut Schedule) {
    let rounds = encrypt.rounds;
    decrypt.rounds = rounds;
    decrypt.keys[0] = encrypt.last;
    decrypt.last = encrypt.keys[0];
    for (key, place) in encrypt.keys[1..rounds].iter().zip(decrypt.keys[1..rounds].iter_mut().rev())
    {
        store(place, _mm_aesimc_si128(load(key)));
    }
}

/// Times x in GF(2^8).
#[inline(always)]
fn times_x(constant: i32) -> i32 {
    (constant << 1) ^ ((constant >> 7) * 0x11b)
}

/// Each word XORed with those before it.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn running_sums(words: __m128i) -> __m128i {
    let pairs = _mm_xor_si128(words, _mm_slli_si128::<4>(words));
    _mm_xor_si128(pairs, _mm_slli_si128::<8>(pairs))
}

/// The last word rotated and substituted, XORed with the constant; in each word of the result.
#[target_feature(enable = "aes,avx2")]
#[inline]
fn rotated_last_word(key: __m128i, constant: i32) -> __m128i {
    // With all columns of the state equal, ShiftRows changes nothing.
    let rotated = _mm_shuffle_epi8(key, _mm_set1_epi32(0x0c0f_0e0d));
    _mm_aesenclast_si128(rotated, _mm_set1_epi32(constant))
}

/// The S-box on each byte of a word.
#[target_feature(enable = "aes,avx2")]
fn substitute(word: u32) -> u32 {
    let state = _mm_set1_epi32(word.cast_signed());
    _mm_cvtsi128_si32(_mm_aesenclast_si128(state, _mm_setzero_si128())).cast_unsigned()
}

#[target_feature(enable = "aes,avx2")]
#[inline]
fn load(block: &[u8; BLOCK]) -> __m128i {
    // SAFETY: 16 bytes are read.
    unsafe { _mm_loadu_si128(block.as_ptr().cast()) }
}

#[target_feature(enable = "aes,avx2")]
#[inline]
fn store(block: &mut [u8; BLOCK], key: __m128i) {
    // SAFETY: 16 bytes are written.
    unsafe { _mm_storeu_si128(block.as_mut_ptr().cast(), key) }
}
