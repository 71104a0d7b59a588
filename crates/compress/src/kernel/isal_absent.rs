//! Stands in for `isal.rs` where ISA-L is not built: refuses everything.
//!
//! The dispatch never chooses igzip there, so nothing of this runs.

use super::{Flush, Step};

pub(crate) const MAX_LEN: usize = 0;

pub(crate) struct OneShot;

impl OneShot {
    pub(crate) fn new() -> OneShot {
        OneShot
    }

    pub(crate) fn compress(
        &mut self,
        _level: u8,
        _fixed: bool,
        _window_bits: u8,
        _src: &[u8],
        _dst: &mut [u8],
    ) -> Option<usize> {
        None
    }

    pub(crate) fn compress_piece(
        &mut self,
        _level: u8,
        _window_bits: u8,
        _src: &[u8],
        _dst: &mut [u8],
    ) -> Option<usize> {
        None
    }
}

pub(crate) struct Stream;

impl Stream {
    pub(crate) fn new(_level: u8, _fixed: bool, _window_bits: u8) -> Stream {
        Stream
    }

    pub(crate) fn reset(&mut self) {}

    pub(crate) fn set_dictionary(&mut self, _dictionary: &[u8]) -> bool {
        false
    }

    pub(crate) fn step(&mut self, _src: &[u8], _dst: &mut [u8], _flush: Flush) -> Option<Step> {
        None
    }
}
