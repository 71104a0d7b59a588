//! Checksums.

use crate::forward;

forward! {
    fn adler32(adler: c_ulong, buf: *const Bytef, len: uInt) -> c_ulong;
    fn adler32_combine(adler1: c_ulong, adler2: c_ulong, len2: z_off_t) -> c_ulong;
    fn adler32_combine64(adler1: c_ulong, adler2: c_ulong, len2: z_off64_t) -> c_ulong;
    fn adler32_z(adler: c_ulong, buf: *const Bytef, len: size_t) -> c_ulong;
    fn crc32(crc: c_ulong, buf: *const Bytef, len: uInt) -> c_ulong;
    fn crc32_combine(crc1: c_ulong, crc2: c_ulong, len2: z_off_t) -> c_ulong;
    fn crc32_combine64(crc1: c_ulong, crc2: c_ulong, len2: z_off64_t) -> c_ulong;
    fn crc32_combine_gen(len2: z_off_t) -> c_ulong;
    fn crc32_combine_gen64(len2: z_off64_t) -> c_ulong;
    fn crc32_combine_op(crc1: c_ulong, crc2: c_ulong, op: c_ulong) -> c_ulong;
    fn crc32_z(crc: c_ulong, buf: *const Bytef, len: size_t) -> c_ulong;
    fn get_crc_table() -> *const [u32; 256];
}
