//! Multiples of a curve's generator: e 2^(w j) G for every window j and e = 1..=2^(w - 1), affine,
//! in Montgomery form. Built at first use.

use core::marker::PhantomData;

use super::curves::Shape;
use super::digits::splat;
use super::field::{self, Field};
use super::inverse::inverse;
use super::point::{AddAffine, Affine, Double, Point, doubled};
use crate::lanes::{Lanes, Outline, Row};

/// The table of one curve, in rows of 16 numbers: of window j, of coordinate digit c (x then y) and
/// of entries 16 k + 1 ..= 16 k + 16 row `(j * 2 N + c) * chunks + k`.
pub(super) struct Table {
    rows: Vec<Row>,
}

/// Windows of w bits that a scalar takes as signed digits: one bit more than it has.
pub(super) const fn windows(bits: usize, w: usize) -> usize {
    (bits + 1).div_ceil(w)
}

/// The table being built, eight windows side by side.
struct Build<C, L, const N: usize> {
    rows: Vec<Row>,
    shape: PhantomData<(C, L)>,
}

impl<C: Shape<N>, L: Lanes, const N: usize> Outline for Build<C, L, N> {
    #[inline(always)]
    fn run(&mut self) {
        let entries = 1 << (C::WINDOW - 1);
        let chunks = entries / 16;
        let count = windows(<C::Order as Field<N>>::BITS, C::WINDOW);
        self.rows = vec![Row([0; 16]); count * 2 * N * chunks];
        let x = field::enter::<C::Prime, L, N>(&splat(&C::GENERATOR.0));
        let y = field::enter::<C::Prime, L, N>(&splat(&C::GENERATOR.1));
        let mut base = Affine {
            x: field::canonical::<C::Prime, L, N>(&x),
            y: field::canonical::<C::Prime, L, N>(&y),
        }
        .to_point::<C::Prime>();
        for first in (0..count).step_by(8) {
            // Lane l becomes 2^(w (first + l)) G.
            let mut bases = base;
            for lane in 0..8 {
                bases = Point::select(L::mask_from_bits(1 << lane), &base, &bases);
                L::outline(&mut Double::<C::Prime, L, N>(&mut base, C::WINDOW, PhantomData));
            }
            let multiples = multiples::<C::Prime, L, N>(&bases, entries);
            for (e, entry) in multiples.iter().enumerate() {
                for (c, digit) in entry.x.iter().chain(&entry.y).enumerate() {
                    let mut lanes = [0; 8];
                    digit.store(&mut lanes);
                    for (j, &value) in (first..count).zip(&lanes) {
                        self.rows[(j * 2 * N + c) * chunks + e / 16].0[e % 16] = value;
                    }
                }
            }
        }
    }
}

impl Table {
    /// Builds the table of `C`.
    pub(super) fn build<C: Shape<N>, L: Lanes, const N: usize>() -> Table {
        let mut build = Build::<C, L, N> { rows: Vec::new(), shape: PhantomData };
        L::outline(&mut build);
        Table { rows: build.rows }
    }

    /// Entry `index + 1` of a window; any index without an entry gives some number. All of the
    /// window is read.
    #[inline(always)]
    pub(super) fn pick<C: Shape<N>, L: Lanes, const N: usize>(
        &self,
        window: usize,
        index: L,
    ) -> Affine<L, N> {
        let chunks = const { (1 << (C::WINDOW - 1)) / 16 };
        let rows = &self.rows[window * 2 * N * chunks..][..2 * N * chunks];
        let mut entry = Affine { x: [L::splat(0); N], y: [L::splat(0); N] };
        super::digits::each!(i < N => {
            entry.x[i] = pick_digit(&rows[i * chunks..][..chunks], index);
            entry.y[i] = pick_digit(&rows[(N + i) * chunks..][..chunks], index);
        });
        entry
    }
}

/// Number `index` of some rows.
#[inline(always)]
fn pick_digit<L: Lanes>(rows: &[Row], index: L) -> L {
    let high = index.shr::<4>();
    let mut value = L::permute(&rows[0], index);
    for (k, row) in rows.iter().enumerate().skip(1) {
        value = L::select(high.eq(L::splat(k as u64)), L::permute(row, index), value);
    }
    value
}

/// 1 to `count` times `base`, affine: one inversion for all by Montgomery's trick. e `base` + `base`
/// with e >= 2 has no exception, the order being far above `count`.
#[inline(always)]
fn multiples<F: Field<N>, L: Lanes, const N: usize>(
    base: &Point<L, N>,
    count: usize,
) -> Vec<Affine<L, N>> {
    let inverted = inverse::<F, L, N>(&field::canonical::<F, L, N>(&base.z));
    let base = scale::<F, L, N>(base, &inverted);
    let mut points = vec![base.to_point::<F>(), doubled::<F, L, N>(&base.to_point::<F>())];
    while points.len() < count {
        let mut next = points[points.len() - 1];
        L::outline(&mut AddAffine::<F, L, N>(&mut next, &base, PhantomData));
        points.push(next);
    }
    // products[i] = z[0] ... z[i]
    let mut products = vec![points[0].z];
    for point in &points[1..] {
        products.push(field::mul::<F, L, N>(&products[products.len() - 1], &point.z));
    }
    let all = field::canonical::<F, L, N>(&products[count - 1]);
    let mut rest = inverse::<F, L, N>(&all);
    let mut affine = vec![base; count];
    for i in (1..count).rev() {
        let inverted = field::mul::<F, L, N>(&rest, &products[i - 1]);
        affine[i] = scale::<F, L, N>(&points[i], &inverted);
        rest = field::mul::<F, L, N>(&rest, &points[i].z);
    }
    affine
}

/// A point as affine, given 1/z.
#[inline(always)]
fn scale<F: Field<N>, L: Lanes, const N: usize>(
    a: &Point<L, N>,
    inverted: &[L; N],
) -> Affine<L, N> {
    let squared = field::square::<F, L, N>(inverted);
    let cubed = field::mul::<F, L, N>(&squared, inverted);
    let x = field::mul::<F, L, N>(&a.x, &squared);
    let y = field::mul::<F, L, N>(&a.y, &cubed);
    Affine { x: field::canonical::<F, L, N>(&x), y: field::canonical::<F, L, N>(&y) }
}
