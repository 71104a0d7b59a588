//! The gz functions: files.
//!
//! A `gzFile` points to a [`Reader`] or a [`Writer`]. Both begin with a [`Head`], and that with the
//! three fields that `zlib.h` shows, since its macro `gzgetc` reads and writes them. Whatever is
//! compressed or decompressed here goes through this library's own `deflate` and `inflate`, so
//! files are served by what serves streams.
//!
//! Behaviour is zlib 1.2.13's, also where it surprises: a read that fails after some bytes returns
//! -1, and `EINTR` and `EAGAIN` are errors like any other. So the buffer that `gzbuffer` sets (8 KB)
//! decides what it decides there: how much is decompressed at once, and thus lost when an error
//! follows, how much `gzungetc` can push back, and how long a text `gzprintf` takes. What differs:
//!
//! - A file that is written gets larger pieces to compress as it grows, and one that is read by its
//!   path larger reads (`memory.rs` has the measures). Nothing is read ahead of a descriptor that
//!   the caller gave, beyond what zlib reads.
//! - Where zlib 1.2.13 reads memory that is not its own, this does not: `gzungetc` as the first call
//!   on a file works (as in 1.3), `gzdopen` refuses negative descriptors, a `gzwrite` that failed
//!   leaves no pointer into the caller's buffer behind.

mod memory;
mod open;
mod position;
mod read;
mod reader;
mod write;
mod writer;

use std::ffi::{CStr, CString, c_char, c_int, c_uint};

use libz_rs_sys::{Z_BUF_ERROR, Z_ERRNO, Z_MEM_ERROR, Z_OK, Z_STREAM_ERROR, z_off64_t};

pub use open::*;
pub use position::*;
pub use read::*;
pub use write::*;

use reader::Reader;
use writer::Writer;

/// An open file, as C sees it.
#[allow(non_camel_case_types, reason = "the name is zlib's")]
pub type gzFile = *mut Head;

/// What every open file has.
#[repr(C)]
pub struct Head {
    /// Decompressed bytes that wait to be read: how many,
    have: c_uint,
    /// where,
    next: *mut u8,
    /// and the position in the uncompressed data of the first of them, or of what is written next.
    pos: z_off64_t,
    // To here, zlib.h shows it.
    kind: Kind,
    fd: c_int,
    /// The size of the buffers, which can be set until they are there.
    want: c_uint,
    /// How far to skip before the next read or write: `gzseek` only notes it.
    skip: Option<z_off64_t>,
    error: c_int,
    message: Option<CString>,
    /// For messages.
    path: CString,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Read,
    Write,
}

/// Something failed, and [`Head`] knows what.
struct Failed;

impl Head {
    /// Whether reading and writing have ended. `Z_BUF_ERROR`, an unexpected end, may be read past.
    fn has_failed(&self) -> bool {
        self.error != Z_OK && self.error != Z_BUF_ERROR
    }

    /// Notes an error, to be asked for by `gzerror`.
    fn fail(&mut self, error: c_int, text: &CStr) -> Failed {
        self.clear();
        self.error = error;
        if self.has_failed() {
            self.have = 0; // The macro gzgetc looks at nothing else.
        }
        if error != Z_MEM_ERROR {
            let mut message = Vec::new();
            let (path, text) = (self.path.as_bytes(), text.to_bytes());
            if message.try_reserve_exact(path.len() + text.len() + 3).is_err() {
                self.error = Z_MEM_ERROR;
                return Failed;
            }
            message.extend_from_slice(path);
            message.extend_from_slice(b": ");
            message.extend_from_slice(text);
            // Both come from C strings, so there is no zero within.
            self.message = CString::new(message).ok();
        }
        Failed
    }

    /// Notes what `errno` says.
    fn fail_by_errno(&mut self) -> Failed {
        // SAFETY: errno is this thread's; strerror returns a string that lives until its next call.
        let text = unsafe { CStr::from_ptr(libc::strerror(*libc::__errno_location())) };
        self.fail(Z_ERRNO, text)
    }

    fn fail_for_memory(&mut self) -> Failed {
        self.fail(Z_MEM_ERROR, c"out of memory")
    }

    fn clear(&mut self) {
        self.error = Z_OK;
        self.message = None;
    }
}

/// The file, whichever way it is open.
///
/// # Safety
///
/// For this and the next two: `file` is null, or was opened and is not closed, and nobody else uses
/// it during `'a`.
unsafe fn head<'a>(file: gzFile) -> Option<&'a mut Head> {
    // SAFETY: the caller guarantees it.
    unsafe { file.as_mut() }
}

/// The file, if it is open for reading.
unsafe fn reader<'a>(file: gzFile) -> Option<&'a mut Reader> {
    // SAFETY: the caller guarantees that it is a file; its kind tells which.
    unsafe { head(file).is_some_and(|head| head.kind == Kind::Read).then(|| &mut *file.cast()) }
}

/// The file, if it is open for writing.
unsafe fn writer<'a>(file: gzFile) -> Option<&'a mut Writer> {
    // SAFETY: as for `reader`.
    unsafe { head(file).is_some_and(|head| head.kind == Kind::Write).then(|| &mut *file.cast()) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzerror(file: gzFile, errnum: *mut c_int) -> *const c_char {
    // SAFETY: the caller guarantees a file, or null.
    let Some(head) = (unsafe { head(file) }) else { return std::ptr::null() };
    // SAFETY: null, or the caller's.
    if let Some(errnum) = unsafe { errnum.as_mut() } {
        *errnum = head.error;
    }
    if head.error == Z_MEM_ERROR {
        return c"out of memory".as_ptr();
    }
    head.message.as_deref().unwrap_or(c"").as_ptr()
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzclearerr(file: gzFile) {
    // SAFETY: the caller guarantees a file, or null.
    unsafe {
        if let Some(reader) = reader(file) {
            reader.forget_end();
        }
        if let Some(head) = head(file) {
            head.clear();
        }
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzeof(file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    unsafe { reader(file) }.map_or(0, |reader| reader.past_end().into())
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzbuffer(file: gzFile, size: c_uint) -> c_int {
    // SAFETY: the caller guarantees a file, or null.
    unsafe {
        let in_use = match (reader(file), writer(file)) {
            (Some(reader), _) => reader.has_buffers(),
            (_, Some(writer)) => writer.has_buffers(),
            _ => true,
        };
        // Twice the size must fit an unsigned, as zlib doubles one of its buffers.
        if in_use || size > c_uint::MAX / 2 {
            return -1;
        }
        if let Some(head) = head(file) {
            head.want = size.max(2); // The two bytes that tell a gzip file.
        }
    }
    0
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzclose(file: gzFile) -> c_int {
    // SAFETY: the caller guarantees a file, or null, and does not use it again.
    unsafe {
        match head(file).map(|head| head.kind) {
            Some(Kind::Read) => gzclose_r(file),
            Some(Kind::Write) => gzclose_w(file),
            None => Z_STREAM_ERROR,
        }
    }
}
