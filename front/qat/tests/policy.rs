//! What happens when a ring is full: LOOKASIDE_QAT_POLICY.

mod common;

use std::{
    env,
    ffi::c_void,
    process::Command,
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use common::*;
use lookaside_qat::{abi::*, dc::calls::*};

const POLICY: &str = "LOOKASIDE_QAT_POLICY";
const ENGINES: &str = "LOOKASIDE_QAT_ENGINES";
const DEPTH: usize = 4;
const REQUESTS: usize = 50;

struct Sent {
    src: Box<List>,
    dst: Box<List>,
    op: CpaDcOpData,
    results: CpaDcRqResults,
    called: Called,
}

impl Sent {
    fn new(len: usize) -> Box<Sent> {
        let input = text(len);
        let (src, dst) = (List::new(input.clone()), List::room(bound(input.len())));
        let (op, results, called) = (op(CPA_DC_FLUSH_FINAL), results(), Called::default());
        Box::new(Sent { src, dst, op, results, called })
    }

    fn submit(&mut self, session: *mut c_void) -> CpaStatus {
        let (src, dst, tag) = (self.src.get(), self.dst.get(), self.called.tag());
        let (op, results) = (&raw mut self.op, &raw mut self.results);
        // SAFETY: all lives until the answer.
        unsafe { cpaDcCompressData2(DEFAULT, session, src, dst, op, results, tag) }
    }
}

/// Submits more than the ring takes, polls, and looks at every answer. Returns how many were accepted before a poll.
fn overfill() -> usize {
    start();
    let mut session = Held::new(&setup(), Some(note));
    let mut all: Vec<_> = (0..REQUESTS).map(|n| Sent::new(500 + n)).collect();
    let handle = session.handle();
    let mut accepted = 0;
    for sent in &mut all {
        match sent.submit(handle) {
            CPA_STATUS_SUCCESS => accepted += 1,
            status => {
                assert_eq!(status, CPA_STATUS_RETRY);
                break;
            }
        }
    }
    // Callbacks run within polls alone, whoever executes.
    assert!(all.iter().all(|sent| sent.called.count() == 0));
    assert_eq!(session.remove(), CPA_STATUS_RETRY);
    let sent = &all[..accepted];
    poll_until(DEFAULT, || sent.iter().all(|sent| sent.called.count() > 0));
    for sent in sent {
        assert_eq!(*sent.called.0.lock().unwrap(), [CPA_STATUS_SUCCESS]);
        let small = sent.dst.first(sent.results.produced);
        assert_eq!(inflate(small, -15, None).as_ref(), Ok(&sent.src.bytes));
    }
    accepted
}

/// A test of these in a process with these settings.
fn with(test: &str, depth: usize, policy: &str, engines: &str) {
    let out = Command::new(env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .env(POLICY, policy)
        .env("LOOKASIDE_QAT_DEPTH", depth.to_string())
        .env(ENGINES, engines)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{policy}, {engines} engines: {said}");
}

/// CPU time of a thread.
fn cpu_time(thread: libc::pthread_t) -> Duration {
    let (mut clock, mut time) = (0, libc::timespec { tv_sec: 0, tv_nsec: 0 });
    // SAFETY: a thread that is not joined, and places of this function's.
    unsafe {
        assert_eq!(libc::pthread_getcpuclockid(thread, &raw mut clock), 0);
        assert_eq!(libc::clock_gettime(clock, &raw mut time), 0);
    }
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// How often this thread has given up its CPU to sleep; yielding is not that.
fn sleeps() -> i64 {
    // SAFETY: numbers, and a place of this function's.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage), 0);
        usage.ru_nvcsw
    }
}

/// In a ring for one: a long request, which an engine executes or another thread that polls, and one that waits for
/// its place. Returns how long it waited, the CPU time of that, and how often it slept.
fn wait_for_a_long_one() -> (Duration, Duration, i64) {
    start();
    let data = CpaDcSessionSetupData { compLevel: CPA_DC_L9, ..setup() };
    let mut session = Held::new(&data, Some(note));
    let handle = session.handle();
    let [mut long, mut short] = [4 << 20, 100].map(Sent::new);
    assert_eq!(long.submit(handle), CPA_STATUS_SUCCESS);
    let long = &long.called;
    let (end, ended) = mpsc::channel::<()>();
    let waited = thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        scope.spawn(move || {
            // SAFETY: no arguments.
            tell.send(unsafe { libc::pthread_self() }).unwrap();
            poll_until(DEFAULT, || long.count() > 0);
            ended.recv().unwrap_err();
        });
        let other = told.recv().unwrap();
        // No other call takes so long: the thread executes the request. An engine takes it from this thread in any case.
        let executes = env::var(ENGINES).is_ok_and(|engines| engines == "0");
        while executes && cpu_time(other) < Duration::from_millis(5) && long.count() == 0 {
            thread::yield_now();
        }
        // SAFETY: no arguments.
        let this = unsafe { libc::pthread_self() };
        let (begin, cpu_before, sleeps_before) = (Instant::now(), cpu_time(this), sleeps());
        assert_eq!(short.submit(handle), CPA_STATUS_SUCCESS);
        let waited = (begin.elapsed(), cpu_time(this) - cpu_before, sleeps() - sleeps_before);
        drop(end);
        waited
    });
    poll_until(DEFAULT, || short.called.count() > 0);
    waited
}

#[test]
fn who_waits_for_room_sleeps() {
    if env::var(POLICY).is_err() {
        for engines in ["0", "1"] {
            with("who_waits_for_room_sleeps", 1, "wait", engines);
        }
        return;
    }
    // On a busy machine the long request may be answered before the other one is submitted.
    for _ in 0..10 {
        let (elapsed, used, sleeps) = wait_for_a_long_one();
        if elapsed > Duration::from_millis(50) {
            assert!(used < elapsed / 4 && sleeps > 1, "{used:?} of {elapsed:?}, {sleeps} sleeps");
            return;
        }
    }
    panic!("it never waited");
}

#[test]
fn in_a_process_with_settings() {
    let Ok(policy) = env::var(POLICY) else { return };
    let expected = if policy == "fail" { DEPTH } else { REQUESTS };
    assert_eq!(overfill(), expected);
}

#[test]
fn a_full_ring_refuses_waits_or_executes_at_once() {
    for policy in ["fail", "wait", "fallback"] {
        for engines in ["0", "1"] {
            with("in_a_process_with_settings", DEPTH, policy, engines);
        }
    }
}
