//! The device of this process: started by the first call that is large enough for it, shared by
//! all threads, started anew in a child of `fork`.

use std::{
    ptr,
    sync::atomic::{
        AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use lookaside::{Call, CompressSession, Compression, Counters, Handle, Request, Runtime};

use crate::settings::settings;

/// The runtime with its engines.
pub(crate) struct Device {
    runtime: Runtime,
    handle: Handle,
}

/// Nobody has asked for the device.
const EMPTY: u8 = 0;
/// A thread is starting it; the others compress themselves meanwhile.
const STARTING: u8 = 1;
const READY: u8 = 2;
/// There is none: not wanted, or no threads to be had.
const ABSENT: u8 = 3;

static STATE: AtomicU8 = AtomicU8::new(EMPTY);
static DEVICE: AtomicPtr<Device> = AtomicPtr::new(ptr::null_mut());

/// Forks between this process and the one that loaded the library.
static GENERATION: AtomicU32 = AtomicU32::new(0);
/// The generation whose engines run, and how many there are: none where the system refuses threads.
static RUNNING: AtomicU32 = AtomicU32::new(0);
static ENGINES: AtomicUsize = AtomicUsize::new(0);

/// Pieces that the engines have and have not answered.
static IN_FLIGHT: AtomicUsize = AtomicUsize::new(0);

/// Pieces in flight for each engine: one that runs, one that is next, and some for callers that
/// are slow to take what is done.
const PER_ENGINE: usize = 4;

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Relaxed);
    IN_FLIGHT.store(0, Relaxed);
    // The thread that was at it does not exist here.
    let _ = STATE.compare_exchange(STARTING, EMPTY, Relaxed, Relaxed);
}

/// The device, started if need be; `None` where there is none, or another thread is starting it.
pub(crate) fn device() -> Option<&'static Device> {
    match STATE.load(Acquire) {
        READY => {}
        EMPTY => {
            watch();
            STATE.compare_exchange(EMPTY, STARTING, Acquire, Relaxed).ok()?;
            let started = std::panic::catch_unwind(start).ok().flatten();
            let state = if started.is_some() { READY } else { ABSENT };
            if let Some(device) = started {
                ENGINES.store(device.runtime.engines(), Relaxed);
                DEVICE.store(Box::into_raw(Box::new(device)), Release);
                RUNNING.store(GENERATION.load(Relaxed), Relaxed);
            }
            STATE.store(state, Release);
        }
        _ => return None,
    }
    // SAFETY: null, or out of a box and never freed.
    let device = unsafe { DEVICE.load(Acquire).as_ref() }?;
    let generation = GENERATION.load(Relaxed);
    if RUNNING.load(Relaxed) != generation {
        // In a child: the runtime starts engines of its own with the first question.
        ENGINES.store(device.runtime.engines(), Relaxed);
        RUNNING.store(generation, Relaxed);
    }
    (ENGINES.load(Relaxed) > 0).then_some(device)
}

/// Has forks noticed from now on. As in the runtime: no `Once`, which a child could find half done,
/// and no harm in doing it twice.
fn watch() {
    static WATCHED: AtomicBool = AtomicBool::new(false);
    if !WATCHED.load(Relaxed) {
        // SAFETY: a static function that stores to atomics. Without it (ENOMEM) a child finds the
        // parent's state; the runtime itself still notices the fork.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
        WATCHED.store(true, Relaxed);
    }
}

fn start() -> Option<Device> {
    let engines = settings().engines;
    if engines == Some(0) {
        return None;
    }
    let builder = Runtime::builder().device(lookaside_cpu::cpu());
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
        ENGINES.load(Relaxed)
    }

    /// Whether the engines have less to do than they may.
    pub(crate) fn has_room(&self) -> bool {
        IN_FLIGHT.load(Relaxed) < self.engines() * PER_ENGINE
    }

    /// Submits a piece. [`answered`] must follow when its response has been taken.
    pub(crate) fn submit(&self, request: Request) -> Call {
        IN_FLIGHT.fetch_add(1, Relaxed);
        self.handle.call(request)
    }
}

/// A submitted piece is over.
pub(crate) fn answered() {
    // In a child of a fork the count starts anew, and must not fall below zero.
    let _ = IN_FLIGHT.fetch_update(Relaxed, Relaxed, |n| n.checked_sub(1));
}

/// How many engines there are and what served their requests, where the device runs in this
/// process.
pub(crate) fn counters() -> Option<(usize, Counters)> {
    if STATE.load(Acquire) != READY || RUNNING.load(Relaxed) != GENERATION.load(Relaxed) {
        return None;
    }
    // SAFETY: as in `device`.
    let device = unsafe { DEVICE.load(Acquire).as_ref() }?;
    Some((device.engines(), device.runtime.counters()))
}
