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
pub(crate) const GROUP: usize = 1024;

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

/// The mask of modes that have none.
static NO_MASK: Group = Group([0; GROUP]);

/// Blocks of several packets on their way through the engine.
struct Batch<'k, K> {
    input: Group,
    mask: Group,
    /// Blocks so far, and the key of each.
    count: usize,
    keys: [Option<&'k K>; MAX_LANES],
    /// Pieces of packets so far.
    pieces: usize,
    outputs: [Output; MAX_LANES],
}

/// Where the result of a piece goes.
#[derive(Clone, Copy)]
struct Output {
    at: *mut u8,
    len: usize,
    /// The first block of the batch.
    first: usize,
}

impl<'k, K> Batch<'k, K> {
    fn new() -> Self {
        Batch {
            input: Group([0; GROUP]),
            mask: Group([0; GROUP]),
            count: 0,
            keys: [None; MAX_LANES],
            pieces: 0,
            outputs: [Output { at: std::ptr::null_mut(), len: 0, first: 0 }; MAX_LANES],
        }
    }

    /// Room for input and mask of the next `blocks` blocks.
    fn room<const B: usize>(&mut self, blocks: usize) -> (&mut [u8], &mut [u8]) {
        let range = self.count * B..(self.count + blocks) * B;
        (&mut self.input.0[range.clone()], &mut self.mask.0[range])
    }

    /// Adds the blocks written to the room, of whose result `len` bytes are written to `output` by
    /// the time of the next flush.
    ///
    /// # Safety
    /// `len <= blocks * B` bytes can be written at `output` until then.
    unsafe fn add<E: Engine<'k, Key = K>, const B: usize>(
        &mut self,
        engine: &mut E,
        key: &'k K,
        blocks: usize,
        (at, len): (*mut u8, usize),
    ) {
        self.outputs[self.pieces] = Output { at, len, first: self.count };
        self.pieces += 1;
        self.keys[self.count..self.count + blocks].fill(Some(key));
        self.count += blocks;
        if self.count == E::LANES {
            self.flush::<E, B>(engine);
        }
    }

    fn flush<E: Engine<'k, Key = K>, const B: usize>(&mut self, engine: &mut E) {
        let Some(first) = self.keys[0].filter(|_| self.count > 0) else { return };
        set_keys(engine, first, &self.keys[..self.count], &[]);
        let mask = self.mask.0.as_mut_ptr();
        // SAFETY: input and mask are GROUP bytes each.
        unsafe { engine.crypt(self.count, self.input.0.as_ptr(), mask, mask) };
        for output in &self.outputs[..self.pieces] {
            let result = &self.mask.0[output.first * B..][..output.len];
            // SAFETY: who added it promised that so many bytes can be written there.
            unsafe { std::ptr::copy_nonoverlapping(result.as_ptr(), output.at, output.len) };
        }
        (self.count, self.pieces) = (0, 0);
    }

    /// Whether all blocks are under `key`.
    fn suits(&self, key: &K) -> bool {
        self.count == 0
            || [0, self.count - 1]
                .iter()
                .all(|&i| self.keys[i].is_some_and(|k| std::ptr::eq(k, key)))
    }
}

/// Hands the keys of a group to the engine; `first` is one of them.
fn set_keys<'k, E: Engine<'k>>(
    engine: &mut E,
    first: &'k E::Key,
    keys: &[Option<&'k E::Key>],
    changed: &[usize],
) {
    let other = |key: &Option<&E::Key>| key.is_some_and(|key| !std::ptr::eq(key, first));
    if !keys.iter().any(other) {
        engine.one_key(first);
        return;
    }
    let mut all = [first; MAX_LANES];
    for (to, from) in all.iter_mut().zip(keys) {
        *to = from.unwrap_or(first);
    }
    engine.lane_keys(&all[..keys.len()], changed);
}

/// The blocks of a call that fill no group of their packet: those of packets that are short of
/// one by little in a batch under one key, the others together.
struct Batches<'k, K> {
    shared: Option<Batch<'k, K>>,
    alone: Option<Batch<'k, K>>,
}

impl<'k, K> Batches<'k, K> {
    fn new() -> Self {
        Batches { shared: None, alone: None }
    }

    /// Where the last `blocks` blocks of a packet under `key` go.
    fn pick<E: Engine<'k, Key = K>, const B: usize>(
        &mut self,
        engine: &mut E,
        key: &K,
        blocks: usize,
    ) -> &mut Batch<'k, K> {
        if blocks < E::ALONE {
            return self.shared.get_or_insert_with(Batch::new);
        }
        let alone = self.alone.get_or_insert_with(Batch::new);
        if !alone.suits(key) {
            alone.flush::<E, B>(engine);
        }
        alone
    }

    fn flush<E: Engine<'k, Key = K>, const B: usize>(&mut self, engine: &mut E) {
        for batch in [&mut self.alone, &mut self.shared].into_iter().flatten() {
            batch.flush::<E, B>(engine);
        }
    }
}

/// The block at `at`.
///
/// # Safety
/// `B` bytes can be read there.
#[inline(always)]
unsafe fn block<const B: usize>(at: *const u8) -> [u8; B] {
    // SAFETY: the caller's promise.
    unsafe { at.cast::<[u8; B]>().read() }
}

/// Copies as many bytes as `to` has, or `len` if that is less.
///
/// # Safety
/// So many can be read at `from`, which is elsewhere.
#[inline(always)]
unsafe fn fill(to: &mut [u8], from: *const u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { std::ptr::copy_nonoverlapping(from, to.as_mut_ptr(), to.len().min(len)) };
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
    let mut counters = Group([0; GROUP]);
    for packet in packets {
        let (src, dst, len) = packet.text.pointers();
        let mut counter = *packet.counter;
        let whole = len / (E::LANES * B) * (E::LANES * B);
        if whole > 0 {
            engine.one_key(packet.key);
        }
        for at in (0..whole).step_by(E::LANES * B) {
            for (i, block) in counters.0.chunks_exact_mut(B).take(E::LANES).enumerate() {
                block.copy_from_slice(&advanced(&counter, i as u64));
            }
            counter = advanced(&counter, E::LANES as u64);
            // SAFETY: a whole group lies within the text at `at`; counters is as long.
            unsafe { engine.crypt(E::LANES, counters.0.as_ptr(), src.add(at), dst.add(at)) };
        }
        let mut at = whole;
        while at < len {
            let left = (len - at).div_ceil(B);
            let batch = batches.pick::<E, B>(engine, packet.key, left);
            let blocks = left.min(E::LANES - batch.count);
            let bytes = (blocks * B).min(len - at);
            let (input, mask) = batch.room::<B>(blocks);
            for block in input.chunks_exact_mut(B) {
                block.copy_from_slice(&counter);
                counter = advanced(&counter, 1);
            }
            // SAFETY: `bytes` bytes lie within the text at `at`, borrowed until the flush below.
            unsafe {
                fill(mask, src.add(at), bytes);
                batch.add::<E, B>(engine, packet.key, blocks, (dst.add(at), bytes));
            }
            at += bytes;
        }
        *packet.counter = counter;
    }
    batches.flush::<E, B>(engine);
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
        let mut at = whole;
        while at < len {
            let left = (len - at) / B;
            let batch = batches.pick::<E, B>(engine, packet.key, left);
            let blocks = left.min(E::LANES - batch.count);
            let (input, mask) = batch.room::<B>(blocks);
            mask.fill(0);
            // SAFETY: the blocks lie within the text at `at`, borrowed until the flush below.
            unsafe {
                fill(input, src.add(at), blocks * B);
                batch.add::<E, B>(engine, packet.key, blocks, (dst.add(at), blocks * B));
            }
            at += blocks * B;
        }
    }
    batches.flush::<E, B>(engine);
}

/// Decryption of cipher block chaining; the engine decrypts.
pub(crate) fn cbc_decrypt<'k, E: Engine<'k>, const B: usize>(
    engine: &mut E,
    packets: &mut [Cbc<'k, E::Key, B>],
) {
    let mut batches = Batches::new();
    let mut mask = Group([0; GROUP]);
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
            mask.0[..B].copy_from_slice(&chain);
            let rest = (E::LANES - 1) * B;
            // SAFETY: a whole group lies within the text at `at`; a mask is as long.
            unsafe {
                let text = src.add(at);
                std::ptr::copy_nonoverlapping(text, mask.0.as_mut_ptr().add(B), rest);
                chain = block(text.add(rest));
                engine.crypt(E::LANES, text, mask.0.as_ptr(), dst.add(at));
            }
        }
        let mut at = whole;
        while at < len {
            let left = (len - at) / B;
            let batch = batches.pick::<E, B>(engine, packet.key, left);
            let blocks = left.min(E::LANES - batch.count);
            let (input, mask) = batch.room::<B>(blocks);
            // SAFETY: the blocks lie within the text at `at`, borrowed until the flush below.
            unsafe {
                fill(input, src.add(at), blocks * B);
                mask[..B].copy_from_slice(&chain);
                mask[B..].copy_from_slice(&input[..(blocks - 1) * B]);
                chain = block(input.as_ptr().add((blocks - 1) * B));
                batch.add::<E, B>(engine, packet.key, blocks, (dst.add(at), blocks * B));
            }
            at += blocks * B;
        }
        *packet.iv = chain;
    }
    batches.flush::<E, B>(engine);
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
                unsafe { block(output.0.as_ptr().add(used * B)) }
            } else {
                used = used.min(lane);
                break;
            };
            output.0[lane * B..(lane + 1) * B].copy_from_slice(&chain);
            lane += 1;
        }
        let Some(first) = keys[0].filter(|_| used > 0) else { return };
        if changes > 0 {
            set_keys(engine, first, &keys[..used], &changed[..changes]);
        }
        let steps = lanes[..used].iter().map(|lane| lane.left).min().unwrap_or(0);
        for step in 0..steps {
            for (i, lane) in lanes[..used].iter().enumerate() {
                // SAFETY: `step < left`: the block lies within the lane's text.
                let text: [u8; B] = unsafe { block(lane.src.add(step * B)) };
                let chain = &output.0[i * B..(i + 1) * B];
                let sum = input.0[i * B..(i + 1) * B].iter_mut();
                for ((sum, text), chain) in sum.zip(text).zip(chain) {
                    *sum = text ^ chain;
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
