//! The LZ4 frames that this crate writes and reads (lz4_Frame_format.md).
//!
//! ```text
//!  0  04 22 4d 18   magic
//!  4  FLG           version 01, independent blocks, block checksums, content size, content checksum,
//!                   reserved, dictionary
//!  5  BD            the largest block: 4 to 7 for 64 KB, 256 KB, 1 MB, 4 MB; other bits 0
//!    [u64] [u32]    content size, dictionary's number
//!     HC            second byte of the xxHash-32 of what stands between magic and HC
//!     blocks        each: u32 length (highest bit: stored), data, [u32 its xxHash-32]
//!     00000000      end mark
//!    [u32]          xxHash-32 of the content
//! ```
//!
//! One file is one frame of independent blocks, each chunk one block (chunks above 4 MB: several), so that lengths
//! tell where each begins: any `lz4` reads it, and this crate in parallel, as it does with what `lz4` writes by
//! default. The content's checksum cannot be made of those of chunks: the calling thread makes it (7 GB/s).
//! All numbers are little endian.

use std::hash::Hasher;

use twox_hash::XxHash32;

/// The magic of a frame.
pub(crate) const MAGIC: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
/// The longest header.
pub(crate) const MAX_HEADER: usize = 19;
/// The bit of a block's length that says: stored.
pub(crate) const STORED: u32 = 1 << 31;
/// The magic, FLG, BD and HC of our own.
pub(crate) const OWN_HEADER: usize = 7;

const VERSION: u8 = 0x40;
const INDEPENDENT: u8 = 0x20;
const BLOCK_CHECKSUM: u8 = 0x10;
const CONTENT_SIZE: u8 = 0x08;
const CONTENT_CHECKSUM: u8 = 0x04;
const RESERVED: u8 = 0x02;
const DICTIONARY: u8 = 0x01;

/// Binary logarithm of the largest block of a file in chunks of this size.
pub(crate) fn block_bits(chunk: usize) -> u8 {
    [16, 18, 20].into_iter().find(|&bits| chunk <= 1 << bits).unwrap_or(22)
}

/// The header of a file in chunks of this size.
pub(crate) fn header(chunk: usize) -> [u8; OWN_HEADER] {
    let flg = VERSION | INDEPENDENT | CONTENT_CHECKSUM;
    let bd = ((block_bits(chunk) - 8) / 2) << 4;
    let [a, b, c, d] = MAGIC;
    [a, b, c, d, flg, bd, check(&[flg, bd])]
}

/// HC.
fn check(descriptor: &[u8]) -> u8 {
    (XxHash32::oneshot(0, descriptor) >> 8) as u8
}

/// What a frame's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Its own length.
    pub(crate) len: usize,
    /// The largest block.
    pub(crate) block: usize,
    /// Blocks stand for themselves, and have no checksums: they can be decompressed side by side.
    pub(crate) side_by_side: bool,
    pub(crate) content_size: Option<u64>,
    pub(crate) content_checksum: bool,
}

impl Header {
    /// Reads the header that `start` begins with (magic included). `None`: wrong, or unusual, or not whole: for a
    /// decompressor of streams to judge.
    pub(crate) fn read(start: &[u8]) -> Option<Header> {
        let &[a, b, c, d, flg, bd] = start.first_chunk()?;
        let usual = [a, b, c, d] == MAGIC && flg & 0xc0 == VERSION && bd & 0x8f == 0;
        if !usual || flg & (RESERVED | DICTIONARY) != 0 || bd >> 4 < 4 {
            return None;
        }
        let has = |flag: u8| flg & flag != 0;
        let at = if has(CONTENT_SIZE) { 14 } else { 6 };
        if *start.get(at)? != check(&start[4..at]) {
            return None;
        }
        let size = start.get(6..14).and_then(<[u8]>::first_chunk).filter(|_| has(CONTENT_SIZE));
        Some(Header {
            len: at + 1,
            block: 1 << (8 + 2 * (bd >> 4)),
            side_by_side: has(INDEPENDENT) && !has(BLOCK_CHECKSUM),
            content_size: size.map(|&size| u64::from_le_bytes(size)),
            content_checksum: has(CONTENT_CHECKSUM),
        })
    }
}

/// The xxHash-32 of a file's content.
#[derive(Default)]
pub(crate) struct ContentHash(XxHash32);

impl ContentHash {
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    pub(crate) fn value(&self) -> u32 {
        self.0.finish_32()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        for (chunk, block) in [
            (1, 1 << 16),
            (1 << 16, 1 << 16),
            (65_537, 1 << 18),
            (1 << 20, 1 << 20),
            (1 << 25, 1 << 22),
        ] {
            let own = header(chunk);
            let read = Header::read(&own).unwrap();
            let wanted = Header {
                len: OWN_HEADER,
                block,
                side_by_side: true,
                content_size: None,
                content_checksum: true,
            };
            assert_eq!(read, wanted);
            for i in 0..OWN_HEADER {
                assert_eq!(Header::read(&own[..i]), None);
                let mut bad = own;
                bad[i] ^= 0x20;
                assert_eq!(Header::read(&bad), None, "byte {i}");
            }
        }
    }
}
