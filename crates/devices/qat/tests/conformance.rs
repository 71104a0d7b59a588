//! With our own library as the card the device does what every device must, with the CPU device behind it.

mod common;

use std::time::Duration;

use lookaside_cpu::cpu;
use lookaside_qat_card::{QatDevice, Settings, Verify};
use lookaside_testkit::{conformance_before, symmetric_before};

fn conforms(settings: Settings, least: u64) {
    let card = || QatDevice::new(settings.clone()).unwrap();
    let answered = conformance_before(card, cpu);
    println!("{answered:?}");
    assert!(answered["qat"] >= least, "{answered:?}");
}

fn conforms_in_symmetric(settings: Settings, least: u64) {
    let card = || QatDevice::new(settings.clone()).unwrap();
    let answered = symmetric_before(card, cpu);
    println!("{answered:?}");
    assert!(answered["qat"] >= least, "{answered:?}");
}

#[test]
fn symmetric_requests_conform() {
    conforms_in_symmetric(Settings::new(common::loop_back("sym-conforms")), 500);
    let faults = ["SEED=5", "BUSY=20", "REFUSE=10", "LATE=40", "ERROR=10"];
    conforms_in_symmetric(Settings::new(common::faulty("sym-random", &faults)), 200);
}

#[test]
fn our_own_library_as_the_card_conforms() {
    let library = common::loop_back("conforms");
    conforms(Settings::new(&library), 150);
    conforms(Settings { verify: Verify::Card, ..Settings::new(library) }, 150);
}

#[test]
fn a_card_that_wants_contiguous_memory_conforms() {
    let library = common::faulty("contiguous", &["SEED=1", "CONTIGUOUS=1"]);
    conforms(Settings::new(library), 150);
}

#[test]
fn a_card_that_fails_at_random_conforms() {
    for seed in 1..=3 {
        let seeded = format!("SEED={seed}");
        let faults = [&*seeded, "BUSY=20", "REFUSE=10", "LATE=40", "FLIP=10", "ERROR=10"];
        let library = common::faulty(&format!("random-{seed}"), &faults);
        conforms(Settings::new(library), 50);
    }
}

#[test]
fn a_card_that_restarts_and_hangs_conforms() {
    let faults = ["SEED=4", "RESTART=2", "HANG=1", "LATE=20"];
    let library = common::faulty("hangs", &faults);
    let timeout = Duration::from_millis(20);
    conforms(Settings { timeout, ..Settings::new(library) }, 10);
}
