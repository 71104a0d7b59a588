//! Adler-32 of joined pieces.

/// The Adler-32 of two pieces joined, from the checksum of each and the length of the second.
///
/// Adler-32 (RFC 1950 section 8) of bytes `d[1..=n]` is `b << 16 | a`, modulo M = 65521, with
///
/// ```text
/// a = 1 + sum d[i]
/// b = n + sum (n + 1 - i) d[i]
/// ```
///
/// Let the pieces have (a1, b1) over n1 bytes and (a2, b2) over n2. In the joined string:
///
/// ```text
/// a = 1 + (a1 - 1) + (a2 - 1) = a1 + a2 - 1
/// b = n1 + n2 + sum_first (n1 + n2 + 1 - i) d[i] + sum_second (n2 + 1 - i) d[i]
///   = n1 + sum_first (n1 + 1 - i) d[i]  +  n2 * sum_first d[i]  +  n2 + sum_second (...) d[i]
///   = b1 + n2 (a1 - 1) + b2
/// ```
pub fn adler32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    const M: u64 = 65521;
    let (a1, b1) = (u64::from(first & 0xffff), u64::from(first >> 16));
    let (a2, b2) = (u64::from(second & 0xffff), u64::from(second >> 16));
    // M - 1 stands for -1: nothing goes below zero. A product of two numbers below M fits 64 bits.
    let a = (a1 + a2 + M - 1) % M;
    let b = (b1 + b2 + (second_len % M) * ((a1 + M - 1) % M)) % M;
    (b << 16 | a) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ffi::{adler32, zlib_adler32_combine};

    #[test]
    fn agrees_with_zlib_and_with_the_whole() {
        let data: Vec<u8> =
            (0u32..200_000).map(|i| (i.wrapping_mul(i) >> 7) as u8 | 0xc0).collect();
        for cut in [0, 1, 2, 100, 65520, 65521, 65522, 131_042, 199_999, 200_000] {
            let (x, y) = data.split_at(cut);
            let (ax, ay) = (adler32(1, x), adler32(1, y));
            let joined = adler32_combine(ax, ay, y.len() as u64);
            assert_eq!(joined, adler32(1, &data), "cut {cut}");
            assert_eq!(joined, zlib_adler32_combine(ax, ay, y.len() as u64), "cut {cut}");
        }
        // Lengths beyond any buffer, and the extreme sums.
        for len in [u64::from(u32::MAX), 1 << 40, (1 << 62) + 12345] {
            for first in [1, 0xfff0_fff0, 0x0001_0000, 0x1234_5678] {
                let want = zlib_adler32_combine(first, 0xfff0_0001, len);
                assert_eq!(adler32_combine(first, 0xfff0_0001, len), want, "{first:x} {len}");
            }
        }
    }
}
