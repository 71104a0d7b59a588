//! SM3 compression (GB/T 32905-2016, section 5.3; ISO/IEC 10118-3), `L` messages side by side.

use super::feed::Blocks;
use super::lanes::{Lanes, Room, big_endian16, readable};

/// `T(j) <<< (j mod 32)`: what a round adds.
static ADDENDS: [u32; 64] = {
    let mut addends = [0; 64];
    let mut j = 0;
    while j < 64 {
        let t: u32 = if j < 16 { 0x79cc4519 } else { 0x7a879d8a };
        addends[j] = t.rotate_left(j as u32 % 32);
        j += 1;
    }
    addends
};

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
        // Round `16 pass + i`, A to H at s[(4 - i) mod 4 ..] and s[4 + (4 - i) mod 4 ..]: the two
        // halves turn by one each round. From round 12 on, the word four rounds ahead is made
        // first: W'(j) = W(j) ^ W(j + 4) needs it.
        macro_rules! rounds {
            ($pass:expr, $first:expr, $second:expr, $more:literal, $($i:literal)*) => { $( {
                const A: usize = (16 - $i) % 4;
                const B: usize = (A + 1) % 4;
                const C: usize = (A + 2) % 4;
                const D: usize = (A + 3) % 4;
                const W: usize = ($i + 4) % 16;
                if $pass == 0 && $i < L {
                    // SAFETY: by the caller.
                    unsafe { V::copy_ahead(room, data, 64 * next, $i) };
                }
                if $more {
                    let x = V::xor3(w[W], w[(W + 7) % 16], w[(W + 13) % 16].rotate_left(15));
                    let mixed = V::xor3(x, x.rotate_left(15), x.rotate_left(23));
                    w[W] = V::xor3(mixed, w[(W + 3) % 16].rotate_left(7), w[(W + 10) % 16]);
                }
                let (a, b, c, d) = (s[A], s[B], s[C], s[D]);
                let (e, f, g, h) = (s[4 + A], s[4 + B], s[4 + C], s[4 + D]);
                let turned = a.rotate_left(12);
                let addend = V::splat(token, ADDENDS[16 * $pass + $i]);
                let ss1 = turned.add(e.add(addend)).rotate_left(7);
                let tt1 = d.add(w[$i].xor(w[W])).add($first(a, b, c)).add(ss1.xor(turned));
                let tt2 = h.add(w[$i]).add($second(e, f, g)).add(ss1);
                s[B] = b.rotate_left(9);
                s[D] = tt1;
                s[4 + B] = f.rotate_left(19);
                s[4 + D] = V::xor3(tt2, tt2.rotate_left(9), tt2.rotate_left(17));
            } )* };
        }
        rounds!(0, V::xor3, V::xor3, false, 0 1 2 3 4 5 6 7 8 9 10 11);
        rounds!(0, V::xor3, V::xor3, true, 12 13 14 15);
        for pass in 1..4 {
            rounds!(pass, V::majority, V::select, true, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15);
        }
        for i in 0..8 {
            s[i] = s[i].xor(start[i]);
        }
        if block < last {
            // SAFETY: by the caller; each lane was copied above.
            w = unsafe { V::ahead(token, room, data, 64 * next) };
        }
    }
    // SAFETY: by the caller.
    unsafe { V::store8(states, 0, 8, s) };
}
