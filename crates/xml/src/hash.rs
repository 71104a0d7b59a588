//! A hash for maps of names: words are multiplied and folded, with a secret so that documents cannot choose collisions.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// Each map has its own secret.
#[derive(Clone, Debug)]
pub(crate) struct Seeded(u64);

impl Default for Seeded {
    fn default() -> Seeded {
        Seeded(RandomState::new().build_hasher().finish() | 1)
    }
}

impl BuildHasher for Seeded {
    type Hasher = Folded;

    fn build_hasher(&self) -> Folded {
        Folded { state: self.0, seed: self.0 }
    }
}

pub(crate) struct Folded {
    state: u64,
    seed: u64,
}

impl Folded {
    #[inline]
    fn word(&mut self, word: u64) {
        self.state = mix(self.state ^ word, self.seed ^ 0xd6e8_feb8_6659_fd93);
    }
}

impl Hasher for Folded {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last) ^ (bytes.len() as u64) << 56);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.word(u64::from(value));
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.word(u64::from(value));
    }

    #[inline]
    fn finish(&self) -> u64 {
        mix(self.state ^ 0x9e37_79b9_7f4a_7c15, self.seed)
    }
}

/// The two halves of the product, folded.
#[inline(always)]
pub(crate) fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

/// Up to 8 bytes as a number, which differs for different bytes of the same length.
#[inline(always)]
pub(crate) fn word(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.first_chunk() {
        return u64::from_le_bytes(*word);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let [first, last] = [first, last].map(|it| u64::from(u32::from_le_bytes(*it)));
        return first | last << 32;
    }
    match bytes {
        [] => 0,
        [one] => u64::from(*one),
        [first, .., last] => {
            let [first, middle, last] = [*first, bytes[bytes.len() / 2], *last].map(u64::from);
            first | middle << 8 | last << 16
        }
    }
}
