//! Sessions: prepared keys.

use lookaside_simd::{Cpu, Tier};

use crate::lanes::{Kernel, Plan};
use crate::library::ipsec_mb::Schedule;
use crate::{Error, Spec, single};

/// Prepared keys, shared by any number of packets and threads. They are cleared when it is dropped.
pub struct Session {
    spec: Spec,
    cpu: Cpu,
    keys: single::Keys,
    plan: Plan,
}

impl Session {
    /// Checks the specification and expands its keys once.
    ///
    /// # Errors
    /// [`Error::BadSpec`] for a key, a tag length or a combination that there is not.
    pub fn new(spec: Spec, cpu: &Cpu) -> Result<Session, Error> {
        let keys = single::Keys::new(&spec, cpu)?;
        let plan = Plan::new(&spec, cpu);
        Ok(Session { spec, cpu: cpu.clone(), keys, plan })
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
        match (self.plan.kernel, self.cpu.tier()) {
            (Kernel::Single, _) => "AWS-LC or own kernel, one at a time",
            (_, Tier::Avx512) => "intel-ipsec-mb 1.3, AVX-512",
            (_, _) => "intel-ipsec-mb 1.3, AVX2",
        }
    }

    /// Whether several packets at once are quicker than one after the other.
    pub fn side_by_side(&self) -> bool {
        self.plan.side_by_side()
    }

    /// How many packets in one call of [`Engine::run`](crate::Engine::run) are worth waiting for.
    pub fn best_batch(&self) -> usize {
        if self.side_by_side() { 32 } else { 1 }
    }

    /// The keys for one packet at a time.
    pub(crate) fn keys(&self) -> &single::Keys {
        &self.keys
    }

    #[inline(always)]
    pub(crate) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The keys for lanes, which the sessions in lanes have.
    #[inline(always)]
    pub(crate) fn schedule(&self) -> &Schedule {
        self.plan.schedule.as_ref().expect("a session in lanes has a schedule")
    }
}
