//! Hash functions and HMAC, as far as the public-key operations need them.

use std::fmt;
use std::ops::Deref;

use zeroize::Zeroize;

use crate::{Error, library};

/// A hash function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Hash {
    /// MD5 (RFC 1321). Broken; old certificates and TLS 1.0 still ask for it.
    Md5,
    /// SHA-1 (FIPS 180-4). Collisions are known.
    Sha1,
    /// MD5 and SHA-1 of the same input, one after the other: what TLS 1.0 signs.
    Md5Sha1,
    /// RIPEMD-160. AWS-LC has no HMAC over it.
    Ripemd160,
    /// SHA-224 (FIPS 180-4).
    Sha224,
    /// SHA-256 (FIPS 180-4).
    Sha256,
    /// SHA-384 (FIPS 180-4).
    Sha384,
    /// SHA-512 (FIPS 180-4).
    Sha512,
    /// SHA-512/224 (FIPS 180-4).
    Sha512_224,
    /// SHA-512/256 (FIPS 180-4).
    Sha512_256,
    /// SHA3-224 (FIPS 202).
    Sha3_224,
    /// SHA3-256 (FIPS 202).
    Sha3_256,
    /// SHA3-384 (FIPS 202).
    Sha3_384,
    /// SHA3-512 (FIPS 202).
    Sha3_512,
}

impl Hash {
    /// Every hash function.
    pub const ALL: [Hash; 14] = [
        Hash::Md5,
        Hash::Sha1,
        Hash::Md5Sha1,
        Hash::Ripemd160,
        Hash::Sha224,
        Hash::Sha256,
        Hash::Sha384,
        Hash::Sha512,
        Hash::Sha512_224,
        Hash::Sha512_256,
        Hash::Sha3_224,
        Hash::Sha3_256,
        Hash::Sha3_384,
        Hash::Sha3_512,
    ];

    /// Bytes of a digest.
    #[allow(clippy::len_without_is_empty)] // No digest is empty.
    pub const fn len(self) -> usize {
        match self {
            Hash::Md5 => 16,
            Hash::Sha1 | Hash::Ripemd160 => 20,
            Hash::Sha224 | Hash::Sha512_224 | Hash::Sha3_224 => 28,
            Hash::Sha256 | Hash::Sha512_256 | Hash::Sha3_256 => 32,
            Hash::Md5Sha1 => 36,
            Hash::Sha384 | Hash::Sha3_384 => 48,
            Hash::Sha512 | Hash::Sha3_512 => 64,
        }
    }

    /// The digest of the parts, one after the other.
    ///
    /// ```
    /// use lookaside_pke::hash::Hash;
    ///
    /// let digest = Hash::Sha256.digest(&[b"a", b"bc"]);
    /// assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
    /// assert_eq!(digest.len(), 32);
    /// ```
    pub fn digest(self, parts: &[&[u8]]) -> Digest {
        let mut digest = Digest { bytes: [0; _], len: self.len() };
        self.digest_into(parts, &mut digest.bytes[..self.len()]);
        digest
    }

    /// As [`Hash::digest`], into `out`, which is [`Hash::len`] bytes long.
    pub fn digest_into(self, parts: &[&[u8]], out: &mut [u8]) {
        assert!(library::digest::digest(self, parts, out), "memory for the state of a hash");
    }

    /// HMAC (RFC 2104) under `key`, of any length. [`Error::Unsupported`] for
    /// [`Hash::Ripemd160`] and [`Hash::Md5Sha1`].
    pub fn hmac(self, key: &[u8]) -> Result<Hmac, Error> {
        let keyed = library::digest::Hmac::new(self, key);
        Ok(Hmac { keyed: keyed.ok_or(Error::Unsupported("HMAC over this hash"))?, hash: self })
    }
}

/// A digest or a tag: derefs to its bytes, and is cleared when dropped.
#[derive(Clone)]
pub struct Digest {
    bytes: [u8; library::digest::MAX_LEN],
    len: usize,
}

impl Deref for Digest {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may be a key.
        write!(f, "Digest({} bytes)", self.len)
    }
}

impl Drop for Digest {
    fn drop(&mut self) {
        self.bytes.zeroize();
    }
}

/// HMAC under one key. The key is hashed once, not for every tag.
pub struct Hmac {
    keyed: library::digest::Hmac,
    hash: Hash,
}

impl Hmac {
    /// The tag of the parts, one after the other.
    pub fn tag(&mut self, parts: &[&[u8]]) -> Digest {
        let mut tag = Digest { bytes: [0; _], len: self.hash.len() };
        self.tag_into(parts, &mut tag.bytes[..self.hash.len()]);
        tag
    }

    /// As [`Hmac::tag`], into `out`, which is [`Hash::len`] bytes long.
    pub fn tag_into(&mut self, parts: &[&[u8]], out: &mut [u8]) {
        self.keyed.tag(parts, out);
    }
}

impl fmt::Debug for Hmac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hmac({:?})", self.hash)
    }
}

/// Whether two secrets of the same length are equal, in a time that depends on the length only.
pub(crate) fn equal(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && {
        let difference = a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ripemd160_of_abc() {
        // From the designers' page of test vectors.
        let digest = Hash::Ripemd160.digest(&[b"abc"]);
        assert_eq!(digest[..4], [0x8e, 0xb2, 0x08, 0xf7]);
        assert_eq!(digest.len(), 20);
    }

    #[test]
    fn equal_sees_every_bit() {
        let mut other = [7; 33];
        assert!(equal(&[7; 33], &other) && !equal(&[7; 32], &other) && equal(&[], &[]));
        for bit in 0..33 * 8 {
            other[bit / 8] ^= 1 << (bit % 8);
            assert!(!equal(&[7; 33], &other));
            other[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
