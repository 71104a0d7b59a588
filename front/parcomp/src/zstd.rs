//! The Zstandard files that this crate writes and reads: one frame (RFC 8878) per chunk, each with content size and
//! checksum, and behind them a seek table.
//!
//! A frame, as far as its length is concerned (RFC 8878 sections 3.1.1.1 and 3.1.1.2):
//!
//! ```text
//! 28 b5 2f fd   magic
//! descriptor    two bits length of the content size, single segment, 0, reserved, checksum, two bits
//!               length of the dictionary's number
//! [window] [dictionary's number] [content size]
//! blocks        each: three bytes (last block, two bits type, 21 bits size), data
//! [u32]         checksum
//! ```
//!
//! The seek table (contrib/seekable_format of Zstandard's sources, version 0.1.0) is a skippable frame that any
//! decompressor passes over. This crate does not need it to decompress side by side: blocks say where a frame ends,
//! so pipes and the files of others (`pzstd`) do as well. It is for programs that look into the middle.
//!
//! ```text
//! 5e 2a 4d 18   magic of a skippable frame
//! u32           length of the rest
//! u32 u32 ...   compressed and decompressed size of each frame
//! u32           number of frames
//! 00            descriptor: no checksums, the frames have their own
//! b1 ea 92 8f   magic
//! ```
//!
//! All numbers are little endian.

/// The magic of a frame.
pub(crate) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The longest header, magic included.
pub(crate) const MAX_HEADER: usize = 18;
/// Before each block.
pub(crate) const BLOCK_HEADER: usize = 3;

/// The bytes that a skippable frame begins with: 50 to 5f, and these.
const SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

/// Whether it is the magic of a skippable frame, of LZ4 or Zstandard.
pub(crate) fn is_skippable(magic: [u8; 4]) -> bool {
    magic[0] & 0xf0 == 0x50 && magic[1..] == SKIPPABLE
}

/// What a frame's header says that matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// Its own length.
    pub(crate) len: usize,
    /// What the frame decompresses to.
    pub(crate) content: u64,
    /// Whether four bytes of checksum follow the blocks.
    pub(crate) checksum: bool,
}

impl Header {
    /// Reads the header that `start` begins with. `None`: wrong, not whole, with a dictionary, or without content
    /// size: for a decompressor of streams.
    pub(crate) fn read(start: &[u8]) -> Option<Header> {
        let (&magic, rest) = start.split_first_chunk::<4>()?;
        let (&descriptor, rest) = rest.split_first()?;
        let single = descriptor & 0x20 != 0;
        if magic != MAGIC || descriptor & 0x08 != 0 || descriptor & 3 != 0 {
            return None;
        }
        let size_len = match descriptor >> 6 {
            0 if !single => return None,
            0 => 1,
            n => 1 << n,
        };
        let size_at = if single { 0 } else { 1 };
        let mut bytes = [0; 8];
        bytes[..size_len].copy_from_slice(rest.get(size_at..size_at + size_len)?);
        // Two bytes count from 256 on.
        let more = if size_len == 2 { 256 } else { 0 };
        Some(Header {
            len: 5 + size_at + size_len,
            content: u64::from_le_bytes(bytes).checked_add(more)?,
            checksum: descriptor & 4 != 0,
        })
    }
}

/// A block's header: how many bytes follow it, and whether it is the last one.
pub(crate) fn block(header: [u8; BLOCK_HEADER]) -> (usize, bool) {
    let word = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    // Type 1 is a byte that repeats.
    let len = if word >> 1 & 3 == 1 { 1 } else { word >> 3 };
    (len as usize, word & 1 == 1)
}

/// The sizes of the frames, for the seek table.
#[derive(Default)]
pub(crate) struct SeekTable {
    /// Entries as they stand in the file.
    bytes: Vec<u8>,
    /// There were too many.
    full: bool,
}

impl SeekTable {
    /// So many frames have a place in it (256 GB in chunks of 64 KB, 32 MB of memory). A file of more gets no table.
    const MOST: usize = 1 << 22;

    pub(crate) fn push(&mut self, packed: usize, data: usize) {
        self.full |= self.bytes.len() >= 8 * SeekTable::MOST;
        if !self.full {
            for size in [packed, data] {
                // Chunks are at most 2^30 bytes.
                self.bytes.extend_from_slice(&u32::try_from(size).unwrap_or(0).to_le_bytes());
            }
        }
    }

    /// What stands before and behind the entries, and these between; nothing where there were too many.
    pub(crate) fn parts(&self) -> ([u8; 8], &[u8], [u8; 9]) {
        let mut head = [0x5e, SKIPPABLE[0], SKIPPABLE[1], SKIPPABLE[2], 0, 0, 0, 0];
        let mut foot = [0, 0, 0, 0, 0, 0xb1, 0xea, 0x92, 0x8f];
        head[4..].copy_from_slice(&((self.bytes.len() + foot.len()) as u32).to_le_bytes());
        foot[..4].copy_from_slice(&((self.bytes.len() / 8) as u32).to_le_bytes());
        (head, &self.bytes, foot)
    }

    /// Whether there is one.
    pub(crate) fn is_there(&self) -> bool {
        !self.full
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers() {
        let read = |rest: &[u8]| {
            let read = Header::read(&[&MAGIC[..], rest].concat());
            read.map(|h| (h.len, h.content, h.checksum))
        };
        assert_eq!(read(&[0x24, 7]), Some((6, 7, true)));
        assert_eq!(read(&[0x60, 0, 1]), Some((7, 512, false)));
        assert_eq!(read(&[0xa4, 1, 2, 3, 4]), Some((9, 0x0403_0201, true)));
        assert_eq!(read(&[0xc0, 88, 1, 0, 0, 0, 0, 0, 0, 1]), Some((14, 1 << 56 | 1, false)));
        // Without size; with a dictionary; the reserved bit; not whole.
        for other in [&[0x00, 88][..], &[0x21, 1, 7], &[0x28, 7], &[0x24], &[0xa4, 1, 2, 3]] {
            assert_eq!(read(other), None, "{other:?}");
        }
        assert_eq!(Header::read(&[0x27, 0xb5, 0x2f, 0xfd, 0x24, 7]), None);
    }

    #[test]
    fn blocks_and_tables() {
        assert_eq!(block([0b0000_0001, 1, 0]), (32, true));
        assert_eq!(block([0b0000_0010, 1, 0]), (1, false));
        assert_eq!(block([0xfc, 0xff, 0xff]), (0x1f_ffff, false));
        let mut table = SeekTable::default();
        table.push(100, 65_536);
        table.push(7, 9);
        let (head, entries, foot) = table.parts();
        assert_eq!(head, [0x5e, 0x2a, 0x4d, 0x18, 25, 0, 0, 0]);
        assert_eq!(entries, [100, 0, 0, 0, 0, 0, 1, 0, 7, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(foot, [2, 0, 0, 0, 0, 0xb1, 0xea, 0x92, 0x8f]);
        let mut table = SeekTable { bytes: vec![0; 8 * SeekTable::MOST], full: false };
        table.push(1, 1);
        assert!(!table.is_there() && table.bytes.len() == 8 * SeekTable::MOST);
    }
}
