//! What the library has pointers to from a submission to its answer, and the answer.
#![allow(unsafe_code)]

use core::{
    ffi::c_void,
    ptr::NonNull,
    sync::atomic::{AtomicBool, AtomicI32, Ordering},
};

use lookaside_quickassist::*;

/// No answer yet: none of the interface's statuses.
const NONE: i32 = i32::MAX;

/// The tag of a call points to this.
pub(crate) struct Place<T> {
    status: AtomicI32,
    good: AtomicBool,
    structures: T,
}

/// The structures of one request, which stay where they are until it is answered.
pub(crate) struct Call<T> {
    place: NonNull<Place<T>>,
    flying: bool,
}

// SAFETY: nobody else has the place but the library, while it works on the request.
unsafe impl<T> Send for Call<T> {}

impl<T> Call<T> {
    /// Structures of zeros.
    ///
    /// # Safety
    /// Zeros are a value of `T`.
    pub(crate) unsafe fn zeroed() -> Call<T> {
        // SAFETY: as the caller says, and so they are of the two atomics.
        let place: Place<T> = unsafe { core::mem::zeroed() };
        Call { place: NonNull::from(Box::leak(Box::new(place))), flying: false }
    }

    /// The structures.
    pub(crate) fn structures(&self) -> *mut T {
        // SAFETY: the place lives as long as this.
        unsafe { &raw mut (*self.place.as_ptr()).structures }
    }

    /// What the library hands to the callback. From now on there is no answer.
    pub(crate) fn tag(&self) -> *mut c_void {
        // SAFETY: as above; these are atomic.
        let (status, good) =
            unsafe { (&(*self.place.as_ptr()).status, &(*self.place.as_ptr()).good) };
        good.store(false, Ordering::Relaxed);
        status.store(NONE, Ordering::Relaxed);
        self.place.as_ptr().cast()
    }

    /// The library has answered the submission so: the request flies if that is success.
    pub(crate) fn submitted(&mut self, status: CpaStatus) -> CpaStatus {
        self.flying = status == CPA_STATUS_SUCCESS;
        status
    }

    /// Whether the library has the request.
    #[cfg(feature = "crypto")]
    pub(crate) fn is_flying(&self) -> bool {
        self.flying
    }

    /// The status of its answer, once there is one.
    pub(crate) fn landed(&mut self) -> Option<CpaStatus> {
        // SAFETY: the library writes it by the callback alone, as an atomic.
        let place = unsafe { &(*self.place.as_ptr()).status };
        let status = Some(place.load(Ordering::Acquire)).filter(|status| *status != NONE)?;
        self.flying = false;
        Some(status)
    }

    /// What the callback said beside the status. Once it has landed.
    #[cfg(feature = "crypto")]
    pub(crate) fn is_good(&self) -> bool {
        // SAFETY: as above.
        unsafe { &(*self.place.as_ptr()).good }.load(Ordering::Relaxed)
    }
}

impl<T> Drop for Call<T> {
    fn drop(&mut self) {
        assert!(!self.flying, "the card still has pointers to it");
        // SAFETY: made of a box, and the library has none of it any more.
        drop(unsafe { Box::from_raw(self.place.as_ptr()) });
    }
}

/// What callbacks do: says that a call is answered, and whether the answer is good.
///
/// # Safety
/// The tag is null, or that of a [`Call<T>`] that was submitted.
pub(crate) unsafe fn answer<T>(tag: *mut c_void, status: CpaStatus, good: bool) {
    if let Some(place) = NonNull::new(tag.cast::<Place<T>>()) {
        // SAFETY: a call that was submitted is freed only once it is answered; these are atomic.
        let (status_at, good_at) = unsafe { (&(*place.as_ptr()).status, &(*place.as_ptr()).good) };
        good_at.store(good, Ordering::Relaxed);
        // A status that is not the interface's must not look like none.
        status_at.store(if status == NONE { CPA_STATUS_FAIL } else { status }, Ordering::Release);
    }
}
