//! The Rust of README.md and of the guide, word for word: what is changed there is to be changed here. It compiles and runs.

const README: &str = include_str!("../../../README.md");
const GUIDE: &str = include_str!("../../../docs/guides/rust.md");
#[allow(dead_code)]
#[path = "../../../examples/rust/compress.rs"]
mod compress;

const HERE: &str = include_str!("readme.rs");

#[rustfmt::skip]
#[test]
fn the_guides_rust_runs() {
    use lookaside::{Buf, Compression, InstanceConfig, Runtime};
    use std::time::Duration;

    fn main() -> Result<(), Box<dyn std::error::Error>> {
        let runtime = Runtime::builder().device(lookaside_cpu::cpu()).engines(2).start()?;
        let session = runtime.compression(Compression { level: 6, ..Compression::default() })?;
        let mut instance = runtime.instance(InstanceConfig::default())?;

        let src = Buf::from(b"a line of a log\n".repeat(1000));
        let dst = Buf::zeroed(session.bound(src.len()));
        instance.push(session.compress(src, dst).tag(7))?; // the buffers move in ...
        instance.doorbell(); // ... one doorbell for many requests ...
        instance.wait(Duration::from_secs(1)); // or poll, an event fd, a future
        for response in instance.poll() {
            println!("request {}: {} bytes", response.tag, response.result?.produced); // ... and come back
        }
        Ok(())
    }

    main().unwrap();
}

#[test]
fn the_guides_rust_is_here() {
    let lines = |text: &str| -> String {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.map(|line| format!("{line}\n")).collect()
    };
    let here = lines(HERE);
    let blocks: Vec<&str> =
        [README, GUIDE].iter().flat_map(|text| text.split("```rust\n").skip(1)).collect();
    assert!(!blocks.is_empty(), "docs/guides/rust.md shows the library in Rust");
    for block in blocks {
        let block = lines(block.split("```").next().unwrap());
        assert!(here.contains(&block), "not in crates/runtime/tests/readme.rs:\n{block}");
    }
}

/// The example's members, one after the other, are what gzip reads.
#[test]
fn the_example_compresses() {
    use std::{io::Write, process};
    let text = b"a line of a log, and another one\n".repeat(20_000);
    for (length, members) in [(text.len(), 11), (131_072, 2), (0, 1)] {
        let mut small = Vec::new();
        assert_eq!(compress::compress(&text[..length], &mut small).unwrap(), members);
        let mut gzip = process::Command::new("gzip");
        gzip.arg("-dc").stdin(process::Stdio::piped()).stdout(process::Stdio::piped());
        let mut child = gzip.spawn().expect("gzip");
        // Less than a pipe holds.
        child.stdin.take().unwrap().write_all(&small).unwrap();
        assert!(child.wait_with_output().unwrap().stdout == text[..length]);
    }
}
