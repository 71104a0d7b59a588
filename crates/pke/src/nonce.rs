//! Nonces of DSA and ECDSA: secret numbers from 1 to q - 1, one per signature, never twice and
//! never predictable, or the private key is gone.

use zeroize::Zeroizing;

use crate::ec::scalar::in_range;
use crate::hash::{self, Digest};
use crate::library::bignum::Scratch;
use crate::modular::Modulus;
use crate::{Hash, Nonce, OpError, random};

/// The leftmost bits of a digest, as many as q has, as a number below 2^bits(q) of as many bytes as
/// q (FIPS 186-4, 4.6; bits2int of RFC 6979). It may be at or above q.
pub(crate) fn leftmost_bits(digest: &[u8], q_bits: usize) -> Zeroizing<Vec<u8>> {
    let q_len = q_bits.div_ceil(8);
    let mut out = Zeroizing::new(vec![0; q_len]);
    let taken = digest.len().min(q_len);
    out[q_len - taken..].copy_from_slice(&digest[..taken]);
    let surplus = (8 * digest.len()).min(8 * q_len).saturating_sub(q_bits);
    if surplus > 0 {
        let mut carry = 0;
        for byte in out.iter_mut() {
            (*byte, carry) = (*byte >> surplus | carry, *byte << (8 - surplus));
        }
    }
    out
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
    source: Source,
}

enum Source {
    Hedged { hedge: Hedge, private: Zeroizing<Vec<u8>>, digest: Vec<u8> },
    Deterministic { hash: Hash, key: Digest, value: Digest, first: bool },
}

impl<'a> Nonces<'a> {
    /// `private` is below q and as long as q.
    pub(crate) fn new(
        kind: Nonce,
        q: &'a Modulus,
        private: &[u8],
        digest: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Nonces<'a>, OpError> {
        let source = match kind {
            Nonce::Hedged => Source::Hedged {
                hedge: Hedge::new()?,
                private: Zeroizing::new(private.to_vec()),
                digest: digest.to_vec(),
            },
            Nonce::Deterministic(hash) => {
                // RFC 6979, 3.2, steps b to g.
                let mut reduced = Zeroizing::new(vec![0; q.len()]);
                q.reduce(&leftmost_bits(digest, q.bits()), scratch)?.to_bytes(&mut reduced)?;
                let len = hash.len();
                let (zeros, ones) = ([0; 64], [1; 64]);
                let mut key =
                    hash::hmac(hash, &zeros[..len])?.tag(&[&ones[..len], &[0], private, &reduced]);
                let mut value = hash::hmac(hash, &key)?.tag(&[&ones[..len]]);
                key = hash::hmac(hash, &key)?.tag(&[&value, &[1], private, &reduced]);
                value = hash::hmac(hash, &key)?.tag(&[&value]);
                Source::Deterministic { hash, key, value, first: true }
            }
        };
        Ok(Nonces { q, source })
    }

    /// The next candidate, from 1 to q - 1, as long as q.
    pub(crate) fn next(&mut self) -> Result<Zeroizing<Vec<u8>>, OpError> {
        let mut out = Zeroizing::new(vec![0; self.q.len()]);
        loop {
            match &mut self.source {
                Source::Hedged { hedge, private, digest } => {
                    hedge.nonce(private, digest, self.q.bytes(), &mut out);
                    return Ok(out);
                }
                Source::Deterministic { hash, key, value, first } => {
                    // RFC 6979, 3.2, step h.
                    let mut hmac = hash::hmac(*hash, key)?;
                    if !*first {
                        *key = hmac.tag(&[value, &[0]]);
                        hmac = hash::hmac(*hash, key)?;
                        *value = hmac.tag(&[value]);
                    }
                    *first = false;
                    let mut bits = Zeroizing::new(Vec::with_capacity(self.q.len() + 64));
                    while bits.len() < self.q.len() {
                        *value = hmac.tag(&[value]);
                        bits.extend_from_slice(value);
                    }
                    out = leftmost_bits(&bits, self.q.bits());
                }
            }
            // A candidate that is refused tells nothing of the one that is taken.
            if in_range(&out, self.q.bytes()) {
                return Ok(out);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leftmost_bits_are_cut_and_padded() {
        assert_eq!(**leftmost_bits(&[0xff, 0xff], 9), [1, 0xff]);
        assert_eq!(**leftmost_bits(&[0xff, 0xff, 0xff], 9), [1, 0xff]);
        assert_eq!(**leftmost_bits(&[0x80], 9), [0, 0x80]);
        assert_eq!(**leftmost_bits(&[0x80, 1], 16), [0x80, 1]);
        assert_eq!(**leftmost_bits(&[], 12), [0, 0]);
    }

    #[test]
    fn hedged_nonces_are_below_q_and_differ() {
        let mut scratch = Scratch::new().unwrap();
        for q in [&[3][..], &[1, 1], &[0xff; 20], &[0xff; 66]] {
            let q = Modulus::new(q).unwrap();
            let private = vec![1; q.len()];
            let mut nonces =
                Nonces::new(Nonce::Hedged, &q, &private, b"digest", &mut scratch).unwrap();
            let mut seen = std::collections::HashSet::new();
            for _ in 0..100 {
                let nonce = nonces.next().unwrap();
                assert!(nonce.iter().any(|&byte| byte != 0));
                assert!(q.residue(&nonce).is_ok());
                seen.insert(nonce.to_vec());
            }
            let wanted = if q.len() > 8 { 100 } else { 2 };
            assert!(seen.len() >= wanted, "{} of 100", seen.len());
        }
    }
}
