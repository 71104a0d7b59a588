//! What is done with the answer of a request, kept in place: nothing is allocated for it.
#![allow(unsafe_code)]

use core::{
    ffi::c_void,
    mem::{MaybeUninit, align_of, size_of},
    ptr,
};

use lookaside::Response;

/// What is done with an answer: results written, counted, the caller called back.
pub trait Complete: Send + 'static {
    /// Whether [`Complete::land`] is called in place of [`Complete::complete`].
    const LANDS: bool = false;

    /// Runs within a poll, outside of all locks.
    fn complete(self, response: Response);

    /// What is quick runs for many answers at a time, before the program is called; it leaves the call of the
    /// program's function.
    fn land(self, _response: &mut Response) -> Landed
    where
        Self: Sized,
    {
        Landed { call: |_| {}, words: [ptr::null_mut(); 6], numbers: [0; 3] }
    }

    /// The ring had no room after [`super::Ring::submit`] has asked for the request.
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

/// The longest [`Complete`], in words.
const WORDS: usize = 16;

/// Any [`Complete`], in place.
#[derive(Clone, Copy)]
pub(super) struct Pending {
    complete: unsafe fn(*mut u64, Response),
    land: Option<unsafe fn(*mut u64, &mut Response, &mut MaybeUninit<Landed>)>,
    payload: [MaybeUninit<u64>; WORDS],
}

// SAFETY: payloads are `Send` (`Complete` demands it).
unsafe impl Send for Pending {}

impl Pending {
    #[inline]
    pub(super) fn write<C: Complete>(place: &mut MaybeUninit<Pending>, value: C) {
        const {
            assert!(size_of::<C>() <= WORDS * 8 && align_of::<C>() <= 8, "WORDS is too small");
        }
        unsafe fn run<C: Complete>(payload: *mut u64, response: Response) {
            // SAFETY: `write` has put a `C` here, and each is taken once.
            let value = unsafe { payload.cast::<C>().read() };
            value.complete(response);
        }
        unsafe fn land<C: Complete>(
            payload: *mut u64,
            response: &mut Response,
            place: &mut MaybeUninit<Landed>,
        ) {
            // SAFETY: as in `run`.
            let value = unsafe { payload.cast::<C>().read() };
            place.write(value.land(response));
        }
        let place = place.as_mut_ptr();
        // SAFETY: all fields of a place of ours; the payload is large and aligned enough, as checked above.
        unsafe {
            (&raw mut (*place).complete).write(run::<C>);
            (&raw mut (*place).land).write(if C::LANDS { Some(land::<C>) } else { None });
            (&raw mut (*place).payload).cast::<C>().write(value);
        }
    }

    /// Takes back what was written and is not in use.
    ///
    /// # Safety
    /// A `C` was the last that was written here, and nobody has taken it.
    pub(super) unsafe fn take<C: Complete>(place: &mut MaybeUninit<Pending>) -> C {
        let place = place.as_mut_ptr();
        // SAFETY: the caller's promise.
        unsafe { (&raw mut (*place).payload).cast::<C>().read() }
    }

    /// Whether the answer is landed.
    #[inline]
    pub(super) fn lands(&self) -> bool {
        self.land.is_some()
    }

    /// Lands the answer in `place`, where this is one that lands; whether it is. Written there and not moved: a copy
    /// would wait until what was stored in pieces has left the core.
    ///
    /// # Safety
    /// Once, and not beside [`Pending::complete`].
    #[inline]
    pub(super) unsafe fn land(
        &mut self,
        response: &mut Response,
        place: &mut MaybeUninit<Landed>,
    ) -> bool {
        let Some(land) = self.land else { return false };
        // SAFETY: written by `write`; taken once by the caller's promise.
        unsafe { land(self.payload.as_mut_ptr().cast(), response, place) };
        true
    }

    /// Completes the answer.
    ///
    /// # Safety
    /// Once, and not beside [`Pending::land`].
    pub(super) unsafe fn complete(mut self, response: Response) {
        // SAFETY: as in `land`.
        unsafe { (self.complete)(self.payload.as_mut_ptr().cast(), response) }
    }
}
