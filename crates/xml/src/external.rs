//! What lies outside of the document: external entities, the external subset, and what is allowed only there.

use std::collections::HashMap;
use std::sync::Arc;

use encoding_rs::Encoding;
use lookaside_spec::xml::External as Wanted;

use crate::Rule;
use crate::chars::{self, is_space};
use crate::cursor::{Cursor, External};
use crate::dtd::{Dtd, Entity};
use crate::kernel;
use crate::parser::{Halt, Parser, Step, Window, fail};
use crate::prolog::{declaration, line_ends};
use crate::record::{Kind, Output, Record};

/// What is known of an entity that lies outside.
#[derive(Clone, Debug)]
pub(crate) struct Outside {
    pub(crate) id: External,
    /// Where it was declared.
    pub(crate) declared_in: Option<Arc<str>>,
    pub(crate) state: Asked,
}

#[derive(Clone, Debug)]
pub(crate) enum Asked {
    Not,
    /// It is not to be read.
    Absent,
    Read(Text),
}

/// UTF-8 without a text declaration, lines ended by `\n`; and its URI.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) text: Arc<[u8]>,
    base: Option<Arc<str>>,
}

/// Text of declarations that is being read.
struct Source {
    text: Arc<[u8]>,
    pos: usize,
    /// The parameter entity, unless it is the external subset.
    entity: Option<u32>,
    /// The base of what was read before.
    outer: Option<Arc<str>>,
    /// Conditional sections that were open when it began, if it must end those that it begins.
    sections: Option<usize>,
}

impl Source {
    fn rest(&self) -> &[u8] {
        &self.text[self.pos..]
    }
}

/// A declaration with its parameter entities expanded.
struct Flat {
    text: Vec<u8>,
    /// One of them was not read: what it says is not known.
    unread: bool,
}

impl Parser {
    /// The text of an external entity, if it is to be read. `at`: the reference.
    fn ask(&mut self, outside: &Outside, at: usize) -> Step<Asked> {
        let (Some(resolver), Some(system)) = (&self.resolver, &outside.id.system) else {
            return Ok(Asked::Absent);
        };
        let public = outside.id.public.as_deref().map(String::from_utf8_lossy);
        let wanted = Wanted {
            public: public.as_deref(),
            system: &String::from_utf8_lossy(system),
            base: outside.declared_in.as_deref(),
        };
        let Some(found) = resolver.resolve(&wanted) else { return Ok(Asked::Absent) };
        if found.bytes.len() > self.limits.memory {
            return fail(Rule::LimitMemory, at);
        }
        let text = decoded(&found.bytes).map_err(|rule| Halt::Fail(rule, at))?;
        self.keep_declaration(text.len(), at)?;
        Ok(Asked::Read(Text { text: text.into(), base: Some(found.base) }))
    }

    /// A general entity that content refers to: as [`entity`](Parser::entity), but an external one is asked for.
    pub(crate) fn content_entity(&mut self, id: u32, at: usize) -> Step<Option<Option<Arc<[u8]>>>> {
        let known = self.entity(id, at)?;
        match known {
            Some(None) => {
                Ok(Some(self.outside(id, at, |dtd| &mut dtd.general)?.map(|text| text.text)))
            }
            known => Ok(known),
        }
    }

    /// The text of an external entity. The resolver is asked for it at its first reference.
    fn outside(
        &mut self,
        id: u32,
        at: usize,
        entities: fn(&mut Dtd) -> &mut HashMap<u32, Entity>,
    ) -> Step<Option<Text>> {
        let known = entities(&mut self.dtd).get(&id);
        let Some(mut outside) = known.and_then(|entity| entity.outside.clone()) else {
            return Ok(None);
        };
        if let Asked::Not = outside.state {
            outside.state = self.ask(&outside, at)?;
            if let Some(entity) = entities(&mut self.dtd).get_mut(&id) {
                entity.outside = Some(outside.clone());
            }
        }
        match outside.state {
            Asked::Read(text) => Ok(Some(text)),
            _ => Ok(None),
        }
    }

    /// A parameter entity: none if it is not declared; its text, if it is read.
    fn parameter(&mut self, id: u32, at: usize) -> Step<Option<Option<Text>>> {
        let Some(entity) = self.dtd.parameters.get(&id) else { return Ok(None) };
        if entity.open {
            return fail(Rule::NoRecursion, at);
        }
        if let Some(text) = &entity.text {
            // What an internal one declares, its own resource declares.
            let text = Text { text: text.clone(), base: None };
            return Ok(Some(Some(text)));
        }
        self.outside(id, at, |dtd| &mut dtd.parameters).map(Some)
    }

    fn open_parameter(&mut self, id: u32, open: bool) {
        if let Some(entity) = self.dtd.parameters.get_mut(&id) {
            entity.open = open;
        }
    }

    /// [30] extSubset: the part of the document type that lies outside, if it is to be read.
    pub(crate) fn external_subset(&mut self, at: u64, out: &mut Output<'_>) -> Step<()> {
        let Some(id) = self.dtd.external.take() else { return Ok(()) };
        let outside = Outside { id, declared_in: None, state: Asked::Not };
        let Asked::Read(text) = self.ask(&outside, 0)? else { return Ok(()) };
        self.declarations(None, text, at, out)
    }

    /// A reference in the internal subset, or in the text of an internal entity, to a parameter entity that lies outside.
    /// False: it is not read.
    pub(crate) fn external_parameter(
        &mut self,
        id: u32,
        at: u64,
        out: &mut Output<'_>,
    ) -> Step<bool> {
        match self.parameter(id, 0)? {
            Some(Some(text)) => self.declarations(Some(id), text, at, out).map(|()| true),
            _ => Ok(false),
        }
    }

    /// [31] extSubsetDecl, all of a text that lies outside. `at`: the place of the reference in the document.
    fn declarations(
        &mut self,
        entity: Option<u32>,
        text: Text,
        at: u64,
        out: &mut Output<'_>,
    ) -> Step<()> {
        let outer = self.dtd.base.clone();
        let mut sources = vec![];
        self.dtd.outside += 1;
        let result = self
            .enter(&mut sources, entity, text, Some(0))
            .and_then(|()| self.all_declarations(&mut sources, at, out));
        self.dtd.outside -= 1;
        self.dtd.base = outer;
        // Within an entity, the place is that of the reference.
        result.map_err(|halt| match halt {
            Halt::Fail(rule, _) => Halt::Fail(rule, 0),
            Halt::More => Halt::Fail(Rule::PeBetweenDeclarations, 0),
            halt => halt,
        })
    }

    fn all_declarations(
        &mut self,
        sources: &mut Vec<Source>,
        at: u64,
        out: &mut Output<'_>,
    ) -> Step<()> {
        // Conditional sections that are open.
        let mut sections = 0;
        loop {
            let floor = sources.iter().rev().find_map(|it| it.sections).unwrap_or(0);
            let Some(source) = sources.last_mut() else { return Ok(()) };
            source.pos += source.rest().iter().take_while(|byte| is_space(**byte)).count();
            let rest = source.rest();
            match rest {
                [] if source.sections.is_some_and(|begun| begun != sections) => {
                    return fail(Rule::ConditionalSect, 0);
                }
                [] => self.leave(sources),
                [b'%', ..] => {
                    let unread = self.reference_to_parameter(sources, Some(sections))?;
                    if let Some(unread) = unread {
                        // [5.1] What follows may mean something else.
                        self.dtd.unread |= !self.dtd.standalone;
                        self.emit(out, unread);
                    }
                }
                [b']', b']', b'>', ..] if sections > floor => {
                    sections -= 1;
                    source.pos += 3;
                }
                [b'<', b'!', b'[', ..] => {
                    if self.section(sources)? {
                        sections += 1;
                    }
                }
                [b'<', b'?', ..] | [b'<', b'!', b'-', ..] => {
                    let text = source.text.clone();
                    let mut pos = source.pos;
                    let w = window(&text, at);
                    match text[pos + 1] {
                        b'?' => self.pi(&w, &mut pos, out)?,
                        _ => self.comment(&w, &mut pos, out)?,
                    }
                    source.pos = pos;
                }
                [b'<', b'!', ..] => {
                    let flat = self.flat(sources, b'>')?;
                    if flat.unread {
                        continue;
                    }
                    let mut pos = 0;
                    self.declaration(&window(&flat.text, at), &mut pos, out)?;
                    if pos != flat.text.len() {
                        return fail(Rule::MarkupDecl, 0);
                    }
                }
                _ => return fail(Rule::MarkupDecl, 0),
            }
            if self.pending_memory() > self.limits.memory {
                return fail(Rule::LimitMemory, 0);
            }
        }
    }

    /// [62] and [63]; `<![` stands there. Returns whether what follows is to be read.
    fn section(&mut self, sources: &mut Vec<Source>) -> Step<bool> {
        let flat = self.flat(sources, b'[')?;
        let keyword = flat.text[3..flat.text.len() - 1].trim_ascii();
        match keyword {
            b"INCLUDE" if !flat.unread => return Ok(true),
            b"IGNORE" => {}
            _ if flat.unread => {}
            _ => return fail(Rule::ConditionalSect, 0),
        }
        // [64] and [65].
        let Some(source) = sources.last_mut() else { return fail(Rule::ConditionalSect, 0) };
        let mut depth = 1;
        while depth > 0 {
            let rest = source.rest();
            let Some(at) = memchr::memchr2(b'<', b']', rest) else {
                return fail(Rule::ConditionalSect, 0);
            };
            let rest = &rest[at..];
            let (by, change) = match rest {
                [b'<', b'!', b'[', ..] => (3, 1),
                [b']', b']', b'>', ..] => (3, -1),
                _ => (1, 0),
            };
            depth += change;
            source.pos += at + by;
        }
        Ok(false)
    }

    /// A declaration up to `end`, its references to parameter entities replaced by their texts. Other texts may be left
    /// behind, where `end` stands within an entity.
    fn flat(&mut self, sources: &mut Vec<Source>, end: u8) -> Step<Flat> {
        let level = sources.len();
        let mut flat = Flat { text: vec![], unread: false };
        // `<![` is no end.
        if end == b'['
            && let Some(source) = sources.last_mut()
        {
            flat.text.extend(b"<![");
            source.pos += 3;
        }
        let mut quote = None;
        loop {
            let Some(source) = sources.last_mut() else { return Err(Halt::More) };
            let Some(&byte) = source.rest().first() else {
                if sources.len() <= level || quote.is_some() {
                    return Err(Halt::More);
                }
                self.leave(sources);
                flat.text.push(b' ');
                continue;
            };
            let begins_name = |byte: &u8| *byte > 127 || chars::ascii_name(*byte);
            if byte == b'%' && quote.is_none() && source.rest().get(1).is_some_and(begins_name) {
                flat.text.push(b' ');
                if let Some(unread) = self.reference_to_parameter(sources, None)? {
                    self.dtd.unread |= !self.dtd.standalone;
                    // One that is not declared has no text.
                    flat.unread |= unread.count > 0;
                }
                continue;
            }
            source.pos += 1;
            flat.text.push(byte);
            match (quote, byte) {
                (Some(mark), byte) if mark == byte => quote = None,
                (None, b'"' | b'\'') => quote = Some(byte),
                (None, byte) if byte == end => return Ok(flat),
                (None, b'<') if flat.text.len() > 1 => return fail(Rule::MarkupDecl, 0),
                _ => {}
            }
        }
    }

    /// [69] PEReference; `%` stands there. Its text is what is read next, or the record of an entity that is not read is
    /// returned. `sections`: as of [`Source`].
    fn reference_to_parameter(
        &mut self,
        sources: &mut Vec<Source>,
        sections: Option<usize>,
    ) -> Step<Option<Record>> {
        let Some(source) = sources.last_mut() else { return Ok(None) };
        let (id, len) = self.parameter_name(source.rest())?;
        source.pos += len;
        match self.parameter(id, 0)? {
            Some(Some(text)) => self.enter(sources, Some(id), text, sections).map(|()| None),
            known => {
                let count = known.is_some().into();
                Ok(Some(Record { kind: Kind::SkippedEntity, name: id, count, ..Record::default() }))
            }
        }
    }

    /// The entity of the reference at the beginning of `bytes`, and the reference's length.
    fn parameter_name(&mut self, bytes: &[u8]) -> Step<(u32, usize)> {
        let end = bytes.iter().position(|byte| *byte == b';').unwrap_or(0);
        let name = bytes.get(1..end).unwrap_or(&[]);
        if !chars::is_name(name) {
            return fail(Rule::PeReference, 0);
        }
        if name.len() > self.limits.name as usize {
            return fail(Rule::LimitName, 0);
        }
        if self.namespaces && name.contains(&b':') {
            return fail(Rule::NsColon, 0);
        }
        self.dtd.has_references = true;
        Ok((self.names.string(name), end + 1))
    }

    fn enter(
        &mut self,
        sources: &mut Vec<Source>,
        entity: Option<u32>,
        text: Text,
        sections: Option<usize>,
    ) -> Step<()> {
        if sources.len() >= self.limits.depth as usize {
            return fail(Rule::LimitDepth, 0);
        }
        self.expand(text.text.len(), 0)?;
        if let Some(id) = entity {
            self.open_parameter(id, true);
        }
        let outer = self.dtd.base.clone();
        if text.base.is_some() {
            self.dtd.base = text.base;
        }
        sources.push(Source { text: text.text, pos: 0, entity, outer, sections });
        Ok(())
    }

    fn leave(&mut self, sources: &mut Vec<Source>) {
        let Some(source) = sources.pop() else { return };
        self.dtd.base = source.outer;
        if let Some(id) = source.entity {
            self.open_parameter(id, false);
        }
    }

    /// [4.4.5] Included in literal: the text of a parameter entity in an entity's value. `bytes` begin with `%`; returns
    /// the reference's length. False: it is not read.
    pub(crate) fn parameter_in_value(
        &mut self,
        bytes: &[u8],
        at: usize,
        depth: u32,
        value: &mut Vec<u8>,
    ) -> Step<(usize, bool)> {
        let (id, len) = self.parameter_name(bytes).map_err(|halt| match halt {
            Halt::Fail(Rule::PeReference, _) => Halt::Fail(Rule::EntityValue, at),
            Halt::Fail(rule, _) => Halt::Fail(rule, at),
            halt => halt,
        })?;
        let Some(Some(text)) = self.parameter(id, at)? else {
            self.dtd.unread |= !self.dtd.standalone;
            return Ok((len, false));
        };
        // Each level is a few calls.
        if depth >= self.limits.depth.min(100) {
            return fail(Rule::LimitDepth, at);
        }
        self.expand(text.text.len(), at)?;
        self.open_parameter(id, true);
        let read = self.entity_value_within(&text.text, at, false, depth + 1, value);
        self.open_parameter(id, false);
        Ok((len, read?))
    }
}

/// Text that is all there, of which the place is that of the reference.
fn window(bytes: &[u8], at: u64) -> Window<'_> {
    let end = Some(Rule::PeBetweenDeclarations);
    Window { bytes, base: 0, at, end, copy: true, entity: true }
}

/// [78] extParsedEnt: UTF-8 of an external entity, without its text declaration, its lines ended by `\n`.
fn decoded(bytes: &[u8]) -> Result<Vec<u8>, Rule> {
    let (wide, rest, marked) = match bytes {
        [0xef, 0xbb, 0xbf, rest @ ..] => (None, rest, true),
        [0xfe, 0xff, rest @ ..] => (Some(u16::from_be_bytes as fn([u8; 2]) -> u16), rest, true),
        [0xff, 0xfe, rest @ ..] => (Some(u16::from_le_bytes as fn([u8; 2]) -> u16), rest, true),
        [0, b'<', 0, b'?', ..] => (Some(u16::from_be_bytes as fn([u8; 2]) -> u16), bytes, false),
        [b'<', 0, b'?', 0, ..] => (Some(u16::from_le_bytes as fn([u8; 2]) -> u16), bytes, false),
        _ => (None, bytes, false),
    };
    let mut text = match wide {
        None => rest.to_vec(),
        Some(unit) => {
            let (units, left) = rest.as_chunks::<2>();
            let units = units.iter().map(|pair| unit(*pair));
            let text: Result<String, _> = char::decode_utf16(units).collect();
            match (text, left) {
                (Ok(text), []) => text.into_bytes(),
                _ => return Err(Rule::MalformedEncoding),
            }
        }
    };
    let (begin, encoding) = text_declaration(&text)?;
    text.drain(..begin);
    let utf16 = |name: &str| name.starts_with("utf-16") || name == "iso-10646-ucs-2";
    match encoding.as_deref() {
        None => {}
        Some(name) if wide.is_some() && utf16(name) => {}
        Some(_) if wide.is_some() => return Err(Rule::EncodingMismatch),
        Some("utf-8" | "utf8") => {}
        Some(name) if marked || utf16(name) => return Err(Rule::EncodingMismatch),
        Some("us-ascii" | "ascii" | "iso646-us" | "ansi_x3.4-1968") => {
            text.is_ascii().then_some(()).ok_or(Rule::MalformedEncoding)?;
        }
        Some("iso-8859-1" | "iso_8859-1" | "latin1" | "l1") => {
            text = text.iter().map(|byte| char::from(*byte)).collect::<String>().into_bytes();
        }
        Some(name) => {
            let known = Encoding::for_label(name.as_bytes())
                .filter(|it| it.is_ascii_compatible() || *it == encoding_rs::ISO_2022_JP)
                .ok_or(Rule::UnknownEncoding)?;
            let decoded = known.decode_without_bom_handling_and_without_replacement(&text);
            text = decoded.ok_or(Rule::MalformedEncoding)?.into_owned().into_bytes();
        }
    }
    let valid = kernel::valid_up_to(&text);
    if valid < text.len() {
        let control = std::str::from_utf8(&text[valid..]).is_ok()
            || text[valid] < 0x80
            || text[valid..].starts_with(b"\xef\xbf\xbe")
            || text[valid..].starts_with(b"\xef\xbf\xbf");
        return Err(if control { Rule::Char } else { Rule::MalformedEncoding });
    }
    Ok(if text.contains(&b'\r') { line_ends(&text) } else { text })
}

/// [77] TextDecl: where it ends, and the encoding that it names.
fn text_declaration(text: &[u8]) -> Result<(usize, Option<String>), Rule> {
    if !text.starts_with(b"<?xml") || !text.get(5).is_some_and(|byte| is_space(*byte)) {
        return Ok((0, None));
    }
    let w = window(text, 0);
    let mut c = Cursor { w: &w, at: 5 };
    match declaration(&mut c, false) {
        Ok(it) if it.encoding.is_some() && it.standalone.is_none() => Ok((c.at, it.encoding)),
        Err(Halt::Fail(rule, _)) if rule != Rule::XmlDecl => Err(rule),
        _ => Err(Rule::TextDecl),
    }
}
