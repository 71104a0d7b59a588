//! Asymmetric ciphers.

pub mod rsa;
