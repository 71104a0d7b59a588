//! What the tests share: data, folders, and the command.

#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

/// The provider that is the library of a format.
pub fn library(format: parcomp::Format) -> &'static str {
    match format {
        parcomp::Format::Lz4 => "lz4",
        parcomp::Format::Zstd => "zstd",
        _ => "zlib",
    }
}

/// A folder that is removed at the end.
pub struct Scratch(pub PathBuf);

impl Scratch {
    pub fn new(name: &str) -> Scratch {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("parcomp-{name}-{}", std::process::id()));
        _ = fs::remove_dir_all(&dir);
        fs::create_dir_all(&dir).unwrap();
        Scratch(dir)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file and returns its path.
    pub fn file(&self, name: &str, data: &[u8]) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, data).unwrap();
        path
    }

    /// The names in it, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

/// The command, with everything in its arguments.
pub fn parcomp() -> Command {
    Command::new(env!("CARGO_BIN_EXE_parcomp"))
}

/// Runs the command with these arguments in a folder.
pub fn run_in(dir: &Path, args: &[&str]) -> Output {
    let output = parcomp().current_dir(dir).args(args).stdin(Stdio::null()).output().unwrap();
    check_no_panic(&output, args);
    output
}

/// As [`run_in`], and it must succeed.
pub fn good(dir: &Path, args: &[&str]) -> Output {
    let output = run_in(dir, args);
    assert!(output.status.success(), "{args:?}: {}", stderr(&output));
    output
}

/// Runs a filter.
pub fn pipe(command: &mut Command, input: &[u8]) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|s| {
        s.spawn(move || _ = stdin.write_all(input));
        child.wait_with_output().unwrap()
    });
    check_no_panic(&output, &[]);
    output
}

fn check_no_panic(output: &Output, args: &[&str]) {
    assert!(!stderr(output).contains("panicked"), "{args:?}: {}", stderr(output));
    assert!(output.status.code().is_some(), "{args:?}: {}", output.status);
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Whether a program is there; says so when not.
pub fn has(program: &str) -> bool {
    let found = Command::new(program)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !found {
        eprintln!("SKIPPED: {program} is not installed");
    }
    found
}

/// Random numbers (SplitMix64).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

/// Incompressible bytes.
pub fn noise(len: usize) -> Vec<u8> {
    let mut random = Random(1);
    let mut v: Vec<u8> = std::iter::repeat_with(|| random.next().to_le_bytes())
        .take(len / 8 + 1)
        .flatten()
        .collect();
    v.truncate(len);
    v
}

/// Words with the frequencies of words.
pub fn text(len: usize) -> Vec<u8> {
    const WORDS: [&str; 16] = [
        "the", "of", "and", "to", "device", "request", "engine", "ring", "doorbell", "chunk",
        "window", "session", "response", "parallel", "\n", "42",
    ];
    let mut random = Random(2);
    let mut v = Vec::with_capacity(len + 10);
    while v.len() < len {
        let r = random.next();
        // The smaller of two: small numbers are more frequent.
        let word = WORDS[(r as usize & 15).min(r as usize >> 4 & 15)];
        v.extend_from_slice(word.as_bytes());
        v.push(b' ');
        if r >> 32 & 7 == 0 {
            v.extend_from_slice(r.to_string().as_bytes());
        }
    }
    v.truncate(len);
    v
}
