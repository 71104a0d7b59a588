//! Inversion modulo an odd prime by Bernstein and Yang's division steps, in constant time.
//!
//! "Fast constant-time gcd computation and modular inversion" (2019), with the variant that starts
//! at delta = 1/2. A step replaces (delta, f, g), f odd, by
//!
//! * (1 - delta, g, (g - f) / 2) where delta > 0 and g is odd,
//! * (1 + delta, f, (g + (g mod 2) f) / 2) otherwise.
//!
//! For f = p and 0 <= g < p < 2^b, g is 0 and f is +-gcd after (45907 b + 26313) / 19929 steps at
//! most. [`STEPS`] of them depend on the low bits only, so they run on one word and are gathered in
//! a matrix; then it is applied to the long numbers.
//!
//! Fermat's theorem would cost as many squarings as p has bits, each waiting for the one before.

use core::marker::PhantomData;

use super::digits::{BITS, MASK, carry, each, power_of_two, select, splat, sub, zero};
use super::field::Field;
use crate::lanes::{Lanes, Outline};

/// Division steps per matrix. Its entries are then at most 2^50 in size, and so are the sums of
/// the sizes along each row.
const STEPS: usize = 50;

/// How many matrices a prime of so many bits needs.
const fn matrices(bits: usize) -> usize {
    ((45907 * bits + 26313) / 19929 + 1).div_ceil(STEPS)
}

/// Entries of a transition matrix: (f, g) becomes (u f + v g, q f + r g) / 2^50.
struct Matrix<L> {
    u: L,
    v: L,
    q: L,
    r: L,
}

/// Where a lane, as a signed integer, is negative.
#[inline(always)]
fn negative<L: Lanes>(a: L) -> L::Mask {
    L::splat(i64::MAX.cast_unsigned()).lt(a)
}

/// R^2 / a for 0 <= a < p: the inverse in Montgomery form of a number in Montgomery form. Carried,
/// at most 2 p; 0 for 0.
#[inline(always)]
pub(super) fn inverse<F: Field<N>, L: Lanes, const N: usize>(a: &[L; N]) -> [L; N] {
    let mut piece = Inversion::<F, L, N>(*a, PhantomData);
    L::outline(&mut piece);
    piece.0
}

/// Replaces its number.
struct Inversion<F, L, const N: usize>([L; N], PhantomData<F>);

impl<F: Field<N>, L: Lanes, const N: usize> Outline for Inversion<F, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        // With M the product of k matrices, 2^(50 k) (f, g) = M (p, a). Below, d and e are
        // multiplied by the same matrices but divided by 2^52 each time, so that at the end
        // +-2^(50 k) = M01 a and d = M01 e0 / 2^(52 k): 1/a = +-2^(2 k) d / e0. Hence this e0.
        let mut f: [L; N] = splat(&F::P);
        let mut g = self.0;
        let mut d = zero();
        let mut e = splat(&const { power_of_two(2 * BITS * N + 2 * matrices(F::BITS), &F::P) });
        let mut zeta = L::splat(u64::MAX);
        for _ in 0..matrices(F::BITS) {
            let low_f = f[0].or(f[1].shl::<52>());
            let low_g = g[0].or(g[1].shl::<52>());
            let matrix = steps(&mut zeta, low_f, low_g);
            (f, g) = apply_exact(&matrix, f, g);
            (d, e) = apply_modular::<F, L, N>(&matrix, d, e);
        }
        let minus_d = carry(sub(F::multiple(2), d));
        self.0 = select::<L, N>(top_bit(&f), minus_d, d);
    }
}

/// Division steps on the low 64 bits. `zeta` is -(delta + 1/2).
#[inline(always)]
fn steps<L: Lanes>(zeta: &mut L, mut f: L, mut g: L) -> Matrix<L> {
    let (zero, one) = (L::splat(0), L::splat(1));
    let (mut u, mut v, mut q, mut r) = (one, zero, zero, one);
    for _ in 0..STEPS {
        // delta > 0 is zeta < 0; there f is negated before it is added.
        let positive = negative(*zeta);
        let odd = g.and(one).eq(one);
        let swap = L::mask_and(positive, odd);
        g = L::select(odd, g.add(L::select(positive, zero.sub(f), f)), g);
        q = L::select(odd, q.add(L::select(positive, zero.sub(u), u)), q);
        r = L::select(odd, r.add(L::select(positive, zero.sub(v), v)), r);
        // In a swap delta becomes 1 - delta: zeta becomes -zeta - 2; else zeta - 1.
        *zeta = L::select(swap, L::splat(u64::MAX - 1).sub(*zeta), zeta.sub(one));
        // f + (g - f) is the old g.
        f = L::select(swap, f.add(g), f);
        u = L::select(swap, u.add(q), u);
        v = L::select(swap, v.add(r), v);
        g = g.shr::<1>();
        u = u.add(u);
        v = v.add(v);
    }
    Matrix { u, v, q, r }
}

/// The sign of a number in two's complement of 52 N bits.
#[inline(always)]
fn top_bit<L: Lanes, const N: usize>(a: &[L; N]) -> L::Mask {
    L::splat(MASK >> 1).lt(a[N - 1])
}

/// -a in two's complement of 52 N bits.
#[inline(always)]
fn negated<L: Lanes, const N: usize>(a: [L; N]) -> [L; N] {
    let mut minus = carry(sub(zero(), a));
    minus[N - 1] = minus[N - 1].and(L::splat(MASK));
    minus
}

/// size x, x or its negative by the sign of the factor, as 12 columns; what is chosen, and the size.
#[inline(always)]
fn signed_product<L: Lanes, const N: usize>(
    t: &mut [L; 12],
    factor: L,
    plus: &[L; N],
    minus: &[L; N],
) -> ([L; N], L) {
    let sign = negative(factor);
    let size = L::select(sign, L::splat(0).sub(factor), factor);
    let x = select::<L, N>(sign, *minus, *plus);
    each!(i < N => {
        t[i] = t[i].madd_lo(size, x[i]);
        t[i + 1] = t[i + 1].madd_hi(size, x[i]);
    });
    (x, size)
}

/// (u f + v g) / 2^50, in two's complement. The factors come with their numbers and the negatives
/// of these.
#[inline(always)]
fn row_exact<L: Lanes, const N: usize>(
    (u, f, minus_f): (L, &[L; N], &[L; N]),
    (v, g, minus_g): (L, &[L; N], &[L; N]),
) -> [L; N] {
    let mut t = [L::splat(0); 12];
    // The digits of a negative x are those of x + 2^(52 N).
    let (x, size) = signed_product(&mut t, u, f, minus_f);
    t[N] = t[N].sub(L::select(top_bit(&x), size, L::splat(0)));
    let (x, size) = signed_product(&mut t, v, g, minus_g);
    t[N] = t[N].sub(L::select(top_bit(&x), size, L::splat(0)));
    each!(i < N => {
        t[i + 1] = t[i + 1].add(t[i].sar::<52>());
        t[i] = t[i].and(L::splat(MASK));
    });
    let mut result = *f;
    each!(i < N => {
        result[i] = t[i].shr::<50>().or(t[i + 1].shl::<2>()).and(L::splat(MASK));
    });
    result
}

/// The matrix applied to f and g in two's complement, divided exactly.
#[inline(always)]
fn apply_exact<L: Lanes, const N: usize>(m: &Matrix<L>, f: [L; N], g: [L; N]) -> ([L; N], [L; N]) {
    let (minus_f, minus_g) = (negated(f), negated(g));
    (
        row_exact((m.u, &f, &minus_f), (m.v, &g, &minus_g)),
        row_exact((m.q, &f, &minus_f), (m.r, &g, &minus_g)),
    )
}

/// (u d + v e) / 2^52 modulo p.
#[inline(always)]
fn row_modular<F: Field<N>, L: Lanes, const N: usize>(
    (u, d, minus_d): (L, &[L; N], &[L; N]),
    (v, e, minus_e): (L, &[L; N], &[L; N]),
) -> [L; N] {
    let mut t = [L::splat(0); 12];
    signed_product(&mut t, u, d, minus_d);
    signed_product(&mut t, v, e, minus_e);
    let quotient = L::splat(0).madd_lo(t[0], L::splat(F::NEGATED_INVERSE));
    each!(i < N => {
        t[i] = t[i].madd_lo(quotient, L::splat(F::P[i]));
        t[i + 1] = t[i + 1].madd_hi(quotient, L::splat(F::P[i]));
    });
    t[1] = t[1].add(t[0].shr::<52>());
    let mut result = *d;
    each!(i < N => { result[i] = t[i + 1]; });
    carry(result)
}

/// The matrix applied to d and e modulo p, divided by 2^52. From 0..=2p to 0..=2p: a row's sizes
/// sum to at most 2^50, so the result is at most (2^50 2p + 2^52 p) / 2^52.
#[inline(always)]
fn apply_modular<F: Field<N>, L: Lanes, const N: usize>(
    m: &Matrix<L>,
    d: [L; N],
    e: [L; N],
) -> ([L; N], [L; N]) {
    let twice_p = F::multiple::<L>(2);
    let (minus_d, minus_e) = (carry(sub(twice_p, d)), carry(sub(twice_p, e)));
    (
        row_modular::<F, L, N>((m.u, &d, &minus_d), (m.v, &e, &minus_e)),
        row_modular::<F, L, N>((m.q, &d, &minus_d), (m.r, &e, &minus_e)),
    )
}
