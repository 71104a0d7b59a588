//! Numbers modulo the order L of the base point, eight side by side: Montgomery multiplication in
//! radix 2^52, R = 2^260.
//!
//! L = 2^252 + 27742317777372353535851937790883648493. Constant time.

use crate::lanes::{Lanes, Step};

const MASK: u64 = (1 << 52) - 1;

/// The order of the base point.
const L: [u64; 5] =
    [0x2631a5cf5d3ed, 0xdea2f79cd6581, 0x000000014def9, 0x0000000000000, 0x0100000000000];

/// 2^260 mod L.
const R: [u64; 5] =
    [0xf48bd6721e6ed, 0x3bab5ac67e45a, 0xfffffeb35e51b, 0xfffffffffffff, 0x00fffffffffff];

/// 2^520 mod L.
const RR: [u64; 5] =
    [0x9d265e952d13b, 0xd63c715bea69f, 0x5be65cb687604, 0x3dceec73d217f, 0x009411b7c309a];

/// -1 / L modulo 2^52.
const N0: u64 = 0x51da312547e1b;

/// Five digits of 52 bits. Below L, unless it is said to be only below 2^260.
#[derive(Clone, Copy)]
pub(super) struct Scalar<V>(pub(super) [V; 5]);

impl<V: Lanes> Scalar<V> {
    /// The same number in every lane.
    #[inline(always)]
    pub(super) fn constant(digits: &[u64; 5]) -> Self {
        let mut scalar = [V::splat(0); 5];
        for (lanes, digit) in scalar.iter_mut().zip(digits) {
            *lanes = V::splat(*digit);
        }
        Scalar(scalar)
    }

    /// From four little-endian 64-bit words, as it is: below 2^256.
    #[inline(always)]
    pub(super) fn from_words(w: &[V; 4]) -> Self {
        let mask = V::splat(MASK);
        Scalar([
            w[0].and(mask),
            w[0].shr::<52>().or(w[1].shl::<12>()).and(mask),
            w[1].shr::<40>().or(w[2].shl::<24>()).and(mask),
            w[2].shr::<28>().or(w[3].shl::<36>()).and(mask),
            w[3].shr::<16>(),
        ])
    }

    /// To four little-endian 64-bit words.
    #[inline(always)]
    pub(super) fn to_words(self) -> [V; 4] {
        let d = self.0;
        [
            d[0].or(d[1].shl::<52>()),
            d[1].shr::<12>().or(d[2].shl::<40>()),
            d[2].shr::<24>().or(d[3].shl::<28>()),
            d[3].shr::<36>().or(d[4].shl::<16>()),
        ]
    }

    /// A number of 512 bits, modulo L: `low + 2^260 high`.
    #[inline(always)]
    pub(super) fn reduce(w: &[V; 8]) -> Self {
        let mask = V::splat(MASK);
        let low = Scalar([
            w[0].and(mask),
            w[0].shr::<52>().or(w[1].shl::<12>()).and(mask),
            w[1].shr::<40>().or(w[2].shl::<24>()).and(mask),
            w[2].shr::<28>().or(w[3].shl::<36>()).and(mask),
            w[3].shr::<16>().or(w[4].shl::<48>()).and(mask),
        ]);
        let high = Scalar([
            w[4].shr::<4>().and(mask),
            w[4].shr::<56>().or(w[5].shl::<8>()).and(mask),
            w[5].shr::<44>().or(w[6].shl::<20>()).and(mask),
            w[6].shr::<32>().or(w[7].shl::<32>()).and(mask),
            w[7].shr::<20>(),
        ]);
        low.montgomery(&Self::constant(&R)).add(&high.montgomery(&Self::constant(&RR)))
    }

    /// A number below 2^260, modulo L.
    #[inline(always)]
    pub(super) fn reduce_small(&self) -> Self {
        self.montgomery(&Self::constant(&R))
    }

    /// `a b` modulo L, for an `a` below L and a `b` below 2^260.
    #[inline(always)]
    pub(super) fn mul(&self, other: &Self) -> Self {
        self.montgomery(other).montgomery(&Self::constant(&RR))
    }

    /// `a + b` modulo L.
    #[inline(always)]
    pub(super) fn add(&self, other: &Self) -> Self {
        let mut sum = self.0;
        for (a, b) in sum.iter_mut().zip(other.0) {
            *a = a.add(b);
        }
        Scalar(subtract_order(carry(sum)))
    }

    /// `a / 2` modulo L: `(a + L) / 2` for an odd `a`.
    #[inline(always)]
    pub(super) fn halve(&self) -> Self {
        let odd = V::splat(0).sub(self.0[0].and(V::splat(1)));
        let mut d = self.0;
        for (digit, l) in d.iter_mut().zip(L) {
            *digit = digit.add(odd.and(V::splat(l)));
        }
        let d = carry(d);
        let mut half = d;
        for i in 0..4 {
            half[i] = d[i].shr::<1>().or(d[i + 1].shl::<51>()).and(V::splat(MASK));
        }
        half[4] = d[4].shr::<1>();
        Scalar(half)
    }

    /// `a b / R` modulo L, for `a b` below 2^260 L.
    #[inline(always)]
    fn montgomery(&self, other: &Self) -> Self {
        V::take(Montgomery(self, other))
    }
}

/// See [`Scalar::montgomery`].
struct Montgomery<'a, V>(&'a Scalar<V>, &'a Scalar<V>);

impl<V: Lanes> Step for Montgomery<'_, V> {
    type Output = Scalar<V>;

    #[inline(always)]
    fn run(self) -> Scalar<V> {
        let Montgomery(a, b) = self;
        let (zero, n0) = (V::splat(0), V::splat(N0));
        let l = Scalar::constant(&L).0;
        let b = &b.0;
        let mut r = [zero; 6];
        for a in a.0 {
            // Each column has at most 4 * 5 halves: below 2^57.
            r[0] = r[0].madd_lo(a, b[0]);
            let m = zero.madd_lo(r[0], n0);
            r[0] = r[0].madd_lo(m, l[0]);
            // Digit 3 of L is 0.
            let next = [
                r[1].madd_lo(a, b[1]).madd_hi(a, b[0]).madd_lo(m, l[1]).madd_hi(m, l[0]),
                r[2].madd_lo(a, b[2]).madd_hi(a, b[1]).madd_lo(m, l[2]).madd_hi(m, l[1]),
                r[3].madd_lo(a, b[3]).madd_hi(a, b[2]).madd_hi(m, l[2]),
                r[4].madd_lo(a, b[4]).madd_hi(a, b[3]).madd_lo(m, l[4]),
                r[5].madd_hi(a, b[4]).madd_hi(m, l[4]),
            ];
            r = [next[0].add(r[0].shr::<52>()), next[1], next[2], next[3], next[4], zero];
        }
        Scalar(subtract_order(carry([r[0], r[1], r[2], r[3], r[4]])))
    }
}

/// Where the number of four 64-bit words is below L.
#[inline(always)]
pub(super) fn is_below_order<V: Lanes>(words: &[V; 4]) -> V::Mask {
    let d = Scalar::from_words(words).0;
    let mut borrow = V::splat(0);
    for (digit, l) in d.into_iter().zip(L) {
        borrow = digit.sub(V::splat(l)).add(borrow).sar::<52>();
    }
    V::lt(V::splat(0), borrow)
}

/// Digits of 52 bits again.
#[inline(always)]
fn carry<V: Lanes>(d: [V; 5]) -> [V; 5] {
    let mask = V::splat(MASK);
    let d1 = d[1].add(d[0].shr::<52>());
    let d2 = d[2].add(d1.shr::<52>());
    let d3 = d[3].add(d2.shr::<52>());
    let d4 = d[4].add(d3.shr::<52>());
    [d[0].and(mask), d1.and(mask), d2.and(mask), d3.and(mask), d4]
}

/// Less L where that is not negative.
#[inline(always)]
fn subtract_order<V: Lanes>(d: [V; 5]) -> [V; 5] {
    let mask = V::splat(MASK);
    let d0 = d[0].sub(V::splat(L[0]));
    let d1 = d[1].sub(V::splat(L[1])).add(d0.sar::<52>());
    let d2 = d[2].sub(V::splat(L[2])).add(d1.sar::<52>());
    let d3 = d[3].sub(V::splat(L[3])).add(d2.sar::<52>());
    let d4 = d[4].sub(V::splat(L[4])).add(d3.sar::<52>());
    let negative = V::lt(V::splat(!0 >> 1), d4);
    [
        V::select(negative, d[0], d0.and(mask)),
        V::select(negative, d[1], d1.and(mask)),
        V::select(negative, d[2], d2.and(mask)),
        V::select(negative, d[3], d3.and(mask)),
        V::select(negative, d[4], d4),
    ]
}
