//! The compression functions of FIPS 180-4, plain: what runs on every CPU, and under valgrind, which
//! knows no vectors of ours.

use lookaside_cipher::tls::State;

/// A hash function of the suites.
pub trait Hash: State {
    /// The state before the first block.
    const START: Self;
    /// Continues a state over whole blocks.
    fn compress(&mut self, blocks: &[u8]);
}

impl Hash for [u32; 5] {
    const START: Self = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0];

    fn compress(&mut self, blocks: &[u8]) {
        for block in blocks.as_chunks::<64>().0 {
            let mut words = [0u32; 80];
            for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
                *word = u32::from_be_bytes(*bytes);
            }
            for i in 16..80 {
                let sum = words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16];
                words[i] = sum.rotate_left(1);
            }
            let [mut a, mut b, mut c, mut d, mut e] = *self;
            for (i, word) in words.into_iter().enumerate() {
                let (f, k) = match i / 20 {
                    0 => ((b & c) ^ (!b & d), 0x5a827999),
                    1 => (b ^ c ^ d, 0x6ed9eba1),
                    2 => ((b & c) ^ (b & d) ^ (c & d), 0x8f1bbcdc),
                    _ => (b ^ c ^ d, 0xca62c1d6u32),
                };
                let sum = [f, e, k, word].into_iter().fold(a.rotate_left(5), u32::wrapping_add);
                (a, b, c, d, e) = (sum, a, b.rotate_left(30), c, d);
            }
            for (state, sum) in self.iter_mut().zip([a, b, c, d, e]) {
                *state = state.wrapping_add(sum);
            }
        }
    }
}

/// SHA-256 and SHA-512 differ in words, rounds and rotations.
macro_rules! sha_2 {
    ($word:ty, $block:literal, $rounds:literal, $start:expr, $constant:expr,
        $sum_a:expr, $sum_e:expr, $small_0:expr, $small_1:expr) => {
        impl Hash for [$word; 8] {
            const START: Self = $start;

            fn compress(&mut self, blocks: &[u8]) {
                let turn = |x: $word, by: [u32; 3]| {
                    x.rotate_right(by[0]) ^ x.rotate_right(by[1]) ^ x.rotate_right(by[2])
                };
                let shift = |x: $word, by: [u32; 3]| {
                    x.rotate_right(by[0]) ^ x.rotate_right(by[1]) ^ (x >> by[2])
                };
                for block in blocks.as_chunks::<$block>().0 {
                    let mut words = [0; $rounds];
                    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
                        *word = <$word>::from_be_bytes(*bytes);
                    }
                    for i in 16..$rounds {
                        words[i] = shift(words[i - 2], $small_1)
                            .wrapping_add(words[i - 7])
                            .wrapping_add(shift(words[i - 15], $small_0))
                            .wrapping_add(words[i - 16]);
                    }
                    let [mut a, mut b, mut c, mut d, mut e, mut f, mut g, mut h] = *self;
                    for (i, word) in words.into_iter().enumerate() {
                        let first = h
                            .wrapping_add(turn(e, $sum_e))
                            .wrapping_add((e & f) ^ (!e & g))
                            .wrapping_add($constant(i))
                            .wrapping_add(word);
                        let second = turn(a, $sum_a).wrapping_add((a & b) ^ (a & c) ^ (b & c));
                        (h, g, f, e) = (g, f, e, d.wrapping_add(first));
                        (d, c, b, a) = (c, b, a, first.wrapping_add(second));
                    }
                    for (state, sum) in self.iter_mut().zip([a, b, c, d, e, f, g, h]) {
                        *state = state.wrapping_add(sum);
                    }
                }
            }
        }
    };
}

sha_2!(
    u32,
    64,
    64,
    START_256,
    |i: usize| (CONSTANTS[i] >> 32) as u32,
    [2, 13, 22],
    [6, 11, 25],
    [7, 18, 3],
    [17, 19, 10]
);
sha_2!(
    u64,
    128,
    80,
    [
        0xcbbb9d5dc1059ed8,
        0x629a292a367cd507,
        0x9159015a3070dd17,
        0x152fecd8f70e5939,
        0x67332667ffc00b31,
        0x8eb44a8768581511,
        0xdb0c2e0d64f98fa7,
        0x47b5481dbefa4fa4,
    ],
    |i: usize| CONSTANTS[i],
    [28, 34, 39],
    [14, 18, 41],
    [1, 8, 7],
    [19, 61, 6]
);

/// SHA-256's: FIPS 180-4 section 5.3.3.
const START_256: [u32; 8] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
];

/// FIPS 180-4 section 4.2.3: the fractional parts of the cube roots of the first 80 primes. SHA-256 has
/// the upper halves of the first 64.
const CONSTANTS: [u64; 80] = [
    0x428a2f98d728ae22,
    0x7137449123ef65cd,
    0xb5c0fbcfec4d3b2f,
    0xe9b5dba58189dbbc,
    0x3956c25bf348b538,
    0x59f111f1b605d019,
    0x923f82a4af194f9b,
    0xab1c5ed5da6d8118,
    0xd807aa98a3030242,
    0x12835b0145706fbe,
    0x243185be4ee4b28c,
    0x550c7dc3d5ffb4e2,
    0x72be5d74f27b896f,
    0x80deb1fe3b1696b1,
    0x9bdc06a725c71235,
    0xc19bf174cf692694,
    0xe49b69c19ef14ad2,
    0xefbe4786384f25e3,
    0x0fc19dc68b8cd5b5,
    0x240ca1cc77ac9c65,
    0x2de92c6f592b0275,
    0x4a7484aa6ea6e483,
    0x5cb0a9dcbd41fbd4,
    0x76f988da831153b5,
    0x983e5152ee66dfab,
    0xa831c66d2db43210,
    0xb00327c898fb213f,
    0xbf597fc7beef0ee4,
    0xc6e00bf33da88fc2,
    0xd5a79147930aa725,
    0x06ca6351e003826f,
    0x142929670a0e6e70,
    0x27b70a8546d22ffc,
    0x2e1b21385c26c926,
    0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df,
    0x650a73548baf63de,
    0x766a0abb3c77b2a8,
    0x81c2c92e47edaee6,
    0x92722c851482353b,
    0xa2bfe8a14cf10364,
    0xa81a664bbc423001,
    0xc24b8b70d0f89791,
    0xc76c51a30654be30,
    0xd192e819d6ef5218,
    0xd69906245565a910,
    0xf40e35855771202a,
    0x106aa07032bbd1b8,
    0x19a4c116b8d2d0c8,
    0x1e376c085141ab53,
    0x2748774cdf8eeb99,
    0x34b0bcb5e19b48a8,
    0x391c0cb3c5c95a63,
    0x4ed8aa4ae3418acb,
    0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3,
    0x748f82ee5defb2fc,
    0x78a5636f43172f60,
    0x84c87814a1f0ab72,
    0x8cc702081a6439ec,
    0x90befffa23631e28,
    0xa4506cebde82bde9,
    0xbef9a3f7b2c67915,
    0xc67178f2e372532b,
    0xca273eceea26619c,
    0xd186b8c721c0c207,
    0xeada7dd6cde0eb1e,
    0xf57d4f7fee6ed178,
    0x06f067aa72176fba,
    0x0a637dc5a2c898a6,
    0x113f9804bef90dae,
    0x1b710b35131c471b,
    0x28db77f523047d84,
    0x32caab7b40c72493,
    0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c,
    0x4cc5d4becb3e42b6,
    0x597f299cfc657e2a,
    0x5fcb6fab3ad6faec,
    0x6c44198c4a475817,
];
