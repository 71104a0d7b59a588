//! AWS-LC's big integers: fixed-width where they hold secrets, cleared when freed.
//!
//! AWS-LC keeps a number at the width it was read with, leading zeros and all, and its Montgomery
//! arithmetic takes as long as the width says. So a secret is read from a fixed number of bytes
//! and goes through [`Montgomery`] only; the functions marked *variable time* are for public
//! numbers, or for secrets that are blinded or used once.

use std::cmp::Ordering;
use std::fmt;
use std::ptr::{self, NonNull};

use aws_lc_sys as aws;

use crate::OpError;

/// The only reason for which these functions fail on operands that were checked.
const MEMORY: OpError = OpError::Library("memory for a big integer");

/// `Ok` when an AWS-LC function returned 1. Its queue of error texts is emptied: nobody reads it.
pub(super) fn done(returned: i32, error: OpError) -> Result<(), OpError> {
    if returned == 1 {
        return Ok(());
    }
    // SAFETY: takes nothing.
    unsafe { aws::ERR_clear_error() };
    Err(error)
}

/// A non-negative integer.
pub(crate) struct Bignum(NonNull<aws::BIGNUM>);

// SAFETY: a BIGNUM is plain memory without ties to a thread; `&Bignum` only reads it.
unsafe impl Send for Bignum {}
// SAFETY: as above.
unsafe impl Sync for Bignum {}

impl fmt::Debug for Bignum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // It may be a secret.
        f.write_str("Bignum")
    }
}

impl Drop for Bignum {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once.
        unsafe { aws::BN_clear_free(self.0.as_ptr()) };
    }
}

impl Bignum {
    /// 0.
    pub(crate) fn new() -> Result<Bignum, OpError> {
        // SAFETY: takes nothing.
        NonNull::new(unsafe { aws::BN_new() }).map(Bignum).ok_or(MEMORY)
    }

    /// The big-endian number in `bytes`, as wide as they are.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Bignum, OpError> {
        // SAFETY: `bytes` is readable for its length; null asks for a new number.
        let number = unsafe { aws::BN_bin2bn(bytes.as_ptr(), bytes.len(), ptr::null_mut()) };
        NonNull::new(number).map(Bignum).ok_or(MEMORY)
    }

    /// A small number.
    pub(crate) fn from_word(word: u64) -> Result<Bignum, OpError> {
        Bignum::from_bytes(&word.to_be_bytes())
    }

    /// A copy of a number that AWS-LC owns.
    ///
    /// # Safety
    ///
    /// `number` is null or a valid BIGNUM.
    pub(super) unsafe fn copy_of(number: *const aws::BIGNUM) -> Result<Bignum, OpError> {
        if number.is_null() {
            return Err(MEMORY);
        }
        // SAFETY: valid, by the caller's word.
        NonNull::new(unsafe { aws::BN_dup(number) }).map(Bignum).ok_or(MEMORY)
    }

    pub(super) fn as_ptr(&self) -> *const aws::BIGNUM {
        self.0.as_ptr()
    }

    fn as_mut_ptr(&mut self) -> *mut aws::BIGNUM {
        self.0.as_ptr()
    }

    /// Hands the number to C, which will free it.
    pub(super) fn into_raw(self) -> *mut aws::BIGNUM {
        let raw = self.0.as_ptr();
        std::mem::forget(self);
        raw
    }

    /// A second number of the same value and width.
    pub(crate) fn duplicate(&self) -> Result<Bignum, OpError> {
        // SAFETY: a valid number.
        unsafe { Bignum::copy_of(self.as_ptr()) }
    }

    /// Big-endian into all of `out`, with zeros in front. [`OpError::DstTooSmall`] if it does not
    /// fit.
    pub(crate) fn to_bytes(&self, out: &mut [u8]) -> Result<(), OpError> {
        // SAFETY: `out` is writable for its length.
        let returned = unsafe { aws::BN_bn2bin_padded(out.as_mut_ptr(), out.len(), self.as_ptr()) };
        done(returned, OpError::DstTooSmall)
    }

    /// Bits without leading zeros. Variable time, as the next three.
    pub(crate) fn bits(&self) -> usize {
        // SAFETY: a valid number.
        unsafe { aws::BN_num_bits(self.as_ptr()) as usize }
    }

    pub(crate) fn is_odd(&self) -> bool {
        // SAFETY: a valid number.
        unsafe { aws::BN_is_odd(self.as_ptr()) == 1 }
    }

    pub(crate) fn is_zero(&self) -> bool {
        // SAFETY: a valid number.
        unsafe { aws::BN_is_zero(self.as_ptr()) == 1 }
    }

    pub(crate) fn is_one(&self) -> bool {
        // SAFETY: a valid number.
        unsafe { aws::BN_is_one(self.as_ptr()) == 1 }
    }

    /// The order of two numbers; only the order is leaked.
    pub(crate) fn compare(&self, other: &Bignum) -> Ordering {
        // SAFETY: two valid numbers.
        unsafe { aws::BN_ucmp(self.as_ptr(), other.as_ptr()) }.cmp(&0)
    }

    /// `self` + `word`. Variable time.
    pub(crate) fn add_word(mut self, word: u64) -> Result<Bignum, OpError> {
        // SAFETY: a valid number.
        done(unsafe { aws::BN_add_word(self.as_mut_ptr(), word) }, MEMORY)?;
        Ok(self)
    }

    /// `self` - `word`, which is not more than `self`. Variable time.
    pub(crate) fn sub_word(mut self, word: u64) -> Result<Bignum, OpError> {
        // SAFETY: a valid number.
        done(unsafe { aws::BN_sub_word(self.as_mut_ptr(), word) }, MEMORY)?;
        Ok(self)
    }

    /// `self` / 2, rounded down.
    pub(crate) fn half(&self) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: two valid numbers.
        done(unsafe { aws::BN_rshift1(out.as_mut_ptr(), self.as_ptr()) }, MEMORY)?;
        Ok(out)
    }

    /// |`self` - `other`|. Variable time.
    pub(crate) fn distance(&self, other: &Bignum) -> Result<Bignum, OpError> {
        let (more, less) =
            if self.compare(other) == Ordering::Less { (other, self) } else { (self, other) };
        let mut out = Bignum::new()?;
        // SAFETY: three valid numbers.
        done(unsafe { aws::BN_sub(out.as_mut_ptr(), more.as_ptr(), less.as_ptr()) }, MEMORY)?;
        Ok(out)
    }
}

/// AWS-LC's pool of intermediate numbers: one per batch, for one thread.
pub(crate) struct Scratch(NonNull<aws::BN_CTX>);

impl Drop for Scratch {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once; it clears what it held.
        unsafe { aws::BN_CTX_free(self.0.as_ptr()) };
    }
}

impl Scratch {
    pub(crate) fn new() -> Result<Scratch, OpError> {
        // SAFETY: takes nothing.
        NonNull::new(unsafe { aws::BN_CTX_new() }).map(Scratch).ok_or(MEMORY)
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut aws::BN_CTX {
        self.0.as_ptr()
    }

    /// a b. Variable time in the lengths of the numbers only.
    pub(crate) fn multiply(&mut self, a: &Bignum, b: &Bignum) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let returned =
            unsafe { aws::BN_mul(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), self.as_mut_ptr()) };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// Quotient and remainder. `b` is not 0. Variable time.
    pub(crate) fn divide(&mut self, a: &Bignum, b: &Bignum) -> Result<(Bignum, Bignum), OpError> {
        let (mut quotient, mut remainder) = (Bignum::new()?, Bignum::new()?);
        // SAFETY: valid numbers, the two results distinct.
        let returned = unsafe {
            aws::BN_div(
                quotient.as_mut_ptr(),
                remainder.as_mut_ptr(),
                a.as_ptr(),
                b.as_ptr(),
                self.as_mut_ptr(),
            )
        };
        done(returned, MEMORY)?;
        Ok((quotient, remainder))
    }

    /// gcd(a, b).
    pub(crate) fn gcd(&mut self, a: &Bignum, b: &Bignum) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let returned =
            unsafe { aws::BN_gcd(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), self.as_mut_ptr()) };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a + b mod n, for a, b < n.
    pub(crate) fn add_mod(
        &mut self,
        a: &Bignum,
        b: &Bignum,
        n: &Bignum,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let returned =
            unsafe { aws::BN_mod_add_quick(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), n.as_ptr()) };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a - b mod n, for a, b < n.
    pub(crate) fn sub_mod(
        &mut self,
        a: &Bignum,
        b: &Bignum,
        n: &Bignum,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let returned =
            unsafe { aws::BN_mod_sub_quick(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), n.as_ptr()) };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a b mod n, for any n but 0. Variable time.
    pub(crate) fn multiply_mod(
        &mut self,
        a: &Bignum,
        b: &Bignum,
        n: &Bignum,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let returned = unsafe {
            aws::BN_mod_mul(out.as_mut_ptr(), a.as_ptr(), b.as_ptr(), n.as_ptr(), self.as_mut_ptr())
        };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a^e mod n, for any n but 0 and a < n. Variable time.
    pub(crate) fn power_mod(
        &mut self,
        a: &Bignum,
        e: &Bignum,
        n: &Bignum,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let returned = unsafe {
            aws::BN_mod_exp(out.as_mut_ptr(), a.as_ptr(), e.as_ptr(), n.as_ptr(), self.as_mut_ptr())
        };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a^-1 mod n, for n > 1 and a < n; `None` where there is none. Variable time.
    pub(crate) fn inverse_mod(
        &mut self,
        a: &Bignum,
        n: &Bignum,
    ) -> Result<Option<Bignum>, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let found = unsafe {
            aws::BN_mod_inverse(out.as_mut_ptr(), a.as_ptr(), n.as_ptr(), self.as_mut_ptr())
        };
        if !found.is_null() {
            return Ok(Some(out));
        }
        // SAFETY: takes nothing.
        unsafe { aws::ERR_clear_error() };
        // A null means no inverse or no memory.
        if self.gcd(a, n)?.is_one() { Err(MEMORY) } else { Ok(None) }
    }

    /// A random number from 1 to n - 1, for n > 1.
    pub(crate) fn random_below(&mut self, n: &Bignum) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers.
        let returned = unsafe { aws::BN_rand_range_ex(out.as_mut_ptr(), 1, n.as_ptr()) };
        done(returned, OpError::Library("the random generator"))?;
        Ok(out)
    }

    /// A random prime of `bits` bits, the two highest set; a safe one, of which (p - 1) / 2 is
    /// prime too, if asked for.
    pub(crate) fn generate_prime(&mut self, bits: usize, safe: bool) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: a valid number; null asks for no congruence and no progress reports.
        let returned = unsafe {
            aws::BN_generate_prime_ex(
                out.as_mut_ptr(),
                bits as i32,
                safe.into(),
                ptr::null(),
                ptr::null(),
                ptr::null_mut(),
            )
        };
        done(returned, OpError::Library("prime generation"))?;
        Ok(out)
    }

    /// Miller-Rabin, as many rounds as make an error less likely than 2^-128 whoever chose the
    /// number.
    pub(crate) fn is_prime(&mut self, candidate: &Bignum) -> Result<bool, OpError> {
        let mut prime = 0;
        // SAFETY: a valid number; null asks for no progress reports.
        let returned = unsafe {
            aws::BN_primality_test(
                &mut prime,
                candidate.as_ptr(),
                aws::BN_prime_checks_for_validation,
                self.as_mut_ptr(),
                1,
                ptr::null_mut(),
            )
        };
        done(returned, MEMORY)?;
        Ok(prime == 1)
    }
}

/// An odd modulus n > 1 with its Montgomery constants. Operands are below n unless said.
pub(crate) struct Montgomery {
    constants: NonNull<aws::BN_MONT_CTX>,
    n: Bignum,
}

// SAFETY: the constants are plain memory that nothing changes after `new`.
unsafe impl Send for Montgomery {}
// SAFETY: as above.
unsafe impl Sync for Montgomery {}

impl Drop for Montgomery {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once.
        unsafe { aws::BN_MONT_CTX_free(self.constants.as_ptr()) };
    }
}

impl Montgomery {
    /// The constants take a time that depends on the width of n only: it may be a secret prime.
    pub(crate) fn new(n: Bignum, scratch: &mut Scratch) -> Result<Montgomery, OpError> {
        debug_assert!(n.is_odd() && !n.is_one());
        // SAFETY: valid numbers.
        let constants = unsafe { aws::BN_MONT_CTX_new_consttime(n.as_ptr(), scratch.as_mut_ptr()) };
        let constants = NonNull::new(constants).ok_or(MEMORY)?;
        Ok(Montgomery { constants, n })
    }

    /// a R mod n. Also for a >= n as long as a has no more words than n.
    pub(crate) fn enter(&self, a: &Bignum, scratch: &mut Scratch) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers and constants.
        let returned = unsafe {
            aws::BN_to_montgomery(
                out.as_mut_ptr(),
                a.as_ptr(),
                self.constants.as_ptr(),
                scratch.as_mut_ptr(),
            )
        };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a / R mod n, for any a < n R: so for any a that has no more words than n.
    pub(crate) fn leave(&self, a: &Bignum, scratch: &mut Scratch) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers and constants.
        let returned = unsafe {
            aws::BN_from_montgomery(
                out.as_mut_ptr(),
                a.as_ptr(),
                self.constants.as_ptr(),
                scratch.as_mut_ptr(),
            )
        };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a b / R mod n.
    pub(crate) fn multiply(
        &self,
        a: &Bignum,
        b: &Bignum,
        scratch: &mut Scratch,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        self.multiply_into(a, b, &mut out, scratch)?;
        Ok(out)
    }

    /// As [`Montgomery::multiply`], into a number that may have memory already.
    pub(crate) fn multiply_into(
        &self,
        a: &Bignum,
        b: &Bignum,
        out: &mut Bignum,
        scratch: &mut Scratch,
    ) -> Result<(), OpError> {
        // SAFETY: valid numbers and constants.
        let returned = unsafe {
            aws::BN_mod_mul_montgomery(
                out.as_mut_ptr(),
                a.as_ptr(),
                b.as_ptr(),
                self.constants.as_ptr(),
                scratch.as_mut_ptr(),
            )
        };
        done(returned, MEMORY)
    }

    /// a^e mod n in a time that depends on the widths only.
    pub(crate) fn power(
        &self,
        a: &Bignum,
        e: &Bignum,
        scratch: &mut Scratch,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers and constants.
        let returned = unsafe {
            aws::BN_mod_exp_mont_consttime(
                out.as_mut_ptr(),
                a.as_ptr(),
                e.as_ptr(),
                self.n.as_ptr(),
                scratch.as_mut_ptr(),
                self.constants.as_ptr(),
            )
        };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a^e mod n for public numbers. Variable time.
    pub(crate) fn power_public(
        &self,
        a: &Bignum,
        e: &Bignum,
        scratch: &mut Scratch,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers and constants.
        let returned = unsafe {
            aws::BN_mod_exp_mont(
                out.as_mut_ptr(),
                a.as_ptr(),
                e.as_ptr(),
                self.n.as_ptr(),
                scratch.as_mut_ptr(),
                self.constants.as_ptr(),
            )
        };
        done(returned, MEMORY)?;
        Ok(out)
    }

    /// a^d b^e mod n for public numbers. Variable time.
    pub(crate) fn power2_public(
        &self,
        (a, d): (&Bignum, &Bignum),
        (b, e): (&Bignum, &Bignum),
        scratch: &mut Scratch,
    ) -> Result<Bignum, OpError> {
        let mut out = Bignum::new()?;
        // SAFETY: valid numbers and constants.
        let returned = unsafe {
            aws::BN_mod_exp2_mont(
                out.as_mut_ptr(),
                a.as_ptr(),
                d.as_ptr(),
                b.as_ptr(),
                e.as_ptr(),
                self.n.as_ptr(),
                scratch.as_mut_ptr(),
                self.constants.as_ptr(),
            )
        };
        done(returned, MEMORY)?;
        Ok(out)
    }
}
