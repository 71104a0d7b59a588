//! The data plane: one callback for an instance, operations that carry everything, "physical" addresses.
#![allow(unsafe_code)]

use core::{ffi::c_void, ptr, sync::atomic::Ordering};

use crate::{
    abi::*,
    buffers::{self, length},
    instance::Service,
    process::Process,
    refusal::{Refusal, given},
    session::Session,
};

use super::{
    request::{Ask, Options, Ready, To, With},
    session::DcSession,
    setup::{Setup, Way},
};

/// The first `len` bytes of pieces.
fn cut(pieces: &mut Vec<CpaFlatBuffer>, len: u32, what: &'static str) -> Result<(), Refusal> {
    if length(pieces) < len as usize {
        return Err(Refusal::invalid(what));
    }
    let mut left = len;
    pieces.retain_mut(|piece| {
        piece.dataLenInBytes = piece.dataLenInBytes.min(left);
        left -= piece.dataLenInBytes;
        piece.dataLenInBytes > 0
    });
    Ok(())
}

const SHORT_SRC: &str = "bufferLenToCompress is more than the source has";
const SHORT_DST: &str = "bufferLenForData is more than the destination has";
const NO_OP: &str = "no operation";

/// Checks one operation and hands its request on.
unsafe fn with_ready<R>(
    process: &'static Process,
    op: *mut CpaDcDpOpData,
    bell: bool,
    go_on: impl FnOnce(Ready<'_>) -> Result<R, Refusal>,
) -> Result<R, Refusal> {
    // SAFETY: the exported function's caller promises all that follows.
    let data = unsafe { given(op, NO_OP) }?;
    let instance = process.instance(data.dcInstance, Service::Dc)?;
    if instance.dp_callback.load(Ordering::Relaxed).is_null() {
        return Err(Refusal::invalid("no callback: cpaDcDpRegCbFunc comes first"));
    }
    let way = match data.sessDirection {
        CPA_DC_DIR_COMPRESS => Way::Compress,
        CPA_DC_DIR_DECOMPRESS => Way::Decompress,
        _ => return Err(Refusal::invalid("sessDirection of an operation is one of two")),
    };
    let (verify, recover) = (data.compressAndVerify, data.compressAndVerifyAndRecover);
    let mut options = Options::flush(CPA_DC_FLUSH_FINAL)?;
    options.verify = verify != CPA_FALSE && way == Way::Compress;
    options.recover = recover != CPA_FALSE && options.verify;
    // SAFETY: as above.
    let (mut src, mut dst) = unsafe {
        (
            buffers::physical(data.srcBuffer, data.srcBufferLen)?,
            buffers::physical(data.destBuffer, data.destBufferLen)?,
        )
    };
    cut(&mut src, data.bufferLenToCompress, SHORT_SRC)?;
    cut(&mut dst, data.bufferLenForData, SHORT_DST)?;
    let own;
    let with = if data.pSessionHandle.is_null() {
        // SAFETY: as above.
        own = Setup::new(unsafe { given(data.pSetupData, "neither a session nor set-up data") }?)?;
        With::Setup(&own)
    } else {
        // SAFETY: as above.
        With::Session(unsafe { Session::<DcSession>::get(data.pSessionHandle) }?)
    };
    if matches!(&with, With::Session(s) if s.setup().stateful)
        || matches!(&with, With::Setup(s) if s.stateful)
    {
        return Err(Refusal::invalid("the data plane has stateless requests alone"));
    }
    let (src, dst) = (&src[..], &dst[..]);
    // SAFETY: as above.
    let results = unsafe { &raw mut (*op).results };
    let to = To::Plane(op);
    let ask = Ask { instance, with, way, src, dst, options, results, to, bell, dictionary: None };
    // SAFETY: as above.
    go_on(unsafe { ask.ready(process) }?)
}

crate::api! {
    fn cpaDcDpRegCbFunc(handle: CpaInstanceHandle, callback: CpaDcDpCallbackFn) {
        let instance = Process::get()?.instance(handle, Service::Dc)?;
        let callback: *mut c_void = callback.map_or(ptr::null_mut(), |callback| callback as *mut _);
        if callback.is_null() {
            return Err(Refusal::invalid("no callback"));
        }
        instance.dp_callback.store(callback, Ordering::Release);
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcDpEnqueueOp(op: *mut CpaDcDpOpData, now: CpaBoolean) {
        let process = Process::get()?;
        with_ready(process, op, now != CPA_FALSE, |ready| ready.submit(process))
    }

    fn cpaDcDpEnqueueOpBatch(number: Cpa32U, ops: *mut *mut CpaDcDpOpData, now: CpaBoolean) {
        let process = Process::get()?;
        if number == 0 || ops.is_null() || !ops.is_aligned() {
            return Err(Refusal::invalid(NO_OP));
        }
        let ops = core::slice::from_raw_parts(ops, number as usize);
        let first = process.instance(given(ops[0], NO_OP)?.dcInstance, Service::Dc)?;
        // All or none: nobody else submits to an instance of the data plane meanwhile.
        let depth = process.settings().depth;
        if number as usize > depth {
            return Err(Refusal::invalid("a batch of more operations than a ring has room for"));
        }
        if !first.ring.has_room(process, number as usize) {
            return Err(Refusal::RETRY);
        }
        for op in ops {
            let same = process.instance(given(*op, NO_OP)?.dcInstance, Service::Dc)?;
            if !ptr::eq(same, first) {
                return Err(Refusal::invalid("the operations of a batch are of one instance"));
            }
        }
        // None is submitted before all are checked.
        let mut all = Vec::with_capacity(ops.len());
        for op in ops {
            all.push(with_ready(process, *op, false, |ready| Ok(ready.of_plane()))?);
        }
        for ready in all {
            ready.submit(process)?;
        }
        if now != CPA_FALSE {
            first.ring.ring(process)?;
        }
        Ok(CPA_STATUS_SUCCESS)
    }

    fn cpaDcDpPerformOpNow(handle: CpaInstanceHandle) {
        let process = Process::get()?;
        process.instance(handle, Service::Dc)?.ring.ring(process)?;
        Ok(CPA_STATUS_SUCCESS)
    }
}
