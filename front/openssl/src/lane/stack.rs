//! A stack to execute on.
//!
//! An `ASYNC_JOB` runs on 32 KiB from `malloc`, without a guard page. Eight RSA operations side by
//! side have window tables of over 64 KiB alone. So what a job executes or prepares is run on a stack
//! of the lane's own, 1 MiB with a guard page below; pages that are never touched cost nothing.
//!
//! What was computed with is overwritten before the caller goes on, down to the lowest page that was
//! ever used. The system is asked for that page: nothing read from the stack itself tells a page of zeros
//! that was used from one that was not. It is asked about the few pages below the lowest that is known, and
//! about the next as long as one of them was used; of the first calls after each, later after one of [`PROBE`],
//! and when the stack goes. (Asked each time about all 256 pages, it took a fifth of a TLS handshake's time.)
#![allow(unsafe_code)]

use core::{ffi::c_void, panic::AssertUnwindSafe, ptr};
use std::panic::{catch_unwind, resume_unwind};

const SIZE: usize = 1 << 20;
const GUARD: usize = 1 << 16;

/// Every so many calls, and after each of the first so many, the system is asked how deep they went: what an
/// operation uses hardly changes.
const PROBE: u32 = 64;

/// What no function skips: the compiler has large frames touch each of their pages, and in C there are none so
/// large. A multiple of all sizes of pages.
const WINDOW: usize = 1 << 16;

/// A stack.
pub(super) struct Stack {
    /// The lowest address: of the guard.
    base: *mut c_void,
    /// How many bytes, from the top down, were ever used, as far as it is known.
    deepest: usize,
    /// How many calls there were.
    calls: u32,
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
        Some(Stack { base, deepest: 0, calls: 0 })
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
        self.calls = self.calls.wrapping_add(1);
        self.wipe(self.calls < PROBE || self.calls.is_multiple_of(PROBE));
        match task.result {
            Some(Ok(result)) => result,
            Some(Err(panic)) => resume_unwind(panic),
            None => unreachable!("the function was called"),
        }
    }
}

impl Stack {
    /// The stack's words, from the lowest address on.
    fn words(&mut self) -> &mut [u64] {
        // SAFETY: the mapping above its guard, which is readable, writable, aligned and, as the kernel
        // makes it, zero where nothing has written. Nothing runs on it (`&mut self`).
        unsafe {
            let lowest = self.base.byte_add(GUARD).cast();
            core::slice::from_raw_parts_mut(lowest, SIZE / size_of::<u64>())
        }
    }

    /// Overwrites what was used; `ask`: after a look for what was used further down.
    fn wipe(&mut self, ask: bool) {
        while ask && self.deepest < SIZE && self.reaches_below() {}
        let words = (self.deepest / size_of::<u64>()).max(1);
        let dirty = self.words().rchunks_mut(words).next().unwrap_or_default();
        // SAFETY: the slice's own memory, for which zeros are valid. The compiler keeps this call.
        unsafe { libc::explicit_bzero(dirty.as_mut_ptr().cast(), size_of_val(dirty)) };
    }

    /// Finds out whether something has run in the [`WINDOW`] below what was ever used before; then that is
    /// what was ever used.
    fn reaches_below(&mut self) -> bool {
        // No system has smaller pages.
        let mut resident = [0u8; WINDOW >> 12];
        // SAFETY: takes a number.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1 << 12) as usize;
        let window = WINDOW.min(SIZE - self.deepest);
        // SAFETY: within the mapping above its guard, and room for as many answers as it has pages.
        let told = unsafe {
            let lowest = self.base.byte_add(GUARD + SIZE - self.deepest - window);
            libc::mincore(lowest, window, resident.as_mut_ptr()) == 0
        };
        // A page that was never written to is in no memory. The lowest that was is remembered, also if
        // the system has put it elsewhere since.
        let pages = &resident[..window.div_ceil(page)];
        self.deepest += match pages.iter().position(|page| page & 1 == 1) {
            Some(untouched) if told => window - untouched * page,
            None if told => return false,
            _ => window,
        };
        true
    }

    /// Whether nothing is left of what ran.
    #[cfg(any(test, debug_assertions))]
    fn is_clean(&mut self) -> bool {
        self.words().iter().all(|&word| word == 0)
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        self.wipe(true);
        #[cfg(debug_assertions)]
        assert!(
            self.is_clean() || std::thread::panicking(),
            "the lane's stack holds what was used"
        );
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
    fn nothing_is_left_of_what_ran() {
        let mut stack = Stack::new().unwrap();
        let uses = |len: usize| {
            let mut big = [0u8; 700_000];
            // With zeros in between, and calls below all of it.
            big[..len].fill(0x5a);
            core::hint::black_box(&mut big);
        };
        for len in [100, 5_000, 70_000, 600_000] {
            stack.run(|| uses(len));
            assert!(stack.is_clean(), "{len}");
        }
        let caught = catch_unwind(AssertUnwindSafe(|| {
            stack.run(|| {
                core::hint::black_box([0x5a; 3_000]);
                panic!("on purpose");
            });
        }));
        assert!(caught.is_err() && stack.is_clean());
    }

    /// Nothing is read before the end: a page that was read is in memory too.
    #[test]
    fn a_call_that_goes_deeper_is_noticed_by_one_of_the_next() {
        let mut stack = Stack::new().unwrap();
        for _ in 0..2 * PROBE {
            stack.run(|| _ = core::hint::black_box([0x5a_u8; 10_000]));
        }
        assert!(stack.deepest < 100_000);
        stack.run(|| {
            let mut bigger = [0u8; 900_000];
            bigger[..1_000].fill(0x5a);
            core::hint::black_box(&mut bigger);
        });
        for _ in 0..PROBE {
            stack.run(|| ());
        }
        assert!(stack.is_clean());
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
