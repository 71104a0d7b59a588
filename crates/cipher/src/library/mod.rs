//! The libraries behind the service: thin, safe wrappers of their C functions.
//!
//! What owns a C object frees it, and clears it first where it may hold a secret. No function here
//! knows a session or a packet: they take and give bytes.
#![allow(unsafe_code)]

#[cfg_attr(not(ipsec_mb), path = "ipsec_mb_absent.rs")]
pub(crate) mod ipsec_mb;
pub(crate) mod ipsec_mb_steps;
