//! The command as gzip's users call it: in pipes, with several files, with gzip's letters where they mean the same.

mod common;

use std::{fs, process::Command};

use common::{Scratch, good, has, parcomp, pipe, run_in, stderr, stdout, text};

#[test]
fn without_a_file_from_pipe_to_pipe() {
    let data = text(300_000);
    for options in [&[][..], &["-9"], &["-6", "-pzlib"], &["--format", "zstd", "-3"], &["-t2"]] {
        let packed = pipe(parcomp().args(options), &data);
        assert!(packed.status.success() && packed.stderr.is_empty(), "{options:?}: {packed:?}");
        let back = pipe(parcomp().arg("-d"), &packed.stdout);
        assert!(back.stdout == data && back.stderr.is_empty(), "{options:?}: {}", stderr(&back));
    }
    // Larger effort, fewer bytes: the digits are levels.
    let len = |option: &str| pipe(parcomp().arg(option), &data).stdout.len();
    assert!(len("-9") < len("-6") && len("-6") < len("-1") && len("--best") < len("--fast"));
}

#[test]
fn tar_takes_it_as_its_compressor() {
    if !has("tar") {
        return;
    }
    let dir = Scratch::new("tar");
    dir.file("f", &text(200_000));
    for compressor in ["parcomp", "pargzip"] {
        let program = dir.path(compressor);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_parcomp"), &program).unwrap();
        let tar = |args: &[&str]| {
            let mut tar = Command::new("tar");
            let output = tar.current_dir(&dir.0).arg("-I").arg(&program).args(args).output();
            let output = output.unwrap();
            assert!(output.status.success() && output.stderr.is_empty(), "{args:?}: {output:?}");
            output.stdout
        };
        tar(&["-cf", "x.tar.gz", "f"]);
        assert_eq!(tar(&["-tf", "x.tar.gz"]), b"f\n");
        assert_eq!(tar(&["-xOf", "x.tar.gz"]), text(200_000));
        fs::remove_file(dir.path("x.tar.gz")).unwrap();
    }
}

#[test]
fn several_files() {
    let dir = Scratch::new("several");
    let names = ["a", "b", "c"];
    names.iter().enumerate().for_each(|(i, name)| drop(dir.file(name, &text(100_000 * i + 5))));
    good(&dir.0, &["-k", "-q", "-6", "a", "-i", "b", "--", "c"]);
    assert_eq!(dir.names(), ["a", "a.gz", "b", "b.gz", "c", "c.gz"]);
    good(&dir.0, &["--test", "a.gz", "b.gz"]);
    // What is wrong with one does not stop the others.
    names.iter().for_each(|name| fs::remove_file(dir.path(name)).unwrap());
    fs::write(dir.path("b.gz"), b"\x1f\x8bnothing").unwrap();
    let output = run_in(&dir.0, &["-d", "nope.gz", "a.gz", "b.gz", "c.gz"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("nope.gz: ") && said.contains("b.gz: "), "{said}");
    assert_eq!(dir.names(), ["a", "a.gz", "b.gz", "c", "c.gz"]);
    assert!(!run_in(&dir.0, &["--test", "a.gz", "b.gz"]).status.success());
    // Members one after the other are a file, too.
    let both = run_in(&dir.0, &["--to-stdout", "a", "c"]);
    assert!(both.status.success());
    let back = pipe(parcomp().args(["-d", "-"]), &both.stdout);
    assert_eq!(back.stdout, [text(5), text(200_005)].concat());
    assert!(stdout(&good(&dir.0, &["-h"])).contains("tar -I parcomp"));
}
