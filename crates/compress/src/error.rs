//! What comes back: counts and a status, or an error.

use std::fmt;

/// What one operation did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Bytes of `src` that were taken.
    pub consumed: usize,
    /// Bytes of `dst` that were written, from its start.
    pub produced: usize,
    /// The checksum of the uncompressed bytes, of the stream so far: CRC-32, Adler-32, or 0 when
    /// none was asked for.
    pub checksum: u32,
    /// How far it came.
    pub status: Status,
}

/// How far an operation came. The stateless ones only ever return [`End`](Status::End).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// All of `src` was consumed, and everything that the flush asked for is in `dst`.
    Complete,
    /// `dst` is full. Resumable: step again with the unconsumed rest of `src`, the same flush and
    /// more room.
    Overflow,
    /// The stream (zlib), member (gzip) or last block (raw) ended. A decoder may have left bytes
    /// of `src`: they belong to whatever follows.
    End,
}

/// Why an operation failed. Never a panic, whatever the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The result does not fit in `dst`, whose content is now meaningless. Stateless only.
    DstTooSmall,
    /// The input is not what its format promises.
    BadData {
        /// How many bytes the decoder had read when it noticed, from the start of the stream.
        offset: usize,
        /// What is wrong.
        reason: BadReason,
    },
    /// More input after the end: [`Status::End`] was returned, or
    /// [`Flush::Finish`](crate::Flush::Finish) had taken the last of it. Reset first.
    Ended,
    /// A kernel broke its contract (or memory ran out inside it). Nothing in `dst` is usable.
    Kernel(&'static str),
}

/// What is wrong with compressed data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadReason {
    /// It stops too early. Stateless only: a stream waits for more.
    Truncated,
    /// The zlib or gzip header: magic, method, window, reserved flags, header checksum.
    Header,
    /// The blocks: type, stored length, code lengths, symbol, distance.
    Block,
    /// The content does not match its checksum.
    Checksum,
    /// The content does not have the length that the gzip trailer says.
    Length,
    /// It needs a preset dictionary: none was given, or another one.
    Dictionary,
}

impl BadReason {
    pub(crate) fn at(self, offset: usize) -> Error {
        Error::BadData { offset, reason: self }
    }
}

impl fmt::Display for BadReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            BadReason::Truncated => "truncated",
            BadReason::Header => "bad header",
            BadReason::Block => "bad block",
            BadReason::Checksum => "wrong checksum",
            BadReason::Length => "wrong length",
            BadReason::Dictionary => "missing or wrong dictionary",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::DstTooSmall => f.write_str("destination too small"),
            Error::BadData { offset, reason } => write!(f, "{reason} at byte {offset}"),
            Error::Ended => f.write_str("input after the end of the stream"),
            Error::Kernel(name) => write!(f, "kernel {name} failed"),
        }
    }
}

impl std::error::Error for Error {}
