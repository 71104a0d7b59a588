//! Bounds: no result exceeds `bound`, no write leaves `dst`, no output exceeds the limit.

mod common;

use common::{CONTENTS, Content, FORMATS, Guarded, Rng, content, kernels, window_bits, zlib};
use lookaside_compress::{
    Codec, Compression, Format, Kernel, OpError, Scratch, Status, compress_bound,
};
use lookaside_simd::Cpu;

#[test]
fn incompressible_data_never_exceeds_the_bound() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(1);
    let data = content(Content::Random, 4 * 65_535, 1);
    let mut dst = Guarded::new(compress_bound(Format::Gzip, data.len()));
    for (kernel, codec) in kernels(Format::Gzip) {
        let edges = (0..=3).flat_map(|n| (0..7).map(move |d| (n * 65_535 + d).max(3) - 3));
        let lens: Vec<usize> = edges.chain((0..25).map(|_| rng.below(data.len()))).collect();
        for len in lens {
            let room = codec.bound(len);
            let end = dst.len();
            // The end of `dst` is the guard page.
            let done = codec
                .compress(&mut scratch, &data[..len], &mut dst[end - room..])
                .unwrap_or_else(|e| panic!("{} {len}: {e}", kernel.name()));
            assert!(done.produced <= room, "{} {len}", kernel.name());
        }
    }
}

#[test]
fn the_bound_is_that_of_stored_blocks() {
    let codec = Codec::new(&Compression::new(Format::Zlib).level(0), Cpu::host()).expect("valid");
    let data = content(Content::Random, 140_000, 2);
    let mut scratch = Scratch::new();
    for len in [0, 1, 65_534, 65_535, 65_536, 131_070, 131_071, 140_000] {
        let mut dst = vec![0; codec.bound(len)];
        let done = codec.compress(&mut scratch, &data[..len], &mut dst).expect("fits");
        assert_eq!(done.produced, codec.bound(len));
    }
    assert_eq!(compress_bound(Format::Gzip, usize::MAX), usize::MAX);
}

#[test]
fn a_result_that_just_fits_does_fit() {
    let mut scratch = Scratch::new();
    for format in FORMATS {
        for (kernel, codec) in kernels(format) {
            for kind in CONTENTS {
                for len in [0, 1, 20, 300, 3000, 40_000] {
                    let what = format!("{} {format:?} {kind:?} {len}", kernel.name());
                    let src = content(kind, len, 7);
                    let mut roomy = vec![0; codec.bound(len)];
                    let size =
                        codec.compress(&mut scratch, &src, &mut roomy).expect("fits").produced;
                    // A kernel short of room may take another way, and come out smaller.
                    for room in [size, size - 1] {
                        let mut dst = Guarded::new(room);
                        let done = match codec.compress(&mut scratch, &src, &mut dst) {
                            Ok(done) => done,
                            Err(error) => {
                                assert_eq!(
                                    (room, error),
                                    (size - 1, OpError::DstTooSmall),
                                    "{what}"
                                );
                                continue;
                            }
                        };
                        let packed = Guarded::of(&dst[..done.produced]);
                        let back = zlib::decompress(window_bits(format), &packed, len);
                        assert!(back.as_deref() == Ok(&src[..]), "{what}");
                        assert!(kind == Content::Zeros || room == size, "{what}: not the smallest");
                    }
                }
            }
        }
    }
}

#[test]
fn every_shorter_dst_is_refused() {
    let mut scratch = Scratch::new();
    for format in FORMATS {
        for (kernel, codec) in kernels(format) {
            let src = content(Content::Text, 120, 8);
            let mut dst = vec![0; 300];
            let size = codec.compress(&mut scratch, &src, &mut dst).expect("fits").produced;
            for len in 0..size {
                let mut dst = Guarded::new(len);
                let result = codec.compress(&mut scratch, &src, &mut dst);
                assert_eq!(result, Err(OpError::DstTooSmall), "{} {format:?} {len}", kernel.name());
            }
        }
    }
}

#[test]
fn what_lies_beyond_dst_is_left_alone() {
    // The guard pages show overruns at the end; this shows them at any alignment.
    let mut scratch = Scratch::new();
    for (kernel, codec) in kernels(Format::Gzip) {
        for shift in 0..16 {
            let src = content(Content::Mixed, 2000 + shift, 9);
            let room = codec.bound(src.len());
            let mut memory = vec![0xee; shift + room + 64];
            let done = codec.compress(&mut scratch, &src, &mut memory[shift..shift + room]);
            let packed = memory[shift..][..done.expect("fits").produced].to_vec();
            assert!(memory[..shift].iter().all(|&b| b == 0xee), "{}", kernel.name());
            assert!(memory[shift + room..].iter().all(|&b| b == 0xee), "{}", kernel.name());

            let mut memory = vec![0xee; shift + src.len() + 64];
            let end = shift + src.len();
            codec.decompress(&mut scratch, &packed, &mut memory[shift..end]).expect("good");
            assert!(memory[..shift].iter().all(|&b| b == 0xee), "{}", kernel.name());
            assert!(memory[end..].iter().all(|&b| b == 0xee), "{}", kernel.name());
        }
    }
}

#[test]
fn a_bomb_stops_at_the_limit() {
    let mut scratch = Scratch::new();
    let bomb = vec![0; 20 << 20];
    for format in FORMATS {
        let codec = Codec::new(&Compression::new(format).level(9), Cpu::host()).expect("valid");
        let mut packed = vec![0; 100_000];
        let len = codec.compress(&mut scratch, &bomb, &mut packed).expect("small").produced;
        for limit in [0, 1, 4096, bomb.len() - 1] {
            let mut dst = Guarded::new(limit);
            let result = codec.decompress(&mut scratch, &packed[..len], &mut dst);
            assert_eq!(result, Err(OpError::DstTooSmall), "{format:?} {limit}");
        }
        let mut dst = Guarded::new(bomb.len());
        let done = codec.decompress(&mut scratch, &packed[..len], &mut dst).expect("fits");
        assert_eq!(done.produced, bomb.len());
    }
}

/// Pieces are never larger than the bound, and joined they are what stock zlib calls one stream.
#[test]
fn pieces_join_to_a_stream() {
    let mut scratch = Scratch::new();
    for level in 0..=12 {
        let codec = Codec::new(&Compression::default().level(level), Cpu::host()).unwrap();
        let mut joined = Vec::new();
        let mut all = Vec::new();
        for len in (0..40).chain([511, 512, 513, 65_534, 65_535, 65_536, 131_070]) {
            for data in [content(Content::Random, len, len as u64), vec![7; len]] {
                // Not a byte of room more than promised.
                let mut dst = vec![0; codec.bound(len)];
                let done = codec.compress_piece(&mut scratch, &data, &mut dst).unwrap();
                assert_eq!((done.consumed, done.status), (len, Status::Complete));
                joined.extend_from_slice(&dst[..done.produced]);
                all.extend_from_slice(&data);
            }
        }
        joined.extend_from_slice(&[3, 0]);
        let out = zlib::decompress(window_bits(Format::Raw), &joined, all.len()).unwrap();
        assert!(out == all, "level {level}");
        let random = content(Content::Random, 100, 1);
        let small = codec.compress_piece(&mut scratch, &random, &mut [0; 100]);
        assert_eq!(small, Err(OpError::DstTooSmall));
    }
}

/// Our own kernels read no byte beyond the text: behind it is a page that cannot be read.
#[test]
fn nothing_is_read_beyond_the_text() {
    let text = content(Content::Text, 66_000, 31);
    let lens = (0..700).chain(4090..4100).chain(16_380..16_430).chain(65_530..65_620);
    let mut scratch = Scratch::new();
    let ours = |kernel: &Kernel| matches!(kernel, Kernel::Own(_) | Kernel::Chains(_));
    for (kernel, codec) in kernels(Format::Raw).into_iter().filter(|(kernel, _)| ours(kernel)) {
        for len in lens.clone() {
            let src = Guarded::of(&text[text.len() - len..]);
            let mut packed = Guarded::new(codec.bound(len));
            let done = codec.compress(&mut scratch, &src, &mut packed).expect("fits");
            let back = zlib::decompress(window_bits(Format::Raw), &packed[..done.produced], len);
            assert!(back.as_deref() == Ok(&*src), "{} {len}", kernel.name());
        }
    }
}

/// One byte over and over, with every rest that its matches leave.
#[test]
fn runs() {
    let mut scratch = Scratch::new();
    for (kernel, codec) in kernels(Format::Raw) {
        for (byte, len) in (500..900).chain(65_530..65_550).chain([131_072, 200_000]).enumerate() {
            let data = vec![byte as u8; len];
            let mut packed = vec![0; codec.bound(len)];
            let done = codec.compress(&mut scratch, &data, &mut packed).expect("fits");
            let back = zlib::decompress(window_bits(Format::Raw), &packed[..done.produced], len);
            assert!(back.as_deref() == Ok(&*data), "{} {len}", kernel.name());
            // A destination of just that length, and a shorter one.
            let mut exact = vec![0; done.produced];
            let done = codec.compress(&mut scratch, &data, &mut exact).expect("fits");
            let back = zlib::decompress(window_bits(Format::Raw), &exact[..done.produced], len);
            assert!(back.as_deref() == Ok(&*data), "{} {len}, room for no more", kernel.name());
            let short = codec.compress(&mut scratch, &data, &mut packed[..4]);
            assert_eq!(short.map(|done| done.produced), Err(OpError::DstTooSmall));
        }
    }
}

/// What begins and ends like a run, and has zeros in many places, but is none.
#[test]
fn what_looks_a_run_is_compressed_all_the_same() {
    let mut scratch = Scratch::new();
    for (kernel, codec) in kernels(Format::Raw) {
        for len in [16, 1000, 4096, 65_536, 300_000] {
            let mut data = content(Content::Text, len, 5);
            let step = (len / 64).max(8);
            data.chunks_mut(step)
                .for_each(|part| part.iter_mut().take(8).for_each(|byte| *byte = 0));
            data[len - 8..].fill(0);
            let mut packed = vec![0; codec.bound(len)];
            let done = codec.compress(&mut scratch, &data, &mut packed).expect("fits");
            let back = zlib::decompress(window_bits(Format::Raw), &packed[..done.produced], len);
            assert!(back.as_deref() == Ok(&*data), "{} {len}", kernel.name());
        }
    }
}
