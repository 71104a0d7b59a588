//! What an expression matches, by definition: the ends that are reached from a set of places.
use std::collections::{BTreeMap, BTreeSet};

use crate::node::{Assertion, Node};

fn holds(assertion: Assertion, text: &[u8], at: usize) -> bool {
    let word =
        |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    let before = at.checked_sub(1).and_then(|at| text.get(at));
    let boundary = word(before) != word(text.get(at));
    match assertion {
        Assertion::TextStart => at == 0,
        Assertion::TextEnd => at == text.len(),
        Assertion::TextEndOrNewline => {
            at == text.len() || (at + 1 == text.len() && text[at] == b'\n')
        }
        Assertion::LineStart => at == 0 || text[at - 1] == b'\n' && at < text.len(),
        Assertion::LineEnd => at == text.len() || text[at] == b'\n',
        Assertion::WordBoundary => boundary,
        Assertion::NotWordBoundary => !boundary,
    }
}

fn ends(node: &Node, text: &[u8], from: &BTreeSet<usize>) -> BTreeSet<usize> {
    match node {
        Node::Empty => from.clone(),
        Node::Class(bytes) => from
            .iter()
            .filter(|&&at| at < text.len() && bytes.contains(text[at]))
            .map(|at| at + 1)
            .collect(),
        Node::Concat(nodes) => {
            nodes.iter().fold(from.clone(), |from, node| ends(node, text, &from))
        }
        Node::Alternate(nodes) => nodes.iter().flat_map(|node| ends(node, text, from)).collect(),
        Node::Repeat { node, min, max } => {
            let mut now = from.clone();
            for _ in 0..*min {
                now = ends(node, text, &now);
            }
            let mut all = now.clone();
            let mut more = max.map_or(u32::MAX, |max| max - min);
            while more > 0 && !now.is_empty() {
                let next = ends(node, text, &now);
                now = next.difference(&all).copied().collect();
                all.extend(&now);
                more -= 1;
            }
            all
        }
        Node::Assert(assertion) => {
            from.iter().copied().filter(|&at| holds(*assertion, text, at)).collect()
        }
    }
}

/// The end of each match, with its least start.
pub(super) fn matches(node: &Node, text: &[u8], empty: bool) -> BTreeMap<usize, usize> {
    let mut all = BTreeMap::new();
    for start in 0..=text.len() {
        for end in ends(node, text, &BTreeSet::from([start])) {
            if end > start || empty {
                all.entry(end).or_insert(start);
            }
        }
    }
    all
}
