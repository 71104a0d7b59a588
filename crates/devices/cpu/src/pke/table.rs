//! From an operation to the service's function for a batch of it.

use lookaside_core::{
    Arithmetic, Curve, Detail, EdCurve, Nonce, Op, OpError, PointStep, RsaScheme, Sm2Role, XdhCurve,
};
use lookaside_pke::eddsa::{self, Mode};
use lookaside_pke::sm2::{self, Form};
use lookaside_pke::{
    Engine, Item, binary, dh, dsa, ec, kdf, modular, prime, rsa, weierstrass, xdh,
};

use super::{Ask, PerLane, session::Session};

/// A request as the service's item. Its key is what it asks for.
pub(super) type Asked<'a> = Item<'a, Ask<'a>>;

/// Runs items of one operation. A call of the service takes those that have the same `S`; of each,
/// it gets a `K`.
fn batch<'a, S: PartialEq, K>(
    items: &mut [Asked<'a>],
    of: impl Fn(Ask<'a>) -> Option<(S, K)>,
    mut call: impl FnMut(S, &mut [Item<'_, K>]),
) {
    let shared = |item: &Asked<'a>| of(item.key).map(|(shared, _)| shared);
    for group in items.chunk_by_mut(|one, two| shared(one) == shared(two)) {
        let Some(shared) = shared(&group[0]) else {
            group.iter_mut().for_each(|item| item.result = Err(OpError::Unsupported));
            continue;
        };
        let mut run: PerLane<Item<'_, K>> = PerLane::new();
        let mut results: PerLane<&mut Result<usize, OpError>> = PerLane::new();
        for Item { key, src, dst, result } in group {
            let Some((_, key)) = of(*key) else { continue };
            run.push(Item::new(src, dst).with(key));
            results.push(result);
        }
        call(shared, &mut run);
        for (result, item) in results.iter_mut().zip(&run) {
            **result = item.result;
        }
    }
}

/// Runs items of one operation: how its items become calls, and the function that is called.
pub(super) fn run(engine: &mut Engine, op: Op, items: &mut [Asked<'_>]) {
    let cpu = engine.cpu();
    match op {
        Op::RsaPrivate => batch(items, rsa_private, |(), items| rsa::private(engine, items)),
        Op::RsaPublic => batch(items, rsa_public, |(), items| rsa::public(engine, items)),
        Op::RsaGenerate => batch(items, rsa_bits, |(), items| rsa::generate_batch(items)),
        Op::DhGenerate => batch(items, group, |(), items| dh::generate(engine, items)),
        Op::DhPublic => batch(items, group, |(), items| dh::public(engine, items)),
        Op::DhDerive => batch(items, group, |(), items| dh::derive(engine, items)),
        Op::DsaParameters => batch(items, dsa_bits, |(), items| dsa::parameters(items)),
        Op::DsaGenerate => batch(items, domain, |(), items| dsa::generate(engine, items)),
        Op::DsaSign => batch(items, domain_and_nonce, |(), items| dsa::sign(engine, items)),
        Op::DsaVerify => batch(items, domain, |(), items| dsa::verify(engine, items)),
        Op::EcGenerate => batch(items, curve, |(c, _), items| ec::generate(cpu, c, items)),
        Op::EcPublic => batch(items, curve, |(c, _), items| ec::public(cpu, c, items)),
        Op::EcDerive => batch(items, curve, |(c, detail), items| match detail {
            Detail::Point(PointStep::Multiply) => ec::multiply(cpu, c, items),
            _ => ec::derive(cpu, c, detail == Detail::Cofactor(true), items),
        }),
        Op::EcSign => {
            batch(items, curve, |(c, detail), items| ec::sign(cpu, c, nonce(detail), items));
        }
        Op::EcVerify => batch(items, curve, |(c, _), items| ec::verify(cpu, c, items)),
        Op::Point => batch(items, point, |(), items| weierstrass::arithmetic(items)),
        Op::XdhGenerate => batch(items, xdh_curve, |c, items| xdh::generate(cpu, c, items)),
        Op::XdhPublic => batch(items, xdh_curve, |c, items| xdh::public(cpu, c, items)),
        Op::XdhDerive => batch(items, xdh_curve, |c, items| xdh::derive(cpu, c, items)),
        Op::EdGenerate => batch(items, ed_curve, |c, items| eddsa::generate(cpu, c, items)),
        Op::EdPublic => batch(items, ed_curve, |c, items| eddsa::public(cpu, c, items)),
        Op::EdSign => batch(items, ed_curve, |c, items| eddsa::sign(cpu, c, Mode::Pure, items)),
        Op::EdVerify => batch(items, ed_curve, |c, items| eddsa::verify(cpu, c, Mode::Pure, items)),
        Op::Sm2Generate => batch(items, sm2_alone, |(), items| sm2::generate(cpu, items)),
        Op::Sm2Public => batch(items, sm2_alone, |(), items| sm2::public(cpu, items)),
        Op::Sm2Sign => batch(items, sm2_nonce, |nonce, items| sm2::sign_with(cpu, nonce, items)),
        Op::Sm2Verify => batch(items, sm2_alone, |(), items| sm2::verify(cpu, items)),
        Op::Sm2Encrypt => batch(items, sm2_alone, |(), items| sm2::encrypt(cpu, Form::Der, items)),
        Op::Sm2Decrypt => batch(items, sm2_alone, |(), items| sm2::decrypt(cpu, Form::Der, items)),
        Op::Sm2Exchange => batch(items, sm2_role, |(), items| sm2::exchange(items)),
        Op::Sm2Identity => batch(items, sm2_alone, |(), items| sm2::identity(items)),
        Op::Modular => batch(items, modulus, |(), items| modular::arithmetic(engine, items)),
        Op::BinaryField => batch(items, field, |(), items| binary::arithmetic(items)),
        Op::PrimeGenerate => batch(items, prime_bits, |(), items| prime::generate(items)),
        Op::PrimeCheck => batch(items, prime_alone, |(), items| prime::check(items)),
        Op::TlsPrf => batch(items, tls_prf, |(), items| kdf::tls_prf(items)),
        Op::Hkdf => batch(items, hkdf, |(), items| kdf::hkdf(items)),
        _ => items.iter_mut().for_each(|item| item.result = Err(OpError::Unsupported)),
    }
}

// What items of an operation ask for: what those of a call share, and what each has.

fn rsa_private<'a>(ask: Ask<'a>) -> Option<((), (&'a rsa::PrivateKey, RsaScheme))> {
    match (ask.session, ask.detail) {
        (Session::RsaPrivate(key), Detail::Rsa(scheme)) => Some(((), (key, scheme))),
        _ => None,
    }
}

fn rsa_public<'a>(ask: Ask<'a>) -> Option<((), (&'a rsa::PublicKey, RsaScheme, bool))> {
    match (ask.session, ask.detail) {
        (Session::RsaPublic(key), Detail::Rsa(scheme)) => Some(((), (key, scheme, false))),
        (Session::RsaPublic(key), Detail::RsaRecover(scheme)) => Some(((), (key, scheme, true))),
        _ => None,
    }
}

fn rsa_bits(ask: Ask<'_>) -> Option<((), usize)> {
    if let Session::RsaGenerate(bits) = ask.session { Some(((), *bits)) } else { None }
}

fn group<'a>(ask: Ask<'a>) -> Option<((), &'a dh::Group)> {
    if let Session::Dh(group) = ask.session { Some(((), group)) } else { None }
}

fn dsa_bits(ask: Ask<'_>) -> Option<((), (usize, usize))> {
    if let Session::DsaParameters { l, n } = ask.session { Some(((), (*l, *n))) } else { None }
}

fn domain<'a>(ask: Ask<'a>) -> Option<((), &'a dsa::Domain)> {
    if let Session::Dsa(domain) = ask.session { Some(((), domain)) } else { None }
}

fn domain_and_nonce<'a>(ask: Ask<'a>) -> Option<((), (&'a dsa::Domain, Nonce))> {
    domain(ask).map(|((), domain)| ((), (domain, nonce(ask.detail))))
}

fn nonce(detail: Detail) -> Nonce {
    if let Detail::Nonce(nonce) = detail { nonce } else { Nonce::default() }
}

fn curve(ask: Ask<'_>) -> Option<((Curve, Detail), ())> {
    if let Session::Ec(curve) = ask.session { Some(((*curve, ask.detail), ())) } else { None }
}

fn point<'a>(ask: Ask<'a>) -> Option<((), (&'a weierstrass::Group, PointStep))> {
    match (ask.session, ask.detail) {
        (Session::Weierstrass(group), Detail::Point(step)) => Some(((), (group, step))),
        _ => None,
    }
}

fn xdh_curve(ask: Ask<'_>) -> Option<(XdhCurve, ())> {
    if let Session::Xdh(curve) = ask.session { Some((*curve, ())) } else { None }
}

fn ed_curve(ask: Ask<'_>) -> Option<(EdCurve, ())> {
    if let Session::Eddsa(curve) = ask.session { Some((*curve, ())) } else { None }
}

fn sm2_alone(ask: Ask<'_>) -> Option<((), ())> {
    matches!(ask.session, Session::Sm2).then_some(((), ()))
}

fn sm2_nonce(ask: Ask<'_>) -> Option<(Nonce, ())> {
    matches!(ask.session, Session::Sm2).then_some((nonce(ask.detail), ()))
}

fn sm2_role(ask: Ask<'_>) -> Option<((), Sm2Role)> {
    match (ask.session, ask.detail) {
        (Session::Sm2, Detail::Sm2Exchange(role)) => Some(((), role)),
        _ => None,
    }
}

fn modulus<'a>(ask: Ask<'a>) -> Option<((), (&'a modular::Modulus, Arithmetic))> {
    match (ask.session, ask.detail) {
        (Session::Modular(modulus), Detail::Arithmetic(step)) => Some(((), (modulus, step))),
        _ => None,
    }
}

fn field<'a>(ask: Ask<'a>) -> Option<((), (&'a binary::Field, Arithmetic))> {
    match (ask.session, ask.detail) {
        (Session::BinaryField(field), Detail::Arithmetic(step)) => Some(((), (field, step))),
        _ => None,
    }
}

fn prime_alone(ask: Ask<'_>) -> Option<((), ())> {
    matches!(ask.session, Session::Prime).then_some(((), ()))
}

fn prime_bits(ask: Ask<'_>) -> Option<((), (usize, bool))> {
    match (ask.session, ask.detail) {
        (Session::Prime, Detail::Prime { bits, safe }) => Some(((), (bits as usize, safe))),
        _ => None,
    }
}

fn tls_prf(ask: Ask<'_>) -> Option<((), (kdf::TlsPrf, usize))> {
    match (ask.session, ask.detail) {
        (Session::TlsPrf(prf), Detail::TlsPrf { secret_len }) => {
            Some(((), (*prf, secret_len as usize)))
        }
        _ => None,
    }
}

fn hkdf(ask: Ask<'_>) -> Option<((), (kdf::Hkdf, usize, usize))> {
    match (ask.session, ask.detail) {
        (Session::Hkdf(hash), Detail::Hkdf { mode, key_len, salt_len }) => {
            let hkdf = kdf::Hkdf { hash: *hash, mode };
            Some(((), (hkdf, key_len as usize, salt_len as usize)))
        }
        _ => None,
    }
}
