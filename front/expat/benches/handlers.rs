//! This library beside the system's `libexpat.so.1`: documents with empty handlers for elements and text.
//!
//! `LOOKASIDE_XML_DOCUMENTS=FOLDER cargo bench -p lookaside-expat` reads each file of a folder as one piece, both libraries in turn; it prints medians of
//! the thread's CPU time, and the geometric mean of the ratios. Both must call as many handlers.

use std::ffi::{c_char, c_int, c_void};

use lookaside_expat::{abi::*, api, parser::Parser, run};

type P = *mut Parser;

struct Library {
    create: unsafe extern "C" fn(Str) -> P,
    free: unsafe extern "C" fn(P),
    data: unsafe extern "C" fn(P, *mut c_void),
    element: unsafe extern "C" fn(P, StartElement, EndElement),
    characters: unsafe extern "C" fn(P, CharacterData),
    parse: unsafe extern "C" fn(P, *const c_char, c_int, c_int) -> c_int,
}

fn system() -> Option<Library> {
    // SAFETY: the functions have these types, as `expat.h` says.
    unsafe {
        let handle = libc::dlopen(c"libexpat.so.1".as_ptr(), libc::RTLD_NOW);
        if handle.is_null() {
            return None;
        }
        let find = |name: &std::ffi::CStr| libc::dlsym(handle, name.as_ptr());
        Some(Library {
            create: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(Str) -> P>(find(
                c"XML_ParserCreate",
            )),
            free: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(P)>(find(
                c"XML_ParserFree",
            )),
            data: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(P, *mut c_void)>(find(
                c"XML_SetUserData",
            )),
            element: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(P, StartElement, EndElement),
            >(find(c"XML_SetElementHandler")),
            characters: std::mem::transmute::<*mut c_void, unsafe extern "C" fn(P, CharacterData)>(
                find(c"XML_SetCharacterDataHandler"),
            ),
            parse: std::mem::transmute::<
                *mut c_void,
                unsafe extern "C" fn(P, *const c_char, c_int, c_int) -> c_int,
            >(find(c"XML_Parse")),
        })
    }
}

fn ours() -> Library {
    Library {
        create: api::XML_ParserCreate,
        free: api::XML_ParserFree,
        data: api::XML_SetUserData,
        element: api::XML_SetElementHandler,
        characters: api::XML_SetCharacterDataHandler,
        parse: run::XML_Parse,
    }
}

fn count(data: Data) {
    // SAFETY: the counter that `read` set.
    unsafe { *data.cast::<u64>() += 1 };
}

unsafe extern "C" fn start(data: Data, _: Str, _: *mut Str) {
    count(data);
}

unsafe extern "C" fn end(data: Data, _: Str) {
    count(data);
}

unsafe extern "C" fn text(data: Data, _: Str, _: c_int) {
    count(data);
}

/// Reads a document; the calls of handlers.
fn read(l: &Library, bytes: &[u8]) -> u64 {
    let mut calls = 0_u64;
    // SAFETY: as `expat.h` asks.
    unsafe {
        let p = (l.create)(std::ptr::null());
        (l.data)(p, (&raw mut calls).cast());
        (l.element)(p, Some(start), Some(end));
        (l.characters)(p, Some(text));
        assert_eq!((l.parse)(p, bytes.as_ptr().cast(), bytes.len() as c_int, 1), STATUS_OK);
        (l.free)(p);
    }
    calls
}

fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: a structure to fill.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn median(times: &mut [u64]) -> f64 {
    times.sort_unstable();
    times[times.len() / 2] as f64
}

fn main() {
    let Some(folder) = std::env::var("LOOKASIDE_XML_DOCUMENTS").ok().filter(|it| !it.is_empty())
    else {
        println!("handlers: LOOKASIDE_XML_DOCUMENTS names no folder with documents");
        return;
    };
    let Some(theirs) = system() else {
        println!("handlers: libexpat.so.1 (Debian: libexpat1) is missing: no rival");
        return;
    };
    let ours = ours();
    let mut files: Vec<_> = std::fs::read_dir(&folder)
        .expect("a folder")
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.is_file())
        .collect();
    files.sort();
    println!("{:28} {:>10} {:>10} {:>6}", "MB/s", "ours", "expat", "ratio");
    let (mut product, mut documents) = (0.0, 0);
    for path in files {
        let bytes = std::fs::read(&path).expect("a file");
        assert_eq!(read(&ours, &bytes), read(&theirs, &bytes), "{}", path.display());
        let times = (4_000_000 / bytes.len().max(1)).clamp(1, 2000);
        let (mut a, mut b) = (vec![], vec![]);
        for _ in 0..21 {
            for (library, list) in [(&ours, &mut a), (&theirs, &mut b)] {
                let from = cpu_ns();
                for _ in 0..times {
                    std::hint::black_box(read(library, &bytes));
                }
                list.push(cpu_ns() - from);
            }
        }
        let (a, b) = (median(&mut a), median(&mut b));
        let speed = |ns: f64| (bytes.len() * times) as f64 * 1e3 / ns;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        println!("{name:28} {:10.0} {:10.0} {:6.2}", speed(a), speed(b), b / a);
        product += (b / a).ln();
        documents += 1;
    }
    println!("geometric mean of the ratios: {:.2}", (product / f64::from(documents)).exp());
}
