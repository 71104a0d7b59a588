//! Diffie-Hellman in the multiplicative group modulo p (SP 800-56A).

use std::fmt;

use lookaside_simd::Cpu;

use crate::batch::{LANES, cut, room, stripped};
use crate::dsa::{check_public_key, key_pairs};
use crate::ec::scalar;
use crate::library::bignum::{Bignum, Scratch};
use crate::modular::{Modulus, Raise, Raised, raise};
use crate::{Engine, Item, OpError, random};

/// The groups that have names. All have p = 2 q + 1 with q prime, and g = 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names say it.
pub enum Name {
    /// RFC 7919, A.1.
    Ffdhe2048,
    /// RFC 7919, A.2.
    Ffdhe3072,
    /// RFC 7919, A.3.
    Ffdhe4096,
    /// RFC 7919, A.4.
    Ffdhe6144,
    /// RFC 7919, A.5.
    Ffdhe8192,
    /// RFC 2409, 6.1. Too short to protect anything.
    Modp768,
    /// RFC 2409, 6.2. Too short to protect anything for long.
    Modp1024,
    /// RFC 3526, 2.
    Modp1536,
    /// RFC 3526, 3.
    Modp2048,
    /// RFC 3526, 4.
    Modp3072,
    /// RFC 3526, 5.
    Modp4096,
    /// RFC 3526, 6.
    Modp6144,
    /// RFC 3526, 7.
    Modp8192,
}

impl Name {
    /// Every name.
    pub const ALL: [Name; 13] = [
        Name::Ffdhe2048,
        Name::Ffdhe3072,
        Name::Ffdhe4096,
        Name::Ffdhe6144,
        Name::Ffdhe8192,
        Name::Modp768,
        Name::Modp1024,
        Name::Modp1536,
        Name::Modp2048,
        Name::Modp3072,
        Name::Modp4096,
        Name::Modp6144,
        Name::Modp8192,
    ];

    /// (bits of p, the constant c, whose digits, bits of a private key). The primes are
    /// p = 2^b - 2^(b-64) + 2^64 (floor(2^(b-130) x) + c) - 1 with x = e for RFC 7919 and x = pi
    /// for the others, c being the least that makes p and (p - 1) / 2 prime.
    ///
    /// Private keys have the length of RFC 7919, which is twice the strength of the group or more.
    fn recipe(self) -> (usize, u64, Digits, usize) {
        match self {
            Name::Ffdhe2048 => (2048, 560_316, Digits::E, 225),
            Name::Ffdhe3072 => (3072, 2_625_351, Digits::E, 275),
            Name::Ffdhe4096 => (4096, 5_736_041, Digits::E, 325),
            Name::Ffdhe6144 => (6144, 15_705_020, Digits::E, 375),
            Name::Ffdhe8192 => (8192, 10_965_728, Digits::E, 400),
            Name::Modp768 => (768, 149_686, Digits::Pi, 160),
            Name::Modp1024 => (1024, 129_093, Digits::Pi, 160),
            Name::Modp1536 => (1536, 741_804, Digits::Pi, 200),
            Name::Modp2048 => (2048, 124_476, Digits::Pi, 225),
            Name::Modp3072 => (3072, 1_690_314, Digits::Pi, 275),
            Name::Modp4096 => (4096, 240_904, Digits::Pi, 325),
            Name::Modp6144 => (6144, 929_484, Digits::Pi, 375),
            Name::Modp8192 => (8192, 4_743_158, Digits::Pi, 400),
        }
    }

    /// p, big-endian.
    pub fn prime(self) -> Vec<u8> {
        let (bits, constant, digits, _) = self.recipe();
        let words = bits / 64;
        // x 2^b, lowest word first, of which the lowest 130 bits are not needed: what was rounded on
        // the way is among them.
        let number = match digits {
            Digits::E => e(words),
            Digits::Pi => pi(words),
        };
        let mut p = vec![u64::MAX; words];
        for (i, word) in p[1..words - 1].iter_mut().enumerate() {
            *word = number[i + 2] >> 2 | number[i + 3] << 62;
        }
        // The lowest word is 2^64 - 1: 1 is borrowed from the next for it.
        let mut carry = constant - 1;
        for word in &mut p[1..words - 1] {
            let (sum, over) = word.overflowing_add(carry);
            (*word, carry) = (sum, over.into());
        }
        p.iter().rev().flat_map(|word| word.to_be_bytes()).collect()
    }
}

#[derive(Clone, Copy)]
enum Digits {
    E,
    Pi,
}

/// e 2^(64 `words`): the sum of 1/k!.
fn e(words: usize) -> Vec<u64> {
    let mut term = one(words);
    let mut sum = term.clone();
    for k in 1.. {
        divide(&mut term, k);
        if term.iter().all(|&word| word == 0) {
            break;
        }
        add(&mut sum, &term);
    }
    sum
}

/// pi 2^(64 `words`): 16 arctan(1/5) - 4 arctan(1/239) (Machin).
fn pi(words: usize) -> Vec<u64> {
    let (mut added, mut subtracted) = (vec![0; words + 1], vec![0; words + 1]);
    for (factor, x) in [(16, 5), (4, 239)] {
        // arctan(1/x) is the sum of (-1)^i / ((2 i + 1) x^(2 i + 1)).
        let mut power = one(words);
        power[words] = factor;
        divide(&mut power, x);
        for i in 0.. {
            let mut term = power.clone();
            divide(&mut term, 2 * i + 1);
            if term.iter().all(|&word| word == 0) {
                break;
            }
            let negative = (i % 2 == 1) != (factor == 4);
            add(if negative { &mut subtracted } else { &mut added }, &term);
            divide(&mut power, x * x);
        }
    }
    let mut borrow = false;
    for (word, less) in added.iter_mut().zip(&subtracted) {
        let (difference, under) = word.overflowing_sub(*less);
        let (difference, again) = difference.overflowing_sub(borrow.into());
        (*word, borrow) = (difference, under | again);
    }
    added
}

fn one(words: usize) -> Vec<u64> {
    let mut number = vec![0; words + 1];
    number[words] = 1;
    number
}

fn add(sum: &mut [u64], other: &[u64]) {
    let mut carry = false;
    for (word, more) in sum.iter_mut().zip(other) {
        let (total, over) = word.overflowing_add(*more);
        let (total, again) = total.overflowing_add(carry.into());
        (*word, carry) = (total, over | again);
    }
}

fn divide(number: &mut [u64], by: u64) {
    let mut remainder = 0;
    for word in number.iter_mut().rev() {
        let dividend = remainder << 64 | u128::from(*word);
        *word = (dividend / u128::from(by)) as u64;
        remainder = dividend % u128::from(by);
    }
}

/// A group: p prime, g, and where it is known the order q of g.
pub struct Group {
    p: Modulus,
    g: Box<[u8]>,
    private: Private,
    /// q, if a public key has to be checked against it.
    order: Option<Bignum>,
}

/// What private keys are drawn from: 1 to the bound.
enum Private {
    /// 2^bits - 1.
    Bits(usize),
    /// q - 1, for this q, big-endian without leading zeros.
    Order(Box<[u8]>),
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Group({} bits)", self.p.bits())
    }
}

impl Group {
    /// A group of one's own: p odd, of 512 to 8192 bits, 1 < g < p - 1. With a q, that q divides
    /// p - 1 and g has order q; private keys are drawn up to q - 1. Without, of any length up to
    /// that of p, less a bit.
    ///
    /// That p and q are prime is not checked ([`crate::prime::is_prime`]): take groups from people
    /// you trust, or by name.
    pub fn new(p: &[u8], g: &[u8], q: Option<&[u8]>) -> Result<Group, OpError> {
        let p = Modulus::new(p)?;
        let Some(montgomery) = p.montgomery().filter(|_| p.bits() >= 512) else {
            return Err(OpError::BadInput("p is odd and has from 512 to 8192 bits"));
        };
        let mut scratch = Scratch::new()?;
        let g = stripped(g);
        let mut wide = vec![0; p.len()].into_boxed_slice();
        let start = p.len().checked_sub(g.len()).ok_or(OpError::BadInput("g is not below p"))?;
        wide[start..].copy_from_slice(g);
        check_public_key(&p, &wide).map_err(|_| OpError::BadInput("g"))?;
        let g = Bignum::from_bytes(&wide)?;
        let Some(q) = q else {
            let private = Private::Bits(p.bits() - 1);
            return Ok(Group { p, g: wide, private, order: None });
        };
        let q_bytes = stripped(q);
        let q = Bignum::from_bytes(q_bytes)?;
        let order = p.number().duplicate()?.sub_word(1)?;
        if q.bits() < 2 || q.bits() > p.bits() || !scratch.divide(&order, &q)?.1.is_zero() {
            return Err(OpError::BadInput("q does not divide p - 1"));
        }
        if !montgomery.power_public(&g, &q, &mut scratch)?.is_one() {
            return Err(OpError::BadInput("g is not of order q"));
        }
        // With p = 2 q + 1 there are no small subgroups but those of 1 and -1, which the range
        // excludes.
        let safe = order.half()?.compare(&q).is_eq();
        let order = if safe { None } else { Some(q) };
        Ok(Group { p, g: wide, private: Private::Order(q_bytes.into()), order })
    }

    /// A group with a name. Takes some milliseconds: its prime is computed from the digits of e or
    /// pi.
    pub fn named(name: Name) -> Result<Group, OpError> {
        let p = Modulus::new(&name.prime())?;
        let mut g = vec![0; p.len()].into_boxed_slice();
        g[p.len() - 1] = 2;
        Ok(Group { p, g, private: Private::Bits(name.recipe().3), order: None })
    }

    /// Bytes of p: k, the length of a public key and of a secret.
    #[allow(clippy::len_without_is_empty)] // No group is empty.
    pub fn len(&self) -> usize {
        self.p.len()
    }

    /// Whether operations on this CPU run side by side, so that up to eight items are worth
    /// collecting.
    pub fn has_kernel(&self, cpu: &Cpu) -> bool {
        self.p.has_kernel(cpu)
    }

    /// Bytes of a private key that [`generate`] draws: for the named groups those of RFC 7919
    /// (225 bits for 2048, 400 for 8192), else those of q, or of p.
    pub fn private_len(&self) -> usize {
        match &self.private {
            Private::Bits(bits) => bits.div_ceil(8),
            Private::Order(q) => q.len(),
        }
    }

    fn draw(&self, out: &mut [u8]) -> Result<(), OpError> {
        match &self.private {
            Private::Order(q) => scalar::draw(q, out),
            Private::Bits(bits) => loop {
                random::fill(out)?;
                out[0] &= 0xff >> (8 * out.len() - bits);
                // 0 is no key. It never comes.
                if out.iter().fold(0, |sum, byte| sum | byte) != 0 {
                    return Ok(());
                }
            },
        }
    }

    /// A private key is not 0 and not longer than p.
    fn check_private(&self, private: &[u8]) -> Result<(), OpError> {
        if private.iter().fold(0, |sum, byte| sum | byte) == 0 || private.len() > self.len() {
            return Err(OpError::BadInput("a private key of 0, or longer than p"));
        }
        Ok(())
    }
}

/// Draws key pairs, each in its group: `src` is empty, `dst` = private key
/// ([`Group::private_len`] bytes) || public key (k bytes).
pub fn generate(engine: &mut Engine, items: &mut [Item<'_, &Group>]) {
    key_pairs(
        engine,
        items,
        |group, private| group.draw(private),
        |group| (&group.p, &group.g, group.private_len()),
    );
}

/// The public keys of private ones: `src` = private key (of any length up to k: how long it is is
/// not secret, what it is is), `dst` = public key (k bytes).
pub fn public(engine: &mut Engine, items: &mut [Item<'_, &Group>]) {
    for items in items.chunks_mut(LANES) {
        let mut raised = Raised::new();
        for item in items {
            let group = item.key;
            item.run(|src, dst| {
                group.check_private(src)?;
                Ok(room(dst, group.len())?.len())
            });
            if let Ok(len) = item.result {
                let (base, exponent, out) = (&group.g[..], item.src, &mut item.dst[..len]);
                let raise = Raise { modulus: &group.p, base, exponent, out };
                raised.push((raise, &mut item.result));
            }
        }
        raise(&engine.cpu, &mut engine.kernel, &mut raised);
    }
}

/// Shared secrets: `src` = private key (what is before the last k bytes) || the peer's public key
/// (k bytes), `dst` = secret (k bytes, with its leading zeros).
///
/// Of the peer's key y it is checked that 1 < y < p - 1, and y^q = 1 in groups of one's own whose q
/// is known and is not (p - 1)/2. A secret of 1, which only a key outside the group leads to, is
/// refused.
pub fn derive(engine: &mut Engine, items: &mut [Item<'_, &Group>]) {
    const OUTSIDE: OpError = OpError::BadInput("a public key outside the group");
    for items in items.chunks_mut(LANES) {
        let mut raised = Raised::new();
        for item in items.iter_mut() {
            let group = item.key;
            let k = group.len();
            item.run(|src, dst| {
                let private_len = src.len().checked_sub(k).ok_or(OpError::BadInput("too short"))?;
                let [private, peer] = cut(src, [private_len, k])?;
                group.check_private(private)?;
                check_public_key(&group.p, peer)?;
                if let (Some(order), Some(montgomery)) = (&group.order, group.p.montgomery()) {
                    let peer = Bignum::from_bytes(peer)?;
                    if !montgomery.power_public(&peer, order, &mut Scratch::new()?)?.is_one() {
                        return Err(OUTSIDE);
                    }
                }
                Ok(room(dst, k)?.len())
            });
            if item.result.is_ok() {
                let (exponent, base) = item.src.split_at(item.src.len() - k);
                let out = &mut item.dst[..k];
                raised.push((Raise { modulus: &group.p, base, exponent, out }, &mut item.result));
            }
        }
        raise(&engine.cpu, &mut engine.kernel, &mut raised);
        drop(raised);
        for item in items.iter_mut().filter(|item| item.result.is_ok()) {
            let secret = &item.dst[..item.key.len()];
            let (last, above) = secret.split_last().unwrap_or((&1, &[]));
            if above.iter().fold(last ^ 1, |sum, byte| sum | byte) == 0 {
                item.fail(OUTSIDE);
            }
        }
    }
}
