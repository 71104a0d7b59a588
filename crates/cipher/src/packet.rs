//! What goes in and what comes back.

use std::fmt;

pub use lookaside_cipher_kernel::Text;

use crate::Session;

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Encrypt, make the tag.
    Seal,
    /// Verify the tag, decrypt.
    Open,
}

/// A part of a packet, in bytes from the start of its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    /// Where it begins.
    pub offset: u32,
    /// How long it is.
    pub len: u32,
}

/// Where the parts of a packet lie. Offsets are the same in source and destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Parts {
    /// AEADs: the associated data, in the source. TLS records: the 13 bytes of sequence number and
    /// header; their last two, the length, are not read.
    pub aad: Span,
    /// What is encrypted or decrypted. TLS records: sealing, the payload; opening, the ciphertext.
    pub cipher: Span,
    /// Hashes, MACs and chains: what is hashed. In a chain the bytes of this region outside the
    /// cipher's are copied to a destination that lies apart.
    pub auth: Span,
    /// Where the tag lies: sealing, in the destination; opening, in the source. TLS records have
    /// theirs within the ciphertext.
    pub tag: u32,
    /// The 3GPP algorithms: how many bits of the last byte do not count, 0 to 7.
    pub spare_bits: u8,
}

/// One packet to work on.
pub struct Packet<'a> {
    /// The keys and what to do with them.
    pub session: &'a Session,
    /// Which way.
    pub direction: Direction,
    /// The IV, nonce, counter block or tweak.
    pub iv: &'a [u8],
    /// Where its parts lie.
    pub parts: Parts,
    /// The bytes.
    pub text: Text<'a>,
    /// The length of the cipher region's result (of a hash or MAC: of the tag), or why there is none.
    /// It equals the region's length, but for TLS records: sealing adds MAC and padding, opening
    /// removes them. After an error the destination's cipher region is overwritten with zeros or
    /// was never touched.
    pub result: Result<usize, Error>,
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may be secret.
        write!(f, "Packet({:?}, {:?}, {:?})", self.direction, self.parts, self.result)
    }
}

/// Why something failed. Never a panic, whatever the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// The packet has not been run.
    NotRun,
    /// The result does not fit in the destination.
    DstTooSmall,
    /// A length, an offset or a nonce is out of its range.
    BadInput(&'static str),
    /// A key, a tag length or a combination of algorithms is not one that there is.
    BadSpec(&'static str),
    /// The tag, or the padding, does not match. Nothing of the plaintext is released.
    AuthFailed,
    /// A library failed without a reason that concerns the input: memory ran out.
    Library(&'static str),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotRun => f.write_str("not run"),
            Error::DstTooSmall => f.write_str("the result does not fit in the destination"),
            Error::BadInput(what) => write!(f, "bad input: {what}"),
            Error::BadSpec(what) => write!(f, "bad session: {what}"),
            Error::AuthFailed => f.write_str("the tag does not match"),
            Error::Library(what) => write!(f, "{what} failed"),
        }
    }
}

impl std::error::Error for Error {}
