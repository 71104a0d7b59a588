//! AWS-LC's random generator: a DRBG per thread, seeded by the kernel, reseeded after a fork.

use aws_lc_sys as aws;

/// Fills `out`; `false` when the operating system gave no entropy.
pub(crate) fn fill(out: &mut [u8]) -> bool {
    // SAFETY: `out` is writable for its length.
    unsafe { aws::RAND_bytes(out.as_mut_ptr(), out.len()) == 1 }
}
