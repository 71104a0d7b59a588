//! In place of `crypto.rs`, without feature `crypto`: no service.

use lookaside_core::{
    Buf, Capability, Done, Op, OpError, Prepared, Service, SessionSpec, SetupError, Work,
};
use lookaside_simd::Cpu;

pub(crate) fn capabilities(_: &Cpu) -> Vec<Capability> {
    Vec::new()
}

pub(crate) fn set_up(_: &Cpu) {}

pub(crate) fn best_batch(_: &Cpu, _: Op) -> usize {
    0
}

pub(crate) fn prepare(_: &SessionSpec, _: &Cpu) -> Option<Result<Prepared, SetupError>> {
    None
}

pub(crate) fn prepare_set(_: &[&Prepared]) -> Option<Prepared> {
    None
}

pub(crate) fn execute_one(_: &Cpu, _: Op, _: &Buf, _: &mut Buf) -> Option<Result<Done, OpError>> {
    None
}

pub(crate) struct SideBySide;

impl SideBySide {
    pub(crate) const MOST: usize = 1;

    pub(crate) fn new(_: &Cpu) -> SideBySide {
        SideBySide
    }

    pub(crate) fn lanes(_: Service) -> usize {
        1
    }

    pub(crate) fn execute(&mut self, _: Service, _: &mut [Work]) {}
}
