//! Every symmetric algorithm beside its best rivals: `cargo bench --bench sym`, or `make bench-sym`,
//! which draws the pictures too.
//!
//! 32 packets in flight through an instance, each a request, and as one burst; intel-ipsec-mb bare,
//! OpenSSL's EVP. In place, one core, CPU time; the contenders take turns, and the figures are
//! medians of the rounds. Before anything is measured, all contenders' bytes are compared.
//!
//! The heading says which tier and family the figures are of, and which rivals a cap leaves as they are.
//! The end lists every row below 1.0 x of the better rival, and whether it misses the bar.
//!
//! Options: `--out DIR` (CSV files), `--rounds N`, `--quick` (few and short rounds, less exact: a table
//! in two minutes), `--only NAME` (an algorithm's name, or a part of some),
//! `--shift N` (texts begin that many bytes behind the start of a cache line; 0),
//! `--contender N,..` and `--bytes N` (only these of the four, one size: for profiles), `--threads` (also rates with 1 to as many engines as there are CPUs), `--calls` (one request for
//! cipher and MAC against two), `--sets` (bursts of 32 sessions beside bursts of one), `--mover` (copies,
//! beside memcpy).
#![allow(unsafe_code)]

mod algorithms;
mod below;
mod calls;
mod machine;
mod mover;
mod ours;
mod rivals;
mod sets;
mod threads;

use std::{fmt::Write, fs, path::PathBuf};

use lookaside::Runtime;
use lookaside_bench::{cpu_ns, median};

use crate::{
    algorithms::{ALL, Algorithm},
    below::Below,
    ours::Ours,
    rivals::{PACKETS, Rival, set_shift},
};

pub(crate) const SIZES: [usize; 5] = [64, 256, 1024, 1408, 16_384];

/// How long one contender's turn takes, about, and in a quick table.
const TURN_NS: f64 = 3e6;
const QUICK_TURN_NS: f64 = 4e5;

pub(crate) struct Options {
    out: Option<PathBuf>,
    rounds: usize,
    quick: bool,
    only: Option<String>,
    contenders: Vec<usize>,
    bytes: Option<usize>,
    threads: bool,
    calls: bool,
    sets: bool,
    mover: bool,
}

fn options() -> Options {
    let mut o = Options {
        out: None,
        rounds: 5,
        quick: false,
        only: None,
        contenders: Vec::new(),
        bytes: None,
        threads: false,
        calls: false,
        sets: false,
        mover: false,
    };
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match &*arg {
            "--out" => o.out = args.next().map(PathBuf::from),
            "--rounds" => o.rounds = args.next().and_then(|n| n.parse().ok()).unwrap_or(5),
            "--quick" => (o.quick, o.rounds) = (true, 3),
            "--only" => o.only = args.next(),
            "--contender" => {
                let list = args.next().unwrap_or_default();
                o.contenders = list.split(',').filter_map(|n| n.parse().ok()).collect();
            }
            "--shift" => set_shift(args.next().and_then(|n| n.parse().ok()).unwrap_or(0)),
            "--bytes" => o.bytes = args.next().and_then(|n| n.parse().ok()),
            "--threads" => o.threads = true,
            "--calls" => o.calls = true,
            "--sets" => o.sets = true,
            "--mover" => o.mover = true,
            // What cargo adds.
            "--bench" => {}
            other => {
                eprintln!("sym: unknown option {other}");
                std::process::exit(2);
            }
        }
    }
    o
}

/// A contender: works on a number of packets.
type Contender<'a> = Box<dyn FnMut(usize) + 'a>;

/// Median nanoseconds of CPU time for one packet, of each contender.
pub(crate) fn compete(contenders: &mut [Option<Contender<'_>>], o: &Options) -> Vec<Option<f64>> {
    let turn_ns = if o.quick { QUICK_TURN_NS } else { TURN_NS };
    // How many packets fill a turn.
    let mut counts = Vec::new();
    for contender in contenders.iter_mut() {
        counts.push(contender.as_mut().map(|run| {
            let mut n = 2 * PACKETS;
            loop {
                let start = cpu_ns();
                run(n);
                let ns = (cpu_ns() - start) as f64;
                if ns > turn_ns / 4.0 || n > 1 << 20 {
                    return ((n as f64 * turn_ns / ns) as usize).max(PACKETS) / PACKETS * PACKETS;
                }
                n *= 2;
            }
        }));
    }
    let mut times = vec![Vec::new(); contenders.len()];
    for _ in 0..o.rounds {
        for ((contender, count), times) in contenders.iter_mut().zip(&counts).zip(&mut times) {
            if let (Some(run), Some(n)) = (contender, count) {
                let start = cpu_ns();
                run(*n);
                times.push((cpu_ns() - start) as f64 / *n as f64);
            }
        }
    }
    times.iter().map(|t| (!t.is_empty()).then(|| median(t))).collect()
}

/// All contenders' first results, compared.
fn check(a: &Algorithm, len: usize, ours: &Ours<'_>, rival: &mut Rival) {
    rival.run(PACKETS);
    // intel-ipsec-mb's F9 hashes COUNT, FRESH and DIRECTION as part of the text.
    if a.name == "KASUMI-F9" {
        return;
    }
    for i in 0..PACKETS {
        assert!(
            ours.packet(i) == rival.packet(i),
            "{}, {len} bytes, packet {i}: not equal",
            a.name
        );
    }
}

fn main() {
    let o = options();
    let runtime =
        Runtime::builder().device(lookaside_cpu::cpu()).engines(0).start().expect("a runtime");
    let mut csv = String::from(
        "algorithm,bytes,requests_ns,burst_ns,ipsec_mb_ns,openssl_ns,requests_gbit_s,burst_gbit_s,\
         ipsec_mb_gbit_s,openssl_gbit_s\n",
    );
    machine::limit_rivals();
    println!("{}", machine::heading());
    let mut below = Below::default();
    println!(
        "Gbit/s of one core, 32 packets in flight: as requests / as a burst / intel-ipsec-mb / \
         OpenSSL; then the burst against the better rival"
    );
    let whole = ALL.iter().any(|a| o.only.as_deref() == Some(a.name));
    let wanted = |a: &&Algorithm| match &o.only {
        Some(only) if whole => a.name == only,
        Some(only) => a.name.contains(&**only),
        None => true,
    };
    for a in ALL.iter().filter(wanted) {
        println!("{}", a.name);
        for len in o.bytes.map_or(SIZES.to_vec(), |only| vec![only]) {
            let mut requests = Ours::new(&runtime, a, len, false);
            let mut burst = Ours::new(&runtime, a, len, true);
            let (mut bare, mut openssl) = (Rival::bare(a, len), Rival::openssl(a, len));
            requests.run(PACKETS);
            burst.run(PACKETS);
            assert!((0..PACKETS).all(|i| requests.packet(i) == burst.packet(i)), "{}", a.name);
            for rival in [&mut bare, &mut openssl].into_iter().flatten() {
                check(a, len, &burst, rival);
            }
            let mut contenders: [Option<Contender<'_>>; 4] = [
                Some(Box::new(|n| requests.run(n))),
                Some(Box::new(|n| burst.run(n))),
                bare.as_mut().map(|r| -> Contender<'_> { Box::new(|n| r.run(n)) }),
                openssl.as_mut().map(|r| -> Contender<'_> { Box::new(|n| r.run(n)) }),
            ];
            for (i, contender) in contenders.iter_mut().enumerate() {
                if !o.contenders.is_empty() && !o.contenders.contains(&i) {
                    *contender = None;
                }
            }
            let ns = compete(&mut contenders, &o);
            let gbit = |ns: &Option<f64>| ns.map(|ns| len as f64 * 8.0 / ns);
            let show = |x: Option<f64>, digits| x.map_or("-".into(), |x| format!("{x:.digits$}"));
            let rival = ns[2].into_iter().chain(ns[3]).fold(f64::INFINITY, f64::min);
            let ratio = ns[1].filter(|_| rival.is_finite()).map(|burst| rival / burst);
            let library = if a.name.starts_with("CRC") { "ISA-L" } else { "intel-ipsec-mb" };
            let better = if ns[2] == Some(rival) { library } else { "OpenSSL" };
            below.add(a.name, len, ratio, better);
            let rates: Vec<String> = ns.iter().map(|ns| show(gbit(ns), 2)).collect();
            println!("  {len:>6}  {}  {}", rates.join("  "), show(ratio, 2));
            let ns: Vec<String> = ns.iter().map(|&ns| show(ns, 1)).collect();
            let row = [&ns[..], &rates].concat().join(",").replace('-', "");
            _ = writeln!(csv, "{},{len},{row}", a.name);
        }
    }
    save(&o, "sizes.csv", &csv);
    if o.mover {
        mover::measure(&o, &runtime, &mut below);
    }
    if o.calls {
        calls::measure(&o, &runtime);
    }
    if o.sets {
        sets::measure(&o, &runtime);
    }
    if o.threads {
        threads::measure(&o);
    }
    println!("\n{below}");
}

/// Writes a file of the report.
pub(crate) fn save(o: &Options, name: &str, content: &str) {
    let Some(out) = &o.out else { return };
    let written = fs::create_dir_all(out).and_then(|()| fs::write(out.join(name), content));
    if let Err(e) = written {
        eprintln!("sym: {}: {e}", out.join(name).display());
        std::process::exit(1);
    }
}
