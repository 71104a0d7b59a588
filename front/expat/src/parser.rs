//! A parser: its handlers, its input, and how it goes through it.

use std::ffi::{c_char, c_int, c_void};
use std::ops::{Deref, DerefMut};

use lookaside_simd::Cpu;
use lookaside_xml::kernel::{self, Index, Isa};

use crate::abi::*;
use crate::content::DEPTH;
use crate::dtd::{Dtd, Entity, NONE, Text};
use crate::encoding::Input;
use crate::role::Prolog;
use crate::token::{Att, Stop, View};

/// What the program has set.
#[derive(Clone, Copy, Default)]
pub(crate) struct Handlers {
    pub(crate) start_element: StartElement,
    pub(crate) end_element: EndElement,
    pub(crate) characters: CharacterData,
    pub(crate) pi: ProcessingInstruction,
    pub(crate) comment: Comment,
    pub(crate) start_cdata: Plain,
    pub(crate) end_cdata: Plain,
    pub(crate) default: CharacterData,
    pub(crate) start_doctype: StartDoctype,
    pub(crate) end_doctype: Plain,
    pub(crate) unparsed: UnparsedEntityDecl,
    pub(crate) notation: NotationDecl,
    pub(crate) start_namespace: StartNamespace,
    pub(crate) end_namespace: EndNamespace,
    pub(crate) not_standalone: NotStandalone,
    pub(crate) external: ExternalEntityRef,
    pub(crate) skipped: SkippedEntity,
    pub(crate) unknown_encoding: UnknownEncoding,
    pub(crate) element_decl: ElementDecl,
    pub(crate) attlist_decl: AttlistDecl,
    pub(crate) entity_decl: EntityDecl,
    pub(crate) xml_decl: XmlDecl,
}

/// What reads the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processor {
    Prolog,
    Content,
    Cdata,
    IgnoreSection,
    Epilog,
    Error,
    InternalEntity,
    /// An external general entity, with its text declaration not yet read.
    ExternalStart,
    ExternalContent,
    /// An external parameter entity, or the external subset.
    ParamStart,
    /// The same within an entity's value: `buffer` has all of it at the end.
    ValueStart,
    /// The same behind its text declaration.
    Value,
}

/// An internal entity that is being read.
pub(crate) struct Open {
    pub(crate) entity: *mut Entity,
    pub(crate) start_level: usize,
    pub(crate) between: bool,
    pub(crate) event: usize,
    pub(crate) event_end: usize,
    pub(crate) index: Box<Index>,
    pub(crate) text: std::sync::Arc<[u8]>,
}

/// An open element.
#[derive(Clone, Copy)]
pub(crate) struct Tag {
    pub(crate) name: u32,
    /// The name as a word (`dtd::word`), or 0.
    pub(crate) word: u128,
    /// The length of the name, if it has a word.
    pub(crate) len: u32,
    /// Bindings before it.
    pub(crate) bindings: u32,
}

/// A prefix that is bound.
pub(crate) struct Binding {
    pub(crate) prefix: u32,
    pub(crate) before: u32,
    /// Number of the namespace, among those of this parser.
    pub(crate) id: u32,
    /// The URI, with the separator.
    pub(crate) uri: Box<[u8]>,
}

/// A parser, `XML_Parser`.
#[repr(C)]
pub struct Parser {
    /// First, as `XML_GetUserData` of `expat.h` reads it there.
    pub(crate) user_data: *mut c_void,
    pub(crate) arg: *mut c_void,
    pub(crate) h: Handlers,
    pub(crate) external_arg: *mut c_void,
    pub(crate) unknown_data: *mut c_void,
    pub(crate) suite: Suite,
    pub(crate) isa: Isa,
    pub(crate) namespaces: bool,
    pub(crate) separator: u8,
    pub(crate) triplets: bool,
    pub(crate) expand_internal: bool,
    pub(crate) param_parsing: c_int,
    pub(crate) use_foreign: bool,
    pub(crate) base: Option<Text>,
    pub(crate) encoding: Option<Text>,
    pub(crate) salt: u64,
    pub(crate) status: ParsingStatus,
    pub(crate) error: c_int,
    pub(crate) processor: Processor,
    pub(crate) prolog: Prolog,
    pub(crate) dtd: *mut Dtd,
    /// The DTD is the parent's.
    pub(crate) shares_dtd: bool,
    pub(crate) is_param: bool,
    pub(crate) parent: *mut Parser,
    pub(crate) input: Input,
    pub(crate) window: Window,
    pub(crate) event: usize,
    pub(crate) event_end: usize,
    pub(crate) started: bool,
    /// Bytes up to here are counted in line and column.
    pub(crate) counted: usize,
    pub(crate) line: u64,
    pub(crate) column: u64,
    pub(crate) deferral: bool,
    /// Unfinished bytes at the last try.
    pub(crate) tried: usize,
    // Content.
    pub(crate) tags: Vec<Tag>,
    pub(crate) bindings: Vec<Binding>,
    pub(crate) uris: std::collections::HashMap<Vec<u8>, u32>,
    pub(crate) spans: Vec<Att>,
    pub(crate) atts: Vec<*mut c_char>,
    pub(crate) places: Vec<usize>,
    pub(crate) values: Vec<u8>,
    pub(crate) keep: Vec<Text>,
    pub(crate) stamp: u32,
    pub(crate) specified: c_int,
    pub(crate) id_index: c_int,
    pub(crate) open: Vec<Open>,
    /// Entities that are open in a value.
    pub(crate) depth: usize,
    #[allow(clippy::vec_box, reason = "addresses are kept while an entity is open")]
    pub(crate) spare: Vec<Box<Index>>,
    // Declarations.
    pub(crate) doctype: (Option<Text>, Option<Text>, Option<Text>),
    pub(crate) has_system: bool,
    pub(crate) decl_entity: *mut Entity,
    pub(crate) decl_element: u32,
    pub(crate) decl_att: u32,
    pub(crate) decl_cdata: bool,
    pub(crate) decl_id: bool,
    pub(crate) decl_type: Option<Vec<u8>>,
    pub(crate) notation: (Option<Text>, Option<Text>),
    pub(crate) groups: Vec<u8>,
    // Protection.
    pub(crate) direct: u64,
    pub(crate) indirect: u64,
    /// Of bytes, with those of entities.
    pub(crate) expansion: Limit,
    /// Of memory for expanded names.
    pub(crate) memory: Limit,
}

/// How much may come from a document.
pub(crate) struct Limit {
    /// For each of its bytes; not asked before there are `from`.
    pub(crate) most: f32,
    pub(crate) from: u64,
}

impl Limit {
    pub(crate) fn is_breached(&self, bytes: u64, direct: u64) -> bool {
        bytes >= self.from && bytes as f32 / direct.max(1) as f32 > self.most
    }
}

/// A pointer to a parser: every access is a borrow of its own, for handlers call back.
#[derive(Clone, Copy)]
pub(crate) struct P(pub(crate) *mut Parser);

impl Deref for P {
    type Target = Parser;
    #[inline(always)]
    fn deref(&self) -> &Parser {
        // SAFETY: of a living parser; no borrow is kept over a handler's call.
        unsafe { &*self.0 }
    }
}

impl DerefMut for P {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Parser {
        // SAFETY: as above; one thread uses a parser.
        unsafe { &mut *self.0 }
    }
}

impl P {
    /// The DTD, which parsers of parameter entities share.
    #[inline(always)]
    pub(crate) fn dtd<'a>(self) -> &'a mut Dtd {
        // SAFETY: it lives as long as the parser; borrows are not kept over calls of handlers.
        unsafe { &mut *(*self.0).dtd }
    }

    pub(crate) fn root(self) -> P {
        let mut root = self;
        while !root.parent.is_null() {
            root = P(root.parent);
        }
        root
    }

    /// Counts bytes of entities, or of the document.
    pub(crate) fn account(self, bytes: usize, direct: bool) -> Result<(), c_int> {
        let mut root = self.root();
        if direct && self.parent.is_null() {
            root.direct += bytes as u64;
            return Ok(());
        }
        root.indirect += bytes as u64;
        let total = root.direct + root.indirect;
        if root.expansion.is_breached(total, root.direct) {
            return Err(AMPLIFICATION_LIMIT_BREACH);
        }
        Ok(())
    }

    /// Counts the bytes of an entity in a value, and its depth: the caller takes one off that again.
    pub(crate) fn deeper(mut self, bytes: usize) -> Result<(), c_int> {
        self.depth += 1;
        match self.depth > DEPTH {
            true => Err(NO_MEMORY),
            false => self.account(bytes, false),
        }
    }

    /// The bytes that can be tokenised from `at` on. `more`: a larger window than the one that begins there.
    #[inline(always)]
    pub(crate) fn view<'a>(mut self, at: usize, more: bool) -> View<'a> {
        if more || at >= self.window.end || at < self.window.from {
            self.look(at, more);
        }
        let index: *const Index = &raw const self.window.index;
        // SAFETY: buffer and index change in `look` and between calls of the parser only.
        let (bytes, index) = unsafe {
            let bytes = std::slice::from_raw_parts(self.input.buffer.as_ptr(), self.window.end);
            (bytes, &*index)
        };
        let (from, stop) = (self.window.from, self.window.stop);
        let bad = match stop {
            Stop::Bad | Stop::Char => self.input.buffer.get(self.window.end).copied().unwrap_or(0),
            _ => 0,
        };
        View {
            bytes,
            index,
            from,
            stop,
            namespaces: self.namespaces,
            converted: self.input.converts(),
            entity: false,
            bad,
        }
    }

    #[inline(never)]
    fn look(&mut self, at: usize, more: bool) {
        const WINDOW: usize = 16 << 10;
        let isa = self.isa;
        let old = self.window.end;
        let Parser { window, input, .. } = &mut **self;
        let bytes = &input.buffer[..];
        let size = if more { (old - at).max(WINDOW / 2) * 2 } else { WINDOW };
        let mut end = bytes.len().min(at + size);
        let cut = kernel::boundary(bytes, at, end);
        window.stop = match end == bytes.len() {
            true if cut < end => Stop::Char,
            true if input.bad => Stop::Bad,
            true => input.tail,
            false => Stop::Window,
        };
        end = cut;
        window.from = at;
        if !window.index.fill(isa, &bytes[at..end]) {
            let valid = kernel::valid_up_to(&bytes[at..end]);
            window.index.cut(valid);
            end = at + valid;
            window.stop = Stop::Bad;
        }
        window.end = end;
    }

    /// The bytes have changed.
    pub(crate) fn forget(mut self) {
        (self.window.from, self.window.end) = (0, 0);
    }

    /// Line and column are those of byte `to`.
    pub(crate) fn count_lines(mut self, to: usize) {
        let from = self.counted;
        if to <= from {
            return;
        }
        let bytes = &self.input.buffer[from..to.min(self.input.buffer.len())];
        let (lines, last) = kernel::lines(self.isa, bytes, false);
        let tail = &bytes[last.map_or(0, |at| at + 1)..];
        let characters = kernel::characters(self.isa, tail);
        self.line += lines;
        self.column = if last.is_some() { characters } else { self.column + characters };
        self.counted = to;
    }
}

/// Bytes that the index describes.
pub(crate) struct Window {
    pub(crate) index: Index,
    pub(crate) from: usize,
    pub(crate) end: usize,
    pub(crate) stop: Stop,
}

impl Parser {
    pub(crate) fn new(suite: Suite, namespaces: bool, separator: u8) -> Parser {
        let salt = random();
        Parser {
            user_data: std::ptr::null_mut(),
            arg: std::ptr::null_mut(),
            h: Handlers::default(),
            external_arg: std::ptr::null_mut(),
            unknown_data: std::ptr::null_mut(),
            suite,
            isa: Isa::new(Cpu::host()),
            namespaces,
            separator,
            triplets: false,
            expand_internal: true,
            param_parsing: 0,
            use_foreign: false,
            base: None,
            encoding: None,
            salt,
            status: ParsingStatus { parsing: INITIALIZED, final_buffer: 0 },
            error: 0,
            processor: Processor::Prolog,
            prolog: Prolog::new(),
            dtd: Box::into_raw(Box::new(Dtd::new(namespaces, salt))),
            shares_dtd: false,
            is_param: false,
            parent: std::ptr::null_mut(),
            input: Input::default(),
            window: Window { index: Index::with_lines(), from: 0, end: 0, stop: Stop::End },
            event: NO_EVENT,
            event_end: NO_EVENT,
            started: false,
            counted: 0,
            line: 0,
            column: 0,
            deferral: true,
            tried: 0,
            tags: vec![],
            bindings: vec![],
            uris: Default::default(),
            spans: vec![],
            atts: vec![],
            places: vec![],
            values: vec![],
            keep: vec![],
            stamp: 0,
            specified: 0,
            id_index: -1,
            open: vec![],
            depth: 0,
            spare: vec![],
            doctype: (None, None, None),
            has_system: false,
            decl_entity: std::ptr::null_mut(),
            decl_element: NONE,
            decl_att: NONE,
            decl_cdata: false,
            decl_id: false,
            decl_type: None,
            notation: (None, None),
            groups: vec![],
            direct: 0,
            indirect: 0,
            expansion: Limit { most: 100.0, from: 8 << 20 },
            memory: Limit { most: 100.0, from: 64 << 20 },
        }
    }
}

impl Drop for Parser {
    fn drop(&mut self) {
        if !self.shares_dtd {
            // SAFETY: `new` made it, and it is this parser's own.
            drop(unsafe { Box::from_raw(self.dtd) });
        }
    }
}

/// There is no event.
pub(crate) const NO_EVENT: usize = usize::MAX;

fn random() -> u64 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    RandomState::new().build_hasher().finish()
}
