//! Programs of others that judge us.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::thread;

/// Runs a program on `input`.
pub fn run(program: &str, args: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = child else {
        eprintln!("SKIPPED: no {program} (scripts/setup test installs it)");
        return None;
    };
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let mut out = Vec::new();
    thread::scope(|scope| {
        scope.spawn(move || stdin.write_all(input));
        stdout.read_to_end(&mut out).expect("read");
    });
    let rest = child.wait_with_output().expect("ends");
    let why = String::from_utf8_lossy(&rest.stderr);
    assert!(rest.status.success(), "{program} {args:?}: {why}");
    Some(out)
}

/// What the Python decoder makes of each case: its content, or why it is bad.
pub fn oracle(cases: &[(char, Vec<u8>)]) -> Option<Vec<Result<Vec<u8>, String>>> {
    let mut input = Vec::new();
    for (kind, data) in cases {
        input.push(*kind as u8);
        input.extend((data.len() as u32).to_le_bytes());
        input.extend(data);
    }
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle/lz4.py");
    let out = run("python3", &[program], &input)?;
    let mut rest = &out[..];
    let mut results = Vec::new();
    for _ in cases {
        let (head, after) = rest.split_at(5);
        let len = u32::from_le_bytes(head[1..].try_into().unwrap()) as usize;
        let (data, after) = after.split_at(len);
        results.push(match head[0] {
            0 => Ok(data.to_vec()),
            _ => Err(String::from_utf8_lossy(data).into_owned()),
        });
        rest = after;
    }
    Some(results)
}
