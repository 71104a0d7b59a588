//! AWS-LC's integers, against which the fields are tested at the ends of their digits' ranges.

use aws_lc_sys as lc;

/// An integer, freed on drop.
pub(crate) struct Int(*mut lc::BIGNUM);

impl Drop for Int {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once.
        unsafe { lc::BN_free(self.0) }
    }
}

impl Int {
    fn zero() -> Int {
        // SAFETY: takes nothing.
        let number = unsafe { lc::BN_new() };
        assert!(!number.is_null());
        Int(number)
    }

    /// The sum of digits times 2^position.
    pub(crate) fn of(digits: impl IntoIterator<Item = (u64, usize)>) -> Int {
        let sum = Int::zero();
        for (digit, position) in digits {
            let part = Int::zero();
            // SAFETY: valid numbers.
            unsafe {
                assert_eq!(lc::BN_set_u64(part.0, digit), 1);
                assert_eq!(lc::BN_lshift(part.0, part.0, position as i32), 1);
                assert_eq!(lc::BN_add(sum.0, sum.0, part.0), 1);
            }
        }
        sum
    }

    /// Digits of 52 bits.
    pub(crate) fn of_52(digits: &[u64]) -> Int {
        Int::of(digits.iter().enumerate().map(|(i, digit)| (*digit, 52 * i)))
    }

    /// As 52-bit digits.
    pub(crate) fn digits_52<const N: usize>(&self) -> [u64; N] {
        let mut bytes = [0; 8 * 16];
        // SAFETY: the length is that of the buffer.
        let fits = unsafe { lc::BN_bn2le_padded(bytes.as_mut_ptr(), bytes.len(), self.0) };
        assert_eq!(fits, 1);
        let bit = |i: usize| u64::from(bytes[i / 8] >> (i % 8) & 1);
        core::array::from_fn(|i| (0..52).fold(0, |digit, k| digit | bit(52 * i + k) << k))
    }

    pub(crate) fn word(word: u64) -> Int {
        Int::of([(word, 0)])
    }

    pub(crate) fn add(&self, other: &Int) -> Int {
        let sum = Int::zero();
        // SAFETY: valid numbers.
        assert_eq!(unsafe { lc::BN_add(sum.0, self.0, other.0) }, 1);
        sum
    }

    pub(crate) fn sub(&self, other: &Int) -> Int {
        let difference = Int::zero();
        // SAFETY: valid numbers.
        assert_eq!(unsafe { lc::BN_sub(difference.0, self.0, other.0) }, 1);
        difference
    }

    pub(crate) fn mul(&self, other: &Int) -> Int {
        let product = Int::zero();
        // SAFETY: valid numbers and scratch, which is freed once.
        unsafe {
            let scratch = lc::BN_CTX_new();
            assert_eq!(lc::BN_mul(product.0, self.0, other.0, scratch), 1);
            lc::BN_CTX_free(scratch);
        }
        product
    }

    /// From 0 to n - 1.
    pub(crate) fn modulo(&self, n: &Int) -> Int {
        let rest = Int::zero();
        // SAFETY: valid numbers and scratch, which is freed once.
        unsafe {
            let scratch = lc::BN_CTX_new();
            assert_eq!(lc::BN_nnmod(rest.0, self.0, n.0, scratch), 1);
            lc::BN_CTX_free(scratch);
        }
        rest
    }
}

impl PartialEq for Int {
    fn eq(&self, other: &Int) -> bool {
        self.partial_cmp(other) == Some(core::cmp::Ordering::Equal)
    }
}

impl PartialOrd for Int {
    fn partial_cmp(&self, other: &Int) -> Option<core::cmp::Ordering> {
        // SAFETY: valid numbers.
        Some(unsafe { lc::BN_cmp(self.0, other.0) }.cmp(&0))
    }
}

/// The pointer is not shown: it tells nothing.
impl core::fmt::Debug for Int {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        // SAFETY: a valid number gives a string that OPENSSL_free frees.
        unsafe {
            let text = lc::BN_bn2hex(self.0);
            let shown = f.write_str(&std::ffi::CStr::from_ptr(text).to_string_lossy());
            lc::OPENSSL_free(text.cast());
            shown
        }
    }
}
