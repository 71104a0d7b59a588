//! The prolog, token by token, and what comes behind the root element.

use std::ffi::c_int;

use crate::abi::*;
use crate::content::Done;
use crate::dtd::{Entities, Entity, Text, str_of, text};
use crate::parser::{P, Processor};
use crate::role::{Role, Tok};
use crate::token::{Stop, is_space};

/// The name of the external subset among parameter entities.
pub(crate) const SUBSET: &[u8] = b"#";

/// The entity with this name; true: it is new.
pub(crate) fn declare(known: &mut Entities, name: &[u8]) -> (*mut Entity, bool) {
    let new = !known.contains_key(name);
    let entity = known.entry(name.to_vec()).or_default();
    if new {
        entity.name = text(name);
    }
    (&raw mut **entity, new)
}

/// [2.11] Ends of lines.
fn lines(bytes: &[u8]) -> Text {
    let mut out = Vec::with_capacity(bytes.len() + 1);
    for (at, &byte) in bytes.iter().enumerate() {
        match byte {
            b'\r' if bytes.get(at + 1) == Some(&b'\n') => {}
            b'\r' => out.push(b'\n'),
            byte => out.push(byte),
        }
    }
    text(&out)
}

impl P {
    pub(crate) fn report_pi(self, inner: bool, raw: &[u8]) {
        let Some(handler) = self.h.pi else { return self.default(inner, raw) };
        let body = &raw[2..raw.len() - 2];
        let end = body.iter().position(|byte| is_space(*byte)).unwrap_or(body.len());
        let rest = &body[end..];
        let from = rest.iter().position(|byte| !is_space(*byte)).unwrap_or(rest.len());
        let (target, data) = (text(&body[..end]), lines(&rest[from..]));
        // SAFETY: the program's function.
        unsafe { handler(self.arg, target.as_ptr().cast(), data.as_ptr().cast()) };
    }

    pub(crate) fn report_comment(self, inner: bool, raw: &[u8]) {
        let Some(handler) = self.h.comment else { return self.default(inner, raw) };
        let data = lines(&raw[4..raw.len() - 3]);
        // SAFETY: the program's function.
        unsafe { handler(self.arg, data.as_ptr().cast()) };
    }

    /// Behind the root element.
    pub(crate) fn epilog(mut self, mut at: usize) -> Done<usize> {
        self.processor = Processor::Epilog;
        self.event = at;
        let mut grow = false;
        loop {
            let v = self.view(at, grow);
            let (tok, next, open) = v.prolog(at);
            if v.stop == Stop::Window && next >= v.bytes.len() {
                grow = true;
                continue;
            }
            grow = false;
            self.event_end = next;
            let more = self.status.final_buffer == 0;
            match tok {
                _ if open && tok == Tok::Space => {
                    if self.h.default.is_some() {
                        self.default(false, &v.bytes[at..next]);
                        if self.status.parsing == FINISHED {
                            return Err(ABORTED);
                        }
                    }
                    return Ok(next);
                }
                _ if open => return Err(JUNK_AFTER_DOC_ELEMENT),
                Tok::None => return Ok(at),
                Tok::Space => self.default(false, &v.bytes[at..next]),
                Tok::Pi => self.report_pi(false, &v.bytes[at..next]),
                Tok::Comment => self.report_comment(false, &v.bytes[at..next]),
                Tok::Invalid => {
                    self.event = next;
                    return Err(INVALID_TOKEN);
                }
                Tok::Partial | Tok::PartialChar if more => return Ok(at),
                Tok::Partial => return Err(UNCLOSED_TOKEN),
                Tok::PartialChar => return Err(PARTIAL_CHAR),
                _ => return Err(JUNK_AFTER_DOC_ELEMENT),
            }
            at = next;
            self.event = at;
            match self.status.parsing {
                SUSPENDED => return Ok(at),
                FINISHED => return Err(ABORTED),
                _ => {}
            }
        }
    }

    /// The rest of an ignored section; where it ended, or nothing.
    pub(crate) fn ignored(mut self, at: usize) -> Done<Option<usize>> {
        self.event = at;
        let mut grow = false;
        loop {
            let v = self.view(at, grow);
            let (tok, next) = v.ignored(at);
            if v.stop == Stop::Window && tok != Tok::IgnoreSection {
                grow = true;
                continue;
            }
            self.event_end = next;
            let more = self.status.final_buffer == 0;
            return match tok {
                Tok::IgnoreSection => {
                    self.default(false, &v.bytes[at..next]);
                    match self.status.parsing {
                        FINISHED => Err(ABORTED),
                        _ => Ok(Some(next)),
                    }
                }
                Tok::Invalid => {
                    self.event = next;
                    Err(INVALID_TOKEN)
                }
                _ if more => Ok(None),
                Tok::PartialChar => Err(PARTIAL_CHAR),
                _ => Err(SYNTAX),
            };
        }
    }

    /// Declarations from `at` on. `close`: the document type declaration may end here.
    pub(crate) fn prolog(mut self, mut at: usize, inner: bool, close: bool) -> Done<usize> {
        let mut grow = false;
        loop {
            let v = self.bytes(inner, at, grow);
            let (tok, mut next, open) = v.prolog(at);
            let short = open
                || matches!(tok, Tok::None | Tok::Partial | Tok::PartialChar)
                || next >= v.bytes.len();
            if v.stop == Stop::Window && short && !inner {
                grow = true;
                continue;
            }
            grow = false;
            self.event(inner, at);
            let unset = open && tok != Tok::Space
                || matches!(tok, Tok::None | Tok::Partial | Tok::PartialChar);
            self.event_end(inner, if unset { at } else { next });
            let more = !inner && self.status.final_buffer == 0;
            let none = matches!(tok, Tok::None | Tok::Partial | Tok::PartialChar);
            if more && (open || none) {
                return Ok(at);
            }
            match tok {
                Tok::Invalid => {
                    self.event(inner, next);
                    return Err(INVALID_TOKEN);
                }
                Tok::Partial => return Err(UNCLOSED_TOKEN),
                Tok::PartialChar => return Err(PARTIAL_CHAR),
                Tok::None => {
                    if inner && !self.open.last().is_some_and(|open| open.between) {
                        return Ok(at);
                    }
                    if self.is_param || inner {
                        return match self.prolog.role(Tok::None, b"") {
                            Role::Error => Err(INCOMPLETE_PE),
                            _ => Ok(at),
                        };
                    }
                    return Err(NO_ELEMENTS);
                }
                _ => {}
            }
            let raw = &v.bytes[at..next];
            let role = self.prolog.role(tok, raw);
            let mut report = true;
            match role {
                Role::InstanceStart => {
                    self.foreign_subset(true)?;
                    self.processor = Processor::Content;
                    return self.content(0, false, at);
                }
                Role::IgnoreSection => {
                    self.default(inner, raw);
                    report = false;
                    match self.ignored(next)? {
                        Some(end) => next = end,
                        None => {
                            self.processor = Processor::IgnoreSection;
                            return Ok(next);
                        }
                    }
                }
                Role::Error => {
                    return Err(match tok {
                        Tok::ParamEntityRef => PARAM_ENTITY_REF,
                        Tok::XmlDecl => MISPLACED_XML_PI,
                        _ => SYNTAX,
                    });
                }
                Role::XmlDecl | Role::TextDecl => {
                    self.xml_decl(role == Role::TextDecl, raw, at, next)?;
                    report = false;
                }
                Role::DoctypeClose if !close => return Err(INVALID_TOKEN),
                role => self.role(role, raw, inner, at, &mut report)?,
            }
            if report && self.h.default.is_some() {
                self.default(inner, raw);
            }
            at = next;
            match self.status.parsing {
                SUSPENDED => return Ok(at),
                FINISHED => return Err(ABORTED),
                _ => {}
            }
        }
    }

    pub(crate) fn not_standalone(self) -> Done {
        match self.h.not_standalone {
            // SAFETY: the program's function.
            Some(handler) if !self.dtd().standalone && unsafe { handler(self.arg) } == 0 => {
                Err(NOT_STANDALONE)
            }
            _ => Ok(()),
        }
    }

    /// Has the external subset read, at the end of the declaration or, `last`, where there is none.
    pub(crate) fn foreign_subset(mut self, last: bool) -> Done {
        let has_system = self.has_system && !last;
        if !has_system && !self.use_foreign {
            return Ok(());
        }
        let dtd = self.dtd();
        let had = dtd.has_param_refs;
        dtd.has_param_refs = true;
        if self.param_parsing != 0
            && let Some(handler) = self.h.external
        {
            // SAFETY: entities stay where they are.
            let entity = unsafe { &mut *declare(&mut dtd.params, SUBSET).0 };
            if self.use_foreign {
                entity.base = self.base.clone();
            }
            dtd.param_read = false;
            let strings = [&entity.base, &entity.system, &entity.public].map(str_of);
            let arg = self.external_arg;
            // SAFETY: the program's function.
            let fine =
                unsafe { handler(arg, std::ptr::null(), strings[0], strings[1], strings[2]) };
            if fine == 0 {
                return Err(EXTERNAL_ENTITY_HANDLING);
            }
            let dtd = self.dtd();
            if dtd.param_read {
                self.not_standalone()?;
            } else if !has_system {
                dtd.has_param_refs = had;
            }
        }
        if !last {
            self.use_foreign = false;
        }
        Ok(())
    }

    /// The XML declaration, or, `text_decl`, a text declaration.
    pub(crate) fn xml_decl(mut self, text_decl: bool, raw: &[u8], at: usize, next: usize) -> Done {
        let error = if text_decl { TEXT_DECL } else { XML_DECL };
        let found = match parse_decl(text_decl, raw) {
            Ok(found) => found,
            Err(by) => {
                self.event = at + by;
                return Err(error);
            }
        };
        let (version, encoding, standalone) = found;
        if !text_decl && standalone == 1 {
            self.dtd().standalone = true;
            if self.param_parsing == 1 {
                self.param_parsing = 0;
            }
        }
        let name = encoding.map(|(from, end)| raw[from..end].to_vec());
        if let Some(handler) = self.h.xml_decl {
            let version = version.map(|(from, end)| text(&raw[from..end]));
            let name = name.as_deref().map(text);
            // SAFETY: the program's function.
            unsafe { handler(self.arg, str_of(&version), str_of(&name), standalone) };
        } else {
            self.default(false, raw);
        }
        if let (Some(name), Some((from, _))) = (name, encoding)
            && let Err(error) = self.declared_encoding(&name, next)
        {
            self.event = at + from;
            return Err(error);
        }
        Ok(())
    }
}

type Range = (usize, usize);

/// Version, encoding and standalone (-1: not said) of a declaration; an error is a place.
fn parse_decl(text_decl: bool, raw: &[u8]) -> Result<(Option<Range>, Option<Range>, c_int), usize> {
    let end = raw.len() - 2;
    let mut at = 5;
    let (mut version, mut encoding) = (None, None);
    let mut one = pseudo(raw, &mut at, end)?.ok_or(at)?;
    let word = |range: Range| &raw[range.0..range.1];
    if word(one.0) == b"version" {
        version = Some(one.1);
        one = match pseudo(raw, &mut at, end)? {
            Some(one) => one,
            None if text_decl => return Err(at),
            None => return Ok((version, None, -1)),
        };
    } else if !text_decl {
        return Err(one.0.0);
    }
    if word(one.0) == b"encoding" {
        if !raw[one.1.0].is_ascii_alphabetic() {
            return Err(one.1.0);
        }
        encoding = Some(one.1);
        one = match pseudo(raw, &mut at, end)? {
            Some(one) => one,
            None => return Ok((version, encoding, -1)),
        };
    }
    if word(one.0) != b"standalone" || text_decl {
        return Err(one.0.0);
    }
    let standalone = match word(one.1) {
        b"yes" => 1,
        b"no" => 0,
        _ => return Err(one.1.0),
    };
    while at < end && is_space(raw[at]) {
        at += 1;
    }
    if at == end { Ok((version, encoding, standalone)) } else { Err(at) }
}

/// The next name and value.
fn pseudo(raw: &[u8], at: &mut usize, end: usize) -> Result<Option<(Range, Range)>, usize> {
    if *at == end {
        return Ok(None);
    }
    if !is_space(raw[*at]) {
        return Err(*at);
    }
    let skip = |mut at: usize| {
        while at < end && is_space(raw[at]) {
            at += 1;
        }
        at
    };
    let from = skip(*at);
    if from == end {
        *at = end;
        return Ok(None);
    }
    let mut place = from;
    while place < end && raw[place] != b'=' && !is_space(raw[place]) && raw[place] < 128 {
        place += 1;
    }
    let name = (from, place);
    place = skip(place);
    if place >= end || raw[place] != b'=' || name.1 == from {
        return Err(place);
    }
    place = skip(place + 1);
    if place >= end || !matches!(raw[place], b'"' | b'\'') {
        return Err(place);
    }
    let value = place + 1;
    let mark = raw[place];
    place = value;
    while place < end && raw[place] != mark {
        let byte = raw[place];
        if !byte.is_ascii_alphanumeric() && !matches!(byte, b'.' | b'-' | b'_') {
            return Err(place);
        }
        place += 1;
    }
    if place >= end {
        return Err(place);
    }
    *at = place + 1;
    Ok(Some((name, (value, place))))
}
