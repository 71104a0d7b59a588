//! Predicates that are decided when a node begins.

use super::NotStreamable;
use crate::xpath::ast::{Axis, Comparison, Expr, Start, Test};
use crate::xpath::functions::Function;
use crate::xpath::value::number_of;

/// A predicate, on the attributes of an element or on the value of an attribute, text, comment or instruction.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Constant(bool),
    /// The operand is there; that it is not empty.
    Exists(Operand),
    IsNotEmpty(Operand),
    /// Some value of the operand is (or is not) the string.
    Text {
        operand: Operand,
        equal: bool,
        text: String,
    },
    Number {
        operand: Operand,
        comparison: Comparison,
        number: f64,
    },
    Contains {
        operand: Operand,
        part: String,
        at_start: bool,
    },
}

/// What is compared.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Operand {
    /// Attributes of the element that pass the program's test with this number.
    Attribute(u32),
    /// The value of the node itself.
    Own,
}

/// What a condition is asked of.
pub(super) trait Asked {
    /// Calls `visit` with each value of the operand until it says that it is enough; returns whether it did.
    fn any(&self, operand: &Operand, visit: &mut dyn FnMut(&str) -> bool) -> bool;
}

impl Condition {
    pub(super) fn holds(&self, values: &dyn Asked) -> bool {
        match self {
            Condition::And(all) => all.iter().all(|one| one.holds(values)),
            Condition::Or(all) => all.iter().any(|one| one.holds(values)),
            Condition::Not(a) => !a.holds(values),
            Condition::Constant(truth) => *truth,
            Condition::Exists(operand) => values.any(operand, &mut |_| true),
            // Of a node-set the first counts.
            Condition::IsNotEmpty(operand) => first(values, operand, |text| !text.is_empty()),
            Condition::Text { operand, equal, text } => {
                values.any(operand, &mut |value| (value == text) == *equal)
            }
            Condition::Number { operand, comparison, number } => {
                values.any(operand, &mut |value| comparison.holds(number_of(value), *number))
            }
            Condition::Contains { operand, part, at_start } => {
                let holds = |value: &str| match at_start {
                    true => value.starts_with(part.as_str()),
                    false => value.contains(part.as_str()),
                };
                // Of no node the string is empty.
                match values.any(operand, &mut |_| true) {
                    true => first(values, operand, holds),
                    false => holds(""),
                }
            }
        }
    }
}

impl Condition {
    /// Whether it holds of an element, if that does not depend on the values of its attributes: `has` says of tests of names
    /// whether an attribute passes.
    fn known(&self, has: &dyn Fn(u32) -> bool) -> Option<bool> {
        let is_there = |operand: &Operand| match operand {
            Operand::Attribute(test) => has(*test),
            Operand::Own => false,
        };
        match self {
            Condition::And(all) => Condition::all(all, has),
            Condition::Or(all) => {
                let mut answer = Some(false);
                for one in all {
                    match one.known(has) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => answer = None,
                    }
                }
                answer
            }
            Condition::Not(a) => a.known(has).map(|it| !it),
            Condition::Constant(truth) => Some(*truth),
            Condition::Exists(operand) => Some(is_there(operand)),
            Condition::IsNotEmpty(operand)
            | Condition::Text { operand, .. }
            | Condition::Number { operand, .. } => (!is_there(operand)).then_some(false),
            Condition::Contains { operand, part, .. } => {
                (!is_there(operand)).then_some(part.is_empty())
            }
        }
    }

    /// The same of all of them.
    pub(super) fn all(conditions: &[Condition], has: &dyn Fn(u32) -> bool) -> Option<bool> {
        let mut answer = Some(true);
        for one in conditions {
            match one.known(has) {
                Some(false) => return Some(false),
                Some(true) => {}
                None => answer = None,
            }
        }
        answer
    }
}

/// Whether the first value is so.
fn first(values: &dyn Asked, operand: &Operand, holds: impl Fn(&str) -> bool) -> bool {
    let mut answer = false;
    values.any(operand, &mut |value| {
        answer = holds(value);
        true
    });
    answer
}

/// The tests of attributes that a program makes, each once.
pub(super) type Tests = Vec<Test>;

/// The number of a test.
pub(super) fn number_of_test(tests: &mut Tests, test: &Test) -> u32 {
    let known = tests.iter().position(|one| one == test);
    known.unwrap_or_else(|| {
        tests.push(test.clone());
        tests.len() - 1
    }) as u32
}

/// The predicate as a condition. `own`: of a node that is its own value; else of an element.
pub(super) fn of(
    predicate: &Expr,
    own: bool,
    tests: &mut Tests,
) -> Result<Condition, NotStreamable> {
    if predicate.is_positional() {
        return Err(NotStreamable::Position);
    }
    Reader { own, tests }.truth(predicate)
}

struct Reader<'t> {
    own: bool,
    tests: &'t mut Tests,
}

impl Reader<'_> {
    /// What `boolean()` makes of an expression.
    fn truth(&mut self, expr: &Expr) -> Result<Condition, NotStreamable> {
        let mut each =
            |all: &[Expr]| all.iter().map(|one| self.truth(one)).collect::<Result<Vec<_>, _>>();
        Ok(match expr {
            Expr::And(all) => Condition::And(each(all)?),
            Expr::Or(all) | Expr::Union(all) => Condition::Or(each(all)?),
            Expr::Compare(comparison, a, b) => self.compare(*comparison, a, b)?,
            Expr::Path(_) => Condition::Exists(self.operand(expr)?),
            Expr::Literal(text) => Condition::Constant(!text.is_empty()),
            Expr::Number(number) => Condition::Constant(*number != 0.0 && !number.is_nan()),
            Expr::Call(function, arguments) => match (function, arguments.as_slice()) {
                (Function::True, _) => Condition::Constant(true),
                (Function::False, _) => Condition::Constant(false),
                (Function::Not, [inner]) => Condition::Not(Box::new(self.truth(inner)?)),
                (Function::Boolean, [inner]) => self.truth(inner)?,
                (Function::String, [inner]) => Condition::IsNotEmpty(self.operand(inner)?),
                (Function::Contains | Function::StartsWith, [whole, Expr::Literal(part)]) => {
                    Condition::Contains {
                        operand: self.operand(whole)?,
                        part: part.clone(),
                        at_start: *function == Function::StartsWith,
                    }
                }
                _ => return Err(NotStreamable::Predicate),
            },
            _ => return Err(NotStreamable::Predicate),
        })
    }

    fn compare(
        &mut self,
        comparison: Comparison,
        a: &Expr,
        b: &Expr,
    ) -> Result<Condition, NotStreamable> {
        let (operand, comparison, constant) = match (a, b) {
            (_, Expr::Literal(_) | Expr::Number(_)) => (self.operand(a)?, comparison, b),
            (Expr::Literal(_) | Expr::Number(_), _) => (self.operand(b)?, comparison.turned(), a),
            _ => return Err(NotStreamable::Predicate),
        };
        Ok(match (constant, comparison) {
            (Expr::Literal(text), Comparison::Equal | Comparison::NotEqual) => Condition::Text {
                operand,
                equal: comparison == Comparison::Equal,
                text: text.clone(),
            },
            (Expr::Literal(text), _) => {
                Condition::Number { operand, comparison, number: number_of(text) }
            }
            (Expr::Number(number), _) => Condition::Number { operand, comparison, number: *number },
            _ => return Err(NotStreamable::Predicate),
        })
    }

    fn operand(&mut self, expr: &Expr) -> Result<Operand, NotStreamable> {
        let Expr::Path(path) = expr else { return Err(NotStreamable::Predicate) };
        let [step] = path.steps.as_slice() else { return Err(NotStreamable::Later) };
        if path.start != Start::Context || !step.predicates.is_empty() {
            return Err(NotStreamable::Predicate);
        }
        match (step.axis, &step.test) {
            (Axis::Self_, Test::Node) if self.own => Ok(Operand::Own),
            (Axis::Attribute, test) if !self.own => {
                Ok(Operand::Attribute(number_of_test(self.tests, test)))
            }
            _ => Err(NotStreamable::Later),
        }
    }
}
