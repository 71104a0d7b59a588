//! Noticing `fork`. A child has a copy of the rings but none of the engine threads, and locks may
//! be held by threads that do not exist there. So nothing of the parent's scheduling is used in
//! the child: whoever sees a new [`generation`] builds afresh.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(1);

extern "C" fn in_child() {
    // Only async-signal-safe work here: an atomic add is.
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// How many forks lie between this process and the one that loaded the library, from 1. Costs one
/// load.
#[inline]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Ordering::Relaxed)
}

/// Has `fork` counted from now on.
///
/// No `Once`: a child of a `fork` in the middle of one would wait for a thread that it does not have.
/// Of two threads here at once both register, and each fork counts twice: generations are only
/// compared for equality.
pub(crate) fn watch() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Relaxed) {
        // SAFETY: `in_child` is a static function that only adds to an atomic. Failure (ENOMEM)
        // leaves forks uncounted; nothing here depends on the count for memory safety.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        WATCHED.store(true, Ordering::Relaxed);
    }
}
