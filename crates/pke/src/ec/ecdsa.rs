//! ECDSA (FIPS 186-5, section 6) over a [`Group`], for libraries that do not bring it along.

use zeroize::Zeroizing;

use super::group::{Group, INFINITE, MAX_LEN, MAX_POINT, x_of};
use super::scalar::in_range;
use crate::OpError;
use crate::library::bignum::Scratch;
use crate::modular::Modulus;
use crate::nonce::number_of;

/// `out = r || s` by the given nonce, in `[1, order)`: with (x, y) = k G,
///
/// ```text
/// r = x mod n        s = k^-1 (e + d r) mod n
/// ```
///
/// `false`: r or s is zero, take another nonce.
pub(crate) fn sign(
    group: &dyn Group,
    order: &Modulus,
    private: &[u8],
    digest: &[u8],
    nonce: &[u8],
    out: &mut [u8],
) -> Result<bool, OpError> {
    let scratch = &mut Scratch::new()?;
    let mut point = Zeroizing::new([0; MAX_POINT]);
    let point = &mut point[..1 + 2 * group.field_len()];
    group.multiply_generator(nonce, point)?;
    let r = order.reduce(x_of(point, group.field_len()), scratch)?;
    let e = number_of(digest, order)?;
    let dr = order.multiply(&order.residue(private)?, &r, scratch)?;
    let sum = scratch.add_mod(&e, &dr, order.number())?;
    let inverse = order.inverse_prime(&order.residue(nonce)?, scratch)?;
    let s = order.multiply(&inverse, &sum, scratch)?;
    if r.is_zero() || s.is_zero() {
        return Ok(false);
    }
    let (r_out, s_out) = out.split_at_mut(group.order().len());
    r.to_bytes(r_out)?;
    s.to_bytes(s_out)?;
    Ok(true)
}

/// Whether `signature`, r || s, is that of `digest` by the owner of `point`: with w = s^-1 mod n,
/// the x of e w G + r w Q is r modulo n.
pub(crate) fn verify(
    group: &dyn Group,
    order: &Modulus,
    point: &[u8],
    signature: &[u8],
    digest: &[u8],
) -> Result<(), OpError> {
    group.check(point)?;
    let len = group.order().len();
    let (r, s) = signature.split_at(len);
    if !in_range(r, group.order()) || !in_range(s, group.order()) {
        return Err(OpError::AuthFailed);
    }
    let scratch = &mut Scratch::new()?;
    let r = order.residue(r)?;
    let w = order.inverse(&order.residue(s)?, scratch)?;
    let e = number_of(digest, order)?;
    let (mut u1, mut u2) = ([0; MAX_LEN], [0; MAX_LEN]);
    order.multiply(&e, &w, scratch)?.to_bytes(&mut u1[..len])?;
    order.multiply(&r, &w, scratch)?.to_bytes(&mut u2[..len])?;
    let mut sum = [0; MAX_POINT];
    let sum = &mut sum[..1 + 2 * group.field_len()];
    match group.multiply_add(&u1[..len], &u2[..len], point, sum) {
        Err(INFINITE) => return Err(OpError::AuthFailed),
        done => done?,
    }
    let x = order.reduce(x_of(sum, group.field_len()), scratch)?;
    if x.compare(&r).is_eq() { Ok(()) } else { Err(OpError::AuthFailed) }
}
