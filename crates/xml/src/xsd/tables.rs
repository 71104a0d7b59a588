//! Identity constraints at work: nodes that selectors select, values of their fields, and tables of keys (Structures, 3.11.4).

use std::collections::HashMap;

use super::components::Components;
use super::error::Rule;
use super::identity::{ConstraintKind, Path};

/// The steps of a path below the element of a constraint: name and position.
pub(crate) type Steps = Box<[(u32, u32)]>;

/// A fault, and whether it is at a node below the current one.
pub(crate) struct Fault {
    pub(crate) rule: Rule,
    pub(crate) message: String,
    pub(crate) below: Option<(Steps, u64)>,
}

/// Where a path is: depths of elements and what has been passed there, without those at which that is nothing.
#[derive(Debug, Default)]
struct Walk(Vec<(u32, u64)>);

impl Walk {
    #[inline]
    fn enter(&mut self, path: &Path, depth: u32, symbol: u32, namespace: u32) -> u64 {
        let passed = match self.0.last() {
            Some((above, passed)) if above + 1 == depth => path.step(*passed, symbol, namespace),
            _ => 0,
        };
        if passed != 0 {
            self.0.push((depth, passed));
        }
        passed
    }

    #[inline]
    fn leave(&mut self, depth: u32) {
        if self.0.last().is_some_and(|it| it.0 == depth) {
            self.0.pop();
        }
    }
}

/// Keys, and whether two nodes below have the same one.
type Table = HashMap<Box<[u8]>, bool>;

/// A constraint of an open element.
#[derive(Debug)]
struct Active {
    constraint: u32,
    depth: u32,
    walk: Walk,
    table: Table,
    /// Of a keyref: values, and where they are.
    references: Vec<(Box<[u8]>, Steps, u64)>,
}

#[derive(Debug, Default)]
struct Field {
    walk: Walk,
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
    /// Depth of an element, target and field: the element is the field's value.
    captures: Vec<(u32, u32, u32)>,
    /// Tables of keys from below, by depth and constraint.
    inherited: Vec<(u32, u32, Table)>,
    /// Fields that select attributes of the element that begins.
    wanted: Vec<(u32, u32, u64)>,
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
        self.actives.clear();
        self.spare.append(&mut self.targets);
        self.captures.clear();
        self.inherited.clear();
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

    /// An element begins. Returns whether fields ask for its attributes.
    pub(crate) fn enter(&mut self, c: &Components, depth: u32, symbol: u32, namespace: u32, own: &[u32]) -> bool {
        self.wanted.clear();
        for target in 0..self.targets.len() {
            let constraint = self.actives[self.targets[target].active as usize].constraint;
            let paths = &c.constraints[constraint as usize].fields;
            for (field, path) in paths.iter().enumerate() {
                let passed = self.targets[target].fields[field].walk.enter(path, depth, symbol, namespace);
                if passed != 0 {
                    self.passed(path, passed, depth, target as u32, field as u32);
                }
            }
        }
        for active in 0..self.actives.len() {
            let one = &mut self.actives[active];
            let path = &c.constraints[one.constraint as usize].selector;
            let passed = one.walk.enter(path, depth, symbol, namespace);
            if path.selects(passed) {
                self.target(c, active as u32, depth);
            }
        }
        for constraint in own {
            let path = &c.constraints[*constraint as usize].selector;
            self.actives.push(Active {
                constraint: *constraint,
                depth,
                walk: Walk(vec![(depth, path.start())]),
                table: Table::new(),
                references: Vec::new(),
            });
            if path.selects(path.start()) {
                self.target(c, self.actives.len() as u32 - 1, depth);
            }
        }
        !self.wanted.is_empty()
    }

    fn target(&mut self, c: &Components, active: u32, depth: u32) {
        let paths = &c.constraints[self.actives[active as usize].constraint as usize].fields;
        let mut target = self.spare.pop().unwrap_or(Target { active, depth, fields: Vec::new() });
        (target.active, target.depth) = (active, depth);
        target.fields.resize_with(paths.len(), Field::default);
        for (field, path) in target.fields.iter_mut().zip(paths) {
            field.walk.0.clear();
            field.walk.0.push((depth, path.start()));
            field.key.clear();
            (field.count, field.has_value, field.is_nillable) = (0, false, false);
        }
        self.targets.push(target);
        let target = self.targets.len() as u32 - 1;
        for (field, path) in paths.iter().enumerate() {
            self.passed(path, path.start(), depth, target, field as u32);
        }
    }

    fn passed(&mut self, path: &Path, passed: u64, depth: u32, target: u32, field: u32) {
        if path.selects(passed) {
            self.targets[target as usize].fields[field as usize].count += 1;
            self.captures.push((depth, target, field));
        }
        if path.has_attributes() {
            self.wanted.push((target, field, passed));
        }
    }

    /// An attribute of the element that begins; `key` appends that of its value, if it has one.
    pub(crate) fn attribute(
        &mut self,
        c: &Components,
        symbol: u32,
        namespace: u32,
        key: &mut dyn FnMut(&mut Vec<u8>) -> bool,
    ) {
        let wanted = std::mem::take(&mut self.wanted);
        for (target, field, passed) in &wanted {
            let Target { active, fields, .. } = &mut self.targets[*target as usize];
            let constraint = &c.constraints[self.actives[*active as usize].constraint as usize];
            if constraint.fields[*field as usize].selects_attribute(*passed, symbol, namespace) {
                let one = &mut fields[*field as usize];
                one.count += 1;
                one.key.clear();
                one.has_value = key(&mut one.key);
            }
        }
        self.wanted = wanted;
    }

    /// Whether the element that ends is the value of a field.
    #[inline]
    pub(crate) fn asks_for(&self, depth: u32) -> bool {
        self.captures.last().is_some_and(|it| it.0 == depth)
    }

    /// The value of the element that ends.
    pub(crate) fn element(&mut self, depth: u32, value: &ElementValue<'_>, is_nillable: bool) -> Option<Fault> {
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
                    fault = Some(Fault { rule: Rule::CvcIdentityConstraint3, message, below: None });
                }
            }
        }
        fault
    }

    /// An element ends. `steps`: those of its path from an open element at a depth on.
    pub(crate) fn leave(
        &mut self,
        c: &Components,
        depth: u32,
        offset: u64,
        steps: &dyn Fn(u32) -> Steps,
        report: &mut dyn FnMut(Fault),
    ) {
        while let Some(target) = self.targets.pop_if(|it| it.depth == depth) {
            self.finish(c, &target, offset, steps, report);
            self.spare.push(target);
        }
        for target in &mut self.targets {
            target.fields.iter_mut().for_each(|it| it.walk.leave(depth));
        }
        for active in &mut self.actives {
            active.walk.leave(depth);
        }
        if self.actives.last().is_some_and(|it| it.depth == depth) || !self.inherited.is_empty() {
            self.close(c, depth, report);
        }
    }

    /// A selected node is complete.
    fn finish(
        &mut self,
        c: &Components,
        target: &Target,
        offset: u64,
        steps: &dyn Fn(u32) -> Steps,
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
        if target.fields.iter().any(|it| !it.has_value) {
            if is_key {
                fault(Rule::CvcIdentityConstraint421, format!("a field of the key {name} is missing"));
            }
            return;
        }
        let key = &mut self.scratch;
        key.clear();
        for field in &target.fields {
            key.extend((field.key.len() as u32).to_be_bytes());
            key.extend(&field.key);
        }
        match constraint.kind {
            ConstraintKind::KeyRef(_) => {
                self.memory += key.len() + 64;
                active.references.push((key.as_slice().into(), steps(active.depth), offset));
            }
            _ if active.table.contains_key(key.as_slice()) => {
                let (rule, what) = match is_key {
                    true => (Rule::CvcIdentityConstraint422, "key"),
                    false => (Rule::CvcIdentityConstraint41, "unique constraint"),
                };
                fault(rule, format!("two nodes have the same values of the {what} {name}"));
            }
            _ => {
                self.memory += key.len() + 48;
                active.table.insert(key.as_slice().into(), false);
            }
        }
    }

    /// The constraints of an element that ends.
    fn close(&mut self, c: &Components, depth: u32, report: &mut dyn FnMut(Fault)) {
        let first = self.actives.iter().position(|it| it.depth == depth).unwrap_or(self.actives.len());
        let ending: Vec<Active> = self.actives.drain(first..).collect();
        let mut tables: Vec<(u32, Table)> = Vec::new();
        while let Some(place) = self.inherited.iter().position(|it| it.0 == depth) {
            let (_, constraint, table) = self.inherited.swap_remove(place);
            tables.push((constraint, table));
        }
        let mut references = Vec::new();
        for active in ending {
            let constraint = &c.constraints[active.constraint as usize];
            if let ConstraintKind::KeyRef(key) = constraint.kind {
                references.push((key, active));
            } else if constraint.is_referred {
                match tables.iter_mut().find(|it| it.0 == active.constraint) {
                    // Own keys go before those from below.
                    Some((_, table)) => table.extend(active.table),
                    None => tables.push((active.constraint, active.table)),
                }
            }
        }
        for (key, active) in references {
            let table = tables.iter().find(|it| it.0 == key).map(|it| &it.1);
            let name = &c.constraints[active.constraint as usize].name;
            for (value, steps, offset) in active.references {
                if table.and_then(|it| it.get(&value)) != Some(&false) {
                    let message = format!("the keyref {name} refers to no key of {}", c.constraints[key as usize].name);
                    report(Fault { rule: Rule::CvcIdentityConstraint43, message, below: Some((steps, offset)) });
                }
            }
        }
        for (constraint, table) in tables {
            let is_wanted = self.actives.iter().any(|it| {
                c.constraints[it.constraint as usize].kind == ConstraintKind::KeyRef(constraint)
            });
            if !is_wanted || depth == 0 {
                continue;
            }
            let above = self.inherited.iter_mut().find(|it| it.0 == depth - 1 && it.1 == constraint);
            match above {
                None => self.inherited.push((depth - 1, constraint, table)),
                Some((.., before)) => {
                    for (key, conflict) in table {
                        before.entry(key).and_modify(|it| *it = true).or_insert(conflict);
                    }
                }
            }
        }
    }
}

