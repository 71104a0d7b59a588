//! SM2 keys (GB/T 32918, GB/T 35276).

use core::ffi::CStr;

use std::sync::Arc;

use lookaside::{Arithmetic, Buf, Secret};

use super::ffc::{is_below, is_same, padded};
use crate::{
    dispatch::keymgmt::{Generation, Keymgmt, Selection},
    error::{Error, Reason, Result},
    ffi::Param,
    param::{Answers, Export, Params},
    provider::Provider,
};

/// Bytes of a coordinate, a private key, a digest and each half of a signature.
pub const LEN: usize = 32;
/// Bytes of a point: 04, X, Y.
pub const POINT: usize = 1 + 2 * LEN;

const fn number(words: [u64; 4]) -> [u8; LEN] {
    let mut out = [0; LEN];
    let mut i = 0;
    while i < LEN {
        out[i] = (words[i / 8] >> (56 - 8 * (i % 8))) as u8;
        i += 1;
    }
    out
}

/// The curve of GB/T 32918.5: y^2 = x^3 + a x + b modulo p, with points of order n.
const P: [u8; LEN] =
    number([0xffff_fffe_ffff_ffff, !0, 0xffff_ffff_0000_0000, 0xffff_ffff_ffff_ffff]);
/// a = p - 3.
pub const A: [u8; LEN] =
    number([0xffff_fffe_ffff_ffff, !0, 0xffff_ffff_0000_0000, 0xffff_ffff_ffff_fffc]);
/// b.
pub const B: [u8; LEN] = number([
    0x28e9_fa9e_9d9f_5e34,
    0x4d5a_9e4b_cf65_09a7,
    0xf397_89f5_15ab_8f92,
    0xddbc_bd41_4d94_0e93,
]);
const N: [u8; LEN] =
    number([0xffff_fffe_ffff_ffff, !0, 0x7203_df6b_21c6_052b, 0x53bb_f409_39d5_4123]);
/// The generator's coordinates.
pub const G: [[u8; LEN]; 2] = [
    number([
        0x32c4_ae2c_1f19_8119,
        0x5f99_0446_6a39_c994,
        0x8fe3_0bbf_f266_0be1,
        0x715a_4589_334c_74c7,
    ]),
    number([
        0xbc37_36a2_f4f6_779c,
        0x59bd_cee3_6b69_2153,
        0xd0a9_877c_c62a_4740,
        0x02df_32e5_2139_f0a0,
    ]),
];

/// The generator as a point.
fn generator() -> Vec<u8> {
    [&[4][..], &G[0], &G[1]].concat()
}

/// One state of an SM2 key.
#[derive(Clone)]
pub struct Sm2Key {
    /// 04, X, Y.
    public: Option<Vec<u8>>,
    private: Option<Secret>,
}

impl Sm2Key {
    /// The point: 04, X, Y.
    pub fn public(&self) -> Result<&[u8]> {
        self.public.as_deref().ok_or_else(|| Reason::MissingKey.into())
    }

    /// The private key, 32 bytes.
    pub fn private(&self) -> Result<&Secret> {
        self.private.as_ref().ok_or_else(|| Reason::MissingKey.into())
    }
}

/// x^3 + a x + b for a coordinate below p.
fn right_side(provider: &Provider, x: &[u8]) -> Result<Vec<u8>> {
    let m = provider.prepare(|runtime| runtime.modular(&P))?;
    let run = |step, parts: &[&[u8]]| -> Result<Vec<u8>> {
        let request = m.arithmetic(step, parts.concat().into(), Buf::zeroed(LEN));
        Ok(provider.lanes.run(request)?.to_vec())
    };
    let sum = run(Arithmetic::Add, &[&run(Arithmetic::Square, &[x])?, &A])?;
    run(Arithmetic::Add, &[&run(Arithmetic::Multiply, &[&sum, x])?, &B])
}

/// A point in any of the forms of SEC 1 section 2.3.3, as 04, X, Y. It is on the curve.
fn open_point(provider: &Provider, point: &[u8]) -> Result<Vec<u8>> {
    let invalid = || Error::new(Reason::InvalidKey, "no point of the curve");
    let (&form, coordinates) = point.split_first().ok_or_else(invalid)?;
    let (x, y) = match (form, coordinates.len()) {
        (2 | 3, LEN) => (coordinates, None),
        (4 | 6 | 7, len) if len == 2 * LEN => {
            let (x, y) = coordinates.split_at(LEN);
            (x, Some(y))
        }
        _ => return Err(invalid()),
    };
    if x >= &P[..] || y.is_some_and(|y| y >= &P[..]) {
        return Err(invalid());
    }
    let m = provider.prepare(|runtime| runtime.modular(&P))?;
    let run = |step, parts: &[&[u8]]| -> Result<Vec<u8>> {
        let request = m.arithmetic(step, parts.concat().into(), Buf::zeroed(LEN));
        Ok(provider.lanes.run(request)?.to_vec())
    };
    let right = right_side(provider, x)?;
    let mut y = match y {
        Some(y) => y.to_vec(),
        // p = 3 mod 4: a square's root is its (p + 1) / 4th power.
        None => {
            let exponent = number([
                0x3fff_ffff_bfff_ffff,
                0xffff_ffff_ffff_ffff,
                0xffff_ffff_c000_0000,
                0x4000_0000_0000_0000,
            ]);
            run(Arithmetic::Power, &[&right, &exponent])?
        }
    };
    if run(Arithmetic::Square, &[&y])? != right {
        return Err(invalid());
    }
    let odd = |y: &[u8]| y[LEN - 1] & 1 == form & 1;
    if form < 4 && !odd(&y) {
        y = run(Arithmetic::Subtract, &[&[0; LEN], &y])?;
    }
    if form != 4 && !odd(&y) {
        return Err(invalid());
    }
    Ok([&[4][..], x, &y].concat())
}

/// Refuses parameters that name or describe another curve.
fn check_curve(params: Params) -> Result<()> {
    let other = |key: &CStr| Err(Error::new(Reason::UnsupportedKey, "not SM2's curve").about(key));
    if let Some(name) = params.text(c"group")? {
        let names = ["SM2", "1.2.156.10197.1.301"];
        return match names.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            true => Ok(()),
            false => other(c"group"),
        };
    }
    if params.text(c"field-type")?.is_some_and(|name| name != "prime-field") {
        return other(c"field-type");
    }
    for (key, own) in [(c"p", &P), (c"a", &A), (c"b", &B), (c"order", &N)] {
        if params.number(key)?.is_some_and(|number| number != super::ffc::stripped(own)) {
            return other(key);
        }
    }
    match params.octets(c"generator")? {
        Some(point) if point != generator() => other(c"generator"),
        _ => Ok(()),
    }
}

macro_rules! curve_rows {
    ($($before:expr,)*) => {
        [
            $($before,)*
            Param::text(c"group"),
            Param::text(c"encoding"),
            Param::text(c"point-format"),
            Param::text(c"field-type"),
            Param::number(c"p"),
            Param::number(c"a"),
            Param::number(c"b"),
            Param::octets(c"generator"),
            Param::number(c"order"),
            Param::number(c"cofactor"),
            Param::octets(c"pub"),
            Param::number(c"priv"),
            Param::END,
        ]
    };
}

static TYPES: &[Param] = &curve_rows! {};

impl Keymgmt for Sm2Key {
    type Generation = Sm2Generation;

    const GETTABLE: &'static [Param] = &curve_rows! {
        Param::int(c"bits"),
        Param::int(c"security-bits"),
        Param::int(c"max-size"),
        Param::text(c"default-digest"),
        Param::octets(c"encoded-pub-key"),
        Param::int(c"decoded-from-explicit"),
        Param::number(c"qx"),
        Param::number(c"qy"),
    };
    const SETTABLE: &'static [Param] = &[Param::octets(c"encoded-pub-key"), Param::END];

    fn new(_variant: u8) -> Sm2Key {
        Sm2Key { public: None, private: None }
    }

    fn has(&self, selection: Selection) -> bool {
        (!selection.public() || self.public.is_some())
            && (!selection.private() || self.private.is_some())
    }

    fn matches(&self, other: &Sm2Key, selection: Selection) -> bool {
        if !selection.pair() {
            return true;
        }
        if selection.public()
            && let (Some(a), Some(b)) = (&self.public, &other.public)
        {
            return a == b;
        }
        match (&self.private, &other.private) {
            (Some(a), Some(b)) if selection.private() => is_same(a, b),
            _ => false,
        }
    }

    fn validate(&self, provider: &Provider, selection: Selection, _quick: bool) -> Result<()> {
        let invalid = |what| Err(Error::new(Reason::InvalidKey, what));
        if selection.public() {
            open_point(provider, self.public()?)?;
        }
        if !selection.private() {
            return Ok(());
        }
        let private = self.private()?;
        let mut most = N;
        // n is odd: this is n - 1, which is no private key either.
        most[LEN - 1] &= 0xfe;
        if !is_below(private, &most) {
            return invalid("the private key is not from 1 to n - 2");
        }
        if !selection.public() {
            return Ok(());
        }
        let src = Buf::secret(private.to_vec());
        let public = provider.lanes.run(provider.sm2()?.public(src, Buf::zeroed(POINT)))?;
        match *public == *self.public()? {
            true => Ok(()),
            false => invalid("the halves of the key do not belong together"),
        }
    }

    fn types(_selection: Selection) -> &'static [Param] {
        TYPES
    }

    fn import(&mut self, provider: &Provider, selection: Selection, from: Params) -> Result<()> {
        check_curve(from)?;
        if !selection.pair() {
            return Ok(());
        }
        if let Some(point) = from.octets(c"pub")? {
            self.public = Some(open_point(provider, point)?);
        }
        if selection.private()
            && let Some(number) = from.number(c"priv")?
        {
            let private = padded(&Secret::from(number), LEN).ok_or(Reason::InvalidKey)?;
            self.private = Some(private.into());
        }
        Ok(())
    }

    fn export(&self, _provider: &Provider, selection: Selection, to: &mut Export) -> Result<()> {
        if selection.domain() {
            to.text(c"group", c"SM2");
            to.text(c"encoding", c"named_curve");
            to.text(c"point-format", c"uncompressed");
        }
        if selection.pair()
            && let Some(public) = &self.public
        {
            to.octets(c"pub", public);
        }
        if selection.private()
            && let Some(private) = &self.private
        {
            to.number(c"priv", private);
        }
        Ok(())
    }

    fn select(&self, selection: Selection) -> Sm2Key {
        Sm2Key {
            public: self.public.clone().filter(|_| selection.public()),
            private: self.private.clone().filter(|_| selection.private()),
        }
    }

    fn answer(&self, _provider: &Provider, answers: &mut Answers) -> Result<()> {
        answers.int(c"bits", 256)?;
        answers.int(c"security-bits", 128)?;
        answers.int(c"max-size", crate::der::signature_len(8 * LEN) as i64)?;
        answers.text(c"default-digest", c"SM3")?;
        answers.text(c"group", c"SM2")?;
        answers.text(c"encoding", c"named_curve")?;
        answers.text(c"point-format", c"uncompressed")?;
        answers.text(c"field-type", c"prime-field")?;
        answers.int(c"decoded-from-explicit", 0)?;
        answers.number(c"p", &P)?;
        answers.number(c"a", &A)?;
        answers.number(c"b", &B)?;
        answers.number(c"order", &N)?;
        answers.number(c"cofactor", &[1])?;
        if answers.wants(c"generator") {
            answers.octets(c"generator", &generator())?;
        }
        if let Some(public) = &self.public {
            answers.octets(c"encoded-pub-key", public)?;
            answers.octets(c"pub", public)?;
            answers.number(c"qx", &public[1..=LEN])?;
            answers.number(c"qy", &public[1 + LEN..])?;
        }
        match &self.private {
            Some(private) => answers.number(c"priv", private),
            None => Ok(()),
        }
    }

    fn set(&mut self, provider: &Provider, params: Params) -> Result<()> {
        if let Some(point) = params.octets(c"encoded-pub-key")? {
            self.public = Some(open_point(provider, point)?);
        }
        Ok(())
    }
}

/// The making of an SM2 key.
pub struct Sm2Generation {
    selection: Selection,
}

impl Generation for Sm2Generation {
    type Key = Sm2Key;

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
        Param::END,
    ];

    fn new(_provider: &Arc<Provider>, _variant: u8, selection: Selection) -> Result<Sm2Generation> {
        Ok(Sm2Generation { selection })
    }

    fn template(&mut self, _key: &Sm2Key) -> Result<()> {
        // All keys have the same parameters.
        Ok(())
    }

    fn set(&mut self, params: Params) -> Result<()> {
        check_curve(params)?;
        // The cofactor is 1: `use-cofactor-flag` says nothing.
        for (key, only) in [(c"encoding", "named_curve"), (c"point-format", "uncompressed")] {
            if params.text(key)?.is_some_and(|value| value != only) {
                return Err(Error::from(Reason::NotSupported).about(key));
            }
        }
        Ok(())
    }

    fn run(&mut self, provider: &Provider) -> Result<Sm2Key> {
        let mut key = Sm2Key::new(0);
        if !self.selection.pair() {
            return Ok(key);
        }
        let dst = Buf::secret(vec![0; LEN + POINT]);
        let made = provider.lanes.run(provider.sm2()?.generate(dst))?;
        if made.len() != LEN + POINT {
            return Err(Reason::DeviceFailed.into());
        }
        key.private = Some(Secret::new(&made[..LEN]));
        key.public = Some(made[LEN..].to_vec());
        Ok(key)
    }
}
