//! The automaton, made while it runs.

use std::collections::HashMap;

use super::condition::{Condition, Operand, Values};
use super::path::{Step, StepKind};
use super::{Program, Selected};
use crate::xpath::ast::Test;

/// The names of a document by their numbers: equal numbers mean equal URIs and local parts.
pub trait Names {
    /// URI and local part.
    fn name(&self, number: u32) -> (&str, &str);
}

/// So many states are kept; then all but those of open elements are forgotten.
const MAX_STATES: usize = 4096;
/// So many combinations of conditions of one transition have their state noted.
const MAX_COMBINATIONS: usize = 1024;

/// A path, and which of its steps is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Item {
    path: u32,
    step: u32,
}

/// What is looked for among the children of an element.
#[derive(Debug)]
struct State {
    items: Vec<Item>,
    /// Whether texts, comments, instructions may be selected.
    has_leaves: bool,
    /// By class of name.
    next: Vec<u32>,
}

/// No transition yet.
const UNKNOWN: u32 = u32::MAX;

/// What the start of an element does.
#[derive(Debug)]
struct Transition {
    /// The state of its children, without what depends on attributes.
    state: u32,
    /// Expressions that select the element.
    selected: Vec<u32>,
    /// Items that advance if their conditions hold.
    guarded: Vec<Item>,
    /// Items whose step is an attribute of this element.
    attributes: Vec<Item>,
    /// The states by which conditions hold, for the first 64 of them.
    by_conditions: HashMap<u64, u32>,
    /// The state, and what is selected, where no attribute is one that is asked for.
    bare: Option<(u32, Vec<u32>)>,
}

/// A program at work on one document after another.
#[derive(Debug)]
pub struct Run<'p> {
    program: &'p Program,
    states: Vec<State>,
    state_ids: HashMap<Vec<Item>, u32>,
    transitions: Vec<Transition>,
    /// The class of each name of the document, or [`UNKNOWN`].
    classes: Vec<u32>,
    /// By which tests of the program a name passes.
    class_ids: HashMap<Vec<bool>, u32>,
    class_names: Vec<(String, String)>,
    /// The same for names of attributes: each class has a bit for each test of the program.
    attribute_classes: Vec<u32>,
    attribute_masks: Vec<Vec<u64>>,
    open: Vec<u32>,
    start: u32,
    max_states: usize,
    /// Selections of one node.
    found: Vec<Selected>,
}

impl<'p> Run<'p> {
    /// Before a document.
    pub fn new(program: &'p Program) -> Run<'p> {
        let mut run = Run {
            program,
            states: Vec::new(),
            state_ids: HashMap::new(),
            transitions: Vec::new(),
            classes: Vec::new(),
            class_ids: HashMap::new(),
            class_names: Vec::new(),
            attribute_classes: Vec::new(),
            attribute_masks: vec![vec![0; program.attribute_tests.len().div_ceil(64)]],
            open: Vec::new(),
            start: 0,
            max_states: MAX_STATES,
            found: Vec::new(),
        };
        run.begin();
        run
    }

    /// Before another document, whose names have other numbers. What was learnt of them stays.
    pub fn reset(&mut self) {
        self.classes.clear();
        self.attribute_classes.clear();
        self.restart();
    }

    /// Before another document with the same numbers of names.
    pub fn restart(&mut self) {
        self.open.truncate(1);
        self.open[0] = self.start;
    }

    fn begin(&mut self) {
        let first = (0..self.program.paths.len() as u32).map(|path| Item { path, step: 0 });
        self.start = self.state(first.collect());
        self.open = vec![self.start];
    }

    fn step(&self, item: Item) -> &'p Step {
        &self.program.paths[item.path as usize].steps[item.step as usize]
    }

    /// The number of a state; `items` in order, each once.
    fn state(&mut self, items: Vec<Item>) -> u32 {
        if let Some(state) = self.state_ids.get(&items) {
            return *state;
        }
        let state = self.states.len() as u32;
        let has_leaves = items.iter().any(|item| is_for_leaves(&self.step(*item).test));
        self.states.push(State { items: items.clone(), has_leaves, next: Vec::new() });
        self.state_ids.insert(items, state);
        state
    }

    /// Forgets all states but those of open elements.
    fn forget(&mut self) {
        let open = std::mem::take(&mut self.open);
        let items: Vec<Vec<Item>> =
            open.iter().map(|state| self.states[*state as usize].items.clone()).collect();
        self.states.clear();
        self.state_ids.clear();
        self.transitions.clear();
        self.begin();
        self.open = items.into_iter().map(|items| self.state(items)).collect();
        self.max_states = MAX_STATES.max(2 * self.states.len());
    }

    fn class(&mut self, number: u32, names: &impl Names) -> u32 {
        let index = number as usize;
        if let Some(class) = self.classes.get(index).filter(|class| **class != UNKNOWN) {
            return *class;
        }
        let (uri, local) = names.name(number);
        let steps = self.program.paths.iter().flat_map(|path| &path.steps);
        let passes: Vec<bool> = steps.map(|step| passes(&step.test, uri, local)).collect();
        let fresh = self.class_names.len() as u32;
        let class = *self.class_ids.entry(passes).or_insert(fresh);
        if class == fresh {
            self.class_names.push((uri.to_owned(), local.to_owned()));
        }
        if self.classes.len() <= index {
            self.classes.resize(index + 1, UNKNOWN);
        }
        self.classes[index] = class;
        class
    }

    /// The class of an attribute's name; 0: nothing asks for it.
    fn attribute_class(&mut self, number: u32, names: &impl Names) -> u32 {
        let index = number as usize;
        let known = self.attribute_classes.get(index).filter(|class| **class != UNKNOWN);
        if let Some(class) = known {
            return *class;
        }
        let (uri, local) = names.name(number);
        let mut mask = vec![0_u64; self.attribute_masks[0].len()];
        for (bit, test) in self.program.attribute_tests.iter().enumerate() {
            mask[bit / 64] |= u64::from(passes(test, uri, local)) << (bit % 64);
        }
        let known = self.attribute_masks.iter().position(|one| *one == mask);
        let class = known.unwrap_or_else(|| {
            self.attribute_masks.push(mask);
            self.attribute_masks.len() - 1
        }) as u32;
        if self.attribute_classes.len() <= index {
            self.attribute_classes.resize(index + 1, UNKNOWN);
        }
        self.attribute_classes[index] = class;
        class
    }

    /// Whether an attribute with this name needs to be told.
    pub fn asks_for(&mut self, name: u32, names: &impl Names) -> bool {
        self.attribute_class(name, names) != 0
    }

    /// An element begins: the number of its name, and its attributes with their names' numbers and values. Calls `selected`
    /// with what is selected of it.
    pub fn start_element(
        &mut self,
        name: u32,
        attributes: &[(u32, &str)],
        names: &impl Names,
        selected: &mut impl FnMut(Selected),
    ) {
        if self.states.len() > self.max_states {
            self.forget();
        }
        let class = self.class(name, names);
        let state = self.open[self.open.len() - 1];
        let known = self.states[state as usize].next.get(class as usize).copied();
        let transition = match known.filter(|known| *known != UNKNOWN) {
            Some(known) => known,
            None => self.transition(state, class),
        };
        let plain = &self.transitions[transition as usize];
        let mut next = plain.state;
        let selected_plain = if plain.guarded.is_empty() && plain.attributes.is_empty() {
            &plain.selected
        } else {
            let classes: Vec<u32> =
                attributes.iter().map(|(name, _)| self.attribute_class(*name, names)).collect();
            if classes.iter().any(|class| *class != 0) {
                next = self.depending(transition, attributes, &classes);
                self.report(selected);
                self.open.push(next);
                return;
            }
            if self.transitions[transition as usize].bare.is_none() {
                let state = self.depending(transition, &[], &[]);
                self.found.sort_unstable();
                self.found.dedup();
                let found = self.found.drain(..).map(|one| one.expression).collect();
                self.transitions[transition as usize].bare = Some((state, found));
            }
            let plain = &self.transitions[transition as usize];
            match &plain.bare {
                None => &plain.selected,
                Some((state, selected)) => {
                    next = *state;
                    selected
                }
            }
        };
        for expression in selected_plain {
            selected(Selected { expression: *expression, attribute: None });
        }
        self.open.push(next);
    }

    /// Reports what was found: each once, though several alternatives of an expression may select it.
    fn report(&mut self, selected: &mut impl FnMut(Selected)) {
        self.found.sort_unstable();
        self.found.dedup();
        self.found.drain(..).for_each(selected);
    }

    fn transition(&mut self, state: u32, class: u32) -> u32 {
        let (uri, local) = self.class_names[class as usize].clone();
        let (mut kept, mut done) = (Vec::new(), Vec::new());
        let (mut guarded, mut attributes) = (Vec::new(), Vec::new());
        for item in &self.states[state as usize].items {
            let step = self.step(*item);
            if step.kind == StepKind::Descendant {
                kept.push(*item);
            }
            if !passes(&step.test, &uri, &local) {
                continue;
            }
            if step.conditions.is_empty() {
                self.advance(*item, &mut kept, &mut done, &mut attributes);
            } else {
                guarded.push(*item);
            }
        }
        sort(&mut kept);
        done.sort_unstable();
        done.dedup();
        let next = self.state(kept);
        let number = self.transitions.len() as u32;
        self.transitions.push(Transition {
            state: next,
            selected: done,
            guarded,
            attributes,
            by_conditions: HashMap::new(),
            bare: None,
        });
        let all = &mut self.states[state as usize].next;
        if all.len() <= class as usize {
            all.resize(class as usize + 1, UNKNOWN);
        }
        all[class as usize] = number;
        number
    }

    /// An element has passed the step of an item.
    fn advance(
        &self,
        item: Item,
        kept: &mut Vec<Item>,
        done: &mut Vec<u32>,
        attributes: &mut Vec<Item>,
    ) {
        let path = &self.program.paths[item.path as usize];
        let next = Item { step: item.step + 1, ..item };
        match path.steps.get(next.step as usize) {
            None => done.push(path.expression),
            Some(step) if step.kind.is_attribute() => attributes.push(next),
            Some(_) => kept.push(next),
        }
    }

    /// All that an element selects where some of it depends on attributes, to `found`. Returns the state of its children.
    #[inline(never)]
    fn depending(&mut self, transition: u32, attributes: &[(u32, &str)], classes: &[u32]) -> u32 {
        let element = Element { attributes, classes, masks: &self.attribute_masks };
        let plain = &self.transitions[transition as usize];
        let (mut passed, mut bits) = (Vec::new(), 0_u64);
        for (index, item) in plain.guarded.iter().enumerate() {
            if holds(&self.step(*item).conditions, &element) {
                passed.push(*item);
                bits |= 1_u64.checked_shl(index as u32).unwrap_or(0);
            }
        }
        let (mut more, mut done) = (Vec::new(), plain.selected.clone());
        let mut wanted = plain.attributes.clone();
        for item in passed {
            self.advance(item, &mut more, &mut done, &mut wanted);
        }
        let own = done.into_iter().map(|expression| Selected { expression, attribute: None });
        self.found.extend(own);
        for item in wanted {
            let step = self.step(item);
            let expression = self.program.paths[item.path as usize].expression;
            let StepKind::Attribute(test) = step.kind else { continue };
            for (index, ((_, value), class)) in (0..).zip(attributes.iter().zip(classes)) {
                if has(&self.attribute_masks[*class as usize], test)
                    && holds(&step.conditions, &Own(value))
                {
                    self.found.push(Selected { expression, attribute: Some(index) });
                }
            }
        }
        let plain = &self.transitions[transition as usize];
        let few = plain.guarded.len() <= 64;
        if let Some(state) = plain.by_conditions.get(&bits).filter(|_| few) {
            return *state;
        }
        more.extend(&self.states[plain.state as usize].items);
        sort(&mut more);
        let state = self.state(more);
        let known = &mut self.transitions[transition as usize].by_conditions;
        if few && known.len() < MAX_COMBINATIONS {
            known.insert(bits, state);
        }
        state
    }

    /// The innermost element ends.
    pub fn end_element(&mut self) {
        if self.open.len() > 1 {
            self.open.pop();
        }
    }

    /// A text, whole.
    pub fn text(&mut self, value: &str, selected: &mut impl FnMut(Selected)) {
        self.leaf(value, &|test| matches!(test, Test::Text | Test::Node), selected);
    }

    /// A comment.
    pub fn comment(&mut self, value: &str, selected: &mut impl FnMut(Selected)) {
        self.leaf(value, &|test| matches!(test, Test::Comment | Test::Node), selected);
    }

    /// A processing instruction.
    pub fn instruction(&mut self, target: &str, value: &str, selected: &mut impl FnMut(Selected)) {
        let passes = |test: &Test| match test {
            Test::Node | Test::Instruction(None) => true,
            Test::Instruction(Some(wanted)) => wanted == target,
            _ => false,
        };
        self.leaf(value, &passes, selected);
    }

    /// Whether texts, comments and instructions need to be told at this place.
    pub fn wants_leaves(&self) -> bool {
        self.states[self.open[self.open.len() - 1] as usize].has_leaves
    }

    fn leaf(
        &mut self,
        value: &str,
        passes: &dyn Fn(&Test) -> bool,
        selected: &mut impl FnMut(Selected),
    ) {
        let state = &self.states[self.open[self.open.len() - 1] as usize];
        if !state.has_leaves {
            return;
        }
        for item in &state.items {
            let path = &self.program.paths[item.path as usize];
            let step = self.step(*item);
            let is_last = item.step as usize + 1 == path.steps.len();
            // Conditions of `node()` are on attributes.
            let values: &dyn Values =
                if step.test == Test::Node { &NoAttributes } else { &Own(value) };
            if is_last && passes(&step.test) && holds(&step.conditions, values) {
                self.found.push(Selected { expression: path.expression, attribute: None });
            }
        }
        self.report(selected);
    }
}

/// A tree's names have the numbers of its [`NameId`](crate::tree::NameId)s.
impl Names for crate::tree::Tree<'_> {
    fn name(&self, number: u32) -> (&str, &str) {
        self.uri_and_local(number)
    }
}

fn sort(items: &mut Vec<Item>) {
    items.sort_unstable();
    items.dedup();
}

fn holds(conditions: &[Condition], values: &dyn Values) -> bool {
    conditions.iter().all(|condition| condition.holds(values))
}

/// Whether a node that is no element may pass.
fn is_for_leaves(test: &Test) -> bool {
    matches!(test, Test::Node | Test::Text | Test::Comment | Test::Instruction(_))
}

/// Whether an element or attribute with this name passes.
fn passes(test: &Test, uri: &str, local: &str) -> bool {
    match test {
        Test::Any | Test::Node => true,
        Test::Namespace(wanted) => wanted == uri,
        Test::Name { uri: wanted, local: name } => wanted == uri && name == local,
        Test::Text | Test::Comment | Test::Instruction(_) => false,
    }
}

/// Whether a class passes the test with this number.
fn has(mask: &[u64], test: u32) -> bool {
    mask[test as usize / 64] >> (test % 64) & 1 != 0
}

struct Element<'a> {
    attributes: &'a [(u32, &'a str)],
    classes: &'a [u32],
    masks: &'a [Vec<u64>],
}

impl Values for Element<'_> {
    fn any(&self, operand: &Operand, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        let Operand::Attribute(test) = operand else { return false };
        let mut all = self.attributes.iter().zip(self.classes);
        all.any(|((_, value), class)| has(&self.masks[*class as usize], *test) && visit(value))
    }
}

struct Own<'a>(&'a str);

impl Values for Own<'_> {
    fn any(&self, operand: &Operand, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        *operand == Operand::Own && visit(self.0)
    }
}

struct NoAttributes;

impl Values for NoAttributes {
    fn any(&self, _: &Operand, _: &mut dyn FnMut(&str) -> bool) -> bool {
        false
    }
}
