//! Patterns that can match only from the start of the text on: the first bytes of most texts show that they do not.

use std::cell::Cell;
use std::ops::ControlFlow;

use crate::fallback::byte_weight;
use crate::node::{Assertion, ByteSet, Node};
use crate::plan::End;
use crate::strings;
use crate::tail::Tail;

/// Bytes that are looked at: a pattern that has not failed by then may match.
const MOST_BYTES: usize = 64;
/// More take longer to look at than they save.
const MOST: usize = 16;
/// A pattern whose first bytes are so frequent (their share of the bytes of a text) seldom fails soon.
const FREQUENT: f64 = 0.6;

/// Patterns that can match only from the start of the text on.
#[derive(Debug, Default)]
pub(crate) struct Openers(Vec<Opener>);

/// An alternative of one.
#[derive(Debug)]
struct Opener {
    /// The bytes that it may begin with; `None`: it may be empty.
    first: Option<ByteSet>,
    /// All of it, and perhaps more.
    whole: Tail,
    end: End,
}

impl Openers {
    /// Adds a pattern. Returns whether it is there then: it is not if it may begin elsewhere, is too large, begins with frequent bytes,
    /// or there are too many.
    pub(crate) fn add(&mut self, node: &Node) -> bool {
        let Some(alternatives) = alternatives(node) else { return false };
        let opener = |(parts, end): (Vec<Node>, End)| {
            let first = strings::first(&parts);
            let weight = |first: ByteSet| first.iter().map(byte_weight).sum::<f64>();
            let whole = Tail::roughly(&parts)?;
            first.is_none_or(|first| weight(first) < FREQUENT).then_some(Opener {
                first,
                whole,
                end,
            })
        };
        let all: Option<Vec<_>> = alternatives.into_iter().map(opener).collect();
        let Some(all) = all.filter(|all| self.0.len() + all.len() <= MOST) else { return false };
        self.0.extend(all);
        true
    }

    /// Memory in bytes.
    pub(crate) fn memory(&self) -> usize {
        size_of_val(&self.0[..]) + self.0.iter().map(|it| it.whole.memory()).sum::<usize>()
    }

    /// Whether a match may be in a whole text.
    pub(crate) fn has_any(&self, text: &[u8]) -> bool {
        self.0.iter().any(|opener| opener.may_match(text))
    }
}

impl Opener {
    fn may_match(&self, text: &[u8]) -> bool {
        if self.first.is_some_and(|first| text.first().is_none_or(|byte| !first.contains(*byte))) {
            return false;
        }
        let (mut may, too_long) = (false, Cell::new(false));
        let byte = |i: usize| {
            let byte = text.get(i).copied();
            too_long.set(i >= MOST_BYTES && byte.is_some());
            byte.filter(|_| i < MOST_BYTES)
        };
        self.whole.run(byte, |length| {
            may = match self.end {
                End::Text => length == text.len(),
                End::TextOrNewline => matches!(&text[length..], [] | [b'\n']),
                End::Anywhere | End::Before { .. } => true,
            };
            if may { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        may || too_long.get()
    }
}

/// Of each alternative, the parts behind `^` and where a match must end. `None`: an alternative may begin elsewhere.
fn alternatives(node: &Node) -> Option<Vec<(Vec<Node>, End)>> {
    if let Node::Alternate(all) = node {
        let all: Option<Vec<_>> = all.iter().map(alternatives).collect();
        return Some(all?.into_iter().flatten().collect());
    }
    let mut parts = vec![];
    flatten(node, &mut parts);
    let (Node::Assert(Assertion::TextStart), rest) = parts.split_first()? else { return None };
    let (rest, end) = match rest.split_last() {
        Some((Node::Assert(Assertion::TextEnd), rest)) => (rest, End::Text),
        Some((Node::Assert(Assertion::TextEndOrNewline), rest)) => (rest, End::TextOrNewline),
        _ => (rest, End::Anywhere),
    };
    Some(vec![(rest.iter().map(|part| (*part).clone()).collect(), end)])
}

/// The parts of a node one after the other.
fn flatten<'a>(node: &'a Node, parts: &mut Vec<&'a Node>) {
    match node {
        Node::Empty => {}
        Node::Concat(all) => all.iter().for_each(|part| flatten(part, parts)),
        _ => parts.push(node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fallback::tests::{Random, random};
    use crate::reference::matches;
    use crate::syntax::{Extended, Flags, Pattern};

    fn pattern(node: Node) -> Pattern {
        let (flags, extended) = (Flags::default(), Extended::default());
        Pattern { id: 0, flags, extended, node, combination: None }
    }

    /// An expression behind `^`, sometimes before `$` or `\z`.
    fn anchored(chance: &mut Random) -> Node {
        let assertions = chance.chance(2);
        let mut parts =
            vec![Node::Assert(Assertion::TextStart), random::node(chance, 3, assertions)];
        match chance.below(4) {
            0 => parts.push(Node::Assert(Assertion::TextEnd)),
            1 => parts.push(Node::Assert(Assertion::TextEndOrNewline)),
            _ => {}
        }
        Node::Concat(parts)
    }

    #[test]
    fn what_may_match_is_looked_at() {
        let (mut added, mut matched, mut none) = (0, 0, 0);
        for seed in 0..6000 {
            let chance = &mut Random::new(seed);
            let nodes: Vec<Node> = (0..1 + chance.below(3)).map(|_| anchored(chance)).collect();
            let node = match nodes.len() {
                1 => nodes[0].clone(),
                _ => Node::Alternate(nodes),
            };
            let mut openers = Openers::default();
            if !openers.add(&node) {
                continue;
            }
            added += 1;
            let pattern = pattern(node);
            for _ in 0..6 {
                let mut text = random::text(chance, 12);
                text.extend((chance.below(4) == 0).then_some(b'\n'));
                if chance.chance(9) {
                    text = text.repeat(20);
                }
                let (may, is) = (openers.has_any(&text), !matches(&pattern, &text).is_empty());
                assert!(may || !is, "{:?} in {}", pattern.node, text.escape_ascii());
                matched += usize::from(is);
                none += usize::from(!may);
            }
        }
        assert!(added > 2000 && matched > 1000 && none > 1000, "{added} {matched} {none}");
    }

    #[test]
    fn what_may_begin_elsewhere_is_none() {
        let class = |byte| Node::Class(ByteSet::one(byte));
        let start = || Node::Assert(Assertion::TextStart);
        let add = |node: Node| Openers::default().add(&node);
        assert!(add(Node::Concat(vec![start(), class(b'#')])));
        assert!(!add(class(b'#')));
        assert!(!add(Node::Alternate(vec![Node::Concat(vec![start(), class(b'#')]), class(b'#')])));
        let many = (0..=MOST).map(|_| Node::Concat(vec![start(), class(b'#')])).collect();
        assert!(!add(Node::Alternate(many)));
        // It is not seen soon whether this is there.
        let long = Node::Repeat { node: Box::new(Node::Class(ByteSet::ALL)), min: 0, max: None };
        assert!(!add(Node::Concat(vec![start(), Node::Class(ByteSet::ALL), long])));
    }
}
