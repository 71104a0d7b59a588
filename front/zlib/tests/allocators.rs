//! Allocators: what does not serve goes back to where it came from, and where there is no memory, a
//! call says so.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ffi::{c_uint, c_void};
use std::ptr::null_mut;

use libz_rs_sys::z_stream;
use lookaside_z::gz::gzdopen;
use lookaside_z::inflate::back::inflateBackInit_;
use lookaside_z::inflate::inflateInit2_;

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

thread_local!(static USED_UP: Cell<bool> = const { Cell::new(false) });

struct Heap;

// SAFETY: the system's allocator, or nothing.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promise.
        if USED_UP.get() { null_mut() } else { unsafe { System.alloc(layout) } }
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
