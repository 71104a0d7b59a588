//! What serves zlib's levels: the one table.
//!
//! Promised is: never more than 2 % larger than zlib 1.2.13 at the same level, and faster; whole
//! calls at levels 1 and 6 not larger. No kernel does both for all kinds of data at any level, so
//! the table goes by the kind. Pieces of 512 KB do without the history before them, so the levels
//! for whole calls are chosen with 0.5 % to spare. `tests/sizes.rs` holds it to that.
//!
//! What is known to be beyond, one file in 200 of a Debian system's at any level (without AVX-512 one in 100 at levels 2 and
//! 3: 0, 5 and 9 of 700 files at levels 1 to 3 by `survey.py`, 2026-11-30): tables of characters
//! in shared libraries, at all levels (by 10 to 20 %); generated SQL, C and assembler that repeats itself
//! with small changes, at levels 1 to 3 (by 9 to 30 %); indices of databases, mostly zeros, at levels 1 to 3 without AVX-512
//! (by 6 to 20 %); rows of JSON with many numbers at levels 1, 2 and
//! 7 (by 5, 10 and 0.2 %); samples of sound at levels 1 to 3 (by 1 %); one short line for ever at levels 1 to 3 (by 17 %, of 150 : 1), near copies of pages of 9 KB and more
//! at levels 2 and 3 (by 20 to 30 %, of 10 to 30 : 1), and mixed with others at levels 5 to 9 (by 2 %).
//! Calls of less than 2 KB are 1.3 % larger at most in total, but one in six at levels 1 to 3 is beyond
//! 2 %, by some bytes; those of little but zeros by up to three quarters of 10 to 30 bytes.

use lookaside_compress::{Codec, Compression, Format};
use lookaside_simd::{Cpu, Tier};

use super::content::{Content, kind_of, repeats};

/// The row of one of zlib's levels. Levels are those of lookaside-compress, if not said otherwise:
/// 1 to 5 are its own compressors' with AVX-512, otherwise see `LESSER`; above, libdeflate's.
struct Row {
    /// Whole streams and pieces of text.
    text: u8,
    /// Short whole streams of it.
    short: u8,
    /// Whole streams and pieces of text with many zeros, of any length.
    sparse: u8,
    /// The same of text among other things.
    mixed: u8,
    /// The same of machine code, where igzip's first level is up to 5 % larger than zlib, its last
    /// one 2 %.
    code: u8,
    /// The same of numbers with many short matches: igzip and libdeflate's first level are up to
    /// twice as large there.
    numbers: u8,
    /// Whole streams and pieces with a window below 32 KB.
    small: u8,
    repeats: Option<Repeats>,
    /// Streams that are flushed, by igzip; `None`: by zlib-rs.
    stream: Option<u8>,
    /// zlib-rs, wherever it serves, by its own level. Its level 1 compresses far worse than zlib's.
    zlib_rs: u8,
}

/// What becomes of data that repeats itself. So much of what is new in a piece was in the one
/// before, and such long searches come to nothing, that the whole is best done as one stream: by
/// zlib-rs. (igzip's second level is faster still, but up to twice as large where what is repeated is
/// long.)
#[derive(Clone, Copy)]
pub(crate) struct Repeats {
    /// From about this ratio on.
    ratio: usize,
    /// From this length on it is worth a look.
    from: usize,
    /// From this length on zlib-rs does it.
    one_from: usize,
    /// Its level.
    zlib_rs: u8,
    /// What does whole streams shorter than that, and pieces, if that is not what does text.
    short: Option<u8>,
}

const fn repeat(ratio: usize, from: usize, zlib_rs: u8) -> Option<Repeats> {
    Some(Repeats { ratio, from, one_from: from, zlib_rs, short: None })
}

/// Where zlib is so fast that zlib-rs is not faster for short ones.
const REPEAT_FAST: Option<Repeats> =
    Some(Repeats { ratio: 7, from: SHORT, one_from: 128 << 10, zlib_rs: 3, short: Some(2) });

/// In shorter ones all kernels are faster than zlib.
const SHORT: usize = 16 << 10;
/// In shorter ones the kind makes no difference, and asking takes time.
const TOO_SHORT: usize = 2 << 10;
/// Shorter ones do not lose by what libdeflate's middle levels do there.
const LONG: usize = 64 << 10;

/// A level at which all kinds but what repeats itself are done alike.
const fn row(all: u8, small: u8, repeats: Option<Repeats>, stream: Option<u8>, zlib_rs: u8) -> Row {
    let [text, short, sparse, mixed, code, numbers] = [all; 6];
    Row { text, short, sparse, mixed, code, numbers, small, repeats, stream, zlib_rs }
}

/// With AVX-512. What is sparse is text there.
const TABLE: [Row; 10] = {
    let mut table = LESSER;
    table[1] = Row { code: 3, numbers: 5, ..row(2, 1, None, Some(1), 2) };
    table[2] = Row { text: 3, short: 2, sparse: 3, numbers: 5, ..row(4, 2, REPEAT_FAST, None, 3) };
    table[3] = Row { short: 3, ..row(5, 3, REPEAT_FAST, None, 3) };
    table
};

/// Without: 1 and 2 are igzip's first and second level; 3, 4 and 5 are our own (without AVX2 libdeflate's first,
/// second and third). igzip's second is up to 5 % larger than zlib's first for programs (one in two beyond
/// 2 %), for text one file in 100. The third is up to 15 % larger than zlib's second where text nearly
/// repeats itself (one file in 30 beyond 2 %), the fourth for one in 100, at the same speed.
const LESSER: [Row; 10] = [
    row(0, 0, None, None, 0),
    Row { text: 2, short: 2, numbers: 4, ..row(3, 1, None, Some(2), 2) },
    row(4, 2, REPEAT_FAST, None, 3),
    row(4, 3, REPEAT_FAST, None, 3),
    row(6, 4, repeat(16, LONG, 7), None, 3),
    row(6, 6, repeat(13, LONG, 7), None, 5),
    row(8, 8, repeat(11, LONG, 7), None, 6),
    row(8, 8, repeat(7, LONG, 7), None, 7),
    row(9, 8, repeat(7, SHORT, 8), None, 9),
    row(9, 9, repeat(7, SHORT, 8), None, 9),
];

fn of(level: u8) -> &'static Row {
    let table = if Cpu::host().tier() >= Tier::Avx512 { &TABLE } else { &LESSER };
    &table[usize::from(level.min(9))]
}

/// The kind of data, as far as it matters at this level. `may_repeat`: what came before does not
/// speak against it.
pub(crate) fn content(level: u8, window_bits: u8, data: &[u8], may_repeat: bool) -> Content {
    let row = of(level);
    if window_bits < 15 {
        return Content::Text;
    }
    if may_repeat
        && let Some(wanted) = row.repeats
        && data.len() >= wanted.from
        && repeats(data, wanted.ratio)
    {
        return Content::Repeats;
    }
    if [row.short, row.sparse, row.mixed, row.code, row.numbers] == [row.text; 5] {
        return Content::Text;
    }
    if data.len() < TOO_SHORT {
        return Content::Short;
    }
    match kind_of(data) {
        Content::Sparse if row.sparse == row.text => text_of(data),
        Content::Text => text_of(data),
        kind => kind,
    }
}

/// Text by its length.
fn text_of(data: &[u8]) -> Content {
    if data.len() < SHORT { Content::Short } else { Content::Text }
}

/// Raw DEFLATE at zlib's `level`, for whole streams and pieces.
pub(crate) fn whole(level: u8, window_bits: u8, content: Content) -> Compression {
    let row = of(level);
    let level = match content {
        _ if window_bits < 15 => row.small,
        Content::Repeats => row.repeats.and_then(|of| of.short).unwrap_or(row.text),
        Content::Short => row.short,
        Content::Sparse => row.sparse,
        Content::Mixed => row.mixed,
        Content::Code => row.code,
        Content::Numbers => row.numbers,
        Content::Text => row.text,
    };
    Compression::new(Format::Raw).level(level).window_bits(window_bits)
}

/// Where this content of this length is best done as one stream by zlib-rs: its level.
pub(crate) fn as_one(level: u8, content: Content, len: usize) -> Option<u8> {
    let repeats = of(level).repeats.filter(|repeats| len >= repeats.one_from);
    let repeats = repeats.filter(|_| content == Content::Repeats);
    repeats.map(|repeats| repeats.zlib_rs)
}

/// Raw DEFLATE for streams, where igzip serves them.
pub(crate) fn stream(level: u8) -> Option<Compression> {
    of(level).stream.map(|level| Compression::new(Format::Raw).level(level))
}

/// Whether long streams go to the kernel for streams before anything is flushed: those of text, and
/// with small windows all.
pub(crate) fn streams(level: u8, window_bits: u8, content: Content) -> bool {
    of(level).stream.is_some() && (window_bits < 15 || content == Content::Text)
}

/// The level of zlib-rs.
pub(crate) fn zlib_rs(level: u8) -> u8 {
    of(level).zlib_rs
}

/// The kernels for a spec of this table, which are never refused.
pub(crate) fn codec(spec: &Compression) -> Option<Codec> {
    Codec::new(spec, Cpu::host()).ok()
}
