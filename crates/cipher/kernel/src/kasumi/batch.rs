//! Packets of different lengths in the lanes of one kernel.
//!
//! F8 and F9 are chains: a block needs the one before it, so the parallelism is between packets.
//! Lanes work in bursts of up to eight blocks; where a packet has ended, its lane takes the next
//! one before the next burst.

use zeroize::Zeroize;

use super::{F8, F9, Key, Piece};
use crate::Text;

/// Blocks of KASUMI side by side, each under its own key.
///
/// A block is the little-endian reading of its eight bytes: in memory, the bytes in order.
pub(super) trait Lanes: Copy {
    /// What is made of a key for each lane.
    type Schedule: Zeroize;

    /// Prepares the keys, given as their first halves and their second.
    fn schedule(self, keys: &[[u64; LANES]; 2], schedule: &mut Self::Schedule);

    /// One block in each lane.
    fn encrypt(self, schedule: &Self::Schedule, blocks: &mut [u64; LANES]);

    /// Up to eight blocks of the keystream of F8 in each lane: block `i` is the encryption of
    /// `start ^ i ^ block i - 1` with `chain` before block 0, and `chain` becomes the last one.
    /// `start` is A XOR the number of the first block, a multiple of eight. Blocks of `out` beyond
    /// `blocks` are left undefined.
    fn keystream(
        self,
        schedule: &Self::Schedule,
        start: &[u64; LANES],
        chain: &mut [u64; LANES],
        blocks: usize,
        out: &mut [[u64; BURST]; LANES],
    );

    /// Up to eight blocks of the chain of F9: `chain` is the encryption of `chain ^ text`, and
    /// `sum` takes it in while the lane's count of blocks in this burst lasts.
    fn absorb(
        self,
        schedule: &Self::Schedule,
        text: &[[u64; LANES]; BURST],
        counts: &[u64; LANES],
        chain: &mut [u64; LANES],
        sum: &mut [u64; LANES],
        blocks: usize,
    );
}

/// How many packets work side by side.
pub(super) const LANES: usize = 64;

/// Blocks that lanes work on between two looks at who has ended.
pub(super) const BURST: usize = 8;

/// The bytes of a full burst.
const BURST_BYTES: usize = 8 * BURST;

/// The key modifier of F8 (TS 35.201, clause 3.3).
const F8_MODIFIER: u8 = 0x55;

/// The key modifier of F9 (TS 35.201, clause 4.3).
const F9_MODIFIER: u8 = 0xAA;

/// Puts `key`, with `modifier` added to every byte, in a lane.
fn put(keys: &mut [[u64; LANES]; 2], lane: usize, key: &Key, modifier: u8) {
    for (keys, half) in keys.iter_mut().zip(key.halves) {
        keys[lane] = half ^ u64::from_ne_bytes([modifier; 8]);
    }
}

/// Where F8 of a packet stands. The number of the next block is a multiple of eight: `rest` is what
/// the burst before it left over, from byte `used` on.
#[derive(Clone)]
pub(super) struct State {
    /// A of TS 35.201, clause 3.4.
    pub(super) start: u64,
    count: u64,
    chain: u64,
    rest: [u64; BURST],
    used: usize,
}

impl Default for State {
    fn default() -> State {
        State { start: 0, count: 0, chain: 0, rest: [0; BURST], used: BURST_BYTES }
    }
}

impl Zeroize for State {
    fn zeroize(&mut self) {
        self.start.zeroize();
        self.chain.zeroize();
        self.rest.zeroize();
    }
}

/// A text in a lane of F8.
#[derive(Clone, Copy)]
pub(super) struct Run {
    src: *const u8,
    dst: *mut u8,
    left: usize,
    spare_bits: u8,
}

impl Run {
    fn new(text: &mut Text<'_>, spare_bits: u8) -> Run {
        let (src, dst, left) = text.pointers();
        Run { src, dst, left, spare_bits: spare_bits & 7 }
    }

    /// Combines the next bytes with the bytes of `keystream` from `from` on, and tells up to which.
    #[inline]
    fn combine(&mut self, keystream: &[u64; BURST], from: usize) -> usize {
        let bytes = self.left.min(BURST_BYTES - from);
        if bytes == BURST_BYTES && (self.left > bytes || self.spare_bits == 0) {
            // SAFETY: a burst of bytes is left at both addresses (`Text::pointers`), which are
            // equal or far apart.
            unsafe {
                let src = self.src.cast::<[u64; BURST]>().read_unaligned();
                let text: [u64; BURST] = core::array::from_fn(|i| src[i] ^ keystream[i].to_le());
                self.dst.cast::<[u64; BURST]>().write_unaligned(text);
            }
        } else {
            for i in 0..bytes {
                let at = from + i;
                let mut mask = (keystream[at / 8] >> (8 * (at % 8))) as u8;
                if i + 1 == self.left {
                    mask &= 0xFF << self.spare_bits;
                }
                // SAFETY: `i` is less than what is left, as above.
                unsafe { *self.dst.add(i) = *self.src.add(i) ^ mask };
            }
        }
        // SAFETY: `bytes` is no more than what is left.
        unsafe {
            self.src = self.src.add(bytes);
            self.dst = self.dst.add(bytes);
        }
        self.left -= bytes;
        from + bytes
    }
}

/// A packet of F8, or a piece of one.
pub(super) trait Source: Sized {
    /// Whether the stream goes on behind this piece.
    const GOES_ON: bool;

    /// The key.
    fn key(&self) -> &Key;

    /// A of up to 64 packets (TS 35.201, clause 3.4).
    fn starts<L: Lanes>(
        lanes: L,
        schedule: &mut L::Schedule,
        packets: &[Self],
        starts: &mut [u64; LANES],
    );

    /// The text behind the keystream that is left over, the number of the next block, and the
    /// block before it.
    fn open(&mut self) -> (Run, u64, u64);

    /// The text has ended: the number of the next block, the block before it, and what is left
    /// over of the burst.
    fn close(&mut self, count: u64, chain: u64, rest: [u64; BURST], used: usize);
}

impl Source for F8<'_> {
    const GOES_ON: bool = false;

    fn key(&self) -> &Key {
        self.key
    }

    fn starts<L: Lanes>(
        lanes: L,
        schedule: &mut L::Schedule,
        packets: &[Self],
        starts: &mut [u64; LANES],
    ) {
        start(lanes, schedule, packets, starts);
    }

    fn open(&mut self) -> (Run, u64, u64) {
        (Run::new(&mut self.text, self.spare_bits), 0, 0)
    }

    fn close(&mut self, _: u64, _: u64, _: [u64; BURST], _: usize) {}
}

impl Source for Piece<'_> {
    const GOES_ON: bool = true;

    fn key(&self) -> &Key {
        &self.stream.key
    }

    fn starts<L: Lanes>(_: L, _: &mut L::Schedule, packets: &[Self], starts: &mut [u64; LANES]) {
        for (start, piece) in starts.iter_mut().zip(packets) {
            *start = piece.stream.state.start;
        }
    }

    fn open(&mut self) -> (Run, u64, u64) {
        let state = &mut self.stream.state;
        let mut run = Run::new(&mut self.text, 0);
        state.used = run.combine(&state.rest, state.used);
        (run, state.count, state.chain)
    }

    fn close(&mut self, count: u64, chain: u64, rest: [u64; BURST], used: usize) {
        let state = &mut self.stream.state;
        *state = State { start: state.start, count, chain, rest, used };
    }
}

/// All packets. `schedule` is room to work in.
pub(super) fn f8<L: Lanes, S: Source>(lanes: L, schedule: &mut L::Schedule, packets: &mut [S]) {
    // The packet in each lane.
    let mut runs = [None::<(usize, Run)>; LANES];
    let mut keys = [[0; LANES]; 2];
    let mut start = [0; LANES];
    let mut count = [0u64; LANES];
    let mut chain = [0; LANES];
    let mut numbered = [0; LANES];
    let mut keystream = [[0; BURST]; LANES];
    // A of the packets from `window_at` on, made for many of them together.
    let mut window = [0; LANES];
    let mut window_at = 0;
    let mut window_end = 0;
    let mut next = 0;
    loop {
        let mut changed = false;
        let mut longest = 0;
        for lane in 0..LANES {
            while runs[lane].is_none() && next < packets.len() {
                if next == window_end {
                    window_at = next;
                    window_end = packets.len().min(next + LANES);
                    S::starts(lanes, schedule, &packets[window_at..window_end], &mut window);
                    // Another schedule is there now.
                    changed = true;
                }
                let packet = &mut packets[next];
                let run;
                (run, count[lane], chain[lane]) = packet.open();
                if run.left > 0 {
                    runs[lane] = Some((next, run));
                    put(&mut keys, lane, packet.key(), 0);
                    start[lane] = window[next - window_at];
                    changed = true;
                }
                next += 1;
            }
            longest = longest.max(runs[lane].map_or(0, |(_, run)| run.left));
        }
        if longest == 0 {
            break;
        }
        if changed {
            lanes.schedule(&keys, schedule);
        }
        for lane in 0..LANES {
            // The count is a number in the block, most significant byte first.
            numbered[lane] = start[lane] ^ count[lane].swap_bytes();
            count[lane] += BURST as u64;
        }
        let blocks = if S::GOES_ON { BURST } else { longest.div_ceil(8).min(BURST) };
        lanes.keystream(schedule, &numbered, &mut chain, blocks, &mut keystream);
        for (lane, place) in runs.iter_mut().enumerate() {
            let Some((packet, run)) = place else { continue };
            let used = run.combine(&keystream[lane], 0);
            if run.left == 0 {
                packets[*packet].close(count[lane], chain[lane], keystream[lane], used);
                *place = None;
            }
        }
    }
    keys.zeroize();
    schedule.zeroize();
    keystream.zeroize();
    for secret in [&mut start, &mut chain, &mut numbered, &mut window] {
        secret.zeroize();
    }
}

/// A of up to 64 packets (TS 35.201, clause 3.4): the encryption of the IV under the modified key.
pub(super) fn start<L: Lanes>(
    lanes: L,
    schedule: &mut L::Schedule,
    packets: &[F8<'_>],
    starts: &mut [u64; LANES],
) {
    let mut keys = [[0; LANES]; 2];
    for (lane, (start, packet)) in starts.iter_mut().zip(packets).enumerate() {
        put(&mut keys, lane, packet.key, F8_MODIFIER);
        *start = u64::from_le_bytes(packet.iv);
    }
    lanes.schedule(&keys, schedule);
    lanes.encrypt(schedule, starts);
    keys.zeroize();
}

/// A message in a lane of F9: IV, data, DIRECTION, a one and zeros, as blocks.
#[derive(Clone, Copy)]
struct Message<'a> {
    packet: usize,
    iv: u64,
    /// What consists of full blocks of the data.
    body: &'a [u8],
    /// The one or two blocks after it.
    tail: [u64; 2],
    at: usize,
    blocks: usize,
}

impl<'a> Message<'a> {
    fn new(packet: usize, f9: &F9<'a>) -> Message<'a> {
        let data = f9.data;
        let spare_bits = if data.is_empty() { 0 } else { usize::from(f9.spare_bits & 7) };
        let (body, rest) = data.split_at((data.len() - usize::from(spare_bits > 0)) / 8 * 8);
        // Up to 63 bits of data, DIRECTION and the one.
        let mut tail = [0u8; 16];
        tail[..rest.len()].copy_from_slice(rest);
        let bits = 8 * rest.len() - spare_bits;
        if spare_bits > 0 {
            tail[bits / 8] &= 0xFF << spare_bits;
        }
        tail[bits / 8] |= (f9.direction & 1) << (7 - bits % 8);
        tail[(bits + 1) / 8] |= 1 << (7 - (bits + 1) % 8);
        let (first, second) = tail.split_at(8);
        let block = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        let blocks = 1 + body.len() / 8 + (bits + 2).div_ceil(64);
        let tail = [block(first), block(second)];
        Message { packet, iv: u64::from_le_bytes(f9.iv), body, tail, at: 0, blocks }
    }

    fn block(&self, at: usize) -> u64 {
        let Some(at) = at.checked_sub(1) else { return self.iv };
        match self.body.get(8 * at..8 * at + 8) {
            Some(bytes) => u64::from_le_bytes(bytes.try_into().expect("eight bytes")),
            None => self.tail.get(at - self.body.len() / 8).copied().unwrap_or(0),
        }
    }

    fn left(&self) -> usize {
        self.blocks - self.at
    }
}

/// All packets. `schedule` is room to work in.
pub(super) fn f9<L: Lanes>(lanes: L, schedule: &mut L::Schedule, packets: &mut [F9<'_>]) {
    let mut messages = [None::<Message<'_>>; LANES];
    let mut keys = [[0; LANES]; 2];
    let mut text = [[0; LANES]; BURST];
    let (mut counts, mut chain, mut sum) = ([0; LANES], [0; LANES], [0; LANES]);
    // Messages at their end, whose sums wait for the last encryption.
    let mut ended = [0; LANES];
    let mut last_keys = [[0; LANES]; 2];
    let mut last = [0; LANES];
    let mut waiting = 0;
    let mut next = 0;
    let mut stale = true;
    loop {
        for lane in 0..LANES {
            if messages[lane].is_none() && next < packets.len() {
                messages[lane] = Some(Message::new(next, &packets[next]));
                put(&mut keys, lane, packets[next].key, 0);
                (chain[lane], sum[lane]) = (0, 0);
                next += 1;
                stale = true;
            }
        }
        let longest = messages.iter().flatten().map(Message::left).max().unwrap_or(0);
        if longest == 0 {
            break;
        }
        if stale {
            lanes.schedule(&keys, schedule);
            stale = false;
        }
        let blocks = longest.min(BURST);
        for (lane, message) in messages.iter_mut().enumerate() {
            counts[lane] = 0;
            let Some(message) = message else { continue };
            for (number, text) in text.iter_mut().enumerate().take(blocks) {
                text[lane] = message.block(message.at + number);
            }
            counts[lane] = message.left().min(blocks) as u64;
            message.at += counts[lane] as usize;
        }
        lanes.absorb(schedule, &text, &counts, &mut chain, &mut sum, blocks);
        for lane in 0..LANES {
            let Some(message) = messages[lane].filter(|message| message.left() == 0) else {
                continue;
            };
            messages[lane] = None;
            ended[waiting] = message.packet;
            put(&mut last_keys, waiting, packets[message.packet].key, F9_MODIFIER);
            last[waiting] = sum[lane];
            waiting += 1;
            if waiting == LANES {
                finish(lanes, schedule, &last_keys, &mut last, &ended, packets);
                (waiting, stale) = (0, true);
            }
        }
    }
    finish(lanes, schedule, &last_keys, &mut last, &ended[..waiting], packets);
    keys.zeroize();
    last_keys.zeroize();
    schedule.zeroize();
    text.zeroize();
    for secret in [&mut chain, &mut sum, &mut last] {
        secret.zeroize();
    }
}

/// The last encryption, under the modified key, and the tags: its left half.
fn finish<L: Lanes>(
    lanes: L,
    schedule: &mut L::Schedule,
    keys: &[[u64; LANES]; 2],
    last: &mut [u64; LANES],
    ended: &[usize],
    packets: &mut [F9<'_>],
) {
    if ended.is_empty() {
        return;
    }
    lanes.schedule(keys, schedule);
    lanes.encrypt(schedule, last);
    for (&packet, last) in ended.iter().zip(last.iter()) {
        packets[packet].tag = (*last as u32).to_le_bytes();
    }
}
