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

/// Keys, and whether two nodes below have the same one.
type Table = HashMap<Box<[u8]>, bool>;

/// A constraint of an open element.
#[derive(Debug)]
struct Active {
    constraint: u32,
    depth: u32,
    table: Table,
    /// Of a keyref: values, and where they are.
    references: Vec<(Box<[u8]>, Steps, u64)>,
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
        self.selectors.clear();
        self.fields.clear();
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
    pub(crate) fn enter(
        &mut self,
        c: &Components,
        depth: u32,
        symbol: u32,
        namespace: u32,
        own: &[u32],
    ) -> bool {
        self.wanted.clear();
        let above = depth.wrapping_sub(1);
        for walk in first_at(&self.fields, above)..self.fields.len() {
            let Walk { depth: at, of, field, passed } = self.fields[walk];
            let constraint = self.actives[self.targets[of as usize].active as usize].constraint;
            let path = &c.constraints[constraint as usize].fields[field as usize];
            if at == above {
                let passed = path.step(passed, symbol, namespace);
                self.passed(path, Walk { depth, of, field, passed });
            }
        }
        for walk in first_at(&self.selectors, above)..self.selectors.len() {
            let Walk { depth: at, of, passed, .. } = self.selectors[walk];
            if at == above {
                let path = &c.constraints[self.actives[of as usize].constraint as usize].selector;
                self.selected(c, path, of, depth, path.step(passed, symbol, namespace));
            }
        }
        for constraint in own {
            let path = &c.constraints[*constraint as usize].selector;
            let of = self.actives.len() as u32;
            self.actives.push(Active {
                constraint: *constraint,
                depth,
                table: Table::new(),
                references: Vec::new(),
            });
            self.selected(c, path, of, depth, path.start());
        }
        !self.wanted.is_empty()
    }

    /// What a selector has passed at the element that begins.
    #[inline]
    fn selected(&mut self, c: &Components, path: &Path, of: u32, depth: u32, passed: u64) {
        if path.continues(passed) {
            self.selectors.push(Walk { depth, of, field: 0, passed });
        }
        if path.selects(passed) {
            self.target(c, of, depth);
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
        for walks in [&mut self.fields, &mut self.selectors] {
            walks.truncate(first_at(walks, depth));
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
                fault(
                    Rule::CvcIdentityConstraint421,
                    format!("a field of the key {name} is missing"),
                );
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
        let first =
            self.actives.iter().position(|it| it.depth == depth).unwrap_or(self.actives.len());
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
                    let message = format!(
                        "the keyref {name} refers to no key of {}",
                        c.constraints[key as usize].name
                    );
                    report(Fault {
                        rule: Rule::CvcIdentityConstraint43,
                        message,
                        below: Some((steps, offset)),
                    });
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
            let above =
                self.inherited.iter_mut().find(|it| it.0 == depth - 1 && it.1 == constraint);
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
