//! How many bytes this process has allocated.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

static BYTES: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, with a count.
pub struct Counted;

// SAFETY: all is left to the system's allocator; `realloc` of the trait is by these two.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// The bytes that are allocated now. Shared memory is not among them.
pub fn now() -> usize {
    BYTES.load(Relaxed)
}
