//! LZ4, LZ4s and Zstandard on arbitrary bytes.
//!
//! Decoding: whole buffers and streams must accept the same inputs and agree on data, counts and checksum, however the
//! stream is cut into pieces and however little room there is. Neither writes past its limit. (Zstandard: a stream
//! grants no window above 128 MiB; the fuzzer gets none above 8 MiB.)
//!
//! Encoding: any data comes back, within the bound, into a destination that is as large as the result.
//!
//! Input: format and direction, two bytes of limit, its scale or the level, a seed for the pieces; then the bytes.
#![cfg_attr(fuzzing, no_main)]

use std::cell::RefCell;

use lookaside_compress::{
    BadReason, Codec, Compression, DecompressStream, Format, OpError, Scratch, Status,
};
use lookaside_fuzz::fuzz_target;
use lookaside_simd::Cpu;

const FORMATS: [Format; 5] =
    [Format::Lz4Raw, Format::Lz4Blocks, Format::Lz4, Format::Lz4s, Format::Zstd];

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

/// What a decoder made of an input.
#[derive(Debug, PartialEq)]
enum Outcome {
    /// Data, bytes consumed, checksum.
    Data(Vec<u8>, usize, u64),
    /// Refused, truncated, or too large.
    Nothing,
}

/// Content of the room behind the limit that nobody may touch.
const GUARD: [u8; 64] = [0xa5; 64];

fuzz_target!(|input: &[u8]| {
    let &[what, limit_low, limit_high, scale, seed, ref src @ ..] = input else { return };
    let format = FORMATS[usize::from(what % 5)];
    SCRATCH.with_borrow_mut(|scratch| {
        if what & 0x80 != 0 {
            return round_trip(format, scale, scratch, src);
        }
        let limit = usize::from(u16::from_le_bytes([limit_low, limit_high])) << (scale % 5);
        let codec = codec(format, *format.levels().start());
        let whole = whole(&codec, scratch, src, limit);
        if format.has_streams() && !(format == Format::Zstd && window(src) > 8 << 20) {
            let pieces = pieces(&codec, src, limit, seed);
            // libzstd lets a repeated byte be longer than a small window has room for, but in a stream has none.
            let lenient = format == Format::Zstd && (1..128 << 10).contains(&window(src));
            let refused = lenient && pieces == Outcome::Nothing;
            let odd = format == Format::Zstd && has_odd_blocks(src);
            assert!(
                refused || odd || whole == pieces,
                "the whole buffer gives {whole:?}, the stream {pieces:?}"
            );
        }
    });
});

fn codec(format: Format, level: u8) -> Codec {
    let spec = Compression::new(format).level(level).block_bits(16);
    Codec::new(&spec, Cpu::host()).expect("a valid spec")
}

/// Whether a Zstandard frame has blocks of no bytes that are not raw ones, or of more repeated bytes than blocks may
/// have (RFC 8878 sections 3.1.1.1 and 3.1.1.2). libzstd takes some of them in a stream alone, and some whole alone.
fn has_odd_blocks(src: &[u8]) -> bool {
    let Some(&descriptor) = src.get(4) else { return false };
    let single = descriptor & 0x20 != 0;
    let content = match descriptor >> 6 {
        0 => usize::from(single),
        n => 1 << n,
    };
    let mut at = 5 + usize::from(!single) + [0, 1, 2, 4][usize::from(descriptor & 3)] + content;
    while let Some(&[a, b, c]) = src.get(at..).and_then(<[u8]>::first_chunk) {
        let word = u32::from_le_bytes([a, b, c, 0]);
        let (last, kind, size) = (word & 1 == 1, word >> 1 & 3, (word >> 3) as usize);
        if kind != 0 && size == 0 || kind == 1 && size > 128 << 10 {
            return true;
        }
        if last {
            break;
        }
        at += 3 + if kind == 1 { 1 } else { size };
    }
    false
}

/// The window that a Zstandard frame asks for (RFC 8878 section 3.1.1.1.2).
fn window(src: &[u8]) -> u64 {
    let (Some(&descriptor), Some(&byte)) = (src.get(4), src.get(5)) else { return 0 };
    if descriptor & 0x20 != 0 {
        // As large as the content: what no stream gets, no limit here lets through either.
        return 0;
    }
    let base = 1u64 << (10 + (byte >> 3));
    base + (base >> 3) * u64::from(byte & 7)
}

fn round_trip(format: Format, level: u8, scratch: &mut Scratch, src: &[u8]) {
    let codec = codec(format, 1 + level % 12);
    let mut dst = vec![0; codec.bound(src.len())];
    let done = codec.compress(scratch, src, &mut dst).expect("the bound");
    dst.truncate(done.produced);
    let mut tight = vec![0; dst.len()];
    tight.extend_from_slice(&GUARD);
    let len = dst.len();
    let again = codec.compress(scratch, src, &mut tight[..len]).expect("it fits");
    assert!(again == done && tight[..len] == dst[..] && tight[len..] == GUARD);
    let back = whole(&codec, scratch, &dst, src.len());
    assert!(back == Outcome::Data(src.to_vec(), dst.len(), done.checksum), "{format}");
}

fn whole(codec: &Codec, scratch: &mut Scratch, src: &[u8], limit: usize) -> Outcome {
    let mut dst = vec![0; limit];
    dst.extend_from_slice(&GUARD);
    let result = codec.decompress(scratch, src, &mut dst[..limit]);
    assert_eq!(dst[limit..], GUARD);
    match result {
        Ok(done) => {
            assert_eq!(done.status, Status::End);
            assert!(done.consumed <= src.len() && done.produced <= limit);
            dst.truncate(done.produced);
            Outcome::Data(dst, done.consumed, done.checksum)
        }
        Err(OpError::DstTooSmall) => Outcome::Nothing,
        Err(OpError::BadData { offset, .. }) => {
            assert!(offset <= src.len() as u64);
            Outcome::Nothing
        }
        Err(other) => panic!("{other}"),
    }
}

fn pieces(codec: &Codec, src: &[u8], limit: usize, seed: u8) -> Outcome {
    let mut stream = DecompressStream::new(codec, None).expect("a valid spec");
    let mut sizes = Sizes(u64::from(seed) + 1);
    let mut data = Vec::new();
    let (mut consumed, mut idle) = (0, 0);
    loop {
        let piece = sizes.next().min(src.len() - consumed);
        let room = sizes.next().min(limit + 1 - data.len());
        let mut dst = vec![0; room];
        dst.extend_from_slice(&GUARD);
        let result = stream.step(&src[consumed..consumed + piece], &mut dst[..room]);
        assert_eq!(dst[room..], GUARD);
        let done = match result {
            Ok(done) => done,
            Err(OpError::BadData { offset, reason }) => {
                assert!(offset <= (consumed + piece) as u64);
                assert_ne!(reason, BadReason::Truncated);
                return Outcome::Nothing;
            }
            Err(other) => panic!("{other}"),
        };
        assert!(done.consumed <= piece && done.produced <= room);
        consumed += done.consumed;
        data.extend_from_slice(&dst[..done.produced]);
        if data.len() > limit {
            return Outcome::Nothing;
        }
        match done.status {
            Status::End => return Outcome::Data(data, consumed, done.checksum),
            Status::Complete => {
                assert_eq!(done.consumed, piece, "complete, with input left");
                if consumed == src.len() {
                    return Outcome::Nothing;
                }
            }
            Status::Overflow => assert_eq!(done.produced, room, "overflow, with room left"),
        }
        idle = if done.consumed == 0 && done.produced == 0 { idle + 1 } else { 0 };
        assert!(idle < 200, "no progress");
    }
}

/// Lengths of pieces: mostly small, some large, zero among them.
struct Sizes(u64);

impl Sizes {
    fn next(&mut self) -> usize {
        // xorshift64, Marsaglia 2003.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        let random = (self.0 >> 16) as usize;
        match random % 8 {
            0 => random / 8 % 3,
            1..4 => random / 8 % 64,
            4..7 => random / 8 % 2048,
            _ => random / 8 % 70_000,
        }
    }
}
