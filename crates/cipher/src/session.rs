//! Sessions: prepared keys.

use lookaside_simd::Cpu;

use crate::lanes::Plan;
use crate::lanes::hash::HashKey;
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
        self.plan.kernel.name(self.cpu.tier())
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

    /// The chaining values for lanes of hashes, which the sessions in these have.
    #[inline(always)]
    pub(crate) fn hash_key(&self) -> &HashKey {
        self.plan.hash.as_ref().expect("a session in lanes of hashes has their key")
    }
}
