//! Keys: their parts, and how other providers' keys come in and ours go out.

pub mod rsa;
