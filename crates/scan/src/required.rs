//! Strings that each match of a pattern has somewhere, and which bytes may stand before and behind them.
//!
//! A pattern that is no sequence may still have such strings: `(?:\w+\W)+foo[^"]*(?:a|b)+"`. An automaton runs for it then,
//! but only around an occurrence: from where a match may begin, at most behind the last byte that nothing before the
//! string matches (a newline, mostly), to the first byte that nothing behind it does.

use std::borrow::Cow;

use crate::node::{ByteSet, Node, width};
use crate::strings::{Choice, Common, best_run, is_language, split_ways};

/// The most strings.
const MAX_STRINGS: usize = 256;
/// What twice the strings cost, in bits.
const ALTERNATIVE: f64 = 1.0;
/// Nesting that is looked into.
const DEPTH: usize = 16;
/// What strings must be worth, in bits (see `strings`): about two letters.
const LEAST: f64 = 9.0;
/// Rare strings, in bits: about four letters.
const RARE: f64 = 18.0;
/// What it costs, in bits, that anything may stand before the strings, so that an occurrence is looked at from the
/// beginning of the text on.
const OPEN: f64 = 12.0;

/// What stands on one side of the strings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Side {
    /// The bytes that occur there.
    pub bytes: ByteSet,
    /// The most of them.
    pub most: Option<u64>,
}

/// Strings that announce a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Required {
    /// How rare they are, in bits.
    score: f64,
    /// One of them is in each match.
    pub strings: Choice,
    pub before: Side,
    pub after: Side,
}

impl Side {
    const NONE: Side = Side { bytes: ByteSet::EMPTY, most: Some(0) };

    fn of(parts: &[Cow<'_, Node>]) -> Side {
        parts.iter().map(|part| of(part)).fold(Side::NONE, Side::and)
    }

    fn and(self, other: Side) -> Side {
        let most = self.most.zip(other.most).map(|(a, b)| a.saturating_add(b));
        Side { bytes: self.bytes.union(other.bytes), most }
    }

    fn or(self, other: Side) -> Side {
        let most = self.most.zip(other.most).map(|(a, b)| a.max(b));
        Side { bytes: self.bytes.union(other.bytes), most }
    }

    /// Whether anything may stand there, however much.
    fn is_open(&self) -> bool {
        self.most.is_none_or(|most| most > 1024) && self.bytes.contains(b'\n')
    }
}

impl Required {
    /// The strings to look for. With `closed`, nothing open stands before them.
    pub(crate) fn new(node: &Node, closed: bool, common: &Common) -> Option<Required> {
        let found = best(node, DEPTH, closed, common)?;
        (found.score >= LEAST && !(closed && found.before.is_open())).then_some(found)
    }

    /// Whether an occurrence is worth more than several others: it is rare, and little is around it.
    pub(crate) fn is_rare(&self) -> bool {
        self.score >= RARE && !self.before.is_open() && !self.after.is_open()
    }

    /// What it is worth, less what is to be looked at where it occurs.
    fn value(&self, closed: bool) -> f64 {
        let open = if closed { 1000.0 } else { OPEN };
        self.score.min(30.0) - if self.before.is_open() { open } else { 0.0 }
    }
}

fn of(node: &Node) -> Side {
    let most = width(node).1;
    let mut bytes = ByteSet::EMPTY;
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        match node {
            Node::Empty | Node::Assert(_) | Node::Repeat { max: Some(0), .. } => {}
            Node::Class(class) => bytes = bytes.union(*class),
            Node::Concat(parts) | Node::Alternate(parts) => stack.extend(parts),
            Node::Repeat { node, .. } => stack.push(node),
        }
    }
    Side { bytes, most }
}

fn best(node: &Node, depth: usize, closed: bool, common: &Common) -> Option<Required> {
    let depth = depth.checked_sub(1)?;
    match node {
        Node::Empty | Node::Assert(_) => None,
        Node::Class(_) => None,
        Node::Concat(_) => {
            let mut flat = vec![];
            flatten(node, &mut flat);
            let ways = split_ways(&flat);
            let found = ways.iter().flat_map(|parts| {
                let parts: Vec<Cow<'_, Node>> = parts.iter().map(Cow::Borrowed).collect();
                of_concat(&parts, depth, closed, common)
            });
            found.max_by(|a, b| a.value(closed).total_cmp(&b.value(closed)))
        }
        Node::Alternate(parts) => {
            let mut parts = parts.iter();
            let mut all = best(parts.next()?, depth, closed, common)?;
            for part in parts {
                let one = best(part, depth, closed, common)?;
                // As frequent as both together.
                all.score = -((-all.score).exp2() + (-one.score).exp2()).log2();
                all.before = all.before.or(one.before);
                all.after = all.after.or(one.after);
                let known = all.strings.len();
                for string in one.strings {
                    if !all.strings[..known].contains(&string) {
                        all.strings.push(string);
                    }
                }
                if all.strings.len() > MAX_STRINGS {
                    return None;
                }
            }
            Some(all)
        }
        Node::Repeat { min: 0, .. } => None,
        Node::Repeat { node: inner, min, max } => {
            let mut found = best(inner, depth, closed, common)?;
            if (*min, *max) != (1, Some(1)) {
                let rounds = Side { most: of(node).most, ..of(inner) };
                found.before = found.before.and(rounds);
                found.after = found.after.and(rounds);
            }
            Some(found)
        }
    }
}

fn flatten(node: &Node, out: &mut Vec<Node>) {
    match node {
        Node::Concat(parts) => parts.iter().for_each(|part| flatten(part, out)),
        Node::Repeat { node, min: 1, max: Some(1) } => flatten(node, out),
        _ => out.push(node.clone()),
    }
}

/// The best of the strings in each run of parts that are strings, and of those within other parts.
fn of_concat(
    parts: &[Cow<'_, Node>],
    depth: usize,
    closed: bool,
    common: &Common,
) -> Option<Required> {
    let mut found: Vec<Required> = vec![];
    let plain: Vec<bool> = parts.iter().map(|part| is_language(part)).collect();
    let mut at = 0;
    while at < parts.len() {
        let len = plain[at..].iter().take_while(|plain| **plain).count();
        if len > 0 {
            let run: Vec<Node> = parts[at..at + len].iter().map(|part| (**part).clone()).collect();
            if let Some(run) = best_run(&run, common) {
                found.push(Required {
                    // A string more costs less here than where each is a segment's.
                    score: run.score + (2.0 - ALTERNATIVE) * (run.strings.len() as f64).log2(),
                    strings: run.strings,
                    before: Side::of(&parts[..at + run.range.start]),
                    after: Side::of(&parts[at + run.range.end..]),
                });
            }
            at += len;
        } else {
            if let Some(mut one) = best(&parts[at], depth, closed, common) {
                one.before = Side::of(&parts[..at]).and(one.before);
                one.after = one.after.and(Side::of(&parts[at + 1..]));
                found.push(one);
            }
            at += 1;
        }
    }
    found.into_iter().max_by(|a, b| a.value(closed).total_cmp(&b.value(closed)))
}
