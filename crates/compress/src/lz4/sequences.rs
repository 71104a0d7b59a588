//! The sequences of LZ4 and LZ4s blocks: a decoder for both, and the way from LZ4 to LZ4s.
//!
//! A sequence (lz4_Block_format.md):
//!
//! ```text
//! token     high half: number of literals; low half: code of the match
//! [255 ...] where the half is 15: more of the number, up to a byte below 255
//! literals
//! offset    two bytes, little endian, 1 to 65,535
//! [255 ...] more of the code, likewise
//! ```
//!
//! | | LZ4 | LZ4s |
//! |---|---|---|
//! | code m | a match of m + 4 bytes | m + 2 bytes; 0: no match, the offset has no meaning |
//! | end | after the literals of the last sequence | likewise, or after any other sequence |
//!
//! LZ4s is what QuickAssist devices make for Zstandard, whose shortest match is 3 bytes. Sequences without
//! match only carry literals on to the next one. Sources: QUICKASSIST's description of the interface, and how
//! the programs that read LZ4s take it.
//!
//! The decoder is plain code. For LZ4 it judges what liblz4 refuses: why and where, and whether at all (liblz4
//! also wants the last five bytes of a block to be literals, if the destination ends there).

/// Why a block was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The destination is full.
    Room,
    /// The block ends within a sequence.
    Truncated,
    /// A match reaches back to before the data.
    Distance,
}

/// The shortest match.
const LZ4_LEAST: usize = 4;
/// What LZ4s adds to a code; its shortest match has code 1.
const LZ4S_MORE: usize = 2;

/// As many bytes are copied at once, where there is room for them, though fewer are wanted: most literals and
/// matches are not longer, and a copy of fixed length is a load and a store.
const SHORT: usize = 32;

/// Copies [`SHORT`] bytes, of which the caller wants some. `None`: too close to an end for that.
#[inline(always)]
fn copy_short(src: &[u8], from: usize, dst: &mut [u8], to: usize) -> Option<()> {
    let chunk: &[u8; SHORT] = src.get(from..)?.first_chunk()?;
    *dst.get_mut(to..)?.first_chunk_mut::<SHORT>()? = *chunk;
    Some(())
}

/// Decodes the block `src` to `memory[start..end]`; matches may reach back into `memory[..start]`. Returns how
/// many bytes it has; an error has the offset in `src` at which it was noticed.
pub(crate) fn decode<const LZ4S: bool>(
    src: &[u8],
    memory: &mut [u8],
    start: usize,
    end: usize,
) -> Result<usize, (usize, Fault)> {
    let memory = memory.get_mut(..end).ok_or((0, Fault::Room))?;
    let (mut at, mut to) = (0, start);
    loop {
        let Some(&token) = src.get(at) else {
            // Nothing at all is no block.
            return if LZ4S && at > 0 { Ok(to - start) } else { Err((at, Fault::Truncated)) };
        };
        at += 1;
        let literals = number(token >> 4, src, &mut at)?;
        if literals > SHORT || copy_short(src, at, memory, to).is_none() {
            let Some(bytes) = src[at..].get(..literals) else {
                return Err((src.len(), Fault::Truncated));
            };
            let Some(place) = memory[to..].get_mut(..literals) else {
                return Err((at, Fault::Room));
            };
            place.copy_from_slice(bytes);
        }
        (at, to) = (at + literals, to + literals);
        if at == src.len() {
            return Ok(to - start);
        }
        let Some(&[low, high]) = src[at..].first_chunk() else {
            return Err((src.len(), Fault::Truncated));
        };
        at += 2;
        let code = number(token & 15, src, &mut at)?;
        let len = match LZ4S {
            true if code == 0 => continue,
            true => code + LZ4S_MORE,
            false => code + LZ4_LEAST,
        };
        let distance = usize::from(u16::from_le_bytes([low, high]));
        if distance == 0 || distance > to {
            return Err((at, Fault::Distance));
        }
        if len > memory.len() - to {
            return Err((at, Fault::Room));
        }
        copy_match(memory, to, distance, len);
        to += len;
    }
}

/// A number that begins with half a token.
#[inline]
fn number(half: u8, src: &[u8], at: &mut usize) -> Result<usize, (usize, Fault)> {
    let mut number = usize::from(half);
    if half == 15 {
        loop {
            let &byte = src.get(*at).ok_or((src.len(), Fault::Truncated))?;
            *at += 1;
            // At most 255 for each byte of the source: no overflow.
            number += usize::from(byte);
            if byte < 255 {
                break;
            }
        }
    }
    Ok(number)
}

/// `memory[to..to + len]` from `distance` bytes before: each byte from what may just have been written.
#[inline]
fn copy_match(memory: &mut [u8], to: usize, distance: usize, len: usize) {
    let from = to - distance;
    if len <= SHORT && memory.len() - to >= SHORT {
        // Halves, so that the second may read what the first has written.
        const HALF: usize = SHORT / 2;
        if distance >= HALF {
            for at in [0, HALF] {
                let &chunk = memory[from + at..].first_chunk::<HALF>().unwrap_or(&[0; HALF]);
                if let Some(place) = memory[to + at..].first_chunk_mut() {
                    *place = chunk;
                }
            }
            return;
        }
    }
    let mut done = 0;
    while done < len {
        // All from `from` on is there by now, and repeats.
        let part = (len - done).min(distance + done);
        memory.copy_within(from..from + part, to + done);
        done += part;
    }
}

/// Writes the LZ4s block with the sequences of `lz4`, a whole and valid block. `None`: it does not fit.
pub(crate) fn lz4s_of(lz4: &[u8], dst: &mut [u8]) -> Option<usize> {
    let (mut at, mut to) = (0, 0);
    while let Some(&token) = lz4.get(at) {
        let head = at;
        at += 1;
        let literals = number(token >> 4, lz4, &mut at).ok()?;
        let end = at + literals;
        let last = end == lz4.len();
        let body_end = if last { end } else { end + 2 };
        let body = lz4.get(head..body_end)?;
        at = body_end;
        let code = match last {
            true => 0,
            false => number(token & 15, lz4, &mut at).ok()? + LZ4_LEAST - LZ4S_MORE,
        };
        if body.len() > SHORT || copy_short(lz4, head, dst, to).is_none() {
            dst.get_mut(to..)?.get_mut(..body.len())?.copy_from_slice(body);
        }
        dst[to] = token & 0xf0 | code.min(15) as u8;
        to += body.len();
        if code >= 15 {
            let mut rest = code - 15;
            while rest >= 255 {
                *dst.get_mut(to)? = 255;
                (to, rest) = (to + 1, rest - 255);
            }
            *dst.get_mut(to)? = rest as u8;
            to += 1;
        }
    }
    Some(to)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lz4s(src: &[u8], room: usize) -> Result<Vec<u8>, (usize, Fault)> {
        let mut memory = vec![0; room];
        let len = decode::<true>(src, &mut memory, 0, room)?;
        memory.truncate(len);
        Ok(memory)
    }

    /// Blocks by hand, from the description alone.
    #[test]
    fn lz4s_by_hand() {
        // "abc", then 3 bytes from 3 before (code 1), then "de".
        let block = [0x31, b'a', b'b', b'c', 3, 0, 0x20, b'd', b'e'];
        assert_eq!(lz4s(&block, 8).unwrap(), b"abcabcde");
        // Code 0 is no match, whatever the offset says; the literals go on.
        let block = [0x20, b'a', b'b', 0xff, 0xff, 0x21, b'c', b'd', 4, 0];
        assert_eq!(lz4s(&block, 9).unwrap(), b"abcdabc");
        // Code 15 + 255 + 3: 273 + 2 bytes.
        let block = [0x1f, b'x', 1, 0, 255, 3];
        assert_eq!(lz4s(&block, 300).unwrap(), [b'x'; 276]);
        assert_eq!(lz4s(&block, 275), Err((6, Fault::Room)));
        assert_eq!(lz4s(&[0x11, b'x', 2, 0], 9), Err((4, Fault::Distance)));
        assert_eq!(lz4s(&[0x11, b'x', 0, 0], 9), Err((4, Fault::Distance)));
        assert_eq!(lz4s(&[0x11, b'x', 1], 9), Err((3, Fault::Truncated)));
        assert_eq!(lz4s(&[], 9), Err((0, Fault::Truncated)));
    }

    #[test]
    fn the_same_sequences_with_other_codes() {
        // LZ4: "abcd", 4 bytes (code 0); 17 (code 13), 18 (code 14) and 300 bytes; "e".
        let lz4 = [
            0x40, b'a', b'b', b'c', b'd', 4, 0, 0x0d, 1, 0, 0x0e, 9, 0, 0x0f, 2, 0, 255, 26, 0x10,
            b'e',
        ];
        let mut dst = [0; 64];
        let len = lz4s_of(&lz4, &mut dst).unwrap();
        assert_eq!(
            dst[..len],
            [
                0x42, b'a', b'b', b'c', b'd', 4, 0, 0x0f, 1, 0, 0, 0x0f, 9, 0, 1, 0x0f, 2, 0, 255,
                28, 0x10, b'e'
            ]
        );
        let (mut one, mut other) = ([0; 400], [0; 400]);
        let n = decode::<false>(&lz4, &mut one, 0, 400).unwrap();
        assert_eq!(decode::<true>(&dst[..len], &mut other, 0, 400), Ok(n));
        assert_eq!((n, one), (4 + 4 + 17 + 18 + 300 + 1, other));
        for room in 0..len {
            assert_eq!(lz4s_of(&lz4, &mut dst[..room]), None, "{room}");
        }
    }

    #[test]
    fn matches_overlap_and_reach_into_what_is_before() {
        for distance in 1..40 {
            for len in 4..80 {
                let mut memory: Vec<u8> = (0..200).collect();
                copy_match(&mut memory, 100, distance, len);
                for i in 0..len {
                    assert_eq!(memory[100 + i], memory[100 + i - distance], "{distance} {len}");
                }
            }
        }
    }
}
