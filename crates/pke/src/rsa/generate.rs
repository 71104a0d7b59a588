//! New RSA keys.

use std::fmt;

use zeroize::Zeroizing;

use super::keys::{Crt, MAX_BITS, MIN_BITS, PrivateParts};
use crate::batch::{room, stripped};
use crate::library::bignum::{Bignum, Scratch};
use crate::library::rsa::Key;
use crate::{Item, OpError};

/// The parts of a new key, each with its length: n and d have k bytes, the five others
/// [`half_len`] bytes.
pub struct GeneratedKey {
    parts: [Zeroizing<Vec<u8>>; 8],
}

impl fmt::Debug for GeneratedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GeneratedKey({} bytes)", self.parts[0].len())
    }
}

impl GeneratedKey {
    /// Its parts, to make a key of or to store.
    pub fn parts(&self) -> PrivateParts<'_> {
        let [n, e, d, p, q, dp, dq, qinv] = &self.parts;
        PrivateParts { n, e, d, crt: Some(Crt { p, q, dp, dq, qinv }) }
    }
}

/// Bytes of p and of q of a key of `bits` bits.
pub const fn half_len(bits: usize) -> usize {
    bits.div_ceil(2).div_ceil(8)
}

/// A key of `bits` bits, an even number from [`MIN_BITS`] to [`MAX_BITS`], with the odd public
/// exponent `e` > 1 of up to 64 bits (65537 unless there is a reason).
///
/// The primes are drawn as FIPS 186-4 (B.3.3) says: of equal length, far from each other, and the
/// two highest bits of each set or at least p, q >= 2^(bits/2) / sqrt 2. Takes 50 ms or so for
/// 2048 bits, very unevenly.
pub fn generate(bits: usize, e: &[u8]) -> Result<GeneratedKey, OpError> {
    if !(MIN_BITS..=MAX_BITS).contains(&bits) || bits % 2 == 1 {
        return Err(OpError::BadInput("an RSA key has an even number of bits from 512 to 8192"));
    }
    let e = stripped(e);
    if e.last().is_none_or(|last| last & 1 == 0) || e == [1] || e.len() > 8 {
        return Err(OpError::BadInput("the public exponent is odd, above 1, and below 2^64"));
    }
    let exponent = Bignum::from_bytes(e)?;
    // AWS-LC rounds other lengths down, and refuses longer exponents.
    let parts = if bits.is_multiple_of(128) && e.len() <= 4 {
        Key::generate(bits, &exponent)?.parts()?
    } else {
        from_primes(bits, exponent)?
    };
    let (k, half) = (bits.div_ceil(8), half_len(bits));
    let lens = [k, e.len(), k, half, half, half, half, half];
    let mut bytes = lens.map(|len| Zeroizing::new(vec![0; len]));
    for (bytes, part) in bytes.iter_mut().zip(&parts) {
        part.to_bytes(bytes)?;
    }
    Ok(GeneratedKey { parts: bytes })
}

/// n, e, d, p, q, d mod (p - 1), d mod (q - 1), q^-1 mod p.
///
/// Divisions and inversions here are not in constant time. Each sees its operands once.
fn from_primes(bits: usize, e: Bignum) -> Result<[Bignum; 8], OpError> {
    let mut scratch = Scratch::new()?;
    let mut prime = || loop {
        // The two highest bits are set, so that the product of two has all its bits.
        let p = scratch.generate_prime(bits / 2, false)?;
        if scratch.gcd(&p.duplicate()?.sub_word(1)?, &e)?.is_one() {
            return Ok::<_, OpError>(p);
        }
    };
    let (p, q) = loop {
        let (p, q) = (prime()?, prime()?);
        // Or else Fermat's method finds them.
        if p.distance(&q)?.bits() > bits / 2 - 100 {
            break (p, q);
        }
    };
    let n = scratch.multiply(&p, &q)?;
    let (p1, q1) = (p.duplicate()?.sub_word(1)?, q.duplicate()?.sub_word(1)?);
    let common = scratch.gcd(&p1, &q1)?;
    let product = scratch.multiply(&p1, &q1)?;
    let (order, _) = scratch.divide(&product, &common)?;
    let odd = OpError::Library("RSA key generation");
    let d = scratch.inverse_mod(&e, &order)?.ok_or(odd)?;
    let dp = scratch.divide(&d, &p1)?.1;
    let dq = scratch.divide(&d, &q1)?.1;
    let q_mod_p = scratch.divide(&q, &p)?.1;
    let qinv = scratch.inverse_mod(&q_mod_p, &p)?.ok_or(odd)?;
    Ok([n, e, d, p, q, dp, dq, qinv])
}

/// [`generate`] for each item, a key of so many bits: `src` = e, `dst` = n || d (k bytes each) || p ||
/// q || d mod (p - 1) || d mod (q - 1) || q^-1 mod p ([`half_len`] bytes each).
pub fn generate_batch(items: &mut [Item<'_, usize>]) {
    for item in items {
        let bits = item.key;
        item.run(|e, dst| {
            // Before the work, not after it.
            if bits <= MAX_BITS {
                room(dst, 2 * bits.div_ceil(8) + 5 * half_len(bits))?;
            }
            let key = generate(bits, e)?;
            let [n, _, rest @ ..] = &key.parts;
            let mut len = 0;
            for part in std::iter::once(n).chain(rest) {
                room(&mut dst[len..], part.len())?.copy_from_slice(part);
                len += part.len();
            }
            Ok(len)
        });
    }
}
