//! The automaton, made while it runs.

use std::collections::HashMap;

use super::condition::{Asked, Condition, Operand};
use super::element::{Attributes, Outcome, Shape, Transition};
use super::path::{Step, StepKind};
use super::values::{Value, Values};
use super::{Program, Selected};
use crate::hash::Seeded;
use crate::xpath::ast::Test;

/// The names of a document by their numbers: equal numbers mean equal URIs and local parts.
pub trait Names {
    /// URI and local part.
    fn name(&self, number: u32) -> (&str, &str);
}

/// With more states than this, or if shapes, outcomes and tables take so many words, all but the states of open elements are
/// forgotten; large programs may take more for each path.
const MAX_STATES: usize = 4096;
const MAX_WORDS: usize = 1 << 20;
const MAX_WORDS_OF_PATH: usize = 256;
/// Words of a shape, an outcome or a table beside its lists, about.
const OWN_WORDS: usize = 64;

/// A path, and which of its steps is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Item {
    pub(super) path: u32,
    pub(super) step: u32,
}

/// What is looked for among the children of an element.
#[derive(Debug)]
pub(super) struct State {
    pub(super) items: Vec<Item>,
    texts: Leaves,
    comments: Leaves,
    instructions: Leaves,
    has_texts: bool,
}

/// What of a state selects texts, comments or instructions.
#[derive(Debug, Default)]
struct Leaves {
    /// Expressions that select all of them, each once.
    selected: Vec<u32>,
    /// Items that depend on the value or the target.
    guarded: Vec<Item>,
}

impl Leaves {
    fn is_empty(&self) -> bool {
        self.selected.is_empty() && self.guarded.is_empty()
    }
}

/// What a state does with a class of names.
#[derive(Clone, Copy, Debug)]
struct Cell {
    /// The state of the children, without what depends on attributes; [`UNKNOWN`]: no transition yet.
    state: u32,
    /// The number of the [`Transition`]; [`NOTHING`]: the element selects nothing, and its attributes do not matter.
    transition: u32,
}

/// Not known yet.
pub(super) const UNKNOWN: u32 = u32::MAX;
const NOTHING: u32 = u32::MAX;
const NO_CELL: Cell = Cell { state: UNKNOWN, transition: NOTHING };

/// A program at work on one document after another.
#[derive(Debug)]
pub struct Run<'p> {
    pub(super) program: &'p Program,
    pub(super) states: Vec<State>,
    /// By state, then by class of name, of which a row has `1 << row_bits`.
    cells: Vec<Cell>,
    row_bits: u32,
    state_ids: HashMap<Vec<Item>, u32>,
    pub(super) transitions: Vec<Transition>,
    pub(super) shapes: Vec<Shape>,
    /// By the number of the transition and those of the names of the attributes.
    pub(super) shape_ids: HashMap<Box<[u32]>, u32, Seeded>,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) tables: Vec<Values>,
    /// What shapes, outcomes and tables take.
    words: usize,
    /// The class of each name of the document, or [`UNKNOWN`].
    classes: Vec<u32>,
    /// By which tests of the program a name passes.
    class_ids: HashMap<Vec<bool>, u32>,
    class_names: Vec<(String, String)>,
    /// The same for names of attributes: each class has a bit for each test of the program.
    attribute_classes: Vec<u32>,
    pub(super) attribute_masks: Vec<Vec<u64>>,
    /// The states of the children of the innermost element, and of those around it.
    pub(super) state: u32,
    open: Vec<u32>,
    start: u32,
    max_states: usize,
    is_full: bool,
    /// Selections of one node, conditions of one element that hold, the key of its shape: kept for their memory.
    pub(super) found: Vec<Selected>,
    pub(super) passed: Vec<u32>,
    pub(super) key: Vec<u32>,
}

impl<'p> Run<'p> {
    /// Before a document.
    pub fn new(program: &'p Program) -> Run<'p> {
        let mut run = Run {
            program,
            states: Vec::new(),
            cells: Vec::new(),
            row_bits: 4,
            state_ids: HashMap::new(),
            transitions: Vec::new(),
            shapes: Vec::new(),
            shape_ids: HashMap::default(),
            outcomes: Vec::new(),
            tables: Vec::new(),
            words: 0,
            classes: Vec::new(),
            class_ids: HashMap::new(),
            class_names: Vec::new(),
            attribute_classes: Vec::new(),
            attribute_masks: vec![vec![0; program.attribute_tests.len().div_ceil(64)]],
            state: 0,
            open: Vec::new(),
            start: 0,
            max_states: MAX_STATES,
            is_full: false,
            found: Vec::new(),
            passed: Vec::new(),
            key: Vec::new(),
        };
        run.begin();
        run
    }

    /// Before another document, whose names have other numbers. What was learnt of them stays.
    pub fn reset(&mut self) {
        self.classes.clear();
        self.attribute_classes.clear();
        self.forget_shapes();
        self.restart();
    }

    /// Before another document with the same numbers of names.
    pub fn restart(&mut self) {
        self.open.clear();
        self.state = self.start;
    }

    fn forget_shapes(&mut self) {
        self.shapes.clear();
        self.shape_ids.clear();
        self.outcomes.clear();
        self.words = 0;
        self.transitions.iter_mut().for_each(Transition::forget_shapes);
    }

    /// A shape, an outcome or a table was added, with so many words in its lists.
    pub(super) fn grown(&mut self, words: usize) {
        self.words += OWN_WORDS + words;
        self.is_full |= self.words > MAX_WORDS.max(self.program.paths.len() * MAX_WORDS_OF_PATH);
    }

    fn begin(&mut self) {
        let first = (0..self.program.paths.len() as u32).map(|path| Item { path, step: 0 });
        self.start = self.state(first.collect());
        self.open.clear();
        self.state = self.start;
    }

    pub(super) fn step(&self, item: Item) -> &'p Step {
        &self.program.paths[item.path as usize].steps[item.step as usize]
    }

    /// The number of a state; `items` in order, each once.
    pub(super) fn state(&mut self, items: Vec<Item>) -> u32 {
        if let Some(state) = self.state_ids.get(&items) {
            return *state;
        }
        let leaves = |passes: fn(&Test) -> bool| {
            let mut leaves = Leaves::default();
            for item in &items {
                let path = &self.program.paths[item.path as usize];
                let step = &path.steps[item.step as usize];
                if !passes(&step.test) || path.steps.len() != item.step as usize + 1 {
                    continue;
                }
                if step.conditions.is_empty() && !matches!(step.test, Test::Instruction(Some(_))) {
                    leaves.selected.push(path.expression);
                } else {
                    leaves.guarded.push(*item);
                }
            }
            leaves.selected.sort_unstable();
            leaves.selected.dedup();
            leaves
        };
        let texts = leaves(|test| matches!(test, Test::Text | Test::Node));
        let comments = leaves(|test| matches!(test, Test::Comment | Test::Node));
        let instructions = leaves(|test| matches!(test, Test::Instruction(_) | Test::Node));
        let state = self.states.len() as u32;
        let has_texts = !texts.is_empty();
        let items_too = items.clone();
        self.states.push(State { items: items_too, texts, comments, instructions, has_texts });
        self.is_full |= self.states.len() > self.max_states;
        self.cells.resize(self.states.len() << self.row_bits, NO_CELL);
        self.state_ids.insert(items, state);
        state
    }

    /// Forgets all states but those of open elements.
    #[cold]
    fn forget(&mut self) {
        let mut open = std::mem::take(&mut self.open);
        open.push(self.state);
        let items: Vec<Vec<Item>> =
            open.iter().map(|state| self.states[*state as usize].items.clone()).collect();
        self.states.clear();
        self.cells.clear();
        self.state_ids.clear();
        self.transitions.clear();
        self.tables.clear();
        self.forget_shapes();
        self.max_states = usize::MAX;
        self.begin();
        self.open = items.into_iter().map(|items| self.state(items)).collect();
        self.state = self.open.pop().unwrap_or(self.start);
        self.max_states = MAX_STATES.max(2 * self.states.len());
        self.is_full = false;
    }

    #[inline]
    fn class(&mut self, number: u32, names: &impl Names) -> u32 {
        match self.classes.get(number as usize) {
            Some(class) if *class != UNKNOWN => *class,
            _ => self.new_class(number, names),
        }
    }

    #[cold]
    fn new_class(&mut self, number: u32, names: &impl Names) -> u32 {
        let index = number as usize;
        let (uri, local) = names.name(number);
        let steps = self.program.paths.iter().flat_map(|path| &path.steps);
        let passes: Vec<bool> = steps.map(|step| passes(&step.test, uri, local)).collect();
        let fresh = self.class_names.len() as u32;
        let class = *self.class_ids.entry(passes).or_insert(fresh);
        if class == fresh {
            self.class_names.push((uri.to_owned(), local.to_owned()));
            while class >> self.row_bits != 0 {
                // Each row gets as many new cells as it has.
                let rows = self.cells.chunks(1 << self.row_bits);
                let rows =
                    rows.flat_map(|row| row.iter().copied().chain(row.iter().map(|_| NO_CELL)));
                self.cells = rows.collect();
                self.row_bits += 1;
            }
        }
        if self.classes.len() <= index {
            self.classes.resize(index + 1, UNKNOWN);
        }
        self.classes[index] = class;
        class
    }

    /// The class of an attribute's name; 0: nothing asks for it.
    pub(super) fn attribute_class(&mut self, number: u32, names: &impl Names) -> u32 {
        match self.attribute_classes.get(number as usize) {
            Some(class) if *class != UNKNOWN => *class,
            _ => self.new_attribute_class(number, names),
        }
    }

    #[cold]
    fn new_attribute_class(&mut self, number: u32, names: &impl Names) -> u32 {
        let index = number as usize;
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

    /// An element begins: the number of its name, and its attributes with their names' numbers and values. Calls `selected`
    /// with what is selected of it.
    pub fn start_element(
        &mut self,
        name: u32,
        attributes: &[(u32, &str)],
        names: &impl Names,
        selected: &mut impl FnMut(Selected),
    ) {
        self.begin_element(name, &attributes, names, selected);
    }

    #[inline]
    pub(super) fn begin_element(
        &mut self,
        name: u32,
        attributes: &impl Attributes,
        names: &impl Names,
        selected: &mut impl FnMut(Selected),
    ) {
        if self.is_full {
            self.forget();
        }
        let class = self.class(name, names);
        let mut cell = self.cells[(self.state as usize) << self.row_bits | class as usize];
        if cell.state == UNKNOWN {
            cell = self.transition(self.state, class);
        }
        self.open.push(self.state);
        self.state = cell.state;
        if cell.transition != NOTHING {
            self.take(cell.transition, attributes, names, selected);
        }
    }

    /// Reports what was found: each once, though several alternatives of an expression may select it.
    pub(super) fn report(&mut self, selected: &mut impl FnMut(Selected)) {
        self.found.sort_unstable();
        self.found.dedup();
        self.found.drain(..).for_each(selected);
    }

    #[cold]
    fn transition(&mut self, state: u32, class: u32) -> Cell {
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
        let mut transition = NOTHING;
        if !(done.is_empty() && guarded.is_empty() && attributes.is_empty()) {
            transition = self.transitions.len() as u32;
            self.transitions.push(Transition::new(next, done, guarded, attributes));
        }
        let cell = Cell { state: next, transition };
        self.cells[(state as usize) << self.row_bits | class as usize] = cell;
        cell
    }

    /// An element has passed the step of an item.
    pub(super) fn advance(
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

    /// The innermost element ends.
    #[inline]
    pub fn end_element(&mut self) {
        if let Some(state) = self.open.pop() {
            self.state = state;
        }
    }

    fn here(&self) -> &State {
        &self.states[self.state as usize]
    }

    /// Whether an expression may select texts at this place: no other one needs to be passed to [`text`](Self::text).
    #[inline]
    pub fn wants_texts(&self) -> bool {
        self.here().has_texts
    }

    /// The same for comments.
    pub fn wants_comments(&self) -> bool {
        !self.here().comments.is_empty()
    }

    /// The same for processing instructions.
    pub fn wants_instructions(&self) -> bool {
        !self.here().instructions.is_empty()
    }

    /// A text, whole.
    pub fn text(&mut self, value: &str, selected: &mut impl FnMut(Selected)) {
        self.leaf(value, |state| &state.texts, None, selected);
    }

    /// A comment.
    pub fn comment(&mut self, value: &str, selected: &mut impl FnMut(Selected)) {
        self.leaf(value, |state| &state.comments, None, selected);
    }

    /// A processing instruction.
    pub fn instruction(&mut self, target: &str, value: &str, selected: &mut impl FnMut(Selected)) {
        self.leaf(value, |state| &state.instructions, Some(target), selected);
    }

    fn leaf(
        &mut self,
        value: &str,
        leaves: fn(&State) -> &Leaves,
        target: Option<&str>,
        selected: &mut impl FnMut(Selected),
    ) {
        let leaves = leaves(&self.states[self.state as usize]);
        let plain = leaves.selected.iter();
        let plain = plain.map(|expression| Selected { expression: *expression, attribute: None });
        if leaves.guarded.is_empty() {
            plain.for_each(selected);
            return;
        }
        self.found.extend(plain);
        for item in &leaves.guarded {
            let path = &self.program.paths[item.path as usize];
            let step = &path.steps[item.step as usize];
            // Conditions of `node()` are on attributes.
            let values: &dyn Asked =
                if step.test == Test::Node { &NoAttributes } else { &Own(value) };
            let is_other = matches!(&step.test, Test::Instruction(Some(wanted)) if Some(wanted.as_str()) != target);
            if !is_other && holds(&step.conditions, values) {
                self.found.push(Selected { expression: path.expression, attribute: None });
            }
        }
        self.report(selected);
    }
}

impl Attributes for &[(u32, &str)] {
    fn len(&self) -> usize {
        <[_]>::len(self)
    }

    fn name(&self, index: usize) -> u32 {
        self[index].0
    }

    fn value(&self, index: usize) -> &[u8] {
        self[index].1.as_bytes()
    }

    fn key(&self, index: usize) -> Value<'_> {
        Value::new(self[index].1.as_bytes())
    }
}

/// A tree's names have the numbers of its [`NameId`](crate::tree::NameId)s.
impl Names for crate::tree::Tree<'_> {
    fn name(&self, number: u32) -> (&str, &str) {
        self.uri_and_local(number)
    }
}

pub(super) fn sort(items: &mut Vec<Item>) {
    items.sort_unstable();
    items.dedup();
}

pub(super) fn holds(conditions: &[Condition], values: &dyn Asked) -> bool {
    conditions.iter().all(|condition| condition.holds(values))
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

/// Whether the bit with this number is set.
pub(super) fn has(mask: &[u64], test: u32) -> bool {
    mask[test as usize / 64] >> (test % 64) & 1 != 0
}

pub(super) struct Own<'a>(pub(super) &'a str);

impl Asked for Own<'_> {
    fn any(&self, operand: &Operand, visit: &mut dyn FnMut(&str) -> bool) -> bool {
        *operand == Operand::Own && visit(self.0)
    }
}

struct NoAttributes;

impl Asked for NoAttributes {
    fn any(&self, _: &Operand, _: &mut dyn FnMut(&str) -> bool) -> bool {
        false
    }
}
