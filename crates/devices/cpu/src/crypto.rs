//! The services of feature `crypto`: cryptography, the data mover and random numbers.

use lookaside_core::{
    Buf, Capability, Done, Op, OpError, Prepared, Service, SessionSpec, SetupError, Work,
};
use lookaside_simd::{Cpu, Tier};

use crate::{mv, pke, sym};

/// Copies side by side gain nothing, but an engine's visit to the scheduler costs more than an
/// empty copy: 32 share one.
const COPY_BATCH: usize = 32;

pub(crate) fn capabilities(cpu: &Cpu) -> Vec<Capability> {
    let carry_less = match cpu.tier() {
        Tier::Generic => "own kernel, tables",
        Tier::Avx2 | Tier::Avx512Bw => "own kernel, PCLMULQDQ",
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
        mover(Op::Copy, "copy between buffers", "own kernel, or memcpy of the C library"),
        mover(Op::CopyCrc32, "copy, with the CRC-32", carry_less),
        mover(Op::CopyCrc64, "copy, with the CRC-64/XZ", carry_less),
        mover(Op::Fill, "patterns of 1 to 64 bytes", "own kernel"),
        mover(Op::Compare, "two buffers", "own kernel"),
        mover(Op::Random, "CTR-DRBG, seeded by the operating system", "AWS-LC"),
    ];
    capabilities.extend(pke::capabilities(cpu));
    capabilities.extend(sym::capabilities(cpu));
    capabilities
}

/// Sets up the libraries that the first session would.
pub(crate) fn set_up(cpu: &Cpu) {
    lookaside_cipher::set_up(cpu);
}

/// How many requests at once suit an operation; 0 for one that there is not.
pub(crate) fn best_batch(cpu: &Cpu, op: Op) -> usize {
    match op.service() {
        Service::Mv | Service::Rng => COPY_BATCH,
        Service::Pke | Service::Kdf => pke::best_batch(cpu, op),
        Service::Sym => sym::LANES,
        _ => 0,
    }
}

/// What a service's refusal of a session means.
pub(crate) fn refused(op: Op, e: OpError) -> SetupError {
    let what = match e {
        OpError::BadInput(what) => return SetupError::Key { what },
        OpError::Library(what) => what,
        _ => "this algorithm, for which no kernel or library is here",
    };
    SetupError::Unsupported { device: "cpu".into(), op, what }
}

/// `None` for a session of another service.
pub(crate) fn prepare(spec: &SessionSpec, cpu: &Cpu) -> Option<Result<Prepared, SetupError>> {
    match spec {
        // These have nothing to prepare.
        SessionSpec::Mover | SessionSpec::Rng => Some(Ok(Prepared::new(()))),
        SessionSpec::Pke(_) | SessionSpec::Kdf(_) => Some(pke::prepare(spec, cpu)),
        SessionSpec::Sym(sym) => Some(sym::prepare(sym, cpu)),
        _ => None,
    }
}

/// A session for packets of many; `None` for another service's.
pub(crate) fn prepare_set(sessions: &[&Prepared]) -> Option<Prepared> {
    sym::prepare_set(sessions)
}

/// One request of the data mover or for random numbers; `None` for another operation.
pub(crate) fn execute_one(
    cpu: &Cpu,
    op: Op,
    src: &Buf,
    dst: &mut Buf,
) -> Option<Result<Done, OpError>> {
    Some(match op {
        Op::Copy => mv::copy(cpu, src, dst),
        Op::CopyCrc32 => mv::copy_crc32(cpu, src, dst),
        Op::CopyCrc64 => mv::copy_crc64(cpu, src, dst),
        Op::Fill => mv::fill(cpu, src, dst),
        Op::Compare => mv::compare(cpu, src, dst),
        Op::Random => mv::random(dst),
        _ => return None,
    })
}

/// What executes requests side by side.
pub(crate) struct SideBySide {
    sym: lookaside_cipher::Engine,
    pke: lookaside_pke::Engine,
}

impl SideBySide {
    /// The most requests that any service takes at once.
    pub(crate) const MOST: usize = sym::LANES;

    pub(crate) fn new(cpu: &Cpu) -> SideBySide {
        SideBySide { sym: lookaside_cipher::Engine::new(cpu), pke: lookaside_pke::Engine::new(cpu) }
    }

    /// How many requests of this service to hand over at once; 1 for [`execute_one`].
    pub(crate) fn lanes(service: Service) -> usize {
        match service {
            Service::Pke | Service::Kdf => pke::LANES,
            Service::Sym => sym::LANES,
            _ => 1,
        }
    }

    /// Executes requests of one service, at most its lanes.
    pub(crate) fn execute(&mut self, service: Service, requests: &mut [Work]) {
        match service {
            Service::Sym => sym::execute(&mut self.sym, requests),
            _ => pke::execute(&mut self.pke, requests),
        }
    }
}
