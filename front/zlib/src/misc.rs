//! What the library says of itself, and the texts of return codes.

use std::ffi::{CStr, c_char, c_int, c_ulong};

/// The texts of return codes, from `Z_NEED_DICT` (2) down to `Z_VERSION_ERROR` (-6).
const MESSAGES: [&CStr; 9] = [
    c"need dictionary",
    c"stream end",
    c"",
    c"file error",
    c"stream error",
    c"data error",
    c"insufficient memory",
    c"buffer error",
    c"incompatible version",
];

/// The text of a return code, as `zError` and `msg` have it.
pub(crate) fn message(code: c_int) -> *mut c_char {
    let index = usize::try_from(2 - code).unwrap_or(usize::MAX);
    MESSAGES.get(index).unwrap_or(&c"").as_ptr().cast_mut()
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn zError(err: c_int) -> *const c_char {
    message(err)
}

/// See `zlib.h`: the version whose interface and behaviour this is.
#[unsafe(no_mangle)]
pub extern "C" fn zlibVersion() -> *const c_char {
    c"1.2.13".as_ptr()
}

/// See `zlib.h`: sizes of `uInt` (4 bytes), `uLong`, `voidpf` and `z_off_t` (8 bytes), two bits each;
/// everything that can be left out is there, as in Debian's library.
#[unsafe(no_mangle)]
pub extern "C" fn zlibCompileFlags() -> c_ulong {
    const fn size(of: usize) -> c_ulong {
        match of {
            2 => 0,
            4 => 1,
            8 => 2,
            _ => 3,
        }
    }
    size(size_of::<libc::c_uint>())
        | size(size_of::<c_ulong>()) << 2
        | size(size_of::<*const u8>()) << 4
        | size(size_of::<libc::off_t>()) << 6
}
