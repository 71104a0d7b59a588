//! A port: what engines see of one instance (or of the handles, which share one).

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use lookaside_core::{Request, Response, Session, Work};

use crate::{calls::Calls, doorbell::Notice, ring::Replies};

/// The epoch that taking a response makes its session's next pushes carry.
pub(crate) struct Advance(Arc<Session>, u32);

impl Advance {
    /// The owner has the response in its hands.
    pub(crate) fn taken(self) {
        if let Some(order) = &self.0.order {
            order.see(self.1);
        }
    }
}

/// Empties a finished slot. [`Advance::taken`] must follow when the owner takes the response.
#[inline]
pub(crate) fn open(work: &mut Work) -> Option<(Response, Option<Advance>)> {
    let Request { tag, session, src, dst, carried, .. } = work.take()?;
    let advance = work.advances_to.map(|epoch| Advance(session, epoch));
    Some((Response { tag, result: *work.result(), src, dst, carried }, advance))
}

/// The owner of an instance takes a response that advances its session's epoch.
#[cold]
pub(crate) fn advance(work: &Work, session: &Session) {
    if let (Some(order), Some(epoch)) = (&session.order, work.advances_to) {
        order.see(epoch);
    }
}

/// Where replies go.
pub(crate) enum Sink {
    /// The reply ring of an instance.
    Ring { replies: crate::sync::Arc<Replies<Work>>, notice: Notice },
    /// None: the instance has an engine of its own, and takes from that.
    Own(Notice),
    /// The calls of the handles.
    Calls(Calls),
}

pub(crate) struct Port {
    pub(crate) sink: Sink,
    /// Requests with a lower number are wanted now: no batch is to wait for more of them.
    flush: AtomicU64,
    /// The owner is going: what has not run is cancelled.
    closed: AtomicBool,
    /// What its requests took of a device beside those of other instances.
    device_ns: AtomicU64,
}

impl Port {
    pub(crate) fn new(sink: Sink) -> Port {
        let closed = AtomicBool::new(false);
        Port { sink, flush: AtomicU64::new(0), closed, device_ns: AtomicU64::new(0) }
    }

    /// Asks for all requests below `seq`. Returns whether that is news.
    pub(crate) fn flush(&self, seq: u64) -> bool {
        if self.flush.load(Ordering::Relaxed) >= seq {
            return false;
        }
        if let Sink::Own(_) = self.sink {
            // Nobody else asks, and nobody else looks.
            self.flush.store(seq, Ordering::Relaxed);
            return true;
        }
        self.flush.fetch_max(seq, Ordering::Release) < seq
    }

    pub(crate) fn flushed(&self, seq: u64) -> bool {
        self.flush.load(Ordering::Acquire) > seq
    }

    /// Requests with a lower number are wanted.
    pub(crate) fn wanted(&self) -> u64 {
        self.flush.load(Ordering::Acquire)
    }

    pub(crate) fn add_device_ns(&self, ns: u64) {
        self.device_ns.fetch_add(ns, Ordering::Relaxed);
    }

    pub(crate) fn device_ns(&self) -> u64 {
        self.device_ns.load(Ordering::Relaxed)
    }

    /// The owner is going: what has not run is cancelled, what a batch waits with runs now.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        self.flush.store(u64::MAX, Ordering::Release);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Delivers finished requests, and leaves `finished` empty. [`Port::notify`] must follow, once
    /// for many.
    pub(crate) fn deliver(&self, finished: &mut VecDeque<Work>) {
        match &self.sink {
            Sink::Own(_) => {}
            Sink::Ring { replies, .. } => replies.send(finished.drain(..)),
            Sink::Calls(calls) => finished.drain(..).for_each(|work| calls.deliver(work)),
        }
    }

    /// Tells the owner that replies were delivered.
    pub(crate) fn notify(&self) {
        if let Sink::Ring { replies, notice } = &self.sink {
            notice.replies_sent(|| replies.sent());
        }
    }
}
