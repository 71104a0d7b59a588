//! What a virtual function has done, for whoever asks.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use lookaside::Service;

use crate::config::SERVICES;

/// What a virtual function has answered of a service since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// Requests answered, errors included.
    pub requests: u64,
    /// Of these, answered with an error.
    pub errors: u64,
    /// Bytes consumed from sources.
    pub src_bytes: u64,
    /// Bytes produced in destinations.
    pub dst_bytes: u64,
}

/// What a virtual function has, and what it has refused since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// Processes that said hello.
    pub clients: u64,
    /// Rings of these.
    pub rings: u64,
    /// Sessions of these.
    pub sessions: u64,
    /// Bytes taken of its memory.
    pub memory_bytes: u64,
    /// Requests that were taken and are not answered.
    pub queue: u64,
    /// Connections, rings and sessions refused.
    pub refused: u64,
    /// Clients that were cut off: they sent what no client sends.
    pub cut_off: u64,
}

impl Held {
    /// Names and values, in one order.
    pub fn rows(&self) -> [(&'static str, u64); 7] {
        [
            ("clients", self.clients),
            ("rings", self.rings),
            ("sessions", self.sessions),
            ("memory_bytes", self.memory_bytes),
            ("queue", self.queue),
            ("refused", self.refused),
            ("cut_off", self.cut_off),
        ]
    }

    pub(crate) fn set(&mut self, name: &str, value: u64) -> Option<()> {
        let place = match name {
            "clients" => &mut self.clients,
            "rings" => &mut self.rings,
            "sessions" => &mut self.sessions,
            "memory_bytes" => &mut self.memory_bytes,
            "queue" => &mut self.queue,
            "refused" => &mut self.refused,
            "cut_off" => &mut self.cut_off,
            _ => return None,
        };
        *place = value;
        Some(())
    }
}

impl Served {
    /// Names and values, in one order.
    pub fn rows(&self) -> [(&'static str, u64); 4] {
        [
            ("requests", self.requests),
            ("errors", self.errors),
            ("src_bytes", self.src_bytes),
            ("dst_bytes", self.dst_bytes),
        ]
    }
}

/// The counters of a virtual function. Its thread writes them.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// By service: the values of [`Served::rows`].
    served: [[AtomicU64; 4]; SERVICES.len()],
    pub(crate) clients: AtomicU64,
    pub(crate) rings: AtomicU64,
    pub(crate) sessions: AtomicU64,
    pub(crate) memory_bytes: AtomicU64,
    pub(crate) queue: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) cut_off: AtomicU64,
}

/// Adds without a locked instruction: there is one writer.
pub(crate) fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(n), Relaxed);
}

/// Takes away, as [`add`].
pub(crate) fn take(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed).wrapping_sub(n), Relaxed);
}

impl Counts {
    /// A request was answered.
    pub(crate) fn answered(&self, service: Service, is_error: bool, src: usize, dst: usize) {
        let Some(place) = SERVICES.iter().position(|one| *one == service) else { return };
        let more = [1, is_error.into(), src as u64, dst as u64];
        for (counter, n) in self.served[place].iter().zip(more) {
            add(counter, n);
        }
    }

    pub(crate) fn held(&self) -> Held {
        let of = |counter: &AtomicU64| counter.load(Relaxed);
        Held {
            clients: of(&self.clients),
            rings: of(&self.rings),
            sessions: of(&self.sessions),
            memory_bytes: of(&self.memory_bytes),
            queue: of(&self.queue),
            refused: of(&self.refused),
            cut_off: of(&self.cut_off),
        }
    }

    /// What was served of these services.
    pub(crate) fn served(&self, services: &[Service]) -> Vec<(Service, Served)> {
        let one = |(service, counters): (&Service, &[AtomicU64; 4])| {
            let [requests, errors, src_bytes, dst_bytes] =
                std::array::from_fn(|n| counters[n].load(Relaxed));
            (*service, Served { requests, errors, src_bytes, dst_bytes })
        };
        let all = SERVICES.iter().zip(&self.served).map(one);
        all.filter(|(service, _)| services.contains(service)).collect()
    }
}
