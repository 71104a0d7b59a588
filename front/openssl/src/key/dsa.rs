//! DSA keys.

use std::sync::Arc;

use lookaside::{Buf, Secret};

use super::ffc::{self, Domain, Pair, bits, ffc_rows};
use crate::{
    der,
    dispatch::keymgmt::{Generation, Keymgmt, Selection},
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Export, Params},
    provider::Provider,
};

/// One state of a DSA key.
#[derive(Clone)]
pub struct DsaKey {
    pair: Pair,
}

impl DsaKey {
    /// The numbers.
    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Bytes of q: of the private key and of each half of a signature.
    pub fn order_len(&self) -> Result<usize> {
        Ok(self.pair.domain()?.q.as_ref().ok_or(Reason::MissingParameter)?.len())
    }

    /// The private key, as long as q.
    pub fn private(&self) -> Result<Secret> {
        let private = self.pair.private.as_ref().ok_or(Reason::MissingKey)?;
        let padded = ffc::padded(private, self.order_len()?);
        padded.map(Secret::from).ok_or_else(|| Reason::InvalidKey.into())
    }
}

static TYPES: &[Param] = &ffc_rows! {};

impl Keymgmt for DsaKey {
    type Generation = DsaGeneration;

    const GETTABLE: &'static [Param] = &ffc_rows! {
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::text(c"default-digest"),
    };

    fn new(_variant: u8) -> DsaKey {
        DsaKey { pair: Pair::default() }
    }

    fn has(&self, selection: Selection) -> bool {
        self.pair.has(selection)
    }

    fn matches(&self, other: &DsaKey, selection: Selection) -> bool {
        self.pair.matches(&other.pair, selection)
    }

    fn validate(&self, provider: &Provider, selection: Selection, quick: bool) -> Result<()> {
        self.pair.validate(provider, selection, quick, None)
    }

    fn types(_selection: Selection) -> &'static [Param] {
        TYPES
    }

    fn import(&mut self, _provider: &Provider, selection: Selection, from: Params) -> Result<()> {
        let mut pair = Pair::default();
        pair.import(selection, from, false)?;
        self.pair = pair;
        Ok(())
    }

    fn export(&self, _provider: &Provider, selection: Selection, to: &mut Export) -> Result<()> {
        self.pair.export(selection, to);
        Ok(())
    }

    fn select(&self, selection: Selection) -> DsaKey {
        DsaKey { pair: self.pair.select(selection) }
    }

    fn answer(&self, _provider: &Provider, answers: &mut Answers) -> Result<()> {
        self.pair.answer(answers)?;
        answers.text(c"default-digest", c"SHA256")?;
        let Some(domain) = &self.pair.domain else { return Ok(()) };
        let Some(q) = &domain.q else { return Ok(()) };
        answers.int(c"security-bits", domain.security_bits(Some(bits(q))))?;
        answers.int(c"max-size", der::signature_len(8 * q.len()) as i64)
    }
}

/// The sizes of p and q that domain parameters are made with (FIPS 186-4 section 4.2).
const SIZES: [(usize, usize); 4] = [(1024, 160), (2048, 224), (2048, 256), (3072, 256)];

/// Makes domain parameters with p and q of these sizes.
pub(super) fn search(provider: &Provider, p_bits: usize, q_bits: usize) -> Result<Domain> {
    if !SIZES.contains(&(p_bits, q_bits)) {
        let what = format!("{p_bits}/{q_bits}: the sizes of p/q are {SIZES:?}");
        return Err(Error::new(Reason::NotSupported, what));
    }
    let (k, n) = (p_bits / 8, q_bits / 8);
    let session =
        provider.prepare(|runtime| runtime.dsa_parameters(p_bits as u32, q_bits as u32))?;
    let made = provider.lanes.run(session.generate(Buf::zeroed(2 * k + n)))?;
    if made.len() != 2 * k + n {
        return Err(Reason::DeviceFailed.into());
    }
    Ok(Domain::new(&made[..k], Some(&made[k..k + n]), &made[k + n..]))
}

/// The making of parameters or of a key.
pub struct DsaGeneration {
    selection: Selection,
    template: Option<Arc<Domain>>,
    p_bits: usize,
    /// Without: the least that FIPS 186-4 has for p.
    q_bits: Option<usize>,
}

impl Generation for DsaGeneration {
    type Key = DsaKey;

    const SETTABLE: &'static [Param] =
        &[Param::text(c"type"), Param::size(c"pbits"), Param::size(c"qbits"), Param::END];

    fn new(_provider: &Arc<Provider>, _variant: u8, selection: Selection) -> Result<DsaGeneration> {
        Ok(DsaGeneration { selection, template: None, p_bits: 2048, q_bits: None })
    }

    fn template(&mut self, key: &DsaKey) -> Result<()> {
        self.template = Some(key.pair.domain()?.clone());
        Ok(())
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(name) = params.text(c"type")?
            && !matches!(name, "default" | "fips186_4")
        {
            return Err(Error::from(Reason::NotSupported).about(c"type"));
        }
        // A search with a caller's seed is nothing that a device does.
        for key in [c"digest", c"properties", c"gindex", c"seed", c"pcounter", c"hindex"] {
            if params.find(key).is_some() {
                return Err(Error::from(Reason::NotSupported).about(key));
            }
        }
        if let Some(n) = params.uint(c"pbits")? {
            self.p_bits = n as usize;
        }
        if let Some(n) = params.uint(c"qbits")? {
            self.q_bits = Some(n as usize);
        }
        Ok(())
    }

    fn run(&mut self, provider: &Provider) -> Result<DsaKey> {
        let domain = match &self.template {
            Some(domain) => domain.clone(),
            None if !self.selection.domain() => {
                return Err(Error::new(Reason::MissingParameter, "the parameters"));
            }
            None => {
                let least =
                    SIZES.iter().find(|(p, _)| *p == self.p_bits).map_or(224, |size| size.1);
                Arc::new(search(provider, self.p_bits, self.q_bits.unwrap_or(least))?)
            }
        };
        let mut key = DsaKey { pair: Pair { domain: Some(domain.clone()), ..Pair::default() } };
        if !self.selection.pair() {
            return Ok(key);
        }
        let (n, k) = (key.order_len()?, domain.len());
        let session = domain.dsa(provider)?;
        let made = provider.lanes.run(session.generate(Buf::secret(vec![0; n + k])))?;
        if made.len() != n + k {
            return Err(Reason::DeviceFailed.into());
        }
        key.pair.private = Some(Secret::new(&made[..n]));
        key.pair.public = Some(ffc::stripped(&made[n..]).to_vec());
        Ok(key)
    }
}
