//! What the calls of this process did: `LOOKASIDE_STATS` and `LOOKASIDE_COUNTERS`, as [`Statistics`] says.

use lookaside_drop_in::Statistics;

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Kind {
    /// Documents that were begun.
    Documents,
    /// Pieces of documents and of external entities, with their bytes.
    Parsed,
    /// Parsers of external entities.
    Entities,
}

static ROWS: [&str; 3] = ["xml, documents", "xml, pieces", "xml, external entities"];

static STATISTICS: Statistics =
    Statistics::new("expat", "libexpat", &ROWS, ["count", "bytes", "-"], at_exit);

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| STATISTICS.print());
}

/// Counts calls and bytes.
#[inline]
pub fn count(kind: Kind, counts: [u64; 3]) {
    STATISTICS.count(kind as usize, counts);
}
