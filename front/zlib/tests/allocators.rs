//! Allocators: what does not serve goes back to where it came from, and where there is no memory, a
//! call says so.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;

use libz_rs_sys::z_stream;
use lookaside_z::deflate::{deflate, deflateCopy, deflateEnd, deflateInit2_, deflateSetDictionary};
use lookaside_z::gz::gzdopen;
use lookaside_z::inflate::back::inflateBackInit_;
use lookaside_z::inflate::inflateInit2_;
use lookaside_z::whole::{compress2, uncompress};

const VERSION: &std::ffi::CStr = c"1.2.13";
const MEM_ERROR: i32 = -4;

/// Memory that nothing larger than a byte may lie in. Counts what is out, in `opaque`.
unsafe extern "C" fn odd(opaque: *mut c_void, items: c_uint, size: c_uint) -> *mut c_void {
    // SAFETY: `opaque` is the counter; one byte more than asked for.
    unsafe {
        *opaque.cast::<i32>() += 1;
        libc::malloc(items as usize * size as usize + 1).byte_add(1)
    }
}

unsafe extern "C" fn free_odd(opaque: *mut c_void, place: *mut c_void) {
    // SAFETY: `opaque` is the counter; `place` is of `odd`.
    unsafe {
        *opaque.cast::<i32>() -= 1;
        libc::free(place.byte_sub(1));
    }
}

#[test]
fn memory_that_is_not_aligned_is_given_back() {
    let mut window = [0; 1 << 15];
    for back in [false, true] {
        let mut out = 0;
        // SAFETY: all zeros is a z_stream.
        let mut strm: z_stream = unsafe { std::mem::zeroed() };
        strm.zalloc = Some(odd);
        strm.zfree = Some(free_odd);
        strm.opaque = (&raw mut out).cast();
        let (version, size) = (VERSION.as_ptr(), size_of::<z_stream>() as i32);
        // SAFETY: a stream, a window, and what zlib.h's macros pass.
        let code = unsafe {
            match back {
                false => inflateInit2_(&mut strm, 15, version, size),
                true => inflateBackInit_(&mut strm, 15, window.as_mut_ptr(), version, size),
            }
        };
        assert_eq!((code, strm.state.is_null(), out), (MEM_ERROR, true, 0), "back: {back}");
    }
}

thread_local! {
    static USED_UP: Cell<bool> = const { Cell::new(false) };
    /// There is little left.
    static SCARCE: Cell<bool> = const { Cell::new(false) };
}

struct Heap;

// SAFETY: the system's allocator, or nothing.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let gone = USED_UP.get() || (SCARCE.get() && layout.size() > 4096);
        // SAFETY: the caller's promise.
        if gone { null_mut() } else { unsafe { System.alloc(layout) } }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static HEAP: Heap = Heap;

/// Without memory for a name there is no file, but still a process.
#[test]
fn no_file_is_opened_without_memory() {
    USED_UP.set(true);
    // SAFETY: a string. Nothing is opened: the descriptor stays ours.
    let file = unsafe { gzdopen(0, c"r".as_ptr()) };
    USED_UP.set(false);
    assert!(file.is_null());
}

/// What has no memory of its own either.
#[test]
fn whole_calls_say_that_there_is_no_memory() {
    let data = vec![b'a'; 40_000];
    let mut packed = vec![0; 1000];
    let mut back = vec![0; 40_000];
    let mut twice = |scarce: bool| {
        let (mut len, mut room) = (packed.len() as _, back.len() as _);
        SCARCE.set(scarce);
        // SAFETY: slices of these lengths.
        let codes = unsafe {
            let code = compress2(packed.as_mut_ptr(), &mut len, data.as_ptr(), 40_000, 6);
            if code == 0 {
                (code, uncompress(back.as_mut_ptr(), &mut room, packed.as_ptr(), len))
            } else {
                let stream = [0x78, 0x9c, 0x4b, 0x04, 0x00, 0x00, 0x62, 0x00, 0x62];
                let len = stream.len() as _;
                (code, uncompress(back.as_mut_ptr(), &mut room, stream.as_ptr(), len))
            }
        };
        SCARCE.set(false);
        codes
    };
    // Another test may leave some behind for these.
    let (packing, unpacking) = twice(true);
    assert!(matches!(packing, 0 | MEM_ERROR) && matches!(unpacking, 0 | MEM_ERROR));
    assert_eq!(twice(false), (0, 0));
    assert!(back == data);
}

/// A dictionary and a copy, too.
#[test]
fn dictionaries_and_copies_say_that_there_is_no_memory() {
    let data: Vec<u8> = (0..200_000_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8 % 50).collect();
    let (version, size) = (VERSION.as_ptr(), size_of::<z_stream>() as i32);
    let mut failures = [0; 2];
    // What others gave back may be there: many streams, all at once.
    let mut streams: Vec<Box<z_stream>> = Vec::new();
    for level in (0..40).map(|i| [0, 1, 2, 6][i % 4]) {
        // SAFETY: all zeros is a z_stream; slices of these lengths.
        unsafe {
            let mut strm: Box<z_stream> = Box::new(std::mem::zeroed());
            let mut copy: Box<z_stream> = Box::new(std::mem::zeroed());
            assert_eq!(deflateInit2_(&mut *strm, level, 8, -15, 8, 0, version, size), 0);
            SCARCE.set(true);
            let code = deflateSetDictionary(&mut *strm, data.as_ptr(), 1000);
            SCARCE.set(false);
            assert!(matches!(code, 0 | MEM_ERROR), "{level}: {code}");
            failures[0] += i32::from(code == MEM_ERROR);
            let mut out = vec![0; 10];
            (strm.next_in, strm.avail_in) = (data.as_ptr(), 150_000);
            (strm.next_out, strm.avail_out) = (out.as_mut_ptr(), 10);
            assert_eq!(deflate(&mut *strm, 0), 0, "{level}");
            SCARCE.set(true);
            let code = deflateCopy(&mut *copy, &mut *strm);
            SCARCE.set(false);
            assert!(matches!(code, 0 | MEM_ERROR), "{level}: {code}");
            failures[1] += i32::from(code == MEM_ERROR);
            if code == 0 {
                streams.push(copy);
            }
            streams.push(strm);
        }
    }
    for strm in &mut streams {
        // SAFETY: a stream.
        unsafe { deflateEnd(&mut **strm) };
    }
    assert!(failures.iter().all(|&failures| failures > 0), "{failures:?}");
}

/// A stream says so, and goes on when there is memory again.
#[test]
fn a_stream_goes_on_when_there_is_memory_again() {
    // Whole streams, input that waits, one that is flushed: each at a level of its own.
    let data: Vec<u8> = (0..500_000_u32).map(|i| (i.wrapping_mul(i) >> 9) as u8 % 50).collect();
    let mut failures = 0;
    for (level, len, flush) in
        [(7, 300_000, 4), (5, 400_000, 0), (3, 500_000, 0), (9, 400, 4), (6, 9_000, 2)]
    {
        // SAFETY: all zeros is a z_stream; slices of these lengths.
        unsafe {
            let mut strm: z_stream = std::mem::zeroed();
            let size = size_of::<z_stream>() as i32;
            let version = VERSION.as_ptr();
            assert_eq!(deflateInit2_(&mut strm, level, 8, -15, 8, 0, version, size), 0);
            let mut out = vec![0; 2_000_000];
            strm.next_in = data.as_ptr();
            strm.avail_in = len;
            strm.next_out = out.as_mut_ptr();
            strm.avail_out = out.len() as c_uint;
            SCARCE.set(true);
            let code = deflate(&mut strm, flush);
            SCARCE.set(false);
            assert!(matches!(code, MEM_ERROR | 0 | 1), "{level} {len}: {code}");
            failures += i32::from(code == MEM_ERROR);
            let code = if code == 1 { 1 } else { deflate(&mut strm, 4) };
            assert_eq!((code, strm.avail_in), (1, 0), "{level} {len}");
            let made = out.len() - strm.avail_out as usize;
            assert_eq!(deflateEnd(&mut strm), 0);
            let mut back = vec![0; len as usize + 1];
            let codec = lookaside_compress::Codec::new(
                &lookaside_compress::Compression::new(lookaside_compress::Format::Raw),
                lookaside_simd::Cpu::host(),
            );
            let done = codec
                .unwrap()
                .decompress(&mut lookaside_compress::Scratch::new(), &out[..made], &mut back)
                .unwrap();
            assert_eq!((done.consumed, done.produced), (made, len as usize));
            assert!(back[..len as usize] == data[..len as usize]);
        }
    }
    assert!(failures >= 2, "{failures}");
}
