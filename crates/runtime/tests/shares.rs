//! Twelve tenants of mixed services, each with a committed and a peak rate, under floods of all others, on
//! a device of known speed and a virtual clock: each gets its committed rate, none more than its peak, the
//! rest is shared by weight, and a tenant within its promise waits little longer than alone.
//!
//! `LOOKASIDE_SIM_SEEDS`, `LOOKASIDE_SIM_FIRST` and `LOOKASIDE_SIM_SEED`: see `each_seed`.

use std::{
    mem::ManuallyDrop,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use lookaside::{
    Batch, Buf, Capability, Channel, Clock, Completed, CompressSession, Compression, Device, Done,
    Engine, EngineId, Instance, InstanceConfig, Lost, Mover, Op, Prepared, Random, Request,
    Runtime, Scanner, SessionSpec, SetupError, Sla, Status, Unit, Wake, Work, scan::Mode,
};
use lookaside_testkit::{Rng, VirtualClock, each_seed};

/// How many random numbers are made side by side, in the time of one.
const SIDE_BY_SIDE: usize = 8;

/// The bits of a tag that say how long a request takes; the others, when it was sent.
const TIME: u64 = (1 << 20) - 1;

/// A device whose requests take as many nanoseconds as their tags say. Like the CPU, an engine's channel
/// executes one batch and looks at nothing else meanwhile: it is free again at the time that it notes.
#[derive(Default)]
struct Timed {
    free_at: Arc<Mutex<Vec<Arc<AtomicU64>>>>,
    rows: Vec<Capability>,
}

impl Timed {
    fn new() -> Timed {
        let row = |op| Capability {
            op,
            algorithm: "timed".into(),
            served_by: "simulation".into(),
            best_batch: if op == Op::Random { SIDE_BY_SIDE } else { 1 },
            max_src: usize::MAX,
        };
        let ops = [Op::Copy, Op::Compress, Op::Scan, Op::Random];
        Timed { free_at: Arc::default(), rows: ops.map(row).into() }
    }
}

impl Device for Timed {
    fn name(&self) -> &str {
        "cpu"
    }

    fn capabilities(&self) -> &[Capability] {
        &self.rows
    }

    fn prepare(&self, _: &SessionSpec) -> Result<Prepared, SetupError> {
        Ok(Prepared::new(()))
    }

    fn open_channel(&self, _: EngineId) -> Result<Box<dyn Channel>, SetupError> {
        let free_at = Arc::<AtomicU64>::default();
        self.free_at.lock().unwrap().push(free_at.clone());
        Ok(Box::new(TimedChannel { free_at, held: Vec::new() }))
    }
}

struct TimedChannel {
    free_at: Arc<AtomicU64>,
    held: Vec<Work>,
}

impl Channel for TimedChannel {
    fn submit(&mut self, now_ns: u64, batch: &mut Batch<'_>) -> usize {
        let random = batch.op() == Some(Op::Random);
        self.held.extend(std::iter::from_fn(|| batch.take()));
        let times = self.held.iter().map(|w| w.request().tag & TIME);
        let time = if random { times.max().unwrap_or(0) } else { times.sum() };
        self.free_at.store(now_ns + time, Relaxed);
        self.held.len()
    }

    fn poll(&mut self, _: u64, done: &mut Completed) -> usize {
        let n = self.held.len();
        for work in self.held.drain(..) {
            let result = Done { consumed: n, produced: 0, checksum: 0, status: Status::Complete };
            done.push(work, Ok(result));
        }
        n
    }

    fn in_flight(&self) -> usize {
        self.held.len()
    }

    fn wake(&self) -> Wake {
        Wake::Now
    }

    fn reset(&mut self, done: &mut Completed) {
        for mut work in self.held.drain(..) {
            work.lose(Lost::Touched);
            done.push(work, Err(lookaside::OpError::DeviceLost(Lost::Touched)));
        }
    }
}

/// What a tenant asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Copy,
    Compress,
    Parse,
    Scan,
    Random,
}

const KINDS: [Kind; 5] = [Kind::Copy, Kind::Compress, Kind::Parse, Kind::Scan, Kind::Random];

impl Kind {
    /// The device time of one request, or of a batch side by side.
    fn ns(self) -> u64 {
        match self {
            Kind::Copy => 10_000,
            Kind::Compress => 250_000,
            Kind::Parse => 500_000,
            Kind::Scan => 60_000,
            Kind::Random => 400_000,
        }
    }

    /// The device time of one request among many.
    fn least_ns(self) -> u64 {
        if self == Kind::Random { self.ns() / SIDE_BY_SIDE as u64 } else { self.ns() }
    }

    fn bytes(self) -> usize {
        match self {
            Kind::Copy => 128,
            Kind::Compress => 1024,
            Kind::Parse => 4096,
            Kind::Scan => 512,
            Kind::Random => 256,
        }
    }
}

/// The largest that runs at once.
const LARGEST_NS: u64 = 500_000;

struct Sessions {
    mover: Mover,
    dc: [CompressSession; 2],
    scanner: Scanner,
    random: Random,
}

impl Sessions {
    fn new(runtime: &Runtime) -> Sessions {
        let dc =
            |level| runtime.compression(Compression { level, ..Compression::default() }).unwrap();
        Sessions {
            mover: runtime.mover().unwrap(),
            dc: [dc(1), dc(2)],
            scanner: runtime.scan([], Mode::Block).unwrap(),
            random: runtime.random().unwrap(),
        }
    }

    fn request(&self, kind: Kind, now: u64) -> Request {
        let (src, dst) = (Buf::zeroed(kind.bytes()), Buf::empty());
        let request = match kind {
            Kind::Copy => self.mover.copy(src, dst),
            Kind::Compress => self.dc[0].compress(src, dst),
            Kind::Parse => self.dc[1].compress(src, dst),
            Kind::Scan => self.scanner.scan(src, dst),
            Kind::Random => self.random.fill(src),
        };
        request.tag(now << TIME.count_ones() | kind.ns())
    }
}

/// What a tenant is promised and how it behaves.
#[derive(Clone, Debug)]
struct Promise {
    kind: Kind,
    weight: u32,
    unit: Unit,
    /// The part of all engines that is committed to it, and its peak rate as a multiple of that.
    part: f64,
    peak: f64,
    /// It sends so much of what is committed to it, evenly and at random; `None`: a flood.
    sends: Option<f64>,
    /// The system runs its thread late now and then, by some milliseconds: its ring runs dry.
    late: bool,
}

struct Tenant {
    promise: Promise,
    instance: Instance,
    /// Requests a second.
    committed: f64,
    /// When it sends next.
    next_ns: u64,
    /// Until when it is late, and when it is again.
    late_ns: (u64, u64),
    answered: u64,
    latencies: Vec<u64>,
}

fn tenant(runtime: &Runtime, engines: usize, promise: &Promise) -> Tenant {
    let committed = promise.part * engines as f64 * 1e9 / promise.kind.least_ns() as f64;
    let (bytes, ns) = (promise.kind.bytes() as f64, promise.kind.least_ns() as f64);
    let each = match promise.unit {
        Unit::Operations => 1.0,
        Unit::Bytes => bytes,
        Unit::DeviceTime => ns,
    };
    let rate = |factor: f64| (committed * each * factor) as u64;
    let largest = (each * SIDE_BY_SIDE as f64) as u64;
    let sla = Sla::of(promise.unit, rate(1.0), rate(promise.peak), largest);
    let config = InstanceConfig {
        depth: 32,
        weight: promise.weight,
        slas: vec![sla],
        ..InstanceConfig::default()
    };
    let instance = runtime.instance(config).unwrap();
    let promise = promise.clone();
    let (next_ns, late_ns, latencies) = (0, (0, 0), Vec::new());
    Tenant { promise, instance, committed, next_ns, late_ns, answered: 0, latencies }
}

impl Tenant {
    /// Takes what is answered and sends what is to be sent. Returns whether it did, and until when it waits.
    fn turn(&mut self, now: u64, sessions: &Sessions, rng: &mut Rng) -> (bool, u64) {
        if self.promise.late && now >= self.late_ns.1 {
            let until = now + rng.below(8_000_000);
            self.late_ns = (until, until + rng.below(16_000_000));
        }
        if now < self.late_ns.0 {
            return (false, self.late_ns.0);
        }
        let before = self.answered;
        for response in self.instance.poll() {
            assert!(response.result.is_ok());
            self.answered += 1;
            self.latencies.push(now - (response.tag >> TIME.count_ones()));
        }
        let mut pushed = false;
        while self.instance.free() > 0 && (self.promise.sends.is_none() || self.next_ns <= now) {
            self.instance.push(sessions.request(self.promise.kind, now)).unwrap();
            pushed = true;
            if let Some(part) = self.promise.sends {
                let gap = 1e9 / (self.committed * part);
                self.next_ns = now + (gap * (0.5 + rng.below(1000) as f64 / 1000.0)) as u64;
            }
        }
        self.instance.doorbell();
        let waits = if self.promise.sends.is_some() { self.next_ns } else { u64::MAX };
        (pushed || self.answered > before, waits)
    }
}

/// What each tenant got: requests, latencies.
struct Outcome {
    answered: Vec<u64>,
    latencies: Vec<Vec<u64>>,
}

/// What comes first: buckets begin full, and costs are learned.
const WARM_NS: u64 = 300_000_000;

/// Runs them for so many seconds of virtual time behind the first ones, `express`: with the engine for commitments beside the
/// others.
fn serve(promises: &[Promise], engines: usize, express: bool, seed: u64, seconds: f64) -> Outcome {
    let mut rng = Rng::new(seed);
    let clock = VirtualClock::new();
    clock.advance(1);
    let device = Timed::new();
    let channels = device.free_at.clone();
    let (runtime, mut workers): (Runtime, Vec<Engine>) = Runtime::builder()
        .device(device)
        .engines(engines)
        .clock(Arc::new(clock.clone()))
        .start_stepped()
        .unwrap();
    let sessions = Sessions::new(&runtime);
    let free_at = channels.lock().unwrap().clone();
    assert_eq!((workers.len(), free_at.len()), (engines + 1, engines + 1));
    if !express {
        workers.truncate(engines);
    }
    // Not dropped when an assertion fails: an instance waits for its requests.
    let mut tenants: ManuallyDrop<Vec<Tenant>> =
        ManuallyDrop::new(promises.iter().map(|p| tenant(&runtime, engines, p)).collect());
    let end = WARM_NS + (seconds * 1e9) as u64;
    let (mut warm, mut stopping) = (None, false);
    loop {
        let now = clock.now_ns();
        if now >= end && !stopping {
            stopping = true;
        }
        if now >= WARM_NS && warm.is_none() {
            warm = Some(tenants.iter().map(|t| t.answered).collect::<Vec<_>>());
            tenants.iter_mut().for_each(|t| t.latencies.clear());
        }
        let (mut moved, mut next) = (false, now + 1_000_000);
        for (engine, free_at) in workers.iter_mut().zip(&free_at) {
            let free_at = free_at.load(Relaxed);
            if free_at > now {
                next = next.min(free_at);
                continue;
            }
            let step = engine.step(now);
            moved |= step.progress;
            next = next.min(step.until_ns.filter(|&t| t > now).unwrap_or(u64::MAX));
        }
        if stopping {
            break;
        }
        for tenant in tenants.iter_mut() {
            let (acted, waits) = tenant.turn(now, &sessions, &mut rng);
            moved |= acted;
            next = next.min(waits.max(now + 1));
        }
        if !moved {
            clock.advance(next - now);
        }
    }
    let outcome = Outcome {
        answered: tenants.iter().zip(warm.unwrap()).map(|(t, warm)| t.answered - warm).collect(),
        latencies: tenants.iter_mut().map(|t| std::mem::take(&mut t.latencies)).collect(),
    };
    // What is outstanding is served, so that instances can go.
    while tenants.iter().any(|t| t.instance.outstanding() > 0) {
        let now = clock.now_ns();
        tenants.iter_mut().for_each(|t| t.instance.poll().for_each(drop));
        for (engine, free_at) in workers.iter_mut().zip(&free_at) {
            if free_at.load(Relaxed) <= now {
                engine.step(now);
            }
        }
        clock.advance(10_000);
    }
    drop(ManuallyDrop::into_inner(tenants));
    outcome
}

/// Twelve tenants to whom `all` of the engines is committed together, at random.
fn promises(rng: &mut Rng, all: f64) -> Vec<Promise> {
    let units = [Unit::Operations, Unit::Bytes, Unit::DeviceTime];
    let parts: Vec<f64> = (0..12).map(|_| 1.0 + rng.below(400) as f64 / 100.0).collect();
    let sum: f64 = parts.iter().sum();
    let promise = |(i, part): (usize, f64)| {
        let (kind, unit) = (KINDS[i % KINDS.len()], units[rng.below(3) as usize]);
        // A peak that counts operations or bytes lets no batch through as a whole: one by one, such
        // requests take more device time than was reckoned.
        let splits = kind == Kind::Random && unit != Unit::DeviceTime;
        // One in three is held at its peak.
        let peak = if rng.chance(33) && !splits { 1.1 } else { 20.0 };
        let weight = 1 + rng.below(8) as u32;
        Promise { kind, weight, unit, part: all * part / sum, peak, sends: None, late: false }
    };
    parts.into_iter().enumerate().map(promise).collect()
}

fn floods(seed: u64) {
    const SECONDS: f64 = 1.0;
    let mut rng = Rng::new(seed);
    let (engines, express) = (1 + rng.below(3) as usize, rng.chance(50));
    let promises = promises(&mut rng, 0.7);
    let got = serve(&promises, engines, express, seed, SECONDS).answered;
    // Device time beyond the committed rate, for each unit of weight.
    let mut rest = Vec::new();
    for (p, &n) in promises.iter().zip(&got) {
        let committed = p.part * engines as f64 * 1e9 / p.kind.least_ns() as f64 * SECONDS;
        let (n, peak) = (n as f64, committed * p.peak);
        assert!(n >= 0.98 * committed, "{n} of {committed}: {p:?}");
        // A batch more may have ended just within the time.
        assert!(n <= 1.02 * peak + SIDE_BY_SIDE as f64, "{n} of at most {peak}: {p:?}");
        if n < 0.95 * peak {
            rest.push(((n - committed) * p.kind.least_ns() as f64 / f64::from(p.weight), p));
        }
    }
    let fair = rest.iter().map(|r| r.0).sum::<f64>() / rest.len().max(1) as f64;
    for (one, p) in &rest {
        // And a request that ended just within the time, or did not.
        let most = 0.05 * fair + p.kind.ns() as f64 / f64::from(p.weight);
        assert!((one - fair).abs() < most, "{:.3}: {p:?}, {rest:?}", one / fair);
    }
}

#[test]
fn promises_hold_under_floods() {
    each_seed(100, floods);
}

/// Without promises, twelve floods share by weight. Two in three of them have clients that are late, and rings that run
/// dry: the shorter the requests, the sooner.
fn late_floods(seed: u64) {
    const SECONDS: f64 = 1.0;
    let mut rng = Rng::new(seed);
    let mut promises = promises(&mut rng, 0.7);
    for (i, promise) in promises.iter_mut().enumerate() {
        (promise.part, promise.late) = (0.0, i % 3 != 0);
    }
    let got = serve(&promises, 1, false, seed, SECONDS).answered;
    let time = |(p, &n): (&Promise, &u64)| (n * p.kind.least_ns()) as f64 / f64::from(p.weight);
    let each: Vec<f64> = promises.iter().zip(&got).map(time).collect();
    let fair = each.iter().sum::<f64>() / each.len() as f64;
    for (p, one) in promises.iter().zip(&each) {
        let most = 0.05 * fair + p.kind.ns() as f64 / f64::from(p.weight);
        assert!((one - fair).abs() < most, "{:.3}: {p:?}, {each:?}", one / fair);
    }
}

#[test]
fn clients_that_are_late_keep_their_weight() {
    each_seed(50, late_floods);
}

fn p99(latencies: &mut [u64]) -> u64 {
    latencies.sort_unstable();
    assert!(latencies.len() > 20, "{} answers", latencies.len());
    latencies[(latencies.len() - 1) * 99 / 100]
}

fn latency(seed: u64) {
    const SECONDS: f64 = 1.0;
    let mut rng = Rng::new(seed);
    let (engines, express) = (1 + rng.below(3) as usize, rng.chance(50));
    let mut promises = promises(&mut rng, 0.7);
    let one = rng.below(promises.len() as u64) as usize;
    // One at a time, requests that could run side by side take more device time.
    let one_by_one = promises[one].kind == Kind::Random && promises[one].unit == Unit::DeviceTime;
    promises[one].sends = Some(if one_by_one { 0.7 / SIDE_BY_SIDE as f64 } else { 0.7 });
    let lone = std::slice::from_ref(&promises[one]);
    let mut lone = serve(lone, engines, express, seed, SECONDS).latencies.swap_remove(0);
    let mut beside = serve(&promises, engines, express, seed, SECONDS).latencies.swap_remove(one);
    let (lone, beside) = (p99(&mut lone), p99(&mut beside));
    let most = 3 * lone + LARGEST_NS;
    assert!(beside <= most, "{beside} ns of {most}, alone {lone}: {:?}", promises[one]);
}

#[test]
fn a_tenant_within_its_promise_waits_little() {
    each_seed(100, latency);
}
