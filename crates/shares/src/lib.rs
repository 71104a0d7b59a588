//! Who gets how much of a device: virtual functions, each with the services that it may use and the rates
//! that it is promised; what requests cost on this machine; and whether both go together.
//!
//! Plain logic: it knows no sockets, no threads and no clock. A server, or an orchestrator's agent, asks [`Admission`]
//! whether the device can keep the promises, and opens a tenant of the runtime with [`Admission::config`].
//!
//! ```
//! use lookaside::Service;
//! use lookaside_shares::{Admission, Capacity, Measure, Rate, Vf};
//!
//! // Two engines; on one, an RSA operation takes 50 us, a KB of DEFLATE 2 us.
//! let capacity = Capacity::new(2).cost(Measure::Rsa, 50_000.0).cost(Measure::Deflate, 2.0 / 8.0);
//! let mut admission = Admission::new(capacity);
//! let committed = Rate::parse_list("5000 RSA/s")?;
//! admission.admit(&Vf { weight: 4, committed, ..Vf::new("web", [Service::Pke, Service::Sym]) })?;
//! let committed = Rate::parse_list("35000 RSA/s")?;
//! let late = Vf { committed, ..Vf::new("late", [Service::Pke]) };
//! let refused = admission.admit(&late).unwrap_err();
//! assert!(refused.to_string().starts_with("late: 35000 RSA/s are asked for, "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![deny(unsafe_code)]

mod admission;
mod costs;
mod function;
mod measure;

pub use admission::{Admission, Capacity, Refused};
pub use costs::{Costs, CostsError, Row};
pub use function::Vf;
pub use measure::{Measure, Rate};
