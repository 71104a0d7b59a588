//! An instance, as programs know it: a handle, its rings, its state, its counters.
#![allow(unsafe_code)]

use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, Ordering},
};

use std::os::fd::RawFd;

use crate::{
    abi::CpaInstanceHandle,
    counters::Counters,
    cy::pke::counters::PkeCounters,
    events::Joined,
    notify::Notices,
    process::Process,
    refusal::Refusal,
    ring::{Ring, drain},
};

/// What an instance is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Data compression.
    Dc,
    /// Cryptography, symmetric and public-key.
    Cy,
}

/// Requests were accepted before the first start, as programs that omit it expect.
const FRESH: u8 = 0;
const STARTED: u8 = 1;
const STOPPED: u8 = 2;

/// An instance. Its address is its handle.
#[repr(align(64))]
pub struct QatInstance {
    service: Service,
    number: u16,
    /// The place of its node in [`crate::nodes::Nodes`].
    node: u16,
    /// Compression's, or the one of symmetric requests.
    pub ring: Ring,
    /// The one of public-key requests.
    pub asym: Ring,
    state: AtomicU8,
    events: AtomicBool,
    /// The callback of the data plane.
    pub dp_callback: AtomicPtr<c_void>,
    both: Joined,
    /// What it has served.
    pub counters: Counters,
    /// What it has done with public keys.
    pub pke: PkeCounters,
    /// Whom to tell of its restarts.
    pub notices: Notices,
    /// Whether the next verification of a request without a session is to fail: a test aid of the interface.
    pub fails_verification: AtomicBool,
}

impl QatInstance {
    /// An instance that has served nothing.
    pub fn new(service: Service, number: u16, node: u16, events: bool) -> QatInstance {
        QatInstance {
            service,
            number,
            node,
            ring: Ring::new(),
            asym: Ring::gathering(),
            state: AtomicU8::new(FRESH),
            events: AtomicBool::new(events),
            dp_callback: AtomicPtr::new(ptr::null_mut()),
            both: Joined::new(),
            counters: Counters::new(),
            pke: PkeCounters::new(),
            notices: Notices::new(),
            fails_verification: AtomicBool::new(false),
        }
    }

    /// What it is for.
    pub fn service(&self) -> Service {
        self.service
    }

    /// Its place among those of its service.
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Its package.
    pub fn node(&self) -> u16 {
        self.node
    }

    /// The handle that programs have.
    pub fn handle(&'static self) -> CpaInstanceHandle {
        ptr::from_ref(self).cast_mut().cast()
    }

    /// In a child process: nothing was counted.
    pub fn in_child(&self) {
        self.counters.clear();
        self.pke.clear();
    }

    /// Whether requests are accepted.
    ///
    /// # Errors
    /// When it is stopped.
    #[inline]
    pub fn check_running(&self) -> Result<(), Refusal> {
        match self.state.load(Ordering::Relaxed) {
            STOPPED => Err(Refusal::fail(
                "the instance is stopped: start it with cpaDcStartInstance or cpaCyStartInstance",
            )),
            _ => Ok(()),
        }
    }

    /// Whether it is not stopped.
    pub fn is_up(&self) -> bool {
        self.check_running().is_ok()
    }

    /// Accepts requests from here on.
    pub fn start(&self) {
        self.state.store(STARTED, Ordering::Relaxed);
        self.rings().into_iter().for_each(|ring| ring.close(false));
    }

    /// As before the first start.
    pub fn renew(&self) {
        self.state.store(FRESH, Ordering::Relaxed);
        self.rings().into_iter().for_each(|ring| ring.close(false));
    }

    /// Forgets the program's functions.
    pub fn forget_program(&self) {
        self.dp_callback.store(ptr::null_mut(), Ordering::Release);
        self.notices.clear();
    }

    /// Its rings.
    pub fn rings(&self) -> [&Ring; 2] {
        [&self.ring, &self.asym]
    }

    /// Accepts no more requests.
    pub fn close(&self) {
        self.state.store(STOPPED, Ordering::Relaxed);
        self.rings().into_iter().for_each(|ring| ring.close(true));
    }

    /// Accepts no more requests, and completes those in flight: their callbacks run here, or have returned.
    ///
    /// # Errors
    /// When a ring cannot be opened in this process.
    pub fn stop(&self, process: &Process) -> Result<(), Refusal> {
        self.close();
        let drained = self.drain(process);
        process.forget_unused_keys();
        drained
    }

    /// Completes all that is in flight.
    ///
    /// # Errors
    /// When a ring cannot be opened in this process.
    pub fn drain(&self, process: &Process) -> Result<(), Refusal> {
        drain(&self.rings(), process)
    }

    /// Whether the next verification of a request without a session is to fail; only that one.
    pub fn take_failure(&self) -> bool {
        self.fails_verification.load(Ordering::Relaxed)
            && self.fails_verification.swap(false, Ordering::Relaxed)
    }

    /// Calls the data plane's callback of compression.
    ///
    /// # Safety
    /// The operation is one that the program has submitted to this instance.
    pub unsafe fn call_plane(&self, op: *mut c_void) {
        let callback = self.dp_callback.load(Ordering::Acquire);
        if callback.is_null() {
            return;
        }
        // SAFETY: set by `cpaDcDpRegCbFunc` alone, to a function of this form.
        let callback: unsafe extern "C" fn(*mut c_void) = unsafe { core::mem::transmute(callback) };
        // SAFETY: the program's function, with the operation that it submitted.
        unsafe { callback(op) };
    }

    /// Whether it is in event mode: it has a descriptor.
    pub fn has_events(&self) -> bool {
        self.events.load(Ordering::Relaxed)
    }

    /// The descriptor of event mode: readable when a poll has something to do. One for both rings.
    ///
    /// # Errors
    /// When the system has no more descriptors.
    pub fn descriptor(&self, process: &Process) -> Result<RawFd, Refusal> {
        match self.service {
            Service::Dc => self.ring.descriptor(process),
            Service::Cy => self.both.of(&[&self.ring, &self.asym], process),
        }
    }

    /// Turns event mode on or off.
    pub fn set_events(&self, on: bool) {
        self.events.store(on, Ordering::Relaxed);
    }
}
