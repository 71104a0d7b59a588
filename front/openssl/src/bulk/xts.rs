//! AES-XTS: each call is a text of its own, under the IV of the start.

use core::hint::black_box;

use lookaside::{CipherSession, Op};

use super::{
    list::{Kind, Spec},
    session::Keyed,
};
use crate::{
    dispatch::symcipher::{Pieces, Start, SymCipher, Text},
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Params},
    provider::Provider,
    statistics::Count,
};

const BLOCK: usize = 16;
/// IEEE 1619-2018: a data unit has at most 2^20 blocks.
const LONGEST: usize = BLOCK << 20;

/// A key and an IV.
#[derive(Clone)]
pub struct Xts {
    spec: &'static Spec,
    key: Option<Keyed<CipherSession>>,
    encrypt: bool,
    iv: [u8; BLOCK],
    iv_set: bool,
    count: Count,
}

impl SymCipher for Xts {
    const GETTABLE: &'static [Param] = &[
        Param::size(c"keylen"),
        Param::size(c"ivlen"),
        Param::uint(c"padding"),
        Param::uint(c"num"),
        Param::octets(c"iv"),
        Param::octets(c"updated-iv"),
        Param::octets_pointer(c"tls-mac"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[Param::size(c"keylen"), Param::END];

    fn new(spec: &'static Spec) -> Xts {
        let (iv, count) = ([0; BLOCK], Count::default());
        Xts { spec, key: None, encrypt: true, iv, iv_set: false, count }
    }

    fn duplicate(&self) -> Result<Xts> {
        Ok(Xts { count: Count::default(), ..self.clone() })
    }

    fn start(&mut self, provider: &Provider, start: Start) -> Result<()> {
        self.encrypt = start.encrypt;
        if let Some(iv) = start.iv {
            if iv.len() != BLOCK {
                return Err(Error::new(Reason::InvalidLength, "IV"));
            }
            self.iv.copy_from_slice(iv);
            self.iv_set = true;
        }
        if let Some(key) = start.key {
            if key.len() != self.spec.key_len {
                return Err(Error::new(Reason::InvalidLength, "key"));
            }
            // With equal halves XTS is weak (FIPS 140-2 IG A.9). Texts encrypted so can be read.
            let (data, tweak) = key.split_at(key.len() / 2);
            let differ = data.iter().zip(tweak).fold(0, |all, (a, b)| all | (a ^ b));
            if start.encrypt && black_box(differ) == 0 {
                return Err(Error::new(Reason::InvalidKey, "its halves are equal"));
            }
            if self.key.as_ref().is_some_and(|old| old.is_for(key)) {
                return Ok(());
            }
            let Kind::Cipher(cipher) = self.spec.kind else { return Err(Reason::Internal.into()) };
            let session = provider.prepare(|runtime| runtime.cipher(cipher, key))?;
            self.key = Some(Keyed::new(session, key));
        }
        Ok(())
    }

    fn update(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        let len = text.len();
        let key = self.key.as_mut().filter(|_| self.iv_set).ok_or(Reason::NotInitialised)?;
        if !(BLOCK..=LONGEST).contains(&len) {
            return Err(Error::new(Reason::InvalidLength, "a data unit has 1 to 2^20 blocks"));
        }
        let op = if self.encrypt { Op::Encrypt } else { Op::Decrypt };
        let pieces = text.open(len)?;
        self.count.add(provider, self.spec, len);
        let running = key.restart(op, &self.iv)?;
        match pieces {
            Pieces::Apart(src, dst) => running.update(src, dst)?,
            Pieces::InPlace(text) => running.update_in_place(text)?,
        };
        Ok(len)
    }

    fn finish(&mut self, _: &Provider, _: &mut Text) -> Result<usize> {
        Ok(0)
    }

    fn whole(&mut self, provider: &Provider, text: &mut Text) -> Result<usize> {
        self.update(provider, text)
    }

    fn answer(&mut self, _: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"ivlen", BLOCK as i64)?;
        answers.int(c"padding", 1)?;
        answers.lent_octets(c"iv", &self.iv)?;
        answers.lent_octets(c"updated-iv", &self.iv)?;
        answers.int(c"num", 0)?;
        answers.int(c"keylen", self.spec.key_len as i64)
    }

    fn set(&mut self, _: &Provider, params: Params) -> Result<()> {
        if params.uint(c"keylen")?.is_some_and(|len| len != self.spec.key_len as u64) {
            return Err(Error::from(Reason::InvalidParameter).about(c"keylen"));
        }
        Ok(())
    }

    fn settle(&mut self, provider: &Provider) {
        self.count.settle(provider, self.spec);
    }
}
