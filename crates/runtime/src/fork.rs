//! Noticing `fork`. A child has a copy of the rings but none of the engine threads, and locks may
//! be held by threads that do not exist there. So nothing of the parent's scheduling is used in
//! the child: whoever sees a new [`generation`] builds afresh.
//!
//! The generation is a word in a page that the kernel fills with zeros in every child
//! (`MADV_WIPEONFORK`, Linux 4.14), whichever way the child is made: `fork`, glibc's `_Fork`, a raw
//! `clone`. Where the kernel has no such pages, a handler of `pthread_atfork` advances the word, which
//! only `fork` of the C library calls.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// The word without a page; 0 before the first look.
static COUNTED: AtomicU32 = AtomicU32::new(0);
/// The word in use: `COUNTED`, or one in a page that is wiped.
static WORD: AtomicPtr<AtomicU32> = AtomicPtr::new((&raw const COUNTED).cast_mut());
/// The last generation that this process or one of its ancestors took.
static LAST: AtomicU32 = AtomicU32::new(FIRST);

const FIRST: u32 = 1;

/// A number that differs between a process and all that it was forked from, and is never 0. For code
/// that keeps state of one process beside a runtime's: compare it with the number that was kept with the
/// state. Forks are noticed from the first call on, whichever way the child is made (`fork`, `_Fork`, a raw
/// `clone`). Costs two loads and a comparison; the first call maps a page.
#[inline]
pub fn generation() -> u32 {
    // SAFETY: `COUNTED`, or a page that stays mapped.
    let word = unsafe { &*WORD.load(Ordering::Acquire) };
    match word.load(Ordering::Relaxed) {
        0 => take(word),
        known => known,
    }
}

/// The first look of all, or that of a child process, which takes a generation. Of several threads, all get
/// one.
#[cold]
fn take(word: &AtomicU32) -> u32 {
    if core::ptr::eq(word, &COUNTED) {
        watch();
        return generation();
    }
    let next = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    word.compare_exchange(0, next, Ordering::Relaxed, Ordering::Relaxed)
        .map_or_else(|g| g, |_| next)
}

/// Has children noticed from this call on.
///
/// No `Once`: a child of a `fork` in the middle of one would wait for a thread that it does not have.
/// Of two threads here at once one's page stays. Without pages both register a handler, and each
/// fork counts twice: generations are only compared for equality.
fn watch() {
    let counted = (&raw const COUNTED).cast_mut();
    let Some(page) = Page::new() else {
        // SAFETY: `in_child` is a static function that only adds to an atomic. Failure (ENOMEM)
        // leaves forks uncounted; nothing here depends on the count for memory safety.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        let _ = COUNTED.compare_exchange(0, FIRST, Ordering::Relaxed, Ordering::Relaxed);
        return;
    };
    page.word().store(FIRST, Ordering::Relaxed);
    let word = page.0.cast::<AtomicU32>();
    if WORD.compare_exchange(counted, word, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
        // Mapped for as long as the process lives.
        core::mem::forget(page);
    }
}

extern "C" fn in_child() {
    // Only async-signal-safe work here: an atomic add is.
    COUNTED.fetch_add(1, Ordering::Relaxed);
}

/// A page that children find full of zeros.
struct Page(*mut libc::c_void);

impl Page {
    const LEN: usize = 4096;

    /// `None` where the kernel has none.
    fn new() -> Option<Page> {
        if cfg!(miri) {
            return None;
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: fresh memory wherever the kernel likes.
        let start = unsafe { libc::mmap(core::ptr::null_mut(), Self::LEN, access, kind, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let page = Page(start);
        // SAFETY: the page just mapped, which nobody else knows.
        let advise = |advice| unsafe { libc::madvise(start, Self::LEN, advice) };
        // An emulator that accepts any advice and follows none (QEMU does so) accepts -1 too.
        (advise(-1) != 0 && advise(libc::MADV_WIPEONFORK) == 0).then_some(page)
    }

    fn word(&self) -> &AtomicU32 {
        // SAFETY: mapped until it is dropped, aligned, and zeros are a value.
        unsafe { &*self.0.cast() }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        // SAFETY: mapped by `new`, and nobody has the address.
        unsafe { libc::munmap(self.0, Self::LEN) };
    }
}
