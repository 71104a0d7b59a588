//! Instances in two halves: pushing on one thread, polling on another.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Buf, InstanceConfig, Mover, OpError, Poller, PushError, Request, Runtime, Sla, Submitter,
};
use lookaside_cpu::cpu;
use lookaside_testkit::{Rng, SimDevice};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

const LONG: Duration = Duration::from_secs(60);
/// Long enough for the other thread to have gone to sleep; only that is lost where it has not.
const NAP: Duration = Duration::from_millis(30);

fn runtime(engines: usize) -> Runtime {
    Runtime::builder().device(cpu()).engines(engines).start().unwrap()
}

fn halves(runtime: &Runtime, depth: usize) -> (Submitter, Poller) {
    runtime.instance(InstanceConfig { depth, ..InstanceConfig::default() }).unwrap().split()
}

fn copy(mover: &Mover, tag: u64) -> Request {
    mover.copy(Buf::from(tag.to_le_bytes().to_vec()), Buf::zeroed(8)).tag(tag)
}

/// Waits for the event fd. Returns whether it is readable within this time.
fn readable(poller: &mut Poller, timeout: Duration) -> bool {
    let fd = poller.event_fd().unwrap();
    let tv_nsec = timeout.subsec_nanos().into();
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec };
    poll(&mut [PollFd::new(&fd, PollFlags::IN)], Some(&timeout)).unwrap() == 1
}

/// Pushes requests with the tags below `n`, some at a time. Returns how often there was no room.
fn push_all(mut submitter: Submitter, mover: &Mover, n: u64) -> u64 {
    let (mut rng, mut full) = (Rng::new(n), 0);
    for tag in 0..n {
        let mut request = copy(mover, tag);
        while let Err(e) = submitter.push(request) {
            assert!(matches!(e, PushError::Full(_)), "the poller lives");
            full += 1;
            submitter.doorbell();
            thread::yield_now();
            request = e.into_request();
        }
        if rng.chance(20) {
            submitter.doorbell();
        }
        if rng.below(5000) == 0 {
            // The poller goes to sleep.
            submitter.doorbell();
            thread::sleep(Duration::from_millis(2));
        }
    }
    full
}

#[test]
fn every_request_is_answered_once_by_way_of_two_threads() {
    const REQUESTS: u64 = 100_000;
    for engines in [0, 1, 2] {
        let runtime = runtime(engines);
        let mover = runtime.mover().unwrap();
        let (submitter, mut poller) = halves(&runtime, 24);
        poller.event_fd().unwrap();
        let source = thread::spawn(move || push_all(submitter, &mover, REQUESTS));
        let (mut rng, mut seen) = (Rng::new(7), vec![false; REQUESTS as usize]);
        while !poller.is_finished() {
            match rng.below(4) {
                0 => assert!(readable(&mut poller, LONG), "a wake-up was lost"),
                1 => assert!(poller.wait_many(8, LONG) || poller.is_finished(), "late"),
                2 => assert!(poller.wait(LONG) || poller.is_finished(), "late"),
                _ => thread::yield_now(),
            }
            let patient = rng.chance(50);
            let responses = if patient { poller.poll_full() } else { poller.poll() };
            for r in responses {
                assert_eq!(r.dst.as_slice(), Some(&r.tag.to_le_bytes()[..]));
                assert!(!std::mem::replace(&mut seen[r.tag as usize], true), "answered twice");
            }
        }
        let full = source.join().unwrap();
        assert!(full > 0 && seen.iter().all(|s| *s), "{engines} engines");
    }
}

#[test]
fn slots_come_back_when_responses_are_taken() {
    for engines in [0, 2] {
        let runtime = runtime(engines);
        let mover = runtime.mover().unwrap();
        let (mut submitter, mut poller) = halves(&runtime, 3);
        for lap in 0..5 {
            for tag in 0..3 {
                assert_eq!(submitter.free(), 3 - tag as usize);
                submitter.push(copy(&mover, tag)).unwrap();
            }
            assert_eq!((submitter.free(), poller.outstanding()), (0, 0), "lap {lap}");
            let Err(PushError::Full(r)) = submitter.push(copy(&mover, 9)) else {
                panic!("no room, yet taken");
            };
            assert_eq!(r.tag, 9);
            assert_eq!((submitter.doorbell(), poller.outstanding()), (3, 3));
            assert!(poller.wait_many(100, LONG), "at most as many as are outstanding");
            assert_eq!((submitter.free(), poller.poll().count()), (0, 3));
        }
    }
}

#[test]
fn a_wait_with_nothing_outstanding_waits_for_the_submitter() {
    for engines in [0, 1, 2] {
        let runtime = runtime(engines);
        let mover = runtime.mover().unwrap();
        let (mut submitter, mut poller) = halves(&runtime, 8);
        let start = Instant::now();
        assert!(!poller.wait(NAP), "nothing came");
        assert!(start.elapsed() >= NAP && !poller.is_finished());
        assert!(!poller.wait_many(0, LONG));

        let source = thread::spawn(move || {
            thread::sleep(NAP);
            for tag in 0..5 {
                submitter.push(copy(&mover, tag)).unwrap();
            }
            submitter.doorbell();
            thread::sleep(NAP);
            submitter.push(copy(&mover, 5)).unwrap();
            thread::sleep(NAP);
            // Dropped: rings for the last one.
        });
        assert!(poller.wait_many(5, LONG));
        assert_eq!(poller.poll().count(), 5);
        assert!(poller.wait(LONG));
        assert_eq!(poller.poll().map(|r| r.tag).collect::<Vec<_>>(), [5]);
        source.join().unwrap();
        assert!(poller.is_finished());
        let start = Instant::now();
        assert!(!poller.wait(LONG));
        assert!(start.elapsed() < LONG / 2, "nothing can come: returns at once");
    }
}

#[test]
fn a_submitter_that_goes_wakes_the_poller() {
    for (engines, by_fd) in [(0, false), (0, true), (1, false), (1, true)] {
        let runtime = runtime(engines);
        let (submitter, mut poller) = halves(&runtime, 8);
        if by_fd {
            assert!(!readable(&mut poller, Duration::ZERO), "nothing outstanding");
        }
        let source = thread::spawn(move || {
            thread::sleep(NAP);
            drop(submitter);
        });
        match by_fd {
            true => assert!(readable(&mut poller, LONG), "{engines} engines: never told"),
            false => assert!(!poller.wait(LONG)),
        }
        assert!(poller.is_finished(), "{engines} engines: never told");
        source.join().unwrap();
        // Readable for good, also when the end is known and the fd is made afterwards.
        for _ in 0..3 {
            assert_eq!(poller.poll().count(), 0);
            assert!(readable(&mut poller, Duration::ZERO));
        }
    }
}

/// A request that is pushed while the poller waits is not kept for others to fill its batch.
#[test]
fn what_is_pushed_during_a_wait_runs_at_once() {
    for engines in [0, 1] {
        let device = SimDevice::new("sim", 0, 8);
        let builder = Runtime::builder().device(device).engines(engines);
        let runtime = builder.batch_deadline(LONG).start().unwrap();
        let mover = runtime.mover().unwrap();
        let (mut submitter, mut poller) = halves(&runtime, 8);
        let source = thread::spawn(move || {
            thread::sleep(NAP);
            submitter.push(copy(&mover, 1)).unwrap();
            submitter.doorbell();
            submitter
        });
        assert!(poller.wait(LONG / 4), "{engines} engines: the batch waited for more");
        assert_eq!(poller.poll().count(), 1);
        drop(source.join().unwrap());
    }
}

/// With 0 engines, a poller that sleeps until a device has finished something is woken for what is
/// pushed meanwhile: in `wait`, and by its event fd.
#[test]
fn a_doorbell_wakes_a_poller_whose_device_is_at_work() {
    for by_fd in [false, true] {
        // Two requests at a time, 1 s for 8 bytes.
        let device = SimDevice::new("sim", 128_000_000_000, 2);
        let executed = device.executed();
        let runtime = Runtime::builder().device(device).engines(0).start().unwrap();
        let mover = runtime.mover().unwrap();
        // With a peak rate, however high, the event fd knows times.
        let slas = vec![Sla::new(0, 1 << 39, 100)];
        let config = InstanceConfig { slas, ..InstanceConfig::default() };
        let (mut submitter, mut poller) = runtime.instance(config).unwrap().split();
        let start = Instant::now();
        let pushed = Arc::new(AtomicBool::new(false));
        let source = thread::spawn({
            let pushed = pushed.clone();
            move || {
                for tag in 0..2 {
                    submitter.push(copy(&mover, tag)).unwrap();
                    pushed.store(tag == 1, Ordering::Release);
                    submitter.doorbell();
                    thread::sleep(5 * NAP);
                }
                let begun = executed.load(Ordering::Relaxed);
                (begun, start.elapsed())
            }
        });
        let mut polls = 0;
        while !poller.is_finished() || polls == 0 {
            polls += 1;
            match by_fd {
                true => assert!(readable(&mut poller, LONG)),
                false => _ = poller.wait(LONG),
            }
            poller.poll().for_each(|r| assert!(r.result.is_ok()));
        }
        let (begun, after) = source.join().unwrap();
        assert!(pushed.load(Ordering::Acquire));
        assert!(begun == 2 || after > Duration::from_millis(900), "the second one was not seen");
        assert!(polls < 50, "{polls} polls: the caller spins");
    }
}

#[test]
fn a_poller_that_goes_closes_the_submitter_and_cancels_what_has_not_run() {
    for engines in [0, 1, 2] {
        let runtime = runtime(engines);
        let mover = runtime.mover().unwrap();
        // The first request runs; the others wait for the rate.
        let slas = vec![Sla { burst: 110, ..Sla::new(0, 10, 100) }];
        let config = InstanceConfig { slas, ..InstanceConfig::default() };
        let (mut submitter, mut poller) = runtime.instance(config).unwrap().split();
        let memory = Arc::new(vec![1u8; 100]);
        let request = |tag| {
            let src = Buf::shared(memory.clone(), 0..100);
            mover.copy(src, Buf::zeroed(100)).tag(tag)
        };
        for tag in 0..4 {
            submitter.push(request(tag)).unwrap();
        }
        submitter.doorbell();
        assert!(poller.wait(LONG));
        assert_eq!(poller.poll().map(|r| r.tag).collect::<Vec<_>>(), [0]);
        submitter.push(request(4)).unwrap();
        assert!(!submitter.is_closed() && submitter.free() == 60);
        let start = Instant::now();
        drop(poller);
        assert!(submitter.is_closed() && submitter.free() == 0);
        let Err(PushError::Closed(r)) = submitter.push(request(5)) else {
            panic!("nobody will poll");
        };
        assert_eq!(r.tag, 5);
        drop(r);
        // Engines need not wait for the submitter to go.
        while engines > 0 && runtime.counters().not_run < 3 {
            assert!(start.elapsed() < Duration::from_secs(5), "waited for the rate");
            thread::yield_now();
        }
        submitter.doorbell();
        drop(submitter);
        assert!(start.elapsed() < Duration::from_secs(5), "waited for the rate");
        // An engine may be about to cancel the last one.
        while Arc::strong_count(&memory) > 1 || runtime.counters().not_run < 4 {
            assert!(start.elapsed() < Duration::from_secs(5), "{engines} engines: still in use");
        }
    }
}

#[test]
fn halves_that_go_at_once_free_their_memory() {
    for engines in [0, 1, 2] {
        let runtime = runtime(engines);
        let mover = runtime.mover().unwrap();
        for round in 0..300 {
            let (mut submitter, mut poller) = halves(&runtime, 16);
            let memory = Arc::new(vec![round as u8; 1000]);
            let (lent, mover) = (memory.clone(), mover.clone());
            let source = thread::spawn(move || {
                loop {
                    let src = Buf::shared(lent.clone(), 0..1000);
                    match submitter.push(mover.copy(src, Buf::zeroed(1000))) {
                        Err(PushError::Closed(_)) => return,
                        Err(PushError::Full(_)) if round % 3 == 0 => return,
                        _ => _ = submitter.doorbell(),
                    }
                }
            });
            for _ in 0..round % 5 {
                poller.wait(Duration::from_millis(1));
                poller.poll().for_each(drop);
            }
            drop(poller);
            source.join().unwrap();
            let start = Instant::now();
            while Arc::strong_count(&memory) > 1 {
                assert!(start.elapsed() < LONG, "{engines} engines, round {round}: still in use");
            }
        }
    }
}

#[test]
fn joined_halves_are_the_instance_they_were() {
    for engines in [0, 1] {
        let runtime = runtime(engines);
        let mover = runtime.mover().unwrap();
        let config = InstanceConfig { depth: 8, ..InstanceConfig::default() };
        let mut instance = runtime.instance(config).unwrap();
        let mut expected = 0;
        for lap in 0..20 {
            // Outstanding: answered and not taken, in the ring, and not published.
            instance.push(copy(&mover, 0)).unwrap();
            assert!(instance.wait(LONG));
            instance.push(copy(&mover, 1)).unwrap();
            instance.doorbell();
            instance.push(copy(&mover, 2)).unwrap();
            let (mut submitter, mut poller) = instance.split();
            assert_eq!((submitter.free(), poller.outstanding()), (5, 2));
            submitter.push(copy(&mover, 3)).unwrap();
            assert!(poller.wait_many(2, LONG));
            assert_eq!(poller.poll().take(1).count(), 1);
            assert_eq!(submitter.doorbell(), 2);
            submitter.push(copy(&mover, 4)).unwrap();
            instance = poller.join(submitter).unwrap();
            assert_eq!((instance.free(), instance.outstanding()), (4, 4), "lap {lap}");
            expected += 5;
            let mut taken = 0;
            while instance.wait_many(4, LONG) {
                taken += instance.poll().filter(|r| r.result.is_ok()).count();
            }
            assert_eq!((taken, instance.free()), (4, 8));
        }
        let row = runtime.counters().row("cpu", lookaside::Op::Copy).unwrap().clone();
        assert_eq!((row.requests, row.errors), (expected, 0));
    }
}

#[test]
fn halves_of_two_instances_do_not_join() {
    let runtime = runtime(0);
    let (mut submitter, poller) = halves(&runtime, 1);
    let (other_submitter, other_poller) = halves(&runtime, 2);
    let mover = runtime.mover().unwrap();
    submitter.push(copy(&mover, 4)).unwrap();
    let halves = *other_poller.join(submitter).err().unwrap().0;
    // They work as before.
    let (submitter, other_poller) = halves;
    assert_eq!(other_poller.join(other_submitter).unwrap().free(), 2);
    let mut instance = poller.join(submitter).unwrap();
    assert!(instance.wait(LONG));
    assert_eq!(instance.poll().map(|r| r.tag).collect::<Vec<_>>(), [4]);
}

/// What the device cannot do is an answer, as on a whole instance.
#[test]
fn errors_are_answers() {
    let runtime = runtime(1);
    let mover = runtime.mover().unwrap();
    let (mut submitter, mut poller) = halves(&runtime, 4);
    let mut request = copy(&mover, 1);
    request.op = lookaside::Op::Decompress;
    submitter.push(request).unwrap();
    submitter.doorbell();
    assert!(poller.wait(LONG));
    let answers: Vec<_> = poller.poll().map(|r| (r.tag, r.result)).collect();
    assert_eq!(answers, [(1, Err(OpError::Unsupported))]);
}
