//! RSA (RFC 8017): signatures, encryption, and the bare operations.
//!
//! A batch may mix keys, sizes and schemes. It runs in three steps: every message is encoded to a
//! block as long as its modulus, all blocks are raised to their exponents, every block is decoded.
//! So the step in the middle, where the time goes, sees nothing of schemes.
//!
//! The result of a private operation is raised to the public exponent and compared before it
//! leaves: a wrong result would give a factor of the modulus away. One by one, private operations
//! are blinded too; the kernel, which takes the same time and touches the same memory whatever the
//! input, is not, unless the key asks for it ([`PrivateKey::blinded`]).

mod blinding;
mod generate;
mod keys;
mod padding;
mod rejection;

use lookaside_simd::{Avx512, Cpu};
use zeroize::Zeroizing;

pub use self::generate::{GeneratedKey, generate, generate_item, half_len};
pub use self::keys::{Crt, MAX_BITS, MIN_BITS, PrivateKey, PrivateParts, PublicKey};
use crate::batch::{LANES, cut, pays, room, side_by_side};
use crate::{Item, OpError, RsaScheme};
use lookaside_pke_kernel::modexp::{self, Outcome, Power, Private};

/// One private operation.
#[derive(Debug)]
pub struct PrivateItem<'a> {
    /// The key.
    pub key: &'a PrivateKey,
    /// The scheme.
    pub scheme: RsaScheme,
    /// To sign: `src` = digest (or message, without a hash function), `dst` = signature (k bytes).
    /// To decrypt: `src` = ciphertext (k bytes), `dst` = message. Raw: both k bytes.
    pub item: Item<'a>,
}

/// Signs and decrypts.
pub fn private(cpu: &Cpu, items: &mut [PrivateItem<'_>]) {
    let mut blocks: Vec<Block<'_, PrivateKey>> = items
        .iter()
        .map(|PrivateItem { key, scheme, item }| {
            let mut bytes = Zeroizing::new(vec![0; key.len()]);
            let mut result = before_private(key, *scheme, item, &mut bytes);
            if result.is_ok() && bytes[..] >= key.n[..] {
                result = Err(OpError::BadInput("not below the modulus"));
            }
            Block { key: *key, bytes, result }
        })
        .collect();
    raise_private(cpu, &mut blocks);
    for (PrivateItem { scheme, item, .. }, block) in items.iter_mut().zip(blocks) {
        item.run(|src, dst| {
            block.result?;
            after_private(block.key, *scheme, src, block.bytes, dst)
        });
    }
}

fn before_private(
    key: &PrivateKey,
    scheme: RsaScheme,
    item: &Item<'_>,
    block: &mut [u8],
) -> Result<(), OpError> {
    let (src, k) = (item.src, key.len());
    let copy =
        |src: &[u8], block: &mut [u8]| cut(src, [k]).map(|[number]| block.copy_from_slice(number));
    match scheme {
        RsaScheme::Raw | RsaScheme::Pkcs1Sign(_) | RsaScheme::Pss { .. } if item.dst.len() < k => {
            Err(OpError::DstTooSmall)
        }
        RsaScheme::Raw => copy(src, block),
        RsaScheme::Pkcs1Sign(hash) => padding::pkcs1_sign(block, hash, src),
        RsaScheme::Pss { hash, mgf, salt } => {
            padding::pss_sign(block, key.bits(), (hash, mgf), salt, src)
        }
        RsaScheme::Pkcs1Encrypt => copy(src, block),
        RsaScheme::Pkcs1Tls { .. } if item.dst.len() < 48 => Err(OpError::DstTooSmall),
        RsaScheme::Pkcs1Tls { .. } => copy(src, block),
        RsaScheme::Oaep { label_len, .. } => {
            let [_, ciphertext] = cut(src, [label_len.into(), k])?;
            copy(ciphertext, block)
        }
    }
}

fn after_private(
    key: &PrivateKey,
    scheme: RsaScheme,
    src: &[u8],
    mut block: Zeroizing<Vec<u8>>,
    dst: &mut [u8],
) -> Result<usize, OpError> {
    let mut give = |message: &[u8]| {
        room(dst, message.len())?.copy_from_slice(message);
        Ok(message.len())
    };
    match scheme {
        RsaScheme::Raw | RsaScheme::Pkcs1Sign(_) | RsaScheme::Pss { .. } => give(&block),
        RsaScheme::Pkcs1Encrypt => {
            let (message, len) = rejection::message(&key.rejection, src, &block)?;
            give(&message[message.len() - len..])
        }
        RsaScheme::Pkcs1Tls { client_version, alternative } => {
            let mut secret = Zeroizing::new([0; 48]);
            padding::tls_premaster(&block, client_version, alternative, &mut secret)?;
            give(&*secret)
        }
        RsaScheme::Oaep { hash, mgf, label_len } => {
            let label = &src[..label_len.into()];
            give(padding::oaep_decrypt(&mut block, (hash, mgf), label)?)
        }
    }
}

/// One public operation.
#[derive(Debug)]
pub struct PublicItem<'a> {
    /// The key.
    pub key: &'a PublicKey,
    /// The scheme.
    pub scheme: RsaScheme,
    /// With [`RsaScheme::Pkcs1Sign`]: hand out what was signed instead of comparing it. No other
    /// scheme that hides something can; [`RsaScheme::Raw`] does anyway.
    pub recover: bool,
    /// To verify: `src` = signature (k bytes) || digest (or message), the result is `Ok(0)` or
    /// [`OpError::AuthFailed`]. To recover: `src` = signature, `dst` = digest (or message). To
    /// encrypt: `src` = message, `dst` = ciphertext (k bytes). Raw: both k bytes.
    pub item: Item<'a>,
}

/// Verifies and encrypts.
pub fn public(cpu: &Cpu, items: &mut [PublicItem<'_>]) {
    let mut blocks: Vec<Block<'_, PublicKey>> = items
        .iter()
        .map(|PublicItem { key, scheme, recover, item }| {
            let mut bytes = Zeroizing::new(vec![0; key.len()]);
            let mut result = before_public(key, *scheme, *recover, item, &mut bytes);
            if result.is_ok() && bytes[..] >= key.n[..] {
                result = Err(match scheme {
                    RsaScheme::Pkcs1Sign(_) | RsaScheme::Pss { .. } => OpError::AuthFailed,
                    _ => OpError::BadInput("not below the modulus"),
                });
            }
            Block { key: *key, bytes, result }
        })
        .collect();
    raise_public(cpu, &mut blocks);
    for (PublicItem { scheme, recover, item, .. }, block) in items.iter_mut().zip(blocks) {
        item.run(|src, dst| {
            block.result?;
            after_public(block.key, *scheme, *recover, src, block.bytes, dst)
        });
    }
}

fn before_public(
    key: &PublicKey,
    scheme: RsaScheme,
    recover: bool,
    item: &Item<'_>,
    block: &mut [u8],
) -> Result<(), OpError> {
    let (src, k) = (item.src, key.len());
    let verifies = matches!(scheme, RsaScheme::Pkcs1Sign(_) | RsaScheme::Pss { .. });
    if recover && !matches!(scheme, RsaScheme::Raw | RsaScheme::Pkcs1Sign(_)) {
        return Err(OpError::Unsupported);
    }
    if !verifies && item.dst.len() < k {
        return Err(OpError::DstTooSmall);
    }
    match scheme {
        RsaScheme::Raw => block.copy_from_slice(cut(src, [k])?[0]),
        RsaScheme::Pkcs1Sign(_) | RsaScheme::Pss { .. } => {
            let (signature, rest) =
                src.split_at_checked(k).ok_or(OpError::BadInput("too short"))?;
            if recover && !rest.is_empty() {
                return Err(OpError::BadInput("too long"));
            }
            block.copy_from_slice(signature);
        }
        RsaScheme::Pkcs1Encrypt => padding::pkcs1_encrypt(block, src)?,
        RsaScheme::Pkcs1Tls { .. } => {
            let [secret] = cut(src, [48])?;
            padding::pkcs1_encrypt(block, secret)?;
        }
        RsaScheme::Oaep { hash, mgf, label_len } => {
            let (label, message) =
                src.split_at_checked(label_len.into()).ok_or(OpError::BadInput("too short"))?;
            padding::oaep_encrypt(block, (hash, mgf), label, message)?;
        }
    }
    Ok(())
}

fn after_public(
    key: &PublicKey,
    scheme: RsaScheme,
    recover: bool,
    src: &[u8],
    mut block: Zeroizing<Vec<u8>>,
    dst: &mut [u8],
) -> Result<usize, OpError> {
    let signed = || &src[key.len()..];
    match scheme {
        RsaScheme::Pkcs1Sign(hash) if recover => {
            let signed = padding::pkcs1_recover(&block, hash)?;
            room(dst, signed.len())?.copy_from_slice(signed);
            Ok(signed.len())
        }
        RsaScheme::Pkcs1Sign(hash) => padding::pkcs1_verify(&block, hash, signed()).map(|()| 0),
        RsaScheme::Pss { hash, mgf, salt } => {
            let hashes = (hash, mgf);
            padding::pss_verify(&mut block, key.bits(), hashes, salt, signed()).map(|()| 0)
        }
        _ => {
            room(dst, block.len())?.copy_from_slice(&block);
            Ok(block.len())
        }
    }
}

/// A number below n, as long as n, to be raised in place. Not if its result is an error already.
struct Block<'a, K> {
    key: &'a K,
    bytes: Zeroizing<Vec<u8>>,
    result: Result<(), OpError>,
}

/// What eight private operations by the kernel cost, in hundredths of one by AWS-LC, for primes of
/// `digits` digits of 52 bits. From 1024 bits on AWS-LC exponentiates modulo two primes at once with
/// the same instructions, up to 2048 bits. Measured for keys of 1024, 1536, 2048, 3072 and 4096 bits:
/// 138, 102, 240, 307, 325 (Sapphire Rapids, 2026-11; `--bench integers`).
fn private_cost(digits: usize) -> usize {
    match digits {
        0..=10 => 145,
        11..=15 => 120,
        16..=20 => 255,
        21..=30 => 320,
        31..=40 => 340,
        _ => 190,
    }
}

/// What eight public operations by the kernel cost, in hundredths of one by AWS-LC: between 138 and
/// 149 for 1024 to 4096 bits (Sapphire Rapids).
const PUBLIC_COST: usize = 155;

/// Whether the kernel pays for so many private operations with keys like this one.
fn private_pays(lanes: usize, key: &PrivateKey) -> bool {
    key.kernel.as_ref().is_some_and(|kernel| {
        pays(lanes, private_cost(kernel.class()), key.bits() / 2, kernel.class())
    })
}

/// Whether the kernel pays for so many public operations with keys like this one.
fn public_pays(lanes: usize, key: &PublicKey) -> bool {
    key.kernel().is_some_and(|kernel| pays(lanes, PUBLIC_COST, key.bits(), kernel.digits()))
}

/// Raises each block to its private exponent, verified.
fn raise_private(cpu: &Cpu, blocks: &mut [Block<'_, PrivateKey>]) {
    let token = cpu.avx512().filter(|_| blocks.len() > 1);
    side_by_side(
        blocks.iter_mut().filter(|block| block.result.is_ok()),
        |block| token.and(block.key.kernel.as_ref()).map(modexp::CrtKey::class),
        |lanes, block| private_pays(lanes, block.key),
        |blocks| {
            let mut blinded = Vec::with_capacity(LANES);
            for block in blocks.iter_mut() {
                let blinding = block.key.blinding.as_ref();
                blinded.push(blinding.map(|blinding| blinding.blind(&mut block.bytes)));
            }
            let mut outs = Vec::with_capacity(LANES);
            outs.extend(blocks.iter().map(|block| Zeroizing::new(vec![0; block.bytes.len()])));
            let mut lanes = Vec::with_capacity(LANES);
            for (block, out) in blocks.iter().zip(&mut outs) {
                let Some(key) = &block.key.kernel else { continue };
                lanes.push(Private { key, input: &block.bytes, out, outcome: Outcome::Fault });
            }
            if let Some(token) = token {
                privates_of(token, &mut lanes);
            }
            let outcomes: Vec<Outcome> = lanes.iter().map(|lane| lane.outcome).collect();
            for ((block, out), outcome) in blocks.iter_mut().zip(outs).zip(outcomes) {
                block.bytes = out;
                block.result = match outcome {
                    Outcome::Done => Ok(()),
                    Outcome::BadInput => Err(OpError::BadInput("not below the modulus")),
                    Outcome::Fault => Err(OpError::Fault),
                };
            }
            for (block, blinded) in blocks.iter_mut().zip(blinded) {
                let (Some(blinding), Some(blinded)) = (&block.key.blinding, blinded) else {
                    continue;
                };
                let unblind = |unblind| blinding.unblind(&mut block.bytes, unblind);
                block.result = block.result.and(blinded.and_then(unblind));
            }
        },
        |block| raise_private_one(block),
    );
}

fn privates_of(token: Avx512, lanes: &mut [Private<'_>]) {
    #[cfg(target_arch = "x86_64")]
    modexp::private_avx512(token, lanes);
    // Nothing else has the token.
    #[cfg(not(target_arch = "x86_64"))]
    (|_: Avx512| modexp::private_portable(lanes))(token);
}

fn raise_private_one(block: &mut Block<'_, PrivateKey>) {
    // 0, 1 and n - 1 are their own powers: d is odd, as it has an inverse modulo an even number.
    // AWS-LC refuses them.
    if !own_power(&block.bytes, &block.key.n) {
        let mut out = Zeroizing::new(vec![0; block.bytes.len()]);
        block.result = block.key.key.private(&block.bytes, &mut out);
        block.bytes = out;
    }
}

/// Whether a block is 0, 1 or n - 1. Nothing else is leaked.
fn own_power(block: &[u8], n: &[u8]) -> bool {
    let last = block.len() - 1;
    let (mut high, mut differing) = (0, 0);
    for (byte, n) in block[..last].iter().zip(n) {
        high |= byte;
        differing |= byte ^ n;
    }
    let small = padding::mask_zero(high.into()) & padding::mask_less(block[last].into(), 2);
    // n is odd.
    differing |= block[last] ^ n[last] ^ 1;
    std::hint::black_box(small | padding::mask_zero(differing.into())) != 0
}

/// Raises each block to its public exponent.
fn raise_public(cpu: &Cpu, blocks: &mut [Block<'_, PublicKey>]) {
    let token = cpu.avx512().filter(|_| blocks.len() > 1);
    side_by_side(
        blocks.iter_mut().filter(|block| block.result.is_ok()),
        // The kernel takes as long as the longest exponent of its lanes wants.
        |block| Some((token.and(block.key.kernel())?.digits(), block.key.e.len())),
        |lanes, block| public_pays(lanes, block.key),
        |blocks| {
            let mut outs = Vec::with_capacity(LANES);
            outs.extend(blocks.iter().map(|block| Zeroizing::new(vec![0; block.bytes.len()])));
            let mut lanes = Vec::with_capacity(LANES);
            for (block, out) in blocks.iter().zip(&mut outs) {
                let Some(modulus) = block.key.kernel() else { continue };
                let (base, exponent) = (&block.bytes[..], &block.key.e[..]);
                lanes.push(Power { modulus, base, exponent, out, ok: false });
            }
            if let Some(token) = token {
                powers_of(token, &mut lanes);
            }
            let done: Vec<bool> = lanes.iter().map(|lane| lane.ok).collect();
            for ((block, out), done) in blocks.iter_mut().zip(outs).zip(done) {
                block.bytes = out;
                if !done {
                    block.result = Err(OpError::Library("the exponentiation kernel"));
                }
            }
        },
        |block| {
            let mut out = Zeroizing::new(vec![0; block.bytes.len()]);
            block.result = block.key.key.public(&block.bytes, &mut out);
            block.bytes = out;
        },
    );
}

fn powers_of(token: Avx512, lanes: &mut [Power<'_>]) {
    #[cfg(target_arch = "x86_64")]
    modexp::power_public_avx512(token, lanes);
    // Nothing else has the token.
    #[cfg(not(target_arch = "x86_64"))]
    (|_: Avx512| modexp::power_public_portable(lanes))(token);
}
