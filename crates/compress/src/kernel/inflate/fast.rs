//! The loops over tables.
//!
//! `wide` needs room to write more than it means and input to read ahead; `close` looks before each
//! step. Both leave what they cannot do, untouched, to the machine.
//!
//! `wide` has one entry of the litlen table in each turn: up to two literals, a literal and a match,
//! or a match. Whether there is a match is hard to foretell, so nothing branches on it: a turn
//! without one looks up a distance too, and masks what it found to "no bits, no bytes".

use std::hint::select_unpredictable;

use super::machine::Io;
use super::table::{DISTANCE_BITS, LEAST_LITLEN_BITS, LENGTH, MOST_LITLEN_BITS, RARE, STOP};
use super::window::Window;
use super::{Inflate, Tables};

/// What indexes the litlen table where so much input is there, and whether pairing its symbols
/// pays: it takes as long as decoding some hundred bytes. A stream that went on for a while
/// (`long`) will go on.
pub(super) fn litlen_bits(input: usize, long: bool) -> (usize, bool) {
    match input {
        0..PAIRING_PAYS => (LEAST_LITLEN_BITS, false),
        PAIRING_PAYS..LARGE if !long => (LEAST_LITLEN_BITS, true),
        _ => (MOST_LITLEN_BITS, true),
    }
}

const PAIRING_PAYS: usize = 600;
const LARGE: usize = 6000;

/// What a turn reads ahead, less one.
const AHEAD: usize = 15;
/// What a turn may write: two literals, a match, and what copying in steps of 32 writes too much.
const ROOM: usize = 2 + 258 + 64;

/// What a turn without a match reads in place of the distance table.
static NO_MATCH: [u32; 1 << DISTANCE_BITS] = [0; 1 << DISTANCE_BITS];

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
            if state.head.avx2.is_some() {
                wide_avx2(state, io);
            } else {
                wide(state, io);
            }
            #[cfg(not(target_arch = "x86_64"))]
            wide(state, io);
        }
    }
    // SAFETY: the caller's promise.
    unsafe { close(state, io) }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt")]
unsafe fn wide_avx2(state: &mut Inflate, io: &mut Io) {
    // SAFETY: the caller's promise.
    unsafe { wide(state, io) }
}

/// The lowest `count` bits, fewer than 64.
#[inline(always)]
fn low(value: u64, count: u32) -> u64 {
    value & ((1 << (count & 63)) - 1)
}

/// As many bits as an entry takes. Says the compiler that masking the count is of no use.
#[inline(always)]
fn taken_by(entry: u32, bits: u64) -> u64 {
    let count = u64::from(entry as u8);
    // SAFETY: tables are made so.
    unsafe { std::hint::assert_unchecked(count < 64) };
    bits & ((1 << count) - 1)
}

/// The bits of a litlen entry's length that are not in its base.
#[inline(always)]
fn length_extra(bits: u64, entry: u32) -> u32 {
    (taken_by(entry, bits) >> (entry >> 24 & 15)) as u32
}

#[inline(always)]
fn distance_of(bits: u64, entry: u32) -> usize {
    (entry >> 16 & 0x7fff) as usize + (taken_by(entry, bits) >> (entry >> 8 & 15)) as usize
}

/// What the entries said when one of them was rare.
struct Detour {
    /// The entries that count, and what their bits were taken from.
    litlen: u32,
    length_bits: u64,
    distance: u32,
    distance_bits: u64,
    /// Bits after both.
    hold: u64,
    /// Bits taken before the entries that count.
    before: u32,
}

/// Decodes again, through subtables. `None`: the machine's turn.
#[cold]
#[inline(never)]
unsafe fn detour(tables: *const Tables, root: u32, hold: u64) -> Option<Detour> {
    // SAFETY: indices are those that the tables were made for.
    unsafe {
        let litlens = (&raw const (*tables).litlen).cast::<u32>();
        let distances = (&raw const (*tables).distance).cast::<u32>();
        let mut found = Detour {
            litlen: *litlens.add(low(hold, root) as usize),
            length_bits: hold,
            distance: 0,
            distance_bits: 0,
            hold,
            before: 0,
        };
        let sub = |entry: u32, bits: u64| {
            (entry >> 12 & 0xffff) as usize + low(bits, entry >> 8 & 15) as usize
        };
        if found.litlen & RARE != 0 {
            if found.litlen & STOP != 0 {
                return None;
            }
            found.before = found.litlen & 63;
            found.length_bits = hold >> found.before;
            found.litlen = *litlens.add(sub(found.litlen, found.length_bits));
            if found.litlen & RARE != 0 {
                return None;
            }
        }
        found.hold = found.length_bits >> (found.litlen & 63);
        if found.litlen & LENGTH != 0 {
            found.distance_bits = found.hold;
            found.distance = *distances.add(low(found.hold, DISTANCE_BITS as u32) as usize);
            if found.distance & RARE != 0 {
                if found.distance & STOP != 0 {
                    return None;
                }
                let taken = found.distance & 63;
                found.before += taken;
                found.distance_bits >>= taken;
                found.distance = *distances.add(sub(found.distance, found.distance_bits));
                if found.distance & RARE != 0 {
                    return None;
                }
            }
            found.hold = found.distance_bits >> (found.distance & 63);
        }
        Some(found)
    }
}

/// Copies 32 bytes, all read before any is written.
#[inline(always)]
unsafe fn copy32(from: *const u8, to: *mut u8) {
    // SAFETY: the caller's promise.
    unsafe { to.cast::<[u8; 32]>().write_unaligned(from.cast::<[u8; 32]>().read_unaligned()) }
}

/// A match longer than a copy of 32 bytes or its own distance. Writes up to 32 bytes too much.
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
            let byte = *out.sub(1);
            while to < end {
                to.cast::<[u8; 32]>().write_unaligned([byte; 32]);
                to = to.add(32);
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
#[inline(never)]
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

#[inline(always)]
unsafe fn wide(state: &mut Inflate, io: &mut Io) {
    // SAFETY: each turn reads at most 16 bytes from `next`, which the loop's condition has, and
    // writes at most `ROOM`; table indices are masked to what the tables were made for.
    unsafe {
        let (tables, root) = state.tables();
        let litlens = (&raw const (*tables).litlen).cast::<u32>();
        let distances = (&raw const (*tables).distance).cast::<u32>();
        let none = NO_MATCH.as_ptr();
        let last_next = io.end.sub(AHEAD + 1);
        let last_out = io.out_end.sub(ROOM);
        let start = io.out_start as usize;
        let mut next = io.next;
        let mut out = io.out;
        let mut hold = state.head.hold;
        // The lowest six bits count.
        let mut bits = state.head.bits;
        hold |= u64::from_le_bytes(next.cast::<[u8; 8]>().read_unaligned()) << (bits & 63);
        next = next.add(7 - (bits >> 3 & 7) as usize);
        bits |= 56;
        let mut ahead = *litlens.add(low(hold, root) as usize);
        while next <= last_next && out <= last_out {
            // All 64 bits of `hold` are good now, though not all are counted.
            let before = hold;
            let mut length_bits = hold;
            let mut litlen = ahead;
            hold >>= litlen & 63;
            // No match: an entry that takes no bits and is distance 0.
            let table = select_unpredictable(litlen & LENGTH != 0, distances, none);
            let mut distance_bits = hold;
            let mut distance = *table.add(low(hold, DISTANCE_BITS as u32) as usize);
            hold >>= distance & 63;
            let mut taken = litlen.wrapping_add(distance);
            if ((litlen | distance) as i32) < 0 {
                let Some(found) = detour(tables, root, before) else {
                    hold = before;
                    break;
                };
                litlen = found.litlen;
                length_bits = found.length_bits;
                distance = found.distance;
                distance_bits = found.distance_bits;
                hold = found.hold;
                taken = found.before + (litlen & 63) + (distance & 63);
            }
            // At most 48 bits are gone: the next entry can be looked up before bits are added.
            ahead = *litlens.add(low(hold, root) as usize);
            let counted = bits;
            bits = bits.wrapping_sub(taken);
            let unread = next;
            hold |= u64::from_le_bytes(next.cast::<[u8; 8]>().read_unaligned()) << (bits & 63);
            next = next.add(7 - (bits >> 3 & 7) as usize);
            bits |= 56;

            let to = out.add((litlen >> 28 & 3) as usize);
            let mask = ((litlen << 1) as i32 >> 31) as u32;
            let length = (length_extra(length_bits, litlen) + (litlen >> 16 & 0xff) + 3) & mask;
            let length = length as usize;
            let back = distance_of(distance_bits, distance);
            out.cast::<[u8; 2]>().write_unaligned(((litlen >> 8) as u16).to_le_bytes());
            let written = to as usize - start;
            if back > written {
                let ring = state.history.as_ptr().cast();
                if !from_history(&state.head.window, ring, to, written, back, length) {
                    (hold, bits, next) = (before, counted, unread);
                    break;
                }
            } else if length > back.min(32) {
                copy_wide(to, back, length);
            } else {
                copy32(to.sub(back), to);
            }
            out = to.add(length);
        }
        settle(state, io, next, out, hold, bits & 63);
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
        let litlens = (&raw const (*tables).litlen).cast::<u32>();
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
            let litlen = *litlens.add(low(hold, root) as usize);
            let left = io.out_end as usize - out as usize;
            let literals = (litlen >> 28 & 3) as usize;
            if litlen & (RARE | LENGTH) == 0 {
                if litlen & 63 > bits || literals > left {
                    break;
                }
                *out = (litlen >> 8) as u8;
                if literals == 2 {
                    *out.add(1) = (litlen >> 16) as u8;
                }
                out = out.add(literals);
                hold >>= litlen & 63;
                bits -= litlen & 63;
                continue;
            }
            let Some(found) = detour(tables, root, hold) else { break };
            let taken = found.before + (found.litlen & 63) + (found.distance & 63);
            let literals = (found.litlen >> 28 & 3) as usize;
            let mut length = 0;
            if found.litlen & LENGTH != 0 {
                length = (length_extra(found.length_bits, found.litlen)
                    + (found.litlen >> 16 & 0xff)
                    + 3) as usize;
            }
            if taken > bits || literals + length > left {
                break;
            }
            if literals > 0 {
                *out = (found.litlen >> 8) as u8;
            }
            let to = out.add(literals);
            if length > 0 {
                let back = distance_of(found.distance_bits, found.distance);
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
            hold = found.hold;
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
