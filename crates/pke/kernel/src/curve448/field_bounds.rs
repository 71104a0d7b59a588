//! The bounds that `field` promises, at their ends, against AWS-LC's integers.

use super::field::Fe;
use crate::lanes::{Lanes, Outline};
use crate::oracle::Int;

type Digits = [u64; 10];

#[derive(Clone, Copy)]
enum What {
    Product,
    Square,
    /// (a + b) (a - b), of reduced elements.
    SumTimesDifference,
    SmallProduct,
    Words,
}

/// In every lane its own digits; those of the result, and its words.
struct Piece {
    what: What,
    a: [Digits; 8],
    b: [Digits; 8],
    digits: [[u64; 8]; 10],
    words: [[u64; 8]; 7],
}

struct On<'a, V>(&'a mut Piece, core::marker::PhantomData<V>);

impl<V: Lanes> Outline for On<'_, V> {
    #[inline(always)]
    fn run(&mut self) {
        let piece = &mut *self.0;
        let load = |of: &[Digits; 8]| -> Fe<V> {
            Fe(core::array::from_fn(|i| V::load(&core::array::from_fn(|lane| of[lane][i]))))
        };
        let (a, b) = (load(&piece.a), load(&piece.b));
        let result = match piece.what {
            What::Product => a.mul(&b),
            What::Square => a.sqr(),
            What::SumTimesDifference => a.add(&b).mul(&a.sub(&b)),
            What::SmallProduct => a.add_small_product(&b, (1 << 16) - 1),
            What::Words => a,
        };
        for i in 0..10 {
            result.0[i].store(&mut piece.digits[i]);
        }
        for (word, row) in result.to_words().into_iter().zip(&mut piece.words) {
            word.store(row);
        }
    }
}

/// p = 2^448 - 2^224 - 1.
fn prime() -> Int {
    Int::of([(1, 448)]).sub(&Int::of([(1, 224), (1, 0)]))
}

fn value(a: &Digits) -> Int {
    Int::of((0..10).map(|i| (a[i], 224 * (i / 5) + 45 * (i % 5))))
}

/// Ten digits, those that end a half apart.
fn digits(digit: u64, last: u64) -> Digits {
    core::array::from_fn(|i| if i % 5 == 4 { last } else { digit })
}

/// At the ends of the range of reduced elements, and next to 0, p and 2^448.
fn reduced() -> Vec<Digits> {
    let (most, last) = ((1 << 45) + (1 << 16) - 1, (1 << 44) + (1 << 16) - 1);
    let (mask, last_mask) = ((1 << 45) - 1, (1 << 44) - 1);
    let mut all = vec![
        digits(most, last),
        digits(0, last),
        digits(most, 0),
        digits(1 << 45, 1 << 44),
        digits(1 << 44, 1 << 43),
        digits(mask, last_mask),
        digits(0, 0),
    ];
    for low in 0..4 {
        let mut a = digits(0, 0);
        a[0] = low;
        all.push(a);
        let mut a = digits(mask, last_mask);
        a[0] -= low;
        all.push(a);
        a[5] -= 1;
        all.push(a);
        a = digits(0, 0);
        (a[0], a[9]) = (low, 1 << 44);
        all.push(a);
    }
    all
}

/// At the ends of the range of factors: sums and differences.
fn factors() -> Vec<Digits> {
    // a + 2 p - 0 of the largest reduced a.
    let most = (1 << 45) + (1 << 16) - 1 + 2 * ((1 << 45) - 1);
    let last = (1 << 44) + (1 << 16) - 1 + 2 * ((1 << 44) - 1);
    // The 2^47.5 of the module's documentation.
    let limit = 198_668_977_246_208;
    let mut all = reduced();
    all.extend([
        digits(most, last),
        digits(most, 0),
        digits(0, last),
        digits(limit, limit),
        digits(limit, 0),
        core::array::from_fn(|i| if i < 5 { limit } else { 0 }),
        core::array::from_fn(|i| if i < 5 { 0 } else { limit }),
        core::array::from_fn(|i| if i % 2 == 0 { limit } else { 0 }),
        // Low halves of products of 0, high ones of some: what is taken off is the larger.
        core::array::from_fn(|i| if i < 5 { (1 << 26) - 1 } else { 1 }),
        core::array::from_fn(|i| if i < 5 { (1 << 26) + 1 } else { (1 << 47) - 1 }),
    ]);
    all
}

/// Runs the lanes; checks what comes out to be `wanted` modulo p, and reduced.
fn check(what: What, lanes: &[(Digits, Digits)], wanted: impl Fn(&Digits, &Digits) -> Int) {
    for group in lanes.chunks(8) {
        let of = |lane: usize| group[lane % group.len()];
        let mut piece = Piece {
            what,
            a: core::array::from_fn(|lane| of(lane).0),
            b: core::array::from_fn(|lane| of(lane).1),
            digits: [[0; 8]; 10],
            words: [[0; 8]; 7],
        };
        let judge = |piece: &Piece| {
            for (lane, (a, b)) in group.iter().enumerate() {
                let words = (0..7).map(|i| (piece.words[i][lane], 64 * i));
                let result: Digits = core::array::from_fn(|i| piece.digits[i][lane]);
                for (i, digit) in result.into_iter().enumerate() {
                    let bits = if i % 5 == 4 { 44 } else { 45 };
                    assert!(digit < (1 << bits) + (1 << 16), "{a:x?} {b:x?} {result:x?}");
                }
                let wanted = wanted(a, b).modulo(&prime());
                assert_eq!(value(&result).modulo(&prime()), wanted, "{a:x?} {b:x?}");
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

fn pairs(all: &[Digits]) -> Vec<(Digits, Digits)> {
    all.iter().flat_map(|a| all.iter().map(move |b| (*a, *b))).collect()
}

#[test]
fn products_at_the_ends() {
    check(What::Product, &pairs(&factors()), |a, b| value(a).mul(&value(b)));
    let all: Vec<_> = factors().into_iter().map(|a| (a, a)).collect();
    check(What::Square, &all, |a, _| value(a).mul(&value(a)));
}

#[test]
fn sums_and_differences_at_the_ends() {
    let wanted = |a: &Digits, b: &Digits| value(a).add(&value(b)).mul(&value(a).sub(&value(b)));
    check(What::SumTimesDifference, &pairs(&reduced()), wanted);
}

#[test]
fn small_products_at_the_ends() {
    let c = Int::word((1 << 16) - 1);
    let all: Vec<_> =
        reduced().into_iter().flat_map(|a| factors().into_iter().map(move |b| (a, b))).collect();
    check(What::SmallProduct, &all, |a, b| value(a).add(&value(b).mul(&c)));
}

#[test]
fn words_at_the_ends() {
    let all: Vec<_> = reduced().into_iter().map(|a| (a, a)).collect();
    check(What::Words, &all, |a, _| value(a));
}
