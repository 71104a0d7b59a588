//! Ed25519 in the lanes of a vector: signatures of whole messages, without labels.

use lookaside_simd::Avx512;

use super::{array, split};
use crate::batch::{cut, room};
use crate::side_by_side::Kernel;
use crate::xdh::lanes::place;
use crate::{EdCurve, OpError, random};
use lookaside_pke_kernel::curve25519::{
    self, ed25519_public_avx512, ed25519_sign_avx512, ed25519_verify_avx512,
};

const LEN: usize = EdCurve::Ed25519.key_len();
const SIGNATURE_LEN: usize = EdCurve::Ed25519.signature_len();

/// From how many items on the kernel pays: eight lanes take as long as 3.2 signatures or public keys one
/// by one, or as 1.92 verifications (Sapphire Rapids, 2026-11; `--bench curve25519`).
pub(super) const KEYS_FROM: usize = 4;
pub(super) const VERIFIES_FROM: usize = 2;

pub(super) struct Sign(pub Avx512);

impl Kernel for Sign {
    type Request<'a> = curve25519::Sign<'a>;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, OpError> {
        let (pair, message) = split(src, 2 * LEN)?;
        let (seed, public) = pair.split_at(LEN);
        let (seed, public) = (array(seed)?, array(public)?);
        Ok(curve25519::Sign { seed, public, message, signature: place(dst)? })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        ed25519_sign_avx512(self.0, requests);
    }

    fn answer(_: &Self::Request<'_>) -> Result<usize, OpError> {
        Ok(SIGNATURE_LEN)
    }
}

pub(super) struct Verify(pub Avx512);

impl Kernel for Verify {
    type Request<'a> = curve25519::Verify<'a>;

    fn request<'a>(&self, src: &'a [u8], _: &'a mut [u8]) -> Result<Self::Request<'a>, OpError> {
        let (public, rest) = split(src, LEN)?;
        let (signature, message) = split(rest, SIGNATURE_LEN)?;
        let (public, signature) = (array(public)?, array(signature)?);
        Ok(curve25519::Verify { public, message, signature, ok: false })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        ed25519_verify_avx512(self.0, requests);
    }

    fn answer(request: &Self::Request<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(0) } else { Err(OpError::AuthFailed) }
    }
}

pub(super) struct Public(pub Avx512);

impl Kernel for Public {
    type Request<'a> = curve25519::Public<'a>;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, OpError> {
        let [seed] = cut(src, [LEN])?;
        Ok(curve25519::Public { private: array(seed)?, out: place(dst)? })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        ed25519_public_avx512(self.0, requests);
    }

    fn answer(_: &Self::Request<'_>) -> Result<usize, OpError> {
        Ok(LEN)
    }
}

pub(super) struct Generate(pub Avx512);

impl Kernel for Generate {
    type Request<'a> = curve25519::Public<'a>;

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Self::Request<'a>, OpError> {
        let [] = cut(src, [])?;
        let (seed, out) = room(dst, 2 * LEN)?.split_at_mut(LEN);
        random::fill(seed)?;
        Ok(curve25519::Public { private: array(seed)?, out: place(out)? })
    }

    fn run(&self, requests: &mut [Self::Request<'_>]) {
        ed25519_public_avx512(self.0, requests);
    }

    fn answer(_: &Self::Request<'_>) -> Result<usize, OpError> {
        Ok(2 * LEN)
    }
}
