//! Authenticated encryption: whole texts, and texts in pieces.

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::library::aws_lc::Poly1305;
use crate::library::aws_lc_aead as aws;
use crate::{Aead, Direction, Error, Text};

use super::aes::Aes;
use super::ccm::{Ccm, destination, source};
use super::cipher::ChaCha20;

/// The key of an AEAD.
pub(crate) struct Key {
    tag_len: usize,
    expanded: Expanded,
}

enum Expanded {
    /// For whole texts, and to be copied for texts in pieces.
    Gcm {
        whole: aws::Aead,
        pieces: aws::Gcm,
    },
    Ccm(Aes),
    ChaCha20Poly1305 {
        whole: aws::Aead,
        key: Zeroizing<[u8; 32]>,
    },
}

/// A text under way.
// On the heap, each restart would take new memory.
#[allow(clippy::large_enum_variant)]
#[derive(Clone)]
pub(crate) enum State {
    /// AES-GCM.
    Gcm(aws::Gcm),
    /// AES-CCM, its lengths not known yet.
    CcmNonce {
        /// The nonce.
        nonce: [u8; 13],
        /// How long it is.
        len: usize,
    },
    /// AES-CCM.
    Ccm(Ccm),
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305(ChaChaPoly),
}

const MEMORY: Error = Error::Library("taking memory");

fn tag_len_ok(aead: Aead, len: usize) -> bool {
    match aead {
        // SP 800-38D section 5.2.1.2.
        Aead::AesGcm => matches!(len, 4 | 8 | 12..=16),
        // SP 800-38C, A.1.
        Aead::AesCcm => matches!(len, 4 | 6 | 8 | 10 | 12 | 14 | 16),
        Aead::ChaCha20Poly1305 => len == 16,
    }
}

impl Key {
    /// Checks and expands a key.
    pub(crate) fn new(cpu: &Cpu, aead: Aead, key: &[u8], tag_len: usize) -> Result<Key, Error> {
        let key_ok = match aead {
            Aead::AesGcm | Aead::AesCcm => matches!(key.len(), 16 | 24 | 32),
            Aead::ChaCha20Poly1305 => key.len() == 32,
        };
        if !key_ok {
            return Err(Error::BadSpec("the length of an AEAD key"));
        }
        if !tag_len_ok(aead, tag_len) {
            return Err(Error::BadSpec("the length of the tag"));
        }
        let expanded = match aead {
            Aead::AesGcm => Expanded::Gcm {
                whole: aws::Aead::gcm(key, tag_len).ok_or(MEMORY)?,
                pieces: aws::Gcm::new(key).ok_or(MEMORY)?,
            },
            Aead::AesCcm => Expanded::Ccm(Aes::new(cpu, key)),
            Aead::ChaCha20Poly1305 => {
                let mut copy = Zeroizing::new([0; 32]);
                copy.copy_from_slice(key);
                let whole = aws::Aead::chacha20_poly1305(key).ok_or(MEMORY)?;
                Expanded::ChaCha20Poly1305 { whole, key: copy }
            }
        };
        Ok(Key { tag_len, expanded })
    }

    /// Encrypts a whole text. The tag's first bytes count.
    pub(crate) fn seal(
        &self,
        iv: &[u8],
        aad: &[u8],
        text: &mut Text<'_>,
    ) -> Result<[u8; 16], Error> {
        match &self.expanded {
            Expanded::Gcm { whole, .. } | Expanded::ChaCha20Poly1305 { whole, .. } => {
                whole.seal(iv, aad, text).ok_or(Error::Library("an AEAD"))
            }
            Expanded::Ccm(aes) => self.ccm(aes, Direction::Seal, iv, aad, text),
        }
    }

    /// Decrypts a whole text and compares the tag. After an error the caller wipes the destination.
    pub(crate) fn open(
        &self,
        iv: &[u8],
        aad: &[u8],
        text: &mut Text<'_>,
        tag: &[u8],
    ) -> Result<(), Error> {
        let equal = match &self.expanded {
            Expanded::Gcm { whole, .. } | Expanded::ChaCha20Poly1305 { whole, .. } => {
                whole.open(iv, aad, text, tag)
            }
            Expanded::Ccm(aes) => {
                let computed = self.ccm(aes, Direction::Open, iv, aad, text)?;
                crate::library::aws_lc::equal(&computed[..tag.len()], tag)
            }
        };
        if equal { Ok(()) } else { Err(Error::AuthFailed) }
    }

    fn ccm(
        &self,
        aes: &Aes,
        direction: Direction,
        iv: &[u8],
        aad: &[u8],
        text: &mut Text<'_>,
    ) -> Result<[u8; 16], Error> {
        let (aad_len, text_len) = (aad.len() as u64, text.len() as u64);
        let mut ccm = Ccm::new(aes, iv, self.tag_len, aad_len, text_len)?;
        ccm.aad(aes, aad)?;
        ccm.update(aes, direction, text)?;
        ccm.tag(aes)
    }

    /// The beginning of a text in pieces.
    pub(crate) fn begin(&self, direction: Direction, iv: &[u8]) -> Result<State, Error> {
        Ok(match &self.expanded {
            Expanded::Gcm { pieces, .. } => {
                let mut gcm = pieces.clone();
                gcm.start(iv, direction == Direction::Seal)?;
                State::Gcm(gcm)
            }
            Expanded::Ccm(_) => {
                let mut nonce = [0; 13];
                nonce[..iv.len()].copy_from_slice(iv);
                State::CcmNonce { nonce, len: iv.len() }
            }
            Expanded::ChaCha20Poly1305 { key, .. } => {
                State::ChaCha20Poly1305(ChaChaPoly::new(key, iv))
            }
        })
    }

    /// Begins anew in the memory of another text.
    pub(crate) fn restart(
        &self,
        state: &mut State,
        direction: Direction,
        iv: &[u8],
    ) -> Result<(), Error> {
        match state {
            State::Gcm(gcm) => gcm.start(iv, direction == Direction::Seal)?,
            state => *state = self.begin(direction, iv)?,
        }
        Ok(())
    }

    /// CCM: the lengths to come. The others need none.
    pub(crate) fn lengths(&self, state: &mut State, aad: u64, text: u64) -> Result<(), Error> {
        if let Expanded::Ccm(aes) = &self.expanded {
            let State::CcmNonce { nonce, len } = state else {
                return Err(Error::BadInput("lengths are given once, before all else"));
            };
            *state = State::Ccm(Ccm::new(aes, &nonce[..*len], self.tag_len, aad, text)?);
        }
        Ok(())
    }

    /// More associated data.
    pub(crate) fn aad(&self, state: &mut State, aad: &[u8]) -> Result<(), Error> {
        match (&self.expanded, state) {
            (_, State::Gcm(gcm)) => gcm.aad(aad),
            (Expanded::Ccm(aes), State::Ccm(ccm)) => ccm.aad(aes, aad),
            (_, State::ChaCha20Poly1305(state)) => {
                state.aad(aad);
                Ok(())
            }
            _ => Err(NO_LENGTHS),
        }
    }

    /// Encrypts or decrypts a piece.
    pub(crate) fn update(
        &self,
        state: &mut State,
        direction: Direction,
        text: &mut Text<'_>,
    ) -> Result<(), Error> {
        match (&self.expanded, state) {
            (_, State::Gcm(gcm)) => gcm.update(text),
            (Expanded::Ccm(aes), State::Ccm(ccm)) => ccm.update(aes, direction, text),
            (Expanded::ChaCha20Poly1305 { key, .. }, State::ChaCha20Poly1305(state)) => {
                state.update(key, direction, text);
                Ok(())
            }
            _ => Err(NO_LENGTHS),
        }
    }

    /// The tag of a text that was encrypted.
    pub(crate) fn tag(&self, state: &mut State, tag: &mut [u8]) -> Result<(), Error> {
        let len = tag.len();
        match (&self.expanded, state) {
            (_, State::Gcm(gcm)) => gcm.tag(tag)?,
            (Expanded::Ccm(aes), State::Ccm(ccm)) => tag.copy_from_slice(&ccm.tag(aes)?[..len]),
            (_, State::ChaCha20Poly1305(state)) => tag.copy_from_slice(&state.tag()[..len]),
            _ => return Err(NO_LENGTHS),
        }
        Ok(())
    }

    /// Compares the tag of a text that was decrypted.
    pub(crate) fn verify(&self, state: &mut State, tag: &[u8]) -> Result<(), Error> {
        let equal = match state {
            State::Gcm(gcm) => gcm.verify(tag),
            state => {
                let mut computed = [0; 16];
                self.tag(state, &mut computed[..self.tag_len])?;
                crate::library::aws_lc::equal(&computed[..tag.len()], tag)
            }
        };
        if equal { Ok(()) } else { Err(Error::AuthFailed) }
    }
}

const NO_LENGTHS: Error = Error::BadInput("CCM needs the lengths in advance");

/// ChaCha20-Poly1305 in pieces (RFC 8439 section 2.8).
#[derive(Clone)]
pub(crate) struct ChaChaPoly {
    cipher: ChaCha20,
    mac: Poly1305,
    aad_len: u64,
    text_len: u64,
}

impl ChaChaPoly {
    fn new(key: &[u8; 32], nonce: &[u8]) -> ChaChaPoly {
        let mut iv = [0; 16];
        iv[4..].copy_from_slice(nonce);
        // Block 0 is Poly1305's key; the text begins with block 1.
        let mut cipher = ChaCha20::new(&iv);
        let mut block = Zeroizing::new([0; 64]);
        cipher.process(key, &mut Text::InPlace(&mut *block));
        let mut mac_key = Zeroizing::new([0; 32]);
        mac_key.copy_from_slice(&block[..32]);
        ChaChaPoly { cipher, mac: Poly1305::new(&mac_key), aad_len: 0, text_len: 0 }
    }

    fn aad(&mut self, aad: &[u8]) {
        self.mac.update(aad);
        self.aad_len += aad.len() as u64;
    }

    /// Zeros up to a multiple of 16.
    fn pad(&mut self, len: u64) {
        self.mac.update(&[0; 16][..(16 - len as usize % 16) % 16]);
    }

    fn update(&mut self, key: &[u8; 32], direction: Direction, text: &mut Text<'_>) {
        if self.text_len == 0 && !text.is_empty() {
            self.pad(self.aad_len);
        }
        self.text_len += text.len() as u64;
        if direction == Direction::Open {
            self.mac.update(source(text));
        }
        self.cipher.process(key, text);
        if direction == Direction::Seal {
            self.mac.update(destination(text));
        }
    }

    fn tag(&mut self) -> [u8; 16] {
        let padded = if self.text_len == 0 { self.aad_len } else { self.text_len };
        self.pad(padded);
        self.mac.update(&self.aad_len.to_le_bytes());
        self.mac.update(&self.text_len.to_le_bytes());
        self.mac.finish()
    }
}
