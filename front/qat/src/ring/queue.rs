//! With 0 engines: requests that wait for a thread to poll, which executes them outside of the ring's lock. Neither
//! who submits nor another one that polls waits for that.
#![allow(unsafe_code)]

use core::mem::MaybeUninit;
use std::{
    collections::VecDeque,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd},
};

use lookaside::{Request, Response};

use super::{batch::AT_ONCE, caught, pending::Pending};
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

    /// The same slots, for a thread that executes requests of some of them.
    #[inline]
    fn again(&self) -> Slots {
        Slots { first: self.first, count: 0 }
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
}

/// What a thread has taken to execute.
pub(super) struct Taken {
    slots: Slots,
    numbers: [MaybeUninit<u32>; AT_ONCE],
    count: usize,
}

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
    pub(super) fn new(depth: usize) -> Queue {
        Queue { waiting: VecDeque::with_capacity(depth), bell: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Puts a request into its slot, whose pending part is written.
    #[inline]
    pub(super) fn push(&mut self, slots: &mut Slots, slot: u32, request: impl FnOnce() -> Request) {
        slots.get(slot).request.write(request());
        self.waiting.push_back(slot);
    }

    /// Takes some of those that have waited the longest, at most `most`.
    #[inline]
    pub(super) fn take(&mut self, slots: &mut Slots, most: u32) -> Taken {
        let numbers = [const { MaybeUninit::uninit() }; AT_ONCE];
        let mut taken = Taken { slots: slots.again(), numbers, count: 0 };
        let most = AT_ONCE.min(most as usize);
        let mut sum = 0;
        while taken.count < most && sum < ENOUGH {
            let Some(number) = self.waiting.pop_front() else { break };
            let slot = slots.get(number);
            // SAFETY: it waited, so both parts are written.
            sum += unsafe {
                cost(slot.request.assume_init_ref(), slot.pending.assume_init_ref().lands())
            };
            taken.numbers[taken.count].write(number);
            taken.count += 1;
        }
        taken
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

impl Taken {
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// Their slots.
    #[inline]
    pub(super) fn numbers(&self) -> &[u32] {
        // SAFETY: the first `count` are written.
        unsafe { core::slice::from_raw_parts(self.numbers.as_ptr().cast(), self.count) }
    }

    #[inline]
    fn slot(&self, n: usize) -> *mut Slot {
        // SAFETY: one of the ring's slots, which this thread has taken.
        unsafe { self.slots.first.add(self.numbers()[n] as usize) }
    }

    /// Executes them, outside of the ring's lock. `answer` is called for every one; where it panics that answer is
    /// lost.
    #[inline]
    pub(super) fn execute(
        &self,
        process: &Process,
        mut answer: impl FnMut(&mut Pending, Response),
    ) {
        let mut missing = u64::MAX >> (64 - self.count);
        // SAFETY: a request that waited, taken once.
        let request = |n: usize| unsafe { (*self.slot(n)).request.assume_init_read() };
        caught(|| {
            process.execute(self.count, request, |n, response| {
                missing &= !(1 << n);
                // SAFETY: this thread's slot, whose request was in flight.
                let pending = unsafe { (*self.slot(n)).pending.assume_init_mut() };
                caught(|| answer(pending, response));
            });
        });
        // None, unless a device has panicked.
        for n in (0..self.count).filter(|n| missing >> n & 1 != 0) {
            // SAFETY: as above.
            let pending = unsafe { (*self.slot(n)).pending.assume_init_mut() };
            caught(|| answer(pending, lost_response()));
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
