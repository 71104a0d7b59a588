//! Hashes and MACs: a key prepared once, and a text under way.

use lookaside_cipher_kernel::{kasumi, poly1305, snow3g, zuc};
use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::library::aws_lc::cleanse;
use crate::{Auth, Hash, OpError};

use super::hash::{HashState, MAX_BLOCK, MAX_DIGEST};
use super::{cbc_mac, gcm};

/// The key of a hash or MAC.
pub(crate) struct Key {
    cpu: Cpu,
    kind: Kind,
}

/// The algorithms' keys.
pub(crate) enum Kind {
    /// A hash alone.
    Plain(Box<HashState>),
    /// HMAC and the nested hash: what has been hashed before the text, and before the inner digest.
    Nested(SecureBox<Nested>),
    /// CMAC, XCBC, CBC-MAC.
    Chained(cbc_mac::Key),
    /// GMAC.
    Gmac(Box<gcm::Gcm>),
    /// Poly1305.
    Poly1305(SecureBox<[u8; 32]>),
    /// F9, UIA1.
    Kasumi(SecureBox<kasumi::Key>),
    /// UIA2.
    Snow3g(SecureBox<[u8; 16]>),
    /// EIA3.
    Zuc(SecureBox<[u8; 16]>),
}

/// What stands before the text, and before the inner digest.
pub(crate) struct Nested {
    pub(crate) inner: HashState,
    pub(crate) outer: HashState,
}

/// A text under way.
// On the heap, each restart would take new memory.
#[allow(clippy::large_enum_variant)]
#[derive(Clone)]
pub(crate) enum State {
    /// A hash, or the inner one of two.
    Hash(HashState),
    /// CMAC, XCBC, CBC-MAC.
    Chained(cbc_mac::Chain),
    /// GMAC.
    Gmac(gcm::State),
    /// Poly1305.
    Poly1305(poly1305::Running),
    /// The 3GPP algorithms: IV and text, which is collected.
    Text {
        /// The IV.
        iv: [u8; 16],
        /// All of the text so far.
        text: Zeroizing<Vec<u8>>,
    },
}

/// The full length of an algorithm's tag.
pub(crate) fn full_len(auth: Auth) -> usize {
    match auth {
        Auth::Plain(hash) | Auth::Hmac(hash) | Auth::Nested { outer: hash, .. } => hash.len(),
        Auth::Crc64 => 8,
        Auth::AesXcbc | Auth::AesCbcMac | Auth::AesCmac | Auth::AesGmac | Auth::Poly1305 => 16,
        Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3 | Auth::Crc32 => 4,
    }
}

const IV: OpError = OpError::BadInput("the length of the IV");

fn key_len_ok(auth: Auth, len: usize) -> bool {
    match auth {
        Auth::Plain(_) | Auth::Crc32 | Auth::Crc64 => len == 0,
        Auth::Hmac(_) => true,
        // A byte that says how long the inner prefix is.
        Auth::Nested { .. } => len >= 1,
        Auth::AesCbcMac | Auth::AesCmac | Auth::AesGmac => matches!(len, 16 | 24 | 32),
        Auth::AesXcbc | Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3 => len == 16,
        Auth::Poly1305 => len == 32,
    }
}

/// HMAC's first blocks (RFC 2104): the key, padded with zeros or hashed if it is longer than a
/// block, XORed with 36.. and with 5c...
fn hmac(cpu: &Cpu, algorithm: Hash, key: &[u8]) -> Result<Kind, OpError> {
    let mut block = [0; MAX_BLOCK];
    let block = &mut block[..algorithm.block_len()];
    if key.len() > block.len() {
        let mut state = HashState::new(algorithm)?;
        state.update(cpu, key);
        state.finish(cpu, &mut block[..algorithm.len()]);
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let mut nested = Nested::new(algorithm, algorithm)?;
    block.iter_mut().for_each(|byte| *byte ^= 0x36);
    nested.inner.update(cpu, block);
    block.iter_mut().for_each(|byte| *byte ^= 0x36 ^ 0x5c);
    nested.outer.update(cpu, block);
    cleanse(block);
    Ok(Kind::Nested(nested))
}

impl Nested {
    /// Nothing hashed yet; where it is to stay.
    fn new(inner: Hash, outer: Hash) -> Result<SecureBox<Nested>, OpError> {
        Ok(SecureBox::new(Nested { inner: HashState::new(inner)?, outer: HashState::new(outer)? }))
    }
}

impl Key {
    /// Checks and prepares a key, and the tag's length with it.
    pub(crate) fn new(cpu: &Cpu, auth: Auth, key: &[u8], tag_len: usize) -> Result<Key, OpError> {
        if !key_len_ok(auth, key.len()) {
            return Err(OpError::BadInput("the length of an authentication key"));
        }
        let tag_ok = match auth {
            // GMAC is GCM: SP 800-38D section 5.2.1.2.
            Auth::AesGmac => matches!(tag_len, 4 | 8 | 12..=16),
            _ => (1..=full_len(auth)).contains(&tag_len),
        };
        if !tag_ok {
            return Err(OpError::BadInput("the length of the tag"));
        }
        let kind = match auth {
            Auth::Plain(algorithm) => Kind::Plain(Box::new(HashState::new(algorithm)?)),
            Auth::Crc32 => Kind::Plain(Box::new(HashState::crc32())),
            Auth::Crc64 => Kind::Plain(Box::new(HashState::crc64())),
            Auth::Hmac(algorithm) => hmac(cpu, algorithm, key)?,
            Auth::Nested { inner, outer } => {
                let (prefix_len, prefixes) = (usize::from(key[0]), &key[1..]);
                if prefix_len > prefixes.len() {
                    return Err(OpError::BadInput("the length of the inner prefix"));
                }
                let mut nested = Nested::new(inner, outer)?;
                nested.inner.update(cpu, &prefixes[..prefix_len]);
                nested.outer.update(cpu, &prefixes[prefix_len..]);
                Kind::Nested(nested)
            }
            Auth::AesCmac => Kind::Chained(cbc_mac::Key::cmac(cpu, key)),
            Auth::AesXcbc => Kind::Chained(cbc_mac::Key::xcbc(cpu, key)),
            Auth::AesCbcMac => Kind::Chained(cbc_mac::Key::plain(cpu, key)),
            Auth::AesGmac => Kind::Gmac(gcm::Gcm::new(cpu, key, 16)),
            Auth::Poly1305 => {
                let mut copy = SecureBox::new([0; 32]);
                copy.copy_from_slice(key);
                Kind::Poly1305(copy)
            }
            Auth::KasumiF9 | Auth::Snow3gUia2 | Auth::ZucEia3 => {
                let mut copy = SecureBox::new([0; 16]);
                copy.copy_from_slice(key);
                match auth {
                    Auth::KasumiF9 => Kind::Kasumi(SecureBox::make(|| kasumi::Key::new(&copy))),
                    Auth::Snow3gUia2 => Kind::Snow3g(copy),
                    _ => Kind::Zuc(copy),
                }
            }
        };
        Ok(Key { cpu: cpu.clone(), kind })
    }

    /// The algorithm's key.
    #[inline]
    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// What its kernels may use.
    #[inline]
    pub(crate) fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// The beginning of a text.
    pub(crate) fn begin(&self, iv: &[u8]) -> Result<State, OpError> {
        Ok(match &self.kind {
            Kind::Plain(hash) => State::Hash((**hash).clone()),
            Kind::Nested(nested) => State::Hash(nested.inner.clone()),
            Kind::Chained(_) => State::Chained(cbc_mac::Chain::default()),
            Kind::Gmac(key) => State::Gmac(key.begin(iv, true)?),
            Kind::Poly1305(key) => State::Poly1305(poly1305::Running::new(key)),
            Kind::Kasumi(_) | Kind::Snow3g(_) | Kind::Zuc(_) => {
                let mut block = [0; 16];
                block[..iv.len()].copy_from_slice(iv);
                State::Text { iv: block, text: Zeroizing::default() }
            }
        })
    }

    /// Begins anew in the memory of another text.
    pub(crate) fn restart(&self, state: &mut State, iv: &[u8]) -> Result<(), OpError> {
        match (&self.kind, state) {
            (Kind::Gmac(key), State::Gmac(state)) => key.restart(state, iv, true),
            (Kind::Plain(hash), State::Hash(state)) => {
                state.reset(hash);
                Ok(())
            }
            (Kind::Nested(nested), State::Hash(state)) => {
                state.reset(&nested.inner);
                Ok(())
            }
            (_, state) => {
                *state = self.begin(iv)?;
                Ok(())
            }
        }
    }

    /// More text.
    pub(crate) fn update(&self, state: &mut State, text: &[u8]) -> Result<(), OpError> {
        match (&self.kind, state) {
            (_, State::Hash(hash)) => hash.update(&self.cpu, text),
            (Kind::Chained(key), State::Chained(chain)) => key.absorb(chain, text),
            (Kind::Gmac(key), State::Gmac(state)) => key.aad(state, text)?,
            (_, State::Poly1305(state)) => state.update(&self.cpu, text),
            (_, State::Text { text: collected, .. }) => collected.extend_from_slice(text),
            // `begin` makes no other pairs.
            _ => unreachable!("the state of another MAC"),
        }
        Ok(())
    }

    /// The tag, as much of it as `tag` holds. The state is used up.
    pub(crate) fn finish(&self, state: &mut State, tag: &mut [u8]) -> Result<(), OpError> {
        let (cpu, len) = (&self.cpu, tag.len());
        match (&self.kind, state) {
            (Kind::Nested(nested), State::Hash(state)) => {
                let Nested { inner, outer } = &**nested;
                let mut digest = Zeroizing::new([0; MAX_DIGEST]);
                let digest = &mut digest[..inner.hash.len()];
                state.finish(cpu, digest);
                outer.whole(cpu, digest, tag);
            }
            (_, State::Hash(state)) => state.finish(cpu, tag),
            (Kind::Chained(key), State::Chained(chain)) => {
                tag.copy_from_slice(&key.finish(chain)?[..len]);
            }
            (Kind::Gmac(key), State::Gmac(state)) => key.tag(state, tag)?,
            (_, State::Poly1305(state)) => tag.copy_from_slice(&state.clone().finish()[..len]),
            (_, State::Text { iv, text }) => {
                tag.copy_from_slice(&self.mobile(iv, text, 0)?[..len]);
            }
            // `begin` makes no other pairs.
            _ => unreachable!("the state of another MAC"),
        }
        Ok(())
    }

    /// F9, UIA2 or EIA3.
    fn mobile(&self, iv: &[u8], text: &[u8], spare_bits: u8) -> Result<[u8; 4], OpError> {
        let wide = iv.first_chunk::<16>().ok_or(IV);
        match &self.kind {
            Kind::Kasumi(key) => {
                let [iv @ .., direction] = *iv.first_chunk::<9>().ok_or(IV)?;
                let tag = [0; 4];
                let mut packet = [kasumi::F9 { key, iv, direction, data: text, spare_bits, tag }];
                kasumi::f9(&self.cpu, &mut packet);
                Ok(packet[0].tag)
            }
            Kind::Snow3g(key) => Ok(snow3g::uia2(key, wide?, text, spare_bits)),
            Kind::Zuc(key) => Ok(zuc::eia3(key, wide?, text, spare_bits)),
            _ => Err(IV),
        }
    }

    /// The tag of a whole text.
    pub(crate) fn whole(
        &self,
        iv: &[u8],
        text: &[u8],
        spare_bits: u8,
        tag: &mut [u8],
    ) -> Result<(), OpError> {
        let cpu = &self.cpu;
        match &self.kind {
            Kind::Plain(hash) => hash.whole(cpu, text, tag),
            Kind::Nested(nested) => {
                let Nested { inner, outer } = &**nested;
                let mut digest = [0; MAX_DIGEST];
                let digest = &mut digest[..inner.hash.len()];
                inner.whole(cpu, text, digest);
                outer.whole(cpu, digest, tag);
                cleanse(digest);
            }
            Kind::Gmac(key) => tag.copy_from_slice(&key.mac(iv, text)?[..tag.len()]),
            Kind::Kasumi(_) | Kind::Snow3g(_) | Kind::Zuc(_) => {
                tag.copy_from_slice(&self.mobile(iv, text, spare_bits)?[..tag.len()]);
            }
            Kind::Poly1305(key) => {
                tag.copy_from_slice(&poly1305::one(cpu, key, text)[..tag.len()]);
            }
            Kind::Chained(_) => {
                let mut state = self.begin(iv)?;
                self.update(&mut state, text)?;
                self.finish(&mut state, tag)?;
            }
        }
        Ok(())
    }
}
