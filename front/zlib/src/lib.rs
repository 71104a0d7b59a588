//! A zlib library, `libz.so.1`: the 88 functions of zlib 1.2.13 with its symbol versions.
//!
//! `scripts/build-zlib` makes the shared library of it. Every function is documented in `zlib.h`,
//! which is the specification; what is said here is how it is done.
#![allow(clippy::missing_safety_doc, reason = "zlib.h says what callers must guarantee")]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "nobody links this crate: its pages are for who works on it"
)]
#![allow(non_snake_case, reason = "the names are zlib's")]

pub mod checksum;
pub mod deflate;
mod device;
pub mod gz;
pub mod inflate;
pub mod misc;
mod pool;
pub mod settings;
pub mod stats;
pub mod whole;
