//! Time, as nanoseconds since an arbitrary start. The scheduler and the engines take it as an
//! argument; only the callers of `Engine::step` (workers, instances, handles) read a clock.

use core::time::Duration;
use std::thread;

/// A monotonic clock in nanoseconds. Tests give the runtime a virtual one.
pub trait Clock: Send + Sync {
    /// Nanoseconds since the clock's start; never decreases.
    fn now_ns(&self) -> u64;
    /// Lets this much time pass.
    fn sleep_ns(&self, ns: u64);
}

/// The operating system's monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        let t = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        t.tv_sec.cast_unsigned().wrapping_mul(1_000_000_000).wrapping_add(t.tv_nsec.cast_unsigned())
    }

    fn sleep_ns(&self, ns: u64) {
        thread::sleep(Duration::from_nanos(ns));
    }
}
