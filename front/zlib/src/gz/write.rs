//! The functions that write.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use libc::size_t;
use libz_rs_sys::{Z_DATA_ERROR, Z_ERRNO, Z_FINISH, Z_OK, Z_STREAM_ERROR};

use super::writer::Writer;
use super::{gzFile, writer};

/// The file, if it can be written to.
///
/// # Safety
///
/// As for `writer`.
unsafe fn writable<'a>(file: gzFile) -> Option<&'a mut Writer> {
    // SAFETY: the caller guarantees a file, or null.
    unsafe { writer(file) }.filter(|writer| writer.head.error == Z_OK)
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzwrite(file: gzFile, buf: *const c_void, len: c_uint) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(writer) = (unsafe { writable(file) }) else { return 0 };
    if c_int::try_from(len).is_err() {
        writer.head.fail(Z_DATA_ERROR, c"requested length does not fit in int");
        return 0;
    }
    // SAFETY: the caller guarantees the bytes.
    unsafe { writer.write(buf.cast(), len as usize) as c_int }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzfwrite(
    buf: *const c_void,
    size: size_t,
    nitems: size_t,
    file: gzFile,
) -> size_t {
    // SAFETY: the caller guarantees a file, or null.
    let Some(writer) = (unsafe { writable(file) }) else { return 0 };
    let Some(len) = nitems.checked_mul(size) else {
        writer.head.fail(Z_STREAM_ERROR, c"request does not fit in a size_t");
        return 0;
    };
    if len == 0 {
        return 0;
    }
    // SAFETY: the caller guarantees the bytes.
    unsafe { writer.write(buf.cast(), len) / size }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzputc(file: gzFile, c: c_int) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(writer) = (unsafe { writable(file) }) else { return -1 };
    if writer.skip().is_err() {
        return -1;
    }
    let byte = c as u8;
    // SAFETY: one byte lies there.
    let taken = writer.collect_byte(byte) || unsafe { writer.write(&byte, 1) } == 1;
    if taken { byte.into() } else { -1 }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzputs(file: gzFile, s: *const c_char) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(writer) = (unsafe { writable(file) }) else { return -1 };
    // SAFETY: the caller guarantees a string.
    let text = unsafe { CStr::from_ptr(s) };
    let Ok(len) = c_int::try_from(text.count_bytes()) else {
        writer.head.fail(Z_STREAM_ERROR, c"string length does not fit in int");
        return -1;
    };
    // SAFETY: the string has so many bytes.
    let taken = unsafe { writer.write(s.cast(), len as usize) };
    if taken == len as usize { len } else { -1 }
}

/// For `gzvprintf`, which is C: where to put a text, and how long it may be with its terminating
/// zero. Null, and the result of the call, where there is no such place.
///
/// # Safety
///
/// `file` is a file or null, the other two are not null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lookaside_gz_room(
    file: gzFile,
    room: *mut c_uint,
    error: *mut c_int,
) -> *mut c_char {
    // SAFETY: the caller guarantees a file, or null, and the other two.
    unsafe {
        *error = Z_STREAM_ERROR;
        let Some(writer) = writable(file) else { return null_mut() };
        if let Ok((place, len)) = writer.room_for_text() {
            *room = len;
            return place.cast();
        }
        *error = writer.head.error;
        null_mut()
    }
}

/// For `gzvprintf`: there is a text of `len` bytes in the room that it got. Returns its result.
///
/// # Safety
///
/// `file` is the file that gave the room, with nothing in between.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lookaside_gz_printed(file: gzFile, len: c_uint) -> c_int {
    // SAFETY: the caller guarantees a file.
    let Some(writer) = (unsafe { writable(file) }) else { return Z_STREAM_ERROR };
    if writer.take_text(len).is_err() { writer.head.error } else { len as c_int }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzflush(file: gzFile, flush: c_int) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(writer) = (unsafe { writable(file) }) else { return Z_STREAM_ERROR };
    if !(0..=Z_FINISH).contains(&flush) {
        return Z_STREAM_ERROR;
    }
    // An error is in the head, which is what is returned.
    let _ = writer.flush(flush);
    writer.head.error
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzsetparams(file: gzFile, level: c_int, strategy: c_int) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(writer) = (unsafe { writable(file) }) else { return Z_STREAM_ERROR };
    match writer.change(level, strategy) {
        Ok(()) => Z_OK,
        Err(_) => writer.head.error,
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzclose_w(file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(writer) = (unsafe { writer(file) }) else { return Z_STREAM_ERROR };
    // SAFETY: made by `open`, and not used again.
    let mut writer = unsafe { Box::from_raw(writer) };
    let mut result = Z_OK;
    if writer.skip().is_err() {
        result = writer.head.error;
    }
    if writer.finish().is_err() {
        result = writer.head.error;
    }
    if let (Z_OK, Some(error)) = (result, writer.lost) {
        // What is in the file may be whole as far as it goes, but it is not all that was written.
        result = error;
    }
    let fd = writer.head.fd;
    drop(writer);
    // SAFETY: the file's descriptor is the library's to close.
    if unsafe { libc::close(fd) } == 0 { result } else { Z_ERRNO }
}
