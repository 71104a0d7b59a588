//! RSA keys, checked as far as that costs little.

use std::cmp::Ordering;
use std::fmt;
use std::sync::OnceLock;

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use super::blinding::Blinding;
use super::{private_pays, public_pays};
use crate::batch::{LANES, stripped};
use crate::hash::{Digest, digest};
use crate::library::bignum::{Bignum, Scratch};
use crate::library::rsa::Key;
use crate::{Hash, OpError};
use lookaside_pke_kernel::modexp;

/// The shortest modulus, in bits. It protects nothing; old software and tests have such keys.
pub const MIN_BITS: usize = 512;

/// The longest modulus, in bits.
pub const MAX_BITS: usize = 8192;

/// Up to here e may be any odd number from 3 to n - 1; with a longer modulus it has at most 64
/// bits, so that a stranger's key cannot cost seconds. The limits are OpenSSL's.
const LARGE_EXPONENT_BITS: usize = 3072;

/// A public key.
pub struct PublicKey {
    pub(super) key: Key,
    pub(super) n: Box<[u8]>,
    pub(super) e: Box<[u8]>,
    bits: usize,
    /// For the kernel, when it is first wanted; `None` where the kernel does not serve it.
    kernel: OnceLock<Option<modexp::Modulus>>,
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PublicKey({} bits)", self.bits)
    }
}

impl PublicKey {
    /// Big-endian numbers; leading zeros are dropped. n is odd and has from [`MIN_BITS`] to
    /// [`MAX_BITS`] bits; e is odd, at least 3 and below n, and has at most 64 bits where n has
    /// more than 3072.
    pub fn new(n: &[u8], e: &[u8]) -> Result<PublicKey, OpError> {
        let (n, e) = (stripped(n), stripped(e));
        let bits = check_public(n, e)?;
        let key = Key::from_parts(n, e, None)?;
        Ok(PublicKey { key, n: n.into(), e: e.into(), bits, kernel: OnceLock::new() })
    }

    /// Whether operations with it on this CPU run side by side, so that up to eight items, of this
    /// key or of others as long, are worth collecting.
    pub fn has_kernel(&self, cpu: &Cpu) -> bool {
        cpu.avx512().is_some() && public_pays(LANES, self)
    }

    pub(super) fn kernel(&self) -> Option<&modexp::Modulus> {
        self.kernel.get_or_init(|| modexp::Modulus::new(&self.n)).as_ref()
    }

    /// Bits of n.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Bytes of n: k, the length of a signature and of a ciphertext.
    #[allow(clippy::len_without_is_empty)] // No key is empty.
    pub fn len(&self) -> usize {
        self.n.len()
    }
}

fn check_public(n: &[u8], e: &[u8]) -> Result<usize, OpError> {
    let bits = n.first().map_or(0, |top| 8 * n.len() - top.leading_zeros() as usize);
    if !(MIN_BITS..=MAX_BITS).contains(&bits) {
        return Err(OpError::BadInput("an RSA modulus of less than 512 or more than 8192 bits"));
    }
    if n[n.len() - 1] & 1 == 0 {
        return Err(OpError::BadInput("an even RSA modulus"));
    }
    let odd = e.last().is_some_and(|last| last & 1 == 1);
    let below_n = (e.len(), e) < (n.len(), n);
    if !odd || e == [1] || !below_n || (bits > LARGE_EXPONENT_BITS && e.len() > 8) {
        return Err(OpError::BadInput("the public exponent"));
    }
    Ok(bits)
}

/// What a private key is made of: big-endian numbers of any length.
#[derive(Clone, Copy)]
pub struct PrivateParts<'a> {
    /// The modulus.
    pub n: &'a [u8],
    /// The public exponent. Needed for the blinding and to check results.
    pub e: &'a [u8],
    /// The private exponent.
    pub d: &'a [u8],
    /// The factors, where there are two and they are known. Without them, as for keys of three
    /// primes and more, an operation costs about four times as much.
    pub crt: Option<Crt<'a>>,
}

/// The part of a private key that the Chinese remainder theorem needs.
#[derive(Clone, Copy)]
pub struct Crt<'a> {
    /// A prime.
    pub p: &'a [u8],
    /// The other prime.
    pub q: &'a [u8],
    /// d mod (p - 1).
    pub dp: &'a [u8],
    /// d mod (q - 1).
    pub dq: &'a [u8],
    /// q^-1 mod p.
    pub qinv: &'a [u8],
}

/// A private key.
pub struct PrivateKey {
    pub(super) key: Key,
    pub(super) n: Box<[u8]>,
    bits: usize,
    /// SHA-256 of d as long as n: what the answers to badly padded ciphertexts depend on.
    pub(super) rejection: Digest,
    /// For the kernel; `None` where the kernel does not serve the key, or the CPU has none.
    pub(super) kernel: Option<modexp::CrtKey>,
    /// For the kernel; without, its operations are not blinded.
    pub(super) blinding: Option<Blinding>,
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateKey({} bits)", self.bits)
    }
}

impl PrivateKey {
    /// The public part is checked as in [`PublicKey::new`]; d and the parts for the Chinese
    /// remainder theorem have to be in range, and p q = n. That d fits to e is not checked
    /// here: a key for which it does not answers every operation with [`OpError::Fault`].
    pub fn new(parts: &PrivateParts<'_>) -> Result<PrivateKey, OpError> {
        let (n, e, d) = (stripped(parts.n), stripped(parts.e), stripped(parts.d));
        let bits = check_public(n, e)?;
        if d.is_empty() || (d.len(), d) >= (n.len(), n) {
            return Err(OpError::BadInput("the private exponent"));
        }
        let mut wide = Zeroizing::new(vec![0; n.len()]);
        wide[n.len() - d.len()..].copy_from_slice(d);
        let mut key = Key::from_parts(n, e, Some(&wide))?;
        let mut kernel = None;
        if let Some(Crt { p, q, dp, dq, qinv }) = parts.crt {
            let parts = [p, q, dp, dq, qinv].map(stripped);
            check_factors(n, parts)?;
            key = key.with_factors(parts)?;
            if Cpu::host().avx512().is_some() {
                let [p, q, dp, dq, qinv] = parts;
                kernel = modexp::CrtKey::new(n, e, p, q, dp, dq, qinv);
            }
        }
        let rejection = digest(Hash::Sha256, &[&wide])?;
        Ok(PrivateKey { key, n: n.into(), bits, rejection, kernel, blinding: None })
    }

    /// The same key, whose operations are blinded also where they run side by side. `e` is the public
    /// exponent.
    pub fn blinded(mut self, e: &[u8]) -> Result<PrivateKey, OpError> {
        if self.kernel.is_some() {
            self.blinding = Some(Blinding::new(&self.n, stripped(e))?);
        }
        Ok(self)
    }

    /// Whether operations with it on this CPU run side by side, so that up to eight items, of this
    /// key or of others as long, are worth collecting.
    pub fn has_kernel(&self, cpu: &Cpu) -> bool {
        cpu.avx512().is_some() && private_pays(LANES, self)
    }

    /// Bits of n.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Bytes of n: k, the length of a signature and of a ciphertext.
    #[allow(clippy::len_without_is_empty)] // No key is empty.
    pub fn len(&self) -> usize {
        self.n.len()
    }
}

fn check_factors(n: &[u8], [p, q, dp, dq, qinv]: [&[u8]; 5]) -> Result<(), OpError> {
    // Before the product: p and q are not read if they are absurd.
    if p.len() + q.len() > n.len() + 1 || p.len() < 2 || q.len() < 2 {
        return Err(OpError::BadInput("p q is not n"));
    }
    let [n, p, q] = [n, p, q].map(Bignum::from_bytes);
    let (n, p, q) = (n?, p?, q?);
    if Scratch::new()?.multiply(&p, &q)?.compare(&n) != Ordering::Equal {
        return Err(OpError::BadInput("p q is not n"));
    }
    for (number, limit) in [(dp, &p), (dq, &q), (qinv, &p)] {
        if number.is_empty() || Bignum::from_bytes(number)?.compare(limit) != Ordering::Less {
            return Err(OpError::BadInput("d mod (p - 1), d mod (q - 1) or q^-1 mod p"));
        }
    }
    Ok(())
}
