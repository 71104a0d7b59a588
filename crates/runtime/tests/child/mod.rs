//! Forks of a test. What is called in the child may allocate: `fork` leaves the allocator whole.

/// Makes a child process as `fork`.
pub type Fork = unsafe fn() -> libc::pid_t;

/// The C library's, which runs the handlers of `pthread_atfork`.
///
/// # Safety
/// As fork(2).
pub unsafe fn fork() -> libc::pid_t {
    // SAFETY: the caller's promise.
    unsafe { libc::fork() }
}

/// Runs `f` in a forked child; whether it returned true within a minute.
///
/// # Panics
/// When a signal ended the child.
pub fn in_child(f: impl FnOnce() -> bool) -> bool {
    in_child_by(fork, 60, f)
}

/// Runs `f` in a child that is made so; whether it returned true within these seconds.
///
/// # Panics
/// When a signal ended the child.
pub fn in_child_by(make: Fork, seconds: u32, f: impl FnOnce() -> bool) -> bool {
    // SAFETY: the child calls `f` and `_exit`s; it runs no destructors of the parent's values.
    match unsafe { make() } {
        0 => {
            // SAFETY: plain system calls.
            unsafe { libc::alarm(seconds) };
            let good = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_or(false);
            // SAFETY: as above.
            unsafe { libc::_exit(if good { 0 } else { 1 }) }
        }
        -1 => panic!("fork: {}", std::io::Error::last_os_error()),
        child => {
            let mut status = 0;
            // SAFETY: `status` is valid for writes.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert!(libc::WIFEXITED(status), "ended by signal {}", libc::WTERMSIG(status));
            libc::WEXITSTATUS(status) == 0
        }
    }
}
