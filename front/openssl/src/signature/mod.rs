//! Signatures.

pub mod rsa;
