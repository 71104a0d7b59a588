//! AES by the kernel where the CPU has instructions for it and may use them, else by AWS-LC.

use lookaside_cipher_kernel::aes::sha::ShaNi;
use lookaside_cipher_kernel::aes::{self as kernel, stitched};
use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;
use zeroize::Zeroize;

use crate::library::aws_lc::{AesDecrypt, AesEncrypt, Block, Counter};
use crate::{Direction, Text};

use super::cipher::{copy, slice, xor};
use super::hash::Words;

/// An expanded key of 16, 24 or 32 bytes.
pub(crate) struct Aes(Unit, Option<ShaNi>);

enum Unit {
    Kernel(SecureBox<kernel::Key>),
    Library { encrypt: AesEncrypt, decrypt: AesDecrypt },
}

impl Aes {
    /// `key`: 16, 24 or 32 bytes.
    pub(crate) fn new(cpu: &Cpu, key: &[u8]) -> Aes {
        let unit = match kernel::Key::boxed(cpu, key) {
            Some(key) => Unit::Kernel(key),
            None => Unit::Library { encrypt: AesEncrypt::new(key), decrypt: AesDecrypt::new(key) },
        };
        Aes(unit, ShaNi::new(cpu))
    }

    /// Encrypts one block.
    pub(crate) fn block(&self, block: &mut Block) {
        match &self.0 {
            Unit::Kernel(key) => kernel::ecb_encrypt(key, Text::InPlace(block)),
            Unit::Library { encrypt, .. } => encrypt.block(block),
        }
    }

    /// ECB; whole blocks.
    pub(crate) fn ecb(&self, direction: Direction, text: &mut Text<'_>) {
        match (&self.0, direction) {
            (Unit::Kernel(key), Direction::Seal) => kernel::ecb_encrypt(key, text.reborrow()),
            (Unit::Kernel(key), Direction::Open) => kernel::ecb_decrypt(key, text.reborrow()),
            (Unit::Library { encrypt, .. }, Direction::Seal) => {
                copy(text).as_chunks_mut().0.iter_mut().for_each(|block| encrypt.block(block));
            }
            (Unit::Library { decrypt, .. }, Direction::Open) => {
                copy(text).as_chunks_mut().0.iter_mut().for_each(|block| decrypt.block(block));
            }
        }
    }

    /// CBC; whole blocks. `iv` becomes the last block of ciphertext.
    pub(crate) fn cbc(&self, direction: Direction, iv: &mut Block, text: &mut Text<'_>) {
        match (&self.0, direction) {
            (Unit::Kernel(key), Direction::Seal) => kernel::cbc_encrypt(key, iv, text.reborrow()),
            (Unit::Kernel(key), Direction::Open) => kernel::cbc_decrypt(key, iv, text.reborrow()),
            (Unit::Library { encrypt, .. }, Direction::Seal) => encrypt.cbc(iv, text),
            (Unit::Library { decrypt, .. }, Direction::Open) => decrypt.cbc(iv, text),
        }
    }

    /// CBC by the kernel, like [`cbc`](Aes::cbc); `false`, and nothing done, where AWS-LC is to do it.
    #[inline(always)]
    pub(crate) fn quick_cbc(&self, direction: Direction, iv: &mut Block, text: Text<'_>) -> bool {
        let Unit::Kernel(key) = &self.0 else { return false };
        match direction {
            Direction::Seal => kernel::cbc_encrypt(key, iv, text),
            Direction::Open => kernel::cbc_decrypt(key, iv, text),
        }
        true
    }

    /// Counter mode by the kernel over whole blocks, the first one new; `false` as above.
    #[inline(always)]
    pub(crate) fn quick_ctr(&self, counter: &mut Counter, text: Text<'_>) -> bool {
        match &self.0 {
            Unit::Kernel(key) if counter.used == 0 => {
                kernel::ctr(key, &mut counter.next, text);
                true
            }
            _ => false,
        }
    }

    /// CBC encryption of the first 64 n bytes and SHA-1 or SHA-256 of the 64 n bytes of plaintext from
    /// `from` on in the time of one of the two, where the CPU can. Returns 64 n, or 0 where it cannot.
    #[inline]
    pub(crate) fn hash_and_encrypt(
        &self,
        iv: &mut Block,
        text: &mut [u8],
        from: usize,
        words: &mut Words,
    ) -> usize {
        let (Unit::Kernel(key), Some(sha)) = (&self.0, self.1) else { return 0 };
        let text = Text::InPlace(text);
        match words {
            Words::Sha1(words) => stitched::mac_then_encrypt(sha, key, iv, text, from, words),
            Words::Sha256(words) => stitched::mac_then_encrypt(sha, key, iv, text, from, words),
            _ => 0,
        }
    }

    /// One block of a hash: SHA-1's without the way through a library, which is long beside a short text.
    #[inline]
    pub(crate) fn compress(&self, cpu: &Cpu, words: &mut Words, block: &[u8]) {
        match (words, self.1) {
            (Words::Sha1(words), Some(sha)) => sha.compress(words, block),
            (words, _) => words.compress(cpu, block.len(), block),
        }
    }

    /// CBC of which only the last block is kept; whole blocks.
    pub(crate) fn cbc_mac(&self, state: &mut Block, blocks: &[u8]) {
        match &self.0 {
            Unit::Kernel(key) => kernel::cbc_mac(key, state, blocks),
            Unit::Library { encrypt, .. } => {
                let mut unread = [0; 512];
                for src in blocks.chunks(unread.len()) {
                    encrypt.cbc(state, &mut Text::Apart { src, dst: &mut unread });
                }
                unread.zeroize();
            }
        }
    }

    /// Counter mode; the rest of a text.
    pub(crate) fn ctr_last(&self, counter: &mut Counter, text: &mut Text<'_>) {
        match &self.0 {
            Unit::Kernel(key) if counter.used == 0 => {
                kernel::ctr(key, &mut counter.next, text.reborrow());
            }
            _ => self.ctr(counter, text),
        }
    }

    /// Counter mode; more may follow.
    pub(crate) fn ctr(&self, counter: &mut Counter, text: &mut Text<'_>) {
        match &self.0 {
            Unit::Kernel(key) => {
                key_stream::<16>(counter, text, |next, text| kernel::ctr(key, next, text));
            }
            Unit::Library { encrypt, .. } => encrypt.ctr(counter, text),
        }
    }

    /// XTS (IEEE 1619-2018) of 16 bytes and more, `self` being the data's key.
    pub(crate) fn xts(
        &self,
        tweak_key: &Aes,
        direction: Direction,
        tweak: &Block,
        text: &mut Text<'_>,
    ) {
        match (&self.0, &tweak_key.0, direction) {
            (Unit::Kernel(data), Unit::Kernel(key), Direction::Seal) => {
                kernel::xts_encrypt(data, key, tweak, text.reborrow());
            }
            (Unit::Kernel(data), Unit::Kernel(key), Direction::Open) => {
                kernel::xts_decrypt(data, key, tweak, text.reborrow());
            }
            (Unit::Library { encrypt, .. }, _, Direction::Seal) => {
                let mut tweak = *tweak;
                tweak_key.block(&mut tweak);
                xts(copy(text), tweak, |block| encrypt.block(block), true);
            }
            (Unit::Library { decrypt, .. }, _, Direction::Open) => {
                let mut tweak = *tweak;
                tweak_key.block(&mut tweak);
                xts(copy(text), tweak, |block| decrypt.block(block), false);
            }
            (Unit::Kernel(_), Unit::Library { .. }, _) => {
                unreachable!("both keys are expanded for the same CPU")
            }
        }
    }
}

/// Counter mode in pieces over blocks of `N` bytes: what is left of the last block, whole blocks, and
/// a block of which the rest waits. `whole` encrypts whole blocks and moves the counter on.
pub(crate) fn key_stream<const N: usize>(
    counter: &mut Counter,
    text: &mut Text<'_>,
    mut whole: impl FnMut(&mut Block, Text<'_>),
) {
    let mut at = 0;
    while at < text.len() {
        let left = text.len() - at;
        let used = counter.used as usize;
        let len = if used > 0 {
            let len = left.min(N - used);
            xor(&mut slice(text, at, len), &counter.pad[used..N]);
            counter.used = ((used + len) % N) as u32;
            len
        } else if left >= N {
            whole(&mut counter.next, slice(text, at, left / N * N));
            left / N * N
        } else {
            counter.pad = [0; 16];
            whole(&mut counter.next, Text::InPlace(&mut counter.pad[..N]));
            xor(&mut slice(text, at, left), &counter.pad[..N]);
            counter.used = left as u32;
            left
        };
        at += len;
    }
}

/// XTS (IEEE 1619-2018 section 5), `tweak` being encrypted already; 16 bytes and more.
fn xts(text: &mut [u8], mut tweak: Block, aes: impl Fn(&mut Block), encrypt: bool) {
    let one = |block: &mut [u8], tweak: u128| {
        let (Ok(bytes), mask) = (<&mut Block>::try_from(block), tweak.to_le_bytes()) else {
            return;
        };
        bytes.iter_mut().zip(mask).for_each(|(a, b)| *a ^= b);
        aes(bytes);
        bytes.iter_mut().zip(mask).for_each(|(a, b)| *a ^= b);
    };
    // Multiplication by x, little-endian, without a branch.
    let next = |tweak: u128| (tweak << 1) ^ ((tweak >> 127).wrapping_neg() & 0x87);
    let mut mask = u128::from_le_bytes(tweak);
    let rest = text.len() % 16;
    // With a partial block, the last whole one is exchanged with it.
    let whole = text.len() - rest - if rest == 0 { 0 } else { 16 };
    for block in text[..whole].chunks_exact_mut(16) {
        one(block, mask);
        mask = next(mask);
    }
    if rest != 0 {
        let (first, second) = if encrypt { (mask, next(mask)) } else { (next(mask), mask) };
        let (block, partial) = text[whole..].split_at_mut(16);
        one(block, first);
        block[..rest].swap_with_slice(partial);
        one(block, second);
    }
    tweak.zeroize();
}
