//! Requests: into the ring, and their answers to the program.
#![allow(unsafe_code)]

use core::{ffi::c_void, ptr::NonNull};
use std::sync::OnceLock;

use lookaside::{Buf, CipherSession, OpError, Packet, Request, Response};

use crate::{
    abi::*,
    buffers,
    counters::Counter,
    instance::QatInstance,
    lock::Lock,
    process::Process,
    refusal::{Refusal, say, status_of},
    ring::Complete,
    session::{Flight, Kind, Session},
};

use super::{
    ask::{Ask, Lists},
    plan::{After, Plan, Way},
    pool,
    setup::Setup,
    steps::{self, Partial, Steps, equal},
};

/// A session of the symmetric service.
pub struct Sym {
    /// The instance that it began with.
    pub instance: &'static QatInstance,
    /// The callback; without one requests are synchronous. Those of the data plane have the instance's.
    pub callback: CpaCySymCbFunc,
    /// Whether it is one of the data plane.
    pub data_plane: bool,
    /// What it is for.
    pub setup: Setup,
    plan: Plan,
    steps: OnceLock<Steps>,
    partial: Lock<Partial>,
}

impl Kind for Sym {
    const MARK: u64 = 0x5e55_1074_c0de_0001;
    const FOREIGN: &'static str = "not a session: cpaCySymInitSession and cpaCySymDpInitSession make one, and it is gone once removed";
}

impl Sym {
    /// The session for this set-up.
    ///
    /// # Errors
    /// For keys and digests whose length the algorithm does not have.
    pub fn new(
        process: &Process,
        instance: &'static QatInstance,
        callback: CpaCySymCbFunc,
        data_plane: bool,
        setup: Setup,
    ) -> Result<Sym, Refusal> {
        let plan = setup.plan(process.runtime())?;
        let sym = Sym {
            instance,
            callback,
            data_plane,
            setup,
            plan,
            steps: OnceLock::new(),
            partial: Lock::new(Partial::default()),
        };
        if sym.plan.is_in_steps() {
            sym.steps(process)?;
        }
        Ok(sym)
    }

    fn steps(&self, process: &Process) -> Result<&Steps, Refusal> {
        match self.steps.get() {
            Some(steps) => Ok(steps),
            None => {
                let steps = Steps::new(&self.setup, process.runtime())?;
                Ok(self.steps.get_or_init(|| steps))
            }
        }
    }

    /// Whether a text in partial packets is under way.
    pub fn has_partial(&self) -> bool {
        self.partial.lock().is_open()
    }
}

/// Whom the answer is for.
#[derive(Clone, Copy)]
enum To {
    /// The session's callback, or the thread that waits.
    Program {
        tag: *mut c_void,
        data: *const CpaCySymOpData,
        src: *const CpaBufferList,
        dst: *mut CpaBufferList,
    },
    /// The instance's callback.
    DataPlane(*mut CpaCySymDpOpData),
}

/// What is done with a request's answer.
struct Answer {
    process: &'static Process,
    instance: &'static QatInstance,
    /// Lives as long as the flight.
    session: NonNull<Session<Sym>>,
    flight: Flight,
    to: To,
    after: After,
}

// SAFETY: the pointers are the program's, valid until the callback on whichever thread polls.
unsafe impl Send for Answer {}

/// A packet in steps: all is left to the thread that polls.
struct InSteps {
    answer: Answer,
    piece: Piece,
}

/// Which part of a text.
#[derive(Clone, Copy, PartialEq)]
enum Piece {
    Whole,
    Next,
    Last,
}

/// A status, and whether the digest was the right one.
type Outcome = (CpaStatus, bool);

impl Answer {
    /// Counts, and calls back.
    #[inline]
    fn tell(self, (status, verified): Outcome) {
        let Answer { instance, session, flight, to, .. } = self;
        count(instance, status, verified);
        // SAFETY: the flight keeps the session.
        let session = unsafe { session.as_ref() };
        let (callback, op) = (session.callback, session.setup.op);
        // The callback may remove the session.
        drop(flight);
        let verified = if verified { CPA_TRUE } else { CPA_FALSE };
        match to {
            To::Program { tag, data, dst, .. } => {
                if let Some(callback) = callback {
                    // SAFETY: the program's function, called as its type says.
                    unsafe { callback(tag, status, op, data.cast_mut().cast(), dst, verified) };
                }
            }
            To::DataPlane(data) => {
                let callback = instance.dp_callback.load(core::sync::atomic::Ordering::Relaxed);
                // SAFETY: stored by cpaCySymDpRegCbFunc; null is `None`.
                let callback: CpaCySymDpCbFunc = unsafe { core::mem::transmute(callback) };
                if let Some(callback) = callback {
                    // SAFETY: as above.
                    unsafe { callback(data, status, verified) };
                }
            }
        }
    }

    /// What an answer of the runtime's means; puts the digest where it belongs.
    #[inline]
    fn settle(&self, response: Response) -> Outcome {
        // SAFETY: the flight keeps the session.
        let len = unsafe { self.session.as_ref() }.plan.tag_len as usize;
        let outcome = match response.result {
            Ok(_) => {
                let tag = || {
                    let aside = match response.carried.as_deref() {
                        Some(lookaside::Carried::Aside(aside)) => &aside.tag,
                        _ => &response.dst,
                    };
                    aside.as_slice().and_then(|tag| tag.get(..len)).unwrap_or_default()
                };
                match self.after {
                    After::Done => (CPA_STATUS_SUCCESS, true),
                    After::Copy(to) => {
                        let tag = tag();
                        // SAFETY: as long as the session's digest, and the program's until the callback.
                        unsafe { core::ptr::copy_nonoverlapping(tag.as_ptr(), to, tag.len()) };
                        (CPA_STATUS_SUCCESS, true)
                    }
                    After::Compare(with) => {
                        // SAFETY: as above.
                        let with = unsafe { core::slice::from_raw_parts(with, len) };
                        (CPA_STATUS_SUCCESS, equal(tag(), with))
                    }
                }
            }
            Err(OpError::AuthFailed) => (CPA_STATUS_SUCCESS, false),
            Err(error) => {
                say("cpaCySymPerformOp", &error.to_string());
                (status_of(error), false)
            }
        };
        pool::recycle(response);
        outcome
    }
}

#[inline]
fn count(instance: &QatInstance, status: CpaStatus, verified: bool) {
    instance.counters.count(match (status, verified) {
        (CPA_STATUS_SUCCESS, true) => Counter::SymCompleted,
        (CPA_STATUS_SUCCESS, false) => {
            instance.counters.count(Counter::SymCompleted);
            Counter::SymVerifyFailed
        }
        _ => Counter::SymFailed,
    });
}

impl Complete for Answer {
    #[inline]
    fn complete(self, response: Response) {
        let outcome = self.settle(response);
        self.tell(outcome);
    }
}

impl Complete for InSteps {
    fn complete(self, response: Response) {
        pool::recycle(response);
        let outcome = self.work();
        self.answer.tell(outcome);
    }
}

impl InSteps {
    /// Does it, now.
    fn work(&self) -> Outcome {
        let Answer { process, session, to, .. } = &self.answer;
        // SAFETY: the flight keeps the session.
        let session = unsafe { session.as_ref() };
        // SAFETY: the program keeps what it submitted until the callback.
        let result = session.steps(process).and_then(|steps| unsafe {
            with(*to, |ask, lists| match self.piece {
                Piece::Whole => steps.whole(&session.plan, ask, lists),
                piece => {
                    let mut partial = session.partial.lock();
                    let last = piece == Piece::Last;
                    let result = steps.piece(&mut partial, &session.plan, ask, lists, last);
                    partial.in_flight = false;
                    result
                }
            })
        });
        match result {
            Ok(verified) => (CPA_STATUS_SUCCESS, verified),
            Err(refusal) => {
                refusal.print("cpaCySymPerformOp");
                (refusal.status(), false)
            }
        }
    }
}

/// A request in one form, and its lists.
#[inline]
unsafe fn with<T>(
    to: To,
    body: impl FnOnce(&Ask, &Lists) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    match to {
        To::Program { data, src, dst, .. } => {
            // SAFETY: the caller's promise; looked at for null before.
            let (ask, src, dst) = unsafe {
                let same = core::ptr::eq(src, dst);
                let src = buffers::pieces(src)?;
                let dst = if same { src } else { buffers::pieces(dst)? };
                (Ask::from(&*data), src, dst)
            };
            body(&ask, &Lists::new(src, dst))
        }
        To::DataPlane(data) => {
            // SAFETY: as above.
            let data = unsafe { &*data };
            let ask = Ask::from(data);
            if data.srcBufferLen != CPA_DP_BUFLIST && data.dstBufferLen != CPA_DP_BUFLIST {
                let flat = |address: CpaPhysicalAddr, len| {
                    let pData = core::ptr::with_exposed_provenance_mut(address as usize);
                    [CpaFlatBuffer { dataLenInBytes: len, pData }]
                };
                let src = flat(data.srcBuffer, data.srcBufferLen);
                let dst = flat(data.dstBuffer, data.dstBufferLen);
                let is_null = |flat: &[CpaFlatBuffer; 1]| {
                    flat[0].pData.is_null() && flat[0].dataLenInBytes > 0
                };
                if is_null(&src) || is_null(&dst) {
                    return Err(Refusal::invalid("a buffer has a length, and no address"));
                }
                return body(&ask, &Lists::new(&src, &dst));
            }
            // SAFETY: the caller's promise.
            let (src, dst) = unsafe {
                (
                    buffers::physical(data.srcBuffer, data.srcBufferLen)?,
                    buffers::physical(data.dstBuffer, data.dstBufferLen)?,
                )
            };
            body(&ask, &Lists::new(&src, &dst))
        }
    }
}

/// A request that does nothing: its answer is work for the thread that polls.
fn nothing(process: &Process) -> Result<Request, Refusal> {
    static NULL: OnceLock<CipherSession> = OnceLock::new();
    let session = match NULL.get() {
        Some(session) => session,
        None => {
            let session = process.runtime().cipher(lookaside::Cipher::Null, &[])?;
            NULL.get_or_init(|| session)
        }
    };
    let carried = pool::carried(lookaside::Carried::Packet(Packet::default()));
    Ok(session.encrypt(carried, Buf::empty(), Buf::empty()))
}

/// Refuses what the ring has no room for, before anything is built for it.
#[inline]
fn check_room(process: &Process, instance: &QatInstance, n: usize) -> Result<(), Refusal> {
    match instance.ring.in_flight() as usize + n > process.settings().depth {
        true => Err(Refusal::RETRY),
        false => Ok(()),
    }
}

/// Submits the request of a program, or executes it where the session has no callback.
///
/// # Errors
/// As cpaCySymPerformOp.
///
/// # Safety
/// Pointers as the interface asks for.
#[inline]
pub unsafe fn perform(
    process: &'static Process,
    instance: &'static QatInstance,
    tag: *mut c_void,
    data: *const CpaCySymOpData,
    src: *const CpaBufferList,
    dst: *mut CpaBufferList,
    verified: *mut CpaBoolean,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the caller's promise.
    let given = unsafe { crate::refusal::given(data, "no pOpData") }?;
    // SAFETY: the caller's promise.
    let session = unsafe { Session::<Sym>::get(given.sessionCtx) }?;
    if session.data_plane {
        return Err(Refusal::invalid("a session of the data plane"));
    }
    let piece = match given.packetType {
        CPA_CY_SYM_PACKET_TYPE_FULL => Piece::Whole,
        CPA_CY_SYM_PACKET_TYPE_PARTIAL => Piece::Next,
        CPA_CY_SYM_PACKET_TYPE_LAST_PARTIAL => Piece::Last,
        _ => return Err(Refusal::invalid("packetType is none of the interface's")),
    };
    check_room(process, instance, 1)?;
    let to = To::Program { tag, data, src, dst };
    // SAFETY: the caller's promise.
    unsafe { submit(process, instance, session, to, piece, true, verified) }
}

/// Submits a request of the data plane.
///
/// # Errors
/// As cpaCySymDpEnqueueOp.
///
/// # Safety
/// Pointers as the interface asks for.
#[inline]
pub unsafe fn enqueue(
    process: &'static Process,
    data: *mut CpaCySymDpOpData,
    bell: bool,
) -> Result<CpaStatus, Refusal> {
    // SAFETY: the caller's promise.
    let (instance, session) = unsafe { of_data_plane(process, data) }?;
    check_room(process, instance, 1)?;
    let to = To::DataPlane(data);
    // SAFETY: the caller's promise.
    unsafe { submit(process, instance, session, to, Piece::Whole, bell, core::ptr::null_mut()) }
}

/// Submits all of them, or none.
///
/// # Errors
/// As cpaCySymDpEnqueueOpBatch.
///
/// # Safety
/// Pointers as the interface asks for.
pub unsafe fn enqueue_all(
    process: &'static Process,
    all: &[*mut CpaCySymDpOpData],
    bell: bool,
) -> Result<CpaStatus, Refusal> {
    let Some(&first) = all.first() else {
        return Err(Refusal::invalid("numberRequests is 0"));
    };
    // SAFETY: the caller's promise.
    let (instance, _) = unsafe { of_data_plane(process, first) }?;
    for &data in all {
        // SAFETY: the caller's promise.
        unsafe {
            let (own, session) = of_data_plane(process, data)?;
            if !core::ptr::eq(own, instance) {
                return Err(Refusal::invalid("the requests of a batch are of one instance"));
            }
            with(To::DataPlane(data), |ask, lists| session.plan.shape(ask, lists).map(discard))?;
        }
    }
    check_room(process, instance, all.len())?;
    for (i, &data) in all.iter().enumerate() {
        // SAFETY: the caller's promise.
        unsafe { enqueue(process, data, bell && i + 1 == all.len()) }?;
    }
    Ok(CPA_STATUS_SUCCESS)
}

/// What was only looked at.
fn discard(way: Way) {
    if let Way::Request(shape) = way {
        shape.discard();
    }
}

#[inline]
unsafe fn of_data_plane<'a>(
    process: &'static Process,
    data: *const CpaCySymDpOpData,
) -> Result<(&'static QatInstance, &'a Session<Sym>), Refusal> {
    // SAFETY: the caller's promise.
    let data = unsafe { crate::refusal::given(data, "no pOpData") }?;
    let instance = process.instance(data.instanceHandle, crate::instance::Service::Cy)?;
    instance.check_running()?;
    if instance.dp_callback.load(core::sync::atomic::Ordering::Relaxed).is_null() {
        return Err(Refusal::fail("no callback yet: register one with cpaCySymDpRegCbFunc"));
    }
    // SAFETY: the caller's promise.
    let session = unsafe { Session::<Sym>::get(data.sessionCtx) }?;
    match session.data_plane {
        true => Ok((instance, session)),
        false => Err(Refusal::invalid("not a session of the data plane")),
    }
}

#[inline]
unsafe fn submit(
    process: &'static Process,
    instance: &'static QatInstance,
    session: &Session<Sym>,
    to: To,
    piece: Piece,
    bell: bool,
    verified: *mut CpaBoolean,
) -> Result<CpaStatus, Refusal> {
    let way = match piece {
        // SAFETY: the caller's promise.
        Piece::Whole => unsafe { with(to, |ask, lists| session.plan.shape(ask, lists)) }?,
        // SAFETY: the caller's promise.
        _ => unsafe { take_turn(process, session, to, piece) }?,
    };
    let answer = |after| Answer {
        process,
        instance,
        session: NonNull::from(session),
        flight: session.fly(),
        to,
        after,
    };
    let synchronous = session.callback.is_none() && !session.data_plane;
    match way {
        Way::Request(shape) if !synchronous => {
            let after = shape.after;
            let request = || session.plan.request(shape).0;
            instance.ring.submit(process, bell, request, answer(after))?;
        }
        Way::Request(shape) => {
            let (request, after) = session.plan.request(shape);
            let answer = answer(after);
            instance.counters.count(Counter::SymRequest);
            let outcome = answer.settle(process.call(request));
            // SAFETY: the caller's promise.
            return unsafe { at_once(answer, outcome, verified) };
        }
        Way::InSteps if synchronous => {
            let steps = InSteps { answer: answer(After::Done), piece };
            instance.counters.count(Counter::SymRequest);
            let outcome = steps.work();
            // SAFETY: the caller's promise.
            return unsafe { at_once(steps.answer, outcome, verified) };
        }
        Way::InSteps => {
            let steps = InSteps { answer: answer(After::Done), piece };
            let submitted = nothing(process)
                .and_then(|request| instance.ring.submit(process, bell, || request, steps));
            if submitted.is_err() && piece != Piece::Whole {
                session.partial.lock().in_flight = false;
            }
            submitted?;
        }
    }
    instance.counters.count(Counter::SymRequest);
    Ok(CPA_STATUS_SUCCESS)
}

/// The end of a synchronous request.
unsafe fn at_once(
    answer: Answer,
    (status, right): Outcome,
    verified: *mut CpaBoolean,
) -> Result<CpaStatus, Refusal> {
    count(answer.instance, status, right);
    if status == CPA_STATUS_SUCCESS && !verified.is_null() {
        // SAFETY: the caller's promise.
        unsafe { verified.write(if right { CPA_TRUE } else { CPA_FALSE }) };
    }
    Ok(status)
}

/// Partial packets of a session come one after the other.
unsafe fn take_turn(
    process: &Process,
    session: &Session<Sym>,
    to: To,
    piece: Piece,
) -> Result<Way, Refusal> {
    if !session.setup.partials {
        return Err(Refusal::invalid("the session was set up with partialsNotRequired"));
    }
    let steps = session.steps(process)?;
    let last = piece == Piece::Last;
    let check =
        |ask: &Ask, lists: &Lists| steps::check_piece(steps, &session.plan, ask, lists, last);
    // SAFETY: the caller's promise.
    unsafe { with(to, check) }?;
    let mut partial = session.partial.lock();
    if partial.in_flight {
        return Err(Refusal::RETRY);
    }
    partial.in_flight = true;
    Ok(Way::InSteps)
}
