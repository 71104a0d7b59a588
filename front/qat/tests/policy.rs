//! What happens when a ring is full: LOOKASIDE_QAT_POLICY.

mod common;

use std::{env, process::Command};

use common::*;
use lookaside_qat::{abi::*, dc::calls::*};

const POLICY: &str = "LOOKASIDE_QAT_POLICY";
const DEPTH: usize = 4;
const REQUESTS: usize = 50;

struct Sent {
    src: Box<List>,
    dst: Box<List>,
    op: CpaDcOpData,
    results: CpaDcRqResults,
    called: Called,
}

/// Submits more than the ring takes, polls, and looks at every answer. Returns how many were accepted before a poll.
fn overfill() -> usize {
    start();
    let mut session = Held::new(&setup(), Some(note));
    let mut all: Vec<Box<Sent>> = Vec::new();
    for n in 0..REQUESTS {
        let input = text(500 + n);
        let (src, dst) = (List::new(input.clone()), List::room(bound(input.len())));
        let (op, results, called) = (op(CPA_DC_FLUSH_FINAL), results(), Called::default());
        all.push(Box::new(Sent { src, dst, op, results, called }));
    }
    let handle = session.handle();
    let submit = |sent: &mut Sent| {
        let (s, d, tag) = (sent.src.get(), sent.dst.get(), sent.called.tag());
        // SAFETY: all lives until the answer.
        unsafe {
            cpaDcCompressData2(DEFAULT, handle, s, d, &raw mut sent.op, &raw mut sent.results, tag)
        }
    };
    let mut accepted = 0;
    for sent in &mut all {
        match submit(sent) {
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

/// The same in a process with these settings.
fn with(policy: &str, engines: &str) {
    let out = Command::new(env::current_exe().unwrap())
        .args(["--exact", "in_a_process_with_settings", "--nocapture"])
        .env(POLICY, policy)
        .env("LOOKASIDE_QAT_DEPTH", DEPTH.to_string())
        .env("LOOKASIDE_QAT_ENGINES", engines)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{policy}, {engines} engines: {said}");
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
            with(policy, engines);
        }
    }
}
