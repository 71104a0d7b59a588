//! HMAC (RFC 2104). With a digest that is left to the default provider, HMAC is too.

use core::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use lookaside::Secret;

use super::{
    keyed::Keyed,
    other::Other,
    plain::Plain,
    text::{Choice, Text},
};
use crate::{
    dispatch::mac::Mac,
    error::{Reason, Result},
    ffi::Param,
    hash::list::{self, Spec},
    param::{Answers, Export, Params},
    provider::Provider,
};

const NAME: &CStr = c"HMAC";

/// A key, for whoever computes with it.
struct Key {
    bytes: Secret,
    /// Another provider's HMAC with this key, made when it is first needed.
    other: Mutex<Option<Other>>,
}

/// A text in progress.
pub struct Hmac {
    choice: Choice,
    /// The digest is not to be initialised: something that only the default provider knows.
    no_init: bool,
    /// Ours, that the key is for.
    digest: Option<&'static Spec>,
    key: Option<Arc<Key>>,
    text: Text,
}

impl Hmac {
    fn other(&self, provider: &Provider, key: &[u8]) -> Result<Other> {
        let mut settings = self.choice.export();
        if self.no_init {
            settings.int(c"digest-noinit", 1);
        }
        Other::new(provider, NAME, &mut settings, key)
    }

    /// The MAC of a TLS record whose padding is a secret yet: its time must not tell how long the
    /// text is. The default provider does that.
    fn of_record(&mut self, provider: &Provider, len: u64) -> Result<()> {
        if let Text::Ours(_) | Text::Plain(_) = self.text {
            let key = self.key.as_ref().ok_or(Reason::NotInitialised)?;
            let mut made = key.other.lock().unwrap_or_else(PoisonError::into_inner);
            let other = match made.take() {
                Some(other) => other,
                None => self.other(provider, &key.bytes)?,
            };
            let copy = other.duplicate();
            *made = Some(other);
            drop(made);
            self.settle(provider);
            self.text = Text::Other(copy?);
        }
        let Text::Other(other) = &mut self.text else { return Err(Reason::NotInitialised.into()) };
        let mut settings = Export::default();
        settings.number(c"tls-data-size", &len.to_be_bytes());
        other.set(&mut settings)
    }
}

impl Mac for Hmac {
    const GETTABLE: &'static [Param] =
        &[Param::size(c"size"), Param::size(c"block-size"), Param::END];
    const SETTABLE: &'static [Param] = &[
        Param::text(c"digest"),
        Param::text(c"properties"),
        Param::octets(c"key"),
        Param::int(c"digest-noinit"),
        Param::int(c"digest-oneshot"),
        Param::size(c"tls-data-size"),
        Param::END,
    ];

    fn new() -> Hmac {
        let choice = Choice::new(c"digest");
        Hmac { choice, no_init: false, digest: None, key: None, text: Text::None }
    }

    fn duplicate(&self) -> Result<Hmac> {
        let text = self.text.duplicate()?;
        let Hmac { choice, no_init, digest, key, .. } = self;
        let (choice, key) = (choice.clone(), key.clone());
        Ok(Hmac { choice, no_init: *no_init, digest: *digest, key, text })
    }

    fn start(&mut self, provider: &Provider, key: Option<&[u8]>) -> Result<()> {
        let Some(key) = key else { return self.text.restart() };
        let name = self.choice.name()?;
        let ours = list::find(name)
            .filter(|_| self.choice.is_free() && !self.no_init)
            .filter(|digest| !provider.offer.left().contains(&digest.name()));
        self.settle(provider);
        self.text = match ours {
            Some(digest) => {
                let bytes = Secret::new(key);
                self.key = Some(Arc::new(Key { bytes, other: Mutex::new(None) }));
                match Plain::new(digest, key) {
                    Some(mut plain) => {
                        plain.start();
                        Text::Plain(plain)
                    }
                    None => {
                        let mut keyed = Keyed::hmac(provider, digest, key)?;
                        keyed.start(&[])?;
                        Text::Ours(keyed)
                    }
                }
            }
            None => Text::Other(self.other(provider, key)?),
        };
        self.digest = ours;
        Ok(())
    }

    #[inline]
    fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        if let (Text::Plain(plain), Some(key)) = (&mut self.text, &self.key) {
            return plain.update(provider, text, &key.bytes);
        }
        self.text.update(provider, text)
    }

    #[inline]
    fn finish(&mut self, _: &Provider, room: &mut [u8]) -> Result<usize> {
        self.text.finish(room)
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        let (size, block) = match (&self.text, self.digest) {
            (Text::Other(other), _) => other.sizes(),
            (Text::Ours(_) | Text::Plain(_), Some(digest)) => (digest.len, digest.block_len),
            _ => (0, 0),
        };
        answers.int(c"size", size as i64)?;
        answers.int(c"block-size", block as i64)
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        self.choice.set(params)?;
        if let Some(no_init) = params.int(c"digest-noinit")? {
            self.no_init = no_init != 0;
        }
        // `digest-oneshot` is a hint that changes no result.
        if let Some(key) = params.octets(c"key")? {
            self.start(provider, Some(key))?;
        }
        match params.uint(c"tls-data-size")? {
            Some(len) if len > 0 || matches!(self.text, Text::Other(_)) => {
                self.of_record(provider, len)
            }
            _ => Ok(()),
        }
    }

    fn settle(&mut self, provider: &Provider) {
        self.text.settle(provider);
    }
}
