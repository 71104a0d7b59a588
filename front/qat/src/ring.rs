//! The rings of an instance: requests in, answers out to whoever polls.
//!
//! What a request's answer needs (the callback, where its result goes) is kept beside it in a slot, and not
//! allocated. An answer is completed by the thread that polls, outside of the lock: callbacks submit again.
//!
//! Answers that are taken and not completed yet are a batch on the stack of that thread. [`drain`] waits for the
//! batches of other threads; in a callback it calls what is left of its own thread's.
#![allow(unsafe_code)]

use core::{
    cell::Cell,
    ffi::c_void,
    mem::{MaybeUninit, align_of, size_of},
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};
use std::{
    os::fd::{AsRawFd, RawFd},
    panic::{AssertUnwindSafe, catch_unwind},
};

use lookaside::{Instance, InstanceConfig, Request, Response, fork_generation};

use crate::{
    lock::{Guard, Lock},
    process::Process,
    refusal::{Refusal, say},
};

/// What is done with an answer: results written, counted, the caller called back.
pub trait Complete: Send + 'static {
    /// Whether [`Complete::land`] is called in place of [`Complete::complete`].
    const LANDS: bool = false;

    /// Runs within a poll, outside of all locks.
    fn complete(self, response: Response);

    /// What is quick runs in the ring's lock, many answers at a time; it leaves the call of the program's function.
    fn land(self, _response: &mut Response) -> Landed
    where
        Self: Sized,
    {
        Landed { call: |_| {}, words: [ptr::null_mut(); 6], numbers: [0; 3] }
    }

    /// The ring had no room after [`Ring::submit`] has asked for the request.
    fn refused(self)
    where
        Self: Sized,
    {
    }
}

/// The rest of an answer: a function of the program's to call, outside of all locks.
#[derive(Clone, Copy)]
pub struct Landed {
    /// Calls it.
    pub call: unsafe fn(&Landed),
    /// Pointers for that.
    pub words: [*mut c_void; 6],
    /// Numbers for that.
    pub numbers: [i32; 3],
}

/// How many answers are taken while the lock is held once.
const AT_ONCE: u32 = 16;

/// The longest [`Complete`], in words.
const WORDS: usize = 16;

/// Any [`Complete`], in place.
#[derive(Clone, Copy)]
struct Pending {
    complete: unsafe fn(*mut u64, Response),
    land: Option<unsafe fn(*mut u64, &mut Response) -> Landed>,
    payload: [MaybeUninit<u64>; WORDS],
}

impl Pending {
    #[inline]
    fn write<C: Complete>(place: &mut MaybeUninit<Pending>, value: C) {
        const {
            assert!(size_of::<C>() <= WORDS * 8 && align_of::<C>() <= 8, "WORDS is too small");
        }
        unsafe fn run<C: Complete>(payload: *mut u64, response: Response) {
            // SAFETY: `write` has put a `C` here, and each is taken once.
            let value = unsafe { payload.cast::<C>().read() };
            value.complete(response);
        }
        unsafe fn land<C: Complete>(payload: *mut u64, response: &mut Response) -> Landed {
            // SAFETY: as in `run`.
            let value = unsafe { payload.cast::<C>().read() };
            value.land(response)
        }
        let place = place.as_mut_ptr();
        // SAFETY: all fields of a place of ours; the payload is large and aligned enough, as checked above.
        unsafe {
            (&raw mut (*place).complete).write(run::<C>);
            (&raw mut (*place).land).write(if C::LANDS { Some(land::<C>) } else { None });
            (&raw mut (*place).payload).cast::<C>().write(value);
        }
    }
}

struct Inner {
    instance: Instance,
    generation: u32,
    slots: Box<[MaybeUninit<Pending>]>,
    free: Vec<u32>,
    /// Whether a bell has to be rung for engines, or for a descriptor.
    heard: bool,
}

impl Inner {
    fn new(process: &Process) -> Result<Inner, Refusal> {
        let depth = process.settings().depth;
        let config = InstanceConfig { depth, ..InstanceConfig::default() };
        let mut slots = Vec::new();
        slots.resize_with(depth, MaybeUninit::uninit);
        Ok(Inner {
            instance: process.runtime().instance(config)?,
            generation: fork_generation(),
            slots: slots.into_boxed_slice(),
            // The last one is taken first: slots stay in the cache.
            free: (0..depth as u32).rev().collect(),
            heard: process.settings().engines > 0,
        })
    }
}

// SAFETY: payloads are `Send` (`Complete` demands it), the rest is by itself.
unsafe impl Send for Inner {}

/// What a poll has taken out of the ring while it held the lock once, and has to complete.
struct Batch {
    ring: *const Ring,
    generation: u32,
    landed: [MaybeUninit<Landed>; AT_ONCE as usize],
    count: Cell<usize>,
    next: Cell<usize>,
    other: Cell<Option<(Pending, Response)>>,
    outer: Cell<*const Batch>,
}

thread_local! {
    /// The batch that this thread completes; it leads to those whose callbacks have led to it.
    static INNERMOST: Cell<*const Batch> = const { Cell::new(ptr::null()) };
}

impl Batch {
    fn new(ring: &Ring) -> Batch {
        Batch {
            ring,
            generation: fork_generation(),
            landed: [const { MaybeUninit::uninit() }; AT_ONCE as usize],
            count: Cell::new(0),
            next: Cell::new(0),
            other: Cell::new(None),
            outer: Cell::new(ptr::null()),
        }
    }

    /// Completes what is left. Callbacks within may call this again.
    #[inline]
    fn complete(&self) {
        while caught(|| self.complete_next()).is_none() {}
    }

    #[inline]
    fn complete_next(&self) {
        while self.next.get() < self.count.get() {
            let next = self.next.get();
            self.next.set(next + 1);
            // SAFETY: the first `count` are written; each is called once, with its own words.
            unsafe {
                let landed = self.landed[next].assume_init_ref();
                (landed.call)(landed);
            }
        }
        if let Some((mut pending, response)) = self.other.take() {
            // SAFETY: written by `Pending::write`; each is taken once.
            unsafe { (pending.complete)(pending.payload.as_mut_ptr().cast(), response) };
        }
    }

    /// The batches of this thread, the innermost first.
    fn for_each_here(mut visit: impl FnMut(&Batch)) {
        let mut batch = INNERMOST.get();
        // SAFETY: they lie on this thread's stack until `Listed` takes them out.
        while let Some(here) = unsafe { batch.as_ref() } {
            visit(here);
            batch = here.outer.get();
        }
    }
}

/// A batch that [`Batch::for_each_here`] finds. When this is dropped all of it is completed.
struct Listed<'a>(&'a Batch);

impl<'a> Listed<'a> {
    #[inline]
    fn new(batch: &'a Batch) -> Listed<'a> {
        batch.outer.set(INNERMOST.replace(batch));
        Listed(batch)
    }
}

impl Drop for Listed<'_> {
    #[inline]
    fn drop(&mut self) {
        INNERMOST.set(self.0.outer.get());
        // SAFETY: the poll that has made the batch borrows the ring.
        let ring = unsafe { &*self.0.ring };
        // In a child of a callback's fork, the batch is not one of those that are counted.
        if self.0.generation == fork_generation() {
            ring.returned.fetch_add(1, Ordering::Release);
        }
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
            while ring.in_flight() > 0 {
                if ring.poll(process, 0)? == 0 {
                    // Engines are at work, or another thread takes the last answers.
                    std::thread::yield_now();
                }
            }
        }
        // Callbacks that wait for each other here would do so for ever.
        let mut in_callback = false;
        // SAFETY: whoever has made a batch borrows its ring.
        let park = |batch: &Batch| unsafe { &*batch.ring }.parked.fetch_add(1, Ordering::Relaxed);
        Batch::for_each_here(|batch| {
            in_callback = true;
            park(batch);
        });
        let others = |ring: &&Ring| {
            let completing = ring.completing();
            completing > if in_callback { ring.parked.load(Ordering::Relaxed) as i32 } else { 0 }
        };
        while is_empty() && rings.iter().any(others) {
            std::thread::yield_now();
        }
        Batch::for_each_here(|batch| {
            // SAFETY: as above.
            unsafe { &*batch.ring }.parked.fetch_sub(1, Ordering::Relaxed);
        });
        if is_empty() {
            return Ok(());
        }
    }
}

/// A ring of an instance. Any thread may submit and poll.
pub struct Ring {
    inner: Lock<Option<Box<Inner>>>,
    /// The process that the counts are of.
    generation: AtomicU32,
    in_flight: AtomicU32,
    /// Batches of answers that were taken out; it changes in the lock.
    taken: AtomicU32,
    /// Those of them that are completed, callbacks and all.
    returned: AtomicU32,
    /// Those of them that wait in [`drain`].
    parked: AtomicU32,
    /// Nothing is accepted; it changes in the lock.
    closed: AtomicBool,
    /// Whether somebody may wait for a descriptor.
    has_descriptor: AtomicBool,
}

impl Ring {
    /// Nothing is allocated before the first request.
    pub const fn new() -> Ring {
        Ring {
            inner: Lock::new(None),
            generation: AtomicU32::new(0),
            in_flight: AtomicU32::new(0),
            taken: AtomicU32::new(0),
            returned: AtomicU32::new(0),
            parked: AtomicU32::new(0),
            closed: AtomicBool::new(false),
            has_descriptor: AtomicBool::new(false),
        }
    }

    /// The value, made at the first need, and afresh in a child process.
    #[inline]
    fn open(&self, process: &Process) -> Result<Guard<'_, Option<Box<Inner>>>, Refusal> {
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
        mut inner: Guard<'a, Option<Box<Inner>>>,
    ) -> Result<Guard<'a, Option<Box<Inner>>>, Refusal> {
        // What a parent had in flight is answered there. A thread of it may have been inside: not dropped.
        core::mem::forget(inner.take());
        for count in [&self.in_flight, &self.taken, &self.returned, &self.parked] {
            count.store(0, Ordering::Relaxed);
        }
        self.generation.store(fork_generation(), Ordering::Release);
        let fresh = Inner::new(process)?;
        *inner = Some(Box::new(fresh));
        Ok(inner)
    }

    /// Puts a request into the ring. The bell makes engines look; without one, it waits for [`Ring::ring`].
    ///
    /// # Errors
    /// `RETRY` when the ring is full, or when it is closed; `complete` is dropped. `request` is called in the lock.
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
        let Some(slot) = inner.free.pop() else { return Err(Refusal::RETRY) };
        Pending::write(&mut inner.slots[slot as usize], complete);
        if inner.instance.push(request().tag(u64::from(slot))).is_err() {
            // The instance has as many places as there are slots.
            return self.take_back::<C>(inner, slot);
        }
        let count = self.in_flight.load(Ordering::Relaxed);
        self.in_flight.store(count + 1, Ordering::Release);
        if bell && inner.heard {
            inner.instance.doorbell();
        }
        Ok(())
    }

    #[cold]
    fn take_back<C: Complete>(&self, inner: &mut Inner, slot: u32) -> Result<(), Refusal> {
        let place = inner.slots[slot as usize].as_mut_ptr();
        // SAFETY: `submit` has just put a `C` there.
        unsafe { (&raw mut (*place).payload).cast::<C>().read() }.refused();
        inner.free.push(slot);
        Err(Refusal::RETRY)
    }

    /// Makes all that was submitted visible to the engines.
    pub fn ring(&self, process: &Process) -> Result<(), Refusal> {
        if let Some(inner) = self.open(process)?.as_deref_mut() {
            inner.instance.doorbell();
        }
        Ok(())
    }

    /// How many requests are submitted and not answered.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        match self.generation.load(Ordering::Relaxed) == fork_generation() {
            true => self.in_flight.load(Ordering::Acquire),
            // A parent's, which has the answers.
            false => 0,
        }
    }

    /// How many batches are taken out and not completed.
    fn completing(&self) -> i32 {
        if self.generation.load(Ordering::Relaxed) != fork_generation() {
            return 0;
        }
        let returned = self.returned.load(Ordering::Acquire);
        self.taken.load(Ordering::Relaxed).wrapping_sub(returned) as i32
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
        let most = if quota == 0 { in_flight } else { quota.min(in_flight) };
        let mut count = 0;
        while count < most {
            let n = self.poll_some(process, most - count)?;
            if n == 0 {
                return Ok(count);
            }
            count += n;
        }
        if self.in_flight() == 0 {
            self.clear(process)?;
        }
        Ok(count)
    }

    /// Nothing is in flight: a descriptor is not readable from here on.
    #[inline]
    fn clear(&self, process: &Process) -> Result<u32, Refusal> {
        if self.has_descriptor.load(Ordering::Relaxed)
            && let Some(inner) = self.open(process)?.as_deref_mut()
            && inner.instance.outstanding() == 0
        {
            let _ = inner.instance.poll().next();
        }
        Ok(0)
    }

    /// Completes some answers, at most `most`.
    #[inline]
    fn poll_some(&self, process: &Process, most: u32) -> Result<u32, Refusal> {
        let mut batch = Batch::new(self);
        let mut guard = self.open(process)?;
        let Some(inner) = guard.as_deref_mut() else { return Ok(0) };
        let most = most.min(AT_ONCE);
        let mut taken = 0;
        while {
            let before = taken;
            // What panics is lost, and counted.
            caught(|| take(inner, &mut batch, &mut taken, most)).is_none() && taken > before
        } {}
        if taken == 0 {
            return Ok(0);
        }
        let batches = self.taken.load(Ordering::Relaxed);
        self.taken.store(batches.wrapping_add(1), Ordering::Relaxed);
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        // After the other count: who sees this one sees that.
        self.in_flight.store(in_flight - taken, Ordering::Release);
        drop(guard);
        let listed = Listed::new(&batch);
        batch.complete();
        drop(listed);
        Ok(taken)
    }

    /// A descriptor that is readable when a poll has something to do. It stays this ring's.
    pub fn descriptor(&self, process: &Process) -> Result<RawFd, Refusal> {
        let mut guard = self.open(process)?;
        let Some(inner) = guard.as_deref_mut() else { return Err(Refusal::RETRY) };
        inner.heard = true;
        self.has_descriptor.store(true, Ordering::Relaxed);
        Ok(inner.instance.event_fd()?.as_raw_fd())
    }
}

/// Takes answers, at most `most` with those that are taken already. One that is not landed is the last.
#[inline]
fn take(inner: &mut Inner, batch: &mut Batch, taken: &mut u32, most: u32) {
    let Inner { instance, slots, free, .. } = inner;
    let mut answers = instance.poll();
    while *taken < most && batch.other.get_mut().is_none() {
        let Some(mut response) = answers.next() else { break };
        let slot = response.tag as u32;
        let place = &mut slots[slot as usize];
        free.push(slot);
        *taken += 1;
        // SAFETY: the slot of a request in flight.
        let pending = unsafe { place.assume_init_mut() };
        let Some(land) = pending.land else {
            batch.other.set(Some((*pending, response)));
            break;
        };
        let count = batch.count.get();
        // SAFETY: written by `Pending::write`; each is taken once.
        batch.landed[count]
            .write(unsafe { land(pending.payload.as_mut_ptr().cast(), &mut response) });
        batch.count.set(count + 1);
    }
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
