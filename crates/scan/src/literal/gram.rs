//! Grams: `q` consecutive bytes as a number, and their hashes.

use std::collections::HashMap;

use super::set::FOLD;

/// Odd multipliers with no pattern in their bits: of the golden ratio, and two of SplitMix64.
const FIRST: u64 = 0x9e37_79b9_7f4a_7c15;
const SECOND: u64 = 0xbf58_476d_1ce4_e5b9;
const THIRD: u64 = 0x94d0_49bb_1331_11eb;

/// How a group reads and hashes the grams of its literals.
///
/// A gram of 4 bytes or fewer is the low end of a `u32`, a longer one of a `u64`. Its multiplier is shifted to the left
/// by as many bits as the gram lacks: the bytes behind the gram then fall out of the product, without a mask.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grams {
    pub(super) len: usize,
    /// ORed to the bytes: 0, or [`FOLD`] if case does not matter.
    pub(super) fold: u64,
}

impl Grams {
    /// Bytes that a load of a gram reads.
    pub(super) fn load_len(self) -> usize {
        if self.wide() { 8 } else { 4 }
    }

    pub(super) fn wide(self) -> bool {
        self.len > 4
    }

    fn lacking(self) -> u32 {
        8 * (self.load_len() - self.len) as u32
    }

    /// The multiplier of the first hash, for the kernels.
    pub(super) fn multiplier(self) -> u64 {
        if self.wide() { FIRST << self.lacking() } else { (FIRST >> 32 | 1) << self.lacking() }
    }

    /// The multipliers of [`Grams::split`], for the kernels.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) fn split_multipliers(self) -> [u32; 2] {
        if self.wide() {
            [(FIRST >> 32) as u32 | 1, SECOND as u32]
        } else {
            [self.multiplier() as u32, 0]
        }
    }

    /// `bits` bits of a hash in 32-bit arithmetic: of the first and the last 4 bytes of a gram that is longer than these.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) fn split(self, gram: u64, bits: u32) -> usize {
        let [first, second] = self.split_multipliers();
        let last = if self.wide() { (gram >> (8 * (self.len - 4))) as u32 } else { 0 };
        let hash = (gram as u32).wrapping_mul(first).wrapping_add(last.wrapping_mul(second));
        (hash >> (32 - bits)) as usize
    }

    /// The bytes at `at` with zeros behind the end of `hay`, folded. Above the gram is anything.
    #[inline(always)]
    pub(super) fn load(self, hay: &[u8], at: usize) -> u64 {
        let loaded = match hay.get(at..at + 8).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => u64::from_le_bytes(*bytes),
            None => {
                let rest = hay.get(at..).unwrap_or_default();
                rest.iter().take(8).rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
            }
        };
        loaded | self.fold
    }

    /// The first hash: `bits` bits of it. `bits` is 1 to 32.
    #[inline(always)]
    pub(super) fn first(self, gram: u64, bits: u32) -> usize {
        match self.wide() {
            true => (gram.wrapping_mul(self.multiplier()) >> (64 - bits)) as usize,
            false => ((gram as u32).wrapping_mul(self.multiplier() as u32) >> (32 - bits)) as usize,
        }
    }

    /// A hash that is independent of the first one.
    #[inline(always)]
    pub(super) fn second(self, gram: u64, bits: u32) -> usize {
        let lacking = 64 - 8 * self.len as u32;
        ((gram << lacking).wrapping_mul(SECOND) >> (64 - bits)) as usize
    }
}

/// The hash of a whole window: its first and last 8 bytes count (4 of a window of 4 to 7; all of a shorter one).
#[inline(always)]
pub(super) fn hash_window(window: &[u8], fold: u64) -> u32 {
    let (first, last) = match (window.first_chunk::<8>(), window.last_chunk::<8>()) {
        (Some(first), Some(last)) => (u64::from_le_bytes(*first), u64::from_le_bytes(*last)),
        _ => match (window.first_chunk::<4>(), window.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                (u32::from_le_bytes(*first).into(), u32::from_le_bytes(*last).into())
            }
            _ => (window.iter().fold(1, |all, &byte| all << 8 | u64::from(byte)), 0),
        },
    };
    let mixed =
        (first | fold).wrapping_mul(FIRST) ^ (last | fold).wrapping_mul(SECOND).rotate_left(29);
    ((mixed ^ mixed >> 32).wrapping_mul(THIRD) >> 32) as u32
}

/// Whether bytes that differ in [`FOLD`] only are one byte: for sets with a caseless literal.
pub(super) fn fold_of(caseless: bool) -> u64 {
    if caseless { FOLD } else { 0 }
}

/// How many literals have chosen each window so far.
pub(super) struct Crowd {
    users: HashMap<u32, u32>,
    fold: u64,
}

impl Crowd {
    pub(super) fn new(fold: u64) -> Crowd {
        Crowd { users: HashMap::new(), fold }
    }

    /// What a window is weighed by: with each literal that has it, it is worth less.
    pub(super) fn of(&self, window: &[u8]) -> f32 {
        1.0 + self.users.get(&hash_window(window, self.fold)).copied().unwrap_or(0) as f32
    }

    pub(super) fn add(&mut self, window: &[u8]) {
        *self.users.entry(hash_window(window, self.fold)).or_default() += 1;
    }
}
