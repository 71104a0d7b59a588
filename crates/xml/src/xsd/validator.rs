//! A document by a schema, element by element (Structures, 3.3.4, 3.4.4).

use std::sync::Arc;

use super::Schema;
use super::error::Invalid;
use super::state::State;
use crate::Parser;
use crate::select::Names;

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

/// One document after the other, validated while it arrives.
///
/// It is told start-tags, texts and end-tags in order, and collects what is wrong. [`Stream`](super::Stream) has a parser in front.
pub struct Validator {
    schema: Arc<Schema>,
    state: State,
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
        self.state.plans.clear();
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
