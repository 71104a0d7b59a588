//! Chains: requests of several steps, each of which works on what the one before made.

use core::{mem, ops::Range};

use crate::{Aside, Carried, Done, Op, OpError, Packet, Request, Service, buf::Part, store_result};

/// What a step of a chain works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Its source is what the step before has written; of a packet, the cipher region without a tag.
    Written,
    /// It works in place: its destination is that of the step before, the part behind what was written
    /// too (room for a tag).
    InPlace,
    /// Its source is that of the step before, which is the caller's: a digest of what is compressed.
    Same,
}

/// One step of a chain that is not the one that runs.
#[derive(Debug)]
pub struct Step {
    /// How it is fed; once it is a step that has run, how the one behind it was.
    feed: Feed,
    /// Memory for the note of what is lent to it.
    part: Option<Box<Part>>,
    /// Its request, with the buffers that are the caller's.
    pub request: Request,
    /// What happened: `Cancelled` where a step before it failed.
    pub result: Result<Done, OpError>,
}

impl Step {
    /// The packets that it carried, with their results.
    pub fn packets(&self) -> &[Packet] {
        self.request.packets()
    }
}

/// The other steps of a chain: those before the step whose fields the request has, and those behind.
/// A request carries it around what its step carries.
#[derive(Debug)]
pub struct Chain {
    /// What the step carries whose fields the request has.
    pub(crate) carried: Option<Box<Carried>>,
    steps: Vec<Step>,
    /// How many of them are done.
    done: usize,
}

impl Chain {
    /// All steps but the last one that ran, or should have: those before it, in order; then those that did
    /// not run.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The same, to take their buffers.
    pub fn into_steps(self) -> Vec<Step> {
        self.steps
    }

    /// Whether somebody else keeps some memory of these steps alive.
    #[cold]
    pub(crate) fn is_lent(&self) -> bool {
        let own = self.carried.as_deref().is_some_and(Carried::is_lent);
        own || self.steps.iter().any(|step| step.request.is_lent())
    }

    /// How many steps were done before the last one that ran, or should have.
    pub fn done(&self) -> usize {
        self.done
    }
}

const STREAM: OpError =
    OpError::BadInput("a stream's piece, or a message's, is no step of a chain");

impl Request {
    /// This request, and then another on what it makes, in one visit to the runtime: compress and
    /// encrypt, decrypt and decompress, hash and compress. The first step that fails ends the chain.
    ///
    /// The next step's buffer that `feed` names is given by the step before: leave it empty.
    /// A packet of the next step may ask for all that the step before wrote with a length of
    /// [`Packet::REST`], and for the tag right behind it with that offset.
    ///
    /// Streams and messages in pieces have no place in a chain; bursts only as its last step, with
    /// spans of their own. Allocates.
    ///
    /// # Errors
    /// `BadInput` for a step that cannot be one.
    pub fn then(mut self, feed: Feed, mut next: Request) -> Result<Request, OpError> {
        if self.is_bound() || next.is_bound() {
            return Err(STREAM);
        }
        let chain_of =
            |request: &Request| matches!(request.carried.as_deref(), Some(Carried::Chain(_)));
        if chain_of(&next) {
            return Err(OpError::BadInput("a chain is built from its beginning"));
        }
        let given = match feed {
            Feed::InPlace => &next.dst,
            Feed::Written | Feed::Same => &next.src,
        };
        if !given.is_empty() {
            return Err(OpError::BadInput("a step before gives this buffer"));
        }
        if !chain_of(&self) {
            let (carried, steps) = (self.carried.take(), Vec::with_capacity(1));
            self.carried = Some(Box::new(Carried::Chain(Chain { carried, steps, done: 0 })));
        }
        let Some(Carried::Chain(chain)) = self.carried.as_deref_mut() else { return Err(STREAM) };
        let last = chain.steps.last().map_or(self.op, |step| step.request.op);
        if feed != Feed::Same && matches!(last, Op::Digest | Op::Verify | Op::Compare) {
            return Err(OpError::BadInput("the step before makes nothing to work on"));
        }
        let in_place = self.op.service() == Service::Sym && self.src.is_empty();
        if feed == Feed::Same && (in_place || chain.steps.iter().any(|s| s.feed != Feed::Same)) {
            return Err(OpError::BadInput("the step before has no source of the caller's"));
        }
        // Should a step before it fail.
        let result = Err(OpError::Cancelled);
        for packet in next.carried.as_deref_mut().map_or(&mut [][..], Carried::packets_mut) {
            packet.result = Err(OpError::Cancelled);
        }
        let part = (feed == Feed::Written).then(Box::default);
        chain.steps.push(Step { feed, part, request: next, result });
        Ok(self)
    }

    /// Puts numbers in the place of [`Packet::REST`]: `all` is where the step's data lies.
    fn resolve(&mut self, all: Range<usize>) -> Result<(), OpError> {
        const LONG: OpError = OpError::BadInput("a packet's data of 4 GiB and more");
        let (start, end) = match (u32::try_from(all.start), u32::try_from(all.end)) {
            (Ok(start), Ok(end)) if end < Packet::REST => (start, end),
            _ if self.carried.is_none() => return Ok(()),
            _ => return Err(LONG),
        };
        let (Some(Carried::Packet(packet)) | Some(Carried::Aside(Aside { packet, .. }))) =
            self.carried.as_deref_mut()
        else {
            return Ok(());
        };
        for span in [&mut packet.cipher, &mut packet.auth] {
            if span.len == Packet::REST {
                span.offset = span.offset.saturating_add(start);
                span.len = end.saturating_sub(span.offset);
            }
        }
        if packet.tag == Packet::REST {
            let text = if packet.cipher.len > 0 { packet.cipher } else { packet.auth };
            packet.tag = text.offset.saturating_add(text.len);
        }
        Ok(())
    }
}

impl Chain {
    /// Whether another step follows the one whose fields the request has.
    pub(crate) fn has_next(&self) -> bool {
        self.done < self.steps.len()
    }

    /// [`Work::advance`](crate::Work::advance).
    pub(crate) fn advance(&mut self, request: &mut Request, done: Done) -> Result<(), OpError> {
        self.restore(request);
        let Some(step) = self.steps.get_mut(self.done) else { return Err(OpError::Unsupported) };
        self.done += 1;
        let written = written(request.op, request.carried.as_deref(), done);
        mem::swap(request, &mut step.request);
        // In its place now stands the step that ran. All have the tag of the first.
        let ran = &mut step.request;
        request.tag = ran.tag;
        store_result(&mut step.result, Ok(done));
        let all = match step.feed {
            Feed::Written => {
                let range = written?;
                let len = range.len();
                request.src = ran.dst.lend(range, step.part.take().unwrap_or_default())?;
                0..len
            }
            Feed::InPlace => {
                mem::swap(&mut request.dst, &mut ran.dst);
                written?
            }
            Feed::Same => {
                mem::swap(&mut request.src, &mut ran.src);
                0..request.src.len()
            }
        };
        request.resolve(all)
    }

    /// Gives the step before back what it lent to the one that runs.
    pub(crate) fn restore(&mut self, request: &mut Request) {
        let Some(before) = self.done.checked_sub(1).and_then(|i| self.steps.get_mut(i)) else {
            return;
        };
        match before.feed {
            Feed::Written => before.request.dst.take_back(mem::take(&mut request.src)),
            Feed::Same => mem::swap(&mut before.request.src, &mut request.src),
            Feed::InPlace => {}
        }
    }
}

/// Which part of its destination a step has written.
fn written(op: Op, carried: Option<&Carried>, done: Done) -> Result<Range<usize>, OpError> {
    match carried {
        None => Ok(0..done.produced),
        Some(Carried::Packet(packet) | Carried::Aside(Aside { packet, .. }))
            if !matches!(op, Op::Digest | Op::Verify) =>
        {
            let start = packet.cipher.offset as usize;
            Ok(start..start + done.produced)
        }
        Some(_) => Err(OpError::BadInput("a burst writes no one result for the next step")),
    }
}
