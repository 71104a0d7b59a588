//! What every drop-in library has: counters of what it served.
//!
//! A library declares its rows and a [`Statistics`], and counts. `LOOKASIDE_STATS` asks for a report when the process
//! ends: `1` on standard error, a path appends to that file. Where the file is a [`table`], as `lookaside run` makes one,
//! every process adds to its rows as it counts, so that processes that end by `_exit` or a signal are in it too.
//!
//! The variable is read with the first count; but for tables, nothing is opened before the end. A child of `fork` counts
//! from zero and prints its own report. Without the variable a count costs one load.
#![deny(unsafe_code)]

mod statistics;
pub mod table;

pub use statistics::{Row, Statistics};
