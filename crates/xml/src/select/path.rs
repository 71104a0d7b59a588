//! Streamable location paths.

use super::NotStreamable;
use super::condition::{self, Condition, Tests, number_of_test};
use crate::xpath::ast::{Axis, Expr, Path as LocationPath, Start, Step as Location, Test};

/// One alternative of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path {
    pub(super) expression: u32,
    pub(super) steps: Vec<Step>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) kind: StepKind,
    pub(super) test: Test,
    pub(super) conditions: Vec<Condition>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StepKind {
    Child,
    Descendant,
    /// The number of the program's test.
    Attribute(u32),
}

impl StepKind {
    pub(super) fn is_attribute(self) -> bool {
        matches!(self, StepKind::Attribute(_))
    }
}

/// The alternatives of an expression.
pub(super) fn paths(
    expression: u32,
    root: &Expr,
    tests: &mut Tests,
) -> Result<Vec<Path>, NotStreamable> {
    match root {
        Expr::Union(all) => {
            let all = all.iter().map(|one| paths(expression, one, tests));
            Ok(all.collect::<Result<Vec<_>, _>>()?.concat())
        }
        Expr::Path(path) => {
            let all = alternatives(path, tests)?;
            Ok(all.into_iter().map(|steps| Path { expression, steps }).collect())
        }
        _ => Err(NotStreamable::NoPath),
    }
}

/// Whether a step is what `//` stands for.
fn is_anywhere(step: &Location) -> bool {
    step.axis == Axis::DescendantOrSelf && step.test == Test::Node && step.predicates.is_empty()
}

fn alternatives(path: &LocationPath, tests: &mut Tests) -> Result<Vec<Vec<Step>>, NotStreamable> {
    if matches!(path.start, Start::Nodes(_)) {
        return Err(NotStreamable::Start);
    }
    let mut all: Vec<Vec<Step>> = vec![vec![]];
    // Whether `//` comes before the next step.
    let mut anywhere = false;
    for location in &path.steps {
        let is_self = location.axis == Axis::Self_
            && location.test == Test::Node
            && location.predicates.is_empty();
        if is_self && !anywhere {
            continue;
        }
        if is_anywhere(location) {
            anywhere = true;
            continue;
        }
        let kind = match location.axis {
            Axis::Child if anywhere => StepKind::Descendant,
            Axis::Child => StepKind::Child,
            Axis::Descendant => StepKind::Descendant,
            Axis::Attribute => StepKind::Attribute(number_of_test(tests, &location.test)),
            Axis::Self_ | Axis::DescendantOrSelf => return Err(NotStreamable::Step),
            _ => return Err(NotStreamable::Axis),
        };
        let last = all.first().and_then(|steps| steps.last());
        if last.is_some_and(|last| last.kind.is_attribute() || is_leaf(&last.test)) {
            return Err(NotStreamable::Step);
        }
        let own = kind.is_attribute() || is_leaf(&location.test);
        let conditions = location.predicates.iter().map(|one| condition::of(one, own, tests));
        let conditions = conditions.collect::<Result<Vec<_>, _>>()?;
        let step = Step { kind, test: location.test.clone(), conditions };
        if kind.is_attribute() && anywhere {
            // Of the nodes so far, and of all elements below them.
            let below = Step { kind: StepKind::Descendant, test: Test::Any, conditions: vec![] };
            let mut more = all.clone();
            more.iter_mut().for_each(|steps| steps.push(below.clone()));
            all.append(&mut more);
        }
        all.iter_mut().for_each(|steps| steps.push(step.clone()));
        anywhere = false;
    }
    // No event announces the document's own node.
    if anywhere || all.iter().any(Vec::is_empty) {
        return Err(NotStreamable::Step);
    }
    // It has no attributes.
    all.retain(|steps| steps.first().is_some_and(|step| !step.kind.is_attribute()));
    Ok(all)
}

/// Whether only nodes without children pass the test.
fn is_leaf(test: &Test) -> bool {
    matches!(test, Test::Text | Test::Comment | Test::Instruction(_))
}
