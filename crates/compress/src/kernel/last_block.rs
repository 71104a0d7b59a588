//! Making a finished raw stream one that goes on: its last block is no longer the last.
//!
//! Computes: of a raw DEFLATE stream (RFC 1951), the same blocks with the final bit cleared, and
//! behind them empty blocks up to the next byte boundary. Shapes: any length. Preconditions: none;
//! what is no such stream gives `None`. CPU features: none. Source: ours.
//! Covered by the tests here and by `pieces`; bench `pieces`.
//!
//! A compressor that takes whole buffers does not tell where its last block begins, so the blocks
//! before it are skipped one by one ([`Skipper`]). Nor where it ends within the last byte: behind
//! it are zeros, before those its end-of-block code, and unless that is all zeros too, it fits in
//! one place only.

use super::skip::{END_OF_BLOCK, Skipper, peek};
use super::symbols::ORDER;

/// The code lengths of a block.
struct Lengths {
    lengths: [u8; 288 + 32],
    literals: usize,
    distances: usize,
}

impl Lengths {
    /// RFC 1951 section 3.2.6.
    fn fixed() -> Lengths {
        let mut lengths = [8; 288 + 32];
        lengths[144..256].fill(9);
        lengths[256..280].fill(7);
        lengths[288..].fill(5);
        Lengths { lengths, literals: 288, distances: 32 }
    }

    /// RFC 1951 section 3.2.7, from behind the block's type; moves `at` behind them.
    fn read(src: &[u8], at: &mut usize) -> Option<Lengths> {
        let literals = take(src, at, 5) + 257;
        let distances = take(src, at, 5) + 1;
        let codes = take(src, at, 4) + 4;
        let mut code_lengths = [0_u8; 19];
        for &symbol in &ORDER[..codes] {
            code_lengths[symbol] = take(src, at, 3) as u8;
        }
        // Seven bits to a symbol and its length; (0, 0) where there is no code.
        let mut table = [(0_u8, 0_u8); 128];
        let mut code = 0_usize;
        for length in 1..=7_u8 {
            for symbol in (0..19_u8).filter(|&s| code_lengths[usize::from(s)] == length) {
                if code >= 1 << length {
                    return None;
                }
                let first = (code as u8).reverse_bits() >> (8 - length);
                let places = table.iter_mut().skip(first.into()).step_by(1 << length);
                places.for_each(|place| *place = (symbol, length));
                code += 1;
            }
            code <<= 1;
        }
        let mut lengths = [0; 288 + 32];
        let (mut filled, all) = (0, literals + distances);
        while filled < all {
            let (symbol, length) = table[(peek(src, *at) & 127) as usize];
            if length == 0 {
                return None;
            }
            *at += usize::from(length);
            let (value, times) = match symbol {
                16 => (*lengths.get(filled.checked_sub(1)?)?, 3 + take(src, at, 2)),
                17 => (0, 3 + take(src, at, 3)),
                18 => (0, 11 + take(src, at, 7)),
                length => (length, 1),
            };
            lengths.get_mut(filled..filled + times).filter(|_| filled + times <= all)?.fill(value);
            filled += times;
        }
        Some(Lengths { lengths, literals, distances })
    }

    fn literals(&self) -> &[u8] {
        &self.lengths[..self.literals]
    }

    fn distances(&self) -> &[u8] {
        &self.lengths[self.literals..][..self.distances]
    }

    /// The end-of-block code as the stream has it (first bit lowest), and its length.
    fn end_code(&self) -> (u32, u32) {
        let own = self.lengths[END_OF_BLOCK];
        // What the codes before it take, the shorter ones and those of lower symbols, in units of
        // the longest possible code.
        let mut code = 0_u32;
        for (symbol, &length) in self.literals().iter().enumerate() {
            if length != 0 && (length, symbol) < (own, END_OF_BLOCK) {
                code += 1 << (15 - length);
            }
        }
        (code.reverse_bits() >> (32 - 15), own.into())
    }
}

/// The next `count` bits.
fn take(src: &[u8], at: &mut usize, count: u32) -> usize {
    let bits = peek(src, *at) & ((1 << count) - 1);
    *at += count as usize;
    bits as usize
}

/// Finds the last block of finished streams. Reusable.
pub(crate) struct LastBlock(Skipper);

impl LastBlock {
    /// Allocates 22 KB.
    pub(crate) fn new() -> LastBlock {
        LastBlock(Skipper::new())
    }

    /// Opens the end of the stream that is the first `len` bytes of `dst`: its new length, at most
    /// 5 more. `None` if `dst` has no room for that, or no stream; it is spoilt then.
    pub(crate) fn open(&mut self, dst: &mut [u8], len: usize) -> Option<usize> {
        let (start, end) = self.find(dst.get(..len)?)?;
        dst[start / 8] &= !(1 << (start % 8));
        let more: &[u8] = match 8 * len - end {
            0 => &[],
            // Empty blocks with fixed codes, 10 bits each: 01 and, behind two zeros, seven zeros.
            2 | 4 | 6 => return fill(dst, len, end),
            // An empty stored block: three zeros, zeros up to a byte, the length and its inverse.
            1 => &[0, 0, 0, 0xff, 0xff],
            _ => &[0, 0, 0xff, 0xff],
        };
        dst.get_mut(len..len + more.len())?.copy_from_slice(more);
        Some(len + more.len())
    }

    /// The first bit of the last block, and the one behind it.
    fn find(&mut self, src: &[u8]) -> Option<(usize, usize)> {
        let bits = 8 * src.len();
        let mut at = 0;
        loop {
            if at + 3 > bits {
                return None;
            }
            let (start, header) = (at, peek(src, at));
            let last = header & 1 == 1;
            at += 3;
            let lengths = match header >> 1 & 3 {
                0 => {
                    let byte = at.div_ceil(8);
                    let &[a, b, c, d] = src.get(byte..)?.first_chunk()?;
                    let len = u16::from_le_bytes([a, b]);
                    if len != !u16::from_le_bytes([c, d]) {
                        return None;
                    }
                    at = 8 * (byte + 4 + usize::from(len));
                    if last {
                        return (at == bits).then_some((start, at));
                    }
                    continue;
                }
                1 => Lengths::fixed(),
                2 => Lengths::read(src, &mut at)?,
                _ => return None,
            };
            if last && let Some(end) = end_in_last_byte(src, &lengths) {
                return Some((start, end));
            }
            at = self.0.end(lengths.literals(), lengths.distances(), src, at)?;
            if last {
                return (at + 8 > bits).then_some((start, at));
            }
        }
    }
}

/// Where a block that ends in the last byte of `src` ends: behind its end-of-block code, before
/// nothing but zeros. `None` where that is not enough to tell.
fn end_in_last_byte(src: &[u8], lengths: &Lengths) -> Option<usize> {
    let (code, length) = lengths.end_code();
    let bits = 8 * src.len();
    // All zeros before zeros could be anywhere. Any other code fits in one place at most: its last
    // bit that is set is the stream's.
    if code == 0 {
        return None;
    }
    (bits - 7..=bits).find(|end| {
        let start = end.checked_sub(length as usize);
        start.is_some_and(|start| peek(src, start) == u64::from(code))
    })
}

/// Empty blocks with fixed codes from bit `end` to a byte boundary.
fn fill(dst: &mut [u8], len: usize, end: usize) -> Option<usize> {
    let blocks = (8 * len - end) / 2;
    let new_len = (end + 10 * blocks) / 8;
    dst.get_mut(len..new_len)?.fill(0);
    for block in 0..blocks {
        // BFINAL 0, BTYPE 01: of its bits 0, 1, 0 only the middle one is set.
        let bit = end + 10 * block + 1;
        dst[bit / 8] |= 1 << (bit % 8);
    }
    Some(new_len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::libdeflate::Compressor;

    fn noise(len: usize, seed: u32) -> Vec<u8> {
        let mut state = seed.wrapping_mul(2_654_435_761) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            (state >> 11) as u8
        };
        (0..len).map(|_| next()).collect()
    }

    /// Whatever it is, noise or a stream with some bytes changed: an answer, within bounds.
    #[test]
    fn what_is_no_stream_is_survived() {
        let mut last_block = LastBlock::new();
        // Blocks of noise with few values, of two kinds.
        let mut src = noise(40_000, 1);
        src[..20_000].iter_mut().for_each(|byte| *byte &= 7);
        src[20_000..].iter_mut().for_each(|byte| *byte = *byte & 31 | 64);
        let mut stream = vec![0; 60_000];
        let mut compressor = Compressor::new(6).expect("memory");
        let len = compressor.compress(&src, &mut stream).expect("fits");
        stream.truncate(len);
        let mut opened = 0;
        for seed in 0..3000 {
            let dice = noise(8, seed + 7);
            let mut bytes = noise(1 + seed as usize % 700, seed);
            if seed % 2 == 0 {
                bytes.clone_from(&stream);
                let at = usize::from(dice[0]) * len / 256;
                bytes[at] ^= dice[1];
                bytes[usize::from(dice[2] % 90)] ^= dice[3] & dice[4] & dice[5] & dice[6];
            }
            let len = bytes.len();
            bytes.resize(len + usize::from(dice[7] % 8), 0);
            if let Some(new_len) = last_block.open(&mut bytes, len) {
                assert!((len..=len + 5).contains(&new_len) && new_len <= bytes.len());
                opened += 1;
            }
        }
        assert!((10..2900).contains(&opened), "{opened}: all the same");
        assert_eq!(last_block.open(&mut [], 0), None);
        assert_eq!(last_block.open(&mut [3, 0], 3), None);
    }

    /// An empty block with fixed codes, whose end-of-block code is zeros before zeros.
    #[test]
    fn zeros_before_zeros_are_told_apart() {
        let mut bytes = [3, 0, 0xaa, 0xaa, 0xaa, 0xaa, 0xaa];
        assert_eq!(LastBlock::new().open(&mut bytes, 2), Some(5));
        // 10 bits, and three times 10 more: 40.
        assert_eq!(bytes[..5], [0b0000_0010, 0b0000_1000, 0b0010_0000, 0b1000_0000, 0]);
        assert_eq!(bytes[5..], [0xaa, 0xaa]);
    }
}
