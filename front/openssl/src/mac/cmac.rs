//! CMAC (SP 800-38B).

use core::ffi::CStr;

use lookaside::{Auth, Cipher};

use super::{
    keyed::Keyed,
    list::Place,
    other::Other,
    text::{Choice, Text},
};
use crate::{
    bulk::list::{Kind, SPECS},
    dispatch::mac::Mac,
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Params},
    provider::Provider,
};

const NAME: &CStr = c"CMAC";
const TAG: usize = 16;

/// The length of the keys of the cipher of this name, if it is of this kind.
pub(super) fn key_len(name: &str, kind: Kind) -> Option<usize> {
    let is = |names: &CStr| {
        let names = names.to_str().unwrap_or_default();
        names.split(':').any(|other| other.eq_ignore_ascii_case(name))
    };
    SPECS.iter().find(|spec| spec.kind == kind && is(spec.names)).map(|spec| spec.key_len)
}

/// A text in progress.
pub struct Cmac {
    choice: Choice,
    text: Text,
}

impl Mac for Cmac {
    const GETTABLE: &'static [Param] =
        &[Param::size(c"size"), Param::size(c"block-size"), Param::END];
    const SETTABLE: &'static [Param] =
        &[Param::text(c"cipher"), Param::text(c"properties"), Param::octets(c"key"), Param::END];

    fn new() -> Cmac {
        Cmac { choice: Choice::new(c"cipher"), text: Text::None }
    }

    fn duplicate(&self) -> Result<Cmac> {
        Ok(Cmac { choice: self.choice.clone(), text: self.text.duplicate()? })
    }

    fn start(&mut self, provider: &Provider, key: Option<&[u8]>) -> Result<()> {
        let Some(key) = key else { return self.text.restart() };
        let len = key_len(self.choice.name()?, Kind::Cipher(Cipher::AesCbc));
        self.settle(provider);
        self.text = match len.filter(|_| self.choice.is_free()) {
            Some(len) if len != key.len() => {
                return Err(Error::from(Reason::InvalidLength).about(c"key"));
            }
            Some(_) => {
                let mut keyed = Keyed::new(provider, Auth::AesCmac, key, TAG, Place::CMAC)?;
                keyed.start(&[])?;
                Text::Ours(keyed)
            }
            None => Text::Other(Other::new(provider, NAME, &mut self.choice.export(), key)?),
        };
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        self.text.update(provider, text)
    }

    #[inline]
    fn finish(&mut self, _: &Provider, room: &mut [u8]) -> Result<usize> {
        self.text.finish(room)
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        let (size, block) = match &self.text {
            // `Plain` is HMAC's.
            Text::None | Text::Plain(_) => (0, 0),
            Text::Ours(_) => (TAG, TAG),
            Text::Other(other) => other.sizes(),
        };
        answers.int(c"size", size as i64)?;
        answers.int(c"block-size", block as i64)
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        self.choice.set(params)?;
        match params.octets(c"key")? {
            Some(key) => self.start(provider, Some(key)),
            None => Ok(()),
        }
    }

    fn settle(&mut self, provider: &Provider) {
        self.text.settle(provider);
    }
}
