//! Noticing `fork`: a child has none of the parent's other threads, and what is outstanding is
//! answered in the parent.
#![allow(unsafe_code)]

use std::sync::{
    Once,
    atomic::{AtomicU32, Ordering::Relaxed},
};

static GENERATION: AtomicU32 = AtomicU32::new(0);

extern "C" fn in_child() {
    // Only what is safe in a signal's place: an atomic add is.
    GENERATION.fetch_add(1, Relaxed);
}

/// How many forks lie between this process and the one that loaded the provider.
pub(super) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Has forks counted from now on.
pub(super) fn watch() {
    static WATCH: Once = Once::new();
    WATCH.call_once(|| {
        // SAFETY: the function is static, and the library is never unmapped (`-z nodelete`).
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
}
