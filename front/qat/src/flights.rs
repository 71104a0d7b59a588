//! How many requests are in flight: the one way in which rings and sessions count them.
//!
//! A count is stamped with the process that it is of: in a child of a `fork` it is 0, since the parent has
//! the answers.
#![allow(unsafe_code)]

use core::{
    ptr::NonNull,
    sync::atomic::{AtomicU32, Ordering},
};

use lookaside::fork_generation;

use crate::lock::Lock;

/// A count in two words. The first one changes under a lock of the caller's, where that is cheaper than an atomic
/// addition; the other one by whoever has no lock.
pub struct Flights {
    /// The process that they are of.
    generation: AtomicU32,
    /// Begun under the lock.
    begun: AtomicU32,
    /// Begun without it, less all that have ended.
    others: AtomicU32,
}

impl Flights {
    /// None.
    pub const fn new() -> Flights {
        Flights {
            generation: AtomicU32::new(0),
            begun: AtomicU32::new(0),
            others: AtomicU32::new(0),
        }
    }

    /// Forgets what was in flight in a parent.
    #[inline]
    fn check_fork(&self) {
        let generation = fork_generation();
        if self.generation.load(Ordering::Acquire) != generation {
            self.forget(generation);
        }
    }

    #[cold]
    fn forget(&self, generation: u32) {
        static ONE: Lock<()> = Lock::new(());
        let _one = ONE.lock();
        if self.generation.load(Ordering::Relaxed) != generation {
            self.begun.store(0, Ordering::Relaxed);
            self.others.store(0, Ordering::Relaxed);
            self.generation.store(generation, Ordering::Release);
        }
    }

    /// One more. The caller has the lock that all callers of this function have.
    #[inline]
    pub fn begin_locked(&self) {
        self.check_fork();
        let begun = self.begun.load(Ordering::Relaxed);
        self.begun.store(begun.wrapping_add(1), Ordering::Release);
    }

    /// One more.
    #[inline]
    pub fn begin(&self) {
        self.check_fork();
        self.others.fetch_add(1, Ordering::Relaxed);
    }

    /// So many have ended, which have begun in this process. What they have written is seen by who sees that.
    #[inline]
    pub fn end(&self, n: u32) {
        self.others.fetch_sub(n, Ordering::Release);
    }

    /// How many are in flight in this process.
    #[inline]
    pub fn count(&self) -> u32 {
        if self.generation.load(Ordering::Acquire) != fork_generation() {
            return 0;
        }
        // In this order: an end is not seen without its beginning.
        let others = self.others.load(Ordering::Acquire);
        self.begun.load(Ordering::Acquire).wrapping_add(others)
    }

    /// One that [`Flights::begin`] or [`Flights::begin_locked`] has counted; it ends when this is dropped.
    ///
    /// # Safety
    /// These counts stay where they are until then.
    #[inline]
    pub unsafe fn flight(&self) -> Flight {
        Flight { of: NonNull::from(self), generation: fork_generation() }
    }
}

impl Default for Flights {
    fn default() -> Flights {
        Flights::new()
    }
}

/// A request in flight.
#[must_use]
pub struct Flight {
    of: NonNull<Flights>,
    generation: u32,
}

// SAFETY: the counts are atomic, and stay for as long as this (`Flights::flight`).
unsafe impl Send for Flight {}

impl Drop for Flight {
    #[inline]
    fn drop(&mut self) {
        // A parent's flight ends there: the counts here have begun afresh, or will.
        if self.generation == fork_generation() {
            // SAFETY: as above.
            unsafe { self.of.as_ref() }.end(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn begun_and_ended_in_any_way() {
        let flights = Flights::new();
        flights.begin_locked();
        flights.begin();
        flights.begin_locked();
        // SAFETY: counts of this function's.
        let flight = unsafe { flights.flight() };
        assert_eq!(flights.count(), 3);
        drop(flight);
        flights.end(2);
        assert_eq!(flights.count(), 0);
    }

    #[test]
    fn a_parents_are_not_counted() {
        let flights = Flights::new();
        flights.begin();
        // SAFETY: as above.
        let mut flight = unsafe { flights.flight() };
        flights.generation.store(fork_generation() + 1, Ordering::Relaxed);
        flight.generation = fork_generation() + 1;
        assert_eq!(flights.count(), 0);
        flights.begin_locked();
        drop(flight);
        assert_eq!(flights.count(), 1);
    }
}
