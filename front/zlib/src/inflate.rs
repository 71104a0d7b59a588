//! The inflate functions.

use crate::forward;

forward! {
    fn inflate(strm: *mut z_stream, flush: i32) -> i32;
    fn inflateBack(strm: z_streamp, in_: Option<in_func>, in_desc: *mut c_void, out: Option<out_func>, out_desc: *mut c_void) -> c_int;
    fn inflateBackEnd(strm: z_streamp) -> c_int;
    fn inflateBackInit_(strm: z_streamp, windowBits: c_int, window: *mut c_uchar, version: *const c_char, stream_size: c_int) -> c_int;
    fn inflateCodesUsed(strm: *mut z_stream) -> c_ulong;
    fn inflateCopy(dest: *mut z_stream, source: *const z_stream) -> i32;
    fn inflateEnd(strm: *mut z_stream) -> i32;
    fn inflateGetDictionary(strm: *const z_stream, dictionary: *mut c_uchar, dictLength: *mut c_uint) -> c_int;
    fn inflateGetHeader(strm: z_streamp, head: gz_headerp) -> c_int;
    fn inflateInit2_(strm: z_streamp, windowBits: c_int, version: *const c_char, stream_size: c_int) -> c_int;
    fn inflateInit_(strm: z_streamp, version: *const c_char, stream_size: c_int) -> c_int;
    fn inflateMark(strm: *const z_stream) -> c_long;
    fn inflatePrime(strm: *mut z_stream, bits: i32, value: i32) -> i32;
    fn inflateReset(strm: *mut z_stream) -> i32;
    fn inflateReset2(strm: *mut z_stream, windowBits: c_int) -> i32;
    fn inflateResetKeep(strm: *mut z_stream) -> c_int;
    fn inflateSetDictionary(strm: *mut z_stream, dictionary: *const u8, dictLength: c_uint) -> c_int;
    fn inflateSync(strm: *mut z_stream) -> i32;
    fn inflateSyncPoint(strm: *mut z_stream) -> i32;
    fn inflateUndermine(strm: *mut z_stream, subvert: i32) -> c_int;
    fn inflateValidate(strm: *mut z_stream, check: i32) -> c_int;
}
