//! Many threads on a card that fails in every way at once: each request is answered once, and right.

mod common;

use std::{
    collections::BTreeSet,
    thread,
    time::{Duration, Instant},
};

use lookaside::{Buf, CompressSession, Compression, Format, InstanceConfig, Runtime};
use lookaside_cpu::cpu;
use lookaside_qat_card::{QatDevice, Settings, Verify};
use lookaside_testkit::{Rng, mixed};

const ROUNDS: u64 = 6;
const AT_ONCE: u64 = 40;

/// Compresses and decompresses; returns how many results were wrong.
fn one_thread(runtime: &Runtime, sessions: &[CompressSession], seed: u64) -> usize {
    let mut rng = Rng::new(seed);
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let mut wrong = 0;
    for round in 0..ROUNDS {
        let session = &sessions[(round % sessions.len() as u64) as usize];
        let data: Vec<Vec<u8>> =
            (0..AT_ONCE).map(|i| mixed(seed ^ i, 1 + rng.next_u64() as usize % 60_000)).collect();
        let mut pending: Vec<Vec<u8>> = data.clone();
        for back in [false, true] {
            for (i, bytes) in pending.iter().enumerate() {
                let src = Buf::from(&**bytes);
                let request = match back {
                    false => session.compress(src, Buf::zeroed(session.bound(bytes.len()))),
                    true => session.decompress(src, Buf::zeroed(data[i].len())),
                };
                instance.push(request.tag(i as u64)).expect("room");
            }
            let mut seen = BTreeSet::new();
            while instance.wait(Duration::from_secs(60)) {
                for r in instance.poll() {
                    assert!(seen.insert(r.tag), "answered once");
                    let i = r.tag as usize;
                    let Ok(done) = r.result else {
                        wrong += 1;
                        pending[i].clear();
                        continue;
                    };
                    pending[i] = r.dst.into_vec();
                    pending[i].truncate(done.produced);
                }
            }
            assert_eq!(seen.len() as u64, AT_ONCE, "each is answered");
        }
        wrong += pending.iter().zip(&data).filter(|(a, b)| a != b).count();
    }
    wrong
}

fn storm(settings: Settings, engines: usize) -> (usize, Runtime) {
    let card = QatDevice::new(settings).unwrap();
    let builder = Runtime::builder().device(card).device(cpu()).engines(engines);
    let runtime = builder.start().unwrap();
    let sessions: Vec<CompressSession> = [Format::Raw, Format::Gzip, Format::Zlib]
        .into_iter()
        .map(|format| runtime.compression(Compression::new(format)).unwrap())
        .collect();
    let wrong = thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|seed| {
                scope.spawn({
                    let (r, s) = (&runtime, &sessions);
                    move || one_thread(r, s, seed)
                })
            })
            .collect();
        threads.into_iter().map(|t| t.join().unwrap()).sum()
    });
    (wrong, runtime)
}

#[test]
fn nothing_is_lost_and_nothing_wrong() {
    let faults = ["BUSY=20", "REFUSE=5", "LATE=30", "FLIP=5", "ERROR=5", "RESTART=1"];
    for (seed, hang, engines) in [(1, 0, 0), (2, 0, 2), (3, 1, 0), (4, 1, 2)] {
        let (seeded, hang) = (format!("SEED={seed}"), format!("HANG={hang}"));
        let all: Vec<&str> = faults.into_iter().chain([&*seeded, &*hang]).collect();
        let library = common::faulty(&format!("storm-{seed}"), &all);
        let timeout = Duration::from_millis(30);
        let (wrong, runtime) = storm(Settings { timeout, ..Settings::new(library) }, engines);
        let counters = runtime.counters();
        let of = |device: &str| -> (u64, u64) {
            let rows = counters.ops.iter().filter(|row| row.device == device);
            rows.fold((0, 0), |(n, m), row| (n + row.requests, m + row.rerouted))
        };
        println!(
            "seed {seed}: qat {:?}, cpu {:?}, resets {}",
            of("qat"),
            of("cpu"),
            counters.resets
        );
        assert_eq!(wrong, 0, "seed {seed}");
        assert_eq!(of("qat").0 + of("cpu").0, 4 * ROUNDS * AT_ONCE * 2);
        assert!(of("qat").0 > 0 && of("qat").1 > 20, "the card served, and failed");
    }
}

/// The test above can fail: without our verification, flipped bits come through.
#[test]
fn a_card_alone_does_not_see_bits_that_flip_behind_it() {
    let library = common::faulty("flips", &["SEED=5", "FLIP=30"]);
    let card = Settings { verify: Verify::Card, ..Settings::new(&library) };
    assert!(storm(card, 0).0 > 0);
    assert_eq!(storm(Settings::new(library), 0).0, 0);
}

/// A request that the card forgets is answered while the card goes on answering others.
#[test]
fn a_forgotten_request_is_answered_beside_others() {
    let library = common::faulty("forgets", &["SEED=6", "HANG_AT=5"]);
    let timeout = Duration::from_millis(50);
    let card = QatDevice::new(Settings { timeout, ..Settings::new(library) }).unwrap();
    let runtime = Runtime::builder().device(card).device(cpu()).engines(0).start().unwrap();
    let session = runtime.compression(Compression::default()).unwrap();
    let mut instance = runtime.instance(InstanceConfig::default()).unwrap();
    let data = mixed(6, 3_000);
    let (mut pushed, mut open) = (0_u64, BTreeSet::new());
    let until = Instant::now() + Duration::from_millis(600);
    while Instant::now() < until {
        while instance.outstanding() < 8 {
            let dst = Buf::zeroed(session.bound(data.len()));
            instance.push(session.compress(Buf::from(&*data), dst).tag(pushed)).unwrap();
            open.insert(pushed);
            pushed += 1;
        }
        instance.wait(Duration::from_millis(1));
        for r in instance.poll() {
            assert!(r.result.is_ok() && open.remove(&r.tag));
        }
    }
    println!("{pushed} requests, open {open:?}; resets {}", runtime.counters().resets);
    assert!(pushed > 100 && open.first().is_none_or(|tag| *tag > 50), "it is answered");
    let rows = runtime.counters().ops;
    assert!(rows.iter().any(|row| row.device == "qat" && row.rerouted > 0));
}
