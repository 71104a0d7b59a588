//! The functions that read.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::ptr::null_mut;

use libc::size_t;
use libz_rs_sys::{Z_BUF_ERROR, Z_ERRNO, Z_OK, Z_STREAM_ERROR};

use super::reader::Reader;
use super::{gzFile, reader};

/// The file, if it can be read from.
///
/// # Safety
///
/// As for `reader`.
unsafe fn readable<'a>(file: gzFile) -> Option<&'a mut Reader> {
    // SAFETY: the caller guarantees a file, or null.
    unsafe { reader(file) }.filter(|reader| !reader.head.has_failed())
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzread(file: gzFile, buf: *mut c_void, len: c_uint) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(reader) = (unsafe { readable(file) }) else { return -1 };
    if c_int::try_from(len).is_err() {
        reader.head.fail(Z_STREAM_ERROR, c"request does not fit in an int");
        return -1;
    }
    // SAFETY: the caller guarantees the room.
    let got = unsafe { reader.read(buf.cast(), len as usize) };
    if got == 0 && reader.head.has_failed() { -1 } else { got as c_int }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzfread(
    buf: *mut c_void,
    size: size_t,
    nitems: size_t,
    file: gzFile,
) -> size_t {
    // SAFETY: the caller guarantees a file, or null.
    let Some(reader) = (unsafe { readable(file) }) else { return 0 };
    let Some(len) = nitems.checked_mul(size) else {
        reader.head.fail(Z_STREAM_ERROR, c"request does not fit in a size_t");
        return 0;
    };
    if len == 0 {
        return 0;
    }
    // SAFETY: the caller guarantees the room.
    unsafe { reader.read(buf.cast(), len) / size }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzgetc(file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(reader) = (unsafe { readable(file) }) else { return -1 };
    let mut byte = 0;
    if reader.head.have > 0 {
        // SAFETY: `have` bytes wait there.
        byte = unsafe { *reader.head.next };
        reader.advance(1);
        return byte.into();
    }
    // SAFETY: there is room for one.
    if unsafe { reader.read(&mut byte, 1) } == 1 { byte.into() } else { -1 }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzgetc_(file: gzFile) -> c_int {
    // SAFETY: the same function.
    unsafe { gzgetc(file) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzungetc(c: c_int, file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(reader) = (unsafe { readable(file) }) else { return -1 };
    if reader.skip().is_err() || c < 0 || reader.unread(c as u8).is_err() { -1 } else { c }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzgets(file: gzFile, buf: *mut c_char, len: c_int) -> *mut c_char {
    let Some(room) = usize::try_from(len).ok().filter(|&len| len > 0 && !buf.is_null()) else {
        return null_mut();
    };
    // SAFETY: the caller guarantees a file, or null.
    let Some(reader) = (unsafe { readable(file) }) else { return null_mut() };
    if reader.skip().is_err() {
        return null_mut();
    }
    let mut written = 0;
    while written < room - 1 {
        if reader.head.have == 0 && reader.fetch().is_err() {
            return null_mut();
        }
        if reader.head.have == 0 {
            reader.note_past_end();
            break;
        }
        let most = (reader.head.have as usize).min(room - 1 - written);
        // SAFETY: `most` bytes wait there, and there is room for as many.
        let n = unsafe {
            let end = libc::memchr(reader.head.next.cast(), b'\n'.into(), most);
            let n = if end.is_null() {
                most
            } else {
                end.cast::<u8>().offset_from(reader.head.next) as usize + 1
            };
            std::ptr::copy(reader.head.next, buf.cast::<u8>().add(written), n);
            n
        };
        reader.advance(n as c_uint);
        written += n;
        // SAFETY: at least one was written.
        if unsafe { *buf.add(written - 1) } == b'\n' as c_char {
            break;
        }
    }
    if written == 0 {
        return null_mut();
    }
    // SAFETY: there was one less written than there is room for.
    unsafe { *buf.add(written) = 0 };
    buf
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzdirect(file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    unsafe {
        match (reader(file), super::writer(file)) {
            (Some(reader), _) => reader.is_transparent().into(),
            (_, Some(writer)) => writer.is_transparent().into(),
            _ => 0,
        }
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzclose_r(file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    let Some(reader) = (unsafe { reader(file) }) else { return Z_STREAM_ERROR };
    // SAFETY: made by `open`, and not used again.
    let reader = unsafe { Box::from_raw(reader) };
    let error = if reader.head.error == Z_BUF_ERROR { Z_BUF_ERROR } else { Z_OK };
    let fd = reader.head.fd;
    drop(reader);
    // SAFETY: the file's descriptor is the library's to close.
    if unsafe { libc::close(fd) } == 0 { error } else { Z_ERRNO }
}
