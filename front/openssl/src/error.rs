//! Errors: reasons with their texts, and how they reach OpenSSL's error queue.

use core::{ffi::CStr, fmt};

use lookaside::{OpError, SetupError};

/// A result of a provider function.
pub type Result<T> = core::result::Result<T, Error>;

macro_rules! reasons {
    ($($(#[$doc:meta])* $name:ident = $number:literal: $text:literal,)*) => {
        /// Why a function failed. The numbers are part of the interface.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason { $($(#[$doc])* $name = $number,)* }

        impl Reason {
            /// All of them, with texts.
            pub const ALL: &[(Reason, &CStr)] = &[$((Reason::$name, $text),)*];
        }
    };
}

reasons! {
    /// A panic: a defect of the provider.
    Internal = 1: c"internal error",
    /// openssl.cnf has a setting that does not exist or has no such value.
    BadSetting = 2: c"bad setting in the configuration",
    /// A parameter has the wrong type or an impossible value.
    InvalidParameter = 3: c"invalid parameter",
    /// The caller's buffer is too small.
    OutputTooSmall = 4: c"output buffer too small",
    /// The key lacks the part that the operation needs.
    MissingKey = 5: c"missing key part",
    /// The key is not valid.
    InvalidKey = 6: c"invalid key",
    /// The key or parameter is of a kind that this provider has not.
    UnsupportedKey = 7: c"unsupported kind of key",
    /// The padding does not exist, or not for this operation.
    UnsupportedPadding = 8: c"unsupported padding",
    /// The digest does not exist, or not for this operation.
    UnsupportedDigest = 9: c"unsupported digest",
    /// The digest is not the one that the key prescribes.
    DigestNotAllowed = 10: c"digest not allowed by the key",
    /// The source has the wrong length.
    InvalidLength = 11: c"invalid length",
    /// The object was used before it was initialised.
    NotInitialised = 12: c"operation not initialised",
    /// The input is not valid.
    BadInput = 13: c"bad input",
    /// A signature, tag or padding does not match.
    VerificationFailed = 14: c"verification failed",
    /// The result failed its own verification.
    Fault = 15: c"result withheld: it failed its verification",
    /// No device could do it.
    DeviceFailed = 16: c"device failed",
    /// The device does not have this operation.
    NotSupported = 17: c"not supported by the device",
    /// The ring is full and the policy is to fail.
    RingFull = 18: c"request ring full",
    /// The operation belongs to a parent process or to a wait context that is gone.
    Abandoned = 19: c"operation abandoned",
    /// A resource of the operating system is missing.
    System = 20: c"operating system",
    /// The keys of two parties do not belong together.
    DifferentParameters = 21: c"different parameters",
    /// The program has another libcrypto than this provider.
    ForeignLibrary = 22: c"the program has its own libcrypto",
    /// The salt is too short for the key's restrictions, or does not fit.
    InvalidSaltLength = 23: c"invalid salt length",
    /// The parameter is not set.
    MissingParameter = 24: c"missing parameter",
}

/// A reason, and what exactly.
#[derive(Clone, Debug)]
pub struct Error {
    /// Why.
    pub reason: Reason,
    /// What exactly; may be empty.
    pub detail: String,
}

impl Error {
    /// A reason with details.
    pub fn new(reason: Reason, detail: impl fmt::Display) -> Error {
        Error { reason, detail: detail.to_string() }
    }

    /// Says which parameter it is about.
    #[must_use]
    pub fn about(self, key: &CStr) -> Error {
        Error { detail: key.to_string_lossy().into_owned(), ..self }
    }
}

impl From<Reason> for Error {
    fn from(reason: Reason) -> Error {
        Error { reason, detail: String::new() }
    }
}

impl From<OpError> for Error {
    fn from(e: OpError) -> Error {
        let reason = match e {
            OpError::DstTooSmall => Reason::OutputTooSmall,
            OpError::BadInput { what } => return Error::new(Reason::BadInput, what),
            OpError::AuthFailed => Reason::VerificationFailed,
            OpError::Fault => Reason::Fault,
            OpError::Unsupported => Reason::NotSupported,
            _ => Reason::DeviceFailed,
        };
        Error::from(reason)
    }
}

impl From<SetupError> for Error {
    fn from(e: SetupError) -> Error {
        let reason = match e {
            SetupError::Unsupported { .. } => Reason::NotSupported,
            SetupError::Os { .. } => Reason::System,
            _ => Reason::InvalidKey,
        };
        Error::new(reason, e)
    }
}
