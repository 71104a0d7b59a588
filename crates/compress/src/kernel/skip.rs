//! Finding the end of a compressed block without decoding it.
//!
//! Computes: from the code lengths of a block (RFC 1951 section 3.2.7) and the position of its
//! first symbol, the position behind its end-of-block code. Shapes: any bytes, any bit position.
//! Preconditions: none; what is no such block gives `None`. CPU features: none. Source: ours.
//! Covered by the tests of `last_block` and by `pieces`; bench `pieces`.
//!
//! Only lengths count here: a table maps the next [`WIDTH`] bits to the number of bits that the
//! whole symbols among them take, extra bits included. One look-up after another would be a
//! chain of dependent loads, about 15 cycles each. So [`CHAINS`] of them run side by side, the
//! first from the true position, the others from guesses further on. Huffman codes synchronize
//! themselves: a chain that began inside a symbol soon lands where symbols begin. Once a chain
//! comes to a landing of the next one, both are one chain from there on, and the guess is a fact.

use std::cmp::Ordering;

/// Bits that one look-up sees.
const WIDTH: u32 = 11;
const SIZE: usize = 1 << WIDTH;
const MASK: u32 = SIZE as u32 - 1;

/// Chains side by side: enough to hide the latency of one look-up.
const CHAINS: usize = 4;
/// Look-ups of each chain before they are joined.
const STEPS: usize = 256;

// An entry: bits 0..=5, how far to skip; bits 6..=9, how many of the bits seen decided that; and
// the part of the table that reads on, as an offset into it. Zero: see the codes themselves.
const SKIP: u32 = 63;
const SEEN_SHIFT: u32 = 6;
/// A literal, a length or the end comes next.
const SYMBOL: u32 = 0;
/// A distance comes next.
const DISTANCE: u32 = 1 << WIDTH;
/// The end-of-block code comes next.
const END: u32 = 2 << WIDTH;
/// No code of the block comes next.
const INVALID: u32 = 3 << WIDTH;
const STATE: u32 = INVALID;

pub(super) const END_OF_BLOCK: usize = 256;
const LONGEST: usize = 15;

/// A set of codes, by length: what RFC 1951 section 3.2.2 derives the codes from.
struct Codes {
    counts: [u16; LONGEST + 1],
    /// Symbols in the order of their codes.
    symbols: [u16; 288],
}

impl Codes {
    const NONE: Codes = Codes { counts: [0; LONGEST + 1], symbols: [0; 288] };

    /// `None` if there are more codes than bits can tell apart. Fewer are allowed.
    fn set(&mut self, lengths: &[u8]) -> Option<()> {
        self.counts = [0; LONGEST + 1];
        for &length in lengths {
            self.counts[usize::from(length)] += 1;
        }
        self.counts[0] = 0;
        let (mut starts, mut start, mut free) = ([0; LONGEST + 1], 0, 1_i32);
        for length in 1..=LONGEST {
            starts[length] = start;
            start += self.counts[length];
            free = 2 * free - i32::from(self.counts[length]);
            if free < 0 {
                return None;
            }
        }
        for (symbol, &length) in lengths.iter().enumerate() {
            if length != 0 {
                let at = &mut starts[usize::from(length)];
                *self.symbols.get_mut(usize::from(*at))? = symbol as u16;
                *at += 1;
            }
        }
        Some(())
    }

    /// The symbol that `bits` begin with, and the length of its code.
    fn read(&self, bits: u32) -> Option<(usize, usize)> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for length in 1..=LONGEST {
            code |= bits >> (length - 1) & 1;
            let count = u32::from(self.counts[length]);
            if code < first + count {
                return Some((self.symbols[(index + code - first) as usize].into(), length));
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        None
    }

    /// One entry for each code of up to [`WIDTH`] bits: by doubling, since a code of n bits is
    /// at every index that ends in those n bits.
    fn fill(&self, table: &mut [u16], entry: impl Fn(usize, usize) -> u16) {
        table[0] = 0;
        let (mut code, mut index) = (0_u32, 0);
        for length in 1..=WIDTH as usize {
            let half = 1 << (length - 1);
            table.copy_within(..half, half);
            for _ in 0..self.counts[length] {
                let reversed = code.reverse_bits() >> (32 - length);
                table[reversed as usize] = entry(self.symbols[index].into(), length);
                code += 1;
                index += 1;
            }
            code <<= 1;
        }
    }
}

/// What follows a literal/length code: extra bits, and the state after them.
fn after_symbol(symbol: usize) -> Option<(usize, u32)> {
    match symbol {
        0..256 => Some((0, SYMBOL)),
        257..265 | 285 => Some((0, DISTANCE)),
        265..285 => Some(((symbol - 261) / 4, DISTANCE)),
        _ => None,
    }
}

/// How many extra bits follow a distance code.
fn after_distance(symbol: usize) -> Option<usize> {
    (symbol < 30).then(|| (symbol / 2).saturating_sub(1))
}

fn entry(skip: usize, seen: usize, state: u32) -> u16 {
    (skip as u32 | (seen as u32) << SEEN_SHIFT | state) as u16
}

fn seen(entry: u32) -> u32 {
    entry >> SEEN_SHIFT & 15
}

/// The bits at `at`, 25 of them at least; zeros behind the end.
#[inline(always)]
pub(super) fn peek(src: &[u8], at: usize) -> u32 {
    #[cold]
    fn tail(src: &[u8], byte: usize) -> u32 {
        let rest = src.get(byte..).unwrap_or_default();
        rest.iter().take(4).rev().fold(0, |bits, &byte| bits << 8 | u32::from(byte))
    }
    let word = match src.get(at / 8..).and_then(|rest| rest.first_chunk()) {
        Some(bytes) => u32::from_le_bytes(*bytes),
        None => tail(src, at / 8),
    };
    word >> (at % 8)
}

/// A point of a block.
#[derive(Clone, Copy)]
struct Point {
    at: usize,
    state: u32,
}

impl Point {
    /// There is no step from here.
    fn is_last(self) -> bool {
        self.state & END != 0
    }

    /// Ordered as positions are.
    fn landing(self, base: usize) -> u32 {
        ((self.at - base) as u32) << 2 | self.state >> WIDTH
    }

    fn of(landing: u32, base: usize) -> Point {
        Point { at: base + (landing >> 2) as usize, state: (landing & 3) << WIDTH }
    }
}

/// The codes of one block, as tables.
struct Tables {
    table: Box<[u16; 4 * SIZE]>,
    literals: Codes,
    distances: Codes,
}

impl Tables {
    fn set(&mut self, literals: &[u8], distances: &[u8]) -> Option<()> {
        self.literals.set(literals)?;
        self.distances.set(distances)?;
        // Each symbol by itself. Distances are left so: few leave room for another symbol.
        let mut single = [0_u16; SIZE];
        self.literals.fill(&mut single, |symbol, length| match after_symbol(symbol) {
            Some((extra, state)) => entry(length + extra, length, state),
            None => 0,
        });
        let (table, rest) = self.table.split_at_mut(SIZE);
        let distances = &mut rest[..SIZE];
        self.distances.fill(distances, |symbol, length| match after_distance(symbol) {
            Some(extra) => entry(length + extra, length, SYMBOL),
            None => 0,
        });
        // And with what follows, as far as the bits seen decide it.
        for index in 0..SIZE {
            let first = u32::from(single[index]);
            let skip = first & SKIP;
            let left = WIDTH.saturating_sub(skip);
            let after = index >> skip.min(WIDTH);
            let next = match first & DISTANCE {
                0 => {
                    let many = u32::from(table[after]);
                    if seen(many) <= left { many } else { u32::from(single[after]) }
                }
                _ => u32::from(distances[after]),
            };
            let joins = next != 0 && skip != 0 && seen(next) <= left;
            let both = (skip + (next & SKIP)) | (skip + seen(next)) << SEEN_SHIFT | next & STATE;
            table[index] = if joins { both } else { first } as u16;
        }
        Some(())
    }

    /// One step over whole symbols: [`END`] and [`INVALID`] stay where they are.
    #[inline(always)]
    fn step(&self, src: &[u8], point: Point) -> Point {
        let index = (peek(src, point.at) & MASK | point.state) as usize;
        let entry = u32::from(self.table[index & (4 * SIZE - 1)]);
        if entry == 0 {
            return self.step_by_codes(src, point);
        }
        Point { at: point.at + (entry & SKIP) as usize, state: entry & STATE }
    }

    /// The same for long codes, the end of the block, and what is no code.
    #[cold]
    fn step_by_codes(&self, src: &[u8], Point { at, state }: Point) -> Point {
        let bits = peek(src, at);
        let next = match state {
            DISTANCE => self.distances.read(bits).and_then(|(symbol, length)| {
                Some(Point { at: at + length + after_distance(symbol)?, state: SYMBOL })
            }),
            _ => self.literals.read(bits).and_then(|(symbol, length)| match symbol {
                END_OF_BLOCK => Some(Point { at, state: END }),
                _ => after_symbol(symbol)
                    .map(|(extra, state)| Point { at: at + length + extra, state }),
            }),
        };
        next.unwrap_or(Point { at, state: INVALID })
    }
}

/// Skips the symbols of blocks. 30 KB, reusable.
pub(crate) struct Skipper {
    tables: Tables,
    /// Where the chains landed after each step.
    landings: Box<[[u32; STEPS]; CHAINS]>,
}

impl Skipper {
    pub(crate) fn new() -> Skipper {
        let mut table = Box::new([0; 4 * SIZE]);
        table[END as usize..][..SIZE].fill(END as u16);
        table[INVALID as usize..][..SIZE].fill(INVALID as u16);
        Skipper {
            tables: Tables { table, literals: Codes::NONE, distances: Codes::NONE },
            landings: Box::new([[0; STEPS]; CHAINS]),
        }
    }

    /// Where the block with these code lengths ends whose first symbol is at bit `start` of `src`.
    pub(crate) fn end(
        &mut self,
        literals: &[u8],
        distances: &[u8],
        src: &[u8],
        start: usize,
    ) -> Option<usize> {
        self.tables.set(literals, distances)?;
        let bits = 8 * src.len();
        let mut point = Point { at: start, state: SYMBOL };
        // How far a chain comes in one round: a first guess, then what the round before showed.
        let mut stride = STEPS * 8;
        while !point.is_last() && point.at + CHAINS * stride < bits {
            (point, stride) = self.round(src, point, stride);
        }
        while !point.is_last() && point.at <= bits {
            point = self.tables.step(src, point);
        }
        let end = point.at + usize::from(*literals.get(END_OF_BLOCK)?);
        (point.state == END && end <= bits).then_some(end)
    }

    /// All chains, [`STEPS`] steps each, `stride` bits apart: how far the true one came, and the
    /// stride for the next round.
    fn round(&mut self, src: &[u8], start: Point, stride: usize) -> (Point, usize) {
        let base = start.at;
        let mut points: [Point; CHAINS] = std::array::from_fn(|chain| match chain {
            0 => start,
            _ => Point { at: base + chain * stride, state: SYMBOL },
        });
        for step in 0..STEPS {
            for chain in 0..CHAINS {
                points[chain] = self.tables.step(src, points[chain]);
                self.landings[chain][step] = points[chain].landing(base);
            }
        }
        // A little less than a chain came: the next one's start should lie before this one's end.
        let came = points[0].at - base;
        (self.join(src, base), (came - came / 32).max(STEPS))
    }

    /// Follows the first chain into the second where they meet, and so on.
    fn join(&self, src: &[u8], base: usize) -> Point {
        let mut known = &self.landings[0];
        let mut point = Point::of(known[STEPS - 1], base);
        for theirs in &self.landings[1..] {
            let (mut ours, mut next) = (known.partition_point(|&l| l < theirs[0]), 0);
            while next < STEPS && !point.is_last() {
                let landing = *known.get(ours).unwrap_or(&point.landing(base));
                match landing.cmp(&theirs[next]) {
                    Ordering::Equal => {
                        known = theirs;
                        point = Point::of(known[STEPS - 1], base);
                        break;
                    }
                    Ordering::Greater => next += 1,
                    Ordering::Less if ours < STEPS => ours += 1,
                    Ordering::Less => point = self.tables.step(src, point),
                }
            }
        }
        point
    }
}
