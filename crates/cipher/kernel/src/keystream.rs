//! What the word-wise stream ciphers of 3GPP share: a keystream of 32-bit words laid over bytes,
//! and products of polynomials over GF(2).

use zeroize::Zeroize;

use crate::Text;

#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;

/// A packet to encrypt or decrypt; whole bytes.
#[derive(Debug)]
pub struct Packet<'a> {
    /// The key.
    pub key: &'a [u8; 16],
    /// The initialisation vector.
    pub iv: [u8; 16],
    /// What to encrypt or decrypt.
    pub text: Text<'a>,
}

/// A message to authenticate; whole bytes.
#[derive(Debug)]
pub struct Message<'a> {
    /// The key.
    pub key: &'a [u8; 16],
    /// The initialisation vector.
    pub iv: [u8; 16],
    /// The message.
    pub data: &'a [u8],
    /// Receives the tag.
    pub tag: [u8; 4],
}

/// A generator of a keystream of words, most significant byte first.
pub(crate) trait Words {
    /// The next word.
    fn word(&mut self) -> u32;
}

/// A keystream at any byte.
#[derive(Clone)]
pub(crate) struct Keystream<W> {
    words: W,
    /// What is left of the last word, its next byte on top,
    rest: u32,
    /// and how many bytes.
    left: usize,
}

impl<W: Words> Keystream<W> {
    pub(crate) fn new(words: W) -> Keystream<W> {
        Keystream { words, rest: 0, left: 0 }
    }

    /// Combines the text with the keystream. The last `spare_bits` bits (0 to 7) of a text stay as
    /// they are in the source.
    pub(crate) fn apply(&mut self, text: &mut Text<'_>, spare_bits: u8) {
        let (src, dst, len) = text.pointers();
        let mut at = 0;
        while at < len {
            if self.left == 0 && len - at > 4 {
                let word = self.words.word();
                // SAFETY: more than four bytes are left at both addresses (`Text::pointers`).
                unsafe {
                    let text = u32::from_be_bytes(src.add(at).cast::<[u8; 4]>().read());
                    dst.add(at).cast::<[u8; 4]>().write((text ^ word).to_be_bytes());
                }
                at += 4;
                continue;
            }
            if self.left == 0 {
                (self.rest, self.left) = (self.words.word(), 4);
            }
            let mut mask = (self.rest >> 24) as u8;
            (self.rest, self.left) = (self.rest << 8, self.left - 1);
            if at + 1 == len {
                mask &= 0xFF << (spare_bits & 7);
            }
            // SAFETY: `at` is under the length.
            unsafe { *dst.add(at) = *src.add(at) ^ mask };
            at += 1;
        }
    }
}

impl<W: Zeroize> Zeroize for Keystream<W> {
    fn zeroize(&mut self) {
        self.words.zeroize();
        self.rest.zeroize();
        self.left.zeroize();
    }
}

/// The low half of the product of polynomials over GF(2).
///
/// Integer products with holes: each factor is split by places modulo four, so that at most 16
/// terms meet in a place and their carries stay in the three places above it, which are masked
/// out. (Sixteen meet only in the topmost place, whose carry leaves the word.) In constant time
/// where multiplication is.
pub(crate) fn carryless_low(a: u64, b: u64) -> u64 {
    const PLACES: u64 = 0x1111_1111_1111_1111;
    let split = |x: u64| core::array::from_fn::<u64, 4, _>(|i| x & PLACES << i);
    let (a, b) = (split(a), split(b));
    let mut product = 0;
    for place in 0..4 {
        let mut sum = 0;
        for i in 0..4 {
            sum ^= a[i].wrapping_mul(b[(4 + place - i) % 4]);
        }
        product |= sum & PLACES << place;
    }
    product
}

/// The product in GF(2^64) modulo x^64 + x^4 + x^3 + x + 1.
pub(crate) fn multiply_gf64(a: u64, b: u64) -> u64 {
    let low = carryless_low(a, b);
    // The reversed product is the product of the reversed; its low 64 places of 127 end at x^63.
    let high = carryless_low(a.reverse_bits(), b.reverse_bits()).reverse_bits() >> 1;
    // x^64 is x^4 + x^3 + x + 1, twice.
    let fold = |x: u64| x ^ x << 1 ^ x << 3 ^ x << 4;
    let over = high >> 63 ^ high >> 61 ^ high >> 60;
    low ^ fold(high) ^ fold(over)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_bit_by_bit() {
        let mut seed = 1u64;
        let mut next = || {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            seed ^ seed >> 29
        };
        for round in 0..200 {
            let (a, b) = if round == 0 { (u64::MAX, u64::MAX) } else { (next(), next()) };
            let low = (0..64).fold(0, |sum, i| sum ^ ((b >> i & 1) * (a << i)));
            assert_eq!(carryless_low(a, b), low);
            let field = (0..64)
                .rev()
                .fold(0u64, |sum, i| (sum << 1) ^ ((sum >> 63) * 0x1B) ^ ((b >> i & 1) * a));
            assert_eq!(multiply_gf64(a, b), field);
        }
    }
}
