//! Collects requests of one device, operation and parameter class until they make a full batch,
//! are due, or their caller has nothing else to do.

use std::collections::VecDeque;

use lookaside_core::{Op, Work};

use crate::route::Routes;

struct Queue {
    device: u16,
    op: Op,
    class: u32,
    best: usize,
    work: VecDeque<Work>,
    /// How many requests it is worth: a burst is worth its packets.
    weight: usize,
}

/// The requests that an arbiter has picked and no engine has taken.
#[derive(Default)]
pub(crate) struct Batcher {
    queues: Vec<Queue>,
    /// The queue that the last request went to: most come in runs.
    last: usize,
    staged: usize,
}

impl Batcher {
    /// Appends a request to its queue; `work.device` is set. Returns whether the batch is full.
    pub(crate) fn stage(&mut self, work: Work, routes: &Routes) -> bool {
        let (device, op, class) = (work.device, work.request().op, work.request().session.class);
        let same = |q: &Queue| q.device == device && q.op == op && q.class == class;
        if !self.queues.get(self.last).is_some_and(same) {
            self.last = self.queues.iter().position(same).unwrap_or_else(|| {
                let best = routes.best_batch(device, &work);
                let work = VecDeque::with_capacity(best);
                self.queues.push(Queue { device, op, class, best, work, weight: 0 });
                self.queues.len() - 1
            });
        }
        let queue = &mut self.queues[self.last];
        queue.weight += work.request().weight();
        queue.work.push_back(work);
        self.staged += 1;
        queue.weight >= queue.best
    }

    /// Moves a full batch for a device that accepts into `batch`. Returns whether there was one.
    pub(crate) fn take_full(&mut self, accepts: u64, batch: &mut VecDeque<Work>) -> bool {
        self.take(batch, |q| q.weight >= q.best && accepts >> q.device & 1 == 1)
    }

    /// Moves a batch with a request that is due, or that `flushed` tells to go, into `batch`.
    pub(crate) fn take_ripe(
        &mut self,
        accepts: u64,
        due: impl Fn(&Work) -> bool,
        batch: &mut VecDeque<Work>,
    ) -> bool {
        self.take(batch, |q| accepts >> q.device & 1 == 1 && q.work.iter().any(&due))
    }

    fn take(&mut self, batch: &mut VecDeque<Work>, pick: impl Fn(&Queue) -> bool) -> bool {
        if self.staged == 0 {
            return false;
        }
        // Start behind the last one taken, so that no class waits for another.
        let (last, n) = (self.last, self.queues.len());
        let Some(i) = (last + 1..n).chain(0..=last).find(|&i| pick(&self.queues[i])) else {
            return false;
        };
        let queue = &mut self.queues[i];
        let mut take = queue.work.len();
        if queue.weight <= queue.best && batch.is_empty() {
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
        self.last = i;
        true
    }

    /// When the oldest staged request was pushed.
    pub(crate) fn oldest_ns(&self) -> Option<u64> {
        self.queues.iter().flat_map(|q| &q.work).map(|w| w.pushed_ns).min()
    }

    /// How many requests are staged.
    pub(crate) fn len(&self) -> usize {
        self.staged
    }
}
