//! Ed25519 and Ed448 keys.

use std::sync::Arc;

use lookaside::{Buf, EdCurve, Secret};

use super::ffc::is_same;
use crate::{
    dispatch::keymgmt::{Generation, Keymgmt, Selection},
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Export, Params},
    provider::Provider,
};

/// The variant of Ed25519 keys.
pub const ED25519: u8 = 0;
/// The variant of Ed448 keys.
pub const ED448: u8 = 1;

/// One state of an Ed25519 or Ed448 key.
#[derive(Clone)]
pub struct EdKey {
    curve: EdCurve,
    public: Option<Vec<u8>>,
    seed: Option<Secret>,
}

impl EdKey {
    /// The curve.
    pub fn curve(&self) -> EdCurve {
        self.curve
    }

    /// The public key.
    pub fn public(&self) -> Result<&[u8]> {
        self.public.as_deref().ok_or_else(|| Reason::MissingKey.into())
    }

    /// The seed, which is the private key.
    pub fn seed(&self) -> Result<&Secret> {
        self.seed.as_ref().ok_or_else(|| Reason::MissingKey.into())
    }

    /// The public key that belongs to the seed.
    fn derived(&self, provider: &Provider) -> Result<Vec<u8>> {
        let dst = Buf::zeroed(self.curve.key_len());
        let src = Buf::secret(self.seed()?.to_vec());
        Ok(provider.lanes.run(provider.eddsa(self.curve)?.public(src, dst))?.to_vec())
    }
}

const TYPES: [Param; 3] = [Param::octets(c"pub"), Param::octets(c"priv"), Param::END];

impl Keymgmt for EdKey {
    type Generation = EdGeneration;

    const GETTABLE: &'static [Param] = &[
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::text(c"mandatory-digest"),
        Param::octets(c"pub"),
        Param::octets(c"priv"),
        Param::END,
    ];

    fn new(variant: u8) -> EdKey {
        let curve = if variant == ED448 { EdCurve::Ed448 } else { EdCurve::Ed25519 };
        EdKey { curve, public: None, seed: None }
    }

    fn has(&self, selection: Selection) -> bool {
        (!selection.public() || self.public.is_some())
            && (!selection.private() || self.seed.is_some())
    }

    fn matches(&self, other: &EdKey, selection: Selection) -> bool {
        if self.curve != other.curve {
            return false;
        }
        if !selection.pair() {
            return true;
        }
        if selection.public()
            && let (Some(a), Some(b)) = (&self.public, &other.public)
        {
            return a == b;
        }
        match (&self.seed, &other.seed) {
            (Some(a), Some(b)) if selection.private() => is_same(a, b),
            _ => false,
        }
    }

    fn validate(&self, provider: &Provider, selection: Selection, _quick: bool) -> Result<()> {
        if selection.public() {
            self.public()?;
        }
        if selection.private() {
            self.seed()?;
        }
        if selection.public() && selection.private() && self.derived(provider)? != self.public()? {
            let what = "the halves of the key do not belong together";
            return Err(Error::new(Reason::InvalidKey, what));
        }
        Ok(())
    }

    fn types(_selection: Selection) -> &'static [Param] {
        &TYPES
    }

    fn import(&mut self, provider: &Provider, selection: Selection, from: Params) -> Result<()> {
        if !selection.pair() {
            return Ok(());
        }
        let len = self.curve.key_len();
        let part = |key| match from.octets(key)? {
            Some(bytes) if bytes.len() != len => Err(Error::from(Reason::InvalidLength).about(key)),
            bytes => Ok(bytes),
        };
        let public = part(c"pub")?.map(<[u8]>::to_vec);
        let seed = if selection.private() { part(c"priv")?.map(Secret::new) } else { None };
        if public.is_none() && seed.is_none() {
            return Err(Reason::MissingKey.into());
        }
        (self.public, self.seed) = (public, seed);
        let derived = self.seed.is_some().then(|| self.derived(provider)).transpose()?;
        match (derived, &self.public) {
            // Two signatures under two public keys would give the private one away.
            (Some(derived), Some(public)) if derived != *public => {
                let what = "the halves of the key do not belong together";
                return Err(Error::new(Reason::InvalidKey, what));
            }
            (Some(derived), None) => self.public = Some(derived),
            _ => {}
        }
        Ok(())
    }

    fn export(&self, _provider: &Provider, selection: Selection, to: &mut Export) -> Result<()> {
        if selection.pair()
            && let Some(public) = &self.public
        {
            to.octets(c"pub", public);
        }
        if selection.private()
            && let Some(seed) = &self.seed
        {
            to.octets(c"priv", seed);
        }
        Ok(())
    }

    fn select(&self, selection: Selection) -> EdKey {
        EdKey {
            curve: self.curve,
            public: self.public.clone().filter(|_| selection.public()),
            seed: self.seed.clone().filter(|_| selection.private()),
        }
    }

    fn answer(&self, _provider: &Provider, answers: &mut Answers) -> Result<()> {
        let (bits, strength) = match self.curve {
            EdCurve::Ed25519 => (256, 128),
            EdCurve::Ed448 => (456, 224),
        };
        answers.int(c"bits", bits)?;
        answers.int(c"security-bits", strength)?;
        answers.int(c"max-size", self.curve.signature_len() as i64)?;
        // Messages are signed as they are.
        answers.text(c"mandatory-digest", c"")?;
        if let Some(public) = &self.public {
            answers.octets(c"pub", public)?;
        }
        if let Some(seed) = &self.seed {
            answers.octets(c"priv", seed)?;
        }
        Ok(())
    }
}

/// The making of an Ed25519 or Ed448 key.
pub struct EdGeneration {
    variant: u8,
    selection: Selection,
}

impl Generation for EdGeneration {
    type Key = EdKey;

    const SETTABLE: &'static [Param] =
        &[Param::text(c"group"), Param::text(c"properties"), Param::END];

    fn new(_provider: &Arc<Provider>, variant: u8, selection: Selection) -> Result<EdGeneration> {
        Ok(EdGeneration { variant, selection })
    }

    fn template(&mut self, _key: &EdKey) -> Result<()> {
        Err(Error::new(Reason::InvalidParameter, "a key of this type has no parameters"))
    }

    fn set(&mut self, params: Params) -> Result<()> {
        // As the default provider, which knows groups for X25519 and X448 alone. No algorithm is
        // looked up that properties could choose.
        match params.find(c"group") {
            Some(_) => Err(Error::from(Reason::InvalidParameter).about(c"group")),
            None => Ok(()),
        }
    }

    fn run(&mut self, provider: &Provider) -> Result<EdKey> {
        let mut key = EdKey::new(self.variant);
        if !self.selection.pair() {
            return Ok(key);
        }
        let len = key.curve.key_len();
        let dst = Buf::secret(vec![0; 2 * len]);
        let made = provider.lanes.run(provider.eddsa(key.curve)?.generate(dst))?;
        if made.len() != 2 * len {
            return Err(Reason::DeviceFailed.into());
        }
        key.seed = Some(Secret::new(&made[..len]));
        key.public = Some(made[len..].to_vec());
        Ok(key)
    }
}
