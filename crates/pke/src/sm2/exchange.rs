//! Key exchange with key confirmation (GB/T 32918.3).

use zeroize::Zeroizing;

use super::{LEN, POINT_LEN, Parts, Point, x_of, xor_derived};
use crate::batch::cut;
use crate::ec::group::Group;
use crate::library::bignum::Scratch;
use crate::library::openssl::sm3;
use crate::weierstrass::named::private_key;
use crate::{Item, OpError, Sm2Role};

/// The second phase, after both have sent each other the points of ephemeral key pairs that
/// [`generate`](super::generate) made.
///
/// `src` = own private (32 bytes) || own ephemeral private (32) || own ephemeral point (65) ||
/// peer's point (65) || peer's ephemeral point (65) || own identity digest (32) || peer's identity
/// digest (32), the digests being those of [`identity_digest`](super::identity_digest).
///
/// `dst` = key (what the other parts leave, one byte at least) || S1 (32) || S2 (32). The responder sends S1, the
/// initiator S2, and each compares what it gets with its own: equal means that the other has the
/// same key.
pub fn exchange(items: &mut [Item<'_, Sm2Role>]) {
    for item in items {
        let role = item.key;
        item.run(|src, dst| {
            let lens = [LEN, LEN, POINT_LEN, POINT_LEN, POINT_LEN, LEN, LEN];
            let [private, ephemeral, own, peer, peer_ephemeral, z_own, z_peer] = cut(src, lens)?;
            let key_len = dst.len().saturating_sub(2 * LEN);
            if key_len == 0 {
                return Err(OpError::BadInput("an empty key"));
            }
            let shared = shared_point(private, ephemeral, own, peer, peer_ephemeral)?;
            let (x, y) = shared[1..].split_at(LEN);
            // Always the initiator's first.
            let (z, first, second) = match role {
                Sm2Role::Initiator => ([z_own, z_peer], own, peer_ephemeral),
                Sm2Role::Responder => ([z_peer, z_own], peer_ephemeral, own),
            };
            let (key, confirmations) = dst.split_at_mut(key_len);
            key.fill(0);
            if xor_derived([x, y, z[0], z[1]], key)? && key_len >= LEN {
                return Err(OpError::Fault);
            }
            let inner = Zeroizing::new(sm3(&[x, z[0], z[1], &first[1..], &second[1..]])?);
            for (tag, out) in [2, 3].into_iter().zip(confirmations.chunks_exact_mut(LEN)) {
                out.copy_from_slice(&sm3(&[&[tag], y, &*inner])?);
            }
            Ok(dst.len())
        });
    }
}

/// The point that both compute: with d and r our private keys, P and R the peer's points,
///
/// ```text
/// t = d + h(x of our ephemeral point) r mod n      U = t (P + h(x of R) R)
/// ```
///
/// and h(x) = 2^127 + (x mod 2^127).
fn shared_point(
    private: &[u8],
    ephemeral: &[u8],
    own: &[u8],
    peer: &[u8],
    peer_ephemeral: &[u8],
) -> Result<Zeroizing<Point>, OpError> {
    let Parts { group, order: n, .. } = Parts::of()?;
    let scratch = &mut Scratch::new()?;
    let parts = Parts::of()?;
    let (d, r) = (private_key(parts, private)?, private_key(parts, ephemeral)?);
    group.check(own)?;
    group.check(peer)?;
    let product = n.multiply(&n.residue(r)?, &n.residue(&half(own))?, scratch)?;
    let t = scratch.add_mod(&n.residue(d)?, &product, n.number())?;
    if t.is_zero() {
        return Err(OpError::BadInput("the shared point is infinite"));
    }
    let mut t_bytes = Zeroizing::new([0; LEN]);
    t.to_bytes(&mut *t_bytes)?;
    let mut multiple: Point = [0; POINT_LEN];
    group.multiply(&half(peer_ephemeral), peer_ephemeral, &mut multiple)?;
    let mut sum: Point = [0; POINT_LEN];
    group.add(peer, &multiple, &mut sum)?;
    let mut shared: Zeroizing<Point> = Zeroizing::new([0; POINT_LEN]);
    group.multiply(&*t_bytes, &sum, &mut *shared)?;
    Ok(shared)
}

/// 2^127 + (x mod 2^127), with x that of `point`.
fn half(point: &[u8]) -> [u8; LEN] {
    let mut half = [0; LEN];
    half[LEN / 2..].copy_from_slice(&x_of(point, LEN)[LEN / 2..]);
    half[LEN / 2] |= 0x80;
    half
}
