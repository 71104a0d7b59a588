//! Symmetric cryptography: stages the packets of a batch for the service's engine.

mod aside;
mod at_once;
mod burst;
mod capability;
mod pieces;

use std::{iter, sync::Arc};

use arrayvec::ArrayVec;
use lookaside_cipher::{Direction, Engine, Packet, Parts, Session, Text};
use lookaside_core::{
    Buf, Carried, Done, Iv, Op, OpError, Prepared, Request, SetupError, Status, Sym, Work,
    store_result,
};
use lookaside_simd::Cpu;
use zeroize::Zeroizing;

use self::at_once::{AtOnce, Set};
pub(crate) use self::capability::capabilities;
use crate::crypto::refused;

/// The most packets that go to the service at once: two rounds of its sixteen lanes.
pub(crate) const LANES: usize = 32;

/// For each of a batch's packets, one of these.
type PerPacket<T> = ArrayVec<T, LANES>;

/// Expands a session's keys.
pub(crate) fn prepare(sym: &Sym, cpu: &Cpu) -> Result<Prepared, SetupError> {
    let session = Session::new(sym.clone(), cpu).map_err(|e| refused(sym.ops()[0], e))?;
    // Where lanes gain nothing, many requests still share one visit to the scheduler.
    Ok(Prepared::with_immediate(AtOnce { session, ops: sym.ops() }).best_batch(LANES))
}

/// A session for packets of these.
pub(crate) fn prepare_set(sessions: &[&Prepared]) -> Option<Prepared> {
    let keys: Option<Vec<Arc<AtOnce>>> = sessions.iter().map(|p| p.get_shared()).collect();
    let (keys, best) = (keys?, sessions.first()?.own_best_batch().unwrap_or(LANES));
    Some(Prepared::with_immediate(Set(keys.into())).best_batch(best))
}

/// The keys that a request's packets use.
#[derive(Clone, Copy)]
enum Keys<'s> {
    One(&'s Session),
    /// Each packet names its own.
    Many(&'s Set),
}

impl<'s> Keys<'s> {
    /// Those of a request that was given to this device.
    #[inline(always)]
    fn of(session: &'s lookaside_core::Session, device: usize) -> Option<Keys<'s>> {
        let prepared = session.prepared.get(device)?.as_ref()?;
        match prepared.get::<AtOnce>() {
            Some(one) => Some(Keys::One(&one.session)),
            None => prepared.get().map(Keys::Many),
        }
    }

    /// A packet's.
    #[inline(always)]
    fn get(self, packet: &lookaside_core::Packet) -> Result<&'s Session, OpError> {
        match self {
            Keys::One(session) => Ok(session),
            Keys::Many(set) => set.get(packet.session),
        }
    }

    /// What they all have in common: algorithms and lengths.
    #[inline(always)]
    fn any(self) -> &'s Session {
        match self {
            Keys::One(session) => session,
            Keys::Many(set) => set.first(),
        }
    }
}

/// Executes requests of one operation, at most [`LANES`], and sets their results.
pub(crate) fn execute(engine: &mut Engine, works: &mut [Work]) {
    // Requests of one packet run together, and so do pieces of texts. A burst is a batch by itself; what
    // has associated data or its tag elsewhere goes alone.
    let kind = |w: &Work| match w.request().carried.as_deref() {
        Some(Carried::Packet(_)) => Kind::Packet,
        Some(Carried::Aside(_)) => Kind::Aside,
        Some(Carried::Running(_)) => Kind::Piece,
        _ => Kind::Burst,
    };
    let mut rest = works;
    while let Some(first) = rest.first_mut() {
        if alone(engine, first).is_some() {
            rest = &mut rest[1..];
            continue;
        }
        let first_kind = kind(first);
        if matches!(first_kind, Kind::Burst | Kind::Aside) {
            match first_kind {
                Kind::Aside => aside::run(engine, first),
                _ => burst::run(engine, first),
            }
            rest = &mut rest[1..];
            continue;
        }
        let n = rest.iter().take_while(|w| kind(w) == first_kind).count();
        let (now, later) = rest.split_at_mut(n);
        match first_kind {
            Kind::Piece => pieces::run(engine, now),
            _ => together(engine, now),
        }
        rest = later;
    }
}

/// What a request carries.
#[derive(PartialEq)]
enum Kind {
    Packet,
    Piece,
    Burst,
    Aside,
}

/// Copies of scattered buffers in one piece: kernels take nothing else.
pub(super) struct Pieces {
    src: Option<Zeroizing<Vec<u8>>>,
    dst: Option<Zeroizing<Vec<u8>>>,
    /// There was no memory for a copy: the request must not run.
    failed: bool,
}

impl Pieces {
    #[inline]
    fn of(src: &Buf, dst: &mut Buf) -> Pieces {
        let scattered = dst.as_mut_slice().is_none() && dst.is_writable();
        let src = (src.as_slice().is_none() && !src.is_empty()).then(|| gather(src));
        let dst = scattered.then(|| gather(dst));
        let failed = matches!(src, Some(None)) || matches!(dst, Some(None));
        // What one copy has is not written back.
        Pieces { src: src.flatten(), dst: dst.flatten().filter(|_| !failed), failed }
    }

    /// # Errors
    /// [`OpError::NoMemory`] where there was none for a copy.
    #[inline]
    fn check(&self) -> Result<(), OpError> {
        if self.failed { Err(OpError::NoMemory) } else { Ok(()) }
    }

    /// The source (`None`: in place) and destination, in one piece each.
    #[inline]
    fn text<'a>(&'a mut self, src: &'a Buf, dst: &'a mut Buf) -> Text<'a> {
        let dst = match &mut self.dst {
            Some(piece) => &mut piece[..],
            // Verifying a tag writes nothing: a destination that cannot be written has no room.
            None => dst.as_mut_slice().unwrap_or_default(),
        };
        match &self.src {
            Some(piece) => Text::Apart { src: piece, dst },
            None => match src.as_slice() {
                Some([]) | None => Text::InPlace(dst),
                Some(src) => Text::Apart { src, dst },
            },
        }
    }

    /// Writes a scattered destination back.
    #[inline]
    fn scatter(&self, dst: &mut Buf) {
        if let Some(piece) = &self.dst {
            dst.scatter(piece);
        }
    }
}

#[cold]
fn gather(buf: &Buf) -> Option<Zeroizing<Vec<u8>>> {
    let mut piece = Zeroizing::new(Vec::new());
    piece.try_reserve_exact(buf.len()).ok()?;
    buf.gather(&mut piece);
    Some(piece)
}

/// Which way an operation goes.
#[inline]
fn direction(op: Op) -> Direction {
    match op {
        Op::Encrypt | Op::Digest | Op::Seal => Direction::Seal,
        _ => Direction::Open,
    }
}

#[inline]
fn parts(p: &lookaside_core::Packet) -> Parts {
    Parts { aad: p.aad, cipher: p.cipher, auth: p.auth, tag: p.tag, spare_bits: p.spare_bits }
}

/// The bytes of an IV that is part of the request, or lies in its source.
#[inline]
fn iv<'a>(iv: &'a Iv, src: &'a [u8]) -> Result<&'a [u8], OpError> {
    const OUTSIDE: OpError = OpError::BadInput("the IV lies outside the source");
    match iv {
        Iv::Here { bytes, len } => bytes.get(..usize::from(*len)).ok_or(OUTSIDE),
        Iv::At(span) => {
            let start = span.offset as usize;
            src.get(start..start + span.len as usize).ok_or(OUTSIDE)
        }
    }
}

/// A long IV that lies in the text itself, which the kernel may be writing: a copy.
type LongIv = Option<Zeroizing<Vec<u8>>>;

/// A request of one packet in one piece of memory, of a session that gains nothing by others: at once,
/// without the lists that [`together`] keeps. `None`: it is not such a one, and as it was.
#[inline(always)]
fn alone(engine: &mut Engine, work: &mut Work) -> Option<()> {
    let device = usize::from(work.device);
    let Request { op, session, src, dst, carried, .. } = work.request_mut();
    let Keys::One(session) = Keys::of(session, device)? else { return None };
    let Carried::Packet(packet) = &mut **carried.as_mut()? else { return None };
    if session.side_by_side() || matches!(packet.iv, Iv::At(_)) {
        return None;
    }
    let mut text = match (src.as_slice()?, dst.as_mut_slice()?) {
        ([], dst) => Text::InPlace(dst),
        (src, dst) => Text::Apart { src, dst },
    };
    let mut result = Err(OpError::Cancelled);
    match iv(&packet.iv, &[]) {
        Ok(iv) => {
            let turn = (iv, parts(packet), |done| result = done);
            engine.run_in_turn(session, direction(*op), &mut text, iter::once(turn));
        }
        Err(e) => result = Err(e),
    }
    store_result(&mut packet.result, result.map(|n| n as u32));
    let consumed = size(packet);
    work.finish(result.map(|produced| done(consumed, produced)));
    Some(())
}

/// Requests of one packet each, side by side.
// A function of its own: what it has on the stack, others would go around.
#[inline(never)]
fn together(engine: &mut Engine, works: &mut [Work]) {
    let mut pieces: PerPacket<Pieces> = works
        .iter_mut()
        .map(|w| {
            let Request { src, dst, .. } = w.request_mut();
            Pieces::of(src, dst)
        })
        .collect();
    let mut ivs: PerPacket<LongIv> =
        works.iter().zip(&pieces).map(|(w, p)| long_iv(w, p)).collect();
    let mut results: PerPacket<Result<usize, OpError>> = ArrayVec::new();
    {
        let mut packets: PerPacket<Packet<'_>> = ArrayVec::new();
        for ((work, pieces), long) in works.iter_mut().zip(&mut pieces).zip(&mut ivs) {
            let device = usize::from(work.device);
            let Request { op, session, src, dst, carried, .. } = work.request_mut();
            let (Some(keys), [packet]) =
                (Keys::of(session, device), carried.as_deref().map_or(&[][..], Carried::packets))
            else {
                results.push(Err(OpError::Unsupported));
                continue;
            };
            let iv = match (long, &packet.iv) {
                (Some(long), _) => Ok(&long[..]),
                (None, here) => iv(here, &[]),
            };
            let (session, iv) =
                match pieces.check().and(iv).and_then(|iv| Ok((keys.get(packet)?, iv))) {
                    Ok(both) => both,
                    Err(e) => {
                        results.push(Err(e));
                        continue;
                    }
                };
            results.push(Ok(0));
            packets.push(Packet {
                session,
                direction: direction(*op),
                iv,
                parts: parts(packet),
                text: pieces.text(src, dst),
                result: Err(OpError::Cancelled),
            });
        }
        engine.run(&mut packets);
        let mut ran = packets.into_iter();
        for result in results.iter_mut().filter(|r| r.is_ok()) {
            if let Some(packet) = ran.next() {
                *result = packet.result;
            }
        }
    }
    for ((work, pieces), result) in works.iter_mut().zip(&pieces).zip(results) {
        let Request { dst, carried, .. } = work.request_mut();
        pieces.scatter(dst);
        let mut consumed = 0;
        for packet in carried.as_deref_mut().map_or(&mut [][..], Carried::packets_mut) {
            store_result(&mut packet.result, result.map(|n| n as u32));
            consumed = size(packet);
        }
        work.finish(result.map(|produced| done(consumed, produced)));
    }
}

/// How many bytes a packet's algorithm reads.
#[inline]
fn size(packet: &lookaside_core::Packet) -> usize {
    packet.cipher.len.max(packet.auth.len) as usize
}

#[inline]
fn done(consumed: usize, produced: usize) -> Done {
    Done { consumed, produced, checksum: 0, status: Status::Complete }
}

/// Copies an IV that lies in the source.
#[inline]
fn long_iv(work: &Work, pieces: &Pieces) -> LongIv {
    let request = work.request();
    let [packet @ lookaside_core::Packet { iv: Iv::At(_), .. }] = request.packets() else {
        return None;
    };
    let src = match (&pieces.src, &pieces.dst) {
        (Some(src), _) => &src[..],
        (None, Some(dst)) if request.src.is_empty() => &dst[..],
        (None, _) if request.src.is_empty() => request.dst.as_slice().unwrap_or_default(),
        (None, _) => request.src.as_slice().unwrap_or_default(),
    };
    // A span that lies outside becomes an IV that no algorithm takes.
    Some(Zeroizing::new(iv(&packet.iv, src).map(<[u8]>::to_vec).unwrap_or_default()))
}
