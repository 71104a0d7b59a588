//! DSA signatures.

use std::sync::Arc;

use lookaside::{Buf, Hash, Nonce};

use crate::{
    der, digest,
    digest::Md,
    dispatch::signature::{Mode, Signature},
    error::{Error, Reason, Result},
    ffi::Param,
    key::dsa::DsaKey,
    param::{Answers, Params},
    provider::Provider,
};

/// A DSA signature in progress.
pub struct DsaSignature {
    propq: Option<String>,
    key: Option<Arc<DsaKey>>,
    hash: Option<Hash>,
    message: Option<Md>,
}

impl Clone for DsaSignature {
    fn clone(&self) -> Self {
        DsaSignature {
            propq: self.propq.clone(),
            key: self.key.clone(),
            hash: self.hash,
            message: self.message.as_ref().and_then(Md::copy),
        }
    }
}

impl DsaSignature {
    fn key(&self) -> Result<&DsaKey> {
        self.key.as_deref().ok_or_else(|| Reason::NotInitialised.into())
    }

    fn check_digest(&self, digest: &[u8]) -> Result<()> {
        match self.hash.map(digest::len) {
            Some(len) if len != digest.len() => {
                let detail = format!("a digest of {} bytes, not {len}", digest.len());
                Err(Error::new(Reason::InvalidDigestLength, detail))
            }
            _ => Ok(()),
        }
    }
}

impl Signature for DsaSignature {
    type Key = DsaKey;

    const GETTABLE: &'static [Param] =
        &[Param::octets(c"algorithm-id"), Param::text(c"digest"), Param::END];
    const SETTABLE: &'static [Param] =
        &[Param::text(c"digest"), Param::text(c"properties"), Param::END];

    fn new(propq: Option<&str>) -> DsaSignature {
        DsaSignature { propq: propq.map(str::to_owned), key: None, hash: None, message: None }
    }

    fn start(&mut self, _provider: &Provider, key: Option<Arc<DsaKey>>, _mode: Mode) -> Result<()> {
        self.key = Some(key.or(self.key.take()).ok_or(Reason::MissingKey)?);
        self.message = None;
        Ok(())
    }

    fn start_message(
        &mut self,
        provider: &Provider,
        key: Option<Arc<DsaKey>>,
        mode: Mode,
        digest: Option<&str>,
    ) -> Result<()> {
        self.start(provider, key, mode)?;
        let hash = digest.map_or(Ok(Hash::Sha256), digest::hash)?;
        let name = digest::name(hash).to_str().unwrap_or_default();
        self.message = Some(Md::new(provider, name, self.propq.as_deref())?);
        self.hash = Some(hash);
        Ok(())
    }

    fn message(&mut self) -> Result<Option<&mut Md>> {
        self.message.as_mut().map(Some).ok_or_else(|| Reason::NotInitialised.into())
    }

    fn max_len(&self) -> Result<usize> {
        Ok(der::signature_len(8 * self.key()?.order_len()?))
    }

    fn sign(&mut self, provider: &Provider, digest: &[u8]) -> Result<Vec<u8>> {
        self.check_digest(digest)?;
        let key = self.key()?;
        let n = key.order_len()?;
        let src = [&key.private()?[..], digest].concat();
        let session = key.pair().domain()?.dsa(provider)?;
        let request = session.sign(Nonce::Hedged, Buf::secret(src), Buf::zeroed(2 * n));
        let signature = der::signature(&provider.lanes.run(request)?);
        self.check_own(provider, digest, signature)
    }

    fn verify(&mut self, provider: &Provider, digest: &[u8], signature: &[u8]) -> Result<()> {
        self.check_digest(digest)?;
        let key = self.key()?;
        let rs = der::open_signature(signature, key.order_len()?);
        let rs = rs.ok_or(Reason::VerificationFailed)?;
        let src = [&key.pair().public()?[..], &rs, digest].concat();
        provider.lanes.run(key.pair().domain()?.dsa(provider)?.verify(src.into()))?;
        Ok(())
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        if answers.wants(c"algorithm-id")
            && let Some(id) = self.hash.and_then(der::dsa)
        {
            answers.octets(c"algorithm-id", &id)?;
        }
        answers.text(c"digest", self.hash.map_or(c"", digest::name))
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(propq) = params.text(c"properties")? {
            self.propq = Some(propq.to_owned());
        }
        let Some(name) = params.text(c"digest")? else { return Ok(()) };
        let hash = digest::hash(name)?;
        if self.message.is_some() && self.hash != Some(hash) {
            let what = "the digest of a message cannot change";
            return Err(Error::new(Reason::UnsupportedDigest, what));
        }
        self.hash = Some(hash);
        Ok(())
    }
}
