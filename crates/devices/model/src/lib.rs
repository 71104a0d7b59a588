//! The timed model: a device with the engines, bandwidths, latencies and queue that a small text states. It
//! executes by another device, and answers when the modelled one would.
//!
//! What for: to try a program against a device that is not there (a card, a chipset, one that is still a
//! draft), and to test a runtime with a device that answers later. Who should not use it: whoever wants
//! speed. The device inside does all the work; the model only adds time.
//!
//! ```
//! use lookaside::{Buf, InstanceConfig, Runtime};
//! use lookaside_model::{Model, Spec};
//!
//! let spec = Spec::parse("
//!     name = example
//!     queue = 64
//!     [mv.copy]
//!     engines = 2
//!     latency_us = 30
//!     gbit_per_s = 24
//! ")?;
//! let runtime = Runtime::builder().device(Model::new(lookaside_cpu::cpu(), spec)?).start()?;
//! let request = runtime.mover()?.copy(Buf::from(&b"thirty microseconds"[..]), Buf::zeroed(19));
//! let response = runtime.handle().call(request).wait();
//! assert_eq!(response.dst.into_vec(), b"thirty microseconds");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The model file
//!
//! Lines of `key = value`; `#` begins a comment. First the device:
//!
//! | key | |
//! |---|---|
//! | `name` | the device's name |
//! | `queue` | how many requests it holds; beyond that it is busy |
//! | `timeout_ms` | after how long without an answer a channel is reset; 60,000 if not given |
//! | `memory` | `process`: it reaches all memory of the process, as if not given; `regions`: only [`Region`]s |
//!
//! Then one section for the operations that share engines: `[dc.compress]`, `[mv.copy mv.fill]`, or `[sym]` for all
//! operations of a service. What has no section is not offered.
//!
//! | key | |
//! |---|---|
//! | `engines` | how many requests are served side by side |
//! | `gbit_per_s` | bandwidth of all engines together, in 10^9 bits per second |
//! | `ops_per_s` | requests per second of all engines together, whatever their size |
//! | `latency_us` | what passes between service and answer, beside other requests; 0 if not given |
//! | `printed` | `SIZE OUTSTANDING VALUE`: a value of the model's source to compare with; any number of lines |
//! | `figure` | `NUMBER outstanding TITLE` or `NUMBER size TITLE`: a figure of the source, with what its x-axis has; the `printed` lines below are of this figure |
//!
//! A section has `gbit_per_s`, `ops_per_s` or both; the slower one decides. OUTSTANDING is `*` for as many as
//! saturate the device. VALUE is in Gbit/s if the section has a bandwidth, otherwise in operations per second;
//! with an `s` behind it, the seconds that 2^30 bytes take.
//!
//! # The time
//!
//! A request that arrives at `t` is served by the engine of its section that is free first, at `e`, and is
//! answered at `max(t, e) + service + latency`, where
//! `service = engines * max(bits / gbit_per_s, 1 / ops_per_s)`. So a lone request takes `latency` and the time
//! of one engine, and requests in sufficient number get the whole bandwidth.
//!
//! Time is what the runtime passes to the channel. With a virtual clock the model is exact. With a real one,
//! the device inside executes within `submit`, on the engine's thread: answers are late where it is slower
//! than the modelled device.
//!
//! # What is counted
//!
//! Bytes are those of the source; of decompression, fills and random numbers those that come out. `ops_per_s`
//! knows no sizes: state the operations of one key size, and use the model with that.
//!
//! # What is left out
//!
//! - Stages within an engine, algorithms that only some engines have, and a bus that sections share.
//! - A symmetric session's `at_once` and pieces of a message (`Running`), which reach no device.
//! - Priorities: requests are served in the order of their arrival.
#![deny(unsafe_code)]

mod channel;
mod idle;
mod spec;

use std::{fmt, sync::Arc};

use lookaside_core::{
    Capability, Channel, Device, EngineId, Limits, Op, Prepared, Region, SessionSpec, SetupError,
};

pub use idle::Idle;
pub use spec::{Axis, Figure, LoadError, Printed, Section, Spec, SpecError};

/// A device that executes by `D`, and answers when the device of a [`Spec`] would.
pub struct Model<D> {
    inner: D,
    spec: Spec,
    capabilities: Vec<Capability>,
    shared: Arc<channel::Shared>,
}

impl<D> fmt::Debug for Model<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Model").field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl<D: Device> Model<D> {
    /// The modelled device. Its capabilities are those of `inner` for which `spec` has a section.
    ///
    /// # Errors
    /// [`SetupError::Unsupported`] if a section names an operation that `inner` lacks.
    pub fn new(inner: D, spec: Spec) -> Result<Model<D>, SetupError> {
        for &op in spec.sections.iter().flat_map(|section| &section.ops) {
            if !inner.capabilities().iter().any(|row| row.op == op) {
                return Err(SetupError::Unsupported {
                    device: inner.name().to_owned(),
                    op,
                    what: "the model has a section for it",
                });
            }
        }
        let offered = |row: &&Capability| spec.section(row.op).is_some();
        let timed = |row: &Capability| Capability {
            served_by: format!(
                "the model {}, executed by {}: {}",
                spec.name,
                inner.name(),
                row.served_by
            ),
            // The modelled engines take single requests.
            best_batch: 1,
            ..row.clone()
        };
        let capabilities = inner.capabilities().iter().filter(offered).map(timed).collect();
        let shared = Arc::new(channel::Shared::new(spec.clone()));
        Ok(Model { inner, spec, capabilities, shared })
    }

    /// What it models.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    fn offers(&self, op: Op) -> bool {
        self.spec.section(op).is_some()
    }
}

impl<D: Device> Device for Model<D> {
    fn name(&self) -> &str {
        &self.spec.name
    }

    fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }

    fn limits(&self) -> Limits {
        Limits {
            max_batch: self.inner.limits().max_batch.min(self.spec.queue),
            // Sessions of the device inside may ask for batches; the modelled one does not wait.
            batch_deadline_ns: Some(0),
            timeout_ns: Some(self.spec.timeout_ns),
            reach: self.spec.reach,
        }
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        match spec.ops() {
            [op, rest @ ..] if !self.offers(*op) && !rest.iter().any(|op| self.offers(*op)) => {
                Err(SetupError::Unsupported {
                    device: self.spec.name.clone(),
                    op: *op,
                    what: "the model has no section for it",
                })
            }
            _ => self.inner.prepare(spec),
        }
    }

    fn prepare_set(&self, sessions: &[&Prepared]) -> Result<Prepared, SetupError> {
        self.inner.prepare_set(sessions)
    }

    fn attach(&self, region: &Region) -> Result<(), SetupError> {
        self.inner.attach(region)
    }

    fn open_channel(&self, engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        let inner = self.inner.open_channel(engine)?;
        Ok(Box::new(channel::ModelChannel::new(inner, self.shared.clone())))
    }
}
