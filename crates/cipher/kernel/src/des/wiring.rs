//! How the vector code lays out DES: where each bit lies between two rounds, derived at compile
//! time from the tables of the standard.
//!
//! A half of the state is eight registers of 64 bytes, one register for each S-box and one byte
//! for each block: the six bits that the S-box takes, expansion E included, so that a round's look
//! up is one byte permutation of 64 entries. Then the 32 bits of the output have to go, by P and
//! E, to 48 places in eight registers, six in each, which come from six different S-boxes.
//!
//! No bit moves within its byte: the order of the six bits of an index is free for each S-box (the
//! table is permuted to match), as are the places where a table puts its output. And the way from
//! eight registers to eight is a butterfly network of three stages, in which stage `s` picks each
//! bit of register `n` from registers `n` and `n ^ 2^s`: 24 selections. [`INPUT`], [`OUTPUT`] and
//! [`PLACE`] are an assignment in which no two bits meet in one place on the way, found by
//! simulated annealing; there are many. That nothing meets is checked where [`PARTNER`] is
//! computed.

use super::tables::{P, s_box};

/// The register of the network's input side that takes the output of each S-box.
pub(super) const INPUT: [usize; 8] = [7, 3, 4, 6, 5, 2, 1, 0];

/// The register of the network's output side, and of a half of the state, that belongs to each
/// S-box.
pub(super) const OUTPUT: [usize; 8] = [2, 7, 1, 3, 4, 6, 0, 5];

/// For each S-box: the place in the byte (0 the lowest) of each of its six input bits (the most
/// significant first).
pub(super) const PLACE: [[u8; 6]; 8] = [
    [2, 3, 1, 4, 5, 0],
    [1, 0, 3, 4, 2, 5],
    [2, 5, 0, 3, 1, 4],
    [5, 2, 1, 3, 0, 4],
    [0, 4, 3, 2, 5, 1],
    [1, 4, 3, 0, 2, 5],
    [1, 3, 2, 5, 0, 4],
    [5, 0, 4, 1, 2, 3],
];

/// Which bit of a half (from 0, the highest first) is input bit `t` of an S-box: the expansion E.
pub(super) const fn expansion(box_: usize, t: usize) -> usize {
    (4 * box_ + t + 31) % 32
}

/// The S-box, and the bit of its output (from 0, the highest first), that a bit of `f` comes from.
const fn source(bit: usize) -> (usize, usize) {
    let bit = P[bit] as usize - 1;
    (bit / 4, bit % 4)
}

/// The tables of the look-ups: by an index in the order of [`PLACE`], every output bit at the
/// places it is needed at.
pub(super) const TABLES: [[u8; 64]; 8] = {
    let mut tables = [[0; 64]; 8];
    let mut index = 0;
    while index < 64 {
        let mut box_ = 0;
        while box_ < 8 {
            let mut six = 0;
            let mut t = 0;
            while t < 6 {
                six = six << 1 | (index >> PLACE[box_][t] & 1);
                t += 1;
            }
            let nibble = s_box(box_, six);
            let mut to = 0;
            while to < 48 {
                let (from, bit) = source(expansion(to / 6, to % 6));
                if from == box_ {
                    tables[box_][index] |= (nibble >> (3 - bit) & 1) << PLACE[to / 6][to % 6];
                }
                to += 1;
            }
            box_ += 1;
        }
        index += 1;
    }
    tables
};

/// For each stage and register, the bits that come from the partner.
pub(super) const PARTNER: [[u8; 8]; 3] = {
    let mut masks = [[0; 8]; 3];
    // Which bit of `f` lies in each place before each stage; 255: none.
    let mut seen = [[[255; 6]; 8]; 4];
    let mut to = 0;
    while to < 48 {
        let (box_, place) = (to / 6, PLACE[to / 6][to % 6] as usize);
        let bit = P[expansion(box_, to % 6)];
        let mut at = INPUT[source(expansion(box_, to % 6)).0];
        let mut stage = 0;
        while stage < 4 {
            assert!(seen[stage][at][place] == 255 || seen[stage][at][place] == bit, "bits meet");
            seen[stage][at][place] = bit;
            if stage < 3 {
                let crossing = (at ^ OUTPUT[box_]) & 1 << stage;
                at ^= crossing;
                if crossing != 0 {
                    masks[stage][at] |= 1 << place;
                }
            }
            stage += 1;
        }
        assert!(at == OUTPUT[box_]);
        to += 1;
    }
    masks
};

/// Six bits in the standard's order, in the order of [`PLACE`].
pub(super) const fn placed(box_: usize, six: u8) -> u8 {
    let mut byte = 0;
    let mut t = 0;
    while t < 6 {
        byte |= (six >> (5 - t) & 1) << PLACE[box_][t];
        t += 1;
    }
    byte
}

/// A matrix for GF2P8AFFINEQB: bit `i` of the result is the parity of `x & row(i)`, with row `i`
/// in byte `7 - i`. Here each row selects one bit, given as pairs of a place in the result and a
/// place in `x`.
const fn matrix(bits: &[(usize, usize)]) -> u64 {
    let mut rows = 0;
    let mut i = 0;
    while i < bits.len() {
        rows |= 1 << bits[i].1 << (8 * (7 - bits[i].0));
        i += 1;
    }
    rows
}

/// The matrices that make the input of S-box `n` of two bytes of a half that the initial
/// permutation has left with their bits reversed: of byte `n / 2`, and of its neighbour, which is
/// the one before for an even `n` (it gives the first bit) and the one after for an odd (the last).
pub(super) const EXPAND: [[u64; 2]; 8] = {
    let mut matrices = [[0; 2]; 8];
    let mut n = 0;
    while n < 8 {
        let mut own = [(0, 0); 5];
        let first = (n + 1) % 2;
        let mut t = 0;
        while t < 5 {
            own[t] = (PLACE[n][t + first] as usize, expansion(n, t + first) % 8);
            t += 1;
        }
        let t = if n % 2 == 0 { 0 } else { 5 };
        matrices[n] = [matrix(&own), matrix(&[(PLACE[n][t] as usize, expansion(n, t) % 8)])];
        n += 1;
    }
    matrices
};

/// The matrices that bring the four inner bits of an S-box's input back to their place in byte
/// `n / 2` of the half (not reversed).
pub(super) const CONTRACT: [u64; 8] = {
    let mut matrices = [0; 8];
    let mut n = 0;
    while n < 8 {
        let mut bits = [(0, 0); 4];
        let mut t = 1;
        while t < 5 {
            bits[t - 1] = (7 - expansion(n, t) % 8, PLACE[n][t] as usize);
            t += 1;
        }
        matrices[n] = matrix(&bits);
        n += 1;
    }
    matrices
};

/// How many rows of key a cipher of so many passes has: see [`rows`].
pub(super) const fn row_count(passes: usize) -> usize {
    17 * passes + 1
}

/// The key as the rounds take it: rows of eight bytes, for the eight registers of a half.
///
/// With `L` and `R` the halves before round `n` and `K(n)` its key, the rounds hold
/// `X = R ^ K(n)`, which is the index of the look-ups, and `Y = L ^ K(n-1)`. Then
/// `R' ^ K(n+1) = Y ^ f(X) ^ D(n)` with `D(n) = K(n-1) ^ K(n+1)`: one XOR of three, where adding the
/// key to `R` would take one more. Before the first and after the last round of a pass `K` is
/// taken as zero, which leaves `K(15)` in `Y` at the end; `Y` becomes the next pass's `X`, so that
/// `W = K(15) ^ K'(0)` is added there. The rows are `W, D(0), ..., D(15)` for each pass, where the
/// first `W` is `K(0)` alone, and a last `W` that is `K(15)` alone. Decryption takes them backwards.
/// Rows beyond [`row_count`] are zero.
pub(super) fn rows<const ROWS: usize>(passes: &[[[u8; 8]; 16]]) -> [[u8; 8]; ROWS] {
    let mut rows = [[0; 8]; ROWS];
    let mut add = |row: usize, six: &[u8; 8]| {
        for box_ in 0..8 {
            rows[row][OUTPUT[box_]] ^= placed(box_, six[box_]);
        }
    };
    for (pass, keys) in passes.iter().enumerate() {
        add(17 * pass, &keys[0]);
        add(17 * pass + 17, &keys[15]);
        for n in 0..16 {
            if n > 0 {
                add(17 * pass + 1 + n, &keys[n - 1]);
            }
            if n < 15 {
                add(17 * pass + 1 + n, &keys[n + 1]);
            }
        }
    }
    rows
}
