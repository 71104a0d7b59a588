//! One packet by a kernel that has no use for others: AES-GCM, AES-CTR, AES-ECB, checksums, a copy.
//!
//! Everything here is inlined into the loops that call it, and nothing takes the address of what is
//! passed by value: so a packet's fields stay in registers.

use lookaside_cipher_kernel::{aes, crc};

use super::own::OwnKey;
use super::steps::{matches, refuse, source, tag_done, write};
use super::{Machine, Plan, Turn};
use crate::choice::By;
use crate::single::regions::apart;
use crate::{Direction, OpError, Parts, Span, Text};

/// Runs a packet; none when the session's kernel is not such a one, or does not take the packet.
#[inline(always)]
pub(crate) fn alone(
    machine: &mut Machine,
    plan: &Plan,
    direction: Direction,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, OpError>> {
    match plan.turn? {
        Turn::Gcm => gcm(machine, plan, direction, iv, parts, text),
        Turn::Ctr => ctr(plan, iv, parts, text),
        Turn::Ecb => ecb(plan, direction, iv, parts, text),
        Turn::Gmac => gmac(machine, plan, direction, iv, parts, text),
        Turn::Crc32 | Turn::Crc64 => crc(machine, plan, direction, iv, parts, text),
        Turn::Null => null(plan, iv, parts, text),
    }
}

/// AES-GCM.
#[inline(always)]
pub(crate) fn gcm(
    machine: &mut Machine,
    plan: &Plan,
    direction: Direction,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, OpError>> {
    if !plan.limits.admit_gcm(direction, iv, &parts, text) {
        return None;
    }
    let len = parts.cipher.len as usize;
    let by = plan.by(direction, parts.cipher.len);
    if by == By::Single {
        return None;
    }
    #[cfg(target_arch = "x86_64")]
    if let (Some(OwnKey::GcmBurst(key)), Ok(nonce)) = (&plan.own_key, iv.try_into())
        && parts.aad.len as usize <= aes::gcm_burst::MOST_AAD
        && (by == By::Own || plan.gcm.is_none())
        && let Some((aad, region)) = apart(text, parts.aad, parts.cipher)
    {
        if direction == Direction::Seal {
            let tag = key.seal(nonce, aad, region);
            write(text.destination(), parts.tag, plan.tag_len, &tag);
        } else {
            let tag = key.open(nonce, aad, region);
            if !matches(text, parts.tag, plan.tag_len, &tag) {
                return Some(Err(refuse(text, parts.cipher)));
            }
        }
        return Some(Ok(len));
    }
    if let Some(OwnKey::Gcm(key)) = &plan.own_key
        && (by == By::Own || plan.gcm.is_none())
    {
        let (aad, region) = apart(text, parts.aad, parts.cipher)?;
        if direction == Direction::Seal {
            let tag = key.seal(iv, aad, region);
            write(text.destination(), parts.tag, plan.tag_len, &tag);
        } else {
            let tag = key.open(iv, aad, region);
            if !matches(text, parts.tag, plan.tag_len, &tag) {
                return Some(Err(refuse(text, parts.cipher)));
            }
        }
        return Some(Ok(len));
    }
    let gcm = plan.gcm.as_ref()?;
    if direction == Direction::Seal {
        gcm.seal(&mut machine.scratch, iv, &parts, plan.tag_len, text);
    } else {
        let tag = gcm.open(&mut machine.scratch, iv, &parts, text);
        if !matches(text, parts.tag, plan.tag_len, &tag) {
            return Some(Err(refuse(text, parts.cipher)));
        }
    }
    Some(Ok(len))
}

/// AES-CTR.
#[inline(always)]
pub(crate) fn ctr(
    plan: &Plan,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, OpError>> {
    match &plan.own_key {
        Some(OwnKey::Aes(key)) if plan.limits.admit_ctr(iv, &parts, text) => {
            aes::ctr_from(key, counter(iv)?, part(text, parts.cipher));
            Some(Ok(parts.cipher.len as usize))
        }
        _ => None,
    }
}

/// AES-ECB.
#[inline(always)]
pub(crate) fn ecb(
    plan: &Plan,
    direction: Direction,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, OpError>> {
    match &plan.own_key {
        Some(OwnKey::Aes(key)) if plan.limits.admit_ecb(iv, &parts, text) => {
            let text = part(text, parts.cipher);
            match direction {
                Direction::Seal => aes::ecb_encrypt(key, text),
                Direction::Open => aes::ecb_decrypt(key, text),
            }
            Some(Ok(parts.cipher.len as usize))
        }
        _ => None,
    }
}

/// AES-GMAC.
#[inline(always)]
fn gmac(
    machine: &mut Machine,
    plan: &Plan,
    direction: Direction,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, OpError>> {
    let by = plan.by(direction, parts.auth.len);
    if by == By::Single || !plan.limits.admit(direction, iv, &parts, text) {
        return None;
    }
    let data = source(text, parts.auth);
    let mut tag = [0; 64];
    match (&plan.own_key, &plan.gcm) {
        (Some(OwnKey::Gcm(key)), gcm) if by == By::Own || gcm.is_none() => {
            tag[..16].copy_from_slice(&key.mac(iv, data));
        }
        (_, Some(gcm)) => tag = gcm.mac(&mut machine.scratch, iv, data),
        (_, None) => return None,
    }
    Some(tag_done(plan.tag_len, direction, parts.tag, text, &tag))
}

/// CRC-32 and CRC-64.
#[inline(always)]
fn crc(
    machine: &Machine,
    plan: &Plan,
    direction: Direction,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, OpError>> {
    if !plan.limits.admit_hash(direction, iv, &parts, text) {
        return None;
    }
    let data = source(text, parts.auth);
    let sum = match plan.turn {
        Some(Turn::Crc32) => u64::from(crc::crc32(&machine.cpu, 0, data)) << 32,
        _ => crc::crc64(&machine.cpu, 0, data),
    };
    let sum = sum.to_be_bytes();
    Some(tag_done(plan.tag_len, direction, parts.tag, text, &sum))
}

/// The cipher that leaves texts as they are.
#[inline(always)]
fn null(
    plan: &Plan,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, OpError>> {
    if !plan.limits.admit_null(iv, &parts, text) {
        return None;
    }
    if let Text::Apart { src, dst } = part(text, parts.cipher) {
        dst.copy_from_slice(src);
    }
    Some(Ok(parts.cipher.len as usize))
}

/// The first counter block: an IV of 12 bytes goes before a number of 32 bits that begins with 1.
/// None for an IV of another length.
#[inline(always)]
pub(crate) fn counter(iv: &[u8]) -> Option<u128> {
    match (iv.try_into(), iv.split_first_chunk::<8>()) {
        (Ok(block), _) => Some(u128::from_be_bytes(block)),
        (Err(_), Some((high, low))) => {
            let low = u32::from_be_bytes(low.try_into().ok()?);
            Some(u128::from(u64::from_be_bytes(*high)) << 64 | u128::from(low) << 32 | 1)
        }
        (Err(_), None) => None,
    }
}

/// A region of a text.
#[inline(always)]
pub(crate) fn part<'t>(text: &'t mut Text<'_>, span: Span) -> Text<'t> {
    let range = span.offset as usize..span.offset as usize + span.len as usize;
    match text {
        Text::InPlace(bytes) => Text::InPlace(&mut bytes[range]),
        Text::Apart { src, dst } => Text::Apart { src: &src[range.clone()], dst: &mut dst[range] },
    }
}
