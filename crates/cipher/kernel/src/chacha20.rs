//! ChaCha20 and ChaCha20-Poly1305 (RFC 8439), many packets side by side.
//!
//! A block of key stream is a function of sixteen words; one lane of a vector is one block. With
//! AVX-512 sixteen blocks run at once, and it does not matter whose they are: the blocks of every
//! packet of a batch, and the blocks of number 0 that make the Poly1305 keys, go into one queue and
//! leave it sixteen at a time. Only a packet of sixteen blocks or more is taken apart from the queue,
//! as many whole sixteens as it has, because its lanes differ in nothing but the counter.
//!
//! Everything here is constant time: additions, exclusive ors and rotations.
//!
//! The block counter has 32 bits and wraps to 0 without a carry into the nonce, as in RFC 8439: a key
//! and nonce serve 256 GiB.
//!
//! Tests: `tests/chacha20.rs`; bench: `benches/chacha20.rs`.

use lookaside_simd::Cpu;
use zeroize::ZeroizeOnDrop;

use crate::Text;
use crate::wipe::wipe;
use queue::{BLOCK, Engine, Place, Queue, Source};

mod aead;
#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) mod avx512;
mod portable;
mod queue;
#[cfg(target_arch = "x86_64")]
mod stitched;

pub use aead::{Sealed, open, seal};
#[cfg(target_arch = "x86_64")]
pub use aead::{open_piece, seal_piece};

/// One packet to encrypt or decrypt, which is the same.
pub struct Packet<'a> {
    /// The key.
    pub key: &'a [u8; 32],
    /// The number of the first block.
    pub counter: u32,
    /// The nonce: never twice with one key.
    pub nonce: &'a [u8; 12],
    /// What to work on.
    pub text: Text<'a>,
}

impl std::fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Key and text are secret.
        f.debug_struct("Packet").field("len", &self.text.len()).finish_non_exhaustive()
    }
}

/// Applies the key streams of `packets`, of any lengths, side by side.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn apply(cpu: &Cpu, packets: &mut [Packet<'_>]) {
    let mut queue = Queue::new(Engine::of(cpu));
    for packet in packets {
        let (src, dst, len) = packet.text.pointers();
        let source = Source { key: packet.key, nonce: packet.nonce };
        // SAFETY: the pointers of a `Text` are equal or apart, valid for `len` bytes, and borrowed
        // until after the flush below.
        unsafe { queue.push_text(&source, packet.counter, Place { src, dst, len }) };
    }
    queue.flush();
}

/// A key stream that goes on where it stopped, inside a block too. Zeroized when dropped.
///
/// ```
/// use lookaside_cipher_kernel::Text;
/// use lookaside_cipher_kernel::chacha20::Stream;
/// use lookaside_simd::Cpu;
///
/// let (mut whole, mut pieces) = ([0u8; 100], [0u8; 100]);
/// Stream::new(&[7; 32], 0, &[9; 12]).apply(Cpu::host(), Text::InPlace(&mut whole));
/// let mut stream = Stream::new(&[7; 32], 0, &[9; 12]);
/// for piece in pieces.chunks_mut(33) {
///     stream.apply(Cpu::host(), Text::InPlace(piece));
/// }
/// assert_eq!(whole, pieces);
/// ```
#[derive(Clone)]
pub struct Stream {
    key: [u8; 32],
    nonce: [u8; 12],
    /// The number of the next block.
    counter: u32,
    /// The last block, of which `used` bytes are spent.
    block: [u8; BLOCK],
    used: usize,
}

impl Stream {
    /// The key stream of `key` and `nonce` from the start of block `counter` on.
    pub fn new(key: &[u8; 32], counter: u32, nonce: &[u8; 12]) -> Stream {
        Stream { key: *key, nonce: *nonce, counter, block: [0; BLOCK], used: BLOCK }
    }

    /// Applies the next `text.len()` bytes of the key stream.
    ///
    /// # Panics
    /// When the destination is shorter than the source.
    pub fn apply(&mut self, cpu: &Cpu, mut text: Text<'_>) {
        let (src, dst, len) = text.pointers();
        let head = len.min(BLOCK - self.used);
        // SAFETY: `head` is at most `len`, and the pointers of a `Text` are equal or apart.
        unsafe { xor(src, dst, &self.block[self.used..self.used + head]) };
        self.used += head;
        let (whole, tail) = ((len - head) / BLOCK, (len - head) % BLOCK);
        if len == head {
            return;
        }
        let mut queue = Queue::new(Engine::of(cpu));
        let source = Source { key: &self.key, nonce: &self.nonce };
        // SAFETY: both places lie within the text, `head + whole * BLOCK + tail` being `len`; the
        // block is ours. All outlive the flush.
        unsafe {
            let (src, dst) = (src.add(head), dst.add(head));
            queue.push_text(&source, self.counter, Place { src, dst, len: whole * BLOCK });
            // The counter is the low 32 bits of the block's number.
            self.counter = self.counter.wrapping_add(whole as u32);
            if tail > 0 {
                queue.push(&source, self.counter, Place::key_stream(&mut self.block));
                self.counter = self.counter.wrapping_add(1);
            }
            queue.flush();
            let (src, dst) = (src.add(whole * BLOCK), dst.add(whole * BLOCK));
            xor(src, dst, &self.block[..tail]);
        }
        if tail > 0 {
            self.used = tail;
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        wipe(&mut self.key);
        wipe(&mut self.block);
    }
}

impl ZeroizeOnDrop for Stream {}

impl std::fmt::Debug for Stream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stream").finish_non_exhaustive()
    }
}

/// # Safety
/// `src` and `dst` are valid for as many bytes as `key_stream` has, and equal or apart.
unsafe fn xor(src: *const u8, dst: *mut u8, key_stream: &[u8]) {
    for (i, byte) in key_stream.iter().enumerate() {
        // SAFETY: the caller's.
        unsafe { dst.add(i).write(src.add(i).read() ^ byte) };
    }
}
