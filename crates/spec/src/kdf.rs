//! Key derivation.

use crate::{Hash, Op};

/// Which half of HKDF (RFC 5869).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum HkdfMode {
    /// Both.
    #[default]
    ExtractAndExpand,
    /// The first: the destination gets the pseudorandom key.
    Extract,
    /// The second: the key is a pseudorandom key, there is no salt.
    Expand,
    /// HKDF-Expand-Label of TLS 1.3 (RFC 8446 section 7.1): the salt is the label without its
    /// `tls13 `, the info the transcript hash.
    ExpandLabel,
}

/// What a key-derivation session is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kdf {
    /// The TLS pseudorandom function (RFC 2246, RFC 5246); [`Hash::Md5Sha1`] for 1.0 and 1.1.
    TlsPrf(Hash),
    /// HKDF (RFC 5869).
    Hkdf(Hash),
}

impl Kdf {
    /// The operation of a session of this kind.
    pub fn ops(&self) -> &'static [Op] {
        match self {
            Kdf::TlsPrf(_) => &[Op::TlsPrf],
            Kdf::Hkdf(_) => &[Op::Hkdf],
        }
    }
}
