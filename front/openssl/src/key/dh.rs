//! DH keys (PKCS #3) and DHX keys (ANSI X9.42).

use core::ffi::{CStr, c_int};
use std::sync::Arc;

use lookaside::{Buf, Secret};

use super::{
    ffc::{self, Domain, Pair, bits, ffc_rows, is_below},
    groups::Named,
};
use crate::{
    dispatch::keymgmt::{Generation, Keymgmt, Selection},
    error::{Error, Reason, Result},
    ffi::Param,
    library,
    param::{Answers, Export, Params},
    provider::Provider,
};

/// The variant of PKCS #3 keys.
pub const DH: u8 = 0;
/// The variant of X9.42 keys.
pub const DHX: u8 = 1;

/// One state of a Diffie-Hellman key.
#[derive(Clone)]
pub struct DhKey {
    pair: Pair,
    /// The length of private keys in bits, where the parameters say one (PKCS #3's
    /// `privateValueLength`).
    private_bits: Option<usize>,
}

impl DhKey {
    /// The numbers.
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// The private key, ready to be an exponent: as long as private keys of these parameters are,
    /// so that its length says nothing about it.
    pub fn exponent(&self) -> Result<Secret> {
        let private = self.pair.private.as_ref().ok_or(Reason::MissingKey)?;
        let domain = self.pair.domain()?;
        let order = domain.q.as_ref().unwrap_or(&domain.p);
        let len = self.prescribed_bits().unwrap_or(bits(order)).div_ceil(8);
        let padded = ffc::padded(private, len).or_else(|| ffc::padded(private, domain.len()));
        padded.map(Secret::from).ok_or_else(|| Reason::InvalidKey.into())
    }

    /// The length of private keys in bits, where the parameters or their name prescribe one.
    fn prescribed_bits(&self) -> Option<usize> {
        let named = self.pair.domain.as_ref().and_then(|domain| domain.named);
        let of_group = named.map(|group| group.private_bits as usize).filter(|&n| n > 0);
        self.private_bits.or(of_group)
    }
}

/// The length of private keys that parameters say; 0 says nothing.
fn private_bits(params: Params) -> Result<Option<usize>> {
    let Some(value) = params.int(c"priv_len")? else { return Ok(None) };
    let value = usize::try_from(value)
        .map_err(|_| Error::from(Reason::InvalidParameter).about(c"priv_len"))?;
    Ok(Some(value).filter(|&n| n > 0))
}

static TYPES: &[Param] = &ffc_rows! {
    Param::text(c"group"),
    Param::int(c"priv_len"),
};

impl Keymgmt for DhKey {
    type Generation = DhGeneration;

    const GETTABLE: &'static [Param] = &ffc_rows! {
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::octets(c"encoded-pub-key"),
        Param::text(c"group"),
        Param::int(c"priv_len"),
    };
    const SETTABLE: &'static [Param] = &[Param::octets(c"encoded-pub-key"), Param::END];

    fn new(_variant: u8) -> DhKey {
        DhKey { pair: Pair::default(), private_bits: None }
    }

    fn has(&self, selection: Selection) -> bool {
        self.pair.has(selection)
    }

    fn matches(&self, other: &DhKey, selection: Selection) -> bool {
        self.pair.matches(&other.pair, selection)
    }

    fn validate(&self, provider: &Provider, selection: Selection, quick: bool) -> Result<()> {
        self.pair.validate(provider, selection, quick, self.private_bits)
    }

    fn types(_selection: Selection) -> &'static [Param] {
        TYPES
    }

    fn import(&mut self, _provider: &Provider, selection: Selection, from: Params) -> Result<()> {
        let mut pair = Pair::default();
        pair.import(selection, from, true)?;
        *self = DhKey { pair, private_bits: private_bits(from)? };
        Ok(())
    }

    fn export(&self, _provider: &Provider, selection: Selection, to: &mut Export) -> Result<()> {
        self.pair.export(selection, to);
        if selection.domain()
            && let Some(n) = self.private_bits
        {
            to.int(c"priv_len", n as c_int);
        }
        Ok(())
    }

    fn select(&self, selection: Selection) -> DhKey {
        let private_bits = self.private_bits.filter(|_| selection.domain());
        DhKey { pair: self.pair.select(selection), private_bits }
    }

    fn answer(&self, _provider: &Provider, answers: &mut Answers) -> Result<()> {
        self.pair.answer(answers)?;
        let Some(domain) = &self.pair.domain else { return Ok(()) };
        let exponent = domain.q.as_ref().map(|q| bits(q)).or(self.private_bits);
        answers.int(c"security-bits", domain.security_bits(exponent))?;
        answers.int(c"max-size", domain.len() as i64)?;
        if let Some(n) = self.private_bits {
            answers.int(c"priv_len", n as i64)?;
        }
        if self.pair.public.is_some() && answers.wants(c"encoded-pub-key") {
            answers.octets(c"encoded-pub-key", &self.pair.public()?)?;
        }
        Ok(())
    }

    fn set(&mut self, _provider: &Provider, params: Params) -> Result<()> {
        let Some(public) = params.octets(c"encoded-pub-key")? else { return Ok(()) };
        let domain = self.pair.domain()?;
        let public = ffc::stripped(public);
        let mut most = domain.p.clone();
        // p is odd: this is p - 1.
        if let Some(last) = most.last_mut() {
            *last &= 0xfe;
        }
        // RFC 8446 section 4.2.8.1. An exchange validates the rest.
        if !is_below(public, &most) || public == [1] {
            return Err(Error::new(Reason::InvalidKey, "a public key outside of 2 to p - 2"));
        }
        self.pair.public = Some(public.to_vec());
        Ok(())
    }

    fn operation_name(variant: u8, _operation: c_int) -> Option<&'static CStr> {
        (variant == DHX).then_some(c"DH")
    }
}

/// How parameters are found.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Search {
    /// A safe prime for a given generator.
    SafePrime,
    /// A prime with a subgroup of a given size (FIPS 186-4 appendix A).
    Subgroup,
    /// By a group's name or size.
    Named,
}

/// The making of parameters or of a key.
pub struct DhGeneration {
    variant: u8,
    selection: Selection,
    search: Search,
    named: Option<&'static Named>,
    template: Option<Arc<Domain>>,
    p_bits: usize,
    q_bits: usize,
    generator: i64,
    private_bits: Option<usize>,
}

impl Generation for DhGeneration {
    type Key = DhKey;

    const SETTABLE: &'static [Param] = &[
        Param::text(c"type"),
        Param::text(c"group"),
        Param::int(c"priv_len"),
        Param::size(c"pbits"),
        Param::size(c"qbits"),
        Param::int(c"safeprime-generator"),
        Param::END,
    ];

    fn new(_provider: &Arc<Provider>, variant: u8, selection: Selection) -> Result<DhGeneration> {
        let search = if variant == DHX { Search::Subgroup } else { Search::SafePrime };
        Ok(DhGeneration {
            variant,
            selection,
            search,
            named: None,
            template: None,
            p_bits: 2048,
            q_bits: 224,
            generator: 2,
            private_bits: None,
        })
    }

    fn template(&mut self, key: &DhKey) -> Result<()> {
        self.template = Some(key.pair.domain()?.clone());
        self.private_bits = self.private_bits.or(key.private_bits);
        Ok(())
    }

    fn set(&mut self, params: Params) -> Result<()> {
        let x942 = self.variant == DHX;
        if let Some(name) = params.text(c"type")? {
            self.search = match (name, x942) {
                ("group", _) => Search::Named,
                ("generator" | "default", false) => Search::SafePrime,
                ("fips186_4" | "fips186_2" | "default", true) => Search::Subgroup,
                _ => return Err(Error::from(Reason::InvalidParameter).about(c"type")),
            };
        }
        if let Some(name) = params.text(c"group")? {
            self.named = Some(ffc::named(name)?);
        }
        if let Some(n) = params.uint(c"pbits")? {
            self.p_bits = n as usize;
        }
        if let Some(n) = private_bits(params)? {
            self.private_bits = Some(n);
        }
        let wrong = if x942 { &[c"safeprime-generator"][..] } else { &[c"qbits"] };
        // A search with a caller's seed is nothing that a device does.
        let unknown = [c"digest", c"properties", c"gindex", c"seed", c"pcounter", c"hindex"];
        for key in wrong.iter().chain(&unknown) {
            if params.find(key).is_some() {
                return Err(Error::from(Reason::NotSupported).about(key));
            }
        }
        if let Some(n) = params.uint(c"qbits")? {
            self.q_bits = n as usize;
        }
        if let Some(g) = params.int(c"safeprime-generator")? {
            self.generator = g;
        }
        Ok(())
    }

    fn run(&mut self, provider: &Provider) -> Result<DhKey> {
        if self.named.is_some() {
            self.search = Search::Named;
        }
        let domain = match (&self.template, self.search) {
            (Some(domain), _) => domain.clone(),
            (None, Search::Named) => {
                let group = self.named.or_else(|| Named::of_size(self.p_bits));
                let what = "a group of this size that has a name";
                Arc::new(Domain::named(
                    group.ok_or_else(|| Error::new(Reason::UnsupportedKey, what))?,
                ))
            }
            (None, _) if !self.selection.domain() => {
                let what = "the parameters, or a group's name";
                return Err(Error::new(Reason::MissingParameter, what));
            }
            (None, Search::SafePrime) => Arc::new(self.safe_prime(provider)?),
            (None, Search::Subgroup) => {
                Arc::new(super::dsa::search(provider, self.p_bits, self.q_bits)?)
            }
        };
        let pair = Pair { domain: Some(domain), ..Pair::default() };
        let mut key = DhKey { pair, private_bits: self.private_bits };
        if self.selection.pair() {
            key.make_pair(provider)?;
        }
        Ok(key)
    }
}

impl DhGeneration {
    /// Searches p = 2 q + 1 with p and q prime, so that the generator is a square and thus of order
    /// q: an exponent's lowest bit then does not show. 2 is one where p = 7 mod 8, 5 where
    /// p = 4 mod 5, and 3 where p = 11 mod 12, which no safe prime above 7 misses that is 3 mod 4.
    fn safe_prime(&self, provider: &Provider) -> Result<Domain> {
        let refused = |what| Err(Error::new(Reason::NotSupported, what));
        if !(512..=8192).contains(&self.p_bits) {
            return refused("the prime has 512 to 8192 bits");
        }
        let (modulus, wanted) = match self.generator {
            2 => (8, 7),
            3 => (12, 11),
            5 => (5, 4),
            _ => return refused("the generators of safe primes are 2, 3 and 5"),
        };
        let primes = provider.prepare(|runtime| runtime.prime())?;
        loop {
            let dst = Buf::zeroed(self.p_bits.div_ceil(8));
            let p = provider.lanes.run(primes.generate(self.p_bits as u32, true, dst))?;
            if p.iter().fold(0, |rest, &b| (rest << 8 | u32::from(b)) % modulus) == wanted {
                return Ok(Domain::new(&p, None, &[self.generator as u8]));
            }
        }
    }
}

impl DhKey {
    fn make_pair(&mut self, provider: &Provider) -> Result<()> {
        let domain = self.pair.domain()?.clone();
        let session = domain.dh(provider)?;
        let k = domain.len();
        let order = domain.q.as_ref().map_or(bits(&domain.p) - 1, |q| bits(q));
        let (private, public) = match self.prescribed_bits() {
            // Shorter than the order: every number of so many bits is a private key.
            Some(n) if n < order => {
                let private = library::random_bits(provider, n)?;
                let src = Buf::secret(private.to_vec());
                let public = provider.lanes.run(session.public(src, Buf::zeroed(k)))?.to_vec();
                (Secret::new(&private), public)
            }
            Some(n) if n > bits(&domain.p) => {
                return Err(Error::from(Reason::InvalidParameter).about(c"priv_len"));
            }
            _ => {
                let made = provider.lanes.run(session.generate(Buf::secret(vec![0; 2 * k])))?;
                let (private, public) = made
                    .split_at_checked(made.len().wrapping_sub(k))
                    .ok_or(Reason::DeviceFailed)?;
                (Secret::new(private), public.to_vec())
            }
        };
        self.pair.private = Some(private);
        self.pair.public = Some(ffc::stripped(&public).to_vec());
        Ok(())
    }
}
