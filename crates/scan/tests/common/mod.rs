//! Hyperscan of this machine, opened at run time, as an oracle.
#![allow(dead_code, reason = "each test uses a part")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void};

use lookaside_scan::syntax::{Extended, Flags};

/// The number of random cases: `LOOKASIDE_SCAN_CASES`, or `usual`.
pub fn cases(usual: u64) -> u64 {
    std::env::var("LOOKASIDE_SCAN_CASES")
        .ok()
        .and_then(|number| number.parse().ok())
        .unwrap_or(usual)
}

/// A pattern as Hyperscan takes it.
pub struct Expression<'a> {
    pub id: u32,
    pub expression: &'a [u8],
    pub flags: Flags,
    pub extended: Extended,
}

/// A match as Hyperscan reports it; the start is 0 without that flag.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Found {
    pub id: u32,
    pub start: u64,
    pub end: u64,
}

#[repr(C)]
struct CompileError {
    message: *const c_char,
    expression: c_int,
}

#[repr(C)]
struct ExprExt {
    flags: c_ulonglong,
    min_offset: c_ulonglong,
    max_offset: c_ulonglong,
    min_length: c_ulonglong,
    edit_distance: c_uint,
    hamming_distance: c_uint,
}

/// What Hyperscan says of an expression: `hs_expr_info_t`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ExprInfo {
    pub min_width: c_uint,
    pub max_width: c_uint,
    pub unordered_matches: c_char,
    pub matches_at_eod: c_char,
    pub matches_only_at_eod: c_char,
}

type OnMatch = extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, *mut c_void) -> c_int;

macro_rules! library {
    ($($name:ident($($arg:ty),*) -> $result:ty;)*) => {
        /// The functions of `libhs.so.5`.
        #[derive(Clone, Copy)]
        pub struct Hyperscan {
            $($name: unsafe extern "C" fn($($arg),*) -> $result,)*
        }

        impl Hyperscan {
            /// Opens the library of the system. Without it, says so, and the test has to end.
            pub fn open() -> Option<Hyperscan> {
                // SAFETY: the names are string literals; the library has no initialisers of note.
                let library = unsafe { libc::dlopen(c"libhs.so.5".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
                if library.is_null() {
                    eprintln!("SKIPPED: no libhs.so.5 on this machine (Debian: libhyperscan5); nothing was compared");
                    return None;
                }
                // SAFETY: the signatures are those of hs.h.
                unsafe {
                    Some(Hyperscan {
                        $($name: {
                            let name = CString::new(stringify!($name)).unwrap();
                            let found = libc::dlsym(library, name.as_ptr());
                            assert!(!found.is_null(), "{name:?}");
                            std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $result>(found)
                        },)*
                    })
                }
            }
        }
    };
}

library! {
    hs_compile_ext_multi(*const *const c_char, *const c_uint, *const c_uint, *const *const ExprExt, c_uint, c_uint,
        *const c_void, *mut *mut c_void, *mut *mut CompileError) -> c_int;
    hs_expression_info(*const c_char, c_uint, *mut *mut ExprInfo, *mut *mut CompileError) -> c_int;
    hs_free_compile_error(*mut CompileError) -> c_int;
    hs_free_database(*mut c_void) -> c_int;
    hs_alloc_scratch(*const c_void, *mut *mut c_void) -> c_int;
    hs_free_scratch(*mut c_void) -> c_int;
    hs_scan(*const c_void, *const c_char, c_uint, c_uint, *mut c_void, OnMatch, *mut c_void) -> c_int;
}

/// A compiled set, for blocks.
pub struct Database {
    library: Hyperscan,
    database: *mut c_void,
    scratch: *mut c_void,
}

impl Hyperscan {
    /// What it says of an expression; `None` if it refuses it.
    pub fn info(&self, expression: &[u8], flags: Flags) -> Option<ExprInfo> {
        let text = CString::new(expression).unwrap();
        let (mut info, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: the string outlives the call. What is allocated for the answer, with malloc as no other allocator
        // is set, is freed once.
        unsafe {
            if (self.hs_expression_info)(text.as_ptr(), flags.bits(), &raw mut info, &raw mut error)
                != 0
            {
                (self.hs_free_compile_error)(error);
                return None;
            }
            let copy = *info;
            libc::free(info.cast());
            Some(copy)
        }
    }

    /// Compiles `set` for blocks; its message if it refuses.
    pub fn compile(&self, set: &[Expression<'_>]) -> Result<Database, String> {
        let text: Vec<CString> =
            set.iter().map(|one| CString::new(one.expression).unwrap()).collect();
        let text: Vec<*const c_char> = text.iter().map(|text| text.as_ptr()).collect();
        let flags: Vec<c_uint> = set.iter().map(|one| one.flags.bits()).collect();
        let ids: Vec<c_uint> = set.iter().map(|one| one.id).collect();
        let extended: Vec<ExprExt> = set.iter().map(|one| ext(one.extended)).collect();
        let extended: Vec<*const ExprExt> = extended.iter().map(std::ptr::from_ref).collect();
        let (mut database, mut error) = (std::ptr::null_mut(), std::ptr::null_mut());
        const BLOCK: c_uint = 1;
        // SAFETY: the arrays have `set.len()` elements each and outlive the call, as do what they point to.
        let result = unsafe {
            (self.hs_compile_ext_multi)(
                text.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                extended.as_ptr(),
                set.len() as c_uint,
                BLOCK,
                std::ptr::null(),
                &raw mut database,
                &raw mut error,
            )
        };
        if result != 0 {
            // SAFETY: a failed call leaves an error with a message, which is freed once.
            unsafe {
                let message = CStr::from_ptr((*error).message).to_string_lossy().into_owned();
                (self.hs_free_compile_error)(error);
                return Err(message);
            }
        }
        let mut scratch = std::ptr::null_mut();
        // SAFETY: the database was just compiled.
        assert_eq!(unsafe { (self.hs_alloc_scratch)(database, &raw mut scratch) }, 0);
        Ok(Database { library: *self, database, scratch })
    }
}

fn ext(extended: Extended) -> ExprExt {
    let flag = |set: bool, bit: c_ulonglong| if set { bit } else { 0 };
    ExprExt {
        flags: flag(extended.min_offset.is_some(), 1)
            | flag(extended.max_offset.is_some(), 2)
            | flag(extended.min_length.is_some(), 4),
        min_offset: extended.min_offset.unwrap_or(0),
        max_offset: extended.max_offset.unwrap_or(0),
        min_length: extended.min_length.unwrap_or(0),
        edit_distance: 0,
        hamming_distance: 0,
    }
}

impl Database {
    /// All matches in `data`, in the order in which they are reported.
    pub fn scan(&self, data: &[u8]) -> Vec<Found> {
        extern "C" fn on_match(
            id: c_uint,
            from: c_ulonglong,
            to: c_ulonglong,
            _: c_uint,
            all: *mut c_void,
        ) -> c_int {
            // SAFETY: `all` is the vector of the call below, which nothing else uses meanwhile.
            unsafe { (*all.cast::<Vec<Found>>()).push(Found { id, start: from, end: to }) };
            0
        }
        let mut all: Vec<Found> = Vec::new();
        let to = (&raw mut all).cast();
        // SAFETY: the data outlives the call; the scratch is that of this database and in no other call.
        let result = unsafe {
            let (data, len) = (data.as_ptr().cast(), data.len() as c_uint);
            (self.library.hs_scan)(self.database, data, len, 0, self.scratch, on_match, to)
        };
        assert_eq!(result, 0);
        all
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // SAFETY: both are from the library and freed once.
        unsafe {
            (self.library.hs_free_scratch)(self.scratch);
            (self.library.hs_free_database)(self.database);
        }
    }
}
