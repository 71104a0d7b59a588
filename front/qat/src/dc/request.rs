//! One request: from the caller's buffers into a ring, or executed at once.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{Buf, CompressSession, Compression, Feed, Format, Request, Response};

use crate::{
    abi::*,
    buffers::{self, check_apart, length},
    checksum::Crc64,
    counters::Counter,
    flights::Flight,
    instance::QatInstance,
    process::Process,
    refusal::{Refusal, enter},
    ring::Complete,
    session::Session,
};

use super::{
    codec, frame,
    session::DcSession,
    setup::{Setup, Sum, Way},
    skip::Skip,
    verify::take_spare,
};

/// Whom an answer goes to.
#[derive(Clone, Copy)]
pub enum To {
    /// A callback with its tag; without one, the caller waits.
    Call(CpaDcCallbackFn, *mut c_void),
    /// The callback of the instance's data plane.
    Plane(*mut CpaDcDpOpData),
}

/// Where CRCs go.
#[derive(Clone, Copy)]
pub struct Crc {
    /// The caller's structure.
    pub data: *mut CpaCrcData,
    /// Whether those of integrity have 64 bits.
    pub wide: bool,
    /// Whether the device's checksum is compared with one made here.
    pub check: bool,
}

impl Crc {
    /// Writes them to the caller's structure.
    pub(super) fn put(&self, data: CpaCrcData) {
        // SAFETY: checked when the request was made; the caller keeps it until the answer.
        unsafe { self.data.write(data) };
    }
}

/// What a request asks for beside its buffers.
pub struct Options {
    /// The flush at its end.
    pub flush: CpaDcFlush,
    /// Whether the result is verified before the caller has it.
    pub verify: bool,
    /// Whether stored blocks replace one that is wrong.
    pub recover: bool,
    /// CRCs, where they are wanted.
    pub crc: Option<Crc>,
    /// Regions left out of the source and of the destination.
    pub skip: Option<(CpaDcSkipData, CpaDcSkipData)>,
}

impl Options {
    /// A request with a flush and nothing else.
    ///
    /// # Errors
    /// For a flush that is none.
    #[inline]
    pub fn flush(flush: CpaDcFlush) -> Result<Options, Refusal> {
        match (0..=CPA_DC_FLUSH_FULL.0).contains(&flush.0) {
            true => Ok(Options { flush, verify: false, recover: false, crc: None, skip: None }),
            false => Err(Refusal::invalid("flushFlag is none of the interface's")),
        }
    }

    /// What operation data say.
    ///
    /// # Errors
    /// For fields that are not valid.
    #[inline]
    pub fn new(op: &CpaDcOpData) -> Result<Options, Refusal> {
        let flag = |value: CpaBoolean| match value {
            CPA_FALSE => Ok(false),
            CPA_TRUE => Ok(true),
            _ => Err(Refusal::invalid(
                "a flag of the operation data is neither CPA_TRUE nor CPA_FALSE",
            )),
        };
        let mut options = Options::flush(op.flushFlag)?;
        options.verify = flag(op.compressAndVerify)?;
        options.recover = flag(op.compressAndVerifyAndRecover)?;
        let check = flag(op.verifyHwIntegrityCrcs)?;
        if flag(op.integrityCrcCheck)? {
            if op.pCrcData.is_null() || !op.pCrcData.is_aligned() {
                return Err(Refusal::invalid("integrityCrcCheck needs pCrcData"));
            }
            let wide = match op.integrityCrcSize {
                CPA_DC_INTEGRITY_CRC32 => false,
                CPA_DC_INTEGRITY_CRC64 => true,
                _ => return Err(Refusal::invalid("integrityCrcSize is none of the interface's")),
            };
            options.crc = Some(Crc { data: op.pCrcData, wide, check });
        } else if check {
            return Err(Refusal::invalid("verifyHwIntegrityCrcs needs integrityCrcCheck"));
        }
        let none = CPA_DC_SKIP_DISABLED;
        if op.inputSkipData.skipMode != none || op.outputSkipData.skipMode != none {
            options.skip = Some((op.inputSkipData, op.outputSkipData));
        }
        Ok(options)
    }
}

/// What few requests need.
#[derive(Default)]
pub(super) struct Extra {
    pub(super) crc: Option<Crc>,
    pub(super) crc64: Option<Crc64>,
    pub(super) skip: (Option<Skip>, Option<Skip>),
    pub(super) verify: bool,
    pub(super) recover: bool,
    /// The verification is to fail.
    pub(super) fails: bool,
    /// A stream of this request's own, with a dictionary: its checksum has to be made.
    pub(super) dictionary: bool,
    /// LZ4: the session's checksum goes on with what is compressed.
    pub(super) accumulates: bool,
    /// LZ4: the source, of this length, lies in a frame of our own.
    pub(super) framed: Option<usize>,
}

/// A request in flight: all that its answer needs.
pub struct DcRequest {
    pub(super) instance: &'static QatInstance,
    /// Null for requests without a session; otherwise it lives as long as the flight.
    session: *const Session<DcSession>,
    flight: Option<Flight>,
    pub(super) codec: &'static CompressSession,
    results: *mut CpaDcRqResults,
    to: To,
    pub(super) extra: Option<Box<Extra>>,
    /// The checksum to go on from.
    pub(super) seed: Option<u32>,
    pub(super) way: Way,
    pub(super) sum: Sum,
    pub(super) flush: CpaDcFlush,
    /// Whether it is a piece of a stateful session's stream.
    pub(super) stateful: bool,
}

// SAFETY: its pointers are the caller's, valid until the answer from any thread, as the interface asks for.
unsafe impl Send for DcRequest {}

/// A request before it is submitted.
pub struct Ask<'a> {
    /// The instance.
    pub instance: &'static QatInstance,
    /// The session; without one, the set-up of the request.
    pub with: With<'a>,
    /// Compression or decompression.
    pub way: Way,
    /// The source.
    pub src: &'a [CpaFlatBuffer],
    /// The destination.
    pub dst: &'a [CpaFlatBuffer],
    /// What else it asks for.
    pub options: Options,
    /// Where its results go.
    pub results: *mut CpaDcRqResults,
    /// Whom its answer goes to.
    pub to: To,
    /// Whether engines are to see it at once.
    pub bell: bool,
    /// A dictionary for this request alone.
    pub dictionary: Option<&'a [u8]>,
}

/// What a request's parameters come from.
pub enum With<'a> {
    /// A session.
    Session(&'a Session<DcSession>),
    /// A set-up of its own.
    Setup(&'a Setup),
}

/// A request that is checked, and not submitted.
pub struct Ready<'a> {
    request: DcRequest,
    made: Request,
    bell: bool,
    /// The session that a later request may go on with.
    goes_on: Option<&'a DcSession>,
}

impl Way {
    /// What counts requests of this way, and refused ones.
    fn counters(self) -> (Counter, Counter) {
        match self {
            Way::Compress => (Counter::DcCompress, Counter::DcCompressRefused),
            Way::Decompress => (Counter::DcDecompress, Counter::DcDecompressRefused),
        }
    }
}

impl<'a> Ask<'a> {
    /// Submits the request, or executes it where nobody is called back. Counts it.
    ///
    /// # Errors
    /// `RETRY` when the ring is full; for arguments that are not valid.
    ///
    /// # Safety
    /// Buffers and results are valid until the answer, and nobody else accesses the destination.
    #[inline]
    pub unsafe fn submit(self, process: &'static Process) -> Result<CpaStatus, Refusal> {
        // SAFETY: the caller's promise.
        unsafe { self.ready(process) }?.submit(process)
    }

    /// Checks the request; nothing is submitted. Counts a refusal.
    ///
    /// # Errors
    /// For arguments that are not valid.
    ///
    /// # Safety
    /// As [`Ask::submit`].
    #[inline]
    pub unsafe fn ready(self, process: &'static Process) -> Result<Ready<'a>, Refusal> {
        let (instance, way) = (self.instance, self.way);
        // SAFETY: the caller's promise.
        let ready = unsafe { self.ready_uncounted(process) };
        if let Err(e) = &ready
            && e.status() != CPA_STATUS_RETRY
        {
            instance.counters.count(way.counters().1);
        }
        ready
    }

    #[inline]
    unsafe fn ready_uncounted(self, process: &'static Process) -> Result<Ready<'a>, Refusal> {
        self.instance.check_running()?;
        let Ask { instance, way, ref options, results, to, bell, .. } = self;
        if results.is_null() || !results.is_aligned() {
            return Err(Refusal::invalid("no place for the results"));
        }
        // Decompression has neither: programs that recover set the flag for both ways.
        if options.recover && !options.verify && way == Way::Compress {
            return Err(Refusal::invalid("compressAndVerifyAndRecover needs compressAndVerify"));
        }
        check_apart(self.src, self.dst)?;
        let (setup, codec, session) = match (&self.with, way) {
            (With::Session(session), Way::Compress) => {
                (session.setup(), session.codec(), Some(*session))
            }
            (With::Session(session), Way::Decompress) => {
                (session.setup(), session.decoder(), Some(*session))
            }
            (With::Setup(setup), Way::Compress) => (*setup, codec::of(process, &setup.spec)?, None),
            (With::Setup(setup), Way::Decompress) => {
                (*setup, codec::of(process, &setup.decoder())?, None)
            }
        };
        setup.check(way)?;
        let spec = codec.spec();
        if way == Way::Compress
            && spec.format == Format::Lz4Raw
            && length(self.src) > 1 << spec.block_bits
        {
            return Err(Refusal::invalid(
                "CPA_DC_LZ4_OUTPUT_WITHOUT_HEADER: the source is larger than lz4BlockMaxSize",
            ));
        }
        let deflate = spec.format.is_deflate();
        let flush = options.flush;
        let flight = session.map(Session::fly);
        let mut request = DcRequest {
            instance,
            session: session.map_or(core::ptr::null(), core::ptr::from_ref),
            flight,
            codec,
            results,
            to,
            extra: None,
            seed: None,
            way,
            sum: setup.sum,
            flush,
            stateful: setup.stateful,
        };
        let plane = matches!(to, To::Plane(_));
        let goes_on = session.filter(|_| deflate && !setup.stateful && !plane);
        if goes_on.is_some_and(|session| session.goes_on()) {
            // SAFETY: checked above; the caller's promise.
            request.seed = Some(unsafe { (*results).checksum });
        }
        // SAFETY: the caller's promise.
        let made = unsafe { request.make(process, &self, options, setup, session) }?;
        Ok(Ready { request, made, bell, goes_on: goes_on.map(|session| &**session) })
    }
}

impl Ready<'_> {
    /// The same, kept without the session's lifetime: on the data plane no checksum goes on.
    pub fn of_plane(self) -> Ready<'static> {
        Ready { goes_on: None, ..self }
    }

    /// Submits the request, or executes it where nobody is called back. Counts it.
    ///
    /// # Errors
    /// `RETRY` when the ring is full; when there is none.
    #[inline]
    pub fn submit(self, process: &'static Process) -> Result<CpaStatus, Refusal> {
        let Ready { request, made, bell, goes_on } = self;
        let (instance, flush) = (request.instance, request.flush);
        let (asked, refused) = request.way.counters();
        // Before the answer: its callback may end the session, or submit what goes on with this checksum.
        let goes_on = move || {
            if let Some(session) = goes_on {
                session.comes_on(flush);
            }
        };
        if let To::Call(None, _) = request.to {
            goes_on();
            instance.counters.count(asked);
            return Ok(request.finish(process, process.call(made)));
        }
        let made = || {
            goes_on();
            made
        };
        let submitted = instance.ring.submit(process, bell, made, request);
        match &submitted {
            Ok(()) => instance.counters.count(asked),
            Err(e) if e.status() == CPA_STATUS_RETRY => {}
            Err(_) => instance.counters.count(refused),
        }
        submitted.map(|()| CPA_STATUS_SUCCESS)
    }
}

impl DcRequest {
    /// The runtime's request.
    #[inline]
    unsafe fn make(
        &mut self,
        process: &'static Process,
        ask: &Ask<'_>,
        options: &Options,
        setup: &Setup,
        session: Option<&Session<DcSession>>,
    ) -> Result<Request, Refusal> {
        let plain = options.crc.is_none() && options.skip.is_none() && !options.verify;
        let lz4 = setup.accumulates || setup.block_checksums;
        if plain && !lz4 && !setup.stateful && ask.dictionary.is_none() {
            // SAFETY: the caller's promise.
            let (src, dst) = unsafe { (buffers::source(ask.src), buffers::destination(ask.dst)) };
            return Ok(self.stateless(src, dst));
        }
        // SAFETY: the caller's promise.
        unsafe { self.make_rare(process, ask, options, setup, session) }
    }

    #[inline]
    fn stateless(&self, src: Buf, dst: Buf) -> Request {
        match (self.way, self.flush) {
            (Way::Decompress, _) => self.codec.decompress(src, dst),
            (Way::Compress, CPA_DC_FLUSH_FINAL) => self.codec.compress(src, dst),
            // Each request is whole: blocks that can be joined, a frame.
            (Way::Compress, _) if !self.codec.spec().format.is_deflate() => {
                self.codec.compress(src, dst)
            }
            (Way::Compress, _) => self.codec.compress_piece(src, dst),
        }
    }

    #[cold]
    unsafe fn make_rare(
        &mut self,
        process: &'static Process,
        ask: &Ask<'_>,
        options: &Options,
        setup: &Setup,
        session: Option<&Session<DcSession>>,
    ) -> Result<Request, Refusal> {
        let spec = self.codec.spec();
        if ask.dictionary.is_some() && !spec.format.is_deflate() {
            return Err(Refusal::unsupported("dictionaries are of CPA_DC_DEFLATE alone"));
        }
        let verify = options.verify && self.way == Way::Compress;
        if verify && (setup.stateful || ask.dictionary.is_some()) {
            return Err(Refusal::unsupported(
                "compressAndVerify: of stateless requests without a dictionary alone",
            ));
        }
        let mut extra = Extra {
            crc: options.crc,
            crc64: session.map(|session| session.crc64()),
            verify,
            recover: options.recover,
            dictionary: ask.dictionary.is_some(),
            ..Extra::default()
        };
        if let Some((input, output)) = &options.skip {
            extra.skip = (Skip::new(input, length(ask.src))?, Skip::new(output, length(ask.dst))?);
        }
        let cut = |skip: &Option<Skip>, pieces: &[CpaFlatBuffer]| {
            skip.as_ref().map(|skip| skip.cut(pieces))
        };
        if setup.accumulates && self.way == Way::Compress && !self.is_plane() {
            extra.accumulates = session.is_some();
            if session.is_some_and(|session| session.in_flight() > 1) {
                // What the checksum goes on from is not known before the end of the request before.
                return Err(Refusal::RETRY);
            }
        }
        let (mut src, dst) = (cut(&extra.skip.0, ask.src), cut(&extra.skip.1, ask.dst));
        if setup.block_checksums && self.way == Way::Decompress {
            if extra.crc.is_some() {
                return Err(Refusal::unsupported(
                    "integrityCrcCheck: not of blocks with checksums (lz4BlockChecksum)",
                ));
            }
            let blocks = src.as_deref().unwrap_or(ask.src);
            extra.framed = Some(length(blocks));
            src = Some(frame::framed(blocks));
        }
        // SAFETY: pieces of the caller's, for which its promise holds.
        let (src, dst) = unsafe {
            (
                buffers::source(src.as_deref().unwrap_or(ask.src)),
                buffers::destination(dst.as_deref().unwrap_or(ask.dst)),
            )
        };
        let request = match (session, ask.dictionary) {
            (_, Some(dictionary)) => {
                super::dictionary::request(process, self, dictionary, src, dst)?
            }
            (Some(session), None) if setup.stateful => {
                if session.in_flight() > 1 {
                    // Pieces of a stream come one at a time: the next one depends on how far this one came.
                    return Err(Refusal::RETRY);
                }
                session.stream_request(process, self.way, self.flush, src, dst)?
            }
            _ if verify => self.with_verification(process, &mut extra, session, src, dst)?,
            _ => self.stateless(src, dst),
        };
        self.extra = Some(Box::new(extra));
        Ok(request)
    }

    /// Compression, and for a stream with an end decompression in the same visit.
    fn with_verification(
        &self,
        process: &'static Process,
        extra: &mut Extra,
        session: Option<&Session<DcSession>>,
        src: Buf,
        dst: Buf,
    ) -> Result<Request, Refusal> {
        extra.fails = match session {
            Some(session) => session.take_failure(),
            None => self.instance.take_failure(),
        };
        let len = src.len();
        let request = self.stateless(src, dst);
        let deflate = self.codec.spec().format.is_deflate();
        if self.flush != CPA_DC_FLUSH_FINAL && deflate {
            return Ok(request);
        }
        let decoder = match deflate {
            true => codec::of(process, &Compression::default())?,
            false => self.codec,
        };
        // One more byte than there can be shows a result that is too long.
        let room = Buf::from(take_spare(len + 1));
        let verify = decoder.decompress(Buf::empty(), room);
        request
            .then(Feed::Written, verify)
            .map_err(|e| Refusal::fail(format!("the verification cannot be chained: {e}")))
    }

    /// The session, while the request is in flight.
    pub(super) fn session(&self) -> Option<&Session<DcSession>> {
        match self.flight {
            // SAFETY: null, or a session that is not removed before the flight ends.
            Some(_) => unsafe { self.session.as_ref() },
            None => None,
        }
    }

    /// Writes the results. Returns the status for the caller.
    pub(super) fn finish(&self, process: &'static Process, response: Response) -> CpaStatus {
        let outcome = self.outcome(process, response);
        let results = CpaDcRqResults {
            status: outcome.status,
            produced: outcome.produced as u32,
            consumed: outcome.consumed as u32,
            checksum: outcome.checksum,
            endOfLastBlock: if outcome.end { CPA_TRUE } else { CPA_FALSE },
            dataUncompressed: if outcome.stored { CPA_TRUE } else { CPA_FALSE },
        };
        // SAFETY: checked at the submission; the caller keeps it until the answer.
        unsafe { self.results.write(results) };
        outcome.call
    }

    /// Whether the data plane asked.
    pub(super) fn is_plane(&self) -> bool {
        matches!(self.to, To::Plane(_))
    }
}

impl Complete for DcRequest {
    fn refused(self) {
        if let Some(session) = self.session()
            && !self.stateful
            && !self.is_plane()
        {
            // As it was before `submit`.
            session.comes_on(match self.seed {
                Some(_) => CPA_DC_FLUSH_FULL,
                None => CPA_DC_FLUSH_FINAL,
            });
        }
    }

    fn complete(mut self, response: Response) {
        let status = enter("an answer of compression", || {
            let process = Process::get()?;
            Ok(self.finish(process, response))
        });
        // The callback may remove the session.
        drop(self.flight.take());
        match self.to {
            To::Call(Some(callback), tag) => {
                // SAFETY: the program's function, with the tag that it gave.
                unsafe { callback(tag, status) };
            }
            To::Call(None, _) => {}
            To::Plane(op) => {
                // SAFETY: the caller keeps the operation until it is called back.
                unsafe {
                    (*op).responseStatus = status;
                    self.instance.call_plane(op.cast());
                }
            }
        }
    }
}
