//! Digests: their names, and the state of a message that is signed or verified. Messages are
//! digested by whatever OpenSSL finds under the digest's name.
#![allow(unsafe_code)]

use core::{ffi::CStr, ptr};
use std::ffi::CString;

use lookaside::Hash;
use zeroize::Zeroizing;

use crate::{
    error::{Error, Reason, Result},
    ffi::{
        EVP_DigestFinal_ex, EVP_DigestInit_ex2, EVP_DigestUpdate, EVP_MD_CTX_copy_ex,
        EVP_MD_CTX_free, EVP_MD_CTX_new, EVP_MD_fetch, EVP_MD_free, EvpMd, EvpMdCtx,
    },
    provider::Provider,
};

/// What is known of a hash function: the name that OpenSSL answers with, other names, its length,
/// and the last number of its object identifiers.
struct Known {
    hash: Hash,
    name: &'static CStr,
    aliases: &'static [&'static str],
    len: usize,
}

macro_rules! known {
    ($($hash:ident $name:literal $len:literal [$($alias:literal)*])*) => {
        [$(Known { hash: Hash::$hash, name: $name, aliases: &[$($alias),*], len: $len },)*]
    };
}

/// The names are those under which the default provider registers its digests, in its spelling.
static KNOWN: [Known; 15] = known! {
    Md5 c"MD5" 16 ["SSL3-MD5" "1.2.840.113549.2.5"]
    Sha1 c"SHA1" 20 ["SHA-1" "SSL3-SHA1" "1.3.14.3.2.26"]
    Md5Sha1 c"MD5-SHA1" 36 []
    Sha224 c"SHA2-224" 28 ["SHA-224" "SHA224" "2.16.840.1.101.3.4.2.4"]
    Sha256 c"SHA2-256" 32 ["SHA-256" "SHA256" "2.16.840.1.101.3.4.2.1"]
    Sha384 c"SHA2-384" 48 ["SHA-384" "SHA384" "2.16.840.1.101.3.4.2.2"]
    Sha512 c"SHA2-512" 64 ["SHA-512" "SHA512" "2.16.840.1.101.3.4.2.3"]
    Sha512_224 c"SHA2-512/224" 28 ["SHA-512/224" "SHA512-224" "2.16.840.1.101.3.4.2.5"]
    Sha512_256 c"SHA2-512/256" 32 ["SHA-512/256" "SHA512-256" "2.16.840.1.101.3.4.2.6"]
    Sha3_224 c"SHA3-224" 28 ["2.16.840.1.101.3.4.2.7"]
    Sha3_256 c"SHA3-256" 32 ["2.16.840.1.101.3.4.2.8"]
    Sha3_384 c"SHA3-384" 48 ["2.16.840.1.101.3.4.2.9"]
    Sha3_512 c"SHA3-512" 64 ["2.16.840.1.101.3.4.2.10"]
    Ripemd160 c"RIPEMD-160" 20 ["RIPEMD160" "RIPEMD" "RMD160" "1.3.36.3.2.1"]
    Sm3 c"SM3" 32 ["1.2.156.10197.1.401"]
};

/// The hash function of this name.
pub fn hash(name: &str) -> Result<Hash> {
    let is = |known: &&Known| {
        known.name.to_str().is_ok_and(|n| n.eq_ignore_ascii_case(name))
            || known.aliases.iter().any(|alias| alias.eq_ignore_ascii_case(name))
    };
    let known = KNOWN.iter().find(is).map(|known| known.hash);
    known.ok_or_else(|| Error::new(Reason::UnsupportedDigest, name))
}

fn known(hash: Hash) -> Option<&'static Known> {
    KNOWN.iter().find(|known| known.hash == hash)
}

/// The name that OpenSSL's default provider gives it.
pub fn name(hash: Hash) -> &'static CStr {
    known(hash).map_or(c"", |known| known.name)
}

/// The length of a digest in bytes.
pub fn len(hash: Hash) -> usize {
    known(hash).map_or(0, |known| known.len)
}

/// The digest of a message, in progress.
pub struct Md {
    md: *mut EvpMd,
    state: *mut EvpMdCtx,
    /// Set when it has been finished: there is no second result.
    finished: bool,
}

// SAFETY: OpenSSL's objects may be used from any thread, by one at a time.
unsafe impl Send for Md {}

impl Md {
    /// Starts the digest of this name, found in the provider's library context.
    pub fn new(provider: &Provider, name: &str, propq: Option<&str>) -> Result<Md> {
        let unsupported = || Error::new(Reason::UnsupportedDigest, name);
        let c_name = CString::new(name).map_err(|_| unsupported())?;
        let propq = propq.map(CString::new).transpose().map_err(|_| unsupported())?;
        let propq = propq.as_ref().map_or(ptr::null(), |text| text.as_ptr());
        // SAFETY: both strings end with NUL; the library context is the one we were loaded into.
        let md = unsafe { EVP_MD_fetch(provider.core.libctx(), c_name.as_ptr(), propq) };
        if md.is_null() {
            return Err(unsupported());
        }
        // SAFETY: no arguments.
        let state = unsafe { EVP_MD_CTX_new() };
        let mut this = Md { md, state, finished: false };
        this.restart()?;
        Ok(this)
    }

    /// Forgets what was digested.
    pub fn restart(&mut self) -> Result<()> {
        self.finished = false;
        // SAFETY: both objects are ours; a null state is refused by the library.
        check(unsafe { EVP_DigestInit_ex2(self.state, self.md, ptr::null()) })
    }

    /// Digests more.
    pub fn update(&mut self, data: &[u8]) -> Result<()> {
        if self.finished {
            return Err(Error::new(Reason::NotInitialised, "the message has ended"));
        }
        // SAFETY: the state is ours, the bytes are the slice's.
        check(unsafe { EVP_DigestUpdate(self.state, data.as_ptr().cast(), data.len()) })
    }

    /// The digest. What follows is an error until [`Md::restart`].
    pub fn finish(&mut self) -> Result<Zeroizing<Vec<u8>>> {
        if core::mem::replace(&mut self.finished, true) {
            return Err(Error::new(Reason::NotInitialised, "the message has ended"));
        }
        // EVP_MAX_MD_SIZE.
        let mut digest = Zeroizing::new(vec![0; 64]);
        let mut len = 0;
        // SAFETY: the state is ours; no digest is longer than the room.
        check(unsafe { EVP_DigestFinal_ex(self.state, digest.as_mut_ptr(), &mut len) })?;
        digest.truncate(len as usize);
        Ok(digest)
    }

    /// A copy of the state.
    pub fn copy(&self) -> Option<Md> {
        // SAFETY: no arguments.
        let state = unsafe { EVP_MD_CTX_new() };
        // SAFETY: both states are ours; a null one is refused by the library.
        if unsafe { EVP_MD_CTX_copy_ex(state, self.state) } != 1 {
            // SAFETY: ours, and used nowhere else.
            unsafe { EVP_MD_CTX_free(state) };
            return None;
        }
        // The state holds the digest for itself.
        Some(Md { md: ptr::null_mut(), state, finished: self.finished })
    }
}

impl Drop for Md {
    fn drop(&mut self) {
        // SAFETY: ours, freed once; null is allowed.
        unsafe {
            EVP_MD_CTX_free(self.state);
            EVP_MD_free(self.md);
        }
    }
}

fn check(result: core::ffi::c_int) -> Result<()> {
    if result == 1 { Ok(()) } else { Err(Error::new(Reason::UnsupportedDigest, "digest failed")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_in_any_spelling() {
        for name in ["SHA256", "sha-256", "SHA2-256", "2.16.840.1.101.3.4.2.1"] {
            assert_eq!(hash(name).unwrap(), Hash::Sha256);
        }
        assert!(hash("SHA257").is_err());
        assert_eq!((name(Hash::Sha1), len(Hash::Md5Sha1)), (c"SHA1", 36));
    }
}
