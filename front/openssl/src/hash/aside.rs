//! More of a message: at once, or while the job pauses, side by side with the messages of other jobs.

use lookaside::{Buf, Carried, DigestSession, Op, Running};

use crate::{
    bulk::offload,
    error::{Reason, Result},
    lane::company::Kind,
    provider::Provider,
    statistics::{Count, Tallied},
};

/// When a message gains by company.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// From so many bytes at a time on. A pause, the way through a ring and the copy that a request
    /// needs cost about 1 µs and a tenth of SHA-256's time.
    pub least: usize,
    /// With so many messages side by side: fewer are no faster than one after the other.
    pub needs: u8,
}

/// Where a message is hashed.
pub struct Place<'a> {
    /// The hash or MAC.
    pub session: &'a DigestSession,
    /// When it gains.
    pub pace: Pace,
    /// Which others it runs together with.
    pub kind: Kind,
}

/// Hashes more of a text. After an error it is gone.
pub fn update(
    provider: &Provider,
    place: &Place,
    running: &mut Option<Box<dyn Running>>,
    text: &[u8],
    count: (&mut Count, &impl Tallied),
) -> Result<()> {
    let (count, tallied) = count;
    let state = running.as_mut().ok_or(Reason::NotInitialised)?;
    count.add(provider, tallied, text.len());
    let least = provider.settings.async_bytes.unwrap_or(place.pace.least);
    if text.len() < least
        || !provider.lanes.pauses_as(Op::Digest, place.session.best_batch(), Some(place.kind))
    {
        state.update(text, &mut [])?;
        return Ok(());
    }
    count.pause();
    let mut memory = offload::memory(text.len());
    memory.copy_from_slice(text);
    let state = running.take().ok_or(Reason::Internal)?;
    let request = place.session.digest(state, Buf::from(memory), Buf::empty());
    let response = provider.lanes.respond_as(request, Some(place.kind))?;
    let Some(Carried::Running(state)) = response.carried.map(|carried| *carried) else {
        return Err(Reason::Internal.into());
    };
    offload::keep(response.src.into_vec());
    response.result?;
    *running = Some(state);
    Ok(())
}
