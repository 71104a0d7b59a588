//! X448 in the lanes of a vector.

use lookaside_simd::Avx512;

use super::array;
use super::lanes::place;
use crate::batch::{cut, room};
use crate::library::curve25519::ZERO_SECRET;
use crate::side_by_side::Kernel;
use crate::{OpError, XdhCurve, random};
use lookaside_pke_kernel::curve448::{self, x448_avx512, x448_public_avx512};

const LEN: usize = XdhCurve::X448.key_len();

/// From how many items on the kernel pays: eight lanes take as long as 1.14 shared secrets by OpenSSL,
/// or as 0.87 public keys (Sapphire Rapids, 2026-11; `--bench curves`).
pub(super) const SECRETS_FROM: usize = 2;
pub(super) const KEYS_FROM: usize = 1;

pub(super) struct Derive(pub Avx512);

impl Kernel for Derive {
    type Request<'a> = curve448::Derive<'a>;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, OpError> {
        let [private, peer] = cut(src, [LEN; 2])?;
        let (private, peer) = (array(private)?, array(peer)?);
        Ok(curve448::Derive { private, peer, out: place(dst)?, ok: false })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        x448_avx512(self.0, requests);
    }

    fn answer(request: &Self::Request<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(LEN) } else { Err(ZERO_SECRET) }
    }
}

pub(super) struct Public(pub Avx512);

impl Kernel for Public {
    type Request<'a> = curve448::Public<'a>;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, OpError> {
        let [private] = cut(src, [LEN])?;
        Ok(curve448::Public { private: array(private)?, out: place(dst)? })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        x448_public_avx512(self.0, requests);
    }

    fn answer(_: &Self::Request<'_>) -> Result<usize, OpError> {
        Ok(LEN)
    }
}

pub(super) struct Generate(pub Avx512);

impl Kernel for Generate {
    type Request<'a> = curve448::Public<'a>;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, OpError> {
        let [] = cut(src, [])?;
        let (private, out) = room(dst, 2 * LEN)?.split_at_mut(LEN);
        random::fill(private)?;
        Ok(curve448::Public { private: array(private)?, out: place(out)? })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        x448_public_avx512(self.0, requests);
    }

    fn answer(_: &Self::Request<'_>) -> Result<usize, OpError> {
        Ok(2 * LEN)
    }
}
