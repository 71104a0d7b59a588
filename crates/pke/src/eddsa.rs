//! Ed25519 and Ed448 (RFC 8032).
//!
//! Batches of Ed25519 run side by side where there is a kernel; single items and those with a label
//! are AWS-LC's. Ed448 is OpenSSL's, and [`OpError::Unsupported`] where libcrypto is not there.

use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use crate::batch::{cut, room};
use crate::library::curve25519;
use crate::library::openssl::Ecx;
#[cfg(target_arch = "x86_64")]
use crate::side_by_side;
use crate::{EdCurve, Item, OpError, random};

#[cfg(target_arch = "x86_64")]
mod lanes;

/// Whether batches in [`Mode::Pure`] on this CPU run side by side, so that up to eight items are
/// worth collecting.
pub fn has_kernel(cpu: &Cpu, curve: EdCurve) -> bool {
    curve == EdCurve::Ed25519 && cfg!(target_arch = "x86_64") && cpu.avx512().is_some()
}

fn public_of(curve: EdCurve, seed: &[u8], out: &mut [u8]) -> Result<(), OpError> {
    match curve {
        EdCurve::Ed25519 => {
            let mut pair = Zeroizing::new([0; 64]);
            curve25519::ed25519_pair(array(seed)?, &mut pair);
            out.copy_from_slice(&pair[32..]);
            Ok(())
        }
        EdCurve::Ed448 => Ecx::Ed448.public(seed, out),
    }
}

/// What becomes of a message before it is signed.
///
/// The labels (RFC 8032 calls them contexts) have up to 255 bytes; signatures under one are not
/// valid under another. Ed448 has [`Mode::Pure`] only, with the empty label: OpenSSL 3.0 gives no
/// more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode<'a> {
    /// Ed25519, Ed448.
    #[default]
    Pure,
    /// Ed25519ctx, with a label of one byte at least.
    Labelled(&'a [u8]),
    /// Ed25519ph: the message is hashed first (by this crate), with a label or an empty one.
    Prehashed(&'a [u8]),
}

impl<'a> Mode<'a> {
    fn variant(self) -> Result<curve25519::Variant<'a>, OpError> {
        match self {
            Mode::Pure => Ok(curve25519::Variant::Pure),
            Mode::Labelled(label) if (1..256).contains(&label.len()) => {
                Ok(curve25519::Variant::Labelled(label))
            }
            Mode::Prehashed(label) if label.len() < 256 => {
                Ok(curve25519::Variant::Prehashed(label))
            }
            _ => Err(OpError::BadInput("a label of no or more than 255 bytes")),
        }
    }

    fn pure(self) -> Result<(), OpError> {
        match self {
            Mode::Pure => Ok(()),
            _ => Err(OpError::Unsupported),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], OpError> {
    bytes.try_into().map_err(|_| OpError::BadInput("a part of another length"))
}

/// Makes key pairs: `src` is empty, `dst` = seed || public.
pub fn generate(cpu: &Cpu, curve: EdCurve, items: &mut [Item<'_>]) {
    let one = |src: &[u8], dst: &mut [u8]| generate_one(curve, src, dst);
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (EdCurve::Ed25519, Some(token)) => {
            side_by_side::run(&lanes::Generate(token), lanes::KEYS_FROM, items, one);
        }
        _ => items.iter_mut().for_each(|item| item.run(one)),
    }
}

/// Public keys: `src` = seed, `dst` = public.
pub fn public(cpu: &Cpu, curve: EdCurve, items: &mut [Item<'_>]) {
    let one = |src: &[u8], dst: &mut [u8]| public_one(curve, src, dst);
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (EdCurve::Ed25519, Some(token)) => {
            side_by_side::run(&lanes::Public(token), lanes::KEYS_FROM, items, one);
        }
        _ => items.iter_mut().for_each(|item| item.run(one)),
    }
}

/// Signs: `src` = seed || public || message, `dst` = signature.
///
/// The public key is taken to be that of the seed, as the usual 64-byte private keys of Ed25519
/// have it. It must not come from where the message comes from: two signatures of one message
/// under two public keys give the seed's scalar away.
pub fn sign(cpu: &Cpu, curve: EdCurve, mode: Mode<'_>, items: &mut [Item<'_>]) {
    let one = |src: &[u8], dst: &mut [u8]| sign_one(curve, mode, src, dst);
    match (curve, mode, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (EdCurve::Ed25519, Mode::Pure, Some(token)) => {
            side_by_side::run(&lanes::Sign(token), lanes::KEYS_FROM, items, one);
        }
        _ => items.iter_mut().for_each(|item| item.run(one)),
    }
}

/// Verifies: `src` = public || signature || message, `dst` is not used.
///
/// `Ok(0)`, or [`OpError::AuthFailed`]: also for a public key that is no point, and for a signature
/// whose second half is not below the order.
pub fn verify(cpu: &Cpu, curve: EdCurve, mode: Mode<'_>, items: &mut [Item<'_>]) {
    let one = |src: &[u8], _: &mut [u8]| verify_one(curve, mode, src);
    match (curve, mode, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (EdCurve::Ed25519, Mode::Pure, Some(token)) => {
            side_by_side::run(&lanes::Verify(token), lanes::VERIFIES_FROM, items, one);
        }
        _ => items.iter_mut().for_each(|item| item.run(one)),
    }
}

fn generate_one(curve: EdCurve, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    let [] = cut(src, [])?;
    let dst = room(dst, 2 * curve.key_len())?;
    let (seed, public) = dst.split_at_mut(curve.key_len());
    random::fill(seed)?;
    public_of(curve, seed, public)?;
    Ok(dst.len())
}

fn public_one(curve: EdCurve, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    let [seed] = cut(src, [curve.key_len()])?;
    let dst = room(dst, curve.key_len())?;
    public_of(curve, seed, dst)?;
    Ok(dst.len())
}

fn sign_one(curve: EdCurve, mode: Mode<'_>, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    let (pair, message) = split(src, 2 * curve.key_len())?;
    let dst = room(dst, curve.signature_len())?;
    match curve {
        EdCurve::Ed25519 => {
            let out = (&mut *dst).try_into().map_err(|_| OpError::DstTooSmall)?;
            curve25519::ed25519_sign(mode.variant()?, array(pair)?, message, out)?;
        }
        EdCurve::Ed448 => {
            mode.pure()?;
            let (seed, public) = pair.split_at(curve.key_len());
            Ecx::Ed448.sign(seed, public, message, dst)?;
        }
    }
    Ok(dst.len())
}

fn verify_one(curve: EdCurve, mode: Mode<'_>, src: &[u8]) -> Result<usize, OpError> {
    let (public, rest) = split(src, curve.key_len())?;
    let (signature, message) = split(rest, curve.signature_len())?;
    match curve {
        EdCurve::Ed25519 => {
            curve25519::ed25519_verify(mode.variant()?, array(public)?, array(signature)?, message)?
        }
        EdCurve::Ed448 => {
            mode.pure()?;
            Ecx::Ed448.verify(public, signature, message)?;
        }
    }
    Ok(0)
}

fn split(src: &[u8], len: usize) -> Result<(&[u8], &[u8]), OpError> {
    src.split_at_checked(len).ok_or(OpError::BadInput("the source is too short"))
}
