//! What every drop-in library has: counters of what it served.
//!
//! A library names its rows, declares a [`Statistics`], and counts. `LOOKASIDE_STATS` asks for a report when the process
//! ends: `1` on standard error, a path appends to that file. `LOOKASIDE_COUNTERS` has the counts lie in the page of the process
//! ([`lookaside_page`]), where others read them, also when it has ended by `_exit` or a signal; `lookaside run` asks for it.
//!
//! The variables are read with the first count. A child of `fork` counts from zero, prints its own report and has its own page.
//! Without the variables a count costs one load.
//! A library with reports of its own counts in pages alone: [`Paged`].
#![deny(unsafe_code)]

mod paged;
mod statistics;

pub use lookaside_page::LONGEST_NAME;
pub use paged::Paged;
pub use statistics::Statistics;
