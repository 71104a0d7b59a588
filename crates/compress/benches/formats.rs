//! What LZ4, LZ4s, Zstandard and xxHash cost beside the libraries called bare, in one run.
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench formats -- [--rounds N] [--chunk KB] PATH...
//! ```
//!
//! Every PATH is a file, or a folder whose files are taken. Shows, for each format and level, in chunks of 64 KB: the
//! size in percent; MB/s of the library called as its documentation says (states and contexts reused) and of a
//! codec; and the codec's time as a multiple of the library's (CPU time, the best of interleaved rounds; the aim
//! is at most 1.03). Both directions. LZ4s has no library: it stands beside LZ4. Every result is decoded by the
//! other side and compared before anything is timed.

use std::ffi::{c_char, c_int, c_void};
use std::fs;
use std::hint::black_box;
use std::path::Path;

use lookaside_compress::{Codec, Compression, Format, Scratch, xxh32, xxh64};
use lookaside_simd::Cpu;
use zstd_sys as zstd;

#[path = "common/clock.rs"]
mod clock;
#[path = "common/inputs.rs"]
mod inputs;

use clock::cpu_seconds;

/// lz4frame.h: zeros are the defaults.
#[repr(C)]
#[derive(Default)]
struct FramePreferences {
    block_size: c_int,
    block_mode: c_int,
    content_checksum: c_int,
    frame_type: c_int,
    content_size: u64,
    dictionary: u32,
    block_checksum: c_int,
    level: c_int,
    auto_flush: u32,
    favor_decompression: u32,
    reserved: [u32; 3],
}

unsafe extern "C" {
    fn LZ4_compress_fast_extState(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        len: c_int,
        room: c_int,
        acceleration: c_int,
    ) -> c_int;
    fn LZ4_compress_HC_extStateHC(
        state: *mut c_void,
        src: *const c_char,
        dst: *mut c_char,
        len: c_int,
        room: c_int,
        level: c_int,
    ) -> c_int;
    fn LZ4F_compressFrame(
        dst: *mut c_void,
        room: usize,
        src: *const c_void,
        len: usize,
        preferences: *const FramePreferences,
    ) -> usize;
    // xxhash.h, as liblz4 has it.
    fn XXH32(data: *const c_void, len: usize, seed: u32) -> u32;
    fn XXH64(data: *const c_void, len: usize, seed: u64) -> u64;
}

/// The libraries, as a program calls them.
struct Bare {
    format: Format,
    level: u8,
    state: Vec<u64>,
    compress: *mut zstd::ZSTD_CCtx,
    decompress: *mut zstd::ZSTD_DCtx,
    frames: lz4_sys::LZ4FDecompressionContext,
}

impl Bare {
    fn new(format: Format, level: u8) -> Bare {
        let mut frames = lz4_sys::LZ4FDecompressionContext(std::ptr::null_mut());
        // SAFETY: fresh contexts, used by one thread; they live as long as the process.
        unsafe {
            let compress = zstd::ZSTD_createCCtx();
            let parameter = zstd::ZSTD_cParameter::ZSTD_c_compressionLevel;
            zstd::ZSTD_CCtx_setParameter(compress, parameter, level.into());
            let parameter = zstd::ZSTD_cParameter::ZSTD_c_checksumFlag;
            zstd::ZSTD_CCtx_setParameter(compress, parameter, 1);
            lz4_sys::LZ4F_createDecompressionContext(&mut frames, 100);
            let decompress = zstd::ZSTD_createDCtx();
            Bare { format, level, state: vec![0; 40_000], compress, decompress, frames }
        }
    }

    fn compress(&mut self, src: &[u8], dst: &mut [u8]) -> usize {
        let (from, to) = (src.as_ptr(), dst.as_mut_ptr());
        // SAFETY: slices valid for their lengths; the state is larger than any that liblz4 has, and aligned.
        unsafe {
            match (self.format, self.level) {
                (Format::Zstd, _) => zstd::ZSTD_compress2(
                    self.compress,
                    to.cast(),
                    dst.len(),
                    from.cast(),
                    src.len(),
                ),
                (Format::Lz4, level) => {
                    let preferences = FramePreferences {
                        block_mode: 1,
                        content_checksum: 1,
                        content_size: src.len() as u64,
                        level: if level == 1 { 0 } else { level.into() },
                        ..FramePreferences::default()
                    };
                    let (to, from) = (to.cast(), from.cast());
                    LZ4F_compressFrame(to, dst.len(), from, src.len(), &preferences)
                }
                (_, level) => {
                    let state = self.state.as_mut_ptr().cast();
                    let (from, to) = (from.cast(), to.cast());
                    let (len, room) = (src.len() as c_int, dst.len() as c_int);
                    (match level {
                        1 => LZ4_compress_fast_extState(state, from, to, len, room, 1),
                        _ => LZ4_compress_HC_extStateHC(state, from, to, len, room, level.into()),
                    }) as usize
                }
            }
        }
    }

    fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> usize {
        let (from, to) = (src.as_ptr(), dst.as_mut_ptr());
        // SAFETY: slices valid for their lengths.
        unsafe {
            match self.format {
                Format::Zstd => zstd::ZSTD_decompressDCtx(
                    self.decompress,
                    to.cast(),
                    dst.len(),
                    from.cast(),
                    src.len(),
                ),
                Format::Lz4 => {
                    let (mut taken, mut produced) = (src.len(), dst.len());
                    let left = lz4_sys::LZ4F_decompress(
                        self.frames,
                        to,
                        &mut produced,
                        from,
                        &mut taken,
                        std::ptr::null(),
                    );
                    assert_eq!((left, taken), (0, src.len()));
                    produced
                }
                _ => lz4_sys::LZ4_decompress_safe(
                    from.cast(),
                    to.cast(),
                    src.len() as c_int,
                    dst.len() as c_int,
                ) as usize,
            }
        }
    }
}

/// The best times of two in turn, in seconds.
fn best(rounds: usize, mut one: impl FnMut(), mut other: impl FnMut()) -> (f64, f64) {
    let mut times = (f64::MAX, f64::MAX);
    let timed = |run: &mut dyn FnMut()| {
        let start = cpu_seconds();
        run();
        cpu_seconds() - start
    };
    for _ in 0..rounds {
        times.0 = times.0.min(timed(&mut one));
        times.1 = times.1.min(timed(&mut other));
    }
    times
}

fn row(format: Format, level: u8, chunks: &[&[u8]], rounds: usize) {
    let codec = Codec::new(&Compression::new(format).level(level), Cpu::host()).expect("valid");
    let mut scratch = Scratch::new();
    let rival = if format == Format::Lz4s { Format::Lz4Raw } else { format };
    let mut bare = Bare::new(rival, level);
    let room = codec.bound(chunks[0].len()) + 100;
    let (mut dst, mut back) = (vec![0; room], vec![0; chunks[0].len()]);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for chunk in chunks {
        let back = &mut back[..chunk.len()];
        let done = codec.compress(&mut scratch, chunk, &mut dst).expect("fits");
        ours.push(dst[..done.produced].to_vec());
        match format {
            Format::Lz4s => {
                codec.decompress(&mut scratch, &dst[..done.produced], back).expect("good");
            }
            _ => assert_eq!(bare.decompress(&dst[..done.produced], back), chunk.len()),
        }
        assert!(back == *chunk, "wrong answer");
        let len = bare.compress(chunk, &mut dst);
        theirs.push(dst[..len].to_vec());
        if format != Format::Lz4s {
            back.fill(0);
            let done = codec.decompress(&mut scratch, &dst[..len], back).expect("good");
            assert!(done.produced == chunk.len() && back == *chunk, "wrong answer");
        }
    }
    let total: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    let mut other = vec![0; room];
    let compress = best(
        rounds,
        || chunks.iter().for_each(|chunk| _ = black_box(bare.compress(chunk, &mut other))),
        || {
            for chunk in chunks {
                _ = black_box(codec.compress(&mut scratch, chunk, &mut dst));
            }
        },
    );
    let mut other = back.clone();
    let decompress = best(
        rounds,
        || {
            for (packed, chunk) in theirs.iter().zip(chunks) {
                black_box(bare.decompress(packed, &mut other[..chunk.len()]));
            }
        },
        || {
            for (packed, chunk) in ours.iter().zip(chunks) {
                _ = black_box(codec.decompress(&mut scratch, packed, &mut back[..chunk.len()]));
            }
        },
    );
    let percent = 100.0 * ours.iter().map(Vec::len).sum::<usize>() as f64 / total as f64;
    let rate = |seconds: f64| total as f64 / 1e6 / seconds;
    println!(
        "{:<12} {level:>5} {percent:>7.2} {:>9.0} {:>7.0} {:>6.3} {:>9.0} {:>7.0} {:>6.3}",
        format.name(),
        rate(compress.0),
        rate(compress.1),
        compress.1 / compress.0,
        rate(decompress.0),
        rate(decompress.1),
        decompress.1 / decompress.0,
    );
}

fn hashes(chunks: &[&[u8]], rounds: usize) {
    let total: usize = chunks.iter().map(|chunk| chunk.len()).sum();
    let show = |name: &str, (bare, ours): (f64, f64)| {
        let rate = |seconds: f64| total as f64 / 1e6 / seconds;
        println!("{name:<26} {:>9.0} {:>7.0} {:>6.3}", rate(bare), rate(ours), ours / bare);
    };
    // SAFETY: slices valid for their lengths.
    let (theirs32, theirs64) = unsafe {
        (
            |chunk: &[u8]| XXH32(chunk.as_ptr().cast(), chunk.len(), 0),
            |chunk: &[u8]| XXH64(chunk.as_ptr().cast(), chunk.len(), 0),
        )
    };
    for chunk in chunks {
        assert_eq!(theirs32(chunk), xxh32(0, chunk));
        assert_eq!(theirs64(chunk), xxh64(0, chunk));
    }
    let each = |run: &dyn Fn(&[u8]) -> u64| {
        for chunk in chunks {
            black_box(run(chunk));
        }
    };
    let times = best(rounds, || each(&|c| theirs32(c).into()), || each(&|c| xxh32(0, c).into()));
    show("xxHash-32", times);
    show("xxHash-64", best(rounds, || each(&|c| theirs64(c)), || each(&|c| xxh64(0, c))));
}

fn main() {
    let (mut rounds, mut chunk, mut data) = (7, 64, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut number = || args.next().and_then(|value| value.parse().ok()).expect("a number");
        match &*arg {
            "--rounds" => rounds = number(),
            "--chunk" => chunk = number(),
            // What cargo itself passes.
            "--bench" => {}
            path => {
                for file in inputs::files(Path::new(path)) {
                    data.extend(fs::read(file).expect("readable"));
                }
            }
        }
    }
    assert!(!data.is_empty(), "name a file or a folder");
    let chunks: Vec<&[u8]> = data.chunks(chunk << 10).collect();
    println!("{} bytes in chunks of {chunk} KB; best of {rounds} rounds, in turn", data.len());
    println!("                           compress, MB/s     codec/ decompress, MB/s    codec/");
    println!("format       level  size %      bare   codec   bare      bare   codec   bare");
    for (format, levels) in [
        (Format::Lz4Raw, &[1, 2, 3, 9, 12][..]),
        (Format::Lz4, &[1, 3, 9]),
        (Format::Lz4s, &[1, 9]),
        (Format::Zstd, &[1, 3, 6, 9, 19]),
    ] {
        for &level in levels {
            row(format, level, &chunks, rounds);
        }
    }
    println!("\nchecksum                        bare    ours  ours/bare, MB/s");
    hashes(&chunks, rounds);
}
