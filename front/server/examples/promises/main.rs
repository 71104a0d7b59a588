//! Whether a server keeps its promises: twelve virtual functions of four kinds of requests, each with a weight, a committed
//! and a peak rate, each flooded by a client; then what a client within its promise waits, beside what it waits alone; then
//! rates over time as clients come and go, which `--plot FILE.svg` draws.
//!
//! ```text
//! cargo run --release -p lookaside-server --example promises [SECONDS] [--plot FILE.svg]
//! ```
//!
//! Server and clients are threads of this process. Rates are device time, so a machine that is busy otherwise changes what
//! requests take, not who gets which part. What they take is measured first, with all clients at work.

mod chart;
mod kinds;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use lookaside::{Instance, InstanceConfig, Response, Runtime};
use lookaside_server::{Config, FunctionConfig, Server};
use lookaside_shared::{Policy, Settings, SharedDevice};
use lookaside_shares::{Admission, Capacity, Measure, Rate};

use crate::{
    chart::{Chart, Series},
    kinds::{KINDS, Kind},
};

/// Weight, the part of the engines that is committed, of [`COMMITTED`] in all, and the peak over that.
const TERMS: [(u32, f64, f64); 12] = [
    (1, 6.0, 20.0),
    (2, 8.0, 20.0),
    (4, 5.0, 1.2),
    (1, 4.0, 20.0),
    (3, 9.0, 20.0),
    (2, 7.0, 1.2),
    (1, 3.0, 20.0),
    (5, 8.0, 20.0),
    (1, 2.0, 1.5),
    (2, 5.0, 20.0),
    (1, 6.0, 20.0),
    (8, 4.0, 1.2),
];
const COMMITTED: f64 = 0.5;

/// A function of the server, and what is known of it.
#[derive(Clone)]
struct Function {
    config: FunctionConfig,
    kind: Kind,
    /// Nanoseconds of engines in a second; 0: none.
    committed: f64,
    peak: f64,
}

impl Function {
    /// Without rates, to measure what requests take.
    fn plain(i: usize) -> Function {
        let kind = KINDS[i % KINDS.len()];
        let mut config = FunctionConfig::new(format!("vf{i:02}"));
        config.services = vec![kind.measure().service()];
        (config.depth, config.arena) = (kind.depth(), 32 << 20);
        config.weight = TERMS[i].0;
        Function { config, kind, committed: 0.0, peak: 0.0 }
    }

    /// With these parts of all engines: committed and, unless it is 0, peak.
    fn promised(i: usize, capacity: Capacity, committed: f64, peak: f64) -> Function {
        let mut function = Function::plain(i);
        let measure = function.kind.measure();
        let total = capacity.total(measure).expect("it was measured").per_s as f64;
        let rate = |part: f64| Rate { measure, per_s: (total * part) as u64 };
        function.config.committed = vec![rate(committed)];
        function.config.peak = if peak > 0.0 { vec![rate(peak)] } else { Vec::new() };
        let sla = Admission::new(capacity).config(&function.config.promises()).slas.remove(0);
        (function.committed, function.peak) = (sla.committed_per_s as f64, sla.peak_per_s as f64);
        function
    }
}

struct Machine {
    server: Server,
    folder: PathBuf,
}

impl Machine {
    fn new(functions: &[Function], capacity: Option<Capacity>) -> Machine {
        let folder =
            std::env::temp_dir().join(format!("lookaside-promises-{}", std::process::id()));
        let mut config = Config::new(&folder);
        config.engines = Some(ENGINES);
        config.functions = functions.iter().map(|function| function.config.clone()).collect();
        config.capacity = capacity;
        Machine { server: Server::start(&config).expect("a server"), folder }
    }

    fn device_s(&self, function: &Function) -> f64 {
        self.server.device_time(&function.config.name).expect("a function").as_secs_f64()
    }

    fn client(&self, function: &Function) -> Client {
        let path = self.server.socket(&function.config.name).expect("a socket");
        let device = SharedDevice::new(Settings { policy: Policy::Fail, ..Settings::new(path) });
        let builder = Runtime::builder().device(device.expect("a client"));
        let runtime = builder.engines(0).start().expect("a runtime");
        let depth = function.kind.depth() as usize;
        let instance = runtime.instance(InstanceConfig { depth, ..InstanceConfig::default() });
        let request = function.kind.requests(&runtime);
        Client { kind: function.kind, instance: instance.expect("an instance"), request }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.folder);
    }
}

/// The server's engines. The engine for commitments comes beside them.
const ENGINES: usize = 1;

struct Client {
    kind: Kind,
    instance: Instance,
    request: kinds::Requests,
}

impl Client {
    fn push(&mut self, before: Option<Response>) {
        self.instance.push((self.request)(before)).expect("there is room");
    }

    fn check(&self, response: &Response) {
        assert!(response.result.is_ok(), "{}: {:?}", self.kind.name(), response.result);
    }

    /// Keeps its ring full while it is wanted.
    fn flood(&mut self, shown: &Shown) {
        while !shown.stop.load(Relaxed) {
            while self.instance.free() > 0 {
                self.push(None);
            }
            while shown.active.load(Relaxed) {
                self.instance.doorbell();
                self.instance.wait(Duration::from_millis(20));
                let responses: Vec<_> = self.instance.poll().collect();
                shown.turns.fetch_add(u64::from(!responses.is_empty()), Relaxed);
                let all = self.instance.outstanding() == 0;
                shown.dry.fetch_add(u64::from(all && !responses.is_empty()), Relaxed);
                shown.answered.fetch_add(responses.len() as u64, Relaxed);
                for response in responses {
                    self.check(&response);
                    self.push(Some(response));
                }
            }
            self.drain();
            while !shown.active.load(Relaxed) && !shown.stop.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
        }
    }

    fn drain(&mut self) {
        while self.instance.wait(Duration::from_secs(60)) {
            self.instance.poll().for_each(drop);
        }
    }

    /// One request at a time, at `rate` a second, for `time`: what each waited, in microseconds, sorted.
    fn paced(&mut self, rate: f64, time: Duration) -> Vec<f64> {
        let (start, gap) = (Instant::now(), Duration::from_secs_f64(1.0 / rate));
        let (mut next, mut waited, mut last) = (start, Vec::new(), None);
        while start.elapsed() < time {
            thread::sleep(next.saturating_duration_since(Instant::now()));
            let sent = Instant::now();
            self.push(last.take());
            assert!(self.instance.wait(Duration::from_secs(60)), "an answer");
            waited.push(sent.elapsed().as_secs_f64() * 1e6);
            last = self.instance.poll().next();
            self.check(last.as_ref().expect("the answer"));
            next = (next + gap).max(Instant::now());
        }
        waited.sort_by(f64::total_cmp);
        waited
    }
}

/// What a client's thread counts, and the flags by which it starts and stops.
#[derive(Default)]
struct Shown {
    active: AtomicBool,
    stop: AtomicBool,
    answered: AtomicU64,
    /// How often it looked and found answers, and how often all that it had sent was answered.
    turns: AtomicU64,
    dry: AtomicU64,
}

/// A flood's thread.
struct Flood {
    shown: Arc<Shown>,
    thread: Option<JoinHandle<()>>,
}

impl Flood {
    fn new(mut client: Client, active: bool) -> Flood {
        let shown = Arc::new(Shown { active: active.into(), ..Shown::default() });
        let its = shown.clone();
        let thread = thread::spawn(move || {
            while !its.active.load(Relaxed) && !its.stop.load(Relaxed) {
                thread::sleep(Duration::from_millis(1));
            }
            client.flood(&its);
        });
        Flood { shown, thread: Some(thread) }
    }
}

impl Drop for Flood {
    fn drop(&mut self) {
        self.shown.stop.store(true, Relaxed);
        self.shown.active.store(false, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().expect("a client's thread");
        }
    }
}

/// What each has got: device time in seconds, requests, looks, looks that found it dry, device time by commitments.
fn got(machine: &Machine, functions: &[Function], floods: &[Flood]) -> Vec<[f64; 5]> {
    let count = |n: &AtomicU64| n.load(Relaxed) as f64;
    let one = |(function, Flood { shown, .. }): (&Function, &Flood)| {
        let device = machine.device_s(function);
        let committed = machine.server.committed_time(&function.config.name).expect("a function");
        let counts = [&shown.answered, &shown.turns, &shown.dry].map(count);
        [device, counts[0], counts[1], counts[2], committed.as_secs_f64()]
    };
    functions.iter().zip(floods).map(one).collect()
}

/// What one request of each kind takes of an engine, in nanoseconds, with all clients at work.
fn costs() -> [f64; KINDS.len()] {
    let functions: Vec<Function> = (0..TERMS.len()).map(Function::plain).collect();
    let machine = Machine::new(&functions, None);
    let floods: Vec<Flood> =
        functions.iter().map(|f| Flood::new(machine.client(f), true)).collect();
    thread::sleep(Duration::from_secs(2));
    let before = got(&machine, &functions, &floods);
    thread::sleep(Duration::from_secs(4));
    let after = got(&machine, &functions, &floods);
    core::array::from_fn(|kind| {
        let of_kind = || (0..functions.len()).filter(|i| i % KINDS.len() == kind);
        let sum = |what: usize| of_kind().map(|i| after[i][what] - before[i][what]).sum::<f64>();
        1e9 * sum(0) / sum(1)
    })
}

fn capacity(costs: &[f64; KINDS.len()]) -> Capacity {
    KINDS.iter().zip(costs).fold(Capacity::new(ENGINES as u32), |capacity, (kind, &ns)| {
        let Some(units) = kind.reference_units() else { return capacity };
        let known = capacity.total(kind.measure()).is_some();
        if known { capacity } else { capacity.cost(kind.measure(), ns / units) }
    })
}

fn promised(capacity: Capacity) -> Vec<Function> {
    let all: f64 = TERMS.iter().map(|t| t.1).sum();
    let one = |(i, &(_, part, peak)): (usize, &(u32, f64, f64))| {
        let committed = COMMITTED * part / all;
        // A peak beyond the machine is none.
        let peak = if peak * committed < 1.0 { peak * committed } else { 0.0 };
        Function::promised(i, capacity, committed, peak)
    };
    TERMS.iter().enumerate().map(one).collect()
}

fn floods(capacity: Capacity, costs: &[f64; KINDS.len()], time: Duration) {
    let functions = promised(capacity);
    let machine = Machine::new(&functions, Some(capacity));
    let floods: Vec<Flood> =
        functions.iter().map(|f| Flood::new(machine.client(f), true)).collect();
    thread::sleep(Duration::from_secs(2));
    let (before, start) = (got(&machine, &functions, &floods), Instant::now());
    thread::sleep(time);
    let (after, time) = (got(&machine, &functions, &floods), start.elapsed().as_secs_f64());
    drop(floods);
    let device = |i: usize| (after[i][0] - before[i][0]) / time;
    let held = |i: usize| functions[i].peak > 0.0 && device(i) > 0.95e-9 * functions[i].peak;
    let rest = |i: usize| device(i) - (after[i][4] - before[i][4]) / time;
    let weight = |i: usize| f64::from(functions[i].config.weight);
    let free: Vec<usize> = (0..functions.len()).filter(|&i| !held(i)).collect();
    let fair =
        free.iter().map(|&i| rest(i)).sum::<f64>() / free.iter().map(|&i| weight(i)).sum::<f64>();
    println!(
        "| function | weight | committed, of an engine | got | of its peak | rest by weight | requests a second | as promised | dry |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for (i, function) in functions.iter().enumerate() {
        let (committed, peak) = (function.committed / 1e9, function.peak / 1e9);
        let requests = (after[i][1] - before[i][1]) / time;
        let promised = function.committed / costs[i % KINDS.len()];
        let dry = (after[i][3] - before[i][3]) / (after[i][2] - before[i][2]).max(1.0);
        println!(
            "| {} | {} | {:.1} % | {:.0} % | {} | {} | {requests:.0} | {:.0} % | {:.1} % |",
            function.kind.name(),
            weight(i),
            100.0 * committed,
            100.0 * device(i) / committed,
            if peak > 0.0 { format!("{:.1} %", 100.0 * device(i) / peak) } else { "none".into() },
            if held(i) { "-".into() } else { format!("{:.3}", rest(i) / (fair * weight(i))) },
            100.0 * requests / promised,
            100.0 * dry,
        );
    }
    let all: f64 = (0..functions.len()).map(device).sum();
    println!("\nAll of them: {:.2} seconds of engines a second.", all);
}

fn at(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q) as usize]
}

/// What a client that keeps to half of its promise waits, alone and beside eleven floods.
fn latencies(capacity: Capacity, costs: &[f64; KINDS.len()], time: Duration) {
    let functions = promised(capacity);
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start();
    let cpu = cpu.expect("a runtime");
    let longest = KINDS.iter().zip(costs).map(|(kind, ns)| kind.batch(&cpu) * ns / 1000.0);
    let longest = longest.fold(0.0, f64::max);
    println!(
        "\n| half of its promise, one at a time | alone: median | p99 | beside 11 floods: median | p99 | of 3 x alone + {longest:.0} us |"
    );
    println!("|---|---|---|---|---|---|");
    for (k, one) in functions.iter().enumerate().take(KINDS.len()) {
        let machine = Machine::new(&functions, Some(capacity));
        let mut client = machine.client(one);
        // Alone, a request of a batch takes several times its part of the batch.
        let rate = (one.committed / (costs[k] * one.kind.batch(&cpu)) / 2.0).min(1000.0);
        let alone = client.paced(rate, time);
        let others: Vec<Flood> = functions
            .iter()
            .enumerate()
            .filter(|(i, _)| *i != k)
            .map(|(_, f)| Flood::new(machine.client(f), true))
            .collect();
        thread::sleep(Duration::from_secs(1));
        let beside = client.paced(rate, time);
        drop(others);
        println!(
            "| {} | {:.0} us | {:.0} | {:.0} | {:.0} | {:.2} |",
            one.kind.name(),
            at(&alone, 0.5),
            at(&alone, 0.99),
            at(&beside, 0.5),
            at(&beside, 0.99),
            at(&beside, 0.99) / (3.0 * at(&alone, 0.99) + longest),
        );
    }
}

/// A function that comes and goes: which of [`TERMS`], the parts of the engine that are committed and its peak, and when
/// it is here, in seconds.
type Visit = (usize, f64, f64, &'static [(u64, u64)]);

const TIMES: [Visit; 4] = [
    (0, 0.30, 0.0, &[(0, 16), (20, 28)]),
    (1, 0.15, 0.0, &[(4, 24)]),
    (5, 0.10, 0.25, &[(8, 28)]),
    (7, 0.10, 0.0, &[(12, 20)]),
];
const END_S: u64 = 28;

/// Rates over time: device time of each in steps of half a second.
fn timeline(capacity: Capacity) -> Chart {
    const STEP: Duration = Duration::from_millis(500);
    let of = |&(i, committed, peak, _): &_| Function::promised(i, capacity, committed, peak);
    let functions: Vec<Function> = TIMES.iter().map(of).collect();
    let machine = Machine::new(&functions, Some(capacity));
    let floods: Vec<Flood> =
        functions.iter().map(|f| Flood::new(machine.client(f), false)).collect();
    let mut series: Vec<Series> = functions
        .iter()
        .zip(&TIMES)
        .map(|(function, (_, committed, peak, here))| Series {
            name: format!("{}, weight {}", function.kind.name(), function.config.weight),
            committed: 100.0 * committed,
            peak: (*peak > 0.0).then_some(100.0 * peak),
            here: here.iter().map(|&(from, to)| (from as f64, to as f64)).collect(),
            points: Vec::new(),
        })
        .collect();
    let start = Instant::now();
    let devices = || functions.iter().map(|f| machine.device_s(f)).collect::<Vec<_>>();
    let (mut before, mut last) = (devices(), start);
    for step in 1.. {
        let now = start.elapsed().as_secs_f64();
        for (flood, (.., here)) in floods.iter().zip(&TIMES) {
            let is_here =
                here.iter().any(|&(from, to)| (from as f64..to as f64).contains(&(now + 0.01)));
            flood.shown.active.store(is_here, Relaxed);
        }
        if now >= END_S as f64 {
            break;
        }
        thread::sleep((start + STEP * step).saturating_duration_since(Instant::now()));
        let (after, time) = (devices(), last.elapsed().as_secs_f64());
        let middle = start.elapsed().as_secs_f64() - time / 2.0;
        for ((one, after), before) in series.iter_mut().zip(&after).zip(&before) {
            one.points.push((middle, 100.0 * (after - before) / time));
        }
        (before, last) = (after, Instant::now());
    }
    Chart { end: END_S as f64, series }
}

fn main() {
    let mut args = std::env::args().skip(1);
    let (mut seconds, mut plot) = (60, None);
    while let Some(arg) = args.next() {
        match &*arg {
            "--plot" => plot = Some(args.next().expect("a file behind --plot")),
            number => seconds = number.parse().expect("seconds, or --plot FILE.svg"),
        }
    }
    let costs = costs();
    for (kind, ns) in KINDS.iter().zip(&costs) {
        println!("{}: {:.1} us", kind.name(), ns / 1000.0);
    }
    let capacity = capacity(&costs);
    for measure in [Measure::Rsa, Measure::Deflate, Measure::Chained] {
        println!("{}", capacity.total(measure).expect("it was measured").short());
    }
    println!();
    let time = Duration::from_secs(seconds);
    if seconds > 0 {
        floods(capacity, &costs, time);
        latencies(capacity, &costs, (time / 6).max(Duration::from_secs(2)));
    }
    if let Some(plot) = plot {
        let chart = timeline(capacity);
        std::fs::write(&plot, chart.svg()).expect("the file");
        println!("\n{plot}: device time of each function in percent of an engine");
    }
}
