//! Key exchanges.

pub mod ecdh;
pub mod xdh;
