//! A clock that tests move.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use lookaside::Clock;

/// A clock that stands still until it is told to go on. Clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<AtomicU64>);

impl VirtualClock {
    /// A clock at 0.
    pub fn new() -> VirtualClock {
        VirtualClock::default()
    }

    /// Lets time pass.
    pub fn advance(&self, ns: u64) {
        self.0.fetch_add(ns, Ordering::Relaxed);
    }
}

impl Clock for VirtualClock {
    fn now_ns(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn sleep_ns(&self, ns: u64) {
        self.advance(ns);
    }
}
