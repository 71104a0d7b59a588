//! A lock for values that a `fork` may leave half changed.
//!
//! A thread of the parent that is inside at the `fork` does not exist in the child. There the lock is taken
//! over, and [`Guard::is_orphaned`] says so: the value is to be replaced, and not dropped.
#![allow(unsafe_code)]

use core::{
    cell::UnsafeCell,
    hint,
    ops::{Deref, DerefMut},
    ptr,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use lookaside::fork_generation;

/// The lock is held; somebody sleeps until it is free. Above them: the holder's generation.
const HELD: u32 = 1;
const AWAITED: u32 = 2;
const SHIFT: u32 = 2;

/// How often a thread looks before it sleeps: requests of cryptography hold a lock for less than that.
const LOOKS: usize = 100;

/// Lets one thread in at a time.
pub struct Lock<T> {
    word: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: `lock` gives the value to one thread at a time, with acquire and release between them.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    /// A free lock.
    pub const fn new(value: T) -> Lock<T> {
        Lock { word: AtomicU32::new(0), value: UnsafeCell::new(value) }
    }

    /// Waits until no other thread of this process is inside.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let mine = fork_generation() << SHIFT | HELD;
        match self.word.compare_exchange(0, mine, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => Guard { lock: self, orphaned: false },
            Err(_) => self.lock_later(mine),
        }
    }

    #[cold]
    fn lock_later(&self, mine: u32) -> Guard<'_, T> {
        let take = |from, to| {
            self.word.compare_exchange(from, to, Ordering::Acquire, Ordering::Relaxed).is_ok()
        };
        let mut looks = 0;
        loop {
            let word = self.word.load(Ordering::Relaxed);
            let waited = if looks > LOOKS { AWAITED } else { 0 };
            if word == 0 {
                if take(0, mine | waited) {
                    return Guard { lock: self, orphaned: false };
                }
            } else if word >> SHIFT != mine >> SHIFT {
                if take(word, mine | waited) {
                    return Guard { lock: self, orphaned: true };
                }
            } else if looks <= LOOKS {
                looks += 1;
                hint::spin_loop();
            } else if word & AWAITED != 0 || take(word, word | AWAITED) {
                futex_wait(&self.word, word | AWAITED, None);
            }
        }
    }
}

/// Sleeps while the word has this value, until [`futex_wake`], a signal, or the end of the time.
pub(crate) fn futex_wait(word: &AtomicU32, value: u32, time: Option<Duration>) {
    let time = time.map(|time| libc::timespec {
        tv_sec: time.as_secs().cast_signed(),
        tv_nsec: time.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(ptr::null(), ptr::from_ref);
    let operation = libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives, and so does the time, or it is null.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, value, time) };
}

/// Wakes as many as so many that sleep on this word.
pub(crate) fn futex_wake(word: &AtomicU32, count: u32) {
    let operation = libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG;
    // SAFETY: the word lives.
    unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), operation, count) };
}

/// The one thread inside.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    orphaned: bool,
}

impl<T> Guard<'_, T> {
    /// Whether a thread that does not exist in this process was inside.
    pub fn is_orphaned(&self) -> bool {
        self.orphaned
    }
}

impl<T: Default> Guard<'_, T> {
    /// The same, with an empty value in the place of one that may be half changed.
    #[inline]
    pub fn or_empty(mut self) -> Self {
        if self.orphaned {
            core::mem::forget(core::mem::take(&mut *self));
        }
        self
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the word is held by this guard, so nobody else has a reference.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above, and `&mut self` makes this the only reference from this guard.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.lock.word.swap(0, Ordering::Release) & AWAITED != 0 {
            futex_wake(&self.lock.word, 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_at_a_time() {
        let lock = Lock::new(0_u64);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for n in 0..20_000 {
                        let mut value = lock.lock();
                        let before = *value;
                        if n % 512 == 0 {
                            std::thread::yield_now();
                        }
                        *value = before + 1;
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), 80_000);
        assert_eq!(lock.word.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn a_child_takes_over_what_a_thread_of_its_parent_held() {
        let lock = Lock::new(7);
        lock.word.store((fork_generation() + 1) << SHIFT | HELD, Ordering::Relaxed);
        assert!(lock.lock().is_orphaned());
        assert!(!lock.lock().is_orphaned());
        let list = Lock::new(vec![7]);
        list.word.store((fork_generation() + 1) << SHIFT | HELD, Ordering::Relaxed);
        assert!(list.lock().or_empty().is_empty());
        list.lock().or_empty().push(1);
        assert_eq!(*list.lock().or_empty(), [1]);
    }
}
