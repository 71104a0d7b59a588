//! Compile errors, in memory of the caller's allocator.

use std::ffi::{CStr, c_char, c_int};

use crate::abi::{CompileError, HS_BAD_ALLOC, HS_SUCCESS};
use crate::memory::MISC;

/// An error that is not allocated.
#[repr(transparent)]
pub(crate) struct Fixed(CompileError);

// SAFETY: nobody writes to it: callers may only read it and pass it to `hs_free_compile_error`.
unsafe impl Sync for Fixed {}

impl Fixed {
    const fn new(message: &'static CStr) -> Fixed {
        Fixed(CompileError { message: message.as_ptr().cast_mut(), expression: 0 })
    }

    pub(crate) fn as_ptr(&'static self) -> *mut CompileError {
        (&raw const self.0).cast_mut()
    }
}

/// There is no memory for an error.
pub(crate) static NO_MEMORY: Fixed = Fixed::new(c"Unable to allocate memory.");
/// The allocator gives memory that is not aligned.
pub(crate) static BAD_ALLOC: Fixed = Fixed::new(c"Allocator returned misaligned memory.");
/// A defect of the library.
pub(crate) static INTERNAL: Fixed = Fixed::new(c"Internal error.");

/// The error that says why an allocator failed.
pub(crate) fn of_code(code: c_int) -> *mut CompileError {
    if code == HS_BAD_ALLOC { BAD_ALLOC.as_ptr() } else { NO_MEMORY.as_ptr() }
}

/// Allocates an error. A null byte in the message ends it.
pub(crate) fn new(message: &str, expression: c_int) -> *mut CompileError {
    let text: Vec<u8> = message.bytes().take_while(|&byte| byte != 0).chain([0]).collect();
    let error = match MISC.alloc(size_of::<CompileError>()) {
        Ok(memory) => memory.cast::<CompileError>(),
        Err(code) => return of_code(code),
    };
    match MISC.copy(&text) {
        Ok(message) => {
            // SAFETY: fresh memory of this size, aligned.
            unsafe {
                error.write(CompileError { message: message.as_ptr().cast::<c_char>(), expression })
            };
            error.as_ptr()
        }
        Err(code) => {
            // SAFETY: from above.
            unsafe { MISC.free(error.as_ptr().cast()) };
            of_code(code)
        }
    }
}

/// Frees an error of a compile call. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_free_compile_error(error: *mut CompileError) -> c_int {
    let fixed = [&NO_MEMORY, &BAD_ALLOC, &INTERNAL].map(Fixed::as_ptr);
    if !error.is_null() && !fixed.contains(&error) {
        // SAFETY: an error that `new` has made, as the caller promises.
        unsafe {
            MISC.free((*error).message.cast());
            MISC.free(error.cast());
        }
    }
    HS_SUCCESS
}
