//! One allocator for all copies of the C library in a process.
//!
//! What one copy of glibc allocates another one frees: all copies share the stacks of threads that have ended, and whoever
//! starts the next thread on such a stack frees the thread-local variables of the last one, which the dynamic linker had
//! allocated by the program's `malloc` (`get_cached_stack` of glibc 2.34 to 2.41). With an allocator of its own a copy thus
//! took pieces of a foreign heap into its lists.
//!
//! A namespace therefore begins with a library that has the program's allocator by the names of C. It is no more than a table
//! of symbols, whose values are the functions' addresses in this process.
#![allow(unsafe_code)]

use core::ffi::c_void;
use std::{
    fs::File,
    io::{self, Write as _},
    os::fd::AsRawFd as _,
    path::PathBuf,
};

use lookaside_core::memory_file;

/// A library in memory, for as long as it is opened.
pub(crate) struct Allocator(File);

/// The program's functions, or what it loads in their place.
fn functions() -> [(&'static str, *const c_void); 10] {
    unsafe extern "C" {
        fn pvalloc(size: usize) -> *mut c_void;
        fn valloc(size: usize) -> *mut c_void;
    }
    [
        ("malloc", libc::malloc as *const c_void),
        ("free", libc::free as *const c_void),
        ("calloc", libc::calloc as *const c_void),
        ("realloc", libc::realloc as *const c_void),
        ("memalign", libc::memalign as *const c_void),
        ("aligned_alloc", libc::aligned_alloc as *const c_void),
        ("posix_memalign", libc::posix_memalign as *const c_void),
        ("malloc_usable_size", libc::malloc_usable_size as *const c_void),
        ("valloc", valloc as *const c_void),
        ("pvalloc", pvalloc as *const c_void),
    ]
}

impl Allocator {
    /// Makes the library.
    pub(crate) fn new() -> Result<Allocator, String> {
        // glibc's allocator takes no locks as long as the program's own copy has started no thread; the other copy's are not
        // counted.
        let thread = std::thread::Builder::new().spawn(|| ());
        let threads = thread.map(|thread| thread.join().is_ok());
        let file = threads.and_then(|_| Allocator::file(&library(&functions())));
        file.map(Allocator).map_err(|why| format!("no library for the allocator: {why}"))
    }

    /// What to open.
    pub(crate) fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }

    fn file(bytes: &[u8]) -> io::Result<File> {
        let mut file = File::from(memory_file(c"lookaside-malloc")?);
        file.write_all(bytes)?;
        Ok(file)
    }
}

/// Sizes of the ELF-64 structures: header, program header, symbol.
const HEADER: usize = 64;
const SEGMENT: usize = 56;
const SYMBOL: usize = 24;

/// A file that grows by little-endian numbers.
#[derive(Default)]
struct Bytes(Vec<u8>);

impl Bytes {
    fn halves(&mut self, all: &[u16]) {
        all.iter().for_each(|n| self.0.extend(n.to_le_bytes()));
    }

    fn words(&mut self, all: &[u32]) {
        all.iter().for_each(|n| self.0.extend(n.to_le_bytes()));
    }

    fn longs(&mut self, all: &[usize]) {
        all.iter().for_each(|n| self.0.extend((*n as u64).to_le_bytes()));
    }
}

/// A shared library (System V ABI, chapters 4 and 5) that defines functions at these addresses.
fn library(functions: &[(&str, *const c_void)]) -> Vec<u8> {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    let names: Vec<u8> = functions
        .iter()
        .flat_map(|(name, _)| [b"\0", name.as_bytes()].concat())
        .chain([0])
        .collect();
    let hashes = HEADER + 3 * SEGMENT;
    // One bucket, in which all are.
    let symbols = (hashes + 4 * (2 + 1 + functions.len() + 1)).next_multiple_of(8);
    let strings = symbols + SYMBOL * (functions.len() + 1);
    let dynamic = (strings + names.len()).next_multiple_of(8);
    // DT_HASH, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_SYMENT, DT_NULL.
    let table = [4, hashes, 5, strings, 6, symbols, 10, names.len(), 11, SYMBOL, 0, 0];
    let end = dynamic + 8 * table.len();

    let mut file = Bytes::default();
    file.0.extend(*b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    // A shared object, version 1; no start, segments behind this, no sections.
    file.halves(&[3, MACHINE]);
    file.words(&[1]);
    file.longs(&[0, HEADER, 0]);
    file.words(&[0]);
    file.halves(&[HEADER as u16, SEGMENT as u16, 3, 0, 0, 0]);
    // PT_LOAD of all, PT_DYNAMIC, PT_GNU_STACK: each readable and writable, none executable.
    for (kind, at, len, align) in
        [(1, 0, end, 1 << 16), (2, dynamic, end - dynamic, 8), (0x6474_e551, 0, 0, 16)]
    {
        file.words(&[kind, 6]);
        file.longs(&[at, at, at, len, len, align]);
    }
    let count = functions.len() as u32;
    file.words(&[1, count + 1, 1]);
    // Chains: none for the symbol that is none, each to the next one, the last to none.
    file.words(&[0]);
    (1..=count).for_each(|n| file.words(&[if n < count { n + 1 } else { 0 }]));
    file.0.resize(symbols, 0);
    file.longs(&[0; SYMBOL / 8]);
    let mut name_at = 1;
    for (name, address) in functions {
        // STB_GLOBAL, STT_FUNC; SHN_ABS: an address that is not moved with the library.
        file.words(&[name_at]);
        file.0.extend([0x12, 0]);
        file.halves(&[0xfff1]);
        file.longs(&[address.addr(), 0]);
        name_at += name.len() as u32 + 1;
    }
    file.0.extend(&names);
    file.0.resize(dynamic, 0);
    file.longs(&table);
    file.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_has_the_functions_of_the_program() {
        let allocator = Allocator::new().unwrap();
        let path = std::ffi::CString::new(allocator.path().to_str().unwrap()).unwrap();
        // SAFETY: texts that end in zero; a library that is open until it is closed.
        unsafe {
            let handle = libc::dlmopen(libc::LM_ID_NEWLM, path.as_ptr(), libc::RTLD_NOW);
            assert!(!handle.is_null(), "{:?}", std::ffi::CStr::from_ptr(libc::dlerror()));
            for (name, address) in functions() {
                let name = std::ffi::CString::new(name).unwrap();
                assert_eq!(libc::dlsym(handle, name.as_ptr()).cast_const(), address, "{name:?}");
            }
            assert!(libc::dlsym(handle, c"calloc2".as_ptr()).is_null());
            libc::dlclose(handle);
        }
    }
}
