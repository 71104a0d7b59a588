//! Hyperscan, if it is installed: the rival of `--bench`, loaded from `libhs.so.5`.
#![allow(unsafe_code)]

use std::{
    ffi::{CStr, CString, c_char, c_int, c_uint, c_ulonglong, c_void},
    ptr,
};

use lookaside::scan::Expression;

use super::snort::escaped;

type Handle = *mut c_void;
type Found = unsafe extern "C" fn(c_uint, c_ulonglong, c_ulonglong, c_uint, Handle) -> c_int;

/// `hs_expr_ext` of hs_compile.h.
#[repr(C)]
#[derive(Default)]
struct Extended {
    flags: c_ulonglong,
    min_offset: c_ulonglong,
    max_offset: c_ulonglong,
    min_length: c_ulonglong,
    edit_distance: c_uint,
    hamming_distance: c_uint,
}

/// `hs_compile_error_t` of hs_compile.h.
#[repr(C)]
struct CompileError {
    message: *const c_char,
    expression: c_int,
}

type Compile = unsafe extern "C" fn(
    *const *const c_char,
    *const c_uint,
    *const c_uint,
    *const *const Extended,
    c_uint,
    c_uint,
    *const c_void,
    *mut Handle,
    *mut *mut CompileError,
) -> c_int;
type Scan =
    unsafe extern "C" fn(Handle, *const c_char, c_uint, c_uint, Handle, Found, Handle) -> c_int;

/// `HS_MODE_BLOCK`.
const BLOCK: c_uint = 1;

/// A set of patterns, compiled by Hyperscan for blocks. It stays for the life of the process.
pub(super) struct Hyperscan {
    scan: Scan,
    version: String,
    database: Handle,
    scratch: Handle,
}

impl Hyperscan {
    /// Loads the library and compiles the patterns.
    pub(super) fn open(patterns: &[Expression]) -> Result<Hyperscan, String> {
        let texts: Result<Vec<CString>, _> = patterns
            .iter()
            .map(|pattern| match pattern.literal {
                true => CString::new(escaped(&pattern.text)),
                false => CString::new(&*pattern.text),
            })
            .collect();
        let texts = texts.map_err(|_| "a pattern has a byte 0".to_owned())?;
        let extended: Vec<Extended> = patterns.iter().map(extended).collect();
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        let extended: Vec<_> = extended.iter().map(ptr::from_ref).collect();
        let flags: Vec<c_uint> = patterns.iter().map(|pattern| pattern.flags.bits()).collect();
        let ids: Vec<c_uint> = patterns.iter().map(|pattern| pattern.id).collect();
        let (mut database, mut scratch) = (ptr::null_mut(), ptr::null_mut());
        let mut error: *mut CompileError = ptr::null_mut();
        // SAFETY: names and types are those of the headers of Hyperscan 5, and the library's own start does nothing
        // with ours. The arrays have the length that is passed, and live through the calls.
        unsafe {
            let library = libc::dlopen(c"libhs.so.5".as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if library.is_null() {
                return Err("libhs.so.5 is not installed (Debian: libhyperscan5)".into());
            }
            let symbol = |name: &CStr| {
                let at = libc::dlsym(library, name.as_ptr());
                let missing = || format!("libhs.so.5 has no {}", name.to_string_lossy());
                if at.is_null() { Err(missing()) } else { Ok(at) }
            };
            let version = symbol(c"hs_version")?;
            let version =
                std::mem::transmute::<Handle, unsafe extern "C" fn() -> *const c_char>(version);
            let compile = std::mem::transmute::<Handle, Compile>(symbol(c"hs_compile_ext_multi")?);
            let alloc = std::mem::transmute::<
                Handle,
                unsafe extern "C" fn(Handle, *mut Handle) -> c_int,
            >(symbol(c"hs_alloc_scratch")?);
            let scan = std::mem::transmute::<Handle, Scan>(symbol(c"hs_scan")?);
            let status = compile(
                pointers.as_ptr(),
                flags.as_ptr(),
                ids.as_ptr(),
                extended.as_ptr(),
                ids.len() as c_uint,
                BLOCK,
                ptr::null(),
                &mut database,
                &mut error,
            );
            if status != 0 {
                let what = match error.is_null() {
                    true => format!("status {status}"),
                    false => CStr::from_ptr((*error).message).to_string_lossy().into_owned(),
                };
                return Err(format!("it refuses the patterns: {what}"));
            }
            if alloc(database, &mut scratch) != 0 {
                return Err("it has no memory".into());
            }
            let version = CStr::from_ptr(version()).to_string_lossy();
            let version = version.split(' ').next().unwrap_or_default().to_owned();
            Ok(Hyperscan { scan, version, database, scratch })
        }
    }

    /// The library's version.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// How many matches a block has.
    pub(super) fn scan(&self, block: &[u8]) -> Result<u64, String> {
        let mut count = 0u64;
        let len = c_uint::try_from(block.len()).map_err(|_| "a block is too long".to_owned())?;
        // SAFETY: database and scratch belong together, one thread uses them; `found` gets a number.
        let status = unsafe {
            let count = ptr::from_mut(&mut count).cast();
            (self.scan)(self.database, block.as_ptr().cast(), len, 0, self.scratch, found, count)
        };
        match status {
            0 => Ok(count),
            status => Err(format!("hs_scan: status {status}")),
        }
    }
}

unsafe extern "C" fn found(
    _: c_uint,
    _: c_ulonglong,
    _: c_ulonglong,
    _: c_uint,
    count: Handle,
) -> c_int {
    // SAFETY: what `Hyperscan::scan` passes.
    unsafe { *count.cast::<u64>() += 1 };
    0
}

fn extended(pattern: &Expression) -> Extended {
    let mut extended = Extended::default();
    let of = &pattern.extended;
    let mut set = |bit: c_ulonglong, place: &mut c_ulonglong, value: Option<u64>| {
        if let Some(value) = value {
            extended.flags |= bit;
            *place = value;
        }
    };
    let (mut min_offset, mut max_offset, mut min_length) = (0, 0, 0);
    set(1, &mut min_offset, of.min_offset);
    set(2, &mut max_offset, of.max_offset);
    set(4, &mut min_length, of.min_length);
    Extended { min_offset, max_offset, min_length, ..extended }
}
