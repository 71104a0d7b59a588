//! Packets whose associated data or tag lie in memory of their own.
//!
//! The service takes them where they are. TLS records are copied into one piece, where their kernel looks for
//! everything.

use lookaside_cipher::{Direction, Engine, Packet, Session, Span, Tag, Text};
use lookaside_core::{Aside, Buf, Carried, Done, Iv, OpError, Request, Work, store_result};
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
    let result = match session.tag_len() {
        // Ciphers alone and TLS records.
        0 => copied(engine, session, direction, aside, text),
        _ => elsewhere(session, direction, aside, text),
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

/// With all of it where it is.
fn elsewhere(
    session: &Session,
    direction: Direction,
    aside: &mut Aside,
    mut text: Text<'_>,
) -> Result<usize, OpError> {
    let Aside { packet, aad, tag } = aside;
    // A nonce that lies in the text is copied: the text may be written before it is read.
    let long = match (&packet.iv, &text) {
        (Iv::Here { .. }, _) => None,
        (at, Text::InPlace(bytes)) => Some(iv(at, bytes)?.to_vec()),
        (at, Text::Apart { src, .. }) => Some(iv(at, src)?.to_vec()),
    };
    let nonce = match &long {
        Some(long) => &long[..],
        None => iv(&packet.iv, &[])?,
    };
    let tag = match (tag.is_empty(), direction) {
        (true, _) => Tag::InText,
        (false, Direction::Seal) => Tag::Made(tag.as_mut_slice().ok_or(READ_ONLY)?),
        (false, Direction::Open) => Tag::Given(tag.as_slice().ok_or(SCATTERED)?),
    };
    session.run_elsewhere(direction, nonce, &parts(packet), &mut text, given(aad)?, tag)
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
