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

/// The factors of [`fold`](super::fold), all derived when this is compiled.
#[cfg_attr(not(target_arch = "x86_64"), allow(dead_code))]
pub(super) struct Keys {
    /// Entry `k`: the factors that move 128 bits by `128 k` bits, for their first 64 and for their last.
    ///
    /// In a register of 128 bits, bit `i` is the coefficient of `x^(127 - i)`. The low half `L` weighs
    /// `x^64`, the high half `H` 1, and the carry-less product of two reflected numbers of 64 bits,
    /// read as such a register, is `x` times the product of what they stand for. So
    /// `(L x^64 + H) x^d` is the sum of the products of `L` by `x^(d + 63)` and of `H` by `x^(d - 1)`,
    /// both modulo the polynomial.
    pub by: [[u64; 2]; FARTHEST + 1],
    /// The last reduction (Barrett's): `x^127` modulo the polynomial `P`; the quotient of `x^128` by `P`,
    /// and `P`, both without their last coefficient.
    pub end: [u64; 3],
    /// The last coefficient of `P`, as a mask.
    pub odd: u64,
}

/// The farthest move, in registers of 128 bits: eight vectors of 512 bits.
const FARTHEST: usize = 32;

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
        Crc { tables, keys: Keys::new(width, polynomial) }
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

/// `x^exponent` times a remainder.
const fn times_x_to(exponent: u32, mut value: u64, polynomial: u64) -> u64 {
    let mut i = 0;
    while i < exponent {
        value = times_x(value, polynomial);
        i += 1;
    }
    value
}

impl Keys {
    /// One of 32 bits is the one of 64 whose polynomial is `x^32` times as much: its remainders are in the
    /// same bits.
    const fn new(width: u32, polynomial: u64) -> Keys {
        let shift = 64 - width;
        let mut by = [[0; 2]; FARTHEST + 1];
        // `x^(128 k)`.
        let mut power = 1 << (width - 1);
        let mut k = 0;
        while k <= FARTHEST {
            by[k][0] = times_x_to(63, power, polynomial) << shift;
            // Nothing is moved by nothing: the first entry has the first factor alone.
            if k < FARTHEST {
                by[k + 1][1] = times_x_to(127, power, polynomial) << shift;
            }
            power = times_x_to(128, power, polynomial);
            k += 1;
        }
        let (mut quotient, mut rest) = (1, polynomial);
        let mut i = 1;
        while i < 64 {
            quotient |= (rest & 1) << i;
            rest = times_x(rest, polynomial);
            i += 1;
        }
        // `x^127` modulo `x^32` times a polynomial is `x^32` times `x^95` modulo that.
        let power = times_x_to(127, 1 << 63, polynomial);
        let end = [power, quotient, polynomial << 1 | 1];
        Keys { by, end, odd: (polynomial >> 63).wrapping_neg() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The carry-less product of two numbers, in 128 bits.
    fn product(a: u64, b: u64) -> u128 {
        (0..64).filter(|i| b >> i & 1 == 1).fold(0, |sum, i| sum ^ u128::from(a) << i)
    }

    /// By every distance, those of registers that this CPU does not have too: what a register of 128 bits
    /// folded by a key leaves is what it leaves before so many zeros.
    #[test]
    fn keys_move_by_their_distance() {
        let value = 0x0123_4567_89ab_cdef_0f1e_2d3c_4b5a_6978_u128;
        for (crc, width) in [(&GZIP, 32), (&ECMA_182, 64)] {
            for (k, [low, high]) in crc.keys.by.into_iter().enumerate().skip(1) {
                let mut far = value.to_le_bytes().to_vec();
                far.resize(16 * (k + 1), 0);
                let moved = product(value as u64, low) ^ product((value >> 64) as u64, high);
                let near = moved.to_le_bytes();
                assert_eq!(
                    crc.update(0, &far),
                    crc.update(0, &near),
                    "{width} bits, {k} registers"
                );
            }
        }
    }
}
