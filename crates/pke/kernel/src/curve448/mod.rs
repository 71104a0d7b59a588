//! X448 (RFC 7748), up to eight operations side by side, in constant time.
//!
//! Every function takes a slice of requests, runs them eight at a time and is quickest when their
//! number is a multiple of eight; lanes without a request repeat another one.

#[cfg(target_arch = "x86_64")]
use lookaside_simd::Avx512;

mod field;
#[cfg(test)]
mod field_bounds;
mod montgomery;

/// A request for a shared secret: X448.
#[derive(Debug)]
pub struct Derive<'a> {
    /// Our private key; any 56 bytes (they are clamped as RFC 7748 says).
    pub private: &'a [u8; 56],
    /// The peer's public key, a u coordinate; any 56 bytes.
    pub peer: &'a [u8; 56],
    /// The shared secret.
    pub out: &'a mut [u8; 56],
    /// False when the secret is all zeros, because the peer's point has a small order: such a
    /// secret must not be used.
    pub ok: bool,
}

/// A request for a public key.
#[derive(Debug)]
pub struct Public<'a> {
    /// The private key; any 56 bytes.
    pub private: &'a [u8; 56],
    /// The public key.
    pub out: &'a mut [u8; 56],
}

entry_points! {
    /// Shared secrets: the u coordinate of the private key times the peer's point.
    x448_avx512, x448_portable, Derive, montgomery::derive
}
entry_points! {
    /// Public keys: the private key times the base point.
    x448_public_avx512, x448_public_portable, Public, montgomery::public
}
