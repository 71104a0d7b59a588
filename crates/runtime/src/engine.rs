//! An engine: takes batches from its scheduler, gives them to devices, delivers what they finish.
//! A pure machine that is told the time; it never sleeps and reads no clock.

use std::{
    collections::VecDeque,
    ops::{Deref, DerefMut},
    os::fd::BorrowedFd,
    sync::{Arc, Mutex, MutexGuard},
};

use lookaside_core::{
    Batch, Channel, Completed, Done, Limits, Lost, OpError, Status, Wake, Work,
    probes::{self, Rerouted},
};

use crate::{
    clock::Clock,
    counters::Shard,
    doorbell::Doorbell,
    event,
    scheduler::{self, Class, Pick, PortEntry, Scheduler, Settled, Settlement},
};

/// What the engines of one runtime (or the one engine of an instance) share.
pub(crate) struct Shared {
    pub(crate) scheduler: Mutex<Scheduler>,
    pub(crate) doorbell: Doorbell,
    /// Wakes the engine for commitments.
    pub(crate) express: Doorbell,
}

impl Shared {
    pub(crate) fn new(scheduler: Scheduler) -> Shared {
        let (doorbell, express) = (Doorbell::new(), Doorbell::new());
        Shared { scheduler: Mutex::new(scheduler), doorbell, express }
    }

    /// An instance has gone, and so have its requests.
    pub(crate) fn detach(&self, place: u32) {
        if let Ok(mut scheduler) = self.scheduler.lock() {
            scheduler.detach(place);
        }
        // Engines keep the port, and with it an event fd, until they look at their table again.
        self.doorbell.ring_all();
    }

    /// [`Scheduler::cancel`]; wakes an engine to answer.
    pub(crate) fn cancel(&self, place: u32, tag: u64) -> usize {
        let count = self.scheduler.lock().map_or(0, |mut s| s.cancel(place, tag));
        if count > 0 {
            self.doorbell.ring();
        }
        count
    }

    /// Wakes an engine, if one sleeps; where none does, and a request may be `committed`, the engine
    /// for commitments.
    pub(crate) fn ring(&self, committed: bool) {
        if !self.doorbell.ring() && committed {
            self.express.ring();
        }
    }
}

/// What one [`Engine::step`] came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Whether anything moved: call again at once.
    pub progress: bool,
    /// Requests that devices hold.
    pub in_flight: usize,
    /// When the next step has something to do without a doorbell, if ever.
    pub until_ns: Option<u64>,
    /// A device cannot say when it will have finished something: step again and again.
    pub spin: bool,
}

/// What became of a request for [`Engine::run_only`].
pub(crate) enum Ran {
    /// It was executed.
    Here(Work),
    /// It is to be pushed.
    Not(Work),
    /// Its device did not do it: it is answered by a later step.
    Held,
}

/// A device's channel, and what to heed with that device.
pub(crate) type OpenChannel = (Box<dyn Channel>, Limits);

/// Learns what requests that finished together cost, and what their instances are still to be charged
/// of the time that they took.
fn settle(completed: &Completed, took_ns: u64, settlements: &mut Vec<Settlement>) {
    let charged: u64 = completed.iter().map(|w| w.charged_ns).sum();
    if charged == 0 {
        return;
    }
    let scale = took_ns as f64 / charged as f64;
    for work in completed.iter().filter(|w| w.charged_ns > 0) {
        let request = work.request();
        let ns = (work.charged_ns as f64 * scale) as u64;
        request.session.class.costs().learn(request.op, request.size(), ns);
        let more_ns = ns.cast_signed().saturating_sub(work.charged_ns.cast_signed());
        let of = Settled::with(work);
        match settlements.last_mut().filter(|s| s.of == of) {
            Some(last) => {
                last.more_ns = last.more_ns.saturating_add(more_ns);
                last.took_ns = last.took_ns.saturating_add(ns);
            }
            None => settlements.push(Settlement { of, more_ns, took_ns: ns }),
        }
    }
}

/// How long after a device refused requests, although it holds none, they are offered again.
const REFUSED_NS: u64 = 50_000;

/// A device's channel, and what is offered to it and not taken.
struct Access {
    channel: Box<dyn Channel>,
    backlog: VecDeque<Work>,
    /// How many requests the channel has taken and not handed back.
    held: usize,
    limits: Limits,
    /// When the channel last took or handed back a request.
    moved_ns: u64,
    /// Since when the channel has taken nothing of its backlog.
    stalled_ns: Option<u64>,
    /// When the requests in the channel began, for the busy time.
    busy_since_ns: u64,
}

/// Where an engine's requests come from and its answers go to.
enum Home {
    /// It shares a scheduler with others, and answers through ports.
    Shared { shared: Arc<Shared>, ports: Vec<PortEntry>, version: u64 },
    /// It is the only one, within the instance whose requests it executes: nobody else sees the
    /// scheduler, and the owner takes the answers from [`Engine::take_finished`].
    Own(Box<Scheduler>),
}

/// The scheduler, in the hands of one engine.
enum Held<'a> {
    Locked(MutexGuard<'a, Scheduler>),
    Own(&'a mut Scheduler),
}

impl Home {
    /// Whether it matters how long requests take.
    fn settles(&self) -> bool {
        match self {
            Home::Shared { .. } => true,
            Home::Own(scheduler) => scheduler.meters(),
        }
    }

    /// `None` after a panic of another engine that held it.
    fn scheduler(&mut self) -> Option<Held<'_>> {
        match self {
            Home::Own(scheduler) => Some(Held::Own(scheduler)),
            Home::Shared { shared, .. } => shared.scheduler.lock().ok().map(Held::Locked),
        }
    }
}

impl Deref for Held<'_> {
    type Target = Scheduler;

    fn deref(&self) -> &Scheduler {
        match self {
            Held::Locked(scheduler) => scheduler,
            Held::Own(scheduler) => scheduler,
        }
    }
}

impl DerefMut for Held<'_> {
    fn deref_mut(&mut self) -> &mut Scheduler {
        match self {
            Held::Locked(scheduler) => scheduler,
            Held::Own(scheduler) => scheduler,
        }
    }
}

/// One engine. A runtime with engine threads steps its engines itself; one that was started with
/// [`crate::Builder::start_stepped`] hands them out, for simulation or for a caller's own loop.
pub struct Engine {
    home: Home,
    devices: Vec<Access>,
    counters: Arc<Shard>,
    completed: Completed,
    not_run: Completed,
    batch: VecDeque<Work>,
    /// What a device has executed within the last step.
    ran: Option<Work>,
    /// Finished requests of one instance, and which.
    outbox: VecDeque<Work>,
    addressee: (u32, u32),
    /// Ports with replies that have not been told.
    touched: Vec<u32>,
    stall_ns: u64,
    /// What it serves, if not everything.
    only: Option<Class>,
    /// What instances are still to be charged.
    settlements: Vec<Settlement>,
}

impl Engine {
    pub(crate) fn new(
        shared: Arc<Shared>,
        channels: Vec<OpenChannel>,
        counters: Arc<Shard>,
        stall_ns: u64,
    ) -> Engine {
        let home = Home::Shared { shared, ports: Vec::new(), version: 0 };
        Engine::at(home, channels, counters, stall_ns)
    }

    /// An engine of one instance, which has its scheduler to itself.
    pub(crate) fn own(
        scheduler: Scheduler,
        channels: Vec<OpenChannel>,
        counters: Arc<Shard>,
        stall_ns: u64,
    ) -> Engine {
        Engine::at(Home::Own(Box::new(scheduler)), channels, counters, stall_ns)
    }

    fn at(home: Home, channels: Vec<OpenChannel>, counters: Arc<Shard>, stall_ns: u64) -> Engine {
        const ROOM: usize = 64;
        let access = |(channel, limits)| Access {
            channel,
            backlog: VecDeque::with_capacity(ROOM),
            held: 0,
            limits,
            moved_ns: 0,
            stalled_ns: None,
            busy_since_ns: 0,
        };
        Engine {
            home,
            devices: channels.into_iter().map(access).collect(),
            counters,
            completed: Completed::with_capacity(ROOM),
            not_run: Completed::with_capacity(ROOM),
            batch: VecDeque::with_capacity(ROOM),
            ran: None,
            outbox: VecDeque::with_capacity(ROOM),
            addressee: (0, 0),
            touched: Vec::with_capacity(ROOM),
            stall_ns,
            only: None,
            settlements: Vec::with_capacity(ROOM),
        }
    }

    /// The same engine, for requests that are served by commitments alone. So they need not wait
    /// until one of the others has finished a long request: the operating system runs a thread that
    /// wakes up beside, or before, one that works.
    pub(crate) fn express(mut self) -> Engine {
        self.only = Some(Class::Committed);
        self
    }

    /// Delivers what devices have finished, then gives one batch to a device. `now_ns` never
    /// decreases from one call to the next. Does not block.
    pub fn step(&mut self, now_ns: u64) -> Step {
        let mut progress = self.collect(now_ns);
        progress |= self.retry(now_ns);
        // Before the next batch is picked: while this engine does that, the owners can push again.
        // (Measured with empty requests: 210 ns each so, 540 when told only after the pick.)
        self.notify();
        let pick = match self.accepting() {
            Some(accepts) if self.run_lone(now_ns, accepts) => {
                let in_flight = self.in_flight();
                return Step { progress: true, in_flight, until_ns: None, spin: false };
            }
            Some(accepts) => self.pick(now_ns, accepts),
            None => Pick::Nothing { until_ns: None },
        };
        let answered = self.answer_not_run(now_ns);
        if answered {
            // Before the batch is submitted: a device may execute all of it within `submit`.
            self.notify();
        }
        let until_ns = match pick {
            Pick::Batch { more } => {
                // An answer may have given a stream's next request its turn.
                if let Home::Shared { shared, .. } = &self.home
                    && (more || answered)
                {
                    shared.ring(false);
                }
                self.submit(now_ns);
                progress = true;
                None
            }
            Pick::Nothing { until_ns } => until_ns,
        };
        progress |= answered;
        let in_flight = self.in_flight();
        let mut step = Step { progress, in_flight, until_ns, spin: false };
        if !progress && in_flight > 0 {
            self.expect(now_ns, &mut step);
        }
        step
    }

    /// When devices will have something for the next step: for one that made no progress.
    fn expect(&self, now: u64, step: &mut Step) {
        let mut until = step.until_ns.unwrap_or(u64::MAX);
        for access in &self.devices {
            if access.held > 0 {
                match access.channel.wake() {
                    Wake::Now => step.spin = true,
                    Wake::At(ns) => until = until.min(ns),
                    Wake::Event | Wake::Never => {}
                }
                if let Some(timeout_ns) = access.limits.timeout_ns {
                    until = until.min(access.moved_ns.saturating_add(timeout_ns));
                }
            } else if !access.backlog.is_empty() {
                // It refuses although it holds nothing: nothing tells when it will take some again.
                until = until.min(now.saturating_add(REFUSED_NS));
            }
        }
        step.until_ns = Some(until).filter(|&ns| ns < u64::MAX);
    }

    /// Before the engine's thread sleeps or ends.
    pub(crate) fn idle(&mut self) {
        self.devices.iter_mut().for_each(|d| d.channel.idle());
    }

    /// The file descriptors that are readable when a device has finished something.
    pub(crate) fn event_fds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.devices.iter().filter_map(|d| d.channel.event_fd())
    }

    /// Whether all devices that hold requests signal a file descriptor when they have finished some.
    pub(crate) fn sleeps_for_event(&self) -> bool {
        let mut busy = self.devices.iter().filter(|d| d.held > 0).peekable();
        busy.peek().is_some() && busy.all(|d| d.channel.wake() == Wake::Event)
    }

    /// Whether a device may answer later than it was given a request.
    pub(crate) fn is_asynchronous(&self) -> bool {
        self.devices.iter().any(|d| d.limits.timeout_ns.is_some() || d.channel.event_fd().is_some())
    }

    /// Sleeps after a step without progress until the next one can make some, or until `deadline`. For
    /// callers whom no doorbell wakes.
    pub(crate) fn rest(&self, step: &Step, now: u64, deadline: u64, clock: &dyn Clock) {
        if step.spin {
            return std::thread::yield_now();
        }
        let until = step.until_ns.unwrap_or(deadline).clamp(now + 1, deadline.max(now + 1));
        let mut fds = self.event_fds().peekable();
        match step.in_flight > 0 && fds.peek().is_some() {
            true => {
                event::await_any(None, fds, Some(core::time::Duration::from_nanos(until - now)))
            }
            false => clock.sleep_ns(until - now),
        }
    }

    /// How many requests devices hold, or are to.
    fn in_flight(&self) -> usize {
        let held: usize = self.devices.iter().map(|d| d.held + d.backlog.len()).sum();
        held + usize::from(self.ran.is_some())
    }

    /// With a scheduler of its own: has a device execute a request that needs neither arbiter nor
    /// batcher, without a way through queues. The next step answers it, or
    /// [`Engine::deliver_finished`]. Returns whether there was one.
    fn run_lone(&mut self, now: u64, accepts: u64) -> bool {
        let Home::Own(scheduler) = &mut self.home else { return false };
        let Some(mut work) = scheduler.lone(now, accepts) else { return false };
        let (device, op) = (work.device, work.request().op);
        let access = &mut self.devices[usize::from(device)];
        if access.held > 0 || !access.channel.run_now(&mut work) {
            access.backlog.push_back(work);
            self.offer(device, now);
            return true;
        }
        access.busy_since_ns = now;
        self.counters.submitted(device, op, 1, 1);
        self.ran = Some(work);
        true
    }

    /// The same for a request that is in no ring, of an instance that has no other.
    // Inlined so that it is compiled, and its probes listed, only in programs that use it.
    #[inline]
    pub(crate) fn run_only(&mut self, mut work: Work, now: u64, clock: &dyn Clock) -> Ran {
        let Home::Own(scheduler) = &mut self.home else { return Ran::Not(work) };
        let Some(device) = scheduler.only(&work) else { return Ran::Not(work) };
        let access = &mut self.devices[usize::from(device)];
        if access.held > 0 || !access.backlog.is_empty() {
            return Ran::Not(work);
        }
        (work.device, work.taken_ns) = (device, now);
        probes::pushed(&work);
        probes::begun(&work, 1);
        if !access.channel.run_now(&mut work) {
            return Ran::Not(work);
        }
        let (op, done_ns) = (work.request().op, clock.now_ns());
        self.counters.submitted(device, op, 1, 1);
        self.counters.busy(device, op, done_ns.saturating_sub(now));
        if let Err(OpError::DeviceLost(_)) = *work.result() {
            self.finish(work, done_ns);
            return Ran::Held;
        }
        self.counters.answered(&work, done_ns);
        Ran::Here(work)
    }

    /// The first part of [`Engine::step`] alone: delivers what devices have finished. Returns
    /// whether that was something.
    pub(crate) fn deliver_finished(&mut self, now_ns: u64) -> bool {
        let progress = self.collect(now_ns);
        if progress {
            self.notify();
        }
        progress
    }

    fn pick(&mut self, now: u64, accepts: u64) -> Pick {
        let Engine { home, batch, not_run, only, settlements, .. } = self;
        match home {
            Home::Own(scheduler) => {
                scheduler.settle(settlements);
                scheduler.next_batch(now, accepts, *only, batch, not_run)
            }
            Home::Shared { shared, ports, version } => {
                let Ok(mut scheduler) = shared.scheduler.lock() else {
                    return Pick::Nothing { until_ns: None };
                };
                scheduler.settle(settlements);
                let pick = scheduler.next_batch(now, accepts, *only, batch, not_run);
                scheduler.refresh(version, ports);
                pick
            }
        }
    }

    /// The instance that this engine is for is going.
    pub(crate) fn detach(&mut self, place: u32) {
        if let Some(mut scheduler) = self.home.scheduler() {
            scheduler.detach(place);
        }
    }

    /// How many answers there are for the owner of this engine.
    #[inline]
    pub(crate) fn finished(&self) -> usize {
        self.outbox.len()
    }

    /// [`Scheduler::cancel`], of an engine that one instance has to itself.
    pub(crate) fn cancel(&mut self, place: u32, tag: u64) -> usize {
        let cancel = |w: &mut Work| usize::from(w.request().tag == tag && w.cancel());
        let refused =
            self.devices.iter_mut().flat_map(|d| &mut d.backlog).map(cancel).sum::<usize>();
        self.home.scheduler().map_or(0, |mut s| s.cancel(place, tag)) + refused
    }

    /// The oldest answer, of an engine that one instance has to itself.
    #[inline]
    pub(crate) fn take_finished(&mut self) -> Option<Work> {
        self.outbox.pop_front()
    }

    /// The devices without a backlog, as a bit set; `None` when all have one.
    fn accepting(&self) -> Option<u64> {
        let free = |set, (i, d): (usize, &Access)| set | u64::from(d.backlog.is_empty()) << i;
        Some(self.devices.iter().enumerate().fold(0, free)).filter(|&set| set != 0)
    }

    /// Gives the picked batch to its device.
    fn submit(&mut self, now: u64) {
        let Some(device) = self.batch.front().map(|w| w.device) else { return };
        let access = &mut self.devices[usize::from(device)];
        core::mem::swap(&mut access.backlog, &mut self.batch);
        self.offer(device, now);
    }

    /// Offers a device its backlog. Returns whether it took something.
    fn offer(&mut self, device: u16, now: u64) -> bool {
        let access = &mut self.devices[usize::from(device)];
        let mut batch = Batch::new(&mut access.backlog);
        let Some(op) = batch.op() else { return false };
        if access.held == 0 {
            access.busy_since_ns = now;
        }
        let offered = batch.len();
        access.channel.submit(now, &mut batch);
        let taken = offered - access.backlog.len();
        if taken > 0 {
            access.moved_ns = now;
        }
        access.held += taken;
        self.counters.submitted(device, op, offered, taken);
        if taken < offered {
            probes::busy(op, device, offered, taken);
        }
        access.stalled_ns = match taken < offered {
            true if taken == 0 => access.stalled_ns.or(Some(now)),
            true => Some(now),
            false => None,
        };
        taken > 0
    }

    /// Offers every backlog again; what a device has refused for too long goes elsewhere.
    fn retry(&mut self, now: u64) -> bool {
        let mut progress = false;
        for device in 0..self.devices.len() as u16 {
            if self.devices[usize::from(device)].backlog.is_empty() {
                continue;
            }
            let access = &mut self.devices[usize::from(device)];
            if access.backlog.iter().any(|w| w.until_ns <= now) {
                scheduler::expire(now, &mut access.backlog, &mut self.not_run);
                if access.backlog.is_empty() {
                    // What it is offered next it has not refused.
                    access.stalled_ns = None;
                    continue;
                }
            }
            progress |= self.offer(device, now);
            let access = &self.devices[usize::from(device)];
            if access.stalled_ns.is_none_or(|t| now.saturating_sub(t) < self.stall_ns) {
                continue;
            }
            // It may still be working on what it took; only then is there reason to wait on.
            let idle = access.held == 0;
            for _ in 0..access.backlog.len() {
                let Some(work) = self.devices[usize::from(device)].backlog.pop_front() else {
                    break;
                };
                match self.reroute(work, now, Rerouted::Busy) {
                    Ok(()) => progress = true,
                    Err(mut work) if idle => {
                        work.lose(Lost::Untouched);
                        self.answer(work, now);
                        progress = true;
                    }
                    Err(work) => self.devices[usize::from(device)].backlog.push_back(work),
                }
            }
            self.devices[usize::from(device)].stalled_ns = None;
        }
        progress
    }

    /// Takes what the devices have finished.
    #[inline(always)]
    fn collect(&mut self, now: u64) -> bool {
        let ran = self.ran.take().map(|work| self.finish_run(work, now)).is_some();
        let held = self.devices.iter().any(|d| d.held > 0);
        (held && self.collect_held(now)) | ran
    }

    fn finish_run(&mut self, work: Work, now: u64) {
        let since = self.devices[usize::from(work.device)].busy_since_ns;
        self.counters.busy(work.device, work.request().op, now.saturating_sub(since));
        self.finish(work, now);
    }

    fn collect_held(&mut self, now: u64) -> bool {
        let mut progress = false;
        for device in 0..self.devices.len() {
            let access = &mut self.devices[device];
            if access.held == 0 {
                continue;
            }
            if access.channel.poll(now, &mut self.completed) == 0 {
                let silent = now.saturating_sub(access.moved_ns);
                if access.limits.timeout_ns.is_none_or(|timeout| silent < timeout) {
                    continue;
                }
                access.channel.reset(&mut self.completed);
                self.counters.reset();
                access.held = self.completed.len();
            }
            progress = true;
            access.moved_ns = now;
            access.held = access.held.saturating_sub(self.completed.len());
            let since = core::mem::replace(&mut access.busy_since_ns, now);
            if self.home.settles() {
                settle(&self.completed, now.saturating_sub(since), &mut self.settlements);
            }
            let mut op = None;
            while let Some(work) = self.completed.pop() {
                op = Some(work.request().op);
                self.finish(work, now);
            }
            if let Some(op) = op {
                self.counters.busy(device as u16, op, now.saturating_sub(since));
            }
        }
        progress
    }

    /// Answers a finished request, or sends it to another device when its own failed.
    fn finish(&mut self, work: Work, now: u64) {
        match *work.result() {
            Err(OpError::DeviceLost(lost)) => self.finish_lost(work, lost, now),
            // Not bound here: the result would be copied, a moment after it was stored in other pieces.
            Ok(_) if work.has_next() => self.next_step(work, now),
            _ => self.answer(work, now),
        }
    }

    /// Nothing runs twice: what a device may have touched goes to another one only if the first
    /// execution cannot be told from none.
    #[cold]
    fn finish_lost(&mut self, work: Work, lost: Lost, now: u64) {
        let again = lost == Lost::Untouched || work.request().may_run_again();
        let refused = match again {
            true => self.reroute(work, now, lost.into()).err(),
            false => Some(work),
        };
        if let Some(mut work) = refused {
            work.lose(lost);
            self.answer(work, now);
        }
    }

    /// A step of a chain is done: stages the next one, as a request with the same ticket.
    #[cold]
    fn next_step(&mut self, mut work: Work, now: u64) {
        self.counters.answered(&work, now);
        let Ok(done) = *work.result() else { return self.deliver(work) };
        let advanced = work.advance(done);
        work.pushed_ns = now;
        let staged = match (advanced, self.home.scheduler()) {
            (Ok(()), Some(mut scheduler)) => scheduler.stage_step(now, work),
            (Ok(()), None) => Err((work, OpError::Cancelled)),
            (Err(e), _) => Err((work, e)),
        };
        if let Err((mut work, e)) = staged {
            work.finish(Err(e));
            work.fail_packets();
            self.counters.not_run(&work);
            self.deliver(work);
        }
    }

    /// Stages a request for the next device of its route.
    ///
    /// # Errors
    /// The work, when there is none, or its state belongs to one device.
    fn reroute(&mut self, work: Work, now: u64, why: Rerouted) -> Result<(), Work> {
        let (device, op) = (work.device, work.request().op);
        let Some(mut scheduler) = self.home.scheduler() else { return Err(work) };
        scheduler.reroute(now, work, why)?;
        self.counters.rerouted(device, op);
        Ok(())
    }

    fn answer(&mut self, work: Work, now: u64) {
        self.counters.answered(&work, now);
        match work.holds_turn {
            false => self.deliver(work),
            true => {
                let overflow = |d: &Done| d.status == Status::Overflow;
                let broken = work.result().as_ref().map_or(true, overflow);
                self.answer_ordered(work, broken, now);
            }
        }
    }

    /// Answers a request of an ordered session and lets the next one have its turn.
    fn answer_ordered(&mut self, mut work: Work, broken: bool, now: u64) {
        let session = work.request().session.clone();
        let Some(order) = &session.order else { return self.deliver(work) };
        if broken {
            work.advances_to = order.break_off(work.epoch);
        }
        loop {
            self.deliver(work);
            // Sent before the turn goes on: another engine may have the next answer at once.
            self.send();
            match order.next() {
                None => return,
                Some((next, runs)) => {
                    let staged = match self.home.scheduler() {
                        Some(mut scheduler) if runs => scheduler.stage_next(now, next),
                        _ => Err(next),
                    };
                    let Err(mut next) = staged else { return };
                    next.finish(Err(OpError::Cancelled));
                    next.fail_packets();
                    self.counters.not_run(&next);
                    work = next;
                }
            }
        }
    }

    /// Answers the requests that the scheduler could not let run.
    fn answer_not_run(&mut self, now: u64) -> bool {
        let any = !self.not_run.is_empty();
        while let Some(mut work) = self.not_run.pop() {
            self.counters.not_run(&work);
            work.fail_packets();
            match work.holds_turn {
                false => self.deliver(work),
                // What waits behind a piece that was to run would go on without it.
                true => {
                    let broken = work.is_over(now).is_some();
                    self.answer_ordered(work, broken, now);
                }
            }
        }
        any
    }

    /// Puts a finished request among those to be delivered to its instance, together.
    fn deliver(&mut self, work: Work) {
        let (place, generation) = (work.ticket.port, work.ticket.generation);
        if let Home::Own(_) = self.home {
            return self.outbox.push_back(work);
        }
        if self.addressee != (place, generation) {
            self.send();
            self.addressee = (place, generation);
        }
        self.outbox.push_back(work);
    }

    /// Delivers the outbox, unless its owner takes from it.
    fn send(&mut self) {
        let Home::Shared { shared, ports, version } = &mut self.home else { return };
        if self.outbox.is_empty() {
            return;
        }
        let (place, generation) = self.addressee;
        let known = |ports: &[PortEntry]| matches!(ports.get(place as usize), Some(Some((g, _))) if *g == generation);
        if !known(ports) {
            // Another engine admitted it, from an instance that is younger than this table.
            if let Ok(scheduler) = shared.scheduler.lock() {
                scheduler.refresh(version, ports);
            }
        }
        // It cannot have gone: a port outlives its requests, if not its instance.
        if let Some(Some((_, port))) = ports.get(place as usize) {
            port.deliver(&mut self.outbox);
            if !self.touched.contains(&place) {
                self.touched.push(place);
            }
        }
    }

    #[inline(always)]
    fn notify(&mut self) {
        if let Home::Shared { .. } = self.home {
            self.tell();
        }
    }

    fn tell(&mut self) {
        self.send();
        let Home::Shared { shared, ports, .. } = &self.home else { return };
        for place in self.touched.drain(..) {
            if let Some(Some((_, port))) = ports.get(place as usize)
                && port.notify()
            {
                // Its instance has gone and left the rest to the engines.
                shared.detach(place);
            }
        }
    }

    pub(crate) fn counters(&self) -> &Arc<Shard> {
        &self.counters
    }
}
