//! Our own compressor of levels 3 to 5 on inputs that are hostile to it: what collides in its table,
//! periods around the window, and what changes from one kind of data to another.

mod common;

use common::{CONTENTS, Content, Guarded, Rng, blocks, content, window_bits, zlib};
use lookaside_compress::{Codec, Compression, DecompressStream, Format, Kernel, Scratch, Status};
use lookaside_simd::{Cpu, Tier};

const WINDOW: usize = 32 << 10;

const EFFORTS: [u8; 3] = [3, 4, 5];

/// All efforts, at each tier.
fn codecs() -> Vec<(String, Codec)> {
    let efforts = EFFORTS.map(Kernel::Chains);
    let all = Tier::here().flat_map(|tier| efforts.map(|kernel| (tier, kernel)));
    all.map(|(tier, kernel)| {
        let spec = Compression::new(Format::Raw);
        let codec = Codec::with_kernel(&spec, &Cpu::with_cap(tier), kernel).expect("everywhere");
        (format!("{} {tier}", kernel.name()), codec)
    })
    .collect()
}

/// All efforts, as a stream and as a piece: the same at each tier and each time; zlib decodes them.
fn check(scratch: &mut Scratch, src: &[u8], what: &str) {
    let src = Guarded::of(src);
    let mut first: [Option<Vec<u8>>; EFFORTS.len()] = Default::default();
    for (number, (name, codec)) in codecs().iter().enumerate() {
        let mut dst = Guarded::new(codec.bound(src.len()));
        let len = codec.compress(scratch, &src, &mut dst).expect("fits").produced;
        let packed = dst[..len].to_vec();
        let back = zlib::decompress(window_bits(Format::Raw), &packed, src.len());
        assert!(back.as_deref() == Ok(&*src), "{name}: {what}");
        let wanted = first[number % EFFORTS.len()].get_or_insert_with(|| packed.clone());
        assert!(*wanted == packed, "{name}: {what}: other bytes");

        let mut piece = vec![0; codec.bound(src.len()) + 2];
        let len = codec.compress_piece(scratch, &src, &mut piece).expect("fits").produced;
        assert!(len <= codec.bound(src.len()));
        piece.truncate(len);
        piece.extend_from_slice(&[3, 0]);
        let back = zlib::decompress(window_bits(Format::Raw), &piece, src.len());
        assert!(back.as_deref() == Ok(&*src), "{name}: {what}, a piece");
    }
}

#[test]
fn every_small_length() {
    let mut scratch = Scratch::new();
    for kind in CONTENTS {
        for len in 0..=300 {
            check(&mut scratch, &content(kind, len, 7), &format!("{kind:?} {len}"));
        }
    }
}

/// Around strips, the ring of distances, the window and stored blocks.
#[test]
fn edges() {
    let mut scratch = Scratch::new();
    for kind in CONTENTS {
        for middle in [8192, 16_384, WINDOW, 65_535, 65_536 + 8192, 131_072] {
            for len in [middle - 73, middle - 9, middle - 1, middle, middle + 1, middle + 17] {
                check(&mut scratch, &content(kind, len, 11), &format!("{kind:?} {len}"));
            }
        }
    }
}

#[test]
fn periods() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(5);
    let random: Vec<u8> = (0..70_000).map(|_| rng.below(256) as u8).collect();
    let around = [258, 4096, 8192, WINDOW, 65_536].into_iter().flat_map(|n| n - 2..=n + 2);
    for period in (1..40).chain(around) {
        let src: Vec<u8> = random[..period].iter().copied().cycle().take(150_000).collect();
        check(&mut scratch, &src, &format!("period {period}"));
    }
}

/// Three bytes that recur among others that do not, near and far.
#[test]
fn three_bytes() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(6);
    for every in [4, 5, 9, 4093, 4096, 4099, 40_000] {
        let src: Vec<u8> = (0..100_000)
            .map(|at: usize| if at % every < 3 { at as u8 % 3 } else { rng.below(256) as u8 })
            .collect();
        check(&mut scratch, &src, &format!("every {every}"));
    }
}

/// Words of four bytes that all have one place in the table (the upper bits of their hash are the same).
#[test]
fn collisions() {
    // The inverse of an odd number modulo 2^32, by Newton's method.
    let factor = 0x9e37_79b1_u32;
    let mut inverse = factor;
    for _ in 0..5 {
        inverse = inverse.wrapping_mul(2_u32.wrapping_sub(factor.wrapping_mul(inverse)));
    }
    let word = |low: u32| (0x1234_0000 | low & 0xffff).wrapping_mul(inverse).to_le_bytes();
    let mut scratch = Scratch::new();
    for step in [1, 3, 0] {
        let mut rng = Rng::new(9);
        let words = (0..60_000).flat_map(|n| match step {
            0 => word(rng.below(300) as u32),
            step => word(n * step),
        });
        let src: Vec<u8> = words.collect();
        check(&mut scratch, &src, &format!("step {step}"));
    }
}

/// Parts of every kind one after the other: blocks, and matches of three bytes, begin and end.
#[test]
fn kinds_in_turn() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(8);
    for round in 0..12 {
        let mut src = Vec::new();
        while src.len() < 400_000 {
            let len = 1 + rng.below(60_000);
            src.extend(content(rng.pick(&CONTENTS), len, round));
        }
        check(&mut scratch, &src, &format!("round {round}"));
        // What was compressed before has no part in it.
        let short = &src[..5000];
        check(&mut scratch, short, "and a short one");
    }
}

/// Where the kind of data changes, so do the codes.
#[test]
fn a_change_of_content_begins_a_block() {
    let mut scratch = Scratch::new();
    let mut rng = Rng::new(4);
    let mut src: Vec<u8> = (0..64 << 10).map(|_| b'a' + rng.below(8) as u8).collect();
    src.extend((0..64 << 10).map(|_| b'0' + rng.below(8) as u8));
    for (name, codec) in codecs() {
        let mut dst = vec![0; codec.bound(src.len())];
        let len = codec.compress(&mut scratch, &src, &mut dst).expect("fits").produced;
        // About three bits a byte; in one block, literals have four.
        assert!(len * 80 < 33 * src.len(), "{name}: {len}");
        assert!(blocks::parse(&dst[..len], &[]).tokens > 0, "{name}");
    }
}

/// Positions of four bytes: beyond 4 GB they begin again.
#[test]
#[ignore = "6 GB of memory for a minute: run with --release -- --ignored"]
fn more_than_four_gigabytes() {
    let piece = content(Content::Text, 1_000_003, 12);
    let src = piece.repeat(4400);
    for kernel in EFFORTS.map(Kernel::Chains) {
        let spec = Compression::new(Format::Gzip);
        let codec = Codec::with_kernel(&spec, Cpu::host(), kernel).expect("everywhere");
        let mut dst = vec![0; codec.bound(src.len())];
        let mut scratch = Scratch::new();
        let alone = codec.compress(&mut scratch, &piece, &mut dst).expect("fits").produced;
        let done = codec.compress(&mut scratch, &src, &mut dst).expect("fits");
        // Matches are found as before: 105 of the pieces lie behind 4 GB.
        assert!(done.produced < 4410 * alone, "{}: {}", kernel.name(), done.produced);
        let mut stream = DecompressStream::new(&codec, None).expect("valid");
        let (mut at, mut total, mut out) = (0, 0, vec![0; 1 << 20]);
        loop {
            let read = stream.step(&dst[at..done.produced], &mut out).expect("good");
            assert!(out[..read.produced] == src[total..][..read.produced]);
            at += read.consumed;
            total += read.produced;
            if read.status == Status::End {
                break;
            }
        }
        assert_eq!((at, total), (done.produced, src.len()), "{}", kernel.name());
    }
}
