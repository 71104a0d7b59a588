//! What the document type declaration declares, and how references to it are expanded.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Rule;
use crate::chars::{self, Reference};
use crate::cursor::External;
use crate::external::Outside;
use crate::parser::{Halt, Parser, Step, fail};

#[derive(Clone, Debug)]
pub(crate) struct Entity {
    /// The replacement text of an internal entity.
    pub(crate) text: Option<Arc<[u8]>>,
    /// An external entity that is parsed.
    pub(crate) outside: Option<Outside>,
    pub(crate) unparsed: bool,
    /// Declared within a parameter entity.
    pub(crate) in_parameter: bool,
    /// It is being expanded.
    pub(crate) open: bool,
}

/// An attribute that is declared.
#[derive(Clone, Debug)]
pub(crate) struct Attribute {
    pub(crate) name: u32,
    pub(crate) cdata: bool,
    pub(crate) value: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(crate) struct Dtd {
    pub(crate) general: HashMap<u32, Entity>,
    pub(crate) parameters: HashMap<u32, Entity>,
    pub(crate) lists: Vec<Vec<Attribute>>,
    /// `standalone="yes"`.
    pub(crate) standalone: bool,
    /// There is an external subset, or a reference to a parameter entity.
    pub(crate) has_references: bool,
    /// A parameter entity was not read: what follows may mean something else, and is not kept ([5.1]).
    pub(crate) unread: bool,
    /// The external subset, until it is read.
    pub(crate) external: Option<External>,
    /// Texts that lie outside of the document and are being read, within each other.
    pub(crate) outside: u32,
    /// The URI of the text whose declarations are being read. `None`: they are in the document.
    pub(crate) base: Option<Arc<str>>,
    /// Bytes of declarations.
    pub(crate) memory: usize,
}

impl Dtd {
    pub(crate) fn attlist(&self, list: u32) -> &[Attribute] {
        &self.lists[list as usize]
    }

    pub(crate) fn open(&mut self, entity: u32) {
        if let Some(entity) = self.general.get_mut(&entity) {
            entity.open = true;
        }
    }

    pub(crate) fn close(&mut self, entity: u32) {
        if let Some(entity) = self.general.get_mut(&entity) {
            entity.open = false;
        }
    }
}

impl Parser {
    /// A general entity that content or a value refers to: none if it is not declared and need not be; its text, if it is
    /// internal.
    pub(crate) fn entity(&self, id: u32, at: usize) -> Step<Option<Option<Arc<[u8]>>>> {
        let dtd = &self.dtd;
        let strict = !dtd.has_references || dtd.standalone;
        match dtd.general.get(&id) {
            None if strict => fail(Rule::EntityDeclared, at),
            None => Ok(None),
            Some(it) if strict && it.in_parameter => fail(Rule::EntityDeclared, at),
            Some(it) if it.unparsed => fail(Rule::ParsedEntity, at),
            Some(it) if it.open => fail(Rule::NoRecursion, at),
            Some(it) => Ok(Some(it.text.clone())),
        }
    }

    /// [3.3.3] Attribute-value normalisation. `raw` begins at `from`; `literal`: it comes from the document, with its ends of
    /// lines.
    pub(crate) fn normalise(
        &mut self,
        raw: &[u8],
        from: usize,
        literal: bool,
        value: &mut Vec<u8>,
    ) -> Step<()> {
        self.normalise_within(raw, from, literal, value, 0, None)
    }

    fn normalise_within(
        &mut self,
        raw: &[u8],
        from: usize,
        literal: bool,
        value: &mut Vec<u8>,
        depth: u32,
        reference: Option<usize>,
    ) -> Step<()> {
        // Within an entity, the place is that of the reference.
        let place = |at: usize| reference.unwrap_or(from + at);
        let mut at = 0;
        while at < raw.len() {
            let plain = memchr_space_or_markup(&raw[at..]);
            value.extend(&raw[at..at + plain]);
            at += plain;
            match raw.get(at) {
                None => break,
                Some(b'<') => return fail(Rule::NoLessThanInAttributes, place(at)),
                Some(b'\r') if literal && raw.get(at + 1) == Some(&b'\n') => {}
                Some(b'&') => {
                    at += self.value_reference(raw, at, &place, value, depth)?;
                    continue;
                }
                Some(_) => value.push(b' '),
            }
            at += 1;
        }
        Ok(())
    }

    fn value_reference(
        &mut self,
        raw: &[u8],
        at: usize,
        place: &dyn Fn(usize) -> usize,
        value: &mut Vec<u8>,
        depth: u32,
    ) -> Step<usize> {
        match chars::reference(&raw[at..]) {
            Err((rule, by)) => fail(rule, place(at + by)),
            Ok(Reference::More) => fail(Rule::EntityRef, place(raw.len())),
            Ok(Reference::Char(c, len)) => {
                value.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                Ok(len)
            }
            Ok(Reference::Entity(name, len)) => {
                let name = &raw[at + 1..at + 1 + name];
                if let Some(byte) = chars::predefined(name) {
                    value.push(byte);
                    return Ok(len);
                }
                let place = place(at);
                if self.namespaces && name.contains(&b':') {
                    return fail(Rule::NsColon, place);
                }
                let id = self.names.string(name);
                match self.entity(id, place)? {
                    None => {}
                    Some(None) => return fail(Rule::NoExternalEntityReferences, place),
                    Some(Some(text)) => {
                        // Each level is a call.
                        if depth >= self.limits.depth.min(200) {
                            return fail(Rule::LimitDepth, place);
                        }
                        self.expand(text.len(), place)?;
                        self.dtd.open(id);
                        let done =
                            self.normalise_within(&text, 0, false, value, depth + 1, Some(place));
                        self.dtd.close(id);
                        done?;
                        if value.len() > self.limits.memory {
                            return fail(Rule::LimitMemory, place);
                        }
                    }
                }
                Ok(len)
            }
        }
    }

    /// [9] EntityValue: the replacement text ([4.5]). None: it has an entity that is not read.
    pub(crate) fn entity_value(
        &mut self,
        raw: &[u8],
        from: usize,
        literal: bool,
    ) -> Step<Option<Vec<u8>>> {
        let mut text = Vec::with_capacity(raw.len());
        let read = self.entity_value_within(raw, from, literal, 0, &mut text)?;
        Ok(read.then_some(text))
    }

    pub(crate) fn entity_value_within(
        &mut self,
        raw: &[u8],
        from: usize,
        literal: bool,
        depth: u32,
        text: &mut Vec<u8>,
    ) -> Step<bool> {
        let mut at = 0;
        let mut read = true;
        while let Some(&byte) = raw.get(at) {
            match byte {
                b'&' => match chars::reference(&raw[at..]) {
                    Err((rule, by)) => return fail(rule, from + at + by),
                    Ok(Reference::More) => return fail(Rule::EntityRef, from + raw.len()),
                    Ok(Reference::Char(c, len)) => {
                        text.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
                        at += len;
                        continue;
                    }
                    Ok(Reference::Entity(name, len)) => {
                        if self.namespaces && raw[at + 1..at + 1 + name].contains(&b':') {
                            return fail(Rule::NsColon, from + at);
                        }
                        text.extend(&raw[at..at + len]);
                        at += len;
                        continue;
                    }
                },
                b'%' if self.dtd.outside > 0 => {
                    let place = if depth > 0 { from } else { from + at };
                    let (len, known) = self.parameter_in_value(&raw[at..], place, depth, text)?;
                    read &= known;
                    if text.len() > self.limits.memory {
                        return fail(Rule::LimitMemory, place);
                    }
                    at += len;
                    continue;
                }
                b'%' => {
                    let rest = &raw[at + 1..];
                    let len = rest.iter().take_while(|&&b| b > 127 || chars::ascii_name(b)).count();
                    let reference = chars::is_name(&rest[..len]) && rest.get(len) == Some(&b';');
                    let rule =
                        if reference { Rule::PesInInternalSubset } else { Rule::EntityValue };
                    return fail(rule, from + at);
                }
                b'\r' if literal && raw.get(at + 1) == Some(&b'\n') => {}
                b'\r' if literal => text.push(b'\n'),
                byte => text.push(byte),
            }
            at += 1;
        }
        Ok(read)
    }

    /// Counts what declarations keep.
    pub(crate) fn keep_declaration(&mut self, bytes: usize, at: usize) -> Step<()> {
        self.dtd.memory += bytes + 64;
        match self.dtd.memory + self.names.memory() > self.limits.memory {
            true => Err(Halt::Fail(Rule::LimitMemory, at)),
            false => Ok(()),
        }
    }
}

fn memchr_space_or_markup(bytes: &[u8]) -> usize {
    let stop = |byte: &u8| matches!(byte, b'<' | b'&' | b'\t' | b'\n' | b'\r');
    bytes.iter().position(stop).unwrap_or(bytes.len())
}
