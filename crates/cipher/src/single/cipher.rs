//! The ciphers: a key expanded once, and where a text stands.

use zeroize::{Zeroize, Zeroizing};

use crate::library::aws_lc::{self, AesDecrypt, AesEncrypt, Arc4, Block, Counter, Des};
use crate::{Cipher, Direction, Error, Text};

/// A cipher's key.
pub(crate) struct Key {
    cipher: Cipher,
    expanded: Expanded,
}

enum Expanded {
    None,
    Arc4(Arc4),
    Aes { encrypt: AesEncrypt, decrypt: Option<AesDecrypt> },
    Xts { encrypt: AesEncrypt, decrypt: AesDecrypt, tweak: AesEncrypt },
    Des(Des),
    ChaCha20(Zeroizing<[u8; 32]>),
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
}

/// ChaCha20's counter and nonce.
#[derive(Clone)]
pub(crate) struct ChaCha20 {
    counter: u32,
    nonce: [u8; 12],
    /// The last block of key stream, and how much of it is used up; 64: all.
    pad: Zeroizing<[u8; 64]>,
    used: usize,
}

impl ChaCha20 {
    /// `iv`: counter and nonce (RFC 8439 section 2.3).
    pub(crate) fn new(iv: &[u8; 16]) -> ChaCha20 {
        let [a, b, c, d, nonce @ ..] = *iv;
        let pad = Zeroizing::new([0; 64]);
        ChaCha20 { counter: u32::from_le_bytes([a, b, c, d]), nonce, pad, used: 64 }
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

    /// Any length.
    pub(crate) fn process(&mut self, key: &[u8; 32], text: &mut Text<'_>) {
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
                aws_lc::chacha20(key, &self.nonce, self.counter, &mut slice(text, at, len));
                self.advance(blocks);
                at += len;
            } else {
                self.pad.fill(0);
                let pad = &mut Text::InPlace(&mut *self.pad);
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
fn xor(text: &mut Text<'_>, pad: &[u8]) {
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

/// Replaces each block of the text.
fn each_block<const N: usize>(text: &mut Text<'_>, mut block: impl FnMut(&mut [u8; N])) {
    copy(text).as_chunks_mut::<N>().0.iter_mut().for_each(&mut block);
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
    pub(crate) fn new(cipher: Cipher, key: &[u8]) -> Result<Key, Error> {
        if !key_len_ok(cipher, key.len()) {
            return Err(Error::BadSpec("the length of a cipher key"));
        }
        let expanded = match cipher {
            Cipher::Null => Expanded::None,
            Cipher::Arc4 => Expanded::Arc4(Arc4::new(key)),
            Cipher::AesCtr => Expanded::Aes { encrypt: AesEncrypt::new(key), decrypt: None },
            Cipher::AesEcb | Cipher::AesCbc => {
                Expanded::Aes { encrypt: AesEncrypt::new(key), decrypt: Some(AesDecrypt::new(key)) }
            }
            Cipher::AesXts => {
                let (data, tweak) = key.split_at(key.len() / 2);
                Expanded::Xts {
                    encrypt: AesEncrypt::new(data),
                    decrypt: AesDecrypt::new(data),
                    tweak: AesEncrypt::new(tweak),
                }
            }
            Cipher::DesEcb
            | Cipher::DesCbc
            | Cipher::TripleDesEcb
            | Cipher::TripleDesCbc
            | Cipher::TripleDesCtr => Expanded::Des(Des::new(key)),
            Cipher::ChaCha20 => {
                let mut copy = Zeroizing::new([0; 32]);
                copy.copy_from_slice(key);
                Expanded::ChaCha20(copy)
            }
            _ => return Err(Error::BadSpec("no implementation of this cipher")),
        };
        Ok(Key { cipher, expanded })
    }

    /// The beginning of a text; `iv` is as long as [`Limits`](super::check::Limits) allow.
    pub(crate) fn begin(&self, iv: &[u8]) -> State {
        match (&self.expanded, self.cipher) {
            (Expanded::Arc4(initial), _) => State::Arc4(initial.clone()),
            (_, Cipher::AesCtr | Cipher::Sm4Ctr | Cipher::TripleDesCtr) => {
                let mut next = padded(iv);
                // A nonce of RFC 3686's shape: the counter begins with 1.
                if iv.len() == 12 {
                    next[15] = 1;
                }
                State::Counter(Counter { next, ..Counter::default() })
            }
            (_, Cipher::ChaCha20) => State::ChaCha20(ChaCha20::new(&padded(iv))),
            _ if iv.is_empty() => State::None,
            _ => State::Block(padded(iv)),
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
        let seal = direction == Direction::Seal;
        match (&self.expanded, state) {
            (Expanded::None, _) => {
                copy(text);
            }
            (Expanded::Arc4(_), State::Arc4(state)) => state.process(text),
            (Expanded::Aes { encrypt, .. }, State::Counter(counter)) => encrypt.ctr(counter, text),
            (Expanded::Aes { encrypt, .. }, State::Block(iv)) if seal => encrypt.cbc(iv, text),
            (Expanded::Aes { decrypt: Some(key), .. }, State::Block(iv)) => key.cbc(iv, text),
            (Expanded::Aes { encrypt, .. }, _) if seal => each_block(text, |b| encrypt.block(b)),
            (Expanded::Aes { decrypt: Some(key), .. }, _) => each_block(text, |b| key.block(b)),
            (Expanded::Xts { encrypt, tweak, .. }, State::Block(iv)) if seal => {
                tweak.block(iv);
                xts(copy(text), iv, |block| encrypt.block(block), true);
            }
            (Expanded::Xts { decrypt, tweak, .. }, State::Block(iv)) => {
                tweak.block(iv);
                xts(copy(text), iv, |block| decrypt.block(block), false);
            }
            (Expanded::Des(des), State::Block(iv)) => {
                if let Some(iv) = iv.first_chunk_mut() {
                    des.cbc(iv, text, seal);
                }
            }
            (Expanded::Des(des), State::Counter(counter)) => des_ctr(des, counter, text),
            (Expanded::Des(des), _) => each_block(text, |block| des.block(block, seal)),
            (Expanded::ChaCha20(key), State::ChaCha20(state)) => state.process(key, text),
            // `begin` makes no other pairs.
            _ => unreachable!("the state of another cipher"),
        }
    }

    /// Like [`process`](Key::process), for all of a text of which the last bits may not count.
    pub(crate) fn process_bits(
        &self,
        state: &mut State,
        direction: Direction,
        text: &mut Text<'_>,
        spare_bits: u8,
    ) {
        let _ = spare_bits;
        self.process(state, direction, text);
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

/// Counter mode of triple DES: a counter of 64 bits.
fn des_ctr(des: &Des, counter: &mut Counter, text: &mut Text<'_>) {
    let mut at = 0;
    while at < text.len() {
        if counter.used == 0 {
            counter.pad = counter.next;
            let (Some(pad), Some(next)) =
                (counter.pad.first_chunk_mut(), counter.next.first_chunk_mut::<8>())
            else {
                return;
            };
            des.block(pad, true);
            *next = u64::from_be_bytes(*next).wrapping_add(1).to_be_bytes();
        }
        let len = (text.len() - at).min(8 - counter.used as usize);
        xor(&mut slice(text, at, len), &counter.pad[counter.used as usize..8]);
        counter.used = (counter.used + len as u32) % 8;
        at += len;
    }
}

/// XTS (IEEE 1619-2018 section 5), `tweak` being encrypted already; 16 bytes and more.
fn xts(text: &mut [u8], tweak: &mut Block, aes: impl Fn(&mut Block), encrypt: bool) {
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
    let mut mask = u128::from_le_bytes(*tweak);
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
