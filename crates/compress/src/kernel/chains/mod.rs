//! DEFLATE for every CPU: our own compressor for sizes between those of zlib's levels 3 and 6.
//!
//! Computes: RFC 1951 blocks, each with codes of its own (or the fixed ones, or stored, whatever is
//! smallest), over a 32 KB window. Shapes: any lengths, no alignment. CPU features: none; with tier
//! AVX2 passes 1 and 2 have vector code, and the bytes are the same. Own code.
//!
//! ```text
//! for each strip of 8 KB:
//!     1. links:  for each position p: distance[p] = p - the last position with the same 4 bytes
//!                (with data that is no text and has many literals also for 3 bytes)
//!     2. parse:  p = next position that has a distance
//!                follow distance[p], distance[p - d], ...: keep the longest of K matches
//!                if position p + 1 (or p + 2) has a better match: p is a literal, go on with it
//!     3. blocks: count the strip's symbols; begin a block where that costs fewer bits
//! for each block:
//!     4. huffman, write
//! ```
//!
//! Why it is so:
//!
//! 1. A compressor with hash chains (zlib, libdeflate) hashes, inserts and searches in one loop, in
//!    which half of the branches cannot be predicted. Here all positions of a strip are entered
//!    beforehand: that loop has no such branch, its loads do not depend on each other, and vectors
//!    compute the hashes. The parse finds candidates without a hash, and passes over literals up to
//!    64 positions at a time.
//! 2. The first K candidates are compared by their first 32 bytes (8 by the parse with one cursor),
//!    without a branch. More of them only where one shares all of these.
//! 3. A table entry holds 16 bits of the hash beside the position, so that nearly all candidates of
//!    a chain share 4 bytes. Positions are stored modulo 64 KB: a candidate that is further back
//!    seems nearer, and fails when its bytes are compared. Nothing is rebased.
//! 4. Lazy matching, and its rule of 4 bits for a byte against the logarithm of the distance, are
//!    ideas of zlib and libdeflate; the second position ahead and the tag beside a position are
//!    those of zstd ("lazy2", row hash).
//! 5. Two neighbouring strips are in one block unless the estimated size of two blocks is less.
//! 6. A parse alone waits for each match's loads before it knows where the next one begins. So four cursors
//!    walk in four segments of the strip, without a branch that cannot be predicted (`cursors`). One walks
//!    where three bytes may match, short matches do not count, or matches are long.
//!
//! Efforts differ by the number of candidates at p, p + 1 and p + 2:
//!
//! | effort | four cursors | one cursor |
//! |---|---|---|
//! | 3 | 1, 1, 0 | 1, 1, 0; no matches of three bytes |
//! | 4 | 3, 1, 0 | 3, 2, 0 |
//! | 5 | 7, 3, 1; what is no text: 5, 2, 0 | 8, 4, 2 |
//!
//! What was tried, with figures: docs/deflate-kernel.md.
//! Covered by the tests `chains`, `roundtrip`, `pieces`, `limits`, `decoders` and those below; bench
//! `kernels`.
#![allow(unsafe_code)]

mod blocks;
mod cursors;
mod huffman;
mod links;
mod parse;
mod write;

use lookaside_simd::{Avx2, Cpu};

use self::blocks::Blocks;
use self::cursors::Segments;
use self::links::Links;
use self::parse::Strip;
use self::write::Writer;

/// The longest distance of a match.
const WINDOW: usize = 32 << 10;
/// The longest distance of a match of 3 bytes: further ones cost more than literals.
const NEAR: usize = 4 << 10;
/// The longest match.
const LONGEST: usize = 258;
/// The positions that are entered, parsed and counted at a time.
const STRIP: usize = 8 << 10;
/// With positions up to `n` entered, those up to `n` less this may be parsed. Lazy matching is at
/// most 24 positions ahead of where it began: a step of one gains 3 or more, and one of two 6 or more,
/// of what a match of less than 16 bytes is worth, which is less than 64.
const AHEAD: usize = 64;

/// There are many literals if more than one of this many bytes is one.
const MANY: usize = 5;
/// Matches are long if there is less than one for so many bytes: most segments would begin within one.
const LONG: usize = 64;

/// The efforts there are.
pub(crate) const EFFORTS: std::ops::RangeInclusive<u8> = 3..=5;

/// The memory of the compressor, for any effort and CPU. Reused, it allocates nothing.
pub(crate) struct Compressor {
    links: Links<4>,
    near: Links<3>,
    segments: Segments,
    blocks: Blocks,
}

impl Compressor {
    /// Allocates 1.1 MB.
    pub(crate) fn new() -> Compressor {
        Compressor {
            links: Links::new(),
            near: Links::new(),
            segments: Segments::new(),
            blocks: Blocks::new(),
        }
    }

    /// Compresses `src` into `dst`: one whole stream. `None` if it does not fit.
    pub(crate) fn compress(
        &mut self,
        cpu: &Cpu,
        effort: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        self.run(cpu.avx2(), effort, src, dst, true)
    }

    /// The same without a final block, and up to a byte boundary: a piece of a stream.
    pub(crate) fn compress_piece(
        &mut self,
        cpu: &Cpu,
        effort: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Option<usize> {
        self.run(cpu.avx2(), effort, src, dst, false)
    }

    fn run(
        &mut self,
        cpu: Option<Avx2>,
        effort: u8,
        src: &[u8],
        dst: &mut [u8],
        last: bool,
    ) -> Option<usize> {
        let Compressor { links, near, segments, blocks } = self;
        let mut writer = Writer::new(dst, cpu);
        blocks.start();
        // Matches begin where 8 bytes can be loaded.
        let end = src.len().saturating_sub(8);
        if end > 0 {
            links.start(src.len());
        }
        let (mut entered, mut at) = (0, 0);
        // Matches of three bytes gain where there are many literals without, but not in text.
        let (mut many_literals, mut near_before, mut near_started) = (true, false, false);
        let mut long_matches = false;
        while at < end {
            let to = end.min(entered + STRIP);
            links.enter(cpu, src, entered, to);
            let look = Look::at(&src[entered..to]);
            let with_near = effort > 3 && many_literals && !look.is_text && look.least == 4;
            if with_near {
                if !near_started {
                    near.start(src.len());
                    near_started = true;
                }
                if !near_before && entered > 0 {
                    near.skip(entered - AHEAD);
                }
                near.enter(cpu, src, entered, to);
            }
            near_before = with_near;
            entered = to;
            let (begins, before) = (at, blocks.tokens.counts());
            let near = with_near.then_some(&*near);
            let range = at..if to == end { end } else { to - AHEAD };
            let strip = Strip { links, near, look, long_matches, range, entered };
            at = parse::strip(cpu, effort, &strip, src, segments, &mut blocks.tokens);
            let after = blocks.tokens.counts();
            many_literals = MANY * (after.literals - before.literals) > at - begins;
            long_matches = LONG * (after.sequences - before.sequences) < at - begins;
            blocks.strip_ends(src, at, &mut writer)?;
        }
        blocks.finish(src, last, &mut writer)?;
        writer.finish(last)
    }
}

/// What kind of data a strip is.
#[derive(Clone, Copy)]
struct Look {
    /// Of a sample, at most one of eight bytes is a control character or no ASCII.
    is_text: bool,
    /// Shorter matches cost more than literals.
    least: usize,
}

impl Look {
    fn at(bytes: &[u8]) -> Look {
        let is_odd = |byte: &&u8| !matches!(byte, b' '..=b'~' | b'\t' | b'\n' | b'\r');
        // Groups at odd places, so that records of one length do not show the same fields only.
        let sample = || bytes.chunks(127).flat_map(|chunk| &chunk[..chunk.len().min(4)]);
        let is_text = 8 * sample().filter(is_odd).count() <= sample().count();
        let mut least = 4;
        if bytes.len() >= 512 && shortest(sample(), is_text) > 4 {
            least = shortest(bytes.iter(), is_text);
        }
        Look { is_text, least }
    }
}

/// With few different bytes, none of them much more frequent than others, literals have few bits, and
/// short matches more. (The idea is libdeflate's.)
fn shortest<'a>(bytes: impl Iterator<Item = &'a u8>, is_text: bool) -> usize {
    let mut counts = [0_u32; 256];
    bytes.for_each(|&byte| counts[usize::from(byte)] += 1);
    let all: u32 = counts.iter().sum();
    let most = counts.iter().copied().max().unwrap_or(0);
    let used = counts.iter().filter(|&&count| count > all / 256).count();
    if most * used as u32 > 2 * all || used < 4 && !is_text {
        return 4;
    }
    match used {
        ..6 => 9,
        6..8 => 8,
        8..10 => 7,
        10..=16 => 6,
        _ => 4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lookaside_simd::Tier;

    fn inputs() -> Vec<Vec<u8>> {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as usize
        };
        let random: Vec<u8> = (0..300_000).map(|_| next() as u8).collect();
        let words: Vec<u8> =
            (0..60_000).flat_map(|_| random[next() % 900..][..6].to_vec()).collect();
        // A period that is just within the window, and one just beyond.
        let period = |n: usize| random[..n].iter().copied().cycle().take(200_000).collect();
        let mut all = vec![vec![0; 1 << 20], random.clone(), words.clone()];
        all.extend([1, 2, 3, 5, 255, WINDOW - 1, WINDOW, WINDOW + 1, 65_535, 65_536].map(period));
        all.extend((0..40).map(|len| words[..len].to_vec()));
        all.extend([STRIP, STRIP + 8, 2 * STRIP + 72].map(|len| words[..len].to_vec()));
        all
    }

    /// Every tier gives the same bytes, whatever the memory was used for before.
    #[test]
    fn the_same_bytes_at_every_tier() {
        let cpus: Vec<Cpu> = Tier::here().map(Cpu::with_cap).collect();
        let mut compressor = Compressor::new();
        for src in inputs().iter().chain(inputs().iter().rev()) {
            for effort in EFFORTS {
                let mut wanted: Option<Vec<u8>> = None;
                for cpu in &cpus {
                    let mut dst = vec![0; src.len() + 1000];
                    let len = compressor.compress(cpu, effort, src, &mut dst).expect("room");
                    dst.truncate(len);
                    assert!(*wanted.get_or_insert_with(|| dst.clone()) == dst, "{}", src.len());
                }
                // Room for no more, and for less.
                let wanted = wanted.expect("a tier");
                let mut dst = vec![0; wanted.len()];
                let len = compressor.compress(&cpus[0], effort, src, &mut dst);
                assert_eq!(len, Some(wanted.len()));
                assert!(dst == wanted);
                assert_eq!(compressor.compress(&cpus[0], effort, src, &mut dst[1..]), None);
            }
        }
    }
}
