//! AES-CBC encryption of many texts side by side: sixteen chains in four registers of four blocks.
//!
//! One chain waits for three cycles per round; four registers of VAES take one cycle each, so that
//! sixteen chains together keep the unit busy. Lanes may have keys of their own, of one length. A lane
//! whose text ends takes the next one, the longest first; lanes without a text repeat the first one's
//! work. No branch and no address depends on a key or a text.
//!
//! Tested against single texts in `tests/aes_lanes.rs`.

use core::arch::x86_64::*;

use super::{BLOCK, Key, Unit};
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

/// Chains side by side.
const LANES: usize = 16;

/// Registers, of four chains each.
const QUADS: usize = LANES / 4;

/// Fewer lanes than this are quicker one by one.
const FLOOR: usize = 2;

/// Texts that are put in order at a time: there is no allocation here.
const GROUP: usize = 64;

/// What the lanes work on.
#[repr(C, align(64))]
struct Lanes {
    /// The last block of each chain.
    state: [[u8; BLOCK]; LANES],
    /// The keys of each round, lane by lane; where all lanes have one key, every round's is there once
    /// for a register.
    keys: [[[u8; BLOCK]; LANES]; 15],
    src: [*const u8; LANES],
    dst: [*mut u8; LANES],
    /// Blocks left.
    left: [usize; LANES],
}

/// Encrypts texts in CBC mode.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn cbc_encrypt(packets: &mut [Cbc<'_>]) {
    for packets in packets.chunks_mut(GROUP) {
        for rounds in [10, 12, 14] {
            // The longest first: what starts last then ends soon after the others.
            let mut order = [(0usize, 0u8); GROUP];
            let mut count = 0;
            for (place, packet) in packets.iter().enumerate() {
                if packet.key.encrypt.rounds == rounds && packet.text.len() >= BLOCK {
                    order[count] = (packet.text.len() / BLOCK, place as u8);
                    count += 1;
                }
            }
            let order = &mut order[..count];
            if order.iter().any(|entry| entry.0 != order[0].0) {
                order.sort_unstable_by(|a, b| b.cmp(a));
            }
            feed(packets, order, rounds);
        }
    }
}

/// Encrypts the texts that `order` lists, with their lengths in blocks.
fn feed(packets: &mut [Cbc<'_>], order: &[(usize, u8)], rounds: usize) {
    let Some(&(_, first)) = order.first() else { return };
    let key = packets[usize::from(first)].key;
    let vaes = packets.iter().all(|packet| matches!(packet.key.unit, Unit::Vaes));
    if order.len() < FLOOR || !vaes {
        for &(_, place) in order {
            alone(&mut packets[usize::from(place)]);
        }
        return;
    }
    let one_key = order.iter().all(|entry| core::ptr::eq(packets[usize::from(entry.1)].key, key));
    let mut lanes = Lanes {
        state: [[0; BLOCK]; LANES],
        keys: [[[0; BLOCK]; LANES]; 15],
        src: [core::ptr::null(); LANES],
        dst: [core::ptr::null_mut(); LANES],
        left: [0; LANES],
    };
    if one_key {
        for round in 0..=rounds {
            lanes.keys[round / QUADS][round % QUADS * 4..][..4].fill(round_key(key, round));
        }
    }
    let mut queue = order.iter();
    let mut busy = 0;
    for lane in 0..LANES {
        let Some(&(blocks, place)) = queue.next() else { break };
        lanes.start(lane, &mut packets[usize::from(place)], blocks, !one_key);
        busy += 1;
    }
    while busy > 0 {
        lanes.repeat(busy, !one_key);
        let blocks = lanes.left[..busy].iter().copied().min().unwrap_or(0);
        let quads = busy.div_ceil(4);
        // SAFETY: all keys' unit is Vaes, so a token proved the features; every lane's pointers are
        // to `blocks` blocks at least, and lanes beyond `busy` repeat one that is not.
        unsafe {
            match (rounds, one_key) {
                (10, true) => lanes.run_quads::<10, true>(quads, blocks),
                (10, false) => lanes.run_quads::<10, false>(quads, blocks),
                (12, true) => lanes.run_quads::<12, true>(quads, blocks),
                (12, false) => lanes.run_quads::<12, false>(quads, blocks),
                (_, true) => lanes.run_quads::<14, true>(quads, blocks),
                (_, false) => lanes.run_quads::<14, false>(quads, blocks),
            }
        }
        for lane in (0..busy).rev() {
            lanes.left[lane] -= blocks;
            if lanes.left[lane] > 0 {
                continue;
            }
            if let Some(&(blocks, place)) = queue.next() {
                lanes.start(lane, &mut packets[usize::from(place)], blocks, !one_key);
            } else {
                busy -= 1;
                lanes.copy(busy, lane, !one_key);
            }
        }
    }
    zeroize::Zeroize::zeroize(lanes.keys.as_flattened_mut().as_flattened_mut());
}

/// One text.
fn alone(packet: &mut Cbc<'_>) {
    let mut iv = *packet.iv;
    let text = match &mut packet.text {
        Text::InPlace(bytes) => Text::InPlace(bytes),
        Text::Apart { src, dst } => Text::Apart { src, dst },
    };
    super::cbc_encrypt(packet.key, &mut iv, text);
}

fn round_key(key: &Key, round: usize) -> [u8; BLOCK] {
    let schedule = &key.encrypt;
    if round == schedule.rounds { schedule.last } else { schedule.keys[round] }
}

impl Lanes {
    /// Gives a text to a lane.
    fn start(&mut self, lane: usize, packet: &mut Cbc<'_>, blocks: usize, own_key: bool) {
        let (src, dst, _) = packet.text.pointers();
        (self.src[lane], self.dst[lane], self.left[lane]) = (src, dst, blocks);
        self.state[lane] = *packet.iv;
        if own_key {
            for round in 0..=packet.key.encrypt.rounds {
                self.keys[round][lane] = round_key(packet.key, round);
            }
        }
    }

    /// Has one lane be as another.
    fn copy(&mut self, from: usize, to: usize, own_key: bool) {
        self.src[to] = self.src[from];
        self.dst[to] = self.dst[from];
        self.left[to] = self.left[from];
        self.state[to] = self.state[from];
        if own_key && from != to {
            for keys in &mut self.keys {
                keys[to] = keys[from];
            }
        }
    }

    /// Has the lanes of the last register without a text repeat the first one.
    fn repeat(&mut self, busy: usize, own_key: bool) {
        for lane in busy..busy.next_multiple_of(4) {
            self.copy(0, lane, own_key);
        }
    }

    /// # Safety
    /// That of [`run`](Lanes::run).
    unsafe fn run_quads<const ROUNDS: usize, const ONE_KEY: bool>(
        &mut self,
        quads: usize,
        blocks: usize,
    ) {
        // SAFETY: the caller's.
        unsafe {
            match quads {
                1 => self.run::<ROUNDS, ONE_KEY, 1>(blocks),
                2 => self.run::<ROUNDS, ONE_KEY, 2>(blocks),
                3 => self.run::<ROUNDS, ONE_KEY, 3>(blocks),
                _ => self.run::<ROUNDS, ONE_KEY, 4>(blocks),
            }
        }
    }

    /// Encrypts `blocks` blocks of the first `4 Q` lanes, and moves these on.
    ///
    /// # Safety
    /// The CPU has the features. Each of those lanes can read and write so many blocks; two that write
    /// the same memory do the same.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,vaes,aes")]
    unsafe fn run<const ROUNDS: usize, const ONE_KEY: bool, const Q: usize>(
        &mut self,
        blocks: usize,
    ) {
        let keys = self.keys.as_ptr().cast::<__m512i>();
        let states = self.state.as_mut_ptr().cast::<__m512i>();
        // SAFETY: `keys` has a register for each round, and where lanes have keys of their own one
        // for each four lanes of each round; `states` has four. Lanes by the caller. All lanes'
        // blocks are read before the first is written, so that lanes may repeat each other.
        unsafe {
            let key = |round: usize, quad: usize| {
                keys.add(if ONE_KEY { round } else { QUADS * round + quad })
            };
            let mut state = [_mm512_setzero_si512(); Q];
            for (quad, state) in state.iter_mut().enumerate() {
                *state = states.add(quad).read();
            }
            for block in 0..blocks {
                for (quad, state) in state.iter_mut().enumerate() {
                    let at = |lane: usize| {
                        self.src[4 * quad + lane].add(BLOCK * block).cast::<__m128i>()
                    };
                    let text = four(at(0), at(1), at(2), at(3));
                    // The state is last on the chain.
                    let text = _mm512_xor_si512(text, key(0, quad).read());
                    *state = _mm512_xor_si512(*state, text);
                }
                for round in 1..ROUNDS {
                    for (quad, state) in state.iter_mut().enumerate() {
                        *state = _mm512_aesenc_epi128(*state, key(round, quad).read());
                    }
                }
                for (quad, state) in state.iter_mut().enumerate() {
                    *state = _mm512_aesenclast_epi128(*state, key(ROUNDS, quad).read());
                }
                for (quad, state) in state.iter().enumerate() {
                    let at = |lane: usize| {
                        self.dst[4 * quad + lane].add(BLOCK * block).cast::<__m128i>()
                    };
                    _mm_storeu_si128(at(0), _mm512_castsi512_si128(*state));
                    _mm_storeu_si128(at(1), _mm512_extracti32x4_epi32::<1>(*state));
                    _mm_storeu_si128(at(2), _mm512_extracti32x4_epi32::<2>(*state));
                    _mm_storeu_si128(at(3), _mm512_extracti32x4_epi32::<3>(*state));
                }
            }
            for (quad, state) in state.iter().enumerate() {
                states.add(quad).write(*state);
            }
        }
        for lane in 0..4 * Q {
            self.src[lane] = self.src[lane].wrapping_add(BLOCK * blocks);
            self.dst[lane] = self.dst[lane].wrapping_add(BLOCK * blocks);
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
