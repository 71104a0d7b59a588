//! An instance in two halves, for two threads: one pushes, one polls.
//!
//! Requests go through the instance's own rings. Slots come back to the submitter through a third
//! one, so that neither half takes a lock or allocates. `seam.rs` has what else the halves share.

use core::{cell::Cell, fmt, marker::PhantomData, mem, time::Duration};
use std::{
    os::fd::{AsFd, BorrowedFd},
    sync::Arc,
};

use lookaside_core::{Request, Response, SetupError, Work, probes};

use super::{Executor, Instance, Link, Outlet, deadline, seam::Seam};
use crate::{
    doorbell::Notice,
    engine::{Shared, Step},
    fork,
    patience::Patience,
    port::{self, Port, Sink},
    ring::{Consumer, Producer, request_ring},
    tenant::Tenant,
};

type Common = Seam<Pushing, Polling>;

/// Why [`Submitter::push`] took nothing. The request comes back.
#[derive(Debug)]
pub enum PushError {
    /// No slot is free before the [`Poller`] takes a response.
    Full(Request),
    /// Nobody would answer it: the [`Poller`] was dropped, or this is a child process of the one that
    /// split the instance, or that instance had no engines ([`Instance::lost`]).
    Closed(Request),
}

impl PushError {
    /// The request.
    pub fn into_request(self) -> Request {
        match self {
            PushError::Full(request) | PushError::Closed(request) => request,
        }
    }
}

impl fmt::Display for PushError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            PushError::Full(_) => "the ring is full",
            PushError::Closed(_) => "nobody polls the responses",
        })
    }
}

impl std::error::Error for PushError {}

/// The two are halves of different instances, or the other half has gone: they come back.
#[derive(Debug)]
pub struct Unrelated(pub Box<(Submitter, Poller)>);

impl fmt::Display for Unrelated {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("halves of different instances")
    }
}

impl std::error::Error for Unrelated {}

/// The submitter's part of an instance.
struct Pushing {
    outlet: Outlet,
    /// Slots that are not outstanding, beside those in `returned`; and how many more may spill.
    free: Vec<Work>,
    spare: usize,
    returned: Consumer<Work>,
}

/// The poller's part of an instance.
struct Polling {
    tenant: Tenant,
    generation: u32,
    patience: Patience,
    port: Arc<Port>,
    place: u32,
    executor: Executor,
    returns: Producer<Work>,
    /// How many requests of the ring have been answered and taken.
    taken: u64,
    refused: Vec<Response>,
    lost: Option<SetupError>,
    due_ns: Option<u64>,
    /// With 0 engines: what was published before the last step.
    seen: u64,
}

impl Instance {
    /// Splits the instance for two threads: one pushes requests, the other takes their responses.
    /// [`Poller::join`] makes an instance of the halves again. Allocates; pushing and polling do not.
    ///
    /// What is outstanding stays so. With 0 engines the requests are executed by the thread that polls.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use lookaside::{Buf, InstanceConfig, PushError, Runtime};
    /// use std::{thread, time::Duration};
    ///
    /// let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(2).start()?;
    /// let mover = runtime.mover()?;
    /// let (mut submitter, mut poller) = runtime.instance(InstanceConfig::default())?.split();
    /// let source = thread::spawn(move || {
    ///     for tag in 0..1000 {
    ///         let mut request = mover.copy(Buf::zeroed(100), Buf::zeroed(100)).tag(tag);
    ///         while let Err(e) = submitter.push(request) {
    ///             assert!(matches!(e, PushError::Full(_)));
    ///             request = e.into_request();
    ///             submitter.doorbell();
    ///             thread::yield_now();
    ///         }
    ///     }
    ///     // Dropped here: rings the doorbell, and the poller learns that no more comes.
    /// });
    /// let mut answered = 0;
    /// while !poller.is_finished() {
    ///     poller.wait(Duration::from_secs(1));
    ///     answered += poller.poll().count();
    /// }
    /// assert_eq!(answered, 1000);
    /// # source.join().unwrap();
    /// # Ok(())
    /// # }
    /// ```
    pub fn split(mut self) -> (Submitter, Poller) {
        self.check_fork();
        let tenant = self.tenant.clone();
        let link = mem::replace(&mut self.link, Link::unserved(&tenant));
        let refused = mem::take(&mut self.refused);
        let Link { outlet, free, spare, executor } = link;
        let (returns, returned) = request_ring(tenant.most());
        let (port, place) = (outlet.port().clone(), outlet.place());
        let published = outlet.seq() - outlet.requests.unpublished() as u64;
        let taken = outlet.seq() - (self.outstanding - refused.len()) as u64;
        let engines = match &executor {
            Executor::Shared { shared, .. } => Some(shared.clone()),
            Executor::Own(_) => None,
        };
        let seam = Arc::new(Seam::new(published));
        let submitter = Submitter {
            tenant: tenant.clone(),
            generation: self.generation,
            served: self.lost.is_none(),
            engines,
            part: Some(Pushing { outlet, free, spare, returned }),
            seam: seam.clone(),
            _not_sync: PhantomData,
        };
        let part = Polling {
            tenant,
            generation: self.generation,
            patience: self.patience,
            port,
            place,
            executor,
            returns,
            taken,
            refused,
            lost: self.lost.take(),
            due_ns: self.due_ns,
            seen: published,
        };
        // Nothing is left here to be closed: no process has this generation.
        (self.generation, self.outstanding) = (0, 0);
        (submitter, Poller { part: Some(part), seam, _not_sync: PhantomData })
    }

    /// The instance that these are the parts of.
    fn rejoin(pushing: Pushing, polling: Polling) -> Instance {
        let Pushing { outlet, mut free, spare, mut returned } = pushing;
        while let Some(work) = returned.pop() {
            free.push(work);
        }
        let in_ring = (outlet.seq() - polling.taken) as usize;
        Instance {
            outstanding: in_ring + polling.refused.len(),
            tenant: polling.tenant,
            generation: polling.generation,
            link: Link { outlet, free, spare, executor: polling.executor },
            refused: polling.refused,
            lost: polling.lost,
            due_ns: polling.due_ns,
            patience: polling.patience,
            _not_sync: PhantomData,
        }
    }
}

fn notice(port: &Port) -> Option<&Notice> {
    match &port.sink {
        Sink::Ring { notice, .. } | Sink::Own(notice) => Some(notice),
        Sink::Calls(_) => None,
    }
}

/// The half of an instance that pushes ([`Instance::split`]). Belongs to one thread at a time (`Send`,
/// not `Sync`).
///
/// Dropping it rings the doorbell. The [`Poller`] still receives all responses, then says that it
/// [is finished](Poller::is_finished). The half that is dropped last closes the instance, as dropping
/// an unsplit one does.
///
/// Streams: a response that breaks a stream off (an overflow, an error) lets the requests run that are
/// pushed after it was taken. Here another thread takes it, so push the next piece of a stream only
/// when that thread has said how the one before ended.
///
/// After a `fork` both halves refuse to work in the child, where the other half's thread does not
/// exist: pushes are [`PushError::Closed`], the poller is finished. [`Poller::join`] gives an instance
/// there that is empty and works, as does [`crate::Runtime::instance`].
pub struct Submitter {
    tenant: Tenant,
    generation: u32,
    /// Whether there is anybody to execute requests.
    served: bool,
    /// The engines to wake; without them, the poller executes.
    engines: Option<Arc<Shared>>,
    part: Option<Pushing>,
    seam: Arc<Common>,
    _not_sync: PhantomData<Cell<()>>,
}

impl Submitter {
    /// How many requests fit now; 0 when it [is closed](Submitter::is_closed).
    pub fn free(&self) -> usize {
        match &self.part {
            Some(part) if !self.is_closed() => part.free.len() + part.returned.len() + part.spare,
            _ => 0,
        }
    }

    /// Whether nothing can be pushed any more: [`PushError::Closed`] says why.
    pub fn is_closed(&self) -> bool {
        !self.served || self.seam.is_poller_gone() || fork::generation() != self.generation
    }

    /// Puts a request into the ring; it is seen at the next doorbell. Does not block or wake, and allocates
    /// only for a request that spills.
    ///
    /// # Errors
    /// [`PushError`] with the request.
    #[inline]
    pub fn push(&mut self, request: Request) -> Result<(), PushError> {
        let closed = self.is_closed();
        let Some(part) = self.part.as_mut().filter(|_| !closed) else {
            return Err(PushError::Closed(request));
        };
        let Some(mut work) = part.slot(self.tenant.most()) else {
            probes::full(request.op, self.tenant.most());
            return Err(PushError::Full(request));
        };
        work.fill(request);
        match part.outlet.push(work, &*self.tenant.inner().clock) {
            Ok(()) => Ok(()),
            Err(work) => part.hand_back(work),
        }
    }

    /// As [`Submitter::push`], with a deadline as that of [`Instance::push_within`].
    ///
    /// # Errors
    /// [`PushError`] with the request.
    pub fn push_within(&mut self, time: Duration, request: Request) -> Result<(), PushError> {
        let closed = self.is_closed();
        let Some(part) = self.part.as_mut().filter(|_| !closed) else {
            return Err(PushError::Closed(request));
        };
        let Some(mut work) = part.slot(self.tenant.most()) else {
            probes::full(request.op, self.tenant.most());
            return Err(PushError::Full(request));
        };
        let clock = &*self.tenant.inner().clock;
        work.fill(request);
        work.until_ns = deadline(clock, time);
        match part.outlet.push(work, clock) {
            Ok(()) => Ok(()),
            Err(work) => part.hand_back(work),
        }
    }

    /// Makes all pushed requests visible and wakes an engine if one sleeps; with 0 engines, the poller.
    /// Returns how many requests that were. A system call only if somebody sleeps, or the poller's event
    /// fd is armed.
    pub fn doorbell(&mut self) -> usize {
        if fork::generation() != self.generation {
            return 0;
        }
        let Some(part) = &mut self.part else { return 0 };
        let n = part.outlet.publish();
        if n == 0 {
            return 0;
        }
        let (seq, port) = (part.outlet.seq(), part.outlet.port());
        self.seam.publish(seq);
        match &self.engines {
            Some(shared) => {
                if self.seam.is_awaited() {
                    port.flush(seq);
                }
                shared.ring(self.tenant.is_committed());
            }
            None => {
                self.seam.bell.ring();
                // Behind the fence of the bell.
                notice(port).into_iter().for_each(Notice::signal_fd);
            }
        }
        n
    }
}

impl Pushing {
    #[inline]
    fn slot(&mut self, most: usize) -> Option<Work> {
        self.free.pop().or_else(|| self.returned.pop()).or_else(|| {
            super::make_slots(&mut self.free, &mut self.spare, most).then(|| self.free.pop())?
        })
    }

    #[cold]
    fn hand_back(&mut self, mut work: Work) -> Result<(), PushError> {
        let request = work.take();
        self.free.push(work);
        request.map_or(Ok(()), |r| Err(PushError::Full(r)))
    }
}

impl Drop for Submitter {
    fn drop(&mut self) {
        if fork::generation() != self.generation {
            // The parent's: the other half's thread may have been in the middle of changing it.
            return mem::forget(self.seam.clone());
        }
        self.doorbell();
        let Some(part) = self.part.take() else { return };
        let port = part.outlet.port().clone();
        match self.seam.leave_submitter(part) {
            Some((pushing, polling)) => drop(Instance::rejoin(pushing, polling)),
            // Its poller may wait for what never comes.
            None => {
                self.seam.bell.ring();
                notice(&port).into_iter().for_each(Notice::rouse);
            }
        }
    }
}

impl fmt::Debug for Submitter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Submitter").field("free", &self.free()).finish_non_exhaustive()
    }
}

/// The half of an instance that takes responses ([`Instance::split`]). Belongs to one thread at a time
/// (`Send`, not `Sync`).
///
/// With 0 engines its thread executes the requests, within [`Poller::poll`] and [`Poller::wait`]; the
/// submitter's doorbell wakes it there.
///
/// Dropping it cancels what has not run, and closes the [`Submitter`]. It does not wait, and responses
/// keep their buffers: the half that is dropped last closes the [`Instance`], and memory that was lent
/// is free then.
pub struct Poller {
    part: Option<Polling>,
    seam: Arc<Common>,
    _not_sync: PhantomData<Cell<()>>,
}

impl Poller {
    /// The responses that are there, as [`Instance::poll`]; the requests are those that the submitter
    /// has rung the doorbell for.
    pub fn poll(&mut self) -> Polled<'_> {
        Polled { poller: self, found: false, patient: false }
    }

    /// As [`Poller::poll`], but leaves partial batches to their deadline, to `poll` or to `wait`.
    pub fn poll_full(&mut self) -> Polled<'_> {
        Polled { poller: self, found: false, patient: true }
    }

    /// Waits until a response is there. Returns whether one is; `false` after `timeout`, or when the
    /// poller [is finished](Poller::is_finished). When nothing is outstanding it waits for the submitter.
    /// Asks for partial batches to run, also for those pushed meanwhile. With 0 engines, this thread
    /// executes requests.
    pub fn wait(&mut self, timeout: Duration) -> bool {
        self.wait_many(1, timeout)
    }

    /// As [`Poller::wait`], for `count` responses at once: at most as many as are outstanding when the
    /// call begins, or, if none is, when it finds the first. `false` when fewer than that are there after
    /// `timeout`, and for a count of 0.
    pub fn wait_many(&mut self, count: usize, timeout: Duration) -> bool {
        let Some((part, seam)) = self.here() else { return false };
        if !part.refused.is_empty() || count == 0 {
            return count > 0;
        }
        let timeout_ns = u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX);
        seam.begin_wait();
        let done = match part.executor {
            Executor::Shared { .. } => part.await_engines(seam, count, timeout_ns),
            Executor::Own(_) => part.execute(seam, count, timeout_ns),
        };
        seam.end_wait();
        done
    }

    /// Cancels the requests with this tag that the submitter has rung the doorbell for and with which no
    /// engine has begun, as [`Instance::cancel`]. Returns how many.
    pub fn cancel(&mut self, tag: u64) -> usize {
        let Some((part, _)) = self.here() else { return 0 };
        part.executor.cancel(part.place, tag)
    }

    /// Readable when responses are there (with 0 engines: when a poll has something to execute), after a
    /// poll that found nothing, as [`Instance::event_fd`]. Once the poller [is
    /// finished](Poller::is_finished) it is readable for good, as a socket is at its end.
    ///
    /// # Errors
    /// When the operating system has no more file descriptors, and in a child process.
    pub fn event_fd(&mut self) -> Result<BorrowedFd<'_>, SetupError> {
        let none = |errno| SetupError::Os { what: "event fd", errno };
        let Some((part, seam)) = self.here() else { return Err(none(libc::EBADF)) };
        let notice = notice(&part.port).ok_or(none(libc::EBADF))?;
        let had = notice.has_fd();
        let limited = part.tenant.terms().has_peak();
        let own = match &part.executor {
            Executor::Own(engine) if limited || engine.is_asynchronous() => Some(engine),
            _ => None,
        };
        let fd =
            notice.fd(own.map(|engine| engine.event_fds())).map_err(|e| none(e.raw_os_error()))?;
        if !had {
            notice.arm_fd();
            if part.outstanding(seam) > 0 || part.is_finished(seam) {
                notice.signal_fd();
            }
        }
        Ok(fd.as_fd())
    }

    /// How many requests the submitter has rung the doorbell for and the poller has not taken the
    /// responses of.
    pub fn outstanding(&self) -> usize {
        let part = self.part.as_ref().filter(|part| part.is_here());
        part.map_or(0, |part| part.outstanding(&self.seam))
    }

    /// Whether nothing more can come: the submitter is gone and all responses were taken. `true` in a
    /// child process.
    pub fn is_finished(&self) -> bool {
        let part = self.part.as_ref().filter(|part| part.is_here());
        part.is_none_or(|part| part.is_finished(&self.seam))
    }

    /// As [`Instance::device_time`].
    pub fn device_time(&self) -> Duration {
        Duration::from_nanos(self.part.as_ref().map_or(0, |part| part.port.device_ns()))
    }

    /// Makes the instance of its halves again, with all that is outstanding.
    ///
    /// # Errors
    /// [`Unrelated`] with both when they are not halves of one instance.
    pub fn join(mut self, mut submitter: Submitter) -> Result<Instance, Unrelated> {
        if Arc::ptr_eq(&self.seam, &submitter.seam)
            && let Some(polling) = self.part.take()
            && let Some(pushing) = submitter.part.take()
        {
            return Ok(Instance::rejoin(pushing, polling));
        }
        Err(Unrelated(Box::new((submitter, self))))
    }

    /// What it works with, unless this is a child process.
    fn here(&mut self) -> Option<(&mut Polling, &Common)> {
        self.part.as_mut().filter(|part| part.is_here()).map(|part| (part, &*self.seam))
    }
}

impl Polling {
    fn is_here(&self) -> bool {
        fork::generation() == self.generation
    }

    /// How many requests are published and their responses not taken.
    fn outstanding(&self, seam: &Common) -> usize {
        // A response may be taken before it is seen that its request is published.
        let in_ring = seam.published().saturating_sub(self.taken);
        in_ring as usize + self.refused.len()
    }

    fn is_finished(&self, seam: &Common) -> bool {
        // In this order: what was published last is published before the submitter goes.
        seam.is_submitter_gone() && self.outstanding(seam) == 0
    }

    /// The caller has nothing else to do: what is published is to run now.
    fn flush(&self, published: u64) {
        let news = self.port.flush(published);
        if let Executor::Shared { shared, .. } = &self.executor
            && news
            && published > self.taken
        {
            shared.ring(self.tenant.is_committed());
        }
    }

    /// Waits until engines have sent so many replies.
    fn await_engines(&mut self, seam: &Common, count: usize, timeout_ns: u64) -> bool {
        let clock = &*self.tenant.inner().clock;
        let since = clock.now_ns();
        let mut now = since;
        let deadline = now.saturating_add(timeout_ns);
        let (Executor::Shared { replies, .. }, Sink::Ring { replies: sent, notice }) =
            (&self.executor, &self.port.sink)
        else {
            return false;
        };
        let missing = |count: usize| {
            let position = replies.position().wrapping_add(count);
            position.wrapping_sub(sent.sent()).cast_signed() > 0
        };
        // 0 as long as nothing is outstanding: then the first reply ends this state.
        let mut target = 0;
        loop {
            let gone = seam.is_submitter_gone();
            self.flush(seam.published());
            if target == 0 {
                target = count.min(self.outstanding(seam).max(usize::from(!missing(1))));
            }
            if target == 0 && gone {
                return false;
            }
            if target > 0 && !missing(target) {
                // Sent, or being sent this instant.
                while !replies.are_ready(target) {
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
                let position = replies.position().wrapping_add(target.max(1));
                let idle = target == 0;
                let look = || match idle && seam.is_submitter_gone() {
                    true => position,
                    false => sent.sent(),
                };
                notice.wait(position, look, Duration::from_nanos(deadline - now));
            }
            now = clock.now_ns();
        }
    }

    /// With 0 engines: executes until so many requests are answered.
    fn execute(&mut self, seam: &Common, count: usize, timeout_ns: u64) -> bool {
        let inner = self.tenant.inner().clone();
        let clock = &*inner.clock;
        let mut now = clock.now_ns();
        let deadline = now.saturating_add(timeout_ns);
        let (mut target, mut idle_since) = (0, now);
        let done = loop {
            let gone = seam.is_submitter_gone();
            let published = seam.published();
            self.flush(published);
            if target == 0 {
                target = count.min(self.outstanding(seam));
            }
            if target == 0 && gone {
                break false;
            }
            let Executor::Own(engine) = &mut self.executor else { return false };
            if target > 0 && engine.finished() >= target {
                break true;
            }
            // Even a wait of no time executes something: it could be called in a loop.
            let step = engine.step(now);
            if step.progress {
                idle_since = now;
            } else if now.saturating_sub(idle_since) < self.patience.look_ns() {
                core::hint::spin_loop();
            } else if now < deadline {
                self.sleep(seam, &step, (published, gone), now, deadline);
            }
            let Executor::Own(engine) = &mut self.executor else { return false };
            now = clock.now_ns();
            engine.deliver_finished(now);
            if target > 0 && engine.finished() >= target {
                break true;
            }
            if now >= deadline {
                break false;
            }
        };
        if let Executor::Own(engine) = &self.executor
            && engine.finished() > 0
        {
            notice(&self.port).into_iter().for_each(Notice::signal_fd);
        }
        done
    }

    /// With 0 engines: sleeps after a step without progress until the next one can make some, or the
    /// submitter has news since `known`.
    fn sleep(&self, seam: &Common, step: &Step, known: (u64, bool), now: u64, deadline: u64) {
        let Executor::Own(engine) = &self.executor else { return };
        if step.spin {
            return std::thread::yield_now();
        }
        seam.bell.announce();
        if (seam.published(), seam.is_submitter_gone()) != known {
            return seam.bell.stay_awake();
        }
        let until = step.until_ns.unwrap_or(deadline).clamp(now + 1, deadline.max(now + 1));
        let timeout = Some(Duration::from_nanos(until - now));
        let mut fds = engine.event_fds().peekable();
        match step.in_flight > 0 && fds.peek().is_some() {
            true => seam.bell.sleep_with(fds, timeout),
            false => seam.bell.sleep(timeout),
        }
    }

    /// Whether there is a response to take.
    #[inline]
    fn is_answered(&self) -> bool {
        match &self.executor {
            Executor::Own(engine) => engine.finished() > 0,
            Executor::Shared { replies, .. } => replies.are_ready(1),
        }
    }

    // Always: see `Instance::push`.
    #[inline(always)]
    fn take(&mut self) -> Option<Response> {
        let work = match &mut self.executor {
            Executor::Own(engine) => engine.take_finished(),
            Executor::Shared { replies, .. } => replies.recv(),
        };
        let Some(mut work) = work else { return self.refused.pop() };
        probes::polled(&work);
        if work.advances_to.is_some() {
            port::advance(&work);
        }
        let response = work.respond();
        // There is room for every slot.
        let _ = self.returns.push(work);
        self.returns.publish();
        self.taken += 1;
        response
    }

    /// The ring of responses is empty and requests are outstanding, as `Instance::advance`.
    fn advance(&mut self, seam: &Common, found: bool, patient: bool) -> bool {
        if let Executor::Shared { .. } = self.executor {
            if !found && !patient {
                self.flush(seam.published());
            }
            return self.is_answered();
        }
        let mut flushed = false;
        loop {
            let now = self.tenant.inner().clock.now_ns();
            self.seen = seam.published();
            let Executor::Own(engine) = &mut self.executor else { return false };
            let step = engine.step(now);
            self.due_ns = step.until_ns.filter(|_| !step.spin);
            if engine.finished() > 0 {
                notice(&self.port).into_iter().for_each(Notice::signal_fd);
                return true;
            }
            if !step.progress {
                if patient || mem::replace(&mut flushed, true) {
                    return false;
                }
                self.flush(self.seen);
            }
        }
    }

    /// Has the event fd signalled at the next reply, and looks once more, as `Instance::arm_fd`.
    fn arm_fd(&mut self, seam: &Common) -> bool {
        let Some(notice) = notice(&self.port).filter(|n| n.has_fd()) else { return false };
        notice.arm_fd();
        if self.is_answered() {
            return true;
        }
        if self.is_finished(seam) {
            notice.signal_fd();
        } else if let Executor::Own(engine) = &self.executor
            && self.outstanding(seam) > 0
        {
            let news = seam.published() != self.seen;
            match self.due_ns {
                // Pushed since the last step, which the doorbell signals from here on.
                _ if news => notice.signal_fd(),
                // Nothing moves before this time.
                Some(due_ns) => {
                    let now = self.tenant.inner().clock.now_ns();
                    notice.signal_fd_after(Duration::from_nanos(due_ns.saturating_sub(now)));
                }
                // A device is at work whose event is part of the event fd.
                None if engine.sleeps_for_event() => {}
                // One that does not say when it has finished: only another poll moves it.
                None => notice.signal_fd(),
            }
        }
        false
    }
}

impl Drop for Poller {
    fn drop(&mut self) {
        let Some(part) = self.part.take() else { return };
        if !part.is_here() {
            // As the submitter.
            return mem::forget(self.seam.clone());
        }
        let port = part.port.clone();
        port.close();
        if let Executor::Shared { shared, .. } = &part.executor {
            // All engines may sleep until a rate admits the next request.
            shared.ring(part.tenant.is_committed());
        }
        match self.seam.leave_poller(part) {
            Some((pushing, polling)) => drop(Instance::rejoin(pushing, polling)),
            None => notice(&port).into_iter().filter(|n| n.has_fd()).for_each(Notice::disarm_fd),
        }
    }
}

impl fmt::Debug for Poller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Poller").field("outstanding", &self.outstanding()).finish_non_exhaustive()
    }
}

/// The responses of one [`Poller::poll`].
pub struct Polled<'a> {
    poller: &'a mut Poller,
    found: bool,
    patient: bool,
}

impl Iterator for Polled<'_> {
    type Item = Response;

    #[inline]
    fn next(&mut self) -> Option<Response> {
        let part = self.poller.part.as_mut().filter(|part| part.is_here())?;
        if part.is_answered() {
            self.found = true;
            return part.take();
        }
        self.look_further()
    }
}

impl Polled<'_> {
    /// Nothing is there.
    // Not `inline(never)`: then it would be compiled, and its probe listed, in programs that have no halves.
    #[cold]
    #[inline]
    fn look_further(&mut self) -> Option<Response> {
        let (part, seam) = self.poller.here()?;
        let answered = !part.refused.is_empty()
            || (part.outstanding(seam) > 0 && part.advance(seam, self.found, self.patient))
            || part.arm_fd(seam);
        self.found |= answered;
        if answered { part.take() } else { None }
    }
}

#[expect(dead_code, reason = "states the auto traits that callers rely on")]
fn goes_to_threads(halves: (Submitter, Poller)) -> impl Send {
    halves
}
