//! Content: elements, text, references.

use std::ffi::c_int;

use crate::abi::*;
use crate::dtd::{DEFAULT, Entity, NONE};
use crate::parser::{Binding, Open, P, Processor, Tag};
use crate::role::Tok;
use crate::token::{Stop, View, char_number, predefined};

/// Bytes that handlers get at once of converted text.
const PIECE: usize = 1024;

pub(crate) type Done<T = ()> = Result<T, c_int>;

impl P {
    /// The event of the document, or of the innermost entity.
    #[inline(always)]
    pub(crate) fn event(mut self, inner: bool, at: usize) {
        match self.open.last_mut() {
            Some(open) if inner => open.event = at,
            _ => self.event = at,
        }
    }

    #[inline(always)]
    pub(crate) fn event_end(mut self, inner: bool, at: usize) {
        match self.open.last_mut() {
            Some(open) if inner => open.event_end = at,
            _ => self.event_end = at,
        }
    }

    /// The bytes of the document or of the innermost entity.
    #[inline(always)]
    pub(crate) fn bytes<'a>(self, inner: bool, at: usize, more: bool) -> View<'a> {
        if !inner {
            return self.view(at, more);
        }
        let open = self.open.last().expect("an entity is open");
        // SAFETY: text and index live as long as the entity is open.
        let (bytes, index) = unsafe { (&*(&raw const *open.text), &*(&raw const *open.index)) };
        View { bytes, index, from: 0, stop: Stop::End, namespaces: self.namespaces, bad: 0 }
    }

    /// Passes bytes to the default handler.
    pub(crate) fn default(self, inner: bool, text: &[u8]) {
        if let Some(handler) = self.h.default {
            if inner || !self.input.converts() {
                // SAFETY: the program's function.
                unsafe { handler(self.arg, text.as_ptr().cast(), text.len() as c_int) };
                return;
            }
            // Each piece is an event of its own, and the event ends behind them.
            let place = text.as_ptr() as usize - self.input.buffer.as_ptr() as usize;
            let mut from = 0;
            while from < text.len() {
                let end = piece_end(text, from);
                self.event_end(false, place + end);
                // SAFETY: the program's function.
                unsafe { handler(self.arg, text[from..].as_ptr().cast(), (end - from) as c_int) };
                self.event(false, place + end);
                from = end;
            }
        }
    }

    #[inline(always)]
    fn characters(self, inner: bool, text: &[u8], raw: &[u8]) {
        if let Some(handler) = self.h.characters {
            // SAFETY: the program's function.
            unsafe { handler(self.arg, text.as_ptr().cast(), text.len() as c_int) };
        } else {
            self.default(inner, raw);
        }
    }

    /// Characters; of another encoding than UTF-8 in pieces of [`PIECE`] bytes, as expat's buffer has them.
    #[inline(always)]
    fn data(self, inner: bool, v: View<'_>, at: usize, next: usize) {
        let text = &v.bytes[at..next];
        if text.len() <= PIECE || inner || !self.input.converts() {
            return self.characters(inner, text, text);
        }
        let mut from = at;
        while from < next {
            let end = piece_end(&v.bytes[..next], from);
            self.event(false, from);
            self.event_end(false, end);
            self.characters(false, &v.bytes[from..end], &v.bytes[from..end]);
            from = end;
        }
    }

    /// Parses from `at` on; returns how far it came. `level`: open elements when the entity began.
    pub(crate) fn content(mut self, level: usize, inner: bool, mut at: usize) -> Done<usize> {
        self.event(inner, at);
        let mut spans = std::mem::take(&mut self.spans);
        let done = self.content_loop(level, inner, &mut at, &mut spans);
        self.spans = spans;
        done.map(|()| at)
    }

    fn content_loop(
        mut self,
        level: usize,
        inner: bool,
        place: &mut usize,
        spans: &mut Vec<crate::token::Att>,
    ) -> Done {
        let more = |p: P| !inner && p.status.final_buffer == 0;
        let mut grow = false;
        loop {
            let at = *place;
            let v = self.bytes(inner, at, grow);
            let (tok, next) = v.content(at, spans);
            let short = matches!(
                tok,
                Tok::None
                    | Tok::Partial
                    | Tok::PartialChar
                    | Tok::TrailingCr
                    | Tok::TrailingBrackets
            );
            if v.stop == Stop::Window && (short || next >= v.bytes.len()) && !inner {
                grow = true;
                continue;
            }
            grow = false;
            self.event_end(inner, if short { at } else { next });
            match tok {
                Tok::DataChars => self.data(inner, v, at, next),
                Tok::Newline => self.characters(inner, b"\n", &v.bytes[at..next]),
                Tok::StartTag | Tok::EmptyTag => {
                    let empty = tok == Tok::EmptyTag;
                    self.start_tag(v, inner, at, next, empty, spans)?;
                    if empty && self.tags.is_empty() && self.parent.is_null() && !inner {
                        if self.status.parsing == SUSPENDED {
                            self.processor = Processor::Epilog;
                        } else if self.status.parsing != FINISHED {
                            *place = self.epilog(next)?;
                            return Ok(());
                        }
                    }
                }
                Tok::EndTag => {
                    self.end_tag(v, inner, at, next, level)?;
                    if self.tags.is_empty() && self.parent.is_null() && !inner {
                        if self.status.parsing == SUSPENDED {
                            self.processor = Processor::Epilog;
                        } else if self.status.parsing != FINISHED {
                            *place = self.epilog(next)?;
                            return Ok(());
                        }
                    }
                }
                Tok::EntityRef => self.reference(v, inner, at, next)?,
                Tok::CharRef => {
                    let raw = &v.bytes[at..next];
                    let c = char_number(raw).ok_or(BAD_CHAR_REF)?;
                    self.characters(inner, c.encode_utf8(&mut [0; 4]).as_bytes(), raw);
                }
                Tok::CdataOpen => {
                    match self.h.start_cdata {
                        // SAFETY: the program's function.
                        Some(handler) => unsafe { handler(self.arg) },
                        None => self.default(inner, &v.bytes[at..next]),
                    }
                    let (reached, closed) = self.cdata(inner, next)?;
                    *place = reached;
                    if !closed {
                        self.processor = Processor::Cdata;
                        return Ok(());
                    }
                    self.event(inner, reached);
                    match self.status.parsing {
                        SUSPENDED => return Ok(()),
                        FINISHED => return Err(ABORTED),
                        _ => continue,
                    }
                }
                Tok::Pi => self.report_pi(inner, &v.bytes[at..next]),
                Tok::Comment => self.report_comment(inner, &v.bytes[at..next]),
                Tok::TrailingCr | Tok::TrailingBrackets => {
                    if more(self) {
                        return Ok(());
                    }
                    let end = v.bytes.len();
                    let raw = &v.bytes[at..end];
                    let newline = tok == Tok::TrailingCr;
                    if newline {
                        self.event_end(inner, end);
                    }
                    self.characters(inner, if newline { b"\n" } else { raw }, raw);
                    let error = match level {
                        0 => NO_ELEMENTS,
                        _ if self.level() != level => ASYNC_ENTITY,
                        _ => {
                            *place = end;
                            return Ok(());
                        }
                    };
                    if !newline {
                        self.event(inner, end);
                    }
                    return Err(error);
                }
                Tok::None => {
                    if more(self) {
                        return Ok(());
                    }
                    return match level {
                        0 => Err(NO_ELEMENTS),
                        _ if self.level() != level => Err(ASYNC_ENTITY),
                        _ => Ok(()),
                    };
                }
                Tok::Invalid => {
                    self.event(inner, next);
                    return Err(INVALID_TOKEN);
                }
                Tok::Partial | Tok::PartialChar if more(self) => return Ok(()),
                Tok::Partial => return Err(UNCLOSED_TOKEN),
                Tok::PartialChar => return Err(PARTIAL_CHAR),
                Tok::XmlDecl => return Err(MISPLACED_XML_PI),
                _ => return Err(UNEXPECTED_STATE),
            }
            *place = next;
            self.event(inner, next);
            match self.status.parsing {
                SUSPENDED => return Ok(()),
                FINISHED => return Err(ABORTED),
                _ => {}
            }
        }
    }

    /// Open elements; a parser of an external entity begins with one.
    #[inline(always)]
    pub(crate) fn level(self) -> usize {
        self.tags.len() + usize::from(!self.parent.is_null())
    }

    /// A CDATA section from `at` on; whether it ended.
    pub(crate) fn cdata(self, inner: bool, mut at: usize) -> Done<(usize, bool)> {
        self.event(inner, at);
        let mut grow = false;
        loop {
            let v = self.bytes(inner, at, grow);
            let (tok, next) = v.cdata(at);
            let short = matches!(tok, Tok::None | Tok::Partial | Tok::PartialChar);
            if v.stop == Stop::Window && (short || next >= v.bytes.len()) && !inner {
                grow = true;
                continue;
            }
            grow = false;
            self.event_end(inner, next);
            let more = !inner && self.status.final_buffer == 0;
            match tok {
                Tok::CdataClose => {
                    match self.h.end_cdata {
                        // SAFETY: the program's function.
                        Some(handler) => unsafe { handler(self.arg) },
                        None => self.default(inner, &v.bytes[at..next]),
                    }
                    return match self.status.parsing {
                        FINISHED => Err(ABORTED),
                        _ => Ok((next, true)),
                    };
                }
                Tok::Newline => self.characters(inner, b"\n", &v.bytes[at..next]),
                Tok::DataChars => self.data(inner, v, at, next),
                Tok::Invalid => {
                    self.event(inner, next);
                    return Err(INVALID_TOKEN);
                }
                _ if more => return Ok((at, false)),
                Tok::PartialChar => return Err(PARTIAL_CHAR),
                _ => return Err(UNCLOSED_CDATA_SECTION),
            }
            at = next;
            self.event(inner, at);
            match self.status.parsing {
                SUSPENDED => return Ok((at, false)),
                FINISHED => return Err(ABORTED),
                _ => {}
            }
        }
    }

    fn reference(self, v: View<'_>, inner: bool, at: usize, next: usize) -> Done {
        let (raw, name) = (&v.bytes[at..next], &v.bytes[at + 1..next - 1]);
        if let Some(byte) = predefined(name) {
            self.characters(inner, &[byte], raw);
            return Ok(());
        }
        let dtd = self.dtd();
        let entity = dtd.general.get_mut(name).map(|entity| &raw mut **entity);
        let skipped = |name: *const u8| match self.h.skipped {
            // SAFETY: the program's function.
            Some(handler) => unsafe { handler(self.arg, name.cast(), 0) },
            None => self.default(inner, raw),
        };
        let Some(entity) = entity else {
            if !dtd.has_param_refs || dtd.standalone {
                return Err(UNDEFINED_ENTITY);
            }
            skipped(crate::dtd::text(name).as_ptr());
            return Ok(());
        };
        // SAFETY: entities stay where they are.
        let it = unsafe { &mut *entity };
        if (!dtd.has_param_refs || dtd.standalone) && !it.is_internal {
            return Err(ENTITY_DECLARED_IN_PE);
        }
        if it.open {
            return Err(RECURSIVE_ENTITY_REF);
        }
        if it.notation.is_some() {
            return Err(BINARY_ENTITY_REF);
        }
        if it.text.is_some() {
            if !self.expand_internal {
                skipped(it.name.as_ptr());
                return Ok(());
            }
            return self.enter(entity, false);
        }
        let Some(handler) = self.h.external else {
            self.default(inner, raw);
            return Ok(());
        };
        it.open = true;
        let context = self.context();
        it.open = false;
        let strings = [&it.base, &it.system, &it.public].map(crate::dtd::str_of);
        let arg = self.external_arg;
        // SAFETY: the program's function.
        let fine =
            unsafe { handler(arg, context.as_ptr().cast(), strings[0], strings[1], strings[2]) };
        if fine == 0 { Err(EXTERNAL_ENTITY_HANDLING) } else { Ok(()) }
    }

    /// Reads an internal entity.
    pub(crate) fn enter(mut self, entity: *mut Entity, between: bool) -> Done {
        // SAFETY: entities stay where they are.
        let it = unsafe { &mut *entity };
        let Some(text) = it.text.clone() else { return Ok(()) };
        if self.open.len() > 20_000 {
            return Err(NO_MEMORY);
        }
        self.account(text.len(), false)?;
        it.open = true;
        it.processed = 0;
        let mut index = self.spare.pop().unwrap_or_default();
        index.fill(self.isa, &text);
        let (start_level, is_param) = (self.level(), it.is_param);
        let len = text.len();
        self.open.push(Open { entity, start_level, between, event: 0, event_end: 0, index, text });
        let reached = match is_param {
            true => self.prolog(0, true, false)?,
            false => self.content(start_level, true, 0)?,
        };
        if reached < len && self.status.parsing == SUSPENDED {
            it.processed = reached;
            self.processor = Processor::InternalEntity;
        } else {
            it.open = false;
            if let Some(open) = self.open.pop() {
                self.spare.push(open.index);
            }
        }
        Ok(())
    }

    /// Goes on in an internal entity in which parsing was suspended.
    pub(crate) fn internal_entity(mut self, at: usize) -> Done<usize> {
        let Some(open) = self.open.last() else { return Err(UNEXPECTED_STATE) };
        let (entity, level, len) = (open.entity, open.start_level, open.text.len());
        // SAFETY: entities stay where they are.
        let it = unsafe { &mut *entity };
        let reached = match it.is_param {
            true => self.prolog(it.processed, true, true)?,
            false => self.content(level, true, it.processed)?,
        };
        if reached < len && self.status.parsing == SUSPENDED {
            it.processed = reached;
            return Ok(at);
        }
        it.open = false;
        if let Some(open) = self.open.pop() {
            self.spare.push(open.index);
        }
        if !self.open.is_empty() && self.status.parsing == SUSPENDED {
            return Ok(at);
        }
        if it.is_param {
            self.processor = Processor::Prolog;
            return self.prolog(at, false, true);
        }
        self.processor = match self.parent.is_null() {
            true => Processor::Content,
            false => Processor::ExternalContent,
        };
        self.content(usize::from(!self.parent.is_null()), false, at)
    }

    // Elements.

    #[inline(always)]
    fn start_tag(
        mut self,
        v: View<'_>,
        inner: bool,
        at: usize,
        next: usize,
        empty: bool,
        spans: &[crate::token::Att],
    ) -> Done {
        let bytes = v.bytes;
        let from = at + 1;
        let end = name_end(bytes, from);
        let dtd = self.dtd();
        let name = dtd.names.intern(&bytes[from..end]);
        let bindings = self.bindings.len() as u32;
        if !empty {
            self.tags.push(Tag { name, bindings });
        }
        let stored = self.store_atts(v, inner, name, spans).and_then(|()| self.expanded(name));
        if empty && stored.is_err() {
            self.unbind(bindings);
        }
        let expanded = stored?;
        let atts = self.atts.as_mut_ptr().cast();
        let mut none = true;
        if let Some(handler) = self.h.start_element {
            // SAFETY: the program's function; names and values stay until the next tag.
            unsafe { handler(self.arg, expanded, atts) };
            none = false;
        }
        if empty {
            if let Some(handler) = self.h.end_element {
                if !none {
                    self.event(inner, next);
                }
                // SAFETY: the program's function.
                unsafe { handler(self.arg, expanded) };
                none = false;
            }
        }
        if none {
            self.default(inner, &bytes[at..next]);
        }
        if empty {
            self.unbind(bindings);
        }
        Ok(())
    }

    #[inline(always)]
    fn end_tag(mut self, v: View<'_>, inner: bool, at: usize, next: usize, level: usize) -> Done {
        if self.level() == level {
            return Err(ASYNC_ENTITY);
        }
        let Some(&tag) = self.tags.last() else { return Err(ASYNC_ENTITY) };
        let from = at + 2;
        let end = name_end(v.bytes, from);
        if self.dtd().names.entries[tag.name as usize].bytes() != &v.bytes[from..end] {
            self.event(inner, from);
            return Err(TAG_MISMATCH);
        }
        self.tags.pop();
        if let Some(handler) = self.h.end_element {
            let expanded = self.expanded(tag.name)?;
            // SAFETY: the program's function.
            unsafe { handler(self.arg, expanded) };
        } else {
            self.default(inner, &v.bytes[at..next]);
        }
        self.unbind(tag.bindings);
        Ok(())
    }

    /// Ends the bindings behind the first `to`.
    #[inline(always)]
    fn unbind(mut self, to: u32) {
        while self.bindings.len() > to as usize {
            let binding = self.bindings.len() - 1;
            if let Some(handler) = self.h.end_namespace {
                let prefix = self.bindings[binding].prefix;
                // SAFETY: the program's function.
                unsafe { handler(self.arg, self.prefix_str(prefix)) };
            }
            if let Some(binding) = self.bindings.pop() {
                self.dtd().names.entries[binding.prefix as usize].binding = binding.before;
            }
        }
    }

    fn prefix_str(self, prefix: u32) -> Str {
        match prefix {
            DEFAULT => std::ptr::null(),
            prefix => self.dtd().names.entries[prefix as usize].str(),
        }
    }

    /// The name of an element as handlers get it.
    #[inline(always)]
    fn expanded(self, name: u32) -> Done<Str> {
        let names = &mut self.dtd().names;
        if !self.namespaces {
            return Ok(names.entries[name as usize].str());
        }
        let entry = &names.entries[name as usize];
        let binding = match entry.prefix {
            _ if entry.xmlns && entry.local == 0 && entry.prefix != DEFAULT => {
                return Err(UNBOUND_PREFIX);
            }
            DEFAULT => names.entries[DEFAULT as usize].binding,
            prefix => match names.entries[prefix as usize].binding {
                NONE => return Err(UNBOUND_PREFIX),
                binding => binding,
            },
        };
        if binding == NONE {
            return Ok(entry.str());
        }
        Ok(self.in_namespace(name, binding))
    }

    /// A name with the namespace of a binding before it.
    #[inline(always)]
    fn in_namespace(self, name: u32, binding: u32) -> Str {
        let binding = &self.bindings[binding as usize];
        let entry = &mut self.dtd().names.entries[name as usize];
        if entry.expanded.0 != binding.id {
            let mut text = binding.uri.to_vec();
            text.extend_from_slice(&entry.bytes()[entry.local as usize..]);
            if self.triplets && entry.prefix != DEFAULT {
                let prefix = self.dtd().names.entries[binding.prefix as usize].bytes().to_vec();
                text.push(self.separator);
                text.extend(prefix);
            }
            text.push(0);
            entry.expanded = (binding.id, text.into());
        }
        entry.expanded.1.as_ptr().cast()
    }

    /// Fills `atts`.
    #[inline(always)]
    fn store_atts(
        mut self,
        v: View<'_>,
        inner: bool,
        element: u32,
        spans: &[crate::token::Att],
    ) -> Done {
        self.atts.clear();
        self.id_index = -1;
        self.specified = 0;
        let has_defaults = !self.dtd().names.entries[element as usize].defaults.is_empty();
        if !spans.is_empty() || has_defaults {
            self.store_some(v, inner, element, spans)?;
        }
        self.atts.push(std::ptr::null_mut());
        Ok(())
    }

    fn store_some(
        mut self,
        v: View<'_>,
        inner: bool,
        element: u32,
        spans: &[crate::token::Att],
    ) -> Done {
        self.stamp = self.stamp.wrapping_add(1).max(1);
        let stamp = self.stamp;
        self.places.clear();
        self.values.clear();
        self.keep.clear();
        let mut prefixed = false;
        for span in spans {
            let text = &v.bytes[span.name.0..span.name.1];
            let names = &mut self.dtd().names;
            let name = names.intern(text);
            let entry = &mut names.entries[name as usize];
            if entry.stamp == stamp {
                if !inner {
                    self.event(false, span.name.0);
                }
                return Err(DUPLICATE_ATTRIBUTE);
            }
            entry.stamp = stamp;
            let (xmlns, prefix, tokenized) = (entry.xmlns, entry.prefix, entry.tokenized);
            let mut cdata = true;
            if tokenized {
                let defaults = &names.entries[element as usize].defaults;
                cdata = defaults.iter().find(|one| one.name == name).is_none_or(|one| one.cdata);
            }
            let from = self.values.len();
            let mut values = std::mem::take(&mut self.values);
            let done = match span.plain && cdata {
                true => {
                    values.extend_from_slice(&v.bytes[span.value.0..span.value.1]);
                    Ok(())
                }
                false => {
                    let raw = &v.bytes[span.value.0..span.value.1];
                    self.value(raw, span.value.0, !inner, cdata, &mut values, from, false)
                }
            };
            values.push(0);
            self.values = values;
            done?;
            if xmlns {
                let uri = self.values[from..self.values.len() - 1].to_vec();
                self.bind(prefix, &uri, true)?;
                continue;
            }
            prefixed |= self.namespaces && prefix != DEFAULT;
            self.places.push(name as usize);
            self.places.push(from);
        }
        self.specified = self.places.len() as c_int;
        let id = self.dtd().names.entries[element as usize].id_att;
        if id != NONE {
            let at = self.places.chunks(2).position(|pair| pair[0] == id as usize);
            self.id_index = at.map_or(-1, |at| at as c_int * 2);
        }
        // Defaults: their values lie behind the others, numbered by what is kept.
        let count = self.dtd().names.entries[element as usize].defaults.len();
        for at in 0..count {
            let names = &mut self.dtd().names;
            let one = &names.entries[element as usize].defaults[at];
            let Some(value) = &one.value else { continue };
            let (name, value) = (one.name, value.clone());
            let entry = &mut names.entries[name as usize];
            if entry.stamp == stamp {
                continue;
            }
            entry.stamp = stamp;
            if entry.xmlns {
                let prefix = entry.prefix;
                self.bind(prefix, &value[..value.len() - 1], true)?;
                continue;
            }
            prefixed |= self.namespaces && entry.prefix != DEFAULT;
            let from = self.values.len();
            self.values.extend_from_slice(&value);
            self.places.push(name as usize);
            self.places.push(from);
        }
        let values: *mut u8 = self.values.as_mut_ptr();
        for at in (0..self.places.len()).step_by(2) {
            let (name, from) = (self.places[at], self.places[at + 1]);
            let names = &self.dtd().names;
            let entry = &names.entries[name];
            let text = match entry.prefix {
                prefix if prefixed && prefix != DEFAULT => {
                    let binding = names.entries[prefix as usize].binding;
                    if binding == NONE {
                        return Err(UNBOUND_PREFIX);
                    }
                    self.in_namespace(name as u32, binding)
                }
                _ => entry.str(),
            };
            self.atts.push(text.cast_mut());
            // SAFETY: within the values.
            self.atts.push(unsafe { values.add(from) }.cast());
        }
        if prefixed {
            self.unique()?;
        }
        Ok(())
    }

    /// Attributes with two prefixes of one namespace.
    fn unique(self) -> Done {
        let mut seen = std::collections::HashSet::new();
        let names = &self.dtd().names;
        for &name in self.places.iter().step_by(2) {
            let entry = &names.entries[name];
            if entry.prefix == DEFAULT {
                continue;
            }
            let binding = names.entries[entry.prefix as usize].binding;
            let uri = &self.bindings[binding as usize].uri;
            if !seen.insert((uri, &entry.bytes()[entry.local as usize..])) {
                return Err(DUPLICATE_ATTRIBUTE);
            }
        }
        Ok(())
    }

    /// Binds a prefix. `report`: to the handler.
    pub(crate) fn bind(mut self, prefix: u32, uri: &[u8], report: bool) -> Done {
        const XML: &[u8] = b"http://www.w3.org/XML/1998/namespace";
        const XMLNS: &[u8] = b"http://www.w3.org/2000/xmlns/";
        let name = self.dtd().names.entries[prefix as usize].bytes();
        if uri.is_empty() && prefix != DEFAULT {
            return Err(UNDECLARING_PREFIX);
        }
        if name == b"xmlns" {
            return Err(RESERVED_PREFIX_XMLNS);
        }
        let separator = self.separator;
        let harmless =
            separator.is_ascii_alphanumeric() || b"%-._~:/?#[]@!$&'()*+,;=".contains(&separator);
        if separator != 0 && !harmless && uri.contains(&separator) {
            return Err(SYNTAX);
        }
        match (name == b"xml", uri == XML) {
            (true, false) => return Err(RESERVED_PREFIX_XML),
            (false, true) => return Err(RESERVED_NAMESPACE_URI),
            _ if uri == XMLNS => return Err(RESERVED_NAMESPACE_URI),
            _ => {}
        }
        let next = self.uris.len() as u32 * 2;
        // A prefix is part of the name with triplets.
        let mut key = uri.to_vec();
        if self.triplets {
            key.push(0);
            key.extend_from_slice(name);
        }
        let id = *self.uris.entry(key).or_insert(next);
        let mut text = uri.to_vec();
        if separator != 0 {
            text.push(separator);
        }
        let entry = &mut self.dtd().names.entries[prefix as usize];
        let before = entry.binding;
        let binding = self.bindings.len() as u32;
        entry.binding = if prefix == DEFAULT && uri.is_empty() { NONE } else { binding };
        self.bindings.push(Binding { prefix, before, id, uri: text.into() });
        if report && let Some(handler) = self.h.start_namespace {
            let uri = crate::dtd::text(uri);
            let empty = entry.binding == NONE;
            let str = if empty { std::ptr::null() } else { uri.as_ptr().cast() };
            // SAFETY: the program's function.
            unsafe { handler(self.arg, self.prefix_str(prefix), str) };
        }
        Ok(())
    }

    /// What a parser of an external entity has to know: bindings, and open entities.
    fn context(self) -> Vec<u8> {
        const SEPARATOR: u8 = 0x0c;
        let mut text = vec![];
        let dtd = self.dtd();
        for (number, entry) in dtd.names.entries.iter().enumerate() {
            if entry.binding == NONE {
                continue;
            }
            if !text.is_empty() {
                text.push(SEPARATOR);
            }
            if number as u32 != DEFAULT {
                text.extend_from_slice(entry.bytes());
            }
            text.push(b'=');
            let uri = &self.bindings[entry.binding as usize].uri;
            let len = uri.len() - usize::from(self.separator != 0);
            text.extend_from_slice(&uri[..len]);
        }
        for entity in dtd.general.values().filter(|entity| entity.open) {
            if !text.is_empty() {
                text.push(SEPARATOR);
            }
            text.extend_from_slice(&entity.name[..entity.name.len() - 1]);
        }
        text.push(0);
        text
    }

    /// The other end of [`P::context`].
    pub(crate) fn set_context(self, context: &[u8]) {
        for part in context.split(|byte| *byte == 0x0c) {
            match part.iter().position(|byte| *byte == b'=') {
                Some(equals) => {
                    let prefix = self.dtd().names.intern(&part[..equals]);
                    let _ = self.bind(prefix, &part[equals + 1..], false);
                }
                None => {
                    if let Some(entity) = self.dtd().general.get_mut(part) {
                        entity.open = true;
                    }
                }
            }
        }
    }
}

/// The end of the name of a tag that is whole.
#[inline(always)]
fn name_end(bytes: &[u8], from: usize) -> usize {
    let stop = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | b'/' | b'>');
    from + bytes[from..].iter().position(stop).unwrap_or(0)
}

/// The end of the piece that begins at `from`: at most [`PIECE`] bytes of whole characters.
fn piece_end(text: &[u8], from: usize) -> usize {
    let mut end = text.len().min(from + PIECE);
    while end < text.len() && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    end
}
