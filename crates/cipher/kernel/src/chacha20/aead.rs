//! ChaCha20-Poly1305 (RFC 8439, 2.8).

use lookaside_simd::Cpu;

use super::queue::{Engine, Place, Queue, Source, wipe};
use crate::Text;
use crate::poly1305::{Authenticated, authenticate};

/// Packets at once: a limit only to what lies on the stack.
const GROUP: usize = 32;

/// One packet of ChaCha20-Poly1305, to seal or to open.
pub struct Sealed<'a> {
    /// The key.
    pub key: &'a [u8; 32],
    /// The nonce: never twice with one key.
    pub nonce: &'a [u8; 12],
    /// Additional data: authenticated, not encrypted.
    pub aad: &'a [u8],
    /// What to encrypt or decrypt.
    pub text: Text<'a>,
    /// Where the tag is put, in both directions: whoever opens compares it, in constant time, with
    /// the one received, and drops the text where they differ.
    pub tag: [u8; 16],
}

impl std::fmt::Debug for Sealed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Key and text are secret, and so is the right tag of a forged packet.
        f.debug_struct("Sealed").field("len", &self.text.len()).finish_non_exhaustive()
    }
}

/// Encrypts `packets` and computes their tags.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn seal(cpu: &Cpu, packets: &mut [Sealed<'_>]) {
    for packets in packets.chunks_mut(GROUP) {
        let mut keys = [[0; 32]; GROUP];
        let mut queue = Queue::new(Engine::of(cpu));
        push_keys(&mut queue, packets, &mut keys);
        push_texts(&mut queue, packets);
        queue.flush();
        // SAFETY: the queue is done, and nothing writes the texts while they are authenticated.
        unsafe { tags(cpu, packets, &keys, |src_and_dst| src_and_dst.1) };
        wipe(keys[..packets.len()].as_flattened_mut());
    }
}

/// Computes the tags of `packets` over their ciphertexts, and decrypts them.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn open(cpu: &Cpu, packets: &mut [Sealed<'_>]) {
    for packets in packets.chunks_mut(GROUP) {
        let mut keys = [[0; 32]; GROUP];
        let mut queue = Queue::new(Engine::of(cpu));
        push_keys(&mut queue, packets, &mut keys);
        queue.flush();
        // SAFETY: the queue is done, and nothing writes the texts while they are authenticated.
        unsafe { tags(cpu, packets, &keys, |src_and_dst| src_and_dst.0) };
        wipe(keys[..packets.len()].as_flattened_mut());
        push_texts(&mut queue, packets);
        queue.flush();
    }
}

/// The first half of block 0 is the packet's Poly1305 key (RFC 8439, 2.6). The caller flushes while
/// `keys` and `packets` are borrowed.
fn push_keys(queue: &mut Queue, packets: &[Sealed<'_>], keys: &mut [[u8; 32]; GROUP]) {
    for (packet, key) in packets.iter().zip(keys) {
        let source = Source { key: packet.key, nonce: packet.nonce };
        // SAFETY: every key is a place of its own and outlives the queue's flush.
        unsafe { queue.push(&source, 0, Place::key_stream(key)) };
    }
}

/// The text is encrypted from block 1 on. The caller flushes while `packets` are borrowed.
fn push_texts(queue: &mut Queue, packets: &mut [Sealed<'_>]) {
    for packet in packets {
        let source = Source { key: packet.key, nonce: packet.nonce };
        let (src, dst, len) = packet.text.pointers();
        // SAFETY: the pointers of a `Text` are equal or apart, valid for `len` bytes, and borrowed
        // until after the flush.
        unsafe { queue.push_text(&source, 1, Place { src, dst, len }) };
    }
}

/// Puts the tags of the ciphertexts, which lie where `of` chooses.
///
/// # Safety
/// Nobody writes the texts meanwhile.
unsafe fn tags(
    cpu: &Cpu,
    packets: &mut [Sealed<'_>],
    keys: &[[u8; 32]; GROUP],
    of: fn((*const u8, *const u8)) -> *const u8,
) {
    let mut items = [const { Authenticated::EMPTY }; GROUP];
    for (number, ((item, packet), key)) in items.iter_mut().zip(&mut *packets).zip(keys).enumerate()
    {
        let (src, dst, len) = packet.text.pointers();
        // SAFETY: both are valid for `len` bytes as long as the packet's text is borrowed.
        let text = unsafe { std::slice::from_raw_parts(of((src, dst.cast_const())), len) };
        *item = Authenticated { number, key, aad: packet.aad, text, aead: true, tag: [0; 16] };
    }
    let items = &mut items[..packets.len()];
    authenticate(cpu, items);
    for item in items {
        packets[item.number].tag = item.tag;
    }
}
