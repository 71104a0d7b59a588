//! Operations whose items each bring their own key or parameters: a batch may mix them.

use lookaside_core::{Arithmetic, Detail, Nonce, Op, OpError};
use lookaside_pke::{Item, binary, dh, dsa, modular, rsa};
use lookaside_simd::Cpu;

use super::{Ask, PerLane, session::Session};

/// Makes the service's own kind of item of each, runs them together, and brings the results back.
/// What `make` refuses is not run.
fn together<'a, 'i: 'a, K>(
    asks: &[Ask<'a>],
    items: &'a mut [Item<'i>],
    make: impl Fn(Ask<'a>, Item<'a>) -> Result<K, OpError>,
    run: impl FnOnce(&mut [K]),
    result: impl Fn(&K) -> Result<usize, OpError>,
) {
    let mut places: PerLane<&mut Result<usize, OpError>> = PerLane::new();
    let mut made: PerLane<K> = PerLane::new();
    for (&ask, item) in asks.iter().zip(items) {
        match make(ask, Item::new(item.src, item.dst)) {
            Ok(k) => {
                made.push(k);
                places.push(&mut item.result);
            }
            Err(e) => item.result = Err(e),
        }
    }
    run(&mut made);
    for (place, k) in places.into_iter().zip(&made) {
        *place = result(k);
    }
}

/// Runs the batch if the operation is one of these. Returns whether it is.
pub(super) fn run(cpu: &Cpu, op: Op, asks: &[Ask<'_>], items: &mut [Item<'_>]) -> bool {
    match op {
        Op::RsaPrivate => rsa_private(cpu, asks, items),
        Op::RsaPublic => rsa_public(cpu, asks, items),
        Op::DhGenerate => dh(asks, items, |items| dh::generate(cpu, items)),
        Op::DhPublic => dh(asks, items, |items| dh::public(cpu, items)),
        Op::DhDerive => dh(asks, items, |items| dh::derive(cpu, items)),
        Op::DsaGenerate => dsa(asks, items, |items| dsa::generate(cpu, items)),
        Op::DsaVerify => dsa(asks, items, |items| dsa::verify(cpu, items)),
        Op::DsaSign => dsa_sign(cpu, asks, items),
        Op::Modular => modular(cpu, asks, items),
        Op::BinaryField => binary(asks, items),
        _ => return false,
    }
    true
}

fn rsa_private(cpu: &Cpu, asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    together(
        asks,
        items,
        |ask, item| match (ask.session, ask.detail) {
            (Session::RsaPrivate(key), Detail::Rsa(scheme)) => {
                Ok(rsa::PrivateItem { key, scheme, item })
            }
            _ => Err(OpError::Unsupported),
        },
        |items| rsa::private(cpu, items),
        |k| k.item.result,
    );
}

fn rsa_public(cpu: &Cpu, asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    together(
        asks,
        items,
        |ask, item| {
            let (scheme, recover) = match ask.detail {
                Detail::Rsa(scheme) => (scheme, false),
                Detail::RsaRecover(scheme) => (scheme, true),
                _ => return Err(OpError::Unsupported),
            };
            let Session::RsaPublic(key) = ask.session else { return Err(OpError::Unsupported) };
            Ok(rsa::PublicItem { key, scheme, recover, item })
        },
        |items| rsa::public(cpu, items),
        |k| k.item.result,
    );
}

fn dh(asks: &[Ask<'_>], items: &mut [Item<'_>], run: impl FnOnce(&mut [dh::DhItem<'_>])) {
    together(
        asks,
        items,
        |ask, item| match ask.session {
            Session::Dh(group) => Ok(dh::DhItem { group, item }),
            _ => Err(OpError::Unsupported),
        },
        |items| run(items),
        |k| k.item.result,
    );
}

fn dsa(asks: &[Ask<'_>], items: &mut [Item<'_>], run: impl FnOnce(&mut [dsa::DomainItem<'_>])) {
    together(
        asks,
        items,
        |ask, item| match ask.session {
            Session::Dsa(domain) => Ok(dsa::DomainItem { domain, item }),
            _ => Err(OpError::Unsupported),
        },
        |items| run(items),
        |k| k.item.result,
    );
}

fn dsa_sign(cpu: &Cpu, asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    together(
        asks,
        items,
        |ask, item| {
            let Session::Dsa(domain) = ask.session else { return Err(OpError::Unsupported) };
            let nonce = match ask.detail {
                Detail::Nonce(nonce) => nonce,
                _ => Nonce::default(),
            };
            Ok(dsa::SignItem { domain, nonce, item })
        },
        |items| dsa::sign(cpu, items),
        |k| k.item.result,
    );
}

fn modular(cpu: &Cpu, asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    // Powers have a kernel and go together; the other steps are hardly worth a call.
    for (ask, item) in asks.iter().zip(items.iter_mut()) {
        let (Session::Modular(modulus), Detail::Arithmetic(step)) = (ask.session, ask.detail)
        else {
            continue;
        };
        if step == Arithmetic::Power {
            continue;
        }
        let mut one = [modular::ArithmeticItem { modulus, item: Item::new(item.src, item.dst) }];
        modular::arithmetic(step, &mut one);
        item.result = one[0].item.result;
    }
    let power = Detail::Arithmetic(Arithmetic::Power);
    let mut places: PerLane<&mut Result<usize, OpError>> = PerLane::new();
    let mut made: PerLane<modular::PowerItem<'_>> = PerLane::new();
    for (ask, item) in asks.iter().zip(items) {
        let Session::Modular(modulus) = ask.session else { continue };
        if ask.detail != power {
            continue;
        }
        match item.src.len().checked_sub(modulus.len()) {
            Some(exponent_len) => {
                let powered = Item::new(item.src, item.dst);
                made.push(modular::PowerItem { modulus, exponent_len, item: powered });
                places.push(&mut item.result);
            }
            None => item.result = Err(OpError::BadInput("too short")),
        }
    }
    modular::power(cpu, &mut made);
    for (place, p) in places.into_iter().zip(&made) {
        *place = p.item.result;
    }
}

fn binary(asks: &[Ask<'_>], items: &mut [Item<'_>]) {
    for (ask, item) in asks.iter().zip(items) {
        item.result = match (ask.session, ask.detail) {
            (Session::BinaryField(field), Detail::Arithmetic(step)) => {
                let item = Item::new(item.src, item.dst);
                let mut one = [binary::ArithmeticItem { field, item }];
                binary::arithmetic(step, &mut one);
                one[0].item.result
            }
            _ => Err(OpError::Unsupported),
        };
    }
}
