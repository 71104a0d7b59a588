//! Key derivation for TLS, and HKDF.

use crate::batch::{cut, room};
use crate::hash::Hash;
use crate::{Error, Item, library};

/// The pseudo-random function of TLS 1.0 to 1.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TlsPrf {
    /// The hash function of TLS 1.2 (RFC 5246, 5); `None`: MD5 and SHA-1 together, the function of
    /// TLS 1.0 and 1.1 (RFC 2246, 5).
    pub hash: Option<Hash>,
}

/// One derivation of [`TlsPrf::derive_batch`].
#[derive(Debug)]
pub struct TlsPrfItem<'a> {
    /// How many bytes of `src` are the secret.
    pub secret_len: usize,
    /// How many bytes are derived.
    pub out_len: usize,
    /// `src` = secret || label || seed, `dst` = the derived bytes.
    pub item: Item<'a>,
}

impl TlsPrf {
    /// Fills `out` with PRF(`secret`, label, seed), `seed` being label and seed one after the
    /// other. [`Error::Unsupported`] for a hash function without HMAC.
    pub fn derive(&self, secret: &[u8], seed: &[u8], out: &mut [u8]) -> Result<(), Error> {
        let hash = self.hash.unwrap_or(Hash::Md5Sha1);
        let usable = self.hash.is_none_or(has_hmac);
        if usable && library::kdf::tls_prf(hash, secret, seed, out) {
            Ok(())
        } else {
            Err(Error::Unsupported("HMAC over this hash"))
        }
    }

    /// Derives for every item.
    pub fn derive_batch(&self, items: &mut [TlsPrfItem<'_>]) {
        for TlsPrfItem { secret_len, out_len, item } in items {
            item.run(|src, dst| {
                let (secret, seed) =
                    src.split_at_checked(*secret_len).ok_or(Error::BadInput("too short"))?;
                self.derive(secret, seed, room(dst, *out_len)?)?;
                Ok(*out_len)
            });
        }
    }
}

fn has_hmac(hash: Hash) -> bool {
    !matches!(hash, Hash::Md5Sha1 | Hash::Ripemd160)
}

/// HKDF (RFC 5869), and its use in TLS 1.3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hkdf {
    /// The hash function of its HMAC.
    pub hash: Hash,
    /// What is done.
    pub mode: HkdfMode,
}

/// The steps of HKDF.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HkdfMode {
    /// Both: `salt` and `key` to a pseudo-random key, and that with `info` to as much as wanted.
    ExtractAndExpand,
    /// HMAC(`salt`, `key`): as long as a digest. `info` is empty.
    Extract,
    /// From a pseudo-random `key` and `info`. `salt` is empty.
    Expand,
    /// HKDF-Expand-Label of TLS 1.3 (RFC 8446, 7.1): from a secret in `key`, a label without its
    /// `tls13 ` in `salt` (up to 249 bytes) and a transcript hash in `info` (up to 255 bytes).
    ExpandLabel,
}

/// One derivation of [`Hkdf::derive_batch`].
#[derive(Debug)]
pub struct HkdfItem<'a> {
    /// How many bytes of `src` are the key.
    pub key_len: usize,
    /// How many bytes after it are the salt. The rest is the info.
    pub salt_len: usize,
    /// How many bytes are derived.
    pub out_len: usize,
    /// `src` = key || salt || info, `dst` = the derived bytes.
    pub item: Item<'a>,
}

impl Hkdf {
    /// Fills `out`. At most 255 digests' worth; exactly one in [`HkdfMode::Extract`].
    pub fn derive(
        &self,
        key: &[u8],
        salt: &[u8],
        info: &[u8],
        out: &mut [u8],
    ) -> Result<(), Error> {
        let Hkdf { hash, mode } = *self;
        if !has_hmac(hash) {
            return Err(Error::Unsupported("HMAC over this hash"));
        }
        if out.len() > 255 * hash.len() {
            return Err(Error::BadInput("HKDF gives at most 255 digests' worth"));
        }
        let done = match mode {
            HkdfMode::ExtractAndExpand => library::kdf::hkdf(hash, key, salt, info, out),
            HkdfMode::Extract => {
                if out.len() != hash.len() || !info.is_empty() {
                    return Err(Error::BadInput("HKDF-Extract gives one digest and takes no info"));
                }
                library::kdf::extract(hash, key, salt, out)
            }
            HkdfMode::Expand => {
                if !salt.is_empty() {
                    return Err(Error::BadInput("HKDF-Expand takes no salt"));
                }
                library::kdf::expand(hash, key, info, out)
            }
            HkdfMode::ExpandLabel => {
                if salt.len() > 249 || info.len() > 255 {
                    return Err(Error::BadInput("a label or transcript hash that is too long"));
                }
                library::kdf::expand_label(hash, key, salt, info, out)
            }
        };
        if done { Ok(()) } else { Err(Error::Library("HKDF")) }
    }

    /// Derives for every item.
    pub fn derive_batch(&self, items: &mut [HkdfItem<'_>]) {
        for HkdfItem { key_len, salt_len, out_len, item } in items {
            item.run(|src, dst| {
                let rest = src.len().wrapping_sub(*key_len).wrapping_sub(*salt_len);
                let [key, salt, info] = cut(src, [*key_len, *salt_len, rest])?;
                self.derive(key, salt, info, room(dst, *out_len)?)?;
                Ok(*out_len)
            });
        }
    }
}
