//! What the tests of public keys share: requests as a program makes them, once waiting and once with a callback, and
//! OpenSSL's answers to compare with.
// Each block calls a function of the interface, or of OpenSSL, with what that asks for.
#![allow(dead_code, unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

pub mod ssl;

use core::{ffi::c_void, ptr};
use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use lookaside_qat::{
    abi::*,
    discovery,
    sal::{icp_sal_AsymGetInflightRequests, icp_sal_CyPollAsymRing},
};

/// Bytes with a flat buffer that points at them.
pub struct Flat {
    pub bytes: Vec<u8>,
    pub flat: CpaFlatBuffer,
}

impl Flat {
    pub fn new(bytes: &[u8]) -> Flat {
        let mut bytes = bytes.to_vec();
        let flat = CpaFlatBuffer { dataLenInBytes: bytes.len() as u32, pData: bytes.as_mut_ptr() };
        Flat { bytes, flat }
    }

    /// `len` bytes that no result is.
    pub fn room(len: usize) -> Box<Flat> {
        Box::new(Flat::new(&vec![0xaa; len]))
    }
}

/// No buffer.
pub const NONE: CpaFlatBuffer = CpaFlatBuffer { dataLenInBytes: 0, pData: ptr::null_mut() };

/// What a callback was given.
pub struct Reply {
    pub count: u32,
    pub status: CpaStatus,
    pub valid: CpaBoolean,
    pub op_data: *mut c_void,
    pub outs: [*mut c_void; 2],
}

impl Reply {
    pub fn new() -> Reply {
        Reply {
            count: 0,
            status: -99,
            valid: CpaBoolean(7),
            op_data: ptr::null_mut(),
            outs: [ptr::null_mut(); 2],
        }
    }

    unsafe fn note(
        tag: *mut c_void,
        status: CpaStatus,
        op_data: *mut c_void,
        valid: CpaBoolean,
        outs: [*mut c_void; 2],
    ) {
        // SAFETY: the tag is a reply that outlives the request.
        let reply = unsafe { &mut *tag.cast::<Reply>() };
        *reply = Reply { count: reply.count + 1, status, valid, op_data, outs };
    }
}

pub unsafe extern "C" fn flat(
    tag: *mut c_void,
    status: CpaStatus,
    op: *mut c_void,
    out: *mut CpaFlatBuffer,
) {
    let valid = if status == CPA_STATUS_SUCCESS { CPA_TRUE } else { CPA_FALSE };
    unsafe { Reply::note(tag, status, op, valid, [out.cast(), ptr::null_mut()]) };
}

pub unsafe extern "C" fn flag(
    tag: *mut c_void,
    status: CpaStatus,
    op: *mut c_void,
    valid: CpaBoolean,
) {
    unsafe { Reply::note(tag, status, op, valid, [ptr::null_mut(); 2]) };
}

pub unsafe extern "C" fn one(
    tag: *mut c_void,
    status: CpaStatus,
    op: *mut c_void,
    valid: CpaBoolean,
    out: *mut CpaFlatBuffer,
) {
    unsafe { Reply::note(tag, status, op, valid, [out.cast(), ptr::null_mut()]) };
}

pub unsafe extern "C" fn two(
    tag: *mut c_void,
    status: CpaStatus,
    op: *mut c_void,
    valid: CpaBoolean,
    a: *mut CpaFlatBuffer,
    b: *mut CpaFlatBuffer,
) {
    unsafe { Reply::note(tag, status, op, valid, [a.cast(), b.cast()]) };
}

pub unsafe extern "C" fn keys(
    tag: *mut c_void,
    status: CpaStatus,
    op: *mut c_void,
    private: *mut CpaCyRsaPrivateKey,
    public: *mut CpaCyRsaPublicKey,
) {
    let valid = if status == CPA_STATUS_SUCCESS { CPA_TRUE } else { CPA_FALSE };
    unsafe { Reply::note(tag, status, op, valid, [private.cast(), public.cast()]) };
}

/// How a request is made.
pub struct Ask {
    pub handle: CpaInstanceHandle,
    waits: bool,
    pub tag: *mut c_void,
    pub valid: *mut CpaBoolean,
    pub outs: Vec<*mut CpaFlatBuffer>,
}

impl Ask {
    /// The callback, or none where the call waits.
    pub fn by<C>(&self, callback: C) -> Option<C> {
        (!self.waits).then_some(callback)
    }
}

/// What came of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub status: CpaStatus,
    pub valid: bool,
    pub outs: Vec<Vec<u8>>,
    /// The lengths that the buffers have afterwards.
    pub lens: Vec<u32>,
}

impl Answer {
    /// The outputs of a request that has succeeded.
    #[track_caller]
    pub fn good(self) -> Vec<Vec<u8>> {
        assert_eq!((self.status, self.valid), (CPA_STATUS_SUCCESS, true));
        self.outs
    }

    /// The only output.
    #[track_caller]
    pub fn only(self) -> Vec<u8> {
        self.good().pop().unwrap()
    }

    /// Whether it succeeded, and its output is not valid.
    pub fn is_invalid(&self) -> bool {
        self.status == CPA_STATUS_SUCCESS && !self.valid
    }

    pub fn is_refused(&self) -> bool {
        self.status == CPA_STATUS_INVALID_PARAM
    }
}

/// All instances of cryptography.
pub fn instances() -> Vec<CpaInstanceHandle> {
    let mut count = 0;
    // SAFETY: places of this function's.
    unsafe {
        assert_eq!(discovery::cpaCyGetNumInstances(&mut count), CPA_STATUS_SUCCESS);
        let mut all = vec![ptr::null_mut(); count.into()];
        assert_eq!(discovery::cpaCyGetInstances(count, all.as_mut_ptr()), CPA_STATUS_SUCCESS);
        all
    }
}

/// The next instance.
pub fn instance() -> CpaInstanceHandle {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let all = instances();
    // The last one is for tests that count.
    all[NEXT.fetch_add(1, Ordering::Relaxed) % (all.len() - 1)]
}

pub fn poll(handle: CpaInstanceHandle) -> CpaStatus {
    // SAFETY: a handle of `instances`.
    unsafe { icp_sal_CyPollAsymRing(handle, 0) }
}

/// Polls until nothing is in flight: engines may need their time.
pub fn poll_all(handle: CpaInstanceHandle) {
    let (mut most, mut now) = (0, 1);
    while now > 0 {
        poll(handle);
        // SAFETY: a handle of `instances`, and places of this function's.
        unsafe { icp_sal_AsymGetInflightRequests(handle, &mut most, &mut now) };
    }
}

/// Makes a request waiting, then with a callback; both have to come to the same.
#[track_caller]
pub fn both(lens: &[usize], request: impl Fn(&Ask) -> CpaStatus) -> Answer {
    // One at a time: nobody else polls the instance.
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    let handle = instance();
    let run = |waits: bool| {
        let mut outs: Vec<Box<Flat>> = lens.iter().map(|len| Flat::room(*len)).collect();
        let reply = Box::into_raw(Box::new(Reply::new()));
        let mut valid = CpaBoolean(7);
        let ask = Ask {
            handle,
            waits,
            tag: reply.cast(),
            valid: &mut valid,
            outs: outs.iter_mut().map(|out| &raw mut out.flat).collect(),
        };
        // SAFETY: a reply of this function's, which a callback may write meanwhile.
        let count = || unsafe { (&raw const (*reply).count).read_volatile() };
        let mut status = request(&ask);
        if waits {
            if valid == CpaBoolean(7) && status == CPA_STATUS_SUCCESS {
                // An operation without a flag.
                valid = CPA_TRUE;
            }
            assert_eq!(count(), 0, "a callback of a call that waits");
        } else if status == CPA_STATUS_SUCCESS {
            assert_eq!(count(), 0, "a callback before the poll");
            while count() == 0 {
                poll(handle);
            }
            assert_eq!(count(), 1);
            // SAFETY: answered; nobody else has it any more.
            let reply = unsafe { &*reply };
            (status, valid) = (reply.status, reply.valid);
            assert!(!reply.op_data.is_null());
        } else {
            poll(handle);
            assert_eq!(count(), 0, "a callback of a request that was refused");
        }
        // SAFETY: made above.
        drop(unsafe { Box::from_raw(reply) });
        Answer {
            status,
            valid: valid == CPA_TRUE,
            lens: outs.iter().map(|out| out.flat.dataLenInBytes).collect(),
            outs: outs.into_iter().map(|out| out.bytes).collect(),
        }
    };
    let (waited, called) = (run(true), run(false));
    assert_eq!(waited.status, called.status);
    assert_eq!(waited.valid, called.valid);
    if waited.status == CPA_STATUS_SUCCESS && waited.valid {
        assert_eq!(waited, called);
    }
    called
}

pub fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| (byte as char).to_digit(16).unwrap() as u8)
        .collect();
    assert!(digits.len().is_multiple_of(2));
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// Bytes that look random, the same in every run.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    (0..len).map(next).collect()
}
