//! Making parsers, and what is set and asked.

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};

use crate::abi::*;
use crate::dtd::str_of;
use crate::encoding::copy;
use crate::parser::{P, Parser, Processor};
use crate::role::Prolog;
use crate::stats::{Kind, count};

const PLAIN: Suite =
    Suite { malloc: Some(libc::malloc), realloc: Some(libc::realloc), free: Some(libc::free) };

/// A parser in memory of its allocator. Null if there is none.
unsafe fn create(suite: Suite, encoding: Str, separator: Option<u8>) -> *mut Parser {
    let Some(malloc) = suite.malloc else { return std::ptr::null_mut() };
    // SAFETY: the program's allocator.
    let memory: *mut Parser = unsafe { malloc(size_of::<Parser>()) }.cast();
    if memory.is_null() {
        return memory;
    }
    let mut parser = Parser::new(suite, separator.is_some(), separator.unwrap_or(0));
    // SAFETY: a string of the caller.
    parser.encoding = unsafe { copy(encoding) };
    parser.external_arg = memory.cast();
    // SAFETY: fresh memory of this size; allocators align to 16 bytes.
    unsafe { memory.write(parser) };
    memory
}

/// A parser without namespaces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ParserCreate(encoding: Str) -> *mut Parser {
    // SAFETY: as the caller promises.
    unsafe { create(PLAIN, encoding, None) }
}

/// A parser with namespaces.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ParserCreateNS(encoding: Str, separator: c_char) -> *mut Parser {
    // SAFETY: as the caller promises.
    unsafe { create(PLAIN, encoding, Some(separator as u8)) }
}

/// A parser with an allocator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ParserCreate_MM(
    encoding: Str,
    suite: *const Suite,
    separator: *const c_char,
) -> *mut Parser {
    // SAFETY: null, or the caller's.
    unsafe {
        let suite = suite.as_ref().copied().unwrap_or(PLAIN);
        if suite.malloc.is_none() || suite.realloc.is_none() || suite.free.is_none() {
            return std::ptr::null_mut();
        }
        create(suite, encoding, separator.as_ref().map(|it| *it as u8))
    }
}

/// Frees a parser.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ParserFree(parser: *mut Parser) {
    if parser.is_null() {
        return;
    }
    // SAFETY: a parser that `create` made, and nobody uses again.
    unsafe {
        let free = (*parser).suite.free;
        parser.drop_in_place();
        if let Some(free) = free {
            free(parser.cast());
        }
    }
}

/// Makes a parser ready for another document.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ParserReset(parser: *mut Parser, encoding: Str) -> Bool {
    if parser.is_null() || !P(parser).parent.is_null() {
        return 0;
    }
    let old = P(parser);
    let separator = if old.namespaces { old.separator } else { 0 };
    let mut new = Parser::new(old.suite, old.namespaces, separator);
    // SAFETY: a string of the caller.
    new.encoding = unsafe { copy(encoding) };
    new.deferral = old.deferral;
    new.external_arg = parser.cast();
    // SAFETY: the caller's parser.
    unsafe { *parser = new };
    1
}

/// A parser for an external entity.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ExternalEntityParserCreate(
    parser: *mut Parser,
    context: Str,
    encoding: Str,
) -> *mut Parser {
    if parser.is_null() {
        return parser;
    }
    let old = P(parser);
    let separator = old.namespaces.then_some(old.separator);
    // SAFETY: the same allocator.
    let child = unsafe { create(old.suite, encoding, separator) };
    if child.is_null() {
        return child;
    }
    count(Kind::Entities, [1, 0, 0]);
    let mut p = P(child);
    p.h = old.h;
    p.user_data = old.user_data;
    p.arg = if old.user_data == old.arg { old.user_data } else { child.cast() };
    p.external_arg =
        if old.external_arg == parser.cast() { child.cast() } else { old.external_arg };
    p.unknown_data = std::ptr::null_mut();
    (p.expand_internal, p.triplets, p.salt) = (old.expand_internal, old.triplets, old.salt);
    (p.param_parsing, p.deferral) = (old.param_parsing, old.deferral);
    p.decl_element = old.decl_element;
    p.parent = parser;
    // SAFETY: the child's own DTD, which it does not need.
    drop(unsafe { Box::from_raw(p.dtd) });
    if context.is_null() {
        p.dtd = old.dtd;
        p.shares_dtd = true;
        p.is_param = true;
        p.prolog = Prolog::external();
        p.prolog.in_value = old.prolog.in_value;
        p.processor = Processor::ParamStart;
    } else {
        p.dtd = Box::into_raw(Box::new(old.dtd().copy()));
        // SAFETY: a string of the caller.
        p.set_context(unsafe { CStr::from_ptr(context) }.to_bytes());
        p.processor = Processor::ExternalStart;
    }
    child
}

/// Handlers by name: `function(handler) field`.
macro_rules! setters {
    ($($function:ident $field:ident: $kind:ty;)*) => {
        $(
            /// Sets the handler.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $function(parser: *mut Parser, handler: $kind) {
                if !parser.is_null() {
                    P(parser).h.$field = handler;
                }
            }
        )*
    };
}

setters! {
    XML_SetStartElementHandler start_element: StartElement;
    XML_SetEndElementHandler end_element: EndElement;
    XML_SetCharacterDataHandler characters: CharacterData;
    XML_SetProcessingInstructionHandler pi: ProcessingInstruction;
    XML_SetCommentHandler comment: Comment;
    XML_SetStartCdataSectionHandler start_cdata: Plain;
    XML_SetEndCdataSectionHandler end_cdata: Plain;
    XML_SetStartDoctypeDeclHandler start_doctype: StartDoctype;
    XML_SetEndDoctypeDeclHandler end_doctype: Plain;
    XML_SetUnparsedEntityDeclHandler unparsed: UnparsedEntityDecl;
    XML_SetNotationDeclHandler notation: NotationDecl;
    XML_SetStartNamespaceDeclHandler start_namespace: StartNamespace;
    XML_SetEndNamespaceDeclHandler end_namespace: EndNamespace;
    XML_SetNotStandaloneHandler not_standalone: NotStandalone;
    XML_SetExternalEntityRefHandler external: ExternalEntityRef;
    XML_SetSkippedEntityHandler skipped: SkippedEntity;
    XML_SetElementDeclHandler element_decl: ElementDecl;
    XML_SetAttlistDeclHandler attlist_decl: AttlistDecl;
    XML_SetEntityDeclHandler entity_decl: EntityDecl;
    XML_SetXmlDeclHandler xml_decl: XmlDecl;
}

/// Sets two handlers.
macro_rules! pairs {
    ($($function:ident $first:ident: $one:ty, $second:ident: $two:ty;)*) => {
        $(
            /// Sets both handlers.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $function(parser: *mut Parser, start: $one, end: $two) {
                if !parser.is_null() {
                    (P(parser).h.$first, P(parser).h.$second) = (start, end);
                }
            }
        )*
    };
}

pairs! {
    XML_SetElementHandler start_element: StartElement, end_element: EndElement;
    XML_SetCdataSectionHandler start_cdata: Plain, end_cdata: Plain;
    XML_SetDoctypeDeclHandler start_doctype: StartDoctype, end_doctype: Plain;
    XML_SetNamespaceDeclHandler start_namespace: StartNamespace, end_namespace: EndNamespace;
}

/// The default handler; internal entities are not expanded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetDefaultHandler(parser: *mut Parser, handler: CharacterData) {
    if !parser.is_null() {
        (P(parser).h.default, P(parser).expand_internal) = (handler, false);
    }
}

/// The default handler; internal entities are expanded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetDefaultHandlerExpand(parser: *mut Parser, handler: CharacterData) {
    if !parser.is_null() {
        (P(parser).h.default, P(parser).expand_internal) = (handler, true);
    }
}

/// What the handler of external entities gets; null: the parser.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetExternalEntityRefHandlerArg(parser: *mut Parser, arg: *mut c_void) {
    if !parser.is_null() {
        P(parser).external_arg = if arg.is_null() { parser.cast() } else { arg };
    }
}

/// The handler of unknown encodings.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetUnknownEncodingHandler(
    parser: *mut Parser,
    handler: UnknownEncoding,
    data: *mut c_void,
) {
    if !parser.is_null() {
        (P(parser).h.unknown_encoding, P(parser).unknown_data) = (handler, data);
    }
}

/// What handlers get first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetUserData(parser: *mut Parser, data: *mut c_void) {
    if !parser.is_null() {
        let mut p = P(parser);
        if p.arg == p.user_data {
            p.arg = data;
        }
        p.user_data = data;
    }
}

/// Handlers get the parser first.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_UseParserAsHandlerArg(parser: *mut Parser) {
    if !parser.is_null() {
        P(parser).arg = parser.cast();
    }
}

fn busy(parser: *mut Parser) -> bool {
    matches!(P(parser).status.parsing, PARSING | SUSPENDED)
}

/// The encoding that the transport names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetEncoding(parser: *mut Parser, encoding: Str) -> c_int {
    if parser.is_null() || busy(parser) {
        return STATUS_ERROR;
    }
    // SAFETY: a string of the caller.
    P(parser).encoding = unsafe { copy(encoding) };
    STATUS_OK
}

/// What relative identifiers are relative to.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetBase(parser: *mut Parser, base: Str) -> c_int {
    if parser.is_null() {
        return STATUS_ERROR;
    }
    // SAFETY: a string of the caller.
    P(parser).base = unsafe { copy(base) };
    STATUS_OK
}

/// See [`XML_SetBase`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetBase(parser: *mut Parser) -> Str {
    if parser.is_null() { std::ptr::null() } else { str_of(&P(parser).base) }
}

/// Twice the number of attributes that the last start-tag itself had.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetSpecifiedAttributeCount(parser: *mut Parser) -> c_int {
    if parser.is_null() { -1 } else { P(parser).specified }
}

/// Where the last start-tag's attribute of type ID is; -1: nowhere.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetIdAttributeIndex(parser: *mut Parser) -> c_int {
    if parser.is_null() { -1 } else { P(parser).id_index }
}

/// An external subset is asked for even if the document names none.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_UseForeignDTD(parser: *mut Parser, use_it: Bool) -> c_int {
    if parser.is_null() {
        return INVALID_ARGUMENT;
    }
    if busy(parser) {
        return CANT_CHANGE_FEATURE_ONCE_PARSING;
    }
    P(parser).use_foreign = use_it != 0;
    0
}

/// Names have their prefixes too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetReturnNSTriplet(parser: *mut Parser, on: c_int) {
    if !parser.is_null() && !busy(parser) {
        P(parser).triplets = on != 0;
    }
}

/// Whether parameter entities and the external subset are read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetParamEntityParsing(parser: *mut Parser, parsing: c_int) -> c_int {
    if parser.is_null() || busy(parser) {
        return 0;
    }
    P(parser).param_parsing = parsing;
    1
}

/// The salt of hashes. The names' tables have one of their own, at random; this one goes into it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetHashSalt(parser: *mut Parser, salt: c_ulong) -> c_int {
    if parser.is_null() {
        return 0;
    }
    let mut p = P(parser).root();
    if busy(p.0) {
        return 0;
    }
    p.salt = salt;
    if salt != 0 && p.status.parsing == INITIALIZED {
        *p.dtd() = crate::dtd::Dtd::new(p.namespaces, salt);
    }
    1
}

/// The error of the last call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetErrorCode(parser: *mut Parser) -> c_int {
    if parser.is_null() { INVALID_ARGUMENT } else { P(parser).error }
}

/// An error in words.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ErrorString(code: c_int) -> Str {
    error_text(code)
}

/// Whether parsing has begun, was suspended, or is over.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetParsingStatus(parser: *mut Parser, status: *mut ParsingStatus) {
    if !parser.is_null() && !status.is_null() {
        // SAFETY: the caller's.
        unsafe { *status = P(parser).status };
    }
}

/// Frees a content model.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_FreeContentModel(parser: *mut Parser, model: *mut Content) {
    // SAFETY: as the caller promises.
    unsafe { XML_MemFree(parser, model.cast()) };
}

/// The parser's `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_MemMalloc(parser: *mut Parser, size: usize) -> *mut c_void {
    match (!parser.is_null()).then(|| P(parser).suite.malloc).flatten() {
        // SAFETY: the program's allocator.
        Some(malloc) => unsafe { malloc(size) },
        None => std::ptr::null_mut(),
    }
}

/// The parser's `realloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_MemRealloc(
    parser: *mut Parser,
    memory: *mut c_void,
    size: usize,
) -> *mut c_void {
    match (!parser.is_null()).then(|| P(parser).suite.realloc).flatten() {
        // SAFETY: the program's allocator.
        Some(realloc) => unsafe { realloc(memory, size) },
        None => std::ptr::null_mut(),
    }
}

/// The parser's `free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_MemFree(parser: *mut Parser, memory: *mut c_void) {
    if let Some(free) = (!parser.is_null()).then(|| P(parser).suite.free).flatten() {
        // SAFETY: the program's allocator.
        unsafe { free(memory) };
    }
}

/// The version of expat that this library stands for.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ExpatVersion() -> Str {
    c"expat_2.5.0".as_ptr()
}

/// The same in numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_ExpatVersionInfo() -> Version {
    Version { major: 2, minor: 5, micro: 0 }
}

/// What the library was built with.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_GetFeatureList() -> *const Feature {
    const fn row(feature: c_int, name: &'static CStr, value: c_long) -> Feature {
        Feature { feature, name: name.as_ptr(), value }
    }
    static FEATURES: [Feature; 9] = [
        row(6, c"sizeof(XML_Char)", 1),
        row(7, c"sizeof(XML_LChar)", 1),
        row(3, c"XML_DTD", 0),
        row(4, c"XML_CONTEXT_BYTES", 1024),
        row(8, c"XML_NS", 0),
        row(11, c"XML_BLAP_MAX_AMP", 100),
        row(12, c"XML_BLAP_ACT_THRES", 8 << 20),
        Feature { feature: 0, name: std::ptr::null(), value: 0 },
        Feature { feature: 0, name: std::ptr::null(), value: 0 },
    ];
    FEATURES.as_ptr()
}

fn root_only(parser: *mut Parser) -> bool {
    !parser.is_null() && P(parser).parent.is_null()
}

/// Limits: how much for each byte of the document, and from which amount on that is asked.
macro_rules! limits {
    ($($most:ident, $from:ident: $field:ident;)*) => {
        $(
            /// How much there may be for each byte of the document, at least 1.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $most(parser: *mut Parser, most: f32) -> Bool {
                if !root_only(parser) || most.is_nan() || most < 1.0 {
                    return 0;
                }
                P(parser).$field.most = most;
                1
            }

            /// The bytes before which that is not asked.
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $from(parser: *mut Parser, bytes: u64) -> Bool {
                if !root_only(parser) {
                    return 0;
                }
                P(parser).$field.from = bytes;
                1
            }
        )*
    };
}

limits! {
    XML_SetBillionLaughsAttackProtectionMaximumAmplification,
    XML_SetBillionLaughsAttackProtectionActivationThreshold: expansion;
    XML_SetAllocTrackerMaximumAmplification, XML_SetAllocTrackerActivationThreshold: memory;
}

/// Whether a long token that is not whole waits for twice its bytes before it is tried again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn XML_SetReparseDeferralEnabled(parser: *mut Parser, on: Bool) -> Bool {
    if parser.is_null() || on > 1 {
        return 0;
    }
    P(parser).deferral = on == 1;
    1
}
