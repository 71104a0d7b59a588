//! Asynchronous operations with engines: other threads execute, and ring when they are done.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    io::Write as _,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use lookaside::{Call, Counters, Handle, Request, Response, Runtime, fork_generation};

use super::{Attached, Outstanding, fibre};
use crate::{
    error::{Reason, Result},
    statistics::{Tallies, count},
};

/// A runtime with engines.
pub(super) struct Pool {
    runtime: Runtime,
    handle: Handle,
    depth: usize,
    in_flight: Arc<AtomicUsize>,
    /// How many engines were asked for.
    wanted: usize,
    /// How many there are in this process, and below that, in 32 bits, its generation.
    running: AtomicU64,
}

/// A submitted operation. Dropped with its wait context, it is abandoned.
pub(super) struct Running {
    generation: u32,
    /// `None` when the response was taken.
    call: Mutex<Option<Call>>,
    in_flight: Arc<AtomicUsize>,
}

impl Running {
    /// Whether its response was not taken yet.
    pub(super) fn is_awaited(&self) -> bool {
        self.generation == fork_generation()
            && self.call.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // What was taken is counted no more, however long its wait context lives.
        if self.call.get_mut().unwrap_or_else(PoisonError::into_inner).is_some() {
            self.in_flight.fetch_sub(1, Relaxed);
        }
    }
}

impl Pool {
    /// Of a runtime that was just started with so many engines.
    pub(super) fn new(runtime: Runtime, wanted: usize, depth: usize) -> Pool {
        let pool = Pool {
            handle: runtime.handle(),
            runtime,
            depth,
            in_flight: Arc::default(),
            wanted,
            running: AtomicU64::new(0),
        };
        pool.count_engines();
        pool
    }

    /// How many engines run in this process; `None` in a forked child that has not asked for them.
    pub(super) fn engines(&self) -> Option<usize> {
        let running = self.running.load(Relaxed);
        (running as u32 == fork_generation()).then_some((running >> 32) as usize)
    }

    /// Counts the engines of this process. In a forked child that starts them, which takes more of a
    /// stack than a job has. Where the system refuses threads, says so: once for each process.
    pub(super) fn count_engines(&self) -> usize {
        let engines = self.runtime.engines();
        let known = (engines as u64) << 32 | u64::from(fork_generation());
        let first = self.running.swap(known, Relaxed) != known;
        if let Some(why) = self.missing().filter(|_| first) {
            // A daemon may have closed it.
            let _ = writeln!(std::io::stderr(), "lookaside: {why}");
        }
        engines
    }

    /// What to say where fewer engines run in this process than were asked for.
    pub(super) fn missing(&self) -> Option<String> {
        let engines = self.engines().filter(|&engines| engines < self.wanted)?;
        let why = self.runtime.engines_refused().map(|e| e.to_string()).unwrap_or_default();
        let then = match engines {
            0 => "operations run on the threads that submit them",
            _ => "these serve",
        };
        Some(format!("{engines} of {} engines run ({why}): {then}", self.wanted))
    }

    /// The counters of the runtime; none in a forked child that has not asked for engines.
    pub(super) fn counters(&self) -> Option<Counters> {
        self.engines().map(|_| self.runtime.counters())
    }

    /// Whether as many operations are outstanding as may be.
    pub(super) fn is_full(&self) -> bool {
        self.in_flight.load(Relaxed) >= self.depth
    }

    /// Submits a request. In a forked child the first one sets up a runtime, which takes more of a
    /// stack than a job has.
    pub(super) fn call(&self, request: Request) -> Call {
        self.handle.call(request)
    }

    /// Awaits the response for the current job, which pauses meanwhile.
    pub(super) fn run(
        &self,
        call: Call,
        attached: &Attached,
        tallies: &Tallies,
    ) -> Result<Response> {
        let ringer = attached.ringer();
        self.in_flight.fetch_add(1, Relaxed);
        let running = Arc::new(Running {
            generation: fork_generation(),
            call: Mutex::new(Some(call)),
            in_flight: self.in_flight.clone(),
        });
        // The stack of a job that is never resumed is never unwound: what is on it holds nothing.
        let ours = Arc::downgrade(&running);
        let fresh = attached.is_fresh();
        let waker = Waker::from(ringer.clone());
        attached.leave(Outstanding::Pool(running));
        let mut response = take(&ours, &waker, true)?;
        if response.is_some() && fresh {
            // Done already, and nobody has been told.
            fibre::ring(&ringer);
            fibre::pause(false);
            silence(&ours, attached, 0);
        }
        while response.is_none() {
            count(&tallies.pauses);
            let paused = fibre::pause(false);
            // Before looking: what is done after that rings again.
            silence(&ours, attached, 1);
            response = take(&ours, &waker, paused)?;
        }
        response.ok_or_else(|| Reason::Internal.into())
    }
}

/// After a pause: takes back that the fd is readable, unless the wait context is gone.
fn silence(ours: &Weak<Running>, attached: &Attached, own: usize) {
    if ours.strong_count() > 0 {
        attached.silence(own);
    }
}

/// The response if it is there; when the job cannot pause, waits for it.
fn take(ours: &Weak<Running>, waker: &Waker, can_pause: bool) -> Result<Option<Response>> {
    let running = ours.upgrade().ok_or(Reason::Abandoned)?;
    if running.generation != fork_generation() {
        return Err(Reason::Abandoned.into());
    }
    let mut slot = running.call.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(mut call) = slot.take() else { return Err(Reason::Abandoned.into()) };
    let response = if can_pause {
        match Pin::new(&mut call).poll(&mut Context::from_waker(waker)) {
            Poll::Ready(response) => response,
            Poll::Pending => {
                *slot = Some(call);
                return Ok(None);
            }
        }
    } else {
        call.wait()
    };
    running.in_flight.fetch_sub(1, Relaxed);
    Ok(Some(response))
}
