//! Finding the end of a compressed block without decoding it.
//!
//! Computes: from the code lengths of a block (RFC 1951 section 3.2.7) and the position of its
//! first symbol, the position behind its end-of-block code. Shapes: any bytes, any bit position.
//! Preconditions: none; what is no such block gives `None`. CPU features: none. Source: ours.
//! Covered by the tests of `last_block` and by `pieces`; bench `pieces`: with all that it is there
//! for, 4 to 7 % of libdeflate's time at its level 5.
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

/// Chains side by side: enough to hide the latency of one look-up; more gain nothing, nor do wider
/// tables, which take longer to make.
const CHAINS: usize = 4;
/// Pairs of look-ups of each chain before they are joined.
const STEPS: usize = 128;

// An entry: bits 0..=5, how far to skip; and the part of the table that reads on, as an offset into
// it. While the table is made, also bits 6..=9: how many of the bits seen decided that.
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
/// For all that the table does not decide.
const NO_CODE: u16 = (END | 15 << SEEN_SHIFT) as u16;

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
        for (starts, &count) in starts.iter_mut().zip(&self.counts).skip(1) {
            *starts = start;
            start += count;
            free = 2 * free - i32::from(count);
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
    fn read(&self, bits: u64) -> Option<(usize, usize)> {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for length in 1..=LONGEST {
            code |= (bits >> (length - 1) & 1) as u32;
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
        table[0] = NO_CODE;
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
        0..=255 => Some((0, SYMBOL)),
        257..=264 | 285 => Some((0, DISTANCE)),
        265..=284 => Some(((symbol - 261) / 4, DISTANCE)),
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

/// The bits at `at`, 57 of them at least; zeros behind the end.
#[inline(always)]
pub(super) fn peek(src: &[u8], at: usize) -> u64 {
    #[cold]
    fn tail(src: &[u8], byte: usize) -> u64 {
        let rest = src.get(byte..).unwrap_or_default();
        rest.iter().take(8).rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte))
    }
    let byte = at / 8;
    let word = match src.get(byte..byte + 8).and_then(|bytes| bytes.first_chunk()) {
        Some(bytes) => u64::from_le_bytes(*bytes),
        None => tail(src, byte),
    };
    word >> (at % 8)
}

/// A point of a block: 2^16 times the bit's position, plus the state. Ordered as positions are.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Point(u64);

impl Point {
    const STATE_BITS: u32 = 16;

    #[inline(always)]
    fn new(at: usize, state: u32) -> Point {
        Point((at as u64) << Self::STATE_BITS | u64::from(state))
    }

    #[inline(always)]
    fn at(self) -> usize {
        (self.0 >> Self::STATE_BITS) as usize
    }

    #[inline(always)]
    fn state(self) -> u32 {
        self.0 as u32 & STATE
    }

    /// There is no step from here.
    fn is_last(self) -> bool {
        self.state() & END != 0
    }

    #[inline(always)]
    fn next(self, skip: u32, state: u32) -> Point {
        let at = self.0 >> Self::STATE_BITS << Self::STATE_BITS;
        let after = at + (u64::from(skip) << Self::STATE_BITS);
        Point(after | u64::from(state))
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
        // Each symbol by itself.
        let mut single = [NO_CODE; 2 * SIZE];
        let (symbols, distances) = single.split_at_mut(SIZE);
        self.literals.fill(symbols, |symbol, length| match after_symbol(symbol) {
            Some((extra, state)) => entry(length + extra, length, state),
            None => NO_CODE,
        });
        self.distances.fill(distances, |symbol, length| match after_distance(symbol) {
            Some(extra) => entry(length + extra, length, SYMBOL),
            None => NO_CODE,
        });
        // And with the one behind it, where the bits seen decide that too. (A third hardly ever
        // fits; where it would, as in long runs, there is little to skip.)
        for (index, place) in self.table[..SIZE].iter_mut().enumerate() {
            let first = u32::from(single[index]);
            let skip = first & SKIP;
            let next = (index >> skip) | (first & DISTANCE) as usize;
            let next = u32::from(single[next & (2 * SIZE - 1)]);
            let joins = skip + (next >> SEEN_SHIFT & 15) <= WIDTH;
            let both = skip + (next & (SKIP | STATE));
            *place = if joins { both } else { first & (SKIP | STATE) } as u16;
        }
        // Few distances leave room for a symbol behind them.
        for (place, single) in self.table[SIZE..].iter_mut().zip(&single[SIZE..]) {
            *place = single & (SKIP | STATE) as u16;
        }
        Some(())
    }

    #[inline(always)]
    fn entry(&self, bits: u64, state: u32) -> u32 {
        let index = bits as usize & (SIZE - 1) | state as usize;
        u32::from(self.table[index & (4 * SIZE - 1)])
    }

    /// One step over whole symbols: [`END`] and [`INVALID`] stay where they are.
    #[inline(always)]
    fn step(&self, src: &[u8], point: Point) -> Point {
        let entry = self.entry(peek(src, point.at()), point.state());
        if entry & END != 0 {
            return self.step_by_codes(src, point);
        }
        point.next(entry & SKIP, entry & STATE)
    }

    /// Two steps with one look at the bits, which suffices: neither skips more than the bits seen
    /// and the extra bits of one distance, 11 + 13.
    #[inline(always)]
    fn two_steps(&self, src: &[u8], point: Point) -> Point {
        let bits = peek(src, point.at());
        let first = self.entry(bits, point.state());
        let second = self.entry(bits >> (first & SKIP), first & STATE);
        // Also where the first is so.
        if second & END != 0 {
            return self.two_careful_steps(src, point);
        }
        point.next((first & SKIP) + (second & SKIP), second & STATE)
    }

    #[cold]
    #[inline(never)]
    fn two_careful_steps(&self, src: &[u8], point: Point) -> Point {
        if point.is_last() { point } else { self.step(src, self.step(src, point)) }
    }

    /// The same for long codes, the end of the block, and what is no code.
    #[cold]
    #[inline(never)]
    fn step_by_codes(&self, src: &[u8], point: Point) -> Point {
        let bits = peek(src, point.at());
        let next = match point.state() {
            SYMBOL => self.literals.read(bits).and_then(|(symbol, length)| match symbol {
                END_OF_BLOCK => Some(point.next(0, END)),
                _ => after_symbol(symbol)
                    .map(|(extra, state)| point.next((length + extra) as u32, state)),
            }),
            DISTANCE => self.distances.read(bits).and_then(|(symbol, length)| {
                Some(point.next((length + after_distance(symbol)?) as u32, SYMBOL))
            }),
            _ => Some(point),
        };
        next.unwrap_or(point.next(0, INVALID))
    }
}

/// Skips the symbols of blocks. 22 KB, reusable.
pub(crate) struct Skipper {
    tables: Tables,
    /// Where the chains landed after each step.
    landings: Box<[[Point; STEPS]; CHAINS]>,
}

impl Skipper {
    pub(crate) fn new() -> Skipper {
        let mut table = Box::new([0; 4 * SIZE]);
        table[END as usize..][..SIZE].fill(END as u16);
        table[INVALID as usize..][..SIZE].fill(INVALID as u16);
        Skipper {
            tables: Tables { table, literals: Codes::NONE, distances: Codes::NONE },
            landings: Box::new([[Point(0); STEPS]; CHAINS]),
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
        let mut point = Point::new(start, SYMBOL);
        // How far a chain comes in one round: a first guess, then what the round before showed.
        let mut stride = STEPS * 16;
        while !point.is_last() && point.at() + CHAINS * stride < bits {
            (point, stride) = self.round(src, point, stride);
        }
        while !point.is_last() && point.at() <= bits {
            point = self.tables.step(src, point);
        }
        let end = point.at() + usize::from(*literals.get(END_OF_BLOCK)?);
        (point.state() == END && end <= bits).then_some(end)
    }

    /// All chains, [`STEPS`] steps each, `stride` bits apart: how far the true one came, and the
    /// stride for the next round.
    fn round(&mut self, src: &[u8], start: Point, stride: usize) -> (Point, usize) {
        let mut points: [Point; CHAINS] = std::array::from_fn(|chain| match chain {
            0 => start,
            _ => Point::new(start.at() + chain * stride, SYMBOL),
        });
        let Skipper { tables, landings } = self;
        for step in 0..STEPS {
            for chain in 0..CHAINS {
                points[chain] = tables.two_steps(src, points[chain]);
                landings[chain][step] = points[chain];
            }
        }
        // A little less than a chain came: the next one's start should lie before this one's end.
        let came = points[0].at() - start.at();
        (self.join(src), (came - came / 32).max(STEPS))
    }

    /// Follows the first chain into the second where they meet, and so on.
    fn join(&self, src: &[u8]) -> Point {
        let mut known = &self.landings[0];
        let mut point = known[STEPS - 1];
        for theirs in &self.landings[1..] {
            let (mut ours, mut next) = (known.partition_point(|&p| p < theirs[0]), 0);
            while next < STEPS && !point.is_last() {
                match known.get(ours).unwrap_or(&point).cmp(&theirs[next]) {
                    Ordering::Equal => {
                        known = theirs;
                        point = known[STEPS - 1];
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
