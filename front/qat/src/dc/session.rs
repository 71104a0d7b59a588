//! Sessions of data compression.
#![allow(unsafe_code)]

use core::{
    hash::Hasher,
    sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering},
};

use lookaside::{CompressSession, CompressStream, Compression, DecompressStream, Format};
use twox_hash::XxHash32;

use crate::{
    abi::*,
    checksum::Crc64,
    instance::Service,
    lock::Lock,
    process::Process,
    refusal::{Refusal, given, wanted},
    session::{self, Kind, Session},
};

use super::{
    codec,
    setup::{Setup, Way, huffman, level},
};

/// What a session keeps.
pub struct DcSession {
    setup: Setup,
    /// Of [`codec`]; another one after an update.
    codec: AtomicPtr<CompressSession>,
    decoder: &'static CompressSession,
    /// Called at the end of each request; without one, requests are synchronous.
    pub callback: CpaDcCallbackFn,
    /// Whether the next request continues the checksum of the last: after a FULL or SYNC flush.
    continues: AtomicBool,
    /// Uncompressed bytes of the stream so far, for the footer.
    total: AtomicU64,
    /// Whether the next request begins a stream.
    begins: AtomicBool,
    streams: Lock<Streams>,
    crc64: Lock<Crc64>,
    /// Whether the next verification is to fail: a test aid of the interface.
    fails_verification: AtomicBool,
    /// Of the bytes of all requests so far, where it goes on.
    xxhash: Lock<XxHash32>,
}

/// The streams of a stateful session.
#[derive(Default)]
struct Streams {
    compress: Option<CompressStream>,
    decompress: Option<DecompressStream>,
    /// The checksum of what was decompressed.
    sum: Option<u32>,
}

impl Kind for DcSession {
    const MARK: u64 = u64::from_be_bytes(*b"LAqatDcS");
    const FOREIGN: &'static str =
        "not a session: it was not begun by cpaDcInitSession, or was removed";
}

impl DcSession {
    /// A session of this set-up.
    ///
    /// # Errors
    /// When no device has the parameters.
    pub fn new(
        process: &Process,
        setup: Setup,
        callback: CpaDcCallbackFn,
    ) -> Result<DcSession, Refusal> {
        let codec = codec::of(process, &setup.spec)?;
        Ok(DcSession {
            decoder: codec::of(process, &setup.decoder())?,
            codec: AtomicPtr::new(core::ptr::from_ref(codec).cast_mut()),
            setup,
            callback,
            continues: AtomicBool::new(false),
            total: AtomicU64::new(0),
            begins: AtomicBool::new(true),
            streams: Lock::new(Streams::default()),
            crc64: Lock::new(Crc64::ECMA),
            fails_verification: AtomicBool::new(false),
            xxhash: Lock::new(XxHash32::with_seed(0)),
        })
    }

    /// Its set-up. The level and the codes are [`DcSession::codec`]'s.
    #[inline]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The runtime's session of decompression.
    #[inline]
    pub fn decoder(&self) -> &'static CompressSession {
        self.decoder
    }

    /// The xxHash-32 that goes on, with more bytes. `last`: the next one begins afresh.
    pub fn accumulate<'a>(&self, pieces: impl Iterator<Item = &'a [u8]>, last: bool) -> u32 {
        let mut hash = self.xxhash.lock();
        pieces.for_each(|piece| hash.write(piece));
        let value = hash.finish_32();
        if last {
            *hash = XxHash32::with_seed(0);
        }
        value
    }

    /// The xxHash-32 that goes on begins afresh.
    ///
    /// # Errors
    /// For sessions without it, and while requests are in flight (`in_flight`).
    pub fn reset_xxhash(&self, in_flight: u32) -> Result<(), Refusal> {
        if !self.setup.accumulates {
            return Err(Refusal::unsupported("the session's accumulateXXHash is not set"));
        }
        if in_flight > 0 {
            return Err(Refusal::RETRY);
        }
        *self.xxhash.lock() = XxHash32::with_seed(0);
        Ok(())
    }

    /// The runtime's session in force.
    #[inline]
    pub fn codec(&self) -> &'static CompressSession {
        // SAFETY: set to one of `codec::of` alone, which are never freed.
        unsafe { &*self.codec.load(Ordering::Acquire) }
    }

    /// Whether the next request goes on with the checksum of the last.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.continues.load(Ordering::Relaxed)
    }

    /// A request with this flush was submitted: the next one goes on with its checksum, or does not.
    #[inline]
    pub fn comes_on(&self, flush: CpaDcFlush) {
        let next = matches!(flush, CPA_DC_FLUSH_FULL | CPA_DC_FLUSH_SYNC);
        if self.continues.load(Ordering::Relaxed) != next {
            self.continues.store(next, Ordering::Relaxed);
        }
    }

    /// The checksum of a stream that the service makes none for, with one more piece.
    pub fn go_on(&self, add: impl FnOnce(u32) -> u32, start: u32) -> u32 {
        let mut streams = self.streams.lock().or_empty();
        let sum = add(streams.sum.unwrap_or(start));
        streams.sum = Some(sum);
        sum
    }

    /// Whether the next verification is to fail; only that one.
    pub fn take_failure(&self) -> bool {
        self.fails_verification.load(Ordering::Relaxed)
            && self.fails_verification.swap(false, Ordering::Relaxed)
    }

    /// Adds uncompressed bytes to the stream's length. `last`: the stream ends with them.
    #[inline]
    pub fn count(&self, bytes: u64, last: bool) {
        if self.begins.load(Ordering::Relaxed) {
            self.total.store(bytes, Ordering::Relaxed);
        } else {
            self.total.fetch_add(bytes, Ordering::Relaxed);
        }
        self.begins.store(last, Ordering::Relaxed);
    }

    /// The length of the stream, for its footer.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The parameters of CRC-64.
    pub fn crc64(&self) -> Crc64 {
        *self.crc64.lock()
    }

    /// Begins afresh: no stream, no checksum, no length.
    pub fn reset(&self) {
        *self.streams.lock().or_empty() = Streams::default();
        *self.xxhash.lock() = XxHash32::with_seed(0);
        self.continues.store(false, Ordering::Relaxed);
        self.total.store(0, Ordering::Relaxed);
        self.begins.store(true, Ordering::Relaxed);
    }

    /// A request of the stream of this way, which begins if there is none.
    ///
    /// # Errors
    /// When a stream cannot be made.
    pub fn stream_request(
        &self,
        process: &Process,
        way: Way,
        flush: CpaDcFlush,
        src: lookaside::Buf,
        dst: lookaside::Buf,
    ) -> Result<lookaside::Request, Refusal> {
        let mut streams = self.streams.lock().or_empty();
        match way {
            Way::Compress => {
                let stream = match &mut streams.compress {
                    Some(stream) => stream,
                    none => {
                        let spec = self.codec().spec().clone();
                        none.insert(process.runtime().compress_stream(spec, None)?)
                    }
                };
                Ok(stream.compress(src, dst, stream_flush(flush)))
            }
            Way::Decompress => {
                let stream = match &mut streams.decompress {
                    Some(stream) => stream,
                    none => none.insert(process.runtime().decompress_stream(Format::Raw, None)?),
                };
                Ok(stream.decompress(src, dst))
            }
        }
    }

    /// The stream of this way has ended: the next request begins another one.
    pub fn stream_ended(&self, way: Way) {
        let mut streams = self.streams.lock().or_empty();
        match way {
            Way::Compress => streams.compress = None,
            Way::Decompress => (streams.decompress, streams.sum) = (None, None),
        }
    }

    /// Whether the blocks of LZ4 have their lengths before them; without, a request is one block.
    ///
    /// # Errors
    /// For sessions of another format.
    pub fn set_lz4_output(
        &self,
        process: &Process,
        format: CpaDcLZ4OutputFormat,
    ) -> Result<(), Refusal> {
        if self.setup.spec.format != Format::Lz4Blocks {
            return Err(Refusal::invalid("the session's compType is not CPA_DC_LZ4"));
        }
        let format = match format {
            CPA_DC_LZ4_OUTPUT_WITH_HEADER => Format::Lz4Blocks,
            CPA_DC_LZ4_OUTPUT_WITHOUT_HEADER => Format::Lz4Raw,
            _ => return Err(Refusal::invalid("the output format is none of the interface's")),
        };
        let spec = Compression { format, ..self.codec().spec().clone() };
        let codec = codec::of(process, &spec)?;
        self.codec.store(core::ptr::from_ref(codec).cast_mut(), Ordering::Release);
        Ok(())
    }

    fn update(&self, process: &Process, data: &CpaDcSessionUpdateData) -> Result<(), Refusal> {
        if self.setup.stateful {
            return Err(Refusal::unsupported("a stateful session keeps its level: begin another"));
        }
        self.setup.check(Way::Compress)?;
        if data.enableDmm != CPA_FALSE {
            return Err(Refusal::unsupported("enableDmm: there is no memory map to change"));
        }
        let deflate = self.setup.spec.format.is_deflate();
        let spec = Compression {
            level: level(data.compLevel)?,
            huffman: if deflate { huffman(data.huffType)? } else { self.setup.spec.huffman },
            // With the format of its output.
            ..self.codec().spec().clone()
        };
        let codec = codec::of(process, &spec)?;
        self.codec.store(core::ptr::from_ref(codec).cast_mut(), Ordering::Release);
        Ok(())
    }
}

/// The flush of a stream's piece.
pub fn stream_flush(flush: CpaDcFlush) -> lookaside::Flush {
    match flush {
        CPA_DC_FLUSH_FINAL => lookaside::Flush::Finish,
        CPA_DC_FLUSH_SYNC => lookaside::Flush::Sync,
        CPA_DC_FLUSH_FULL => lookaside::Flush::Full,
        _ => lookaside::Flush::None,
    }
}

/// What a session takes in the caller's memory, and in a context buffer: nothing, the streams are on our heap.
unsafe fn sizes(
    handle: CpaInstanceHandle,
    data: *const CpaDcSessionSetupData,
    size: *mut Cpa32U,
) -> Result<CpaStatus, Refusal> {
    Process::get()?.instance(handle, Service::Dc)?;
    // SAFETY: the exported function's caller promises it.
    unsafe {
        Setup::new(given(data, NO_DATA)?)?;
        *wanted(size, NO_SIZE)? = session::SIZE;
    }
    Ok(CPA_STATUS_SUCCESS)
}

unsafe fn begin(
    handle: CpaInstanceHandle,
    place: CpaDcSessionHandle,
    data: *const CpaDcSessionSetupData,
    callback: CpaDcCallbackFn,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    process.instance(handle, Service::Dc)?;
    // SAFETY: the exported function's caller promises it.
    let setup = Setup::new(unsafe { given(data, NO_DATA) }?)?;
    let session = DcSession::new(process, setup, callback)?;
    // SAFETY: as above: memory of the size that `sizes` says.
    unsafe { Session::begin(place, session) }?;
    Ok(CPA_STATUS_SUCCESS)
}

/// The session of a handle, with the instance checked.
///
/// # Errors
/// For what is none.
///
/// # Safety
/// As [`Session::get`].
#[inline]
pub unsafe fn find<'a>(
    process: &'static Process,
    handle: CpaInstanceHandle,
    session: CpaDcSessionHandle,
) -> Result<(&'static crate::instance::QatInstance, &'a Session<DcSession>), Refusal> {
    // SAFETY: the caller's promise.
    Ok((process.instance(handle, Service::Dc)?, unsafe { Session::get(session) }?))
}

const NO_DATA: &str = "no session data";
const NO_SIZE: &str = "no place for the size";

crate::api! {
    fn cpaDcGetSessionSize(
        handle: CpaInstanceHandle,
        data: *mut CpaDcSessionSetupData,
        size: *mut Cpa32U,
        context: *mut Cpa32U,
    ) {
        *wanted(context, NO_SIZE)? = 0;
        sizes(handle, data, size)
    }

    fn cpaDcDpGetSessionSize(
        handle: CpaInstanceHandle,
        data: *mut CpaDcSessionSetupData,
        size: *mut Cpa32U,
    ) {
        sizes(handle, data, size)
    }

    fn cpaDcInitSession(
        handle: CpaInstanceHandle,
        place: CpaDcSessionHandle,
        data: *mut CpaDcSessionSetupData,
        _context: *mut CpaBufferList,
        callback: CpaDcCallbackFn,
    ) {
        begin(handle, place, data, callback)
    }

    fn cpaDcDpInitSession(
        handle: CpaInstanceHandle,
        place: CpaDcSessionHandle,
        data: *mut CpaDcSessionSetupData,
    ) {
        if given(data, NO_DATA)?.sessState == CPA_DC_STATEFUL {
            return Err(Refusal::invalid("the data plane has stateless sessions alone"));
        }
        begin(handle, place, data, None)
    }

    fn cpaDcRemoveSession(handle: CpaInstanceHandle, place: CpaDcSessionHandle) {
        find(Process::get()?, handle, place)?;
        Session::<DcSession>::end(place)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcDpRemoveSession(handle: CpaInstanceHandle, place: CpaDcSessionHandle) {
        find(Process::get()?, handle, place)?;
        Session::<DcSession>::end(place)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcResetSession(handle: CpaInstanceHandle, place: CpaDcSessionHandle) {
        let (_, session) = find(Process::get()?, handle, place)?;
        if session.in_flight() > 0 {
            return Err(Refusal::RETRY);
        }
        session.reset();
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcUpdateSession(
        handle: CpaInstanceHandle,
        place: CpaDcSessionHandle,
        data: *mut CpaDcSessionUpdateData,
    ) {
        let process = Process::get()?;
        let (_, session) = find(process, handle, place)?;
        session.update(process, given(data, NO_DATA)?)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcDpUpdateSession(
        handle: CpaInstanceHandle,
        place: CpaDcSessionHandle,
        data: *mut CpaDcSessionUpdateData,
    ) {
        let process = Process::get()?;
        let (_, session) = find(process, handle, place)?;
        session.update(process, given(data, NO_DATA)?)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcSetCrcControlData(
        handle: CpaInstanceHandle,
        place: CpaDcSessionHandle,
        data: *mut CpaCrcControlData,
    ) {
        let (_, session) = find(Process::get()?, handle, place)?;
        *session.crc64.lock() = crc64_of(given(data, "no CRC control data")?);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn icp_sal_cnv_simulate_error(handle: CpaInstanceHandle, place: CpaDcSessionHandle) {
        let (_, session) = find(Process::get()?, handle, place)?;
        session.setup().check(Way::Compress)?;
        session.fails_verification.store(true, Ordering::Relaxed);
        Ok(CPA_STATUS_SUCCESS)
    }
}

/// The parameters of CRC-64 that a program gives.
pub fn crc64_of(data: &CpaCrcControlData) -> Crc64 {
    Crc64 {
        polynomial: data.polynomial,
        initial: data.initialValue,
        reflect_in: data.reflectIn != CPA_FALSE,
        reflect_out: data.reflectOut != CPA_FALSE,
        xor_out: data.xorOut,
    }
}
