//! compress and uncompress: whole buffers.

use std::{
    ffi::{c_int, c_uint, c_ulong},
    panic::{AssertUnwindSafe, catch_unwind},
    slice,
};

use libz_rs_sys::{
    Bytef, Z_BUF_ERROR, Z_DATA_ERROR, Z_DEFAULT_COMPRESSION, Z_FINISH, Z_NEED_DICT, Z_NO_FLUSH,
    Z_OK, Z_STREAM_END, z_stream,
};
use lookaside_compress::{Codec, Compression, Format};
use lookaside_simd::Cpu;

use crate::{
    deflate::{self, with_inflate},
    inflate,
    misc::zlibVersion,
    stats::{self, Path},
};

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compress(
    dest: *mut Bytef,
    destLen: *mut c_ulong,
    source: *const Bytef,
    sourceLen: c_ulong,
) -> c_int {
    // SAFETY: as the caller guarantees.
    unsafe { compress2(dest, destLen, source, sourceLen, Z_DEFAULT_COMPRESSION) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn compress2(
    dest: *mut Bytef,
    destLen: *mut c_ulong,
    source: *const Bytef,
    sourceLen: c_ulong,
    level: c_int,
) -> c_int {
    let mut strm = fresh();
    // SAFETY: valid, as the caller guarantees.
    let mut room = unsafe { *destLen };
    let mut left = sourceLen;
    let mut code;
    // SAFETY: the stream is ours, between the caller's buffers, each of the length that is said.
    unsafe {
        *destLen = 0;
        code = deflate::deflateInit_(&mut strm, level, zlibVersion(), STREAM_SIZE);
        if code != Z_OK {
            return code;
        }
        strm.next_out = dest;
        strm.next_in = source;
        loop {
            refill(&mut strm.avail_out, &mut room);
            refill(&mut strm.avail_in, &mut left);
            let flush = if left > 0 { Z_NO_FLUSH } else { Z_FINISH };
            code = deflate::deflate(&mut strm, flush);
            if code != Z_OK {
                break;
            }
        }
        *destLen = strm.total_out;
        deflate::deflateEnd(&mut strm);
    }
    if code == Z_STREAM_END { Z_OK } else { code }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn compressBound(sourceLen: c_ulong) -> c_ulong {
    deflate::compress_bound(sourceLen)
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uncompress(
    dest: *mut u8,
    destLen: *mut c_ulong,
    source: *const u8,
    sourceLen: c_ulong,
) -> c_int {
    let mut sourceLen = sourceLen;
    // SAFETY: as the caller guarantees.
    unsafe { uncompress2(dest, destLen, source, &mut sourceLen) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn uncompress2(
    dest: *mut u8,
    destLen: *mut c_ulong,
    source: *const u8,
    sourceLen: *mut c_ulong,
) -> c_int {
    // SAFETY: valid, as the caller guarantees.
    let (room, given) = unsafe { (*destLen, *sourceLen) };
    if room > 0 && given > 0 && !dest.is_null() && !source.is_null() {
        // SAFETY: the caller's buffers, each of the length that is said, apart from each other.
        let (src, dst) = unsafe {
            (
                slice::from_raw_parts(source, given as usize),
                slice::from_raw_parts_mut(dest, room as usize),
            )
        };
        let decoded = catch_unwind(AssertUnwindSafe(|| decode_whole(src, dst))).ok().flatten();
        if let Some((consumed, produced)) = decoded {
            stats::count(Path::DecompressWhole, consumed, produced);
            // SAFETY: valid, as the caller guarantees.
            unsafe {
                *destLen = produced as c_ulong;
                *sourceLen = consumed as c_ulong;
            }
            return Z_OK;
        }
    }
    // SAFETY: as the caller guarantees.
    unsafe { uncompress_step_by_step(dest, destLen, source, sourceLen) }
}

/// The whole stream at once; `None` if it is not a good one that fits.
fn decode_whole(src: &[u8], dst: &mut [u8]) -> Option<(usize, usize)> {
    let codec = Codec::new(&Compression::new(Format::Zlib), Cpu::host()).ok()?;
    let done = with_inflate(|scratch| codec.decompress(scratch, src, dst))?.ok()?;
    Some((done.consumed, done.produced))
}

/// As stock does it: what is wrong, and how far it came, is for `inflate` to say.
///
/// # Safety
/// As `uncompress2`.
unsafe fn uncompress_step_by_step(
    dest: *mut u8,
    destLen: *mut c_ulong,
    source: *const u8,
    sourceLen: *mut c_ulong,
) -> c_int {
    let mut strm = fresh();
    let mut nowhere = [0u8; 1];
    let mut code;
    // SAFETY: the stream is ours, between the caller's buffers, each of the length that is said;
    // where there is no room, a byte of ours finds out whether some is needed.
    unsafe {
        let mut left = *sourceLen;
        let empty = *destLen == 0;
        let mut room = if empty { 1 } else { std::mem::replace(&mut *destLen, 0) };
        strm.next_in = source;
        code = inflate::inflateInit_(&mut strm, zlibVersion(), STREAM_SIZE);
        if code != Z_OK {
            return code;
        }
        strm.next_out = if empty { nowhere.as_mut_ptr() } else { dest };
        loop {
            refill(&mut strm.avail_out, &mut room);
            refill(&mut strm.avail_in, &mut left);
            code = inflate::inflate(&mut strm, Z_NO_FLUSH);
            if code != Z_OK {
                break;
            }
        }
        *sourceLen -= left + c_ulong::from(strm.avail_in);
        if !empty {
            *destLen = strm.total_out;
        } else if strm.total_out > 0 && code == Z_BUF_ERROR {
            room = 1;
        }
        inflate::inflateEnd(&mut strm);
        match code {
            Z_STREAM_END => Z_OK,
            Z_NEED_DICT => Z_DATA_ERROR,
            Z_BUF_ERROR if room + c_ulong::from(strm.avail_out) > 0 => Z_DATA_ERROR,
            other => other,
        }
    }
}

const STREAM_SIZE: c_int = size_of::<z_stream>() as c_int;

/// A stream with the default allocator.
fn fresh() -> z_stream {
    z_stream { zalloc: None, zfree: None, ..z_stream::default() }
}

/// A stream counts in 32 bits.
fn refill(avail: &mut c_uint, left: &mut c_ulong) {
    if *avail == 0 {
        *avail = c_uint::try_from(*left).unwrap_or(c_uint::MAX);
        *left -= c_ulong::from(*avail);
    }
}
