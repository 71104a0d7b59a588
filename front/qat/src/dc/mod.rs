//! Data compression: `cpa_dc*.h`.
//!
//! * [`setup`]: what a session is set up with, into the service's parameters;
//! * [`session`]: sessions, stateless and stateful; [`codec`]: the runtime's sessions behind them;
//! * [`request`]: one request, from buffers to results; [`answer`]: what its results say, with [`verify`] and
//!   [`overflow`];
//! * [`calls`], [`plane`]: the functions of the traditional interface and of the data plane;
//! * [`chain`]: compression with a hash or an AEAD;
//! * [`capability`], [`frame`], [`skip`]: what is there; headers and footers; regions left out.

pub mod answer;
pub mod calls;
pub mod capability;
pub mod chain;
pub mod codec;
pub mod dictionary;
pub mod frame;
pub mod overflow;
pub mod plane;
pub mod request;
pub mod session;
pub mod setup;
pub mod skip;
pub mod verify;
