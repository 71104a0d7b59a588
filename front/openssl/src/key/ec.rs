//! Keys on named elliptic curves, for ECDSA and ECDH.

use core::ffi::{CStr, c_int};
use std::sync::Arc;

use lookaside::{Buf, Curve, Secret};
use zeroize::Zeroizing;

use super::{
    group::{self, Format},
    other::{OtherGeneration, OtherKey},
};
use crate::{
    der,
    dispatch::keymgmt::{Generation, Keymgmt, Selection},
    error::{Error, Reason, Result},
    ffi::{OP_KEYEXCH, OP_SIGNATURE, Param},
    param::{Answers, Export, Params},
    provider::Provider,
};

/// One state of a key.
#[derive(Clone)]
pub struct EcKey {
    curve: Option<Curve>,
    /// 04, X, Y.
    public: Option<Vec<u8>>,
    /// As long as the order.
    private: Option<Secret>,
    format: Format,
    /// Whether ECDH multiplies by the cofactor unless it is told otherwise.
    cofactor: bool,
    /// Whether an encoded private key has the public one in it.
    include_public: bool,
    /// The key, where Lookaside has not its curve; all else here is empty then.
    other: Option<Arc<OtherKey>>,
}

impl EcKey {
    /// The key as another provider has it, where Lookaside has not its curve.
    pub fn other(&self) -> Option<&Arc<OtherKey>> {
        self.other.as_ref()
    }

    /// The key as another provider has it, even if it is ours.
    pub fn as_other(&self, provider: &Provider) -> Result<Arc<OtherKey>> {
        if let Some(other) = &self.other {
            return Ok(other.clone());
        }
        let mut parts = Export::default();
        let selection = self.selection();
        self.parts(selection, &mut parts)?;
        let other =
            parts.lend_params(|params| OtherKey::import(provider, c"EC", selection, params));
        other.map(Arc::new)
    }

    fn of_other(other: OtherKey) -> EcKey {
        EcKey { other: Some(Arc::new(other)), ..EcKey::new(0) }
    }

    /// The parts that are there.
    fn selection(&self) -> Selection {
        Selection::of(self.private.is_some(), self.public.is_some(), true, true)
    }

    /// Whether there is a private key.
    pub fn check_private(&self) -> Result<()> {
        let has = match &self.other {
            Some(other) => other.has(c"priv"),
            None => self.private.is_some(),
        };
        if has { Ok(()) } else { Err(Reason::MissingKey.into()) }
    }

    /// Whether there is a public key.
    pub fn check_public(&self) -> Result<()> {
        let has = match &self.other {
            Some(other) => other.has(c"pub"),
            None => self.public.is_some(),
        };
        if has { Ok(()) } else { Err(Reason::MissingKey.into()) }
    }

    /// The curve.
    pub fn curve(&self) -> Result<Curve> {
        self.curve.ok_or_else(|| Error::new(Reason::MissingKey, "the key has no curve"))
    }

    /// The point (04, X, Y).
    pub fn public(&self) -> Result<&[u8]> {
        self.public.as_deref().ok_or_else(|| Reason::MissingKey.into())
    }

    /// The private key, as long as the order.
    pub fn private(&self) -> Result<&Secret> {
        self.private.as_ref().ok_or_else(|| Reason::MissingKey.into())
    }

    /// Whether ECDH multiplies by the cofactor unless it is told otherwise.
    pub fn cofactor(&self) -> bool {
        self.cofactor
    }

    /// Takes what describes a key rather than is it.
    fn set_flags(&mut self, params: Params) -> Result<()> {
        if let Some(mode) = params.int(c"use-cofactor-flag")? {
            self.cofactor = mode != 0;
        }
        if let Some(name) = params.text(c"point-format")? {
            self.format = Format::find(name)?;
        }
        if let Some(include) = params.int(c"include-public")? {
            self.include_public = include != 0;
        }
        Ok(())
    }

    /// Adds the selected parts of a key of ours.
    fn parts(&self, selection: Selection, to: &mut Export) -> Result<()> {
        let curve = self.curve()?;
        // Without its curve, a key means nothing.
        to.text(c"group", group::name(curve));
        to.text(c"encoding", c"named_curve");
        to.text(c"point-format", self.format.name());
        if selection.public()
            && let Some(point) = &self.public
        {
            to.octets(c"pub", &group::write_point(curve, point, self.format)?);
        }
        if selection.private()
            && let Some(private) = &self.private
        {
            to.number(c"priv", private);
        }
        if selection.other() {
            to.int(c"use-cofactor-flag", c_int::from(self.cofactor));
            to.int(c"include-public", c_int::from(self.include_public));
        }
        Ok(())
    }
}

/// Whether parameters are of a key that another provider is to have: on a curve that Lookaside has
/// not, or one that is written as numbers.
fn is_others(params: Params) -> Result<bool> {
    if matches!(params.text(c"encoding")?, Some(encoding) if encoding != "named_curve") {
        return Ok(true);
    }
    match params.text(c"group")? {
        Some(name) => Ok(group::curve(name).is_err()),
        None => Ok(params.find(c"p").is_some()),
    }
}

/// The curve that parameters name, if they have any.
fn curve(params: Params) -> Result<Option<Curve>> {
    params.text(c"group")?.map(group::curve).transpose()
}

/// Bits of security of a curve (NIST SP 800-57 part 1, table 2).
fn security_bits(curve: Curve) -> u32 {
    match group::bits(curve) {
        512.. => 256,
        384.. => 192,
        256.. => 128,
        224.. => 112,
        160.. => 80,
        bits => bits / 2,
    }
}

static TYPES: &[Param] = &[
    Param::text(c"group"),
    Param::text(c"encoding"),
    Param::text(c"point-format"),
    Param::octets(c"pub"),
    Param::number(c"priv"),
    Param::int(c"use-cofactor-flag"),
    Param::int(c"include-public"),
    Param::END,
];

impl Keymgmt for EcKey {
    type Generation = EcGeneration;

    const GETTABLE: &'static [Param] = &[
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::text(c"default-digest"),
        Param::octets(c"encoded-pub-key"),
        Param::int(c"decoded-from-explicit"),
        Param::text(c"group"),
        Param::text(c"encoding"),
        Param::text(c"point-format"),
        Param::octets(c"pub"),
        Param::number(c"qx"),
        Param::number(c"qy"),
        Param::number(c"priv"),
        Param::int(c"use-cofactor-flag"),
        Param::int(c"include-public"),
        Param::END,
    ];

    const SETTABLE: &'static [Param] = &[
        Param::int(c"use-cofactor-flag"),
        Param::octets(c"encoded-pub-key"),
        Param::text(c"encoding"),
        Param::text(c"point-format"),
        Param::int(c"include-public"),
        Param::END,
    ];

    fn new(_variant: u8) -> EcKey {
        EcKey {
            curve: None,
            public: None,
            private: None,
            format: Format::Uncompressed,
            cofactor: false,
            include_public: true,
            other: None,
        }
    }

    fn has(&self, selection: Selection) -> bool {
        if self.other.is_some() {
            return (!selection.public() || self.check_public().is_ok())
                && (!selection.private() || self.check_private().is_ok());
        }
        (!selection.public() || self.public.is_some())
            && (!selection.private() || self.private.is_some())
            && (!selection.domain() || self.curve.is_some())
    }

    fn matches(&self, other: &EcKey, selection: Selection) -> bool {
        let like = |ours: &EcKey, theirs: &OtherKey| {
            let mut parts = Export::default();
            ours.parts(ours.selection(), &mut parts).ok()?;
            theirs.sibling(ours.selection(), &mut parts).ok()
        };
        match (&self.other, &other.other) {
            (None, None) => {}
            (Some(a), Some(b)) => return a.matches(b, selection),
            (Some(a), None) => return like(other, a).is_some_and(|b| a.matches(&b, selection)),
            (None, Some(b)) => return like(self, b).is_some_and(|a| a.matches(b, selection)),
        }
        if selection.domain() && self.curve != other.curve {
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
        match (&self.private, &other.private) {
            (Some(a), Some(b)) => {
                selection.private() && a.iter().zip(b.iter()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
            }
            _ => false,
        }
    }

    fn validate(&self, provider: &Provider, selection: Selection, quick: bool) -> Result<()> {
        if let Some(other) = &self.other {
            return other.validate(selection, quick);
        }
        // A key without a curve is none, whatever is asked; that a point is on the curve was seen
        // when it came in.
        let curve = self.curve()?;
        if selection.public() {
            let point = self.public()?;
            if !quick {
                group::in_group(curve, point)?;
            }
        }
        if selection.private() {
            // Whether the private key is in range and has the public one.
            let src = Buf::secret(self.private()?.to_vec());
            let request = provider.ec(curve)?.public(src, Buf::zeroed(curve.point_len()));
            let point = provider.lanes.run_at_once(request)?;
            if self.public.as_deref().is_some_and(|public| *public != *point) {
                return Err(Error::new(Reason::InvalidKey, "the halves of the pair differ"));
            }
        }
        Ok(())
    }

    fn types(_selection: Selection) -> &'static [Param] {
        TYPES
    }

    fn import(&mut self, provider: &Provider, selection: Selection, from: Params) -> Result<()> {
        if is_others(from)? {
            *self = EcKey::of_other(OtherKey::import(provider, c"EC", selection, from)?);
            return Ok(());
        }
        if let Some(curve) = curve(from)? {
            self.curve = Some(curve);
        }
        let curve = self.curve()?;
        if let Some(name) = from.text(c"point-format")? {
            self.format = Format::find(name)?;
        }
        if selection.other() {
            if let Some(mode) = from.int(c"use-cofactor-flag")? {
                self.cofactor = mode != 0;
            }
            if let Some(include) = from.int(c"include-public")? {
                self.include_public = include != 0;
            }
        }
        if !selection.pair() {
            return Ok(());
        }
        if let Some(point) = from.octets(c"pub")? {
            self.public = Some(group::read_point(curve, point)?);
        }
        if selection.private()
            && let Some(number) = from.number(c"priv")?
        {
            let number = Zeroizing::new(number);
            let len = curve.order_len();
            if number.is_empty() || number.len() > len {
                return Err(Error::new(Reason::InvalidKey, "the private key is out of range"));
            }
            let mut private = vec![0; len];
            private[len - number.len()..].copy_from_slice(&number);
            self.private = Some(private.into());
        }
        if self.public.is_none() && self.private.is_none() {
            return Err(Reason::MissingKey.into());
        }
        Ok(())
    }

    fn export(&self, _provider: &Provider, selection: Selection, to: &mut Export) -> Result<()> {
        match &self.other {
            Some(other) => other.export(selection, to),
            None => self.parts(selection, to),
        }
    }

    fn select(&self, selection: Selection) -> EcKey {
        if let Some(other) = &self.other {
            if selection.public() && selection.private() {
                return self.clone();
            }
            return other.select(selection).map_or(EcKey::new(0), EcKey::of_other);
        }
        let mut copy = self.clone();
        if !selection.domain() && !selection.pair() {
            copy.curve = None;
        }
        if !selection.public() {
            copy.public = None;
        }
        if !selection.private() {
            copy.private = None;
        }
        copy
    }

    fn answer(&self, _provider: &Provider, answers: &mut Answers) -> Result<()> {
        if let Some(other) = &self.other {
            return other.answer(answers);
        }
        answers.text(c"default-digest", c"SHA256")?;
        answers.int(c"decoded-from-explicit", 0)?;
        answers.int(c"use-cofactor-flag", i64::from(self.cofactor))?;
        answers.int(c"include-public", i64::from(self.include_public))?;
        answers.text(c"point-format", self.format.name())?;
        let Some(curve) = self.curve else { return Ok(()) };
        answers.int(c"bits", i64::from(group::bits(curve)))?;
        answers.int(c"security-bits", i64::from(security_bits(curve)))?;
        answers.int(c"max-size", der::signature_len(group::bits(curve) as usize) as i64)?;
        answers.text(c"group", group::name(curve))?;
        answers.text(c"encoding", c"named_curve")?;
        if let Some(point) = &self.public {
            // What goes to a peer (TLS key shares) is uncompressed, whatever the key's format.
            answers.octets(c"encoded-pub-key", point)?;
            if answers.wants(c"pub") {
                answers.octets(c"pub", &group::write_point(curve, point, self.format)?)?;
            }
            let (x, y) = point[1..].split_at(curve.field_len());
            answers.number(c"qx", x)?;
            answers.number(c"qy", y)?;
        }
        if let Some(private) = &self.private {
            answers.number(c"priv", private)?;
        }
        Ok(())
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        if self.other.is_some() || is_others(params)? {
            *self = EcKey::of_other(self.as_other(provider)?.changed(params)?);
            return Ok(());
        }
        self.set_flags(params)?;
        if let Some(point) = params.octets(c"encoded-pub-key")? {
            self.public = Some(group::read_point(self.curve()?, point)?);
        }
        Ok(())
    }

    fn operation_name(_variant: u8, operation: c_int) -> Option<&'static CStr> {
        match operation {
            OP_SIGNATURE => Some(c"ECDSA"),
            OP_KEYEXCH => Some(c"ECDH"),
            _ => None,
        }
    }
}

/// The making of a key.
pub struct EcGeneration {
    provider: Arc<Provider>,
    selection: Selection,
    key: EcKey,
    /// All that was set.
    settings: Export,
    /// Where the key will be another provider's.
    other: Option<OtherGeneration>,
}

impl EcGeneration {
    fn go_elsewhere(&mut self) -> Result<()> {
        let template = self.key.other.as_deref();
        let (selection, settings) = (self.selection, &mut self.settings);
        let other = OtherGeneration::start(&self.provider, c"EC", template, selection, settings)?;
        self.other = Some(other);
        Ok(())
    }
}

impl Generation for EcGeneration {
    type Key = EcKey;

    const SETTABLE: &'static [Param] = &[
        Param::text(c"group"),
        Param::int(c"use-cofactor-flag"),
        Param::text(c"encoding"),
        Param::text(c"point-format"),
        Param::text(c"field-type"),
        Param::number(c"p"),
        Param::number(c"a"),
        Param::number(c"b"),
        Param::octets(c"generator"),
        Param::number(c"order"),
        Param::number(c"cofactor"),
        Param::octets(c"seed"),
        Param::END,
    ];

    fn new(provider: &Arc<Provider>, variant: u8, selection: Selection) -> Result<EcGeneration> {
        let (provider, key) = (provider.clone(), EcKey::new(variant));
        Ok(EcGeneration { provider, selection, key, settings: Export::default(), other: None })
    }

    fn template(&mut self, key: &EcKey) -> Result<()> {
        self.key = EcKey { public: None, private: None, ..key.clone() };
        if self.key.other.is_some() {
            return self.go_elsewhere();
        }
        self.key.curve().map(|_| ())
    }

    fn set(&mut self, params: Params) -> Result<()> {
        if let Some(other) = &mut self.other {
            return other.set(params);
        }
        if is_others(params)? {
            if let Some(curve) = self.key.curve {
                self.settings.text(c"group", group::name(curve));
            }
            self.settings.copy(params);
            return self.go_elsewhere();
        }
        self.settings.copy(params);
        if let Some(curve) = curve(params)? {
            self.key.curve = Some(curve);
        }
        self.key.set_flags(params)
    }

    fn run(&mut self, provider: &Provider) -> Result<EcKey> {
        if let Some(other) = &mut self.other {
            return other.run().map(EcKey::of_other);
        }
        let mut key = self.key.clone();
        let curve = key.curve()?;
        if self.selection.pair() {
            let (o, p) = (curve.order_len(), curve.point_len());
            let dst = Buf::secret(vec![0; o + p]);
            let pair = provider.lanes.run(provider.ec(curve)?.generate(dst))?;
            let (private, public) = pair
                .split_at_checked(o)
                .filter(|(_, q)| q.len() == p)
                .ok_or(Reason::DeviceFailed)?;
            key.private = Some(Secret::new(private));
            key.public = Some(public.to_vec());
        }
        Ok(key)
    }
}
