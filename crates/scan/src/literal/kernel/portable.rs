//! The vector filter without vectors: one table of 256 bytes for each position.
//!
//! ```text
//! for at in begin..end:
//!     if AND over k of table[k][hay[at + k]] != 0: candidate at
//! ```
//!
//! Shapes, preconditions and answers are those of the kernels with vectors; where these look up nibbles, this one has
//! fewer candidates. Source: ours. Covered by the tests of `literal` and by the bench `literal`.

use super::Candidates;

/// Adds the candidates from `begin` to `end`, relative to `begin`. All of `end + tables.len() - 1` is within `hay`.
pub(super) fn vector(
    tables: &[[u8; 256]],
    hay: &[u8],
    (begin, end): (usize, usize),
    out: &mut Candidates,
) {
    let hay = &hay[begin..end + tables.len() - 1];
    for (at, bytes) in hay.windows(tables.len()).enumerate() {
        let buckets = tables
            .iter()
            .zip(bytes)
            .fold(u8::MAX, |all, (table, &byte)| all & table[usize::from(byte)]);
        if buckets != 0 {
            out.push_checked(at as u32);
        }
    }
}
