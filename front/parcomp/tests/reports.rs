//! What the command prints.

mod common;

use std::fs;

use common::{Scratch, good, has, pipe, run_in, stderr, stdout, text};

#[test]
fn csv() {
    let dir = Scratch::new("csv");
    dir.file("f", &text(200_000));
    let two = stdout(&good(&dir.0, &["f", "--force", "-x2", "-t2", "-l6", "-f2694"]));
    let lines: Vec<Vec<&str>> = two.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!((lines.len(), lines[0].len()), (2, lines[1].len()));
    let value = |name| {
        let at = lines[0].iter().position(|n| *n == name).unwrap_or_else(|| panic!("{name}"));
        lines[1][at]
    };
    assert_eq!((value("provider"), value("level"), value("threads")), ("lookaside", "6", "2"));
    assert_eq!((value("uncompressed_bytes"), value("chunk_kb")), ("200000", "64"));
    let packed = fs::metadata(dir.path("f.gz")).unwrap().len();
    assert_eq!(value("compressed_bytes"), packed.to_string());
    let number = |name| value(name).parse::<f64>().unwrap();
    assert!((number("ratio_percent") - packed as f64 / 2000.0).abs() < 0.001);
    assert!(number("elapsed_s") > 0.0 && number("cpu_s") > 0.0 && number("cycles_per_byte") > 0.0);
    assert!((number("cpu_s") - number("user_s") - number("system_s")).abs() < 1e-5);
    let mbps = 200_000.0 * 8.0 / 1e6 / number("elapsed_s");
    assert!((number("throughput_mbps") / mbps - 1.0).abs() < 0.01);
    let one = stdout(&good(&dir.0, &["f", "--force", "-x", "1"]));
    assert_eq!((one.lines().count(), one.split(',').count()), (1, lines[0].len()));
}

#[test]
fn json() {
    let dir = Scratch::new("json");
    dir.file("f", &text(200_000));
    let json = stdout(&good(&dir.0, &["f", "--json"]));
    assert_eq!(json.lines().count(), 1);
    for part in [
        "\"provider\": \"lookaside\"",
        "\"uncompressed_bytes\": 200000",
        "\"direction\": \"compress\"",
        "\"served_by\": [{\"device\": \"cpu\", \"operation\": \"dc.compress\", \"requests\": 4,",
        "\"cycles_per_byte\": null",
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    let back = stdout(&good(&dir.0, &["-d", "f.gz", "-og", "--json", "-pzlib"]));
    assert!(back.contains("\"jobs\": null") && back.contains("\"served_by\": []"), "{back}");
    if has("python3") {
        let mut python = std::process::Command::new("python3");
        let program = "import json, sys; json.load(sys.stdin)['served_by'][0]['requests']";
        let parsed = pipe(python.args(["-c", program]), json.as_bytes());
        assert!(parsed.status.success(), "{}", stderr(&parsed));
    }
    // Data goes to standard output: the report does not.
    let output = good(&dir.0, &["f", "-o-", "--json"]);
    assert_eq!(output.stdout[..2], [0x1f, 0x8b]);
    assert!(stderr(&output).starts_with('{'));
}

#[test]
fn text_for_people() {
    let dir = Scratch::new("text");
    dir.file("f", &text(200_000));
    let plain = stdout(&good(&dir.0, &["f", "--force"]));
    for part in ["compressed with lookaside: 200000 to ", "elapsed ", "MB/s", "CPU time "] {
        assert!(plain.contains(part), "{part} in {plain}");
    }
    let verbose = stdout(&good(&dir.0, &["f", "--force", "-v", "--stats", "-f1000"]));
    for part in ["format gzip, level 1", "jobs outstanding", "cycles/byte", "dc.compress"] {
        assert!(verbose.contains(part), "{part} in {verbose}");
    }
    let quiet = good(&dir.0, &["f", "--force", "-q"]);
    assert!(quiet.stdout.is_empty() && quiet.stderr.is_empty());
}

/// One engine, 25 requests per second.
const SLOW: &str = "
    name = slow
    queue = 8
    [dc.compress dc.decompress pke.rsa-private]
    engines = 1
    ops_per_s = 25
";

#[test]
fn a_model_answers_when_its_time_has_come() {
    let dir = Scratch::new("model");
    let data = text(200_000);
    dir.file("f", &data);
    dir.file("slow.txt", SLOW.as_bytes());
    let elapsed = |json: &str| -> f64 {
        let value = json.split("\"elapsed_s\": ").nth(1).unwrap().split(',').next().unwrap();
        value.parse().unwrap()
    };
    for engines in ["0", "1"] {
        let options = ["f", "--force", "-pmodel:slow.txt", "--json", "--engines", engines];
        let json = stdout(&good(&dir.0, &options));
        for part in [
            "\"provider\": \"model:slow.txt\"",
            "\"model\": \"slow\"",
            "\"jobs\": 8",
            "\"served_by\": [{\"device\": \"slow\", \"operation\": \"dc.compress\", \"requests\": 4,",
        ] {
            assert!(json.contains(part), "{part} in {json}");
        }
        assert!(elapsed(&json) >= 0.16, "4 requests of 40 ms: {json}");
    }
    let ours = stdout(&good(&dir.0, &["-d", "f.gz", "-o", "g", "--json"]));
    assert!(ours.contains("\"model\": null"), "{ours}");
    let back = ["-d", "f.gz", "-o", "g", "--force", "-pmodel:slow.txt", "--json"];
    assert!(elapsed(&stdout(&good(&dir.0, &back))) >= 0.16);
    assert!(fs::read(dir.path("g")).unwrap() == data);
    let plain = stdout(&good(&dir.0, &["f", "--force", "-p", "model"]));
    for part in [
        "compressed with model:card2015: 200000 to ",
        "device card2015, a timed model executed by the device cpu: 6 engines, 11.7 Gbit/s, 0.000 s",
    ] {
        assert!(plain.contains(part), "{part} in {plain}");
    }
}

#[test]
fn models_that_are_none() {
    let dir = Scratch::new("no-model");
    dir.file("f", &text(1000));
    dir.file("empty", b"");
    dir.file("copies", b"name = copies\nqueue = 1\n[mv.copy]\nengines = 1\nops_per_s = 1\n");
    for (provider, said) in [
        ("model:nothing", "model nothing is none of the models card2015, chipset2019, poweren"),
        ("model:", "is none of the models"),
        ("model:empty", "model empty: line 1: the model has no section"),
        ("model:copies", "device copies does not support dc.compress"),
        ("models", "unknown provider: models"),
    ] {
        let output = run_in(&dir.0, &["f", "-p", provider]);
        assert_eq!(output.status.code(), Some(1), "{provider}");
        assert!(stderr(&output).contains(said), "{provider}: {}", stderr(&output));
        assert!(!dir.path("f.gz").exists(), "{provider}");
    }
}

#[test]
fn usage() {
    let dir = Scratch::new("usage");
    let help = stdout(&good(&dir.0, &["-h"]));
    // Every letter of the paper.
    for letter in "iopcldvgxtfnyajwsh".chars() {
        assert!(help.contains(&format!("-{letter}")), "-{letter}");
    }
    assert!(stdout(&good(&dir.0, &["compare", "--help"])).contains("parcomp compare"));
    assert!(stdout(&good(&dir.0, &["--version"])).starts_with("parcomp "));
    for args in [&["-0"][..], &["-l13", "f"], &["a", "b", "-oc"], &["-c", "0", "f"], &["-p"]] {
        let output = run_in(&dir.0, args);
        assert_eq!(output.status.code(), Some(1), "{args:?}");
        assert!(stderr(&output).contains("see -h"), "{args:?}: {}", stderr(&output));
    }
    let unknown = run_in(&dir.0, &["-p", "nobody", "f"]);
    assert!(stderr(&unknown).contains("unknown provider: nobody"));
}

#[test]
fn compare() {
    let dir = Scratch::new("compare");
    let data = text(1_000_000);
    dir.file("f", &data);
    let table = stdout(&good(&dir.0, &["compare", "f"]));
    for part in ["zlib  ", "lookaside  ", "x as fast", "verified: f.gz"] {
        assert!(table.contains(part), "{part} in {table}");
    }
    good(&dir.0, &["-dq", "f.gz", "-oback"]);
    assert!(fs::read(dir.path("back")).unwrap() == data);
    let refused = run_in(&dir.0, &["compare", "f"]);
    assert_eq!(refused.status.code(), Some(1));
    good(&dir.0, &["compare", "f", "-o", "g.gz", "-l6", "-c128", "-j4", "-n2"]);
    assert!(dir.path("g.gz").exists());
}
