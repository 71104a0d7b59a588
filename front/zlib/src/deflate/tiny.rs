//! A few bytes as one block of literals with fixed codes (RFC 1951 section 3.2.6): smaller than a
//! stored one, which for less than eight bytes is more than the bound allows with memLevel 9.

/// The most bytes that are coded here.
pub(crate) const MOST: usize = 8;

/// Room for them: 3 bits, 9 for each byte, 7 at the end.
pub(crate) const ROOM: usize = (3 + 9 * MOST + 7).div_ceil(8);

/// Writes `data`, at most [`MOST`] bytes, as a whole stream to `dst`. Returns its length.
pub(crate) fn whole(data: &[u8], dst: &mut [u8; ROOM]) -> usize {
    // The last block (1), fixed codes (01).
    let (mut bits, mut count) = (0b011u128, 3u32);
    for &byte in data {
        // Codes stand with their first bit first.
        let (code, len) = match byte {
            0..144 => (0x30 + u16::from(byte), 8),
            _ => (0x190 + u16::from(byte - 144), 9),
        };
        bits |= u128::from(code.reverse_bits() >> (16 - len)) << count;
        count += len;
    }
    // The end of the block is seven zeros.
    count += 7;
    let len = count.div_ceil(8) as usize;
    dst[..len].copy_from_slice(&bits.to_le_bytes()[..len]);
    len
}
