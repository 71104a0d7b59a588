//! Whom to tell when an instance restarts. Events wait until the program asks for them
//! (`icp_sal_poll_device_events`), as those of hardware do.
#![allow(unsafe_code)]

use core::ffi::c_void;

use crate::{abi::*, instance::QatInstance, lock::Lock};

/// Both services' callbacks have this form.
pub type Callback = CpaDcInstanceNotificationCbFunc;

struct Inner {
    callback: Callback,
    tag: *mut c_void,
    /// Events not yet delivered: a restart is two.
    waiting: Vec<CpaInstanceEvent>,
}

impl Default for Inner {
    fn default() -> Inner {
        Inner { callback: None, tag: core::ptr::null_mut(), waiting: Vec::new() }
    }
}

// SAFETY: the tag is the program's, which says by registering that any polling thread may have it.
unsafe impl Send for Inner {}

/// The callback of an instance.
pub struct Notices(Lock<Inner>);

impl Notices {
    /// Nobody is told.
    pub const fn new() -> Notices {
        let inner = Inner { callback: None, tag: core::ptr::null_mut(), waiting: Vec::new() };
        Notices(Lock::new(inner))
    }

    /// Replaces the callback; `None` for nobody.
    pub fn set(&self, callback: Callback, tag: *mut c_void) {
        let mut inner = self.0.lock().or_empty();
        (inner.callback, inner.tag) = (callback, tag);
    }

    /// Nobody is told any more, nor of what waits.
    pub fn clear(&self) {
        *self.0.lock().or_empty() = Inner::default();
    }

    /// Has events delivered at the next poll for them.
    pub fn push(&self, events: &[CpaInstanceEvent]) {
        self.0.lock().or_empty().waiting.extend_from_slice(events);
    }

    /// Delivers what waits.
    pub fn deliver(&self, instance: &'static QatInstance) {
        let (callback, tag, events) = {
            let mut inner = self.0.lock().or_empty();
            (inner.callback, inner.tag, core::mem::take(&mut inner.waiting))
        };
        let Some(callback) = callback else { return };
        for event in events {
            // SAFETY: the program's function, with the tag that it gave.
            unsafe { callback(instance.handle(), tag, event) };
        }
    }
}

impl Default for Notices {
    fn default() -> Notices {
        Notices::new()
    }
}
