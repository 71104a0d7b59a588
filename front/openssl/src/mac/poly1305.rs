//! Poly1305 (RFC 8439): a key for each text.

use lookaside::Auth;

use super::{keyed::Keyed, list::Place};
use crate::{
    dispatch::mac::Mac,
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Params},
    provider::Provider,
};

const TAG: usize = 16;
const KEY: usize = 32;

/// A text in progress.
pub struct Poly1305 {
    keyed: Option<Keyed>,
    /// Whether the key has been used: it must not be again.
    used: bool,
}

impl Poly1305 {
    fn keyed(&mut self) -> Result<&mut Keyed> {
        self.keyed.as_mut().ok_or_else(|| Error::new(Reason::NotInitialised, "no key"))
    }
}

impl Mac for Poly1305 {
    const GETTABLE: &'static [Param] = &[Param::size(c"size"), Param::END];
    const SETTABLE: &'static [Param] = &[Param::octets(c"key"), Param::END];

    fn new() -> Poly1305 {
        Poly1305 { keyed: None, used: false }
    }

    fn duplicate(&self) -> Result<Poly1305> {
        Ok(Poly1305 { keyed: self.keyed.as_ref().map(Keyed::duplicate), used: self.used })
    }

    fn start(&mut self, provider: &Provider, key: Option<&[u8]>) -> Result<()> {
        let Some(key) = key else {
            return match self.used {
                true => Err(Error::new(Reason::MissingKey, "a key is for one message")),
                false => Ok(()),
            };
        };
        if key.len() != KEY {
            return Err(Error::from(Reason::InvalidLength).about(c"key"));
        }
        self.settle(provider);
        let mut keyed = Keyed::new(provider, Auth::Poly1305, key, TAG, Place::POLY1305)?;
        keyed.start(&[])?;
        *self = Poly1305 { keyed: Some(keyed), used: false };
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        self.used = true;
        self.keyed()?.update(provider, text)
    }

    #[inline]
    fn finish(&mut self, _: &Provider, room: &mut [u8]) -> Result<usize> {
        self.used = true;
        self.keyed()?.finish(room)
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        answers.int(c"size", TAG as i64)
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        match params.octets(c"key")? {
            Some(key) => self.start(provider, Some(key)),
            None => Ok(()),
        }
    }

    fn settle(&mut self, provider: &Provider) {
        if let Some(keyed) = &mut self.keyed {
            keyed.settle(provider);
        }
    }
}
