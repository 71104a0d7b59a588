//! Output files: whole under their name, or not there.

mod common;

use std::{
    fs,
    io::{Read, Write},
    os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    },
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use common::{Scratch, good, noise, parcomp, pipe, run_in, stderr, text};

#[test]
fn names_without_o() {
    let dir = Scratch::new("names");
    let data = text(10_000);
    dir.file("f", &data);
    for (format, name) in [("gzip", "f.gz"), ("zlib", "f.zz"), ("raw", "f.deflate"), ("cf", "f.cf")]
    {
        good(&dir.0, &["-q", "--format", format, "f"]);
        fs::remove_file(dir.path("f")).unwrap();
        // By suffix and beginning; no --format.
        good(&dir.0, &["-dq", name]);
        assert_eq!(fs::read(dir.path("f")).unwrap(), data);
        fs::remove_file(dir.path(name)).unwrap();
    }
    let unknown = run_in(&dir.0, &["-d", "f"]);
    assert_eq!(unknown.status.code(), Some(1));
    assert!(stderr(&unknown).contains("unknown suffix"));
    assert_eq!(dir.names(), ["f"]);
}

#[test]
fn nothing_is_replaced_without_force() {
    let dir = Scratch::new("force");
    dir.file("f", &text(10_000));
    dir.file("f.gz", b"precious");
    let refused = run_in(&dir.0, &["f"]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(stderr(&refused).contains("exists"), "{}", stderr(&refused));
    assert_eq!(fs::read(dir.path("f.gz")).unwrap(), b"precious");
    good(&dir.0, &["-q", "f", "--force"]);
    assert_ne!(fs::read(dir.path("f.gz")).unwrap(), b"precious");
    // A link is followed, not replaced.
    dir.file("target", b"old");
    symlink("target", dir.path("link")).unwrap();
    good(&dir.0, &["-q", "f", "-olink", "--force"]);
    assert!(fs::symlink_metadata(dir.path("link")).unwrap().is_symlink());
    assert_eq!(fs::read(dir.path("target")).unwrap()[..2], [0x1f, 0x8b]);
    // In place.
    good(&dir.0, &["-q", "f", "-of", "--force"]);
    good(&dir.0, &["-dq", "f", "-og"]);
    assert_eq!(fs::read(dir.path("g")).unwrap(), text(10_000));
}

#[test]
fn a_file_that_appears_meanwhile_is_not_replaced() {
    let dir = Scratch::new("race");
    let mut child = start(&dir, &["-", "-oout"]);
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(&text(500_000)).unwrap();
    wait_until(|| read_bytes(&child) > 400_000);
    dir.file("out", b"first");
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((fs::read(dir.path("out")).unwrap(), dir.names().len()), (b"first".to_vec(), 1));
}

#[test]
fn permissions_are_kept() {
    let dir = Scratch::new("mode");
    let path = dir.file("f", b"secret");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    good(&dir.0, &["-q", "f"]);
    let mode = |name| fs::metadata(dir.path(name)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("f.gz"), 0o640);
    good(&dir.0, &["-q", "f.gz", "-d", "-og"]);
    assert_eq!(mode("g"), 0o640);
}

fn start(dir: &Scratch, args: &[&str]) -> Child {
    parcomp()
        .current_dir(&dir.0)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// How much a process has read so far.
fn read_bytes(child: &Child) -> u64 {
    let io = fs::read_to_string(format!("/proc/{}/io", child.id())).unwrap_or_default();
    let line = io.lines().find_map(|l| l.strip_prefix("rchar: "));
    line.and_then(|n| n.parse().ok()).unwrap_or(0)
}

fn wait_until(f: impl Fn() -> bool) {
    let start = Instant::now();
    while !f() {
        assert!(start.elapsed() < Duration::from_secs(20), "nothing happened");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_process_that_is_killed_leaves_no_file() {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    for (signal, number) in [("-KILL", 9), ("-TERM", 15), ("-INT", 2)] {
        if ignored >> (number - 1) & 1 == 1 {
            // A shell without job control has what it starts in the background ignore SIGINT.
            eprintln!("SKIPPED: this process was started with signal {number} ignored");
            continue;
        }
        let dir = Scratch::new(&format!("kill{number}"));
        let mut child = start(&dir, &["-", "-oout", "-c16"]);
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&noise(4_000_000)).unwrap();
        wait_until(|| read_bytes(&child) > 3_900_000);
        let killed = Command::new("kill").arg(signal).arg(child.id().to_string()).status();
        assert!(killed.unwrap().success());
        assert_eq!(child.wait().unwrap().signal(), Some(number));
        assert!(!dir.path("out").exists());
        // With `kill -9` on a file system without nameless files, a temporary one stays.
        assert!(number == 9 || dir.names().is_empty(), "{:?}", dir.names());
    }
}

#[test]
fn bad_input_leaves_no_file() {
    let dir = Scratch::new("bad");
    dir.file("f.gz", b"not gzip at all");
    let output = run_in(&dir.0, &["-d", "f.gz"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("not in gzip format"), "{}", stderr(&output));
    let missing = run_in(&dir.0, &["nowhere"]);
    assert_eq!(missing.status.code(), Some(1));
    assert!(stderr(&missing).contains("nowhere"));
    let folder = run_in(&dir.0, &["."]);
    assert!(stderr(&folder).contains("directory"));
    let nowhere = run_in(&dir.0, &["f.gz", "-o", "no/such/folder"]);
    assert_eq!(nowhere.status.code(), Some(1));
    assert_eq!(dir.names(), ["f.gz"]);
}

#[test]
fn a_full_disk_is_an_error_that_says_so() {
    let dir = Scratch::new("full");
    dir.file("f", &noise(2_000_000));
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let output = parcomp().current_dir(&dir.0).args(["f", "-o-"]).stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
    let output = run_in(&dir.0, &["f", "-o/dev/full"]);
    assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));

    // A real file system, where we may make one.
    let small = dir.path("small");
    fs::create_dir(&small).unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "none"])
        .arg(&small)
        .stderr(Stdio::null())
        .status();
    if !mounted.is_ok_and(|s| s.success()) {
        eprintln!("SKIPPED: cannot mount a small file system");
        return;
    }
    let output = run_in(&dir.0, &["f", "-osmall/out"]);
    let names: Vec<_> = fs::read_dir(&small).unwrap().map(|e| e.unwrap().file_name()).collect();
    _ = Command::new("umount").arg(&small).status();
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("No space left"), "{}", stderr(&output));
    assert!(names.is_empty(), "{names:?}");
}

#[test]
fn a_reader_that_goes_away_is_no_news() {
    let dir = Scratch::new("head");
    dir.file("f", &noise(2_000_000));
    let mut child = start(&dir, &["f", "-o-"]);
    let mut first = [0; 2];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), stderr(&output)), (Some(1), String::new()));
}

#[test]
fn verify_reads_the_output_back() {
    let dir = Scratch::new("verify");
    dir.file("f", &text(300_000));
    for format in ["gzip", "zlib", "raw", "cf"] {
        good(&dir.0, &["-q", "--verify", "--force", "--format", format, "f", "-oout"]);
        let piped = pipe(
            parcomp().current_dir(&dir.0).args(["-q", "--verify", "--force", "-", "-oout"]),
            &text(300_000),
        );
        assert!(piped.status.success(), "{}", stderr(&piped));
    }
    let refused = run_in(&dir.0, &["--verify", "f", "-o-"]);
    assert_eq!(refused.status.code(), Some(1));
}

#[test]
fn iterations_write_the_file_once() {
    let dir = Scratch::new("iterations");
    dir.file("f", &text(100_000));
    good(&dir.0, &["-q", "f", "-n3"]);
    good(&dir.0, &["-dq", "f.gz", "-og", "-n3"]);
    assert_eq!(fs::read(dir.path("g")).unwrap(), text(100_000));
    let refused = pipe(parcomp().args(["-n2", "-"]), b"x");
    assert_eq!(refused.status.code(), Some(1));
}

/// The high-water mark of a process's memory, in bytes.
fn peak(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn memory_is_bounded() {
    let dir = Scratch::new("memory");
    let piece = text(1 << 20);
    let mut child = start(&dir, &["-", "-oout", "-q"]);
    let mut stdin = child.stdin.take().unwrap();
    for _ in 0..1024 {
        stdin.write_all(&piece).unwrap();
    }
    let most = peak(&child);
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(most < 100 << 20, "compression took {} MB", most >> 20);

    let mut child = start(&dir, &["-dq", "out", "-o-"]);
    let mut stdout = child.stdout.take().unwrap();
    let (mut len, mut most, mut same) = (0u64, 0, true);
    let mut buffer = vec![0; 1 << 20];
    loop {
        let mut filled = 0;
        while filled < buffer.len() {
            match stdout.read(&mut buffer[filled..]).unwrap() {
                0 => break,
                n => filled += n,
            }
        }
        if filled == 0 {
            break;
        }
        len += filled as u64;
        same &= buffer[..filled] == piece[..filled];
        if len == 1000 << 20 {
            most = peak(&child);
        }
    }
    assert!(child.wait().unwrap().success());
    assert!(len == 1 << 30 && same);
    assert!(most > 0 && most < 100 << 20, "decompression took {} MB", most >> 20);
}
