//! KASUMI on bit planes: the portable version.
//!
//! Plane `i` holds bit `i` of 64 blocks, a block being a big-endian number. The substitution boxes
//! are their Boolean equations (TS 35.202, clause 4.5) with common factors taken out, so no address
//! and no branch knows a secret; a rotation is another numbering of the planes. One block costs as
//! much as 64: about 13 000 instructions.

use core::array::from_fn;

use super::batch::Lanes;

/// A 16-bit word of 64 blocks, least significant bit first.
type Word = [u64; 16];

/// What KASUMI's key schedule makes of 64 keys: the words of the key, and those of the modified
/// key. All subkeys are rotations of these.
pub(super) struct Schedule {
    plain: [Word; 8],
    modified: [Word; 8],
}

impl Schedule {
    pub(super) const fn empty() -> Schedule {
        Schedule { plain: [[0; 16]; 8], modified: [[0; 16]; 8] }
    }
}

impl zeroize::Zeroize for Schedule {
    fn zeroize(&mut self) {
        self.plain.zeroize();
        self.modified.zeroize();
    }
}

/// The portable version: 64 blocks side by side.
#[derive(Clone, Copy)]
pub(super) struct Portable;

impl Lanes for Portable {
    type Schedule = Schedule;

    fn schedule(self, keys: &[[u64; 64]; 2], schedule: &mut Schedule) {
        /// TS 35.202, clause 3: what the modified key differs by.
        const C: [u16; 8] = [0x0123, 0x4567, 0x89AB, 0xCDEF, 0xFEDC, 0xBA98, 0x7654, 0x3210];
        let halves = [planes(&keys[0]), planes(&keys[1])];
        for i in 0..8 {
            // Word 0 of four is the most significant.
            let from = 16 * (3 - i % 4);
            schedule.plain[i].copy_from_slice(&halves[i / 4][from..from + 16]);
            schedule.modified[i] =
                from_fn(|bit| schedule.plain[i][bit] ^ (u64::from(C[i] >> bit & 1)).wrapping_neg());
        }
    }

    fn encrypt(self, schedule: &Schedule, blocks: &mut [u64; 64]) {
        let mut state = planes(blocks);
        encrypt(schedule, &mut state);
        *blocks = unplanes(state);
    }

    fn keystream(
        self,
        schedule: &Schedule,
        start: &[u64; 64],
        chain: &mut [u64; 64],
        blocks: usize,
        out: &mut [[u64; 8]; 64],
    ) {
        let start = planes(start);
        let mut state = planes(chain);
        for number in 0..blocks {
            for (plane, start) in state.iter_mut().zip(&start) {
                *plane ^= start;
            }
            for (bit, plane) in state.iter_mut().enumerate().take(3) {
                *plane ^= (number as u64 >> bit & 1).wrapping_neg();
            }
            encrypt(schedule, &mut state);
            *chain = unplanes(state);
            for (out, block) in out.iter_mut().zip(&*chain) {
                out[number] = *block;
            }
        }
    }

    fn absorb(
        self,
        schedule: &Schedule,
        text: &[[u64; 64]; 8],
        counts: &[u64; 64],
        chain: &mut [u64; 64],
        sum: &mut [u64; 64],
        blocks: usize,
    ) {
        for (number, text) in text.iter().enumerate().take(blocks) {
            for (chain, text) in chain.iter_mut().zip(text) {
                *chain ^= text;
            }
            self.encrypt(schedule, chain);
            for lane in 0..64 {
                sum[lane] ^= chain[lane] & u64::from(counts[lane] > number as u64).wrapping_neg();
            }
        }
    }
}

/// Blocks, each the little-endian reading of its bytes, to planes.
fn planes(blocks: &[u64; 64]) -> [u64; 64] {
    let mut rows = blocks.map(u64::swap_bytes);
    transpose(&mut rows);
    rows
}

/// The inverse of [`planes`].
fn unplanes(mut planes: [u64; 64]) -> [u64; 64] {
    transpose(&mut planes);
    planes.map(u64::swap_bytes)
}

/// Bit `j` of row `i` becomes bit `i` of row `j`: squares of 32, 16 ... 1 change places.
fn transpose(rows: &mut [u64; 64]) {
    let mut width = 32;
    let mut mask = u64::MAX >> 32;
    while width > 0 {
        let mut i = 0;
        while i < 64 {
            let swapped = (rows[i] >> width ^ rows[i + width]) & mask;
            rows[i] ^= swapped << width;
            rows[i + width] ^= swapped;
            i = (i + width + 1) & !width;
        }
        width /= 2;
        mask ^= mask << width;
    }
}

/// Eight rounds (clause 2.2), two by two.
fn encrypt(schedule: &Schedule, state: &mut [u64; 64]) {
    let word = |from: usize, state: &[u64; 64]| -> Word { from_fn(|bit| state[from + bit]) };
    let mut left = [word(48, state), word(32, state)];
    let mut right = [word(16, state), word(0, state)];
    for i in (0..8).step_by(2) {
        let f = fo(schedule, i, fl(schedule, i, left));
        right = [xor(right[0], f[0]), xor(right[1], f[1])];
        let f = fl(schedule, i + 1, fo(schedule, i + 1, right));
        left = [xor(left[0], f[0]), xor(left[1], f[1])];
    }
    for (planes, word) in state.chunks_exact_mut(16).zip([right[1], right[0], left[1], left[0]]) {
        planes.copy_from_slice(&word);
    }
}

fn xor(a: Word, b: Word) -> Word {
    from_fn(|bit| a[bit] ^ b[bit])
}

/// `word` rotated left.
fn rotate(word: &Word, by: usize) -> Word {
    from_fn(|bit| word[(bit + 16 - by) % 16])
}

/// Clause 4.2.
fn fl(schedule: &Schedule, round: usize, [left, right]: [Word; 2]) -> [Word; 2] {
    let kl1 = rotate(&schedule.plain[round], 1);
    let kl2 = &schedule.modified[(round + 2) % 8];
    let right = xor(right, rotate(&from_fn(|bit| left[bit] & kl1[bit]), 1));
    let left = xor(left, rotate(&from_fn(|bit| right[bit] | kl2[bit]), 1));
    [left, right]
}

/// Clause 4.3.
fn fo(schedule: &Schedule, round: usize, [left, right]: [Word; 2]) -> [Word; 2] {
    let key = |index: usize, by: usize| rotate(&schedule.plain[(round + index) % 8], by);
    let modified = |index: usize| &schedule.modified[(round + index) % 8];
    let a = xor(fi(xor(left, key(1, 5)), modified(4)), right);
    let b = xor(fi(xor(right, key(5, 8)), modified(3)), a);
    let c = xor(fi(xor(a, key(6, 13)), modified(7)), b);
    [b, c]
}

/// Clause 4.4. `key` is KI1 (seven bits), KI2 (nine bits).
fn fi(word: Word, key: &Word) -> Word {
    let mut nine: [u64; 9] = from_fn(|bit| word[7 + bit]);
    let mut seven: [u64; 7] = from_fn(|bit| word[bit]);
    for (key7, key9) in [(&key[9..], &key[..9]), (&[0; 7][..], &[0; 9][..])] {
        nine = s9(nine);
        for bit in 0..7 {
            nine[bit] ^= seven[bit];
        }
        seven = s7(seven);
        for bit in 0..7 {
            seven[bit] ^= nine[bit] ^ key7[bit];
        }
        for bit in 0..9 {
            nine[bit] ^= key9[bit];
        }
    }
    from_fn(|bit| if bit < 9 { nine[bit] } else { seven[bit - 9] })
}

/// S7 by its equations.
#[rustfmt::skip]
fn s7([x0, x1, x2, x3, x4, x5, x6]: [u64; 7]) -> [u64; 7] {
    [
        (x6 & ((x4 & (x2 ^ x5)) ^ (x1 & x5) ^ x0 ^ x1 ^ x3)) ^ (x1 & ((x0 & x4) ^ x3)) ^ (x5 & ((x3 & x4) ^ x2)) ^ x4 ^ x5 ^ x6,
        !((x0 & ((x2 & x6) ^ (x3 & x5) ^ x1 ^ x4)) ^ (x2 & ((x1 & x5) ^ x4)) ^ (x6 & ((x4 & x5) ^ x3)) ^ x5 ^ x6),
        !((x0 & ((x1 & x6) ^ (x2 & x5) ^ (x3 & x4) ^ x3 ^ x6)) ^ (x2 & ((x1 & x4) ^ x3 ^ x6)) ^ (x1 & x5) ^ (x4 & x6) ^ x0),
        (x1 & ((x0 & (x2 ^ x5)) ^ (x3 & x6) ^ (x4 & x5) ^ x4)) ^ (x2 & ((x3 & x5) ^ x6)) ^ (x0 & x5) ^ (x3 & x4) ^ x1,
        !((x0 & ((x4 & (x1 ^ x5)) ^ (x3 & x6) ^ x2 ^ x5)) ^ (x1 & ((x3 & x5) ^ x3 ^ x4 ^ x6)) ^ (x3 & ((x2 & x4) ^ x6)) ^ (x5 & x6) ^ x3),
        !((x2 & ((x1 & (x3 ^ x6)) ^ (x0 & x4) ^ (x5 & x6) ^ x0 ^ x5)) ^ (x0 & ((x3 & x6) ^ x3 ^ x5)) ^ (x4 & ((x3 & x6) ^ x5)) ^ (x1 & x6) ^ x2),
        (x1 & ((x0 & (x3 ^ x6)) ^ (x4 & x6) ^ x2 ^ x5)) ^ (x0 & ((x5 & x6) ^ x4)) ^ (x3 & ((x2 & x6) ^ x5)) ^ x6,
    ]
}

/// S9 by its equations.
#[rustfmt::skip]
fn s9([x0, x1, x2, x3, x4, x5, x6, x7, x8]: [u64; 9]) -> [u64; 9] {
    [
        !((x7 & (x0 ^ x1 ^ x2 ^ x8)) ^ (x5 & (x2 ^ x6 ^ x8)) ^ (x0 & x2) ^ (x4 & x8) ^ x3),
        !((x0 & (x1 ^ x4 ^ x5)) ^ (x1 & (x4 ^ x7)) ^ (x2 & (x3 ^ x7)) ^ (x5 & (x3 ^ x8)) ^ x1 ^ x6),
        !((x6 & (x2 ^ x3 ^ x5 ^ x7)) ^ (x0 & (x3 ^ x5 ^ x8)) ^ (x4 & (x3 ^ x7)) ^ (x5 & x7) ^ x1 ^ x8),
        (x0 & (x3 ^ x6 ^ x8)) ^ (x1 & (x2 ^ x6 ^ x8)) ^ (x4 & (x2 ^ x7)) ^ (x7 & x8) ^ x0 ^ x5,
        (x0 & (x1 ^ x5 ^ x7)) ^ (x3 & (x1 ^ x6 ^ x8)) ^ (x8 & (x1 ^ x2)) ^ (x6 & x7) ^ x4,
        !((x6 & (x0 ^ x1 ^ x7 ^ x8)) ^ (x4 & (x1 ^ x5 ^ x7)) ^ (x7 & (x3 ^ x8)) ^ (x5 & x8) ^ x2),
        (x5 & (x1 ^ x2 ^ x4 ^ x6 ^ x8)) ^ (x3 & (x2 ^ x6 ^ x8)) ^ (x8 & (x1 ^ x7)) ^ (x4 & x6) ^ x0 ^ x7,
        !((x2 & (x0 ^ x1 ^ x3 ^ x6 ^ x7)) ^ (x0 & (x1 ^ x3)) ^ (x5 & (x4 ^ x7)) ^ (x3 & x6) ^ x3 ^ x8),
        (x1 & (x0 ^ x2 ^ x5 ^ x6)) ^ (x2 & (x5 ^ x8)) ^ (x3 & (x4 ^ x8)) ^ (x4 & x6) ^ x2 ^ x7,
    ]
}
