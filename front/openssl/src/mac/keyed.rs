//! A MAC with its key, computed by the runtime: what all of them share.

use lookaside::{Auth, DigestSession, Op, Running};

use super::list::Place;
use crate::{
    bulk::offload,
    error::{Error, Reason, Result},
    hash::{aside, list::Spec},
    provider::Provider,
    statistics::Count,
};

/// A key, and the text in progress.
pub struct Keyed {
    session: DigestSession,
    running: Option<Box<dyn Running>>,
    /// HMAC's digest: its texts may run side by side.
    digest: Option<&'static Spec>,
    tag_len: usize,
    place: Place,
    count: Count,
}

impl Keyed {
    /// A key; no text yet.
    pub fn new(
        provider: &Provider,
        auth: Auth,
        key: &[u8],
        tag_len: usize,
        place: Place,
    ) -> Result<Keyed> {
        let session = provider.prepare(|runtime| runtime.digest(auth, key, tag_len))?;
        Ok(Keyed { session, running: None, digest: None, tag_len, place, count: Count::default() })
    }

    /// A key for HMAC; no text yet.
    pub fn hmac(provider: &Provider, digest: &'static Spec, key: &[u8]) -> Result<Keyed> {
        let auth = Auth::Hmac(digest.hash);
        let keyed = Keyed::new(provider, auth, key, digest.len, Place::hmac(digest))?;
        Ok(Keyed { digest: Some(digest), ..keyed })
    }

    /// Starts a text.
    pub fn start(&mut self, iv: &[u8]) -> Result<()> {
        match &mut self.running {
            Some(running) => running.restart(Op::Digest, iv)?,
            none => *none = Some(self.session.start(Op::Digest, iv)?),
        }
        Ok(())
    }

    /// Whether a text has been started.
    pub fn is_started(&self) -> bool {
        self.running.is_some()
    }

    /// More of the text.
    pub fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        let Some(digest) = self.digest else {
            let running = self.running.as_mut().ok_or(Reason::NotInitialised)?;
            self.count.add(provider, &self.place, text.len());
            running.update(text, &mut [])?;
            return Ok(());
        };
        let place = (&self.session, digest.pace);
        aside::update(provider, place, &mut self.running, text, (&mut self.count, &self.place))
    }

    /// More of HMAC's text, while the job pauses; `false` when nothing was done.
    pub fn pause(&mut self, provider: &Provider, text: &[u8]) -> Result<bool> {
        let gains = offload::gains(provider, self.session.side_by_side());
        let Some(digest) = self.digest.filter(|_| gains) else { return Ok(false) };
        let place = (&self.session, digest.pace.fewest);
        let done = aside::paused(provider, place, &mut self.running, text)?;
        if done {
            self.count.add(provider, &self.place, text.len());
            self.count.pause();
        }
        Ok(done)
    }

    /// The end of the text. Returns the tag's length.
    pub fn finish(&mut self, room: &mut [u8]) -> Result<usize> {
        let running = self.running.as_mut().ok_or(Reason::NotInitialised)?;
        let tag = room.get_mut(..self.tag_len);
        running.finish(tag.ok_or_else(|| Error::from(Reason::OutputTooSmall))?)?;
        Ok(self.tag_len)
    }

    /// A copy that goes its own way.
    pub fn duplicate(&self) -> Keyed {
        let running = self.running.as_ref().map(|running| running.duplicate());
        Keyed { session: self.session.clone(), running, count: Count::default(), ..*self }
    }

    /// Counts what was counted in the value alone.
    pub fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, &self.place);
    }
}
