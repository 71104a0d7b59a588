//! GMAC (SP 800-38D).

use core::ffi::CStr;

use lookaside::{Aead, Auth};

use super::{
    cmac::key_len,
    keyed::Keyed,
    list::Place,
    other::Other,
    text::{Choice, Text},
};
use crate::{
    bulk::list::Kind,
    dispatch::mac::Mac,
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Export, Params},
    provider::Provider,
};

const NAME: &CStr = c"GMAC";
const TAG: usize = 16;

/// The longest IV: as OpenSSL's.
const MAX_IV: usize = 128;

/// A text in progress.
pub struct Gmac {
    choice: Choice,
    /// An IV that no text was started with. Each text needs one of its own.
    iv: Option<Vec<u8>>,
    text: Text,
}

impl Gmac {
    /// Starts the text, if that is still to be done.
    #[inline]
    fn begin(&mut self) -> Result<()> {
        let Text::Ours(keyed) = &mut self.text else { return Ok(()) };
        match self.iv.take() {
            Some(iv) => keyed.start(&iv),
            None if keyed.is_started() => Ok(()),
            None => Err(Error::from(Reason::MissingParameter).about(c"iv")),
        }
    }

    fn set_iv(&mut self, iv: &[u8]) -> Result<()> {
        if iv.is_empty() || iv.len() > MAX_IV {
            return Err(Error::from(Reason::InvalidLength).about(c"iv"));
        }
        if let Text::Other(other) = &mut self.text {
            let mut settings = Export::default();
            settings.octets(c"iv", iv);
            return other.set(&mut settings);
        }
        self.iv = Some(iv.to_vec());
        Ok(())
    }
}

impl Mac for Gmac {
    const GETTABLE: &'static [Param] = &[Param::size(c"size"), Param::END];
    const SETTABLE: &'static [Param] = &[
        Param::text(c"cipher"),
        Param::text(c"properties"),
        Param::octets(c"key"),
        Param::octets(c"iv"),
        Param::END,
    ];

    fn new() -> Gmac {
        Gmac { choice: Choice::new(c"cipher"), iv: None, text: Text::None }
    }

    fn duplicate(&self) -> Result<Gmac> {
        let text = self.text.duplicate()?;
        Ok(Gmac { choice: self.choice.clone(), iv: self.iv.clone(), text })
    }

    fn start(&mut self, provider: &Provider, key: Option<&[u8]>) -> Result<()> {
        let Some(key) = key else {
            return match &mut self.text {
                // A new IV is what starts another text.
                Text::Ours(_) => Ok(()),
                text => text.restart(),
            };
        };
        let len = key_len(self.choice.name()?, Kind::Aead(Aead::AesGcm));
        self.settle(provider);
        self.text = match len.filter(|_| self.choice.is_free()) {
            Some(len) if len != key.len() => {
                return Err(Error::from(Reason::InvalidLength).about(c"key"));
            }
            Some(_) => Text::Ours(Keyed::new(provider, Auth::AesGmac, key, TAG, Place::GMAC)?),
            None => {
                let mut settings = self.choice.export();
                if let Some(iv) = self.iv.take() {
                    settings.octets(c"iv", &iv);
                }
                Text::Other(Other::new(provider, NAME, &mut settings, key)?)
            }
        };
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        self.begin()?;
        self.text.update(provider, text)
    }

    #[inline]
    fn finish(&mut self, _: &Provider, room: &mut [u8]) -> Result<usize> {
        self.begin()?;
        self.text.finish(room)
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        answers.int(c"size", TAG as i64)
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        self.choice.set(params)?;
        if let Some(key) = params.octets(c"key")? {
            self.start(provider, Some(key))?;
        }
        match params.octets(c"iv")? {
            Some(iv) => self.set_iv(iv),
            None => Ok(()),
        }
    }

    fn settle(&mut self, provider: &Provider) {
        self.text.settle(provider);
    }
}
