//! A Hyperscan library, `libhs.so.5`: the functions of Hyperscan 5.4.0, over [`lookaside_scan`].
//!
//! Every function is documented in Hyperscan's headers (`hs_compile.h`, `hs_runtime.h`, `hs_common.h`), which are the
//! specification; what is said here is how it is done.
//!
//! A call works on the caller's thread, from its checks to its last callback. What a caller holds is memory of its own
//! allocators: a database is a header with the saved patterns and a pointer to the compiled set ([`database`]); a
//! stream is a header with the set's flat state ([`stream`]); a scratch has the working memory of one thread
//! ([`scratch`]). A panic becomes `HS_UNKNOWN_ERROR` and crosses no boundary.
#![allow(
    clippy::missing_safety_doc,
    reason = "Hyperscan's headers say what callers must guarantee"
)]
#![allow(
    rustdoc::private_intra_doc_links,
    reason = "nobody links this crate: its pages are for who works on it"
)]

pub mod abi;
pub mod compile;
pub mod database;
pub mod error;
pub mod expression;
pub mod memory;
pub mod platform;
pub mod scan;
pub mod scratch;
pub mod stats;
pub mod stream;
mod wording;

use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// The result of `f`, or `HS_UNKNOWN_ERROR` if it panics.
#[inline]
fn guard(f: impl FnOnce() -> c_int) -> c_int {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or(abi::HS_UNKNOWN_ERROR)
}
