//! The libraries behind the service: thin, safe wrappers of their C functions.
//!
//! What owns a C object frees it, and clears it first where it may hold a secret. AWS-LC's take and
//! give bytes; the lanes of intel-ipsec-mb take packets, whose many pointers they keep together.
#![allow(unsafe_code)]

pub(crate) mod aws_lc;
pub(crate) mod aws_lc_aead;
pub(crate) mod aws_lc_hash;
#[cfg_attr(not(ipsec_mb), path = "ipsec_mb_absent.rs")]
pub(crate) mod ipsec_mb;
#[cfg_attr(not(ipsec_mb), allow(dead_code, reason = "the library that takes them is absent"))]
pub(crate) mod ipsec_mb_steps;
