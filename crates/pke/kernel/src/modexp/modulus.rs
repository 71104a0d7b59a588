//! A modulus and what Montgomery multiplication needs to know of it.

use zeroize::Zeroize;

use super::digit::{BITS, MASK, digits_from_bytes, strip_zeros};
use crate::lanes::hide;

/// Numbers of digits that have a kernel. A modulus goes to the first that holds it.
pub(super) const CLASSES: [usize; 7] = [10, 15, 20, 30, 40, 60, 80];

/// Bits of a class that stay free: see `montgomery`.
pub(super) const SLACK: usize = 4;

/// The longest modulus, in bits.
const MAX_BITS: usize = 4096;

/// An odd modulus of up to 4096 bits, with its Montgomery constants.
///
/// Preparing one costs about as much as a few multiplications modulo it, in constant time but for
/// its bit length; keep it where the modulus is used again. Its content is erased on drop, as it
/// may be a secret prime.
pub struct Modulus {
    bits: usize,
    /// R = 2^(52 * class).
    class: usize,
    pub(super) n: Vec<u64>,
    /// -1/n mod 2^52.
    pub(super) k0: u64,
    /// (n * k0 + 1) / 2^52, which is 2^-52 mod n: see `montgomery`.
    pub(super) folded: Vec<u64>,
    /// R mod n: one, in Montgomery's form.
    pub(super) r: Vec<u64>,
    /// R^2 mod n: multiplied by it, a number gets into Montgomery's form.
    pub(super) r2: Vec<u64>,
}

impl Modulus {
    /// Prepares the modulus `n`, big-endian; leading zeros are skipped. `None` when it is even,
    /// below 3 or over 4096 bits.
    pub fn new(n: &[u8]) -> Option<Modulus> {
        let n = strip_zeros(n);
        let bits = n.len() * 8 - n.first()?.leading_zeros() as usize;
        let class = CLASSES.into_iter().find(|digits| bits + SLACK <= digits * BITS)?;
        if bits > MAX_BITS {
            return None;
        }
        Modulus::of_class(n, bits, class)
    }

    /// Prepares `n`, whose bit length is `bits`, for the kernel of `class` digits.
    pub(super) fn of_class(n: &[u8], bits: usize, class: usize) -> Option<Modulus> {
        if bits < 2 || n.last()? & 1 == 0 {
            return None;
        }
        let mut digits = vec![0; class];
        digits_from_bytes(n, &mut digits);
        let k0 = negated_inverse(digits[0]);

        // From 2^(bits - 1), which is below n as n has that bit and is odd, R is so many doublings
        // away.
        let mut r = vec![0; class];
        r[(bits - 1) / BITS] = 1 << ((bits - 1) % BITS);
        for _ in 0..class * BITS - (bits - 1) {
            double(&mut r, &digits);
        }
        let folded = fold(&digits, k0);
        let mut modulus = Modulus { bits, class, n: digits, k0, folded, r, r2: Vec::new() };

        // x = 2^k R, squared as Montgomery squares, is 2^2k R: to 2^(52 class) R = R^2.
        let (mut doublings, mut squarings) = (class * BITS, 0);
        while doublings > 300 && doublings.is_multiple_of(2) {
            doublings /= 2;
            squarings += 1;
        }
        let mut r2 = modulus.r.clone();
        for _ in 0..doublings {
            double(&mut r2, &modulus.n);
        }
        for _ in 0..squarings {
            let square = modulus.montgomery(&r2, &r2);
            r2.zeroize();
            r2 = square;
        }
        modulus.r2 = r2;
        Some(modulus)
    }

    /// Its length in bits.
    pub fn bits(&self) -> usize {
        self.bits
    }

    /// Its length in bytes, which is the length of results.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.bits.div_ceil(8)
    }

    /// How many digits of 52 bits the kernel for it works with. A batch is of one such class.
    pub fn digits(&self) -> usize {
        self.class
    }

    /// a * b / R mod n, below n, for a * b < R * n. One number, plain: for preparing constants. (No sum overflows; a check
    /// for it would branch.)
    pub(super) fn montgomery(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let mut sum = vec![0u64; self.class];
        let mut top = 0u64;
        for a_digit in a {
            let (mut carry, mut reduced) = (0u64, 0u64);
            let q =
                sum[0].wrapping_add(a_digit.wrapping_mul(b[0]) & MASK).wrapping_mul(self.k0) & MASK;
            for j in 0..self.class {
                let t = u128::from(*a_digit) * u128::from(b[j])
                    + u128::from(sum[j].wrapping_add(carry));
                carry = (t >> BITS) as u64;
                let t = u128::from(q) * u128::from(self.n[j]) + (t & u128::from(MASK));
                let t = t + u128::from(reduced);
                reduced = (t >> BITS) as u64;
                // The lowest digit is 0 by the choice of q and falls out.
                if j > 0 {
                    sum[j - 1] = t as u64 & MASK;
                }
            }
            let t = top.wrapping_add(carry).wrapping_add(reduced);
            sum[self.class - 1] = t & MASK;
            top = t >> BITS;
        }
        subtract_once(&mut sum, top, &self.n);
        sum
    }
}

impl Drop for Modulus {
    fn drop(&mut self) {
        self.n.zeroize();
        self.k0.zeroize();
        self.folded.zeroize();
        self.r.zeroize();
        self.r2.zeroize();
    }
}

/// -1/n mod 2^52. Newton: each step doubles the number of right bits, and n is its own inverse
/// modulo 8.
fn negated_inverse(n: u64) -> u64 {
    let inverse = (0..5).fold(n, |x, _| x.wrapping_mul(2u64.wrapping_sub(n.wrapping_mul(x))));
    inverse.wrapping_neg() & MASK
}

/// (n * k0 + 1) / 2^52: n k0 = -1 modulo 2^52, so that the lowest digit of the sum is 0.
fn fold(n: &[u64], k0: u64) -> Vec<u64> {
    let mut folded = vec![0; n.len()];
    let mut carry = 1u64;
    for (i, n) in n.iter().enumerate() {
        let t = u128::from(*n) * u128::from(k0) + u128::from(carry);
        if i > 0 {
            folded[i - 1] = t as u64 & MASK;
        }
        carry = (t >> BITS) as u64;
    }
    folded[n.len() - 1] = carry;
    folded
}

/// x = 2x mod n, for x < n.
fn double(x: &mut [u64], n: &[u64]) {
    let mut carry = 0;
    for digit in &mut *x {
        let t = (*digit << 1) | carry;
        *digit = t & MASK;
        carry = t >> BITS;
    }
    subtract_once(x, carry, n);
}

/// x = x - n where top * R + x >= n. The result is below n when it was below 2n.
fn subtract_once(x: &mut [u64], top: u64, n: &[u64]) {
    let borrow = x.iter().zip(n).fold(0, |borrow, (x, n)| {
        let t = x.wrapping_sub(*n).wrapping_sub(borrow);
        t >> 63
    });
    // Less than n: nothing above, and the subtraction borrows.
    let keep = hide((borrow & (1 ^ top)).wrapping_neg());
    let mut borrow = 0;
    for (x, n) in x.iter_mut().zip(n) {
        let t = x.wrapping_sub(n & !keep).wrapping_sub(borrow);
        *x = t & MASK;
        borrow = t >> 63;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_kernel_is_refused() {
        assert!(Modulus::new(&[]).is_none());
        assert!(Modulus::new(&[0, 0]).is_none());
        assert!(Modulus::new(&[1]).is_none());
        assert!(Modulus::new(&[4]).is_none());
        assert!(Modulus::new(&[3]).is_some());
        assert!(Modulus::new(&[0xff; 512]).is_some());
        assert!(Modulus::new(&[0xff; 513]).is_none());
        let mut padded = vec![0; 600];
        padded.extend([0xff; 512]);
        assert_eq!(Modulus::new(&padded).unwrap().bits(), 4096);
    }

    #[test]
    fn moduli_go_to_their_classes() {
        for (bits, digits) in
            [(512, 10), (768, 15), (1024, 20), (1536, 30), (2048, 40), (3072, 60), (4096, 80)]
        {
            let modulus = Modulus::new(&vec![0xff; bits / 8]).unwrap();
            assert_eq!((modulus.bits(), modulus.digits(), modulus.len()), (bits, digits, bits / 8));
        }
    }

    #[test]
    fn constants_of_a_small_modulus() {
        // R = 2^520, n = 10^9 + 7; R and R^2 by plain integers.
        let n = 1_000_000_007u64;
        let modulus = Modulus::new(&n.to_be_bytes()).unwrap();
        assert_eq!(modulus.digits(), 10);
        let r = (0..520).fold(1, |x, _| x * 2 % n);
        assert_eq!(modulus.r[0], r);
        assert_eq!(modulus.r2[0], r * r % n);
        assert_eq!(modulus.k0.wrapping_mul(n) & MASK, MASK);
        assert!(modulus.r[1..].iter().chain(&modulus.r2[1..]).all(|digit| *digit == 0));
    }
}
