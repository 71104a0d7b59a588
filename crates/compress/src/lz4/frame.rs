//! The LZ4 frame around blocks (lz4_Frame_format.md).
//!
//! ```text
//! magic     04 22 4d 18
//! FLG       version 01, B.Indep, B.Checksum, C.Size, C.Checksum, reserved, DictID
//! BD        reserved, three bits of the largest block (4: 64 KB, 5: 256 KB, 6: 1 MB, 7: 4 MB), reserved
//! [8] [4]   content size, dictionary's number
//! HC        the second byte of the xxHash-32 of what stands between magic and HC
//! blocks    each: 4 bytes length (highest bit: stored), data, [4 bytes xxHash-32 of the data]
//! end mark  00 00 00 00
//! [4]       xxHash-32 of the content
//! ```
//!
//! A skippable frame is a magic of 184d2a50 to 184d2a5f, four bytes length, and so many bytes. All numbers are
//! little endian. The older "legacy" frames (184c2102) are not read.

use lookaside_spec::BadReason;

use crate::checksum::xxh32;

const MAGIC: u32 = 0x184d_2204;
/// The lowest of 16.
const SKIPPABLE: u32 = 0x184d_2a50;

const VERSION: u8 = 0x40;
const VERSION_MASK: u8 = 0xc0;
const INDEPENDENT: u8 = 0x20;
const BLOCK_CHECKSUM: u8 = 0x10;
const CONTENT_SIZE: u8 = 0x08;
const CONTENT_CHECKSUM: u8 = 0x04;
const FLG_RESERVED: u8 = 0x02;
const DICTIONARY: u8 = 0x01;
const BD_RESERVED: u8 = 0x8f;

/// The bit of a block's length that says: stored.
pub(crate) const STORED: u32 = 1 << 31;
/// The length of magic, FLG, BD, content size, dictionary's number, HC.
pub(crate) const MAX_HEADER: usize = 4 + 2 + 8 + 4 + 1;

/// What a frame's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Descriptor {
    pub(crate) block_bits: u8,
    pub(crate) independent: bool,
    pub(crate) block_checksum: bool,
    pub(crate) content_checksum: bool,
    pub(crate) content_size: Option<u64>,
    pub(crate) dictionary: Option<u32>,
}

impl Descriptor {
    /// Of the frames that we write.
    pub(crate) fn own(block_bits: u8, content_size: Option<u64>) -> Descriptor {
        Descriptor {
            block_bits,
            independent: true,
            block_checksum: false,
            content_checksum: true,
            content_size,
            dictionary: None,
        }
    }

    /// The most bytes that a block holds, compressed or not.
    pub(crate) fn block(&self) -> usize {
        1 << self.block_bits
    }

    /// The header: the bytes and how many they are.
    pub(crate) fn header(&self) -> ([u8; MAX_HEADER], usize) {
        let mut bytes = [0; MAX_HEADER];
        bytes[..4].copy_from_slice(&MAGIC.to_le_bytes());
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        bytes[4] = VERSION
            | flag(self.independent, INDEPENDENT)
            | flag(self.block_checksum, BLOCK_CHECKSUM)
            | flag(self.content_size.is_some(), CONTENT_SIZE)
            | flag(self.content_checksum, CONTENT_CHECKSUM)
            | flag(self.dictionary.is_some(), DICTIONARY);
        bytes[5] = ((self.block_bits - 8) / 2) << 4;
        let mut len = 6;
        if let Some(size) = self.content_size {
            bytes[len..len + 8].copy_from_slice(&size.to_le_bytes());
            len += 8;
        }
        if let Some(id) = self.dictionary {
            bytes[len..len + 4].copy_from_slice(&id.to_le_bytes());
            len += 4;
        }
        bytes[len] = check(&bytes[4..len]);
        (bytes, len + 1)
    }
}

/// HC.
fn check(descriptor: &[u8]) -> u8 {
    (xxh32(0, descriptor) >> 8) as u8
}

/// What a source begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// A frame; its header has so many bytes.
    Frame(Descriptor, usize),
    /// A skippable frame: 8 bytes, and so many.
    Skippable(u32),
    /// The beginning of either: more is needed.
    More,
}

/// Reads what a source begins with. An error has the offset of what is wrong.
pub(crate) fn start(src: &[u8]) -> Result<Start, (usize, BadReason)> {
    let word = |at: usize| src.get(at..at + 4).and_then(<[u8]>::first_chunk);
    let Some(&magic) = word(0) else {
        // Not to wait for more where it can be none.
        let possible = [MAGIC, SKIPPABLE].iter().any(|magic| {
            let magic = magic.to_le_bytes();
            src.iter().zip(magic).enumerate().all(|(i, (&byte, wanted))| {
                byte == wanted || (i == 0 && magic[0] == 0x50 && byte & 0xf0 == 0x50)
            })
        });
        return if possible { Ok(Start::More) } else { Err((0, BadReason::Header)) };
    };
    match u32::from_le_bytes(magic) {
        MAGIC => {}
        magic if magic & !15 == SKIPPABLE => {
            return Ok(
                word(4).map_or(Start::More, |&len| Start::Skippable(u32::from_le_bytes(len)))
            );
        }
        _ => return Err((0, BadReason::Header)),
    }
    let Some(&[flg, bd]) = src.get(4..6).and_then(<[u8]>::first_chunk) else {
        return Ok(Start::More);
    };
    if flg & VERSION_MASK != VERSION || flg & FLG_RESERVED != 0 {
        return Err((4, BadReason::Header));
    }
    if bd & BD_RESERVED != 0 || bd >> 4 < 4 {
        return Err((5, BadReason::Header));
    }
    let has = |flag: u8| flg & flag != 0;
    let id_at = if has(CONTENT_SIZE) { 14 } else { 6 };
    let len = if has(DICTIONARY) { id_at + 4 } else { id_at };
    let (Some(descriptor), Some(&hc)) = (src.get(4..len), src.get(len)) else {
        return Ok(Start::More);
    };
    if hc != check(descriptor) {
        return Err((len, BadReason::Header));
    }
    let content_size = src.get(6..14).and_then(<[u8]>::first_chunk).copied();
    Ok(Start::Frame(
        Descriptor {
            block_bits: 8 + 2 * (bd >> 4),
            independent: has(INDEPENDENT),
            block_checksum: has(BLOCK_CHECKSUM),
            content_checksum: has(CONTENT_CHECKSUM),
            content_size: content_size.filter(|_| has(CONTENT_SIZE)).map(u64::from_le_bytes),
            dictionary: word(id_at).filter(|_| has(DICTIONARY)).map(|&id| u32::from_le_bytes(id)),
        },
        len + 1,
    ))
}

/// What stands before a block: how long it is in the file, and whether it is stored. `None`: the end mark.
pub(crate) fn block_of(head: [u8; 4]) -> Option<(usize, bool)> {
    let word = u32::from_le_bytes(head);
    (word != 0).then_some(((word & !STORED) as usize, word & STORED != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        let (mut changes, mut misses) = (0, 0);
        for bits in [16, 18, 20, 22] {
            for rest in 0..32u32 {
                let has = |bit: u32| rest >> bit & 1 == 1;
                let d = Descriptor {
                    block_bits: bits,
                    independent: has(0),
                    block_checksum: has(1),
                    content_checksum: has(2),
                    content_size: has(3).then_some(0x0102_0304_0506_0708),
                    dictionary: has(4).then_some(0x1234_5678),
                };
                let (bytes, len) = d.header();
                let header = &bytes[..len];
                assert_eq!(start(header), Ok(Start::Frame(d, len)));
                for cut in 0..len {
                    assert_eq!(start(&header[..cut]), Ok(Start::More), "{d:?} {cut}");
                }
                for i in 0..len {
                    for bit in 0..8 {
                        let mut bad = bytes;
                        bad[i] ^= 1 << bit;
                        // A flag that adds a field may ask for more bytes.
                        let read = start(&bad[..len]);
                        let missed = !matches!(read, Err(_) | Ok(Start::More));
                        // HC is one byte: it misses one change in 256.
                        assert!(!missed || (4..len - 1).contains(&i), "{d:?} {i} {bit}");
                        changes += 1;
                        misses += u32::from(missed);
                    }
                }
            }
        }
        assert!(misses * 100 < changes, "{misses} of {changes}");
        for first in 0x50..=0x5f {
            let skippable = [first, 0x2a, 0x4d, 0x18, 1, 2, 0, 0];
            assert_eq!(start(&skippable), Ok(Start::Skippable(0x201)));
            assert_eq!(start(&skippable[..5]), Ok(Start::More));
        }
        assert!(start(&[0x60]).is_err() && start(&[0x02, 0x21, 0x4c, 0x18]).is_err());
    }
}
