//! What DH and DSA keys share: domain parameters and key pairs in the multiplicative group modulo a
//! prime (SP 800-56A section 5.5.1).

use core::ffi::{CStr, c_int};
use std::sync::Arc;

use lookaside::{Buf, Dh, DhGroup, Dsa, DsaDomain, Secret};
use once_cell::race::OnceBox;

use super::groups::Named;
use crate::{
    dispatch::keymgmt::Selection,
    error::{Error, Reason, Result},
    param::{Answers, Export, Params},
    provider::Provider,
};

/// The rows that describe domain parameters and key pairs, behind others.
macro_rules! ffc_rows {
    ($($before:expr,)*) => {
        [
            $($before,)*
            Param::number(c"p"),
            Param::number(c"q"),
            Param::number(c"g"),
            Param::number(c"j"),
            Param::int(c"gindex"),
            Param::int(c"pcounter"),
            Param::int(c"hindex"),
            Param::octets(c"seed"),
            Param::number(c"pub"),
            Param::number(c"priv"),
            Param::END,
        ]
    };
}
pub(super) use ffc_rows;

/// Bits of a big-endian number without leading zeros.
pub fn bits(number: &[u8]) -> usize {
    number.len() * 8 - number.first().map_or(0, |b| b.leading_zeros() as usize)
}

/// Half of a big-endian number, rounded down, without leading zeros.
pub fn half(number: &[u8]) -> Vec<u8> {
    let mut carry = 0;
    let mut out: Vec<u8> = Vec::with_capacity(number.len());
    for &byte in number {
        let low = carry << 7 | byte >> 1;
        carry = byte & 1;
        if low != 0 || !out.is_empty() {
            out.push(low);
        }
    }
    out
}

/// The number filled up with zeros in front; `None` when it is longer.
pub fn padded(number: &[u8], len: usize) -> Option<Vec<u8>> {
    let zeros = len.checked_sub(number.len())?;
    let mut out = Vec::with_capacity(len);
    out.resize(zeros, 0);
    out.extend_from_slice(number);
    Some(out)
}

/// Without the zeros in front.
pub fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|&&b| b == 0).count();
    &number[zeros..]
}

/// Whether 0 < a < b, without a branch that depends on a. The lengths are not secret.
pub fn is_below(a: &[u8], b: &[u8]) -> bool {
    if a.len() > b.len() {
        return false;
    }
    let mut any = 0;
    let mut borrow = 0u16;
    for (i, &y) in b.iter().rev().enumerate() {
        let x = if i < a.len() { a[a.len() - 1 - i] } else { 0 };
        any |= x;
        borrow = u16::from(x).wrapping_sub(u16::from(y)).wrapping_sub(borrow) >> 15;
    }
    (borrow == 1) & (any != 0)
}

/// Whether two secrets are equal, without a branch that depends on them.
pub fn is_same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

/// Domain parameters.
pub struct Domain {
    /// The prime.
    pub p: Vec<u8>,
    /// The order of the generator, where known.
    pub q: Option<Vec<u8>>,
    /// The generator.
    pub g: Vec<u8>,
    /// The name, for Diffie-Hellman.
    pub named: Option<&'static Named>,
    /// (p - 1) / q, if it was given.
    j: Option<Vec<u8>>,
    /// How p, q and g were found (FIPS 186-4 appendix A), for who wants to repeat it.
    seed: Option<Vec<u8>>,
    gindex: c_int,
    pcounter: c_int,
    hindex: c_int,
    /// Made at the first use.
    dh: OnceBox<Dh>,
    dsa: OnceBox<Dsa>,
}

impl Domain {
    /// Parameters that are just numbers, big-endian with or without leading zeros.
    pub fn new(p: &[u8], q: Option<&[u8]>, g: &[u8]) -> Domain {
        Domain {
            p: stripped(p).to_vec(),
            q: q.map(|q| stripped(q).to_vec()),
            g: stripped(g).to_vec(),
            named: None,
            j: None,
            seed: None,
            gindex: -1,
            pcounter: -1,
            hindex: 0,
            dh: OnceBox::new(),
            dsa: OnceBox::new(),
        }
    }

    /// A group with a name.
    pub fn named(group: &'static Named) -> Domain {
        let numbers = group.numbers();
        let mut domain = Domain::new(&numbers.p, Some(&numbers.q), &numbers.g);
        domain.named = Some(group);
        domain
    }

    /// What a caller sets: a group's name or numbers. `None` when there is neither.
    fn read(from: Params, names: bool) -> Result<Option<Domain>> {
        if names && let Some(name) = from.text(c"group")? {
            return named(name).map(|group| Some(Domain::named(group)));
        }
        let (Some(p), Some(g)) = (from.number(c"p")?, from.number(c"g")?) else {
            return Ok(None);
        };
        let q = from.number(c"q")?;
        let group = if names { Named::of_numbers(&p, q.as_deref(), &g) } else { None };
        let mut domain = match group {
            Some(group) => Domain::named(group),
            None => Domain::new(&p, q.as_deref(), &g),
        };
        let int = |key: &CStr, default| -> Result<c_int> {
            let Some(value) = from.int(key)? else { return Ok(default) };
            c_int::try_from(value).map_err(|_| Error::from(Reason::InvalidParameter).about(key))
        };
        domain.j = from.number(c"j")?;
        domain.seed = from.octets(c"seed")?.map(<[u8]>::to_vec);
        domain.gindex = int(c"gindex", -1)?;
        domain.pcounter = int(c"pcounter", -1)?;
        domain.hindex = int(c"hindex", 0)?;
        Ok(Some(domain))
    }

    /// Bytes of p.
    pub fn len(&self) -> usize {
        self.p.len()
    }

    /// Whether p has no bytes.
    pub fn is_empty(&self) -> bool {
        self.p.is_empty()
    }

    /// Whether p and g are equal, and q where both have it.
    pub fn is_like(&self, other: &Domain) -> bool {
        let q = match (&self.q, &other.q) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        q && self.p == other.p && self.g == other.g
    }

    /// Bits of security of this prime with exponents of this many bits (SP 800-57 part 1, tables 2
    /// and 4).
    pub fn security_bits(&self, exponent: Option<usize>) -> i64 {
        let of_prime = match bits(&self.p) {
            15_360.. => 256,
            7680.. => 192,
            3072.. => 128,
            2048.. => 112,
            1024.. => 80,
            _ => 0,
        };
        match exponent.map(|n| n as i64 / 2) {
            Some(..80) => 0,
            Some(n) => n.min(of_prime),
            None => of_prime,
        }
    }

    /// The session for Diffie-Hellman.
    pub fn dh(&self, provider: &Provider) -> Result<Dh> {
        let make = || {
            let group = DhGroup { p: self.p.clone(), g: self.g.clone(), q: self.q.clone() };
            provider.prepare(|runtime| runtime.dh(group))
        };
        match self.named {
            Some(group) => provider.dh(group.name, make),
            None => self.dh.get_or_try_init(|| make().map(Box::new)).cloned(),
        }
    }

    /// The session for DSA.
    pub fn dsa(&self, provider: &Provider) -> Result<Dsa> {
        let make = || {
            let q = self.q.clone().ok_or(Reason::MissingParameter)?;
            let domain = DsaDomain { p: self.p.clone(), q, g: self.g.clone() };
            provider.prepare(|runtime| runtime.dsa(domain))
        };
        self.dsa.get_or_try_init(|| make().map(Box::new)).cloned()
    }

    /// Checks the numbers against each other, and unless that is to be quick that p is a prime and
    /// q (without q: (p - 1) / 2) one too.
    fn validate(&self, provider: &Provider, quick: bool) -> Result<()> {
        if self.named.is_some() {
            return Ok(());
        }
        // Preparing a session checks that g has the order q.
        self.dh(provider)?;
        if quick {
            return Ok(());
        }
        let primes = provider.prepare(|runtime| runtime.prime())?;
        let q = self.q.clone().unwrap_or_else(|| half(&self.p));
        for number in [self.p.clone(), q] {
            let checked = provider.lanes.run(primes.check(number.into()));
            checked.map_err(|_| Error::new(Reason::InvalidKey, "not a prime"))?;
        }
        Ok(())
    }

    fn export(&self, to: &mut Export) {
        to.number(c"p", &self.p);
        to.number(c"g", &self.g);
        if let Some(q) = &self.q {
            to.number(c"q", q);
        }
        if let Some(j) = &self.j {
            to.number(c"j", j);
        }
        if let Some(seed) = &self.seed {
            to.octets(c"seed", seed);
        }
        to.int(c"gindex", self.gindex);
        to.int(c"pcounter", self.pcounter);
        to.int(c"hindex", self.hindex);
        if let Some(group) = self.named {
            to.text(c"group", group.name);
        }
    }

    fn answer(&self, answers: &mut Answers) -> Result<()> {
        answers.number(c"p", &self.p)?;
        answers.number(c"g", &self.g)?;
        if let Some(q) = &self.q {
            answers.number(c"q", q)?;
        }
        if let Some(j) = &self.j {
            answers.number(c"j", j)?;
        }
        if let Some(seed) = &self.seed {
            answers.octets(c"seed", seed)?;
        }
        answers.int(c"gindex", i64::from(self.gindex))?;
        answers.int(c"pcounter", i64::from(self.pcounter))?;
        answers.int(c"hindex", i64::from(self.hindex))?;
        match self.named {
            Some(group) => answers.text(c"group", group.name),
            None => Ok(()),
        }
    }
}

/// The group of this name.
pub fn named(name: &str) -> Result<&'static Named> {
    Named::find(name).ok_or_else(|| Error::new(Reason::UnsupportedKey, format!("group {name}")))
}

/// A key pair with its domain parameters; any of them may be missing.
#[derive(Clone, Default)]
pub struct Pair {
    /// The parameters.
    pub domain: Option<Arc<Domain>>,
    /// y = g^x mod p.
    pub public: Option<Vec<u8>>,
    /// x.
    pub private: Option<Secret>,
}

impl Pair {
    /// The parameters.
    pub fn domain(&self) -> Result<&Arc<Domain>> {
        self.domain.as_ref().ok_or_else(|| Reason::MissingParameter.into())
    }

    /// The public key, as long as p.
    pub fn public(&self) -> Result<Vec<u8>> {
        let public = self.public.as_ref().ok_or(Reason::MissingKey)?;
        padded(public, self.domain()?.len()).ok_or_else(|| Reason::InvalidKey.into())
    }

    /// Whether the selected parts are there.
    pub fn has(&self, selection: Selection) -> bool {
        (!selection.public() || self.public.is_some())
            && (!selection.private() || self.private.is_some())
            && (!selection.domain() || self.domain.is_some())
    }

    /// Whether the selected parts are equal. Of a pair, one half says enough.
    pub fn matches(&self, other: &Pair, selection: Selection) -> bool {
        let domain = || match (&self.domain, &other.domain) {
            (Some(a), Some(b)) => a.is_like(b),
            _ => false,
        };
        let halves = || {
            if selection.public()
                && let (Some(a), Some(b)) = (&self.public, &other.public)
            {
                return a == b;
            }
            match (&self.private, &other.private) {
                (Some(a), Some(b)) if selection.private() => is_same(a, b),
                _ => false,
            }
        };
        (!selection.pair() || halves()) && (!selection.domain() || domain())
    }

    /// Takes over what another provider's key has.
    pub fn import(&mut self, selection: Selection, from: Params, names: bool) -> Result<()> {
        // A key without parameters means nothing: they are taken whatever is selected.
        let domain = Domain::read(from, names)?;
        let domain = domain.ok_or_else(|| Error::new(Reason::MissingParameter, "p and g"))?;
        self.domain = Some(Arc::new(domain));
        if !selection.pair() {
            return Ok(());
        }
        if let Some(public) = from.number(c"pub")? {
            self.public = Some(public);
        }
        if selection.private()
            && let Some(private) = from.number(c"priv")?
        {
            self.private = Some(private.into());
        }
        Ok(())
    }

    /// Gives the content to another provider.
    pub fn export(&self, selection: Selection, to: &mut Export) {
        if selection.domain()
            && let Some(domain) = &self.domain
        {
            domain.export(to);
        }
        if selection.pair()
            && let Some(public) = &self.public
        {
            to.number(c"pub", public);
        }
        if selection.private()
            && let Some(private) = &self.private
        {
            to.number(c"priv", private);
        }
    }

    /// A copy with the selected parts.
    #[must_use]
    pub fn select(&self, selection: Selection) -> Pair {
        Pair {
            domain: self.domain.clone().filter(|_| selection.domain()),
            public: self.public.clone().filter(|_| selection.public()),
            private: self.private.clone().filter(|_| selection.private()),
        }
    }

    /// Answers about the numbers.
    pub fn answer(&self, answers: &mut Answers) -> Result<()> {
        if let Some(domain) = &self.domain {
            answers.int(c"bits", bits(&domain.p) as i64)?;
            domain.answer(answers)?;
        }
        if let Some(public) = &self.public {
            answers.number(c"pub", public)?;
        }
        if let Some(private) = &self.private {
            answers.number(c"priv", private)?;
        }
        Ok(())
    }

    /// Whether the selected parts are valid. `most` is the length of the longest private key in
    /// bits, where that is not the order's.
    pub fn validate(
        &self,
        provider: &Provider,
        selection: Selection,
        quick: bool,
        most: Option<usize>,
    ) -> Result<()> {
        let invalid = |what: &str| Error::new(Reason::InvalidKey, what);
        let domain = self.domain()?;
        if selection.domain() {
            domain.validate(provider, quick)?;
        }
        if selection.public() {
            self.validate_public(provider)?;
        }
        if selection.private() {
            let private = self.private.as_ref().ok_or(Reason::MissingKey)?;
            if !is_below(stripped(private), domain.q.as_ref().unwrap_or(&domain.p)) {
                return Err(invalid("the private key is 0 or not below the order"));
            }
            if most.is_some_and(|most| bits(stripped(private)) > most) {
                return Err(invalid("the private key is longer than the parameters say"));
            }
        }
        if selection.public() && selection.private() {
            let private = self.private.as_ref().ok_or(Reason::MissingKey)?;
            let dst = Buf::zeroed(domain.len());
            let src = Buf::secret(private.to_vec());
            let public = provider.lanes.run(domain.dh(provider)?.public(src, dst))?;
            if *public != *self.public()? {
                return Err(invalid("the halves of the key do not belong together"));
            }
        }
        Ok(())
    }

    /// Whether 1 < y < p - 1 and y^q = 1.
    pub fn validate_public(&self, provider: &Provider) -> Result<()> {
        let domain = self.domain()?;
        // An exchange validates the peer's key. With a private key of 1 it does nothing else.
        let mut src = vec![1];
        src.extend(self.public()?);
        let dst = Buf::zeroed(domain.len());
        provider.lanes.run(domain.dh(provider)?.derive(src.into(), dst))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        assert_eq!((bits(&[1, 0]), bits(&[]), bits(&[0x80])), (9, 0, 8));
        assert_eq!((half(&[1, 3]), half(&[1]), half(&[3, 0])), (vec![0x81], vec![], vec![1, 0x80]));
        assert_eq!(padded(&[1], 3), Some(vec![0, 0, 1]));
        assert_eq!(padded(&[1, 2], 1), None);
        for (a, b, below) in [
            (&[5][..], &[6][..], true),
            (&[6], &[6], false),
            (&[7], &[6], false),
            (&[0], &[6], false),
            (&[255], &[1, 0], true),
            (&[1, 0], &[1, 0], false),
            (&[1, 0], &[255], false),
            (&[0, 255], &[1, 0], true),
        ] {
            assert_eq!(is_below(a, b), below, "{a:?} {b:?}");
        }
    }

    #[test]
    fn strengths() {
        let domain = |bytes| Domain::new(&vec![0xff; bytes], None, &[2]);
        assert_eq!(domain(256).security_bits(None), 112);
        assert_eq!(domain(256).security_bits(Some(225)), 112);
        assert_eq!(domain(384).security_bits(Some(224)), 112);
        assert_eq!(domain(128).security_bits(Some(150)), 0);
        assert_eq!(domain(64).security_bits(None), 0);
    }
}
