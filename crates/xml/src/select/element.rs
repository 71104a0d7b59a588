//! What of an element depends on its attributes.
//!
//! ```text
//! (transition, names of the attributes)  -> shape: conditions that hold whatever the values, values to look up
//! (shape, conditions on values that hold) -> outcome: the state of the children, what is selected
//! ```
//!
//! Elements of one name mostly have the same attributes: the last shape of each transition is compared first. Mostly no
//! condition on a value holds: that outcome is the shape's own.

use std::collections::HashMap;

use super::Selected;
use super::automaton::{Item, Names, Own, Run, has, holds, sort};
use super::condition::{Asked, Condition, Operand};
use super::path::StepKind;
use super::values::{Value, Values};
use crate::hash::Seeded;
use crate::kernel::checked;

/// The attributes of an element that begins, by their indices.
pub(super) trait Attributes {
    fn len(&self) -> usize;
    /// The number of the name; [`NO_ATTRIBUTE`] of what is none.
    fn name(&self, index: usize) -> u32;
    fn value(&self, index: usize) -> &[u8];
    /// The same, to be looked up.
    fn key(&self, index: usize) -> Value<'_>;
}

/// The name of a declaration of a namespace.
pub(super) const NO_ATTRIBUTE: u32 = u32::MAX;

/// What the start of an element does beside the change of state.
#[derive(Debug)]
pub(super) struct Transition {
    /// The state of its children, without what depends on attributes.
    state: u32,
    /// Expressions that select the element.
    selected: Vec<u32>,
    /// Items that advance if their conditions hold.
    guarded: Vec<Item>,
    /// Items whose step is an attribute of this element.
    attributes: Vec<Item>,
    /// The shape of the last element, or [`NONE`].
    last: u32,
    /// For classes of attributes' names the number of the table of values.
    tables: Vec<(u32, Option<u32>)>,
}

const NONE: u32 = u32::MAX;

impl Transition {
    pub(super) fn new(
        state: u32,
        selected: Vec<u32>,
        guarded: Vec<Item>,
        attributes: Vec<Item>,
    ) -> Transition {
        Transition { state, selected, guarded, attributes, last: NONE, tables: Vec::new() }
    }

    pub(super) fn forget_shapes(&mut self) {
        self.last = NONE;
    }
}

/// Elements of a transition with attributes of the same names.
#[derive(Debug)]
pub(super) struct Shape {
    /// The number of the transition, and those of the names.
    names: Box<[u32]>,
    classes: Box<[u32]>,
    /// Places in `guarded` of those whose conditions hold whatever the values.
    passed: Box<[u32]>,
    /// Places whose conditions are evaluated for each element.
    others: Box<[u32]>,
    /// Indices of attributes, and tables in which their values are looked up.
    lookups: Box<[(u32, u32)]>,
    /// The outcome if no condition on values holds.
    plain: u32,
    /// The others by the places that pass, and the last one of them.
    outcomes: HashMap<Box<[u32]>, u32, Seeded>,
    last: u32,
}

/// What an element does, once it is known which conditions hold.
#[derive(Debug)]
pub(super) struct Outcome {
    passed: Box<[u32]>,
    state: u32,
    /// Whatever the values, the element itself too; in order, each once.
    selected: Vec<Selected>,
    /// Items and indices of attributes, where the conditions of the item hold for the value.
    guarded: Vec<(Item, u32)>,
}

/// In a table of values: this is not the only condition of the item.
const PARTLY: u32 = 1 << 31;

impl Run<'_> {
    /// A transition that selects something, or depends on attributes.
    #[inline]
    pub(super) fn take(
        &mut self,
        number: u32,
        attributes: &impl Attributes,
        names: &impl Names,
        selected: &mut impl FnMut(Selected),
    ) {
        let transition = &self.transitions[number as usize];
        if transition.guarded.is_empty() && transition.attributes.is_empty() {
            for expression in &transition.selected {
                selected(Selected { expression: *expression, attribute: None });
            }
            return;
        }
        let last = self.shapes.get(transition.last as usize);
        let shape = match last.is_some_and(|shape| is_same(&shape.names[1..], attributes)) {
            true => transition.last,
            false => self.shape(number, attributes, names),
        };
        let Shape { lookups, others, plain, .. } = &self.shapes[shape as usize];
        let mut outcome = *plain;
        self.passed.clear();
        for (index, table) in lookups {
            let targets = self.tables[*table as usize].get(&attributes.key(*index as usize));
            if !targets.is_empty() {
                self.passed.extend(targets);
            }
        }
        if !self.passed.is_empty() || !others.is_empty() {
            outcome = self.decide(shape, attributes);
        }
        let Outcome { state, selected: plain, guarded, .. } = &self.outcomes[outcome as usize];
        self.state = *state;
        if guarded.is_empty() {
            plain.iter().copied().for_each(selected);
            return;
        }
        self.found.extend(plain);
        for (item, index) in guarded {
            let path = &self.program.paths[item.path as usize];
            let conditions = &path.steps[item.step as usize].conditions;
            if holds(conditions, &Own(checked(attributes.value(*index as usize)))) {
                let (expression, attribute) = (path.expression, Some(*index));
                self.found.push(Selected { expression, attribute });
            }
        }
        self.report(selected);
    }

    /// The number of the shape that is not the last one.
    #[inline(never)]
    fn shape(&mut self, number: u32, attributes: &impl Attributes, names: &impl Names) -> u32 {
        let mut key = std::mem::take(&mut self.key);
        key.clear();
        key.push(number);
        key.extend((0..attributes.len()).map(|index| attributes.name(index)));
        let shape = match self.shape_ids.get(key.as_slice()) {
            Some(shape) => *shape,
            None => self.new_shape(&key, names),
        };
        self.key = key;
        self.transitions[number as usize].last = shape;
        shape
    }

    fn new_shape(&mut self, key: &[u32], names: &impl Names) -> u32 {
        let (number, own) = (key[0], &key[1..]);
        let class = |name: &u32| match *name {
            NO_ATTRIBUTE => 0,
            name => self.attribute_class(name, names),
        };
        let classes: Vec<u32> = own.iter().map(class).collect();
        let mut lookups = Vec::new();
        for (index, class) in (0..).zip(&classes) {
            if let Some(table) = self.table(number, *class) {
                lookups.push((index, table));
            }
        }
        let mut present = vec![0; self.attribute_masks[0].len()];
        for class in &classes {
            let mask = &self.attribute_masks[*class as usize];
            present.iter_mut().zip(mask).for_each(|(all, mask)| *all |= mask);
        }
        let (mut passed, mut others) = (Vec::new(), Vec::new());
        for (place, item) in (0..).zip(&self.transitions[number as usize].guarded) {
            let conditions = &self.step(*item).conditions;
            match Condition::all(conditions, &|test| has(&present, test)) {
                Some(true) => passed.push(place),
                Some(false) => {}
                None if equal(conditions).is_some() => {}
                None => others.push(place),
            }
        }
        let shape = self.shapes.len() as u32;
        self.grown(2 * key.len() + passed.len() + others.len());
        self.shapes.push(Shape {
            names: key.into(),
            classes: classes.into(),
            passed: passed.as_slice().into(),
            others: others.into(),
            lookups: lookups.into(),
            plain: 0,
            outcomes: HashMap::default(),
            last: NONE,
        });
        self.shape_ids.insert(key.into(), shape);
        self.shapes[shape as usize].plain = self.outcome(shape, &passed);
        shape
    }

    /// The table of values that guarded items of a transition ask for in attributes of a class.
    fn table(&mut self, number: u32, class: u32) -> Option<u32> {
        let transition = &self.transitions[number as usize];
        if let Some((_, table)) = transition.tables.iter().find(|it| it.0 == class) {
            return *table;
        }
        let mask = &self.attribute_masks[class as usize];
        let mut all = Vec::new();
        for (place, item) in (0..).zip(&transition.guarded) {
            let conditions = &self.step(*item).conditions;
            if let Some((test, text, is_all)) = equal(conditions)
                && has(mask, test)
            {
                all.push((text, if is_all { place } else { place | PARTLY }));
            }
        }
        let table = (!all.is_empty()).then_some(self.tables.len() as u32);
        if table.is_some() {
            let texts: usize = all.iter().map(|it| it.0.len() / 8).sum();
            self.grown(all.len() * Values::WORDS + texts);
            self.tables.push(Values::new(all));
        }
        self.transitions[number as usize].tables.push((class, table));
        table
    }

    /// The outcome if a value was found in a table, or if conditions are to be evaluated.
    #[inline(never)]
    fn decide(&mut self, number: u32, attributes: &impl Attributes) -> u32 {
        let shape = &self.shapes[number as usize];
        let masks = &self.attribute_masks;
        let element = Element { classes: &shape.classes, attributes, masks };
        let mut passed = std::mem::take(&mut self.passed);
        let guarded = &self.transitions[shape.names[0] as usize].guarded;
        let passes = |place: u32| holds(&self.step(guarded[place as usize]).conditions, &element);
        passed.retain_mut(|place| {
            let is_part = *place & PARTLY != 0;
            *place &= !PARTLY;
            !is_part || passes(*place)
        });
        passed.extend(shape.others.iter().filter(|place| passes(**place)));
        let outcome = if passed.is_empty() {
            shape.plain
        } else {
            passed.extend(&shape.passed);
            passed.sort_unstable();
            passed.dedup();
            let last = self.outcomes.get(shape.last as usize);
            match last.is_some_and(|last| *last.passed == *passed) {
                true => shape.last,
                false => self.outcome(number, &passed),
            }
        };
        self.passed = passed;
        outcome
    }

    /// The number of what an element does if these of the guarded items advance.
    fn outcome(&mut self, number: u32, passed: &[u32]) -> u32 {
        let shape = &self.shapes[number as usize];
        let known = shape.outcomes.get(passed).copied();
        let outcome = known.unwrap_or_else(|| self.new_outcome(number, passed));
        self.shapes[number as usize].last = outcome;
        outcome
    }

    fn new_outcome(&mut self, number: u32, passed: &[u32]) -> u32 {
        let shape = &self.shapes[number as usize];
        let transition = &self.transitions[shape.names[0] as usize];
        let mut more = self.states[transition.state as usize].items.clone();
        let (mut done, mut attributes) =
            (transition.selected.clone(), transition.attributes.clone());
        for place in passed {
            let item = transition.guarded[*place as usize];
            self.advance(item, &mut more, &mut done, &mut attributes);
        }
        sort(&mut more);
        let own = done.into_iter().map(|expression| Selected { expression, attribute: None });
        let (mut selected, mut guarded): (Vec<Selected>, _) = (own.collect(), Vec::new());
        for item in attributes {
            let path = &self.program.paths[item.path as usize];
            let step = &path.steps[item.step as usize];
            let StepKind::Attribute(test) = step.kind else { continue };
            for (index, class) in (0..).zip(&shape.classes) {
                if !has(&self.attribute_masks[*class as usize], test) {
                    continue;
                }
                if step.conditions.is_empty() {
                    let (expression, attribute) = (path.expression, Some(index));
                    selected.push(Selected { expression, attribute });
                } else {
                    guarded.push((item, index));
                }
            }
        }
        selected.sort_unstable();
        selected.dedup();
        let state = self.state(more);
        let outcome = self.outcomes.len() as u32;
        let weight = passed.len() + selected.len() + guarded.len();
        self.outcomes.push(Outcome { passed: passed.into(), state, selected, guarded });
        self.shapes[number as usize].outcomes.insert(passed.into(), outcome);
        self.grown(weight);
        outcome
    }
}

/// The condition that an attribute is equal to a text, if the conditions do not hold without it: the test of the name, the text,
/// and whether it is the only condition.
fn equal(conditions: &[Condition]) -> Option<(u32, &str, bool)> {
    conditions.iter().find_map(|one| match one {
        Condition::Text { operand: Operand::Attribute(test), equal: true, text } => {
            Some((*test, text.as_str(), conditions.len() == 1))
        }
        Condition::And(all) => equal(all).map(|(test, text, _)| (test, text, false)),
        _ => None,
    })
}

#[inline]
fn is_same(names: &[u32], attributes: &impl Attributes) -> bool {
    names.len() == attributes.len()
        && names.iter().enumerate().all(|(index, name)| *name == attributes.name(index))
}

struct Element<'a, A> {
    classes: &'a [u32],
    attributes: &'a A,
    masks: &'a [Vec<u64>],
}

impl<A: Attributes> Asked for Element<'_, A> {
    fn any(&self, operand: &Operand, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        let Operand::Attribute(test) = operand else { return false };
        let mut all = self.classes.iter().enumerate();
        all.any(|(index, class)| {
            has(&self.masks[*class as usize], *test) && visit(checked(self.attributes.value(index)))
        })
    }
}
