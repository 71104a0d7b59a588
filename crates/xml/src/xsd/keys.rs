//! Keys of identity constraints, and references to them: bytes one behind the other, without memory of their own.
//!
//! ```text
//! slots: (32 bits of the hash, number of the key plus one; 0: none) at the hash, then the next ones in order
//! ```

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::hash::{mix, word};

/// A set of keys, each of which may be marked.
#[derive(Debug)]
pub(crate) struct Keys {
    seed: u64,
    bytes: Vec<u8>,
    keys: Vec<Key>,
    slots: Vec<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Key {
    /// Where its bytes end: they begin where those of the key before end.
    to: usize,
    is_marked: bool,
}

/// Slots of a set that has few keys.
const MIN_SLOTS: usize = 16;

impl Default for Keys {
    fn default() -> Keys {
        let seed = RandomState::new().build_hasher().finish() | 1;
        Keys { seed, bytes: Vec::new(), keys: Vec::new(), slots: Vec::new() }
    }
}

impl Keys {
    /// Keeps the memory, if that is not far too much.
    pub(crate) fn clear(&mut self) {
        if self.slots.len() > MIN_SLOTS.max(self.keys.len() * 16) {
            *self = Keys { seed: self.seed, ..Keys::default() };
        }
        self.bytes.clear();
        self.keys.clear();
        self.slots.fill(0);
    }

    /// Whether a key is marked; `None`: it is not there.
    pub(crate) fn get(&self, key: &[u8]) -> Option<bool> {
        if self.keys.is_empty() {
            return None;
        }
        let number = self.find(self.hash(key), key).ok()?;
        Some(self.keys[number].is_marked)
    }

    /// Adds a key without mark. Returns `false` if it was there.
    #[inline]
    pub(crate) fn insert(&mut self, key: &[u8]) -> bool {
        self.entry(key).1
    }

    /// Adds the keys of another set with their marks; those that are here too are marked if `marks`, or else stay as they are.
    pub(crate) fn extend(&mut self, other: &Keys, marks: bool) {
        for (number, Key { is_marked, .. }) in other.keys.iter().enumerate() {
            let (number, is_new) = self.entry(other.bytes(number));
            self.keys[number].is_marked |= if is_new { *is_marked } else { marks };
        }
    }

    /// The number of a key, and whether it is new.
    #[inline]
    fn entry(&mut self, key: &[u8]) -> (usize, bool) {
        if self.keys.len() * 2 >= self.slots.len() {
            self.grow();
        }
        let hash = self.hash(key);
        match self.find(hash, key) {
            Ok(number) => (number, false),
            Err(slot) => {
                let number = self.keys.len();
                self.bytes.extend_from_slice(key);
                self.keys.push(Key { to: self.bytes.len(), is_marked: false });
                self.slots[slot] = hash & HIGH | (number as u64 + 1);
                (number, true)
            }
        }
    }

    #[inline]
    fn bytes(&self, number: usize) -> &[u8] {
        let from = if number == 0 { 0 } else { self.keys[number - 1].to };
        &self.bytes[from..self.keys[number].to]
    }

    /// The number of a key, or the slot where it would be.
    fn find(&self, hash: u64, key: &[u8]) -> Result<usize, usize> {
        let mask = self.slots.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot == 0 {
                return Err(at);
            }
            if (slot ^ hash) & HIGH == 0 {
                let number = (slot & !HIGH) as usize - 1;
                if self.bytes(number) == key {
                    return Ok(number);
                }
            }
            at = (at + 1) & mask;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let len = (self.slots.len() * 2).max(MIN_SLOTS);
        self.slots.clear();
        self.slots.resize(len, 0);
        for number in 0..self.keys.len() {
            let hash = self.hash(self.bytes(number));
            let mask = self.slots.len() - 1;
            let mut at = hash as usize & mask;
            while self.slots[at] != 0 {
                at = (at + 1) & mask;
            }
            self.slots[at] = hash & HIGH | (number as u64 + 1);
        }
    }

    #[inline]
    fn hash(&self, key: &[u8]) -> u64 {
        let (mut hash, second) = (self.seed ^ key.len() as u64, self.seed ^ 0xd6e8_feb8_6659_fd93);
        let mut rest = key;
        while rest.len() > 16
            && let Some((words, more)) = rest.split_first_chunk::<16>()
        {
            hash = mix(word(&words[..8]) ^ hash, word(&words[8..]) ^ second);
            rest = more;
        }
        let [first, last] = match (rest.first_chunk::<8>(), rest.last_chunk::<8>()) {
            (Some(first), Some(last)) => [first, last].map(|it| u64::from_le_bytes(*it)),
            _ => [word(rest), 0],
        };
        let hash = mix(first ^ hash, last ^ second);
        hash ^ hash >> 32
    }
}

const HIGH: u64 = !(u32::MAX as u64);

/// A step of a path: name and position.
pub(crate) type Step = (u32, u32);

/// Keys that are referred to, and where from.
#[derive(Debug, Default)]
pub(crate) struct References {
    bytes: Vec<u8>,
    steps: Vec<Step>,
    /// The ends of each one's bytes and steps, and its place.
    all: Vec<(usize, usize, u64)>,
}

impl References {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.steps.clear();
        self.all.clear();
    }

    /// Adds one; `path` appends its steps.
    pub(crate) fn push(&mut self, key: &[u8], path: &dyn Fn(&mut Vec<Step>), place: u64) {
        self.bytes.extend_from_slice(key);
        path(&mut self.steps);
        self.all.push((self.bytes.len(), self.steps.len(), place));
    }

    /// Key, steps and place of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &[Step], u64)> {
        let mut from = (0, 0);
        self.all.iter().map(move |(bytes, steps, place)| {
            let one = (&self.bytes[from.0..*bytes], &self.steps[from.1..*steps], *place);
            from = (*bytes, *steps);
            one
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_have_what_was_added() {
        let key = |n: usize| format!("{:>1$}", n * 7, n % 30).into_bytes();
        let mut keys = Keys::default();
        for count in [3, 5000, 2, 40] {
            keys.clear();
            for n in 0..count {
                assert_eq!(keys.get(&key(n)), None);
                assert!(keys.insert(&key(n)));
                assert!(!keys.insert(&key(n)));
            }
            for n in 0..2 * count {
                assert_eq!(keys.get(&key(n)), (n < count).then_some(false));
            }
            assert_eq!(keys.get(b"\0"), None);
        }
        let mut above = Keys::default();
        assert!(above.insert(&key(1)) && above.insert(&key(50)));
        above.extend(&keys, true);
        let mut top = Keys::default();
        assert!(top.insert(&key(1)));
        top.extend(&above, false);
        assert_eq!([above.get(&key(1)), above.get(&key(2))], [Some(true), Some(false)]);
        assert_eq!([top.get(&key(1)), top.get(&key(50))], [Some(false), Some(false)]);
    }

    #[test]
    fn references_keep_their_order() {
        let mut all = References::default();
        for _ in 0..2 {
            all.clear();
            all.push(b"a", &|steps| steps.extend([(1, 2), (3, 4)]), 7);
            all.push(b"", &|_| {}, 8);
            all.push(b"bc", &|steps| steps.push((5, 6)), 9);
        }
        let all: Vec<_> = all.iter().collect();
        let expected: [(&[u8], &[Step], u64); 3] =
            [(b"a", &[(1, 2), (3, 4)], 7), (b"", &[], 8), (b"bc", &[(5, 6)], 9)];
        assert_eq!(all, expected);
    }
}
