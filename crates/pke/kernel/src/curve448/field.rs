//! The field of p = 2^448 - 2^224 - 1, eight elements side by side.
//!
//! With f = 2^224, p = f^2 - f - 1, so that f^2 = f + 1. An element is `low + f high`; each half
//! has five digits in radix 2^45, the last of 44 bits: the halves of a product meet at f, with one
//! doubling, and 7 bits of each digit are left for sums. Three products of halves make one of
//! elements (Hamburg, "Ed448-Goldilocks, a new elliptic curve", 2015, section 3.2):
//!
//! ```text
//! (a0 + f a1) (b0 + f b1) = a0 b0 + a1 b1 + f ((a0 + a1) (b0 + b1) - a0 b0)
//! ```
//!
//! Bounds: a product's digits ([`Fe`], "reduced") are below 2^45 + 2^16, the last of a half below
//! 2^44 + 2^16. Factors may have digits below 2^47.5: sums and differences of two reduced elements.
//! Then the sum of two halves is below 2^48.5, a low half of a product of digits below 2^52 and a
//! high half below 2^45, which `vpmadd52` leaves at weight 2^52 = 2^7 2^45. Five of each in a
//! column: below 2^54.4 and 2^54.4. A result has at most six such sums (two of them doubled) of
//! each kind, and [`BIAS`], which keeps it positive: below 2^59, what a carry takes.
//!
//! Constant time. Test: `tests/x448.rs`; bench: `curve25519`.

use crate::lanes::{Lanes, Step};

/// Ones in the bits of a digit.
const MASK: u64 = (1 << 45) - 1;
/// Ones in those of a half's last digit.
const LAST_MASK: u64 = (1 << 44) - 1;
/// p: 2^224 - 1, and 2^224 - 2 times 2^224.
const P: [u64; 10] = [MASK, MASK, MASK, MASK, LAST_MASK, MASK - 1, MASK, MASK, MASK, LAST_MASK];
/// The multiple of p in a product: 2^13.
const BIAS: u32 = 13;

/// An element: digits 0 to 4 are the low half's, 5 to 9 the high half's.
#[derive(Clone, Copy)]
pub(super) struct Fe<V>(pub(super) [V; 10]);

/// The first bit of a digit.
const fn position(digit: usize) -> usize {
    224 * (digit / 5) + 45 * (digit % 5)
}

impl<V: Lanes> Fe<V> {
    /// The same small number in every lane.
    #[inline(always)]
    pub(super) fn small(value: u64) -> Self {
        let mut digits = [V::splat(0); 10];
        digits[0] = V::splat(value);
        Fe(digits)
    }

    /// From seven little-endian 64-bit words; values from p up are taken. Reduced.
    #[inline(always)]
    pub(super) fn from_words(words: &[V; 7]) -> Self {
        let mut digits = [V::splat(0); 10];
        for (i, digit) in digits.iter_mut().enumerate() {
            let (word, shift) = (position(i) / 64, (position(i) % 64) as u64);
            let low = words[word].shrv(V::splat(shift));
            let next = words.get(word + 1).copied().unwrap_or(V::splat(0));
            let bits = low.or(next.shlv(V::splat(64 - shift)));
            *digit = bits.and(V::splat(if i % 5 == 4 { LAST_MASK } else { MASK }));
        }
        Fe(digits)
    }

    /// To seven little-endian 64-bit words of the one value below p, for reduced elements.
    #[inline(always)]
    pub(super) fn to_words(self) -> [V; 7] {
        // Below 2^448 + 2^421. If the first round carries out, it leaves less than 2^421; after
        // the second no more can be carried out.
        let (d, top) = ripple(&self.0);
        let (d, top) = ripple(&fold(&d, top));
        let d = fold(&d, top);
        // It is p or more exactly if 1 + f more reach 2^448, and then it is less p what is left.
        let (_, above) = ripple(&fold(&d, V::splat(1)));
        let (d, _) = ripple(&fold(&d, above));
        let mut words = [V::splat(0); 7];
        for (i, digit) in d.into_iter().enumerate() {
            let (word, shift) = (position(i) / 64, (position(i) % 64) as u64);
            words[word] = words[word].or(digit.shlv(V::splat(shift)));
            if let Some(next) = words.get_mut(word + 1) {
                *next = next.or(digit.shrv(V::splat(64 - shift)));
            }
        }
        words
    }

    /// `a` where the mask is set, else `b`.
    #[inline(always)]
    pub(super) fn select(mask: V::Mask, a: &Self, b: &Self) -> Self {
        let mut digits = b.0;
        for (digit, a) in digits.iter_mut().zip(a.0) {
            *digit = V::select(mask, a, *digit);
        }
        Fe(digits)
    }

    /// `a + b`, not reduced.
    #[inline(always)]
    pub(super) fn add(&self, other: &Self) -> Self {
        let mut digits = self.0;
        for (digit, b) in digits.iter_mut().zip(other.0) {
            *digit = digit.add(b);
        }
        Fe(digits)
    }

    /// `a - b + 2 p`, for a reduced `b`; not reduced.
    #[inline(always)]
    pub(super) fn sub(&self, other: &Self) -> Self {
        let mut digits = self.0;
        for ((digit, b), p) in digits.iter_mut().zip(other.0).zip(P) {
            *digit = digit.add(V::splat(2 * p).sub(b));
        }
        Fe(digits)
    }

    /// `a b`, reduced; the factors are sums or differences of two reduced elements at most.
    #[inline(always)]
    pub(super) fn mul(&self, other: &Self) -> Self {
        V::take(Product(self, other))
    }

    /// `a^2`, as [`Fe::mul`].
    #[inline(always)]
    pub(super) fn sqr(&self) -> Self {
        V::take(Square(self))
    }

    /// `self + a c`, reduced, for a `c` below 2^16 and a factor `a`.
    #[inline(always)]
    pub(super) fn add_small_product(&self, a: &Self, c: u64) -> Self {
        let mut sum = self.0;
        let mut high = [V::splat(0); 10];
        for i in 0..10 {
            sum[i] = sum[i].madd_lo(a.0[i], V::splat(c));
            // Below 2^12, of weight 2^52: 2^7 times the next digit's, or 2^8 after a half's last.
            let part = V::splat(0).madd_hi(a.0[i], V::splat(c));
            high[i] = if i % 5 == 4 { part.shl::<8>() } else { part.shl::<7>() };
        }
        for i in 0..9 {
            sum[i + 1] = sum[i + 1].add(high[i]);
        }
        sum = fold(&sum, high[9]);
        reduce(&sum)
    }

    /// `a^(2^n)`, `n` of 1 and more.
    #[inline(always)]
    fn sqr_times(&self, n: u32) -> Self {
        let mut a = self.sqr();
        for _ in 1..n {
            a = a.sqr();
        }
        a
    }

    /// `1 / a`, and 0 for 0: `a^(p - 2)`,
    /// p - 2 = 2^448 - 2^224 - 3 = (2^223 - 1) 2^225 + (2^222 - 1) 2^2 + 1.
    #[inline(always)]
    pub(super) fn invert(&self) -> Self {
        // The number in a name is n, the exponent 2^n - 1.
        let n2 = self.sqr().mul(self);
        let n3 = n2.sqr().mul(self);
        let n6 = n3.sqr_times(3).mul(&n3);
        let n12 = n6.sqr_times(6).mul(&n6);
        let n24 = n12.sqr_times(12).mul(&n12);
        let n27 = n24.sqr_times(3).mul(&n3);
        let n54 = n27.sqr_times(27).mul(&n27);
        let n108 = n54.sqr_times(54).mul(&n54);
        let n111 = n108.sqr_times(3).mul(&n3);
        let n222 = n111.sqr_times(111).mul(&n111);
        let n223 = n222.sqr().mul(self);
        n223.sqr_times(223).mul(&n222).sqr_times(2).mul(self)
    }
}

/// The sums of low and of high halves per column of a product of two halves; the high halves count
/// 2^7 times. `l9` and `h0` stay what they were.
#[derive(Clone, Copy)]
struct Columns<V> {
    low: [V; 10],
    high: [V; 10],
}

/// `a b`, onto `start`.
#[inline(always)]
fn product<V: Lanes>(a: &[V; 5], b: &[V; 5], start: &Columns<V>) -> Columns<V> {
    let [mut l0, mut l1, mut l2, mut l3, mut l4, mut l5, mut l6, mut l7, mut l8, l9] = start.low;
    let [h0, mut h1, mut h2, mut h3, mut h4, mut h5, mut h6, mut h7, mut h8, mut h9] = start.high;
    l0 = l0.madd_lo(a[0], b[0]);
    l1 = l1.madd_lo(a[0], b[1]);
    l2 = l2.madd_lo(a[0], b[2]);
    l3 = l3.madd_lo(a[0], b[3]);
    l4 = l4.madd_lo(a[0], b[4]);
    h1 = h1.madd_hi(a[0], b[0]);
    h2 = h2.madd_hi(a[0], b[1]);
    h3 = h3.madd_hi(a[0], b[2]);
    h4 = h4.madd_hi(a[0], b[3]);
    h5 = h5.madd_hi(a[0], b[4]);
    l1 = l1.madd_lo(a[1], b[0]);
    l2 = l2.madd_lo(a[1], b[1]);
    l3 = l3.madd_lo(a[1], b[2]);
    l4 = l4.madd_lo(a[1], b[3]);
    l5 = l5.madd_lo(a[1], b[4]);
    h2 = h2.madd_hi(a[1], b[0]);
    h3 = h3.madd_hi(a[1], b[1]);
    h4 = h4.madd_hi(a[1], b[2]);
    h5 = h5.madd_hi(a[1], b[3]);
    h6 = h6.madd_hi(a[1], b[4]);
    l2 = l2.madd_lo(a[2], b[0]);
    l3 = l3.madd_lo(a[2], b[1]);
    l4 = l4.madd_lo(a[2], b[2]);
    l5 = l5.madd_lo(a[2], b[3]);
    l6 = l6.madd_lo(a[2], b[4]);
    h3 = h3.madd_hi(a[2], b[0]);
    h4 = h4.madd_hi(a[2], b[1]);
    h5 = h5.madd_hi(a[2], b[2]);
    h6 = h6.madd_hi(a[2], b[3]);
    h7 = h7.madd_hi(a[2], b[4]);
    l3 = l3.madd_lo(a[3], b[0]);
    l4 = l4.madd_lo(a[3], b[1]);
    l5 = l5.madd_lo(a[3], b[2]);
    l6 = l6.madd_lo(a[3], b[3]);
    l7 = l7.madd_lo(a[3], b[4]);
    h4 = h4.madd_hi(a[3], b[0]);
    h5 = h5.madd_hi(a[3], b[1]);
    h6 = h6.madd_hi(a[3], b[2]);
    h7 = h7.madd_hi(a[3], b[3]);
    h8 = h8.madd_hi(a[3], b[4]);
    l4 = l4.madd_lo(a[4], b[0]);
    l5 = l5.madd_lo(a[4], b[1]);
    l6 = l6.madd_lo(a[4], b[2]);
    l7 = l7.madd_lo(a[4], b[3]);
    l8 = l8.madd_lo(a[4], b[4]);
    h5 = h5.madd_hi(a[4], b[0]);
    h6 = h6.madd_hi(a[4], b[1]);
    h7 = h7.madd_hi(a[4], b[2]);
    h8 = h8.madd_hi(a[4], b[3]);
    h9 = h9.madd_hi(a[4], b[4]);
    Columns {
        low: [l0, l1, l2, l3, l4, l5, l6, l7, l8, l9],
        high: [h0, h1, h2, h3, h4, h5, h6, h7, h8, h9],
    }
}

/// `a^2`, onto `start`.
#[inline(always)]
fn square<V: Lanes>(a: &[V; 5], start: &Columns<V>) -> Columns<V> {
    let twice = [a[0].add(a[0]), a[1].add(a[1]), a[2].add(a[2]), a[3].add(a[3])];
    let [mut l0, mut l1, mut l2, mut l3, mut l4, mut l5, mut l6, mut l7, mut l8, l9] = start.low;
    let [h0, mut h1, mut h2, mut h3, mut h4, mut h5, mut h6, mut h7, mut h8, mut h9] = start.high;
    l0 = l0.madd_lo(a[0], a[0]);
    h1 = h1.madd_hi(a[0], a[0]);
    l2 = l2.madd_lo(a[1], a[1]);
    h3 = h3.madd_hi(a[1], a[1]);
    l4 = l4.madd_lo(a[2], a[2]);
    h5 = h5.madd_hi(a[2], a[2]);
    l6 = l6.madd_lo(a[3], a[3]);
    h7 = h7.madd_hi(a[3], a[3]);
    l8 = l8.madd_lo(a[4], a[4]);
    h9 = h9.madd_hi(a[4], a[4]);
    l1 = l1.madd_lo(twice[0], a[1]);
    h2 = h2.madd_hi(twice[0], a[1]);
    l3 = l3.madd_lo(twice[1], a[2]);
    h4 = h4.madd_hi(twice[1], a[2]);
    l5 = l5.madd_lo(twice[2], a[3]);
    h6 = h6.madd_hi(twice[2], a[3]);
    l7 = l7.madd_lo(twice[3], a[4]);
    h8 = h8.madd_hi(twice[3], a[4]);
    l2 = l2.madd_lo(twice[0], a[2]);
    h3 = h3.madd_hi(twice[0], a[2]);
    l4 = l4.madd_lo(twice[1], a[3]);
    h5 = h5.madd_hi(twice[1], a[3]);
    l6 = l6.madd_lo(twice[2], a[4]);
    h7 = h7.madd_hi(twice[2], a[4]);
    l3 = l3.madd_lo(twice[0], a[3]);
    h4 = h4.madd_hi(twice[0], a[3]);
    l5 = l5.madd_lo(twice[1], a[4]);
    h6 = h6.madd_hi(twice[1], a[4]);
    l4 = l4.madd_lo(twice[0], a[4]);
    h5 = h5.madd_hi(twice[0], a[4]);
    Columns {
        low: [l0, l1, l2, l3, l4, l5, l6, l7, l8, l9],
        high: [h0, h1, h2, h3, h4, h5, h6, h7, h8, h9],
    }
}

/// Where the product of the sums of halves begins: `-a0 b0`, and the biases of both halves, of
/// which `a0 b0` has that of the low one.
#[inline(always)]
fn negated<V: Lanes>(c00: &Columns<V>) -> Columns<V> {
    let mut start = Columns { low: [V::splat(0); 10], high: [V::splat(0); 10] };
    for i in 0..5 {
        start.low[i] = V::splat((P[i] + P[5 + i]) << BIAS).sub(c00.low[i]);
        start.high[i] = V::splat(0).sub(c00.high[i]);
    }
    start
}

/// Where `a0 b0` begins: the bias of the low half.
#[inline(always)]
fn biased<V: Lanes>() -> Columns<V> {
    let mut start = Columns { low: [V::splat(0); 10], high: [V::splat(0); 10] };
    for (low, p) in start.low.iter_mut().zip(&P[..5]) {
        *low = V::splat(p << BIAS);
    }
    start
}

/// Where `a1 b1` begins: the columns to which it is to be added.
#[inline(always)]
fn joined<V: Lanes>(c00: &Columns<V>, cs: &Columns<V>) -> Columns<V> {
    let mut start = *cs;
    for i in 0..5 {
        start.low[i] = c00.low[i];
        start.high[i] = c00.high[i];
    }
    start
}

/// The product of two elements from three products of halves: `c00` is `a0 b0`, `cs` is
/// `(a0 + a1) (b0 + b1)` onto [`negated`], `c11` is `a1 b1` onto [`joined`].
///
/// Each product is `L + 2 f H`, five columns each: a half's digits have 224 bits together, one
/// less than five full ones. With f^2 = f + 1 the result is
///
/// ```text
/// low:  L00 + L11 + 2 (Hs - H00)
/// high: Ls - L00 + 2 (Hs + H11)
/// ```
#[inline(always)]
fn combine<V: Lanes>(c00: &Columns<V>, cs: &Columns<V>, c11: &Columns<V>) -> Fe<V> {
    let mut sum = [V::splat(0); 10];
    for i in 0..5 {
        let low = cs.low[5 + i].sub(c00.low[5 + i]);
        let high = cs.high[5 + i].sub(c00.high[5 + i]);
        let low = c11.low[i].add(low.add(low));
        let high = c11.high[i].add(high.add(high));
        sum[i] = low.add(high.shl::<7>());
        let low = cs.low[i].add(c11.low[5 + i].add(c11.low[5 + i]));
        let high = cs.high[i].add(c11.high[5 + i].add(c11.high[5 + i]));
        sum[5 + i] = low.add(high.shl::<7>());
    }
    reduce(&sum)
}

/// The halves and their sum.
#[inline(always)]
fn halves<V: Lanes>(a: &[V; 10]) -> ([V; 5], [V; 5], [V; 5]) {
    (
        [a[0], a[1], a[2], a[3], a[4]],
        [a[5], a[6], a[7], a[8], a[9]],
        [a[0].add(a[5]), a[1].add(a[6]), a[2].add(a[7]), a[3].add(a[8]), a[4].add(a[9])],
    )
}

/// See [`Fe::mul`].
struct Product<'a, V>(&'a Fe<V>, &'a Fe<V>);

impl<V: Lanes> Step for Product<'_, V> {
    type Output = Fe<V>;

    #[inline(always)]
    fn run(self) -> Fe<V> {
        let ((a0, a1, a), (b0, b1, b)) = (halves(&self.0.0), halves(&self.1.0));
        let c00 = product(&a0, &b0, &biased());
        let cs = product(&a, &b, &negated(&c00));
        let c11 = product(&a1, &b1, &joined(&c00, &cs));
        combine(&c00, &cs, &c11)
    }
}

/// See [`Fe::sqr`].
struct Square<'a, V>(&'a Fe<V>);

impl<V: Lanes> Step for Square<'_, V> {
    type Output = Fe<V>;

    #[inline(always)]
    fn run(self) -> Fe<V> {
        let (a0, a1, a) = halves(&self.0.0);
        let c00 = square(&a0, &biased());
        let cs = square(&a, &negated(&c00));
        let c11 = square(&a1, &joined(&c00, &cs));
        combine(&c00, &cs, &c11)
    }
}

/// One carry of all digits at once, of digits below 2^63 - 2^45: 2^18 at most are carried.
#[inline(always)]
fn reduce<V: Lanes>(r: &[V; 10]) -> Fe<V> {
    let (mask, last) = (V::splat(MASK), V::splat(LAST_MASK));
    let top = r[9].shr::<44>();
    Fe([
        r[0].and(mask).add(top),
        r[1].and(mask).add(r[0].shr::<45>()),
        r[2].and(mask).add(r[1].shr::<45>()),
        r[3].and(mask).add(r[2].shr::<45>()),
        r[4].and(last).add(r[3].shr::<45>()),
        r[5].and(mask).add(r[4].shr::<44>()).add(top),
        r[6].and(mask).add(r[5].shr::<45>()),
        r[7].and(mask).add(r[6].shr::<45>()),
        r[8].and(mask).add(r[7].shr::<45>()),
        r[9].and(last).add(r[8].shr::<45>()),
    ])
}

/// A carry from digit 0 up: digits of their bits, and what is left over, of weight 2^448.
#[inline(always)]
fn ripple<V: Lanes>(d: &[V; 10]) -> ([V; 10], V) {
    let mut digits = *d;
    let mut carry = V::splat(0);
    for (i, digit) in digits.iter_mut().enumerate() {
        let sum = digit.add(carry);
        if i % 5 == 4 {
            *digit = sum.and(V::splat(LAST_MASK));
            carry = sum.shr::<44>();
        } else {
            *digit = sum.and(V::splat(MASK));
            carry = sum.shr::<45>();
        }
    }
    (digits, carry)
}

/// `d + 2^448 top`: 2^448 = 2^224 + 1.
#[inline(always)]
fn fold<V: Lanes>(d: &[V; 10], top: V) -> [V; 10] {
    let mut digits = *d;
    digits[0] = digits[0].add(top);
    digits[5] = digits[5].add(top);
    digits
}
