//! X25519 in the lanes of a vector.
//!
//! The thresholds: eight lanes take as long as 1.75 shared secrets one by one, or as 3.2 public
//! keys, for which AWS-LC has a table (Sapphire Rapids, 2026-11; `--bench curve25519`).

use lookaside_simd::Avx512;

use super::{Curve, array, derive_one, generate_one, public_one};
use crate::batch::{cut, room};
use lookaside_pke_kernel::curve25519::{self, x25519_avx512, x25519_public_avx512};
use crate::library::curve25519::ZERO_SECRET;
use crate::side_by_side::Kernel;
use crate::{Error, random};

const LEN: usize = Curve::X25519.len();

/// `dst` cut to `N` bytes.
pub(crate) fn place<const N: usize>(dst: &mut [u8]) -> Result<&mut [u8; N], Error> {
    room(dst, N)?.try_into().map_err(|_| Error::DstTooSmall)
}

pub(super) struct Derive(pub Avx512);

impl Kernel for Derive {
    type Request<'a> = curve25519::Derive<'a>;

    const THRESHOLD: usize = 2;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, Error> {
        let [private, peer] = cut(src, [LEN; 2])?;
        let (private, peer) = (array(private)?, array(peer)?);
        Ok(curve25519::Derive { private, peer, out: place(dst)?, ok: false })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        x25519_avx512(self.0, requests);
    }

    fn answer(request: &Self::Request<'_>) -> Result<usize, Error> {
        if request.ok { Ok(LEN) } else { Err(ZERO_SECRET) }
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, Error> {
        derive_one(Curve::X25519, src, dst)
    }
}

pub(super) struct Public(pub Avx512);

impl Kernel for Public {
    type Request<'a> = curve25519::Public<'a>;

    const THRESHOLD: usize = 4;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, Error> {
        let [private] = cut(src, [LEN])?;
        Ok(curve25519::Public { private: array(private)?, out: place(dst)? })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        x25519_public_avx512(self.0, requests);
    }

    fn answer(_: &Self::Request<'_>) -> Result<usize, Error> {
        Ok(LEN)
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, Error> {
        public_one(Curve::X25519, src, dst)
    }
}

pub(super) struct Generate(pub Avx512);

impl Kernel for Generate {
    type Request<'a> = curve25519::Public<'a>;

    const THRESHOLD: usize = 4;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, Error> {
        let [] = cut(src, [])?;
        let (private, out) = room(dst, 2 * LEN)?.split_at_mut(LEN);
        random::fill(private)?;
        Ok(curve25519::Public { private: array(private)?, out: place(out)? })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        x25519_public_avx512(self.0, requests);
    }

    fn answer(_: &Self::Request<'_>) -> Result<usize, Error> {
        Ok(2 * LEN)
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, Error> {
        generate_one(Curve::X25519, src, dst)
    }
}
