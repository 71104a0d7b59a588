//! Byte strings, one per lane, to digits and back. Every address is public: lanes, lengths and
//! positions, never values.

use zeroize::Zeroize;

use super::digits::{BITS, MASK, each};
use crate::lanes::Lanes;

/// 64-bit words of the longest number, one more than it needs: 66 bytes.
const WORDS: usize = 10;

/// Eight big-endian numbers of at most 72 bytes, `inputs[lane]` one of them.
#[inline(always)]
pub(super) fn load<L: Lanes, const N: usize>(inputs: &[&[u8]; 8]) -> [L; N] {
    let mut words = [[0u64; 8]; WORDS];
    for (lane, input) in inputs.iter().enumerate() {
        for (word, chunk) in words.iter_mut().zip(input.rchunks(8)) {
            let mut bytes = [0; 8];
            bytes[8 - chunk.len()..].copy_from_slice(chunk);
            word[lane] = u64::from_be_bytes(bytes);
            bytes.zeroize();
        }
    }
    let mut digits = [L::splat(0); N];
    each!(i < N => {
        let (word, shift) = (BITS * i / 64, (BITS * i % 64) as u64);
        let low = L::load(&words[word]).shrv(L::splat(shift));
        // A shift of 64 gives 0, as it should.
        let high = L::load(&words[word + 1]).shlv(L::splat(64 - shift));
        digits[i] = low.or(high).and(L::splat(MASK));
    });
    words.zeroize();
    digits
}

/// Eight numbers, carried, as words; [`Words::write`] takes a lane's bytes out.
pub(super) struct Words([[u64; 8]; WORDS]);

impl Words {
    /// From digits.
    #[inline(always)]
    pub(super) fn new<L: Lanes, const N: usize>(digits: &[L; N]) -> Words {
        let mut words = Words([[0; 8]; WORDS]);
        for (i, word) in words.0.iter_mut().enumerate() {
            let (first, shift) = (64 * i / BITS, (64 * i % BITS) as u64);
            let mut value = L::splat(0);
            for (j, &digit) in digits.iter().enumerate().skip(first).take(3) {
                let at = ((j - first) * BITS) as u64;
                value = value.or(if at < shift {
                    digit.shrv(L::splat(shift - at))
                } else {
                    digit.shlv(L::splat(at - shift))
                });
            }
            value.store(word);
        }
        words
    }

    /// Big-endian, as long as `dst`.
    #[inline(never)]
    pub(super) fn write(&self, lane: usize, dst: &mut [u8]) {
        for (word, chunk) in self.0.iter().zip(dst.rchunks_mut(8)) {
            let mut bytes = word[lane].to_be_bytes();
            chunk.copy_from_slice(&bytes[8 - chunk.len()..]);
            bytes.zeroize();
        }
    }
}

impl Drop for Words {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}
