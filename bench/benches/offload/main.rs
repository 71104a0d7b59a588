//! What the way through the device costs and gains, beside the bare kernels and stock zlib.
//!
//! `cargo bench -p lookaside-bench --bench offload -- [--mb N] [--rounds N] [--corpus DIR]
//! [--only compress|decompress|empty|channel|crossover|tenants|promises] [--seconds N]`
//!
//! Checks its answers; says what each line shows; thresholds are for people, not for tests.
#![allow(unsafe_code)]

mod bare;
mod channel;
mod empty;
mod offload;
mod promises;
mod tenants;

use std::path::PathBuf;

/// The options.
struct Options {
    mb: usize,
    rounds: usize,
    corpus: Option<PathBuf>,
    only: Option<String>,
    /// How long promises are held against floods.
    seconds: u64,
}

fn options() -> Options {
    let mut o = Options { mb: 200, rounds: 5, corpus: None, only: None, seconds: 60 };
    let mut args = std::env::args().skip(1);
    while let Some(a) = args.next() {
        let mut number = || args.next().and_then(|v| v.parse().ok());
        match &*a {
            "--mb" => o.mb = number().unwrap_or(o.mb),
            "--seconds" => o.seconds = number().map_or(o.seconds, |n| n as u64),
            "--rounds" => o.rounds = number().unwrap_or(o.rounds),
            "--corpus" => o.corpus = args.next().map(PathBuf::from),
            "--only" => o.only = args.next(),
            // What cargo itself passes.
            "--bench" => {}
            other => panic!("unknown option {other}"),
        }
    }
    o
}

/// The corpus repeated to the size asked for, and what it is.
fn input(o: &Options) -> (Vec<u8>, String) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/calgary");
    let directory = o.corpus.clone().unwrap_or(root);
    let (unit, name) = match lookaside_testkit::corpus(&directory) {
        Some(files) => {
            let all: Vec<u8> = files.into_iter().flat_map(|(_, data)| data).collect();
            let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
            (all, name)
        }
        None => (lookaside_testkit::mixed(1, 3_251_493), "generated corpus, seed 1".to_owned()),
    };
    let data: Vec<u8> = unit.iter().copied().cycle().take(o.mb * 1_000_000).collect();
    let what = format!("{name}, {} bytes repeated to {} MB", unit.len(), o.mb);
    (data, what)
}

fn main() {
    let o = options();
    let (data, what) = input(&o);
    let model = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = model.lines().find_map(|l| l.strip_prefix("model name")?.split_once(": "));
    let cores = std::thread::available_parallelism().map_or(0, |n| n.get());
    println!("machine: {}, {cores} cores", model.map_or("unknown", |(_, m)| m));
    println!("input: {what}; {} rounds, in turn; median (least-most)", o.rounds);
    let parts: [(&str, &dyn Fn()); 7] = [
        ("compress", &|| offload::compress(&data, o.rounds)),
        ("decompress", &|| offload::decompress(&data, o.rounds)),
        ("empty", &|| empty::run(o.rounds)),
        ("channel", &|| channel::run(o.rounds)),
        ("crossover", &|| offload::crossover(&data, o.rounds)),
        ("tenants", &|| tenants::run(o.rounds)),
        ("promises", &|| promises::run(o.seconds)),
    ];
    for (name, run) in parts {
        if o.only.as_deref().is_none_or(|only| only == name) {
            run();
        }
    }
}
