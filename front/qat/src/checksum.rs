//! Checksums that the service does not return: of both kinds at once, of compressed bytes, with a seed, with a
//! polynomial of the caller's.
//!
//! The service's own come with its results; these are for what programs rarely ask for, so they are short.

/// CRC-32 as in gzip: tables for eight bytes at a time.
static CRC32: [[u32; 256]; 8] = crc32_tables();

const POLYNOMIAL: u32 = 0xedb8_8320;

const fn crc32_tables() -> [[u32; 256]; 8] {
    let mut tables = [[0; 256]; 8];
    let mut n = 0;
    while n < 256 {
        let (mut crc, mut bit) = (n as u32, 0);
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ POLYNOMIAL } else { crc >> 1 };
            bit += 1;
        }
        tables[0][n] = crc;
        n += 1;
    }
    let mut table = 1;
    while table < 8 {
        let mut n = 0;
        while n < 256 {
            let before = tables[table - 1][n];
            tables[table][n] = before >> 8 ^ tables[0][before as usize & 255];
            n += 1;
        }
        table += 1;
    }
    tables
}

/// CRC-32 of what `crc` is the CRC-32 of, and then these bytes. It begins with 0.
pub fn crc32(crc: u32, bytes: &[u8]) -> u32 {
    let mut crc = !crc;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        let low = u32::from_le_bytes([chunk[0], chunk[1], chunk[2], chunk[3]]) ^ crc;
        let byte = |n: u32| low as usize >> n & 255;
        crc = CRC32[7][byte(0)]
            ^ CRC32[6][byte(8)]
            ^ CRC32[5][byte(16)]
            ^ CRC32[4][byte(24)]
            ^ CRC32[3][chunk[4] as usize]
            ^ CRC32[2][chunk[5] as usize]
            ^ CRC32[1][chunk[6] as usize]
            ^ CRC32[0][chunk[7] as usize];
    }
    for byte in rest {
        crc = crc >> 8 ^ CRC32[0][(crc as u8 ^ byte) as usize];
    }
    !crc
}

/// `a * b` modulo the polynomial, bits reflected.
fn multiply(a: u32, mut b: u32) -> u32 {
    let mut product = 0;
    for bit in (0..32).rev() {
        if a >> bit & 1 == 1 {
            product ^= b;
        }
        b = if b & 1 == 1 { b >> 1 ^ POLYNOMIAL } else { b >> 1 };
    }
    product
}

/// The CRC-32 of two pieces, from each one's and the second one's length.
pub fn crc32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    // x^(8 * len), by squares: x^8 to begin with.
    let (mut square, mut shift, mut n) = (1 << 23, 1 << 31, second_len);
    while n > 0 {
        if n & 1 == 1 {
            shift = multiply(shift, square);
        }
        square = multiply(square, square);
        n >>= 1;
    }
    multiply(shift, first) ^ second
}

const BASE: u32 = 65_521;

/// Adler-32 of what `adler` is that of, and then these bytes. It begins with 1.
pub fn adler32(adler: u32, bytes: &[u8]) -> u32 {
    /// The most bytes whose sums fit in 32 bits, as in zlib.
    const CHUNK: usize = 5552;
    let (mut a, mut b) = (adler & 0xffff, adler >> 16);
    for chunk in bytes.chunks(CHUNK) {
        for byte in chunk {
            a += u32::from(*byte);
            b += a;
        }
        (a, b) = (a % BASE, b % BASE);
    }
    b << 16 | a
}

/// The Adler-32 of two pieces, from each one's and the second one's length.
pub fn adler32_combine(first: u32, second: u32, second_len: u64) -> u32 {
    let len = (second_len % u64::from(BASE)) as u32;
    let (a1, b1) = (first & 0xffff, first >> 16);
    let (a2, b2) = (second & 0xffff, second >> 16);
    // The first one's `a` counts once for each byte of the second, whose own began with 1.
    let a = (a1 + a2 + BASE - 1) % BASE;
    let b = (u64::from(len) * u64::from(a1 + BASE - 1) + u64::from(b1 + b2)) % u64::from(BASE);
    (b as u32) << 16 | a
}

/// A CRC of 64 bits by its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crc64 {
    /// The polynomial, most significant bit first, without x^64.
    pub polynomial: u64,
    /// What it begins with.
    pub initial: u64,
    /// Whether bytes go in with their least significant bit first.
    pub reflect_in: bool,
    /// Whether the result is turned round.
    pub reflect_out: bool,
    /// What the result is changed by.
    pub xor_out: u64,
}

impl Crc64 {
    /// ECMA-182, which the interface starts from.
    pub const ECMA: Crc64 = Crc64 {
        polynomial: 0x42f0_e1eb_a9ea_3693,
        initial: 0,
        reflect_in: false,
        reflect_out: false,
        xor_out: 0,
    };

    /// The CRC of pieces, one after the other.
    pub fn of<'a>(&self, pieces: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut table = [0_u64; 256];
        for (n, entry) in table.iter_mut().enumerate() {
            *entry = (0..8).fold((n as u64) << 56, |crc, _| {
                if crc >> 63 == 1 { crc << 1 ^ self.polynomial } else { crc << 1 }
            });
        }
        let mut crc = self.initial;
        for piece in pieces {
            for byte in piece {
                let byte = if self.reflect_in { byte.reverse_bits() } else { *byte };
                crc = crc << 8 ^ table[((crc >> 56) as u8 ^ byte) as usize];
            }
        }
        let crc = if self.reflect_out { crc.reverse_bits() } else { crc };
        crc ^ self.xor_out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: &[u8] = b"123456789";

    #[test]
    fn check_values_of_the_catalogue() {
        assert_eq!(crc32(0, CHECK), 0xcbf4_3926);
        assert_eq!(adler32(1, CHECK), 0x091e_01de);
        assert_eq!(Crc64::ECMA.of([CHECK]), 0x6c40_df5f_0b49_7347);
        let xz = Crc64 {
            initial: u64::MAX,
            reflect_in: true,
            reflect_out: true,
            xor_out: u64::MAX,
            ..Crc64::ECMA
        };
        assert_eq!(xz.of([&CHECK[..4], &CHECK[4..]]), 0x995d_c9bb_df19_39fa);
    }

    #[test]
    fn pieces_combine() {
        let bytes: Vec<u8> = (0..100_000_u64).map(|n| ((n * n) >> 7) as u8).collect();
        for split in [0, 1, 7, 5_552, 65_521, 99_999, 100_000] {
            let (first, second) = bytes.split_at(split);
            let len = second.len() as u64;
            let crc = crc32_combine(crc32(0, first), crc32(0, second), len);
            assert_eq!(crc, crc32(0, &bytes), "{split}");
            assert_eq!(crc32(crc32(0, first), second), crc);
            let adler = adler32_combine(adler32(1, first), adler32(1, second), len);
            assert_eq!(adler, adler32(1, &bytes), "{split}");
            assert_eq!(adler32(adler32(1, first), second), adler);
        }
    }
}
