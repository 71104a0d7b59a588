//! X25519 and X448 keys.

use std::sync::Arc;

use lookaside::{Buf, Secret, XdhCurve};

use crate::{
    dispatch::keymgmt::{Generation, Keymgmt, Selection},
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Export, Params},
    provider::Provider,
};

/// The variant of X25519 keys.
pub const X25519: u8 = 0;
/// The variant of X448 keys.
pub const X448: u8 = 1;

/// One state of a key.
#[derive(Clone)]
pub struct XdhKey {
    curve: XdhCurve,
    public: Option<Vec<u8>>,
    private: Option<Secret>,
}

impl XdhKey {
    /// The curve.
    pub fn curve(&self) -> XdhCurve {
        self.curve
    }

    /// The public key.
    pub fn public(&self) -> Result<&[u8]> {
        self.public.as_deref().ok_or_else(|| Reason::MissingKey.into())
    }

    /// The private key.
    pub fn private(&self) -> Result<&Secret> {
        self.private.as_ref().ok_or_else(|| Reason::MissingKey.into())
    }

    fn checked<'a>(&self, bytes: &'a [u8]) -> Result<&'a [u8]> {
        if bytes.len() == self.curve.key_len() {
            return Ok(bytes);
        }
        Err(Error::new(Reason::InvalidKey, "a key of the wrong length"))
    }

    /// The public key of the private one.
    fn derive_public(&self, provider: &Provider) -> Result<Vec<u8>> {
        let src = Buf::secret(self.private()?.to_vec());
        let dst = Buf::zeroed(self.curve.key_len());
        let request = provider.xdh(self.curve)?.public(src, dst);
        Ok(provider.lanes.run_at_once(request)?.to_vec())
    }
}

impl Keymgmt for XdhKey {
    type Generation = XdhGeneration;

    const GETTABLE: &'static [Param] = &[
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::octets(c"encoded-pub-key"),
        Param::octets(c"pub"),
        Param::octets(c"priv"),
        Param::END,
    ];

    const SETTABLE: &'static [Param] = &[Param::octets(c"encoded-pub-key"), Param::END];

    fn new(variant: u8) -> XdhKey {
        let curve = if variant == X448 { XdhCurve::X448 } else { XdhCurve::X25519 };
        XdhKey { curve, public: None, private: None }
    }

    fn has(&self, selection: Selection) -> bool {
        (!selection.public() || self.public.is_some())
            && (!selection.private() || self.private.is_some())
    }

    fn matches(&self, other: &XdhKey, selection: Selection) -> bool {
        // Every key has its public half: it is made when it does not come along.
        self.curve == other.curve
            && (!selection.pair() || self.public.is_some() && self.public == other.public)
    }

    fn validate(&self, provider: &Provider, selection: Selection, _quick: bool) -> Result<()> {
        // All strings of the right length are keys.
        if selection.public() {
            self.public()?;
        }
        if selection.private() {
            self.private()?;
        }
        if selection.private() && selection.public() {
            let public = self.derive_public(provider)?;
            if self.public()? != public {
                return Err(Error::new(Reason::InvalidKey, "the halves of the pair differ"));
            }
        }
        Ok(())
    }

    fn types(_selection: Selection) -> &'static [Param] {
        const { &[Param::octets(c"pub"), Param::octets(c"priv"), Param::END] }
    }

    fn import(&mut self, provider: &Provider, selection: Selection, from: Params) -> Result<()> {
        if let Some(bytes) = from.octets(c"pub")? {
            self.public = Some(self.checked(bytes)?.to_vec());
        }
        if selection.private()
            && let Some(bytes) = from.octets(c"priv")?
        {
            self.private = Some(Secret::new(self.checked(bytes)?));
        }
        if self.public.is_none() {
            self.public = Some(self.derive_public(provider)?);
        }
        Ok(())
    }

    fn export(&self, _provider: &Provider, selection: Selection, to: &mut Export) -> Result<()> {
        if !selection.pair() {
            return Err(Reason::InvalidParameter.into());
        }
        if let Some(public) = &self.public {
            to.octets(c"pub", public);
        }
        if selection.private()
            && let Some(private) = &self.private
        {
            to.octets(c"priv", private);
        }
        Ok(())
    }

    fn select(&self, selection: Selection) -> XdhKey {
        let public = self.public.clone().filter(|_| selection.public());
        let private = self.private.clone().filter(|_| selection.private());
        XdhKey { public, private, curve: self.curve }
    }

    fn answer(&self, _provider: &Provider, answers: &mut Answers) -> Result<()> {
        let (bits, security) = match self.curve {
            XdhCurve::X25519 => (253, 128),
            XdhCurve::X448 => (448, 224),
        };
        answers.int(c"bits", bits)?;
        answers.int(c"security-bits", security)?;
        answers.int(c"max-size", self.curve.key_len() as i64)?;
        if let Some(public) = &self.public {
            answers.octets(c"pub", public)?;
            answers.octets(c"encoded-pub-key", public)?;
        }
        if let Some(private) = &self.private {
            answers.octets(c"priv", private)?;
        }
        Ok(())
    }

    fn set(&mut self, _provider: &Provider, params: Params) -> Result<()> {
        if let Some(bytes) = params.octets(c"encoded-pub-key")? {
            self.public = Some(self.checked(bytes)?.to_vec());
            // It is a peer's now.
            self.private = None;
        }
        Ok(())
    }
}

/// The making of a key.
pub struct XdhGeneration {
    variant: u8,
    selection: Selection,
}

impl Generation for XdhGeneration {
    type Key = XdhKey;

    const SETTABLE: &'static [Param] =
        &[Param::text(c"group"), Param::text(c"properties"), Param::END];

    fn new(_provider: &Arc<Provider>, variant: u8, selection: Selection) -> Result<XdhGeneration> {
        Ok(XdhGeneration { variant, selection })
    }

    fn template(&mut self, key: &XdhKey) -> Result<()> {
        if key.curve == XdhKey::new(self.variant).curve {
            return Ok(());
        }
        Err(Reason::DifferentParameters.into())
    }

    fn set(&mut self, params: Params) -> Result<()> {
        // TLS names the group whatever the type.
        let own = if self.variant == X448 { "x448" } else { "x25519" };
        match params.text(c"group")? {
            Some(name) if !name.eq_ignore_ascii_case(own) => {
                Err(Error::new(Reason::InvalidParameter, format!("the group {name}")))
            }
            _ => Ok(()),
        }
    }

    fn run(&mut self, provider: &Provider) -> Result<XdhKey> {
        let mut key = XdhKey::new(self.variant);
        if self.selection.pair() {
            let len = key.curve.key_len();
            let dst = Buf::secret(vec![0; 2 * len]);
            let pair = provider.lanes.run(provider.xdh(key.curve)?.generate(dst))?;
            let (private, public) = pair
                .split_at_checked(len)
                .filter(|(_, q)| q.len() == len)
                .ok_or(Reason::DeviceFailed)?;
            key.private = Some(Secret::new(private));
            key.public = Some(public.to_vec());
        }
        Ok(key)
    }
}
