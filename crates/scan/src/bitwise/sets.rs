//! What expressions become: sets, each by others before it.

use super::{Report, STRETCH, Set};
use crate::fallback::byte_weight;
use crate::node::{Assertion, ByteSet, Node};
use crate::plan::{End, alternatives};

/// The most sets: a bit of each is carried, in one word.
const MOST_SETS: usize = 64;
/// Expected cycles for a byte: of a class, which each expression has, of another set, and of one that is worked out again and again.
/// Measured on Emerald Rapids with AVX2; with AVX-512 it is a little less.
pub(crate) const CLASS: f64 = 0.06;
const STEP: f64 = 0.05;
const AGAIN: f64 = 0.3;
/// The part of that which is left where the first bytes of matches are rare, at least.
const LEAST: f64 = 0.25;

/// Collects expressions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sets {
    pub(super) sets: Vec<Set>,
    pub(super) reports: Vec<Report>,
    /// Where the data end, matches may end at the last place.
    pub(super) at_end: Vec<Report>,
    /// How many sets there are that are worked out again and again.
    pub(super) again: usize,
    /// The classes that expressions begin with.
    firsts: Vec<ByteSet>,
    /// Such a set is not part of another one.
    is_within_again: bool,
}

/// Where an expression, or a part of it, may begin: anywhere, or behind the places of a set.
type Before = Option<u8>;

impl Sets {
    /// Adds an expression that matches no empty string, if it is for this and costs less than `most` more.
    pub(crate) fn add(&mut self, pattern: u32, node: &Node, once: bool, most: f64) -> bool {
        let before = (self.sets.len(), self.reports.len(), self.at_end.len(), self.again);
        let firsts = self.firsts.len();
        let cost = self.cost();
        let added = self.try_add(pattern, node, once).filter(|()| self.cost() - cost < most);
        if added.is_none() {
            self.is_within_again = false;
            self.sets.truncate(before.0);
            self.reports.truncate(before.1);
            self.at_end.truncate(before.2);
            self.again = before.3;
            self.firsts.truncate(firsts);
        }
        added.is_some()
    }

    fn try_add(&mut self, pattern: u32, node: &Node, once: bool) -> Option<()> {
        let report = |set, before| Report { pattern, set, before, once, needs: 0 };
        let mut anywhere = None;
        for (parts, end) in alternatives(node)? {
            let set = self.behind_all(None, &parts)??;
            match end {
                End::Anywhere => {
                    anywhere = match anywhere {
                        None => Some(set),
                        Some(other) => self.either(Some(other), Some(set))?,
                    }
                }
                End::Text => self.at_end.push(report(set, false)),
                End::TextOrNewline => {
                    self.at_end.push(report(set, false));
                    let set = self.then(set, ByteSet::one(b'\n'))?;
                    self.at_end.push(report(set, true));
                }
                End::Before { next, text_end } => {
                    if text_end {
                        self.at_end.push(report(set, false));
                    }
                    let set = self.then(set, next)?;
                    self.reports.push(report(set, true));
                }
            }
        }
        if let Some(set) = anywhere {
            self.reports.push(report(set, false));
        }
        Some(())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.reports.is_empty() && self.at_end.is_empty()
    }

    /// Expected cycles for a byte.
    pub(crate) fn cost(&self) -> f64 {
        let cost = |set: &Set| if matches!(set, Set::Class(_)) { CLASS } else { STEP };
        let cost = self.sets.iter().map(cost).sum::<f64>() + self.again as f64 * AGAIN;
        // What begins at the start of the data may go on for long.
        match self.rare_firsts().filter(|_| !self.sets.contains(&Set::Start)) {
            Some((_, weight)) => CLASS + cost * (weight * STRETCH as f64).clamp(LEAST, 1.0),
            None => cost,
        }
    }

    /// The bytes that matches begin with, but at the start of the data, if they are rare, and how frequent they are.
    pub(super) fn rare_firsts(&self) -> Option<(ByteSet, f64)> {
        let firsts = self.firsts.iter().fold(ByteSet::EMPTY, |all, class| all.union(*class));
        let weight = firsts.iter().map(byte_weight).sum::<f64>();
        (weight * (STRETCH as f64) < 0.7).then_some((firsts, weight))
    }

    /// The number of a set.
    fn number(&mut self, set: Set) -> Option<u8> {
        let known = self.sets.iter().position(|known| *known == set);
        // What is worked out again and again has no classes.
        if known.is_none() && self.is_within_again && matches!(set, Set::Class(_)) {
            return None;
        }
        let number = known.unwrap_or_else(|| {
            self.sets.push(set);
            self.sets.len() - 1
        });
        (number < MOST_SETS).then_some(number as u8)
    }

    /// The places of a class behind those of a set.
    fn then(&mut self, before: u8, class: ByteSet) -> Option<u8> {
        let class = self.number(Set::Class(class))?;
        self.number(Set::Then(before, class))
    }

    /// Numbers all classes of an expression.
    fn classes(&mut self, node: &Node) -> Option<()> {
        match node {
            Node::Empty | Node::Assert(_) => Some(()),
            Node::Class(class) => self.number(Set::Class(*class)).map(|_| ()),
            Node::Concat(parts) | Node::Alternate(parts) => {
                parts.iter().try_for_each(|part| self.classes(part))
            }
            Node::Repeat { node, .. } => self.classes(node),
        }
    }

    fn either(&mut self, a: Before, b: Before) -> Option<Before> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => self.number(Set::Or(a, b)).map(Some),
            (Some(a), Some(_)) => Some(Some(a)),
            _ => Some(None),
        }
    }

    fn behind_all(&mut self, before: Before, parts: &[Node]) -> Option<Before> {
        parts.iter().try_fold(before, |before, part| self.behind(before, part))
    }

    /// The places of the last byte of what ends with `node`. `None`: it is not for this.
    fn behind(&mut self, before: Before, node: &Node) -> Option<Before> {
        match node {
            Node::Empty => Some(before),
            Node::Assert(Assertion::TextStart) if before.is_none() => {
                self.number(Set::Start).map(Some)
            }
            Node::Assert(_) => None,
            Node::Class(bytes) => match before {
                None => {
                    self.firsts.push(*bytes);
                    self.number(Set::Class(*bytes)).map(Some)
                }
                Some(before) => self.then(before, *bytes).map(Some),
            },
            Node::Concat(parts) => self.behind_all(before, parts),
            Node::Alternate(parts) => self.behind_either(before, parts),
            Node::Repeat { node, min, max } => {
                let mut now = before;
                for _ in 0..*min {
                    let (last, count) = (now, self.sets.len());
                    now = self.behind(now, node)?;
                    // A round that changes nothing is like all others.
                    if now == last && count == self.sets.len() {
                        break;
                    }
                }
                let (Some(_), Some(mut last)) = (before, now) else {
                    // What may begin anywhere may as well begin with its last rounds.
                    return Some(now);
                };
                let Some(max) = max else { return self.again(last, node).map(Some) };
                let mut all = now;
                for _ in *min..*max {
                    let round = self.behind(Some(last), node)??;
                    all = self.either(all, Some(round))?;
                    if round == last {
                        break;
                    }
                    last = round;
                }
                Some(all)
            }
        }
    }

    fn behind_either(&mut self, before: Before, parts: &[Node]) -> Option<Before> {
        let (first, parts) = parts.split_first()?;
        let mut all = self.behind(before, first)?;
        for part in parts {
            let one = self.behind(before, part)?;
            all = self.either(all, one)?;
        }
        Some(all)
    }

    /// What is behind `before` by any number of rounds of `node`.
    fn again(&mut self, before: u8, node: &Node) -> Option<u8> {
        let (mut class, mut others) = (ByteSet::EMPTY, vec![]);
        let mut parts = vec![node];
        while let Some(part) = parts.pop() {
            match part {
                Node::Alternate(more) => parts.extend(more),
                Node::Concat(more) if more.len() == 1 => parts.extend(more),
                Node::Empty | Node::Repeat { max: Some(0), .. } => {}
                // Rounds of rounds.
                Node::Repeat { node, min: 0 | 1, .. } if matches!(**node, Node::Class(_)) => {
                    parts.push(node);
                }
                Node::Class(bytes) => class = class.union(*bytes),
                other => others.push(other.clone()),
            }
        }
        // `(X|B)*` is `X*(BX*)*`, which has fewer rounds.
        let class = match class.is_empty() {
            true => None,
            false => Some(self.number(Set::Class(class))?),
        };
        let star = |all: &mut Sets, set| match class {
            Some(class) => all.number(Set::Star(set, class)),
            None => Some(set),
        };
        let first = star(self, before)?;
        if others.is_empty() {
            return Some(first);
        }
        others.iter().try_for_each(|other| self.classes(other))?;
        let number = self.sets.len();
        if number >= MOST_SETS || self.is_within_again {
            return None;
        }
        self.sets.push(Set::Again(first, 0));
        self.is_within_again = true;
        let last = self.behind_either(Some(number as u8), &others);
        self.is_within_again = false;
        let last = star(self, last??)?;
        // All that is behind itself again is behind it: the last set of all.
        let last = if usize::from(last) + 1 < self.sets.len() {
            self.sets.push(Set::Or(last, last));
            self.sets.len() - 1
        } else {
            usize::from(last)
        };
        if last <= number || last >= MOST_SETS {
            return None;
        }
        self.sets[number] = Set::Again(first, last as u8);
        self.again += last - number;
        Some(number as u8)
    }
}

/// Of each set, bit by bit, those that it follows from, and itself.
pub(super) fn needs(sets: &[Set]) -> Vec<u64> {
    let mut all: Vec<u64> = vec![];
    for (number, set) in sets.iter().enumerate() {
        let others = match *set {
            Set::Start | Set::Class(_) => 0,
            Set::Then(a, b) | Set::Star(a, b) | Set::Or(a, b) => {
                all[usize::from(a)] | all[usize::from(b)]
            }
            Set::Again(first, _) => all[usize::from(first)],
        };
        all.push(others | 1 << number);
        // What is worked out again and again needs all that is between, and that needs it.
        let ends = |(_, set): &(usize, &Set)| matches!(set, Set::Again(_, last) if usize::from(*last) == number);
        if let Some((first, _)) = sets.iter().enumerate().find(ends) {
            let whole = all[first..].iter().fold(0, |whole, needs| whole | needs);
            all[first..].fill(whole);
        }
    }
    all
}
