//! Public-key requests of several instances share a kernel's lanes, and each is answered by a poll of its own instance.
// Each block calls a function of the interface with what that asks for.
#![allow(unsafe_code, clippy::undocumented_unsafe_blocks, missing_docs)]

mod pke_common;

use core::{
    ffi::c_void,
    ptr,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
};
use std::{env, process::Command, thread, time::Duration};

use lookaside::Op;
use lookaside_qat::{
    abi::*,
    cy::pke::{curves::CURVES, ec::*},
    discovery::{cpaCyStartInstance, cpaCyStopInstance, cpaInstanceSetResponseMode},
    process::Process,
    sal::*,
};
use pke_common::{Flat, NONE, instances, poll, poll_all};

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

/// Whether this is a process for one of these tests, with settings of its own. Otherwise it makes one, which has five
/// minutes.
fn is_alone(test: &str, settings: &[(&str, &str)]) -> bool {
    const ALONE: &str = "LOOKASIDE_TEST_ALONE";
    if env::var_os(ALONE).is_some() {
        // SAFETY: a number; what never ends is killed.
        unsafe { libc::alarm(300) };
        return true;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(ALONE, "1").envs(settings.iter().copied());
    let out = command.output().unwrap();
    assert!(out.status.success(), "{:?}: {}", out.status, String::from_utf8_lossy(&out.stderr));
    false
}

fn in_flight(handle: CpaInstanceHandle) -> u32 {
    let (mut most, mut now) = (0, 0);
    // SAFETY: places of this function's.
    unsafe { icp_sal_AsymGetInflightRequests(handle, &raw mut most, &raw mut now) };
    now
}

fn process() -> &'static Process {
    Process::get().ok().unwrap()
}

#[test]
fn instances_share_lanes_and_answer_in_their_own_polls() {
    if !is_alone("instances_share_lanes_and_answer_in_their_own_polls", &[]) {
        return;
    }
    let handles = &instances()[..4];
    let mut all: Vec<_> = (0..8).map(Multiply::new).collect();
    let before = served();
    for (n, one) in all.iter_mut().enumerate() {
        one.submit(handles[n % 4], false);
    }
    if process().settings().engines == 0 {
        // This thread has submitted, so nothing is waited for.
        assert_eq!(poll(handles[0]), CPA_STATUS_SUCCESS);
        all.iter().enumerate().for_each(|(n, one)| one.check(u32::from(n % 4 == 0)));
        if process().runtime().best_batch(Op::EcDerive) == 8 {
            let after = served();
            assert_eq!((after.0 - before.0, after.1 - before.1), (8, 1), "all in one batch");
        }
        assert_eq!(in_flight(handles[1]), 2, "what waits for its own poll is in flight");
        for handle in &handles[1..] {
            assert_eq!(poll(*handle), CPA_STATUS_SUCCESS);
            assert_eq!(poll(*handle), CPA_STATUS_RETRY);
        }
    }
    handles.iter().for_each(|handle| poll_all(*handle));
    all.iter().for_each(|one| one.check(1));
}

/// Threads that only poll, as others' requests come. A stop completes what is left, whoever has executed it.
#[test]
fn two_threads_poll_and_a_third_submits_and_stops() {
    if !is_alone("two_threads_poll_and_a_third_submits_and_stops", &[]) {
        return;
    }
    let handles = &instances()[..4];
    let mut all: Vec<_> = (0..8).map(Multiply::new).collect();
    let ends = AtomicBool::new(false);
    let addresses: Vec<usize> = handles.iter().map(|handle| handle.expose_provenance()).collect();
    thread::scope(|scope| {
        for first in 0..2 {
            let (ends, addresses) = (&ends, &addresses);
            scope.spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    for n in 0..4 {
                        let handle = ptr::with_exposed_provenance_mut(addresses[(n + first) % 4]);
                        // SAFETY: a handle.
                        unsafe { icp_sal_CyPollInstance(handle, 0) };
                    }
                }
            });
        }
        for round in 1..=200 {
            for (n, one) in all.iter_mut().enumerate() {
                one.submit(handles[(n + round as usize) % 4], false);
            }
            if round % 8 == 0 {
                let stopped = handles[round as usize / 8 % 4];
                // SAFETY: a handle.
                unsafe {
                    assert_eq!(cpaCyStopInstance(stopped), CPA_STATUS_SUCCESS);
                    assert_eq!(in_flight(stopped), 0);
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

/// A program with one thread, whose full ring waits for room: slots are those of answers that wait for a poll.
#[test]
fn answers_that_wait_do_not_keep_their_slots_from_who_waits_for_one() {
    const DEPTH: &str = "4";
    let settings = [("LOOKASIDE_QAT_POLICY", "wait"), ("LOOKASIDE_QAT_DEPTH", DEPTH)];
    if !is_alone("answers_that_wait_do_not_keep_their_slots_from_who_waits_for_one", &settings) {
        return;
    }
    let handles = &instances()[..2];
    let mut all: Vec<_> = (0..8).map(Multiply::new).collect();
    let (first, others) = all.split_first_mut().unwrap();
    first.submit(handles[0], false);
    let (fill, more) = others.split_at_mut(4);
    fill.iter_mut().for_each(|one| one.submit(handles[1], false));
    poll_all(handles[0]);
    first.check(1);
    more.iter_mut().for_each(|one| one.submit(handles[1], false));
    assert_eq!(in_flight(handles[1]), 7);
    fill.iter().for_each(|one| one.check(0));
    poll_all(handles[1]);
    all.iter().for_each(|one| one.check(1));
}

/// A child has neither what waits in another instance's ring nor the answers that wait there.
#[test]
fn a_child_of_a_fork_borrows_nothing_of_its_parents() {
    if !is_alone("a_child_of_a_fork_borrows_nothing_of_its_parents", &[]) {
        return;
    }
    let handles = &instances()[..3];
    let mut all: Vec<_> = (0..6).map(Multiply::new).collect();
    // Answers that wait in the second ring, requests that wait in the third.
    all[0].submit(handles[0], false);
    all[1].submit(handles[1], false);
    poll_all(handles[0]);
    all[2].submit(handles[2], false);
    all[3].submit(handles[2], false);
    // SAFETY: the child leaves by `_exit`.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut good = handles.iter().all(|handle| in_flight(*handle) == 0);
        let served_before = served().0;
        all[4].submit(handles[0], false);
        all[5].submit(handles[1], false);
        poll_all(handles[0]);
        poll_all(handles[1]);
        good &= poll(handles[2]) == CPA_STATUS_RETRY && served().0 - served_before == 2;
        let answered = |one: &Multiply| one.answered.load(Ordering::Relaxed);
        good &= all[1..4].iter().all(|one| answered(one) == 0);
        good &= all[4..].iter().all(|one| answered(one) == 1 && one.outs[0].bytes == one.wanted[0]);
        // SAFETY: nothing is left to be done.
        unsafe { libc::_exit(if good { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: a child of this process.
    unsafe { assert_eq!(libc::waitpid(child, &raw mut status, 0), child) };
    assert_eq!(status, 0, "the child's answer");
    handles.iter().for_each(|handle| poll_all(*handle));
    all[..4].iter().for_each(|one| one.check(1));
    all[4..].iter().for_each(|one| one.check(0));
}

/// Who waits for a descriptor is told of an answer that another instance's poll has left.
#[test]
fn a_descriptor_is_readable_until_borrowed_requests_are_answered() {
    if !is_alone("a_descriptor_is_readable_until_borrowed_requests_are_answered", &[]) {
        return;
    }
    let handles = &instances()[..2];
    let mut all: Vec<_> = (0..2).map(Multiply::new).collect();
    let mut fd = -1;
    // SAFETY: a handle, and a place of this function's.
    unsafe {
        let kind = CPA_ACC_SVC_TYPE_CRYPTO;
        let mode = CPA_INST_RX_NOTIFY_BY_EVENT;
        assert_eq!(cpaInstanceSetResponseMode(handles[1], kind, mode), CPA_STATUS_SUCCESS);
        assert_eq!(icp_sal_CyGetFileDescriptor(handles[1], &raw mut fd), CPA_STATUS_SUCCESS);
    }
    let is_readable = |wait_ms| {
        let mut poll = libc::pollfd { fd, events: libc::POLLIN, revents: 0 };
        // SAFETY: one descriptor.
        unsafe { libc::poll(&raw mut poll, 1, wait_ms) == 1 }
    };
    assert!(!is_readable(0));
    all[0].submit(handles[0], false);
    all[1].submit(handles[1], false);
    poll_all(handles[0]);
    all[0].check(1);
    all[1].check(0);
    assert!(is_readable(10_000));
    poll_all(handles[1]);
    all[1].check(1);
    assert!(!is_readable(0));
    if process().settings().engines > 0 || process().runtime().best_batch(Op::EcDerive) < 8 {
        return;
    }
    // While another thread executes it, a poll finds nothing to do; then its answer makes the descriptor readable again.
    let (mut rounds, mut cleared) = (1, 0);
    while cleared < 3 && rounds < 2000 {
        rounds += 1;
        all[1].submit(handles[1], false);
        all[0].submit(handles[0], false);
        let other = handles[0].expose_provenance();
        thread::scope(|scope| {
            let polls = scope.spawn(move || poll_all(ptr::with_exposed_provenance_mut(other)));
            thread::sleep(Duration::from_micros(10 * (rounds % 32)));
            poll(handles[1]);
            if all[1].answered.load(Ordering::Acquire) as u64 != rounds && !is_readable(0) {
                cleared += 1;
                assert!(is_readable(10_000), "round {rounds}");
            }
            polls.join().unwrap();
        });
        poll_all(handles[1]);
        all.iter().for_each(|one| one.check(rounds as u32));
    }
    assert!(cleared > 0, "no poll came while the other thread executed");
}
