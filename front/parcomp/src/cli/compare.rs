//! A library and the device, side by side: the result of the paper in one table. Each one's output is
//! decompressed by the other and compared with the input. Of gzip the library is zlib, of LZ4 and Zstandard
//! liblz4 and libzstd.

use std::{
    fs::File,
    io::{Seek, SeekFrom},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use parcomp::{Format, Original, Params, Source, compress, output::Output, verify};

use super::{
    Failure,
    args::{Options, Usage},
    print,
    progress::Progress,
    report::{Times, Watch},
    run::with_suffix,
};

struct Row {
    name: &'static str,
    packed: u64,
    times: Times,
}

/// Returns whether there was a warning.
pub(crate) fn run(o: &Options) -> Result<bool, Failure> {
    o.for_compare()?;
    let path = o.input.as_ref().ok_or_else(Usage::no_input)?;
    let name = path.display().to_string();
    let failed = |e: std::io::Error| Failure::with(&name, e);
    let meta = std::fs::metadata(path).map_err(failed)?;
    if !meta.is_file() {
        return Err(Failure::with(&name, "compare compresses a regular file"));
    }
    let library = library(o.params.format);
    if library == "zlib" && o.params.level > 9 {
        return Err(Failure::new("zlib's levels are 0 to 9"));
    }
    let target = o.output.clone().unwrap_or_else(|| with_suffix(path, o.params.format));
    let mut rows = Vec::new();
    for provider in [library, "lookaside"] {
        // The library as a program uses it: one thread, one call after the other.
        let params = Params { num_threads: 0, ..o.params.clone() };
        let mut output = Output::create(&target, o.force, Some(meta.permissions().mode()))
            .map_err(Failure::new)?;
        if !output.keeps() {
            return Err(Failure::with(&target.display().to_string(), "is not a file"));
        }
        rows.push(one(o, provider, &params, path, &mut output)?);
        if provider == "lookaside" {
            output.commit().map_err(Failure::new)?;
        }
    }
    let table = table(&name, meta.len(), &o.params, &rows);
    Ok(print(&format!("{table}verified: {}\n", target.display())))
}

/// Compresses with one provider, the fastest of all iterations; the other one verifies.
fn one(
    o: &Options,
    name: &'static str,
    params: &Params,
    path: &Path,
    output: &mut Output,
) -> Result<Row, Failure> {
    let failed = |e| Failure::with(&path.display().to_string(), e);
    let shown = path.display().to_string();
    let provider = parcomp::provider(name).map_err(Failure::new)?;
    let mut best: Option<Times> = None;
    let mut packed = 0;
    for i in 0..o.iterations {
        if i > 0 {
            output.restart().map_err(|e| Failure::with(&shown, e))?;
        }
        let mut file = File::open(path).map_err(|e| Failure::with(&shown, e))?;
        let len = file.metadata().ok().map(|m| m.len());
        let mut progress = Progress::new(len, o.quiet);
        let watch = Watch::start();
        let source = Source::Reader { reader: &mut file, len };
        let mut update = |done, _| progress.update(done);
        let summary = compress(&*provider, params, source, output, &mut update).map_err(failed)?;
        let times = watch.stop();
        packed = summary.bytes_out;
        if best.is_none_or(|b| times.elapsed < b.elapsed) {
            best = Some(times);
        }
    }
    let mut file = File::open(path).map_err(|e| Failure::with(&shown, e))?;
    let mut back = output.file().try_clone().map_err(|e| Failure::with(&shown, e))?;
    back.seek(SeekFrom::Start(0)).map_err(|e| Failure::with(&shown, e))?;
    let source = Source::Reader { reader: &mut back, len: Some(packed) };
    let other = if name == "lookaside" { library(params.format) } else { "lookaside" };
    let other = parcomp::provider(other).map_err(Failure::new)?;
    verify(&*other, params, source, Original::Reader(&mut file)).map_err(failed)?;
    Ok(Row { name, packed, times: best.unwrap_or_default() })
}

/// The provider that is the format's library.
fn library(format: Format) -> &'static str {
    match format {
        Format::Lz4 => "lz4",
        Format::Zstd => "zstd",
        Format::Gzip | Format::Zlib | Format::Raw | Format::Cf => "zlib",
    }
}

fn table(name: &str, len: u64, params: &Params, rows: &[Row]) -> String {
    let library = library(params.format);
    let mut s = format!(
        "{name}: {:.1} MB, level {}, chunks of {} KB; {library}: 1 thread; lookaside: {} engines, \
         {} requests outstanding, 1 thread\n\n",
        len as f64 / 1e6,
        params.level,
        params.chunk_size / 1024,
        params.engines(),
        params.jobs()
    );
    s += "provider      ratio %   seconds   CPU seconds      MB/s   verified\n";
    for r in rows {
        let ratio = if len == 0 { 100.0 } else { r.packed as f64 * 100.0 / len as f64 };
        let elapsed = r.times.elapsed.as_secs_f64();
        let rate = len as f64 / 1e6 / elapsed.max(1e-9);
        let cpu = r.times.cpu().as_secs_f64();
        s += &format!(
            "{:<12} {ratio:>8.2} {elapsed:>9.3} {cpu:>13.3} {rate:>9.1}        yes\n",
            r.name
        );
    }
    if let [bare, device] = rows {
        let times = |a: f64, b: f64| a / b.max(1e-9);
        let elapsed = times(bare.times.elapsed.as_secs_f64(), device.times.elapsed.as_secs_f64());
        let cpu = times(bare.times.cpu().as_secs_f64(), device.times.cpu().as_secs_f64());
        let size = (device.packed as f64 / bare.packed.max(1) as f64 - 1.0) * 100.0;
        s += &format!(
            "\nlookaside against {library}: {elapsed:.1} x as fast, {cpu:.1} x less CPU time, \
             output {size:+.1} %\n"
        );
    }
    s
}
