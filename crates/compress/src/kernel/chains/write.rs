//! Pass 4: codes, and bits.

use std::hint::select_unpredictable;

use lookaside_simd::Avx2;

use super::super::stored;
use super::super::symbols::{self, LENGTHS, OFFSETS, ORDER, repeat_bits, tell_run};
use super::blocks::{Counts, END_OF_BLOCK, LENGTH_SYMBOLS, Sequence};
use super::huffman::{self, Code};

/// Two literals and a length with its extra bits, or three literals, fit in 64 bits with the seven of before.
const LITLEN_LIMIT: usize = 14;
const DISTANCE_LIMIT: usize = 15;
const CODE_LENGTH_LIMIT: usize = 7;

/// Bits to a buffer, first bit lowest.
pub(super) struct Writer<'a> {
    sink: Sink<'a>,
    cpu: Option<Avx2>,
}

struct Sink<'a> {
    out: &'a mut [u8],
    /// The whole bytes that are written.
    at: usize,
    /// And the bits that are not: less than 8 after each `flush`.
    bits: u64,
    count: u32,
}

impl Sink<'_> {
    #[inline(always)]
    fn add(&mut self, value: u64, count: u32) {
        self.bits |= value << self.count;
        self.count += count;
    }

    /// Writes whole bytes. There is room for the last bit of the block.
    #[inline(always)]
    fn flush(&mut self) {
        let bytes = self.bits.to_le_bytes();
        match self.out[self.at..].first_chunk_mut::<8>() {
            Some(out) => *out = bytes,
            None => flush_last(&mut self.out[self.at..], &bytes),
        }
        self.at += self.count as usize / 8;
        self.bits >>= self.count & !7;
        self.count %= 8;
    }

    fn put(&mut self, value: u64, count: u32) {
        self.add(value, count);
        self.flush();
    }

    /// Is there room for this many bits more?
    fn has_room(&self, bits: u64) -> bool {
        (self.out.len() - self.at) as u64 >= (u64::from(self.count) + bits).div_ceil(8)
    }
}

/// What is left of the room. (No method: the sink would have to be in memory.)
#[cold]
fn flush_last(out: &mut [u8], bytes: &[u8]) {
    let len = out.len();
    out.copy_from_slice(&bytes[..len]);
}

impl<'a> Writer<'a> {
    pub(super) fn new(out: &'a mut [u8], cpu: Option<Avx2>) -> Writer<'a> {
        Writer { sink: Sink { out, at: 0, bits: 0, count: 0 }, cpu }
    }

    /// One block, the smallest of the three kinds. `literals` are those of `sequences`, and more
    /// bytes; `bytes` is what the block stands for. `None` if it does not fit.
    pub(super) fn block(
        &mut self,
        counts: &Counts,
        sequences: &[Sequence],
        literals: &[u8],
        bytes: &[u8],
        last: bool,
    ) -> Option<()> {
        let mut counts = counts.clone();
        counts.litlens[END_OF_BLOCK] = 1;
        let own = Lengths::of(&counts);
        let header = Header::of(&own);
        let extra = extra_bits(&counts);
        let own_bits = 3 + header.bits() + own.bits(&counts) + extra;
        let fixed_bits = 3 + FIXED.bits(&counts) + extra;
        let stored_bits = 8 * stored::size(bytes.len()) as u64;
        if stored_bits < own_bits.min(fixed_bits) {
            return self.stored(bytes, last);
        }
        if !self.sink.has_room(own_bits.min(fixed_bits)) {
            return None;
        }
        if fixed_bits <= own_bits {
            self.sink.put(u64::from(last) | 1 << 1, 3);
            self.body(&FIXED, sequences, literals);
        } else {
            self.sink.put(u64::from(last) | 2 << 1, 3);
            header.write(&mut self.sink);
            self.body(&own, sequences, literals);
        }
        Some(())
    }

    fn stored(&mut self, bytes: &[u8], last: bool) -> Option<()> {
        let sink = &mut self.sink;
        let blocks = bytes.len().div_ceil(stored::MAX_BLOCK);
        for (number, part) in (1..).zip(bytes.chunks(stored::MAX_BLOCK)) {
            if !sink.has_room(3) {
                return None;
            }
            sink.put(u64::from(last && number == blocks), 3);
            sink.at += usize::from(sink.count > 0);
            (sink.bits, sink.count) = (0, 0);
            let (head, out) = sink.out[sink.at..].split_first_chunk_mut::<4>()?;
            let len = part.len() as u16;
            head[..2].copy_from_slice(&len.to_le_bytes());
            head[2..].copy_from_slice(&(!len).to_le_bytes());
            out.get_mut(..part.len())?.copy_from_slice(part);
            sink.at += 4 + part.len();
        }
        Some(())
    }

    /// The last byte; before that, an empty stored block if more is to follow. The length of all,
    /// `None` if it does not fit.
    pub(super) fn finish(self, last: bool) -> Option<usize> {
        let mut sink = self.sink;
        if !last {
            if !sink.has_room(3) {
                return None;
            }
            sink.put(0, 3);
            sink.at += usize::from(sink.count > 0);
            sink.out[sink.at..].first_chunk_mut::<4>()?.copy_from_slice(&[0, 0, 0xff, 0xff]);
            return Some(sink.at + 4);
        }
        // Its bits are written already, if there is a byte for them; `block` made sure of that.
        Some(sink.at + usize::from(sink.count > 0))
    }

    fn body(&mut self, lengths: &Lengths, sequences: &[Sequence], literals: &[u8]) {
        let tables = Tables::of(lengths);
        #[cfg(target_arch = "x86_64")]
        if self.cpu.is_some() {
            // SAFETY: the token proves the features.
            unsafe { body_avx2(&mut self.sink, &tables, sequences, literals) };
            return;
        }
        let _ = self.cpu;
        body(&mut self.sink, &tables, sequences, literals);
    }
}

/// The tokens, and the end of the block.
#[inline(always)]
fn body(sink: &mut Sink, tables: &Tables, sequences: &[Sequence], literals: &[u8]) {
    // Copied, so that its fields are in registers.
    let mut to = Sink { out: &mut *sink.out, ..*sink };
    let mut rest = literals;
    for sequence in sequences {
        let run = usize::from(sequence.literals);
        let mut done = 0;
        while run - done > 2 {
            let three = rest[done..].first_chunk::<3>().expect("as many as there are");
            three.iter().for_each(|&literal| to.code(tables.literals[usize::from(literal)]));
            to.flush();
            done += 3;
        }
        // The last two or fewer without a branch: behind the literals there are more bytes.
        let two = rest[done..].first_chunk::<2>().expect("as many as there are, and room");
        for (place, &literal) in two.iter().enumerate() {
            let literal = usize::from(literal);
            let index = select_unpredictable(done + place < run, literal, NO_LITERAL);
            to.code(tables.literals[index]);
        }
        rest = &rest[run..];
        // Length and distance have no bits where there is no match.
        to.code(tables.lengths[usize::from(sequence.length) % 512]);
        to.flush();
        let code = &tables.distances[usize::from(sequence.symbol) % 32];
        let extra = u64::from(sequence.distance.wrapping_sub(code.base));
        to.add(u64::from(code.code) | extra << (code.bits % 32), code.all_bits.into());
        to.flush();
    }
    to.code(tables.end);
    to.flush();
    (sink.at, sink.bits, sink.count) = (to.at, to.bits, to.count);
}

/// The same instructions, but those of one CPU more than another that shift.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn body_avx2(sink: &mut Sink, tables: &Tables, sequences: &[Sequence], literals: &[u8]) {
    body(sink, tables, sequences, literals);
}

impl Sink<'_> {
    #[inline(always)]
    fn code(&mut self, code: Code) {
        self.add(u64::from(code & 0xff_ffff), code >> 24);
    }
}

/// The entry of a literal that is none.
const NO_LITERAL: usize = 256;

/// Codes as the body needs them.
struct Tables {
    literals: [Code; 257],
    /// By length, with its extra bits. None of 0.
    lengths: [Code; 512],
    distances: [Distance; 32],
    end: Code,
}

#[derive(Clone, Copy, Default)]
struct Distance {
    code: u16,
    /// The least distance of this symbol.
    base: u16,
    bits: u8,
    /// With the extra bits.
    all_bits: u8,
}

impl Tables {
    fn of(lengths: &Lengths) -> Tables {
        let mut litlens = [0; 288];
        huffman::codes(&lengths.litlens, &mut litlens);
        let mut distances = [0; 32];
        huffman::codes(&lengths.distances, &mut distances);
        let mut tables = Tables {
            literals: [0; 257],
            lengths: [0; 512],
            distances: [Distance::default(); 32],
            end: litlens[END_OF_BLOCK],
        };
        tables.literals[..256].copy_from_slice(&litlens[..256]);
        for (length, &symbol) in LENGTH_SYMBOLS.iter().enumerate().skip(3) {
            let code = litlens[257 + usize::from(symbol)];
            let (base, extra) = LENGTHS[usize::from(symbol)];
            let value = (length as u32 - u32::from(base)) << (code >> 24);
            tables.lengths[length] = (code | value) + (u32::from(extra) << 24);
        }
        for ((entry, &code), (base, extra)) in
            tables.distances.iter_mut().zip(&distances).zip(OFFSETS)
        {
            let bits = (code >> 24) as u8;
            *entry = Distance { code: code as u16, base, bits, all_bits: bits + extra };
        }
        tables
    }
}

/// The bits of lengths and distances beside their codes.
fn extra_bits(counts: &Counts) -> u64 {
    let lengths = counts.litlens[257..].iter().zip(LENGTHS.map(|(_, extra)| extra));
    let distances = counts.distances.iter().zip(OFFSETS.map(|(_, extra)| extra));
    lengths.chain(distances).map(|(&count, extra)| u64::from(count) * u64::from(extra)).sum()
}

/// The lengths of a block's codes.
struct Lengths {
    litlens: [u8; 288],
    distances: [u8; 32],
}

const FIXED: Lengths = Lengths { litlens: symbols::FIXED.0, distances: symbols::FIXED.1 };

impl Lengths {
    fn of(counts: &Counts) -> Lengths {
        let mut lengths = Lengths { litlens: [0; 288], distances: [0; 32] };
        huffman::lengths(&counts.litlens, LITLEN_LIMIT, &mut lengths.litlens);
        huffman::lengths(&counts.distances, DISTANCE_LIMIT, &mut lengths.distances);
        lengths
    }

    /// The bits of all symbols, without extra bits.
    fn bits(&self, counts: &Counts) -> u64 {
        let litlens = counts.litlens.iter().zip(&self.litlens);
        let distances = counts.distances.iter().zip(&self.distances);
        litlens.chain(distances).map(|(&count, &bits)| u64::from(count) * u64::from(bits)).sum()
    }
}

/// The description of a block's own codes: RFC 1951 section 3.2.7.
struct Header {
    litlens: usize,
    distances: usize,
    code_lengths: usize,
    /// A code length or a repetition, and the value of its extra bits.
    items: [(u8, u8); 320],
    count: usize,
    lengths: [u8; 19],
    counts: [u32; 19],
}

impl Header {
    fn of(lengths: &Lengths) -> Header {
        let used = |lengths: &[u8], least: usize| {
            lengths.iter().rposition(|&length| length != 0).map_or(0, |at| at + 1).max(least)
        };
        let litlens = used(&lengths.litlens, 257);
        let distances = used(&lengths.distances, 1);
        let mut all = [0; 320];
        all[..litlens].copy_from_slice(&lengths.litlens[..litlens]);
        all[litlens..][..distances].copy_from_slice(&lengths.distances[..distances]);
        let mut header = Header {
            litlens,
            distances,
            code_lengths: 4,
            items: [(0, 0); 320],
            count: 0,
            lengths: [0; 19],
            counts: [0; 19],
        };
        for run in all[..litlens + distances].chunk_by(|one, two| one == two) {
            header.run(run[0], run.len());
        }
        huffman::lengths(&header.counts, CODE_LENGTH_LIMIT, &mut header.lengths);
        let used = |&symbol: &usize| header.lengths[symbol] != 0;
        header.code_lengths = ORDER.iter().rposition(used).map_or(4, |at| (at + 1).max(4));
        header
    }

    /// The same length for `run` symbols in a row.
    fn run(&mut self, length: u8, run: usize) {
        tell_run(length, run, |symbol, extra| {
            self.items[self.count] = (symbol, extra as u8);
            self.count += 1;
            self.counts[usize::from(symbol)] += 1;
        });
    }

    fn bits(&self) -> u64 {
        let symbols = (0..).zip(self.counts.iter().zip(&self.lengths));
        let bits = symbols.map(|(symbol, (&count, &bits))| {
            u64::from(count) * (u64::from(bits) + u64::from(repeat_bits(symbol)))
        });
        14 + 3 * self.code_lengths as u64 + bits.sum::<u64>()
    }

    fn write(&self, sink: &mut Sink) {
        let counts = [self.litlens - 257, self.distances - 1, self.code_lengths - 4];
        sink.put((counts[0] | counts[1] << 5 | counts[2] << 10) as u64, 14);
        for &symbol in &ORDER[..self.code_lengths] {
            sink.put(self.lengths[symbol].into(), 3);
        }
        let mut codes = [0; 19];
        huffman::codes(&self.lengths, &mut codes);
        for &(symbol, extra) in &self.items[..self.count] {
            sink.code(codes[usize::from(symbol)]);
            sink.put(extra.into(), repeat_bits(symbol));
        }
    }
}
