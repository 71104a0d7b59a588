//! Devices that answer later: nobody spins meanwhile, whoever executes, and one that hangs is reset.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{Arc, Mutex},
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Batch, Buf, Capability, Channel, Completed, Device, Done, EngineId, Instance, InstanceConfig,
    Limits, Lost, Mover, Op, OpError, Prepared, Runtime, SessionSpec, SetupError, Status, Wake,
    Work,
};
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};

const LATENCY: Duration = Duration::from_millis(30);

/// How a [`Slow`] device says when it has finished.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// By its time.
    Time,
    /// By an event, from a thread of its own.
    Event,
    /// Never: it hangs, until it is reset.
    Never,
}

/// Copies, after [`LATENCY`].
struct Slow(Way, Vec<Capability>);

impl Slow {
    fn new(way: Way) -> Slow {
        let copy = Capability {
            op: Op::Copy,
            algorithm: "copy".into(),
            served_by: "a test".into(),
            best_batch: 1,
            max_src: usize::MAX,
        };
        Slow(way, vec![copy])
    }
}

impl Device for Slow {
    fn name(&self) -> &str {
        "slow"
    }
    fn capabilities(&self) -> &[Capability] {
        &self.1
    }
    fn limits(&self) -> Limits {
        let ns = |d: Duration| d.as_nanos() as u64;
        let timeout = if self.0 == Way::Never { LATENCY } else { Duration::from_secs(60) };
        Limits { timeout_ns: Some(ns(timeout)), ..Limits::default() }
    }
    fn prepare(&self, _: &SessionSpec) -> Result<Prepared, SetupError> {
        Ok(Prepared::new(()))
    }
    fn open_channel(&self, _: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = Arc::new(eventfd(0, flags).expect("an event fd"));
        Ok(Box::new(SlowChannel { way: self.0, held: Vec::new(), event, done: Arc::default() }))
    }
}

struct SlowChannel {
    way: Way,
    held: Vec<(u64, Work)>,
    event: Arc<OwnedFd>,
    /// How many the thread has finished.
    done: Arc<Mutex<usize>>,
}

impl Channel for SlowChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        let mut taken = 0;
        while let Some(work) = batch.take() {
            self.held.push((now_ns + LATENCY.as_nanos() as u64, work));
            taken += 1;
            if self.way == Way::Event {
                let (event, done) = (self.event.clone(), self.done.clone());
                thread::spawn(move || {
                    thread::sleep(LATENCY);
                    *done.lock().unwrap() += 1;
                    rustix::io::write(&event, &1u64.to_ne_bytes()).unwrap();
                });
            }
        }
        taken
    }

    fn poll(&mut self, now_ns: u64, done: &mut Completed) -> usize {
        let finished = match self.way {
            Way::Time => self.held.iter().take_while(|(at, _)| *at <= now_ns).count(),
            Way::Event => {
                let _ = rustix::io::read(&*self.event, &mut [0; 8]);
                core::mem::take(&mut *self.done.lock().unwrap())
            }
            Way::Never => 0,
        };
        for (_, mut work) in self.held.drain(..finished) {
            let n = work.request().src.len();
            let src = work.request().src.as_slice().unwrap().to_vec();
            work.request_mut().dst.scatter(&src);
            done.push(
                work,
                Ok(Done { consumed: n, produced: n, checksum: 0, status: Status::Complete }),
            );
        }
        finished
    }

    fn in_flight(&self) -> usize {
        self.held.len()
    }

    fn wake(&self) -> Wake {
        match (self.way, self.held.first()) {
            (_, None) | (Way::Never, _) => Wake::Never,
            (Way::Time, Some(&(at, _))) => Wake::At(at),
            (Way::Event, _) => Wake::Event,
        }
    }

    fn event_fd(&self) -> Option<BorrowedFd<'_>> {
        (self.way == Way::Event).then(|| self.event.as_fd())
    }

    fn reset(&mut self, done: &mut Completed) {
        for (_, work) in self.held.drain(..) {
            done.push(work, Err(OpError::DeviceLost(Lost::Untouched)));
        }
    }
}

/// The CPU time of this process.
fn cpu_time() -> Duration {
    let t = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(t.tv_sec as u64, t.tv_nsec as u32)
}

fn push(instance: &mut Instance, mover: &Mover, tag: u64) {
    let src = Buf::from(vec![tag as u8; 100]);
    instance.push(mover.copy(src, Buf::zeroed(100)).tag(tag)).unwrap();
}

/// Takes one answer, which is right.
fn take(instance: &mut Instance) {
    let response = instance.poll().next().expect("it was announced");
    response.result.unwrap();
    assert_eq!(response.dst.into_vec(), vec![response.tag as u8; 100]);
}

/// One request after the other by each of the ways to wait.
fn serve(way: Way, engines: usize) {
    let runtime = Runtime::builder().device(Slow::new(way)).engines(engines).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let (start, before) = (Instant::now(), cpu_time());
    for tag in 0..3 {
        push(&mut instance, &mover, tag);
        assert!(instance.wait(Duration::from_secs(30)));
        take(&mut instance);
    }
    for tag in 0..3 {
        push(&mut instance, &mover, tag);
        assert_eq!(instance.poll().count(), 0);
        loop {
            let fd = instance.event_fd().unwrap();
            poll(&mut [PollFd::new(&fd, PollFlags::IN)], None).unwrap();
            let mut responses = instance.poll();
            if let Some(response) = responses.next() {
                response.result.unwrap();
                break;
            }
        }
    }
    for tag in 0..3 {
        let src = Buf::from(vec![tag; 100]);
        let response = runtime.handle().call(mover.copy(src, Buf::zeroed(100))).wait();
        assert_eq!(response.dst.into_vec(), vec![tag; 100]);
    }
    let (took, cpu) = (start.elapsed(), cpu_time() - before);
    assert!(took >= 9 * LATENCY, "{way:?}: {took:?}");
    assert!(cpu < took / 4, "{way:?}, {engines} engines: {cpu:?} of CPU time in {took:?}");
}

#[test]
fn nobody_spins_while_a_device_works() {
    for way in [Way::Time, Way::Event] {
        for engines in [0, 1, 2] {
            serve(way, engines);
        }
    }
}

#[test]
fn a_device_that_hangs_is_reset() {
    for engines in [0, 1] {
        let slow = Slow::new(Way::Never);
        let builder = Runtime::builder().device(slow).device(lookaside_cpu::cpu());
        let runtime = builder.engines(engines).start().unwrap();
        let mover = runtime.mover().unwrap();
        let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
        let before = cpu_time();
        push(&mut instance, &mover, 7);
        // The other device does it.
        assert!(instance.wait(Duration::from_secs(30)));
        take(&mut instance);
        assert!(cpu_time() - before < LATENCY / 2, "{engines} engines");
        let counters = runtime.counters();
        assert_eq!(counters.resets, 1);
        assert_eq!(counters.row("slow", Op::Copy).map(|row| row.rerouted), Some(1));
        // And an instance that is dropped meanwhile ends.
        push(&mut instance, &mover, 8);
        instance.doorbell();
        drop(instance);
    }
}
