//! X25519 (RFC 7748): the Montgomery ladder on u coordinates of y^2 = x^3 + 486662 x^2 + x.

use zeroize::Zeroize;

use super::Derive;
use super::field::{Fe, Loose};
use super::words::{gather, load, scatter, store};
use crate::lanes::{Lanes, declassify};

/// (486662 - 2) / 4.
const A24: u64 = 121_665;

/// One to eight shared secrets.
#[inline(always)]
pub(super) fn derive<V: Lanes>(items: &mut [Derive<'_>]) {
    let count = items.len();
    let mut peer = gather(|lane| items[lane % count].peer);
    let mut scalar = gather(|lane| items[lane % count].private);
    let result = ladder(&clamped(&load(&scalar)), &Fe::<V>::from_words(&load(&peer)));
    scalar.zeroize();
    let any = result[0].or(result[1]).or(result[2].or(result[3]));
    let nonzero = declassify(V::mask_bits(V::mask_not(V::eq(any, V::splat(0)))));
    store(&result, &mut peer);
    for (lane, item) in items.iter_mut().enumerate() {
        scatter(&peer, lane, item.out);
        item.ok = nonzero >> lane & 1 != 0;
    }
    peer.zeroize();
}

/// Multiples of eight with bit 254 set: RFC 7748, section 5.
#[inline(always)]
pub(super) fn clamped<V: Lanes>(words: &[V; 4]) -> [V; 4] {
    [
        words[0].and(V::splat(!7)),
        words[1],
        words[2],
        words[3].and(V::splat(!0 >> 1)).or(V::splat(1 << 62)),
    ]
}

/// The u coordinate of `k P`, as words, for a clamped `k` and the u coordinate of `P`.
#[inline(always)]
fn ladder<V: Lanes>(k: &[V; 4], u: &Fe<V>) -> [V; 4] {
    let mut pair = Pair {
        x2: Fe::small(1).loose().biased(),
        z2: Fe::small(0).loose(),
        x3: u.loose().biased(),
        z3: Fe::small(1).loose(),
    };
    let positive = V::splat(!0 >> 1);
    let mut last = V::splat(0);
    // Bit 255 is not part of the scalar.
    for (word, count) in [(k[3].shl::<1>(), 63), (k[2], 64), (k[1], 64), (k[0], 64)] {
        let mut bits = word;
        for _ in 0..count {
            // The sign of the difference: whether this bit is another than the one before.
            pair.step(u, V::lt(positive, bits.xor(last)));
            last = bits;
            bits = bits.shl::<1>();
        }
    }
    // The last bit of a clamped scalar is 0: the two stand in their places.
    pair.x2.carry().mul(&pair.z2.carry().invert()).carry().to_words()
}

/// Two multiples of P that differ by P: `x2 : z2` is that by the bits of the scalar seen so far,
/// `x3 : z3` that by one more, or the other way round if the last bit seen was 1. The x are biased,
/// so that the z can be taken from them.
struct Pair<V> {
    x2: Loose<V>,
    z2: Loose<V>,
    x3: Loose<V>,
    z3: Loose<V>,
}

impl<V: Lanes> Pair<V> {
    /// One becomes its double, the other the sum of both. `u` is the u coordinate of P.
    ///
    /// The sum does not change when the two change places (`da - cb` changes its sign and is then
    /// squared), so that only what is doubled is selected, instead of exchanging the two.
    #[inline(always)]
    fn step(&mut self, u: &Fe<V>, exchange: V::Mask) {
        let a = self.x2.add(&self.z2).carry();
        let b = self.x2.sub(&self.z2).carry();
        let c = self.x3.add(&self.z3).carry();
        let d = self.x3.sub(&self.z3).carry();
        let da = d.mul_biased(&a);
        let cb = c.mul(&b);
        let aa = Fe::select(exchange, &c, &a).sqr_biased();
        let bb = Fe::select(exchange, &d, &b).sqr();
        let sum = da.add(&cb).carry();
        let difference = da.sub(&cb).carry();
        let e = aa.sub(&bb).carry();
        self.x3 = sum.sqr_biased();
        let square = difference.sqr().carry();
        self.x2 = aa.carry().mul_biased(&bb.carry());
        self.z2 = aa.add_small_product(&e, A24).carry().mul(&e);
        self.z3 = square.mul(u);
    }
}
