//! Authenticated encryption: whole texts, and texts in pieces.

use std::sync::OnceLock;

use lookaside_cipher_kernel::{chacha20, poly1305};
use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::library::aws_lc_aead as aws;
use crate::{Aead, Direction, Error, Text};

use super::aes::Aes;
use super::ccm::Ccm;
use super::cipher::{ChaCha20, LONG, slice};

/// The key of an AEAD.
pub(crate) struct Key {
    tag_len: usize,
    expanded: Expanded,
}

enum Expanded {
    Gcm(Box<Gcm>),
    Ccm(Aes),
    ChaCha20Poly1305 { whole: aws::Aead, key: Zeroizing<[u8; 32]>, cpu: Cpu },
}

/// A key of AES-GCM, expanded for what it is used for when it is first used for that: most keys are
/// for either whole texts or texts in pieces.
pub(crate) struct Gcm {
    key: Zeroizing<[u8; 32]>,
    key_len: usize,
    tag_len: usize,
    whole: OnceLock<Option<aws::Aead>>,
    pieces: OnceLock<Option<aws::Gcm>>,
}

impl Gcm {
    /// `key`: 16, 24 or 32 bytes. It is copied to where it stays: moving it would leave copies.
    pub(crate) fn new(key: &[u8], tag_len: usize) -> Box<Gcm> {
        let (whole, pieces) = (OnceLock::new(), OnceLock::new());
        let zeros = Zeroizing::new([0; 32]);
        let mut gcm = Box::new(Gcm { key: zeros, key_len: key.len(), tag_len, whole, pieces });
        gcm.key[..key.len()].copy_from_slice(key);
        gcm
    }

    fn key(&self) -> &[u8] {
        &self.key[..self.key_len]
    }

    /// For whole texts.
    #[inline]
    pub(crate) fn whole(&self) -> Result<&aws::Aead, Error> {
        let whole = self.whole.get_or_init(|| aws::Aead::gcm(self.key(), self.tag_len));
        whole.as_ref().ok_or(MEMORY)
    }

    /// To be copied for texts in pieces.
    pub(crate) fn pieces(&self) -> Result<&aws::Gcm, Error> {
        self.pieces.get_or_init(|| aws::Gcm::new(self.key())).as_ref().ok_or(MEMORY)
    }
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
const LIBRARY: Error = Error::Library("an AEAD");

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
            Aead::AesGcm => Expanded::Gcm(Gcm::new(key, tag_len)),
            Aead::AesCcm => Expanded::Ccm(Aes::new(cpu, key)),
            Aead::ChaCha20Poly1305 => {
                let mut copy = Zeroizing::new([0; 32]);
                copy.copy_from_slice(key);
                let whole = aws::Aead::chacha20_poly1305(key).ok_or(MEMORY)?;
                Expanded::ChaCha20Poly1305 { whole, key: copy, cpu: cpu.clone() }
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
            Expanded::ChaCha20Poly1305 { key, cpu, .. } if by_kernel(cpu, text) => {
                let mut packet = [packet(key, iv, aad, text)?];
                chacha20::seal(cpu, &mut packet);
                Ok(packet[0].tag)
            }
            Expanded::Gcm(gcm) => gcm.whole()?.seal(iv, aad, text).ok_or(LIBRARY),
            Expanded::ChaCha20Poly1305 { whole, .. } => whole.seal(iv, aad, text).ok_or(LIBRARY),
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
            Expanded::ChaCha20Poly1305 { key, cpu, .. } if by_kernel(cpu, text) => {
                let mut packet = [packet(key, iv, aad, text)?];
                chacha20::open(cpu, &mut packet);
                crate::library::aws_lc::equal(&packet[0].tag, tag)
            }
            Expanded::Gcm(gcm) => gcm.whole()?.open(iv, aad, text, tag),
            Expanded::ChaCha20Poly1305 { whole, .. } => whole.open(iv, aad, text, tag),
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
            Expanded::Gcm(gcm) => {
                let mut gcm = gcm.pieces()?.clone();
                gcm.start(iv, direction == Direction::Seal)?;
                State::Gcm(gcm)
            }
            Expanded::Ccm(_) => {
                let mut nonce = [0; 13];
                nonce[..iv.len()].copy_from_slice(iv);
                State::CcmNonce { nonce, len: iv.len() }
            }
            Expanded::ChaCha20Poly1305 { key, cpu, .. } => {
                State::ChaCha20Poly1305(ChaChaPoly::new(cpu, key, iv))
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
            (Expanded::ChaCha20Poly1305 { cpu, .. }, State::ChaCha20Poly1305(state)) => {
                state.aad(cpu, aad);
                Ok(())
            }
            _ => Err(NO_LENGTHS),
        }
    }

    /// The longest text: beyond it the block counter would begin again. (CCM's is given with its
    /// length.)
    pub(crate) fn most_text(&self) -> u64 {
        match self.expanded {
            // NIST SP 800-38D section 5.2.1.1.
            Expanded::Gcm(_) => (1 << 36) - 32,
            Expanded::Ccm(_) => u64::MAX,
            // RFC 8439 section 2.8: 2^32 blocks of 64 bytes, the first of which is Poly1305's key.
            Expanded::ChaCha20Poly1305 { .. } => (1 << 38) - 64,
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
            (Expanded::ChaCha20Poly1305 { key, cpu, .. }, State::ChaCha20Poly1305(state)) => {
                state.update(cpu, key, direction, text);
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
            (Expanded::ChaCha20Poly1305 { cpu, .. }, State::ChaCha20Poly1305(state)) => {
                tag.copy_from_slice(&state.tag(cpu)[..len]);
            }
            _ => return Err(NO_LENGTHS),
        }
        Ok(())
    }

    /// Whether a tag of this length may be verified: the session's, or for AES-GCM another one that
    /// the standard has and that is shorter. (A tag of CCM depends on its length.)
    pub(crate) fn takes_tag(&self, len: usize) -> bool {
        let gcm = matches!(self.expanded, Expanded::Gcm { .. });
        len == self.tag_len || gcm && len < self.tag_len && tag_len_ok(Aead::AesGcm, len)
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

/// Whether the kernel is quicker with one packet than AWS-LC.
fn by_kernel(cpu: &Cpu, text: &Text<'_>) -> bool {
    cpu.avx512().is_some() && text.len() >= LONG
}

fn packet<'p>(
    key: &'p [u8; 32],
    iv: &'p [u8],
    aad: &'p [u8],
    text: &'p mut Text<'_>,
) -> Result<chacha20::Sealed<'p>, Error> {
    let nonce = iv.try_into().map_err(|_| Error::BadInput("the length of the IV"))?;
    let len = text.len();
    Ok(chacha20::Sealed { key, nonce, aad, text: slice(text, 0, len), tag: [0; 16] })
}

const NO_LENGTHS: Error = Error::BadInput("CCM needs the lengths in advance");

/// ChaCha20-Poly1305 in pieces (RFC 8439 section 2.8).
#[derive(Clone)]
pub(crate) struct ChaChaPoly {
    cipher: ChaCha20,
    mac: poly1305::Running,
    aad_len: u64,
    text_len: u64,
}

impl ChaChaPoly {
    fn new(cpu: &Cpu, key: &[u8; 32], nonce: &[u8]) -> ChaChaPoly {
        let mut iv = [0; 16];
        iv[4..].copy_from_slice(nonce);
        // Block 0 is Poly1305's key; the text begins with block 1.
        let mut cipher = ChaCha20::new(&iv);
        let mut block = Zeroizing::new([0; 64]);
        cipher.process(cpu, key, &mut Text::InPlace(&mut *block));
        let mut mac_key = Zeroizing::new([0; 32]);
        mac_key.copy_from_slice(&block[..32]);
        ChaChaPoly { cipher, mac: poly1305::Running::new(&mac_key), aad_len: 0, text_len: 0 }
    }

    fn aad(&mut self, cpu: &Cpu, aad: &[u8]) {
        self.mac.update(cpu, aad);
        self.aad_len += aad.len() as u64;
    }

    /// Zeros up to a multiple of 16.
    fn pad(&mut self, cpu: &Cpu, len: u64) {
        self.mac.update(cpu, &[0; 16][..(16 - len as usize % 16) % 16]);
    }

    fn update(&mut self, cpu: &Cpu, key: &[u8; 32], direction: Direction, text: &mut Text<'_>) {
        if self.text_len == 0 && !text.is_empty() {
            self.pad(cpu, self.aad_len);
        }
        self.text_len += text.len() as u64;
        if direction == Direction::Open {
            self.mac.update(cpu, text.source());
        }
        self.cipher.process(cpu, key, text);
        if direction == Direction::Seal {
            self.mac.update(cpu, text.written());
        }
    }

    fn tag(&mut self, cpu: &Cpu) -> [u8; 16] {
        let padded = if self.text_len == 0 { self.aad_len } else { self.text_len };
        self.pad(cpu, padded);
        self.mac.update(cpu, &self.aad_len.to_le_bytes());
        self.mac.update(cpu, &self.text_len.to_le_bytes());
        self.mac.clone().finish()
    }
}
