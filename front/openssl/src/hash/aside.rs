//! More of a message: at once, or while the job pauses, side by side with the messages of other jobs.

use lookaside::{Buf, Carried, DigestSession, Op, OpError, Running};

use crate::{
    bulk::offload,
    error::{Reason, Result},
    provider::Provider,
    statistics::{Count, Tallied},
};

/// When a message gains by company. A pause, the way through a ring and the copy that a request
/// needs cost about 1 µs, and a tenth of SHA-256's time.
///
/// The numbers of [`list`](super::list) were measured with `openssl speed -evp ... -async_jobs N`,
/// relative to OpenSSL alone (CPU time, Sapphire Rapids): 1 KB with 8 and 75 jobs: MD5 1.17 and 1.40,
/// SHA-512 1.06 and 1.16, SHA3-256 1.15 and 1.42, SM3 1.92 and 2.49, SHA-1 0.54 and 0.61; 2 KB: MD5
/// 2.01 and 2.49, SHA-512 1.53 and 1.79, SHA-1 0.83 and 0.92; 4 KB: SHA-1 1.20 and 1.41, SHA-256 with
/// 75 jobs 1.22. As for company: SHA-1 with 6 jobs 1.06 (4 KB), SHA-256 with 12 1.01 (4 KB) and 1.40
/// (16 KB), SHA-512 with 3 1.17 (2 KB), MD5 with 2 1.02, SHA3-256 with 2 1.22, SM3 with 2 1.45.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// From so many bytes at a time on.
    pub least: usize,
    /// With so many messages side by side: fewer are quicker one after the other.
    pub fewest: usize,
}

/// Hashes more of a text. After an error it is gone.
#[inline]
pub fn update(
    provider: &Provider,
    (session, pace): (&DigestSession, Pace),
    running: &mut Option<Box<dyn Running>>,
    text: &[u8],
    (count, tallied): (&mut Count, &impl Tallied),
) -> Result<()> {
    count.add(provider, tallied, text.len());
    if pays(provider, pace, text.len())
        && offload::gains(provider, session.side_by_side())
        && paused(provider, (session, pace.fewest), running, text)?
    {
        count.pause();
        return Ok(());
    }
    running.as_mut().ok_or(Reason::NotInitialised)?.update(text, &mut [])?;
    Ok(())
}

/// Whether a piece of this length may pause its job.
#[inline]
pub fn pays(provider: &Provider, pace: Pace, len: usize) -> bool {
    len >= provider.settings.async_bytes.unwrap_or(pace.least)
        && provider.lanes.may_pause(Op::Digest)
}

/// Hashes more of a text while the job pauses; `false` when the lane has nobody else for it, or too few
/// came together, and nothing was done.
pub fn paused(
    provider: &Provider,
    (session, fewest): (&DigestSession, usize),
    running: &mut Option<Box<dyn Running>>,
    text: &[u8],
) -> Result<bool> {
    if !provider.lanes.pauses(Op::Digest) {
        return Ok(false);
    }
    let state = running.take().ok_or(Reason::NotInitialised)?;
    let mut memory = offload::memory(text.len());
    memory.copy_from_slice(text);
    let request = session.digest(state, Buf::from(memory), Buf::empty());
    let response = provider.lanes.run_piece(request, fewest)?;
    let mut memory = response.src.into_vec();
    // It was the caller's, and may be secret.
    memory.fill(0);
    offload::keep(memory);
    let Some(Carried::Running(state)) = response.carried.map(|carried| *carried) else {
        return Err(Reason::Internal.into());
    };
    let done = match response.result {
        Ok(_) => true,
        Err(OpError::Cancelled) => false,
        Err(e) => return Err(e.into()),
    };
    *running = Some(state);
    Ok(done)
}
