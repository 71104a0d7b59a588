//! Bursts: many packets in one request, of one session or of a set.
//!
//! Either source and destination are lists with a segment for each packet, or all packets lie in one
//! piece of memory. Then side by side needs a slice of the destination for each: the piece is cut
//! between the packets. Those that lie otherwise (backwards, between each other's parts) run one after
//! the other behind the rest.

use core::cell::Cell;

use arrayvec::ArrayVec;
use lookaside_cipher::{Direction, Engine, Packet, Parts, Session, Span, Text};
use lookaside_core::{Buf, Carried, Done, Iv, OpError, Request, Work, store_result};

use super::{Keys, LANES, PerPacket, Pieces, direction, done, iv, parts, size};

/// What [`Run::cut`] and [`Run::apart`] answer for a packet that they leave to be run by itself.
const OVERLAP: OpError = OpError::BadInput("not apart from the packets before it");

/// A packet's result.
type Answer = Result<u32, OpError>;

/// What has become of a burst's packets so far.
#[derive(Default)]
struct Tally {
    consumed: usize,
    produced: usize,
    failed: bool,
}

impl Tally {
    /// One more packet with these parts, of which there is this result.
    #[inline(always)]
    fn count(&mut self, parts: &Parts, result: Result<usize, OpError>) -> Answer {
        self.consumed += parts.cipher.len.max(parts.auth.len) as usize;
        match result {
            Ok(n) => {
                self.produced += n;
                Ok(n as u32)
            }
            Err(e) => Err(self.refuse(e)),
        }
    }

    /// One that did not run.
    #[cold]
    fn refuse(&mut self, error: OpError) -> OpError {
        self.failed = true;
        error
    }
}

/// Runs the burst, and sets each packet's result. The whole burst's is the first that failed.
pub(super) fn run(engine: &mut Engine, work: &mut Work) {
    let device = usize::from(work.device);
    let result = packets(engine, work.request_mut(), device);
    work.finish(result);
}

fn packets(engine: &mut Engine, request: &mut Request, device: usize) -> Result<Done, OpError> {
    let Request { op, session, src, dst, carried, .. } = request;
    let keys = Keys::of(session, device).ok_or(OpError::Unsupported)?;
    let packets = carried.as_deref_mut().map_or(&mut [][..], Carried::packets_mut);
    if packets.is_empty() {
        return Err(OpError::BadInput("a symmetric request without a packet"));
    }
    let direction = direction(*op);
    let n = packets.len();
    let listed = |b: &Buf| b.is_empty() || b.segments().len() == n;
    let mut run = Run { engine, keys, direction, tally: Tally::default() };
    if n > 1 && dst.segments().len() == n && listed(src) {
        run.in_segments(packets, src, dst);
    } else if let (Some([]), Some(text)) = (src.as_slice(), dst.as_mut_slice()) {
        run.in_one_piece(packets, Text::InPlace(text));
    } else {
        let mut pieces = Pieces::of(src, dst);
        if let Err(e) = pieces.check() {
            packets.iter_mut().for_each(|p| store_result(&mut p.result, Err(e)));
            return Err(e);
        }
        run.in_one_piece(packets, pieces.text(src, dst));
        pieces.scatter(dst);
    }
    let Tally { consumed, produced, failed } = run.tally;
    if failed {
        for packet in packets {
            packet.result?;
        }
    }
    Ok(done(consumed, produced))
}

/// A burst that is being run.
struct Run<'r> {
    engine: &'r mut Engine,
    keys: Keys<'r>,
    direction: Direction,
    tally: Tally,
}

impl Run<'_> {
    /// A segment for each packet.
    #[inline(never)]
    fn in_segments(&mut self, packets: &mut [lookaside_core::Packet], src: &Buf, dst: &mut Buf) {
        let (keys, direction) = (self.keys, self.direction);
        let in_place = src.is_empty();
        let sources = src.segments();
        let mut index = 0;
        let groups = packets.chunks_mut(LANES).zip(dst.segments_mut().chunks_mut(LANES));
        for (group, segments) in groups {
            let mut items: PerPacket<Packet<'_>> = ArrayVec::new();
            let mut answers: PerPacket<&mut Answer> = ArrayVec::new();
            for (packet, segment) in group.iter_mut().zip(segments) {
                let (parts, session) = (parts(packet), keys.get(packet));
                let lookaside_core::Packet { iv: given, result: answer, .. } = packet;
                let (text, iv) = match (in_place, sources.get(index).and_then(Buf::as_slice)) {
                    (true, _) => (segment.as_mut_slice().map(Text::InPlace), here(given)),
                    (false, Some(src)) => {
                        let dst = segment.as_mut_slice().unwrap_or_default();
                        (Some(Text::Apart { src, dst }), iv(given, src))
                    }
                    (false, None) => (None, here(given)),
                };
                index += 1;
                match (text, session.and_then(|session| Ok((session, iv?)))) {
                    (Some(text), Ok((session, iv))) => {
                        let result = Err(OpError::Cancelled);
                        items.push(Packet { session, direction, iv, parts, text, result });
                        answers.push(answer);
                    }
                    (None, _) => store_result(answer, Err(self.tally.refuse(OpError::Unsupported))),
                    (_, Err(e)) => store_result(answer, Err(self.tally.refuse(e))),
                }
            }
            self.all(&mut items, answers);
        }
    }

    /// Runs the packets, and tells their results.
    #[inline(always)]
    fn all(&mut self, items: &mut [Packet<'_>], answers: PerPacket<&mut Answer>) {
        self.engine.run(items);
        for (item, answer) in items.iter().zip(answers) {
            store_result(answer, self.tally.count(&item.parts, item.result));
        }
    }

    /// All packets in one piece of memory.
    fn in_one_piece(&mut self, packets: &mut [lookaside_core::Packet], mut text: Text<'_>) {
        if !self.keys.any().side_by_side() {
            return self.in_turn(packets.iter_mut(), &mut text);
        }
        match &mut text {
            Text::InPlace(dst) => self.cut(packets, dst),
            Text::Apart { src, dst } => self.apart(packets, src, dst),
        }
        let mut left = packets.iter_mut().filter(|packet| packet.result == Err(OVERLAP)).peekable();
        if left.peek().is_some() {
            self.in_turn(left, &mut text);
        }
    }

    /// One after the other: each has all of the memory.
    fn in_turn<'p>(
        &mut self,
        packets: impl Iterator<Item = &'p mut lookaside_core::Packet>,
        text: &mut Text<'_>,
    ) {
        match self.keys {
            Keys::One(_) => self.in_turn_of::<false>(packets, text),
            Keys::Many(_) => self.in_turn_of::<true>(packets, text),
        }
    }

    // A function of its own for one session and for many: in a large one its loop would keep less in
    // registers.
    #[inline(never)]
    fn in_turn_of<'p, const MANY: bool>(
        &mut self,
        packets: impl Iterator<Item = &'p mut lookaside_core::Packet>,
        text: &mut Text<'_>,
    ) {
        let (keys, any) = (self.keys, self.keys.any());
        let src = match text {
            Text::InPlace(_) => None,
            Text::Apart { src, .. } => Some(*src),
        };
        // Three cells, not one: each is an addition to memory, while moving the whole in and out
        // took as long as the rest of the loop.
        let (consumed, produced, failed) = (Cell::new(0), Cell::new(0), Cell::new(false));
        let turns = packets.filter_map(|packet| {
            consumed.set(consumed.get() + size(packet));
            let (parts, session) = (parts(packet), if MANY { keys.get(packet) } else { Ok(any) });
            let lookaside_core::Packet { iv: given, result: answer, .. } = packet;
            let iv = src.map_or_else(|| here(given), |src| iv(given, src));
            match session.and_then(|session| Ok((session, iv?))) {
                Ok((session, iv)) => Some((session, iv, parts, |done| match done {
                    Ok(n) => {
                        produced.set(produced.get() + n);
                        store_result(answer, Ok(n as u32));
                    }
                    Err(e) => {
                        failed.set(true);
                        store_result(answer, Err(e));
                    }
                })),
                Err(e) => {
                    failed.set(true);
                    store_result(answer, Err(e));
                    None
                }
            }
        });
        if MANY {
            self.engine.run_in_turn_of(any, self.direction, text, turns);
        } else {
            let turns = turns.map(|(_, iv, parts, tell)| (iv, parts, tell));
            self.engine.run_in_turn(any, self.direction, text, turns);
        }
        self.tally.consumed += consumed.get();
        self.tally.produced += produced.get();
        self.tally.failed |= failed.get();
    }

    /// In place: the memory is cut between the packets.
    #[inline(never)]
    fn cut(&mut self, packets: &mut [lookaside_core::Packet], dst: &mut [u8]) {
        let (keys, direction) = (self.keys, self.direction);
        let any = keys.any();
        let reach = Reach::of(any, direction);
        let mut at = 0;
        let mut rest = dst;
        for group in packets.chunks_mut(LANES) {
            let mut items: PerPacket<Packet<'_>> = ArrayVec::new();
            let mut answers: PerPacket<&mut Answer> = ArrayVec::new();
            for packet in group {
                let parts = parts(packet);
                let (low, high) = reach.extent(&parts, any);
                let session = keys.get(packet);
                let lookaside_core::Packet { iv: given, result: answer, .. } = packet;
                let (session, iv) = match session.and_then(|session| Ok((session, here(given)?))) {
                    Ok(both) => both,
                    Err(e) => {
                        store_result(answer, Err(self.tally.refuse(e)));
                        continue;
                    }
                };
                if low < at || high - at > rest.len() {
                    store_result(answer, Err(OVERLAP));
                    continue;
                }
                let (text, behind) =
                    core::mem::take(&mut rest)[low - at..].split_at_mut(high - low);
                (rest, at) = (behind, high);
                let (parts, text) = (rebased(parts, low), Text::InPlace(text));
                let result = Err(OpError::Cancelled);
                items.push(Packet { session, direction, iv, parts, text, result });
                answers.push(answer);
            }
            self.all(&mut items, answers);
        }
    }

    /// Apart: the destination is cut, the source is everybody's.
    #[inline(never)]
    fn apart(&mut self, packets: &mut [lookaside_core::Packet], src: &[u8], dst: &mut [u8]) {
        let (keys, direction) = (self.keys, self.direction);
        let any = keys.any();
        let reach = Reach::of(any, direction);
        let mut at = 0;
        let mut rest = dst;
        for group in packets.chunks_mut(LANES) {
            let mut items: PerPacket<Packet<'_>> = ArrayVec::new();
            let mut answers: PerPacket<&mut Answer> = ArrayVec::new();
            for packet in group {
                let parts = parts(packet);
                let (low, high) = reach.extent(&parts, any);
                let session = keys.get(packet);
                let lookaside_core::Packet { iv: given, result: answer, .. } = packet;
                let room = core::mem::take(&mut rest);
                // A digest that is only compared leaves the destination alone: it may be short.
                let (from, to) = (low.max(at).min(at + room.len()), high.min(at + room.len()));
                if low < at || low > src.len() {
                    rest = room;
                    store_result(answer, Err(OVERLAP));
                    continue;
                }
                let (text, behind) = room[from - at..].split_at_mut(to.saturating_sub(from));
                (rest, at) = (behind, from + text.len());
                match session.and_then(|session| Ok((session, iv(given, src)?))) {
                    Ok((session, iv)) => {
                        let (parts, result) = (rebased(parts, low), Err(OpError::Cancelled));
                        let src = &src[low..high.min(src.len()).max(low)];
                        let text = Text::Apart { src, dst: text };
                        items.push(Packet { session, direction, iv, parts, text, result });
                        answers.push(answer);
                    }
                    Err(e) => store_result(answer, Err(self.tally.refuse(e))),
                }
            }
            self.all(&mut items, answers);
        }
    }
}

/// An IV of a burst in place. A nonce of more than 16 bytes has nowhere to lie that is not written.
#[inline(always)]
fn here(given: &Iv) -> Result<&[u8], OpError> {
    match given {
        Iv::At(_) => Err(OpError::BadInput("a burst's IVs have up to 16 bytes")),
        Iv::Here { .. } => iv(given, &[]),
    }
}

/// What of a session says how far its packets reach.
struct Reach {
    parts: [bool; 3],
    tag_len: u32,
    /// A TLS record grows by its MAC and padding.
    grows: bool,
}

impl Reach {
    fn of(session: &Session, direction: Direction) -> Reach {
        let grows = direction == Direction::Seal && session.growth(0) > 0;
        Reach { parts: session.parts(), tag_len: session.tag_len() as u32, grows }
    }

    /// The bytes of the text that a packet's parts span.
    #[inline(always)]
    fn extent(&self, p: &Parts, session: &Session) -> (usize, usize) {
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
        // Often the same.
        if auth && !(cipher && p.auth == p.cipher) {
            cover(p.auth);
        }
        cover(Span { offset: p.tag, len: self.tag_len });
        if self.grows {
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
