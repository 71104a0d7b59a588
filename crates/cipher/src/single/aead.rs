//! Authenticated encryption: whole texts, and texts in pieces.

use lookaside_cipher_kernel::{chacha20, poly1305};
use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::choice::{self, Algorithm};
use crate::library::aws_lc_aead as aws;
use crate::{Aead, Direction, OpError, Text};

use super::aes::Aes;
use super::ccm::Ccm;
use super::cipher::{ChaCha20, slice};
use super::gcm::{self, Gcm};

/// The key of an AEAD.
pub(crate) struct Key {
    tag_len: usize,
    expanded: Expanded,
}

enum Expanded {
    Gcm(Box<Gcm>),
    Ccm(Aes),
    ChaCha20Poly1305 {
        whole: aws::Aead,
        key: SecureBox<[u8; 32]>,
        cpu: Cpu,
        /// From how many bytes on our kernel is quicker than AWS-LC.
        own_from: usize,
    },
}

/// A text under way.
// On the heap, each restart would take new memory.
#[allow(clippy::large_enum_variant)]
#[derive(Clone)]
pub(crate) enum State {
    /// AES-GCM.
    Gcm(gcm::State),
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

const MEMORY: OpError = OpError::Library("taking memory");
const LIBRARY: OpError = OpError::Library("an AEAD");

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
    pub(crate) fn new(cpu: &Cpu, aead: Aead, key: &[u8], tag_len: usize) -> Result<Key, OpError> {
        let key_ok = match aead {
            Aead::AesGcm | Aead::AesCcm => matches!(key.len(), 16 | 24 | 32),
            Aead::ChaCha20Poly1305 => key.len() == 32,
        };
        if !key_ok {
            return Err(OpError::BadInput("the length of an AEAD key"));
        }
        if !tag_len_ok(aead, tag_len) {
            return Err(OpError::BadInput("the length of the tag"));
        }
        let expanded = match aead {
            Aead::AesGcm => Expanded::Gcm(Gcm::new(cpu, key, tag_len)),
            Aead::AesCcm => Expanded::Ccm(Aes::new(cpu, key)),
            Aead::ChaCha20Poly1305 => {
                let mut copy = SecureBox::new([0; 32]);
                copy.copy_from_slice(key);
                let whole = aws::Aead::chacha20_poly1305(key).ok_or(MEMORY)?;
                let own_from = choice::own_from(Algorithm::Aead(aead), cpu).unwrap_or(usize::MAX);
                Expanded::ChaCha20Poly1305 { whole, key: copy, cpu: cpu.clone(), own_from }
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
    ) -> Result<[u8; 16], OpError> {
        match &self.expanded {
            Expanded::ChaCha20Poly1305 { key, cpu, own_from, .. } if text.len() >= *own_from => {
                let mut packet = [packet(key, iv, aad, text)?];
                chacha20::seal(cpu, &mut packet);
                Ok(packet[0].tag)
            }
            Expanded::Gcm(gcm) => gcm.seal(iv, aad, text),
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
    ) -> Result<(), OpError> {
        let equal = match &self.expanded {
            Expanded::ChaCha20Poly1305 { key, cpu, own_from, .. } if text.len() >= *own_from => {
                let mut packet = [packet(key, iv, aad, text)?];
                chacha20::open(cpu, &mut packet);
                crate::library::aws_lc::equal(&packet[0].tag, tag)
            }
            Expanded::Gcm(gcm) => gcm.open(iv, aad, text, tag)?,
            Expanded::ChaCha20Poly1305 { whole, .. } => whole.open(iv, aad, text, tag),
            Expanded::Ccm(aes) => {
                let computed = self.ccm(aes, Direction::Open, iv, aad, text)?;
                crate::library::aws_lc::equal(&computed[..tag.len()], tag)
            }
        };
        if equal { Ok(()) } else { Err(OpError::AuthFailed) }
    }

    fn ccm(
        &self,
        aes: &Aes,
        direction: Direction,
        iv: &[u8],
        aad: &[u8],
        text: &mut Text<'_>,
    ) -> Result<[u8; 16], OpError> {
        let (aad_len, text_len) = (aad.len() as u64, text.len() as u64);
        let mut ccm = Ccm::new(aes, iv, self.tag_len, aad_len, text_len)?;
        ccm.aad(aes, aad)?;
        ccm.update(aes, direction, text)?;
        ccm.tag(aes)
    }

    /// The beginning of a text in pieces.
    pub(crate) fn begin(&self, direction: Direction, iv: &[u8]) -> Result<State, OpError> {
        Ok(match &self.expanded {
            Expanded::Gcm(gcm) => State::Gcm(gcm.begin(iv, direction == Direction::Seal)?),
            Expanded::Ccm(_) => {
                let mut nonce = [0; 13];
                nonce[..iv.len()].copy_from_slice(iv);
                State::CcmNonce { nonce, len: iv.len() }
            }
            Expanded::ChaCha20Poly1305 { key, cpu, own_from, .. } => {
                State::ChaCha20Poly1305(ChaChaPoly::new(cpu, *own_from, key, iv))
            }
        })
    }

    /// Begins anew in the memory of another text.
    pub(crate) fn restart(
        &self,
        state: &mut State,
        direction: Direction,
        iv: &[u8],
    ) -> Result<(), OpError> {
        match (&self.expanded, state) {
            (Expanded::Gcm(gcm), State::Gcm(state)) => {
                gcm.restart(state, iv, direction == Direction::Seal)
            }
            (_, state) => {
                *state = self.begin(direction, iv)?;
                Ok(())
            }
        }
    }

    /// CCM: the lengths to come. The others need none.
    pub(crate) fn lengths(&self, state: &mut State, aad: u64, text: u64) -> Result<(), OpError> {
        if let Expanded::Ccm(aes) = &self.expanded {
            let State::CcmNonce { nonce, len } = state else {
                return Err(OpError::BadInput("lengths are given once, before all else"));
            };
            *state = State::Ccm(Ccm::new(aes, &nonce[..*len], self.tag_len, aad, text)?);
        }
        Ok(())
    }

    /// More associated data.
    pub(crate) fn aad(&self, state: &mut State, aad: &[u8]) -> Result<(), OpError> {
        match (&self.expanded, state) {
            (Expanded::Gcm(gcm), State::Gcm(state)) => gcm.aad(state, aad),
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
    ) -> Result<(), OpError> {
        match (&self.expanded, state) {
            (Expanded::Gcm(gcm), State::Gcm(state)) => {
                gcm.update(state, direction == Direction::Seal, text)
            }
            (Expanded::Ccm(aes), State::Ccm(ccm)) => ccm.update(aes, direction, text),
            (Expanded::ChaCha20Poly1305 { key, cpu, .. }, State::ChaCha20Poly1305(state)) => {
                state.update(cpu, key, direction, text);
                Ok(())
            }
            _ => Err(NO_LENGTHS),
        }
    }

    /// The tag of a text that was encrypted.
    pub(crate) fn tag(&self, state: &mut State, tag: &mut [u8]) -> Result<(), OpError> {
        let len = tag.len();
        match (&self.expanded, state) {
            (Expanded::Gcm(gcm), State::Gcm(state)) => gcm.tag(state, tag)?,
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
    pub(crate) fn verify(&self, state: &mut State, tag: &[u8]) -> Result<(), OpError> {
        let equal = match (&self.expanded, state) {
            (Expanded::Gcm(gcm), State::Gcm(state)) => gcm.verify(state, tag),
            (_, state) => {
                let mut computed = [0; 16];
                self.tag(state, &mut computed[..self.tag_len])?;
                crate::library::aws_lc::equal(&computed[..tag.len()], tag)
            }
        };
        if equal { Ok(()) } else { Err(OpError::AuthFailed) }
    }
}

fn packet<'p>(
    key: &'p [u8; 32],
    iv: &'p [u8],
    aad: &'p [u8],
    text: &'p mut Text<'_>,
) -> Result<chacha20::Sealed<'p>, OpError> {
    let nonce = iv.try_into().map_err(|_| OpError::BadInput("the length of the IV"))?;
    let len = text.len();
    Ok(chacha20::Sealed { key, nonce, aad, text: slice(text, 0, len), tag: [0; 16] })
}

const NO_LENGTHS: OpError = OpError::BadInput("CCM needs the lengths in advance");

/// ChaCha20-Poly1305 in pieces (RFC 8439 section 2.8).
#[derive(Clone)]
pub(crate) struct ChaChaPoly {
    cipher: ChaCha20,
    mac: poly1305::Running,
    aad_len: u64,
    text_len: u64,
}

impl ChaChaPoly {
    fn new(cpu: &Cpu, own_from: usize, key: &[u8; 32], nonce: &[u8]) -> ChaChaPoly {
        let mut iv = [0; 16];
        iv[4..].copy_from_slice(nonce);
        // Block 0 is Poly1305's key; the text begins with block 1.
        let mut cipher = ChaCha20::new(own_from, &iv);
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
        let (done, len) = (self.side_by_side(cpu, key, direction, text), text.len());
        let mut text = slice(text, done, len - done);
        if direction == Direction::Open {
            self.mac.update(cpu, text.source());
        }
        self.cipher.process(cpu, key, &mut text);
        if direction == Direction::Seal {
            self.mac.update(cpu, text.written());
        }
    }

    /// What the kernel does of a piece, cipher and authenticator side by side: so many bytes.
    #[cfg(target_arch = "x86_64")]
    fn side_by_side(
        &mut self,
        cpu: &Cpu,
        key: &[u8; 32],
        direction: Direction,
        text: &mut Text<'_>,
    ) -> usize {
        let Some((counter, nonce)) = self.cipher.between_blocks() else { return 0 };
        let (len, of) = (text.len(), (key, &nonce, counter));
        let text = slice(text, 0, len);
        let done = match direction {
            Direction::Seal => chacha20::seal_piece(cpu, of, text, &mut self.mac),
            Direction::Open => chacha20::open_piece(cpu, of, text, &mut self.mac),
        };
        self.cipher.skip(done);
        done
    }

    /// None of a piece: there is no such kernel.
    #[cfg(not(target_arch = "x86_64"))]
    fn side_by_side(&mut self, _: &Cpu, _: &[u8; 32], _: Direction, _: &mut Text<'_>) -> usize {
        0
    }

    fn tag(&mut self, cpu: &Cpu) -> [u8; 16] {
        let padded = if self.text_len == 0 { self.aad_len } else { self.text_len };
        self.pad(cpu, padded);
        self.mac.update(cpu, &self.aad_len.to_le_bytes());
        self.mac.update(cpu, &self.text_len.to_le_bytes());
        self.mac.clone().finish()
    }
}
