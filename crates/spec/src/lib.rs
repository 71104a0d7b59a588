//! The specifications, arguments, results and errors of Lookaside's services, each of them once, as
//! plain data.
//!
//! Services, the core and devices share these types, so nothing is converted between them. A module
//! for each service has what only that service needs; [`Hash`](enum@Hash), [`Secret`], [`Done`] and
//! [`OpError`] are everybody's. Programs find all of it under the runtime (package `lookaside`).
//!
//! A service supports a part of what an enumeration names (no service has every hash for every
//! purpose); it answers the rest with [`OpError::Unsupported`].
//!
//! ```
//! use lookaside_spec::{dc::{Compression, Format}, Hash};
//!
//! let spec = Compression::new(Format::Gzip).level(6);
//! assert!(spec.validate().is_ok());
//! assert_eq!(Hash::Sha256.len(), 32);
//! ```
#![deny(unsafe_code)]

pub mod dc;
mod error;
mod hash;
pub mod kdf;
mod op;
pub mod pke;
mod result;
pub mod scan;
mod secret;
pub mod sym;
pub mod xml;

pub use error::{BadReason, Lost, OpError};
pub use hash::Hash;
pub use op::{Op, Service};
pub use result::{Done, Outcome, Status, store_result};
pub use secret::Secret;
