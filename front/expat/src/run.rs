//! Parsing: bytes in, handlers called.

use std::ffi::{c_char, c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::abi::*;
use crate::content::Done;
use crate::parser::{NO_EVENT, P, Parser, Processor};
use crate::role::Tok;
use crate::stats::{Kind, count};
use crate::token::Stop;

impl P {
    /// Reads what has arrived; returns how far it came.
    fn process(mut self) -> Done<usize> {
        let at = self.input.at;
        if !self.started {
            self.started = true;
            self.protocol_encoding()?;
        }
        match self.processor {
            Processor::Prolog => self.prolog(at, false, true),
            Processor::Content => self.content(0, false, at),
            Processor::ExternalContent => self.content(1, false, at),
            Processor::Epilog => self.epilog(at),
            Processor::Error => Err(self.error),
            Processor::InternalEntity => self.internal_entity(at),
            Processor::Cdata => {
                let (at, closed) = self.cdata(false, at)?;
                if !closed {
                    return Ok(at);
                }
                let level = usize::from(!self.parent.is_null());
                self.processor = match level {
                    0 => Processor::Content,
                    _ => Processor::ExternalContent,
                };
                self.content(level, false, at)
            }
            Processor::IgnoreSection => match self.ignored(at)? {
                Some(at) => {
                    self.processor = Processor::Prolog;
                    self.prolog(at, false, true)
                }
                None => Ok(at),
            },
            Processor::ExternalStart => self.external_start(at),
            Processor::ParamStart => self.param_start(at),
            Processor::ValueStart => self.entity_text(at, true),
            Processor::Value => self.entity_text(at, false),
        }
    }

    /// The text declaration of an external general entity.
    fn external_start(mut self, mut at: usize) -> Done<usize> {
        self.event = at;
        let mut grow = false;
        loop {
            let v = self.view(at, grow);
            let mut spans = vec![];
            let (tok, next) = v.content(at, &mut Default::default(), &mut spans);
            if v.stop == Stop::Window && matches!(tok, Tok::Partial | Tok::PartialChar) {
                grow = true;
                continue;
            }
            self.event_end = next;
            let more = self.status.final_buffer == 0;
            match tok {
                Tok::XmlDecl => {
                    self.xml_decl(true, &v.bytes[at..next], at, next)?;
                    at = next;
                    match self.status.parsing {
                        SUSPENDED => return Ok(at),
                        FINISHED => return Err(ABORTED),
                        _ => {}
                    }
                }
                Tok::None if more && at == 0 && v.bytes.is_empty() => return Ok(at),
                Tok::Partial | Tok::PartialChar if more => return Ok(at),
                Tok::Partial => return Err(UNCLOSED_TOKEN),
                Tok::PartialChar => return Err(PARTIAL_CHAR),
                _ => {}
            }
            self.processor = Processor::ExternalContent;
            return self.content(1, false, at);
        }
    }

    fn param_start(mut self, at: usize) -> Done<usize> {
        self.dtd().param_read = true;
        if self.prolog.in_value {
            self.processor = Processor::ValueStart;
            return self.entity_text(at, true);
        }
        let v = self.view(at, false);
        let (tok, _, open) = v.prolog(at);
        let short = open || matches!(tok, Tok::None | Tok::Partial | Tok::PartialChar);
        if short && self.status.final_buffer == 0 && v.stop != Stop::Window {
            return Ok(at);
        }
        match tok {
            Tok::Invalid => return Err(INVALID_TOKEN),
            Tok::Partial if v.stop != Stop::Window => return Err(UNCLOSED_TOKEN),
            Tok::PartialChar if v.stop != Stop::Window => return Err(PARTIAL_CHAR),
            _ => {}
        }
        self.processor = Processor::Prolog;
        self.prolog(at, false, true)
    }

    /// An external entity within a value: taken as a whole. `start`: a text declaration may come.
    fn entity_text(mut self, at: usize, start: bool) -> Done<usize> {
        let mut place = at;
        let mut grow = false;
        loop {
            if start {
                self.event = place;
            }
            let v = self.view(place, grow);
            let (tok, next, open) = v.prolog(place);
            let short = open || matches!(tok, Tok::None | Tok::Partial | Tok::PartialChar);
            if v.stop == Stop::Window && (short || next >= v.bytes.len()) {
                grow = true;
                continue;
            }
            grow = false;
            if start {
                self.event_end = next;
            }
            if short || tok == Tok::Invalid {
                match tok {
                    _ if self.status.final_buffer == 0 && tok != Tok::Invalid => return Ok(at),
                    Tok::Invalid => return Err(INVALID_TOKEN),
                    Tok::Partial => return Err(UNCLOSED_TOKEN),
                    Tok::PartialChar => return Err(PARTIAL_CHAR),
                    _ => {}
                }
                let end = self.input.buffer.len();
                let raw = self.input.buffer[at..end].to_vec();
                let mut out = self.dtd().pending_value.pop().unwrap_or_default();
                let done = self.entity_value(&raw, at, true, &mut out);
                self.dtd().pending_value.push(out);
                done?;
                return Ok(end);
            }
            match tok {
                Tok::XmlDecl if start => {
                    self.xml_decl(false, &v.bytes[place..next], place, next)?;
                    if self.status.parsing == FINISHED {
                        return Err(ABORTED);
                    }
                    self.processor = Processor::Value;
                    return self.entity_text(next, false);
                }
                // Behind a text declaration expat 2.5.0 reads the same place for ever.
                Tok::InstanceStart => return Err(SYNTAX),
                _ => place = next,
            }
        }
    }

    /// Parses, and says how it went.
    fn step(mut self) -> c_int {
        let last = self.status.final_buffer != 0;
        let unfinished = self.input.buffer.len() - self.input.at;
        if self.deferral && !last && self.tried > 0 && unfinished < 2 * self.tried {
            return STATUS_OK;
        }
        let before = self.input.at;
        let done = catch_unwind(AssertUnwindSafe(|| self.process()));
        let done = done.unwrap_or(Err(UNEXPECTED_STATE));
        match done {
            Err(error) => {
                self.error = error;
                self.event_end = self.event;
                self.processor = Processor::Error;
                return STATUS_ERROR;
            }
            Ok(at) => {
                self.error = 0;
                self.input.at = at;
                let left = self.input.buffer.len() - at;
                self.tried = if at == before && left > 64 { left } else { 0 };
            }
        }
        let mut result = STATUS_OK;
        match self.status.parsing {
            SUSPENDED => result = STATUS_SUSPENDED,
            INITIALIZED | PARSING if last => {
                self.status.parsing = FINISHED;
                return result;
            }
            _ => {}
        }
        let at = self.input.at;
        self.count_lines(at);
        result
    }

    /// Whether bytes may come; begins the document.
    fn begin(mut self) -> bool {
        match self.status.parsing {
            SUSPENDED => self.error = IS_SUSPENDED,
            FINISHED => self.error = IS_FINISHED,
            state => {
                if state == INITIALIZED && self.parent.is_null() {
                    count(Kind::Documents, [1, 0, 0]);
                    if self.namespaces {
                        self.set_context(b"xml=http://www.w3.org/XML/1998/namespace");
                    }
                }
                self.status.parsing = PARSING;
                return true;
            }
        }
        false
    }

    fn take(mut self, bytes: &[u8], last: bool) -> c_int {
        self.status.final_buffer = last.into();
        count(Kind::Parsed, [1, bytes.len() as u64, 0]);
        if !bytes.is_empty() || last {
            if self.account(bytes.len(), true).is_err() {
                self.error = AMPLIFICATION_LIMIT_BREACH;
                self.processor = Processor::Error;
                return STATUS_ERROR;
            }
            self.arrive(bytes, last);
        }
        let result = self.step();
        self.give_back();
        result
    }
}

/// Parses bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_Parse(
    parser: *mut Parser,
    s: *const c_char,
    len: c_int,
    is_final: c_int,
) -> c_int {
    if parser.is_null() || len < 0 || (s.is_null() && len != 0) {
        if !parser.is_null() {
            P(parser).error = INVALID_ARGUMENT;
        }
        return STATUS_ERROR;
    }
    let mut p = P(parser);
    if !p.begin() {
        return STATUS_ERROR;
    }
    if len == 0 && is_final == 0 {
        p.status.final_buffer = 0;
        return STATUS_OK;
    }
    p.input.offered = true;
    let bytes = match len {
        0 => &[],
        // SAFETY: the caller's bytes.
        len => unsafe { std::slice::from_raw_parts(s.cast::<u8>(), len as usize) },
    };
    p.take(bytes, is_final != 0)
}

/// Memory for the next bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetBuffer(parser: *mut Parser, len: c_int) -> *mut c_void {
    if parser.is_null() {
        return std::ptr::null_mut();
    }
    let mut p = P(parser);
    if len < 0 {
        p.error = NO_MEMORY;
        return std::ptr::null_mut();
    }
    match p.status.parsing {
        SUSPENDED => p.error = IS_SUSPENDED,
        FINISHED => p.error = IS_FINISHED,
        _ => {
            let len = len as usize;
            // As expat's one buffer, which has unfinished bytes and the context before them.
            let left = p.input.buffer.len() - p.input.at + p.input.at.min(1024);
            if len + left > 1 << 30 {
                p.error = NO_MEMORY;
                return std::ptr::null_mut();
            }
            let incoming = &mut p.input.incoming;
            if incoming.len() < len.max(1) {
                if incoming.try_reserve(len.max(1) - incoming.len()).is_err() {
                    p.error = NO_MEMORY;
                    return std::ptr::null_mut();
                }
                incoming.resize(len.max(1), 0);
            }
            let buffer = incoming.as_mut_ptr().cast();
            p.input.offered = true;
            return buffer;
        }
    }
    std::ptr::null_mut()
}

/// Parses what the program wrote to the memory that [`XML_GetBuffer`] gave.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ParseBuffer(
    parser: *mut Parser,
    len: c_int,
    is_final: c_int,
) -> c_int {
    if parser.is_null() {
        return STATUS_ERROR;
    }
    let mut p = P(parser);
    if p.status.parsing == INITIALIZED && !p.input.offered {
        p.error = NO_BUFFER;
        return STATUS_ERROR;
    }
    if len < 0 {
        p.error = INVALID_ARGUMENT;
        return STATUS_ERROR;
    }
    if !p.begin() {
        return STATUS_ERROR;
    }
    let incoming = std::mem::take(&mut p.input.incoming);
    let result = p.take(&incoming[..incoming.len().min(len as usize)], is_final != 0);
    p.input.incoming = incoming;
    result
}

/// Stops behind the current token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_StopParser(parser: *mut Parser, resumable: Bool) -> c_int {
    if parser.is_null() {
        return STATUS_ERROR;
    }
    let mut p = P(parser);
    match (p.status.parsing, resumable != 0) {
        (SUSPENDED, true) => p.error = IS_SUSPENDED,
        (FINISHED, _) => p.error = IS_FINISHED,
        (SUSPENDED, false) => {
            p.status.parsing = FINISHED;
            return STATUS_OK;
        }
        (_, true) if p.is_param => p.error = SUSPEND_PE,
        (_, true) => {
            p.status.parsing = SUSPENDED;
            return STATUS_OK;
        }
        (_, false) => {
            p.status.parsing = FINISHED;
            return STATUS_OK;
        }
    }
    STATUS_ERROR
}

/// Goes on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ResumeParser(parser: *mut Parser) -> c_int {
    if parser.is_null() {
        return STATUS_ERROR;
    }
    let mut p = P(parser);
    if p.status.parsing != SUSPENDED {
        p.error = NOT_SUSPENDED;
        return STATUS_ERROR;
    }
    p.status.parsing = PARSING;
    p.tried = 0;
    p.step()
}

/// Where the current event is: bytes before it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetCurrentByteIndex(parser: *mut Parser) -> std::ffi::c_long {
    if parser.is_null() || P(parser).event == NO_EVENT {
        return -1;
    }
    let p = P(parser);
    p.input.raw(p.event) as std::ffi::c_long
}

/// The bytes of the current event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetCurrentByteCount(parser: *mut Parser) -> c_int {
    if parser.is_null() {
        return 0;
    }
    let p = P(parser);
    match (p.event, p.event_end) {
        (NO_EVENT, _) | (_, NO_EVENT) => 0,
        (event, end) => p.input.raw(end).wrapping_sub(p.input.raw(event)) as c_int,
    }
}

fn place(parser: *mut Parser) -> Option<P> {
    if parser.is_null() {
        return None;
    }
    let p = P(parser);
    if p.event != NO_EVENT {
        p.count_lines(p.event);
    }
    Some(p)
}

/// The line of the current event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetCurrentLineNumber(parser: *mut Parser) -> std::ffi::c_ulong {
    place(parser).map_or(0, |p| p.line + 1)
}

/// The column of the current event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetCurrentColumnNumber(parser: *mut Parser) -> std::ffi::c_ulong {
    place(parser).map_or(0, |p| p.column)
}

/// The bytes around the current event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetInputContext(
    parser: *mut Parser,
    offset: *mut c_int,
    size: *mut c_int,
) -> *const c_char {
    if parser.is_null() || P(parser).event == NO_EVENT || P(parser).input.buffer.is_empty() {
        return std::ptr::null();
    }
    let p = P(parser);
    // SAFETY: null or the caller's.
    unsafe {
        if let Some(offset) = offset.as_mut() {
            *offset = p.event as c_int;
        }
        if let Some(size) = size.as_mut() {
            *size = p.input.buffer.len() as c_int;
        }
    }
    p.input.buffer.as_ptr().cast()
}

/// Passes the current event to the default handler.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_DefaultCurrent(parser: *mut Parser) {
    if parser.is_null() {
        return;
    }
    let p = P(parser);
    match p.open.last() {
        Some(open) => {
            let (text, from, end) = (open.text.clone(), open.event, open.event_end);
            p.default(true, &text[from.min(end)..end]);
        }
        None if p.event != NO_EVENT && p.event_end != NO_EVENT => {
            // Not a view: the parser has one of the window that this would replace.
            let (bytes, end) = (&p.input.buffer[..], p.event_end);
            p.default(false, &bytes[p.event.min(end)..end]);
        }
        None => {}
    }
}
