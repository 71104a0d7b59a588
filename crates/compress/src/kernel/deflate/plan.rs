//! What a block is to be: stored, with the fixed codes or with codes of its own; and its header.

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::super::stored;
use super::super::symbols::{LENGTHS, ORDER, repeat_bits, tell_run};
use super::huffman::{self, LANES};
use super::parse::{DISTANCES, Tokens};

/// Vectors of literal, end-of-block and length symbols: 286, and two of the fixed code.
pub(super) const LITLENS: usize = 9;
const END_OF_BLOCK: usize = 256;
/// The longest code of ours: with its length, it has 16 bits.
const LIMIT: u32 = 12;
const LENGTHS_LIMIT: u32 = 7;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Stored,
    Fixed,
    Dynamic,
}

/// An item of a header: a code length or a repetition, and in the upper byte how often.
type Item = u16;

/// The lengths of all codes of a block, with one more before them and the end of a vector behind.
type AllLengths = [u8; 1 + LITLENS * LANES + LANES + 64];

pub(super) struct Plan {
    pub(super) kind: Kind,
    /// All of the block's bits, and those that were there before. Of stored blocks: not told.
    pub(super) bits: usize,
    /// The codes, with their lengths.
    pub(super) litlen: [[u16; LANES]; LITLENS],
    pub(super) distance: [[u16; LANES]; 1],
    header: Header,
}

/// The description of a block's own codes.
struct Header {
    litlens: usize,
    distances: usize,
    code_lengths: usize,
    lengths: [[u16; LANES]; 1],
    codes: [[u16; LANES]; 1],
    items: [Item; 324],
    count: usize,
    /// How often each symbol of an item.
    counts: [[u32; LANES]; 1],
}

/// Symbols counted from what is counted of tokens.
fn litlen_counts(counts: &[u32; 512]) -> [[u32; LANES]; LITLENS] {
    let mut symbols = [[0; LANES]; LITLENS];
    let flat = symbols.as_flattened_mut();
    flat[..256].copy_from_slice(&counts[..256]);
    flat[END_OF_BLOCK] = 1;
    let lengths = &counts[256..];
    flat[257..265].copy_from_slice(&lengths[..8]);
    for symbol in 0..4 {
        // Four symbols for each number of extra bits, 1 to 5.
        flat[265 + symbol] = lengths[8 + 2 * symbol..][..2].iter().sum();
        flat[269 + symbol] = lengths[16 + 4 * symbol..][..4].iter().sum();
        flat[273 + symbol] = lengths[32 + 8 * symbol..][..8].iter().sum();
        flat[277 + symbol] = lengths[64 + 16 * symbol..][..16].iter().sum();
        flat[281 + symbol] = lengths[128 + 32 * symbol..][..32].iter().sum();
    }
    // 258 has a symbol of its own.
    flat[284] -= lengths[255];
    flat[285] = lengths[255];
    symbols
}

fn fixed_lengths() -> ([[u16; LANES]; LITLENS], [[u16; LANES]; 1]) {
    let mut lengths = [[8; LANES]; LITLENS];
    lengths.as_flattened_mut()[144..256].fill(9);
    lengths.as_flattened_mut()[256..280].fill(7);
    (lengths, [[5; LANES]])
}

/// The bits that all symbols take, without their extra bits.
fn cost<const N: usize>(counts: &[[u32; LANES]; N], lengths: &[[u16; LANES]; N]) -> usize {
    let pairs = counts.as_flattened().iter().zip(lengths.as_flattened());
    pairs.map(|(&count, &length)| count * u32::from(length)).sum::<u32>() as usize
}

impl Plan {
    /// The smallest of the three. `before`: the bits that are written already.
    pub(super) fn of(cpu: Avx512, tokens: &Tokens, before: usize) -> Plan {
        let _ = cpu;
        // SAFETY: the token proves the features.
        unsafe { Plan::make(tokens, before) }
    }

    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,gfni,bmi1,bmi2,lzcnt,popcnt"
    )]
    fn make(tokens: &Tokens, before: usize) -> Plan {
        let counts = litlen_counts(tokens.counts);
        let distances: [[u32; DISTANCES]; 1] = [*tokens.distances];
        let length_extra: u32 = counts.as_flattened()[257..286]
            .iter()
            .zip(LENGTHS)
            .map(|(&count, (_, extra))| count * u32::from(extra))
            .sum();
        let distance_extra: u32 =
            (4..30).map(|symbol| distances[0][symbol] * (symbol as u32 / 2 - 1)).sum();
        let extra = (length_extra + distance_extra) as usize;
        let mut litlen_lengths = [[0; LANES]; LITLENS];
        let mut distance_lengths = [[0; LANES]; 1];
        huffman::lengths::<LITLENS, LIMIT>(&counts, &mut litlen_lengths);
        huffman::lengths::<1, LIMIT>(&distances, &mut distance_lengths);
        let header = Header::of(&litlen_lengths, &distance_lengths);
        let (fixed_litlen, fixed_distance) = fixed_lengths();

        let dynamic = 3
            + header.bits()
            + cost(&counts, &litlen_lengths)
            + cost(&distances, &distance_lengths)
            + extra;
        let fixed = 3 + cost(&counts, &fixed_litlen) + cost(&distances, &fixed_distance) + extra;
        let stored = 8 * (stored::size(tokens.len) + before.div_ceil(8)) - before;
        let (kind, bits) = if stored <= fixed.min(dynamic) {
            (Kind::Stored, 0)
        } else if fixed <= dynamic {
            litlen_lengths = fixed_litlen;
            distance_lengths = fixed_distance;
            (Kind::Fixed, fixed)
        } else {
            (Kind::Dynamic, dynamic)
        };
        let mut plan = Plan {
            kind,
            bits: before + bits,
            litlen: [[0; LANES]; LITLENS],
            distance: [[0; LANES]; 1],
            header,
        };
        if kind != Kind::Stored {
            huffman::codes(&litlen_lengths, &mut plan.litlen);
            huffman::codes(&distance_lengths, &mut plan.distance);
        }
        plan
    }

    /// The code, with its length, that ends the block.
    pub(super) fn end_of_block(&self) -> u16 {
        self.litlen.as_flattened()[END_OF_BLOCK]
    }

    /// What comes before the tokens: values and their bits, in order.
    pub(super) fn header(&self, last: bool, mut put: impl FnMut(u64, u32)) {
        let kind = match self.kind {
            Kind::Stored => 0,
            Kind::Fixed => 1,
            Kind::Dynamic => 2,
        };
        put(u64::from(last) | kind << 1, 3);
        if self.kind == Kind::Dynamic {
            self.header.write(put);
        }
    }
}

impl Header {
    #[target_feature(
        enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,gfni,bmi1,bmi2,lzcnt,popcnt"
    )]
    fn of(litlen: &[[u16; LANES]; LITLENS], distance: &[[u16; LANES]; 1]) -> Header {
        let mut all: AllLengths = [0; _];
        let mut litlens = 257;
        for (at, part) in litlen.iter().enumerate() {
            litlens = litlens.max(put_lengths(part, &mut all, LANES * at));
        }
        // The two symbols more that the fixed code has are not in use.
        let distances = put_lengths(&distance[0], &mut all, litlens).saturating_sub(litlens).max(1);
        // Where a run begins, another length is before it: but for the first.
        all[0] = all[1];
        let mut header = Header {
            litlens,
            distances,
            code_lengths: 0,
            lengths: [[0; LANES]; 1],
            codes: [[0; LANES]; 1],
            items: [0; _],
            count: 0,
            counts: [[0; LANES]; 1],
        };
        header.runs(&all);
        huffman::lengths::<1, LENGTHS_LIMIT>(&header.counts, &mut header.lengths);
        huffman::codes(&header.lengths, &mut header.codes);
        let last = ORDER.iter().rposition(|&symbol| header.lengths[0][symbol] != 0);
        header.code_lengths = last.map_or(4, |last| (last + 1).max(4));
        header
    }

    /// Items for all lengths, run by run.
    #[target_feature(enable = "avx512f,avx512bw,bmi1")]
    fn runs(&mut self, all: &AllLengths) {
        let len = self.litlens + self.distances;
        let mut begun = 0;
        for from in (0..len).step_by(64) {
            // SAFETY: the array has a vector more than there are lengths.
            let mut starts = unsafe {
                let before = _mm512_loadu_si512(all.as_ptr().add(from).cast());
                let here = _mm512_loadu_si512(all.as_ptr().add(from + 1).cast());
                _mm512_cmpneq_epi8_mask(before, here)
            };
            while starts != 0 {
                let at = from + starts.trailing_zeros() as usize;
                starts &= starts - 1;
                if at >= len {
                    break;
                }
                self.run(all[1 + begun], at - begun);
                begun = at;
            }
        }
        self.run(all[1 + begun], len - begun);
    }

    /// So many equal lengths.
    #[inline(always)]
    fn run(&mut self, length: u8, run: usize) {
        if run < 3 {
            // Nearly all are: no branch for how many.
            self.items[self.count..][..2].fill(length.into());
            self.count += run;
            self.counts[0][usize::from(length)] += run as u32;
        } else {
            self.long_run(length, run);
        }
    }

    /// The same of any number.
    fn long_run(&mut self, length: u8, run: usize) {
        tell_run(length, run, |symbol, extra| {
            self.items[self.count] = Item::from(symbol) | (extra as Item) << 8;
            self.count += 1;
            self.counts[0][usize::from(symbol)] += 1;
        });
    }

    fn bits(&self) -> usize {
        let items = (0..).zip(self.counts[0].iter().zip(&self.lengths[0]));
        let bits = items
            .map(|(symbol, (&count, &length))| count * (u32::from(length) + repeat_bits(symbol)));
        14 + 3 * self.code_lengths + bits.sum::<u32>() as usize
    }

    fn write(&self, mut put: impl FnMut(u64, u32)) {
        put(
            ((self.litlens - 257) | ((self.distances - 1) << 5) | ((self.code_lengths - 4) << 10))
                as u64,
            14,
        );
        for symbols in ORDER[..self.code_lengths].chunks(16) {
            let lengths = symbols.iter().map(|&symbol| (self.lengths[0][symbol].into(), 3));
            let (value, bits) = lengths.fold((0, 0), append);
            put(value, bits);
        }
        // 14 bits each, at most.
        for items in self.items[..self.count].chunks(4) {
            let values = items.iter().map(|&item| {
                let [symbol, extra] = item.to_le_bytes();
                let code = self.codes[0][usize::from(symbol) % LANES];
                let length = u32::from(code >> 12);
                let value = u64::from(code & 0xfff) | u64::from(extra) << length;
                (value, length + repeat_bits(symbol))
            });
            let (value, bits) = values.fold((0, 0), append);
            put(value, bits);
        }
    }
}

/// A value behind others, each with its bits.
#[inline(always)]
fn append((all, bits): (u64, u32), (value, more): (u64, u32)) -> (u64, u32) {
    (all | value << bits, bits + more)
}

/// Puts the lengths of a vector into a list, `at` its start. Returns where the last one that is not 0
/// ends, or 0.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,lzcnt")]
fn put_lengths(lengths: &[u16; LANES], all: &mut AllLengths, at: usize) -> usize {
    assert!(at <= LITLENS * LANES);
    // SAFETY: a whole vector, and room for its lanes behind the first byte.
    let used = unsafe {
        let lengths = _mm512_loadu_si512(lengths.as_ptr().cast());
        _mm256_storeu_si256(all.as_mut_ptr().add(1 + at).cast(), _mm512_cvtepi16_epi8(lengths));
        _mm512_test_epi16_mask(lengths, lengths)
    };
    if used == 0 { 0 } else { at + LANES - used.leading_zeros() as usize }
}
