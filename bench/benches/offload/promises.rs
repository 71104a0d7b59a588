//! Whether promises hold: 12 tenants of five services, each with a committed and a peak rate, under the
//! floods of all others; and what a tenant within its promise waits, beside what it waits alone.

use std::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Auth, Buf, Carried, ChainOrder, Cipher, Compression, Hash, Instance, InstanceConfig, Packet,
    Request, Response, RsaScheme, Runtime, Service, Sla, Span, Unit, Xml,
    scan::{Expression, Mode},
};
use lookaside_cpu::cpu;

use crate::tenants::{rsa_key, text};

/// What a tenant asks for, again and again.
struct Kind {
    name: &'static str,
    service: Service,
    /// What a promise counts, and how much of it a request is.
    unit: Unit,
    each: u64,
    /// Requests of one batch.
    batch: u64,
    request: Box<dyn Fn(Option<Response>) -> Request + Send>,
}

fn deflate(runtime: &Runtime) -> Kind {
    const LEN: usize = 65_536;
    let session = runtime.compression(Compression::default()).expect("a session");
    let request = move |r: Option<Response>| {
        let fresh = || (text(LEN), Buf::zeroed(session.bound(LEN)));
        let (src, dst) = r.map_or_else(fresh, |r| (r.src, r.dst));
        session.compress(src, dst)
    };
    Kind {
        name: "DEFLATE level 1, 64 KB",
        service: Service::Dc,
        unit: Unit::Bytes,
        each: LEN as u64,
        batch: 1,
        request: Box::new(request),
    }
}

fn rsa(runtime: &Runtime) -> Kind {
    let session = runtime.rsa_private(rsa_key(runtime)).expect("a key");
    let request = move |_: Option<Response>| {
        session.run(RsaScheme::Raw, Buf::from(vec![1; 256]), Buf::zeroed(256))
    };
    Kind {
        name: "RSA-2048, private, CRT",
        service: Service::Pke,
        unit: Unit::Operations,
        each: 1,
        batch: 8,
        request: Box::new(request),
    }
}

fn chained(runtime: &Runtime) -> Kind {
    const BURST: u32 = 32;
    let order = ChainOrder::CipherThenAuth;
    let session = runtime
        .chain((Cipher::AesCbc, &[7; 16]), (Auth::Hmac(Hash::Sha256), &[9; 32]), 16, order)
        .expect("a session");
    let request = move |r: Option<Response>| {
        let packet = |i: u32| {
            let text = Span::new(i * 1040, 1024);
            let tag = text.offset + text.len;
            Packet { iv: [1; 16].into(), cipher: text, auth: text, tag, ..Packet::default() }
        };
        let fresh = || {
            let packets: Vec<_> = (0..BURST).map(packet).collect();
            (Box::<Carried>::from(packets), Buf::zeroed(1040 * BURST as usize))
        };
        let (packets, dst) = match r {
            Some(Response { carried: Some(carried), dst, .. }) => (carried, dst),
            _ => fresh(),
        };
        session.seal(packets, Buf::empty(), dst)
    };
    Kind {
        name: "AES-128-CBC-HMAC-SHA256, 1 KB",
        service: Service::Sym,
        unit: Unit::Operations,
        each: u64::from(BURST),
        batch: 1,
        request: Box::new(request),
    }
}

fn scan(runtime: &Runtime) -> Kind {
    const LEN: usize = 16_384;
    let pattern = |id| Expression {
        id,
        text: format!("needle{id:03}[a-z]+").into(),
        ..Expression::default()
    };
    let patterns: Vec<_> = (0..500).map(pattern).collect();
    let scanner = runtime.scan(patterns, Mode::Block).expect("a set");
    let request = move |r: Option<Response>| {
        let fresh = || (text(LEN), Buf::zeroed(4096));
        let (src, dst) = r.map_or_else(fresh, |r| (r.src, r.dst));
        scanner.scan(src, dst)
    };
    Kind {
        name: "500 patterns, 16 KB",
        service: Service::Scan,
        unit: Unit::Bytes,
        each: LEN as u64,
        batch: 1,
        request: Box::new(request),
    }
}

fn xml(runtime: &Runtime) -> Kind {
    let row = |i| format!("<order id='{i}'><item>some text of {i}</item><n>{}</n></order>", i * 7);
    let text: String = (0..250).map(row).collect();
    let text = format!("<orders>{text}</orders>");
    let documents = runtime.xml(Xml::default()).expect("a session");
    let len = text.len();
    let request = move |r: Option<Response>| {
        let fresh = || (Buf::from(text.clone().into_bytes()), Buf::zeroed(16 * len));
        match r {
            Some(Response { carried: Some(carried), src, dst, .. }) => {
                // Each has a document of its own, whose names it reuses.
                let Carried::Document(document) = &*carried else { unreachable!("it was sent") };
                documents.parse(document, src, dst)
            }
            _ => {
                let (src, dst) = fresh();
                documents.parse(&documents.document().expect("a document"), src, dst)
            }
        }
    };
    Kind {
        name: "XML to events, 18 KB",
        service: Service::Xml,
        unit: Unit::Bytes,
        each: len as u64,
        batch: 1,
        request: Box::new(request),
    }
}

fn kinds(runtime: &Runtime) -> Vec<Kind> {
    [rsa, deflate, chained, scan, xml].map(|kind| kind(runtime)).into()
}

/// What a tenant is promised, in requests a second.
#[derive(Clone, Copy)]
struct Promise {
    weight: u32,
    committed: f64,
    peak: f64,
}

struct Tenant {
    kind: Kind,
    promise: Promise,
    instance: Instance,
    answered: u64,
}

const DEPTH: usize = 64;

impl Tenant {
    fn new(runtime: &Runtime, kind: Kind, promise: Promise) -> Tenant {
        let rate = |per_s: f64| (per_s * kind.each as f64) as u64;
        let (committed, peak) = (rate(promise.committed), rate(promise.peak));
        let mut sla = Sla::of(kind.unit, committed, peak, kind.each * kind.batch);
        // An engine may be held up by the system for some milliseconds.
        sla.burst += committed.max(peak) / 50;
        let slas = vec![sla.for_service(kind.service)];
        let config =
            InstanceConfig { depth: DEPTH, weight: promise.weight, slas, ..Default::default() };
        let instance = runtime.instance(config).expect("an instance");
        Tenant { kind, promise, instance, answered: 0 }
    }

    fn without(runtime: &Runtime, kind: Kind) -> Tenant {
        let config = InstanceConfig { depth: DEPTH, ..Default::default() };
        let instance = runtime.instance(config).expect("an instance");
        let promise = Promise { weight: 1, committed: 0.0, peak: 0.0 };
        Tenant { kind, promise, instance, answered: 0 }
    }

    fn fill(&mut self) {
        while self.instance.free() > 0 {
            self.instance.push((self.kind.request)(None)).expect("there is room");
        }
        self.instance.doorbell();
    }

    /// Takes what is answered and sends as much again. Returns whether there was something.
    fn turn(&mut self) -> bool {
        let responses: Vec<_> = self.instance.poll().collect();
        let some = !responses.is_empty();
        for r in responses {
            assert!(r.result.is_ok(), "{}: {:?}", self.kind.name, r.result);
            self.answered += 1;
            self.instance.push((self.kind.request)(Some(r))).expect("there is room");
        }
        self.instance.doorbell();
        some
    }

    fn drain(&mut self) {
        while self.instance.wait(Duration::from_secs(60)) {
            self.instance.poll().for_each(drop);
        }
    }
}

/// Keeps all of them busy until `end` says so.
fn flood(tenants: &mut [Tenant], mut end: impl FnMut(&[Tenant]) -> bool) {
    tenants.iter_mut().for_each(Tenant::fill);
    while !end(tenants) {
        let mut any = false;
        for tenant in tenants.iter_mut() {
            any |= tenant.turn();
        }
        if !any {
            thread::sleep(Duration::from_micros(50));
        }
    }
}

/// Requests a second of a kind that has the device for itself.
fn alone(runtime: &Runtime, kind: Kind, time: Duration) -> f64 {
    let mut tenant = [Tenant::without(runtime, kind)];
    let mut warm = Instant::now();
    flood(&mut tenant, |_| warm.elapsed() > time / 4);
    let before = tenant[0].answered;
    warm = Instant::now();
    flood(&mut tenant, |_| warm.elapsed() > time);
    let rate = (tenant[0].answered - before) as f64 / warm.elapsed().as_secs_f64();
    tenant[0].drain();
    rate
}

/// The weights, parts of the device that are committed, of `COMMITTED` in all, and peaks over that.
const TERMS: [(u32, f64, f64); 12] = [
    (1, 6.0, 10.0),
    (2, 8.0, 10.0),
    (4, 5.0, 1.2),
    (1, 4.0, 10.0),
    (3, 9.0, 10.0),
    (2, 7.0, 1.2),
    (1, 3.0, 10.0),
    (5, 8.0, 10.0),
    (1, 2.0, 1.5),
    (2, 5.0, 10.0),
    (4, 6.0, 10.0),
    (8, 4.0, 1.2),
];
const COMMITTED: f64 = 0.5;

fn promises(rates: &[f64]) -> Vec<Promise> {
    let all: f64 = TERMS.iter().map(|t| t.1).sum();
    let promise = |(i, &(weight, part, peak)): (usize, &(u32, f64, f64))| {
        let committed = rates[i % rates.len()] * COMMITTED * part / all;
        Promise { weight, committed, peak: committed * peak }
    };
    TERMS.iter().enumerate().map(promise).collect()
}

fn engines() -> usize {
    // One CPU is the clients'.
    thread::available_parallelism().map_or(1, |n| n.get()).saturating_sub(1).max(1)
}

pub fn run(seconds: u64) {
    let engines = engines();
    let runtime = Runtime::builder().device(cpu()).engines(engines).start().expect("it starts");
    println!("\n12 tenants with promises, each floods, {engines} engines, {seconds} s;");
    println!(
        "requests a second, and of the device time beyond what is committed the part that its"
    );
    println!("weight lets expect (1 is exact; - where the peak holds it back)");
    let measured = |kind| alone(&runtime, kind, Duration::from_secs(1));
    let rates: Vec<f64> = kinds(&runtime).into_iter().map(measured).collect();
    let mut tenants: Vec<Tenant> = promises(&rates)
        .into_iter()
        .enumerate()
        .map(|(i, promise)| {
            Tenant::new(&runtime, kinds(&runtime).swap_remove(i % rates.len()), promise)
        })
        .collect();
    // Costs are learned first.
    let mut start = Instant::now();
    flood(&mut tenants, |_| start.elapsed() > Duration::from_secs(2));
    let taken = |t: &Tenant| t.instance.device_time().as_secs_f64();
    let before: Vec<(u64, f64)> = tenants.iter().map(|t| (t.answered, taken(t))).collect();
    start = Instant::now();
    flood(&mut tenants, |_| start.elapsed() > Duration::from_secs(seconds));
    let time = start.elapsed().as_secs_f64();
    struct Got {
        rate: f64,
        device: f64,
        rest: f64,
        held: bool,
    }
    let got: Vec<Got> = tenants
        .iter()
        .zip(&before)
        .map(|(t, &(answered, used))| {
            let (n, device) = ((t.answered - answered) as f64, taken(t) - used);
            let rate = n / time;
            let committed = (t.promise.committed / rate).min(1.0) * device;
            Got { rate, device, rest: device - committed, held: rate > 0.95 * t.promise.peak }
        })
        .collect();
    let free = || got.iter().zip(&tenants).filter(|(g, _)| !g.held);
    let weights: f64 = free().map(|(_, t)| f64::from(t.promise.weight)).sum();
    let rest: f64 = free().map(|(g, _)| g.rest).sum();
    let busy: f64 = got.iter().map(|g| g.device).sum();
    println!(
        "  {:<30} {:>6} {:>10} {:>7} {:>10} {:>7} {:>8} {:>6}",
        "", "weight", "committed", "got", "peak", "got", "engines", "rest"
    );
    for (g, t) in got.iter().zip(&tenants) {
        let p = t.promise;
        let fair = rest * f64::from(p.weight) / weights;
        let share = if g.held { "-".to_owned() } else { format!("{:.3}", g.rest / fair) };
        println!(
            "  {:<30} {:>6} {:>10.0} {:>6.0}% {:>10.0} {:>6.1}% {:>7.1}% {:>6}",
            t.kind.name,
            p.weight,
            p.committed,
            100.0 * g.rate / p.committed,
            p.peak,
            100.0 * g.rate / p.peak,
            100.0 * g.device / time / engines as f64,
            share
        );
    }
    println!("  all: {:.1} % of the engines' time", 100.0 * busy / time / engines as f64);
    tenants.iter_mut().for_each(Tenant::drain);
    drop(tenants);
    latency(&runtime, &rates, seconds);
}

/// Sends one request at a time, evenly, for `time`, at `rate` a second. Returns what each waited, in
/// microseconds.
fn paced(tenant: &mut Tenant, rate: f64, time: Duration) -> Vec<f64> {
    let (start, gap) = (Instant::now(), Duration::from_secs_f64(1.0 / rate));
    let (mut next, mut waited, mut last) = (start, Vec::new(), None);
    while start.elapsed() < time {
        let now = Instant::now();
        if now < next {
            thread::sleep(next - now);
        }
        let sent = Instant::now();
        tenant.instance.push((tenant.kind.request)(last.take())).expect("there is room");
        assert!(tenant.instance.wait(Duration::from_secs(60)));
        waited.push(sent.elapsed().as_secs_f64() * 1e6);
        last = tenant.instance.poll().next();
        next = (next + gap).max(Instant::now());
    }
    waited.sort_by(f64::total_cmp);
    waited
}

fn at(sorted: &[f64], q: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * q) as usize]
}

/// What a tenant that keeps to half of its promise waits, alone and beside 11 that flood.
fn latency(runtime: &Runtime, rates: &[f64], seconds: u64) {
    let time = Duration::from_secs((seconds / 6).max(2));
    // The longest request runs this long, a batch of RSA included.
    let batches = kinds(runtime);
    let longest = rates.iter().zip(&batches).map(|(rate, kind)| kind.batch as f64 * 1e6 / rate);
    let longest = longest.fold(0.0, f64::max) * engines() as f64;
    println!(
        "\na tenant that sends half of what is committed to it, one at a time, beside 11 floods;"
    );
    println!("microseconds; the longest request, or batch, takes {longest:.0}");
    println!(
        "  {:<30} {:>9} {:>9} {:>9} {:>9} {:>22}",
        "", "alone p50", "p99", "beside p50", "p99", "of 3 x alone + longest"
    );
    for k in 0..rates.len() {
        let promises = promises(rates);
        let kind = |i: usize| kinds(runtime).swap_remove(i % rates.len());
        let mut one = Tenant::new(runtime, kind(k), promises[k]);
        // A pace that a sleeping thread can keep.
        let rate = (promises[k].committed / 2.0).min(1000.0);
        let lone = paced(&mut one, rate, time);
        let mut others: Vec<Tenant> = (0..12)
            .filter(|i| *i != k)
            .map(|i| Tenant::new(runtime, kind(i), promises[i]))
            .collect();
        let stop = AtomicBool::new(false);
        let beside = thread::scope(|s| {
            let floods = s.spawn(|| {
                flood(&mut others, |_| stop.load(Relaxed));
                others.iter_mut().for_each(Tenant::drain);
            });
            thread::sleep(Duration::from_millis(500));
            let beside = paced(&mut one, rate, time);
            stop.store(true, Relaxed);
            floods.join().expect("the floods end");
            beside
        });
        let most = 3.0 * at(&lone, 0.99) + longest;
        println!(
            "  {:<30} {:>9.0} {:>9.0} {:>9.0} {:>9.0} {:>21.2} ({} requests)",
            one.kind.name,
            at(&lone, 0.5),
            at(&lone, 0.99),
            at(&beside, 0.5),
            at(&beside, 0.99),
            at(&beside, 0.99) / most,
            beside.len()
        );
    }
}
