//! Compresses or decompresses one file.

use std::{
    fs::File,
    io::{self, IsTerminal, Read, Seek, SeekFrom, Write},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use parcomp::{
    Error, Format, Original, Params, Provider, Source, Summary, compress, crc32, decompress,
    output::Output,
};

use super::{
    Failure,
    args::{Options, Usage},
    print,
    progress::Progress,
    report::{Report, Times, Watch},
    say,
};

/// Returns whether there was a warning.
pub(crate) fn run(o: &Options) -> Result<bool, Failure> {
    let provider = parcomp::provider(&o.provider).map_err(Failure::new)?;
    let mut input = Input::open(o)?;
    let mut params = o.params.clone();
    params.debug = o.verbose;
    if o.decompress {
        // Of no effect, and perhaps none of the format's.
        params.level = Params::default().level;
        if o.format.is_none() {
            params.format = input.format()?;
        }
    }
    let mut target = Target::open(o, &input, params.format)?;
    if o.iterations > 1 && !(input.again() && target.again()) {
        return Err(Failure::new("-n needs files, not pipes"));
    }
    if o.verify && !target.keeps() {
        return Err(Failure::new("--verify needs an output file"));
    }
    if let Some(idle) = o.without_effect(params.format).filter(|_| !o.quiet) {
        say(&format!("note: no effect here: {idle}"));
    }
    pin(&params);
    let mut sum = Times::default();
    let mut summary = Summary::default();
    for i in 0..o.iterations {
        if i > 0 {
            input.rewind()?;
            target.restart(&input)?;
        }
        let watch = Watch::start();
        summary = once(o, &*provider, &params, &mut input, &mut target)?;
        let times = watch.stop();
        sum.elapsed += times.elapsed;
        sum.user += times.user;
        sum.system += times.system;
    }
    if o.verify {
        verify(&*provider, &params, &mut input, &target, summary)?;
    }
    let to_stdout = matches!(target, Target::Stdout);
    target.commit()?;

    let n = u32::try_from(o.iterations).unwrap_or(u32::MAX);
    let times = Times { elapsed: sum.elapsed / n, user: sum.user / n, system: sum.system / n };
    let report = Report {
        provider: &*provider,
        params: &params,
        decompress: o.decompress,
        summary,
        times,
        iterations: o.iterations,
        mhz: o.mhz.or_else(|| if o.verbose { parcomp::clock_mhz() } else { None }),
    };
    let lost = reports(o, &report, to_stdout);
    if summary.trailing_garbage && !o.quiet {
        say(&format!("{}: decompression OK, trailing garbage ignored", input.name));
    }
    Ok(summary.trailing_garbage || lost)
}

fn once(
    o: &Options,
    provider: &dyn Provider,
    params: &Params,
    input: &mut Input,
    target: &mut Target,
) -> Result<Summary, Failure> {
    let mut progress = Progress::new(input.len, o.quiet);
    let mut watch = |done, _| progress.update(done);
    let name = input.name.clone();
    let len = input.len;
    let source = Source::Reader { reader: input, len };
    let result = match target {
        Target::File(file, _) => one_way(o, provider, params, source, file, &mut watch),
        Target::Stdout => {
            let mut out = Raw(io::stdout());
            one_way(o, provider, params, source, &mut out, &mut watch)
        }
    };
    drop(progress);
    result.map_err(|e| match e {
        // `| head` has seen enough.
        Error::Io { ref source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
            Failure::new("")
        }
        Error::Io { ref what, .. } if what == "write" => Failure::with(&target.name(), e),
        Error::Param { .. } | Error::Setup(_) | Error::Provider { .. } => Failure::new(e),
        e => Failure::with(&name, e),
    })
}

fn one_way(
    o: &Options,
    provider: &dyn Provider,
    params: &Params,
    source: Source<'_>,
    sink: &mut dyn Write,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<Summary, Error> {
    match o.decompress {
        true => decompress(provider, params, source, sink, watch),
        false => compress(provider, params, source, sink, watch),
    }
}

/// Reads the output back and compares it with the input, or with what was read of it.
fn verify(
    provider: &dyn Provider,
    params: &Params,
    input: &mut Input,
    target: &Target,
    summary: Summary,
) -> Result<(), Failure> {
    let Target::File(output, path) = target else { return Ok(()) };
    let name = path.display().to_string();
    let failed = |e| Failure::with(&name, e);
    let mut packed = output.file().try_clone().map_err(|e| Failure::with(&name, e))?;
    packed.seek(SeekFrom::Start(0)).map_err(|e| Failure::with(&name, e))?;
    let packed = Source::Reader { reader: &mut packed, len: Some(summary.bytes_out) };
    let digest = Original::Digest { len: input.tally.0, crc: input.tally.1 };
    let original = if input.again() {
        input.rewind()?;
        Original::Reader(input)
    } else {
        digest
    };
    parcomp::verify(provider, params, packed, original).map_err(failed)
}

/// Returns whether a report was lost.
fn reports(o: &Options, report: &Report<'_>, to_stdout: bool) -> bool {
    let mut text = String::new();
    if o.json {
        text += &report.json();
    } else if let Some(lines) = o.csv {
        text += &report.csv(lines);
    } else if o.verbose || !(o.quiet || to_stdout) {
        text += &report.text(o.verbose);
    }
    let mut beside = String::new();
    if o.stats && !o.json {
        // A table of another shape is no part of a CSV file.
        let place = if o.csv.is_some() { &mut beside } else { &mut text };
        *place += &report.counters_text();
    }
    // There is nobody to tell when that fails.
    _ = io::stderr().write_all(beside.as_bytes());
    if to_stdout {
        _ = io::stderr().write_all(text.as_bytes());
        false
    } else {
        print(&text)
    }
}

/// The calling thread runs on the cores of the mask, too.
fn pin(params: &Params) {
    if params.core_affinity.is_none() {
        return;
    }
    let cores = params.cores();
    let mut set = rustix::thread::CpuSet::new();
    cores.iter().for_each(|&core| set.set(core));
    if cores.is_empty() || rustix::thread::sched_setaffinity(None, &set).is_err() {
        say("warning: none of these cores is there; using any");
    }
}

/// Standard output without the line buffering of [`io::Stdout`], which would look at every byte.
struct Raw(io::Stdout);

impl Write for Raw {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.0, bytes)?)
    }

    fn write_vectored(&mut self, parts: &[io::IoSlice<'_>]) -> io::Result<usize> {
        Ok(rustix::io::writev(&self.0, parts)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Where the bytes come from.
pub(crate) struct Input {
    file: Option<File>,
    /// What was read ahead to recognise the format.
    head: Vec<u8>,
    pub(crate) name: String,
    path: Option<PathBuf>,
    pub(crate) len: Option<u64>,
    mode: Option<u32>,
    /// With `--verify` and a pipe: length and CRC-32 of what was read.
    tally: (u64, u32),
    tallies: bool,
}

impl Input {
    fn open(o: &Options) -> Result<Input, Failure> {
        let stdin = |name: &str| Input {
            file: None,
            head: Vec::new(),
            name: name.into(),
            path: None,
            len: None,
            mode: None,
            tally: (0, 0),
            tallies: o.verify,
        };
        match &o.input {
            // In a pipe.
            None if !io::stdin().is_terminal() => Ok(stdin("stdin")),
            None => Err(Usage::no_input().into()),
            Some(path) if path.as_os_str() == "-" => Ok(stdin("stdin")),
            Some(path) => {
                let name = path.display().to_string();
                let failed = |e: io::Error| Failure::with(&name, e);
                let file = File::open(path).map_err(failed)?;
                let meta = file.metadata().map_err(failed)?;
                if meta.is_dir() {
                    return Err(Failure::with(&name, "is a directory"));
                }
                let regular = meta.is_file();
                Ok(Input {
                    file: Some(file),
                    path: Some(path.clone()),
                    len: regular.then_some(meta.len()),
                    mode: regular.then(|| meta.permissions().mode()),
                    tallies: o.verify && !regular,
                    ..stdin(&name)
                })
            }
        }
    }

    /// Whether it can be read from the start again.
    fn again(&self) -> bool {
        self.len.is_some()
    }

    fn rewind(&mut self) -> Result<(), Failure> {
        self.head.clear();
        let Some(file) = &mut self.file else { return Ok(()) };
        file.seek(SeekFrom::Start(0)).map(|_| ()).map_err(|e| Failure::with(&self.name, e))
    }

    /// The format to decompress, by suffix where the data cannot tell, then by the data.
    fn format(&mut self) -> Result<Format, Failure> {
        let suffix = self.path.as_ref().and_then(|p| p.extension()).and_then(|e| e.to_str());
        for format in [Format::Cf, Format::Raw] {
            if suffix == Some(format.suffix()) {
                return Ok(format);
            }
        }
        let mut head = [0; 4];
        let mut len = 0;
        while len < head.len() {
            match self.read(&mut head[len..]) {
                Ok(0) => break,
                Ok(n) => len += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(Failure::with(&self.name, e)),
            }
        }
        self.head = head[..len].to_vec();
        Ok(parcomp::detect(&head[..len]).unwrap_or(Format::Gzip))
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = if !self.head.is_empty() {
            let n = self.head.len().min(buffer.len());
            buffer[..n].copy_from_slice(&self.head[..n]);
            self.head.drain(..n);
            n
        } else {
            match &mut self.file {
                Some(file) => file.read(buffer)?,
                // Not through std's buffer: reads go straight to ours.
                None => rustix::io::read(io::stdin(), &mut *buffer)?,
            }
        };
        if self.tallies {
            self.tally = (self.tally.0 + n as u64, crc32(self.tally.1, &buffer[..n]));
        }
        Ok(n)
    }
}

/// Where they go.
pub(crate) enum Target {
    File(Output, PathBuf),
    Stdout,
}

impl Target {
    fn open(o: &Options, input: &Input, format: Format) -> Result<Target, Failure> {
        let path = match &o.output {
            Some(path) if path.as_os_str() == "-" => None,
            Some(path) => Some(path.clone()),
            None => match &input.path {
                None => None,
                Some(path) => Some(default_name(path, o.decompress, format)?),
            },
        };
        let Some(path) = path else {
            if !o.decompress && !o.force && io::stdout().is_terminal() {
                let message = "compressed data is not written to a terminal; use -o or --force";
                return Err(Failure::new(message));
            }
            return Ok(Target::Stdout);
        };
        let output = Output::create(&path, o.force, input.mode).map_err(Failure::new)?;
        Ok(Target::File(output, path))
    }

    /// Whether it can be written once more from the start.
    fn again(&self) -> bool {
        matches!(self, Target::File(output, _) if output.restarts())
    }

    /// Whether it can be read back.
    fn keeps(&self) -> bool {
        matches!(self, Target::File(output, _) if output.keeps())
    }

    fn restart(&mut self, input: &Input) -> Result<(), Failure> {
        match self {
            Target::File(output, _) => output.restart().map_err(|e| Failure::with(&input.name, e)),
            Target::Stdout => Ok(()),
        }
    }

    fn name(&self) -> String {
        match self {
            Target::File(_, path) => path.display().to_string(),
            Target::Stdout => "stdout".into(),
        }
    }

    fn commit(self) -> Result<(), Failure> {
        match self {
            Target::File(output, _) => output.commit().map_err(Failure::new),
            Target::Stdout => Ok(()),
        }
    }
}

/// FILE.gz for FILE.
pub(crate) fn with_suffix(path: &Path, format: Format) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(format.suffix());
    name.into()
}

/// FILE.gz for FILE, and back.
fn default_name(path: &Path, decompress: bool, format: Format) -> Result<PathBuf, Failure> {
    if !decompress {
        return Ok(with_suffix(path, format));
    }
    let suffix = path.extension().and_then(|e| e.to_str()).unwrap_or_default();
    match suffix {
        "tgz" | "tzst" => Ok(path.with_extension("tar")),
        "gz" | "z" | "zz" | "zlib" | "deflate" | "cf" | "lz4" | "zst" => {
            Ok(path.with_extension(""))
        }
        _ => Err(Failure::with(&path.display().to_string(), "unknown suffix; use -o")),
    }
}
