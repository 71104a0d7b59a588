//! What it costs to compress in pieces that are joined into one stream.
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench pieces -- [--rounds N] [--levels 1,6] PATH...
//! ```
//!
//! Every PATH, a file or the files of a folder one behind another, is repeated to 16 MB. Shows,
//! for each level and piece size: the size of all pieces beside that of one whole call and of
//! stock zlib's one stream; MB/s (CPU time, medians of interleaved rounds) of pieces, and of whole
//! calls for the same buffers by the same codec. Their quotient is what opening the ends costs.
//!
//! The joined pieces are decoded by stock zlib and compared before anything is timed.

use std::fs;
use std::path::Path;

use lookaside_compress::{Codec, Compression, Scratch};
use lookaside_simd::Cpu;

#[path = "common/clock.rs"]
mod clock;
#[path = "../tests/common/zlib.rs"]
mod zlib;

use clock::cpu_seconds;

const LEN: usize = 16 << 20;
const SIZES: [usize; 5] = [64 << 10, 256 << 10, 512 << 10, 1 << 20, 2 << 20];

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn read(path: &Path) -> Vec<u8> {
    let mut data = Vec::new();
    if path.is_file() {
        data = fs::read(path).expect("readable");
    } else {
        let entries = fs::read_dir(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.is_file()) {
            data.extend(fs::read(path).expect("readable"));
        }
    }
    assert!(!data.is_empty(), "{}: nothing there", path.display());
    let once = data.len();
    while data.len() < LEN {
        data.extend_from_within(..once.min(LEN - data.len()));
    }
    data.truncate(LEN);
    data
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut rounds, mut levels, mut paths) = (3, vec![1, 6], Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--rounds" => {
                rounds = arguments.next().and_then(|n| n.parse().ok()).expect("--rounds N");
            }
            "--levels" => {
                let list = arguments.next().expect("--levels LIST");
                levels = list.split(',').map(|level| level.parse().expect("a level")).collect();
            }
            path => paths.push(path.to_owned()),
        }
    }
    if paths.is_empty() {
        eprintln!("pieces: no content: name one or more files or folders");
    }
    println!(
        "content         level kernel        piece KB  % of 1 call  % of zlib   MB/s  call MB/s  speed x"
    );
    for path in paths {
        let data = read(Path::new(&path));
        let name = Path::new(&path).file_name().unwrap_or_default().to_string_lossy().into_owned();
        for &level in &levels {
            rows(&name, level, &data, rounds);
        }
    }
}

fn rows(name: &str, level: u8, data: &[u8], rounds: usize) {
    let codec = Codec::new(&Compression::default().level(level), Cpu::host()).expect("a codec");
    let mut scratch = Scratch::new();
    let mut dst = vec![0; codec.bound(data.len()) + 1024];
    let one = codec.compress(&mut scratch, data, &mut dst).expect("fits").produced;
    let stock = (level <= 9)
        .then(|| zlib::Compressor::new(level.into(), -15).compress(data, &mut dst).expect("fits"));
    for size in SIZES {
        let mut joined = Vec::with_capacity(data.len() + data.len() / 8);
        for piece in data.chunks(size) {
            let done = codec.compress_piece(&mut scratch, piece, &mut dst).expect("fits");
            joined.extend_from_slice(&dst[..done.produced]);
        }
        joined.extend_from_slice(&[3, 0]);
        assert!(zlib::decompress(-15, &joined, data.len()).as_deref() == Ok(data), "wrong answer");

        let (mut piece_times, mut call_times) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            let start = cpu_seconds();
            for piece in data.chunks(size) {
                codec.compress_piece(&mut scratch, piece, &mut dst).expect("fits");
            }
            let middle = cpu_seconds();
            for piece in data.chunks(size) {
                codec.compress(&mut scratch, piece, &mut dst).expect("fits");
            }
            piece_times.push(middle - start);
            call_times.push(cpu_seconds() - middle);
        }
        let (pieces, calls) = (median(&mut piece_times), median(&mut call_times));
        let rate = |time: f64| data.len() as f64 / 1e6 / time;
        let of = |other: usize| 100.0 * joined.len() as f64 / other as f64;
        let stock = stock.map_or("       -".to_owned(), |stock| format!("{:8.2}", of(stock)));
        println!(
            "{name:15} {level:5} {:13} {:8} {:12.2} {stock:>10} {:6.0} {:10.0} {:8.3}",
            codec.compress_kernel(),
            size >> 10,
            of(one),
            rate(pieces),
            rate(calls),
            calls / pieces
        );
    }
}
