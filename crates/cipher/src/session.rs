//! Sessions: prepared keys.

use std::sync::{Arc, OnceLock};

use lookaside_secure::{NoFork, wipe_stack};
use lookaside_simd::Cpu;

use crate::choice::By;
use crate::lanes::Plan;
use crate::lanes::hash::HashKey;
#[cfg(ipsec_mb)]
use crate::library::ipsec_mb::Schedule;
use crate::{Direction, OpError, Packet, Parts, Running, Sym, Tag, Text, single};

/// Bytes of stack that are overwritten when keys have been expanded: what compilers and libraries have
/// put there. No more than the expansion itself takes, since it may run on a job's small stack.
const EXPANSION: usize = if cfg!(debug_assertions) { 8 << 10 } else { 4 << 10 };

/// Prepared keys, shared by any number of packets and threads. They are cleared when it is dropped.
pub struct Session {
    spec: Sym,
    cpu: Cpu,
    keys: Arc<single::Keys>,
    /// Made when it is first needed: many a key is for a few short texts, one at a time, and to
    /// prepare it for lanes too took as long as all else.
    plan: OnceLock<Plan>,
}

impl Session {
    /// Checks the specification and expands its keys once.
    ///
    /// # Errors
    /// [`OpError::BadInput`] for a key, a tag length or a combination that there is not;
    /// [`OpError::Unsupported`] for a hash that has no kernel here.
    pub fn new(spec: Sym, cpu: &Cpu) -> Result<Session, OpError> {
        let keys = single::Keys::new(&spec, cpu);
        wipe_stack(EXPANSION);
        let keys = Arc::new(keys?);
        Ok(Session { spec, cpu: cpu.clone(), keys, plan: OnceLock::new() })
    }

    /// The same, with one candidate for packets of all lengths and any number of them; none where the
    /// session lacks it. For tests, which compare all candidates, and for `make tune`.
    ///
    /// # Errors
    /// As [`new`](Session::new).
    #[doc(hidden)]
    pub fn only(spec: Sym, cpu: &Cpu, by: By) -> Result<Option<Session>, OpError> {
        let session = Session::new(spec, cpu)?;
        let plan = Plan::only(&session.spec, cpu, by);
        Ok(plan.map(|plan| Session { plan: OnceLock::from(plan), ..session }))
    }

    /// What it is for.
    pub fn spec(&self) -> &Sym {
        &self.spec
    }

    /// The CPU features its kernels may use.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }

    /// What serves it, for people to read.
    pub fn served_by(&self) -> &'static str {
        self.plan().served_by(self.cpu.tier(), self.keys.served_by())
    }

    /// Whether several packets at once are quicker than one after the other.
    pub fn side_by_side(&self) -> bool {
        self.plan().side_by_side()
    }

    /// How many packets in one call of [`Engine::run`](crate::Engine::run) are worth waiting for.
    pub fn best_batch(&self) -> usize {
        self.plan().best_batch()
    }

    /// Runs one packet at once, on the caller's thread, without an engine; sets its result.
    #[inline]
    pub fn run_alone(&self, packet: &mut Packet<'_>) {
        single::run(&self.keys, packet);
    }

    /// Runs one packet whose associated data or tag lie in memory of their own, at once. Ciphers alone and
    /// TLS records have neither.
    ///
    /// # Errors
    /// What [`Packet::result`] would say.
    pub fn run_elsewhere(
        &self,
        direction: Direction,
        iv: &[u8],
        parts: &Parts,
        text: &mut Text<'_>,
        aad: Option<&[u8]>,
        tag: Tag<'_>,
    ) -> Result<usize, OpError> {
        single::elsewhere::run(&self.keys, direction, iv, parts, text, (aad, tag))
    }

    /// Starts a text in pieces.
    ///
    /// # Errors
    /// As [`Running::new`].
    pub fn start(&self, direction: Direction, iv: &[u8]) -> Result<Running, OpError> {
        Running::new(&self.keys, direction, iv)
    }

    /// The length of the tag in bytes; 0 where there is none apart from the text.
    #[inline]
    pub fn tag_len(&self) -> usize {
        match &self.spec {
            Sym::Auth { tag_len, .. } | Sym::Aead { tag_len, .. } | Sym::Chain { tag_len, .. } => {
                *tag_len
            }
            Sym::Cipher { .. } | Sym::TlsCbc { .. } => 0,
        }
    }

    /// Which of a packet's parts count: the associated data, the cipher region, the authenticated
    /// region.
    #[inline]
    pub fn parts(&self) -> [bool; 3] {
        match &self.spec {
            Sym::Cipher { .. } => [false, true, false],
            Sym::Auth { .. } => [false, false, true],
            Sym::Aead { .. } | Sym::TlsCbc { .. } => [true, true, false],
            Sym::Chain { .. } => [false, true, true],
        }
    }

    /// How many bytes the cipher region grows by when it is sealed: MAC and padding of a TLS record.
    #[inline]
    pub fn growth(&self, payload: usize) -> usize {
        match &self.spec {
            Sym::TlsCbc { hash, .. } => (payload + hash.len()) / 16 * 16 + 16 - payload,
            _ => 0,
        }
    }

    /// The keys for one packet at a time.
    pub(crate) fn keys(&self) -> &single::Keys {
        &self.keys
    }

    #[inline(always)]
    pub(crate) fn plan(&self) -> &Plan {
        match self.plan.get() {
            Some(plan) => plan,
            None => self.make_plan(),
        }
    }

    /// On an engine's thread, whose stack has what kernels left of other keys: a plan would take some of it
    /// along to the heap, in the bytes that its variants do not use.
    #[cold]
    #[inline(never)]
    fn make_plan(&self) -> &Plan {
        wipe_stack(EXPANSION);
        let plan = NoFork::once(&self.plan, || Plan::new(&self.spec, &self.cpu));
        wipe_stack(EXPANSION);
        plan
    }

    /// The keys for lanes, which the sessions in lanes have.
    #[cfg(ipsec_mb)]
    #[inline(always)]
    pub(crate) fn schedule(&self) -> &Schedule {
        self.plan().schedule.as_ref().expect("a session in lanes has a schedule")
    }

    /// The chaining values for lanes of hashes, which the sessions in these have.
    #[inline(always)]
    pub(crate) fn hash_key(&self) -> &HashKey {
        self.plan().hash.as_ref().expect("a session in lanes of hashes has their key")
    }
}
