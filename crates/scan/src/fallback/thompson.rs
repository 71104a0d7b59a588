//! An expression as states with empty edges (Thompson's construction), without recursion.
//!
//! Bounded repeats are unrolled here: `x{2,4}` becomes `xx(x(x)?)?`, whose number of edges is linear.
use std::collections::HashMap;

use super::{Limit, Limits};
use crate::node::{Assertion, ByteSet, Node};

/// Where an edge leads, and what it asks for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Edge {
    /// No condition.
    Empty(u32),
    /// No condition, but superfluous once state `unless` is visited: whatever matches from `to` also matches from there.
    Unless { to: u32, unless: u32 },
    /// The place satisfies the assertion.
    Assert(Assertion, u32),
    /// The next byte is one of this position.
    Byte(u32),
}

/// The states of one expression.
#[derive(Default, Debug)]
pub(super) struct Thompson {
    /// The edges out of each state. State 0 is the first, state 1 the last.
    pub(super) edges: Vec<Vec<Edge>>,
    /// Each position: its bytes, and the state behind it.
    pub(super) positions: Vec<(ByteSet, u32)>,
    /// Whether the expression contains an assertion.
    pub(super) asserts: bool,
}

pub(super) const FIRST: u32 = 0;
pub(super) const LAST: u32 = 1;

/// What is known of a part of an expression before it is built.
#[derive(Clone, Copy, Default)]
struct Facts {
    /// Positions after unrolling.
    positions: u64,
    /// States after unrolling.
    states: u64,
    /// Matches the empty string whatever is around it.
    nullable: bool,
    /// Contains an assertion.
    asserts: bool,
}

impl Facts {
    /// How often a part is unrolled: what can match no byte is idempotent.
    fn copies(&self, min: u32, max: Option<u32>) -> (u32, Option<u32>) {
        let (min, max) =
            if self.positions == 0 { (min.min(1), max.map(|max| max.min(1))) } else { (min, max) };
        // (x?){3,5} and (x?){0,5} are the same.
        if self.nullable { (0, max) } else { (min, max) }
    }
}

fn address(node: &Node) -> *const Node {
    std::ptr::from_ref(node)
}

/// The facts of every part, children first.
fn facts(root: &Node) -> HashMap<*const Node, Facts> {
    let mut known = HashMap::new();
    let mut stack = vec![(root, false)];
    while let Some((node, ready)) = stack.pop() {
        if !ready {
            stack.push((node, true));
            match node {
                Node::Concat(nodes) | Node::Alternate(nodes) => {
                    stack.extend(nodes.iter().map(|node| (node, false)))
                }
                Node::Repeat { node, .. } => stack.push((node, false)),
                Node::Empty | Node::Class(_) | Node::Assert(_) => {}
            }
            continue;
        }
        let sum = |nodes: &[Node], start: bool, join: fn(bool, bool) -> bool| {
            let mut all = Facts { states: nodes.len() as u64, nullable: start, ..Facts::default() };
            for node in nodes {
                let one: &Facts = &known[&address(node)];
                all.positions = all.positions.saturating_add(one.positions);
                all.states = all.states.saturating_add(one.states);
                all.nullable = join(all.nullable, one.nullable);
                all.asserts |= one.asserts;
            }
            all
        };
        let fact = match node {
            Node::Empty => Facts { nullable: true, ..Facts::default() },
            Node::Class(_) => Facts { positions: 1, ..Facts::default() },
            Node::Assert(_) => Facts { asserts: true, ..Facts::default() },
            Node::Concat(nodes) => sum(nodes, true, |a, b| a && b),
            Node::Alternate(nodes) => sum(nodes, false, |a, b| a || b),
            Node::Repeat { node, min, max } => {
                let one = known[&address(node)];
                let (least, most) = one.copies(*min, *max);
                let copies = u64::from(most.unwrap_or(least.max(1)));
                Facts {
                    positions: one.positions.saturating_mul(copies),
                    states: one.states.saturating_add(2).saturating_mul(copies).saturating_add(2),
                    nullable: one.nullable || *min == 0,
                    asserts: one.asserts && copies > 0,
                }
            }
        };
        known.insert(address(node), fact);
    }
    known
}

impl Thompson {
    /// Builds the states; the work and memory are within `limits`.
    pub(super) fn new(root: &Node, limits: &Limits) -> Result<Thompson, Limit> {
        let known = facts(root);
        let all = known[&address(root)];
        if all.positions > limits.positions as u64 {
            return Err(Limit::Positions);
        }
        if all.states > limits.states as u64 {
            return Err(Limit::Edges);
        }
        let mut it =
            Thompson { edges: vec![Vec::new(); 2], positions: Vec::new(), asserts: all.asserts };
        let mut tasks = vec![(root, FIRST, LAST)];
        while let Some((node, from, to)) = tasks.pop() {
            match node {
                Node::Empty => it.edge(from, Edge::Empty(to)),
                Node::Class(bytes) => {
                    it.edge(from, Edge::Byte(it.positions.len() as u32));
                    it.positions.push((*bytes, to));
                }
                Node::Assert(assertion) => it.edge(from, Edge::Assert(*assertion, to)),
                Node::Concat(nodes) => match nodes.len() {
                    0 => it.edge(from, Edge::Empty(to)),
                    len => {
                        let first = tasks.len();
                        let mut from = from;
                        for (index, node) in nodes.iter().enumerate() {
                            let to = if index + 1 == len { to } else { it.state() };
                            tasks.push((node, from, to));
                            from = to;
                        }
                        // Positions are numbered from left to right.
                        tasks[first..].reverse();
                    }
                },
                Node::Alternate(nodes) => {
                    tasks.extend(nodes.iter().rev().map(|node| (node, from, to)))
                }
                Node::Repeat { node, min, max } => {
                    let fact = known[&address(node)];
                    let (min, max) = fact.copies(*min, *max);
                    let first = tasks.len();
                    it.repeat(&mut tasks, node, fact.nullable, (min, max), from, to);
                    tasks[first..].reverse();
                }
            }
        }
        Ok(it)
    }

    fn repeat<'a>(
        &mut self,
        tasks: &mut Vec<(&'a Node, u32, u32)>,
        node: &'a Node,
        nullable: bool,
        (min, max): (u32, Option<u32>),
        mut from: u32,
        to: u32,
    ) {
        // All but the last of an unbounded repeat's, as the last one loops.
        let fixed = if max.is_none() { min.saturating_sub(1) } else { min };
        for _ in 0..fixed {
            let next = self.state();
            tasks.push((node, from, next));
            from = next;
        }
        match max {
            None if min == 0 => {
                let inside = self.state();
                self.edge(from, Edge::Empty(inside));
                self.edge(inside, Edge::Empty(to));
                tasks.push((node, inside, inside));
            }
            None => {
                let (before, behind) = (self.state(), self.state());
                self.edge(from, Edge::Empty(before));
                tasks.push((node, before, behind));
                self.edge(behind, Edge::Empty(before));
                self.edge(behind, Edge::Empty(to));
            }
            Some(max) => {
                let mut before = self.state();
                self.edge(from, Edge::Empty(before));
                for _ in min..max {
                    let (behind, next) = (self.state(), self.state());
                    self.edge(before, Edge::Empty(to));
                    tasks.push((node, before, behind));
                    // Without this condition (x?){0,n} has n*n edges: from behind each copy all later ones are
                    // reached through copies that match nothing.
                    self.edge(
                        behind,
                        match nullable {
                            true => Edge::Unless { to: next, unless: before },
                            false => Edge::Empty(next),
                        },
                    );
                    before = next;
                }
                self.edge(before, Edge::Empty(to));
            }
        }
    }

    fn state(&mut self) -> u32 {
        self.edges.push(Vec::new());
        self.edges.len() as u32 - 1
    }

    fn edge(&mut self, from: u32, edge: Edge) {
        self.edges[from as usize].push(edge);
    }
}
