//! Pass 2: tokens.

use std::arch::x86_64::*;
use std::hint::select_unpredictable;
use std::ops::Range;

use lookaside_simd::Avx512;

use super::BLOCK;
use super::candidates::{Candidates, WINDOW};

/// So many cursors walk side by side.
pub(super) const CURSORS: usize = 4;
/// What vectors may read ahead, and more: the last bytes of a block are parsed without them.
pub(super) const TAIL: usize = 40;
/// The most tokens of a turn: literals, and the last one.
const RUN: usize = 8;
/// Room between the tokens of two segments: what is written beyond a segment's end.
const GAP: usize = 2 * RUN;
/// A match of four bytes from farther than this costs more than four literals.
pub(super) const FAR: usize = 8192;
/// Segments are no shorter than this, where the block is longer than [`LONG`].
pub(super) const LEAST_SEGMENT: usize = 1024;
pub(super) const LONG: usize = 16 * 1024;
/// There are no more segments in a block.
const MOST_SEGMENTS: usize = 80;
/// Room for what cursors that walk for company only write: as much as a segment, and a turn.
const NOBODYS: usize = LEAST_SEGMENT + GAP;
/// The length that one comparison tells.
pub(super) const SEEN: usize = 32;
/// What the unsafe code builds on: a turn writes eight tokens at once and begins below the tail; the
/// bits of a turn, and two more, are in one word; the gap has room for what is beyond a segment, and
/// one more before the next.
const _: () = assert!(RUN == 8 && TAIL >= RUN + SEEN && RUN + 2 + 7 <= 32 && GAP >= 2 * RUN);
/// The longest match.
pub(super) const LONGEST: usize = 258;
/// A literal in place of a match must gain more than this, in quarters of a byte.
pub(super) const LEAST_GAIN: i32 = 2;
/// Distance symbols: 30, and two that fill up a vector.
pub(super) const DISTANCES: usize = 32;

/// A literal is its byte. A match is 253 + length (256 to 511) in the lowest nine bits, and the
/// distance less one in the upper half.
pub(super) type Token = u32;

/// Set in the tokens of matches.
pub(super) const MATCH: Token = 256;
/// The bits of a token that are counted.
pub(super) const COUNTED: Token = 511;

/// What becomes of a block.
pub(super) struct Tokens<'a> {
    all: &'a [Token],
    /// In the order of their bytes. Empty: every byte is a literal.
    segments: &'a [Segment],
    /// How often each value of a token's lowest nine bits.
    pub(super) counts: &'a [u32; 512],
    /// How often each distance symbol.
    pub(super) distances: &'a [u32; DISTANCES],
    /// Bytes.
    pub(super) len: usize,
}

impl<'a> Tokens<'a> {
    /// The tokens of each segment; none, if every byte is a literal.
    pub(super) fn segments(&self) -> impl Iterator<Item = &'a [Token]> {
        let all = self.all;
        self.segments.iter().map(move |segment| &all[segment.tokens.clone()])
    }

    pub(super) fn are_bytes(&self) -> bool {
        self.segments.is_empty()
    }
}

/// A part of a block that one cursor walks.
struct Segment {
    /// The bytes that its tokens stand for: a match may lead into the next segment.
    bytes: Range<usize>,
    /// Which tokens.
    tokens: Range<usize>,
}

/// How long the next segment is of a block whose first `all` bytes are walked, and `left` of them
/// are not in a segment yet: a share of those, so that the cursors come to the end together. One
/// that repeats what is before it is walked in one go: its matches are so long that many a segment
/// would begin within one.
pub(super) fn segment_len(left: usize, all: usize, repeats: bool) -> usize {
    if repeats {
        return left;
    }
    let least = if all > LONG { LEAST_SEGMENT } else { all.div_ceil(CURSORS).max(128) };
    (left / (2 * CURSORS)).max(least).min(left)
}

/// Does a block repeat what is before it, of whose `len` bytes so many do?
pub(super) fn repeats(repeated: usize, len: usize) -> bool {
    16 * repeated > 15 * len
}

pub(super) struct Parser {
    candidates: Candidates,
    /// By position in the block, with a gap between segments; what is behind that takes what nobody
    /// wants.
    tokens: Box<[Token]>,
    segments: Vec<Segment>,
    /// In the end, the first of four has the sum: see [`count`]. The same of distance symbols.
    counts: Box<[[u32; 512]; 4]>,
    distances: [[u32; DISTANCES]; 4],
}

/// A cursor in its segment.
#[derive(Clone, Copy)]
struct Cursor {
    at: usize,
    end: usize,
    /// Where the next token goes.
    out: *mut Token,
    /// Its index; none: it walks for company only.
    segment: Option<usize>,
}

impl Parser {
    pub(super) fn new() -> Parser {
        Parser {
            candidates: Candidates::new(),
            tokens: vec![0; BLOCK + MOST_SEGMENTS * GAP + NOBODYS].into_boxed_slice(),
            segments: Vec::with_capacity(MOST_SEGMENTS),
            counts: Box::new([[0; 512]; 4]),
            distances: [[0; DISTANCES]; 4],
        }
    }

    /// Before the first block of `src`.
    pub(super) fn start(&mut self, src: &[u8], effort: u8) {
        self.candidates.start(src.len(), effort);
    }

    /// Parses the next block: `from..to` of the text that [`start`](Parser::start) was given.
    ///
    /// # Panics
    ///
    /// If that is more than [`BLOCK`] bytes, or does not start at a multiple of them.
    pub(super) fn block(
        &mut self,
        cpu: Avx512,
        effort: u8,
        src: &[u8],
        from: usize,
        to: usize,
    ) -> Tokens<'_> {
        assert!(from <= to && to <= src.len() && to - from <= BLOCK && from.is_multiple_of(BLOCK));
        let _ = cpu;
        self.segments.clear();
        self.counts.as_flattened_mut().fill(0);
        self.distances.as_flattened_mut().fill(0);
        // SAFETY: the token proves the features; what else `walk` wants was just checked.
        unsafe {
            let repeated = self.candidates.find(src, from, to);
            let repeats = repeats(repeated, to - from);
            if self.candidates.are_rare(src, from, to) {
                self.count_bytes(&src[from..to]);
            } else {
                let start = match effort {
                    1 => self.walk::<1>(src, from, to, repeats),
                    2 => self.walk::<2>(src, from, to, repeats),
                    3 => self.walk::<3>(src, from, to, repeats),
                    _ => self.walk::<4>(src, from, to, repeats),
                };
                self.tail(src, start, from, to);
                self.count_tokens();
            }
        }
        Tokens {
            all: &self.tokens,
            segments: &self.segments,
            counts: &self.counts[0],
            distances: &self.distances[0],
            len: to - from,
        }
    }

    fn count_bytes(&mut self, bytes: &[u8]) {
        count(&mut self.counts, bytes, |&byte| byte.into());
        add_up(&mut self.counts);
    }

    /// Segments up to the last [`TAIL`] bytes of the block. Returns where they end.
    ///
    /// # Safety
    ///
    /// The features are there; `find` has found the candidates of the block.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx2,bmi1,bmi2,lzcnt,popcnt")]
    unsafe fn walk<const EFFORT: u8>(
        &mut self,
        src: &[u8],
        from: usize,
        to: usize,
        repeats: bool,
    ) -> usize {
        // The first two bytes of a text have no candidates.
        let first = from.max(2);
        let last = to.saturating_sub(TAIL);
        if last <= first {
            return from;
        }
        // SAFETY: a turn begins below `last`, so that vectors end before `to`, literals before the
        // match included; tokens of a segment are no more than its bytes, what is written beyond them
        // fits in the gap, and those for nobody are `NOBODYS` at most.
        unsafe {
            let text = src.as_ptr();
            let candidates = self.candidates.ring();
            // By position in the text: blocks do not cross the ring's end.
            let ring = candidates.wrapping_add(from & RING_MASK).wrapping_sub(from);
            let marks = self.candidates.marks().wrapping_sub(from / 8);
            let tokens = self.tokens.as_mut_ptr();
            let nobody = Cursor {
                at: first,
                end: last.min(first + LEAST_SEGMENT),
                out: tokens.add(BLOCK + MOST_SEGMENTS * GAP),
                segment: None,
            };
            let mut cursors = [Cursor { at: nobody.end, ..nobody }; CURSORS];
            let mut next = from;
            let mut open = 0;
            loop {
                for cursor in &mut cursors {
                    if cursor.at < cursor.end {
                        continue;
                    }
                    if let Some(segment) = cursor.segment {
                        cut(cursor);
                        let segment = &mut self.segments[segment];
                        segment.bytes.end = cursor.at;
                        segment.tokens.end = cursor.out.offset_from_unsigned(tokens);
                        open -= 1;
                    }
                    if next < last {
                        let len = segment_len(last - next, last - from, repeats);
                        debug_assert!(self.segments.len() + 1 < MOST_SEGMENTS);
                        let start = next - from + self.segments.len() * GAP;
                        *cursor = Cursor {
                            at: next,
                            end: next + len,
                            out: tokens.add(start),
                            segment: Some(self.segments.len()),
                        };
                        self.segments.push(Segment { bytes: next..next, tokens: start..start });
                        next += len;
                        open += 1;
                        while cursor.at < first {
                            put(cursor, text.add(cursor.at).read().into());
                            cursor.at += 1;
                        }
                    } else {
                        *cursor = nobody;
                    }
                }
                if open == 0 {
                    return self.join(src, from);
                }
                let [mut a, mut b, mut c, mut d] = cursors;
                // One segment only: nobody else walks for company.
                while repeats & (a.at < a.end) {
                    step::<EFFORT>(text, ring, candidates, marks, to, &mut a);
                }
                while (a.at < a.end) & (b.at < b.end) & (c.at < c.end) & (d.at < d.end) {
                    step::<EFFORT>(text, ring, candidates, marks, to, &mut a);
                    step::<EFFORT>(text, ring, candidates, marks, to, &mut b);
                    step::<EFFORT>(text, ring, candidates, marks, to, &mut c);
                    step::<EFFORT>(text, ring, candidates, marks, to, &mut d);
                }
                cursors = [a, b, c, d];
            }
        }
    }

    /// Where a match leads into the next segment, takes that much away from its tokens. Returns where
    /// all of them end.
    fn join(&mut self, src: &[u8], from: usize) -> usize {
        let mut reached = from;
        for segment in &mut self.segments {
            let Segment { bytes, tokens } = segment;
            while bytes.start < reached && tokens.start < tokens.end {
                let token = self.tokens[tokens.start];
                let len = token_len(token);
                let over = reached - bytes.start;
                bytes.start = reached.min(bytes.start + len);
                match len.saturating_sub(over) {
                    0 => tokens.start += 1,
                    left @ 3.. => {
                        self.tokens[tokens.start] = token - (len - left) as Token;
                    }
                    left => {
                        // There is room for one more: the gap.
                        tokens.start = tokens.start + 1 - left;
                        for (token, &byte) in
                            self.tokens[tokens.start..].iter_mut().zip(&src[reached..][..left])
                        {
                            *token = byte.into();
                        }
                    }
                }
            }
            reached = reached.max(bytes.end);
        }
        reached
    }

    /// What is left of the block from `start` on, one candidate at a time.
    fn tail(&mut self, src: &[u8], start: usize, from: usize, to: usize) {
        let first = start - from + self.segments.len() * GAP;
        let mut at = start;
        let mut count = 0;
        while at < to {
            let distance = self.candidates.distance(at);
            let look = at >= 2 && self.candidates.is_marked(at);
            let len = if look { length(&src[..to], at, distance) } else { 0 };
            let token = if len >= 4 { a_match(len, distance) } else { src[at].into() };
            self.tokens[first + count] = token;
            count += 1;
            at += if token & MATCH != 0 { len } else { 1 };
        }
        self.segments.push(Segment { bytes: start..to, tokens: first..first + count });
    }

    /// Counts symbols, of all tokens that are left.
    ///
    /// # Safety
    ///
    /// The features are there.
    #[target_feature(
        enable = "avx512f,avx512bw,avx512cd,avx512vl,avx512vbmi2,bmi1,bmi2,lzcnt,popcnt"
    )]
    unsafe fn count_tokens(&mut self) {
        const PART: usize = 4096;
        let mut symbols = [0u8; PART + 16];
        for segment in &self.segments {
            let tokens = &self.tokens[segment.tokens.clone()];
            count(&mut self.counts, tokens, |&token| (token & COUNTED) as usize);
            for part in tokens.chunks(PART) {
                let mut found = 0;
                for tokens in part.chunks(16) {
                    // SAFETY: only lanes that are there are read; there is room for all symbols,
                    // and 16.
                    unsafe {
                        let tokens = load(tokens);
                        let symbol = distance_parts(tokens).symbol;
                        let matches = _mm512_test_epi32_mask(tokens, splat(MATCH));
                        let symbol = _mm512_maskz_compress_epi32(matches, symbol);
                        let to = symbols.as_mut_ptr().add(found);
                        _mm_storeu_si128(to.cast(), _mm512_cvtepi32_epi8(symbol));
                        found += matches.count_ones() as usize;
                    }
                }
                count(&mut self.distances, &symbols[..found], |&symbol| {
                    usize::from(symbol) % DISTANCES
                });
            }
        }
        add_up(&mut self.counts);
        add_up(&mut self.distances);
    }
}

/// Counts values in four tables, in turn: equal ones stand together, and each would wait for the last.
#[inline(always)]
fn count<T, const N: usize>(tables: &mut [[u32; N]; 4], values: &[T], place: impl Fn(&T) -> usize) {
    let [first, second, third, fourth] = tables;
    let (fours, rest) = values.as_chunks::<4>();
    for four in fours {
        first[place(&four[0])] += 1;
        second[place(&four[1])] += 1;
        third[place(&four[2])] += 1;
        fourth[place(&four[3])] += 1;
    }
    rest.iter().for_each(|value| first[place(value)] += 1);
}

/// Makes the first of such tables their sum.
fn add_up<const N: usize>(tables: &mut [[u32; N]; 4]) {
    let [first, second, third, fourth] = tables;
    for (at, sum) in first.iter_mut().enumerate() {
        *sum += second[at] + third[at] + fourth[at];
    }
}

fn a_match(len: usize, distance: usize) -> Token {
    (253 + len) as Token | (distance as Token - 1) << 16
}

/// How long the match `distance` back from `at` is, within `src`.
pub(super) fn length(src: &[u8], at: usize, distance: usize) -> usize {
    let most = LONGEST.min(src.len() - at);
    let here = &src[at..at + most];
    here.iter().zip(&src[at - distance..]).take_while(|(a, b)| a == b).count()
}

/// How many bytes a token stands for.
fn token_len(token: Token) -> usize {
    if token & MATCH == 0 { 1 } else { (token & COUNTED) as usize - 253 }
}

/// Takes back the tokens of a segment that begin beyond its end.
///
/// # Safety
///
/// The tokens before `out` are the cursor's, for all bytes of the segment and up to `at`.
unsafe fn cut(cursor: &mut Cursor) {
    while cursor.at > cursor.end {
        // SAFETY: there is a token for what is beyond the end.
        let len = token_len(unsafe { *cursor.out.sub(1) });
        if cursor.at - len < cursor.end {
            return;
        }
        cursor.at -= len;
        cursor.out = cursor.out.wrapping_sub(1);
    }
}

/// The next token of a segment.
///
/// # Safety
///
/// There is room for it.
#[inline(always)]
unsafe fn put(cursor: &mut Cursor, token: Token) {
    // SAFETY: the caller's promise.
    unsafe {
        *cursor.out = token;
        cursor.out = cursor.out.add(1);
    }
}

/// Length and distance less one of the longest of so many candidates of `at`, of those the nearest.
#[inline(always)]
unsafe fn best<const DEPTH: u8, const EXTEND: bool>(
    text: *const u8,
    ring: *const u16,
    candidates: *const u16,
    to: usize,
    at: usize,
) -> (usize, usize) {
    // SAFETY: the caller's promise: 32 bytes are there at `at`, which is no earlier than the third;
    // no distance reaches back before the start of the text: a candidate that would is left out.
    unsafe {
        let here = text.add(at);
        let bytes = _mm256_loadu_si256(here.cast());
        let differ = |less_one: usize| {
            let there = _mm256_loadu_si256(here.sub(less_one).sub(1).cast());
            !_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, there)).cast_unsigned()
        };
        let length = |less_one: usize, ends: u32| match ends {
            0 if EXTEND => extend(here, less_one + 1, to - at),
            _ => ends.trailing_zeros() as usize,
        };
        let mut less_one = usize::from(*ring.wrapping_add(at));
        let mut len = length(less_one, differ(less_one));
        let mut last = less_one;
        let furthest = at.min(WINDOW);
        for _ in 1..DEPTH {
            let before = at - last - 1;
            let other = last + usize::from(*candidates.add(before & RING_MASK)) + 1;
            // One that is too far back: the last one again, which is no longer than itself.
            last = select_unpredictable(other < furthest, other, last);
            let other_len = length(last, differ(last));
            less_one = select_unpredictable(other_len > len, last, less_one);
            len = select_unpredictable(other_len > len, other_len, len);
        }
        (len, less_one)
    }
}

const RING_MASK: usize = 2 * BLOCK - 1;

/// Literals up to where a match is likely, and the token there.
#[inline(always)]
unsafe fn step<const EFFORT: u8>(
    text: *const u8,
    ring: *const u16,
    candidates: *const u16,
    marks: *const u8,
    to: usize,
    cursor: &mut Cursor,
) {
    // SAFETY: the caller's promise: see `walk`.
    unsafe {
        let marks: *const u32 = marks.wrapping_add(cursor.at / 8).cast();
        let marks = marks.read_unaligned() >> (cursor.at % 8);
        let run = (marks | 1 << (RUN - 1)).trailing_zeros();
        let bytes = _mm_loadl_epi64(text.add(cursor.at).cast());
        _mm256_storeu_si256(cursor.out.cast(), _mm256_cvtepu8_epi32(bytes));
        let at = cursor.at + run as usize;
        let (len, less_one) = match EFFORT {
            1 => best::<1, true>(text, ring, candidates, to, at),
            2 | 3 => best::<2, true>(text, ring, candidates, to, at),
            _ => best::<4, true>(text, ring, candidates, to, at),
        };
        // Four bytes only, where the next two positions have as many, are passed by: most likely the
        // next one has five. (Efforts from 3 on compare.)
        let wait = EFFORT < 3 && marks >> run & 0b110 == 0b110;
        let least = 4 + usize::from((less_one >= FAR) | wait);
        let mut take = (len >= least) & (marks >> run & 1 != 0);
        if EFFORT >= 3 {
            let (next, next_less_one) = best::<1, false>(text, ring, candidates, to, at + 1);
            let gain = 4 * (next as i32 - len as i32)
                + (next_less_one as u32).leading_zeros().cast_signed()
                - (less_one as u32).leading_zeros().cast_signed();
            take &= !((gain > LEAST_GAIN) & (next >= 4));
        }
        let literal = Token::from(*text.add(at));
        let token = (253 + len) as Token | (less_one as Token) << 16;
        let token = select_unpredictable(take, token, literal);
        cursor.out = cursor.out.add(run as usize);
        cursor.at = at + select_unpredictable(take, len, 1);
        put(cursor, token);
    }
}

/// The length of a match of at least [`SEEN`] bytes, `left` of which are in the block.
///
/// # Safety
///
/// The features are there, and so many bytes at `here`; the distance does not lead beyond the text.
#[cold]
#[inline(never)]
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2")]
unsafe fn extend(here: *const u8, distance: usize, left: usize) -> usize {
    let most = left.min(LONGEST);
    let mut len = SEEN;
    while len < most {
        let lanes = u64::MAX >> 64usize.saturating_sub(most - len);
        // SAFETY: only lanes up to `most` are read.
        let differ = unsafe {
            let here = here.add(len);
            let there = _mm512_maskz_loadu_epi8(lanes, here.sub(distance).cast());
            _mm512_mask_cmpneq_epi8_mask(lanes, _mm512_maskz_loadu_epi8(lanes, here.cast()), there)
        };
        if differ != 0 {
            return len + differ.trailing_zeros() as usize;
        }
        len += 64;
    }
    most
}

#[inline(always)]
pub(super) fn splat(value: u32) -> __m512i {
    // SAFETY: inlined where the features are.
    unsafe { _mm512_set1_epi32(value.cast_signed()) }
}

/// Up to 16 tokens; literals of 0 in place of what is not there.
#[inline(always)]
pub(super) unsafe fn load(tokens: &[Token]) -> __m512i {
    // SAFETY: the mask is of the lanes that are there; the features are the caller's promise.
    unsafe { _mm512_maskz_loadu_epi32(lanes(tokens.len()), tokens.as_ptr().cast()) }
}

#[inline(always)]
pub(super) fn lanes(count: usize) -> __mmask16 {
    if count >= 16 { 0xffff } else { (1 << count) - 1 }
}

/// Of the distances of 16 tokens.
pub(super) struct DistanceParts {
    pub(super) symbol: __m512i,
    /// The number of extra bits, and those.
    pub(super) extra_bits: __m512i,
    pub(super) extra: __m512i,
}

/// RFC 1951 section 3.2.5: a symbol is twice the exponent of the distance less one, and its next
/// bit; the rest are extra bits.
#[inline(always)]
pub(super) unsafe fn distance_parts(tokens: __m512i) -> DistanceParts {
    // SAFETY: the features are the caller's promise.
    unsafe {
        let less_one = _mm512_srli_epi32::<16>(tokens);
        let one = splat(1);
        let zeros = _mm512_lzcnt_epi32(_mm512_or_si512(less_one, one));
        let exponent = _mm512_sub_epi32(splat(31), zeros);
        let extra_bits = _mm512_subs_epu16(exponent, one);
        let top = _mm512_srlv_epi32(less_one, extra_bits);
        let twice = _mm512_add_epi32(exponent, exponent);
        DistanceParts {
            symbol: _mm512_add_epi32(twice, _mm512_and_si512(top, one)),
            extra_bits,
            extra: _mm512_sub_epi32(less_one, _mm512_sllv_epi32(top, extra_bits)),
        }
    }
}
