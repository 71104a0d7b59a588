//! Pushes that do not go the usual way: into slots that spill, and in a child process.

use core::time::Duration;

use lookaside_core::{Lost, OpError, Request, Response, Work};

use super::{Full, Instance, Link};
use crate::{doorbell::Notice, fork, memory};

/// Makes slots for requests that spill, if more may. Returns whether there is one.
#[cold]
pub(super) fn make_slots(free: &mut Vec<Work>, spare: &mut usize, most: usize) -> bool {
    const FEW: usize = 16;
    let n = FEW.min(*spare);
    // Room for all of them, so that one that comes back never allocates.
    let room = most.saturating_sub(free.len());
    if n == 0
        || free.try_reserve_exact(room).is_err()
        || memory::fill("slots that spill", free, n, Work::empty).is_err()
    {
        return false;
    }
    *spare -= n;
    true
}

impl Instance {
    /// A push that finds no slot: the request spills, or is refused. Boxed as in `push_unusual`.
    #[cold]
    #[inline(never)]
    #[allow(clippy::boxed_local, reason = "see above")]
    pub(super) fn push_spilled(
        &mut self,
        request: Box<Request>,
        within: Option<Duration>,
    ) -> Result<(), Full> {
        let Link { free, spare, .. } = &mut self.link;
        if !make_slots(free, spare, self.tenant.most()) {
            return Err(Full(*request));
        }
        match within {
            None => self.push(*request),
            Some(time) => self.push_within(time, *request),
        }
    }

    /// The first push of a child process, and those of one without engines. Boxed: whatever takes the address
    /// of a request has it stored, and loaded again, on the usual way too.
    #[cold]
    #[inline(never)]
    #[allow(clippy::boxed_local, reason = "see above")]
    pub(super) fn push_unusual(
        &mut self,
        request: Box<Request>,
        within: Option<Duration>,
    ) -> Result<(), Full> {
        if fork::generation() != self.generation {
            self.revive();
            return match within {
                None => self.push(*request),
                Some(time) => self.push_within(time, *request),
            };
        }
        if self.outstanding == self.tenant.most() {
            return Err(Full(*request));
        }
        let Request { tag, src, dst, carried, .. } = *request;
        let result = Err(OpError::DeviceLost(Lost::Untouched));
        self.refused.push(Response { tag, result, src, dst, carried });
        self.link.notice(Notice::signal_fd);
        self.outstanding += 1;
        Ok(())
    }
}
