//! Allocation, and addresses.
#![allow(unsafe_code)]

use core::{
    ffi::{c_int, c_void},
    ptr,
};
use std::alloc::{Layout, alloc, dealloc};

/// What lies in front of a block.
#[repr(C)]
#[derive(Clone, Copy)]
struct Head {
    mark: u64,
    size: usize,
    align: usize,
    /// How far in front of the block the allocation begins.
    before: usize,
}

const MARK: u64 = u64::from_be_bytes(*b"usdmhead");
/// Blocks lie on lines of the cache, as programs expect of memory for hardware.
const LEAST_ALIGN: usize = 64;
/// The largest alignment: programs ask for pages, or for huge ones.
const MOST_ALIGN: usize = 1 << 30;

fn mark(block: *const u8) -> u64 {
    MARK ^ block.addr() as u64
}

fn head(block: *mut u8) -> *mut Head {
    block.wrapping_sub(size_of::<Head>()).cast()
}

fn allocate(size: usize, align: usize) -> *mut c_void {
    if size == 0 || align > MOST_ALIGN || !(align.is_power_of_two() || align == 0) {
        return ptr::null_mut();
    }
    let align = align.max(LEAST_ALIGN);
    let before = size_of::<Head>().next_multiple_of(align);
    let Some(all) = size.checked_add(before) else { return ptr::null_mut() };
    let Ok(layout) = Layout::from_size_align(all, align) else { return ptr::null_mut() };
    // SAFETY: at least the head's bytes.
    let start = unsafe { alloc(layout) };
    if start.is_null() {
        return ptr::null_mut();
    }
    let block = start.wrapping_add(before);
    // SAFETY: in front of the block are `before` bytes, at least the head's, aligned for it.
    unsafe { head(block).write(Head { mark: mark(block), size, align, before }) };
    block.cast()
}

/// Frees the block that a variable of the caller's points at, and sets the variable to null. Anything else is
/// left alone.
///
/// # Safety
/// `pointer` is null, or points at a variable; that is null, misaligned, or has a head's bytes in front to read.
unsafe fn free(pointer: *mut *mut c_void, wipe: bool) {
    if pointer.is_null() || !pointer.is_aligned() {
        return;
    }
    // SAFETY: the caller's promise.
    let block = unsafe { pointer.read() }.cast::<u8>();
    if block.is_null() || !block.addr().is_multiple_of(LEAST_ALIGN) {
        return;
    }
    let place = head(block);
    // SAFETY: aligned; the caller's promise.
    let found = unsafe { place.read() };
    if found.mark != mark(block) {
        return;
    }
    if wipe {
        // SAFETY: the block is `size` bytes, and belongs to this function now.
        unsafe { ptr::write_bytes(block, 0, found.size) };
        core::hint::black_box(block);
    }
    // SAFETY: the head, as above. A second `free` finds no mark, where the memory is still there.
    unsafe { (*place).mark = 0 };
    core::hint::black_box(place);
    // SAFETY: the allocation of `allocate`, with the layout that it had.
    unsafe {
        let layout = Layout::from_size_align_unchecked(found.size + found.before, found.align);
        dealloc(block.wrapping_sub(found.before), layout);
        pointer.write(ptr::null_mut());
    }
}

/// Memory, or null. Of 0 bytes there is a block too, as from `malloc`: programs take null for a failure, and ask for as
/// many bytes as a key has that they do not have.
#[unsafe(no_mangle)]
pub extern "C" fn qaeMemAlloc(size: usize) -> *mut c_void {
    allocate(size.max(1), 0)
}

/// Memory at a multiple of `align`, a power of two or 0; or null.
#[unsafe(no_mangle)]
pub extern "C" fn qaeMemAllocNUMA(size: usize, _node: c_int, align: usize) -> *mut c_void {
    allocate(size, align)
}

/// Frees what `*pointer` points at, and sets it to null.
///
/// # Safety
/// As the header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qaeMemFree(pointer: *mut *mut c_void) {
    // SAFETY: the interface asks for the address of a variable that has a block of ours.
    unsafe { free(pointer, false) }
}

/// As [`qaeMemFree`], and overwrites the block.
///
/// # Safety
/// As the header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qaeMemFreeNUMA(pointer: *mut *mut c_void) {
    // SAFETY: as above.
    unsafe { free(pointer, true) }
}

/// As [`qaeMemFree`].
///
/// # Safety
/// As the header has it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qaeMemFreeNonZeroNUMA(pointer: *mut *mut c_void) {
    // SAFETY: as above.
    unsafe { free(pointer, false) }
}

/// The address itself.
#[unsafe(no_mangle)]
pub extern "C" fn qaeVirtToPhysNUMA(address: *mut c_void) -> u64 {
    address.expose_provenance() as u64
}

/// The address itself.
#[unsafe(no_mangle)]
pub extern "C" fn qaePhysToVirtNUMA(address: u64) -> *mut c_void {
    ptr::with_exposed_provenance_mut(address as usize)
}

/// There is no device to attach: a descriptor of none is refused.
#[unsafe(no_mangle)]
pub extern "C" fn qaeRegisterDevice(_fd: c_int) -> c_int {
    -1
}

/// As [`qaeRegisterDevice`].
#[unsafe(no_mangle)]
pub extern "C" fn qaeUnregisterDevice(_fd: c_int) -> c_int {
    -1
}

/// Memory of the caller's needs no mapping: its address.
#[unsafe(no_mangle)]
pub extern "C" fn qaeMemMapContiguousIova(address: *mut c_void, size: usize) -> u64 {
    match size {
        0 => 0,
        _ => qaeVirtToPhysNUMA(address),
    }
}

/// Takes [`qaeMemMapContiguousIova`] back: nothing was mapped.
#[unsafe(no_mangle)]
pub extern "C" fn qaeMemUnmapContiguousIova(address: *mut c_void, size: usize) -> c_int {
    if address.is_null() || size == 0 { -1 } else { 0 }
}

/// A child of a `fork` has a copy of all blocks, and goes on with them.
#[unsafe(no_mangle)]
pub extern "C" fn qaeAtFork() {}

/// Nothing is to be prepared.
#[unsafe(no_mangle)]
pub extern "C" fn qaeMemInit() -> i32 {
    0
}

/// Blocks stay until they are freed.
#[unsafe(no_mangle)]
pub extern "C" fn qaeMemDestroy() {}
