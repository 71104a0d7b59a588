//! In place of `ipsec_mb.rs` where intel-ipsec-mb was not found: the same types, of which there are
//! no values.

use std::convert::Infallible;

use lookaside_secure::SecureBox;
use lookaside_simd::Cpu;

use super::ipsec_mb_steps::{CipherStep, MacStep};
use crate::lanes::{Group, Tags};
use crate::{Direction, Packet, Parts, Text};

pub(crate) struct Functions(Infallible);

impl Functions {
    pub(crate) fn of(_: &Cpu) -> Option<&'static Functions> {
        None
    }
}

pub(crate) struct Schedule(());

impl Schedule {
    pub(crate) fn new() -> SecureBox<Schedule> {
        SecureBox::new(Schedule(()))
    }

    pub(crate) fn set_aes(&mut self, functions: &Functions, _: &[u8]) -> Option<()> {
        match functions.0 {}
    }

    pub(crate) fn set_des(&mut self, functions: &Functions, _: &[u8]) -> Option<()> {
        match functions.0 {}
    }

    pub(crate) fn set_snow3g(&mut self, functions: &Functions, _: &[u8], _: bool) -> Option<()> {
        match functions.0 {}
    }

    pub(crate) fn set_plain(&mut self, _: &[u8], _: bool) -> Option<()> {
        None
    }

    pub(crate) fn set_xcbc(&mut self, functions: &Functions, _: &[u8]) -> Option<()> {
        match functions.0 {}
    }

    pub(crate) fn set_cmac(&mut self, functions: &Functions, _: &[u8]) -> Option<()> {
        match functions.0 {}
    }
}

#[derive(Default)]
pub(crate) struct Scratch(());

pub(crate) type Tag = [u8; 64];

pub(crate) struct Gcm(Infallible);

impl Gcm {
    pub(crate) fn new(_: &Cpu, _: &[u8]) -> Option<Gcm> {
        None
    }

    pub(crate) fn seal(&self, _: &mut Scratch, _: &[u8], _: &Parts, _: usize, _: &mut Text<'_>) {
        match self.0 {}
    }

    pub(crate) fn open(&self, _: &mut Scratch, _: &[u8], _: &Parts, _: &mut Text<'_>) -> Tag {
        match self.0 {}
    }

    pub(crate) fn mac(&self, _: &mut Scratch, _: &[u8], _: &[u8]) -> Tag {
        match self.0 {}
    }
}

pub(crate) struct Lanes(Infallible);

impl Lanes {
    pub(crate) fn new(_: &Cpu) -> Option<Lanes> {
        None
    }

    pub(crate) fn cipher(&mut self, _: CipherStep, _: Direction, _: &mut [Packet<'_>], _: Group) {
        match self.0 {}
    }

    pub(crate) fn mac(
        &mut self,
        _: MacStep,
        _: bool,
        _: &mut [Packet<'_>],
        _: Group,
        _: &mut Tags,
    ) {
        match self.0 {}
    }

    pub(crate) fn ccm(
        &mut self,
        _: CipherStep,
        _: Direction,
        _: &mut [Packet<'_>],
        _: Group,
        _: &mut Tags,
    ) {
        match self.0 {}
    }
}
