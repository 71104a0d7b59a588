//! AWS-LC's key derivations: the PRF of TLS 1.0 to 1.2, and HKDF. They hash the key of each HMAC
//! once. `false` when memory ran out, or the hash function has no HMAC.

use aws_lc_sys as aws;

use super::bignum::done;
use super::digest::Method;
use crate::OpError;

fn good(returned: i32) -> bool {
    done(returned, OpError::Library("key derivation")).is_ok()
}

/// MD5 and SHA-1 stand for the function of TLS 1.0.
pub(crate) fn tls_prf(method: Method, secret: &[u8], seed: &[u8], out: &mut [u8]) -> bool {
    // SAFETY: every buffer has the length that is passed, and none overlap.
    good(unsafe {
        aws::CRYPTO_tls1_prf(
            method.as_ptr(),
            out.as_mut_ptr(),
            out.len(),
            secret.as_ptr(),
            secret.len(),
            seed.as_ptr().cast(),
            seed.len(),
            seed.as_ptr(),
            0,
            seed.as_ptr(),
            0,
        )
    })
}

pub(crate) fn hkdf(method: Method, key: &[u8], salt: &[u8], info: &[u8], out: &mut [u8]) -> bool {
    // SAFETY: every buffer has the length that is passed.
    good(unsafe {
        aws::HKDF(
            out.as_mut_ptr(),
            out.len(),
            method.as_ptr(),
            key.as_ptr(),
            key.len(),
            salt.as_ptr(),
            salt.len(),
            info.as_ptr(),
            info.len(),
        )
    })
}

/// `out` is as long as a digest.
pub(crate) fn extract(method: Method, key: &[u8], salt: &[u8], out: &mut [u8]) -> bool {
    // SAFETY: the table of a hash function.
    assert_eq!(out.len(), unsafe { aws::EVP_MD_size(method.as_ptr()) });
    let mut len = 0;
    // SAFETY: a digest is all that is written; the others have the lengths that are passed.
    good(unsafe {
        aws::HKDF_extract(
            out.as_mut_ptr(),
            &mut len,
            method.as_ptr(),
            key.as_ptr(),
            key.len(),
            salt.as_ptr(),
            salt.len(),
        )
    })
}

pub(crate) fn expand(method: Method, key: &[u8], info: &[u8], out: &mut [u8]) -> bool {
    // SAFETY: every buffer has the length that is passed.
    good(unsafe {
        aws::HKDF_expand(
            out.as_mut_ptr(),
            out.len(),
            method.as_ptr(),
            key.as_ptr(),
            key.len(),
            info.as_ptr(),
            info.len(),
        )
    })
}

pub(crate) fn expand_label(
    method: Method,
    key: &[u8],
    label: &[u8],
    transcript: &[u8],
    out: &mut [u8],
) -> bool {
    // SAFETY: every buffer has the length that is passed.
    good(unsafe {
        aws::CRYPTO_tls13_hkdf_expand_label(
            out.as_mut_ptr(),
            out.len(),
            method.as_ptr(),
            key.as_ptr(),
            key.len(),
            label.as_ptr(),
            label.len(),
            transcript.as_ptr(),
            transcript.len(),
        )
    })
}
