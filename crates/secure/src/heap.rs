//! The memory itself: chunks of the system's, cut into blocks of a few sizes.
//!
//! A chunk is mapped with `MAP_LOCKED`, so that no system call is needed that the sandbox of sshd's
//! children does not have (`mlock` is one), and without it where `RLIMIT_MEMLOCK` is used up. It is left
//! out of core dumps (`MADV_DONTDUMP`), which a fork's child inherits; the lock it does not. Chunks are
//! never unmapped: freed blocks are overwritten and wait for the next key of their size. Thousands of keys
//! share a chunk.
//!
//! One lock guards all of it, for sessions that begin and end. A fork waits for it (see [`crate::fork`]), so
//! that a child never finds it held by a thread that the child does not have.
#![allow(unsafe_code)]

use core::alloc::Layout;
use core::cell::UnsafeCell;
use core::ptr::{self, NonNull};
use core::sync::atomic::{Ordering, compiler_fence};
use std::alloc::handle_alloc_error;

/// The sizes of blocks. Each lies at a multiple of the largest power of two that divides it, up to a page.
const SIZES: [usize; 15] =
    [32, 64, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192];
/// Blocks of one size are cut from pieces of a chunk of so many bytes: a multiple of all sizes up to 512
/// and of pages, and one of all sizes.
const PIECES: [usize; 2] = [12 << 10, 24 << 10];
/// Bytes of the first chunk: as many as old systems let a process lock.
const FIRST_CHUNK: usize = 64 << 10;
const CHUNK: usize = 264 << 10;
const PAGE: usize = 4096;

/// A free block, all zeros behind this.
struct Free {
    next: *mut Free,
}

struct Heap {
    free: [*mut Free; SIZES.len()],
    /// What of the newest chunk is not cut yet.
    rest: *mut u8,
    rest_len: usize,
}

struct Locked {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    heap: UnsafeCell<Heap>,
}

// SAFETY: the heap is accessed under the mutex alone.
unsafe impl Sync for Locked {}

static HEAP: Locked = Locked {
    mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
    heap: UnsafeCell::new(Heap {
        free: [ptr::null_mut(); SIZES.len()],
        rest: ptr::null_mut(),
        rest_len: 0,
    }),
};

pub(crate) fn lock() {
    // SAFETY: a valid mutex. It fails for no reason that a mutex of this kind has.
    unsafe { libc::pthread_mutex_lock(HEAP.mutex.get()) };
}

pub(crate) fn unlock() {
    // SAFETY: a valid mutex, which this thread holds; in a fork's child, the thread that forked.
    unsafe { libc::pthread_mutex_unlock(HEAP.mutex.get()) };
}

/// Runs `f` under the lock.
fn with<R>(f: impl FnOnce(&mut Heap) -> R) -> R {
    lock();
    // SAFETY: nobody else has the heap while the lock is held, and `f` does not come back here.
    let result = f(unsafe { &mut *HEAP.heap.get() });
    unlock();
    result
}

/// Which of [`SIZES`] serves a layout; `None`: pages of its own.
fn class(layout: Layout) -> Option<usize> {
    let fits = |size: &usize| {
        *size >= layout.size() && PAGE.min(1 << size.trailing_zeros()) >= layout.align()
    };
    SIZES.iter().position(fits)
}

/// Memory of zeros. The process ends where there is none, as with `Box`.
pub(crate) fn allocate(layout: Layout) -> NonNull<u8> {
    let start = match class(layout) {
        Some(class) => with(|heap| heap.take(class)),
        None => map(layout.size().next_multiple_of(PAGE)),
    };
    NonNull::new(start).unwrap_or_else(|| handle_alloc_error(layout))
}

/// Overwrites and frees.
///
/// # Safety
/// `start` came from [`allocate`] with an equal layout, and nobody uses it any more.
pub(crate) unsafe fn free(start: NonNull<u8>, layout: Layout) {
    let start = start.as_ptr();
    match class(layout) {
        Some(class) => {
            // SAFETY: the block has this size.
            unsafe { start.write_bytes(0, SIZES[class]) };
            compiler_fence(Ordering::SeqCst);
            with(|heap| heap.give_back(class, start));
        }
        None => {
            // SAFETY: the pages that `map` returned, which the system overwrites before their next use.
            unsafe { libc::munmap(start.cast(), layout.size().next_multiple_of(PAGE)) };
        }
    }
}

impl Heap {
    /// A block of zeros; null where there is no memory.
    fn take(&mut self, class: usize) -> *mut u8 {
        if self.free[class].is_null() {
            self.cut(class);
        }
        let block = self.free[class];
        if !block.is_null() {
            // SAFETY: a free block is a `Free`, and nobody else's under the lock.
            unsafe {
                self.free[class] = (*block).next;
                (*block).next = ptr::null_mut();
            }
        }
        block.cast()
    }

    fn give_back(&mut self, class: usize, start: *mut u8) {
        let block = start.cast::<Free>();
        // SAFETY: the block is free now, and large and aligned enough.
        unsafe { (*block).next = self.free[class] };
        self.free[class] = block;
    }

    /// Cuts a piece of the chunk into blocks.
    fn cut(&mut self, class: usize) {
        crate::fork::watch();
        let piece = PIECES[usize::from(SIZES[class] > 512)];
        if self.rest_len < piece {
            let len = if self.rest.is_null() { FIRST_CHUNK } else { CHUNK };
            let chunk = map(len);
            if chunk.is_null() {
                return;
            }
            (self.rest, self.rest_len) = (chunk, len);
        }
        let size = SIZES[class];
        for i in (0..piece / size).rev() {
            // SAFETY: within the piece.
            self.give_back(class, unsafe { self.rest.add(i * size) });
        }
        // SAFETY: within the chunk, or its end.
        self.rest = unsafe { self.rest.add(piece) };
        self.rest_len -= piece;
    }
}

/// Fresh pages, left out of core dumps and, if possible, locked. Null where there is no memory.
fn map(len: usize) -> *mut u8 {
    let map = |flags| {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = flags | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: fresh memory wherever the kernel likes.
        unsafe { libc::mmap(ptr::null_mut(), len, access, flags, -1, 0) }
    };
    let mut start = map(libc::MAP_LOCKED);
    if start == libc::MAP_FAILED {
        start = map(0);
    }
    if start == libc::MAP_FAILED {
        return ptr::null_mut();
    }
    // SAFETY: the pages just mapped. A kernel that does not know the advice dumps them.
    unsafe { libc::madvise(start, len, libc::MADV_DONTDUMP) };
    start.cast()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: usize, align: usize) -> Layout {
        Layout::from_size_align(size, align).unwrap()
    }

    #[test]
    fn blocks_are_aligned_apart_and_zeros() {
        let mut blocks = Vec::new();
        for size in [1, 31, 32, 33, 176, 192, 200, 700, 1700, 5000, 8192, 8193, 100_000] {
            for align in [1, 16, 64] {
                for _ in 0..40 {
                    let layout = layout(size, align);
                    let start = allocate(layout);
                    assert_eq!(start.addr().get() % align, 0, "{size} {align}");
                    // SAFETY: it has this size, and is ours.
                    let bytes = unsafe { core::slice::from_raw_parts_mut(start.as_ptr(), size) };
                    assert!(bytes.iter().all(|byte| *byte == 0), "{size} {align}");
                    bytes.fill(0xff);
                    blocks.push((start, layout));
                }
            }
        }
        let mut ranges: Vec<_> =
            blocks.iter().map(|(s, l)| (s.addr().get(), s.addr().get() + l.size())).collect();
        ranges.sort_unstable();
        assert!(ranges.windows(2).all(|pair| pair[0].1 <= pair[1].0), "two blocks overlap");
        for (start, layout) in blocks {
            // SAFETY: from `allocate`, with this layout.
            unsafe { free(start, layout) };
        }
    }

    /// Thousands of keys of 32 bytes do not take a page each.
    #[test]
    fn keys_share_pages() {
        let layout = layout(32, 1);
        let blocks: Vec<_> = (0..1000).map(|_| allocate(layout)).collect();
        let mut pages: Vec<_> = blocks.iter().map(|b| b.addr().get() / PAGE).collect();
        pages.sort_unstable();
        pages.dedup();
        assert!(pages.len() < 50, "{} pages", pages.len());
        // SAFETY: from `allocate`, with this layout.
        blocks.into_iter().for_each(|block| unsafe { free(block, layout) });
    }

    /// Lets the process do what sshd's sandboxed children may, as far as it matters here.
    fn sandbox() {
        const ALLOWED: [libc::c_long; 6] = [
            libc::SYS_brk,
            libc::SYS_exit_group,
            libc::SYS_futex,
            libc::SYS_madvise,
            libc::SYS_mmap,
            libc::SYS_munmap,
        ];
        let step = |code: u32, k, jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
        let allowed = ALLOWED.len() as u8;
        // The number of the call is the first word of `seccomp_data`.
        let mut filter = [step(libc::BPF_RET, libc::SECCOMP_RET_KILL_PROCESS, 0, 0); 9];
        filter[0] = step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0);
        for (i, call) in ALLOWED.into_iter().enumerate() {
            let past = allowed - i as u8;
            filter[i + 1] = step(libc::BPF_JMP | libc::BPF_JEQ, call as u32, past, 0);
        }
        filter[8] = step(libc::BPF_RET, libc::SECCOMP_RET_ALLOW, 0, 0);
        let program = libc::sock_fprog { len: 9, filter: filter.as_mut_ptr() };
        // SAFETY: a program of this length, of the process that is to end anyway.
        unsafe {
            assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
            let mode = libc::SECCOMP_MODE_FILTER;
            assert_eq!(libc::prctl(libc::PR_SET_SECCOMP, mode, &raw const program), 0);
        }
    }

    #[test]
    fn a_sandboxed_process_gets_memory() {
        // SAFETY: the child calls functions that work after a fork, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            sandbox();
            // More than what any chunk has left.
            for _ in 0..100 {
                allocate(layout(8192, 1));
            }
            allocate(layout(100_000, 1));
            // SAFETY: ends the process.
            unsafe { libc::_exit(0) };
        }
        let mut status = 0;
        // SAFETY: our child, and room for its status.
        unsafe { libc::waitpid(child, &mut status, 0) };
        assert_eq!(status, 0, "a system call that the sandbox does not have");
    }

    /// A child that is forked while other threads allocate can allocate.
    #[test]
    fn a_fork_finds_the_lock_free() {
        let stop = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !stop.load(Ordering::Relaxed) {
                        let layout = layout(64, 1);
                        // SAFETY: freed once, with its layout.
                        unsafe { free(allocate(layout), layout) };
                    }
                });
            }
            let mut good = true;
            for _ in 0..200 {
                // SAFETY: the child calls functions that work after a fork, and ends.
                let child = unsafe { libc::fork() };
                if child == 0 {
                    let layout = layout(64, 1);
                    // SAFETY: as above. A child that waits for ever is ended by the alarm.
                    unsafe {
                        libc::alarm(10);
                        free(allocate(layout), layout);
                        libc::_exit(0);
                    }
                }
                let mut status = 0;
                // SAFETY: our child, and room for its status.
                unsafe { libc::waitpid(child, &mut status, 0) };
                good &= status == 0;
                if !good {
                    break;
                }
            }
            // Before any panic: the scope waits for the threads.
            stop.store(true, Ordering::Relaxed);
            assert!(good, "a child found the lock held");
        });
    }
}
