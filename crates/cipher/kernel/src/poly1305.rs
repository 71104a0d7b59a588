//! Poly1305 (RFC 8439, 2.5): many messages side by side, or one eight blocks at a time.
//!
//! A message is a polynomial whose coefficients are its blocks of 16 bytes, each with a bit set just
//! above its last byte; the tag is its value at `r` modulo `2^130 - 5`, plus `s` modulo `2^128`. The
//! key is `r`, of which 22 bits are cleared, and `s`.
//!
//! Numbers are held as limbs of 44, 44 and 42 bits: products of these, with a factor of 20 where a
//! product passes `2^132` (which is 20 modulo `2^130 - 5`, there being 4 times 5 of it), fit the
//! multiplier of 52 bits that AVX-512 IFMA has, and sums of them 64 bits.
//!
//! Constant time: no branch and no address depends on keys, messages or tags, only on lengths.
//!
//! Tests: `tests/chacha20.rs`; bench: `benches/chacha20.rs`.

use lookaside_simd::Cpu;
use zeroize::{Zeroize, ZeroizeOnDrop};

pub(crate) use scalar::State;
#[cfg(target_arch = "x86_64")]
pub(crate) use scalar::step;

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod scalar;

/// Bytes of a block, and of a tag.
const BLOCK: usize = 16;

/// One message to authenticate.
pub struct Message<'a> {
    /// The one-time key: never twice.
    pub key: &'a [u8; 32],
    /// The message.
    pub data: &'a [u8],
    /// Where the tag is put.
    pub tag: [u8; 16],
}

impl std::fmt::Debug for Message<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The key is secret.
        f.debug_struct("Message").field("len", &self.data.len()).finish_non_exhaustive()
    }
}

/// Computes the tags of `messages`, of any lengths, side by side.
pub fn many(cpu: &Cpu, messages: &mut [Message<'_>]) {
    match messages {
        [] => {}
        [message] => message.tag = one(cpu, message.key, message.data),
        // Less room for fewer, which takes less time to fill.
        _ if messages.len() <= 8 => groups::<8>(cpu, messages),
        _ => groups::<32>(cpu, messages),
    }
}

/// Computes the tags of `messages`, `GROUP` at a time.
fn groups<const GROUP: usize>(cpu: &Cpu, messages: &mut [Message<'_>]) {
    for messages in messages.chunks_mut(GROUP) {
        let mut items = [const { Authenticated::EMPTY }; GROUP];
        for (number, (item, message)) in items.iter_mut().zip(&*messages).enumerate() {
            (item.number, item.key, item.text) = (number, message.key, message.data);
        }
        let items = &mut items[..messages.len()];
        authenticate(cpu, items);
        for item in items {
            messages[item.number].tag = item.tag;
        }
    }
}

/// Computes the tag of one message.
#[inline]
pub fn one(cpu: &Cpu, key: &[u8; 32], data: &[u8]) -> [u8; 16] {
    let mut state = State::new(key);
    let tail = absorb(cpu, &mut state, data);
    state.last(tail);
    state.tag()
}

/// A message that comes in pieces. Zeroized when dropped.
///
/// ```
/// use lookaside_cipher_kernel::poly1305::{Message, Running, many};
/// use lookaside_simd::Cpu;
///
/// let (key, data) = ([7; 32], [9; 100]);
/// let mut running = Running::new(&key);
/// running.update(Cpu::host(), &data[..33]);
/// running.update(Cpu::host(), &data[33..]);
/// let mut whole = [Message { key: &key, data: &data, tag: [0; 16] }];
/// many(Cpu::host(), &mut whole);
/// assert_eq!(running.finish(), whole[0].tag);
/// ```
#[derive(Clone)]
pub struct Running {
    state: State,
    /// The first `held` bytes of a block.
    block: [u8; BLOCK],
    held: usize,
}

impl Running {
    /// The empty message under the one-time key `key`.
    pub fn new(key: &[u8; 32]) -> Running {
        Running { state: State::new(key), block: [0; BLOCK], held: 0 }
    }

    /// The value so far, unless part of a block is held back.
    #[cfg(target_arch = "x86_64")]
    pub(crate) fn between_blocks(&mut self) -> Option<&mut State> {
        (self.held == 0).then_some(&mut self.state)
    }

    /// The next piece of the message.
    pub fn update(&mut self, cpu: &Cpu, mut data: &[u8]) {
        if self.held > 0 {
            let n = data.len().min(BLOCK - self.held);
            let (head, rest) = data.split_at(n);
            self.block[self.held..self.held + n].copy_from_slice(head);
            self.held += n;
            data = rest;
            if self.held < BLOCK {
                return;
            }
            self.state.block(&self.block, 1);
            self.held = 0;
        }
        let tail = absorb(cpu, &mut self.state, data);
        self.block[..tail.len()].copy_from_slice(tail);
        self.held = tail.len();
    }

    /// The tag of all pieces.
    pub fn finish(mut self) -> [u8; 16] {
        let held = self.held;
        self.state.last(&self.block[..held]);
        self.state.tag()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.block.zeroize();
    }
}

impl ZeroizeOnDrop for Running {}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// A message, or the message that an AEAD makes of additional data and a text: both filled up with
/// zeros to whole blocks, and a block of their lengths (RFC 8439, 2.8).
pub(crate) struct Authenticated<'a> {
    /// Whose it is: [`authenticate`] changes the order.
    pub number: usize,
    pub key: &'a [u8; 32],
    /// Empty unless `aead`.
    pub aad: &'a [u8],
    pub text: &'a [u8],
    pub aead: bool,
    pub tag: [u8; 16],
}

impl Authenticated<'_> {
    pub const EMPTY: Authenticated<'static> =
        Authenticated { number: 0, key: &[0; 32], aad: &[], text: &[], aead: false, tag: [0; 16] };

    /// One message by itself.
    fn alone(&mut self, cpu: &Cpu) {
        if self.aead {
            let mut state = State::new(self.key);
            absorb_padded(cpu, &mut state, self.aad);
            absorb_padded(cpu, &mut state, self.text);
            self.tag = aead_tag(state, self.aad.len(), self.text.len());
        } else {
            self.tag = one(cpu, self.key, self.text);
        }
    }
}

/// Takes in `data`, filled up with zeros to whole blocks.
pub(crate) fn absorb_padded(cpu: &Cpu, state: &mut State, data: &[u8]) {
    let tail = absorb(cpu, state, data);
    if !tail.is_empty() {
        let mut block = [0; BLOCK];
        block[..tail.len()].copy_from_slice(tail);
        state.block(&block, 1);
    }
}

/// The tag of an AEAD: its last block is the lengths of additional data and text.
pub(crate) fn aead_tag(mut state: State, aad_len: usize, text_len: usize) -> [u8; 16] {
    let mut block = [0; BLOCK];
    block[..8].copy_from_slice(&(aad_len as u64).to_le_bytes());
    block[8..].copy_from_slice(&(text_len as u64).to_le_bytes());
    state.block(&block, 1);
    state.tag()
}

/// Takes in the whole blocks of `data` and returns the rest.
#[inline]
fn absorb<'a>(cpu: &Cpu, state: &mut State, data: &'a [u8]) -> &'a [u8] {
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = cpu.avx2() {
        let rest = match cpu.avx512() {
            Some(token) => avx512::absorb(token, state, data),
            None => avx2::absorb(token, state, data),
        };
        return avx2::blocks(token, state, rest);
    }
    let _ = cpu;
    state.blocks(data)
}

/// Computes the tags: side by side where that is quicker, else one after the other.
pub(crate) fn authenticate(cpu: &Cpu, items: &mut [Authenticated<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = cpu.avx512() {
        use avx512::{LANES, by_side};
        /// What a message alone costs besides its blocks, in the time that a block costs side by
        /// side: its powers of `r`, its sum over the lanes, and its odd blocks one at a time.
        const ALONE: usize = 24;
        // Eight that lie side by side take as long as the longest.
        items.sort_unstable_by_key(|item| item.text.len());
        let blocks = |item: &Authenticated<'_>| (item.aad.len() + item.text.len()) / BLOCK;
        let mut end = items.len();
        while end > 0 {
            let group = &mut items[end - end.min(LANES)..end];
            let longest = blocks(&group[group.len() - 1]);
            let alone: usize = group.iter().map(|item| ALONE + blocks(item) / LANES).sum();
            if alone <= longest || group.len() == 1 {
                group[group.len() - 1].alone(cpu);
                end -= 1;
            } else {
                end -= group.len();
                by_side(token, group);
            }
        }
        return;
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(token) = cpu.avx2() {
        return avx2::authenticate(token, cpu, items);
    }
    for item in items {
        item.alone(cpu);
    }
}
