//! Public keys and signatures: what the base point is multiplied for. Constant time.

use zeroize::Zeroize;

use super::edwards::Point;
use super::montgomery::clamped;
use super::scalar::Scalar;
use super::sha512::sha512;
use super::table::multiply_base;
use super::words::{gather, load, scatter, store};
use super::{Public, Sign};
use crate::lanes::Lanes;

/// Public keys of X25519: the Edwards point's u = (1 + y) / (1 - y).
#[inline(always)]
pub(super) fn x25519_public<V: Lanes>(items: &mut [Public<'_>]) {
    let count = items.len();
    let mut private = gather(|lane| items[lane % count].private);
    let scalar = Scalar::<V>::from_words(&clamped(&load(&private))).reduce_small();
    private.zeroize();
    let Point { y, z, .. } = multiply_base(&scalar);
    // Y and Z are both biased; another bias makes the difference positive.
    let inverse = z.biased().sub(&y).carry().invert();
    let u = z.add(&y).carry().mul(&inverse).carry();
    let mut rows = [[0; 8]; 4];
    store(&u.to_words(), &mut rows);
    for (lane, item) in items.iter_mut().enumerate() {
        scatter(&rows, lane, item.out);
    }
}

/// Public keys of Ed25519.
#[inline(always)]
pub(super) fn ed25519_public<V: Lanes>(items: &mut [Public<'_>]) {
    let count = items.len();
    let mut hashed =
        sha512::<V>(&core::array::from_fn(|lane| [&items[lane % count].private[..], &[], &[]]));
    let (a, _) = expand::<V>(&mut hashed);
    let mut rows = [[0; 8]; 4];
    store(&multiply_base(&a.reduce_small()).encode(), &mut rows);
    for (lane, item) in items.iter_mut().enumerate() {
        scatter(&rows, lane, item.out);
    }
}

/// The secret scalar, below 2^255, and the prefix, of a hashed seed (RFC 8032, section 5.1.5).
#[inline(always)]
fn expand<V: Lanes>(hashed: &mut [[u64; 8]; 8]) -> (Scalar<V>, [[u8; 32]; 8]) {
    let words: [V; 8] = load(hashed);
    let a = Scalar::from_words(&clamped(&[words[0], words[1], words[2], words[3]]));
    let mut prefixes = [[0; 32]; 8];
    for (lane, prefix) in prefixes.iter_mut().enumerate() {
        scatter(&hashed[4..], lane, prefix);
    }
    hashed.zeroize();
    (a, prefixes)
}

/// Signatures (RFC 8032, section 5.1.6).
#[inline(always)]
pub(super) fn sign<V: Lanes>(items: &mut [Sign<'_>]) {
    let count = items.len();
    let item = |lane: usize| &items[lane % count];
    let mut hashed = sha512::<V>(&core::array::from_fn(|lane| [&item(lane).seed[..], &[], &[]]));
    let (a, mut prefixes) = expand::<V>(&mut hashed);

    let mut hashed =
        sha512::<V>(&core::array::from_fn(|lane| [&prefixes[lane][..], item(lane).message, &[]]));
    prefixes.zeroize();
    let r = Scalar::reduce(&load(&hashed));
    hashed.zeroize();
    let mut rows = [[0; 8]; 4];
    store(&multiply_base(&r).encode(), &mut rows);
    let mut points = [[0; 32]; 8];
    for (lane, point) in points.iter_mut().enumerate() {
        scatter(&rows, lane, point);
    }

    let hashed = sha512::<V>(&core::array::from_fn(|lane| {
        [&points[lane][..], item(lane).public, item(lane).message]
    }));
    let k = Scalar::<V>::reduce(&load(&hashed));
    store(&k.mul(&a).add(&r).to_words(), &mut rows);
    for (lane, item) in items.iter_mut().enumerate() {
        let (point, scalar) = item.signature.split_at_mut(32);
        point.copy_from_slice(&points[lane]);
        scatter(&rows, lane, scalar);
    }
}
