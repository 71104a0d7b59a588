//! A message in progress.

use lookaside::{Auth, Hash, Op, Running};
use zeroize::Zeroizing;

use super::{aside, list::Spec};
use crate::{
    dispatch::digest::Message,
    error::{Error, Reason, Result},
    ffi::Param,
    lane::Lanes,
    param::Params,
    provider::Provider,
    statistics::Count,
};

/// A message in progress.
pub struct Text {
    spec: &'static Spec,
    running: Option<Box<dyn Running>>,
    /// Whether nothing was hashed since it was restarted.
    fresh: bool,
    count: Count,
}

/// Whether the runtime has a digest, on this machine.
pub fn is_there(lanes: &Lanes, spec: &Spec) -> bool {
    lanes
        .prepare(|runtime| runtime.digest(Auth::Plain(spec.hash), &[], spec.len))
        .is_ok_and(|session| session.start(Op::Digest, &[]).is_ok())
}

impl Text {
    /// More of a message, a piece that may pause its job.
    #[inline(never)]
    fn update_long(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        let place = (provider.digest(self.spec)?, self.spec.pace);
        aside::update(provider, place, &mut self.running, text, (&mut self.count, self.spec))
    }

    /// What SSL 3.0 signs (RFC 6101 section 5.6.8): the messages so far, and the master secret with
    /// padding, hashed; then the master secret with other padding and that.
    fn ssl3(&mut self, provider: &Provider, secret: &[u8]) -> Result<()> {
        const PADDING: usize = 40;
        if secret.len() != 48 {
            return Err(Error::from(Reason::InvalidLength).about(c"ssl3-ms"));
        }
        self.update(provider, secret)?;
        self.update(provider, &[0x36; PADDING])?;
        let mut inner = Zeroizing::new(vec![0; self.spec.len]);
        self.finish(provider, &mut inner)?;
        self.start(provider)?;
        self.update(provider, secret)?;
        self.update(provider, &[0x5c; PADDING])?;
        self.update(provider, &inner)
    }
}

impl Message for Text {
    #[inline]
    fn new(spec: &'static Spec) -> Text {
        Text { spec, running: None, fresh: false, count: Count::default() }
    }

    #[inline]
    fn duplicate(&self) -> Text {
        let running = self.running.as_ref().map(|running| running.duplicate());
        Text { spec: self.spec, running, fresh: self.fresh, count: Count::default() }
    }

    #[inline]
    fn start(&mut self, provider: &Provider) -> Result<()> {
        match &mut self.running {
            Some(_) if self.fresh => {}
            Some(running) => running.restart(Op::Digest, &[])?,
            none => *none = Some(provider.digest(self.spec)?.start(Op::Digest, &[])?),
        }
        self.fresh = true;
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        self.fresh = false;
        // Most texts are short: nothing is looked up for them.
        let least = provider.settings.async_bytes.unwrap_or(self.spec.pace.least);
        if text.len() < least {
            self.count.add(provider, self.spec, text.len());
            self.running.as_mut().ok_or(Reason::NotInitialised)?.update(text, &mut [])?;
            return Ok(());
        }
        self.update_long(provider, text)
    }

    #[inline]
    fn finish(&mut self, _: &Provider, digest: &mut [u8]) -> Result<()> {
        self.fresh = false;
        self.running.as_mut().ok_or(Reason::NotInitialised)?.finish(digest)?;
        Ok(())
    }

    fn settable(spec: &Spec) -> &'static [Param] {
        const SSL3: &[Param] = &[Param::octets(c"ssl3-ms"), Param::END];
        if spec.hash == Hash::Sha1 { SSL3 } else { &[Param::END] }
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        match params.octets(c"ssl3-ms")? {
            Some(secret) if self.spec.hash == Hash::Sha1 => self.ssl3(provider, secret),
            _ => Ok(()),
        }
    }

    #[inline]
    fn rest(&mut self) -> bool {
        let Some(running) = &mut self.running else { return false };
        self.fresh = self.fresh || running.restart(Op::Digest, &[]).is_ok();
        self.fresh
    }

    #[inline]
    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}
