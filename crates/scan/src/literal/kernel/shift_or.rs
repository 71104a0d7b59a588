//! Pairs of bytes looked up in a table of masks, and the masks of neighbouring pairs laid over each other.
//!
//! ```text
//! state := 0
//! for at in begin, begin + STEP, ... while at < end:
//!     state := state >> 8 STEP OR masks[hay[at] + 256 hay[at + 1]]                       64 bits
//!     for k in 0..STEP: no window ends at at + k if all bits of byte k of the state are set
//! ```
//!
//! Bit b of byte k of a mask is clear if a window of bucket b may have these two bytes, the first of them k bytes before its
//! last one. So each pair says something of eight positions, and a position is a candidate if, for one bucket, no pair near
//! it objects. What stands before the haystack objects to nothing.
//!
//! Shapes: STEP is 1, 2 or 4; any begin and end. Preconditions: none. CPU features: none needed; with AVX2
//! states are compared 32 at a time. Not constant time. Source: shift-or is R.
//! Baeza-Yates and G. Gonnet's ("A new approach to text searching", 1992), buckets of strings over pairs of bytes are the idea
//! of Hyperscan's FDR (X. Wang and others, 2019). Covered by the tests of `literal` and by the bench `literal`.
//!
//! 1. A state waits for the one before. So four cursors go through four parts of the block side by side, each with the
//!    pairs before its part looked up once more.
//! 2. Masks are found by a multiplication that the load is part of. Of all odd multipliers, these two leave the fewest of 62
//!    letters and digits, and of frequent bytes of text, with the mask of another pair: 1.3 pairs to a mask of 4,096, each its own of 8,192.
//! 3. The low bytes of states are stored, and compared when the block is done: a comparison for each would be half of the work.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::{CAPACITY, Candidates, Isa};

/// Buckets: bits of a byte.
pub(crate) const BUCKETS: usize = 8;

/// Bytes before and with the last one of a window that masks know of.
pub(crate) const KNOWN: usize = 8;

/// Positions that are compared at once.
const LANES: usize = 64;

/// The logarithms of the masks that a table may have.
pub(crate) const SIZES: [u32; 2] = [12, 13];

/// Positions between two pairs that are looked up.
pub(crate) const STEPS: [usize; 3] = [1, 2, 4];

const fn multiplier(bits: u32) -> u32 {
    match bits {
        12 => 0x94e1,
        _ => 0xfe03,
    }
}

/// The mask of two bytes, in a table of `1 << bits`.
#[inline(always)]
pub(crate) fn slot(bits: u32, first: u8, second: u8) -> usize {
    let pair = u32::from(first) | u32::from(second) << 8;
    (pair.wrapping_mul(multiplier(bits) << 16) >> (32 - bits)) as usize
}

/// The masks of a group, which objects to nothing that is a window.
#[derive(Debug)]
pub(crate) struct Masks {
    /// `1 << bits` of them.
    all: Box<[u64]>,
    bits: u32,
    step: usize,
}

impl Masks {
    /// Masks that object to everything.
    pub(crate) fn new(bits: u32, step: usize) -> Masks {
        assert!(SIZES.contains(&bits) && STEPS.contains(&step));
        Masks { all: vec![u64::MAX; 1 << bits].into(), bits, step }
    }

    /// A window of `bucket` may have what is looked up at `slot` of its bytes, the first of them `before` bytes before its last
    /// one.
    pub(crate) fn allow(&mut self, slot: usize, before: usize, bucket: usize) {
        assert!(before < KNOWN && bucket < BUCKETS);
        self.all[slot] &= !(1 << (8 * before + bucket));
    }

    pub(crate) fn memory(&self) -> usize {
        size_of_val(&*self.all)
    }
}

/// What the loop holds in registers.
#[derive(Clone, Copy)]
struct Cursor {
    masks: *const u64,
    state: u64,
}

impl Cursor {
    /// Of two bytes, and any two behind them.
    ///
    /// # Safety
    /// There are `1 << BITS` masks.
    #[inline(always)]
    unsafe fn pair<const STEP: usize, const BITS: u32>(&mut self, bytes: u32) {
        let slot = bytes.wrapping_mul(const { multiplier(BITS) << 16 }) >> (32 - BITS);
        // SAFETY: the shift leaves as many bits as there are masks.
        let mask = unsafe { *self.masks.add(slot as usize) };
        self.state = self.state >> (8 * STEP) | mask;
    }

    /// # Safety
    /// `STEP` bytes can be written at `to`.
    #[inline(always)]
    unsafe fn store<const STEP: usize>(self, to: *mut u8) {
        // SAFETY: the caller's.
        unsafe {
            match STEP {
                1 => to.write(self.state as u8),
                2 => to.cast::<u16>().write_unaligned((self.state as u16).to_le()),
                _ => to.cast::<u32>().write_unaligned((self.state as u32).to_le()),
            }
        }
    }

    /// What the state is before `at`, by the pairs that are `STEP` apart.
    ///
    /// # Safety
    /// There are `1 << BITS` masks.
    #[inline(always)]
    unsafe fn warm<const STEP: usize, const BITS: u32>(&mut self, hay: &[u8], at: usize) {
        for back in (1..=((KNOWN - 1) / STEP).min(at / STEP)).rev() {
            // SAFETY: the caller's.
            unsafe { self.pair::<STEP, BITS>(load_checked(hay, at - back * STEP)) };
        }
    }
}

/// Bytes that the load of a pair reads.
const LOAD: usize = 4;

/// Four bytes, with zeros for those behind the haystack.
#[inline(always)]
fn load_checked(hay: &[u8], at: usize) -> u32 {
    match hay.get(at..at + LOAD).and_then(|bytes| bytes.first_chunk()) {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => {
            let rest = hay.get(at..).unwrap_or_default();
            rest.iter().rev().fold(0, |all, &byte| all << 8 | u32::from(byte))
        }
    }
}

/// # Safety
/// Four bytes can be read at `at`.
#[inline(always)]
unsafe fn load(at: *const u8) -> u32 {
    // SAFETY: the caller's.
    u32::from_le(unsafe { at.cast::<u32>().read_unaligned() })
}

/// Bytes that a cursor takes in one turn of the loop.
const TURN: usize = 8;

/// Stores the states of the positions from `first` on, `count` of them, and up to `STEP - 1` more.
///
/// # Safety
/// `first + count` is within `hay`, `count + STEP - 1` states can be written, and there are `1 << BITS` masks.
#[inline(always)]
unsafe fn run<const STEP: usize, const BITS: u32>(
    masks: &[u64],
    hay: &[u8],
    (first, count): (usize, usize),
    states: *mut u8,
) {
    let masks = masks.as_ptr();
    let whole = count.min((hay.len() + 1).saturating_sub(first + LOAD));
    let part = whole / (4 * TURN) * TURN;
    let mut cursors = [Cursor { masks, state: 0 }; 4];
    // SAFETY: four bytes can be loaded at the first `whole` positions, states are written below `count + STEP - 1`, and masks
    // are as many as the caller says.
    unsafe {
        let from = hay.as_ptr().add(first);
        let [first_one, others @ ..] = &mut cursors;
        if part > 0 {
            first_one.warm::<STEP, BITS>(hay, first);
            for (i, cursor) in others.iter_mut().enumerate() {
                for back in (1..=(KNOWN - 1) / STEP).rev() {
                    cursor.pair::<STEP, BITS>(load(from.add((i + 1) * part - back * STEP)));
                }
            }
        } else {
            others[2].warm::<STEP, BITS>(hay, first);
        }
        let mut at = 0;
        while at < part {
            for turn in (at..at + TURN).step_by(STEP) {
                for (i, cursor) in cursors.iter_mut().enumerate() {
                    cursor.pair::<STEP, BITS>(load(from.add(i * part + turn)));
                    cursor.store::<STEP>(states.add(i * part + turn));
                }
            }
            at += TURN;
        }
        // What is left, with the last cursor. What stands behind the last byte of a window says nothing: zeros do.
        let [.., cursor] = &mut cursors;
        for at in (4 * part..count).step_by(STEP) {
            cursor.pair::<STEP, BITS>(load_checked(hay, first + at));
            cursor.store::<STEP>(states.add(at));
        }
    }
}

/// Calls `$run` with a table's step and size as constants.
macro_rules! choose {
    ($run:ident, $masks:ident, $($argument:ident),*) => {
        match ($masks.step, $masks.bits) {
            (1, 12) => $run::<1, 12>(&$masks.all, $($argument),*),
            (1, _) => $run::<1, 13>(&$masks.all, $($argument),*),
            (2, 12) => $run::<2, 12>(&$masks.all, $($argument),*),
            (2, _) => $run::<2, 13>(&$masks.all, $($argument),*),
            (_, 12) => $run::<4, 12>(&$masks.all, $($argument),*),
            (_, _) => $run::<4, 13>(&$masks.all, $($argument),*),
        }
    };
}

/// # Safety
/// As [`run`], the CPU has the features, and [`LANES`] bytes behind `count` can be written.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run_avx2<const STEP: usize, const BITS: u32>(
    masks: &[u64],
    hay: &[u8],
    (first, count): (usize, usize),
    states: *mut u8,
    out: &mut Candidates,
) {
    // SAFETY: the caller's; positions are below `count`, so that all fit.
    unsafe {
        run::<STEP, BITS>(masks, hay, (first, count), states);
        let none = _mm256_set1_epi8(-1);
        for half in 0..LANES / 32 {
            _mm256_storeu_si256(states.add(count + 32 * half).cast(), none);
        }
        let mut at = 0;
        while at < count {
            let compare = |at: usize| {
                let state = _mm256_loadu_si256(states.add(at).cast());
                u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(state, none)) as u32)
            };
            out.push_bits(at as u32, !(compare(at) | compare(at + 32) << 32));
            at += LANES;
        }
    }
}

/// # Safety
/// As [`run`].
unsafe fn run_generic<const STEP: usize, const BITS: u32>(
    masks: &[u64],
    hay: &[u8],
    (first, count): (usize, usize),
    states: *mut u8,
    out: &mut Candidates,
) {
    // SAFETY: the caller's; `count` states are written then.
    let states = unsafe {
        run::<STEP, BITS>(masks, hay, (first, count), states);
        std::slice::from_raw_parts(states, count)
    };
    let (blocks, rest) = states.as_chunks::<8>();
    for (block, states) in blocks.iter().enumerate() {
        let mut open = !u64::from_le_bytes(*states);
        while open != 0 {
            let at = open.trailing_zeros() as usize / 8;
            out.push_checked((8 * block + at) as u32);
            open &= !(0xff << (8 * at));
        }
    }
    for (at, state) in rest.iter().enumerate() {
        if *state != u8::MAX {
            out.push_checked((8 * blocks.len() + at) as u32);
        }
    }
}

/// Adds the candidates among the positions from `begin` to `end`, relative to `begin`: at each of them the last byte of a window
/// may stand.
pub(crate) fn shift_or(
    isa: Isa,
    masks: &Masks,
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) {
    if begin >= end {
        return;
    }
    let positions = (begin, end - begin);
    assert!(end <= hay.len() && out.len == 0 && positions.1 <= CAPACITY);
    let mut states = [const { MaybeUninit::<u8>::uninit() }; CAPACITY + LANES];
    let states: *mut u8 = states.as_mut_ptr().cast();
    // SAFETY: the positions are within the haystack and as many as said, a table has as many masks as its `bits` say, and the
    // token proves the features.
    unsafe {
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(_) | Isa::Avx2(_) => choose!(run_avx2, masks, hay, positions, states, out),
            _ => choose!(run_generic, masks, hay, positions, states, out),
        }
    }
}
