//! Public-key requests of several instances share a kernel's lanes, and each is answered by a poll of its own instance.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};
use std::thread;

use lookaside::Op;
use lookaside_qat::{
    abi::*,
    cy::pke::{curves::CURVES, ec::*},
    discovery::{cpaCyStartInstance, cpaCyStopInstance},
    process::Process,
    sal::*,
};
use pke_common::{Flat, NONE, instances};

/// k P on P-256, at a fixed address.
struct Multiply {
    parts: Vec<Flat>,
    op: CpaCyEcPointMultiplyOpData,
    outs: [Box<Flat>; 2],
    wanted: [Vec<u8>; 2],
    answered: AtomicU32,
}

unsafe extern "C" fn landed(
    tag: *mut c_void,
    status: CpaStatus,
    _: *mut c_void,
    valid: CpaBoolean,
    _: *mut CpaFlatBuffer,
    _: *mut CpaFlatBuffer,
) {
    assert_eq!((status, valid), (CPA_STATUS_SUCCESS, CPA_TRUE));
    // SAFETY: the tag is a count that lives.
    unsafe { &*tag.cast::<AtomicU32>() }.fetch_add(1, Ordering::Release);
}

impl Multiply {
    fn new(n: u8) -> Box<Multiply> {
        let curve = &CURVES[0];
        // 2 G, so that it is no multiplication of the generator.
        let mut point = Multiply::of(&[2], curve.g);
        point.submit(ptr::null_mut(), true);
        let point = point.outs.map(|out| out.bytes.clone());
        let mut one = Multiply::of(&[n + 3, 1, 2, 3], [&point[0], &point[1]]);
        one.submit(ptr::null_mut(), true);
        one.wanted = one.outs.each_ref().map(|out| out.bytes.clone());
        one.outs.iter_mut().for_each(|out| out.bytes.fill(0));
        one
    }

    fn of(k: &[u8], g: [&[u8]; 2]) -> Box<Multiply> {
        let curve = &CURVES[0];
        let parts: Vec<_> =
            [k, g[0], g[1], curve.p, curve.a, curve.b].map(Flat::new).into_iter().collect();
        let op = CpaCyEcPointMultiplyOpData {
            k: parts[0].flat,
            xg: parts[1].flat,
            yg: parts[2].flat,
            q: parts[3].flat,
            a: parts[4].flat,
            b: parts[5].flat,
            h: NONE,
            fieldType: CPA_CY_EC_FIELD_TYPE_PRIME,
        };
        let outs = [Flat::room(32), Flat::room(32)];
        let wanted = [Vec::new(), Vec::new()];
        Box::new(Multiply { parts, op, outs, wanted, answered: AtomicU32::new(0) })
    }

    fn submit(&mut self, handle: CpaInstanceHandle, waits: bool) {
        let tag = (&raw mut self.answered).cast();
        let [x, y] = &mut self.outs;
        let (mut valid, callback) = (CPA_FALSE, if waits { None } else { Some(landed as _) });
        // SAFETY: it stays where it is until the answer.
        let status = unsafe {
            let (x, y) = (&raw mut x.flat, &raw mut y.flat);
            cpaCyEcPointMultiply(handle, callback, tag, &self.op, &raw mut valid, x, y)
        };
        assert_eq!(status, CPA_STATUS_SUCCESS);
        assert!(self.parts.len() == 6 && (!waits || valid == CPA_TRUE));
    }

    #[track_caller]
    fn check(&self, times: u32) {
        assert_eq!(self.answered.load(Ordering::Acquire), times, "answers");
        if times > 0 {
            assert_eq!(self.outs.each_ref().map(|out| &out.bytes), self.wanted.each_ref());
        }
    }
}

/// Requests and batches of multiplications so far.
fn served() -> (u64, u64) {
    let counters = Process::get().ok().unwrap().runtime().counters();
    let row = counters.row("cpu", Op::EcDerive).unwrap();
    (row.requests, row.batches)
}

#[test]
fn instances_share_lanes_and_answer_in_their_own_polls() {
    let handles = &instances()[..4];
    let mut all: Vec<_> = (0..8).map(Multiply::new).collect();
    let before = served();
    for (n, one) in all.iter_mut().enumerate() {
        one.submit(handles[n % 4], false);
    }
    // This thread has submitted, so nothing is waited for.
    let poll = |handle| unsafe { icp_sal_CyPollAsymRing(handle, 0) };
    assert_eq!(poll(handles[0]), CPA_STATUS_SUCCESS);
    all.iter().enumerate().for_each(|(n, one)| one.check(u32::from(n % 4 == 0)));
    let process = Process::get().ok().unwrap();
    if process.runtime().best_batch(Op::EcDerive) == 8 {
        let after = served();
        assert_eq!((after.0 - before.0, after.1 - before.1), (8, 1), "all in one batch");
    }
    let (mut most, mut now) = (0, 0);
    // SAFETY: places of this function's.
    unsafe { icp_sal_AsymGetInflightRequests(handles[1], &raw mut most, &raw mut now) };
    assert_eq!(now, 2, "what waits for its own poll is in flight");
    for handle in &handles[1..] {
        assert_eq!(poll(*handle), CPA_STATUS_SUCCESS);
        assert_eq!(poll(*handle), CPA_STATUS_RETRY);
    }
    all.iter().for_each(|one| one.check(1));

    // A thread that only polls, as others' requests come. A stop completes what is left, whoever has executed it.
    let ends = AtomicBool::new(false);
    let addresses: Vec<usize> = handles.iter().map(|handle| handle.expose_provenance()).collect();
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ends.load(Ordering::Relaxed) {
                for address in &addresses {
                    let handle = ptr::with_exposed_provenance_mut(*address);
                    // SAFETY: a handle.
                    unsafe { icp_sal_CyPollInstance(handle, 0) };
                }
            }
        });
        for round in 2..=200 {
            for (n, one) in all.iter_mut().enumerate() {
                one.submit(handles[(n + round as usize) % 4], false);
            }
            if round % 8 == 0 {
                let stopped = handles[round as usize / 8 % 4];
                // SAFETY: a handle.
                unsafe {
                    assert_eq!(cpaCyStopInstance(stopped), CPA_STATUS_SUCCESS);
                    assert_eq!(cpaCyStartInstance(stopped), CPA_STATUS_SUCCESS);
                }
            }
            for one in &all {
                while one.answered.load(Ordering::Acquire) < round {
                    thread::yield_now();
                }
            }
        }
        ends.store(true, Ordering::Relaxed);
    });
    all.iter().for_each(|one| one.check(200));
}
