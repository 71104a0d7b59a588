//! zlib-rs: streams of levels 0..=9, static codes and small windows anywhere.
//!
//! Computes: raw DEFLATE (RFC 1951) in any pieces, windows of 2^9..=2^15 bytes, optionally after
//! a preset dictionary. Shapes: any lengths, also zero; no alignment. Preconditions: none.
//! CPU features: chosen inside the library at run time, with a portable path for every
//! architecture; it does not know `LOOKASIDE_CPU`. Its level 1 is never used: it compresses far
//! worse than zlib's. Source: zlib-rs 0.6.8, Zlib licence, by its safe interface.
//! Covered by the tests `streams`, `roundtrip`, `corrupt`; bench `levels`.

use zlib_rs::{Deflate, DeflateConfig, DeflateError, DeflateFlush, Status, Strategy};

use super::{Flush, Step};

/// Room that a flush marker certainly fits in: 3 bits, padding and 00 00 FF FF.
const MARKER_ROOM: usize = 16;

/// One raw compression stream.
pub(crate) struct Compressor {
    deflate: Deflate,
    level: u8,
    fixed: bool,
    window_bits: u8,
}

impl Compressor {
    /// Allocates (380 KB with the largest window).
    pub(crate) fn new(level: u8, fixed: bool, window_bits: u8) -> Compressor {
        let config = DeflateConfig {
            level: i32::from(level.min(9)),
            window_bits: -i32::from(window_bits),
            strategy: if fixed { Strategy::Fixed } else { Strategy::Default },
            ..DeflateConfig::default()
        };
        Compressor { deflate: Deflate::new_with_config(config), level, fixed, window_bits }
    }

    /// Is this what `new` would give for these parameters?
    pub(crate) fn is(&self, level: u8, fixed: bool, window_bits: u8) -> bool {
        (self.level, self.fixed, self.window_bits) == (level, fixed, window_bits)
    }

    /// Back to the start of a stream. Keeps the memory.
    pub(crate) fn reset(&mut self) {
        self.deflate.reset();
    }

    /// Presets the history. At the start of a stream only.
    pub(crate) fn set_dictionary(&mut self, dictionary: &[u8]) -> bool {
        self.deflate.set_dictionary(dictionary).is_ok()
    }

    /// Takes from `src`, writes to `dst`. `done` when `src` is consumed and what `flush` asks for
    /// is out; otherwise `dst` is full, or (a flush) too short for the marker.
    pub(crate) fn step(&mut self, src: &[u8], dst: &mut [u8], flush: Flush) -> Option<Step> {
        let marker = match flush {
            Flush::None => return self.call(src, dst, DeflateFlush::NoFlush),
            Flush::Finish => return self.call(src, dst, DeflateFlush::Finish),
            Flush::Sync => DeflateFlush::SyncFlush,
            Flush::Full => DeflateFlush::FullFlush,
        };
        // zlib repeats the marker each time that a flush is resumed with `dst` full. Ending the
        // block (`Block`) repeats nothing, so do that until it is all out, and ask for the marker
        // only when it certainly fits.
        let mut step = self.call(src, dst, DeflateFlush::Block)?;
        let rest = &mut dst[step.produced..];
        step.done = step.consumed == src.len() && rest.len() >= MARKER_ROOM;
        if step.done {
            step.produced += self.call(&[], rest, marker)?.produced;
        }
        Some(step)
    }

    fn call(&mut self, src: &[u8], dst: &mut [u8], flush: DeflateFlush) -> Option<Step> {
        let (total_in, total_out) = (self.deflate.total_in(), self.deflate.total_out());
        let status = match self.deflate.compress(src, dst, flush) {
            Ok(status) => status,
            Err(DeflateError::StreamError | DeflateError::DataError | DeflateError::MemError) => {
                return None;
            }
        };
        let consumed = (self.deflate.total_in() - total_in) as usize;
        let produced = (self.deflate.total_out() - total_out) as usize;
        let done = match flush {
            DeflateFlush::Finish => status == Status::StreamEnd,
            _ => consumed == src.len(),
        };
        Some(Step { consumed, produced, done })
    }

    /// A whole stream at once. `None` if it does not fit.
    pub(crate) fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> Option<usize> {
        self.reset();
        let (mut consumed, mut produced) = (0, 0);
        loop {
            // One call takes at most 4 GB.
            let step = self.step(&src[consumed..], &mut dst[produced..], Flush::Finish)?;
            consumed += step.consumed;
            produced += step.produced;
            if step.done {
                return Some(produced);
            }
            if step.consumed == 0 && step.produced == 0 {
                return None;
            }
        }
    }
}

/// The CRC-32 of two pieces after one another.
pub(crate) fn crc32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    zlib_rs::crc32::crc32_combine(first, second, second_len)
}

/// The Adler-32 of two pieces after one another.
pub(crate) fn adler32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    zlib_rs::adler32::adler32_combine(first, second, second_len)
}
