//! Bursts: many packets of one session in one request.
//!
//! Either source and destination are lists with a segment for each packet, or all packets lie in one
//! piece of memory. Then side by side needs a slice of the destination for each: the piece is cut
//! between the packets. Those that lie otherwise (backwards, between each other's parts) run one after
//! the other behind the rest.

use arrayvec::ArrayVec;
use lookaside_cipher::{Direction, Engine, Error, Packet, Parts, Session, Span, Text};
use lookaside_core::{Buf, Carried, Done, Iv, OpError, Request, Work};

use super::{AtOnce, LANES, PerPacket, Pieces, done, iv, parts, size, words};

/// What [`cut`] and [`apart`] answer for a packet that they leave to be run by itself.
const OVERLAP: OpError = OpError::BadInput { what: "not apart from the packets before it" };

/// A packet's result, as core has it.
type Answer = Result<u32, OpError>;

/// Runs the burst, and sets each packet's result. The whole burst's is the first that failed.
pub(super) fn run(engine: &mut Engine, work: &mut Work) {
    let device = usize::from(work.device);
    let result = packets(engine, work.request_mut(), device);
    work.finish(result);
}

fn packets(engine: &mut Engine, request: &mut Request, device: usize) -> Result<Done, OpError> {
    let Request { op, session, src, dst, carried, .. } = request;
    let prepared = session.prepared.get(device).and_then(Option::as_ref);
    let AtOnce { session, .. } = prepared.and_then(|p| p.get()).ok_or(OpError::Unsupported)?;
    let packets = carried.as_deref_mut().map_or(&mut [][..], Carried::packets_mut);
    if packets.is_empty() {
        return Err(OpError::BadInput { what: "a symmetric request without a packet" });
    }
    let direction = words::direction(*op);
    let n = packets.len();
    let listed = |b: &Buf| b.is_empty() || b.segments().len() == n;
    if n > 1 && dst.segments().len() == n && listed(src) {
        in_segments(engine, session, direction, packets, src, dst);
    } else {
        let mut pieces = Pieces::of(src, dst);
        in_one_piece(engine, session, direction, packets, pieces.text(src, dst));
        pieces.scatter(dst);
    }
    let (mut consumed, mut produced, mut failed) = (0, 0, false);
    for packet in &*packets {
        produced += packet.result.unwrap_or(0) as usize;
        failed |= packet.result.is_err();
        consumed += size(packet);
    }
    if failed {
        for packet in packets {
            packet.result?;
        }
    }
    Ok(done(consumed, produced))
}

/// A segment for each packet.
fn in_segments(
    engine: &mut Engine,
    session: &Session,
    direction: Direction,
    packets: &mut [lookaside_core::Packet],
    src: &Buf,
    dst: &mut Buf,
) {
    let in_place = src.is_empty();
    let sources = src.segments();
    let mut index = 0;
    let groups = packets.chunks_mut(LANES).zip(dst.segments_mut().chunks_mut(LANES));
    for (group, segments) in groups {
        let mut items: PerPacket<Packet<'_>> = ArrayVec::new();
        let mut results: PerPacket<&mut Answer> = ArrayVec::new();
        for (packet, segment) in group.iter_mut().zip(segments) {
            let parts = parts(packet);
            let lookaside_core::Packet { iv: given, result: answer, .. } = packet;
            let text = match (in_place, sources.get(index).and_then(Buf::as_slice)) {
                (true, _) => segment.as_mut_slice().map(Text::InPlace),
                (false, Some(src)) => {
                    Some(Text::Apart { src, dst: segment.as_mut_slice().unwrap_or_default() })
                }
                (false, None) => None,
            };
            index += 1;
            match (text, here(given)) {
                (Some(text), Ok(iv)) => {
                    let result = Err(Error::NotRun);
                    items.push(Packet { session, direction, iv, parts, text, result });
                    results.push(answer);
                }
                (None, _) => *answer = Err(OpError::Unsupported),
                (_, Err(e)) => *answer = Err(e),
            }
        }
        run_all(engine, &mut items, results);
    }
}

/// Runs the packets, and tells their results.
#[inline(always)]
fn run_all(engine: &mut Engine, items: &mut [Packet<'_>], results: PerPacket<&mut Answer>) {
    engine.run(items);
    for (item, result) in items.iter().zip(results) {
        *result = answer(item.result);
    }
}

#[inline(always)]
fn answer(result: Result<usize, Error>) -> Answer {
    match result {
        Ok(n) => Ok(n as u32),
        Err(e) => Err(words::error(e)),
    }
}

/// An IV of a burst in place. A nonce of more than 16 bytes has nowhere to lie that is not written.
#[inline(always)]
fn here(given: &Iv) -> Result<&[u8], OpError> {
    match given {
        Iv::At(_) => Err(OpError::BadInput { what: "a burst's IVs have up to 16 bytes" }),
        Iv::Here { .. } => iv(given, &[]),
    }
}

/// All packets in one piece of memory.
fn in_one_piece(
    engine: &mut Engine,
    session: &Session,
    direction: Direction,
    packets: &mut [lookaside_core::Packet],
    mut text: Text<'_>,
) {
    if !session.side_by_side() {
        return in_turn(engine, session, direction, packets.iter_mut(), &mut text);
    }
    match &mut text {
        Text::InPlace(dst) => cut(engine, session, direction, packets, dst),
        Text::Apart { src, dst } => apart(engine, session, direction, packets, src, dst),
    }
    let mut left = packets.iter_mut().filter(|packet| packet.result == Err(OVERLAP)).peekable();
    if left.peek().is_some() {
        in_turn(engine, session, direction, left, &mut text);
    }
}

/// One after the other: each has all of the memory.
// A function of its own: in a large one its loop would keep less in registers.
#[inline(never)]
fn in_turn<'p>(
    engine: &mut Engine,
    session: &Session,
    direction: Direction,
    packets: impl Iterator<Item = &'p mut lookaside_core::Packet>,
    text: &mut Text<'_>,
) {
    let src = match text {
        Text::InPlace(_) => None,
        Text::Apart { src, .. } => Some(*src),
    };
    let turns = packets.filter_map(|packet| {
        let parts = parts(packet);
        let lookaside_core::Packet { iv: given, result, .. } = packet;
        match src.map_or_else(|| here(given), |src| iv(given, src)) {
            Ok(iv) => Some((iv, parts, move |done| *result = answer(done))),
            Err(e) => {
                *result = Err(e);
                None
            }
        }
    });
    engine.run_in_turn(session, direction, text, turns);
}

/// What of a session says how far its packets reach.
struct Reach {
    parts: [bool; 3],
    tag_len: u32,
}

impl Reach {
    fn of(session: &Session) -> Reach {
        Reach { parts: session.parts(), tag_len: session.tag_len() as u32 }
    }

    /// The bytes of the text that a packet's parts span.
    #[inline(always)]
    fn extent(&self, p: &Parts, session: &Session, direction: Direction) -> (usize, usize) {
        let (mut low, mut high) = (u64::MAX, 0);
        let mut cover = |s: Span| {
            if s.len > 0 {
                low = low.min(u64::from(s.offset));
                high = high.max(u64::from(s.offset) + u64::from(s.len));
            }
        };
        let [aad, cipher, auth] = self.parts;
        if aad {
            cover(p.aad);
        }
        if cipher {
            cover(p.cipher);
        }
        if auth {
            cover(p.auth);
        }
        cover(Span { offset: p.tag, len: self.tag_len });
        if direction == Direction::Seal {
            // A TLS record grows by its MAC and padding.
            high += session.growth(p.cipher.len as usize) as u64;
        }
        (low.min(high) as usize, high as usize)
    }
}

/// The same parts, counted from `low`.
#[inline(always)]
fn rebased(mut parts: Parts, low: usize) -> Parts {
    let low = low as u32;
    for span in [&mut parts.aad, &mut parts.cipher, &mut parts.auth] {
        span.offset = span.offset.wrapping_sub(low);
        if span.len == 0 {
            span.offset = 0;
        }
    }
    parts.tag = parts.tag.wrapping_sub(low);
    parts
}

/// In place: the memory is cut between the packets.
#[inline(never)]
fn cut(
    engine: &mut Engine,
    session: &Session,
    direction: Direction,
    packets: &mut [lookaside_core::Packet],
    dst: &mut [u8],
) {
    let reach = Reach::of(session);
    let mut at = 0;
    let mut rest = dst;
    for group in packets.chunks_mut(LANES) {
        let mut items: PerPacket<Packet<'_>> = ArrayVec::new();
        let mut results: PerPacket<&mut Answer> = ArrayVec::new();
        for packet in group {
            let parts = parts(packet);
            let (low, high) = reach.extent(&parts, session, direction);
            let lookaside_core::Packet { iv: given, result: answer, .. } = packet;
            let iv = match here(given) {
                Ok(iv) => iv,
                Err(e) => {
                    *answer = Err(e);
                    continue;
                }
            };
            if low < at || high - at > rest.len() {
                *answer = Err(OVERLAP);
                continue;
            }
            let (text, behind) = core::mem::take(&mut rest)[low - at..].split_at_mut(high - low);
            (rest, at) = (behind, high);
            let (parts, text) = (rebased(parts, low), Text::InPlace(text));
            let result = Err(Error::NotRun);
            items.push(Packet { session, direction, iv, parts, text, result });
            results.push(answer);
        }
        run_all(engine, &mut items, results);
    }
}

/// Apart: the destination is cut, the source is everybody's.
#[inline(never)]
fn apart(
    engine: &mut Engine,
    session: &Session,
    direction: Direction,
    packets: &mut [lookaside_core::Packet],
    src: &[u8],
    dst: &mut [u8],
) {
    let reach = Reach::of(session);
    let mut at = 0;
    let mut rest = dst;
    for group in packets.chunks_mut(LANES) {
        let mut items: PerPacket<Packet<'_>> = ArrayVec::new();
        let mut results: PerPacket<&mut Answer> = ArrayVec::new();
        for packet in group {
            let parts = parts(packet);
            let (low, high) = reach.extent(&parts, session, direction);
            let lookaside_core::Packet { iv: given, result: answer, .. } = packet;
            let room = core::mem::take(&mut rest);
            // A digest that is only compared leaves the destination alone: it may be short.
            let (from, to) = (low.max(at).min(at + room.len()), high.min(at + room.len()));
            if low < at || low > src.len() {
                rest = room;
                *answer = Err(OVERLAP);
                continue;
            }
            let (text, behind) = room[from - at..].split_at_mut(to.saturating_sub(from));
            (rest, at) = (behind, from + text.len());
            match iv(given, src) {
                Ok(iv) => {
                    let (parts, result) = (rebased(parts, low), Err(Error::NotRun));
                    let src = &src[low..high.min(src.len()).max(low)];
                    let text = Text::Apart { src, dst: text };
                    items.push(Packet { session, direction, iv, parts, text, result });
                    results.push(answer);
                }
                Err(e) => *answer = Err(e),
            }
        }
        run_all(engine, &mut items, results);
    }
}
