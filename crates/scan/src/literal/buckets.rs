//! Which windows share a bucket of the vector filter.

use std::ops::Range;

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
    let (_, buckets) = cheapest(count, sets * BUCKETS, |i, j| costs[i][j]);
    let mut tables = vec![vec![[0; 256]; len]; sets];
    for (bucket, range) in buckets.into_iter().enumerate() {
        for window in &windows[range] {
            for (k, table) in tables[bucket / BUCKETS].iter_mut().enumerate() {
                for byte in window.at(k) {
                    table[usize::from(byte)] |= 1 << (bucket % BUCKETS);
                }
            }
        }
    }
    tables
}

/// The cheapest split of so many things into neighbours, `most` of them or fewer; `cost` is that of the things from the i-th to
/// the i+j-th together. The whole cost, and the parts in order.
pub(super) fn cheapest(
    count: usize,
    most: usize,
    cost: impl Fn(usize, usize) -> f32,
) -> (f32, Vec<Range<usize>>) {
    // best[j]: the cost of the first j things in as many parts as there were rounds; before[round][j]: how many of them
    // are in other parts than the last one.
    let mut best = vec![f32::INFINITY; count + 1];
    best[0] = 0.0;
    let mut before = Vec::new();
    for _ in 0..most {
        let (mut next, mut from) = (best.clone(), vec![usize::MAX; count + 1]);
        for (i, first) in best[..count].iter().enumerate() {
            for end in i + 1..=count {
                let cost = first + cost(i, end - i - 1);
                if cost < next[end] {
                    (next[end], from[end]) = (cost, i);
                }
            }
        }
        best = next;
        before.push(from);
    }
    let (mut parts, mut end) = (Vec::new(), count);
    for from in before.iter().rev() {
        // Else the part is empty: fewer do as well.
        if from[end] != usize::MAX {
            parts.push(from[end]..end);
            end = from[end];
        }
    }
    assert_eq!(end, 0, "each thing has a part");
    parts.reverse();
    (best[count], parts)
}
