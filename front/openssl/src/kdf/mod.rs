//! Key derivation.

pub mod hkdf;
pub mod tls_prf;
