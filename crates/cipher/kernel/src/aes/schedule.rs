//! The key expansion of FIPS 197 section 5.2, and that of the equivalent inverse cipher (5.3.5).

use core::arch::x86_64::{
    __m128i, _mm_aesenclast_si128, _mm_aesimc_si128, _mm_cvtsi128_si32, _mm_loadu_si128,
    _mm_set1_epi32, _mm_setzero_si128, _mm_storeu_si128,
};

use zeroize::{Zeroize, Zeroizing};

use super::{BLOCK, Schedule};

/// The schedules of encryption and decryption. The key has 16, 24 or 32 bytes.
#[target_feature(enable = "aes,avx2")]
pub(super) fn expand(key: &[u8]) -> (Schedule, Schedule) {
    let key_words = key.len() / 4;
    let rounds = key_words + 6;
    let mut words = Zeroizing::new([0u32; 60]);
    for (word, bytes) in words.iter_mut().zip(key.chunks_exact(4)) {
        *word = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
    }
    let mut round_constant = 1u8;
    for i in key_words..4 * (rounds + 1) {
        let mut word = words[i - 1];
        if i % key_words == 0 {
            word = substitute(word.rotate_right(8)) ^ u32::from(round_constant);
            // Times x in GF(2^8).
            round_constant = (round_constant << 1) ^ ((round_constant >> 7) * 0x1b);
        } else if key_words == 8 && i % 8 == 4 {
            word = substitute(word);
        }
        words[i] = words[i - key_words] ^ word;
    }

    let mut encrypt = Schedule { keys: [[0; BLOCK]; 14], last: [0; BLOCK], rounds };
    let mut decrypt = encrypt.clone();
    for (i, words) in words.chunks_exact(4).take(rounds + 1).enumerate() {
        let mut key = [0; BLOCK];
        for (bytes, word) in key.chunks_exact_mut(4).zip(words) {
            bytes.copy_from_slice(&word.to_le_bytes());
        }
        *(if i == rounds { &mut encrypt.last } else { &mut encrypt.keys[i] }) = key;
        match i {
            0 => decrypt.last = key,
            _ if i == rounds => decrypt.keys[0] = key,
            _ => decrypt.keys[rounds - i] = inverse_mix_columns(&key),
        }
        key.zeroize();
    }
    (encrypt, decrypt)
}

/// The S-box on each byte of a word. With all columns of the state equal, ShiftRows changes nothing.
#[target_feature(enable = "aes,avx2")]
fn substitute(word: u32) -> u32 {
    let state = _mm_set1_epi32(word.cast_signed());
    _mm_cvtsi128_si32(_mm_aesenclast_si128(state, _mm_setzero_si128())).cast_unsigned()
}

#[target_feature(enable = "aes,avx2")]
fn inverse_mix_columns(key: &[u8; BLOCK]) -> [u8; BLOCK] {
    let mut result = [0; BLOCK];
    // SAFETY: 16 bytes are read, and 16 written.
    unsafe {
        let mixed = _mm_aesimc_si128(_mm_loadu_si128(key.as_ptr().cast::<__m128i>()));
        _mm_storeu_si128(result.as_mut_ptr().cast::<__m128i>(), mixed);
    }
    result
}
