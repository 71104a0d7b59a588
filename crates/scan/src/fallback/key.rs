//! Bytes that every match contains, soon after its start.
//!
//! `\d{3}-\d{4}` matches nowhere without a `-`, at most 3 bytes behind the start of a match. While no match is under way,
//! all bytes up to 3 before the next `-` can be passed over. `[a-z]+@` likewise: as a match may start anywhere, the state
//! before the `@` depends on one byte alone.
use std::collections::BTreeSet;

use super::fragment::{Entry, Fragment};
use super::gate::byte_weight;
use crate::node::ByteSet;

/// Most bytes of a key.
const BYTES: usize = 8;
/// Most bytes from the start of a match to its key.
const BACK: u32 = 32;
/// Bound of the work for one fragment: classes that are tried times edges.
const WORK: usize = 1 << 18;

/// The bytes, one of which every match contains, and the most bytes of a match before the first of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) bytes: ByteSet,
    pub(super) back: u32,
}

impl Key {
    /// Expected cycles for a byte: of the search, and of the stops.
    pub(super) fn cost(&self) -> f64 {
        let rate: f64 = self.bytes.iter().map(byte_weight).sum();
        0.2 + rate * (60.0 + 5.0 * f64::from(self.back))
    }
}

/// The key of fragments that run together.
pub(super) fn of(fragments: &[&Fragment]) -> Option<Key> {
    let mut all = Key { bytes: ByteSet::EMPTY, back: 0 };
    for fragment in fragments {
        if fragment.entries[1..].iter().all(|entry| *entry == Entry::default()) {
            // Matches only at the start of the data: no match of it begins behind.
            continue;
        }
        let key = key(fragment)?;
        all.bytes = all.bytes.union(key.bytes);
        all.back = all.back.max(key.back);
    }
    (!all.bytes.is_empty() && all.bytes.len() <= BYTES).then_some(all)
}

fn key(fragment: &Fragment) -> Option<Key> {
    let entry = &fragment.entries[1];
    if fragment.entries[2..].iter().any(|other| other != entry) || entry.accept || entry.accept_end
    {
        return None;
    }
    let edges: usize = fragment.positions.iter().map(|it| it.follow.len() + 1).sum();
    let mut classes: BTreeSet<(usize, ByteSet)> = BTreeSet::new();
    for position in &fragment.positions {
        if position.bytes.len() <= 3 {
            let common = position
                .bytes
                .iter()
                .filter(|byte| byte.is_ascii_alphanumeric() || *byte == b' ')
                .count();
            classes.insert((position.bytes.len() + 3 * common, position.bytes));
        }
    }
    let tries = WORK / (edges + 1);
    classes
        .into_iter()
        .take(tries)
        .find_map(|(_, bytes)| Some(Key { bytes, back: back(fragment, bytes)? }))
}

/// The most bytes of a match before its first byte of `bytes`; `None`: it may have none, or at any distance.
fn back(fragment: &Fragment, bytes: ByteSet) -> Option<u32> {
    let positions = &fragment.positions;
    let first: BTreeSet<u32> = fragment.entries[1].follow.iter().copied().collect();
    let is_key =
        |at: u32| positions[at as usize].bytes.intersection(bytes) == positions[at as usize].bytes;
    // The longest path to each position without a key, by rounds: one more byte each.
    let mut now = first.clone();
    for depth in 0..=BACK {
        now.retain(|&at| !is_key(at));
        if now.is_empty() {
            return Some(depth);
        }
        let mut next = BTreeSet::new();
        for &at in &now {
            let position = &positions[at as usize];
            if position.accept.or(position.accept_end).is_some() {
                return None;
            }
            // What follows a start anyhow needs no edge from here: a match may as well start later.
            next.extend(position.follow.iter().copied().filter(|to| !first.contains(to)));
        }
        now = next;
    }
    None
}
