//! Which kernel fits which level of zlib, judged file by file.
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench fit -- [--limit 1.02] [--all] PATH...
//! ```
//!
//! Every PATH is a file or a folder of files; of each file the first MB counts. In three shapes
//! (one call, pieces of 512 KB, a stream written to in 4 KB steps), for each of zlib's levels 1 to
//! 9: the kernels whose largest quotient of sizes, ours through zlib's, is within the limit for
//! every file, with that file, the quotient of the totals and that of the speeds (CPU time, the
//! better of two rounds for each file); and for the fastest ones beyond the limit, which files
//! are, and by how much. `--all` shows every kernel. For calls and pieces also what a choice by
//! content gives: one kernel for text ([`suits_igzip`]), another for the rest.
//!
//! Every result is decoded by stock zlib and compared.

use std::fs;
use std::path::{Path, PathBuf};

use lookaside_compress::{
    Codec, CompressStream, Compression, Flush, Kernel, Scratch, Status, suits_igzip,
};
use lookaside_simd::Cpu;

#[path = "common/clock.rs"]
mod clock;
#[path = "common/inputs.rs"]
mod inputs;
#[path = "../tests/common/zlib.rs"]
mod zlib;

use clock::cpu_seconds;

const MOST: usize = 1 << 20;
const PIECE: usize = 512 << 10;
const STEP: usize = 4 << 10;

#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    Call,
    Pieces,
    Stream,
}

/// Sizes and times by file.
#[derive(Default)]
struct Row {
    sizes: Vec<usize>,
    times: Vec<f64>,
}

impl Row {
    fn time(&self) -> f64 {
        self.times.iter().sum()
    }

    fn size(&self) -> usize {
        self.sizes.iter().sum()
    }
}

fn files(path: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |path: &PathBuf| {
        let mut data = fs::read(path).expect("readable");
        data.truncate(MOST);
        (path.file_name().unwrap_or_default().to_string_lossy().into_owned(), data)
    };
    inputs::files(path).iter().map(read).filter(|(_, data)| !data.is_empty()).collect()
}

/// The result of one file: two rounds, the better time.
fn measure(row: &mut Row, data: &[u8], dst: &mut [u8], mut run: impl FnMut(&mut [u8]) -> usize) {
    let mut best = f64::INFINITY;
    let mut size = 0;
    for _ in 0..2 {
        let start = cpu_seconds();
        size = run(dst);
        best = best.min(cpu_seconds() - start);
    }
    let back = zlib::decompress(-15, &dst[..size], data.len());
    assert!(back.as_deref() == Ok(data), "wrong answer");
    row.sizes.push(size);
    row.times.push(best);
}

fn call(codec: &Codec, scratch: &mut Scratch, src: &[u8], dst: &mut [u8]) -> usize {
    codec.compress(scratch, src, dst).expect("fits").produced
}

fn pieces(codec: &Codec, scratch: &mut Scratch, src: &[u8], dst: &mut [u8]) -> usize {
    let mut at = 0;
    for piece in src.chunks(PIECE) {
        at += codec.compress_piece(scratch, piece, &mut dst[at..]).expect("fits").produced;
    }
    dst[at..at + 2].copy_from_slice(&[3, 0]);
    at + 2
}

fn stream(stream: &mut CompressStream, src: &[u8], dst: &mut [u8]) -> usize {
    stream.reset();
    let mut at = 0;
    for chunk in src.chunks(STEP) {
        at += stream.step(chunk, &mut dst[at..], Flush::None).expect("fits").produced;
    }
    let done = stream.step(&[], &mut dst[at..], Flush::Finish).expect("fits");
    assert_eq!(done.status, Status::End);
    at + done.produced
}

fn kernels(shape: Shape) -> Vec<(Kernel, Codec)> {
    let codecs = Kernel::ALL.iter().filter_map(|&kernel| {
        let codec = Codec::with_kernel(&Compression::default(), Cpu::host(), kernel).ok()?;
        let fits = match (shape, kernel) {
            (_, Kernel::Stored | Kernel::Libdeflate(10..)) => false,
            (Shape::Stream, _) => !matches!(kernel, Kernel::Libdeflate(_)),
            (_, _) => !matches!(kernel, Kernel::ZlibRs(_)),
        };
        fits.then_some((kernel, codec))
    });
    codecs.collect()
}

/// Kernels for text and for the rest that are tried together, at levels 1 to 3.
const CHOICES: [(Kernel, Kernel); 4] = [
    (Kernel::Igzip(2), Kernel::Libdeflate(1)),
    (Kernel::Igzip(3), Kernel::Libdeflate(1)),
    (Kernel::Igzip(3), Kernel::Libdeflate(2)),
    (Kernel::Libdeflate(1), Kernel::Libdeflate(2)),
];

fn by_content(text: &Row, other: &Row, files: &[(String, Vec<u8>)]) -> Row {
    let mut row = Row::default();
    for (index, (_, data)) in files.iter().enumerate() {
        let of = if suits_igzip(data) { text } else { other };
        row.sizes.push(of.sizes[index]);
        row.times.push(of.times[index]);
    }
    row
}

fn show(name: &str, ours: &Row, theirs: &Row, files: &[(String, Vec<u8>)], limit: f64) {
    let mut worst: Vec<(f64, &str)> = (0..files.len())
        .map(|i| (ours.sizes[i] as f64 / theirs.sizes[i] as f64, &*files[i].0))
        .collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    print!(
        "  {name:14} speed x {:5.2}  total {:6.4}  worst",
        theirs.time() / ours.time(),
        ours.size() as f64 / theirs.size() as f64
    );
    let beyond = worst.iter().filter(|(quotient, _)| *quotient > limit).count();
    worst.iter().take(beyond.clamp(1, 6)).for_each(|(q, file)| print!(" {q:.3} {file}"));
    println!("{}", if beyond > 0 { format!("  ({beyond} beyond)") } else { String::new() });
}

fn main() {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut limit, mut all, mut contents) = (1.02, false, Vec::new());
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--all" => all = true,
            "--limit" => {
                limit = arguments.next().and_then(|n| n.parse().ok()).expect("--limit QUOTIENT");
            }
            path => contents.extend(files(Path::new(path))),
        }
    }
    if contents.is_empty() {
        eprintln!("fit: no content: name one or more files or folders");
        return;
    }
    let rest: Vec<_> = contents.iter().filter(|(_, data)| !suits_igzip(data)).collect();
    println!(
        "not for igzip: {}",
        rest.iter().map(|(name, _)| &**name).collect::<Vec<_>>().join(" ")
    );
    let mut dst = vec![0; 2 * MOST];
    let mut scratch = Scratch::new();
    let mut stock: Vec<Row> = Vec::new();
    for level in 1..=9 {
        let (mut row, mut zlib) = (Row::default(), zlib::Compressor::new(level, -15));
        for (_, data) in &contents {
            measure(&mut row, data, &mut dst, |dst| zlib.compress(data, dst).expect("fits"));
        }
        stock.push(row);
    }
    for shape in [Shape::Call, Shape::Pieces, Shape::Stream] {
        let mut rows = Vec::new();
        for (kernel, codec) in kernels(shape) {
            let mut row = Row::default();
            let mut state = CompressStream::new(&codec, None).expect("a stream");
            for (_, data) in &contents {
                measure(&mut row, data, &mut dst, |dst| match shape {
                    Shape::Call => call(&codec, &mut scratch, data, dst),
                    Shape::Pieces => pieces(&codec, &mut scratch, data, dst),
                    Shape::Stream => stream(&mut state, data, dst),
                });
            }
            rows.push((kernel, row));
        }
        rows.sort_by(|(_, a), (_, b)| a.time().total_cmp(&b.time()));
        for (index, theirs) in stock.iter().enumerate() {
            println!("\n{shape:?}, level {}", index + 1);
            for (kernel, row) in &rows {
                let quotients = row.sizes.iter().zip(&theirs.sizes);
                let fits = quotients.clone().all(|(a, b)| *a as f64 <= limit * *b as f64);
                let near = row.size() as f64 <= limit * theirs.size() as f64;
                if all || fits || near {
                    show(kernel.name(), row, theirs, &contents, limit);
                }
                if fits && !all {
                    break;
                }
            }
            for (text, other) in CHOICES {
                let find = |wanted| rows.iter().find(|(kernel, _)| *kernel == wanted);
                if let (Some((_, text)), Some((_, other)), true) =
                    (find(text), find(other), index < 3)
                {
                    show(
                        "by content",
                        &by_content(text, other, &contents),
                        theirs,
                        &contents,
                        limit,
                    );
                }
            }
        }
    }
}
