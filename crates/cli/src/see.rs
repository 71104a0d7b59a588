//! The pages of processes: gathered, and shown by `lookaside run`, `lookaside top` and `lookaside metrics`.

mod functions;
pub(crate) mod gather;
pub(crate) mod metrics;
pub(crate) mod own;
pub(crate) mod row;
pub(crate) mod screen;
mod serve;
pub(crate) mod top;
