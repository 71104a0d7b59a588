//! compress and uncompress: whole buffers.

use crate::forward;

forward! {
    fn compress(dest: *mut Bytef, destLen: *mut c_ulong, source: *const Bytef, sourceLen: c_ulong) -> c_int;
    fn compress2(dest: *mut Bytef, destLen: *mut c_ulong, source: *const Bytef, sourceLen: c_ulong, level: c_int) -> c_int;
    fn compressBound(sourceLen: c_ulong) -> c_ulong;
    fn uncompress(dest: *mut u8, destLen: *mut c_ulong, source: *const u8, sourceLen: c_ulong) -> c_int;
    fn uncompress2(dest: *mut u8, destLen: *mut c_ulong, source: *const u8, sourceLen: *mut c_ulong) -> c_int;
}
