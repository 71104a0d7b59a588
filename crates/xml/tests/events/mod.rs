//! Documents as lists of events: ours, and those of libexpat and libxml2, which are loaded if they are there.
#![allow(dead_code)]

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::fmt::Write as _;
use std::io::{Read as _, Write as _};
use std::os::fd::FromRawFd;

use lookaside_simd::{Cpu, Tier};
use lookaside_xml::{Error, Kind, Limits, Output, Parser, Record, Session, Status};
use lookaside_xml::{External, Resolver, Resource};

/// Events, one a line, and the error.
pub type Outcome = (String, Result<(), Error>);

#[derive(Default)]
pub struct Lines {
    pub text: String,
    open_text: bool,
}

impl Lines {
    pub fn line(&mut self, line: &str) {
        self.end_text();
        self.text.push_str(&line.replace('\n', "\\n"));
        self.text.push('\n');
    }

    pub fn characters(&mut self, text: &str) {
        if !self.open_text {
            self.text.push_str("T ");
            self.open_text = true;
        }
        self.text.push_str(&text.replace('\n', "\\n"));
    }

    pub fn end_text(&mut self) {
        if self.open_text {
            self.text.push('\n');
            self.open_text = false;
        }
    }
}

pub fn session() -> Session {
    Session::new(Cpu::host())
}

/// A number from the environment.
pub fn number(name: &str, usual: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// One way to feed a document.
#[derive(Clone, Copy, Debug)]
pub struct Feeding<'a> {
    /// Ends of chunks.
    pub cuts: &'a [usize],
    /// Records of an output.
    pub records: usize,
}

pub const WHOLE: Feeding<'_> = Feeding { cuts: &[], records: 4096 };

/// All that a parser says; `all`: also what expat has no event for.
pub fn ours(session: &Session, document: &[u8], feeding: Feeding<'_>, all: bool) -> Outcome {
    ours_with(&mut Parser::new(session), document, feeding, all)
}

pub fn ours_with(parser: &mut Parser, document: &[u8], feeding: Feeding<'_>, all: bool) -> Outcome {
    let mut lines = Lines::default();
    let mut records = vec![Record::default(); feeding.records];
    let mut bytes = vec![];
    let mut start: Option<(String, Vec<String>, usize)> = None;
    let mut from = 0;
    let ends = feeding.cuts.iter().copied().chain([document.len()]);
    for (n, end) in ends.enumerate() {
        let last = n == feeding.cuts.len();
        let mut calls = 0;
        loop {
            let chunk = &document[from..end];
            let mut out = Output::new(&mut records, &mut bytes);
            let progress = parser.feed(chunk, last, &mut out);
            let len = out.len;
            calls += 1;
            assert!(calls < 10_000_000, "no end");
            for record in &records[..len] {
                let text = String::from_utf8_lossy(record.text(chunk, &bytes)).into_owned();
                event(parser, record, text, &mut lines, &mut start, all);
            }
            bytes.clear();
            from += progress.consumed;
            match progress.status {
                Status::Full => assert!(len > 0 || progress.consumed > 0, "no progress"),
                Status::NeedInput => {
                    assert_eq!(from, end, "all is taken");
                    assert!(!last);
                    break;
                }
                Status::Finished => {
                    assert!(last && from == end);
                    lines.end_text();
                    return (lines.text, Ok(()));
                }
                Status::Failed(error) => {
                    lines.end_text();
                    return (lines.text, Err(error));
                }
            }
        }
    }
    unreachable!("the last chunk ends it")
}

fn name(parser: &Parser, id: u32) -> String {
    let name = parser.name(id).expect("a name");
    let text = |id| String::from_utf8(parser.string(id).to_vec()).unwrap();
    if name.uri == 0 {
        text(name.qname)
    } else {
        format!("{{{}}}{}", text(name.uri), text(name.local))
    }
}

fn event(
    parser: &Parser,
    record: &Record,
    text: String,
    lines: &mut Lines,
    start: &mut Option<(String, Vec<String>, usize)>,
    all: bool,
) {
    match record.kind {
        Kind::StartElement => {
            *start = Some((name(parser, record.name), vec![], record.count.into()));
        }
        Kind::Attribute => {
            let it = start.as_mut().expect("a start-tag");
            it.1.push(format!("{}={text}", name(parser, record.name)));
            it.2 -= 1;
        }
        Kind::Namespace => start.as_mut().expect("a start-tag").2 -= 1,
        Kind::EndElement => lines.line(&format!("E {}", name(parser, record.name))),
        Kind::Text => lines.characters(&text),
        Kind::Comment => lines.line(&format!("C {text}")),
        Kind::Pi => {
            let target = String::from_utf8_lossy(parser.string(record.name)).into_owned();
            lines.line(&format!("P {target} {text}"));
        }
        kind if all => lines.line(&format!("{kind:?} {text:?}")),
        _ => {}
    }
    if start.as_ref().is_some_and(|it| it.2 == 0) {
        let (name, mut attributes, _) = start.take().unwrap();
        attributes.sort();
        let mut line = format!("S {name}");
        for one in attributes {
            let _ = write!(line, " {one:?}");
        }
        lines.line(&line);
    }
}

/// The same on every tier, with every cut, with outputs of one record: `document` is parsed in all of these ways.
pub fn every_way(session: &Session, document: &[u8]) -> Outcome {
    let whole = ours(session, document, WHOLE, true);
    let show = || String::from_utf8_lossy(document).into_owned();
    for tier in Tier::here() {
        let session = session.clone().cpu(&Cpu::with_cap(tier));
        assert_eq!(ours(&session, document, WHOLE, true), whole, "{tier}: {}", show());
    }
    let one = Feeding { cuts: &[], records: 1 };
    assert_eq!(ours(session, document, one, true), whole, "one record: {}", show());
    for cut in 0..=document.len() {
        let cut = Feeding { cuts: &[cut], records: 4096 };
        assert_eq!(ours(session, document, cut, true), whole, "{cut:?}: {}", show());
    }
    let cuts: Vec<usize> = (0..document.len()).collect();
    let bytes = Feeding { cuts: &cuts, records: 2 };
    assert_eq!(ours(session, document, bytes, true), whole, "each byte: {}", show());
    whole
}

pub fn unlimited() -> Limits {
    Limits { depth: 100_000, ..Limits::default() }
}

// The others.

pub struct Library(*mut c_void);

impl Library {
    pub fn open(name: &CStr) -> Option<Library> {
        // SAFETY: a name that ends with 0.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
        if handle.is_null() {
            eprintln!("SKIPPED: {} is not installed (libexpat1, libxml2)", name.to_string_lossy());
        }
        (!handle.is_null()).then_some(Library(handle))
    }

    pub fn symbol(&self, name: &CStr) -> *mut c_void {
        // SAFETY: an open library.
        let symbol = unsafe { libc::dlsym(self.0, name.as_ptr()) };
        assert!(!symbol.is_null(), "{name:?}");
        symbol
    }
}

macro_rules! call {
    ($library:expr, $name:literal, fn($($arg:ty),*) $(-> $ret:ty)?) => {
        // SAFETY: the function's type is that of the library's header.
        unsafe { std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) $(-> $ret)?>($library.symbol($name)) }
    };
}

/// What lies outside of a document: names and texts.
pub type Outside = Vec<(&'static str, String)>;

thread_local! {
    static OUTSIDE: RefCell<Outside> = const { RefCell::new(vec![]) };
}

/// The text with this name, of those that the calls of `outside` see.
fn text_outside(name: &str) -> Option<Vec<u8>> {
    OUTSIDE.with_borrow(|all| {
        all.iter().find(|one| one.0 == name).map(|one| one.1.clone().into_bytes())
    })
}

/// A call that sees what lies outside.
pub fn outside<T>(all: &Outside, call: impl FnOnce() -> T) -> T {
    OUTSIDE.set(all.clone());
    let result = call();
    OUTSIDE.take();
    result
}

/// A resolver of what lies outside.
pub fn resolver(all: &Outside) -> Resolver {
    let all = all.clone();
    Resolver::new(move |wanted: &External<'_>| {
        let (name, text) = all.iter().find(|one| one.0 == wanted.system)?;
        Some(Resource { bytes: text.as_bytes().into(), base: (*name).into() })
    })
}

/// What a call says, in a process of its own; none if that dies.
pub fn apart(call: impl FnOnce() -> String) -> Option<String> {
    let mut ends = [0; 2];
    // SAFETY: the child calls what the caller gives, writes and ends.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::close(ends[0]);
            libc::alarm(10);
            let mut file = std::fs::File::from_raw_fd(ends[1]);
            let written = file.write_all(call().as_bytes());
            libc::_exit(written.is_err().into());
        }
        libc::close(ends[1]);
        let (mut said, mut status) = (String::new(), 0);
        let read = std::fs::File::from_raw_fd(ends[0]).read_to_string(&mut said);
        libc::waitpid(child, &mut status, 0);
        (status == 0 && read.is_ok()).then_some(said)
    }
}

pub struct Expat(Library);

impl Expat {
    pub fn open() -> Option<Expat> {
        Library::open(c"libexpat.so.1").map(Expat)
    }

    /// Events, and the number of the error with its byte.
    pub fn parse(&self, document: &[u8], namespaces: bool) -> (String, Result<(), (i32, i64)>) {
        type P = *mut c_void;
        let library = &self.0;
        let create =
            call!(library, c"XML_ParserCreate_MM", fn(*const c_char, P, *const c_char) -> P);
        let user = call!(library, c"XML_SetUserData", fn(P, P));
        let elements = call!(library, c"XML_SetElementHandler", fn(P, P, P));
        let text = call!(library, c"XML_SetCharacterDataHandler", fn(P, P));
        let comment = call!(library, c"XML_SetCommentHandler", fn(P, P));
        let pi = call!(library, c"XML_SetProcessingInstructionHandler", fn(P, P));
        let entities = call!(library, c"XML_SetParamEntityParsing", fn(P, c_int) -> c_int);
        let external = call!(library, c"XML_SetExternalEntityRefHandler", fn(P, P));
        let parse = call!(library, c"XML_Parse", fn(P, *const c_char, c_int, c_int) -> c_int);
        let code = call!(library, c"XML_GetErrorCode", fn(P) -> c_int);
        let byte = call!(library, c"XML_GetCurrentByteIndex", fn(P) -> i64);
        let free = call!(library, c"XML_ParserFree", fn(P));
        let mut lines = Lines::default();
        let separator = c"\x01";
        // SAFETY: as the library's documentation says; `lines` outlives the parser.
        unsafe {
            let separator = if namespaces { separator.as_ptr() } else { std::ptr::null() };
            let parser = create(std::ptr::null(), std::ptr::null_mut(), separator);
            user(parser, (&raw mut lines).cast());
            elements(parser, on_start as *mut c_void, on_end as *mut c_void);
            text(parser, on_text as *mut c_void);
            comment(parser, on_comment as *mut c_void);
            pi(parser, on_pi as *mut c_void);
            entities(parser, 2);
            if !OUTSIDE.with_borrow(Vec::is_empty) {
                external(parser, on_external as *mut c_void);
            }
            let fine = parse(parser, document.as_ptr().cast(), document.len() as c_int, 1) == 1;
            let result = if fine { Ok(()) } else { Err((code(parser), byte(parser))) };
            free(parser);
            lines.end_text();
            (lines.text, result)
        }
    }
}

unsafe fn cstr(text: *const c_char) -> String {
    // SAFETY: says the caller.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

fn expat_name(name: &str) -> String {
    match name.split_once('\x01') {
        Some((uri, local)) => format!("{{{uri}}}{local}"),
        None => name.into(),
    }
}

unsafe extern "C" fn on_start(
    lines: *mut Lines,
    name: *const c_char,
    attributes: *const *const c_char,
) {
    // SAFETY: expat's arguments.
    unsafe {
        let mut line = format!("S {}", expat_name(&cstr(name)));
        let (mut all, mut at) = (vec![], attributes);
        while !(*at).is_null() {
            all.push(format!("{}={}", expat_name(&cstr(*at)), cstr(*at.add(1))));
            at = at.add(2);
        }
        all.sort();
        for one in all {
            let _ = write!(line, " {one:?}");
        }
        (*lines).line(&line);
    }
}

unsafe extern "C" fn on_end(lines: *mut Lines, name: *const c_char) {
    // SAFETY: expat's arguments.
    unsafe { (*lines).line(&format!("E {}", expat_name(&cstr(name)))) }
}

unsafe extern "C" fn on_text(lines: *mut Lines, text: *const u8, len: c_int) {
    // SAFETY: expat's arguments.
    unsafe {
        (*lines)
            .characters(&String::from_utf8_lossy(std::slice::from_raw_parts(text, len as usize)));
    }
}

unsafe extern "C" fn on_comment(lines: *mut Lines, text: *const c_char) {
    // SAFETY: expat's arguments.
    unsafe { (*lines).line(&format!("C {}", cstr(text))) }
}

unsafe extern "C" fn on_pi(lines: *mut Lines, target: *const c_char, data: *const c_char) {
    // SAFETY: expat's arguments.
    unsafe { (*lines).line(&format!("P {} {}", cstr(target), cstr(data))) }
}

unsafe extern "C" fn on_external(
    parser: *mut c_void,
    context: *const c_char,
    _base: *const c_char,
    system: *const c_char,
    _public: *const c_char,
) -> c_int {
    type P = *mut c_void;
    let library = Library::open(c"libexpat.so.1").expect("the library that calls");
    let create = call!(library, c"XML_ExternalEntityParserCreate", fn(P, *const c_char, P) -> P);
    let parse = call!(library, c"XML_Parse", fn(P, *const u8, c_int, c_int) -> c_int);
    let free = call!(library, c"XML_ParserFree", fn(P));
    // SAFETY: expat's arguments, and functions as its documentation says.
    unsafe {
        let name = if system.is_null() { String::new() } else { cstr(system) };
        let Some(text) = text_outside(&name) else { return 1 };
        let inner = create(parser, context, std::ptr::null_mut());
        let fine = parse(inner, text.as_ptr(), text.len() as c_int, 1);
        free(inner);
        fine
    }
}

pub struct Libxml2(Library);

impl Libxml2 {
    pub fn open() -> Option<Libxml2> {
        Library::open(c"libxml2.so.2").map(Libxml2)
    }

    /// Whether the document is well-formed; namespaces do not count.
    pub fn accepts(&self, document: &[u8]) -> bool {
        type P = *mut c_void;
        let library = &self.0;
        let read = call!(library, c"xmlReadMemory", fn(*const u8, c_int, P, P, c_int) -> P);
        let free = call!(library, c"xmlFreeDoc", fn(P));
        // No network, no messages, entities expanded.
        let options = 2 | 32 | 64 | 2048;
        // SAFETY: as the library's documentation says.
        unsafe {
            let (len, none) = (document.len() as c_int, std::ptr::null_mut());
            let tree = read(document.as_ptr(), len, none, none, options);
            if !tree.is_null() {
                free(tree);
            }
            !tree.is_null()
        }
    }
}
