//! Execution: which operations run at once, which pause the job they run in, and when what was
//! submitted is executed.
//!
//! # At once
//!
//! Outside of an `ASYNC_JOB`, and inside one for operations that do not gain by it (the setting
//! `async`; and with 0 engines those that the device does not run side by side on this CPU), a
//! request goes through an instance of the thread's own, with 0 engines: the call
//! executes it and returns. That costs about 0.4 µs more than the operation. With `async = all`
//! everything that can pause does, whether it gains or not: to try the asynchronous way on any CPU.
//!
//! # Asynchronous, with 0 engines
//!
//! A job submits its request to its thread's lane, and pauses. Nothing executes yet. The batch is
//! to run when it is full or when the application has nothing more to submit, and the one who
//! knows that is the application's event loop. So what it waits on is *readable from the start*
//! (`fibre.rs`): the loop serves whatever else was ready before, other connections submit, and then
//! it comes back and resumes the first job. There are no timers and no threads, and there is
//! always somebody to wake the application: itself. On being resumed, a job
//!
//! 1. takes its response, if an earlier one's batch has brought it;
//! 2. otherwise, with a batch's worth pending, executes the *full* batches alone. The rest stays:
//!    the jobs just completed are about to be resumed, and submit again. In a loop over 36 jobs
//!    (`openssl speed -async_jobs 36`) the first pass runs 32 and leaves 4; job 33 finds 36 pending
//!    and runs 32; from there on every batch is full, whatever the number of jobs from 8 up;
//! 3. otherwise pauses again, if others have submitted since it paused, and jobs that are complete
//!    have not been resumed (they will submit again, and so join); twice at most;
//! 4. otherwise executes everything. Everybody has had a turn since it paused: an event loop is a
//!    queue, and what was ready before this job was resumed before it. With fewer than 8 jobs in a
//!    loop, this makes one batch of all of them, and each pauses once per operation.
//!
//! HAProxy 2.6 fits exactly: it runs one handshake step per turn of its loop, in the order in which
//! they became ready, and a paused one goes to the end of the queue when its fd is found readable.
//! A batch is what one turn of the queue has submitted.
//!
//! Measured with `openssl speed -async_jobs N rsa2048` (OpenSSL 3.0.22, Sapphire Rapids, AVX-512
//! IFMA; operations per second relative to OpenSSL alone in the same minute): N = 1: 0.99 x, 2:
//! 1.02 x, 4: 1.80 x, 8: 3.50 x, 12: 3.48 x, 36: 3.57 x. Of 409 batches at N = 36, all but the
//! last one of 4 had 8; each operation paused once. X25519 at N = 36: 5.6 x. A rule that also
//! pauses again whenever others have submitted since (and none of them is complete) pauses each
//! operation twice for N from 2 to 7, and makes the same batches there.
//!
//! Pieces of texts (symmetric operations) are held until 32 of them have come, or a job is resumed as
//! above; the 32nd runs all of them without a pause. Too few of a kind are given back to their jobs,
//! which run them at once (`pieces.rs`).
//!
//! # Alone
//!
//! A job that is alone gains nothing from a pause. After four executions of one request alone,
//! operations run at once as long as nothing is pending; every sixteenth is submitted all the
//! same (of pieces of texts, every 64th). When load rises, one of those meets another (while it waits, all others have their turn),
//! and pausing is back within sixteen operations. This is what keeps one connection's latency that
//! of plain OpenSSL.
//!
//! # Asynchronous, with engines
//!
//! The request goes to the engines through a [`lookaside::Handle`]; the fd becomes readable (or the
//! callback is called) when the response is there (`pool.rs`). A process that cannot start threads
//! (HAProxy's workers may have none) goes on as with 0 engines, and says so.
//!
//! # What can happen to a job
//!
//! It may be resumed by another thread: it finds its lane by what is on its stack, not by the
//! thread. It may never be resumed, and its stack, with everything on it, leaks: so buffers are
//! owned by the request, the stack holds a weak reference, and what is outstanding lies in the wait
//! context. When that is freed, the operation is abandoned: it runs with the next batch, and its
//! buffers are overwritten and freed. It may be resumed after that, or in a forked child: an error.
//! Its stack is small: what executes, and what prepares a key for that, runs on one of the lane's
//! (`stack.rs`).
//!
//! All sessions are made by the runtime without engines and used with both: both have the same
//! devices in the same order.

mod fibre;
mod lent;
mod local;
mod pieces;
mod pool;
mod ring;
mod stack;

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use lookaside::{Buf, Counters, Op, OpError, Prepared, Request, Response, Runtime, SetupError};

use crate::{
    error::{Reason, Result},
    settings::{Policy, Settings},
    statistics::{Tallies, Tally, count},
};
use fibre::{Attached, Fibre};
use pool::{Pool, Running};
use ring::{Lane, Submission, Ticket};

/// What a wait context holds for a paused job.
enum Outstanding {
    Ring(Ticket),
    Pool(Arc<Running>),
}

impl Outstanding {
    /// Whether a job still waits for it.
    fn is_awaited(&self) -> bool {
        match self {
            Outstanding::Ring(ticket) => ticket.is_awaited(),
            Outstanding::Pool(running) => running.is_awaited(),
        }
    }
}

/// What an operation has written.
pub struct Answer {
    dst: Buf,
    len: usize,
}

impl Answer {
    fn open(response: Response) -> Result<Answer> {
        match response.result {
            Ok(done) => Ok(Answer { dst: response.dst, len: done.produced }),
            Err(e) => Err(e.into()),
        }
    }
}

impl core::ops::Deref for Answer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.dst.as_slice().and_then(|bytes| bytes.get(..self.len)).unwrap_or_default()
    }
}

/// Where requests are executed.
pub struct Lanes {
    /// Tells the lanes of several providers apart.
    id: u64,
    local: local::Local,
    pool: Option<Pool>,
    pausing: Vec<bool>,
    /// Whether these pause where they gain nothing by it, too.
    always: bool,
    rsa_bytes: usize,
    policy: Policy,
    depth: usize,
    tallies: Arc<Tallies>,
}

/// This thread's lanes, one for each provider.
#[derive(Default)]
struct Local(Vec<(u64, Arc<Lane>)>);

impl Drop for Local {
    fn drop(&mut self) {
        self.0.iter().for_each(|(_, lane)| lane.orphan());
    }
}

thread_local! {
    static LOCAL: RefCell<Local> = RefCell::default();
}

impl Lanes {
    /// Starts the runtime with engines, if there is to be one.
    pub fn start(settings: &Settings, tallies: &Arc<Tallies>) -> Result<Lanes> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let pool = match settings.engines {
            0 => None,
            n => Some(Pool::new(local::builder().engines(n).start()?, n, settings.depth)),
        };
        Ok(Lanes {
            id: NEXT.fetch_add(1, Relaxed),
            local: local::Local::default(),
            pool,
            pausing: settings.pausing.clone(),
            always: settings.always,
            rsa_bytes: (settings.rsa_bits as usize).div_ceil(8),
            policy: settings.policy,
            depth: settings.depth,
            tallies: tallies.clone(),
        })
    }

    /// Makes a session, which may take more of a stack than a job has.
    pub fn prepare<S>(
        &self,
        make: impl FnOnce(&Runtime) -> core::result::Result<S, SetupError>,
    ) -> Result<S> {
        let session = match Fibre::current() {
            Some(_) => {
                let runtime = self.local.runtime()?;
                self.lane()?.on_stack(|| make(runtime))?
            }
            None => make(self.local.runtime()?),
        };
        Ok(session?)
    }

    /// The counters of all runtimes.
    pub fn counters(&self) -> Vec<Counters> {
        let pool = self.pool.as_ref().and_then(Pool::counters);
        self.local.if_started().map(|local| local.counters()).into_iter().chain(pool).collect()
    }

    /// How many engines run in this process, as far as it has asked for them.
    pub fn engines(&self) -> usize {
        self.pool.as_ref().and_then(Pool::engines).unwrap_or(0)
    }

    /// What there is to say of engines that the system refused.
    pub fn engines_missing(&self) -> Option<String> {
        self.pool.as_ref().and_then(Pool::missing)
    }

    /// The engines, where there are any in this process.
    fn pool(&self) -> Option<&Pool> {
        let pool = self.pool.as_ref()?;
        let engines = match pool.engines() {
            Some(engines) => engines,
            None => self.with_deep_stack(|| pool.count_engines()).unwrap_or(0),
        };
        (engines > 0).then_some(pool)
    }

    /// Executes a request, at once or while the current job pauses.
    pub fn run(&self, request: Request) -> Result<Answer> {
        let tally = self.tallies.of(request.op);
        let answer = self.execute(request, tally).and_then(Answer::open);
        if answer.is_err() {
            count(&tally.errors);
        }
        answer
    }

    /// Executes a request at once, whatever the caller runs in: for what is no operation of its
    /// own, but a step of taking over or checking a key.
    pub fn run_at_once(&self, request: Request) -> Result<Answer> {
        let tally = self.tallies.of(request.op);
        count(&tally.synchronous);
        let small_stack = Fibre::current().is_some();
        let answer = self.at_once(request, small_stack).and_then(Answer::open);
        if answer.is_err() {
            count(&tally.errors);
        }
        answer
    }

    /// Executes a piece of a text while the current job pauses, if as many as `fewest` come
    /// together. Otherwise the response is [`OpError::Cancelled`], and the caller executes it.
    pub fn run_piece(&self, request: Request, fewest: usize) -> Result<Response> {
        let tally = self.tallies.of(request.op);
        let fewest = if self.always { 1 } else { fewest };
        let response = match (Fibre::current(), self.pool()) {
            (Some(_), _) if !self.pausing[request.op.index()] => self.at_once(request, true),
            (Some(fibre), None) => self.submit(&fibre, request, Some(fewest), tally),
            (Some(fibre), Some(pool)) => self.hand_over(pool, &fibre, request, tally),
            (None, _) => self.at_once(request, false),
        };
        match &response {
            Ok(Response { result: Ok(_) | Err(OpError::Cancelled), .. }) => {}
            _ => count(&tally.errors),
        }
        response
    }

    /// Runs what takes more of a stack than a job has, at once.
    pub fn with_deep_stack<R>(&self, f: impl FnOnce() -> R) -> Result<R> {
        match Fibre::current() {
            Some(_) => self.lane()?.on_stack(f),
            None => Ok(f()),
        }
    }

    /// Whether an operation may pause its caller: it is one that does, and runs in a job.
    #[inline]
    pub fn may_pause(&self, op: Op) -> bool {
        self.pausing[op.index()] && Fibre::current().is_some()
    }

    /// Whether a piece of a text, of a session that runs side by side, is to pause the caller: asked
    /// by who must copy it for that. If so, it goes to [`Lanes::run_piece`].
    pub fn pauses(&self, op: Op) -> bool {
        self.may_pause(op)
            && (self.always
                || self.pool().is_some()
                || self.lane().is_ok_and(|lane| !lane.skips_piece()))
    }

    fn execute(&self, request: Request, tally: &Tally) -> Result<Response> {
        let Some(fibre) = Fibre::current() else {
            count(&tally.synchronous);
            return self.at_once(request, false);
        };
        if !self.pays(&request) {
            count(&tally.direct);
            return self.at_once(request, true);
        }
        match self.pool() {
            None => self.submit(&fibre, request, None, tally),
            Some(pool) => self.hand_over(pool, &fibre, request, tally),
        }
    }

    /// Whether an operation gains by pausing. With 0 engines, one that the device does not run side
    /// by side (on this CPU, or for this size) has nothing to wait for.
    fn pays(&self, request: &Request) -> bool {
        let op = request.op.index();
        let batch = || {
            let own = request.session.prepared.iter().flatten().find_map(Prepared::own_best_batch);
            own.or_else(|| self.local.best_batch(request.op).ok()).unwrap_or(1)
        };
        self.pausing[op]
            && (request.op != Op::RsaPrivate || request.dst.len() >= self.rsa_bytes)
            && (self.always || self.pool().is_some() || batch() > 1)
    }

    /// This thread's lane. Never inlined: a job must not remember where its thread's variables
    /// were before it paused.
    #[inline(never)]
    fn lane(&self) -> Result<Arc<Lane>> {
        let runtime = self.local.runtime()?;
        let new = || Lane::new(runtime, self.depth, &self.tallies);
        let lane = LOCAL.try_with(|local| {
            let lanes = &mut local.borrow_mut().0;
            if let Some((_, lane)) =
                lanes.iter().find(|(id, lane)| *id == self.id && lane.is_ours())
            {
                return lane.clone();
            }
            lanes.retain(|(_, lane)| lane.is_used());
            let lane = new();
            lanes.push((self.id, lane.clone()));
            lane
        });
        // The thread's variables are gone: it ends, and this is one of its last calls.
        Ok(lane.unwrap_or_else(|_| new()))
    }

    fn at_once(&self, request: Request, small_stack: bool) -> Result<Response> {
        self.lane()?.at_once(request, small_stack)
    }

    /// With 0 engines: see the module's description.
    fn submit(
        &self,
        fibre: &Fibre,
        mut request: Request,
        fewest: Option<usize>,
        tally: &Tally,
    ) -> Result<Response> {
        let mut attached = None;
        let mut flushed = false;
        let ticket = loop {
            let ready = || {
                attached = fibre.attach(true);
                attached.is_some()
            };
            request = match self.lane()?.submit(request, fewest, self.always, ready)? {
                Submission::Done(ticket) => break ticket,
                Submission::Complete(response) => {
                    count(&tally.asynchronous);
                    return Ok(response);
                }
                Submission::Lone(request) => {
                    count(&tally.direct);
                    return self.at_once(request, true);
                }
                Submission::Full(request) if self.policy == Policy::Wait && !flushed => {
                    flushed = true;
                    self.lane()?.flush()?;
                    request
                }
                Submission::Full(_) if self.policy == Policy::Fail => {
                    return Err(Reason::RingFull.into());
                }
                Submission::Full(request) | Submission::Unready(request) => {
                    count(&tally.fallback);
                    return self.at_once(request, true);
                }
            };
        };
        count(&tally.asynchronous);
        let claim = ticket.claim();
        let (lane, mut seen) = ticket.paused();
        let attached = attached.ok_or(Reason::Internal)?;
        attached.leave(Outstanding::Ring(ticket));
        let mut rounds = 0;
        let response = loop {
            count(&self.tallies.pauses);
            let paused = fibre::pause(true);
            let lane = lane.upgrade().filter(|lane| lane.is_ours()).ok_or(Reason::Abandoned)?;
            if let Some(response) = lane.resume(claim, &mut seen, rounds, !paused)? {
                break response;
            }
            rounds += 1;
        };
        Ok(response)
    }

    fn hand_over(
        &self,
        pool: &Pool,
        fibre: &Fibre,
        request: Request,
        tally: &Tally,
    ) -> Result<Response> {
        // Calls beyond the ring's depth wait in line for it: that is the policy to wait.
        if pool.is_full() && self.policy == Policy::Fail {
            return Err(Reason::RingFull.into());
        }
        let room = !pool.is_full() || self.policy == Policy::Wait;
        let Some(attached) = room.then(|| fibre.attach(false)).flatten() else {
            count(&tally.fallback);
            return self.at_once(request, true);
        };
        count(&tally.asynchronous);
        let call = self.lane()?.on_stack(|| pool.call(request))?;
        pool.run(call, &attached, &self.tallies)
    }
}
