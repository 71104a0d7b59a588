//! libxml2 of the system: XPath on its tree.

use std::ffi::{CString, c_char, c_int};
use std::ptr::null;

use crate::loader::P;

functions! {
    xmlReadMemory: fn(*const u8, c_int, *const c_char, *const c_char, c_int) -> P;
    xmlFreeDoc: fn(P);
    xmlXPathNewContext: fn(P) -> P;
    xmlXPathFreeContext: fn(P);
    xmlXPathRegisterNs: fn(P, *const c_char, *const c_char) -> c_int;
    xmlXPathCompile: fn(*const c_char) -> P;
    xmlXPathFreeCompExpr: fn(P);
    xmlXPathCompiledEval: fn(P, P) -> *mut Object;
    xmlXPathFreeObject: fn(*mut Object);
}

/// The first fields of `xmlXPathObject`.
#[repr(C)]
struct Object {
    kind: c_int,
    /// `xmlNodeSet`, whose first field is the number of nodes.
    nodes: *const c_int,
}

/// XML_PARSE_NOENT, XML_PARSE_NOCDATA, XML_PARSE_HUGE.
const OPTIONS: c_int = 1 << 1 | 1 << 14 | 1 << 19;

pub struct Theirs<'l> {
    library: &'l Libxml2,
    expressions: Vec<P>,
}

impl Libxml2 {
    pub fn compile(&self, texts: &[String]) -> Theirs<'_> {
        let compile = |text: &String| {
            let text = CString::new(text.as_str()).unwrap();
            // SAFETY: a string that ends with 0.
            let compiled = unsafe { (self.xmlXPathCompile)(text.as_ptr()) };
            assert!(!compiled.is_null(), "libxml2 refuses {text:?}");
            compiled
        };
        Theirs { library: self, expressions: texts.iter().map(compile).collect() }
    }
}

impl Theirs<'_> {
    /// Parses to a tree, evaluates all expressions, frees the tree. Returns how many nodes were selected.
    pub fn run(&self, document: &[u8], namespaces: &[(String, String)]) -> u64 {
        let it = self.library;
        let (start, len) = (document.as_ptr(), document.len() as c_int);
        // SAFETY: readable bytes; strings that end with 0; objects of the library, freed once.
        unsafe {
            let tree = (it.xmlReadMemory)(start, len, null(), null(), OPTIONS);
            assert!(!tree.is_null());
            let context = (it.xmlXPathNewContext)(tree);
            for (prefix, uri) in namespaces {
                let (prefix, uri) = (CString::new(prefix.as_str()), CString::new(uri.as_str()));
                let (prefix, uri) = (prefix.unwrap(), uri.unwrap());
                (it.xmlXPathRegisterNs)(context, prefix.as_ptr(), uri.as_ptr());
            }
            let mut found = 0;
            for expression in &self.expressions {
                let object = (it.xmlXPathCompiledEval)(*expression, context);
                assert!(!object.is_null() && (*object).kind == 1);
                let nodes = (*object).nodes;
                found += if nodes.is_null() { 0 } else { *nodes as u64 };
                (it.xmlXPathFreeObject)(object);
            }
            (it.xmlXPathFreeContext)(context);
            (it.xmlFreeDoc)(tree);
            found
        }
    }
}

impl Drop for Theirs<'_> {
    fn drop(&mut self) {
        for expression in &self.expressions {
            // SAFETY: nobody uses it any more.
            unsafe { (self.library.xmlXPathFreeCompExpr)(*expression) };
        }
    }
}
