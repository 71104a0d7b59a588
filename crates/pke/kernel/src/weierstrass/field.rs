//! Arithmetic modulo the primes, in Montgomery form with R = 2^(52 N).
//!
//! A residue x is held as a number that is x R modulo p and not always below p. Where a bound
//! matters it is given in units of p. A product of numbers below a p and b p comes out below
//! (a b p / R + 1) p; R / p is 16 for the primes of 256 bits, the tightest case, and at least 2^32
//! for the others.

use core::marker::PhantomData;

use super::digits::{self, COLUMNS, MASK, each, negated_inverse, parse, power_of_two, splat};
use crate::lanes::{Lanes, Outline};

/// A prime modulus, below 2^(52 N - 4).
pub(super) trait Field<const N: usize>: Copy + 'static {
    /// The prime.
    const P: [u64; N];
    /// Its bits.
    const BITS: usize;
    /// What x and y of a point stay below: little for the primes of 256 bits, which have no room;
    /// the others have, and save the work.
    const ROOM: u64 = 16;
    /// R mod p, which is 1.
    const ONE: [u64; N] = power_of_two(52 * N, &Self::P);
    /// R^2 mod p, which brings a number to Montgomery form.
    const RR: [u64; N] = power_of_two(104 * N, &Self::P);
    /// -1/p modulo 2^52.
    const NEGATED_INVERSE: u64 = negated_inverse(Self::P[0]);

    /// Montgomery reduction: columns worth T become a raw number congruent to T / R, at least T / R
    /// and less than T / R + p. Columns may be negative.
    #[inline(always)]
    fn reduce<L: Lanes>(t: &mut [L; COLUMNS]) -> [L; N] {
        let inverse = L::splat(Self::NEGATED_INVERSE);
        each!(i < N => {
            // q makes the lowest digit of T + q p zero.
            let q = L::splat(0).madd_lo(t[i], inverse);
            each!(j < N => { t[i + j] = t[i + j].madd_lo(q, L::splat(Self::P[j])); });
            t[i + 1] = t[i + 1].add(t[i].sar::<52>());
            each!(j < N => { t[i + j + 1] = t[i + j + 1].madd_hi(q, L::splat(Self::P[j])); });
        });
        upper(t)
    }

    /// A raw number between -8 and 8 becomes a carried one: below 1.01 for the primes of 256 bits,
    /// below 16 for the others.
    #[inline(always)]
    fn settle<L: Lanes>(a: [L; N]) -> [L; N] {
        digits::carry(digits::add(a, Self::multiple(8)))
    }

    /// k p, raw.
    #[inline(always)]
    fn multiple<L: Lanes>(k: u64) -> [L; N] {
        let mut a = digits::zero();
        each!(i < N => { a[i] = L::splat(k * Self::P[i]); });
        a
    }

    /// a b, raw. In a point formula inlined where numbers are short, else a call.
    #[inline(always)]
    fn mul_raw<L: Lanes>(a: &[L; N], b: &[L; N]) -> [L; N] {
        if inlined::<L, N>() {
            mul_inline::<Self, L, N>(a, b)
        } else {
            call::<Self, L, N, MUL>(a, b)
        }
    }

    /// a b.
    #[inline(always)]
    fn mul<L: Lanes>(a: &[L; N], b: &[L; N]) -> [L; N] {
        digits::carry(Self::mul_raw(a, b))
    }

    /// a^2, raw.
    #[inline(always)]
    fn square_raw<L: Lanes>(a: &[L; N]) -> [L; N] {
        if inlined::<L, N>() {
            Self::reduce(&mut digits::square(a))
        } else {
            call::<Self, L, N, SQUARE>(a, a)
        }
    }

    /// a^2.
    #[inline(always)]
    fn square<L: Lanes>(a: &[L; N]) -> [L; N] {
        digits::carry(Self::square_raw(a))
    }

    /// a b + c d, raw: one reduction for two products.
    #[inline(always)]
    fn mul_add_raw<L: Lanes>(a: &[L; N], b: &[L; N], c: &[L; N], d: &[L; N]) -> [L; N] {
        if inlined::<L, N>() {
            mul_add_inline::<Self, L, N>(a, b, c, d)
        } else {
            let mut piece = MulAdd::<Self, L, N> { a, b, c, d, result: *a, field: PhantomData };
            L::outline(&mut piece);
            piece.result
        }
    }
}

/// Whether products in point formulas are inlined.
#[inline(always)]
const fn inlined<L: Lanes, const N: usize>() -> bool {
    L::FAST && N <= 5
}

#[inline(always)]
fn mul_inline<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N], b: &[L; N]) -> [L; N] {
    let mut t = digits::zero();
    digits::add_product(&mut t, a, b);
    F::reduce(&mut t)
}

#[inline(always)]
fn mul_add_inline<F: Field<N>, L: Lanes, const N: usize>(
    a: &[L; N],
    b: &[L; N],
    c: &[L; N],
    d: &[L; N],
) -> [L; N] {
    let mut t = digits::zero();
    digits::add_product(&mut t, a, b);
    digits::add_product(&mut t, c, d);
    F::reduce(&mut t)
}

// What a call does: constants in place of an enumeration, which cannot be a parameter.
const MUL: u8 = 0;
const SQUARE: u8 = 1;
const LEAVE: u8 = 2;

/// An operation that is not inlined, so that its code exists once.
struct Call<'a, F, L, const N: usize, const WHAT: u8> {
    a: &'a [L; N],
    b: &'a [L; N],
    result: [L; N],
    field: PhantomData<F>,
}

impl<F: Field<N>, L: Lanes, const N: usize, const WHAT: u8> Outline for Call<'_, F, L, N, WHAT> {
    #[inline(always)]
    fn run(&mut self) {
        self.result = match WHAT {
            MUL => mul_inline::<F, L, N>(self.a, self.b),
            SQUARE => F::reduce(&mut digits::square(self.a)),
            _ => {
                let mut t = digits::zero::<L, COLUMNS>();
                t[..N].copy_from_slice(self.a);
                // T < R, so the result is at most p.
                digits::reduce_once(digits::carry(F::reduce(&mut t)), splat(&F::P))
            }
        };
    }
}

#[inline(always)]
fn call<F: Field<N>, L: Lanes, const N: usize, const WHAT: u8>(a: &[L; N], b: &[L; N]) -> [L; N] {
    let mut call = Call::<F, L, N, WHAT> { a, b, result: *a, field: PhantomData };
    L::outline(&mut call);
    call.result
}

/// a b + c d, not inlined.
struct MulAdd<'a, F, L, const N: usize> {
    a: &'a [L; N],
    b: &'a [L; N],
    c: &'a [L; N],
    d: &'a [L; N],
    result: [L; N],
    field: PhantomData<F>,
}

impl<F: Field<N>, L: Lanes, const N: usize> Outline for MulAdd<'_, F, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        self.result = mul_add_inline::<F, L, N>(self.a, self.b, self.c, self.d);
    }
}

/// a b, not inlined.
#[inline(always)]
pub(super) fn mul<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N], b: &[L; N]) -> [L; N] {
    digits::carry(call::<F, L, N, MUL>(a, b))
}

/// a^2, not inlined.
#[inline(always)]
pub(super) fn square<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N]) -> [L; N] {
    mul::<F, L, N>(a, a)
}

/// A carried number to Montgomery form.
#[inline(always)]
pub(super) fn enter<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N]) -> [L; N] {
    mul::<F, L, N>(a, &splat(&F::RR))
}

/// From Montgomery form to the number below p.
#[inline(always)]
pub(super) fn leave<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N]) -> [L; N] {
    call::<F, L, N, LEAVE>(a, a)
}

/// The same residue below p. A product with R mod p is less than 2 p.
#[inline(always)]
pub(super) fn canonical<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N]) -> [L; N] {
    digits::reduce_once(mul::<F, L, N>(a, &splat(&F::ONE)), splat(&F::P))
}

/// Where the residue is 0.
#[inline(always)]
pub(super) fn is_zero<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N]) -> L::Mask {
    digits::is_zero(leave::<F, L, N>(a))
}

/// The columns that Montgomery reduction leaves.
#[inline(always)]
fn upper<L: Lanes, const N: usize>(t: &[L; COLUMNS]) -> [L; N] {
    let mut a = digits::zero();
    each!(i < N => { a[i] = t[i + N]; });
    a
}

/// 2^256 - 2^224 + 2^192 + 2^96 - 1, the field of P-256.
#[derive(Clone, Copy)]
pub(super) struct P256;

/// 2^256 - 2^224 - 2^96 + 2^64 - 1, the field of SM2.
#[derive(Clone, Copy)]
pub(super) struct Sm2;

/// 2^384 - 2^128 - 2^96 + 2^32 - 1, the field of P-384.
#[derive(Clone, Copy)]
pub(super) struct P384;

/// 2^521 - 1, the field of P-521.
#[derive(Clone, Copy)]
pub(super) struct P521;

/// 2^224 - 2^96 + 1, the field of P-224.
#[derive(Clone, Copy)]
pub(super) struct P224;

impl Field<5> for P256 {
    const P: [u64; 5] = parse("ffffffff00000001000000000000000000000000ffffffffffffffffffffffff");
    const BITS: usize = 256;
    const ROOM: u64 = 2;

    /// p = -1 modulo 2^52, so the quotient digit q is the lowest digit itself, and
    /// q p = -q + 2^52 (2^44 q) + 2^156 (2^36 q) + 2^208 (2^48 - 2^16) q: the first term clears the
    /// digit.
    #[inline(always)]
    fn reduce<L: Lanes>(t: &mut [L; COLUMNS]) -> [L; 5] {
        let (c1, c3, c4) = (L::splat(1 << 44), L::splat(1 << 36), L::splat((1 << 48) - (1 << 16)));
        each!(i < 5 => {
            let q = t[i];
            t[i + 1] = t[i + 1].madd_lo(q, c1).add(q.sar::<52>());
            t[i + 2] = t[i + 2].madd_hi(q, c1);
            t[i + 3] = t[i + 3].madd_lo(q, c3);
            t[i + 4] = t[i + 4].madd_hi(q, c3).madd_lo(q, c4);
            t[i + 5] = t[i + 5].madd_hi(q, c4);
        });
        upper(t)
    }

    /// Takes h p off, h being the bits above 2^256 in digit 4, rounded down after a bias:
    /// 2^256 = p + 2^224 - 2^192 - 2^96 + 1. Digit 4 is then in 2^21..2^48 + 2^21; the carry from
    /// digit 3 (below 2^12) and h 2^16 (|h| <= 16) change it by less than 2^20.1, so the number
    /// stays positive and below 2^256 (1 + 2^-26).
    #[inline(always)]
    fn settle<L: Lanes>(mut a: [L; 5]) -> [L; 5] {
        let h = a[4].sub(L::splat(1 << 21)).sar::<48>();
        a[0] = a[0].add(h);
        a[1] = a[1].sub(h.shl::<44>());
        a[3] = a[3].sub(h.shl::<36>());
        a[4] = a[4].sub(h.shl::<48>()).add(h.shl::<16>());
        digits::carry(a)
    }
}

impl Field<5> for Sm2 {
    const P: [u64; 5] = parse("fffffffeffffffffffffffffffffffffffffffff00000000ffffffffffffffff");
    const BITS: usize = 256;
    const ROOM: u64 = 2;

    /// p = -1 modulo 2^52 and q p = -q - 2^52 (2^44 - 2^12) q + 2^208 (2^48 - 2^16) q, where
    /// -(2^44 - 2^12) = (2^52 - 2^44 + 2^12) - 2^52 makes the middle term a product and -q.
    #[inline(always)]
    fn reduce<L: Lanes>(t: &mut [L; COLUMNS]) -> [L; 5] {
        let c1 = L::splat((1 << 52) - (1 << 44) + (1 << 12));
        let c4 = L::splat((1 << 48) - (1 << 16));
        let mask = L::splat(MASK);
        each!(i < 5 => {
            let q = t[i];
            t[i + 1] = t[i + 1].madd_lo(q, c1).add(q.sar::<52>());
            t[i + 2] = t[i + 2].sub(q.and(mask)).madd_hi(q, c1);
            t[i + 4] = t[i + 4].madd_lo(q, c4);
            t[i + 5] = t[i + 5].madd_hi(q, c4);
        });
        upper(t)
    }

    /// As for P-256, with 2^256 = p + 2^224 + 2^96 - 2^64 + 1.
    #[inline(always)]
    fn settle<L: Lanes>(mut a: [L; 5]) -> [L; 5] {
        let h = a[4].sub(L::splat(1 << 21)).sar::<48>();
        a[0] = a[0].add(h);
        a[1] = a[1].add(h.shl::<44>()).sub(h.shl::<12>());
        a[4] = a[4].sub(h.shl::<48>()).add(h.shl::<16>());
        digits::carry(a)
    }
}

impl Field<8> for P384 {
    const P: [u64; 8] = parse(
        "fffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffe\
         ffffffff0000000000000000ffffffff",
    );
    const BITS: usize = 384;

    /// -1/p = 2^32 + 1 modulo 2^52. The digits of p are 2^32 - 1, 2^52 - 2^44, 2^52 - 2^24 - 1,
    /// four times 2^52 - 1, which telescope to -q at digit 3 and q at digit 7, and 2^20 - 1.
    #[inline(always)]
    fn reduce<L: Lanes>(t: &mut [L; COLUMNS]) -> [L; 8] {
        let c0 = L::splat((1 << 32) - 1);
        let c1 = L::splat((1 << 52) - (1 << 44));
        let c2 = L::splat((1 << 52) - (1 << 24) - 1);
        let c7 = L::splat(1 << 20);
        let mask = L::splat(MASK);
        each!(i < 8 => {
            let q = t[i].add(t[i].shl::<32>()).and(mask);
            t[i] = t[i].madd_lo(q, c0);
            // Two short chains instead of a long one: every round waits for this digit.
            let middle = L::splat(0).madd_lo(q, c1).add(t[i].sar::<52>());
            t[i + 1] = t[i + 1].madd_hi(q, c0).add(middle);
            t[i + 2] = t[i + 2].madd_hi(q, c1).madd_lo(q, c2);
            t[i + 3] = t[i + 3].sub(q).madd_hi(q, c2);
            t[i + 7] = t[i + 7].madd_lo(q, c7);
            t[i + 8] = t[i + 8].madd_hi(q, c7);
        });
        upper(t)
    }
}

impl Field<11> for P521 {
    const P: [u64; 11] = parse(
        "1ff\
         ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff\
         ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    );
    const BITS: usize = 521;

    /// q p = -q + 2^520 (2 q).
    #[inline(always)]
    fn reduce<L: Lanes>(t: &mut [L; COLUMNS]) -> [L; 11] {
        let mask = L::splat(MASK);
        each!(i < 11 => {
            let q = t[i].and(mask);
            t[i + 1] = t[i + 1].add(t[i].sar::<52>());
            t[i + 10] = t[i + 10].add(q).add(q);
        });
        upper(t)
    }
}

impl Field<5> for P224 {
    const P: [u64; 5] = parse("ffffffffffffffffffffffffffffffff000000000000000000000001");
    const BITS: usize = 224;
}
