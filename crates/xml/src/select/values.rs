//! Tables of values: which conditions ask for a value of an attribute.
//!
//! ```text
//! words  = the first 16 bytes, zeros behind a shorter value
//! hash   = of words and length
//! filter: 16 bits for each value, of which the one at its hash is set: most other values end here
//! slots:  at the hash of all bytes, then the next ones in order
//! ```

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use crate::hash::mix;

/// A value, and its first bytes as numbers.
#[derive(Clone, Copy)]
pub(super) struct Value<'a> {
    text: &'a [u8],
    words: [u64; 2],
}

impl<'a> Value<'a> {
    /// `buffer[from..from + len]`: what follows in the buffer is loaded, too.
    #[inline(always)]
    pub(super) fn within(buffer: &'a [u8], from: usize, len: usize) -> Value<'a> {
        let text = buffer.get(from..from + len).unwrap_or(&[]);
        let Some(near) = buffer.get(from..).and_then(|rest| rest.first_chunk::<SHORT>()) else {
            return Value::new(text);
        };
        let mut words = u128::from_le_bytes(*near);
        if text.len() < SHORT {
            words &= (1 << (8 * text.len())) - 1;
        }
        Value { text, words: [words as u64, (words >> 64) as u64] }
    }

    #[inline]
    pub(super) fn new(text: &'a [u8]) -> Value<'a> {
        let mut near = [0; SHORT];
        let len = text.len().min(SHORT);
        near[..len].copy_from_slice(&text[..len]);
        let words = u128::from_le_bytes(near);
        Value { text, words: [words as u64, (words >> 64) as u64] }
    }
}

/// Values whose bytes are all in the words.
const SHORT: usize = 16;

/// What values lead to.
#[derive(Debug)]
pub(super) struct Values {
    seed: u64,
    /// Bits of the hash that are the number of a slot.
    bits: u32,
    filter: Box<[u64]>,
    slots: Box<[Slot]>,
    texts: Vec<Box<[u8]>>,
    targets: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    words: [u64; 2],
    len: u32,
    /// The number of the text, and the range of its targets; an empty range: no value.
    text: u32,
    from: u32,
    to: u32,
}

/// There are `2^FILTER_BITS` times as many bits in the filter as slots.
const FILTER_BITS: u32 = 3;

impl Values {
    /// Words of memory for each value.
    pub(super) const WORDS: usize = 16;

    /// The targets of each value are in the order of `all`.
    pub(super) fn new(mut all: Vec<(&str, u32)>) -> Values {
        all.sort_by_key(|(text, _)| *text);
        // 64 bits of the filter at least.
        let bits = (all.len() * 2).next_power_of_two().trailing_zeros().max(6 - FILTER_BITS);
        let empty = Slot { words: [0; 2], len: 0, text: 0, from: 0, to: 0 };
        let mut values = Values {
            seed: RandomState::new().build_hasher().finish() | 1,
            bits,
            filter: vec![0; 1 << (bits + FILTER_BITS - 6)].into(),
            slots: vec![empty; 1 << bits].into(),
            texts: Vec::new(),
            targets: all.iter().map(|it| it.1).collect(),
        };
        let mut from = 0;
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            let value = Value::new(same[0].0.as_bytes());
            let hash = values.hash(&value);
            let (word, bit) = values.filter_bit(hash);
            values.filter[word] |= bit;
            let mut at = values.slot(hash, &value);
            while values.slots[at].from != values.slots[at].to {
                at = (at + 1) & (values.slots.len() - 1);
            }
            let (len, text) = (value.text.len() as u32, values.texts.len() as u32);
            let to = from + same.len() as u32;
            values.slots[at] = Slot { words: value.words, len, text, from, to };
            values.texts.push(value.text.into());
            from = to;
        }
        values
    }

    /// The targets of a value.
    #[inline(always)]
    pub(super) fn get(&self, value: &Value<'_>) -> &[u32] {
        let hash = self.hash(value);
        let (word, bit) = self.filter_bit(hash);
        if self.filter[word] & bit == 0 { &[] } else { self.find(hash, value) }
    }

    #[inline(never)]
    fn find(&self, hash: u64, value: &Value<'_>) -> &[u32] {
        let mut at = self.slot(hash, value);
        loop {
            let slot = &self.slots[at];
            if slot.from == slot.to {
                return &[];
            }
            if slot.words == value.words
                && slot.len as usize == value.text.len()
                && (value.text.len() <= SHORT || *self.texts[slot.text as usize] == *value.text)
            {
                return &self.targets[slot.from as usize..slot.to as usize];
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[inline(always)]
    fn hash(&self, value: &Value<'_>) -> u64 {
        let [a, b] = value.words;
        let len = value.text.len() as u64;
        mix(a ^ self.seed, b ^ 0x9e37_79b9_7f4a_7c15 ^ len << 56 ^ len)
    }

    /// The word of the filter, and the bit in it.
    #[inline(always)]
    fn filter_bit(&self, hash: u64) -> (usize, u64) {
        let word = hash >> 32 & (self.filter.len() as u64 - 1);
        (word as usize, 1 << (hash & 63))
    }

    fn slot(&self, mut hash: u64, value: &Value<'_>) -> usize {
        if value.text.len() > SHORT {
            for part in value.text[SHORT..].chunks(8) {
                let mut near = [0; 8];
                near[..part.len()].copy_from_slice(part);
                let part = u64::from_le_bytes(near);
                hash = mix(hash ^ part, self.seed ^ 0xd6e8_feb8_6659_fd93);
            }
        }
        (hash >> (64 - self.bits)) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_targets() {
        let whole = "abcdefghijklmnopqrstuvwxyz0123456789".repeat(2);
        let mut all: Vec<(&str, u32)> = Vec::new();
        // All lengths; values that differ in their first, a middle and their last byte; one value twice.
        for from in 0..2 {
            for to in from..=whole.len() {
                all.push((&whole[from..to], (from * 100 + to) as u32));
            }
        }
        all.push(("abc", 7));
        all.push(("abc", 5));
        let values = Values::new(all.clone());
        for (text, _) in &all {
            let at = whole.find(text).unwrap();
            let own =
                [Value::new(text.as_bytes()), Value::within(whole.as_bytes(), at, text.len())];
            for value in own {
                let expected = all.iter().filter(|it| it.0 == *text).map(|it| it.1);
                assert_eq!(values.get(&value), expected.collect::<Vec<_>>());
            }
            for at in 0..text.len() {
                let mut other = text.as_bytes().to_vec();
                other[at] ^= 1;
                let expected = all.iter().filter(|it| it.0.as_bytes() == other).map(|it| it.1);
                assert_eq!(values.get(&Value::new(&other)), expected.collect::<Vec<_>>());
            }
        }
        assert!(Values::new(vec![]).get(&Value::new(b"")).is_empty());
        assert_eq!(Values::new(vec![("", 3)]).get(&Value::new(b"")), [3]);
    }
}
