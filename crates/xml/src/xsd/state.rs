//! The state of a validator: open elements, tables, errors.

use std::collections::{HashMap, HashSet};

use super::components::*;
use super::error::{Invalid, Rule};
use super::names::NONE;
use super::plan::Plan;
use super::simple::shown;
use super::tables::Tables;
use super::validator::Limits;
use super::value::Prefixes;
use crate::hash::Seeded;

/// Names of siblings that are counted one by one.
pub(super) const COUNTED: usize = 32;

/// A name of the document.
#[derive(Clone, Copy)]
pub(super) struct Known {
    pub(super) symbol: u32,
    pub(super) namespace: u32,
    /// One of `xsi:type`, `xsi:nil`, `xsi:schemaLocation`, `xsi:noNamespaceSchemaLocation`; 0: none.
    pub(super) xsi: u8,
    pub(super) is_known: bool,
}

pub(super) const UNKNOWN: Known = Known { symbol: NONE, namespace: NONE, xsi: 0, is_known: false };
pub(super) const XSI_TYPE: u8 = 1;
pub(super) const XSI_NIL: u8 = 2;

/// How the content of an element is looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Skip,
    Empty,
    Simple(TypeId),
    Elements(u32, bool),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    /// The number of its name in the document, and its position among its siblings.
    pub(super) name: u32,
    pub(super) position: u32,
    pub(super) element: u32,
    pub(super) type_: TypeId,
    pub(super) mode: Mode,
    /// Of the automaton.
    pub(super) state: u32,
    /// Where its counters, the counts of its children, and its namespaces begin.
    pub(super) memory: u32,
    pub(super) counts: u32,
    pub(super) bindings: u32,
    pub(super) children: u32,
    pub(super) offset: u64,
    pub(super) is_nil: bool,
    /// The sequence of children, or the text, is wrong, which has been reported.
    pub(super) is_wrong: bool,
    pub(super) has_text: bool,
    /// Text is collected.
    pub(super) keeps_text: bool,
}

pub(super) const NO_FRAME: Frame = Frame {
    name: 0,
    position: 0,
    element: NONE,
    type_: ANY_TYPE,
    mode: Mode::Skip,
    state: 0,
    memory: 0,
    counts: 0,
    bindings: 0,
    children: 0,
    offset: 0,
    is_nil: false,
    is_wrong: false,
    has_text: false,
    keeps_text: false,
};

/// Namespaces in scope.
#[derive(Default)]
pub(super) struct Bindings(pub(super) Vec<Binding>);

/// Prefix and URI.
pub(super) type Binding = (Box<[u8]>, Box<[u8]>);

impl Prefixes for Bindings {
    fn uri(&self, prefix: &[u8]) -> Option<&[u8]> {
        if prefix == b"xml" {
            return Some(crate::names::XML_NAMESPACE.as_bytes());
        }
        self.0.iter().rev().find(|it| *it.0 == *prefix).map(|it| &*it.1)
    }
}

/// All but the schema.
#[derive(Default)]
pub(super) struct State {
    pub(super) limits: Limits,
    pub(super) names: Vec<Known>,
    pub(super) has_xsi: bool,
    /// By the number of the declaration.
    pub(super) plans: Vec<Plan>,
    pub(super) frames: Vec<Frame>,
    pub(super) memory: Vec<u32>,
    pub(super) counts: Vec<(u32, u32)>,
    pub(super) bindings: Bindings,
    /// Where the namespaces of the element that begins start.
    pub(super) bindings_from: u32,
    pub(super) text: Vec<u8>,
    /// Of a value, for the time of its comparison.
    pub(super) key: Vec<u8>,
    pub(super) seen: Vec<bool>,
    pub(super) roles: Vec<(Role, Box<[u8]>)>,
    pub(super) ids: HashSet<Box<[u8]>, Seeded>,
    pub(super) references: HashMap<Box<[u8]>, (String, u64), Seeded>,
    pub(super) entities: HashSet<Box<[u8]>, Seeded>,
    pub(super) role_memory: usize,
    pub(super) tables: Tables,
    pub(super) errors: Vec<Invalid>,
    /// Errors so far, those that were taken included.
    pub(super) count: usize,
    pub(super) is_beyond_limit: bool,
    /// The names of open elements, as they were written: filled when an element begins that was not there before.
    pub(super) display: Vec<Box<str>>,
}

/// What is known of an element before its attributes.
#[derive(Clone, Copy)]
pub(super) struct Assessed {
    pub(super) element: u32,
    pub(super) type_: TypeId,
    pub(super) is_skipped: bool,
    /// A declaration, or `xsi:type`, is missing that must be there.
    pub(super) needs: Option<Rule>,
}

impl State {
    pub(super) fn beyond_memory(&mut self) {
        if !self.is_beyond_limit {
            self.report(Rule::LimitMemory, format!("more than {} bytes", self.limits.memory));
            self.is_beyond_limit = true;
        }
    }

    pub(super) fn end_document(&mut self) {
        let mut missing: Vec<_> = std::mem::take(&mut self.references).into_iter().collect();
        missing.sort_by_key(|it| it.1.1);
        for (text, (path, offset)) in missing {
            self.push(
                Rule::CvcId1,
                path,
                offset,
                format!("no element has the ID {}", shown(&text)),
            );
        }
    }

    /// The path of the current element, or of an attribute of it.
    pub(super) fn path(&self, attribute: Option<u32>) -> String {
        let mut path = String::new();
        for (depth, frame) in self.frames.iter().enumerate() {
            self.step(&mut path, frame.name, if depth == 0 { 0 } else { frame.position });
        }
        if let Some(name) = attribute {
            path += "/@";
            path += self.display.get(name as usize).map_or("", |it| it);
        }
        path
    }

    pub(super) fn step(&self, path: &mut String, name: u32, position: u32) {
        use std::fmt::Write;
        let text = self.display.get(name as usize).map_or("", |it| it);
        // Writing to a string does not fail.
        let _ = match position {
            0 => write!(path, "/{text}"),
            many if many & MANY != 0 => write!(path, "/*[{}]", many & !MANY),
            position => write!(path, "/{text}[{position}]"),
        };
    }

    #[cold]
    pub(super) fn report(&mut self, rule: Rule, message: String) {
        let (path, offset) = (self.path(None), self.frames.last().map_or(0, |it| it.offset));
        self.push(rule, path, offset, message);
    }

    #[cold]
    pub(super) fn at_attribute(&mut self, name: u32, rule: Rule, message: String) {
        let (path, offset) = (self.path(Some(name)), self.frames.last().map_or(0, |it| it.offset));
        self.push(rule, path, offset, message);
    }

    pub(super) fn push(&mut self, rule: Rule, path: String, offset: u64, message: String) {
        self.count += 1;
        if self.count < self.limits.errors {
            self.errors.push(Invalid { rule, path, offset, message });
        } else if !self.is_beyond_limit {
            self.is_beyond_limit = true;
            let message = format!("no more than {} errors are looked for", self.limits.errors);
            self.errors.push(Invalid { rule: Rule::LimitErrors, path, offset, message });
        }
    }
}

/// The position counts all siblings.
pub(super) const MANY: u32 = 1 << 31;
