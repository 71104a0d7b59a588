//! RSA and RSA-PSS keys.

use core::{
    ffi::{CStr, c_int},
    ops::RangeInclusive,
};
use std::sync::Arc;

use lookaside::{
    Buf, Hash, RsaCrt, RsaPrivate, RsaPrivateKey, RsaPublic, RsaPublicKey, RsaScheme, Secret,
};
use once_cell::race::OnceBox;

use super::other::{OtherGeneration, OtherKey};
use crate::{
    digest,
    dispatch::keymgmt::{Generation, Keymgmt, Selection},
    error::{Error, Reason, Result},
    ffi::{OP_SIGNATURE, Param},
    param::{Answers, Export, Params},
    provider::Provider,
};

/// The variant of RSA keys without restrictions.
pub const RSA: u8 = 0;
/// The variant of keys for RSA-PSS alone.
pub const RSA_PSS: u8 = 1;

/// What an RSA-PSS key prescribes (RFC 4055 section 3.1); absent: nothing is prescribed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Restriction {
    /// The message's hash.
    pub hash: Hash,
    /// The mask generation's hash.
    pub mgf: Hash,
    /// The least length of the salt.
    pub salt: u16,
}

impl Default for Restriction {
    /// RFC 4055's defaults.
    fn default() -> Restriction {
        Restriction { hash: Hash::Sha1, mgf: Hash::Sha1, salt: 20 }
    }
}

/// One state of an RSA key.
#[derive(Clone)]
pub struct RsaKey {
    pss: bool,
    restriction: Option<Restriction>,
    n: Vec<u8>,
    e: Vec<u8>,
    d: Option<Secret>,
    crt: Option<RsaCrt>,
    /// Made at the first use; shared by copies, which have the same numbers.
    private: Arc<OnceBox<RsaPrivate>>,
    public: Arc<OnceBox<RsaPublic>>,
    /// The key, where Lookaside cannot hold it; of all else here, n, e and the restriction are there.
    other: Option<Arc<OtherKey>>,
}

impl RsaKey {
    /// The key as another provider has it, where Lookaside cannot hold it.
    pub fn other(&self) -> Option<&OtherKey> {
        self.other.as_deref()
    }

    /// The key as another provider has it, even if Lookaside can hold it.
    pub fn as_other(&self, provider: &Provider) -> Result<Arc<OtherKey>> {
        if let Some(other) = &self.other {
            return Ok(other.clone());
        }
        let selection = Selection::of(self.d.is_some(), true, false, true);
        let mut parts = Export::default();
        self.export(provider, selection, &mut parts)?;
        let algorithm = RsaKey::algorithm(self.pss);
        parts.lend_params(|from| {
            OtherKey::import(provider, algorithm, selection, from).map(Arc::new)
        })
    }

    /// What another provider calls its kind.
    fn algorithm(pss: bool) -> &'static CStr {
        if pss { c"RSA-PSS" } else { c"RSA" }
    }

    /// The key that another provider has made.
    fn of_other(variant: u8, other: OtherKey) -> Result<RsaKey> {
        let mut parts = Export::default();
        other.export(Selection::of(false, true, false, true), &mut parts)?;
        parts.lend_params(|from| {
            let mut key = RsaKey::new(variant);
            if key.pss {
                key.restriction = restriction(from, None)?;
            }
            key.n = from.number(c"n")?.ok_or(Reason::MissingKey)?;
            key.e = from.number(c"e")?.ok_or(Reason::MissingKey)?;
            key.other = Some(Arc::new(other));
            Ok(key)
        })
    }

    /// Whether it is for PSS alone.
    pub fn is_pss(&self) -> bool {
        self.pss
    }

    /// What it prescribes.
    pub fn restriction(&self) -> Option<Restriction> {
        self.restriction
    }

    /// The modulus' length in bits.
    pub fn bits(&self) -> usize {
        let zeros = self.n.first().map_or(0, |b| b.leading_zeros() as usize);
        self.n.len() * 8 - zeros
    }

    /// The modulus' length in bytes.
    pub fn len(&self) -> usize {
        self.n.len()
    }

    /// Whether there is no modulus.
    pub fn is_empty(&self) -> bool {
        self.n.is_empty()
    }

    fn has_private(&self) -> bool {
        self.d.is_some() || self.other.as_ref().is_some_and(|other| other.has(c"d"))
    }

    /// The session for private operations.
    pub fn private(&self, provider: &Provider) -> Result<RsaPrivate> {
        let make = || {
            let d = self.d.clone().ok_or(Reason::MissingKey)?;
            let (n, e, crt) = (self.n.clone(), self.e.clone(), self.crt.clone());
            let key = RsaPrivateKey { n, e, d, crt };
            provider.prepare(|runtime| match provider.settings.rsa_blinding {
                true => runtime.rsa_private_blinded(key),
                false => runtime.rsa_private(key),
            })
        };
        self.private.get_or_try_init(|| make().map(Box::new)).cloned()
    }

    /// The session for public operations.
    pub fn public(&self, provider: &Provider) -> Result<RsaPublic> {
        let make = || {
            if self.n.is_empty() || self.e.is_empty() {
                return Err(Reason::MissingKey.into());
            }
            let key = RsaPublicKey { n: self.n.clone(), e: self.e.clone() };
            provider.prepare(|runtime| runtime.rsa_public(key))
        };
        self.public.get_or_try_init(|| make().map(Box::new)).cloned()
    }

    /// Bits of security of a modulus of this length: NIST SP 800-56B's table, and its formula
    /// (appendix D) elsewhere, rounded to multiples of 8.
    fn security_bits(&self) -> i64 {
        match self.bits() {
            0..8 => 0,
            2048 => 112,
            3072 => 128,
            4096 => 152,
            6144 => 176,
            7680 => 192,
            8192 => 200,
            15_360 => 256,
            bits => {
                let x = bits as f64 * core::f64::consts::LN_2;
                let strength =
                    (1.923 * (x * x.ln() * x.ln()).cbrt() - 4.69) / core::f64::consts::LN_2;
                let cap = if bits <= 7680 { 192 } else { 256 };
                ((((strength as i64) + 4) & !7).min(cap)).max(0)
            }
        }
    }

    fn forget_sessions(&mut self) {
        self.private = Arc::default();
        self.public = Arc::default();
    }
}

macro_rules! numbers {
    ($($before:expr,)*) => {
        [
            $($before,)*
            Param::number(c"n"),
            Param::number(c"e"),
            Param::number(c"d"),
            Param::number(c"rsa-factor1"),
            Param::number(c"rsa-factor2"),
            Param::number(c"rsa-exponent1"),
            Param::number(c"rsa-exponent2"),
            Param::number(c"rsa-coefficient1"),
            Param::END,
        ]
    };
}

static TYPES: &[Param] = &numbers! {
    Param::text(c"digest"),
    Param::text(c"mgf"),
    Param::text(c"mgf1-digest"),
    Param::int(c"saltlen"),
};

/// How long moduli are that Lookaside takes.
const OUR_BITS: RangeInclusive<usize> = 512..=8192;

/// Names of the parts that only keys of more than two primes have.
const MORE_PRIMES: [&CStr; 3] = [c"rsa-factor3", c"rsa-exponent3", c"rsa-coefficient2"];

/// Reads the restrictions; fields that are not given keep their values.
fn restriction(params: Params, before: Option<Restriction>) -> Result<Option<Restriction>> {
    let hash = params.text(c"digest")?.map(digest::hash).transpose()?;
    let mgf = params.text(c"mgf1-digest")?.map(digest::hash).transpose()?;
    let salt = params.int(c"saltlen")?;
    if let Some(name) = params.text(c"mgf")?
        && !name.eq_ignore_ascii_case("MGF1")
    {
        return Err(Error::new(Reason::UnsupportedKey, format!("mask generation {name}")));
    }
    if hash.is_none() && mgf.is_none() && salt.is_none() {
        return Ok(before);
    }
    let mut r = before.unwrap_or_default();
    r.hash = hash.unwrap_or(r.hash);
    r.mgf = mgf.unwrap_or(r.mgf);
    if let Some(salt) = salt {
        r.salt = u16::try_from(salt).map_err(|_| Error::from(Reason::InvalidSaltLength))?;
    }
    Ok(Some(r))
}

impl Keymgmt for RsaKey {
    type Generation = RsaGeneration;

    const GETTABLE: &'static [Param] = &numbers! {
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::text(c"default-digest"),
        Param::text(c"mandatory-digest"),
        Param::text(c"digest"),
        Param::text(c"mgf1-digest"),
        Param::int(c"saltlen"),
    };

    fn new(variant: u8) -> RsaKey {
        RsaKey {
            pss: variant == RSA_PSS,
            restriction: None,
            n: Vec::new(),
            e: Vec::new(),
            d: None,
            crt: None,
            private: Arc::default(),
            public: Arc::default(),
            other: None,
        }
    }

    fn has(&self, selection: Selection) -> bool {
        (!selection.public() || !self.n.is_empty() && !self.e.is_empty())
            && (!selection.private() || self.has_private())
    }

    fn matches(&self, other: &RsaKey, selection: Selection) -> bool {
        if !selection.pair() {
            return true;
        }
        // Equal moduli and public exponents have equal private keys.
        self.e == other.e && self.n == other.n && !self.n.is_empty()
    }

    fn validate(&self, provider: &Provider, selection: Selection, quick: bool) -> Result<()> {
        if !selection.pair() {
            return Ok(());
        }
        if let Some(other) = &self.other {
            return other.validate(selection, quick);
        }
        // Preparing a session checks the numbers against each other.
        self.public(provider)?;
        if !selection.private() {
            return Ok(());
        }
        let private = self.private(provider)?;
        if quick {
            return Ok(());
        }
        // A private operation verifies its result with the public exponent: the halves belong
        // together when it has one. 2 is as good as any number that is not 0, 1 or -1.
        let mut number = vec![0; self.len()];
        *number.last_mut().ok_or(Reason::MissingKey)? = 2;
        let dst = Buf::zeroed(self.len());
        provider.lanes.run(private.run(RsaScheme::Raw, number.into(), dst))?;
        Ok(())
    }

    fn types(_selection: Selection) -> &'static [Param] {
        TYPES
    }

    fn import(&mut self, provider: &Provider, selection: Selection, from: Params) -> Result<()> {
        if self.pss && selection.other() {
            self.restriction = restriction(from, self.restriction)?;
        }
        if !selection.pair() {
            return Ok(());
        }
        self.forget_sessions();
        self.n = from.number(c"n")?.ok_or(Reason::MissingKey)?;
        self.e = from.number(c"e")?.ok_or(Reason::MissingKey)?;
        self.other = None;
        if !OUR_BITS.contains(&self.bits()) || MORE_PRIMES.iter().any(|p| from.find(p).is_some()) {
            let algorithm = RsaKey::algorithm(self.pss);
            let other = OtherKey::import(provider, algorithm, selection, from)?;
            (self.d, self.crt, self.other) = (None, None, Some(Arc::new(other)));
            return Ok(());
        }
        if !selection.private() {
            return Ok(());
        }
        let secret = |key: &CStr| Ok::<_, Error>(from.number(key)?.map(Secret::from));
        self.d = secret(c"d")?;
        let parts = (
            secret(c"rsa-factor1")?,
            secret(c"rsa-factor2")?,
            secret(c"rsa-exponent1")?,
            secret(c"rsa-exponent2")?,
            secret(c"rsa-coefficient1")?,
        );
        self.crt = match parts {
            (Some(p), Some(q), Some(dp), Some(dq), Some(qinv)) => {
                Some(RsaCrt { p, q, dp, dq, qinv })
            }
            // Fewer parts do not help: the private exponent does without them.
            _ => None,
        };
        Ok(())
    }

    fn export(&self, _provider: &Provider, selection: Selection, to: &mut Export) -> Result<()> {
        if let Some(other) = &self.other {
            return other.export(selection, to);
        }
        if self.pss
            && selection.other()
            && let Some(r) = self.restriction
        {
            to.text(c"digest", digest::name(r.hash));
            to.text(c"mgf", c"MGF1");
            to.text(c"mgf1-digest", digest::name(r.mgf));
            to.int(c"saltlen", c_int::from(r.salt));
        }
        if !selection.pair() {
            return Ok(());
        }
        if self.n.is_empty() {
            return Err(Reason::MissingKey.into());
        }
        to.number(c"n", &self.n);
        to.number(c"e", &self.e);
        if !selection.private() {
            return Ok(());
        }
        if let Some(d) = &self.d {
            to.number(c"d", d);
        }
        if let Some(crt) = &self.crt {
            to.number(c"rsa-factor1", &crt.p);
            to.number(c"rsa-factor2", &crt.q);
            to.number(c"rsa-exponent1", &crt.dp);
            to.number(c"rsa-exponent2", &crt.dq);
            to.number(c"rsa-coefficient1", &crt.qinv);
        }
        Ok(())
    }

    fn select(&self, selection: Selection) -> RsaKey {
        let mut copy = self.clone();
        if !selection.other() {
            copy.restriction = None;
        }
        if !selection.private() {
            (copy.d, copy.crt, copy.private) = (None, None, Arc::default());
            // The private part goes, or nothing of the key can be used.
            let public = |other: Arc<OtherKey>| other.select(selection).map(Arc::new);
            if let Some(Err(_)) =
                copy.other.take().map(public).map(|o| o.map(|o| copy.other = Some(o)))
            {
                copy.n.clear();
            }
        }
        if !selection.pair() {
            (copy.n, copy.e, copy.other) = (Vec::new(), Vec::new(), None);
            copy.forget_sessions();
        }
        copy
    }

    fn answer(&self, _provider: &Provider, answers: &mut Answers) -> Result<()> {
        if let Some(other) = &self.other {
            return other.answer(answers);
        }
        if !self.n.is_empty() {
            answers.int(c"bits", self.bits() as i64)?;
            answers.int(c"security-bits", self.security_bits())?;
            answers.int(c"max-size", self.len() as i64)?;
            answers.number(c"n", &self.n)?;
            answers.number(c"e", &self.e)?;
        }
        if let Some(d) = &self.d {
            answers.number(c"d", d)?;
        }
        if let Some(crt) = &self.crt {
            answers.number(c"rsa-factor1", &crt.p)?;
            answers.number(c"rsa-factor2", &crt.q)?;
            answers.number(c"rsa-exponent1", &crt.dp)?;
            answers.number(c"rsa-exponent2", &crt.dq)?;
            answers.number(c"rsa-coefficient1", &crt.qinv)?;
        }
        match self.restriction {
            // A restricted key has a mandatory digest and no default one.
            Some(r) => {
                answers.text(c"mandatory-digest", digest::name(r.hash))?;
                answers.text(c"digest", digest::name(r.hash))?;
                answers.text(c"mgf1-digest", digest::name(r.mgf))?;
                answers.int(c"saltlen", i64::from(r.salt))
            }
            None => answers.text(c"default-digest", c"SHA256"),
        }
    }

    fn operation_name(_variant: u8, operation: c_int) -> Option<&'static CStr> {
        (operation == OP_SIGNATURE).then_some(c"RSA")
    }
}

/// The making of an RSA key.
pub struct RsaGeneration {
    provider: Arc<Provider>,
    variant: u8,
    selection: Selection,
    bits: u64,
    e: Vec<u8>,
    restriction: Option<Restriction>,
    /// All that was set.
    settings: Export,
    /// Where the key will be another provider's.
    other: Option<OtherGeneration>,
}

impl Generation for RsaGeneration {
    type Key = RsaKey;

    const SETTABLE: &'static [Param] = &[
        Param::size(c"bits"),
        Param::size(c"primes"),
        Param::number(c"e"),
        Param::text(c"digest"),
        Param::text(c"properties"),
        Param::text(c"mgf"),
        Param::text(c"mgf1-digest"),
        Param::int(c"saltlen"),
        Param::END,
    ];

    fn new(provider: &Arc<Provider>, variant: u8, selection: Selection) -> Result<RsaGeneration> {
        Ok(RsaGeneration {
            provider: provider.clone(),
            variant,
            selection,
            bits: 2048,
            // 65537.
            e: vec![1, 0, 1],
            restriction: None,
            settings: Export::default(),
            other: None,
        })
    }

    fn template(&mut self, _key: &RsaKey) -> Result<()> {
        Err(Error::new(Reason::InvalidParameter, "an RSA key has no parameters to take over"))
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(other) = &mut self.other {
            return other.set(params);
        }
        self.settings.copy(params);
        let bits = params.uint(c"bits")?.unwrap_or(self.bits);
        let ours = usize::try_from(bits).is_ok_and(|bits| OUR_BITS.contains(&bits));
        let primes = params.uint(c"primes")?.unwrap_or(2);
        // Primes of equal length.
        if !ours || bits % 2 == 1 || primes != 2 {
            let algorithm = RsaKey::algorithm(self.variant == RSA_PSS);
            let (provider, settings) = (&self.provider, &mut self.settings);
            let other =
                OtherGeneration::start(provider, algorithm, None, self.selection, settings)?;
            self.other = Some(other);
            return Ok(());
        }
        self.bits = bits;
        if let Some(e) = params.number(c"e")? {
            self.e = e;
        }
        if self.variant == RSA_PSS {
            self.restriction = restriction(params, self.restriction)?;
        }
        Ok(())
    }

    fn run(&mut self, provider: &Provider) -> Result<RsaKey> {
        if let Some(other) = &mut self.other {
            return RsaKey::of_other(self.variant, other.run()?);
        }
        let mut key = RsaKey::new(self.variant);
        key.restriction = self.restriction;
        if !self.selection.pair() {
            return Ok(key);
        }
        let session = provider.prepare(|runtime| runtime.rsa_generate(self.bits as u32))?;
        let k = (self.bits as usize).div_ceil(8);
        let half = (self.bits as usize).div_ceil(2).div_ceil(8);
        let dst = Buf::secret(vec![0; 2 * k + 5 * half]);
        let made = provider.lanes.run(session.generate(self.e.clone().into(), dst))?;
        if made.len() != 2 * k + 5 * half {
            return Err(Reason::DeviceFailed.into());
        }
        let (n, rest) = made.split_at(k);
        let (d, rest) = rest.split_at(k);
        let mut halves = rest.chunks(half).map(Secret::new);
        let mut part = || halves.next().ok_or(Reason::DeviceFailed);
        key.n = n.to_vec();
        key.e.clone_from(&self.e);
        key.d = Some(Secret::new(d));
        key.crt = Some(RsaCrt { p: part()?, q: part()?, dp: part()?, dq: part()?, qinv: part()? });
        Ok(key)
    }
}
