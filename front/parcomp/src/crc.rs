//! CRC-32 of joined pieces.

/// The CRC-32 of two pieces joined, from the checksum of each and the length of the second.
///
/// CRC-32 (RFC 1952 section 8) is a remainder modulo P, a polynomial over GF(2), here with the
/// coefficient of x^0 in the highest bit. To append n bytes is to multiply what was before by x^8n:
///
/// ```text
/// crc = first * x^(8 n) mod P  +  second
/// ```
///
/// What the initial and final complements add cancels out. x^(8 n) is made of squares of x^8.
pub fn crc32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    let mut power = ONE;
    let mut square = ONE >> 8;
    let mut len = second_len;
    while len > 0 {
        if len & 1 == 1 {
            power = multiply(power, square);
        }
        square = multiply(square, square);
        len >>= 1;
    }
    multiply(first, power) ^ second
}

/// P without x^32.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// x^0.
const ONE: u32 = 1 << 31;

/// `a * b mod P`.
fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for power in (0..32).rev() {
        if a >> power & 1 == 1 {
            product ^= b;
        }
        b = b >> 1 ^ if b & 1 == 1 { POLYNOMIAL } else { 0 };
    }
    product
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::crc32;

    #[test]
    fn joined_pieces_have_the_checksum_of_the_whole() {
        let data: Vec<u8> = (0..70_000u32).map(|i| (i.wrapping_mul(i) >> 5) as u8).collect();
        for len in [0, 1, 2, 9, 255, 4096, 65_521, data.len()] {
            for cut in [0, len / 3, len / 2, len] {
                let (a, b) = data[..len].split_at(cut);
                let joined = crc32_combine(crc32(0, a), crc32(0, b), b.len() as u64);
                assert_eq!(joined, crc32(0, &data[..len]), "{len} at {cut}");
            }
        }
    }
}
