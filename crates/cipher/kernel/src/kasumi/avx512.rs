//! KASUMI on byte planes: 64 blocks in the bytes of eight vectors.
//!
//! Plane `i` holds byte `i` of 64 blocks, so a word is two vectors, its high and its low bytes.
//! FI takes such a word apart into nine bits and seven without moving anything: the nine are the
//! high byte and bit 7 of the low one, the seven are the rest of the low byte.
//!
//! - S7 is one look-up in the 128 bytes of two registers (`VPERMI2B` ignores bit 7 of the index).
//! - S9 is quadratic (TS 35.202, clause 4.5). So its value at x = (t, s, r) with a tail `r` of
//!   seven bits, a bit `s` and a bit `t` is `T(r) ^ s A(r) ^ t B(s, r)`, where T is a table of 128
//!   and A and B, differences of a quadratic map, are affine. T is one look-up, A and B are
//!   `GF2P8AFFINEQB`, and a bit spread over its byte masks them. That makes the eight low bits.
//!   Bit 8, a quadratic form in the byte and the ninth bit, is the parity of `x & U x` with U
//!   affine, and again a difference that the ninth bit masks; the parity comes out of the
//!   multiplication by a matrix of equal rows, spread over its byte.
//!
//! A tower of two S9 and two S7 is about 41 instructions for 64 blocks.

use core::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::batch::{BURST, LANES, Lanes};
use super::tables::{S7, S9};

/// The matrix of `GF2P8AFFINEQB` whose output bit `i` is the parity of `x & rows[i]`.
const fn matrix(rows: [u8; 8]) -> i64 {
    let mut matrix = 0;
    let mut i = 0;
    while i < 8 {
        matrix |= (rows[i] as i64) << (8 * (7 - i));
        i += 1;
    }
    matrix
}

/// Every output bit is the parity of `x & row`.
const fn spread(row: u8) -> i64 {
    matrix([row; 8])
}

/// `x << by`, or `x >> -by`.
const fn shift(by: i32) -> i64 {
    let mut rows = [0; 8];
    let mut i = 0;
    while i < 8 {
        if i - by >= 0 && i - by < 8 {
            rows[i as usize] = 1 << (i - by);
        }
        i += 1;
    }
    matrix(rows)
}

/// The matrix of an affine map, given as its values at 0 and at the eight unit vectors.
const fn linear(zero: u8, units: [u8; 8]) -> i64 {
    let mut rows = [0; 8];
    let mut i = 0;
    while i < 8 {
        let mut j = 0;
        while j < 8 {
            rows[i] |= ((units[j] ^ zero) >> i & 1) << j;
            j += 1;
        }
        i += 1;
    }
    matrix(rows)
}

/// S9 cut up as the head of this file says. `x` is the byte, the ninth bit is next to it.
struct Cut {
    table: [u8; 128],
    /// A, masked by bit 7 of the byte.
    high: i64,
    high_at_0: u8,
    /// B, masked by the ninth bit.
    ninth: i64,
    ninth_at_0: u8,
    /// Bit 8 of the result: U,
    form: i64,
    form_at_0: u8,
    /// its value at 0,
    top_at_0: u8,
    /// and what the ninth bit adds.
    top_ninth: u8,
    top_ninth_at_0: u8,
}

impl Cut {
    /// With the ninth bit below the byte, or above it.
    const fn new(ninth_is_lowest: bool) -> Cut {
        const fn at(ninth_is_lowest: bool, x: usize, ninth: usize) -> u16 {
            if ninth_is_lowest { S9[x << 1 | ninth] } else { S9[ninth << 8 | x] }
        }
        let low = ninth_is_lowest;
        let mut cut = Cut {
            table: [0; 128],
            high: 0,
            high_at_0: (at(low, 128, 0) ^ at(low, 0, 0)) as u8,
            ninth: 0,
            ninth_at_0: (at(low, 0, 1) ^ at(low, 0, 0)) as u8,
            form: 0,
            form_at_0: 0,
            top_at_0: (at(low, 0, 0) >> 8) as u8,
            top_ninth: 0,
            top_ninth_at_0: ((at(low, 0, 1) ^ at(low, 0, 0)) >> 8) as u8,
        };
        let mut x = 0;
        while x < 128 {
            cut.table[x] = at(low, x, 0) as u8;
            x += 1;
        }
        let mut high = [0; 8];
        let mut ninth = [0; 8];
        let mut form = [0; 8];
        let mut i = 0;
        while i < 8 {
            let unit = 1 << i;
            // A does not know bit 7, which is one where A counts.
            high[i] = if i < 7 {
                (at(low, 128 | unit, 0) ^ at(low, unit, 0)) as u8
            } else {
                cut.high_at_0
            };
            ninth[i] = (at(low, unit, 1) ^ at(low, unit, 0)) as u8;
            let top = (at(low, unit, 1) ^ at(low, unit, 0)) >> 8;
            cut.top_ninth |= (top as u8 ^ cut.top_ninth_at_0) << i;
            // Coefficients of the quadratic form: of x_i, and of x_i x_j with j > i.
            let coefficient = (at(low, unit, 0) ^ at(low, 0, 0)) >> 8;
            cut.form_at_0 |= (coefficient as u8) << i;
            let mut j = i + 1;
            while j < 8 {
                let other = 1 << j;
                let both = at(low, unit | other, 0) ^ at(low, unit, 0);
                let one = at(low, other, 0) ^ at(low, 0, 0);
                form[i] |= ((both ^ one) >> 8 << j) as u8;
                j += 1;
            }
            i += 1;
        }
        cut.high = linear(cut.high_at_0, high);
        cut.ninth = linear(cut.ninth_at_0, ninth);
        cut.form = matrix(form);
        cut
    }
}

const FIRST: Cut = Cut::new(true);
const SECOND: Cut = Cut::new(false);

/// S7, one bit up.
const S7_SHIFTED: [u8; 128] = {
    let mut table = S7;
    let mut i = 0;
    while i < 128 {
        table[i] <<= 1;
        i += 1;
    }
    table
};

static TABLE_FIRST: [u8; 128] = FIRST.table;
static TABLE_SECOND: [u8; 128] = SECOND.table;
static TABLE_S7: [u8; 128] = S7;
static TABLE_S7_SHIFTED: [u8; 128] = S7_SHIFTED;

/// The high and the low bytes of a word of 64 blocks.
#[derive(Clone, Copy)]
struct Word {
    high: __m512i,
    low: __m512i,
}

/// The subkey of FI as it is used.
#[derive(Clone, Copy)]
struct Inner {
    /// The eight low bits of KI2,
    nine: __m512i,
    /// its bit 8, spread over the byte,
    ninth: __m512i,
    /// and KI1 with the seven low bits of KI2: the seven bits meet the nine after these took in KI2.
    seven: __m512i,
}

/// The subkeys of a round.
#[derive(Clone, Copy)]
struct Round {
    kl: [Word; 2],
    ko: [Word; 3],
    ki: [Inner; 3],
}

/// The subkeys of 64 keys.
#[derive(Clone, Copy)]
pub(super) struct Schedule([Round; 8]);

impl Schedule {
    pub(super) const fn empty() -> Schedule {
        // SAFETY: a vector of integers may be zero.
        unsafe { core::mem::zeroed() }
    }
}

impl zeroize::Zeroize for Schedule {
    fn zeroize(&mut self) {
        let words = size_of::<Schedule>() / 8;
        // SAFETY: vectors are integers, without padding, and aligned for u64.
        unsafe { core::slice::from_raw_parts_mut(core::ptr::from_mut(self).cast::<u64>(), words) }
            .zeroize();
    }
}

/// The AVX-512 version.
#[derive(Clone, Copy)]
pub(super) struct Vectors(pub(super) Avx512);

impl Lanes for Vectors {
    type Schedule = Schedule;

    fn schedule(self, keys: &[[u64; LANES]; 2], schedule: &mut Schedule) {
        // SAFETY: the token proves the features.
        unsafe { prepare(self.0, keys, schedule) }
    }

    fn encrypt(self, schedule: &Schedule, blocks: &mut [u64; LANES]) {
        let mut out = [[0; BURST]; LANES];
        // SAFETY: the token proves the features.
        unsafe { keystream(self.0, schedule, &[0; LANES], blocks, 1, &mut out) }
    }

    fn keystream(
        self,
        schedule: &Schedule,
        start: &[u64; LANES],
        chain: &mut [u64; LANES],
        blocks: usize,
        out: &mut [[u64; BURST]; LANES],
    ) {
        // SAFETY: the token proves the features.
        unsafe { keystream(self.0, schedule, start, chain, blocks, out) }
    }

    fn absorb(
        self,
        schedule: &Schedule,
        text: &[[u64; LANES]; BURST],
        counts: &[u64; LANES],
        chain: &mut [u64; LANES],
        sum: &mut [u64; LANES],
        blocks: usize,
    ) {
        // SAFETY: the token proves the features.
        unsafe { absorb(self.0, schedule, text, counts, chain, sum, blocks) }
    }
}

/// One pass of the perfect shuffle: vectors i and i + 4 byte by byte, in each 128 bits. With the
/// place of a byte written as (vector, byte of 16), seven bits, it rotates the place left by one.
#[inline(always)]
fn shuffle(_: Avx512, x: [__m512i; 8]) -> [__m512i; 8] {
    // SAFETY: the token proves the features.
    unsafe {
        let mut out = x;
        let mut i = 0;
        while i < 4 {
            out[2 * i] = _mm512_unpacklo_epi8(x[i], x[i + 4]);
            out[2 * i + 1] = _mm512_unpackhi_epi8(x[i], x[i + 4]);
            i += 1;
        }
        out
    }
}

/// 64 blocks to planes. In each 128 bits, the place of a byte is (vector, block of two, byte of
/// eight) before and (byte, vector, block) after: rotated by four.
#[inline(always)]
fn load(proof: Avx512, blocks: &[u64; LANES]) -> [__m512i; 8] {
    let mut x = core::array::from_fn(|i| {
        // SAFETY: the token proves the features; `i` is under 8.
        unsafe { _mm512_loadu_si512(blocks.as_ptr().add(8 * i).cast()) }
    });
    for _ in 0..4 {
        x = shuffle(proof, x);
    }
    x
}

/// Planes to vectors of eight blocks: rotated by three more.
#[inline(always)]
fn lanes_of(proof: Avx512, planes: [__m512i; 8]) -> [__m512i; 8] {
    shuffle(proof, shuffle(proof, shuffle(proof, planes)))
}

/// The inverse of [`load`].
#[inline(always)]
fn store(proof: Avx512, planes: [__m512i; 8], blocks: &mut [u64; LANES]) {
    for (i, x) in lanes_of(proof, planes).into_iter().enumerate() {
        // SAFETY: the token proves the features; `i` is under 8.
        unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().add(8 * i).cast(), x) }
    }
}

/// a ^ b ^ c.
#[inline(always)]
fn xor3(_: Avx512, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // SAFETY: the token proves the features.
    unsafe { _mm512_ternarylogic_epi64(a, b, c, 0x96) }
}

/// a ^ (b & c).
#[inline(always)]
fn xor_and(_: Avx512, a: __m512i, b: __m512i, c: __m512i) -> __m512i {
    // SAFETY: the token proves the features.
    unsafe { _mm512_ternarylogic_epi64(a, b, c, 0x78) }
}

/// The affine map of `MATRIX` and `AT_0`.
#[inline(always)]
fn affine<const MATRIX: i64, const AT_0: i32>(_: Avx512, x: __m512i) -> __m512i {
    // SAFETY: the token proves the features.
    unsafe { _mm512_gf2p8affine_epi64_epi8(x, _mm512_set1_epi64(MATRIX), AT_0) }
}

/// The entry of each byte's seven low bits.
#[inline(always)]
fn look_up(_: Avx512, table: &'static [u8; 128], x: __m512i) -> __m512i {
    // SAFETY: the token proves the features; the table has two vectors.
    unsafe {
        let low = _mm512_loadu_si512(table.as_ptr().cast());
        let high = _mm512_loadu_si512(table.as_ptr().add(64).cast());
        _mm512_permutex2var_epi8(low, x, high)
    }
}

#[inline(always)]
fn xor(_: Avx512, a: Word, b: Word) -> Word {
    // SAFETY: the token proves the features.
    unsafe { Word { high: _mm512_xor_si512(a.high, b.high), low: _mm512_xor_si512(a.low, b.low) } }
}

/// `word` rotated left by `BY` < 8.
#[inline(always)]
fn rotate(_: Avx512, word: Word, left: i64, right: i64) -> Word {
    // SAFETY: the token proves the features.
    unsafe {
        let left = _mm512_set1_epi64(left);
        let right = _mm512_set1_epi64(right);
        let both = |a, b| {
            let a = _mm512_gf2p8affine_epi64_epi8(a, left, 0);
            _mm512_xor_si512(a, _mm512_gf2p8affine_epi64_epi8(b, right, 0))
        };
        Word { high: both(word.high, word.low), low: both(word.low, word.high) }
    }
}

/// Clause 4.4.
#[inline(always)]
fn fi(p: Avx512, word: Word, key: &Inner) -> Word {
    // SAFETY: the token proves the features.
    unsafe {
        let seven_bits = _mm512_set1_epi8(0x7F);
        let Word { high: x, low } = word;
        // The first S9, then KI2.
        let ninth = affine::<{ spread(0x80) }, 0>(p, low);
        let highest = affine::<{ spread(0x80) }, 0>(p, x);
        let t = look_up(p, &TABLE_FIRST, x);
        let a = affine::<{ FIRST.high }, { FIRST.high_at_0 as i32 }>(p, x);
        let b = affine::<{ FIRST.ninth }, { FIRST.ninth_at_0 as i32 }>(p, x);
        let t = xor_and(p, t, highest, a);
        let rest = xor_and(p, key.nine, low, seven_bits);
        let nine = _mm512_xor_si512(t, xor_and(p, rest, ninth, b));
        let u = affine::<{ FIRST.form }, { FIRST.form_at_0 as i32 }>(p, x);
        let form =
            affine::<{ spread(0xFF) }, { spread_at_0(FIRST.top_at_0) }>(p, _mm512_and_si512(x, u));
        let difference =
            affine::<{ spread(FIRST.top_ninth) }, { spread_at_0(FIRST.top_ninth_at_0) }>(p, x);
        let top = _mm512_xor_si512(xor_and(p, key.ninth, ninth, difference), form);
        // The first S7, then KI1.
        let seven = xor3(p, look_up(p, &TABLE_S7, low), nine, key.seven);
        // The second S9.
        let highest = affine::<{ spread(0x80) }, 0>(p, nine);
        let t = look_up(p, &TABLE_SECOND, nine);
        let a = affine::<{ SECOND.high }, { SECOND.high_at_0 as i32 }>(p, nine);
        let b = affine::<{ SECOND.ninth }, { SECOND.ninth_at_0 as i32 }>(p, nine);
        let t = xor_and(p, xor_and(p, t, highest, a), top, b);
        let low = xor_and(p, t, seven, seven_bits);
        // Its bit 8, which goes to bit 0 of the high byte.
        let u = affine::<{ SECOND.form }, { SECOND.form_at_0 as i32 }>(p, nine);
        let form = affine::<{ LOWEST }, { SECOND.top_at_0 as i32 }>(p, _mm512_and_si512(nine, u));
        let difference = affine::<{ SECOND_TOP_NINTH }, { SECOND.top_ninth_at_0 as i32 }>(p, nine);
        let top = xor_and(p, form, top, difference);
        // The second S7, with what it takes of the nine: bit 7 falls out, bit 8 has its own place.
        let high = xor3(p, look_up(p, &TABLE_S7_SHIFTED, seven), _mm512_add_epi8(low, low), top);
        Word { high, low }
    }
}

/// A bit in every place of the byte.
const fn spread_at_0(bit: u8) -> i32 {
    bit as i32 * 0xFF
}

/// The parity of the byte in bit 0.
const LOWEST: i64 = matrix([0xFF, 0, 0, 0, 0, 0, 0, 0]);

/// What the ninth bit adds to bit 8 of the second S9, in bit 0.
const SECOND_TOP_NINTH: i64 = matrix([SECOND.top_ninth, 0, 0, 0, 0, 0, 0, 0]);

/// Clause 4.3.
#[inline(always)]
fn fo(p: Avx512, [left, right]: [Word; 2], key: &Round) -> [Word; 2] {
    let a = xor(p, fi(p, xor(p, left, key.ko[0]), &key.ki[0]), right);
    let b = xor(p, fi(p, xor(p, right, key.ko[1]), &key.ki[1]), a);
    let c = xor(p, fi(p, xor(p, a, key.ko[2]), &key.ki[2]), b);
    [b, c]
}

/// Clause 4.2.
#[inline(always)]
fn fl(p: Avx512, [left, right]: [Word; 2], key: &Round) -> [Word; 2] {
    /// a ^ (b rotated left by one).
    #[inline(always)]
    fn xor_rotated(p: Avx512, a: Word, b: Word) -> Word {
        // SAFETY: the token proves the features.
        unsafe {
            let carry = |x| affine::<{ shift(-7) }, 0>(p, x);
            Word {
                high: xor3(p, a.high, _mm512_add_epi8(b.high, b.high), carry(b.low)),
                low: xor3(p, a.low, _mm512_add_epi8(b.low, b.low), carry(b.high)),
            }
        }
    }
    let [kl1, kl2] = key.kl;
    // SAFETY: the token proves the features.
    let masked = unsafe {
        Word {
            high: _mm512_and_si512(left.high, kl1.high),
            low: _mm512_and_si512(left.low, kl1.low),
        }
    };
    let right = xor_rotated(p, right, masked);
    // SAFETY: the token proves the features.
    let filled = unsafe {
        Word {
            high: _mm512_or_si512(right.high, kl2.high),
            low: _mm512_or_si512(right.low, kl2.low),
        }
    };
    [xor_rotated(p, left, filled), right]
}

/// Eight rounds (clause 2.2), two by two.
#[inline(always)]
fn encrypt(p: Avx512, Schedule(rounds): &Schedule, state: [__m512i; 8]) -> [__m512i; 8] {
    let half = |i: usize| {
        [Word { high: state[i], low: state[i + 1] }, Word { high: state[i + 2], low: state[i + 3] }]
    };
    let (mut left, mut right) = (half(0), half(4));
    for pair in rounds.chunks_exact(2) {
        let f = fo(p, fl(p, left, &pair[0]), &pair[0]);
        right = [xor(p, right[0], f[0]), xor(p, right[1], f[1])];
        let f = fl(p, fo(p, right, &pair[1]), &pair[1]);
        left = [xor(p, left[0], f[0]), xor(p, left[1], f[1])];
    }
    let [a, b] = left;
    let [c, d] = right;
    [a.high, a.low, b.high, b.low, c.high, c.low, d.high, d.low]
}

/// The subkeys of 64 keys.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn prepare(p: Avx512, keys: &[[u64; LANES]; 2], Schedule(rounds): &mut Schedule) {
    /// TS 35.202, clause 3: what the modified key differs by.
    const C: [u16; 8] = [0x0123, 0x4567, 0x89AB, 0xCDEF, 0xFEDC, 0xBA98, 0x7654, 0x3210];
    let halves = [load(p, &keys[0]), load(p, &keys[1])];
    let plain: [Word; 8] = core::array::from_fn(|i| {
        let from = 2 * (i % 4);
        Word { high: halves[i / 4][from], low: halves[i / 4][from + 1] }
    });
    let modified: [Word; 8] = core::array::from_fn(|i| {
        let constant = |byte: u16| _mm512_set1_epi8(byte as i8);
        xor(p, plain[i], Word { high: constant(C[i] >> 8), low: constant(C[i]) })
    });
    for (i, round) in rounds.iter_mut().enumerate() {
        let plain = |index: usize| plain[(i + index) % 8];
        let five = |word| rotate(p, word, const { shift(5) }, const { shift(-3) });
        let swapped = |word: Word| Word { high: word.low, low: word.high };
        let inner = |index: usize| {
            let Word { high, low } = modified[(i + index) % 8];
            let nine_of_seven = _mm512_and_si512(low, _mm512_set1_epi8(0x7F));
            let seven = affine::<{ shift(-1) }, 0>(p, high);
            Inner {
                nine: low,
                ninth: affine::<{ spread(1) }, 0>(p, high),
                seven: _mm512_xor_si512(seven, nine_of_seven),
            }
        };
        *round = Round {
            kl: [
                rotate(p, plain(0), const { shift(1) }, const { shift(-7) }),
                modified[(i + 2) % 8],
            ],
            ko: [five(plain(1)), swapped(plain(5)), five(swapped(plain(6)))],
            ki: [inner(4), inner(3), inner(7)],
        };
    }
}

/// See [`Lanes::keystream`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn keystream(
    p: Avx512,
    schedule: &Schedule,
    start: &[u64; LANES],
    chain: &mut [u64; LANES],
    blocks: usize,
    out: &mut [[u64; BURST]; LANES],
) {
    let start = load(p, start);
    let mut state = load(p, chain);
    for number in 0..blocks {
        for (state, start) in state.iter_mut().zip(start) {
            *state = _mm512_xor_si512(*state, start);
        }
        state[7] = _mm512_xor_si512(state[7], _mm512_set1_epi8(number as i8));
        state = encrypt(p, schedule, state);
        // Eight lanes to a vector: such a vector of each block, in the rows of these lanes.
        for (i, lanes) in lanes_of(p, state).into_iter().enumerate() {
            // SAFETY: there are eight rows for every vector, and a row is a vector long.
            unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(8 * i + number).cast(), lanes) }
        }
    }
    for rows in out.chunks_exact_mut(8) {
        transpose(p, rows.try_into().expect("eight rows"));
    }
    store(p, state, chain);
}

/// Eight rows of eight.
#[inline(always)]
fn transpose(_: Avx512, rows: &mut [[u64; 8]; 8]) {
    // SAFETY: the token proves the features; a row is a vector long.
    unsafe {
        let x: [__m512i; 8] = core::array::from_fn(|i| _mm512_loadu_si512(rows[i].as_ptr().cast()));
        for odd in 0..2 {
            // Pairs of rows: 128 bits of one column each.
            let [a, b, c, d] = core::array::from_fn(|i| match odd {
                0 => _mm512_unpacklo_epi64(x[2 * i], x[2 * i + 1]),
                _ => _mm512_unpackhi_epi64(x[2 * i], x[2 * i + 1]),
            });
            // Columns 0 and 4 (or 1 and 5), then 2 and 6 (or 3 and 7).
            let low = [_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(c, d, 0x88)];
            let high = [_mm512_shuffle_i64x2(a, b, 0xDD), _mm512_shuffle_i64x2(c, d, 0xDD)];
            let columns = [
                _mm512_shuffle_i64x2(low[0], low[1], 0x88),
                _mm512_shuffle_i64x2(high[0], high[1], 0x88),
                _mm512_shuffle_i64x2(low[0], low[1], 0xDD),
                _mm512_shuffle_i64x2(high[0], high[1], 0xDD),
            ];
            for (i, column) in columns.into_iter().enumerate() {
                _mm512_storeu_si512(rows[2 * i + odd].as_mut_ptr().cast(), column);
            }
        }
    }
}

/// See [`Lanes::absorb`].
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn absorb(
    p: Avx512,
    schedule: &Schedule,
    text: &[[u64; LANES]; BURST],
    counts: &[u64; LANES],
    chain: &mut [u64; LANES],
    sum: &mut [u64; LANES],
    blocks: usize,
) {
    // The counts are small: byte 0 of eight.
    let counts = load(p, counts)[0];
    let mut state = load(p, chain);
    let mut sums = load(p, sum);
    for (number, text) in text.iter().enumerate().take(blocks) {
        for (state, text) in state.iter_mut().zip(load(p, text)) {
            *state = _mm512_xor_si512(*state, text);
        }
        state = encrypt(p, schedule, state);
        let number = _mm512_set1_epi8(number as i8);
        let lasts = _mm512_movm_epi8(_mm512_cmpgt_epu8_mask(counts, number));
        for (sum, state) in sums.iter_mut().zip(state) {
            *sum = xor_and(p, *sum, state, lasts);
        }
    }
    store(p, state, chain);
    store(p, sums, sum);
}
