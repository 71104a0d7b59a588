//! What goes in comes out: sizes, formats, providers, options; judged by other programs too.

mod common;

use std::{fs, process::Command};

use common::{Scratch, good, has, library, noise, parcomp, pipe, stderr, text};
use parcomp::{Doorbell, Error, Format, Params, Wait};

const K: usize = 1024;

fn inputs() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("empty", Vec::new()),
        ("one", vec![b'x']),
        ("64K", text(64 * K)),
        ("64K+1", text(64 * K + 1)),
        ("text", text(2_500_000)),
        ("noise", noise(700_000)),
        ("zeros", vec![0; 3_000_000]),
    ]
}

/// Decompresses with a program that is not ours.
fn foreign(format: Format, packed: &[u8]) -> Option<Vec<u8>> {
    let mut command = match format {
        Format::Gzip if has("gunzip") => {
            let mut c = Command::new("gunzip");
            c.arg("-c");
            c
        }
        Format::Zlib | Format::Raw if has("python3") => {
            let mut c = Command::new("python3");
            let bits = if format == Format::Raw { -15 } else { 15 };
            let program = format!(
                "import sys, zlib\nd = zlib.decompressobj({bits})\n\
                 out = d.decompress(sys.stdin.buffer.read()) + d.flush()\n\
                 assert d.eof and not d.unused_data\nsys.stdout.buffer.write(out)"
            );
            c.args(["-c", &program]);
            c
        }
        Format::Lz4 | Format::Zstd if has(format.name()) => {
            let mut c = Command::new(format.name());
            c.args(["-d", "-c", "-q"]);
            c
        }
        _ => return None,
    };
    let output = pipe(&mut command, packed);
    assert!(output.status.success(), "{format}: {}", stderr(&output));
    Some(output.stdout)
}

/// Compresses with one set of options, decompresses with another, and with a foreign program.
fn round_trip(
    dir: &Scratch,
    input: &str,
    data: &[u8],
    format: Format,
    options: &[&str],
    back: &[&str],
) {
    let name = format!("{options:?} {format} {input}");
    let args =
        [&["-q", "--force", "--format", format.name(), "-i", input, "-o", "packed"], options];
    good(&dir.0, &args.concat());
    let packed = fs::read(dir.path("packed")).unwrap();
    let args = [&["-q", "--force", "-d", "--format", format.name(), "packed", "-oback"], back];
    good(&dir.0, &args.concat());
    assert!(fs::read(dir.path("back")).unwrap() == data, "{name}");
    if let Some(theirs) = foreign(format, &packed) {
        assert!(theirs == data, "{name}: the foreign program differs");
    }
}

#[test]
fn every_input_format_and_provider() {
    let dir = Scratch::new("inputs");
    for (input, data) in inputs() {
        dir.file(input, &data);
        for format in Format::ALL {
            let library = ["-p", library(format)];
            round_trip(&dir, input, &data, format, &["-plookaside"], &library);
            round_trip(&dir, input, &data, format, &library, &["-pqat"]);
        }
    }
}

#[test]
fn every_option() {
    let dir = Scratch::new("options");
    let data = text(800_000);
    dir.file("in", &data);
    let options: [&[&str]; 16] = [
        &["-s"],
        &["-t4"],
        &["-t3", "-j1", "-c", "4"],
        &["-l6"],
        &["-l9"],
        &["-l12"],
        &["-l0"],
        &["-w0", "-l6"],
        &["-j1"],
        &["-j256", "-c1"],
        &["-c1000000", "-t2"],
        &["--engines", "0"],
        &["--engines", "3", "--wait", "poll"],
        &["--wait=event", "--doorbell=request"],
        &["--engines=0", "--wait=event"],
        &["-yffff", "-t2"],
    ];
    for options in options {
        for format in [Format::Gzip, Format::Raw] {
            round_trip(&dir, "in", &data, format, options, options);
        }
    }
    for options in [&["-pzlib", "-t4"][..], &["-pzlib", "-l9", "-s", "-w9"], &["-pzlib", "-l0"]] {
        for format in [Format::Gzip, Format::Zlib] {
            round_trip(&dir, "in", &data, format, options, &["-pzlib"]);
        }
    }
}

#[test]
fn standard_input_and_output() {
    let data = text(300_000);
    for args in [&["-"][..], &["-i-", "-o", "-"], &["-", "--stdout", "-t2"]] {
        let packed = pipe(parcomp().args(args), &data);
        assert!(packed.status.success() && packed.stderr.is_empty(), "{}", stderr(&packed));
        let back = pipe(parcomp().args(["-d", "-"]), &packed.stdout);
        assert!(back.status.success() && back.stdout == data, "{}", stderr(&back));
    }
}

#[test]
fn sizes_around_the_chunk() {
    let all = text(3 * 1000 + 2);
    for format in Format::ALL {
        for provider in [library(format), "lookaside"] {
            let provider = parcomp::provider(provider).unwrap();
            let params = Params { format, chunk_size: 1000, ..Params::default() };
            for len in [0, 1, 999, 1000, 1001, 1999, 2000, 2001, 3000, 3002] {
                let data = &all[..len];
                let mut packed = vec![0; parcomp::bound(&*provider, &params, len) + 16];
                let n = parcomp::compress_buffer(&*provider, &params, data, &mut packed).unwrap();
                let mut back = vec![0; len];
                let m = parcomp::decompress_buffer(&*provider, &params, &packed[..n], &mut back)
                    .unwrap();
                assert!(m == len && back == data, "{format} {len}");
            }
        }
    }
}

#[test]
fn buffers_with_every_way_of_waiting() {
    let data = text(1_000_000);
    let device = parcomp::provider("qat").unwrap();
    assert_eq!(device.name(), "lookaside");
    for engines in [0, 1, 3] {
        for wait in [Wait::Block, Wait::Poll, Wait::Event] {
            for (doorbell, copy, num_threads, jobs) in [
                (Doorbell::Batch, false, 0, 0),
                (Doorbell::Request, true, 0, 1),
                (Doorbell::Batch, true, 2, 5),
                (Doorbell::Request, false, 3, 24),
            ] {
                let params = Params {
                    engines: Some(engines),
                    wait,
                    doorbell,
                    copy,
                    num_threads,
                    max_jobs_outstanding: jobs,
                    chunk_size: 10_000,
                    verify: true,
                    ..Params::default()
                };
                let mut packed = vec![0; parcomp::bound(&*device, &params, data.len())];
                let n = parcomp::compress_buffer(&*device, &params, &data, &mut packed).unwrap();
                let mut back = vec![0; data.len()];
                parcomp::decompress_buffer(&*device, &params, &packed[..n], &mut back).unwrap();
                assert!(back == data, "{params:?}");
            }
        }
    }
}

#[test]
fn destinations_that_are_too_small() {
    let data = text(200_000);
    for format in Format::ALL {
        for provider in [library(format), "lookaside", "model:chipset2019"] {
            let provider = parcomp::provider(provider).unwrap();
            let params = Params { format, ..Params::default() };
            let mut packed = vec![0; 300_000];
            let n = parcomp::compress_buffer(&*provider, &params, &data, &mut packed).unwrap();
            for room in [0, 1, 1000, n - 1] {
                let e = parcomp::compress_buffer(&*provider, &params, &data, &mut packed[..room]);
                match e {
                    Err(Error::DstTooSmall { needed: Some(needed) }) => assert_eq!(needed, n),
                    other => panic!("{format} {room}: {other:?}"),
                }
            }
            assert_eq!(
                parcomp::compress_buffer(&*provider, &params, &data, &mut packed[..n]).unwrap(),
                n
            );
            let mut back = vec![0; data.len()];
            for room in [0, 1, data.len() - 1] {
                let e = parcomp::decompress_buffer(
                    &*provider,
                    &params,
                    &packed[..n],
                    &mut back[..room],
                );
                let known = (format == Format::Gzip).then_some(data.len());
                match e {
                    Err(Error::DstTooSmall { needed }) => assert_eq!(needed, known),
                    other => panic!("{format} {room}: {other:?}"),
                }
            }
        }
    }
}

/// The source of a stream may be used up while a destination is full and more is to come.
#[test]
fn streams_that_end_behind_a_full_destination() {
    let zlib = parcomp::provider("zlib").unwrap();
    let zeros = vec![0; 600_000];
    // The block of a `cf` file is a whole DEFLATE stream that ends as soon as it can.
    let cf = Params { format: Format::Cf, chunk_size: 1 << 20, level: 9, ..Params::default() };
    let raw = Params { format: Format::Raw, ..Params::default() };
    for more in 0..600 {
        // 256 KB is the destination of one piece.
        let data = &zeros[..256 * K + more];
        let mut packed = vec![0; 10_000];
        let n = parcomp::compress_buffer(&*zlib, &cf, data, &mut packed).unwrap();
        for name in ["zlib", "lookaside"] {
            let provider = parcomp::provider(name).unwrap();
            let mut back = vec![1; data.len()];
            let m = parcomp::decompress_buffer(&*provider, &raw, &packed[4..n], &mut back);
            assert!(m.unwrap() == data.len() && back == data, "{name} {more}");
        }
    }
}

#[test]
fn the_output_does_not_depend_on_threads_and_jobs() {
    let dir = Scratch::new("same");
    dir.file("in", &text(500_000));
    let mut first = None;
    for options in [&["-j1"][..], &["-j64"], &["-t3"], &["--engines=0"]] {
        good(&dir.0, &[&["-q", "--force", "in"], options].concat());
        let packed = fs::read(dir.path("in.gz")).unwrap();
        assert!(*first.get_or_insert_with(|| packed.clone()) == packed, "{options:?}");
    }
}
