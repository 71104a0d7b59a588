//! What a client asks of the world around it.

use std::time::Instant;

/// The world of a [`crate::SharedDevice`]: its clock, and who else may go on while it waits. A simulation has its own, in
/// which the server runs on the same thread.
pub trait World: Send + Sync {
    /// Nanoseconds since any start; never decreases.
    fn now_ns(&self) -> u64;

    /// A question was sent to the server, and this thread waits for the answer next.
    fn awaits(&self) {}
}

/// The operating system's.
pub(crate) struct System;

impl World for System {
    fn now_ns(&self) -> u64 {
        static START: once_cell::race::OnceBox<Instant> = once_cell::race::OnceBox::new();
        START.get_or_init(|| Box::new(Instant::now())).elapsed().as_nanos() as u64
    }
}
