//! Blinding of private operations that run side by side: x^d = (x r^e)^d r^-1 mod n for a random r.
//!
//! What the kernel computes with is then unknown to whoever chose x. Its time and addresses depend on
//! no secret with or without this; blinding is for what is not of the program's making: power, faults,
//! an error in the kernel. AWS-LC, which does operations one at a time, blinds by itself.

use std::sync::{Mutex, TryLockError};

use crate::OpError;
use crate::library::bignum::{Bignum, Scratch};
use crate::modular::Modulus;

/// How many operations one random number serves; in between it is squared (Kocher 1996, section 10).
const USES: u32 = 32;

/// The blinding of one key.
pub(super) struct Blinding {
    n: Modulus,
    e: Bignum,
    next: Mutex<Option<Pair>>,
}

/// r^e and r^-1 mod n.
struct Pair {
    factor: Bignum,
    inverse: Bignum,
    uses: u32,
}

/// What takes the blinding of one block away.
pub(super) struct Unblind(Bignum);

impl Blinding {
    pub(super) fn new(n: &[u8], e: &[u8]) -> Result<Blinding, OpError> {
        Ok(Blinding { n: Modulus::new(n)?, e: Bignum::from_bytes(e)?, next: Mutex::default() })
    }

    /// Blinds a block, which is below n.
    pub(super) fn blind(&self, block: &mut [u8]) -> Result<Unblind, OpError> {
        let mut scratch = Scratch::new()?;
        let (factor, inverse) = self.take(&mut scratch)?;
        self.n.multiply(&self.n.residue(block)?, &factor, &mut scratch)?.to_bytes(block)?;
        Ok(Unblind(inverse))
    }

    /// Takes the blinding off the result.
    pub(super) fn unblind(
        &self,
        block: &mut [u8],
        Unblind(inverse): Unblind,
    ) -> Result<(), OpError> {
        let blinded = self.n.residue(block)?;
        self.n.multiply(&blinded, &inverse, &mut Scratch::new()?)?.to_bytes(block)
    }

    /// A pair that no other operation gets.
    fn take(&self, scratch: &mut Scratch) -> Result<(Bignum, Bignum), OpError> {
        let mut next = match self.next.try_lock() {
            Ok(next) => next,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Another thread has it, or had it when the process forked and does not exist in the child.
            Err(TryLockError::WouldBlock) => {
                let Pair { factor, inverse, .. } = self.draw(scratch)?;
                return Ok((factor, inverse));
            }
        };
        let pair = match next.take().filter(|pair| pair.uses < USES) {
            Some(pair) => pair,
            None => self.draw(scratch)?,
        };
        let squared = Pair {
            factor: self.n.multiply(&pair.factor, &pair.factor, scratch)?,
            inverse: self.n.multiply(&pair.inverse, &pair.inverse, scratch)?,
            uses: pair.uses + 1,
        };
        *next = Some(squared);
        Ok((pair.factor, pair.inverse))
    }

    fn draw(&self, scratch: &mut Scratch) -> Result<Pair, OpError> {
        let r = scratch.random_below(self.n.number())?;
        // Numbers without inverse have a factor of n in common with it: nobody will draw one.
        let inverse = self.n.inverse(&r, scratch)?;
        let factor = self.n.power(&r, &self.e, scratch)?;
        Ok(Pair { factor, inverse, uses: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_another_one_each_time_and_comes_back() {
        // n = p q for the primes 2^31 - 1 and 2^61 - 1; e = 17, d = 17^-1 mod (p - 1)(q - 1).
        let (p, q) = ((1u128 << 31) - 1, (1u128 << 61) - 1);
        let (n, order) = (p * q, (p - 1) * (q - 1));
        let d = (1..17).map(|k| k * order + 1).find(|m| m % 17 == 0).unwrap() / 17;
        let bytes = |x: u128| x.to_be_bytes()[4..].to_vec();
        let n_bytes = bytes(n);
        let blinding = Blinding::new(&n_bytes, &[17]).unwrap();
        let scratch = &mut Scratch::new().unwrap();
        let modulus = Modulus::new(&n_bytes).unwrap();
        let raise = |x: &[u8], scratch: &mut Scratch| {
            let mut out = vec![0; x.len()];
            let d = Bignum::from_bytes(&bytes(d)).unwrap();
            let power = modulus.power(&modulus.residue(x).unwrap(), &d, scratch).unwrap();
            power.to_bytes(&mut out).unwrap();
            out
        };
        let block = bytes(0x1234_5678_9abc_def0);
        let expect = raise(&block, scratch);
        let mut seen = std::collections::HashSet::new();
        for _ in 0..3 * USES {
            let mut blinded = block.clone();
            let unblind = blinding.blind(&mut blinded).unwrap();
            assert!(seen.insert(blinded.clone()));
            let mut result = raise(&blinded, scratch);
            blinding.unblind(&mut result, unblind).unwrap();
            assert_eq!(result, expect);
        }
        assert!(blinding.blind(&mut n_bytes.clone()).is_err(), "n is not below n");
    }
}
