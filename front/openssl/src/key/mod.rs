//! Keys: their parts, and how other providers' keys come in and ours go out.

pub mod ec;
pub mod group;
pub mod rsa;
pub mod xdh;
