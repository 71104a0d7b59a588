//! Every compressor of whole buffers in `lookaside-compress`, on texts that a small program makes.
//!
//! What is compressed decodes to the text, by our decoder and by zlib-rs; no result is larger than the
//! bound, none is written past its room, and with the bound there always is one. Pieces likewise.
//!
//! Input: kernel, how much room, low byte of how much less than the bound; then the program: a byte
//! below 128 means so many bytes as they stand, another one a copy: of 8 x (byte - 127) bytes, from
//! as far back as the next two bytes say.
#![cfg_attr(fuzzing, no_main)]

use std::cell::RefCell;

use lookaside_compress::{Codec, Compression, Kernel, OpError, Scratch};
use lookaside_fuzz::fuzz_target;
use lookaside_simd::Cpu;

/// Content of the room behind the limit that nobody may touch.
const GUARD: [u8; 64] = [0xa5; 64];
const LONGEST: usize = 200_000;

thread_local! {
    static CODECS: RefCell<(Vec<Codec>, Scratch)> = RefCell::new((
        [1, 2, 3, 4].map(Kernel::Own)
            .into_iter()
            .chain([Kernel::Igzip(1), Kernel::Libdeflate(1)])
            .chain([3, 4, 5].map(Kernel::Chains))
            .filter_map(|kernel| Codec::with_kernel(&Compression::default(), Cpu::host(), kernel).ok())
            .collect(),
        Scratch::new(),
    ));
}

fn text(mut program: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    while let [op, rest @ ..] = program
        && text.len() < LONGEST
    {
        program = rest;
        if *op < 128 {
            let (bytes, rest) = program.split_at(program.len().min(usize::from(*op)));
            text.extend_from_slice(bytes);
            program = rest;
        } else if let [low, high, rest @ ..] = program {
            program = rest;
            let back = 1 + usize::from(u16::from_le_bytes([*low, *high]));
            if back <= text.len() {
                let start = text.len() - back;
                (0..8 * (usize::from(*op) - 127)).for_each(|at| text.push(text[start + at]));
            }
        }
    }
    text
}

fn check(codec: &Codec, scratch: &mut Scratch, packed: &[u8], text: &[u8]) {
    let mut back = vec![0; text.len()];
    let done = codec.decompress(scratch, packed, &mut back).expect("our own stream");
    assert_eq!((done.consumed, done.produced), (packed.len(), text.len()));
    assert!(back == text, "we read something else");
    let mut stream = zlib_rs::Inflate::new(false, 15);
    back.fill(0);
    let result = stream.decompress(packed, &mut back, zlib_rs::InflateFlush::Finish);
    assert_eq!(result, Ok(zlib_rs::Status::StreamEnd));
    assert!(back == text, "zlib-rs reads something else");
}

fuzz_target!(|input: &[u8]| {
    let &[kernel, room, less, ref program @ ..] = input else { return };
    let text = text(program);
    CODECS.with_borrow_mut(|(codecs, scratch)| {
        let codec = &codecs[usize::from(kernel) % codecs.len()];
        let bound = codec.bound(text.len());
        let limit = match room % 4 {
            0 | 1 => bound,
            2 => bound + usize::from(less),
            _ => bound.saturating_sub(usize::from(less) * (1 + bound / 256)),
        };
        let mut dst = vec![0; limit];
        dst.extend_from_slice(&GUARD);
        let is_piece = room & 128 != 0;
        let result = match is_piece {
            true => codec.compress_piece(scratch, &text, &mut dst[..limit]),
            false => codec.compress(scratch, &text, &mut dst[..limit]),
        };
        assert_eq!(dst[limit..], GUARD);
        let done = match result {
            Ok(done) => done,
            Err(OpError::DstTooSmall) => return assert!(limit < bound, "there was room"),
            Err(other) => panic!("{other}"),
        };
        assert!(done.consumed == text.len() && done.produced <= bound.min(limit));
        dst.truncate(done.produced);
        if is_piece {
            dst.extend_from_slice(&[3, 0]);
        }
        check(codec, scratch, &dst, &text);
    });
});
