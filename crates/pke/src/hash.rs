//! Hash functions and HMAC, as far as the public-key operations need them.

use std::fmt;
use std::ops::Deref;

use zeroize::Zeroize;

use crate::{Hash, OpError, library};

/// The digest of the parts, one after the other.
///
/// ```
/// use lookaside_pke::{Hash, hash::digest};
///
/// let digest = digest(Hash::Sha256, &[b"a", b"bc"])?;
/// assert_eq!(digest[..4], [0xba, 0x78, 0x16, 0xbf]);
/// assert_eq!(digest.len(), 32);
/// # Ok::<(), lookaside_pke::OpError>(())
/// ```
///
/// # Errors
/// [`OpError::Unsupported`] for [`Hash::Sm3`].
pub fn digest(hash: Hash, parts: &[&[u8]]) -> Result<Digest, OpError> {
    let mut digest = Digest { bytes: [0; _], len: hash.len() };
    digest_into(hash, parts, &mut digest.bytes[..hash.len()])?;
    Ok(digest)
}

/// As [`digest`], into `out`, which is [`Hash::len`] bytes long.
///
/// # Errors
/// As [`digest`].
pub fn digest_into(hash: Hash, parts: &[&[u8]], out: &mut [u8]) -> Result<(), OpError> {
    match library::digest::digest(hash, parts, out).ok_or(OpError::Unsupported)? {
        true => Ok(()),
        false => Err(OpError::Library("memory for the state of a hash")),
    }
}

/// Whether there is HMAC over a hash function, and with it what is made of HMAC: not over
/// [`Hash::Ripemd160`], [`Hash::Md5Sha1`] and [`Hash::Sm3`].
pub fn has_hmac(hash: Hash) -> bool {
    !matches!(hash, Hash::Md5Sha1 | Hash::Ripemd160 | Hash::Sm3)
}

/// Runs `run` with HMAC (RFC 2104) under `key`, of any length.
///
/// # Errors
/// [`OpError::Unsupported`] unless [`has_hmac`].
pub fn hmac<R>(hash: Hash, key: &[u8], run: impl FnOnce(&mut Hmac<'_>) -> R) -> Result<R, OpError> {
    let method = library::digest::method(hash).filter(|_| has_hmac(hash));
    let method = method.ok_or(OpError::Unsupported)?;
    let run = |keyed: &mut library::digest::Hmac| run(&mut Hmac { keyed, hash });
    library::digest::Hmac::keyed(method, hash.len(), key, run)
        .ok_or(OpError::Library("memory for the state of HMAC"))
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
pub struct Hmac<'a> {
    keyed: &'a mut library::digest::Hmac,
    hash: Hash,
}

impl Hmac<'_> {
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

impl fmt::Debug for Hmac<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hmac({:?})", self.hash)
    }
}

/// Whether two secrets of the same length are equal, in a time that depends on the length only.
pub fn equal(a: &[u8], b: &[u8]) -> bool {
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
        let digest = digest(Hash::Ripemd160, &[b"abc"]).unwrap();
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
