//! The libraries behind the single operations: thin, safe wrappers of their C functions.
//!
//! What owns a C object frees it, and clears it first where it may hold a secret. No function here
//! knows a protocol: they take and give bytes and numbers.

pub(crate) mod bignum;
pub(crate) mod curve25519;
pub(crate) mod digest;
pub(crate) mod ec;
pub(crate) mod kdf;
pub(crate) mod openssl;
pub(crate) mod random;
pub(crate) mod rsa;
