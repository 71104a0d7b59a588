//! compress2 and uncompress2 against the system's zlib.

mod common;

use std::ffi::{c_int, c_ulong};

use common::*;

fn uncompress(zlib: Zlib, src: &[u8], room: usize) -> (c_int, usize, usize, Vec<u8>) {
    let mut dst = vec![0; room];
    let (mut len, mut given) = (room as c_ulong, src.len() as c_ulong);
    // SAFETY: two slices of these lengths.
    let code = unsafe { (zlib.uncompress2)(dst.as_mut_ptr(), &mut len, src.as_ptr(), &mut given) };
    dst.truncate(len as usize);
    (code, len as usize, given as usize, dst)
}

/// Good, cut, damaged and trailing input, with too little room, too much, and none.
#[test]
fn uncompress_answers_as_stock() {
    let zlib = stock();
    let data = [text(20_000), noise(3_000)].concat();
    let mut rng = Rng(5);
    for n in 0..3000 {
        let plain = &data[..rng.pick(&[0, 1, 10, 1000, 23_000])];
        let mut packed = vec![0; plain.len() + 1000];
        let mut len = packed.len() as c_ulong;
        // SAFETY: two slices of these lengths.
        let code = unsafe {
            let source = plain.as_ptr();
            (zlib.compress2)(packed.as_mut_ptr(), &mut len, source, plain.len() as c_ulong, 6)
        };
        assert_eq!(code, OK);
        packed.truncate(len as usize);
        match rng.below(5) {
            0 => packed.truncate(rng.below(packed.len() + 1)),
            1 => packed.extend_from_slice(b"behind"),
            2 => {
                let at = rng.below(packed.len());
                packed[at] ^= 1 << rng.below(8);
            }
            _ => {}
        }
        let room = rng.pick(&[0, 1, plain.len(), plain.len().saturating_sub(1), plain.len() + 9]);
        let ours = uncompress(OURS, &packed, room);
        let theirs = uncompress(zlib, &packed, room);
        assert_eq!(ours, theirs, "{n}: {} bytes, room {room}", packed.len());
    }
}

/// Every level, with all the room and with too little.
#[test]
fn compress_answers_as_stock() {
    let zlib = stock();
    let datas = [vec![], text(100), text(50_000), noise(1000), noise(600_000), text(3_000_000)];
    for level in -2..=10 {
        for data in &datas {
            let sizes = [OURS, zlib].map(|zlib| {
                let bound = lookaside_z::whole::compressBound(data.len() as c_ulong);
                let mut dst = vec![0; bound as usize];
                let mut len = bound;
                let (src, n) = (data.as_ptr(), data.len() as c_ulong);
                // SAFETY: two slices of these lengths.
                let code = unsafe { (zlib.compress2)(dst.as_mut_ptr(), &mut len, src, n, level) };
                if code == OK {
                    let (code, got) = inflate_all(&dst[..len as usize], 15, None);
                    assert!(code == STREAM_END && got == *data);
                    for room in [0, 1, 2, len / 2, len - 1, len] {
                        let mut made = room;
                        // SAFETY: as above.
                        let code =
                            unsafe { (zlib.compress2)(dst.as_mut_ptr(), &mut made, src, n, level) };
                        let expected = if room < len { BUF_ERROR } else { OK };
                        assert_eq!((code, made), (expected, room), "{} {level}", zlib.name);
                    }
                }
                (code, len)
            });
            assert_eq!(sizes[0].0, sizes[1].0);
            let (ours, theirs) = (sizes[0].1, sizes[1].1);
            assert!(ours <= theirs + theirs / 40 + 20, "{level} {}: {sizes:?}", data.len());
        }
    }
}

/// What stands in the library's own description.
#[test]
fn version_and_flags() {
    use std::ffi::CStr;
    // SAFETY: constant C strings.
    unsafe {
        assert_eq!(CStr::from_ptr(lookaside_z::misc::zlibVersion()), c"1.2.13");
        assert_eq!(CStr::from_ptr(lookaside_z::misc::zError(BUF_ERROR)), c"buffer error");
        assert_eq!(CStr::from_ptr(lookaside_z::misc::zError(2)), c"need dictionary");
        assert_eq!(CStr::from_ptr(lookaside_z::misc::zError(-7)), c"");
    }
    assert_eq!(lookaside_z::misc::zlibCompileFlags(), 0xa9);
}
