//! The gzip members that this crate writes: each with its lengths in the extra field.
//!
//! A member (RFC 1952 section 2.3):
//!
//! ```text
//!  0  1f 8b 08   magic, DEFLATE
//!  3  04         FLG: FEXTRA alone
//!  4  00000000   MTIME: unknown
//!  8  XFL        2 best, 4 fastest, else 0
//!  9  ff         OS: unknown (the same output on every system)
//! 10  000c       XLEN = 12
//! 12  'L' 'A'    subfield
//! 14  0008       its length
//! 16  u32        length of the whole member: header, data and trailer
//! 20  u32        length of the data when decompressed
//! 24  ...        DEFLATE
//!     u32 u32    CRC-32, ISIZE
//! ```
//!
//! All numbers are little endian. The index is a hint and never trusted: [`Index::read`] refuses
//! what cannot be, and what comes out is compared with what was promised.

/// The length of the header.
pub(crate) const HEADER: usize = 24;
/// The length of the trailer.
pub(crate) const TRAILER: usize = 8;
/// The most that DEFLATE can expand: a length-distance pair of 2 bits stands for 258 bytes.
const MAX_EXPANSION: u64 = 1032;

/// The two lengths of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Index {
    /// Of the whole member.
    pub(crate) member: u32,
    /// Of its data when decompressed.
    pub(crate) data: u32,
}

impl Index {
    /// The index of the member that `start` (at least its first 24 bytes) begins, if it has the
    /// header that [`header`] writes and lengths that are possible.
    pub(crate) fn read(start: &[u8]) -> Option<Index> {
        let h: &[u8; HEADER] = start.first_chunk()?;
        let same = h[..8] == [0x1f, 0x8b, 8, 4, 0, 0, 0, 0] && h[10..16] == *b"\x0c\x00LA\x08\x00";
        let word = |i: usize| u32::from_le_bytes([h[i], h[i + 1], h[i + 2], h[i + 3]]);
        let index = Index { member: word(16), data: word(20) };
        // The smallest DEFLATE stream is 2 bytes (03 00).
        let body = u64::from(index.member).checked_sub((HEADER + TRAILER) as u64)?;
        let possible = body >= 2 && u64::from(index.data) <= body * MAX_EXPANSION;
        (same && possible).then_some(index)
    }
}

/// The length of a header of BGZF (the SAM/BAM specification, section 4.1), as `bgzip` writes it.
const BGZF_HEADER: usize = 18;
/// The most that a member of BGZF holds.
const BGZF_DATA: u32 = 1 << 16;

/// The length of the BGZF member that `start` (at least its header) begins: at least header and trailer, at most 64 KB.
///
/// ```text
///  0  1f 8b 08 04 ...   as above; any time, XFL and OS
/// 10  0006              XLEN = 6
/// 12  'B' 'C' 0002      subfield, its length
/// 16  u16               length of the whole member, less 1
/// ```
pub(crate) fn bgzf(start: &[u8]) -> Option<usize> {
    let h: &[u8; BGZF_HEADER] = start.first_chunk()?;
    let same = h[..4] == [0x1f, 0x8b, 8, 4] && h[10..16] == *b"\x06\x00BC\x02\x00";
    let len = usize::from(u16::from_le_bytes([h[16], h[17]])) + 1;
    (same && len >= BGZF_HEADER + 2 + TRAILER).then_some(len)
}

/// What the member that is all of `member` says that it decompresses to: one with our index, or of BGZF.
pub(crate) fn promised(member: &[u8]) -> Option<u32> {
    if let Some(index) = Index::read(member) {
        return Some(index.data);
    }
    bgzf(member).filter(|&len| len == member.len())?;
    // Its own length is in the trailer alone.
    let data = u32::from_le_bytes(*member.last_chunk()?);
    (data <= BGZF_DATA).then_some(data)
}

/// The length of the header of such a member.
pub(crate) fn header_len(member: &[u8]) -> usize {
    if bgzf(member).is_some() { BGZF_HEADER } else { HEADER }
}

/// The header of a member with `body` bytes of DEFLATE that decompress to `data` bytes.
pub(crate) fn header(level: u8, body: usize, data: usize) -> [u8; HEADER] {
    let mut h = [0; HEADER];
    h[..4].copy_from_slice(&[0x1f, 0x8b, 8, 4]);
    h[8] = match level {
        1 => 4,
        9.. => 2,
        _ => 0,
    };
    h[9] = 0xff;
    h[10..16].copy_from_slice(b"\x0c\x00LA\x08\x00");
    // Chunks are at most 2^30 bytes (`Params::MAX_CHUNK`), so both fit.
    let member = u32::try_from(HEADER + body + TRAILER).unwrap_or(0);
    h[16..20].copy_from_slice(&member.to_le_bytes());
    h[20..].copy_from_slice(&u32::try_from(data).unwrap_or(0).to_le_bytes());
    h
}

/// The trailer of a member.
pub(crate) fn trailer(crc: u32, data: usize) -> [u8; TRAILER] {
    let mut t = [0; TRAILER];
    t[..4].copy_from_slice(&crc.to_le_bytes());
    // ISIZE is defined modulo 2^32.
    t[4..].copy_from_slice(&(data as u32).to_le_bytes());
    t
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_bgzf() {
        let mut m =
            b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0".to_vec();
        assert_eq!((bgzf(&m), promised(&m), header_len(&m)), (Some(28), Some(0), 18));
        assert_eq!((bgzf(&m[..17]), promised(&m[..27])), (None, None));
        m[26] = 1;
        assert_eq!(promised(&m), Some(1 << 16));
        m[24] = 1;
        assert_eq!(promised(&m), None);
        m[16] = 26;
        assert_eq!(bgzf(&m), None);
        let ours = header(1, 1000, 65_536);
        assert_eq!((bgzf(&ours), header_len(&ours)), (None, HEADER));
    }

    #[test]
    fn reads_what_it_writes_and_nothing_else() {
        let h = header(1, 1000, 65_536);
        assert_eq!(Index::read(&h), Some(Index { member: 1032, data: 65_536 }));
        assert_eq!(Index::read(&h[..23]), None);
        for i in 0..16 {
            let mut bad = h;
            bad[i] ^= 0x10;
            let ignorable = i == 8 || i == 9;
            assert_eq!(Index::read(&bad).is_some(), ignorable, "byte {i}");
        }
        // Impossible lengths.
        assert_eq!(Index::read(&header(1, 1, 0)), None);
        assert_eq!(Index::read(&header(1, 10, 10 * 1032 + 1)), None);
        assert!(Index::read(&header(1, 10, 10 * 1032)).is_some());
        let mut short = h;
        short[16..20].copy_from_slice(&31u32.to_le_bytes());
        assert_eq!(Index::read(&short), None);
    }
}
