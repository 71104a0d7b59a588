//! What serves zlib's levels: the one table.
//!
//! Promised is: never more than 2 % larger than zlib 1.2.13 at the same level, and faster; whole
//! calls at levels 1 and 6 not larger. Pieces of 512 KB do without the history before them, so the
//! levels for whole calls are chosen with 0.5 % to spare.

use lookaside_compress::{Codec, Format, Spec};
use lookaside_simd::Cpu;

/// The row of one of zlib's levels.
struct Row {
    /// Whole streams and pieces: a level of lookaside-compress.
    whole: u8,
    /// Streams: a level of lookaside-compress that igzip serves; `None`: pieces, and zlib-rs from
    /// the first flush on that keeps the history.
    stream: Option<u8>,
    /// zlib-rs, wherever it serves. Its level 1 compresses far worse than zlib's.
    zlib_rs: u8,
}

const fn row(whole: u8, stream: Option<u8>, zlib_rs: u8) -> Row {
    Row { whole, stream, zlib_rs }
}

const TABLE: [Row; 10] = [
    row(0, None, 0),
    row(1, Some(1), 2),
    row(2, Some(2), 2),
    row(3, Some(3), 2),
    row(4, None, 3),
    row(6, None, 5),
    row(8, None, 6),
    row(8, None, 6),
    row(8, None, 7),
    row(9, None, 7),
];

fn of(level: u8) -> &'static Row {
    &TABLE[usize::from(level.min(9))]
}

/// Raw DEFLATE at zlib's `level`, for whole streams and pieces.
pub(crate) fn whole(level: u8, window_bits: u8) -> Spec {
    Spec::new(Format::Raw).level(of(level).whole).window_bits(window_bits)
}

/// The same for streams, where igzip serves them.
pub(crate) fn stream(level: u8) -> Option<Spec> {
    of(level).stream.map(|level| Spec::new(Format::Raw).level(level))
}

/// The level of zlib-rs.
pub(crate) fn zlib_rs(level: u8) -> u8 {
    of(level).zlib_rs
}

/// The kernels for a spec of this table, which are never refused.
pub(crate) fn codec(spec: &Spec) -> Option<Codec> {
    Codec::new(spec, Cpu::host()).ok()
}
