//! SM2 encryption (GB/T 32918.4).

use std::sync::Arc;

use lookaside::{Buf, Hash};

use crate::{
    der, digest,
    dispatch::cipher::Cipher,
    error::{Error, Reason, Result},
    ffi::Param,
    key::sm2::Sm2Key,
    param::{Answers, Params},
    provider::Provider,
};

/// An SM2 encryption or decryption.
#[derive(Clone)]
pub struct Sm2Cipher {
    key: Option<Arc<Sm2Key>>,
    encrypt: bool,
}

impl Cipher for Sm2Cipher {
    type Key = Sm2Key;

    const GETTABLE: &'static [Param] = &[Param::text(c"digest"), Param::END];
    const SETTABLE: &'static [Param] =
        &[Param::text(c"digest"), Param::text(c"properties"), Param::END];

    fn new() -> Sm2Cipher {
        Sm2Cipher { key: None, encrypt: false }
    }

    fn start(&mut self, key: Option<Arc<Sm2Key>>, encrypt: bool) -> Result<()> {
        self.key = Some(key.or(self.key.take()).ok_or(Reason::MissingKey)?);
        self.encrypt = encrypt;
        Ok(())
    }

    fn max_len(&self, input: &[u8]) -> Result<usize> {
        if self.encrypt {
            return Ok(der::sm2_ciphertext_len(input.len()));
        }
        der::sm2_plaintext_len(input).ok_or_else(|| Error::new(Reason::BadInput, "ciphertext"))
    }

    fn run(&mut self, provider: &Provider, input: &[u8]) -> Result<Vec<u8>> {
        let key = self.key.as_deref().ok_or(Reason::NotInitialised)?;
        let session = provider.sm2()?;
        let len = self.max_len(input)?;
        let request = if self.encrypt {
            let src = [key.public()?, input].concat();
            session.encrypt(Buf::secret(src), Buf::zeroed(len))
        } else {
            let src = [key.private()?, input].concat();
            session.decrypt(Buf::secret(src), Buf::secret(vec![0; len]))
        };
        Ok(provider.lanes.run(request)?.to_vec())
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        answers.text(c"digest", c"SM3")
    }

    fn set(&mut self, params: Params) -> Result<()> {
        // No algorithm is looked up that `properties` could choose.
        match params.text(c"digest")?.map(digest::hash).transpose()? {
            None | Some(Hash::Sm3) => Ok(()),
            Some(_) => Err(Error::new(Reason::UnsupportedDigest, "SM2 encrypts with SM3")),
        }
    }
}
