//! The scheduler: the taking end of all request rings, the arbiter and the batcher. A pure state
//! machine: it is told the time. Engines share it under a lock that each takes once per batch.

use std::{collections::VecDeque, sync::Arc};

use lookaside_core::{Admission, Completed, OpError, OrderKey, Work};

use crate::{
    arbiter::{self, Arbiter, Contender, Cost, Share},
    batcher::{Batcher, Staged},
    port::Port,
    ring::Consumer,
    route::Routes,
    sla::Sla,
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
    /// The queues that may have requests of this instance, staged before they were wanted, and in
    /// which batcher.
    queues: Vec<(Class, usize)>,
}

/// What a request is served by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Its instance's commitment: before all others, also by the engine for commitments.
    Committed,
    /// Its instance's weight.
    Weighted,
}

/// A request of this instance took other than it was charged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settlement {
    pub(crate) place: u32,
    pub(crate) generation: u32,
    /// How much more, in nanoseconds.
    pub(crate) more_ns: i64,
    /// What it took.
    pub(crate) took_ns: u64,
}

/// So many of an instance's queues are remembered before those that are empty are forgotten.
const QUEUES: usize = 32;

impl Lane {
    /// What a request is served by whose pick is not known any more.
    fn class(&self) -> Class {
        match self.share.is_committed() {
            true => Class::Committed,
            false => Class::Weighted,
        }
    }
}

impl Contender for Lane {
    fn share(&mut self) -> &mut Share {
        &mut self.share
    }

    fn next_cost(&mut self) -> Option<Cost> {
        let request = self.requests.peek()?.request();
        Some(Cost::new(request.cost_ns(), request.size()))
    }

    fn has_next(&mut self) -> bool {
        self.requests.peek().is_some()
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
    /// Requests that are served by commitments, and all others.
    committed: Batcher,
    weighted: Batcher,
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
            committed: Batcher::default(),
            weighted: Batcher::default(),
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

    /// Takes what a closing instance has in its ring. Returns whether it has lent memory to what was
    /// taken before.
    pub(crate) fn withdraw(&mut self, place: u32, into: &mut Vec<Work>) -> bool {
        let lane = self.lanes.get_mut(place as usize).and_then(Option::as_mut);
        lane.is_some_and(|lane| {
            into.extend(core::iter::from_fn(|| lane.requests.pop()));
            lane.port.has_lent()
        })
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

    /// Charges instances what their requests took.
    pub(crate) fn settle(&mut self, settlements: &mut Vec<Settlement>) {
        for s in settlements.drain(..) {
            let lane = self.lanes.get_mut(s.place as usize).and_then(Option::as_mut);
            if let Some(lane) = lane.filter(|l| l.generation == s.generation) {
                lane.share.settle(s.more_ns);
                lane.port.add_device_ns(s.took_ns);
            }
        }
    }

    /// Moves the next batch for one of the devices in the bit set `accepts` into `batch`, `only` a
    /// batch that is served by commitments if so asked. Requests that cannot run go to `not_run`.
    pub(crate) fn next_batch(
        &mut self,
        now: u64,
        accepts: u64,
        only: Option<Class>,
        batch: &mut VecDeque<Work>,
        not_run: &mut Completed,
    ) -> Pick {
        if only.is_none()
            && let Some(work) = self.lone(now, accepts)
        {
            // Its lane is the only one.
            self.lanes.iter().flatten().for_each(|lane| lane.port.admits(&work));
            batch.push_back(work);
            return Pick::Batch { more: self.waiting() };
        }
        // What earlier calls left is ripe first: others that never stop making full batches must
        // not hold it back beyond its deadline.
        self.hurry_wanted();
        let mut picked = self.take(now, accepts, only, batch);
        while !picked {
            let pick = match only {
                None => self.arbiter.pick(now, &mut self.lanes),
                Some(_) => self.arbiter.pick_committed(now, &mut self.lanes),
            };
            let Some(pick) = pick else {
                picked = self.take(now, accepts, only, batch);
                break;
            };
            let Some((device, class, mut staged)) = self.admit(now, pick, not_run) else {
                continue;
            };
            // One that is alone is picked again anyway.
            let competes = pick.charged_ns > 0 || pick.committed;
            while competes
                && !staged.full
                && let Some(pick) = self.credit(now, pick, class, staged)
                && let Some(more) = self.admit(now, pick, not_run)
            {
                staged = more.2;
            }
            if staged.full && accepts >> device & 1 == 1 {
                self.batcher(class).take_from(now, staged.queue, batch);
                picked = true;
            }
        }
        if !picked {
            return Pick::Nothing { until_ns: self.next_time(now, only) };
        }
        for w in batch.iter_mut() {
            w.taken_ns = now;
        }
        Pick::Batch { more: self.waiting() || self.staged() > 0 }
    }

    fn batcher(&mut self, class: Class) -> &mut Batcher {
        match class {
            Class::Committed => &mut self.committed,
            Class::Weighted => &mut self.weighted,
        }
    }

    /// How many requests are staged.
    fn staged(&self) -> usize {
        self.committed.len() + self.weighted.len()
    }

    /// Moves a batch that was staged and may run into `batch`. Returns whether there was one.
    fn take(
        &mut self,
        now: u64,
        accepts: u64,
        only: Option<Class>,
        batch: &mut VecDeque<Work>,
    ) -> bool {
        self.committed.take(now, accepts, batch)
            || only.is_none() && self.weighted.take(now, accepts, batch)
    }

    /// Whether an instance has a request.
    fn waiting(&mut self) -> bool {
        self.lanes.iter_mut().flatten().any(Contender::has_next)
    }

    /// What arbiter and batcher would choose where there is no choice: an instance that is alone and
    /// without a promise has a request that is a batch by itself, a burst, or its only one that it
    /// waits for. Going through both of them took a fifth of such a request's time.
    pub(crate) fn lone(&mut self, now: u64, accepts: u64) -> Option<Work> {
        let [Some(lane)] = &mut self.lanes[..] else { return None };
        let staged = self.committed.len() + self.weighted.len();
        if staged > 0 || lane.share.is_promised() || lane.port.is_closed() {
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
        if self.staged() == 0 {
            return;
        }
        let Scheduler { lanes, committed, weighted, .. } = self;
        for lane in lanes.iter_mut().flatten() {
            let wanted = lane.port.wanted();
            if wanted > lane.wanted {
                lane.wanted = wanted;
                lane.queues.drain(..).for_each(|(class, queue)| match class {
                    Class::Committed => committed.hurry(queue),
                    Class::Weighted => weighted.hurry(queue),
                });
            }
        }
    }

    /// Appends a request to the batcher's queue.
    fn stage(&mut self, now: u64, work: Work, class: Class) -> Staged {
        let (place, seq) = (work.ticket.port as usize, work.ticket.seq);
        let Scheduler { lanes, committed, weighted, .. } = self;
        let batcher = match class {
            Class::Committed => committed,
            Class::Weighted => weighted,
        };
        let Some(lane) = lanes.get_mut(place).and_then(Option::as_mut) else {
            // Its instance has gone: nobody will wait for it.
            return batcher.stage(now, work, &self.routes, true);
        };
        let wanted = lane.port.flushed(seq);
        let staged = batcher.stage(now, work, &self.routes, wanted);
        let queue = (class, staged.queue);
        if !wanted && lane.queues.last() != Some(&queue) {
            if lane.queues.len() == QUEUES {
                lane.queues.sort_unstable();
                lane.queues.dedup();
                lane.queues.retain(|&(of, queue)| of != class || batcher.is_staged(queue));
            }
            lane.queues.push(queue);
        }
        staged
    }

    /// Takes the next request of a lane. Returns where it was staged and for which device, unless it
    /// waits for its turn or cannot run.
    #[inline(always)]
    fn admit(
        &mut self,
        now: u64,
        pick: arbiter::Pick,
        not_run: &mut Completed,
    ) -> Option<(u16, Class, Staged)> {
        let lane = self.lanes.get_mut(pick.index).and_then(Option::as_mut)?;
        let mut work = lane.requests.pop()?;
        work.charged_ns = pick.charged_ns;
        lane.port.admits(&work);
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
        let class = if pick.committed { Class::Committed } else { Class::Weighted };
        Some((device, class, self.stage(now, work, class)))
    }

    /// Whether the instance that was picked may have its next request in the same batch, on credit: a
    /// request costs less in a full batch, and what this one costs is known when it has run.
    fn credit(
        &mut self,
        now: u64,
        pick: arbiter::Pick,
        class: Class,
        staged: Staged,
    ) -> Option<arbiter::Pick> {
        let key = self.batcher(class).key(staged.queue)?;
        let lane = self.lanes.get_mut(pick.index).and_then(Option::as_mut)?;
        let next = lane.requests.peek()?.request();
        let device = self.routes.first(next)?;
        if (device, next.op, next.session.class.id()) != key || lane.port.is_closed() {
            return None;
        }
        let cost = Cost::new(next.cost_ns(), next.size());
        let charged_ns = lane.share.credit(now, cost, pick.committed)?;
        Some(arbiter::Pick { charged_ns, ..pick })
    }

    /// Stages a request of an ordered session whose turn has come.
    ///
    /// # Errors
    /// The work, when its instance is closing.
    pub(crate) fn stage_next(&mut self, now: u64, work: Work) -> Result<(), Work> {
        let lane = self.lanes.get(work.ticket.port as usize).and_then(Option::as_ref);
        let Some(lane) = lane.filter(|l| !l.port.is_closed()) else { return Err(work) };
        let class = lane.class();
        self.stage(now, work, class);
        Ok(())
    }

    /// Stages the next step of a chain.
    ///
    /// # Errors
    /// The work, and why it cannot run.
    pub(crate) fn stage_step(&mut self, now: u64, mut work: Work) -> Result<(), (Work, OpError)> {
        let lane = self.lanes.get(work.ticket.port as usize).and_then(Option::as_ref);
        let Some(lane) = lane.filter(|l| !l.port.is_closed()) else {
            return Err((work, OpError::Cancelled));
        };
        let class = lane.class();
        let Some(device) = self.routes.first(work.request()) else {
            return Err((work, OpError::Unsupported));
        };
        work.device = device;
        self.stage(now, work, class);
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
            false => self.routes.next(r, work.device),
        };
        match next {
            Some(device) => {
                work.device = device;
                let lane = self.lanes.get(work.ticket.port as usize).and_then(Option::as_ref);
                let class = lane.map_or(Class::Weighted, Lane::class);
                self.stage(now, work, class);
                Ok(())
            }
            None => Err(work),
        }
    }

    /// When something becomes due that no doorbell announces.
    fn next_time(&mut self, now: u64, only: Option<Class>) -> Option<u64> {
        let due = self.committed.next_due_ns();
        if only.is_some() {
            let admitted = Arbiter::next_committed_ns(&mut self.lanes);
            return due.into_iter().chain(admitted).min().map(|t| t.max(now));
        }
        let due = due.into_iter().chain(self.weighted.next_due_ns()).min();
        let allowed = Arbiter::next_allowed_ns(&mut self.lanes);
        // No look in between is needed: until then a bucket holds less than that request's cost, so it
        // cannot overflow.
        let allowed = allowed.map(|t| t.max(now));
        due.into_iter().chain(allowed).min()
    }
}
