//! `libexpat.so.1`: any document in any pieces by any calls must not crash; a document that is read to its end whole is
//! read in pieces with the same calls of handlers.
#![cfg_attr(fuzzing, no_main)]

use std::ffi::{c_char, c_int, c_void};

use lookaside_expat::{abi::*, api, parser::Parser, run};
use lookaside_fuzz::fuzz_target;

type P = *mut Parser;

/// How a document is read.
#[derive(Clone, Copy)]
struct Plan {
    options: u8,
    piece: usize,
    /// Suspend behind so many calls; 0: never.
    suspend: usize,
    /// Places are compared: behind a suspension within an entity they are others, as expat's are.
    places: bool,
    buffer: bool,
}

/// What handlers know.
struct State<'a> {
    plan: Plan,
    external: &'a [u8],
    parsers: Vec<P>,
    calls: usize,
    entities: usize,
    /// The last call was one for text.
    text: bool,
    log: Vec<u8>,
}

/// Bytes that handlers may get of one document: entities make many of few.
const LIMIT: usize = 1 << 18;

fuzz_target!(|input: &[u8]| {
    let [options, piece, calls, rest @ ..] = input else { return };
    let mut parts = rest.splitn(2, |byte| *byte == 0xff);
    let (document, external) = (parts.next().unwrap_or(&[]), parts.next().unwrap_or(&[]));
    let whole = Plan {
        options: *options,
        piece: rest.len().max(1),
        suspend: 0,
        places: calls & 7 == 0,
        buffer: false,
    };
    let pieces = Plan {
        // The first piece says which encoding it is.
        piece: usize::from(*piece).max(4),
        suspend: usize::from(calls & 7),
        buffer: calls & 8 != 0,
        ..whole
    };
    let (expected, found) = (trace(whole, document, external), trace(pieces, document, external));
    if let (Some(expected), Some(found)) = (expected, found) {
        assert!(expected == found, "{}\n---\n{}", text_of(&expected), text_of(&found));
    }
    // Pieces of any length, and the parser is used again.
    trace(Plan { piece: 1 + usize::from(calls >> 4), ..pieces }, document, external);
});

fn text_of(log: &[u8]) -> String {
    String::from_utf8_lossy(log).into_owned()
}

/// The calls of handlers; none if the document has an error or too many of them.
fn trace(plan: Plan, document: &[u8], external: &[u8]) -> Option<Vec<u8>> {
    let mut state =
        State { plan, external, parsers: vec![], calls: 0, entities: 0, text: false, log: vec![] };
    let data = (&raw mut state).cast::<c_void>();
    // SAFETY: as `expat.h` asks; the state outlives the parser.
    unsafe {
        let p = match plan.options & 1 {
            0 => api::XML_ParserCreate(std::ptr::null()),
            _ => api::XML_ParserCreateNS(std::ptr::null(), b'|' as c_char),
        };
        if plan.options & 2 != 0 && plan.buffer {
            run::XML_Parse(p, document.as_ptr().cast(), document.len().min(64) as c_int, 0);
            assert_eq!(api::XML_ParserReset(p, std::ptr::null()), 1);
        }
        api::XML_SetUserData(p, data);
        api::XML_SetElementHandler(p, Some(start), Some(end));
        api::XML_SetParamEntityParsing(p, c_int::from(plan.options >> 2 & 3).min(2));
        if plan.options & 16 != 0 {
            api::XML_SetCharacterDataHandler(p, Some(text));
        }
        match plan.options >> 5 & 3 {
            1 => api::XML_SetDefaultHandler(p, Some(text)),
            2 => api::XML_SetDefaultHandlerExpand(p, Some(text)),
            _ => {}
        }
        if plan.options & 128 != 0 {
            api::XML_SetExternalEntityRefHandler(p, Some(entity));
            api::XML_SetCommentHandler(p, Some(comment));
        }
        state.parsers.push(p);
        let fine = read(&mut state, p, document);
        api::XML_ParserFree(p);
        (fine && state.log.len() < LIMIT).then_some(state.log)
    }
}

/// Reads a document or an entity; whether it came to its end.
fn read(state: *mut State<'_>, p: P, bytes: &[u8]) -> bool {
    // SAFETY: the state, of which no borrow is kept over a call; a living parser.
    unsafe {
        let plan = (*state).plan;
        let mut at = 0;
        loop {
            let end = bytes.len().min(at + plan.piece);
            let (part, last) = (&bytes[at..end], c_int::from(end == bytes.len()));
            let len = part.len() as c_int;
            let mut done = match plan.buffer {
                false => run::XML_Parse(p, part.as_ptr().cast(), len, last),
                true => {
                    let buffer = run::XML_GetBuffer(p, len);
                    if buffer.is_null() {
                        return false;
                    }
                    buffer.cast::<u8>().copy_from_nonoverlapping(part.as_ptr(), part.len());
                    run::XML_ParseBuffer(p, len, last)
                }
            };
            while done == STATUS_SUSPENDED {
                done = run::XML_ResumeParser(p);
            }
            if done == STATUS_ERROR {
                places(p);
                return false;
            }
            at = end;
            if last != 0 {
                return true;
            }
        }
    }
}

fn places(p: P) -> [u64; 3] {
    // SAFETY: a living parser.
    unsafe {
        let (mut offset, mut size) = (0, 0);
        let context = run::XML_GetInputContext(p, &raw mut offset, &raw mut size);
        assert!(context.is_null() || offset <= size);
        std::hint::black_box(run::XML_GetCurrentByteCount(p));
        [
            run::XML_GetCurrentByteIndex(p) as u64,
            run::XML_GetCurrentLineNumber(p),
            run::XML_GetCurrentColumnNumber(p),
        ]
    }
}

/// A call of a handler: `kind`, what it got, and where, if that does not depend on pieces.
fn call(data: Data, kind: u8, bytes: &[u8]) {
    // SAFETY: the state that `trace` set.
    let state = unsafe { &mut *data.cast::<State<'_>>() };
    let Some(&p) = state.parsers.last() else { return };
    let places = places(p);
    let text = kind == b't';
    if !(text && state.text) {
        state.log.extend_from_slice(&[b'\n', kind, b' ']);
        if !text && state.plan.places {
            state.log.extend(format!("{places:?} ").bytes());
        }
    }
    state.text = text;
    state.log.extend_from_slice(bytes);
    state.calls += 1;
    // SAFETY: the parser that is calling.
    unsafe {
        if state.log.len() >= LIMIT {
            run::XML_StopParser(p, 0);
        } else if state.plan.suspend > 0 && state.calls.is_multiple_of(state.plan.suspend) {
            run::XML_StopParser(p, 1);
        }
    }
}

fn bytes_of<'a>(s: Str) -> &'a [u8] {
    match s.is_null() {
        true => b"-",
        // SAFETY: a string that ends with zero.
        false => unsafe { std::ffi::CStr::from_ptr(s) }.to_bytes(),
    }
}

unsafe extern "C" fn start(data: Data, name: Str, mut atts: *mut Str) {
    let mut all = bytes_of(name).to_vec();
    // SAFETY: a list that ends with null.
    while let part = unsafe { *atts }
        && !part.is_null()
    {
        all.push(b' ');
        all.extend_from_slice(bytes_of(part));
        // SAFETY: as above.
        atts = unsafe { atts.add(1) };
    }
    call(data, b's', &all);
}

unsafe extern "C" fn end(data: Data, name: Str) {
    call(data, b'e', bytes_of(name));
}

unsafe extern "C" fn comment(data: Data, s: Str) {
    call(data, b'c', bytes_of(s));
}

unsafe extern "C" fn text(data: Data, s: Str, len: c_int) {
    // SAFETY: so many bytes.
    call(data, b't', unsafe { std::slice::from_raw_parts(s.cast(), len as usize) });
}

unsafe extern "C" fn entity(parser: *mut c_void, context: Str, _: Str, id: Str, _: Str) -> c_int {
    // SAFETY: the first field of a parser is its user's data (`XML_GetUserData`).
    let data: Data = unsafe { *parser.cast() };
    call(data, b'x', bytes_of(id));
    let state = data.cast::<State<'_>>();
    // SAFETY: the state, of which no borrow is kept over a call; the parser that is calling, and its child.
    unsafe {
        (*state).entities += 1;
        if (*state).parsers.len() > 3 || (*state).entities > 16 {
            return 1;
        }
        let child = api::XML_ExternalEntityParserCreate(parser.cast(), context, std::ptr::null());
        (*state).parsers.push(child);
        let bytes = (*state).external;
        let fine = read(state, child, bytes);
        (*state).parsers.pop();
        api::XML_ParserFree(child);
        c_int::from(fine)
    }
}
