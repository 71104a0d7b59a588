//! Deadlines and cancelling: what no device has begun with is answered without being run, in its turn,
//! with its buffers; and what waits behind a piece of a stream does not run without it.

use std::{
    future::Future,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use lookaside::{
    Batch, Buf, Capability, Channel, Clock, Completed, Compression, Device, Engine, EngineId,
    Flush, Instance, InstanceConfig, OpError, Prepared, Response, Runtime, SessionSpec, SetupError,
    Sla,
};
use lookaside_testkit::{SimDevice, VirtualClock};

/// A runtime whose only engine, and the one for commitments, the test steps.
struct Stepped {
    clock: VirtualClock,
    runtime: Runtime,
    engines: Vec<Engine>,
}

impl Stepped {
    /// Batches of 4; a request waits up to 50 us for others.
    fn new() -> Stepped {
        Stepped::of(SimDevice::new("cpu", 1000, 4))
    }

    fn of(device: impl Device + 'static) -> Stepped {
        let clock = VirtualClock::new();
        clock.advance(1);
        let (runtime, engines) = Runtime::builder()
            .device(device)
            .engines(1)
            .clock(Arc::new(clock.clone()))
            .start_stepped()
            .unwrap();
        Stepped { clock, runtime, engines }
    }

    fn step(&mut self) {
        self.engines[0].step(self.clock.now_ns());
    }

    /// All responses by tag, after some virtual milliseconds.
    fn finish(&mut self, instance: &mut Instance) -> Vec<Response> {
        let mut responses = Vec::new();
        for _ in 0..1000 {
            responses.extend(instance.poll());
            self.step();
            self.clock.advance(10_000);
        }
        assert_eq!(instance.outstanding(), 0);
        responses.sort_by_key(|r| r.tag);
        responses
    }
}

fn results(responses: &[Response]) -> Vec<Result<(), OpError>> {
    assert!(responses.iter().all(|r| r.src.len() == 8 && r.dst.len() == 8));
    responses.iter().map(|r| r.result.map(|_| ())).collect()
}

fn buffers() -> (Buf, Buf) {
    (vec![1; 8].into(), Buf::zeroed(8))
}

const CANCELLED: Result<(), OpError> = Err(OpError::Cancelled);
const EXPIRED: Result<(), OpError> = Err(OpError::Expired);
const US: Duration = Duration::from_micros(1);

#[test]
fn a_request_is_cancelled_in_the_ring_and_in_a_batch_that_fills() {
    let mut s = Stepped::new();
    let mover = s.runtime.mover().unwrap();
    let mut instance = s.runtime.instance(InstanceConfig::default()).unwrap();
    let copy = |tag| mover.copy(buffers().0, buffers().1).tag(tag);
    for tag in 0..3 {
        instance.push(copy(tag)).unwrap();
    }
    instance.doorbell();
    // Collected for a batch of four.
    s.step();
    for tag in [3, 4, 4, 5] {
        instance.push(copy(tag)).unwrap();
    }
    assert_eq!([1, 4, 4, 99].map(|tag| instance.cancel(tag)), [1, 2, 0, 0]);
    let responses = s.finish(&mut instance);
    let done = Ok(());
    let expected = [done, CANCELLED, done, done, CANCELLED, CANCELLED, done];
    assert_eq!(results(&responses), expected);
    assert_eq!(instance.cancel(1), 0, "it was answered");
}

#[test]
fn a_request_does_not_begin_after_its_deadline() {
    let mut s = Stepped::new();
    let mover = s.runtime.mover().unwrap();
    let mut instance = s.runtime.instance(InstanceConfig::default()).unwrap();
    let copy = |tag| mover.copy(buffers().0, buffers().1).tag(tag);
    for (tag, time) in [(0, 5 * US), (1, 20 * US), (2, Duration::ZERO), (3, Duration::MAX)] {
        instance.push_within(time, copy(tag)).unwrap();
    }
    instance.doorbell();
    s.clock.advance(10_000);
    s.step();
    let responses = s.finish(&mut instance);
    assert_eq!(results(&responses), [EXPIRED, Ok(()), EXPIRED, Ok(())]);
    // One with a deadline does not wait for others.
    instance.push_within(5 * US, copy(4)).unwrap();
    instance.doorbell();
    s.step();
    s.clock.advance(10_000);
    assert_eq!(results(&s.finish(&mut instance)), [Ok(())]);
}

/// Who waits for a request that has left hurries no batch of others that came after it.
#[test]
fn a_poll_hurries_no_batch_without_its_request() {
    let mut s = Stepped::new();
    let mover = s.runtime.mover().unwrap();
    let copy = || mover.copy(buffers().0, buffers().1);
    let open = || s.runtime.instance(InstanceConfig::default()).unwrap();
    let (mut one, mut other) = (open(), open());
    one.push(copy()).unwrap();
    one.doorbell();
    s.step();
    (0..3).for_each(|_| other.push(copy()).unwrap());
    other.doorbell();
    // The batch is full and leaves; the next request waits for others.
    s.step();
    other.push(copy()).unwrap();
    other.doorbell();
    s.step();
    assert_eq!(one.poll().count(), 0, "the device takes its time");
    for _ in 0..4 {
        s.step();
        s.clock.advance(5_000);
    }
    assert_eq!((one.poll().count(), other.poll_full().count()), (1, 3));
    s.clock.advance(50_000);
    (0..3).for_each(|_| {
        s.step();
        s.clock.advance(5_000);
    });
    assert_eq!(other.poll_full().count(), 1);
}

/// A request that came to a queue before the one before it was known to be wanted leaves when it is wanted itself.
#[test]
fn a_poll_hurries_the_batch_that_its_request_joined_earlier() {
    let mut s = Stepped::new();
    let mover = s.runtime.mover().unwrap();
    let copy = || mover.copy(buffers().0, buffers().1);
    let open = || s.runtime.instance(InstanceConfig::default()).unwrap();
    let (mut one, mut other) = (open(), open());
    one.push(copy()).unwrap();
    one.doorbell();
    s.step();
    (0..3).for_each(|_| other.push(copy()).unwrap());
    other.doorbell();
    // The batch is full and leaves. The poll says that its request is wanted; the engine has not heard of it.
    s.step();
    assert_eq!(one.poll().count(), 0, "the device takes its time");
    one.push(copy()).unwrap();
    one.doorbell();
    (0..4).for_each(|_| {
        s.step();
        s.clock.advance(1_000);
    });
    assert_eq!(one.poll().count(), 1);
    // One that finds nothing asks for what is outstanding.
    assert_eq!(one.poll().count(), 0);
    (0..4).for_each(|_| {
        s.step();
        s.clock.advance(1_000);
    });
    assert_eq!(one.poll().count(), 1, "the second one waited for others");
}

/// A peak rate holds a request back for a second; its deadline lets it, and only it, out.
#[test]
fn a_deadline_ends_the_wait_for_a_rate() {
    let mut s = Stepped::new();
    let mover = s.runtime.mover().unwrap();
    let slas = vec![Sla::new(0, 64, 64)];
    let config = InstanceConfig { slas, ..InstanceConfig::default() };
    let mut instance = s.runtime.instance(config).unwrap();
    let copy = |tag| mover.copy(buffers().0, buffers().1).tag(tag);
    instance.push(copy(0)).unwrap();
    instance.push_within(100 * US, copy(1)).unwrap();
    instance.push(copy(2)).unwrap();
    assert_eq!(instance.poll().count(), 0);
    for _ in 0..10 {
        s.step();
        s.clock.advance(100);
    }
    let step = s.engines[0].step(s.clock.now_ns());
    assert_eq!(step.until_ns, Some(1 + 100_000), "it is woken for the deadline");
    s.clock.advance(100_000);
    for _ in 0..10 {
        s.step();
    }
    let mut responses: Vec<_> = instance.poll().collect();
    responses.sort_by_key(|r| r.tag);
    assert_eq!(results(&responses), [Ok(()), EXPIRED]);
    s.clock.advance(1_000_000_000);
    assert_eq!(results(&s.finish(&mut instance)), [Ok(())]);
}

/// The device checks that pieces come in their order, and that none comes behind one that is missing.
#[test]
fn a_stream_does_not_go_on_without_a_piece_that_was_cancelled_or_late() {
    for late in [false, true] {
        let mut s = Stepped::new();
        let stream = s.runtime.compress_stream(Compression::default(), None).unwrap();
        let mut instance = s.runtime.instance(InstanceConfig::default()).unwrap();
        let piece = |first: u8, tag| {
            stream.compress(vec![first; 8].into(), Buf::zeroed(8), Flush::None).tag(tag)
        };
        instance.push(piece(0, 0)).unwrap();
        match late {
            false => instance.push(piece(1, 1)).unwrap(),
            true => instance.push_within(US, piece(1, 1)).unwrap(),
        }
        instance.push(piece(2, 2)).unwrap();
        instance.doorbell();
        // The first piece runs, the others wait in the stream's own line.
        s.step();
        if !late {
            assert_eq!(instance.cancel(1), 1);
        }
        s.clock.advance(2_000);
        let responses = s.finish(&mut instance);
        let second = if late { EXPIRED } else { CANCELLED };
        assert_eq!(results(&responses), [Ok(()), second, CANCELLED]);
        // Submitted again, they run.
        for (first, tag) in [(1, 3), (2, 4)] {
            instance.push(piece(first, tag)).unwrap();
        }
        instance.doorbell();
        assert_eq!(results(&s.finish(&mut instance)), [Ok(()), Ok(())]);
    }
}

/// A device that takes nothing while it is told so.
struct Refuses(SimDevice, Arc<AtomicBool>);

impl Device for Refuses {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn capabilities(&self) -> &[Capability] {
        self.0.capabilities()
    }

    fn prepare(&self, spec: &SessionSpec) -> Result<Prepared, SetupError> {
        self.0.prepare(spec)
    }

    fn open_channel(&self, engine: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        Ok(Box::new(Refusing(self.0.open_channel(engine)?, self.1.clone())))
    }
}

struct Refusing(Box<dyn Channel>, Arc<AtomicBool>);

impl Channel for Refusing {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        if self.1.load(Relaxed) { 0 } else { self.0.submit(now_ns, batch) }
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        self.0.poll(now_ns, done)
    }

    fn in_flight(&self) -> usize {
        self.0.in_flight()
    }

    fn reset(&mut self, done: &mut Completed) {
        self.0.reset(done);
    }
}

/// What a device refuses comes too late while the engine offers it; and what it is offered next has all
/// of the time that it may be refused.
#[test]
fn what_is_refused_comes_too_late() {
    let refuses = Arc::new(AtomicBool::new(true));
    let device = Refuses(SimDevice::new("cpu", 1000, 4), refuses.clone());
    let mut s = Stepped::of(device);
    let mover = s.runtime.mover().unwrap();
    let mut instance = s.runtime.instance(InstanceConfig::default()).unwrap();
    let copy = |tag| mover.copy(buffers().0, buffers().1).tag(tag);
    instance.push_within(100 * US, copy(0)).unwrap();
    instance.doorbell();
    s.step();
    s.clock.advance(200_000);
    s.step();
    assert_eq!(results(&instance.poll().collect::<Vec<_>>()), [EXPIRED]);
    // Far beyond the 10 ms after which a device that refuses counts as lost.
    s.clock.advance(50_000_000);
    instance.push_within(1000 * US, copy(1)).unwrap();
    instance.doorbell();
    s.step();
    s.step();
    assert_eq!(instance.poll().count(), 0, "it was refused once");
    refuses.store(false, Relaxed);
    assert_eq!(results(&s.finish(&mut instance)), [Ok(())]);
}

#[test]
fn a_call_that_nobody_waits_for_is_not_run() {
    let device = SimDevice::new("cpu", 1000, 4);
    let executed = device.executed();
    let runtime = Runtime::builder().device(device).engines(0).start().unwrap();
    let mover = runtime.mover().unwrap();
    let handle = runtime.handle();
    let call = || handle.call(mover.copy(buffers().0, buffers().1));
    let (dropped, kept) = (call(), call());
    drop(dropped);
    assert!(kept.wait().result.is_ok());
    assert_eq!(executed.load(Relaxed), 1);
    // One that was answered and not looked at is dropped like any other.
    let mut call = pin!(call());
    let mut context = Context::from_waker(Waker::noop());
    while matches!(call.as_mut().poll(&mut context), Poll::Pending) {}
}

/// With engine threads: whatever `cancel` says of a request is what happens to it.
#[test]
fn engines_and_cancelling_agree() {
    for engines in [0, 2] {
        let builder = Runtime::builder().device(lookaside_cpu::cpu()).engines(engines);
        let runtime = builder.start().unwrap();
        let mover = runtime.mover().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let mut cancelled = 0;
        for round in 0..200 {
            for tag in 0..8 {
                let source = vec![1; 1000 * (round % 7 + 1)];
                let room = Buf::zeroed(source.len());
                instance.push(mover.copy(source.into(), room).tag(tag)).unwrap();
            }
            instance.doorbell();
            let said = instance.cancel(round as u64 % 8);
            let mut answers = Vec::new();
            while answers.len() < 8 {
                instance.wait(Duration::from_secs(10));
                answers.extend(instance.poll());
            }
            for r in &answers {
                let not_run = r.result == Err(OpError::Cancelled);
                assert_eq!(not_run, said == 1 && r.tag == round as u64 % 8);
                assert!(not_run || r.dst.as_slice() == r.src.as_slice());
            }
            cancelled += said;
        }
        assert!(engines > 0 || cancelled == 200, "with 0 engines nothing runs before the wait");
    }
}
