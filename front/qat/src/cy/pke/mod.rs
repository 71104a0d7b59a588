//! Public keys, key derivation and large numbers.
//!
//! Every operation is a request of the runtime, so that requests of one kind run side by side whatever keys they have
//! ([`request`]); what an operation needs beside it are steps on the thread that polls ([`steps`]). Programs give keys
//! and parameters with each request: sessions are found again by them ([`cache`]), curves by name ([`curves`]).
//!
//! Sources are copied when a request is submitted, results when it is answered, into memory that is overwritten when it
//! is freed: outputs may be inputs, and lengths need not be the runtime's.

pub mod cache;
pub mod counters;
pub mod curves;
pub mod dh;
pub mod dsa;
pub mod ec;
pub mod ecdsa;
pub mod edwards;
pub mod key;
pub mod ln;
pub mod number;
pub mod prime;
pub mod request;
pub mod rsa;
pub mod sm2;
pub mod stats;
pub mod steps;
