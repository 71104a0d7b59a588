//! Elliptic curves with a name: key pairs, Diffie-Hellman and ECDSA.
//!
//! In every layout f is the curve's [`field_len`](Curve::field_len) and o its
//! [`order_len`](Curve::order_len). Private keys and the halves of signatures have o bytes; a
//! point is `0x04 || X || Y`, 1 + 2 f bytes, and where one is read its compressed form of 1 + f
//! bytes will do as well. What one reads is refused unless it is on the curve and finite.
//!
//! ```
//! use lookaside_pke::{Curve, Item, ec};
//! use lookaside_simd::Cpu;
//!
//! let curve = Curve::P256;
//! let mut pair = [0; 32 + 65];
//! let mut items = [Item::new(&[], &mut pair)];
//! ec::generate(Cpu::host(), curve, &mut items);
//! assert_eq!(items[0].result, Ok(32 + 65));
//!
//! // With oneself: the secret is the x of d d G.
//! let mut secret = [0; 32];
//! let mut items = [Item::new(&pair, &mut secret)];
//! ec::derive(Cpu::host(), curve, false, &mut items);
//! assert_eq!(items[0].result, Ok(32));
//! ```

use std::sync::OnceLock;

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::library::ec::PrimeGroup;
use crate::library::openssl::AnyGroup;
use crate::modular::Modulus;
use crate::nonce::{self, Nonces};
use crate::weierstrass::named::{self, Named, Operation, private_key};
use crate::{Curve, Item, Nonce, OpError, weierstrass};
#[cfg(target_arch = "x86_64")]
use {
    crate::weierstrass::lanes::{self, Lanes},
    crate::weierstrass::named::lanes::Place,
};

mod ecdsa;
pub(crate) mod group;
pub(crate) mod scalar;

pub use scalar::in_range;

use group::{Group, INFINITE, MAX_LEN, MAX_POINT, well_formed, x_of};

/// A curve's name in OpenSSL's tables.
fn openssl_name(curve: Curve) -> &'static str {
    match curve {
        Curve::P192 => "prime192v1",
        Curve::P224 => "secp224r1",
        Curve::P256 => "prime256v1",
        Curve::P384 => "secp384r1",
        Curve::P521 => "secp521r1",
        Curve::B163 => "sect163r2",
        Curve::B233 => "sect233r1",
        Curve::B283 => "sect283r1",
        Curve::B409 => "sect409r1",
        Curve::B571 => "sect571r1",
        Curve::K163 => "sect163k1",
        Curve::K233 => "sect233k1",
        Curve::K283 => "sect283k1",
        Curve::K409 => "sect409k1",
        Curve::K571 => "sect571k1",
        other => other.name(),
    }
}

/// The kernel's name of a curve.
#[cfg(target_arch = "x86_64")]
fn kernel_curve(curve: Curve) -> Option<lanes::Curve> {
    Some(match curve {
        Curve::P224 => lanes::Curve::P224,
        Curve::P256 => lanes::Curve::P256,
        Curve::P384 => lanes::Curve::P384,
        Curve::P521 => lanes::Curve::P521,
        _ => return None,
    })
}

/// Whether batches on this CPU run side by side, so that up to eight items are worth collecting.
pub fn has_kernel(cpu: &Cpu, curve: Curve) -> bool {
    #[cfg(target_arch = "x86_64")]
    return cpu.avx512().is_some() && kernel_curve(curve).is_some();
    #[cfg(not(target_arch = "x86_64"))]
    return {
        let _ = (cpu, curve);
        false
    };
}

/// Who computes on a curve.
///
/// Per operation, CPU time of AWS-LC 0.47 (the calls of `library::ec`) over that of OpenSSL 3.0.19
/// (EVP with keys made beforehand, which we never have), Sapphire Rapids, 2026-11:
///
/// | | ECDH | key pair | sign | verify |
/// |---|---|---|---|---|
/// | P-192 | 0.61 | 0.55 | 0.58 | 0.45 |
/// | P-224 | 0.79 | 0.68 | 0.67 | 0.74 |
/// | P-256 | 0.79 | 0.82 | 0.75 | 0.80 |
/// | P-384 | 0.22 | 0.08 | 0.11 | 0.33 |
/// | P-521 | 0.78 | 0.54 | 0.58 | 0.66 |
/// | secp256k1 | 0.63 | 0.61 | 0.63 | 0.62 |
/// | brainpoolP256r1 | 0.69 | 0.68 | 0.75 | 0.62 |
///
/// So OpenSSL gets the binary curves only, which AWS-LC does not have.
struct Library {
    named: Curve,
    curve: By,
    order: Modulus,
}

enum By {
    AwsLc(PrimeGroup),
    OpenSsl(AnyGroup),
}

impl Library {
    fn open(curve: Curve) -> Result<Library, OpError> {
        let name = openssl_name(curve);
        let by = match PrimeGroup::named(name) {
            Some(group) => By::AwsLc(group),
            None if curve == Curve::P192 => By::AwsLc(weierstrass::P192.prime_group()?),
            None => By::OpenSsl(AnyGroup::named(name)?),
        };
        let order = match &by {
            By::AwsLc(group) => group.order(),
            By::OpenSsl(group) => group.order(),
        };
        Ok(Library { named: curve, order: Modulus::new(order)?, curve: by })
    }

    fn of(curve: Curve) -> Result<&'static Library, OpError> {
        static OPEN: [OnceLock<Result<Library, OpError>>; Curve::ALL.len()] =
            [const { OnceLock::new() }; Curve::ALL.len()];
        let library = OPEN[curve as usize].get_or_init(|| Library::open(curve));
        library.as_ref().map_err(|error| *error)
    }
}

impl Named for Library {
    fn group(&self) -> &dyn Group {
        match &self.curve {
            By::AwsLc(group) => group,
            By::OpenSsl(group) => group,
        }
    }

    fn limit(&self) -> &[u8] {
        self.group().order()
    }

    #[cfg(target_arch = "x86_64")]
    fn kernel(&self, cpu: &Cpu) -> Option<Place<'_>> {
        let lanes = Lanes { token: cpu.avx512()?, curve: kernel_curve(self.named)? };
        match &self.curve {
            By::AwsLc(group) => Some(Place { curve: self, lanes, group, order: &self.order }),
            By::OpenSsl(_) => None,
        }
    }

    fn factors<'a>(&self, src: &'a [u8]) -> Result<[&'a [u8]; 2], OpError> {
        let (scalar, point) = src.split_at_checked(self.named.order_len()).ok_or(SHORT)?;
        Ok([private_key(self, scalar)?, point])
    }

    fn product_len(&self) -> usize {
        self.named.field_len()
    }

    fn signing<'a>(&self, _: Nonce, src: &'a [u8]) -> Result<[&'a [u8]; 2], OpError> {
        let (private, rest) = src.split_at_checked(self.named.order_len()).ok_or(SHORT)?;
        Ok([private_key(self, private)?, rest])
    }

    fn verifying<'a>(&self, src: &'a [u8]) -> Result<[&'a [u8]; 3], OpError> {
        let len = match src.first() {
            Some(2 | 3) => 1 + self.named.field_len(),
            _ => self.named.point_len(),
        };
        let (point, rest) = src.split_at_checked(len).ok_or(SHORT)?;
        if !well_formed(point, self.named.field_len()) {
            return Err(group::BAD_POINT);
        }
        let (signature, digest) = rest.split_at_checked(2 * self.named.order_len()).ok_or(SHORT)?;
        Ok([point, signature, digest])
    }

    fn multiply(
        &self,
        cofactor: bool,
        [private, peer]: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), OpError> {
        let group = self.group();
        let mut product = Zeroizing::new([0; MAX_POINT]);
        let product = &mut product[..self.named.point_len()];
        if group.cofactor() == 1 {
            group.multiply(private, peer, product)?;
        } else if cofactor {
            let mut scalar = Zeroizing::new([0; MAX_LEN + 1]);
            let scalar = &mut scalar[..private.len() + 1];
            scalar::multiply_small(private, group.cofactor(), scalar);
            group.multiply(scalar, peer, product)?;
        } else {
            check_order(group, peer)?;
            group.multiply(private, peer, product)?;
        }
        out.copy_from_slice(x_of(product, out.len()));
        Ok(())
    }

    fn product(&self, [scalar, point]: [&[u8]; 2], out: &mut [u8]) -> Result<(), OpError> {
        self.group().multiply(scalar, point, out)
    }

    fn sign(
        &self,
        nonce: Nonce,
        private: &[u8],
        digest: &[u8],
        out: &mut [u8],
    ) -> Result<(), OpError> {
        if let (By::AwsLc(group), Nonce::Hedged) = (&self.curve, nonce) {
            return group.sign(private, digest, out);
        }
        let signed = nonce::given(nonce, &self.order, digest)?.1;
        with_nonce(nonce, &self.order, private, digest, |k| match &self.curve {
            By::AwsLc(group) => group.sign_with_nonce(private, signed, k, out),
            By::OpenSsl(group) => ecdsa::sign(group, &self.order, private, signed, k, out),
        })
    }

    fn verify(&self, point: &[u8], signature: &[u8], digest: &[u8]) -> Result<(), OpError> {
        match &self.curve {
            By::AwsLc(group) => group.verify(point, signature, digest),
            By::OpenSsl(group) => ecdsa::verify(group, &self.order, point, signature, digest),
        }
    }
}

/// Calls `sign` with nonces until one gives a signature: with the first, save by a miracle.
pub(crate) fn with_nonce(
    nonce: Nonce,
    order: &Modulus,
    private: &[u8],
    digest: &[u8],
    mut sign: impl FnMut(&[u8]) -> Result<bool, OpError>,
) -> Result<(), OpError> {
    let mut nonces = Nonces::new(nonce, order, private, digest)?;
    let mut k = Zeroizing::new([0; MAX_LEN]);
    let k = &mut k[..order.len()];
    for _ in 0..8 {
        nonces.next(k)?;
        if sign(k)? {
            return Ok(());
        }
    }
    Err(OpError::Fault)
}

const SHORT: OpError = OpError::BadInput("the source is too short");

/// Runs the batch: side by side where a kernel pays, else one by one.
fn run(cpu: &Cpu, curve: Curve, operation: Operation, items: &mut [Item<'_>]) {
    match Library::of(curve) {
        Ok(library) => named::run(cpu, library, operation, items),
        Err(error) => items.iter_mut().for_each(|item| item.fail(error)),
    }
}

/// Makes key pairs: `src` is empty, `dst` = private key (o bytes) || point (1 + 2 f).
///
/// The private key is uniform in `[1, order)`.
pub fn generate(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    run(cpu, curve, Operation::Generate, items);
}

/// Public keys: `src` = private key (o bytes), `dst` = point (1 + 2 f).
///
/// [`OpError::BadInput`] for a private key that is zero or not below the order.
pub fn public(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    run(cpu, curve, Operation::Public, items);
}

/// Diffie-Hellman (SP 800-56A, 5.7.1.2): `src` = private key (o bytes) || the peer's point,
/// `dst` = X of their product (f bytes).
///
/// With `cofactor` the product is multiplied by the curve's cofactor, which is 2 or 4 for binary
/// curves and 1 for all others. Without it, a peer's point on a binary curve has to have the right
/// order, which costs as much again to check.
pub fn derive(cpu: &Cpu, curve: Curve, cofactor: bool, items: &mut [Item<'_>]) {
    run(cpu, curve, Operation::Multiply { cofactor }, items);
}

/// Multiples of points: `src` = scalar (o bytes) || point, `dst` = point. The scalar is in `[1, order)`, the
/// point may have any order.
pub fn multiply(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    run(cpu, curve, Operation::Product, items);
}

/// ECDSA (FIPS 186-5, 6.4.1): `src` = private key (o bytes) || digest, `dst` = r || s (2 o bytes). With
/// [`Nonce::Given`] the nonce (o bytes) is in front of the digest.
///
/// The digest may have any length; its leftmost bits count, as many as the order has.
///
/// [`Nonce::Hedged`] nonces are random ones into which the private key and the digest are mixed,
/// so that a generator that repeats itself gives nothing away. AWS-LC's `ECDSA_do_sign`, which
/// serves what goes one by one on prime curves, does so by giving SHA-512(private key || digest) to its
/// DRBG as additional input.
pub fn sign(cpu: &Cpu, curve: Curve, nonce: Nonce, items: &mut [Item<'_>]) {
    run(cpu, curve, Operation::Sign(nonce), items);
}

/// A hedged nonce (see [`sign`]) for a signature that is made elsewhere, into all of `out`: the private key and the nonce
/// are as long as the order, which is without zeros in front.
///
/// # Errors
/// Where the system has no random numbers.
pub fn hedged_nonce(
    private: &[u8],
    digest: &[u8],
    order: &[u8],
    out: &mut [u8],
) -> Result<(), OpError> {
    crate::nonce::Hedge::new()?.nonce(private, digest, order, out);
    Ok(())
}

/// Verifies ECDSA: `src` = point || r || s || digest, `dst` is not used.
///
/// `Ok(0)`, or [`OpError::AuthFailed`] for a wrong signature.
pub fn verify(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    run(cpu, curve, Operation::Verify, items);
}

/// Full validation of public keys (SP 800-56A, 5.6.2.3.3): `src` = point, `dst` is not used.
///
/// `Ok(0)`, or [`OpError::BadInput`] for a point that is not on the curve or of the wrong order.
pub fn check_point(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    let _ = cpu; // Nothing to gain side by side.
    for item in items {
        item.run(|src, _| {
            let group = Library::of(curve)?.group();
            group.check(src)?;
            if group.cofactor() != 1 {
                check_order(group, src)?;
            }
            Ok(0)
        });
    }
}

/// Whether order times `point`, which is public, is infinite.
///
/// A library may reduce scalars modulo what it takes for the order, and so find every point to be
/// of it. So the point is multiplied by one less, which has to give its negative.
pub(crate) fn check_order(group: &dyn Group, point: &[u8]) -> Result<(), OpError> {
    const WRONG: OpError = OpError::BadInput("the point has another order than the generator");
    let len = 1 + 2 * group.field_len();
    let (mut product, mut sum) = ([0; MAX_POINT], [0; MAX_POINT]);
    let mut below = [0; MAX_LEN];
    let below = &mut below[..group.order().len()];
    below.copy_from_slice(group.order());
    below[group.order().len() - 1] &= 0xfe; // The order is an odd prime.
    match group.multiply(below, point, &mut product[..len]) {
        Err(INFINITE) => return Err(WRONG),
        done => done?,
    }
    match group.add(&product[..len], point, &mut sum[..len]) {
        Err(INFINITE) => Ok(()),
        Ok(()) => Err(WRONG),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_facts_are_those_of_the_libraries() {
        for (index, curve) in Curve::ALL.into_iter().enumerate() {
            assert_eq!(curve as usize, index, "{curve}");
            let group = Library::of(curve).unwrap().group();
            let order = group.order();
            let bits = 8 * order.len() - order[0].leading_zeros() as usize;
            assert_eq!(bits, curve.order_bits(), "{curve}");
            assert_eq!(group.field_len(), curve.field_len(), "{curve}");
            assert!(curve.order_len() <= MAX_LEN && curve.field_len() <= MAX_LEN);
            let binary = (Curve::B163 as usize..=Curve::K571 as usize).contains(&index);
            assert_eq!(group.cofactor() > 1, binary, "{curve}");
        }
    }
}
