//! SM2 in the lanes of a vector.

use lookaside_simd::Cpu;

use super::{
    LEN, POINT_LEN, Parts, generate_one, multiply_one, public_one, sign_e, sign_one, verify_one,
};
use crate::batch::{cut, room};
use crate::ec::group::Group;
use crate::side_by_side::{self, Kernel};
use crate::weierstrass::lanes::{
    Curve, FAILED, Generating, Lanes, Multiplying, Operation, Public, Signing, Verifying,
    coordinates, public_lane,
};
use crate::{Item, Nonce, OpError};

/// The curve's kernel, and the library for what goes one by one.
#[derive(Clone, Copy)]
pub(super) struct Place {
    lanes: Lanes,
    parts: &'static Parts,
}

impl Place {
    pub(super) fn of(cpu: &Cpu, parts: &'static Parts) -> Option<Place> {
        Some(Place { lanes: Lanes { token: cpu.avx512()?, curve: Curve::Sm2 }, parts })
    }

    pub(super) fn run(self, operation: super::Operation, items: &mut [Item<'_>]) {
        match operation {
            super::Operation::Generate => side_by_side::run(&Generate(self), items),
            super::Operation::Public => side_by_side::run(&PublicKey(self), items),
            super::Operation::Multiply => side_by_side::run(&Multiply(self), items),
            super::Operation::Sign => side_by_side::run(&Sign(self), items),
            super::Operation::Verify => side_by_side::run(&Verify(self), items),
        }
    }
}

struct Generate(Place);

impl Kernel for Generate {
    type Request<'a> = Generating<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Public)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Generating<'a>, OpError> {
        let [] = cut(src, [])?;
        let (private, point) = room(dst, LEN + POINT_LEN)?.split_at_mut(LEN);
        Ok(Generating { private, point, result: Ok(()) })
    }

    fn run(&self, requests: &mut [Generating<'_>]) {
        self.0.lanes.generate(&self.0.parts.limit, requests);
    }

    fn answer(request: &Generating<'_>) -> Result<usize, OpError> {
        request.answer()
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        generate_one(self.0.parts, src, dst)
    }
}

struct PublicKey(Place);

impl Kernel for PublicKey {
    type Request<'a> = Public<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Public)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Public<'a>, OpError> {
        let [private] = cut(src, [LEN])?;
        let point = room(dst, POINT_LEN)?;
        Ok(public_lane(self.0.parts.private_key(private)?, point))
    }

    fn run(&self, requests: &mut [Public<'_>]) {
        self.0.lanes.public(requests);
    }

    fn answer(request: &Public<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(POINT_LEN) } else { Err(FAILED) }
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        public_one(self.0.parts, src, dst)
    }
}

struct Multiply(Place);

impl Kernel for Multiply {
    type Request<'a> = Multiplying<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Multiply)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Multiplying<'a>, OpError> {
        let group = &self.0.parts.group;
        let [private, point] = cut(src, [LEN, POINT_LEN])?;
        super::in_order(group, private)?;
        let out = room(dst, POINT_LEN)?;
        Ok(Multiplying { private, peer: coordinates(group, point)?, out, ok: false })
    }

    fn run(&self, requests: &mut [Multiplying<'_>]) {
        self.0.lanes.multiply(requests);
    }

    fn answer(request: &Multiplying<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(POINT_LEN) } else { Err(FAILED) }
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        multiply_one(self.0.parts, src, dst)
    }
}

struct Sign(Place);

impl Kernel for Sign {
    type Request<'a> = Signing<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Sign)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Signing<'a>, OpError> {
        let [private, digest] = cut(src, [LEN, LEN])?;
        let private = self.0.parts.private_key(private)?;
        Ok(Signing { private, digest, signature: room(dst, 2 * LEN)?, result: Ok(()) })
    }

    fn run(&self, requests: &mut [Signing<'_>]) {
        let Place { lanes, parts } = self.0;
        let order = (&parts.order, parts.group.order());
        lanes.sign(Nonce::Hedged, order, requests, |request| {
            sign_e(parts, request.private, request.digest, request.signature)
        });
    }

    fn answer(request: &Signing<'_>) -> Result<usize, OpError> {
        request.result.map(|()| 2 * LEN)
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        sign_one(self.0.parts, src, dst)
    }
}

struct Verify(Place);

impl Kernel for Verify {
    type Request<'a> = Verifying<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Verify)
    }

    fn request<'a>(&self, src: &'a [u8], _: &'a mut [u8]) -> Result<Verifying<'a>, OpError> {
        let [point, signature, digest] = cut(src, [POINT_LEN, 2 * LEN, LEN])?;
        let public = coordinates(&self.0.parts.group, point)?;
        Ok(Verifying { public, signature, digest, ok: false })
    }

    fn run(&self, requests: &mut [Verifying<'_>]) {
        self.0.lanes.verify(self.0.parts.order.bits(), requests);
    }

    fn answer(request: &Verifying<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(0) } else { Err(OpError::AuthFailed) }
    }

    fn one(&self, src: &[u8], _: &mut [u8]) -> Result<usize, OpError> {
        verify_one(self.0.parts, src)
    }
}
