//! SHA-1 compression (FIPS 180-4, section 6.1), `L` messages side by side.

use super::feed::Blocks;
use super::lanes::{Lanes, Room, big_endian16, readable};

/// # Safety
/// The states can be read and written, 20 bytes each; the blocks can be read, of 64 bytes.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes<L, Word = u32>, const L: usize>(
    token: V::Token,
    states: &[*mut u8; L],
    blocks: &Blocks<L>,
) {
    // SAFETY: by the caller.
    let mut s = unsafe { V::load8(token, readable(states), 0, 5) };
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
        macro_rules! rounds {
            ($function:expr, $constant:literal, $($i:literal)*) => { $( {
                const E: usize = (84 - $i) % 5;
                const A: usize = (E + 1) % 5;
                const B: usize = (E + 2) % 5;
                const C: usize = (E + 3) % 5;
                const D: usize = (E + 4) % 5;
                const W: usize = $i % 16;
                if $i < L {
                    // SAFETY: by the caller.
                    unsafe { V::copy_ahead(room, data, 64 * next, $i) };
                }
                if $i >= 16 {
                    let mixed = V::xor3(w[(W + 13) % 16], w[(W + 8) % 16], w[(W + 2) % 16]);
                    w[W] = w[W].xor(mixed).rotate_left(1);
                }
                let sum = s[E].add(w[W].add(V::splat(token, $constant)));
                let sum = sum.add($function(s[B], s[C], s[D])).settled();
                s[E] = sum.add(s[A].rotate_left(5));
                s[B] = s[B].rotate_left(30);
            } )* };
        }
        rounds!(V::select, 0x5a827999, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19);
        rounds!(V::xor3, 0x6ed9eba1,
            20 21 22 23 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39);
        rounds!(V::majority, 0x8f1bbcdc,
            40 41 42 43 44 45 46 47 48 49 50 51 52 53 54 55 56 57 58 59);
        rounds!(V::xor3, 0xca62c1d6,
            60 61 62 63 64 65 66 67 68 69 70 71 72 73 74 75 76 77 78 79);
        for i in 0..5 {
            s[i] = s[i].add(start[i]);
        }
        if block < last {
            // SAFETY: by the caller; each lane was copied above.
            w = unsafe { V::ahead(token, room, data, 64 * next) };
        }
    }
    // SAFETY: by the caller.
    unsafe { V::store8(states, 0, 5, s) };
}
