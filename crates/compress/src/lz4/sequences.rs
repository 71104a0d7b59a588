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
//! | code m | a match of m + 4 bytes | m + 2 bytes, or m + 3 (shortest match 4); 0: no match, the offset has no meaning |
//! | end | after the literals of the last sequence | likewise, or after any other sequence |
//! | at most | | 65,535 literals and 65,535 bytes of a match in each sequence that we write |
//!
//! LZ4s is what QuickAssist devices make for Zstandard, whose shortest match is 3 bytes. Sequences without
//! match only carry literals on to the next one. Sources: QUICKASSIST's description of the interface, and how
//! the programs that read LZ4s take it: QATzip's and the Zstandard plugin's keep both lengths in 16 bits.
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
/// The most literals, and the longest match, of a sequence of LZ4s.
const LZ4S_MOST: usize = 65_535;

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

/// What is added to codes, as [`decode`]'s parameter: LZ4.
pub(crate) const LZ4: usize = LZ4_LEAST;

/// Decodes the block `src` to `memory[start..end]`; matches may reach back into `memory[..start]`. Returns how
/// many bytes it has; an error has the offset in `src` at which it was noticed. Codes mean `MORE` bytes more: [`LZ4`],
/// or less for LZ4s.
pub(crate) fn decode<const MORE: usize>(
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
            return if MORE != LZ4 && at > 0 {
                Ok(to - start)
            } else {
                Err((at, Fault::Truncated))
            };
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
        if MORE != LZ4 && code == 0 {
            continue;
        }
        let len = code + MORE;
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

/// What the matches of an LZ4s block may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lz4s {
    /// The most bytes that a match reaches back.
    pub(crate) window: usize,
    /// What codes mean more.
    pub(crate) more: usize,
}

/// Writes the LZ4s block with the sequences of `lz4`, a whole and valid block of `src`. Matches from beyond the window
/// become literals. `None`: it does not fit.
pub(crate) fn lz4s_of(lz4: &[u8], src: &[u8], of: Lz4s, dst: &mut [u8]) -> Option<usize> {
    let mut to = Lz4sWriter { src, dst, at: 0 };
    let (mut at, mut from, mut end) = (0, 0, 0);
    while let Some(&token) = lz4.get(at) {
        at += 1;
        let literals = number(token >> 4, lz4, &mut at).ok()?;
        (at, end) = (at + literals, end + literals);
        let Some(&offset) = lz4.get(at..).and_then(<[u8]>::first_chunk::<2>) else { break };
        at += 2;
        let len = number(token & 15, lz4, &mut at).ok()? + LZ4_LEAST;
        if usize::from(u16::from_le_bytes(offset)) <= of.window {
            from = to.literals(from, end)?;
            let mut rest = len;
            while rest > LZ4S_MOST {
                // What is left is a match, too.
                let part = LZ4S_MOST - LZ4_LEAST;
                to.sequence(from, end, Some((offset, part - of.more)))?;
                (from, rest) = (end, rest - part);
            }
            to.sequence(from, end, Some((offset, rest - of.more)))?;
            from = end + len;
        }
        end += len;
    }
    from = to.literals(from, end)?;
    to.sequence(from, end, None)?;
    Some(to.at)
}

struct Lz4sWriter<'a> {
    src: &'a [u8],
    dst: &'a mut [u8],
    at: usize,
}

impl Lz4sWriter<'_> {
    /// Sequences without match, until those from `from` on fit in one. Returns where it begins.
    #[inline(always)]
    fn literals(&mut self, mut from: usize, end: usize) -> Option<usize> {
        while end - from > LZ4S_MOST {
            self.sequence(from, from + LZ4S_MOST, Some(([0; 2], 0)))?;
            from += LZ4S_MOST;
        }
        Some(from)
    }

    /// One sequence: the literals `src[from..end]`; offset and code.
    #[inline(always)]
    fn sequence(&mut self, from: usize, end: usize, found: Option<([u8; 2], usize)>) -> Option<()> {
        let literals = end - from;
        let code = found.map_or(0, |(_, code)| code);
        *self.dst.get_mut(self.at)? = (literals.min(15) << 4 | code.min(15)) as u8;
        self.at += 1;
        self.rest(literals)?;
        if literals > SHORT || copy_short(self.src, from, self.dst, self.at).is_none() {
            let place = self.dst.get_mut(self.at..)?.get_mut(..literals)?;
            place.copy_from_slice(self.src.get(from..end)?);
        }
        self.at += literals;
        if let Some((offset, code)) = found {
            *self.dst.get_mut(self.at..)?.first_chunk_mut()? = offset;
            self.at += 2;
            self.rest(code)?;
        }
        Some(())
    }

    /// What of a number has no room in half a token.
    #[inline(always)]
    fn rest(&mut self, number: usize) -> Option<()> {
        let Some(mut rest) = number.checked_sub(15) else { return Some(()) };
        while rest >= 255 {
            *self.dst.get_mut(self.at)? = 255;
            (self.at, rest) = (self.at + 1, rest - 255);
        }
        *self.dst.get_mut(self.at)? = rest as u8;
        self.at += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lz4s(src: &[u8], room: usize) -> Result<Vec<u8>, (usize, Fault)> {
        let mut memory = vec![0; room];
        let len = decode::<2>(src, &mut memory, 0, room)?;
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
        let mut src = [0; 400];
        let n = decode::<LZ4>(&lz4, &mut src, 0, 400).unwrap();
        assert_eq!(n, 4 + 4 + 17 + 18 + 300 + 1);
        let src = &src[..n];
        let of = Lz4s { window: 1 << 15, more: 2 };
        let mut dst = [0; 64];
        let len = lz4s_of(&lz4, src, of, &mut dst).unwrap();
        let rest = [0x0f, 1, 0, 0, 0x0f, 9, 0, 1, 0x0f, 2, 0, 255, 28, 0x10, b'e'];
        assert_eq!(dst[..len], [&[0x42, b'a', b'b', b'c', b'd', 4, 0], &rest[..]].concat());
        for room in 0..len {
            assert_eq!(lz4s_of(&lz4, src, of, &mut dst[..room]), None, "{room}");
        }
        // With a shortest match of 4: one less.
        let len = lz4s_of(&lz4, src, Lz4s { more: 3, ..of }, &mut dst).unwrap();
        let rest = [0x0e, 1, 0, 0x0f, 9, 0, 0, 0x0f, 2, 0, 255, 27, 0x10, b'e'];
        assert_eq!(dst[..len], [&[0x41, b'a', b'b', b'c', b'd', 4, 0], &rest[..]].concat());
        let mut back = [0; 400];
        assert_eq!(decode::<3>(&dst[..len], &mut back, 0, 400), Ok(n));
        assert_eq!(back[..n], *src);
        // A window of 4 bytes: the match from 9 before becomes literals.
        let len = lz4s_of(&lz4, src, Lz4s { window: 4, more: 2 }, &mut dst).unwrap();
        assert_eq!(dst[..11], [0x42, b'a', b'b', b'c', b'd', 4, 0, 0x0f, 1, 0, 0]);
        assert_eq!(dst[11..13], [0xff, 3]);
        assert_eq!(decode::<2>(&dst[..len], &mut back, 0, 400), Ok(n));
        assert_eq!(back[..n], *src);
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
