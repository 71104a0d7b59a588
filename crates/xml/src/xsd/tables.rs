//! Identity constraints at work: nodes that selectors select, values of their fields, and tables of keys (Structures, 3.11.4).

use super::components::Components;
use super::error::Rule;
use super::identity::{Constraint, ConstraintKind, Path};
use super::keys::{Keys, References, Step};

/// Appends the steps of the current path from an open element at a depth on.
pub(crate) type Steps<'a> = &'a dyn Fn(u32, &mut Vec<Step>);

/// A fault, and whether it is at a node below the current one.
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    pub(crate) message: String,
    pub(crate) below: Option<(Box<[Step]>, u64)>,
}

/// A path on its way: at an open element, what has been passed. A stack of them has those of the innermost element at its end.
#[derive(Clone, Copy, Debug)]
struct Walk {
    depth: u32,
    /// The constraint's place, or the target's.
    of: u32,
    field: u32,
    passed: u64,
}

/// Where those begin that are at a depth or below.
#[inline]
fn first_at(walks: &[Walk], depth: u32) -> usize {
    walks.iter().rposition(|it| it.depth < depth).map_or(0, |it| it + 1)
}

/// A constraint of an open element.
#[derive(Debug)]
struct Active {
    constraint: u32,
    depth: u32,
    /// Marked: two nodes below have the same one.
    keys: Keys,
    /// Of a keyref.
    references: References,
}

#[derive(Debug, Default)]
struct Field {
    key: Vec<u8>,
    /// Nodes that were selected.
    count: u32,
    has_value: bool,
    is_nillable: bool,
}

/// A node that a selector selects.
#[derive(Debug)]
struct Target {
    active: u32,
    depth: u32,
    fields: Vec<Field>,
}

/// All constraints of the open elements.
#[derive(Debug, Default)]
pub(crate) struct Tables {
    actives: Vec<Active>,
    targets: Vec<Target>,
    spare: Vec<Target>,
    selectors: Vec<Walk>,
    fields: Vec<Walk>,
    /// Depth of an element, target and field: the element is the field's value.
    captures: Vec<(u32, u32, u32)>,
    /// Tables of keys from below, by depth and constraint.
    inherited: Vec<(u32, u32, Keys)>,
    spare_keys: Vec<Keys>,
    spare_references: Vec<References>,
    /// Fields that select attributes of the element that begins.
    wanted: Vec<(u32, u32, u64)>,
    /// Constraints that select the element that begins, and whose fields are attributes of it; the names of all these, their
    /// values, and the bytes of those.
    direct: Vec<u32>,
    asked: Vec<u32>,
    values: Vec<Option<(usize, usize)>>,
    bytes: Vec<u8>,
    memory: usize,
    scratch: Vec<u8>,
}

/// What a field has of an element.
pub(crate) enum ElementValue<'a> {
    /// A key of its value.
    Key(&'a [u8]),
    /// It is nil.
    Nil,
    /// Its content is not simple.
    None,
}

impl Tables {
    pub(crate) fn clear(&mut self) {
        // What was not closed is not kept: this is after an error.
        self.actives.clear();
        self.spare_keys.extend(self.inherited.drain(..).map(|it| it.2));
        self.spare.append(&mut self.targets);
        self.selectors.clear();
        self.fields.clear();
        self.captures.clear();
        self.memory = 0;
    }

    #[inline]
    pub(crate) fn is_idle(&self) -> bool {
        self.actives.is_empty()
    }

    /// Bytes of keys.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// Whether an element without attributes and constraints neither is nor leads to what a path selects.
    #[inline]
    pub(crate) fn ignore(&self, c: &Components, depth: u32, symbol: u32, namespace: u32) -> bool {
        let above = depth.wrapping_sub(1);
        let path = |of: u32| &c.constraints[self.actives[of as usize].constraint as usize];
        self.fields.last().is_none_or(|it| it.depth != above)
            && self
                .selectors
                .iter()
                .rev()
                .take_while(|it| it.depth == above)
                .all(|it| path(it.of).selector.step(it.passed, symbol, namespace) == 0)
    }

    /// An element begins. Returns whether fields ask for its attributes.
    pub(crate) fn enter(
        &mut self,
        c: &Components,
        depth: u32,
        symbol: u32,
        namespace: u32,
        own: &[u32],
    ) -> bool {
        self.wanted.clear();
        self.direct.clear();
        self.asked.clear();
        self.values.clear();
        self.bytes.clear();
        let above = depth.wrapping_sub(1);
        if self.fields.last().is_some_and(|it| it.depth == above) {
            for walk in first_at(&self.fields, above)..self.fields.len() {
                let Walk { of, field, passed, .. } = self.fields[walk];
                let constraint = self.actives[self.targets[of as usize].active as usize].constraint;
                let path = &c.constraints[constraint as usize].fields[field as usize];
                let passed = path.step(passed, symbol, namespace);
                self.passed(path, Walk { depth, of, field, passed });
            }
        }
        if self.selectors.last().is_some_and(|it| it.depth == above) {
            for walk in first_at(&self.selectors, above)..self.selectors.len() {
                let Walk { of, passed, .. } = self.selectors[walk];
                let path = &c.constraints[self.actives[of as usize].constraint as usize].selector;
                let passed = path.step(passed, symbol, namespace);
                if passed != 0 {
                    self.selected(c, path, of, depth, passed);
                }
            }
        }
        for constraint in own {
            let path = &c.constraints[*constraint as usize].selector;
            let of = self.actives.len() as u32;
            let (mut keys, mut references) = (Keys::default(), References::default());
            if let ConstraintKind::KeyRef(_) = c.constraints[*constraint as usize].kind {
                references = self.spare_references.pop().unwrap_or_default();
                references.clear();
            } else if let Some(spare) = self.spare_keys.pop() {
                keys = spare;
                keys.clear();
            }
            self.actives.push(Active { constraint: *constraint, depth, keys, references });
            self.selected(c, path, of, depth, path.start());
        }
        !self.wanted.is_empty() || !self.direct.is_empty()
    }

    /// What a selector has passed at the element that begins.
    #[inline(always)]
    fn selected(&mut self, c: &Components, path: &Path, of: u32, depth: u32, passed: u64) {
        if path.continues(passed) {
            self.selectors.push(Walk { depth, of, field: 0, passed });
        }
        if path.selects(passed) {
            let constraint = &c.constraints[self.actives[of as usize].constraint as usize];
            if constraint.direct.is_empty() {
                self.target(c, of, depth);
            } else {
                self.direct.push(of);
                self.asked.extend_from_slice(&constraint.direct);
                self.values.resize(self.asked.len(), None);
            }
        }
    }

    fn target(&mut self, c: &Components, active: u32, depth: u32) {
        let paths = &c.constraints[self.actives[active as usize].constraint as usize].fields;
        let mut target = self.spare.pop().unwrap_or(Target { active, depth, fields: Vec::new() });
        (target.active, target.depth) = (active, depth);
        target.fields.resize_with(paths.len(), Field::default);
        for field in &mut target.fields {
            field.key.clear();
            (field.count, field.has_value, field.is_nillable) = (0, false, false);
        }
        self.targets.push(target);
        let of = self.targets.len() as u32 - 1;
        for (field, path) in (0..).zip(paths) {
            self.passed(path, Walk { depth, of, field, passed: path.start() });
        }
    }

    /// What a field has passed at the element that begins.
    #[inline]
    fn passed(&mut self, path: &Path, walk: Walk) {
        let Walk { depth, of, field, passed } = walk;
        if passed == 0 {
            return;
        }
        if path.continues(passed) {
            self.fields.push(walk);
        }
        if path.selects(passed) {
            self.targets[of as usize].fields[field as usize].count += 1;
            self.captures.push((depth, of, field));
        }
        if path.has_attributes() {
            self.wanted.push((of, field, passed));
        }
    }

    /// An attribute of the element that begins; `key` appends that of its value, if it has one.
    #[inline]
    pub(crate) fn attribute(
        &mut self,
        c: &Components,
        symbol: u32,
        namespace: u32,
        key: &mut impl FnMut(&mut Vec<u8>) -> bool,
    ) {
        let Tables { wanted, targets, actives, asked, values, bytes, .. } = self;
        for (field, value) in asked.iter().zip(values) {
            if *field == symbol {
                let from = bytes.len();
                if key(bytes) {
                    *value = Some((from, bytes.len()));
                }
            }
        }
        for (target, field, passed) in wanted.iter() {
            let Target { active, fields, .. } = &mut targets[*target as usize];
            let constraint = &c.constraints[actives[*active as usize].constraint as usize];
            if constraint.fields[*field as usize].selects_attribute(*passed, symbol, namespace) {
                let one = &mut fields[*field as usize];
                one.count += 1;
                one.key.clear();
                one.has_value = key(&mut one.key);
            }
        }
    }

    /// Whether the element that ends is the value of a field.
    #[inline]
    pub(crate) fn asks_for(&self, depth: u32) -> bool {
        self.captures.last().is_some_and(|it| it.0 == depth)
    }

    /// The value of the element that ends.
    pub(crate) fn element(
        &mut self,
        depth: u32,
        value: &ElementValue<'_>,
        is_nillable: bool,
    ) -> Option<Fault> {
        let mut fault = None;
        while let Some((_, target, field)) = self.captures.pop_if(|it| it.0 == depth) {
            let one = &mut self.targets[target as usize].fields[field as usize];
            one.is_nillable |= is_nillable;
            match value {
                ElementValue::Key(key) => {
                    one.key.clear();
                    one.key.extend_from_slice(key);
                    one.has_value = true;
                }
                ElementValue::Nil => {}
                ElementValue::None => {
                    let message = "a field selects an element without a simple value".to_owned();
                    fault =
                        Some(Fault { rule: Rule::CvcIdentityConstraint3, message, below: None });
                }
            }
        }
        fault
    }

    /// Whether the end of an element at a depth matters.
    #[inline]
    pub(crate) fn ends_at(&self, depth: u32) -> bool {
        self.fields.last().is_some_and(|it| it.depth == depth)
            || self.selectors.last().is_some_and(|it| it.depth == depth)
            || self.targets.last().is_some_and(|it| it.depth == depth)
            || self.asks_for(depth)
            || self.actives.last().is_some_and(|it| it.depth == depth)
            || self.inherited.iter().any(|it| it.0 == depth)
    }

    /// An element ends.
    pub(crate) fn leave(
        &mut self,
        c: &Components,
        depth: u32,
        offset: u64,
        steps: Steps<'_>,
        report: &mut dyn FnMut(Fault),
    ) {
        while let Some(target) = self.targets.pop_if(|it| it.depth == depth) {
            self.finish(c, &target, offset, steps, report);
            self.spare.push(target);
        }
        for walks in [&mut self.fields, &mut self.selectors] {
            walks.truncate(first_at(walks, depth));
        }
        if self.actives.last().is_some_and(|it| it.depth == depth) || !self.inherited.is_empty() {
            self.close(c, depth, report);
        }
    }

    /// The attributes of the element that begins are complete.
    pub(crate) fn attributes_complete(
        &mut self,
        c: &Components,
        offset: u64,
        steps: Steps<'_>,
        report: &mut dyn FnMut(Fault),
    ) {
        let mut values = self.values.as_slice();
        for active in &self.direct {
            let active = &mut self.actives[*active as usize];
            let constraint = &c.constraints[active.constraint as usize];
            let (own, rest) = values.split_at(constraint.direct.len());
            values = rest;
            let key = match own {
                [Some((from, to))] => &self.bytes[*from..*to],
                own => {
                    self.scratch.clear();
                    let fields = own.iter().map(|it| it.map(|(from, to)| &self.bytes[from..to]));
                    if !compose(fields, &mut self.scratch) {
                        constraint.missing(report);
                        continue;
                    }
                    &self.scratch
                }
            };
            self.memory += active.add(constraint, key, offset, steps, report);
        }
    }

    /// Whether keys are complete with the attributes of the element that begins.
    #[inline]
    pub(crate) fn has_direct(&self) -> bool {
        !self.direct.is_empty()
    }

    /// A selected node is complete.
    fn finish(
        &mut self,
        c: &Components,
        target: &Target,
        offset: u64,
        steps: Steps<'_>,
        report: &mut dyn FnMut(Fault),
    ) {
        let active = &mut self.actives[target.active as usize];
        let constraint = &c.constraints[active.constraint as usize];
        let name = &constraint.name;
        let mut fault = |rule, message| report(Fault { rule, message, below: None });
        if target.fields.iter().any(|it| it.count > 1) {
            fault(Rule::CvcIdentityConstraint3, format!("a field of {name} selects several nodes"));
            return;
        }
        let is_key = constraint.kind == ConstraintKind::Key;
        if is_key && target.fields.iter().any(|it| it.is_nillable) {
            fault(Rule::CvcIdentityConstraint423, format!("a field of the key {name} is nillable"));
            return;
        }
        self.scratch.clear();
        let fields = target.fields.iter().map(|it| it.has_value.then_some(it.key.as_slice()));
        if !compose(fields, &mut self.scratch) {
            constraint.missing(report);
            return;
        }
        self.memory += active.add(constraint, &self.scratch, offset, steps, report);
    }

    /// The constraints of an element that ends.
    fn close(&mut self, c: &Components, depth: u32, report: &mut dyn FnMut(Fault)) {
        let first =
            self.actives.iter().position(|it| it.depth == depth).unwrap_or(self.actives.len());
        let ending: Vec<Active> = self.actives.drain(first..).collect();
        let mut tables: Vec<(u32, Keys)> = Vec::new();
        while let Some(place) = self.inherited.iter().position(|it| it.0 == depth) {
            let (_, constraint, keys) = self.inherited.swap_remove(place);
            tables.push((constraint, keys));
        }
        let mut all_references = Vec::new();
        for Active { constraint: number, mut keys, references, .. } in ending {
            let constraint = &c.constraints[number as usize];
            if let ConstraintKind::KeyRef(key) = constraint.kind {
                all_references.push((number, key, references));
                continue;
            }
            if constraint.is_referred {
                match tables.iter_mut().find(|it| it.0 == number) {
                    // Own keys go before those from below.
                    Some((_, below)) => {
                        keys.extend(below, false);
                        std::mem::swap(below, &mut keys);
                    }
                    None => {
                        tables.push((number, keys));
                        continue;
                    }
                }
            }
            self.spare_keys.push(keys);
        }
        for (number, key, references) in all_references {
            let keys = tables.iter().find(|it| it.0 == key).map(|it| &it.1);
            let name = &c.constraints[number as usize].name;
            for (value, steps, offset) in references.iter() {
                if keys.and_then(|it| it.get(value)) != Some(false) {
                    let message = format!(
                        "the keyref {name} refers to no key of {}",
                        c.constraints[key as usize].name
                    );
                    report(Fault {
                        rule: Rule::CvcIdentityConstraint43,
                        message,
                        below: Some((steps.into(), offset)),
                    });
                }
            }
            self.spare_references.push(references);
        }
        for (constraint, keys) in tables {
            let is_wanted = self.actives.iter().any(|it| {
                c.constraints[it.constraint as usize].kind == ConstraintKind::KeyRef(constraint)
            });
            if !is_wanted || depth == 0 {
                self.spare_keys.push(keys);
                continue;
            }
            let above =
                self.inherited.iter_mut().find(|it| it.0 == depth - 1 && it.1 == constraint);
            match above {
                None => self.inherited.push((depth - 1, constraint, keys)),
                Some((.., before)) => {
                    before.extend(&keys, true);
                    self.spare_keys.push(keys);
                }
            }
        }
    }
}

/// Appends the key of several fields, or that of a single one; `false`: one has no value.
fn compose<'k>(
    mut fields: impl ExactSizeIterator<Item = Option<&'k [u8]>>,
    key: &mut Vec<u8>,
) -> bool {
    let is_single = fields.len() == 1;
    fields.all(|field| {
        let Some(field) = field else { return false };
        if !is_single {
            key.extend_from_slice(&(field.len() as u64).to_be_bytes());
        }
        key.extend_from_slice(field);
        true
    })
}

impl Constraint {
    /// A field has no value.
    fn missing(&self, report: &mut dyn FnMut(Fault)) {
        if self.kind == ConstraintKind::Key {
            let message = format!("a field of the key {} is missing", self.name);
            report(Fault { rule: Rule::CvcIdentityConstraint421, message, below: None });
        }
    }
}

impl Active {
    /// Adds the key of a node. Returns how many bytes it takes.
    fn add(
        &mut self,
        constraint: &Constraint,
        key: &[u8],
        offset: u64,
        steps: Steps<'_>,
        report: &mut dyn FnMut(Fault),
    ) -> usize {
        if let ConstraintKind::KeyRef(_) = constraint.kind {
            let depth = self.depth;
            self.references.push(key, &|all| steps(depth, all), offset);
            return key.len() + 64;
        }
        if self.keys.insert(key) {
            return key.len() + 48;
        }
        let (rule, what) = match constraint.kind {
            ConstraintKind::Key => (Rule::CvcIdentityConstraint422, "key"),
            _ => (Rule::CvcIdentityConstraint41, "unique constraint"),
        };
        let message = format!("two nodes have the same values of the {what} {}", constraint.name);
        report(Fault { rule, message, below: None });
        0
    }
}
