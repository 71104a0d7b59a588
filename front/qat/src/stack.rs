//! Room on the stack, wherever a program calls from.
//!
//! Programs call on stacks of any size: OpenSSL's asynchronous jobs have 32 KB from `malloc`, without a guard page, and
//! an overflow there overwrites the heap in silence. A key's set-up, a ring's first request and the kernels, which run
//! in polls and synchronous calls, want more. So an exported function whose thread has less than `LEAST` left, or
//! which is called on a stack that is not the thread's own, executes on a stack from here. It stays on its thread:
//! callbacks find their thread-local values.
#![allow(unsafe_code)]

use core::{
    cell::{Cell, RefCell},
    ffi::c_void,
    mem::MaybeUninit,
    ptr,
};

/// A stack with less than this left is small.
const LEAST: usize = 256 << 10;

/// Bytes of a stack from here, without its guard. Only pages that are touched take memory.
const SIZE: usize = 1 << 20;

/// Unused pages below a stack, which end the process in place of overwriting something.
const GUARD: usize = 64 << 10;

/// How many stacks a thread keeps. More than one is needed where callbacks call again.
const KEPT: usize = 2;

thread_local! {
    /// Where the stack of this thread ends and begins; (0, 0) before it was asked, (1, 1) where the system does not say.
    static BOUNDS: Cell<(usize, usize)> = const { Cell::new((0, 0)) };
    /// Stacks that nothing executes on.
    static FREE: RefCell<Vec<Stack>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` where it has room.
#[inline]
pub fn with_room<R>(work: impl FnOnce() -> R) -> R {
    let (end, begin) = BOUNDS.get();
    let here = pointer();
    if here < begin && here.wrapping_sub(end) >= LEAST && here > end {
        return work();
    }
    elsewhere(work)
}

/// About where this thread's stack pointer is.
#[inline(always)]
fn pointer() -> usize {
    let local = MaybeUninit::<u8>::uninit();
    core::hint::black_box(local.as_ptr()).addr()
}

#[cold]
#[inline(never)]
fn elsewhere<R>(work: impl FnOnce() -> R) -> R {
    if BOUNDS.get() == (0, 0) {
        BOUNDS.set(bounds().unwrap_or((1, 1)));
        return with_room(work);
    }
    let kept = FREE.try_with(|free| free.borrow_mut().pop()).ok().flatten();
    // Where there is no memory for a stack, this one has to do.
    let Some(stack) = kept.or_else(Stack::new) else { return work() };
    let result = stack.run(work);
    let _ = FREE.try_with(|free| {
        let mut free = free.borrow_mut();
        if free.len() < KEPT {
            free.push(stack);
        }
    });
    result
}

/// The bounds of this thread's own stack.
fn bounds() -> Option<(usize, usize)> {
    // SAFETY: no conditions.
    if unsafe { libc::gettid() == libc::getpid() } {
        return first_bounds();
    }
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut end, mut size) = (ptr::null_mut(), 0);
    // SAFETY: places of ours; the attributes are made by the first call, read by the second and given back.
    unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let got = libc::pthread_attr_getstack(attributes.as_ptr(), &mut end, &mut size);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        (got == 0).then(|| (end.addr(), end.addr() + size))
    }
}

/// Those of a process's first thread. Not by `pthread_getattr_np`, which reads /proc/self/maps into memory from
/// `malloc`: what it leaves there, `qzip` finds in a list that it does not clear, and dies of.
fn first_bounds() -> Option<(usize, usize)> {
    /// The system keeps so much free below, whatever the limit.
    const GAP: usize = 128 << 20;
    // SAFETY: no conditions.
    let begin = unsafe { libc::getauxval(libc::AT_RANDOM) } as usize;
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: a place of ours, read if it was written.
    let limit = unsafe {
        if libc::getrlimit(libc::RLIMIT_STACK, limit.as_mut_ptr()) != 0 {
            return None;
        }
        limit.assume_init().rlim_cur
    };
    let size = usize::try_from(limit).unwrap_or(usize::MAX).min(GAP);
    (begin != 0).then(|| (begin.saturating_sub(size), begin))
}

/// A stack with a guard below it.
struct Stack(*mut c_void, #[expect(dead_code, reason = "until the stack is dropped")] Registered);

impl Stack {
    fn new() -> Option<Stack> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK | libc::MAP_NORESERVE;
        // SAFETY: memory of the system's choice, changed as a whole or in its first bytes.
        unsafe {
            let base = libc::mmap(ptr::null_mut(), GUARD + SIZE, libc::PROT_NONE, flags, -1, 0);
            if base == libc::MAP_FAILED {
                return None;
            }
            let usable = base.byte_add(GUARD);
            let stack = Stack(base, Registered::new(usable, SIZE));
            if libc::mprotect(usable, SIZE, libc::PROT_READ | libc::PROT_WRITE) != 0 {
                return None;
            }
            // Parts of keys may be left on it.
            libc::madvise(usable, SIZE, libc::MADV_DONTDUMP);
            Some(stack)
        }
    }

    fn run<R>(&self, work: impl FnOnce() -> R) -> R {
        struct Call<F, R> {
            work: Option<F>,
            result: Option<std::thread::Result<R>>,
        }
        extern "C" fn call<F: FnOnce() -> R, R>(data: *mut c_void) {
            // SAFETY: `run`'s, which waits.
            let call = unsafe { &mut *data.cast::<Call<F, R>>() };
            if let Some(work) = call.work.take() {
                // Nothing unwinds from one stack to another.
                let work = std::panic::AssertUnwindSafe(work);
                call.result = Some(std::panic::catch_unwind(work));
            }
        }
        fn function<F: FnOnce() -> R, R>(_: &Call<F, R>) -> extern "C" fn(*mut c_void) {
            call::<F, R>
        }
        let mut data = Call { work: Some(work), result: None };
        let function = function(&data);
        // SAFETY: the stack is unused, as it is in no list of free ones; the function returns, and unwinds nowhere.
        unsafe { switch(self.0.byte_add(GUARD + SIZE), function, (&raw mut data).cast()) };
        match data.result {
            Some(Ok(result)) => result,
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            None => unreachable!("the function has run"),
        }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: mapped in `new`, and nothing executes on it.
        unsafe { libc::munmap(self.0, GUARD + SIZE) };
    }
}

/// Calls a function on a stack that begins, at its upper end, at `begin`.
///
/// # Safety
/// Nothing else is on the stack, and the function does not unwind.
#[cfg(all(target_arch = "x86_64", not(miri)))]
unsafe fn switch(begin: *mut c_void, function: extern "C" fn(*mut c_void), data: *mut c_void) {
    // SAFETY: the function keeps r12, so the stack pointer is in the end what it was; `begin` is a multiple of 16, as
    // the calling convention asks for.
    unsafe {
        core::arch::asm!(
            "mov r12, rsp",
            "mov rsp, {begin}",
            "call {function}",
            "mov rsp, r12",
            begin = in(reg) begin,
            function = in(reg) function,
            in("rdi") data,
            out("r12") _,
            clobber_abi("C"),
        );
    }
}

/// A stack that valgrind knows as one: it takes no move of the stack pointer to it for a frame. Without valgrind this is
/// nothing.
pub struct Registered(u64);

/// Numbers of valgrind.h.
const STACK_REGISTER: u64 = 0x1501;
const STACK_DEREGISTER: u64 = 0x1502;

impl Registered {
    /// Registers a stack of `size` bytes from `lowest` on.
    pub fn new(lowest: *const c_void, size: usize) -> Registered {
        let lowest = lowest.addr();
        Registered(ask([STACK_REGISTER, lowest as u64, (lowest + size - 1) as u64, 0, 0, 0]))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        ask([STACK_DEREGISTER, self.0, 0, 0, 0, 0]);
    }
}

/// Asks valgrind; 0 where there is none.
fn ask(words: [u64; 6]) -> u64 {
    #[cfg_attr(not(all(target_arch = "x86_64", not(miri))), expect(unused_mut))]
    let mut answer = 0_u64;
    // SAFETY: the rotations of rdi add up to twice its width, and rbx is exchanged with itself: nothing changes. Valgrind
    // takes the sequence for a request, reads the words, and answers in rdx.
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    unsafe {
        core::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") &raw const words,
            inout("rdx") answer,
            out("rdi") _,
        );
    }
    #[cfg(not(all(target_arch = "x86_64", not(miri))))]
    let _ = words;
    answer
}

/// Other architectures use the caller's stack.
#[cfg(not(all(target_arch = "x86_64", not(miri))))]
unsafe fn switch(_begin: *mut c_void, function: extern "C" fn(*mut c_void), data: *mut c_void) {
    function(data);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_stack_is_used_and_a_small_one_is_left() {
        assert!(with_room(pointer).abs_diff(pointer()) < LEAST);
        let small = std::thread::Builder::new().stack_size(LEAST);
        let far = small.spawn(|| {
            let once = with_room(pointer);
            assert_eq!(once, with_room(pointer), "the stack is kept");
            assert!(
                with_room(|| with_room(pointer)).abs_diff(once) > GUARD,
                "one for each call within"
            );
            let (end, begin) = bounds().expect("the system says");
            assert!((end..begin).contains(&pointer()));
            !(end..begin).contains(&once)
        });
        assert!(far.unwrap().join().unwrap());
    }

    #[test]
    fn panics_come_back_to_the_caller_s_stack() {
        let caught = std::thread::Builder::new().stack_size(LEAST).spawn(|| {
            let work = || with_room(|| std::panic::resume_unwind(Box::new(7)));
            let panic: Result<(), _> = std::panic::catch_unwind(work);
            panic.unwrap_err().downcast_ref() == Some(&7)
        });
        assert!(caught.unwrap().join().unwrap());
    }
}
