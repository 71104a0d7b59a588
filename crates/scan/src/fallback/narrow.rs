//! A program of up to 512 positions, bit by bit: the state in registers or nearly so.
//!
//! The same step as [`Program::step`], with all lists of followers spread out to whole states.
use std::ops::ControlFlow;

use super::dfa::emit;
use super::program::{Program, Report};

/// The tables for states of `W` words.
pub(super) struct Narrow<const W: usize> {
    shift: [u64; W],
    single: [u64; W],
    /// Positions that share their followers, and these.
    groups: Vec<([u64; W], [u64; W])>,
    /// The followers of each single position.
    follow: Vec<[u64; W]>,
    reach: Vec<[u64; W]>,
    accepting: [u64; W],
}

fn widen<const W: usize>(words: &[u64]) -> [u64; W] {
    std::array::from_fn(|word| words.get(word).copied().unwrap_or(0))
}

impl<const W: usize> Narrow<W> {
    pub(super) fn new(program: &Program) -> Narrow<W> {
        let spread = |list: usize| {
            let mut to = [0; W];
            program.follow.list(list).iter().for_each(|bits| to[bits.word as usize] |= bits.bits);
            to
        };
        let single: [u64; W] = widen(&program.single);
        let follow = (0..program.len).map(|at| match single[at >> 6] >> (at & 63) & 1 {
            0 => [0; W],
            _ => spread(program.exception[at] as usize),
        });
        Narrow {
            shift: widen(&program.shift),
            single,
            groups: program
                .groups
                .iter()
                .map(|it| (widen(&it.positions), spread(it.list as usize)))
                .collect(),
            follow: follow.collect(),
            reach: program.reach.chunks_exact(program.words).map(widen).collect(),
            accepting: widen(&program.accepting),
        }
    }

    pub(super) fn memory(&self) -> usize {
        (self.groups.len() * 2 + self.follow.len() + self.reach.len() + 3) * W * 8
    }

    /// Scans `chunk`, whose first byte is at `offset`.
    #[allow(clippy::needless_range_loop, reason = "two arrays in step, of a length that is known")]
    pub(super) fn scan(
        &self,
        program: &Program,
        bits: &mut [u64],
        offset: u64,
        chunk: &[u8],
        list: &mut Vec<Report>,
        hit: &mut impl FnMut(u32, u64, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut state: [u64; W] = widen(bits);
        for (at, &byte) in chunk.iter().enumerate() {
            let mut next = [0; W];
            let mut carry = 0;
            for word in 0..W {
                let moved = state[word] & self.shift[word];
                next[word] = moved << 1 | carry;
                carry = moved >> 63;
            }
            for (positions, follow) in &self.groups {
                let any = (0..W).fold(0, |any, word| any | (state[word] & positions[word]));
                let all = u64::from(any != 0).wrapping_neg();
                (0..W).for_each(|word| next[word] |= follow[word] & all);
            }
            for word in 0..W {
                let mut single = state[word] & self.single[word];
                while single != 0 {
                    let follow = &self.follow[word << 6 | single.trailing_zeros() as usize];
                    single &= single - 1;
                    (0..W).for_each(|word| next[word] |= follow[word]);
                }
            }
            let reach = &self.reach[usize::from(program.class[usize::from(byte)])];
            state = std::array::from_fn(|word| next[word] & reach[word]);
            if (0..W).fold(0, |any, word| any | (state[word] & self.accepting[word])) != 0 {
                program.reports(&state[..program.words], list);
                emit(list, offset.wrapping_add(at as u64 + 1), hit)?;
            }
        }
        bits.copy_from_slice(&state[..program.words]);
        ControlFlow::Continue(())
    }
}

/// By the words of a state.
#[derive(Default)]
pub(super) enum AnyNarrow {
    /// Too many, or not yet needed.
    #[default]
    None,
    One(Narrow<1>),
    Two(Narrow<2>),
    Four(Narrow<4>),
    Eight(Narrow<8>),
}

impl AnyNarrow {
    pub(super) fn new(program: &Program) -> AnyNarrow {
        match program.words {
            1 => AnyNarrow::One(Narrow::new(program)),
            2 => AnyNarrow::Two(Narrow::new(program)),
            3..=4 => AnyNarrow::Four(Narrow::new(program)),
            5..=8 => AnyNarrow::Eight(Narrow::new(program)),
            _ => AnyNarrow::None,
        }
    }

    pub(super) fn memory(&self) -> usize {
        match self {
            AnyNarrow::None => 0,
            AnyNarrow::One(it) => it.memory(),
            AnyNarrow::Two(it) => it.memory(),
            AnyNarrow::Four(it) => it.memory(),
            AnyNarrow::Eight(it) => it.memory(),
        }
    }
}
