//! The two polynomials, with all that is derived from them when this is compiled.
//!
//! Reflected: the lowest bit of a number is the coefficient of the highest power.

/// A CRC of 32 or 64 bits. One of 32 is held in the low half of 64.
pub(super) struct Crc {
    /// Entry `b` of table `k`: the remainder of the byte `b` and `k` bytes of zeros after it.
    tables: [[u64; 256]; 8],
    #[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
    pub keys: Keys,
}

/// [`Crc::fold_by`] of the distances that vectors need.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Keys {
    pub bits_128: [u64; 2],
    pub bits_512: [u64; 2],
    pub bits_1024: [u64; 2],
    pub bits_4096: [u64; 2],
}

/// ISO 3309: 0x04C11DB7.
pub(super) static GZIP: Crc = Crc::new(32, 0x04c1_1db7_u32.reverse_bits() as u64);

/// ECMA-182: 0x42F0E1EBA9EA3693.
pub(super) static ECMA_182: Crc = Crc::new(64, 0x42f0_e1eb_a9ea_3693_u64.reverse_bits());

impl Crc {
    const fn new(width: u32, polynomial: u64) -> Crc {
        let mut tables = [[0; 256]; 8];
        let mut byte = 0;
        while byte < 256 {
            let mut value = byte as u64;
            let mut i = 0;
            while i < 8 {
                value = times_x(value, polynomial);
                i += 1;
            }
            tables[0][byte] = value;
            byte += 1;
        }
        let mut k = 1;
        while k < 8 {
            let mut byte = 0;
            while byte < 256 {
                let before: u64 = tables[k - 1][byte];
                tables[k][byte] = (before >> 8) ^ tables[0][(before & 0xff) as usize];
                byte += 1;
            }
            k += 1;
        }
        let keys = Keys {
            bits_128: Crc::fold_by(128, width, polynomial),
            bits_512: Crc::fold_by(512, width, polynomial),
            bits_1024: Crc::fold_by(1024, width, polynomial),
            bits_4096: Crc::fold_by(4096, width, polynomial),
        };
        Crc { tables, keys }
    }

    /// The factors that move 128 bits `distance` bits on: for their first 64, and for their last.
    ///
    /// In a register of 128 bits, bit `i` is the coefficient of `x^(127 - i)`. The low half `L` weighs
    /// `x^64`, the high half `H` 1, and the carry-less product of two reflected numbers of 64 bits,
    /// read as such a register, is `x` times the product of what they stand for. So
    /// `(L x^64 + H) x^distance` is the sum of the products of `L` by `x^(distance + 63)` and of `H` by
    /// `x^(distance - 1)`, both modulo the polynomial.
    const fn fold_by(distance: u32, width: u32, polynomial: u64) -> [u64; 2] {
        [power(distance + 63, width, polynomial), power(distance - 1, width, polynomial)]
    }

    /// The remainder of `data` after what has the remainder `crc`: eight bytes at a time.
    pub fn update(&self, mut crc: u64, data: &[u8]) -> u64 {
        let (words, tail) = data.as_chunks::<8>();
        for word in words {
            let bytes = (crc ^ u64::from_le_bytes(*word)).to_le_bytes();
            crc = 0;
            for (table, byte) in self.tables.iter().rev().zip(bytes) {
                crc ^= table[usize::from(byte)];
            }
        }
        for byte in tail {
            crc = (crc >> 8) ^ self.tables[0][usize::from(crc as u8 ^ byte)];
        }
        crc
    }
}

/// `x` times a remainder.
const fn times_x(value: u64, polynomial: u64) -> u64 {
    (value >> 1) ^ (polynomial & (value & 1).wrapping_neg())
}

/// `x^exponent` modulo the polynomial, as the coefficients of `x^63` to 1.
const fn power(exponent: u32, width: u32, polynomial: u64) -> u64 {
    let mut value = 1 << (width - 1);
    let mut i = 0;
    while i < exponent {
        value = times_x(value, polynomial);
        i += 1;
    }
    value << (64 - width)
}
