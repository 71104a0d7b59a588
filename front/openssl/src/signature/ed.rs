//! Ed25519 and Ed448 signatures.

use std::sync::Arc;

use lookaside::Buf;

use crate::{
    der,
    digest::Md,
    dispatch::signature::{Mode, Signature},
    error::{Error, Reason, Result},
    ffi::Param,
    key::ed::EdKey,
    param::{Answers, Params},
    provider::Provider,
};

/// An Ed25519 or Ed448 signature; the key says which.
#[derive(Clone)]
pub struct EdSignature {
    key: Option<Arc<EdKey>>,
}

impl EdSignature {
    fn key(&self) -> Result<&EdKey> {
        self.key.as_deref().ok_or_else(|| Reason::NotInitialised.into())
    }
}

impl Signature for EdSignature {
    type Key = EdKey;

    const GETTABLE: &'static [Param] = &[Param::octets(c"algorithm-id"), Param::END];
    const SETTABLE: &'static [Param] = &[Param::END];

    fn new(_propq: Option<&str>) -> EdSignature {
        EdSignature { key: None }
    }

    fn start(&mut self, _provider: &Provider, key: Option<Arc<EdKey>>, _mode: Mode) -> Result<()> {
        self.key = Some(key.or(self.key.take()).ok_or(Reason::MissingKey)?);
        Ok(())
    }

    fn start_message(
        &mut self,
        provider: &Provider,
        key: Option<Arc<EdKey>>,
        mode: Mode,
        digest: Option<&str>,
    ) -> Result<()> {
        if digest.is_some() {
            let what = "messages are signed as they are";
            return Err(Error::new(Reason::UnsupportedDigest, what));
        }
        self.start(provider, key, mode)
    }

    fn message(&mut self) -> Result<Option<&mut Md>> {
        Ok(None)
    }

    fn max_len(&self) -> Result<usize> {
        Ok(self.key()?.curve().signature_len())
    }

    fn sign(&mut self, provider: &Provider, message: &[u8]) -> Result<Vec<u8>> {
        let key = self.key()?;
        let src = [&key.seed()?[..], key.public()?, message].concat();
        let dst = Buf::zeroed(key.curve().signature_len());
        let request = provider.eddsa(key.curve())?.sign(Buf::secret(src), dst);
        let signature = provider.lanes.run(request)?.to_vec();
        self.check_own(provider, message, signature)
    }

    fn verify(&mut self, provider: &Provider, message: &[u8], signature: &[u8]) -> Result<()> {
        let key = self.key()?;
        if signature.len() != key.curve().signature_len() {
            return Err(Reason::VerificationFailed.into());
        }
        let src = [key.public()?, signature, message].concat();
        provider.lanes.run(provider.eddsa(key.curve())?.verify(src.into()))?;
        Ok(())
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        match &self.key {
            Some(key) => answers.octets(c"algorithm-id", &der::eddsa(key.curve())),
            None => Ok(()),
        }
    }

    fn set(&mut self, _params: Params) -> Result<()> {
        Ok(())
    }
}
