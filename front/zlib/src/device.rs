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

use crate::{
    settings::settings,
    stats::{self, Path},
};

/// The runtime with its engines.
pub(crate) struct Device {
    runtime: Runtime,
    handle: Handle,
    /// Whether it has a card beside the CPU.
    has_card: bool,
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
    let card = QatDevice::drop_in();
    let has_card = card.is_some();
    let builder = match card {
        Some(card) => builder.device(card),
        None => builder,
    };
    let builder = builder.device(lookaside_cpu::cpu());
    let builder = match engines {
        Some(n) => builder.engines(n),
        None => builder,
    };
    let runtime = builder.start().ok()?;
    Some(Device { handle: runtime.handle(), runtime, has_card })
}

/// What the devices had answered in this process when it was counted last: requests, bytes in, bytes out.
struct Counted {
    generation: u32,
    rows: [[AtomicU64; 3]; 2],
}

/// The rows that devices have.
const DEVICES: [(&str, Path); 2] = [("cpu", Path::Device), ("qat", Path::Card)];

/// Counts what this process has counted; without a lock, which another thread may hold during a `fork`.
fn counted() -> &'static Counted {
    static COUNTED: AtomicPtr<Counted> = AtomicPtr::new(ptr::null_mut());
    let generation = fork_generation();
    loop {
        let known = COUNTED.load(Acquire);
        // SAFETY: null, or out of a box that is never freed.
        if let Some(counted) = unsafe { known.as_ref() }
            && counted.generation == generation
        {
            return counted;
        }
        let fresh = Box::into_raw(Box::new(Counted { generation, rows: Default::default() }));
        if COUNTED.compare_exchange(known, fresh, Release, Relaxed).is_err() {
            // SAFETY: made by `into_raw` above, and nobody else has it.
            drop(unsafe { Box::from_raw(fresh) });
        }
    }
}

impl Device {
    /// A session for pieces with these parameters.
    pub(crate) fn session(&self, spec: Compression) -> Option<CompressSession> {
        self.runtime.compression(spec).ok()
    }

    /// Counts a piece that a device has compressed: which of them, their own counters say.
    pub(crate) fn count(&self, bytes_in: usize, bytes_out: usize) {
        if !self.has_card {
            return stats::count(Path::Device, bytes_in, bytes_out);
        }
        if !stats::is_on() {
            return;
        }
        let ops = self.runtime.counters().ops;
        for ((device, path), last) in DEVICES.into_iter().zip(&counted().rows) {
            let rows = || ops.iter().filter(|row| row.device == device);
            let now: [u64; 3] = [
                rows().map(|row| row.requests).sum(),
                rows().map(|row| row.src_bytes).sum(),
                rows().map(|row| row.dst_bytes).sum(),
            ];
            let mut more = now;
            for ((last, now), more) in last.iter().zip(now).zip(&mut more) {
                *more = now.saturating_sub(last.fetch_max(now, Relaxed));
            }
            stats::count_many(path, more);
        }
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
