//! With 0 engines: requests that wait for a thread to poll, which executes them outside of the ring's lock. Neither
//! who submits nor another one that polls waits for that.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
    time::Instant,
};

use lookaside::{Op, Request, Response};

use super::{
    batch::AT_ONCE,
    caught,
    gather::{Gather, this_thread},
    pending::Pending,
};
use crate::{
    process::{Process, lost_response},
    refusal::Refusal,
};

/// A request and what is done with its answer.
pub(super) struct Slot {
    /// Written while the request waits.
    request: MaybeUninit<Request>,
    /// Written while the request is in flight.
    pub(super) pending: MaybeUninit<Pending>,
}

/// The slots of a ring. Those of the ring's free list, and those that wait, belong to who has the ring's lock; those
/// that were taken out belong to the thread that executes them.
pub(super) struct Slots {
    first: *mut Slot,
    count: usize,
}

// SAFETY: requests and payloads of `Complete` are `Send`.
unsafe impl Send for Slots {}

impl Slots {
    pub(super) fn new(count: usize) -> Slots {
        let empty = || Slot { request: MaybeUninit::uninit(), pending: MaybeUninit::uninit() };
        let mut slots = Vec::new();
        slots.resize_with(count, empty);
        Slots { first: Box::into_raw(slots.into_boxed_slice()).cast(), count }
    }

    /// A slot of the caller's.
    #[inline]
    pub(super) fn get(&mut self, slot: u32) -> &mut Slot {
        assert!((slot as usize) < self.count);
        // SAFETY: one of them, which is the caller's alone: see above.
        unsafe { &mut *self.first.add(slot as usize) }
    }

    /// Where a slot lies.
    #[inline]
    fn place(&self, slot: u32) -> *mut Slot {
        assert!((slot as usize) < self.count);
        // SAFETY: one of them.
        unsafe { self.first.add(slot as usize) }
    }

    /// Frees them.
    pub(super) fn free(&mut self) {
        let slots = core::ptr::slice_from_raw_parts_mut(self.first, self.count);
        // SAFETY: of `new`; the ring that owns them has nothing in flight any more.
        drop(unsafe { Box::from_raw(slots) });
    }
}

/// Requests that wait.
pub(super) struct Queue {
    waiting: VecDeque<u32>,
    bell: Option<Bell>,
    /// Of the ring of public keys.
    gather: Option<Gather>,
}

/// What a thread has taken to execute.
pub(super) struct Taken {
    slots: [MaybeUninit<*mut Slot>; AT_ONCE],
    numbers: [MaybeUninit<u32>; AT_ONCE],
    count: usize,
}

/// What requests have in common that a kernel runs side by side: the operation, and the class of their sessions.
pub(super) type Kind = (Op, u32);

/// How much a thread takes at once. What is left another one can execute meanwhile, and answers are not kept from
/// the program until the last one is there; but batches of vector code are to be full.
const ENOUGH: usize = 64 << 10;

/// What a request counts for: with [`ENOUGH`], 32 packets, 16 requests of other kinds, or one of 64 KB.
#[inline]
fn cost(request: &Request, lands: bool) -> usize {
    match lands {
        true => ENOUGH / AT_ONCE + request.src.len() / 8,
        false => 2 * ENOUGH / AT_ONCE + request.src.len(),
    }
}

impl Queue {
    pub(super) fn new(depth: usize, gathers: bool) -> Queue {
        let gather = gathers.then(|| Gather::new(Instant::now()));
        Queue { waiting: VecDeque::with_capacity(depth), bell: None, gather }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts a request into its slot, whose pending part is written.
    #[inline(always)]
    pub(super) fn push(
        &mut self,
        process: &Process,
        slots: &mut Slots,
        slot: u32,
        request: impl FnOnce() -> Request,
    ) {
        let request = slots.get(slot).request.write(request());
        if let Some(gather) = &mut self.gather {
            gather.note(Instant::now(), this_thread(), process.runtime().best_batch(request.op));
        }
        self.waiting.push_back(slot);
    }

    /// How many are to be executed now, beside `others` in other rings, by a poll with this quota.
    pub(super) fn ripe(&mut self, others: usize, quota: u32) -> usize {
        let waiting = self.waiting.len() + others;
        match (&mut self.gather, &self.bell) {
            // Who waits for a descriptor polls once when it has become readable.
            (Some(gather), None) if !self.waiting.is_empty() => {
                gather.take(Instant::now, this_thread(), waiting, quota as usize)
            }
            _ => waiting,
        }
    }

    /// Takes some of those that have waited the longest, at most `most`.
    #[inline(always)]
    pub(super) fn take(&mut self, slots: &mut Slots, most: u32) -> Taken {
        let mut taken = Taken::nothing();
        let most = AT_ONCE.min(most as usize);
        let mut sum = 0;
        while taken.count < most && sum < ENOUGH {
            let Some(number) = self.waiting.pop_front() else { break };
            let slot = slots.get(number);
            // SAFETY: it waited, so both parts are written.
            sum += unsafe {
                cost(slot.request.assume_init_ref(), slot.pending.assume_init_ref().lands())
            };
            taken.add(number, slots.place(number));
        }
        taken
    }

    /// Adds those in front that are of this kind to what was taken of another ring, at most `most`.
    pub(super) fn lend(&mut self, slots: &mut Slots, most: usize, kind: Kind, taken: &mut Taken) {
        let end = AT_ONCE.min(taken.count + most);
        while taken.count < end
            && let Some(&number) = self.waiting.front()
            // SAFETY: it waits.
            && kind_of(unsafe { slots.get(number).request.assume_init_ref() }) == kind
        {
            self.waiting.pop_front();
            taken.add(number, slots.place(number));
        }
    }

    /// How many wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Makes a descriptor readable that somebody may wait for.
    #[inline]
    pub(super) fn signal(&mut self) {
        if let Some(bell) = &mut self.bell {
            bell.signal();
        }
    }

    /// The descriptor is not readable from here on.
    #[inline]
    pub(super) fn clear(&mut self) {
        if let Some(bell) = &mut self.bell {
            bell.clear();
        }
    }

    /// The descriptor, made at the first need.
    pub(super) fn descriptor(&mut self) -> Result<RawFd, Refusal> {
        let bell = match &mut self.bell {
            Some(bell) => bell,
            none => none.insert(Bell::new()?),
        };
        Ok(bell.fd.as_raw_fd())
    }
}

#[inline]
fn kind_of(request: &Request) -> Kind {
    (request.op, request.session.class.id())
}

impl Taken {
    #[inline]
    fn nothing() -> Taken {
        let (slots, numbers) = (
            [const { MaybeUninit::uninit() }; AT_ONCE],
            [const { MaybeUninit::uninit() }; AT_ONCE],
        );
        Taken { slots, numbers, count: 0 }
    }

    #[inline]
    fn add(&mut self, number: u32, slot: *mut Slot) {
        self.slots[self.count].write(slot);
        self.numbers[self.count].write(number);
        self.count += 1;
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// What the last one is.
    pub(super) fn kind(&self) -> Option<Kind> {
        let last = self.count.checked_sub(1)?;
        // SAFETY: this thread's slot, whose request is not executed yet.
        Some(kind_of(unsafe { (*self.slot(last)).request.assume_init_ref() }))
    }

    /// The numbers of their slots.
    #[inline]
    pub(super) fn numbers(&self) -> &[u32] {
        // SAFETY: the first `count` are written.
        unsafe { core::slice::from_raw_parts(self.numbers.as_ptr().cast(), self.count) }
    }

    #[inline]
    fn slot(&self, n: usize) -> *mut Slot {
        assert!(n < self.count);
        // SAFETY: the first `count` are written.
        unsafe { self.slots[n].assume_init() }
    }

    /// Executes them, outside of all locks. `answer` is called for every one, with its place among them; where it
    /// panics that answer is lost.
    #[inline]
    pub(super) fn execute(
        &self,
        process: &Process,
        mut answer: impl FnMut(usize, &mut Pending, &mut Response),
    ) {
        let mut missing = u64::MAX >> (64 - self.count);
        // SAFETY: a request that waited, taken once.
        let request = |n: usize| unsafe { (*self.slot(n)).request.assume_init_read() };
        caught(|| {
            process.execute(self.count, request, |n, response| {
                missing &= !(1 << n);
                // SAFETY: this thread's slot, whose request was in flight.
                let pending = unsafe { (*self.slot(n)).pending.assume_init_mut() };
                caught(|| answer(n, pending, response));
            });
        });
        // None, unless a device has panicked.
        for n in (0..self.count).filter(|n| missing >> n & 1 != 0) {
            // SAFETY: as above.
            let pending = unsafe { (*self.slot(n)).pending.assume_init_mut() };
            caught(|| answer(n, pending, &mut lost_response()));
        }
    }
}

/// A descriptor that is readable while a poll has something to do.
struct Bell {
    fd: OwnedFd,
    is_rung: bool,
}

impl Bell {
    fn new() -> Result<Bell, Refusal> {
        // SAFETY: no pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            let error = io::Error::last_os_error();
            return Err(Refusal::resource(format!(
                "no descriptor: {error}; raise the limit (ulimit -n)"
            )));
        }
        // SAFETY: just opened, and nobody else's.
        Ok(Bell { fd: unsafe { OwnedFd::from_raw_fd(fd) }, is_rung: false })
    }

    fn signal(&mut self) {
        if !self.is_rung {
            self.is_rung = true;
            let one = 1_u64;
            // SAFETY: 8 bytes of this function's.
            unsafe { libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), 8) };
        }
    }

    fn clear(&mut self) {
        if self.is_rung {
            self.is_rung = false;
            let mut count = 0_u64;
            // SAFETY: as above.
            unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) };
        }
    }
}

const _: () = assert!(AT_ONCE <= 64, "one bit for each in `Taken::execute`");
