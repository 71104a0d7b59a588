//! The scheduler: the taking end of all request rings, the arbiter and the batcher. A pure state
//! machine: it is told the time. Engines share it under a lock that each takes once per batch.

use std::{collections::VecDeque, sync::Arc};

use lookaside_core::{Admission, Completed, OpError, OrderKey, Work};

use crate::{
    arbiter::{Arbiter, Contender, Share},
    batcher::Batcher,
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
}

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
    batch_deadline_ns: u64,
    /// Counts the changes of `lanes`.
    version: u64,
}

impl Scheduler {
    pub(crate) fn new(key: OrderKey, routes: Arc<Routes>, batch_deadline_ns: u64) -> Scheduler {
        Scheduler {
            key,
            routes,
            lanes: Vec::new(),
            generation: 0,
            arbiter: Arbiter::default(),
            batcher: Batcher::default(),
            batch_deadline_ns,
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
        let lane = Lane { port, generation: self.generation, requests, share };
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
        let mut picked =
            self.batcher.take_full(accepts, batch) || self.take_ripe(now, accepts, batch);
        while !picked {
            let Some(place) = self.arbiter.pick(now, &mut self.lanes) else {
                picked = self.take_ripe(now, accepts, batch);
                break;
            };
            if self.admit(place, not_run) {
                picked = self.batcher.take_full(accepts, batch);
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
        if r.session.order.is_some() || !r.session.spec.ops().contains(&r.op) {
            return None;
        }
        let device = self.routes.first(r.op, &r.session, r.size())?;
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

    /// Moves a batch with a request that is due, or that its owner waits for, into `batch`.
    fn take_ripe(&mut self, now: u64, accepts: u64, batch: &mut VecDeque<Work>) -> bool {
        let (lanes, deadline_ns) = (&self.lanes, self.batch_deadline_ns);
        let due = |w: &Work| {
            now >= w.pushed_ns.saturating_add(deadline_ns)
                || lanes[w.ticket.port as usize]
                    .as_ref()
                    .is_some_and(|l| l.port.flushed(w.ticket.seq) || l.port.is_closed())
        };
        self.batcher.take_ripe(accepts, due, batch)
    }

    /// Takes the next request of a lane. Returns whether a batch became full.
    fn admit(&mut self, place: usize, not_run: &mut Completed) -> bool {
        let Some(lane) = self.lanes.get_mut(place).and_then(Option::as_mut) else { return false };
        let Some(mut work) = lane.requests.pop() else { return false };
        if lane.port.is_closed() {
            not_run.push(work, Err(OpError::Cancelled));
            return false;
        }
        let r = work.request();
        let device = match r.session.spec.ops().contains(&r.op) {
            true => self.routes.first(r.op, &r.session, r.size()),
            false => None,
        };
        let Some(device) = device else {
            not_run.push(work, Err(OpError::Unsupported));
            return false;
        };
        work.device = device;
        if work.request().session.order.is_none() {
            return self.batcher.stage(work, &self.routes);
        }
        let session = work.request().session.clone();
        match session.order.as_ref().map(|o| o.admit(self.key, work)) {
            Some(Admission::Runs(work)) => self.batcher.stage(work, &self.routes),
            Some(Admission::Refused(work)) => {
                not_run.push(work, Err(OpError::Cancelled));
                false
            }
            Some(Admission::Waits) | None => false,
        }
    }

    /// Stages a request of an ordered session whose turn has come.
    ///
    /// # Errors
    /// The work, when its instance is closing.
    pub(crate) fn stage_next(&mut self, work: Work) -> Result<(), Work> {
        let lane = self.lanes.get(work.ticket.port as usize).and_then(Option::as_ref);
        if lane.is_none_or(|l| l.port.is_closed()) {
            return Err(work);
        }
        self.batcher.stage(work, &self.routes);
        Ok(())
    }

    /// Stages a request that its device did not do for the next device of the route.
    ///
    /// # Errors
    /// The work, when there is none.
    pub(crate) fn reroute(&mut self, mut work: Work) -> Result<(), Work> {
        let r = work.request();
        if r.session.order.is_some() {
            // A stream's state lives on its device.
            return Err(work);
        }
        match self.routes.next(r.op, &r.session, work.device) {
            Some(device) => {
                work.device = device;
                self.batcher.stage(work, &self.routes);
                Ok(())
            }
            None => Err(work),
        }
    }

    /// When something becomes due that no doorbell announces.
    fn next_time(&mut self, now: u64) -> Option<u64> {
        let due = self.batcher.oldest_ns().map(|t| t.saturating_add(self.batch_deadline_ns));
        let allowed = Arbiter::next_allowed_ns(&mut self.lanes);
        let allowed = allowed.map(|t| t.clamp(now, now.saturating_add(STEP_NS)));
        due.into_iter().chain(allowed).min()
    }
}
