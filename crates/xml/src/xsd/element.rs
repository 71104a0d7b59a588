//! Elements: Element Locally Valid (Structures, 3.3.4, 3.4.4).

use super::automaton::{Automaton, BY_WILDCARD};
use super::components::*;
use super::error::Rule;
use super::keys::Step;
use super::names::{NONE, XSI};
use super::simple::{Fault, shown};
use super::state::*;
use super::tables::ElementValue;
use super::validator::QNames;
use crate::chars;

impl State {
    #[inline]
    pub(super) fn start_element<'a>(
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
        let position = self.position(name);
        let depth = self.frames.len() as u32;
        let mut assessed = self.assess(c, known);
        self.frames.push(NO_FRAME);
        // Field by field: a copy may load at once what was just stored in parts, which stalls.
        let frame = &mut self.frames[depth as usize];
        (frame.name, frame.position, frame.offset) = (name, position, offset);
        (frame.memory, frame.counts) = (self.memory.len() as u32, self.counts.len() as u32);
        frame.bindings = self.bindings_from;
        self.bindings_from = self.bindings.0.len() as u32;
        if self.has_plan(&assessed, attributes.clone()) {
            self.start_planned(c, known, assessed.element, attributes);
            return;
        }
        for (name, _) in attributes.clone() {
            self.known(c, name, names);
        }
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
        self.plan(c, element, type_, attributes.clone());
        let declaration = c.elements.get(element as usize);
        let definition = &c.types[type_ as usize].definition;
        let mode = mode(c, type_);
        self.reserve(c, mode);
        let fixed = declaration.and_then(|it| it.constraint.as_ref());
        let keeps_text = matches!(mode, Mode::Simple(_)) || fixed.is_some();
        if keeps_text {
            self.text.clear();
        }
        let frame = &mut self.frames[depth as usize];
        (frame.element, frame.type_, frame.mode) = (element, type_, mode);
        frame.keeps_text = keeps_text;
        if let Some(declaration) = declaration {
            if declaration.is_abstract {
                self.report(Rule::CvcElt2, "the declaration is abstract".to_owned());
            }
            if nil.is_some() && !declaration.is_nillable {
                self.report(
                    Rule::CvcElt31,
                    "xsi:nil on an element that is not nillable".to_owned(),
                );
            } else if nil == Some(true) {
                self.frames[depth as usize].is_nil = true;
                if fixed.is_some_and(|it| it.is_fixed) {
                    self.report(Rule::CvcElt322, "a nil element has a fixed value".to_owned());
                }
            }
        }
        let own: &[u32] = declaration.map_or(&[], |it| &it.identity);
        let wants_fields = (!own.is_empty() || !self.tables.is_idle())
            && self.tables.enter(c, depth, known.symbol, known.namespace, own);
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
        if wants_fields && self.tables.has_direct() {
            self.attributes_complete(c);
        }
    }

    pub(super) fn attributes_complete(&mut self, c: &Components) {
        let offset = self.frames.last().map_or(0, |it| it.offset);
        let State { tables, frames, .. } = self;
        let steps = |from: u32, all: &mut Vec<Step>| {
            all.extend(frames[from as usize + 1..].iter().map(|it| (it.name, it.position)));
        };
        let mut faults = Vec::new();
        tables.attributes_complete(c, offset, &steps, &mut |fault| faults.push(fault));
        faults.into_iter().for_each(|fault| self.report(fault.rule, fault.message));
        if self.tables.memory() > self.limits.memory {
            self.beyond_memory();
        }
    }

    /// Memory for the counters of an element's content.
    #[inline]
    pub(super) fn reserve(&mut self, c: &Components, mode: Mode) {
        if let Mode::Elements(model, _) = mode {
            let words = c.models[model as usize].memory();
            if words > 0 {
                self.memory.resize(self.memory.len() + words, 0);
            }
        }
    }

    /// An element without attributes, with its text and its end. Returns whether that is all that there is to it: else nothing
    /// has happened.
    #[inline]
    pub(super) fn leaf(&mut self, c: &Components, name: u32, text: &[u8], offset: u64) -> bool {
        let Some(known) = self.names.get(name as usize).filter(|it| it.is_known) else {
            return false;
        };
        let Some(parent) = self.frames.last() else { return false };
        let Mode::Elements(model, _) = parent.mode else { return false };
        let depth = self.frames.len() as u32;
        if self.bindings_from as usize != self.bindings.0.len()
            || self.is_beyond_limit
            || !self.tables.ignore(c, depth, known.symbol, known.namespace)
        {
            return false;
        }
        let mut state = parent.state;
        let Automaton::States(model) = &c.models[model as usize] else { return false };
        let Some(element) = model.plain_step(&mut state, known.symbol) else { return false };
        let declaration = &c.elements[element as usize];
        let is_plain = declaration.constraint.is_none()
            && declaration.identity.is_empty()
            && !declaration.is_abstract;
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
    pub(super) fn known(&mut self, c: &Components, name: u32, names: &impl QNames) -> Known {
        match self.names.get(name as usize) {
            Some(known) if known.is_known => *known,
            _ => self.learn(c, name, names),
        }
    }

    #[cold]
    pub(super) fn learn(&mut self, c: &Components, name: u32, names: &impl QNames) -> Known {
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
    pub(super) fn position(&mut self, name: u32) -> u32 {
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
    #[inline(always)]
    pub(super) fn assess(&mut self, c: &Components, known: Known) -> Assessed {
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
                if let Automaton::States(states) = model
                    && let Some(action) = states.plain_step(&mut parent.state, known.symbol)
                {
                    return self.by_action(c, known, action);
                }
                let action = model.step(
                    &mut parent.state,
                    memory,
                    known.symbol,
                    known.namespace,
                    &c.wildcards,
                );
                if let Some(action) = action {
                    return self.by_action(c, known, action);
                }
                if parent.is_wrong {
                    return model
                        .anywhere(known.symbol)
                        .map_or(skipped, |action| self.by_action(c, known, action));
                }
                let expected = model.expected(parent.state, memory, c);
                let own = match known.symbol {
                    NONE => "a child with a name that the schema does not have".to_owned(),
                    symbol => c.names.display(symbol),
                };
                parent.is_wrong = true;
                self.report(
                    Rule::CvcComplexType24,
                    format!("{own} where this is expected: {expected}"),
                );
                return model
                    .anywhere(known.symbol)
                    .map_or(skipped, |action| self.by_action(c, known, action));
            }
            Mode::Empty => (Rule::CvcComplexType21, "a child element in an empty element"),
            Mode::Simple(_) => match c.types[parent.type_ as usize].definition {
                Definition::Simple(_) => {
                    (Rule::CvcType312, "a child element in an element of a simple type")
                }
                Definition::Complex(_) => {
                    (Rule::CvcComplexType22, "a child element in simple content")
                }
            },
        };
        if !std::mem::replace(&mut parent.is_wrong, true) {
            self.report(rule, message.to_owned());
        }
        skipped
    }

    #[inline(always)]
    pub(super) fn by_action(&mut self, c: &Components, known: Known, action: u32) -> Assessed {
        if action & BY_WILDCARD == 0 {
            let type_ = c.elements[action as usize].type_;
            return Assessed { element: action, type_, is_skipped: false, needs: None };
        }
        let process = c.wildcards[(action & !BY_WILDCARD) as usize].process;
        self.global(c, known, process, Rule::CvcAssessElt)
    }

    pub(super) fn global(
        &mut self,
        c: &Components,
        known: Known,
        process: Process,
        missing: Rule,
    ) -> Assessed {
        let element = match process {
            Process::Skip => NONE,
            _ => c.global_elements.get(known.symbol),
        };
        let type_ = c.elements.get(element as usize).map_or(ANY_TYPE, |it| it.type_);
        let needs = (process == Process::Strict && element == NONE).then_some(missing);
        Assessed { element, type_, is_skipped: process == Process::Skip, needs }
    }

    #[inline]
    pub(super) fn text(&mut self, text: &[u8]) {
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
    pub(super) fn end_element(&mut self, c: &Components) {
        let Some(frame) = self.frames.last() else { return };
        if self.is_beyond_limit {
            return;
        }
        let depth = self.frames.len() as u32 - 1;
        let (mode, state) = (frame.mode, frame.state);
        match mode {
            _ if frame.is_nil => {}
            Mode::Skip | Mode::Empty => {}
            Mode::Elements(model, is_mixed) => {
                let memory = &self.memory[frame.memory as usize..];
                let model = &c.models[model as usize];
                let mixed_text = is_mixed && frame.keeps_text;
                if !frame.is_wrong && !model.is_end(state, memory) {
                    let expected = model.expected(state, memory, c);
                    self.report(
                        Rule::CvcComplexType24,
                        format!("the end where this is expected: {expected}"),
                    );
                }
                if mixed_text {
                    self.mixed_value(c, depth as usize);
                }
            }
            Mode::Simple(_) if frame.is_wrong => {}
            Mode::Simple(simple) => self.value(c, frame.element, simple),
        }
        if !self.tables.is_idle() && mode != Mode::Skip && self.tables.ends_at(depth) {
            self.leave(c, depth);
        }
        if let Some(frame) = self.frames.pop() {
            self.memory.truncate(frame.memory as usize);
            self.counts.truncate(frame.counts as usize);
            if self.bindings.0.len() != frame.bindings as usize {
                self.bindings.0.truncate(frame.bindings as usize);
            }
            self.bindings_from = frame.bindings;
        }
    }

    /// The value of an element with simple content.
    #[inline]
    pub(super) fn value(&mut self, c: &Components, element: u32, simple: TypeId) {
        let constraint = c.elements.get(element as usize).and_then(|it| it.constraint.as_ref());
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
                        let text = format!(
                            "{} where {} is fixed",
                            shown(&text),
                            shown(constraint.text.as_bytes())
                        );
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
    pub(super) fn mixed_value(&mut self, c: &Components, depth: usize) {
        let frame = &self.frames[depth];
        let constraint =
            c.elements.get(frame.element as usize).and_then(|it| it.constraint.as_ref());
        let Some(fixed) = constraint.filter(|it| it.is_fixed) else { return };
        if frame.children > 0 {
            self.report(Rule::CvcElt5221, "child elements beside a fixed value".to_owned());
        } else if frame.has_text && *self.text != *fixed.text.as_bytes() {
            let text =
                format!("{} where {} is fixed", shown(&self.text), shown(fixed.text.as_bytes()));
            self.report(Rule::CvcElt5222, text);
        }
    }

    /// Identity constraints at the end of an element.
    pub(super) fn leave(&mut self, c: &Components, depth: u32) {
        let frame = &self.frames[depth as usize];
        let offset = frame.offset;
        if self.tables.asks_for(depth) {
            let declaration = c.elements.get(frame.element as usize);
            let mut key = std::mem::take(&mut self.key);
            key.clear();
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
            if let Some(fault) =
                self.tables.element(depth, &value, declaration.is_some_and(|it| it.is_nillable))
            {
                self.report(fault.rule, fault.message);
            }
            self.key = key;
        }
        let State { tables, frames, .. } = self;
        let steps = |from: u32, all: &mut Vec<Step>| {
            all.extend(frames[from as usize + 1..].iter().map(|it| (it.name, it.position)));
        };
        let mut faults = Vec::new();
        tables.leave(c, depth, offset, &steps, &mut |fault| faults.push(fault));
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
}

/// How the content of an element of a type is looked at.
pub(super) fn mode(c: &Components, type_: TypeId) -> Mode {
    match &c.types[type_ as usize].definition {
        Definition::Simple(_) => Mode::Simple(type_),
        Definition::Complex(complex) => match complex.content {
            Content::Empty => Mode::Empty,
            Content::Simple(simple) => Mode::Simple(simple),
            Content::Elements(model, is_mixed) => Mode::Elements(model, is_mixed),
        },
    }
}
