//! The loops over tables.
//!
//! `wide` needs room to write more than it means and input to read ahead; `close` looks before each
//! step. Both leave what they cannot do, untouched, to the machine.
//!
//! `wide` has one entry of the litlen table in each turn (up to two literals, a literal and a match,
//! or a match), and a second one after an entry without a match, if that is of literals alone.
//! Whether there is a match is hard to foretell, so nothing branches on it: a turn looks up both the
//! distance and the second entry, and takes one of them. What bounds it is one chain from turn to
//! turn: load, shift, mask, load, select, shift, mask. All else is beside it, as little as possible,
//! and fits in the registers because nothing is called from the loop: what is rare leaves it by
//! conditions that short copies need anyway (see `table`).
//!
//! `docs/deflate-decoder.md` has what was tried, and figures.

use std::hint::select_unpredictable;

use super::machine::Io;
use super::table::{
    self, Canon, DISTANCE_BITS, Found, LEAST_LITLEN_BITS, LENGTH, LITLENS, MOST_LITLEN_BITS, RARE,
};
use super::window::Window;
use super::{Inflate, Tables};

/// How many bits should index the litlen table where so much input is there, and whether pairing
/// its symbols pays: one at a time, that takes as long as decoding some thousand bytes. A stream
/// that went on for a while (`long`) will go on.
pub(super) fn litlen_bits(
    input: usize,
    long: bool,
    canon: &Canon<LITLENS>,
    simd: bool,
) -> (usize, bool) {
    // All of them are symbols of eight bits; a block has seldom more than this.
    let symbols = if long { MANY } else { input.min(MANY) } as u64;
    let (codes, firsts) = canon.shares();
    let cost = |bits: usize| {
        // A turn for each entry: those of a literal and another symbol save one.
        let pairs: u64 = (1..bits).map(|first| firsts[first] * codes[bits - first]).sum();
        let turns = (symbols << 15) / ((1 << 15) + (pairs >> 15));
        let odd = (symbols * ((1 << 15) - codes[bits])) >> 15;
        TURN * turns + ODD * odd + ENTRY * (1 << bits)
    };
    let bits = (LEAST_LITLEN_BITS..=MOST_LITLEN_BITS).min_by_key(|&bits| cost(bits));
    // More would be of use to three symbols at once only.
    let most = (2 * canon.longest()).max(5);
    (bits.unwrap_or(MOST_LITLEN_BITS).min(most), simd || input >= PAIRING_PAYS)
}

const PAIRING_PAYS: usize = 2400;
const MANY: usize = 16384;
/// In cycles, about: a turn of the loop, one that has no place there, an entry of the table.
const TURN: u64 = 14;
const ODD: u64 = 80;
const ENTRY: u64 = 3;

/// What a turn reads ahead, less one.
const AHEAD: usize = 15;
/// What a turn may write: four literals, a match, and what copying in steps of 64 writes too much.
const ROOM: usize = 4 + 258 + 64;

/// Decodes as many symbols as possible.
///
/// # Safety
///
/// `io` is valid; the tables in force are made.
pub(super) unsafe fn codes(state: &mut Inflate, io: &mut Io) {
    if state.head.bits >= 8 {
        // Bits that were inserted: whole bytes could not be given back to the input.
        return;
    }
    if io.have() > AHEAD && io.left() > ROOM {
        // SAFETY: the caller's promise, and as above; the token proves the features.
        unsafe {
            #[cfg(target_arch = "x86_64")]
            if state.head.simd.any() {
                wide_avx2(state, io);
            } else {
                wide::<false>(state, io);
            }
            #[cfg(not(target_arch = "x86_64"))]
            wide::<false>(state, io);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { close(state, io) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
unsafe fn wide_avx2(state: &mut Inflate, io: &mut Io) {
    // SAFETY: the caller's promise.
    unsafe { wide::<true>(state, io) }
}

/// The lowest `count` bits, fewer than 64.
#[inline(always)]
fn low(value: u64, count: u32) -> u64 {
    value & ((1 << (count & 63)) - 1)
}

/// What an entry's value has beside its base: the bits that it takes, but for those `before`.
#[inline(always)]
fn extra_of<const BMI2: bool>(bits: u64, entry: u32, before: u32) -> u32 {
    lowest::<BMI2>(bits, entry) as u32 >> (before & 31)
}

#[inline(always)]
fn distance_of<const BMI2: bool>(bits: u64, entry: u32) -> usize {
    ((entry >> 16) + extra_of::<BMI2>(bits, entry, entry >> 8)) as usize
}

#[inline(always)]
fn length_of<const BMI2: bool>(bits: u64, entry: u32) -> usize {
    (extra_of::<BMI2>(bits, entry, entry >> 24) + (entry >> 16 & 0xff) + 3) as usize
}

/// The lowest bits, as many as the lowest byte of `count` says, fewer than 64.
#[inline(always)]
fn lowest<const BMI2: bool>(bits: u64, count: u32) -> u64 {
    #[cfg(target_arch = "x86_64")]
    if BMI2 {
        // SAFETY: who says so has the feature.
        return unsafe { std::arch::x86_64::_bzhi_u64(bits, count) };
    }
    low(bits, count)
}

/// A litlen entry and, if it has a length, that of the distance after it. `None`: the machine's
/// turn.
#[inline(always)]
unsafe fn entries(
    state: &Inflate,
    tables: *const Tables,
    root: u32,
    hold: u64,
) -> Option<(u32, u32)> {
    // SAFETY: indices are those that the tables were made for.
    unsafe {
        let mut litlen = *(&raw const (*tables).litlen).cast::<u32>().add(low(hold, root) as usize);
        let mut distance = 0;
        if litlen == RARE {
            let Found::Symbol(symbol, bits) = state.alphabets().litlen.find(hold, 64) else {
                return None;
            };
            litlen = table::litlen_entry(symbol, bits);
            if litlen == RARE {
                return None;
            }
        }
        if litlen & LENGTH != 0 {
            let after = hold >> (litlen & 63);
            let index = low(after, DISTANCE_BITS as u32) as usize;
            distance = *(&raw const (*tables).distance).cast::<u32>().add(index);
            if distance == 0 {
                let Found::Symbol(symbol, bits) = state.alphabets().distance.find(after, 64) else {
                    return None;
                };
                distance = table::distance_entry(symbol, bits);
                if distance == 0 {
                    return None;
                }
            }
        }
        Some((litlen, distance))
    }
}

/// Copies 32 bytes, all read before any is written.
#[inline(always)]
unsafe fn copy32(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<Wide>().write_unaligned(from.cast::<Wide>().read_unaligned()) }
}

/// 32 bytes, in registers.
#[cfg(target_arch = "x86_64")]
type Wide = std::arch::x86_64::__m256i;
#[cfg(not(target_arch = "x86_64"))]
type Wide = [u64; 4];

/// A match longer than a copy of 32 bytes or its own distance. Writes up to 63 bytes too much.
#[inline(always)]
unsafe fn copy_wide(out: *mut u8, distance: usize, len: usize) {
    // SAFETY: `distance` bytes before `out` are written, `len` and 64 more after it are ours.
    unsafe {
        let end = out.add(len);
        let mut to = out;
        if distance >= 32 {
            let mut from = out.sub(distance).cast_const();
            while to < end {
                copy32(from, to);
                from = from.add(32);
                to = to.add(32);
            }
        } else if distance == 1 {
            // Multiplied: it stays a store of the loop's, and no call.
            let bytes = u64::from(*out.sub(1)) * (u64::MAX / 255);
            while to < end {
                to.cast::<[u64; 8]>().write_unaligned([bytes; 8]);
                to = to.add(64);
            }
        } else {
            // Copying 8 or 16 bytes at a distance of at least as many repeats the pattern; so does
            // any multiple of the distance.
            let mut distance = distance;
            if distance < 8 {
                for at in 0..8 {
                    *out.add(at) = *out.sub(distance).add(at);
                }
                to = out.add(8);
                distance *= 8_usize.div_ceil(distance);
            }
            let mut from = to.sub(distance).cast_const();
            while to < end {
                to.cast::<[u8; 8]>().write_unaligned(from.cast::<[u8; 8]>().read_unaligned());
                from = from.add(8);
                to = to.add(8);
            }
        }
    }
}

/// Exactly `len` bytes from `distance` bytes before.
///
/// # Safety
///
/// `distance` bytes before `out` are written, `len` bytes after it are ours.
pub(super) unsafe fn copy_exact(out: *mut u8, distance: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if distance >= len {
            out.copy_from_nonoverlapping(out.sub(distance), len);
        } else if distance == 1 {
            out.write_bytes(*out.sub(1), len);
        } else {
            for at in 0..len {
                *out.add(at) = *out.add(at).sub(distance);
            }
        }
    }
}

/// A match that starts in the history. `false` if it starts before it. Writes up to 32 bytes too
/// much.
#[inline(always)]
unsafe fn from_history(
    window: &Window,
    ring: *const u8,
    out: *mut u8,
    written: usize,
    distance: usize,
    len: usize,
) -> bool {
    let back = distance - written;
    if window.lacks(distance, back) {
        return false;
    }
    let start = window.place(back);
    // SAFETY: `back` is within the history, which can be read 32 bytes past its end; what follows it
    // is in the output.
    unsafe {
        if len <= 32 && len <= back && start + len <= window.size {
            copy32(ring.add(start), out);
        } else {
            let count = window.copy(ring, back, out, len);
            copy_exact(out.add(count), distance, len - count);
        }
    }
    true
}

/// Where the loop stands.
#[derive(Clone, Copy)]
struct Cursor {
    next: *const u8,
    out: *mut u8,
    hold: u64,
    /// The lowest six bits count.
    bits: u32,
}

impl Cursor {
    /// Takes `taken` bits (the lowest six bits count); `hold` is what is left. All 64 bits of it
    /// are good after that, though not all are counted.
    #[inline(always)]
    unsafe fn take(&mut self, taken: u32, hold: u64) {
        self.bits = self.bits.wrapping_sub(taken);
        // SAFETY: there are 8 bytes.
        let more = u64::from_le_bytes(unsafe { self.next.cast::<[u8; 8]>().read_unaligned() });
        self.hold = hold | more << (self.bits & 63);
        self.next = self.next.wrapping_add(7 - (self.bits >> 3 & 7) as usize);
        self.bits |= 56;
    }
}

#[inline(always)]
unsafe fn wide<const BMI2: bool>(state: &mut Inflate, io: &mut Io) {
    // SAFETY: each turn reads at most 16 bytes from `next`, which the loop's condition has, and
    // writes at most `ROOM`; table indices are masked to what the tables were made for.
    unsafe {
        let (tables, root) = state.tables();
        let litlens = (&raw const (*tables).litlen).cast::<u32>();
        let plains = (&raw const (*tables).plain).cast::<u8>();
        let distances = (&raw const (*tables).distance).cast::<u32>();
        let last_next = io.end.sub(AHEAD + 1);
        let last_out = io.out_end.sub(ROOM);
        let start = io.out_start;
        let mut at = Cursor { next: io.next, out: io.out, hold: 0, bits: state.head.bits };
        at.take(0, state.head.hold);
        let mut litlen = *litlens.add(lowest::<BMI2>(at.hold, root) as usize);
        'again: while at.next <= last_next && at.out <= last_out {
            let (taken, rest, next_litlen, back, length, to) = loop {
                let is_match = litlen & LENGTH != 0;
                let after = at.hold >> (litlen & 63);
                let follows = lowest::<BMI2>(after, root) as usize;
                let plain = u32::from(*plains.add(follows));
                let distance = *distances.add(low(after, DISTANCE_BITS as u32) as usize);
                let second = select_unpredictable(is_match, distance, plain);
                // At most 48 bits are gone: the next entry can be looked up before bits are added.
                let rest = after >> (second & 63);
                let taken = litlen.wrapping_add(second);
                let next_litlen = *litlens.add(lowest::<BMI2>(rest, root) as usize);

                let mask = ((litlen << 2) as i32 >> 31) as u32;
                let length = length_of::<BMI2>(at.hold, litlen) & mask as usize;
                let literals = (litlen >> 8) as u16;
                let more = (*litlens.add(follows) >> 8) as u16;
                let middle = at.out.add((litlen >> 30) as usize);
                let to = middle.add(usize::from(second as u8 >> 6));
                at.out.cast::<u16>().write_unaligned(literals.to_le());
                middle.cast::<u16>().write_unaligned(more.to_le());
                let back = distance_of::<BMI2>(after, second) & mask as usize;
                let from = to.wrapping_sub(back).cast_const();
                if length > 32 || length > back || from < start.cast_const() {
                    break (taken, rest, next_litlen, back, length, to);
                }
                copy32(select_unpredictable(is_match, from, litlens.cast()), to);
                at.out = to.add(length);
                at.take(taken, rest);
                litlen = next_litlen;
                if at.next > last_next || at.out > last_out {
                    break 'again;
                }
            };
            if litlen != RARE && back > 0 {
                let written = to as usize - start as usize;
                let ring = state.history.as_ptr().cast();
                if back <= written {
                    copy_wide(to, back, length);
                } else if !from_history(&state.head.window, ring, to, written, back, length) {
                    break;
                }
                at.out = to.add(length);
                at.take(taken, rest);
                litlen = next_litlen;
            } else if odd(state, tables, root, start, &mut at) {
                litlen = *litlens.add(lowest::<BMI2>(at.hold, root) as usize);
            } else {
                break;
            }
        }
        settle(state, io, at.next, at.out, at.hold, at.bits & 63);
    }
}

/// A turn of `wide` with a code that is not in a table. `false`: the machine's turn.
#[cold]
#[inline(never)]
unsafe fn odd(
    state: &Inflate,
    tables: *const Tables,
    root: u32,
    start: *mut u8,
    at: &mut Cursor,
) -> bool {
    // SAFETY: as in `wide`.
    unsafe {
        let Some((litlen, distance)) = entries(state, tables, root, at.hold) else { return false };
        let to = at.out.add((litlen >> 30) as usize);
        let after = at.hold >> (litlen & 63);
        at.out.cast::<[u8; 2]>().write_unaligned(((litlen >> 8) as u16).to_le_bytes());
        let mut length = 0;
        if litlen & LENGTH != 0 {
            length = length_of::<false>(at.hold, litlen);
            let back = distance_of::<false>(after, distance);
            let written = to as usize - start as usize;
            if back > written {
                let ring = state.history.as_ptr().cast();
                if !from_history(&state.head.window, ring, to, written, back, length) {
                    return false;
                }
            } else if length > back.min(32) {
                copy_wide(to, back, length);
            } else {
                copy32(to.sub(back), to);
            }
        }
        at.out = to.add(length);
        at.take(litlen.wrapping_add(distance), after >> (distance & 63));
        true
    }
}

/// Gives whole bytes back to the input.
unsafe fn settle(
    state: &mut Inflate,
    io: &mut Io,
    next: *const u8,
    out: *mut u8,
    hold: u64,
    bits: u32,
) {
    io.next = next.wrapping_sub((bits >> 3) as usize);
    io.out = out;
    state.head.bits = bits & 7;
    state.head.hold = low(hold, bits & 7);
}

/// The same up to the last whole entry for which there is input and room.
unsafe fn close(state: &mut Inflate, io: &mut Io) {
    // SAFETY: input is read as far as there is some; output is written where it fits.
    unsafe {
        let (tables, root) = state.tables();
        let mut next = io.next;
        let mut out = io.out;
        let mut hold = state.head.hold;
        let mut bits = state.head.bits;
        loop {
            if io.end as usize - next as usize >= 8 {
                hold |= u64::from_le_bytes(next.cast::<[u8; 8]>().read_unaligned()) << bits;
                next = next.add(7 - (bits >> 3) as usize);
                bits |= 56;
            } else {
                while bits < 56 && next < io.end {
                    hold |= u64::from(*next) << bits;
                    next = next.add(1);
                    bits += 8;
                }
            }
            let Some((litlen, distance)) = entries(state, tables, root, hold) else { break };
            let left = io.out_end as usize - out as usize;
            let taken = (litlen & 63) + (distance & 63);
            let literals = (litlen >> 30) as usize;
            let is_match = litlen & LENGTH != 0;
            let length = if is_match { length_of::<false>(hold, litlen) } else { 0 };
            if taken > bits || literals + length > left {
                break;
            }
            if literals > 0 {
                *out = (litlen >> 8) as u8;
            }
            if literals > 1 {
                *out.add(1) = (litlen >> 16) as u8;
            }
            let to = out.add(literals);
            let after = hold >> (litlen & 63);
            if is_match {
                let back = distance_of::<false>(after, distance);
                let written = to as usize - io.out_start as usize;
                if back > written {
                    let ring = state.history.as_ptr().cast();
                    // It may write too much: what did not fit before a match is at most as long.
                    if left < literals + length + 32
                        || !from_history(&state.head.window, ring, to, written, back, length)
                    {
                        break;
                    }
                } else {
                    copy_exact(to, back, length);
                }
            }
            out = to.add(length);
            hold = after >> (distance & 63);
            bits -= taken;
        }
        settle(state, io, next, out, hold, bits);
    }
}

/// Code lengths of both alphabets, as long as there is input to read ahead.
///
/// # Safety
///
/// `io` is valid.
pub(super) unsafe fn lengths(state: &mut Inflate, io: &mut Io) {
    if state.head.bits >= 8 {
        return;
    }
    let total = (state.head.litlens + state.head.distances) as usize;
    let mut have = state.head.have as usize;
    let (mut next, mut hold, mut bits) = (io.next, state.head.hold, state.head.bits);
    let sets = state.sets_mut();
    'input: while have < total && io.end as usize - next as usize >= 8 {
        // SAFETY: there are 8 bytes.
        hold |= u64::from_le_bytes(unsafe { next.cast::<[u8; 8]>().read_unaligned() }) << bits;
        next = next.wrapping_add(7 - (bits >> 3) as usize);
        bits |= 56;
        // Four take at most 7 + 7 bits each.
        for _ in 0..4 {
            let entry = sets.length_table[(hold & 127) as usize];
            let (symbol, code) = (entry >> 3, u32::from(entry & 7));
            if symbol < 16 {
                sets.lengths[have] = symbol;
                have += 1;
                hold >>= code;
                bits -= code;
            } else {
                let (extra, least) = [(2, 3), (3, 3), (7, 11)][usize::from(symbol - 16) % 3];
                let count = least + low(hold >> code, extra) as usize;
                if have + count > total || symbol == 16 && have == 0 {
                    break 'input;
                }
                let value = if symbol == 16 { sets.lengths[have - 1] } else { 0 };
                sets.lengths[have..have + count].fill(value);
                have += count;
                hold >>= code + extra;
                bits -= code + extra;
            }
            if have == total {
                break;
            }
        }
    }
    state.head.have = have as u32;
    let out = io.out;
    // SAFETY: the bytes given back were taken from `io`.
    unsafe { settle(state, io, next, out, hold, bits) }
}
