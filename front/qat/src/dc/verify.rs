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

/// Writes stored blocks (RFC 1951 section 3.2.4), the last one final where the stream ends. Returns their size, or
/// `None` without room.
pub fn store(src: &Buf, dst: &mut Buf, last: bool) -> Option<usize> {
    const MOST: usize = 65_535;
    let mut plain = Vec::new();
    src.gather(&mut plain);
    let mut blocks = Vec::with_capacity(plain.len() + plain.len() / MOST * 5 + 5);
    let mut chunks = plain.chunks(MOST).peekable();
    loop {
        let chunk = chunks.next().unwrap_or_default();
        let end = chunks.peek().is_none();
        let len = chunk.len() as u16;
        blocks.push(u8::from(last && end));
        blocks.extend_from_slice(&len.to_le_bytes());
        blocks.extend_from_slice(&(!len).to_le_bytes());
        blocks.extend_from_slice(chunk);
        if end {
            break;
        }
    }
    (blocks.len() <= dst.len()).then(|| dst.scatter(&blocks))
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
            let size = store(&src, &mut dst, true).unwrap();
            let mut stored = dst.into_vec();
            stored.truncate(size);
            let process = Process::get().ok().unwrap();
            let codec = codec::of(process, &lookaside::Compression::default()).ok().unwrap();
            let response = process.call(codec.decompress(Buf::from(stored), Buf::zeroed(len)));
            assert_eq!(response.result.unwrap().produced, len);
            assert_eq!(response.dst.into_vec(), plain);
        }
        assert_eq!(store(&Buf::from(vec![0; 10]), &mut Buf::zeroed(14), true), None);
    }
}
