//! What can go wrong.

use std::{fmt, io};

use lookaside::SetupError;
use lookaside_model::LoadError;
use lookaside_qat_card::Refusal;

use crate::params::Format;

pub use lookaside::BadReason;

/// Why nothing was compressed or decompressed. There is no partial success.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// No provider has this name.
    UnknownProvider(String),
    /// There is no such model, or its text is wrong.
    Model(LoadError),
    /// There is no card by the library that was named.
    Card(Refusal),
    /// A provider of this name is registered already.
    ProviderExists(String),
    /// A parameter lies outside its limits.
    Param {
        /// The parameter.
        what: &'static str,
        /// The value given.
        given: i64,
        /// The smallest value allowed.
        min: i64,
        /// The largest value allowed.
        max: i64,
    },
    /// The provider cannot do this.
    Unsupported {
        /// The provider.
        provider: String,
        /// What it cannot do.
        what: &'static str,
    },
    /// The device refused at set-up.
    Setup(SetupError),
    /// The destination is too small.
    DstTooSmall {
        /// The size that would do, where it is known.
        needed: Option<usize>,
    },
    /// The decompressed data is larger than the limit that the caller set.
    Limit(u64),
    /// The source does not start like this format.
    NotThisFormat(Format),
    /// The source is damaged.
    BadData {
        /// Where, in bytes from the start: exactly, or the start of the damaged chunk.
        offset: u64,
        /// Why.
        reason: BadReason,
    },
    /// The compressed output did not decompress to the input.
    Verify,
    /// A provider failed on valid input.
    Provider {
        /// The provider.
        provider: String,
        /// What happened.
        what: String,
    },
    /// The target exists and was not to be replaced.
    Exists(std::path::PathBuf),
    /// The operating system refused.
    Io {
        /// What was being done: "read", "write", "open PATH", ...
        what: String,
        /// Its error.
        source: io::Error,
    },
}

impl Error {
    /// An operating-system error while doing `what`.
    pub fn io(what: impl Into<String>, source: io::Error) -> Error {
        Error::Io { what: what.into(), source }
    }

    /// The operating system has no such amount of memory.
    pub(crate) fn memory(bytes: usize) -> Error {
        Error::io(format!("a buffer of {bytes} bytes"), io::ErrorKind::OutOfMemory.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::UnknownProvider(name) => {
                let known = crate::provider::providers().join(", ");
                write!(f, "unknown provider: {name}; known are {known}, model and qat")
            }
            Error::Model(e) => write!(f, "model {e}"),
            Error::Card(e) => e.fmt(f),
            Error::ProviderExists(name) => write!(f, "provider {name} is registered already"),
            Error::Param { what, given, min, max } => {
                write!(f, "{what} is {given}, outside {min} to {max}")
            }
            Error::Unsupported { provider, what } => {
                write!(f, "provider {provider} does not support {what}")
            }
            Error::Setup(e) => e.fmt(f),
            Error::DstTooSmall { needed: Some(n) } => {
                write!(f, "the destination is too small: {n} bytes are needed")
            }
            Error::DstTooSmall { needed: None } => f.write_str("the destination is too small"),
            Error::Limit(n) => write!(f, "more than the limit of {n} bytes when decompressed"),
            Error::NotThisFormat(format) => write!(f, "not in {format} format"),
            // The phrases of gunzip, which scripts look for.
            Error::BadData { reason: BadReason::Truncated, .. } => {
                f.write_str("unexpected end of file")
            }
            Error::BadData { offset, reason } => {
                let phrase = match reason {
                    BadReason::Checksum => "invalid compressed data--crc error",
                    BadReason::Length => "invalid compressed data--length error",
                    BadReason::Block => "invalid compressed data--format violated",
                    other => other.describe(),
                };
                write!(f, "{phrase} (at byte {offset})")
            }
            Error::Verify => {
                f.write_str("verification failed: the output does not decompress to the input")
            }
            Error::Provider { provider, what } => write!(f, "provider {provider}: {what}"),
            Error::Exists(path) => {
                write!(f, "{} already exists (--force replaces it)", path.display())
            }
            Error::Io { what, source } => write!(f, "{what}: {source}"),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Setup(e) => Some(e),
            Error::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl From<SetupError> for Error {
    fn from(e: SetupError) -> Error {
        Error::Setup(e)
    }
}
