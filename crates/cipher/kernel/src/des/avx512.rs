//! DES on 64 blocks side by side: AVX-512 with VBMI and GFNI.
//!
//! A half of the state is eight registers, one for each S-box, with a byte for each block; a round
//! is eight byte permutations (`vpermb`, the S-boxes), 24 selections (`vpternlogd`, P and E) and
//! eight XORs of three: 40 instructions for 64 blocks, and no load but of constants and keys.
//! [`wiring`](super::wiring) says why that computes DES.
//!
//! The initial permutation is a transposition of a block's 8 x 8 bits: one GF2P8AFFINEQB with the
//! block as the matrix. A transposition of 64 x 8 bytes then brings byte `c` of all blocks into
//! register `c`.
//!
//! Constant time: no branch and no address depends on a key or a text, but for groups of fewer
//! than [`FEW`] blocks, which `portable` runs. Test: `tests/des.rs`; bench: `blocks`.

use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use lookaside_simd::Avx512;

use super::wiring::{CONTRACT, EXPAND, INPUT, OUTPUT, PARTNER, TABLES, row_count};
use super::{Cipher, Direction, portable};
use crate::modes::Engine;
use crate::wipe::wipe_memory;

/// Blocks side by side.
pub(super) const LANES: usize = 64;

/// Fewer blocks than this are quicker one after another: a group takes the time of about four.
const FEW: usize = 4;

/// When so few keys of a group change, they are put in one by one.
const ONE_BY_ONE: usize = 6;

/// The most rows of a key.
const ROWS: usize = row_count(3);

/// A row of the keys of a group: for each register of a half, each lane's byte.
#[repr(C, align(64))]
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

/// 64 blocks side by side.
pub(super) struct Wide<'k, K> {
    _token: Avx512,
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
    pub(super) fn new(token: Avx512, direction: Direction) -> Self {
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
    const ALONE: usize = 20;

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
        for eight in (0..self.rows).step_by(8) {
            // SAFETY: the token; every key has rows to the next multiple of eight.
            unsafe { self.spread_rows(keys, eight) };
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
        // SAFETY: the token; the caller's promise; the rows of the keys in force are written.
        unsafe {
            match self.keys {
                Keys::None => {}
                Keys::One => {
                    rounds::<true>(self.one.as_ptr().cast(), self.rows / 17, input, mask, output);
                }
                Keys::Lanes => {
                    rounds::<false>(
                        self.lanes.as_ptr().cast(),
                        self.rows / 17,
                        input,
                        mask,
                        output,
                    );
                }
            }
        }
    }
}

impl<K: Cipher> Wide<'_, K> {
    /// Brings the rows `eight..eight + 8` of the keys, where there are so many, into the lanes.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
    fn spread_rows(&mut self, keys: &[&K], eight: usize) {
        // Each eighth under one key, as with whole packets of 64 bytes?
        let eighths = keys.chunks(8).all(|of| of.iter().all(|key| std::ptr::eq(*key, of[0])));
        if eighths {
            let mut rows = [_mm512_setzero_si512(); 8];
            for (row, of) in rows.iter_mut().zip(keys.chunks(8)) {
                *row = eight_rows(of[0], eight);
            }
            for (i, row) in transposed_qwords(rows).into_iter().enumerate() {
                let mut bytes = [row; 8];
                for (n, byte) in bytes.iter_mut().enumerate() {
                    // Byte n of each quadword, eight times over.
                    let index =
                        _mm512_add_epi8(constant(&FIRST_OF_QWORD), _mm512_set1_epi8(n as i8));
                    *byte = _mm512_permutexvar_epi8(index, row);
                }
                self.put_row(eight + i, bytes);
            }
            return;
        }
        // Register g of row i: that row of the keys 8g to 8g+7.
        let mut gathered = [[_mm512_setzero_si512(); 8]; 8];
        for (g, keys) in keys.chunks(8).enumerate() {
            let mut of_keys = [_mm512_setzero_si512(); 8];
            for (of_key, key) in of_keys.iter_mut().zip(keys) {
                *of_key = eight_rows(*key, eight);
            }
            for (row, of_row) in gathered.iter_mut().zip(transposed_qwords(of_keys)) {
                row[g] = of_row;
            }
        }
        for (i, mut bytes) in gathered.into_iter().enumerate() {
            for byte in &mut bytes {
                *byte = transposed_bytes(*byte);
            }
            self.put_row(eight + i, transposed_qwords(bytes));
        }
    }

    /// Writes the lanes' row `i`, if there is such a row.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn put_row(&mut self, i: usize, bytes: [__m512i; 8]) {
        if i < self.rows {
            let to = self.place(i);
            let to: *mut Row = self.lanes[to].as_mut_ptr();
            // SAFETY: a row is eight times 64 bytes, aligned.
            unsafe { to.cast::<[__m512i; 8]>().write(bytes) };
        }
    }
}

/// Where each byte's quadword begins.
const FIRST_OF_QWORD: [u8; 64] = {
    let mut index = [0; 64];
    let mut i = 0;
    while i < 64 {
        index[i] = (i / 8 * 8) as u8;
        i += 1;
    }
    index
};

/// The rows `eight..eight + 8` of a key.
#[inline]
#[target_feature(enable = "avx512f")]
fn eight_rows<K: Cipher>(key: &K, eight: usize) -> __m512i {
    let rows = &key.rows()[eight..eight + 8];
    // SAFETY: eight rows are 64 bytes.
    unsafe { _mm512_loadu_si512(rows.as_ptr().cast()) }
}

/// Transposes the bytes of a register as an 8 x 8 matrix.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn transposed_bytes(x: __m512i) -> __m512i {
    const INDEX: [u8; 64] = {
        let mut index = [0; 64];
        let mut i = 0;
        while i < 64 {
            index[i] = (i % 8 * 8 + i / 8) as u8;
            i += 1;
        }
        index
    };
    _mm512_permutexvar_epi8(constant(&INDEX), x)
}

/// 64 bytes as a register.
#[inline]
#[target_feature(enable = "avx512f")]
fn constant(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: 64 bytes can be read there.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Transposes eight registers of eight quadwords.
#[inline]
#[target_feature(enable = "avx512f")]
fn transposed_qwords(r: [__m512i; 8]) -> [__m512i; 8] {
    let mut out = r;
    for odd in 0..2 {
        // Quadwords 0, 2, 4, 6 (or 1, 3, 5, 7) of two registers each.
        let mut pairs = [_mm512_setzero_si512(); 4];
        for (i, pair) in pairs.iter_mut().enumerate() {
            *pair = if odd == 0 {
                _mm512_unpacklo_epi64(r[2 * i], r[2 * i + 1])
            } else {
                _mm512_unpackhi_epi64(r[2 * i], r[2 * i + 1])
            };
        }
        // Then a transposition of 4 x 4 pieces of 128 bits.
        let [a, b, c, d] = pairs;
        let (x0, x1) = (_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b));
        let (y0, y1) = (_mm512_shuffle_i64x2::<0x88>(c, d), _mm512_shuffle_i64x2::<0xdd>(c, d));
        out[odd] = _mm512_shuffle_i64x2::<0x88>(x0, y0);
        out[2 + odd] = _mm512_shuffle_i64x2::<0x88>(x1, y1);
        out[4 + odd] = _mm512_shuffle_i64x2::<0xdd>(x0, y0);
        out[6 + odd] = _mm512_shuffle_i64x2::<0xdd>(x1, y1);
    }
    out
}

/// The function f of the half whose S-box inputs are `x`, in the layout of the halves, by way of
/// the network.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn f(x: &[__m512i; 8]) -> [__m512i; 8] {
    let mut net = [_mm512_setzero_si512(); 8];
    for s_box in 0..8 {
        net[INPUT[s_box]] = _mm512_permutexvar_epi8(x[OUTPUT[s_box]], constant(&TABLES[s_box]));
    }
    for (stage, masks) in PARTNER.iter().enumerate() {
        let from = net;
        for n in 0..8 {
            // mask ? partner : own
            let mask = _mm512_set1_epi32(i32::from(masks[n]) * 0x0101_0101);
            net[n] = _mm512_ternarylogic_epi32::<0xca>(mask, from[n ^ 1 << stage], from[n]);
        }
    }
    net
}

/// The row at `row`: of one key (a word each to repeat) or of the lanes.
///
/// # Safety
/// A row of that kind can be read there.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn key<const ONE: bool>(row: *const u8, register: usize) -> __m512i {
    // SAFETY: the caller's promise.
    unsafe {
        if ONE {
            _mm512_set1_epi32(row.cast::<i32>().add(register).read())
        } else {
            _mm512_load_si512(row.cast::<__m512i>().add(register))
        }
    }
}

/// Runs `passes` passes on 64 blocks: `output = cipher(input) ^ mask`.
///
/// # Safety
/// 512 bytes each can be read at `input` and `mask` and written at `output`, which may be either
/// of them; `17 * passes + 1` rows can be read at `rows`.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
unsafe fn rounds<const ONE: bool>(
    mut rows: *const u8,
    passes: usize,
    input: *const u8,
    mask: *const u8,
    output: *mut u8,
) {
    let row_bytes = if ONE { size_of::<[u32; 8]>() } else { size_of::<Row>() };
    // IP: byte c of the result is this bit of each byte of the block; its bits come out reversed.
    let initial = _mm512_set1_epi64(i64::from_le_bytes([6, 4, 2, 0, 7, 5, 3, 1].map(|b| 1 << b)));
    let mut bytes = [_mm512_setzero_si512(); 8];
    for (i, byte) in bytes.iter_mut().enumerate() {
        // SAFETY: the caller's promise.
        let blocks = unsafe { _mm512_loadu_si512(input.add(64 * i).cast()) };
        *byte = transposed_bytes(_mm512_gf2p8affine_epi64_epi8::<0>(initial, blocks));
    }
    let bytes = transposed_qwords(bytes);
    let mut halves = [[_mm512_setzero_si512(); 8]; 2];
    for (h, half) in halves.iter_mut().enumerate() {
        for n in 0..8 {
            let near = if n % 2 == 0 { (n / 2 + 3) % 4 } else { (n / 2 + 1) % 4 };
            let own = _mm512_set1_epi64(EXPAND[n][0].cast_signed());
            let other = _mm512_set1_epi64(EXPAND[n][1].cast_signed());
            half[OUTPUT[n]] = _mm512_xor_si512(
                _mm512_gf2p8affine_epi64_epi8::<0>(bytes[4 * h + n / 2], own),
                _mm512_gf2p8affine_epi64_epi8::<0>(bytes[4 * h + near], other),
            );
        }
    }
    let [mut y, mut x] = halves;

    for _ in 0..passes {
        for (n, x) in x.iter_mut().enumerate() {
            // SAFETY: the caller's promise.
            *x = _mm512_xor_si512(*x, unsafe { key::<ONE>(rows, n) });
        }
        for _ in 0..8 {
            // SAFETY: the caller's promise, for two more rows.
            unsafe {
                rows = rows.add(row_bytes);
                let t = f(&x);
                for n in 0..8 {
                    y[n] = _mm512_ternarylogic_epi32::<0x96>(y[n], t[n], key::<ONE>(rows, n));
                }
                rows = rows.add(row_bytes);
                let t = f(&y);
                for n in 0..8 {
                    x[n] = _mm512_ternarylogic_epi32::<0x96>(x[n], t[n], key::<ONE>(rows, n));
                }
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
        *x = _mm512_xor_si512(*x, unsafe { key::<ONE>(rows, n) });
    }
    let mut bytes = [_mm512_setzero_si512(); 8];
    for (h, half) in [y, x].iter().enumerate() {
        for c in 0..4 {
            let (n, half) = (2 * c, *half);
            let high = _mm512_set1_epi64(CONTRACT[n].cast_signed());
            let low = _mm512_set1_epi64(CONTRACT[n + 1].cast_signed());
            bytes[MATRIX_ROW[4 * h + c]] = _mm512_xor_si512(
                _mm512_gf2p8affine_epi64_epi8::<0>(half[OUTPUT[n]], high),
                _mm512_gf2p8affine_epi64_epi8::<0>(half[OUTPUT[n + 1]], low),
            );
        }
    }
    let columns = _mm512_set1_epi64(i64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 7].map(|b| 1 << b)));
    let blocks = transposed_qwords(bytes);
    for (i, block) in blocks.into_iter().enumerate() {
        let block = _mm512_gf2p8affine_epi64_epi8::<0>(columns, transposed_bytes(block));
        // SAFETY: the caller's promise; a mask that is the output is read before it is overwritten.
        unsafe {
            let mask = _mm512_loadu_si512(mask.add(64 * i).cast());
            _mm512_storeu_si512(output.add(64 * i).cast(), _mm512_xor_si512(block, mask));
        }
    }
}
