//! Lookaside: a software-defined acceleration device behind one asynchronous interface.
//!
//! A [`Runtime`] holds devices and engines. A program prepares a typed session once, opens an
//! [`Instance`] for each of its threads, and keeps many requests outstanding: push, ring the
//! doorbell, poll. A [`Handle`] gives the same as a future, or as a blocking call.
//!
//! The runtime starts no device by itself: the program passes those that it wants (the CPU device
//! is the package `lookaside-cpu`).
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use lookaside::{Buf, Compression, InstanceConfig, Runtime};
//! use std::time::Duration;
//!
//! let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(2).start()?;
//! let session = runtime.compression(Compression::default())?;
//! let mut instance = runtime.instance(InstanceConfig::default())?;
//!
//! for tag in 0..8 {
//!     let src = Buf::from(vec![tag as u8; 10_000]);
//!     let dst = Buf::zeroed(session.bound(src.len()));
//!     instance.push(session.compress(src, dst).tag(tag))?;
//! }
//! instance.doorbell(); // one for all eight
//!
//! let mut answered = 0;
//! while instance.wait(Duration::from_secs(1)) {
//!     for response in instance.poll() {
//!         let done = response.result?;
//!         assert_eq!(done.consumed, 10_000);
//!         answered += 1;
//!     }
//! }
//! assert_eq!(answered, 8);
//! # Ok(())
//! # }
//! ```
#![deny(unsafe_code)]

mod abandoned;
mod arbiter;
mod batcher;
mod calls;
mod clock;
mod counters;
mod cpus;
mod documents;
mod doorbell;
mod engine;
mod event;
mod fork;
mod instance;
mod memory;
mod patience;
mod pke;
mod port;
mod ring;
mod route;
mod runtime;
mod scanner;
mod scheduler;
mod session;
mod signals;
mod sla;
mod sym;
mod sync;
mod tenant;
mod tsc;
mod worker;

pub use calls::{Call, Handle};
pub use clock::{Clock, Monotonic};
pub use counters::{Counters, Histogram, OpCounters};
pub use documents::{DocumentStream, Documents};
pub use engine::{Engine, Step};
pub use fork::generation as fork_generation;
pub use instance::{
    Completions, Full, Instance, InstanceConfig, Polled, Poller, PushError, Submitter, Unrelated,
};
pub use lookaside_core::*;
pub use pke::{
    BinaryField, Dh, Dsa, DsaParameters, Ec, Eddsa, Hkdf, Modular, Prime, RsaGenerate, RsaPrivate,
    RsaPublic, Sm2, TlsPrf, Weierstrass, Xdh,
};
pub use route::{Route, RouteEntry};
pub use runtime::{Builder, Runtime};
pub use scanner::{ScanStream, Scanner};
pub use session::{CompressSession, CompressStream, DecompressStream, Mover, Random};
pub use sla::{Priority, STEP_NS, Sla, Unit};
pub use sym::{AeadSession, ChainSession, CipherSession, DigestSession, Set, TlsCbcSession};
pub use tenant::Tenant;
