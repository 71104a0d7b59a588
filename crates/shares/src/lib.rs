//! Who gets how much of a device: virtual functions, each with the services that it may use and the rates
//! that it is promised; what requests cost on this machine; and whether both go together.
//!
//! Plain logic: it knows no sockets, no threads and no clock. A server, or an orchestrator's agent,
//! reads a file of virtual functions ([`parse`]), asks [`Admission`] whether the device can keep the
//! promises, and opens a tenant of the runtime with [`Admission::config`].
//!
//! ```
//! use lookaside_shares::{Admission, Capacity, Measure, parse};
//!
//! let text = "
//! [web]
//! services = pke sym
//! weight = 4
//! committed = 5000 RSA/s
//!
//! [backup]
//! services = dc
//! committed = 2 Gbit/s DEFLATE
//! peak = 4 Gbit/s DEFLATE
//! ";
//! let functions = parse(text)?;
//! // Two engines; on one, an RSA operation takes 50 us, a KB of DEFLATE 2 us.
//! let capacity = Capacity::new(2).cost(Measure::Rsa, 50_000.0).cost(Measure::Deflate, 2.0 / 8.0);
//! let mut admission = Admission::new(capacity);
//! for function in &functions {
//!     admission.admit(function)?;
//! }
//! let more = parse("[late]\nservices = pke\ncommitted = 30000 RSA/s\n")?;
//! let refused = admission.admit(&more[0]).unwrap_err();
//! assert!(refused.to_string().starts_with("late: 30000 RSA/s are asked for, "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod admission;
mod costs;
mod file;
mod measure;

pub use admission::{Admission, Capacity, Refused};
pub use costs::{Costs, CostsError, Row};
pub use file::{ParseError, Vf, parse, print};
pub use measure::{Measure, Rate};
