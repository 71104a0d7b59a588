//! A fork waits for code whose locks its child could not take over.
//!
//! A thread that is inside a library when another one forks does not exist in the child, and whatever lock it held
//! there is held for ever. AWS-LC takes such a lock each time it draws random bytes (a read lock, which the first
//! draw of a child wants for writing), and setting a library up is done under one. [`NoFork`] marks such code:
//! `fork` of the C library waits until nobody is in it, and nobody enters meanwhile. Children of `_Fork`, of a raw
//! `clone` and of `vfork` are made without waiting: only where no other thread is inside can they use these libraries.
#![allow(unsafe_code)]

use core::cell::Cell;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use core::time::Duration;
use std::sync::OnceLock;
use std::thread;

/// How many threads are inside.
static INSIDE: AtomicU32 = AtomicU32::new(0);
/// How many forks wait, or are under way.
static FORKS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// How many of these this thread has.
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// While one exists, `fork` in another thread waits. One within another costs nothing.
#[must_use]
pub struct NoFork(PhantomData<*const ()>);

impl NoFork {
    /// Waits for the end of a fork that is under way. Costs two atomic additions, here and when it is dropped.
    #[inline]
    pub fn begin() -> NoFork {
        let depth = DEPTH.get();
        DEPTH.set(depth + 1);
        if depth == 0 {
            enter();
        }
        NoFork(PhantomData)
    }

    /// What the cell holds, made when it is first asked for. A fork waits meanwhile: a child of one in the middle of that
    /// would wait for a thread that it does not have.
    #[inline]
    pub fn once<T>(cell: &OnceLock<T>, make: impl FnOnce() -> T) -> &T {
        cell.get().unwrap_or_else(|| {
            let _no_fork = NoFork::begin();
            cell.get_or_init(make)
        })
    }
}

impl Drop for NoFork {
    #[inline]
    fn drop(&mut self) {
        let depth = DEPTH.get() - 1;
        DEPTH.set(depth);
        if depth == 0 {
            INSIDE.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

#[inline]
fn enter() {
    watch();
    let mut turns = 0;
    // Either this thread sees the fork, or the fork sees this thread.
    while {
        INSIDE.fetch_add(1, Ordering::SeqCst);
        FORKS.load(Ordering::SeqCst) > 0
    } {
        INSIDE.fetch_sub(1, Ordering::SeqCst);
        while FORKS.load(Ordering::SeqCst) > 0 {
            wait(&mut turns);
        }
    }
}

/// Lets others run; sleeps when that has not helped for a while.
fn wait(turns: &mut u32) {
    *turns += 1;
    match *turns < 100 {
        true => thread::yield_now(),
        false => thread::sleep(Duration::from_micros(50)),
    }
}

/// Has forks wait from here on.
///
/// No `Once`: a child of a fork in the middle of one would wait for a thread that it does not have. A thread that
/// comes while another one is here does not wait for it.
#[inline]
pub(crate) fn watch() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Ordering::Relaxed) && !WATCHED.swap(true, Ordering::Relaxed) && !cfg!(miri) {
        // SAFETY: functions of this module, which stays loaded as long as they are registered. Without memory for
        // the entry, forks do not wait.
        unsafe { libc::pthread_atfork(Some(before), Some(in_parent), Some(in_child)) };
    }
}

/// First those inside: they allocate. Then the memory for keys.
extern "C" fn before() {
    FORKS.fetch_add(1, Ordering::SeqCst);
    let own = u32::from(DEPTH.get() > 0);
    let mut turns = 0;
    while INSIDE.load(Ordering::SeqCst) > own {
        wait(&mut turns);
    }
    crate::heap::lock();
}

extern "C" fn in_parent() {
    crate::heap::unlock();
    FORKS.fetch_sub(1, Ordering::SeqCst);
}

extern "C" fn in_child() {
    crate::heap::unlock();
    // What other threads have added and not taken back yet is theirs.
    INSIDE.store(u32::from(DEPTH.get() > 0), Ordering::SeqCst);
    FORKS.store(0, Ordering::SeqCst);
}

#[cfg(all(test, not(miri)))]
mod tests {
    use std::sync::RwLock;

    use super::*;

    /// As AWS-LC's generator: readers while nothing has changed; a child writes first.
    static LIBRARY: RwLock<()> = RwLock::new(());

    #[test]
    fn a_child_finds_no_lock_of_another_thread() {
        let done = AtomicBool::new(false);
        let read = || {
            let _no_fork = NoFork::begin();
            let _within = NoFork::begin();
            drop(LIBRARY.read());
        };
        let good = thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while !done.load(Ordering::Relaxed) {
                        read();
                    }
                });
            }
            let good = (0..500).all(|_| {
                // SAFETY: the child touches locks alone, and leaves by `_exit`.
                match unsafe { libc::fork() } {
                    0 => {
                        // SAFETY: a plain system call.
                        unsafe { libc::alarm(20) };
                        let free = LIBRARY.try_write().is_ok();
                        read();
                        // SAFETY: nothing is left to be done.
                        unsafe { libc::_exit(i32::from(!free)) }
                    }
                    child => {
                        let mut status = 1;
                        // SAFETY: a child of this process.
                        unsafe { libc::waitpid(child, &mut status, 0) };
                        status == 0
                    }
                }
            });
            done.store(true, Ordering::Relaxed);
            good
        });
        assert!(good);
    }

    #[test]
    fn who_is_inside_can_fork() {
        let _no_fork = NoFork::begin();
        // SAFETY: the child leaves at once.
        match unsafe { libc::fork() } {
            0 => {
                let left = (INSIDE.load(Ordering::SeqCst), DEPTH.get());
                // SAFETY: nothing is left to be done.
                unsafe { libc::_exit(i32::from(left != (1, 1))) }
            }
            child => {
                let mut status = 1;
                // SAFETY: a child of this process.
                unsafe { libc::waitpid(child, &mut status, 0) };
                assert_eq!(status, 0);
            }
        }
    }
}
