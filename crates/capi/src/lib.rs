//! The C interface of Lookaside: `include/lookaside.h` and `liblookaside.so`.
//!
//! The header is the manual; each function here has the name and meaning that the header gives it.
//! This crate adds nothing to the runtime but what C needs:
//!
//! * [`mod@pointer`]: who owns what a pointer points at, as a type of each argument;
//! * [`settings`]: structures that may grow, told apart by their size;
//! * [`status`]: frozen numbers, the last error's text, and a wall that no panic passes;
//! * [`request`]: memory of the caller into [`lookaside::Buf`]s, checked as far as it can be.
//!
//! The functions may be called from Rust too, by tests and fuzz targets.
//!
//! The border is `unsafe` all along, so each module allows it: what a caller in C must keep to is
//! written in the header, and each block says which of it the block relies on.
#![deny(unsafe_code)]
#![allow(non_camel_case_types)]
// "As the header has it" is the safety contract of every function here; the header is the manual.
#![allow(clippy::missing_safety_doc)]

pub mod counters;
pub mod instance;
mod out;
pub mod pointer;
pub mod request;
pub mod runtime;
pub mod scan;
pub mod session;
pub mod settings;
pub mod status;
pub mod xml;
