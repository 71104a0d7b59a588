//! X448 (RFC 7748): the Montgomery ladder on u coordinates of y^2 = x^3 + 156326 x^2 + x.

use zeroize::Zeroize;

use super::field::Fe;
use super::{Derive, Public};
use crate::curve25519::words::{gather, load, scatter, store};
use crate::lanes::{Lanes, declassify};

/// (156326 - 2) / 4.
const A24: u64 = 39_081;

/// Shared secrets.
#[inline(always)]
pub(super) fn derive<V: Lanes>(items: &mut [Derive<'_>]) {
    let count = items.len();
    let mut peer = gather(|lane| items[lane % count].peer);
    let mut scalar = gather(|lane| items[lane % count].private);
    let result = ladder(&clamped(&load(&scalar)), &Fe::<V>::from_words(&load(&peer)));
    scalar.zeroize();
    let any = result.iter().fold(V::splat(0), |any, word| any.or(*word));
    let nonzero = declassify(V::mask_bits(V::mask_not(V::eq(any, V::splat(0)))));
    store(&result, &mut peer);
    for (lane, item) in items.iter_mut().enumerate() {
        scatter(&peer, lane, item.out);
        item.ok = nonzero >> lane & 1 != 0;
    }
    peer.zeroize();
}

/// Public keys: the base point has u = 5.
#[inline(always)]
pub(super) fn public<V: Lanes>(items: &mut [Public<'_>]) {
    let count = items.len();
    let mut scalar = gather(|lane| items[lane % count].private);
    let result = ladder(&clamped(&load(&scalar)), &Fe::<V>::small(5));
    store(&result, &mut scalar);
    for (lane, item) in items.iter_mut().enumerate() {
        scatter(&scalar, lane, item.out);
    }
}

/// Multiples of four with bit 447 set: RFC 7748, section 5.
#[inline(always)]
fn clamped<V: Lanes>(words: &[V; 7]) -> [V; 7] {
    let mut words = *words;
    words[0] = words[0].and(V::splat(!3));
    words[6] = words[6].or(V::splat(1 << 63));
    words
}

/// The u coordinate of `k P`, as words, for a clamped `k` and the u coordinate of `P`: see the
/// ladder of Curve25519.
#[inline(always)]
fn ladder<V: Lanes>(k: &[V; 7], u: &Fe<V>) -> [V; 7] {
    let mut pair = Pair { x2: Fe::small(1), z2: Fe::small(0), x3: *u, z3: Fe::small(1) };
    let positive = V::splat(!0 >> 1);
    let mut last = V::splat(0);
    for word in k.iter().rev() {
        let mut bits = *word;
        for _ in 0..64 {
            // The sign of the difference: whether this bit is another than the one before.
            pair.step(u, V::lt(positive, bits.xor(last)));
            last = bits;
            bits = bits.shl::<1>();
        }
    }
    // The last bit of a clamped scalar is 0: the two stand in their places.
    pair.x2.mul(&pair.z2.invert()).to_words()
}

/// Two multiples of P that differ by P: `x2 : z2` is that by the bits of the scalar seen so far,
/// `x3 : z3` that by one more, or the other way round if the last bit seen was 1. Reduced.
struct Pair<V> {
    x2: Fe<V>,
    z2: Fe<V>,
    x3: Fe<V>,
    z3: Fe<V>,
}

impl<V: Lanes> Pair<V> {
    /// One becomes its double, the other the sum of both. Only what is doubled is selected.
    #[inline(always)]
    fn step(&mut self, u: &Fe<V>, exchange: V::Mask) {
        let a = self.x2.add(&self.z2);
        let b = self.x2.sub(&self.z2);
        let c = self.x3.add(&self.z3);
        let d = self.x3.sub(&self.z3);
        let da = d.mul(&a);
        let cb = c.mul(&b);
        let aa = Fe::select(exchange, &c, &a).sqr();
        let bb = Fe::select(exchange, &d, &b).sqr();
        let e = aa.sub(&bb);
        self.x3 = da.add(&cb).sqr();
        self.z3 = da.sub(&cb).sqr().mul(u);
        self.x2 = aa.mul(&bb);
        self.z2 = aa.add_small_product(&e, A24).mul(&e);
    }
}
