//! X25519 in the lanes of a vector.

use lookaside_simd::Avx512;

use super::{Curve, derive_one};
use crate::batch::{cut, room};
use lookaside_pke_kernel::curve25519::{Derive, x25519_avx512};
use crate::library::curve25519::ZERO_SECRET;
use crate::{Error, Item};

/// From how many items on the kernel takes less time than one by one. Its eight lanes take 1.74
/// times as long as one operation of AWS-LC's, however many of them are in use (Sapphire Rapids,
/// 2026-11).
const THRESHOLD: usize = 2;

const LANES: usize = 8;

/// Runs the items eight at a time, down to fewer than the kernel pays for; returns those.
pub(super) fn derive<'items, 'a>(
    token: Avx512,
    mut items: &'items mut [Item<'a>],
) -> &'items mut [Item<'a>] {
    while items.len() >= THRESHOLD {
        let (group, rest) = items.split_at_mut(items.len().min(LANES));
        derive_group(token, group);
        items = rest;
    }
    items
}

fn derive_group(token: Avx512, group: &mut [Item<'_>]) {
    // Items that are malformed take no lane.
    for item in &mut *group {
        match request(item.src, item.dst) {
            Ok(_) => item.result = Ok(Curve::X25519.len()),
            Err(error) => item.fail(error),
        }
    }
    let valid = group.iter_mut().filter(|item| item.result.is_ok());
    let (mut requests, results): (Vec<_>, Vec<_>) = valid
        .filter_map(|item| Some((request(item.src, item.dst).ok()?, &mut item.result)))
        .unzip();
    if requests.len() >= THRESHOLD {
        x25519_avx512(token, &mut requests);
        for (request, result) in requests.iter().zip(results) {
            if !request.ok {
                *result = Err(ZERO_SECRET); // All of `dst` that was written is zeros.
            }
        }
        return;
    }
    for item in group.iter_mut().filter(|item| item.result.is_ok()) {
        item.run(|src, dst| derive_one(Curve::X25519, src, dst));
    }
}

fn request<'a>(src: &'a [u8], dst: &'a mut [u8]) -> Result<Derive<'a>, Error> {
    const BAD: Error = Error::BadInput("a key of another length");
    let [private, peer] = cut(src, [Curve::X25519.len(); 2])?;
    let out = room(dst, Curve::X25519.len())?;
    Ok(Derive {
        private: private.try_into().map_err(|_| BAD)?,
        peer: peer.try_into().map_err(|_| BAD)?,
        out: out.try_into().map_err(|_| BAD)?,
        ok: false,
    })
}
