//! A decoder in its caller's memory takes none of its own, not even for what is made only once:
//! where the heap is used up, there would be nothing to answer.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::mem::MaybeUninit;

use lookaside_compress::{Inflate, Place, Until};
use lookaside_simd::Cpu;

thread_local!(static ALLOCATIONS: Cell<usize> = const { Cell::new(0) });

struct Counting;

// SAFETY: the system's allocator, with a count.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn nothing_is_allocated() {
    let cpu = Cpu::with_cap(lookaside_simd::Tier::Generic);
    let mut memory = Box::new(MaybeUninit::uninit());
    // "a" and a match, with fixed codes.
    let fixed = [0x4b, 0x84, 0x03, 0x00];
    let mut out = [0; 400];
    let before = ALLOCATIONS.get();
    let inflate = Inflate::place(&mut memory, 15, &cpu);
    let taken = inflate.step(&fixed, &mut out, Until::Ends).unwrap();
    inflate.keep(&out[..taken.produced]);
    assert_eq!((ALLOCATIONS.get() - before, inflate.at()), (0, Place::End));
    assert_eq!(out[..taken.produced], *b"aaaaaaaaaa");
}
