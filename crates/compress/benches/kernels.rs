//! Every compressor on every input: the frontier of speed and size.
//!
//! ```sh
//! cargo bench -p lookaside-compress --bench kernels -- [--chunk BYTES] [--rounds N] [--few] [--only TEXT] [--svg FILE] PATH...
//! ```
//!
//! Every PATH is one input: a file, or a folder whose files count together. Each is cut into
//! chunks (64 KB unless told otherwise), every one compressed by itself. For every kernel: size in
//! percent of the input, MB/s, cycles for each byte and each token, and the speed as a multiple of
//! igzip's level 1 and of libdeflate's, all in CPU time, medians of interleaved rounds. Cycles are
//! of the clock at which this program ran a chain of additions before. `--few` leaves out what is
//! slower than libdeflate's level 3, `--only` all whose name does not contain TEXT. `--svg` draws all of it, one plot for each input, with the
//! frontier as a line.
//!
//! Before anything is timed, zlib decodes every result.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use lookaside_compress::{Codec, Compression, Kernel, Scratch};
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
use rivals::ZlibNg;

enum Rival {
    Ours(Box<(Codec, Scratch)>),
    Zlib(zlib::Compressor),
    ZlibNg(ZlibNg),
}

struct Entry {
    name: String,
    rival: Rival,
    size: usize,
    tokens: usize,
    times: Vec<f64>,
}

impl Entry {
    fn run(&mut self, src: &[u8], dst: &mut [u8]) -> usize {
        match &mut self.rival {
            Rival::Ours(both) => both.0.compress(&mut both.1, src, dst).expect("fits").produced,
            Rival::Zlib(zlib) => zlib.compress(src, dst).expect("fits"),
            Rival::ZlibNg(zlib) => zlib.run(src, dst).expect("fits"),
        }
    }

    fn time(&self) -> f64 {
        let mut times = self.times.clone();
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    }
}

fn entries(few: bool) -> Vec<Entry> {
    let spec = Compression::default();
    let entry = |name: String, rival| Entry { name, rival, size: 0, tokens: 0, times: vec![] };
    let mut all: Vec<Entry> = Kernel::ALL
        .into_iter()
        .filter(|kernel| match kernel {
            Kernel::Libdeflate(level) => *level <= if few { 3 } else { 12 },
            Kernel::ZlibRs(_) => !few,
            _ => true,
        })
        .filter_map(|kernel| {
            let codec = Codec::with_kernel(&spec, Cpu::host(), kernel).ok()?;
            (kernel != Kernel::Stored).then(|| {
                entry(kernel.name().into(), Rival::Ours(Box::new((codec, Scratch::new()))))
            })
        })
        .collect();
    let levels: &[i32] = if few { &[1] } else { &[1, 3, 6, 9] };
    all.extend(levels.iter().map(|&level| {
        let name = format!("zlib-{level} ({})", zlib::version());
        entry(name, Rival::Zlib(zlib::Compressor::new(level, -15)))
    }));
    let levels: &[i32] = if few { &[1] } else { &[1, 2, 6] };
    all.extend(
        levels.iter().map(|&level| {
            entry(format!("zlib-ng-{level}"), Rival::ZlibNg(ZlibNg::compressor(level)))
        }),
    );
    all
}

fn files(path: &Path) -> Vec<Vec<u8>> {
    inputs::files(path).iter().map(|path| fs::read(path).expect("readable")).collect()
}

fn measure(entries: &mut [Entry], chunks: &[&[u8]], rounds: usize) {
    let longest = chunks.iter().map(|chunk| chunk.len()).max().unwrap_or(0);
    let mut dst = vec![0; 2 * longest + 1024];
    for entry in entries.iter_mut() {
        (entry.size, entry.tokens) = (0, 0);
        entry.times.clear();
        for chunk in chunks {
            let size = entry.run(chunk, &mut dst);
            let back = zlib::decompress(-15, &dst[..size], chunk.len());
            assert!(back.as_deref() == Ok(*chunk), "{}: wrong answer", entry.name);
            entry.size += size;
            entry.tokens += blocks::parse(&dst[..size], &[]).tokens;
        }
    }
    for _ in 0..rounds {
        for entry in entries.iter_mut() {
            let start = cpu_seconds();
            for chunk in chunks {
                entry.run(chunk, &mut dst);
            }
            entry.times.push(cpu_seconds() - start);
        }
    }
}

/// A point of a plot.
struct Point {
    name: String,
    rate: f64,
    percent: f64,
}

/// Speed to the right (logarithmic), size downwards; who is on the frontier, on a line.
fn plot(svg: &mut String, top: f64, title: &str, points: &[Point]) {
    let (left, width, height) = (70.0, 820.0, 340.0);
    let rates = points.iter().map(|point| point.rate);
    let low = rates.clone().fold(f64::MAX, f64::min).log10() - 0.05;
    let high = rates.fold(0.0, f64::max).log10() + 0.25;
    let sizes = points.iter().map(|point| point.percent);
    let least = sizes.clone().fold(f64::MAX, f64::min) - 0.3;
    let most = sizes.fold(0.0, f64::max) + 0.3;
    let x = |rate: f64| left + width * (rate.log10() - low) / (high - low);
    let y = |percent: f64| top + 30.0 + height * (most - percent) / (most - least);
    let _ =
        writeln!(svg, r#"<text x="{left}" y="{}" font-weight="bold">{title}</text>"#, top + 18.0);
    let _ = writeln!(
        svg,
        r##"<rect x="{left}" y="{}" width="{width}" height="{height}" fill="none" stroke="#999"/>"##,
        top + 30.0
    );
    for rate in [2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000_u32] {
        let place = x(rate.into());
        if (left..left + width).contains(&place) {
            let bottom = top + 30.0 + height;
            let _ = writeln!(
                svg,
                r##"<path d="M{place:.1} {} V{bottom}" stroke="#eee"/><text x="{place:.1}" y="{}" text-anchor="middle" fill="#666">{rate}</text>"##,
                top + 30.0,
                bottom + 15.0
            );
        }
    }
    for step in 0..=4 {
        let percent = least + (most - least) * f64::from(step) / 4.0;
        let _ = writeln!(
            svg,
            r##"<text x="{}" y="{:.1}" text-anchor="end" fill="#666">{percent:.1} %</text>"##,
            left - 6.0,
            y(percent) + 4.0
        );
    }
    let beaten = |point: &Point| {
        points.iter().any(|other| other.rate > point.rate && other.percent < point.percent)
    };
    let mut frontier: Vec<&Point> = points.iter().filter(|point| !beaten(point)).collect();
    frontier.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let line: Vec<String> =
        frontier.iter().map(|at| format!("{:.1},{:.1}", x(at.rate), y(at.percent))).collect();
    let _ = writeln!(
        svg,
        r##"<polyline points="{}" fill="none" stroke="#c33" stroke-dasharray="4 3"/>"##,
        line.join(" ")
    );
    for point in points {
        let colour = match point.name.split('-').next() {
            Some("lookaside") => "#c33",
            Some("igzip") => "#36c",
            Some("libdeflate") => "#393",
            Some("zlib") if point.name.starts_with("zlib-rs") => "#a60",
            Some("zlib") if point.name.starts_with("zlib-ng") => "#609",
            _ => "#555",
        };
        let name = point.name.split(' ').next().unwrap_or_default();
        let _ = writeln!(
            svg,
            r#"<circle cx="{:.1}" cy="{:.1}" r="3.5" fill="{colour}"/><text x="{:.1}" y="{:.1}" fill="{colour}">{name}</text>"#,
            x(point.rate),
            y(point.percent),
            x(point.rate) + 6.0,
            y(point.percent) + 3.0
        );
    }
}

fn main() {
    let (mut chunk, mut rounds, mut few, mut svg_path) = (64 * 1024, 5, false, None);
    let (mut paths, mut only) = (Vec::new(), String::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut number = || arguments.next().and_then(|text| text.parse().ok()).expect("a number");
        match argument.as_str() {
            "--chunk" => chunk = number(),
            "--rounds" => rounds = number(),
            "--few" => few = true,
            "--only" => only = arguments.next().expect("a part of a name"),
            "--svg" => svg_path = Some(arguments.next().expect("a file")),
            // What `cargo bench` adds.
            "--bench" => {}
            path => paths.push(PathBuf::from(path)),
        }
    }
    if paths.is_empty() {
        eprintln!("kernels: no PATH given; nothing is measured");
        return;
    }
    let clock = clock();
    println!("{:.2} GHz; chunks of {chunk} bytes, {rounds} rounds", clock / 1e9);
    let mut entries = entries(few);
    entries.retain(|entry| entry.name.contains(&only));
    let (mut svg, mut top) = (String::new(), 0.0);
    for path in &paths {
        let files = files(path);
        let chunks: Vec<&[u8]> = files.iter().flat_map(|file| file.chunks(chunk)).collect();
        let total: usize = chunks.iter().map(|chunk| chunk.len()).sum();
        measure(&mut entries, &chunks, rounds);
        let title = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let of = |name: &str| entries.iter().find(|entry| entry.name == name).map(Entry::time);
        let (igzip, libdeflate) = (of("igzip-1"), of("libdeflate-1"));
        println!("\n{title}: {total} bytes");
        println!(
            "  {:18} {:>7} {:>8} {:>8} {:>8} {:>9} {:>13}",
            "", "size %", "MB/s", "c/byte", "c/token", "x igzip-1", "x libdeflate-1"
        );
        let mut points = Vec::new();
        for entry in &entries {
            let time = entry.time();
            let (rate, percent) =
                (total as f64 / time / 1e6, 100.0 * entry.size as f64 / total as f64);
            let times = |rival: Option<f64>| {
                rival.map_or("-".into(), |rival| format!("{:.2}", rival / time))
            };
            println!(
                "  {:18} {percent:7.2} {rate:8.1} {:8.2} {:8.1} {:>9} {:>13}",
                entry.name,
                clock * time / total as f64,
                clock * time / entry.tokens.max(1) as f64,
                times(igzip),
                times(libdeflate)
            );
            points.push(Point { name: entry.name.clone(), rate, percent });
        }
        plot(
            &mut svg,
            top,
            &format!("{title}, chunks of {chunk} bytes: MB/s of one core, size"),
            &points,
        );
        top += 410.0;
    }
    if let Some(path) = svg_path {
        let whole = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1000\" height=\"{top}\" font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{svg}</svg>\n"
        );
        fs::write(&path, whole).unwrap_or_else(|error| panic!("{path}: {error}"));
        println!("\ndrawn: {path}");
    }
}
