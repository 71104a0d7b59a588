//! Promises that hold only if every part of the engine does its share: order of streams across
//! engines, nobody held back by others, an answer for every request that all devices fail.

use std::{
    future::Future,
    mem::ManuallyDrop,
    panic::{self, AssertUnwindSafe},
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    task::{Context, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Buf, Call, Clock, Compression, Flush, InstanceConfig, Lost, Op, OpError, Route, RouteEntry,
    Runtime, SetupError, Sla, Status,
};
use lookaside_cpu::cpu;
use lookaside_testkit::{FaultDevice, Faults, SimDevice, VirtualClock, mixed};

const LONG: Duration = Duration::from_secs(60);

/// Keeps an instance of `depth` full of compression while `f` runs.
fn beside_a_flood(runtime: &Runtime, depth: usize, f: impl FnOnce()) {
    let stop = AtomicBool::new(false);
    let (running, started) = mpsc::channel();
    thread::scope(|s| {
        s.spawn(|| {
            let session = runtime.compression(Compression::default()).unwrap();
            let data = Arc::new(mixed(1, 50_000));
            let config = InstanceConfig { depth, ..InstanceConfig::default() };
            let mut instance = runtime.instance(config).unwrap();
            while !stop.load(Ordering::Relaxed) {
                while instance.free() > 0 {
                    let src = Buf::shared(data.clone(), 0..data.len());
                    let dst = Buf::zeroed(session.bound(data.len()));
                    instance.push(session.compress(src, dst)).unwrap();
                }
                instance.doorbell();
                instance.wait(LONG);
                instance.poll().for_each(drop);
                _ = running.send(());
            }
        });
        started.recv().unwrap();
        // A failure must end the flood too.
        let outcome = panic::catch_unwind(AssertUnwindSafe(f));
        stop.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|why| panic::resume_unwind(why));
    });
}

#[test]
fn a_lone_request_of_a_batched_operation_is_not_starved_by_others() {
    let runtime = Runtime::builder().device(cpu()).engines(1).start().unwrap();
    let mover = runtime.mover().unwrap();
    beside_a_flood(&runtime, 256, || {
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        // Others go first only while it is not due. A try counts those too that run until this
        // thread does again: on a loaded machine, only the least of several says something.
        let first = (0..5).map(|_| {
            let before = runtime.counters().row("cpu", Op::Compress).unwrap().requests;
            instance.push(mover.copy(Buf::zeroed(10), Buf::zeroed(10))).unwrap();
            assert!(instance.wait(LONG));
            let after = runtime.counters().row("cpu", Op::Compress).unwrap().requests;
            assert_eq!(instance.poll().count(), 1);
            after - before
        });
        let least = first.min().unwrap();
        assert!(least < 100, "{least} requests went first");
    });
}

#[test]
fn responses_of_a_stream_come_in_order_also_when_engines_take_turns_on_it() {
    let runtime = Runtime::builder().device(cpu()).engines(2).start().unwrap();
    let stream = runtime.compress_stream(Compression::default(), None).unwrap();
    let config = InstanceConfig { depth: 16, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).unwrap();
    let data = mixed(3, 1000);
    beside_a_flood(&runtime, 4, || {
        let (mut pushed, mut next) = (0, 0);
        while next < 1000 {
            while instance.free() > 0 {
                let request = stream.compress(Buf::from(&*data), Buf::zeroed(2000), Flush::Sync);
                instance.push(request.tag(pushed)).unwrap();
                pushed += 1;
            }
            assert!(instance.wait(LONG));
            for r in instance.poll() {
                assert!(r.result.is_ok());
                assert_eq!(r.tag, next);
                next += 1;
            }
        }
    });
}

#[test]
fn nothing_runs_behind_an_overflow_that_nobody_has_seen_also_through_handles() {
    let runtime = Runtime::builder().device(cpu()).engines(1).start().unwrap();
    let stream = runtime.compress_stream(Compression::default(), None).unwrap();
    let data = mixed(1, 50_000);
    let handle = runtime.handle();
    let call =
        |room| handle.call(stream.compress(Buf::from(&*data), Buf::zeroed(room), Flush::Sync));
    let first = call(100);
    while runtime.counters().row("cpu", Op::Compress).unwrap().requests == 0 {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(5));
    let second = call(100_000);
    assert_eq!(first.wait().result.unwrap().status, Status::Overflow);
    assert_eq!(second.wait().result, Err(OpError::Cancelled));
    assert!(call(100_000).wait().result.is_ok());
}

#[test]
fn a_request_that_fails_everywhere_comes_to_an_end() {
    let lossy = |seed| FaultDevice::new(cpu(), Faults { lost: 100, ..Faults::default() }, seed);
    let twice = Runtime::builder().device(lossy(1)).device(lossy(2)).start();
    assert!(matches!(twice, Err(SetupError::Duplicate { .. })));

    let entry = |min_bytes| RouteEntry { device: "cpu".into(), min_bytes, why: "test".into() };
    let route = Route { op: Op::Copy, entries: vec![entry(1000), entry(10), entry(0)] };
    let runtime = Runtime::builder().device(lossy(1)).engines(1).route(route).start().unwrap();
    let mover = runtime.mover().unwrap();
    for len in [0, 100, 10_000] {
        let r = runtime.handle().call(mover.copy(Buf::zeroed(len), Buf::zeroed(len))).wait();
        assert_eq!(r.result, Err(OpError::DeviceLost(Lost::Untouched)));
    }
}

#[test]
fn a_response_does_not_wait_for_the_next_batch() {
    for engines in [0, 1] {
        let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
        let mover = runtime.mover().unwrap();
        let session = runtime.compression(Compression { level: 9, ..Default::default() }).unwrap();
        let data = mixed(1, 3_000_000);
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        for tag in 0..2 {
            let src = Buf::from(&data[..if tag == 0 { 10 } else { data.len() }]);
            let dst = Buf::zeroed(session.bound(data.len()));
            instance.push(session.compress(src, dst).tag(tag)).unwrap();
        }
        instance.push(mover.copy(Buf::zeroed(1), Buf::zeroed(1)).tag(2)).unwrap();
        instance.doorbell();
        assert!(instance.wait(LONG));
        let first = instance.poll().next().unwrap();
        assert_ne!(first.tag, 1);
        // An engine goes on meanwhile; without one, nothing runs but in the calls above.
        let done = runtime.counters().row("cpu", Op::Compress).unwrap().requests;
        assert!(engines > 0 || done == 1, "{done} requests");
    }
}

#[test]
fn as_many_as_were_waited_for_are_there() {
    let runtime = Runtime::builder().device(cpu()).engines(4).start().unwrap();
    let session = runtime.compression(Compression::default()).unwrap();
    let data = Arc::new(mixed(1, 300));
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    for _ in 0..2_000 {
        for _ in 0..8 {
            let src = Buf::shared(data.clone(), 0..300);
            instance.push(session.compress(src, Buf::zeroed(session.bound(300)))).unwrap();
        }
        assert!(instance.wait_many(8, LONG));
        assert_eq!(instance.poll().count(), 8);
    }
}

/// A caller may push, poll what an earlier doorbell brought, and sleep on the event fd.
#[test]
fn a_poll_that_found_something_shows_what_was_pushed() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let runtime = Runtime::builder().device(cpu()).engines(1).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    instance.event_fd().unwrap();
    let request = || mover.copy(Buf::empty(), Buf::empty());
    for _ in 0..20 {
        instance.push(request()).unwrap();
        assert!(instance.wait(LONG));
        instance.push(request()).unwrap();
        let mut answered = instance.poll().count();
        while answered < 2 {
            let fd = instance.event_fd().unwrap();
            let timeout = Timespec { tv_sec: 60, tv_nsec: 0 };
            assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)), Ok(1));
            answered += instance.poll().count();
        }
    }
}

#[test]
fn a_wait_of_no_time_gets_somewhere() {
    for engines in [0, 1] {
        let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
        let mover = runtime.mover().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        instance.push(mover.copy(Buf::zeroed(9), Buf::zeroed(9))).unwrap();
        while !instance.wait(Duration::ZERO) {}
        assert_eq!(instance.poll().count(), 1);
    }
}

#[test]
fn closing_cancels_the_line_of_a_stream() {
    let runtime = Runtime::builder().device(cpu()).engines(2).start().unwrap();
    let spec = Compression { level: 9, ..Compression::default() };
    let stream = runtime.compress_stream(spec, None).unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let data = Arc::new(mixed(1, 1_000_000));
    for _ in 0..64 {
        let src = Buf::shared(data.clone(), 0..data.len());
        instance.push(stream.compress(src, Buf::zeroed(1_000_000), Flush::Sync)).unwrap();
    }
    assert!(instance.wait(LONG));
    drop(instance);
    // The piece that runs is left to its engine, and the line behind it.
    let start = Instant::now();
    while Arc::strong_count(&data) > 1 {
        assert!(start.elapsed() < LONG, "an engine still holds the source");
    }
    assert!(runtime.counters().not_run > 32, "{} cancelled", runtime.counters().not_run);
}

#[test]
fn an_engine_sleeps_until_the_rate_admits_the_next_request() {
    let clock = VirtualClock::new();
    let (runtime, mut engines) = Runtime::builder()
        .device(cpu())
        .engines(1)
        .clock(Arc::new(clock.clone()))
        .start_stepped()
        .unwrap();
    let mover = runtime.mover().unwrap();
    // The bucket holds one request and a millisecond's 10 bytes; the second is admitted when 9,990 of
    // its bytes are earned.
    let slas = vec![Sla::new(0, 10_000, 10_000)];
    let config = InstanceConfig { slas, ..InstanceConfig::default() };
    // Dropped when all is well: a drop waits for what nobody steps.
    let mut instance = ManuallyDrop::new(runtime.instance(config).unwrap());
    for _ in 0..2 {
        instance.push(mover.copy(Buf::zeroed(10_000), Buf::zeroed(10_000))).unwrap();
    }
    instance.doorbell();
    assert_eq!(instance.poll().count(), 0);
    let engine = &mut engines[0];
    let idle = |engine: &mut lookaside::Engine, now| loop {
        let step = engine.step(now);
        if !step.progress {
            break step.until_ns.unwrap_or(u64::MAX);
        }
    };
    let until = idle(engine, clock.now_ns());
    assert_eq!(instance.poll().count(), 1);
    assert!((990_000_000..=1_000_000_000).contains(&until), "{until}");
    clock.advance(until - 1);
    assert_eq!((idle(engine, clock.now_ns()), instance.poll().count()), (until, 0));
    clock.advance(1);
    idle(engine, clock.now_ns());
    assert_eq!(instance.poll().count(), 1);
    drop(ManuallyDrop::into_inner(instance));
}

/// The slot of one call holds the last reference to a task that owns another call.
#[test]
fn dropping_a_call_may_drop_another() {
    struct Task(#[expect(dead_code, reason = "owned, to be dropped")] Mutex<Option<Call>>);
    #[allow(unknown_lints, clippy::manual_noop_waker, reason = "the waker owns something")]
    impl Wake for Task {
        fn wake(self: Arc<Self>) {}
    }
    let (done, finished) = mpsc::channel();
    thread::spawn(move || {
        // Nobody steps the engine: nothing is answered meanwhile.
        let device = SimDevice::new("sim", 1, 1);
        let (runtime, _engines) =
            Runtime::builder().device(device).engines(1).start_stepped().unwrap();
        let mover = runtime.mover().unwrap();
        let handle = runtime.handle();
        let call = || handle.call(mover.copy(Buf::empty(), Buf::empty()));
        let mut first = call();
        let waker = Waker::from(Arc::new(Task(Mutex::new(Some(call())))));
        assert!(Pin::new(&mut first).poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        drop(first);
        done.send(()).unwrap();
    });
    assert!(finished.recv_timeout(LONG).is_ok(), "a deadlock");
}
