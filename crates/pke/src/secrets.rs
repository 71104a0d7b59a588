//! What `scripts/secrets` watches under valgrind, past the checks of ranges whose outcome is public.

use crate::library::bignum::{Bignum, Scratch};
use crate::modular::Modulus;

/// As nonces are inverted: a^(n - 2) mod n, into all of `out`.
///
/// # Panics
/// Where there is no memory, or n is even.
pub fn inverse(n: &[u8], a: &[u8], out: &mut [u8]) {
    let (n, a, mut scratch) = operands(n, a);
    n.inverse_prime(&a, &mut scratch).and_then(|inverse| inverse.to_bytes(out)).expect("memory");
}

/// As they must not be: a^-1 mod n by the Euclidean algorithm.
///
/// # Panics
/// As [`inverse`].
pub fn inverse_leaky(n: &[u8], a: &[u8], out: &mut [u8]) {
    let (n, a, mut scratch) = operands(n, a);
    let inverse = scratch.inverse_mod(&a, n.number()).expect("memory");
    // Where there is none, the number itself will do here.
    inverse.unwrap_or(a).to_bytes(out).expect("memory");
}

fn operands(n: &[u8], a: &[u8]) -> (Modulus, Bignum, Scratch) {
    let n = Modulus::new(n).expect("a modulus");
    (n, Bignum::from_bytes(a).expect("memory"), Scratch::new().expect("memory"))
}
