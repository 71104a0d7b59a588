//! AES-CBC encryption, and the CBC-MAC, of many texts side by side: a chain for each block of eight
//! registers, which is thirty-two with AVX-512, sixteen with VAES alone, eight with AES-NI.
//!
//! One chain waits for three or four cycles per round. Where one register of VAES can begin in each
//! cycle (Intel, registers of 512 bits), four registers keep the unit busy; where two can (all shorter
//! registers, Zen 5), eight do. Lanes may have keys of their own, of one length. A lane whose text ends takes the next one, the longest first;
//! lanes without a text repeat the first one's work. No branch and no address depends on a key or a
//! text.
//!
//! Tested against single texts in `tests/aes_lanes.rs`.

use core::arch::x86_64::*;
use core::mem::MaybeUninit;
use core::{ptr, sync::atomic};

use super::blocks::Blocks;
use super::modes::{load, store};
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
    /// Whether each part has as many blocks as the other's.
    fn is_like(&self, other: &Self) -> bool;
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
    fn is_like(&self, other: &Self) -> bool {
        self.blocks() == other.blocks()
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
    fn is_like(&self, other: &Self) -> bool {
        // Not as arrays: gathered in vectors, the lengths would be loaded before they have left the core.
        let blocks = |packet: &Self, part: usize| packet.parts[part].len() / BLOCK;
        (0..3).all(|part| blocks(self, part) == blocks(other, part))
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

/// Registers side by side.
const REGISTERS: usize = 8;

/// Chains side by side, at most.
const LANES: usize = REGISTERS * <__m512i as Blocks>::BLOCKS;

/// Whether texts are quicker side by side than one by one; `order` lists them, the longest first. One by
/// one, the CPU works on the end of one text and the beginning of the next at once, and the more so the
/// shorter they are. Measured on Sapphire Rapids.
fn worth_lanes(unit: Unit, order: &[u64]) -> bool {
    let blocks = |entry: &u64| entry >> 8;
    match (unit, order) {
        (_, [] | [_]) => false,
        (Unit::Vaes, _) => true,
        (Unit::Vaes256, [first, ..]) if order.len() > 8 => blocks(first) > 2,
        (_, [first, ..]) => blocks(first) > 4 && order.iter().map(blocks).sum::<u64>() >= 40,
    }
}

/// Texts that are put in order at a time: there is no allocation here.
const GROUP: usize = 64;

/// The keys of one round, lane by lane.
type RoundKeys = [MaybeUninit<[u8; BLOCK]>; LANES];

/// What the lanes work on.
#[repr(C, align(64))]
struct Lanes {
    /// The last block of each chain.
    state: [[u8; BLOCK]; LANES],
    /// The keys of each round, lane by lane; not used where all lanes have one key.
    keys: [RoundKeys; 15],
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
            alike &= packet.is_like(&packets[self::place(order[0])]);
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

/// Works off the texts that `order` lists, none of them empty; `alike`: their parts are equally long.
fn feed<W: Work>(packets: &mut [W], order: &[u64], rounds: usize, alike: bool) {
    let Some(&first) = order.first() else { return };
    let key: *const Key = packets[place(first)].key();
    // The narrowest unit of all keys, and how many lanes it has.
    let width_of = |unit| match unit {
        Unit::Vaes => 4,
        Unit::Vaes256 => 2,
        Unit::AesNi => 1,
    };
    let (mut unit, mut one_key) = (packets[place(first)].key().unit, true);
    for packet in packets.iter() {
        if ptr::eq(packet.key(), key) {
            continue;
        }
        one_key = false;
        if width_of(packet.key().unit) < width_of(unit) {
            unit = packet.key().unit;
        }
    }
    let width = width_of(unit);
    if !worth_lanes(unit, order) {
        for &entry in order {
            packets[place(entry)].alone();
        }
        return;
    }
    let mut lanes = Lanes {
        state: [[0; BLOCK]; LANES],
        keys: [[const { MaybeUninit::uninit() }; LANES]; 15],
        src: [ptr::null(); LANES],
        dst: [ptr::null_mut(); LANES],
        left: [0; LANES],
        place: [0; LANES],
        part: [0; LANES],
    };
    let own_keys = (!one_key).then_some(rounds);
    let run = |lanes: &mut Lanes, packets: &[W], busy: usize, blocks: usize| {
        let shared = one_key.then(|| &packets[place(first)].key().encrypt);
        let registers = busy.div_ceil(width);
        macro_rules! run {
            ($unit:ident) => {
                match rounds {
                    10 => $unit::run::<W, 10>(lanes, shared, registers, blocks),
                    12 => $unit::run::<W, 12>(lanes, shared, registers, blocks),
                    _ => $unit::run::<W, 14>(lanes, shared, registers, blocks),
                }
            };
        }
        // SAFETY: no key's unit is narrower, so a token proved the features; every lane's pointers are
        // to `blocks` blocks at least, and lanes beyond `busy` repeat one that is not.
        unsafe {
            match unit {
                Unit::Vaes => run!(vaes),
                Unit::Vaes256 => run!(vaes_256),
                Unit::AesNi => run!(aes_ni),
            }
        }
    };
    if alike {
        // The most frequent case: all lanes begin and end a part together.
        for order in order.chunks(REGISTERS * width) {
            for (lane, &entry) in order.iter().enumerate() {
                lanes.state[lane] = packets[place(entry)].start();
                lanes.set_keys(lane, packets[place(entry)].key(), own_keys);
            }
            for part in 0..W::PARTS {
                let mut blocks = usize::MAX;
                for (lane, &entry) in order.iter().enumerate() {
                    let (src, dst, len) = packets[place(entry)].part(part);
                    (lanes.src[lane], lanes.dst[lane]) = (src, dst);
                    blocks = blocks.min(len);
                }
                if blocks > 0 {
                    lanes.repeat(order.len(), width, own_keys);
                    run(&mut lanes, packets, order.len(), blocks);
                }
            }
            for (lane, &entry) in order.iter().enumerate() {
                packets[place(entry)].end(&lanes.state[lane]);
            }
        }
    } else {
        let mut queue = order.iter().map(|&entry| place(entry));
        let mut busy = 0;
        for lane in 0..REGISTERS * width {
            let Some(next) = queue.next() else { break };
            lanes.start(lane, next, &mut packets[next], own_keys);
            busy += 1;
        }
        while busy > 0 {
            lanes.repeat(busy, width, own_keys);
            let blocks = lanes.left[..busy].iter().copied().min().unwrap_or(0);
            run(&mut lanes, packets, busy, blocks);
            for lane in (0..busy).rev() {
                lanes.left[lane] -= blocks;
                if lanes.left[lane] > 0 || lanes.next_part(lane, packets) {
                    continue;
                }
                packets[usize::from(lanes.place[lane])].end(&lanes.state[lane]);
                if let Some(next) = queue.next() {
                    lanes.start(lane, next, &mut packets[next], own_keys);
                } else {
                    busy -= 1;
                    lanes.copy(busy, lane, own_keys);
                }
            }
        }
    }
    if !one_key {
        lanes.keys[..=rounds].fill([MaybeUninit::new([0; BLOCK]); LANES]);
        // Somebody may look at it: so it is written.
        core::hint::black_box(&mut lanes.keys);
        atomic::compiler_fence(atomic::Ordering::SeqCst);
    }
}

impl Lanes {
    /// Gives a text that is not empty to a lane.
    #[inline(always)]
    fn start<W: Work>(
        &mut self,
        lane: usize,
        place: usize,
        packet: &mut W,
        own_keys: Option<usize>,
    ) {
        self.state[lane] = packet.start();
        (self.place[lane], self.part[lane]) = (place as u8, 0);
        self.begin_part(lane, packet);
        self.set_keys(lane, packet.key(), own_keys);
    }

    /// Gives a key to a lane; `rounds`: where lanes have keys of their own, of so many rounds.
    #[inline(always)]
    fn set_keys(&mut self, lane: usize, key: &Key, rounds: Option<usize>) {
        match rounds {
            None => {}
            Some(10) => self.set_round_keys::<10>(lane, &key.encrypt),
            Some(12) => self.set_round_keys::<12>(lane, &key.encrypt),
            Some(_) => self.set_round_keys::<14>(lane, &key.encrypt),
        }
    }

    /// Of a number of rounds that the compiler knows, so that it makes no loop.
    #[inline(always)]
    fn set_round_keys<const ROUNDS: usize>(&mut self, lane: usize, schedule: &Schedule) {
        for (keys, key) in self.keys.iter_mut().zip(&schedule.keys[..ROUNDS]) {
            keys[lane].write(*key);
        }
        self.keys[ROUNDS][lane].write(schedule.last);
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
                keys[to] = keys[from];
            }
        }
    }

    /// Has the lanes of the last register, of `width` blocks, without a text repeat the first one.
    fn repeat(&mut self, busy: usize, width: usize, rounds: Option<usize>) {
        for lane in busy..busy.next_multiple_of(width) {
            self.copy(0, lane, rounds);
        }
    }

    /// Takes `blocks` blocks of the lanes of the first `N` registers, and moves these on.
    ///
    /// # Safety
    /// Inlined into a function that has the features of `V`. Each of those lanes can read so many
    /// blocks, and write them where the work is to; two that write the same memory do the same.
    #[inline(always)]
    unsafe fn run<V: Gather, W: Work, const ROUNDS: usize, const N: usize>(
        &mut self,
        shared: Option<&Schedule>,
        blocks: usize,
    ) {
        let states = self.state.as_mut_ptr().cast::<V>();
        let own = self.keys.as_ptr().cast::<V>();
        let a_round = LANES / V::BLOCKS;
        // SAFETY: `states` has a register for each of its lanes, and where there is no shared key `own`
        // has as many for each round. Lanes by the caller. All lanes' blocks are read before the
        // first is written, so that lanes may repeat each other.
        unsafe {
            let mut state: [V; N] = load(states.cast());
            if let Some(schedule) = shared {
                let mut keys = [V::splat(&schedule.last); 15];
                for (key, block) in keys.iter_mut().zip(&schedule.keys[..ROUNDS]) {
                    *key = V::splat(block);
                }
                for block in 0..blocks {
                    self.load(block, &mut state);
                    for state in &mut state {
                        *state = state.xor(keys[0]);
                    }
                    for key in &keys[1..ROUNDS] {
                        for state in &mut state {
                            *state = state.encrypt_round(*key);
                        }
                    }
                    for state in &mut state {
                        *state = state.encrypt_last(keys[ROUNDS]);
                    }
                    if W::WRITES {
                        self.store(block, &state);
                    }
                }
            } else {
                for block in 0..blocks {
                    self.load(block, &mut state);
                    for (i, state) in state.iter_mut().enumerate() {
                        *state = state.xor(own.add(i).read());
                    }
                    for round in 1..ROUNDS {
                        for (i, state) in state.iter_mut().enumerate() {
                            *state = state.encrypt_round(own.add(a_round * round + i).read());
                        }
                    }
                    for (i, state) in state.iter_mut().enumerate() {
                        *state = state.encrypt_last(own.add(a_round * ROUNDS + i).read());
                    }
                    if W::WRITES {
                        self.store(block, &state);
                    }
                }
            }
            store(&state, states.cast());
        }
        for lane in 0..V::BLOCKS * N {
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
    #[inline(always)]
    unsafe fn load<V: Gather, const N: usize>(&self, block: usize, state: &mut [V; N]) {
        for (i, state) in state.iter_mut().enumerate() {
            // SAFETY: the caller's.
            *state = state.xor(unsafe { V::gather(&self.src[i * V::BLOCKS..], BLOCK * block) });
        }
    }

    /// Stores the states as block number `block` of each lane.
    ///
    /// # Safety
    /// They are writable.
    #[inline(always)]
    unsafe fn store<V: Gather, const N: usize>(&self, block: usize, state: &[V; N]) {
        for (i, state) in state.iter().enumerate() {
            // SAFETY: the caller's.
            unsafe { state.scatter(&self.dst[i * V::BLOCKS..], BLOCK * block) };
        }
    }
}

/// Registers whose blocks lie apart in memory.
trait Gather: Blocks {
    /// A block from each of the first places, `at` bytes further on.
    ///
    /// # Safety
    /// They are readable.
    unsafe fn gather(places: &[*const u8], at: usize) -> Self;
    /// Stores each block to one of the first places, `at` bytes further on.
    ///
    /// # Safety
    /// They are writable.
    unsafe fn scatter(self, places: &[*mut u8], at: usize);
}

impl Gather for __m128i {
    #[inline(always)]
    unsafe fn gather(places: &[*const u8], at: usize) -> Self {
        // SAFETY: the caller's; the same below.
        unsafe { Self::load(places[0].wrapping_add(at)) }
    }

    #[inline(always)]
    unsafe fn scatter(self, places: &[*mut u8], at: usize) {
        // SAFETY: as above.
        unsafe { self.store(places[0].wrapping_add(at)) };
    }
}

impl Gather for __m256i {
    #[inline(always)]
    unsafe fn gather(places: &[*const u8], at: usize) -> Self {
        // SAFETY: as above.
        unsafe {
            let (a, b) = (__m128i::gather(places, at), __m128i::gather(&places[1..], at));
            _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), b)
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, places: &[*mut u8], at: usize) {
        // SAFETY: as above.
        unsafe {
            self.first().store(places[0].wrapping_add(at));
            _mm256_extracti128_si256::<1>(self).store(places[1].wrapping_add(at));
        }
    }
}

impl Gather for __m512i {
    #[inline(always)]
    unsafe fn gather(places: &[*const u8], at: usize) -> Self {
        // SAFETY: as above.
        unsafe {
            let (a, b) = (__m128i::gather(places, at), __m128i::gather(&places[1..], at));
            let (c, d) = (__m128i::gather(&places[2..], at), __m128i::gather(&places[3..], at));
            let all = _mm512_inserti32x4::<1>(_mm512_castsi128_si512(a), b);
            let all = _mm512_inserti32x4::<2>(all, c);
            _mm512_inserti32x4::<3>(all, d)
        }
    }

    #[inline(always)]
    unsafe fn scatter(self, places: &[*mut u8], at: usize) {
        // SAFETY: as above.
        unsafe {
            self.first().store(places[0].wrapping_add(at));
            _mm512_extracti32x4_epi32::<1>(self).store(places[1].wrapping_add(at));
            _mm512_extracti32x4_epi32::<2>(self).store(places[2].wrapping_add(at));
            _mm512_extracti32x4_epi32::<3>(self).store(places[3].wrapping_add(at));
        }
    }
}

macro_rules! entries {
    ($unit:ident, $V:ty, $features:literal) => {
        mod $unit {
            use super::*;

            /// # Safety
            /// The CPU has the features; the rest is that of [`Lanes::run`].
            #[target_feature(enable = $features)]
            pub unsafe fn run<W: Work, const ROUNDS: usize>(
                lanes: &mut Lanes,
                shared: Option<&Schedule>,
                registers: usize,
                blocks: usize,
            ) {
                // SAFETY: the caller's.
                unsafe {
                    match registers {
                        1 => lanes.run::<$V, W, ROUNDS, 1>(shared, blocks),
                        2 => lanes.run::<$V, W, ROUNDS, 2>(shared, blocks),
                        3 => lanes.run::<$V, W, ROUNDS, 3>(shared, blocks),
                        4 => lanes.run::<$V, W, ROUNDS, 4>(shared, blocks),
                        5 => lanes.run::<$V, W, ROUNDS, 5>(shared, blocks),
                        6 => lanes.run::<$V, W, ROUNDS, 6>(shared, blocks),
                        7 => lanes.run::<$V, W, ROUNDS, 7>(shared, blocks),
                        _ => lanes.run::<$V, W, ROUNDS, 8>(shared, blocks),
                    }
                }
            }
        }
    };
}

entries!(vaes, __m512i, "avx512f,avx512bw,avx512vl,vaes,aes");
entries!(vaes_256, __m256i, "avx2,vaes,aes");
entries!(aes_ni, __m128i, "avx2,aes");
