//! DSA (FIPS 186-4): signatures, keys, and domain parameters.
//!
//! FIPS 186-5 no longer signs with it; it is here for what exists.

use std::fmt;

use lookaside_simd::Cpu;

use crate::batch::{LANES, PerLane, cut, room, stripped};
use crate::ec::scalar;
use crate::engine::carve;
use crate::hash::digest;
use crate::library::bignum::{Bignum, Scratch};
use crate::modular::{Modulus, Raise, Raised, raise};
use crate::nonce::{self, Nonces, number_of};
use crate::{Engine, Hash, Item, Nonce, OpError, random};

/// Domain parameters: p prime, q a prime factor of p - 1, g of order q modulo p.
pub struct Domain {
    p: Modulus,
    q: Modulus,
    g: Box<[u8]>,
}

impl fmt::Debug for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Domain({} and {} bits)", self.p.bits(), self.q.bits())
    }
}

impl Domain {
    /// p of 512 to 3072 bits, q of 160, 224 or 256: besides the pairs of FIPS 186-4 (1024/160,
    /// 2048/224, 2048/256, 3072/256) old and odd ones are taken. Checked: that q divides p - 1, and
    /// that g is neither 1 nor of another order. Not checked: that p and q are prime, which takes a
    /// hundred times as long ([`crate::prime::is_prime`]).
    pub fn new(p: &[u8], q: &[u8], g: &[u8]) -> Result<Domain, OpError> {
        let (p, q) = (Modulus::new(p)?, Modulus::new(q)?);
        if !(512..=3072).contains(&p.bits()) || ![160, 224, 256].contains(&q.bits()) {
            return Err(OpError::BadInput("DSA has p of 512 to 3072 bits, q of 160, 224 or 256"));
        }
        let (Some(montgomery), Some(_)) = (p.montgomery(), q.montgomery()) else {
            return Err(OpError::BadInput("an even p or q"));
        };
        let mut scratch = Scratch::new()?;
        let order = p.number().duplicate()?.sub_word(1)?;
        if !scratch.divide(&order, q.number())?.1.is_zero() {
            return Err(OpError::BadInput("q does not divide p - 1"));
        }
        let g = padded(g, p.len())?;
        let number = p.residue(&g).map_err(|_| OpError::BadInput("g is not below p"))?;
        let is_one = number.is_one() || number.is_zero();
        if is_one || !montgomery.power_public(&number, q.number(), &mut scratch)?.is_one() {
            return Err(OpError::BadInput("g is not of order q"));
        }
        Ok(Domain { p, q, g })
    }

    /// Bytes of p: k, the length of a public key.
    pub fn p_len(&self) -> usize {
        self.p.len()
    }

    /// Bytes of q: the length of a private key and of half a signature.
    pub fn q_len(&self) -> usize {
        self.q.len()
    }

    /// Whether operations on this CPU run side by side, so that up to eight items are worth
    /// collecting.
    pub fn has_kernel(&self, cpu: &Cpu) -> bool {
        self.p.has_kernel(cpu)
    }

    /// A private key, or a nonce, or half a signature: from 1 to q - 1.
    fn scalar(&self, bytes: &[u8]) -> Result<Bignum, OpError> {
        let number = self.q.residue(bytes)?;
        if number.is_zero() { Err(OpError::BadInput("0 as a key")) } else { Ok(number) }
    }
}

/// `number` with zeros in front, or without some.
fn padded(number: &[u8], len: usize) -> Result<Box<[u8]>, OpError> {
    let number = stripped(number);
    let mut out = vec![0; len].into_boxed_slice();
    let start =
        len.checked_sub(number.len()).ok_or(OpError::BadInput("a number that is too long"))?;
    out[start..].copy_from_slice(number);
    Ok(out)
}

/// Signs, each by its domain and with its kind of nonce: `src` = private key (as long as q) || digest
/// (of any length; as many bits as q has count), `dst` = r || s (each as long as q). With
/// [`Nonce::Given`] the nonce, as long as q, is in front of the digest.
pub fn sign(engine: &mut Engine, items: &mut [Item<'_, (&Domain, Nonce)>]) {
    let mut scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(error) => return items.iter_mut().for_each(|item| item.fail(error)),
    };
    for items in items.chunks_mut(LANES) {
        let lens = items.iter().map(|item| item.key.0.q_len() + item.key.0.p_len());
        let mut memory = engine.bytes.lend(lens.sum());
        let mut left = &mut memory[..];
        let mut open: PerLane<Open<'_>> = PerLane::new();
        for (index, item) in items.iter_mut().enumerate() {
            let ((domain, nonce), src) = (item.key, item.src);
            if item.dst.len() < 2 * domain.q_len() {
                item.fail(OpError::DstTooSmall);
                continue;
            }
            let prepared = src
                .split_at_checked(domain.q_len())
                .ok_or(OpError::BadInput("too short"))
                .and_then(|(private, digest)| {
                    domain.scalar(private)?;
                    Nonces::new(nonce, &domain.q, private, digest)
                });
            match prepared {
                Ok(nonces) => open.push(Open {
                    index,
                    domain,
                    nonces,
                    nonce: carve(&mut left, domain.q_len()),
                    power: carve(&mut left, domain.p_len()),
                    result: Ok(0),
                }),
                Err(error) => item.fail(error),
            }
        }
        // A second round is for r = 0 or s = 0: with a q of 160 bits or more, for bad parameters only.
        for _ in 0..ROUNDS {
            let mut raised = Raised::new();
            for Open { domain, nonces, nonce, power, result, .. } in &mut open {
                match nonces.next(nonce) {
                    Ok(()) => {
                        let Domain { p, g, .. } = domain;
                        raised.push((
                            Raise { modulus: p, base: g, exponent: nonce, out: power },
                            result,
                        ));
                    }
                    Err(error) => *result = Err(error),
                }
            }
            raise(&engine.cpu, &mut engine.kernel, &mut raised);
            drop(raised);
            open.retain(|open| {
                let item = &mut items[open.index];
                let kind = item.key.1;
                let signed = open.result.and_then(|_| open.sign(kind, item.src, &mut scratch));
                match signed {
                    Ok(None) => return true,
                    Ok(Some((r, s))) => item.run(|_, dst| {
                        let q_len = open.domain.q_len();
                        r.to_bytes(&mut dst[..q_len])?;
                        s.to_bytes(&mut dst[q_len..2 * q_len])?;
                        Ok(2 * q_len)
                    }),
                    Err(error) => item.fail(error),
                }
                false
            });
        }
        for open in open {
            items[open.index].fail(OpError::BadInput("no domain of DSA"));
        }
    }
}

const ROUNDS: usize = 4;

/// A signature in the making.
struct Open<'a> {
    index: usize,
    domain: &'a Domain,
    nonces: Nonces<'a>,
    nonce: &'a mut [u8],
    /// g^nonce mod p.
    power: &'a mut [u8],
    result: Result<usize, OpError>,
}

impl Open<'_> {
    /// r = (g^k mod p) mod q, s = k^-1 (z + x r) mod q; `None` if one of them is 0.
    fn sign(
        &self,
        kind: Nonce,
        src: &[u8],
        scratch: &mut Scratch,
    ) -> Result<Option<(Bignum, Bignum)>, OpError> {
        let q = &self.domain.q;
        let (private, digest) = src.split_at(q.len());
        let digest = nonce::given(kind, q, digest)?.1;
        let r = q.reduce(self.power, scratch)?;
        let z = number_of(digest, q)?;
        let product = q.multiply(&q.residue(private)?, &r, scratch)?;
        let sum = scratch.add_mod(&z, &product, q.number())?;
        let nonce = q.residue(self.nonce)?;
        let inverse = q.inverse_prime(&nonce, scratch)?;
        if !q.multiply(&inverse, &nonce, scratch)?.is_one() {
            return Err(OpError::BadInput("q is not a prime"));
        }
        let s = q.multiply(&inverse, &sum, scratch)?;
        Ok(if r.is_zero() || s.is_zero() { None } else { Some((r, s)) })
    }
}

/// Verifies, each by its domain: `src` = public key (as long as p) || r || s (each as long as q) ||
/// digest. The result is `Ok(0)` or [`OpError::AuthFailed`]. Of the key it is checked that 1 < y <
/// p - 1; whether it has order q concerns its owner only.
pub fn verify(engine: &mut Engine, items: &mut [Item<'_, &Domain>]) {
    let mut scratch = match Scratch::new() {
        Ok(scratch) => scratch,
        Err(error) => return items.iter_mut().for_each(|item| item.fail(error)),
    };
    for items in items.chunks_mut(LANES) {
        let mut claims: PerLane<Claim<'_>> = PerLane::new();
        for (index, item) in items.iter_mut().enumerate() {
            match Claim::new(index, item, &mut scratch) {
                Ok(claim) => claims.push(claim),
                Err(error) => item.fail(error),
            }
        }
        // One by one, both exponentiations of a claim share their squarings, which is cheaper than
        // two apart; eight side by side, those of four claims, are cheaper still.
        let side_by_side = engine.cpu.avx512().is_some();
        claims.sort_unstable_by_key(|claim| claim.domain.p.bits());
        for group in claims.chunk_by(|one, two| one.domain.p.bits() == two.domain.p.bits()) {
            let full = if side_by_side { group.len() / 4 * 4 } else { 0 };
            let (four, rest) = group.split_at(full);
            check_side_by_side(engine, four, &mut scratch, |claim, result| {
                items[claim.index].run(|_, _| result);
            });
            for claim in rest {
                let result = claim.check(&mut scratch);
                items[claim.index].run(|_, _| result);
            }
        }
    }
}

/// A signature to be checked: r = (g^u1 y^u2 mod p) mod q.
struct Claim<'a> {
    index: usize,
    domain: &'a Domain,
    /// y, as bytes.
    public: &'a [u8],
    r: Bignum,
    u1: Bignum,
    u2: Bignum,
}

impl<'a> Claim<'a> {
    /// With u1 = z/s and u2 = r/s.
    fn new(
        index: usize,
        item: &Item<'a, &'a Domain>,
        scratch: &mut Scratch,
    ) -> Result<Claim<'a>, OpError> {
        let (domain, src) = (item.key, item.src);
        let Domain { p, q, .. } = domain;
        let (k, q_len) = (p.len(), q.len());
        let digest_len =
            src.len().checked_sub(k + 2 * q_len).ok_or(OpError::BadInput("too short"))?;
        let [public, r, s, digest] = cut(src, [k, q_len, q_len, digest_len])?;
        check_public_key(p, public)?;
        let (Ok(r), Ok(s)) = (domain.scalar(r), domain.scalar(s)) else {
            return Err(OpError::AuthFailed);
        };
        let z = number_of(digest, q)?;
        let w = scratch.inverse_mod(&s, q.number())?.ok_or(OpError::AuthFailed)?;
        let (u1, u2) = (q.multiply(&z, &w, scratch)?, q.multiply(&r, &w, scratch)?);
        Ok(Claim { index, domain, public, r, u1, u2 })
    }

    fn check(&self, scratch: &mut Scratch) -> Result<usize, OpError> {
        let montgomery = self.domain.p.montgomery().ok_or(OpError::BadInput("an even p"))?;
        let (g, y) = (Bignum::from_bytes(&self.domain.g)?, Bignum::from_bytes(self.public)?);
        let v = montgomery.power2_public((&g, &self.u1), (&y, &self.u2), scratch)?;
        self.compare(&v, scratch)
    }

    fn compare(&self, v: &Bignum, scratch: &mut Scratch) -> Result<usize, OpError> {
        let (_, v) = scratch.divide(v, self.domain.q.number())?;
        if v.compare(&self.r).is_eq() { Ok(0) } else { Err(OpError::AuthFailed) }
    }
}

fn check_side_by_side(
    Engine { cpu, kernel, bytes }: &mut Engine,
    claims: &[Claim<'_>],
    scratch: &mut Scratch,
    mut answer: impl FnMut(&Claim<'_>, Result<usize, OpError>),
) {
    /// u1 and u2, g^u1 and y^u2.
    struct Powers<'a> {
        exponents: [&'a mut [u8]; 2],
        out: [&'a mut [u8]; 2],
        results: [Result<usize, OpError>; 2],
    }

    let lens = claims.iter().map(|claim| 2 * (claim.domain.q_len() + claim.domain.p_len()));
    let mut memory = bytes.lend(lens.sum());
    let mut left = &mut memory[..];
    let prepare = |claim: &Claim<'_>| {
        let (q_len, k) = (claim.domain.q_len(), claim.domain.p_len());
        let exponents = [(); 2].map(|()| carve(&mut left, q_len));
        let out = [(); 2].map(|()| carve(&mut left, k));
        let results = [(&claim.u1, 0), (&claim.u2, 1)]
            .map(|(number, index)| number.to_bytes(exponents[index]).map(|()| 0));
        Powers { exponents, out, results }
    };
    let mut prepared: PerLane<Powers<'_>> = claims.iter().map(prepare).collect();
    let mut raised = Raised::new();
    for (claim, Powers { exponents, out, results }) in claims.iter().zip(&mut prepared) {
        let bases = [&claim.domain.g[..], claim.public];
        let outs = out.iter_mut().zip(results);
        for ((base, exponent), (out, result)) in bases.into_iter().zip(exponents).zip(outs) {
            if result.is_ok() {
                raised.push((Raise { modulus: &claim.domain.p, base, exponent, out }, result));
            }
        }
    }
    raise(cpu, kernel, &mut raised);
    drop(raised);
    for (claim, Powers { out, results, .. }) in claims.iter().zip(prepared) {
        let mut compared = || {
            results[0].and(results[1])?;
            let [a, b] = out.each_ref().map(|out| Bignum::from_bytes(out));
            let v = claim.domain.p.multiply(&a?, &b?, scratch)?;
            claim.compare(&v, scratch)
        };
        answer(claim, compared());
    }
}

/// Refuses what is no number y of k bytes with 1 < y < p - 1, for an odd p.
pub(crate) fn check_public_key(p: &Modulus, y: &[u8]) -> Result<(), OpError> {
    const RANGE: OpError = OpError::BadInput("a public key is above 1 and below p - 1");
    if !p.is_residue(y) {
        return Err(RANGE);
    }
    let ((y_last, y), (p_last, p)) =
        (y.split_last().ok_or(RANGE)?, p.bytes().split_last().ok_or(RANGE)?);
    let small = *y_last < 2 && y.iter().all(|&byte| byte == 0);
    if small || (y == p && *y_last == p_last ^ 1) { Err(RANGE) } else { Ok(()) }
}

/// Draws key pairs, each in its domain: `src` is empty, `dst` = private key (as long as q) || public
/// key (as long as p).
pub fn generate(engine: &mut Engine, items: &mut [Item<'_, &Domain>]) {
    let draw = |domain: &Domain, out: &mut [u8]| scalar::draw(domain.q.bytes(), out);
    key_pairs(engine, items, draw, |domain| (&domain.p, &domain.g, domain.q_len()));
}

/// Draws key pairs, `dst` = private key x || g^x mod p. `parts` are p, g and the length of x.
pub(crate) fn key_pairs<'k, G>(
    engine: &mut Engine,
    items: &mut [Item<'_, &'k G>],
    draw: impl Fn(&G, &mut [u8]) -> Result<(), OpError>,
    parts: impl Fn(&'k G) -> (&'k Modulus, &'k [u8], usize),
) {
    for items in items.chunks_mut(LANES) {
        let mut raised = Raised::new();
        for item in items.iter_mut() {
            let group = item.key;
            let (modulus, base, private_len) = parts(group);
            item.run(|src, dst| {
                let [] = cut(src, [])?;
                let len = private_len + modulus.len();
                draw(group, &mut room(dst, len)?[..private_len])?;
                Ok(len)
            });
            if let Ok(len) = item.result {
                let (exponent, out) = item.dst[..len].split_at_mut(private_len);
                raised.push((Raise { modulus, base, exponent, out }, &mut item.result));
            }
        }
        raise(&engine.cpu, &mut engine.kernel, &mut raised);
        drop(raised);
        // No private key without its public one.
        for item in items {
            if let Err(error) = item.result {
                item.fail(error);
            }
        }
    }
}

/// New domain parameters with what shows that they were drawn and not chosen.
#[derive(Clone, Debug)]
pub struct GeneratedDomain {
    /// p.
    pub p: Vec<u8>,
    /// q.
    pub q: Vec<u8>,
    /// g.
    pub g: Vec<u8>,
    /// `domain_parameter_seed` of FIPS 186-4.
    pub seed: Vec<u8>,
    /// `counter` of FIPS 186-4.
    pub counter: usize,
}

impl Domain {
    /// Draws p of `p_bits` and q of `q_bits` bits, one of the four pairs of FIPS 186-4, by its
    /// A.1.1.2, and g by its A.2.3 with index 1, with SHA-256. Takes a second or so for 2048 bits,
    /// very unevenly.
    pub fn generate(p_bits: usize, q_bits: usize) -> Result<GeneratedDomain, OpError> {
        if ![(1024, 160), (2048, 224), (2048, 256), (3072, 256)].contains(&(p_bits, q_bits)) {
            return Err(OpError::BadInput(
                "p and q of 1024/160, 2048/224, 2048/256 or 3072/256 bits",
            ));
        }
        let mut seed = vec![0; q_bits / 8];
        loop {
            random::fill(&mut seed)?;
            if let Some(domain) = from_seed(p_bits, q_bits, &seed)? {
                return Ok(domain);
            }
        }
    }
}

/// New domain parameters of so many bits of p and of q, by [`Domain::generate`]: `src` is not used,
/// `dst` = p || q || g.
pub fn parameters(items: &mut [Item<'_, (usize, usize)>]) {
    for item in items {
        let (p_bits, q_bits) = item.key;
        item.run(|_, dst| {
            // Before the work, not after it.
            let mut dst = room(dst, 2 * p_bits.div_ceil(8) + q_bits.div_ceil(8))?;
            let (made, len) = (Domain::generate(p_bits, q_bits)?, dst.len());
            for part in [&made.p, &made.q, &made.g] {
                carve(&mut dst, part.len()).copy_from_slice(part);
            }
            Ok(len)
        });
    }
}

/// A.1.1.2 and A.2.3 of FIPS 186-4 from a given seed; `None` if it leads to no primes.
fn from_seed(
    p_bits: usize,
    q_bits: usize,
    seed: &[u8],
) -> Result<Option<GeneratedDomain>, OpError> {
    let mut scratch = Scratch::new()?;
    // Steps 6 and 7: q = 2^(N-1) + (U mod 2^(N-1)), made odd, for U = Hash(seed).
    let mut q = digest(Hash::Sha256, &[seed])?[32 - q_bits / 8..].to_vec();
    q[0] |= 0x80;
    q[q_bits / 8 - 1] |= 1;
    let q_number = Bignum::from_bytes(&q)?;
    if !scratch.is_prime(&q_number)? {
        return Ok(None);
    }
    let double = scratch.multiply(&q_number, &Bignum::from_word(2)?)?;
    // Step 11: W = the hashes of seed + 1, seed + 2, ..., the first one lowest, and its lowest L - 1
    // bits. X = W + 2^(L-1), p = X - (X mod 2 q - 1).
    let mut hashed = seed.to_vec();
    for counter in 0..4 * p_bits {
        let mut x = vec![0; p_bits / 8];
        for chunk in x.rchunks_mut(32) {
            increment(&mut hashed);
            let hash = digest(Hash::Sha256, &[&hashed])?;
            chunk.copy_from_slice(&hash[32 - chunk.len()..]);
        }
        x[0] |= 0x80;
        let x_number = Bignum::from_bytes(&x)?;
        let surplus = scratch.divide(&x_number, &double)?.1;
        let p = x_number.add_word(1)?.distance(&surplus)?;
        if p.bits() != p_bits || !scratch.is_prime(&p)? {
            continue;
        }
        x.fill(0);
        p.to_bytes(&mut x)?;
        let g = generator(&p, &q_number, seed, &mut scratch)?;
        let mut g_bytes = vec![0; p_bits / 8];
        g.to_bytes(&mut g_bytes)?;
        return Ok(Some(GeneratedDomain { p: x, q, g: g_bytes, seed: seed.to_vec(), counter }));
    }
    Ok(None)
}

/// A.2.3 of FIPS 186-4 with index 1: W^((p-1)/q) mod p for W = Hash(seed || "ggen" || index ||
/// count), the first that is not 0 or 1.
fn generator(
    p: &Bignum,
    q: &Bignum,
    seed: &[u8],
    scratch: &mut Scratch,
) -> Result<Bignum, OpError> {
    let exponent = scratch.divide(&p.duplicate()?.sub_word(1)?, q)?.0;
    for count in 1u16.. {
        let w = digest(Hash::Sha256, &[seed, b"ggen", &[1], &count.to_be_bytes()])?;
        let g = scratch.power_mod(&Bignum::from_bytes(&w)?, &exponent, p)?;
        if !g.is_zero() && !g.is_one() {
            return Ok(g);
        }
    }
    Err(OpError::BadInput("no generator"))
}

/// + 1, modulo 2^(8 length).
fn increment(number: &mut [u8]) {
    for byte in number.iter_mut().rev() {
        *byte = byte.wrapping_add(1);
        if *byte != 0 {
            return;
        }
    }
}
