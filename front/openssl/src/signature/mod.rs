//! Signatures.

pub mod ecdsa;
pub mod rsa;
