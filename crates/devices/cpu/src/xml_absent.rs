//! In place of `xml.rs`, without feature `xml`: no service.

use lookaside_core::{
    Capability, Done, Flush, Op, OpError, Prepared, SetupError, SharedDocument, Xml,
};
use lookaside_simd::Cpu;

#[derive(Default)]
pub(crate) struct Memory {}

pub(crate) fn capabilities(_: &Cpu) -> Option<Capability> {
    None
}

pub(crate) fn prepare(_: &Xml, _: &Cpu) -> Result<Prepared, SetupError> {
    let what = "this program has the CPU device without XML processing";
    Err(SetupError::Unsupported { device: "cpu".into(), op: Op::Parse, what })
}

pub(crate) fn parse(
    _: &SharedDocument,
    _: bool,
    _: &mut Memory,
    _: &[u8],
    _: &mut [u8],
    _: Flush,
) -> Result<Done, OpError> {
    Err(OpError::Unsupported)
}
