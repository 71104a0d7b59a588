//! One engine's channel: an instance of the card of its own.

use std::{collections::VecDeque, mem, sync::Arc};

use lookaside_compress::{Codec, Scratch, adler32, compress_bound, crc32};
use lookaside_core::{
    Batch, Buf, Channel, Checksum, Completed, Compression, Done, Flush, Format, Huffman, Lost, Op,
    OpError, Status, Wake, Work,
};
use lookaside_quickassist::*;
use lookaside_simd::Cpu;

use crate::{
    Verify,
    card::{Card, Lent},
    flight::{Flight, Way},
    frame,
    memory::Memory,
};

/// The most requests of a channel that are at the card.
pub(crate) const DEPTH: usize = 32;

/// The largest source and the largest result: what libusdm gives in one piece, twice over.
pub(crate) const LARGEST: usize = 1 << 20;

/// How long a card that failed is left alone.
const REST_NS: u64 = 100_000_000;

/// Between two polls of a card that had nothing.
const PAUSE_NS: u64 = 10_000;

/// More room than the caller has: a result that does not fit is seen as such.
const SLACK: usize = 64;

/// What a session of the runtime's is for this device.
pub(crate) struct Plan {
    pub(crate) spec: Compression,
}

/// The parameters of a session of the card: requests with equal ones share it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Key {
    way: Way,
    level: u8,
    huffman: Huffman,
    adler: bool,
}

impl Key {
    pub(crate) fn new(spec: &Compression, way: Way) -> Key {
        let adler = spec.checksum_in_force() == Checksum::Adler32;
        match way {
            Way::Compress => Key { way, level: spec.level, huffman: spec.huffman, adler },
            Way::Decompress => Key { way, level: 1, huffman: Huffman::Dynamic, adler },
        }
    }

    fn huffman(self) -> CpaDcHuffType {
        match self.huffman {
            Huffman::Static => CPA_DC_HT_STATIC,
            Huffman::Dynamic => CPA_DC_HT_FULL_DYNAMIC,
        }
    }

    pub(crate) fn setup(self, card: &Card) -> CpaDcSessionSetupData {
        let best = card.best_tree && self.huffman == Huffman::Dynamic;
        let huffman = if card.dynamic { self.huffman() } else { CPA_DC_HT_STATIC };
        CpaDcSessionSetupData {
            compLevel: CpaDcCompLvl(self.level.into()),
            compType: CPA_DC_DEFLATE,
            huffType: huffman,
            autoSelectBestHuffmanTree: if best { CPA_DC_ASB_ENABLED } else { CPA_DC_ASB_DISABLED },
            sessDirection: match self.way {
                Way::Compress => CPA_DC_DIR_COMPRESS,
                Way::Decompress => CPA_DC_DIR_DECOMPRESS,
            },
            sessState: CPA_DC_STATELESS,
            windowSize: CPA_DC_WINSIZE_32K,
            minMatch: CPA_DC_MIN_3_BYTE_MATCH,
            lz4BlockMaxSize: CPA_DC_LZ4_MAX_BLOCK_SIZE_64K,
            lz4BlockChecksum: CPA_FALSE,
            lz4BlockIndependence: CPA_FALSE,
            checksum: if self.adler { CPA_DC_ADLER32 } else { CPA_DC_CRC32 },
            accumulateXXHash: CPA_FALSE,
        }
    }

    fn checksum(self, bytes: &[u8]) -> u32 {
        match self.adler {
            true => adler32(1, bytes),
            false => crc32(0, bytes),
        }
    }
}

/// A request at the card.
struct Airborne {
    work: Work,
    flight: Flight,
    key: Key,
    /// Bytes of the header before what the card was given.
    head: usize,
    len: usize,
    since_ns: u64,
}

/// What became of an attempt to give a request to the card.
enum Start {
    Flies,
    /// The ring is full.
    Busy,
    /// Not this one; the next device has it.
    Not,
}

pub(crate) struct CardChannel {
    card: Arc<Card>,
    verify: Option<Codec>,
    timeout_ns: u64,
    lent: Option<Lent>,
    sessions: Vec<(Key, Memory)>,
    idle: Vec<Flight>,
    airborne: VecDeque<Airborne>,
    /// What the card did not answer in time; it still may.
    stuck: Vec<Flight>,
    /// Taken, and the ring was full.
    waiting: Option<Work>,
    /// Not for this card.
    refused: VecDeque<Work>,
    /// Until when the card is left alone.
    rests_until_ns: u64,
    now_ns: u64,
    /// The last poll brought nothing.
    silent: bool,
    scratch: Scratch,
    spare: Vec<u8>,
}

impl CardChannel {
    pub(crate) fn new(card: Arc<Card>, verify: Verify, timeout_ns: u64) -> CardChannel {
        let codec = Codec::new(&Compression::default(), Cpu::host()).ok();
        CardChannel {
            lent: card.lend(),
            card,
            verify: codec.filter(|_| verify == Verify::Software),
            timeout_ns,
            sessions: Vec::new(),
            idle: Vec::new(),
            airborne: VecDeque::with_capacity(DEPTH),
            stuck: Vec::new(),
            waiting: None,
            refused: VecDeque::new(),
            rests_until_ns: 0,
            now_ns: 0,
            silent: false,
            scratch: Scratch::new(),
            spare: Vec::new(),
        }
    }

    /// Whether the card takes requests now. A child of a fork has no card: its parent's instances are the parent's.
    fn works(&mut self, now_ns: u64) -> bool {
        if now_ns < self.rests_until_ns || self.stuck.len() >= DEPTH {
            return false;
        }
        if self.card.process != std::process::id() {
            return false;
        }
        if self.lent.is_none() {
            self.lent = self.card.lend();
            if self.lent.is_none() {
                self.rests_until_ns = now_ns + REST_NS;
            }
        }
        self.lent.is_some()
    }

    fn rest(&mut self) {
        self.rests_until_ns = self.now_ns + REST_NS;
    }

    /// Tries to give a request to the card.
    fn start(&mut self, work: &mut Option<Work>) -> Start {
        let (Some(of), Some(lent)) = (work.as_ref(), self.lent.as_ref()) else { return Start::Not };
        let Some(plan) = of.prepared::<Plan>() else { return Start::Not };
        let request = of.request();
        let (way, flush) = match (request.op, request.args.flush, plan.spec.format) {
            (Op::Compress, Flush::Finish, _) => (Way::Compress, CPA_DC_FLUSH_FINAL),
            (Op::Compress, _, Format::Raw) => (Way::Compress, CPA_DC_FLUSH_FULL),
            (Op::Decompress, ..) => (Way::Decompress, CPA_DC_FLUSH_FINAL),
            _ => return Start::Not,
        };
        let len = request.src.len();
        if len == 0 || len > LARGEST || !request.dst.is_writable() {
            return Start::Not;
        }
        let key = Key::new(&plan.spec, way);
        let room = match way {
            Way::Compress => match self.card.bound(lent, key.setup(&self.card).huffType, len) {
                Some(bound) => bound + SLACK,
                None => return Start::Not,
            },
            Way::Decompress => request.dst.len().min(LARGEST) + SLACK,
        };
        let session = match self.sessions.iter().position(|(k, _)| *k == key) {
            Some(known) => known,
            None => {
                let setup = key.setup(&self.card);
                let Some(session) = self.card.session(lent, &setup) else { return Start::Not };
                self.sessions.push((key, session));
                self.sessions.len() - 1
            }
        };
        let flight = self.idle.pop().or_else(|| Flight::new(&self.card, lent));
        let Some(mut flight) = flight else { return Start::Not };
        if !flight.reserve(&self.card, lent, len, room) {
            return Start::Not;
        }
        copy(&request.src, flight.src_mut());
        let head = match way {
            Way::Compress => Some(0),
            Way::Decompress => frame::header_len(plan.spec.format, &flight.src()[..len]),
        };
        let Some(head) = head.filter(|head| *head < len) else {
            self.idle.push(flight);
            return Start::Not;
        };
        let what = (&self.sessions[session].1, way, flush);
        let status = flight.submit(&self.card, lent, what, head..len, room, u32::from(key.adler));
        match (status, work.take()) {
            (CPA_STATUS_SUCCESS, Some(work)) => {
                self.airborne.push_back(Airborne {
                    work,
                    flight,
                    key,
                    head,
                    len,
                    since_ns: self.now_ns,
                });
                self.silent = false;
                Start::Flies
            }
            (status, of) => {
                *work = of;
                self.idle.push(flight);
                match status {
                    CPA_STATUS_RETRY => Start::Busy,
                    // A card that restarts, or failed altogether, is asked again later.
                    CPA_STATUS_RESTARTING | CPA_STATUS_FATAL => {
                        self.rest();
                        Start::Not
                    }
                    _ => Start::Not,
                }
            }
        }
    }

    /// Gives it to the card, or puts it where it waits or goes on from.
    fn accept(&mut self, now_ns: u64, work: Work) {
        let mut work = Some(work);
        let start = match self.works(now_ns) {
            true => self.start(&mut work),
            false => Start::Not,
        };
        match start {
            Start::Flies => {}
            Start::Busy => self.waiting = work,
            Start::Not => self.refused.extend(work),
        }
    }

    fn retry(&mut self, now_ns: u64) {
        if self.airborne.len() + self.stuck.len() < DEPTH
            && let Some(work) = self.waiting.take()
        {
            self.accept(now_ns, work);
        }
    }

    /// The answer to a request, judged. `None`: it is not one to give to anybody, and the next device has the request.
    fn judge(&mut self, done: &mut Airborne, status: CpaStatus) -> Option<Done> {
        let results = done.flight.results();
        if status != CPA_STATUS_SUCCESS || results.status != CPA_DC_OK {
            if matches!(status, CPA_STATUS_RESTARTING | CPA_STATUS_FATAL) {
                self.rest();
            }
            return None;
        }
        let (consumed, produced) = (results.consumed as usize, results.produced as usize);
        let plan = done.work.prepared::<Plan>()?;
        let spec = plan.spec.clone();
        let given = done.flight.src().get(done.head..done.len)?;
        let made = done.flight.dst().get(..produced)?;
        let plain = match done.key.way {
            Way::Compress => given,
            Way::Decompress => made,
        };
        let checksum = done.key.checksum(plain);
        if checksum != results.checksum || consumed > given.len() {
            return None;
        }
        let in_force = spec.checksum_in_force();
        let reported = if in_force == Checksum::None { 0 } else { checksum.into() };
        let dst = &mut done.work.request_mut().dst;
        if done.key.way == Way::Decompress {
            let (trailer, trailer_len) = frame::trailer(spec.format, checksum, produced);
            let behind = given[consumed..].get(..trailer_len)?;
            let ended = results.endOfLastBlock == CPA_TRUE;
            if !ended || produced > dst.len() || behind != &trailer[..trailer_len] {
                return None;
            }
            write(dst, &[made]);
            let consumed = done.head + consumed + trailer_len;
            return Some(Done { consumed, produced, checksum: reported, status: Status::End });
        }
        let ends = done.work.request().args.flush == Flush::Finish;
        if consumed != given.len()
            || !verified(
                self.verify.as_ref(),
                &mut self.scratch,
                &mut self.spare,
                given,
                made,
                ends,
            )
        {
            return None;
        }
        let header = frame::header(spec.format, spec.level);
        let (trailer, trailer_len) = frame::trailer(spec.format, checksum, given.len());
        let all = header.len() + produced + trailer_len;
        let dst = &mut done.work.request_mut().dst;
        if all > dst.len() || all > compress_bound(spec.format, given.len()) {
            return None;
        }
        write(dst, &[header, made, &trailer[..trailer_len]]);
        let status = if ends { Status::End } else { Status::Complete };
        Some(Done { consumed, produced: all, checksum: reported, status })
    }

    /// Hands back what has landed.
    fn collect(&mut self, done: &mut Completed) -> usize {
        let mut n = 0;
        for _ in 0..self.airborne.len() {
            let Some(mut one) = self.airborne.pop_front() else { break };
            match one.flight.landed() {
                // The runtime resets a channel that answers nothing; this one may answer others.
                None if self.now_ns.saturating_sub(one.since_ns) >= self.timeout_ns => {
                    n += 1;
                    self.rest();
                    hand_on(done, one.work);
                    self.stuck.push(one.flight);
                }
                None => self.airborne.push_back(one),
                Some(status) => {
                    n += 1;
                    match self.judge(&mut one, status) {
                        Some(answer) => done.push(one.work, Ok(answer)),
                        None => hand_on(done, one.work),
                    }
                    self.idle.push(one.flight);
                }
            }
        }
        for mut flight in mem::take(&mut self.stuck) {
            match flight.landed() {
                Some(_) => self.idle.push(flight),
                None => self.stuck.push(flight),
            }
        }
        n
    }

    fn poll_card(&mut self) {
        if self.airborne.is_empty() && self.stuck.is_empty() {
            return;
        }
        let Some(lent) = self.lent.as_ref().filter(|_| self.card.process == std::process::id())
        else {
            return;
        };
        match self.card.poll(lent) {
            CPA_STATUS_SUCCESS | CPA_STATUS_RETRY => {}
            // What it holds it may still answer; the time-out decides.
            _ => self.rest(),
        }
    }
}

/// Whether what the card made is what it was given, by a decoder of ours.
fn verified(
    codec: Option<&Codec>,
    scratch: &mut Scratch,
    spare: &mut Vec<u8>,
    given: &[u8],
    made: &[u8],
    ends: bool,
) -> bool {
    let Some(codec) = codec else { return true };
    let room = given.len();
    if spare.len() < room {
        spare.resize(room, 0);
    }
    let ended;
    let stream = match ends {
        true => made,
        false => {
            // An empty last block.
            ended = [made, &[3, 0]].concat();
            &ended
        }
    };
    let back = codec.decompress(scratch, stream, &mut spare[..room]);
    back.is_ok_and(|back| {
        back.consumed == stream.len() && back.produced == room && spare[..room] == *given
    })
}

/// The request as it was, for the next device.
fn hand_on(done: &mut Completed, mut work: Work) {
    work.lose(Lost::Untouched);
    done.push(work, Err(OpError::DeviceLost(Lost::Untouched)));
}

fn copy(src: &Buf, mut to: &mut [u8]) {
    for piece in src.segments() {
        let piece = piece.as_slice().unwrap_or_default();
        let (here, rest) = to.split_at_mut(piece.len());
        here.copy_from_slice(piece);
        to = rest;
    }
}

/// Writes parts one after the other; there is room.
fn write(dst: &mut Buf, parts: &[&[u8]]) {
    match dst.as_mut_slice() {
        Some(mut dst) => {
            for part in parts {
                let (here, rest) = dst.split_at_mut(part.len());
                here.copy_from_slice(part);
                dst = rest;
            }
        }
        None => {
            dst.scatter(&parts.concat());
        }
    }
}

impl Channel for CardChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        self.now_ns = now_ns;
        self.retry(now_ns);
        let mut taken = 0;
        while self.waiting.is_none() && self.airborne.len() + self.stuck.len() < DEPTH {
            let Some(work) = batch.take() else { break };
            taken += 1;
            self.accept(now_ns, work);
        }
        // A card that holds nothing but what it never answered takes nothing more: then others have it.
        while self.airborne.is_empty() && self.stuck.len() >= DEPTH {
            let Some(work) = batch.take() else { break };
            taken += 1;
            self.refused.push_back(work);
        }
        taken
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        self.now_ns = now_ns;
        self.poll_card();
        let mut n = self.collect(done);
        self.silent = n == 0;
        self.retry(now_ns);
        n += self.refused.len();
        self.refused.drain(..).for_each(|work| hand_on(done, work));
        n
    }

    fn in_flight(&self) -> usize {
        self.airborne.len() + self.refused.len() + usize::from(self.waiting.is_some())
    }

    fn wake(&self) -> Wake {
        match (self.refused.is_empty(), self.in_flight()) {
            (_, 0) => Wake::Never,
            (true, _) if self.silent => Wake::At(self.now_ns + PAUSE_NS),
            _ => Wake::Now,
        }
    }

    fn reset(&mut self, done: &mut Completed) {
        self.poll_card();
        self.collect(done);
        // The card's memory is its own: whatever it still writes, the request has not seen it.
        for one in mem::take(&mut self.airborne) {
            hand_on(done, one.work);
            self.stuck.push(one.flight);
        }
        let left = self.waiting.take().into_iter().chain(mem::take(&mut self.refused));
        left.for_each(|work| hand_on(done, work));
        self.rests_until_ns = self.now_ns + self.timeout_ns;
    }
}

impl Drop for CardChannel {
    fn drop(&mut self) {
        self.stuck.extend(mem::take(&mut self.airborne).into_iter().map(|one| one.flight));
        for _ in 0..1000 {
            if self.stuck.is_empty() {
                break;
            }
            self.poll_card();
            for mut flight in mem::take(&mut self.stuck) {
                match flight.landed() {
                    Some(_) => drop(flight),
                    None => self.stuck.push(flight),
                }
            }
        }
        let sessions = mem::take(&mut self.sessions);
        let Some(lent) = self.lent.take() else { return };
        if self.stuck.is_empty() && self.card.process == std::process::id() {
            sessions.iter().for_each(|(_, session)| self.card.end_session(&lent, session));
            self.card.give_back(lent);
        } else {
            // The card has pointers to these; nobody else may have the instance, either.
            mem::forget((sessions, lent, mem::take(&mut self.stuck)));
        }
    }
}
