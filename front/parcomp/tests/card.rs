//! By a QuickAssist card: here our own `libqat.so.4` plays it.

mod common;

use std::{
    env, fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Output,
};

use common::{Scratch, good, has, parcomp, run_in, stderr, stdout, text};

/// What cargo has built: beside this test, or one folder up.
fn built(name: &str) -> PathBuf {
    let exe = env::current_exe().unwrap();
    let found = exe.ancestors().skip(1).take(2).map(|d| d.join(name)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("{name} is not near {}", exe.display()))
}

fn named(dir: &Path, variables: &[(&str, &str)], args: &[&str]) -> Output {
    parcomp().current_dir(dir).envs(variables.iter().copied()).args(args).output().unwrap()
}

#[test]
fn a_card_compresses_and_decompresses() {
    let dir = Scratch::new("card");
    symlink(built("liblookaside_qat.so"), dir.path("libqat.so.4")).unwrap();
    let data = text(300_000);
    dir.file("f", &data);
    for (format, engines, threads) in [
        ("gzip", "0", "0"),
        ("gzip", "2", "2"),
        ("zlib", "0", "0"),
        ("raw", "1", "0"),
        ("cf", "0", "3"),
    ] {
        let options =
            ["--format", format, "-t", threads, "--force", "--json", "-pqat:./libqat.so.4"];
        let run = |more: &[&str]| stdout(&good(&dir.0, &[&options[..], more].concat()));
        let json = run(&["--engines", engines, "f", "-o", "f.x"]);
        let served = "\"served_by\": [{\"device\": \"qat\", \"operation\": \"dc.compress\", \"requests\": 5,";
        assert!(json.contains(served) && json.contains("\"provider\": \"qat\""), "{json}");
        good(&dir.0, &["-d", "--format", format, "-pzlib", "--force", "f.x", "-o", "g"]);
        assert!(fs::read(dir.path("g")).unwrap() == data, "{format}, by zlib");
        let json = run(&["-d", "f.x", "-o", "g"]);
        assert!(fs::read(dir.path("g")).unwrap() == data, "{format}");
        // Chunks of a file in one piece are a stream: another device's.
        let by_card = format == "cf" || format == "gzip";
        assert_eq!(
            json.contains("\"device\": \"qat\", \"operation\": \"dc.decompress\""),
            by_card,
            "{json}"
        );
        if format == "gzip" && has("gzip") {
            fs::rename(dir.path("f.x"), dir.path("f.gz")).unwrap();
            let gzip = std::process::Command::new("gzip").arg("-dc").arg(dir.path("f.gz")).output();
            assert!(gzip.unwrap().stdout == data, "gzip agrees");
        }
    }
}

#[test]
fn the_environment_names_a_card() {
    let dir = Scratch::new("card-named");
    symlink(built("liblookaside_qat.so"), dir.path("libqat.so.4")).unwrap();
    dir.file("f", &text(100_000));
    let args = ["f", "--force", "--json", "-p", "qat"];
    let here = ("LOOKASIDE_CARD_LIBRARY", "./libqat.so.4");
    let with = |more: &[(&str, &str)]| named(&dir.0, &[&[here], more].concat(), &args);
    for more in [&[][..], &[("LOOKASIDE_CARD_VERIFY", "card"), ("LOOKASIDE_CARD_TIMEOUT_MS", "50")]]
    {
        let json = stdout(&with(more));
        assert!(json.contains("\"served_by\": [{\"device\": \"qat\""), "{json}");
    }
    for (name, value, says) in [
        ("LOOKASIDE_CARD_VERIFY", "no", "LOOKASIDE_CARD_VERIFY is no, not software or card"),
        ("LOOKASIDE_CARD_TIMEOUT_MS", "0", "LOOKASIDE_CARD_TIMEOUT_MS is 0, not 1 to 600000"),
    ] {
        let refused = with(&[(name, value)]);
        assert!(!refused.status.success());
        assert_eq!(
            stderr(&refused),
            format!("parcomp: no QuickAssist card by ./libqat.so.4: {says}\n")
        );
    }
    // Nobody named: the provider that the paper calls so.
    let json = stdout(&good(&dir.0, &args));
    assert!(json.contains("\"served_by\": [{\"device\": \"cpu\""), "{json}");
}

#[test]
fn a_library_that_is_not_there_is_one_line() {
    let dir = Scratch::new("card-none");
    dir.file("f", b"text");
    let output = run_in(&dir.0, &["f", "-pqat:none.so"]);
    assert!(!output.status.success());
    assert_eq!(stderr(&output), "parcomp: no QuickAssist card by none.so: there is no such file\n");
}
