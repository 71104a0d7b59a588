//! Static tracepoints (USDT) in the life of a request. docs/tracing.md says what each of them shows, and how to look.
//!
//! The crate `probe` writes the notes in the ELF file that bpftrace, perf and gdb read. A probe that nobody traces is an
//! instruction that does nothing, so its arguments are what the caller has in its registers. Where they are more, it is a
//! branch on the probe's semaphore, which a tracer counts up; what fires rarely is out of line.
//!
//! Arguments are numbers, or addresses of strings with a NUL at their ends. A request is the address of its slot: no
//! other request has that before this one is polled.

use core::ffi::{CStr, c_char};

use probe::{probe, probe_lazy};

use crate::{Done, Lost, Op, OpError, Slot, Status};

/// Why a request left its device for the next one of its route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rerouted {
    /// The device did not take it for too long.
    Busy = 1,
    /// The device gave it back, or failed, and had not begun with it.
    Untouched = 2,
    /// The device failed and may have begun with it.
    Touched = 3,
}

impl From<Lost> for Rerouted {
    fn from(lost: Lost) -> Rerouted {
        match lost {
            Lost::Untouched => Rerouted::Untouched,
            Lost::Touched => Rerouted::Touched,
        }
    }
}

/// Why a client of a shared device does not send a request to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declined {
    /// It would be alone there, and gain nothing.
    Alone = 1,
    /// The virtual function does not offer it, or its buffers are larger than the arena.
    Unfit = 2,
    /// There is no server.
    Server = 3,
    /// The runtime has reset the channel.
    Reset = 4,
}

/// The number of a result in `lookaside.h`: 0, 1 and 2 for what was done, negative ones for errors.
#[inline(always)]
pub fn status(result: &Result<Done, OpError>) -> i32 {
    match result {
        Ok(Done { status: Status::Complete, .. }) => 0,
        Ok(Done { status: Status::Overflow, .. }) => 1,
        Ok(Done { status: Status::End, .. }) => 2,
        Err(OpError::Unsupported) => -5,
        Err(OpError::NoMemory) => -8,
        Err(OpError::DstTooSmall) => -16,
        Err(OpError::BadData { .. }) => -17,
        Err(OpError::AuthFailed) => -18,
        Err(OpError::DeviceLost(_)) => -19,
        Err(OpError::Cancelled) => -20,
        Err(OpError::StreamEnded) => -21,
        Err(OpError::BadInput(_)) => -22,
        Err(OpError::Fault) => -23,
        Err(OpError::Library(_)) => -24,
        Err(OpError::Expired) => -25,
        Err(OpError::BadDocument { .. }) => -27,
        Err(_) => -2,
    }
}

fn id(slot: &Slot) -> *const Slot {
    slot
}

/// What a request is, for a tracer.
struct Shown {
    op: usize,
    name: *const c_char,
    src: usize,
    dst: usize,
    tag: u64,
}

/// Out of line: what nobody traces has one call here, in a branch that is not taken.
#[cold]
#[inline(never)]
fn show(slot: &Slot) -> Shown {
    let Some(request) = slot.request() else {
        return Shown { op: 0, name: c"".as_ptr(), src: 0, dst: 0, tag: 0 };
    };
    Shown {
        op: request.op.index(),
        name: request.op.full_name().as_ptr(),
        src: request.src.len(),
        dst: request.dst.len(),
        tag: request.tag,
    }
}

/// A program has put a request into its instance's ring, or calls for it by a handle.
#[inline(always)]
pub fn pushed(slot: &Slot) {
    let of;
    probe_lazy!(
        lookaside,
        pushed,
        {
            of = show(slot);
            id(slot)
        },
        of.op,
        of.name,
        of.src,
        of.dst,
        of.tag
    );
}

/// A request was refused: as many as may be are outstanding.
#[cold]
#[inline(never)]
pub fn full(op: Op, depth: usize) {
    probe!(lookaside, full, op.index(), op.full_name().as_ptr(), depth);
}

/// An engine has taken a request from its ring, in a batch of so many.
#[inline(always)]
pub fn begun(slot: &Slot, lanes: usize) {
    probe!(lookaside, begun, id(slot), lanes, slot.device);
}

/// A device took fewer requests than it was offered.
#[cold]
#[inline(never)]
pub fn busy(op: Op, device: u16, offered: usize, taken: usize) {
    probe!(lookaside, busy, op.index(), op.full_name().as_ptr(), device, offered, taken);
}

/// A request leaves its device for the next one.
#[cold]
#[inline(never)]
pub fn rerouted(slot: &Slot, why: Rerouted) {
    probe!(lookaside, rerouted, id(slot), slot.device, why as u8);
}

/// A request is done.
#[inline(always)]
pub fn finished(slot: &Slot, status: Status, src_bytes: usize, dst_bytes: usize) {
    probe!(lookaside, finished, id(slot), status as u8, src_bytes, dst_bytes);
}

/// A request is answered with an error.
// Without a call: whoever calls this, often has no other.
#[inline(always)]
pub fn failed(slot: &Slot) {
    probe!(lookaside, finished, id(slot), status(slot.result()), 0, 0);
}

/// A program has taken the response; of a call of a handle: it is ready to be taken.
#[inline(always)]
pub fn polled(slot: &Slot) {
    probe!(lookaside, polled, id(slot));
}

/// A client of a shared device has put a request into the ring to the server, with this number.
#[inline]
pub fn shared_sent(slot: &Slot, number: u64) {
    probe!(lookaside, shared_sent, id(slot), number);
}

/// A client of a shared device does not send a request.
#[inline]
pub fn shared_declined(slot: &Slot, why: Declined) {
    probe!(lookaside, shared_declined, id(slot), why as u8);
}

/// A client of a shared device has taken the answer to the request of this number.
#[inline]
pub fn shared_received(slot: &Slot, number: u64) {
    probe!(lookaside, shared_received, id(slot), number);
}

/// The server has taken a request from a client's ring.
#[inline]
pub fn shared_took(function: &CStr, client: i32, number: u64, op: Op, src: u32, dst: u32) {
    probe_lazy!(
        lookaside,
        shared_took,
        function.as_ptr(),
        client,
        number,
        op.index(),
        op.full_name().as_ptr(),
        src,
        dst
    );
}

/// The server has put the answer into a client's ring.
#[inline]
pub fn shared_answered(
    function: &CStr,
    client: i32,
    number: u64,
    op: Op,
    result: &Result<Done, OpError>,
) {
    probe_lazy!(
        lookaside,
        shared_answered,
        function.as_ptr(),
        client,
        number,
        op.index(),
        op.full_name().as_ptr(),
        status(result)
    );
}
