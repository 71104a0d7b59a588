//! Development only: what tests and benches of Lookaside share. Simulated and faulty devices and a
//! virtual clock (they are ordinary devices and clocks: nothing in the runtime knows of them), a
//! seeded generator, data to compress, and what a tracer sees of a program.
#![deny(unsafe_code)]

mod clock;
mod conformance;
mod data;
mod fault;
mod rng;
mod sim;
pub mod tracing;

pub use clock::VirtualClock;
pub use conformance::{conformance, conformance_before, symmetric_before};
pub use data::{corpus, mixed, zeros_and_runs};
pub use fault::{FaultDevice, Faults};
pub use rng::{Rng, each_seed};
pub use sim::{SLOW, SimDevice};
