//! The model does what every device must, whatever it models and whichever device is inside.

use lookaside_cpu::cpu;
use lookaside_model::{Model, Spec};
use lookaside_testkit::{FaultDevice, Faults, conformance};

/// Every service of the conformance tests, with times that the tests notice.
const ALL: &str = "
    name = all
    queue = 7
    [dc.compress dc.decompress]
    engines = 2
    gbit_per_s = 20
    latency_us = 30
    [mv sym rng]
    engines = 3
    gbit_per_s = 50
    ops_per_s = 100000
    latency_us = 5
";

fn all() -> Spec {
    Spec::parse(ALL).unwrap()
}

#[test]
fn the_model_conforms() {
    conformance(|| Model::new(cpu(), all()).unwrap());
}

#[test]
fn built_in_models_conform() {
    for name in Spec::built_in_names() {
        conformance(|| Model::new(cpu(), Spec::built_in(name).unwrap()).unwrap());
    }
}

/// The device inside refuses, answers late and in another order.
#[test]
fn the_model_of_an_unruly_device_conforms() {
    let faults = Faults { busy: 30, late: 30, ..Faults::default() };
    conformance(|| Model::new(FaultDevice::new(cpu(), faults, 7), all()).unwrap());
}
