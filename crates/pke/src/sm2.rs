//! SM2 (GB/T 32918, ISO/IEC 14888-3): key pairs, signatures, encryption and key exchange.
//!
//! Numbers have 32 bytes, points 65 (`0x04 || X || Y`), and what is read as a point is refused
//! unless it is on the curve. Private keys are in `[1, n - 2]`, n being the order. Where there
//! is a kernel, signatures, keys and multiples take it, down to single items: AWS-LC has the curve on
//! its general arithmetic only, 0.63 of the time that OpenSSL's takes; hashing is OpenSSL's SM3.
//!
//! ```
//! use lookaside_pke::{Item, sm2};
//! use lookaside_simd::Cpu;
//!
//! let mut pair = [0; sm2::LEN + sm2::POINT_LEN];
//! let mut items = [Item::new(&[], &mut pair)];
//! sm2::generate(Cpu::host(), &mut items);
//! assert!(items[0].result.is_ok());
//!
//! let (private, point) = pair.split_at(sm2::LEN);
//! let e = sm2::digest(sm2::DEFAULT_ID, point, b"message").unwrap();
//! let mut signature = [0; 64];
//! let src = [private, &e].concat();
//! let mut items = [Item::new(&src, &mut signature)];
//! sm2::sign(Cpu::host(), &mut items);
//! assert_eq!(items[0].result, Ok(64));
//!
//! let src = [point, &signature, &e].concat();
//! let mut items = [Item::new(&src, &mut [])];
//! sm2::verify(Cpu::host(), &mut items);
//! assert_eq!(items[0].result, Ok(0));
//! ```

use std::sync::OnceLock;

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::batch::{cut, room};
use crate::ec::group::{BAD_POINT, Group, INFINITE, x_of};
use crate::ec::{scalar, with_nonce};
use crate::library::bignum::Scratch;
use crate::library::ec::PrimeGroup;
use crate::library::openssl::sm3;
use crate::modular::Modulus;
use crate::nonce;
use crate::weierstrass::named::{self, Named, Operation, private_key};
use crate::{Item, Nonce, OpError, weierstrass};
#[cfg(target_arch = "x86_64")]
use {
    crate::weierstrass::lanes::{self, Lanes},
    crate::weierstrass::named::lanes::Place,
};

mod cipher;
mod exchange;

pub use cipher::{Form, decrypt, encrypt};
pub use exchange::exchange;

/// Bytes of a private key, of a scalar, of a coordinate, and of an SM3 digest.
pub const LEN: usize = 32;

/// Bytes of a point.
pub const POINT_LEN: usize = 65;

/// The identity that stands for every signer where nobody has agreed on others (GB/T 35276).
pub const DEFAULT_ID: &[u8] = b"1234567812345678";

type Point = [u8; POINT_LEN];

/// The curve, and its order in the forms that the formulas need.
struct Parts {
    group: PrimeGroup,
    order: Modulus,
    /// n - 1: private keys are below it.
    limit: [u8; LEN],
}

impl Parts {
    fn new() -> Result<Parts, OpError> {
        let group = weierstrass::SM2.prime_group()?;
        let order = Modulus::new(group.order())?;
        let mut limit = [0; LEN];
        limit.copy_from_slice(group.order());
        limit[LEN - 1] -= 1; // n is odd.
        Ok(Parts { group, order, limit })
    }

    fn of() -> Result<&'static Parts, OpError> {
        static PARTS: OnceLock<Result<Parts, OpError>> = OnceLock::new();
        PARTS.get_or_init(Parts::new).as_ref().map_err(|error| *error)
    }

    /// Draws a private key and multiplies the generator by it.
    fn draw(&self, private: &mut [u8], point: &mut [u8]) -> Result<(), OpError> {
        scalar::draw(&self.limit, private)?;
        self.group.multiply_generator(private, point)
    }
}

impl Named for Parts {
    fn group(&self) -> &dyn Group {
        &self.group
    }

    fn limit(&self) -> &[u8] {
        &self.limit
    }

    #[cfg(target_arch = "x86_64")]
    fn kernel(&self, cpu: &Cpu) -> Option<Place<'_>> {
        let lanes = Lanes { token: cpu.avx512()?, curve: lanes::Curve::Sm2 };
        Some(Place { curve: self, lanes, group: &self.group, order: &self.order })
    }

    fn factors<'a>(&self, src: &'a [u8]) -> Result<[&'a [u8]; 2], OpError> {
        let [scalar, point] = cut(src, [LEN, POINT_LEN])?;
        if !scalar::in_range(scalar, self.group.order()) {
            return Err(OpError::BadInput("the scalar is zero or not below the order"));
        }
        Ok([scalar, point])
    }

    fn product_len(&self) -> usize {
        POINT_LEN
    }

    fn signing<'a>(&self, nonce: Nonce, src: &'a [u8]) -> Result<[&'a [u8]; 2], OpError> {
        let [private, rest] = cut(src, [LEN, if nonce == Nonce::Given { 2 * LEN } else { LEN }])?;
        Ok([private_key(self, private)?, rest])
    }

    fn verifying<'a>(&self, src: &'a [u8]) -> Result<[&'a [u8]; 3], OpError> {
        cut(src, [POINT_LEN, 2 * LEN, LEN])
    }

    fn multiply(
        &self,
        _: bool,
        [scalar, point]: [&[u8]; 2],
        out: &mut [u8],
    ) -> Result<(), OpError> {
        self.group.multiply(scalar, point, out)
    }

    fn product(&self, [scalar, point]: [&[u8]; 2], out: &mut [u8]) -> Result<(), OpError> {
        self.group.multiply(scalar, point, out)
    }

    fn sign(&self, nonce: Nonce, private: &[u8], e: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let signed = nonce::given(nonce, &self.order, e)?.1;
        with_nonce(nonce, &self.order, private, e, |k| sign_by(self, private, signed, k, out))
    }

    fn verify(&self, point: &[u8], signature: &[u8], e: &[u8]) -> Result<(), OpError> {
        let Parts { group, order: n, .. } = self;
        group.check(point)?;
        let (r, s) = signature.split_at(LEN);
        if [r, s].iter().any(|half| !scalar::in_range(half, group.order())) {
            return Err(OpError::AuthFailed);
        }
        let scratch = &mut Scratch::new()?;
        let r = n.residue(r)?;
        let t = scratch.add_mod(&r, &n.residue(s)?, n.number())?;
        if t.is_zero() {
            return Err(OpError::AuthFailed);
        }
        let mut t_bytes = [0; LEN];
        t.to_bytes(&mut t_bytes)?;
        let mut sum: Point = [0; POINT_LEN];
        match group.multiply_add(s, &t_bytes, point, &mut sum) {
            Err(INFINITE) => return Err(OpError::AuthFailed),
            done => done?,
        }
        let x = n.reduce(x_of(&sum, LEN), scratch)?;
        let e = n.reduce(e, scratch)?;
        let expected = scratch.add_mod(&e, &x, n.number())?;
        if expected.compare(&r).is_eq() { Ok(()) } else { Err(OpError::AuthFailed) }
    }
}

/// Runs the batch: side by side where a kernel pays, else one by one.
fn run(cpu: &Cpu, operation: Operation, items: &mut [Item<'_>]) {
    match Parts::of() {
        Ok(parts) => named::run(cpu, parts, operation, items),
        Err(error) => items.iter_mut().for_each(|item| item.fail(error)),
    }
}

/// Whether batches of key pairs, public keys, multiples, signatures and verifications run side by
/// side on this CPU, so that up to eight items are worth collecting.
pub fn has_kernel(cpu: &Cpu) -> bool {
    cfg!(target_arch = "x86_64") && cpu.avx512().is_some()
}

/// Makes key pairs: `src` is empty, `dst` = private || point. Phase 1 of a key exchange makes its
/// ephemeral pair by this too.
pub fn generate(cpu: &Cpu, items: &mut [Item<'_>]) {
    run(cpu, Operation::Generate, items);
}

/// Public keys: `src` = private, `dst` = point.
pub fn public(cpu: &Cpu, items: &mut [Item<'_>]) {
    run(cpu, Operation::Public, items);
}

/// Multiples of points: `src` = scalar || point, `dst` = point. The scalar is in `[1, n)`.
pub fn multiply(cpu: &Cpu, items: &mut [Item<'_>]) {
    run(cpu, Operation::Multiply { cofactor: false }, items);
}

/// The digest that ties a signer's identity and public key to the curve, Z of GB/T 32918.2, 5.5:
/// SM3 of the identity's length in bits, the identity, a, b, the generator and the public key.
///
/// `id` has up to 8191 bytes.
pub fn identity_digest(id: &[u8], point: &[u8]) -> Result<[u8; LEN], OpError> {
    let bits = u16::try_from(8 * id.len());
    let bits = bits.map_err(|_| OpError::BadInput("an identity of more than 8191 bytes"))?;
    if point.len() != POINT_LEN {
        return Err(BAD_POINT);
    }
    Parts::of()?.group.check(point)?;
    let weierstrass::Params { a, b, gx, gy, .. } = weierstrass::SM2;
    sm3(&[&bits.to_be_bytes(), id, a, b, gx, gy, &point[1..]])
}

/// The [`identity_digest`] of each item: `src` = point || identity, `dst` = digest.
pub fn identity(items: &mut [Item<'_>]) {
    for item in items {
        item.run(|src, dst| {
            let [point, id] = cut(src, [POINT_LEN, src.len().wrapping_sub(POINT_LEN)])?;
            room(dst, LEN)?.copy_from_slice(&identity_digest(id, point)?);
            Ok(LEN)
        });
    }
}

/// The digest e that is signed: SM3 of the signer's [`identity_digest`] and the message.
pub fn digest(id: &[u8], point: &[u8], message: &[u8]) -> Result<[u8; LEN], OpError> {
    sm3(&[&identity_digest(id, point)?, message])
}

/// Signs (GB/T 32918.2, 6.1): `src` = private || e, `dst` = r || s.
///
/// With a nonce k, (x, y) = k G and d the private key,
///
/// ```text
/// r = e + x mod n        s = (1 + d)^-1 (k - r d) mod n
/// ```
pub fn sign(cpu: &Cpu, items: &mut [Item<'_>]) {
    sign_with(cpu, Nonce::Hedged, items);
}

/// The same with another kind of nonce; with [`Nonce::Given`] it is in front of e, 32 bytes.
pub fn sign_with(cpu: &Cpu, nonce: Nonce, items: &mut [Item<'_>]) {
    run(cpu, Operation::Sign(nonce), items);
}

/// `false`: k gives no signature, take another one.
fn sign_by(
    parts: &Parts,
    private: &[u8],
    e: &[u8],
    k: &[u8],
    out: &mut [u8],
) -> Result<bool, OpError> {
    let (n, scratch) = (&parts.order, &mut Scratch::new()?);
    let mut point = Zeroizing::new([0; POINT_LEN]);
    parts.group.multiply_generator(k, &mut *point)?;
    let (d, k) = (n.residue(private)?, n.residue(k)?);
    let x = n.reduce(x_of(&*point, LEN), scratch)?;
    let e = n.reduce(e, scratch)?;
    let r = scratch.add_mod(&e, &x, n.number())?;
    let rd = n.multiply(&r, &d, scratch)?;
    let difference = scratch.sub_mod(&k, &rd, n.number())?;
    let one = n.reduce(&[1], scratch)?;
    let inverse = n.inverse_prime(&scratch.add_mod(&d, &one, n.number())?, scratch)?;
    let s = n.multiply(&inverse, &difference, scratch)?;
    let sum = scratch.add_mod(&r, &k, n.number())?;
    if r.is_zero() || sum.is_zero() || s.is_zero() {
        return Ok(false);
    }
    let (r_out, s_out) = out.split_at_mut(LEN);
    r.to_bytes(r_out)?;
    s.to_bytes(s_out)?;
    Ok(true)
}

/// Verifies (GB/T 32918.2, 7.1): `src` = point || r || s || e, `dst` is not used.
///
/// `Ok(0)`, or [`OpError::AuthFailed`]: r is not e + x mod n for (x, y) = s G + (r + s) P.
pub fn verify(cpu: &Cpu, items: &mut [Item<'_>]) {
    run(cpu, Operation::Verify, items);
}

/// The key derivation of GB/T 32918.4, 5.4.3, which is that of ANSI X9.63 with SM3: xored into
/// `out`. Returns whether all of its bytes were zero.
fn xor_derived([a, b, c, d]: [&[u8]; 4], out: &mut [u8]) -> Result<bool, OpError> {
    let mut any = 0;
    for (counter, block) in (1u32..).zip(out.chunks_mut(LEN)) {
        let key = Zeroizing::new(sm3(&[a, b, c, d, &counter.to_be_bytes()])?);
        for (byte, key) in block.iter_mut().zip(key.iter()) {
            *byte ^= key;
            any |= key;
        }
    }
    Ok(std::hint::black_box(any) == 0)
}
