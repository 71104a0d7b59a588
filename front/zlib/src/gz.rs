//! The gz functions: files.

use crate::forward;

forward! {
    fn gzbuffer(file: gzFile, size: c_uint) -> c_int;
    fn gzclearerr(file: gzFile);
    fn gzclose(file: gzFile) -> c_int;
    fn gzclose_r(file: gzFile) -> c_int;
    fn gzclose_w(file: gzFile) -> c_int;
    fn gzdirect(file: gzFile) -> c_int;
    fn gzdopen(fd: c_int, mode: *const c_char) -> gzFile;
    fn gzeof(file: gzFile) -> c_int;
    fn gzerror(file: gzFile, errnum: *mut c_int) -> *const c_char;
    fn gzflush(file: gzFile, flush: c_int) -> c_int;
    fn gzfread(buf: *mut c_void, size: size_t, nitems: size_t, file: gzFile) -> size_t;
    fn gzfwrite(buf: *const c_void, size: size_t, nitems: size_t, file: gzFile) -> size_t;
    fn gzgetc(file: gzFile) -> c_int;
    fn gzgetc_(file: gzFile) -> c_int;
    fn gzgets(file: gzFile, buf: *mut c_char, len: c_int) -> *mut c_char;
    fn gzoffset(file: gzFile) -> z_off_t;
    fn gzoffset64(file: gzFile) -> z_off64_t;
    fn gzopen(path: *const c_char, mode: *const c_char) -> gzFile;
    fn gzopen64(path: *const c_char, mode: *const c_char) -> gzFile;
    fn gzputc(file: gzFile, c: c_int) -> c_int;
    fn gzputs(file: gzFile, s: *const c_char) -> c_int;
    fn gzread(file: gzFile, buf: *mut c_void, len: c_uint) -> c_int;
    fn gzrewind(file: gzFile) -> c_int;
    fn gzseek(file: gzFile, offset: z_off_t, whence: c_int) -> z_off_t;
    fn gzseek64(file: gzFile, offset: z_off64_t, whence: c_int) -> z_off64_t;
    fn gzsetparams(file: gzFile, level: c_int, strategy: c_int) -> c_int;
    fn gztell(file: gzFile) -> z_off_t;
    fn gztell64(file: gzFile) -> z_off64_t;
    fn gzungetc(c: c_int, file: gzFile) -> c_int;
    fn gzwrite(file: gzFile, buf: *const c_void, len: c_uint) -> c_int;
}
