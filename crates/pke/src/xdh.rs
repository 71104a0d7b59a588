//! X25519 and X448 (RFC 7748).
//!
//! Keys are the strings of bytes of the RFC, [`len`](Curve::len) long. Batches run side by side
//! where there is a kernel. Single items of X25519 are AWS-LC's; those of X448 are OpenSSL's, and
//! [`Error::Unsupported`] where libcrypto is not there.

use lookaside_simd::Cpu;

use crate::batch::{cut, room};
use crate::library::curve25519;
use crate::library::openssl::Ecx;
#[cfg(target_arch = "x86_64")]
use crate::side_by_side;
use crate::{Error, Item, random};

#[cfg(target_arch = "x86_64")]
pub(crate) mod lanes;
#[cfg(target_arch = "x86_64")]
mod lanes448;

/// A curve of RFC 7748.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Curve {
    /// Curve25519, keys of 32 bytes.
    X25519,
    /// Curve448, keys of 56 bytes.
    X448,
}

impl Curve {
    /// Both curves.
    pub const ALL: [Curve; 2] = [Curve::X25519, Curve::X448];

    /// The name of the function, e.g. `X25519`.
    pub const fn name(self) -> &'static str {
        match self {
            Curve::X25519 => "X25519",
            Curve::X448 => "X448",
        }
    }

    /// Bytes of a private key, a public key and a shared secret.
    #[allow(clippy::len_without_is_empty)] // No key is empty.
    pub const fn len(self) -> usize {
        match self {
            Curve::X25519 => 32,
            Curve::X448 => 56,
        }
    }

    /// Whether batches on this CPU run side by side, so that up to eight items are worth collecting.
    pub fn has_kernel(self, cpu: &Cpu) -> bool {
        let _ = self; // Both.
        cfg!(target_arch = "x86_64") && cpu.avx512().is_some()
    }

    fn public(self, private: &[u8], out: &mut [u8]) -> Result<(), Error> {
        match self {
            Curve::X25519 => {
                out.copy_from_slice(&curve25519::x25519_public(array(private)?));
                Ok(())
            }
            Curve::X448 => Ecx::X448.public(private, out),
        }
    }
}

fn array<const N: usize>(bytes: &[u8]) -> Result<&[u8; N], Error> {
    bytes.try_into().map_err(|_| Error::BadInput("a key of another length"))
}

/// Makes key pairs: `src` is empty, `dst` = private || public.
///
/// The private key is random bytes, as the RFC has it: which bits are cleared and set is part of
/// each use.
pub fn generate(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (Curve::X25519, Some(token)) => side_by_side::run(&lanes::Generate(token), items),
        #[cfg(target_arch = "x86_64")]
        (Curve::X448, Some(token)) => side_by_side::run(&lanes448::Generate(token), items),
        _ => each(items, |src, dst| generate_one(curve, src, dst)),
    }
}

/// Public keys: `src` = private, `dst` = public.
pub fn public(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (Curve::X25519, Some(token)) => side_by_side::run(&lanes::Public(token), items),
        #[cfg(target_arch = "x86_64")]
        (Curve::X448, Some(token)) => side_by_side::run(&lanes448::Public(token), items),
        _ => each(items, |src, dst| public_one(curve, src, dst)),
    }
}

/// Shared secrets: `src` = private || the peer's public key, `dst` = the secret.
///
/// [`Error::BadInput`] where the secret is all zero, which a peer of small order brings about
/// (RFC 7748, 6.1).
pub fn derive(cpu: &Cpu, curve: Curve, items: &mut [Item<'_>]) {
    match (curve, cpu.avx512()) {
        #[cfg(target_arch = "x86_64")]
        (Curve::X25519, Some(token)) => side_by_side::run(&lanes::Derive(token), items),
        #[cfg(target_arch = "x86_64")]
        (Curve::X448, Some(token)) => side_by_side::run(&lanes448::Derive(token), items),
        _ => each(items, |src, dst| derive_one(curve, src, dst)),
    }
}

fn each(items: &mut [Item<'_>], one: impl Fn(&[u8], &mut [u8]) -> Result<usize, Error>) {
    items.iter_mut().for_each(|item| item.run(&one));
}

fn generate_one(curve: Curve, src: &[u8], dst: &mut [u8]) -> Result<usize, Error> {
    let [] = cut(src, [])?;
    let dst = room(dst, 2 * curve.len())?;
    let (private, public) = dst.split_at_mut(curve.len());
    random::fill(private)?;
    curve.public(private, public)?;
    Ok(dst.len())
}

fn public_one(curve: Curve, src: &[u8], dst: &mut [u8]) -> Result<usize, Error> {
    let [private] = cut(src, [curve.len()])?;
    let dst = room(dst, curve.len())?;
    curve.public(private, dst)?;
    Ok(dst.len())
}

fn derive_one(curve: Curve, src: &[u8], dst: &mut [u8]) -> Result<usize, Error> {
    let [private, peer] = cut(src, [curve.len(); 2])?;
    let dst = room(dst, curve.len())?;
    match curve {
        Curve::X25519 => {
            let out = (&mut *dst).try_into().map_err(|_| Error::DstTooSmall)?;
            curve25519::x25519(array(private)?, array(peer)?, out)?;
        }
        Curve::X448 => Ecx::X448.derive(private, peer, dst)?,
    }
    Ok(dst.len())
}
