//! The device of this process: started by the first call that is large enough for it, shared by
//! all threads, started anew in a child of `fork`.

use std::{
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use lookaside::{
    Call, CompressSession, Compression, Counters, Handle, Request, Runtime, fork_generation,
};
use lookaside_qat_card::QatDevice;
use lookaside_shared::SharedDevice;

use crate::settings::settings;

/// The runtime with its engines.
pub(crate) struct Device {
    runtime: Runtime,
    handle: Handle,
}

/// Nobody has asked for the device.
const EMPTY: u32 = 0;
/// A thread is starting it; the others compress themselves meanwhile.
const STARTING: u32 = 1;
const READY: u32 = 2;
/// There is none: not wanted, or no threads to be had.
const ABSENT: u32 = 3;

// Each with the generation of the process that stored it, in the upper 32 bits.

static STATE: AtomicU64 = AtomicU64::new(0);
/// How many engines run: none where the system refuses threads.
static ENGINES: AtomicU64 = AtomicU64::new(0);
/// Pieces that the engines have and have not answered.
static IN_FLIGHT: AtomicU64 = AtomicU64::new(0);

static DEVICE: AtomicPtr<Device> = AtomicPtr::new(ptr::null_mut());

/// Pieces in flight for each engine: one that runs, one that is next, and some for callers that
/// are slow to take what is done.
const PER_ENGINE: usize = 4;

/// A value of this process.
fn here(value: u32) -> u64 {
    u64::from(fork_generation()) << 32 | u64::from(value)
}

/// What this process has stored; `None`: what its parent has.
fn own(word: u64) -> Option<u32> {
    (word == here(word as u32)).then_some(word as u32)
}

/// The device, started if need be; `None` where there is none, or another thread is starting it.
pub(crate) fn device() -> Option<&'static Device> {
    let state = STATE.load(Acquire);
    // A thread that was starting it when the process forked does not exist in the child.
    let left = state as u32 == STARTING && own(state).is_none();
    if state as u32 == EMPTY || left {
        STATE.compare_exchange(state, here(STARTING), Acquire, Relaxed).ok()?;
        let started = std::panic::catch_unwind(start).ok().flatten();
        let state = if started.is_some() { READY } else { ABSENT };
        if let Some(device) = started {
            DEVICE.store(Box::into_raw(Box::new(device)), Release);
        }
        STATE.store(here(state), Release);
    }
    let device = ready()?;
    (device.engines() > 0).then_some(device)
}

/// The device, once it was started.
fn ready() -> Option<&'static Device> {
    // SAFETY: null, or out of a box and never freed.
    (STATE.load(Acquire) as u32 == READY).then(|| unsafe { DEVICE.load(Acquire).as_ref() })?
}

fn start() -> Option<Device> {
    let engines = settings().engines;
    if engines == Some(0) {
        return None;
    }
    let builder = Runtime::builder();
    let builder = match SharedDevice::drop_in() {
        Some(shared) => builder.device(shared),
        None => builder,
    };
    let builder = match QatDevice::drop_in() {
        Some(card) => builder.device(card),
        None => builder,
    };
    let builder = builder.device(lookaside_cpu::cpu());
    let builder = match engines {
        Some(n) => builder.engines(n),
        None => builder,
    };
    let runtime = builder.start().ok()?;
    Some(Device { handle: runtime.handle(), runtime })
}

impl Device {
    /// A session for pieces with these parameters.
    pub(crate) fn session(&self, spec: Compression) -> Option<CompressSession> {
        self.runtime.compression(spec).ok()
    }

    /// How many engines there are.
    pub(crate) fn engines(&self) -> usize {
        let known = own(ENGINES.load(Relaxed)).unwrap_or_else(|| {
            // In a child the runtime starts engines of its own with this question.
            let engines = self.runtime.engines() as u32;
            ENGINES.store(here(engines), Relaxed);
            engines
        });
        known as usize
    }

    /// Whether the engines have less to do than they may.
    pub(crate) fn has_room(&self) -> bool {
        let in_flight = own(IN_FLIGHT.load(Relaxed)).unwrap_or(0);
        (in_flight as usize) < self.engines() * PER_ENGINE
    }

    /// Submits a piece. [`answered`] must follow when its response has been taken.
    pub(crate) fn submit(&self, request: Request) -> Call {
        let more = |n| Some(here(own(n).unwrap_or(0) + 1));
        let _ = IN_FLIGHT.fetch_update(Relaxed, Relaxed, more);
        self.handle.call(request)
    }
}

/// A submitted piece is over.
pub(crate) fn answered() {
    // In a child of a fork the count starts anew, and must not fall below zero.
    let fewer = |n| own(n)?.checked_sub(1).map(here);
    let _ = IN_FLIGHT.fetch_update(Relaxed, Relaxed, fewer);
}

/// How many engines there are and what served their requests, where the device runs in this
/// process.
pub(crate) fn counters() -> Option<(usize, Counters)> {
    let engines = own(ENGINES.load(Relaxed))?;
    Some((engines as usize, ready()?.runtime.counters()))
}
