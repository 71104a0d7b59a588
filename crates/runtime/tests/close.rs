//! Closing an instance while engines work for it: what is waited for, and what happens to the rest.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Batch, Buf, Capability, Channel, Completed, Compression, Device, Done, EngineId, Flush,
    Instance, InstanceConfig, Op, Prepared, Runtime, SessionSpec, SetupError, Status, Work,
};
use lookaside_cpu::cpu;
use lookaside_testkit::{Rng, mixed};

const LONG: Duration = Duration::from_secs(20);

/// A device whose engine is at work until the gate opens. It writes [`WRITTEN`] to destinations.
struct Gate {
    door: Door,
    begun: Arc<AtomicUsize>,
    capabilities: Vec<Capability>,
}

type Door = Arc<(Mutex<bool>, Condvar)>;
const WRITTEN: u8 = 7;

impl Gate {
    fn new() -> (Gate, Door, Arc<AtomicUsize>) {
        let (door, begun) = (Door::default(), Arc::<AtomicUsize>::default());
        let capability = |op| Capability {
            op,
            algorithm: "copy".into(),
            served_by: "a test".into(),
            best_batch: 1,
            max_src: usize::MAX,
        };
        let capabilities = [Op::Copy, Op::Compress].map(capability).into();
        (Gate { door: door.clone(), begun: begun.clone(), capabilities }, door, begun)
    }
}

fn open(door: &Door) {
    *door.0.lock().unwrap() = true;
    door.1.notify_all();
}

impl Device for Gate {
    fn name(&self) -> &str {
        "gate"
    }
    fn capabilities(&self) -> &[Capability] {
        &self.capabilities
    }
    fn prepare(&self, _: &SessionSpec) -> Result<Prepared, SetupError> {
        Ok(Prepared::new(()))
    }
    fn open_channel(&self, _: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        let (door, begun) = (self.door.clone(), self.begun.clone());
        Ok(Box::new(GateChannel { door, begun, held: VecDeque::new() }))
    }
}

struct GateChannel {
    door: Door,
    begun: Arc<AtomicUsize>,
    held: VecDeque<Work>,
}

impl Channel for GateChannel {
    fn submit(&mut self, _: u64, batch: &mut Batch<'_>) -> usize {
        let offered = batch.len();
        while let Some(mut work) = batch.take() {
            self.begun.fetch_add(1, Ordering::SeqCst);
            let mut door = self.door.0.lock().unwrap();
            while !*door {
                door = self.door.1.wait(door).unwrap();
            }
            let dst = &mut work.request_mut().dst;
            let produced = dst.scatter(&vec![WRITTEN; dst.len()]);
            let status = Status::Complete;
            work.finish(Ok(Done { consumed: 0, produced, checksum: 0, status }));
            self.held.push_back(work);
        }
        offered
    }
    fn poll(&mut self, _: u64, done: &mut Completed) -> usize {
        let n = self.held.len();
        done.append(&mut self.held);
        n
    }
    fn in_flight(&self) -> usize {
        self.held.len()
    }
    fn reset(&mut self, done: &mut Completed) {
        done.append(&mut self.held);
    }
}

fn eventually(what: &str, f: impl Fn() -> bool) {
    let end = Instant::now() + LONG;
    while !f() {
        assert!(Instant::now() < end, "{what}");
        thread::yield_now();
    }
}

/// Drops an instance on a thread of its own. What it sends says that the drop has ended.
fn close(instance: Instance) -> mpsc::Receiver<()> {
    let (ended, wait) = mpsc::channel();
    thread::spawn(move || {
        drop(instance);
        ended.send(()).unwrap();
    });
    wait
}

#[test]
fn a_close_leaves_owned_memory_to_the_engine() {
    let (gate, door, begun) = Gate::new();
    let runtime = Runtime::builder().device(gate).engines(1).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let memory = Arc::new(vec![1u8; 100]);
    for _ in 0..3 {
        let part = |range| Buf::shared(memory.clone(), range);
        let src = Buf::list(vec![part(0..10), part(50..60)]);
        instance.push(mover.copy(src, Buf::zeroed(20))).unwrap();
    }
    instance.doorbell();
    eventually("never begun", || begun.load(Ordering::SeqCst) == 1);
    close(instance).recv_timeout(LONG).expect("waits for the engine");
    // What had not run has been cancelled, and its memory is free.
    assert_eq!((Arc::strong_count(&memory), runtime.counters().not_run), (1 + 2, 2));
    // Others are served meanwhile, as far as there are engines.
    let mut other = runtime.instance(InstanceConfig::default()).unwrap();
    other.push(mover.copy(Buf::zeroed(1), Buf::zeroed(1))).unwrap();
    other.doorbell();
    open(&door);
    eventually("the engine keeps the memory", || Arc::strong_count(&memory) == 1);
    assert!(other.wait(LONG));
    assert_eq!(other.poll().count(), 1);
    let counters = runtime.counters();
    assert_eq!((counters.row("gate", Op::Copy).unwrap().requests, counters.not_run), (2, 2));
}

#[test]
fn a_close_waits_for_lent_memory() {
    let (gate, door, begun) = Gate::new();
    let runtime = Runtime::builder().device(gate).engines(1).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let mut memory = [0u8; 50];
    for half in memory.chunks_mut(25) {
        // SAFETY: `memory` lives until the end of the test, and is looked at after the close.
        let lent = unsafe { Buf::foreign_mut(half.as_mut_ptr(), half.len()) };
        let dst = Buf::list(vec![Buf::zeroed(1), lent]);
        instance.push(mover.copy(Buf::zeroed(26), dst)).unwrap();
    }
    instance.doorbell();
    eventually("never begun", || begun.load(Ordering::SeqCst) == 1);
    let closed = close(instance);
    let early = closed.recv_timeout(Duration::from_millis(100)).is_ok();
    open(&door);
    assert!(!early, "an engine may still write to what the caller has back");
    closed.recv_timeout(LONG).expect("never ends");
    // The first one ran, the second one was cancelled.
    assert_eq!((memory[0], memory[24], memory[25]), (WRITTEN, WRITTEN, 0));
    assert_eq!(begun.load(Ordering::SeqCst), 1);
}

/// Lent memory that no engine has seen comes back at once.
#[test]
fn a_close_takes_back_what_was_lent_and_has_not_run() {
    let (gate, door, begun) = Gate::new();
    let runtime = Runtime::builder().device(gate).engines(1).start().unwrap();
    let mover = runtime.mover().unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    instance.push(mover.copy(Buf::zeroed(9), Buf::zeroed(9))).unwrap();
    instance.doorbell();
    eventually("never begun", || begun.load(Ordering::SeqCst) == 1);
    let mut memory = vec![0u8; 9];
    // SAFETY: `memory` lives until the end of the test, and is looked at after the close.
    let lent = unsafe { Buf::foreign_mut(memory.as_mut_ptr(), 9) };
    instance.push(mover.copy(Buf::zeroed(9), lent)).unwrap();
    instance.doorbell();
    close(instance).recv_timeout(LONG).expect("waits for the engine");
    open(&door);
    drop(runtime);
    assert_eq!((memory, begun.load(Ordering::SeqCst)), (vec![0; 9], 1));
}

/// The pieces of a stream that wait for their turn are no engine's yet, and not in the ring.
#[test]
fn a_close_leaves_streams_to_the_engine() {
    let (gate, door, begun) = Gate::new();
    let runtime = Runtime::builder().device(gate).engines(2).start().unwrap();
    let stream = runtime.compress_stream(Compression::default(), None).unwrap();
    let memory = Arc::new(vec![1u8; 10]);
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let piece = || {
        let src = Buf::shared(memory.clone(), 0..10);
        stream.compress(src, Buf::zeroed(20), Flush::None)
    };
    for _ in 0..4 {
        instance.push(piece()).unwrap();
    }
    instance.doorbell();
    eventually("never begun", || begun.load(Ordering::SeqCst) == 1);
    close(instance).recv_timeout(LONG).expect("waits for the engine");
    open(&door);
    eventually("the engine keeps the memory", || Arc::strong_count(&memory) == 1);
    assert_eq!((begun.load(Ordering::SeqCst), runtime.counters().not_run), (1, 3));
    // The stream is nobody's now.
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    instance.push(piece()).unwrap();
    assert!(instance.wait(LONG));
    assert!(instance.poll().all(|r| r.result.is_ok()));
}

/// A runtime ends when its engines have ended what they were at, closed instances' requests included.
#[test]
fn a_runtime_ends_after_what_runs() {
    let (gate, door, begun) = Gate::new();
    let runtime = Runtime::builder().device(gate).engines(1).start().unwrap();
    let mover = runtime.mover().unwrap();
    let memory = Arc::new(vec![1u8; 10]);
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    for _ in 0..5 {
        let src = Buf::shared(memory.clone(), 0..10);
        instance.push(mover.copy(src, Buf::zeroed(10))).unwrap();
    }
    instance.doorbell();
    eventually("never begun", || begun.load(Ordering::SeqCst) == 1);
    drop(runtime);
    // The instance has kept it alive.
    let closed = close(instance);
    assert!(closed.recv_timeout(Duration::from_millis(50)).is_err(), "an engine is left behind");
    open(&door);
    closed.recv_timeout(LONG).expect("never ends");
    assert_eq!((Arc::strong_count(&memory), begun.load(Ordering::SeqCst)), (1, 1));
}

#[test]
fn a_close_does_not_wait_for_level_12() {
    let runtime = Runtime::builder().device(cpu()).engines(1).start().unwrap();
    let level = Compression { level: 12, ..Compression::default() };
    let session = runtime.compression(level).unwrap();
    let data = Arc::new(mixed(3, 8 << 20));
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let dst = Buf::zeroed(session.bound(data.len()));
    instance.push(session.compress(Buf::shared(data.clone(), 0..data.len()), dst)).unwrap();
    instance.doorbell();
    // The engine takes it; it is at it for a second.
    thread::sleep(Duration::from_millis(50));
    let start = Instant::now();
    drop(instance);
    let took = start.elapsed();
    assert_eq!(Arc::strong_count(&data), 2, "waited for the engine, {took:?}");
    eventually("the engine keeps the memory", || Arc::strong_count(&data) == 1);
    println!("closed after {took:?}, the engine had ended after {:?}", start.elapsed());
    assert_eq!(runtime.counters().row("cpu", Op::Compress).unwrap().requests, 1);
}

#[test]
fn closes_at_any_moment_free_everything() {
    for engines in [1, 2] {
        let runtime = Runtime::builder().device(cpu()).engines(engines).start().unwrap();
        let level = Compression { level: 9, ..Compression::default() };
        let session = runtime.compression(level).unwrap();
        let data = Arc::new(mixed(9, 30_000));
        let mut rng = Rng::new(1);
        let mut pushed = 0;
        for _ in 0..400 {
            let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
            for _ in 0..rng.below(6) {
                let len = rng.below(30_000) as usize;
                let dst = Buf::zeroed(session.bound(len));
                let src = Buf::shared(data.clone(), 0..len);
                instance.push(session.compress(src, dst)).unwrap();
                pushed += 1;
                if rng.chance(70) {
                    instance.doorbell();
                }
            }
            // Engines have begun, or not.
            thread::sleep(Duration::from_micros(rng.below(100)));
            instance.event_fd().unwrap();
            if rng.chance(30) {
                instance.wait(Duration::from_micros(rng.below(500)));
                instance.poll().take(1).for_each(drop);
            }
        }
        eventually("memory is still in use", || Arc::strong_count(&data) == 1);
        eventually("a request was not counted", || {
            let counters = runtime.counters();
            counters.row("cpu", Op::Compress).unwrap().requests + counters.not_run == pushed
        });
        // Engines forget closed instances, and with them their event fds: save the last that an engine
        // saw which sleeps since. (No other test here has any.)
        eventually("event fds stay open", || event_fds() < 10);
    }
}

fn event_fds() -> usize {
    let fds = std::fs::read_dir("/proc/self/fd").unwrap();
    let names = fds.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    names.filter(|name| name.to_string_lossy().contains("eventfd")).count()
}
