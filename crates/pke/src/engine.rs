//! What batches run with.

use std::fmt;

use lookaside_pke_kernel::memory::Memory;
use lookaside_pke_kernel::modexp;
use lookaside_simd::Cpu;

/// The features of a CPU, and the memory that arithmetic modulo long numbers works in. The memory
/// grows to what the batches take, 0.4 MiB for moduli of 4096 bits, and stays; between batches it is
/// all zeros.
pub struct Engine {
    pub(crate) cpu: Cpu,
    /// The exponentiation kernels'.
    pub(crate) kernel: modexp::Memory,
    /// Numbers as bytes, of all items of a batch.
    pub(crate) bytes: Memory<u8>,
}

impl Engine {
    /// An engine whose memory has not been taken yet.
    pub fn new(cpu: &Cpu) -> Engine {
        Engine { cpu: cpu.clone(), kernel: modexp::Memory::default(), bytes: Memory::default() }
    }

    /// The CPU.
    pub fn cpu(&self) -> &Cpu {
        &self.cpu
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The memory may hold secrets.
        f.debug_struct("Engine").field("cpu", &self.cpu).finish_non_exhaustive()
    }
}

/// The first `len` bytes of what is left of lent memory.
pub(crate) fn carve<'a>(left: &mut &'a mut [u8], len: usize) -> &'a mut [u8] {
    let (part, rest) = std::mem::take(left).split_at_mut(len);
    *left = rest;
    part
}
