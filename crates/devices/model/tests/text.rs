//! What the text of a model may be, and which line a mistake is reported for.

use lookaside::Op;
use lookaside_core::{Device, SetupError};
use lookaside_model::{Axis, Model, Printed, Spec};

const GOOD: &str = "\
# A comment.
name = good
queue = 64

[dc.compress]   # another
engines = 2
latency_us = 1.5
gbit_per_s = 24
printed = 65536 * 23.5
printed = 4096 8 2
figure = 9 outstanding Two words
printed = 65536 1 2s
[mv.copy mv.fill]
engines=3
ops_per_s=1e6
";

#[test]
fn a_model_is_read() {
    let spec = Spec::parse(GOOD).unwrap();
    assert_eq!((&*spec.name, spec.queue, spec.timeout_ns), ("good", 64, 60_000_000_000));
    let [compress, copy] = &spec.sections[..] else { panic!("{spec:?}") };
    assert_eq!(compress.ops, [Op::Compress]);
    assert_eq!((compress.engines, compress.latency_ns), (2, 1500));
    assert_eq!((compress.gbit_per_s, compress.ops_per_s), (Some(24.0), None));
    let printed = [
        Printed { size: 65_536, outstanding: None, value: 23.5, as_seconds: false },
        Printed { size: 4096, outstanding: Some(8), value: 2.0, as_seconds: false },
    ];
    assert_eq!(compress.printed, printed);
    let [figure] = &compress.figures[..] else { panic!("{compress:?}") };
    assert_eq!((&*figure.title, figure.axis), ("figure 9: Two words", Axis::Outstanding));
    // 2^33 bits in 2 seconds.
    let [Printed { value, as_seconds: true, .. }] = figure.printed[..] else {
        panic!("{figure:?}")
    };
    assert!((value - 4.294967296).abs() < 1e-9);
    assert_eq!(copy.ops, [Op::Copy, Op::Fill]);
    assert_eq!((copy.engines, copy.latency_ns, copy.ops_per_s), (3, 0, Some(1e6)));
    // 2 engines of 12 Gbit/s, 3 of 1/3 million operations per second.
    assert_eq!((compress.service_ns(1500), copy.service_ns(1500)), (1000, 3000));
    let service = Spec::parse(&GOOD.replace("mv.copy mv.fill", "sym")).unwrap();
    let sym = [Op::Encrypt, Op::Decrypt, Op::Digest, Op::Verify, Op::Seal, Op::Open];
    assert_eq!(service.sections[1].ops, sym);
}

#[test]
fn mistakes_name_their_line() {
    for (from, to, expected) in [
        ("queue = 64", "queue", "line 3: `key = value` or `[operation]` is wanted"),
        ("queue = 64", "queue = 0", "line 3: queue is a whole number from 1 to 1048576, not 0"),
        (
            "queue = 64",
            "queue = many",
            "line 3: queue is a whole number from 1 to 1048576, not many",
        ),
        ("queue = 64", "name = x", "line 3: name is here twice"),
        (
            "queue = 64",
            "depth = 64",
            "line 3: unknown key depth: name, queue, timeout_ms and memory",
        ),
        ("queue = 64", "memory = heap", "line 3: memory is process or regions"),
        ("queue = 64", "", "line 15: the model lacks queue"),
        ("name = good", "", "line 15: the model lacks name"),
        ("= good", "= not good", "line 2: a name has letters, digits, and - _ . between"),
        ("dc.compress]", "dc.compress", "line 5: a section ends with ]"),
        ("dc.compress", "dc.shrink", "line 5: unknown operation or service dc.shrink"),
        ("dc.compress", "", "line 5: a section names an operation"),
        ("mv.fill", "dc.compress", "line 13: dc.compress has a section already"),
        ("mv.fill", "mv", "line 13: mv.copy has a section already"),
        ("engines = 2", "", "line 5: this section lacks engines"),
        ("engines=3", "", "line 13: this section lacks engines"),
        ("gbit_per_s = 24", "", "line 5: this section lacks gbit_per_s or ops_per_s"),
        ("gbit_per_s = 24", "gbit_per_s = 0", "line 8: gbit_per_s is a number from"),
        ("gbit_per_s = 24", "gbit_per_s = NaN", "line 8: gbit_per_s is a number from"),
        ("gbit_per_s = 24", "engines = 24", "line 8: engines is here twice"),
        ("latency_us = 1.5", "latency = 1.5", "line 7: unknown key latency: engines,"),
        ("latency_us = 1.5", "latency_us = -1", "line 7: latency_us is a number from 0 to"),
        ("65536 * 23.5", "65536 23.5", "line 9: printed has a size, the requests outstanding"),
        ("65536 * 23.5", "0 * 23.5", "line 9: the size is a whole number"),
        ("65536 1 2s", "65536 1 s", "line 12: the value is a number from"),
        ("= 9 outstanding", "= 9 threads", "line 11: the x-axis has outstanding or size, not"),
        ("= 9 outstanding Two words", "= 9", "line 11: a figure has a number, outstanding or"),
        ("gbit_per_s = 24", "ops_per_s = 1", "line 5: this section prints seconds for bytes"),
    ] {
        assert!(GOOD.contains(from), "{from}");
        let got = Spec::parse(&GOOD.replace(from, to)).unwrap_err().to_string();
        assert!(got.starts_with(expected), "{from} -> {to}: {got}");
    }
    assert_eq!(Spec::parse("").unwrap_err().to_string(), "line 1: the model has no section");
}

#[test]
fn built_in_models_are_read_and_have_their_names() {
    assert_eq!(Spec::built_in_names().count(), 3);
    for name in Spec::built_in_names() {
        let spec = Spec::built_in(name).unwrap();
        assert_eq!(spec.name, name);
        assert!(spec.sections.iter().any(|section| !section.printed.is_empty()));
    }
    assert_eq!(Spec::built_in("card"), None);
}

#[test]
fn models_are_loaded_by_name_or_from_files() {
    assert_eq!(Spec::load("poweren").unwrap(), Spec::built_in("poweren").unwrap());
    let path = |name: &str| format!("{}/{name}", env!("CARGO_MANIFEST_DIR"));
    assert_eq!(
        Spec::load(&path("models/poweren.txt")).unwrap(),
        Spec::built_in("poweren").unwrap()
    );
    let said = |name: &str| Spec::load(name).unwrap_err().to_string();
    assert!(
        said("card").starts_with("card is none of the models card2015, chipset2019, poweren, ")
    );
    assert!(said(&path("Cargo.toml")).contains("Cargo.toml: line 1: "));
}

#[test]
fn only_sections_are_offered_and_only_what_the_device_inside_has() {
    let device = Model::new(lookaside_cpu::cpu(), Spec::parse(GOOD).unwrap()).unwrap();
    assert!(!device.capabilities().is_empty());
    for row in device.capabilities() {
        assert!([Op::Compress, Op::Copy, Op::Fill].contains(&row.op), "{}", row.op);
        assert!(
            row.served_by.starts_with("the model good, executed by cpu: "),
            "{}",
            row.served_by
        );
    }
    let sim = lookaside_testkit::SimDevice::new("sim", 1, 1);
    let refused = Model::new(sim, Spec::parse(GOOD).unwrap()).unwrap_err();
    let SetupError::Unsupported { device, op, .. } = refused else { panic!("{refused}") };
    assert_eq!((&*device, op), ("sim", Op::Fill));
    // No operation of an RSA session has a section.
    let runtime = lookaside::Runtime::builder().device(device_without_rsa()).start().unwrap();
    assert!(matches!(runtime.rsa_generate(2048), Err(SetupError::Unsupported { .. })));
}

fn device_without_rsa() -> Model<lookaside_cpu::CpuDevice> {
    Model::new(lookaside_cpu::cpu(), Spec::parse(GOOD).unwrap()).unwrap()
}
