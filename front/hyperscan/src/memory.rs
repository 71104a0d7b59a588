//! The allocators of the caller: one each for databases, streams, scratches and what calls return.

use std::ffi::{c_int, c_void};
use std::mem::transmute;
use std::ptr::{self, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

use crate::abi::{Alloc, Free, HS_BAD_ALLOC, HS_NOMEM, HS_SUCCESS};

/// What memory is for.
pub(crate) struct Allocator {
    /// Null: `malloc`.
    alloc: AtomicPtr<c_void>,
    /// Null: `free`.
    free: AtomicPtr<c_void>,
}

pub(crate) static DATABASE: Allocator = Allocator::new();
pub(crate) static MISC: Allocator = Allocator::new();
pub(crate) static SCRATCH: Allocator = Allocator::new();
pub(crate) static STREAM: Allocator = Allocator::new();

impl Allocator {
    const fn new() -> Allocator {
        Allocator { alloc: AtomicPtr::new(null_mut()), free: AtomicPtr::new(null_mut()) }
    }

    fn set(&self, alloc: Option<Alloc>, free: Option<Free>) -> c_int {
        self.alloc.store(alloc.map_or(null_mut(), |f| f as *mut c_void), Relaxed);
        self.free.store(free.map_or(null_mut(), |f| f as *mut c_void), Relaxed);
        HS_SUCCESS
    }

    /// `size` bytes, aligned for a 64-bit number; freed again and the error if they are not.
    pub(crate) fn alloc(&self, size: usize) -> Result<ptr::NonNull<u8>, c_int> {
        let memory = self.alloc_unchecked(size);
        let Some(there) = ptr::NonNull::new(memory.cast::<u8>()) else { return Err(HS_NOMEM) };
        if !there.as_ptr().addr().is_multiple_of(align_of::<u64>()) {
            // SAFETY: from this allocator, and used by nobody.
            unsafe { self.free(memory) };
            return Err(HS_BAD_ALLOC);
        }
        Ok(there)
    }

    /// `size` bytes, aligned or not.
    pub(crate) fn alloc_any(&self, size: usize) -> Result<ptr::NonNull<u8>, c_int> {
        ptr::NonNull::new(self.alloc_unchecked(size).cast::<u8>()).ok_or(HS_NOMEM)
    }

    fn alloc_unchecked(&self, size: usize) -> *mut c_void {
        let own = self.alloc.load(Relaxed);
        if own.is_null() {
            // SAFETY: `malloc` takes any size.
            return unsafe { libc::malloc(size) };
        }
        // SAFETY: `set` has stored a function of this type; the caller vouches for it.
        unsafe { transmute::<*mut c_void, Alloc>(own)(size) }
    }

    /// # Safety
    /// `memory` is null or from this allocator, and nobody uses it any more.
    pub(crate) unsafe fn free(&self, memory: *mut c_void) {
        let own = self.free.load(Relaxed);
        // SAFETY: as the caller promises; `set` has stored a function of this type.
        unsafe {
            match own.is_null() {
                true => libc::free(memory),
                false => transmute::<*mut c_void, Free>(own)(memory),
            }
        }
    }

    /// A copy of `bytes`.
    pub(crate) fn copy(&self, bytes: &[u8]) -> Result<ptr::NonNull<u8>, c_int> {
        let memory = self.alloc(bytes.len())?;
        // SAFETY: fresh memory of this length.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), memory.as_ptr(), bytes.len()) };
        Ok(memory)
    }
}

/// Sets all four allocators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_set_allocator(alloc: Option<Alloc>, free: Option<Free>) -> c_int {
    for allocator in [&DATABASE, &MISC, &STREAM, &SCRATCH] {
        allocator.set(alloc, free);
    }
    HS_SUCCESS
}

/// Sets the allocator of databases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_set_database_allocator(a: Option<Alloc>, f: Option<Free>) -> c_int {
    DATABASE.set(a, f)
}

/// Sets the allocator of what calls return: compile errors, information, serialised databases.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_set_misc_allocator(a: Option<Alloc>, f: Option<Free>) -> c_int {
    MISC.set(a, f)
}

/// Sets the allocator of scratches.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_set_scratch_allocator(a: Option<Alloc>, f: Option<Free>) -> c_int {
    SCRATCH.set(a, f)
}

/// Sets the allocator of streams.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_set_stream_allocator(a: Option<Alloc>, f: Option<Free>) -> c_int {
    STREAM.set(a, f)
}
