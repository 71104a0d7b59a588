//! TLS1-PRF: the pseudorandom function of TLS 1.0 to 1.2.

use lookaside::{Buf, Hash, Secret};

use crate::{
    digest,
    dispatch::kdf::Derivation,
    error::{Error, Reason, Result},
    ffi::Param,
    param::Params,
    provider::Provider,
};

/// The most bytes of label and seeds together, as OpenSSL's limit.
const MAX_SEED: usize = 1024;

/// A derivation in progress.
#[derive(Clone)]
pub struct TlsPrfDerivation {
    hash: Option<Hash>,
    secret: Option<Secret>,
    /// The label and the seeds, one after the other.
    seed: Vec<u8>,
}

impl Derivation for TlsPrfDerivation {
    const SETTABLE: &'static [Param] = &[
        Param::text(c"properties"),
        Param::text(c"digest"),
        Param::octets(c"secret"),
        Param::octets(c"seed"),
        Param::END,
    ];

    fn new() -> TlsPrfDerivation {
        TlsPrfDerivation { hash: None, secret: None, seed: Vec::new() }
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(name) = params.text(c"digest")? {
            self.hash = Some(digest::hash(name)?);
        }
        if let Some(secret) = params.octets(c"secret")? {
            self.secret = Some(Secret::new(secret));
        }
        // Seeds add up, within one array and from call to call.
        for seed in params.all(c"seed") {
            self.seed.extend_from_slice(seed.octets()?);
        }
        if self.seed.len() > MAX_SEED {
            return Err(Error::new(Reason::InvalidLength, "label and seed are too long"));
        }
        Ok(())
    }

    fn derive(&self, provider: &Provider, len: usize) -> Result<Vec<u8>> {
        let hash = self.hash.ok_or_else(|| missing("digest"))?;
        let secret = self.secret.as_ref().ok_or_else(|| missing("secret"))?;
        if self.seed.is_empty() {
            return Err(missing("seed"));
        }
        let src = Buf::secret([secret, &self.seed[..]].concat());
        let dst = Buf::secret(vec![0; len]);
        let request = provider.tls_prf(hash)?.derive(secret.len() as u32, src, dst);
        Ok(provider.lanes.run(request)?.to_vec())
    }
}

pub(super) fn missing(what: &str) -> Error {
    Error::from(match what {
        "digest" => Reason::MissingDigest,
        "secret" => Reason::MissingSecret,
        "seed" => Reason::MissingSeed,
        _ => Reason::MissingKey,
    })
}
