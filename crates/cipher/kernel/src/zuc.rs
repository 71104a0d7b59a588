//! ZUC (3GPP TS 35.222) in the modes of TS 35.221: 128-EEA3 and 128-EIA3.
//!
//! One packet at a time, by portable code: the two substitution boxes are look-ups, so **addresses
//! depend on the key**: an attacker who shares a cache with this code may learn of it.
//!
//! Many packets side by side ([`eea3_many`], [`eia3_many`]): with AVX-512, in constant time.
//!
//! Initialisation vectors are the 16 bytes that TS 35.221 makes of its parameters:
//!
//! | | bytes 0 to 3 | 4 | 5 to 7 | 8 to 11 | 12 | 13 | 14 | 15 |
//! |---|---|---|---|---|---|---|---|---|
//! | EEA3 | COUNT | BEARER, DIRECTION, two zeros | 0 | as 0 to 3 | as 4 | 0 | 0 | 0 |
//! | EIA3 | COUNT | BEARER, three zeros | 0 | COUNT ^ DIRECTION << 31 | as 4 | 0 | DIRECTION << 7 | 0 |

#[cfg(target_arch = "x86_64")]
mod avx512;

use lookaside_simd::Cpu;
use zeroize::Zeroize;

use crate::Text;
use crate::keystream::{Keystream, Words, carryless_low};
pub use crate::keystream::{Message, Packet};

/// Encrypts or decrypts with 128-EEA3.
///
/// `spare_bits` bits (0 to 7) at the end of the last byte are not part of the message: in the
/// result they are as they were in the source.
///
/// # Panics
/// When the destination is shorter than the source.
pub fn eea3(key: &[u8; 16], iv: &[u8; 16], text: &mut Text<'_>, spare_bits: u8) {
    Stream::new(key, iv).keystream.apply(text, spare_bits);
}

/// The tag of a message by 128-EIA3.
///
/// `spare_bits` bits (0 to 7) at the end of the last byte are not part of the message.
pub fn eia3(key: &[u8; 16], iv: &[u8; 16], data: &[u8], spare_bits: u8) -> [u8; 4] {
    let mut generator = Generator::new(key, iv);
    let spare_bits = if data.is_empty() { 0 } else { spare_bits & 7 };
    let bits = 8 * data.len() - usize::from(spare_bits);
    // Bit i of the message, from the left, counts the 32 bits of the keystream from bit i on: a
    // product of polynomials, the message reversed.
    let mut window = u64::from(generator.word()) << 32 | u64::from(generator.word());
    let mut tag = 0;
    let mut add = |message: u32, window: u64| {
        tag ^= (carryless_low(u64::from(message.reverse_bits()), window) >> 32) as u32;
    };
    let mut left = bits;
    for bytes in data.chunks(4) {
        let mut block = [0; 4];
        block[..bytes.len()].copy_from_slice(bytes);
        let mut message = u32::from_be_bytes(block);
        if left < 32 {
            // The last word: its bits, and the 32 bits of the keystream after them (the length
            // counts as one more bit).
            message = message & !(u32::MAX >> left) | 1 << (31 - left);
            add(message, window);
            break;
        }
        add(message, window);
        window = window << 32 | u64::from(generator.word());
        left -= 32;
    }
    let whole = bits.is_multiple_of(32);
    if whole {
        add(1 << 31, window);
    }
    // The last word of the keystream, of ceil(bits / 32) + 2, which is in the window.
    let last = window as u32;
    window.zeroize();
    let last = if whole { last } else { generator.word() };
    generator.zeroize();
    (tag ^ last).to_be_bytes()
}

/// Encrypts or decrypts packets with 128-EEA3, of any number and any lengths. Their order may change.
///
/// # Panics
/// When a destination is shorter than its source.
pub fn eea3_many(cpu: &Cpu, packets: &mut [Packet<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        return avx512::eea3(proof, packets);
    }
    let _ = cpu;
    for packet in packets {
        eea3(packet.key, &packet.iv, &mut packet.text, 0);
    }
}

/// Makes the tags of messages with 128-EIA3, of any number and any lengths.
pub fn eia3_many(cpu: &Cpu, packets: &mut [Message<'_>]) {
    #[cfg(target_arch = "x86_64")]
    if let Some(proof) = cpu.avx512() {
        return avx512::eia3(proof, packets);
    }
    let _ = cpu;
    for packet in packets {
        packet.tag = eia3(packet.key, &packet.iv, packet.data, 0);
    }
}

/// 128-EEA3 over a text in pieces. Zeroized when dropped.
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

/// The shift register and the two words of F.
#[derive(Clone)]
struct Generator {
    /// s0 to s15 of 31 bits, s0 at `at`. Zero is written 2^31 - 1.
    register: [u32; 16],
    at: usize,
    r: [u32; 2],
}

impl Zeroize for Generator {
    fn zeroize(&mut self) {
        self.register.zeroize();
        self.r.zeroize();
    }
}

/// TS 35.222, clause 3.5: what stands between key and IV.
const D: [u32; 16] = [
    0x44D7, 0x26BC, 0x626B, 0x135E, 0x5789, 0x35E2, 0x7135, 0x09AF, 0x4D78, 0x2F13, 0x6BC4, 0x1AF1,
    0x5E26, 0x3C4D, 0x789A, 0x47AC,
];

impl Generator {
    /// Clauses 3.5 and 3.6.1, and the word that is thrown away.
    fn new(key: &[u8; 16], iv: &[u8; 16]) -> Generator {
        let register =
            core::array::from_fn(|i| u32::from(key[i]) << 23 | D[i] << 8 | u32::from(iv[i]));
        let mut generator = Generator { register, at: 0, r: [0; 2] };
        for _ in 0..32 {
            let w = generator.f();
            generator.clock(w >> 1);
        }
        generator.f();
        generator.clock(0);
        generator
    }

    fn s(&self, i: usize) -> u32 {
        self.register[(self.at + i) % 16]
    }

    /// The upper 16 of the 31 bits of a word, and the lower 16 of another: clause 3.3.
    fn halves(&self, high: usize, low: usize) -> u32 {
        self.s(high) >> 15 << 16 | self.s(low) & 0xFFFF
    }

    /// The lower 16 bits of a word, and the upper 16 of another.
    fn crossed(&self, low: usize, high: usize) -> u32 {
        self.s(low) << 16 | self.s(high) >> 15
    }

    /// Clause 3.2: a sum modulo 2^31 - 1, whose nonzero representatives two foldings keep.
    fn clock(&mut self, feedback: u32) {
        let s = |i| u64::from(self.s(i));
        let sum = (s(15) << 15)
            + (s(13) << 17)
            + (s(10) << 21)
            + (s(4) << 20)
            + (s(0) << 8)
            + s(0)
            + u64::from(feedback);
        let fold = |x: u64| (x & 0x7FFF_FFFF) + (x >> 31);
        self.register[self.at] = fold(fold(sum)) as u32;
        self.at = (self.at + 1) % 16;
    }

    /// Clause 3.4.
    fn f(&mut self) -> u32 {
        let [r1, r2] = self.r;
        let w = (self.halves(15, 14) ^ r1).wrapping_add(r2);
        let w1 = r1.wrapping_add(self.crossed(11, 9));
        let w2 = r2 ^ self.crossed(7, 5);
        let u = w1 << 16 | w2 >> 16;
        let v = w2 << 16 | w1 >> 16;
        let rotated = |x: u32, by: [u32; 4]| by.iter().fold(x, |sum, by| sum ^ x.rotate_left(*by));
        self.r = [substitute(rotated(u, [2, 10, 18, 24])), substitute(rotated(v, [8, 14, 22, 30]))];
        w
    }
}

impl Words for Generator {
    fn word(&mut self) -> u32 {
        let z = self.f() ^ self.crossed(2, 0);
        self.clock(0);
        z
    }
}

fn substitute(word: u32) -> u32 {
    let [a, b, c, d] = word.to_be_bytes().map(usize::from);
    u32::from_be_bytes([S0[a], S1[b], S0[c], S1[d]])
}

/// S0 (clause 3.4.1).
#[rustfmt::skip]
static S0: [u8; 256] = [
    0x3E, 0x72, 0x5B, 0x47, 0xCA, 0xE0, 0x00, 0x33, 0x04, 0xD1, 0x54, 0x98, 0x09, 0xB9, 0x6D, 0xCB,
    0x7B, 0x1B, 0xF9, 0x32, 0xAF, 0x9D, 0x6A, 0xA5, 0xB8, 0x2D, 0xFC, 0x1D, 0x08, 0x53, 0x03, 0x90,
    0x4D, 0x4E, 0x84, 0x99, 0xE4, 0xCE, 0xD9, 0x91, 0xDD, 0xB6, 0x85, 0x48, 0x8B, 0x29, 0x6E, 0xAC,
    0xCD, 0xC1, 0xF8, 0x1E, 0x73, 0x43, 0x69, 0xC6, 0xB5, 0xBD, 0xFD, 0x39, 0x63, 0x20, 0xD4, 0x38,
    0x76, 0x7D, 0xB2, 0xA7, 0xCF, 0xED, 0x57, 0xC5, 0xF3, 0x2C, 0xBB, 0x14, 0x21, 0x06, 0x55, 0x9B,
    0xE3, 0xEF, 0x5E, 0x31, 0x4F, 0x7F, 0x5A, 0xA4, 0x0D, 0x82, 0x51, 0x49, 0x5F, 0xBA, 0x58, 0x1C,
    0x4A, 0x16, 0xD5, 0x17, 0xA8, 0x92, 0x24, 0x1F, 0x8C, 0xFF, 0xD8, 0xAE, 0x2E, 0x01, 0xD3, 0xAD,
    0x3B, 0x4B, 0xDA, 0x46, 0xEB, 0xC9, 0xDE, 0x9A, 0x8F, 0x87, 0xD7, 0x3A, 0x80, 0x6F, 0x2F, 0xC8,
    0xB1, 0xB4, 0x37, 0xF7, 0x0A, 0x22, 0x13, 0x28, 0x7C, 0xCC, 0x3C, 0x89, 0xC7, 0xC3, 0x96, 0x56,
    0x07, 0xBF, 0x7E, 0xF0, 0x0B, 0x2B, 0x97, 0x52, 0x35, 0x41, 0x79, 0x61, 0xA6, 0x4C, 0x10, 0xFE,
    0xBC, 0x26, 0x95, 0x88, 0x8A, 0xB0, 0xA3, 0xFB, 0xC0, 0x18, 0x94, 0xF2, 0xE1, 0xE5, 0xE9, 0x5D,
    0xD0, 0xDC, 0x11, 0x66, 0x64, 0x5C, 0xEC, 0x59, 0x42, 0x75, 0x12, 0xF5, 0x74, 0x9C, 0xAA, 0x23,
    0x0E, 0x86, 0xAB, 0xBE, 0x2A, 0x02, 0xE7, 0x67, 0xE6, 0x44, 0xA2, 0x6C, 0xC2, 0x93, 0x9F, 0xF1,
    0xF6, 0xFA, 0x36, 0xD2, 0x50, 0x68, 0x9E, 0x62, 0x71, 0x15, 0x3D, 0xD6, 0x40, 0xC4, 0xE2, 0x0F,
    0x8E, 0x83, 0x77, 0x6B, 0x25, 0x05, 0x3F, 0x0C, 0x30, 0xEA, 0x70, 0xB7, 0xA1, 0xE8, 0xA9, 0x65,
    0x8D, 0x27, 0x1A, 0xDB, 0x81, 0xB3, 0xA0, 0xF4, 0x45, 0x7A, 0x19, 0xDF, 0xEE, 0x78, 0x34, 0x60,
];

/// S1 (clause 3.4.2).
#[rustfmt::skip]
static S1: [u8; 256] = [
    0x55, 0xC2, 0x63, 0x71, 0x3B, 0xC8, 0x47, 0x86, 0x9F, 0x3C, 0xDA, 0x5B, 0x29, 0xAA, 0xFD, 0x77,
    0x8C, 0xC5, 0x94, 0x0C, 0xA6, 0x1A, 0x13, 0x00, 0xE3, 0xA8, 0x16, 0x72, 0x40, 0xF9, 0xF8, 0x42,
    0x44, 0x26, 0x68, 0x96, 0x81, 0xD9, 0x45, 0x3E, 0x10, 0x76, 0xC6, 0xA7, 0x8B, 0x39, 0x43, 0xE1,
    0x3A, 0xB5, 0x56, 0x2A, 0xC0, 0x6D, 0xB3, 0x05, 0x22, 0x66, 0xBF, 0xDC, 0x0B, 0xFA, 0x62, 0x48,
    0xDD, 0x20, 0x11, 0x06, 0x36, 0xC9, 0xC1, 0xCF, 0xF6, 0x27, 0x52, 0xBB, 0x69, 0xF5, 0xD4, 0x87,
    0x7F, 0x84, 0x4C, 0xD2, 0x9C, 0x57, 0xA4, 0xBC, 0x4F, 0x9A, 0xDF, 0xFE, 0xD6, 0x8D, 0x7A, 0xEB,
    0x2B, 0x53, 0xD8, 0x5C, 0xA1, 0x14, 0x17, 0xFB, 0x23, 0xD5, 0x7D, 0x30, 0x67, 0x73, 0x08, 0x09,
    0xEE, 0xB7, 0x70, 0x3F, 0x61, 0xB2, 0x19, 0x8E, 0x4E, 0xE5, 0x4B, 0x93, 0x8F, 0x5D, 0xDB, 0xA9,
    0xAD, 0xF1, 0xAE, 0x2E, 0xCB, 0x0D, 0xFC, 0xF4, 0x2D, 0x46, 0x6E, 0x1D, 0x97, 0xE8, 0xD1, 0xE9,
    0x4D, 0x37, 0xA5, 0x75, 0x5E, 0x83, 0x9E, 0xAB, 0x82, 0x9D, 0xB9, 0x1C, 0xE0, 0xCD, 0x49, 0x89,
    0x01, 0xB6, 0xBD, 0x58, 0x24, 0xA2, 0x5F, 0x38, 0x78, 0x99, 0x15, 0x90, 0x50, 0xB8, 0x95, 0xE4,
    0xD0, 0x91, 0xC7, 0xCE, 0xED, 0x0F, 0xB4, 0x6F, 0xA0, 0xCC, 0xF0, 0x02, 0x4A, 0x79, 0xC3, 0xDE,
    0xA3, 0xEF, 0xEA, 0x51, 0xE6, 0x6B, 0x18, 0xEC, 0x1B, 0x2C, 0x80, 0xF7, 0x74, 0xE7, 0xFF, 0x21,
    0x5A, 0x6A, 0x54, 0x1E, 0x41, 0x31, 0x92, 0x35, 0xC4, 0x33, 0x07, 0x0A, 0xBA, 0x7E, 0x0E, 0x34,
    0x88, 0xB1, 0x98, 0x7C, 0xF3, 0x3D, 0x60, 0x6C, 0x7B, 0xCA, 0xD3, 0x1F, 0x32, 0x65, 0x04, 0x28,
    0x64, 0xBE, 0x85, 0x9B, 0x2F, 0x59, 0x8A, 0xD7, 0xB0, 0x25, 0xAC, 0xAF, 0x12, 0x03, 0xE2, 0xF2,
];
