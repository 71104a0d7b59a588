//! Instances on the CPU device: rings, doorbells, waiting, event fds, counters, closing.

use std::{
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Buf, Compression, Flush, Full, InstanceConfig, Op, OpError, RouteEntry, Runtime, SetupError,
    Sla,
};
use lookaside_cpu::cpu;
use lookaside_testkit::{FaultDevice, Faults, Rng, SimDevice, mixed};

const LONG: Duration = Duration::from_secs(60);

fn runtime(engines: usize) -> Runtime {
    Runtime::builder().device(cpu()).engines(engines).start().unwrap()
}

#[test]
fn every_request_is_answered_once_whatever_the_number_of_engines() {
    for engines in [0, 1, 2, 5] {
        let runtime = runtime(engines);
        let session = runtime.compression(Compression::default()).unwrap();
        let config = InstanceConfig { depth: 24, ..InstanceConfig::default() };
        let mut instance = runtime.instance(config).unwrap();
        let data = Arc::new(mixed(1, 1 << 20));
        let (mut next, mut seen) = (0, vec![false; 500]);
        while seen.contains(&false) {
            while next < seen.len() && instance.free() > 0 {
                let at = next * 2000;
                let src = Buf::shared(data.clone(), at..at + 5000);
                let dst = Buf::zeroed(session.bound(5000));
                instance.push(session.compress(src, dst).tag(next as u64)).unwrap();
                next += 1;
            }
            instance.doorbell();
            instance.wait(LONG);
            for r in instance.poll() {
                assert_eq!(r.result.unwrap().consumed, 5000);
                assert!(!std::mem::replace(&mut seen[r.tag as usize], true), "answered twice");
            }
        }
        let counters = runtime.counters();
        let row = counters.row("cpu", Op::Compress).unwrap();
        assert_eq!((row.requests, row.errors, row.src_bytes), (500, 0, 500 * 5000));
        assert_eq!((row.queue_ns.count(), row.service_ns.count()), (500, 500));
        assert_eq!(row.lanes.count(), row.batches);
    }
}

/// With an engine of one's own a request that is alone goes to the device without the queues: it is
/// counted as any other, and what a device loses or refuses goes on to the next one.
#[test]
fn a_lone_request_is_counted_and_rerouted_as_any_other() {
    [false, true].into_iter().for_each(lone_requests);
}

/// They are pushed and waited for, or handed to `Instance::run`.
fn lone_requests(run: bool) {
    const REQUESTS: usize = 300;
    // Of requests that are handed to `run`, those that are refused three times count as refused: a lone one is offered
    // twice before it goes through the queue.
    let faults = Faults { busy: 40, lost: 30, ..Faults::default() };
    let spare = SimDevice::new("spare", 0, 1);
    let device = FaultDevice::new(cpu(), faults, 7);
    let runtime = Runtime::builder().device(device).device(spare).engines(0).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    for i in 0..REQUESTS {
        let data = mixed(i as u64, 100 + i);
        let copy = mover.copy(Buf::from(&*data), Buf::zeroed(data.len()));
        let here = match run {
            true => instance.run(copy).unwrap(),
            false => instance.push(copy).map(|()| None).unwrap(),
        };
        assert!(here.is_some() || instance.wait(LONG));
        let answers: Vec<_> = here.into_iter().chain(instance.poll()).collect();
        assert_eq!(answers.len(), 1);
        assert_eq!(answers[0].result.unwrap().produced, data.len());
        assert_eq!(answers[0].dst.as_slice(), Some(&*data));
    }
    let counters = runtime.counters();
    let [cpu, spare] = ["cpu", "spare"].map(|name| counters.row(name, Op::Copy).unwrap());
    assert_eq!(cpu.requests + spare.requests, REQUESTS as u64);
    assert_eq!(cpu.rerouted, spare.requests);
    // All but those that went on because the device refused them for too long: some, on a busy machine.
    assert!((REQUESTS as u64 - 50..=REQUESTS as u64).contains(&cpu.batches), "{}", cpu.batches);
    assert_eq!((spare.batches, spare.lanes.count()), (spare.requests, spare.requests));
    assert!(spare.requests > 50 && cpu.requests > 50 && cpu.busy > 0);
    for row in [cpu, spare] {
        assert_eq!((row.queue_ns.count(), row.service_ns.count()), (row.requests, row.requests));
        assert_eq!(row.errors, 0);
    }
}

#[test]
fn a_request_with_others_a_rate_or_an_order_is_pushed() {
    let runtime = runtime(0);
    let mover = runtime.mover().unwrap();
    let copy = || mover.copy(Buf::from(vec![1_u8; 9]), Buf::zeroed(9)).tag(7);
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    // Which instances have requests is known from the first one on.
    assert!(instance.run(copy()).unwrap().is_none());
    assert_eq!(instance.poll().count(), 1);
    let response = instance.run(copy()).unwrap().expect("executed");
    assert_eq!((response.tag, response.dst.as_slice()), (7, Some(&[1_u8; 9][..])));
    assert_eq!((instance.outstanding(), instance.free()), (0, 64));
    instance.push(copy()).unwrap();
    assert!(instance.run(copy()).unwrap().is_none());
    assert_eq!(instance.poll().count(), 2);

    let config =
        InstanceConfig { slas: vec![Sla::new(0, 1 << 30, 4096)], ..InstanceConfig::default() };
    let mut limited = runtime.instance(config).unwrap();
    let stream = runtime.compress_stream(Compression::default(), None).unwrap();
    let piece = || stream.compress(Buf::from(vec![1_u8; 9]), Buf::zeroed(99), Flush::None);
    for _ in 0..2 {
        assert!(limited.run(copy()).unwrap().is_none());
        assert!(instance.run(piece()).unwrap().is_none());
        assert_eq!((limited.poll().count(), instance.poll().count()), (1, 1));
    }
    let with_engine = self::runtime(1);
    let mut instance = with_engine.instance(InstanceConfig::default()).unwrap();
    let copy = with_engine.mover().unwrap().copy(Buf::from(vec![1_u8; 9]), Buf::zeroed(9));
    assert!(instance.run(copy).unwrap().is_none() && instance.wait(LONG));
    assert_eq!(instance.poll().count(), 1);
    let copies = runtime.counters().row("cpu", Op::Copy).unwrap().requests;
    assert_eq!(copies, 6, "those of the runtime without engines");
}

#[test]
fn a_full_ring_hands_the_request_back() {
    let runtime = runtime(1);
    let mover = runtime.mover().unwrap();
    let config = InstanceConfig { depth: 3, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).unwrap();
    for tag in 0..3 {
        instance.push(mover.copy(Buf::empty(), Buf::empty()).tag(tag)).unwrap();
    }
    assert_eq!(instance.free(), 0);
    let Err(Full(r)) = instance.push(mover.copy(Buf::zeroed(5), Buf::empty()).tag(9)) else {
        panic!("no room, yet taken");
    };
    assert_eq!((r.tag, r.src.len()), (9, 5));
    assert_eq!(instance.doorbell(), 3);
    assert!(instance.wait_many(3, LONG));
    assert_eq!(instance.poll().count(), 3);
    assert_eq!(instance.free(), 3);
}

#[test]
fn nothing_runs_before_the_doorbell_and_a_wait_rings_it() {
    for engines in [0, 2] {
        let runtime = runtime(engines);
        let mover = runtime.mover().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        assert!(!instance.wait(LONG), "nothing outstanding: returns at once");
        instance.push(mover.copy(Buf::empty(), Buf::empty())).unwrap();
        thread::sleep(Duration::from_millis(5));
        assert_eq!(runtime.counters().row("cpu", Op::Copy).unwrap().requests, 0);
        assert!(instance.wait(LONG));
        assert_eq!(instance.poll().count(), 1);
        instance.push(mover.copy(Buf::empty(), Buf::empty())).unwrap();
        // A poll that finds nothing rings it as well.
        while instance.poll().count() == 0 {}
    }
}

#[test]
fn the_event_fd_is_readable_when_responses_are_there() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    for engines in [0, 2] {
        let runtime = runtime(engines);
        let session = runtime.compression(Compression::default()).unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let data = mixed(3, 30_000);
        let readable = |instance: &mut lookaside::Instance, seconds| {
            let fd = instance.event_fd().unwrap();
            let mut fds = [PollFd::new(&fd, PollFlags::IN)];
            let timeout = Timespec { tv_sec: seconds, tv_nsec: 20_000_000 };
            poll(&mut fds, Some(&timeout)).unwrap() == 1
        };
        assert_eq!(instance.poll().count(), 0);
        assert!(!readable(&mut instance, 0), "nothing outstanding");
        for _ in 0..50 {
            for tag in 0..7 {
                let dst = Buf::zeroed(session.bound(data.len()));
                instance.push(session.compress(Buf::from(&*data), dst).tag(tag)).unwrap();
            }
            instance.doorbell();
            let mut answered = 0;
            while answered < 7 {
                assert!(readable(&mut instance, 60), "a wake-up was lost");
                answered += instance.poll().count();
            }
        }
        assert!(!readable(&mut instance, 0));
    }
}

/// A device has lost what `run` gave it: a poll answers it, which who waits for the event fd has to be told.
#[test]
fn the_event_fd_is_readable_where_run_has_no_answer() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let device = FaultDevice::new(cpu(), Faults { lost: 100, ..Faults::default() }, 7);
    let spare = SimDevice::new("spare", 0, 1);
    let runtime = Runtime::builder().device(device).device(spare).engines(0).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    instance.event_fd().unwrap();
    for round in 0..3 {
        assert!(instance.run(mover.copy(Buf::from(vec![1; 9]), Buf::zeroed(9))).unwrap().is_none());
        instance.doorbell();
        while instance.outstanding() > 0 {
            let fd = instance.event_fd().unwrap();
            let mut fds = [PollFd::new(&fd, PollFlags::IN)];
            let timeout = Timespec { tv_sec: 10, tv_nsec: 0 };
            assert_eq!(poll(&mut fds, Some(&timeout)).unwrap(), 1, "round {round}");
            for response in instance.poll() {
                assert_eq!(response.dst.as_slice(), Some(&[1; 9][..]));
            }
        }
        assert_eq!(instance.poll().count(), 0);
    }
}

#[test]
fn with_0_engines_the_event_fd_waits_for_the_peak_rate() {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let runtime = runtime(0);
    let mover = runtime.mover().unwrap();
    // The second request is let out when 100 bytes have been earned: after 100 ms.
    let slas = vec![Sla { burst: 110, ..Sla::new(0, 1000, 100) }];
    let config = InstanceConfig { slas, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).unwrap();
    instance.event_fd().unwrap();
    for _ in 0..2 {
        instance.push(mover.copy(Buf::zeroed(100), Buf::zeroed(100))).unwrap();
    }
    instance.doorbell();
    let (mut answered, mut polls) = (0, 0);
    while answered < 2 {
        let fd = instance.event_fd().unwrap();
        let timeout = Timespec { tv_sec: 60, tv_nsec: 0 };
        assert_eq!(poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)), Ok(1));
        answered += instance.poll().count();
        polls += 1;
    }
    // The fd is readable when the rate lets the second one out, not before.
    assert!(polls < 20, "{polls} polls: the caller spins");
}

#[test]
fn engines_take_no_signals() {
    let _runtime = runtime(2);
    // The names of threads are set by themselves, after they have been started.
    let end = Instant::now() + LONG;
    let mut masks = Vec::new();
    while masks.len() < 2 && Instant::now() < end {
        masks.clear();
        for thread in std::fs::read_dir("/proc/self/task").unwrap() {
            let Ok(status) = std::fs::read_to_string(thread.unwrap().path().join("status")) else {
                continue;
            };
            if status.starts_with("Name:\tlookaside-") {
                let mask = status.lines().find_map(|l| l.strip_prefix("SigBlk:\t")).unwrap();
                masks.push(u64::from_str_radix(mask, 16).unwrap());
            }
        }
    }
    assert!(masks.len() >= 2);
    // Nobody can block SIGKILL (9) and SIGSTOP (19), and glibc keeps 32 and 33.
    let always = 1 << 8 | 1 << 18 | 1 << 31 | 1 << 32;
    // SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS: a thread's own faults.
    let faults = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 10 | 1 << 30;
    let always = always | faults;
    assert!(masks.iter().all(|mask| mask | always == u64::MAX), "{masks:x?}");
}

#[test]
fn wait_ends_at_its_timeout() {
    // One token is earned in 5 s: the second request is held back.
    let runtime = runtime(1);
    let mover = runtime.mover().unwrap();
    let slas = vec![Sla::new(0, 20, 100)];
    let config = InstanceConfig { slas, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).unwrap();
    for _ in 0..2 {
        instance.push(mover.copy(Buf::zeroed(100), Buf::zeroed(100))).unwrap();
    }
    assert!(instance.wait(LONG));
    assert_eq!(instance.poll().count(), 1);
    let start = Instant::now();
    assert!(!instance.wait(Duration::from_millis(30)));
    assert!(start.elapsed() >= Duration::from_millis(30));
    // Closing lets it out, cancelled, at once.
    drop(instance);
    assert!(start.elapsed() < Duration::from_secs(3));
    // An engine may be about to count it.
    while runtime.counters().not_run < 1 {
        assert!(start.elapsed() < Duration::from_secs(3));
    }
}

#[test]
fn dropping_an_instance_frees_its_memory() {
    for engines in [0, 1, 2] {
        let runtime = runtime(engines);
        let session = runtime.compression(Compression { level: 9, ..Default::default() }).unwrap();
        for round in 0..20 {
            let data = Arc::new(mixed(round, 100_000));
            let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
            for _ in 0..8 {
                let dst = Buf::zeroed(session.bound(data.len()));
                let src = Buf::shared(data.clone(), 0..data.len());
                instance.push(session.compress(src, dst)).unwrap();
            }
            if round % 2 == 0 {
                instance.doorbell();
            }
            drop(instance);
            // What runs is left to its engine.
            let start = Instant::now();
            while Arc::strong_count(&data) > 1 {
                assert!(start.elapsed() < LONG, "an engine still holds the source");
            }
        }
    }
}

#[test]
fn many_threads_each_with_an_instance_and_the_runtime_gone_before_them() {
    let runtime = runtime(2);
    let session = runtime.compression(Compression::default()).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|t| {
            let session = session.clone();
            let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
            thread::spawn(move || {
                let mut rng = Rng::new(t);
                let data = mixed(t, 40_000);
                let (mut sent, mut got) = (0, 0);
                while got < 200 {
                    while sent < 200 && sent - got < 1 + rng.below(60) {
                        let len = rng.below(20_000) as usize;
                        let dst = Buf::zeroed(session.bound(len));
                        let request = session.compress(Buf::from(&data[..len]), dst);
                        if instance.push(request).is_err() {
                            break;
                        }
                        sent += 1;
                    }
                    instance.doorbell();
                    if rng.chance(50) {
                        instance.wait(LONG);
                    }
                    for r in instance.poll() {
                        assert!(r.result.is_ok());
                        got += 1;
                    }
                }
            })
        })
        .collect();
    drop(runtime);
    for t in threads {
        t.join().unwrap();
    }
}

#[test]
fn set_up_refuses_what_cannot_work() {
    assert!(matches!(Runtime::builder().start(), Err(SetupError::NoDevice)));
    let start = || Runtime::builder().device(cpu());
    assert!(matches!(start().engines(5000).start(), Err(SetupError::Limit { .. })));
    let entry = RouteEntry { device: "gpu".into(), min_bytes: 0, why: String::new() };
    let route = lookaside::Route { op: Op::Copy, entries: vec![entry] };
    assert!(matches!(start().route(route).start(), Err(SetupError::Unknown { .. })));

    let runtime = runtime(0);
    let bad = Compression { level: 13, ..Compression::default() };
    assert!(matches!(runtime.compression(bad), Err(SetupError::Compression(_))));
    let gzip = Compression { format: lookaside::Format::Gzip, ..Compression::default() };
    assert!(runtime.compress_stream(gzip, Some(b"dictionary")).is_err());
    let sla = Sla { burst: 65_536, ..Sla::new(1 << 30, 0, 65_536) };
    let config = InstanceConfig { slas: vec![sla], ..InstanceConfig::default() };
    let e = runtime.instance(config).err().unwrap();
    assert_eq!(e.to_string(), "burst of a rate is 65536, outside 1139278 to 2305843009213693951");
    let config = InstanceConfig { depth: 0, ..InstanceConfig::default() };
    assert!(runtime.instance(config).is_err());
}

#[test]
fn a_request_for_an_operation_that_its_session_lacks_is_refused() {
    let runtime = runtime(1);
    let mover = runtime.mover().unwrap();
    let mut request = mover.copy(Buf::zeroed(4), Buf::zeroed(4));
    request.op = Op::Decompress;
    let r = runtime.handle().call(request).wait();
    assert_eq!((r.result, r.src.len(), r.dst.len()), (Err(OpError::Unsupported), 4, 4));
}
