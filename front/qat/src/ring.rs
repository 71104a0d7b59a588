//! The rings of an instance: requests in, answers out to whoever polls.
//!
//! What a request's answer needs (the callback, where its result goes) is kept beside it in a slot, and not
//! allocated. With 0 engines requests wait in a queue for a thread that polls, which executes them outside of
//! the lock. An answer is completed by the thread that polls, outside of the lock too: callbacks submit again.
//!
//! Answers that are taken and not completed yet are a batch on the stack of that thread. [`drain`] waits for the
//! batches of other threads; in a callback it calls what is left of its own thread's.
#![allow(unsafe_code)]

mod batch;
mod gather;
mod pending;
mod queue;
mod room;

use core::{
    mem::MaybeUninit,
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};
use std::{
    collections::VecDeque,
    os::fd::{AsRawFd, RawFd},
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside::{Instance, InstanceConfig, Request, Response, fork_generation};

use crate::{
    flights::Flights,
    lock::{Guard, Lock},
    process::{self, Process},
    refusal::{Refusal, say},
    settings::Policy,
};

use batch::{AT_ONCE, Batch, Listed};
use pending::Pending;
pub use pending::{Complete, Landed};
use queue::{Queue, Slots};
use room::Room;

/// Who executes.
enum Executor {
    /// The threads that poll.
    Pollers(Queue),
    /// Engines, which all rings share.
    Engines(Box<Instance>),
}

struct Inner {
    executor: Executor,
    generation: u32,
    slots: Slots,
    free: Vec<u32>,
    /// Answers that wait for a poll: what was taken out to make room, or executed beside another ring's. The latter
    /// have their slots until then.
    done: VecDeque<(Pending, Response, Option<u32>)>,
}

/// The lock of a ring.
type Locked<'a> = Guard<'a, Option<Box<Inner>>>;

/// The most answers that wait for a poll where a full ring refuses nothing.
const MOST_DONE: usize = 65_536;

impl Inner {
    fn new(process: &Process, gathers: bool) -> Result<Inner, Refusal> {
        let depth = process.settings().depth;
        let executor = match process.settings().engines {
            0 => Executor::Pollers(Queue::new(depth, gathers)),
            _ => {
                let config = InstanceConfig { depth, ..InstanceConfig::default() };
                Executor::Engines(Box::new(process.runtime().instance(config)?))
            }
        };
        Ok(Inner {
            executor,
            generation: fork_generation(),
            slots: Slots::new(depth),
            // The last one is taken first: slots stay in the cache.
            free: (0..depth as u32).rev().collect(),
            done: VecDeque::new(),
        })
    }

    /// Makes engines, or who waits for a descriptor, look.
    #[inline]
    fn signal(&mut self) {
        match &mut self.executor {
            Executor::Pollers(queue) => queue.signal(),
            Executor::Engines(instance) => _ = instance.doorbell(),
        }
    }

    /// Whether a thread that polls has something to do.
    fn has_work(&self) -> bool {
        let waits = matches!(&self.executor, Executor::Pollers(queue) if !queue.is_empty());
        waits || !self.done.is_empty()
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.slots.free();
    }
}

/// Runs what is this library's alone. A panic is said, and `None`.
#[inline]
pub fn caught<R>(work: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(work)).map_err(defect).ok()
}

#[cold]
fn defect(panic: Box<dyn core::any::Any + Send>) {
    say("an answer", "a defect in this library; please report it");
    // Dropping it could panic again.
    core::mem::forget(panic);
}

/// Completes all that is in flight in these rings. What other threads have taken out of them is completed too, and
/// their callbacks have returned, but for those that wait here themselves.
///
/// # Errors
/// When a ring cannot be opened in this process.
pub fn drain(rings: &[&Ring], process: &Process) -> Result<(), Refusal> {
    let is_empty = || rings.iter().all(|ring| ring.in_flight() == 0);
    loop {
        Batch::for_each_here(|batch| {
            if rings.iter().any(|ring| ptr::eq(*ring, batch.ring)) {
                batch.complete();
            }
        });
        for ring in rings {
            if ring.in_flight() > 0 {
                // For what was submitted without a bell.
                ring.ring(process)?;
            }
            let mut turns = 0;
            while ring.in_flight() > 0 {
                if ring.poll(process, 0)? > 0 {
                    turns = 0;
                } else {
                    // Engines are at work, or another thread executes, or takes the last answers.
                    ring.room.wait((), turns);
                    turns += 1;
                }
            }
        }
        // Callbacks that wait for each other here would do so for ever.
        let mut in_callback = false;
        // SAFETY: whoever has made a batch borrows its ring.
        Batch::for_each_here(|batch| unsafe {
            in_callback = true;
            (*batch.ring).parked.begin();
        });
        let others = |ring: &&Ring| {
            let completing = ring.completing.count();
            completing > if in_callback { ring.parked.count() } else { 0 }
        };
        let mut turns = 0;
        while is_empty()
            && let Some(ring) = rings.iter().find(|ring| others(ring))
        {
            ring.room.wait((), turns);
            turns += 1;
        }
        // SAFETY: as above.
        Batch::for_each_here(|batch| unsafe { (*batch.ring).parked.end(1) });
        if is_empty() {
            return Ok(());
        }
    }
}

/// A ring of an instance. Any thread may submit and poll.
pub struct Ring {
    inner: Lock<Option<Box<Inner>>>,
    /// What is submitted and not answered.
    in_flight: Flights,
    /// Batches of answers that are taken out and not completed.
    completing: Flights,
    /// Those of them that wait in [`drain`].
    parked: Flights,
    /// Threads that wait for a slot.
    room: Room,
    /// Nothing is accepted; it changes in the lock.
    closed: AtomicBool,
    /// Whether somebody may wait for a descriptor.
    has_descriptor: AtomicBool,
    /// Whether polls leave a few requests for others to come.
    gathers: bool,
    /// Of one that gathers: how many wait. It changes in the lock; others look whether to take it.
    waiting: AtomicU32,
}

impl Ring {
    /// Nothing is allocated before the first request.
    pub const fn new() -> Ring {
        Ring::with(false)
    }

    /// A ring of public keys: with 0 engines, a poll leaves a few requests while others keep coming (`ring/gather.rs`).
    pub const fn gathering() -> Ring {
        Ring::with(true)
    }

    const fn with(gathers: bool) -> Ring {
        Ring {
            inner: Lock::new(None),
            in_flight: Flights::new(),
            completing: Flights::new(),
            parked: Flights::new(),
            room: Room::new(),
            closed: AtomicBool::new(false),
            has_descriptor: AtomicBool::new(false),
            gathers,
            waiting: AtomicU32::new(0),
        }
    }

    /// The value, made at the first need, and afresh in a child process.
    #[inline]
    fn open(&self, process: &Process) -> Result<Locked<'_>, Refusal> {
        let inner = self.inner.lock();
        match &*inner {
            Some(i) if i.generation == fork_generation() && !inner.is_orphaned() => Ok(inner),
            _ => self.open_afresh(process, inner),
        }
    }

    #[cold]
    fn open_afresh<'a>(
        &'a self,
        process: &Process,
        mut inner: Locked<'a>,
    ) -> Result<Locked<'a>, Refusal> {
        // What a parent had in flight is answered there. A thread of it may have been inside: not dropped.
        core::mem::forget(inner.take());
        self.room.forget();
        self.waiting.store(0, Ordering::Relaxed);
        let fresh = Inner::new(process, self.gathers)?;
        *inner = Some(Box::new(fresh));
        Ok(inner)
    }

    /// Puts a request into the ring. The bell makes engines look; without one, it waits for [`Ring::ring`].
    ///
    /// # Errors
    /// `RETRY` when the ring is full, unless the policy is another one, or when it is closed; `complete` is dropped.
    /// `request` is called in the lock.
    #[inline]
    pub fn submit<C: Complete>(
        &self,
        process: &Process,
        bell: bool,
        request: impl FnOnce() -> Request,
        complete: C,
    ) -> Result<(), Refusal> {
        let mut guard = self.open(process)?;
        let Some(inner) = guard.as_deref_mut() else { return Err(Refusal::RETRY) };
        if self.closed.load(Ordering::Relaxed) {
            return Err(closed());
        }
        match inner.free.pop() {
            Some(slot) => self.put(process, inner, slot, bell, request, complete),
            None => self.submit_to_full(process, guard, bell, request, complete),
        }
    }

    #[inline(always)]
    fn put<C: Complete>(
        &self,
        process: &Process,
        inner: &mut Inner,
        slot: u32,
        bell: bool,
        request: impl FnOnce() -> Request,
        complete: C,
    ) -> Result<(), Refusal> {
        let Inner { executor, slots, .. } = inner;
        Pending::write(&mut slots.get(slot).pending, complete);
        match executor {
            Executor::Pollers(queue) => queue.push(process, slots, slot, request),
            Executor::Engines(instance) => {
                if instance.push(request().tag(u64::from(slot))).is_err() {
                    // The instance has as many places as there are slots.
                    return take_back::<C>(inner, slot);
                }
            }
        }
        self.in_flight.begin_locked();
        if let (true, Executor::Pollers(queue)) = (self.gathers, &inner.executor) {
            self.note_waiting(queue);
        }
        if bell {
            inner.signal();
        }
        Ok(())
    }

    /// No slot is free.
    #[cold]
    fn submit_to_full<'a, C: Complete>(
        &'a self,
        process: &Process,
        mut guard: Locked<'a>,
        bell: bool,
        request: impl FnOnce() -> Request,
        complete: C,
    ) -> Result<(), Refusal> {
        let policy = process.settings().policy;
        if policy == Policy::Fail || guard.as_ref().is_none_or(|i| i.done.len() >= MOST_DONE) {
            return Err(Refusal::RETRY);
        }
        if policy == Policy::Wait {
            let mut turns = 0;
            loop {
                let Some(inner) = guard.as_deref_mut() else { return Err(Refusal::RETRY) };
                if self.closed.load(Ordering::Relaxed) {
                    return Err(closed());
                }
                if let Some(slot) = inner.free.pop() {
                    return self.put(process, inner, slot, bell, request, complete);
                }
                let made;
                (guard, made) = self.make_room(process, guard)?;
                if !made {
                    self.room.wait(guard, turns);
                    turns += 1;
                    guard = self.open(process)?;
                }
            }
        }
        // This thread executes it, out of its turn.
        let mut pending = MaybeUninit::uninit();
        Pending::write(&mut pending, complete);
        let request = request();
        self.in_flight.begin_locked();
        drop(guard);
        let response = process.call(request);
        if let Some(inner) = self.open(process)?.as_deref_mut() {
            // SAFETY: written above.
            inner.done.push_back((unsafe { pending.assume_init() }, response, None));
            inner.signal();
        }
        Ok(())
    }

    /// Has some of what was submitted before answered; the answers wait for a poll. Returns whether there was any:
    /// what others execute is not waited for.
    fn make_room<'a>(
        &'a self,
        process: &Process,
        mut guard: Locked<'a>,
    ) -> Result<(Locked<'a>, bool), Refusal> {
        let Some(inner) = guard.as_deref_mut() else { return Ok((guard, false)) };
        let Inner { executor, slots, free, done, .. } = inner;
        let taken = match executor {
            Executor::Pollers(queue) => {
                let taken = queue.take(slots, AT_ONCE as u32);
                self.note_waiting(queue);
                taken
            }
            Executor::Engines(instance) => {
                let before = done.len();
                for response in instance.poll() {
                    let slot = response.tag as u32;
                    free.push(slot);
                    // SAFETY: the slot of a request in flight.
                    done.push_back((
                        unsafe { slots.get(slot).pending.assume_init() },
                        response,
                        None,
                    ));
                }
                let made = done.len() > before;
                if made {
                    self.room.wake();
                }
                return Ok((guard, made));
            }
        };
        if taken.len() == 0 {
            // What was executed beside another ring's has its slots until a poll, which may be this thread's.
            let before = free.len();
            free.extend(done.iter_mut().filter_map(|(_, _, slot)| slot.take()));
            let made = free.len() > before;
            if made {
                self.room.wake();
            }
            return Ok((guard, made));
        }
        drop(guard);
        let mut answers = Vec::with_capacity(taken.len());
        taken.execute(process, |_, pending, response| {
            answers.push((*pending, process::taken(response), None));
        });
        let mut guard = self.open(process)?;
        if let Some(inner) = guard.as_deref_mut() {
            inner.free.extend(taken.numbers());
            inner.done.extend(answers);
            inner.signal();
            self.room.wake();
        }
        Ok((guard, true))
    }

    /// Makes all that was submitted visible to the engines.
    pub fn ring(&self, process: &Process) -> Result<(), Refusal> {
        if let Some(inner) = self.open(process)?.as_deref_mut() {
            match &mut inner.executor {
                Executor::Pollers(queue) if queue.is_empty() => {}
                _ => inner.signal(),
            }
        }
        Ok(())
    }

    /// How many requests are submitted and not answered.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight.count()
    }

    /// Whether so many requests are accepted now, but for what other threads submit.
    #[inline]
    pub fn has_room(&self, process: &Process, n: usize) -> bool {
        let settings = process.settings();
        self.in_flight() as usize + n <= settings.depth || settings.policy != Policy::Fail
    }

    /// Refuses requests from here on, or accepts them again. What was accepted before is in flight.
    pub fn close(&self, closed: bool) {
        // What a thread of a parent's has left half changed is replaced at the first need.
        let _inner = self.inner.lock();
        self.closed.store(closed, Ordering::Relaxed);
    }

    /// Completes what is answered, at most `quota` requests; with 0, as many as are in flight now. Returns how
    /// many that were. With 0 engines, this thread executes.
    #[inline]
    pub fn poll(&self, process: &Process, quota: u32) -> Result<u32, Refusal> {
        let in_flight = self.in_flight();
        if in_flight == 0 {
            return self.clear(process);
        }
        // A callback that submits again does not keep this poll from ending.
        let quota = if quota == 0 { u32::MAX } else { quota };
        let most = quota.min(in_flight);
        let mut count = 0;
        while count < most {
            let n = self.poll_some(process, most - count, quota)?;
            if n == 0 {
                break;
            }
            count += n;
        }
        if self.in_flight() == 0 || count == 0 {
            self.clear(process)?;
        }
        Ok(count)
    }

    /// A descriptor is not readable from here on, where a poll has nothing to do.
    #[inline]
    fn clear(&self, process: &Process) -> Result<u32, Refusal> {
        if self.has_descriptor.load(Ordering::Relaxed)
            && let Some(inner) = self.open(process)?.as_deref_mut()
            && !inner.has_work()
        {
            match &mut inner.executor {
                Executor::Pollers(queue) => queue.clear(),
                Executor::Engines(instance) if instance.outstanding() == 0 => {
                    let _ = instance.poll().next();
                }
                Executor::Engines(_) => {}
            }
        }
        Ok(0)
    }

    /// Completes some answers, at most `most`, for a poll that may complete `quota`.
    #[inline]
    fn poll_some(&self, process: &Process, most: u32, quota: u32) -> Result<u32, Refusal> {
        let mut batch = Batch::new(self);
        let mut guard = self.open(process)?;
        let Some(inner) = guard.as_deref_mut() else { return Ok(0) };
        let mut count = 0;
        if !inner.done.is_empty() {
            take_done(inner, &mut batch, &mut count, most);
            self.room.wake();
        } else if let Executor::Pollers(queue) = &mut inner.executor {
            let mut taken = match self.gathers {
                true => self.take_gathered(process, queue, &mut inner.slots, most, quota),
                false => queue.take(&mut inner.slots, most),
            };
            count = taken.len() as u32;
            if count > 0 {
                drop(guard);
                if self.gathers {
                    self.execute_gathered(process, &mut taken, &mut batch);
                } else {
                    // SAFETY: each is answered once.
                    taken.execute(process, |_, pending, response| unsafe {
                        batch.add(pending, response);
                    });
                }
                guard = self.open(process)?;
                let Some(inner) = guard.as_deref_mut() else { return Ok(0) };
                inner.free.extend(taken.numbers()[..count as usize].iter().rev());
                self.room.wake();
            }
        } else {
            while {
                let before = count;
                // What panics is lost, and counted.
                caught(|| take(inner, &mut batch, &mut count, most)).is_none() && count > before
            } {}
            if count > 0 {
                self.room.wake();
            }
        }
        if count == 0 {
            return Ok(0);
        }
        self.completing.begin_locked();
        // After the other count: who sees this one sees that.
        self.in_flight.end(count);
        drop(guard);
        let listed = Listed::new(&batch);
        batch.complete();
        drop(listed);
        Ok(count)
    }

    /// A descriptor that is readable when a poll has something to do. It stays this ring's.
    pub fn descriptor(&self, process: &Process) -> Result<RawFd, Refusal> {
        let mut guard = self.open(process)?;
        let Some(inner) = guard.as_deref_mut() else { return Err(Refusal::RETRY) };
        self.has_descriptor.store(true, Ordering::Relaxed);
        let has_work = inner.has_work();
        match &mut inner.executor {
            Executor::Pollers(queue) => {
                let fd = queue.descriptor()?;
                if has_work {
                    queue.signal();
                }
                Ok(fd)
            }
            Executor::Engines(instance) => Ok(instance.event_fd()?.as_raw_fd()),
        }
    }
}

/// Takes answers of engines, at most `most` with those that are taken already.
#[inline]
fn take(inner: &mut Inner, batch: &mut Batch, count: &mut u32, most: u32) {
    let Inner { executor: Executor::Engines(instance), slots, free, .. } = inner else { return };
    let most = most.min(AT_ONCE as u32);
    let mut answers = instance.poll();
    while *count < most {
        let Some(mut response) = answers.next() else { break };
        let slot = response.tag as u32;
        free.push(slot);
        *count += 1;
        // SAFETY: the slot of a request in flight, which is answered once.
        unsafe { batch.add(slots.get(slot).pending.assume_init_mut(), &mut response) };
    }
}

/// Takes answers that wait, at most `most`.
#[cold]
fn take_done(inner: &mut Inner, batch: &mut Batch, count: &mut u32, most: u32) {
    while *count < most.min(AT_ONCE as u32) {
        let Some((mut pending, mut response, slot)) = inner.done.pop_front() else { break };
        *count += 1;
        inner.free.extend(slot);
        // SAFETY: each is answered once.
        caught(|| unsafe { batch.add(&mut pending, &mut response) });
    }
}

#[cold]
fn take_back<C: Complete>(inner: &mut Inner, slot: u32) -> Result<(), Refusal> {
    // SAFETY: `Ring::put` has just put a `C` there.
    unsafe { Pending::take::<C>(&mut inner.slots.get(slot).pending) }.refused();
    inner.free.push(slot);
    Err(Refusal::RETRY)
}

#[cold]
fn closed() -> Refusal {
    Refusal::fail("the instance is stopped: start it with cpaDcStartInstance or cpaCyStartInstance")
}

impl Default for Ring {
    fn default() -> Ring {
        Ring::new()
    }
}
