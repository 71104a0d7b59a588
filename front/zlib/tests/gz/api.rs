//! The gz functions of one library, as C sees them.

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::path::Path;

use lookaside_z::gz as ours;

/// A `gzFile` of either library.
pub type File = *mut c_void;

/// Debian's zlib: the rival in every comparison here.
pub const STOCK: &CStr = c"/lib/x86_64-linux-gnu/libz.so.1";

/// The smallest size that both libraries take for a buffer. zlib 1.3 makes 8 of less, which shows in how
/// many characters can be pushed back.
pub fn smallest_buffer() -> c_uint {
    // SAFETY: dlopen and dlsym with strings; the type is that of zlib.h, which gives a string of the library's.
    let version = unsafe {
        let library =
            libc::dlopen(STOCK.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND);
        let function = libc::dlsym(library, c"zlibVersion".as_ptr());
        assert!(!function.is_null(), "{STOCK:?} (Debian package zlib1g)");
        let version: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(function);
        CStr::from_ptr(version())
    };
    if version.to_bytes().starts_with(b"1.2.") { 0 } else { 8 }
}

macro_rules! api {
    ($($name:ident: fn($($arg:ty),*) -> $result:ty;)*) => {
        #[derive(Clone, Copy)]
        pub struct Api {
            pub name: &'static str,
            $(pub $name: unsafe extern "C" fn($($arg),*) -> $result,)*
        }

        impl Api {
            pub fn ours() -> Self {
                // SAFETY: a pointer to the structure behind a file is as good as any other pointer.
                unsafe {
                    Api { name: "ours", $($name: std::mem::transmute::<*const (), unsafe extern "C" fn($($arg),*) -> $result>(ours::$name as *const ()),)* }
                }
            }

            pub fn stock() -> Self {
                // SAFETY: dlopen and dlsym with strings; the types are those of zlib.h.
                unsafe {
                    let library = libc::dlopen(STOCK.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND);
                    assert!(!library.is_null(), "{STOCK:?} (Debian package zlib1g)");
                    Api { name: "stock", $($name: {
                        let name = CString::new(stringify!($name)).unwrap();
                        let function = libc::dlsym(library, name.as_ptr());
                        assert!(!function.is_null(), "{name:?}");
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($arg),*) -> $result>(function)
                    },)* }
                }
            }
        }
    };
}

api! {
    gzbuffer: fn(File, c_uint) -> c_int;
    gzclearerr: fn(File) -> ();
    gzclose: fn(File) -> c_int;
    gzclose_r: fn(File) -> c_int;
    gzclose_w: fn(File) -> c_int;
    gzdirect: fn(File) -> c_int;
    gzdopen: fn(c_int, *const c_char) -> File;
    gzeof: fn(File) -> c_int;
    gzerror: fn(File, *mut c_int) -> *const c_char;
    gzflush: fn(File, c_int) -> c_int;
    gzfread: fn(*mut u8, usize, usize, File) -> usize;
    gzfwrite: fn(*const u8, usize, usize, File) -> usize;
    gzgetc: fn(File) -> c_int;
    gzgetc_: fn(File) -> c_int;
    gzgets: fn(File, *mut c_char, c_int) -> *mut c_char;
    gzoffset: fn(File) -> i64;
    gzoffset64: fn(File) -> i64;
    gzopen: fn(*const c_char, *const c_char) -> File;
    gzopen64: fn(*const c_char, *const c_char) -> File;
    gzputc: fn(File, c_int) -> c_int;
    gzputs: fn(File, *const c_char) -> c_int;
    gzread: fn(File, *mut u8, c_uint) -> c_int;
    gzrewind: fn(File) -> c_int;
    gzseek: fn(File, i64, c_int) -> i64;
    gzseek64: fn(File, i64, c_int) -> i64;
    gzsetparams: fn(File, c_int, c_int) -> c_int;
    gztell: fn(File) -> i64;
    gztell64: fn(File) -> i64;
    gzungetc: fn(c_int, File) -> c_int;
    gzwrite: fn(File, *const u8, c_uint) -> c_int;
}

impl Api {
    pub fn open(&self, path: &Path, mode: &str) -> Option<Open> {
        let path = CString::new(path.to_str().unwrap()).unwrap();
        let mode = CString::new(mode).unwrap();
        // SAFETY: two strings.
        let file = unsafe {
            if mode.count_bytes().is_multiple_of(2) {
                (self.gzopen)(path.as_ptr(), mode.as_ptr())
            } else {
                (self.gzopen64)(path.as_ptr(), mode.as_ptr())
            }
        };
        (!file.is_null()).then_some(Open { api: *self, file })
    }
}

/// An open file; closed by [`Open::close`].
pub struct Open {
    pub api: Api,
    pub file: File,
}

/// What `zlib.h` shows of a file.
#[repr(C)]
struct Shown {
    have: c_uint,
    next: *const u8,
    pos: i64,
}

// SAFETY: for all of these: the file is open, and slices say how long they are.
impl Open {
    pub fn write(&self, data: &[u8]) -> c_int {
        // SAFETY: as said above.
        unsafe { (self.api.gzwrite)(self.file, data.as_ptr(), data.len() as c_uint) }
    }

    /// Result and what was read.
    pub fn read(&self, len: usize) -> (c_int, Vec<u8>) {
        let mut data = vec![0; len];
        // SAFETY: as said above.
        let got = unsafe { (self.api.gzread)(self.file, data.as_mut_ptr(), len as c_uint) };
        data.truncate(got.max(0) as usize);
        (got, data)
    }

    pub fn fread(&self, size: usize, items: usize) -> (usize, Vec<u8>) {
        let mut data = vec![0; size * items];
        // SAFETY: as said above.
        let got = unsafe { (self.api.gzfread)(data.as_mut_ptr(), size, items, self.file) };
        data.truncate(got * size);
        (got, data)
    }

    pub fn gets(&self, len: usize) -> Option<Vec<u8>> {
        let mut line = vec![0xee_u8; len + 1];
        // SAFETY: as said above.
        let got = unsafe { (self.api.gzgets)(self.file, line.as_mut_ptr().cast(), len as c_int) };
        assert_eq!(line[len], 0xee, "written beyond the end");
        if got.is_null() {
            return None;
        }
        assert_eq!(got.cast_const().cast(), line.as_ptr());
        Some(line)
    }

    /// What the macro `gzgetc` of `zlib.h` does.
    pub fn getc_by_macro(&self) -> c_int {
        // SAFETY: as said above; the structure is that of zlib.h.
        unsafe {
            let shown = &mut *self.file.cast::<Shown>();
            if shown.have == 0 {
                return (self.api.gzgetc)(self.file);
            }
            shown.have -= 1;
            shown.pos += 1;
            let byte = *shown.next;
            shown.next = shown.next.add(1);
            byte.into()
        }
    }

    /// Number and text, without the file's name.
    pub fn error(&self) -> (c_int, String) {
        let mut number = 99;
        // SAFETY: as said above; the text lives until the next call.
        let text = unsafe { CStr::from_ptr((self.api.gzerror)(self.file, &mut number)) };
        let text = text.to_str().unwrap();
        (number, text.split_once(": ").map_or(text, |(_, text)| text).to_owned())
    }

    pub fn tell(&self) -> i64 {
        // SAFETY: as said above.
        unsafe { (self.api.gztell)(self.file) }
    }

    pub fn seek(&self, offset: i64, whence: c_int) -> i64 {
        // SAFETY: as said above.
        unsafe {
            if whence == 0 {
                (self.api.gzseek64)(self.file, offset, whence)
            } else {
                (self.api.gzseek)(self.file, offset, whence)
            }
        }
    }

    pub fn eof(&self) -> c_int {
        // SAFETY: as said above.
        unsafe { (self.api.gzeof)(self.file) }
    }

    pub fn direct(&self) -> c_int {
        // SAFETY: as said above.
        unsafe { (self.api.gzdirect)(self.file) }
    }

    pub fn close(self) -> c_int {
        // SAFETY: as said above, and not used again.
        unsafe { (self.api.gzclose)(self.file) }
    }
}

/// All of a file.
pub fn read_all(api: &Api, path: &Path, piece: usize) -> Vec<u8> {
    let file = api.open(path, "rb").expect("a file");
    let mut all = Vec::new();
    loop {
        let (got, data) = file.read(piece);
        assert!(got >= 0, "{} after {} bytes: {:?}", api.name, all.len(), file.error());
        all.extend(data);
        if (got as usize) < piece {
            break;
        }
    }
    assert_eq!(file.close(), 0);
    all
}
