//! Symmetric cryptography over slices: ciphers, hashes, MACs, AEADs and chains of them.
//!
//! A [`Session`] holds prepared keys. An [`Engine`] (one per thread) runs packets of any sessions,
//! side by side where that is faster. A [`Running`] is a text in pieces, on the caller's thread.
#![deny(unsafe_code)]

#[doc(hidden)]
pub mod choice;
mod engine;
mod lanes;
mod library;
mod packet;
mod pieces;
mod running;
mod session;
pub mod single;
#[doc(hidden)]
pub mod tls;

/// The data mover's kernels: copies, with checksums or without, fills, comparisons.
pub mod mover {
    pub use lookaside_cipher_kernel::{
        copy::{compare, copy, fill},
        crc::{crc32, crc32_copy, crc64, crc64_copy},
    };
}

pub use engine::Engine;
pub use lookaside_spec::sym::{Aead, Auth, ChainOrder, Cipher, Span, Sym};
pub use lookaside_spec::{Hash, OpError, Secret};
pub use packet::{Direction, Packet, Parts, Tag, Text};
pub use pieces::Piece;
pub use running::Running;
pub use session::Session;

/// Sets up what the first session in lanes would: intel-ipsec-mb's functions, with a self-test that takes
/// half a millisecond and tens of KiB of stack. For callers whose later stacks are small.
pub fn set_up(cpu: &lookaside_simd::Cpu) {
    library::ipsec_mb::Functions::of(cpu);
}
