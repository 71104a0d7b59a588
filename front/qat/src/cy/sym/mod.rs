//! Symmetric cryptography: `cpa_cy_sym.h` and `cpa_cy_sym_dp.h`.
//!
//! A request's way: `perform` finds its session and lists; `plan` makes one request of the runtime of it, or leaves
//! it to `steps`; the ring carries it; the thread that polls calls back.
#![allow(unsafe_code)]

mod ask;
mod data_plane;
mod perform;
mod plan;
mod pool;
mod setup;
mod steps;

pub use data_plane::*;
pub(crate) use plan::gcm_nonce;

use crate::{
    abi::*,
    counters::Counter,
    instance::{QatInstance, Service},
    process::Process,
    refusal::{Refusal, given, wanted},
    session::{SIZE, Session},
};

use perform::Sym;
use setup::Setup;

/// The size of a session in the caller's memory.
unsafe fn size(
    handle: CpaInstanceHandle,
    data: *const CpaCySymSessionSetupData,
    size: *mut Cpa32U,
) -> Result<CpaStatus, Refusal> {
    Process::get()?.instance(handle, Service::Cy)?;
    // SAFETY: the exported function's caller promises it.
    let (_, size) =
        unsafe { (given(data, "no pSessionSetupData")?, wanted(size, "no place for the size")?) };
    *size = SIZE;
    Ok(CPA_STATUS_SUCCESS)
}

/// Begins a session.
unsafe fn begin(
    handle: CpaInstanceHandle,
    callback: CpaCySymCbFunc,
    data_plane: bool,
    data: *const CpaCySymSessionSetupData,
    context: CpaCySymSessionCtx,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, Service::Cy)?;
    instance.check_running()?;
    // SAFETY: the exported function's caller promises it.
    let begun = unsafe {
        Setup::read(data)
            .and_then(|setup| Sym::new(process, instance, callback, data_plane, setup))
            .and_then(|sym| Session::begin(context, sym))
    };
    count(instance, Counter::SymSession, begun)
}

/// Ends a session.
unsafe fn end(
    handle: CpaInstanceHandle,
    data_plane: bool,
    context: CpaCySymSessionCtx,
) -> Result<CpaStatus, Refusal> {
    let process = Process::get()?;
    let instance = process.instance(handle, Service::Cy)?;
    // SAFETY: the exported function's caller promises it.
    let session = unsafe { Session::<Sym>::get(context) }?;
    if session.in_flight() > 0 {
        if data_plane || session.data_plane {
            // What waits for its bell would wait for ever.
            instance.ring.ring(process)?;
        }
        return Err(Refusal::RETRY);
    }
    // SAFETY: as above.
    let ended = unsafe { Session::<Sym>::end(context) };
    count(instance, Counter::SymSessionRemoved, ended)
}

fn count(
    instance: &QatInstance,
    counter: Counter,
    result: Result<(), Refusal>,
) -> Result<CpaStatus, Refusal> {
    instance.counters.count(match &result {
        Ok(()) => counter,
        Err(_) => Counter::SymSessionFailed,
    });
    result.map(|()| CPA_STATUS_SUCCESS)
}

crate::api! {
    fn cpaCySymSessionCtxGetSize(
        handle: CpaInstanceHandle,
        data: *const CpaCySymSessionSetupData,
        bytes: *mut Cpa32U,
    ) {
        size(handle, data, bytes)
    }

    fn cpaCySymSessionCtxGetDynamicSize(
        handle: CpaInstanceHandle,
        data: *const CpaCySymSessionSetupData,
        bytes: *mut Cpa32U,
    ) {
        size(handle, data, bytes)
    }

    fn cpaCySymInitSession(
        handle: CpaInstanceHandle,
        callback: CpaCySymCbFunc,
        data: *const CpaCySymSessionSetupData,
        context: CpaCySymSessionCtx,
    ) {
        begin(handle, callback, false, data, context)
    }

    fn cpaCySymRemoveSession(handle: CpaInstanceHandle, context: CpaCySymSessionCtx) {
        end(handle, false, context)
    }

    fn cpaCySymUpdateSession(context: CpaCySymSessionCtx, update: *const CpaCySymSessionUpdateData) {
        let process = Process::get()?;
        let update = given(update, "no pSessionUpdateData")?;
        let session = Session::<Sym>::get(context)?;
        if session.in_flight() > 0 {
            return Err(Refusal::RETRY);
        }
        if session.has_partial() {
            return Err(Refusal::fail("a text in partial packets is under way"));
        }
        let setup = session.setup.updated(update)?;
        let next = Sym::new(process, session.instance, session.callback, session.data_plane, setup)?;
        Session::<Sym>::end(context)?;
        Session::begin(context, next)?;
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCySymSessionInUse(context: CpaCySymSessionCtx, in_use: *mut CpaBoolean) {
        let in_use = wanted(in_use, "no place for the answer")?;
        *in_use = if Session::<Sym>::get(context)?.in_flight() > 0 { CPA_TRUE } else { CPA_FALSE };
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCySymPerformOp(
        handle: CpaInstanceHandle,
        tag: *mut core::ffi::c_void,
        data: *const CpaCySymOpData,
        source: *const CpaBufferList,
        destination: *mut CpaBufferList,
        verified: *mut CpaBoolean,
    ) {
        let process = Process::get()?;
        let instance = process.instance(handle, Service::Cy)?;
        instance.check_running()?;
        perform::perform(process, instance, tag, data, source, destination, verified)
            .inspect_err(|refusal| refused(instance, refusal))
    }

    fn cpaCySymQueryStats(handle: CpaInstanceHandle, stats: *mut CpaCySymStats) {
        let long = counted(Process::get()?.instance(handle, Service::Cy)?);
        *wanted(stats, "no place for the counters")? = CpaCySymStats {
            numSessionsInitialized: long.numSessionsInitialized as u32,
            numSessionsRemoved: long.numSessionsRemoved as u32,
            numSessionErrors: long.numSessionErrors as u32,
            numSymOpRequests: long.numSymOpRequests as u32,
            numSymOpRequestErrors: long.numSymOpRequestErrors as u32,
            numSymOpCompleted: long.numSymOpCompleted as u32,
            numSymOpCompletedErrors: long.numSymOpCompletedErrors as u32,
            numSymOpVerifyFailures: long.numSymOpVerifyFailures as u32,
        };
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCySymQueryStats64(handle: CpaInstanceHandle, stats: *mut CpaCySymStats64) {
        let instance = Process::get()?.instance(handle, Service::Cy)?;
        *wanted(stats, "no place for the counters")? = counted(instance);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCySymQueryCapabilities(handle: CpaInstanceHandle, info: *mut CpaCySymCapabilitiesInfo) {
        Process::get()?.instance(handle, Service::Cy)?;
        let bit = |all: u32, n: i32| all | 1 << n;
        *wanted(info, "no place for the capabilities")? = CpaCySymCapabilitiesInfo {
            ciphers: [setup::ciphers().map(|c| c.0).fold(0, bit)],
            hashes: [setup::hashes().map(|h| h.0).fold(0, bit)],
            partialPacketSupported: CPA_TRUE,
        };
        Ok(CPA_STATUS_SUCCESS)
    }
}

/// What an instance has counted, in the interface's form.
fn counted(instance: &QatInstance) -> CpaCySymStats64 {
    let n = |counter| instance.counters.read(counter);
    let requests = n(Counter::SymRequest) + n(Counter::SymWaited);
    // Each that is answered, but for errors: counted once, when it is submitted.
    let open = u64::from(instance.ring.in_flight()) + n(Counter::SymFailed);
    CpaCySymStats64 {
        numSessionsInitialized: n(Counter::SymSession),
        numSessionsRemoved: n(Counter::SymSessionRemoved),
        numSessionErrors: n(Counter::SymSessionFailed),
        numSymOpRequests: requests,
        numSymOpRequestErrors: n(Counter::SymRefused),
        numSymOpCompleted: requests.saturating_sub(open),
        numSymOpCompletedErrors: n(Counter::SymFailed),
        numSymOpVerifyFailures: n(Counter::SymVerifyFailed),
    }
}

/// Counts a request that was not accepted. A full ring is no error.
#[cold]
fn refused(instance: &QatInstance, refusal: &Refusal) {
    if refusal.status() != CPA_STATUS_RETRY {
        instance.counters.count(Counter::SymRefused);
    }
}
