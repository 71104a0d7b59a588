//! Signatures.

pub mod dsa;
pub mod ecdsa;
pub mod ed;
pub mod rsa;
pub mod sm2;
