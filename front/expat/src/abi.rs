//! The types of `expat.h`: handlers, structures and numbers.

#![allow(missing_docs, reason = "expat.h documents them")]

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

pub type Bool = u8;
pub type Data = *mut c_void;
pub type Str = *const c_char;

/// The types of handlers; `None` is none.
macro_rules! handlers {
    ($($name:ident ($($argument:ty),*) $(-> $result:ty)?;)*) => {
        $(pub type $name = Option<unsafe extern "C" fn($($argument),*) $(-> $result)?>;)*
    };
}

handlers! {
    StartElement(Data, Str, *mut Str);
    EndElement(Data, Str);
    CharacterData(Data, Str, c_int);
    ProcessingInstruction(Data, Str, Str);
    Comment(Data, Str);
    Plain(Data);
    StartDoctype(Data, Str, Str, Str, c_int);
    EntityDecl(Data, Str, c_int, Str, c_int, Str, Str, Str, Str);
    UnparsedEntityDecl(Data, Str, Str, Str, Str, Str);
    NotationDecl(Data, Str, Str, Str, Str);
    StartNamespace(Data, Str, Str);
    EndNamespace(Data, Str);
    NotStandalone(Data) -> c_int;
    ExternalEntityRef(*mut c_void, Str, Str, Str, Str) -> c_int;
    SkippedEntity(Data, Str, c_int);
    UnknownEncoding(*mut c_void, Str, *mut Encoding) -> c_int;
    ElementDecl(Data, Str, *mut Content);
    AttlistDecl(Data, Str, Str, Str, Str, c_int);
    XmlDecl(Data, Str, Str, c_int);
    Convert(*mut c_void, Str) -> c_int;
    Release(*mut c_void);
}

/// `XML_Encoding`.
#[repr(C)]
pub struct Encoding {
    pub map: [c_int; 256],
    pub data: *mut c_void,
    pub convert: Convert,
    pub release: Release,
}

/// `XML_Content`.
#[repr(C)]
pub struct Content {
    pub kind: c_int,
    pub quant: c_int,
    pub name: *mut c_char,
    pub numchildren: c_uint,
    pub children: *mut Content,
}

pub const CTYPE_EMPTY: c_int = 1;
pub const CTYPE_ANY: c_int = 2;
pub const CTYPE_MIXED: c_int = 3;
pub const CTYPE_NAME: c_int = 4;
pub const CTYPE_CHOICE: c_int = 5;
pub const CTYPE_SEQ: c_int = 6;

/// `XML_Memory_Handling_Suite`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Suite {
    pub malloc: Option<unsafe extern "C" fn(usize) -> *mut c_void>,
    pub realloc: Option<unsafe extern "C" fn(*mut c_void, usize) -> *mut c_void>,
    pub free: Option<unsafe extern "C" fn(*mut c_void)>,
}

/// `XML_ParsingStatus`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ParsingStatus {
    pub parsing: c_int,
    pub final_buffer: Bool,
}

pub const INITIALIZED: c_int = 0;
pub const PARSING: c_int = 1;
pub const FINISHED: c_int = 2;
pub const SUSPENDED: c_int = 3;

/// `XML_Expat_Version`.
#[repr(C)]
pub struct Version {
    pub major: c_int,
    pub minor: c_int,
    pub micro: c_int,
}

/// `XML_Feature`.
#[repr(C)]
pub struct Feature {
    pub feature: c_int,
    pub name: Str,
    pub value: c_long,
}

// SAFETY: constants.
unsafe impl Sync for Feature {}

pub const STATUS_ERROR: c_int = 0;
pub const STATUS_OK: c_int = 1;
pub const STATUS_SUSPENDED: c_int = 2;

macro_rules! errors {
    ($($name:ident = $number:literal $text:literal;)*) => {
        $(pub const $name: c_int = $number;)*
        /// `XML_ErrorString`.
        pub fn error_text(code: c_int) -> Str {
            match code {
                $($number => $text.as_ptr(),)*
                _ => std::ptr::null(),
            }
        }
    };
}

errors! {
    NO_MEMORY = 1 c"out of memory";
    SYNTAX = 2 c"syntax error";
    NO_ELEMENTS = 3 c"no element found";
    INVALID_TOKEN = 4 c"not well-formed (invalid token)";
    UNCLOSED_TOKEN = 5 c"unclosed token";
    PARTIAL_CHAR = 6 c"partial character";
    TAG_MISMATCH = 7 c"mismatched tag";
    DUPLICATE_ATTRIBUTE = 8 c"duplicate attribute";
    JUNK_AFTER_DOC_ELEMENT = 9 c"junk after document element";
    PARAM_ENTITY_REF = 10 c"illegal parameter entity reference";
    UNDEFINED_ENTITY = 11 c"undefined entity";
    RECURSIVE_ENTITY_REF = 12 c"recursive entity reference";
    ASYNC_ENTITY = 13 c"asynchronous entity";
    BAD_CHAR_REF = 14 c"reference to invalid character number";
    BINARY_ENTITY_REF = 15 c"reference to binary entity";
    ATTRIBUTE_EXTERNAL_ENTITY_REF = 16 c"reference to external entity in attribute";
    MISPLACED_XML_PI = 17 c"XML or text declaration not at start of entity";
    UNKNOWN_ENCODING = 18 c"unknown encoding";
    INCORRECT_ENCODING = 19 c"encoding specified in XML declaration is incorrect";
    UNCLOSED_CDATA_SECTION = 20 c"unclosed CDATA section";
    EXTERNAL_ENTITY_HANDLING = 21 c"error in processing external entity reference";
    NOT_STANDALONE = 22 c"document is not standalone";
    UNEXPECTED_STATE = 23 c"unexpected parser state - please send a bug report";
    ENTITY_DECLARED_IN_PE = 24 c"entity declared in parameter entity";
    FEATURE_REQUIRES_XML_DTD = 25 c"requested feature requires XML_DTD support in Expat";
    CANT_CHANGE_FEATURE_ONCE_PARSING = 26 c"cannot change setting once parsing has begun";
    UNBOUND_PREFIX = 27 c"unbound prefix";
    UNDECLARING_PREFIX = 28 c"must not undeclare prefix";
    INCOMPLETE_PE = 29 c"incomplete markup in parameter entity";
    XML_DECL = 30 c"XML declaration not well-formed";
    TEXT_DECL = 31 c"text declaration not well-formed";
    PUBLICID = 32 c"illegal character(s) in public id";
    IS_SUSPENDED = 33 c"parser suspended";
    NOT_SUSPENDED = 34 c"parser not suspended";
    ABORTED = 35 c"parsing aborted";
    IS_FINISHED = 36 c"parsing finished";
    SUSPEND_PE = 37 c"cannot suspend in external parameter entity";
    RESERVED_PREFIX_XML = 38 c"reserved prefix (xml) must not be undeclared or bound to another namespace name";
    RESERVED_PREFIX_XMLNS = 39 c"reserved prefix (xmlns) must not be declared or undeclared";
    RESERVED_NAMESPACE_URI = 40 c"prefix must not be bound to one of the reserved namespace names";
    INVALID_ARGUMENT = 41 c"invalid argument";
    NO_BUFFER = 42 c"a successful prior call to function XML_GetBuffer was required";
    AMPLIFICATION_LIMIT_BREACH = 43 c"limit on input amplification factor (from DTD and entities) breached";
    NOT_STARTED = 44 c"parser not started";
}
