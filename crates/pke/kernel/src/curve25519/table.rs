//! Multiples of the base point, and what is made of them: [k] B without a doubling.
//!
//! k is written in signed odd digits: with t = (k + 2^258 - 1) / 2 mod L and the bits t_i of t,
//! k = sum of (2 t_i - 1) 2^i for i below 258 (mod L). Six bits of t, read as a number u, make
//! one digit 2 u - 63: odd, and never 0. It is positive if u has its highest bit, and the index
//! of its absolute value, (|2 u - 63| - 1) / 2, is u or its complement without that bit. There
//! are 43 digits and for each place the 32 odd multiples of 64^place B: 161 KiB.

use std::sync::OnceLock;

use super::edwards::{Affine, D2, Point};
use super::field::Fe;
use super::scalar::Scalar;
use crate::lanes::{Lanes, Portable, Row};

/// Bits of a digit.
const WINDOW: usize = 6;
/// Number of digits.
const PLACES: usize = 43;
/// Number of absolute values of a digit.
const ENTRIES: usize = 1 << (WINDOW - 1);

/// 2^258 - 1 mod L.
const OFFSET: [u64; 5] =
    [0x99c831f80d8ac, 0x35e5106740537, 0xffffffadd2082, 0xfffffffffffff, 0x00fffffffffff];

/// One digit of one coordinate of all points of a place.
type Rows = [Row; ENTRIES / 16];

/// The digits of y + x, y - x and 2 d x y of all points of a place.
type Place = [[Rows; 5]; 3];

/// [k] B.
#[inline(always)]
pub(super) fn multiply_base<V: Lanes>(k: &Scalar<V>) -> Point<V> {
    let places = places();
    let t = k.add(&Scalar::constant(&OFFSET)).halve().0;
    let mut sum = Point::neutral();
    for (place, rows) in places.iter().enumerate() {
        let u = bits(&t, WINDOW * place);
        let (point, negative) = look_up(rows, u);
        sum = sum.add_affine(&point, negative);
    }
    sum
}

/// `WINDOW` bits of a number in radix 2^52, and whatever lies above them.
#[inline(always)]
fn bits<V: Lanes>(digits: &[V; 5], position: usize) -> V {
    let (digit, offset) = (position / 52, (position % 52) as u64);
    let low = digits[digit].shrv(V::splat(offset));
    match digits.get(digit + 1) {
        Some(next) => low.or(next.shlv(V::splat(52 - offset))),
        None => low,
    }
}

/// The absolute value's point and where it is to be negated. All of the place is read.
#[inline(always)]
fn look_up<V: Lanes>(rows: &Place, u: V) -> (Affine<V>, V::Mask) {
    let top = V::splat(1 << (WINDOW - 1));
    let negative = V::eq(u.and(top), V::splat(0));
    let index = V::select(negative, u.xor(V::splat(!0)), u);
    let upper = V::eq(index.and(V::splat(16)), V::splat(16));
    let [sum, difference, xy2d] = rows;
    let point = Affine {
        sum: pick(sum, index, upper),
        difference: pick(difference, index, upper),
        xy2d: pick(xy2d, index, upper),
    };
    (point, negative)
}

/// One coordinate: that of the upper entries where `upper` is set.
#[inline(always)]
fn pick<V: Lanes>(rows: &[Rows; 5], index: V, upper: V::Mask) -> Fe<V> {
    let mut digits = [V::splat(0); 5];
    for (digit, [low, high]) in digits.iter_mut().zip(rows) {
        *digit = V::select(upper, V::permute(high, index), V::permute(low, index));
    }
    Fe(digits)
}

/// The table, made when it is first asked for.
fn places() -> &'static [Place] {
    static TABLE: OnceLock<Vec<Place>> = OnceLock::new();
    TABLE.get_or_init(make_places)
}

/// Makes the table: in portable code, so that there is one copy of this.
fn make_places() -> Vec<Place> {
    let mut places = vec![[[[Row([0; 16]); ENTRIES / 16]; 5]; 3]; PLACES];
    // A point's lanes are all the same; then eight points' coordinates become one vector's lanes.
    let mut power = Point::<Portable>::base();
    for place in &mut places {
        let twice = power.double::<true>();
        let step = twice.cached();
        let mut multiple = power;
        let mut groups = [[Fe::<Portable>::small(0); 3]; ENTRIES / 8];
        for group in &mut groups {
            for lane in 0..8 {
                let coordinates = [multiple.x, multiple.y, multiple.z];
                for (element, coordinate) in group.iter_mut().zip(coordinates) {
                    for (digit, from) in element.0.iter_mut().zip(coordinate.carry().0) {
                        digit.0[lane] = from.0[0];
                    }
                }
                multiple = multiple.add::<true>(&step, Portable::mask_from_bits(0));
            }
        }
        let inverses = invert_all(&groups.map(|[_, _, z]| z));
        for (group, ([x, y, _], inverse)) in groups.iter().zip(inverses).enumerate() {
            let (x, y) = (x.mul(&inverse).carry(), y.mul(&inverse).carry());
            let Point { x, y, t, .. } = Point::from_affine(&x, &y);
            let xy2d = t.carry().mul(&Fe::constant(&D2)).carry();
            let elements = [y.add(&x).carry(), y.sub(&x).carry(), xy2d];
            for (rows, element) in place.iter_mut().zip(elements) {
                for (row, digit) in rows.iter_mut().zip(element.canonical().0) {
                    row[group / 2].0[8 * (group % 2)..][..8].copy_from_slice(&digit.0);
                }
            }
        }
        power = twice;
        for _ in 1..WINDOW {
            power = power.double::<true>();
        }
    }
    places
}

/// The inverses, by one inversion of the product of all.
fn invert_all<const N: usize>(elements: &[Fe<Portable>; N]) -> [Fe<Portable>; N] {
    let mut before = [Fe::small(1); N];
    let mut product = Fe::small(1);
    for (before, element) in before.iter_mut().zip(elements) {
        *before = product;
        product = product.mul(element).carry();
    }
    let mut inverse = product.invert();
    for (before, element) in before.iter_mut().zip(elements).rev() {
        *before = before.mul(&inverse).carry();
        inverse = inverse.mul(element).carry();
    }
    before
}
