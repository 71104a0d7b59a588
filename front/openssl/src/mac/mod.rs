//! MACs. What they are told to use decides who computes: with a digest or cipher of ours it is the
//! runtime ([`keyed`]) or libcrypto ([`plain`]), with any other the provider that OpenSSL would take without us ([`other`]),
//! so that HMAC with BLAKE2 or CMAC with Camellia go on working.

pub mod cmac;
pub mod gmac;
pub mod hmac;
pub mod keyed;
pub mod list;
pub mod other;
pub mod plain;
pub mod poly1305;
pub mod text;
