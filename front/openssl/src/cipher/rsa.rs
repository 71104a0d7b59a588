//! RSA encryption: PKCS#1 v1.5 (also of TLS premaster secrets), OAEP, and raw.

use core::ffi::CStr;
use std::sync::Arc;

use lookaside::{Buf, Hash, RsaScheme};

use crate::{
    digest,
    dispatch::cipher::Cipher,
    error::{Error, Reason, Result},
    ffi::Param,
    key::{other::Operation, rsa::RsaKey},
    param::{Answers, Export, Params, Value},
    provider::Provider,
};

/// What surrounds the number (the constants are `RSA_..._PADDING` of `rsa.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Padding {
    Pkcs1 = 1,
    Raw = 3,
    Oaep = 4,
    Tls = 7,
}

/// With the names; the TLS padding has none.
const PADDINGS: [(Padding, &CStr); 4] = [
    (Padding::Pkcs1, c"pkcs1"),
    (Padding::Raw, c"none"),
    (Padding::Oaep, c"oaep"),
    (Padding::Tls, c""),
];

/// A TLS premaster secret's length.
const PREMASTER: usize = 48;

fn padding(value: Value) -> Result<Padding> {
    let found = if value.is_text() {
        let text = value.text()?;
        PADDINGS.iter().find(|(_, name)| !name.is_empty() && name.to_str() == Ok(text))
    } else {
        let number = value.int()?;
        PADDINGS.iter().find(|(padding, _)| *padding as i64 == number)
    };
    let what = "encryption has the paddings pkcs1, oaep and none";
    found.map(|(padding, _)| *padding).ok_or_else(|| Error::new(Reason::UnsupportedPadding, what))
}

/// An encryption or decryption in progress.
#[derive(Clone)]
pub struct RsaCipher {
    key: Option<Arc<RsaKey>>,
    encrypt: bool,
    padding: Padding,
    hash: Hash,
    mgf: Option<Hash>,
    label: Vec<u8>,
    client_version: u16,
    alternative: Option<u16>,
    /// Whether bad PKCS#1 v1.5 padding gives random bytes rather than an error.
    implicit_rejection: bool,
}

impl RsaCipher {
    fn key(&self) -> Result<&RsaKey> {
        self.key.as_deref().ok_or_else(|| Reason::NotInitialised.into())
    }

    /// What another provider is told.
    fn settings(&self) -> Export {
        let mut settings = Export::default();
        settings.int(c"pad-mode", self.padding as i32);
        match self.padding {
            Padding::Oaep => {
                settings.text(c"digest", digest::name(self.hash));
                settings.text(c"mgf1-digest", digest::name(self.mgf.unwrap_or(self.hash)));
                settings.octets(c"oaep-label", &self.label);
            }
            Padding::Tls => {
                settings.uint(c"tls-client-version", self.client_version.into());
                let alternative = self.alternative.unwrap_or(0);
                settings.uint(c"tls-negotiated-version", alternative.into());
            }
            Padding::Pkcs1 if !self.implicit_rejection => {
                settings.uint(c"implicit-rejection", 0);
            }
            Padding::Pkcs1 | Padding::Raw => {}
        }
        settings
    }

    fn scheme(&self) -> Result<RsaScheme> {
        Ok(match self.padding {
            Padding::Pkcs1 => RsaScheme::Pkcs1Encrypt,
            Padding::Raw => RsaScheme::Raw,
            Padding::Oaep => RsaScheme::Oaep {
                hash: self.hash,
                mgf: self.mgf.unwrap_or(self.hash),
                label_len: u16::try_from(self.label.len())
                    .map_err(|_| Error::new(Reason::InvalidLength, "the label is too long"))?,
            },
            Padding::Tls if self.client_version == 0 => {
                return Err(Error::new(Reason::MissingParameter, "tls-client-version"));
            }
            Padding::Tls => RsaScheme::Pkcs1Tls {
                client_version: self.client_version,
                alternative: self.alternative,
            },
        })
    }
}

fn version(params: Params, key: &CStr) -> Result<Option<u16>> {
    let version = params.uint(key)?.map(u16::try_from).transpose();
    version.map_err(|_| Error::from(Reason::InvalidParameter).about(key))
}

impl Cipher for RsaCipher {
    type Key = RsaKey;

    const GETTABLE: &'static [Param] = &[
        Param::text(c"digest"),
        Param::text(c"pad-mode"),
        Param::text(c"mgf1-digest"),
        Param::octets_pointer(c"oaep-label"),
        Param::uint(c"tls-client-version"),
        Param::uint(c"tls-negotiated-version"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::text(c"digest"),
        Param::text(c"digest-props"),
        Param::text(c"pad-mode"),
        Param::text(c"mgf1-digest"),
        Param::text(c"mgf1-properties"),
        Param::octets(c"oaep-label"),
        Param::uint(c"tls-client-version"),
        Param::uint(c"tls-negotiated-version"),
        Param::uint(c"implicit-rejection"),
        Param::END,
    ];

    fn new() -> RsaCipher {
        RsaCipher {
            key: None,
            encrypt: true,
            padding: Padding::Pkcs1,
            // As RFC 8017 and OpenSSL have it.
            hash: Hash::Sha1,
            mgf: None,
            label: Vec::new(),
            client_version: 0,
            alternative: None,
            implicit_rejection: true,
        }
    }

    fn start(&mut self, key: Option<Arc<RsaKey>>, encrypt: bool) -> Result<()> {
        let key = key.or(self.key.take()).ok_or(Reason::MissingKey)?;
        if key.is_pss() {
            return Err(Reason::NotForThisKey.into());
        }
        *self = RsaCipher { key: Some(key), encrypt, ..RsaCipher::new() };
        Ok(())
    }

    fn max_len(&self, _input: &[u8]) -> Result<usize> {
        match (self.padding, self.encrypt) {
            (Padding::Tls, false) => Ok(PREMASTER),
            _ => Ok(self.key()?.len()),
        }
    }

    fn run(&mut self, provider: &Provider, input: &[u8]) -> Result<Vec<u8>> {
        let key = self.key()?;
        if key.other().is_some() || !self.implicit_rejection {
            let other = key.as_other(provider)?;
            let operation = if self.encrypt { Operation::Encrypt } else { Operation::Decrypt };
            return Ok(other.run(operation, &mut self.settings(), input)?.to_vec());
        }
        let scheme = self.scheme()?;
        if self.padding == Padding::Tls && self.encrypt {
            return Err(Error::new(Reason::UnsupportedPadding, "this one only decrypts"));
        }
        // As OpenSSL's default provider, a ciphertext may lack its leading zeros.
        let short = !self.encrypt && !input.is_empty();
        let missing = if short { key.len().saturating_sub(input.len()) } else { 0 };
        let label: &[u8] = if self.padding == Padding::Oaep { &self.label } else { &[] };
        let src = [label, &vec![0; missing], input].concat();
        let (src, dst) = (Buf::secret(src), Buf::secret(vec![0; key.len()]));
        let request = match self.encrypt {
            true => key.public(provider)?.run(scheme, src, dst),
            false => key.private(provider)?.run(scheme, src, dst),
        };
        let wrong = match (self.encrypt, self.padding) {
            (false, Padding::Oaep) => Reason::OaepDecoding,
            _ => Reason::DataTooLarge,
        };
        Ok(provider.lanes.run(request).map_err(|e| e.of_input(wrong))?.to_vec())
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        if answers.is_number(c"pad-mode") {
            answers.int(c"pad-mode", self.padding as i64)?;
        } else {
            let name = PADDINGS.iter().find(|(padding, _)| *padding == self.padding);
            answers.text(c"pad-mode", name.map_or(c"", |(_, name)| name))?;
        }
        answers.text(c"digest", digest::name(self.hash))?;
        answers.text(c"mgf1-digest", digest::name(self.mgf.unwrap_or(self.hash)))?;
        answers.lent_octets(c"oaep-label", &self.label)?;
        answers.int(c"tls-client-version", i64::from(self.client_version))?;
        answers.int(c"tls-negotiated-version", i64::from(self.alternative.unwrap_or(0)))
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(name) = params.text(c"digest")? {
            self.hash = digest::hash(name)?;
        }
        if let Some(value) = params.find(c"pad-mode") {
            self.padding = padding(value)?;
        }
        if let Some(name) = params.text(c"mgf1-digest")? {
            self.mgf = Some(digest::hash(name)?);
        }
        if let Some(label) = params.octets(c"oaep-label")? {
            self.label = label.to_vec();
        }
        if let Some(version) = version(params, c"tls-client-version")? {
            self.client_version = version;
        }
        if let Some(version) = version(params, c"tls-negotiated-version")? {
            self.alternative = Some(version).filter(|&v| v != 0);
        }
        if let Some(implicit) = params.uint(c"implicit-rejection")? {
            self.implicit_rejection = implicit != 0;
        }
        Ok(())
    }
}
