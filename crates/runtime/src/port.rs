//! A port: what engines see of one instance (or of the handles, which share one).

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use lookaside_core::{Response, Session, Work};

use crate::{
    abandoned::Abandoned,
    calls::Calls,
    doorbell::Notice,
    ring::{Replies, ReplyReceiver},
};

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
    let advance = work.advances_to.map(|epoch| Advance(work.request().session.clone(), epoch));
    Some((work.respond()?, advance))
}

/// The owner of an instance takes a response that advances its session's epoch.
#[cold]
pub(crate) fn advance(work: &Work) {
    if let (Some(order), Some(epoch)) = (&work.request().session.order, work.advances_to) {
        order.see(epoch);
    }
}

/// Nobody takes this response; its session goes on as if somebody had.
#[cold]
fn drop_reply(mut work: Work) {
    if let Some((_, Some(advance))) = open(&mut work) {
        advance.taken();
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
    /// A request was taken that works on memory of its caller's.
    lent: AtomicBool,
    /// What the owner has left that did not wait for its requests.
    abandoned: Abandoned<Work>,
    /// What its requests took of a device beside those of other instances.
    device_ns: AtomicU64,
}

impl Port {
    pub(crate) fn new(sink: Sink) -> Port {
        Port {
            sink,
            flush: AtomicU64::new(0),
            closed: AtomicBool::new(false),
            lent: AtomicBool::new(false),
            abandoned: Abandoned::new(),
            device_ns: AtomicU64::new(0),
        }
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

    /// A request is taken from the ring, under the scheduler's lock.
    #[inline]
    pub(crate) fn admits(&self, work: &Work) {
        // What has an engine of its own is waited for in any case.
        if !matches!(self.sink, Sink::Own(_)) && work.is_lent() {
            self.lent.store(true, Ordering::Relaxed);
        }
    }

    /// Whether the owner must wait for what was taken from the ring, because its callers get memory
    /// back. To be asked under the scheduler's lock.
    pub(crate) fn has_lent(&self) -> bool {
        self.lent.load(Ordering::Relaxed)
    }

    /// The owner goes without waiting for the last `count` replies. Returns `true` if they are there
    /// already; otherwise an engine is told so by [`Port::notify`].
    pub(crate) fn abandon(&self, replies: ReplyReceiver<Work>, count: usize) -> bool {
        self.abandoned.leave(replies, count, drop_reply)
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

    /// Tells the owner that replies were delivered. Returns `true` when the owner has gone, and these
    /// were the last.
    pub(crate) fn notify(&self) -> bool {
        if let Sink::Ring { replies, notice } = &self.sink {
            notice.replies_sent(|| replies.sent());
        }
        self.abandoned.is() && self.abandoned.clear(drop_reply)
    }
}
