//! What functions were promised, and held to, over virtual time: beside floods, deaths and garbage of all others.

use std::path::Path;

use lookaside_server::{Config, FunctionConfig};
use lookaside_shares::{Capacity, Measure, Rate};
use lookaside_testkit::{Rng, VirtualClock, each_seed};

use super::{
    common::Folder,
    hand::{Did, Hand},
    land,
};
use lookaside::Clock;

/// 12.5 MB a second.
const NS_PER_KIB: u64 = 81_920;
/// Of one engine, a second.
const TOTAL: f64 = 1e9 / NS_PER_KIB as f64 * 1024.0;
const LEN: usize = 4096;

fn rate(share: f64) -> Vec<Rate> {
    vec![Rate { measure: Measure::Deflate, per_s: (share * TOTAL * 8.0) as u64 }]
}

fn function(name: &str, weight: u32) -> FunctionConfig {
    // Several clients together have enough outstanding.
    FunctionConfig { depth: 8, arena: 64 << 10, weight, ..FunctionConfig::new(name) }
}

/// A share of the engine for each function, over the virtual time `seconds` once bursts are spent.
fn shares(functions: Vec<FunctionConfig>, folder: &Path, seed: u64, seconds: f64) -> Vec<f64> {
    let mut rng = Rng::new(seed);
    let clock = VirtualClock::new();
    land::begin(folder, &clock, seed);
    let mut config = Config::new(folder);
    config.capacity =
        Some(Capacity::new(1).cost(Measure::Deflate, NS_PER_KIB as f64 / 1024.0 / 8.0));
    config.functions = functions;
    config.functions.push(FunctionConfig { memory: 1 << 20, ..function("hostile", 1) });
    land::with(|land| land.start(&config, NS_PER_KIB, None));
    let path = |name: &str| folder.join(format!("{name}.sock"));
    let n = config.functions.len() - 1;
    let flood = |i: usize| Hand::flood(i as u8 + 1, &path(&config.functions[i].name), LEN);
    // Two processes each.
    let mut hands: Vec<(usize, Hand)> = (0..2 * n).map(|i| (i % n, flood(i % n))).collect();
    let mut hostile: Option<Hand> = None;
    let mut bytes = vec![0_u64; n];
    let begin_ns = 300_000_000;
    let end_ns = begin_ns + (seconds * 1e9) as u64;
    let mut counts = false;
    while clock.now_ns() < end_ns {
        if !counts && clock.now_ns() >= begin_ns {
            counts = true;
            hands.iter_mut().for_each(|(_, hand)| hand.answered = 0);
        }
        for (i, hand) in &mut hands {
            for _ in 0..6 {
                match hand.step(&mut rng) {
                    Did::Something => {}
                    Did::Nothing => break,
                    Did::CutOff => panic!("{} is cut off", config.functions[*i].name),
                }
            }
        }
        // Now and then a process dies, and another one comes.
        if counts && rng.below(1000) == 0 {
            let at = rng.below(hands.len() as u64) as usize;
            let i = hands[at].0;
            bytes[i] += hands[at].1.answered * LEN as u64;
            std::mem::replace(&mut hands[at].1, flood(i)).die(&mut rng);
        }
        let bad = hostile
            .get_or_insert_with(|| Hand::new(n as u8 + 1, &path("hostile"), 20, u64::MAX / 2));
        if bad.step(&mut rng) == Did::CutOff {
            hostile = None;
        }
        land::with(land::Land::step_first);
        clock.advance(40_000);
    }
    hands.iter().for_each(|(i, hand)| bytes[*i] += hand.answered * LEN as u64);
    drop(hands);
    land::with(land::Land::kill);
    bytes.iter().map(|bytes| *bytes as f64 / seconds / TOTAL).collect()
}

#[test]
fn promises_hold_beside_floods_deaths_and_garbage() {
    each_seed(500, |seed| {
        let folder = Folder::new();
        let functions = vec![
            FunctionConfig { committed: rate(0.4), ..function("committed", 1) },
            FunctionConfig { peak: rate(0.1), ..function("limited", 1000) },
            function("three", 300),
            function("one", 100),
        ];
        let shares = shares(functions, &folder.0, seed, 1.5);
        let [committed, limited, three, one] = shares[..] else { panic!() };
        assert!(committed > 0.98 * 0.4, "{shares:?}");
        assert!(limited < 1.02 * 0.1, "{shares:?}");
        assert!((2.85..3.15).contains(&(three / one)), "{shares:?}");
        // The hostile one asks for little.
        assert!(shares.iter().sum::<f64>() > 0.9, "{shares:?}");
    });
}
