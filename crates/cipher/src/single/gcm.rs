//! AES-GCM and GMAC: by the kernel, on CPUs that it has no instructions on by AWS-LC.

use std::sync::OnceLock;

use lookaside_cipher_kernel::aes::gcm as kernel;
use lookaside_secure::{NoFork, SecureBox};
use lookaside_simd::Cpu;

use crate::library::aws_lc::equal;
use crate::library::aws_lc_aead as aws;
use crate::{OpError, Text};

/// A key, expanded for what it is used for when it is first used for that: with AWS-LC, most keys are
/// for either whole texts or texts in pieces.
pub(crate) struct Gcm {
    key: SecureBox<[u8; 32]>,
    key_len: usize,
    tag_len: usize,
    /// Whether the kernel serves it.
    by_kernel: Option<Cpu>,
    own: OnceLock<Option<SecureBox<kernel::Key>>>,
    whole: OnceLock<Option<aws::Aead>>,
    pieces: OnceLock<Option<aws::Gcm>>,
}

/// A text under way.
#[derive(Clone)]
pub(crate) enum State {
    Kernel(kernel::Message),
    Library(aws::Gcm),
}

const MEMORY: OpError = OpError::Library("taking memory");
const LIBRARY: OpError = OpError::Library("AES-GCM");

impl Gcm {
    /// `key`: 16, 24 or 32 bytes. It is copied to where it stays: moving it would leave copies.
    pub(crate) fn new(cpu: &Cpu, key: &[u8], tag_len: usize) -> Box<Gcm> {
        let mut gcm = Box::new(Gcm {
            key: SecureBox::new([0; 32]),
            key_len: key.len(),
            tag_len,
            by_kernel: cpu.avx2().map(|_| cpu.clone()),
            own: OnceLock::new(),
            whole: OnceLock::new(),
            pieces: OnceLock::new(),
        });
        gcm.key[..key.len()].copy_from_slice(key);
        gcm
    }

    fn key(&self) -> &[u8] {
        &self.key[..self.key_len]
    }

    #[inline]
    fn own(&self) -> Option<&kernel::Key> {
        let cpu = self.by_kernel.as_ref()?;
        NoFork::once(&self.own, || kernel::Key::boxed(cpu, self.key())).as_deref()
    }

    /// AWS-LC's for whole texts.
    fn whole(&self) -> Result<&aws::Aead, OpError> {
        let whole = NoFork::once(&self.whole, || aws::Aead::gcm(self.key(), self.tag_len));
        whole.as_ref().ok_or(MEMORY)
    }

    /// Encrypts a whole text. The tag's first bytes count.
    #[inline]
    pub(crate) fn seal(
        &self,
        iv: &[u8],
        aad: &[u8],
        text: &mut Text<'_>,
    ) -> Result<[u8; 16], OpError> {
        match self.own() {
            Some(key) => Ok(key.seal(iv, aad, text.reborrow())),
            None => self.whole()?.seal(iv, aad, text).ok_or(LIBRARY),
        }
    }

    /// Decrypts a whole text and compares the tag.
    #[inline]
    pub(crate) fn open(
        &self,
        iv: &[u8],
        aad: &[u8],
        text: &mut Text<'_>,
        tag: &[u8],
    ) -> Result<bool, OpError> {
        match self.own() {
            Some(key) => {
                let made = key.open(iv, aad, text.reborrow());
                Ok(equal(&made[..tag.len()], tag))
            }
            None => Ok(self.whole()?.open(iv, aad, text, tag)),
        }
    }

    /// The tag of data that are only authenticated.
    #[inline]
    pub(crate) fn mac(&self, iv: &[u8], data: &[u8]) -> Result<[u8; 16], OpError> {
        match self.own() {
            Some(key) => Ok(key.mac(iv, data)),
            None => self.whole()?.seal(iv, data, &mut Text::InPlace(&mut [])).ok_or(LIBRARY),
        }
    }

    /// The beginning of a text in pieces.
    pub(crate) fn begin(&self, iv: &[u8], seal: bool) -> Result<State, OpError> {
        if let Some(key) = self.own() {
            return Ok(State::Kernel(key.start(iv)));
        }
        let pieces = NoFork::once(&self.pieces, || aws::Gcm::new(self.key()));
        let mut gcm = pieces.as_ref().ok_or(MEMORY)?.clone();
        gcm.start(iv, seal)?;
        Ok(State::Library(gcm))
    }

    /// Begins anew in the memory of another text.
    #[inline]
    pub(crate) fn restart(&self, state: &mut State, iv: &[u8], seal: bool) -> Result<(), OpError> {
        match (state, self.own()) {
            (State::Kernel(message), Some(key)) => key.restart(message, iv),
            (State::Library(gcm), _) => gcm.start(iv, seal)?,
            (state, None) => *state = self.begin(iv, seal)?,
        }
        Ok(())
    }

    /// Associated data, before the text.
    #[inline]
    pub(crate) fn aad(&self, state: &mut State, aad: &[u8]) -> Result<(), OpError> {
        match (state, self.own()) {
            (State::Kernel(message), Some(key)) => key.aad(message, aad),
            (State::Library(gcm), _) => gcm.aad(aad)?,
            (State::Kernel(_), None) => return Err(LIBRARY),
        }
        Ok(())
    }

    /// Encrypts or decrypts a piece.
    #[inline]
    pub(crate) fn update(
        &self,
        state: &mut State,
        seal: bool,
        text: &mut Text<'_>,
    ) -> Result<(), OpError> {
        match (state, self.own()) {
            (State::Kernel(message), Some(key)) if seal => key.encrypt(message, text.reborrow()),
            (State::Kernel(message), Some(key)) => key.decrypt(message, text.reborrow()),
            (State::Library(gcm), _) => gcm.update(text)?,
            (State::Kernel(_), None) => return Err(LIBRARY),
        }
        Ok(())
    }

    /// The tag of a text that was encrypted.
    pub(crate) fn tag(&self, state: &mut State, tag: &mut [u8]) -> Result<(), OpError> {
        match (state, self.own()) {
            (State::Kernel(message), Some(key)) => {
                tag.copy_from_slice(&key.tag(message)[..tag.len()]);
            }
            (State::Library(gcm), _) => gcm.tag(tag)?,
            (State::Kernel(_), None) => return Err(LIBRARY),
        }
        Ok(())
    }

    /// Whether the tag of a text that was decrypted is this.
    pub(crate) fn verify(&self, state: &mut State, tag: &[u8]) -> bool {
        match (state, self.own()) {
            (State::Kernel(message), Some(key)) => equal(&key.tag(message)[..tag.len()], tag),
            (State::Library(gcm), _) => gcm.verify(tag),
            (State::Kernel(_), None) => false,
        }
    }
}
