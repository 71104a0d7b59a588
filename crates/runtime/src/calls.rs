//! Handles: any number of threads and tasks that call the device without an instance of their
//! own. A call is a future, and its blocking `wait` is the same path.

use core::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, Waker},
};
use std::{
    sync::{Arc, Mutex},
    thread::{self, Thread},
};

use lookaside_core::{Buf, Lost, Op, OpError, Request, Response, Work, probes};

use crate::{
    clock::Clock,
    engine::{Engine, Shared},
    fork,
    instance::Outlet,
    port::{self, Advance, Port, Sink},
    runtime::{Inner, State, lock},
};

enum Waiter {
    None,
    Task(Waker),
    Thread(Thread),
}

impl Waiter {
    fn is_same(&self, other: &Waiter) -> bool {
        match (self, other) {
            (Waiter::Task(a), Waiter::Task(b)) => a.will_wake(b),
            (Waiter::Thread(a), Waiter::Thread(b)) => a.id() == b.id(),
            _ => false,
        }
    }

    fn wake(self) {
        match self {
            Waiter::None => {}
            Waiter::Task(w) => w.wake(),
            Waiter::Thread(t) => t.unpark(),
        }
    }
}

enum Slot {
    Free,
    /// Submitted; the tag is the caller's.
    Pending(u64, Waiter),
    /// Submitted, and nobody wants the response: the slot keeps the buffers until it is there.
    Abandoned,
    Done(Response, Option<Advance>),
}

#[derive(Default)]
struct Table {
    /// One for each call that was submitted and is not over; grows with the calls that live.
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// How many requests are in the ring or at a device, and how many may be.
    in_flight: usize,
    depth: usize,
    /// Slots of the ring that no request uses; made at the first need, then kept.
    spare: Vec<Work>,
    /// Calls that found the ring full.
    room: Vec<Waiter>,
}

/// The calls that are outstanding.
pub(crate) struct Calls(Mutex<Table>);

impl Calls {
    pub(crate) fn new(depth: usize) -> Calls {
        Calls(Mutex::new(Table { depth, ..Table::default() }))
    }

    /// Claims a slot and a place in the ring for a call with this tag and operation.
    fn claim(&self, tag: u64, op: Op) -> Option<(u32, Work)> {
        let mut table = self.0.lock().ok()?;
        if table.in_flight == table.depth {
            probes::full(op, table.depth);
            return None;
        }
        table.in_flight += 1;
        let slot = table.free.pop().unwrap_or_else(|| {
            table.slots.push(Slot::Free);
            table.slots.len() as u32 - 1
        });
        table.slots[slot as usize] = Slot::Pending(tag, Waiter::None);
        Some((slot, table.spare.pop().unwrap_or_else(Work::empty)))
    }

    /// Has this one woken when there may be room in the ring.
    fn await_room(&self, waiter: Waiter) {
        if let Ok(mut table) = self.0.lock() {
            if table.in_flight == table.depth {
                // One that asks again and again stands in the row once.
                let known = table.room.iter().any(|w| w.is_same(&waiter));
                if !known {
                    return table.room.push(waiter);
                }
                // Dropping a waker may run code of its owner.
                drop(table);
                drop(waiter);
            } else {
                drop(table);
                waiter.wake();
            }
        }
    }

    pub(crate) fn deliver(&self, mut work: Work) {
        probes::polled(&work);
        let Some((mut response, advance)) = port::open(&mut work) else { return };
        let Ok(mut table) = self.0.lock() else { return };
        table.spare.push(work);
        table.in_flight -= 1;
        let room = core::mem::take(&mut table.room);
        let slot = response.tag as u32;
        let waiter = match table.release(slot) {
            Slot::Pending(tag, waiter) => {
                response.tag = tag;
                table.slots[slot as usize] = Slot::Done(response, advance);
                waiter
            }
            // Abandoned. The response is dropped at the end, the lock is not held then.
            _ => {
                table.free.push(slot);
                Waiter::None
            }
        };
        drop(table);
        waiter.wake();
        room.into_iter().for_each(Waiter::wake);
    }

    /// The response, or else this waiter is woken when it is there.
    fn take(&self, slot: u32, waiter: Waiter) -> Option<Response> {
        let mut table = self.0.lock().ok()?;
        match table.release(slot) {
            Slot::Done(response, advance) => {
                table.free.push(slot);
                advance.into_iter().for_each(Advance::taken);
                Some(response)
            }
            Slot::Pending(tag, before) => {
                table.slots[slot as usize] = Slot::Pending(tag, waiter);
                // Dropping a waker may run code of its owner.
                drop(table);
                drop(before);
                None
            }
            other => {
                table.slots[slot as usize] = other;
                None
            }
        }
    }

    fn is_pending(&self, slot: u32) -> bool {
        let pending = |slot: &Slot| matches!(slot, Slot::Pending(..));
        self.0.lock().is_ok_and(|table| pending(&table.slots[slot as usize]))
    }

    /// Nobody wants this response.
    fn abandon(&self, slot: u32) {
        let Ok(mut table) = self.0.lock() else { return };
        let before = table.release(slot);
        match before {
            Slot::Done(..) => table.free.push(slot),
            _ => table.slots[slot as usize] = Slot::Abandoned,
        }
        drop(table);
        // Behind the lock: a waker, or what frees a buffer, may run code of its owner.
        drop(before);
    }
}

impl Table {
    fn release(&mut self, slot: u32) -> Slot {
        core::mem::replace(&mut self.slots[slot as usize], Slot::Free)
    }
}

/// With 0 engines, how long one caller sleeps for a device while others may have requests.
const REST_NS: u64 = 1_000_000;

/// What all handles of a runtime share.
pub(crate) struct Hub {
    pub(crate) outlet: Mutex<Outlet>,
    pub(crate) port: Arc<Port>,
    pub(crate) shared: Arc<Shared>,
    /// With 0 engines, the one that callers step themselves.
    pub(crate) engine: Option<Mutex<Engine>>,
}

impl Hub {
    fn calls(&self) -> Option<&Calls> {
        match &self.port.sink {
            Sink::Calls(calls) => Some(calls),
            Sink::Ring { .. } | Sink::Own(_) => None,
        }
    }

    /// Pushes the request of a claimed slot. Returns its number. There is room for one request
    /// for each slot.
    fn push(&self, work: Work, clock: &dyn Clock) -> Result<u64, Work> {
        let mut outlet = lock(&self.outlet);
        let seq = outlet.seq();
        outlet.push(work, clock)?;
        outlet.publish();
        drop(outlet);
        self.shared.ring(false);
        Ok(seq)
    }

    /// The caller has nothing else to do: this request is to run now, or all that are in the ring
    /// when its own is not yet among them.
    fn flush(&self, request: Option<u64>) {
        let seq = match request {
            Some(seq) => seq + 1,
            None => lock(&self.outlet).seq(),
        };
        if self.port.flush(seq) {
            self.shared.ring(false);
        }
    }

    /// Nobody wants the response of this call: its request need not run.
    fn abandon(&self, slot: u32) {
        let Some(calls) = self.calls() else { return };
        // First: once it is abandoned, another call may have the slot.
        if calls.is_pending(slot) {
            self.shared.cancel(lock(&self.outlet).place(), u64::from(slot));
        }
        calls.abandon(slot);
    }

    /// With 0 engines, executes requests. Returns whether to look again at once: something moved,
    /// or another thread is at it.
    fn step(&self, clock: &dyn Clock) -> bool {
        let Some(engine) = &self.engine else { return false };
        match engine.try_lock() {
            Ok(mut engine) => {
                let now = clock.now_ns();
                let step = engine.step(now);
                if !step.progress && (step.in_flight > 0 || step.until_ns.is_some()) {
                    engine.rest(&step, now, now.saturating_add(REST_NS), clock);
                }
                true
            }
            Err(_) => {
                thread::yield_now();
                true
            }
        }
    }
}

/// A cheap way to the device for any thread or task: `Clone + Send + Sync`.
///
/// An [`crate::Instance`] has less overhead and gives the caller the batching; a handle is for
/// code that has one request at a time in each of many places.
#[derive(Clone)]
pub struct Handle(pub(crate) Arc<Inner>);

impl Handle {
    /// Submits a request. The call is a future, and [`Call::wait`] blocks for it. When as many
    /// calls as the runtime allows are outstanding, this one is submitted as soon as one of them
    /// ends (while it is polled or waited for).
    pub fn call(&self, request: Request) -> Call {
        let tag = request.tag;
        let mut call = Call {
            inner: self.0.clone(),
            generation: fork::generation(),
            tag,
            stage: Stage::Queued(request),
            yielded: false,
        };
        call.submit();
        call
    }
}

enum Stage {
    /// No slot was free.
    Queued(Request),
    Submitted(u32, u64),
    /// The response has been handed out, or never will be.
    Over,
}

impl Stage {
    /// The number of the request in the ring, if it is there.
    fn seq(&self) -> Option<u64> {
        match self {
            Stage::Submitted(_, seq) => Some(*seq),
            _ => None,
        }
    }
}

/// One request of a [`Handle`]. Dropping it cancels it if no engine has begun with it, and abandons the
/// answer; its buffers are freed when it is answered (with 0 engines, when another call is waited for). A
/// stream whose call is dropped has lost output: do not go on with it.
#[must_use = "a call that is dropped throws its response away"]
pub struct Call {
    inner: Arc<Inner>,
    generation: u32,
    tag: u64,
    stage: Stage,
    yielded: bool,
}

impl Call {
    /// Blocks until the response is there. With 0 engines, this thread executes it.
    pub fn wait(mut self) -> Response {
        loop {
            if let Some(response) = self.attempt(|| Waiter::Thread(thread::current())) {
                return response;
            }
            let stepped = self.state().is_some_and(|state| {
                state.hub().flush(self.stage.seq());
                state.hub().step(&*self.inner.clock)
            });
            if !stepped {
                thread::park();
            }
        }
    }

    fn state(&self) -> Option<Arc<State>> {
        (fork::generation() == self.generation).then(|| self.inner.state().ok()).flatten()
    }

    /// The response if it is there; otherwise the waiter will be woken.
    fn attempt(&mut self, waiter: impl Fn() -> Waiter) -> Option<Response> {
        self.submit();
        let state = self.state();
        let Some(calls) = state.as_ref().and_then(|s| s.hub().calls()) else {
            return Some(self.lost());
        };
        match self.stage {
            Stage::Queued(_) => {
                calls.await_room(waiter());
                None
            }
            Stage::Submitted(slot, _) => {
                let response = calls.take(slot, waiter())?;
                self.stage = Stage::Over;
                Some(response)
            }
            Stage::Over => Some(self.lost()),
        }
    }

    /// After a fork, the response went to the parent; and where no engine can be had, there is
    /// none.
    fn lost(&mut self) -> Response {
        let (lost, src, dst, carried) = match core::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Queued(r) => (Lost::Untouched, r.src, r.dst, r.carried),
            _ => (Lost::Touched, Buf::empty(), Buf::empty(), None),
        };
        Response { tag: self.tag, result: Err(OpError::DeviceLost(lost)), src, dst, carried }
    }

    fn submit(&mut self) {
        let Stage::Queued(request) = &self.stage else { return };
        let Some(state) = self.state() else { return };
        let claimed = state.hub().calls().and_then(|c| c.claim(self.tag, request.op));
        let Some((slot, mut work)) = claimed else { return };
        let Stage::Queued(request) = core::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        work.fill(request.tag(u64::from(slot)));
        self.stage = match state.hub().push(work, &*self.inner.clock) {
            Ok(seq) => Stage::Submitted(slot, seq),
            // There is a place in the ring for each claim.
            Err(_) => Stage::Over,
        };
    }
}

impl Future for Call {
    type Output = Response;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let this = &mut *self;
        loop {
            if let Some(response) = this.attempt(|| Waiter::Task(cx.waker().clone())) {
                return Poll::Ready(response);
            }
            let Some(state) = this.state().filter(|s| s.hub().engine.is_some()) else {
                // The batch deadline collects what other tasks submit meanwhile.
                return Poll::Pending;
            };
            if !core::mem::replace(&mut this.yielded, true) {
                // Let the other tasks submit first: the second visit runs all that came together.
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            state.hub().flush(this.stage.seq());
            state.hub().step(&*this.inner.clock);
        }
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        if let (Stage::Submitted(slot, _), Some(state)) = (&self.stage, self.state()) {
            state.hub().abandon(*slot);
        }
    }
}

#[expect(dead_code, reason = "states the auto traits that callers rely on")]
fn is_thread_safe(h: Handle, c: Call) -> impl Send {
    fn sync<T: Send + Sync + Clone>(t: T) -> T {
        t
    }
    (sync(h), c)
}
