//! Key derivation for TLS, and HKDF.

use crate::batch::cut;
use crate::hash::has_hmac;
use crate::library::digest::method;
use crate::{Hash, HkdfMode, Item, OpError, library};

/// The pseudo-random function of TLS 1.0 to 1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TlsPrf {
    /// The hash function of TLS 1.2 (RFC 5246, 5); [`Hash::Md5Sha1`] for the function of TLS 1.0 and
    /// 1.1 (RFC 2246, 5).
    pub hash: Hash,
}

impl TlsPrf {
    /// Whether there is the function over this hash: those with [HMAC](has_hmac), and TLS 1.0's.
    pub fn is_supported(&self) -> bool {
        self.hash == Hash::Md5Sha1 || has_hmac(self.hash)
    }

    /// Fills `out` with PRF(`secret`, label, seed), `seed` being label and seed one after the
    /// other. [`OpError::Unsupported`] for a hash function without HMAC.
    pub fn derive(&self, secret: &[u8], seed: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let usable = self.is_supported();
        let method = method(self.hash).filter(|_| usable).ok_or(OpError::Unsupported)?;
        let done = library::kdf::tls_prf(method, secret, seed, out);
        if done { Ok(()) } else { Err(OpError::Library("the PRF of TLS")) }
    }
}

/// Derives for every item, by its function, with so many bytes of `src` as the secret: `src` = secret
/// || label || seed, `dst` = the derived bytes, as many as it has.
pub fn tls_prf(items: &mut [Item<'_, (TlsPrf, usize)>]) {
    for item in items {
        let (prf, secret_len) = item.key;
        item.run(|src, dst| {
            let [secret, seed] = cut(src, [secret_len, src.len().wrapping_sub(secret_len)])?;
            prf.derive(secret, seed, dst).map(|()| dst.len())
        });
    }
}

/// HKDF (RFC 5869), and its use in TLS 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hkdf {
    /// The hash function of its HMAC.
    pub hash: Hash,
    /// What is done.
    pub mode: HkdfMode,
}

impl Hkdf {
    /// Fills `out`. At most 255 digests' worth; exactly one in [`HkdfMode::Extract`].
    pub fn derive(
        &self,
        key: &[u8],
        salt: &[u8],
        info: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpError> {
        let Hkdf { hash, mode } = *self;
        let method = method(hash).filter(|_| has_hmac(hash)).ok_or(OpError::Unsupported)?;
        if out.len() > 255 * hash.len() {
            return Err(OpError::BadInput("HKDF gives at most 255 digests' worth"));
        }
        let done = match mode {
            HkdfMode::ExtractAndExpand => library::kdf::hkdf(method, key, salt, info, out),
            HkdfMode::Extract => {
                if out.len() != hash.len() || !info.is_empty() {
                    return Err(OpError::BadInput(
                        "HKDF-Extract gives one digest and takes no info",
                    ));
                }
                library::kdf::extract(method, key, salt, out)
            }
            HkdfMode::Expand => {
                if !salt.is_empty() {
                    return Err(OpError::BadInput("HKDF-Expand takes no salt"));
                }
                library::kdf::expand(method, key, info, out)
            }
            HkdfMode::ExpandLabel => {
                if salt.len() > 249 || info.len() > 255 {
                    return Err(OpError::BadInput("a label or transcript hash that is too long"));
                }
                library::kdf::expand_label(method, key, salt, info, out)
            }
        };
        if done { Ok(()) } else { Err(OpError::Library("HKDF")) }
    }
}

/// Derives for every item, by its function, with so many bytes of `src` as the key and so many as the
/// salt: `src` = key || salt || info, `dst` = the derived bytes, as many as it has.
pub fn hkdf(items: &mut [Item<'_, (Hkdf, usize, usize)>]) {
    for item in items {
        let (hkdf, key_len, salt_len) = item.key;
        item.run(|src, dst| {
            let rest = src.len().wrapping_sub(key_len).wrapping_sub(salt_len);
            let [key, salt, info] = cut(src, [key_len, salt_len, rest])?;
            hkdf.derive(key, salt, info, dst).map(|()| dst.len())
        });
    }
}
