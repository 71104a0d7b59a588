//! Scalar multiplication, with signed windows (Booth's recoding).
//!
//! The scalar k, below the order n, is replaced by the even one of k and n - k, and the result
//! negated where that was n - k. With w-bit windows k = sum d_j 2^(w j), |d_j| <= 2^(w - 1). Why no
//! addition a + d B then meets a = d B, given that neither is infinity:
//!
//! * [`multiply_point`] goes from the top: a = 2^w m P, B = P. Before the last window all numbers
//!   are far below n, so equality modulo n is equality, 2^w m = d with |d| < 2^w: m = d = 0. In the
//!   last, 2^w m - d = n would give k = n + 2 d: odd.
//! * [`multiply_generator`] goes from the bottom: a = m G with |m| < 2^(w j), B = 2^(w j) G, so
//!   m = d 2^(w j) is impossible. Before the last digit that is not 0, sums and differences are
//!   below n in size. At the last, d 2^(w j) - m = +-n would give, with k = d 2^(w j) + m,
//!   2 d 2^(w j) = k +- n: odd.
//!
//! a = -d B happens only where the sum so far is a multiple of n, and the sums of leading windows
//! are 0 < sum < n, those of trailing windows not 0 and less than n in size. Infinity is where all
//! digits so far are 0; it is kept as a mask.

use core::marker::PhantomData;

use super::curves::Shape;
use super::digits::{BITS, carry, select, splat, sub, wipe};
use super::field::Field;
use super::point::{Add, AddAffine, Affine, Double, Point, add_affine_inline, doubled};
use super::table::{Table, windows};
use crate::lanes::{Lanes, Outline};

/// Bits of a window of [`multiply_point`].
const WINDOW: usize = 5;

/// A signed digit of a scalar.
struct Digit<L: Lanes> {
    negative: L::Mask,
    magnitude: L,
}

/// The even one of k and n - k, and where it is the second.
#[inline(always)]
fn make_even<F: Field<N>, L: Lanes, const N: usize>(k: &[L; N]) -> ([L; N], L::Mask) {
    let odd = k[0].and(L::splat(1)).eq(L::splat(1));
    let other = carry(sub(splat(&F::P), *k));
    (select::<L, N>(odd, other, *k), odd)
}

/// Digit `j` of windows of `w` bits: bits w j - 1 to w j + w - 1, of which the lowest is rounded.
#[inline(always)]
fn digit<L: Lanes, const N: usize>(k: &[L; N], j: usize, w: usize) -> Digit<L> {
    let bits = if j == 0 {
        k[0].shl::<1>()
    } else {
        let (i, shift) = ((w * j - 1) / BITS, (w * j - 1) % BITS);
        let low = k[i].shrv(L::splat(shift as u64));
        match k.get(i + 1) {
            Some(next) => low.or(next.shlv(L::splat((BITS - shift) as u64))),
            None => low,
        }
    };
    let bits = bits.and(L::splat((2 << w) - 1));
    let rounded = bits.add(L::splat(1)).shr::<1>();
    let negative = L::splat((1 << w) - 1).lt(bits);
    Digit { negative, magnitude: L::select(negative, L::splat(1 << w).sub(rounded), rounded) }
}

/// -`a` where the mask is set. y stays within [`Field::ROOM`].
#[inline(always)]
fn negate_if<F: Field<N>, L: Lanes, const N: usize>(
    mask: L::Mask,
    mut a: Point<L, N>,
) -> Point<L, N> {
    a.y = select::<L, N>(mask, carry(sub(F::multiple(F::ROOM), a.y)), a.y);
    a
}

/// The table of `C`.
pub(super) fn table<C: Shape<N>, L: Lanes, const N: usize>() -> &'static Table {
    C::table().get_or_init(Table::build::<C, L, N>)
}

/// The loop of [`multiply_generator`].
struct Comb<'a, C, L: Lanes, const N: usize> {
    table: &'static Table,
    k: &'a [L; N],
    sum: Point<L, N>,
    infinity: L::Mask,
    curve: PhantomData<C>,
}

impl<C: Shape<N>, L: Lanes, const N: usize> Outline for Comb<'_, C, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        for j in 0..windows(<C::Order as Field<N>>::BITS, C::WINDOW) {
            let digit = digit(self.k, j, C::WINDOW);
            let entry = self
                .table
                .pick::<C, L, N>(j, digit.magnitude.sub(L::splat(1)))
                .negate_if::<C::Prime>(digit.negative);
            let sum = add_affine_inline::<C::Prime, L, N>(&self.sum, &entry);
            let none = digit.magnitude.eq(L::splat(0));
            let sum = Point::select(self.infinity, &entry.to_point::<C::Prime>(), &sum);
            self.sum = Point::select(none, &self.sum, &sum);
            self.infinity = L::mask_and(self.infinity, none);
        }
    }
}

/// k G for 0 <= k < n, and where that is infinity.
#[inline(always)]
pub(super) fn multiply_generator<C: Shape<N>, L: Lanes, const N: usize>(
    k: &[L; N],
) -> (Point<L, N>, L::Mask) {
    let (mut even, negated) = make_even::<C::Order, L, N>(k);
    let one = splat(&C::Prime::ONE);
    let mut comb = Comb::<C, L, N> {
        table: table::<C, L, N>(),
        k: &even,
        sum: Point { x: one, y: one, z: one },
        infinity: L::mask_from_bits(u8::MAX),
        curve: PhantomData,
    };
    L::outline(&mut comb);
    let product = negate_if::<C::Prime, L, N>(negated, comb.sum);
    let infinity = comb.infinity;
    wipe(&mut even);
    (product, infinity)
}

/// Chooses entry `index` of 16; reads all of them.
struct Choose<'a, L, const N: usize> {
    table: &'a [Point<L, N>; 16],
    index: L,
    chosen: Point<L, N>,
}

impl<L: Lanes, const N: usize> Outline for Choose<'_, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        let mut chosen = self.table[0];
        for (e, entry) in self.table.iter().enumerate().skip(1) {
            let here = self.index.eq(L::splat(e as u64));
            chosen = Point::select(here, entry, &chosen);
        }
        self.chosen = chosen;
    }
}

/// k P for 0 < k < n and P on the curve.
#[inline(always)]
pub(super) fn multiply_point<C: Shape<N>, L: Lanes, const N: usize>(
    k: &[L; N],
    point: &Affine<L, N>,
) -> Point<L, N> {
    let (mut even, negated) = make_even::<C::Order, L, N>(k);
    // P to 16 P: 2 i P is i P doubled, (2 i + 1) P is 2 i P + P, and 2 i is not +-1.
    let mut table = [point.to_point::<C::Prime>(); 16];
    for i in 1..16 {
        if i % 2 == 1 {
            table[i] = doubled::<C::Prime, L, N>(&table[i / 2]);
        } else {
            table[i] = table[i - 1];
            L::outline(&mut AddAffine::<C::Prime, L, N>(&mut table[i], point, PhantomData));
        }
    }
    let count = windows(<C::Order as Field<N>>::BITS, WINDOW);
    let mut sum = table[0];
    let mut infinity = L::mask_from_bits(u8::MAX);
    for j in (0..count).rev() {
        if j != count - 1 {
            L::outline(&mut Double::<C::Prime, L, N>(&mut sum, WINDOW, PhantomData));
        }
        let digit = digit(&even, j, WINDOW);
        let mut choose =
            Choose { table: &table, index: digit.magnitude.sub(L::splat(1)), chosen: table[0] };
        L::outline(&mut choose);
        let entry = negate_if::<C::Prime, L, N>(digit.negative, choose.chosen);
        let mut next = sum;
        L::outline(&mut Add::<C::Prime, L, N>(&mut next, &entry, PhantomData));
        let none = digit.magnitude.eq(L::splat(0));
        next = Point::select(infinity, &entry, &next);
        sum = Point::select(none, &sum, &next);
        infinity = L::mask_and(infinity, none);
    }
    wipe(&mut even);
    negate_if::<C::Prime, L, N>(negated, sum)
}
