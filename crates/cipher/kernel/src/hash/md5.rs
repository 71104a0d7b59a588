//! MD5 compression (RFC 1321), `L` messages side by side.

use super::feed::Blocks;
use super::lanes::{Lanes, load16, readable};

/// `floor(2^32 |sin(i + 1)|)` (RFC 1321, section 3.4).
#[rustfmt::skip]
static SINES: [u32; 64] = [
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
];

/// # Safety
/// The states can be read and written, 16 bytes each; the blocks can be read, of 64 bytes.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes<L, Word = u32>, const L: usize>(
    token: V::Token,
    states: &[*mut u8; L],
    blocks: &Blocks<L>,
) {
    // SAFETY: by the caller.
    let mut s = unsafe { V::load8(token, readable(states), 0, 4) };
    for block in 0..blocks.len() {
        let (data, block) = blocks.at(block);
        // SAFETY: by the caller.
        let mut w = unsafe { load16::<V, L>(token, data, 64 * block) };
        for word in &mut w {
            *word = word.little_endian();
        }
        let start = s;
        // a = b + ((a + function(b, c, d) + message word + sine) <<< shift)
        macro_rules! rounds {
            ($function:expr, $word:literal $word0:literal, $shifts:literal, $($i:literal)*) => { $( {
                const A: usize = (64 - $i) % 4;
                const SHIFT: u32 = ($shifts >> (8 * ($i % 4))) & 0xff;
                let (b, c, d) = (s[(A + 1) % 4], s[(A + 2) % 4], s[(A + 3) % 4]);
                let constant = V::splat(token, SINES[$i]);
                let sum = s[A].add(w[($word * $i + $word0) % 16].add(constant));
                s[A] = b.add(sum.add($function(b, c, d)).rotate_left(SHIFT));
            } )* };
        }
        rounds!(V::select, 1 0, 0x16110c07, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        rounds!(by_third, 5 1, 0x140e0905, 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31);
        rounds!(V::xor3, 3 5, 0x17100b04, 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47);
        rounds!(third_or, 7 0, 0x150f0a06, 48 49 50 51 52 53 54 55 56 57 58 59 60 61 62 63);
        for i in 0..4 {
            s[i] = s[i].add(start[i]);
        }
    }
    // SAFETY: by the caller.
    unsafe { V::store8(states, 0, 4, s) };
}

/// `(b & d) | (c & !d)`
#[inline(always)]
fn by_third<V: Lanes<L>, const L: usize>(b: V, c: V, d: V) -> V {
    V::select(d, b, c)
}

/// `c ^ (b | !d)`
#[inline(always)]
fn third_or<V: Lanes<L>, const L: usize>(b: V, c: V, d: V) -> V {
    V::xor_or_not(c, b, d)
}
