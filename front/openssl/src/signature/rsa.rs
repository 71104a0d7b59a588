//! RSA signatures: PKCS#1 v1.5, PSS, and raw.

use core::ffi::CStr;
use std::sync::Arc;

use lookaside::{Buf, Hash, RsaScheme, SaltLen};

use crate::{
    der, digest,
    digest::Md,
    dispatch::signature::{Mode, Signature},
    error::{Error, Reason, Result},
    ffi::Param,
    key::{
        other::{Operation, OtherKey},
        rsa::RsaKey,
    },
    library,
    param::{Answers, Export, Params, Value},
    provider::Provider,
};

/// What surrounds the number (the constants are `RSA_..._PADDING` of `rsa.h`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Padding {
    Pkcs1 = 1,
    Raw = 3,
    /// Another provider's.
    X931 = 5,
    Pss = 6,
}

impl Padding {
    const ALL: [(Padding, &'static CStr); 4] = [
        (Padding::Pkcs1, c"pkcs1"),
        (Padding::Raw, c"none"),
        (Padding::X931, c"x931"),
        (Padding::Pss, c"pss"),
    ];

    fn read(value: Value) -> Result<Padding> {
        let found = if value.is_text() {
            let text = value.text()?;
            Padding::ALL.iter().find(|(_, name)| name.to_str() == Ok(text))
        } else {
            let number = value.int()?;
            Padding::ALL.iter().find(|(padding, _)| *padding as i64 == number)
        };
        let what = "signatures have the paddings pkcs1, pss, x931 and none";
        found
            .map(|(padding, _)| *padding)
            .ok_or_else(|| Error::new(Reason::UnsupportedPadding, what))
    }

    fn name(self) -> &'static CStr {
        Padding::ALL.iter().find(|(padding, _)| *padding == self).map_or(c"", |(_, name)| name)
    }
}

/// The names and numbers (`RSA_PSS_SALTLEN_...`) of salt lengths that depend on something.
const SALTS: [(SaltLen, &CStr, i64); 4] = [
    (SaltLen::Digest, c"digest", -1),
    (SaltLen::Auto, c"auto", -2),
    (SaltLen::Max, c"max", -3),
    (SaltLen::UpToDigest, c"auto-digestmax", -4),
];

/// Those that the libcrypto at hand has.
fn salts() -> impl Iterator<Item = &'static (SaltLen, &'static CStr, i64)> {
    SALTS.iter().filter(|(salt, ..)| *salt != SaltLen::UpToDigest || has_up_to_digest())
}

/// OpenSSL 3.1 and later have it, and begin with it.
fn has_up_to_digest() -> bool {
    library::version() >= 0x3010_0000
}

/// What OpenSSL begins with.
fn usual_salt() -> SaltLen {
    if has_up_to_digest() { SaltLen::UpToDigest } else { SaltLen::Auto }
}

fn salt_len(value: Value) -> Result<SaltLen> {
    let wrong = || Error::from(Reason::InvalidSaltLength);
    let number = if value.is_text() {
        let text = value.text()?;
        if let Some((salt, ..)) = salts().find(|(_, name, _)| name.to_str() == Ok(text)) {
            return Ok(*salt);
        }
        text.parse().map_err(|_| wrong())?
    } else {
        value.int()?
    };
    if let Some((salt, ..)) = salts().find(|(.., constant)| *constant == number) {
        return Ok(*salt);
    }
    u16::try_from(number).map(SaltLen::Exactly).map_err(|_| wrong())
}

/// An RSA signature in progress.
pub struct RsaSignature {
    propq: Option<String>,
    key: Option<Arc<RsaKey>>,
    mode: Mode,
    padding: Padding,
    hash: Option<Hash>,
    mgf: Option<Hash>,
    salt: SaltLen,
    /// With a message, and thus a digest that cannot change any more.
    message: Option<Md>,
}

impl Clone for RsaSignature {
    fn clone(&self) -> Self {
        RsaSignature {
            propq: self.propq.clone(),
            key: self.key.clone(),
            message: self.message.as_ref().and_then(Md::copy),
            ..*self
        }
    }
}

impl RsaSignature {
    fn key(&self) -> Result<&RsaKey> {
        self.key.as_deref().ok_or_else(|| Reason::NotInitialised.into())
    }

    /// What another provider is told.
    fn settings(&self) -> Export {
        let mut settings = Export::default();
        if let Some(hash) = self.hash {
            settings.text(c"digest", digest::name(hash));
        }
        settings.int(c"pad-mode", self.padding as i32);
        if self.padding == Padding::Pss {
            match SALTS.iter().find(|(salt, ..)| *salt == self.salt) {
                Some((.., number)) => settings.int(c"saltlen", *number as i32),
                None => {
                    if let SaltLen::Exactly(len) = self.salt {
                        settings.int(c"saltlen", len.into());
                    }
                }
            }
            if let Some(mgf) = self.mgf {
                settings.text(c"mgf1-digest", digest::name(mgf));
            }
        }
        settings
    }

    /// The key as another provider has it, where that does the operation.
    fn other(&self, provider: &Provider) -> Result<Option<Arc<OtherKey>>> {
        let key = self.key()?;
        match key.other().is_some() || self.padding == Padding::X931 {
            true => key.as_other(provider).map(Some),
            false => Ok(None),
        }
    }

    fn set_hash(&mut self, hash: Hash) -> Result<()> {
        if self.padding == Padding::Raw {
            let what = "there is no digest without padding";
            return Err(Error::new(Reason::InvalidPaddingMode, what));
        }
        if let Some(r) = self.key.as_ref().and_then(|key| key.restriction())
            && r.hash != hash
        {
            return Err(Reason::DigestNotAllowed.into());
        }
        self.hash = Some(hash);
        Ok(())
    }

    fn set_salt(&mut self, salt: SaltLen) -> Result<()> {
        if self.padding != Padding::Pss {
            return Err(Error::new(Reason::NotSupported, "only PSS has a salt"));
        }
        if let (Some(r), Some(hash)) =
            (self.key.as_ref().and_then(|key| key.restriction()), self.hash)
        {
            let short = match salt {
                SaltLen::Exactly(n) => n < r.salt,
                SaltLen::Digest => digest::len(hash) < usize::from(r.salt),
                // A verifier that takes any length would take shorter ones too: OpenSSL refused that
                // before 3.4. Since then it refuses signers instead.
                SaltLen::Auto | SaltLen::UpToDigest => {
                    let late = library::version() >= 0x3040_0000;
                    if self.mode == if late { Mode::Sign } else { Mode::Verify } {
                        return Err(Error::new(
                            Reason::InvalidSaltLength,
                            "the key prescribes one",
                        ));
                    }
                    false
                }
                SaltLen::Max => false,
            };
            if short {
                return Err(Reason::SaltTooShort.into());
            }
        }
        self.salt = salt;
        Ok(())
    }

    /// The scheme, for a digest of the right length.
    fn scheme(&self, digest: &[u8]) -> Result<RsaScheme> {
        if let Some(hash) = self.hash
            && digest.len() != digest::len(hash)
        {
            let detail = format!("a digest of {} bytes, not {}", digest.len(), digest::len(hash));
            return Err(Error::new(Reason::InvalidDigestLength, detail));
        }
        self.any_scheme()
    }

    fn any_scheme(&self) -> Result<RsaScheme> {
        Ok(match self.padding {
            Padding::Raw => RsaScheme::Raw,
            // `other` has it.
            Padding::X931 => return Err(Reason::UnsupportedPadding.into()),
            Padding::Pkcs1 => RsaScheme::Pkcs1Sign(self.hash),
            Padding::Pss => {
                let hash = self.hash.ok_or(Reason::UnsupportedDigest)?;
                let mgf = self.mgf.unwrap_or(hash);
                let salt = match (self.salt, self.mode) {
                    // A signer's salt is as long as fits.
                    (SaltLen::Auto, Mode::Sign) => SaltLen::Max,
                    (salt, _) => salt,
                };
                RsaScheme::Pss { hash, mgf, salt }
            }
        })
    }

    fn algorithm_id(&self) -> Option<Vec<u8>> {
        let hash = self.hash?;
        match self.padding {
            Padding::Pkcs1 => der::rsa_pkcs1(hash),
            Padding::Pss => {
                let bits = self.key().ok()?.bits();
                let salt = der::salt_len(self.salt, digest::len(hash), bits)?;
                der::rsa_pss(hash, self.mgf.unwrap_or(hash), salt)
            }
            Padding::Raw | Padding::X931 => None,
        }
    }
}

impl Signature for RsaSignature {
    type Key = RsaKey;

    const GETTABLE: &'static [Param] = &[
        Param::octets(c"algorithm-id"),
        Param::text(c"pad-mode"),
        Param::text(c"digest"),
        Param::text(c"mgf1-digest"),
        Param::text(c"saltlen"),
        Param::END,
    ];
    const SETTABLE: &'static [Param] = &[
        Param::text(c"digest"),
        Param::text(c"properties"),
        Param::text(c"pad-mode"),
        Param::text(c"mgf1-digest"),
        Param::text(c"mgf1-properties"),
        Param::text(c"saltlen"),
        Param::END,
    ];

    fn new(propq: Option<&str>) -> RsaSignature {
        RsaSignature {
            propq: propq.map(str::to_owned),
            key: None,
            mode: Mode::Sign,
            padding: Padding::Pkcs1,
            hash: None,
            mgf: None,
            salt: usual_salt(),
            message: None,
        }
    }

    fn start(&mut self, _provider: &Provider, key: Option<Arc<RsaKey>>, mode: Mode) -> Result<()> {
        let key = key.or(self.key.take()).ok_or(Reason::MissingKey)?;
        let restriction = key.restriction();
        if let Some(r) = restriction {
            // As OpenSSL has it, which leaves the two bytes out that PSS needs besides.
            let spare = digest::len(r.hash) + usize::from(key.bits() % 8 == 1);
            if key.len().checked_sub(spare).is_none_or(|most| usize::from(r.salt) > most) {
                return Err(Reason::InvalidSaltLength.into());
            }
        }
        self.padding = if key.is_pss() { Padding::Pss } else { Padding::Pkcs1 };
        self.hash = restriction.map(|r| r.hash);
        self.mgf = restriction.map(|r| r.mgf);
        self.salt = restriction.map_or_else(usual_salt, |r| SaltLen::Exactly(r.salt));
        self.mode = mode;
        self.message = None;
        self.key = Some(key);
        Ok(())
    }

    fn start_message(
        &mut self,
        provider: &Provider,
        key: Option<Arc<RsaKey>>,
        mode: Mode,
        digest: Option<&str>,
    ) -> Result<()> {
        self.start(provider, key, mode)?;
        let hash = match digest {
            Some(name) => digest::hash(name)?,
            None => self.hash.unwrap_or(Hash::Sha256),
        };
        self.set_hash(hash)?;
        let name = digest::name(hash).to_str().unwrap_or_default();
        self.message = Some(Md::new(provider, name, self.propq.as_deref())?);
        Ok(())
    }

    fn message(&mut self) -> Result<Option<&mut Md>> {
        self.message.as_mut().map(Some).ok_or_else(|| Reason::NotInitialised.into())
    }

    fn max_len(&self) -> Result<usize> {
        Ok(self.key()?.len())
    }

    fn sign(&mut self, provider: &Provider, digest: &[u8]) -> Result<Vec<u8>> {
        if let Some(other) = self.other(provider)? {
            return Ok(other.run(Operation::Sign, &mut self.settings(), digest)?.to_vec());
        }
        let scheme = self.scheme(digest)?;
        let key = self.key()?;
        let session = key.private(provider)?;
        let request = session.run(scheme, digest.into(), Buf::zeroed(key.len()));
        let too_long = match self.padding {
            Padding::Pkcs1 if self.hash.is_some() => Reason::DigestTooBig,
            _ => Reason::DataTooLarge,
        };
        let signed = provider.lanes.run(request).map_err(|e| e.of_input(too_long))?;
        Ok(signed.to_vec())
    }

    fn verify(&mut self, provider: &Provider, digest: &[u8], signature: &[u8]) -> Result<()> {
        let key = self.key()?;
        if let Some(other) = self.other(provider)? {
            return other.verify(&mut self.settings(), digest, signature);
        }
        if signature.len() != key.len() {
            return Err(Reason::WrongSignatureLength.into());
        }
        if self.padding == Padding::Raw || self.hash.is_none() {
            // What was padded is compared as it is.
            let same = *self.open(provider, signature)? == *digest;
            return if same { Ok(()) } else { Err(Reason::VerificationFailed.into()) };
        }
        let scheme = self.scheme(digest)?;
        let src = [signature, digest].concat();
        let request = key.public(provider)?.run(scheme, src.into(), Buf::empty());
        provider.lanes.run(request).map_err(|e| e.of_input(Reason::BadSignature))?;
        Ok(())
    }

    fn recover(&mut self, provider: &Provider, signature: &[u8]) -> Result<Vec<u8>> {
        if self.padding == Padding::Pss {
            return Err(Error::new(Reason::UnsupportedPadding, "PSS gives nothing back"));
        }
        if let Some(other) = self.other(provider)? {
            return Ok(other.run(Operation::Recover, &mut self.settings(), signature)?.to_vec());
        }
        self.open(provider, signature)
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        if answers.wants(c"algorithm-id")
            && let Some(id) = self.algorithm_id()
        {
            answers.octets(c"algorithm-id", &id)?;
        }
        if answers.is_number(c"pad-mode") {
            answers.int(c"pad-mode", self.padding as i64)?;
        } else {
            answers.text(c"pad-mode", self.padding.name())?;
        }
        answers.text(c"digest", self.hash.map_or(c"", digest::name))?;
        answers.text(c"mgf1-digest", self.mgf.or(self.hash).map_or(c"", digest::name))?;
        let salt = match self.salt {
            SaltLen::Exactly(n) => Err(n),
            named => SALTS.iter().find(|(salt, ..)| *salt == named).ok_or(0),
        };
        match (salt, answers.is_number(c"saltlen")) {
            (Ok((.., number)), true) => answers.int(c"saltlen", *number),
            (Ok((_, name, _)), false) => answers.text(c"saltlen", name),
            (Err(n), true) => answers.int(c"saltlen", i64::from(n)),
            (Err(n), false) => answers.passing_text(c"saltlen", &n.to_string()),
        }
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(propq) = params.text(c"properties")? {
            self.propq = Some(propq.to_owned());
        }
        if let Some(value) = params.find(c"pad-mode") {
            let padding = Padding::read(value)?;
            if self.key.as_ref().is_some_and(|key| key.is_pss()) && padding != Padding::Pss {
                return Err(Error::new(Reason::UnsupportedPadding, "the key is for PSS alone"));
            }
            if padding == Padding::Pss && self.mode == Mode::Recover {
                return Err(Error::new(Reason::UnsupportedPadding, "PSS gives nothing back"));
            }
            if padding == Padding::Raw && self.hash.is_some() {
                let what = "there is no digest without padding";
                return Err(Error::new(Reason::InvalidPaddingMode, what));
            }
            self.padding = padding;
            if padding == Padding::Pss && self.hash.is_none() && params.find(c"digest").is_none() {
                // As OpenSSL's default provider.
                self.hash = Some(Hash::Sha1);
            }
        }
        if let Some(name) = params.text(c"digest")? {
            let hash = digest::hash(name)?;
            if self.message.is_some() && self.hash != Some(hash) {
                let what = "the digest of a message cannot change";
                return Err(Error::new(Reason::UnsupportedDigest, what));
            }
            self.set_hash(hash)?;
        }
        if let Some(value) = params.find(c"saltlen") {
            self.set_salt(salt_len(value)?)?;
        }
        if let Some(name) = params.text(c"mgf1-digest")? {
            let hash = digest::hash(name)?;
            if self.padding != Padding::Pss {
                let what = "only PSS has a mask generation";
                return Err(Error::new(Reason::InvalidMgf1Digest, what));
            }
            if let Some(r) = self.key.as_ref().and_then(|key| key.restriction())
                && r.mgf != hash
            {
                return Err(Reason::DigestNotAllowed.into());
            }
            self.mgf = Some(hash);
        }
        Ok(())
    }
}

impl RsaSignature {
    /// What a signature without salt holds.
    fn open(&self, provider: &Provider, signature: &[u8]) -> Result<Vec<u8>> {
        let key = self.key()?;
        if signature.len() != key.len() {
            return Err(Reason::WrongSignatureLength.into());
        }
        let session = key.public(provider)?;
        let dst = Buf::zeroed(key.len());
        let request = match self.any_scheme()? {
            RsaScheme::Raw => session.run(RsaScheme::Raw, signature.into(), dst),
            scheme => session.recover(scheme, signature.into(), dst),
        };
        Ok(provider.lanes.run(request)?.to_vec())
    }
}
