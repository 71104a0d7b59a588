//! What a poll has taken out of a ring at once, and has to complete: a list on the stack of that thread.
#![allow(unsafe_code)]

use core::{
    cell::{Cell, RefCell},
    mem::MaybeUninit,
    ptr,
};
use std::collections::VecDeque;

use lookaside::{Response, fork_generation};

use super::{
    Ring, caught,
    pending::{Landed, Pending},
};
use crate::process::taken;

/// How many answers are taken at once.
pub(super) const AT_ONCE: usize = 32;

/// Answers on their way to the program.
pub(super) struct Batch {
    pub(super) ring: *const Ring,
    generation: u32,
    landed: [MaybeUninit<Landed>; AT_ONCE],
    count: Cell<usize>,
    next: Cell<usize>,
    others: RefCell<VecDeque<(Pending, Response)>>,
    outer: Cell<*const Batch>,
}

thread_local! {
    /// The batch that this thread completes; it leads to those whose callbacks have led to it.
    static INNERMOST: Cell<*const Batch> = const { Cell::new(ptr::null()) };
}

impl Batch {
    #[inline]
    pub(super) fn new(ring: &Ring) -> Batch {
        Batch {
            ring,
            generation: fork_generation(),
            landed: [const { MaybeUninit::uninit() }; AT_ONCE],
            count: Cell::new(0),
            next: Cell::new(0),
            others: RefCell::new(VecDeque::new()),
            outer: Cell::new(ptr::null()),
        }
    }

    /// Adds an answer, at most [`AT_ONCE`].
    ///
    /// # Safety
    /// The pending one is answered once.
    #[inline]
    pub(super) unsafe fn add(&mut self, pending: &mut Pending, response: &mut Response) {
        let count = self.count.get();
        // SAFETY: the caller's promise.
        match count < AT_ONCE && unsafe { pending.land(response, &mut self.landed[count]) } {
            true => self.count.set(count + 1),
            false => self.others.get_mut().push_back((*pending, taken(response))),
        }
    }

    /// Completes what is left. Callbacks within may call this again.
    #[inline]
    pub(super) fn complete(&self) {
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
            if !self.is_here() {
                return;
            }
        }
        while let Some((pending, response)) = self.take_other() {
            // SAFETY: each is taken once.
            unsafe { pending.complete(response) };
            if !self.is_here() {
                return;
            }
        }
    }

    fn take_other(&self) -> Option<(Pending, Response)> {
        self.others.borrow_mut().pop_front()
    }

    /// Whether this is the process that has taken the answers. A callback may have made a child of it, in which
    /// the rest is not completed: the parent does that.
    #[inline]
    fn is_here(&self) -> bool {
        let here = self.generation == fork_generation();
        if !here {
            self.next.set(self.count.get());
            core::mem::forget(self.others.take());
        }
        here
    }

    /// The batches of this thread, the innermost first.
    pub(super) fn for_each_here(mut visit: impl FnMut(&Batch)) {
        let mut batch = INNERMOST.get();
        // SAFETY: they lie on this thread's stack until `Listed` takes them out.
        while let Some(here) = unsafe { batch.as_ref() } {
            visit(here);
            batch = here.outer.get();
        }
    }
}

/// A batch that [`Batch::for_each_here`] finds. When this is dropped all of it is completed.
pub(super) struct Listed<'a>(&'a Batch);

impl<'a> Listed<'a> {
    #[inline]
    pub(super) fn new(batch: &'a Batch) -> Listed<'a> {
        batch.outer.set(INNERMOST.replace(batch));
        Listed(batch)
    }
}

impl Drop for Listed<'_> {
    #[inline]
    fn drop(&mut self) {
        INNERMOST.set(self.0.outer.get());
        // In a child of a callback's fork, the batch is not one of those that are counted.
        if self.0.generation == fork_generation() {
            // SAFETY: the poll that has made the batch borrows the ring.
            unsafe { &*self.0.ring }.completing.end(1);
        }
    }
}
