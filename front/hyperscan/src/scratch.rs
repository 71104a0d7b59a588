//! Scratches: the working memory of one thread. In the memory of the caller's allocator there is a header; the buffers
//! behind it grow with use and serve all databases.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crate::abi::{HS_INVALID, HS_SCRATCH_IN_USE, HS_SUCCESS};
use crate::database::{self, Database};
use crate::guard;
use crate::memory::SCRATCH;

const MAGIC: u32 = 0x544f_4c4b;
/// The alignment of scratches, which the original's callers may rely on.
const ALIGN: usize = 64;
/// What is allocated: the header and what its alignment may cost.
const SIZE: usize = size_of::<Scratch>() + ALIGN;

/// What a caller's pointer to a scratch points to.
#[repr(C, align(64))]
pub struct Scratch {
    magic: u32,
    in_use: AtomicBool,
    /// What the allocator returned.
    memory: *mut c_void,
    /// The memory of scans.
    work: lookaside_scan::Scratch,
    /// The state of a vectored scan.
    state: Vec<u8>,
}

/// A scratch that a call uses. A call within a callback looks at its other fields meanwhile: no reference covers them.
pub(crate) struct InUse(*mut Scratch);

impl InUse {
    /// The working memory.
    pub(crate) fn work(&mut self) -> &mut lookaside_scan::Scratch {
        // SAFETY: a scratch that this call alone uses.
        unsafe { &mut (*self.0).work }
    }

    /// The working memory, and the state of a vectored scan.
    pub(crate) fn parts(&mut self) -> (&mut lookaside_scan::Scratch, &mut Vec<u8>) {
        // SAFETY: a scratch that this call alone uses.
        unsafe { (&mut (*self.0).work, &mut (*self.0).state) }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        // SAFETY: the scratch that was taken.
        unsafe { (*self.0).in_use.store(false, Relaxed) };
    }
}

/// Takes a scratch for a call.
///
/// # Safety
/// Null or the caller's pointer to a scratch, which no other thread uses.
#[inline]
pub(crate) unsafe fn take(scratch: *mut Scratch) -> Result<InUse, c_int> {
    // SAFETY: as the caller promises.
    unsafe {
        check(scratch)?;
        if (*scratch).in_use.load(Relaxed) {
            return Err(HS_SCRATCH_IN_USE);
        }
        (*scratch).in_use.store(true, Relaxed);
    }
    Ok(InUse(scratch))
}

/// Whether it is a scratch.
#[inline]
pub(crate) unsafe fn check(scratch: *const Scratch) -> Result<(), c_int> {
    if scratch.is_null() || !scratch.is_aligned() {
        return Err(HS_INVALID);
    }
    // SAFETY: the caller's pointer to a scratch.
    match unsafe { (*scratch).magic } {
        MAGIC => Ok(()),
        _ => Err(HS_INVALID),
    }
}

fn new() -> Result<*mut Scratch, c_int> {
    let memory = SCRATCH.alloc(SIZE)?.as_ptr();
    let place = memory.wrapping_add(memory.align_offset(ALIGN)).cast::<Scratch>();
    let scratch = Scratch {
        magic: MAGIC,
        in_use: AtomicBool::new(false),
        memory: memory.cast(),
        work: lookaside_scan::Scratch::new(),
        state: Vec::new(),
    };
    // SAFETY: aligned, and within the memory.
    unsafe { place.write(scratch) };
    Ok(place)
}

/// Allocates a scratch for a database, or checks that an earlier one will do, which it always does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_alloc_scratch(
    db: *const Database,
    scratch: *mut *mut Scratch,
) -> c_int {
    guard(|| {
        if db.is_null() || scratch.is_null() {
            return HS_INVALID;
        }
        // SAFETY: the caller's pointers.
        unsafe {
            if let Err(e) = database::check_all(db) {
                return e;
            }
            if !(*scratch).is_null() {
                return take(*scratch).err().unwrap_or(HS_SUCCESS);
            }
            match new() {
                Ok(made) => *scratch = made,
                Err(e) => {
                    *scratch = null_mut();
                    return e;
                }
            }
        }
        HS_SUCCESS
    })
}

/// Allocates a scratch for the databases of another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_clone_scratch(src: *const Scratch, dst: *mut *mut Scratch) -> c_int {
    guard(|| {
        // SAFETY: the caller's pointers.
        unsafe {
            if dst.is_null() || check(src).is_err() {
                return HS_INVALID;
            }
            *dst = null_mut();
            match new() {
                Ok(made) => *dst = made,
                Err(e) => return e,
            }
        }
        HS_SUCCESS
    })
}

/// Tells the size of a scratch in the memory of its allocator. (Its buffers, which are not there, come on top.)
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_scratch_size(scratch: *const Scratch, size: *mut usize) -> c_int {
    // SAFETY: the caller's pointers.
    unsafe {
        if size.is_null() || check(scratch).is_err() {
            return HS_INVALID;
        }
        *size = SIZE;
    }
    HS_SUCCESS
}

/// Frees a scratch. Null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn hs_free_scratch(scratch: *mut Scratch) -> c_int {
    guard(|| {
        if scratch.is_null() {
            return HS_SUCCESS;
        }
        // SAFETY: the caller's pointer, which nobody uses any more.
        unsafe {
            match take(scratch) {
                Ok(taken) => drop(taken),
                Err(e) => return e,
            }
            let memory = (*scratch).memory;
            (*scratch).magic = 0;
            scratch.drop_in_place();
            SCRATCH.free(memory);
        }
        HS_SUCCESS
    })
}
