//! Objects of digests that a thread keeps for its next messages.
//!
//! `EVP_Digest` makes and frees an object for each message. To allocate it with its state, to count
//! the provider's users and to add to counters that all threads share takes longer than SHA-256 takes
//! for 16 bytes.
//!
//! What is kept holds its provider. A thread lets go of it when it ends, and with the next message
//! after some provider was unloaded.

use core::{cell::RefCell, ffi::c_void};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::hash::list::SPECS;

/// So many of each algorithm: TLS has two under way at times.
const EACH: usize = 2;

/// How often a provider was unloaded.
static UNLOADED: AtomicU32 = AtomicU32::new(0);

/// What is done with an object.
type Function = unsafe fn(*mut c_void);

/// An object that nobody uses. Dropped, it is freed.
pub(super) struct Kept {
    provctx: *mut c_void,
    object: *mut c_void,
    settle: Function,
    free: Function,
}

impl Kept {
    /// # Safety
    /// Nobody else uses the object, and it is of the type that the functions take: the first one adds
    /// up its counters, the second one frees it.
    pub(super) unsafe fn new(
        provctx: *mut c_void,
        object: *mut c_void,
        settle: Function,
        free: Function,
    ) -> Kept {
        Kept { provctx, object, settle, free }
    }

    fn into_object(self) -> *mut c_void {
        core::mem::ManuallyDrop::new(self).object
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // SAFETY: see `new`; it is not used again.
        unsafe { (self.free)(self.object) };
    }
}

#[derive(Default)]
struct Shelf {
    unloaded: u32,
    kept: [[Option<Kept>; EACH]; SPECS.len()],
}

thread_local! {
    static SHELF: RefCell<Shelf> = RefCell::default();
}

/// An object of this algorithm and provider. Never inlined, as nothing here: a job may go on in
/// another thread.
#[inline(never)]
pub(super) fn take(spec: usize, provctx: *mut c_void) -> Option<*mut c_void> {
    let found = SHELF.try_with(|shelf| {
        let mut shelf = shelf.borrow_mut();
        let mut places = shelf.kept[spec].iter_mut();
        places.find(|place| place.as_ref().is_some_and(|kept| kept.provctx == provctx))?.take()
    });
    found.ok().flatten().map(Kept::into_object)
}

/// Keeps an object, if there is room.
#[inline(never)]
pub(super) fn keep(spec: usize, entry: Kept) {
    let mut entry = Some(entry);
    let _ = SHELF.try_with(|shelf| {
        let mut shelf = shelf.borrow_mut();
        if shelf.unloaded == UNLOADED.load(Relaxed) {
            if let Some(place) = shelf.kept[spec].iter_mut().find(|place| place.is_none()) {
                *place = entry.take();
            }
        } else {
            drop(shelf);
            forget();
        }
    });
    // Outside of the borrow: what is freed may be the last that holds a provider.
    drop(entry);
}

/// Adds up the counters of what this thread keeps.
#[inline(never)]
pub fn settle() {
    let _ = SHELF.try_with(|shelf| {
        for kept in shelf.borrow_mut().kept.iter_mut().flatten().flatten() {
            // SAFETY: see `Kept::new`.
            unsafe { (kept.settle)(kept.object) };
        }
    });
}

/// A provider is unloaded: nobody is to keep anything of it.
pub fn unload() {
    UNLOADED.fetch_add(1, Relaxed);
    forget();
}

#[inline(never)]
fn forget() {
    let all = SHELF.try_with(|shelf| {
        let unloaded = UNLOADED.load(Relaxed);
        shelf.replace(Shelf { unloaded, kept: Default::default() })
    });
    drop(all);
}
