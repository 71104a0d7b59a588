//! The instructions in use.

use lookaside_simd::{Avx2, Avx512, Cpu};

/// The instructions in use, with the proof that the CPU has them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Isa {
    Avx512(Avx512),
    Avx2(Avx2),
    Generic,
}

impl Isa {
    pub(crate) fn new(cpu: &Cpu) -> Isa {
        match (cpu.avx512(), cpu.avx2()) {
            (Some(token), _) => Isa::Avx512(token),
            (None, Some(token)) => Isa::Avx2(token),
            (None, None) => Isa::Generic,
        }
    }

    /// Whether a set of bytes is looked up by its nibbles.
    pub(crate) fn nibbles(self) -> bool {
        matches!(self, Isa::Avx2(_))
    }
}
