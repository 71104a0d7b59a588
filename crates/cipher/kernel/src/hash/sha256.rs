//! SHA-256 compression (FIPS 180-4, section 6.2), `L` messages side by side.

use super::feed::Blocks;
use super::lanes::{Lanes, Room, big_endian16, readable};

/// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
#[rustfmt::skip]
pub(super) static ROOTS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

/// # Safety
/// The states can be read and written, 32 bytes each; the blocks can be read, of 64 bytes.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes<L, Word = u32>, const L: usize>(
    token: V::Token,
    states: &[*mut u8; L],
    blocks: &Blocks<L>,
) {
    // SAFETY: by the caller.
    let mut s = unsafe { V::load8(token, readable(states), 0, 8) };
    let last = match blocks.len() {
        0 => return,
        len => len - 1,
    };
    let mut room = Room::new();
    let room = room.settled();
    // SAFETY: by the caller.
    let mut w = unsafe { big_endian16::<V, L>(token, blocks.at(0).0, 0) };
    for block in 0..=last {
        let (data, next) = blocks.at(last.min(block + 1));
        let start = s;
        // Round `16 pass + i`. With `$more`, w[i] then becomes the word of the round 16 later.
        macro_rules! rounds {
            ($pass:expr, $more:literal, $($i:literal)*) => { $( {
                const A: usize = (16 - $i) % 8;
                const D: usize = (A + 3) % 8;
                const H: usize = (A + 7) % 8;
                if $pass == 0 && $i < L {
                    // SAFETY: by the caller.
                    unsafe { V::copy_ahead(room, data, 64 * next, $i) };
                }
                let (e, f, g) = (s[(A + 4) % 8], s[(A + 5) % 8], s[(A + 6) % 8]);
                let sum = s[H].add(w[$i].add(V::splat(token, ROOTS[16 * $pass + $i])));
                let sum = sum.add(V::select(e, f, g)).add(sums(e, [6, 11, 25]));
                s[D] = s[D].add(sum);
                let (a, b, c) = (s[A], s[(A + 1) % 8], s[(A + 2) % 8]);
                s[H] = sum.add(V::majority(a, b, c)).add(sums(a, [2, 13, 22]));
                if $more {
                    let sum = w[$i].add(w[($i + 9) % 16]);
                    let sum = sum.add(shifted(w[($i + 1) % 16], [7, 18, 3]));
                    w[$i] = sum.add(shifted(w[($i + 14) % 16], [17, 19, 10]));
                }
            } )* };
        }
        rounds!(0, true, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        for pass in 1..3 {
            rounds!(pass, true, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        }
        rounds!(3, false, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        for i in 0..8 {
            s[i] = s[i].add(start[i]);
        }
        if block < last {
            // SAFETY: by the caller; each lane was copied above.
            w = unsafe { V::ahead(token, room, data, 64 * next) };
        }
    }
    // SAFETY: by the caller.
    unsafe { V::store8(states, 0, 8, s) };
}

/// Three rotations to the right, added without carries.
#[inline(always)]
fn sums<V: Lanes<L>, const L: usize>(x: V, by: [u32; 3]) -> V {
    V::xor3(right(x, by[0]), right(x, by[1]), right(x, by[2]))
}

/// Two rotations and a shift to the right, added without carries.
#[inline(always)]
fn shifted<V: Lanes<L>, const L: usize>(x: V, by: [u32; 3]) -> V {
    V::xor3(right(x, by[0]), right(x, by[1]), x.shift_right(by[2]))
}

#[inline(always)]
fn right<V: Lanes<L>, const L: usize>(x: V, bits: u32) -> V {
    x.rotate_left(32 - bits)
}
