//! Sessions of public-key cryptography as bytes.

use std::sync::Arc;

use lookaside_core::{
    Curve, DhGroup, DsaDomain, EdCurve, Pke, RsaCrt, RsaPrivateKey, RsaPublicKey, Secret,
    WeierstrassParams, XdhCurve,
};

use crate::{
    Malformed,
    bytes::{Reader, Writer},
    numbers,
};

pub(crate) fn encode(to: &mut Writer, pke: &Pke) -> Result<(), Malformed> {
    match pke {
        Pke::RsaPrivate(key) => {
            to.u8(0)?;
            private(to, key)
        }
        Pke::RsaPrivateBlinded(key) => {
            to.u8(1)?;
            private(to, key)
        }
        Pke::RsaPublic(key) => {
            to.u8(2)?;
            to.bytes(&key.n)?;
            to.bytes(&key.e)
        }
        Pke::RsaGenerate { bits } => {
            to.u8(3)?;
            to.u32(*bits)
        }
        Pke::Dh(group) => {
            to.u8(4)?;
            to.bytes(&group.p)?;
            to.bytes(&group.g)?;
            to.optional(group.q.as_deref())
        }
        Pke::Dsa(domain) => {
            to.u8(5)?;
            to.bytes(&domain.p)?;
            to.bytes(&domain.q)?;
            to.bytes(&domain.g)
        }
        Pke::DsaParameters { l, n } => {
            to.u8(6)?;
            to.u32(*l)?;
            to.u32(*n)
        }
        Pke::Ec(curve) => to.raw(&[7, numbers::of(&Curve::ALL, curve)?]),
        Pke::Weierstrass(curve) => {
            to.u8(8)?;
            let numbers = [&curve.p, &curve.a, &curve.b, &curve.g.0, &curve.g.1];
            for number in numbers.into_iter().chain([&curve.order, &curve.cofactor]) {
                to.bytes(number)?;
            }
            to.u8(curve.binary.into())
        }
        Pke::Xdh(curve) => to.raw(&[9, numbers::of(&XdhCurve::ALL, curve)?]),
        Pke::Eddsa(curve) => to.raw(&[10, numbers::of(&EdCurve::ALL, curve)?]),
        Pke::Sm2 => to.u8(11),
        Pke::Modular(number) => {
            to.u8(12)?;
            to.bytes(number)
        }
        Pke::BinaryField(polynomial) => {
            to.u8(13)?;
            to.bytes(polynomial)
        }
        Pke::Prime => to.u8(14),
    }
}

fn private(to: &mut Writer, key: &RsaPrivateKey) -> Result<(), Malformed> {
    to.bytes(&key.n)?;
    to.bytes(&key.e)?;
    to.bytes(&key.d)?;
    to.u8(key.crt.is_some().into())?;
    if let Some(RsaCrt { p, q, dp, dq, qinv }) = &key.crt {
        for part in [p, q, dp, dq, qinv] {
            to.bytes(part)?;
        }
    }
    Ok(())
}

pub(crate) fn decode(from: &mut Reader<'_>) -> Result<Pke, Malformed> {
    let number = |from: &mut Reader<'_>| from.bytes().map(<[u8]>::to_vec);
    Ok(match from.u8()? {
        0 => Pke::RsaPrivate(get_private(from)?),
        1 => Pke::RsaPrivateBlinded(get_private(from)?),
        2 => Pke::RsaPublic(Arc::new(RsaPublicKey { n: number(from)?, e: number(from)? })),
        3 => Pke::RsaGenerate { bits: from.u32()? },
        4 => Pke::Dh(Arc::new(DhGroup {
            p: number(from)?,
            g: number(from)?,
            q: from.optional()?.map(<[u8]>::to_vec),
        })),
        5 => Pke::Dsa(Arc::new(DsaDomain { p: number(from)?, q: number(from)?, g: number(from)? })),
        6 => Pke::DsaParameters { l: from.u32()?, n: from.u32()? },
        7 => Pke::Ec(numbers::get(&Curve::ALL, from.u8()?, "curve")?),
        8 => Pke::Weierstrass(Arc::new(WeierstrassParams {
            p: number(from)?,
            a: number(from)?,
            b: number(from)?,
            g: (number(from)?, number(from)?),
            order: number(from)?,
            cofactor: number(from)?,
            binary: from.bool()?,
        })),
        9 => Pke::Xdh(numbers::get(&XdhCurve::ALL, from.u8()?, "curve")?),
        10 => Pke::Eddsa(numbers::get(&EdCurve::ALL, from.u8()?, "curve")?),
        11 => Pke::Sm2,
        12 => Pke::Modular(from.bytes()?.into()),
        13 => Pke::BinaryField(from.bytes()?.into()),
        14 => Pke::Prime,
        _ => return Err(Malformed::Number("public-key session")),
    })
}

fn get_private(from: &mut Reader<'_>) -> Result<Arc<RsaPrivateKey>, Malformed> {
    let part = |from: &mut Reader<'_>| from.bytes().map(Secret::new);
    Ok(Arc::new(RsaPrivateKey {
        n: from.bytes()?.to_vec(),
        e: from.bytes()?.to_vec(),
        d: part(from)?,
        crt: match from.bool()? {
            false => None,
            true => Some(RsaCrt {
                p: part(from)?,
                q: part(from)?,
                dp: part(from)?,
                dq: part(from)?,
                qinv: part(from)?,
            }),
        },
    }))
}
