//! HKDF (RFC 5869), and TLS13-KDF: HKDF as TLS 1.3 uses it (RFC 8446 section 7.1).

use lookaside::{Buf, Hash, HkdfMode, Secret};
use zeroize::Zeroizing;

use super::tls_prf::missing;
use crate::{
    digest,
    digest::Md,
    dispatch::kdf::{Derivation, answer_size},
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Params},
    provider::Provider,
};

/// The most bytes of info, and of the sum of its parts, as OpenSSL's limit.
const MAX_INFO: usize = 1 << 15;

fn mode(params: Params) -> Result<Option<HkdfMode>> {
    let Some(value) = params.find(c"mode") else { return Ok(None) };
    let wrong = || Error::from(Reason::InvalidMode);
    if value.is_text() {
        return match value.text()?.to_ascii_uppercase().as_str() {
            "EXTRACT_AND_EXPAND" => Ok(Some(HkdfMode::ExtractAndExpand)),
            "EXTRACT_ONLY" => Ok(Some(HkdfMode::Extract)),
            "EXPAND_ONLY" => Ok(Some(HkdfMode::Expand)),
            _ => Err(wrong()),
        };
    }
    match value.int()? {
        0 => Ok(Some(HkdfMode::ExtractAndExpand)),
        1 => Ok(Some(HkdfMode::Extract)),
        2 => Ok(Some(HkdfMode::Expand)),
        _ => Err(wrong()),
    }
}

/// One request.
fn derive(
    provider: &Provider,
    hash: Hash,
    mode: HkdfMode,
    key: &[u8],
    salt: &[u8],
    info: &[u8],
    len: usize,
) -> Result<Vec<u8>> {
    let src = Buf::secret([key, salt, info].concat());
    let dst = Buf::secret(vec![0; len]);
    let session = provider.hkdf(hash)?;
    let request = session.derive(mode, key.len() as u32, salt.len() as u32, src, dst);
    Ok(provider.lanes.run(request)?.to_vec())
}

/// A derivation in progress.
#[derive(Clone)]
pub struct HkdfDerivation {
    mode: HkdfMode,
    hash: Option<Hash>,
    key: Option<Secret>,
    salt: Secret,
    info: Vec<u8>,
}

impl Derivation for HkdfDerivation {
    const GETTABLE: &'static [Param] = &[Param::size(c"size"), Param::octets(c"info"), Param::END];
    const SETTABLE: &'static [Param] = &[
        Param::text(c"mode"),
        Param::int(c"mode"),
        Param::text(c"properties"),
        Param::text(c"digest"),
        Param::octets(c"key"),
        Param::octets(c"salt"),
        Param::octets(c"info"),
        Param::END,
    ];

    fn new() -> HkdfDerivation {
        HkdfDerivation {
            mode: HkdfMode::ExtractAndExpand,
            hash: None,
            key: None,
            salt: Secret::new(&[]),
            info: Vec::new(),
        }
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(mode) = mode(params)? {
            self.mode = mode;
        }
        if let Some(name) = params.text(c"digest")? {
            self.hash = Some(digest::hash(name)?);
        }
        if let Some(key) = params.octets(c"key")? {
            self.key = Some(Secret::new(key));
        }
        if let Some(salt) = params.octets(c"salt")? {
            self.salt = Secret::new(salt);
        }
        // The parts of one array make the info; another array's replace them.
        if params.find(c"info").is_some() {
            self.info.clear();
            for part in params.all(c"info") {
                self.info.extend_from_slice(part.octets()?);
            }
            if self.info.len() > MAX_INFO {
                return Err(Error::new(Reason::InvalidLength, "the info is too long"));
            }
        }
        Ok(())
    }

    fn derive(&self, provider: &Provider, len: usize) -> Result<Vec<u8>> {
        let hash = self.hash.ok_or_else(|| missing("digest"))?;
        let key = self.key.as_ref().ok_or_else(|| missing("key"))?;
        let salt: &[u8] = if self.mode == HkdfMode::Expand { &[] } else { &self.salt };
        let info: &[u8] = if self.mode == HkdfMode::Extract { &[] } else { &self.info };
        derive(provider, hash, self.mode, key, salt, info, len)
    }

    fn size(&self) -> Result<Option<usize>> {
        match self.mode {
            HkdfMode::Extract => Ok(Some(digest::len(self.hash.ok_or_else(|| missing("digest"))?))),
            _ => Ok(None),
        }
    }

    fn answer(&self, answers: &mut Answers) -> Result<bool> {
        let asked = answers.wants(c"info");
        answers.octets(c"info", &self.info)?;
        Ok(answer_size(self, answers)? || asked)
    }
}

/// A derivation of TLS 1.3 in progress.
#[derive(Clone)]
pub struct Tls13Derivation {
    mode: HkdfMode,
    hash: Option<Hash>,
    key: Option<Secret>,
    salt: Option<Secret>,
    prefix: Vec<u8>,
    label: Vec<u8>,
    data: Vec<u8>,
}

impl Tls13Derivation {
    /// HKDF-Expand-Label: the info is the length, the label and the data, with their lengths.
    fn expand_label(
        &self,
        provider: &Provider,
        key: &[u8],
        label: &[u8],
        data: &[u8],
        len: usize,
    ) -> Result<Vec<u8>> {
        let hash = self.hash.ok_or_else(|| missing("digest"))?;
        let long = |_| Error::new(Reason::InvalidLength, "a label, data or key is too long");
        let label_len = u8::try_from(self.prefix.len() + label.len()).map_err(long)?;
        let data_len = u8::try_from(data.len()).map_err(long)?;
        let mut info = u16::try_from(len).map_err(long)?.to_be_bytes().to_vec();
        info.push(label_len);
        info.extend_from_slice(&self.prefix);
        info.extend_from_slice(label);
        info.push(data_len);
        info.extend_from_slice(data);
        derive(provider, hash, HkdfMode::Expand, key, &[], &info, len)
    }

    /// The next secret of the schedule: HKDF-Extract with the previous one, derived, as its salt.
    fn next_secret(&self, provider: &Provider, len: usize) -> Result<Vec<u8>> {
        let hash = self.hash.ok_or_else(|| missing("digest"))?;
        let size = digest::len(hash);
        if len != size {
            return Err(Reason::InvalidLength.into());
        }
        let zeros = vec![0; size];
        let key = self.key.as_deref().unwrap_or(&zeros);
        let Some(previous) = &self.salt else {
            return derive(provider, hash, HkdfMode::Extract, key, &zeros, &[], size);
        };
        let name = digest::name(hash).to_str().unwrap_or_default();
        let empty = Md::new(provider, name, None)?.finish()?;
        let salt = self.expand_label(provider, previous, &self.label, &empty, size)?;
        let salt = Zeroizing::new(salt);
        derive(provider, hash, HkdfMode::Extract, key, &salt, &[], size)
    }
}

impl Derivation for Tls13Derivation {
    const SETTABLE: &'static [Param] = &[
        Param::text(c"mode"),
        Param::int(c"mode"),
        Param::text(c"properties"),
        Param::text(c"digest"),
        Param::octets(c"key"),
        Param::octets(c"salt"),
        Param::octets(c"prefix"),
        Param::octets(c"label"),
        Param::octets(c"data"),
        Param::END,
    ];

    fn new() -> Tls13Derivation {
        Tls13Derivation {
            mode: HkdfMode::Expand,
            hash: None,
            key: None,
            salt: None,
            prefix: Vec::new(),
            label: Vec::new(),
            data: Vec::new(),
        }
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(mode) = mode(params)? {
            if mode == HkdfMode::ExtractAndExpand {
                return Err(Error::from(Reason::InvalidMode));
            }
            self.mode = mode;
        }
        if let Some(name) = params.text(c"digest")? {
            self.hash = Some(digest::hash(name)?);
        }
        if let Some(key) = params.octets(c"key")? {
            self.key = Some(Secret::new(key));
        }
        if let Some(salt) = params.octets(c"salt")? {
            self.salt = Some(Secret::new(salt));
        }
        for (field, key) in
            [(&mut self.prefix, c"prefix"), (&mut self.label, c"label"), (&mut self.data, c"data")]
        {
            if let Some(bytes) = params.octets(key)? {
                *field = bytes.to_vec();
            }
        }
        Ok(())
    }

    fn derive(&self, provider: &Provider, len: usize) -> Result<Vec<u8>> {
        if self.mode == HkdfMode::Extract {
            return self.next_secret(provider, len);
        }
        let key = self.key.as_ref().ok_or_else(|| missing("key"))?;
        self.expand_label(provider, key, &self.label, &self.data, len)
    }

    fn size(&self) -> Result<Option<usize>> {
        match self.mode {
            HkdfMode::Extract => Ok(Some(digest::len(self.hash.ok_or_else(|| missing("digest"))?))),
            _ => Ok(None),
        }
    }
}
