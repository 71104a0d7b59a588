//! ChaCha20-Poly1305 with AVX2: Poly1305's scalar arithmetic between the vectors' of ChaCha20.
//!
//! A text is whole chunks of eight blocks and a tail. The tails of all packets, and the blocks of number
//! 0 that make their Poly1305 keys, go through the queue. The chunks do not: while the vectors make the
//! key stream of one chunk, the scalar multiplier authenticates another, which costs issue slots that
//! the vectors' latencies leave free.
//!
//! ```text
//! seal:  encrypt chunk 0; encrypt chunk 1 | authenticate 0; ... ; the last one with the next packet's
//! open:  decrypt chunk 0 | authenticate 0; decrypt chunk 1 | authenticate 1; ...
//! ```
//!
//! 1. What is authenticated is ciphertext: of `seal` it is there only after a chunk is done, so that
//!    the last chunk of a packet waits for the first of the next.
//! 2. Packets without a whole chunk have nothing to go with: they are authenticated together, in lanes,
//!    and the shortest one after the other: their chains of products overlap by themselves.
//!
//! Shapes: any lengths and addresses. CPU: AVX2 and BMI2. Constant time, as both its parts. Tests:
//! `tests/chacha20.rs`; bench: `benches/chacha20.rs`.

use std::ops::Range;

use lookaside_simd::{Avx2, Cpu};

use super::aead::{GROUP, Sealed, push_keys, tags};
use super::avx2::{CHUNK, EIGHT, long, stitched};
use super::queue::{Engine, Place, Queue, Source};
use crate::poly1305::{State, absorb_padded, aead_tag};
use crate::wipe::wipe;

/// A packet whose last chunk and tail are not authenticated yet.
struct Pending {
    number: usize,
    state: State,
    chunk: *const u8,
    tail: (*const u8, usize),
}

impl Pending {
    /// The tag, once the last chunk is taken in.
    ///
    /// # Safety
    /// The tail is valid, and nobody writes it meanwhile.
    unsafe fn finish(mut self, cpu: &Cpu, packets: &mut [Sealed<'_>]) {
        // SAFETY: the caller's.
        let tail = unsafe { std::slice::from_raw_parts(self.tail.0, self.tail.1) };
        absorb_padded(cpu, &mut self.state, tail);
        let packet = &mut packets[self.number];
        packet.tag = aead_tag(self.state, packet.aad.len(), packet.text.len());
    }
}

/// The packet's key state with the additional data taken in.
fn begin(cpu: &Cpu, key: &[u8; 32], aad: &[u8]) -> State {
    let mut state = State::new(key);
    absorb_padded(cpu, &mut state, aad);
    state
}

/// The lengths that are authenticated in lanes. Shorter ones do not pay for the lanes' preparations
/// (64 bytes: 4 % slower), longer ones go with the cipher.
const IN_LANES: Range<usize> = 128..CHUNK;

/// Fewer packets of such lengths do not fill the lanes.
const FEW: usize = 4;

/// The tags of the packets of [`IN_LANES`], whose ciphertexts lie where `of` chooses, if they are enough.
/// Returns the lengths that are done.
///
/// # Safety
/// Nobody writes these texts meanwhile.
unsafe fn short_tags(
    cpu: &Cpu,
    packets: &mut [Sealed<'_>],
    keys: &[[u8; 32]; GROUP],
    of: fn((*const u8, *const u8)) -> *const u8,
) -> Range<usize> {
    if packets.iter().filter(|packet| IN_LANES.contains(&packet.text.len())).count() < FEW {
        return 0..0;
    }
    // SAFETY: the caller's.
    unsafe { tags(cpu, packets, keys, IN_LANES, of) };
    IN_LANES
}

/// At most [`GROUP`] packets.
pub(super) fn seal(token: Avx2, cpu: &Cpu, packets: &mut [Sealed<'_>]) {
    let mut keys = [[0; 32]; GROUP];
    let mut queue = Queue::new(Engine::Avx2(token));
    push_keys(&mut queue, packets, &mut keys);
    for packet in &mut *packets {
        let (src, dst, len) = packet.text.pointers();
        let whole = len / CHUNK * CHUNK;
        let source = Source { key: packet.key, nonce: packet.nonce };
        // SAFETY: the tail lies within the text, which is borrowed until after the flush.
        unsafe {
            let place = Place { src: src.add(whole), dst: dst.add(whole), len: len - whole };
            queue.push_text(&source, first_block(whole), place);
        }
    }
    queue.flush();
    // SAFETY: the queue is done, and nothing writes the texts while they are authenticated.
    let done = unsafe { short_tags(cpu, packets, &keys, |src_and_dst| src_and_dst.1) };
    let mut pending: Option<Pending> = None;
    let mut row = [0; 16];
    for number in 0..packets.len() {
        let packet = &mut packets[number];
        let (src, dst, len) = packet.text.pointers();
        if done.contains(&len) {
            continue;
        }
        let mut state = begin(cpu, &keys[number], packet.aad);
        let whole = len / CHUNK * CHUNK;
        // SAFETY: the tail lies within the text.
        let tail = (unsafe { dst.add(whole) }.cast_const(), len - whole);
        if whole == 0 {
            let pending = Pending { number, state, chunk: tail.0, tail };
            // SAFETY: the tail is borrowed, and encrypted.
            unsafe { pending.finish(cpu, packets) };
            continue;
        }
        Source { key: packet.key, nonce: packet.nonce }.fill(&mut row, 1);
        for at in (0..whole).step_by(CHUNK) {
            // SAFETY: whole chunks lie within the text, and what is authenticated is another chunk that
            // is done; the pending packet's tail is encrypted.
            unsafe {
                let (src, dst) = (src.add(at), dst.add(at));
                if at > 0 {
                    stitched(token, &mut row, src, dst, &mut state, dst.sub(CHUNK));
                } else if let Some(mut last) = pending.take() {
                    stitched(token, &mut row, src, dst, &mut last.state, last.chunk);
                    last.finish(cpu, packets);
                } else {
                    long(token, &mut row, src, dst, CHUNK);
                }
            }
        }
        // SAFETY: a chunk at least lies before the tail.
        let chunk = unsafe { tail.0.sub(CHUNK) };
        pending = Some(Pending { number, state, chunk, tail });
    }
    if let Some(mut last) = pending {
        // SAFETY: a chunk that is done, and a tail that is encrypted.
        unsafe {
            absorb_padded(cpu, &mut last.state, std::slice::from_raw_parts(last.chunk, CHUNK));
            last.finish(cpu, packets);
        }
    }
    wipe(&mut row);
    wipe(keys[..packets.len()].as_flattened_mut());
}

/// At most [`GROUP`] packets.
pub(super) fn open(token: Avx2, cpu: &Cpu, packets: &mut [Sealed<'_>]) {
    let mut keys = [[0; 32]; GROUP];
    let mut queue = Queue::new(Engine::Avx2(token));
    push_keys(&mut queue, packets, &mut keys);
    queue.flush();
    // SAFETY: nothing writes the texts while they are authenticated.
    let done = unsafe { short_tags(cpu, packets, &keys, |src_and_dst| src_and_dst.0) };
    for (number, packet) in packets.iter_mut().enumerate() {
        let (src, dst, len) = packet.text.pointers();
        let source = Source { key: packet.key, nonce: packet.nonce };
        if done.contains(&len) {
            // SAFETY: the text is borrowed until after the flush.
            unsafe { queue.push_text(&source, 1, Place { src, dst, len }) };
            continue;
        }
        let mut state = begin(cpu, &keys[number], packet.aad);
        let whole = len / CHUNK * CHUNK;
        // SAFETY: whole chunks lie within the text.
        unsafe { open_piece(token, (source, 1), Place { src, dst, len: whole }, &mut state) };
        // SAFETY: the tail lies within the text, which is borrowed until after the flush; it is
        // decrypted after it is authenticated.
        unsafe {
            let (src, dst, len) = (src.add(whole), dst.add(whole), len - whole);
            absorb_padded(cpu, &mut state, std::slice::from_raw_parts(src, len));
            queue.push_text(&source, first_block(whole), Place { src, dst, len });
        }
        packet.tag = aead_tag(state, packet.aad.len(), len);
    }
    queue.flush();
    wipe(keys[..packets.len()].as_flattened_mut());
}

/// Encrypts a piece of a text, whole chunks from block `counter` on, and takes it into `state`.
///
/// # Safety
/// `place` is valid, its ends equal or apart, and whole chunks long.
pub(super) unsafe fn seal_piece(
    (token, cpu): (Avx2, &Cpu),
    (source, counter): (Source<'_>, u32),
    place: Place,
    state: &mut State,
) {
    let mut row = [0; 16];
    source.fill(&mut row, counter);
    for at in (0..place.len).step_by(CHUNK) {
        // SAFETY: the caller's; what is authenticated is the chunk before.
        unsafe {
            let (src, dst) = (place.src.add(at), place.dst.add(at));
            match at {
                0 => long(token, &mut row, src, dst, CHUNK),
                _ => stitched(token, &mut row, src, dst, state, dst.sub(CHUNK)),
            }
        }
    }
    if let Some(last) = place.len.checked_sub(CHUNK) {
        // SAFETY: the last chunk, which is done.
        let last = unsafe { std::slice::from_raw_parts(place.dst.add(last), CHUNK) };
        absorb_padded(cpu, state, last);
    }
    wipe(&mut row);
}

/// Takes a piece of a text, whole chunks from block `counter` on, into `state`, and decrypts it.
///
/// # Safety
/// As [`seal_piece`].
pub(super) unsafe fn open_piece(
    token: Avx2,
    (source, counter): (Source<'_>, u32),
    place: Place,
    state: &mut State,
) {
    let mut row = [0; 16];
    source.fill(&mut row, counter);
    for at in (0..place.len).step_by(CHUNK) {
        // SAFETY: the caller's.
        unsafe {
            let (src, dst) = (place.src.add(at), place.dst.add(at));
            stitched(token, &mut row, src, dst, state, src);
        }
    }
    wipe(&mut row);
}

/// The number of the block that begins `at` bytes behind the start of a text: block 0 makes the key.
fn first_block(at: usize) -> u32 {
    // The counter has 32 bits, and wraps: RFC 8439, 2.3.
    (at / CHUNK * EIGHT) as u32 + 1
}
