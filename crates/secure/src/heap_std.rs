//! Under Miri, which knows no `madvise`: the standard library's memory, overwritten when freed.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::ptr::NonNull;
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error};

fn padded(layout: Layout) -> Layout {
    Layout::from_size_align(layout.size().max(1), layout.align()).expect("not larger than before")
}

/// No lock of ours: Miri does not fork.
pub(crate) fn lock() {}

/// As [`lock`].
pub(crate) fn unlock() {}

/// Memory of zeros.
pub(crate) fn allocate(layout: Layout) -> NonNull<u8> {
    // SAFETY: of at least one byte.
    let start = unsafe { alloc_zeroed(padded(layout)) };
    NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Overwrites and frees.
///
/// # Safety
/// `start` came from [`allocate`] with an equal layout, and nobody uses it any more.
pub(crate) unsafe fn free(start: NonNull<u8>, layout: Layout) {
    // SAFETY: so the caller promises.
    unsafe {
        start.as_ptr().write_bytes(0, layout.size());
        dealloc(start.as_ptr(), padded(layout));
    }
}
