//! What goes in and what comes back.

use std::fmt;

pub use lookaside_cipher_kernel::Text;

use crate::{OpError, Session, Span};

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Encrypt, make the tag.
    Seal,
    /// Verify the tag, decrypt.
    Open,
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

/// Where a packet's tag is.
pub enum Tag<'a> {
    /// Within the text, where [`Parts::tag`] says.
    InText,
    /// To be made here: memory of the session's tag length and more.
    Made(&'a mut [u8]),
    /// To be compared with this one.
    Given(&'a [u8]),
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
    pub result: Result<usize, OpError>,
}

impl fmt::Debug for Packet<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The bytes may be secret.
        write!(f, "Packet({:?}, {:?}, {:?})", self.direction, self.parts, self.result)
    }
}
