//! What the results of a request say.

use core::hash::Hasher;

use lookaside::{BadReason, Buf, Done, Format, OpError, Response, Status};
use twox_hash::{XxHash32, XxHash64};

use crate::{
    abi::*,
    checksum::{Crc64, adler32, adler32_combine, crc32, crc32_combine},
    counters::Counter,
    process::Process,
    refusal::status_of,
    sal::count_dc_error,
};

use super::{
    frame, overflow,
    request::{Crc, DcRequest},
    setup::{Sum, Way},
    verify,
};

/// The results of a request, before they are written.
pub(super) struct Outcome {
    /// The service's status.
    pub(super) status: CpaDcReqStatus,
    /// The status of the call.
    pub(super) call: CpaStatus,
    pub(super) consumed: usize,
    pub(super) produced: usize,
    pub(super) checksum: u32,
    pub(super) end: bool,
    pub(super) stored: bool,
}

impl Outcome {
    fn of(done: Done) -> Outcome {
        Outcome {
            status: CPA_DC_OK,
            call: CPA_STATUS_SUCCESS,
            consumed: done.consumed,
            produced: done.produced,
            checksum: done.checksum as u32,
            end: done.status == Status::End,
            stored: false,
        }
    }

    fn failed(status: CpaDcReqStatus, call: CpaStatus) -> Outcome {
        Outcome { status, call, ..Outcome::of(Done::default()) }
    }

    fn overflow(done: Done, call: CpaStatus) -> Outcome {
        Outcome { status: CPA_DC_OVERFLOW, call, end: false, ..Outcome::of(done) }
    }
}

/// The first `len` bytes of a buffer, piece by piece.
fn first(buf: &Buf, mut len: usize) -> impl Iterator<Item = &[u8]> {
    buf.segments().iter().map(move |piece| {
        let piece = piece.as_slice().unwrap_or_default();
        let some = &piece[..len.min(piece.len())];
        len -= some.len();
        some
    })
}

pub(super) fn crc32_of(buf: &Buf, len: usize) -> u32 {
    first(buf, len).fold(0, crc32)
}

pub(super) fn adler32_of(buf: &Buf, len: usize) -> u32 {
    first(buf, len).fold(1, adler32)
}

pub(super) fn crc64_of_first(crc64: &Crc64, buf: &Buf, len: usize) -> u64 {
    crc64.of(first(buf, len))
}

/// The code of data that is not DEFLATE.
pub(super) fn bad(src: &Buf, offset: u64) -> CpaDcReqStatus {
    let head = first(src, 1).flatten().next();
    match head {
        Some(byte) if offset <= 1 && byte >> 1 & 3 == 3 => CPA_DC_INVALID_BLOCK_TYPE,
        Some(byte) if offset <= 5 && byte >> 1 & 3 == 0 => CPA_DC_BAD_STORED_BLOCK_LEN,
        _ => CPA_DC_INVALID_CODE,
    }
}

impl DcRequest {
    fn is_deflate(&self) -> bool {
        self.codec.spec().format.is_deflate()
    }

    /// Whether the first block is a stored one, in formats that have some: DEFLATE, LZ4 with lengths.
    #[inline]
    fn is_stored(&self, dst: &Buf, produced: usize) -> bool {
        match self.codec.spec().format {
            Format::Raw => is_stored(dst, produced),
            // The highest bit of the length's four bytes.
            Format::Lz4Blocks => {
                produced > 3 && first(dst, 4).flatten().nth(3).is_some_and(|byte| byte >> 7 == 1)
            }
            _ => false,
        }
    }

    /// The results of an answer; what is counted is counted.
    #[inline]
    pub(super) fn outcome(&self, process: &'static Process, response: Response) -> Outcome {
        let mut outcome = match (self.way, response.result) {
            (Way::Compress, Ok(done)) if self.extra.is_none() => {
                let mut outcome = Outcome::of(done);
                outcome.end = self.flush == CPA_DC_FLUSH_FINAL;
                outcome.stored = self.is_stored(&response.dst, done.produced);
                outcome
            }
            (Way::Decompress, Ok(done)) if self.extra.is_none() => Outcome::of(done),
            _ => self.unusual(process, response),
        };
        let uncompressed = match self.way {
            Way::Compress => outcome.consumed,
            Way::Decompress => outcome.produced,
        };
        if let Some(seed) = self.seed {
            outcome.checksum = self.combine(seed, outcome.checksum, uncompressed as u64);
        }
        self.count(&outcome, uncompressed);
        if let Some(extra) = self.extra.as_deref() {
            // All that is above is of the bytes themselves; the caller is told where they end.
            let (skip_in, skip_out) = &extra.skip;
            if let Some(skip) = skip_in {
                outcome.consumed = skip.position(outcome.consumed);
            }
            if let Some(skip) = skip_out {
                outcome.produced = skip.position(outcome.produced);
            }
        }
        outcome
    }

    fn combine(&self, first: u32, second: u32, len: u64) -> u32 {
        match self.sum {
            // xxHash does not combine: no request of these goes on from another.
            Sum::None | Sum::Xxh32 | Sum::Xxh64 => second,
            Sum::Crc32 | Sum::Both => crc32_combine(first, second, len),
            Sum::Adler32 => adler32_combine(first, second, len),
        }
    }

    #[inline]
    fn count(&self, outcome: &Outcome, uncompressed: usize) {
        let counters = &self.instance.counters;
        let [good, failed, bytes_in, bytes_out] = match self.way {
            Way::Compress => [
                Counter::DcCompressed,
                Counter::DcCompressFailed,
                Counter::DcCompressedIn,
                Counter::DcCompressedOut,
            ],
            Way::Decompress => [
                Counter::DcDecompressed,
                Counter::DcDecompressFailed,
                Counter::DcDecompressedIn,
                Counter::DcDecompressedOut,
            ],
        };
        if outcome.call == CPA_STATUS_SUCCESS {
            counters.count(good);
            counters.add(bytes_in, outcome.consumed as u64);
            counters.add(bytes_out, outcome.produced as u64);
            if let Some(session) = self.session() {
                let last = self.flush == CPA_DC_FLUSH_FINAL && outcome.status == CPA_DC_OK;
                session.count(uncompressed as u64, last);
            }
        } else {
            counters.count(failed);
        }
        if outcome.status != CPA_DC_OK {
            count_dc_error(outcome.status);
        }
    }

    /// The checksum of a request that the service made none for.
    fn sum_of(&self, plain: &Buf, len: usize) -> u32 {
        match self.sum {
            Sum::None => 0,
            Sum::Xxh32 => {
                let mut hash = XxHash32::with_seed(0);
                first(plain, len).for_each(|piece| hash.write(piece));
                hash.finish_32()
            }
            Sum::Xxh64 => {
                let mut hash = XxHash64::with_seed(0);
                first(plain, len).for_each(|piece| hash.write(piece));
                hash.finish() as u32
            }
            Sum::Crc32 | Sum::Both => crc32_of(plain, len),
            Sum::Adler32 => adler32_of(plain, len),
        }
    }

    #[cold]
    fn unusual(&self, process: &'static Process, mut response: Response) -> Outcome {
        let extra = self.extra.as_deref();
        if let Some(chain) = response.take_chain()
            && chain.done() > 0
        {
            let verified = (response.result, response.dst.into_vec());
            let Some(step) = chain.into_steps().into_iter().next() else {
                return Outcome::failed(CPA_DC_FATALERR, CPA_STATUS_FAIL);
            };
            let (src, dst, result) = (step.request.src, step.request.dst, step.result);
            let (result, plain) = (result, verified);
            let right = plain.0.is_ok_and(|done| {
                done.produced == src.len() && verify::is_equal(&src, &plain.1[..done.produced])
            });
            verify::keep_spare(plain.1);
            return self.verified(process, src, dst, result, right);
        }
        let Response { src, dst, result, .. } = response;
        if extra.is_some_and(|extra| extra.verify) && result.is_ok() {
            let produced = result.map_or(0, |done| done.produced);
            let compressed = first(&dst, produced).collect::<Vec<_>>().concat();
            let right = match self.flush {
                // A chain that was answered as one request is not verified.
                CPA_DC_FLUSH_FINAL => false,
                _ => verify::is_right(process, self.codec.spec(), &src, compressed, false),
            };
            return self.verified(process, src, dst, result, right);
        }
        self.settle(process, src, dst, result)
    }

    /// The outcome of a compression that was verified.
    fn verified(
        &self,
        process: &'static Process,
        src: Buf,
        dst: Buf,
        result: Result<Done, OpError>,
        right: bool,
    ) -> Outcome {
        let extra = self.extra.as_deref();
        self.instance.counters.count(Counter::DcVerified);
        if right && !extra.is_some_and(|extra| extra.fails) {
            return self.settle(process, src, dst, result);
        }
        self.replaced(process, src, dst)
    }

    /// The outcome of a compression that was wrong: stored blocks in its place, where that was asked for.
    fn replaced(&self, process: &'static Process, src: Buf, mut dst: Buf) -> Outcome {
        if !self.extra.as_deref().is_some_and(|extra| extra.recover) {
            return Outcome::failed(CPA_DC_VERIFY_ERROR, CPA_STATUS_FAIL);
        }
        let last = self.flush == CPA_DC_FLUSH_FINAL;
        let stored = verify::store(self.codec.spec(), &src, &mut dst, last);
        let verify::Stored { consumed, produced, whole } = stored;
        if !whole && self.is_plane() {
            // Nothing is gone on from there.
            return self.finished(src, dst, Outcome::overflow(Done::default(), CPA_STATUS_FAIL));
        }
        if whole || produced > 0 {
            self.instance.counters.count(Counter::DcRecovered);
        }
        let checksum = self.sum_of(&src, consumed).into();
        let done = Done { consumed, produced, checksum, ..Done::default() };
        if whole {
            return self.settle(process, src, dst, Ok(done));
        }
        let mut outcome = Outcome::overflow(done, CPA_STATUS_SUCCESS);
        outcome.stored = produced > 0;
        self.finished(src, dst, outcome)
    }

    /// The outcome of a result, with all that few requests have.
    fn settle(
        &self,
        process: &'static Process,
        src: Buf,
        mut dst: Buf,
        result: Result<Done, OpError>,
    ) -> Outcome {
        let overflown = match self.is_plane() {
            true => CPA_STATUS_FAIL,
            false => CPA_STATUS_SUCCESS,
        };
        let own_stream = self.extra.as_deref().is_some_and(|extra| extra.dictionary);
        let (src, dst, outcome) = match (self.way, result) {
            (_, Ok(done)) if self.stateful || own_stream => {
                let outcome = self.of_stream(&dst, done, own_stream, overflown);
                (src, dst, outcome)
            }
            (Way::Compress, Ok(done)) => {
                let mut outcome = Outcome::of(done);
                outcome.end = self.flush == CPA_DC_FLUSH_FINAL;
                outcome.stored = self.is_stored(&dst, done.produced);
                (src, dst, outcome)
            }
            (Way::Decompress, Ok(done)) => (src, dst, Outcome::of(done)),
            (Way::Compress, Err(OpError::DstTooSmall)) => {
                let nothing = Done { checksum: self.sum.start().into(), ..Done::default() };
                let done = match self.is_plane() {
                    true => Some(Done::default()),
                    false => {
                        let is_right = |src: &_, part: &_| self.is_part_right(process, src, part);
                        overflow::compress(process, self.codec, &src, &mut dst, nothing, is_right)
                    }
                };
                let Some(done) = done else { return self.replaced(process, src, dst) };
                (src, dst, Outcome::overflow(done, overflown))
            }
            (
                Way::Decompress,
                Err(OpError::DstTooSmall | OpError::BadData { reason: BadReason::Truncated, .. }),
            ) if self.is_deflate() => self.partly(process, src, dst),
            (_, Err(error)) => {
                let outcome = self.error(&src, error);
                (src, dst, outcome)
            }
        };
        self.finished(src, dst, outcome)
    }

    /// Whether a part of a compression is right, where that is asked.
    fn is_part_right(&self, process: &'static Process, src: &Buf, part: &[u8]) -> bool {
        let Some(extra) = self.extra.as_deref().filter(|extra| extra.verify) else { return true };
        self.instance.counters.count(Counter::DcVerified);
        let spec = self.codec.spec();
        !extra.fails && verify::is_right(process, spec, src, part.to_vec(), false)
    }

    /// The outcome with the CRCs that were asked for.
    fn finished(&self, src: Buf, dst: Buf, mut outcome: Outcome) -> Outcome {
        let Some(extra) = self.extra.as_deref() else { return outcome };
        if let Some(len) = extra.framed {
            // What our frame has before and after the blocks is not the caller's.
            outcome.consumed = outcome.consumed.saturating_sub(frame::FRAME_HEADER).min(len);
            outcome.checksum = if self.sum == Sum::None { 0 } else { outcome.checksum };
        }
        if extra.accumulates
            && outcome.call == CPA_STATUS_SUCCESS
            && let Some(session) = self.session()
        {
            let last = self.flush == CPA_DC_FLUSH_FINAL && outcome.status == CPA_DC_OK;
            outcome.checksum = session.accumulate(first(&src, outcome.consumed), last);
        }
        if outcome.call == CPA_STATUS_SUCCESS
            && let Some(crc) = extra.crc
        {
            let crc64 = extra.crc64.unwrap_or(Crc64::ECMA);
            if !self.put_crcs(crc, &crc64, &src, &dst, &outcome) {
                return Outcome::failed(CPA_DC_CRC_INTEG_ERR, CPA_STATUS_FAIL);
            }
        }
        outcome
    }

    /// The outcome of a stream's piece.
    fn of_stream(&self, dst: &Buf, done: Done, own_stream: bool, overflown: CpaStatus) -> Outcome {
        let mut outcome = match done.status {
            // One request's own stream cannot be gone on with.
            Status::Overflow if own_stream => {
                return Outcome::overflow(Done::default(), CPA_STATUS_FAIL);
            }
            Status::Overflow => Outcome::overflow(done, overflown),
            _ => Outcome::of(done),
        };
        let ended = match self.way {
            Way::Compress => self.flush == CPA_DC_FLUSH_FINAL && done.status != Status::Overflow,
            Way::Decompress => done.status == Status::End,
        };
        outcome.end = ended;
        let session = self.session().filter(|_| !own_stream);
        if self.way == Way::Decompress {
            // A stream of raw DEFLATE makes none.
            let piece = self.sum_of(dst, done.produced);
            outcome.checksum = match session {
                Some(session) => session
                    .go_on(|sum| self.combine(sum, piece, done.produced as u64), self.sum.start()),
                None => piece,
            };
        }
        if let Some(session) = session
            && ended
        {
            session.stream_ended(self.way);
        }
        outcome
    }

    /// A decompression that ran out of room, or of data: what there is.
    fn partly(&self, process: &'static Process, src: Buf, dst: Buf) -> (Buf, Buf, Outcome) {
        let overflow::Partial { src, dst, result } = overflow::decompress(process, src, dst);
        let outcome = match result {
            Ok(mut done) => {
                done.checksum = self.sum_of(&dst, done.produced).into();
                match done.status {
                    // It cannot be resumed: a stateless request begins at the start.
                    Status::Overflow => Outcome::overflow(done, CPA_STATUS_FAIL),
                    _ => Outcome::of(done),
                }
            }
            Err(error) => self.error(&src, error),
        };
        (src, dst, outcome)
    }

    fn error(&self, src: &Buf, error: OpError) -> Outcome {
        if self.stateful
            && let Some(session) = self.session()
        {
            session.stream_ended(self.way);
        }
        match error {
            OpError::BadData { offset, reason } => {
                let status = match (self.codec.spec().format, reason) {
                    (format, _) if format.is_deflate() => bad(src, offset),
                    (Format::Zstd, BadReason::Checksum) => {
                        CPA_DC_ZSTD_FRAME_CONTENT_CHECKSUM_MISMATCH
                    }
                    (Format::Zstd, BadReason::Length) => CPA_DC_ZSTD_FRAME_CONTENT_SIZE_MISMATCH,
                    (Format::Zstd, _) => CPA_DC_INVALID_ZSTD_FRAME,
                    (_, BadReason::Block) => CPA_DC_LZ4_DISTANCE_OUT_OF_RANGE_ERR,
                    _ => CPA_DC_LZ4_INVALID_COMP_LEN,
                };
                Outcome::failed(status, CPA_STATUS_FAIL)
            }
            OpError::DstTooSmall => Outcome::overflow(Done::default(), CPA_STATUS_FAIL),
            other => Outcome::failed(CPA_DC_FATALERR, status_of(other)),
        }
    }

    /// Fills in the CRCs that the request asked for. Returns whether the device's agrees, where that was asked.
    fn put_crcs(&self, crc: Crc, crc64: &Crc64, src: &Buf, dst: &Buf, outcome: &Outcome) -> bool {
        let (consumed, produced) = (outcome.consumed, outcome.produced);
        let (plain, len) = match self.way {
            Way::Compress => (src, consumed),
            Way::Decompress => (dst, produced),
        };
        let mut data = CpaCrcData {
            crc32: crc32_of(plain, len),
            adler32: adler32_of(plain, len),
            integrityCrc: CpaIntegrityCrc { iCrc: 0, oCrc: 0 },
            integrityCrc64b: CpaIntegrityCrc64b { iCrc: 0, oCrc: 0 },
        };
        match crc.wide {
            true => {
                data.integrityCrc64b.iCrc = crc64.of(first(src, consumed));
                data.integrityCrc64b.oCrc = crc64.of(first(dst, produced));
            }
            false => {
                data.integrityCrc.iCrc = crc32_of(src, consumed);
                data.integrityCrc.oCrc = crc32_of(dst, produced);
            }
        }
        let found = match self.sum {
            Sum::None | Sum::Xxh32 | Sum::Xxh64 => None,
            Sum::Crc32 | Sum::Both => Some(data.crc32),
            Sum::Adler32 => Some(data.adler32),
        };
        // A stream's checksum is that of all its pieces.
        let agrees = self.stateful || found.is_none_or(|found| found == outcome.checksum);
        crc.put(data);
        agrees || !crc.check
    }
}

/// Whether the first block is a stored one.
#[inline]
fn is_stored(dst: &Buf, produced: usize) -> bool {
    let head = match dst.as_slice() {
        Some(dst) => dst.first().copied(),
        None => first(dst, 1).flatten().copied().next(),
    };
    produced > 0 && head.is_some_and(|byte| byte >> 1 & 3 == 0)
}
