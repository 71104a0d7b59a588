//! ChaCha20-Poly1305 (RFC 8439, 2.8).

use std::ops::Range;

use lookaside_simd::Cpu;

use super::queue::{Engine, Place, Queue, Source};
#[cfg(target_arch = "x86_64")]
use super::{avx2::CHUNK, queue::BLOCK, stitched};
use crate::Text;
use crate::poly1305::{Authenticated, authenticate};
#[cfg(target_arch = "x86_64")]
use crate::poly1305::{Running, State};
use crate::wipe::wipe;

/// Packets at once: a limit only to what lies on the stack.
pub(super) const GROUP: usize = 32;

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
    #[cfg(target_arch = "x86_64")]
    if let Engine::Avx2(token) = Engine::of(cpu) {
        return packets.chunks_mut(GROUP).for_each(|group| stitched::seal(token, cpu, group));
    }
    for packets in packets.chunks_mut(GROUP) {
        let mut keys = [[0; 32]; GROUP];
        let mut queue = Queue::new(Engine::of(cpu));
        push_keys(&mut queue, packets, &mut keys);
        push_texts(&mut queue, packets);
        queue.flush();
        // SAFETY: the queue is done, and nothing writes the texts while they are authenticated.
        unsafe { tags(cpu, packets, &keys, 0..usize::MAX, |src_and_dst| src_and_dst.1) };
        wipe(keys[..packets.len()].as_flattened_mut());
    }
}

/// Computes the tags of `packets` over their ciphertexts, and decrypts them.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn open(cpu: &Cpu, packets: &mut [Sealed<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Engine::Avx2(token) = Engine::of(cpu) {
        return packets.chunks_mut(GROUP).for_each(|group| stitched::open(token, cpu, group));
    }
    for packets in packets.chunks_mut(GROUP) {
        let mut keys = [[0; 32]; GROUP];
        let mut queue = Queue::new(Engine::of(cpu));
        push_keys(&mut queue, packets, &mut keys);
        queue.flush();
        // SAFETY: the queue is done, and nothing writes the texts while they are authenticated.
        unsafe { tags(cpu, packets, &keys, 0..usize::MAX, |src_and_dst| src_and_dst.0) };
        wipe(keys[..packets.len()].as_flattened_mut());
        push_texts(&mut queue, packets);
        queue.flush();
    }
}

/// Encrypts as much of `text`, from block `counter` on, as goes with `mac` side by side, and takes it into
/// `mac`. Returns how many bytes that is: a multiple of 64, and 0 where the CPU has no such kernel, for
/// short texts, inside a block of `mac`, or before a `counter` that would wrap.
///
/// # Panics
/// When the destination is shorter than the source.
#[cfg(target_arch = "x86_64")]
pub fn seal_piece(
    cpu: &Cpu,
    (key, nonce, counter): (&[u8; 32], &[u8; 12], u32),
    text: Text<'_>,
    mac: &mut Running,
) -> usize {
    piece(cpu, (key, nonce, counter), text, mac, |token, of, place, state| {
        // SAFETY: the place is valid and whole chunks: see `piece`.
        unsafe { stitched::seal_piece((token, cpu), of, place, state) };
    })
}

/// Takes as much of `text` into `mac` as goes with decrypting it side by side, and decrypts it: as
/// [`seal_piece`].
///
/// # Panics
/// When the destination is shorter than the source.
#[cfg(target_arch = "x86_64")]
pub fn open_piece(
    cpu: &Cpu,
    (key, nonce, counter): (&[u8; 32], &[u8; 12], u32),
    text: Text<'_>,
    mac: &mut Running,
) -> usize {
    piece(cpu, (key, nonce, counter), text, mac, |token, of, place, state| {
        // SAFETY: the place is valid and whole chunks: see `piece`.
        unsafe { stitched::open_piece(token, of, place, state) };
    })
}

/// Has `run` work on the whole chunks of a text.
#[cfg(target_arch = "x86_64")]
fn piece(
    cpu: &Cpu,
    (key, nonce, counter): (&[u8; 32], &[u8; 12], u32),
    mut text: Text<'_>,
    mac: &mut Running,
    run: impl FnOnce(lookaside_simd::Avx2, (Source<'_>, u32), Place, &mut State),
) -> usize {
    /// Less than two chunks have no part that runs side by side.
    const LEAST: usize = 2 * CHUNK;
    let (src, dst, len) = text.pointers();
    let len = len / CHUNK * CHUNK;
    let blocks = u32::try_from(len / BLOCK).ok().and_then(|blocks| counter.checked_add(blocks));
    let (Engine::Avx2(token), Some(state), Some(_)) =
        (Engine::of(cpu), mac.between_blocks(), blocks)
    else {
        return 0;
    };
    if len < LEAST {
        return 0;
    }
    run(token, (Source { key, nonce }, counter), Place { src, dst, len }, state);
    len
}

/// The first half of block 0 is the packet's Poly1305 key (RFC 8439, 2.6). The caller flushes while
/// `keys` and `packets` are borrowed.
pub(super) fn push_keys(queue: &mut Queue, packets: &[Sealed<'_>], keys: &mut [[u8; 32]; GROUP]) {
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

/// Puts the tags of the ciphertexts that have so many bytes, which lie where `of` chooses.
///
/// # Safety
/// Nobody writes the texts meanwhile.
pub(super) unsafe fn tags(
    cpu: &Cpu,
    packets: &mut [Sealed<'_>],
    keys: &[[u8; 32]; GROUP],
    bytes: Range<usize>,
    of: fn((*const u8, *const u8)) -> *const u8,
) {
    let mut items = [const { Authenticated::EMPTY }; GROUP];
    let mut count = 0;
    for (number, (packet, key)) in packets.iter_mut().zip(keys).enumerate() {
        let (src, dst, len) = packet.text.pointers();
        if !bytes.contains(&len) {
            continue;
        }
        // SAFETY: both are valid for `len` bytes as long as the packet's text is borrowed.
        let text = unsafe { std::slice::from_raw_parts(of((src, dst.cast_const())), len) };
        items[count] =
            Authenticated { number, key, aad: packet.aad, text, aead: true, tag: [0; 16] };
        count += 1;
    }
    let items = &mut items[..count];
    authenticate(cpu, items);
    for item in items {
        packets[item.number].tag = item.tag;
    }
}
