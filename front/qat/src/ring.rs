//! The rings of an instance: requests in, answers out to whoever polls.
//!
//! What a request's answer needs (the callback, where its result goes) is kept beside it in a slot, and not
//! allocated. An answer is completed by the thread that polls, outside of the lock: callbacks submit again.
#![allow(unsafe_code)]

use core::{
    ffi::c_void,
    mem::{MaybeUninit, align_of, size_of},
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};
use std::os::fd::{AsRawFd, RawFd};

use lookaside::{Instance, InstanceConfig, Request, Response, fork_generation};

use crate::{
    lock::{Guard, Lock},
    process::Process,
    refusal::Refusal,
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

/// A ring of an instance. Any thread may submit and poll.
pub struct Ring {
    inner: Lock<Option<Box<Inner>>>,
    in_flight: AtomicU32,
    /// Whether somebody may wait for a descriptor.
    has_descriptor: AtomicBool,
}

impl Ring {
    /// Nothing is allocated before the first request.
    pub const fn new() -> Ring {
        Ring {
            inner: Lock::new(None),
            in_flight: AtomicU32::new(0),
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
        self.in_flight.store(0, Ordering::Relaxed);
        let fresh = Inner::new(process)?;
        *inner = Some(Box::new(fresh));
        Ok(inner)
    }

    /// Puts a request into the ring. The bell makes engines look; without one, it waits for [`Ring::ring`].
    ///
    /// # Errors
    /// `RETRY` when the ring is full; `complete` is dropped. `request` is called in the lock.
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
        let Some(slot) = inner.free.pop() else { return Err(Refusal::RETRY) };
        Pending::write(&mut inner.slots[slot as usize], complete);
        if inner.instance.push(request().tag(u64::from(slot))).is_err() {
            // The instance has as many places as there are slots.
            return self.take_back::<C>(inner, slot);
        }
        let count = self.in_flight.load(Ordering::Relaxed);
        self.in_flight.store(count + 1, Ordering::Relaxed);
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
        self.in_flight.load(Ordering::Relaxed)
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
        let mut landed = [const { MaybeUninit::<Landed>::uninit() }; AT_ONCE as usize];
        let mut count = 0;
        let mut other = None;
        let mut guard = self.open(process)?;
        let Some(Inner { instance, slots, free, .. }) = guard.as_deref_mut() else { return Ok(0) };
        {
            let mut answers = instance.poll();
            while count < most.min(AT_ONCE) as usize {
                let Some(mut response) = answers.next() else { break };
                let slot = response.tag as u32;
                let place = &mut slots[slot as usize];
                free.push(slot);
                // SAFETY: the slot of a request in flight.
                let pending = unsafe { place.assume_init_mut() };
                match pending.land {
                    Some(land) => {
                        // SAFETY: written by `Pending::write`; each is taken once.
                        landed[count].write(unsafe {
                            land(pending.payload.as_mut_ptr().cast(), &mut response)
                        });
                        count += 1;
                    }
                    None => {
                        other = Some((*pending, response));
                        break;
                    }
                }
            }
        }
        let all = count as u32 + u32::from(other.is_some());
        self.in_flight.store(self.in_flight() - all, Ordering::Relaxed);
        drop(guard);
        for landed in &landed[..count] {
            // SAFETY: the first `count` are written; each is called once, with its own words.
            unsafe {
                let landed = landed.assume_init_ref();
                (landed.call)(landed);
            }
        }
        if let Some((mut pending, response)) = other {
            // SAFETY: as above.
            unsafe { (pending.complete)(pending.payload.as_mut_ptr().cast(), response) };
        }
        Ok(all)
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

impl Default for Ring {
    fn default() -> Ring {
        Ring::new()
    }
}
