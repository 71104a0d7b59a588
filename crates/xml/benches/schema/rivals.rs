//! libxml2 of the system: its XML Schema behind its SAX interface and on its tree.

use std::ffi::{c_char, c_int};
use std::ptr::null_mut;

use crate::loader::P;

unsafe extern "C" fn ignore(_: P, _: P) {}

functions! {
    xmlSetStructuredErrorFunc: fn(P, P);
    xmlSchemaNewMemParserCtxt: fn(*const u8, c_int) -> P;
    xmlSchemaParse: fn(P) -> P;
    xmlSchemaFreeParserCtxt: fn(P);
    xmlSchemaFree: fn(P);
    xmlSchemaNewValidCtxt: fn(P) -> P;
    xmlSchemaFreeValidCtxt: fn(P);
    xmlSchemaValidateDoc: fn(P, P) -> c_int;
    xmlSchemaValidateStream: fn(P, P, c_int, P, P) -> c_int;
    xmlParserInputBufferCreateMem: fn(*const u8, c_int, c_int) -> P;
    xmlReadMemory: fn(*const u8, c_int, *const c_char, *const c_char, c_int) -> P;
    xmlFreeDoc: fn(P);
}

pub struct Theirs<'l> {
    library: &'l Libxml2,
    schema: P,
}

impl Libxml2 {
    /// Prints no errors from here on.
    pub fn silent(self) -> Libxml2 {
        // SAFETY: a function that takes and does nothing.
        unsafe { (self.xmlSetStructuredErrorFunc)(null_mut(), ignore as P) };
        self
    }

    pub fn schema(&self, text: &str) -> Theirs<'_> {
        // SAFETY: readable bytes, which the context refers to until it is freed.
        unsafe {
            let context = (self.xmlSchemaNewMemParserCtxt)(text.as_ptr(), text.len() as c_int);
            let schema = (self.xmlSchemaParse)(context);
            (self.xmlSchemaFreeParserCtxt)(context);
            assert!(!schema.is_null(), "libxml2 refuses the schema");
            Theirs { library: self, schema }
        }
    }
}

impl Theirs<'_> {
    /// Validates from SAX events (`xmlSchemaSAXPlug`, which `xmlSchemaValidateStream` calls), without a tree.
    pub fn plug(&self, document: &str) -> bool {
        let it = self.library;
        // SAFETY: readable bytes; the stream's function frees its input.
        unsafe {
            let context = (it.xmlSchemaNewValidCtxt)(self.schema);
            let input =
                (it.xmlParserInputBufferCreateMem)(document.as_ptr(), document.len() as c_int, 1);
            let code = (it.xmlSchemaValidateStream)(context, input, 1, null_mut(), null_mut());
            (it.xmlSchemaFreeValidCtxt)(context);
            code == 0
        }
    }

    /// Parses to a tree, and validates that.
    pub fn tree(&self, document: &str) -> bool {
        let it = self.library;
        let (start, len) = (document.as_ptr(), document.len() as c_int);
        // SAFETY: readable bytes.
        unsafe {
            let tree = (it.xmlReadMemory)(start, len, std::ptr::null(), std::ptr::null(), 0);
            let context = (it.xmlSchemaNewValidCtxt)(self.schema);
            let code = (it.xmlSchemaValidateDoc)(context, tree);
            (it.xmlSchemaFreeValidCtxt)(context);
            (it.xmlFreeDoc)(tree);
            code == 0
        }
    }
}

impl Drop for Theirs<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.library.xmlSchemaFree)(self.schema) };
    }
}
