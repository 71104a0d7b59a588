//! LZ4 and Zstandard streams: any pieces, flushes, dictionaries; judged by the tools and by decoding whole.

mod common;

use std::fs;

use common::tools::run;
use common::{CONTENTS, Content, Rng, content};
use lookaside_compress::{
    BadReason, Codec, CompressStream, Compression, CompressionError, DecompressStream, Flush,
    Format, OpError, Scratch, Status,
};
use lookaside_simd::Cpu;

const FORMATS: [(Format, &str); 2] = [(Format::Lz4, "lz4"), (Format::Zstd, "zstd")];

fn codec(spec: &Compression) -> Codec {
    Codec::new(spec, Cpu::host()).expect("valid")
}

/// Compresses by pieces of random lengths into room of random lengths.
fn compress(stream: &mut CompressStream, src: &[u8], rng: &mut Rng, flushes: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let mut at = 0;
    loop {
        let len = rng.pick(&[0, 1, 50, 3000, 70_000]).min(src.len() - at);
        let flush = match rng.below(4) {
            _ if at + len == src.len() => Flush::Finish,
            0 if flushes => Flush::Sync,
            _ => Flush::None,
        };
        let mut piece = &src[at..at + len];
        at += len;
        loop {
            let mut dst = vec![0; rng.pick(&[0, 1, 13, 800, 100_000])];
            let done = stream.step(piece, &mut dst, flush).expect("good");
            piece = &piece[done.consumed..];
            out.extend_from_slice(&dst[..done.produced]);
            match done.status {
                Status::Overflow => assert_eq!(done.produced, dst.len()),
                Status::Complete => {
                    assert!(piece.is_empty() && flush != Flush::Finish);
                    break;
                }
                Status::End => {
                    assert!(piece.is_empty());
                    let again = stream.step(&[], &mut [0; 9], Flush::None).expect("good");
                    assert_eq!((again.status, again.produced), (Status::End, 0));
                    let more = stream.step(b"x", &mut [0; 9], Flush::None);
                    assert_eq!(more, Err(OpError::StreamEnded));
                    return out;
                }
            }
        }
    }
}

fn decompress(stream: &mut DecompressStream, src: &[u8], rng: &mut Rng) -> (Vec<u8>, usize) {
    let (mut out, mut at) = (Vec::new(), 0);
    loop {
        let len = rng.pick(&[0, 1, 7, 900, 200_000]).min(src.len() - at);
        let mut dst = vec![0; rng.pick(&[0, 1, 60, 5000, 5_000_000])];
        let done = stream.step(&src[at..at + len], &mut dst).expect("good");
        at += done.consumed;
        out.extend_from_slice(&dst[..done.produced]);
        match done.status {
            Status::End => return (out, at),
            Status::Complete => assert_eq!(done.consumed, len),
            Status::Overflow => assert_eq!(done.produced, dst.len()),
        }
    }
}

#[test]
fn any_pieces_and_flushes() {
    let mut rng = Rng::new(5);
    let mut scratch = Scratch::new();
    for (format, tool) in FORMATS {
        let mut joined = (Vec::new(), Vec::new());
        for round in 0..40u64 {
            let level = rng.pick(&[1, 2, 4, 12]);
            let bits = rng.pick(&[16, 18, 22]);
            let codec = codec(&Compression::new(format).level(level).block_bits(bits));
            let mut stream = CompressStream::new(&codec, None).expect("valid");
            let mut reader = DecompressStream::new(&codec, None).expect("valid");
            // The second time after a reset.
            for _ in 0..2 {
                let size = rng.below(200_000);
                let len = rng.pick(&[0, 1, 300, 65_536, 65_537, size]);
                let src = content(rng.pick(&CONTENTS), len, round);
                let packed = compress(&mut stream, &src, &mut rng, round % 2 == 0);
                let mut whole = vec![0; len];
                let done = codec.decompress(&mut scratch, &packed, &mut whole).expect("good");
                assert_eq!(done.consumed, packed.len());
                assert!(whole == src, "{format} {round}");
                let mut file = packed.clone();
                file.extend_from_slice(b"what follows");
                let (back, at) = decompress(&mut reader, &file, &mut rng);
                assert!(back == src && at == packed.len(), "{format} {round}");
                joined.0.extend(packed);
                joined.1.extend(src);
                stream.reset();
                reader.reset();
            }
        }
        if let Some(out) = run(tool, &["-dc"], &joined.0) {
            assert!(out == joined.1, "{tool}");
        }
    }
}

#[test]
fn a_flush_makes_all_so_far_decodable() {
    let src = content(Content::Text, 100_000, 9);
    for (format, _) in FORMATS {
        let codec = codec(&Compression::new(format).level(3));
        let mut stream = CompressStream::new(&codec, None).expect("valid");
        let mut reader = DecompressStream::new(&codec, None).expect("valid");
        let mut dst = vec![0; 200_000];
        for piece in src.chunks(9_000) {
            let done = stream.step(piece, &mut dst, Flush::Sync).expect("good");
            assert_eq!((done.consumed, done.status), (piece.len(), Status::Complete));
            let again = stream.step(&[], &mut [0; 100], Flush::Sync).expect("good");
            assert_eq!((again.produced, again.status), (0, Status::Complete));
            let mut back = vec![0; 9_001];
            let undone = reader.step(&dst[..done.produced], &mut back).expect("good");
            assert_eq!(back[..undone.produced], *piece, "{format}");
        }
        let full = stream.step(b"more", &mut dst, Flush::Full);
        match format {
            Format::Zstd => assert_eq!(full, Err(OpError::Unsupported)),
            _ => assert_eq!(full.map(|done| done.status), Ok(Status::Complete)),
        }
    }
}

/// Linked blocks, block checksums, no content size: what the tools make, piece by piece.
#[test]
fn files_of_the_tools_in_pieces() {
    let mut rng = Rng::new(8);
    let src = [content(Content::Text, 400_000, 2), content(Content::Random, 80_000, 3)].concat();
    let ways: [(Format, &str, &[&str]); 6] = [
        (Format::Lz4, "lz4", &["-B4", "-BD"]),
        (Format::Lz4, "lz4", &["-B4", "-BD", "-BX", "-9"]),
        (Format::Lz4, "lz4", &["-B7", "-BI", "--no-frame-crc"]),
        (Format::Lz4, "lz4", &["-B5", "-BD", "--no-frame-crc"]),
        (Format::Zstd, "zstd", &["-3"]),
        (Format::Zstd, "zstd", &["-19", "--long=24", "--no-check"]),
    ];
    for (format, tool, way) in ways {
        let args: Vec<&str> = way.iter().copied().chain(["-c"]).collect();
        let Some(file) = run(tool, &args, &src) else { return };
        let codec = codec(&Compression::new(format));
        let mut reader = DecompressStream::new(&codec, None).expect("valid");
        for _ in 0..4 {
            let (back, at) = decompress(&mut reader, &file, &mut rng);
            assert!(back == src && at == file.len(), "{tool} {way:?}");
            reader.reset();
        }
    }
}

#[test]
fn formats_without_streams_or_dictionaries_say_so() {
    for format in [Format::Lz4Raw, Format::Lz4Blocks, Format::Lz4s] {
        let codec = codec(&Compression::new(format));
        let refused = Some(CompressionError::NoStream(format));
        assert_eq!(CompressStream::new(&codec, None).err(), refused);
        assert_eq!(DecompressStream::new(&codec, None).err(), refused);
    }
    let lz4 = codec(&Compression::new(Format::Lz4));
    let refused = Some(CompressionError::NoDictionary(Format::Lz4));
    assert_eq!(CompressStream::new(&lz4, Some(b"abc")).err(), refused);
    assert_eq!(DecompressStream::new(&lz4, Some(b"abc")).err(), refused);
}

#[test]
fn zstandard_dictionaries() {
    let dir = std::env::temp_dir().join(format!("lookaside-dictionary-{}", std::process::id()));
    fs::create_dir_all(&dir).expect("a folder");
    let samples: Vec<String> = (0..200)
        .map(|i| {
            let path = dir.join(i.to_string());
            fs::write(&path, content(Content::Text, 600, i)).expect("written");
            path.display().to_string()
        })
        .collect();
    let path = dir.join("dictionary").display().to_string();
    let mut args = vec!["-q", "--train", "--maxdict=8000", "-o", &path];
    args.extend(samples.iter().map(String::as_str));
    let trained = run("zstd", &args, &[]);
    let dictionary = fs::read(&path);
    if trained.is_some() {
        let dictionary = dictionary.expect("a dictionary");
        let src = content(Content::Text, 5000, 999);
        let spec = codec(&Compression::new(Format::Zstd));
        let mut plain = CompressStream::new(&spec, None).expect("valid");
        let mut stream = CompressStream::new(&spec, Some(&dictionary)).expect("valid");
        let mut reader = DecompressStream::new(&spec, Some(&dictionary)).expect("valid");
        let mut without = DecompressStream::new(&spec, None).expect("valid");
        let mut rng = Rng::new(3);
        let mut sizes = Vec::new();
        for _ in 0..2 {
            let packed = compress(&mut stream, &src, &mut rng, false);
            sizes.push(packed.len());
            let back = run("zstd", &["-dc", "-D", &path], &packed).expect("it was there");
            assert!(back == src);
            assert!(decompress(&mut reader, &packed, &mut rng).0 == src);
            let refused = without.step(&packed, &mut [0; 9000]);
            let reason = BadReason::Dictionary;
            assert!(matches!(refused, Err(OpError::BadData { reason: r, .. }) if r == reason));
            let whole = spec.decompress(&mut Scratch::new(), &packed, &mut [0; 9000]);
            assert!(matches!(whole, Err(OpError::BadData { reason: r, .. }) if r == reason));
            let theirs = run("zstd", &["-c", "-D", &path], &src).expect("it was there");
            reader.reset();
            assert!(decompress(&mut reader, &theirs, &mut rng).0 == src);
            stream.reset();
            reader.reset();
            without.reset();
        }
        // It is worth most for little.
        let little = &src[..200];
        stream.reset();
        plain.reset();
        let with = compress(&mut stream, little, &mut rng, false).len();
        let without_any = compress(&mut plain, little, &mut rng, false).len();
        assert!(with < without_any, "{with} {without_any}");
        // Another one, and none.
        stream.reset_with(Some(b"the ring of requests turns")).expect("any bytes");
        compress(&mut stream, &src, &mut rng, false);
        stream.reset_with(None).expect("none");
        let packed = compress(&mut stream, &src, &mut rng, false);
        assert!(decompress(&mut without, &packed, &mut rng).0 == src);
        // It begins as a trained one does, and is none.
        let broken = CompressStream::new(&spec, Some(&dictionary[..20]));
        assert_eq!(broken.err(), Some(CompressionError::Dictionary(Format::Zstd)));
    }
    fs::remove_dir_all(dir).expect("removed");
}
