//! SM4 bitsliced: sixteen blocks in 64-bit integers, on any CPU.
//!
//! A word of the state is eight planes, one for each bit of a byte: bit `16 q + b` of plane `k` is
//! bit `k` of byte `q` (0 the lowest) of the word of block `b`. So a rotation of the words by eight
//! bits rotates each plane by sixteen, and the S-box is a circuit of about 200 gates over planes.
//!
//! The S-box is `S(x) = A I(A x + C) + C`, with `I` the inversion in GF(2)\[x\] modulo
//! `x^8 + x^7 + x^6 + x^5 + x^4 + x^2 + 1`, `C` = 0xd3 and `A` the circulant matrix of 0xa7 (Liu et
//! al., "Analysis of the SMS4 block cipher", 2007). The inversion is computed in the tower
//! GF(4) = GF(2)\[w\]/(w^2 + w + 1), GF(16) = GF(4)\[x\]/(x^2 + x + w),
//! GF(256) = GF(16)\[y\]/(y^2 + y + 9); [`INTO`] is `A`, then the isomorphism into the tower;
//! [`OUT_OF`] the way back, then `A`. Of the sixteen isomorphisms and eight towers those are with the
//! fewest ones.
//!
//! Constant time. Test: `tests/sm4.rs`; bench: `blocks`.

use zeroize::Zeroize;

use super::{Direction, Key};
use crate::modes::Engine;

/// Blocks side by side.
pub(super) const LANES: usize = 16;

/// The bits of a byte, each for many bytes.
type Planes = [u64; 8];

/// Bit `j` of row `i`: whether plane `i` of the result contains plane `j`.
const INTO: ([u8; 8], u8) = ([0x26, 0x72, 0xa4, 0x18, 0x57, 0x40, 0x84, 0x7f], 0xea);
const OUT_OF: ([u8; 8], u8) = ([0x55, 0x41, 0x76, 0xd1, 0x8a, 0x2a, 0x03, 0x2f], 0xd3);

/// A matrix and a constant, applied.
#[inline(always)]
fn affine(x: Planes, (matrix, constant): ([u8; 8], u8)) -> Planes {
    let mut y = [0; 8];
    for i in 0..8 {
        for (j, plane) in x.iter().enumerate() {
            if matrix[i] >> j & 1 != 0 {
                y[i] ^= plane;
            }
        }
        if constant >> i & 1 != 0 {
            y[i] = !y[i];
        }
    }
    y
}

/// Elements of GF(4) and GF(16), the constant coefficient first.
type F4 = [u64; 2];
type F16 = [F4; 2];

#[inline(always)]
fn add4(a: F4, b: F4) -> F4 {
    [a[0] ^ b[0], a[1] ^ b[1]]
}

#[inline(always)]
fn multiply4(a: F4, b: F4) -> F4 {
    let (low, high) = (a[0] & b[0], a[1] & b[1]);
    let cross = (a[0] ^ a[1]) & (b[0] ^ b[1]);
    [low ^ high, cross ^ low]
}

/// The square, which in GF(4) is also the inverse.
#[inline(always)]
fn square4(a: F4) -> F4 {
    [a[0] ^ a[1], a[1]]
}

/// `w a`.
#[inline(always)]
fn scale4(a: F4) -> F4 {
    [a[1], a[0] ^ a[1]]
}

#[inline(always)]
fn add16(a: F16, b: F16) -> F16 {
    [add4(a[0], b[0]), add4(a[1], b[1])]
}

#[inline(always)]
fn multiply16(a: F16, b: F16) -> F16 {
    let (low, high) = (multiply4(a[0], b[0]), multiply4(a[1], b[1]));
    let cross = multiply4(add4(a[0], a[1]), add4(b[0], b[1]));
    [add4(low, scale4(high)), add4(cross, low)]
}

#[inline(always)]
fn square16(a: F16) -> F16 {
    let high = square4(a[1]);
    [add4(square4(a[0]), scale4(high)), high]
}

/// `(b x + a)^-1 = (b x + a + b) / (w b^2 + a b + a^2)`, and zero for zero.
#[inline(always)]
fn invert16(a: F16) -> F16 {
    let norm = add4(scale4(square4(a[1])), add4(multiply4(a[0], a[1]), square4(a[0])));
    let inverse = square4(norm);
    [multiply4(add4(a[0], a[1]), inverse), multiply4(a[1], inverse)]
}

/// `9 a^2`, where 9 is `w x + 1`: a linear map, taken together.
#[inline(always)]
fn norm_of_y(a: F16) -> F16 {
    let ([a0, a1], [a2, a3]) = (a[0], a[1]);
    [[a0 ^ a1 ^ a2 ^ a3, a1 ^ a3], [a1, a0]]
}

/// The S-box.
#[inline(always)]
fn s_box(x: Planes) -> Planes {
    let x = affine(x, INTO);
    let a: F16 = [[x[0], x[1]], [x[2], x[3]]];
    let b: F16 = [[x[4], x[5]], [x[6], x[7]]];
    // As in GF(16), with 9 in place of w.
    let norm = add16(norm_of_y(b), add16(multiply16(a, b), square16(a)));
    let inverse = invert16(norm);
    let (a, b) = (multiply16(add16(a, b), inverse), multiply16(b, inverse));
    affine([a[0][0], a[0][1], a[1][0], a[1][1], b[0][0], b[0][1], b[1][0], b[1][1]], OUT_OF)
}

/// The S-box on the four bytes of a word, for the key expansion.
pub(super) fn substitute(word: u32) -> u32 {
    let x = std::array::from_fn(|k| u64::from(word >> k & 0x0101_0101));
    let y = s_box(x);
    (0..8).fold(0, |word, k| word | (y[k] as u32 & 0x0101_0101) << k)
}

/// `L(x) = x + x<<<2 + x<<<10 + x<<<18 + x<<<24`, as `x + x<<<24 + (x + x<<<8 + x<<<16)<<<2`.
#[inline(always)]
fn diffuse(x: Planes) -> Planes {
    let three = x.map(|plane| plane ^ plane.rotate_left(16) ^ plane.rotate_left(32));
    std::array::from_fn(|k| {
        let by_two = if k < 2 { three[k + 6].rotate_left(16) } else { three[k - 2] };
        x[k] ^ x[k].rotate_left(48) ^ by_two
    })
}

/// Transposes the bits of eight bytes.
#[inline(always)]
fn transposed(mut x: u64) -> u64 {
    for (shift, mask) in
        [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)]
    {
        let t = (x ^ x >> shift) & mask;
        x ^= t ^ t << shift;
    }
    x
}

/// The planes of one word of sixteen blocks.
#[inline(always)]
fn slice(words: &[u32; LANES]) -> Planes {
    let mut planes = [0; 8];
    for q in 0..4 {
        for half in 0..2 {
            let bytes: [u8; 8] = std::array::from_fn(|b| (words[8 * half + b] >> (8 * q)) as u8);
            let bits = transposed(u64::from_le_bytes(bytes));
            for (plane, byte) in planes.iter_mut().zip(bits.to_le_bytes()) {
                *plane |= u64::from(byte) << (16 * q + 8 * half);
            }
        }
    }
    planes
}

/// The inverse of [`slice`].
#[inline(always)]
fn unslice(planes: &Planes) -> [u32; LANES] {
    let mut words = [0; LANES];
    for q in 0..4 {
        for half in 0..2 {
            let bits: [u8; 8] = std::array::from_fn(|k| (planes[k] >> (16 * q + 8 * half)) as u8);
            let bytes = transposed(u64::from_le_bytes(bits)).to_le_bytes();
            for (word, byte) in words[8 * half..].iter_mut().zip(bytes) {
                *word |= u32::from(byte) << (8 * q);
            }
        }
    }
    words
}

/// Sixteen blocks side by side.
pub(super) struct Sliced {
    direction: Direction,
    keys: [Planes; 32],
}

impl Sliced {
    pub(super) fn new(direction: Direction) -> Self {
        Sliced { direction, keys: [[0; 8]; 32] }
    }
}

impl Drop for Sliced {
    fn drop(&mut self) {
        self.keys.zeroize();
    }
}

impl<'k> Engine<'k> for Sliced {
    type Key = Key;
    const LANES: usize = LANES;
    const ALONE: usize = 14;

    fn one_key(&mut self, key: &'k Key) {
        for (i, word) in key.rounds.iter().enumerate() {
            let planes = &mut self.keys[self.direction.round(i)];
            for (k, plane) in planes.iter_mut().enumerate() {
                let bits =
                    (0..4).fold(0, |bits, q| bits | u64::from(word >> (8 * q + k) & 1) << (16 * q));
                *plane = bits * 0xffff;
            }
        }
    }

    fn lane_keys(&mut self, keys: &[&'k Key], _: &[usize]) {
        for i in 0..32 {
            let words = std::array::from_fn(|lane| keys.get(lane).map_or(0, |key| key.rounds[i]));
            self.keys[self.direction.round(i)] = slice(&words);
        }
    }

    unsafe fn crypt(&self, count: usize, input: *const u8, mask: *const u8, output: *mut u8) {
        let mut state: [Planes; 4] = std::array::from_fn(|w| {
            slice(&std::array::from_fn(|b| {
                if b < count {
                    // SAFETY: `count` blocks can be read there.
                    let word = unsafe { input.add(16 * b + 4 * w).cast::<[u8; 4]>().read() };
                    u32::from_be_bytes(word)
                } else {
                    0
                }
            }))
        });
        for keys in &self.keys {
            let [x0, x1, x2, x3] = state;
            let t = diffuse(s_box(std::array::from_fn(|k| x1[k] ^ x2[k] ^ x3[k] ^ keys[k])));
            state = [x1, x2, x3, std::array::from_fn(|k| x0[k] ^ t[k])];
        }
        // The result is the last four words, the last one first.
        let words = [3, 2, 1, 0].map(|w| unslice(&state[w]));
        for b in 0..count {
            for (w, word) in words.iter().enumerate() {
                let at = 16 * b + 4 * w;
                // SAFETY: `count` blocks can be read and written there.
                unsafe {
                    let mask = mask.add(at).cast::<[u8; 4]>().read();
                    let result = word[b] ^ u32::from_be_bytes(mask);
                    output.add(at).cast::<[u8; 4]>().write(result.to_be_bytes());
                }
            }
        }
    }
}
