//! The bounds that `field`, `point` and `inverse` promise, at their ends, against AWS-LC's integers.

use core::marker::PhantomData;

use super::curves::{self, Shape};
use super::digits::{double, sub};
use super::field::{Field, canonical, leave, mul};
use super::inverse::inverse;
use crate::lanes::{Lanes, Outline};
use crate::oracle::Int;

/// Numbers of every lane, and what became of them.
struct Piece<F, const N: usize> {
    a: [[u64; N]; 8],
    b: [[u64; N]; 8],
    results: [[[u64; N]; 8]; 6],
    field: PhantomData<F>,
}

struct On<'a, F, V, const N: usize>(&'a mut Piece<F, N>, PhantomData<V>);

impl<F: Field<N>, V: Lanes, const N: usize> Outline for On<'_, F, V, N> {
    #[inline(always)]
    fn run(&mut self) {
        let piece = &mut *self.0;
        let load = |of: &[[u64; N]; 8]| -> [V; N] {
            core::array::from_fn(|i| V::load(&core::array::from_fn(|lane| of[lane][i])))
        };
        let (a, b) = (load(&piece.a), load(&piece.b));
        let product = mul::<F, V, N>(&a, &b);
        let squared = F::mul_raw(&b, &b);
        let results = [
            product,
            F::square(&a),
            // As x of a doubling: a^2 - 2 b^2, raw, the least 8 and the most 8.
            F::settle(sub(F::square_raw(&a), double(squared))),
            canonical::<F, V, N>(&a),
            leave::<F, V, N>(&a),
            inverse::<F, V, N>(&canonical::<F, V, N>(&a)),
        ];
        for (result, place) in results.iter().zip(&mut piece.results) {
            for i in 0..N {
                let mut lanes = [0; 8];
                result[i].store(&mut lanes);
                for lane in 0..8 {
                    place[lane][i] = lanes[lane];
                }
            }
        }
    }
}

/// Multiples of p up to 4 p with what is next to them, and patterns of digits below 4 p.
fn numbers<F: Field<N>, const N: usize>() -> Vec<[u64; N]> {
    let p = Int::of_52(&F::P);
    let mut all = Vec::new();
    for k in 0..5 {
        let multiple = p.mul(&Int::word(k));
        for d in 0..3 {
            if k > 0 {
                all.push(multiple.sub(&Int::word(d)).digits_52());
            }
            if k < 4 {
                all.push(multiple.add(&Int::word(d)).digits_52());
            }
        }
    }
    for shift in (0..F::BITS).step_by(17).chain([F::BITS - 1, F::BITS]) {
        all.push(Int::of([(1, shift)]).digits_52());
        all.push(Int::of([(1, shift)]).sub(&Int::word(1)).digits_52());
    }
    let most = (1u64 << 52) - 1;
    let top = p.mul(&Int::word(3)).digits_52::<N>()[N - 1];
    all.push(core::array::from_fn(|i| if i == N - 1 { top } else { most }));
    all.push(core::array::from_fn(|i| if i == N - 1 { top } else { 0 }));
    all.push(core::array::from_fn(|i| if i % 2 == 1 && i < N - 1 { most } else { 0 }));
    all
}

fn check<F: Field<N>, const N: usize>(is_tight: bool) {
    let p = Int::of_52(&F::P);
    let r = Int::of([(1, 52 * N)]);
    let all = numbers::<F, N>();
    // Every number with some others.
    let pairs: Vec<_> = all
        .iter()
        .enumerate()
        .flat_map(|(i, a)| {
            let all = &all;
            (0..5).map(move |k| (*a, all[(i + 7 * k) % all.len()]))
        })
        .collect();
    for group in pairs.chunks(8) {
        let of = |lane: usize| group[lane % group.len()];
        let mut piece = Piece::<F, N> {
            a: core::array::from_fn(|lane| of(lane).0),
            b: core::array::from_fn(|lane| of(lane).1),
            results: [[[0; N]; 8]; 6],
            field: PhantomData,
        };
        let judge = |piece: &Piece<F, N>| {
            for (lane, (a, b)) in group.iter().enumerate() {
                let [product, square, settled, below, left, inverted] =
                    piece.results.map(|of| of[lane]);
                let all = [product, square, settled, below, left, inverted];
                assert!(all.iter().flatten().all(|digit| digit >> 52 == 0), "{a:x?} {b:x?}");
                let [product, square, settled, below, left, inverted] =
                    all.map(|digits| Int::of_52(&digits));
                let (a, b) = (Int::of_52(a), Int::of_52(b));
                // What comes out times R is what went in.
                let same = |out: &Int, wanted: &Int, what: &str| {
                    assert_eq!(out.mul(&r).modulo(&p), wanted.modulo(&p), "{what} of {a:?} {b:?}");
                };
                let (aa, bb) = (a.mul(&a), b.mul(&b));
                same(&product, &a.mul(&b), "product");
                same(&square, &aa, "square");
                same(&settled, &aa.sub(&bb.mul(&Int::word(2))), "settled");
                same(&left, &a, "left");
                // (a b / R + p): 4 p 4 p / 16 p + p at most.
                assert!(product.mul(&r) <= a.mul(&b).add(&p.mul(&r)), "bound of a product");
                if is_tight {
                    let bound = p.mul(&Int::word(101));
                    assert!(settled.mul(&Int::word(100)) < bound, "settled: {settled:?}");
                } else {
                    assert!(settled < p.mul(&Int::word(16)), "settled: {settled:?}");
                }
                assert_eq!(below, a.modulo(&p), "canonical");
                assert!(left < p, "left: {left:?}");
                // R^2 / a.
                assert!(inverted <= p.mul(&Int::word(2)), "inverse: {inverted:?}");
                let wanted = if below == Int::word(0) { Int::word(0) } else { r.mul(&r) };
                let found = inverted.mul(&below).modulo(&p);
                assert_eq!(found, wanted.modulo(&p), "inverse of {below:?}");
                if below == Int::word(0) {
                    assert_eq!(inverted, Int::word(0), "inverse of 0");
                }
            }
        };
        // It takes long to compile.
        #[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
        {
            use crate::lanes::Portable;
            Portable::outline(&mut On::<F, Portable, N>(&mut piece, PhantomData));
            judge(&piece);
        }
        #[cfg(target_arch = "x86_64")]
        if lookaside_simd::Cpu::host().avx512().is_some() {
            use crate::lanes::Wide;
            Wide::outline(&mut On::<F, Wide, N>(&mut piece, PhantomData));
            judge(&piece);
        }
    }
}

/// Whether `settle` is a field's own.
const TIGHT: bool = true;

#[test]
fn fields_at_the_ends() {
    check::<<curves::P256 as Shape<5>>::Prime, 5>(TIGHT);
    check::<<curves::Sm2 as Shape<5>>::Prime, 5>(TIGHT);
    check::<<curves::P224 as Shape<5>>::Prime, 5>(!TIGHT);
    check::<<curves::P384 as Shape<8>>::Prime, 8>(!TIGHT);
    check::<<curves::P521 as Shape<11>>::Prime, 11>(!TIGHT);
}

#[test]
fn scalars_at_the_ends() {
    check::<<curves::P256 as Shape<5>>::Order, 5>(!TIGHT);
    check::<<curves::Sm2 as Shape<5>>::Order, 5>(!TIGHT);
    check::<<curves::P224 as Shape<5>>::Order, 5>(!TIGHT);
    check::<<curves::P384 as Shape<8>>::Order, 8>(!TIGHT);
    check::<<curves::P521 as Shape<11>>::Order, 11>(!TIGHT);
}
