//! Whole buffers: every kernel, tier, format and level, against stock zlib in both directions.

mod common;

use std::io::Write;
use std::process::{Command, Stdio};

use common::{
    CONTENTS, Content, FORMATS, Guarded, Rng, blocks, content, cpus, kernels, window_bits, zlib,
};
use lookaside_compress::{
    Checksum, Codec, Compression, CompressionError, Format, Huffman, Kernel, Scratch, Status,
    adler32, crc32,
};
use lookaside_simd::{Cpu, Tier};

/// Compresses in guarded memory of exactly the bound, decodes by us and by zlib.
fn round_trip(codec: &Codec, scratch: &mut Scratch, src: &[u8], what: &str) -> Vec<u8> {
    let format = codec.spec().format;
    let src = Guarded::of(src);
    let mut dst = Guarded::new(codec.bound(src.len()));
    let done = codec.compress(scratch, &src, &mut dst).unwrap_or_else(|e| panic!("{what}: {e}"));
    assert_eq!((done.consumed, done.status), (src.len(), Status::End), "{what}");
    let packed = Guarded::of(&dst[..done.produced]);

    let wanted = match (format, codec.spec().checksum) {
        (Format::Gzip, _) | (Format::Raw, Checksum::Crc32) => crc32(0, &src),
        (Format::Zlib, _) | (Format::Raw, Checksum::Adler32) => adler32(1, &src),
        _ => 0,
    };
    let wanted = u64::from(wanted);
    assert_eq!(done.checksum, wanted, "{what}");

    let theirs = zlib::decompress(window_bits(format), &packed, src.len());
    assert!(theirs.as_deref() == Ok(&src[..]), "{what}: zlib reads something else");

    let mut back = Guarded::new(src.len());
    let done = codec
        .decompress(scratch, &packed, &mut back)
        .unwrap_or_else(|e| panic!("{what}: decoding: {e}"));
    assert_eq!((done.consumed, done.produced), (packed.len(), src.len()), "{what}");
    assert_eq!((done.checksum, done.status), (wanted, Status::End), "{what}");
    assert!(back[..] == src[..], "{what}: other content");
    packed.to_vec()
}

#[test]
fn every_tier_level_format_coding() {
    let mut scratch = Scratch::new();
    for cpu in cpus() {
        for format in FORMATS {
            for level in 0..=12 {
                for huffman in [Huffman::Dynamic, Huffman::Static] {
                    for checksum in [Checksum::None, Checksum::Crc32, Checksum::Adler32] {
                        if format != Format::Raw && checksum != Checksum::None {
                            continue;
                        }
                        let spec = Compression::new(format)
                            .level(level)
                            .huffman(huffman)
                            .checksum(checksum);
                        let codec = Codec::new(&spec, &cpu).expect("a valid spec");
                        for kind in CONTENTS {
                            for len in [0, 1, 1000, 40_000] {
                                let src = content(kind, len, 1);
                                let what = format!("{} {spec:?} {kind:?} {len}", cpu.tier());
                                round_trip(&codec, &mut scratch, &src, &what);
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn every_kernel_at_every_small_length() {
    let mut scratch = Scratch::new();
    for (kernel, codec) in kernels(Format::Raw) {
        for kind in CONTENTS {
            for len in 0..=257 {
                let what = format!("{} {kind:?} {len}", kernel.name());
                round_trip(&codec, &mut scratch, &content(kind, len, len as u64), &what);
            }
        }
    }
}

#[test]
fn every_kernel_around_the_limits_of_the_format() {
    let mut scratch = Scratch::new();
    for (kernel, codec) in kernels(Format::Zlib) {
        for kind in CONTENTS {
            for middle in [4096, 8192, 32_768, 65_535, 131_070] {
                for len in middle - 2..=middle + 2 {
                    let what = format!("{} {kind:?} {len}", kernel.name());
                    round_trip(&codec, &mut scratch, &content(kind, len, 3), &what);
                }
            }
        }
    }
}

#[test]
fn corpora() {
    let mut scratch = Scratch::new();
    for (_, files) in common::corpora() {
        for (name, file) in &files {
            for cpu in cpus() {
                for level in [0, 1, 2, 3, 4, 5, 6, 8, 9] {
                    let spec = Compression::new(Format::Gzip).level(level);
                    let codec = Codec::new(&spec, &cpu).expect("a valid spec");
                    let what = format!("{name} level {level} {}", cpu.tier());
                    round_trip(&codec, &mut scratch, file, &what);
                }
            }
        }
    }
}

#[test]
fn static_means_no_dynamic_block() {
    let mut scratch = Scratch::new();
    for cpu in cpus() {
        for level in 0..=12 {
            let spec = Compression::default().level(level).huffman(Huffman::Static);
            let codec = Codec::new(&spec, &cpu).expect("a valid spec");
            for kind in CONTENTS {
                for len in [0, 9, 300, 70_000] {
                    let src = content(kind, len, 5);
                    let what = format!("{} level {level} {kind:?} {len}", cpu.tier());
                    let packed = round_trip(&codec, &mut scratch, &src, &what);
                    let blocks = blocks::parse(&packed, &[]);
                    assert_eq!(blocks.dynamic, 0, "{what}");
                    assert!(blocks.output == src, "{what}");
                    if level > 0 && kind == Content::Text && len >= 300 {
                        assert!(blocks.fixed > 0, "{what}: all stored");
                    }
                }
            }
        }
    }
    // And the check itself sees dynamic blocks.
    let codec = Codec::new(&Compression::default(), Cpu::host()).expect("a valid spec");
    let packed = round_trip(&codec, &mut scratch, &content(Content::Text, 70_000, 5), "dynamic");
    assert!(blocks::parse(&packed, &[]).dynamic > 0);
}

#[test]
fn no_match_leaves_the_window() {
    let mut scratch = Scratch::new();
    let mut widest = 0;
    for cpu in cpus() {
        for bits in 9..=15 {
            for level in [1, 2, 3, 4, 6, 9, 12] {
                for huffman in [Huffman::Dynamic, Huffman::Static] {
                    let spec =
                        Compression::default().level(level).huffman(huffman).window_bits(bits);
                    let codec = Codec::new(&spec, &cpu).expect("a valid spec");
                    for len in [1 << bits, (1 << bits) + 1, 100_000] {
                        let src = content(Content::Mixed, len, 11);
                        let what = format!("{} {spec:?} {len}", cpu.tier());
                        let packed = round_trip(&codec, &mut scratch, &src, &what);
                        let blocks = blocks::parse(&packed, &[]);
                        assert!(
                            blocks.max_distance <= 1 << bits,
                            "{what}: {}",
                            blocks.max_distance
                        );
                        widest = widest.max(blocks.max_distance);
                    }
                }
            }
        }
    }
    assert!(widest > 16_384, "the content has no far matches to tempt with: {widest}");
}

#[test]
fn zlib_announces_the_window() {
    let mut scratch = Scratch::new();
    for bits in 9..=15 {
        let spec = Compression::new(Format::Zlib).level(6).window_bits(bits);
        let codec = Codec::new(&spec, Cpu::host()).expect("a valid spec");
        let src = content(Content::Mixed, 100_000, 12);
        let packed = round_trip(&codec, &mut scratch, &src, "window");
        assert_eq!(packed[0] >> 4, bits - 8);
        // A decoder with just that window can read it.
        let theirs = zlib::decompress(i32::from(bits), &packed, src.len());
        assert!(theirs.as_deref() == Ok(&src[..]), "{bits}");
    }
}

#[test]
fn reads_what_zlib_writes() {
    let mut scratch = Scratch::new();
    for format in FORMATS {
        for level in 0..=9 {
            for strategy in 0..=4 {
                for kind in CONTENTS {
                    let src = content(kind, 20_000, 21);
                    let mut packed = vec![0; 30_000];
                    let len = zlib::Compressor::with_strategy(level, window_bits(format), strategy)
                        .compress(&src, &mut packed)
                        .expect("fits");
                    // What follows the end is not ours to touch.
                    packed.truncate(len + 13);
                    let codec = Codec::new(&Compression::new(format), Cpu::host()).expect("valid");
                    let mut back = Guarded::new(src.len());
                    let done = codec.decompress(&mut scratch, &packed, &mut back).expect("good");
                    assert_eq!((done.consumed, done.produced), (len, src.len()));
                    assert!(back[..] == src[..]);
                }
            }
        }
    }
}

#[test]
fn gunzip_reads_it() {
    let mut scratch = Scratch::new();
    for level in 0..=12 {
        let codec =
            Codec::new(&Compression::new(Format::Gzip).level(level), Cpu::host()).expect("valid");
        let src = content(Content::Mixed, 100_000, 31);
        let mut packed = vec![0; codec.bound(src.len())];
        let len = codec.compress(&mut scratch, &src, &mut packed).expect("fits").produced;
        let child =
            Command::new("gunzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let Ok(mut child) = child else {
            eprintln!("SKIPPED: no gunzip here");
            return;
        };
        let mut stdin = child.stdin.take().expect("piped");
        let writer = std::thread::spawn(move || stdin.write_all(&packed[..len]));
        let output = child.wait_with_output().expect("gunzip ran");
        writer.join().expect("no panic").expect("written");
        assert!(output.status.success() && output.stdout == src, "level {level}");
    }
}

#[test]
fn one_scratch_serves_codecs_in_any_order() {
    let mut rng = Rng::new(41);
    let mut scratch = Scratch::new();
    let codecs: Vec<_> = FORMATS.into_iter().flat_map(kernels).collect();
    for round in 0..600 {
        let (kernel, codec) = &codecs[rng.below(codecs.len())];
        let len = rng.pick(&[0, 1, 63, 5000, 66_000]);
        let src = content(rng.pick(&CONTENTS), len, round);
        round_trip(codec, &mut scratch, &src, &format!("round {round} {}", kernel.name()));
    }
}

#[test]
fn the_kernel_follows_the_tier() {
    let name = |level, tier| {
        Codec::new(&Compression::default().level(level), &Cpu::with_cap(tier))
            .expect("valid")
            .compress_kernel()
    };
    assert_eq!(name(0, Tier::Generic), "stored");
    assert_eq!(name(1, Tier::Generic), "libdeflate-1");
    assert_eq!([4, 5].map(|level| name(level, Tier::Generic)), ["libdeflate-2", "libdeflate-3"]);
    if Cpu::host().tier() >= Tier::Avx2 && cfg!(target_arch = "x86_64") {
        assert_eq!(name(1, Tier::Avx2), "igzip-1");
        assert_eq!(name(3, Tier::Avx2), "lookaside-chains-3");
        let ours = [4, 5].map(|level| name(level, Tier::Avx2));
        assert_eq!(ours, ["lookaside-chains-4", "lookaside-chains-5"]);
    }
    if Cpu::host().tier() >= Tier::Avx512 && cfg!(target_arch = "x86_64") {
        let ours = [1, 2, 3, 4, 5].map(|level| name(level, Tier::Avx512));
        let first = ["lookaside-1", "lookaside-2", "lookaside-3", "lookaside-4"];
        assert_eq!(ours[..4], first);
        assert_eq!(ours[4], "lookaside-chains-5");
    }
    let refused = Codec::with_kernel(
        &Compression::default(),
        &Cpu::with_cap(Tier::Generic),
        Kernel::Igzip(1),
    );
    assert_eq!(refused.err(), Some(CompressionError::Kernel("igzip-1")));
}

#[test]
fn bad_specs_are_refused() {
    let new = |spec: Compression| Codec::new(&spec, Cpu::host()).err();
    assert_eq!(
        new(Compression::default().level(13)),
        Some(CompressionError::Level { level: 13, format: Format::Raw })
    );
    assert_eq!(new(Compression::default().window_bits(8)), Some(CompressionError::WindowBits(8)));
    assert_eq!(new(Compression::default().window_bits(16)), Some(CompressionError::WindowBits(16)));
    assert_eq!(new(Compression::default()), None);
}
