//! Where a thread waits for a free slot, while others execute what has taken them all.

use core::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use crate::lock::{futex_wait, futex_wake};

/// How often a thread yields before it sleeps: requests of cryptography take less than that.
const YIELDS: u32 = 10;

/// The first sleep, and by how many doublings the longest one is more. A poll that frees slots ends it; what engines
/// complete is seen after it.
const FIRST_SLEEP: Duration = Duration::from_micros(50);
const DOUBLINGS: u32 = 5;

/// Threads that wait for a slot.
pub(super) struct Room {
    /// Counts slots that were freed while somebody waited.
    freed: AtomicU32,
    waiting: AtomicU32,
}

impl Room {
    pub(super) const fn new() -> Room {
        Room { freed: AtomicU32::new(0), waiting: AtomicU32::new(0) }
    }

    /// Wakes who waits for slots. The caller has freed some, and has the ring's lock.
    #[inline]
    pub(super) fn wake(&self) {
        if self.waiting.load(Ordering::Relaxed) > 0 {
            self.freed.fetch_add(1, Ordering::Relaxed);
            futex_wake(&self.freed, u32::MAX >> 1);
        }
    }

    /// Lets go of a lock and waits until slots are freed: hardly, when there were less than [`YIELDS`] turns before, and
    /// never longer than 2 ms. With the ring's lock none is missed that is freed from here on.
    pub(super) fn wait<G>(&self, lock: G, turns: u32) {
        let Some(doublings) = turns.checked_sub(YIELDS) else {
            drop(lock);
            return std::thread::yield_now();
        };
        let seen = self.freed.load(Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::Relaxed);
        drop(lock);
        futex_wait(&self.freed, seen, Some(FIRST_SLEEP * (1 << doublings.min(DOUBLINGS))));
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    /// Forgets the threads of a parent process.
    pub(super) fn forget(&self) {
        self.waiting.store(0, Ordering::Relaxed);
    }
}
