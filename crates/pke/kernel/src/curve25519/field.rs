//! The field of p = 2^255 - 19, eight elements side by side.
//!
//! An element is five digits in radix 2^52, of 260 bits together: 2^260 = 32 * 19 = 608 modulo p.
//! `vpmadd52` reads the low 52 bits of its factors, gives the low or the high 52 bits of their
//! product, and so needs neither a mask nor a shift where the radix is its own. Two types keep the
//! bounds apart:
//!
//! - [`Fe`] is what a multiplication takes. Digits 0 to 3 count by their low 52 bits, whatever
//!   stands above these. Digit 4 is below 2^47 + 2^12, so that the value is below 2^255 + 2^220.
//! - [`Loose`] is what a multiplication, a sum and a difference give: digits below 2^61, and each
//!   counts with all its bits. [`Loose::carry`] makes an [`Fe`] of it.
//!
//! The columns of a product: each digit has at most five low and four high halves below 2^52 from
//! below 2^260, and from above 2^260, times 608, one low half and one high half (below 608). So a
//! product has digits below 2^55.4, the sum of two is below 2^57; a difference adds 2^11 p, whose
//! digits are written so that they are above that: below 2^59.1. Two such are added at most, once
//! with a product on top (`add_affine`): below 2^61.
//!
//! Everything here runs in constant time. Tests: `tests/x25519.rs`, `tests/ed25519.rs`; bench:
//! `curve25519`.

use crate::lanes::{Lanes, Step};

/// Ones in the bits of a digit.
const MASK: u64 = (1 << 52) - 1;
/// Ones in those of the last digit of a number below 2^255.
const TOP_MASK: u64 = (1 << 47) - 1;
/// 2^260 modulo p.
const FOLD: u64 = 608;
/// 2^11 p = 2^266 - 19 * 2^11, the digits so large that a product, or the sum of two, can be
/// taken from them: 2^266 = (2^58 - 2^7) 2^208 + (2^59 - 2^7) (2^156 + 2^104 + 2^52) + 2^59.
const BIAS: [u64; 5] = [
    (1 << 59) - (19 << 11),
    (1 << 59) - (1 << 7),
    (1 << 59) - (1 << 7),
    (1 << 59) - (1 << 7),
    (1 << 58) - (1 << 7),
];

/// Reduced enough to be multiplied: see above.
#[derive(Clone, Copy)]
pub(super) struct Fe<V>(pub(super) [V; 5]);

/// Not yet carried: digits below 2^61.
#[derive(Clone, Copy)]
pub(super) struct Loose<V>(pub(super) [V; 5]);

impl<V: Lanes> Fe<V> {
    /// The same small number in every lane.
    #[inline(always)]
    pub(super) fn small(value: u64) -> Self {
        let zero = V::splat(0);
        Fe([V::splat(value), zero, zero, zero, zero])
    }

    /// A constant of five digits in every lane.
    #[inline(always)]
    pub(super) fn constant(digits: &[u64; 5]) -> Self {
        Fe([
            V::splat(digits[0]),
            V::splat(digits[1]),
            V::splat(digits[2]),
            V::splat(digits[3]),
            V::splat(digits[4]),
        ])
    }

    /// From four little-endian 64-bit words; bit 255 is left out, values from p up are taken.
    #[inline(always)]
    pub(super) fn from_words(w: &[V; 4]) -> Self {
        Fe([
            w[0],
            w[0].shr::<52>().or(w[1].shl::<12>()),
            w[1].shr::<40>().or(w[2].shl::<24>()),
            w[2].shr::<28>().or(w[3].shl::<36>()),
            w[3].shr::<16>().and(V::splat(TOP_MASK)),
        ])
    }

    /// To four little-endian 64-bit words of the one value below p.
    #[inline(always)]
    pub(super) fn to_words(self) -> [V; 4] {
        let d = self.canonical().0;
        [
            d[0].or(d[1].shl::<52>()),
            d[1].shr::<12>().or(d[2].shl::<40>()),
            d[2].shr::<24>().or(d[3].shl::<28>()),
            d[3].shr::<36>().or(d[4].shl::<16>()),
        ]
    }

    /// Digits of 52 bits, the value below p.
    #[inline(always)]
    pub(super) fn canonical(self) -> Self {
        // The value is below 2^255 + 2^220. If the first round carries out of bit 254, it leaves
        // a value below 2^220, so that the second does not, except for 19 more.
        let (d, top) = ripple(self.loose().0);
        let (d, top) = ripple(wrap(d, top));
        let d = wrap(d, top);
        // The value is below 2^255; it is p or more exactly if 19 more reach 2^255.
        let (_, above) = ripple(wrap(d, V::splat(1)));
        let (d, _) = ripple(wrap(d, above));
        Fe(d)
    }

    /// Where the value is 0 modulo p.
    #[inline(always)]
    pub(super) fn is_zero(self) -> V::Mask {
        let d = self.canonical().0;
        V::eq(d[0].or(d[1]).or(d[2].or(d[3])).or(d[4]), V::splat(0))
    }

    /// Where the value below p is odd: the "sign" of RFC 8032.
    #[inline(always)]
    pub(super) fn is_odd(self) -> V::Mask {
        V::eq(self.canonical().0[0].and(V::splat(1)), V::splat(1))
    }

    /// The same value, as something to add to.
    #[inline(always)]
    pub(super) fn loose(self) -> Loose<V> {
        let (d, mask) = (self.0, V::splat(MASK));
        Loose([d[0].and(mask), d[1].and(mask), d[2].and(mask), d[3].and(mask), d[4]])
    }

    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub(super) fn select(mask: V::Mask, a: &Self, b: &Self) -> Self {
        Fe([
            V::select(mask, a.0[0], b.0[0]),
            V::select(mask, a.0[1], b.0[1]),
            V::select(mask, a.0[2], b.0[2]),
            V::select(mask, a.0[3], b.0[3]),
            V::select(mask, a.0[4], b.0[4]),
        ])
    }

    /// `a b`.
    #[inline(always)]
    pub(super) fn mul(&self, other: &Self) -> Loose<V> {
        V::take(Product(self, other, &[0; 5]))
    }

    /// `a b + 2^11 p`: what a product can be taken from.
    #[inline(always)]
    pub(super) fn mul_biased(&self, other: &Self) -> Loose<V> {
        V::take(Product(self, other, &BIAS))
    }

    /// `a^2`.
    #[inline(always)]
    pub(super) fn sqr(&self) -> Loose<V> {
        V::take(Square(self, &[0; 5]))
    }

    /// `a^2 + 2^11 p`: what a product can be taken from.
    #[inline(always)]
    pub(super) fn sqr_biased(&self) -> Loose<V> {
        V::take(Square(self, &BIAS))
    }

    /// `a^(2^n)`, `n` of 1 and more.
    #[inline(always)]
    pub(super) fn sqr_times(&self, n: u32) -> Self {
        let mut a = self.sqr().carry();
        for _ in 1..n {
            a = a.sqr().carry();
        }
        a
    }

    /// `(a^(2^250 - 1), a^11)`: what the inverse and the square root have in common.
    #[inline(always)]
    fn pow_2_250_less_1(&self) -> (Self, Self) {
        let a2 = self.sqr().carry();
        let a9 = a2.sqr_times(2).mul(self).carry();
        let a11 = a9.mul(&a2).carry();
        // From here on the number in a name is n, the exponent 2^n - 1.
        let n5 = a11.sqr().carry().mul(&a9).carry();
        let n10 = n5.sqr_times(5).mul(&n5).carry();
        let n20 = n10.sqr_times(10).mul(&n10).carry();
        let n40 = n20.sqr_times(20).mul(&n20).carry();
        let n50 = n40.sqr_times(10).mul(&n10).carry();
        let n100 = n50.sqr_times(50).mul(&n50).carry();
        let n200 = n100.sqr_times(100).mul(&n100).carry();
        (n200.sqr_times(50).mul(&n50).carry(), a11)
    }

    /// `1 / a`, and 0 for 0: `a^(p - 2)`, p - 2 = 2^255 - 21 = (2^250 - 1) 2^5 + 11.
    #[inline(always)]
    pub(super) fn invert(&self) -> Self {
        let (n250, a11) = self.pow_2_250_less_1();
        n250.sqr_times(5).mul(&a11).carry()
    }

    /// `a^((p - 5) / 8)`, (p - 5) / 8 = 2^252 - 3 = (2^250 - 1) 2^2 + 1.
    #[inline(always)]
    pub(super) fn pow_p58(&self) -> Self {
        self.pow_2_250_less_1().0.sqr_times(2).mul(self).carry()
    }
}

impl<V: Lanes> Loose<V> {
    /// 2^11 p, with digits that a product can be taken from.
    #[inline(always)]
    fn bias() -> Self {
        Loose(Fe::constant(&BIAS).0)
    }

    /// One carry, from bit 255 to digit 0 and then all the way up.
    #[inline(always)]
    pub(super) fn carry(self) -> Fe<V> {
        let r = self.0;
        let d0 = r[0].madd_lo(r[4].shr::<47>(), V::splat(19));
        let d1 = r[1].add(d0.shr::<52>());
        let d2 = r[2].add(d1.shr::<52>());
        let d3 = r[3].add(d2.shr::<52>());
        let d4 = r[4].and(V::splat(TOP_MASK)).add(d3.shr::<52>());
        Fe([d0, d1, d2, d3, d4])
    }

    /// `a + b`. The bounds add up.
    #[inline(always)]
    pub(super) fn add(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        Loose([a[0].add(b[0]), a[1].add(b[1]), a[2].add(b[2]), a[3].add(b[3]), a[4].add(b[4])])
    }

    /// `a - b`, for an `a` that is biased and a `b` that is a product or the sum of two.
    #[inline(always)]
    pub(super) fn sub(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        Loose([a[0].sub(b[0]), a[1].sub(b[1]), a[2].sub(b[2]), a[3].sub(b[3]), a[4].sub(b[4])])
    }

    /// `a + 2^11 p`: what a product, or the sum of two, can be taken from.
    #[inline(always)]
    pub(super) fn biased(&self) -> Self {
        self.add(&Self::bias())
    }

    /// `self + a c`, for a `c` below 2^18.
    #[inline(always)]
    pub(super) fn add_small_product(&self, a: &Fe<V>, c: u64) -> Self {
        let (r, a, c) = (&self.0, &a.0, V::splat(c));
        // Digit 4 is below 2^48: what it carries into weight 2^260 is below 2^14.
        let above = V::splat(0).madd_hi(a[4], c);
        Loose([
            r[0].madd_lo(a[0], c).madd_lo(above, V::splat(FOLD)),
            r[1].madd_lo(a[1], c).madd_hi(a[0], c),
            r[2].madd_lo(a[2], c).madd_hi(a[1], c),
            r[3].madd_lo(a[3], c).madd_hi(a[2], c),
            r[4].madd_lo(a[4], c).madd_hi(a[3], c),
        ])
    }
}

/// `a b + start`.
struct Product<'a, V>(&'a Fe<V>, &'a Fe<V>, &'a [u64; 5]);

impl<V: Lanes> Step for Product<'_, V> {
    type Output = Loose<V>;

    #[inline(always)]
    fn run(self) -> Loose<V> {
        let Product(Fe(a), Fe(b), start) = self;
        let zero = V::splat(0);
        let [mut r0, mut r1, mut r2, mut r3, mut r4]: [V; 5] = Fe::constant(start).0;
        let (mut r5, mut r6, mut r7, mut r8, mut r9) = (zero, zero, zero, zero, zero);
        r0 = r0.madd_lo(a[0], b[0]);
        r1 = r1.madd_lo(a[0], b[1]);
        r2 = r2.madd_lo(a[0], b[2]);
        r3 = r3.madd_lo(a[0], b[3]);
        r4 = r4.madd_lo(a[0], b[4]);
        r1 = r1.madd_hi(a[0], b[0]);
        r2 = r2.madd_hi(a[0], b[1]);
        r3 = r3.madd_hi(a[0], b[2]);
        r4 = r4.madd_hi(a[0], b[3]);
        r5 = r5.madd_hi(a[0], b[4]);
        r1 = r1.madd_lo(a[1], b[0]);
        r2 = r2.madd_lo(a[1], b[1]);
        r3 = r3.madd_lo(a[1], b[2]);
        r4 = r4.madd_lo(a[1], b[3]);
        r5 = r5.madd_lo(a[1], b[4]);
        r2 = r2.madd_hi(a[1], b[0]);
        r3 = r3.madd_hi(a[1], b[1]);
        r4 = r4.madd_hi(a[1], b[2]);
        r5 = r5.madd_hi(a[1], b[3]);
        r6 = r6.madd_hi(a[1], b[4]);
        r2 = r2.madd_lo(a[2], b[0]);
        r3 = r3.madd_lo(a[2], b[1]);
        r4 = r4.madd_lo(a[2], b[2]);
        r5 = r5.madd_lo(a[2], b[3]);
        r6 = r6.madd_lo(a[2], b[4]);
        r3 = r3.madd_hi(a[2], b[0]);
        r4 = r4.madd_hi(a[2], b[1]);
        r5 = r5.madd_hi(a[2], b[2]);
        r6 = r6.madd_hi(a[2], b[3]);
        r7 = r7.madd_hi(a[2], b[4]);
        r3 = r3.madd_lo(a[3], b[0]);
        r4 = r4.madd_lo(a[3], b[1]);
        r5 = r5.madd_lo(a[3], b[2]);
        r6 = r6.madd_lo(a[3], b[3]);
        r7 = r7.madd_lo(a[3], b[4]);
        r4 = r4.madd_hi(a[3], b[0]);
        r5 = r5.madd_hi(a[3], b[1]);
        r6 = r6.madd_hi(a[3], b[2]);
        r7 = r7.madd_hi(a[3], b[3]);
        r8 = r8.madd_hi(a[3], b[4]);
        r4 = r4.madd_lo(a[4], b[0]);
        r5 = r5.madd_lo(a[4], b[1]);
        r6 = r6.madd_lo(a[4], b[2]);
        r7 = r7.madd_lo(a[4], b[3]);
        r8 = r8.madd_lo(a[4], b[4]);
        r5 = r5.madd_hi(a[4], b[0]);
        r6 = r6.madd_hi(a[4], b[1]);
        r7 = r7.madd_hi(a[4], b[2]);
        r8 = r8.madd_hi(a[4], b[3]);
        r9 = r9.madd_hi(a[4], b[4]);
        fold([r0, r1, r2, r3, r4], [r5, r6, r7, r8, r9])
    }
}

/// `a^2 + start`, for even digits of `start`: the products of different digits once, doubled.
struct Square<'a, V>(&'a Fe<V>, &'a [u64; 5]);

impl<V: Lanes> Step for Square<'_, V> {
    type Output = Loose<V>;

    #[inline(always)]
    fn run(self) -> Loose<V> {
        let Square(Fe(a), start) = self;
        let zero = V::splat(0);
        let [r0, r1, r2, r3, r4] = Fe::<V>::constant(&[
            start[0] / 2,
            start[1] / 2,
            start[2] / 2,
            start[3] / 2,
            start[4] / 2,
        ])
        .0;
        let (mut r1, mut r2, mut r3, mut r4) = (r1, r2, r3, r4);
        let (mut r5, mut r6, mut r7, mut r8) = (zero, zero, zero, zero);
        r1 = r1.madd_lo(a[0], a[1]);
        r2 = r2.madd_hi(a[0], a[1]);
        r3 = r3.madd_lo(a[1], a[2]);
        r4 = r4.madd_hi(a[1], a[2]);
        r5 = r5.madd_lo(a[2], a[3]);
        r6 = r6.madd_hi(a[2], a[3]);
        r7 = r7.madd_lo(a[3], a[4]);
        r8 = r8.madd_hi(a[3], a[4]);
        r2 = r2.madd_lo(a[0], a[2]);
        r3 = r3.madd_hi(a[0], a[2]);
        r4 = r4.madd_lo(a[1], a[3]);
        r5 = r5.madd_hi(a[1], a[3]);
        r6 = r6.madd_lo(a[2], a[4]);
        r7 = r7.madd_hi(a[2], a[4]);
        r3 = r3.madd_lo(a[0], a[3]);
        r4 = r4.madd_hi(a[0], a[3]);
        r5 = r5.madd_lo(a[1], a[4]);
        r6 = r6.madd_hi(a[1], a[4]);
        r4 = r4.madd_lo(a[0], a[4]);
        r5 = r5.madd_hi(a[0], a[4]);
        let (mut r0, mut r9) = (twice(r0), zero);
        (r1, r2, r3, r4) = (twice(r1), twice(r2), twice(r3), twice(r4));
        (r5, r6, r7, r8) = (twice(r5), twice(r6), twice(r7), twice(r8));
        r0 = r0.madd_lo(a[0], a[0]);
        r2 = r2.madd_lo(a[1], a[1]);
        r4 = r4.madd_lo(a[2], a[2]);
        r6 = r6.madd_lo(a[3], a[3]);
        r8 = r8.madd_lo(a[4], a[4]);
        r1 = r1.madd_hi(a[0], a[0]);
        r3 = r3.madd_hi(a[1], a[1]);
        r5 = r5.madd_hi(a[2], a[2]);
        r7 = r7.madd_hi(a[3], a[3]);
        r9 = r9.madd_hi(a[4], a[4]);
        fold([r0, r1, r2, r3, r4], [r5, r6, r7, r8, r9])
    }
}

/// `low + 2^260 high`, for a product's columns.
///
/// Column 9 has the high half of a product below 2^94 + 2^61, and a carry: times 608 it stays
/// below 2^52.
#[inline(always)]
fn fold<V: Lanes>(low: [V; 5], high: [V; 5]) -> Loose<V> {
    let factor = V::splat(FOLD);
    let h5 = high[0];
    let h6 = high[1].add(h5.shr::<52>());
    let h7 = high[2].add(h6.shr::<52>());
    let h8 = high[3].add(h7.shr::<52>());
    let h9 = high[4].add(h8.shr::<52>());
    Loose([
        low[0].madd_lo(h5, factor),
        low[1].madd_hi(h5, factor).madd_lo(h6, factor),
        low[2].madd_hi(h6, factor).madd_lo(h7, factor),
        low[3].madd_hi(h7, factor).madd_lo(h8, factor),
        low[4].madd_hi(h8, factor).madd_lo(h9, factor),
    ])
}

/// A carry from digit 0 up to digit 4: digits of 52 bits, and what is left over, of weight 2^255.
#[inline(always)]
fn ripple<V: Lanes>(d: [V; 5]) -> ([V; 5], V) {
    let mask = V::splat(MASK);
    let d1 = d[1].add(d[0].shr::<52>());
    let d2 = d[2].add(d1.shr::<52>());
    let d3 = d[3].add(d2.shr::<52>());
    let d4 = d[4].add(d3.shr::<52>());
    let low = [d[0].and(mask), d1.and(mask), d2.and(mask), d3.and(mask)];
    ([low[0], low[1], low[2], low[3], d4.and(V::splat(TOP_MASK))], d4.shr::<47>())
}

/// `d + 2^255 top`: 2^255 = 19.
#[inline(always)]
fn wrap<V: Lanes>(d: [V; 5], top: V) -> [V; 5] {
    [d[0].madd_lo(top, V::splat(19)), d[1], d[2], d[3], d[4]]
}

#[inline(always)]
fn twice<V: Lanes>(a: V) -> V {
    a.add(a)
}
