//! Batches on the curves that have names: what `ec` and `sm2` have in common.

use lookaside_simd::Cpu;

use crate::batch::{cut, room};
use crate::ec::group::Group;
use crate::ec::scalar;
#[cfg(target_arch = "x86_64")]
use crate::side_by_side;
use crate::{Item, Nonce, OpError};

/// A curve: how the sources of its operations are cut, and the library that does one at a time.
pub(crate) trait Named: Sync {
    fn group(&self) -> &dyn Group;

    /// Private keys are from 1 to below this number, which is as long as the order.
    fn limit(&self) -> &[u8];

    /// The kernel, where this CPU has one for the curve.
    #[cfg(target_arch = "x86_64")]
    fn kernel(&self, cpu: &Cpu) -> Option<lanes::Place<'_>>;

    /// Scalar and point of a multiplication.
    fn factors<'a>(&self, src: &'a [u8]) -> Result<[&'a [u8]; 2], OpError>;

    /// Bytes of a product.
    fn product_len(&self) -> usize;

    /// Private key and digest of a signature; in front of the digest is the nonce where it is given.
    fn signing<'a>(&self, nonce: Nonce, src: &'a [u8]) -> Result<[&'a [u8]; 2], OpError>;

    /// Public key, signature and digest.
    fn verifying<'a>(&self, src: &'a [u8]) -> Result<[&'a [u8]; 3], OpError>;

    /// `out` = scalar times point.
    fn multiply(&self, cofactor: bool, factors: [&[u8]; 2], out: &mut [u8]) -> Result<(), OpError>;

    /// `out` = scalar times point, as a point. Asks nothing of the point's order.
    fn product(&self, factors: [&[u8]; 2], out: &mut [u8]) -> Result<(), OpError>;

    /// `out` = r || s.
    fn sign(
        &self,
        nonce: Nonce,
        private: &[u8],
        digest: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpError>;

    /// [`OpError::AuthFailed`] for a wrong signature.
    fn verify(&self, point: &[u8], signature: &[u8], digest: &[u8]) -> Result<(), OpError>;
}

/// What a batch asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A key pair.
    Generate,
    /// A private key times the generator.
    Public,
    /// A scalar times a point.
    Multiply { cofactor: bool },
    /// The same; the product is a point on every curve.
    Product,
    /// A signature.
    Sign(Nonce),
    /// A verification.
    Verify,
}

/// Runs the batch: side by side where a kernel pays, else one by one.
pub(crate) fn run(cpu: &Cpu, curve: &dyn Named, operation: Operation, items: &mut [Item<'_>]) {
    let one = |src: &[u8], dst: &mut [u8]| one(curve, operation, src, dst);
    let _ = cpu;
    #[cfg(target_arch = "x86_64")]
    if let Some(place) = curve.kernel(cpu) {
        let from = place.lanes.threshold(operation);
        return match operation {
            Operation::Generate => side_by_side::run(&lanes::Generate(place), from, items, one),
            Operation::Public => side_by_side::run(&lanes::PublicKey(place), from, items, one),
            // The cofactor is one.
            Operation::Multiply { .. } => {
                side_by_side::run(&lanes::Multiply(place, curve.product_len()), from, items, one);
            }
            Operation::Product => {
                let len = 1 + 2 * curve.group().field_len();
                side_by_side::run(&lanes::Multiply(place, len), from, items, one);
            }
            Operation::Sign(nonce) => {
                side_by_side::run(&lanes::Sign(place, nonce), from, items, one);
            }
            Operation::Verify => side_by_side::run(&lanes::Verify(place), from, items, one),
        };
    }
    items.iter_mut().for_each(|item| item.run(one));
}

/// Runs an item by the curve's library.
fn one(
    curve: &dyn Named,
    operation: Operation,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize, OpError> {
    let group = curve.group();
    match operation {
        Operation::Generate => {
            let (private, point) = pair(curve, src, dst)?;
            scalar::draw(curve.limit(), private)?;
            group.multiply_generator(private, point)?;
            Ok(private.len() + point.len())
        }
        Operation::Public => {
            let dst = room(dst, 1 + 2 * group.field_len())?;
            group.multiply_generator(private_key(curve, src)?, dst)?;
            Ok(dst.len())
        }
        Operation::Multiply { cofactor } => {
            let factors = curve.factors(src)?;
            let dst = room(dst, curve.product_len())?;
            curve.multiply(cofactor, factors, dst)?;
            Ok(dst.len())
        }
        Operation::Product => {
            let factors = curve.factors(src)?;
            let dst = room(dst, 1 + 2 * group.field_len())?;
            curve.product(factors, dst)?;
            Ok(dst.len())
        }
        Operation::Sign(nonce) => {
            let [private, digest] = curve.signing(nonce, src)?;
            let dst = room(dst, 2 * group.order().len())?;
            curve.sign(nonce, private, digest, dst)?;
            Ok(dst.len())
        }
        Operation::Verify => {
            let [point, signature, digest] = curve.verifying(src)?;
            curve.verify(point, signature, digest).map(|()| 0)
        }
    }
}

/// Where the parts of a new key pair go, which is made from nothing.
fn pair<'a>(
    curve: &dyn Named,
    src: &[u8],
    dst: &'a mut [u8],
) -> Result<(&'a mut [u8], &'a mut [u8]), OpError> {
    let [] = cut(src, [])?;
    let o = curve.limit().len();
    Ok(room(dst, o + 1 + 2 * curve.group().field_len())?.split_at_mut(o))
}

/// `bytes`, if they are a private key of the curve.
pub(crate) fn private_key<'a>(curve: &dyn Named, bytes: &'a [u8]) -> Result<&'a [u8], OpError> {
    if bytes.len() != curve.limit().len() {
        return Err(OpError::BadInput("a private key of another length"));
    }
    if scalar::in_range(bytes, curve.limit()) {
        Ok(bytes)
    } else {
        Err(OpError::BadInput("the private key is zero or not below the limit of the curve"))
    }
}

/// The operations in the lanes of a vector.
#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes {
    use super::{Named, pair, private_key};
    use crate::batch::room;
    use crate::ec::group::Group;
    use crate::library::ec::PrimeGroup;
    use crate::modular::Modulus;
    use crate::nonce;
    use crate::side_by_side::Kernel;
    use crate::weierstrass::lanes::{
        FAILED, Generating, Lanes, Multiplying, Public, Signing, Verifying, coordinates,
        public_lane,
    };
    use crate::{Nonce, OpError};

    /// A curve that has a kernel.
    #[derive(Clone, Copy)]
    pub(crate) struct Place<'c> {
        pub(crate) curve: &'c dyn Named,
        pub(crate) lanes: Lanes,
        pub(crate) group: &'c PrimeGroup,
        pub(crate) order: &'c Modulus,
    }

    pub(super) struct Generate<'c>(pub(super) Place<'c>);

    impl Kernel for Generate<'_> {
        type Request<'a> = Generating<'a>;

        fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Generating<'a>, OpError> {
            let (private, point) = pair(self.0.curve, src, dst)?;
            Ok(Generating { private, point, result: Ok(()) })
        }

        fn run(&self, requests: &mut [Generating<'_>]) {
            self.0.lanes.generate(self.0.curve.limit(), requests);
        }

        fn answer(request: &Generating<'_>) -> Result<usize, OpError> {
            request.result.map(|()| request.private.len() + request.point.len())
        }
    }

    pub(super) struct PublicKey<'c>(pub(super) Place<'c>);

    impl Kernel for PublicKey<'_> {
        type Request<'a> = Public<'a>;

        fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Public<'a>, OpError> {
            let point = room(dst, 1 + 2 * self.0.group.field_len())?;
            Ok(public_lane(private_key(self.0.curve, src)?, point))
        }

        fn run(&self, requests: &mut [Public<'_>]) {
            self.0.lanes.public(requests);
        }

        fn answer(request: &Public<'_>) -> Result<usize, OpError> {
            if request.ok { Ok(1 + request.out.len()) } else { Err(FAILED) }
        }
    }

    /// With the bytes of a product.
    pub(super) struct Multiply<'c>(pub(super) Place<'c>, pub(super) usize);

    impl Kernel for Multiply<'_> {
        type Request<'a> = Multiplying<'a>;

        fn request<'a>(
            &self,
            src: &'a [u8],
            dst: &'a mut [u8],
        ) -> Result<Multiplying<'a>, OpError> {
            let Place { curve, group, .. } = self.0;
            let [private, peer] = curve.factors(src)?;
            let out = room(dst, self.1)?;
            Ok(Multiplying { private, peer: coordinates(group, peer)?, out, ok: false })
        }

        fn run(&self, requests: &mut [Multiplying<'_>]) {
            self.0.lanes.multiply(requests);
        }

        fn answer(request: &Multiplying<'_>) -> Result<usize, OpError> {
            if request.ok { Ok(request.out.len()) } else { Err(FAILED) }
        }
    }

    pub(super) struct Sign<'c>(pub(super) Place<'c>, pub(super) Nonce);

    impl Kernel for Sign<'_> {
        type Request<'a> = Signing<'a>;

        fn request<'a>(&self, src: &'a [u8], dst: &'a mut [u8]) -> Result<Signing<'a>, OpError> {
            let [private, digest] = self.0.curve.signing(self.1, src)?;
            let signature = room(dst, 2 * self.0.order.len())?;
            let (given, digest) = nonce::given(self.1, self.0.order, digest)?;
            Ok(Signing { private, given, digest, signature, result: Ok(()) })
        }

        fn run(&self, requests: &mut [Signing<'_>]) {
            let Sign(Place { curve, lanes, group, order }, nonce) = *self;
            lanes.sign(nonce, (order, group.order()), requests, |request| match nonce {
                Nonce::Given => Err(nonce::UNUSABLE),
                _ => curve.sign(nonce, request.private, request.digest, request.signature),
            });
        }

        fn answer(request: &Signing<'_>) -> Result<usize, OpError> {
            request.result.map(|()| request.signature.len())
        }
    }

    pub(super) struct Verify<'c>(pub(super) Place<'c>);

    impl Kernel for Verify<'_> {
        type Request<'a> = Verifying<'a>;

        fn request<'a>(&self, src: &'a [u8], _: &'a mut [u8]) -> Result<Verifying<'a>, OpError> {
            let [point, signature, digest] = self.0.curve.verifying(src)?;
            let public = coordinates(self.0.group, point)?;
            Ok(Verifying { public, signature, digest, ok: false })
        }

        fn run(&self, requests: &mut [Verifying<'_>]) {
            self.0.lanes.verify(self.0.order.bits(), requests);
        }

        fn answer(request: &Verifying<'_>) -> Result<usize, OpError> {
            if request.ok { Ok(0) } else { Err(OpError::AuthFailed) }
        }
    }
}
