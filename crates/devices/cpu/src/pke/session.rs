//! Sessions as the service wants them, and which of its functions serves which operation.

use arrayvec::ArrayVec;
use lookaside_core::{
    Arithmetic, Detail, Kdf, Nonce, Op, Pke, PointStep, Prepared, RsaScheme, SessionSpec,
    SetupError,
};
use lookaside_pke::{
    Error, Item, binary, dh, dsa, ec, eddsa, hash::Hash, kdf, modular, prime, rsa, sm2, weierstrass,
    xdh,
};
use lookaside_simd::Cpu;

use super::{Ask, LANES, words};

/// What the service prepared for a session.
pub(crate) enum Session {
    RsaPrivate(rsa::PrivateKey),
    RsaPublic(rsa::PublicKey),
    RsaGenerate(usize),
    Dh(dh::Group),
    Dsa(dsa::Domain),
    DsaParameters { l: usize, n: usize },
    Ec(ec::Curve),
    Weierstrass(weierstrass::Group),
    Xdh(xdh::Curve),
    Eddsa(eddsa::Curve),
    Sm2,
    Modular(modular::Modulus),
    BinaryField(binary::Field),
    Prime,
    TlsPrf(kdf::TlsPrf),
    Hkdf(Hash),
}

impl Session {
    /// Whether requests of both can be given to the service together.
    pub(super) fn is_same(&self, other: &Session) -> bool {
        match (self, other) {
            // No key and no parameters: equal when they are of one class, as all in a batch are.
            (Session::Ec(a), Session::Ec(b)) => a == b,
            (Session::Xdh(a), Session::Xdh(b)) => a == b,
            (Session::Eddsa(a), Session::Eddsa(b)) => a == b,
            (Session::Sm2, Session::Sm2) | (Session::Prime, Session::Prime) => true,
            _ => core::ptr::eq(self, other),
        }
    }
}

pub(crate) fn prepare(spec: &SessionSpec, cpu: &Cpu) -> Result<Prepared, SetupError> {
    let op = spec.ops()[0];
    let refused = |e| words::setup_error(op, e);
    let lacking = |what| SetupError::Unsupported { device: "cpu".into(), op, what };
    let session = match spec {
        SessionSpec::Pke(pke) => match pke {
            Pke::RsaPrivate(key) => {
                let crt = key.crt.as_ref().map(|c| rsa::Crt {
                    p: &c.p,
                    q: &c.q,
                    dp: &c.dp,
                    dq: &c.dq,
                    qinv: &c.qinv,
                });
                let parts = rsa::PrivateParts { n: &key.n, e: &key.e, d: &key.d, crt };
                rsa::PrivateKey::new(&parts).map(Session::RsaPrivate).map_err(refused)?
            }
            Pke::RsaPublic(key) => {
                rsa::PublicKey::new(&key.n, &key.e).map(Session::RsaPublic).map_err(refused)?
            }
            Pke::RsaGenerate { bits } => Session::RsaGenerate(*bits as usize),
            Pke::Dh(group) => dh::Group::new(&group.p, &group.g, group.q.as_deref())
                .map(Session::Dh)
                .map_err(refused)?,
            Pke::Dsa(d) => {
                dsa::Domain::new(&d.p, &d.q, &d.g).map(Session::Dsa).map_err(refused)?
            }
            Pke::DsaParameters { l, n } => {
                Session::DsaParameters { l: *l as usize, n: *n as usize }
            }
            Pke::Ec(curve) => {
                Session::Ec(words::curve(*curve).ok_or_else(|| lacking("this curve"))?)
            }
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
            Pke::Xdh(curve) => Session::Xdh(words::xdh(*curve)),
            Pke::Eddsa(curve) => Session::Eddsa(words::eddsa(*curve)),
            Pke::Sm2 => Session::Sm2,
            Pke::Modular(n) => modular::Modulus::new(n).map(Session::Modular).map_err(refused)?,
            Pke::BinaryField(p) => {
                binary::Field::new(p).map(Session::BinaryField).map_err(refused)?
            }
            Pke::Prime => Session::Prime,
            _ => return Err(lacking("this kind of public-key session")),
        },
        SessionSpec::Kdf(Kdf::TlsPrf(lookaside_core::Hash::Md5Sha1)) => {
            Session::TlsPrf(kdf::TlsPrf { hash: None })
        }
        SessionSpec::Kdf(Kdf::TlsPrf(h)) => {
            let hash = words::hash(*h).ok_or_else(|| lacking("this hash"))?;
            Session::TlsPrf(kdf::TlsPrf { hash: Some(hash) })
        }
        SessionSpec::Kdf(Kdf::Hkdf(h)) => {
            Session::Hkdf(words::hash(*h).ok_or_else(|| lacking("this hash"))?)
        }
        _ => return Err(lacking("this kind of session")),
    };
    let lanes = lanes(&session, cpu);
    Ok(Prepared::new(session).best_batch(lanes))
}

/// How many requests of the session run side by side.
fn lanes(session: &Session, cpu: &Cpu) -> usize {
    let kernel = match session {
        Session::RsaPrivate(key) => key.has_kernel(cpu),
        Session::RsaPublic(key) => key.has_kernel(cpu),
        Session::Dh(group) => group.has_kernel(cpu),
        Session::Modular(n) => n.has_kernel(cpu),
        Session::Ec(curve) => curve.has_kernel(cpu),
        Session::Xdh(curve) => curve.has_kernel(cpu),
        Session::Eddsa(curve) => curve.has_kernel(cpu),
        Session::Sm2 => sm2::has_kernel(cpu),
        Session::Dsa(domain) => domain.has_kernel(cpu),
        _ => false,
    };
    if kernel { LANES } else { 1 }
}

/// A type of the service's that has one key for each item.
type Keyed<T> = ArrayVec<T, LANES>;

/// An item that borrows the memory of another.
fn reborrow<'a>(item: &'a mut Item<'_>) -> Item<'a> {
    Item::new(item.src, item.dst)
}

pub(super) fn rsa_private(cpu: &Cpu, asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    let mut results: Keyed<Result<usize, Error>> = ArrayVec::new();
    let mut keyed: Keyed<(usize, rsa::PrivateItem<'_>)> = ArrayVec::new();
    for (i, (ask, item)) in asks.iter().zip(items.iter_mut()).enumerate() {
        results.push(Err(Error::Unsupported("this scheme")));
        let Detail::Rsa(scheme) = ask.detail else { continue };
        let (Session::RsaPrivate(key), Some(scheme)) = (ask.session, words::scheme(scheme)) else {
            continue;
        };
        keyed.push((i, rsa::PrivateItem { key, scheme, item: reborrow(item) }));
    }
    let (places, mut keyed): (Keyed<usize>, Keyed<_>) = keyed.into_iter().unzip();
    rsa::private(cpu, &mut keyed);
    for (i, k) in places.into_iter().zip(keyed) {
        results[i] = k.item.result;
    }
    items.iter_mut().zip(results).for_each(|(item, result)| item.result = result);
}

pub(super) fn rsa_public(cpu: &Cpu, asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    let mut results: Keyed<Result<usize, Error>> = ArrayVec::new();
    let mut keyed: Keyed<(usize, rsa::PublicItem<'_>)> = ArrayVec::new();
    for (i, (ask, item)) in asks.iter().zip(items.iter_mut()).enumerate() {
        results.push(Err(Error::Unsupported("this scheme")));
        let (scheme, recover): (RsaScheme, bool) = match ask.detail {
            Detail::Rsa(scheme) => (scheme, false),
            Detail::RsaRecover(scheme) => (scheme, true),
            _ => continue,
        };
        let (Session::RsaPublic(key), Some(scheme)) = (ask.session, words::scheme(scheme)) else {
            continue;
        };
        keyed.push((i, rsa::PublicItem { key, scheme, recover, item: reborrow(item) }));
    }
    let (places, mut keyed): (Keyed<usize>, Keyed<_>) = keyed.into_iter().unzip();
    rsa::public(cpu, &mut keyed);
    for (i, k) in places.into_iter().zip(keyed) {
        results[i] = k.item.result;
    }
    items.iter_mut().zip(results).for_each(|(item, result)| item.result = result);
}

pub(super) fn modular(cpu: &Cpu, asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    let mut results: Keyed<Result<usize, Error>> = ArrayVec::new();
    let mut powers: Keyed<(usize, modular::PowerItem<'_>)> = ArrayVec::new();
    for (i, (ask, item)) in asks.iter().zip(items.iter_mut()).enumerate() {
        results.push(Err(Error::Unsupported("this arithmetic")));
        let (Session::Modular(modulus), Detail::Arithmetic(step)) = (ask.session, ask.detail)
        else {
            continue;
        };
        if step == Arithmetic::Power {
            match item.src.len().checked_sub(modulus.len()) {
                Some(exponent_len) => {
                    let item = reborrow(item);
                    powers.push((i, modular::PowerItem { modulus, exponent_len, item }));
                }
                None => results[i] = Err(Error::BadInput("too short")),
            }
        } else if let Some(step) = words::modular(step) {
            let mut one = [modular::ArithmeticItem { modulus, item: reborrow(item) }];
            modular::arithmetic(step, &mut one);
            results[i] = one[0].item.result;
        }
    }
    let (places, mut powers): (Keyed<usize>, Keyed<_>) = powers.into_iter().unzip();
    modular::power(cpu, &mut powers);
    for (i, p) in places.into_iter().zip(powers) {
        results[i] = p.item.result;
    }
    items.iter_mut().zip(results).for_each(|(item, result)| item.result = result);
}

/// Runs items that ask for the same. `None` when the session has no such operation.
pub(super) fn run(cpu: &Cpu, op: Op, ask: &Ask<'_>, items: &mut [Item<'_>]) -> Option<()> {
    let nonce = match ask.detail {
        Detail::Nonce(nonce) => words::nonce(nonce),
        _ => words::nonce(Nonce::default()),
    };
    match (ask.session, op) {
        (Session::RsaGenerate(bits), Op::RsaGenerate) => {
            items.iter_mut().for_each(|item| rsa::generate_item(*bits, item));
        }
        (Session::Dh(g), Op::DhGenerate) => dh::generate(cpu, g, items),
        (Session::Dh(g), Op::DhPublic) => dh::public(cpu, g, items),
        (Session::Dh(g), Op::DhDerive) => dh::derive(cpu, g, items),
        (Session::Dsa(d), Op::DsaGenerate) => dsa::generate(cpu, d, items),
        (Session::Dsa(d), Op::DsaSign) => dsa::sign(cpu, d, nonce?, items),
        (Session::Dsa(d), Op::DsaVerify) => dsa::verify(cpu, d, items),
        (Session::DsaParameters { l, n }, Op::DsaParameters) => {
            items.iter_mut().for_each(|item| dsa::generate_domain_item(*l, *n, item));
        }
        (Session::Ec(c), Op::EcGenerate) => ec::generate(cpu, *c, items),
        (Session::Ec(c), Op::EcPublic) => ec::public(cpu, *c, items),
        (Session::Ec(c), Op::EcDerive) => {
            ec::derive(cpu, *c, ask.detail == Detail::Cofactor(true), items);
        }
        (Session::Ec(c), Op::EcSign) => ec::sign(cpu, *c, nonce?, items),
        (Session::Ec(c), Op::EcVerify) => ec::verify(cpu, *c, items),
        (Session::Weierstrass(g), Op::Point) => match ask.detail {
            Detail::Point(PointStep::Multiply) => weierstrass::multiply(cpu, g, items),
            Detail::Point(PointStep::MultiplyGenerator) => {
                weierstrass::generator_multiply(cpu, g, items);
            }
            Detail::Point(PointStep::Add) => weierstrass::add(cpu, g, items),
            Detail::Point(PointStep::Double) => weierstrass::double(cpu, g, items),
            Detail::Point(PointStep::Verify) => weierstrass::on_curve(cpu, g, items),
            _ => return None,
        },
        (Session::Xdh(c), Op::XdhGenerate) => xdh::generate(cpu, *c, items),
        (Session::Xdh(c), Op::XdhPublic) => xdh::public(cpu, *c, items),
        (Session::Xdh(c), Op::XdhDerive) => xdh::derive(cpu, *c, items),
        (Session::Eddsa(c), Op::EdGenerate) => eddsa::generate(cpu, *c, items),
        (Session::Eddsa(c), Op::EdPublic) => eddsa::public(cpu, *c, items),
        (Session::Eddsa(c), Op::EdSign) => eddsa::sign(cpu, *c, eddsa::Mode::Pure, items),
        (Session::Eddsa(c), Op::EdVerify) => eddsa::verify(cpu, *c, eddsa::Mode::Pure, items),
        (Session::Sm2, Op::Sm2Generate) => sm2::generate(cpu, items),
        (Session::Sm2, Op::Sm2Public) => sm2::public(cpu, items),
        (Session::Sm2, Op::Sm2Sign) => sm2::sign(cpu, items),
        (Session::Sm2, Op::Sm2Verify) => sm2::verify(cpu, items),
        (Session::Sm2, Op::Sm2Encrypt) => sm2::encrypt(cpu, sm2::Form::Der, items),
        (Session::Sm2, Op::Sm2Decrypt) => sm2::decrypt(cpu, sm2::Form::Der, items),
        (Session::Sm2, Op::Sm2Exchange) => {
            let Detail::Sm2Exchange(role) = ask.detail else { return None };
            // Each has its own destination, which says how long its key is.
            for item in items {
                let key_len = item.dst.len().saturating_sub(64);
                sm2::exchange(cpu, words::role(role), key_len, core::slice::from_mut(item));
            }
        }
        (Session::Sm2, Op::Sm2Identity) => {
            for item in items {
                item.result = identity(item.src, item.dst);
            }
        }
        (Session::BinaryField(f), Op::BinaryField) => {
            let Detail::Arithmetic(step) = ask.detail else { return None };
            binary::arithmetic(f, words::binary(step)?, items);
        }
        (Session::Prime, Op::PrimeGenerate) => {
            let Detail::Prime { bits, safe } = ask.detail else { return None };
            for item in items {
                item.result = prime::generate(bits as usize, safe).and_then(|p| {
                    item.dst.get_mut(..p.len()).ok_or(Error::DstTooSmall)?.copy_from_slice(&p);
                    Ok(p.len())
                });
            }
        }
        (Session::Prime, Op::PrimeCheck) => {
            for item in items {
                item.result = prime::is_prime(item.src)
                    .and_then(|prime| if prime { Ok(0) } else { Err(Error::AuthFailed) });
            }
        }
        (Session::TlsPrf(prf), Op::TlsPrf) => {
            let Detail::TlsPrf { secret_len } = ask.detail else { return None };
            for item in items {
                let split = item.src.split_at_checked(secret_len as usize);
                item.result = split.ok_or(Error::BadInput("too short")).and_then(|(secret, seed)| {
                    prf.derive(secret, seed, item.dst).map(|()| item.dst.len())
                });
            }
        }
        (Session::Hkdf(hash), Op::Hkdf) => {
            let Detail::Hkdf { mode, key_len, salt_len } = ask.detail else { return None };
            let hkdf = kdf::Hkdf { hash: *hash, mode: words::hkdf_mode(mode) };
            for item in items {
                let parts = item.src.split_at_checked(key_len as usize).and_then(|(key, rest)| {
                    rest.split_at_checked(salt_len as usize).map(|(salt, info)| (key, salt, info))
                });
                item.result =
                    parts.ok_or(Error::BadInput("too short")).and_then(|(key, salt, info)| {
                        hkdf.derive(key, salt, info, item.dst).map(|()| item.dst.len())
                    });
            }
        }
        _ => return None,
    }
    Some(())
}

fn identity(src: &[u8], dst: &mut [u8]) -> Result<usize, Error> {
    /// Bytes of a point.
    const POINT: usize = 65;
    let (point, id) = src.split_at_checked(POINT).ok_or(Error::BadInput("too short"))?;
    let z = sm2::identity_digest(id, point)?;
    dst.get_mut(..z.len()).ok_or(Error::DstTooSmall)?.copy_from_slice(&z);
    Ok(z.len())
}
