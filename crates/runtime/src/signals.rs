//! The signal mask of engine threads. A signal that is sent to a process runs on any thread that does
//! not block it; a program's own threads expect theirs (`sigwait`, `EINTR` of a blocking call), and an
//! engine has no use for any. Rust's standard library has no way to start a thread with a mask.
#![allow(unsafe_code)]

use core::{mem::MaybeUninit, ptr};

/// What an instruction of a thread itself can raise.
const FAULTS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE, libc::SIGTRAP, libc::SIGSYS];

/// Runs a function with all signals blocked but those of a thread's own faults: a fault whose signal is
/// blocked ends the process, whatever would have been done about it. Threads that it starts inherit that; this thread has
/// its own mask again afterwards. What glibc needs (`SIGCANCEL`, and `SIGSETXID`, by which `setuid`
/// reaches every thread) stays unblocked: glibc leaves it out of every mask.
pub(crate) fn blocked<T>(run: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: `sigfillset` initialises the set that the next call reads; that one initialises the
    // other set, unless it fails.
    let masked = unsafe {
        libc::sigfillset(all.as_mut_ptr());
        for fault in FAULTS {
            libc::sigdelset(all.as_mut_ptr(), fault);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr()) == 0
    };
    let result = run();
    if masked {
        // SAFETY: initialised by the call above, which succeeded.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    }
    result
}
