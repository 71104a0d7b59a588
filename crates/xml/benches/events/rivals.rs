//! libxml2 and libexpat of the system, with callbacks that do next to nothing; `quick-xml` on a slice.

use std::ffi::{CStr, c_char, c_int, c_long, c_void};
use std::ptr::null_mut;

use crate::Sums;

type P = *mut c_void;

unsafe extern "C" {
    fn dlopen(name: *const c_char, flags: c_int) -> P;
    fn dlsym(library: P, name: *const c_char) -> P;
}

struct Library(P);

impl Library {
    fn open(name: &CStr, package: &str) -> Option<Library> {
        // SAFETY: a string that ends with 0; 2 is RTLD_NOW.
        let library = unsafe { dlopen(name.as_ptr(), 2) };
        if library.is_null() {
            eprintln!("bench-xml: {package} is not installed: no rival");
        }
        (!library.is_null()).then_some(Library(library))
    }

    fn symbol(&self, name: &CStr) -> P {
        // SAFETY: an open library.
        let symbol = unsafe { dlsym(self.0, name.as_ptr()) };
        assert!(!symbol.is_null(), "{name:?}");
        symbol
    }
}

macro_rules! function {
    ($library:expr, $name:literal, fn($($arg:ty),*) $(-> $ret:ty)?) => {
        // SAFETY: the function's type is that of the library's header.
        unsafe { std::mem::transmute::<P, unsafe extern "C" fn($($arg),*) $(-> $ret)?>($library.symbol($name)) }
    };
}

/// `xmlSAXHandler`: pointers to functions, a number in between.
#[repr(C)]
struct Callbacks {
    before: [P; 27],
    initialized: u32,
    private: P,
    start_element_ns: P,
    end_element_ns: P,
    error: P,
}

pub struct Libxml2 {
    parse: unsafe extern "C" fn(*mut Callbacks, P, *const u8, c_int) -> c_int,
    /// `xmlSAX2GetEntity`, `xmlSAX2EntityDecl` and what else keeps declarations is left to the library's defaults.
    default: unsafe extern "C" fn(*mut Callbacks, c_int) -> c_int,
}

unsafe extern "C" fn nothing() {}

unsafe extern "C" fn start_ns(
    sums: P,
    _: P,
    _: P,
    _: P,
    _: c_int,
    _: P,
    attributes: c_int,
    _: c_int,
    _: P,
) {
    // SAFETY: the pointer that was given to the parser, which keeps it in its first field's place.
    if let Some(sums) = unsafe { SUMS.as_mut() } {
        sums.elements += 1;
        sums.attributes += attributes as u64;
    }
    let _ = sums;
}

unsafe extern "C" fn characters(_: P, text: *const u8, len: c_int) {
    // SAFETY: the library's arguments.
    unsafe {
        if let Some(sums) = SUMS.as_mut() {
            sums.text(std::slice::from_raw_parts(text, len as usize));
        }
    }
}

/// Where the callbacks count: one thread, one parser at a time.
static mut SUMS: *mut Sums = null_mut();

impl Libxml2 {
    pub fn open() -> Option<Libxml2> {
        let library = Library::open(c"libxml2.so.2", "libxml2")?;
        Some(Libxml2 {
            parse: function!(
                library,
                c"xmlSAXUserParseMemory",
                fn(*mut Callbacks, P, *const u8, c_int) -> c_int
            ),
            default: function!(library, c"xmlSAXVersion", fn(*mut Callbacks, c_int) -> c_int),
        })
    }

    fn run(&self, document: &[u8], start: P, text: P) {
        // SAFETY: a structure of pointers; zeros are none. The default fills it.
        let mut callbacks: Callbacks = unsafe { std::mem::zeroed() };
        let nothing = nothing as *mut c_void;
        // SAFETY: as the library's documentation says.
        unsafe {
            // 2: SAX2. No tree is built: whatever builds one is replaced.
            (self.default)(&raw mut callbacks, 2);
            callbacks.before = [null_mut(); 27];
            callbacks.before[17] = text;
            callbacks.before[18] = text;
            callbacks.before[19] = nothing;
            callbacks.before[20] = nothing;
            callbacks.before[25] = text;
            callbacks.start_element_ns = start;
            callbacks.end_element_ns = nothing;
            let len = document.len() as c_int;
            let code = (self.parse)(&raw mut callbacks, null_mut(), document.as_ptr(), len);
            assert_eq!(code, 0, "libxml2");
        }
    }

    pub fn parse(&self, document: &[u8]) {
        self.run(document, nothing as *mut c_void, nothing as *mut c_void);
    }

    pub fn sums(&self, document: &[u8]) -> Sums {
        let mut sums = Sums::default();
        // SAFETY: one thread.
        unsafe { SUMS = &raw mut sums };
        self.run(document, start_ns as *mut c_void, characters as *mut c_void);
        // SAFETY: one thread.
        unsafe { SUMS = null_mut() };
        sums
    }
}

pub struct Expat {
    create: unsafe extern "C" fn(*const c_char, c_char) -> P,
    elements: unsafe extern "C" fn(P, P, P),
    text: unsafe extern "C" fn(P, P),
    parse: unsafe extern "C" fn(P, *const u8, c_int, c_int) -> c_int,
    count: unsafe extern "C" fn(P) -> c_int,
    byte: unsafe extern "C" fn(P) -> c_long,
    free: unsafe extern "C" fn(P),
}

unsafe extern "C" fn expat_start(_: P, _: *const c_char, attributes: *const *const c_char) {
    // SAFETY: the library's arguments.
    unsafe {
        if let Some(sums) = SUMS.as_mut() {
            sums.elements += 1;
            let mut at = attributes;
            while !(*at).is_null() {
                sums.attributes += 1;
                at = at.add(2);
            }
        }
    }
}

impl Expat {
    pub fn open() -> Option<Expat> {
        let library = Library::open(c"libexpat.so.1", "libexpat1")?;
        Some(Expat {
            create: function!(library, c"XML_ParserCreateNS", fn(*const c_char, c_char) -> P),
            elements: function!(library, c"XML_SetElementHandler", fn(P, P, P)),
            text: function!(library, c"XML_SetCharacterDataHandler", fn(P, P)),
            parse: function!(library, c"XML_Parse", fn(P, *const u8, c_int, c_int) -> c_int),
            count: function!(library, c"XML_GetErrorCode", fn(P) -> c_int),
            byte: function!(library, c"XML_GetCurrentByteIndex", fn(P) -> c_long),
            free: function!(library, c"XML_ParserFree", fn(P)),
        })
    }

    fn run(&self, document: &[u8], start: P, text: P) {
        // SAFETY: as the library's documentation says.
        unsafe {
            let parser = (self.create)(std::ptr::null(), b'|' as c_char);
            (self.elements)(parser, start, nothing as *mut c_void);
            (self.text)(parser, text);
            let fine = (self.parse)(parser, document.as_ptr(), document.len() as c_int, 1) == 1;
            assert!(fine, "expat: error {} at {}", (self.count)(parser), (self.byte)(parser));
            (self.free)(parser);
        }
    }

    pub fn parse(&self, document: &[u8]) {
        self.run(document, nothing as *mut c_void, nothing as *mut c_void);
    }

    pub fn sums(&self, document: &[u8]) -> Sums {
        let mut sums = Sums::default();
        // SAFETY: one thread.
        unsafe { SUMS = &raw mut sums };
        self.run(document, expat_start as *mut c_void, characters as *mut c_void);
        // SAFETY: one thread.
        unsafe { SUMS = null_mut() };
        sums
    }
}

/// Elements and attributes (those that declare namespaces, too) by `quick-xml`, which checks far less than the others.
pub fn quick_xml(document: &[u8]) -> (u64, u64) {
    use quick_xml::events::Event;
    let mut reader = quick_xml::Reader::from_reader(document);
    let (mut elements, mut attributes) = (0, 0);
    loop {
        match reader.read_event().expect("a document") {
            Event::Start(tag) | Event::Empty(tag) => {
                elements += 1;
                for attribute in tag.attributes() {
                    std::hint::black_box(attribute.expect("an attribute").value);
                    attributes += 1;
                }
            }
            Event::Eof => return (elements, attributes),
            other => {
                std::hint::black_box(other);
            }
        }
    }
}
