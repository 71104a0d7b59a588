//! Absorption into Keccak-f[1600] (FIPS 202), `L` messages side by side.

use super::feed::Blocks;
use super::lanes::{Lanes, readable};

/// Round constants (FIPS 202, section 3.2.5).
#[rustfmt::skip]
static CONSTANTS: [u64; 24] = [
    0x0000000000000001, 0x0000000000008082, 0x800000000000808a, 0x8000000080008000,
    0x000000000000808b, 0x0000000080000001, 0x8000000080008081, 0x8000000000008009,
    0x000000000000008a, 0x0000000000000088, 0x0000000080008009, 0x000000008000000a,
    0x000000008000808b, 0x800000000000008b, 0x8000000000008089, 0x8000000000008003,
    0x8000000000008002, 0x8000000000000080, 0x000000000000800a, 0x800000008000000a,
    0x8000000080008081, 0x8000000000008080, 0x0000000080000001, 0x8000000080008008,
];

/// How far rho turns the word `x + 5 y` (FIPS 202, table 2).
#[rustfmt::skip]
const OFFSETS: [u32; 25] = [
     0,  1, 62, 28, 27,
    36, 44,  6, 55, 20,
     3, 10, 43, 25, 39,
    41, 45, 15, 21,  8,
    18,  2, 61, 56, 14,
];

/// Absorbs `blocks` blocks of `8 * words` bytes, `words` at most 25.
///
/// # Safety
/// The states can be read and written, 200 bytes each; the blocks can be read at each of `data`.
#[inline(always)]
pub(super) unsafe fn run<V: Lanes<L, Word = u64>, const L: usize>(
    token: V::Token,
    states: &[*mut u8; L],
    blocks: &Blocks<L>,
    words: usize,
) {
    let mut s = [V::splat(token, 0); 25];
    // `$do` with the index of the first of eight words, and how many of eight there are.
    macro_rules! by_eight {
        ($words:expr, $do:ident) => {
            $do!(0, 8.min($words), 0 1 2 3 4 5 6 7);
            if $words > 8 { $do!(8, 8.min($words - 8), 0 1 2 3 4 5 6 7); }
            if $words > 16 { $do!(16, 8.min($words - 16), 0 1 2 3 4 5 6 7); }
            if $words > 24 { $do!(24, 1, 0); }
        };
    }
    macro_rules! load {
        ($first:literal, $words:expr, $($i:literal)*) => { {
            // SAFETY: by the caller, these words can be read.
            let eight = unsafe { V::load8(token, readable(states), 8 * $first, $words) };
            $( s[$first + $i] = eight[$i]; )*
        } };
    }
    by_eight!(25, load);
    for block in 0..blocks.len() {
        let (data, block) = blocks.at(block);
        macro_rules! absorb {
            ($first:literal, $words:expr, $($i:literal)*) => { {
                let at = 8 * (words * block + $first);
                // SAFETY: by the caller, these words can be read.
                let eight = unsafe { V::load8(token, data, at, $words) };
                $( s[$first + $i] = s[$first + $i].xor(eight[$i].little_endian()); )*
            } };
        }
        by_eight!(words, absorb);
        for pair in 0..12 {
            let once = round(s, V::splat(token, CONSTANTS[2 * pair]));
            s = round(once, V::splat(token, CONSTANTS[2 * pair + 1]));
        }
    }
    macro_rules! store {
        ($first:literal, $words:expr, $($i:literal)*) => { {
            let mut eight = [V::splat(token, 0); 8];
            $( eight[$i] = s[$first + $i]; )*
            // SAFETY: by the caller, these words can be written.
            unsafe { V::store8(states, 8 * $first, $words, eight) };
        } };
    }
    by_eight!(25, store);
}

/// One round: theta, rho, pi, chi, iota.
#[inline(always)]
fn round<V: Lanes<L>, const L: usize>(mut s: [V; 25], constant: V) -> [V; 25] {
    macro_rules! each {
        ($do:ident) => {
            $do!(0);
            $do!(1);
            $do!(2);
            $do!(3);
            $do!(4);
        };
    }
    // theta: every word takes the parities of the columns to its left and right.
    let mut parity = [s[0]; 5];
    macro_rules! sum {
        ($x:literal) => {
            let three = V::xor3(s[$x], s[$x + 5], s[$x + 10]);
            parity[$x] = V::xor3(three, s[$x + 15], s[$x + 20]);
        };
    }
    each!(sum);
    macro_rules! theta {
        ($x:literal) => {
            let mixed = parity[($x + 4) % 5].xor(parity[($x + 1) % 5].rotate_left(1));
            s[$x] = s[$x].xor(mixed);
            s[$x + 5] = s[$x + 5].xor(mixed);
            s[$x + 10] = s[$x + 10].xor(mixed);
            s[$x + 15] = s[$x + 15].xor(mixed);
            s[$x + 20] = s[$x + 20].xor(mixed);
        };
    }
    each!(theta);
    // pi takes the word (x, y) to (y, 2 x + 3 y): so what comes to (X, Y) is ((X + 3 Y) mod 5, X).
    let mut next = s;
    macro_rules! row {
        ($y:literal) => {
            macro_rules! from {
                ($x:literal) => {{
                    const FROM: usize = ($x + 3 * $y) % 5 + 5 * $x;
                    if FROM == 0 { s[0] } else { s[FROM].rotate_left(OFFSETS[FROM]) }
                }};
            }
            let (a, b, c, d, e) = (from!(0), from!(1), from!(2), from!(3), from!(4));
            next[5 * $y] = V::xor_not_and(a, b, c);
            next[5 * $y + 1] = V::xor_not_and(b, c, d);
            next[5 * $y + 2] = V::xor_not_and(c, d, e);
            next[5 * $y + 3] = V::xor_not_and(d, e, a);
            next[5 * $y + 4] = V::xor_not_and(e, a, b);
        };
    }
    each!(row);
    next[0] = next[0].xor(constant);
    next
}
