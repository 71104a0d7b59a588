//! What matches of an expression are like: their length, and how much of what follows a match must be known before it is
//! one.

use std::borrow::Cow;

use super::analysis::{empty_inside, exact_width};
use super::{Pattern, without_character};
use crate::{Assertion, Node};

/// What matches of an expression are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The least number of bytes of a match.
    pub min_width: u64,
    /// The largest number; `None`: no bound.
    pub max_width: Option<u64>,
    /// Some match is one only because of the byte after it, so that a streaming matcher knows of it one byte later.
    pub unordered: bool,
    /// Some match is one only because the data ends.
    pub at_end: bool,
    /// All matches are.
    pub only_at_end: bool,
}

impl Pattern {
    /// What its matches are like, without regard to the extended parameters.
    pub fn shape(&self) -> Shape {
        let node = without_character(self);
        let (min_width, mut max_width) = exact_width(&node);
        if matches!(node, Cow::Owned(_)) && empty_inside(&node) {
            // As in the original, which has the rest of a character before what is empty.
            max_width = max_width.map(|most| most.max(3));
        }
        let mut start = Ends::default();
        for before in Before::ALL {
            start.insert(before, ANYTHING);
        }
        let ends = advance(&self.node, start);
        let conditions: Vec<u8> = ends.iter().map(|(_, after)| after).collect();
        let conditional =
            |bits: u8| conditions.iter().any(|&after| after != ANYTHING && after & bits != 0);
        Shape {
            min_width,
            max_width,
            unordered: conditional(!END),
            at_end: conditional(END),
            only_at_end: !conditions.is_empty()
                && conditions.iter().all(|&after| after & !(END | LAST_NEWLINE) == 0),
        }
    }
}

/// The byte before a place.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Start,
    Word,
    Newline,
    Other,
}

impl Before {
    const ALL: [Before; 4] = [Before::Start, Before::Word, Before::Newline, Before::Other];
}

// What may follow a place, as bits.
const END: u8 = 1;
const WORD: u8 = 2;
/// A newline that is the last byte.
const LAST_NEWLINE: u8 = 4;
const NEWLINE: u8 = 8;
const OTHER: u8 = 16;
const ANYTHING: u8 = 31;

/// Places where a match may be so far: for each byte before, the bits of the sets of what must follow.
#[derive(Clone, Copy, Default, PartialEq)]
struct Ends([u32; 4]);

impl Ends {
    fn insert(&mut self, before: Before, after: u8) {
        if after != 0 {
            self.0[before as usize] |= 1 << after;
        }
    }

    fn union(mut self, other: Ends) -> Ends {
        self.0.iter_mut().zip(other.0).for_each(|(own, other)| *own |= other);
        self
    }

    fn iter(self) -> impl Iterator<Item = (Before, u8)> {
        Before::ALL.into_iter().flat_map(move |before| {
            (1..=ANYTHING)
                .filter(move |after| self.0[before as usize] >> after & 1 != 0)
                .map(move |after| (before, after))
        })
    }
}

/// Where a match may be after `node`, if it may be at `from` before.
fn advance(node: &Node, from: Ends) -> Ends {
    let mut to = Ends::default();
    match node {
        Node::Empty => to = from,
        Node::Class(set) => {
            for (_, after) in from.iter() {
                for byte in set.iter() {
                    match byte {
                        b'\n' => {
                            let last = if after & LAST_NEWLINE != 0 { END } else { 0 };
                            let more = if after & NEWLINE != 0 { ANYTHING & !END } else { 0 };
                            to.insert(Before::Newline, last | more);
                        }
                        _ if is_word(byte) && after & WORD != 0 => {
                            to.insert(Before::Word, ANYTHING)
                        }
                        _ if !is_word(byte) && after & OTHER != 0 => {
                            to.insert(Before::Other, ANYTHING);
                        }
                        _ => {}
                    }
                }
            }
        }
        Node::Concat(nodes) => to = nodes.iter().fold(from, |at, node| advance(node, at)),
        Node::Alternate(nodes) => {
            to = nodes.iter().fold(to, |to, node| to.union(advance(node, from)));
        }
        Node::Assert(assertion) => {
            for (before, after) in from.iter() {
                to.insert(before, after & allowed(*assertion, before));
            }
        }
        Node::Repeat { node, min, max } => {
            // Repetitions that lead nowhere new lead nowhere new any more.
            let mut at = from;
            for _ in 0..*min {
                let next = advance(node, at);
                if next == at {
                    break;
                }
                at = next;
            }
            to = at;
            for _ in 0..max.map_or(u32::MAX, |max| max - min) {
                at = advance(node, at);
                if to.union(at) == to {
                    break;
                }
                to = to.union(at);
            }
        }
    }
    to
}

/// What may follow a place with this byte before it where the assertion holds.
fn allowed(assertion: Assertion, before: Before) -> u8 {
    let word = if before == Before::Word { ANYTHING & !WORD } else { WORD };
    let when = |holds: bool, after: u8| if holds { after } else { 0 };
    match assertion {
        Assertion::TextStart => when(before == Before::Start, ANYTHING),
        Assertion::TextEnd => END,
        Assertion::TextEndOrNewline => END | LAST_NEWLINE,
        Assertion::LineStart => match before {
            Before::Start => ANYTHING,
            Before::Newline => ANYTHING & !END,
            _ => 0,
        },
        Assertion::LineEnd => END | LAST_NEWLINE | NEWLINE,
        Assertion::WordBoundary => word,
        Assertion::NotWordBoundary => ANYTHING & !word,
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syntax::{Extended, Flags};

    #[test]
    fn shapes_are_those_that_hyperscan_tells() {
        // Least and largest width; unordered, at the end, only there.
        for (expression, min, max, flags) in [
            ("abc", 3, Some(3), [false, false, false]),
            ("abc.*def", 6, None, [false, false, false]),
            ("abc(def){0,3}", 3, Some(12), [false, false, false]),
            ("^", 0, Some(0), [false, false, false]),
            ("^\\b", 0, Some(0), [true, false, false]),
            ("\\b$", 0, Some(0), [true, true, true]),
            ("(?m)\\b$", 0, Some(0), [true, true, false]),
            ("\\z", 0, Some(0), [false, true, true]),
            ("\\Z", 0, Some(0), [true, true, true]),
            ("(?m)foo$", 3, Some(3), [true, true, false]),
            (r"foo\b.?\bbar", 7, Some(7), [false, false, false]),
            (r"\Bx?\b", 1, Some(1), [true, true, false]),
            (r"(\bfor.(all)?){3,4}", 12, Some(19), [false, false, false]),
            (r"(bin\b(thr)*)*\z", 0, Some(3), [false, true, true]),
            (r"\b(a|bc\b)+", 1, None, [true, true, false]),
            (r"(\b\s*){3,9}a\b", 1, None, [true, true, false]),
            (r"(a\b.{0,3}\b){1000}", 1999, Some(4000), [true, true, false]),
            ("foo|bar\\z", 3, Some(3), [false, true, false]),
        ] {
            let flags_of = Flags { allow_empty: true, ..Flags::default() };
            let pattern =
                Pattern::parse(0, expression.as_bytes(), flags_of, Extended::default()).unwrap();
            let shape = pattern.shape();
            assert_eq!((shape.min_width, shape.max_width), (min, max), "{expression}");
            let found = [shape.unordered, shape.at_end, shape.only_at_end];
            assert_eq!(found, flags, "{expression}");
        }
    }

    #[test]
    fn what_may_be_empty_has_its_own_width_in_utf8() {
        for (expression, min, max) in [
            (r"\b(abcd)?\Z", 0, Some(4)),
            ("a{0,9}", 0, Some(9)),
            ("é?", 0, Some(3)),
            ("", 0, Some(3)),
            (r"\B(17)?", 0, Some(3)),
            ("^|a", 0, Some(1)),
            ("(?m)1?$", 0, Some(1)),
            (r"\b$", 0, Some(0)),
            (r"(?s)(\A|.)x?", 0, Some(5)),
            (r"(?s)(\A|.)abc", 3, Some(7)),
        ] {
            let flags = Flags { allow_empty: true, utf8: true, ..Flags::default() };
            let pattern = Pattern::parse(0, expression.as_bytes(), flags, Extended::default());
            let shape = pattern.unwrap().shape();
            assert_eq!((shape.min_width, shape.max_width), (min, max), "{expression}");
        }
    }
}
