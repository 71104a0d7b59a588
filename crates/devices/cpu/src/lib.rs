//! The CPU device: executes every Lookaside operation on the host's cores. Always there; needs no
//! root, no daemon, no configuration.
//!
//! [`cpu`] is what a program passes to the runtime's builder. A channel executes what it is given
//! at once, on the engine's thread, with kernels chosen by the CPU features found at start.
#![deny(unsafe_code)]

mod channel;
#[cfg_attr(not(feature = "crypto"), path = "crypto_absent.rs")]
mod crypto;
mod dc;
#[cfg(feature = "crypto")]
mod mv;
#[cfg(feature = "crypto")]
mod pke;
#[cfg_attr(not(feature = "scan"), path = "scan_absent.rs")]
mod scan;
#[cfg(feature = "crypto")]
mod sym;
#[cfg_attr(not(feature = "xml"), path = "xml_absent.rs")]
mod xml;

use lookaside_core::{
    Capability, Channel, Device, EngineId, Op, Prepared, Service, SessionSpec, SetupError,
};
use lookaside_simd::Cpu;
use once_cell::race::OnceBox;

pub use lookaside_simd::Family;

/// The family of this CPU under the cap of `LOOKASIDE_CPU`.
pub fn family() -> Family {
    Cpu::host().family()
}

/// The CPU device with the host's features, capped by the environment variable `LOOKASIDE_CPU`.
pub fn cpu() -> CpuDevice {
    CpuDevice::new(Cpu::host().clone())
}

/// Sets up the libraries that the first session of the device would: half a millisecond, and tens of
/// KiB of stack. Optional; for programs that make or use sessions on small stacks.
pub fn set_up() {
    crypto::set_up(Cpu::host());
}

/// The CPU device.
pub struct CpuDevice {
    cpu: Cpu,
    /// Made when they are first asked for: which kernel serves an algorithm is found out by a session of
    /// it, and all of them take a millisecond.
    capabilities: OnceBox<Vec<Capability>>,
}

impl CpuDevice {
    /// The CPU device with these features.
    pub fn new(cpu: Cpu) -> CpuDevice {
        CpuDevice { cpu, capabilities: OnceBox::new() }
    }

    fn make_capabilities(&self) -> Vec<Capability> {
        let mut capabilities = dc::capabilities(&self.cpu);
        capabilities.extend(crypto::capabilities(&self.cpu));
        capabilities.extend(scan::capabilities(&self.cpu));
        capabilities.extend(xml::capabilities(&self.cpu));
        capabilities
    }
}

impl Device for CpuDevice {
    fn name(&self) -> &str {
        "cpu"
    }

    fn capabilities(&self) -> &[Capability] {
        self.capabilities.get_or_init(|| Box::new(self.make_capabilities()))
    }

    fn best_batch(&self, op: Op) -> usize {
        match op.service() {
            Service::Dc => dc::BEST_BATCH,
            Service::Scan => usize::from(scan::capabilities(&self.cpu).is_some()),
            Service::Xml => usize::from(xml::capabilities(&self.cpu).is_some()),
            _ => crypto::best_batch(&self.cpu, op),
        }
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        match spec {
            SessionSpec::Compression(_)
            | SessionSpec::CompressStream { .. }
            | SessionSpec::DecompressStream { .. } => dc::prepare(spec, &self.cpu),
            SessionSpec::Scan(patterns) => scan::prepare(patterns, &self.cpu),
            SessionSpec::Xml(spec) => xml::prepare(spec, &self.cpu),
            other => crypto::prepare(other, &self.cpu).unwrap_or_else(|| {
                Err(SetupError::Unsupported {
                    device: self.name().to_owned(),
                    op: other.ops().first().copied().unwrap_or(Op::Copy),
                    what: "this kind of session",
                })
            }),
        }
    }

    fn prepare_set(&self, sessions: &[&Prepared]) -> Result<Prepared, SetupError> {
        crypto::prepare_set(sessions).ok_or_else(|| SetupError::Unsupported {
            device: self.name().to_owned(),
            op: Op::Encrypt,
            what: "a set of sessions that are not all symmetric",
        })
    }

    fn open_channel(&self, _engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        Ok(Box::new(channel::CpuChannel::new(self.cpu.clone())))
    }
}
