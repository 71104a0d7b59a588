//! Asymmetric ciphers.

pub mod rsa;
pub mod sm2;
