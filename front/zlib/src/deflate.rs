//! The deflate functions.

use crate::forward;

forward! {
    fn deflate(strm: *mut z_stream, flush: i32) -> c_int;
    fn deflateBound(strm: *mut z_stream, sourceLen: c_ulong) -> c_ulong;
    fn deflateCopy(dest: z_streamp, source: z_streamp) -> c_int;
    fn deflateEnd(strm: *mut z_stream) -> i32;
    fn deflateGetDictionary(strm: *const z_stream, dictionary: *mut c_uchar, dictLength: *mut c_uint) -> c_int;
    fn deflateInit2_(strm: z_streamp, level: c_int, method: c_int, windowBits: c_int, memLevel: c_int, strategy: c_int, version: *const c_char, stream_size: c_int) -> c_int;
    fn deflateInit_(strm: z_streamp, level: c_int, version: *const c_char, stream_size: c_int) -> c_int;
    fn deflateParams(strm: z_streamp, level: c_int, strategy: c_int) -> c_int;
    fn deflatePending(strm: z_streamp, pending: *mut c_uint, bits: *mut c_int) -> c_int;
    fn deflatePrime(strm: z_streamp, bits: c_int, value: c_int) -> c_int;
    fn deflateReset(strm: *mut z_stream) -> i32;
    fn deflateResetKeep(strm: *mut z_stream) -> c_int;
    fn deflateSetDictionary(strm: z_streamp, dictionary: *const Bytef, dictLength: uInt) -> c_int;
    fn deflateSetHeader(strm: *mut z_stream, head: gz_headerp) -> c_int;
    fn deflateTune(strm: z_streamp, good_length: c_int, max_lazy: c_int, nice_length: c_int, max_chain: c_int) -> c_int;
}
