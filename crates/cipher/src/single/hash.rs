//! A hash function under way: chaining values, a partial block, a length.

use lookaside_cipher_kernel::crc;
use lookaside_cipher_kernel::hash::{self as kernel, Message};
use lookaside_simd::Cpu;
use zeroize::Zeroize;

use crate::library::aws_lc::cleanse;
use crate::library::aws_lc_hash;
use crate::{Hash, OpError};

/// The longest digest.
pub(crate) const MAX_DIGEST: usize = 64;

/// The longest block: SHA3-224's.
pub(crate) const MAX_BLOCK: usize = 144;

/// What a [`HashState`] makes: a digest, or a checksum, whose blocks have one byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Function {
    /// A digest.
    Hash(Hash),
    /// CRC-32.
    Crc32,
    /// CRC-64.
    Crc64,
}

impl Function {
    /// The length of the result.
    pub(crate) fn len(self) -> usize {
        match self {
            Function::Hash(hash) => hash.len(),
            Function::Crc32 => 4,
            Function::Crc64 => 8,
        }
    }

    /// The length of a block.
    #[inline]
    pub(crate) fn block_len(self) -> usize {
        match self {
            Function::Hash(hash) => hash.block_len(),
            Function::Crc32 | Function::Crc64 => 1,
        }
    }

    /// The hash function; none for a checksum.
    pub(crate) fn digest(self) -> Option<Hash> {
        match self {
            Function::Hash(hash) => Some(hash),
            Function::Crc32 | Function::Crc64 => None,
        }
    }
}

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
    /// SM3.
    Sm3([u32; 8]),
    /// SHA-3.
    Keccak([u64; 25]),
    /// CRC-32.
    Crc32(u32),
    /// CRC-64.
    Crc64(u64),
}

impl Words {
    /// What a hash begins with; none for one that has no kernel here.
    pub(crate) fn initial(hash: Hash) -> Option<Words> {
        Some(match hash {
            Hash::Md5 => Words::Md5(kernel::MD5_START),
            Hash::Sha1 => Words::Sha1(kernel::SHA1_START),
            Hash::Sha224 => Words::Sha256(kernel::SHA224_START),
            Hash::Sha256 => Words::Sha256(kernel::SHA256_START),
            Hash::Sha384 => Words::Sha512(kernel::SHA384_START),
            Hash::Sha512 => Words::Sha512(kernel::SHA512_START),
            Hash::Sm3 => Words::Sm3(kernel::SM3_START),
            Hash::Sha3_224 | Hash::Sha3_256 | Hash::Sha3_384 | Hash::Sha3_512 => {
                Words::Keccak(kernel::KECCAK_START)
            }
            Hash::Md5Sha1 | Hash::Ripemd160 | Hash::Sha512_224 | Hash::Sha512_256 => return None,
        })
    }

    /// Takes in whole blocks.
    #[inline]
    pub(crate) fn compress(&mut self, cpu: &Cpu, block_len: usize, blocks: &[u8]) {
        match self {
            Words::Md5(words) => aws_lc_hash::md5(words, blocks),
            Words::Sha1(words) => aws_lc_hash::sha1(words, blocks),
            Words::Sha256(words) => aws_lc_hash::sha256(words, blocks),
            Words::Sha512(words) => aws_lc_hash::sha512(words, blocks),
            Words::Sm3(words) => {
                kernel::sm3(cpu, &mut [Message { state: words, parts: [blocks, &[]] }]);
            }
            Words::Keccak(words) => {
                let message = Message { state: words, parts: [blocks, &[]] };
                kernel::keccak(cpu, block_len, &mut [message]);
            }
            Words::Crc32(sum) => *sum = crc::crc32(cpu, *sum, blocks),
            Words::Crc64(sum) => *sum = crc::crc64(cpu, *sum, blocks),
        }
    }

    /// Becomes what `from` is, of which only the words are copied: SHA-3's state is the longest by far.
    #[inline]
    fn copy_from(&mut self, from: &Words) {
        match (self, from) {
            (Words::Md5(to), Words::Md5(words)) => *to = *words,
            (Words::Sha1(to), Words::Sha1(words)) => *to = *words,
            (Words::Sha256(to), Words::Sha256(words)) => *to = *words,
            (Words::Sha512(to), Words::Sha512(words)) => *to = *words,
            (Words::Sm3(to), Words::Sm3(words)) => *to = *words,
            (to, words) => *to = *words,
        }
    }

    /// Their bytes, as a digest has them: `out` may be shorter.
    pub(crate) fn write(&self, out: &mut [u8]) {
        fn copy<const N: usize>(mut words: impl Iterator<Item = [u8; N]>, out: &mut [u8]) {
            let (whole, rest) = out.as_chunks_mut::<N>();
            for (piece, word) in whole.iter_mut().zip(&mut words) {
                *piece = word;
            }
            if let (false, Some(word)) = (rest.is_empty(), words.next()) {
                rest.copy_from_slice(&word[..rest.len()]);
            }
        }
        match self {
            Words::Md5(words) => copy(words.iter().map(|word| word.to_le_bytes()), out),
            Words::Sha1(words) => copy(words.iter().map(|word| word.to_be_bytes()), out),
            Words::Sha256(words) => copy(words.iter().map(|word| word.to_be_bytes()), out),
            Words::Sha512(words) => copy(words.iter().map(|word| word.to_be_bytes()), out),
            Words::Sm3(words) => copy(words.iter().map(|word| word.to_be_bytes()), out),
            Words::Keccak(words) => copy(words.iter().map(|word| word.to_le_bytes()), out),
            Words::Crc32(sum) => copy([sum.to_be_bytes()].into_iter(), out),
            Words::Crc64(sum) => copy([sum.to_be_bytes()].into_iter(), out),
        }
    }

    fn zeroize(&mut self) {
        match self {
            Words::Md5(words) => words.zeroize(),
            Words::Sha1(words) => words.zeroize(),
            Words::Sha256(words) => words.zeroize(),
            Words::Sha512(words) => words.zeroize(),
            Words::Sm3(words) => words.zeroize(),
            Words::Keccak(words) => words.zeroize(),
            // Checksums of secrets are no keys, but say something about them.
            Words::Crc32(sum) => sum.zeroize(),
            Words::Crc64(sum) => sum.zeroize(),
        }
    }
}

/// A hash under way. Its fields are open to whoever continues many of them side by side.
#[derive(Clone)]
pub(crate) struct HashState {
    /// Which hash or checksum.
    pub(crate) hash: Function,
    /// How many bytes of `buffer` wait for the rest of their block; always less than a block.
    pub(crate) buffered: usize,
    /// All bytes so far, those of `buffer` included.
    pub(crate) length: u64,
    /// The chaining values.
    pub(crate) words: Words,
    /// The partial block.
    pub(crate) buffer: [u8; MAX_BLOCK],
}

/// How a text that is hashed falls into blocks.
pub(crate) struct Taken<'t> {
    /// The state's buffer holds a whole block, to be compressed first.
    pub(crate) head: bool,
    /// Whole blocks.
    pub(crate) whole: &'t [u8],
    /// Less than one.
    pub(crate) tail: &'t [u8],
}

impl Drop for HashState {
    fn drop(&mut self) {
        // Under HMAC these are as good as the key.
        self.words.zeroize();
        cleanse(&mut self.buffer[..self.buffered]);
    }
}

impl HashState {
    /// Nothing hashed yet.
    ///
    /// # Errors
    /// [`OpError::Unsupported`] for a hash that has no kernel here.
    pub(crate) fn new(hash: Hash) -> Result<HashState, OpError> {
        let words = Words::initial(hash).ok_or(OpError::Unsupported)?;
        Ok(HashState::of(Function::Hash(hash), words))
    }

    /// A CRC-32.
    pub(crate) fn crc32() -> HashState {
        HashState::of(Function::Crc32, Words::Crc32(0))
    }

    /// A CRC-64.
    pub(crate) fn crc64() -> HashState {
        HashState::of(Function::Crc64, Words::Crc64(0))
    }

    fn of(hash: Function, words: Words) -> HashState {
        HashState { hash, buffered: 0, length: 0, words, buffer: [0; MAX_BLOCK] }
    }

    /// Becomes what `from` is, a state of the same hash.
    #[inline]
    pub(crate) fn reset(&mut self, from: &HashState) {
        cleanse(&mut self.buffer[..self.buffered]);
        self.words.copy_from(&from.words);
        (self.length, self.buffered) = (from.length, from.buffered);
        if from.buffered > 0 {
            self.buffer[..from.buffered].copy_from_slice(&from.buffer[..from.buffered]);
        }
    }

    /// More text.
    pub(crate) fn update(&mut self, cpu: &Cpu, text: &[u8]) {
        let block = self.hash.block_len();
        let Taken { head, whole, tail } = self.take(text);
        if head {
            self.words.compress(cpu, block, &self.buffer[..block]);
        }
        if !whole.is_empty() {
            self.words.compress(cpu, block, whole);
        }
        self.keep(head, tail);
    }

    /// Counts a text, and takes as much of it as completes the partial block. What is to be
    /// compressed, the caller compresses; [`HashState::keep`] must follow.
    #[inline]
    pub(crate) fn take<'t>(&mut self, mut text: &'t [u8]) -> Taken<'t> {
        let block = self.hash.block_len();
        self.length = self.length.wrapping_add(text.len() as u64);
        let mut head = false;
        if self.buffered > 0 {
            let (piece, rest) = text.split_at(text.len().min(block - self.buffered));
            self.buffer[self.buffered..][..piece.len()].copy_from_slice(piece);
            self.buffered += piece.len();
            text = rest;
            head = self.buffered == block;
        }
        let (whole, tail) = text.split_at(text.len() / block * block);
        Taken { head, whole, tail }
    }

    /// Keeps the `tail` of a text that was taken.
    #[inline]
    pub(crate) fn keep(&mut self, head: bool, tail: &[u8]) {
        if head {
            self.buffered = 0;
        }
        if !tail.is_empty() {
            // Then nothing is buffered: a partial block takes all of a text that does not fill it.
            self.buffer[..tail.len()].copy_from_slice(tail);
            self.buffered = tail.len();
        }
    }

    /// More text, which does not go beyond the block under way. `compress` takes in a whole block.
    #[inline(always)]
    pub(crate) fn append(&mut self, text: &[u8], compress: impl FnOnce(&mut Words, &[u8])) {
        let block = self.hash.block_len();
        self.length = self.length.wrapping_add(text.len() as u64);
        if text.len() == block {
            return compress(&mut self.words, text);
        }
        let place = &mut self.buffer[self.buffered..][..text.len()];
        match (place.as_chunks_mut::<16>(), text.as_chunks::<16>()) {
            // One block of AES: not worth the call of a function that copies.
            (([to], []), ([from], [])) => *to = *from,
            _ => place.copy_from_slice(text),
        }
        self.buffered += text.len();
        if self.buffered == block {
            compress(&mut self.words, &self.buffer[..block]);
            self.buffered = 0;
        }
    }

    /// Pads, and writes the digest, after which the state is used up: all of it, or as much as `out` holds.
    #[inline]
    pub(crate) fn finish(&mut self, cpu: &Cpu, out: &mut [u8]) {
        let last = &self.buffer[..self.buffered];
        end(cpu, self.hash, &mut self.words, last, self.length, out);
    }

    /// The digest of `text` after what has been hashed already, as [`finish`](HashState::finish) has
    /// it.
    pub(crate) fn whole(&self, cpu: &Cpu, text: &[u8], out: &mut [u8]) {
        if self.buffered > 0 {
            let mut state = self.clone();
            state.update(cpu, text);
            return state.finish(cpu, out);
        }
        let block = self.hash.block_len();
        let (blocks, last) = text.split_at(text.len() / block * block);
        let mut words = self.words;
        if !blocks.is_empty() {
            words.compress(cpu, block, blocks);
        }
        let length = self.length.wrapping_add(text.len() as u64);
        end(cpu, self.hash, &mut words, last, length, out);
    }
}

/// Takes in the last bytes, less than a block, and the padding; writes the digest.
///
/// Merkle-Damgaard: one bit, zeros, the length in bits at the end of a block (FIPS 180-4 section
/// 5.1; RFC 1321 has the length little-endian). SHA-3: the bits 01, one bit, zeros, one bit (FIPS 202
/// sections 6.1 and 5.1).
fn end(cpu: &Cpu, hash: Function, words: &mut Words, last: &[u8], length: u64, out: &mut [u8]) {
    let block = hash.block_len();
    // A checksum has blocks of one byte and no padding.
    let bits = length.wrapping_mul(8);
    let bits =
        if hash == Function::Hash(Hash::Md5) { bits.to_le_bytes() } else { bits.to_be_bytes() };
    match block {
        1 => {}
        64 => end_merkle_damgaard::<128>(cpu, words, last, bits),
        128 => end_merkle_damgaard::<256>(cpu, words, last, bits),
        _ => {
            let mut tail = [0; MAX_BLOCK];
            tail[..last.len()].copy_from_slice(last);
            tail[last.len()] = 0x06;
            tail[block - 1] |= 0x80;
            words.compress(cpu, block, &tail[..block]);
            cleanse(&mut tail[..last.len()]);
        }
    }
    words.write(out);
    words.zeroize();
}

/// The last one or two blocks, of `TWO` bytes together.
#[inline]
fn end_merkle_damgaard<const TWO: usize>(cpu: &Cpu, words: &mut Words, last: &[u8], bits: [u8; 8]) {
    let block = TWO / 2;
    let mut tail = [0; TWO];
    tail[..last.len()].copy_from_slice(last);
    tail[last.len()] = 0x80;
    // SHA-512's length has 16 bytes; the upper ones stay zero: texts are shorter than 2^61.
    let length_len = block / 8;
    let len = if last.len() + 1 + length_len > block { TWO } else { block };
    tail[len - 8..len].copy_from_slice(&bits);
    words.compress(cpu, block, &tail[..len]);
    cleanse(&mut tail[..last.len()]);
}
