//! X25519 and Ed25519 by AWS-LC (s2n-bignum).

use aws_lc_sys as aws;

use crate::OpError;

/// The peer's point has a small order: the secret would be known to everybody.
pub(crate) const ZERO_SECRET: OpError = OpError::BadInput("the shared secret is zero");

/// The X25519 public key of `private`.
pub(crate) fn x25519_public(private: &[u8; 32]) -> [u8; 32] {
    let mut public = [0; 32];
    // SAFETY: both have 32 bytes.
    unsafe { aws::X25519_public_from_private(public.as_mut_ptr(), private.as_ptr()) };
    public
}

/// The X25519 shared secret, into `out`; an all-zero one is refused.
pub(crate) fn x25519(
    private: &[u8; 32],
    peer: &[u8; 32],
    out: &mut [u8; 32],
) -> Result<(), OpError> {
    // SAFETY: all have 32 bytes.
    match unsafe { aws::X25519(out.as_mut_ptr(), private.as_ptr(), peer.as_ptr()) } {
        1 => Ok(()),
        _ => Err(ZERO_SECRET),
    }
}

/// `seed || public key` of an Ed25519 seed.
pub(crate) fn ed25519_pair(seed: &[u8; 32], pair: &mut [u8; 64]) {
    let mut public = [0; 32];
    // SAFETY: 32, 64 and 32 bytes.
    unsafe {
        aws::ED25519_keypair_from_seed(public.as_mut_ptr(), pair.as_mut_ptr(), seed.as_ptr());
    }
}

/// Which Ed25519 of RFC 8032: pure, with a label that separates domains, or of a SHA-512 digest.
#[derive(Clone, Copy)]
pub(crate) enum Variant<'a> {
    Pure,
    Labelled(&'a [u8]),
    Prehashed(&'a [u8]),
}

/// Signs by `pair`, which is `seed || public key`.
pub(crate) fn ed25519_sign(
    variant: Variant<'_>,
    pair: &[u8; 64],
    message: &[u8],
    out: &mut [u8; 64],
) -> Result<(), OpError> {
    let (out, pair) = (out.as_mut_ptr(), pair.as_ptr());
    let (text, len) = (message.as_ptr(), message.len());
    // SAFETY: 64 bytes each; pointers and lengths are those of slices.
    let ok = unsafe {
        match variant {
            Variant::Pure => aws::ED25519_sign(out, text, len, pair),
            Variant::Labelled(label) => {
                aws::ED25519ctx_sign(out, text, len, pair, label.as_ptr(), label.len())
            }
            Variant::Prehashed(label) => {
                aws::ED25519ph_sign(out, text, len, pair, label.as_ptr(), label.len())
            }
        }
    };
    if ok == 1 { Ok(()) } else { Err(OpError::Library("AWS-LC's Ed25519")) }
}

/// Whether `signature` is that of `message` by the owner of `public`.
pub(crate) fn ed25519_verify(
    variant: Variant<'_>,
    public: &[u8; 32],
    signature: &[u8; 64],
    message: &[u8],
) -> Result<(), OpError> {
    let (signature, public) = (signature.as_ptr(), public.as_ptr());
    let (text, len) = (message.as_ptr(), message.len());
    // SAFETY: 64 and 32 bytes; pointers and lengths are those of slices.
    let ok = unsafe {
        match variant {
            Variant::Pure => aws::ED25519_verify(text, len, signature, public),
            Variant::Labelled(label) => {
                aws::ED25519ctx_verify(text, len, signature, public, label.as_ptr(), label.len())
            }
            Variant::Prehashed(label) => {
                aws::ED25519ph_verify(text, len, signature, public, label.as_ptr(), label.len())
            }
        }
    };
    if ok == 1 {
        return Ok(());
    }
    // SAFETY: no preconditions.
    unsafe { aws::ERR_clear_error() };
    Err(OpError::AuthFailed)
}
