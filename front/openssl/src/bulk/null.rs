//! The cipher that leaves the text as it is, as libssl uses it for suites without encryption.

use super::{list::Spec, record::MAX_MAC};
use crate::{
    dispatch::symcipher::{Pieces, Start, SymCipher, Text},
    error::{Reason, Result},
    ffi::Param,
    param::{Answers, Params},
    provider::Provider,
};

/// A text.
#[derive(Clone)]
pub struct Null {
    encrypt: bool,
    mac_len: usize,
    mac: [u8; MAX_MAC],
}

impl SymCipher for Null {
    const GETTABLE: &'static [Param] = &[
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::octets_pointer(c"tls-mac"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[Param::size(c"tls-mac-size"), Param::END];

    fn new(_: &'static Spec) -> Null {
        Null { encrypt: false, mac_len: 0, mac: [0; MAX_MAC] }
    }

    fn duplicate(&self) -> Result<Null> {
        Ok(self.clone())
    }

    fn start(&mut self, _: &Provider, start: Start) -> Result<()> {
        self.encrypt = start.encrypt;
        Ok(())
    }

    fn update(&mut self, _: &Provider, text: &mut Text) -> Result<usize> {
        let mut len = text.len();
        if !self.encrypt && self.mac_len > 0 {
            // RFC 5246 section 6.2.3.1: the MAC follows the text.
            len = len.checked_sub(self.mac_len).ok_or(Reason::InvalidLength)?;
            self.mac[..self.mac_len].copy_from_slice(&text.source()[len..]);
        }
        if text.has_destination()
            && let Pieces::Apart(src, dst) = text.open(len)?
        {
            dst.copy_from_slice(&src[..len]);
        }
        Ok(len)
    }

    fn finish(&mut self, _: &Provider, _: &mut Text) -> Result<usize> {
        Ok(0)
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.update(provider, text)
    }

    fn answer(&mut self, _: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"ivlen", 0)?;
        answers.int(c"keylen", 0)?;
        answers.lent_octets(c"tls-mac", &self.mac[..self.mac_len])
    }

    fn set(&mut self, _: &Provider, params: Params) -> Result<()> {
        if let Some(len) = params.uint(c"tls-mac-size")? {
            self.mac_len = (len as usize).min(MAX_MAC);
        }
        Ok(())
    }

    fn settle(&mut self, _: &Provider) {}
}
