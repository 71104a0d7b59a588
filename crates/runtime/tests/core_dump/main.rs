//! A core dump of a process whose sessions are gone holds no piece of a key, and one of a process whose
//! sessions live neither, RSA keys apart: their keys are in memory that dumps leave out.
//!
//! Each test starts this program again as a process that makes sessions of all kinds, uses them and drops
//! them. In between it stops, and the test searches all of its memory that a core dump could have for
//! any 8 bytes of a key, of AES round keys and of HMAC's states.

mod child;
mod keys;
mod many;
mod memory;

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use lookaside_simd::Cpu;
use memory::{Mapping, Pieces, mappings};

/// Which process to be: `0 sym`, for one.
const CHILD: &str = "LOOKASIDE_TEST_CORE_DUMP";

#[test]
#[ignore = "the process that the other tests start"]
fn process() {
    let Ok(which) = std::env::var(CHILD) else { return };
    let (engines, kind) = which.split_once(' ').expect("engines and kind");
    match kind {
        "many" => many::live(),
        kind => child::live(engines.parse().expect("a number"), kind == "pke"),
    }
}

fn pieces() -> Pieces {
    let mut pieces = Pieces::new();
    for key in keys::SYM.iter().chain(keys::PKE) {
        let bytes = keys::bytes(key.name);
        assert_eq!(bytes.0.len(), key.len);
        pieces.add(key.name, &bytes.0);
        pieces.add_digits(key.name, &bytes.0);
    }
    for name in keys::AES {
        let key = keys::bytes(name);
        let halves = if name.contains("XTS") { 2 } else { 1 };
        for key in key.0.chunks(key.0.len() / halves) {
            pieces.add(&format!("round keys of {name}"), &keys::aes_schedule(key));
            pieces.add(&format!("inverse round keys of {name}"), &keys::aes_inverse_schedule(key));
        }
    }
    for name in ["HMAC-SHA-256", "chain: HMAC", "TLS record: HMAC"] {
        for state in keys::hmac_sha256_states(&keys::bytes(name).0) {
            pieces.add_words(&format!("state of {name}"), &state);
        }
    }
    for name in keys::RSA {
        let number = keys::number(name);
        pieces.add(&format!("RSA {name}"), &number.0);
        pieces.add_digits(&format!("RSA {name}"), &number.0);
    }
    pieces
}

/// Runs the process and calls `look` at each of its stages.
fn at_each_stage(which: &str, mut look: impl FnMut(&str, u32)) {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "process", "--ignored", "--nocapture", "--test-threads=1"])
        .env(CHILD, which)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let (mut stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut stages = 0;
    for line in BufReader::new(stdout).lines() {
        if let Some(stage) = line.expect("a line").strip_prefix("stage ") {
            stages += 1;
            look(stage, child.id());
            stdin.write_all(b"\n").expect("the process waits");
        }
    }
    assert!(child.wait().expect("its end").success());
    assert_eq!(stages, 4);
}

/// What a dump of the process would show, of mappings that `counts` accepts.
fn found(pieces: &Pieces, pid: u32, counts: impl Fn(&Mapping) -> bool) -> Vec<String> {
    let memory = File::open(format!("/proc/{pid}/mem")).expect("its memory");
    let mappings = mappings(pid);
    mappings.iter().filter(|m| counts(m)).flat_map(|m| pieces.find(&memory, m)).collect()
}

/// Sessions have their keys in memory that dumps leave out, and that is locked as far as the process may.
fn kept(which: &str, pieces: &Pieces, pid: u32) {
    let secret =
        |m: &Mapping| m.has("dd") && !found(pieces, pid, |one| one.start == m.start).is_empty();
    let secret: Vec<Mapping> = mappings(pid).into_iter().filter(secret).collect();
    assert!(which.ends_with("pke") || !secret.is_empty(), "where are the keys?");
    // The first chunk of the memory for keys has 64 KiB.
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: room for the limit.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    if limit.rlim_cur >= 8 << 20 {
        assert!(secret.iter().all(|m| m.has("lo")), "not locked: {secret:?}");
    } else {
        println!("SKIPPED: locked memory, of which this process may have {} bytes", limit.rlim_cur);
    }
}

/// RSA keys, and without AVX2 those of AES-GCM in pieces.
fn aws_lc_keeps(what: &str) -> bool {
    let gcm = what.contains("round keys of") && (what.contains("GCM") || what.contains("GMAC"));
    what.starts_with("RSA ") || (gcm && Cpu::host().avx2().is_none())
}

fn search(which: &str) {
    let (pieces, mut wrong) = (pieces(), Vec::new());
    at_each_stage(which, |stage, pid| {
        let alive = matches!(stage, "alive" | "used");
        // What dumps leave out may hold keys as long as there are sessions.
        let counts = |m: &Mapping| !(alive && m.has("dd"));
        // AWS-LC has memory of its own, as SECURITY.md says.
        let look = || {
            let mut found = found(&pieces, pid, counts);
            match pieces.find_in_registers(pid) {
                Some(more) => found.extend(more),
                None => println!("SKIPPED: registers, which this process may not see"),
            }
            found.retain(|what| !(alive && aws_lc_keeps(what)));
            found
        };
        let mut found = look();
        // An engine overwrites its stack before it sleeps, which may not be at once.
        for _ in 0..20 {
            if !found.is_empty() {
                thread::sleep(Duration::from_millis(100));
                found = look();
            }
        }
        if alive {
            kept(which, &pieces, pid);
        }
        wrong.extend(found.into_iter().map(|what| format!("{stage}: {what}")));
    });
    assert!(wrong.is_empty(), "{} pieces of keys:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn symmetric_keys_with_0_engines() {
    search("0 sym");
}

#[test]
fn symmetric_keys_with_an_engine() {
    search("1 sym");
}

#[test]
fn private_keys_with_0_engines() {
    search("0 pke");
}

#[test]
fn private_keys_with_an_engine() {
    search("1 pke");
}

#[test]
fn symmetric_keys_of_batches_of_all_sizes() {
    search("1 many");
}
