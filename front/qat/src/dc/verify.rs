//! Compress and verify: the result is decompressed and compared before the caller has it; with recovery, stored
//! blocks take the place of one that is wrong.

use lookaside::{Buf, Compression, Format};

use crate::{lock::Lock, process::Process};

use super::codec;

/// Buffers to decompress into, kept between requests.
static SPARE: Lock<Vec<Vec<u8>>> = Lock::new(Vec::new());
/// How many are kept, and how long one may be.
const MOST_SPARE: usize = 16;
const MOST_KEPT: usize = 1 << 20;

/// A buffer of at least `len` bytes.
pub fn take_spare(len: usize) -> Vec<u8> {
    let mut spare = SPARE.lock().or_empty().pop().unwrap_or_default();
    if spare.len() < len {
        spare.resize(len, 0);
    }
    spare
}

/// Keeps a buffer for the next one.
pub fn keep_spare(buffer: Vec<u8>) {
    let mut spare = SPARE.lock().or_empty();
    if spare.len() < MOST_SPARE && buffer.len() <= MOST_KEPT {
        spare.push(buffer);
    }
}

/// Whether `plain` is what `src` has.
pub fn is_equal(src: &Buf, mut plain: &[u8]) -> bool {
    for piece in src.segments() {
        let piece = piece.as_slice().unwrap_or_default();
        match plain.split_at_checked(piece.len()) {
            Some((head, rest)) if head == piece => plain = rest,
            _ => return false,
        }
    }
    plain.is_empty()
}

/// Decompresses what was compressed with these parameters and compares. `last`: it has an end.
pub fn is_right(
    process: &Process,
    spec: &Compression,
    src: &Buf,
    compressed: Vec<u8>,
    last: bool,
) -> bool {
    let mut ended = compressed;
    let codec = match spec.format.is_deflate() {
        true => codec::of(process, &Compression::default()),
        false => codec::of(process, spec),
    };
    if !last && spec.format.is_deflate() {
        // An empty last block.
        ended.extend_from_slice(&[0x03, 0x00]);
    }
    let Ok(codec) = codec else { return false };
    let room = Buf::from(take_spare(src.len()));
    let response = process.call(codec.decompress(Buf::from(ended), room));
    let plain = response.dst.into_vec();
    let right = response
        .result
        .is_ok_and(|done| done.produced == src.len() && is_equal(src, &plain[..done.produced]));
    keep_spare(plain);
    right
}

/// How far [`store`] came.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stored {
    /// The bytes of the source.
    pub consumed: usize,
    /// Those written.
    pub produced: usize,
    /// Whether all of the source is there.
    pub whole: bool,
}

/// Writes what takes no compressor, literals alone, in the format: all of them, or of stored blocks without an end as
/// many as there is room for.
pub fn store(spec: &Compression, src: &Buf, dst: &mut Buf, last: bool) -> Stored {
    let mut plain = Vec::new();
    src.gather(&mut plain);
    // Of a stored block: the most bytes, and what comes before them; whether one has to be there.
    let (most, head, least) = match spec.format {
        Format::Lz4Blocks => (1 << spec.block_bits, 4, 0),
        format if format.is_deflate() => (65_535, 5, 1),
        _ => {
            let all = match spec.format {
                Format::Zstd => zstd(&plain),
                Format::Lz4s => lz4s(&plain),
                _ => literals(&plain),
            };
            return match all.len() <= dst.len() {
                true => Stored { consumed: plain.len(), produced: dst.scatter(&all), whole: true },
                false => Stored::default(),
            };
        }
    };
    let whole = plain.len() + plain.len().div_ceil(most).max(least) * head <= dst.len();
    if !whole {
        plain.truncate(storable(dst.len(), most, head));
        if plain.is_empty() {
            return Stored::default();
        }
    }
    let blocks = match head {
        4 => lz4_blocks(&plain, most),
        _ => deflate(&plain, most, last && whole),
    };
    Stored { consumed: plain.len(), produced: dst.scatter(&blocks), whole }
}

/// How many bytes stored blocks have room for in `room`.
const fn storable(room: usize, most: usize, head: usize) -> usize {
    room / (most + head) * most + (room % (most + head)).saturating_sub(head)
}

/// Stored blocks of DEFLATE (RFC 1951 section 3.2.4), the last one final where the stream ends.
fn deflate(plain: &[u8], most: usize, last: bool) -> Vec<u8> {
    let mut blocks = Vec::new();
    let mut chunks = plain.chunks(most).peekable();
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let end = chunks.peek().is_none();
        let len = chunk.len() as u16;
        blocks.push(u8::from(last && end));
        blocks.extend_from_slice(&len.to_le_bytes());
        blocks.extend_from_slice(&(!len).to_le_bytes());
        blocks.extend_from_slice(chunk);
        if end {
            return blocks;
        }
    }
}

/// Stored blocks of LZ4: a length with the highest bit set before each.
fn lz4_blocks(plain: &[u8], most: usize) -> Vec<u8> {
    let block = |block: &[u8]| [&(block.len() as u32 | 1 << 31).to_le_bytes()[..], block].concat();
    plain.chunks(most).flat_map(block).collect()
}

/// A sequence of LZ4 or LZ4s without a match.
fn literals(plain: &[u8]) -> Vec<u8> {
    let mut sequence = vec![(plain.len().min(15) as u8) << 4];
    if let Some(more) = plain.len().checked_sub(15) {
        sequence.resize(1 + more / 255, 255);
        sequence.push((more % 255) as u8);
    }
    sequence.extend_from_slice(plain);
    sequence
}

/// Sequences of LZ4s without a match, each with as many literals as its readers take; all but the last have an offset,
/// which means nothing.
fn lz4s(plain: &[u8]) -> Vec<u8> {
    let sequences: Vec<_> = plain.chunks(65_535).map(literals).collect();
    match sequences.is_empty() {
        true => literals(&[]),
        false => sequences.join(&[0, 0][..]),
    }
}

/// A Zstandard frame of raw blocks (RFC 8878 section 3.1.1), with the content's size and without checksum.
fn zstd(plain: &[u8]) -> Vec<u8> {
    const MOST: usize = 128 << 10;
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0xe0];
    frame.extend_from_slice(&(plain.len() as u64).to_le_bytes());
    let mut chunks = plain.chunks(MOST).peekable();
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let end = chunks.peek().is_none();
        let head = (chunk.len() as u32) << 3 | u32::from(end);
        frame.extend_from_slice(&head.to_le_bytes()[..3]);
        frame.extend_from_slice(chunk);
        if end {
            return frame;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_compare_with_one() {
        let src = Buf::list(vec![Buf::from(vec![1, 2]), Buf::empty(), Buf::from(vec![3])]);
        assert!(is_equal(&src, &[1, 2, 3]));
        for wrong in [&[1, 2][..], &[1, 2, 4], &[1, 2, 3, 4], &[]] {
            assert!(!is_equal(&src, wrong), "{wrong:?}");
        }
    }

    #[test]
    fn what_is_stored_decodes() {
        let process = Process::get().ok().unwrap();
        for format in [Format::Raw, Format::Lz4Blocks, Format::Lz4Raw, Format::Lz4s, Format::Zstd] {
            let spec = Compression::new(format).block_bits(16);
            for len in [0, 1, 14, 15, 269, 270, 65_535, 65_536, 200_000] {
                let plain: Vec<u8> = (0..len).map(|n| n as u8).collect();
                let src = Buf::from(plain.clone());
                let mut dst = Buf::zeroed(len + len / 200 + 40);
                let stored = store(&spec, &src, &mut dst, true);
                assert_eq!((stored.consumed, stored.whole), (len, true), "{format}");
                let mut bytes = dst.into_vec();
                bytes.truncate(stored.produced);
                assert!(is_right(process, &spec, &src, bytes.clone(), true), "{format} {len}");
                let other = Buf::from(vec![9; len + 1]);
                assert!(!is_right(process, &spec, &other, bytes, true), "{format} {len}");
            }
        }
    }

    #[test]
    fn blocks_without_an_end_are_stored_where_there_is_little_room() {
        let deflate = Compression::default();
        let some = |consumed, produced| Stored { consumed, produced, whole: false };
        let mut part = Buf::zeroed(14);
        assert_eq!(store(&deflate, &Buf::from(vec![8; 10]), &mut part, true), some(9, 14));
        assert_eq!(part.into_vec()[..6], [0, 9, 0, 0xf6, 0xff, 8]);
        let none = Stored::default();
        assert_eq!(store(&deflate, &Buf::from(vec![8; 10]), &mut Buf::zeroed(5), true), none);
        let lz4 = Compression::new(Format::Lz4Blocks).block_bits(16);
        let mut part = Buf::zeroed(65_550);
        assert_eq!(store(&lz4, &Buf::from(vec![8; 70_000]), &mut part, true), some(65_542, 65_550));
        let part = part.into_vec();
        assert_eq!(
            (&part[..5], &part[65_540..65_545]),
            (&[0, 0, 1, 0x80, 8][..], &[6, 0, 0, 0x80, 8][..])
        );
        let frame = Compression::new(Format::Zstd);
        assert_eq!(store(&frame, &Buf::from(vec![8; 10]), &mut Buf::zeroed(20), true), none);
        assert_eq!(
            [65_540, 65_545, 65_546, 131_080].map(|room| storable(room, 65_535, 5)),
            [65_535, 65_535, 65_536, 131_070]
        );
    }
}
