//! Tenants: several instances that share one weight and one set of rates.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

use lookaside_core::SetupError;

use crate::{
    instance::{Instance, InstanceConfig},
    runtime::{Inner, Runtime},
    sla::Terms,
};

/// Several instances, for several threads, that count as one: they share a weight, a priority and rates.
/// Made by [`Runtime::tenant`]. Cheap to clone.
///
/// With 0 engines each instance is executed by the thread that polls it, so weights and priorities have
/// nothing to divide; rates hold for all instances together.
#[derive(Clone)]
pub struct Tenant {
    inner: Arc<Inner>,
    config: InstanceConfig,
    terms: Arc<Current>,
    /// Whether its instances execute their requests themselves, beside whatever engines there are.
    own: bool,
}

/// The terms of a tenant, which [`Tenant::change`] replaces.
struct Current {
    terms: Mutex<Arc<Terms>>,
    /// Whether something is committed to it: looked at with every doorbell.
    committed: AtomicBool,
}

impl Tenant {
    pub(crate) fn new(inner: &Arc<Inner>, config: InstanceConfig) -> Result<Tenant, SetupError> {
        config.validate()?;
        let terms = Terms::new(&config, inner.clock.now_ns());
        let committed = terms.is_committed().into();
        let terms = Arc::new(Current { terms: terms.into(), committed });
        Ok(Tenant { inner: inner.clone(), config, terms, own: false })
    }

    /// Opens an instance of this tenant, of the depth that it was made with. Allocates its rings.
    ///
    /// # Errors
    /// Too little memory, or what the operating system refuses.
    pub fn instance(&self) -> Result<Instance, SetupError> {
        Instance::open(self.clone())
    }

    /// The device time that the requests of its instances have taken, of those that are gone too, while other
    /// instances of the runtime had some: what weights and rates divide. An engine's look at it may be one
    /// batch old.
    pub fn device_time(&self) -> Duration {
        Duration::from_nanos(self.terms().device_ns())
    }

    /// Of [`Tenant::device_time`], what was served by its commitments; the rest was by weight.
    pub fn committed_time(&self) -> Duration {
        Duration::from_nanos(self.terms().committed_ns())
    }

    /// Changes weight, priority and rates, from the next request that is chosen on; its instances, and what they have
    /// outstanding, go on. Depth and spill stay. What was used of a rate before is used still.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lookaside::{InstanceConfig, Runtime};
    ///
    /// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).start()?;
    /// let tenant = runtime.tenant(InstanceConfig::default())?;
    /// let _instance = tenant.instance()?;
    /// tenant.change(InstanceConfig { weight: 3, ..InstanceConfig::default() })?;
    /// assert!(tenant.change(InstanceConfig { weight: 0, ..InstanceConfig::default() }).is_err());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Runtime::tenant`]; and of a runtime with 0 engines, where no scheduler has all of its instances.
    pub fn change(&self, config: InstanceConfig) -> Result<(), SetupError> {
        config.validate()?;
        let state = self.inner.state()?;
        let Some(shared) = state.shared_engines().filter(|_| !self.own) else {
            return Err(SetupError::Limit { what: "engines", given: 0, min: 1, max: 1024 });
        };
        let now = self.inner.clock.now_ns();
        let mut scheduler = shared.scheduler.lock().unwrap_or_else(PoisonError::into_inner);
        let old = self.terms();
        let new = old.changed(&config, now);
        scheduler.change(&old, &new);
        self.terms.committed.store(new.is_committed(), Relaxed);
        *self.terms.terms.lock().unwrap_or_else(PoisonError::into_inner) = new;
        drop(scheduler);
        if self.is_committed() {
            state.start_express(&self.inner, &shared);
        }
        // They may sleep until the former rates let something run.
        shared.doorbell.ring_all();
        shared.express.ring_all();
        Ok(())
    }

    pub(crate) fn inner(&self) -> &Arc<Inner> {
        &self.inner
    }

    pub(crate) fn depth(&self) -> usize {
        self.config.depth
    }

    /// How many requests may be outstanding, those that spill included.
    pub(crate) fn most(&self) -> usize {
        self.config.depth + self.config.spill
    }

    pub(crate) fn is_own(&self) -> bool {
        self.own
    }

    /// The terms of this moment. They change under the lock of the scheduler.
    pub(crate) fn terms(&self) -> Arc<Terms> {
        self.terms.terms.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether something is committed to it.
    pub(crate) fn is_committed(&self) -> bool {
        self.terms.committed.load(Relaxed)
    }
}

impl core::fmt::Debug for Tenant {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Tenant").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Runtime {
    /// A tenant, whose instances share the weight, the priority and the rates of `config`. Its depth is
    /// that of each instance.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lookaside::{InstanceConfig, Runtime, Service, Sla, Unit};
    ///
    /// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).start()?;
    /// // At most 2,000 public-key operations a second, by however many threads.
    /// let signatures = Sla::of(Unit::Operations, 0, 2000, 1).for_service(Service::Pke);
    /// let tenant = runtime.tenant(InstanceConfig { slas: vec![signatures], ..Default::default() })?;
    /// let (_one, _other) = (tenant.instance()?, tenant.instance()?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// A setting outside its limits, or an SLA whose burst is too small for its rate.
    pub fn tenant(&self, config: InstanceConfig) -> Result<Tenant, SetupError> {
        Tenant::new(&self.0, config)
    }

    /// Opens an instance whose requests the thread that polls executes, as with 0 engines, whatever engines
    /// there are: for a caller that would only wait for them.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lookaside::{Buf, InstanceConfig, Runtime};
    ///
    /// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).start()?;
    /// let mut instance = runtime.own_instance(InstanceConfig::default())?;
    /// instance.push(runtime.mover()?.copy(Buf::from(vec![1_u8; 9]), Buf::zeroed(9)))?;
    /// // Executed here, within the poll.
    /// assert!(instance.poll().next().is_some_and(|response| response.result.is_ok()));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`Runtime::instance`].
    pub fn own_instance(&self, config: InstanceConfig) -> Result<Instance, SetupError> {
        Tenant { own: true, ..Tenant::new(&self.0, config)? }.instance()
    }
}
