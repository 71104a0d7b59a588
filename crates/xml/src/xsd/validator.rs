//! A document by a schema, element by element (Structures, 3.3.4, 3.4.4).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::Schema;
use super::automaton::{Automaton, BY_WILDCARD};
use super::components::*;
use super::error::{Invalid, Rule};
use super::names::{NONE, XSI};
use super::simple::{Fault, shown, trim};
use super::tables::{ElementValue, Steps, Tables};
use super::value::{Prefixes, qname};
use crate::select::Names;
use crate::{Parser, chars};

/// The names of a document by their numbers, also as they were written.
pub trait QNames: Names {
    /// Prefix and local part.
    fn qname(&self, number: u32) -> &str;
}

impl QNames for Parser {
    fn qname(&self, number: u32) -> &str {
        std::str::from_utf8(Parser::qname(self, number)).unwrap_or("")
    }
}

/// Beyond these a document is not looked at further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Errors that are reported.
    pub errors: usize,
    /// Bytes of IDs, references, keys, and of the text of one element, each.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { errors: 100, memory: 256 << 20 }
    }
}

/// Names of siblings that are counted one by one.
const COUNTED: usize = 32;

/// A name of the document.
#[derive(Clone, Copy)]
struct Known {
    symbol: u32,
    namespace: u32,
    /// One of `xsi:type`, `xsi:nil`, `xsi:schemaLocation`, `xsi:noNamespaceSchemaLocation`; 0: none.
    xsi: u8,
    is_known: bool,
}

const UNKNOWN: Known = Known { symbol: NONE, namespace: NONE, xsi: 0, is_known: false };
const XSI_TYPE: u8 = 1;
const XSI_NIL: u8 = 2;

/// How the content of an element is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Skip,
    Empty,
    Simple(TypeId),
    Elements(u32, bool),
}

#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The number of its name in the document, and its position among its siblings.
    name: u32,
    position: u32,
    element: u32,
    type_: TypeId,
    mode: Mode,
    /// Of the automaton.
    state: u32,
    /// Where its counters, the counts of its children, and its namespaces begin.
    memory: u32,
    counts: u32,
    bindings: u32,
    children: u32,
    offset: u64,
    is_nil: bool,
    /// The sequence of children, or the text, is wrong, which has been reported.
    is_wrong: bool,
    has_text: bool,
    /// Text is collected.
    keeps_text: bool,
}

const NO_FRAME: Frame = Frame {
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
struct Bindings(Vec<(Box<[u8]>, Box<[u8]>)>);

impl Prefixes for Bindings {
    fn uri(&self, prefix: &[u8]) -> Option<&[u8]> {
        if prefix == b"xml" {
            return Some(b"http://www.w3.org/XML/1998/namespace");
        }
        self.0.iter().rev().find(|it| *it.0 == *prefix).map(|it| &*it.1)
    }
}

/// One document after the other, validated while it arrives.
///
/// It is told start-tags, texts and end-tags in order, and collects what is wrong. [`Stream`](super::Stream) has a parser in front.
pub struct Validator {
    schema: Arc<Schema>,
    state: State,
}

/// All but the schema.
#[derive(Default)]
struct State {
    limits: Limits,
    names: Vec<Known>,
    has_xsi: bool,
    frames: Vec<Frame>,
    memory: Vec<u32>,
    counts: Vec<(u32, u32)>,
    bindings: Bindings,
    /// Where the namespaces of the element that begins start.
    bindings_from: u32,
    text: Vec<u8>,
    seen: Vec<bool>,
    roles: Vec<(Role, Box<[u8]>)>,
    ids: HashSet<Box<[u8]>>,
    references: HashMap<Box<[u8]>, (String, u64)>,
    entities: HashSet<Box<[u8]>>,
    role_memory: usize,
    tables: Tables,
    errors: Vec<Invalid>,
    /// Errors so far, those that were taken included.
    count: usize,
    is_beyond_limit: bool,
    /// The names of open elements, as they were written: filled when an element begins that was not there before.
    display: Vec<Box<str>>,
}

/// What is known of an element before its attributes.
#[derive(Clone, Copy)]
struct Assessed {
    element: u32,
    type_: TypeId,
    is_skipped: bool,
    /// A declaration, or `xsi:type`, is missing that must be there.
    needs: Option<Rule>,
}

impl Validator {
    /// Before a document.
    pub fn new(schema: &Arc<Schema>) -> Validator {
        Validator { schema: schema.clone(), state: State::default() }
    }

    /// With other limits.
    pub fn limits(mut self, limits: Limits) -> Validator {
        self.state.limits = limits;
        self
    }

    /// Before another document, whose names have other numbers.
    pub fn reset(&mut self) {
        self.state.names.clear();
        self.state.display.clear();
        self.state.has_xsi = false;
        self.restart();
    }

    /// Before another document with the same numbers of names.
    pub fn restart(&mut self) {
        let state = &mut self.state;
        state.frames.clear();
        state.memory.clear();
        state.counts.clear();
        state.bindings.0.clear();
        state.bindings_from = 0;
        state.text.clear();
        state.roles.clear();
        state.ids.clear();
        state.references.clear();
        state.entities.clear();
        state.role_memory = 0;
        state.tables.clear();
        state.errors.clear();
        state.count = 0;
        state.is_beyond_limit = false;
    }

    /// What is wrong so far, in the order in which it was found.
    pub fn errors(&self) -> &[Invalid] {
        &self.state.errors
    }

    /// The same, which the validator forgets.
    pub fn take_errors(&mut self) -> Vec<Invalid> {
        std::mem::take(&mut self.state.errors)
    }

    /// Whether nothing was wrong so far.
    pub fn is_valid(&self) -> bool {
        self.state.count == 0
    }

    /// An unparsed entity that the document declares: values of type ENTITY are their names.
    pub fn unparsed_entity(&mut self, name: &[u8]) {
        self.state.entities.insert(name.into());
    }

    /// A namespace that the element declares whose start-tag comes next; the prefix is empty for the default one.
    pub fn namespace(&mut self, prefix: &[u8], uri: &[u8]) {
        self.state.bindings.0.push((prefix.into(), uri.into()));
    }

    /// A start-tag: numbers of names, and values of attributes as UTF-8. `offset` is for errors.
    #[inline]
    pub fn start_element<'a>(
        &mut self,
        name: u32,
        names: &impl QNames,
        attributes: impl Iterator<Item = (u32, &'a [u8])> + Clone,
        offset: u64,
    ) {
        self.state.start_element(&self.schema.components, name, names, attributes, offset);
    }

    /// An element without attributes, with its text and its end, if it is a simple one. Returns whether it was.
    #[inline]
    pub(super) fn leaf(&mut self, name: u32, text: &[u8], offset: u64) -> bool {
        self.state.leaf(&self.schema.components, name, text, offset)
    }

    /// Characters, UTF-8; a text may come in parts.
    #[inline]
    pub fn text(&mut self, text: &[u8]) {
        self.state.text(text);
    }

    /// An end-tag.
    #[inline]
    pub fn end_element(&mut self) {
        self.state.end_element(&self.schema.components);
    }

    /// The end of the document: whether all references have IDs.
    pub fn end_document(&mut self) {
        self.state.end_document();
    }
}

impl State {
    #[inline]
    fn start_element<'a>(
        &mut self,
        c: &Components,
        name: u32,
        names: &impl QNames,
        attributes: impl Iterator<Item = (u32, &'a [u8])> + Clone,
        offset: u64,
    ) {
        if self.is_beyond_limit {
            return;
        }
        let known = self.known(c, name, names);
        for (name, _) in attributes.clone() {
            self.known(c, name, names);
        }
        let position = self.position(name);
        let depth = self.frames.len() as u32;
        let mut frame = Frame {
            name,
            position,
            memory: self.memory.len() as u32,
            counts: self.counts.len() as u32,
            bindings: self.bindings_from,
            offset,
            ..NO_FRAME
        };
        let mut assessed = self.assess(c, known);
        self.bindings_from = self.bindings.0.len() as u32;
        self.frames.push(frame);
        let mut nil = None;
        if self.has_xsi && !assessed.is_skipped {
            nil = self.instance(c, &mut assessed, attributes.clone());
        }
        if let Some(rule) = assessed.needs {
            let message = "there is no declaration".to_owned();
            self.report(rule, message);
            assessed.is_skipped = true;
        }
        if assessed.is_skipped {
            return;
        }
        let Assessed { element, type_, .. } = assessed;
        let declaration = c.elements.get(element as usize);
        frame.element = element;
        frame.type_ = type_;
        let definition = &c.types[type_ as usize].definition;
        frame.mode = match definition {
            Definition::Simple(_) => Mode::Simple(type_),
            Definition::Complex(complex) => match complex.content {
                Content::Empty => Mode::Empty,
                Content::Simple(simple) => Mode::Simple(simple),
                Content::Elements(model, is_mixed) => {
                    let words = self.memory.len() + c.models[model as usize].memory();
                    self.memory.resize(words, 0);
                    Mode::Elements(model, is_mixed)
                }
            },
        };
        let fixed = declaration.and_then(|it| it.constraint.as_ref());
        frame.keeps_text = matches!(frame.mode, Mode::Simple(_)) || fixed.is_some();
        if let Some(declaration) = declaration {
            if declaration.is_abstract {
                self.report(Rule::CvcElt2, "the declaration is abstract".to_owned());
            }
            if nil.is_some() && !declaration.is_nillable {
                self.report(Rule::CvcElt31, "xsi:nil on an element that is not nillable".to_owned());
            } else if nil == Some(true) {
                frame.is_nil = true;
                if fixed.is_some_and(|it| it.is_fixed) {
                    self.report(Rule::CvcElt322, "a nil element has a fixed value".to_owned());
                }
            }
        }
        if frame.keeps_text {
            self.text.clear();
        }
        if let Some(top) = self.frames.last_mut() {
            *top = frame;
        }
        let own: &[u32] = declaration.map_or(&[], |it| &it.identity);
        let wants_fields =
            (!own.is_empty() || !self.tables.is_idle()) && self.tables.enter(c, depth, known.symbol, known.namespace, own);
        match definition {
            Definition::Simple(_) => {
                for (name, _) in attributes {
                    if self.names[name as usize].xsi == 0 {
                        self.at_attribute(name, Rule::CvcType311, "the type is simple".to_owned());
                    }
                }
            }
            Definition::Complex(complex) => {
                if complex.is_abstract {
                    let text = format!("{} is abstract", c.type_name(type_));
                    self.report(Rule::CvcType2, text);
                }
                self.attributes(c, complex, attributes, wants_fields);
            }
        }
    }

    /// An element without attributes, with its text and its end. Returns whether that is all that there is to it: else nothing
    /// has happened.
    #[inline]
    fn leaf(&mut self, c: &Components, name: u32, text: &[u8], offset: u64) -> bool {
        let Some(known) = self.names.get(name as usize).filter(|it| it.is_known) else { return false };
        let Some(parent) = self.frames.last() else { return false };
        let Mode::Elements(model, _) = parent.mode else { return false };
        if !self.tables.is_idle() || self.bindings_from as usize != self.bindings.0.len() || self.is_beyond_limit {
            return false;
        }
        let mut state = parent.state;
        let Automaton::States(model) = &c.models[model as usize] else { return false };
        let Some(element) = model.plain_step(&mut state, known.symbol) else { return false };
        let declaration = &c.elements[element as usize];
        let is_plain = declaration.constraint.is_none() && declaration.identity.is_empty() && !declaration.is_abstract;
        if !is_plain || parent.is_nil {
            return false;
        }
        let type_ = declaration.type_;
        if c.types[type_ as usize].simple().is_none() {
            return false;
        }
        let position = self.position(name);
        if let Some(parent) = self.frames.last_mut() {
            parent.state = state;
        }
        let State { bindings, roles, .. } = self;
        let mut tell = |role, text: &[u8]| roles.push((role, text.into()));
        let result = c.check(type_, text, bindings, &mut tell);
        if result.is_err() || !self.roles.is_empty() {
            // Only paths of errors and references need it.
            self.frames.push(Frame { name, position, element, type_, offset, ..NO_FRAME });
            if let Err(Fault { rule, message }) = result {
                self.report(rule, message);
            }
            self.take_roles(None);
            self.frames.pop();
        }
        true
    }

    /// The entry of a name.
    #[inline]
    fn known(&mut self, c: &Components, name: u32, names: &impl QNames) -> Known {
        match self.names.get(name as usize) {
            Some(known) if known.is_known => *known,
            _ => self.learn(c, name, names),
        }
    }

    #[cold]
    fn learn(&mut self, c: &Components, name: u32, names: &impl QNames) -> Known {
        let index = name as usize;
        if self.names.len() <= index {
            self.names.resize(index + 1, UNKNOWN);
            self.display.resize(index + 1, Box::default());
        }
        let (uri, local) = names.name(name);
        let (namespace, symbol) = c.names.find(uri, local);
        let xsi = match local {
            _ if uri != XSI => 0,
            "type" => XSI_TYPE,
            "nil" => XSI_NIL,
            "schemaLocation" | "noNamespaceSchemaLocation" => 3,
            _ => 0,
        };
        self.has_xsi |= xsi != 0;
        self.display[index] = names.qname(name).into();
        self.names[index] = Known { symbol, namespace, xsi, is_known: true };
        self.names[index]
    }

    /// The position of a child with this name; 0 with `*` in place of the name if there are many names.
    #[inline]
    fn position(&mut self, name: u32) -> u32 {
        let Some(parent) = self.frames.last_mut() else { return 0 };
        parent.children += 1;
        let counts = &mut self.counts[parent.counts as usize..];
        if let Some(count) = counts.iter_mut().find(|it| it.0 == name) {
            count.1 += 1;
            return count.1;
        }
        if counts.len() >= COUNTED {
            return parent.children | MANY;
        }
        self.counts.push((name, 1));
        1
    }

    /// Which declaration and type the element has.
    #[inline]
    fn assess(&mut self, c: &Components, known: Known) -> Assessed {
        let skipped = Assessed { element: NONE, type_: ANY_TYPE, is_skipped: true, needs: None };
        let Some(parent) = self.frames.last_mut() else {
            return self.global(c, known, Process::Strict, Rule::CvcElt1);
        };
        if parent.is_nil {
            if !std::mem::replace(&mut parent.is_wrong, true) {
                self.report(Rule::CvcElt321, "a nil element has child elements".to_owned());
            }
            return skipped;
        }
        let (rule, message) = match parent.mode {
            Mode::Skip => return skipped,
            Mode::Elements(model, _) => {
                let memory = &mut self.memory[parent.memory as usize..];
                let model = &c.models[model as usize];
                let action = model.step(&mut parent.state, memory, known.symbol, known.namespace, &c.wildcards);
                if let Some(action) = action {
                    return self.by_action(c, known, action);
                }
                if parent.is_wrong {
                    return model.anywhere(known.symbol).map_or(skipped, |action| self.by_action(c, known, action));
                }
                let expected = model.expected(parent.state, memory, c);
                let own = match known.symbol {
                    NONE => "a child with a name that the schema does not have".to_owned(),
                    symbol => c.names.display(symbol),
                };
                parent.is_wrong = true;
                self.report(Rule::CvcComplexType24, format!("{own} where this is expected: {expected}"));
                return model.anywhere(known.symbol).map_or(skipped, |action| self.by_action(c, known, action));
            }
            Mode::Empty => (Rule::CvcComplexType21, "a child element in an empty element"),
            Mode::Simple(_) => match c.types[parent.type_ as usize].definition {
                Definition::Simple(_) => (Rule::CvcType312, "a child element in an element of a simple type"),
                Definition::Complex(_) => (Rule::CvcComplexType22, "a child element in simple content"),
            },
        };
        if !std::mem::replace(&mut parent.is_wrong, true) {
            self.report(rule, message.to_owned());
        }
        skipped
    }

    #[inline]
    fn by_action(&mut self, c: &Components, known: Known, action: u32) -> Assessed {
        if action & BY_WILDCARD == 0 {
            let type_ = c.elements[action as usize].type_;
            return Assessed { element: action, type_, is_skipped: false, needs: None };
        }
        let process = c.wildcards[(action & !BY_WILDCARD) as usize].process;
        self.global(c, known, process, Rule::CvcAssessElt)
    }

    fn global(&mut self, c: &Components, known: Known, process: Process, missing: Rule) -> Assessed {
        let element = match process {
            Process::Skip => NONE,
            _ => c.global_elements.get(known.symbol),
        };
        let type_ = c.elements.get(element as usize).map_or(ANY_TYPE, |it| it.type_);
        let needs = (process == Process::Strict && element == NONE).then_some(missing);
        Assessed { element, type_, is_skipped: process == Process::Skip, needs }
    }

    /// `xsi:type` and `xsi:nil`. Returns the value of the latter.
    fn instance<'a>(
        &mut self,
        c: &Components,
        assessed: &mut Assessed,
        attributes: impl Iterator<Item = (u32, &'a [u8])>,
    ) -> Option<bool> {
        let mut nil = None;
        for (name, value) in attributes {
            match self.names[name as usize].xsi {
                XSI_NIL => match trim(value) {
                    b"true" | b"1" => nil = Some(true),
                    b"false" | b"0" => nil = Some(false),
                    _ => self.at_attribute(name, Rule::CvcAttribute3, format!("{} is no boolean", shown(value))),
                },
                XSI_TYPE => {
                    let Some((uri, local)) = qname(trim(value), &self.bindings) else {
                        let text = format!("{} is no QName in scope", shown(value));
                        self.at_attribute(name, Rule::CvcElt41, text);
                        assessed.needs = None;
                        continue;
                    };
                    let text = |it| std::str::from_utf8(it).unwrap_or("");
                    let symbol = c.names.find(text(uri), text(local)).1;
                    let type_ = c.global_types.get(symbol);
                    if type_ == NONE {
                        self.at_attribute(name, Rule::CvcElt42, format!("{} names no type", shown(value)));
                        continue;
                    }
                    assessed.needs = None;
                    let excluded = match c.elements.get(assessed.element as usize) {
                        None => 0,
                        Some(element) => {
                            let of_type = c.types[element.type_ as usize].complex().map_or(0, |it| it.block);
                            (element.block | of_type) & (EXTENSION | RESTRICTION)
                        }
                    };
                    if !c.is_derived(type_, assessed.type_, excluded) {
                        let text = format!("{} is not derived from {}", shown(value), c.type_name(assessed.type_));
                        self.at_attribute(name, Rule::CvcElt43, text);
                        continue;
                    }
                    assessed.type_ = type_;
                }
                _ => {}
            }
        }
        nil
    }

    #[inline]
    fn attributes<'a>(
        &mut self,
        c: &Components,
        complex: &ComplexType,
        attributes: impl Iterator<Item = (u32, &'a [u8])>,
        wants_fields: bool,
    ) {
        let is_long = complex.uses.len() > 64;
        if is_long {
            self.seen.clear();
            self.seen.resize(complex.uses.len(), false);
        }
        let mut seen = 0_u64;
        let mut wild_id = false;
        for (name, value) in attributes {
            let known = self.names[name as usize];
            if known.xsi != 0 {
                continue;
            }
            let index = complex.by_symbol.get(known.symbol);
            let (type_, constraint) = if index != NONE {
                let one = &complex.uses[index as usize];
                match is_long {
                    true => self.seen[index as usize] = true,
                    false => seen |= 1 << index,
                }
                (c.attributes[one.attribute as usize].type_, &one.constraint)
            } else {
                match self.wild_attribute(c, complex, name, known, &mut wild_id) {
                    Some(attribute) => (attribute.type_, &attribute.constraint),
                    None => continue,
                }
            };
            let State { bindings, roles, .. } = self;
            let mut tell = |role, text: &[u8]| roles.push((role, text.into()));
            let result = c.check(type_, value, bindings, &mut tell);
            if let Err(Fault { rule, message }) = result {
                self.at_attribute(name, rule, message);
                continue;
            }
            if let Some(fixed) = constraint.as_ref().filter(|it| it.is_fixed) {
                let mut key = Vec::new();
                c.key(type_, value, &self.bindings, &mut key);
                if *key != *fixed.key {
                    let text = format!("{} where {} is fixed", shown(value), shown(fixed.text.as_bytes()));
                    self.at_attribute(name, Rule::CvcAu, text);
                }
            }
            if !self.roles.is_empty() {
                self.take_roles(Some(name));
            }
            if wants_fields {
                let bindings = &self.bindings;
                self.tables.attribute(c, known.symbol, known.namespace, &mut |key| {
                    c.key(type_, value, bindings, key);
                    true
                });
            }
        }
        if is_long || complex.expected_bits & !seen != 0 {
            self.missing(c, complex, seen, wants_fields);
        }
    }

    /// Attributes that are missing, or have their defaults.
    #[cold]
    fn missing(&mut self, c: &Components, complex: &ComplexType, seen: u64, wants_fields: bool) {
        let is_long = complex.uses.len() > 64;
        for index in &complex.expected {
            if if is_long { self.seen[*index as usize] } else { seen >> index & 1 != 0 } {
                continue;
            }
            let one = &complex.uses[*index as usize];
            let attribute = &c.attributes[one.attribute as usize];
            match &one.constraint {
                _ if one.is_required => {
                    let text = format!("{} is missing", c.names.display(attribute.symbol));
                    self.report(Rule::CvcComplexType4, text);
                }
                Some(default) if wants_fields => {
                    let namespace = c.names.namespace_of(attribute.symbol);
                    self.tables.attribute(c, attribute.symbol, namespace, &mut |key| {
                        key.extend(&default.key);
                        true
                    });
                }
                _ => {}
            }
        }
    }

    /// The declaration of an attribute that only a wildcard allows.
    fn wild_attribute<'c>(
        &mut self,
        c: &'c Components,
        complex: &ComplexType,
        name: u32,
        known: Known,
        wild_id: &mut bool,
    ) -> Option<&'c Attribute> {
        let Some(wildcard) = complex.any_attribute.map(|it| &c.wildcards[it as usize]) else {
            self.at_attribute(name, Rule::CvcComplexType321, "the type has no such attribute".to_owned());
            return None;
        };
        if !wildcard.namespaces.allow(known.namespace) {
            self.at_attribute(name, Rule::CvcComplexType322, "the wildcard does not allow it".to_owned());
            return None;
        }
        if wildcard.process == Process::Skip {
            return None;
        }
        let Some(attribute) = c.attributes.get(c.global_attributes.get(known.symbol) as usize) else {
            if wildcard.process == Process::Strict {
                self.at_attribute(name, Rule::CvcAssessAttr, "there is no declaration".to_owned());
            }
            return None;
        };
        if c.simple(attribute.type_).role == Role::Id {
            let has_id = |it: &AttributeUse| {
                c.simple(c.attributes[it.attribute as usize].type_).role == Role::Id
            };
            if std::mem::replace(wild_id, true) {
                self.at_attribute(name, Rule::CvcComplexType51, "another attribute of type ID".to_owned());
            } else if complex.uses.iter().any(has_id) {
                self.at_attribute(name, Rule::CvcComplexType52, "an attribute of type ID beside the type's".to_owned());
            }
        }
        Some(attribute)
    }

    /// IDs, references and entities of the value that was checked last.
    fn take_roles(&mut self, attribute: Option<u32>) {
        for (role, text) in std::mem::take(&mut self.roles) {
            let mut fault = None;
            match role {
                Role::None => {}
                Role::Entity if self.entities.contains(&text) => {}
                Role::Entity => fault = Some((Rule::CvcSimpleType2, "names no unparsed entity")),
                Role::Id => {
                    self.role_memory += text.len() + 48;
                    self.references.remove(&text);
                    if !self.ids.insert(text.clone()) {
                        fault = Some((Rule::CvcId2, "is the ID of two elements"));
                    }
                }
                Role::IdRef => {
                    if !self.ids.contains(&text) && !self.references.contains_key(&text) {
                        let path = self.path(attribute);
                        self.role_memory += text.len() + path.len() + 96;
                        let offset = self.frames.last().map_or(0, |it| it.offset);
                        self.references.insert(text.clone(), (path, offset));
                    }
                }
            }
            if let Some((rule, message)) = fault {
                let message = format!("{} {message}", shown(&text));
                match attribute {
                    Some(name) => self.at_attribute(name, rule, message),
                    None => self.report(rule, message),
                }
            }
            if self.role_memory > self.limits.memory {
                self.beyond_memory();
                return;
            }
        }
    }

    fn beyond_memory(&mut self) {
        if !self.is_beyond_limit {
            self.report(Rule::LimitMemory, format!("more than {} bytes", self.limits.memory));
            self.is_beyond_limit = true;
        }
    }

    #[inline]
    fn text(&mut self, text: &[u8]) {
        let Some(top) = self.frames.last_mut() else { return };
        if text.is_empty() || self.is_beyond_limit {
            return;
        }
        let fault = match top.mode {
            Mode::Skip => return,
            _ if top.is_nil => Some((Rule::CvcElt321, "a nil element has characters")),
            Mode::Empty => Some((Rule::CvcComplexType21, "characters in an empty element")),
            Mode::Elements(_, false) if !text.iter().all(|byte| chars::is_space(*byte)) => {
                Some((Rule::CvcComplexType23, "characters between elements"))
            }
            _ => None,
        };
        top.has_text = true;
        if let Some((rule, message)) = fault {
            if !std::mem::replace(&mut top.is_wrong, true) {
                self.report(rule, format!("{message}: {}", shown(text)));
            }
            return;
        }
        if top.keeps_text {
            self.text.extend_from_slice(text);
            if self.text.len() > self.limits.memory {
                self.beyond_memory();
            }
        }
    }

    #[inline]
    fn end_element(&mut self, c: &Components) {
        let Some(frame) = self.frames.last().copied() else { return };
        if self.is_beyond_limit {
            return;
        }
        let depth = self.frames.len() as u32 - 1;
        match frame.mode {
            _ if frame.is_nil => {}
            Mode::Skip | Mode::Empty => {}
            Mode::Elements(model, is_mixed) => {
                let memory = &self.memory[frame.memory as usize..];
                let model = &c.models[model as usize];
                if !frame.is_wrong && !model.is_end(frame.state, memory) {
                    let expected = model.expected(frame.state, memory, c);
                    self.report(Rule::CvcComplexType24, format!("the end where this is expected: {expected}"));
                }
                if is_mixed && frame.keeps_text {
                    self.mixed_value(c, &frame);
                }
            }
            Mode::Simple(simple) => self.value(c, &frame, simple),
        }
        if !self.tables.is_idle() && frame.mode != Mode::Skip {
            self.leave(c, &frame, depth);
        }
        self.frames.pop();
        self.memory.truncate(frame.memory as usize);
        self.counts.truncate(frame.counts as usize);
        self.bindings.0.truncate(frame.bindings as usize);
        self.bindings_from = frame.bindings;
    }

    /// The value of an element with simple content.
    #[inline]
    fn value(&mut self, c: &Components, frame: &Frame, simple: TypeId) {
        if frame.is_wrong {
            return;
        }
        let constraint = c.elements.get(frame.element as usize).and_then(|it| it.constraint.as_ref());
        let text = std::mem::take(&mut self.text);
        let State { bindings, roles, .. } = self;
        let mut tell = |role, text: &[u8]| roles.push((role, text.into()));
        match constraint {
            None => {
                if let Err(Fault { rule, message }) = c.check(simple, &text, bindings, &mut tell) {
                    self.report(rule, message);
                }
            }
            Some(default) if text.is_empty() => {
                // By the type of xsi:type the default may be none.
                if let Err(fault) = c.check(simple, default.text.as_bytes(), bindings, &mut tell) {
                    self.report(Rule::CvcElt511, fault.message);
                }
            }
            Some(constraint) => {
                if let Err(Fault { rule, message }) = c.check(simple, &text, bindings, &mut tell) {
                    self.report(rule, message);
                } else if constraint.is_fixed {
                    let mut key = Vec::new();
                    c.key(simple, &text, bindings, &mut key);
                    if *key != *constraint.key {
                        let text = format!("{} where {} is fixed", shown(&text), shown(constraint.text.as_bytes()));
                        self.report(Rule::CvcElt5222, text);
                    }
                }
            }
        }
        if !self.roles.is_empty() {
            self.take_roles(None);
        }
        self.text = text;
    }

    /// Mixed content of an element with a fixed value.
    fn mixed_value(&mut self, c: &Components, frame: &Frame) {
        let constraint = c.elements.get(frame.element as usize).and_then(|it| it.constraint.as_ref());
        let Some(fixed) = constraint.filter(|it| it.is_fixed) else { return };
        if frame.children > 0 {
            self.report(Rule::CvcElt5221, "child elements beside a fixed value".to_owned());
        } else if frame.has_text && *self.text != *fixed.text.as_bytes() {
            let text = format!("{} where {} is fixed", shown(&self.text), shown(fixed.text.as_bytes()));
            self.report(Rule::CvcElt5222, text);
        }
    }

    /// Identity constraints at the end of an element.
    fn leave(&mut self, c: &Components, frame: &Frame, depth: u32) {
        if self.tables.asks_for(depth) {
            let declaration = c.elements.get(frame.element as usize);
            let mut key = Vec::new();
            let value = match frame.mode {
                _ if frame.is_nil => ElementValue::Nil,
                Mode::Simple(simple) => {
                    let default = declaration.and_then(|it| it.constraint.as_ref());
                    let text = match default {
                        Some(default) if self.text.is_empty() => default.text.as_bytes(),
                        _ => &self.text,
                    };
                    c.key(simple, text, &self.bindings, &mut key);
                    ElementValue::Key(&key)
                }
                _ => ElementValue::None,
            };
            if let Some(fault) = self.tables.element(depth, &value, declaration.is_some_and(|it| it.is_nillable)) {
                self.report(fault.rule, fault.message);
            }
        }
        let State { tables, frames, .. } = self;
        let steps = |from: u32| -> Steps {
            frames[from as usize + 1..].iter().map(|it| (it.name, it.position)).collect()
        };
        let mut faults = Vec::new();
        tables.leave(c, depth, frame.offset, &steps, &mut |fault| faults.push(fault));
        for fault in faults {
            match fault.below {
                None => self.report(fault.rule, fault.message),
                Some((steps, offset)) => {
                    let mut path = self.path(None);
                    for (name, position) in steps {
                        self.step(&mut path, name, position);
                    }
                    self.push(fault.rule, path, offset, fault.message);
                }
            }
        }
        if self.tables.memory() > self.limits.memory {
            self.beyond_memory();
        }
    }

    fn end_document(&mut self) {
        let mut missing: Vec<_> = std::mem::take(&mut self.references).into_iter().collect();
        missing.sort_by_key(|it| it.1.1);
        for (text, (path, offset)) in missing {
            self.push(Rule::CvcId1, path, offset, format!("no element has the ID {}", shown(&text)));
        }
    }

    /// The path of the current element, or of an attribute of it.
    fn path(&self, attribute: Option<u32>) -> String {
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

    fn step(&self, path: &mut String, name: u32, position: u32) {
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
    fn report(&mut self, rule: Rule, message: String) {
        let (path, offset) = (self.path(None), self.frames.last().map_or(0, |it| it.offset));
        self.push(rule, path, offset, message);
    }

    #[cold]
    fn at_attribute(&mut self, name: u32, rule: Rule, message: String) {
        let (path, offset) = (self.path(Some(name)), self.frames.last().map_or(0, |it| it.offset));
        self.push(rule, path, offset, message);
    }

    fn push(&mut self, rule: Rule, path: String, offset: u64, message: String) {
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
const MANY: u32 = 1 << 31;
