//! Requests: into the ring, and their answers to the program.
#![allow(unsafe_code)]

use core::{
    ffi::c_void,
    ptr::{self, NonNull},
    sync::atomic::Ordering,
};

use lookaside::{Buf, CipherSession, OpError, Packet, Request, Response};
use once_cell::race::OnceBox;

use crate::{
    abi::*,
    buffers,
    counters::Counter,
    flights::Flights,
    instance::QatInstance,
    lock::{Guard, Lock},
    process::Process,
    refusal::{Refusal, say, status_of},
    ring::{Complete, Landed, caught},
    session::{Kind, Session},
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
    steps: OnceBox<Steps>,
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
            steps: OnceBox::new(),
            partial: Lock::new(Partial::default()),
        };
        if sym.plan.is_in_steps() {
            sym.steps(process)?;
        }
        Ok(sym)
    }

    fn steps(&self, process: &Process) -> Result<&Steps, Refusal> {
        self.steps.get_or_try_init(|| Ok(Box::new(Steps::new(&self.setup, process.runtime())?)))
    }

    /// Whether a text in partial packets is under way.
    pub fn has_partial(&self) -> bool {
        self.partial().0.is_open()
    }

    /// What partial packets have left so far. Whether it is empty since a `fork` in the middle of a packet.
    fn partial(&self) -> (Guard<'_, Partial>, bool) {
        let mut partial = self.partial.lock();
        let lost = partial.is_orphaned() || partial.is_lost();
        if lost {
            // A thread of the parent's may have been inside: not dropped.
            core::mem::forget(core::mem::take(&mut *partial));
        }
        (partial, lost)
    }

    /// No partial packet is under way.
    fn end_turn(&self) {
        self.partial().0.set_in_flight(false);
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
    instance: &'static QatInstance,
    /// It stays while one of its requests is in flight.
    session: NonNull<Session<Sym>>,
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
    /// The session.
    #[inline]
    fn session(&self) -> &Session<Sym> {
        // SAFETY: a request of it is in flight.
        unsafe { self.session.as_ref() }
    }

    /// Counts, and leaves the callback.
    #[inline]
    fn landed(&self, (status, verified): Outcome) -> Landed {
        count(self.instance, status, verified);
        let session = self.session();
        let flights = ptr::from_ref(session.flights()).cast_mut().cast();
        let verified = if verified { CPA_TRUE } else { CPA_FALSE };
        let numbers = [status, session.setup.op.0, verified.0];
        let none = ptr::null_mut();
        match self.to {
            To::Program { tag, data, dst, .. } => {
                let callback = session.callback.map_or(none, |f| f as *mut c_void);
                let data = data.cast_mut().cast();
                Landed { call, words: [flights, callback, tag, data, dst.cast(), none], numbers }
            }
            To::DataPlane(data) => {
                let callback = self.instance.dp_callback.load(Ordering::Relaxed);
                let words = [flights, callback, data.cast(), none, none, none];
                Landed { call: call_data_plane, words, numbers }
            }
        }
    }

    /// What an answer of the runtime's means; puts the digest where it belongs.
    #[inline]
    fn settle(&self, response: &mut Response) -> Outcome {
        let len = self.session().plan.tag_len as usize;
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
                        unsafe { ptr::copy_nonoverlapping(tag.as_ptr(), to, tag.len()) };
                        (CPA_STATUS_SUCCESS, true)
                    }
                    After::Compare(with) => {
                        // SAFETY: as above.
                        let with = unsafe { core::slice::from_raw_parts(with, len) };
                        (CPA_STATUS_SUCCESS, equal(tag(), with))
                    }
                    After::CopyBack => self.copy_back(response),
                }
            }
            Err(OpError::AuthFailed) => (CPA_STATUS_SUCCESS, false),
            Err(error) => {
                say("cpaCySymPerformOp", &error.to_string());
                (status_of(error), false)
            }
        };
        if matches!(self.after, After::CopyBack) {
            pool::keep_text(core::mem::take(&mut response.dst));
        }
        pool::recycle(response);
        outcome
    }

    fn copy_back(&self, response: &Response) -> Outcome {
        let (text, [packet]) = (response.dst.as_slice().unwrap_or_default(), response.packets())
        else {
            return (CPA_STATUS_FATAL, false);
        };
        // SAFETY: the program keeps what it submitted until the callback.
        let done = unsafe {
            with(self.to, |ask, lists| self.session().plan.copy_back(ask, lists, packet, text))
        };
        match done {
            Ok(()) => (CPA_STATUS_SUCCESS, true),
            Err(refusal) => (refusal.status(), false),
        }
    }
}

/// The end of a flight: from here on the session may be gone.
#[inline]
unsafe fn land(flights: *mut c_void) {
    // SAFETY: within a session that stays while a request of it is in flight.
    unsafe { &*flights.cast::<Flights>() }.end(1);
}

unsafe fn call(landed: &Landed) {
    let Landed { words: [flights, callback, tag, data, dst, _], numbers, .. } = *landed;
    // SAFETY: of `Answer::landed`, called once. The callback is the program's, called as its type says.
    unsafe {
        // First: the callback may remove the session.
        land(flights);
        let callback: CpaCySymCbFunc = core::mem::transmute(callback);
        if let Some(callback) = callback {
            let [status, op, verified] = numbers;
            callback(tag, status, CpaCySymOp(op), data, dst.cast(), CpaBoolean(verified));
        }
    }
}

unsafe fn call_data_plane(landed: &Landed) {
    let Landed { words: [flights, callback, data, ..], numbers, .. } = *landed;
    // SAFETY: as in `call`.
    unsafe {
        land(flights);
        let callback: CpaCySymDpCbFunc = core::mem::transmute(callback);
        if let Some(callback) = callback {
            callback(data.cast(), numbers[0], CpaBoolean(numbers[2]));
        }
    }
}

/// Counts what was not as it should be.
#[inline]
fn count(instance: &QatInstance, status: CpaStatus, verified: bool) {
    match (status, verified) {
        (CPA_STATUS_SUCCESS, true) => {}
        (CPA_STATUS_SUCCESS, false) => instance.counters.count(Counter::SymVerifyFailed),
        _ => instance.counters.count(Counter::SymFailed),
    }
}

impl Complete for Answer {
    const LANDS: bool = true;

    fn complete(self, mut response: Response) {
        let landed = self.land(&mut response);
        // SAFETY: once.
        unsafe { (landed.call)(&landed) };
    }

    #[inline]
    fn land(self, response: &mut Response) -> Landed {
        let outcome = caught(|| self.settle(response)).unwrap_or((CPA_STATUS_FATAL, false));
        self.landed(outcome)
    }

    fn refused(self) {
        self.session().flights().end(1);
    }
}

impl Complete for InSteps {
    fn complete(self, mut response: Response) {
        pool::recycle(&mut response);
        let outcome = caught(|| self.work()).unwrap_or_else(|| {
            self.answer.session().end_turn();
            (CPA_STATUS_FATAL, false)
        });
        let landed = self.answer.landed(outcome);
        // SAFETY: once.
        unsafe { (landed.call)(&landed) };
    }

    fn refused(self) {
        self.answer.refused();
    }
}

impl InSteps {
    /// Does it, now.
    fn work(&self) -> Outcome {
        let (session, to) = (self.answer.session(), self.answer.to);
        // SAFETY: the program keeps what it submitted until the callback.
        let result =
            Process::get().and_then(|process| session.steps(process)).and_then(|steps| unsafe {
                with(to, |ask, lists| match self.piece {
                    Piece::Whole => steps.whole(&session.plan, ask, lists),
                    piece => {
                        let (mut partial, _) = session.partial();
                        let last = piece == Piece::Last;
                        let result = steps.piece(&mut partial, &session.plan, ask, lists, last);
                        partial.set_in_flight(false);
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
#[inline(always)]
unsafe fn with<T>(
    to: To,
    body: impl FnOnce(&Ask, &Lists) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    match to {
        To::Program { data, src, dst, .. } => {
            // SAFETY: the caller's promise; looked at for null before.
            let (ask, src, dst) = unsafe {
                let same = ptr::eq(src, dst);
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
                    let pData = ptr::with_exposed_provenance_mut(address as usize);
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
    static NULL: OnceBox<CipherSession> = OnceBox::new();
    let make = || process.runtime().cipher(lookaside::Cipher::Null, &[]);
    let session = NULL.get_or_try_init(|| make().map(Box::new))?;
    let mut carried = pool::packet();
    *carried = lookaside::Carried::Packet(Packet::default());
    Ok(session.encrypt(carried, Buf::empty(), Buf::empty()))
}

/// Refuses what the ring has no room for, before anything is built for it.
#[inline]
fn check_room(process: &Process, instance: &QatInstance, n: usize) -> Result<(), Refusal> {
    match instance.ring.has_room(process, n) {
        true => Ok(()),
        false => Err(Refusal::RETRY),
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
    if session.callback.is_some() {
        check_room(process, instance, 1)?;
    }
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
    unsafe { submit(process, instance, session, to, Piece::Whole, bell, ptr::null_mut()) }
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
            if !ptr::eq(own, instance) {
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
    if instance.dp_callback.load(Ordering::Relaxed).is_null() {
        return Err(Refusal::fail("no callback yet: register one with cpaCySymDpRegCbFunc"));
    }
    // SAFETY: the caller's promise.
    let session = unsafe { Session::<Sym>::get(data.sessionCtx) }?;
    match session.data_plane {
        true => Ok((instance, session)),
        false => Err(Refusal::invalid("not a session of the data plane")),
    }
}

#[inline(always)]
unsafe fn submit(
    process: &'static Process,
    instance: &'static QatInstance,
    session: &Session<Sym>,
    to: To,
    piece: Piece,
    bell: bool,
    verified: *mut CpaBoolean,
) -> Result<CpaStatus, Refusal> {
    if piece != Piece::Whole {
        // SAFETY: the caller's promise.
        let way = unsafe { take_turn(process, session, to, piece) }?;
        // SAFETY: the caller's promise.
        return unsafe { fly(process, instance, session, to, piece, bell, verified, way) };
    }
    // SAFETY: the caller's promise.
    unsafe {
        with(to, |ask, lists| {
            let way = session.plan.shape(ask, lists)?;
            fly(process, instance, session, to, piece, bell, verified, way)
        })
    }
}

/// Puts it into the ring, or executes it where the session has no callback.
#[allow(clippy::too_many_arguments)]
#[inline(always)]
unsafe fn fly(
    process: &'static Process,
    instance: &'static QatInstance,
    session: &Session<Sym>,
    to: To,
    piece: Piece,
    bell: bool,
    verified: *mut CpaBoolean,
    way: Way,
) -> Result<CpaStatus, Refusal> {
    let answer = |after| Answer { instance, session: NonNull::from(session), to, after };
    let synchronous = session.callback.is_none() && !session.data_plane;
    let begin = || {
        match ptr::eq(session.instance, instance) {
            // This thread has the lock of the session's own ring.
            true => session.flights().begin_locked(),
            false => session.flights().begin(),
        }
        instance.counters.count_alone(Counter::SymRequest);
    };
    match way {
        Way::Request(shape) if !synchronous => {
            let after = shape.after;
            let request = || {
                begin();
                // SAFETY: the caller's promise.
                unsafe { session.plan.request(shape) }
            };
            instance.ring.submit(process, bell, request, answer(after))?;
        }
        Way::InSteps if !synchronous => {
            let steps = InSteps { answer: answer(After::Done), piece };
            let submitted = nothing(process).and_then(|request| {
                let request = || {
                    begin();
                    request
                };
                instance.ring.submit(process, bell, request, steps)
            });
            if submitted.is_err() && piece != Piece::Whole {
                session.end_turn();
            }
            submitted?;
        }
        way => {
            let flight = session.fly();
            instance.counters.count(Counter::SymWaited);
            let (status, right) = match way {
                Way::Request(shape) => {
                    let answer = answer(shape.after);
                    // SAFETY: the caller's promise.
                    answer.settle(&mut process.call(unsafe { session.plan.request(shape) }))
                }
                Way::InSteps => InSteps { answer: answer(After::Done), piece }.work(),
            };
            count(instance, status, right);
            drop(flight);
            if status == CPA_STATUS_SUCCESS && !verified.is_null() {
                // SAFETY: the caller's promise.
                unsafe { verified.write(if right { CPA_TRUE } else { CPA_FALSE }) };
            }
            return Ok(status);
        }
    }
    Ok(CPA_STATUS_SUCCESS)
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
    let (mut partial, lost) = session.partial();
    if lost {
        return Err(Refusal::fail("a packet was under way at a fork: begin the text again"));
    }
    if partial.in_flight() {
        return Err(Refusal::RETRY);
    }
    partial.set_in_flight(true);
    Ok(Way::InSteps)
}
