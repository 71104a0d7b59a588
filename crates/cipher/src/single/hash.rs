//! A hash function under way: chaining values, a partial block, a length.

use zeroize::Zeroize;

use crate::Hash;
use crate::library::aws_lc_hash;

/// The longest digest.
pub(crate) const MAX_DIGEST: usize = 64;

/// The longest block: SHA3-224's.
pub(crate) const MAX_BLOCK: usize = 144;

/// Chaining values.
#[derive(Clone, Copy)]
pub(crate) enum Words {
    /// MD5.
    Md5([u32; 4]),
    /// SHA-1.
    Sha1([u32; 5]),
    /// SHA-224 and SHA-256.
    Sha256([u32; 8]),
    /// SHA-384 and SHA-512.
    Sha512([u64; 8]),
}

const MD5: [u32; 4] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476];
const SHA1: [u32; 5] = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];
const SHA224: [u32; 8] = [
    0xc1059ed8, 0x367cd507, 0x3070dd17, 0xf70e5939, 0xffc00b31, 0x68581511, 0x64f98fa7, 0xbefa4fa4,
];
const SHA256: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];
const SHA384: [u64; 8] = [
    0xcbbb9d5dc1059ed8,
    0x629a292a367cd507,
    0x9159015a3070dd17,
    0x152fecd8f70e5939,
    0x67332667ffc00b31,
    0x8eb44a8768581511,
    0xdb0c2e0d64f98fa7,
    0x47b5481dbefa4fa4,
];
const SHA512: [u64; 8] = [
    0x6a09e667f3bcc908,
    0xbb67ae8584caa73b,
    0x3c6ef372fe94f82b,
    0xa54ff53a5f1d36f1,
    0x510e527fade682d1,
    0x9b05688c2b3e6c1f,
    0x1f83d9abfb41bd6b,
    0x5be0cd19137e2179,
];

impl Words {
    /// What a hash begins with. `None` for one that there is no implementation of.
    fn initial(hash: Hash) -> Option<Words> {
        Some(match hash {
            Hash::Md5 => Words::Md5(MD5),
            Hash::Sha1 => Words::Sha1(SHA1),
            Hash::Sha224 => Words::Sha256(SHA224),
            Hash::Sha256 => Words::Sha256(SHA256),
            Hash::Sha384 => Words::Sha512(SHA384),
            Hash::Sha512 => Words::Sha512(SHA512),
            _ => return None,
        })
    }

    /// Takes in whole blocks.
    pub(crate) fn compress(&mut self, blocks: &[u8]) {
        match self {
            Words::Md5(words) => aws_lc_hash::md5(words, blocks),
            Words::Sha1(words) => aws_lc_hash::sha1(words, blocks),
            Words::Sha256(words) => aws_lc_hash::sha256(words, blocks),
            Words::Sha512(words) => aws_lc_hash::sha512(words, blocks),
        }
    }

    /// Their bytes, as a digest has them: `out` may be shorter.
    pub(crate) fn write(&self, out: &mut [u8]) {
        fn copy<const N: usize>(words: impl Iterator<Item = [u8; N]>, out: &mut [u8]) {
            for (piece, word) in out.chunks_mut(N).zip(words) {
                piece.copy_from_slice(&word[..piece.len()]);
            }
        }
        match self {
            Words::Md5(words) => copy(words.iter().map(|word| word.to_le_bytes()), out),
            Words::Sha1(words) => copy(words.iter().map(|word| word.to_be_bytes()), out),
            Words::Sha256(words) => copy(words.iter().map(|word| word.to_be_bytes()), out),
            Words::Sha512(words) => copy(words.iter().map(|word| word.to_be_bytes()), out),
        }
    }

    fn zeroize(&mut self) {
        match self {
            Words::Md5(words) => words.zeroize(),
            Words::Sha1(words) => words.zeroize(),
            Words::Sha256(words) => words.zeroize(),
            Words::Sha512(words) => words.zeroize(),
        }
    }
}

/// A hash under way. Its fields are open to whoever continues many of them side by side.
#[derive(Clone)]
pub(crate) struct HashState {
    /// Which hash.
    pub(crate) hash: Hash,
    /// How many bytes of `buffer` wait for the rest of their block; always less than a block.
    pub(crate) buffered: usize,
    /// All bytes so far, those of `buffer` included.
    pub(crate) length: u64,
    /// The chaining values.
    pub(crate) words: Words,
    /// The partial block.
    pub(crate) buffer: [u8; MAX_BLOCK],
}

impl Drop for HashState {
    fn drop(&mut self) {
        // Under HMAC these are as good as the key.
        self.words.zeroize();
        self.buffer[..self.buffered].zeroize();
    }
}

impl HashState {
    /// Nothing hashed yet.
    pub(crate) fn new(hash: Hash) -> Option<HashState> {
        let words = Words::initial(hash)?;
        Some(HashState { hash, buffered: 0, length: 0, words, buffer: [0; MAX_BLOCK] })
    }

    /// More text.
    pub(crate) fn update(&mut self, mut text: &[u8]) {
        let block = self.hash.block_len();
        self.length = self.length.wrapping_add(text.len() as u64);
        if self.buffered > 0 {
            let (piece, rest) = text.split_at(text.len().min(block - self.buffered));
            self.buffer[self.buffered..][..piece.len()].copy_from_slice(piece);
            self.buffered += piece.len();
            text = rest;
            if self.buffered < block {
                return;
            }
            self.words.compress(&self.buffer[..block]);
            self.buffered = 0;
        }
        let (whole, rest) = text.split_at(text.len() / block * block);
        if !whole.is_empty() {
            self.words.compress(whole);
        }
        self.buffer[..rest.len()].copy_from_slice(rest);
        self.buffered = rest.len();
    }

    /// Pads, and writes the digest: all of it, or as much as `out` holds.
    pub(crate) fn finish(&mut self, out: &mut [u8]) {
        self.pad();
        self.words.write(out);
    }

    /// Merkle-Damgaard padding: one bit, zeros, the length in bits at the end of a block
    /// (FIPS 180-4 section 5.1; RFC 1321 has the length little-endian).
    fn pad(&mut self) {
        let block = self.hash.block_len();
        // SHA-512's length has 16 bytes; the upper ones stay zero, as texts are shorter than 2^61.
        let length_len = if block == 128 { 16 } else { 8 };
        self.buffer[self.buffered] = 0x80;
        self.buffer[self.buffered + 1..block].fill(0);
        if self.buffered + 1 + length_len > block {
            self.words.compress(&self.buffer[..block]);
            self.buffer[..block].fill(0);
        }
        let bits = self.length.wrapping_mul(8);
        let bytes = if self.hash == Hash::Md5 { bits.to_le_bytes() } else { bits.to_be_bytes() };
        self.buffer[block - 8..block].copy_from_slice(&bytes);
        self.words.compress(&self.buffer[..block]);
        self.buffered = 0;
    }
}
