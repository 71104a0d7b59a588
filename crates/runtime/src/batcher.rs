//! Collects requests of one device, operation and parameter class until they make a full batch,
//! are due, or their caller has nothing else to do.
//!
//! What may run is found in constant time. Each device has two lines of queues: `ripe`, which may run,
//! and `young`, which wait for more requests or for their deadline. A device has one deadline for all
//! its queues, so `young` is in the order of its deadlines. A queue that changes its line leaves its old
//! entry there; the entry's serial number is then out of date, and it is skipped.

use std::collections::{HashMap, VecDeque};

use lookaside_core::{Op, Work};

use crate::route::Routes;

/// What requests of one batch have in common: device, operation, class.
pub(crate) type Key = (u16, Op, u32);

struct Queue {
    key: Key,
    best: usize,
    deadline_ns: u64,
    work: VecDeque<Work>,
    /// How many requests it is worth: a burst is worth its packets.
    weight: usize,
    /// Whether it may run.
    ripe: bool,
    /// Whether it may run although it is not full: it is due, or somebody waits for it.
    urgent: bool,
    /// The serial number of its entry in a line.
    serial: u64,
}

/// The queues of one device.
#[derive(Default)]
struct Lines {
    ripe: VecDeque<Entry>,
    young: VecDeque<(u64, Entry)>,
}

#[derive(Clone, Copy)]
struct Entry {
    queue: usize,
    serial: u64,
}

impl Entry {
    /// Whether the queue still stands where this entry does.
    fn is_current(self, queues: &[Queue]) -> bool {
        queues.get(self.queue).is_some_and(|q| q.serial == self.serial)
    }
}

/// Where [`Batcher::stage`] put a request.
#[derive(Clone, Copy)]
pub(crate) struct Staged {
    /// The queue, for [`Batcher::hurry`] and [`Batcher::take_from`].
    pub(crate) queue: usize,
    /// Whether it is a full batch.
    pub(crate) full: bool,
}

/// Below this number of queues, empty ones are kept.
const FEW: usize = 64;

/// The requests that an arbiter has picked and no engine has taken.
#[derive(Default)]
pub(crate) struct Batcher {
    queues: Vec<Queue>,
    by_key: HashMap<Key, usize>,
    lines: Vec<Lines>,
    /// The queue that the last request went to: most come in runs.
    last: usize,
    staged: usize,
    serial: u64,
    /// The device whose turn it is.
    turn: usize,
    /// From this number of queues on, empty ones are removed.
    many: usize,
}

impl Batcher {
    /// Appends a request to its queue; `work.device` is set. `urgent`: somebody waits for it.
    #[inline]
    pub(crate) fn stage(
        &mut self,
        now: u64,
        mut work: Work,
        routes: &Routes,
        urgent: bool,
    ) -> Staged {
        let key = (work.device, work.request().op, work.request().session.class.id());
        let at = match self.queues.get(self.last) {
            Some(queue) if queue.key == key => self.last,
            _ => self.find(key, &work, routes),
        };
        self.last = at;
        let queue = &mut self.queues[at];
        let lines = &mut self.lines[usize::from(key.0)];
        queue.weight += work.request().weight();
        // Until an engine takes it: its deadline, should it be left in its queue by a full batch.
        work.taken_ns = now.saturating_add(queue.deadline_ns);
        queue.work.push_back(work);
        self.staged += 1;
        if queue.work.len() == 1 {
            self.serial += 1;
            queue.serial = self.serial;
            let due = now.saturating_add(queue.deadline_ns);
            lines.young.push_back((due, Entry { queue: at, serial: queue.serial }));
        }
        let full = queue.weight >= queue.best;
        if urgent || full {
            queue.urgent |= urgent;
            lines.ripen(&mut self.serial, queue, at);
        }
        Staged { queue: at, full }
    }

    #[inline(never)]
    fn find(&mut self, key: Key, work: &Work, routes: &Routes) -> usize {
        if let Some(&at) = self.by_key.get(&key) {
            return at;
        }
        let lines = usize::from(key.0) + 1;
        if self.lines.len() < lines {
            self.lines.resize_with(lines, Lines::default);
        }
        if self.queues.len() >= self.many.max(FEW) {
            self.prune();
        }
        let best = routes.best_batch(key.0, work);
        let work = VecDeque::with_capacity(best.min(FEW));
        let at = self.queues.len();
        let deadline_ns = routes.batch_deadline_ns(key.0);
        let (weight, ripe, urgent, serial) = (0, false, false, 0);
        self.queues.push(Queue { key, best, deadline_ns, work, weight, ripe, urgent, serial });
        self.by_key.insert(key, at);
        at
    }

    /// Removes empty queues, whose sessions may be gone. Happens once in as many new queues as it
    /// leaves.
    fn prune(&mut self) {
        self.queues.retain(|q| !q.work.is_empty());
        self.by_key.clear();
        self.lines.iter_mut().for_each(|l| *l = Lines::default());
        let mut young = Vec::new();
        for (at, queue) in self.queues.iter().enumerate() {
            self.by_key.insert(queue.key, at);
            young.push((queue.serial, at));
        }
        // Older serial numbers first. What was young may run now: nothing waits longer than it had to.
        young.sort_unstable();
        for (_, at) in young {
            let queue = &mut self.queues[at];
            (queue.ripe, queue.urgent) = (false, true);
            self.lines[usize::from(queue.key.0)].ripen(&mut self.serial, queue, at);
        }
        self.last = 0;
        self.many = 2 * self.queues.len();
    }

    /// Lets a queue run at once, if a request is still there that is wanted: somebody waits for it. Returns
    /// whether there is.
    pub(crate) fn hurry(&mut self, at: usize, wanted: impl Fn(&Work) -> bool) -> bool {
        let Some(queue) = self.queues.get_mut(at).filter(|q| q.work.iter().any(wanted)) else {
            return false;
        };
        queue.urgent = true;
        self.lines[usize::from(queue.key.0)].ripen(&mut self.serial, queue, at);
        true
    }

    /// Cancels what this closure chooses, and lets it leave. Returns how many.
    pub(crate) fn cancel(&mut self, mut cancel: impl FnMut(&mut Work) -> bool) -> usize {
        let mut count = 0;
        for at in 0..self.queues.len() {
            let of =
                self.queues[at].work.iter_mut().filter_map(|w| cancel(w).then_some(())).count();
            if of > 0 {
                self.hurry(at, |_| true);
            }
            count += of;
        }
        count
    }

    /// What the requests of a queue have in common.
    pub(crate) fn key(&self, at: usize) -> Option<Key> {
        self.queues.get(at).map(|queue| queue.key)
    }

    /// Whether such a request is staged in a queue.
    pub(crate) fn has(&self, at: usize, such: impl Fn(&Work) -> bool) -> bool {
        self.queues.get(at).is_some_and(|q| q.work.iter().any(such))
    }

    /// Moves a batch that may run, for one of the devices in the bit set `accepts`, into `batch`, which is
    /// empty. Returns whether there was one. Devices have turns, and so have the queues of a device.
    pub(crate) fn take(&mut self, now: u64, accepts: u64, batch: &mut VecDeque<Work>) -> bool {
        if self.staged == 0 {
            return false;
        }
        let n = self.lines.len();
        for device in (0..n).map(|k| (self.turn + k) % n) {
            if accepts >> device & 1 == 0 {
                continue;
            }
            let lines = &mut self.lines[device];
            lines.grow_up(now, &mut self.serial, &mut self.queues);
            while let Some(entry) = lines.ripe.pop_front() {
                if entry.is_current(&self.queues) {
                    self.take_from(now, entry.queue, batch);
                    return true;
                }
            }
        }
        false
    }

    /// Moves a batch from this queue, which has requests, into `batch`, which is empty.
    pub(crate) fn take_from(&mut self, now: u64, at: usize, batch: &mut VecDeque<Work>) {
        debug_assert!(batch.is_empty(), "one batch has requests of one queue");
        let queue = &mut self.queues[at];
        self.turn = usize::from(queue.key.0) + 1;
        let mut take = queue.work.len();
        if queue.weight <= queue.best {
            queue.weight = 0;
            core::mem::swap(batch, &mut queue.work);
        } else {
            let mut taken = 0;
            let enough = |w: &Work| {
                taken += w.request().weight();
                taken >= queue.best
            };
            take = queue.work.iter().position(enough).map_or(take, |i| i + 1);
            queue.weight -= taken;
            batch.extend(queue.work.drain(..take));
        }
        self.staged -= take;
        self.last = at;
        queue.ripe = false;
        let lines = &mut self.lines[usize::from(queue.key.0)];
        if queue.work.is_empty() {
            (queue.urgent, queue.serial) = (false, 0);
        } else if queue.urgent || queue.weight >= queue.best {
            lines.ripen(&mut self.serial, queue, at);
        } else {
            // The rest of a full batch. It is older than what became young since: it goes to the
            // front, with the earlier one of two deadlines, so that the line stays in order.
            let own = queue.work.front().map_or(now, |w| w.taken_ns);
            let due = lines.young.front().map_or(own, |&(due, _)| due.min(own));
            self.serial += 1;
            queue.serial = self.serial;
            lines.young.push_front((due, Entry { queue: at, serial: queue.serial }));
        }
    }

    /// When the next queue becomes due.
    pub(crate) fn next_due_ns(&mut self) -> Option<u64> {
        let queues = &self.queues;
        self.lines.iter_mut().filter_map(|lines| lines.next_due(queues)).min()
    }

    /// How many requests are staged.
    pub(crate) fn len(&self) -> usize {
        self.staged
    }
}

impl Lines {
    /// Puts a queue with requests into the ripe line, unless it stands there.
    fn ripen(&mut self, serial: &mut u64, queue: &mut Queue, at: usize) {
        if !core::mem::replace(&mut queue.ripe, true) {
            *serial += 1;
            queue.serial = *serial;
            self.ripe.push_back(Entry { queue: at, serial: queue.serial });
        }
    }

    /// The deadline at the front of the young line, without entries that are out of date.
    fn next_due(&mut self, queues: &[Queue]) -> Option<u64> {
        while let Some(&(due, entry)) = self.young.front() {
            if entry.is_current(queues) {
                return Some(due);
            }
            self.young.pop_front();
        }
        None
    }

    /// Moves the young queues that are due to the ripe ones.
    fn grow_up(&mut self, now: u64, serial: &mut u64, queues: &mut [Queue]) {
        while self.next_due(queues).is_some_and(|due| due <= now)
            && let Some((_, entry)) = self.young.pop_front()
        {
            let queue = &mut queues[entry.queue];
            queue.urgent = true;
            self.ripen(serial, queue, entry.queue);
        }
    }
}
