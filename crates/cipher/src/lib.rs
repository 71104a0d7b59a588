//! Symmetric cryptography over slices: ciphers, hashes, MACs, AEADs and chains of them.
//!
//! A [`Session`] holds prepared keys. An [`Engine`] (one per thread) runs packets of any sessions,
//! side by side where that is faster. A [`Running`] is a text in pieces, on the caller's thread.
#![deny(unsafe_code)]

mod engine;
mod library;
mod packet;
mod running;
mod session;
pub mod single;
mod spec;

/// The data mover's kernels.
pub mod mover {
    #![allow(missing_docs)]
    use lookaside_simd::Cpu;
    pub fn crc64_copy(_: &Cpu, s: u64, a: &[u8], b: &mut [u8]) -> u64 {
        b[..a.len()].copy_from_slice(a);
        let mut c = !s;
        for x in a {
            c ^= u64::from(*x);
            for _ in 0..8 {
                c = (c >> 1) ^ (0xC96C_5795_D787_0F42 & (c & 1).wrapping_neg());
            }
        }
        !c
    }
    pub fn crc32_copy(_: &Cpu, s: u32, a: &[u8], b: &mut [u8]) -> u32 {
        b[..a.len()].copy_from_slice(a);
        let mut c = !s;
        for x in a {
            c ^= u32::from(*x);
            for _ in 0..8 {
                c = (c >> 1) ^ (0xEDB8_8320 & (c & 1).wrapping_neg());
            }
        }
        !c
    }
    pub fn fill(_: &Cpu, d: &mut [u8], p: &[u8]) {
        for (d, p) in d.iter_mut().zip(p.iter().cycle()) {
            *d = *p;
        }
    }
    pub fn compare(_: &Cpu, a: &[u8], b: &[u8]) -> Option<usize> {
        a.iter().zip(b).position(|(a, b)| a != b)
    }
}

pub use engine::Engine;
pub use packet::{Direction, Error, Packet, Parts, Span, Text};
pub use running::Running;
pub use session::Session;
pub use spec::{Aead, Auth, Cipher, Hash, Order, Secret, Spec};
