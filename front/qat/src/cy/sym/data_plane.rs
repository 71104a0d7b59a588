//! The data plane: `cpa_cy_sym_dp.h`.
#![allow(unsafe_code)]

use core::sync::atomic::Ordering;

use crate::{
    abi::*,
    instance::Service,
    process::Process,
    refusal::{Refusal, given},
};

use super::{begin, end, perform, refused, size};

/// Counts what was not accepted, for the instance of a request.
unsafe fn counted(
    data: *const CpaCySymDpOpData,
    result: Result<CpaStatus, Refusal>,
) -> Result<CpaStatus, Refusal> {
    result.inspect_err(|refusal| {
        // SAFETY: the exported function's caller promises it.
        let handle = unsafe { given(data, "") }.map(|data| data.instanceHandle);
        let instance = handle.and_then(|handle| Process::get()?.instance(handle, Service::Cy));
        if let Ok(instance) = instance {
            refused(instance, refusal);
        }
    })
}

crate::api! {
    fn cpaCySymDpRegCbFunc(handle: CpaInstanceHandle, callback: CpaCySymDpCbFunc) {
        let instance = Process::get()?.instance(handle, Service::Cy)?;
        let callback = callback.ok_or_else(|| Refusal::invalid("no callback"))?;
        instance.dp_callback.store(callback as *mut core::ffi::c_void, Ordering::Relaxed);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaCySymDpSessionCtxGetSize(
        handle: CpaInstanceHandle,
        data: *const CpaCySymSessionSetupData,
        bytes: *mut Cpa32U,
    ) {
        size(handle, data, bytes)
    }

    fn cpaCySymDpSessionCtxGetDynamicSize(
        handle: CpaInstanceHandle,
        data: *const CpaCySymSessionSetupData,
        bytes: *mut Cpa32U,
    ) {
        size(handle, data, bytes)
    }

    fn cpaCySymDpInitSession(
        handle: CpaInstanceHandle,
        data: *const CpaCySymSessionSetupData,
        context: CpaCySymDpSessionCtx,
    ) {
        begin(handle, None, true, data, context)
    }

    fn cpaCySymDpRemoveSession(handle: CpaInstanceHandle, context: CpaCySymDpSessionCtx) {
        end(handle, true, context)
    }

    fn cpaCySymDpEnqueueOp(data: *mut CpaCySymDpOpData, now: CpaBoolean) {
        counted(data, perform::enqueue(Process::get()?, data, now == CPA_TRUE))
    }

    fn cpaCySymDpEnqueueOpBatch(n: Cpa32U, all: *mut *mut CpaCySymDpOpData, now: CpaBoolean) {
        if all.is_null() || n == 0 || n > 1 << 16 {
            return Err(Refusal::invalid("no requests, or more than 65,536"));
        }
        let all = core::slice::from_raw_parts(all, n as usize);
        counted(all[0], perform::enqueue_all(Process::get()?, all, now == CPA_TRUE))
    }

    fn cpaCySymDpPerformOpNow(handle: CpaInstanceHandle) {
        let process = Process::get()?;
        process.instance(handle, Service::Cy)?.ring.ring(process)?;
        Ok(CPA_STATUS_SUCCESS)
    }
}
