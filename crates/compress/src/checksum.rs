//! CRC-32, Adler-32, xxHash-32 and xxHash-64.

use core::hash::Hasher;

use lookaside_spec::dc::Checksum;
use twox_hash::{XxHash32, XxHash64};

use crate::kernel::{libdeflate, zlib_rs};

/// The CRC-32 of RFC 1952 section 8, continuing from `seed`: 0 to start, an earlier result to go
/// on. Several ten GB/s.
///
/// ```
/// assert_eq!(lookaside_compress::crc32(0, b"123456789"), 0xcbf4_3926);
/// ```
pub fn crc32(seed: u32, data: &[u8]) -> u32 {
    libdeflate::crc32(seed, data)
}

/// The Adler-32 of RFC 1950 section 8, continuing from `seed`: 1 to start, an earlier result to
/// go on.
///
/// ```
/// assert_eq!(lookaside_compress::adler32(1, b"Wikipedia"), 0x11e6_0398);
/// ```
pub fn adler32(seed: u32, data: &[u8]) -> u32 {
    libdeflate::adler32(seed, data)
}

/// The CRC-32 of two pieces one after another, from that of each and the second one's length.
/// Some dozens of multiplications, whatever the length.
pub fn crc32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    zlib_rs::crc32_combine(first, second, second_len)
}

/// The Adler-32 of two pieces one after another, from that of each and the second one's length.
pub fn adler32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    zlib_rs::adler32_combine(first, second, second_len)
}

/// The xxHash-32 of `data`, as in LZ4 frames (seed 0 there). A result is not a seed to go on from: pieces
/// need a [`RunningChecksum`].
///
/// ```
/// assert_eq!(lookaside_compress::xxh32(0, b""), 0x02cc_5d05);
/// ```
pub fn xxh32(seed: u32, data: &[u8]) -> u32 {
    XxHash32::oneshot(seed, data)
}

/// The xxHash-64 of `data`; Zstandard frames have the lower half of it (seed 0). As [`xxh32`] in all else.
///
/// ```
/// assert_eq!(lookaside_compress::xxh64(0, b""), 0xef46_db37_51d8_e999);
/// ```
pub fn xxh64(seed: u64, data: &[u8]) -> u64 {
    XxHash64::oneshot(seed, data)
}

/// A checksum of data that comes in pieces.
///
/// ```
/// use lookaside_compress::{Checksum, RunningChecksum, xxh32};
/// let mut running = RunningChecksum::new(Checksum::Xxh32);
/// running.update(b"hello, ");
/// running.update(b"world");
/// assert_eq!(running.value(), xxh32(0, b"hello, world").into());
/// ```
#[derive(Clone, Debug)]
pub struct RunningChecksum(State);

#[derive(Clone, Debug)]
enum State {
    None,
    Crc32(u32),
    Adler32(u32),
    Xxh32(XxHash32),
    Xxh64(XxHash64),
}

impl RunningChecksum {
    /// The checksum of nothing so far.
    pub fn new(kind: Checksum) -> RunningChecksum {
        RunningChecksum(match kind {
            Checksum::None => State::None,
            Checksum::Crc32 => State::Crc32(0),
            Checksum::Adler32 => State::Adler32(1),
            Checksum::Xxh32 => State::Xxh32(XxHash32::with_seed(0)),
            Checksum::Xxh64 => State::Xxh64(XxHash64::with_seed(0)),
        })
    }

    /// Goes on with `data`.
    #[inline]
    pub fn update(&mut self, data: &[u8]) {
        match &mut self.0 {
            State::None => {}
            State::Crc32(sum) => *sum = crc32(*sum, data),
            State::Adler32(sum) => *sum = adler32(*sum, data),
            State::Xxh32(hash) => hash.write(data),
            State::Xxh64(hash) => hash.write(data),
        }
    }

    /// The checksum of all so far; 0 for [`Checksum::None`].
    #[inline]
    pub fn value(&self) -> u64 {
        match &self.0 {
            State::None => 0,
            State::Crc32(sum) | State::Adler32(sum) => (*sum).into(),
            State::Xxh32(hash) => hash.finish_32().into(),
            State::Xxh64(hash) => hash.finish(),
        }
    }
}

/// The checksum of `data`, by kind.
pub(crate) fn checksum(kind: Checksum, data: &[u8]) -> u64 {
    match kind {
        Checksum::Xxh32 => xxh32(0, data).into(),
        Checksum::Xxh64 => xxh64(0, data),
        other => {
            let mut running = RunningChecksum::new(other);
            running.update(data);
            running.value()
        }
    }
}
