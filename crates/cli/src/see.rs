//! The pages of processes: gathered, and shown by `lookaside run`, `lookaside top` and `lookaside metrics`.

pub(crate) mod own;
pub(crate) mod row;
