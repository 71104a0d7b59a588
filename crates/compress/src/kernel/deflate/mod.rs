//! DEFLATE by AVX-512: our own compressor.
//!
//! Computes: RFC 1951 blocks of at most 64 KB, each with codes of its own (or the fixed ones, or
//! stored, whatever is smallest), over a 32 KB window. Shapes: any lengths, no alignment.
//! CPU features: tier AVX-512. Own code.
//!
//! Four passes over a block, nearly without branches that are hard to foretell (a wrong guess
//! costs as much as several tokens):
//!
//! 1. `candidates`: for every position the last one before it with the same hash, and a bit that
//!    says whether the two share four bytes. Hashes are made 16 at a time. Since all positions are
//!    entered, the candidates are chains as well.
//! 2. `parse`: four cursors in different segments of the block walk side by side. In a turn, each
//!    takes all literals up to the next of these bits, and the token there. Whether that is a
//!    literal or a match is data, not control flow, and the latency of one cursor's loads is
//!    hidden behind the others' work. A match that leads into the next segment takes the place of
//!    that one's first tokens.
//! 3. `huffman`: lengths of codes by a search for the threshold at which rounded logarithms make
//!    a complete code, instead of a tree: 0.1 % larger, and several times as fast.
//! 4. `write`: 16 tokens at a time, all tables in registers.
//!
//! Efforts, by how many candidates a token compares: 1 looks at one; 2 at two, and takes the
//! longer match; 3 also looks at the next position, where a better match makes a literal of this
//! one; 4 compares four candidates, and looks at the next position too. What was tried, with figures:
//! docs/deflate-kernel.md. `twin` is the specification: the same bytes from plain code.
//! Covered by the tests `roundtrip`, `pieces`, `limits` and those of `twin`; bench `kernels`.
#![allow(unsafe_code)]

mod candidates;
mod huffman;
mod parse;
mod plan;
mod run;
#[cfg(test)]
mod twin;
mod write;

use std::ops::Range;

use lookaside_simd::Avx512;

use self::parse::Parser;
use self::plan::{Kind, Plan};
use self::write::Writer;
use super::stored;

/// The most that one block holds: positions have 16 bits.
const BLOCK: usize = 1 << 16;

/// What vector stores may write beyond the end.
const SLACK: usize = 64;

/// The places of a vector's sixteen-bit lanes.
const PLACES: [u16; 32] = {
    let mut places = [0; 32];
    let mut lane = 0;
    while lane < 32 {
        places[lane] = lane as u16;
        lane += 1;
    }
    places
};

/// The efforts there are: 1 to this.
pub(crate) const MOST_EFFORT: u8 = 4;

/// The memory of the compressor, for any effort. Reused, it allocates nothing but room for a result
/// that hardly fits.
pub(crate) struct Compressor {
    parser: Parser,
    spill: Vec<u8>,
    cpu: Avx512,
}

/// Why there is no result.
#[derive(Debug)]
enum Short {
    /// It does not fit.
    Room,
    /// It may fit, but not what vectors write beyond its end.
    Slack,
}

impl Compressor {
    /// Allocates 0.7 MB.
    pub(crate) fn new(cpu: Avx512) -> Compressor {
        Compressor { parser: Parser::new(), spill: Vec::new(), cpu }
    }

    /// Compresses `src` into `dst`: one whole stream. `None` if it does not fit.
    pub(crate) fn compress(&mut self, effort: u8, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        self.run(effort, src, dst, true)
    }

    /// The same without a final block, and up to a byte boundary: a piece of a stream. `src` must
    /// not be empty.
    pub(crate) fn compress_piece(
        &mut self,
        effort: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        self.run(effort, src, dst, false)
    }

    fn run(&mut self, effort: u8, src: &[u8], dst: &mut [u8], last: bool) -> Option<usize> {
        match self.blocks(effort, src, dst, last) {
            Ok(len) => Some(len),
            Err(Short::Room) => None,
            Err(Short::Slack) => {
                let mut spill = std::mem::take(&mut self.spill);
                if spill.len() < dst.len() + SLACK {
                    spill.resize(dst.len() + SLACK, 0);
                }
                let done = self.blocks(effort, src, &mut spill, last).ok();
                let done = done.filter(|&len| len <= dst.len());
                if let Some(len) = done {
                    dst[..len].copy_from_slice(&spill[..len]);
                }
                self.spill = spill;
                done
            }
        }
    }

    fn blocks(
        &mut self,
        effort: u8,
        src: &[u8],
        dst: &mut [u8],
        last: bool,
    ) -> Result<usize, Short> {
        let mut writer = Writer::new();
        let run = run::byte(src);
        if run.is_none() {
            self.parser.start(src, effort);
        }
        let mut from = 0;
        loop {
            let to = src.len().min(from + BLOCK);
            let last = last && to == src.len();
            match run {
                Some(byte) => writer.run(byte, to - from, last, dst)?,
                None => self.block(effort, src, from..to, last, &mut writer, dst)?,
            }
            if to == src.len() {
                break;
            }
            from = to;
        }
        writer.finish(dst, last).ok_or(Short::Room)
    }

    /// The next block of `src`.
    fn block(
        &mut self,
        effort: u8,
        src: &[u8],
        block: Range<usize>,
        last: bool,
        writer: &mut Writer,
        dst: &mut [u8],
    ) -> Result<(), Short> {
        let bytes = &src[block.clone()];
        let tokens = self.parser.block(self.cpu, effort, src, block.start, block.end);
        let plan = Plan::of(self.cpu, &tokens, writer.bits());
        if plan.kind == Kind::Stored {
            let rest = &mut dst[writer.at()..];
            let len = stored::size(bytes.len()) + usize::from(writer.bits() > 5);
            if rest.len() < len {
                return Err(Short::Room);
            }
            writer.stored(bytes, last, dst);
        } else {
            Short::check(writer.at() + plan.bits.div_ceil(8), dst)?;
            // SAFETY: the token proves the features; the room is there.
            unsafe { writer.block(self.cpu, &plan, &tokens, bytes, last, dst) };
        }
        Ok(())
    }
}

impl Short {
    /// Is there room for what ends at `end`?
    fn check(end: usize, dst: &[u8]) -> Result<(), Short> {
        match dst.len().checked_sub(end) {
            None => Err(Short::Room),
            Some(..SLACK) => Err(Short::Slack),
            Some(_) => Ok(()),
        }
    }
}
