//! Checksums.
//!
//! By libdeflate's vector code; a few bytes by a loop, which beats the call (measured: below 9 bytes
//! of Adler-32, below 3 of CRC-32). No buffer at all asks for the value to start with. Of the value to
//! go on from, the low 32 bits count, as in zlib.

use std::ffi::c_ulong;

use libc::size_t;
use libz_rs_sys::{Bytef, uInt, z_off_t, z_off64_t};

/// The largest prime below 2^16, in which Adler-32 counts.
const ADLER_BASE: u32 = 65521;

/// The CRC-32 of every byte.
fn byte_table() -> &'static [u32; 256] {
    // SAFETY: a table that lives for ever.
    unsafe { &*libz_rs_sys::get_crc_table() }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adler32_z(adler: c_ulong, buf: *const Bytef, len: size_t) -> c_ulong {
    if buf.is_null() {
        return 1;
    }
    // SAFETY: the caller guarantees `len` bytes.
    let data = unsafe { std::slice::from_raw_parts(buf, len) };
    if len < 9 {
        let (mut low, mut high) = (adler as u32 & 0xffff, (adler as u32) >> 16);
        for &byte in data {
            low += u32::from(byte);
            high += low;
        }
        // A division, which is slow, only where there is more to take away than once.
        low -= if low >= ADLER_BASE { ADLER_BASE } else { 0 };
        high = if len == 1 && high < ADLER_BASE { high } else { high % ADLER_BASE };
        return ((high << 16) | low).into();
    }
    lookaside_compress::adler32(adler as u32, data).into()
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn adler32(adler: c_ulong, buf: *const Bytef, len: uInt) -> c_ulong {
    // SAFETY: the same function.
    unsafe { adler32_z(adler, buf, len as size_t) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crc32_z(crc: c_ulong, buf: *const Bytef, len: size_t) -> c_ulong {
    if buf.is_null() {
        return 0;
    }
    // SAFETY: the caller guarantees `len` bytes.
    let data = unsafe { std::slice::from_raw_parts(buf, len) };
    if len < 3 {
        let table = byte_table();
        let step = |crc: u32, &byte: &u8| crc >> 8 ^ table[usize::from(crc as u8 ^ byte)];
        return (!data.iter().fold(!(crc as u32), step)).into();
    }
    lookaside_compress::crc32(crc as u32, data).into()
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn crc32(crc: c_ulong, buf: *const Bytef, len: uInt) -> c_ulong {
    // SAFETY: the same function.
    unsafe { crc32_z(crc, buf, len as size_t) }
}

/// See `zlib.h`. A negative length, for which there is no answer, gives one that no data has.
#[unsafe(no_mangle)]
pub extern "C" fn adler32_combine64(adler1: c_ulong, adler2: c_ulong, len2: z_off64_t) -> c_ulong {
    match u64::try_from(len2) {
        Ok(len) => lookaside_compress::adler32_combine(adler1 as u32, adler2 as u32, len).into(),
        Err(_) => 0xffff_ffff,
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn adler32_combine(adler1: c_ulong, adler2: c_ulong, len2: z_off_t) -> c_ulong {
    adler32_combine64(adler1, adler2, len2)
}

/// See `zlib.h`. With a negative length zlib 1.2.13 never returns; this gives 0, as later ones do.
#[unsafe(no_mangle)]
pub extern "C" fn crc32_combine64(crc1: c_ulong, crc2: c_ulong, len2: z_off64_t) -> c_ulong {
    match u64::try_from(len2) {
        Ok(len) => lookaside_compress::crc32_combine(crc1 as u32, crc2 as u32, len).into(),
        Err(_) => 0,
    }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn crc32_combine(crc1: c_ulong, crc2: c_ulong, len2: z_off_t) -> c_ulong {
    crc32_combine64(crc1, crc2, len2)
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn crc32_combine_gen64(len2: z_off64_t) -> c_ulong {
    if len2 < 0 { 0 } else { libz_rs_sys::crc32_combine_gen64(len2) }
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn crc32_combine_gen(len2: z_off_t) -> c_ulong {
    crc32_combine_gen64(len2)
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn crc32_combine_op(crc1: c_ulong, crc2: c_ulong, op: c_ulong) -> c_ulong {
    libz_rs_sys::crc32_combine_op(crc1, crc2, op)
}

/// See `zlib.h`.
#[unsafe(no_mangle)]
pub extern "C" fn get_crc_table() -> *const [u32; 256] {
    byte_table()
}
