//! The field of p = 2^255 - 19, eight elements side by side.
//!
//! An element is five digits in radix 2^51. `vpmadd52` multiplies 52-bit numbers, so that one bit
//! of slack is left, which is what lazy carries need. Two types keep the bounds apart:
//!
//! - [`Fe`]: digits below 2^51 + 2^17 (or below 2^52, for a sum or a negated table entry whose
//!   parts are reduced: see there). What a multiplication takes.
//! - [`Loose`]: digits below 2^63. What a multiplication, a sum and a difference give.
//!   [`Loose::carry`] makes an [`Fe`] of it.
//!
//! A product `a_i b_j` has weight 2^(51 (i + j)). Its low 52 bits stay there; its high part has
//! weight 2^(51 (i + j) + 52) and so counts twice one digit further up. With all digits below
//! 2^51 + 2^17, a low half is below 2^52 and a doubled high half below 2^51 + 2^19. The largest of
//! the columns 5 to 9, which fold back times 19, has four low and five high halves: less than
//! 6.6 * 2^52, times 19 less than 2^59; column 0 of the result adds one low half. So a product has
//! digits below 2^59.1, and below 2^60.1 where one factor has digits up to 2^52.
//!
//! Everything here runs in constant time. Tests: `tests/curve25519.rs`; bench: `curve25519`.

use crate::kernel::lanes::Lanes;

/// Ones in the bits of a digit.
const MASK: u64 = (1 << 51) - 1;

/// Reduced enough to be multiplied: digits below 2^52.
#[derive(Clone, Copy)]
pub(super) struct Fe<V>(pub(super) [V; 5]);

/// Not yet carried: digits below 2^63.
#[derive(Clone, Copy)]
pub(super) struct Loose<V>(pub(super) [V; 5]);

/// `lo + 2 hi`: a column from the sums of its low and its high halves.
#[inline(always)]
fn column<V: Lanes>(lo: V, hi: V) -> V {
    lo.add(hi.add(hi))
}

/// `19 a`, without a multiplication: `vpmullq` is three operations.
#[inline(always)]
fn times_19<V: Lanes>(a: V) -> V {
    a.shl::<4>().opaque().add(a.add(a.add(a)))
}

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
        let mask = V::splat(MASK);
        Fe([
            w[0].and(mask),
            w[0].shr::<51>().or(w[1].shl::<13>()).and(mask),
            w[1].shr::<38>().or(w[2].shl::<26>()).and(mask),
            w[2].shr::<25>().or(w[3].shl::<39>()).and(mask),
            w[3].shr::<12>().and(mask),
        ])
    }

    /// To four little-endian 64-bit words of the one value below p.
    #[inline(always)]
    pub(super) fn to_words(self) -> [V; 4] {
        let d = self.canonical().0;
        [
            d[0].or(d[1].shl::<51>()),
            d[1].shr::<13>().or(d[2].shl::<38>()),
            d[2].shr::<26>().or(d[3].shl::<25>()),
            d[3].shr::<39>().or(d[4].shl::<12>()),
        ]
    }

    /// Digits of 51 bits, the value below p.
    #[inline(always)]
    pub(super) fn canonical(self) -> Self {
        // After the first round digits 1 to 4 have 51 bits and digit 0 is below 2^51 + 38. If the
        // second round carries out of digit 4, it has left digit 0 below 38, so that 19 more fit.
        let (d, top) = ripple(self.0);
        let (d, top) = ripple([d[0].madd_lo(top, V::splat(19)), d[1], d[2], d[3], d[4]]);
        let d = [d[0].madd_lo(top, V::splat(19)), d[1], d[2], d[3], d[4]];
        // The value is below 2^255; it is p or more exactly if 19 more reach 2^255.
        let (_, above) = ripple([d[0].add(V::splat(19)), d[1], d[2], d[3], d[4]]);
        let (d, _) = ripple([d[0].madd_lo(above, V::splat(19)), d[1], d[2], d[3], d[4]]);
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

    /// The same digits, as something to add to.
    #[inline(always)]
    pub(super) fn loose(self) -> Loose<V> {
        Loose(self.0)
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

    /// Negated where the mask is set, without a carry: for a value whose digits have 51 bits, the
    /// result's are below 2^52, being those of 2p less something.
    #[inline(always)]
    pub(super) fn negate_where(mask: V::Mask, a: &Self) -> Self {
        let first = V::splat(2 * (MASK - 18));
        let other = V::splat(2 * MASK);
        let negated = Fe([
            first.sub(a.0[0]),
            other.sub(a.0[1]),
            other.sub(a.0[2]),
            other.sub(a.0[3]),
            other.sub(a.0[4]),
        ]);
        Self::select(mask, &negated, a)
    }

    /// `a b`.
    #[inline(always)]
    pub(super) fn mul(&self, other: &Self) -> Loose<V> {
        let (a, b) = (&self.0, &other.0);
        let zero = V::splat(0);

        // The columns 5 to 9 first: they start the others.
        let (mut l5, mut l6, mut l7) = (zero, zero, zero);
        let (mut h5, mut h6, mut h7, mut h8) = (zero, zero, zero, zero);
        h5 = h5.madd_hi(a[4], b[0]);
        h6 = h6.madd_hi(a[4], b[1]);
        h7 = h7.madd_hi(a[4], b[2]);
        h8 = h8.madd_hi(a[4], b[3]);
        let h9 = zero.madd_hi(a[4], b[4]);
        l5 = l5.madd_lo(a[4], b[1]);
        l6 = l6.madd_lo(a[4], b[2]);
        l7 = l7.madd_lo(a[4], b[3]);
        let l8 = zero.madd_lo(a[4], b[4]);
        h5 = h5.madd_hi(a[3], b[1]);
        h6 = h6.madd_hi(a[3], b[2]);
        h7 = h7.madd_hi(a[3], b[3]);
        h8 = h8.madd_hi(a[3], b[4]);
        l5 = l5.madd_lo(a[3], b[2]);
        l6 = l6.madd_lo(a[3], b[3]);
        l7 = l7.madd_lo(a[3], b[4]);
        h5 = h5.madd_hi(a[2], b[2]);
        h6 = h6.madd_hi(a[2], b[3]);
        h7 = h7.madd_hi(a[2], b[4]);
        l5 = l5.madd_lo(a[2], b[3]);
        l6 = l6.madd_lo(a[2], b[4]);
        h5 = h5.madd_hi(a[1], b[3]);
        h6 = h6.madd_hi(a[1], b[4]);
        l5 = l5.madd_lo(a[1], b[4]);
        h5 = h5.madd_hi(a[0], b[4]);

        let mut l0 = times_19(column(l5, h5));
        let mut l1 = times_19(column(l6, h6));
        let mut l2 = times_19(column(l7, h7));
        let mut l3 = times_19(column(l8, h8));
        let mut l4 = times_19(h9.add(h9));
        let (mut h2, mut h3, mut h4) = (zero, zero, zero);

        let h1 = zero.madd_hi(a[0], b[0]);
        h2 = h2.madd_hi(a[0], b[1]);
        h3 = h3.madd_hi(a[0], b[2]);
        h4 = h4.madd_hi(a[0], b[3]);
        l0 = l0.madd_lo(a[0], b[0]);
        l1 = l1.madd_lo(a[0], b[1]);
        l2 = l2.madd_lo(a[0], b[2]);
        l3 = l3.madd_lo(a[0], b[3]);
        l4 = l4.madd_lo(a[0], b[4]);
        h2 = h2.madd_hi(a[1], b[0]);
        h3 = h3.madd_hi(a[1], b[1]);
        h4 = h4.madd_hi(a[1], b[2]);
        l1 = l1.madd_lo(a[1], b[0]);
        l2 = l2.madd_lo(a[1], b[1]);
        l3 = l3.madd_lo(a[1], b[2]);
        l4 = l4.madd_lo(a[1], b[3]);
        h3 = h3.madd_hi(a[2], b[0]);
        h4 = h4.madd_hi(a[2], b[1]);
        l2 = l2.madd_lo(a[2], b[0]);
        l3 = l3.madd_lo(a[2], b[1]);
        l4 = l4.madd_lo(a[2], b[2]);
        h4 = h4.madd_hi(a[3], b[0]);
        l3 = l3.madd_lo(a[3], b[0]);
        l4 = l4.madd_lo(a[3], b[1]);
        l4 = l4.madd_lo(a[4], b[0]);
        Loose([l0, column(l1, h1), column(l2, h2), column(l3, h3), column(l4, h4)])
    }

    /// `a^2`: the products of different digits once, then doubled.
    #[inline(always)]
    pub(super) fn sqr(&self) -> Loose<V> {
        let a = &self.0;
        let zero = V::splat(0);
        let twice = |x: V| x.add(x);

        // Where the high half of a square counts in a column that has no low half of one, it
        // joins the low halves: once, and doubled with them.
        let (mut l5, mut h5, mut h6) = (zero, zero, zero);
        h5 = h5.madd_hi(a[0], a[4]);
        h6 = h6.madd_hi(a[1], a[4]);
        let h7 = zero.madd_hi(a[2], a[4]);
        let h8 = zero.madd_hi(a[3], a[4]);
        let h9 = zero.madd_hi(a[4], a[4]);
        l5 = l5.madd_lo(a[1], a[4]);
        let l6 = zero.madd_lo(a[2], a[4]);
        let mut l7 = zero.madd_lo(a[3], a[4]);
        h5 = h5.madd_hi(a[1], a[3]);
        h6 = h6.madd_hi(a[2], a[3]);
        l5 = l5.madd_lo(a[2], a[3]);
        l7 = l7.madd_hi(a[3], a[3]);
        l5 = l5.madd_hi(a[2], a[2]);
        let r5 = twice(column(l5, h5));
        let r6 = twice(column(l6, h6)).madd_lo(a[3], a[3]);
        let r7 = twice(column(l7, h7));
        let r8 = twice(twice(h8)).madd_lo(a[4], a[4]);
        let r9 = twice(h9);

        let mut l1 = zero.madd_lo(a[0], a[1]);
        let l2 = zero.madd_lo(a[0], a[2]);
        let mut l3 = zero.madd_lo(a[0], a[3]);
        let mut l4 = zero.madd_lo(a[0], a[4]);
        let h2 = zero.madd_hi(a[0], a[1]);
        let h3 = zero.madd_hi(a[0], a[2]);
        let mut h4 = zero.madd_hi(a[0], a[3]);
        l1 = l1.madd_hi(a[0], a[0]);
        l3 = l3.madd_lo(a[1], a[2]);
        l4 = l4.madd_lo(a[1], a[3]);
        h4 = h4.madd_hi(a[1], a[2]);
        l3 = l3.madd_hi(a[1], a[1]);
        Loose([
            times_19(r5).madd_lo(a[0], a[0]),
            times_19(r6).add(twice(l1)),
            times_19(r7).madd_lo(a[1], a[1]).add(twice(column(l2, h2))),
            times_19(r8).add(twice(column(l3, h3))),
            times_19(r9).madd_lo(a[2], a[2]).add(twice(column(l4, h4))),
        ])
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
    /// One carry, all digits at once. A carry out of a digit is below 2^12, so that the digits of
    /// the result are below 2^51 + 19 * 2^12.
    #[inline(always)]
    pub(super) fn carry(self) -> Fe<V> {
        let r = self.0;
        let mask = V::splat(MASK);
        Fe([
            r[0].and(mask).madd_lo(r[4].shr::<51>(), V::splat(19)),
            r[1].and(mask).add(r[0].shr::<51>()),
            r[2].and(mask).add(r[1].shr::<51>()),
            r[3].and(mask).add(r[2].shr::<51>()),
            r[4].and(mask).add(r[3].shr::<51>()),
        ])
    }

    /// `a + b`. The bounds add up.
    #[inline(always)]
    pub(super) fn add(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        Loose([a[0].add(b[0]), a[1].add(b[1]), a[2].add(b[2]), a[3].add(b[3]), a[4].add(b[4])])
    }

    /// `a - b + 2^10 p`: for a `b` with digits below 2^61 - 2^15 (a product, or the sum of two).
    #[inline(always)]
    pub(super) fn sub(&self, other: &Self) -> Self {
        let (a, b) = (&self.0, &other.0);
        let first = V::splat((MASK - 18) << 10);
        let rest = V::splat(MASK << 10);
        Loose([
            a[0].add(first.sub(b[0])),
            a[1].add(rest.sub(b[1])),
            a[2].add(rest.sub(b[2])),
            a[3].add(rest.sub(b[3])),
            a[4].add(rest.sub(b[4])),
        ])
    }

    /// `self + a c`, for a `c` below 2^18.
    #[inline(always)]
    pub(super) fn add_small_product(&self, a: &Fe<V>, c: u64) -> Self {
        let (r, a, c) = (&self.0, &a.0, V::splat(c));
        let zero = V::splat(0);
        // High halves are below 2^19.
        let h1 = zero.madd_hi(a[0], c);
        let h2 = zero.madd_hi(a[1], c);
        let h3 = zero.madd_hi(a[2], c);
        let h4 = zero.madd_hi(a[3], c);
        let h5 = zero.madd_hi(a[4], c);
        Loose([
            r[0].madd_lo(a[0], c).madd_lo(h5, V::splat(38)),
            column(r[1].madd_lo(a[1], c), h1),
            column(r[2].madd_lo(a[2], c), h2),
            column(r[3].madd_lo(a[3], c), h3),
            column(r[4].madd_lo(a[4], c), h4),
        ])
    }
}

/// One carry from digit 0 up to digit 4: digits of 51 bits, and what is left over, of weight 2^255.
#[inline(always)]
fn ripple<V: Lanes>(d: [V; 5]) -> ([V; 5], V) {
    let mask = V::splat(MASK);
    let d1 = d[1].add(d[0].shr::<51>());
    let d2 = d[2].add(d1.shr::<51>());
    let d3 = d[3].add(d2.shr::<51>());
    let d4 = d[4].add(d3.shr::<51>());
    let digits = [d[0].and(mask), d1.and(mask), d2.and(mask), d3.and(mask), d4.and(mask)];
    (digits, d4.shr::<51>())
}
