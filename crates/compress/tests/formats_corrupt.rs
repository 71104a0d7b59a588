//! Bad LZ4, LZ4s and Zstandard: typed errors, no panic, nothing outside the destination, never wrong content under
//! a checksum; and the Python decoder refuses what we refuse.

mod common;

use common::tools::oracle;
use common::{Content, Guarded, Rng, content};
use lookaside_compress::{
    BadReason, Codec, Compression, DecompressStream, Format, OpError, Scratch, Status,
};
use lookaside_simd::Cpu;

const FORMATS: [(Format, char); 4] =
    [(Format::Lz4Raw, 'r'), (Format::Lz4Blocks, 'b'), (Format::Lz4, 'f'), (Format::Lz4s, 's')];

fn codec(spec: &Compression) -> Codec {
    Codec::new(spec, Cpu::host()).expect("valid")
}

fn packed(format: Format, level: u8, src: &[u8]) -> Vec<u8> {
    let codec = codec(&Compression::new(format).level(level).block_bits(16));
    let mut dst = vec![0; codec.bound(src.len())];
    let done = codec.compress(&mut Scratch::new(), src, &mut dst).expect("fits");
    dst.truncate(done.produced);
    dst
}

fn streamed(format: Format, src: &[u8], limit: usize, piece: usize) -> Result<Vec<u8>, OpError> {
    let codec = codec(&Compression::new(format));
    let mut stream = DecompressStream::new(&codec, None).expect("valid");
    let mut out = vec![0; limit];
    let (mut at, mut produced) = (0, 0);
    loop {
        let end = src.len().min(at + piece);
        let done = stream.step(&src[at..end], &mut out[produced..])?;
        at += done.consumed;
        produced += done.produced;
        match done.status {
            Status::End => break,
            Status::Overflow => return Err(OpError::DstTooSmall),
            Status::Complete if at == src.len() => return Err(BadReason::Truncated.at(at)),
            Status::Complete => {}
        }
    }
    out.truncate(produced);
    Ok(out)
}

#[test]
fn every_truncation_of_a_frame_is_one() {
    let mut scratch = Scratch::new();
    for format in [Format::Lz4, Format::Zstd] {
        for (kind, len) in [(Content::Text, 0), (Content::Text, 700), (Content::Random, 300)] {
            let src = content(kind, len, 3);
            let frame = packed(format, 3, &src);
            let codec = codec(&Compression::new(format));
            for cut in 0..frame.len() {
                let wanted = BadReason::Truncated.at(cut);
                let part = Guarded::of(&frame[..cut]);
                let mut dst = Guarded::new(src.len() + 1000);
                let result = codec.decompress(&mut scratch, &part, &mut dst);
                assert_eq!(result, Err(wanted), "{format} {cut}");
                assert_eq!(streamed(format, &part, len + 1000, 7), Err(wanted), "{format} {cut}");
            }
        }
    }
}

#[test]
fn every_bit_flip_of_a_frame_is_found_or_harmless() {
    let mut scratch = Scratch::new();
    for format in [Format::Lz4, Format::Zstd] {
        let codec = codec(&Compression::new(format));
        let mut refused = 0;
        for (kind, len) in [(Content::Text, 700), (Content::Random, 200), (Content::Zeros, 90)] {
            let src = content(kind, len, 5);
            let frame = packed(format, 1, &src);
            for bit in 0..frame.len() * 8 {
                let mut bad = frame.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                let mut dst = Guarded::new(len + 600);
                let whole = codec
                    .decompress(&mut scratch, &Guarded::of(&bad), &mut dst)
                    .map(|done| dst[..done.produced].to_vec());
                for result in [whole, streamed(format, &bad, len + 600, 50)] {
                    match result {
                        Err(OpError::DstTooSmall | OpError::BadData { .. }) => refused += 1,
                        Err(other) => panic!("{format} bit {bit}: {other}"),
                        // A magic that has become that of a skippable frame has no content.
                        Ok(out) => assert!(out == src || out.is_empty(), "{format} bit {bit}"),
                    }
                }
            }
        }
        assert!(refused > 1000, "{format}: {refused}");
    }
}

/// Damaged blocks and frames: the Python decoder takes what we take, with the same content.
#[test]
fn python_takes_and_refuses_the_same() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(16);
    let (mut cases, mut ours) = (Vec::new(), Vec::new());
    let mut good = 0;
    for round in 0..6000u64 {
        let (format, letter) = rng.pick(&FORMATS);
        let kind = rng.pick(&[Content::Text, Content::Mixed, Content::Random]);
        let src = content(kind, 1 + rng.below(300), round);
        let mut data = packed(format, rng.pick(&[1, 9]), &src);
        for _ in 0..rng.below(4) {
            let at = rng.below(data.len());
            match rng.below(4) {
                0 => data[at] = rng.next() as u8,
                1 => data[at] ^= 1 << rng.below(8),
                2 => data.truncate(at.max(1)),
                _ => data.insert(at, rng.next() as u8),
            }
        }
        // Room for anything that so few bytes can become.
        let mut dst = Guarded::new(300_000);
        let codec = codec(&Compression::new(format));
        let result = codec.decompress(&mut scratch, &Guarded::of(&data), &mut dst);
        let result = match result {
            // Python wants a frame to be all there is.
            Ok(done) if format == Format::Lz4 && done.consumed < data.len() => None,
            Ok(done) => Some(dst[..done.produced].to_vec()),
            Err(OpError::BadData { offset, .. }) => {
                assert!(offset <= data.len() as u64);
                None
            }
            Err(other) => panic!("{format}: {other}"),
        };
        good += usize::from(result.is_some());
        cases.push((letter, data));
        ours.push((format, result));
    }
    assert!((1000..5500).contains(&good), "{good}");
    let mut zeros = 0;
    for (i, (theirs, (format, ours))) in oracle(&cases).into_iter().flatten().zip(ours).enumerate()
    {
        match (theirs, ours) {
            (Ok(theirs), Some(ours)) => assert!(theirs == ours, "{format} {i}"),
            (Err(_), None) => {}
            // liblz4 takes it for zeros.
            (Err(why), Some(_)) if why == "an offset of 0" => zeros += 1,
            (theirs, ours) => {
                panic!("{format} {i}: {:?}, ours {ours:?}: {:?}", theirs, cases[i].1)
            }
        }
    }
    assert!(zeros < 100, "{zeros}");
}

#[test]
fn garbage_is_survived() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(2);
    let prefixes: [(Format, &[u8]); 8] = [
        (Format::Lz4Raw, &[]),
        (Format::Lz4s, &[]),
        (Format::Lz4Blocks, &[40, 0, 0, 0]),
        (Format::Lz4, &[4, 0x22, 0x4d, 0x18, 0x64, 0x40, 0xa7, 30, 0, 0, 0]),
        (Format::Lz4, &[4, 0x22, 0x4d, 0x18]),
        (Format::Zstd, &[0x28, 0xb5, 0x2f, 0xfd, 0x20, 0xff]),
        (Format::Zstd, &[0x28, 0xb5, 0x2f, 0xfd, 0]),
        (Format::Zstd, &[0x28, 0xb5, 0x2f, 0xfd]),
    ];
    for round in 0..8000u64 {
        let (format, prefix) = rng.pick(&prefixes);
        let mut bad = prefix.to_vec();
        bad.extend(content(Content::Random, rng.below(200), round));
        let codec = codec(&Compression::new(format));
        let mut dst = Guarded::new(rng.below(500));
        match codec.decompress(&mut scratch, &Guarded::of(&bad), &mut dst) {
            Ok(done) => assert!(done.consumed <= bad.len() && done.produced <= dst.len()),
            Err(OpError::DstTooSmall | OpError::BadData { .. }) => {}
            Err(other) => panic!("{format}: {other}"),
        }
        if format.has_streams() {
            _ = streamed(format, &bad, 500, 1 + rng.below(100));
        }
    }
}

#[test]
fn the_destination_is_the_limit_of_a_bomb() {
    let mut scratch = Scratch::new();
    let zeros = vec![0; 2_000_000];
    for format in [Format::Lz4Raw, Format::Lz4Blocks, Format::Lz4, Format::Lz4s, Format::Zstd] {
        let bomb = packed(format, 1, &zeros);
        assert!(bomb.len() < 20_000, "{format}");
        let codec = codec(&Compression::new(format));
        for room in [0, 1, 65_536, 1_999_999] {
            let mut dst = Guarded::new(room);
            let result = codec.decompress(&mut scratch, &bomb, &mut dst);
            assert_eq!(result, Err(OpError::DstTooSmall), "{format} {room}");
        }
    }
}

/// Each reason, with its place.
#[test]
fn reasons_and_places() {
    let mut scratch = Scratch::new();
    let src = content(Content::Text, 2000, 1);
    let mut refusal = |format: Format, bad: &[u8]| {
        let codec = codec(&Compression::new(format));
        let mut dst = [0; 5000];
        let whole = codec.decompress(&mut scratch, bad, &mut dst).map(|_| ());
        let pieces = streamed(format, bad, 5000, 13).map(|_| ());
        (whole.expect_err("bad"), pieces.expect_err("bad"))
    };
    let twice = |error: OpError| (error, error);
    let lz4 = packed(Format::Lz4, 1, &src);
    let with = |at: usize, byte: u8| {
        let mut bad = lz4.clone();
        bad[at] = byte;
        bad
    };
    // The frame: magic 0, FLG 4, BD 5, size 6, HC 14, the block's length 15, its data 19.
    assert_eq!(refusal(Format::Lz4, &with(0, 5)), twice(BadReason::Header.at(0)));
    assert_eq!(refusal(Format::Lz4, &with(4, 0xac)), twice(BadReason::Header.at(4)));
    assert_eq!(refusal(Format::Lz4, &with(5, 0x30)), twice(BadReason::Header.at(5)));
    assert_eq!(refusal(Format::Lz4, &with(14, !lz4[14])), twice(BadReason::Header.at(14)));
    assert_eq!(refusal(Format::Lz4, &with(17, 9)), twice(BadReason::Block.at(15)));
    let end = lz4.len();
    let checksum = BadReason::Checksum.at(end - 4);
    assert_eq!(refusal(Format::Lz4, &with(end - 1, !lz4[end - 1])), twice(checksum));
    // Another content size under a header checksum that is right.
    let mut size = lz4.clone();
    size[6] ^= 1;
    size[14] = (lookaside_compress::xxh32(0, &size[4..14]) >> 8) as u8;
    assert_eq!(refusal(Format::Lz4, &size), twice(BadReason::Length.at(end - 4)));
    // A dictionary is wanted.
    let mut dictionary = vec![4, 0x22, 0x4d, 0x18, 0x61, 0x40, 1, 2, 3, 4];
    dictionary.push((lookaside_compress::xxh32(0, &dictionary[4..]) >> 8) as u8);
    dictionary.extend([0; 4]);
    assert_eq!(refusal(Format::Lz4, &dictionary), twice(BadReason::Dictionary.at(11)));

    let zstd = packed(Format::Zstd, 1, &src);
    let end = zstd.len();
    let mut bad = zstd.clone();
    bad[0] ^= 1;
    assert_eq!(refusal(Format::Zstd, &bad).0, BadReason::Header.at(0));
    let mut bad = zstd.clone();
    bad[end - 1] ^= 1;
    assert_eq!(refusal(Format::Zstd, &bad).0, BadReason::Checksum.at(end - 4));
    // Dictionary 1 (one byte of it in the header), an empty last block.
    let bad = [0x28, 0xb5, 0x2f, 0xfd, 0x21, 1, 0, 1, 0, 0];
    assert!(matches!(
        refusal(Format::Zstd, &bad),
        (
            OpError::BadData { reason: BadReason::Dictionary, .. },
            OpError::BadData { reason: BadReason::Dictionary, .. }
        )
    ));
    // One byte, says the header, and an empty last block: the library alone lets that pass in a stream.
    let bad = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 1, 1, 0, 0];
    assert_eq!(refusal(Format::Zstd, &bad).0, BadReason::Block.at(0));
    assert_eq!(streamed(Format::Zstd, &bad, 10, 3), Err(BadReason::Length.at(9)));
    // A window of 2 GiB (exponent 21, RFC 8878 section 3.1.1.1.2): a stream does not get it.
    let bad = [0x28, 0xb5, 0x2f, 0xfd, 0, 21 << 3, 1, 0, 0];
    let window = streamed(Format::Zstd, &bad, 10, 100);
    assert!(
        matches!(window, Err(OpError::BadData { reason: BadReason::Window, .. })),
        "{window:?}"
    );
}

/// Skippable frames are frames of no content.
#[test]
fn skippable_frames() {
    let mut scratch = Scratch::new();
    for format in [Format::Lz4, Format::Zstd] {
        let codec = codec(&Compression::new(format));
        for magic in [0x50, 0x5e, 0x5f] {
            for len in [0u8, 1, 200] {
                let mut file = vec![magic, 0x2a, 0x4d, 0x18, len, 0, 0, 0];
                file.extend(vec![7; len.into()]);
                let whole = file.len();
                file.extend(b"what follows");
                let done = codec.decompress(&mut scratch, &file, &mut [0; 9]).expect("good");
                assert_eq!((done.consumed, done.produced), (whole, 0), "{format}");
                assert_eq!(streamed(format, &file[..whole], 10, 3), Ok(vec![]), "{format} {len}");
                for cut in 0..whole {
                    let result = codec.decompress(&mut scratch, &file[..cut], &mut [0; 9]);
                    assert_eq!(result, Err(BadReason::Truncated.at(cut)), "{format} {cut}");
                }
            }
        }
    }
}
