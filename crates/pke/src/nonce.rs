//! Nonces of DSA and ECDSA: secret numbers from 1 to q - 1, one per signature, never twice and
//! never predictable, or the private key is gone.

use zeroize::Zeroizing;

use crate::ec::group::MAX_LEN;
use crate::ec::scalar::{in_range, reduce_once};
use crate::hash::{self, Digest};
use crate::library::bignum::Bignum;
use crate::modular::Modulus;
use crate::{Hash, Nonce, OpError, random};

/// The leftmost bits of a digest, as many as q has, as a number below 2^bits(q) over all of `out`,
/// which has as many bytes as q (FIPS 186-4, 4.6; bits2int of RFC 6979). It may be at or above q.
pub(crate) fn leftmost_bits(digest: &[u8], q_bits: usize, out: &mut [u8]) {
    let q_len = q_bits.div_ceil(8);
    let taken = digest.len().min(q_len);
    let (zeros, leftmost) = out.split_at_mut(q_len - taken);
    zeros.fill(0);
    leftmost.copy_from_slice(&digest[..taken]);
    let surplus = (8 * digest.len()).min(8 * q_len).saturating_sub(q_bits);
    if surplus > 0 {
        let mut carry = 0;
        for byte in out.iter_mut() {
            (*byte, carry) = (*byte >> surplus | carry, *byte << (8 - surplus));
        }
    }
}

/// A digest's [`leftmost_bits`] modulo q, over all of `out`.
fn reduced_bits(digest: &[u8], q: &Modulus, out: &mut [u8]) {
    leftmost_bits(digest, q.bits(), out);
    // Below 2^bits(q), so below 2 q.
    reduce_once(out, q.bytes());
}

/// A digest's [`leftmost_bits`] modulo q, which has [`MAX_LEN`] bytes at most.
pub(crate) fn number_of(digest: &[u8], q: &Modulus) -> Result<Bignum, OpError> {
    let mut bits = Zeroizing::new([0; MAX_LEN]);
    let bits = &mut bits[..q.len()];
    reduced_bits(digest, q, bits);
    Bignum::from_bytes(bits)
}

/// Randomness for the hedged nonces of signatures that are made together: 32 bytes, drawn once.
///
/// A nonce is SHA-512 of the private key, these bytes, the digest and a number that does not come
/// twice, cut to the bits of q, and the next such candidate where that is not in range. So no value
/// is more likely than another, and none tells of another.
pub(crate) struct Hedge {
    fresh: Zeroizing<[u8; 32]>,
    count: u64,
}

impl Hedge {
    pub(crate) fn new() -> Result<Hedge, OpError> {
        Ok(Hedge { fresh: Zeroizing::new(random::bytes()?), count: 0 })
    }

    /// A nonce from 1 to q - 1 into `out`, which is as long as `q`. `q` has no leading zeros and is
    /// above 1. Constant time, save that it is seen how many candidates were refused.
    pub(crate) fn nonce(&mut self, private: &[u8], digest: &[u8], q: &[u8], out: &mut [u8]) {
        let mut hash = Zeroizing::new([0; 64]);
        loop {
            for chunk in out.chunks_mut(64) {
                self.count += 1;
                let count = self.count.to_be_bytes();
                let parts: [&[u8]; 4] = [private, &*self.fresh, digest, &count];
                let done = hash::digest_into(Hash::Sha512, &parts, &mut *hash);
                done.expect("memory for the state of a hash");
                chunk.copy_from_slice(&hash[..chunk.len()]);
            }
            out[0] &= 0xff >> q[0].leading_zeros();
            if in_range(out, q) {
                return;
            }
        }
    }
}

/// A sequence of candidates for one signature: the first is used, unless the signature comes out
/// as 0, which nobody will live to see.
pub(crate) struct Nonces<'a> {
    q: &'a Modulus,
    source: Source<'a>,
}

/// The nonce that the caller gives in front of the digest (empty for another kind), and the digest.
pub(crate) fn given<'a>(
    kind: Nonce,
    q: &Modulus,
    rest: &'a [u8],
) -> Result<(&'a [u8], &'a [u8]), OpError> {
    if kind != Nonce::Given {
        return Ok((&[], rest));
    }
    let (nonce, digest) =
        rest.split_at_checked(q.len()).ok_or(OpError::BadInput("the source is too short"))?;
    if in_range(nonce, q.bytes()) {
        Ok((nonce, digest))
    } else {
        Err(OpError::BadInput("the nonce is zero or not below the order"))
    }
}

/// Says that a given nonce makes r or s 0.
pub(crate) const UNUSABLE: OpError = OpError::BadInput("the nonce makes no signature");

enum Source<'a> {
    Hedged {
        hedge: Hedge,
        private: &'a [u8],
        digest: &'a [u8],
    },
    Deterministic {
        hash: Hash,
        key: Digest,
        value: Digest,
        first: bool,
    },
    /// `None` once it was used.
    Given(Option<&'a [u8]>),
}

impl<'a> Nonces<'a> {
    /// `private` is below q and as long as q, which has [`MAX_LEN`] bytes at most. In front of the digest is
    /// the nonce, where it is given.
    pub(crate) fn new(
        kind: Nonce,
        q: &'a Modulus,
        private: &'a [u8],
        digest: &'a [u8],
    ) -> Result<Nonces<'a>, OpError> {
        let source = match kind {
            Nonce::Hedged => Source::Hedged { hedge: Hedge::new()?, private, digest },
            Nonce::Given => Source::Given(Some(given(kind, q, digest)?.0)),
            Nonce::Deterministic(hash) => {
                // RFC 6979, 3.2, steps b to g.
                let mut reduced = Zeroizing::new([0; MAX_LEN]);
                let reduced = &mut reduced[..q.len()];
                reduced_bits(digest, q, reduced);
                let tag =
                    |key: &[u8], parts: &[&[u8]]| hash::hmac(hash, key, |hmac| hmac.tag(parts));
                let (zeros, ones) = ([0; 64], [1; 64]);
                let (zeros, ones) = (&zeros[..hash.len()], &ones[..hash.len()]);
                let mut key = tag(zeros, &[ones, &[0], private, reduced])?;
                let mut value = tag(&key, &[ones])?;
                key = tag(&key, &[&value, &[1], private, reduced])?;
                value = tag(&key, &[&value])?;
                Source::Deterministic { hash, key, value, first: true }
            }
        };
        Ok(Nonces { q, source })
    }

    /// The next candidate, from 1 to q - 1, into `out`, which is as long as q.
    pub(crate) fn next(&mut self, out: &mut [u8]) -> Result<(), OpError> {
        loop {
            match &mut self.source {
                Source::Hedged { hedge, private, digest } => {
                    hedge.nonce(private, digest, self.q.bytes(), out);
                    return Ok(());
                }
                Source::Given(nonce) => {
                    out.copy_from_slice(nonce.take().ok_or(UNUSABLE)?);
                    return Ok(());
                }
                Source::Deterministic { hash, key, value, first } => {
                    // RFC 6979, 3.2, step h.
                    if !*first {
                        *key = hash::hmac(*hash, key, |hmac| hmac.tag(&[value, &[0]]))?;
                        *value = hash::hmac(*hash, key, |hmac| hmac.tag(&[value]))?;
                    }
                    *first = false;
                    let mut bits = Zeroizing::new([0; MAX_LEN + 64]);
                    let bits = &mut bits[..self.q.len().next_multiple_of(hash.len())];
                    hash::hmac(*hash, key, |hmac| {
                        for bits in bits.chunks_mut(hash.len()) {
                            *value = hmac.tag(&[value]);
                            bits.copy_from_slice(value);
                        }
                    })?;
                    leftmost_bits(bits, self.q.bits(), out);
                }
            }
            // A candidate that is refused tells nothing of the one that is taken.
            if in_range(out, self.q.bytes()) {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftmost_bits_are_cut_and_padded() {
        for (digest, bits, wanted) in [
            (&[0xff, 0xff][..], 9, [1, 0xff]),
            (&[0xff, 0xff, 0xff], 9, [1, 0xff]),
            (&[0x80], 9, [0, 0x80]),
            (&[0x80, 1], 16, [0x80, 1]),
            (&[], 12, [0, 0]),
        ] {
            let mut out = [0xaa; 2];
            leftmost_bits(digest, bits, &mut out);
            assert_eq!(out, wanted);
        }
    }

    #[test]
    fn hedged_nonces_are_below_q_and_differ() {
        for q in [&[3][..], &[1, 1], &[0xff; 20], &[0xff; 66]] {
            let q = Modulus::new(q).unwrap();
            let private = vec![1; q.len()];
            let mut nonces = Nonces::new(Nonce::Hedged, &q, &private, b"digest").unwrap();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..100 {
                let mut nonce = vec![0; q.len()];
                nonces.next(&mut nonce).unwrap();
                assert!(nonce.iter().any(|&byte| byte != 0));
                assert!(q.residue(&nonce).is_ok());
                seen.insert(nonce);
            }
            let wanted = if q.len() > 8 { 100 } else { 2 };
            assert!(seen.len() >= wanted, "{} of 100", seen.len());
        }
    }
}
