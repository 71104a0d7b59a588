//! Hashes and MACs: a key prepared once, and a text under way.

use zeroize::Zeroizing;

use crate::library::aws_lc::Poly1305;
use crate::library::aws_lc_aead::{Aead, Gcm};
use crate::{Auth, Error, Hash, Text};

use super::cbc_mac;
use super::hash::{HashState, MAX_BLOCK, MAX_DIGEST};

/// The key of a hash or MAC.
pub(crate) enum Key {
    /// A hash alone.
    Plain(HashState),
    /// HMAC and the nested hash: what has been hashed before the text, and before the inner digest.
    Nested { inner: HashState, outer: HashState },
    /// CMAC, XCBC, CBC-MAC.
    Chained(cbc_mac::Key),
    /// GMAC: for whole texts, and to be copied for texts in pieces.
    Gmac { whole: Aead, pieces: Gcm },
    /// Poly1305.
    Poly1305(Zeroizing<[u8; 32]>),
}

/// A text under way.
#[derive(Clone)]
pub(crate) enum State {
    /// A hash, or the inner one of two.
    Hash(HashState),
    /// CMAC, XCBC, CBC-MAC.
    Chained(cbc_mac::Chain),
    /// GMAC.
    Gmac(Gcm),
    /// Poly1305.
    Poly1305(Poly1305),
}

/// The full length of an algorithm's tag.
pub(crate) fn full_len(auth: Auth) -> usize {
    match auth {
        Auth::Plain(hash) | Auth::Hmac(hash) | Auth::Nested { outer: hash, .. } => hash.len(),
        Auth::AesXcbc | Auth::AesCbcMac | Auth::AesCmac | Auth::AesGmac | Auth::Poly1305 => 16,
        Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3 => 4,
    }
}

fn is_checksum(hash: Hash) -> bool {
    hash.block_len() == 1
}

fn key_len_ok(auth: Auth, len: usize) -> bool {
    match auth {
        Auth::Plain(_) => len == 0,
        Auth::Hmac(_) => true,
        // A byte that says how long the inner prefix is.
        Auth::Nested { .. } => len >= 1,
        Auth::AesCbcMac | Auth::AesCmac | Auth::AesGmac => matches!(len, 16 | 24 | 32),
        Auth::AesXcbc | Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3 => len == 16,
        Auth::Poly1305 => len == 32,
    }
}

fn hash(hash: Hash) -> Result<HashState, Error> {
    HashState::new(hash).ok_or(Error::BadSpec("no implementation of this hash"))
}

/// HMAC's first blocks (RFC 2104): the key, padded with zeros or hashed if it is longer than a
/// block, XORed with 36.. and with 5c...
fn hmac(algorithm: Hash, key: &[u8]) -> Result<Key, Error> {
    let mut block = Zeroizing::new([0; MAX_BLOCK]);
    let block = &mut block[..algorithm.block_len()];
    if key.len() > block.len() {
        let mut state = hash(algorithm)?;
        state.update(key);
        state.finish(&mut block[..algorithm.len()]);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let (mut inner, mut outer) = (hash(algorithm)?, hash(algorithm)?);
    block.iter_mut().for_each(|byte| *byte ^= 0x36);
    inner.update(block);
    block.iter_mut().for_each(|byte| *byte ^= 0x36 ^ 0x5c);
    outer.update(block);
    Ok(Key::Nested { inner, outer })
}

impl Key {
    /// Checks and prepares a key, and the tag's length with it.
    pub(crate) fn new(auth: Auth, key: &[u8], tag_len: usize) -> Result<Key, Error> {
        if !key_len_ok(auth, key.len()) {
            return Err(Error::BadSpec("the length of an authentication key"));
        }
        let tag_ok = match auth {
            // GMAC is GCM: SP 800-38D section 5.2.1.2.
            Auth::AesGmac => matches!(tag_len, 4 | 8 | 12..=16),
            _ => (1..=full_len(auth)).contains(&tag_len),
        };
        if !tag_ok {
            return Err(Error::BadSpec("the length of the tag"));
        }
        let memory = Error::Library("taking memory");
        Ok(match auth {
            Auth::Plain(algorithm) => Key::Plain(hash(algorithm)?),
            Auth::Hmac(algorithm) if is_checksum(algorithm) => {
                return Err(Error::BadSpec("HMAC over a checksum"));
            }
            Auth::Hmac(algorithm) => hmac(algorithm, key)?,
            Auth::Nested { inner, outer } => {
                if is_checksum(inner) || is_checksum(outer) {
                    return Err(Error::BadSpec("a nested hash of checksums"));
                }
                let (prefix_len, prefixes) = (usize::from(key[0]), &key[1..]);
                if prefix_len > prefixes.len() {
                    return Err(Error::BadSpec("the length of the inner prefix"));
                }
                let (mut inner, mut outer) = (hash(inner)?, hash(outer)?);
                inner.update(&prefixes[..prefix_len]);
                outer.update(&prefixes[prefix_len..]);
                Key::Nested { inner, outer }
            }
            Auth::AesCmac => Key::Chained(cbc_mac::Key::cmac(key)),
            Auth::AesXcbc => Key::Chained(cbc_mac::Key::xcbc(key)),
            Auth::AesCbcMac => Key::Chained(cbc_mac::Key::plain(key)),
            Auth::AesGmac => Key::Gmac {
                whole: Aead::gcm(key, 16).ok_or(memory)?,
                pieces: Gcm::new(key).ok_or(memory)?,
            },
            Auth::Poly1305 => {
                let mut copy = Zeroizing::new([0; 32]);
                copy.copy_from_slice(key);
                Key::Poly1305(copy)
            }
            Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3 => {
                return Err(Error::BadSpec("no implementation of this MAC"));
            }
        })
    }

    /// The beginning of a text.
    pub(crate) fn begin(&self, iv: &[u8]) -> Result<State, Error> {
        Ok(match self {
            Key::Plain(hash) | Key::Nested { inner: hash, .. } => State::Hash(hash.clone()),
            Key::Chained(_) => State::Chained(cbc_mac::Chain::default()),
            Key::Gmac { pieces, .. } => {
                let mut gcm = pieces.clone();
                gcm.start(iv, true)?;
                State::Gmac(gcm)
            }
            Key::Poly1305(key) => State::Poly1305(Poly1305::new(key)),
        })
    }

    /// Begins anew in the memory of another text.
    pub(crate) fn restart(&self, state: &mut State, iv: &[u8]) -> Result<(), Error> {
        match (self, state) {
            (Key::Gmac { .. }, State::Gmac(gcm)) => gcm.start(iv, true),
            (_, state) => {
                *state = self.begin(iv)?;
                Ok(())
            }
        }
    }

    /// More text.
    pub(crate) fn update(&self, state: &mut State, text: &[u8]) -> Result<(), Error> {
        match (self, state) {
            (_, State::Hash(hash)) => hash.update(text),
            (Key::Chained(key), State::Chained(chain)) => key.absorb(chain, text),
            (_, State::Gmac(gcm)) => gcm.aad(text)?,
            (_, State::Poly1305(state)) => state.update(text),
            // `begin` makes no other pairs.
            _ => unreachable!("the state of another MAC"),
        }
        Ok(())
    }

    /// The tag, as much of it as `tag` holds. The state is used up.
    pub(crate) fn finish(&self, state: &mut State, tag: &mut [u8]) -> Result<(), Error> {
        let len = tag.len();
        match (self, state) {
            (Key::Nested { inner, outer }, State::Hash(state)) => {
                let mut digest = Zeroizing::new([0; MAX_DIGEST]);
                let digest = &mut digest[..inner.hash.len()];
                state.finish(digest);
                let mut outer = outer.clone();
                outer.update(digest);
                outer.finish(tag);
            }
            (_, State::Hash(state)) => state.finish(tag),
            (Key::Chained(key), State::Chained(chain)) => {
                tag.copy_from_slice(&key.finish(chain)?[..len]);
            }
            (_, State::Gmac(gcm)) => gcm.tag(tag)?,
            (_, State::Poly1305(state)) => tag.copy_from_slice(&state.finish()[..len]),
            // `begin` makes no other pairs.
            _ => unreachable!("the state of another MAC"),
        }
        Ok(())
    }

    /// The tag of a whole text.
    pub(crate) fn whole(&self, iv: &[u8], text: &[u8], tag: &mut [u8]) -> Result<(), Error> {
        if let Key::Gmac { whole, .. } = self {
            let full = whole
                .seal(iv, text, &mut Text::InPlace(&mut []))
                .ok_or(Error::Library("AES-GMAC"))?;
            tag.copy_from_slice(&full[..tag.len()]);
            return Ok(());
        }
        let mut state = self.begin(iv)?;
        self.update(&mut state, text)?;
        self.finish(&mut state, tag)
    }
}
