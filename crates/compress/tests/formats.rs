//! LZ4, LZ4s and Zstandard: every level, lengths near every boundary, judged by decoders of others: a Python
//! program for LZ4's formats, the tools `lz4` and `zstd`.

mod common;

use common::tools::{oracle, run};
use common::{CONTENTS, Content, Guarded, content};
use lookaside_compress::{
    Checksum, Codec, Compression, CompressionError, Format, OpError, Scratch, Status,
    compress_bound, xxh32, xxh64,
};
use lookaside_simd::Cpu;

const FORMATS: [Format; 5] =
    [Format::Lz4Raw, Format::Lz4Blocks, Format::Lz4, Format::Lz4s, Format::Zstd];

fn codec(spec: &Compression) -> Codec {
    Codec::new(spec, Cpu::host()).expect("valid")
}

fn packed(codec: &Codec, scratch: &mut Scratch, src: &[u8]) -> Vec<u8> {
    let room = codec.bound(src.len());
    let mut dst = Guarded::new(room);
    let done = codec.compress(scratch, src, &mut dst).expect("fits");
    assert_eq!((done.consumed, done.status), (src.len(), Status::End));
    dst[..done.produced].to_vec()
}

/// Where lengths of tokens, blocks and windows end, and around.
fn lengths() -> Vec<usize> {
    let mut lens: Vec<usize> = (0..=40).collect();
    let edges = [64, 255, 270, 271, 525, 1024, 4096, 65_535, 65_536, 65_547, 131_072];
    for edge in edges {
        lens.extend(edge - 2..=edge + 2);
    }
    lens
}

fn letter(format: Format) -> Option<char> {
    match format {
        Format::Lz4Raw => Some('r'),
        Format::Lz4Blocks => Some('b'),
        Format::Lz4 => Some('f'),
        Format::Lz4s => Some('s'),
        _ => None,
    }
}

#[test]
fn every_length_comes_back_and_python_agrees() {
    let mut scratch = Scratch::new();
    let (mut cases, mut wanted) = (Vec::new(), Vec::new());
    for format in FORMATS {
        for kind in CONTENTS {
            for (i, len) in lengths().into_iter().enumerate() {
                let level = [1, 2, 3, 9, 12][i % 5];
                let bits = [16, 18, 20, 22][i % 4];
                let codec = codec(&Compression::new(format).level(level).block_bits(bits));
                let src = content(kind, len, i as u64);
                let what = format!("{format} {kind:?} {len} level {level}");
                let packed = packed(&codec, &mut scratch, &src);
                let mut dst = Guarded::new(len);
                let done = codec.decompress(&mut scratch, &Guarded::of(&packed), &mut dst);
                let done = done.unwrap_or_else(|e| panic!("{what}: {e}"));
                assert_eq!((done.consumed, done.produced), (packed.len(), len), "{what}");
                assert!(*dst == *src, "{what}");
                if let Some(letter) = letter(format).filter(|_| len < 5000 || i % 3 == 0) {
                    cases.push((letter, packed));
                    wanted.push((src, what));
                }
            }
        }
    }
    for (result, (src, what)) in oracle(&cases).into_iter().flatten().zip(wanted) {
        assert!(result.as_ref() == Ok(&src), "{what}: {:?}", result.err());
    }
}

#[test]
fn every_level_is_smaller_or_as_large_and_the_tools_agree() {
    let mut scratch = Scratch::new();
    let src = [content(Content::Text, 150_000, 1), content(Content::Mixed, 150_000, 2)].concat();
    for (format, tool) in [(Format::Lz4, "lz4"), (Format::Zstd, "zstd")] {
        let mut all = Vec::new();
        let mut sizes = Vec::new();
        for level in format.levels() {
            let packed = packed(&codec(&Compression::new(format).level(level)), &mut scratch, &src);
            sizes.push(packed.len());
            all.extend(packed);
        }
        // Both tools read frames one after the other.
        if let Some(out) = run(tool, &["-dc"], &all) {
            assert!(out == src.repeat(sizes.len()), "{tool}");
        }
        let (first, last) = (sizes[0], sizes[sizes.len() - 1]);
        assert!(last * 100 < first * 97, "{format}: {sizes:?}");
    }
}

#[test]
fn what_the_tools_make_is_read() {
    let mut scratch = Scratch::new();
    let src = [content(Content::Text, 300_000, 5), content(Content::Random, 100_000, 5)].concat();
    let files: [(Format, &str, &[&[&str]]); 2] = [
        (
            Format::Lz4,
            "lz4",
            &[
                &["-1"],
                &["-9", "-B4"],
                &["-B4", "-BD"],
                &["-B5", "-BD", "-BX", "--no-frame-crc"],
                &["-B4", "-BX", "-9"],
            ],
        ),
        (Format::Zstd, "zstd", &[&["-1"], &["-19"], &["--no-check"], &["--fast=5"]]),
    ];
    for (format, tool, ways) in files {
        let codec = codec(&Compression::new(format));
        for way in ways {
            let args: Vec<&str> = way.iter().copied().chain(["-c"]).collect();
            let Some(mut file) = run(tool, &args, &src) else { return };
            let len = file.len();
            file.extend_from_slice(b"what follows");
            let mut dst = Guarded::new(src.len());
            let done = codec.decompress(&mut scratch, &file, &mut dst).expect("good");
            assert_eq!((done.consumed, done.produced), (len, src.len()), "{tool} {way:?}");
            assert!(*dst == *src, "{tool} {way:?}");
            let mut small = Guarded::new(src.len() - 1);
            let refused = codec.decompress(&mut scratch, &file, &mut small);
            assert_eq!(refused, Err(OpError::DstTooSmall), "{tool} {way:?}");
        }
    }
}

#[test]
fn the_bound_holds_and_a_result_that_just_fits_does_fit() {
    let mut scratch = Scratch::new();
    for format in FORMATS {
        for level in [1, 2, 6, 12] {
            for bits in [16, 22] {
                let codec = codec(&Compression::new(format).level(level).block_bits(bits));
                for kind in CONTENTS {
                    for len in [0, 1, 5, 12, 13, 20, 64, 300, 3000, 65_536, 70_001, 140_000] {
                        let what = format!("{format} {kind:?} {len} level {level}");
                        let src = content(kind, len, 7);
                        let packed = packed(&codec, &mut scratch, &src);
                        assert!(packed.len() <= compress_bound(format, len), "{what}");
                        let mut dst = Guarded::new(packed.len());
                        let done = codec.compress(&mut scratch, &src, &mut dst);
                        assert_eq!(done.map(|d| d.produced), Ok(packed.len()), "{what}");
                        let some = [0, 1, packed.len() / 2, packed.len().saturating_sub(1)];
                        for room in some.into_iter().filter(|&room| room < packed.len()) {
                            let mut dst = Guarded::new(room);
                            let refused = codec.compress(&mut scratch, &src, &mut dst);
                            assert_eq!(refused, Err(OpError::DstTooSmall), "{what} in {room}");
                        }
                    }
                }
            }
        }
    }
}

/// An empty slice lies anywhere, also at address 1.
#[test]
fn nothing_at_all() {
    let mut scratch = Scratch::new();
    for format in FORMATS {
        for level in format.levels() {
            let codec = codec(&Compression::new(format).level(level));
            let mut dst = vec![0; codec.bound(0)];
            let done = codec.compress(&mut scratch, &[], &mut dst).expect("fits");
            let back = codec.decompress(&mut scratch, &dst[..done.produced], &mut []);
            assert_eq!(back.map(|done| done.produced), Ok(0), "{format} level {level}");
            let refused = codec.decompress(&mut scratch, &[], &mut []);
            assert_eq!(refused.is_ok(), format == Format::Lz4Blocks, "{format}");
            _ = codec.compress(&mut scratch, b"x", &mut []);
        }
    }
}

/// The state that one call leaves behind changes nothing for the next.
#[test]
fn results_do_not_depend_on_what_was_before() {
    let src = content(Content::Mixed, 50_000, 3);
    for format in FORMATS {
        for level in [1, 3, 12] {
            let codec = codec(&Compression::new(format).level(level));
            let fresh = packed(&codec, &mut Scratch::new(), &src);
            let mut used = Scratch::new();
            for len in [10, 60_000, 200_000, 1] {
                packed(&codec, &mut used, &content(Content::Text, len, 4));
                _ = codec.compress(&mut used, &src, &mut [0; 20]);
            }
            assert!(packed(&codec, &mut used, &src) == fresh, "{format} level {level}");
        }
    }
}

#[test]
fn checksums_are_those_asked_for_and_lz4s_own() {
    let src = content(Content::Text, 9000, 1);
    let mut scratch = Scratch::new();
    let sums = [
        (Checksum::None, 0),
        (Checksum::Crc32, lookaside_compress::crc32(0, &src).into()),
        (Checksum::Adler32, lookaside_compress::adler32(1, &src).into()),
        (Checksum::Xxh32, xxh32(0, &src).into()),
        (Checksum::Xxh64, xxh64(0, &src)),
    ];
    for format in Format::ALL {
        for (kind, sum) in sums {
            let codec = codec(&Compression::new(format).checksum(kind));
            let wanted = match format {
                Format::Gzip => sums[1].1,
                Format::Zlib => sums[2].1,
                Format::Lz4 => sums[3].1,
                _ => sum,
            };
            let mut dst = vec![0; codec.bound(src.len())];
            let done = codec.compress(&mut scratch, &src, &mut dst).expect("fits");
            assert_eq!(done.checksum, wanted, "{format} {kind:?}");
            let mut back = vec![0; src.len()];
            let undone =
                codec.decompress(&mut scratch, &dst[..done.produced], &mut back).expect("good");
            assert_eq!(undone.checksum, wanted, "{format} {kind:?}");
        }
    }
    // Published values (xxhash.com's test vectors, and RFC 8878's use of the lower half).
    assert_eq!(xxh32(0, b"abc"), 0x32d1_53ff);
    assert_eq!(xxh64(0, b"abc"), 0x44bc_2cf5_ad77_0999);
}

#[test]
fn zstandard_frames_have_size_and_checksum() {
    let src = content(Content::Text, 9000, 1);
    let frame = packed(&codec(&Compression::new(Format::Zstd)), &mut Scratch::new(), &src);
    // RFC 8878 section 3.1.1.1.1: content size of 2 bytes, single segment, checksum.
    assert_eq!(frame[..5], [0x28, 0xb5, 0x2f, 0xfd, 0x64]);
    assert_eq!(u16::from_le_bytes([frame[5], frame[6]]) + 256, 9000);
    assert_eq!(frame[frame.len() - 4..], (xxh64(0, &src) as u32).to_le_bytes());
}

#[test]
fn pieces_of_a_frame_are_joined() {
    let mut scratch = Scratch::new();
    let codec = codec(&Compression::new(Format::Lz4Blocks).block_bits(16));
    let src = content(Content::Mixed, 400_000, 8);
    let mut joined = Vec::new();
    for piece in src.chunks(70_000).chain([&[][..]]) {
        let mut dst = vec![0; codec.bound(piece.len())];
        let done = codec.compress_piece(&mut scratch, piece, &mut dst).expect("fits");
        assert_eq!((done.consumed, done.status), (piece.len(), Status::Complete));
        joined.extend_from_slice(&dst[..done.produced]);
    }
    let mut dst = vec![0; src.len()];
    let done = codec.decompress(&mut scratch, &joined, &mut dst).expect("good");
    assert_eq!((done.consumed, dst == src), (joined.len(), true));
    // An end mark ends it.
    joined.extend([0; 4]);
    let len = joined.len();
    joined.extend(b"what follows");
    let done = codec.decompress(&mut scratch, &joined, &mut dst).expect("good");
    assert_eq!((done.consumed, done.produced), (len, src.len()));
    for format in [Format::Lz4, Format::Lz4Raw, Format::Lz4s, Format::Zstd] {
        let other = Codec::new(&Compression::new(format), Cpu::host()).unwrap();
        let refused = other.compress_piece(&mut scratch, &src, &mut dst);
        assert_eq!(refused, Err(OpError::Unsupported));
    }
}

#[test]
fn parameters_are_checked() {
    let new = |spec: Compression| Codec::new(&spec, Cpu::host()).err();
    for format in FORMATS {
        let most = *format.levels().end();
        for level in [0, most + 1, 255] {
            let refused = Some(CompressionError::Level { level, format });
            assert_eq!(new(Compression::new(format).level(level)), refused);
        }
        assert_eq!(new(Compression::new(format).level(most)), None);
    }
    for bits in [0, 15, 17, 24] {
        let spec = Compression::new(Format::Lz4).block_bits(bits);
        assert_eq!(new(spec), Some(CompressionError::BlockBits(bits)));
    }
    let message = CompressionError::Level { level: 0, format: Format::Zstd }.to_string();
    assert_eq!(message, "compression level 0 of Zstandard is not 1 to 22");
}

/// As QATzip's and the Zstandard plugin's readers take LZ4s: lengths in 16 bits, a window of 32 KB. A reader of
/// Zstandard sequences has the literals from the source.
fn as_sequences(lz4s: &[u8], src: &[u8], more: usize) -> Vec<u8> {
    let mut at = 0;
    let number = |half: u8, at: &mut usize| {
        let mut number = usize::from(half);
        if half == 15 {
            let ends = lz4s[*at..].iter().position(|&byte| byte < 255).unwrap();
            number += 255 * ends + usize::from(lz4s[*at + ends]);
            *at += ends + 1;
        }
        number
    };
    let mut out: Vec<u8> = Vec::new();
    while at < lz4s.len() {
        let token = lz4s[at];
        at += 1;
        let literals = number(token >> 4, &mut at);
        at += literals;
        let kept = literals as u16;
        out.extend_from_slice(&src[out.len()..][..kept.into()]);
        if at == lz4s.len() {
            break;
        }
        let offset = usize::from(u16::from_le_bytes([lz4s[at], lz4s[at + 1]]));
        at += 2;
        let code = number(token & 15, &mut at);
        if code > 0 {
            assert!((1..=32_768).contains(&offset), "offset {offset}");
            for _ in 0..(code + more) as u16 {
                out.push(out[out.len() - offset]);
            }
        }
    }
    out
}

#[test]
fn lz4s_is_what_its_readers_take() {
    let mut scratch = Scratch::new();
    let sources = [
        vec![7; 131_072],
        vec![7; 1 << 20],
        content(Content::Random, 600_000, 3),
        [content(Content::Random, 40_000, 4), content(Content::Random, 40_000, 4)].concat(),
        content(Content::Text, 131_072, 5),
        content(Content::Mixed, 512 << 10, 6),
    ];
    let mut cases = Vec::new();
    for min_match in [3, 4] {
        for level in [1, 2, 9] {
            let codec = codec(&Compression::new(Format::Lz4s).level(level).min_match(min_match));
            for src in &sources {
                let packed = packed(&codec, &mut scratch, src);
                let back = as_sequences(&packed, src, usize::from(min_match) - 1);
                assert!(back == *src, "{min_match} {level} {}", src.len());
                let mut dst = vec![0; src.len()];
                let done = codec.decompress(&mut scratch, &packed, &mut dst).unwrap();
                assert!((done.produced, &dst) == (src.len(), src));
                cases.push((if min_match == 3 { 's' } else { 't' }, packed));
            }
        }
    }
    for (result, src) in oracle(&cases).into_iter().flatten().zip(sources.iter().cycle()) {
        assert!(result.as_ref() == Ok(src), "{:?}", result.err());
    }
    assert!(Codec::new(&Compression::new(Format::Lz4s).min_match(5), Cpu::host()).is_err());
}
