//! Packets whose associated data or tag lie in memory of their own.
//!
//! AEADs, hashes and MACs take them where they are, as the parts of a message in pieces. Chains and TLS
//! records are copied into one piece, where their kernels look for everything.

use arrayvec::ArrayVec;
use lookaside_cipher::{Direction, Engine, Packet, Parts, Session, Span, Text};
use lookaside_core::{Aside, Buf, Carried, Done, OpError, Request, Work, store_result};
use zeroize::Zeroizing;

use super::{Keys, Pieces, direction, done, iv, parts, size};

const OUTSIDE: OpError = OpError::BadInput("a part lies outside of the packet");
const NO_AAD: OpError = OpError::BadInput("the session has no associated data");
const READ_ONLY: OpError = OpError::BadInput("the tag's place cannot be written");
const SCATTERED: OpError = OpError::BadInput("associated data and tags lie in one piece each");

/// Runs the request of such a packet.
#[inline(never)]
pub(super) fn run(engine: &mut Engine, work: &mut Work) {
    let device = usize::from(work.device);
    let result = packet(engine, work.request_mut(), device);
    if let Some(Carried::Aside(aside)) = work.request_mut().carried.as_deref_mut() {
        store_result(&mut aside.packet.result, result.map(|done| done.produced as u32));
    }
    work.finish(result);
}

fn packet(engine: &mut Engine, request: &mut Request, device: usize) -> Result<Done, OpError> {
    let Request { op, session, src, dst, carried, .. } = request;
    let keys = Keys::of(session, device).ok_or(OpError::Unsupported)?;
    let Some(Carried::Aside(aside)) = carried.as_deref_mut() else {
        return Err(OpError::Unsupported);
    };
    let session = keys.get(&aside.packet)?;
    let direction = direction(*op);
    let mut pieces = Pieces::of(src, dst);
    pieces.check()?;
    let text = pieces.text(src, dst);
    let result = match session.parts() {
        // AEADs, hashes and MACs.
        [true, true, false] if session.tag_len() > 0 => in_pieces(session, direction, aside, text),
        [false, false, true] => in_pieces(session, direction, aside, text),
        _ => copied(engine, session, direction, aside, text),
    };
    pieces.scatter(dst);
    result.map(|produced| done(size(&aside.packet), produced))
}

/// The bytes of a text that a span names.
fn within(bytes: &[u8], span: Span) -> Result<&[u8], OpError> {
    let start = span.offset as usize;
    bytes.get(start..start + span.len as usize).ok_or(OUTSIDE)
}

/// A buffer of the caller's in one piece; `None` where it gave none.
fn given(buf: &Buf) -> Result<Option<&[u8]>, OpError> {
    match buf.is_empty() {
        true => Ok(None),
        false => buf.as_slice().map(Some).ok_or(SCATTERED),
    }
}

/// As a message in pieces.
fn in_pieces(
    session: &Session,
    direction: Direction,
    aside: &mut Aside,
    mut text: Text<'_>,
) -> Result<usize, OpError> {
    let Aside { packet, aad, tag } = aside;
    let Parts { aad: aad_span, cipher, auth, tag: tag_at, spare_bits } = parts(packet);
    if spare_bits != 0 {
        return Err(OpError::BadInput("spare bits"));
    }
    let tag_len = session.tag_len();
    let tag_span = Span { offset: tag_at, len: tag_len as u32 };
    let [is_aead, ..] = session.parts();
    let region = if is_aead { cipher } else { auth };
    // Everything is looked at before anything is written.
    let read: &[u8] = match &text {
        Text::InPlace(bytes) => bytes,
        Text::Apart { src, .. } => src,
    };
    let nonce = iv(&packet.iv, read)?;
    let aad = match given(aad)? {
        Some(_) if !is_aead => return Err(NO_AAD),
        Some(aad) => aad,
        None if is_aead => within(read, aad_span)?,
        None => &[],
    };
    // A copy: the text may be written before it is compared.
    let copy = |tag: &[u8]| tag.iter().copied().collect::<ArrayVec<u8, 64>>();
    let expected = match (direction, given(tag)?) {
        (Direction::Seal, Some(place)) if place.len() < tag_len => {
            return Err(OpError::DstTooSmall);
        }
        (Direction::Seal, None) => {
            let dst = match &text {
                Text::InPlace(bytes) => &bytes[..],
                Text::Apart { dst, .. } => &dst[..],
            };
            within(dst, tag_span).map_err(|_| OpError::DstTooSmall)?;
            None
        }
        (Direction::Seal, Some(_)) => None,
        (Direction::Open, Some(tag)) => {
            let short = OpError::BadInput("a tag is shorter than the session's");
            Some(copy(tag.get(..tag_len).ok_or(short)?))
        }
        (Direction::Open, None) => Some(copy(within(read, tag_span)?)),
    };
    let mut running = session.start(direction, nonce)?;
    running.lengths(aad.len(), region.len as usize)?;
    if is_aead {
        running.aad(aad)?;
    }
    let range = region.offset as usize..region.offset as usize + region.len as usize;
    if is_aead {
        running.update(match &mut text {
            Text::InPlace(bytes) => Text::InPlace(bytes.get_mut(range.clone()).ok_or(OUTSIDE)?),
            Text::Apart { src, dst } => Text::Apart {
                src: src.get(range.clone()).ok_or(OUTSIDE)?,
                dst: dst.get_mut(range.clone()).ok_or(OpError::DstTooSmall)?,
            },
        })?;
    } else {
        running.update(Text::Apart { src: within(read, region)?, dst: &mut [] })?;
    }
    let produced = if is_aead { region.len as usize } else { tag_len };
    let dst = match text {
        Text::InPlace(bytes) => bytes,
        Text::Apart { dst, .. } => dst,
    };
    match expected {
        Some(expected) => running.verify(&expected).inspect_err(|_| {
            if is_aead {
                dst[range].fill(0);
            }
        })?,
        None => {
            let place = match tag.is_empty() {
                false => tag.as_mut_slice().ok_or(READ_ONLY)?,
                true => &mut dst[tag_at as usize..],
            };
            running.finish(&mut place[..tag_len])?;
        }
    }
    Ok(produced)
}

/// In a copy: the text, the associated data and the tag behind it.
fn copied(
    engine: &mut Engine,
    session: &Session,
    direction: Direction,
    aside: &mut Aside,
    text: Text<'_>,
) -> Result<usize, OpError> {
    let Aside { packet, aad, tag } = aside;
    let (aad, tag_len) = (given(aad)?, session.tag_len());
    let mut parts = parts(packet);
    let [takes_aad, _, is_auth] = session.parts();
    if aad.is_some() && !takes_aad {
        return Err(NO_AAD);
    }
    let (src, dst): (Option<&[u8]>, &mut [u8]) = match text {
        Text::InPlace(bytes) => (None, bytes),
        Text::Apart { src, dst } => (Some(src), dst),
    };
    let source = src.unwrap_or(dst);
    within(source, parts.cipher)?;
    if is_auth {
        within(source, parts.auth)?;
    }
    let room = source.len().max(dst.len());
    let all = room + aad.map_or(0, <[u8]>::len) + tag_len;
    let mut copy = Zeroizing::new(Vec::new());
    copy.try_reserve_exact(all).map_err(|_| OpError::NoMemory)?;
    copy.extend_from_slice(source);
    copy.resize(room, 0);
    let place = |len: usize| u32::try_from(len).map_err(|_| OUTSIDE);
    if let Some(aad) = aad {
        parts.aad = Span { offset: place(copy.len())?, len: place(aad.len())? };
        copy.extend_from_slice(aad);
    }
    let own_tag = !tag.is_empty() && tag_len > 0;
    if own_tag && direction == Direction::Seal && !tag.is_writable() {
        return Err(READ_ONLY);
    }
    let tag_at = copy.len();
    if own_tag {
        parts.tag = place(tag_at)?;
        let given = given(tag)?.unwrap_or_default();
        let short = match direction {
            Direction::Seal => OpError::DstTooSmall,
            Direction::Open => OpError::BadInput("a tag is shorter than the session's"),
        };
        copy.extend_from_slice(given.get(..tag_len).ok_or(short)?);
    }
    let nonce = iv(&packet.iv, source)?;
    // What is written: all of the regions, and what a TLS record grows by.
    let end = |span: Span| span.offset as usize + span.len as usize;
    let grows = match direction {
        Direction::Seal => session.growth(parts.cipher.len as usize),
        Direction::Open => 0,
    };
    let mut written = [parts.cipher.offset as usize..end(parts.cipher) + grows, 0..0, 0..0];
    if is_auth && src.is_some() {
        written[1] = parts.auth.offset as usize..end(parts.auth);
    }
    if !own_tag && direction == Direction::Seal && tag_len > 0 {
        written[2] = parts.tag as usize..parts.tag as usize + tag_len;
    }
    if written.iter().any(|w| w.end > dst.len()) {
        return Err(OpError::DstTooSmall);
    }
    // What fails leaves the destination as it was.
    let produced = engine.run_one(Packet {
        session,
        direction,
        iv: nonce,
        parts,
        text: Text::InPlace(&mut copy),
        result: Err(OpError::Cancelled),
    })?;
    for region in written {
        dst[region.clone()].copy_from_slice(&copy[region]);
    }
    if own_tag && direction == Direction::Seal {
        let place = tag.as_mut_slice().ok_or(READ_ONLY)?;
        place[..tag_len].copy_from_slice(&copy[tag_at..tag_at + tag_len]);
    }
    Ok(produced)
}
