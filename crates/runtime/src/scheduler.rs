//! The scheduler: the taking end of all request rings, the arbiter and the batcher. A pure state
//! machine: it is told the time. Engines share it under a lock that each takes once per batch.

use std::{collections::VecDeque, sync::Arc};

use lookaside_core::{Admission, Completed, OpError, OrderKey, Work};

use crate::{
    arbiter::{Arbiter, Contender, Share},
    batcher::{Batcher, Staged},
    port::Port,
    ring::Consumer,
    route::Routes,
    sla::{STEP_NS, Sla},
};

/// A port with the generation that tickets for it carry.
pub(crate) type PortEntry = Option<(u32, Arc<Port>)>;

/// An instance's end within the scheduler.
struct Lane {
    port: Arc<Port>,
    generation: u32,
    requests: Consumer<Work>,
    share: Share,
    /// Requests with a lower number were wanted when last looked.
    wanted: u64,
    /// The batcher's queues that may have requests of this instance, staged before they were wanted.
    queues: Vec<usize>,
}

/// So many of an instance's queues are remembered before those that are empty are forgotten.
const QUEUES: usize = 32;

impl Contender for Lane {
    fn share(&mut self) -> &mut Share {
        &mut self.share
    }

    fn next_size(&mut self) -> Option<usize> {
        self.requests.peek().map(|w| w.request().size())
    }

    fn is_closing(&self) -> bool {
        self.port.is_closed()
    }
}

/// What [`Scheduler::next_batch`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pick {
    /// A batch. `more`: another engine would find work too.
    Batch { more: bool },
    /// Nothing to run before this time, unless something is pushed or flushed.
    Nothing { until_ns: Option<u64> },
}

pub(crate) struct Scheduler {
    key: OrderKey,
    routes: Arc<Routes>,
    lanes: Vec<Option<Lane>>,
    generation: u32,
    arbiter: Arbiter,
    batcher: Batcher,
    /// Counts the changes of `lanes`.
    version: u64,
}

impl Scheduler {
    pub(crate) fn new(key: OrderKey, routes: Arc<Routes>) -> Scheduler {
        Scheduler {
            key,
            routes,
            lanes: Vec::new(),
            generation: 0,
            arbiter: Arbiter::default(),
            batcher: Batcher::default(),
            version: 0,
        }
    }

    /// Adds an instance. Returns its place and generation, for tickets.
    pub(crate) fn attach(
        &mut self,
        port: Arc<Port>,
        requests: Consumer<Work>,
        weight: u32,
        sla: Option<&Sla>,
        now: u64,
    ) -> (u32, u32) {
        self.generation = self.generation.wrapping_add(1);
        let share = Share::new(weight, sla, now);
        self.arbiter.commitments += usize::from(share.is_committed());
        let (generation, queues) = (self.generation, Vec::with_capacity(QUEUES));
        let lane = Lane { port, generation, requests, share, wanted: 0, queues };
        let free = self.lanes.iter().position(Option::is_none);
        let place = free.unwrap_or_else(|| {
            self.lanes.push(None);
            self.lanes.len() - 1
        });
        self.lanes[place] = Some(lane);
        self.version += 1;
        (place as u32, self.generation)
    }

    /// Removes an instance that has no requests outstanding.
    pub(crate) fn detach(&mut self, place: u32) {
        if let Some(lane) = self.lanes.get_mut(place as usize).and_then(Option::take) {
            self.arbiter.commitments -= usize::from(lane.share.is_committed());
            self.version += 1;
        }
    }

    /// Brings an engine's copy of the port table up to date.
    pub(crate) fn refresh(&self, version: &mut u64, ports: &mut Vec<PortEntry>) {
        if *version != self.version {
            ports.clear();
            let entry = |l: &Lane| (l.generation, l.port.clone());
            ports.extend(self.lanes.iter().map(|l| l.as_ref().map(entry)));
            *version = self.version;
        }
    }

    /// Moves the next batch for one of the devices in the bit set `accepts` into `batch`. Requests
    /// that cannot run go to `not_run`.
    pub(crate) fn next_batch(
        &mut self,
        now: u64,
        accepts: u64,
        batch: &mut VecDeque<Work>,
        not_run: &mut Completed,
    ) -> Pick {
        if let Some(work) = self.lone(now, accepts) {
            batch.push_back(work);
            return Pick::Batch { more: self.waiting() };
        }
        // What earlier calls left is ripe first: others that never stop making full batches must
        // not hold it back beyond its deadline.
        self.hurry_wanted();
        let mut picked = self.batcher.take(now, accepts, batch);
        while !picked {
            let Some(place) = self.arbiter.pick(now, &mut self.lanes) else {
                picked = self.batcher.take(now, accepts, batch);
                break;
            };
            let Some((device, staged)) = self.admit(now, place, not_run) else { continue };
            if staged.full && accepts >> device & 1 == 1 {
                self.batcher.take_from(now, staged.queue, batch);
                picked = true;
            }
        }
        if !picked {
            return Pick::Nothing { until_ns: self.next_time(now) };
        }
        for w in batch.iter_mut() {
            w.taken_ns = now;
        }
        Pick::Batch { more: self.waiting() || self.batcher.len() > 0 }
    }

    /// Whether an instance has a request.
    fn waiting(&mut self) -> bool {
        self.lanes.iter_mut().flatten().any(|l| l.requests.peek().is_some())
    }

    /// What arbiter and batcher would choose where there is no choice: an instance that is alone and
    /// without a promise has a request that is a batch by itself, a burst, or its only one that it
    /// waits for. Going through both of them took a fifth of such a request's time.
    pub(crate) fn lone(&mut self, now: u64, accepts: u64) -> Option<Work> {
        let [Some(lane)] = &mut self.lanes[..] else { return None };
        if self.batcher.len() > 0 || lane.share.is_promised() || lane.port.is_closed() {
            return None;
        }
        let only = lane.requests.is_last();
        let work = lane.requests.peek()?;
        let r = work.request();
        if r.session.order.is_some() {
            return None;
        }
        let device = self.routes.first(r)?;
        let whole = only && lane.port.flushed(work.ticket.seq)
            || r.weight() >= self.routes.best_batch(device, work);
        if !whole || accepts >> device & 1 == 0 {
            return None;
        }
        let mut work = lane.requests.pop()?;
        work.device = device;
        work.taken_ns = now;
        Some(work)
    }

    /// Lets requests run that were staged before their owner waited for them.
    fn hurry_wanted(&mut self) {
        if self.batcher.len() == 0 {
            return;
        }
        for lane in self.lanes.iter_mut().flatten() {
            let wanted = lane.port.wanted();
            if wanted > lane.wanted {
                lane.wanted = wanted;
                lane.queues.drain(..).for_each(|queue| self.batcher.hurry(queue));
            }
        }
    }

    /// Appends a request to the batcher's queue.
    fn stage(&mut self, now: u64, work: Work) -> Staged {
        let (place, seq) = (work.ticket.port as usize, work.ticket.seq);
        let Some(lane) = self.lanes.get_mut(place).and_then(Option::as_mut) else {
            // Its instance has gone: nobody will wait for it.
            return self.batcher.stage(now, work, &self.routes, true);
        };
        let wanted = lane.port.flushed(seq);
        let staged = self.batcher.stage(now, work, &self.routes, wanted);
        if !wanted && lane.queues.last() != Some(&staged.queue) {
            if lane.queues.len() == QUEUES {
                lane.queues.sort_unstable();
                lane.queues.dedup();
                lane.queues.retain(|&queue| self.batcher.is_staged(queue));
            }
            lane.queues.push(staged.queue);
        }
        staged
    }

    /// Takes the next request of a lane. Returns where it was staged and for which device, unless it
    /// waits for its turn or cannot run.
    fn admit(&mut self, now: u64, place: usize, not_run: &mut Completed) -> Option<(u16, Staged)> {
        let lane = self.lanes.get_mut(place).and_then(Option::as_mut)?;
        let mut work = lane.requests.pop()?;
        if lane.port.is_closed() {
            not_run.push(work, Err(OpError::Cancelled));
            return None;
        }
        let Some(device) = self.routes.first(work.request()) else {
            not_run.push(work, Err(OpError::Unsupported));
            return None;
        };
        work.device = device;
        if work.request().session.order.is_some() {
            let session = work.request().session.clone();
            match session.order.as_ref()?.admit(self.key, work) {
                Admission::Runs(turn) => work = turn,
                Admission::Waits => return None,
                Admission::Refused(work) => {
                    not_run.push(work, Err(OpError::Cancelled));
                    return None;
                }
            }
        }
        Some((device, self.stage(now, work)))
    }

    /// Stages a request of an ordered session whose turn has come.
    ///
    /// # Errors
    /// The work, when its instance is closing.
    pub(crate) fn stage_next(&mut self, now: u64, work: Work) -> Result<(), Work> {
        let lane = self.lanes.get(work.ticket.port as usize).and_then(Option::as_ref);
        if lane.is_none_or(|l| l.port.is_closed()) {
            return Err(work);
        }
        self.stage(now, work);
        Ok(())
    }

    /// Stages a request that its device did not do for the next device of the route.
    ///
    /// # Errors
    /// The work, when there is none.
    pub(crate) fn reroute(&mut self, now: u64, mut work: Work) -> Result<(), Work> {
        let r = work.request();
        let next = match r.is_bound() {
            true => None,
            false => self.routes.next(r.op, &r.session, work.device),
        };
        match next {
            Some(device) => {
                work.device = device;
                self.stage(now, work);
                Ok(())
            }
            None => Err(work),
        }
    }

    /// When something becomes due that no doorbell announces.
    fn next_time(&mut self, now: u64) -> Option<u64> {
        let due = self.batcher.next_due_ns();
        let allowed = Arbiter::next_allowed_ns(&mut self.lanes);
        let allowed = allowed.map(|t| t.clamp(now, now.saturating_add(STEP_NS)));
        due.into_iter().chain(allowed).min()
    }
}
