//! The scheduler: the taking end of all request rings, the arbiter and the batcher. A pure state
//! machine: it is told the time. Engines share it under a lock that each takes once per batch.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use lookaside_core::{
    Admission, Completed, OpError, OrderKey, Service, Session, Work,
    probes::{self, Rerouted},
};

use crate::{
    arbiter::{self, Arbiter, Head, Lanes, Share},
    batcher::{Batcher, Staged},
    port::Port,
    ring::Consumer,
    route::Routes,
    sla::{Cost, Priority, Terms},
};

/// A port with the generation that tickets for it carry.
pub(crate) type PortEntry = Option<(u32, Arc<Port>)>;

/// An instance's end within the scheduler.
struct Lane {
    port: Arc<Port>,
    generation: u32,
    requests: Consumer<Work>,
    /// Whether it has ever had a request. Before that, nobody shares anything with it: the lane of the
    /// handles is always here.
    used: bool,
    /// The place of its tenant's share.
    share: usize,
    /// Requests with a lower number were wanted when last looked.
    wanted: u64,
    /// The queues that may have requests of this instance, staged before they were wanted, and in
    /// which batcher.
    queues: Vec<(Class, usize)>,
    /// The streams of which a request has waited for its turn, and how many lived when last counted.
    streams: Vec<Weak<Session>>,
    live: usize,
}

/// What a request is served by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Its tenant's commitment: before all others, also by the engine for commitments.
    Committed,
    /// Its tenant's weight.
    Weighted,
}

impl Class {
    fn of(committed: bool) -> Class {
        if committed { Class::Committed } else { Class::Weighted }
    }
}

/// Requests of this instance took other than they were charged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settlement {
    pub(crate) of: Settled,
    /// How much more, in nanoseconds.
    pub(crate) more_ns: i64,
    /// What they took.
    pub(crate) took_ns: u64,
}

/// Requests that are settled together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    place: u32,
    generation: u32,
    service: Service,
    committed: bool,
}

impl Settled {
    pub(crate) fn with(work: &Work) -> Settled {
        let (place, generation) = (work.ticket.port, work.ticket.generation);
        let (service, committed) = (work.request().op.service(), work.committed);
        Settled { place, generation, service, committed }
    }
}

/// So many of an instance's queues, and streams, are remembered before those that are empty are
/// forgotten.
const QUEUES: usize = 32;

impl Lanes for Vec<Option<Lane>> {
    #[inline]
    fn head(&mut self, lane: usize, now: u64) -> Option<Head> {
        let lane = self.get_mut(lane)?.as_mut()?;
        let work = lane.requests.peek()?;
        let over = work.until_ns <= now || lane.port.is_closed();
        let (until_ns, pushed_ns) = (work.until_ns, work.pushed_ns);
        Some(Head { cost: Cost::of(work.request()), over, until_ns, pushed_ns })
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
    shares: Vec<Option<Share>>,
    /// The only lane that is used, where it has no rates: there is nothing to choose.
    alone: Option<usize>,
    /// The lanes that are not used.
    unused: Vec<usize>,
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
            shares: Vec::new(),
            alone: None,
            unused: Vec::new(),
            generation: 0,
            arbiter: Arbiter::default(),
            committed: Batcher::default(),
            weighted: Batcher::default(),
            version: 0,
        }
    }

    /// Adds an instance of a tenant. Returns its place and generation, for tickets.
    pub(crate) fn attach(
        &mut self,
        port: Arc<Port>,
        requests: Consumer<Work>,
        terms: &Arc<Terms>,
    ) -> (u32, u32) {
        self.generation = self.generation.wrapping_add(1);
        let known = |s: &Option<Share>| s.as_ref().is_some_and(|s| Arc::ptr_eq(&s.terms, terms));
        let share = self.shares.iter().position(known).unwrap_or_else(|| {
            self.arbiter.enter(terms);
            put(&mut self.shares, Share::new(terms.clone()))
        });
        let (generation, queues) = (self.generation, Vec::with_capacity(QUEUES));
        let (wanted, streams, live) = (0, Vec::new(), 0);
        let used = false;
        let lane = Lane { port, generation, requests, used, share, wanted, queues, streams, live };
        let place = put(&mut self.lanes, lane);
        self.unused.push(place);
        if let Some(share) = &mut self.shares[share] {
            share.add(place);
        }
        self.version += 1;
        (place as u32, self.generation)
    }

    /// A tenant has other terms from now on.
    pub(crate) fn change(&mut self, old: &Arc<Terms>, new: &Arc<Terms>) {
        for share in self.shares.iter_mut().flatten().filter(|s| Arc::ptr_eq(&s.terms, old)) {
            self.arbiter.leave(old);
            self.arbiter.enter(new);
            share.terms = new.clone();
        }
        self.alone = self.find_alone();
    }

    /// Removes an instance that has no requests outstanding.
    pub(crate) fn detach(&mut self, place: u32) {
        let Some(lane) = self.lanes.get_mut(place as usize).and_then(Option::take) else { return };
        self.version += 1;
        if let Some(share) = &mut self.shares[lane.share]
            && share.remove(place as usize)
        {
            self.arbiter.leave(&share.terms);
            self.shares[lane.share] = None;
        }
        self.unused.retain(|&unused| unused != place as usize);
        self.alone = self.find_alone();
    }

    /// Takes note of the lanes that have their first request.
    #[inline]
    fn note_first_requests(&mut self) {
        if !self.unused.is_empty() {
            self.look_at_unused();
        }
    }

    fn look_at_unused(&mut self) {
        let (lanes, before) = (&mut self.lanes, self.unused.len());
        self.unused.retain(|&place| {
            let lane = lanes[place].as_mut();
            !lane.is_some_and(|lane| {
                lane.used = lane.requests.peek().is_some();
                lane.used
            })
        });
        if self.unused.len() < before {
            self.alone = self.find_alone();
        }
    }

    fn find_alone(&self) -> Option<usize> {
        let is_used = |lane: &Option<Lane>| lane.as_ref().is_some_and(|lane| lane.used);
        let place = self.lanes.iter().position(is_used)?;
        let share = self.shares[self.lanes[place].as_ref()?.share].as_ref()?;
        let others = self.lanes[place + 1..].iter().any(is_used);
        (!others && !share.terms.has_rates()).then_some(place)
    }

    fn lane(&mut self, place: u32) -> Option<&mut Lane> {
        self.lanes.get_mut(place as usize)?.as_mut()
    }

    /// Takes what a closing instance has in its ring. Returns whether it has lent memory to what was
    /// taken before.
    pub(crate) fn withdraw(&mut self, place: u32, into: &mut Vec<Work>) -> bool {
        self.lane(place).is_some_and(|lane| {
            into.extend(core::iter::from_fn(|| lane.requests.pop()));
            lane.port.has_lent()
        })
    }

    /// Cancels an instance's requests with this tag that no device has. Returns how many: each is
    /// answered [`OpError::Cancelled`].
    pub(crate) fn cancel(&mut self, place: u32, tag: u64) -> usize {
        let Some(lane) = self.lanes.get_mut(place as usize).and_then(Option::as_mut) else {
            return 0;
        };
        let generation = lane.generation;
        let mut cancel = |work: &mut Work| {
            let of = (work.ticket.port, work.ticket.generation);
            of == (place, generation) && work.request().tag == tag && work.cancel()
        };
        let mut count = 0;
        lane.requests.each(|work| count += usize::from(cancel(work)));
        for session in lane.streams.iter().filter_map(Weak::upgrade) {
            count += session.order.as_ref().map_or(0, |order| order.each_waiting(&mut cancel));
        }
        count += self.committed.cancel(&mut cancel);
        count + self.weighted.cancel(&mut cancel)
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

    /// Whether device time counts although nobody else is there to share it.
    pub(crate) fn meters(&self) -> bool {
        self.shares.iter().flatten().any(|share| share.terms.meters())
    }

    /// Charges tenants what their requests took.
    pub(crate) fn settle(&mut self, settlements: &mut Vec<Settlement>) {
        for Settlement { of, more_ns, took_ns } in settlements.drain(..) {
            let lane = self.lanes.get_mut(of.place as usize).and_then(Option::as_mut);
            if let Some(lane) = lane.filter(|l| l.generation == of.generation)
                && let Some(share) = &mut self.shares[lane.share]
            {
                if !of.committed {
                    share.settle(more_ns);
                }
                share.terms.correct(of.service, of.committed, more_ns);
                share.terms.add_device_ns(took_ns, of.committed);
                lane.port.add_device_ns(took_ns);
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
            if let Some(lane) = self.lane(work.ticket.port) {
                lane.port.admits(&work);
            }
            batch.push_back(work);
            return Pick::Batch { more: self.waiting() };
        }
        // What earlier calls left is ripe first: others that never stop making full batches must
        // not hold it back beyond its deadline.
        self.hurry_wanted();
        self.note_first_requests();
        let mut picked = self.take(now, accepts, only, batch);
        while !picked {
            let admitted = match (self.alone, only) {
                (Some(lane), None) => self.next_of(lane).map(|pick| self.admit(now, pick, not_run)),
                _ => self.choose(now, only).map(|pick| self.admit_some(now, pick, not_run)),
            };
            let Some(admitted) = admitted else {
                picked = self.take(now, accepts, only, batch);
                break;
            };
            // Taken apart here: a copy of the whole is loaded in other pieces than it was stored in.
            if let Some((device, class, Staged { queue, full: true })) = admitted
                && accepts >> device & 1 == 1
            {
                self.batcher(class).take_from(now, queue, batch);
                picked = true;
            }
        }
        if !picked {
            return Pick::Nothing { until_ns: self.next_time(now, only) };
        }
        let (mut over, lanes) = (false, batch.len());
        for w in batch.iter_mut() {
            w.taken_ns = now;
            probes::begun(w, lanes);
            over |= w.until_ns <= now;
        }
        if over {
            expire(now, batch, not_run);
        }
        Pick::Batch { more: self.waiting() || self.staged() > 0 }
    }

    /// The next request of the only lane.
    #[inline(always)]
    fn next_of(&mut self, lane: usize) -> Option<arbiter::Pick> {
        let of = self.lanes[lane].as_mut()?;
        of.requests.peek()?;
        Some(arbiter::Pick { share: of.share, lane, charged_ns: 0, committed: false })
    }

    #[inline(never)]
    fn choose(&mut self, now: u64, only: Option<Class>) -> Option<arbiter::Pick> {
        let (shares, lanes) = (&mut self.shares[..], &mut self.lanes);
        match only {
            None => self.arbiter.pick(now, shares, lanes),
            Some(_) => self.arbiter.pick_committed(now, shares, lanes),
        }
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
        self.lanes.iter_mut().flatten().any(|lane| lane.requests.peek().is_some())
    }

    /// What arbiter and batcher would choose where there is no choice: an instance that is alone and
    /// without a promise has a request that is a batch by itself, a burst, or its only one that it
    /// waits for. Going through both of them took a fifth of such a request's time.
    pub(crate) fn lone(&mut self, now: u64, accepts: u64) -> Option<Work> {
        self.note_first_requests();
        let lane = self.lanes[self.alone?].as_mut()?;
        if self.committed.len() + self.weighted.len() > 0 || lane.port.is_closed() {
            return None;
        }
        let only = lane.requests.is_last();
        let work = lane.requests.peek()?;
        let r = work.request();
        if r.session.order.is_some() || work.until_ns <= now {
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
        probes::begun(&work, 1);
        Some(work)
    }

    /// The device for the only request there is, which is in no ring, where nobody has a promise or a rate; `None`: it
    /// goes through the ring.
    #[inline]
    pub(crate) fn only(&self, work: &Work) -> Option<u16> {
        self.alone?;
        let request = work.request();
        let simple = request.session.order.is_none() && !work.has_next() && self.staged() == 0;
        if simple { self.routes.first(request) } else { None }
    }

    /// Lets requests run that were staged before their owner waited for them.
    fn hurry_wanted(&mut self) {
        if self.staged() == 0 {
            return;
        }
        let Scheduler { lanes, committed, weighted, .. } = self;
        for (place, lane) in lanes.iter_mut().enumerate() {
            let Some(lane) = lane else { continue };
            let wanted = lane.port.wanted();
            if wanted > lane.wanted {
                lane.wanted = wanted;
                // Its request may have left with an earlier batch: those of others that came since wait for more.
                // A queue that has later ones of its own is asked again when those are wanted.
                let own = |work: &Work| work.ticket.port as usize == place;
                lane.queues.retain(|&(class, queue)| {
                    let batcher = match class {
                        Class::Committed => &mut *committed,
                        Class::Weighted => &mut *weighted,
                    };
                    !batcher.hurry(queue, |work| own(work) && work.ticket.seq < wanted)
                        && batcher.has(queue, own)
                });
            }
        }
    }

    /// Appends a request to the batcher's queue.
    fn stage(&mut self, now: u64, work: Work) -> Staged {
        let (place, seq) = (work.ticket.port as usize, work.ticket.seq);
        let class = Class::of(work.committed);
        let Scheduler { lanes, committed, weighted, .. } = self;
        let batcher = match class {
            Class::Committed => committed,
            Class::Weighted => weighted,
        };
        let Some(lane) = lanes.get_mut(place).and_then(Option::as_mut) else {
            // Its instance has gone: nobody will wait for it.
            return batcher.stage(now, work, &self.routes, true);
        };
        let wanted = lane.port.flushed(seq) || work.until_ns < u64::MAX;
        let staged = batcher.stage(now, work, &self.routes, wanted);
        let queue = (class, staged.queue);
        if !wanted && lane.queues.last() != Some(&queue) {
            if lane.queues.len() == QUEUES {
                lane.queues.sort_unstable();
                lane.queues.dedup();
                lane.queues.retain(|&(of, queue)| of != class || batcher.has(queue, |_| true));
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
        let lane = self.lanes.get_mut(pick.lane).and_then(Option::as_mut)?;
        let mut work = lane.requests.pop()?;
        (work.charged_ns, work.committed) = (pick.charged_ns, pick.committed);
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
                Admission::Waits => {
                    lane.remember(&session);
                    return None;
                }
                Admission::Refused(work) => {
                    not_run.push(work, Err(OpError::Cancelled));
                    return None;
                }
            }
        }
        let class = Class::of(pick.committed);
        Some((device, class, self.stage(now, work)))
    }

    /// The same for the lane that the arbiter picked, and for what follows there on credit.
    #[inline(never)]
    fn admit_some(
        &mut self,
        now: u64,
        pick: arbiter::Pick,
        not_run: &mut Completed,
    ) -> Option<(u16, Class, Staged)> {
        let (device, class, mut staged) = self.admit(now, pick, not_run)?;
        while pick.charged_ns > 0
            && !staged.full
            && let Some(pick) = self.credit(now, pick, class, staged)
            && let Some(more) = self.admit(now, pick, not_run)
        {
            staged = more.2;
        }
        Some((device, class, staged))
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
        let lane = self.lanes.get_mut(pick.lane).and_then(Option::as_mut)?;
        let next = lane.requests.peek()?.request();
        let device = self.routes.first(next)?;
        if (device, next.op, next.session.class.id()) != key || lane.port.is_closed() {
            return None;
        }
        let cost = Cost::of(next);
        let share = self.shares[pick.share].as_mut()?;
        if !share.credit(now, &cost, pick.committed) {
            return None;
        }
        let charged_ns = cost.ns.cast_unsigned();
        let background = share.terms.priority == Priority::Background;
        self.arbiter.account(&pick, charged_ns, background);
        Some(arbiter::Pick { charged_ns, ..pick })
    }

    /// Stages a request of an ordered session whose turn has come.
    ///
    /// # Errors
    /// The work, when its instance is closing.
    pub(crate) fn stage_next(&mut self, now: u64, work: Work) -> Result<(), Work> {
        if self.lane(work.ticket.port).is_none_or(|l| l.port.is_closed()) {
            return Err(work);
        }
        self.stage(now, work);
        Ok(())
    }

    /// Stages the next step of a chain, and charges it: its tenant may go into debt.
    ///
    /// # Errors
    /// The work, and why it cannot run.
    pub(crate) fn stage_step(&mut self, now: u64, mut work: Work) -> Result<(), (Work, OpError)> {
        let Some(lane) = self.lane(work.ticket.port).filter(|l| !l.port.is_closed()) else {
            return Err((work, OpError::Cancelled));
        };
        let share = lane.share;
        let Some(device) = self.routes.first(work.request()) else {
            return Err((work, OpError::Unsupported));
        };
        work.device = device;
        let cost = Cost::of(work.request());
        if let Some(share) = &mut self.shares[share]
            && (work.charged_ns > 0 || share.terms.has_rates())
        {
            work.charged_ns = cost.ns.cast_unsigned();
            match work.committed {
                true => share.terms.pay(&cost, now),
                false => share.charge(now, &cost),
            }
        }
        self.stage(now, work);
        Ok(())
    }

    /// Stages a request that its device did not do for the next device of the route.
    ///
    /// # Errors
    /// The work, when there is none.
    pub(crate) fn reroute(&mut self, now: u64, mut work: Work, why: Rerouted) -> Result<(), Work> {
        let r = work.request();
        let next = match r.is_bound() {
            true => None,
            false => self.routes.next(r, work.device),
        };
        match next {
            Some(device) => {
                probes::rerouted(&work, why);
                work.device = device;
                self.stage(now, work);
                Ok(())
            }
            None => Err(work),
        }
    }

    /// When something becomes due that no doorbell announces.
    fn next_time(&mut self, now: u64, only: Option<Class>) -> Option<u64> {
        let due = self.committed.next_due_ns();
        if only.is_some() {
            let (shares, lanes) = (&mut self.shares[..], &mut self.lanes);
            let admitted = Arbiter::next_committed_ns(now, shares, lanes);
            return due.into_iter().chain(admitted).min().map(|t| t.max(now));
        }
        let due = due.into_iter().chain(self.weighted.next_due_ns()).min();
        let allowed = Arbiter::next_allowed_ns(now, &mut self.shares, &mut self.lanes);
        // No look in between is needed: until then a bucket holds less than that request's cost, so it
        // cannot overflow.
        let allowed = allowed.map(|t| t.max(now));
        due.into_iter().chain(allowed).min()
    }
}

impl Lane {
    /// A request of this stream waits for its turn, in the stream's own queue.
    fn remember(&mut self, session: &Arc<Session>) {
        let session = Arc::downgrade(session);
        if self.streams.last().is_some_and(|last| last.ptr_eq(&session)) {
            return;
        }
        if self.streams.len() >= QUEUES.max(2 * self.live) {
            self.streams.sort_unstable_by_key(|s| s.as_ptr().addr());
            self.streams.dedup_by(|a, b| a.ptr_eq(b));
            self.streams.retain(|s| s.strong_count() > 0);
            self.live = self.streams.len();
        }
        self.streams.push(session);
    }
}

/// Puts a value into the first free place.
fn put<T>(places: &mut Vec<Option<T>>, value: T) -> usize {
    let free = places.iter().position(Option::is_none);
    let place = free.unwrap_or(places.len());
    if place == places.len() {
        places.push(None);
    }
    places[place] = Some(value);
    place
}

/// Moves what was cancelled, or whose time is over, from a batch to the requests that do not run.
#[cold]
pub(crate) fn expire(now: u64, batch: &mut VecDeque<Work>, not_run: &mut Completed) {
    for _ in 0..batch.len() {
        let Some(work) = batch.pop_front() else { return };
        match work.is_over(now) {
            Some(why) => not_run.push(work, Err(why)),
            None => batch.push_back(work),
        }
    }
}
