//! Memory that the card works on: pinned memory of its own `libusdm` where it asks for that, plain memory otherwise.
#![allow(unsafe_code)]

use core::{ffi::c_void, ptr::NonNull, slice};

use lookaside_quickassist::functions::qaeMemFreeNUMA;

use crate::card::Card;

/// A piece of memory, aligned to 64 bytes. Given back to whoever it came from.
pub(crate) struct Memory {
    start: NonNull<u8>,
    len: usize,
    kind: Kind,
}

enum Kind {
    /// Of the card's library.
    Pinned(qaeMemFreeNUMA),
    /// Of our allocator.
    Plain(#[expect(dead_code, reason = "it owns the memory")] Vec<Line>),
}

/// What memory is aligned to.
#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line(#[expect(dead_code, reason = "room")] [u8; 64]);

// SAFETY: memory that nobody else has.
unsafe impl Send for Memory {}

impl Memory {
    /// At least `len` bytes; `None` where there is not as much.
    pub(crate) fn new(card: &Card, node: u32, len: usize) -> Option<Memory> {
        let lines = len.div_ceil(64).max(1);
        let len = lines * 64;
        if !card.pinned {
            let mut plain: Vec<Line> = Vec::new();
            plain.try_reserve_exact(lines).ok()?;
            plain.resize(lines, Line([0; 64]));
            let start = NonNull::new(plain.as_mut_ptr().cast())?;
            return Some(Memory { start, len, kind: Kind::Plain(plain) });
        }
        let pinned = card.library.pinned.as_ref()?;
        let (allocate, free) = (pinned.qaeMemAllocNUMA, pinned.qaeMemFreeNUMA);
        // SAFETY: the library's own function, with a size, a node and an alignment.
        let start = NonNull::new(unsafe { allocate(len, node as i32, 64) }.cast::<u8>())?;
        // SAFETY: just allocated, with this length.
        unsafe { start.as_ptr().write_bytes(0, len) };
        Some(Memory { start, len, kind: Kind::Pinned(free) })
    }

    /// How many bytes there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Where it is.
    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// The bytes. Nobody writes to them: the card has answered, or was given none.
    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: of this length, and initialised when it was allocated.
        unsafe { slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }

    /// The bytes, to fill. The card has answered, or was given none.
    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` makes this the only one.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Kind::Pinned(free) = self.kind {
            let mut start = self.start.as_ptr().cast::<c_void>();
            // SAFETY: allocated by the library that this function is of, and not used any more.
            unsafe { free(&raw mut start) };
        }
    }
}
