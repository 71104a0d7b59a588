//! The bounds that `field` promises, at their ends, against AWS-LC's integers.

use super::field::{Fe, Loose};
use crate::lanes::{Lanes, Outline};
use crate::oracle::Int;

const MASK: u64 = (1 << 52) - 1;
/// The least that digit 4 of an [`Fe`] stays below.
const TOP: u64 = (1 << 47) + (1 << 12);

type Digits = [u64; 5];

/// What is computed of `a`, `b` and, not carried, `loose`.
#[derive(Clone, Copy)]
enum What {
    Product,
    BiasedProduct,
    Square,
    BiasedSquare,
    Carry,
    Subtract,
    SmallProduct,
}

/// In every lane its own digits; the digits of the result as they are, and its words.
struct Piece {
    what: What,
    a: [Digits; 8],
    b: [Digits; 8],
    digits: [[u64; 8]; 5],
    carried: [[u64; 8]; 5],
    words: [[u64; 8]; 4],
}

struct On<'a, V>(&'a mut Piece, core::marker::PhantomData<V>);

impl<V: Lanes> Outline for On<'_, V> {
    #[inline(always)]
    fn run(&mut self) {
        let piece = &mut *self.0;
        let load = |of: &[Digits; 8]| -> [V; 5] {
            core::array::from_fn(|i| V::load(&core::array::from_fn(|lane| of[lane][i])))
        };
        let (a, b) = (load(&piece.a), load(&piece.b));
        let (fe, other) = (Fe(a), Fe(b));
        let result = match piece.what {
            What::Product => fe.mul(&other),
            What::BiasedProduct => fe.mul_biased(&other),
            What::Square => fe.sqr(),
            What::BiasedSquare => fe.sqr_biased(),
            What::Carry => Loose(a),
            What::Subtract => Loose(a).biased().sub(&Loose(b)),
            What::SmallProduct => Loose(b).add_small_product(&fe, (1 << 18) - 1),
        };
        let carried = result.carry();
        for i in 0..5 {
            result.0[i].store(&mut piece.digits[i]);
            carried.0[i].store(&mut piece.carried[i]);
        }
        for (word, row) in carried.to_words().into_iter().zip(&mut piece.words) {
            word.store(row);
        }
    }
}

/// p = 2^255 - 19.
fn prime() -> Int {
    Int::of([(1, 255)]).sub(&Int::word(19))
}

/// What an [`Fe`] stands for: the low 52 bits of its digits but the last.
fn value(a: &Digits) -> Int {
    Int::of_52(&[a[0] & MASK, a[1] & MASK, a[2] & MASK, a[3] & MASK, a[4]])
}

/// Digits at the ends of an [`Fe`]'s ranges, and values next to 0, p and 2 p.
fn elements() -> Vec<Digits> {
    let mut all: Vec<Digits> = vec![
        [u64::MAX, u64::MAX, u64::MAX, u64::MAX, TOP - 1],
        [MASK, MASK, MASK, MASK, TOP - 1],
        [MASK + 1, MASK + 1, MASK + 1, MASK + 1, TOP - 1],
        [0, 0, 0, 0, TOP - 1],
        [MASK, 0, MASK, 0, 1 << 47],
        [0, MASK, 0, MASK, (1 << 47) - 1],
        [1 << 51, 1 << 51, 1 << 51, 1 << 51, 1 << 46],
        [0, 0, 0, 0, 1 << 47],
        [18, 0, 0, 0, 1 << 47],
        [19, 0, 0, 0, 1 << 47],
        [20, 0, 0, 0, 1 << 47],
    ];
    for low in 0..40 {
        all.push([low, 0, 0, 0, 0]);
        all.push([MASK - low, MASK, MASK, MASK, (1 << 47) - 1]);
    }
    all
}

/// Digits at the end of a [`Loose`]'s range.
fn loose() -> Vec<Digits> {
    let most = (1 << 61) - 1;
    let mut all = elements();
    all.extend([
        [most; 5],
        [most, 0, most, 0, most],
        [0, most, 0, most, 0],
        [most, 0, 0, 0, 0],
        [0, 0, 0, 0, most],
        [MASK, MASK, MASK, MASK, most],
        [most, MASK, MASK, MASK, (1 << 47) - 1],
    ]);
    all
}

/// Runs the lanes; checks what comes out to be `wanted` modulo p, its digits to be below 2^`bits`,
/// and an [`Fe`]'s bound after a carry.
fn check(
    what: What,
    bits: u32,
    lanes: &[(Digits, Digits)],
    wanted: impl Fn(&Digits, &Digits) -> Int,
) {
    for group in lanes.chunks(8) {
        let of = |lane: usize| group[lane % group.len()];
        let mut piece = Piece {
            what,
            a: core::array::from_fn(|lane| of(lane).0),
            b: core::array::from_fn(|lane| of(lane).1),
            digits: [[0; 8]; 5],
            carried: [[0; 8]; 5],
            words: [[0; 8]; 4],
        };
        let judge = |piece: &Piece| {
            for (lane, (a, b)) in group.iter().enumerate() {
                let words = (0..4).map(|i| (piece.words[i][lane], 64 * i));
                let digits: Digits = core::array::from_fn(|i| piece.digits[i][lane]);
                let carried: Digits = core::array::from_fn(|i| piece.carried[i][lane]);
                let wanted = wanted(a, b).modulo(&prime());
                assert!(digits.iter().all(|digit| digit >> bits == 0), "{a:x?} {b:x?} {digits:x?}");
                assert!(carried[4] < TOP, "{a:x?} {b:x?} {carried:x?}");
                assert_eq!(value(&carried).modulo(&prime()), wanted, "{a:x?} {b:x?}");
                assert_eq!(Int::of(words), wanted, "{a:x?} {b:x?}");
            }
        };
        // It takes long to compile.
        #[cfg(any(feature = "twin", not(target_arch = "x86_64")))]
        {
            use crate::lanes::Portable;
            Portable::outline(&mut On::<Portable>(&mut piece, core::marker::PhantomData));
            judge(&piece);
        }
        #[cfg(target_arch = "x86_64")]
        if lookaside_simd::Cpu::host().avx512().is_some() {
            use crate::lanes::Wide;
            Wide::outline(&mut On::<Wide>(&mut piece, core::marker::PhantomData));
            judge(&piece);
        }
    }
}

fn pairs() -> Vec<(Digits, Digits)> {
    let all = elements();
    let few = &all[..11];
    let with_few = all.iter().flat_map(|a| few.iter().map(move |b| (*a, *b)));
    with_few.collect()
}

#[test]
fn products_at_the_ends() {
    for (what, bits) in [(What::Product, 56), (What::BiasedProduct, 60)] {
        check(what, bits, &pairs(), |a, b| value(a).mul(&value(b)));
    }
    let all: Vec<_> = elements().into_iter().map(|a| (a, a)).collect();
    for (what, bits) in [(What::Square, 56), (What::BiasedSquare, 60)] {
        check(what, bits, &all, |a, _| value(a).mul(&value(a)));
    }
}

#[test]
fn carries_at_the_ends() {
    let all: Vec<_> = loose().into_iter().filter(|a| a[3] >> 61 == 0).map(|a| (a, a)).collect();
    check(What::Carry, 61, &all, |a, _| Int::of_52(a));
}

#[test]
fn differences_at_the_ends() {
    // What is taken off: the sum of two products.
    let most = (1 << 57) - 1;
    let taken = [[most; 5], [0; 5], [most, 0, 0, 0, 0], [0, 0, 0, 0, most]];
    let from = [[(1 << 59) - 1; 5], [0; 5], [0, 0, 0, 0, (1 << 57) - 1]];
    let all: Vec<_> = from.iter().flat_map(|a| taken.iter().map(|b| (*a, *b))).collect();
    check(What::Subtract, 61, &all, |a, b| Int::of_52(a).sub(&Int::of_52(b)));
}

#[test]
fn small_products_at_the_ends() {
    // Onto a biased square.
    let onto = [[(1 << 60) - 1, 1 << 59, (1 << 60) - 1, 0, (1 << 59) - 1], [0; 5]];
    let all: Vec<_> =
        elements().into_iter().flat_map(|a| onto.iter().map(move |b| (a, *b))).collect();
    let c = Int::word((1 << 18) - 1);
    check(What::SmallProduct, 61, &all, |a, b| value(a).mul(&c).add(&Int::of_52(b)));
}
