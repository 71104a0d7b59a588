//! What the way to a server and back costs: round trips of an empty request, a stream of 64 KB compressions by CPU
//! time beside the same in process, and private keys of eight clients that sign one at a time.
//!
//! Server and clients are threads of this process, so its CPU time is that of all of them.

use std::{
    sync::{Arc, Barrier},
    thread,
    time::{Duration, Instant},
};

use lookaside::{
    Buf, Compression, Hash, Instance, InstanceConfig, Op, RsaCrt, RsaPrivateKey, RsaScheme, Runtime,
};
use lookaside_server::{Config, FunctionConfig, Server};
use lookaside_shared::{Settings, SharedDevice};

const ROUNDS: usize = 7;

/// CPU time of this process.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Machine {
    server: Server,
}

impl Machine {
    fn new(engines: usize) -> Machine {
        let folder = std::env::temp_dir().join(format!("lookaside-figures-{}", std::process::id()));
        let mut config = Config::new(folder);
        config.engines = Some(engines);
        if let Some(batch) = std::env::args().nth(1) {
            config.batch_us = batch.parse().expect("microseconds that a batch waits at most");
        }
        let mut function = FunctionConfig::new("all");
        function.memory = 1 << 30;
        config.functions = vec![function];
        Machine { server: Server::start(&config).expect("a server") }
    }

    /// A process's runtime: requests go to the server, on the caller's thread.
    fn client(&self) -> Runtime {
        let settings = Settings::new(self.server.socket("all").expect("a socket"));
        let device = SharedDevice::new(settings).expect("a client");
        Runtime::builder().device(device).engines(0).start().expect("a runtime")
    }
}

fn instance(runtime: &Runtime) -> Instance {
    runtime.instance(InstanceConfig::default()).expect("an instance")
}

fn one(instance: &mut Instance) {
    assert!(instance.wait(Duration::from_secs(60)));
    assert!(instance.poll().all(|response| response.result.is_ok()));
}

fn empty_requests(machine: &Machine) {
    let runtime = machine.client();
    let mover = runtime.mover().unwrap();
    let mut instance = instance(&runtime);
    let mut lone = |pause: Option<Duration>, n: usize| {
        let mut times = Vec::new();
        for _ in 0..n {
            if let Some(pause) = pause {
                thread::sleep(pause);
            }
            let start = Instant::now();
            instance.push(mover.copy(Buf::empty(), Buf::empty())).unwrap();
            one(&mut instance);
            times.push(start.elapsed().as_nanos() as f64 / 1000.0);
        }
        median(times)
    };
    lone(None, 1000);
    println!("empty request, both sides awake:  {:7.2} us", lone(None, 20_000));
    println!(
        "empty request, both sides asleep: {:7.2} us",
        lone(Some(Duration::from_millis(1)), 2_000)
    );
    let mut rates = Vec::new();
    for _ in 0..ROUNDS {
        const N: usize = 100_000;
        let start = Instant::now();
        let mut answered = 0;
        let mut pushed = 0;
        while answered < N {
            while pushed < N && instance.outstanding() < 32 {
                instance.push(mover.copy(Buf::empty(), Buf::empty())).unwrap();
                pushed += 1;
            }
            assert!(instance.wait(Duration::from_secs(60)));
            answered += instance.poll().count();
        }
        rates.push(start.elapsed().as_nanos() as f64 / N as f64);
    }
    println!("empty request, 32 outstanding:    {:7.0} ns each", median(rates));
}

/// CPU time of a 64 KB compression in a stream of them, in microseconds.
fn stream(runtime: &Runtime, data: &[u8]) -> f64 {
    const N: usize = 400;
    let session = runtime.compression(Compression::default()).unwrap();
    let mut instance = instance(runtime);
    let mut spare: Vec<(Buf, Buf)> = (0..16)
        .map(|n| {
            let at = n * 1000 % (data.len() - 65_536);
            (Buf::from(&data[at..at + 65_536]), Buf::zeroed(session.bound(65_536)))
        })
        .collect();
    let start = cpu_time();
    let (mut pushed, mut answered) = (0, 0);
    while answered < N {
        while pushed < N
            && let Some((src, dst)) = spare.pop()
        {
            instance.push(session.compress(src, dst)).unwrap();
            pushed += 1;
        }
        assert!(instance.wait(Duration::from_secs(60)));
        for response in instance.poll() {
            assert_eq!(response.result.unwrap().consumed, 65_536);
            spare.push((response.src, response.dst));
            answered += 1;
        }
    }
    (cpu_time() - start).as_nanos() as f64 / 1000.0 / N as f64
}

fn streams(machine: &Machine) {
    let data = lookaside_testkit::mixed(1, 1 << 20);
    let local = Runtime::builder().device(lookaside_cpu::cpu()).engines(1).start().unwrap();
    let shared = machine.client();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        rounds.push((stream(&local, &data), stream(&shared, &data)));
    }
    let local = median(rounds.iter().map(|r| r.0).collect());
    let shared = median(rounds.iter().map(|r| r.1).collect());
    let ratio = median(rounds.iter().map(|r| r.1 / r.0).collect());
    println!(
        "64 KB at level 1, CPU time: in process {local:.1} us, shared {shared:.1} us, {ratio:.3} x"
    );
}

fn key() -> RsaPrivateKey {
    const K: usize = 256;
    let cpu = Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let request = cpu.rsa_generate(2048).unwrap().generate(vec![1, 0, 1].into(), Buf::zeroed(1152));
    let parts = cpu.handle().call(request).wait().dst.into_vec();
    let (n, rest) = parts.split_at(K);
    let (d, rest) = rest.split_at(K);
    let part = |i: usize| rest[i * K / 2..][..K / 2].to_vec().into();
    let crt = RsaCrt { p: part(0), q: part(1), dp: part(2), dq: part(3), qinv: part(4) };
    RsaPrivateKey { n: n.to_vec(), e: vec![1, 0, 1], d: d.to_vec().into(), crt: Some(crt) }
}

/// CPU time of a signature by eight callers, each of which has one outstanding, in microseconds.
fn signatures(runtimes: Vec<Runtime>, key: &RsaPrivateKey) -> f64 {
    const EACH: usize = 150;
    let start = Arc::new(Barrier::new(runtimes.len() + 1));
    let n = runtimes.len() * EACH;
    let threads: Vec<_> = runtimes
        .into_iter()
        .map(|runtime| {
            let (session, start) = (runtime.rsa_private(key.clone()).unwrap(), start.clone());
            thread::spawn(move || {
                let mut instance = instance(&runtime);
                start.wait();
                for _ in 0..EACH {
                    let scheme = RsaScheme::Pkcs1Sign(Some(Hash::Sha256));
                    let request = session.run(scheme, Buf::zeroed(32), Buf::zeroed(256));
                    instance.push(request).unwrap();
                    one(&mut instance);
                }
            })
        })
        .collect();
    let before = cpu_time();
    start.wait();
    threads.into_iter().for_each(|t| t.join().unwrap());
    (cpu_time() - before).as_nanos() as f64 / 1000.0 / n as f64
}

fn keys(machine: &Machine) {
    let key = key();
    let local = || Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().unwrap();
    let mut rounds = Vec::new();
    for _ in 0..ROUNDS {
        let alone = signatures((0..8).map(|_| local()).collect(), &key);
        let shared = signatures((0..8).map(|_| machine.client()).collect(), &key);
        rounds.push((alone, shared));
    }
    let alone = median(rounds.iter().map(|r| r.0).collect());
    let shared = median(rounds.iter().map(|r| r.1).collect());
    let ratio = median(rounds.iter().map(|r| r.0 / r.1).collect());
    println!(
        "RSA-2048 private, 8 callers, CPU time: each alone {alone:.0} us, shared {shared:.0} us, {ratio:.2} x as many"
    );
    let rows = machine.server.counters().ops;
    if let Some(row) = rows.iter().find(|row| row.op == Op::RsaPrivate.to_string()) {
        println!(
            "lanes filled: {:.2} requests in a batch",
            row.requests as f64 / row.batches as f64
        );
    }
}

fn main() {
    let machine = Machine::new(1);
    println!("{} engine(s) in the server", machine.server.engines());
    empty_requests(&machine);
    streams(&machine);
    keys(&machine);
}
