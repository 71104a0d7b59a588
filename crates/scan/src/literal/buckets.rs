//! Which windows share a bucket of the vector filter.

use super::Bytes;
use super::bytes::{ByteModel, members};
use super::kernel::MOST_TABLES;

/// Buckets of a set of tables: bits of a byte.
const BUCKETS: usize = 8;

/// A window of 1 to [`MOST_TABLES`] bytes: at each place a few, or a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorWindow {
    sets: [Bytes; MOST_TABLES],
    len: usize,
    /// What windows are sorted by: neighbours share their first bytes.
    key: u32,
}

impl VectorWindow {
    /// Of the bytes that may stand at each place.
    pub(super) fn new(window: &[Bytes]) -> VectorWindow {
        let mut sets = [[0; 4]; MOST_TABLES];
        sets[..window.len()].copy_from_slice(window);
        let key = u32::from_be_bytes(sets.map(|set| members(&set).next().unwrap_or(0) | 0x20));
        VectorWindow { sets, len: window.len(), key }
    }

    /// The bytes at position `k`.
    fn at(&self, k: usize) -> impl Iterator<Item = u8> {
        members(&self.sets[k])
    }
}

/// The bytes that pass the tables of a bucket, position by position.
#[derive(Clone)]
struct Union<'a> {
    model: &'a ByteModel,
    /// Whether the tables are of nibbles, and so also pass bytes whose nibbles come from two others.
    nibbles: bool,
    len: usize,
    sets: [[u64; 4]; MOST_TABLES],
    /// Low and high nibbles.
    halves: [[u16; 2]; MOST_TABLES],
    /// The probabilities that a byte passes, in the two kinds of haystacks.
    sums: [[f32; 2]; MOST_TABLES],
}

impl<'a> Union<'a> {
    fn new(len: usize, nibbles: bool, model: &'a ByteModel) -> Union<'a> {
        let (sets, halves) = ([[0; 4]; MOST_TABLES], [[0; 2]; MOST_TABLES]);
        Union { model, nibbles, len, sets, halves, sums: [[0.0; 2]; MOST_TABLES] }
    }

    fn add(&mut self, window: &VectorWindow) {
        for k in 0..self.len {
            for byte in window.at(k) {
                let (word, bit) = (usize::from(byte >> 6), 1 << (byte & 63));
                if self.sets[k][word] & bit != 0 {
                    continue;
                }
                self.sets[k][word] |= bit;
                if self.nibbles {
                    self.add_nibbles(k, byte);
                } else {
                    self.passes(k, byte);
                }
            }
        }
    }

    fn passes(&mut self, k: usize, byte: u8) {
        for (sum, probability) in self.sums[k].iter_mut().zip(self.model.of(byte)) {
            *sum += probability;
        }
    }

    fn add_nibbles(&mut self, k: usize, byte: u8) {
        let (low, high) = (1 << (byte & 15), 1 << (byte >> 4));
        let [lows, highs] = self.halves[k];
        let bits = |set: u16| (0..16_u8).filter(move |bit| set >> bit & 1 != 0);
        if lows & low == 0 {
            bits(highs).for_each(|high| self.passes(k, high << 4 | byte & 15));
        }
        if highs & high == 0 {
            bits(lows | low).for_each(|low| self.passes(k, byte & 0xf0 | low));
        }
        self.halves[k] = [lows | low, highs | high];
    }

    /// The probability that a position passes.
    fn rate(&self) -> f32 {
        let of_kind =
            |kind: usize| self.sums[..self.len].iter().map(|sums| sums[kind]).product::<f32>();
        0.5 * (of_kind(0) + of_kind(1))
    }
}

/// About how likely a position passes the filter for `windows`, which have one length, with as many sets of tables. Sorts
/// them.
pub(super) fn estimate(
    windows: &mut [VectorWindow],
    sets: usize,
    nibbles: bool,
    model: &ByteModel,
) -> f32 {
    windows.sort_unstable_by_key(|window| window.key);
    let rate = |bucket: &[VectorWindow]| {
        let mut union = Union::new(bucket[0].len, nibbles, model);
        bucket.iter().for_each(|window| union.add(window));
        union.rate()
    };
    windows.chunks(windows.len().div_ceil(sets * BUCKETS)).map(rate).sum()
}

/// As many sets of tables for `windows`, which have one length: in each set, for each position, the buckets of each byte.
/// Sorts them, and chooses the neighbours that share a bucket so that the least candidates are expected.
pub(super) fn tables(
    windows: &mut [VectorWindow],
    sets: usize,
    nibbles: bool,
    model: &ByteModel,
) -> Vec<Vec<[u8; 256]>> {
    windows.sort_unstable_by_key(|window| window.key);
    let (len, count) = (windows[0].len, windows.len());
    // Of all windows from the i-th to the i+j-th in one bucket: the rate.
    let costs: Vec<Vec<f32>> = (0..count)
        .map(|i| {
            let mut union = Union::new(len, nibbles, model);
            let with = |window| {
                union.add(window);
                union.rate()
            };
            windows[i..].iter().map(with).collect()
        })
        .collect();
    // best[j]: the rate of the first j windows in as many buckets as there were rounds; before[round][j]: how many of them
    // are in other buckets than the last one.
    let mut best = vec![f32::INFINITY; count + 1];
    best[0] = 0.0;
    let mut before = Vec::new();
    for _ in 0..sets * BUCKETS {
        let (mut next, mut from) = (best.clone(), vec![usize::MAX; count + 1]);
        for (i, costs) in costs.iter().enumerate() {
            for (j, cost) in costs.iter().enumerate().map(|(j, cost)| (i + j + 1, cost)) {
                if best[i] + cost < next[j] {
                    (next[j], from[j]) = (best[i] + cost, i);
                }
            }
        }
        best = next;
        before.push(from);
    }
    let mut tables = vec![vec![[0; 256]; len]; sets];
    let mut end = count;
    for (bucket, from) in before.iter().enumerate().rev() {
        // Else the bucket is empty: fewer do as well.
        let begin = if from[end] == usize::MAX { end } else { from[end] };
        for window in &windows[begin..end] {
            for (k, table) in tables[bucket / BUCKETS].iter_mut().enumerate() {
                for byte in window.at(k) {
                    table[usize::from(byte)] |= 1 << (bucket % BUCKETS);
                }
            }
        }
        end = begin;
    }
    assert_eq!(end, 0, "each window has a bucket");
    tables
}
