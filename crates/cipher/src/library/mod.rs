//! The libraries behind the service: thin, safe wrappers of their C functions.
//!
//! What owns a C object frees it, and clears it first where it may hold a secret. No function here
//! knows a session or a packet: they take and give bytes.
#![allow(unsafe_code)]

pub(crate) mod aws_lc;
pub(crate) mod aws_lc_aead;
pub(crate) mod aws_lc_hash;
