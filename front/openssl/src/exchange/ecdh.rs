//! ECDH, with the key derivation of ANSI X9.63 on demand.

use std::sync::Arc;

use lookaside::{Buf, Hash};
use zeroize::Zeroizing;

use crate::{
    digest,
    digest::Md,
    dispatch::{
        exchange::Exchange,
        keymgmt::{Keymgmt, Selection},
    },
    error::{Error, Reason, Result},
    ffi::Param,
    key::{ec::EcKey, other::OtherKey},
    param::{Answers, Export, Params},
    provider::Provider,
};

/// An exchange in progress.
#[derive(Clone)]
pub struct EcdhExchange {
    key: Option<Arc<EcKey>>,
    peer: Option<Arc<EcKey>>,
    /// Whether to multiply by the cofactor; `None`: as the key says.
    cofactor: Option<bool>,
    kdf: bool,
    hash: Option<Hash>,
    propq: Option<String>,
    /// How long the derived key is.
    out_len: usize,
    /// User keying material.
    ukm: Vec<u8>,
    /// Our key and the peer's, where another provider has one of them.
    others: Option<(Arc<OtherKey>, Arc<OtherKey>)>,
}

impl EcdhExchange {
    fn secret_len(&self) -> Result<usize> {
        if let Some((key, peer)) = &self.others {
            return key.secret_len(peer);
        }
        Ok(self.key.as_ref().ok_or(Reason::NotInitialised)?.curve()?.field_len())
    }

    fn secret(&self, provider: &Provider) -> Result<Zeroizing<Vec<u8>>> {
        if let Some((key, peer)) = &self.others {
            let mut settings = Export::default();
            if let Some(cofactor) = self.cofactor {
                settings.int(c"ecdh-cofactor-mode", cofactor.into());
            }
            return key.derive(&mut settings, peer);
        }
        let (Some(key), Some(peer)) = (&self.key, &self.peer) else {
            return Err(Reason::NotInitialised.into());
        };
        let curve = key.curve()?;
        let src = Buf::secret([key.private()?, peer.public()?].concat());
        let dst = Buf::secret(vec![0; curve.field_len()]);
        let cofactor = self.cofactor.unwrap_or(key.cofactor());
        let request = provider.ec(curve)?.derive(cofactor, src, dst);
        // Public keys are on their curves: only the result can be at fault.
        let z = provider.lanes.run(request).map_err(|e| e.of_input(Reason::PointAtInfinity))?;
        Ok(Zeroizing::new(z.to_vec()))
    }

    /// ANSI X9.63 section 5.6.3: hash(Z, counter, info) until there is enough.
    fn x963(&self, provider: &Provider, z: &[u8]) -> Result<Vec<u8>> {
        let hash = self.hash.ok_or(Reason::UnsupportedDigest)?;
        let name = digest::name(hash).to_str().unwrap_or_default();
        let mut md = Md::new(provider, name, self.propq.as_deref())?;
        let mut key = Vec::with_capacity(self.out_len + digest::len(hash));
        for counter in 1u32.. {
            if key.len() >= self.out_len {
                break;
            }
            md.restart()?;
            md.update(z)?;
            md.update(&counter.to_be_bytes())?;
            md.update(&self.ukm)?;
            key.extend_from_slice(&md.finish()?);
        }
        key.truncate(self.out_len);
        Ok(key)
    }
}

impl Exchange for EcdhExchange {
    type Key = EcKey;

    const GETTABLE: &'static [Param] = &[
        Param::int(c"ecdh-cofactor-mode"),
        Param::text(c"kdf-type"),
        Param::text(c"kdf-digest"),
        Param::size(c"kdf-outlen"),
        Param::octets_pointer(c"kdf-ukm"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::int(c"ecdh-cofactor-mode"),
        Param::text(c"kdf-type"),
        Param::text(c"kdf-digest"),
        Param::text(c"kdf-digest-props"),
        Param::size(c"kdf-outlen"),
        Param::octets(c"kdf-ukm"),
        Param::END,
    ];

    fn new() -> EcdhExchange {
        EcdhExchange {
            key: None,
            peer: None,
            cofactor: None,
            kdf: false,
            hash: None,
            propq: None,
            out_len: 0,
            ukm: Vec::new(),
            others: None,
        }
    }

    fn start(&mut self, key: Arc<EcKey>) -> Result<()> {
        key.check_private()?;
        *self = EcdhExchange { key: Some(key), ..EcdhExchange::new() };
        Ok(())
    }

    fn peer(&mut self, provider: &Provider, key: Arc<EcKey>) -> Result<()> {
        key.check_public()?;
        let ours = self.key.as_ref().ok_or(Reason::NotInitialised)?;
        self.others = None;
        if ours.other().is_some() || key.other().is_some() {
            if !ours.matches(&key, Selection::of(false, false, true, false)) {
                return Err(Reason::DifferentParameters.into());
            }
            self.others = Some((ours.as_other(provider)?, key.as_other(provider)?));
        } else if ours.curve()? != key.curve()? {
            return Err(Reason::DifferentParameters.into());
        }
        self.peer = Some(key);
        Ok(())
    }

    fn len(&self) -> Result<usize> {
        if self.kdf { Ok(self.out_len) } else { self.secret_len() }
    }

    fn derive(&mut self, provider: &Provider, room: usize) -> Result<Vec<u8>> {
        if self.kdf && room < self.out_len {
            return Err(Reason::OutputTooSmall.into());
        }
        let z = self.secret(provider)?;
        if self.kdf {
            return self.x963(provider, &z);
        }
        // As OpenSSL's default provider, and ECDH_compute_key before it: what has no room is cut.
        Ok(z[..z.len().min(room)].to_vec())
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        let by_key = self.key.as_ref().is_some_and(|key| key.cofactor());
        let mode = i64::from(self.cofactor.unwrap_or(by_key));
        answers.int(c"ecdh-cofactor-mode", mode)?;
        answers.text(c"kdf-type", if self.kdf { c"X963KDF" } else { c"" })?;
        answers.text(c"kdf-digest", self.hash.map_or(c"", digest::name))?;
        answers.int(c"kdf-outlen", self.out_len as i64)?;
        answers.lent_octets(c"kdf-ukm", &self.ukm)
    }

    fn set(&mut self, params: Params) -> Result<()> {
        match params.int(c"ecdh-cofactor-mode")? {
            None => {}
            Some(-1) => self.cofactor = None,
            Some(mode @ 0..=1) => self.cofactor = Some(mode == 1),
            Some(_) => {
                return Err(Error::from(Reason::InvalidParameter).about(c"ecdh-cofactor-mode"));
            }
        }
        match params.text(c"kdf-type")? {
            None => {}
            Some("") => self.kdf = false,
            Some("X963KDF") => self.kdf = true,
            Some(_) => return Err(Error::from(Reason::InvalidParameter).about(c"kdf-type")),
        }
        if let Some(name) = params.text(c"kdf-digest")? {
            self.hash = Some(digest::hash(name)?);
        }
        if let Some(propq) = params.text(c"kdf-digest-props")? {
            self.propq = Some(propq.to_owned());
        }
        if let Some(len) = params.uint(c"kdf-outlen")? {
            // Far more than anybody needs, and the counter cannot wrap.
            self.out_len = usize::try_from(len)
                .ok()
                .filter(|&n| n <= 1 << 30)
                .ok_or_else(|| Error::from(Reason::InvalidParameter).about(c"kdf-outlen"))?;
        }
        if let Some(ukm) = params.octets(c"kdf-ukm")? {
            self.ukm = ukm.to_vec();
        }
        Ok(())
    }
}
