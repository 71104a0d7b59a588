//! Evaluation.

use std::cell::Cell;
use std::ops::ControlFlow;

use super::ast::{Axis, Comparison, Expr, Operator, Path, Start, Step, Test};
use super::value::number_of;
use super::{EvaluationError, NodeRef, Scope, Value, axes};
use crate::tree::{Kind, NameId, Tree};

type Result<T> = std::result::Result<T, EvaluationError>;

pub(super) struct Evaluation<'a> {
    pub(super) tree: &'a Tree<'a>,
    scope: &'a Scope<'a>,
    /// How many nodes may still be visited.
    steps: Cell<u64>,
}

/// The context of an expression (1).
#[derive(Clone, Copy)]
pub(super) struct Focus {
    pub(super) node: NodeRef,
    pub(super) position: usize,
    pub(super) size: usize,
}

/// A node test for one tree.
enum Matcher<'e> {
    /// No name of the document is it.
    Nothing,
    /// Any node of the axis's kind, see [`principal`].
    Any,
    Name(NameId),
    Uri(&'e str),
    /// Of the namespace axis, which has no numbers.
    Prefix(&'e str),
    Node,
    Kind(Kind),
    Instruction(&'e str),
}

/// The principal node type (2.3).
fn principal(axis: Axis) -> Kind {
    match axis {
        Axis::Attribute => Kind::Attribute,
        Axis::Namespace => Kind::Namespace,
        _ => Kind::Element,
    }
}

impl<'a> Evaluation<'a> {
    pub(super) fn new(tree: &'a Tree<'a>, scope: &'a Scope<'a>) -> Self {
        Evaluation { tree, scope, steps: Cell::new(scope.max_steps) }
    }

    pub(super) fn evaluate(&self, expr: &Expr) -> Result<Value> {
        self.value(expr, Focus { node: self.scope.node, position: 1, size: 1 })
    }

    pub(super) fn visit(&self, nodes: u64) -> Result<()> {
        let left = self.steps.get().checked_sub(nodes).ok_or(EvaluationError::Steps)?;
        self.steps.set(left);
        Ok(())
    }

    pub(super) fn value(&self, expr: &Expr, focus: Focus) -> Result<Value> {
        let number = |expr: &Expr| Ok(self.value(expr, focus)?.to_number(self.tree));
        let truth = |expr: &Expr| Ok(self.value(expr, focus)?.to_boolean());
        Ok(match expr {
            Expr::Or(all) | Expr::And(all) => {
                let decides = matches!(expr, Expr::Or(_));
                for one in all {
                    if truth(one)? == decides {
                        return Ok(Value::Boolean(decides));
                    }
                }
                Value::Boolean(!decides)
            }
            Expr::Compare(comparison, a, b) => {
                let (a, b) = (self.value(a, focus)?, self.value(b, focus)?);
                Value::Boolean(self.compare(*comparison, &a, &b)?)
            }
            Expr::Arithmetic(first, rest) => {
                let mut result = number(first)?;
                for (operator, one) in rest {
                    let one = number(one)?;
                    result = match operator {
                        Operator::Add => result + one,
                        Operator::Subtract => result - one,
                        Operator::Multiply => result * one,
                        Operator::Divide => result / one,
                        // As Rust's: the sign of the dividend.
                        Operator::Modulo => result % one,
                    };
                }
                Value::Number(result)
            }
            Expr::Negate(a) => Value::Number(-number(a)?),
            Expr::Union(all) => {
                let mut nodes = Vec::new();
                for one in all {
                    nodes.extend(self.nodes(one, focus)?);
                }
                Value::Nodes(in_order(nodes))
            }
            Expr::Path(path) => Value::Nodes(self.path(path, focus)?),
            Expr::Filter(inner, predicates) => {
                let mut nodes = self.nodes(inner, focus)?;
                for predicate in predicates {
                    nodes = self.filter(nodes, predicate)?;
                }
                Value::Nodes(nodes)
            }
            Expr::Literal(text) => Value::String(text.clone()),
            Expr::Number(number) => Value::Number(*number),
            Expr::Variable(name) => {
                let known = self.scope.variables.iter().find(|(known, _)| known == name);
                let (_, value) = known.ok_or_else(|| EvaluationError::Variable(name.clone()))?;
                value.clone()
            }
            Expr::Call(function, arguments) => self.call(*function, arguments, focus)?,
        })
    }

    pub(super) fn nodes(&self, expr: &Expr, focus: Focus) -> Result<Vec<NodeRef>> {
        match self.value(expr, focus)? {
            Value::Nodes(nodes) => Ok(nodes),
            _ => Err(EvaluationError::NotNodes),
        }
    }

    fn path(&self, path: &Path, focus: Focus) -> Result<Vec<NodeRef>> {
        let mut nodes = match &path.start {
            Start::Document => vec![NodeRef::DOCUMENT],
            Start::Context => vec![focus.node],
            Start::Nodes(expr) => self.nodes(expr, focus)?,
        };
        for step in &path.steps {
            nodes = self.step(step, &nodes)?;
        }
        Ok(nodes)
    }

    fn step(&self, step: &Step, from: &[NodeRef]) -> Result<Vec<NodeRef>> {
        let matcher = self.matcher(step);
        let mut all = Vec::new();
        // A single predicate that is a number asks for one node of each.
        let only = match step.predicates.first() {
            Some(Expr::Number(number)) => Some(*number),
            _ => None,
        };
        for node in from {
            let mut found = Vec::new();
            let mut visited = 0_u64;
            let flow = axes::walk(self.tree, *node, step.axis, &mut |one| {
                visited += 1;
                if self.is_match(&matcher, step.axis, one) {
                    found.push(one);
                    if only.is_some_and(|only| found.len() as f64 >= only) {
                        return ControlFlow::Break(());
                    }
                }
                // Whether it is too much is looked at now and then.
                if visited.is_multiple_of(4096) && self.visit(4096).is_err() {
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
            let _ = flow;
            self.visit(visited % 4096 + 1)?;
            for predicate in &step.predicates {
                found = self.filter(found, predicate)?;
            }
            if step.axis.is_reverse() {
                found.reverse();
            }
            all.append(&mut found);
        }
        Ok(if from.len() > 1 { in_order(all) } else { all })
    }

    /// The nodes, in their order, for which the predicate holds (2.4).
    fn filter(&self, nodes: Vec<NodeRef>, predicate: &Expr) -> Result<Vec<NodeRef>> {
        let size = nodes.len();
        let mut kept = Vec::new();
        for (before, node) in nodes.into_iter().enumerate() {
            let position = before + 1;
            let holds = match self.value(predicate, Focus { node, position, size })? {
                Value::Number(number) => number == position as f64,
                other => other.to_boolean(),
            };
            if holds {
                kept.push(node);
            }
        }
        Ok(kept)
    }

    fn matcher<'e>(&self, step: &'e Step) -> Matcher<'e> {
        match &step.test {
            Test::Node => Matcher::Node,
            Test::Text => Matcher::Kind(Kind::Text),
            Test::Comment => Matcher::Kind(Kind::Comment),
            Test::Instruction(None) => Matcher::Kind(Kind::Instruction),
            Test::Instruction(Some(target)) => Matcher::Instruction(target),
            Test::Any => Matcher::Any,
            // The name of a namespace is its prefix, in no namespace.
            Test::Namespace(_) if step.axis == Axis::Namespace => Matcher::Nothing,
            Test::Name { uri, local } if step.axis == Axis::Namespace => match uri.is_empty() {
                true => Matcher::Prefix(local),
                false => Matcher::Nothing,
            },
            Test::Namespace(uri) => Matcher::Uri(uri),
            Test::Name { uri, local } => {
                self.tree.find_name(uri, local).map_or(Matcher::Nothing, Matcher::Name)
            }
        }
    }

    #[inline]
    fn is_match(&self, matcher: &Matcher<'_>, axis: Axis, node: NodeRef) -> bool {
        let kind = node.kind(self.tree);
        let plain = node.node();
        match matcher {
            Matcher::Nothing => false,
            Matcher::Node => true,
            Matcher::Kind(wanted) => kind == *wanted,
            Matcher::Instruction(target) => {
                kind == Kind::Instruction && self.tree.name(plain).local == *target
            }
            Matcher::Any => kind == principal(axis),
            Matcher::Name(name) => {
                kind == principal(axis) && self.tree.expanded(self.tree.name_id(plain)) == *name
            }
            Matcher::Uri(uri) => kind == principal(axis) && self.tree.name(plain).uri == *uri,
            Matcher::Prefix(prefix) => {
                kind == Kind::Namespace && node.local_name(self.tree) == *prefix
            }
        }
    }

    /// 3.4
    fn compare(&self, comparison: Comparison, a: &Value, b: &Value) -> Result<bool> {
        use Comparison::{Equal, Less, LessOrEqual, NotEqual};
        let order = |a: f64, b: f64| comparison.holds(a, b);
        let equality = matches!(comparison, Equal | NotEqual);
        let same = |equal: bool| equal == (comparison == Equal);
        let texts = |nodes: &[NodeRef]| -> Result<Vec<String>> {
            self.visit(nodes.len() as u64)?;
            Ok(nodes.iter().map(|node| node.string_value(self.tree)).collect())
        };
        Ok(match (a, b) {
            (Value::Nodes(a), Value::Nodes(b)) => {
                let (a, b) = (texts(a)?, texts(b)?);
                if equality {
                    return Ok(any_text(comparison == Equal, &a, &b));
                }
                let numbers = |texts: &[String]| -> Vec<f64> {
                    texts.iter().map(|text| number_of(text)).filter(|n| !n.is_nan()).collect()
                };
                // There is a pair if the extremes are one.
                let (a, b) = (numbers(&a), numbers(&b));
                let least = |all: &[f64]| all.iter().copied().reduce(f64::min);
                let most = |all: &[f64]| all.iter().copied().reduce(f64::max);
                let pair = match comparison {
                    Less | LessOrEqual => least(&a).zip(most(&b)),
                    _ => most(&a).zip(least(&b)),
                };
                pair.is_some_and(|(a, b)| order(a, b))
            }
            (Value::Nodes(nodes), Value::Boolean(truth)) if equality => {
                same(nodes.is_empty() != *truth)
            }
            (Value::Boolean(truth), Value::Nodes(nodes)) if equality => {
                same(nodes.is_empty() != *truth)
            }
            (Value::Nodes(_), Value::Boolean(truth)) => {
                order(f64::from(u8::from(a.to_boolean())), f64::from(u8::from(*truth)))
            }
            (Value::Boolean(truth), Value::Nodes(_)) => {
                order(f64::from(u8::from(*truth)), f64::from(u8::from(b.to_boolean())))
            }
            (Value::Nodes(nodes), Value::String(text)) if equality => {
                texts(nodes)?.iter().any(|one| same(one == text))
            }
            (Value::String(text), Value::Nodes(nodes)) if equality => {
                texts(nodes)?.iter().any(|one| same(one == text))
            }
            (Value::Nodes(nodes), other) => {
                let other = other.to_number(self.tree);
                texts(nodes)?.iter().any(|one| order(number_of(one), other))
            }
            (other, Value::Nodes(nodes)) => {
                let other = other.to_number(self.tree);
                texts(nodes)?.iter().any(|one| order(other, number_of(one)))
            }
            (a, b) if !equality => order(a.to_number(self.tree), b.to_number(self.tree)),
            (Value::Boolean(_), _) | (_, Value::Boolean(_)) => {
                same(a.to_boolean() == b.to_boolean())
            }
            (Value::Number(_), _) | (_, Value::Number(_)) => {
                order(a.to_number(self.tree), b.to_number(self.tree))
            }
            (Value::String(a), Value::String(b)) => same(a == b),
        })
    }
}

/// Whether a text of `a` and one of `b` are equal, or are not.
fn any_text(equal: bool, a: &[String], b: &[String]) -> bool {
    if equal {
        let known: std::collections::HashSet<&String> = a.iter().collect();
        return b.iter().any(|text| known.contains(text));
    }
    // Two differ unless all are the same.
    let (Some(first), false) = (a.first(), b.is_empty()) else { return false };
    a.iter().chain(b).any(|text| text != first)
}

/// In document order, each node once.
pub(super) fn in_order(mut nodes: Vec<NodeRef>) -> Vec<NodeRef> {
    nodes.sort();
    nodes.dedup();
    nodes
}
