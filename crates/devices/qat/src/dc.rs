//! Compression and decompression: what is asked of the card, and what of its answers is believed.

use std::{mem, sync::Arc};

use lookaside_compress::{Codec, Scratch, adler32, compress_bound, crc32};
use lookaside_core::{Buf, Checksum, Compression, Done, Flush, Format, Huffman, Op, Status, Work};
use lookaside_quickassist::*;
use lookaside_simd::Cpu;

use crate::{
    Verify,
    card::{Card, Lent},
    flight::{Flight, Way},
    frame,
    memory::Memory,
    port::Unit,
};

/// The largest source and the largest result: what libusdm gives in one piece, twice over.
pub(crate) const LARGEST: usize = 1 << 20;

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
pub(crate) struct Sent {
    flight: Flight,
    key: Key,
    /// Bytes of the header before what the card was given.
    head: usize,
    len: usize,
}

/// A channel's instance for compression.
pub(crate) struct Dc {
    card: Arc<Card>,
    verify: Option<Codec>,
    sessions: Vec<(Key, Memory)>,
    idle: Vec<Flight>,
    scratch: Scratch,
    spare: Vec<u8>,
}

impl Dc {
    pub(crate) fn new(card: Arc<Card>, verify: Verify) -> Dc {
        let codec = Codec::new(&Compression::default(), Cpu::host()).ok();
        Dc {
            card,
            verify: codec.filter(|_| verify == Verify::Software),
            sessions: Vec::new(),
            idle: Vec::new(),
            scratch: Scratch::new(),
            spare: Vec::new(),
        }
    }

    /// The number of the session for these parameters, which is begun if there is none.
    fn session(&mut self, lent: &Lent, key: Key) -> Option<usize> {
        if let Some(known) = self.sessions.iter().position(|(k, _)| *k == key) {
            return Some(known);
        }
        let session = self.card.session(lent, &key.setup(&self.card))?;
        self.sessions.push((key, session));
        Some(self.sessions.len() - 1)
    }
}

impl Unit for Dc {
    type Lent = Lent;
    type Flight = Sent;

    fn lend(card: &Card) -> Option<Lent> {
        card.lend()
    }

    fn send(&mut self, lent: &Lent, work: &Work) -> Option<Result<Sent, CpaStatus>> {
        let plan = work.prepared::<Plan>()?;
        let request = work.request();
        let (way, flush) = match (request.op, request.args.flush, plan.spec.format) {
            (Op::Compress, Flush::Finish, _) => (Way::Compress, CPA_DC_FLUSH_FINAL),
            (Op::Compress, _, Format::Raw) => (Way::Compress, CPA_DC_FLUSH_FULL),
            (Op::Decompress, ..) => (Way::Decompress, CPA_DC_FLUSH_FINAL),
            _ => return None,
        };
        let len = request.src.len();
        if len == 0 || len > LARGEST || !request.dst.is_writable() {
            return None;
        }
        let key = Key::new(&plan.spec, way);
        let session = self.session(lent, key)?;
        let room = match way {
            Way::Compress => self.card.bound(lent, key.setup(&self.card).huffType, len)? + SLACK,
            Way::Decompress => request.dst.len().min(LARGEST) + SLACK,
        };
        let mut flight = self.idle.pop().or_else(|| Flight::new(&self.card, lent))?;
        if !flight.reserve(&self.card, lent, len, room) {
            return None;
        }
        copy(&request.src, flight.src_mut());
        let head = match way {
            Way::Compress => Some(0),
            Way::Decompress => frame::header_len(plan.spec.format, &flight.src()[..len]),
        };
        let Some(head) = head.filter(|head| *head < len) else {
            self.idle.push(flight);
            return None;
        };
        let what = (&self.sessions[session].1, way, flush);
        let status = flight.submit(&self.card, lent, what, head..len, room, u32::from(key.adler));
        if status == CPA_STATUS_SUCCESS {
            return Some(Ok(Sent { flight, key, head, len }));
        }
        self.idle.push(flight);
        Some(Err(status))
    }

    fn poll(card: &Card, lent: &Lent) -> CpaStatus {
        card.poll(lent)
    }

    fn landed(sent: &mut Sent) -> Option<CpaStatus> {
        sent.flight.landed()
    }

    fn judge(&mut self, work: &mut Work, done: &mut Sent) -> Option<Done> {
        let results = done.flight.results();
        if results.status != CPA_DC_OK {
            return None;
        }
        let (consumed, produced) = (results.consumed as usize, results.produced as usize);
        let plan = work.prepared::<Plan>()?;
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
        let dst = &mut work.request_mut().dst;
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
        let ends = work.request().args.flush == Flush::Finish;
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
        let dst = &mut work.request_mut().dst;
        if all > dst.len() || all > compress_bound(spec.format, given.len()) {
            return None;
        }
        write(dst, &[header, made, &trailer[..trailer_len]]);
        let status = if ends { Status::End } else { Status::Complete };
        Some(Done { consumed, produced: all, checksum: reported, status })
    }

    fn keep(&mut self, sent: Sent) {
        self.idle.push(sent.flight);
    }

    fn give_back(&mut self, lent: Lent) {
        let sessions = mem::take(&mut self.sessions);
        sessions.iter().for_each(|(_, session)| self.card.end_session(&lent, session));
        self.card.give_back(lent);
    }

    fn abandon(&mut self) {
        mem::forget(mem::take(&mut self.sessions));
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

pub(crate) fn copy(src: &Buf, mut to: &mut [u8]) {
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
