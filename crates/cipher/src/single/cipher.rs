//! The ciphers: a key expanded once, and where a text stands.

use lookaside_cipher_kernel::{chacha20, kasumi, sm4, snow3g, zuc};
use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use crate::choice::{self, Algorithm};
use crate::library::aws_lc::{self, Arc4, Block, Counter};
use crate::{Cipher, Direction, OpError, Text};

use super::aes::Aes;
use super::blocks::{self, Des};
use super::hash::Words;

/// A cipher's key.
pub(crate) struct Key {
    cpu: Cpu,
    cipher: Cipher,
    expanded: Expanded,
}

enum Expanded {
    None,
    Arc4(Arc4),
    Aes(Aes),
    Xts { data: Aes, tweak: Aes },
    Des(Des),
    ChaCha20 { key: SecureBox<[u8; 32]>, own_from: usize },
    Kasumi(SecureBox<kasumi::Key>),
    Snow3g(SecureBox<[u8; 16]>),
    Zuc(SecureBox<[u8; 16]>),
    Sm4(SecureBox<sm4::Key>),
}

/// Where a text stands.
#[derive(Clone)]
pub(crate) enum State {
    /// Nothing to remember: ECB, no cipher.
    None,
    /// CBC's last block of ciphertext (8 bytes of it for DES), or the tweak of XTS.
    Block(Block),
    /// A counter of 8 or 16 bytes.
    Counter(Counter),
    /// The permutation.
    Arc4(Arc4),
    /// ChaCha20.
    ChaCha20(ChaCha20),
    /// KASUMI F8.
    Kasumi(kasumi::Stream),
    /// SNOW 3G.
    Snow3g(snow3g::Stream),
    /// ZUC.
    Zuc(zuc::Stream),
}

/// ChaCha20's counter and nonce.
#[derive(Clone)]
pub(crate) struct ChaCha20 {
    counter: u32,
    nonce: [u8; 12],
    /// From how many bytes on our kernel is quicker than AWS-LC.
    own_from: usize,
    /// The last block of key stream, and how much of it is used up; 64: all.
    pad: [u8; 64],
    used: usize,
}

impl Drop for ChaCha20 {
    fn drop(&mut self) {
        if self.used < 64 {
            aws_lc::cleanse(&mut self.pad);
        }
    }
}

impl ChaCha20 {
    /// `iv`: counter and nonce (RFC 8439 section 2.3).
    pub(crate) fn new(own_from: usize, iv: &[u8; 16]) -> ChaCha20 {
        let [a, b, c, d, nonce @ ..] = *iv;
        let pad = [0; 64];
        ChaCha20 { counter: u32::from_le_bytes([a, b, c, d]), nonce, own_from, pad, used: 64 }
    }

    /// The counter moves on by `blocks`, at most to where it wraps. There RFC 8439 ends; OpenSSL
    /// carries into the nonce's first word, the upper half of the original's counter, and so do we.
    fn advance(&mut self, blocks: u32) {
        let (counter, wrapped) = self.counter.overflowing_add(blocks);
        self.counter = counter;
        if wrapped {
            let [a, b, c, d, ..] = self.nonce;
            let upper = u32::from_le_bytes([a, b, c, d]).wrapping_add(1);
            self.nonce[..4].copy_from_slice(&upper.to_le_bytes());
        }
    }

    /// The next block's counter and nonce, unless part of a block is left.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn between_blocks(&self) -> Option<(u32, [u8; 12])> {
        (self.used == 64).then_some((self.counter, self.nonce))
    }

    /// Moves on by so many bytes, whole blocks short of where the counter wraps.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.advance((bytes / 64) as u32);
    }

    /// Any length.
    pub(crate) fn process(&mut self, cpu: &Cpu, key: &[u8; 32], text: &mut Text<'_>) {
        let mut at = 0;
        while at < text.len() {
            let left = text.len() - at;
            if self.used < 64 {
                let len = left.min(64 - self.used);
                xor(&mut slice(text, at, len), &self.pad[self.used..]);
                self.used += len;
                at += len;
            } else if left >= 64 {
                // Up to where the counter wraps.
                let room = (1 << 32) - u64::from(self.counter);
                let blocks = room.min(left as u64 / 64).min(u64::from(u32::MAX)) as u32;
                let len = blocks as usize * 64;
                let (nonce, counter, mut text) = (&self.nonce, self.counter, slice(text, at, len));
                if len >= self.own_from {
                    chacha20::apply(cpu, &mut [chacha20::Packet { key, counter, nonce, text }]);
                } else {
                    aws_lc::chacha20(key, nonce, counter, &mut text);
                }
                self.advance(blocks);
                at += len;
            } else {
                self.pad.fill(0);
                let pad = &mut Text::InPlace(&mut self.pad);
                aws_lc::chacha20(key, &self.nonce, self.counter, pad);
                self.advance(1);
                self.used = 0;
            }
        }
    }
}

/// A part of a text.
pub(crate) fn slice<'t>(text: &'t mut Text<'_>, at: usize, len: usize) -> Text<'t> {
    match text {
        Text::InPlace(bytes) => Text::InPlace(&mut bytes[at..at + len]),
        Text::Apart { src, dst } => {
            Text::Apart { src: &src[at..at + len], dst: &mut dst[at..at + len] }
        }
    }
}

/// XORs `pad` to the text.
pub(crate) fn xor(text: &mut Text<'_>, pad: &[u8]) {
    match text {
        Text::InPlace(bytes) => bytes.iter_mut().zip(pad).for_each(|(a, b)| *a ^= b),
        Text::Apart { src, dst } => {
            dst.iter_mut().zip(src.iter().zip(pad)).for_each(|(a, (b, c))| *a = b ^ c);
        }
    }
}

/// Copies the text to a destination that lies apart; returns the destination.
pub(crate) fn copy<'t>(text: &'t mut Text<'_>) -> &'t mut [u8] {
    match text {
        Text::InPlace(bytes) => bytes,
        Text::Apart { src, dst } => {
            let dst = &mut dst[..src.len()];
            dst.copy_from_slice(src);
            dst
        }
    }
}

/// Whether a cipher's key may be this long.
fn key_len_ok(cipher: Cipher, len: usize) -> bool {
    match cipher {
        Cipher::Null => len == 0,
        Cipher::Arc4 => (1..=256).contains(&len),
        Cipher::AesEcb | Cipher::AesCbc | Cipher::AesCtr => matches!(len, 16 | 24 | 32),
        Cipher::AesXts => matches!(len, 32 | 64),
        Cipher::DesEcb | Cipher::DesCbc => len == 8,
        Cipher::TripleDesEcb | Cipher::TripleDesCbc | Cipher::TripleDesCtr => len == 24,
        Cipher::ChaCha20 => len == 32,
        Cipher::KasumiF8 | Cipher::Snow3gUea2 | Cipher::ZucEea3 => len == 16,
        Cipher::Sm4Ecb | Cipher::Sm4Cbc | Cipher::Sm4Ctr => len == 16,
    }
}

impl Key {
    /// Checks and expands a key.
    pub(crate) fn new(cpu: &Cpu, cipher: Cipher, key: &[u8]) -> Result<Key, OpError> {
        if !key_len_ok(cipher, key.len()) {
            return Err(OpError::BadInput("the length of a cipher key"));
        }
        let expanded = match cipher {
            Cipher::Null => Expanded::None,
            Cipher::Arc4 => Expanded::Arc4(Arc4::new(key)),
            Cipher::AesEcb | Cipher::AesCbc | Cipher::AesCtr => Expanded::Aes(Aes::new(cpu, key)),
            Cipher::AesXts => {
                let (data, tweak) = key.split_at(key.len() / 2);
                Expanded::Xts { data: Aes::new(cpu, data), tweak: Aes::new(cpu, tweak) }
            }
            Cipher::DesEcb
            | Cipher::DesCbc
            | Cipher::TripleDesEcb
            | Cipher::TripleDesCbc
            | Cipher::TripleDesCtr => Expanded::Des(Des::new(cpu, key)),
            Cipher::ChaCha20 => {
                let own_from = choice::own_from(Algorithm::Cipher(cipher), cpu);
                Expanded::ChaCha20 { key: bytes(key), own_from: own_from.unwrap_or(usize::MAX) }
            }
            Cipher::KasumiF8 => Expanded::Kasumi(SecureBox::make(|| kasumi::Key::new(&bytes(key)))),
            Cipher::Snow3gUea2 => Expanded::Snow3g(bytes(key)),
            Cipher::ZucEea3 => Expanded::Zuc(bytes(key)),
            Cipher::Sm4Ecb | Cipher::Sm4Cbc | Cipher::Sm4Ctr => {
                Expanded::Sm4(SecureBox::make(|| sm4::Key::new(&bytes(key))))
            }
        };
        Ok(Key { cpu: cpu.clone(), cipher, expanded })
    }

    /// The beginning of a text; `iv` is as long as [`Limits`](super::check::Limits) allow.
    pub(crate) fn begin(&self, iv: &[u8]) -> State {
        let block = padded(iv);
        match (&self.expanded, self.cipher) {
            (Expanded::Arc4(initial), _) => State::Arc4(initial.clone()),
            (_, Cipher::AesCtr | Cipher::Sm4Ctr | Cipher::TripleDesCtr) => {
                let mut next = block;
                // A nonce of RFC 3686's shape: the counter begins with 1.
                if iv.len() == 12 {
                    next[15] = 1;
                }
                State::Counter(Counter { next, ..Counter::default() })
            }
            (Expanded::ChaCha20 { own_from, .. }, _) => {
                State::ChaCha20(ChaCha20::new(*own_from, &block))
            }
            (Expanded::Kasumi(key), _) => {
                let [iv @ .., _, _, _, _, _, _, _, _] = block;
                State::Kasumi(kasumi::Stream::new(&self.cpu, key, iv))
            }
            (Expanded::Snow3g(key), _) => State::Snow3g(snow3g::Stream::new(key, &block)),
            (Expanded::Zuc(key), _) => State::Zuc(zuc::Stream::new(key, &block)),
            _ if iv.is_empty() => State::None,
            _ => State::Block(block),
        }
    }

    /// Begins anew in the memory of another text.
    pub(crate) fn restart(&self, state: &mut State, iv: &[u8]) {
        match (&self.expanded, state) {
            (Expanded::Arc4(initial), State::Arc4(state)) => state.reset(initial),
            (_, state) => *state = self.begin(iv),
        }
    }

    /// Encrypts or decrypts a piece: whole blocks where the cipher demands them; XTS: all of it.
    pub(crate) fn process(&self, state: &mut State, direction: Direction, text: &mut Text<'_>) {
        let cpu = &self.cpu;
        match (&self.expanded, state) {
            (Expanded::None, _) => {
                copy(text);
            }
            (Expanded::Arc4(_), State::Arc4(state)) => state.process(text),
            (Expanded::Aes(aes), State::Counter(counter)) => aes.ctr(counter, text),
            (Expanded::Aes(aes), State::Block(iv)) => aes.cbc(direction, iv, text),
            (Expanded::Aes(aes), _) => aes.ecb(direction, text),
            (Expanded::Xts { data, tweak }, State::Block(iv)) => {
                data.xts(tweak, direction, iv, text);
            }
            (Expanded::Des(des), State::Block(iv)) => {
                if let Some(iv) = iv.first_chunk_mut() {
                    des.cbc(cpu, direction, iv, text);
                }
            }
            (Expanded::Des(des), State::Counter(counter)) => des.ctr(cpu, counter, text),
            (Expanded::Des(des), _) => des.ecb(cpu, direction, text),
            (Expanded::Sm4(key), State::Block(iv)) => {
                blocks::sm4_cbc(cpu, key, direction, iv, text);
            }
            (Expanded::Sm4(key), State::Counter(counter)) => {
                blocks::sm4_ctr(cpu, key, counter, text);
            }
            (Expanded::Sm4(key), _) => blocks::sm4_ecb(cpu, key, direction, text),
            (Expanded::ChaCha20 { key, .. }, State::ChaCha20(state)) => {
                state.process(cpu, key, text);
            }
            (Expanded::Kasumi(_), State::Kasumi(state)) => {
                let len = text.len();
                state.apply(cpu, slice(text, 0, len));
            }
            (Expanded::Snow3g(_), State::Snow3g(state)) => state.apply(text),
            (Expanded::Zuc(_), State::Zuc(state)) => state.apply(text),
            // `begin` makes no other pairs.
            _ => unreachable!("the state of another cipher"),
        }
    }

    /// Encrypts or decrypts a whole text, of which the last bits may not count.
    pub(crate) fn whole(
        &self,
        iv: &[u8],
        direction: Direction,
        text: &mut Text<'_>,
        spare_bits: u8,
    ) {
        match (&self.expanded, self.cipher) {
            (Expanded::Aes(aes), Cipher::AesCtr) => {
                if let State::Counter(mut counter) = self.begin(iv) {
                    aes.ctr_last(&mut counter, text);
                }
            }
            (Expanded::Kasumi(key), _) => {
                let [iv @ .., _, _, _, _, _, _, _, _] = padded(iv);
                let len = text.len();
                let text = slice(text, 0, len);
                kasumi::f8(&self.cpu, &mut [kasumi::F8 { key, iv, text, spare_bits }]);
            }
            (Expanded::Snow3g(key), _) => snow3g::uea2(key, &padded(iv), text, spare_bits),
            (Expanded::Zuc(key), _) => zuc::eea3(key, &padded(iv), text, spare_bits),
            _ => self.process(&mut self.begin(iv), direction, text),
        }
    }

    /// Blocks of 16 bytes of AES in CBC and in counter mode, inlined whole: short pieces take no longer
    /// than the calls on the way to them. `false`: nothing was done, the text is
    /// [`process`](Key::process)'s.
    #[inline(always)]
    pub(crate) fn quick(&self, state: &mut State, direction: Direction, text: Text<'_>) -> bool {
        match (&self.expanded, state) {
            (Expanded::Aes(aes), State::Block(iv)) => aes.quick_cbc(direction, iv, text),
            (Expanded::Aes(aes), State::Counter(counter)) => aes.quick_ctr(counter, text),
            _ => false,
        }
    }

    /// The key and the chaining value of AES-CBC.
    #[inline(always)]
    pub(crate) fn aes_cbc<'s>(&self, state: &'s mut State) -> Option<(&Aes, &'s mut Block)> {
        match (&self.expanded, state) {
            (Expanded::Aes(aes), State::Block(iv)) => Some((aes, iv)),
            _ => None,
        }
    }

    /// See [`Aes::hash_and_encrypt`]: AES-CBC, and nothing for another cipher.
    pub(crate) fn hash_and_encrypt(
        &self,
        iv: &mut Block,
        text: &mut [u8],
        from: usize,
        words: &mut Words,
    ) -> usize {
        match (&self.expanded, self.cipher) {
            (Expanded::Aes(aes), Cipher::AesCbc) => aes.hash_and_encrypt(iv, text, from, words),
            _ => 0,
        }
    }

    /// Whether a text must come in one piece.
    pub(crate) fn at_once(&self) -> bool {
        self.cipher == Cipher::AesXts
    }
}

fn padded(iv: &[u8]) -> Block {
    let mut block = [0; 16];
    block[..iv.len()].copy_from_slice(iv);
    block
}

/// A key whose length has been checked.
fn bytes<const N: usize>(key: &[u8]) -> SecureBox<[u8; N]> {
    let mut bytes = SecureBox::new([0; N]);
    bytes.copy_from_slice(key);
    bytes
}
