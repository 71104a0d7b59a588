//! A full ring refuses requests, or spills them into memory up to a bound, as its instance chooses; what has
//! spilled runs in its turn, can be cancelled and be late, and its memory is freed.

use std::{sync::Arc, thread, time::Duration};

use lookaside::{
    Buf, Clock, Engine, Full, Instance, InstanceConfig, OpError, PushError, Response, Runtime,
    SetupError,
};
use lookaside_testkit::{SimDevice, VirtualClock};

fn config(depth: usize, spill: usize) -> InstanceConfig {
    InstanceConfig { depth, spill, ..InstanceConfig::default() }
}

fn stepped() -> (VirtualClock, Runtime, Engine) {
    let clock = VirtualClock::new();
    let (runtime, mut engines) = Runtime::builder()
        .device(SimDevice::new("cpu", 1000, 1))
        .engines(1)
        .clock(Arc::new(clock.clone()))
        .start_stepped()
        .unwrap();
    let engine = engines.swap_remove(0);
    (clock, runtime, engine)
}

/// Lets the engine work for some virtual milliseconds.
fn work(clock: &VirtualClock, engine: &mut Engine) {
    for _ in 0..1000 {
        engine.step(clock.now_ns());
        clock.advance(2_000);
    }
}

fn tags(responses: &[Response]) -> Vec<u64> {
    responses.iter().map(|r| r.tag).collect()
}

/// Fills an instance; returns how many requests fitted.
fn fill(instance: &mut Instance, mover: &lookaside::Mover) -> u64 {
    let mut n = 0;
    loop {
        let copy = mover.copy(vec![n as u8; 100].into(), Buf::zeroed(100)).tag(n);
        assert_eq!(instance.outstanding(), n as usize);
        if let Err(Full(request)) = instance.push(copy) {
            assert_eq!((request.tag, request.src.len(), instance.free()), (n, 100, 0));
            return n;
        }
        n += 1;
    }
}

#[test]
fn a_full_ring_refuses_or_spills() {
    let (clock, runtime, mut engine) = stepped();
    let mover = runtime.mover().unwrap();
    for (depth, spill) in [(4, 0), (4, 9), (1, 1), (5, 100), (64, 1000)] {
        let mut instance = runtime.instance(config(depth, spill)).unwrap();
        for _ in 0..3 {
            assert_eq!(instance.free(), depth + spill);
            assert_eq!(fill(&mut instance, &mover), (depth + spill) as u64);
            instance.doorbell();
            // Nobody polls meanwhile: what has spilled goes on by itself, in order.
            work(&clock, &mut engine);
            work(&clock, &mut engine);
            let responses: Vec<_> = instance.poll().collect();
            assert_eq!(tags(&responses), (0..(depth + spill) as u64).collect::<Vec<_>>());
            assert!(responses.iter().all(|r| r.dst.as_slice() == r.src.as_slice()));
        }
    }
    for (depth, spill) in [(0, 9), (1, 65_537)] {
        let opened = runtime.instance(config(depth, spill));
        assert!(matches!(opened, Err(SetupError::Limit { .. })), "{depth} and {spill}");
    }
}

#[test]
fn what_has_spilled_is_cancelled_and_comes_too_late() {
    let (clock, runtime, mut engine) = stepped();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(config(2, 4)).unwrap();
    let copy = |tag| mover.copy(vec![1; 1024].into(), Buf::zeroed(1024)).tag(tag);
    for tag in 0..4 {
        instance.push(copy(tag)).unwrap();
    }
    // Each takes a microsecond.
    instance.push_within(Duration::from_nanos(500), copy(4)).unwrap();
    instance.push_within(Duration::from_millis(1), copy(5)).unwrap();
    assert!(instance.push_within(Duration::MAX, copy(6)).is_err());
    instance.doorbell();
    assert_eq!([3, 3, 9].map(|tag| instance.cancel(tag)), [1, 0, 0]);
    clock.advance(1_000);
    work(&clock, &mut engine);
    let mut responses: Vec<_> = instance.poll().collect();
    responses.sort_by_key(|r| r.tag);
    let results: Vec<_> = responses.iter().map(|r| r.result.map(|_| ())).collect();
    let (done, cancelled, late) = (Ok(()), Err(OpError::Cancelled), Err(OpError::Expired));
    assert_eq!(results, [done, done, done, cancelled, late, done]);
}

/// With engines, without, and in two halves: all are answered, the bound holds.
#[test]
fn everything_is_answered() {
    for engines in [0, 2] {
        let runtime =
            Runtime::builder().device(lookaside_cpu::cpu()).engines(engines).start().unwrap();
        let mover = runtime.mover().unwrap();
        let mut instance = runtime.instance(config(3, 50)).unwrap();
        for _ in 0..20 {
            assert_eq!(fill(&mut instance, &mover), 53);
            assert!(instance.wait_many(53, Duration::from_secs(60)));
            let mut responses: Vec<_> = instance.poll().collect();
            responses.sort_by_key(|r| r.tag);
            assert_eq!(tags(&responses), (0..53).collect::<Vec<_>>());
        }
        assert_eq!(fill(&mut instance, &mover), 53);
        let (mut submitter, mut poller) = instance.split();
        assert_eq!(submitter.free(), 0);
        let source = thread::spawn(move || {
            let mut most = 0;
            for tag in 53..1000 {
                let mut request = mover.copy(vec![1; 100].into(), Buf::zeroed(100)).tag(tag);
                while let Err(e) = submitter.push(request) {
                    assert!(matches!(e, PushError::Full(_)));
                    request = e.into_request();
                    submitter.doorbell();
                    thread::yield_now();
                }
                most = most.max(53 - submitter.free());
            }
            submitter.doorbell();
            (submitter, most)
        });
        let mut answered = vec![false; 1000];
        while answered.iter().any(|done| !done) {
            poller.wait(Duration::from_secs(60));
            for response in poller.poll() {
                assert!(!std::mem::replace(&mut answered[response.tag as usize], true));
                assert!(response.result.is_ok());
            }
        }
        let (submitter, most) = source.join().unwrap();
        assert!(most > 3 && most <= 53, "{most}");
        let mut instance = poller.join(submitter).unwrap();
        assert_eq!((instance.free(), instance.poll().count()), (53, 0));
        assert_eq!(fill(&mut instance, &runtime.mover().unwrap()), 53);
    }
}

/// A stream goes on in order, also where most of it has spilled.
#[test]
fn a_stream_keeps_its_order() {
    let (clock, runtime, mut engine) = stepped();
    let stream = runtime.compress_stream(lookaside::Compression::default(), None).unwrap();
    let mut instance = runtime.instance(config(2, 30)).unwrap();
    for tag in 0..32 {
        // The simulated device answers an error for a piece that is not the next one.
        let piece = vec![tag as u8; 10];
        let request = stream.compress(piece.into(), Buf::zeroed(10), lookaside::Flush::None);
        instance.push(request.tag(tag)).unwrap();
    }
    instance.doorbell();
    work(&clock, &mut engine);
    let responses: Vec<_> = instance.poll().collect();
    assert_eq!(tags(&responses), (0..32).collect::<Vec<_>>());
    assert!(responses.iter().all(|r| r.result.is_ok()));
}
