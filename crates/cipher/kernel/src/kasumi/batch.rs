//! Packets of different lengths in the lanes of one kernel.
//!
//! F8 and F9 are chains: a block needs the one before it, so the parallelism is between packets.
//! Lanes work in bursts of up to eight blocks; where a packet has ended, its lane takes the next
//! one before the next burst.

use zeroize::Zeroize;

use super::{F8, F9, Key};

/// Blocks of KASUMI side by side, each under its own key.
///
/// A block is the little-endian reading of its eight bytes: in memory, the bytes in order.
pub(super) trait Lanes<const N: usize>: Copy {
    /// What is made of `N` keys.
    type Schedule: Zeroize;

    /// Prepares `N` keys.
    fn schedule(self, keys: &[[u8; 16]; N], schedule: &mut Self::Schedule);

    /// One block in each lane.
    fn encrypt(self, schedule: &Self::Schedule, blocks: &mut [u64; N]);

    /// Up to eight blocks of the keystream of F8 in each lane: block `i` is the encryption of
    /// `start ^ i ^ block i - 1` with `chain` before block 0, and `chain` becomes the last one.
    /// `start` is A XOR the number of the first block, a multiple of eight.
    fn keystream(
        self,
        schedule: &Self::Schedule,
        start: &[u64; N],
        chain: &mut [u64; N],
        blocks: usize,
        out: &mut [[u64; N]; BURST],
    );

    /// Up to eight blocks of the chain of F9: `chain` is the encryption of `chain ^ text`, and
    /// `sum` takes it in while the lane's count of blocks in this burst lasts.
    fn absorb(
        self,
        schedule: &Self::Schedule,
        text: &[[u64; N]; BURST],
        counts: &[u64; N],
        chain: &mut [u64; N],
        sum: &mut [u64; N],
        blocks: usize,
    );
}

/// Blocks that lanes work on between two looks at who has ended.
pub(super) const BURST: usize = 8;

/// The bytes of a full burst.
pub(super) const BURST_BYTES: usize = 8 * BURST;

/// The key modifier of F8 (TS 35.201, clause 3.3).
pub(super) const F8_MODIFIER: u8 = 0x55;

/// The key modifier of F9 (TS 35.201, clause 4.3).
const F9_MODIFIER: u8 = 0xAA;

/// `key` with `modifier` added to every byte.
pub(super) fn modified(key: &Key, modifier: u8) -> [u8; 16] {
    key.bytes.map(|byte| byte ^ modifier)
}

/// A packet in a lane of F8.
#[derive(Clone, Copy)]
struct Run {
    src: *const u8,
    dst: *mut u8,
    left: usize,
    spare_bits: u8,
}

/// All packets. `schedule` is room to work in.
pub(super) fn f8<const N: usize, L: Lanes<N>>(
    lanes: L,
    schedule: &mut L::Schedule,
    packets: &mut [F8<'_>],
) {
    let mut runs = [None::<Run>; N];
    let mut keys = [[0; 16]; N];
    let mut start = [0; N];
    let mut count = [0u64; N];
    let mut chain = [0; N];
    let mut numbered = [0; N];
    let mut keystream = [[0; N]; BURST];
    // A of the packets `window_at ..`, made for N of them at a time.
    let mut window = [0; N];
    let mut window_at = 0;
    let mut window_end = 0;
    let mut next = 0;
    loop {
        let mut changed = false;
        for lane in 0..N {
            while runs[lane].is_none_or(|run| run.left == 0) && next < packets.len() {
                if next == window_end {
                    window_at = next;
                    window_end = packets.len().min(next + N);
                    begin(lanes, schedule, &packets[window_at..window_end], &mut window);
                }
                let packet = &mut packets[next];
                let (src, dst, left) = packet.text.pointers();
                runs[lane] = Some(Run { src, dst, left, spare_bits: packet.spare_bits & 7 });
                keys[lane] = packet.key.bytes;
                start[lane] = window[next - window_at];
                (count[lane], chain[lane]) = (0, 0);
                next += 1;
                changed = true;
            }
        }
        let longest = runs.iter().flatten().map(|run| run.left).max().unwrap_or(0);
        if longest == 0 {
            break;
        }
        if changed {
            lanes.schedule(&keys, schedule);
        }
        for lane in 0..N {
            // The count is a number in the block, most significant byte first.
            numbered[lane] = start[lane] ^ count[lane].swap_bytes();
            count[lane] += BURST as u64;
        }
        let blocks = longest.div_ceil(8).min(BURST);
        lanes.keystream(schedule, &numbered, &mut chain, blocks, &mut keystream);
        for (lane, run) in runs.iter_mut().enumerate() {
            let Some(run) = run else { continue };
            if run.left >= BURST_BYTES && (run.left > BURST_BYTES || run.spare_bits == 0) {
                // SAFETY: a burst of bytes is left at both addresses (`Text::pointers`), which are
                // equal or far apart.
                unsafe {
                    let src = run.src.cast::<[u64; BURST]>().read_unaligned();
                    let text: [u64; BURST] = core::array::from_fn(|i| src[i] ^ keystream[i][lane]);
                    run.dst.cast::<[u64; BURST]>().write_unaligned(text);
                    run.src = run.src.add(BURST_BYTES);
                    run.dst = run.dst.add(BURST_BYTES);
                }
                run.left -= BURST_BYTES;
            } else {
                let bytes = run.left.min(BURST_BYTES);
                for i in 0..bytes {
                    let mut mask = (keystream[i / 8][lane] >> (8 * (i % 8))) as u8;
                    if i + 1 == run.left {
                        mask &= 0xFF << run.spare_bits;
                    }
                    // SAFETY: fewer than `run.left` bytes on, as above.
                    unsafe { *run.dst.add(i) = *run.src.add(i) ^ mask };
                }
                // The last burst of this packet: the addresses are not used again.
                run.left -= bytes;
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

/// A of up to `N` packets (TS 35.201, clause 3.4): the encryption of the IV under the modified key.
fn begin<const N: usize, L: Lanes<N>>(
    lanes: L,
    schedule: &mut L::Schedule,
    packets: &[F8<'_>],
    starts: &mut [u64; N],
) {
    let mut keys = [[0; 16]; N];
    for ((key, start), packet) in keys.iter_mut().zip(&mut *starts).zip(packets) {
        *key = modified(packet.key, F8_MODIFIER);
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
pub(super) fn f9<const N: usize, L: Lanes<N>>(
    lanes: L,
    schedule: &mut L::Schedule,
    packets: &mut [F9<'_>],
) {
    let mut messages = [None::<Message<'_>>; N];
    let mut keys = [[0; 16]; N];
    let mut text = [[0; N]; BURST];
    let (mut counts, mut chain, mut sum) = ([0; N], [0; N], [0; N]);
    // Messages at their end, whose sums wait for the last encryption.
    let mut ended = [0; N];
    let mut last_keys = [[0; 16]; N];
    let mut last = [0; N];
    let mut waiting = 0;
    let mut next = 0;
    let mut stale = true;
    loop {
        for lane in 0..N {
            if messages[lane].is_none() && next < packets.len() {
                messages[lane] = Some(Message::new(next, &packets[next]));
                keys[lane] = packets[next].key.bytes;
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
        for lane in 0..N {
            let Some(message) = messages[lane].filter(|message| message.left() == 0) else {
                continue;
            };
            messages[lane] = None;
            ended[waiting] = message.packet;
            last_keys[waiting] = modified(packets[message.packet].key, F9_MODIFIER);
            last[waiting] = sum[lane];
            waiting += 1;
            if waiting == N {
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
fn finish<const N: usize, L: Lanes<N>>(
    lanes: L,
    schedule: &mut L::Schedule,
    keys: &[[u8; 16]; N],
    last: &mut [u64; N],
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
