//! What a back end must be: [`Device`], and the [`Channel`] that each engine opens to it.

use core::mem;
use std::collections::VecDeque;

use std::os::fd::BorrowedFd;

use crate::{
    Carried, Done, Lost, Op, OpError, Prepared, Region, Request, Response, SessionSpec, SetupError,
    store_result,
};

/// Numbers the engines of a runtime, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EngineId(pub u32);

/// What a device can do: one row per operation and algorithm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capability {
    /// The operation.
    pub op: Op,
    /// The algorithm and parameters, for people: "DEFLATE, zlib, gzip; levels 0-12".
    pub algorithm: String,
    /// What executes it, for people: the kernels and the CPU features they use.
    pub served_by: String,
    /// How many requests side by side serve it best: 1 where lanes gain nothing.
    pub best_batch: usize,
    /// The largest source of one request, in bytes.
    pub max_src: usize,
}

/// Says where a response belongs: opaque to devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticket {
    /// The instance's place in its scheduler.
    pub port: u32,
    /// Tells two instances apart that had the same place one after the other.
    pub generation: u32,
    /// The request's number among those of its instance.
    pub seq: u64,
}

/// A request on its way through engine and device: a slot of its instance's slab. The device takes
/// it, works on the request's `src` and `dst`, and returns it in [`Completed`].
///
/// Slots are allocated when an instance is set up; what moves is one pointer.
#[derive(Debug)]
pub struct Work(Box<Slot>);

const NOT_RUN: Result<Done, OpError> = Err(OpError::Cancelled);

/// What a slot records beside its request. On cache lines of its own: where malloc lays it, a request may
/// cross one line more.
#[derive(Debug)]
#[repr(align(64))]
pub struct Slot {
    request: Option<Request>,
    result: Result<Done, OpError>,
    /// The [`Carried::Chain`] of the request, which meanwhile has what its step carries.
    chain: Option<Box<Carried>>,
    /// Where the answer belongs.
    pub ticket: Ticket,
    /// For ordered sessions, the epoch of [`crate::Order`]; otherwise 0.
    pub epoch: u32,
    /// The epoch that the answer's taking advances to, if it does.
    pub advances_to: Option<u32>,
    /// It is this request's turn in [`crate::Order`]: once it is answered, the next one's comes.
    pub holds_turn: bool,
    /// The device's position in the runtime.
    pub device: u16,
    /// The device time in nanoseconds that its tenant was charged; 0 if it was not.
    pub charged_ns: u64,
    /// Whether it is served by its tenant's commitment.
    pub committed: bool,
    /// No device is to begin with it from this time on, in nanoseconds of the runtime's clock: 0 when it
    /// was cancelled, `u64::MAX` for no deadline.
    pub until_ns: u64,
    /// When it was pushed, in nanoseconds of the runtime's clock.
    pub pushed_ns: u64,
    /// When an engine took it, in nanoseconds of the runtime's clock.
    pub taken_ns: u64,
}

impl Slot {
    /// For tracers: none in an empty slot.
    pub(crate) fn request(&self) -> Option<&Request> {
        self.request.as_ref()
    }

    pub(crate) fn result(&self) -> &Result<Done, OpError> {
        &self.result
    }
}

impl Work {
    /// An empty slot. Allocates.
    pub fn empty() -> Work {
        Work(Box::new(Slot {
            request: None,
            result: NOT_RUN,
            chain: None,
            ticket: Ticket::default(),
            epoch: 0,
            advances_to: None,
            holds_turn: false,
            device: 0,
            charged_ns: 0,
            committed: false,
            until_ns: u64::MAX,
            pushed_ns: 0,
            taken_ns: 0,
        }))
    }

    /// Fills an empty slot.
    #[inline]
    pub fn fill(&mut self, request: Request) {
        // Stored first: a request that is looked at before is built elsewhere, and copied. The slot is empty:
        // nothing is dropped.
        mem::forget(self.0.request.replace(request));
        if let Some(Carried::Chain(_)) = self.request().carried.as_deref() {
            self.unchain();
        }
        self.0.result = NOT_RUN;
        self.0.advances_to = None;
        self.0.holds_turn = false;
        self.0.charged_ns = 0;
        self.0.until_ns = u64::MAX;
    }

    /// No device is to begin with it. Returns `false` if it was cancelled before.
    pub fn cancel(&mut self) -> bool {
        core::mem::replace(&mut self.0.until_ns, 0) != 0
    }

    /// Why no device is to begin with it, if so.
    pub fn is_over(&self, now_ns: u64) -> Option<OpError> {
        match self.0.until_ns {
            0 => Some(OpError::Cancelled),
            until => (until <= now_ns).then_some(OpError::Expired),
        }
    }

    /// The request has what its first step carries.
    #[cold]
    fn unchain(&mut self) {
        let Slot { request: Some(request), chain, .. } = &mut *self.0 else { return };
        *chain = request.carried.take();
        if let Some(Carried::Chain(chain)) = chain.as_deref_mut() {
            request.carried = chain.carried.take();
        }
    }

    /// Whether somebody else keeps some memory of the request alive, of any step of a chain:
    /// [`Request::is_lent`].
    #[inline]
    pub fn is_lent(&self) -> bool {
        let chain = self.0.chain.as_deref().is_some_and(Carried::is_lent);
        chain || self.request().is_lent()
    }

    /// Whether it is a chain of which a step follows.
    #[inline]
    pub fn has_next(&self) -> bool {
        matches!(self.0.chain.as_deref(), Some(Carried::Chain(chain)) if chain.has_next())
    }

    /// The step that ran has this result: gives back what it was lent, and gives the request the next
    /// step's fields.
    ///
    /// # Errors
    /// What keeps the next step from running.
    pub fn advance(&mut self, done: Done) -> Result<(), OpError> {
        let Slot { request: Some(request), chain, .. } = &mut *self.0 else {
            return Err(OpError::Unsupported);
        };
        match chain.as_deref_mut() {
            Some(Carried::Chain(chain)) => chain.advance(request, done),
            _ => Err(OpError::Unsupported),
        }
    }

    /// The request carries its chain again, and everything lent is back.
    #[cold]
    fn rejoin(&mut self) {
        let Slot { request: Some(request), chain, .. } = &mut *self.0 else { return };
        if let Some(Carried::Chain(chain)) = chain.as_deref_mut() {
            chain.restore(request);
            chain.carried = request.carried.take();
        }
        request.carried = chain.take();
    }

    /// Empties the slot.
    #[inline]
    pub fn take(&mut self) -> Option<Request> {
        if self.0.chain.is_some() {
            self.rejoin();
        }
        self.0.request.take()
    }

    /// Empties the slot of a request that was answered: its response.
    #[inline(always)]
    pub fn respond(&mut self) -> Option<Response> {
        if self.0.chain.is_some() {
            self.rejoin();
        }
        let slot = &mut *self.0;
        let request = slot.request.as_mut()?;
        // Each part goes from where it lies to where it stays. A request that is moved whole is stored in some
        // pieces and loaded in others, which waits until the stores have left the core.
        let response = Response {
            tag: request.tag,
            result: slot.result,
            src: mem::take(&mut request.src),
            dst: mem::take(&mut request.dst),
            carried: request.carried.take(),
        };
        slot.request = None;
        Some(response)
    }

    /// The request.
    #[inline]
    pub fn request(&self) -> &Request {
        self.0.request.as_ref().expect("only filled slots leave their instance")
    }

    /// The request, to work on its buffers.
    #[inline]
    pub fn request_mut(&mut self) -> &mut Request {
        self.0.request.as_mut().expect("only filled slots leave their instance")
    }

    /// The prepared parameters of the request's session for the device that this work was given
    /// to, as that device's own type.
    #[inline]
    pub fn prepared<T: 'static>(&self) -> Option<&T> {
        self.request().session.prepared.get(usize::from(self.device))?.as_ref()?.get()
    }

    /// Sets what happened.
    #[inline]
    pub fn finish(&mut self, result: Result<Done, OpError>) {
        store_result(&mut self.0.result, result);
    }

    /// Sets the result of each packet that the request carries to that of the request, an error: for
    /// whoever answers a request that did not run. Packets that are used again have old ones.
    #[cold]
    pub fn fail_packets(&mut self) {
        let Slot { request, result: Err(e), .. } = &mut *self.0 else { return };
        let carried = request.as_mut().and_then(|r| r.carried.as_deref_mut());
        for packet in carried.map_or(&mut [][..], Carried::packets_mut) {
            store_result(&mut packet.result, Err(*e));
        }
    }

    /// Sets the result of the request and of its packets to a lost device's.
    #[cold]
    pub fn lose(&mut self, lost: Lost) {
        self.finish(Err(OpError::DeviceLost(lost)));
        self.fail_packets();
    }

    /// What happened; `Cancelled` when nothing has.
    #[inline]
    pub fn result(&self) -> &Result<Done, OpError> {
        &self.0.result
    }
}

impl core::ops::Deref for Work {
    type Target = Slot;
    #[inline]
    fn deref(&self) -> &Slot {
        &self.0
    }
}

impl core::ops::DerefMut for Work {
    #[inline]
    fn deref_mut(&mut self) -> &mut Slot {
        &mut self.0
    }
}

/// Requests of one operation and one parameter class, offered to a device.
#[derive(Debug)]
pub struct Batch<'a> {
    work: &'a mut VecDeque<Work>,
}

impl<'a> Batch<'a> {
    /// Offers all of `work`; what the device does not take stays there.
    #[inline]
    pub fn new(work: &'a mut VecDeque<Work>) -> Batch<'a> {
        Batch { work }
    }

    /// How many requests are left to take.
    #[inline]
    pub fn len(&self) -> usize {
        self.work.len()
    }

    /// Whether none is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.work.is_empty()
    }

    /// The operation that all of them share; `None` when empty.
    #[inline]
    pub fn op(&self) -> Option<Op> {
        self.work.front().map(|w| w.request().op)
    }

    /// Takes the next request. Whoever takes it answers it.
    #[inline]
    pub fn take(&mut self) -> Option<Work> {
        self.work.pop_front()
    }
}

/// Where a channel puts finished requests.
#[derive(Debug, Default)]
pub struct Completed {
    finished: VecDeque<Work>,
}

impl Completed {
    /// Room for this many before it allocates.
    pub fn with_capacity(n: usize) -> Completed {
        Completed { finished: VecDeque::with_capacity(n) }
    }

    /// Hands one back, with what happened.
    #[inline]
    pub fn push(&mut self, mut work: Work, result: Result<Done, OpError>) {
        work.finish(result);
        self.finished.push_back(work);
    }

    /// Hands back many, in order, whose results are set ([`Work::finish`]). Leaves `finished`
    /// empty.
    pub fn append(&mut self, finished: &mut VecDeque<Work>) {
        if self.finished.is_empty() {
            core::mem::swap(&mut self.finished, finished);
        } else {
            self.finished.append(finished);
        }
    }

    /// Those that are here, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &Work> {
        self.finished.iter()
    }

    /// Takes the oldest.
    #[inline]
    pub fn pop(&mut self) -> Option<Work> {
        self.finished.pop_front()
    }

    /// How many are here.
    #[inline]
    pub fn len(&self) -> usize {
        self.finished.len()
    }

    /// Whether none is here.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.finished.is_empty()
    }
}

/// A back end that executes requests.
pub trait Device: Send + Sync {
    /// Its name: `cpu`, ... Unique within a runtime.
    fn name(&self) -> &str;

    /// What it can do. An operation without a row is not routed here.
    fn capabilities(&self) -> &[Capability];

    /// The largest best batch in the rows of one operation, 0 for an operation without a row. A runtime asks
    /// this when it starts; a device whose rows take time to make answers it without them.
    fn best_batch(&self, op: Op) -> usize {
        let rows = self.capabilities().iter().filter(|row| row.op == op);
        rows.map(|row| row.best_batch.max(1)).max().unwrap_or(0)
    }

    /// What the runtime must heed in its dealings with the device.
    fn limits(&self) -> Limits {
        Limits::default()
    }

    /// Turns a session's specification into the device's own prepared parameters.
    ///
    /// # Errors
    /// [`SetupError::Unsupported`] or what is wrong with the parameters.
    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError>;

    /// Prepared parameters for requests whose packets name one of these sessions each
    /// ([`Packet::session`](crate::Packet::session)). All are this device's, and of one class.
    ///
    /// # Errors
    /// [`SetupError::Unsupported`] where the device has no bursts of many sessions.
    fn prepare_set(&self, sessions: &[&Prepared]) -> Result<Prepared, SetupError> {
        let _ = sessions;
        let (device, what) = (self.name().to_owned(), "sets of sessions");
        Err(SetupError::Unsupported { device, op: Op::Encrypt, what })
    }

    /// Learns of memory that requests will lie in: maps or pins it, where it has to. Once for a region,
    /// before the first request.
    ///
    /// # Errors
    /// Where the device cannot reach it: then there is no such region.
    fn attach(&self, region: &Region) -> Result<(), SetupError> {
        let _ = region;
        Ok(())
    }

    /// Opens one engine's private access.
    ///
    /// # Errors
    /// When the device has no more channels.
    fn open_channel(&self, engine: EngineId) -> Result<Box<dyn Channel>, SetupError>;
}

/// What the runtime must heed in its dealings with a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The most requests in one batch.
    pub max_batch: usize,
    /// How long requests wait for others to fill a batch, in nanoseconds; `None`: as the runtime is
    /// set (its builder's `batch_deadline`).
    pub batch_deadline_ns: Option<u64>,
    /// After how long without an answer, although a channel holds requests, the channel is taken for
    /// dead and reset, in nanoseconds; `None`: never.
    pub timeout_ns: Option<u64>,
    /// What memory it reaches. Requests in other memory go to the next device of the route.
    pub reach: Reach,
}

/// What memory a device reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// All that the process does.
    #[default]
    Process,
    /// The [`Region`]s that it was told of.
    Regions,
}

impl Default for Limits {
    /// Batches of 1,024 requests, the runtime's deadline, no time-out: right for a device that
    /// executes within [`Channel::submit`].
    fn default() -> Limits {
        Limits { max_batch: 1024, batch_deadline_ns: None, timeout_ns: None, reach: Reach::Process }
    }
}

/// When a channel that holds requests has something to hand back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Now, or it cannot know: poll it again and again.
    Now,
    /// Not before this time, in nanoseconds of the runtime's clock.
    At(u64),
    /// When [`Channel::event_fd`] is readable.
    Event,
    /// Not by itself: it holds nothing.
    Never,
}

/// One engine's private access to a device. Takes no locks and never sleeps. Every request it
/// takes it must give back through [`Channel::poll`] or [`Channel::reset`], once. `now_ns` is the time
/// of the runtime's clock, and never decreases.
pub trait Channel: Send {
    /// Takes requests from the front of `batch`. Returns how many; fewer than offered (or none)
    /// means busy: the engine offers the rest again, or to another device.
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize;

    /// Executes one request now and sets its result, where the channel would do so within
    /// [`Channel::submit`] and holds nothing: a burst, or a lone request, is spared the queues
    /// there and back. Returns whether it did; if not, the request is as it was and is submitted.
    fn run_now(&mut self, work: &mut Work) -> bool {
        let _ = work;
        false
    }

    /// Hands back what is finished. Returns how many.
    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize;

    /// How many requests it has taken and not handed back.
    fn in_flight(&self) -> usize;

    /// When the next one of them can be handed back. An engine sleeps until then.
    fn wake(&self) -> Wake {
        Wake::Now
    }

    /// Readable while something can be handed back, for a channel that answers [`Wake::Event`]; the
    /// same file descriptor for the life of the channel.
    fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        None
    }

    /// The engine's thread has nothing to do: it sleeps next, or ends. For what a channel puts off until
    /// then; never called on a thread of the program's, whose stack may be small.
    fn idle(&mut self) {}

    /// Hands back all that it holds: what is finished with its result, the rest as lost
    /// ([`OpError::DeviceLost`]: `Untouched` where it is certain). Afterwards the device touches no
    /// memory of theirs, and the channel takes requests again or refuses them all.
    fn reset(&mut self, done: &mut Completed);
}
