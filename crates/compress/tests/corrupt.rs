//! Bad data: typed errors, no panic, and never wrong content under a checksum.

mod common;

use common::{Content, FORMATS, Guarded, Rng, content, window_bits, zlib};
use lookaside_compress::{
    BadReason, Codec, Compression, DecompressStream, Done, Format, Huffman, OpError, Scratch,
    Status, crc32,
};
use lookaside_simd::Cpu;

fn codec(format: Format) -> Codec {
    Codec::new(&Compression::new(format), Cpu::host()).expect("valid")
}

/// Small streams of every block type.
fn samples(format: Format) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut scratch = Scratch::new();
    let mut samples = Vec::new();
    for (level, huffman) in [
        (0, Huffman::Dynamic),
        (1, Huffman::Static),
        (1, Huffman::Dynamic),
        (6, Huffman::Dynamic),
        (12, Huffman::Dynamic),
    ] {
        for len in [0, 30, 400] {
            let spec = Compression::new(format).level(level).huffman(huffman);
            let codec = Codec::new(&spec, Cpu::host()).expect("valid");
            let src = content(Content::Text, len, 3);
            let mut packed = vec![0; codec.bound(len)];
            let size = codec.compress(&mut scratch, &src, &mut packed).expect("fits").produced;
            packed.truncate(size);
            samples.push((src, packed));
        }
    }
    // Several blocks, by zlib.
    let src = content(Content::Mixed, 2000, 4);
    let mut packed = vec![0; 4000];
    let size = zlib::Compressor::new(9, window_bits(format)).compress(&src, &mut packed);
    packed.truncate(size.expect("fits"));
    samples.push((src, packed));
    samples
}

fn streamed(codec: &Codec, src: &[u8], limit: usize, piece: usize) -> Result<Vec<u8>, OpError> {
    let mut stream = DecompressStream::new(codec, None).expect("valid");
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
fn every_truncation_is_one() {
    let mut scratch = Scratch::new();
    for format in FORMATS {
        let codec = codec(format);
        for (src, packed) in samples(format) {
            for len in 0..packed.len() {
                let cut = Guarded::of(&packed[..len]);
                let mut dst = Guarded::new(src.len() + 600);
                let wanted = Err(BadReason::Truncated.at(len));
                assert_eq!(codec.decompress(&mut scratch, &cut, &mut dst), wanted, "{format:?}");
                // With no more room than the content needs, the want of room may show first.
                let mut dst = Guarded::new(src.len());
                assert!(
                    codec.decompress(&mut scratch, &cut, &mut dst).is_err(),
                    "{format:?} {len}"
                );
                assert_eq!(
                    streamed(&codec, &cut, src.len() + 600, 7),
                    wanted.map(|_: Done| vec![])
                );
            }
        }
    }
}

#[test]
fn every_bit_flip_is_found_or_harmless() {
    let mut scratch = Scratch::new();
    for format in FORMATS {
        let codec = codec(format);
        let (mut refused, mut harmless) = (0, 0);
        for (src, packed) in samples(format) {
            for bit in 0..packed.len() * 8 {
                let mut bad = packed.clone();
                bad[bit / 8] ^= 1 << (bit % 8);
                let mut dst = Guarded::new(src.len() + 600);
                let stateless = codec
                    .decompress(&mut scratch, &bad, &mut dst)
                    .map(|d| dst[..d.produced].to_vec());
                let streamed = streamed(&codec, &bad, src.len() + 600, 100);
                for result in [&stateless, &streamed] {
                    match result {
                        Err(OpError::DstTooSmall | OpError::BadData { .. }) => refused += 1,
                        Err(other) => panic!("{other}"),
                        // Raw data has no checksum: any content may come out.
                        Ok(_) if format == Format::Raw => {}
                        Ok(out) => {
                            assert!(out == &src, "{format:?} bit {bit}: wrong data");
                            harmless += 1;
                            // FTEXT, MTIME, XFL and OS of gzip mean nothing to a decoder. Beyond
                            // the header: padding, and codes that nothing uses.
                            let mut probe = bad.clone();
                            if format == Format::Gzip && (4..10).contains(&(bit / 8)) {
                                probe[bit / 8] = packed[bit / 8];
                                assert_eq!(probe, packed);
                            }
                        }
                    }
                }
            }
        }
        assert!(refused > 1000, "{format:?}: {refused} refused, {harmless} harmless");
    }
}

#[test]
fn garbage_is_refused_or_decoded_but_never_more() {
    let mut rng = Rng::new(77);
    let mut scratch = Scratch::new();
    for round in 0..4000u64 {
        let format = rng.pick(&FORMATS);
        let codec = codec(format);
        let len = rng.below(200);
        let mut bad = content(Content::Random, len, round);
        let prefix: &[u8] = match format {
            Format::Zlib => &[0x78, 0x9c],
            Format::Gzip => &[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3],
            _ => &[],
        };
        bad.splice(0..0, prefix.iter().copied());
        let bad = Guarded::of(&bad);
        let mut dst = Guarded::new(rng.below(500));
        if let Ok(done) = codec.decompress(&mut scratch, &bad, &mut dst) {
            assert!(done.consumed <= bad.len() && done.produced <= dst.len());
        }
        let piece = 1 + rng.below(50);
        let _ = streamed(&codec, &bad, 500, piece);
    }
}

/// Decodes both ways; they must agree.
fn decode(format: Format, bad: &[u8]) -> Result<Vec<u8>, OpError> {
    let codec = codec(format);
    let mut dst = vec![0; 1000];
    let stateless = codec
        .decompress(&mut Scratch::new(), bad, &mut dst)
        .map(|done| dst[..done.produced].to_vec());
    for piece in [1, 3, 1000] {
        assert_eq!(streamed(&codec, bad, 1000, piece), stateless, "pieces of {piece}");
    }
    stateless
}

fn reason(format: Format, bad: &[u8]) -> Option<(usize, BadReason)> {
    match decode(format, bad) {
        Err(OpError::BadData { offset, reason }) => Some((offset as usize, reason)),
        other => panic!("{other:?}"),
    }
}

fn packed(format: Format) -> Vec<u8> {
    samples(format).swap_remove(4).1
}

#[test]
fn reasons_and_places() {
    let zlib = packed(Format::Zlib);
    let gzip = packed(Format::Gzip);
    let with = |of: &[u8], at: usize, byte: u8| {
        let mut bad = of.to_vec();
        bad[at] = byte;
        bad
    };
    // zlib: method, window, FCHECK.
    assert_eq!(reason(Format::Zlib, &with(&zlib, 0, 0x77)), Some((0, BadReason::Header)));
    assert_eq!(reason(Format::Zlib, &with(&zlib, 0, 0x88)), Some((0, BadReason::Header)));
    assert_eq!(reason(Format::Zlib, &with(&zlib, 1, zlib[1] ^ 1)), Some((1, BadReason::Header)));
    // A dictionary that nobody gave: CMF 78, FLG with FDICT and its FCHECK, DICTID.
    let fdict = [&[0x78, 0xbb, 1, 2, 3, 4], &zlib[2..]].concat();
    assert_eq!(reason(Format::Zlib, &fdict), Some((6, BadReason::Dictionary)));
    let end = zlib.len();
    let bad = with(&zlib, end - 1, !zlib[end - 1]);
    assert_eq!(reason(Format::Zlib, &bad), Some((end - 4, BadReason::Checksum)));

    // gzip: magic, method, reserved flags, CRC-32, ISIZE.
    for (at, byte) in [(0, 0x1e), (1, 0x8a), (2, 7), (3, 0x20), (3, 0x40), (3, 0x80)] {
        assert_eq!(reason(Format::Gzip, &with(&gzip, at, byte)), Some((at, BadReason::Header)));
    }
    let end = gzip.len();
    let bad = with(&gzip, end - 8, !gzip[end - 8]);
    assert_eq!(reason(Format::Gzip, &bad), Some((end - 8, BadReason::Checksum)));
    let bad = with(&gzip, end - 4, !gzip[end - 4]);
    assert_eq!(reason(Format::Gzip, &bad), Some((end - 4, BadReason::Length)));

    // Blocks: type 3; NLEN; a dynamic header without code lengths; a distance with no history.
    let block = |bad: &[u8]| reason(Format::Raw, bad).expect("an error").1;
    assert_eq!(block(&[0x07, 0, 0, 0, 0, 0]), BadReason::Block);
    assert_eq!(block(&[0x01, 5, 0, 5, 0, 1, 2, 3, 4, 5]), BadReason::Block);
    let mut no_codes = [0; 60];
    no_codes[0] = 0x05;
    assert_eq!(block(&no_codes), BadReason::Block);
    assert_eq!(block(&[0x03, 0x02, 0, 0, 0, 0, 0, 0]), BadReason::Block);
    // The place is that of the block, not the start.
    let mut bad = vec![0x00, 100, 0, !100, 0xff];
    bad.resize(105, 7);
    bad.extend([0x07, 0, 0, 0, 0, 0, 0, 0]);
    let (offset, reason) = reason(Format::Raw, &bad).expect("an error");
    assert!((105..=113).contains(&offset) && reason == BadReason::Block, "{offset} {reason:?}");
}

#[test]
fn gzip_headers_with_every_field() {
    let gzip = packed(Format::Gzip);
    let plain = decode(Format::Gzip, &gzip).expect("good");
    for flags in 0..32u8 {
        for extra_len in [0, 5, 255] {
            let mut header = vec![0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 2, 3];
            if flags & 4 != 0 {
                header.extend([extra_len, 0]);
                header.extend(vec![0; usize::from(extra_len)]);
            }
            if flags & 8 != 0 {
                header.extend(b"name\0");
            }
            if flags & 16 != 0 {
                header.extend(b"\0");
            }
            let mut bad_crc = None;
            if flags & 2 != 0 {
                let crc = crc32(0, &header) as u16;
                header.extend(crc.to_le_bytes());
                let mut bad = header.clone();
                let at = bad.len() - 1;
                bad[at] ^= 0x10;
                bad_crc = Some(bad);
            }
            let file = [&header[..], &gzip[10..]].concat();
            assert_eq!(decode(Format::Gzip, &file), Ok(plain.clone()), "flags {flags}");
            assert_eq!(
                zlib::decompress(31, &file, plain.len()).as_ref(),
                Ok(&plain),
                "the oracle, flags {flags}"
            );
            if let Some(bad) = bad_crc {
                let file = [&bad[..], &gzip[10..]].concat();
                assert_eq!(decode(Format::Gzip, &file), Err(BadReason::Header.at(bad.len() - 1)));
            }
        }
    }
}

#[test]
fn an_error_stays_until_reset() {
    let codec = codec(Format::Zlib);
    let good = packed(Format::Zlib);
    let mut bad = good.clone();
    let end = bad.len();
    bad[end - 1] ^= 1;
    let mut stream = DecompressStream::new(&codec, None).expect("valid");
    let mut dst = [0; 1000];
    let error = stream.step(&bad, &mut dst).expect_err("a wrong checksum");
    assert_eq!(stream.step(&good, &mut dst), Err(error));
    assert_eq!(stream.step(&[], &mut []), Err(error));
    stream.reset();
    assert_eq!(stream.step(&good, &mut dst).map(|d| d.status), Ok(Status::End));
    // After the end, nothing more is taken.
    let done = stream.step(&good, &mut dst).expect("still good");
    assert_eq!((done.consumed, done.produced, done.status), (0, 0, Status::End));
}

/// Cut anywhere, with a destination of exactly the right size: never "too small".
#[test]
fn a_cut_is_told_from_a_small_destination() {
    let data = content(Content::Text, 3000, 5);
    let mut scratch = Scratch::new();
    for format in FORMATS {
        let codec = Codec::new(&Compression::new(format).level(6), Cpu::host()).unwrap();
        let mut packed = vec![0; codec.bound(data.len())];
        let n = codec.compress(&mut scratch, &data, &mut packed).unwrap().produced;
        let mut out = vec![0; data.len()];
        for cut in 0..n {
            let e = codec.decompress(&mut scratch, &packed[..cut], &mut out).unwrap_err();
            let truncated = matches!(e, OpError::BadData { reason: BadReason::Truncated, .. });
            assert!(truncated, "{format:?} cut at {cut} of {n}: {e:?}");
        }
        for room in 0..data.len() {
            let e = codec.decompress(&mut scratch, &packed[..n], &mut out[..room]).unwrap_err();
            assert_eq!(e, OpError::DstTooSmall, "{format:?} room {room}");
        }
    }
}
