//! X25519 and X448 (RFC 7748).
//!
//! Keys are the strings of bytes of the RFC, [`key_len`](XdhCurve::key_len) long. Batches run side by side
//! where there is a kernel. Single items of X25519 are AWS-LC's; those of X448 are OpenSSL's, and
//! [`OpError::Unsupported`] where libcrypto is not there.

use lookaside_simd::Cpu;

use crate::batch::{cut, room};
use crate::library::curve25519;
use crate::library::openssl::Ecx;
#[cfg(target_arch = "x86_64")]
use crate::side_by_side;
use crate::{Item, OpError, XdhCurve, random};

#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes448;

/// Whether batches on this CPU run side by side, so that up to eight items are worth collecting.
pub fn has_kernel(cpu: &Cpu) -> bool {
    cfg!(target_arch = "x86_64") && cpu.avx512().is_some()
}

fn public_of(curve: XdhCurve, private: &[u8], out: &mut [u8]) -> Result<(), OpError> {
    match curve {
        XdhCurve::X25519 => {
            out.copy_from_slice(&curve25519::x25519_public(array(private)?));
            Ok(())
        }
        XdhCurve::X448 => Ecx::X448.public(private, out),
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], OpError> {
    bytes.try_into().map_err(|_| OpError::BadInput("a key of another length"))
}

/// Makes key pairs: `src` is empty, `dst` = private || public.
///
/// The private key is random bytes, as the RFC has it: which bits are cleared and set is part of
/// each use.
pub fn generate(cpu: &Cpu, curve: XdhCurve, items: &mut [Item<'_>]) {
    let one = |src: &[u8], dst: &mut [u8]| generate_one(curve, src, dst);
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (XdhCurve::X25519, Some(token)) => {
            side_by_side::run(&lanes::Generate(token), lanes::KEYS_FROM, items, one);
        }
        #[cfg(target_arch = "x86_64")]
        (XdhCurve::X448, Some(token)) => {
            side_by_side::run(&lanes448::Generate(token), lanes448::KEYS_FROM, items, one);
        }
        _ => items.iter_mut().for_each(|item| item.run(one)),
    }
}

/// Public keys: `src` = private, `dst` = public.
pub fn public(cpu: &Cpu, curve: XdhCurve, items: &mut [Item<'_>]) {
    let one = |src: &[u8], dst: &mut [u8]| public_one(curve, src, dst);
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (XdhCurve::X25519, Some(token)) => {
            side_by_side::run(&lanes::Public(token), lanes::KEYS_FROM, items, one);
        }
        #[cfg(target_arch = "x86_64")]
        (XdhCurve::X448, Some(token)) => {
            side_by_side::run(&lanes448::Public(token), lanes448::KEYS_FROM, items, one);
        }
        _ => items.iter_mut().for_each(|item| item.run(one)),
    }
}

/// Shared secrets: `src` = private || the peer's public key, `dst` = the secret.
///
/// [`OpError::BadInput`] where the secret is all zero, which a peer of small order brings about
/// (RFC 7748, 6.1).
pub fn derive(cpu: &Cpu, curve: XdhCurve, items: &mut [Item<'_>]) {
    let one = |src: &[u8], dst: &mut [u8]| derive_one(curve, src, dst);
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (XdhCurve::X25519, Some(token)) => {
            side_by_side::run(&lanes::Derive(token), lanes::SECRETS_FROM, items, one);
        }
        #[cfg(target_arch = "x86_64")]
        (XdhCurve::X448, Some(token)) => {
            side_by_side::run(&lanes448::Derive(token), lanes448::SECRETS_FROM, items, one);
        }
        _ => items.iter_mut().for_each(|item| item.run(one)),
    }
}

fn generate_one(curve: XdhCurve, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    let [] = cut(src, [])?;
    let dst = room(dst, 2 * curve.key_len())?;
    let (private, public) = dst.split_at_mut(curve.key_len());
    random::fill(private)?;
    public_of(curve, private, public)?;
    Ok(dst.len())
}

fn public_one(curve: XdhCurve, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    let [private] = cut(src, [curve.key_len()])?;
    let dst = room(dst, curve.key_len())?;
    public_of(curve, private, dst)?;
    Ok(dst.len())
}

fn derive_one(curve: XdhCurve, src: &[u8], dst: &mut [u8]) -> Result<usize, OpError> {
    let [private, peer] = cut(src, [curve.key_len(); 2])?;
    let dst = room(dst, curve.key_len())?;
    match curve {
        XdhCurve::X25519 => {
            let out = (&mut *dst).try_into().map_err(|_| OpError::DstTooSmall)?;
            curve25519::x25519(array(private)?, array(peer)?, out)?;
        }
        XdhCurve::X448 => Ecx::X448.derive(private, peer, dst)?,
    }
    Ok(dst.len())
}
