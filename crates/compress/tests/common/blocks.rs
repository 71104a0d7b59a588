//! A plain DEFLATE decoder that tells what the blocks are made of (RFC 1951, bit by bit).

/// What a raw stream consists of.
#[derive(Debug, Default)]
pub struct Blocks {
    pub stored: usize,
    /// Stored blocks of no bytes: what a flush leaves.
    pub markers: usize,
    pub fixed: usize,
    pub dynamic: usize,
    pub max_distance: usize,
    /// Literals and matches.
    pub tokens: usize,
    pub output: Vec<u8>,
    pub consumed: usize,
}

struct Bits<'a> {
    src: &'a [u8],
    at: usize,
}

impl Bits<'_> {
    fn take(&mut self, count: usize) -> usize {
        let mut value = 0;
        for bit in 0..count {
            let byte = self.src[self.at / 8];
            value |= usize::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        value
    }
}

/// Canonical codes: how many of each length, and the symbols in order.
struct Code {
    counts: [usize; 16],
    symbols: Vec<usize>,
}

impl Code {
    fn new(lengths: &[usize]) -> Code {
        let mut counts = [0; 16];
        lengths.iter().for_each(|&length| counts[length] += 1);
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|&s| lengths[s] != 0).collect();
        symbols.sort_by_key(|&symbol| lengths[symbol]);
        counts[0] = 0;
        Code { counts, symbols }
    }

    fn read(&self, bits: &mut Bits) -> usize {
        let (mut code, mut first, mut index) = (0, 0, 0);
        for length in 1..16 {
            code |= bits.take(1);
            let count = self.counts[length];
            if code < first + count {
                return self.symbols[index + code - first];
            }
            index += count;
            first = (first + count) << 1;
            code <<= 1;
        }
        panic!("no such code");
    }
}

/// Decodes valid data; `history` is what a preset dictionary left. Panics on anything else.
pub fn parse(src: &[u8], history: &[u8]) -> Blocks {
    let mut bits = Bits { src, at: 0 };
    let mut blocks = Blocks { output: history.to_vec(), ..Blocks::default() };
    loop {
        let last = bits.take(1) == 1;
        match bits.take(2) {
            0 => {
                blocks.stored += 1;
                bits.at = bits.at.div_ceil(8) * 8;
                let len = bits.take(16);
                blocks.markers += usize::from(len == 0);
                assert_eq!(bits.take(16), !len & 0xffff);
                for _ in 0..len {
                    let byte = bits.take(8) as u8;
                    blocks.output.push(byte);
                }
            }
            1 => {
                blocks.fixed += 1;
                let mut lengths = vec![8; 288];
                lengths[144..256].fill(9);
                lengths[256..280].fill(7);
                compressed(&mut bits, &mut blocks, &Code::new(&lengths), &Code::new(&[5; 30]));
            }
            2 => {
                blocks.dynamic += 1;
                let (literals, distances) = (bits.take(5) + 257, bits.take(5) + 1);
                let order = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
                let mut lengths = [0; 19];
                let count = bits.take(4) + 4;
                order[..count].iter().for_each(|&symbol| lengths[symbol] = bits.take(3));
                let code = Code::new(&lengths);
                let mut lengths: Vec<usize> = Vec::new();
                while lengths.len() < literals + distances {
                    let (value, times) = match code.read(&mut bits) {
                        16 => (*lengths.last().expect("a length"), 3 + bits.take(2)),
                        17 => (0, 3 + bits.take(3)),
                        18 => (0, 11 + bits.take(7)),
                        length => (length, 1),
                    };
                    lengths.resize(lengths.len() + times, value);
                }
                let (first, second) = lengths.split_at(literals);
                compressed(&mut bits, &mut blocks, &Code::new(first), &Code::new(second));
            }
            _ => panic!("block type 3"),
        }
        if last {
            blocks.consumed = bits.at.div_ceil(8);
            blocks.output.drain(..history.len());
            return blocks;
        }
    }
}

fn compressed(bits: &mut Bits, blocks: &mut Blocks, literals: &Code, distances: &Code) {
    loop {
        let symbol = literals.read(bits);
        blocks.tokens += usize::from(symbol != 256);
        if symbol < 256 {
            blocks.output.push(symbol as u8);
            continue;
        }
        if symbol == 256 {
            return;
        }
        let length = match symbol - 257 {
            28 => 258,
            code @ 0..8 => code + 3,
            code => {
                let extra = code / 4 - 1;
                ((4 + code % 4) << extra) + 3 + bits.take(extra)
            }
        };
        let distance = match distances.read(bits) {
            code @ 0..4 => code + 1,
            code => {
                let extra = code / 2 - 1;
                ((2 + code % 2) << extra) + 1 + bits.take(extra)
            }
        };
        blocks.max_distance = blocks.max_distance.max(distance);
        for _ in 0..length {
            let byte = blocks.output[blocks.output.len() - distance];
            blocks.output.push(byte);
        }
    }
}
