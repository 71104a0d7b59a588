//! The kernel of short Weierstrass curves: what the curves with a name and SM2 ask of it.

use std::ops::Deref;

use lookaside_pke_kernel::weierstrass as kernel;
use lookaside_simd::Avx512;
use zeroize::{Zeroize, Zeroizing};

use crate::batch::{LANES, PerLane};
use crate::ec::group::{Group, x_of};
use crate::ec::scalar;
use crate::library::ec::PrimeGroup;
use crate::modular::Modulus;
use crate::nonce::{Hedge, Nonces, leftmost_bits};
use crate::weierstrass::named::Operation;
use crate::{Nonce, OpError, random};

pub(crate) use lookaside_pke_kernel::weierstrass::{Curve, Public};

/// The longest coordinate: that of P-521.
const MAX_LEN: usize = 66;

/// A curve and the right to use its kernel.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lanes {
    pub(crate) token: Avx512,
    pub(crate) curve: Curve,
}

/// A signature to be made.
pub(crate) struct Signing<'a> {
    /// From 1 to the order - 1.
    pub(crate) private: &'a [u8],
    /// The nonce, with [`Nonce::Given`].
    pub(crate) given: &'a [u8],
    /// Of any length.
    pub(crate) digest: &'a [u8],
    /// Where r || s goes.
    pub(crate) signature: &'a mut [u8],
    pub(crate) result: Result<(), OpError>,
}

/// A signature to be verified.
pub(crate) struct Verifying<'a> {
    /// X || Y, on the curve.
    pub(crate) public: Coordinates<'a>,
    /// r || s.
    pub(crate) signature: &'a [u8],
    /// Of any length.
    pub(crate) digest: &'a [u8],
    pub(crate) ok: bool,
}

/// A private key times a point.
pub(crate) struct Multiplying<'a> {
    /// From 1 to the order - 1.
    pub(crate) private: &'a [u8],
    /// X || Y, on the curve.
    pub(crate) peer: Coordinates<'a>,
    /// Where the product goes: its X where there is room for a coordinate only, else
    /// 0x04 || X || Y.
    pub(crate) out: &'a mut [u8],
    pub(crate) ok: bool,
}

/// A key pair to be made.
pub(crate) struct Generating<'a> {
    /// Where the private key goes.
    pub(crate) private: &'a mut [u8],
    /// Where 0x04 || X || Y goes.
    pub(crate) point: &'a mut [u8],
    pub(crate) result: Result<(), OpError>,
}

/// What the kernel answers where nothing is wrong that it was not asked before.
pub(crate) const FAILED: OpError = OpError::Library("the curve kernel");

impl Lanes {
    /// From how many lanes in use on the kernel takes less time than AWS-LC one by one.
    ///
    /// Eight lanes take as long as so many items one by one (Sapphire Rapids, 2026-11; `--bench
    /// curves`):
    ///
    /// | | public key | sign | point | verify |
    /// |---|---|---|---|---|
    /// | P-224 | 0.75 | 0.70 | 1.61 | 1.35 |
    /// | P-256 | 1.30 | 1.23 | 1.54 | 1.31 |
    /// | P-384 | 0.86 | 0.69 | 1.85 | 1.52 |
    /// | P-521 | 0.83 | 0.57 | 1.72 | 1.34 |
    /// | SM2 | 0.08 | 0.10 | 0.41 | 0.23 |
    pub(crate) fn threshold(self, operation: Operation) -> usize {
        match (self.curve, operation) {
            (Curve::Sm2, _) => 1,
            (Curve::P256, _)
            | (_, Operation::Multiply { .. } | Operation::Product | Operation::Verify) => 2,
            (_, Operation::Generate | Operation::Public | Operation::Sign(_)) => 1,
        }
    }

    /// Signs by nonces of the given kind. Where the kernel makes no signature, because r or s came
    /// out 0, which nobody will live to see, `one` does.
    pub(crate) fn sign(
        self,
        nonce: Nonce,
        order: (&Modulus, &[u8]),
        requests: &mut [Signing<'_>],
        one: impl Fn(&mut Signing<'_>) -> Result<(), OpError>,
    ) {
        let len = self.curve.len();
        let mut nonces = Zeroizing::new([0; LANES * MAX_LEN]);
        if let Err(error) = draw(nonce, order, requests, &mut nonces[..requests.len() * len]) {
            requests.iter_mut().for_each(|request| request.result = Err(error));
            return;
        }
        let mut digests = [0; LANES * MAX_LEN];
        let mut lanes: PerLane<_> = requests
            .iter_mut()
            .zip(digests.chunks_mut(len))
            .zip(nonces.chunks(len))
            .map(|((Signing { private, digest, signature, .. }, bits), nonce)| {
                leftmost_bits(digest, order.0.bits(), bits);
                kernel::Sign { private, nonce, digest: bits, signature, ok: false }
            })
            .collect();
        kernel::sign_avx512(self.token, self.curve, &mut lanes);
        let signed: PerLane<bool> = lanes.into_iter().map(|lane| lane.ok).collect();
        for (request, signed) in requests.iter_mut().zip(signed) {
            request.result = if signed { Ok(()) } else { one(request) };
        }
    }

    /// Verifies.
    pub(crate) fn verify(self, order_bits: usize, requests: &mut [Verifying<'_>]) {
        let mut digests = [0; LANES * MAX_LEN];
        let mut lanes: PerLane<_> = requests
            .iter()
            .zip(digests.chunks_mut(self.curve.len()))
            .map(|(Verifying { public, signature, digest, .. }, bits)| {
                leftmost_bits(digest, order_bits, bits);
                kernel::Verify { public, digest: bits, signature, ok: false }
            })
            .collect();
        kernel::verify_avx512(self.token, self.curve, &mut lanes);
        let verified: PerLane<bool> = lanes.into_iter().map(|lane| lane.ok).collect();
        for (request, verified) in requests.iter_mut().zip(verified) {
            request.ok = verified;
        }
    }

    /// Multiplies points.
    pub(crate) fn multiply(self, requests: &mut [Multiplying<'_>]) {
        let len = self.curve.len();
        let mut products = [[0; 1 + 2 * MAX_LEN]; LANES];
        let mut lanes: PerLane<_> = requests
            .iter()
            .zip(&mut products)
            .map(|(Multiplying { private, peer, .. }, product)| kernel::Derive {
                private,
                peer,
                out: &mut product[1..1 + 2 * len],
                ok: false,
            })
            .collect();
        kernel::derive_avx512(self.token, self.curve, &mut lanes);
        let multiplied: PerLane<bool> = lanes.into_iter().map(|lane| lane.ok).collect();
        for ((request, product), ok) in requests.iter_mut().zip(&mut products).zip(multiplied) {
            request.ok = ok;
            product[0] = 4;
            if ok {
                let product = &product[..1 + 2 * len];
                let all = request.out.len() == product.len();
                request.out.copy_from_slice(if all { product } else { x_of(product, len) });
            }
        }
        products.zeroize();
    }

    /// Makes key pairs: private keys from 1 to `limit` - 1, from one draw of the generator.
    pub(crate) fn generate(self, limit: &[u8], requests: &mut [Generating<'_>]) {
        let mut drawn = Zeroizing::new([0; LANES * MAX_LEN]);
        let drawn = &mut drawn[..requests.len() * limit.len()];
        let filled = random::fill(drawn);
        for (request, drawn) in requests.iter_mut().zip(drawn.chunks_mut(limit.len())) {
            drawn[0] &= 0xff >> limit[0].leading_zeros();
            request.result = filled;
            if filled.is_ok() && !scalar::in_range(drawn, limit) {
                request.result = scalar::draw(limit, drawn);
            }
            request.private.copy_from_slice(drawn);
        }
        if let Some(error) = requests.iter().find_map(|request| request.result.err()) {
            for request in requests {
                request.private.fill(0);
                request.result = Err(error);
            }
            return;
        }
        let mut lanes: PerLane<_> = requests
            .iter_mut()
            .map(|Generating { private, point, .. }| public_lane(private, point))
            .collect();
        self.public(&mut lanes);
        let made: PerLane<bool> = lanes.into_iter().map(|lane| lane.ok).collect();
        for (request, made) in requests.iter_mut().zip(made) {
            if !made {
                request.private.fill(0);
                request.result = Err(FAILED);
            }
        }
    }

    /// Multiplies the generator: public keys.
    pub(crate) fn public(self, requests: &mut [Public<'_>]) {
        kernel::public_avx512(self.token, self.curve, requests);
    }
}

/// A nonce for each request, one after the other.
fn draw(
    kind: Nonce,
    (order, order_bytes): (&Modulus, &[u8]),
    requests: &[Signing<'_>],
    nonces: &mut [u8],
) -> Result<(), OpError> {
    let nonces = requests.iter().zip(nonces.chunks_mut(order_bytes.len()));
    match kind {
        Nonce::Hedged => {
            let mut hedge = Hedge::new()?;
            for (request, nonce) in nonces {
                hedge.nonce(request.private, request.digest, order_bytes, nonce);
            }
        }
        Nonce::Given => {
            for (request, nonce) in nonces {
                nonce.copy_from_slice(request.given);
            }
        }
        Nonce::Deterministic(_) => {
            for (Signing { private, digest, .. }, nonce) in nonces {
                Nonces::new(kind, order, private, digest)?.next(nonce)?;
            }
        }
    }
    Ok(())
}

/// A point as the kernel wants it: X || Y, on the curve, which it does not check.
pub(crate) enum Coordinates<'a> {
    Given(&'a [u8]),
    /// Of the second number of bytes.
    Decompressed([u8; 2 * MAX_LEN], usize),
}

impl Deref for Coordinates<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Coordinates::Given(bytes) => bytes,
            Coordinates::Decompressed(bytes, len) => &bytes[..*len],
        }
    }
}

/// The coordinates of an encoded point, which is checked.
pub(crate) fn coordinates<'a>(
    group: &PrimeGroup,
    point: &'a [u8],
) -> Result<Coordinates<'a>, OpError> {
    if point.first() == Some(&4) {
        group.check(point)?;
        return Ok(Coordinates::Given(&point[1..]));
    }
    let (mut whole, len) = ([0; 1 + 2 * MAX_LEN], 2 * group.field_len());
    group.decompress(point, &mut whole[..1 + len])?;
    let mut bytes = [0; 2 * MAX_LEN];
    bytes.copy_from_slice(&whole[1..]);
    Ok(Coordinates::Decompressed(bytes, len))
}

/// A lane for a public key: `point` is where 0x04 || X || Y goes.
pub(crate) fn public_lane<'a>(private: &'a [u8], point: &'a mut [u8]) -> Public<'a> {
    let (form, out) = point.split_at_mut(1);
    form[0] = 4;
    Public { private, out, ok: false }
}
