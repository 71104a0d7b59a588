//! The traditional interface: requests with and without a session, statistics.
#![allow(unsafe_code)]

use core::{ffi::c_void, sync::atomic::Ordering};

use crate::{
    abi::*,
    buffers::pieces,
    counters::Counter,
    instance::{QatInstance, Service},
    process::Process,
    refusal::{Refusal, given, wanted},
};

use super::{
    dictionary,
    request::{Ask, Options, To, With},
    session::find,
    setup::{Setup, Way},
};

/// The arguments that all requests have.
struct Arguments {
    src: *mut CpaBufferList,
    dst: *mut CpaBufferList,
    results: *mut CpaDcRqResults,
    tag: *mut c_void,
}

/// Submits a request of a session.
#[inline]
unsafe fn with_session(
    handle: CpaInstanceHandle,
    session: CpaDcSessionHandle,
    way: Way,
    arguments: Arguments,
    options: Result<Options, Refusal>,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    // SAFETY: the exported function's caller promises all that follows.
    unsafe {
        let (instance, session) = find(process, handle, session)?;
        let to = To::Call(session.callback, arguments.tag);
        submit(process, instance, With::Session(session), way, arguments, options, to, None)
    }
}

/// Submits a request without one.
unsafe fn without_session(
    handle: CpaInstanceHandle,
    data: *const CpaDcNsSetupData,
    way: Way,
    arguments: Arguments,
    op: *const CpaDcOpData,
    callback: CpaDcCallbackFn,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    // SAFETY: the exported function's caller promises all that follows.
    unsafe {
        let instance = process.instance(handle, Service::Dc)?;
        let setup = Setup::new(given(data, "no set-up data")?)?;
        if setup.stateful {
            return Err(Refusal::invalid("a request without a session is stateless"));
        }
        let options = Options::new(given(op, NO_OP)?);
        let to = To::Call(callback, arguments.tag);
        submit(process, instance, With::Setup(&setup), way, arguments, options, to, None)
    }
}

#[expect(clippy::too_many_arguments, reason = "the interface's requests have as many")]
#[inline]
unsafe fn submit(
    process: &'static Process,
    instance: &'static QatInstance,
    with: With<'_>,
    way: Way,
    arguments: Arguments,
    options: Result<Options, Refusal>,
    to: To,
    dictionary: Option<&[u8]>,
) -> Result<CpaStatus, Refusal> {
    let Arguments { src, dst, results, .. } = arguments;
    // SAFETY: the exported function's caller promises it.
    unsafe {
        let asked = options.and_then(|options| Ok((options, pieces(src)?, pieces(dst)?)));
        let (options, src, dst) = match asked {
            Ok(asked) => asked,
            Err(refusal) => {
                instance.counters.count(match way {
                    Way::Compress => Counter::DcCompressRefused,
                    Way::Decompress => Counter::DcDecompressRefused,
                });
                return Err(refusal);
            }
        };
        Ask { instance, with, way, src, dst, options, results, to, bell: true, dictionary }
            .submit(process)
    }
}

/// Submits a request with a dictionary.
unsafe fn with_dictionary(
    handle: CpaInstanceHandle,
    session: CpaDcSessionHandle,
    way: Way,
    arguments: Arguments,
    data: *mut CpaDcDictionaryData,
    op: *const CpaDcOpData,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    // SAFETY: the exported function's caller promises all that follows.
    unsafe {
        let (instance, session) = find(process, handle, session)?;
        let data = wanted(data, "no dictionary data")?;
        let dictionary = dictionary::read(data, session.crc64())?;
        let options = Options::new(given(op, NO_OP)?);
        let to = To::Call(session.callback, arguments.tag);
        let with = With::Session(session);
        submit(process, instance, with, way, arguments, options, to, Some(&dictionary))
    }
}

/// The old form's flush: as operation data with nothing else.
unsafe fn options(op: *const CpaDcOpData) -> Result<Options, Refusal> {
    // SAFETY: the exported function's caller promises it.
    Options::new(unsafe { given(op, NO_OP) }?)
}

fn statistics(instance: &QatInstance) -> CpaDcStats {
    let read = |counter| instance.counters.read(counter);
    CpaDcStats {
        numCompRequests: read(Counter::DcCompress),
        numCompRequestsErrors: read(Counter::DcCompressRefused),
        numCompCompleted: read(Counter::DcCompressed),
        numCompCompletedErrors: read(Counter::DcCompressFailed),
        numCompCnvErrorsRecovered: read(Counter::DcRecovered),
        numDecompRequests: read(Counter::DcDecompress),
        numDecompRequestsErrors: read(Counter::DcDecompressRefused),
        numDecompCompleted: read(Counter::DcDecompressed),
        numDecompCompletedErrors: read(Counter::DcDecompressFailed),
    }
}

const NO_OP: &str = "no operation data";

crate::api! {
    fn cpaDcCompressData(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        results: *mut CpaDcRqResults,
        flush: CpaDcFlush,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        with_session(handle, session, Way::Compress, arguments, Options::flush(flush))
    }

    fn cpaDcCompressData2(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        op: *mut CpaDcOpData,
        results: *mut CpaDcRqResults,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        with_session(handle, session, Way::Compress, arguments, options(op))
    }

    fn cpaDcDecompressData(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        results: *mut CpaDcRqResults,
        flush: CpaDcFlush,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        with_session(handle, session, Way::Decompress, arguments, Options::flush(flush))
    }

    fn cpaDcDecompressData2(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        op: *mut CpaDcOpData,
        results: *mut CpaDcRqResults,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        with_session(handle, session, Way::Decompress, arguments, options(op))
    }

    fn cpaDcNsCompressData(
        handle: CpaInstanceHandle,
        data: *mut CpaDcNsSetupData,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        op: *mut CpaDcOpData,
        results: *mut CpaDcRqResults,
        callback: CpaDcCallbackFn,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        without_session(handle, data, Way::Compress, arguments, op, callback)
    }

    fn cpaDcNsDecompressData(
        handle: CpaInstanceHandle,
        data: *mut CpaDcNsSetupData,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        op: *mut CpaDcOpData,
        results: *mut CpaDcRqResults,
        callback: CpaDcCallbackFn,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        without_session(handle, data, Way::Decompress, arguments, op, callback)
    }

    fn cpaDcCompressDataWithDict(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        dictionary: *mut CpaDcDictionaryData,
        op: *mut CpaDcOpData,
        results: *mut CpaDcRqResults,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        with_dictionary(handle, session, Way::Compress, arguments, dictionary, op)
    }

    fn cpaDcDecompressDataWithDict(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        src: *mut CpaBufferList,
        dst: *mut CpaBufferList,
        dictionary: *mut CpaDcDictionaryData,
        op: *mut CpaDcOpData,
        results: *mut CpaDcRqResults,
        tag: *mut c_void,
    ) {
        let arguments = Arguments { src, dst, results, tag };
        with_dictionary(handle, session, Way::Decompress, arguments, dictionary, op)
    }

    fn cpaDcGetStats(handle: CpaInstanceHandle, stats: *mut CpaDcStats) {
        let instance = Process::get()?.instance(handle, Service::Dc)?;
        *wanted(stats, "no place for the statistics")? = statistics(instance);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcSetLZ4OutputFormat(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        format: CpaDcLZ4OutputFormat,
    ) {
        let process = Process::get()?;
        let (_, session) = find(process, handle, session)?;
        if session.in_flight() > 0 {
            return Err(Refusal::RETRY);
        }
        session.set_lz4_output(process, format)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcResetXXHashState(handle: CpaInstanceHandle, session: CpaDcSessionHandle) {
        let (_, session) = find(Process::get()?, handle, session)?;
        session.reset_xxhash(session.in_flight())?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcSetAsbThreshold(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        _threshold: CpaDcAsbThreshold,
    ) {
        find(Process::get()?, handle, session)?;
        Err(Refusal::unsupported("stored blocks are chosen by the sizes that come out"))
    }

    fn cpaDcSetAsbRatio(
        handle: CpaInstanceHandle,
        session: CpaDcSessionHandle,
        _ratio: CpaDcAsbRatio,
    ) {
        find(Process::get()?, handle, session)?;
        Err(Refusal::unsupported("stored blocks are chosen by the sizes that come out"))
    }

    fn icp_sal_ns_cnv_simulate_error(handle: CpaInstanceHandle) {
        let instance = Process::get()?.instance(handle, Service::Dc)?;
        instance.fails_verification.store(true, Ordering::Relaxed);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn icp_sal_ns_cnv_reset_error(handle: CpaInstanceHandle) {
        let instance = Process::get()?.instance(handle, Service::Dc)?;
        instance.fails_verification.store(false, Ordering::Relaxed);
        Ok(CPA_STATUS_SUCCESS)
    }
}
