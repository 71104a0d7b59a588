//! Requests and responses.

use std::sync::Arc;

use crate::{Buf, Carried, Chain, Detail, Done, Flush, Op, OpError, Packet, Service, Session};

/// The arguments of one operation beside its session and buffers: plain data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Args {
    /// For a compression stream: the flush at the end of this piece.
    pub flush: Flush,
    /// What public-key and key-derivation requests choose.
    pub detail: Detail,
}

impl From<Detail> for Args {
    fn from(detail: Detail) -> Args {
        Args { detail, ..Args::default() }
    }
}

/// One operation to execute. Sessions of the runtime build requests; the buffers move in, and come
/// back in the [`Response`].
#[derive(Debug)]
pub struct Request {
    /// Returned in the response; the device ignores it.
    pub tag: u64,
    /// The operation.
    pub op: Op,
    /// Its arguments.
    pub args: Args,
    /// Its session.
    pub session: Arc<Session>,
    /// The source.
    pub src: Buf,
    /// The destination.
    pub dst: Buf,
    /// What the symmetric service needs beside them.
    pub carried: Option<Box<Carried>>,
}

impl Request {
    /// A request with tag 0. Front ends get theirs from a typed session of the runtime.
    pub fn new(op: Op, session: Arc<Session>, args: Args, src: Buf, dst: Buf) -> Request {
        Request { tag: 0, op, args, session, src, dst, carried: None }
    }

    /// How many bytes it works on: those of the source, or of the destination that it works on in
    /// place or fills.
    #[inline]
    pub fn size(&self) -> usize {
        match self.src.len() {
            0 => self.dst.len(),
            _ if self.op == Op::Fill => self.dst.len(),
            n => n,
        }
    }

    /// The device time that it is expected to take, in nanoseconds.
    pub fn cost_ns(&self) -> u64 {
        self.session.class.costs().estimate(self.op, self.size())
    }

    /// The packets that it carries.
    #[inline]
    pub fn packets(&self) -> &[Packet] {
        self.carried.as_deref().map_or(&[], Carried::packets)
    }

    /// How many requests it is worth in a batch: the packets of a burst.
    #[inline]
    pub fn weight(&self) -> usize {
        self.packets().len().max(1)
    }

    /// Whether it needs a state that one device holds: a stream, or a message in pieces. No other
    /// device can execute it.
    #[inline]
    pub fn is_bound(&self) -> bool {
        let running = || matches!(self.carried.as_deref(), Some(Carried::Running(_)));
        self.session.order.is_some() || running()
    }

    /// Whether somebody else keeps some of its memory alive: [`Buf::foreign`].
    #[inline]
    pub fn is_lent(&self) -> bool {
        let carried = self.carried.as_deref().is_some_and(Carried::is_lent);
        carried || self.src.is_lent() || self.dst.is_lent()
    }

    /// Whether all memory that a device works on for it lies in [`Region`](crate::Region)s.
    pub fn is_in_regions(&self) -> bool {
        let carried = self.carried.as_deref().is_none_or(Carried::is_in_regions);
        carried && self.src.is_in_regions() && self.dst.is_in_regions()
    }

    /// Whether it can be executed again after an execution of unknown extent: its source is whole and
    /// apart from its destination, and no state has moved.
    pub fn may_run_again(&self) -> bool {
        let in_place = self.op.service() == Service::Sym && self.src.is_empty();
        let moves = matches!(
            self.carried.as_deref(),
            Some(Carried::Aside(_) | Carried::Flow(_) | Carried::Document(_))
        );
        !self.is_bound() && !in_place && !moves && !self.src.overlaps(&self.dst)
    }

    /// The same request with this tag.
    #[must_use]
    pub fn tag(mut self, tag: u64) -> Request {
        self.tag = tag;
        self
    }
}

impl Response {
    /// The packets that the request carried, with their results.
    #[inline]
    pub fn packets(&self) -> &[Packet] {
        self.carried.as_deref().map_or(&[], Carried::packets)
    }

    /// Of a chain, its other steps: all else here is of the last one that ran, or should have.
    pub fn chain(&self) -> Option<&Chain> {
        match self.carried.as_deref() {
            Some(Carried::Chain(chain)) => Some(chain),
            _ => None,
        }
    }

    /// The state of the flow that the request was a piece of, after that piece.
    pub fn take_flow(&mut self) -> Option<Vec<u8>> {
        match self.carried.take().map(|carried| *carried) {
            Some(Carried::Flow(state)) => Some(state),
            other => {
                self.carried = other.map(Box::new);
                None
            }
        }
    }

    /// Of a chain, its other steps, to take their buffers; and what the request's own step carried stays.
    pub fn take_chain(&mut self) -> Option<Chain> {
        match self.carried.take().map(|carried| *carried) {
            Some(Carried::Chain(mut chain)) => {
                self.carried = chain.carried.take();
                Some(chain)
            }
            other => {
                self.carried = other.map(Box::new);
                None
            }
        }
    }
}

/// The answer to one request.
#[derive(Debug)]
pub struct Response {
    /// The request's tag.
    pub tag: u64,
    /// What happened.
    pub result: Result<Done, OpError>,
    /// The request's source, unchanged.
    pub src: Buf,
    /// The request's destination; `result` says how much of it is written.
    pub dst: Buf,
    /// What the request carried; packets have their results.
    pub carried: Option<Box<Carried>>,
}
