//! Packets whose associated data or tag lie in memory of their own.

use crate::library::aws_lc::equal;
use crate::{Direction, OpError, Parts, Span, Tag, Text};

use super::regions::{apart, read, region, tag_done, wipe, write};
use super::{Keys, Kind, chain, hash};

const NO_AAD: OpError = OpError::BadInput("the session has no associated data");
const SHORT: OpError = OpError::BadInput("a tag is shorter than the session's");

/// Runs one packet. Associated data and tag are where they are given, or else where `parts` say.
pub(crate) fn run(
    keys: &Keys,
    direction: Direction,
    iv: &[u8],
    parts: &Parts,
    text: &mut Text<'_>,
    (aad, tag): (Option<&[u8]>, Tag<'_>),
) -> Result<usize, OpError> {
    let (src_len, dst_len) = match text {
        Text::InPlace(bytes) => (bytes.len(), bytes.len()),
        Text::Apart { src, dst } => (src.len(), dst.len()),
    };
    let is_aead = matches!(keys.kind, Kind::Aead(_));
    if aad.is_some() && !is_aead {
        return Err(NO_AAD);
    }
    let mut parts = *parts;
    if aad.is_some() {
        parts.aad = Span::default();
    }
    let (limits, len) = (keys.limits(), keys.tag_len());
    limits.but_tag(direction, iv, &parts, src_len, dst_len)?;
    match (&tag, direction) {
        (Tag::InText, _) => limits.tag(direction, &parts, src_len, dst_len)?,
        (Tag::Made(place), Direction::Seal) if place.len() < len => {
            return Err(OpError::DstTooSmall);
        }
        (Tag::Given(given), Direction::Open) if given.len() < len => return Err(SHORT),
        (Tag::Made(_), Direction::Seal) | (Tag::Given(_), Direction::Open) => {}
        _ => return Err(OpError::BadInput("a tag to make is no tag to compare")),
    }
    let at = Span { offset: parts.tag, len: len as u32 };
    match &keys.kind {
        Kind::Auth(key) => {
            let mut bytes = [0; hash::MAX_DIGEST];
            let computed = &mut bytes[..len];
            key.whole(iv, read(text, parts.auth), parts.spare_bits, computed)?;
            match tag {
                Tag::InText => tag_done(direction, text, at, computed)?,
                Tag::Made(place) => place[..len].copy_from_slice(computed),
                Tag::Given(given) if equal(&given[..len], computed) => {}
                Tag::Given(_) => return Err(OpError::AuthFailed),
            }
            Ok(len)
        }
        Kind::Aead(key) => {
            let (copied, mut bytes);
            // The tag, before the text is written.
            let given = match tag {
                Tag::InText if direction == Direction::Open => {
                    bytes = [0; 16];
                    bytes[..len].copy_from_slice(read(text, at));
                    &bytes[..len]
                }
                Tag::Given(given) => &given[..len],
                _ => &[],
            };
            let result = {
                let (aad, mut region) = match aad {
                    Some(aad) => (aad, region(text, parts.cipher)),
                    None if apart(text, parts.aad, parts.cipher).is_none() => {
                        copied = read(text, parts.aad).to_vec();
                        (&copied[..], region(text, parts.cipher))
                    }
                    None => apart(text, parts.aad, parts.cipher).ok_or(NO_AAD)?,
                };
                match direction {
                    Direction::Seal => key.seal(iv, aad, &mut region),
                    Direction::Open => key.open(iv, aad, &mut region, given).map(|()| [0; 16]),
                }
            };
            match (result, tag) {
                (Ok(full), Tag::Made(place)) => place[..len].copy_from_slice(&full[..len]),
                (Ok(full), Tag::InText) if direction == Direction::Seal => {
                    write(text, at).copy_from_slice(&full[..len]);
                }
                (Ok(_), _) => {}
                (Err(e), _) => {
                    if direction == Direction::Open {
                        wipe(text, parts.cipher);
                    }
                    return Err(e);
                }
            }
            Ok(parts.cipher.len as usize)
        }
        Kind::Chain { cipher, auth, order } => {
            let chain = chain::Chain { cipher, auth, order: *order };
            let result = match tag {
                Tag::Made(place) => chain.seal_elsewhere(iv, text, &parts, &mut place[..len]),
                Tag::Given(given) => chain.open_elsewhere(iv, text, &parts, &given[..len]),
                Tag::InText if direction == Direction::Seal => chain.seal(iv, text, &parts, at),
                Tag::InText => chain.open(iv, text, &parts, at),
            };
            if result.is_err() {
                wipe(text, parts.cipher);
            }
            result.map(|()| parts.cipher.len as usize)
        }
        Kind::Cipher(_) | Kind::Tls(_) => Err(OpError::Unsupported),
    }
}
