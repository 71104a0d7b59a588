//! What can go wrong, by moment: at set-up ([`SetupError`]), and in a response ([`OpError`]).
//! The third moment, a full ring at push, is not an error but normal flow: `Full` in the runtime.

use core::{fmt, ops::RangeInclusive};

use crate::{Op, session::CompressionError};

/// Refused before any traffic. Names the device, operation or limit concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SetupError {
    /// The runtime was given no device.
    NoDevice,
    /// No device of the route executes this operation with these parameters.
    Unsupported {
        /// The device that was asked last.
        device: String,
        /// The operation.
        op: Op,
        /// What it lacks.
        what: &'static str,
    },
    /// A setting lies outside its limits.
    Limit {
        /// The setting, with its unit.
        what: &'static str,
        /// The value given.
        given: u64,
        /// The smallest value allowed.
        min: u64,
        /// The largest value allowed.
        max: u64,
    },
    /// A key or a domain parameter is not valid.
    Key {
        /// What is wrong.
        what: &'static str,
    },
    /// The parameters of a compression session are wrong.
    Compression(CompressionError),
    /// A name in a route or a setting is not known.
    Unknown {
        /// What kind of name: "device", ...
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two devices of a runtime have the same name.
    Duplicate {
        /// The name.
        device: String,
    },
    /// There is not enough memory.
    NoMemory {
        /// What it was for.
        what: &'static str,
    },
    /// The operating system refused.
    Os {
        /// What was asked for.
        what: &'static str,
        /// Its error number (errno).
        errno: i32,
    },
}

impl SetupError {
    /// Whether a setting lies within its limits.
    ///
    /// # Errors
    /// [`SetupError::Limit`] when it does not.
    pub fn check(
        what: &'static str,
        given: u64,
        limits: RangeInclusive<u64>,
    ) -> Result<(), SetupError> {
        let (min, max) = limits.into_inner();
        match (min..=max).contains(&given) {
            true => Ok(()),
            false => Err(SetupError::Limit { what, given, min, max }),
        }
    }
}

impl fmt::Display for SetupError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SetupError::NoDevice => f.write_str("no device was given to the runtime"),
            SetupError::Unsupported { device, op, what } => {
                write!(f, "device {device} does not support {op}: {what}")
            }
            SetupError::Limit { what, given, min, max } => {
                write!(f, "{what} is {given}, outside {min} to {max}")
            }
            SetupError::Key { what } => write!(f, "bad key or parameters: {what}"),
            SetupError::Compression(e) => e.fmt(f),
            SetupError::Unknown { what, name } => write!(f, "unknown {what}: {name}"),
            SetupError::Duplicate { device } => write!(f, "two devices are named {device}"),
            SetupError::NoMemory { what } => write!(f, "{what}: not enough memory"),
            SetupError::Os { what, errno } => {
                write!(f, "{what}: {}", std::io::Error::from_raw_os_error(*errno))
            }
        }
    }
}

impl std::error::Error for SetupError {}

impl From<CompressionError> for SetupError {
    fn from(e: CompressionError) -> Self {
        SetupError::Compression(e)
    }
}

/// Why compressed data was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BadReason {
    /// The source ends before the stream does.
    Truncated,
    /// The gzip or zlib header is not one.
    Header,
    /// A DEFLATE block is malformed: its type, code lengths, a symbol or a distance.
    Block,
    /// The checksum at the end does not match the data.
    Checksum,
    /// The length at the end does not match the data (gzip ISIZE).
    Length,
    /// The stream wants a preset dictionary that was not given, or another one.
    Dictionary,
}

impl BadReason {
    /// A phrase for messages.
    pub fn describe(self) -> &'static str {
        match self {
            BadReason::Truncated => "unexpected end of data",
            BadReason::Header => "not in this format (bad header)",
            BadReason::Block => "invalid DEFLATE data",
            BadReason::Checksum => "checksum error",
            BadReason::Length => "length error",
            BadReason::Dictionary => "missing or wrong preset dictionary",
        }
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

/// The error part of a response. The buffers come back with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpError {
    /// The destination is too small for the result. Terminal: nothing in it is usable. (A stream
    /// never answers this: there a full destination is [`crate::Status::Overflow`], resumable.)
    DstTooSmall,
    /// The source is not valid.
    BadData {
        /// Where: how many bytes the decoder had read when it noticed, from the start of the stream
        /// or member (of a stateless request: from the start of its source).
        offset: u64,
        /// Why.
        reason: BadReason,
    },
    /// Authentication failed (a tag, MAC, signature or padding does not match).
    AuthFailed,
    /// The source of a public-key or key-derivation request is not valid.
    BadInput {
        /// What is wrong: a length, a number out of range, a point off its curve.
        what: &'static str,
    },
    /// The result failed its verification and was withheld: a fault of the machine, or a key whose
    /// parts do not fit together.
    Fault,
    /// The session cannot do this operation, or the buffers do not suit it (a destination that
    /// cannot be written).
    Unsupported,
    /// The stream had ended before this piece.
    StreamEnded,
    /// Not run: there is not enough memory to gather a scatter-gather list. Nothing was consumed or
    /// produced.
    NoMemory,
    /// The device failed, and no other device of the route could take the request.
    DeviceLost(Lost),
    /// Not run: nothing consumed or produced, the stream's state untouched. The instance was
    /// closed, or an earlier request of the same stream overflowed or failed: submit again after
    /// having dealt with that one.
    Cancelled,
}

impl fmt::Display for OpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpError::DstTooSmall => f.write_str("the destination is too small"),
            OpError::BadData { offset, reason } => {
                write!(f, "{} at byte {offset}", reason.describe())
            }
            OpError::AuthFailed => f.write_str("authentication failed"),
            OpError::BadInput { what } => write!(f, "bad input: {what}"),
            OpError::Fault => f.write_str("the result failed its verification and was withheld"),
            OpError::Unsupported => f.write_str("not supported by this session"),
            OpError::StreamEnded => f.write_str("the stream has already ended"),
            OpError::NoMemory => f.write_str("not enough memory"),
            OpError::DeviceLost(Lost::Untouched) => f.write_str("the device failed before it ran"),
            OpError::DeviceLost(Lost::Touched) => f.write_str("the device failed"),
            OpError::Cancelled => f.write_str("cancelled before it ran"),
        }
    }
}

impl std::error::Error for OpError {}
