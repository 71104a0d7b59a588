//! One request of any operation: through the ring with a callback, at once without.
#![allow(unsafe_code)]

use core::ffi::c_void;

use lookaside::{Buf, OpError, Request, Response};

use super::counters::{Event, Work};
use crate::{
    abi::*,
    instance::{QatInstance, Service},
    process::Process,
    refusal::{Refusal, status_of},
    ring::{Complete, caught},
};

/// What came of a request.
pub enum Outcome {
    /// The result is written.
    Done,
    /// There is no valid result: a signature is wrong, a point infinite, a number no prime.
    Invalid,
    /// It failed.
    Failed(CpaStatus),
}

impl Outcome {
    /// Of a step that answers `BadInput` or `AuthFailed` where the output is not valid.
    pub fn of(error: OpError) -> Outcome {
        match error {
            OpError::BadInput(_) | OpError::AuthFailed => Outcome::Invalid,
            other => Outcome::Failed(status_of(other)),
        }
    }

    /// Done, or not.
    pub fn when(valid: bool) -> Outcome {
        if valid { Outcome::Done } else { Outcome::Invalid }
    }
}

impl From<Result<(), OpError>> for Outcome {
    fn from(result: Result<(), OpError>) -> Outcome {
        result.map_or_else(Outcome::of, |()| Outcome::Done)
    }
}

/// The callbacks of the interface, by what they are given.
#[derive(Clone, Copy)]
pub enum Callback {
    /// One buffer.
    Flat(
        unsafe extern "C" fn(*mut c_void, CpaStatus, *mut c_void, *mut CpaFlatBuffer),
        *mut CpaFlatBuffer,
    ),
    /// Whether it is valid.
    Flag(unsafe extern "C" fn(*mut c_void, CpaStatus, *mut c_void, CpaBoolean)),
    /// Whether it is valid, and one buffer.
    One(
        unsafe extern "C" fn(*mut c_void, CpaStatus, *mut c_void, CpaBoolean, *mut CpaFlatBuffer),
        *mut CpaFlatBuffer,
    ),
    /// Whether it is valid, and two buffers.
    Two(
        unsafe extern "C" fn(
            *mut c_void,
            CpaStatus,
            *mut c_void,
            CpaBoolean,
            *mut CpaFlatBuffer,
            *mut CpaFlatBuffer,
        ),
        [*mut CpaFlatBuffer; 2],
    ),
    /// An RSA key pair.
    Keys(
        unsafe extern "C" fn(
            *mut c_void,
            CpaStatus,
            *mut c_void,
            *mut CpaCyRsaPrivateKey,
            *mut CpaCyRsaPublicKey,
        ),
        *mut CpaCyRsaPrivateKey,
        *mut CpaCyRsaPublicKey,
    ),
}

/// Who asks.
pub struct Caller {
    /// The instance's handle.
    pub handle: CpaInstanceHandle,
    /// What for.
    pub work: Work,
    /// How to answer; `None` waits.
    pub callback: Option<Callback>,
    /// Given to the callback.
    pub tag: *mut c_void,
    /// Given to the callback.
    pub op_data: *mut c_void,
    /// Where a synchronous call wants to know whether the output is valid; `None` for operations that fail
    /// where it is not.
    pub valid: Option<*mut CpaBoolean>,
}

impl Caller {
    /// Of an operation that fails where its output is not valid.
    pub fn new<T>(
        handle: CpaInstanceHandle,
        work: Work,
        callback: Option<Callback>,
        tag: *mut c_void,
        op_data: *const T,
    ) -> Caller {
        let op_data = op_data.cast_mut().cast();
        Caller { handle, work, callback, tag, op_data, valid: None }
    }

    /// Of an operation that says whether its output is valid.
    pub fn says(mut self, valid: *mut CpaBoolean) -> Caller {
        self.valid = Some(valid);
        self
    }
}

/// Everything that an answer needs.
struct Answer<F> {
    instance: &'static QatInstance,
    work: Work,
    callback: Callback,
    tag: *mut c_void,
    op_data: *mut c_void,
    finish: F,
}

// SAFETY: pointers of the caller's, who hands them over until the callback, whichever thread that polls runs it.
unsafe impl<F> Send for Answer<F> {}

impl<F: FnOnce(Response) -> Outcome + 'static> Complete for Answer<F> {
    fn complete(self, response: Response) {
        let Answer { instance, work, callback, tag, op_data, finish } = self;
        let outcome = caught(|| finish(response)).unwrap_or(Outcome::Failed(CPA_STATUS_FATAL));
        let (status, valid) = settle(instance, work, outcome);
        let flag = if valid { CPA_TRUE } else { CPA_FALSE };
        // For operations without a flag.
        let plain = if valid || status != CPA_STATUS_SUCCESS { status } else { CPA_STATUS_FAIL };
        // SAFETY: the caller's function, with what it was promised.
        unsafe {
            match callback {
                Callback::Flat(call, out) => call(tag, plain, op_data, out),
                Callback::Flag(call) => call(tag, status, op_data, flag),
                Callback::One(call, out) => call(tag, status, op_data, flag, out),
                Callback::Two(call, [a, b]) => call(tag, status, op_data, flag, a, b),
                Callback::Keys(call, private, public) => call(tag, plain, op_data, private, public),
            }
        }
    }
}

/// Counts an outcome; its status, and whether the output is valid.
fn settle(instance: &QatInstance, work: Work, outcome: Outcome) -> (CpaStatus, bool) {
    let (event, status, valid) = match outcome {
        Outcome::Done => (Event::Completed, CPA_STATUS_SUCCESS, true),
        Outcome::Invalid => (Event::Invalid, CPA_STATUS_SUCCESS, false),
        Outcome::Failed(status) => (Event::Failed, status, false),
    };
    instance.pke.count(work, event);
    (status, valid)
}

/// Runs a request: `prepare` checks everything and makes it, `finish` writes its result.
///
/// # Errors
/// What `prepare` answers; `RETRY` when the ring is full.
///
/// # Safety
/// What `finish` refers to stays as it is until the answer, as the interface asks for.
pub unsafe fn run<F>(
    caller: &Caller,
    prepare: impl FnOnce(&'static Process) -> Result<(Request, F), Refusal>,
) -> Result<CpaStatus, Refusal>
where
    F: FnOnce(Response) -> Outcome + 'static,
{
    let process = Process::get()?;
    let instance = process.instance(caller.handle, Service::Cy)?;
    let accepted = instance.check_running().and_then(|()| {
        if caller.valid.is_some_and(|valid| valid.is_null() || !valid.is_aligned()) {
            return Err(Refusal::invalid("no place for whether the output is valid"));
        }
        let (request, finish) = prepare(process)?;
        let Some(callback) = caller.callback else { return Ok(Some((request, finish))) };
        let &Caller { work, tag, op_data, .. } = caller;
        let answer = Answer { instance, work, callback, tag, op_data, finish };
        instance.asym.submit(process, true, move || request, answer)?;
        Ok(None)
    });
    match &accepted {
        Ok(_) => instance.pke.count(caller.work, Event::Request),
        // Its key may have come into a cache after the stop.
        Err(_) if !instance.is_up() => {
            process.forget_unused_keys();
            instance.pke.count(caller.work, Event::Refused);
        }
        // To try again is normal use.
        Err(refusal) if refusal.status() == CPA_STATUS_RETRY => {}
        Err(_) => instance.pke.count(caller.work, Event::Refused),
    }
    let Some((request, finish)) = accepted? else { return Ok(CPA_STATUS_SUCCESS) };
    let outcome = finish(process.call(request));
    if !instance.is_up() {
        process.forget_unused_keys();
    }
    let (status, valid) = settle(instance, caller.work, outcome);
    let Some(place) = caller.valid else {
        let failed = status == CPA_STATUS_SUCCESS && !valid;
        return Ok(if failed { CPA_STATUS_FAIL } else { status });
    };
    // SAFETY: checked above; the caller's promise.
    unsafe { place.write(if valid { CPA_TRUE } else { CPA_FALSE }) };
    Ok(status)
}

/// Refuses, and counts that.
///
/// # Errors
/// The refusal.
pub fn refuse(caller: &Caller, refusal: Refusal) -> Result<CpaStatus, Refusal> {
    let instance = Process::get()?.instance(caller.handle, Service::Cy)?;
    instance.pke.count(caller.work, Event::Refused);
    Err(refusal)
}

/// The bytes that a request has written: an error where it has failed.
///
/// # Errors
/// The request's.
pub fn written(response: &Response) -> Result<&[u8], OpError> {
    let produced = response.result?.produced;
    let dst = response.dst.as_slice().unwrap_or_default();
    Ok(&dst[..produced.min(dst.len())])
}

/// A place for a result of ours: overwritten when dropped.
pub fn place(len: usize) -> Buf {
    Buf::secret(vec![0; len])
}
