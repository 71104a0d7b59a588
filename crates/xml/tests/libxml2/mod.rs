//! The system's libxml2, as far as the tests need it: its XPath on its own tree, and its XML Schema.

#![allow(dead_code, reason = "each test needs a part")]

use std::ffi::{CStr, CString, c_char, c_double, c_int, c_void};
use std::ptr;
use std::sync::Once;

type Pointer = *mut c_void;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Its functions, by their names there.
        #[allow(non_snake_case)]
        pub struct Library { $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)* }

        impl Library {
            /// `None`, said aloud, where there is none.
            pub fn open() -> Option<Library> {
                // SAFETY: a library of the system, with functions of these types (libxml2's headers).
                unsafe {
                    let library = libc::dlopen(c"libxml2.so.2".as_ptr(), libc::RTLD_NOW);
                    if library.is_null() {
                        eprintln!("SKIPPED: no libxml2.so.2 (the Debian package libxml2)");
                        return None;
                    }
                    let find = |name: &str| {
                        let name = CString::new(name).unwrap();
                        let found = libc::dlsym(library, name.as_ptr());
                        assert!(!found.is_null(), "{name:?}");
                        found
                    };
                    let library = Library {
                        $($name: std::mem::transmute::<
                            Pointer,
                            unsafe extern "C" fn($($argument),*) $(-> $result)?,
                        >(find(stringify!($name))),)*
                    };
                    // Its tables are made without a lock.
                    static TABLES: Once = Once::new();
                    TABLES.call_once(|| {
                        (library.xmlInitParser)();
                        (library.xmlSchemaInitTypes)();
                    });
                    (library.xmlSetStructuredErrorFunc)(ptr::null_mut(), ignore as Pointer);
                    Some(library)
                }
            }
        }
    };
}

extern "C" fn ignore(_: Pointer, _: Pointer) {}

functions! {
    xmlInitParser: fn();
    xmlSchemaInitTypes: fn();
    xmlSetStructuredErrorFunc: fn(Pointer, Pointer);
    xmlReadMemory: fn(*const c_char, c_int, *const c_char, *const c_char, c_int) -> Pointer;
    xmlFreeDoc: fn(Pointer);
    xmlXPathNewContext: fn(Pointer) -> Pointer;
    xmlXPathFreeContext: fn(Pointer);
    xmlXPathRegisterNs: fn(Pointer, *const c_char, *const c_char) -> c_int;
    xmlXPathNodeEval: fn(Pointer, *const c_char, Pointer) -> Pointer;
    xmlXPathFreeObject: fn(Pointer);
    xmlSchemaNewMemParserCtxt: fn(*const c_char, c_int) -> Pointer;
    xmlSchemaNewParserCtxt: fn(*const c_char) -> Pointer;
    xmlSchemaFreeParserCtxt: fn(Pointer);
    xmlSchemaParse: fn(Pointer) -> Pointer;
    xmlSchemaFree: fn(Pointer);
    xmlSchemaNewValidCtxt: fn(Pointer) -> Pointer;
    xmlSchemaFreeValidCtxt: fn(Pointer);
    xmlSchemaValidateDoc: fn(Pointer, Pointer) -> c_int;
}

/// A node: its number in document order, counted as the tree counts. For a namespace also its prefix, which here takes the
/// place of the declaration.
pub type Place = (usize, Option<String>);

/// What an expression yields there.
#[derive(Debug, PartialEq)]
pub enum Answer {
    Nodes(Vec<Place>),
    Number(f64),
    String(String),
    Boolean(bool),
}

/// A document of libxml2.
pub struct Document<'l> {
    library: &'l Library,
    document: Pointer,
    nodes: Vec<Pointer>,
}

// Places of libxml2's structures (tree.h, xpath.h), the same since 2.0.
const TYPE: usize = 8;
const CHILDREN: usize = 24;
const NEXT: usize = 48;
const PROPERTIES: usize = 88;
const NAMESPACES: usize = 96;
const NAMESPACE_PREFIX: usize = 24;
const ELEMENT: c_int = 1;
const DTD: c_int = 14;
const NAMESPACE: c_int = 18;

/// # Safety
/// There is a `T` at this place.
unsafe fn at<T: Copy>(structure: Pointer, place: usize) -> T {
    // SAFETY: as the caller promises.
    unsafe { structure.cast::<u8>().add(place).cast::<T>().read() }
}

impl Library {
    /// Parses; `None` if it is not well-formed there.
    pub fn parse(&self, text: &str) -> Option<Document<'_>> {
        let start = text.as_ptr().cast();
        // SAFETY: readable bytes; no network, no entities from elsewhere by default.
        let document = unsafe {
            (self.xmlReadMemory)(start, text.len() as c_int, ptr::null(), ptr::null(), 0)
        };
        (!document.is_null()).then(|| {
            let mut nodes = vec![document];
            // SAFETY: a document has children as a node has.
            unsafe { collect(at(document, CHILDREN), &mut nodes) };
            Document { library: self, document, nodes }
        })
    }
}

/// A schema of libxml2.
pub struct Schema<'l> {
    library: &'l Library,
    schema: Pointer,
}

impl Library {
    /// Compiles a schema document; `None` if it is refused there.
    pub fn schema(&self, text: &str) -> Option<Schema<'_>> {
        // SAFETY: readable bytes, which the context refers to until it is freed.
        unsafe {
            // Each thread has a function of its own.
            (self.xmlSetStructuredErrorFunc)(ptr::null_mut(), ignore as Pointer);
            let start = text.as_ptr().cast();
            self.compiled((self.xmlSchemaNewMemParserCtxt)(start, text.len() as c_int))
        }
    }

    /// The same from a file, which may refer to others.
    pub fn schema_file(&self, path: &std::path::Path) -> Option<Schema<'_>> {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        // SAFETY: a string.
        unsafe { self.compiled((self.xmlSchemaNewParserCtxt)(path.as_ptr())) }
    }

    /// # Safety
    /// A new context.
    unsafe fn compiled(&self, context: Pointer) -> Option<Schema<'_>> {
        // SAFETY: as the caller promises.
        unsafe {
            let schema = (self.xmlSchemaParse)(context);
            (self.xmlSchemaFreeParserCtxt)(context);
            (!schema.is_null()).then_some(Schema { library: self, schema })
        }
    }
}

impl Schema<'_> {
    /// Whether a document is valid there.
    pub fn is_valid(&self, document: &Document<'_>) -> bool {
        let library = self.library;
        // SAFETY: a schema and a document of the library.
        unsafe {
            let context = (library.xmlSchemaNewValidCtxt)(self.schema);
            let code = (library.xmlSchemaValidateDoc)(context, document.document);
            (library.xmlSchemaFreeValidCtxt)(context);
            assert!(code >= 0, "libxml2: {code}");
            code == 0
        }
    }
}

impl Drop for Schema<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.library.xmlSchemaFree)(self.schema) };
    }
}

/// # Safety
/// Null, or the first of some nodes.
unsafe fn collect(mut node: Pointer, all: &mut Vec<Pointer>) {
    // SAFETY: nodes of one document, and what is below them.
    unsafe {
        while !node.is_null() {
            let kind = at::<c_int>(node, TYPE);
            if kind != DTD {
                all.push(node);
            }
            if kind == ELEMENT {
                let mut namespace: Pointer = at(node, NAMESPACES);
                while !namespace.is_null() {
                    all.push(namespace);
                    namespace = at(namespace, 0);
                }
                let mut attribute: Pointer = at(node, PROPERTIES);
                while !attribute.is_null() {
                    all.push(attribute);
                    attribute = at(attribute, NEXT);
                }
                collect(at(node, CHILDREN), all);
            }
            node = at(node, NEXT);
        }
    }
}

impl Document<'_> {
    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Evaluates at a node; `None` if the expression is wrong there.
    pub fn xpath(&self, node: usize, text: &str, namespaces: &[(&str, &str)]) -> Option<Answer> {
        let library = self.library;
        // SAFETY: a document and a node of it; results are read before they are freed.
        unsafe {
            let context = (library.xmlXPathNewContext)(self.document);
            for (prefix, uri) in namespaces {
                let (prefix, uri) = (CString::new(*prefix).unwrap(), CString::new(*uri).unwrap());
                (library.xmlXPathRegisterNs)(context, prefix.as_ptr(), uri.as_ptr());
            }
            let text = CString::new(text).unwrap();
            let object = (library.xmlXPathNodeEval)(self.nodes[node], text.as_ptr(), context);
            let answer = (!object.is_null()).then(|| self.answer(object));
            if !object.is_null() {
                (library.xmlXPathFreeObject)(object);
            }
            (library.xmlXPathFreeContext)(context);
            answer
        }
    }

    /// # Safety
    /// An object of this document.
    unsafe fn answer(&self, object: Pointer) -> Answer {
        // SAFETY: as the caller promises.
        unsafe {
            match at::<c_int>(object, 0) {
                1 => Answer::Nodes(self.places(at(object, 8))),
                2 => Answer::Boolean(at::<c_int>(object, 16) != 0),
                3 => Answer::Number(at::<c_double>(object, 24)),
                4 => {
                    let text: *const c_char = at(object, 32);
                    Answer::String(CStr::from_ptr(text).to_str().unwrap().to_owned())
                }
                other => panic!("an object of type {other}"),
            }
        }
    }

    /// # Safety
    /// Null, or a node-set of this document.
    unsafe fn places(&self, set: Pointer) -> Vec<Place> {
        // SAFETY: as the caller promises.
        unsafe {
            if set.is_null() {
                return vec![];
            }
            let nodes: *const Pointer = at(set, 8);
            let place = |node: Pointer| self.nodes.iter().position(|one| *one == node).unwrap();
            let mut places: Vec<Place> = (0..at::<c_int>(set, 0) as usize)
                .map(|n| {
                    let node = *nodes.add(n);
                    if at::<c_int>(node, TYPE) != NAMESPACE {
                        return (place(node), None);
                    }
                    // A copy, whose `next` is its element.
                    let prefix: *const c_char = at(node, NAMESPACE_PREFIX);
                    let prefix = match prefix.is_null() {
                        true => String::new(),
                        false => CStr::from_ptr(prefix).to_str().unwrap().to_owned(),
                    };
                    (place(at(node, 0)), Some(prefix))
                })
                .collect();
            places.sort();
            places
        }
    }
}

impl Drop for Document<'_> {
    fn drop(&mut self) {
        // SAFETY: nobody uses it any more.
        unsafe { (self.library.xmlFreeDoc)(self.document) };
    }
}
