//! Sessions: prepared keys.

use std::sync::Arc;

use lookaside_simd::Cpu;

use crate::{Direction, Error, Packet, Running, Spec, single};

/// Prepared keys, shared by any number of packets and threads.
pub struct Session {
    spec: Spec,
    cpu: Cpu,
    keys: Arc<single::Keys>,
}

impl Session {
    /// Checks the specification and expands its keys once.
    ///
    /// # Errors
    /// [`Error::BadSpec`] for a key, a tag length or a combination that there is not.
    pub fn new(spec: Spec, cpu: &Cpu) -> Result<Session, Error> {
        let keys = Arc::new(single::Keys::new(&spec, cpu)?);
        Ok(Session { spec, cpu: cpu.clone(), keys })
    }

    /// What it is for.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The CPU features its kernels may use.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// What serves it, for people to read.
    pub fn served_by(&self) -> &'static str {
        "AWS-LC"
    }

    /// Whether several packets at once are quicker than one after the other.
    pub fn side_by_side(&self) -> bool {
        false
    }

    /// Runs one packet on the caller's thread, without an engine.
    pub fn run_alone(&self, packet: &mut Packet<'_>) {
        single::run(&self.keys, packet);
    }

    /// Starts a text in pieces.
    ///
    /// # Errors
    /// As [`Running::new`].
    pub fn start(&self, direction: Direction, iv: &[u8]) -> Result<Running, Error> {
        Running::new(&self.keys, direction, iv)
    }

    /// The length of the tag in bytes.
    pub fn tag_len(&self) -> usize {
        match &self.spec {
            Spec::Auth { tag_len, .. }
            | Spec::Aead { tag_len, .. }
            | Spec::Chain { tag_len, .. } => *tag_len,
            Spec::Cipher { .. } | Spec::TlsCbc { .. } => 0,
        }
    }

    /// How many bytes a packet's cipher region grows by when it is sealed: MAC and padding of a TLS
    /// record.
    pub fn growth(&self, payload: usize) -> usize {
        match &self.spec {
            Spec::TlsCbc { hash, .. } => (payload + hash.len()) / 16 * 16 + 16 - payload,
            _ => 0,
        }
    }

    pub(crate) fn keys(&self) -> &single::Keys {
        &self.keys
    }
}
