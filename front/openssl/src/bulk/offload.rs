//! Whether a piece of text runs at once, or pauses the job it runs in to run side by side with the
//! pieces of other jobs; and the memory for that.
//!
//! Only what gains by company pauses: chained modes (one block waits for the one before it, so that a
//! text alone leaves most of the CPU idle) and hashes. What has company within its own text (counter
//! modes, GCM, CBC decryption) runs at once, at any size.

use core::cell::RefCell;

use lookaside::{Op, OpError, Request};

use crate::{
    error::{Reason, Result},
    provider::Provider,
};

/// The smallest piece that pauses, in bytes, where the setting `async-bytes` says nothing else. A
/// pause and the way through a ring cost about 1 µs for each piece (`openssl speed -async_jobs 75`);
/// 2 KB of AES-128-CBC take 1.5 µs alone and a fifth of that side by side.
pub const LEAST: usize = 2048;

/// Whether a piece of this length is to pause its job. Asked before anything is copied.
#[inline]
pub fn pays(provider: &Provider, op: Op, len: usize, best_batch: usize) -> bool {
    len >= provider.settings.async_bytes.unwrap_or(LEAST) && provider.lanes.pauses(op, best_batch)
}

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// How many buffers a thread keeps: the pieces that may be outstanding in two full batches.
const KEPT: usize = 32;

/// Memory of this length for a request: a job's own buffers may be gone before its request is done,
/// when it is never resumed. What is in it is old. Never inlined: a job may go on in another thread.
#[inline(never)]
pub fn memory(len: usize) -> Vec<u8> {
    let kept = BUFFERS.try_with(|buffers| buffers.borrow_mut().pop()).ok().flatten();
    let mut memory = kept.unwrap_or_default();
    memory.resize(len, 0);
    memory
}

/// Keeps memory for the next one.
#[inline(never)]
pub fn keep(memory: Vec<u8>) {
    let _ = BUFFERS.try_with(|buffers| {
        let mut buffers = buffers.borrow_mut();
        if buffers.len() < KEPT {
            buffers.push(memory);
        }
    });
}

/// Executes a request of one packet that works in place on [`memory`], while the job pauses. `take`
/// is given the memory and the packet's result. `secret`: what is left in the memory is.
pub fn run<R>(
    provider: &Provider,
    request: Request,
    secret: bool,
    take: impl FnOnce(core::result::Result<u32, OpError>, &[u8]) -> Result<R>,
) -> Result<R> {
    let response = provider.lanes.respond(request)?;
    let packet = response.packets().first().ok_or(Reason::Internal)?;
    let result = response.result.and(packet.result);
    let mut memory = response.dst.into_vec();
    let taken = take(result, &memory);
    if secret {
        memory.fill(0);
    }
    keep(memory);
    taken
}
