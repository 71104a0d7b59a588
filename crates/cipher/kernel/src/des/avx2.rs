//! DES on 32 blocks side by side, with AVX2.
//!
//! The layout and the rounds of [`avx512`](super::avx512): a half of the state is eight registers, one
//! for each S-box, with a byte for each block. Without AVX-512 and GFNI:
//!
//! 1. A table of 64 bytes is four of 16 (`vpshufb` looks at four bits of an index, and gives zero where
//!    the highest bit is set). With `D3 = T3`, `D2 = T2 ^ T3`, `D1 = T1 ^ T2`, `D0 = T0 ^ T1` for the
//!    quarters `T0` to `T3`, an entry is `D3[x] ^ D2[x + 0x50] ^ D1[x + 0x60] ^ D0[x + 0x70]`: the sums
//!    reach 128 from index 48, 32 and 16 on, and leave the lower four bits alone. Ten instructions.
//! 2. A stage of the network is, for a pair of registers, `t = a ^ b`, `a ^= t & mask`, `b ^= t & mask'`:
//!    five instructions. A round is 156 in all.
//! 3. The initial permutation is a transposition of bits across registers that hold byte `j` of every
//!    block; matrices over bytes are two look-ups of four bits.
//!
//! Shapes: any addresses, 256 bytes. Constant time: no branch and no address depends on a key or a
//! text, but for groups of fewer than [`FEW`] blocks, which `portable` runs. Test: `tests/des.rs`;
//! bench: `blocks`.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use lookaside_simd::Avx2;

use super::wiring::{CONTRACT, EXPAND, INPUT, OUTPUT, PARTNER, TABLES, row_count};
use super::{Cipher, Direction, portable};
use crate::modes::Engine;
use crate::wipe::wipe_memory;

/// Blocks side by side.
pub(super) const LANES: usize = 32;

/// Fewer blocks than this are quicker one after another: a group takes the time of about four.
const FEW: usize = 4;

/// When so few keys of a group change, they are put in one by one.
const ONE_BY_ONE: usize = 6;

/// The most rows of a key.
const ROWS: usize = row_count(3);

/// A row of the keys of a group: for each register of a half, each lane's byte.
#[repr(C, align(32))]
#[derive(Clone, Copy)]
struct Row([[u8; LANES]; 8]);

/// Which keys the lanes have.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// None yet, or too few lanes for the vectors.
    None,
    /// All the same.
    One,
    /// Each its own.
    Lanes,
}

/// 32 blocks side by side.
pub(super) struct Wide<'k, K> {
    _token: Avx2,
    direction: Direction,
    keys: Keys,
    /// The keys of the first lanes, for groups of few.
    first: [Option<&'k K>; FEW],
    rows: usize,
    /// With one key: its rows, a byte repeated to fill a word. Written when `Keys::One` is set.
    one: MaybeUninit<[[u32; 8]; ROWS]>,
    /// With a key for each lane. Rows `0..rows` are written when `spread` says so.
    lanes: [MaybeUninit<Row>; ROWS],
    spread: bool,
}

impl<K> Wide<'_, K> {
    pub(super) fn new(token: Avx2, direction: Direction) -> Self {
        Wide {
            _token: token,
            direction,
            keys: Keys::None,
            first: [None; FEW],
            rows: 0,
            one: MaybeUninit::uninit(),
            lanes: [const { MaybeUninit::uninit() }; ROWS],
            spread: false,
        }
    }

    /// Where a key's row `i` goes.
    fn place(&self, i: usize) -> usize {
        match self.direction {
            Direction::Encrypt => i,
            Direction::Decrypt => self.rows - 1 - i,
        }
    }
}

impl<K> Drop for Wide<'_, K> {
    fn drop(&mut self) {
        wipe_memory(&mut self.one);
        if self.spread {
            self.lanes[..self.rows].iter_mut().for_each(wipe_memory);
        }
    }
}

impl<'k, K: Cipher> Engine<'k> for Wide<'k, K> {
    type Key = K;
    const LANES: usize = LANES;
    const ALONE: usize = 12;

    fn one_key(&mut self, key: &'k K) {
        if self.keys == Keys::One && self.first[0].is_some_and(|old| std::ptr::eq(old, key)) {
            return;
        }
        self.keys = Keys::One;
        self.first = [Some(key); FEW];
        self.rows = row_count(key.rounds().len());
        for i in 0..self.rows {
            let row = key.rows()[i].map(|byte| u32::from(byte) * 0x0101_0101);
            let to = self.place(i);
            // SAFETY: a row of `ROWS`.
            unsafe { self.one.as_mut_ptr().cast::<[u32; 8]>().add(to).write(row) };
        }
    }

    fn lane_keys(&mut self, keys: &[&'k K], changed: &[usize]) {
        for (to, from) in self.first.iter_mut().zip(keys) {
            *to = Some(from);
        }
        let current = self.keys == Keys::Lanes;
        self.keys = Keys::Lanes;
        self.rows = row_count(keys[0].rounds().len());
        if keys.len() < FEW {
            // The group runs on the tables, and leaves the lanes behind.
            self.keys = Keys::None;
            return;
        }
        if current && self.spread && (1..=ONE_BY_ONE).contains(&changed.len()) {
            for &lane in changed {
                for i in 0..self.rows {
                    let to = self.place(i);
                    // SAFETY: rows `0..rows` were written, as `spread` says.
                    let row = unsafe { self.lanes[to].assume_init_mut() };
                    for (to, byte) in row.0.iter_mut().zip(keys[lane].rows()[i]) {
                        to[lane] = byte;
                    }
                }
            }
            return;
        }
        for i in 0..self.rows {
            let to = self.place(i);
            // SAFETY: the token proves AVX2; a row is eight registers, aligned.
            unsafe {
                let row = spread_row(keys, i);
                self.lanes[to].as_mut_ptr().cast::<[__m256i; 8]>().write(row);
            }
        }
        self.spread = true;
    }

    unsafe fn crypt(&self, count: usize, input: *const u8, mask: *const u8, output: *mut u8) {
        if count < FEW {
            for (i, key) in self.first.iter().enumerate().take(count) {
                let Some(key) = key else { return };
                // SAFETY: the caller's promise, for block `i`.
                unsafe {
                    let text = u64::from_be_bytes(input.add(8 * i).cast::<[u8; 8]>().read());
                    let mask = u64::from_be_bytes(mask.add(8 * i).cast::<[u8; 8]>().read());
                    let result = portable::block(*key, self.direction, text) ^ mask;
                    output.add(8 * i).cast::<[u8; 8]>().write(result.to_be_bytes());
                }
            }
            return;
        }
        let passes = self.rows / 17;
        // SAFETY: the token; the caller's promise; the rows of the keys in force are written.
        unsafe {
            match self.keys {
                Keys::None => {}
                Keys::One => rounds::<true>(self.one.as_ptr().cast(), passes, input, mask, output),
                Keys::Lanes => {
                    rounds::<false>(self.lanes.as_ptr().cast(), passes, input, mask, output);
                }
            }
        }
    }
}

/// Row `i` of the keys: register `n` has byte `n` of each lane's. Lanes beyond `keys` have the first's.
#[target_feature(enable = "avx2")]
fn spread_row<K: Cipher>(keys: &[&K], i: usize) -> [__m256i; 8] {
    let mut rows = [i64::from_le_bytes(keys[0].rows()[i]); LANES];
    for (row, key) in rows.iter_mut().zip(keys) {
        *row = i64::from_le_bytes(key.rows()[i]);
    }
    let mut pairs = [_mm256_setzero_si256(); 8];
    for (k, pair) in pairs.iter_mut().enumerate() {
        let (a, b) = (2 * k, LANES / 2 + 2 * k);
        *pair = _mm256_setr_epi64x(rows[a], rows[a + 1], rows[b], rows[b + 1]);
    }
    bytes_of_blocks(pairs)
}

/// 16 bytes twice.
const fn twice(bytes: &[u8; 16]) -> [u8; 32] {
    let mut out = [0; 32];
    let mut i = 0;
    while i < 32 {
        out[i] = bytes[i % 16];
        i += 1;
    }
    out
}

/// 32 bytes as a register.
#[inline]
#[target_feature(enable = "avx2")]
fn constant(bytes: &[u8; 32]) -> __m256i {
    // SAFETY: 32 bytes can be read there.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().cast()) }
}

/// Register `c` with byte `c` of each of 32 blocks, from registers `k` with the blocks `2k`, `2k + 1`,
/// `16 + 2k` and `17 + 2k`.
#[inline]
#[target_feature(enable = "avx2")]
fn bytes_of_blocks(mut pairs: [__m256i; 8]) -> [__m256i; 8] {
    static ZIP: [u8; 32] = twice(&[0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15]);
    for pair in &mut pairs {
        *pair = _mm256_shuffle_epi8(*pair, constant(&ZIP));
    }
    transposed_words(pairs)
}

/// The inverse of [`bytes_of_blocks`].
#[inline]
#[target_feature(enable = "avx2")]
fn blocks_of_bytes(bytes: [__m256i; 8]) -> [__m256i; 8] {
    static UNZIP: [u8; 32] = twice(&[0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15]);
    let mut pairs = transposed_words(bytes);
    for pair in &mut pairs {
        *pair = _mm256_shuffle_epi8(*pair, constant(&UNZIP));
    }
    pairs
}

/// Transposes 8 x 8 words of 16 bits in each half of the registers.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed_words(r: [__m256i; 8]) -> [__m256i; 8] {
    let mut pairs = [_mm256_setzero_si256(); 8];
    for i in 0..4 {
        pairs[i] = _mm256_unpacklo_epi16(r[2 * i], r[2 * i + 1]);
        pairs[4 + i] = _mm256_unpackhi_epi16(r[2 * i], r[2 * i + 1]);
    }
    let mut out = [_mm256_setzero_si256(); 8];
    for high in 0..2 {
        let i = 4 * high;
        let (a, b, c, d) = (pairs[i], pairs[i + 1], pairs[i + 2], pairs[i + 3]);
        let (ab, cd) = (_mm256_unpacklo_epi32(a, b), _mm256_unpacklo_epi32(c, d));
        out[4 * high] = _mm256_unpacklo_epi64(ab, cd);
        out[4 * high + 1] = _mm256_unpackhi_epi64(ab, cd);
        let (ab, cd) = (_mm256_unpackhi_epi32(a, b), _mm256_unpackhi_epi32(c, d));
        out[4 * high + 2] = _mm256_unpacklo_epi64(ab, cd);
        out[4 * high + 3] = _mm256_unpackhi_epi64(ab, cd);
    }
    out
}

/// Bit `b` of byte `i` becomes bit `i` of byte `b`, of eight bytes that lie in eight registers: halvings.
#[inline]
#[target_feature(enable = "avx2")]
fn transposed_bits(mut r: [__m256i; 8]) -> [__m256i; 8] {
    macro_rules! halving {
        ($step:literal, $mask:literal) => {
            let mask = _mm256_set1_epi8($mask);
            for low in 0..8 {
                if low & $step == 0 {
                    let high = low + $step;
                    let moved = _mm256_srli_epi16::<$step>(r[low]);
                    let t = _mm256_and_si256(_mm256_xor_si256(moved, r[high]), mask);
                    r[high] = _mm256_xor_si256(r[high], t);
                    r[low] = _mm256_xor_si256(r[low], _mm256_slli_epi16::<$step>(t));
                }
            }
        };
    }
    halving!(1, 0x55);
    halving!(2, 0x33);
    halving!(4, 0x0f);
    r
}

/// What a matrix of `wiring` makes of the lower and of the higher four bits of a byte.
const fn nibbles(matrix: u64) -> [[u8; 32]; 2] {
    let mut out = [[0; 16]; 2];
    let mut x = 0;
    while x < 16 {
        let mut bit = 0;
        while bit < 8 {
            let row = (matrix >> (8 * (7 - bit))) as u8;
            out[0][x] |= ((row & x as u8).count_ones() as u8 & 1) << bit;
            out[1][x] |= ((row & (x as u8) << 4).count_ones() as u8 & 1) << bit;
            bit += 1;
        }
        x += 1;
    }
    [twice(&out[0]), twice(&out[1])]
}

/// [`EXPAND`] and [`CONTRACT`], likewise.
static EXPAND_NIBBLES: [[[[u8; 32]; 2]; 2]; 8] = {
    let mut out = [[[[0; 32]; 2]; 2]; 8];
    let mut n = 0;
    while n < 8 {
        out[n] = [nibbles(EXPAND[n][0]), nibbles(EXPAND[n][1])];
        n += 1;
    }
    out
};
static CONTRACT_NIBBLES: [[[u8; 32]; 2]; 8] = {
    let mut out = [[[0; 32]; 2]; 8];
    let mut n = 0;
    while n < 8 {
        out[n] = nibbles(CONTRACT[n]);
        n += 1;
    }
    out
};

/// A byte as its lower and its higher four bits.
#[inline]
#[target_feature(enable = "avx2")]
fn split(byte: __m256i) -> [__m256i; 2] {
    let mask = _mm256_set1_epi8(0x0f);
    [_mm256_and_si256(byte, mask), _mm256_and_si256(_mm256_srli_epi16::<4>(byte), mask)]
}

/// The product of a matrix and a byte.
#[inline]
#[target_feature(enable = "avx2")]
fn product(byte: &[__m256i; 2], matrix: &[[u8; 32]; 2]) -> __m256i {
    _mm256_xor_si256(
        _mm256_shuffle_epi8(constant(&matrix[0]), byte[0]),
        _mm256_shuffle_epi8(constant(&matrix[1]), byte[1]),
    )
}

/// `D0` to `D3` of each S-box: see the head of this file.
static DIFFERENCES: [[[u8; 32]; 4]; 8] = {
    let mut out = [[[0; 32]; 4]; 8];
    let mut box_ = 0;
    while box_ < 8 {
        let mut i = 0;
        while i < 64 {
            let next = if i < 48 { TABLES[box_][i + 16] } else { 0 };
            out[box_][i / 16][i % 16] = TABLES[box_][i] ^ next;
            out[box_][i / 16][16 + i % 16] = TABLES[box_][i] ^ next;
            i += 1;
        }
        box_ += 1;
    }
    out
};

/// [`PARTNER`], each byte to fill a register.
static PARTNERS: [[[u8; 32]; 8]; 3] = {
    let mut out = [[[0; 32]; 8]; 3];
    let mut i = 0;
    while i < 24 {
        out[i / 8][i % 8] = [PARTNER[i / 8][i % 8]; 32];
        i += 1;
    }
    out
};

/// The function f of the half whose S-box inputs are `x`, in the layout of the halves, by way of
/// the network.
#[inline]
#[target_feature(enable = "avx2")]
fn f(x: &[__m256i; 8]) -> [__m256i; 8] {
    let mut net = [_mm256_setzero_si256(); 8];
    for s_box in 0..8 {
        let x = x[OUTPUT[s_box]];
        let [d0, d1, d2, d3] = &DIFFERENCES[s_box];
        let a = _mm256_shuffle_epi8(constant(d0), _mm256_add_epi8(x, _mm256_set1_epi8(0x70)));
        let b = _mm256_shuffle_epi8(constant(d1), _mm256_add_epi8(x, _mm256_set1_epi8(0x60)));
        let c = _mm256_shuffle_epi8(constant(d2), _mm256_add_epi8(x, _mm256_set1_epi8(0x50)));
        let d = _mm256_shuffle_epi8(constant(d3), x);
        net[INPUT[s_box]] = _mm256_xor_si256(_mm256_xor_si256(a, b), _mm256_xor_si256(c, d));
    }
    for (stage, masks) in PARTNERS.iter().enumerate() {
        for n in 0..8 {
            let other = n ^ 1 << stage;
            if n < other {
                let t = _mm256_xor_si256(net[n], net[other]);
                let (own, its) = (constant(&masks[n]), constant(&masks[other]));
                net[n] = _mm256_xor_si256(net[n], _mm256_and_si256(t, own));
                net[other] = _mm256_xor_si256(net[other], _mm256_and_si256(t, its));
            }
        }
    }
    net
}

/// The row at `row`: of one key (a word each to repeat) or of the lanes.
///
/// # Safety
/// A row of that kind can be read there.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn key<const ONE: bool>(row: *const u8, register: usize) -> __m256i {
    // SAFETY: the caller's promise.
    unsafe {
        if ONE {
            _mm256_set1_epi32(row.cast::<i32>().add(register).read())
        } else {
            _mm256_load_si256(row.cast::<__m256i>().add(register))
        }
    }
}

/// `half ^= f(of) ^ key`.
///
/// # Safety
/// As [`key`].
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn round<const ONE: bool>(half: &mut [__m256i; 8], of: &[__m256i; 8], row: *const u8) {
    let t = f(of);
    for n in 0..8 {
        // SAFETY: the caller's promise.
        let key = unsafe { key::<ONE>(row, n) };
        half[n] = _mm256_xor_si256(half[n], _mm256_xor_si256(t[n], key));
    }
}

/// Runs `passes` passes on 32 blocks: `output = cipher(input) ^ mask`.
///
/// # Safety
/// 256 bytes each can be read at `input` and `mask` and written at `output`, which may be either
/// of them; `17 * passes + 1` rows can be read at `rows`.
#[target_feature(enable = "avx2")]
unsafe fn rounds<const ONE: bool>(
    mut rows: *const u8,
    passes: usize,
    input: *const u8,
    mask: *const u8,
    output: *mut u8,
) {
    let row_bytes = if ONE { size_of::<[u32; 8]>() } else { size_of::<Row>() };
    /// Which bit of each byte of the block is byte `c` after IP; its bits come out reversed.
    const INITIAL: [usize; 8] = [6, 4, 2, 0, 7, 5, 3, 1];
    let mut pairs = [_mm256_setzero_si256(); 8];
    for (k, pair) in pairs.iter_mut().enumerate() {
        // SAFETY: the caller's promise: two blocks of each half.
        *pair = unsafe {
            _mm256_loadu2_m128i(input.add(128 + 16 * k).cast(), input.add(16 * k).cast())
        };
    }
    let mut bytes = bytes_of_blocks(pairs);
    bytes.reverse();
    let bits = transposed_bits(bytes);
    let mut halves = [[_mm256_setzero_si256(); 8]; 2];
    for (h, half) in halves.iter_mut().enumerate() {
        let mut bytes = [[_mm256_setzero_si256(); 2]; 4];
        for (c, byte) in bytes.iter_mut().enumerate() {
            *byte = split(bits[INITIAL[4 * h + c]]);
        }
        for n in 0..8 {
            let near = if n % 2 == 0 { (n / 2 + 3) % 4 } else { (n / 2 + 1) % 4 };
            half[OUTPUT[n]] = _mm256_xor_si256(
                product(&bytes[n / 2], &EXPAND_NIBBLES[n][0]),
                product(&bytes[near], &EXPAND_NIBBLES[n][1]),
            );
        }
    }
    let [mut y, mut x] = halves;

    for _ in 0..passes {
        for (n, x) in x.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *x = _mm256_xor_si256(*x, unsafe { key::<ONE>(rows, n) });
        }
        for _ in 0..8 {
            // SAFETY: the caller's promise, for two more rows.
            unsafe {
                rows = rows.add(row_bytes);
                round::<ONE>(&mut y, &x, rows);
                rows = rows.add(row_bytes);
                round::<ONE>(&mut x, &y, rows);
            }
        }
        (x, y) = (y, x);
        // SAFETY: as above.
        rows = unsafe { rows.add(row_bytes) };
    }

    // Back to bytes. Byte c of the halves is row 7 - r of the last permutation's matrix, with r the
    // bit that IP took it from.
    const MATRIX_ROW: [usize; 8] = [1, 3, 5, 7, 0, 2, 4, 6];
    for (n, x) in x.iter_mut().enumerate() {
        // SAFETY: as above: the last row.
        *x = _mm256_xor_si256(*x, unsafe { key::<ONE>(rows, n) });
    }
    let mut bits = [_mm256_setzero_si256(); 8];
    for (h, half) in [y, x].iter().enumerate() {
        for c in 0..4 {
            let (n, high) = (2 * c, split(half[OUTPUT[2 * c]]));
            let low = split(half[OUTPUT[2 * c + 1]]);
            bits[7 - MATRIX_ROW[4 * h + c]] = _mm256_xor_si256(
                product(&high, &CONTRACT_NIBBLES[n]),
                product(&low, &CONTRACT_NIBBLES[n + 1]),
            );
        }
    }
    let pairs = blocks_of_bytes(transposed_bits(bits));
    for (k, pair) in pairs.into_iter().enumerate() {
        // SAFETY: the caller's promise; a mask that is the output is read before it is overwritten.
        unsafe {
            let (low, high) = (mask.add(16 * k).cast(), mask.add(128 + 16 * k).cast());
            let pair = _mm256_xor_si256(pair, _mm256_loadu2_m128i(high, low));
            let (low, high) = (output.add(16 * k).cast(), output.add(128 + 16 * k).cast());
            _mm256_storeu2_m128i(high, low, pair);
        }
    }
}
