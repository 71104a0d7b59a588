//! When a poll leaves public-key requests in the ring, so that more of them come together.
//!
//! The kernels of public keys take as long for one request as for eight. A thread that only polls, beside others that
//! submit (`qatengine` has one), would find two or three each time. So it leaves fewer than eight for as long as they
//! keep coming: their answer comes with a later poll, as a card's would. It does not where that has brought nothing
//! lately, nor where the thread that polls is the one that submits: until it has polled, it submits nothing more.
//!
//! Programs spread their requests over all instances, so each has few. A poll that executes some fills the kernel's lanes
//! with what waits in the other instances' rings; those answers wait there, for polls of their own.
#![allow(unsafe_code)]

use core::{ptr, sync::atomic::Ordering};
use std::time::{Duration, Instant};

use super::{
    Executor, Ring,
    batch::Batch,
    queue::{Queue, Slots, Taken},
};
use crate::{
    instance::Service,
    process::{Process, taken as moved},
};

/// How long after the last request the next one is waited for, as the runtime waits for a batch: `qatengine` needs 11 to 14
/// us from one to the next, and sleeps for 10 us between polls, where the system lets it sleep for so short a time.
const PATIENCE: Duration = Duration::from_micros(50);

/// After how many vain waits in a row no more of them become fewer: one in 2^6 batches waits then.
const MOST_MISSES: u32 = 6;

/// A ring's requests as they come.
pub(super) struct Gather {
    /// How many suit the device at once.
    full: usize,
    newest: Instant,
    /// The thread that has submitted it.
    by: usize,
    /// How many there were when the wait began.
    waited: Option<usize>,
    /// So many batches do not wait.
    skips: u32,
    misses: u32,
}

/// Stands for this thread.
pub(super) fn this_thread() -> usize {
    thread_local! {
        static PLACE: u8 = const { 0 };
    }
    PLACE.with(|place| core::ptr::from_ref(place).addr())
}

impl Gather {
    pub(super) fn new(now: Instant) -> Gather {
        Gather { full: 1, newest: now, by: 0, waited: None, skips: 0, misses: 0 }
    }

    /// A request has come, of which `full` at once suit the device.
    pub(super) fn note(&mut self, now: Instant, by: usize, full: usize) {
        (self.newest, self.by, self.full) = (now, by, full);
    }

    /// How many of `waiting` requests a poll of thread `by` takes now; it takes at most `quota`.
    pub(super) fn take(
        &mut self,
        now: impl FnOnce() -> Instant,
        by: usize,
        waiting: usize,
        quota: usize,
    ) -> usize {
        let full = self.full.min(quota);
        if full <= 1 || by == self.by {
            return waiting;
        }
        let whole = waiting - waiting % full;
        if whole > 0 {
            if self.waited.take().is_some() {
                self.misses = 0;
            }
            let rest_may_wait =
                self.skips == 0 && now().saturating_duration_since(self.newest) < PATIENCE;
            return if rest_may_wait { whole } else { waiting };
        }
        if self.skips > 0 {
            self.skips -= 1;
            return waiting;
        }
        if now().saturating_duration_since(self.newest) < PATIENCE {
            self.waited.get_or_insert(waiting);
            return 0;
        }
        if let Some(before) = self.waited.take() {
            self.misses = if waiting > before { 0 } else { MOST_MISSES.min(self.misses + 1) };
            self.skips = (1 << self.misses) - 1;
        }
        waiting
    }
}

impl Ring {
    /// For other rings' polls; in the lock.
    pub(super) fn note_waiting(&self, queue: &Queue) {
        self.waiting.store(queue.len() as u32, Ordering::Relaxed);
    }

    /// The other rings of public keys.
    fn siblings<'a>(&'a self, process: &'a Process) -> impl Iterator<Item = &'a Ring> {
        let rings = process.instances(Service::Cy).iter().map(|instance| &instance.asym);
        rings.filter(move |ring| !ptr::eq(*ring, self))
    }

    /// Takes what is to be executed now: nothing, where more requests are waited for.
    pub(super) fn take_gathered(
        &self,
        process: &Process,
        queue: &mut Queue,
        slots: &mut Slots,
        most: u32,
        quota: u32,
    ) -> Taken {
        let waiting = |ring: &Ring| ring.waiting.load(Ordering::Relaxed) as usize;
        let others = if queue.is_empty() { 0 } else { self.siblings(process).map(waiting).sum() };
        let ripe = queue.ripe(others, quota);
        let taken = queue.take(slots, most.min(ripe as u32));
        self.note_waiting(queue);
        taken
    }

    /// Executes what was taken, and with it what waits in other rings and takes no longer for that: lanes of a
    /// kernel that would run empty. Programs spread their requests over all instances (`qatengine` does). The
    /// answers of those wait in their rings for polls of their own.
    pub(super) fn execute_gathered(&self, process: &Process, taken: &mut Taken, batch: &mut Batch) {
        let own = taken.len();
        let Some(kind) = taken.kind() else { return };
        let full = process.runtime().best_batch(kind.0).max(1);
        let mut borrowed: Vec<(&Ring, usize)> = Vec::new();
        for ring in self.siblings(process) {
            let empty = taken.len().next_multiple_of(full) - taken.len();
            if empty == 0 || ring.waiting.load(Ordering::Relaxed) == 0 {
                continue;
            }
            let Ok(mut guard) = ring.open(process) else { continue };
            let Some(inner) = guard.as_deref_mut() else { continue };
            let Executor::Pollers(queue) = &mut inner.executor else { continue };
            queue.lend(&mut inner.slots, empty, kind, taken);
            ring.note_waiting(queue);
            borrowed.push((ring, taken.len()));
        }
        let mut answers = Vec::with_capacity(taken.len() - own);
        taken.execute(process, |n, pending, response| match n < own {
            // SAFETY: each is answered once.
            true => unsafe { batch.add(pending, response) },
            false => answers.push((n, *pending, moved(response))),
        });
        for (n, pending, response) in answers {
            let Some((ring, _)) = borrowed.iter().find(|(_, end)| n < *end) else { continue };
            if let Ok(mut guard) = ring.open(process)
                && let Some(inner) = guard.as_deref_mut()
            {
                inner.done.push_back((pending, response, Some(taken.numbers()[n])));
                inner.signal();
                // Who stops that instance, or waits for a slot of it.
                ring.room.wake();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: usize = 1;
    const OTHER: usize = 2;

    fn at(start: Instant, us: u64) -> impl FnOnce() -> Instant {
        move || start + Duration::from_micros(us)
    }

    #[test]
    fn full_batches_go_and_the_rest_waits_while_requests_come() {
        let start = Instant::now();
        let mut gather = Gather::new(start);
        gather.note(start, OTHER, 8);
        assert_eq!(gather.take(at(start, 1), ME, 3, 512), 0);
        assert_eq!(gather.take(at(start, 2), ME, 8, 512), 8);
        assert_eq!(gather.take(at(start, 3), ME, 19, 512), 16);
        assert_eq!(gather.take(at(start, 4), ME, 3, 512), 0);
        assert_eq!(gather.take(at(start, 49), ME, 3, 512), 0);
        assert_eq!(gather.take(at(start, 50), ME, 3, 512), 3, "none has come for so long");
    }

    #[test]
    fn nobody_waits_for_itself_or_without_a_kernel_or_beyond_its_quota() {
        let start = Instant::now();
        let mut gather = Gather::new(start);
        gather.note(start, ME, 8);
        assert_eq!(gather.take(at(start, 0), ME, 3, 512), 3);
        gather.note(start, OTHER, 1);
        assert_eq!(gather.take(at(start, 0), ME, 3, 512), 3);
        gather.note(start, OTHER, 8);
        assert_eq!(gather.take(at(start, 0), ME, 3, 1), 3);
        assert_eq!(gather.take(at(start, 0), ME, 3, 2), 2);
    }

    #[test]
    fn vain_waits_become_rare_and_one_that_is_not_resets_that() {
        let start = Instant::now();
        let mut gather = Gather::new(start);
        let mut waits = 0;
        for n in 0..1000 {
            let came = start + Duration::from_millis(n);
            gather.note(came, OTHER, 8);
            if gather.take(|| came, ME, 1, 512) == 0 {
                waits += 1;
                assert_eq!(gather.take(|| came + PATIENCE, ME, 1, 512), 1);
            }
        }
        assert!((16..30).contains(&waits), "{waits}");
        // One that grows.
        while gather.take(|| start, ME, 1, 512) > 0 {}
        assert_eq!(gather.take(|| start + Duration::from_secs(2), ME, 2, 512), 2);
        assert_eq!(gather.take(|| start, ME, 1, 512), 0, "the next one waits again");
    }
}
