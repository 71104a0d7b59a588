//! Public-key requests: what is asked of the card, and what of its answers is believed.
//!
//! The card raises to private exponents, signs with a nonce of ours, multiplies points. Paddings, nonces and all checks are
//! the service's. A power is raised to the public exponent and compared before it leaves, a product has to be on the curve;
//! a signature is verified where software verifies ([`Verify`]).

mod curves;
mod flight;

use std::sync::Arc;

use lookaside_core::{
    Curve, Detail, Done, Nonce, Op, OpError, Pke as Spec, RsaCrt, RsaPrivateKey, RsaScheme, Secret,
    Status, Work, wipe_stack,
};
use lookaside_pke::{Engine, Item, ec, rsa};
use lookaside_quickassist::*;
use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use self::{
    curves::Parameters,
    flight::{Ask, Flight},
};
use crate::{
    Verify,
    card::Card,
    crypto::{CyLent, Kind, Traits},
    port::Unit,
};

/// Bytes of stack that are overwritten when a private key has been imported.
const IMPORT: usize = if cfg!(debug_assertions) { 16 << 10 } else { 4 << 10 };

/// The longest modulus, in bytes, and the shortest.
const MODULUS: core::ops::RangeInclusive<usize> = 128..=1024;

/// How many requests of one kind at once keep a card busy.
pub(crate) const BATCH: usize = 8;

/// What a session of the runtime's is for this device.
pub(crate) enum Plan {
    Rsa(Box<RsaPlan>),
    Ec(Curve),
}

/// An RSA key of two primes of one length.
pub(crate) struct RsaPlan {
    key: rsa::PrivateKey,
    public: rsa::PublicKey,
    /// p, q, d mod p - 1, d mod q - 1, 1/q mod p, each half as long as the modulus.
    parts: [Secret; 5],
}

fn stripped(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

/// A number with zeros in front; `None` where it is longer.
fn padded(number: &[u8], len: usize) -> Option<Secret> {
    let number = stripped(number);
    let zeros = len.checked_sub(number.len())?;
    let mut all = Zeroizing::new(vec![0; len]);
    all[zeros..].copy_from_slice(number);
    Some(Secret::new(&all))
}

fn import(key: &RsaPrivateKey) -> Option<RsaPlan> {
    let RsaCrt { p, q, dp, dq, qinv } = key.crt.as_ref()?;
    let crt = Some(rsa::Crt { p, q, dp, dq, qinv });
    let (n, half) = (stripped(&key.n), stripped(p).len());
    if stripped(q).len() != half || n.len() != 2 * half || !MODULUS.contains(&n.len()) {
        return None;
    }
    let parts = rsa::PrivateParts { n: &key.n, e: &key.e, d: &key.d, crt };
    Some(RsaPlan {
        key: rsa::PrivateKey::new(&parts).ok()?,
        public: rsa::PublicKey::new(&key.n, &key.e).ok()?,
        parts: [
            padded(p, half)?,
            padded(q, half)?,
            padded(dp, half)?,
            padded(dq, half)?,
            padded(qinv, half)?,
        ],
    })
}

impl Plan {
    /// `None` for what a card of these traits does not have, or is not asked for.
    pub(crate) fn new(pke: &Spec, traits: Traits) -> Option<Plan> {
        match pke {
            Spec::RsaPrivate(key) | Spec::RsaPrivateBlinded(key) if traits.rsa => {
                let plan = import(key);
                wipe_stack(IMPORT);
                Some(Plan::Rsa(Box::new(plan?)))
            }
            Spec::Ec(curve) if traits.ec || traits.ecdsa => {
                Parameters::of(*curve).map(|_| Plan::Ec(*curve))
            }
            _ => None,
        }
    }
}

/// The operations that a card of these traits has, each with its algorithms.
pub(crate) fn list(traits: Traits) -> Vec<(Op, &'static str)> {
    const CURVES: &str = "P-256, P-384";
    [
        (traits.rsa, Op::RsaPrivate, "RSA of two primes, 1024 to 8192 bits, all schemes"),
        (traits.ecdsa, Op::EcSign, CURVES),
        (traits.ec, Op::EcDerive, CURVES),
    ]
    .into_iter()
    .filter(|(has, ..)| *has)
    .map(|(_, op, algorithm)| (op, algorithm))
    .collect()
}

/// A request at the card.
pub(crate) struct Sent {
    flight: Flight,
    /// What the power was asked of.
    block: Zeroizing<Vec<u8>>,
}

/// A channel's instance for public keys.
pub(crate) struct Pke {
    card: Arc<Card>,
    verify: Verify,
    traits: Traits,
    idle: Vec<Flight>,
    engine: Option<Box<Engine>>,
}

impl Pke {
    pub(crate) fn new(card: Arc<Card>, verify: Verify) -> Pke {
        let traits = card.crypto_traits();
        Pke { card, verify, traits, idle: Vec::new(), engine: None }
    }

    /// Whether this is the power that was asked for: raised to the public exponent it is what it was of.
    fn is_power(&mut self, plan: &RsaPlan, power: &[u8], of: &[u8]) -> bool {
        let engine = self.engine.get_or_insert_with(|| Box::new(Engine::new(Cpu::host())));
        let mut back = Zeroizing::new(vec![0; of.len()]);
        let key = (&plan.public, RsaScheme::Raw, false);
        let result = Err(OpError::Cancelled);
        let mut items = [Item { key, src: power, dst: &mut back, result }];
        rsa::public(engine, &mut items);
        items[0].result == Ok(of.len()) && *back == *of
    }
}

/// Whether a point (04, X, Y) is on the curve, and not at infinity.
fn is_on(curve: Curve, point: &[u8]) -> bool {
    if point.len() != curve.point_len() {
        return false;
    }
    let mut items = [Item::new(point, &mut [])];
    ec::check_point(Cpu::host(), curve, &mut items);
    items[0].result.is_ok()
}

/// Whether a signature, r and s, is that of the source: private key, digest.
fn is_signed(curve: Curve, src: &[u8], signature: &[u8]) -> Option<bool> {
    let (key, digest) = src.split_at_checked(curve.order_len())?;
    let mut point = vec![0; curve.point_len()];
    let mut items = [Item::new(key, &mut point)];
    ec::public(Cpu::host(), curve, &mut items);
    items[0].result.ok()?;
    let all = [&point, signature, digest].concat();
    let mut items = [Item::new(&all, &mut [])];
    ec::verify(Cpu::host(), curve, &mut items);
    Some(items[0].result.is_ok())
}

impl Unit for Pke {
    type Lent = CyLent;
    type Flight = Sent;

    fn lend(card: &Card) -> Option<CyLent> {
        card.lend_crypto(Kind::Pke)
    }

    fn send(&mut self, lent: &CyLent, work: &Work) -> Option<Result<Sent, CpaStatus>> {
        let plan = work.prepared::<Plan>()?;
        let request = work.request();
        let (src, room) = (request.src.as_slice()?, request.dst.as_slice()?.len());
        if !request.dst.is_writable() {
            return None;
        }
        let mut block = Zeroizing::new(Vec::new());
        let (secrets, digest);
        let ask = match (plan, request.op, request.args.detail) {
            (Plan::Rsa(plan), Op::RsaPrivate, Detail::Rsa(scheme)) => {
                block.resize(plan.key.len(), 0);
                // What is wrong the next device says.
                rsa::begin_private((&plan.key, scheme), src, room, &mut block).ok()?;
                let [p, q, dp, dq, qinv] = &plan.parts;
                Ask::Rsa { numbers: [p, q, dp, dq, qinv, &block], len: plan.key.len() }
            }
            (Plan::Ec(curve), Op::EcSign, Detail::Nonce(Nonce::Hedged)) if self.traits.ecdsa => {
                let of = Parameters::of(*curve)?;
                let len = of.n.len();
                let (key, all) = (src.get(..len)?, &src[len..]);
                digest = &all[..all.len().min(len)];
                if digest.is_empty() || room < 2 * len || !ec::in_range(key, of.n) {
                    return None;
                }
                let mut nonce = Zeroizing::new(vec![0; len]);
                ec::hedged_nonce(key, all, of.n, &mut nonce).ok()?;
                secrets = nonce;
                let numbers = [of.x, of.y, of.n, of.p, of.a, of.b, &secrets, digest, key];
                Ask::Sign { numbers, len }
            }
            (Plan::Ec(curve), Op::EcDerive, Detail::Cofactor(_)) if self.traits.ec => {
                let of = Parameters::of(*curve)?;
                let len = of.p.len();
                let (key, point) = (src.get(..len)?, &src[len..]);
                if room < len || !ec::in_range(key, of.n) || !is_on(*curve, point) {
                    return None;
                }
                let (x, y) = (&point[1..1 + len], &point[1 + len..]);
                Ask::Multiply { numbers: [key, x, y, of.a, of.b, of.p, &[1]], len }
            }
            _ => return None,
        };
        let mut flight = self.idle.pop().or_else(|| Flight::new(&self.card, lent))?;
        let status = flight.submit(&self.card, lent, &ask);
        if status == CPA_STATUS_SUCCESS {
            return Some(Ok(Sent { flight, block }));
        }
        flight.wipe();
        self.idle.push(flight);
        Some(Err(status))
    }

    fn poll(card: &Card, lent: &CyLent) -> CpaStatus {
        card.poll_crypto(lent)
    }

    fn landed(sent: &mut Sent) -> Option<CpaStatus> {
        sent.flight.landed()
    }

    fn judge(&mut self, work: &mut Work, sent: &mut Sent) -> Option<Done> {
        let ([first, second], lens) = (sent.flight.results(), sent.flight.result_lens());
        // A number that is shorter than was asked for may lie anywhere in its place.
        if !sent.flight.is_valid() || lens != [first.len(), second.len()] {
            return None;
        }
        let session = work.request().session.clone();
        let plan = session.prepared.get(usize::from(work.device))?.as_ref()?.get::<Plan>()?;
        let request = work.request_mut();
        let (op, detail, consumed) = (request.op, request.args.detail, request.src.len());
        let (src, dst) = (request.src.as_slice()?, request.dst.as_mut_slice()?);
        let produced = match (plan, detail) {
            (Plan::Rsa(plan), Detail::Rsa(scheme)) => {
                if !self.is_power(plan, first, &sent.block) {
                    return None;
                }
                let mut power = Zeroizing::new(first.to_vec());
                rsa::finish_private((&plan.key, scheme), src, &mut power, dst).ok()?
            }
            (Plan::Ec(curve), _) if op == Op::EcSign => {
                let signature = [first, second].concat();
                if self.verify == Verify::Software && !is_signed(*curve, src, &signature)? {
                    return None;
                }
                dst.get_mut(..signature.len())?.copy_from_slice(&signature);
                signature.len()
            }
            (Plan::Ec(curve), _) => {
                let product = Zeroizing::new([&[4], first, second].concat());
                if !is_on(*curve, &product) {
                    return None;
                }
                dst.get_mut(..first.len())?.copy_from_slice(first);
                first.len()
            }
            _ => return None,
        };
        Some(Done { consumed, produced, checksum: 0, status: Status::Complete })
    }

    fn keep(&mut self, mut sent: Sent) {
        sent.flight.wipe();
        self.idle.push(sent.flight);
    }

    fn give_back(&mut self, lent: CyLent) {
        self.card.give_crypto_back(Kind::Pke, lent);
    }
}
