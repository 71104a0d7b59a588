//! Symmetric operations: what programs call in bulk, with texts of any length.
//!
//! [`list`] has the algorithms. A cipher's value keeps its IV and what a text in pieces leaves over;
//! the arithmetic is the runtime's: a [`lookaside::Running`] state, kept for the key and restarted for
//! each text, runs at once on the caller's thread. Whole pieces of what runs faster side by side
//! pause the job they run in ([`offload`]).

pub mod aead;
pub mod block;
pub mod cbc_hmac;
pub mod ccm;
pub mod chacha20_poly1305;
pub mod gcm;
pub mod list;
pub mod multiblock;
pub mod null;
pub mod offload;
pub mod record;
pub mod session;
pub mod stream;
pub mod xts;
