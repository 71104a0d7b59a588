//! The CPU device: executes every Lookaside operation on the host's cores. Always there; needs no
//! root, no daemon, no configuration.
//!
//! [`cpu`] is what a program passes to the runtime's builder. A channel executes what it is given
//! at once, on the engine's thread, with kernels chosen by the CPU features found at start.
#![deny(unsafe_code)]

mod channel;
mod dc;
mod mv;
mod pke;
mod sym;

use lookaside_core::{
    Capability, Channel, Device, EngineId, Op, Prepared, SessionSpec, SetupError,
};
use lookaside_simd::{Cpu, Tier};

/// The CPU device with the host's features, capped by the environment variable `LOOKASIDE_CPU`.
pub fn cpu() -> CpuDevice {
    CpuDevice::new(Cpu::host().clone())
}

/// The CPU device.
pub struct CpuDevice {
    cpu: Cpu,
    capabilities: Vec<Capability>,
}

/// Copies side by side gain nothing, but an engine's visit to the scheduler costs more than an
/// empty copy: 32 share one.
const COPY_BATCH: usize = 32;

impl CpuDevice {
    /// The CPU device with these features.
    pub fn new(cpu: Cpu) -> CpuDevice {
        let carry_less = match cpu.tier() {
            Tier::Generic => "own kernel, tables",
            Tier::Avx2 => "own kernel, PCLMULQDQ",
            Tier::Avx512 => "own kernel, VPCLMULQDQ",
        };
        let mover = |op, algorithm: &str, served_by: &str| Capability {
            op,
            algorithm: algorithm.into(),
            served_by: served_by.into(),
            best_batch: COPY_BATCH,
            max_src: isize::MAX as usize,
        };
        let mut capabilities = vec![
            mover(Op::Copy, "copy between buffers", "memcpy of the C library"),
            mover(Op::CopyCrc32, "copy, with the CRC-32", carry_less),
            mover(Op::CopyCrc64, "copy, with the CRC-64/XZ", carry_less),
            mover(Op::Fill, "patterns of 1 to 64 bytes", "own kernel"),
            mover(Op::Compare, "two buffers", "own kernel"),
            mover(Op::Random, "CTR-DRBG, seeded by the operating system", "AWS-LC"),
        ];
        capabilities.extend(dc::capabilities(&cpu));
        capabilities.extend(pke::capabilities(&cpu));
        capabilities.extend(sym::capabilities(&cpu));
        CpuDevice { cpu, capabilities }
    }
}

impl Device for CpuDevice {
    fn name(&self) -> &str {
        "cpu"
    }

    fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        match spec {
            // These have nothing to prepare.
            SessionSpec::Mover | SessionSpec::Rng => Ok(Prepared::new(())),
            SessionSpec::Compression(_)
            | SessionSpec::CompressStream { .. }
            | SessionSpec::DecompressStream { .. } => dc::prepare(spec, &self.cpu),
            SessionSpec::Pke(_) | SessionSpec::Kdf(_) => pke::prepare(spec, &self.cpu),
            SessionSpec::Sym(sym) => sym::prepare(sym, &self.cpu),
            other => Err(SetupError::Unsupported {
                device: self.name().to_owned(),
                op: other.ops().first().copied().unwrap_or(Op::Copy),
                what: "unknown kind of session",
            }),
        }
    }

    fn open_channel(&self, _engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        Ok(Box::new(channel::CpuChannel::new(self.cpu.clone())))
    }
}
