//! Kernels of symmetric cryptography: ciphers, hashes and checksums, most of them many messages side
//! by side in the lanes of a vector.
//!
//! A kernel takes the [`Cpu`](lookaside_simd::Cpu) and serves every tier: vectors where the tier has
//! them, portable code elsewhere, which is also what the vectors are tested against. It knows no
//! requests and no paddings: the service above it, `lookaside-cipher`, does.
#![allow(unsafe_code)]

pub mod aes;
pub mod arc4;
pub mod chacha20;
pub mod copy;
pub mod crc;
pub mod des;
pub mod hash;
pub mod kasumi;
mod keystream;
mod modes;
pub mod poly1305;
pub mod sm4;
pub mod snow3g;
mod text;
mod wipe;
pub mod zuc;

pub use text::Text;
