//! Damaged and hostile files: an error, no panic, no output file, no memory.

mod common;

use std::{fs, path::Path};

use common::{Scratch, good, parcomp, run_in, text};
use parcomp::{Error, Format, Params, Source};

/// Decompresses `packed`; returns the exit status and the data if there is an output file.
fn attempt(dir: &Scratch, packed: &[u8], options: &[&str]) -> (Option<i32>, Option<Vec<u8>>) {
    dir.file("f.gz", packed);
    let output = run_in(&dir.0, &[&["-dq", "f.gz"], options].concat());
    let data = fs::read(dir.path("f")).ok();
    _ = fs::remove_file(dir.path("f"));
    assert_eq!(dir.names(), ["f.gz"]);
    (output.status.code(), data)
}

fn small() -> (Vec<u8>, Vec<u8>) {
    let data = text(90);
    let params = Params::default();
    let mut packed = vec![0; 1000];
    let zlib = parcomp::provider("zlib").unwrap();
    let n = parcomp::compress_buffer(&*zlib, &params, &data, &mut packed).unwrap();
    packed.truncate(n);
    (data, packed)
}

#[test]
fn every_truncation() {
    let dir = Scratch::new("truncated");
    let (data, packed) = small();
    assert_eq!(attempt(&dir, &packed, &[]), (Some(0), Some(data)));
    for len in 0..packed.len() {
        for options in [&["--engines=0"][..], &["-pzlib"]] {
            assert_eq!(
                attempt(&dir, &packed[..len], options),
                (Some(1), None),
                "{len} {options:?}"
            );
        }
    }
}

/// Flips each bit. Where a decoder may ignore it, the data must be the same; else it is an error.
fn flips(packed: &[u8], data: &[u8], ignorable: impl Fn(usize) -> bool, name: &str) {
    let dir = Scratch::new(name);
    let mut ignored = 0;
    for bit in 0..packed.len() * 8 {
        let mut bad = packed.to_vec();
        bad[bit / 8] ^= 1 << (bit % 8);
        match attempt(&dir, &bad, &["--engines=0"]) {
            (Some(1), None) => {}
            (Some(0), Some(same)) if same == data && ignorable(bit / 8) => ignored += 1,
            (code, got) => {
                panic!(
                    "bit {} of byte {}: {code:?}, {:?} bytes",
                    bit % 8,
                    bit / 8,
                    got.map(|g| g.len())
                )
            }
        }
    }
    assert!(ignored > 0);
}

#[test]
fn every_bit_flip_with_an_index() {
    let (data, packed) = small();
    // FLG (its text bit), MTIME, XFL, OS, the extra field, and the padding after the last block.
    let padding = packed.len() - 9;
    flips(&packed, &data, |i| (3..24).contains(&i) || i == padding, "flips");
}

#[test]
fn every_bit_flip_without_an_index() {
    let (data, packed) = small();
    let plain = [&b"\x1f\x8b\x08\0\0\0\0\0\0\xff"[..], &packed[24..]].concat();
    let padding = plain.len() - 9;
    flips(&plain, &data, |i| (3..10).contains(&i) || i == padding, "plain");
}

/// Buffer to buffer, so that thousands are quick.
fn unpack(provider: &str, params: &Params, packed: &[u8], room: usize) -> Result<Vec<u8>, Error> {
    let provider = parcomp::provider(provider).unwrap();
    let mut out = vec![0; room];
    let n = parcomp::decompress_buffer(&*provider, params, packed, &mut out)?;
    out.truncate(n);
    Ok(out)
}

/// As a reader, which the fallback has to rewind by itself.
fn unpack_reader(params: &Params, mut packed: &[u8]) -> Result<Vec<u8>, Error> {
    let provider = parcomp::provider("lookaside").unwrap();
    let mut out = Vec::new();
    let source = Source::Reader { reader: &mut packed, len: None };
    parcomp::decompress(&*provider, params, source, &mut out, &mut |_, _| ())?;
    Ok(out)
}

#[test]
fn an_index_that_lies_is_found_out() {
    let data = text(50_000);
    let params = Params { chunk_size: 1000, ..Params::default() };
    let device = parcomp::provider("lookaside").unwrap();
    let mut packed = vec![0; 100_000];
    let n = parcomp::compress_buffer(&*device, &params, &data, &mut packed).unwrap();
    packed.truncate(n);
    // Where members begin.
    let mut starts = Vec::new();
    let mut at = 0;
    while at < n {
        starts.push(at);
        at += u32::from_le_bytes(packed[at + 16..at + 20].try_into().unwrap()) as usize;
    }
    assert_eq!(starts.len(), 50);
    for &member in [0, 1, 20, 49].map(|i| &starts[i]) {
        for (field, len) in [(16, n as u32), (20, 1000)] {
            let at = member + field;
            let good = u32::from_le_bytes(packed[at..at + 4].try_into().unwrap());
            let wrong =
                [0, 1, 31, 33, good - 1, good + 1, good * 2, len, 1 << 24, 1 << 31, u32::MAX];
            for wrong in wrong.into_iter().filter(|&w| w != good) {
                let mut bad = packed.clone();
                bad[at..at + 4].copy_from_slice(&wrong.to_le_bytes());
                // The members themselves are good, so gunzip reads this, and so do we.
                for provider in ["zlib", "lookaside"] {
                    let got = unpack(provider, &params, &bad, data.len()).unwrap();
                    assert!(got == data, "{provider}: member at {member}, field {field}, {wrong}");
                }
                assert!(unpack_reader(&params, &bad).unwrap() == data);
            }
        }
    }
    // Two members behind the length of one: the second is not lost.
    let mut bad = packed.clone();
    bad[16..20].copy_from_slice(&(starts[2] as u32).to_le_bytes());
    assert!(unpack_reader(&params, &bad).unwrap() == data);
    bad[20..24].copy_from_slice(&2000u32.to_le_bytes());
    assert!(unpack_reader(&params, &bad).unwrap() == data);
}

#[test]
fn random_damage_in_every_format() {
    let data = text(20_000);
    let mut random = common::Random(7);
    for format in Format::ALL {
        let params = Params { format, chunk_size: 3000, limit: Some(1 << 20), ..Params::default() };
        let library = common::library(format);
        let provider = parcomp::provider(library).unwrap();
        let mut packed = vec![0; 40_000];
        let n = parcomp::compress_buffer(&*provider, &params, &data, &mut packed).unwrap();
        packed.truncate(n);
        for round in 0..400 {
            let mut bad = packed.clone();
            for _ in 0..=round % 3 {
                let at = random.next() as usize % bad.len();
                bad[at] = random.next() as u8;
            }
            if round % 4 == 0 {
                bad.truncate(random.next() as usize % bad.len());
            }
            let ours = unpack("lookaside", &params, &bad, 1 << 20);
            let theirs = unpack(library, &params, &bad, 1 << 20);
            let checked = !matches!(format, Format::Raw | Format::Cf);
            match (ours, theirs) {
                // What is no longer blocks or frames with their lengths is streamed; these do not.
                (Ok(a), Err(Error::Unsupported { .. })) => assert!(data.starts_with(&a)),
                // Raw data has no checksum: both may find something, but then the same.
                (Ok(a), Ok(b)) => assert!(a == b && (!checked || data.starts_with(&a))),
                (Err(_), Err(_)) => {}
                (a, b) => panic!(
                    "{format} round {round}: {:?} {:?}",
                    a.map(|v| v.len()),
                    b.map(|v| v.len())
                ),
            }
        }
    }
}

#[test]
fn cf_blocks_of_any_size() {
    // One block of 20 MB of zeros: more than is decompressed in one piece, and a guess for the
    // destination that is far too small. Then a small one.
    let data = [vec![0; 20 << 20], text(1000)].concat();
    let large = Params { format: Format::Cf, chunk_size: 20 << 20, ..Params::default() };
    let small = Params { format: Format::Cf, chunk_size: 1000, ..Params::default() };
    for provider in ["zlib", "lookaside"] {
        let p = parcomp::provider(provider).unwrap();
        let mut packed = vec![0; 1 << 20];
        let n = parcomp::compress_buffer(&*p, &large, &data, &mut packed).unwrap();
        for params in [&large, &small] {
            assert!(unpack(provider, params, &packed[..n], data.len()).unwrap() == data);
        }
        assert!(unpack_reader(&small, &packed[..n]).unwrap() == data);
        // Lengths that lie: into the next block, beyond the end.
        for wrong in [0, 1, 100, n as u32 - 3, n as u32, 1 << 31, u32::MAX] {
            packed[..4].copy_from_slice(&wrong.to_le_bytes());
            let bad = unpack(provider, &small, &packed[..n], data.len());
            assert!(
                matches!(bad, Err(Error::BadData { .. })),
                "{provider} {wrong}: {:?}",
                bad.map(|v| v.len())
            );
        }
    }
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let dir = Scratch::new("bomb");
    dir.file("zeros", &vec![0; 5 << 20]);
    for format in ["gzip", "zlib", "raw", "cf"] {
        let packed = format!("{format}.packed");
        good(&dir.0, &["-q", "--format", format, "zeros", "-o", &packed]);
        let decompress = |limit| {
            run_in(
                &dir.0,
                &["-d", "--format", format, &packed, "-oout", "--force", "--limit", limit],
            )
        };
        let output = decompress("1M");
        assert_eq!(output.status.code(), Some(1));
        assert!(common::stderr(&output).contains("limit"), "{}", common::stderr(&output));
        assert!(!dir.path("out").exists());
        assert!(decompress("5M").status.success());
        fs::remove_file(dir.path("out")).unwrap();
    }
}

/// The high-water mark of a process's memory, in bytes.
fn peak(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn hostile_lengths_cost_no_memory() {
    use std::io::{Read, Write};
    // Two hundred members that claim 16 MB each, in data that never ends and never fits.
    let mut member = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x0c\0LA\x08\0".to_vec();
    member.extend_from_slice(&(16u32 << 20).to_le_bytes());
    member.extend_from_slice(&(16u32 << 20).to_le_bytes());
    member.resize(16 << 20, 0);
    let mut child = parcomp()
        .args(["-d", "-q", "-j256", "-", "-o", "-"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let mut most = 0;
    for _ in 0..20 {
        if stdin.write_all(&member).is_err() {
            break;
        }
        if Path::new(&format!("/proc/{}/status", child.id())).exists()
            && child.try_wait().unwrap().is_none()
        {
            most = most.max(peak(child.id()));
        }
    }
    drop(stdin);
    let mut message = String::new();
    child.stderr.take().unwrap().read_to_string(&mut message).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1), "{message}");
    assert!(most > 0 && most < 250 << 20, "{} MB", most >> 20);
}

/// A length that lies, far behind the first: the block is judged by its own.
#[test]
fn a_cf_length_that_lies() {
    let data = vec![text(65_536); 8].concat();
    let params = Params { format: Format::Cf, ..Params::default() };
    let provider = parcomp::provider("zlib").unwrap();
    let mut packed = vec![0; data.len()];
    let n = parcomp::compress_buffer(&*provider, &params, &data, &mut packed).unwrap();
    packed.truncate(n);
    let dir = Scratch::new("cf");
    assert!(attempt(&dir, &packed, &["--format=cf"]) == (Some(0), Some(data)));
    let block = packed.len() / 8;
    for change in [1, -1, -4] {
        let mut bad = packed.clone();
        let len = (block as i32 - 4 + change).to_le_bytes();
        bad[5 * block..][..4].copy_from_slice(&len);
        for options in [&["--format=cf"][..], &["--format=cf", "-pzlib"]] {
            let (status, data) = attempt(&dir, &bad, options);
            assert_eq!((status, data.map(|d| d.len())), (Some(1), None), "{change} {options:?}");
        }
    }
}
