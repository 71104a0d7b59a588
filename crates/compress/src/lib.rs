//! DEFLATE, zlib, gzip, LZ4, LZ4s and Zstandard over slices, by the fastest kernel for each level.
//!
//! ```
//! use lookaside_compress::{Codec, Format, Scratch, Compression};
//! use lookaside_simd::Cpu;
//!
//! let codec = Codec::new(&Compression::new(Format::Gzip).level(6), Cpu::host())?;
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
//! - [`Inflate`]: raw DEFLATE, decoded with all that zlib tells about a stream on its way.
//! - [`compress_bound`]: what compression never exceeds. [`crc32`], [`adler32`] and their combinations;
//!   [`xxh32`], [`xxh64`]; [`RunningChecksum`].
//! - [`suits_igzip`]: a guess at the content, for who chooses a level by it.
//!
//! The crate knows nothing of rings, devices or threads. Its compressors are our own for AVX-512
//! (`lookaside-1` to `-4`) and for every CPU (`lookaside-chains-3` to `-5`), ISA-L's igzip, libdeflate and
//! zlib-rs, each where it is the fastest. Ours are also the decoder, the choice, the wrappers, the bound, typed
//! errors that say where, one behaviour under every split of input and output, and pieces ([`Codec::compress_piece`]) from
//! kernels that only make finished streams.
//!
//! # Which kernel serves which level
//!
//! A level N of 1..=9 promises zlib's size at level N, within 2 % in total for the Calgary and
//! for the Canterbury corpus, in 64 KB chunks, in whole files and as streams. No level gives
//! larger totals than the one below. Whole buffers also keep every single file within 5 % (level
//! 2: within 8 %). The kernel is the fastest that does all this. 10..=12 go beyond zlib.
//!
//! | level | whole buffers, tier AVX-512 | AVX2 | generic | streams, from AVX2 on | generic |
//! |---|---|---|---|---|---|
//! | 0 | stored | same | same | stored | same |
//! | 1 | lookaside-1 | igzip-1 | libdeflate-1 | igzip-1 | zlib-rs-2 |
//! | 2 | lookaside-2 | igzip-2 | libdeflate-1 | igzip-2 | zlib-rs-2 |
//! | 3 | lookaside-3 | lookaside-chains-3 | libdeflate-1 | igzip-3 | zlib-rs-2 |
//! | 4 | lookaside-4 | lookaside-chains-4 | libdeflate-2 | zlib-rs-3 | same |
//! | 5 | lookaside-chains-5 | same | libdeflate-3 | zlib-rs-5 | same |
//! | 6, 7 | libdeflate-5 | same | same | zlib-rs-6 | same |
//! | 8 | libdeflate-6 | same | same | zlib-rs-7 | same |
//! | 9 | libdeflate-8 | same | same | zlib-rs-7 | same |
//! | 10, 11, 12 | libdeflate-10, -11, -12 | same | same | zlib-rs-7 | same |
//!
//! Tiers are those of [`lookaside_simd::Tier`]; igzip and ours are for x86-64
//! (`lookaside-chains-3` to `-5` run everywhere, and are chosen where they were measured). [`Huffman::Static`]:
//! igzip-0 for 1..=3, else zlib-rs with fixed codes at its streams' level; its sizes are its own,
//! without the promise. A window below 32 KB: buffers that fit in it as above, larger ones by the
//! streams' kernel. Pieces: the kernel of whole buffers. Decoding: [`Inflate`], ours, for everything.
//! The libraries also look at the CPU themselves, which no cap of ours lowers: `LOOKASIDE_CPU`
//! chooses among kernels.
//!
//! # LZ4, LZ4s, Zstandard
//!
//! | format | levels | compression | decompression | streams |
//! |---|---|---|---|---|
//! | [`Format::Lz4Raw`], [`Format::Lz4Blocks`] | 1 to 12, liblz4's own | liblz4: 1 its fast compressor, 2 its middle one, 3 to 12 its high compression | liblz4 | no |
//! | [`Format::Lz4`] | the same | the same, in a frame of our own | the same | yes |
//! | [`Format::Lz4s`] | the same | liblz4's sequences with LZ4s' codes, split at 65,535 bytes, none from beyond the window | our own, plain code | no |
//! | [`Format::Zstd`] | 1 to 22, libzstd's own | libzstd | libzstd | yes |
//!
//! Here levels promise nothing beside the library's own; they are the library's, and so are the sizes. Every contract of
//! DEFLATE holds: the bound, typed errors, no more than `dst`, any pieces. What differs: LZ4 streams hold a
//! block back; a Zstandard stream cannot forget its history ([`Flush::Full`]), and of damaged Zstandard the
//! library does not say where. libzstd judges some frames that no compressor makes otherwise whole than in a stream: blocks of
//! no bytes, and a repeated byte beyond the size of a block.
//!
//! A codec costs what the library costs that it calls: 0.97 to 1.03 x its time in chunks of 64 KB, compressing and
//! decompressing; LZ4 frames 0.92 to 1.0 and 0.7 x liblz4's own. LZ4s takes 1.02 to 1.28 x liblz4's time, and decodes
//! at 0.55 of its speed. (AMD EPYC, Zen 5 class, virtual and busy, 2026-11-25; CPU time, best of 9 rounds; bench `formats`.)
//! The library's state is kept from call to call.
//!
//! # Measured
//!
//! Size in percent of the input, ours / zlib 1.2.13's, and MB/s, ours / zlib's:
//!
//! | level | Calgary, 64 KB chunks | | Calgary, streams | | Canterbury, 64 KB chunks | | Canterbury, streams | |
//! |---|---|---|---|---|---|---|---|---|
//! | 1 | 37.98 / 38.71 | 365 / 93 | 37.48 / 38.10 | 345 / 88 | 30.31 / 30.60 | 414 / 119 | 30.53 / 30.75 | 408 / 117 |
//! | 2 | 37.36 / 37.47 | 351 / 81 | 36.70 / 36.73 | 339 / 78 | 29.85 / 30.12 | 401 / 104 | 29.96 / 29.57 | 406 / 105 |
//! | 3 | 36.56 / 36.53 | 302 / 61 | 35.83 / 35.58 | 307 / 56 | 29.05 / 29.19 | 341 / 78 | 29.10 / 28.55 | 354 / 77 |
//! | 4 | 35.07 / 35.17 | 123 / 56 | 34.24 / 34.24 | 98 / 54 | 27.32 / 28.20 | 165 / 76 | 27.46 / 27.72 | 134 / 74 |
//! | 5 | 34.70 / 34.28 | 113 / 40 | 33.13 / 33.21 | 70 / 36 | 27.02 / 27.01 | 137 / 51 | 26.63 / 26.44 | 92 / 48 |
//! | 6 | 33.86 / 33.98 | 90 / 27 | 33.05 / 32.81 | 59 / 23 | 26.53 / 26.69 | 107 / 29 | 26.55 / 26.06 | 75 / 26 |
//! | 7 | 33.86 / 33.91 | 89 / 23 | 33.05 / 32.72 | 60 / 19 | 26.53 / 26.73 | 106 / 24 | 26.55 / 26.11 | 73 / 21 |
//! | 8 | 33.68 / 33.81 | 75 / 19 | 32.71 / 32.61 | 41 / 15 | 26.38 / 26.61 | 89 / 10 | 26.05 / 25.98 | 44 / 9 |
//! | 9 | 33.38 / 33.78 | 43 / 15 | 32.71 / 32.59 | 40 / 12 | 25.57 / 26.58 | 28 / 6 | 26.05 / 25.96 | 44 / 5 |
//! | 10 | 32.53 | 10 | 32.71 | 40 | 24.96 | 12 | 26.05 | 43 |
//! | 11 | 32.45 | 6 | 32.71 | 41 | 24.85 | 7 | 26.05 | 44 |
//! | 12 | 32.43 | 5 | 32.71 | 40 | 24.81 | 5 | 26.05 | 43 |
//!
//! Levels 1 to 3 of chunks are igzip's here; at tier AVX2 libdeflate-1 serves level 3 since 2026-11-23. With AVX-512 they are 36.91, 35.85 and
//! 35.57 % of Calgary at 630, 500 and 475 MB/s, and 29.35, 28.64 and 28.10 % of Canterbury at 670, 560
//! and 500, where libdeflate's level 1 does 192 and 228 and igzip's 413 and 436 (AMD EPYC, Zen 5 class,
//! virtual, 2026-11-23; bench `kernels`; all kernels, drawn: docs/deflate-kernels.svg).
//!
//! Levels 4 and 5 of whole buffers are libdeflate's here; with AVX2 they are our own since 2026-11-30: level 4
//! takes 0.7 to 1.0 of libdeflate-2's time and is 0.2 to 1.1 % smaller, level 5 takes 0.8 to 1.1 of libdeflate-3's
//! and is 0.5 to 2.3 % smaller (AMD Zen 3; docs/deflate-kernel.md).
//!
//! The worst single file as a stream is 1.07 x zlib's size at levels 2 and 6, 1.06 at level 5,
//! and within 5 % elsewhere.
//!
//! The decoder agrees with zlib on what it accepts, decodes and consumes: 10 million damaged streams at
//! each tier (2026-11-23; `LOOKASIDE_DAMAGED=10000000 cargo test --release -p lookaside-compress --test
//! inflate damaged`).
//!
//! Decoding (bench `decode`), MB/s of ours, and ours as a multiple of libdeflate, zlib-rs and zlib:
//!
//! | | Calgary | | | | Canterbury | | | |
//! |---|---|---|---|---|---|---|---|---|
//! | zlib -6, whole files | 1389 | 1.53 | 1.71 | 3.76 | 1743 | 1.55 | 1.57 | 3.28 |
//! | zlib -1, whole files | 1150 | 1.27 | 1.43 | 3.16 | 1419 | 1.33 | 1.38 | 2.81 |
//! | zlib -6, 64 KB chunks | 1338 | 1.58 | 1.74 | 3.73 | 1659 | 1.62 | 1.63 | 3.30 |
//! | zlib -6, 4 KB chunks | 668 | 1.43 | 1.63 | 2.57 | 736 | 1.40 | 1.41 | 2.17 |
//! | igzip -1, 64 KB chunks | 1166 | 1.70 | 1.91 | 3.50 | 1420 | 1.67 | 1.83 | 3.14 |
//! | zlib -6, 4 KB of input at a time | 842 | - | 1.42 | 2.62 | 1118 | - | 1.38 | 2.52 |
//! | zlib -6, 64 KB of input, 16 KB of room | 880 | - | 1.47 | 2.70 | 1115 | - | 1.38 | 2.47 |
//!
//! AMD EPYC (Zen 5 class, 2 virtual CPUs), Debian 12, 2026-11-22; CPU time, one core, the best of 25
//! interleaved rounds. `docs/deflate-decoder.md` has more inputs.
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench decode -- /corpora/calgary /corpora/canterbury --rounds 25
//! ```
//!
//! Sizes and compression: Intel Xeon (Sapphire Rapids class, 2 cores, virtual), Debian 12,
//! 2026-11-20; CPU time, one core, medians of 5 interleaved rounds, every result checked by zlib:
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench levels -- /corpora/calgary /corpora/canterbury --rounds 5
//! ```
//!
//! # What is left out
//!
//! LZ4's dictionaries and its "legacy" frames; LZ4s with a shortest match of 4. Finding the end of a block in the middle of a stream (but for our own pieces), and gzip's name,
//! time and comment fields (read past, never written): nobody has asked. Several gzip members in
//! one call: the caller loops, since [`Done::consumed`] says where each ended.
//!
//! What is valid is what zlib takes, in whole buffers and in pieces.
#![deny(unsafe_code)]
#![deny(missing_docs)]

mod checksum;
mod codec;
mod content;
mod format;
mod kernel;
mod lz4;
mod stream;
mod zstd;

pub use checksum::{RunningChecksum, adler32, adler32_combine, crc32, crc32_combine, xxh32, xxh64};
pub use codec::{Codec, Scratch};
pub use content::suits_igzip;
pub use kernel::Kernel;
pub use kernel::inflate::{Fault, Inflate, Place, Taken, Until};
pub use lookaside_spec::dc::{
    Checksum, Compression, CompressionError, Flush, Format, Huffman, LZ4_MAX_BLOCK, compress_bound,
};
pub use lookaside_spec::{BadReason, Done, OpError, Status};
pub use stream::{CompressStream, DecompressStream};
