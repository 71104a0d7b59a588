//! What can go wrong with an operation.

use core::fmt;

use crate::xml;

/// Why compressed data was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadReason {
    /// The source ends before the stream does. Stateless requests only: a stream waits for more.
    Truncated,
    /// The header is not one of the format: magic, method, window, reserved flags, header checksum.
    Header,
    /// A block is malformed: its type, stored length, code lengths, a symbol or a distance.
    Block,
    /// A checksum does not match the data.
    Checksum,
    /// The length in the header or at the end does not match the data (gzip ISIZE, the content size of LZ4 frames).
    Length,
    /// The stream wants a preset dictionary that was not given, or another one.
    Dictionary,
    /// The stream needs a larger window than is granted (Zstandard: 128 MiB).
    Window,
}

impl BadReason {
    /// A phrase for messages.
    pub fn describe(self) -> &'static str {
        match self {
            BadReason::Truncated => "unexpected end of data",
            BadReason::Header => "not in this format (bad header)",
            BadReason::Block => "invalid compressed data",
            BadReason::Checksum => "checksum error",
            BadReason::Length => "length error",
            BadReason::Dictionary => "missing or wrong preset dictionary",
            BadReason::Window => "needs more memory than is granted (its window)",
        }
    }

    /// The error for data that is bad at this offset.
    pub fn at(self, offset: usize) -> OpError {
        OpError::BadData { offset: offset as u64, reason: self }
    }
}

/// What became of a request that a device lost. It decides whether another device may execute it:
/// a cipher in place that runs twice applies its key stream twice, and the plaintext leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The device read and wrote nothing: buffers and states are as they were at push.
    Untouched,
    /// The device may have executed the request, wholly or in part. The destination is undefined, and
    /// so is a state that the request carries.
    Touched,
}

/// Why an operation failed: the error part of a response, and what every service answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpError {
    /// The destination is too small for the result. Terminal: nothing in it is usable. (A stream
    /// never answers this: there a full destination is [`Status::Overflow`](crate::Status::Overflow),
    /// resumable.)
    DstTooSmall,
    /// The source is not valid compressed data.
    BadData {
        /// Where: how many bytes the decoder had read when it noticed, from the start of the stream
        /// or member (of a stateless request: from the start of its source).
        offset: u64,
        /// Why.
        reason: BadReason,
    },
    /// The source is an XML document that is not well-formed, or beyond a limit of the session. Line and column: ask the
    /// document.
    BadDocument {
        /// Where, in bytes from the start of the document.
        offset: u64,
        /// Which rule it breaks.
        rule: xml::Rule,
    },
    /// Authentication failed (a tag, MAC, signature or padding does not match). Nothing of the
    /// plaintext is released.
    AuthFailed,
    /// A source, key or parameter is not valid; this says what: a length, an offset, a number out of
    /// range, a point off its curve.
    BadInput(&'static str),
    /// The result failed its verification and was withheld: a fault of the machine, or a key whose
    /// parts do not fit together.
    Fault,
    /// The session cannot do this operation, no library here has the algorithm, or the buffers do
    /// not suit it (a destination that cannot be written).
    Unsupported,
    /// The stream had ended before this piece.
    StreamEnded,
    /// A library or kernel that does the work failed for no reason of the input's (memory or entropy
    /// ran out); this says which. The result was withheld.
    Library(&'static str),
    /// Not run: there is not enough memory to gather a scatter-gather list. Nothing was consumed or
    /// produced.
    NoMemory,
    /// The device failed, and no other device of the route could take the request.
    DeviceLost(Lost),
    /// Not run: nothing consumed or produced, the stream's state untouched. It was cancelled, the
    /// instance was closed, or an earlier request of the same stream overflowed or failed: submit again
    /// after having dealt with that one.
    Cancelled,
    /// Not run: its deadline passed before a device began with it. As `Cancelled` otherwise.
    Expired,
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpError::DstTooSmall => f.write_str("the destination is too small"),
            OpError::BadData { offset, reason } => {
                write!(f, "{} at byte {offset}", reason.describe())
            }
            OpError::BadDocument { offset, rule } => write!(f, "{rule} (byte {offset})"),
            OpError::AuthFailed => f.write_str("authentication failed"),
            OpError::BadInput(what) => write!(f, "bad input: {what}"),
            OpError::Fault => f.write_str("the result failed its verification and was withheld"),
            OpError::Unsupported => f.write_str("not supported by this session"),
            OpError::StreamEnded => f.write_str("the stream has already ended"),
            OpError::Library(what) => write!(f, "a library failed: {what}"),
            OpError::NoMemory => f.write_str("not enough memory"),
            OpError::DeviceLost(Lost::Untouched) => f.write_str("the device failed before it ran"),
            OpError::DeviceLost(Lost::Touched) => f.write_str("the device failed"),
            OpError::Cancelled => f.write_str("cancelled before it ran"),
            OpError::Expired => f.write_str("its deadline passed before it ran"),
        }
    }
}

impl core::error::Error for OpError {}
