//! Variables of the environment that may be trusted.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString};

/// A variable of the environment; `None` in a program that runs with more rights than its user (set-user-ID, file
/// capabilities), whose environment is the user's.
pub fn secure_variable(name: &CStr) -> Option<CString> {
    unsafe extern "C" {
        /// Of the C library: null where `getenv` is not to be trusted.
        fn secure_getenv(name: *const libc::c_char) -> *mut libc::c_char;
    }
    // SAFETY: the name is a C string; the answer is null or a C string, copied at once.
    unsafe {
        let value = secure_getenv(name.as_ptr());
        (!value.is_null()).then(|| CStr::from_ptr(value).to_owned())
    }
}
