//! Pass 3: what the parse found, counted, and cut into blocks.
//!
//! After each strip, with `b` its symbols and `a` those of the block before it: if
//! `cost(a + b) > cost(a) + cost(b) + header`, `a` is a block of its own and `b` begins the next.
//! `cost` is the entropy of the symbols, so it needs no codes.

use super::super::LOG2;
use super::super::symbols::LENGTHS;
use super::STRIP;
use super::write::Writer;

/// The most sequences and literals of a block, and of the strip that may follow it.
const SEQUENCES: usize = 1 << 14;
const LITERALS: usize = 1 << 17;
/// What a strip adds at most, with the literals that were pending before it.
const STRIP_SEQUENCES: usize = STRIP / 4 + 8;
const STRIP_LITERALS: usize = 2 * STRIP;
/// Literals that wait for a match at the end of a strip; more are a sequence without one.
const PENDING: usize = 4096;

pub(super) const END_OF_BLOCK: usize = 256;
/// The symbol of no distance: its code has no bits.
const NO_DISTANCE: u16 = 31;

/// Length symbols of lengths, less 257.
pub(super) const LENGTH_SYMBOLS: [u8; 259] = {
    let mut symbols = [0; 259];
    let mut symbol = 0;
    while symbol < LENGTHS.len() {
        let (base, extra) = LENGTHS[symbol];
        let mut length = base as usize;
        // The last but one ends before 258, which has its own.
        while length < base as usize + (1 << extra) && length < symbols.len() {
            symbols[length] = symbol as u8;
            length += 1;
        }
        symbol += 1;
    }
    symbols
};

/// The distance symbol of a distance (RFC 1951 section 3.2.5).
#[inline(always)]
pub(super) fn distance_symbol(distance: usize) -> u16 {
    let less = distance as u32 - 1;
    if less < 4 {
        return less as u16;
    }
    let bits = less.ilog2();
    (2 * bits + (less >> (bits - 1) & 1)) as u16
}

/// Literals, and the match behind them.
#[derive(Clone, Copy, Default)]
pub(super) struct Sequence {
    pub(super) literals: u16,
    /// 0: no match.
    pub(super) length: u16,
    pub(super) distance: u16,
    /// Of the distance.
    pub(super) symbol: u16,
}

/// The sequences of the block that is being made.
pub(super) struct Tokens {
    sequences: Box<[Sequence]>,
    /// One after the other. Vectors may be copied behind the last.
    literals: Box<[u8]>,
    counts: Part,
}

/// How many there are of the tokens, and where in the input they end.
#[derive(Clone, Copy, Default)]
pub(super) struct Part {
    pub(super) sequences: usize,
    pub(super) literals: usize,
    ends: usize,
}

/// Tokens while more are made.
pub(super) struct Open<'a> {
    sequences: &'a mut [Sequence],
    literals: &'a mut [u8],
    pub(super) counts: Part,
}

impl Open<'_> {
    /// A match at `at`; its literals are those since the last one.
    #[inline(always)]
    pub(super) fn push(&mut self, src: &[u8], at: usize, sequence: Sequence) {
        let Part { sequences, literals: to, ends } = self.counts;
        let run = at - ends;
        match (src[ends..].first_chunk::<16>(), self.literals[to..].first_chunk_mut()) {
            (Some(literals), Some(out)) if run <= 16 => *out = *literals,
            _ => self.literals[to..][..run].copy_from_slice(&src[ends..at]),
        }
        self.sequences[sequences] = Sequence { literals: run as u16, ..sequence };
        let ends = at + usize::from(sequence.length);
        self.counts = Part { sequences: sequences + 1, literals: to + run, ends };
    }
}

impl Tokens {
    #[inline(always)]
    pub(super) fn open(&mut self) -> Open<'_> {
        let (sequences, literals) = (&mut self.sequences[..], &mut self.literals[..]);
        Open { sequences, literals, counts: self.counts }
    }

    /// How many there are.
    pub(super) fn counts(&self) -> Part {
        self.counts
    }

    /// What [`open`](Tokens::open) gave has these now.
    #[inline(always)]
    pub(super) fn close(&mut self, counts: Part) {
        self.counts = counts;
    }

    /// What is between the last match and `at`, as literals without a match.
    fn push_literals(&mut self, src: &[u8], at: usize) {
        let mut open = self.open();
        open.push(src, at, Sequence { symbol: NO_DISTANCE, ..Sequence::default() });
        self.counts = open.counts;
    }

    /// Forgets the first of them.
    fn drop_first(&mut self, part: Part) {
        self.sequences.copy_within(part.sequences..self.counts.sequences, 0);
        self.literals.copy_within(part.literals..self.counts.literals, 0);
        self.counts.sequences -= part.sequences;
        self.counts.literals -= part.literals;
    }
}

/// How often each symbol occurs.
#[derive(Clone)]
pub(super) struct Counts {
    pub(super) litlens: [u32; 288],
    pub(super) distances: [u32; 32],
}

impl Counts {
    const NONE: Counts = Counts { litlens: [0; 288], distances: [0; 32] };

    fn of(sequences: &[Sequence], literals: &[u8]) -> Counts {
        // Two tables, so that equal literals next to each other do not wait for each other.
        let mut tables = [[0_u32; 256]; 2];
        let mut fours = literals.chunks_exact(4);
        for four in &mut fours {
            tables[0][usize::from(four[0])] += 1;
            tables[1][usize::from(four[1])] += 1;
            tables[0][usize::from(four[2])] += 1;
            tables[1][usize::from(four[3])] += 1;
        }
        for &literal in fours.remainder() {
            tables[0][usize::from(literal)] += 1;
        }
        let mut lengths = [0_u32; 512];
        let mut counts = Counts::NONE;
        for sequence in sequences {
            lengths[usize::from(sequence.length) % 512] += 1;
            counts.distances[usize::from(sequence.symbol) % 32] += 1;
        }
        counts.distances[usize::from(NO_DISTANCE)] = 0;
        for (count, (one, two)) in counts.litlens.iter_mut().zip(tables[0].iter().zip(&tables[1])) {
            *count = one + two;
        }
        for (&count, &symbol) in lengths[3..].iter().zip(&LENGTH_SYMBOLS[3..]) {
            counts.litlens[257 + usize::from(symbol)] += count;
        }
        counts
    }

    fn plus(&self, other: &Counts) -> Counts {
        let mut sum = self.clone();
        sum.litlens.iter_mut().zip(&other.litlens).for_each(|(sum, count)| *sum += count);
        sum.distances.iter_mut().zip(&other.distances).for_each(|(sum, count)| *sum += count);
        sum
    }

    /// The bits of all symbols, without headers and extra bits, by the entropy of each alphabet.
    fn cost(&self) -> f32 {
        entropy(&self.litlens) + entropy(&self.distances)
    }

    /// About the bits of a header.
    fn header(&self) -> f32 {
        let used = |counts: &[u32]| counts.iter().filter(|&&count| count != 0).count();
        100.0 + 3.0 * (used(&self.litlens) + used(&self.distances)) as f32
    }
}

/// `sum * log2(sum) - sum over all n of n * log2(n)`, in an order that does not depend on the CPU.
fn entropy(counts: &[u32]) -> f32 {
    const LANES: usize = 8;
    let (mut lanes, mut sums) = ([0.0_f32; LANES], [0; LANES]);
    for counts in counts.chunks_exact(LANES) {
        for lane in 0..LANES {
            lanes[lane] += times_log2(counts[lane]);
            sums[lane] += counts[lane];
        }
    }
    times_log2(sums.iter().sum()) - lanes.iter().sum::<f32>()
}

/// `n * log2(n)` to 0.001 `n`, 0 for 0: the exponent, and a cubic polynomial of the mantissa.
#[inline(always)]
fn times_log2(n: u32) -> f32 {
    let n = n as f32;
    let bits = n.to_bits();
    let exponent = (bits >> 23) as i32 as f32 - 127.0;
    let mantissa = f32::from_bits(bits & 0x7f_ffff | 0x3f80_0000);
    let [cubic, square, linear, constant] = LOG2;
    let log = ((cubic * mantissa + square) * mantissa + linear) * mantissa + constant;
    n * (exponent + log)
}

/// The block that is being made.
pub(super) struct Blocks {
    pub(super) tokens: Tokens,
    /// The tokens that `counts` has, and where in the input the first begins.
    counted: Part,
    begins: usize,
    counts: Counts,
    cost: f32,
}

impl Blocks {
    pub(super) fn new() -> Blocks {
        let tokens = Tokens {
            sequences: vec![Sequence::default(); SEQUENCES].into(),
            literals: vec![0; LITERALS].into(),
            counts: Part::default(),
        };
        let (counted, counts) = (Part::default(), Counts::NONE);
        Blocks { tokens, counted, begins: 0, counts, cost: 0.0 }
    }

    /// Nothing of what was before.
    pub(super) fn start(&mut self) {
        self.begins = 0;
        self.tokens.counts.ends = 0;
        self.empty();
    }

    fn empty(&mut self) {
        (self.tokens.counts.sequences, self.tokens.counts.literals) = (0, 0);
        self.counted = Part { ends: self.begins, ..Part::default() };
        self.counts = Counts::NONE;
        self.cost = 0.0;
    }

    /// A strip is parsed up to `at`: counts it, and writes the block before if it is to end there.
    /// `None` if that does not fit.
    pub(super) fn strip_ends(&mut self, src: &[u8], at: usize, out: &mut Writer) -> Option<()> {
        if at > self.tokens.counts.ends + PENDING {
            self.tokens.push_literals(src, at);
        }
        self.count(src, out)?;
        if self.tokens.counts.sequences > SEQUENCES - STRIP_SEQUENCES
            || self.tokens.counts.literals > LITERALS - STRIP_LITERALS
        {
            self.write(src, self.counted, false, out)?;
            self.begins = self.counted.ends;
            self.empty();
        }
        Some(())
    }

    /// The rest of the input as literals, and the last block.
    pub(super) fn finish(&mut self, src: &[u8], last: bool, out: &mut Writer) -> Option<()> {
        if src.len() > self.tokens.counts.ends {
            self.tokens.push_literals(src, src.len());
        }
        self.count(src, out)?;
        self.write(src, self.counted, last, out)
    }

    fn count(&mut self, src: &[u8], out: &mut Writer) -> Option<()> {
        let (tokens, before) = (&self.tokens, self.counted);
        let new = before.sequences..tokens.counts.sequences;
        if new.is_empty() {
            return Some(());
        }
        let literals = &tokens.literals[before.literals..tokens.counts.literals];
        let counts = Counts::of(&tokens.sequences[new], literals);
        let cost = counts.cost();
        let both = self.counts.plus(&counts);
        let joined = both.cost();
        if before.sequences > 0 && joined > self.cost + cost + counts.header() {
            self.write(src, before, false, out)?;
            self.tokens.drop_first(before);
            self.begins = before.ends;
            (self.counts, self.cost) = (counts, cost);
        } else {
            (self.counts, self.cost) = (both, joined);
        }
        self.counted = self.tokens.counts;
        Some(())
    }

    /// The block of this part of the tokens, all that `counts` has.
    fn write(&self, src: &[u8], part: Part, last: bool, out: &mut Writer) -> Option<()> {
        let sequences = &self.tokens.sequences[..part.sequences];
        out.block(
            &self.counts,
            sequences,
            &self.tokens.literals,
            &src[self.begins..part.ends],
            last,
        )
    }
}
