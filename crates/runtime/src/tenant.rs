//! Tenants: several instances that share one weight and one set of rates.

use std::sync::Arc;

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
    terms: Arc<Terms>,
    /// Whether its instances execute their requests themselves, beside whatever engines there are.
    own: bool,
}

impl Tenant {
    pub(crate) fn new(inner: &Arc<Inner>, config: InstanceConfig) -> Result<Tenant, SetupError> {
        config.validate()?;
        let terms = Terms::new(&config, inner.clock.now_ns());
        Ok(Tenant { inner: inner.clone(), config, terms, own: false })
    }

    /// Opens an instance of this tenant, of the depth that it was made with. Allocates its rings.
    ///
    /// # Errors
    /// Too little memory, or what the operating system refuses.
    pub fn instance(&self) -> Result<Instance, SetupError> {
        Instance::open(self.clone())
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

    pub(crate) fn terms(&self) -> &Arc<Terms> {
        &self.terms
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
