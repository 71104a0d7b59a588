//! Checksums beside zlib's: every short length, alignments, and how they combine.

use std::ffi::{CString, c_int, c_uint, c_ulong, c_void};

use lookaside_z::checksum as ours;

type Sum = unsafe extern "C" fn(c_ulong, *const u8, c_uint) -> c_ulong;
type SumZ = unsafe extern "C" fn(c_ulong, *const u8, usize) -> c_ulong;
type Combine = extern "C" fn(c_ulong, c_ulong, i64) -> c_ulong;

/// A function of Debian's zlib.
fn stock(name: &str) -> *mut c_void {
    let name = CString::new(name).unwrap();
    // SAFETY: two strings.
    unsafe {
        let flags: c_int = libc::RTLD_NOW | libc::RTLD_LOCAL | libc::RTLD_DEEPBIND;
        let library = libc::dlopen(c"/lib/x86_64-linux-gnu/libz.so.1".as_ptr(), flags);
        assert!(!library.is_null(), "libz.so.1 (Debian package zlib1g)");
        let function = libc::dlsym(library, name.as_ptr());
        assert!(!function.is_null(), "{name:?}");
        function
    }
}

fn noise(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(|_| next()).collect()
}

#[test]
fn sums_are_zlibs() {
    // SAFETY: the types are those of zlib.h.
    let (crc32, adler32, crc32_z, adler32_z) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Sum>(stock("crc32")),
            std::mem::transmute::<*mut c_void, Sum>(stock("adler32")),
            std::mem::transmute::<*mut c_void, SumZ>(stock("crc32_z")),
            std::mem::transmute::<*mut c_void, SumZ>(stock("adler32_z")),
        )
    };
    let mut data = noise(70_000);
    data.extend([0xff; 20_000]);
    let lens = (0..300).chain([1000, 4096, 5552, 5553, 65_536, 89_990]);
    for (n, len) in lens.enumerate() {
        let at = n % 9;
        let part = &data[at..][..len.min(data.len() - at)];
        let (start, len) = (part.as_ptr(), part.len());
        for seed in [0, 1, 0xffff_ffff, 0x1234_5678, 0xfff0_fff0, 0xab_dead_beef_u64] {
            // SAFETY: so much data is there.
            unsafe {
                let crc = crc32(seed, start, len as c_uint);
                assert_eq!(ours::crc32(seed, start, len as c_uint), crc, "{len} from {seed:#x}");
                assert_eq!(ours::crc32_z(seed, start, len), crc32_z(seed, start, len));
                // Sums that data can have: both halves are below 65521.
                if seed & 0xffff <= 0xfff0 && seed >> 16 & 0xffff <= 0xfff0 {
                    let adler = adler32(seed, start, len as c_uint);
                    assert_eq!(ours::adler32(seed, start, len as c_uint), adler, "{len} {seed:#x}");
                    assert_eq!(ours::adler32_z(seed, start, len), adler32_z(seed, start, len));
                }
            }
        }
    }
    let end = &data[70_000 - 8..];
    // SAFETY: so much data is there, or none is asked for.
    unsafe {
        // The largest values on the way.
        for len in 0..end.len() as c_uint {
            let seed = 0xfff0_fff0;
            assert_eq!(ours::adler32(seed, end.as_ptr(), len), adler32(seed, end.as_ptr(), len));
        }
        for len in [0, 5] {
            assert_eq!(
                (ours::crc32(7, std::ptr::null(), len), crc32(7, std::ptr::null(), len)),
                (0, 0)
            );
            assert_eq!(ours::adler32(7, std::ptr::null(), len), 1);
        }
    }
}

#[test]
fn sums_combine_as_zlibs() {
    let names = ["crc32_combine", "crc32_combine64", "adler32_combine", "adler32_combine64"];
    // SAFETY: the type is that of zlib.h.
    let theirs =
        names.map(|name| unsafe { std::mem::transmute::<*mut c_void, Combine>(stock(name)) });
    let found: [Combine; 4] = [
        ours::crc32_combine,
        ours::crc32_combine64,
        ours::adler32_combine,
        ours::adler32_combine64,
    ];
    // SAFETY: as above.
    let (generate, combine) = unsafe {
        (
            std::mem::transmute::<*mut c_void, extern "C" fn(i64) -> c_ulong>(stock(
                "crc32_combine_gen",
            )),
            std::mem::transmute::<*mut c_void, extern "C" fn(c_ulong, c_ulong, c_ulong) -> c_ulong>(
                stock("crc32_combine_op"),
            ),
        )
    };
    let numbers = noise(800);
    let number = |n: usize| u32::from_ne_bytes(numbers[n * 4..][..4].try_into().unwrap());
    for n in 0..100 {
        let (first, second) = (c_ulong::from(number(n)), c_ulong::from(number(n + 1)));
        for len in [0, 1, 2, 255, 4096, 1 << 31, (1 << 40) + 12345, i64::MAX] {
            for i in 0..4 {
                let (first, second) = if i < 2 {
                    (first, second)
                } else {
                    // Sums that data can have.
                    (first & 0x7fff_7fff, second & 0x7fff_7fff)
                };
                let expected = theirs[i](first, second, len);
                assert_eq!(found[i](first, second, len), expected, "{} {len}", names[i]);
            }
            let op = generate(len);
            assert_eq!(ours::crc32_combine_gen(len), op);
            assert_eq!(ours::crc32_combine_gen64(len), op);
            assert_eq!(ours::crc32_combine_op(first, second, op), combine(first, second, op));
        }
    }
    assert_eq!(ours::adler32_combine(1, 1, -1), theirs[2](1, 1, -1));
    assert_eq!((ours::crc32_combine(1, 2, -1), ours::crc32_combine_gen(-1)), (0, 0));
}

#[test]
fn the_table_is_zlibs() {
    // SAFETY: a table of 256 numbers, in both.
    unsafe {
        let theirs: extern "C" fn() -> *const [u32; 256] =
            std::mem::transmute(stock("get_crc_table"));
        assert_eq!(*ours::get_crc_table(), *theirs());
    }
}
