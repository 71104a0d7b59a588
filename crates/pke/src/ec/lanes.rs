//! The curves that have a kernel, in the lanes of a vector.

use lookaside_simd::Cpu;

use super::{
    Curve, Library, derive_one, generate_one, private_key, public_one, sign_one, split_point,
    verify_one,
};
use crate::batch::room;
use crate::ec::group::Group;
use crate::library::ec::PrimeGroup;
use crate::side_by_side::{self, Kernel};
use crate::weierstrass::lanes::{
    self, FAILED, Generating, Lanes, Multiplying, Operation, Public, Signing, Verifying,
    coordinates, public_lane,
};
use crate::{Item, Nonce, OpError};

/// The kernel's name of the curve.
pub(super) fn kernel_curve(curve: Curve) -> Option<lanes::Curve> {
    Some(match curve {
        Curve::P224 => lanes::Curve::P224,
        Curve::P256 => lanes::Curve::P256,
        Curve::P384 => lanes::Curve::P384,
        Curve::P521 => lanes::Curve::P521,
        _ => return None,
    })
}

/// A curve that has a kernel, and the library for what goes one by one.
#[derive(Clone, Copy)]
pub(super) struct Place {
    lanes: Lanes,
    library: &'static Library,
    group: &'static PrimeGroup,
}

impl Place {
    pub(super) fn of(cpu: &Cpu, library: &'static Library) -> Option<Place> {
        let lanes = Lanes { token: cpu.avx512()?, curve: kernel_curve(library.named)? };
        Some(Place { lanes, library, group: library.prime()? })
    }

    pub(super) fn run(self, operation: super::Operation, items: &mut [Item<'_>]) {
        match operation {
            super::Operation::Generate => side_by_side::run(&Generate(self), items),
            super::Operation::Public => side_by_side::run(&PublicKey(self), items),
            // The cofactor is one.
            super::Operation::Derive { .. } => side_by_side::run(&Derive(self), items),
            super::Operation::Sign(nonce) => side_by_side::run(&Sign(self, nonce), items),
            super::Operation::Verify => side_by_side::run(&Verify(self), items),
        }
    }

    fn curve(self) -> Curve {
        self.library.named
    }
}

struct Generate(Place);

impl Kernel for Generate {
    type Request<'a> = Generating<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Public)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Generating<'a>, OpError> {
        let curve = self.0.curve();
        super::nothing(src)?;
        let dst = room(dst, curve.order_len() + curve.point_len())?;
        let (private, point) = dst.split_at_mut(curve.order_len());
        Ok(Generating { private, point, result: Ok(()) })
    }

    fn run(&self, requests: &mut [Generating<'_>]) {
        self.0.lanes.generate(self.0.group.order(), requests);
    }

    fn answer(request: &Generating<'_>) -> Result<usize, OpError> {
        request.answer()
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        generate_one(self.0.library, src, dst)
    }
}

struct PublicKey(Place);

impl Kernel for PublicKey {
    type Request<'a> = Public<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Public)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Public<'a>, OpError> {
        let point = room(dst, self.0.curve().point_len())?;
        Ok(public_lane(private_key(self.0.library, src)?, point))
    }

    fn run(&self, requests: &mut [Public<'_>]) {
        self.0.lanes.public(requests);
    }

    fn answer(request: &Public<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(1 + request.out.len()) } else { Err(FAILED) }
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        public_one(self.0.library, src, dst)
    }
}

struct Derive(Place);

impl Kernel for Derive {
    type Request<'a> = Multiplying<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Multiply)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Multiplying<'a>, OpError> {
        let curve = self.0.curve();
        let (private, peer) = src.split_at_checked(curve.order_len()).ok_or(super::SHORT)?;
        let private = private_key(self.0.library, private)?;
        let out = room(dst, curve.field_len())?;
        Ok(Multiplying { private, peer: coordinates(self.0.group, peer)?, out, ok: false })
    }

    fn run(&self, requests: &mut [Multiplying<'_>]) {
        self.0.lanes.multiply(requests);
    }

    fn answer(request: &Multiplying<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(request.out.len()) } else { Err(FAILED) }
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        derive_one(self.0.library, false, src, dst)
    }
}

struct Sign(Place, Nonce);

impl Kernel for Sign {
    type Request<'a> = Signing<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Sign)
    }

    fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Signing<'a>, OpError> {
        let order_len = self.0.curve().order_len();
        let (private, digest) = src.split_at_checked(order_len).ok_or(super::SHORT)?;
        let private = private_key(self.0.library, private)?;
        Ok(Signing { private, digest, signature: room(dst, 2 * order_len)?, result: Ok(()) })
    }

    fn run(&self, requests: &mut [Signing<'_>]) {
        let Sign(Place { lanes, library, group }, nonce) = *self;
        lanes.sign(nonce, (&library.order, group.order()), requests, |request| {
            library.sign(nonce, request.private, request.digest, request.signature)
        });
    }

    fn answer(request: &Signing<'_>) -> Result<usize, OpError> {
        request.result.map(|()| request.signature.len())
    }

    fn one(&self, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
        sign_one(self.0.library, self.1, src, dst)
    }
}

struct Verify(Place);

impl Kernel for Verify {
    type Request<'a> = Verifying<'a>;

    fn threshold(&self) -> usize {
        self.0.lanes.threshold(Operation::Verify)
    }

    fn request<'a>(&self, src: &'a [u8], _: &'a mut [u8]) -> Result<Verifying<'a>, OpError> {
        let curve = self.0.curve();
        let (point, rest) = split_point(curve, src)?;
        let (signature, digest) =
            rest.split_at_checked(2 * curve.order_len()).ok_or(super::SHORT)?;
        Ok(Verifying { public: coordinates(self.0.group, point)?, signature, digest, ok: false })
    }

    fn run(&self, requests: &mut [Verifying<'_>]) {
        self.0.lanes.verify(self.0.library.order.bits(), requests);
    }

    fn answer(request: &Verifying<'_>) -> Result<usize, OpError> {
        if request.ok { Ok(0) } else { Err(OpError::AuthFailed) }
    }

    fn one(&self, src: &[u8], _: &mut [u8]) -> Result<usize, OpError> {
        verify_one(self.0.library, src)
    }
}
