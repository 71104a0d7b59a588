//! What can go wrong at set-up ([`SetupError`]). What can go wrong later comes in the response
//! ([`crate::OpError`]).
//! The third moment, a full ring at push, is not an error but normal flow: `Full` in the runtime.

use core::{fmt, ops::RangeInclusive};

use crate::{BadPattern, CompressionError, Op};

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
    /// Patterns are refused: all that are, not only the first.
    Patterns(Vec<BadPattern>),
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
            SetupError::Patterns(bad) => {
                for (n, one) in bad.iter().enumerate() {
                    write!(f, "{}{one}", if n == 0 { "" } else { "; " })?;
                }
                Ok(())
            }
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
