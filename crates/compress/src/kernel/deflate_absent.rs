//! In place of `deflate` where there is no AVX-512: nothing of it can be reached.

use std::convert::Infallible;

use lookaside_simd::Avx512;

pub(crate) const MOST_EFFORT: u8 = 4;

pub(crate) struct Compressor(Infallible);

impl Compressor {
    pub(crate) fn new(_: Avx512) -> Compressor {
        unreachable!("no CPU of this architecture has the token")
    }

    pub(crate) fn compress(&mut self, _: u8, _: &[u8], _: &mut [u8]) -> Option<usize> {
        match self.0 {}
    }

    pub(crate) fn compress_piece(&mut self, _: u8, _: &[u8], _: &mut [u8]) -> Option<usize> {
        match self.0 {}
    }
}
