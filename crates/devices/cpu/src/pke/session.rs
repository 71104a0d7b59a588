//! Sessions as the service wants them.

use lookaside_core::{
    Curve, EdCurve, Hash, Kdf, NoFork, Pke, Prepared, SessionSpec, SetupError, XdhCurve, wipe_stack,
};
use lookaside_pke::{binary, dh, dsa, ec, eddsa, hash, kdf, modular, rsa, sm2, weierstrass, xdh};
use lookaside_simd::Cpu;

use super::LANES;
use crate::crypto;

/// Bytes of stack that are overwritten when a private key has been imported: less than the import takes,
/// since it may run on a job's small stack.
const IMPORT: usize = if cfg!(debug_assertions) { 16 << 10 } else { 4 << 10 };

/// What the service prepared for a session.
pub(crate) enum Session {
    RsaPrivate(Box<rsa::PrivateKey>),
    RsaPublic(rsa::PublicKey),
    RsaGenerate(usize),
    Dh(dh::Group),
    Dsa(dsa::Domain),
    DsaParameters {
        l: usize,
        n: usize,
    },
    Ec(Curve),
    Weierstrass(weierstrass::Group),
    Xdh(XdhCurve),
    Eddsa(EdCurve),
    Sm2,
    Modular(modular::Modulus),
    BinaryField(binary::Field),
    Prime,
    TlsPrf(kdf::TlsPrf),
    Hkdf(Hash),
    /// Another device's: no operation has it.
    Foreign,
}

pub(crate) fn prepare(spec: &SessionSpec, cpu: &Cpu) -> Result<Prepared, SetupError> {
    // Libraries are set up by their first session, under locks of theirs.
    let _no_fork = NoFork::begin();
    let op = spec.ops()[0];
    let refused = |e| crypto::refused(op, e);
    let lacking = |what| SetupError::Unsupported { device: "cpu".into(), op, what };
    let no_hash = || lacking("HMAC over this hash");
    let session = match spec {
        SessionSpec::Pke(pke) => match pke {
            Pke::RsaPrivate(key) | Pke::RsaPrivateBlinded(key) => {
                let crt = key.crt.as_ref().map(|c| rsa::Crt {
                    p: &c.p,
                    q: &c.q,
                    dp: &c.dp,
                    dq: &c.dq,
                    qinv: &c.qinv,
                });
                let parts = rsa::PrivateParts { n: &key.n, e: &key.e, d: &key.d, crt };
                let blinded = |secret: rsa::PrivateKey| match pke {
                    Pke::RsaPrivateBlinded(_) => secret.blinded(&key.e),
                    _ => Ok(secret),
                };
                let key = rsa::PrivateKey::new(&parts)
                    .and_then(blinded)
                    .map(|key| Session::RsaPrivate(key.into()));
                wipe_stack(IMPORT);
                key.map_err(refused)?
            }
            Pke::RsaPublic(key) => {
                rsa::PublicKey::new(&key.n, &key.e).map(Session::RsaPublic).map_err(refused)?
            }
            Pke::RsaGenerate { bits } => Session::RsaGenerate(*bits as usize),
            Pke::Dh(group) => dh::Group::new(&group.p, &group.g, group.q.as_deref())
                .map(Session::Dh)
                .map_err(refused)?,
            Pke::Dsa(d) => dsa::Domain::new(&d.p, &d.q, &d.g).map(Session::Dsa).map_err(refused)?,
            Pke::DsaParameters { l, n } => {
                Session::DsaParameters { l: *l as usize, n: *n as usize }
            }
            Pke::Ec(curve) => Session::Ec(*curve),
            Pke::Weierstrass(p) => {
                let field = match p.binary {
                    true => weierstrass::Field::Binary,
                    false => weierstrass::Field::Prime,
                };
                let params = weierstrass::Params {
                    field,
                    p: &p.p,
                    a: &p.a,
                    b: &p.b,
                    gx: &p.g.0,
                    gy: &p.g.1,
                    order: &p.order,
                    cofactor: &p.cofactor,
                };
                weierstrass::Group::new(&params).map(Session::Weierstrass).map_err(refused)?
            }
            Pke::Xdh(curve) => Session::Xdh(*curve),
            Pke::Eddsa(curve) => Session::Eddsa(*curve),
            Pke::Sm2 => Session::Sm2,
            Pke::Modular(n) => modular::Modulus::new(n).map(Session::Modular).map_err(refused)?,
            Pke::BinaryField(p) => {
                binary::Field::new(p).map(Session::BinaryField).map_err(refused)?
            }
            Pke::Prime => Session::Prime,
        },
        SessionSpec::Kdf(Kdf::TlsPrf(hash)) => {
            let prf = kdf::TlsPrf { hash: *hash };
            Some(Session::TlsPrf(prf)).filter(|_| prf.is_supported()).ok_or_else(no_hash)?
        }
        SessionSpec::Kdf(Kdf::Hkdf(hash)) => {
            Some(Session::Hkdf(*hash)).filter(|_| hash::has_hmac(*hash)).ok_or_else(no_hash)?
        }
        _ => return Err(lacking("this kind of session")),
    };
    let lanes = lanes(&session, cpu);
    Ok(Prepared::new(session).best_batch(lanes))
}

/// How many requests of the session are worth collecting: those that run side by side.
fn lanes(session: &Session, cpu: &Cpu) -> usize {
    let kernel = match session {
        Session::RsaPrivate(key) => key.has_kernel(cpu),
        Session::RsaPublic(key) => key.has_kernel(cpu),
        Session::Dh(group) => group.has_kernel(cpu),
        Session::Dsa(domain) => domain.has_kernel(cpu),
        Session::Modular(modulus) => modulus.has_kernel(cpu),
        Session::Ec(curve) => ec::has_kernel(cpu, *curve),
        Session::Xdh(_) => xdh::has_kernel(cpu),
        Session::Eddsa(curve) => eddsa::has_kernel(cpu, *curve),
        Session::Sm2 => sm2::has_kernel(cpu),
        Session::RsaGenerate(_)
        | Session::DsaParameters { .. }
        | Session::Weierstrass(_)
        | Session::BinaryField(_)
        | Session::Prime
        | Session::TlsPrf(_)
        | Session::Hkdf(_)
        | Session::Foreign => false,
    };
    if kernel { LANES } else { 1 }
}
