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

pub use self::generate::{GeneratedKey, generate, generate_batch, half_len};
pub use self::keys::{Crt, MAX_BITS, MIN_BITS, PrivateKey, PrivateParts, PublicKey};
use crate::batch::{LANES, PerLane, cut, pays, room, side_by_side};
use crate::engine::carve;
use crate::{Engine, Item, OpError, RsaScheme};
use lookaside_pke_kernel::modexp::{self, Outcome, Power, Private};

/// Signs and decrypts, each by its key and scheme.
///
/// To sign: `src` = digest (or message, without a hash function), `dst` = signature (k bytes). To
/// decrypt: `src` = ciphertext (k bytes), `dst` = message. Raw: both k bytes.
pub fn private(engine: &mut Engine, items: &mut [Item<'_, (&PrivateKey, RsaScheme)>]) {
    for items in items.chunks_mut(LANES) {
        let mut memory = engine.bytes.lend(items.iter().map(|item| 2 * item.key.0.len()).sum());
        let mut left = &mut memory[..];
        let encoded = items.iter().map(|item| {
            let key = item.key.0;
            Block::new(key, &mut left, key.len(), |block| before_private(item, block))
        });
        let mut blocks = encoded.collect();
        raise_private(&engine.cpu, &mut engine.kernel, &mut blocks);
        for (item, block) in items.iter_mut().zip(blocks) {
            let (key, scheme) = item.key;
            item.run(|src, dst| after_private(key, scheme, src, block.raised()?, dst));
        }
    }
}

/// The first step of a private operation alone: what there is to do to `src` before the power, into `block` of k bytes.
/// For who has the power from elsewhere, and then checks it ([`public`], raw) and calls [`finish_private`]. `room` is how
/// long the destination is.
///
/// # Errors
/// As [`private`].
pub fn begin_private(
    (key, scheme): (&PrivateKey, RsaScheme),
    src: &[u8],
    room: usize,
    block: &mut [u8],
) -> Result<(), OpError> {
    let mut dst = Zeroizing::new(vec![0; room.min(key.len())]);
    let item = Item { key: (key, scheme), src, dst: &mut dst, result: Err(OpError::Cancelled) };
    before_private(&item, block)
}

/// The last step of a private operation alone: what there is to do to the power, of k bytes.
///
/// # Errors
/// As [`private`].
pub fn finish_private(
    (key, scheme): (&PrivateKey, RsaScheme),
    src: &[u8],
    power: &mut [u8],
    dst: &mut [u8],
) -> Result<usize, OpError> {
    after_private(key, scheme, src, power, dst)
}

fn before_private(
    item: &Item<'_, (&PrivateKey, RsaScheme)>,
    block: &mut [u8],
) -> Result<(), OpError> {
    let ((key, scheme), src) = (item.key, item.src);
    let k = key.len();
    let copy = |src: &[u8], block: &mut [u8]| {
        block.copy_from_slice(cut(src, [k])?[0]);
        if *block < key.n[..] { Ok(()) } else { Err(OpError::BadInput("not below the modulus")) }
    };
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
    block: &mut [u8],
    dst: &mut [u8],
) -> Result<usize, OpError> {
    let mut give = |message: &[u8]| {
        room(dst, message.len())?.copy_from_slice(message);
        Ok(message.len())
    };
    match scheme {
        RsaScheme::Raw | RsaScheme::Pkcs1Sign(_) | RsaScheme::Pss { .. } => give(block),
        RsaScheme::Pkcs1Encrypt => {
            let len = rejection::message(&key.rejection, src, block)?;
            give(&block[block.len() - len..])
        }
        RsaScheme::Pkcs1Tls { client_version, alternative } => {
            let mut secret = Zeroizing::new([0; 48]);
            padding::tls_premaster(block, client_version, alternative, &mut secret)?;
            give(&*secret)
        }
        RsaScheme::Oaep { hash, mgf, label_len } => {
            let label = &src[..label_len.into()];
            give(padding::oaep_decrypt(block, (hash, mgf), label)?)
        }
    }
}

/// Verifies and encrypts, each by its key and scheme.
///
/// To verify: `src` = signature (k bytes) || digest (or message), the result is `Ok(0)` or
/// [`OpError::AuthFailed`]. To encrypt: `src` = message, `dst` = ciphertext (k bytes). Raw: both k
/// bytes. With `true` and [`RsaScheme::Pkcs1Sign`], what was signed is handed out instead of
/// compared: `src` = signature, `dst` = digest (or message). No other scheme that hides something
/// can; [`RsaScheme::Raw`] does anyway.
pub fn public(engine: &mut Engine, items: &mut [Item<'_, (&PublicKey, RsaScheme, bool)>]) {
    for items in items.chunks_mut(LANES) {
        let mut memory = engine.bytes.lend(items.iter().map(|item| 2 * item.key.0.len()).sum());
        let mut left = &mut memory[..];
        let encoded = items.iter().map(|item| {
            let key = item.key.0;
            Block::new(key, &mut left, key.len(), |block| before_public(item, block))
        });
        let mut blocks = encoded.collect();
        raise_public(&engine.cpu, &mut engine.kernel, &mut blocks);
        for (item, block) in items.iter_mut().zip(blocks) {
            let asked = item.key;
            item.run(|src, dst| after_public(asked, src, block, dst));
        }
    }
}

fn before_public(
    item: &Item<'_, (&PublicKey, RsaScheme, bool)>,
    block: &mut [u8],
) -> Result<(), OpError> {
    let ((key, scheme, recover), src) = (item.key, item.src);
    let k = key.len();
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
    match *block < key.n[..] {
        true => Ok(()),
        false if verifies => Err(OpError::AuthFailed),
        false => Err(OpError::BadInput("not below the modulus")),
    }
}

fn after_public(
    (key, scheme, recover): (&PublicKey, RsaScheme, bool),
    src: &[u8],
    block: Block<'_, PublicKey>,
    dst: &mut [u8],
) -> Result<usize, OpError> {
    let block = block.raised()?;
    let signed = || &src[key.len()..];
    match scheme {
        RsaScheme::Pkcs1Sign(hash) if recover => {
            let signed = padding::pkcs1_recover(block, hash)?;
            room(dst, signed.len())?.copy_from_slice(signed);
            Ok(signed.len())
        }
        RsaScheme::Pkcs1Sign(hash) => padding::pkcs1_verify(block, hash, signed()).map(|()| 0),
        RsaScheme::Pss { hash, mgf, salt } => {
            let hashes = (hash, mgf);
            padding::pss_verify(block, key.bits(), hashes, salt, signed()).map(|()| 0)
        }
        _ => {
            room(dst, block.len())?.copy_from_slice(block);
            Ok(block.len())
        }
    }
}

/// A number below n, and room for its power, both as long as n. It is not raised if the result is an
/// error already.
struct Block<'a, K> {
    key: &'a K,
    base: &'a mut [u8],
    power: &'a mut [u8],
    result: Result<(), OpError>,
}

/// The blocks of one part of a batch.
type Blocks<'a, K> = PerLane<Block<'a, K>>;

impl<'a, K> Block<'a, K> {
    /// Takes two numbers of `len` bytes from `left` and has the first one written.
    fn new(
        key: &'a K,
        left: &mut &'a mut [u8],
        len: usize,
        encode: impl FnOnce(&mut [u8]) -> Result<(), OpError>,
    ) -> Block<'a, K> {
        let (base, power) = (carve(left, len), carve(left, len));
        let result = encode(base);
        Block { key, base, power, result }
    }

    /// The power.
    fn raised(self) -> Result<&'a mut [u8], OpError> {
        self.result.map(|()| self.power)
    }
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
fn raise_private(cpu: &Cpu, memory: &mut modexp::Memory, blocks: &mut Blocks<'_, PrivateKey>) {
    let token = cpu.avx512().filter(|_| blocks.len() > 1);
    side_by_side(
        blocks.iter_mut().filter(|block| block.result.is_ok()),
        |block| token.and(block.key.kernel.as_ref()).map(modexp::CrtKey::class),
        |lanes, block| private_pays(lanes, block.key),
        |blocks| {
            let blind = |block: &mut &mut Block<'_, PrivateKey>| {
                let blinding = block.key.blinding.as_ref()?;
                Some(blinding.blind(block.base))
            };
            let blinded: PerLane<_> = blocks.iter_mut().map(blind).collect();
            let mut lanes: PerLane<Private<'_>> = PerLane::new();
            for block in blocks.iter_mut() {
                let Some(key) = &block.key.kernel else { continue };
                let (input, out) = (&*block.base, &mut *block.power);
                lanes.push(Private { key, input, out, outcome: Outcome::Fault });
            }
            if let Some(token) = token {
                privates_of(token, memory, &mut lanes);
            }
            let outcomes: PerLane<Outcome> = lanes.into_iter().map(|lane| lane.outcome).collect();
            for ((block, outcome), blinded) in blocks.iter_mut().zip(outcomes).zip(blinded) {
                block.result = match outcome {
                    Outcome::Done => Ok(()),
                    Outcome::BadInput => Err(OpError::BadInput("not below the modulus")),
                    Outcome::Fault => Err(OpError::Fault),
                };
                if let (Some(blinding), Some(blinded)) = (&block.key.blinding, blinded) {
                    let unblind = |unblind| blinding.unblind(block.power, unblind);
                    block.result = block.result.and(blinded.and_then(unblind));
                }
            }
        },
        |block| raise_private_one(block),
    );
}

fn privates_of(token: Avx512, memory: &mut modexp::Memory, lanes: &mut [Private<'_>]) {
    #[cfg(target_arch = "x86_64")]
    modexp::private_avx512(token, memory, lanes);
    // Nothing else has the token.
    #[cfg(not(target_arch = "x86_64"))]
    (|_: Avx512| modexp::private_portable(memory, lanes))(token);
}

fn raise_private_one(block: &mut Block<'_, PrivateKey>) {
    // 0, 1 and n - 1 are their own powers: d is odd, as it has an inverse modulo an even number.
    // AWS-LC refuses them.
    if own_power(block.base, &block.key.n) {
        block.power.copy_from_slice(block.base);
    } else {
        block.result = block.key.key.private(block.base, block.power);
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
fn raise_public(cpu: &Cpu, memory: &mut modexp::Memory, blocks: &mut Blocks<'_, PublicKey>) {
    let token = cpu.avx512().filter(|_| blocks.len() > 1);
    side_by_side(
        blocks.iter_mut().filter(|block| block.result.is_ok()),
        // The kernel takes as long as the longest exponent of its lanes wants.
        |block| Some((token.and(block.key.kernel())?.digits(), block.key.e.len())),
        |lanes, block| public_pays(lanes, block.key),
        |blocks| {
            let mut lanes: PerLane<Power<'_>> = PerLane::new();
            for block in blocks.iter_mut() {
                let Some(modulus) = block.key.kernel() else { continue };
                let (base, out) = (&*block.base, &mut *block.power);
                lanes.push(Power { modulus, base, exponent: &block.key.e, out, ok: false });
            }
            if let Some(token) = token {
                powers_of(token, memory, &mut lanes);
            }
            let done: PerLane<bool> = lanes.into_iter().map(|lane| lane.ok).collect();
            for (block, done) in blocks.iter_mut().zip(done) {
                if !done {
                    block.result = Err(OpError::Library("the exponentiation kernel"));
                }
            }
        },
        |block| block.result = block.key.key.public(block.base, block.power),
    );
}

fn powers_of(token: Avx512, memory: &mut modexp::Memory, lanes: &mut [Power<'_>]) {
    #[cfg(target_arch = "x86_64")]
    modexp::power_public_avx512(token, memory, lanes);
    // Nothing else has the token.
    #[cfg(not(target_arch = "x86_64"))]
    (|_: Avx512| modexp::power_public_portable(memory, lanes))(token);
}
