//! A message in progress.

use lookaside::{Hash, Op, Running};
use zeroize::Zeroizing;

use super::{aside, list::Spec, plain};
use crate::{
    bulk::offload,
    dispatch::digest::Message,
    error::{Error, Reason, Result},
    ffi::Param,
    param::Params,
    provider::Provider,
    statistics::Count,
};

/// Where a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// None was started, or it has ended.
    Nowhere,
    /// In libcrypto's state.
    Plain,
    /// In the runtime's: of a digest that libcrypto does not export, or of a message that has paused its job
    /// with its first piece.
    Running,
}

/// A message in progress.
pub struct Text {
    spec: &'static Spec,
    place: Place,
    plain: plain::State,
    running: Option<Box<dyn Running>>,
    /// Whether nothing was hashed since it was restarted.
    fresh: bool,
    count: Count,
}

impl Text {
    /// More of a message, a piece that may pause its job.
    #[inline(never)]
    fn update_long(&mut self, provider: &Provider, text: &[u8], fresh: bool) -> Result<()> {
        if self.place == Place::Running {
            let pace = (provider.digest(self.spec)?, self.spec.pace);
            let count = (&mut self.count, self.spec);
            return aside::update(provider, pace, &mut self.running, text, count);
        }
        self.count.add(provider, self.spec, text.len());
        if fresh && aside::pays(provider, self.spec.pace, text.len()) {
            let session = provider.digest(self.spec)?;
            if offload::gains(provider, session.side_by_side()) {
                self.restart_running(provider)?;
                let pace = (session, self.spec.pace.fewest);
                if aside::paused(provider, pace, &mut self.running, text)? {
                    self.count.pause();
                    self.place = Place::Running;
                    return Ok(());
                }
            }
        }
        self.update_plain(text)
    }

    #[inline]
    fn update_plain(&mut self, text: &[u8]) -> Result<()> {
        match (self.place, self.spec.functions) {
            (Place::Plain, Some(functions)) => self.plain.update(functions, text),
            _ => return Err(Reason::NotInitialised.into()),
        }
        Ok(())
    }

    fn restart_running(&mut self, provider: &Provider) -> Result<()> {
        match &mut self.running {
            Some(running) => running.restart(Op::Digest, &[])?,
            none => *none = Some(provider.digest(self.spec)?.start(Op::Digest, &[])?),
        }
        Ok(())
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
        let (plain, count) = (plain::State::new(), Count::default());
        Text { spec, place: Place::Nowhere, plain, running: None, fresh: false, count }
    }

    #[inline]
    fn duplicate(&self) -> Text {
        let mut copy = Text::new(self.spec);
        (copy.place, copy.fresh) = (self.place, self.fresh);
        match (self.place, self.spec.functions) {
            (Place::Plain, Some(functions)) => copy.plain.copy_from(functions, &self.plain),
            (Place::Running, _) => {
                copy.running = self.running.as_ref().map(|running| running.duplicate());
            }
            _ => {}
        }
        copy
    }

    #[inline]
    fn start(&mut self, provider: &Provider) -> Result<()> {
        if self.fresh {
            return Ok(());
        }
        match self.spec.functions {
            Some(functions) => {
                if self.place == Place::Running {
                    // What it holds of another message goes.
                    self.restart_running(provider)?;
                }
                self.plain.start(functions);
                self.place = Place::Plain;
            }
            None => {
                self.restart_running(provider)?;
                self.place = Place::Running;
            }
        }
        self.fresh = true;
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        let fresh = core::mem::replace(&mut self.fresh, false);
        // Most texts are short: nothing is looked up for them.
        let least = provider.settings.async_bytes.unwrap_or(self.spec.pace.least);
        if text.len() >= least {
            return self.update_long(provider, text, fresh);
        }
        self.count.add(provider, self.spec, text.len());
        if self.place == Place::Running {
            self.running.as_mut().ok_or(Reason::NotInitialised)?.update(text, &mut [])?;
            return Ok(());
        }
        self.update_plain(text)
    }

    #[inline]
    fn finish(&mut self, _: &Provider, digest: &mut [u8]) -> Result<()> {
        self.fresh = false;
        match (self.place, self.spec.functions) {
            (Place::Plain, Some(functions)) => {
                self.plain.finish(functions, digest)?;
                self.place = Place::Nowhere;
                Ok(())
            }
            (Place::Running, _) => {
                self.running.as_mut().ok_or(Reason::NotInitialised)?.finish(digest)?;
                Ok(())
            }
            _ => Err(Reason::NotInitialised.into()),
        }
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
        if self.fresh {
            return true;
        }
        if self.place == Place::Running {
            let Some(running) = &mut self.running else { return false };
            if running.restart(Op::Digest, &[]).is_err() {
                return false;
            }
            self.fresh = self.spec.functions.is_none();
        }
        if let Some(functions) = self.spec.functions {
            self.plain.wipe(functions);
            self.place = Place::Nowhere;
        }
        true
    }

    #[inline]
    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}
