//! Sessions: prepared keys.

use lookaside_simd::Cpu;

use crate::{Error, Spec};

/// Prepared keys, shared by any number of packets and threads.
pub struct Session {
    spec: Spec,
    cpu: Cpu,
}

impl Session {
    /// Checks the specification and expands its keys once.
    ///
    /// # Errors
    /// [`Error::BadSpec`] for a key, a tag length or a combination that there is not.
    pub fn new(spec: Spec, cpu: &Cpu) -> Result<Session, Error> {
        Ok(Session { spec, cpu: cpu.clone() })
    }

    /// What it is for.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// The CPU features its kernels may use.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }
}
