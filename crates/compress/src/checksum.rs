//! CRC-32 and Adler-32.

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
