//! What of an element depends on its attributes.
//!
//! ```text
//! transition -> which conditions hold -> outcome: the state of the children, what is selected
//! outcome    -> classes of attributes -> plan: which attributes are selected
//! ```
//!
//! Outcomes are kept by the conditions that hold. The last plan of each is kept: elements of one name mostly have the same
//! attributes.

use std::collections::{BTreeMap, HashMap};

use super::Selected;
use super::automaton::{Item, Names, Own, Run, UNKNOWN, has, holds, sort};
use super::condition::{Condition, Operand, Values};
use super::path::StepKind;
use crate::hash::Seeded;

/// What the start of an element does beside the change of state.
#[derive(Debug)]
pub(super) struct Transition {
    /// The state of its children, without what depends on attributes.
    state: u32,
    /// Expressions that select the element.
    selected: Vec<u32>,
    /// Items that advance if their conditions hold.
    guarded: Vec<Item>,
    /// Places in `guarded` of those whose conditions are evaluated one by one; the others are looked up by a value.
    others: Vec<u32>,
    equal: Vec<Equal>,
    /// Items whose step is an attribute of this element.
    attributes: Vec<Item>,
    /// The tests of attributes' names that `guarded` and `attributes` make, a bit each; those of `guarded` may select
    /// attributes in their next step.
    asked: Vec<u64>,
    /// The outcomes by the places in `guarded` of those that advance; the last one; the one of no attributes.
    outcomes: HashMap<Box<[u32]>, u32, Seeded>,
    last: Option<u32>,
    bare: Option<u32>,
}

/// Many conditions that an attribute is equal to a text: places in `guarded` by the text.
#[derive(Debug)]
struct Equal {
    test: u32,
    by_value: HashMap<String, Vec<u32>, Seeded>,
}

/// Fewer conditions of [`Equal`] are evaluated one by one.
const MIN_EQUAL: usize = 4;

impl Transition {
    pub(super) fn needs_attributes(&self) -> bool {
        !self.guarded.is_empty() || !self.attributes.is_empty()
    }

    /// Expressions that select the element, whatever its attributes.
    pub(super) fn selected(&self) -> &[u32] {
        &self.selected
    }
}

/// What an element does, once it is known which conditions hold.
#[derive(Debug)]
pub(super) struct Outcome {
    passed: Box<[u32]>,
    state: u32,
    selected: Vec<u32>,
    attributes: Vec<Item>,
    /// What `attributes` are for the last element, and the classes of its attributes.
    plan: Plan,
    classes: Vec<u32>,
}

/// What an element with attributes of known classes selects.
#[derive(Debug, Default)]
struct Plan {
    /// Whatever the values, the element itself too; in order, each once.
    selected: Vec<Selected>,
    /// Items and attributes, where the conditions of the item hold for the value.
    guarded: Vec<(Item, u32)>,
}

impl Run<'_> {
    pub(super) fn new_transition(
        &self,
        state: u32,
        selected: Vec<u32>,
        guarded: Vec<Item>,
        attributes: Vec<Item>,
    ) -> Transition {
        let asked = self.asked(&guarded, &attributes);
        let (equal, others) = self.equal(&guarded);
        Transition {
            state,
            selected,
            guarded,
            others,
            equal,
            attributes,
            asked,
            outcomes: HashMap::default(),
            last: None,
            bare: None,
        }
    }

    /// The element has an attribute with this name. Returns whether it matters: its value is needed, and its index is the
    /// number of those before it that matter.
    #[inline]
    pub(super) fn add_attribute(&mut self, tag: Tag, name: u32, names: &impl Names) -> bool {
        let class = self.attribute_class(name, names);
        let mask = &self.attribute_masks[class as usize];
        let asked = &self.transitions[tag.0 as usize].asked;
        let matters = mask.iter().zip(asked).any(|(mask, asked)| mask & asked != 0);
        if matters {
            self.attributes.push(class);
        }
        matters
    }

    /// The start-tag is complete. `value` has the values of attributes by their indices.
    pub(super) fn attributes_complete<'v>(
        &mut self,
        tag: Tag,
        value: &dyn Fn(usize) -> &'v str,
        selected: &mut impl FnMut(Selected),
    ) {
        let attributes = std::mem::take(&mut self.attributes);
        let bare = self.transitions[tag.0 as usize].bare.filter(|_| attributes.is_empty());
        let number = match bare {
            Some(number) => number,
            None => self.decide(tag, &attributes, value),
        };
        if self.outcomes[number as usize].classes != attributes {
            let plan = self.plan(number, &attributes);
            let outcome = &mut self.outcomes[number as usize];
            outcome.plan = plan;
            outcome.classes.clone_from(&attributes);
        }
        self.attributes = attributes;
        let outcome = &self.outcomes[number as usize];
        self.open.push(outcome.state);
        let Plan { selected: plain, guarded } = &outcome.plan;
        if guarded.is_empty() {
            plain.iter().copied().for_each(selected);
            return;
        }
        self.found.extend(plain);
        for (item, index) in guarded {
            let path = &self.program.paths[item.path as usize];
            let conditions = &path.steps[item.step as usize].conditions;
            if holds(conditions, &Own(value(*index as usize))) {
                let (expression, attribute) = (path.expression, Some(*index));
                self.found.push(Selected { expression, attribute });
            }
        }
        self.report(selected);
    }

    /// What an outcome selects of an element with attributes of these classes.
    fn plan(&self, outcome: u32, classes: &[u32]) -> Plan {
        let outcome = &self.outcomes[outcome as usize];
        let own = outcome.selected.iter();
        let own = own.map(|expression| Selected { expression: *expression, attribute: None });
        let mut plan = Plan { selected: own.collect(), guarded: Vec::new() };
        for item in &outcome.attributes {
            let path = &self.program.paths[item.path as usize];
            let step = &path.steps[item.step as usize];
            let StepKind::Attribute(test) = step.kind else { continue };
            for (index, class) in (0..).zip(classes) {
                if !has(&self.attribute_masks[*class as usize], test) {
                    continue;
                }
                if step.conditions.is_empty() {
                    let (expression, attribute) = (path.expression, Some(index));
                    plan.selected.push(Selected { expression, attribute });
                } else {
                    plan.guarded.push((*item, index));
                }
            }
        }
        plan.selected.sort_unstable();
        plan.selected.dedup();
        plan
    }

    /// Evaluates the conditions of an element: the number of what it does.
    fn decide<'v>(&mut self, tag: Tag, classes: &[u32], value: &dyn Fn(usize) -> &'v str) -> u32 {
        let element = Element { classes, value, masks: &self.attribute_masks };
        let mut passed = std::mem::take(&mut self.passed);
        let transition = &self.transitions[tag.0 as usize];
        passed.clear();
        for place in &transition.others {
            if holds(&self.step(transition.guarded[*place as usize]).conditions, &element) {
                passed.push(*place);
            }
        }
        for Equal { test, by_value } in &transition.equal {
            element.any(&Operand::Attribute(*test), &mut |value| {
                passed.extend(by_value.get(value).into_iter().flatten());
                false
            });
        }
        let is_same = |last: &u32| *self.outcomes[*last as usize].passed == *passed;
        let number = match transition.last.filter(is_same) {
            Some(last) => last,
            None => self.outcome(tag, &passed),
        };
        let transition = &mut self.transitions[tag.0 as usize];
        transition.last = Some(number);
        if classes.is_empty() {
            transition.bare = Some(number);
        }
        self.passed = passed;
        number
    }

    /// The number of what an element does if these of the guarded items advance.
    #[inline(never)]
    fn outcome(&mut self, tag: Tag, passed: &[u32]) -> u32 {
        let transition = &self.transitions[tag.0 as usize];
        if let Some(known) = transition.outcomes.get(passed) {
            return *known;
        }
        let mut more = self.states[transition.state as usize].items.clone();
        let (mut selected, mut attributes) =
            (transition.selected.clone(), transition.attributes.clone());
        for place in passed {
            let item = transition.guarded[*place as usize];
            self.advance(item, &mut more, &mut selected, &mut attributes);
        }
        sort(&mut more);
        selected.sort_unstable();
        selected.dedup();
        let state = self.state(more);
        let number = self.outcomes.len() as u32;
        let passed: Box<[u32]> = passed.into();
        let (plan, classes) = (Plan::default(), vec![UNKNOWN]);
        let passed_too = passed.clone();
        self.outcomes.push(Outcome {
            passed: passed_too,
            state,
            selected,
            attributes,
            plan,
            classes,
        });
        self.transitions[tag.0 as usize].outcomes.insert(passed, number);
        number
    }

    /// The conditions that are looked up, and the places of the others.
    fn equal(&self, guarded: &[Item]) -> (Vec<Equal>, Vec<u32>) {
        let mut by_test: BTreeMap<u32, Vec<(u32, &String)>> = BTreeMap::new();
        let mut others = Vec::new();
        for (place, item) in (0..).zip(guarded) {
            match self.step(*item).conditions.as_slice() {
                [Condition::Text { operand: Operand::Attribute(test), equal: true, text }] => {
                    by_test.entry(*test).or_default().push((place, text));
                }
                _ => others.push(place),
            }
        }
        let mut all = Vec::new();
        for (test, conditions) in by_test {
            if conditions.len() < MIN_EQUAL {
                others.extend(conditions.iter().map(|(place, _)| *place));
                continue;
            }
            let mut by_value: HashMap<String, Vec<u32>, Seeded> = HashMap::default();
            for (place, text) in conditions {
                by_value.entry(text.clone()).or_default().push(place);
            }
            all.push(Equal { test, by_value });
        }
        (all, others)
    }

    /// The tests that decide which attributes matter.
    fn asked(&self, guarded: &[Item], attributes: &[Item]) -> Vec<u64> {
        let mut asked = vec![0; self.attribute_masks[0].len()];
        let mut ask = |test: u32| asked[test as usize / 64] |= 1_u64 << (test % 64);
        for item in guarded {
            self.step(*item).conditions.iter().for_each(|one| one.tests(&mut ask));
            let next = self.program.paths[item.path as usize].steps.get(item.step as usize + 1);
            if let Some(StepKind::Attribute(test)) = next.map(|step| step.kind) {
                ask(test);
            }
        }
        for item in attributes {
            if let StepKind::Attribute(test) = self.step(*item).kind {
                ask(test);
            }
        }
        asked
    }
}

/// An element whose attributes matter: the number of its transition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tag(u32);

impl Tag {
    pub(super) fn of(transition: u32) -> Tag {
        Tag(transition)
    }
}

struct Element<'a, 'v> {
    classes: &'a [u32],
    value: &'a dyn Fn(usize) -> &'v str,
    masks: &'a [Vec<u64>],
}

impl Values for Element<'_, '_> {
    fn any(&self, operand: &Operand, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        let Operand::Attribute(test) = operand else { return false };
        let mut all = self.classes.iter().enumerate();
        all.any(|(index, class)| {
            has(&self.masks[*class as usize], *test) && visit((self.value)(index))
        })
    }
}
