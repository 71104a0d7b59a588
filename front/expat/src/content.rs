//! Content: elements, text, references.

use std::ffi::c_int;

use lookaside_xml::kernel::Index;

use crate::abi::*;
use crate::dtd::Entity;
use crate::parser::{Open, P, Processor};
use crate::role::Tok;
use crate::token::{Stop, View, char_number, predefined};

/// Bytes that handlers get at once of converted text.
const PIECE: usize = 1024;

/// How deep entities may lie in entities: each takes some of the stack.
pub(crate) const DEPTH: usize = 500;

pub(crate) type Done<T = ()> = Result<T, c_int>;

impl P {
    /// The event of the document, or of the innermost entity.
    #[inline(always)]
    pub(crate) fn event(mut self, inner: bool, at: usize) {
        match inner {
            false => self.event = at,
            true => {
                if let Some(open) = self.open.last_mut() {
                    open.event = at;
                }
            }
        }
    }

    #[inline(always)]
    pub(crate) fn event_end(mut self, inner: bool, at: usize) {
        match inner {
            false => self.event_end = at,
            true => {
                if let Some(open) = self.open.last_mut() {
                    open.event_end = at;
                }
            }
        }
    }

    /// The bytes of the document or of the innermost entity.
    #[inline(always)]
    pub(crate) fn bytes<'a>(self, inner: bool, at: usize, more: bool) -> View<'a> {
        if !inner {
            return self.view(at, more);
        }
        let open = self.open.last().expect("an entity is open");
        let (text, index): (*const [u8], *const Index) =
            (&raw const *open.text, &raw const *open.index);
        // SAFETY: text and index live as long as the entity is open.
        let (bytes, index) = unsafe { (&*text, &*index) };
        self.part(bytes, index)
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
        let done = match inner {
            true => self.content_loop::<true>(level, &mut at, &mut spans),
            false => self.content_loop::<false>(level, &mut at, &mut spans),
        };
        self.spans = spans;
        done.map(|()| at)
    }

    /// Behind an end: if that was the document's last, reads on to where this returns.
    #[inline(always)]
    fn behind_root(mut self, inner: bool, next: usize) -> Done<Option<usize>> {
        if !self.tags.is_empty() || !self.parent.is_null() || inner {
            return Ok(None);
        }
        match self.status.parsing {
            SUSPENDED => self.processor = Processor::Epilog,
            FINISHED => {}
            _ => return self.epilog(next).map(Some),
        }
        Ok(None)
    }

    fn content_loop<const INNER: bool>(
        mut self,
        level: usize,
        place: &mut usize,
        spans: &mut Vec<crate::token::Att>,
    ) -> Done {
        let inner = INNER;
        let more = |p: P| !inner && p.status.final_buffer == 0;
        let mut grow = false;
        let mut name_end = 0;
        let mut v = self.bytes(inner, *place, grow);
        loop {
            let at = *place;
            if grow || at >= v.bytes.len() {
                v = self.bytes(inner, at, grow);
            }
            // The most frequent tokens, with ways of their own through the loop.
            match v.bytes.get(at..).unwrap_or_default() {
                [b'<', b'/', ..] => {
                    if let Some((tag, next)) = self.matching_end(v, at, level) {
                        self.event_end(inner, next);
                        self.close(tag, v, inner, at, next)?;
                        if let Some(end) = self.behind_root(inner, next)? {
                            *place = end;
                            return Ok(());
                        }
                        *place = next;
                        self.event(inner, next);
                        match self.status.parsing {
                            SUSPENDED => return Ok(()),
                            FINISHED => return Err(ABORTED),
                            _ => continue,
                        }
                    }
                }
                [b'&', rest @ ..] => {
                    let (byte, len) = match rest {
                        [b'l', b't', b';', ..] => (b'<', 4),
                        [b'g', b't', b';', ..] => (b'>', 4),
                        [b'a', b'm', b'p', b';', ..] => (b'&', 5),
                        _ => (0, 0),
                    };
                    if len > 0 {
                        let next = at + len;
                        self.event_end(inner, next);
                        self.characters(inner, &[byte], &v.bytes[at..next]);
                        *place = next;
                        self.event(inner, next);
                        match self.status.parsing {
                            SUSPENDED => return Ok(()),
                            FINISHED => return Err(ABORTED),
                            _ => continue,
                        }
                    }
                }
                _ => {}
            }
            let (tok, next) = v.content(at, &mut name_end, spans);
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
                    self.start_tag(v, inner, at..next, empty, name_end, spans)?;
                    if empty && let Some(end) = self.behind_root(inner, next)? {
                        *place = end;
                        return Ok(());
                    }
                }
                Tok::EndTag => {
                    self.end_tag(v, inner, at, next, level)?;
                    if let Some(end) = self.behind_root(inner, next)? {
                        *place = end;
                        return Ok(());
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
                    v = self.bytes(inner, reached, false);
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
        if self.open.len() >= DEPTH {
            return Err(NO_MEMORY);
        }
        self.account(text.len(), false)?;
        it.open = true;
        it.processed = 0;
        let mut index = self.spare.pop().unwrap_or_else(|| Box::new(Index::with_lines()));
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
}

/// The end of the piece that begins at `from`: at most [`PIECE`] bytes of whole characters.
fn piece_end(text: &[u8], from: usize) -> usize {
    let mut end = text.len().min(from + PIECE);
    while end < text.len() && text[end] & 0xc0 == 0x80 {
        end -= 1;
    }
    end
}
