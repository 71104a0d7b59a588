//! Between little-endian byte strings, one per lane, and vectors of their 64-bit words.

use crate::lanes::Lanes;

/// Row `i` has word `i` of every lane's string, of `8 N` bytes.
pub(crate) fn gather<'a, const N: usize, const BYTES: usize>(
    string: impl Fn(usize) -> &'a [u8; BYTES],
) -> [[u64; 8]; N] {
    const { assert!(BYTES == 8 * N) };
    let mut rows = [[0; 8]; N];
    for lane in 0..8 {
        for (row, bytes) in rows.iter_mut().zip(string(lane).chunks_exact(8)) {
            row[lane] = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        }
    }
    rows
}

/// The string of one lane, of which `string` takes the first words.
pub(crate) fn scatter(rows: &[[u64; 8]], lane: usize, string: &mut [u8]) {
    for (row, bytes) in rows.iter().zip(string.chunks_exact_mut(8)) {
        bytes.copy_from_slice(&row[lane].to_le_bytes());
    }
}

/// Rows as vectors.
#[inline(always)]
pub(crate) fn load<V: Lanes, const N: usize>(rows: &[[u64; 8]; N]) -> [V; N] {
    let mut words = [V::splat(0); N];
    for (word, row) in words.iter_mut().zip(rows) {
        *word = V::load(row);
    }
    words
}

/// Vectors as rows.
#[inline(always)]
pub(crate) fn store<V: Lanes, const N: usize>(words: &[V; N], rows: &mut [[u64; 8]; N]) {
    for (word, row) in words.iter().zip(rows) {
        word.store(row);
    }
}
