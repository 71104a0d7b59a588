//! SNOW 3G (3GPP TS 35.216) in the modes of TS 35.215: UEA2 and UIA2.
//!
//! One packet at a time, by portable code: the two substitution boxes and the two multiplications of
//! the shift register are look-ups, so **addresses depend on the key**: an attacker who shares a cache
//! with this code may learn of it. Without look-ups, the second box (a polynomial of degree 49)
//! would cost hundreds of instructions for each word of the keystream.
//!
//! Many packets side by side ([`uea2_many`], [`uia2_many`]): with AVX-512, in constant time.
//!
//! Initialisation vectors are 16 bytes: the words IV3, IV2, IV1, IV0 of TS 35.216, each most
//! significant byte first.
//!
//! | | bytes 0 to 3 | 4 to 7 | 8 to 11 | 12 to 15 |
//! |---|---|---|---|---|
//! | UEA2 | COUNT | BEARER, DIRECTION, 26 zeros | as 0 to 3 | as 4 to 7 |
//! | UIA2 | COUNT | FRESH | COUNT ^ DIRECTION << 31 | FRESH ^ DIRECTION << 15 |

#[cfg(target_arch = "x86_64")]
mod avx512;

use lookaside_simd::Cpu;
use zeroize::Zeroize;

use crate::Text;
use crate::keystream::{Keystream, Words, multiply_gf64};
pub use crate::keystream::{Message, Packet};

/// Encrypts or decrypts with UEA2.
///
/// `spare_bits` bits (0 to 7) at the end of the last byte are not part of the message: in the
/// result they are as they were in the source.
///
/// # Panics
/// When the destination is shorter than the source.
pub fn uea2(key: &[u8; 16], iv: &[u8; 16], text: &mut Text<'_>, spare_bits: u8) {
    Stream::new(key, iv).keystream.apply(text, spare_bits);
}

/// The tag of a message by UIA2.
///
/// `spare_bits` bits (0 to 7) at the end of the last byte are not part of the message.
pub fn uia2(key: &[u8; 16], iv: &[u8; 16], data: &[u8], spare_bits: u8) -> [u8; 4] {
    let mut generator = Generator::new(key, iv);
    let mut pair = || u64::from(generator.word()) << 32 | u64::from(generator.word());
    let (mut p, mut q) = (pair(), pair());
    let last = generator.word();
    generator.zeroize();
    let spare_bits = if data.is_empty() { 0 } else { spare_bits & 7 };
    let mut eval = 0;
    let mut blocks = data.chunks(8).peekable();
    while let Some(bytes) = blocks.next() {
        let mut block = [0; 8];
        block[..bytes.len()].copy_from_slice(bytes);
        if blocks.peek().is_none() {
            block[bytes.len() - 1] &= 0xFF << spare_bits;
        }
        eval = multiply_gf64(eval ^ u64::from_be_bytes(block), p);
    }
    eval ^= 8 * data.len() as u64 - u64::from(spare_bits);
    eval = multiply_gf64(eval, q);
    p.zeroize();
    q.zeroize();
    ((eval >> 32) as u32 ^ last).to_be_bytes()
}

/// Encrypts or decrypts packets with UEA2, of any number and any lengths. Their order may change.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn uea2_many(cpu: &Cpu, packets: &mut [Packet<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        return avx512::uea2(proof, packets);
    }
    let _ = cpu;
    for packet in packets {
        uea2(packet.key, &packet.iv, &mut packet.text, 0);
    }
}

/// Makes the tags of messages with UIA2, of any number and any lengths.
pub fn uia2_many(cpu: &Cpu, packets: &mut [Message<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        return avx512::uia2(proof, packets);
    }
    let _ = cpu;
    for packet in packets {
        packet.tag = uia2(packet.key, &packet.iv, packet.data, 0);
    }
}

/// UEA2 over a text in pieces. Zeroized when dropped.
#[derive(Clone)]
pub struct Stream {
    keystream: Keystream<Generator>,
}

impl Stream {
    /// At the first byte.
    pub fn new(key: &[u8; 16], iv: &[u8; 16]) -> Stream {
        Stream { keystream: Keystream::new(Generator::new(key, iv)) }
    }

    /// Encrypts or decrypts the next piece, of any length.
    ///
    /// # Panics
    /// When the destination is shorter than the source.
    pub fn apply(&mut self, text: &mut Text<'_>) {
        self.keystream.apply(text, 0);
    }
}

impl core::fmt::Debug for Stream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Stream(..)")
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.keystream.zeroize();
    }
}

/// The shift register and the finite state machine.
#[derive(Clone)]
struct Generator {
    /// s0 to s15, s0 at `at`.
    register: [u32; 16],
    at: usize,
    r: [u32; 3],
}

impl Zeroize for Generator {
    fn zeroize(&mut self) {
        self.register.zeroize();
        self.r.zeroize();
    }
}

impl Generator {
    /// Clauses 4.1 and 4.2.
    fn new(key: &[u8; 16], iv: &[u8; 16]) -> Generator {
        let word = |bytes: &[u8; 16], i: usize| {
            let from = 4 * (3 - i);
            u32::from_be_bytes(bytes[from..from + 4].try_into().expect("four bytes"))
        };
        let k: [u32; 4] = core::array::from_fn(|i| word(key, i));
        let mut register: [u32; 16] =
            core::array::from_fn(|i| if i / 4 % 2 == 0 { !k[i % 4] } else { k[i % 4] });
        register[15] ^= word(iv, 0);
        register[12] ^= word(iv, 1);
        register[10] ^= word(iv, 2);
        register[9] ^= word(iv, 3);
        let mut generator = Generator { register, at: 0, r: [0; 3] };
        for _ in 0..32 {
            let f = generator.clock_machine();
            generator.clock_register(f);
        }
        generator.clock_machine();
        generator.clock_register(0);
        generator
    }

    fn s(&self, i: usize) -> u32 {
        self.register[(self.at + i) % 16]
    }

    /// Clauses 3.4.2 and 3.4.3: s0 is multiplied by alpha and s11 divided by it.
    fn clock_register(&mut self, feedback: u32) {
        let (s0, s11) = (self.s(0), self.s(11));
        let multiplied = s0 << 8 ^ TABLES.multiply[(s0 >> 24) as usize];
        let divided = s11 >> 8 ^ TABLES.divide[(s11 & 0xFF) as usize];
        self.register[self.at] = multiplied ^ self.s(2) ^ divided ^ feedback;
        self.at = (self.at + 1) % 16;
    }

    /// Clause 3.4.6.
    fn clock_machine(&mut self) -> u32 {
        let [r1, r2, r3] = self.r;
        let f = self.s(15).wrapping_add(r1) ^ r2;
        let r = r2.wrapping_add(r3 ^ self.s(5));
        self.r = [r, substitute(&TABLES.s1, r1), substitute(&TABLES.s2, r2)];
        f
    }
}

impl Words for Generator {
    fn word(&mut self) -> u32 {
        let z = self.clock_machine() ^ self.s(0);
        self.clock_register(0);
        z
    }
}

/// A box and the MixColumn after it (clauses 3.3.1 and 3.3.2). The columns of the matrix are
/// rotations of its first.
fn substitute(table: &[u32; 256], word: u32) -> u32 {
    let bytes = word.to_be_bytes();
    (0..4).fold(0, |sum, i| sum ^ table[usize::from(bytes[i])].rotate_right(8 * i as u32))
}

struct Tables {
    s1: [u32; 256],
    s2: [u32; 256],
    multiply: [u32; 256],
    divide: [u32; 256],
}

static TABLES: Tables = {
    let mut tables = Tables { s1: [0; 256], s2: [0; 256], multiply: [0; 256], divide: [0; 256] };
    let mut i = 0;
    while i < 256 {
        let byte = i as u8;
        tables.s1[i] = column(rijndael_box(byte), 0x1B);
        tables.s2[i] = column(dickson_box(byte), 0x69);
        i += 1;
    }
    // MULxPOW is linear: a byte's value is that of its highest bit and that of the rest.
    let mut bit = 0;
    while bit < 8 {
        let unit = 1 << bit;
        let multiplied = powers(unit, [23, 245, 48, 239]);
        let divided = powers(unit, [16, 39, 6, 64]);
        let mut rest = 0;
        while rest < unit as usize {
            tables.multiply[unit as usize + rest] = multiplied ^ tables.multiply[rest];
            tables.divide[unit as usize + rest] = divided ^ tables.divide[rest];
            rest += 1;
        }
        bit += 1;
    }
    tables
};

/// MULx of clause 3.1.1.
const fn times_x(v: u8, c: u8) -> u8 {
    (v << 1) ^ ((v >> 7) * c)
}

/// The first column of MixColumn times `s`.
const fn column(s: u8, c: u8) -> u32 {
    let twice = times_x(s, c);
    u32::from_be_bytes([twice, twice ^ s, s, s])
}

/// MULxPOW of clause 3.1.2 for four exponents: clauses 3.4.2 and 3.4.3.
const fn powers(v: u8, exponents: [u32; 4]) -> u32 {
    let mut out = [v; 4];
    let mut i = 0;
    while i < 4 {
        let mut n = 0;
        while n < exponents[i] {
            out[i] = times_x(out[i], 0xA9);
            n += 1;
        }
        i += 1;
    }
    u32::from_be_bytes(out)
}

/// The product in GF(2^8) modulo x^8 + `c`.
const fn multiply(a: u8, b: u8, c: u8) -> u8 {
    let mut product = 0;
    let mut i = 8;
    while i > 0 {
        i -= 1;
        product = times_x(product, c) ^ ((b >> i & 1) * a);
    }
    product
}

const fn power(x: u8, exponent: u8, c: u8) -> u8 {
    let mut result = 1;
    let mut i = 8;
    while i > 0 {
        i -= 1;
        result = multiply(result, result, c);
        if exponent >> i & 1 == 1 {
            result = multiply(result, x, c);
        }
    }
    result
}

/// The box of Rijndael (FIPS 197, clause 5.1.1): an inverse and an affine map.
const fn rijndael_box(x: u8) -> u8 {
    let y = power(x, 254, 0x1B);
    y ^ y.rotate_left(1) ^ y.rotate_left(2) ^ y.rotate_left(3) ^ y.rotate_left(4) ^ 0x63
}

/// The box SQ (TS 35.216, annex 1.2): the Dickson polynomial of degree 49, and a constant, in
/// GF(2^8) modulo x^8 + x^6 + x^5 + x^3 + 1.
const fn dickson_box(x: u8) -> u8 {
    const EXPONENTS: [u8; 9] = [1, 9, 13, 15, 33, 41, 45, 47, 49];
    let mut sum = 0x25;
    let mut i = 0;
    while i < EXPONENTS.len() {
        sum ^= power(x, EXPONENTS[i], 0x69);
        i += 1;
    }
    sum
}
