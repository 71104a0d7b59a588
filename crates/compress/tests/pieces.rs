//! Pieces that are joined: every level and size, read by stock zlib, gunzip and libdeflate.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::{CONTENTS, Content, Guarded, Rng, content, cpus, zlib};
use lookaside_compress::{Codec, Compression, Scratch, Status, crc32};
use lookaside_simd::Cpu;

/// The empty final block.
const END: [u8; 2] = [3, 0];

fn codec(level: u8) -> Codec {
    Codec::new(&Compression::default().level(level), Cpu::host()).expect("valid")
}

/// One piece, in guarded memory of exactly the bound.
fn piece(codec: &Codec, scratch: &mut Scratch, src: &[u8]) -> Vec<u8> {
    let src = Guarded::of(src);
    let mut dst = Guarded::new(codec.bound(src.len()));
    let done = codec.compress_piece(scratch, &src, &mut dst).expect("fits");
    assert_eq!((done.consumed, done.status), (src.len(), Status::Complete));
    dst[..done.produced].to_vec()
}

fn joined(codec: &Codec, scratch: &mut Scratch, src: &[u8], size: usize) -> Vec<u8> {
    let pieces = src.chunks(size).flat_map(|src| piece(codec, scratch, src));
    pieces.chain(END).collect()
}

fn check(codec: &Codec, scratch: &mut Scratch, packed: &[u8], src: &[u8], what: &str) {
    let theirs = zlib::decompress(-15, packed, src.len());
    assert!(theirs.as_deref() == Ok(src), "{what}: zlib reads something else");
    let mut back = vec![0; src.len()];
    let done = codec.decompress(scratch, packed, &mut back).expect("good");
    assert_eq!((done.consumed, done.produced), (packed.len(), src.len()), "{what}");
    assert!(back == src, "{what}: libdeflate reads something else");
}

/// Text, copies, noise and runs by turns: blocks of every kind.
fn varied(len: usize, seed: u64) -> Vec<u8> {
    let mut rng = Rng::new(seed);
    let mut data = Vec::new();
    while data.len() < len {
        let part = 1 + rng.below(90_000);
        data.extend(content(rng.pick(&CONTENTS), part, rng.next() >> 1));
    }
    data.truncate(len);
    data
}

#[test]
fn every_level_and_size() {
    let mut scratch = Scratch::new();
    let data = varied(1 << 20, 1);
    for cpu in cpus() {
        for level in 0..=12 {
            let codec = Codec::new(&Compression::default().level(level), &cpu).expect("valid");
            for (size, len) in
                [(1, 40), (7, 600), (513, 9000), (65_536, 300_000), (1 << 20, 1 << 20)]
            {
                let what = format!("{} level {level} pieces of {size}", cpu.tier());
                let packed = joined(&codec, &mut scratch, &data[..len], size);
                check(&codec, &mut scratch, &packed, &data[..len], &what);
            }
        }
    }
}

#[test]
fn every_content_at_every_small_length() {
    let mut scratch = Scratch::new();
    for level in [1, 3, 4, 6, 9, 12] {
        let codec = codec(level);
        for kind in CONTENTS {
            let (mut packed, mut all) = (Vec::new(), Vec::new());
            for len in (0..300).chain([4096, 65_535, 65_536, 131_071]) {
                let src = content(kind, len, len as u64);
                packed.extend(piece(&codec, &mut scratch, &src));
                all.extend(src);
            }
            packed.extend(END);
            check(&codec, &mut scratch, &packed, &all, &format!("level {level} {kind:?}"));
        }
    }
}

/// Many blocks to skip; and no piece is larger than the whole call that it is made from, but for
/// the way to the next byte boundary: had the last block not been found, it would be stored.
#[test]
fn many_blocks() {
    let mut scratch = Scratch::new();
    for seed in 0..3 {
        let data = match seed {
            0 => varied(6 << 20, 5),
            1 => content(Content::Text, 3 << 20, 6),
            _ => content(Content::Mixed, 3 << 20, 7),
        };
        for level in 4..=9 {
            let codec = codec(level);
            let what = format!("level {level}, content {seed}");
            let mut packed = piece(&codec, &mut scratch, &data);
            let mut dst = vec![0; codec.bound(data.len())];
            let whole = codec.compress(&mut scratch, &data, &mut dst).expect("fits").produced;
            assert!((whole..=whole + 5).contains(&packed.len()), "{what}: {}", packed.len());
            packed.extend(END);
            check(&codec, &mut scratch, &packed, &data, &what);
        }
    }
}

#[test]
fn corpora() {
    let mut scratch = Scratch::new();
    for (_, files) in common::corpora() {
        for (name, file) in &files {
            for level in [1, 2, 3, 4, 5, 6, 8, 9] {
                let codec = codec(level);
                for size in [5000, 65_536, usize::MAX] {
                    let what = format!("{name} level {level} pieces of {size}");
                    let packed = joined(&codec, &mut scratch, file, size);
                    check(&codec, &mut scratch, &packed, file, &what);
                    let mut dst = vec![0; codec.bound(file.len())];
                    let whole = codec.compress(&mut scratch, file, &mut dst).expect("fits");
                    // igzip's own marker, and the end.
                    let most = whole.produced + whole.produced / 100 + 30;
                    assert!(size != usize::MAX || packed.len() <= most, "{what}: {}", packed.len());
                }
            }
        }
    }
}

#[test]
fn gunzip_reads_it() {
    let mut scratch = Scratch::new();
    let data = varied(2 << 20, 9);
    for level in [1, 3, 6, 9] {
        // RFC 1952: no flags, no time, an unknown system.
        let mut packed = vec![31, 139, 8, 0, 0, 0, 0, 0, 0, 255];
        packed.extend(joined(&codec(level), &mut scratch, &data, 300_000));
        packed.extend(crc32(0, &data).to_le_bytes());
        packed.extend((data.len() as u32).to_le_bytes());
        let child =
            Command::new("gunzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            eprintln!("SKIPPED: no gunzip here");
            return;
        };
        let mut stdin = child.stdin.take().expect("piped");
        let writer = std::thread::spawn(move || stdin.write_all(&packed));
        let output = child.wait_with_output().expect("gunzip ran");
        writer.join().expect("no panic").expect("written");
        assert!(output.status.success() && output.stdout == data, "level {level}");
    }
}

/// All that is decided by the tables, by the codes and at the end of the input.
#[test]
fn random_sizes() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(77);
    let data = varied(2 << 20, 12);
    for round in 0..40 {
        let codec = codec(rng.pick(&[4, 5, 6, 9]));
        let (mut rest, mut packed) = (&data[rng.below(data.len() / 2)..], Vec::new());
        let all = rest;
        while !rest.is_empty() {
            let (src, tail) = rest.split_at(rest.len().min(1 + rng.below(400_000)));
            packed.extend(piece(&codec, &mut scratch, src));
            rest = tail;
        }
        packed.extend(END);
        check(&codec, &mut scratch, &packed, all, &format!("round {round}"));
    }
}
