//! Key exchanges.

pub mod dh;
pub mod ecdh;
pub mod xdh;
