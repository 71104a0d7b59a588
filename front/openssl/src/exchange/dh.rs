//! Diffie-Hellman.

use std::sync::Arc;

use lookaside::{Buf, Hash};
use zeroize::Zeroizing;

use crate::{
    digest,
    dispatch::exchange::Exchange,
    error::{Error, Reason, Result},
    ffi::Param,
    key::{dh::DhKey, ffc},
    library,
    param::{Answers, Export, Params},
    provider::Provider,
};

/// A Diffie-Hellman exchange.
#[derive(Clone)]
pub struct DhExchange {
    key: Option<Arc<DhKey>>,
    peer: Option<Arc<DhKey>>,
    /// Whether a secret keeps its leading zeros.
    pad: bool,
    /// Whether the secret goes through the key derivation of ANSI X9.42 (RFC 2631).
    x942: bool,
    kdf: Kdf,
}

/// What that derivation wants to know.
#[derive(Clone, Default)]
struct Kdf {
    hash: Option<Hash>,
    propq: Option<String>,
    len: usize,
    ukm: Option<Zeroizing<Vec<u8>>>,
    /// The algorithm that the key is for.
    cek: Option<String>,
}

impl DhExchange {
    fn key(&self) -> Result<&DhKey> {
        self.key.as_deref().ok_or_else(|| Reason::NotInitialised.into())
    }

    /// g^xy mod p, as long as p.
    fn secret(&self, provider: &Provider) -> Result<Zeroizing<Vec<u8>>> {
        let key = self.key()?;
        let peer = self.peer.as_ref().ok_or(Reason::MissingKey)?;
        let domain = key.pair().domain()?;
        let src = [&key.exponent()?[..], &peer.pair().public()?].concat();
        let dst = Buf::secret(vec![0; domain.len()]);
        let request = domain.dh(provider)?.derive(Buf::secret(src), dst);
        Ok(Zeroizing::new(provider.lanes.run(request)?.to_vec()))
    }
}

impl Kdf {
    fn derive(&self, provider: &Provider, secret: &[u8]) -> Result<Zeroizing<Vec<u8>>> {
        let missing = |key| Error::from(Reason::MissingParameter).about(key);
        let text = |text: &str| std::ffi::CString::new(text).map_err(|_| Reason::InvalidParameter);
        let mut params = Export::default();
        let hash = self.hash.ok_or_else(|| missing(c"kdf-digest"))?;
        params.text(c"digest", digest::name(hash));
        if let Some(propq) = &self.propq {
            params.text(c"properties", &text(propq)?);
        }
        params.octets(c"key", secret);
        if let Some(ukm) = &self.ukm {
            params.octets(c"ukm", ukm);
        }
        let cek = self.cek.as_ref().ok_or_else(|| missing(c"cekalg"))?;
        params.text(c"cekalg", &text(cek)?);
        library::derive(provider, c"X942KDF-ASN1", &mut params, self.len)
    }
}

impl Exchange for DhExchange {
    type Key = DhKey;

    const GETTABLE: &'static [Param] = &[
        Param::text(c"kdf-type"),
        Param::text(c"kdf-digest"),
        Param::size(c"kdf-outlen"),
        Param::octets_pointer(c"kdf-ukm"),
        Param::text(c"cekalg"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::int(c"pad"),
        Param::text(c"kdf-type"),
        Param::text(c"kdf-digest"),
        Param::text(c"kdf-digest-props"),
        Param::size(c"kdf-outlen"),
        Param::octets(c"kdf-ukm"),
        Param::text(c"cekalg"),
        Param::END,
    ];

    fn new() -> DhExchange {
        DhExchange { key: None, peer: None, pad: false, x942: false, kdf: Kdf::default() }
    }

    fn start(&mut self, key: Arc<DhKey>) -> Result<()> {
        self.key = Some(key);
        self.x942 = false;
        Ok(())
    }

    fn peer(&mut self, _provider: &Provider, key: Arc<DhKey>) -> Result<()> {
        if !key.pair().domain()?.is_like(self.key()?.pair().domain()?) {
            return Err(Reason::DifferentParameters.into());
        }
        self.peer = Some(key);
        Ok(())
    }

    fn len(&self) -> Result<usize> {
        if self.x942 { Ok(self.kdf.len) } else { Ok(self.key()?.pair().domain()?.len()) }
    }

    fn derive(&mut self, provider: &Provider, room: usize) -> Result<Vec<u8>> {
        let len = self.len()?;
        if room < len {
            let detail = format!("{len} bytes are needed, there are {room}");
            return Err(Error::new(Reason::OutputTooSmall, detail));
        }
        let secret = self.secret(provider)?;
        if self.x942 {
            return Ok(self.kdf.derive(provider, &secret)?.to_vec());
        }
        // Without its leading zeros is how TLS up to 1.2 wants it (RFC 5246 section 8.1.2).
        Ok(if self.pad { secret.to_vec() } else { ffc::stripped(&secret).to_vec() })
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        answers.text(c"kdf-type", if self.x942 { c"X942KDF-ASN1" } else { c"" })?;
        answers.text(c"kdf-digest", self.kdf.hash.map_or(c"", digest::name))?;
        answers.int(c"kdf-outlen", self.kdf.len as i64)?;
        answers.lent_octets(c"kdf-ukm", self.kdf.ukm.as_ref().map_or(&[], |ukm| ukm))?;
        answers.passing_text(c"cekalg", self.kdf.cek.as_deref().unwrap_or_default())
    }

    fn set(&mut self, params: Params) -> Result<()> {
        let text = |key| Ok::<_, Error>(params.text(key)?.map(str::to_owned));
        if let Some(name) = params.text(c"kdf-type")? {
            self.x942 = match name {
                "" => false,
                "X942KDF-ASN1" => true,
                _ => return Err(Error::from(Reason::NotSupported).about(c"kdf-type")),
            };
        }
        if let Some(name) = params.text(c"kdf-digest")? {
            self.kdf.hash = Some(digest::hash(name)?);
            self.kdf.propq = text(c"kdf-digest-props")?;
        }
        if let Some(len) = params.uint(c"kdf-outlen")? {
            self.kdf.len = len as usize;
        }
        if let Some(ukm) = params.octets(c"kdf-ukm")? {
            self.kdf.ukm = (!ukm.is_empty()).then(|| Zeroizing::new(ukm.to_vec()));
        }
        if let Some(pad) = params.uint(c"pad")? {
            self.pad = pad != 0;
        }
        if let Some(name) = text(c"cekalg")? {
            self.kdf.cek = Some(name).filter(|name| !name.is_empty());
        }
        Ok(())
    }
}
