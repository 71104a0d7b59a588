//! The functions of a library, ours or one that is loaded.

use std::ffi::{CStr, c_char, c_int, c_long, c_ulong, c_void};

use lookaside_expat::{abi::*, api, parser::Parser, run};

pub type P = *mut Parser;

macro_rules! functions {
    ($($field:ident: fn($($argument:ty),*) $(-> $result:ty)? = $module:ident::$name:ident;)*) => {
        /// What the test calls.
        pub struct Library {
            $(pub $field: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
            /// `XML_SetReparseDeferralEnabled`, of newer libraries.
            pub deferral: Option<unsafe extern "C" fn(P, Bool) -> Bool>,
        }
        impl Library {
            /// This library.
            pub fn ours() -> Library {
                Library { $($field: $module::$name,)* deferral: Some(api::XML_SetReparseDeferralEnabled) }
            }

            /// The system's, if it has what Debian has mended in 2.5.0, or is newer.
            pub fn system() -> Option<Library> {
                // SAFETY: the library has these functions with these types, as `expat.h` says.
                unsafe {
                    let handle = libc::dlopen(c"libexpat.so.1".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
                    if handle.is_null() {
                        return None;
                    }
                    let find = |name: &str| {
                        let name = std::ffi::CString::new(name).expect("no zero");
                        let found = libc::dlsym(handle, name.as_ptr());
                        assert!(!found.is_null(), "{name:?}");
                        found
                    };
                    if libc::dlsym(handle, c"XML_SetReparseDeferralEnabled".as_ptr()).is_null() {
                        return None;
                    }
                    Some(Library { $($field: std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) $(-> $result)?>(find(stringify!($name))),)*
                        deferral: std::mem::transmute::<*mut c_void, Option<unsafe extern "C" fn(P, Bool) -> Bool>>(
                            libc::dlsym(handle, c"XML_SetReparseDeferralEnabled".as_ptr())) })
                }
            }
        }
    };
}

functions! {
    create: fn(Str) -> P = api::XML_ParserCreate;
    create_ns: fn(Str, c_char) -> P = api::XML_ParserCreateNS;
    child: fn(P, Str, Str) -> P = api::XML_ExternalEntityParserCreate;
    free: fn(P) = api::XML_ParserFree;
    user_data: fn(P, *mut c_void) = api::XML_SetUserData;
    element: fn(P, StartElement, EndElement) = api::XML_SetElementHandler;
    characters: fn(P, CharacterData) = api::XML_SetCharacterDataHandler;
    pi: fn(P, ProcessingInstruction) = api::XML_SetProcessingInstructionHandler;
    comment: fn(P, Comment) = api::XML_SetCommentHandler;
    cdata: fn(P, Plain, Plain) = api::XML_SetCdataSectionHandler;
    default: fn(P, CharacterData) = api::XML_SetDefaultHandler;
    default_expand: fn(P, CharacterData) = api::XML_SetDefaultHandlerExpand;
    doctype: fn(P, StartDoctype, Plain) = api::XML_SetDoctypeDeclHandler;
    unparsed: fn(P, UnparsedEntityDecl) = api::XML_SetUnparsedEntityDeclHandler;
    notation: fn(P, NotationDecl) = api::XML_SetNotationDeclHandler;
    namespace: fn(P, StartNamespace, EndNamespace) = api::XML_SetNamespaceDeclHandler;
    not_standalone: fn(P, NotStandalone) = api::XML_SetNotStandaloneHandler;
    external: fn(P, ExternalEntityRef) = api::XML_SetExternalEntityRefHandler;
    skipped: fn(P, SkippedEntity) = api::XML_SetSkippedEntityHandler;
    element_decl: fn(P, ElementDecl) = api::XML_SetElementDeclHandler;
    attlist_decl: fn(P, AttlistDecl) = api::XML_SetAttlistDeclHandler;
    entity_decl: fn(P, EntityDecl) = api::XML_SetEntityDeclHandler;
    xml_decl: fn(P, XmlDecl) = api::XML_SetXmlDeclHandler;
    free_model: fn(P, *mut Content) = api::XML_FreeContentModel;
    param_parsing: fn(P, c_int) -> c_int = api::XML_SetParamEntityParsing;
    foreign: fn(P, Bool) -> c_int = api::XML_UseForeignDTD;
    triplets: fn(P, c_int) = api::XML_SetReturnNSTriplet;
    specified: fn(P) -> c_int = api::XML_GetSpecifiedAttributeCount;
    id_index: fn(P) -> c_int = api::XML_GetIdAttributeIndex;
    error: fn(P) -> c_int = api::XML_GetErrorCode;
    threshold: fn(P, u64) -> Bool = api::XML_SetBillionLaughsAttackProtectionActivationThreshold;
    parse: fn(P, *const c_char, c_int, c_int) -> c_int = run::XML_Parse;
    stop: fn(P, Bool) -> c_int = run::XML_StopParser;
    resume: fn(P) -> c_int = run::XML_ResumeParser;
    byte: fn(P) -> c_long = run::XML_GetCurrentByteIndex;
    count: fn(P) -> c_int = run::XML_GetCurrentByteCount;
    line: fn(P) -> c_ulong = run::XML_GetCurrentLineNumber;
    column: fn(P) -> c_ulong = run::XML_GetCurrentColumnNumber;
    default_current: fn(P) = run::XML_DefaultCurrent;
}

/// A string of a handler; `-` for null.
pub fn text(string: Str) -> String {
    if string.is_null() {
        return "-".into();
    }
    // SAFETY: a string that ends with zero.
    format!("{:?}", String::from_utf8_lossy(unsafe { CStr::from_ptr(string) }.to_bytes()))
}
