//! Kernels that run eight operations side by side, one per 64-bit lane of a 512-bit vector.
//!
//! They are written over [`lanes::Lanes`], a small private trait with two implementations: AVX-512
//! with IFMA, and arrays of eight integers. The second is the readable twin: the same source, so
//! what a tool finds in it (a branch or an address that depends on a secret) it finds in the first.

pub mod curve25519;
pub(crate) mod lanes;
pub mod modexp;
