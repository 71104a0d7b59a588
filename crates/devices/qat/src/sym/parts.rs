//! The parts of a request's packet: where the message, the associated data, the IV and the tag are. What is unusual or wrong
//! goes to the next device, which answers it with the right error.

use lookaside_core::{Aead, Buf, Carried, Cipher, Iv, Op, Packet, Request, Span, Sym};

use super::setup::{AAD, Plan};

/// The most bytes of a message.
pub(crate) const LARGEST: usize = 1 << 20;

/// What the card is given.
pub(crate) struct Parts<'a> {
    pub(crate) text: &'a [u8],
    /// The part of the message that is encrypted or decrypted, and the part that is hashed; a chain may leave bytes out.
    pub(crate) cipher: Span,
    pub(crate) auth: Span,
    pub(crate) aad: &'a [u8],
    pub(crate) iv: &'a [u8],
    /// The tag that is to be the right one; empty where one is made, or there is none.
    pub(crate) tag: &'a [u8],
}

fn within(bytes: &[u8], offset: u32, len: usize) -> Option<&[u8]> {
    let offset = offset as usize;
    bytes.get(offset..offset.checked_add(len)?)
}

fn within_mut(bytes: &mut [u8], offset: u32, len: usize) -> Option<&mut [u8]> {
    let offset = offset as usize;
    bytes.get_mut(offset..offset.checked_add(len)?)
}

/// The one packet of a request, its associated data and tag elsewhere.
fn packet(carried: &Carried) -> Option<(&Packet, Option<&Buf>, Option<&Buf>)> {
    match carried {
        Carried::Packet(packet) => Some((packet, None, None)),
        Carried::Aside(aside) => {
            let own = |buf: &Buf| !buf.is_empty();
            let (aad, tag) = (&aside.aad, &aside.tag);
            Some((&aside.packet, own(aad).then_some(aad), own(tag).then_some(tag)))
        }
        _ => None,
    }
}

/// What is enciphered or hashed: of a chain, both with what lies between.
fn text_of(plan: &Plan, packet: &Packet) -> Span {
    let (cipher, auth) = (packet.cipher, packet.auth);
    match plan.sym {
        Sym::Auth { .. } => auth,
        Sym::Chain { .. } => {
            let end = |span: Span| span.offset.saturating_add(span.len);
            let start = cipher.offset.min(auth.offset);
            Span::new(start, end(cipher).max(end(auth)) - start)
        }
        _ => cipher,
    }
}

/// The cipher of a session alone or of a chain.
fn cipher_of(plan: &Plan) -> Option<Cipher> {
    match plan.sym {
        Sym::Cipher { cipher, .. } | Sym::Chain { cipher, .. } => Some(cipher),
        _ => None,
    }
}

/// Whether a text and an IV of these lengths are what the interface takes.
fn takes(plan: &Plan, text: usize, iv: usize) -> bool {
    let iv_fits = match &plan.sym {
        Sym::Cipher { cipher, .. } | Sym::Chain { cipher, .. } => match cipher {
            Cipher::AesEcb | Cipher::DesEcb | Cipher::TripleDesEcb | Cipher::Sm4Ecb => true,
            Cipher::DesCbc | Cipher::TripleDesCbc => iv == 8,
            // A counter block of 12 bytes is another mode.
            _ => iv == 16,
        },
        Sym::Aead { aead: Aead::AesCcm, .. } => {
            // The length has 15 - iv bytes.
            (7..=13).contains(&iv) && (iv < 13 || text < 1 << 16)
        }
        Sym::Aead { .. } => iv == 12,
        _ => true,
    };
    iv_fits && (1..=LARGEST).contains(&text) && text.is_multiple_of(plan.block)
}

fn is_counter(plan: &Plan) -> bool {
    matches!(cipher_of(plan), Some(Cipher::AesCtr | Cipher::Sm4Ctr))
}

/// Whether a counter of 32 bits and one of 128 count the same: the interface does not say which it is.
fn counts(iv: &[u8], text: usize) -> bool {
    let low = iv.last_chunk().map_or(u32::MAX, |low| u32::from_be_bytes(*low));
    u64::from(low) + text.div_ceil(16) as u64 <= 1 << 32
}

impl<'a> Parts<'a> {
    /// `None` for what is not for the card.
    pub(crate) fn of(plan: &Plan, request: &'a Request) -> Option<Parts<'a>> {
        let (packet, aad_buf, tag_buf) = packet(request.carried.as_deref()?)?;
        let source = match request.src.is_empty() {
            true => request.dst.as_slice()?,
            false => request.src.as_slice()?,
        };
        let span = text_of(plan, packet);
        let text = within(source, span.offset, span.len as usize)?;
        let has_aad = matches!(plan.sym, Sym::Aead { .. });
        let aad = match aad_buf {
            _ if !has_aad && aad_buf.is_some() => return None,
            _ if !has_aad => &[],
            Some(aad) => aad.as_slice()?,
            None => within(source, packet.aad.offset, packet.aad.len as usize)?,
        };
        let Iv::Here { bytes, len } = &packet.iv else { return None };
        let iv = bytes.get(..usize::from(*len))?;
        let here = |part: Span| Span::new(part.offset - span.offset, part.len);
        let (cipher, auth) = match plan.sym {
            Sym::Chain { .. } => (here(packet.cipher), here(packet.auth)),
            _ => (Span::new(0, span.len), Span::new(0, span.len)),
        };
        let enciphered = cipher.len as usize;
        if packet.spare_bits != 0 || aad.len() > AAD || !takes(plan, enciphered, iv.len()) {
            return None;
        }
        if text.len() > LARGEST || auth.len == 0 || is_counter(plan) && !counts(iv, enciphered) {
            return None;
        }
        let tag = match request.op {
            Op::Verify | Op::Open => match tag_buf {
                Some(tag) => tag.as_slice()?.get(..plan.tag_len)?,
                None => within(source, packet.tag, plan.tag_len)?,
            },
            _ => &[],
        };
        Some(Parts { text, cipher, auth, aad, iv, tag }).filter(|_| has_room(plan, request))
    }
}

/// Whether there is room for what is written.
fn has_room(plan: &Plan, request: &Request) -> bool {
    let Some((packet, _, tag)) = request.carried.as_deref().and_then(packet) else { return false };
    let dst = || request.dst.as_slice().filter(|_| request.dst.is_writable());
    let writes_text = !matches!(plan.sym, Sym::Auth { .. });
    let span = text_of(plan, packet);
    let lacks = |dst: &[u8]| within(dst, span.offset, span.len as usize).is_none();
    if writes_text && dst().is_none_or(lacks) {
        return false;
    }
    match (request.op, tag) {
        (Op::Digest | Op::Seal, Some(tag)) => tag.is_writable() && tag.len() >= plan.tag_len,
        (Op::Digest | Op::Seal, None) => {
            dst().is_some_and(|dst| within(dst, packet.tag, plan.tag_len).is_some())
        }
        _ => true,
    }
}

/// Writes the message as the card has encrypted or decrypted it, and the tag it has computed, where the operation has them.
/// `None` where there is no room, which [`Parts::of`] has excluded.
pub(crate) fn write(plan: &Plan, request: &mut Request, text: &[u8], tag: &[u8]) -> Option<()> {
    let (packet, _, own_tag) = packet(request.carried.as_deref()?)?;
    let (span, tag_at, own_tag) = (text_of(plan, packet), packet.tag, own_tag.is_some());
    // Of a chain whose destination lies apart, what is hashed is copied too.
    let apart = !request.src.is_empty();
    let written = match plan.sym {
        Sym::Auth { .. } => [None, None],
        Sym::Chain { .. } if apart => [Some(packet.cipher), Some(packet.auth)],
        _ => [Some(packet.cipher), None],
    };
    for part in written.into_iter().flatten() {
        let from = text.get((part.offset - span.offset) as usize..)?.get(..part.len as usize)?;
        let dst = request.dst.as_mut_slice()?;
        within_mut(dst, part.offset, from.len())?.copy_from_slice(from);
    }
    if matches!(request.op, Op::Digest | Op::Seal) {
        let place = match request.carried.as_deref_mut() {
            Some(Carried::Aside(aside)) if own_tag => {
                aside.tag.as_mut_slice()?.get_mut(..tag.len())?
            }
            _ => within_mut(request.dst.as_mut_slice()?, tag_at, tag.len())?,
        };
        place.copy_from_slice(tag);
    }
    Some(())
}

/// How many bytes a packet's algorithm reads, as its response says.
pub(crate) fn consumed(packet: &Packet) -> usize {
    packet.cipher.len.max(packet.auth.len) as usize
}
