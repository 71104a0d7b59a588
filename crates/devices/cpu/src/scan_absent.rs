//! In place of `scan.rs`, without feature `scan`: no service.

use lookaside_core::{Capability, Done, Flush, Op, OpError, Patterns, Prepared, SetupError};
use lookaside_simd::Cpu;

#[derive(Default)]
pub(crate) struct Memory {}

pub(crate) fn capabilities(_: &Cpu) -> Option<Capability> {
    None
}

pub(crate) fn prepare(_: &Patterns, _: &Cpu) -> Result<Prepared, SetupError> {
    let what = "this program has the CPU device without pattern matching";
    Err(SetupError::Unsupported { device: "cpu".into(), op: Op::Scan, what })
}

pub(crate) fn scan(
    _: &Prepared,
    _: &mut Memory,
    _: Option<&mut Vec<u8>>,
    _: &[u8],
    _: &mut [u8],
    _: Flush,
) -> Result<Done, OpError> {
    Err(OpError::Unsupported)
}
