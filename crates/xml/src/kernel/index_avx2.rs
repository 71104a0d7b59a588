//! The index with AVX2: blocks of 64 bytes in two vectors.
//!
//! ```text
//! as index_avx512, with two differences:
//!     class by nibbles:  low[B & 15] AND high[B >> 4], whose bits are five rows of NameChar and three of stops in values
//!     other classes by comparisons
//! ```
//!
//! Shapes: any length and alignment. CPU features: AVX2, BMI1, BMI2, LZCNT, POPCNT. Not constant time. Covered by the tests
//! of this folder, which compare with the portable twin, and by `make bench-xml`.
//!
//! 1. A NameChar of ASCII is a pair of nibbles: rows 2, 3, 5 and 7 have a bit each, rows 4 and 6 one together. The stops of
//!    values lie in rows 0, 2 and 3, with a bit each.
//! 2. Bytes above 127 select 0 from the table of low nibbles, and are taken out of the ends of names.

use std::arch::x86_64::*;

use lookaside_simd::Avx2;

use super::{
    BLOCK, Maps, close, index_avx512::BEFORE_HIGH, index_avx512::BEFORE_LOW, index_avx512::HIGH,
};

const NAME_ROWS: u8 = 0b1_1111;
const VALUE_ROWS: u8 = 0b1110_0000;
/// Tab, line feed and carriage return, and no other byte.
const WHITE: u8 = 1 << 5;

/// The bits of rows 0 to 7.
const ROWS: [u8; 16] = [
    WHITE,
    0,
    1 << 0 | 1 << 6,
    1 << 1 | 1 << 7,
    1 << 2,
    1 << 3,
    1 << 2,
    1 << 4,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
];

const COLUMNS: [u8; 16] = {
    let mut table = [0; 16];
    let mut c = 0_u8;
    while c < 128 {
        let row = (c >> 4) as usize;
        let name = c.is_ascii_alphanumeric() || matches!(c, b'_' | b':' | b'-' | b'.');
        let value = matches!(c, b'"' | b'\'' | b'<' | b'&' | b'\t' | b'\n' | b'\r');
        if name {
            table[(c & 15) as usize] |= ROWS[row] & NAME_ROWS;
        }
        if value {
            table[(c & 15) as usize] |= ROWS[row] & VALUE_ROWS;
        }
        c += 1;
    }
    table
};

/// See [`super::Index::fill`].
pub(super) fn index(_: Avx2, bytes: &[u8], mut maps: Maps<'_>, lines: bool) -> bool {
    let blocks = bytes.len() / BLOCK + 1;
    assert!(maps.iter().all(|map| map.len() == blocks));
    let maps = maps.each_mut().map(|map| map.as_mut_ptr());
    // SAFETY: the token proves the features; the maps have a place for each block begun.
    unsafe { if lines { run::<true>(bytes, maps) } else { run::<false>(bytes, maps) } }
}

/// # Safety
/// Each of `maps` has `bytes.len() / 64 + 1` words.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn run<const LINES: bool>(bytes: &[u8], maps: [*mut u64; 4]) -> bool {
    let mut it = Pass { brackets: 0, high_before: 0, bad: _mm256_setzero_si256() };
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
    _mm256_testz_si256(it.bad, it.bad) == 1
}

#[derive(Clone, Copy)]
struct Pass {
    /// The last two bits: `]` at the end of the block before.
    brackets: u64,
    /// Bytes above 127 of the block before.
    high_before: u64,
    bad: __m256i,
}

#[target_feature(enable = "avx2")]
#[inline]
fn bits(low: __m256i, high: __m256i) -> u64 {
    let mask = |v| u64::from(_mm256_movemask_epi8(v) as u32);
    mask(low) | mask(high) << 32
}

#[target_feature(enable = "avx2")]
#[inline]
fn table(table: &[u8; 16]) -> __m256i {
    // SAFETY: 16 bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(table.as_ptr().cast()) })
}

super::blocks!("avx2,bmi1,bmi2,lzcnt,popcnt");

impl Pass {
    /// # Safety
    /// 64 bytes at `from` can be read, and three before them.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    unsafe fn utf8(&mut self, from: *const u8) {
        // SAFETY: says the caller.
        let wrong = unsafe { _mm256_or_si256(utf8(from), utf8(from.add(32))) };
        self.bad = _mm256_or_si256(self.bad, wrong);
    }

    /// Returns whether UTF-8 is to be checked, and whether `]]` is in the block or ends before it.
    ///
    /// # Safety
    /// 64 bytes at `from` can be read; `block` has its places in the maps.
    #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
    #[inline]
    unsafe fn block<const LINES: bool>(
        &mut self,
        from: *const u8,
        block: usize,
        maps: [*mut u64; 4],
    ) -> [bool; 2] {
        // SAFETY: says the caller.
        let [a, b] =
            unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())] };
        let above = bits(a, b);
        let nibble = _mm256_set1_epi8(15);
        let class = |v| {
            let row = _mm256_and_si256(_mm256_srli_epi16::<4>(v), nibble);
            _mm256_and_si256(
                _mm256_shuffle_epi8(table(&COLUMNS), v),
                _mm256_shuffle_epi8(table(&ROWS), row),
            )
        };
        let (class_a, class_b) = (class(a), class(b));
        let lacks = |rows: u8| {
            let rows = _mm256_set1_epi8(rows as i8);
            let none = |v| _mm256_cmpeq_epi8(_mm256_and_si256(v, rows), _mm256_setzero_si256());
            bits(none(class_a), none(class_b))
        };
        let name = lacks(NAME_ROWS) & !above;
        let value = !lacks(VALUE_ROWS);
        let is = |c: u8| {
            let c = _mm256_set1_epi8(c as i8);
            [_mm256_cmpeq_epi8(a, c), _mm256_cmpeq_epi8(b, c)]
        };
        let or = |[a, b]: [__m256i; 2], [c, d]: [__m256i; 2]| {
            [_mm256_or_si256(a, c), _mm256_or_si256(b, d)]
        };
        let [text_a, text_b] = or(or(is(b'<'), is(b'&')), is(b'\r'));
        let [bracket_a, bracket_b] = is(b']');
        let brackets = bits(bracket_a, bracket_b);
        let text = bits(text_a, text_b);
        let top = _mm256_set1_epi8(0x1f);
        for (v, class) in [(a, class_a), (b, class_b)] {
            let control = _mm256_cmpeq_epi8(_mm256_min_epu8(v, top), v);
            let white = _mm256_set1_epi8(WHITE as i8);
            self.bad = _mm256_or_si256(
                self.bad,
                _mm256_andnot_si256(class, _mm256_and_si256(control, white)),
            );
        }
        let line = if LINES {
            let [line_a, line_b] = or([text_a, text_b], is(b'\n'));
            bits(line_a, line_b)
        } else {
            0
        };
        let words = [name, value, text, line];
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
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
unsafe fn closing(from: *const u8) -> u64 {
    // SAFETY: says the caller.
    let is = |from: *const u8, c: u8| unsafe {
        let half = |at: usize| _mm256_loadu_si256(from.add(at).cast());
        let c = _mm256_set1_epi8(c as i8);
        bits(_mm256_cmpeq_epi8(half(0), c), _mm256_cmpeq_epi8(half(32), c))
    };
    // SAFETY: says the caller.
    unsafe { is(from, b'>') & is(from.sub(1), b']') & is(from.sub(2), b']') }
}

/// Not zero in the bytes at which something is wrong.
///
/// # Safety
/// 32 bytes at `from` can be read, and three before them.
#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
#[inline]
unsafe fn utf8(from: *const u8) -> __m256i {
    // SAFETY: says the caller.
    let before = |by: usize| unsafe { _mm256_loadu_si256(from.sub(by).cast()) };
    let (bytes, one, two, three) = (before(0), before(1), before(2), before(3));
    let nibble = _mm256_set1_epi8(15);
    let high_of = |v| _mm256_and_si256(_mm256_srli_epi16::<4>(v), nibble);
    let pair = _mm256_and_si256(
        _mm256_and_si256(
            _mm256_shuffle_epi8(table(&BEFORE_HIGH), high_of(one)),
            _mm256_shuffle_epi8(table(&BEFORE_LOW), _mm256_and_si256(one, nibble)),
        ),
        _mm256_shuffle_epi8(table(&HIGH), high_of(bytes)),
    );
    // Bit 7 remains where a third or fourth byte is expected.
    let third = _mm256_subs_epu8(two, _mm256_set1_epi8((0xe0_u8 - 0x80) as i8));
    let fourth = _mm256_subs_epu8(three, _mm256_set1_epi8((0xf0_u8 - 0x80) as i8));
    let continued =
        _mm256_and_si256(_mm256_or_si256(third, fourth), _mm256_set1_epi8(0x80_u8 as i8));
    let wrong = _mm256_xor_si256(pair, continued);
    // EF BF BE and EF BF BF.
    let is = |v, c: u8| _mm256_cmpeq_epi8(v, _mm256_set1_epi8(c as i8));
    let last = _mm256_or_si256(is(bytes, 0xbe), is(bytes, 0xbf));
    let noncharacter = _mm256_and_si256(_mm256_and_si256(is(two, 0xef), is(one, 0xbf)), last);
    _mm256_or_si256(wrong, noncharacter)
}

/// See [`super::lines`].
pub(super) fn lines(_: Avx2, bytes: &[u8], after_return: bool) -> u64 {
    // SAFETY: the token proves the features.
    unsafe {
        let (feeds, returns) = feeds(bytes);
        match returns {
            true => count(bytes, after_return),
            false => feeds - u64::from(after_return && bytes.first() == Some(&b'\n')),
        }
    }
}

/// How many line feeds there are, and whether a carriage return is: then lines are to be counted with more care.
#[target_feature(enable = "avx2")]
fn feeds(bytes: &[u8]) -> (u64, bool) {
    let (feed, carriage) = (_mm256_set1_epi8(b'\n' as i8), _mm256_set1_epi8(b'\r' as i8));
    let (mut sums, mut returns) = (_mm256_setzero_si256(), _mm256_setzero_si256());
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let rest = padded(rest, b' ');
    // A byte counts up to 255.
    for blocks in blocks.chunks(127).chain([std::slice::from_ref(&rest)]) {
        let mut counts = _mm256_setzero_si256();
        for block in blocks {
            for half in load(block) {
                counts = _mm256_sub_epi8(counts, _mm256_cmpeq_epi8(half, feed));
                returns = _mm256_or_si256(returns, _mm256_cmpeq_epi8(half, carriage));
            }
        }
        sums = _mm256_add_epi64(sums, _mm256_sad_epu8(counts, _mm256_setzero_si256()));
    }
    // SAFETY: the same bits in another type.
    let sums: [u64; 4] = unsafe { std::mem::transmute(sums) };
    (sums.iter().sum(), _mm256_testz_si256(returns, returns) == 0)
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn count(bytes: &[u8], after_return: bool) -> u64 {
    let (mut sum, mut before) = (0, u64::from(after_return));
    let (feed, carriage) = (_mm256_set1_epi8(b'\n' as i8), _mm256_set1_epi8(b'\r' as i8));
    let mut look = |block: &[u8; BLOCK]| {
        let [a, b] = load(block);
        let feeds = bits(_mm256_cmpeq_epi8(a, feed), _mm256_cmpeq_epi8(b, feed));
        let returns = bits(_mm256_cmpeq_epi8(a, carriage), _mm256_cmpeq_epi8(b, carriage));
        sum += u64::from((returns | feeds & !(returns << 1 | before)).count_ones());
        before = returns >> 63;
    };
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    blocks.iter().for_each(&mut look);
    if !rest.is_empty() {
        look(&padded(rest, b' '));
    }
    sum
}

/// See [`super::characters`].
pub(super) fn characters(_: Avx2, bytes: &[u8]) -> u64 {
    // SAFETY: the token proves the features.
    unsafe { starts(bytes) }
}

#[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
fn starts(bytes: &[u8]) -> u64 {
    let last = _mm256_set1_epi8(0xbf_u8 as i8);
    let count = |block: &[u8; BLOCK]| {
        let [a, b] = load(block);
        bits(_mm256_cmpgt_epi8(a, last), _mm256_cmpgt_epi8(b, last)).count_ones()
    };
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    let sum: u64 = blocks.iter().map(|block| u64::from(count(block))).sum();
    sum + u64::from(count(&padded(rest, 0x80)))
}

fn padded(rest: &[u8], with: u8) -> [u8; BLOCK] {
    let mut block = [with; BLOCK];
    block[..rest.len()].copy_from_slice(rest);
    block
}

#[target_feature(enable = "avx2")]
#[inline]
fn load(block: &[u8; BLOCK]) -> [__m256i; 2] {
    let from = block.as_ptr();
    // SAFETY: 64 bytes.
    unsafe { [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(32).cast())] }
}
