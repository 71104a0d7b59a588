//! The loops that look for candidates: places whose bytes, at a few distances, are all in the sets of one bucket.

#![allow(unsafe_code)]

#[cfg(target_arch = "x86_64")]
mod gate_avx2;
#[cfg(target_arch = "x86_64")]
mod gate_avx512;

pub(crate) use crate::isa::Isa;

/// Places looked at together.
pub(super) const LANES: usize = 64;
/// Most tests.
pub(super) const TESTS: usize = 4;

/// The buckets that a byte may belong to, of the bytes at one distance from a place.
#[derive(Clone, Debug)]
pub(super) struct Test {
    /// From the place.
    pub(super) offset: isize,
    /// By the byte.
    pub(super) table: [u8; 256],
    /// By its low half, and by its high half.
    pub(super) nibbles: [[u8; 16]; 2],
}

/// All tests, the most selective one first.
#[derive(Clone, Debug)]
pub(super) struct Tests {
    pub(super) tests: Vec<Test>,
    /// The least and the greatest offset, and 0.
    pub(super) reach: (isize, isize),
    /// No byte above 127 has a bucket in any test.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) ascii: bool,
    /// Tests after which a block without a candidate is done: 1 to all of them.
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub(super) early: usize,
}

impl Tests {
    pub(super) fn new(tests: Vec<Test>, early: usize) -> Tests {
        let offsets = || tests.iter().map(|it| it.offset);
        Tests {
            reach: (offsets().min().unwrap_or(0).min(0), offsets().max().unwrap_or(0).max(0)),
            ascii: tests.iter().all(|it| it.table[128..].iter().all(|bits| *bits == 0)),
            early,
            tests,
        }
    }

    /// The candidates among the 64 places from `at` on that are within `hay`, a bit each. A test of a byte outside `hay`
    /// is passed.
    pub(super) fn block(&self, isa: Isa, hay: &[u8], at: usize) -> u64 {
        assert!(at < hay.len() && (1..=TESTS).contains(&self.tests.len()));
        let bits = match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => gate_avx512::block(token, self, hay, at),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => gate_avx2::block(token, self, hay, at),
            _ => self.block_generic(hay, at),
        };
        match hay.len() - at {
            left @ 1..LANES => bits & u64::MAX >> (LANES - left),
            _ => bits,
        }
    }

    /// The first block of 64 places from `at` on that has a candidate: where it begins, and its candidates; or the first
    /// place at which a block would need bytes outside `hay`, and 0. Places before the block are no candidates.
    pub(super) fn blocks(&self, isa: Isa, hay: &[u8], at: usize) -> (usize, u64) {
        let (least, most) = self.reach;
        assert!((1..=TESTS).contains(&self.tests.len()));
        let end = hay.len().saturating_sub(LANES + most as usize);
        if at < least.unsigned_abs() || at >= end {
            return (at, 0);
        }
        match isa {
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512(token) => gate_avx512::blocks(token, self, hay, at),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2(token) => gate_avx2::blocks(token, self, hay, at),
            _ => self.blocks_generic(hay, at, end),
        }
    }

    fn is_candidate(&self, hay: &[u8], at: usize) -> bool {
        let buckets = self.tests.iter().fold(u8::MAX, |buckets, test| {
            let byte = at.checked_add_signed(test.offset).and_then(|at| hay.get(at));
            buckets & byte.map_or(u8::MAX, |&byte| test.table[usize::from(byte)])
        });
        buckets != 0
    }

    fn block_generic(&self, hay: &[u8], at: usize) -> u64 {
        let lanes = LANES.min(hay.len() - at);
        (0..lanes).fold(0, |bits, lane| bits | u64::from(self.is_candidate(hay, at + lane)) << lane)
    }

    fn blocks_generic(&self, hay: &[u8], at: usize, end: usize) -> (usize, u64) {
        let Test { offset, table, .. } = &self.tests[0];
        let mut at = at;
        while at < end {
            let first = at.wrapping_add_signed(*offset);
            let passes = |byte: &u8| table[usize::from(*byte)] != 0;
            let Some(skipped) = hay[first..first + end - at].iter().position(passes) else {
                return (end, 0);
            };
            at += skipped;
            if self.is_candidate(hay, at) {
                return (at, self.block_generic(hay, at));
            }
            at += 1;
        }
        (at, 0)
    }
}
