//! Verification (RFC 8032, section 5.1.7), without the cofactor: R is the encoding of
//! [s] B - [h] A. All is public here, so that time may depend on it.

use super::Verify;
use super::edwards::{Cached, Point};
use super::field::Fe;
use super::scalar::{Scalar, is_below_order};
use super::sha512::sha512;
use super::table::multiply_base;
use super::words::{gather, load};
use crate::lanes::Lanes;

/// Sets `ok` of each.
#[inline(always)]
pub(super) fn verify<V: Lanes>(items: &mut [Verify<'_>]) {
    let count = items.len();
    let item = |lane: usize| &items[lane % count];
    let half = |lane: usize, upper: bool| -> &[u8; 32] {
        let (lower_half, upper_half) = item(lane).signature.split_at(32);
        (if upper { upper_half } else { lower_half }).try_into().expect("half of 64 bytes")
    };
    let public: [V; 4] = load(&gather(|lane| item(lane).public));
    let r: [V; 4] = load(&gather(|lane| half(lane, false)));
    let s: [V; 4] = load(&gather(|lane| half(lane, true)));
    let hashed = sha512::<V>(&core::array::from_fn(|lane| {
        [&half(lane, false)[..], item(lane).public, item(lane).message]
    }));
    let h = Scalar::reduce(&load(&hashed));

    let (minus_a, valid) = Point::decode_negated(&public);
    // Where s is L or more, the sum is of no use, but harmless.
    let below = is_below_order(&s);
    let sum = multiply_base(&Scalar::from_words(&s).reduce_small())
        .add::<false>(&multiply(&minus_a, &h).cached(), V::mask_from_bits(0))
        .encode();
    let difference =
        sum[0].xor(r[0]).or(sum[1].xor(r[1])).or(sum[2].xor(r[2]).or(sum[3].xor(r[3])));
    let same = V::eq(difference, V::splat(0));
    let ok = V::mask_bits(V::mask_and(V::mask_and(valid, below), same));
    for (lane, item) in items.iter_mut().enumerate() {
        item.ok = ok >> lane & 1 != 0;
    }
}

/// [k] P, k as it is: P need not be in the subgroup of order L.
///
/// k + 8 (1 + 16 + ... + 16^63) has the hexadecimal digits of k plus 8: signed digits from -8 to
/// 7, with which 0 to 8 times P are added.
#[inline(always)]
fn multiply<V: Lanes>(point: &Point<V>, k: &Scalar<V>) -> Point<V> {
    let keep = V::mask_from_bits(0);
    let first = point.cached();
    let mut multiples = [Point::neutral().cached(); 9];
    let mut multiple = *point;
    multiples[1] = first;
    for entry in &mut multiples[2..] {
        multiple = multiple.add::<true>(&first, keep);
        *entry = multiple.cached();
    }

    // 13 hexadecimal digits in one of 52 bits.
    let mut digits = k.0;
    let mut carry = V::splat(0);
    for digit in &mut digits {
        let sum = digit.add(V::splat(0x8_8888_8888_8888)).add(carry);
        carry = sum.shr::<52>();
        *digit = sum;
    }
    let mut sum = Point::neutral();
    // The number is below 2^254: 64 digits, the last in bits 252 to 255.
    for place in (0..64).rev() {
        let nibble = digits[place / 13].shrv(V::splat(4 * (place % 13) as u64));
        let nibble = nibble.and(V::splat(15));
        let negative = V::lt(nibble, V::splat(8));
        let eight = V::splat(8);
        let index = V::select(negative, eight.sub(nibble), nibble.sub(eight));
        let mut entry = multiples[0];
        for (i, multiple) in (0..).zip(&multiples).skip(1) {
            entry = select(V::eq(index, V::splat(i)), multiple, &entry);
        }
        if place < 63 {
            sum = sum.double::<false>().double::<false>().double::<false>().double::<true>();
        }
        sum = if place > 0 {
            sum.add::<false>(&entry, negative)
        } else {
            sum.add::<true>(&entry, negative)
        };
    }
    sum
}

#[inline(always)]
fn select<V: Lanes>(mask: V::Mask, a: &Cached<V>, b: &Cached<V>) -> Cached<V> {
    Cached {
        sum: Fe::select(mask, &a.sum, &b.sum),
        difference: Fe::select(mask, &a.difference, &b.difference),
        z2: Fe::select(mask, &a.z2, &b.z2),
        t2d: Fe::select(mask, &a.t2d, &b.t2d),
    }
}
