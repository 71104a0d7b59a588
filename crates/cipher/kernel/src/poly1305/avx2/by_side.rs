//! Messages side by side: a lane of 64 bits is a message, with its own `r`.
//!
//! With `m[0], m[1], ...` the blocks of a lane:
//!
//! ```text
//! for two blocks a, b:  h = (h + a) r^2 + b r
//! for a block left:     h = (h + m) r
//! ```
//!
//! 1. The only preparations are `r^2` and the limbs of `r`: nothing is scalar, and there is no sum over
//!    lanes at the end, so that it pays from three or four short messages on.
//! 2. All lanes end together. One with fewer blocks than the longest waits at the beginning: it takes in
//!    what the longest does, and its value is cleared when its own message begins. So no step has masks.
//! 3. A lane's blocks lie in up to four parts: additional data, their odd block, text, and what is put
//!    together for the end. A run lasts until a part of any lane ends; in a run all lanes advance alike.
//! 4. Two vectors, eight messages, advance in turn: the products of one fill the latencies of the other.
//!
//! Shapes: any lengths and addresses. CPU: AVX2. Constant time: no branch and no address depends on more
//! than lengths. Tests: `tests/chacha20.rs`; bench: `benches/chacha20.rs`.

use std::arch::x86_64::*;

use lookaside_simd::{Avx2, Cpu};
use zeroize::Zeroize;

use super::super::{Authenticated, BLOCK};
use super::{Limbs, PAD, Power, accumulate, power, reduce, split};

/// Messages of one vector.
const LANES: usize = 4;

/// What a lane takes in next: `left` blocks from `at` on.
#[derive(Clone, Copy)]
struct Lane {
    at: *const u8,
    left: usize,
    part: Part,
}

/// The parts of a lane, in their order.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// Others have more blocks.
    Wait,
    /// Whole blocks of the additional data.
    Aad,
    /// The odd block of the additional data, filled up with zeros.
    AadOdd,
    /// Whole blocks of the text.
    Text,
    /// The odd block of the text, and an AEAD's lengths.
    End,
}

/// Room for the blocks that are put together: one for [`Part::AadOdd`], two for [`Part::End`].
type Room = [u8; 3 * BLOCK];

/// Computes the tags: by eight or four side by side, or alone, whatever takes the least time.
pub(in super::super) fn authenticate(_: Avx2, cpu: &Cpu, items: &mut [Authenticated<'_>]) {
    // Those that lie side by side take as long as the longest.
    if !items.is_sorted_by_key(blocks) {
        items.sort_unstable_by_key(blocks);
    }
    let mut rest = items;
    while let Some(last) = rest.last() {
        let longest = blocks(last);
        let (four, eight) = (rest.len().min(LANES), rest.len().min(2 * LANES));
        let alone = |count: usize| -> usize {
            let items = &rest[rest.len() - count..];
            match blocks(&items[0]) == longest {
                true => count * cost_alone(longest),
                false => items.iter().map(|item| cost_alone(blocks(item))).sum(),
            }
        };
        let (of_four, of_eight) = (alone(four), alone(eight));
        let by_four = FOUR.0 + FOUR.1 * longest + of_eight - of_four;
        let by_eight = EIGHT.0 + EIGHT.1 * longest;
        let least = of_eight.min(by_four).min(by_eight);
        let count = match least {
            _ if least == of_eight => 1,
            _ if least == by_eight => eight,
            _ => four,
        };
        let (later, now) = rest.split_at_mut(rest.len() - count);
        match count {
            1 => now[0].alone(cpu),
            // SAFETY: the token proves the features.
            _ if least == by_eight => unsafe { by_side::<2>(now) },
            // SAFETY: as above.
            _ => unsafe { by_side::<1>(now) },
        }
        rest = later;
    }
}

/// Nanoseconds that a message alone takes, measured on Zen 3; only the proportions matter.
#[inline]
fn cost_alone(blocks: usize) -> usize {
    if blocks < super::SHORT / BLOCK { 30 + 6 * blocks } else { 190 + 9 * blocks / 4 }
}

/// As [`cost_alone`], of four and of eight side by side: the preparations, and each block of the longest.
const FOUR: (usize, usize) = (100, 14);
const EIGHT: (usize, usize) = (180, 21);

/// The blocks of a message.
#[inline]
fn blocks(item: &Authenticated<'_>) -> usize {
    item.aad.len().div_ceil(BLOCK) + item.text.len().div_ceil(BLOCK) + usize::from(item.aead)
}

impl Lane {
    /// The next part that has blocks; puts them together in `room` if they do not lie in the message.
    #[inline]
    fn next(&mut self, item: &Authenticated<'_>, room: &mut Room) {
        let (aad, aad_odd) = item.aad.as_chunks::<BLOCK>();
        let (text, text_odd) = item.text.as_chunks::<BLOCK>();
        (self.part, self.at, self.left) = match self.part {
            Part::Wait if !aad.is_empty() => (Part::Aad, aad.as_ptr().cast(), aad.len()),
            Part::Wait | Part::Aad if !aad_odd.is_empty() => {
                room[..aad_odd.len()].copy_from_slice(aad_odd);
                (Part::AadOdd, room.as_ptr(), 1)
            }
            Part::Wait | Part::Aad | Part::AadOdd if !text.is_empty() => {
                (Part::Text, text.as_ptr().cast(), text.len())
            }
            _ => {
                let (_, room) = room.split_at_mut(BLOCK);
                let odd = usize::from(!text_odd.is_empty());
                room[..text_odd.len()].copy_from_slice(text_odd);
                if item.aead {
                    let (_, lengths) = room.split_at_mut(odd * BLOCK);
                    lengths[..8].copy_from_slice(&(item.aad.len() as u64).to_le_bytes());
                    lengths[8..16].copy_from_slice(&(item.text.len() as u64).to_le_bytes());
                } else {
                    room[text_odd.len()] = 1;
                }
                (Part::End, room.as_ptr(), odd + usize::from(item.aead))
            }
        };
    }
}

/// Computes the tags of one to `4 GROUPS` messages, of which the last has the most blocks.
#[target_feature(enable = "avx2")]
fn by_side<const GROUPS: usize>(items: &mut [Authenticated<'_>]) {
    let zero = _mm256_setzero_si256();
    let longest = items.len() - 1;
    let most = blocks(&items[longest]);
    // Lanes without a message do the longest again.
    let item = |number: usize| if number < items.len() { &items[number] } else { &items[longest] };
    let none = Power { r: [zero; 5], r_5: [zero; 4] };
    let (mut by_1, mut by_2) = ([none; GROUPS], [none; GROUPS]);
    for (group, (by_1, by_2)) in by_1.iter_mut().zip(&mut by_2).enumerate() {
        // SAFETY: a key has 32 bytes.
        let (low, high) = unsafe { columns(keys(&item, group), 0) };
        // RFC 8439, 2.5, clears some bits.
        let low = _mm256_and_si256(low, _mm256_set1_epi64x(0x0fff_fffc_0fff_ffff));
        let high = _mm256_and_si256(high, _mm256_set1_epi64x(0x0fff_fffc_0fff_fffc));
        *by_1 = power(split(low, high, zero));
        *by_2 = power(product(&by_1.r, by_1));
    }
    let mut h = [[zero; 5]; GROUPS];
    // A message whose blocks all lie in its text.
    let plain = |item: &Authenticated<'_>| !item.aead && item.text.len() == most * BLOCK;
    if items.iter().all(plain) {
        let mut at = [[std::ptr::null(); LANES]; GROUPS];
        for (number, at) in at.as_flattened_mut().iter_mut().enumerate() {
            *at = item(number).text.as_ptr();
        }
        // SAFETY: every text has as many blocks.
        unsafe { take_in(&mut h, &by_1, &by_2, &at, &[[PAD; LANES]; GROUPS], most) };
    } else {
        take_in_parts(&mut h, &by_1, &by_2, item, longest);
    }
    let mut out = [[[0; BLOCK]; LANES]; GROUPS];
    for (group, (out, h)) in out.iter_mut().zip(&h).enumerate() {
        // SAFETY: a key has 32 bytes.
        let (low, high) = unsafe { columns(keys(&item, group), BLOCK) };
        *out = tags(h, low, high);
    }
    for (item, tag) in items.iter_mut().zip(out.as_flattened()) {
        item.tag = *tag;
    }
    for power in by_1.iter_mut().chain(&mut by_2) {
        power.r.zeroize();
        power.r_5.zeroize();
    }
}

/// Takes in messages of any lengths: lane `j` is that of `item(j)`, and none has more blocks than that
/// of number `longest`.
#[target_feature(enable = "avx2")]
fn take_in_parts<'a, const GROUPS: usize>(
    h: &mut [Limbs; GROUPS],
    by_1: &[Power; GROUPS],
    by_2: &[Power; GROUPS],
    item: impl Fn(usize) -> &'a Authenticated<'a>,
    longest: usize,
) {
    let most = blocks(item(longest));
    let mut lanes = [[Lane { at: std::ptr::null(), left: 0, part: Part::Wait }; LANES]; GROUPS];
    for (number, lane) in lanes.as_flattened_mut().iter_mut().enumerate() {
        lane.left = most - blocks(item(number));
    }
    let mut rooms = [[[0; 3 * BLOCK]; LANES]; GROUPS];
    let mut left = most;
    while left > 0 {
        // What the lanes take in now: a block of each at least.
        let (mut at, mut pads) = ([[std::ptr::null(); LANES]; GROUPS], [[0; LANES]; GROUPS]);
        let mut run = left;
        let mut begin = [[false; LANES]; GROUPS];
        for number in 0..LANES * GROUPS {
            let (group, j) = (number / LANES, number % LANES);
            let (lane, item) = (&mut lanes[group][j], item(number));
            if lane.left == 0 {
                begin[group][j] = lane.part == Part::Wait;
                lane.next(item, &mut rooms[group][j]);
            }
            run = run.min(lane.left);
            at[group][j] = lane.at;
            // The odd block of a text that is no AEAD's has its bit within.
            pads[group][j] = if lane.part == Part::End && !item.aead { 0 } else { PAD };
        }
        // Who waits takes in what the longest does: any bytes will do.
        let (group, j) = (longest / LANES, longest % LANES);
        let other = at[group][j];
        for (at, lane) in at.as_flattened_mut().iter_mut().zip(lanes.as_flattened_mut()) {
            match lane.part {
                Part::Wait => *at = other,
                _ => lane.at = lane.at.wrapping_add(run * BLOCK),
            }
            lane.left -= run;
        }
        // At first all values are zero.
        if left < most {
            clear(h, &begin);
        }
        // SAFETY: every lane has `run` blocks from `at` on: in its message, which is borrowed, or in its
        // room, or it is another lane's.
        unsafe { take_in(h, by_1, by_2, &at, &pads, run) };
        left -= run;
    }
    // A message without blocks has waited for all of the longest.
    clear(h, &lanes.map(|lanes| lanes.map(|lane| lane.part == Part::Wait)));
}

/// Clears the values of some lanes.
#[inline]
#[target_feature(enable = "avx2")]
fn clear<const GROUPS: usize>(h: &mut [Limbs; GROUPS], which: &[[bool; LANES]; GROUPS]) {
    for (h, which) in h.iter_mut().zip(which).filter(|(_, which)| **which != [false; LANES]) {
        let keep = vector(&which.map(|clear| if clear { 0 } else { !0 }));
        for limb in h {
            *limb = _mm256_and_si256(*limb, keep);
        }
    }
}

/// Takes in `blocks` blocks of each lane, from `at` on.
///
/// # Safety
/// They are valid.
#[target_feature(enable = "avx2")]
unsafe fn take_in<const GROUPS: usize>(
    h: &mut [Limbs; GROUPS],
    by_1: &[Power; GROUPS],
    by_2: &[Power; GROUPS],
    at: &[[*const u8; LANES]; GROUPS],
    pads: &[[u64; LANES]; GROUPS],
    blocks: usize,
) {
    let (at, mut now) = (*at, *h);
    let pads = pads.map(|pads| vector(&pads));
    let mut byte = 0;
    while byte + BLOCK < blocks * BLOCK {
        for group in 0..GROUPS {
            // SAFETY: the caller's.
            let (a, b) = unsafe { (columns(at[group], byte), columns(at[group], byte + BLOCK)) };
            let mut sum = [_mm256_setzero_si256(); 5];
            accumulate(&mut sum, &split(b.0, b.1, pads[group]), &by_1[group]);
            let first = add(&now[group], &split(a.0, a.1, pads[group]));
            accumulate(&mut sum, &first, &by_2[group]);
            now[group] = reduce(sum);
        }
        byte += 2 * BLOCK;
    }
    if byte < blocks * BLOCK {
        for group in 0..GROUPS {
            // SAFETY: the caller's.
            let (low, high) = unsafe { columns(at[group], byte) };
            let sum = add(&now[group], &split(low, high, pads[group]));
            now[group] = product(&sum, &by_1[group]);
        }
    }
    *h = now;
}

/// The words of 64 bits at `byte` of each pointer, and those behind them.
///
/// # Safety
/// 16 bytes there are valid.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn columns(at: [*const u8; LANES], byte: usize) -> (__m256i, __m256i) {
    // SAFETY: the caller's.
    let [a, b, c, d] = at.map(|at| unsafe { _mm_loadu_si128(at.add(byte).cast()) });
    let ac = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(a), c);
    let bd = _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(b), d);
    (_mm256_unpacklo_epi64(ac, bd), _mm256_unpackhi_epi64(ac, bd))
}

/// The tags: `h` of each lane fully reduced, plus `s`, given as its halves.
#[inline]
#[target_feature(enable = "avx2")]
fn tags(&[a, b, c, d, e]: &Limbs, s_low: __m256i, s_high: __m256i) -> [[u8; BLOCK]; LANES] {
    let mask = _mm256_set1_epi64x(super::MASK as i64);
    let carry = |from, to| _mm256_add_epi64(to, _mm256_srli_epi64::<26>(from));
    // The value is below twice 2^130 - 5: with 5 more it reaches 2^130 exactly where it is not below
    // 2^130 - 5, and then its bits below 2^130, with 5 more, are what is left.
    let over = carry(carry(carry(carry(_mm256_add_epi64(a, _mm256_set1_epi64x(5)), b), c), d), e);
    let over = _mm256_srli_epi64::<26>(over);
    let a = _mm256_add_epi64(a, _mm256_add_epi64(over, _mm256_slli_epi64::<2>(over)));
    let b = carry(a, b);
    let c = carry(b, c);
    let d = carry(c, d);
    let e = carry(d, e);
    let [a, b, c, d] = [a, b, c, d].map(|limb| _mm256_and_si256(limb, mask));
    let or = |a, b| _mm256_or_si256(a, b);
    // What passes 2^128 drops out.
    let low = or(or(a, _mm256_slli_epi64::<26>(b)), _mm256_slli_epi64::<52>(c));
    let high = or(_mm256_srli_epi64::<12>(c), _mm256_slli_epi64::<14>(d));
    let high = or(high, _mm256_slli_epi64::<40>(e));
    let low = _mm256_add_epi64(low, s_low);
    // Comparisons are signed: with the top bits turned over they are unsigned. All ones is -1.
    let top = _mm256_set1_epi64x(i64::MIN);
    let carried = _mm256_cmpgt_epi64(_mm256_xor_si256(s_low, top), _mm256_xor_si256(low, top));
    let high = _mm256_sub_epi64(_mm256_add_epi64(high, s_high), carried);
    // Lanes 0 2, then 1 3.
    let (even, odd) = (_mm256_unpacklo_epi64(low, high), _mm256_unpackhi_epi64(low, high));
    let mut out = [[0; BLOCK]; LANES];
    for (half, tags) in [even, odd].into_iter().enumerate() {
        let (first, second) = (_mm256_castsi256_si128(tags), _mm256_extracti128_si256::<1>(tags));
        // SAFETY: 16 bytes each.
        unsafe {
            _mm_storeu_si128(out[half].as_mut_ptr().cast(), first);
            _mm_storeu_si128(out[half + 2].as_mut_ptr().cast(), second);
        }
    }
    out
}

/// The keys of a group's lanes.
#[inline]
fn keys<'a>(item: &impl Fn(usize) -> &'a Authenticated<'a>, group: usize) -> [*const u8; LANES] {
    [0, 1, 2, 3].map(|lane| item(LANES * group + lane).key.as_ptr())
}

#[inline]
#[target_feature(enable = "avx2")]
fn vector(lanes: &[u64; LANES]) -> __m256i {
    // SAFETY: 32 bytes.
    unsafe { _mm256_loadu_si256(lanes.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn add(a: &Limbs, b: &Limbs) -> Limbs {
    let mut sum = *a;
    for (sum, b) in sum.iter_mut().zip(b) {
        *sum = _mm256_add_epi64(*sum, *b);
    }
    sum
}

#[inline]
#[target_feature(enable = "avx2")]
fn product(a: &Limbs, b: &Power) -> Limbs {
    let mut sum = [_mm256_setzero_si256(); 5];
    accumulate(&mut sum, a, b);
    reduce(sum)
}
