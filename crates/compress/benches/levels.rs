//! What each level costs and gives, beside stock zlib at the same level, in one run.
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench levels -- [--kernels] [--rounds N] DIR...
//! ```
//!
//! Every DIR is one corpus (its files, not its folders). Shows, for each level: our kernel, our
//! size and zlib's in percent of the input, the quotient of the sizes in total and for the worst
//! file, MB/s of both (CPU time, medians of interleaved rounds) and their quotient. In three
//! shapes: stateless 64 KB chunks, whole files in one call, whole files as streams in 64 KB
//! steps. Then decoding of zlib -6 data, beside bare libdeflate and zlib. `--kernels` shows
//! every kernel instead of the chosen ones: what the mapping was chosen from.
//!
//! Every result is decoded by stock zlib and compared before anything is timed. Exits with 1 if
//! a level breaks its promise (2 % of zlib's size in total; no level larger than the one below).

use std::fs;
use std::path::Path;
use std::process::exit;

use lookaside_compress::{Codec, CompressStream, Compression, Flush, Kernel, Scratch, Status};
use lookaside_simd::Cpu;

#[path = "common/clock.rs"]
mod clock;
#[path = "../tests/common/zlib.rs"]
mod zlib;

use clock::cpu_seconds;

const CHUNK: usize = 64 * 1024;

#[derive(Clone, Copy, PartialEq)]
enum Shape {
    Chunks,
    Whole,
    Stream,
}

impl Shape {
    fn title(self) -> &'static str {
        match self {
            Shape::Chunks => "stateless, 64 KB chunks",
            Shape::Whole => "stateless, whole files",
            Shape::Stream => "streams, 64 KB steps",
        }
    }
}

/// Who compresses.
enum Rival {
    Ours(Box<(Codec, Scratch)>),
    Zlib(zlib::Compressor),
}

/// A contender: its sizes by file and its times.
struct Entry {
    rival: Rival,
    sizes: Vec<usize>,
    times: Vec<f64>,
}

struct Corpus {
    name: String,
    files: Vec<Vec<u8>>,
}

impl Corpus {
    fn read(dir: &Path) -> Corpus {
        let mut paths: Vec<_> = fs::read_dir(dir)
            .unwrap_or_else(|error| panic!("{}: {error}", dir.display()))
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.is_file())
            .collect();
        paths.sort();
        let files = paths.iter().map(|path| fs::read(path).expect("readable")).collect();
        let name = dir.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Corpus { name, files }
    }

    fn len(&self) -> usize {
        self.files.iter().map(Vec::len).sum()
    }
}

fn median(times: &[f64]) -> f64 {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn compress_file(rival: &mut Rival, shape: Shape, file: &[u8], dst: &mut [u8]) -> Vec<usize> {
    match (rival, shape) {
        (Rival::Ours(ours), Shape::Chunks | Shape::Whole) => {
            let (codec, scratch) = &mut **ours;
            let step = if shape == Shape::Chunks { CHUNK } else { usize::MAX };
            let mut at = 0;
            file.chunks(step)
                .map(|chunk| {
                    let done = codec.compress(scratch, chunk, &mut dst[at..]).expect("fits");
                    at += done.produced;
                    done.produced
                })
                .collect()
        }
        (Rival::Ours(ours), Shape::Stream) => {
            let mut stream = CompressStream::new(&ours.0, None).expect("a stream");
            let mut at = 0;
            let mut chunks = file.chunks(CHUNK).peekable();
            while let Some(chunk) = chunks.next() {
                let flush = if chunks.peek().is_none() { Flush::Finish } else { Flush::None };
                let done = stream.step(chunk, &mut dst[at..], flush).expect("fits");
                assert_ne!(done.status, Status::Overflow);
                at += done.produced;
            }
            vec![at]
        }
        (Rival::Zlib(zlib), Shape::Chunks) => {
            let mut at = 0;
            file.chunks(CHUNK)
                .map(|chunk| {
                    let produced = zlib.compress(chunk, &mut dst[at..]).expect("fits");
                    at += produced;
                    produced
                })
                .collect()
        }
        (Rival::Zlib(zlib), _) => vec![zlib.compress(file, dst).expect("fits")],
    }
}

fn check(shape: Shape, file: &[u8], packed: &[u8], sizes: &[usize]) {
    let (mut at, mut packed_at) = (0, 0);
    for &size in sizes {
        let len = if shape == Shape::Chunks { CHUNK.min(file.len() - at) } else { file.len() };
        let back = zlib::decompress(-15, &packed[packed_at..][..size], len).expect("decodes");
        assert!(back == file[at..][..len], "wrong answer");
        at += len;
        packed_at += size;
    }
    assert_eq!(at, file.len());
}

fn run(corpus: &Corpus, shape: Shape, entries: &mut [Entry], rounds: usize) {
    let largest = corpus.files.iter().map(Vec::len).max().unwrap_or(0);
    let mut dst = vec![0; 2 * largest + 4096];
    for entry in &mut *entries {
        for file in &corpus.files {
            let sizes = compress_file(&mut entry.rival, shape, file, &mut dst);
            check(shape, file, &dst, &sizes);
            entry.sizes.push(sizes.iter().sum());
        }
    }
    for _ in 0..rounds {
        for entry in &mut *entries {
            let start = cpu_seconds();
            for file in &corpus.files {
                compress_file(&mut entry.rival, shape, file, &mut dst);
            }
            entry.times.push(cpu_seconds() - start);
        }
    }
}

fn ours(codec: Codec) -> Entry {
    Entry { rival: Rival::Ours(Box::new((codec, Scratch::new()))), sizes: vec![], times: vec![] }
}

fn zlib_entry(level: u8) -> Entry {
    let rival = Rival::Zlib(zlib::Compressor::new(i32::from(level), -15));
    Entry { rival, sizes: vec![], times: vec![] }
}

fn name(entry: &Entry, shape: Shape) -> &'static str {
    match &entry.rival {
        Rival::Ours(ours) if shape == Shape::Stream => ours.0.compress_stream_kernel(),
        Rival::Ours(ours) => ours.0.compress_kernel(),
        Rival::Zlib(_) => "zlib",
    }
}

struct Row {
    percent: f64,
    rate: f64,
    total: usize,
}

fn row(entry: &Entry, corpus: &Corpus) -> Row {
    let total = entry.sizes.iter().sum();
    let percent = 100.0 * total as f64 / corpus.len() as f64;
    Row { percent, rate: corpus.len() as f64 / 1e6 / median(&entry.times), total }
}

fn worst(ours: &Entry, theirs: &Entry) -> f64 {
    let quotients = ours.sizes.iter().zip(&theirs.sizes).map(|(a, b)| *a as f64 / *b as f64);
    quotients.fold(0.0, f64::max)
}

fn levels(corpus: &Corpus, cpu: &Cpu, rounds: usize) -> bool {
    let mut kept = true;
    for shape in [Shape::Chunks, Shape::Whole, Shape::Stream] {
        let codec = |level| Codec::new(&Compression::default().level(level), cpu).expect("a codec");
        let mut entries: Vec<Entry> = (1..=12).map(|level| ours(codec(level))).collect();
        entries.extend((1..=9).map(zlib_entry));
        run(corpus, shape, &mut entries, rounds);
        println!("\n{}: {}", corpus.name, shape.title());
        println!(
            "level kernel          ours %  zlib %  size x  worst x   MB/s  zlib MB/s  speed x"
        );
        let mut below = usize::MAX;
        for level in 1..=12 {
            let entry = &entries[level - 1];
            let our = row(entry, corpus);
            print!("{level:5} {:14} {:7.2}", name(entry, shape), our.percent);
            if level <= 9 {
                let their = &entries[11 + level];
                let (theirs, worst) = (row(their, corpus), worst(entry, their));
                let size = our.total as f64 / theirs.total as f64;
                println!(
                    " {:7.2} {size:7.4} {worst:8.4} {:6.0} {:10.0} {:8.2}{}",
                    theirs.percent,
                    our.rate,
                    theirs.rate,
                    our.rate / theirs.rate,
                    if size > 1.02 { "  BROKEN: size" } else { "" }
                );
                kept &= size <= 1.02;
            } else {
                println!("{:32.0}", our.rate);
            }
            if our.total > below {
                println!("      BROKEN: larger than the level below");
                kept = false;
            }
            below = our.total;
        }
    }
    kept
}

fn kernels(corpus: &Corpus, cpu: &Cpu, rounds: usize) {
    for shape in [Shape::Chunks, Shape::Whole, Shape::Stream] {
        let mut entries: Vec<Entry> = Kernel::ALL
            .iter()
            .filter_map(|&kernel| Codec::with_kernel(&Compression::default(), cpu, kernel).ok())
            .filter(|codec| {
                shape != Shape::Stream || codec.compress_kernel() == codec.compress_stream_kernel()
            })
            .map(ours)
            .collect();
        let ours = entries.len();
        entries.extend((1..=9).map(zlib_entry));
        run(corpus, shape, &mut entries, rounds);
        println!("\n{}: {}", corpus.name, shape.title());
        print!("kernel               %    MB/s   size x / worst file x of zlib:");
        (1..=9).for_each(|level| print!("       -{level}     "));
        println!();
        for (index, entry) in entries.iter().enumerate() {
            let our = row(entry, corpus);
            let tag = if index >= ours { format!("-{}", index - ours + 1) } else { String::new() };
            print!("{:14}{tag:3} {:5.2} {:7.0}", name(entry, shape), our.percent, our.rate);
            print!("{:32}", "");
            for their in &entries[ours..] {
                let size = our.total as f64 / row(their, corpus).total as f64;
                print!(" {size:6.4}/{:6.4}", worst(entry, their));
            }
            println!();
        }
    }
}

/// Decoding of 64 KB chunks compressed by zlib -6: bare libdeflate, our session around it, zlib.
fn decoding(corpus: &Corpus, cpu: &Cpu, rounds: usize) {
    let mut zlib = zlib::Compressor::new(6, -15);
    let mut packed = Vec::new();
    for chunk in corpus.files.iter().flat_map(|file| file.chunks(CHUNK)) {
        let mut dst = vec![0; 2 * CHUNK];
        let len = zlib.compress(chunk, &mut dst).expect("fits");
        packed.push((dst[..len].to_vec(), chunk.to_vec()));
    }
    let codec = Codec::new(&Compression::default(), cpu).expect("a codec");
    let mut scratch = Scratch::new();
    let mut out = vec![0; CHUNK];
    // SAFETY: no preconditions; freed below.
    let bare = unsafe { libdeflate_sys::libdeflate_alloc_decompressor() };
    let mut inflate = zlib::Decompressor::new(-15);
    let mut times = [vec![], vec![], vec![]];
    for _ in 0..rounds * 4 {
        for (who, times) in times.iter_mut().enumerate() {
            let start = cpu_seconds();
            for (src, chunk) in &packed {
                let produced = match who {
                    0 => {
                        let (mut taken, mut given) = (0, 0);
                        // SAFETY: an own decompressor, slices valid for their lengths.
                        let result = unsafe {
                            libdeflate_sys::libdeflate_deflate_decompress_ex(
                                bare,
                                src.as_ptr().cast(),
                                src.len(),
                                out.as_mut_ptr().cast(),
                                out.len(),
                                &mut taken,
                                &mut given,
                            )
                        };
                        assert_eq!(result, 0);
                        given
                    }
                    1 => codec.decompress(&mut scratch, src, &mut out).expect("good").produced,
                    _ => inflate.decompress(src, &mut out).expect("good"),
                };
                assert_eq!(produced, chunk.len());
            }
            times.push(cpu_seconds() - start);
            let (_, last) = packed.last().expect("a corpus with content");
            assert!(out[..last.len()] == last[..]);
        }
    }
    // SAFETY: allocated above, freed once.
    unsafe { libdeflate_sys::libdeflate_free_decompressor(bare) };
    let rate = |times: &[f64]| corpus.len() as f64 / 1e6 / median(times);
    let [bare, ours, zlib] = times.each_ref().map(|times| rate(times));
    println!("\n{}: decoding, 64 KB chunks of zlib -6, MB/s", corpus.name);
    println!(
        "ours {ours:.0}, bare libdeflate {bare:.0} (x {:.3}), zlib {zlib:.0} (x {:.2})",
        ours / bare,
        ours / zlib
    );
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut every_kernel, mut rounds, mut dirs) = (false, 7, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--kernels" => every_kernel = true,
            "--rounds" => {
                rounds = arguments.next().and_then(|n| n.parse().ok()).expect("--rounds N");
            }
            dir => dirs.push(dir.to_owned()),
        }
    }
    if dirs.is_empty() {
        eprintln!("levels: no corpus: name one or more directories");
        return;
    }
    let cpu = Cpu::host();
    println!("tier {}, zlib {}, {rounds} rounds", cpu.tier(), zlib::version());
    let mut kept = true;
    for dir in dirs {
        let corpus = Corpus::read(Path::new(&dir));
        println!("\n{}: {} files, {} bytes", corpus.name, corpus.files.len(), corpus.len());
        if every_kernel {
            kernels(&corpus, cpu, rounds);
        } else {
            kept &= levels(&corpus, cpu, rounds);
            decoding(&corpus, cpu, rounds);
        }
    }
    if !kept {
        exit(1);
    }
}
