//! The engine under a virtual clock, with faulty devices, at random: every request is answered
//! exactly once, its buffers come back, streams keep their order, and it all comes to an end; also where
//! memory is short, and in a child of a fork in the middle of it, which begins anew, beside its parent.
//! Also, with a device of known speed: shares and rates are what was promised.
//!
//! `LOOKASIDE_SIM_SEEDS`, `LOOKASIDE_SIM_FIRST` and `LOOKASIDE_SIM_SEED`: see `each_seed`.

mod child;
mod scarce;

use std::{collections::VecDeque, mem::ManuallyDrop, time::Duration};

use child::in_child;
use lookaside::{
    Buf, Carried, Clock, CompressStream, Compression, Done, Engine, Flush, Full, Instance,
    InstanceConfig, Lost, Mover, Op, OpError, Priority, Response, Route, RouteEntry, Runtime,
    Scanner, SetupError, Sla, Status, Unit, scan::Mode,
};
use lookaside_testkit::{FaultDevice, Faults, Rng, SLOW, SimDevice, VirtualClock, each_seed};
use scarce::{Scarce, scarce};

/// What set-up asks for before it allocates what cannot be refused.
#[global_allocator]
static MEMORY: Scarce = Scarce(|size| size >= 1 << 20);

/// One instance with what it has asked for.
struct Client {
    instance: Instance,
    stream: CompressStream,
    scanner: Scanner,
    /// The state of a flow that is scanned, a byte; `None` while a piece is out, which has this tag.
    flow: Option<Vec<u8>>,
    flow_tag: u64,
    /// The state after the last piece that was answered.
    flow_state: u8,
    /// By tag: the address and length of each buffer that is out; `None` once answered.
    expected: Vec<Option<[(usize, usize); 2]>>,
    /// The stream's pieces (first bytes) that are not done, in order; and those that are out.
    piece: u8,
    pieces_out: VecDeque<(u64, u8)>,
    redo: Vec<u8>,
    answered: usize,
    /// By tag: when a request's deadline passes, and whether it was cancelled.
    until: Vec<Option<u64>>,
    cancelled: Vec<bool>,
}

fn identity(b: &Buf) -> (usize, usize) {
    b.as_slice().map_or((0, 0), |s| (s.as_ptr() as usize, s.len()))
}

impl Client {
    /// With a stream of its own.
    fn new(runtime: &Runtime, instance: Instance) -> Client {
        Client {
            instance,
            stream: runtime.compress_stream(Compression::default(), None).unwrap(),
            scanner: runtime.scan([], Mode::Stream).unwrap(),
            flow: Some(vec![0]),
            flow_tag: 0,
            flow_state: 0,
            expected: Vec::new(),
            piece: 0,
            pieces_out: VecDeque::new(),
            redo: Vec::new(),
            answered: 0,
            until: Vec::new(),
            cancelled: Vec::new(),
        }
    }

    fn push(&mut self, rng: &mut Rng, mover: &Mover, now: u64) {
        let tag = self.expected.len() as u64;
        // Everything that was cancelled goes first and in order: only then come new pieces.
        let streaming = rng.chance(30) && self.instance.free() > 0;
        let scanning = !streaming && self.flow.is_some() && rng.chance(20);
        let request = if let Some(flow) = self.flow.take_if(|_| scanning) {
            self.flow_tag = tag;
            let src = vec![self.flow_state; 1 + rng.below(5000) as usize];
            self.scanner.scan_piece(flow, src.into(), Buf::empty(), false)
        } else if streaming {
            if !self.redo.is_empty() && !self.pieces_out.is_empty() {
                return;
            }
            let first = match self.redo.is_empty() {
                true => {
                    self.piece = self.piece.wrapping_add(1);
                    self.piece.wrapping_sub(1)
                }
                false => self.redo.remove(0),
            };
            let len = 1 + rng.below(5000) as usize;
            let room = if rng.chance(10) { 0 } else { len };
            self.pieces_out.push_back((tag, first));
            self.stream.compress(vec![first; len].into(), Buf::zeroed(room), Flush::None)
        } else {
            let len = rng.below(10_000) as usize;
            mover.copy(vec![tag as u8; len].into(), Buf::zeroed(len))
        };
        let out = [identity(&request.src), identity(&request.dst)];
        let within = rng.chance(10).then(|| rng.below(40_000));
        let pushed = match within {
            Some(ns) => self.instance.push_within(Duration::from_nanos(ns), request.tag(tag)),
            None => self.instance.push(request.tag(tag)),
        };
        if let Err(Full(mut request)) = pushed {
            assert!(!streaming && self.instance.free() == 0);
            if let Some(Carried::Flow(flow)) = request.carried.take().map(|carried| *carried) {
                self.flow = Some(flow);
            }
        } else {
            self.expected.push(Some(out));
            self.until.push(within.map(|ns| now + ns));
            self.cancelled.push(false);
        }
    }

    /// A piece of the flow ran once, or not at all; where it was lost, nobody knows, and the flow begins anew.
    fn take_scan(&mut self, result: &Result<Done, OpError>, mut flow: Vec<u8>) {
        match result {
            Ok(_) => {
                self.flow_state = self.flow_state.wrapping_add(1);
                assert_eq!(flow, [self.flow_state], "a piece ran once");
            }
            Err(OpError::Cancelled | OpError::Expired) => {
                assert_eq!(flow, [self.flow_state], "a piece that did not run");
            }
            Err(OpError::DeviceLost(Lost::Touched)) => {
                flow = vec![0];
                self.flow_state = 0;
            }
            Err(e) => panic!("scan: {e}"),
        }
        self.flow = Some(flow);
    }

    /// Keeps the pieces to push again in order; their numbers wrap.
    fn redo(&mut self, first: u8) {
        let later = |p: &u8| p.wrapping_sub(first) < 128;
        let at = self.redo.iter().position(later).unwrap_or(self.redo.len());
        self.redo.insert(at, first);
    }

    /// Cancels one of the last requests, if no device has begun with it.
    fn cancel(&mut self, rng: &mut Rng) {
        let back = 1 + rng.below(10) as usize;
        let Some(tag) = self.expected.len().checked_sub(back) else { return };
        let count = self.instance.cancel(tag as u64);
        assert!(count <= 1 && (count == 0 || self.expected[tag].is_some()));
        self.cancelled[tag] |= count == 1;
    }

    fn take(&mut self, mut r: Response, piece: Option<u8>, now: u64) {
        let tag = r.tag as usize;
        if self.cancelled[tag] {
            assert_eq!(r.result, Err(OpError::Cancelled), "cancelled, and it ran");
        }
        let out = self.expected[r.tag as usize].take().expect("answered twice");
        assert_eq!(out, [identity(&r.src), identity(&r.dst)], "other buffers came back");
        self.answered += 1;
        if let Some(flow) = r.take_flow() {
            assert_eq!(r.tag, self.flow_tag);
            self.take_scan(&r.result, flow);
            if r.result == Err(OpError::Expired) {
                assert!(self.until[tag].is_some_and(|until| until <= now), "expired too early");
            }
            return;
        }
        match (piece, r.result) {
            (Some(first), Ok(done)) if done.status == Status::Overflow => self.redo(first),
            (Some(first), Err(OpError::Cancelled)) => self.redo(first),
            (piece, Err(OpError::Expired)) => {
                assert!(self.until[tag].is_some_and(|until| until <= now), "expired too early");
                piece.into_iter().for_each(|first| self.redo(first));
            }
            (None, Err(OpError::Cancelled)) => assert!(self.cancelled[tag]),
            // The device itself checks that pieces arrive in order, none behind an overflow.
            (Some(_), Ok(_)) => {}
            // A lost stream is lost; the test gives it a device that loses nothing.
            (Some(_), Err(e)) => panic!("stream: {e}"),
            (None, Ok(done)) => {
                assert_eq!(done.produced, r.src.len());
                assert_eq!(r.dst.as_slice(), r.src.as_slice());
            }
            (None, Err(e)) => panic!("copy: {e}"),
        }
    }

    fn poll(&mut self, now: u64) {
        let responses: Vec<_> = self.instance.poll().collect();
        for r in responses {
            let at = self.pieces_out.iter().position(|(tag, _)| *tag == r.tag);
            let piece = at.map(|at| {
                assert_eq!(at, 0, "a stream's responses out of order");
                self.pieces_out.pop_front().map_or(0, |(_, first)| first)
            });
            self.take(r, piece, now);
        }
    }
}

/// There was no memory to open the instance anew: the request comes back, with these buffers.
fn is_lost(instance: &mut Instance, out: [(usize, usize); 2]) {
    assert!(matches!(instance.lost(), Some(SetupError::NoMemory { .. })));
    let response = instance.poll().next().unwrap();
    assert_eq!(response.result, Err(OpError::DeviceLost(Lost::Untouched)));
    assert_eq!(out, [identity(&response.src), identity(&response.dst)]);
    assert_eq!((instance.poll().count(), instance.outstanding()), (0, 0));
}

/// What is simulated, in one process.
struct World {
    rng: Rng,
    clock: VirtualClock,
    runtime: Runtime,
    engines: Vec<Engine>,
    mover: Mover,
    // Not dropped when an assertion fails: an instance waits for its requests, and nobody would
    // step the engines.
    clients: ManuallyDrop<Vec<Client>>,
}

impl World {
    fn new(seed: u64) -> World {
        let mut rng = Rng::new(seed);
        let clock = VirtualClock::new();
        let faults = Faults {
            busy: rng.below(60) as u32,
            lost: rng.below(30) as u32,
            half: rng.below(10) as u32,
            undelivered: rng.below(10) as u32,
            late: rng.below(70) as u32,
            reorder: rng.below(100) as u32,
            vanish_after: if rng.chance(30) { 1 + rng.below(100) } else { 0 },
            hang_after: if rng.chance(30) { 1 + rng.below(60) } else { 0 },
        };
        let batch = |rng: &mut Rng| 1 + rng.below(16) as usize;
        let card = SimDevice::new("card", rng.below(300), batch(&mut rng));
        let cpu = SimDevice::new("cpu", rng.below(300), batch(&mut rng));
        let Faults { busy, late, reorder, .. } = faults;
        let steady = Faults { busy, late, reorder, ..Faults::default() };
        let entry = |device: &str, min_bytes| RouteEntry {
            device: device.into(),
            min_bytes,
            why: "simulation".into(),
        };
        let threshold = rng.below(4000) as usize;
        let (runtime, engines) = Runtime::builder()
            .device(FaultDevice::new(card, faults, seed).timeout_ns(3_000_000))
            .device(FaultDevice::new(cpu, steady, seed ^ 1))
            .engines(1 + rng.below(3) as usize)
            .clock(std::sync::Arc::new(clock.clone()))
            .route(Route { op: Op::Copy, entries: vec![entry("card", threshold), entry("cpu", 0)] })
            .route(Route { op: Op::Compress, entries: vec![entry("cpu", 0)] })
            .route(Route { op: Op::Scan, entries: vec![entry("card", threshold), entry("cpu", 0)] })
            .start_stepped()
            .unwrap();
        let mover = runtime.mover().unwrap();
        let clients = ManuallyDrop::new(Vec::new());
        World { rng, clock, runtime, engines, mover, clients }
    }

    /// Opens an instance, for which there may be `too_little` memory.
    fn open(&mut self, too_little: bool) {
        let rng = &mut self.rng;
        let peak = if rng.chance(50) { 0 } else { 1_000_000 + rng.below(1 << 30) };
        let committed = if rng.chance(50) { 0 } else { rng.below(peak.max(1 << 28)) };
        let committed = if peak == 0 { committed } else { committed.min(peak) };
        let unit = [Unit::Bytes, Unit::Operations, Unit::DeviceTime][rng.below(3) as usize];
        let sla = rng.chance(40).then(|| Sla::of(unit, committed, peak, 10_000));
        let depth = 1 + rng.below(40) as usize;
        let (weight, slas) = (1 + rng.below(9) as u32, sla.into_iter().collect());
        let priority = match rng.below(6) {
            0 => Priority::High,
            1 => Priority::Background,
            _ => Priority::Normal,
        };
        let spill = if rng.chance(30) { rng.below(40) as usize } else { 0 };
        let config = InstanceConfig { depth, spill, weight, priority, slas };
        let refused = if too_little { 100 } else { 0 };
        // Sometimes of a tenant that has one.
        let other = self.clients.last().filter(|_| rng.chance(30)).map(|c| &c.instance);
        let open = || match other {
            Some(other) => other.another(),
            None => self.runtime.instance(config),
        };
        match scarce(refused, 0, open) {
            Ok(instance) if !too_little => {
                self.clients.push(Client::new(&self.runtime, instance));
            }
            Ok(_) => panic!("an instance without memory"),
            Err(e) => assert!(too_little && matches!(e, SetupError::NoMemory { .. }), "{e}"),
        }
    }

    /// So many steps of clients, engines and time.
    fn go_on(&mut self, steps: usize) {
        let World { rng, clock, engines, mover, clients, .. } = self;
        for _ in 0..steps {
            let i = rng.below(clients.len() as u64) as usize;
            match rng.below(11) {
                0..=3 => {
                    for _ in 0..1 + rng.below(8) {
                        clients[i].push(rng, mover, clock.now_ns());
                    }
                }
                4..=5 => _ = clients[i].instance.doorbell(),
                6 => clients[i].poll(clock.now_ns()),
                7 => clients[i].cancel(rng),
                _ => {
                    let e = rng.below(engines.len() as u64) as usize;
                    engines[e].step(clock.now_ns());
                }
            }
            clock.advance(rng.below(20_000));
            for c in clients.iter() {
                assert!(c.instance.outstanding() + c.instance.free() < 40 + 40);
            }
        }
    }

    /// To the end: within a bounded virtual time, whatever the faults. The least peak rate is 1 ms of device time a second,
    /// and 100 requests may take a second of it.
    fn end(&mut self) {
        let World { clock, engines, clients, .. } = self;
        let mut rounds = 0;
        while clients.iter().any(|c| c.instance.outstanding() > 0) {
            rounds += 1;
            assert!(rounds < 20_000_000, "requests are never answered");
            for c in clients.iter_mut() {
                c.poll(clock.now_ns());
            }
            for e in &mut *engines {
                let step = e.step(clock.now_ns());
                if !step.progress {
                    clock.advance(20_000);
                }
            }
        }
        for c in std::mem::take(&mut **clients) {
            assert!(c.expected.iter().all(Option::is_none));
            assert_eq!(c.answered, c.expected.len());
        }
    }

    /// In a child of a fork: what is outstanding is the parent's, and all that is pushed from here on is
    /// answered here, by engines of this process, or is lost where there was no memory for rings or engines.
    fn begin_anew(&mut self) {
        let too_little = self.rng.chance(20);
        let made = scarce(if too_little { 100 } else { 0 }, 0, || self.runtime.take_engines());
        assert_eq!(made.is_err(), too_little);
        let parents = std::mem::replace(&mut self.engines, made.unwrap_or_default());
        std::mem::forget(parents);
        if too_little {
            for client in self.clients.iter_mut() {
                let request = self.mover.copy(vec![7; 9].into(), Buf::zeroed(9));
                let out = [identity(&request.src), identity(&request.dst)];
                client.instance.push(request).unwrap();
                is_lost(&mut client.instance, out);
                assert!(client.instance.another().is_err());
            }
            self.clients.clear();
            return;
        }
        for client in self.clients.iter_mut() {
            let (depth, instance) = (client.instance.free(), &mut client.instance);
            // The first call opens it anew.
            let refused = if self.rng.chance(30) { 100 } else { 0 };
            assert_eq!(instance.outstanding(), 0);
            assert_eq!(scarce(refused, 0, || instance.poll().count()), 0);
            let fresh = Client::new(&self.runtime, instance.another().unwrap());
            assert_eq!(depth, fresh.instance.free());
            // Its own stream may wait for a piece that runs in the parent.
            let request = self.mover.copy(vec![7; 9].into(), Buf::zeroed(9)).tag(1);
            let out = [identity(&request.src), identity(&request.dst)];
            instance.push(request).unwrap();
            if refused > 0 {
                is_lost(instance, out);
                *client = fresh;
            } else {
                assert_eq!((instance.lost(), instance.outstanding()), (None, 1));
                let kept = std::mem::replace(client, fresh);
                client.instance = kept.instance;
                client.expected = vec![None, Some(out)];
                (client.until, client.cancelled) = (vec![None; 2], vec![false; 2]);
                client.answered = 1;
            }
        }
    }
}

fn run(seed: u64) {
    let mut world = World::new(seed);
    for _ in 0..1 + world.rng.below(4) {
        world.open(false);
    }
    // In the middle, another instance: there may be no memory for it.
    let middle = 1 + world.rng.below(199) as usize;
    world.go_on(middle);
    let too_little = world.rng.chance(50);
    world.open(too_little);
    // Forks take as long as many steps.
    if world.rng.chance(10) {
        let good = in_child(|| {
            world.begin_anew();
            // Without clients, nothing goes on.
            world.go_on(if world.clients.is_empty() { 0 } else { 60 });
            world.end();
            true
        });
        assert!(good, "a child");
    }
    world.go_on(200 - middle);
    world.end();
}

#[test]
fn every_request_is_answered_exactly_once() {
    each_seed(1, run);
}

/// Runs clients that always have requests outstanding for 1 s of virtual time on one engine, on
/// a device that copies about 1 GB/s; their sources have these first bytes. Returns the bytes of each.
fn saturate(configs: Vec<(InstanceConfig, u8)>, size: usize) -> Vec<u64> {
    let clock = VirtualClock::new();
    let device = SimDevice::new("cpu", 1000, 4);
    let (runtime, mut engines): (Runtime, Vec<Engine>) = Runtime::builder()
        .device(device)
        .engines(1)
        .clock(std::sync::Arc::new(clock.clone()))
        .start_stepped()
        .unwrap();
    let mover = runtime.mover().unwrap();
    let mut clients: Vec<(Instance, u8, u64)> = configs
        .into_iter()
        .map(|(config, byte)| (runtime.instance(config).unwrap(), byte, 0))
        .collect();
    while clock.now_ns() < 1_000_000_000 {
        for (instance, byte, bytes) in &mut clients {
            while instance.free() > 0 {
                let src = Buf::from(vec![*byte; size]);
                instance.push(mover.copy(src, Buf::zeroed(size))).unwrap();
            }
            instance.doorbell();
            *bytes += instance.poll().map(|r| r.result.unwrap().consumed as u64).sum::<u64>();
        }
        let step = engines[0].step(clock.now_ns());
        if !step.progress {
            clock.advance(2_000);
        }
    }
    while clients.iter().any(|(instance, ..)| instance.outstanding() > 0) {
        clients.iter_mut().for_each(|(instance, ..)| _ = instance.poll().count());
        engines[0].step(clock.now_ns());
        clock.advance(2_000);
    }
    clients.into_iter().map(|(.., bytes)| bytes).collect()
}

#[test]
fn shares_and_rates_are_what_was_promised() {
    let config = |weight, slas: &[Sla]| {
        let slas = slas.to_vec();
        (InstanceConfig { depth: 16, weight, slas, ..InstanceConfig::default() }, 0)
    };
    let got = saturate(vec![config(1, &[]), config(3, &[])], 8192);
    let ratio = got[1] as f64 / got[0] as f64;
    assert!((2.85..3.15).contains(&ratio), "{got:?}");

    let committed = Sla::new(600_000_000, 0, 8192);
    let peak = Sla::new(0, 50_000_000, 8192);
    let got =
        saturate(vec![config(1, &[committed]), config(1000, &[]), config(1000, &[peak])], 8192);
    assert!(got[0] as f64 > 0.97 * 600e6, "{got:?}");
    assert!((48e6..51e6).contains(&(got[2] as f64)), "{got:?}");
    assert!(got[1] as f64 > 250e6, "what is left goes to the third: {got:?}");
}

/// Weights divide device time, not bytes: beside requests that take a hundred times as long as their
/// size lets expect, in one class with the others, everybody keeps an equal share.
#[test]
fn tenants_share_device_time_whatever_their_requests_contain() {
    let config = |slow| {
        let config = InstanceConfig { depth: 16, ..InstanceConfig::default() };
        (config, if slow { SLOW } else { 0 })
    };
    let got = saturate((0..12).map(|i| config(i % 4 == 0)).collect(), 1024);
    let times = got.iter().enumerate().map(|(i, n)| if i % 4 == 0 { 100 * n } else { *n });
    let times: Vec<f64> = times.map(|t| t as f64).collect();
    let equal = times.iter().sum::<f64>() / 12.0;
    assert!(times.iter().all(|t| t / equal > 0.9), "{got:?}");
}
