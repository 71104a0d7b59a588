//! A stack to execute on.
//!
//! An `ASYNC_JOB` runs on 32 KiB from `malloc`, without a guard page. Eight RSA operations side by
//! side have window tables of over 64 KiB alone. So what a job executes or prepares is run on a stack
//! of the lane's own, 1 MiB with a guard page below; pages that are never touched cost nothing.
#![allow(unsafe_code)]

use core::{ffi::c_void, panic::AssertUnwindSafe, ptr};
use std::panic::{catch_unwind, resume_unwind};

const SIZE: usize = 1 << 20;
const GUARD: usize = 1 << 16;

/// A stack.
pub(super) struct Stack {
    /// The lowest address: of the guard.
    base: *mut c_void,
}

// SAFETY: memory; who has `&mut Stack` is the only one that runs on it.
unsafe impl Send for Stack {}

impl Stack {
    /// Maps a stack; `None` when the system has no memory.
    pub(super) fn new() -> Option<Stack> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, anywhere.
        let base = unsafe { libc::mmap(ptr::null_mut(), GUARD + SIZE, access, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return None;
        }
        // The kernel's page may have 4 to 64 KiB: the guard has a multiple of each.
        // SAFETY: the lowest part of the mapping just made.
        unsafe { libc::mprotect(base, GUARD, libc::PROT_NONE) };
        Some(Stack { base })
    }

    /// Calls a function on this stack. It must not pause the job.
    pub(super) fn run<R>(&mut self, f: impl FnOnce() -> R) -> R {
        struct Task<F, R> {
            f: Option<F>,
            result: Option<std::thread::Result<R>>,
        }

        extern "C" fn enter<F: FnOnce() -> R, R>(task: *mut c_void) {
            // SAFETY: `run` passes its own task and does not touch it meanwhile.
            let task = unsafe { &mut *task.cast::<Task<F, R>>() };
            // No panic passes the assembly, which has no tables for it.
            if let Some(f) = task.f.take() {
                task.result = Some(catch_unwind(AssertUnwindSafe(f)));
            }
        }

        fn entry<F: FnOnce() -> R, R>(_: &F) -> extern "C" fn(*mut c_void) {
            enter::<F, R>
        }

        let function = entry::<_, R>(&f);
        let mut task = Task { f: Some(f), result: None };
        // SAFETY: within the mapping; the end of a mapping is aligned to 16.
        let top = unsafe { self.base.byte_add(GUARD + SIZE) };
        // SAFETY: the stack is ours alone (`&mut self`), its end is aligned, the function returns
        // normally, and its argument lives on the stack that is left and come back to.
        unsafe { call_on(top, function, ptr::from_mut(&mut task).cast()) };
        match task.result {
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
            None => unreachable!("the function was called"),
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, on which nothing runs.
        unsafe { libc::munmap(self.base, GUARD + SIZE) };
    }
}

/// Calls `function(argument)` with the stack pointer at `top`. The old one waits in the frame
/// pointer, and the unwinder is told so: a panic's backtrace goes on to the caller's frames, where
/// it would otherwise read on above the end of the mapping.
///
/// # Safety
/// Below `top`, aligned to 16, there is a stack that nobody uses. The function may be called, and
/// does not unwind.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
unsafe extern "C" fn call_on(
    top: *mut c_void,
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "push rbp",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset rbp, -16",
        "mov rbp, rsp",
        ".cfi_def_cfa_register rbp",
        "mov rsp, rdi",
        "mov rdi, rdx",
        "call rsi",
        "mov rsp, rbp",
        "pop rbp",
        ".cfi_def_cfa rsp, 8",
        "ret",
        ".cfi_endproc",
    )
}

/// As on x86-64.
///
/// # Safety
/// As on x86-64.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
unsafe extern "C" fn call_on(
    top: *mut c_void,
    function: extern "C" fn(*mut c_void),
    argument: *mut c_void,
) {
    core::arch::naked_asm!(
        ".cfi_startproc",
        "stp x29, x30, [sp, #-16]!",
        ".cfi_def_cfa_offset 16",
        ".cfi_offset x29, -16",
        ".cfi_offset x30, -8",
        "mov x29, sp",
        ".cfi_def_cfa_register x29",
        "mov sp, x0",
        "mov x0, x2",
        "blr x1",
        "mov sp, x29",
        "ldp x29, x30, [sp], #16",
        ".cfi_def_cfa sp, 0",
        ".cfi_restore x29",
        ".cfi_restore x30",
        "ret",
        ".cfi_endproc",
    )
}

/// Elsewhere, on the stack that is there.
///
/// # Safety
/// The function may be called.
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
unsafe fn call_on(_: *mut c_void, function: extern "C" fn(*mut c_void), argument: *mut c_void) {
    function(argument);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_elsewhere_and_comes_back() {
        let mut stack = Stack::new().unwrap();
        let (base, mut seen) = (stack.base.addr(), 0);
        let sum = stack.run(|| {
            // Far more than a job's stack has.
            let mut big = [1u8; 600_000];
            seen = core::hint::black_box(&mut big).as_ptr().addr();
            big.iter().map(|&b| u64::from(b)).sum::<u64>()
        });
        assert_eq!(sum, 600_000);
        assert!((base..base + GUARD + SIZE).contains(&seen));
    }

    #[test]
    fn a_panic_comes_out_on_the_callers_stack() {
        let mut stack = Stack::new().unwrap();
        for _ in 0..3 {
            let caught = catch_unwind(AssertUnwindSafe(|| stack.run(|| panic!("on purpose"))));
            assert_eq!(*caught.unwrap_err().downcast_ref::<&str>().unwrap(), "on purpose");
        }
        assert_eq!(stack.run(|| 7), 7);
    }
    #[test]
    fn a_backtrace_finds_the_callers_frames() {
        // What a panic prints with RUST_BACKTRACE=1. Of optimised code, the unwinder needs to know
        // where the caller's stack is: it would read above the end of this one.
        let mut stack = Stack::new().unwrap();
        let frames = stack.run(|| std::backtrace::Backtrace::force_capture().to_string());
        assert!(frames.contains("a_backtrace_finds_the_callers_frames"), "{frames}");
        assert!(frames.contains("::run"), "{frames}");
    }
}
