//! Whether a piece of text runs at once, or pauses the job it runs in to run side by side with the
//! pieces of other jobs; and the memory for that.
//!
//! Only what gains by company pauses: chained modes (one block waits for the one before it, so that a
//! text alone leaves most of the CPU idle) and hashes. What has company within its own text (counter
//! modes, GCM, CBC decryption) runs at once, at any size.

use core::cell::RefCell;

use lookaside::{AeadSession, Op, OpError, Request};

use crate::{
    error::{Reason, Result},
    provider::Provider,
};

/// The smallest piece of AES-CBC that pauses, in bytes, where the setting `async-bytes` says nothing
/// else. A pause, two copies and the way through the ring cost 0.8 to 1 µs for each piece. Measured
/// with 8 jobs and with 40, each with a text of its own in a loop of `ASYNC_start_job`, relative to
/// OpenSSL: 1.06 and 1.20 with 2 KB (at once: 1.10), 0.58 and 0.68 with 1 KB.
pub const LEAST: usize = 2048;
/// The same of records of CBC suites: 1.11 and 1.31 (at once: 1.08); with 2 KB 0.88 and 1.03.
pub const LEAST_RECORD: usize = 3072;
/// The same of DES and triple DES: 2.06 and 3.72; with 64 bytes 1.30 and 2.10.
pub const LEAST_DES: usize = 128;
/// The same of SM4: 1.80 and 2.49; with 128 bytes 1.04 and 1.35.
pub const LEAST_SM4: usize = 256;

/// Whether a piece of this length is to pause its job, of a session that runs side by side. Asked
/// before anything is copied.
#[inline]
pub fn pays(provider: &Provider, op: Op, len: usize, least: usize) -> bool {
    len >= provider.settings.async_bytes.unwrap_or(least) && provider.lanes.pauses(op)
}

/// Whether company is a reason to pause, for a session that runs `side_by_side` or does not.
#[inline]
pub fn gains(provider: &Provider, side_by_side: bool) -> bool {
    side_by_side || provider.settings.always
}

/// How many texts side by side are quicker than one after the other (16 KB, AVX-512): of AES-CBC and
/// triple DES the lanes take 2.6 times as long as one text does alone.
pub const FEWEST_CBC: usize = 3;

/// The smallest TLS record whose sealing or opening a card is asked for. Not measured: there was no card. What it saves
/// grows with the length; the way there costs a few us.
pub const LEAST_CARD: usize = 2048;

/// Whether a record of this length goes to another device than the one that runs at once.
#[inline]
pub fn goes_elsewhere(provider: &Provider, session: &AeadSession, len: usize) -> bool {
    len >= provider.settings.async_bytes.unwrap_or(LEAST_CARD) && session.has_other_device()
}

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// How many buffers a thread keeps: as many as are outstanding with that many jobs. A TLS record has
/// 16 KB at most, so this is 2 MB.
const KEPT: usize = 128;

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
/// is given the memory. `false` when too few came together: the caller is to run its piece at once.
pub fn run(
    provider: &Provider,
    request: Request,
    fewest: usize,
    take: impl FnOnce(&[u8]),
) -> Result<bool> {
    let response = provider.lanes.run_piece(request, fewest)?;
    let packet = response.packets().first().ok_or(Reason::Internal)?;
    let result = response.result.and(packet.result);
    let mut memory = response.dst.into_vec();
    let done = match result {
        Ok(_) => {
            take(&memory);
            Ok(true)
        }
        Err(OpError::Cancelled) => Ok(false),
        Err(e) => Err(e.into()),
    };
    if !matches!(done, Ok(true)) {
        // Not encrypted.
        memory.fill(0);
    }
    keep(memory);
    done
}
