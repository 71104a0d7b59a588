//! Signatures, agreement and public keys over one curve, eight lanes at most at a time.

use super::bytes::{Words, load};
use super::curves::Shape;
use super::digits::{add, carry, is_zero, less, reduce_once, select, splat, sub, wipe, zero};
use super::field::{self, Field};
use super::inverse::inverse;
use super::multiply::{multiply_generator, multiply_point};
use super::point::{Affine, Point, add_complete};
use super::{Derive, Public, Sign, Verify};
use crate::lanes::{Lanes, declassify};

/// One byte string per lane. Lanes that are not there repeat the first; a string of another length
/// than `len` is read as empty, which is 0, and its lane is missing from the mask that comes back.
fn gather<'a, T>(
    lanes: &'a [T],
    len: usize,
    bytes: impl Fn(&'a T) -> &'a [u8],
    fits: &mut u8,
) -> [&'a [u8]; 8] {
    core::array::from_fn(|i| {
        let bytes = bytes(lanes.get(i).unwrap_or(&lanes[0]));
        if bytes.len() == len {
            bytes
        } else {
            *fits &= !(1 << i);
            &[]
        }
    })
}

/// Two halves of a string of `2 n` bytes, or nothing twice.
fn halves<'a>(strings: &[&'a [u8]; 8], n: usize) -> ([&'a [u8]; 8], [&'a [u8]; 8]) {
    (strings.map(|s| s.get(..n).unwrap_or(&[])), strings.map(|s| s.get(n..).unwrap_or(&[])))
}

/// Where 0 < k < n.
#[inline(always)]
fn in_range<F: Field<N>, L: Lanes, const N: usize>(k: &[L; N]) -> L::Mask {
    L::mask_and(L::mask_not(is_zero(*k)), less(*k, splat(&F::P)).0)
}

/// k where the mask is set, else 1: what does not count must not be an exception of the formulas.
#[inline(always)]
fn or_one<L: Lanes, const N: usize>(mask: L::Mask, k: [L; N]) -> [L; N] {
    let mut one = [0; N];
    one[0] = 1;
    select::<L, N>(mask, k, splat(&one))
}

/// Affine coordinates, below p, not in Montgomery form; 0 and 0 for infinity.
#[inline(always)]
fn to_affine<F: Field<N>, L: Lanes, const N: usize>(a: &Point<L, N>) -> ([L; N], [L; N]) {
    let inverted = inverse::<F, L, N>(&field::canonical::<F, L, N>(&a.z));
    let squared = field::square::<F, L, N>(&inverted);
    let cubed = field::mul::<F, L, N>(&squared, &inverted);
    (
        field::leave::<F, L, N>(&field::mul::<F, L, N>(&a.x, &squared)),
        field::leave::<F, L, N>(&field::mul::<F, L, N>(&a.y, &cubed)),
    )
}

/// What may leave a lane: x and y, zeros where the mask is not set, and the mask's bits. Without a
/// branch, though the mask becomes public: so that a tool that looks for branches on secrets need
/// not know.
struct Pair {
    x: Words,
    y: Words,
    good: u8,
}

impl Pair {
    #[inline(always)]
    fn new<L: Lanes, const N: usize>(good: L::Mask, x: [L; N], y: [L; N], fits: u8) -> Pair {
        // A string of the wrong length was read as 0, which may be a fine number: a digest of 0.
        let good = L::mask_and(good, L::mask_from_bits(fits));
        Pair {
            x: Words::new(&select::<L, N>(good, x, zero())),
            y: Words::new(&select::<L, N>(good, y, zero())),
            good: declassify(L::mask_bits(good)),
        }
    }

    /// Writes x || y to a lane's `dst` of `2 n` bytes, and says whether that is a result.
    fn write(&self, lane: usize, dst: &mut [u8], n: usize) -> bool {
        if dst.len() != 2 * n {
            dst.fill(0);
            return false;
        }
        let (x, y) = dst.split_at_mut(n);
        self.x.write(lane, x);
        self.y.write(lane, y);
        self.good >> lane & 1 == 1
    }
}

/// ECDSA: r = x(k G) mod n, s = (e + r d) / k. SM2: r = (e + x(k G)) mod n, s = (k - r d) / (1 + d).
#[inline(always)]
pub(super) fn sign<C: Shape<N>, L: Lanes, const N: usize>(lanes: &mut [Sign<'_>]) {
    let n = splat(&C::Order::P);
    let mut fits = u8::MAX;
    let d = load::<L, N>(&gather(lanes, C::BYTES, |l| l.private, &mut fits));
    let k = load::<L, N>(&gather(lanes, C::BYTES, |l| l.nonce, &mut fits));
    let e = load::<L, N>(&gather(lanes, C::BYTES, |l| l.digest, &mut fits));
    let valid = L::mask_and(in_range::<C::Order, L, N>(&d), in_range::<C::Order, L, N>(&k));
    let (mut d, mut k) = (or_one::<L, N>(valid, d), or_one::<L, N>(valid, k));

    let (point, _) = multiply_generator::<C, L, N>(&k);
    let inverted = inverse::<C::Prime, L, N>(&field::canonical::<C::Prime, L, N>(&point.z));
    let x = field::leave::<C::Prime, L, N>(&field::mul::<C::Prime, L, N>(
        &point.x,
        &field::square::<C::Prime, L, N>(&inverted),
    ));

    // In Montgomery form d is d R; a product of that with a plain number is plain, and `inverse` of
    // a plain number is R^2 over it, so a last product with it is in Montgomery form.
    let mut d_entered = field::enter::<C::Order, L, N>(&d);
    let (r, mut numerator, mut denominator, good) = if C::SM2 {
        // e + x is below 2^257, which `canonical` may be given.
        let r = field::canonical::<C::Order, L, N>(&carry(add(e, x)));
        let mut product = field::mul::<C::Order, L, N>(&r, &d_entered);
        let numerator = carry(add(sub(k, product), C::Order::multiple(2)));
        wipe(&mut product);
        // r + k = n would make s = k.
        let nonce_shows = is_zero(carry(sub(add(r, k), n)));
        let mut one = [0; N];
        one[0] = 1;
        // 1 + d = n makes s = 0, and the lane is refused below.
        let denominator = reduce_once(carry(add(d, splat(&one))), n);
        (r, numerator, denominator, L::mask_not(nonce_shows))
    } else {
        // x < p < 2 n.
        let r = reduce_once(x, n);
        let numerator = carry(add(field::mul::<C::Order, L, N>(&r, &d_entered), e));
        (r, numerator, k, valid)
    };
    let mut inverted = inverse::<C::Order, L, N>(&denominator);
    let s = field::leave::<C::Order, L, N>(&field::mul::<C::Order, L, N>(&numerator, &inverted));

    let good = L::mask_and(good, L::mask_not(L::mask_or(is_zero(r), is_zero(s))));
    let pair = Pair::new(L::mask_and(good, valid), r, s, fits);
    for (i, lane) in lanes.iter_mut().enumerate() {
        lane.ok = pair.write(i, lane.signature, C::BYTES);
    }
    for secret in [&mut d, &mut k, &mut d_entered, &mut numerator, &mut denominator, &mut inverted]
    {
        wipe(secret);
    }
}

/// ECDSA: with u1 = e / s and u2 = r / s, x(u1 G + u2 Q) = r mod n. SM2: with t = r + s,
/// (e + x(s G + t Q)) mod n = r.
#[inline(always)]
pub(super) fn verify<C: Shape<N>, L: Lanes, const N: usize>(lanes: &mut [Verify<'_>]) {
    let n = splat(&C::Order::P);
    let mut fits = u8::MAX;
    let public = halves(&gather(lanes, 2 * C::BYTES, |l| l.public, &mut fits), C::BYTES);
    let signature = halves(&gather(lanes, 2 * C::BYTES, |l| l.signature, &mut fits), C::BYTES);
    let e = load::<L, N>(&gather(lanes, C::BYTES, |l| l.digest, &mut fits));
    let (r, s) = (load::<L, N>(&signature.0), load::<L, N>(&signature.1));
    let valid = L::mask_and(in_range::<C::Order, L, N>(&r), in_range::<C::Order, L, N>(&s));
    let (r, s) = (or_one::<L, N>(valid, r), or_one::<L, N>(valid, s));

    // x is to be this modulo n; u2 is never 0 where the lane counts.
    let (expected, u1, u2, counts) = if C::SM2 {
        let t = reduce_once(carry(add(r, s)), n);
        let counts = L::mask_not(is_zero(t));
        // r - e + 2 n > 0, as e < 2^256 < 2 n.
        let difference = carry(add(sub(r, e), C::Order::multiple(2)));
        (field::canonical::<C::Order, L, N>(&difference), s, or_one::<L, N>(counts, t), counts)
    } else {
        let inverted = inverse::<C::Order, L, N>(&s);
        let u1 = field::leave::<C::Order, L, N>(&field::mul::<C::Order, L, N>(&e, &inverted));
        let u2 = field::leave::<C::Order, L, N>(&field::mul::<C::Order, L, N>(&r, &inverted));
        (r, u1, u2, valid)
    };

    let (first, first_infinity) = multiply_generator::<C, L, N>(&u1);
    let second = multiply_point::<C, L, N>(&u2, &load_point::<C, L, N>(&public));
    // u2 Q is not infinity, u1 G may be.
    let sum = add_complete::<C::Prime, L, N>(&first, &second);
    let sum = Point::select(first_infinity, &second, &sum);

    // x / z^2 = expected or expected + n, if that is below p.
    let zz = field::square::<C::Prime, L, N>(&sum.z);
    let wrapped = carry(add(expected, n));
    let wraps = less(wrapped, splat(&C::Prime::P)).0;
    let same = L::mask_or(
        has_x::<C::Prime, L, N>(&sum, &zz, &expected),
        L::mask_and(wraps, has_x::<C::Prime, L, N>(&sum, &zz, &wrapped)),
    );
    let finite = L::mask_not(field::is_zero::<C::Prime, L, N>(&sum.z));
    let good = L::mask_and(L::mask_and(valid, counts), L::mask_and(same, finite));
    let good = L::mask_bits(good) & fits;
    for (i, lane) in lanes.iter_mut().enumerate() {
        lane.ok = good >> i & 1 == 1;
    }
}

/// Where x / z^2 of a point is a number, not in Montgomery form.
#[inline(always)]
fn has_x<F: Field<N>, L: Lanes, const N: usize>(
    a: &Point<L, N>,
    zz: &[L; N],
    x: &[L; N],
) -> L::Mask {
    let x = field::mul::<F, L, N>(&field::enter::<F, L, N>(x), zz);
    field::is_zero::<F, L, N>(&carry(add(sub(a.x, x), F::multiple(2))))
}

/// Coordinates to Montgomery form.
#[inline(always)]
fn load_point<C: Shape<N>, L: Lanes, const N: usize>(
    (x, y): &([&[u8]; 8], [&[u8]; 8]),
) -> Affine<L, N> {
    Affine { x: load_residue::<C::Prime, L, N>(x), y: load_residue::<C::Prime, L, N>(y) }
}

/// A coordinate to Montgomery form.
#[inline(always)]
fn load_residue<F: Field<N>, L: Lanes, const N: usize>(strings: &[&[u8]; 8]) -> [L; N] {
    field::canonical::<F, L, N>(&field::enter::<F, L, N>(&load(strings)))
}

/// d P.
#[inline(always)]
pub(super) fn derive<C: Shape<N>, L: Lanes, const N: usize>(lanes: &mut [Derive<'_>]) {
    let mut fits = u8::MAX;
    let d = load::<L, N>(&gather(lanes, C::BYTES, |l| l.private, &mut fits));
    let peer = halves(&gather(lanes, 2 * C::BYTES, |l| l.peer, &mut fits), C::BYTES);
    let valid = in_range::<C::Order, L, N>(&d);
    let mut d = or_one::<L, N>(valid, d);
    let point = multiply_point::<C, L, N>(&d, &load_point::<C, L, N>(&peer));
    let (x, y) = to_affine::<C::Prime, L, N>(&point);
    let pair = Pair::new(valid, x, y, fits);
    for (i, lane) in lanes.iter_mut().enumerate() {
        lane.ok = pair.write(i, lane.out, C::BYTES);
    }
    wipe(&mut d);
}

/// d G.
#[inline(always)]
pub(super) fn public<C: Shape<N>, L: Lanes, const N: usize>(lanes: &mut [Public<'_>]) {
    let mut fits = u8::MAX;
    let d = load::<L, N>(&gather(lanes, C::BYTES, |l| l.private, &mut fits));
    let valid = in_range::<C::Order, L, N>(&d);
    let mut d = or_one::<L, N>(valid, d);
    let (point, _) = multiply_generator::<C, L, N>(&d);
    let (x, y) = to_affine::<C::Prime, L, N>(&point);
    let pair = Pair::new(valid, x, y, fits);
    for (i, lane) in lanes.iter_mut().enumerate() {
        lane.ok = pair.write(i, lane.out, C::BYTES);
    }
    wipe(&mut d);
}
