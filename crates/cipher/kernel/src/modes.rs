//! Modes of a block cipher over many blocks side by side: ECB, CBC and CTR (NIST SP 800-38A).
//!
//! An [`Engine`] runs its cipher on [`LANES`](Engine::LANES) blocks at once, all under one key or
//! each under its own. This module feeds it:
//!
//! - ECB, CTR and CBC decryption know all cipher inputs at once. Whole groups of `LANES` blocks of
//!   a packet run under that packet's key; what remains of a packet, and short packets, share
//!   groups with others.
//! - CBC encryption is serial within a packet, so that lanes are packets; a lane whose packet ends
//!   takes the next one.

use crate::Text;

/// The most lanes of an engine.
pub(crate) const MAX_LANES: usize = 64;

/// The most bytes of a group: lanes times the block length.
pub(crate) const GROUP: usize = 512;

/// A packet for cipher block chaining.
#[derive(Debug)]
pub struct Cbc<'a, K, const B: usize> {
    /// The key.
    pub key: &'a K,
    /// In: the initialisation vector. Out: the last block of ciphertext, with which a next piece
    /// goes on.
    pub iv: &'a mut [u8; B],
    /// The text, whole blocks; what is left over is not touched.
    pub text: Text<'a>,
}

/// A packet for counter mode.
#[derive(Debug)]
pub struct Ctr<'a, K, const B: usize> {
    /// The key.
    pub key: &'a K,
    /// In: the first counter block, a big-endian integer. Out: the next one. A partial last block
    /// consumes a whole counter.
    pub counter: &'a mut [u8; B],
    /// The text, of any length.
    pub text: Text<'a>,
}

/// A packet for the electronic code book.
#[derive(Debug)]
pub struct Ecb<'a, K> {
    /// The key.
    pub key: &'a K,
    /// The text, whole blocks; what is left over is not touched.
    pub text: Text<'a>,
}

/// A cipher in one direction on several blocks side by side.
pub(crate) trait Engine<'k> {
    /// An expanded key.
    type Key: 'k;
    /// How many blocks one [`crypt`](Engine::crypt) takes: at most [`MAX_LANES`], at most
    /// [`GROUP`] bytes.
    const LANES: usize;
    /// From so many blocks on, the rest of a packet is better off in a group of its own than with
    /// others under other keys, which have to be brought into lanes first.
    const ALONE: usize;

    /// Has every lane use `key`.
    fn one_key(&mut self, key: &'k Self::Key);

    /// Has lane `i` use `keys[i]`; lanes beyond `keys` are not used. `changed` lists the lanes
    /// whose key is not that of the last call, ascending; empty: nothing is known.
    fn lane_keys(&mut self, keys: &[&'k Self::Key], changed: &[usize]);

    /// `output[i] = cipher(input[i]) ^ mask[i]` for the blocks `0..count`, `count` at most
    /// `LANES`.
    ///
    /// # Safety
    /// `LANES` blocks can be read at `input` and at `mask` and written at `output`. `output` may
    /// be `input` or `mask`; otherwise they do not overlap.
    unsafe fn crypt(&self, count: usize, input: *const u8, mask: *const u8, output: *mut u8);
}

/// A group of whole blocks, or whatever else is as long.
#[repr(C, align(64))]
pub(crate) struct Group(pub(crate) [u8; GROUP]);

/// Overwrites `secret` with zeros, by the widest stores there are.
#[cfg(target_arch = "x86_64")]
pub(crate) fn wipe<T>(secret: &mut std::mem::MaybeUninit<T>) {
    // SAFETY: its own bytes, which need not be a value.
    unsafe { secret.as_mut_ptr().write_bytes(0, 1) };
    zeroize::optimization_barrier(secret);
}

/// The mask of modes that have none.
static NO_MASK: Group = Group([0; GROUP]);

/// Blocks of several packets on their way through the engine.
struct Batch<'k, K> {
    count: usize,
    input: Group,
    mask: Group,
    keys: [Option<&'k K>; MAX_LANES],
    /// Where to write, and how many bytes.
    outputs: [(*mut u8, usize); MAX_LANES],
}

impl<'k, K> Batch<'k, K> {
    fn new() -> Self {
        Batch {
            count: 0,
            input: Group([0; GROUP]),
            mask: Group([0; GROUP]),
            keys: [None; MAX_LANES],
            outputs: [(std::ptr::null_mut(), 0); MAX_LANES],
        }
    }

    /// Adds a block, of which `len` bytes of the result are written to `output` by the time of
    /// the next flush.
    ///
    /// # Safety
    /// `len <= B` bytes can be written at `output` until then.
    unsafe fn push<E: Engine<'k, Key = K>, const B: usize>(
        &mut self,
        engine: &mut E,
        key: &'k K,
        blocks: (&[u8; B], &[u8; B]),
        (output, len): (*mut u8, usize),
    ) {
        let at = self.count * B;
        self.input.0[at..at + B].copy_from_slice(blocks.0);
        self.mask.0[at..at + B].copy_from_slice(blocks.1);
        self.keys[self.count] = Some(key);
        self.outputs[self.count] = (output, len);
        self.count += 1;
        if self.count == E::LANES {
            self.flush::<E, B>(engine);
        }
    }

    fn flush<E: Engine<'k, Key = K>, const B: usize>(&mut self, engine: &mut E) {
        let Some(first) = self.keys[0] else { return };
        if self.count == 0 {
            return;
        }
        let mut keys = [first; MAX_LANES];
        for (to, from) in keys.iter_mut().zip(&self.keys[..self.count]) {
            *to = from.unwrap_or(first);
        }
        if keys.iter().all(|&key| std::ptr::eq(key, first)) {
            engine.one_key(first);
        } else {
            engine.lane_keys(&keys[..self.count], &[]);
        }
        let mask = self.mask.0.as_mut_ptr();
        // SAFETY: input and mask are GROUP bytes each.
        unsafe { engine.crypt(self.count, self.input.0.as_ptr(), mask, mask) };
        for (block, &(output, len)) in self.mask.0.chunks_exact(B).zip(&self.outputs[..self.count])
        {
            // SAFETY: who pushed promised that `len <= B` bytes can be written there.
            unsafe { std::ptr::copy_nonoverlapping(block.as_ptr(), output, len) };
        }
        self.count = 0;
    }

    /// Whether a block under `key` keeps this batch under one key.
    fn suits(&self, key: &K) -> bool {
        self.count > 0 && self.keys[0].is_some_and(|first| std::ptr::eq(first, key))
    }
}

/// The shared and the lone batch of a call.
struct Batches<'k, K> {
    shared: Batch<'k, K>,
    alone: Batch<'k, K>,
}

impl<'k, K> Batches<'k, K> {
    fn new() -> Self {
        Batches { shared: Batch::new(), alone: Batch::new() }
    }

    /// Where the last `blocks` blocks of a packet under `key` go.
    fn pick<E: Engine<'k, Key = K>>(&mut self, key: &K, blocks: usize) -> &mut Batch<'k, K> {
        if blocks >= E::ALONE && !self.shared.suits(key) {
            &mut self.alone
        } else {
            &mut self.shared
        }
    }
}

/// The block at `at`.
///
/// # Safety
/// `len <= B` bytes can be read there; the rest is zero.
#[inline(always)]
unsafe fn block<const B: usize>(at: *const u8, len: usize) -> [u8; B] {
    let mut block = [0; B];
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(at, block.as_mut_ptr(), len) };
    block
}

/// `counter + n` modulo `2^(8 B)`, for the block lengths 8 and 16.
#[inline(always)]
fn advanced<const B: usize>(counter: &[u8; B], n: u64) -> [u8; B] {
    let mut sum = *counter;
    if let Ok(bytes) = <[u8; 16]>::try_from(&counter[..]) {
        sum.copy_from_slice(&u128::from_be_bytes(bytes).wrapping_add(n.into()).to_be_bytes());
    } else if let Ok(bytes) = <[u8; 8]>::try_from(&counter[..]) {
        sum.copy_from_slice(&u64::from_be_bytes(bytes).wrapping_add(n).to_be_bytes());
    }
    sum
}

/// Counter mode.
pub(crate) fn ctr<'k, E: Engine<'k>, const B: usize>(
    engine: &mut E,
    packets: &mut [Ctr<'k, E::Key, B>],
) {
    let mut batches = Batches::new();
    for packet in packets {
        let (src, dst, len) = packet.text.pointers();
        let mut counter = *packet.counter;
        let whole = len / (E::LANES * B) * (E::LANES * B);
        if whole > 0 {
            engine.one_key(packet.key);
        }
        for at in (0..whole).step_by(E::LANES * B) {
            let mut counters = Group([0; GROUP]);
            for (i, block) in counters.0.chunks_exact_mut(B).take(E::LANES).enumerate() {
                block.copy_from_slice(&advanced(&counter, i as u64));
            }
            counter = advanced(&counter, E::LANES as u64);
            // SAFETY: a whole group lies within the text at `at`; counters is as long.
            unsafe { engine.crypt(E::LANES, counters.0.as_ptr(), src.add(at), dst.add(at)) };
        }
        let batch = batches.pick::<E>(packet.key, (len - whole) / B);
        for at in (whole..len).step_by(B) {
            let n = B.min(len - at);
            // SAFETY: `n` bytes lie within the text at `at`, borrowed until the last flush below.
            unsafe {
                let text = block(src.add(at), n);
                batch.push(engine, packet.key, (&counter, &text), (dst.add(at), n));
            }
            counter = advanced(&counter, 1);
        }
        batches.alone.flush::<E, B>(engine);
        *packet.counter = counter;
    }
    batches.shared.flush::<E, B>(engine);
}

/// The electronic code book.
pub(crate) fn ecb<'k, E: Engine<'k>, const B: usize>(
    engine: &mut E,
    packets: &mut [Ecb<'k, E::Key>],
) {
    let mut batches = Batches::new();
    for packet in packets {
        let (src, dst, len) = packet.text.pointers();
        debug_assert!(len % B == 0, "not whole blocks");
        let len = len / B * B;
        let whole = len / (E::LANES * B) * (E::LANES * B);
        if whole > 0 {
            engine.one_key(packet.key);
        }
        for at in (0..whole).step_by(E::LANES * B) {
            let mask = NO_MASK.0.as_ptr();
            // SAFETY: a whole group lies within the text at `at`; the mask is as long.
            unsafe { engine.crypt(E::LANES, src.add(at), mask, dst.add(at)) };
        }
        let batch = batches.pick::<E>(packet.key, (len - whole) / B);
        for at in (whole..len).step_by(B) {
            // SAFETY: a block lies within the text at `at`, borrowed until the last flush below.
            unsafe {
                let text = block(src.add(at), B);
                batch.push(engine, packet.key, (&text, &[0; B]), (dst.add(at), B));
            }
        }
        batches.alone.flush::<E, B>(engine);
    }
    batches.shared.flush::<E, B>(engine);
}

/// Decryption of cipher block chaining; the engine decrypts.
pub(crate) fn cbc_decrypt<'k, E: Engine<'k>, const B: usize>(
    engine: &mut E,
    packets: &mut [Cbc<'k, E::Key, B>],
) {
    let mut batches = Batches::new();
    for packet in packets {
        let (src, dst, len) = packet.text.pointers();
        debug_assert!(len % B == 0, "not whole blocks");
        let len = len / B * B;
        let whole = len / (E::LANES * B) * (E::LANES * B);
        let mut chain = *packet.iv;
        if whole > 0 {
            engine.one_key(packet.key);
        }
        for at in (0..whole).step_by(E::LANES * B) {
            // The ciphertext one block earlier, copied before the plaintext overwrites it.
            let mut mask = Group([0; GROUP]);
            mask.0[..B].copy_from_slice(&chain);
            let rest = (E::LANES - 1) * B;
            // SAFETY: a whole group lies within the text at `at`; a mask is as long.
            unsafe {
                let text = src.add(at);
                std::ptr::copy_nonoverlapping(text, mask.0.as_mut_ptr().add(B), rest);
                chain = block(text.add(rest), B);
                engine.crypt(E::LANES, text, mask.0.as_ptr(), dst.add(at));
            }
        }
        let batch = batches.pick::<E>(packet.key, (len - whole) / B);
        for at in (whole..len).step_by(B) {
            // SAFETY: a block lies within the text at `at`, borrowed until the last flush below.
            unsafe {
                let text = block(src.add(at), B);
                batch.push(engine, packet.key, (&text, &chain), (dst.add(at), B));
                chain = text;
            }
        }
        batches.alone.flush::<E, B>(engine);
        *packet.iv = chain;
    }
    batches.shared.flush::<E, B>(engine);
}

/// What a lane of CBC encryption works on.
#[derive(Clone, Copy)]
struct Lane {
    /// The packet's place in the slice.
    packet: usize,
    src: *const u8,
    dst: *mut u8,
    /// Blocks to do.
    left: usize,
}

/// Encryption of cipher block chaining.
pub(crate) fn cbc_encrypt<'k, E: Engine<'k>, const B: usize>(
    engine: &mut E,
    packets: &mut [Cbc<'k, E::Key, B>],
) {
    let mut lanes =
        [Lane { packet: 0, src: std::ptr::null(), dst: std::ptr::null_mut(), left: 0 }; MAX_LANES];
    let mut keys: [Option<&'k E::Key>; MAX_LANES] = [None; MAX_LANES];
    let mut input = Group([0; GROUP]);
    let mut output = Group([0; GROUP]);
    let mut next = 0;
    let mut used = 0;
    loop {
        // Lanes that are done take the next packets. While there are any, lanes stay where they
        // are; afterwards those still at work move together, so that `used` falls.
        let mut changed = [0; MAX_LANES];
        let mut changes = 0;
        let mut lane = 0;
        while lane < E::LANES {
            if lane < used && lanes[lane].left > 0 {
                lane += 1;
                continue;
            }
            let chain = if next < packets.len() {
                let packet = &mut packets[next];
                let (src, dst, len) = packet.text.pointers();
                debug_assert!(len % B == 0, "not whole blocks");
                next += 1;
                if len < B {
                    continue;
                }
                lanes[lane] = Lane { packet: next - 1, src, dst, left: len / B };
                used = used.max(lane + 1);
                let key = packet.key;
                if !keys[lane].is_some_and(|old| std::ptr::eq(old, key)) {
                    keys[lane] = Some(key);
                    changed[changes] = lane;
                    changes += 1;
                }
                *packet.iv
            } else if lane + 1 < used {
                used -= 1;
                if lanes[used].left == 0 {
                    continue;
                }
                lanes[lane] = lanes[used];
                lanes[used].left = 0;
                keys[lane] = keys[used];
                changed[changes] = lane;
                changes += 1;
                // SAFETY: lane `used` of the group, `B` bytes.
                unsafe { block(output.0.as_ptr().add(used * B), B) }
            } else {
                used = used.min(lane);
                break;
            };
            output.0[lane * B..(lane + 1) * B].copy_from_slice(&chain);
            lane += 1;
        }
        let Some(first) = keys[0].filter(|_| used > 0) else { return };
        if changes > 0 {
            let mut wanted = [first; MAX_LANES];
            for (to, from) in wanted.iter_mut().zip(&keys[..used]) {
                *to = from.unwrap_or(first);
            }
            if wanted.iter().all(|&key| std::ptr::eq(key, first)) {
                engine.one_key(first);
            } else {
                engine.lane_keys(&wanted[..used], &changed[..changes]);
            }
        }
        let steps = lanes[..used].iter().map(|lane| lane.left).min().unwrap_or(0);
        for step in 0..steps {
            for (i, lane) in lanes[..used].iter().enumerate() {
                // SAFETY: `step < left`: the block lies within the lane's text.
                let text: [u8; B] = unsafe { block(lane.src.add(step * B), B) };
                for k in 0..B {
                    input.0[i * B + k] = text[k] ^ output.0[i * B + k];
                }
            }
            // SAFETY: each is GROUP bytes.
            unsafe {
                engine.crypt(used, input.0.as_ptr(), NO_MASK.0.as_ptr(), output.0.as_mut_ptr());
            }
            for (i, lane) in lanes[..used].iter().enumerate() {
                // SAFETY: as above, and `i < LANES`.
                unsafe {
                    let from = output.0.as_ptr().add(i * B);
                    std::ptr::copy_nonoverlapping(from, lane.dst.add(step * B), B);
                }
            }
        }
        for (i, lane) in lanes[..used].iter_mut().enumerate() {
            // SAFETY: `steps <= left` blocks lie within the texts.
            unsafe {
                lane.src = lane.src.add(steps * B);
                lane.dst = lane.dst.add(steps * B);
            }
            lane.left -= steps;
            if lane.left == 0 {
                packets[lane.packet].iv.copy_from_slice(&output.0[i * B..(i + 1) * B]);
            }
        }
    }
}
