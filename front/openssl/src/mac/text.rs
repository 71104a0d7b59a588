//! A text in progress, whoever computes, and what a MAC was told to use.

use core::ffi::CStr;
use std::ffi::CString;

use super::{keyed::Keyed, other::Other, plain::Plain};
use crate::{
    error::{Error, Reason, Result},
    param::{Export, Params},
    provider::Provider,
};

/// A text in progress, with its key.
pub enum Text {
    /// No key yet.
    None,
    /// The runtime computes.
    Ours(Keyed),
    /// HMAC by libcrypto's digest functions.
    Plain(Box<Plain>),
    /// Another provider does.
    Other(Other),
}

impl Text {
    /// Another text under the same key.
    pub fn restart(&mut self) -> Result<()> {
        match self {
            Text::None => Err(Error::new(Reason::NotInitialised, "no key")),
            Text::Ours(keyed) => keyed.start(&[]),
            Text::Plain(plain) => {
                plain.start();
                Ok(())
            }
            Text::Other(other) => other.start(None),
        }
    }

    /// More of the text.
    #[inline]
    pub fn update(&mut self, provider: &Provider, text: &[u8]) -> Result<()> {
        match self {
            // Of `Plain` the key is wanted too: `Hmac::update`.
            Text::None | Text::Plain(_) => Err(Reason::NotInitialised.into()),
            Text::Ours(keyed) => keyed.update(provider, text),
            Text::Other(other) => other.update(text),
        }
    }

    /// The end of the text. Returns the tag's length.
    #[inline]
    pub fn finish(&mut self, room: &mut [u8]) -> Result<usize> {
        match self {
            Text::None => Err(Reason::NotInitialised.into()),
            Text::Ours(keyed) => keyed.finish(room),
            Text::Plain(plain) => plain.finish(room),
            Text::Other(other) => other.finish(room),
        }
    }

    /// A copy that goes its own way.
    pub fn duplicate(&self) -> Result<Text> {
        Ok(match self {
            Text::None => Text::None,
            Text::Ours(keyed) => Text::Ours(keyed.duplicate()),
            Text::Plain(plain) => Text::Plain(plain.duplicate()),
            Text::Other(other) => Text::Other(other.duplicate()?),
        })
    }

    /// Counts what was counted in the value alone.
    pub fn settle(&mut self, provider: &Provider) {
        match self {
            Text::Ours(keyed) => keyed.settle(provider),
            Text::Plain(plain) => plain.settle(provider),
            Text::None | Text::Other(_) => {}
        }
    }
}

/// What a MAC was told to use: a digest or cipher, and where from.
#[derive(Clone)]
pub struct Choice {
    key: &'static CStr,
    name: Option<CString>,
    properties: Option<CString>,
}

impl Choice {
    /// None yet. `key`: the parameter that says.
    pub fn new(key: &'static CStr) -> Choice {
        Choice { key, name: None, properties: None }
    }

    /// Takes what the parameters say.
    pub fn set(&mut self, params: Params) -> Result<()> {
        let text = |key: &CStr| {
            let text = params.text(key)?.map(CString::new).transpose();
            text.map_err(|_| Error::from(Reason::InvalidParameter).about(key))
        };
        if let Some(properties) = text(c"properties")? {
            self.properties = Some(properties);
        }
        if let Some(name) = text(self.key)? {
            self.name = Some(name);
        }
        Ok(())
    }

    /// Its name.
    pub fn name(&self) -> Result<&str> {
        let name = self.name.as_ref().and_then(|name| name.to_str().ok());
        name.ok_or_else(|| Error::from(Reason::MissingParameter).about(self.key))
    }

    /// Whether the properties leave the choice to us.
    pub fn is_free(&self) -> bool {
        self.properties.as_ref().is_none_or(|text| text.is_empty())
    }

    /// The same, for another provider.
    pub fn export(&self) -> Export {
        let mut settings = Export::default();
        if let Some(name) = &self.name {
            settings.text(self.key, name);
        }
        if let Some(properties) = &self.properties {
            settings.text(c"properties", properties);
        }
        settings
    }
}
