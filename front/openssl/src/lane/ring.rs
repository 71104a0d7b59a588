//! One thread's lane: an instance of the runtime for operations that run at once, another for
//! those of jobs that pause, and who waits for which of its responses.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use lookaside::{Instance, InstanceConfig, Request, Response, Runtime, fork_generation};

use super::{
    pieces::{self, Held},
    stack::Stack,
};
use crate::{
    error::{Error, Reason, Result},
    statistics::{Tallies, count},
};

/// As many requests as a batch of most operations has.
const BATCH: usize = 8;

/// So many executions in a row that found one request alone mean that there is one connection.
const LONE_AFTER: u32 = 4;

/// Of so many operations of a lone connection, one is submitted all the same, to see whether it is
/// alone still. Pieces of texts may be as short as the pause, and a probe costs each job that it meets
/// one: the interval doubles up to four times, as long as there are too few.
const LONE_PROBE: u32 = 16;
const PIECE_PROBE: u32 = 64;

/// What is known of company: how many executions in a row found none, and how many operations were
/// not submitted since the last that was.
#[derive(Default)]
pub(super) struct Company {
    lone: u32,
    skipped: u32,
}

impl Company {
    fn skips(&self, probe: u32) -> bool {
        self.lone >= LONE_AFTER && self.skipped + 1 < probe
    }

    /// An execution did or did not find enough.
    pub(super) fn found(&mut self, enough: bool) {
        self.lone = if enough { 0 } else { self.lone.saturating_add(1) };
    }
}

/// So often a job that others are expected to join pauses again.
const PATIENCE: u32 = 2;

enum Slot {
    Free,
    /// Submitted; its job is paused.
    Waiting,
    /// Submitted; nobody wants the response.
    Abandoned,
    Done(Response),
}

struct Place {
    /// Which use of this place it is: a ticket of an earlier one is void.
    serial: u64,
    slot: Slot,
}

/// A lane. It belongs to one thread, and so its lock is free, but for jobs that another thread
/// resumes.
pub(super) struct Lane {
    generation: u32,
    tallies: Arc<Tallies>,
    state: Mutex<State>,
}

pub(super) struct State {
    runtime: Weak<Runtime>,
    depth: usize,
    /// For operations that run at once.
    single: Option<Instance>,
    /// For operations of jobs.
    pub(super) ring: Option<Instance>,
    /// For batches, and what else takes more of a stack than a job has.
    stack: Option<Stack>,
    /// For operations that run at once: what is used, and then overwritten, is less.
    single_stack: Option<Stack>,
    places: Vec<Place>,
    free: Vec<u32>,
    /// Submitted and not executed.
    pub(super) pending: usize,
    /// Executed, and their jobs have not been resumed since.
    ready: usize,
    /// How many have been submitted, ever.
    submissions: u64,
    company: Company,
    /// Pieces of texts that are submitted and not in the ring yet.
    pub(super) held: Vec<Held>,
    pub(super) company_of_pieces: Company,
    /// Keeps the lane after the end of its thread, for jobs that another thread resumes.
    kept: Option<Arc<Lane>>,
}

/// A submitted operation. Dropped before its response is taken, it is abandoned.
pub(super) struct Ticket {
    lane: Arc<Lane>,
    claim: Claim,
}

/// Which response is ours.
#[derive(Clone, Copy)]
pub(super) struct Claim {
    place: u32,
    serial: u64,
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if self.lane.is_ours() {
            let mut state = self.lane.lock();
            state.abandon(self.claim, &self.lane.tallies);
            let kept = state.release();
            drop(state);
            drop(kept);
        }
    }
}

/// What becomes of a request that is submitted.
pub(super) enum Submission {
    /// It is in the ring.
    Done(Ticket),
    /// It was, and its batch was full.
    Complete(Response),
    /// Its connection is alone: it is to run at once.
    Lone(Request),
    /// The ring is full.
    Full(Request),
    /// There is no file descriptor to pause with.
    Unready(Request),
}

impl Lane {
    /// A lane of this thread.
    pub(super) fn new(runtime: &Arc<Runtime>, depth: usize, tallies: &Arc<Tallies>) -> Arc<Lane> {
        let state = State {
            runtime: Arc::downgrade(runtime),
            depth,
            single: None,
            ring: None,
            stack: None,
            single_stack: None,
            places: Vec::new(),
            free: Vec::new(),
            pending: 0,
            ready: 0,
            submissions: 0,
            company: Company::default(),
            held: Vec::new(),
            company_of_pieces: Company::default(),
            kept: None,
        };
        Arc::new(Lane {
            generation: fork_generation(),
            tallies: tallies.clone(),
            state: Mutex::new(state),
        })
    }

    /// Whether it was made in this process. Another one's must not be locked: whoever holds the
    /// lock may not exist here.
    pub(super) fn is_ours(&self) -> bool {
        self.generation == fork_generation()
    }

    /// Whether the provider that it was made for is loaded.
    pub(super) fn is_used(&self) -> bool {
        self.is_ours() && self.lock().runtime.strong_count() > 0
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // The state is consistent wherever something in it can panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs a request at once; on a stack of the lane's where the caller's may be small.
    pub(super) fn at_once(&self, request: Request, small_stack: bool) -> Result<Response> {
        let mut state = self.lock();
        let State { runtime, single, stack, single_stack, .. } = &mut *state;
        if !small_stack {
            return run(open(single, runtime, 1)?, request);
        }
        // Opening an instance takes more of a stack than an operation does.
        let single = match single {
            Some(single) => single,
            None => on_stack(stack, || open(single, runtime, 1))??,
        };
        on_stack(single_stack, || run(single, request))?
    }

    /// Calls a function on the lane's stack. It must not pause the job.
    pub(super) fn on_stack<R>(&self, f: impl FnOnce() -> R) -> Result<R> {
        on_stack(&mut self.lock().stack, f)
    }

    /// Whether the lane's few connections are to run their next piece at once. Where not, it is
    /// submitted next.
    pub(super) fn skips_piece(&self) -> bool {
        let mut state = self.lock();
        let alone = state.is_empty();
        let company = &mut state.company_of_pieces;
        let doubled = company.lone.saturating_sub(LONE_AFTER).min(4);
        let skips = alone && company.skips(PIECE_PROBE << doubled);
        company.skipped += u32::from(skips);
        skips
    }

    /// Submits a request, if the job is `ready` to pause. `fewest`: of a piece of a text, how many
    /// side by side are quicker than one after the other. `always`: a lone connection's too.
    pub(super) fn submit(
        self: &Arc<Self>,
        request: Request,
        fewest: Option<usize>,
        always: bool,
        mut ready: impl FnMut() -> bool,
    ) -> Result<Submission> {
        let mut state = self.lock();
        if fewest.is_none() && !always && state.is_empty() && state.company.skips(LONE_PROBE) {
            state.company.skipped += 1;
            return Ok(Submission::Lone(request));
        }
        let depth = state.depth;
        let State { runtime, ring, stack, .. } = &mut *state;
        let free = match ring {
            Some(ring) => ring.free(),
            None => on_stack(stack, || open(ring, runtime, depth).map(|ring| ring.free()))??,
        };
        if free <= state.held.len() {
            // Jobs that are never resumed must not keep others out: nobody else would execute.
            if state.places.iter().any(|place| matches!(place.slot, Slot::Waiting)) {
                return Ok(Submission::Full(request));
            }
            state.execute(false)?;
        }
        // The last of a batch of pieces does not pause, and so must not get ready to.
        let last = fewest.is_some() && state.held.len() + 1 >= pieces::BATCH;
        if !last && !ready() {
            return Ok(Submission::Unready(request));
        }
        let claim = state.claim();
        let request = request.tag(u64::from(claim.place));
        state.submissions += 1;
        if let Some(fewest) = fewest {
            state.company_of_pieces.skipped = 0;
            state.held.push(Held { request, fewest });
            if last {
                state.execute(true)?;
                if let Some(response) = state.take(claim)? {
                    return Ok(Submission::Complete(response));
                }
                return Err(Reason::DeviceFailed.into());
            }
        } else {
            if let Some(Err(full)) = state.ring.as_mut().map(|ring| ring.push(request)) {
                state.free(claim.place);
                return Ok(Submission::Full(full.0));
            }
            state.company.skipped = 0;
            state.pending += 1;
        }
        drop(state);
        Ok(Submission::Done(Ticket { lane: self.clone(), claim }))
    }

    /// Executes everything that is submitted.
    pub(super) fn flush(&self) -> Result<()> {
        self.lock().execute(false)
    }

    /// A job was resumed: its response; or else it is to pause again, because others are about to
    /// join it. `seen` is how many had been submitted when it paused, `rounds` how often it did;
    /// `now` when it cannot pause again.
    pub(super) fn resume(
        &self,
        claim: Claim,
        seen: &mut u64,
        rounds: u32,
        now: bool,
    ) -> Result<Option<Response>> {
        let mut state = self.lock();
        let response = state.resume(claim, seen, rounds, now);
        let kept = state.release();
        drop(state);
        drop(kept);
        response
    }

    /// The lane's thread ends: jobs of it may be resumed by others.
    pub(super) fn orphan(self: &Arc<Self>) {
        if self.is_ours() {
            let mut state = self.lock();
            if state.free.len() < state.places.len() {
                state.kept = Some(self.clone());
            }
        }
    }
}

impl Ticket {
    /// Whether a job is to take the response yet.
    pub(super) fn is_awaited(&self) -> bool {
        self.lane.is_ours() && {
            let state = self.lane.lock();
            let place = &state.places[self.claim.place as usize];
            place.serial == self.claim.serial && matches!(place.slot, Slot::Waiting | Slot::Done(_))
        }
    }

    pub(super) fn claim(&self) -> Claim {
        self.claim
    }

    /// What the job keeps on its stack: the lane, and how many had been submitted.
    pub(super) fn paused(&self) -> (Weak<Lane>, u64) {
        (Arc::downgrade(&self.lane), self.lane.lock().submissions)
    }
}

/// Opens an instance at its first use.
fn open<'a>(
    slot: &'a mut Option<Instance>,
    runtime: &Weak<Runtime>,
    depth: usize,
) -> Result<&'a mut Instance> {
    if slot.is_none() {
        let runtime = runtime.upgrade().ok_or(Reason::DeviceFailed)?;
        *slot = Some(runtime.instance(InstanceConfig { depth, ..InstanceConfig::default() })?);
    }
    slot.as_mut().ok_or_else(|| Reason::Internal.into())
}

fn on_stack<R>(slot: &mut Option<Stack>, f: impl FnOnce() -> R) -> Result<R> {
    if slot.is_none() {
        *slot = Some(Stack::new().ok_or_else(|| Error::new(Reason::System, "no memory"))?);
    }
    let stack = slot.as_mut().ok_or(Reason::Internal)?;
    Ok(stack.run(f))
}

/// One request from push to response.
fn run(instance: &mut Instance, request: Request) -> Result<Response> {
    instance.push(request).map_err(|_| Reason::RingFull)?;
    loop {
        if let Some(response) = instance.poll().next() {
            return Ok(response);
        }
        // With 0 engines the poll executes; this is for devices that need time.
        instance.wait(Duration::from_secs(1));
    }
}

impl State {
    /// Whether nothing is submitted.
    fn is_empty(&self) -> bool {
        self.pending == 0 && self.held.is_empty()
    }

    fn claim(&mut self) -> Claim {
        let place = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { serial: 0, slot: Slot::Free });
            self.places.len() as u32 - 1
        });
        let claimed = &mut self.places[place as usize];
        claimed.serial += 1;
        claimed.slot = Slot::Waiting;
        Claim { place, serial: claimed.serial }
    }

    fn free(&mut self, place: u32) {
        self.places[place as usize].slot = Slot::Free;
        self.free.push(place);
    }

    /// The response of this claim, if it is there.
    fn take(&mut self, claim: Claim) -> Result<Option<Response>> {
        let place = &mut self.places[claim.place as usize];
        if place.serial != claim.serial {
            return Err(Reason::Abandoned.into());
        }
        match core::mem::replace(&mut place.slot, Slot::Free) {
            Slot::Done(response) => {
                self.ready -= 1;
                self.free.push(claim.place);
                Ok(Some(response))
            }
            Slot::Waiting => {
                place.slot = Slot::Waiting;
                Ok(None)
            }
            other => {
                place.slot = other;
                Err(Reason::Abandoned.into())
            }
        }
    }

    fn abandon(&mut self, claim: Claim, tallies: &Tallies) {
        let place = &mut self.places[claim.place as usize];
        if place.serial != claim.serial {
            return;
        }
        match core::mem::replace(&mut place.slot, Slot::Free) {
            Slot::Waiting => {
                // It is executed with the next batch, and its response dropped; or not at all.
                place.slot = Slot::Abandoned;
                count(&tallies.abandoned);
                let held = self.held.len();
                self.held.retain(|piece| piece.request.tag != u64::from(claim.place));
                if self.held.len() < held {
                    self.free(claim.place);
                }
            }
            Slot::Done(_) => {
                self.ready -= 1;
                self.free.push(claim.place);
                count(&tallies.abandoned);
            }
            other => place.slot = other,
        }
    }

    /// What keeps the lane of an ended thread, when nothing needs it any more.
    fn release(&mut self) -> Option<Arc<Lane>> {
        let unused = self.places.iter().all(|p| !matches!(p.slot, Slot::Waiting | Slot::Done(_)));
        if self.kept.is_some() && unused { self.kept.take() } else { None }
    }

    fn resume(
        &mut self,
        claim: Claim,
        seen: &mut u64,
        rounds: u32,
        now: bool,
    ) -> Result<Option<Response>> {
        if let Some(response) = self.take(claim)? {
            return Ok(Some(response));
        }
        if self.pending >= BATCH || self.held.len() >= pieces::BATCH {
            self.execute(true)?;
            if let Some(response) = self.take(claim)? {
                return Ok(Some(response));
            }
        }
        let joined = core::mem::replace(seen, self.submissions) != self.submissions;
        if joined && self.ready > 0 && rounds < PATIENCE && !now {
            return Ok(None);
        }
        self.execute(false)?;
        self.take(claim)?.map(Some).ok_or_else(|| Reason::DeviceFailed.into())
    }

    /// Executes all full batches, or everything.
    fn execute(&mut self, full: bool) -> Result<()> {
        let pieces = self.release_pieces(full);
        let full = full && !pieces;
        let Some(ring) = &mut self.ring else { return Ok(()) };
        let mut responses = Vec::with_capacity(self.pending);
        on_stack(&mut self.stack, || {
            loop {
                let before = responses.len();
                if full {
                    responses.extend(ring.poll_full());
                } else {
                    responses.extend(ring.poll());
                }
                if full || ring.outstanding() == 0 {
                    break;
                }
                if responses.len() == before {
                    // With 0 engines the poll executes; this is for devices that need time.
                    ring.wait(Duration::from_secs(1));
                }
            }
        })?;
        if !pieces && !responses.is_empty() {
            self.company.found(responses.len() > 1 || full);
        }
        self.pending -= responses.len();
        responses.into_iter().for_each(|response| self.done(response));
        Ok(())
    }

    /// Keeps a response for its job.
    pub(super) fn done(&mut self, response: Response) {
        let index = response.tag as usize;
        let place = &mut self.places[index];
        match core::mem::replace(&mut place.slot, Slot::Free) {
            Slot::Waiting => {
                place.slot = Slot::Done(response);
                self.ready += 1;
            }
            // Nobody wants it: the buffers are overwritten when dropped.
            _ => self.free.push(index as u32),
        }
    }
}
