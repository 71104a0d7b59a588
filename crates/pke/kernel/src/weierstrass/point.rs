//! Points of y^2 = x^3 - 3 x + b in Jacobian coordinates: (x, y, z) is (x / z^2, y / z^3).
//!
//! Bounds in units of p, for R = 16 p (the tightest case); a product is below a b / 16 + 1. Every
//! function takes and gives x below 1.01, y below 2 and z below 2.7, carried.
//!
//! None of the formulas is complete. Whoever calls them says why the exceptions do not occur, or
//! selects another result where they do.

use super::digits::{add, carry, double, select, splat, sub};
use super::field::{self, Field};
use crate::lanes::{Lanes, Outline};

/// A point; z = 0 is infinity.
#[derive(Clone, Copy)]
pub(super) struct Point<L, const N: usize> {
    pub(super) x: [L; N],
    pub(super) y: [L; N],
    pub(super) z: [L; N],
}

/// A point with z = 1, coordinates below p.
#[derive(Clone, Copy)]
pub(super) struct Affine<L, const N: usize> {
    pub(super) x: [L; N],
    pub(super) y: [L; N],
}

impl<L: Lanes, const N: usize> Point<L, N> {
    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub(super) fn select(mask: L::Mask, a: &Self, b: &Self) -> Self {
        Point {
            x: select::<L, N>(mask, a.x, b.x),
            y: select::<L, N>(mask, a.y, b.y),
            z: select::<L, N>(mask, a.z, b.z),
        }
    }
}

impl<L: Lanes, const N: usize> Affine<L, N> {
    /// With z = 1.
    #[inline(always)]
    pub(super) fn to_point<F: Field<N>>(self) -> Point<L, N> {
        Point { x: self.x, y: self.y, z: splat(&F::ONE) }
    }

    /// -`self` where the mask is set. p - y is at most p.
    #[inline(always)]
    pub(super) fn negate_if<F: Field<N>>(self, mask: L::Mask) -> Self {
        let minus = carry(sub(splat(&F::P), self.y));
        Affine { x: self.x, y: select::<L, N>(mask, minus, self.y) }
    }
}

/// 2 `a`: 4 products and 4 squares, of which one product and one square share a reduction. Doubling
/// infinity gives infinity. There is no other exception: the order is odd.
#[inline(always)]
pub(super) fn double_inline<F: Field<N>, L: Lanes, const N: usize>(a: &Point<L, N>) -> Point<L, N> {
    let delta = F::square(&a.z); // 1.46
    let gamma2 = carry(double(F::square_raw(&a.y))); // 2 y^2: 2.5
    let less = carry(add(sub(a.x, delta), F::multiple(2))); // 3.01
    let more = carry(add(a.x, delta)); // 2.5
    let alpha_third = F::mul_raw(&less, &more);
    let alpha = carry(add(double(alpha_third), alpha_third)); // 4.5
    let beta4 = double(F::mul_raw(&a.x, &gamma2)); // 4 x y^2, raw: 2.4
    let x = F::settle(sub(F::square_raw(&alpha), double(beta4))); // from -4.8 to 2.3
    let rest = carry(add(sub(beta4, x), F::multiple(F::ROOM))); // 4.4
    // alpha (4 beta - x) - 8 y^4 = alpha rest + gamma2 (-2 gamma2), below 2.1 + 2.5 * 6 / 16.
    let minus = carry(sub(F::multiple(6), double(gamma2)));
    let y = F::settle(F::mul_add_raw(&alpha, &rest, &gamma2, &minus));
    let z = carry(double(F::mul_raw(&a.y, &a.z))); // 2 (2 * 2.7 / 16 + 1) = 2.68
    Point { x, y, z }
}

/// What two additions have in common: from U1, H = U2 - U1, R = S2 - S1 and -S1 the coordinates x
/// and y of the sum. U1 below 1.1, H and R below 3.2, -S1 below 2.
#[inline(always)]
fn chord<F: Field<N>, L: Lanes, const N: usize>(
    u1: &[L; N],
    h: &[L; N],
    r: &[L; N],
    minus_s1: &[L; N],
) -> ([L; N], [L; N]) {
    let hh = F::square(h); // 1.7
    let hhh = F::mul(h, &hh); // 1.4
    let v = F::mul_raw(u1, &hh); // 1.2
    let x = F::settle(sub(sub(F::square_raw(r), hhh), double(v))); // from -3.8 to 1.7
    let rest = carry(add(sub(v, x), F::multiple(F::ROOM))); // 3.2
    let y = carry(F::mul_add_raw(r, &rest, minus_s1, &hhh)); // (3.2 * 3.2 + 2 * 1.4) / 16 + 1
    (x, y)
}

/// a + b: 8 products, 3 squares. Wrong where a or b is infinity; where a = b, z comes out 0, as it
/// should where a = -b.
#[inline(always)]
pub(super) fn add_affine_inline<F: Field<N>, L: Lanes, const N: usize>(
    a: &Point<L, N>,
    b: &Affine<L, N>,
) -> Point<L, N> {
    let zz = F::square(&a.z); // 1.46
    let h = carry(add(sub(F::mul_raw(&b.x, &zz), a.x), F::multiple(F::ROOM))); // 3.1
    let zzz = F::mul(&a.z, &zz); // 1.25
    let minus_s1 = carry(sub(F::multiple(F::ROOM), a.y)); // 2
    let r = carry(add(F::mul_raw(&b.y, &zzz), minus_s1)); // 3.1
    let z = F::mul(&a.z, &h); // 1.53
    let (x, y) = chord::<F, L, N>(&a.x, &h, &r, &minus_s1);
    Point { x, y, z }
}

/// a + b: 12 products, 4 squares. The same exceptions.
#[inline(always)]
pub(super) fn add_inline<F: Field<N>, L: Lanes, const N: usize>(
    a: &Point<L, N>,
    b: &Point<L, N>,
) -> Point<L, N> {
    let (u1, h, r, minus_s1) = difference::<F, L, N>(a, b);
    let z = F::mul(&F::mul(&a.z, &b.z), &h); // 1.46 * 3.1 / 16 + 1
    let (x, y) = chord::<F, L, N>(&u1, &h, &r, &minus_s1);
    Point { x, y, z }
}

/// U1, H = U2 - U1, R = S2 - S1 and -S1 of a + b.
#[inline(always)]
#[allow(clippy::type_complexity)]
fn difference<F: Field<N>, L: Lanes, const N: usize>(
    a: &Point<L, N>,
    b: &Point<L, N>,
) -> ([L; N], [L; N], [L; N], [L; N]) {
    let (az2, bz2) = (F::square(&a.z), F::square(&b.z)); // 1.46
    let u1 = F::mul(&a.x, &bz2); // 1.1
    let h = carry(add(sub(F::mul_raw(&b.x, &az2), u1), F::multiple(2))); // 3.1
    let (az3, bz3) = (F::mul(&a.z, &az2), F::mul(&b.z, &bz2)); // 1.25
    let minus_s1 = carry(sub(F::multiple(2), F::mul_raw(&a.y, &bz3))); // from 0.8 to 2
    let r = carry(add(F::mul_raw(&b.y, &az3), minus_s1)); // 3.2
    (u1, h, r, minus_s1)
}

/// `*.0` becomes its double, `.1` times. Not inlined: the code of a doubling once.
pub(super) struct Double<'a, F, L, const N: usize>(
    pub(super) &'a mut Point<L, N>,
    pub(super) usize,
    pub(super) core::marker::PhantomData<F>,
);

impl<F: Field<N>, L: Lanes, const N: usize> Outline for Double<'_, F, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        for _ in 0..self.1 {
            *self.0 = double_inline::<F, L, N>(self.0);
        }
    }
}

/// `*.0` becomes `*.0 + *.1`.
pub(super) struct Add<'a, F, L, const N: usize>(
    pub(super) &'a mut Point<L, N>,
    pub(super) &'a Point<L, N>,
    pub(super) core::marker::PhantomData<F>,
);

impl<F: Field<N>, L: Lanes, const N: usize> Outline for Add<'_, F, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        *self.0 = add_inline::<F, L, N>(self.0, self.1);
    }
}

/// `*.0` becomes `*.0 + *.1`.
pub(super) struct AddAffine<'a, F, L, const N: usize>(
    pub(super) &'a mut Point<L, N>,
    pub(super) &'a Affine<L, N>,
    pub(super) core::marker::PhantomData<F>,
);

impl<F: Field<N>, L: Lanes, const N: usize> Outline for AddAffine<'_, F, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        *self.0 = add_affine_inline::<F, L, N>(self.0, self.1);
    }
}

/// 2 `a`.
#[inline(always)]
pub(super) fn doubled<F: Field<N>, L: Lanes, const N: usize>(a: &Point<L, N>) -> Point<L, N> {
    let mut a = *a;
    L::outline(&mut Double::<F, L, N>(&mut a, 1, core::marker::PhantomData));
    a
}

/// a + b wherever neither is infinity: also where they are equal or opposite.
#[inline(always)]
pub(super) fn add_complete<F: Field<N>, L: Lanes, const N: usize>(
    a: &Point<L, N>,
    b: &Point<L, N>,
) -> Point<L, N> {
    let mut sum = *a;
    L::outline(&mut Add::<F, L, N>(&mut sum, b, core::marker::PhantomData));
    // z of the sum is 0 where x is the same: then it is y that tells a = b from a = -b.
    let cube = |z: &[L; N]| field::mul::<F, L, N>(z, &field::square::<F, L, N>(z));
    let s1 = field::mul::<F, L, N>(&a.y, &cube(&b.z));
    let s2 = field::mul::<F, L, N>(&b.y, &cube(&a.z));
    let same_y = field::is_zero::<F, L, N>(&carry(add(sub(s1, s2), F::multiple(2))));
    let equal = L::mask_and(field::is_zero::<F, L, N>(&sum.z), same_y);
    Point::select(equal, &doubled::<F, L, N>(a), &sum)
}
