//! Under a virtual clock, the model takes exactly the time that its text states, and loses nothing.

use std::sync::Arc;

use lookaside::{
    Buf, Builder, Clock, CompressSession, Compression, Engine, Instance, InstanceConfig, Op,
    Runtime,
};
use lookaside_core::Device;
use lookaside_cpu::{CpuDevice, cpu};
use lookaside_model::{Idle, Model, Spec};
use lookaside_testkit::{VirtualClock, mixed};

const SIZE: usize = 65_536;

/// A stepped runtime on a virtual clock.
struct Rig {
    clock: VirtualClock,
    engines: Vec<Engine>,
    runtime: Runtime,
}

impl Rig {
    fn new(devices: Builder, engines: usize) -> Rig {
        let clock = VirtualClock::new();
        clock.advance(1_000_000);
        let builder = devices.engines(engines).clock(Arc::new(clock.clone()));
        let (runtime, engines) = builder.start_stepped().unwrap();
        Rig { clock, engines, runtime }
    }

    /// Steps every engine until none makes progress; then lets time pass to what comes next.
    fn step(&mut self) {
        let now = self.clock.now_ns();
        let mut next = u64::MAX;
        for engine in &mut self.engines {
            loop {
                let step = engine.step(now);
                if !step.progress {
                    assert!(!step.spin, "nothing to spin for");
                    next = next.min(step.until_ns.unwrap_or(u64::MAX));
                    break;
                }
            }
        }
        if next < u64::MAX {
            self.clock.advance(next.saturating_sub(now).max(1));
        }
    }
}

fn model(text: &str) -> Model<CpuDevice> {
    Model::new(cpu(), Spec::parse(text).unwrap()).unwrap()
}

fn with(device: impl Device + 'static) -> Builder {
    Runtime::builder().device(device)
}

fn push(instance: &mut Instance, session: &CompressSession, data: &[u8], tag: u64) {
    let dst = Buf::zeroed(session.bound(data.len()));
    instance.push(session.compress(Buf::from(data), dst).tag(tag)).unwrap();
}

/// Compresses `n` times 64 KB, with so many outstanding on each engine. Returns the virtual time it took.
fn compress(rig: &mut Rig, n: u64, outstanding: usize) -> u64 {
    let session =
        rig.runtime.compression(Compression { level: 1, ..Compression::default() }).unwrap();
    let config = InstanceConfig { depth: outstanding, ..InstanceConfig::default() };
    let mut instance = rig.runtime.instance(config).unwrap();
    let data = mixed(1, SIZE);
    let begin = rig.clock.now_ns();
    let (mut pushed, mut answered) = (0, vec![false; n as usize]);
    while answered.contains(&false) {
        while pushed < n && instance.outstanding() < outstanding {
            push(&mut instance, &session, &data, pushed);
            pushed += 1;
        }
        instance.doorbell();
        rig.step();
        for response in instance.poll() {
            assert_eq!(response.result.unwrap().consumed, SIZE);
            assert!(!core::mem::replace(&mut answered[response.tag as usize], true), "twice");
        }
        assert!(rig.clock.now_ns() < begin + 10_000_000_000, "{answered:?}");
    }
    rig.clock.now_ns() - begin
}

fn near(got: f64, expected: f64) {
    assert!((got / expected - 1.0).abs() < 0.02, "{got} instead of {expected}");
}

#[test]
fn saturating_compression_has_the_stated_bandwidth() {
    for (name, gbit_per_s, n) in [("card2015", 11.7, 600), ("poweren", 9.1, 300)] {
        for engines in [1, 2] {
            let spec = Spec::built_in(name).unwrap();
            let mut rig = Rig::new(with(Model::new(cpu(), spec).unwrap()), engines);
            near((n * SIZE as u64 * 8) as f64 / compress(&mut rig, n, 16) as f64, gbit_per_s);
        }
    }
}

#[test]
fn who_executes_changes_no_time() {
    for outstanding in [1, 5, 16] {
        let spec = || Spec::built_in("card2015").unwrap();
        let mut by_cpu = Rig::new(with(Model::new(cpu(), spec()).unwrap()), 1);
        let mut by_nobody = Rig::new(with(Model::new(Idle::new(), spec()).unwrap()), 1);
        let took = compress(&mut by_cpu, 60, outstanding);
        assert_eq!(took, compress(&mut by_nobody, 60, outstanding), "{outstanding}");
    }
    // Enough of them take hardly more than the section says.
    let spec = Spec::built_in("card2015").unwrap();
    let least_ns = spec.section(Op::Compress).unwrap().least_ns(600, 600 * SIZE as u64);
    let mut rig = Rig::new(with(Model::new(Idle::new(), spec).unwrap()), 1);
    near(compress(&mut rig, 600, 16) as f64, least_ns as f64);
}

/// Compresses once; the response is there after exactly this time. Engines are stepped when they ask for it.
fn lone(device: impl Device + 'static, size: usize, expected_ns: u64) {
    let mut rig = Rig::new(with(device), 1);
    let session = rig.runtime.compression(Compression::default()).unwrap();
    let mut instance = rig.runtime.instance(InstanceConfig::default()).unwrap();
    push(&mut instance, &session, &mixed(1, size), 0);
    instance.doorbell();
    let begin = rig.clock.now_ns();
    // Asserted afterwards: an instance that is dropped before waits for an answer that nobody gives it.
    let (took, response) = loop {
        let now = rig.clock.now_ns();
        rig.step();
        if let Some(response) = instance.poll().next() {
            break (now - begin, response);
        }
    };
    assert_eq!(took, expected_ns, "{size} bytes");
    response.result.unwrap();
}

const PLAIN: &str = "
    name = plain
    queue = 64
    [dc]
    engines = 2
    latency_us = 30
    gbit_per_s = 16
";

#[test]
fn a_lone_request_takes_latency_and_one_engine() {
    // One of two engines: 8 Gbit/s, a byte a nanosecond.
    for size in [1, 100, 4096, SIZE] {
        lone(model(PLAIN), size, 30_000 + size as u64);
    }
    // The slower of both rates: 50 us by two engines of 40,000 operations per second.
    let both = format!("{PLAIN}\nops_per_s = 40000");
    lone(model(&both), 4096, 30_000 + 50_000);
    lone(model(&both), SIZE, 30_000 + SIZE as u64);
}

/// The time of a device inside which answers later comes before the model's.
#[test]
fn a_model_of_a_model_takes_both_times() {
    let inner = Model::new(cpu(), Spec::parse(PLAIN).unwrap()).unwrap();
    let outer = Spec::parse(&PLAIN.replace("plain", "outer")).unwrap();
    let device = Model::new(inner, outer).unwrap();
    lone(device, 4096, 2 * (30_000 + 4096));
}

/// With a queue of four, four are served per latency, however many engines the runtime has.
#[test]
fn the_queue_limits_what_is_outstanding() {
    let text = PLAIN.replace("queue = 64", "queue = 4").replace("= 16", "= 100000");
    let spec = Spec::parse(&text).unwrap();
    let round = 30_000 + spec.sections[0].service_ns(SIZE);
    let took = compress(&mut Rig::new(with(model(&text)), 1), 80, 64);
    near(took as f64, (20 * round) as f64);
    // Two channels share the room; one that holds nothing offers its requests again after a while.
    let took = compress(&mut Rig::new(with(model(&text)), 2), 80, 64);
    assert!(took >= 20 * 30_000, "{took}");
    assert!(took <= 40 * 30_000, "{took}");
}

/// A reset answers what is held, and gives back its room in the queue.
#[test]
fn a_channel_that_is_reset_takes_requests_again() {
    let text = "
        name = hung
        queue = 1
        timeout_ms = 1
        [dc]
        engines = 1
        latency_us = 100000
        gbit_per_s = 100
    ";
    let mut rig = Rig::new(with(model(text)).device(cpu()), 1);
    let took = compress(&mut rig, 3, 1);
    let counters = rig.runtime.counters();
    assert_eq!(counters.resets, 3, "each was given to the model, and lost");
    assert_eq!(counters.row("hung", Op::Compress).map(|row| row.rerouted), Some(3));
    assert!((3_000_000..4_000_000).contains(&took), "{took}");
}
