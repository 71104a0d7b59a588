//! QuickAssist's interface under arbitrary sequences of calls.
//!
//! The input is a program: one byte names a call, the next ones its arguments. Whatever the program does,
//!
//! * each accepted request is called back exactly once, by a poll or by the stop of its instance;
//! * a full ring answers RETRY, and nothing else does but a session in use;
//! * a session is removed or reset exactly when none of its requests is in flight;
//! * what was compressed decompresses to the same, what was encrypted decrypts to the same, powers are right;
//! * no byte outside a destination changes, and no source;
//! * what is not valid is refused with `CPA_STATUS_INVALID_PARAM`, and never called back.
#![cfg_attr(fuzzing, no_main)]

mod request;

use std::{
    ffi::{CString, c_void},
    ptr::{self, null_mut},
    sync::{Once, atomic::Ordering},
};

use lookaside_fuzz::fuzz_target;
use lookaside_qat::{
    abi::*,
    cy::sym::*,
    dc::{plane::*, session::*},
    discovery::*,
    refusal::SILENT,
    sal::*,
};
use request::{Kind, Request, dp_done};

/// So small that programs fill it.
const DEPTH: usize = 8;
const INSTANCES: usize = 2;
const SESSIONS: usize = 6;

fuzz_target!(|program: &[u8]| {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: no other thread reads the environment yet.
        unsafe { std::env::set_var("LOOKASIDE_QAT_DEPTH", DEPTH.to_string()) };
    });
    let mut bytes = Bytes(program);
    let mut caller = Caller::start();
    // The first start has set it by the environment.
    SILENT.store(true, Ordering::Relaxed);
    while !bytes.0.is_empty() {
        caller.step(&mut bytes);
        caller.look();
    }
    caller.finish();
});

/// The program's bytes; zeros when they are used up.
pub struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub fn next(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub fn below(&mut self, n: usize) -> usize {
        usize::from(self.next()) % n
    }

    /// Bytes of the program, repeated.
    pub fn data(&mut self) -> Vec<u8> {
        let len = usize::from(self.next());
        let times = 1 + usize::from(self.next() % 32);
        self.take(len).repeat(times)
    }
}

/// A session in memory of its own.
pub struct Session {
    memory: Box<[u64; 9]>,
    pub kind: Kind,
    /// The place of its instance.
    pub at: usize,
}

impl Session {
    pub fn handle(&self) -> *mut c_void {
        self.memory.as_ptr().cast_mut().cast()
    }
}

pub struct Caller {
    pub dc: [CpaInstanceHandle; INSTANCES],
    pub cy: [CpaInstanceHandle; INSTANCES],
    sessions: Vec<Option<Session>>,
    sent: Vec<Box<Request>>,
    stopped: [[bool; INSTANCES]; 2],
}

impl Caller {
    fn start() -> Caller {
        let name = CString::new("SSL").expect("no zero");
        let (mut dc, mut cy) = ([null_mut(); INSTANCES], [null_mut(); INSTANCES]);
        // SAFETY: as many places as asked for, and functions of the right form.
        unsafe {
            assert_eq!(icp_sal_userStart(name.as_ptr()), CPA_STATUS_SUCCESS);
            assert_eq!(cpaDcGetInstances(INSTANCES as u16, dc.as_mut_ptr()), CPA_STATUS_SUCCESS);
            assert_eq!(cpaCyGetInstances(INSTANCES as u16, cy.as_mut_ptr()), CPA_STATUS_SUCCESS);
            for at in dc {
                assert_eq!(cpaDcDpRegCbFunc(at, Some(dp_done)), CPA_STATUS_SUCCESS);
            }
        }
        let sessions = (0..SESSIONS).map(|_| None).collect();
        Caller { dc, cy, sessions, sent: Vec::new(), stopped: [[false; INSTANCES]; 2] }
    }

    fn step(&mut self, bytes: &mut Bytes<'_>) {
        match bytes.next() % 16 {
            0 | 1 => self.open(bytes),
            2 => self.remove(bytes),
            3 => self.reset(bytes),
            4 | 5 => self.poll(bytes),
            6 => self.stop(bytes),
            7 => self.nonsense(bytes),
            _ => self.submit(bytes),
        }
    }

    fn open(&mut self, bytes: &mut Bytes<'_>) {
        let (n, at) = (bytes.below(SESSIONS), bytes.below(INSTANCES));
        let kind = Kind::read(bytes);
        if self.sessions[n].is_some() {
            return;
        }
        let session = Session { memory: Box::new([0; 9]), kind, at };
        // What is stopped begins no session of cryptography.
        let up = kind.is_dc() || !self.stopped[1][at];
        let expected = if up { CPA_STATUS_SUCCESS } else { CPA_STATUS_FAIL };
        assert_eq!(request::begin(self, &session), expected);
        self.sessions[n] = up.then_some(session);
    }

    fn in_flight(&self, n: usize) -> usize {
        self.sent.iter().filter(|sent| sent.session == Some(n)).count()
    }

    fn remove(&mut self, bytes: &mut Bytes<'_>) {
        let n = bytes.below(SESSIONS);
        let busy = self.in_flight(n) > 0;
        let Some(session) = &self.sessions[n] else { return };
        let status = request::remove(self, session);
        assert_eq!(status, if busy { CPA_STATUS_RETRY } else { CPA_STATUS_SUCCESS });
        if !busy {
            assert_eq!(request::remove(self, session), CPA_STATUS_INVALID_PARAM);
            self.sessions[n] = None;
        }
    }

    fn reset(&mut self, bytes: &mut Bytes<'_>) {
        let n = bytes.below(SESSIONS);
        let busy = self.in_flight(n) > 0;
        let Some(session) = &self.sessions[n] else { return };
        // SAFETY: a session of its instance.
        unsafe {
            let status = match session.kind.is_dc() {
                true => cpaDcResetSession(self.dc[session.at], session.handle()),
                false => {
                    let mut used = CpaBoolean(7);
                    assert_eq!(cpaCySymSessionInUse(session.handle(), &raw mut used), 0);
                    assert_eq!(used, if busy { CPA_TRUE } else { CPA_FALSE });
                    return;
                }
            };
            assert_eq!(status, if busy { CPA_STATUS_RETRY } else { CPA_STATUS_SUCCESS });
        }
    }

    /// How many requests the ring of this instance has.
    fn count(&self, dc: bool, at: usize) -> usize {
        self.sent.iter().filter(|sent| sent.kind.is_dc() == dc && sent.at == at).count()
    }

    fn poll(&mut self, bytes: &mut Bytes<'_>) {
        let (dc, at, quota) = (bytes.below(2) == 0, bytes.below(INSTANCES), bytes.below(5));
        let before = self.count(dc, at);
        // SAFETY: handles of instances.
        let status = unsafe {
            match dc {
                true => icp_sal_DcPollInstance(self.dc[at], quota as u32),
                false => icp_sal_CyPollInstance(self.cy[at], quota as u32),
            }
        };
        assert_eq!(status, if before > 0 { CPA_STATUS_SUCCESS } else { CPA_STATUS_RETRY });
        let answered = self.sent.iter().filter(|sent| sent.answers.get() > 0).count();
        match quota {
            0 => assert_eq!(answered, before),
            // Both rings of an instance of cryptography have the quota.
            n => assert!(answered >= n.min(before) && answered <= n * if dc { 1 } else { 2 }),
        }
    }

    fn stop(&mut self, bytes: &mut Bytes<'_>) {
        let (dc, at, go_on) = (bytes.below(2) == 0, bytes.below(INSTANCES), bytes.below(4) > 0);
        // SAFETY: handles of instances.
        unsafe {
            let status = match dc {
                true => cpaDcStopInstance(self.dc[at]),
                false => cpaCyStopInstance(self.cy[at]),
            };
            assert_eq!(status, CPA_STATUS_SUCCESS);
        }
        let of = |sent: &&Box<Request>| sent.kind.is_dc() == dc && sent.at == at;
        assert!(self.sent.iter().filter(of).all(|sent| sent.answers.get() == 1));
        self.stopped[usize::from(!dc)][at] = true;
        if go_on {
            self.go_on(dc, at);
        }
    }

    fn go_on(&mut self, dc: bool, at: usize) {
        // SAFETY: as above.
        unsafe {
            let status = match dc {
                true => cpaDcStartInstance(self.dc[at], 0, null_mut()),
                false => cpaCyStartInstance(self.cy[at]),
            };
            assert_eq!(status, CPA_STATUS_SUCCESS);
        }
        self.stopped[usize::from(!dc)][at] = false;
    }

    fn submit(&mut self, bytes: &mut Bytes<'_>) {
        let n = bytes.below(SESSIONS);
        let power = bytes.below(8) == 0;
        let request = match &self.sessions[n] {
            _ if power => Request::power(bytes),
            Some(session) => Request::read(bytes, session, n),
            None => return,
        };
        let (dc, at) = (request.kind.is_dc(), request.at);
        let mut request = Box::new(request);
        let status = request.submit(self, self.sessions[n].as_ref());
        let ring = |sent: &&Box<Request>| {
            let power = |kind| matches!(kind, Kind::Power);
            sent.kind.is_dc() == dc && sent.at == at && power(sent.kind) == power(request.kind)
        };
        let full = self.sent.iter().filter(ring).count() == DEPTH;
        let expected = match () {
            () if self.stopped[usize::from(!dc)][at] => CPA_STATUS_FAIL,
            () if !request.is_valid => CPA_STATUS_INVALID_PARAM,
            () if full => CPA_STATUS_RETRY,
            () => CPA_STATUS_SUCCESS,
        };
        // What is not valid may be found before or behind a full ring, or a stop.
        let also = !request.is_valid && status == CPA_STATUS_INVALID_PARAM
            || !request.is_valid && full && status == CPA_STATUS_RETRY;
        assert!(status == expected || also, "{status}, not {expected}: {:?}", request.kind);
        match status {
            CPA_STATUS_SUCCESS => self.sent.push(request),
            _ => assert_eq!(request.answers.get(), 0, "refused, and called back"),
        }
    }

    /// What is never valid.
    fn nonsense(&mut self, bytes: &mut Bytes<'_>) {
        let mut place = [0_u64; 64];
        let stray = place.as_mut_ptr().cast::<c_void>();
        let handle = [null_mut(), stray][bytes.below(2)];
        // SAFETY: nothing that is not refused before it is used.
        let status = unsafe {
            match bytes.next() % 10 {
                0 => cpaDcInitSession(self.dc[0], null_mut(), null_mut(), null_mut(), None),
                1 => cpaDcRemoveSession(self.dc[0], handle),
                2 => cpaDcResetSession(self.dc[1], handle),
                3 => cpaCySymRemoveSession(self.cy[0], handle),
                4 => cpaCySymInitSession(self.cy[0], None, ptr::null(), stray),
                5 => icp_sal_DcPollInstance(stray, 0),
                6 => icp_sal_CyPollInstance(self.dc[0], 0),
                7 => cpaDcUpdateSession(self.dc[0], handle, null_mut()),
                8 => cpaDcGetInstances(0, null_mut()),
                _ => cpaDcDpEnqueueOp(null_mut(), CPA_TRUE),
            }
        };
        let stopped = self.stopped[1][0] && status == CPA_STATUS_FAIL;
        assert!(status == CPA_STATUS_INVALID_PARAM || stopped, "{status}");
        assert_eq!(place, [0; 64]);
    }

    /// Takes out what is answered.
    fn look(&mut self) {
        let sent = std::mem::take(&mut self.sent);
        let (answered, sent) = sent.into_iter().partition(|sent| sent.answers.get() > 0);
        self.sent = sent;
        answered.iter().for_each(|sent: &Box<Request>| sent.check());
        self.sent.iter().for_each(|sent| sent.check_guards());
    }

    fn finish(mut self) {
        for at in 0..INSTANCES {
            self.go_on(true, at);
            self.go_on(false, at);
            // SAFETY: handles of instances.
            unsafe {
                icp_sal_DcPollInstance(self.dc[at], 0);
                icp_sal_CyPollInstance(self.cy[at], 0);
            }
        }
        self.look();
        assert!(self.sent.is_empty(), "never answered");
        for session in self.sessions.iter().flatten() {
            assert_eq!(request::remove(&self, session), CPA_STATUS_SUCCESS);
        }
        // SAFETY: started once.
        assert_eq!(unsafe { icp_sal_userStop() }, CPA_STATUS_SUCCESS);
    }
}
