//! Opening files.

use std::ffi::{CStr, CString, c_char, c_int};
use std::io::Write;
use std::ptr::null_mut;

use libz_rs_sys::{
    Z_DEFAULT_COMPRESSION, Z_DEFAULT_STRATEGY, Z_FILTERED, Z_FIXED, Z_HUFFMAN_ONLY, Z_OK, Z_RLE,
};

use super::memory::place;
use super::reader::Reader;
use super::writer::{Settings, Writer};
use super::{Head, Kind, gzFile};

/// What a mode string says.
struct Mode {
    kind: Kind,
    append: bool,
    exclusive: bool,
    close_on_exec: bool,
    settings: Settings,
}

/// Reads a mode string. Of letters that exclude each other the last one counts; unknown ones are
/// ignored; reading and writing at once there is not.
fn mode_of(text: &[u8]) -> Option<Mode> {
    let mut kind = None;
    let (mut append, mut exclusive, mut close_on_exec) = (false, false, false);
    let mut settings =
        Settings { level: Z_DEFAULT_COMPRESSION, strategy: Z_DEFAULT_STRATEGY, transparent: false };
    for &letter in text {
        match letter {
            b'0'..=b'9' => settings.level = (letter - b'0').into(),
            b'r' => kind = Some(Kind::Read),
            b'w' | b'a' => (kind, append) = (Some(Kind::Write), letter == b'a'),
            b'+' => return None,
            b'e' => close_on_exec = true,
            b'x' => exclusive = true,
            b'f' => settings.strategy = Z_FILTERED,
            b'h' => settings.strategy = Z_HUFFMAN_ONLY,
            b'R' => settings.strategy = Z_RLE,
            b'F' => settings.strategy = Z_FIXED,
            b'T' => settings.transparent = true,
            _ => {}
        }
    }
    let kind = kind?;
    // Whether a file is read as it is, its content says.
    let can = kind == Kind::Write || !settings.transparent;
    can.then_some(Mode { kind, append, exclusive, close_on_exec, settings })
}

impl Mode {
    fn open_flags(&self) -> c_int {
        let close_on_exec = if self.close_on_exec { libc::O_CLOEXEC } else { 0 };
        let access = match self.kind {
            Kind::Read => libc::O_RDONLY,
            Kind::Write => {
                let existing = if self.append { libc::O_APPEND } else { libc::O_TRUNC };
                let exclusive = if self.exclusive { libc::O_EXCL } else { 0 };
                libc::O_WRONLY | libc::O_CREAT | existing | exclusive
            }
        };
        libc::O_LARGEFILE | close_on_exec | access
    }
}

/// Opens `path`, or takes `fd`, of which `path` is then the name in messages.
///
/// # Safety
///
/// `mode` is null or a C string.
unsafe fn open(path: &CStr, fd: Option<c_int>, mode: *const c_char) -> gzFile {
    if mode.is_null() {
        return null_mut();
    }
    // SAFETY: the caller guarantees a string.
    let Some(mode) = mode_of(unsafe { CStr::from_ptr(mode) }.to_bytes()) else {
        return null_mut();
    };
    let mut name = Vec::new();
    if name.try_reserve_exact(path.count_bytes() + 1).is_err() {
        return null_mut();
    }
    name.extend_from_slice(path.to_bytes_with_nul());
    let Ok(name) = CString::from_vec_with_nul(name) else { return null_mut() };
    let opened = match fd {
        Some(fd) => fd,
        // SAFETY: the path is a C string; open takes a third argument.
        None => unsafe { libc::open(path.as_ptr(), mode.open_flags(), 0o666) },
    };
    if opened == -1 {
        return null_mut();
    }
    if mode.append {
        // So that gzoffset is right before the first write.
        // SAFETY: no memory is involved.
        unsafe { libc::lseek64(opened, 0, libc::SEEK_END) };
    }
    let head = Head {
        have: 0,
        next: null_mut(),
        pos: 0,
        kind: mode.kind,
        fd: opened,
        want: 8192,
        skip: None,
        error: Z_OK,
        message: None,
        path: name,
    };
    let file: gzFile = match mode.kind {
        Kind::Read => place(Reader::new(head, fd.is_none())).cast(),
        Kind::Write => place(Writer::new(head, mode.settings)).cast(),
    };
    if file.is_null() && fd.is_none() {
        // SAFETY: opened above, and nobody has it.
        unsafe { libc::close(opened) };
    }
    file
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzopen(path: *const c_char, mode: *const c_char) -> gzFile {
    if path.is_null() {
        return null_mut();
    }
    // SAFETY: the caller guarantees strings.
    unsafe { open(CStr::from_ptr(path), None, mode) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzopen64(path: *const c_char, mode: *const c_char) -> gzFile {
    // SAFETY: the same function.
    unsafe { gzopen(path, mode) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn gzdopen(fd: c_int, mode: *const c_char) -> gzFile {
    if fd < 0 {
        return null_mut();
    }
    // Without the heap, which may be used up; the last byte stays zero.
    let mut name = [0; 24];
    if write!(&mut name[..23], "<fd:{fd}>").is_err() {
        return null_mut();
    }
    let Ok(name) = CStr::from_bytes_until_nul(&name) else { return null_mut() };
    // SAFETY: the caller guarantees a string.
    unsafe { open(name, Some(fd), mode) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_contrary_letters_counts() {
        let mode = mode_of(b"rb1wa9fhRe").expect("a mode");
        assert!(mode.kind == Kind::Write && mode.append && mode.close_on_exec && !mode.exclusive);
        assert_eq!((mode.settings.level, mode.settings.strategy), (9, Z_RLE));
        assert_eq!(mode.open_flags() & libc::O_TRUNC, 0);
        assert!(!mode_of(b"aw").expect("a mode").append);
        for wrong in [&b""[..], b"b9", b"r+", b"wb+", b"rT"] {
            assert!(mode_of(wrong).is_none(), "{wrong:?}");
        }
    }
}
