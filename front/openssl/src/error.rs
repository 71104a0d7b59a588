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
    /// What is wrong is in OpenSSL's queue already.
    Queued = 25: c"see the error before",
    /// A digest of another length than its algorithm has.
    InvalidDigestLength = 26: c"invalid digest length",
    /// The mask generation does not go with the padding.
    InvalidMgf1Digest = 27: c"invalid mgf1 md",
    /// The padding does not go with the digest.
    InvalidPaddingMode = 28: c"invalid padding mode",
    /// Keys of this type do not do this.
    NotForThisKey = 29: c"operation not supported for this keytype",
    /// The salt is shorter than the key prescribes.
    SaltTooShort = 30: c"pss saltlen too small",
    /// No digest was named.
    MissingDigest = 31: c"missing message digest",
    /// No secret was given.
    MissingSecret = 32: c"missing secret",
    /// No seed was given.
    MissingSeed = 33: c"missing seed",
    /// There is no such mode.
    InvalidMode = 34: c"invalid mode",
    /// The secret of an exchange is the point at infinity.
    PointAtInfinity = 35: c"point at infinity",
    /// The source does not fit the modulus.
    DataTooLarge = 36: c"data too large for key size",
    /// The digest does not fit the modulus.
    DigestTooBig = 37: c"digest too big for rsa key",
    /// The padding of OAEP is not there.
    OaepDecoding = 38: c"oaep decoding error",
    /// An RSA signature does not match.
    BadSignature = 39: c"bad signature",
    /// An RSA signature is not as long as the modulus.
    WrongSignatureLength = 40: c"wrong signature length",
    /// A library that the device uses failed.
    LibraryFailed = 41: c"a library of the device failed",
}

/// Numbers of OpenSSL's libraries (`err.h`).
mod library {
    pub const RSA: u32 = 4;
    pub const EC: u32 = 16;
    pub const PROV: u32 = 57;
}

impl Reason {
    /// What goes into OpenSSL's queue: where OpenSSL's own providers have a reason for the same, theirs
    /// (`proverr.h`, `rsaerr.h`, `ecerr.h`), because programs ask for those; else a number of ours.
    pub fn code(self) -> u32 {
        use Reason::*;
        let (library, reason) = match self {
            OutputTooSmall => (library::PROV, 106),
            InvalidSaltLength => (library::PROV, 112),
            NotInitialised => (library::PROV, 114),
            UnsupportedDigest => (library::PROV, 122),
            InvalidMode => (library::PROV, 125),
            MissingKey => (library::PROV, 128),
            MissingDigest => (library::PROV, 129),
            MissingSecret => (library::PROV, 132),
            NotSupported => (library::PROV, 136),
            MissingSeed => (library::PROV, 140),
            InvalidKey => (library::PROV, 158),
            UnsupportedPadding => (library::PROV, 165),
            InvalidDigestLength => (library::PROV, 166),
            InvalidMgf1Digest => (library::PROV, 167),
            InvalidPaddingMode => (library::PROV, 168),
            SaltTooShort => (library::PROV, 172),
            DigestNotAllowed => (library::PROV, 174),
            NotForThisKey => (library::PROV, 178),
            DifferentParameters => (library::PROV, 203),
            BadSignature => (library::RSA, 104),
            DataTooLarge => (library::RSA, 110),
            DigestTooBig => (library::RSA, 112),
            WrongSignatureLength => (library::RSA, 119),
            OaepDecoding => (library::RSA, 121),
            PointAtInfinity => (library::EC, 106),
            _ => (0, self as u32),
        };
        library << 23 | reason
    }

    /// Whether the caller's result says all: OpenSSL's providers queue no error for a signature or tag
    /// that does not match, and another provider has queued its own.
    pub fn is_silent(self) -> bool {
        matches!(self, Reason::VerificationFailed | Reason::Queued)
    }
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

    /// What a device says of its input, in the words of an operation; other errors stay.
    #[must_use]
    pub fn of_input(self, reason: Reason) -> Error {
        match self.reason {
            Reason::BadInput | Reason::VerificationFailed => Error { reason, ..self },
            _ => self,
        }
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
            OpError::BadInput(what) => return Error::new(Reason::BadInput, what),
            OpError::Library(what) => return Error::new(Reason::LibraryFailed, what),
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
            SetupError::Os { .. } | SetupError::NoMemory { .. } => Reason::System,
            _ => Reason::InvalidKey,
        };
        Error::new(reason, e)
    }
}
