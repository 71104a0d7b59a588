//! Operations whose items share their session's parameters.

use lookaside_core::{Detail, Nonce, Op, OpError, PointStep};
use lookaside_pke::{Item, dsa, ec, eddsa, kdf, prime, rsa, sm2, weierstrass, xdh};
use lookaside_simd::Cpu;

use super::{Ask, session::Session};

/// Runs items that ask for the same. `None` when the session has no such operation.
pub(super) fn run(cpu: &Cpu, op: Op, ask: &Ask<'_>, items: &mut [Item<'_>]) -> Option<()> {
    let nonce = match ask.detail {
        Detail::Nonce(nonce) => nonce,
        _ => Nonce::default(),
    };
    match (ask.session, op) {
        (Session::RsaGenerate(bits), Op::RsaGenerate) => {
            items.iter_mut().for_each(|item| rsa::generate_item(*bits, item));
        }
        (Session::DsaParameters { l, n }, Op::DsaParameters) => {
            items.iter_mut().for_each(|item| item.result = domain(*l, *n, item.dst));
        }
        (Session::Ec(c), Op::EcGenerate) => ec::generate(cpu, *c, items),
        (Session::Ec(c), Op::EcPublic) => ec::public(cpu, *c, items),
        (Session::Ec(c), Op::EcDerive) => {
            ec::derive(cpu, *c, ask.detail == Detail::Cofactor(true), items);
        }
        (Session::Ec(c), Op::EcSign) => ec::sign(cpu, *c, nonce, items),
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
                sm2::exchange(cpu, role, key_len, core::slice::from_mut(item));
            }
        }
        (Session::Sm2, Op::Sm2Identity) => {
            for item in items {
                item.result = identity(item.src, item.dst);
            }
        }
        (Session::Prime, Op::PrimeGenerate) => {
            let Detail::Prime { bits, safe } = ask.detail else { return None };
            for item in items {
                // Before the work, not after it.
                item.result = if item.dst.len() < (bits as usize).div_ceil(8) {
                    Err(OpError::DstTooSmall)
                } else {
                    prime::generate(bits as usize, safe).and_then(|p| put(&[&p], item.dst))
                };
            }
        }
        (Session::Prime, Op::PrimeCheck) => {
            for item in items {
                item.result = prime::is_prime(item.src)
                    .and_then(|prime| if prime { Ok(0) } else { Err(OpError::AuthFailed) });
            }
        }
        (Session::TlsPrf(prf), Op::TlsPrf) => {
            let Detail::TlsPrf { secret_len } = ask.detail else { return None };
            for item in items {
                let split = item.src.split_at_checked(secret_len as usize);
                item.result =
                    split.ok_or(OpError::BadInput("too short")).and_then(|(secret, seed)| {
                        prf.derive(secret, seed, item.dst).map(|()| item.dst.len())
                    });
            }
        }
        (Session::Hkdf(hash), Op::Hkdf) => {
            let Detail::Hkdf { mode, key_len, salt_len } = ask.detail else { return None };
            let hkdf = kdf::Hkdf { hash: *hash, mode };
            for item in items {
                let parts = item.src.split_at_checked(key_len as usize).and_then(|(key, rest)| {
                    rest.split_at_checked(salt_len as usize).map(|(salt, info)| (key, salt, info))
                });
                item.result =
                    parts.ok_or(OpError::BadInput("too short")).and_then(|(key, salt, info)| {
                        hkdf.derive(key, salt, info, item.dst).map(|()| item.dst.len())
                    });
            }
        }
        _ => return None,
    }
    Some(())
}

fn identity(src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    /// Bytes of a point.
    const POINT: usize = 65;
    let (point, id) = src.split_at_checked(POINT).ok_or(OpError::BadInput("too short"))?;
    let z = sm2::identity_digest(id, point)?;
    put(&[&z], dst)
}

/// Puts parts one after the other at the start of a destination.
fn put(parts: &[&[u8]], mut dst: &mut [u8]) -> Result<usize, OpError> {
    let mut len = 0;
    for part in parts {
        let (place, rest) = dst.split_at_mut_checked(part.len()).ok_or(OpError::DstTooSmall)?;
        place.copy_from_slice(part);
        len += part.len();
        dst = rest;
    }
    Ok(len)
}

fn domain(l: usize, n: usize, dst: &mut [u8]) -> Result<usize, OpError> {
    // Before the work, not after it.
    if dst.len() < 2 * l.div_ceil(8) + n.div_ceil(8) {
        return Err(OpError::DstTooSmall);
    }
    let made = dsa::Domain::generate(l, n)?;
    put(&[&made.p, &made.q, &made.g], dst)
}
