//! Requests on memory that the caller lends for the time of one call.
#![allow(unsafe_code)]

use lookaside::{Buf, Packet, Request};

use super::{Lanes, count};
use crate::error::Result;
use crate::lane::fibre::Fibre;

impl Lanes {
    /// Executes a request at once, whatever the caller runs in, in place on memory that is lent to
    /// it. Returns its packets.
    pub fn run_in_place(
        &self,
        memory: &mut [u8],
        request: impl FnOnce(Buf) -> Request,
    ) -> Result<Vec<Packet>> {
        // SAFETY: with 0 engines the request is executed by this thread within the call, or not at
        // all: a device that panics has answered it, and one that refuses it gives it back. The
        // buffer is dropped with the response below.
        let memory = unsafe { Buf::foreign_mut(memory.as_mut_ptr(), memory.len()) };
        let request = request(memory);
        let tally = self.tallies.of(request.op);
        let small_stack = Fibre::current().is_some();
        count(if small_stack { &tally.direct } else { &tally.synchronous });
        let response = self.at_once(request, small_stack)?;
        match response.result {
            Ok(_) => Ok(response.packets().to_vec()),
            Err(e) => {
                count(&tally.errors);
                Err(e.into())
            }
        }
    }
}
