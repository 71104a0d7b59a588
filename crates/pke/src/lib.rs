//! Public-key cryptography and key derivation over slices, up to eight requests side by side.
//!
//! Every operation takes a batch: a slice of [`Item`]s, each with a source, a destination and a
//! place for its result. On a CPU with AVX-512 IFMA the operations that have a kernel here run up
//! to eight items side by side, one per SIMD lane; otherwise, and where a batch is too small to
//! gain, each item goes to a well-kept library.
//!
//! The crate knows nothing of rings, devices or threads.
#![deny(unsafe_code)]

mod batch;
pub mod binary;
pub mod dh;
pub mod dsa;
pub mod ec;
pub mod eddsa;
mod engine;
pub mod hash;
mod item;
pub mod kdf;
#[allow(unsafe_code)]
mod library;
pub mod modular;
mod nonce;
pub mod prime;
pub mod random;
pub mod rsa;
#[cfg(feature = "secrets")]
pub mod secrets;
#[cfg(target_arch = "x86_64")]
mod side_by_side;
pub mod sm2;
pub mod weierstrass;
pub mod xdh;

pub use engine::Engine;
pub use item::Item;
pub use lookaside_spec::kdf::HkdfMode;
pub use lookaside_spec::pke::{
    Arithmetic, Curve, EdCurve, Nonce, PointStep, RsaScheme, SaltLen, Sm2Role, XdhCurve,
};
pub use lookaside_spec::{Hash, OpError};
