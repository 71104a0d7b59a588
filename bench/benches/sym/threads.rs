//! Rates against the number of engines (paper 5, figures 10 and 11): one thread submits bursts of 32
//! packets, the engines work on them.

use std::{
    fmt::Write,
    time::{Duration, Instant},
};

use lookaside::{Buf, Carried, InstanceConfig, Runtime};
use lookaside_bench::median;

use crate::{Options, SIZES, algorithms::ALL, ours, rivals::PACKETS, save};

/// The algorithms of those figures, and today's.
const NAMES: [&str; 10] = [
    "AES-128-ECB",
    "AES-128-GCM",
    "3DES-CBC",
    "ARC4",
    "KASUMI-F8",
    "SHA-1",
    "SHA-256",
    "HMAC-SHA256",
    "AES-128-CBC+HMAC-SHA1",
    "AES-128-CBC+HMAC-SHA256",
];

pub fn measure(o: &Options) {
    let most = std::thread::available_parallelism().map_or(1, usize::from);
    let mut csv = String::from("algorithm,bytes,engines,gbit_s\n");
    println!("\nGbit/s of wall clock with 1 to {most} engines");
    for a in ALL.iter().filter(|a| NAMES.contains(&a.name)) {
        for len in SIZES {
            let mut rates = Vec::new();
            for engines in 1..=most {
                let device = lookaside_cpu::cpu();
                let runtime = Runtime::builder().device(device).engines(engines).start();
                let runtime = runtime.expect("a runtime");
                let rounds: Vec<f64> = (0..3).map(|_| rate(&runtime, a, len, engines)).collect();
                rates.push(median(&rounds));
                _ = writeln!(csv, "{},{len},{engines},{:.3}", a.name, median(&rounds));
            }
            let shown: Vec<String> = rates.iter().map(|r| format!("{r:>8.2}")).collect();
            println!("  {:<24} {len:>6}  {}", a.name, shown.join("  "));
        }
    }
    save(o, "threads.csv", &csv);
}

fn rate(runtime: &Runtime, a: &crate::Algorithm, len: usize, engines: usize) -> f64 {
    let depth = engines * 4;
    let session = ours::Session::new(runtime, a);
    let config = InstanceConfig { depth, ..InstanceConfig::default() };
    let mut instance = runtime.instance(config).expect("an instance");
    let mut spare: Vec<(Box<Carried>, Buf)> = (0..depth)
        .map(|_| ours::burst(a, len))
        .map(|(_, packets, memory)| (packets, memory))
        .collect();
    let time = Duration::from_millis(40);
    let start = Instant::now();
    let mut bursts = 0;
    loop {
        while start.elapsed() < time
            && let Some((packets, dst)) = spare.pop()
        {
            instance.push(session.seal(packets, dst)).expect("room");
        }
        instance.doorbell();
        if instance.outstanding() == 0 {
            break;
        }
        instance.wait_many(depth / 2, Duration::from_secs(1));
        for r in instance.poll() {
            r.result.expect("sealed");
            let packets = r.carried.expect("a burst");
            bursts += 1;
            spare.push((packets, r.dst));
        }
    }
    (bursts * PACKETS * len) as f64 * 8.0 / start.elapsed().as_nanos() as f64
}
