//! DEFLATE, zlib and gzip over slices, by the fastest kernel for each level.
//!
//! ```
//! use lookaside_compress::{Codec, Format, Scratch, Spec};
//! use lookaside_simd::Cpu;
//!
//! let codec = Codec::new(&Spec::new(Format::Gzip).level(6), Cpu::host())?;
//! let mut scratch = Scratch::new(); // one per thread
//!
//! let text = b"abracadabra, abracadabra, abracadabra";
//! let mut packed = vec![0; codec.bound(text.len())];
//! let done = codec.compress(&mut scratch, text, &mut packed)?;
//! packed.truncate(done.produced);
//! assert!(packed.len() < text.len() + 18);
//!
//! let mut back = vec![0; text.len()];
//! let done = codec.decompress(&mut scratch, &packed, &mut back)?;
//! assert_eq!((done.produced, &back[..]), (text.len(), &text[..]));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! - [`Codec`]: whole buffers, one call each; a [`Scratch`] per thread keeps the kernels' memory.
//! - [`CompressStream`], [`DecompressStream`]: the same in any pieces, with flushes and preset
//!   dictionaries.
//! - [`bound`]: what compression never exceeds. [`crc32`], [`adler32`] and their combinations.
//!
//! The crate knows nothing of rings, devices or threads. It owns no compression code either: for
//! DEFLATE the kernels are ISA-L's igzip, libdeflate and zlib-rs, each where it is the fastest.
//! What is ours: the choice, the wrappers, the bound, typed errors that say where, and one
//! behaviour under every split of input and output.
//!
//! # Which kernel serves which level
//!
//! A level N of 1..=9 promises zlib's size at level N, within 2 % in total for the Calgary and
//! for the Canterbury corpus, in 64 KB chunks, in whole files and as streams. No level gives
//! larger totals than the one below. Whole buffers also keep every single file within 5 % (level
//! 2: within 8 %). The kernel is the fastest that does all this. 10..=12 go beyond zlib.
//!
//! | level | whole buffers | tier generic | streams | tier generic |
//! |---|---|---|---|---|
//! | 0 | stored | stored | stored | stored |
//! | 1 | igzip-1 | libdeflate-1 | igzip-1 | zlib-rs-2 |
//! | 2 | igzip-2 | libdeflate-1 | igzip-2 | zlib-rs-2 |
//! | 3 | igzip-3 | libdeflate-1 | igzip-3 | zlib-rs-2 |
//! | 4 | libdeflate-2 | same | zlib-rs-3 | same |
//! | 5 | libdeflate-3 | same | zlib-rs-5 | same |
//! | 6, 7 | libdeflate-5 | same | zlib-rs-6 | same |
//! | 8 | libdeflate-6 | same | zlib-rs-7 | same |
//! | 9 | libdeflate-8 | same | zlib-rs-7 | same |
//! | 10, 11, 12 | libdeflate-10, -11, -12 | same | zlib-rs-7 | same |
//!
//! igzip needs x86-64 and tier AVX2 ([`lookaside_simd::Tier`]); elsewhere the generic columns
//! hold. [`Huffman::Static`]: igzip-0 for 1..=3, else zlib-rs with fixed codes at its streams'
//! level; its sizes are its own, without the promise. A window below 32 KB: buffers that fit in
//! it as above, larger ones by the streams' kernel. Decoding: libdeflate for whole buffers,
//! zlib-rs for streams. The libraries also look at the CPU themselves, which no cap of ours
//! lowers: `LOOKASIDE_CPU` chooses among kernels.
//!
//! # Measured
//!
//! Size in percent of the input, ours / zlib 1.2.13's, and MB/s, ours / zlib's:
//!
//! | level | Calgary, 64 KB chunks | | Calgary, streams | | Canterbury, 64 KB chunks | | Canterbury, streams | |
//! |---|---|---|---|---|---|---|---|---|
//! | 1 | 37.98 / 38.71 | 347 / 87 | 37.48 / 38.10 | 342 / 87 | 30.31 / 30.60 | 396 / 114 | 30.53 / 30.75 | 398 / 113 |
//! | 2 | 37.36 / 37.47 | 336 / 79 | 36.70 / 36.73 | 334 / 77 | 29.85 / 30.12 | 389 / 100 | 29.96 / 29.57 | 397 / 101 |
//! | 3 | 36.56 / 36.53 | 290 / 59 | 35.83 / 35.58 | 295 / 55 | 29.05 / 29.19 | 327 / 76 | 29.10 / 28.55 | 337 / 72 |
//! | 4 | 35.07 / 35.17 | 121 / 55 | 34.24 / 34.24 | 94 / 53 | 27.32 / 28.20 | 157 / 72 | 27.46 / 27.72 | 126 / 71 |
//! | 5 | 34.70 / 34.28 | 111 / 39 | 33.13 / 33.21 | 69 / 36 | 27.02 / 27.01 | 134 / 49 | 26.63 / 26.44 | 88 / 46 |
//! | 6 | 33.86 / 33.98 | 86 / 26 | 33.05 / 32.81 | 58 / 22 | 26.53 / 26.69 | 105 / 28 | 26.55 / 26.06 | 72 / 25 |
//! | 7 | 33.86 / 33.91 | 86 / 22 | 33.05 / 32.72 | 58 / 19 | 26.53 / 26.73 | 104 / 23 | 26.55 / 26.11 | 72 / 20 |
//! | 8 | 33.68 / 33.81 | 72 / 18 | 32.71 / 32.61 | 40 / 15 | 26.38 / 26.61 | 87 / 9 | 26.05 / 25.98 | 42 / 8 |
//! | 9 | 33.38 / 33.78 | 41 / 14 | 32.71 / 32.59 | 40 / 12 | 25.57 / 26.58 | 27 / 6 | 26.05 / 25.96 | 42 / 5 |
//! | 10 | 32.53 | 9 | 32.71 | 40 | 24.96 | 11 | 26.05 | 42 |
//! | 11 | 32.45 | 6 | 32.71 | 40 | 24.85 | 6 | 26.05 | 42 |
//! | 12 | 32.43 | 4 | 32.71 | 40 | 24.81 | 4 | 26.05 | 42 |
//!
//! The worst single file as a stream is 1.07 x zlib's size at levels 2 and 6, 1.06 at level 5,
//! and within 5 % elsewhere. Whole-buffer decoding of zlib -6 chunks of Calgary and Canterbury:
//! 639 and 719 MB/s, 2.6 and 2.2 x zlib, and 1.00 x bare libdeflate.
//!
//! Intel Xeon (Sapphire Rapids class, 2 cores, virtual), Debian 12, 2026-11-20; CPU time, one
//! core, medians of 7 interleaved rounds, every result checked by zlib:
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench levels -- /corpora/calgary /corpora/canterbury
//! ```
//!
//! # What is left out
//!
//! Finding the end of a block in the middle of a stream, and gzip's name, time and comment
//! fields (read past, never written): nobody has asked. Several gzip members in one call: the
//! caller loops, since [`Done::consumed`] says where each ended.
//!
//! Whole-buffer decoding accepts, as libdeflate does, a few raw streams that zlib refuses: with
//! codes for symbols that RFC 1951 reserves. No encoder makes them; under a checksum they are
//! refused like any other wrong content.
#![deny(unsafe_code)]
#![deny(missing_docs)]

mod bound;
mod checksum;
mod codec;
mod error;
mod format;
mod kernel;
mod spec;
mod stream;

pub use bound::bound;
pub use checksum::{adler32, adler32_combine, crc32, crc32_combine};
pub use codec::{Codec, Scratch};
pub use error::{BadReason, Done, Error, Status};
pub use kernel::Kernel;
pub use spec::{Checksum, Format, Huffman, Spec, SpecError};
pub use stream::{CompressStream, DecompressStream, Flush};
