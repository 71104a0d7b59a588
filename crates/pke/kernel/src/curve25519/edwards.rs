//! Points of the Edwards curve -x^2 + y^2 = 1 + d x^2 y^2, eight side by side.
//!
//! Extended coordinates and their complete formulas (Hisil, Wong, Carter, Dawson, "Twisted Edwards
//! curves revisited", 2008, sections 3.1 to 3.3, a = -1). Constant time.

use super::field::{Fe, Loose};
use crate::lanes::Lanes;

/// d = -121665 / 121666, the curve's parameter.
const D: [u64; 5] =
    [0xb4dca135978a3, 0x4d4141d8ab75e, 0x779e89800700a, 0xfe738cc740797, 0x052036cee2b6f];

/// 2 d.
pub(super) const D2: [u64; 5] =
    [0x69b9426b2f159, 0x9a8283b156ebd, 0xef3d13000e014, 0xfce7198e80f2e, 0x02406d9dc56df];

/// A square root of -1.
const SQRT_M1: [u64; 5] =
    [0xe1b274a0ea0b0, 0x06ad2fe478c4e, 0xdfbd7a72f4318, 0xdf0b2b4d00993, 0x02b8324804fc1];

/// The base point's x.
const BASE_X: [u64; 5] =
    [0x62d608f25d51a, 0x609525a7b2c95, 0xdd6dc5c692cc7, 0x53fec0a4e231f, 0x0216936d3cd6e];

/// The base point's y = 4/5.
const BASE_Y: [u64; 5] =
    [0x6666666666658, 0x6666666666666, 0x6666666666666, 0x6666666666666, 0x0666666666666];

/// x = X / Z, y = Y / Z, x y = T / Z. Y and Z are biased, so that products can be taken from them.
#[derive(Clone, Copy)]
pub(super) struct Point<V> {
    pub(super) x: Loose<V>,
    pub(super) y: Loose<V>,
    pub(super) z: Loose<V>,
    pub(super) t: Loose<V>,
}

/// A point to be added, any Z.
#[derive(Clone, Copy)]
pub(super) struct Cached<V> {
    pub(super) sum: Fe<V>,
    pub(super) difference: Fe<V>,
    pub(super) z2: Fe<V>,
    pub(super) t2d: Fe<V>,
}

/// A point to be added, Z = 1: y + x, y - x, 2 d x y.
#[derive(Clone, Copy)]
pub(super) struct Affine<V> {
    pub(super) sum: Fe<V>,
    pub(super) difference: Fe<V>,
    pub(super) xy2d: Fe<V>,
}

impl<V: Lanes> Point<V> {
    /// The neutral element: (0, 1).
    #[inline(always)]
    pub(super) fn neutral() -> Self {
        let (zero, one) = (Fe::small(0).loose(), Fe::small(1).loose().biased());
        Point { x: zero, y: one, z: one, t: zero }
    }

    /// The base point, in every lane.
    #[inline(always)]
    pub(super) fn base() -> Self {
        Self::from_affine(&Fe::constant(&BASE_X), &Fe::constant(&BASE_Y))
    }

    /// (x, y).
    #[inline(always)]
    pub(super) fn from_affine(x: &Fe<V>, y: &Fe<V>) -> Self {
        Point { x: x.loose(), y: y.loose().biased(), z: Fe::small(1).loose().biased(), t: x.mul(y) }
    }

    /// Twice the point. Its T is only right where `WITH_T`: another doubling does not read it.
    #[inline(always)]
    pub(super) fn double<const WITH_T: bool>(&self) -> Self {
        let a = self.x.carry().sqr_biased();
        let b = self.y.carry().sqr();
        let zz = self.z.carry().sqr();
        let s = self.x.add(&self.y).carry().sqr();
        let h = a.add(&b);
        let e = h.sub(&s).carry();
        let g = a.sub(&b);
        let f = zz.add(&zz).add(&g).carry();
        let (g, h) = (g.carry(), h.carry());
        Self::from_parts::<WITH_T>(&e, &f, &g, &h)
    }

    #[inline(always)]
    fn from_parts<const WITH_T: bool>(e: &Fe<V>, f: &Fe<V>, g: &Fe<V>, h: &Fe<V>) -> Self {
        Point {
            x: e.mul(f),
            y: g.mul_biased(h),
            z: f.mul_biased(g),
            t: if WITH_T { e.mul(h) } else { Fe::small(0).loose() },
        }
    }

    /// The sum, or where `negative` is set the difference.
    #[inline(always)]
    pub(super) fn add<const WITH_T: bool>(&self, other: &Cached<V>, negative: V::Mask) -> Self {
        let d = self.z.carry().mul_biased(&other.z2);
        let parts = (&other.sum, &other.difference, &other.t2d);
        self.add_parts::<WITH_T>(parts, &d, negative)
    }

    /// The sum, or where `negative` is set the difference.
    #[inline(always)]
    pub(super) fn add_affine(&self, other: &Affine<V>, negative: V::Mask) -> Self {
        let parts = (&other.sum, &other.difference, &other.xy2d);
        self.add_parts::<true>(parts, &self.z.add(&self.z), negative)
    }

    /// `-(x, y) = (-x, y)`: y + x and y - x change places, and 2 d x y changes its sign, so that
    /// F and G change places.
    #[inline(always)]
    fn add_parts<const WITH_T: bool>(
        &self,
        (sum, difference, t2d): (&Fe<V>, &Fe<V>, &Fe<V>),
        d: &Loose<V>,
        negative: V::Mask,
    ) -> Self {
        let a = self.y.sub(&self.x).carry().mul(&Fe::select(negative, sum, difference));
        let b = self.y.add(&self.x).carry().mul_biased(&Fe::select(negative, difference, sum));
        let c = self.t.carry().mul(t2d);
        let e = b.sub(&a).carry();
        let h = b.add(&a).carry();
        let less = d.sub(&c).carry();
        let more = d.add(&c).carry();
        let f = Fe::select(negative, &more, &less);
        let g = Fe::select(negative, &less, &more);
        Self::from_parts::<WITH_T>(&e, &f, &g, &h)
    }

    /// As something to be added.
    #[inline(always)]
    pub(super) fn cached(&self) -> Cached<V> {
        Cached {
            sum: self.y.add(&self.x).carry(),
            difference: self.y.sub(&self.x).carry(),
            z2: self.z.add(&self.z).carry(),
            t2d: self.t.carry().mul(&Fe::constant(&D2)).carry(),
        }
    }

    /// x and y.
    #[inline(always)]
    pub(super) fn to_affine(self) -> (Fe<V>, Fe<V>) {
        let inverse = self.z.carry().invert();
        (self.x.carry().mul(&inverse).carry(), self.y.carry().mul(&inverse).carry())
    }

    /// The encoding of RFC 8032, section 5.1.2, as four words: y, and whether x is odd.
    #[inline(always)]
    pub(super) fn encode(self) -> [V; 4] {
        let (x, y) = self.to_affine();
        let [w0, w1, w2, w3] = y.to_words();
        [w0, w1, w2, w3.or(x.canonical().0[0].shl::<63>())]
    }

    /// The point of an encoding, negated, and where there is one (RFC 8032, section 5.1.3): y is
    /// below p, x^2 = (y^2 - 1) / (d y^2 + 1) has a root, and the root 0 is not called odd.
    #[inline(always)]
    pub(super) fn decode_negated(words: &[V; 4]) -> (Self, V::Mask) {
        let y = Fe::from_words(words);
        let back = y.to_words();
        let difference = back[0]
            .xor(words[0])
            .or(back[1].xor(words[1]))
            .or(back[2].xor(words[2]))
            .or(back[3].xor(words[3]).shl::<1>());
        let zero = V::splat(0);
        let canonical = V::eq(difference, zero);

        // x = u v^3 (u v^7)^((p - 5) / 8) is a root of u / v or of -u / v, if one of them has one.
        let one = Fe::small(1).loose();
        let yy = y.sqr_biased();
        let u = yy.sub(&one).carry();
        let v = yy.carry().mul(&Fe::constant(&D)).add(&one).carry();
        let v3 = v.sqr().carry().mul(&v).carry();
        let uv7 = v3.sqr().carry().mul(&v).carry().mul(&u).carry();
        let x = uv7.pow_p58().mul(&v3).carry().mul(&u).carry();
        let vxx = x.sqr().carry().mul_biased(&v);
        let direct = vxx.sub(&u.loose()).carry().is_zero();
        let turned = vxx.add(&u.loose()).carry().is_zero();
        let x = Fe::select(direct, &x, &x.mul(&Fe::constant(&SQRT_M1)).carry());

        let odd = x.is_odd();
        let wanted_odd = V::lt(V::splat(!0 >> 1), words[3]);
        let x_is_zero = x.is_zero();
        let same =
            V::mask_or(V::mask_and(odd, wanted_odd), V::mask_not(V::mask_or(odd, wanted_odd)));
        let minus_x = Fe::small(0).loose().biased().sub(&x.loose()).carry();
        let x = Fe::select(same, &minus_x, &x);
        let valid = V::mask_and(
            V::mask_and(canonical, V::mask_or(direct, turned)),
            V::mask_not(V::mask_and(x_is_zero, wanted_odd)),
        );
        (Self::from_affine(&x, &y), valid)
    }
}
