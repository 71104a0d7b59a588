//! Symmetric cryptography over slices: ciphers, hashes, MACs, AEADs and chains of them.
//!
//! A [`Session`] holds prepared keys. An [`Engine`] (one per thread) runs packets of any sessions,
//! side by side where that is faster. A [`Running`] is a text in pieces, on the caller's thread.
#![deny(unsafe_code)]

mod engine;
mod lanes;
mod library;
mod packet;
mod pieces;
mod running;
mod session;
pub mod single;
mod spec;
#[doc(hidden)]
pub mod tls;

/// The data mover's kernels: copies with checksums, fills, comparisons.
pub mod mover {
    pub use lookaside_cipher_kernel::{
        copy::{compare, fill},
        crc::{crc32, crc32_copy, crc64, crc64_copy},
    };
}

pub use engine::Engine;
pub use packet::{Direction, Error, Packet, Parts, Span, Text};
pub use pieces::Piece;
pub use running::Running;
pub use session::Session;
pub use spec::{Aead, Auth, Cipher, Hash, Order, Secret, Spec};
