//! An allocator that refuses, where a test asks for it, what the runtime is ready to be refused.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::{Cell, RefCell},
};

use lookaside_testkit::Rng;

thread_local! {
    /// In percent.
    static REFUSED: Cell<u32> = const { Cell::new(0) };
    static RNG: RefCell<Rng> = const { RefCell::new(Rng::new(0)) };
}

/// The system's memory; this thread is refused some of the allocations of sizes for which the function returns true.
pub struct Scarce(pub fn(usize) -> bool);

impl Scarce {
    fn refuses(&self, size: usize) -> bool {
        REFUSED.get() > 0 && (self.0)(size) && RNG.with_borrow_mut(|rng| rng.chance(REFUSED.get()))
    }
}

// SAFETY: the system's allocator, or null, which is allowed.
unsafe impl GlobalAlloc for Scarce {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match self.refuses(layout.size()) {
            true => std::ptr::null_mut(),
            // SAFETY: as for this function.
            false => unsafe { System.alloc(layout) },
        }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        // SAFETY: as for this function.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        match self.refuses(size) {
            true => std::ptr::null_mut(),
            // SAFETY: as for this function.
            false => unsafe { System.realloc(start, layout, size) },
        }
    }
}

/// Calls `f`, which is refused so many percent of its allocations.
pub fn scarce<T>(percent: u32, seed: u64, f: impl FnOnce() -> T) -> T {
    RNG.with_borrow_mut(|rng| *rng = Rng::new(seed));
    REFUSED.set(percent);
    let made = f();
    REFUSED.set(0);
    made
}
