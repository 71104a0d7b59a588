//! X25519 and Ed25519 (RFC 7748, RFC 8032), up to eight operations side by side.
//!
//! Every function takes a slice of requests, runs them eight at a time and is quickest when their
//! number is a multiple of eight; lanes without a request repeat another one. All but the
//! verification of signatures runs in constant time: no branch and no address depends on a key, a
//! shared secret or a nonce. Lengths of messages are public.
//!
//! `field` has the arithmetic and its bounds, `montgomery` the ladder of X25519, `edwards` the
//! points of Ed25519, `table` multiples of the base point, `scalar` numbers modulo its order.

#[cfg(target_arch = "x86_64")]
use lookaside_simd::Avx512;

mod edwards;
mod field;
#[cfg(test)]
mod field_bounds;
mod montgomery;
mod scalar;
mod sha512;
mod sign;
mod table;
mod verify;
pub(super) mod words;

/// A request for a shared secret: X25519.
#[derive(Debug)]
pub struct Derive<'a> {
    /// Our private key; any 32 bytes (they are clamped as RFC 7748 says).
    pub private: &'a [u8; 32],
    /// The peer's public key, a u coordinate; any 32 bytes, bit 255 is ignored.
    pub peer: &'a [u8; 32],
    /// The shared secret.
    pub out: &'a mut [u8; 32],
    /// False when the secret is all zeros, because the peer's point has a small order: such a
    /// secret must not be used.
    pub ok: bool,
}

/// A request for a public key.
#[derive(Debug)]
pub struct Public<'a> {
    /// The private key of X25519 or the seed of Ed25519; any 32 bytes.
    pub private: &'a [u8; 32],
    /// The public key.
    pub out: &'a mut [u8; 32],
}

/// A request for a signature: Ed25519, without a prehash or a context string.
#[derive(Debug)]
pub struct Sign<'a> {
    /// The private key: the seed of RFC 8032.
    pub seed: &'a [u8; 32],
    /// The seed's public key. It must be the right one: a signature made with another one gives
    /// the private key away.
    pub public: &'a [u8; 32],
    /// What is signed, of any length.
    pub message: &'a [u8],
    /// The signature: R, then s.
    pub signature: &'a mut [u8; 64],
}

/// A request to verify a signature: Ed25519, without a prehash or a context string.
#[derive(Debug)]
pub struct Verify<'a> {
    /// The signer's public key; any 32 bytes. One that encodes no point, or not canonically,
    /// verifies nothing.
    pub public: &'a [u8; 32],
    /// What was signed.
    pub message: &'a [u8],
    /// The signature: R, then s.
    pub signature: &'a [u8; 64],
    /// Whether the signature is right.
    pub ok: bool,
}

entry_points! {
    /// Shared secrets: the u coordinate of the private key times the peer's point.
    x25519_avx512, x25519_portable, Derive, montgomery::derive
}
entry_points! {
    /// Public keys of X25519.
    x25519_public_avx512, x25519_public_portable, Public, sign::x25519_public
}
entry_points! {
    /// Public keys of Ed25519, from seeds.
    ed25519_public_avx512, ed25519_public_portable, Public, sign::ed25519_public
}
entry_points! {
    /// Signatures (RFC 8032, section 5.1.6), deterministic.
    ed25519_sign_avx512, ed25519_sign_portable, Sign, sign::sign
}
entry_points! {
    /// Verifications (RFC 8032, section 5.1.7): s is below L, encodings are canonical, and
    /// s B = R + h A without the cofactor, as AWS-LC has it. Not constant time.
    ed25519_verify_avx512, ed25519_verify_portable, Verify, verify::verify
}
