//! AWS-LC's RSA without padding: blinded, checked, in constant time where it is secret.

use std::ptr::{self, NonNull};

use aws_lc_sys as aws;

use super::bignum::{Bignum, done};
use crate::OpError;

const MEMORY: OpError = OpError::Library("memory for an RSA key");

/// A key, public or private. AWS-LC locks what it changes inside (blinding, Montgomery constants).
pub(crate) struct Key(NonNull<aws::RSA>);

// SAFETY: an RSA object may be used from several threads as long as nobody replaces its parts,
// which nothing here does after `new`.
unsafe impl Send for Key {}
// SAFETY: as above.
unsafe impl Sync for Key {}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: ours, and freed once.
        unsafe { aws::RSA_free(self.0.as_ptr()) };
    }
}

impl Key {
    fn new() -> Result<Key, OpError> {
        // SAFETY: takes nothing.
        let key = Key(NonNull::new(unsafe { aws::RSA_new() }).ok_or(MEMORY)?);
        // SAFETY: a valid key. The flag lifts the limit of 33 bits for e: the caller has its own.
        unsafe { aws::RSA_set_flags(key.0.as_ptr(), aws::RSA_FLAG_LARGE_PUBLIC_EXPONENT) };
        Ok(key)
    }

    /// A public key, or with `d` a private one.
    pub(crate) fn from_parts(n: &[u8], e: &[u8], d: Option<&[u8]>) -> Result<Key, OpError> {
        let key = Key::new()?;
        let (n, e) = (Bignum::from_bytes(n)?, Bignum::from_bytes(e)?);
        let d = d.map(Bignum::from_bytes).transpose()?;
        let d = d.map_or(ptr::null_mut(), Bignum::into_raw);
        // SAFETY: a valid key and numbers, which the key owns from here on: with n and e there, it
        // refuses nothing.
        let returned = unsafe { aws::RSA_set0_key(key.0.as_ptr(), n.into_raw(), e.into_raw(), d) };
        done(returned, MEMORY)?;
        Ok(key)
    }

    /// Adds p, q, d mod (p - 1), d mod (q - 1) and q^-1 mod p.
    pub(crate) fn with_factors(self, [p, q, dp, dq, inverse]: [&[u8]; 5]) -> Result<Key, OpError> {
        let (p, q) = (Bignum::from_bytes(p)?, Bignum::from_bytes(q)?);
        let (dp, dq) = (Bignum::from_bytes(dp)?, Bignum::from_bytes(dq)?);
        let inverse = Bignum::from_bytes(inverse)?;
        // SAFETY: a valid key and numbers, which the key owns from here on.
        let returned =
            unsafe { aws::RSA_set0_factors(self.0.as_ptr(), p.into_raw(), q.into_raw()) };
        done(returned, MEMORY)?;
        // SAFETY: as above.
        let returned = unsafe {
            aws::RSA_set0_crt_params(
                self.0.as_ptr(),
                dp.into_raw(),
                dq.into_raw(),
                inverse.into_raw(),
            )
        };
        done(returned, MEMORY)?;
        Ok(self)
    }

    /// `out` = `input`^d mod n, both as long as n, 1 < `input` < n - 1. With blinding; the result
    /// is raised to e and compared before it is written. [`OpError::Fault`] if it differs.
    pub(crate) fn private(&self, input: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let mut written = 0;
        // SAFETY: a valid key; both buffers have the lengths that are passed.
        let returned = unsafe {
            aws::RSA_sign_raw(
                self.0.as_ptr(),
                &mut written,
                out.as_mut_ptr(),
                out.len(),
                input.as_ptr(),
                input.len(),
                aws::RSA_NO_PADDING,
            )
        };
        done(returned, OpError::Fault)
    }

    /// `out` = `input`^e mod n, both as long as n, `input` < n. Variable time.
    pub(crate) fn public(&self, input: &[u8], out: &mut [u8]) -> Result<(), OpError> {
        let mut written = 0;
        // SAFETY: a valid key; both buffers have the lengths that are passed.
        let returned = unsafe {
            aws::RSA_verify_raw(
                self.0.as_ptr(),
                &mut written,
                out.as_mut_ptr(),
                out.len(),
                input.as_ptr(),
                input.len(),
                aws::RSA_NO_PADDING,
            )
        };
        done(returned, OpError::Library("the RSA public operation"))
    }

    /// A new key of `bits` bits, a multiple of 128 and at least 256, with e of at most 32 bits
    /// (FIPS 186-4, B.3.3).
    pub(crate) fn generate(bits: usize, e: &Bignum) -> Result<Key, OpError> {
        let key = Key::new()?;
        // SAFETY: a valid key and number; null asks for no progress reports.
        let returned = unsafe {
            aws::RSA_generate_key_ex(key.0.as_ptr(), bits as i32, e.as_ptr(), ptr::null_mut())
        };
        done(returned, OpError::Library("RSA key generation"))?;
        Ok(key)
    }

    /// n, e, d, p, q, d mod (p - 1), d mod (q - 1), q^-1 mod p of a key that has them all.
    pub(crate) fn parts(&self) -> Result<[Bignum; 8], OpError> {
        let mut parts = [ptr::null(); 8];
        let [n, e, d, p, q, dp, dq, inverse] = &mut parts;
        // SAFETY: a valid key; it hands out addresses of its numbers (or null), which are copied
        // while it lives.
        unsafe {
            aws::RSA_get0_key(self.0.as_ptr(), n, e, d);
            aws::RSA_get0_factors(self.0.as_ptr(), p, q);
            aws::RSA_get0_crt_params(self.0.as_ptr(), dp, dq, inverse);
        }
        let [n, e, d, p, q, dp, dq, inverse] =
            // SAFETY: see above.
            parts.map(|part| unsafe { Bignum::copy_of(part) });
        Ok([n?, e?, d?, p?, q?, dp?, dq?, inverse?])
    }
}
