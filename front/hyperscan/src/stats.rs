//! What the calls of this process did: `LOOKASIDE_STATS` and `LOOKASIDE_COUNTERS`, as [`Statistics`] says.
//!
//! The report of a process also has the patterns of each database that matched most and had most candidates ([`sets`]);
//! pages have no room for them.

mod sets;

use lookaside_drop_in::Statistics;
use lookaside_scan::Set;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// Databases compiled, with the bytes of their tables.
    Databases,
    /// Their patterns, with the bytes of their text.
    Patterns,
    /// Compilations that were refused.
    Refused,
    /// Databases compiled again of saved patterns: deserialised, or mapped from elsewhere.
    Loaded,
    /// Scans of whole texts, with their bytes and matches.
    Block,
    /// Scans of pieces of streams.
    Stream,
    /// Scans of texts that lie in several places.
    Vectored,
}

/// The row of each [`Kind`].
static ROWS: [&str; 7] = [
    "scan.compile, databases",
    "scan.compile, patterns",
    "scan.compile, refused",
    "scan.load, databases",
    "scan, block",
    "scan, stream",
    "scan, vectored",
];

static STATISTICS: Statistics =
    Statistics::new("hyperscan", "libhs", &ROWS, ["count", "bytes", "matches"], at_exit)
        .with(sets::report, sets::reset);

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| STATISTICS.print());
}

/// Counts calls, bytes and matches.
#[inline]
pub fn count(kind: Kind, counts: [u64; 3]) {
    STATISTICS.count(kind as usize, counts);
}

/// The set of a database, with counters if the report is going to have them.
pub fn counted(set: Set) -> Set {
    match STATISTICS.reports() {
        true => sets::register(set),
        false => set,
    }
}
