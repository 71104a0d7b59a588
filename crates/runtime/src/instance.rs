//! An instance: one request ring and one response ring, owned by one thread at a time.

mod link;
mod run;
mod seam;
mod split;

use core::{fmt, time::Duration};
use std::os::fd::{AsFd, BorrowedFd};

use lookaside_core::{Lost, OpError, Request, Response, SetupError, Work, probes};

use crate::{
    clock::Clock,
    doorbell::Notice,
    fork,
    patience::Patience,
    port::{self, Sink},
    ring::reply_ring,
    sla::{Priority, Sla},
    tenant::Tenant,
};

pub(crate) use link::Outlet;
use link::{Executor, Link, make_slots};
pub use split::{Polled, Poller, PushError, Submitter, Unrelated};

/// The settings of an instance, or of a [`Tenant`] with several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceConfig {
    /// How many requests may be outstanding, 1 to 65,536.
    pub depth: usize,
    /// How many more may be: instead of being refused by a full ring, they spill into memory that is
    /// allocated then and freed once nothing is outstanding, and run in their turn. 0 to 65,536; each takes
    /// 24 bytes from the beginning and a slot of some hundred bytes while it is outstanding.
    pub spill: usize,
    /// The share in weighted round robin, 1 to 1,000.
    pub weight: u32,
    /// Whether it is served before or behind others, whatever the weights.
    pub priority: Priority,
    /// Promised rates: at most one for each service, and one for all others.
    pub slas: Vec<Sla>,
}

impl Default for InstanceConfig {
    /// 64 requests and none beyond, weight 1, normal priority, no promise.
    fn default() -> Self {
        let (priority, slas) = (Priority::Normal, Vec::new());
        InstanceConfig { depth: 64, spill: 0, weight: 1, priority, slas }
    }
}

impl InstanceConfig {
    pub(crate) fn validate(&self) -> Result<(), SetupError> {
        SetupError::check("instance depth in requests", self.depth as u64, 1..=65_536)?;
        SetupError::check("requests that spill", self.spill as u64, 0..=65_536)?;
        SetupError::check("instance weight", u64::from(self.weight), 1..=1000)?;
        Sla::validate_all(&self.slas)
    }
}

/// The ring was full: the request comes back. Poll, then push again.
#[derive(Debug)]
pub struct Full(pub Request);

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the ring is full")
    }
}

impl std::error::Error for Full {}

/// One request ring and one response ring. Push, ring the doorbell, poll.
///
/// An instance belongs to one thread at a time (`Send`, not `Sync`); [`Instance::split`] makes two halves
/// for two threads. After a `fork` the child's copy is empty and works; what was outstanding is answered
/// in the parent.
///
/// Dropping an instance closes it:
/// * What no engine has taken is cancelled, and its buffers are free.
/// * What an engine works on is left to it, and its buffers are freed when it has finished: closing takes
///   microseconds.
/// * If an engine has ever taken memory from this instance that somebody else keeps alive
///   ([`lookaside_core::Buf::foreign`]), closing waits for what engines work on, since that memory is
///   the caller's again afterwards. No engine interrupts a request: at level 12 that is 50 to 200 ms for each
///   MB of the source, at level 6 under 10 (libdeflate, AMD EPYC, November 2026).
/// * With 0 engines nothing runs at that moment, unless a device works beside the CPU: closing waits for
///   that device, or until it is reset.
///
/// The last instance of a runtime that was dropped before ends its engines too: see [`crate::Runtime`].
pub struct Instance {
    tenant: Tenant,
    generation: u32,
    link: Link,
    outstanding: usize,
    /// Answered here, because nothing else can: see `Instance::revive`.
    refused: Vec<Response>,
    /// Why there are no engines in this child process.
    lost: Option<SetupError>,
    /// With 0 engines, after a poll that found nothing: when the next one can find something,
    /// because a rate limit holds all requests back until then.
    due_ns: Option<u64>,
    patience: Patience,
    _not_sync: core::marker::PhantomData<core::cell::Cell<()>>,
}

impl Instance {
    pub(crate) fn open(tenant: Tenant) -> Result<Instance, SetupError> {
        let link = Link::open(&tenant)?;
        Ok(Instance {
            generation: fork::generation(),
            link,
            outstanding: 0,
            refused: Vec::new(),
            lost: None,
            due_ns: None,
            patience: tenant.inner().patience(),
            tenant,
            _not_sync: core::marker::PhantomData,
        })
    }

    /// Opens another instance of the same [`Tenant`]: it shares this one's weight and rates. It uses
    /// nothing of this one that changes: in a child process, this one may be a copy made in the middle
    /// of a call of another thread.
    ///
    /// # Errors
    /// As [`crate::Runtime::instance`].
    pub fn another(&self) -> Result<Instance, SetupError> {
        self.tenant.instance()
    }

    fn clock(&self) -> &dyn Clock {
        &*self.tenant.inner().clock
    }

    /// How many requests fit now.
    pub fn free(&self) -> usize {
        self.tenant.most() - self.outstanding()
    }

    /// How many requests have been pushed and their responses not taken.
    pub fn outstanding(&self) -> usize {
        // What is outstanding in a parent process is not here.
        if fork::generation() == self.generation { self.outstanding } else { 0 }
    }

    /// Puts a request into the ring; the engines see it at the next doorbell. Does not block or wake, and
    /// allocates only for a request that spills ([`InstanceConfig::spill`]).
    ///
    /// # Errors
    /// [`Full`] with the request when [`Instance::free`] is 0.
    // Always inlined, as taking a response is: a request is then built within its slot, and a response taken
    // apart there. Each copy of its 128 bytes would load what was stored in other pieces a moment
    // before, which waits until everything stored before that, texts too, has left the core.
    #[inline(always)]
    pub fn push(&mut self, request: Request) -> Result<(), Full> {
        if fork::generation() != self.generation || self.lost.is_some() {
            return self.push_unusual(Box::new(request), None);
        }
        let Some(mut work) = self.link.free.pop() else {
            return self.push_spilled(Box::new(request), None);
        };
        work.fill(request);
        match self.enqueue(work) {
            None => Ok(()),
            Some(work) => self.hand_back(work),
        }
    }

    /// As [`Instance::push`], with a deadline: if no device has begun with the request after this
    /// time, none will, and it is answered [`OpError::Expired`]. Of a chain that holds for each step.
    /// Such a request waits for no others to fill its batch. The answer comes in its turn: where others
    /// of the ring are before it, or all devices are busy, later than the deadline.
    ///
    /// # Errors
    /// As [`Instance::push`].
    pub fn push_within(&mut self, time: Duration, request: Request) -> Result<(), Full> {
        if fork::generation() != self.generation || self.lost.is_some() {
            return self.push_unusual(Box::new(request), Some(time));
        }
        let Some(mut work) = self.link.free.pop() else {
            return self.push_spilled(Box::new(request), Some(time));
        };
        work.fill(request);
        work.until_ns = deadline(self.clock(), time);
        match self.enqueue(work) {
            None => Ok(()),
            Some(work) => self.hand_back(work),
        }
    }

    /// Cancels the requests with this tag with which no engine has begun. Returns how many that were;
    /// each is answered [`OpError::Cancelled`], in its turn. What an engine has taken is executed: no
    /// engine interrupts a request.
    pub fn cancel(&mut self, tag: u64) -> usize {
        self.check_fork();
        let Link { outlet, executor, .. } = &mut self.link;
        outlet.publish();
        executor.cancel(outlet.place(), tag)
    }

    /// Puts a filled slot into the ring; hands it back when that is full.
    #[inline]
    fn enqueue(&mut self, work: Work) -> Option<Work> {
        let refused = self.link.outlet.push(work, &*self.tenant.inner().clock).err();
        self.outstanding += usize::from(refused.is_none());
        refused
    }

    #[cold]
    fn hand_back(&mut self, mut work: Work) -> Result<(), Full> {
        let request = work.take();
        self.link.free.push(work);
        request.map_or(Ok(()), |r| Err(Full(r)))
    }

    /// A push that finds no slot: the request spills, or is refused. Boxed as in `push_unusual`.
    #[cold]
    #[inline(never)]
    #[allow(clippy::boxed_local, reason = "see above")]
    fn push_spilled(
        &mut self,
        request: Box<Request>,
        within: Option<Duration>,
    ) -> Result<(), Full> {
        let Link { free, spare, .. } = &mut self.link;
        if !make_slots(free, spare, self.tenant.most()) {
            probes::full(request.op, self.tenant.most());
            return Err(Full(*request));
        }
        match within {
            None => self.push(*request),
            Some(time) => self.push_within(time, *request),
        }
    }

    /// The first push of a child process, and those of one without engines. Boxed: whatever takes the address
    /// of a request has it stored, and loaded again, on the usual way too.
    #[cold]
    #[inline(never)]
    #[allow(clippy::boxed_local, reason = "see above")]
    fn push_unusual(
        &mut self,
        request: Box<Request>,
        within: Option<Duration>,
    ) -> Result<(), Full> {
        if fork::generation() != self.generation {
            self.revive();
            return match within {
                None => self.push(*request),
                Some(time) => self.push_within(time, *request),
            };
        }
        if self.outstanding == self.tenant.most() {
            return Err(Full(*request));
        }
        let Request { tag, src, dst, carried, .. } = *request;
        let result = Err(OpError::DeviceLost(Lost::Untouched));
        self.refused.push(Response { tag, result, src, dst, carried });
        self.link.notice(Notice::signal_fd);
        self.outstanding += 1;
        Ok(())
    }

    /// Makes all pushed requests visible to the engines and wakes one if it sleeps. Returns how
    /// many requests that were. A system call only if an engine sleeps.
    pub fn doorbell(&mut self) -> usize {
        self.check_fork();
        let n = self.link.outlet.publish();
        if n > 0 {
            match &self.link.executor {
                Executor::Shared { shared, .. } => shared.ring(self.tenant.is_committed()),
                // The work is there to be done by poll: let the caller's event loop come back.
                Executor::Own(_) => _ = self.link.notice(Notice::signal_fd),
            }
        }
        n
    }

    /// The responses that are there. Never blocks for an engine; with 0 engines, this is where
    /// requests are executed, one batch whenever the iterator runs dry. An iterator that finds
    /// nothing rings the doorbell, asks for partial batches to run, and arms the event fd.
    pub fn poll(&mut self) -> Completions<'_> {
        self.check_fork();
        Completions { instance: self, found: false, patient: false }
    }

    /// As [`Instance::poll`], but leaves partial batches to their deadline, to `poll` or to
    /// `wait`: for a caller that knows that it will have more to submit.
    pub fn poll_full(&mut self) -> Completions<'_> {
        self.check_fork();
        Completions { instance: self, found: false, patient: true }
    }

    /// Waits until a response is there. Returns whether one is; `false` after `timeout`, or at
    /// once when nothing is outstanding. Rings the doorbell and asks for partial batches to run.
    /// With 0 engines, this thread executes requests meanwhile.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        self.wait_many(1, timeout)
    }

    /// As [`Instance::wait`], for `count` responses at once (at most as many as are outstanding):
    /// one wake-up for many. `false` when fewer than that are there after `timeout`.
    pub fn wait_many(&mut self, count: usize, timeout: Duration) -> bool {
        self.check_fork();
        let count = count.min(self.outstanding);
        if count == 0 || !self.refused.is_empty() {
            return !self.refused.is_empty();
        }
        self.flush();
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        match self.link.executor {
            Executor::Shared { .. } => self.await_engines(count, timeout_ns),
            Executor::Own(_) => self.execute(count, timeout_ns),
        }
    }

    /// Waits until engines have sent so many replies.
    fn await_engines(&mut self, count: usize, timeout_ns: u64) -> bool {
        let clock = &*self.tenant.inner().clock;
        let since = clock.now_ns();
        let mut now = since;
        let deadline = now.saturating_add(timeout_ns);
        let Link { outlet, executor, .. } = &self.link;
        let (Executor::Shared { replies, .. }, Sink::Ring { replies: sent, notice }) =
            (executor, &outlet.port().sink)
        else {
            return false;
        };
        let position = replies.position().wrapping_add(count);
        let missing = || position.wrapping_sub(sent.sent()).cast_signed() > 0;
        loop {
            if !missing() {
                // Sent, or being sent this instant.
                while !replies.are_ready(count) {
                    core::hint::spin_loop();
                }
                self.patience.found(now.saturating_sub(since));
                return true;
            }
            if now >= deadline {
                return false;
            }
            let idle_ns = now.saturating_sub(since);
            if idle_ns < self.patience.look_ns() {
                Patience::pause(idle_ns);
            } else {
                notice.wait(position, || sent.sent(), Duration::from_nanos(deadline - now));
            }
            now = clock.now_ns();
        }
    }

    /// With 0 engines: executes until so many requests are answered.
    fn execute(&mut self, count: usize, timeout_ns: u64) -> bool {
        let clock = &*self.tenant.inner().clock;
        let Executor::Own(engine) = &mut self.link.executor else { return false };
        if engine.finished() >= count {
            return true;
        }
        let mut now = clock.now_ns();
        let deadline = now.saturating_add(timeout_ns);
        // Even a wait of no time executes something: it could be called in a loop.
        let done = loop {
            let step = engine.step(now);
            if engine.finished() >= count {
                break true;
            }
            if !step.progress && now < deadline {
                // A device is at work, or a rate limit holds requests back.
                engine.rest(&step, now, deadline, clock);
            }
            now = clock.now_ns();
            // What is waited for may be finished: then there is no need to look for more work.
            engine.deliver_finished(now);
            if engine.finished() >= count {
                break true;
            }
            if now >= deadline {
                break false;
            }
        };
        if engine.finished() > 0 {
            self.link.notice(Notice::signal_fd);
        }
        done
    }

    /// Readable when responses are there (with 0 engines: when a poll has something to execute),
    /// after a poll that found nothing; for epoll, io_uring and event loops. Made at the first
    /// call; poll once before waiting on it. Not to be read: poll clears it. With 0 engines and a
    /// peak rate it is readable when that rate lets the next request run.
    ///
    /// # Errors
    /// When the operating system has no more file descriptors.
    pub fn event_fd(&mut self) -> Result<BorrowedFd<'_>, SetupError> {
        self.check_fork();
        let (Sink::Ring { notice, .. } | Sink::Own(notice)) = &self.link.outlet.port().sink else {
            return Err(SetupError::Os { what: "event fd", errno: libc::EBADF });
        };
        let had = notice.has_fd();
        let limited = self.tenant.terms().has_peak();
        let own = match &self.link.executor {
            Executor::Own(engine) if limited || engine.is_asynchronous() => Some(engine),
            _ => None,
        };
        let fd = notice
            .fd(own.map(|engine| engine.event_fds()))
            .map_err(|e| SetupError::Os { what: "event fd", errno: e.raw_os_error() })?;
        if !had {
            notice.arm_fd();
            if self.outstanding > 0 {
                notice.signal_fd();
            }
        }
        Ok(fd.as_fd())
    }

    /// The device time that its requests have taken while other instances of the runtime had some too:
    /// what weights divide. An engine's look at it may be one batch old.
    pub fn device_time(&self) -> Duration {
        Duration::from_nanos(self.link.outlet.port().device_ns())
    }

    /// Why no engine runs in this child process after a fork; requests are then answered
    /// [`OpError::DeviceLost`].
    pub fn lost(&self) -> Option<&SetupError> {
        self.lost.as_ref()
    }

    /// The caller has nothing else to do: what it pushed is to run now.
    fn flush(&mut self) {
        let published = self.link.outlet.publish();
        let seq = self.link.outlet.seq();
        let news = self.link.outlet.port().flush(seq);
        if let Executor::Shared { shared, .. } = &self.link.executor
            && (published > 0 || news)
            && self.outstanding > 0
        {
            shared.ring(self.tenant.is_committed());
        }
    }

    /// Whether there is a response to take in the ring.
    #[inline]
    fn is_answered(&self) -> bool {
        match &self.link.executor {
            Executor::Own(engine) => engine.finished() > 0,
            Executor::Shared { replies, .. } => replies.are_ready(1),
        }
    }

    // Always: see `push`. Left to itself, the compiler makes it a function, and a copy.
    #[inline(always)]
    fn take(&mut self) -> Option<Response> {
        let work = match &mut self.link.executor {
            Executor::Own(engine) => engine.take_finished(),
            Executor::Shared { replies, .. } => replies.recv(),
        };
        let Some(mut work) = work else { return self.take_refused() };
        probes::polled(&work);
        if work.advances_to.is_some() {
            port::advance(&work);
        }
        let response = work.respond();
        self.link.free.push(work);
        self.outstanding -= 1;
        response
    }

    #[cold]
    fn take_refused(&mut self) -> Option<Response> {
        let response = self.refused.pop()?;
        self.outstanding -= 1;
        Some(response)
    }

    /// The ring of responses is empty and requests are outstanding: with 0 engines, executes them;
    /// otherwise asks for partial batches, unless this poll has `found` something or is `patient`. Returns
    /// whether there is a response now.
    fn advance(&mut self, found: bool, patient: bool) -> bool {
        if let Executor::Shared { .. } = self.link.executor {
            if found || patient {
                // Not asked for at once, but shown: the caller may sleep on the event fd now.
                self.doorbell();
                return false;
            }
            self.flush();
            return self.is_answered();
        }
        self.link.outlet.publish();
        let mut flushed = false;
        loop {
            let now = self.clock().now_ns();
            let Executor::Own(engine) = &mut self.link.executor else { return false };
            let step = engine.step(now);
            self.due_ns = step.until_ns.filter(|_| !step.spin);
            if engine.finished() > 0 {
                self.link.notice(Notice::signal_fd);
                return true;
            }
            if !step.progress {
                if patient || core::mem::replace(&mut flushed, true) {
                    return false;
                }
                self.flush();
            }
        }
    }

    /// Has the event fd signalled at the next reply, and looks once more. Returns whether there is a
    /// response now.
    fn arm_fd(&mut self) -> bool {
        if self.link.notice(|n| n.has_fd().then(|| n.arm_fd())).flatten().is_none() {
            return false;
        }
        if self.is_answered() {
            return true;
        }
        if let Executor::Own(engine) = &self.link.executor
            && self.outstanding > 0
        {
            match self.due_ns {
                // Nothing moves before this time.
                Some(due_ns) => {
                    let now = self.clock().now_ns();
                    let delay = Duration::from_nanos(due_ns.saturating_sub(now));
                    self.link.notice(|n| n.signal_fd_after(delay));
                }
                // A device is at work whose event is part of the event fd.
                None if engine.sleeps_for_event() => {}
                // One that does not say when it has finished: only another poll moves it.
                None => _ = self.link.notice(Notice::signal_fd),
            }
        }
        false
    }

    fn check_fork(&mut self) {
        if fork::generation() != self.generation {
            self.revive();
        }
    }

    /// In a child process: leaves the parent's rings alone and starts with empty ones.
    #[cold]
    fn revive(&mut self) {
        self.generation = fork::generation();
        self.outstanding = 0;
        self.refused.clear();
        // Dropping the old link takes no lock; the parent's engines, of which this process has a
        // copy, keep what they use alive.
        (self.link, self.lost) = match Link::open(&self.tenant) {
            Ok(link) => (link, None),
            // Rings that nobody serves: the parent's hold its responses and its locks.
            Err(e) => (Link::unserved(&self.tenant), Some(e)),
        };
    }
}

/// When such a time will be over.
fn deadline(clock: &dyn Clock, time: Duration) -> u64 {
    // 0 is the mark of what was cancelled.
    let ns = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    clock.now_ns().saturating_add(ns).max(1)
}

impl Instance {
    /// Closing: cancels what no engine has taken, and leaves the rest to the engines unless it works on
    /// lent memory. Returns whether nothing is left to do.
    #[cold]
    fn withdraw(&mut self) -> bool {
        self.outstanding -= self.refused.len();
        self.refused.clear();
        self.link.outlet.publish();
        let Link { outlet, free, executor, .. } = &mut self.link;
        let Executor::Shared { shared, replies } = executor else { return false };
        // Slots of this instance: `free` has room for all of them.
        let known = free.len();
        let lent = match shared.scheduler.lock() {
            Ok(mut scheduler) => scheduler.withdraw(outlet.place(), free),
            Err(_) => true,
        };
        let withdrawn = free.len() - known;
        free[known..].iter().for_each(|work| probes::failed(work));
        // Their buffers go here, not under the lock.
        free.clear();
        self.outstanding -= withdrawn;
        if let Ok(state) = self.tenant.inner().state() {
            state.ledger.not_run(withdrawn as u64);
        }
        // All engines may sleep until a rate admits the next request.
        shared.ring(self.tenant.is_committed());
        if lent || self.outstanding == 0 {
            return false;
        }
        let port = outlet.port();
        if let Sink::Ring { notice, .. } = &port.sink
            && notice.has_fd()
        {
            notice.disarm_fd();
        }
        let replies = core::mem::replace(replies, reply_ring(0).1);
        if port.abandon(replies, self.outstanding) {
            shared.detach(outlet.place());
        }
        self.outstanding = 0;
        true
    }
}

impl Drop for Instance {
    /// Cancels what has not run. What runs is left to the engines, or waited for: see [`Instance`].
    fn drop(&mut self) {
        if fork::generation() != self.generation {
            // The parent's: it answers what is outstanding, and its locks are not ours to take.
            return;
        }
        self.link.outlet.port().close();
        if self.outstanding > 0 && self.withdraw() {
            return;
        }
        while self.outstanding > 0 {
            self.wait(Duration::from_millis(100));
            while self.take().is_some() {}
        }
        let place = self.link.outlet.place();
        match &mut self.link.executor {
            Executor::Shared { shared, .. } => {
                if let Ok(mut scheduler) = shared.scheduler.lock() {
                    scheduler.detach(place);
                }
            }
            Executor::Own(engine) => {
                engine.detach(place);
                if let Ok(state) = self.tenant.inner().state() {
                    state.ledger.close(engine.counters());
                }
            }
        }
        if self.link.notice(Notice::has_fd) == Some(true) {
            // Engines keep the port, and with it the fd, until they look at their table again.
            self.link.notice(Notice::disarm_fd);
            if let Executor::Shared { shared, .. } = &self.link.executor {
                shared.doorbell.ring_all();
            }
        }
    }
}

/// The responses of one [`Instance::poll`].
pub struct Completions<'a> {
    instance: &'a mut Instance,
    found: bool,
    patient: bool,
}

impl Iterator for Completions<'_> {
    type Item = Response;

    #[inline]
    fn next(&mut self) -> Option<Response> {
        if self.instance.is_answered() {
            self.found = true;
            return self.instance.take();
        }
        self.look_further()
    }
}

impl Completions<'_> {
    /// Nothing is there.
    #[inline(never)]
    fn look_further(&mut self) -> Option<Response> {
        let i = &mut *self.instance;
        if i.outstanding == 0 {
            // What has spilled is back.
            let extra = i.link.free.len().saturating_sub(i.tenant.depth());
            i.link.free.truncate(i.tenant.depth());
            i.link.spare += extra;
        }
        if i.outstanding == 0 && i.link.notice(Notice::has_fd) != Some(true) {
            return None;
        }
        // A response is made once and where it stays: a copy of it would be loaded in other pieces than it was
        // stored in a moment before, which takes as long as all else here.
        let answered = !i.refused.is_empty()
            || (i.outstanding > 0 && i.advance(self.found, self.patient))
            || i.arm_fd();
        self.found |= answered;
        if answered { i.take() } else { None }
    }
}
