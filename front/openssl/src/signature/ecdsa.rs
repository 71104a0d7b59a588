//! ECDSA signatures.

use std::sync::Arc;

use lookaside::{Buf, Hash, Nonce};

use crate::{
    der, digest,
    digest::Md,
    dispatch::signature::{Mode, Signature},
    error::{Error, Reason, Result},
    ffi::Param,
    key::{ec::EcKey, group, other::Operation},
    param::{Answers, Export, Params},
    provider::Provider,
};

/// An ECDSA signature in progress.
pub struct EcdsaSignature {
    propq: Option<String>,
    key: Option<Arc<EcKey>>,
    hash: Option<Hash>,
    nonce: Nonce,
    /// With a message, and thus a digest that cannot change any more.
    message: Option<Md>,
}

impl Clone for EcdsaSignature {
    fn clone(&self) -> Self {
        EcdsaSignature {
            propq: self.propq.clone(),
            key: self.key.clone(),
            message: self.message.as_ref().and_then(Md::copy),
            ..*self
        }
    }
}

impl EcdsaSignature {
    fn key(&self) -> Result<&EcKey> {
        self.key.as_deref().ok_or_else(|| Reason::NotInitialised.into())
    }

    /// What another provider is told.
    fn settings(&self) -> Export {
        let mut settings = Export::default();
        if let Some(hash) = self.hash {
            settings.text(c"digest", digest::name(hash));
        }
        if self.nonce != Nonce::Hedged {
            settings.uint(c"nonce-type", 1);
        }
        settings
    }

    fn check_digest(&self, digest: &[u8]) -> Result<()> {
        match self.hash {
            Some(hash) if digest.len() != digest::len(hash) => {
                let detail =
                    format!("a digest of {} bytes, not {}", digest.len(), digest::len(hash));
                Err(Error::new(Reason::InvalidDigestLength, detail))
            }
            _ => Ok(()),
        }
    }
}

impl Signature for EcdsaSignature {
    type Key = EcKey;

    const GETTABLE: &'static [Param] = &[
        Param::octets(c"algorithm-id"),
        Param::size(c"digest-size"),
        Param::text(c"digest"),
        Param::uint(c"nonce-type"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::text(c"digest"),
        Param::size(c"digest-size"),
        Param::text(c"properties"),
        Param::uint(c"nonce-type"),
        Param::END,
    ];

    fn new(propq: Option<&str>) -> EcdsaSignature {
        EcdsaSignature {
            propq: propq.map(str::to_owned),
            key: None,
            hash: None,
            nonce: Nonce::Hedged,
            message: None,
        }
    }

    fn start(&mut self, _provider: &Provider, key: Option<Arc<EcKey>>, mode: Mode) -> Result<()> {
        let key = key.or(self.key.take()).ok_or(Reason::MissingKey)?;
        match mode {
            Mode::Sign => key.check_private()?,
            _ => key.check_public()?,
        }
        *self = EcdsaSignature { key: Some(key), ..EcdsaSignature::new(self.propq.as_deref()) };
        Ok(())
    }

    fn start_message(
        &mut self,
        provider: &Provider,
        key: Option<Arc<EcKey>>,
        mode: Mode,
        digest: Option<&str>,
    ) -> Result<()> {
        self.start(provider, key, mode)?;
        let hash = digest::hash(digest.unwrap_or("SHA256"))?;
        self.hash = Some(hash);
        let name = digest::name(hash).to_str().unwrap_or_default();
        self.message = Some(Md::new(provider, name, self.propq.as_deref())?);
        Ok(())
    }

    fn message(&mut self) -> Result<Option<&mut Md>> {
        self.message.as_mut().map(Some).ok_or_else(|| Reason::NotInitialised.into())
    }

    fn max_len(&self) -> Result<usize> {
        if let Some(other) = self.key()?.other() {
            return Ok(other.max_len());
        }
        Ok(der::signature_len(group::bits(self.key()?.curve()?) as usize))
    }

    fn sign(&mut self, provider: &Provider, digest: &[u8]) -> Result<Vec<u8>> {
        self.check_digest(digest)?;
        let key = self.key()?;
        if let Some(other) = key.other() {
            return Ok(other.run(Operation::Sign, &mut self.settings(), digest)?.to_vec());
        }
        let curve = key.curve()?;
        let src = Buf::secret([key.private()?, digest].concat());
        let nonce = match (self.nonce, self.hash) {
            (Nonce::Deterministic(_), Some(hash)) => Nonce::Deterministic(hash),
            (Nonce::Deterministic(_), None) => return Err(Reason::UnsupportedDigest.into()),
            // OpenSSL's programs give none.
            (Nonce::Hedged | Nonce::Given, _) => Nonce::Hedged,
        };
        let dst = Buf::zeroed(2 * curve.order_len());
        let request = provider.ec(curve)?.sign(nonce, src, dst);
        let signature = der::signature(&provider.lanes.run(request)?);
        self.check_own(provider, digest, signature)
    }

    fn verify(&mut self, provider: &Provider, digest: &[u8], signature: &[u8]) -> Result<()> {
        self.check_digest(digest)?;
        let key = self.key()?;
        if let Some(other) = key.other() {
            return other.verify(&mut self.settings(), digest, signature);
        }
        let curve = key.curve()?;
        let rs =
            der::open_signature(signature, curve.order_len()).ok_or(Reason::VerificationFailed)?;
        let src = [key.public()?, &rs, digest].concat();
        provider.lanes.run(provider.ec(curve)?.verify(src.into()))?;
        Ok(())
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        if let Some(id) = self.hash.and_then(der::ecdsa) {
            answers.octets(c"algorithm-id", &id)?;
        }
        answers.int(c"digest-size", self.hash.map_or(0, digest::len) as i64)?;
        answers.int(c"nonce-type", i64::from(self.nonce != Nonce::Hedged))?;
        answers.text(c"digest", self.hash.map_or(c"", digest::name))
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(propq) = params.text(c"properties")? {
            self.propq = Some(propq.to_owned());
        }
        if let Some(name) = params.text(c"digest")? {
            let hash = digest::hash(name)?;
            if self.message.is_some() && self.hash != Some(hash) {
                let what = "the digest of a message cannot change";
                return Err(Error::new(Reason::UnsupportedDigest, what));
            }
            self.hash = Some(hash);
        }
        if let Some(size) = params.uint(c"digest-size")?
            && self.hash.is_some_and(|hash| digest::len(hash) as u64 != size)
        {
            return Err(Error::from(Reason::InvalidLength));
        }
        match params.uint(c"nonce-type")? {
            None => {}
            Some(0) => self.nonce = Nonce::Hedged,
            // The hash is the message's, whenever that is known.
            Some(1) => self.nonce = Nonce::Deterministic(Hash::Sha256),
            Some(_) => return Err(Error::from(Reason::InvalidParameter).about(c"nonce-type")),
        }
        Ok(())
    }
}
