//! Arithmetic modulo n: exponentiation, inversion, and the primitives of GF(p).
//!
//! With an odd modulus everything takes a time that depends on lengths only, save that an operand
//! at or above n is seen to be so. An even modulus has no Montgomery form: there the time depends
//! on the operands, and a secret does not belong in it.

use std::fmt;
use std::sync::OnceLock;

use arrayvec::ArrayVec;
use lookaside_simd::{Avx512, Cpu};
use zeroize::Zeroizing;

use crate::batch::{LANES, MOST, PerLane, cut, pays, room, side_by_side, stripped};
use crate::ec::scalar::is_below;
use crate::library::bignum::{Bignum, Montgomery, Scratch};
use crate::{Arithmetic, Engine, Item, OpError};
use lookaside_pke_kernel::modexp::{self, Power};

/// The longest modulus, in bits.
pub const MAX_BITS: usize = 8192;

/// A modulus with what is computed from it once.
pub struct Modulus {
    n: Bignum,
    /// n, big-endian, without leading zeros.
    bytes: Zeroizing<Box<[u8]>>,
    /// Unless n is even or 1.
    montgomery: Option<Montgomery>,
    bits: usize,
    /// The same for the kernel, when it is first wanted; `None` where the kernel does not serve it.
    kernel: OnceLock<Option<modexp::Modulus>>,
}

impl fmt::Debug for Modulus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may be a secret prime.
        write!(f, "Modulus({} bits)", self.bits)
    }
}

impl Modulus {
    /// Odd or even, from 1 to 2^[`MAX_BITS`] - 1; leading zeros are dropped.
    pub fn new(n: &[u8]) -> Result<Modulus, OpError> {
        let n = stripped(n);
        if n.is_empty() {
            return Err(OpError::BadInput("modulus 0"));
        }
        if n.len() > MAX_BITS / 8 {
            return Err(OpError::BadInput("a modulus of more than 8192 bits"));
        }
        let number = Bignum::from_bytes(n)?;
        let montgomery = if number.is_odd() && !number.is_one() {
            Some(Montgomery::new(number.duplicate()?, &mut Scratch::new()?)?)
        } else {
            None
        };
        Ok(Modulus {
            bits: number.bits(),
            n: number,
            bytes: Zeroizing::new(n.into()),
            montgomery,
            kernel: OnceLock::new(),
        })
    }

    /// Bits of n.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Bytes of n: the length k of every residue in `src` and `dst`.
    #[allow(clippy::len_without_is_empty)] // No modulus is empty.
    pub fn len(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// Whether exponentiations modulo it on this CPU run side by side, so that up to eight items are
    /// worth collecting.
    pub fn has_kernel(&self, cpu: &Cpu) -> bool {
        cpu.avx512().is_some()
            && self
                .kernel()
                .is_some_and(|kernel| pays(LANES, POWER_COST, self.bits, kernel.digits()))
    }

    pub(crate) fn number(&self) -> &Bignum {
        &self.n
    }

    /// n, big-endian, k bytes.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn montgomery(&self) -> Option<&Montgomery> {
        self.montgomery.as_ref()
    }

    fn kernel(&self) -> Option<&modexp::Modulus> {
        self.kernel.get_or_init(|| modexp::Modulus::new(&self.bytes)).as_ref()
    }

    /// Whether `bytes` are a residue: k bytes, below n.
    pub(crate) fn is_residue(&self, bytes: &[u8]) -> bool {
        bytes.len() == self.len() && is_below(bytes, &self.bytes)
    }

    /// A residue of k bytes that has to be below n.
    pub(crate) fn residue(&self, bytes: &[u8]) -> Result<Bignum, OpError> {
        if !self.is_residue(bytes) {
            return Err(OpError::BadInput("an operand is not below the modulus, or not as long"));
        }
        Bignum::from_bytes(bytes)
    }

    /// A number of any length, mod n.
    pub(crate) fn reduce(&self, bytes: &[u8], scratch: &mut Scratch) -> Result<Bignum, OpError> {
        let Some(montgomery) = &self.montgomery else {
            return Ok(scratch.divide(&Bignum::from_bytes(bytes)?, &self.n)?.1);
        };
        // In chunks of w words, w being the words of n, and R = 2^(64 w): Horner's rule takes a
        // product with R per chunk, which is what entering Montgomery form is. A chunk itself is
        // below R <= n R, so that leaving reduces it, and entering undoes the division by R.
        let chunk_len = self.len().div_ceil(8) * 8;
        let mut sum = Bignum::from_bytes(&[0; MAX_BITS / 8][..chunk_len])?;
        let first = bytes.len() % chunk_len;
        let chunks = bytes[..first].chunks(chunk_len).chain(bytes[first..].chunks(chunk_len));
        for chunk in chunks {
            let chunk = montgomery.leave(&Bignum::from_bytes(chunk)?, scratch)?;
            let chunk = montgomery.enter(&chunk, scratch)?;
            let higher = montgomery.enter(&sum, scratch)?;
            sum = scratch.add_mod(&higher, &chunk, &self.n)?;
        }
        Ok(sum)
    }

    /// a b mod n.
    pub(crate) fn multiply(
        &self,
        a: &Bignum,
        b: &Bignum,
        scratch: &mut Scratch,
    ) -> Result<Bignum, OpError> {
        match &self.montgomery {
            Some(montgomery) => montgomery.multiply(&montgomery.enter(a, scratch)?, b, scratch),
            None => scratch.multiply_mod(a, b, &self.n),
        }
    }

    /// a^e mod n in constant time where n is odd.
    pub(crate) fn power(
        &self,
        a: &Bignum,
        e: &Bignum,
        scratch: &mut Scratch,
    ) -> Result<Bignum, OpError> {
        match &self.montgomery {
            Some(montgomery) => montgomery.power(a, e, scratch),
            None if self.n.is_one() => Bignum::new(),
            None => scratch.power_mod(a, e, &self.n),
        }
    }

    /// a^-1 mod n for an odd prime n, as a^(n - 2) (Fermat). Of 0 it makes 0; modulo a composite,
    /// something else than the inverse.
    ///
    /// Constant time: the exponent is public, and what is multiplied when follows from it alone.
    /// (AWS-LC's exponentiation would hide the exponent too, and ask whether a is below n.)
    pub(crate) fn inverse_prime(
        &self,
        a: &Bignum,
        scratch: &mut Scratch,
    ) -> Result<Bignum, OpError> {
        const WINDOW: usize = 4;
        let montgomery = self.montgomery.as_ref().ok_or(OpError::BadInput("an even modulus"))?;
        let mut exponent = [0; MAX_BITS / 8];
        let exponent = &mut exponent[..self.len()];
        exponent.copy_from_slice(&self.bytes);
        let mut borrow = 2;
        for byte in exponent.iter_mut().rev() {
            let (difference, under) = byte.overflowing_sub(borrow);
            (*byte, borrow) = (difference, under.into());
        }
        // powers[i] = a^(i + 1), in Montgomery form.
        let mut powers = ArrayVec::<Bignum, { (1 << WINDOW) - 1 }>::new();
        powers.push(montgomery.enter(a, scratch)?);
        for i in 0..(1 << WINDOW) - 2 {
            powers.push(montgomery.multiply(&powers[i], &powers[0], scratch)?);
        }
        // The product so far, and memory for the next one.
        let (mut product, mut next): (Option<Bignum>, _) = (None, Bignum::new()?);
        for digit in exponent.iter().flat_map(|byte| [byte >> WINDOW, byte & 0xf]) {
            let power = usize::from(digit).checked_sub(1).map(|i| &powers[i]);
            let Some(so_far) = &mut product else {
                product = power.map(Bignum::duplicate).transpose()?;
                continue;
            };
            for _ in 0..WINDOW {
                montgomery.multiply_into(so_far, so_far, &mut next, scratch)?;
                std::mem::swap(so_far, &mut next);
            }
            if let Some(power) = power {
                montgomery.multiply_into(so_far, power, &mut next, scratch)?;
                std::mem::swap(so_far, &mut next);
            }
        }
        // Out of Montgomery form by a product with 1: AWS-LC's own way there asserts things of secrets.
        exponent.fill(0);
        exponent[self.len() - 1] = 1;
        let one = Bignum::from_bytes(exponent)?;
        // n is 3 at least, and the exponent 1.
        montgomery.multiply(&product.ok_or(NO_INVERSE)?, &one, scratch)
    }

    /// a^-1 mod any n. The inversion proper takes a variable time: it runs on a r for a random r, so its
    /// time tells nothing of a but whether there is an inverse. [`Modulus::inverse_prime`] is for nonces
    /// and keys.
    pub(crate) fn inverse(&self, a: &Bignum, scratch: &mut Scratch) -> Result<Bignum, OpError> {
        if self.n.is_one() {
            return Err(NO_INVERSE);
        }
        loop {
            let r = scratch.random_below(&self.n)?;
            let blinded = self.multiply(a, &r, scratch)?;
            if let Some(inverse) = scratch.inverse_mod(&blinded, &self.n)? {
                return self.multiply(&inverse, &r, scratch);
            }
            // Was it a, or r? An r without inverse is drawn again, which happens a few times where
            // n has small factors: at least one residue in 6 ln ln n has an inverse.
            if scratch.inverse_mod(&r, &self.n)?.is_some() {
                return Err(NO_INVERSE);
            }
        }
    }
}

const NO_INVERSE: OpError = OpError::BadInput("no inverse");

/// Modular exponentiation, each modulo its number, with so many bytes at the end of `src` as the
/// exponent. Its length is public, its value not.
///
/// `src` = base (any length up to 2 k; at or above n it is reduced) || exponent; `dst` =
/// base^exponent mod n (k bytes). 0^0 is 1.
pub fn power(engine: &mut Engine, items: &mut [Item<'_, (&Modulus, usize)>]) {
    for items in items.chunks_mut(LANES) {
        let mut raised = Raised::new();
        for item in items {
            let (modulus, exponent_len) = item.key;
            let base_len = item.src.len().wrapping_sub(exponent_len);
            item.result = if base_len > 2 * modulus.len() {
                Err(OpError::BadInput("a base of more than twice the length of the modulus"))
            } else if item.dst.len() < modulus.len() {
                Err(OpError::DstTooSmall)
            } else {
                Ok(modulus.len())
            };
            if let Ok(len) = item.result {
                let (base, exponent) = item.src.split_at(base_len);
                let out = &mut item.dst[..len];
                raised.push((Raise { modulus, base, exponent, out }, &mut item.result));
            }
        }
        raise(&engine.cpu, &mut engine.kernel, &mut raised);
    }
}

/// base^exponent mod n, to be written to all of `out` (k bytes). What all exponentiations of this
/// crate come to, save those of RSA keys.
pub(crate) struct Raise<'a> {
    pub modulus: &'a Modulus,
    pub base: &'a [u8],
    pub exponent: &'a [u8],
    pub out: &'a mut [u8],
}

/// The exponentiations of one part of a batch, each with the place for its error.
pub(crate) type Raised<'a> = ArrayVec<(Raise<'a>, &'a mut Result<usize, OpError>), MOST>;

/// What eight exponentiations by the kernel cost, in hundredths of one by AWS-LC; measured from
/// 1024 to 4096 bits, where it is between 113 and 128 (Sapphire Rapids, 2026-11; `--bench
/// integers`).
const POWER_COST: usize = 135;

/// Answers each exponentiation in the result beside it, if it fails, and clears its `out`.
pub(crate) fn raise(cpu: &Cpu, memory: &mut modexp::Memory, items: &mut Raised<'_>) {
    let mut scratch = None;
    let mut single = |item: &mut Raise<'_>, result: &mut Result<usize, OpError>| {
        // Where all go to the kernel, nobody needs it.
        let scratch = scratch.get_or_insert_with(Scratch::new).as_mut();
        let done = scratch.map_err(|error| *error).and_then(|s| raise_one(item, s));
        if let Err(error) = done {
            item.out.fill(0);
            *result = Err(error);
        }
    };
    let Some(token) = cpu.avx512().filter(|_| items.len() > 1) else {
        return items.iter_mut().for_each(|(item, result)| single(item, result));
    };
    side_by_side(
        items.iter_mut(),
        |(item, _)| {
            // The kernel takes as long as the longest exponent of its lanes wants, and no base at
            // or above the modulus.
            let modulus = item.modulus;
            let below = item.base.len() < modulus.len() || modulus.is_residue(item.base);
            let digits = modulus.kernel().filter(|_| below)?.digits();
            Some((digits, item.exponent.len()))
        },
        |lanes, (item, _)| {
            let digits = item.modulus.kernel().map_or(0, modexp::Modulus::digits);
            pays(lanes, POWER_COST, item.modulus.bits, digits)
        },
        |lanes| {
            let mut powers: PerLane<Power<'_>> = PerLane::new();
            let mut results = PerLane::new();
            for (item, result) in lanes {
                let Raise { modulus, base, exponent, out } = item;
                let Some(modulus) = modulus.kernel() else { continue };
                powers.push(Power { modulus, base, exponent, out, ok: false });
                results.push(result);
            }
            powers_of(token, memory, &mut powers);
            for (power, result) in powers.iter().zip(results) {
                if !power.ok {
                    **result = Err(OpError::Library("the exponentiation kernel"));
                }
            }
        },
        |(item, result)| single(item, result),
    );
}

fn powers_of(token: Avx512, memory: &mut modexp::Memory, powers: &mut [Power<'_>]) {
    #[cfg(target_arch = "x86_64")]
    modexp::power_avx512(token, memory, powers);
    // Nothing else has the token.
    #[cfg(not(target_arch = "x86_64"))]
    (|_: Avx512| modexp::power_portable(memory, powers))(token);
}

fn raise_one(item: &mut Raise<'_>, scratch: &mut Scratch) -> Result<(), OpError> {
    let base = match item.modulus.residue(item.base) {
        Ok(base) => base,
        Err(_) => item.modulus.reduce(item.base, scratch)?,
    };
    let exponent = Bignum::from_bytes(item.exponent)?;
    item.modulus.power(&base, &exponent, scratch)?.to_bytes(item.out)
}

/// Arithmetic modulo n, each item modulo its number; over GF(p) where n is prime. Layout: see
/// [`Arithmetic`]; residues have k bytes and are below n. [`OpError::BadInput`] for a residue without
/// the inverse that is asked for.
pub fn arithmetic(engine: &mut Engine, items: &mut [Item<'_, (&Modulus, Arithmetic)>]) {
    for items in items.chunks_mut(LANES) {
        // Powers have a kernel; the other steps are hardly worth a call.
        let mut powers: PerLane<Item<'_, (&Modulus, usize)>> = PerLane::new();
        let mut results = PerLane::new();
        let mut scratch = None;
        for Item { key: (modulus, step), src, dst, result } in items {
            let mut item = Item::new(src, dst);
            if *step != Arithmetic::Power {
                item.run(|src, dst| {
                    let dst = room(dst, modulus.len())?;
                    let scratch = scratch.get_or_insert_with(Scratch::new).as_mut();
                    compute(modulus, *step, src, scratch.map_err(|e| *e)?)?.to_bytes(dst)?;
                    Ok(dst.len())
                });
                *result = item.result;
            } else if let Some(exponent_len) = src.len().checked_sub(modulus.len()) {
                powers.push(item.with((modulus, exponent_len)));
                results.push(result);
            } else {
                item.fail(OpError::BadInput("too short"));
                *result = item.result;
            }
        }
        power(engine, &mut powers);
        for (result, power) in results.into_iter().zip(powers) {
            *result = power.result;
        }
    }
}

fn compute(
    modulus: &Modulus,
    operation: Arithmetic,
    src: &[u8],
    scratch: &mut Scratch,
) -> Result<Bignum, OpError> {
    let k = modulus.len();
    let two = |src| {
        let [a, b] = cut(src, [k, k])?;
        Ok((modulus.residue(a)?, modulus.residue(b)?))
    };
    match operation {
        Arithmetic::Add => {
            let (a, b) = two(src)?;
            scratch.add_mod(&a, &b, &modulus.n)
        }
        Arithmetic::Subtract => {
            let (a, b) = two(src)?;
            scratch.sub_mod(&a, &b, &modulus.n)
        }
        Arithmetic::Multiply => {
            let (a, b) = two(src)?;
            modulus.multiply(&a, &b, scratch)
        }
        Arithmetic::Square => {
            let a = modulus.residue(src)?;
            modulus.multiply(&a, &a, scratch)
        }
        Arithmetic::Reduce if src.len() > 2 * k => Err(OpError::BadInput("too long")),
        Arithmetic::Reduce => modulus.reduce(src, scratch),
        Arithmetic::Invert => modulus.inverse(&modulus.residue(src)?, scratch),
        // Not a step of its own: `arithmetic` has [`power`] do it.
        Arithmetic::Power => Err(OpError::Unsupported),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_modulo_primes_are_the_inverses() {
        let scratch = &mut Scratch::new().unwrap();
        // 3, 2^31 - 1, 2^521 - 1.
        let mersenne = [&[1][..], &[0xff; 65]].concat();
        for n in [&[3][..], &[0x7f, 0xff, 0xff, 0xff], &mersenne] {
            let n = Modulus::new(n).unwrap();
            for _ in 0..5 {
                let a = scratch.random_below(n.number()).unwrap();
                let inverse = n.inverse_prime(&a, scratch).unwrap();
                assert!(n.multiply(&a, &inverse, scratch).unwrap().is_one());
                assert!(inverse.compare(&n.inverse(&a, scratch).unwrap()).is_eq());
            }
        }
    }

    #[test]
    fn residues_are_below_the_modulus() {
        let n = Modulus::new(&[0x12, 0x34, 0x57]).unwrap();
        for (bytes, good) in
            [([0x12, 0x34, 0x56], true), ([0x12, 0x34, 0x57], false), ([0x13, 0, 0], false)]
        {
            assert_eq!(n.residue(&bytes).is_ok(), good, "{bytes:x?}");
        }
        assert!(n.residue(&[0; 3]).unwrap().is_zero() && n.residue(&[0; 4]).is_err());
    }
}
