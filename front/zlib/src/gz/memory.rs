//! Buffers, and how large they may become.

use std::alloc::{Layout, alloc, dealloc};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Of what a program writes to a file, at most one part in this many waits in a buffer: so a buffer
/// grows with its file, and a program that dies loses little more than with zlib.
pub(super) const WAITING_PART: i64 = 4;

/// The largest piece that is collected before it is compressed: enough for a device with many
/// engines. Less than a piece in one call of `gzwrite` is collected, more is compressed where it lies.
pub(super) const LARGEST_PIECE: usize = 4 << 20;

/// The largest buffer for what comes out.
pub(super) const LARGEST_OUTPUT: usize = 1 << 20;

/// From here on, a file is read in larger pieces than zlib's.
pub(super) const SMALL_FILE: u64 = 256 << 10;

/// These. They need not outgrow the caches: no call for decompression is faster for it.
pub(super) const LARGE_READ: usize = 128 << 10;

/// What all buffers together may take beyond the sizes that zlib's have: a program may have
/// thousands of files open.
const SURPLUS: usize = 64 << 20;

static SURPLUS_TAKEN: AtomicUsize = AtomicUsize::new(0);

/// `value` in memory of its own, for `Box::from_raw`; null if there is no memory.
pub(super) fn place<T>(value: T) -> *mut T {
    // SAFETY: the two structures of files are not empty, and the memory is written where it is there.
    unsafe {
        let memory: *mut T = alloc(Layout::new::<T>()).cast();
        if !memory.is_null() {
            memory.write(value);
        }
        memory
    }
}

/// Memory of a fixed size, without content at first.
pub(super) struct Buffer {
    start: NonNull<u8>,
    layout: Layout,
    /// How much of it counts as surplus.
    surplus: usize,
}

impl Buffer {
    /// A buffer of `len` > 0 bytes, if there is memory.
    pub(super) fn new(len: usize) -> Option<Self> {
        assert_ne!(len, 0);
        let layout = Layout::array::<u8>(len).ok()?;
        // SAFETY: the length is not zero.
        let start = NonNull::new(unsafe { alloc(layout) })?;
        Some(Buffer { start, layout, surplus: 0 })
    }

    /// A buffer larger than zlib's, if there is memory and all such buffers leave room for it.
    pub(super) fn surplus(len: usize) -> Option<Self> {
        let take = |taken: usize| taken.checked_add(len).filter(|&sum| sum <= SURPLUS);
        SURPLUS_TAKEN.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).ok()?;
        let Some(mut buffer) = Buffer::new(len) else {
            SURPLUS_TAKEN.fetch_sub(len, Ordering::Relaxed);
            return None;
        };
        buffer.surplus = len;
        Some(buffer)
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    pub(super) fn len(&self) -> usize {
        self.layout.size()
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        SURPLUS_TAKEN.fetch_sub(self.surplus, Ordering::Relaxed);
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.start.as_ptr(), self.layout) }
    }
}
