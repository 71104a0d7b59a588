//! What the calls of this process did: `LOOKASIDE_STATS`, as [`Statistics`] says.

use lookaside_drop_in::{Row, Statistics, table::Library};

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

static ROWS: [Row; 3] =
    [Row::new("xml, documents"), Row::new("xml, pieces"), Row::new("xml, external entities")];

static STATISTICS: Statistics =
    Statistics::new(Library::Expat, "libexpat", &ROWS, ["count", "bytes", "-"], at_exit);

extern "C" fn at_exit() {
    let _ = std::panic::catch_unwind(|| STATISTICS.print());
}

/// Counts calls and bytes.
#[inline]
pub fn count(kind: Kind, counts: [u64; 3]) {
    STATISTICS.count(kind as usize, counts);
}
