//! SM2 signatures (GB/T 32918.2).

use std::sync::Arc;

use lookaside::{Buf, Hash};

use crate::{
    der, digest,
    digest::Md,
    dispatch::signature::{Mode, Signature},
    error::{Error, Reason, Result},
    ffi::Param,
    key::sm2::{self, LEN, Sm2Key},
    param::{Answers, Params},
    provider::Provider,
};

/// Identities are shorter than this many bytes: their length in bits has 16 bits.
const IDENTITY: usize = 8191;

/// A message in progress.
struct Message {
    /// Of Z and the message.
    e: Md,
    /// Of Z, the digest that ties the signer's identity and key to the curve; until the message
    /// begins.
    z: Option<Md>,
}

/// An SM2 signature in progress.
pub struct Sm2Signature {
    propq: Option<String>,
    key: Option<Arc<Sm2Key>>,
    identity: Vec<u8>,
    message: Option<Message>,
}

impl Clone for Sm2Signature {
    fn clone(&self) -> Self {
        let copy = |message: &Message| {
            let z = match &message.z {
                Some(z) => Some(z.copy()?),
                None => None,
            };
            Some(Message { e: message.e.copy()?, z })
        };
        Sm2Signature {
            propq: self.propq.clone(),
            key: self.key.clone(),
            identity: self.identity.clone(),
            message: self.message.as_ref().and_then(copy),
        }
    }
}

impl Sm2Signature {
    fn key(&self) -> Result<&Sm2Key> {
        self.key.as_deref().ok_or_else(|| Reason::NotInitialised.into())
    }

    /// Signs and verifies digests e of this length alone.
    fn check_digest(digest: &[u8]) -> Result<()> {
        if digest.len() == LEN {
            return Ok(());
        }
        let detail = format!("a digest of {} bytes, not {LEN}", digest.len());
        Err(Error::new(Reason::InvalidDigestLength, detail))
    }
}

/// SM3 is the only digest.
fn check_hash(name: &str) -> Result<()> {
    match digest::hash(name)? {
        Hash::Sm3 => Ok(()),
        _ => Err(Error::new(Reason::UnsupportedDigest, format!("{name}: SM2 goes with SM3"))),
    }
}

impl Signature for Sm2Signature {
    type Key = Sm2Key;

    const GETTABLE: &'static [Param] = &[
        Param::octets(c"algorithm-id"),
        Param::size(c"digest-size"),
        Param::text(c"digest"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::size(c"digest-size"),
        Param::text(c"digest"),
        Param::octets(c"distid"),
        Param::END,
    ];

    fn new(propq: Option<&str>) -> Sm2Signature {
        let propq = propq.map(str::to_owned);
        Sm2Signature { propq, key: None, identity: Vec::new(), message: None }
    }

    fn start(&mut self, _provider: &Provider, key: Option<Arc<Sm2Key>>, _mode: Mode) -> Result<()> {
        self.key = Some(key.or(self.key.take()).ok_or(Reason::MissingKey)?);
        self.message = None;
        Ok(())
    }

    fn start_message(
        &mut self,
        provider: &Provider,
        key: Option<Arc<Sm2Key>>,
        mode: Mode,
        digest: Option<&str>,
    ) -> Result<()> {
        self.start(provider, key, mode)?;
        digest.map_or(Ok(()), check_hash)?;
        let sm3 = || Md::new(provider, "SM3", self.propq.as_deref());
        self.message = Some(Message { e: sm3()?, z: Some(sm3()?) });
        Ok(())
    }

    fn message(&mut self) -> Result<Option<&mut Md>> {
        let message = self.message.as_mut().ok_or(Reason::NotInitialised)?;
        if let Some(mut z) = message.z.take() {
            let key = self.key.as_deref().ok_or(Reason::NotInitialised)?;
            // GB/T 32918.2 section 5.5: ENTL, ID, a, b, G, P.
            let bits = (8 * self.identity.len()) as u16;
            let [x, y] = &sm2::G;
            for part in [&bits.to_be_bytes(), &self.identity[..], &sm2::A, &sm2::B, x, y] {
                z.update(part)?;
            }
            z.update(&key.public()?[1..])?;
            message.e.update(&z.finish()?)?;
        }
        Ok(Some(&mut message.e))
    }

    fn max_len(&self) -> Result<usize> {
        Ok(der::signature_len(8 * LEN))
    }

    fn sign(&mut self, provider: &Provider, digest: &[u8]) -> Result<Vec<u8>> {
        Sm2Signature::check_digest(digest)?;
        let src = [&self.key()?.private()?[..], digest].concat();
        let request = provider.sm2()?.sign(Buf::secret(src), Buf::zeroed(2 * LEN));
        let signature = der::signature(&provider.lanes.run(request)?);
        self.check_own(provider, digest, signature)
    }

    fn verify(&mut self, provider: &Provider, digest: &[u8], signature: &[u8]) -> Result<()> {
        Sm2Signature::check_digest(digest)?;
        let rs = der::open_signature(signature, LEN).ok_or(Reason::VerificationFailed)?;
        let src = [self.key()?.public()?, &rs, digest].concat();
        provider.lanes.run(provider.sm2()?.verify(src.into()))?;
        Ok(())
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        if answers.wants(c"algorithm-id") {
            answers.octets(c"algorithm-id", &der::sm2())?;
        }
        answers.int(c"digest-size", LEN as i64)?;
        answers.text(c"digest", c"SM3")
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(identity) = params.find(c"distid") {
            if self.message.as_ref().is_none_or(|message| message.z.is_none()) {
                let what = "the identity is set before a message begins";
                return Err(Error::new(Reason::InvalidParameter, what));
            }
            let identity = identity.octets()?;
            if identity.len() >= IDENTITY {
                return Err(Error::new(Reason::InvalidLength, "the identity is too long"));
            }
            self.identity = identity.to_vec();
        }
        if params.uint(c"digest-size")?.is_some_and(|size| size != LEN as u64) {
            return Err(Error::from(Reason::UnsupportedDigest).about(c"digest-size"));
        }
        params.text(c"digest")?.map_or(Ok(()), check_hash)
    }
}
