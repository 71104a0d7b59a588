//! The index with AVX-512: blocks of 64 bytes.
//!
//! ```text
//! for each 64 blocks:
//!     for each block B:
//!         class    := CLASSES[B]                          where B is ASCII, else 0
//!         words    := class has NAME_END, VALUE_STOP, TEXT_STOP
//!         error   |= class has FORBIDDEN
//!     for each B with "]]" in it or before it:
//!         words   |= the '>' of "]]>"
//!     for each B that is not all of ASCII, or behind three bytes that are not:
//!         error   |= B with the three bytes before it is not UTF-8, or B is U+FFFE or U+FFFF
//! ```
//!
//! UTF-8 is checked as Keiser and Lemire do ("Validating UTF-8 in less than one instruction per byte", 2021): three tables
//! by nibbles of a byte and of the byte before it name what may be wrong with the pair; what is left is whether a third or
//! fourth byte is expected. Shapes: any length and alignment. CPU features: AVX-512 F, BW, VBMI. Not constant time. Covered
//! by the tests of this folder, which compare with the portable twin, and by `make bench-xml`.
//!
//! 1. Bytes before a block are loaded from memory, one to three bytes earlier; the first block and the last one are copied
//!    to a buffer with zeros before them and spaces behind.
//! 2. What only some blocks need is noted as a bit of a word, and done behind the 64: in documents where such blocks and others
//!    are mixed, a branch at each of them would cost more than the work.

use std::arch::x86_64::*;

use lookaside_simd::Avx512;

use super::{
    BLOCK, BRACKET, CLASSES, FORBIDDEN, LINE_FEED, Maps, NAME_END, TEXT_STOP, VALUE_STOP, close,
};

const TOO_SHORT: u8 = 1 << 0;
const TOO_LONG: u8 = 1 << 1;
const OVERLONG_3: u8 = 1 << 2;
const TOO_LARGE: u8 = 1 << 3;
const SURROGATE: u8 = 1 << 4;
const OVERLONG_2: u8 = 1 << 5;
const TOO_LARGE_1000: u8 = 1 << 6;
const OVERLONG_4: u8 = 1 << 6;
const TWO_CONTINUATIONS: u8 = 1 << 7;
const CARRY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTINUATIONS;

/// By the high nibble of the byte before.
pub(super) const BEFORE_HIGH: [u8; 16] = [
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TOO_LONG,
    TWO_CONTINUATIONS,
    TWO_CONTINUATIONS,
    TWO_CONTINUATIONS,
    TWO_CONTINUATIONS,
    TOO_SHORT | OVERLONG_2,
    TOO_SHORT,
    TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
];

/// By the low nibble of the byte before.
pub(super) const BEFORE_LOW: [u8; 16] = [
    CARRY | OVERLONG_3 | OVERLONG_2 | OVERLONG_4,
    CARRY | OVERLONG_2,
    CARRY,
    CARRY,
    CARRY | TOO_LARGE,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000 | SURROGATE,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
    CARRY | TOO_LARGE | TOO_LARGE_1000,
];

/// By the high nibble of the byte.
pub(super) const HIGH: [u8; 16] = [
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4,
    TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | OVERLONG_3 | TOO_LARGE,
    TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | SURROGATE | TOO_LARGE,
    TOO_LONG | OVERLONG_2 | TWO_CONTINUATIONS | SURROGATE | TOO_LARGE,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
    TOO_SHORT,
];

/// See [`super::Index::fill`].
pub(super) fn index(_: Avx512, bytes: &[u8], mut maps: Maps<'_>, lines: bool) -> bool {
    let blocks = bytes.len() / BLOCK + 1;
    assert!(maps.iter().all(|map| map.len() == blocks));
    let maps = maps.each_mut().map(|map| map.as_mut_ptr());
    // SAFETY: the token proves the features; the maps have a place for each block begun.
    unsafe { if lines { run::<true>(bytes, maps) } else { run::<false>(bytes, maps) } }
}

/// # Safety
/// Each of `maps` has `bytes.len() / 64 + 1` words.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run<const LINES: bool>(bytes: &[u8], maps: [*mut u64; 4]) -> bool {
    // SAFETY: 128 bytes.
    let (low, high) = unsafe {
        let table = CLASSES.as_ptr();
        (_mm512_loadu_si512(table.cast()), _mm512_loadu_si512(table.add(64).cast()))
    };
    let mut it = Pass { low, high, brackets: 0, high_before: 0, bad: 0 };
    let whole = bytes.len() / BLOCK;
    let mut edge = [0; 3 + BLOCK];
    if whole > 0 {
        edge[3..].copy_from_slice(&bytes[..BLOCK]);
        // SAFETY: 64 bytes and three before them; the places are there.
        unsafe { it.edge::<LINES>(&edge, 0, maps) };
    }
    let mut from = 1;
    while from < whole {
        let end = whole.min(from + 64);
        // SAFETY: blocks of `bytes` behind the first one.
        unsafe { it.group::<LINES>(bytes.as_ptr(), from, end, maps) };
        from = end;
    }
    edge = [b' '; 3 + BLOCK];
    let from = whole * BLOCK;
    for (to, before) in edge[..3].iter_mut().zip((1..=3).rev()) {
        *to = if from == 0 { 0 } else { bytes[from - before] };
    }
    edge[3..3 + bytes.len() - from].copy_from_slice(&bytes[from..]);
    // SAFETY: as above.
    unsafe { it.edge::<LINES>(&edge, whole, maps) };
    it.bad == 0
}

#[derive(Clone, Copy)]
struct Pass {
    low: __m512i,
    high: __m512i,
    /// The last two bits: `]` at the end of the block before.
    brackets: u64,
    /// Bytes above 127 of the block before.
    high_before: u64,
    bad: u64,
}

super::blocks!("avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt");

impl Pass {
    /// # Safety
    /// 64 bytes at `from` can be read, and three before them.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    unsafe fn utf8(&mut self, from: *const u8) {
        // SAFETY: says the caller.
        self.bad |= unsafe { utf8(from) };
    }

    /// Returns whether UTF-8 is to be checked, and whether `]]` is in the block or ends before it.
    ///
    /// # Safety
    /// 64 bytes at `from` can be read; `block` has its places in the maps.
    #[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    unsafe fn block<const LINES: bool>(
        &mut self,
        from: *const u8,
        block: usize,
        maps: [*mut u64; 4],
    ) -> [bool; 2] {
        // SAFETY: says the caller.
        let bytes = unsafe { _mm512_loadu_si512(from.cast()) };
        let above = _mm512_movepi8_mask(bytes);
        let class = _mm512_maskz_permutex2var_epi8(!above, self.low, bytes, self.high);
        let has = |bit: u8| _mm512_test_epi8_mask(class, _mm512_set1_epi8(bit as i8));
        let brackets = has(BRACKET);
        self.bad |= has(FORBIDDEN);
        let line = if LINES { has(TEXT_STOP | LINE_FEED) } else { 0 };
        let words = [has(NAME_END), has(VALUE_STOP), has(TEXT_STOP), line];
        for (map, word) in maps.into_iter().zip(words).take(if LINES { 4 } else { 3 }) {
            // SAFETY: says the caller.
            unsafe { *map.add(block) = word };
        }
        let others = above | self.high_before >> 61 != 0;
        let closings = brackets & brackets << 1 | self.brackets >> 62 != 0;
        (self.high_before, self.brackets) = (above, brackets);
        [others, closings]
    }
}

/// The `>` of each `]]>`.
///
/// # Safety
/// 64 bytes at `from` can be read, and two before them.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn closing(from: *const u8) -> u64 {
    let is = |from: *const u8, c: u8| {
        // SAFETY: says the caller.
        let bytes = unsafe { _mm512_loadu_si512(from.cast()) };
        _mm512_cmpeq_epi8_mask(bytes, _mm512_set1_epi8(c as i8))
    };
    is(from, b'>') & is(from.wrapping_sub(1), b']') & is(from.wrapping_sub(2), b']')
}

/// The bytes at which something is wrong.
///
/// # Safety
/// 64 bytes at `from` can be read, and three before them.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn utf8(from: *const u8) -> u64 {
    // SAFETY: says the caller.
    let before = |by: usize| unsafe { _mm512_loadu_si512(from.sub(by).cast()) };
    let (bytes, one, two, three) = (before(0), before(1), before(2), before(3));
    let table = |table: &[u8; 16]| {
        // SAFETY: 16 bytes.
        _mm512_broadcast_i32x4(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
    };
    let low_nibble = _mm512_set1_epi8(15);
    let high_of = |v| _mm512_and_si512(_mm512_srli_epi16::<4>(v), low_nibble);
    let pair = _mm512_and_si512(
        _mm512_and_si512(
            _mm512_shuffle_epi8(table(&BEFORE_HIGH), high_of(one)),
            _mm512_shuffle_epi8(table(&BEFORE_LOW), _mm512_and_si512(one, low_nibble)),
        ),
        _mm512_shuffle_epi8(table(&HIGH), high_of(bytes)),
    );
    // A third byte two behind E0 or above, a fourth one three behind F0 or above: there, and only there, two
    // continuations in a row are right.
    let third = _mm512_cmpge_epu8_mask(two, _mm512_set1_epi8(0xe0_u8 as i8));
    let fourth = _mm512_cmpge_epu8_mask(three, _mm512_set1_epi8(0xf0_u8 as i8));
    let continued = _mm512_maskz_set1_epi8(third | fourth, TWO_CONTINUATIONS as i8);
    let wrong = _mm512_xor_si512(pair, continued);
    // EF BF BE and EF BF BF.
    let noncharacter = _mm512_cmpeq_epi8_mask(two, _mm512_set1_epi8(0xef_u8 as i8))
        & _mm512_cmpeq_epi8_mask(one, _mm512_set1_epi8(0xbf_u8 as i8))
        & _mm512_cmpge_epu8_mask(bytes, _mm512_set1_epi8(0xbe_u8 as i8));
    _mm512_test_epi8_mask(wrong, wrong) | noncharacter
}

/// See [`super::characters`].
pub(super) fn characters(_: Avx512, bytes: &[u8]) -> u64 {
    // SAFETY: the token proves the features.
    unsafe { starts(bytes) }
}

#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,lzcnt,popcnt")]
fn starts(bytes: &[u8]) -> u64 {
    let last = _mm512_set1_epi8(0xbf_u8 as i8);
    let mut sum = 0;
    for from in (0..bytes.len()).step_by(BLOCK) {
        let lanes = (bytes.len() - from).min(BLOCK);
        let mask = u64::MAX >> (BLOCK - lanes);
        // SAFETY: the lanes that are loaded are within `bytes`.
        let block = unsafe { _mm512_maskz_loadu_epi8(mask, bytes.as_ptr().add(from).cast()) };
        sum += u64::from(_mm512_mask_cmpgt_epi8_mask(mask, block, last).count_ones());
    }
    sum
}
