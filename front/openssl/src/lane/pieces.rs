//! Pieces of texts in a lane: what gains by company only when there is enough of it.
//!
//! A signature alone takes as long in a batch as at once. A text does not: lanes that are mostly
//! empty take as long as full ones, and the kernel for one text is quicker by far. So pieces are
//! held until it is known how many there are. Too few of a kind are not executed at all: their jobs
//! get them back as cancelled, and run them at once on their own memory.

use lookaside::{OpError, Request, Response};

use super::ring::State;

/// As many pieces as a batch of them has. They are executed when the last of them is submitted, while
/// they lie in the nearest caches; a text of 16 KB is soon out of these.
pub(super) const BATCH: usize = 32;

/// A piece, and how many of its kind side by side are quicker than one after the other.
pub(super) struct Held {
    pub(super) request: Request,
    pub(super) fewest: usize,
}

impl State {
    /// Puts the pieces that are held into the ring, where there are enough of a kind; unless only
    /// what is `full` is to run, and they are no full batch. Whether there were any.
    pub(super) fn release_pieces(&mut self, full: bool) -> bool {
        if self.held.is_empty() || full && self.held.len() < BATCH {
            return false;
        }
        let held = core::mem::take(&mut self.held);
        let kind = |piece: &Held| (piece.request.op, piece.request.session.class.id());
        let kinds: Vec<_> = held.iter().map(kind).collect();
        let mut enough = false;
        for (piece, kind) in held.into_iter().zip(&kinds) {
            let alike = kinds.iter().filter(|other| *other == kind).count();
            if alike < piece.fewest {
                self.cancel(piece.request);
                continue;
            }
            enough = true;
            match self.ring.as_mut().map(|ring| ring.push(piece.request)) {
                Some(Ok(())) => self.pending += 1,
                Some(Err(full)) => self.cancel(full.0),
                None => {}
            }
        }
        self.company_of_pieces.found(enough);
        true
    }

    /// Gives a request back to its job.
    fn cancel(&mut self, request: Request) {
        let Request { tag, src, dst, carried, .. } = request;
        self.done(Response { tag, result: Err(OpError::Cancelled), src, dst, carried });
    }
}
