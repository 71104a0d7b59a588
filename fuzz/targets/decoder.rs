//! The decoders of `lookaside-compress` on arbitrary bytes, in every format.
//!
//! Whole-buffer and stream decoding must accept the same inputs and agree on data, counts and
//! checksum, however the stream is cut into pieces and however little room there is. Neither writes
//! past its limit. What raw streams are good, zlib-rs says as well: the same data from the same bytes.
//!
//! Input: format, two bytes of limit, its scale, a seed for the pieces; then the compressed bytes.
#![cfg_attr(fuzzing, no_main)]

use std::cell::RefCell;
use std::fmt;

use lookaside_compress::{Codec, Compression, DecompressStream, Format, OpError, Scratch, Status};
use lookaside_fuzz::fuzz_target;
use lookaside_simd::Cpu;

struct Decoder {
    codec: Codec,
    stream: DecompressStream,
}

impl Decoder {
    fn new(format: Format) -> Decoder {
        let codec = Codec::new(&Compression::new(format), Cpu::host()).expect("a valid spec");
        let stream = DecompressStream::new(&codec, None).expect("a valid spec");
        Decoder { codec, stream }
    }
}

thread_local! {
    static DECODERS: RefCell<([Decoder; 3], Scratch)> = RefCell::new((
        [Format::Raw, Format::Zlib, Format::Gzip].map(Decoder::new),
        Scratch::new(),
    ));
}

/// What a decoder made of an input.
#[derive(PartialEq)]
enum Outcome {
    /// Data, bytes consumed, checksum.
    Data(Vec<u8>, usize, u64),
    /// Refused, truncated, or too large.
    Nothing,
}

fuzz_target!(|input: &[u8]| {
    let &[format, limit_low, limit_high, scale, seed, ref src @ ..] = input else { return };
    let limit = usize::from(u16::from_le_bytes([limit_low, limit_high])) << (scale % 5);
    DECODERS.with_borrow_mut(|(decoders, scratch)| {
        let decoder = &mut decoders[usize::from(format % 3)];
        let whole = whole(&decoder.codec, scratch, src, limit);
        let pieces = pieces(&mut decoder.stream, src, limit, seed);
        assert!(whole == pieces, "the whole buffer gives {whole}, the stream {pieces}");
        if format % 3 == 0 {
            let reference = reference(src, limit);
            assert!(whole == reference, "we say {whole}, zlib-rs {reference}");
        }
    });
});

/// Content of the room behind the limit that nobody may touch.
const GUARD: [u8; 64] = [0xa5; 64];

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

fn reference(src: &[u8], limit: usize) -> Outcome {
    let mut stream = zlib_rs::Inflate::new(false, 15);
    let mut dst = vec![0; limit];
    let result = stream.decompress(src, &mut dst, zlib_rs::InflateFlush::NoFlush);
    if result != Ok(zlib_rs::Status::StreamEnd) {
        return Outcome::Nothing;
    }
    dst.truncate(stream.total_out() as usize);
    Outcome::Data(dst, stream.total_in() as usize, 0)
}

fn pieces(stream: &mut DecompressStream, src: &[u8], limit: usize, seed: u8) -> Outcome {
    stream.reset();
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
            Err(OpError::BadData { offset, .. }) => {
                assert!(offset <= (consumed + piece) as u64);
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
        assert!(idle < 100, "no progress");
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Outcome::Data(data, consumed, checksum) => {
                write!(f, "{} bytes from {consumed}, checksum {checksum:08x}", data.len())
            }
            Outcome::Nothing => f.write_str("nothing"),
        }
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
