//! Decoding of raw streams: ours, libdeflate, ISA-L, zlib-ng, zlib-rs and stock zlib in one run.
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench decode -- [--rounds N] DIR...
//! ```
//!
//! Every DIR is one corpus (its files, not its folders), or a file. MB/s of CPU time, the best of
//! interleaved rounds, cycles for each byte and each token (of the clock at which this program ran a chain
//! of additions before), and ours as a multiple of each rival. Whole files and chunks in one call each,
//! then whole files in pieces: 4 KB of input, and 16 KB of room. Every decoder's output is compared first.

use std::fs;
use std::path::Path;

use lookaside_compress::{Codec, Compression, Inflate, Kernel, Place, Scratch, Until};
use lookaside_simd::Cpu;

#[allow(dead_code)]
#[path = "../tests/common/blocks.rs"]
mod blocks;
#[path = "common/clock.rs"]
mod clock;
#[path = "common/inputs.rs"]
mod inputs;
#[path = "common/rivals.rs"]
mod rivals;
#[path = "../tests/common/zlib.rs"]
mod zlib;

use clock::{clock, cpu_seconds};

/// Decodes into room for all, and says how much there was.
type WholeStream = dyn FnMut(&[u8], &mut [u8]) -> Option<usize>;

/// Who decodes.
enum Decoder {
    Ours(Box<Inflate>),
    Libdeflate(*mut libdeflate_sys::libdeflate_decompressor),
    ZlibRs(Box<zlib_rs::Inflate>),
    Zlib(zlib::Decompressor),
    /// One that takes whole streams only.
    Whole(Box<WholeStream>),
}

impl Decoder {
    /// All of `src`, at most `take` bytes and `room` bytes at a time. `None`: it cannot.
    fn run(&mut self, src: &[u8], dst: &mut [u8], take: usize, room: usize) -> Option<usize> {
        if let Decoder::Libdeflate(state) = self {
            let (mut taken, mut given) = (0, 0);
            // SAFETY: an own decompressor, slices valid for their lengths.
            let result = unsafe {
                libdeflate_sys::libdeflate_deflate_decompress_ex(
                    *state,
                    src.as_ptr().cast(),
                    src.len(),
                    dst.as_mut_ptr().cast(),
                    dst.len(),
                    &mut taken,
                    &mut given,
                )
            };
            return (take == usize::MAX && result == 0).then_some(given);
        }
        if let Decoder::Whole(run) = self {
            return if take == usize::MAX { run(src, dst) } else { None };
        }
        match self {
            Decoder::Ours(inflate) => inflate.reset(15),
            Decoder::ZlibRs(inflate) => inflate.reset(false),
            Decoder::Zlib(stream) => stream.reset(),
            Decoder::Libdeflate(_) | Decoder::Whole(_) => {}
        }
        let (mut at, mut out) = (0usize, 0usize);
        loop {
            let piece = &src[at..at.saturating_add(take).min(src.len())];
            let end = out.saturating_add(room).min(dst.len());
            let to = &mut dst[out..end];
            let (consumed, produced, done) = match self {
                Decoder::Ours(inflate) => {
                    let step = inflate.step(piece, to, Until::Ends).expect("good");
                    let done = inflate.at() == Place::End;
                    if !done {
                        inflate.keep(&to[..step.produced]);
                    }
                    (step.consumed, step.produced, done)
                }
                Decoder::ZlibRs(inflate) => {
                    let before = (inflate.total_in(), inflate.total_out());
                    let status = inflate.decompress(piece, to, zlib_rs::InflateFlush::NoFlush);
                    let done = status.expect("good") == zlib_rs::Status::StreamEnd;
                    let consumed = inflate.total_in() - before.0;
                    (consumed as usize, (inflate.total_out() - before.1) as usize, done)
                }
                Decoder::Zlib(stream) => {
                    let (code, consumed, produced) = stream.step(piece, to);
                    (consumed, produced, code == libz_sys::Z_STREAM_END)
                }
                Decoder::Libdeflate(_) | Decoder::Whole(_) => return None,
            };
            at += consumed;
            out += produced;
            if done {
                return Some(out);
            }
            assert!(consumed + produced > 0, "stuck");
        }
    }
}

/// Streams, each with what it decodes to.
struct Set {
    name: String,
    streams: Vec<(Vec<u8>, Vec<u8>)>,
    take: usize,
    room: usize,
}

fn decoders() -> Vec<(&'static str, Decoder)> {
    let mut all = vec![
        ("ours", Decoder::Ours(Inflate::boxed(15, Cpu::host()))),
        (
            "libdeflate",
            // SAFETY: no preconditions. The process ends soon.
            Decoder::Libdeflate(unsafe { libdeflate_sys::libdeflate_alloc_decompressor() }),
        ),
    ];
    #[cfg(target_arch = "x86_64")]
    {
        let mut isal = rivals::Isal::new();
        all.push(("ISA-L", Decoder::Whole(Box::new(move |src, dst| isal.run(src, dst)))));
    }
    let mut ng = rivals::ZlibNg::decompressor();
    all.push(("zlib-ng", Decoder::Whole(Box::new(move |src, dst| ng.run(src, dst)))));
    all.push(("zlib-rs", Decoder::ZlibRs(Box::new(zlib_rs::Inflate::new(false, 15)))));
    all.push(("zlib", Decoder::Zlib(zlib::Decompressor::new(-15))));
    all
}

fn measure(set: &Set, rounds: usize, clock: f64) {
    let mut decoders = decoders();
    let longest = set.streams.iter().map(|(_, plain)| plain.len()).max().unwrap_or(0);
    let total: usize = set.streams.iter().map(|(_, plain)| plain.len()).sum();
    let tokens: usize = set.streams.iter().map(|(src, _)| blocks::parse(src, &[]).tokens).sum();
    // Room to spare, as a caller of zlib's mostly has.
    let mut dst = vec![0; longest + 512];
    let mut best = vec![None::<f64>; decoders.len()];
    for round in 0..=rounds {
        for ((_, decoder), best) in decoders.iter_mut().zip(&mut best) {
            let start = cpu_seconds();
            let mut runs = true;
            for (src, plain) in &set.streams {
                let got = decoder.run(src, &mut dst, set.take, set.room);
                runs &= got.is_some();
                if round == 0 && got.is_some() {
                    assert_eq!(got, Some(plain.len()), "{}", set.name);
                    assert!(dst[..plain.len()] == plain[..], "{}", set.name);
                }
            }
            if round > 0 && runs {
                let time = cpu_seconds() - start;
                *best = Some(best.map_or(time, |best| best.min(time)));
            }
        }
    }
    println!("{}\n{:12}{:>8}{:>9}{:>9}{:>9}", set.name, "", "MB/s", "c/byte", "c/token", "ours is");
    for ((name, _), time) in decoders.iter().zip(&best) {
        let Some(time) = time else { continue };
        println!(
            "  {name:10}{:8.0}{:9.2}{:9.1}{:8.2}x",
            total as f64 / 1e6 / time,
            clock * time / total as f64,
            clock * time / tokens.max(1) as f64,
            time / best[0].expect("ours runs")
        );
    }
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut rounds, mut dirs) = (5, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => {
                rounds = arguments.next().and_then(|n| n.parse().ok()).expect("--rounds N");
            }
            dir => dirs.push(dir.to_owned()),
        }
    }
    let clock = clock();
    println!("{:.2} GHz; tier {}, zlib {}", clock / 1e9, Cpu::host().tier(), zlib::version());
    for dir in &dirs {
        let dir = Path::new(dir);
        let name = dir.file_name().unwrap_or_default().to_string_lossy();
        let files: Vec<_> =
            inputs::files(dir).iter().map(|path| fs::read(path).expect("readable")).collect();
        let zlib_streams = |level, chunk: usize| -> Vec<_> {
            let mut zlib = zlib::Compressor::new(level, -15);
            let chunks = files.iter().flat_map(|file| file.chunks(chunk));
            let packed = chunks.map(|plain| {
                let mut dst = vec![0; plain.len() + plain.len() / 100 + 1000];
                let len = zlib.compress(plain, &mut dst).expect("fits");
                (dst[..len].to_vec(), plain.to_vec())
            });
            packed.collect()
        };
        let set = |what: &str, streams, take, room| Set {
            name: format!("{name}, {what}"),
            streams,
            take,
            room,
        };
        const ALL: usize = usize::MAX;
        measure(&set("zlib -6, whole files", zlib_streams(6, ALL), ALL, ALL), rounds, clock);
        measure(&set("zlib -1, whole files", zlib_streams(1, ALL), ALL, ALL), rounds, clock);
        measure(&set("zlib -6, 64 KB chunks", zlib_streams(6, 65536), ALL, ALL), rounds, clock);
        measure(&set("zlib -6, 4 KB chunks", zlib_streams(6, 4096), ALL, ALL), rounds, clock);
        for kernel in [Kernel::Igzip(1), Kernel::Own(1)] {
            let Ok(codec) = Codec::with_kernel(&Compression::default(), Cpu::host(), kernel) else {
                continue;
            };
            let mut scratch = Scratch::new();
            let chunks = files.iter().flat_map(|file| file.chunks(65536));
            let packed = chunks.map(|plain| {
                let mut dst = vec![0; codec.bound(plain.len())];
                let done = codec.compress(&mut scratch, plain, &mut dst).expect("fits");
                (dst[..done.produced].to_vec(), plain.to_vec())
            });
            let what = format!("{}, 64 KB chunks", kernel.name());
            measure(&set(&what, packed.collect(), ALL, ALL), rounds, clock);
        }
        measure(&set("zlib -6, 4 KB of input", zlib_streams(6, ALL), 4096, ALL), rounds, clock);
        measure(&set("zlib -6, 64 and 16 KB", zlib_streams(6, ALL), 65536, 16384), rounds, clock);
    }
}
