//! Lookaside as an OpenSSL 3 provider: `lookaside.so`.
//!
//! OpenSSL loads it by configuration and finds implementations in it by name, as in its default
//! provider. Each operation becomes a request to Lookaside's runtime. Outside of an `ASYNC_JOB` a
//! request runs at once on the caller's thread; inside one, where that pays, it is submitted, the
//! job pauses, and one batch later completes many of them ([`lane`] has the reasoning).
//!
//! * [`ffi`] declares what OpenSSL's headers do; [`dispatch`] turns safe traits (`Keymgmt`,
//!   `Signature`, ...) into its tables of functions, with all pointers and a wall that no panic
//!   passes; [`param`] reads and answers `OSSL_PARAM` arrays.
//! * [`key`], [`signature`], [`cipher`], [`exchange`] and [`kdf`] implement those traits for
//!   public-key operations, [`bulk`], [`hash`] and [`mac`] for
//!   symmetric ones, without `unsafe`.
//! * [`lane`] executes; [`provider`] holds runtimes and sessions; [`settings`] are what openssl.cnf
//!   says; [`algorithms`] is the list of everything that is offered.
#![deny(unsafe_code)]
// Each function here has the meaning that OpenSSL's manual gives it: provider-keymgmt(7) and so on.
#![allow(clippy::missing_errors_doc)]

pub mod algorithms;
pub mod bulk;
pub mod capability;
pub mod choice;
pub mod cipher;
pub mod der;
pub mod digest;
pub mod dispatch;
pub mod entry;
pub mod error;
pub mod exchange;
#[allow(unsafe_code)]
pub mod ffi;
pub mod hash;
pub mod kdf;
pub mod key;
pub mod lane;
pub mod library;
pub mod mac;
pub mod param;
pub mod provider;
pub mod settings;
pub mod signature;
pub mod statistics;
