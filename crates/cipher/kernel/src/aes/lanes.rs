//! AES-CBC encryption, and the CBC-MAC, of many texts side by side: up to thirty-two chains in eight
//! registers of four blocks.
//!
//! One chain waits for three or four cycles per round. Where one register of VAES can begin in each
//! cycle (Intel), four registers keep the unit busy; where two can (Zen 5), eight do. Lanes may have
//! keys of their own, of one length. A lane whose text ends takes the next one, the longest first;
//! lanes without a text repeat the first one's work. No branch and no address depends on a key or a
//! text.
//!
//! Tested against single texts in `tests/aes_lanes.rs`.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use core::{ptr, sync::atomic};

use super::{BLOCK, Key, Schedule, Unit};
use crate::Text;

/// One text to encrypt: whole blocks; what is left over is not touched.
#[derive(Debug)]
pub struct Cbc<'a> {
    /// The key.
    pub key: &'a Key,
    /// The initialisation vector.
    pub iv: &'a [u8; BLOCK],
    /// The text.
    pub text: Text<'a>,
}

/// One text for the CBC-MAC, in parts of whole blocks; what is left over of each does not count.
pub struct Mac<'a> {
    /// The key.
    pub key: &'a Key,
    /// The parts, one after the other.
    pub parts: [&'a [u8]; 3],
    /// The state: before, and then after.
    pub state: [u8; BLOCK],
}

/// What a lane does.
trait Work {
    /// Whether it stores what becomes of each block.
    const WRITES: bool;
    /// How many parts a text has at most.
    const PARTS: usize;
    fn key(&self) -> &Key;
    fn blocks(&self) -> usize;
    /// What the chain begins with.
    fn start(&self) -> [u8; BLOCK];
    /// Where to read and write a part, and how many blocks.
    fn part(&mut self, number: usize) -> (*const u8, *mut u8, usize);
    /// What the chain ended with.
    fn end(&mut self, state: &[u8; BLOCK]);
    /// Without lanes.
    fn alone(&mut self);
}

impl Work for Cbc<'_> {
    const WRITES: bool = true;
    const PARTS: usize = 1;

    #[inline(always)]
    fn key(&self) -> &Key {
        self.key
    }

    #[inline(always)]
    fn blocks(&self) -> usize {
        self.text.len() / BLOCK
    }

    #[inline(always)]
    fn start(&self) -> [u8; BLOCK] {
        *self.iv
    }

    #[inline(always)]
    fn part(&mut self, _: usize) -> (*const u8, *mut u8, usize) {
        let (src, dst, len) = self.text.pointers();
        (src, dst, len / BLOCK)
    }

    #[inline(always)]
    fn end(&mut self, _: &[u8; BLOCK]) {}

    fn alone(&mut self) {
        super::cbc_encrypt(self.key, &mut { *self.iv }, self.text.reborrow());
    }
}

impl Work for Mac<'_> {
    const WRITES: bool = false;
    const PARTS: usize = 3;

    #[inline(always)]
    fn key(&self) -> &Key {
        self.key
    }

    #[inline(always)]
    fn blocks(&self) -> usize {
        self.parts.iter().map(|part| part.len() / BLOCK).sum()
    }

    #[inline(always)]
    fn start(&self) -> [u8; BLOCK] {
        self.state
    }

    #[inline(always)]
    fn part(&mut self, number: usize) -> (*const u8, *mut u8, usize) {
        let part = self.parts[number];
        (part.as_ptr(), ptr::null_mut(), part.len() / BLOCK)
    }

    #[inline(always)]
    fn end(&mut self, state: &[u8; BLOCK]) {
        self.state = *state;
    }

    fn alone(&mut self) {
        for part in self.parts {
            super::cbc_mac(self.key, &mut self.state, part);
        }
    }
}

/// Chains side by side.
const LANES: usize = 32;

/// Registers, of four chains each.
const QUADS: usize = LANES / 4;

/// Fewer lanes than this are quicker one by one.
const FLOOR: usize = 2;

/// Texts that are put in order at a time: there is no allocation here.
const GROUP: usize = 64;

/// The keys of one round, lane by lane.
type RoundKeys = [[u8; BLOCK]; LANES];

/// What the lanes work on.
#[repr(C, align(64))]
struct Lanes {
    /// The last block of each chain.
    state: [[u8; BLOCK]; LANES],
    /// The keys of each round, lane by lane; not used where all lanes have one key.
    keys: [MaybeUninit<RoundKeys>; 15],
    src: [*const u8; LANES],
    dst: [*mut u8; LANES],
    /// Blocks left of the part.
    left: [usize; LANES],
    /// Which text it is, and the number of its next part.
    place: [u8; LANES],
    part: [u8; LANES],
}

/// Encrypts texts in CBC mode.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn cbc_encrypt(packets: &mut [Cbc<'_>]) {
    run(packets);
}

/// Continues the CBC-MACs of texts.
pub fn cbc_mac(packets: &mut [Mac<'_>]) {
    run(packets);
}

#[inline(always)]
fn run<W: Work>(packets: &mut [W]) {
    for packets in packets.chunks_mut(GROUP) {
        let first = packets.first().map_or(10, |packet| packet.key().encrypt.rounds);
        // Most often all keys are equally long.
        if !all_of(packets, first) {
            for rounds in [10, 12, 14] {
                if rounds != first {
                    all_of(packets, rounds);
                }
            }
        }
    }
}

/// Works off the texts of up to [`GROUP`] whose keys have so many rounds. Returns whether these are
/// all.
fn all_of<W: Work>(packets: &mut [W], rounds: usize) -> bool {
    // Lengths in blocks, above the lowest byte, and places.
    let mut order = [0u64; GROUP];
    let (mut count, mut alike) = (0, true);
    let mut all = true;
    for (place, packet) in packets.iter().enumerate() {
        let blocks = packet.blocks();
        all &= packet.key().encrypt.rounds == rounds;
        if packet.key().encrypt.rounds == rounds && blocks > 0 {
            order[count] = (blocks as u64) << 8 | place as u64;
            alike &= order[count] >> 8 == order[0] >> 8;
            count += 1;
        }
    }
    let order = &mut order[..count];
    if !alike {
        // The longest first: what starts last then ends soon after the others.
        order.sort_unstable_by(|a, b| b.cmp(a));
    }
    feed(packets, order, rounds, alike);
    all
}

/// The place of an entry of an order.
fn place(entry: u64) -> usize {
    (entry & 0xff) as usize
}

/// Works off the texts that `order` lists, none of them empty; `alike`: they are equally long.
fn feed<W: Work>(packets: &mut [W], order: &[u64], rounds: usize, alike: bool) {
    let Some(&first) = order.first() else { return };
    let key: *const Key = packets[place(first)].key();
    let (mut vaes, mut one_key) = (true, true);
    for packet in packets.iter() {
        vaes &= matches!(packet.key().unit, Unit::Vaes);
        one_key &= ptr::eq(packet.key(), key);
    }
    if order.len() < FLOOR || !vaes {
        for &entry in order {
            packets[place(entry)].alone();
        }
        return;
    }
    let mut lanes = Lanes {
        state: [[0; BLOCK]; LANES],
        keys: [const { MaybeUninit::uninit() }; 15],
        src: [ptr::null(); LANES],
        dst: [ptr::null_mut(); LANES],
        left: [0; LANES],
        place: [0; LANES],
        part: [0; LANES],
    };
    if !one_key {
        for keys in &mut lanes.keys[..=rounds] {
            keys.write([[0; BLOCK]; LANES]);
        }
    }
    let own_keys = (!one_key).then_some(rounds);
    let mut queue = order.iter().map(|&entry| place(entry));
    let mut busy = 0;
    for lane in 0..LANES {
        let Some(next) = queue.next() else { break };
        lanes.start(lane, next, &mut packets[next], !one_key);
        busy += 1;
    }
    while busy > 0 {
        lanes.repeat(busy, own_keys);
        let blocks = lanes.left[..busy].iter().copied().min().unwrap_or(0);
        let quads = busy.div_ceil(4);
        let shared = one_key.then(|| &packets[place(first)].key().encrypt);
        // SAFETY: all keys' unit is Vaes, so a token proved the features; every lane's pointers are
        // to `blocks` blocks at least, and lanes beyond `busy` repeat one that is not.
        unsafe {
            match rounds {
                10 => lanes.run_quads::<W, 10>(shared, quads, blocks),
                12 => lanes.run_quads::<W, 12>(shared, quads, blocks),
                _ => lanes.run_quads::<W, 14>(shared, quads, blocks),
            }
        }
        if W::PARTS == 1 && alike && queue.len() == 0 {
            for lane in 0..busy {
                packets[usize::from(lanes.place[lane])].end(&lanes.state[lane]);
            }
            break;
        }
        for lane in (0..busy).rev() {
            lanes.left[lane] -= blocks;
            if lanes.left[lane] > 0 || lanes.next_part(lane, packets) {
                continue;
            }
            packets[usize::from(lanes.place[lane])].end(&lanes.state[lane]);
            if let Some(next) = queue.next() {
                lanes.start(lane, next, &mut packets[next], !one_key);
            } else {
                busy -= 1;
                lanes.copy(busy, lane, own_keys);
            }
        }
    }
    if !one_key {
        for keys in &mut lanes.keys[..=rounds] {
            // SAFETY: it is there to be written; volatile writes are not optimised away.
            unsafe { ptr::write_volatile(keys.as_mut_ptr(), [[0; BLOCK]; LANES]) };
        }
        atomic::compiler_fence(atomic::Ordering::SeqCst);
    }
}

fn round_key(key: &Key, round: usize) -> [u8; BLOCK] {
    let schedule = &key.encrypt;
    if round == schedule.rounds { schedule.last } else { schedule.keys[round] }
}

impl Lanes {
    /// Gives a text that is not empty to a lane.
    #[inline(always)]
    fn start<W: Work>(&mut self, lane: usize, place: usize, packet: &mut W, own_key: bool) {
        self.state[lane] = packet.start();
        (self.place[lane], self.part[lane]) = (place as u8, 0);
        self.begin_part(lane, packet);
        if own_key {
            for round in 0..=packet.key().encrypt.rounds {
                // SAFETY: `feed` has written so many rounds.
                let keys = unsafe { self.keys[round].assume_init_mut() };
                keys[lane] = round_key(packet.key(), round);
            }
        }
    }

    /// Goes on to the next part of a text that has blocks; false when there is none.
    #[inline(always)]
    fn begin_part<W: Work>(&mut self, lane: usize, packet: &mut W) -> bool {
        while usize::from(self.part[lane]) < W::PARTS {
            let (src, dst, blocks) = packet.part(usize::from(self.part[lane]));
            self.part[lane] += 1;
            if blocks > 0 {
                (self.src[lane], self.dst[lane], self.left[lane]) = (src, dst, blocks);
                return true;
            }
        }
        false
    }

    #[inline(always)]
    fn next_part<W: Work>(&mut self, lane: usize, packets: &mut [W]) -> bool {
        W::PARTS > 1 && self.begin_part(lane, &mut packets[usize::from(self.place[lane])])
    }

    /// Has one lane be as another; `rounds`: with keys of so many rounds.
    fn copy(&mut self, from: usize, to: usize, rounds: Option<usize>) {
        self.src[to] = self.src[from];
        self.dst[to] = self.dst[from];
        self.left[to] = self.left[from];
        self.place[to] = self.place[from];
        self.part[to] = self.part[from];
        self.state[to] = self.state[from];
        if let Some(rounds) = rounds {
            for keys in &mut self.keys[..=rounds] {
                // SAFETY: `feed` has written so many rounds.
                let keys = unsafe { keys.assume_init_mut() };
                keys[to] = keys[from];
            }
        }
    }

    /// Has the lanes of the last register without a text repeat the first one.
    fn repeat(&mut self, busy: usize, rounds: Option<usize>) {
        for lane in busy..busy.next_multiple_of(4) {
            self.copy(0, lane, rounds);
        }
    }

    /// # Safety
    /// That of [`run`](Lanes::run).
    unsafe fn run_quads<W: Work, const ROUNDS: usize>(
        &mut self,
        shared: Option<&Schedule>,
        quads: usize,
        blocks: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            match quads {
                1 => self.run::<W, ROUNDS, 1>(shared, blocks),
                2 => self.run::<W, ROUNDS, 2>(shared, blocks),
                3 => self.run::<W, ROUNDS, 3>(shared, blocks),
                4 => self.run::<W, ROUNDS, 4>(shared, blocks),
                5 => self.run::<W, ROUNDS, 5>(shared, blocks),
                6 => self.run::<W, ROUNDS, 6>(shared, blocks),
                7 => self.run::<W, ROUNDS, 7>(shared, blocks),
                _ => self.run::<W, ROUNDS, 8>(shared, blocks),
            }
        }
    }

    /// Takes `blocks` blocks of the first `4 Q` lanes, and moves these on.
    ///
    /// # Safety
    /// The CPU has the features. Each of those lanes can read so many blocks, and write them where the
    /// work is to; two that write the same memory do the same.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,aes")]
    unsafe fn run<W: Work, const ROUNDS: usize, const Q: usize>(
        &mut self,
        shared: Option<&Schedule>,
        blocks: usize,
    ) {
        let states = self.state.as_mut_ptr().cast::<__m512i>();
        let own = self.keys.as_ptr().cast::<__m512i>();
        let mut state = [_mm512_setzero_si512(); Q];
        // SAFETY: `states` has a register for each four lanes, and where there is no shared key `own`
        // has as many for each round. Lanes by the caller. All lanes' blocks are read before the
        // first is written, so that lanes may repeat each other.
        unsafe {
            for (quad, state) in state.iter_mut().enumerate() {
                *state = states.add(quad).read();
            }
            if let Some(schedule) = shared {
                let mut keys = [_mm512_setzero_si512(); 15];
                for (round, key) in keys.iter_mut().enumerate().take(ROUNDS + 1) {
                    let block =
                        if round == ROUNDS { &schedule.last } else { &schedule.keys[round] };
                    *key = _mm512_broadcast_i32x4(_mm_loadu_si128(block.as_ptr().cast()));
                }
                for block in 0..blocks {
                    self.load::<Q>(block, &mut state);
                    for state in &mut state {
                        *state = _mm512_xor_si512(*state, keys[0]);
                    }
                    for key in &keys[1..ROUNDS] {
                        for state in &mut state {
                            *state = _mm512_aesenc_epi128(*state, *key);
                        }
                    }
                    for state in &mut state {
                        *state = _mm512_aesenclast_epi128(*state, keys[ROUNDS]);
                    }
                    if W::WRITES {
                        self.store::<Q>(block, &state);
                    }
                }
            } else {
                for block in 0..blocks {
                    self.load::<Q>(block, &mut state);
                    for (quad, state) in state.iter_mut().enumerate() {
                        *state = _mm512_xor_si512(*state, own.add(quad).read());
                    }
                    for round in 1..ROUNDS {
                        for (quad, state) in state.iter_mut().enumerate() {
                            let key = own.add(QUADS * round + quad).read();
                            *state = _mm512_aesenc_epi128(*state, key);
                        }
                    }
                    for (quad, state) in state.iter_mut().enumerate() {
                        let key = own.add(QUADS * ROUNDS + quad).read();
                        *state = _mm512_aesenclast_epi128(*state, key);
                    }
                    if W::WRITES {
                        self.store::<Q>(block, &state);
                    }
                }
            }
            for (quad, state) in state.iter().enumerate() {
                states.add(quad).write(*state);
            }
        }
        for lane in 0..4 * Q {
            self.src[lane] = self.src[lane].wrapping_add(BLOCK * blocks);
            if W::WRITES {
                self.dst[lane] = self.dst[lane].wrapping_add(BLOCK * blocks);
            }
        }
    }

    /// Adds block number `block` of each lane to the states.
    ///
    /// # Safety
    /// They are readable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn load<const Q: usize>(&self, block: usize, state: &mut [__m512i; Q]) {
        for (state, src) in state.iter_mut().zip(self.src.as_chunks::<4>().0) {
            let at = src.map(|src| src.wrapping_add(BLOCK * block).cast::<__m128i>());
            // SAFETY: the caller's.
            *state = _mm512_xor_si512(*state, unsafe { four(at[0], at[1], at[2], at[3]) });
        }
    }

    /// Stores the states as block number `block` of each lane.
    ///
    /// # Safety
    /// They are writable.
    #[inline]
    #[target_feature(enable = "avx512f")]
    unsafe fn store<const Q: usize>(&self, block: usize, state: &[__m512i; Q]) {
        for (state, dst) in state.iter().zip(self.dst.as_chunks::<4>().0) {
            let at = dst.map(|dst| dst.wrapping_add(BLOCK * block).cast::<__m128i>());
            // SAFETY: the caller's.
            unsafe {
                _mm_storeu_si128(at[0], _mm512_castsi512_si128(*state));
                _mm_storeu_si128(at[1], _mm512_extracti32x4_epi32::<1>(*state));
                _mm_storeu_si128(at[2], _mm512_extracti32x4_epi32::<2>(*state));
                _mm_storeu_si128(at[3], _mm512_extracti32x4_epi32::<3>(*state));
            }
        }
    }
}

/// Four blocks.
///
/// # Safety
/// They are readable.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn four(
    a: *const __m128i,
    b: *const __m128i,
    c: *const __m128i,
    d: *const __m128i,
) -> __m512i {
    // SAFETY: the caller's.
    unsafe {
        let all = _mm512_castsi128_si512(_mm_loadu_si128(a));
        let all = _mm512_inserti32x4::<1>(all, _mm_loadu_si128(b));
        let all = _mm512_inserti32x4::<2>(all, _mm_loadu_si128(c));
        _mm512_inserti32x4::<3>(all, _mm_loadu_si128(d))
    }
}
