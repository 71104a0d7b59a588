//! One packet by a kernel that has no use for others: AES-GCM, AES-CTR, AES-ECB.
//!
//! Everything here is inlined into the loops that call it, and nothing takes the address of what is
//! passed by value: so a packet's fields stay in registers.

use lookaside_cipher_kernel::aes;

use super::own::OwnKey;
use super::steps::{destination, matches, refuse, source, write};
use super::{Kernel, Machine, Plan};
use crate::{Direction, Error, Parts, Span, Text};

/// Runs a packet; none when the session's kernel is not such a one, or does not take the packet.
#[inline(always)]
pub(crate) fn alone(
    machine: &mut Machine,
    plan: &Plan,
    direction: Direction,
    iv: &[u8],
    parts: Parts,
    text: &mut Text<'_>,
) -> Option<Result<usize, Error>> {
    let len = parts.cipher.len as usize;
    match (plan.kernel, &plan.gcm, &plan.own) {
        (Kernel::Gcm, Some(gcm), _) if plan.limits.admit_gcm(direction, iv, &parts, text) => {
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
        (Kernel::Ctr, _, Some(OwnKey::Aes(key))) if plan.limits.admit_ctr(iv, &parts, text) => {
            aes::ctr(key, &mut counter(iv)?, part(text, parts.cipher));
            Some(Ok(len))
        }
        (Kernel::Ecb, _, Some(OwnKey::Aes(key))) if plan.limits.admit_ecb(iv, &parts, text) => {
            let text = part(text, parts.cipher);
            match direction {
                Direction::Seal => aes::ecb_encrypt(key, text),
                Direction::Open => aes::ecb_decrypt(key, text),
            }
            Some(Ok(len))
        }
        (Kernel::Gmac, Some(gcm), _) if plan.limits.admit(direction, iv, &parts, text) => {
            let tag = gcm.mac(&mut machine.scratch, iv, source(text, parts.auth));
            if direction == Direction::Seal {
                write(destination(text), parts.tag, plan.tag_len, &tag);
            } else if !matches(text, parts.tag, plan.tag_len, &tag) {
                return Some(Err(Error::AuthFailed));
            }
            Some(Ok(plan.tag_len))
        }
        _ => None,
    }
}

/// The first counter block: an IV of 12 bytes goes before a number of 32 bits that begins with 1.
/// None for an IV of another length.
#[inline(always)]
pub(crate) fn counter(iv: &[u8]) -> Option<[u8; 16]> {
    let mut block = [0; 16];
    match iv.len() {
        16 => block.copy_from_slice(iv),
        12 => {
            block[..12].copy_from_slice(iv);
            block[15] = 1;
        }
        _ => return None,
    }
    Some(block)
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
