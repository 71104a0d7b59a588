//! Segments at the start of the text, by the two bytes that it begins with.

use crate::node::ByteSet;
use crate::tail::Tail;

/// A segment with that many pairs of bytes or more is filed under its first byte alone.
const MANY: usize = 256;
/// Keys of pairs: six bits of each byte, which tell letters and digits apart.
const PAIRS: usize = 1 << 12;

/// One segment, the first of its sequence.
#[derive(Debug)]
pub(crate) struct Start {
    pub chain: u32,
    pub whole: Tail,
}

/// The bytes that a match may begin with.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Beginning {
    /// A match may be empty.
    Anything,
    /// The first byte, and nothing is known of the second one.
    Byte(ByteSet),
    /// The first two bytes.
    Pair(ByteSet, ByteSet),
}

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Starts {
    all: Vec<Start>,
    always: Vec<u32>,
    by_byte: Vec<Vec<u32>>,
    /// Of each pair: 1 more than the place in `of_pair`, or 0. Most have none: a table that takes little of a cache says so.
    by_pair: Vec<u16>,
    of_pair: Vec<Vec<u32>>,
}

fn key(first: u8, second: u8) -> usize {
    usize::from(first & 63) << 6 | usize::from(second & 63)
}

impl Starts {
    pub(crate) fn add(&mut self, chain: u32, whole: Tail, beginning: Beginning) {
        let number = self.all.len() as u32;
        self.all.push(Start { chain, whole });
        match beginning {
            Beginning::Anything => self.always.push(number),
            Beginning::Pair(first, second) if first.len() * second.len() < MANY => {
                self.by_pair.resize(PAIRS, 0);
                for first in first.iter() {
                    for second in second.iter() {
                        let place = &mut self.by_pair[key(first, second)];
                        if *place == 0 {
                            self.of_pair.push(vec![]);
                            *place = self.of_pair.len() as u16;
                        }
                        let list = &mut self.of_pair[usize::from(*place) - 1];
                        if list.last() != Some(&number) {
                            list.push(number);
                        }
                    }
                }
            }
            Beginning::Byte(first) | Beginning::Pair(first, _) => {
                self.by_byte.resize(256, vec![]);
                first.iter().for_each(|byte| self.by_byte[usize::from(byte)].push(number));
            }
        }
    }

    /// How many they are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a segment may match at the start of `text`.
    #[inline]
    pub(crate) fn has_any(&self, text: &[u8]) -> bool {
        let mut any = false;
        if !self.is_empty() {
            self.each_list(text, |list| any |= !list.is_empty());
        }
        any
    }

    /// Calls `visit` with each segment that may match at the start of `text`.
    #[inline]
    pub(crate) fn each(&self, text: &[u8], mut visit: impl FnMut(&Start)) {
        self.each_list(text, |list| {
            list.iter().for_each(|&number| visit(&self.all[number as usize]));
        });
    }

    #[inline(always)]
    fn each_list(&self, text: &[u8], mut visit: impl FnMut(&[u32])) {
        visit(&self.always);
        let [first, rest @ ..] = text else { return };
        if let Some(list) = self.by_byte.get(usize::from(*first)) {
            visit(list);
        }
        if let [second, ..] = rest
            && let Some(&place) = self.by_pair.get(key(*first, *second))
            && place > 0
        {
            visit(&self.of_pair[usize::from(place) - 1]);
        }
    }
}
