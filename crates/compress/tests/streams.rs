//! Streams: any pieces, any flushes, dictionaries; against stock zlib in both directions.

mod common;

use common::{
    CONTENTS, Content, FORMATS, Guarded, Rng, blocks, content, cpus, kernels, window_bits, zlib,
};
use lookaside_compress::{
    BadReason, Checksum, Codec, CompressStream, Compression, CompressionError, DecompressStream,
    Flush, Format, Huffman, OpError, Status, adler32, crc32,
};
use lookaside_simd::Cpu;

/// What a caller does: pieces of these sizes, flushed with these odds.
#[derive(Clone, Copy)]
struct Habit {
    pieces: &'static [usize],
    rooms: &'static [usize],
    flush_odds: usize,
}

const HABITS: [Habit; 5] = [
    Habit { pieces: &[1, 2, 3, 20], rooms: &[0, 1, 2, 7, 8, 9, 30], flush_odds: 9 },
    Habit { pieces: &[0, 1, 500, 3000], rooms: &[0, 1, 17, 511, 512, 513, 4000], flush_odds: 4 },
    Habit { pieces: &[65_536], rooms: &[100, 5000, 80_000], flush_odds: 100 },
    Habit { pieces: &[1, 40_000, 200_000], rooms: &[1, 600, 300_000], flush_odds: 3 },
    Habit { pieces: &[300, 32_768], rooms: &[700, 1000, 70_000], flush_odds: 2 },
];

struct Packed {
    bytes: Vec<u8>,
    /// After each completed flush: (input so far, output so far, flush).
    flushes: Vec<(usize, usize, Flush)>,
}

fn checksum(spec: &Compression, data: &[u8]) -> u64 {
    match spec.checksum_in_force() {
        Checksum::Xxh32 | Checksum::Xxh64 => panic!("the tests of formats have these"),
        Checksum::None => 0,
        Checksum::Crc32 => crc32(0, data).into(),
        Checksum::Adler32 => adler32(1, data).into(),
    }
}

/// Compresses piece by piece, the way `habit` says, and checks every count on the way.
fn compress(
    stream: &mut CompressStream,
    spec: &Compression,
    src: &[u8],
    habit: Habit,
    rng: &mut Rng,
) -> Packed {
    let mut packed = Packed { bytes: Vec::new(), flushes: Vec::new() };
    let mut at = 0;
    loop {
        let end = src.len().min(at + rng.pick(habit.pieces));
        let flush = if end == src.len() && rng.below(3) == 0 {
            Flush::Finish
        } else if rng.below(habit.flush_odds) == 0 {
            rng.pick(&[Flush::Sync, Flush::Full])
        } else {
            Flush::None
        };
        let mut steps = 0;
        let status = loop {
            let mut dst = Guarded::new(rng.pick(habit.rooms));
            let piece = Guarded::of(&src[at..end]);
            let done = stream.step(&piece, &mut dst, flush).expect("no reason to fail");
            assert!(done.consumed <= piece.len() && done.produced <= dst.len());
            assert!(dst[done.produced..].iter().all(|&b| b == 0xa5) || dst.len() >= 512);
            at += done.consumed;
            packed.bytes.extend_from_slice(&dst[..done.produced]);
            assert_eq!(done.checksum, checksum(spec, &src[..at]));
            if done.status != Status::Overflow {
                assert_eq!(done.consumed, piece.len());
                break done.status;
            }
            assert_eq!(done.produced, dst.len(), "overflow with room left");
            steps += usize::from(!dst.is_empty());
            assert!(steps < 2 * src.len() + 5000, "never ends");
        };
        match flush {
            Flush::Finish => {
                assert_eq!(status, Status::End);
                return packed;
            }
            _ => assert_eq!(status, Status::Complete),
        }
        if flush != Flush::None {
            packed.flushes.push((at, packed.bytes.len(), flush));
        }
    }
}

/// What a receiver has after so many bytes, by zlib.
fn received(spec: &Compression, prefix: &[u8], limit: usize, dictionary: Option<&[u8]>) -> Vec<u8> {
    let mut oracle = zlib::Decompressor::new(window_bits(spec.format));
    if let (Some(dictionary), Format::Raw) = (dictionary, spec.format) {
        oracle.set_dictionary(dictionary);
    }
    let mut out = vec![0; limit + 1];
    let (mut code, mut consumed, mut produced) = oracle.step(prefix, &mut out);
    if code == libz_sys::Z_NEED_DICT {
        oracle.set_dictionary(dictionary.expect("asked for without one"));
        let more;
        (code, more, produced) = oracle.step(&prefix[consumed..], &mut out);
        consumed += more;
    }
    assert!([libz_sys::Z_OK, libz_sys::Z_STREAM_END, libz_sys::Z_BUF_ERROR].contains(&code));
    assert_eq!(consumed, prefix.len());
    out.truncate(produced);
    out
}

fn decompress(
    stream: &mut DecompressStream,
    spec: &Compression,
    src: &[u8],
    packed: &[u8],
    habit: Habit,
    rng: &mut Rng,
) {
    let mut out = Vec::new();
    let (mut at, mut idle) = (0, 0);
    let mut status = Status::Complete;
    while status != Status::End {
        let end = packed.len().min(at + rng.pick(habit.pieces));
        let piece = Guarded::of(&packed[at..end]);
        let mut dst = Guarded::new(rng.pick(habit.rooms));
        let done = stream.step(&piece, &mut dst).expect("good data");
        at += done.consumed;
        out.extend_from_slice(&dst[..done.produced]);
        status = done.status;
        match status {
            Status::Complete => assert_eq!(done.consumed, piece.len()),
            Status::Overflow => assert_eq!(done.produced, dst.len()),
            Status::End => {}
        }
        assert_eq!(done.checksum, checksum(spec, &out));
        idle = if done.consumed + done.produced > 0 { 0 } else { idle + 1 };
        assert!(idle < 1000, "never ends");
    }
    assert_eq!(at, packed.len() - 5, "the end is not where it was");
    assert!(out == src, "other content");
}

fn one(seed: u64) {
    let mut rng = Rng::new(seed);
    let cpu = rng.pick(&[0, 1, 2]);
    let cpus = cpus();
    let cpu = &cpus[cpu.min(cpus.len() - 1)];
    let spec = Compression {
        format: rng.pick(&FORMATS),
        level: rng.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 9, 12]),
        huffman: rng.pick(&[Huffman::Dynamic, Huffman::Dynamic, Huffman::Static]),
        window_bits: rng.pick(&[15, 15, 15, 9, 12, 14]),
        checksum: rng.pick(&[Checksum::None, Checksum::Crc32, Checksum::Adler32]),
        ..Compression::default()
    };
    let habit = rng.pick(&HABITS);
    let largest = habit.pieces[habit.pieces.len() - 1] * 12;
    let codec = Codec::new(&spec, cpu).expect("valid");
    let dictionary = (spec.format != Format::Gzip && rng.below(3) == 0).then(|| {
        let len = rng.pick(&[0, 1, 5, 300, 5000, 40_000]);
        content(rng.pick(&CONTENTS), len, seed + 1)
    });
    let dictionary = dictionary.as_deref();
    let mut stream = CompressStream::new(&codec, dictionary).expect("valid");
    let mut back = DecompressStream::new(&codec, dictionary).expect("valid");
    for _ in 0..2 {
        let kind = rng.pick(&CONTENTS);
        let len = rng.below(largest.min(600_000) + 1);
        let mut src = content(kind, len, seed);
        if let (Some(dictionary), 0) = (dictionary, rng.below(2)) {
            // Something that the dictionary helps with, and reaches over its start.
            let part = dictionary.len().min(len);
            src[..part].copy_from_slice(&dictionary[dictionary.len() - part..]);
        }
        let packed = compress(&mut stream, &spec, &src, habit, &mut rng);
        assert!(received(&spec, &packed.bytes, src.len(), dictionary) == src, "zlib disagrees");
        for &(input, output, flush) in packed.flushes.iter().rev().take(5) {
            let so_far = received(&spec, &packed.bytes[..output], src.len(), dictionary);
            assert!(so_far == src[..input], "{flush:?} did not bring everything");
            if flush == Flush::Full && spec.format == Format::Raw {
                let after = received(&spec, &packed.bytes[output..], src.len(), None);
                assert!(after == src[input..], "history crossed a full flush");
            }
        }
        if spec.format == Format::Raw && src.len() < 100_000 {
            let blocks = blocks::parse(&packed.bytes, dictionary.unwrap_or_default());
            assert!(blocks.output == src);
            assert_eq!(blocks.consumed, packed.bytes.len());
            assert!(blocks.max_distance <= 1 << spec.window_bits, "{}", blocks.max_distance);
            assert!(spec.huffman == Huffman::Dynamic || blocks.dynamic == 0, "dynamic block");
        }
        let with_tail = [&packed.bytes[..], b"after"].concat();
        decompress(&mut back, &spec, &src, &with_tail, habit, &mut rng);
        stream.reset();
        back.reset();
    }
}

#[test]
fn random_pieces_and_flushes() {
    let many: u64 =
        std::env::var("LOOKASIDE_SEEDS").ok().and_then(|n| n.parse().ok()).unwrap_or(350);
    for seed in 0..many {
        let run = std::panic::catch_unwind(|| one(seed));
        if run.is_err() {
            panic!("seed {seed}");
        }
    }
}

#[test]
fn nothing_is_a_stream_too() {
    for format in FORMATS {
        for (kernel, codec) in kernels(format) {
            let mut stream = CompressStream::new(&codec, None).expect("valid");
            for _ in 0..2 {
                let mut dst = [0; 64];
                let done = stream.step(&[], &mut dst, Flush::Finish).expect("fits");
                assert_eq!(done.status, Status::End);
                let empty = zlib::decompress(window_bits(format), &dst[..done.produced], 0);
                assert_eq!(empty, Ok(vec![]), "{}", kernel.name());
                let again = stream.step(&[], &mut dst, Flush::Finish).expect("still ended");
                assert_eq!((again.produced, again.status), (0, Status::End));
                assert_eq!(stream.step(b"x", &mut dst, Flush::None), Err(OpError::StreamEnded));
                stream.reset();
            }
        }
    }
}

#[test]
fn a_flush_asked_for_twice_is_made_once() {
    for (kernel, codec) in kernels(Format::Raw) {
        for room in [0, 1, 4, 5, 6, 7, 8, 100] {
            let mut stream = CompressStream::new(&codec, None).expect("valid");
            let src = content(Content::Text, 300, 5);
            let mut packed = Vec::new();
            let mut rest = &src[..];
            for flush in [Flush::Sync, Flush::Sync, Flush::Full, Flush::Full, Flush::Sync] {
                for turn in 0.. {
                    assert!(turn < 2000, "{}: flush never ends", kernel.name());
                    // Dst of 0 and 1 bytes, over and over, must not repeat the marker.
                    let mut dst =
                        vec![0; if turn % 3 == 0 { room } else { room.min(1) }.max(turn % 2)];
                    let done = stream.step(rest, &mut dst, flush).expect("no reason to fail");
                    rest = &rest[done.consumed..];
                    packed.extend_from_slice(&dst[..done.produced]);
                    if done.status == Status::Complete {
                        break;
                    }
                }
            }
            let mut dst = [0; 100];
            let done = stream.step(&[], &mut dst, Flush::Finish).expect("fits");
            packed.extend_from_slice(&dst[..done.produced]);
            let blocks = blocks::parse(&packed, &[]);
            assert!(blocks.output == src);
            // Sync, Full and perhaps the last block; the content of level 0.
            assert!(blocks.stored <= 4, "{}: {} stored blocks", kernel.name(), blocks.stored);
        }
    }
}

#[test]
fn a_marker_that_dst_would_cut_is_not_repeated_on_and_on() {
    // The least room that a kernel writes to directly, and output that ends around there.
    for (kernel, codec) in kernels(Format::Raw) {
        for len in 480..530 {
            let src = content(Content::Random, len, 11);
            let mut stream = CompressStream::new(&codec, None).expect("valid");
            let (mut packed, mut rest) = (Vec::new(), &src[..]);
            for flush in [Flush::Sync, Flush::Finish] {
                let mut status = Status::Overflow;
                while status == Status::Overflow {
                    let mut dst = [0; 512];
                    let done = stream.step(rest, &mut dst, flush).expect("no reason to fail");
                    rest = &rest[done.consumed..];
                    packed.extend_from_slice(&dst[..done.produced]);
                    status = done.status;
                }
            }
            let blocks = blocks::parse(&packed, &[]);
            assert!(blocks.output == src);
            // The flush's own; level 0 may end with one; igzip repeats one that is cut, once.
            let markers = 1 + usize::from(
                stream.kernel() == "stored" || stream.kernel().starts_with("igzip"),
            );
            assert!(blocks.markers <= markers, "{} {len}: {}", kernel.name(), blocks.markers);
        }
    }
}

#[test]
fn flushing_each_byte_of_a_long_stream() {
    for (kernel, codec) in kernels(Format::Zlib) {
        let src = content(Content::Text, 3000, 6);
        let mut stream = CompressStream::new(&codec, None).expect("valid");
        let mut packed = Vec::new();
        for (index, byte) in src.iter().enumerate() {
            let flush = if index % 7 == 0 { Flush::Full } else { Flush::Sync };
            let mut dst = [0; 700];
            let done = stream.step(&[*byte], &mut dst, flush).expect("fits");
            assert_eq!((done.consumed, done.status), (1, Status::Complete));
            assert!(done.produced < 40, "{}", kernel.name());
            packed.extend_from_slice(&dst[..done.produced]);
        }
        let mut dst = [0; 100];
        let done = stream.step(&[], &mut dst, Flush::Finish).expect("fits");
        packed.extend_from_slice(&dst[..done.produced]);
        assert!(zlib::decompress(15, &packed, src.len()).as_ref() == Ok(&src), "{}", kernel.name());
    }
}

#[test]
fn a_dictionary_helps_and_is_named() {
    let dictionary = content(Content::Random, 2000, 7);
    let src = &dictionary[500..1900];
    for (kernel, codec) in kernels(Format::Zlib) {
        let mut stream = CompressStream::new(&codec, Some(&dictionary)).expect("valid");
        let mut dst = vec![0; 3000];
        let done = stream.step(src, &mut dst, Flush::Finish).expect("fits");
        let packed = &dst[..done.produced];
        assert_eq!(packed[1] & 0x20, 0x20);
        assert_eq!(packed[2..6], adler32(1, &dictionary).to_be_bytes());
        if stream.kernel() != "stored" {
            assert!(packed.len() < 200, "{}: {}", kernel.name(), packed.len());
        }
        let read = |dictionary: Option<&[u8]>| {
            let mut out = vec![0; 3000];
            let mut stream = DecompressStream::new(&codec, dictionary).expect("valid");
            stream.step(packed, &mut out).map(|done| out[..done.produced].to_vec())
        };
        assert!(read(Some(&dictionary)).as_deref() == Ok(src));
        let refused = Err(OpError::BadData { offset: 6, reason: BadReason::Dictionary });
        assert_eq!(read(None), refused);
        assert_eq!(read(Some(&dictionary[1..])), refused);
    }
    let gzip = Codec::new(&Compression::new(Format::Gzip), Cpu::host()).expect("valid");
    let refused = Some(CompressionError::NoDictionary(Format::Gzip));
    assert_eq!(CompressStream::new(&gzip, Some(&dictionary)).err(), refused);
    assert_eq!(DecompressStream::new(&gzip, Some(&dictionary)).err(), refused);
}

#[test]
fn reads_what_zlib_writes_with_a_dictionary() {
    let dictionary = content(Content::Text, 3000, 8);
    let src = content(Content::Text, 5000, 9);
    for format in [Format::Raw, Format::Zlib] {
        let mut zlib = zlib::Compressor::new(6, window_bits(format));
        zlib.set_dictionary(&dictionary);
        let mut packed = vec![0; 6000];
        let len = zlib.finish(&src, &mut packed).expect("fits");
        let codec = Codec::new(&Compression::new(format), Cpu::host()).expect("valid");
        let mut stream = DecompressStream::new(&codec, Some(&dictionary)).expect("valid");
        for _ in 0..2 {
            let mut out = vec![0; 6000];
            let done = stream.step(&packed[..len], &mut out).expect("good");
            assert_eq!((done.consumed, done.status), (len, Status::End));
            assert!(out[..done.produced] == src);
            stream.reset();
        }
    }
}

#[test]
fn finish_stays_finish() {
    let codec = Codec::new(&Compression::new(Format::Gzip), Cpu::host()).expect("valid");
    let src = content(Content::Random, 5000, 10);
    let mut stream = CompressStream::new(&codec, None).expect("valid");
    let (mut at, mut packed) = (0, Vec::new());
    loop {
        let mut dst = [0; 600];
        // After the first step, the caller forgets what it wanted.
        let flush = if at == src.len() { Flush::None } else { Flush::Finish };
        let done = stream.step(&src[at..], &mut dst, flush).expect("no reason to fail");
        at += done.consumed;
        packed.extend_from_slice(&dst[..done.produced]);
        if done.status == Status::End {
            break;
        }
        assert_eq!(done.status, Status::Overflow);
        if at == src.len() {
            assert_eq!(stream.step(b"more", &mut dst, Flush::Finish), Err(OpError::StreamEnded));
        }
    }
    assert!(zlib::decompress(31, &packed, src.len()).as_ref() == Ok(&src));
}

#[test]
fn members_one_after_another() {
    let codec = Codec::new(&Compression::new(Format::Gzip), Cpu::host()).expect("valid");
    let mut stream = CompressStream::new(&codec, None).expect("valid");
    let mut file = Vec::new();
    for text in ["first", "", "third"] {
        let mut dst = [0; 200];
        let done = stream.step(text.as_bytes(), &mut dst, Flush::Finish).expect("fits");
        file.extend_from_slice(&dst[..done.produced]);
        stream.reset();
    }
    let mut back = DecompressStream::new(&codec, None).expect("valid");
    let (mut at, mut out, mut members) = (0, Vec::new(), 0);
    while at < file.len() {
        let mut dst = [0; 200];
        let done = back.step(&file[at..], &mut dst).expect("good");
        assert_eq!(done.status, Status::End);
        at += done.consumed;
        out.extend_from_slice(&dst[..done.produced]);
        members += 1;
        back.reset();
    }
    assert_eq!((members, &out[..]), (3, &b"firstthird"[..]));
}

#[test]
fn streams_of_the_corpora() {
    for (_, files) in common::corpora() {
        for (name, file) in &files {
            for level in [1, 2, 3, 6] {
                let spec = Compression::new(Format::Gzip).level(level);
                let codec = Codec::new(&spec, Cpu::host()).expect("valid");
                let mut stream = CompressStream::new(&codec, None).expect("valid");
                let mut rng = Rng::new(level.into());
                let packed = compress(&mut stream, &spec, file, HABITS[3], &mut rng);
                let theirs = zlib::decompress(31, &packed.bytes, file.len());
                assert!(theirs.as_ref() == Ok(file), "{name} level {level}");
            }
        }
    }
}

/// The counters of C libraries have 32 bits. Takes a minute in a release build.
#[test]
#[ignore = "4.5 GB for each kernel: run with --release -- --ignored"]
fn more_than_four_gigabytes() {
    let piece = content(Content::Mixed, 1_000_003, 12);
    for level in [1, 2, 3] {
        let codec =
            Codec::new(&Compression::new(Format::Gzip).level(level), Cpu::host()).expect("valid");
        let mut stream = CompressStream::new(&codec, None).expect("valid");
        let mut back = DecompressStream::new(&codec, None).expect("valid");
        let (mut packed, mut out) = (vec![0; 2_000_000], vec![0; 2_000_000]);
        let mut total = 0;
        for turn in 0..=4500 {
            let last = turn == 4500;
            let (src, flush) =
                if last { (&[][..], Flush::Finish) } else { (&piece[..], Flush::None) };
            let done = stream.step(src, &mut packed, flush).expect("fits");
            assert_eq!(done.status, if last { Status::End } else { Status::Complete });
            let read = back.step(&packed[..done.produced], &mut out).expect("good");
            assert_eq!(read.consumed, done.produced);
            assert_eq!(read.status, if last { Status::End } else { Status::Complete });
            for byte in 0..read.produced.min(100) {
                assert_eq!(out[byte], piece[(total + byte) % piece.len()]);
            }
            total += read.produced;
            if last {
                assert_eq!((total, read.checksum), (4500 * piece.len(), done.checksum));
            }
        }
    }
}
