//! What tenants get beside each other: equal shares of device time whatever they ask for, and a
//! committed rate's latency beside floods.

use std::time::{Duration, Instant};

use lookaside::{
    Aead, Buf, Carried, Compression, Format, Instance, InstanceConfig, Packet, Request, Response,
    RsaCrt, RsaPrivateKey, RsaScheme, Runtime, Sla, Span,
};
use lookaside_bench::median;
use lookaside_cpu::cpu;

/// A tenant: what it asks for, again and again.
struct Tenant {
    name: &'static str,
    /// A request; the buffers of an answered one are used again.
    request: Box<dyn Fn(Option<Response>) -> Request>,
    instance: Instance,
    answered: u64,
}

const DEPTH: usize = 16;

pub fn text(len: usize) -> Buf {
    lookaside_testkit::mixed(7, len).into()
}

/// A name, and what makes a request.
type Kind = (&'static str, Box<dyn Fn(Option<Response>) -> Request>);

pub fn rsa_key(runtime: &Runtime) -> RsaPrivateKey {
    const LEN: usize = 256;
    let e = vec![1, 0, 1];
    let session = runtime.rsa_generate(8 * LEN as u32).expect("RSA keys are made");
    let made = session.generate(Buf::from(&e[..]), Buf::zeroed(8 * LEN));
    let made = runtime.handle().call(made).wait().dst.into_vec();
    let half = |i: usize| made[2 * LEN + i * LEN / 2..][..LEN / 2].to_vec().into();
    let crt = RsaCrt { p: half(0), q: half(1), dp: half(2), dq: half(3), qinv: half(4) };
    let (n, d) = (made[..LEN].to_vec(), made[LEN..2 * LEN].to_vec());
    RsaPrivateKey { n, e, d: d.into(), crt: Some(crt) }
}

/// Requests of many kinds.
fn kinds(runtime: &Runtime) -> Vec<Kind> {
    let compress = |level, len: usize| {
        let spec = Compression { level, ..Compression::default() };
        let session = runtime.compression(spec).expect("a session");
        move |r: Option<Response>| {
            let (src, dst) =
                r.map_or_else(|| (text(len), Buf::zeroed(session.bound(len))), |r| (r.src, r.dst));
            session.compress(src, dst)
        }
    };
    let gzip = Compression { format: Format::Gzip, level: 9, ..Compression::default() };
    let session = runtime.compression(gzip).expect("a session");
    const BOMB: usize = 16 << 20;
    let zeros = session.compress(Buf::zeroed(BOMB), Buf::zeroed(session.bound(BOMB)));
    let bomb = runtime.handle().call(zeros).wait();
    let len = bomb.result.expect("zeros are compressed").produced;
    let bomb = bomb.dst.into_vec()[..len].to_vec();
    let bombs = move |r: Option<Response>| {
        let fresh = || (bomb.clone().into(), Buf::zeroed(BOMB));
        let (src, dst) = r.map_or_else(fresh, |r| (r.src, r.dst));
        session.decompress(src, dst)
    };
    let rsa = runtime.rsa_private(rsa_key(runtime)).expect("a key");
    let sign = move |_: Option<Response>| {
        rsa.run(RsaScheme::Raw, Buf::from(vec![1; 256]), Buf::zeroed(256))
    };
    let aead = runtime.aead(Aead::AesGcm, &[1; 16], 16).expect("a session");
    let bursts = move |r: Option<Response>| {
        let packet = |i: u32| Packet {
            iv: [1; 12].into(),
            cipher: Span::new(i * 1100, 1024),
            tag: i * 1100 + 1024,
            ..Packet::default()
        };
        let fresh = || {
            let packets: Vec<_> = (0..32).map(packet).collect();
            (Box::<Carried>::from(packets), Buf::zeroed(32 * 1100))
        };
        let (packets, dst) = match r {
            Some(Response { carried: Some(carried), dst, .. }) => (carried, dst),
            _ => fresh(),
        };
        aead.seal(packets, Buf::empty(), dst)
    };
    let mover = runtime.mover().expect("a mover");
    let fills = move |r: Option<Response>| {
        let fresh = || (Buf::from(vec![7]), Buf::zeroed(1 << 20));
        let (src, dst) = r.map_or_else(fresh, |r| (r.src, r.dst));
        mover.fill(src, dst)
    };
    vec![
        ("DEFLATE level 1, 64 KB", Box::new(compress(1, 65_536))),
        ("DEFLATE level 9, 64 KB", Box::new(compress(9, 65_536))),
        ("bombs of 16 MB", Box::new(bombs)),
        ("RSA-2048, private", Box::new(sign)),
        ("AES-GCM, bursts of 32 KB", Box::new(bursts)),
        ("fills of 1 MB", Box::new(fills)),
    ]
}

fn tenant(runtime: &Runtime, (name, request): Kind) -> Tenant {
    // A burst takes 10 us: with fewer of them the tenant would have nothing to send most of the time.
    let depth = if name.contains("bursts") { 32 * DEPTH } else { DEPTH };
    let config = InstanceConfig { depth, ..InstanceConfig::default() };
    let instance = runtime.instance(config).expect("an instance");
    Tenant { name, request, instance, answered: 0 }
}

/// Keeps all of them busy for a while. Returns how many requests of each were answered in a second,
/// and the device time that they took.
fn serve(tenants: &mut [Tenant], time: Duration) -> Vec<(f64, f64)> {
    let taken = |t: &Tenant| t.instance.device_time().as_secs_f64();
    let before: Vec<_> = tenants.iter().map(taken).collect();
    for t in tenants.iter_mut() {
        t.answered = 0;
        while t.instance.free() > 0 {
            t.instance.push((t.request)(None)).expect("there is room");
        }
        t.instance.doorbell();
    }
    let start = Instant::now();
    while start.elapsed() < time {
        let mut idle = true;
        for t in tenants.iter_mut() {
            let responses: Vec<_> = t.instance.poll().collect();
            for r in responses {
                assert!(r.result.is_ok(), "{}: {:?}", t.name, r.result);
                (idle, t.answered) = (false, t.answered + 1);
                t.instance.push((t.request)(Some(r))).expect("there is room");
            }
            t.instance.doorbell();
        }
        if idle {
            // The engines' cores are not ours.
            std::thread::sleep(Duration::from_micros(50));
        }
    }
    let seconds = start.elapsed().as_secs_f64();
    let got = |(t, before): (&Tenant, f64)| (t.answered as f64 / seconds, taken(t) - before);
    let got = tenants.iter().zip(before).map(got).collect();
    for t in tenants {
        while t.instance.wait(Duration::from_secs(60)) {
            assert!(t.instance.poll().count() > 0);
        }
    }
    got
}

pub fn run(rounds: usize) {
    let runtime =
        Runtime::builder().device(cpu()).engines(2).start().expect("the CPU device starts");
    println!(
        "\n12 tenants of equal weight, 2 engines: device time, 1 for an equal share; and what each"
    );
    println!("keeps of its rate alone, times 12 (caches and memory are not divided)");
    let mut alone: Vec<Tenant> =
        kinds(&runtime).into_iter().map(|kind| tenant(&runtime, kind)).collect();
    let mut twelve: Vec<Tenant> = [kinds(&runtime), kinds(&runtime)]
        .into_iter()
        .flatten()
        .map(|k| tenant(&runtime, k))
        .collect();
    let (mut shares, mut kept) = (vec![Vec::new(); alone.len()], vec![Vec::new(); alone.len()]);
    for _ in 0..rounds {
        let rates: Vec<f64> = alone
            .iter_mut()
            .map(|t| serve(std::slice::from_mut(t), Duration::from_millis(400))[0].0)
            .collect();
        let beside = serve(&mut twelve, Duration::from_secs(3));
        let all: f64 = beside.iter().map(|&(_, time)| time).sum();
        for (i, rate) in rates.iter().enumerate() {
            for (beside, time) in [beside[i], beside[i + rates.len()]] {
                shares[i].push(12.0 * time / all);
                kept[i].push(12.0 * beside / rate);
            }
        }
    }
    for ((t, kept), shares) in alone.iter().zip(&kept).zip(&shares) {
        println!("  {:<28} time {:.2}   rate {:.2}", t.name, median(shares), median(kept));
    }
    drop((alone, twelve));
    latency(&runtime);
}

/// A tenant with 10 MB/s committed sends 1 KB every half millisecond, beside two floods.
fn latency(runtime: &Runtime) {
    println!("\na committed tenant's copies of 1 KB beside two floods, 2 engines, microseconds");
    let mover = runtime.mover().expect("a mover");
    let long = |level| {
        let spec = Compression { level, ..Compression::default() };
        let session = runtime.compression(spec).expect("a session");
        move |r: Option<Response>| {
            let fresh = || (text(1 << 20), Buf::zeroed(session.bound(1 << 20)));
            let (src, dst) = r.map_or_else(fresh, |r| (r.src, r.dst));
            session.compress(src, dst)
        }
    };
    let mut floods = kinds(runtime);
    floods.push(("DEFLATE level 6, 1 MB", Box::new(long(6))));
    floods.push(("DEFLATE level 12, 1 MB", Box::new(long(12))));
    let sla = Sla::new(10_000_000, 0, 1024);
    let config = InstanceConfig { slas: vec![sla], ..InstanceConfig::default() };
    for (name, request) in floods {
        let mut committed = runtime.instance(config.clone()).expect("an instance");
        let mut flood = tenant(runtime, (name, request));
        let mut times = Vec::new();
        while flood.instance.free() > 0 {
            flood.instance.push((flood.request)(None)).expect("there is room");
        }
        flood.instance.doorbell();
        let end = Instant::now() + Duration::from_secs(2);
        while Instant::now() < end {
            let start = Instant::now();
            committed
                .push(mover.copy(Buf::zeroed(1024), Buf::zeroed(1024)))
                .expect("there is room");
            assert!(committed.wait(Duration::from_secs(60)));
            times.push(start.elapsed().as_secs_f64() * 1e6);
            assert_eq!(committed.poll().count(), 1);
            let responses: Vec<_> = flood.instance.poll().collect();
            for r in responses {
                flood.instance.push((flood.request)(Some(r))).expect("there is room");
            }
            flood.instance.doorbell();
            std::thread::sleep(Duration::from_micros(500));
        }
        times.sort_by(f64::total_cmp);
        let at = |q: f64| times[((times.len() - 1) as f64 * q) as usize];
        println!(
            "  {name:<28} median {:>7.0}   p99 {:>7.0}   most {:>7.0}   ({} requests)",
            at(0.5),
            at(0.99),
            at(1.0),
            times.len()
        );
        while flood.instance.wait(Duration::from_secs(60)) {
            flood.instance.poll().for_each(drop);
        }
    }
}
