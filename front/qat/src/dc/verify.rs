//! Compress and verify: the result is decompressed and compared before the caller has it; with recovery, stored
//! blocks take the place of one that is wrong.

use lookaside::Buf;

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

/// Decompresses what was compressed and compares. `last`: it has an end.
pub fn is_right(process: &Process, src: &Buf, compressed: Vec<u8>, last: bool) -> bool {
    let mut ended = compressed;
    if !last {
        // An empty last block.
        ended.extend_from_slice(&[0x03, 0x00]);
    }
    let Ok(codec) = codec::of(process, &lookaside::Compression::default()) else { return false };
    let room = Buf::from(take_spare(src.len()));
    let response = process.call(codec.decompress(Buf::from(ended), room));
    let plain = response.dst.into_vec();
    let right = response
        .result
        .is_ok_and(|done| done.produced == src.len() && is_equal(src, &plain[..done.produced]));
    keep_spare(plain);
    right
}

/// How many bytes stored blocks have room for in `room`.
const fn storable(room: usize) -> usize {
    let whole = room / (MOST + HEAD) * MOST;
    whole + (room % (MOST + HEAD)).saturating_sub(HEAD)
}

/// The longest stored block, and what comes before its bytes.
const MOST: usize = 65_535;
const HEAD: usize = 5;

/// Writes stored blocks (RFC 1951 section 3.2.4), the last one final where the stream ends. Returns how many bytes
/// they have, and their size: all, or without an end as many as there is room for.
pub fn store(src: &Buf, dst: &mut Buf, last: bool) -> (usize, usize) {
    let mut plain = Vec::new();
    src.gather(&mut plain);
    let size = plain.len() + plain.len().div_ceil(MOST).max(1) * HEAD;
    let whole = size <= dst.len();
    if !whole {
        plain.truncate(storable(dst.len()));
        if plain.is_empty() {
            return (0, 0);
        }
    }
    let mut blocks = Vec::with_capacity(size.min(dst.len()));
    let mut chunks = plain.chunks(MOST).peekable();
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let end = chunks.peek().is_none();
        let len = chunk.len() as u16;
        blocks.push(u8::from(last && whole && end));
        blocks.extend_from_slice(&len.to_le_bytes());
        blocks.extend_from_slice(&(!len).to_le_bytes());
        blocks.extend_from_slice(chunk);
        if end {
            break;
        }
    }
    (plain.len(), dst.scatter(&blocks))
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
    fn stored_blocks_decode() {
        for len in [0, 1, 65_535, 65_536, 200_000] {
            let plain: Vec<u8> = (0..len).map(|n| n as u8).collect();
            let src = Buf::from(plain.clone());
            let mut dst = Buf::zeroed(len + 40);
            let (all, size) = store(&src, &mut dst, true);
            assert_eq!(all, len);
            let mut stored = dst.into_vec();
            stored.truncate(size);
            let process = Process::get().ok().unwrap();
            let codec = codec::of(process, &lookaside::Compression::default()).ok().unwrap();
            let response = process.call(codec.decompress(Buf::from(stored), Buf::zeroed(len)));
            assert_eq!(response.result.unwrap().produced, len);
            assert_eq!(response.dst.into_vec(), plain);
        }
        let mut part = Buf::zeroed(14);
        assert_eq!(store(&Buf::from(vec![8; 10]), &mut part, true), (9, 14));
        assert_eq!(part.into_vec()[..6], [0, 9, 0, 0xf6, 0xff, 8]);
        assert_eq!(store(&Buf::from(vec![8; 10]), &mut Buf::zeroed(5), true), (0, 0));
        assert_eq!(
            [65_540, 65_545, 65_546, 131_080].map(storable),
            [65_535, 65_535, 65_536, 131_070]
        );
    }
}
