//! Options: the letters and meanings of paper 1 section 8.4, and long ones.

use std::{
    ffi::{OsStr, OsString},
    fmt,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use parcomp::{Doorbell, Format, Params, Wait};

/// What the command line asks for.
pub(crate) enum Parsed {
    Help,
    Version,
    Run(Box<Options>),
}

#[derive(Debug)]
pub(crate) struct Options {
    /// The letters of the options given.
    given: String,
    pub(crate) input: Option<PathBuf>,
    /// Inputs behind the first one.
    pub(crate) more: Vec<PathBuf>,
    pub(crate) output: Option<PathBuf>,
    pub(crate) provider: String,
    pub(crate) decompress: bool,
    pub(crate) params: Params,
    /// Whether `--format` was given.
    pub(crate) format: Option<Format>,
    pub(crate) force: bool,
    pub(crate) verify: bool,
    pub(crate) verbose: bool,
    pub(crate) quiet: bool,
    pub(crate) csv: Option<u64>,
    pub(crate) json: bool,
    pub(crate) stats: bool,
    pub(crate) mhz: Option<f64>,
    pub(crate) iterations: u64,
}

impl Options {
    fn new() -> Options {
        Options {
            given: String::new(),
            input: None,
            more: Vec::new(),
            output: None,
            provider: "lookaside".into(),
            decompress: false,
            params: Params::default(),
            format: None,
            force: false,
            verify: false,
            verbose: false,
            quiet: false,
            csv: None,
            json: false,
            stats: false,
            mhz: None,
            iterations: 1,
        }
    }

    /// Whether a library does the work, one call after the other.
    fn by_library(&self) -> bool {
        matches!(&*self.provider, "zlib" | "lz4" | "zstd")
    }

    /// The paper's options that were given and have no effect here, with data in `format`.
    pub(crate) fn without_effect(&self, format: Format) -> Option<String> {
        let library = if self.by_library() { "j" } else { "" };
        let other = match (self.decompress, format) {
            // DEFLATE's window and codes.
            (false, Format::Lz4 | Format::Zstd) => "sw",
            (false, _) => "",
            // It helps to guess how long a block becomes.
            (true, Format::Cf) => "lsw",
            (true, _) => "clsw",
        };
        let idle = self.given.chars().filter(|&c| library.contains(c) || other.contains(c));
        let idle: Vec<_> = idle.map(|c| format!("-{c}")).collect();
        (!idle.is_empty()).then(|| idle.join(", "))
    }

    /// `compare` sets the rest by itself.
    pub(crate) fn for_compare(&self) -> Result<(), Usage> {
        match self.given.chars().find(|&c| !"ioRlcjnEqF".contains(c)) {
            Some(other) => usage(format!("{} is not for compare", name_of(other))),
            None if !self.more.is_empty() => usage("compare has one input file"),
            None if matches!(self.params.format, Format::Zlib | Format::Raw | Format::Cf) => {
                usage("compare has the formats gzip, lz4 and zstd")
            }
            None if self.output.as_deref() == Some(Path::new("-")) => {
                usage("compare writes to a file")
            }
            None => Ok(()),
        }
    }
}

/// What is wrong with the command line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn no_input() -> Usage {
        Usage("no input file (- is standard input)".into())
    }
}

impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn usage<T>(message: impl Into<String>) -> Result<T, Usage> {
    Err(Usage(message.into()))
}

/// Long names and their letters; capital letters stand for options that have none.
const LONG: [(&str, char); 36] = [
    ("input", 'i'),
    ("output", 'o'),
    ("provider", 'p'),
    ("chunk", 'c'),
    ("level", 'l'),
    ("decompress", 'd'),
    ("verbose", 'v'),
    ("debug", 'g'),
    ("csv", 'x'),
    ("threads", 't'),
    ("mhz", 'f'),
    ("iterations", 'n'),
    ("affinity", 'y'),
    ("jobs", 'j'),
    ("window", 'w'),
    ("static", 's'),
    ("help", 'h'),
    ("quiet", 'q'),
    ("version", 'V'),
    ("format", 'F'),
    ("verify", 'C'),
    ("json", 'J'),
    ("force", 'R'),
    ("engines", 'E'),
    ("limit", 'L'),
    ("stats", 'S'),
    ("wait", 'W'),
    ("doorbell", 'D'),
    ("stdout", 'O'),
    ("keep", 'k'),
    // As gzip has them.
    ("to-stdout", 'O'),
    ("uncompress", 'd'),
    ("silent", 'q'),
    ("fast", '1'),
    ("best", '9'),
    ("test", 'T'),
];

/// The letters that may stand on a command line.
const SHORT: &str = "iopcldvgxtfnyajwshqVk123456789";
/// The options that have a value.
const VALUED: &str = "iopclxtfnyajwFELWD";

pub(crate) fn parse(args: &[OsString]) -> Result<Parsed, Usage> {
    let mut options = Options::new();
    let mut rest = args.iter();
    let mut only_names = false;
    while let Some(arg) = rest.next() {
        let bytes = arg.as_bytes();
        if only_names || bytes == b"-" || bytes.first() != Some(&b'-') {
            name(&mut options, arg);
        } else if bytes == b"--" {
            only_names = true;
        } else if let Some(long) = bytes.strip_prefix(b"--") {
            let (long, attached) = match long.iter().position(|&b| b == b'=') {
                Some(at) => (&long[..at], Some(OsStr::from_bytes(&long[at + 1..]).to_owned())),
                None => (long, None),
            };
            let found = LONG.iter().find(|(n, _)| n.as_bytes() == long);
            let Some(&(_, letter)) = found else {
                return usage(format!("unknown option {}", arg.to_string_lossy()));
            };
            if let Some(parsed) = one(&mut options, letter, arg, attached, &mut rest)? {
                return Ok(parsed);
            }
        } else {
            // Letters without values may be joined; one with a value takes the rest.
            let mut at = 1;
            while at < bytes.len() {
                let letter = char::from(bytes[at]);
                at += 1;
                if !SHORT.contains(letter) {
                    return usage(format!("unknown option {}", arg.to_string_lossy()));
                }
                let mut attached = None;
                if VALUED.contains(letter) && at < bytes.len() {
                    attached = Some(OsString::from_vec(bytes[at..].to_vec()));
                    at = bytes.len();
                }
                if let Some(parsed) = one(&mut options, letter, arg, attached, &mut rest)? {
                    return Ok(parsed);
                }
            }
        }
    }
    check(&options)?;
    Ok(Parsed::Run(Box::new(options)))
}

/// The long name of an option's letter.
fn name_of(letter: char) -> String {
    let found = LONG.iter().find(|(_, l)| *l == letter);
    found.map_or_else(|| format!("-{letter}"), |(name, _)| format!("--{name}"))
}

fn name(options: &mut Options, arg: &OsStr) {
    match options.input {
        None => options.input = Some(arg.into()),
        Some(_) => options.more.push(arg.into()),
    }
}

/// One option. `Some`: the command line is over.
fn one(
    o: &mut Options,
    letter: char,
    arg: &OsStr,
    attached: Option<OsString>,
    rest: &mut core::slice::Iter<'_, OsString>,
) -> Result<Option<Parsed>, Usage> {
    let shown = arg.to_string_lossy();
    let value = if VALUED.contains(letter) {
        match attached.or_else(|| rest.next().cloned()) {
            Some(value) => value,
            None => return usage(format!("{shown} needs a value")),
        }
    } else if attached.is_some() {
        return usage(format!("{shown} has no value"));
    } else {
        OsString::new()
    };
    let text = value.to_string_lossy();
    let wrong = |what: &str| Usage(format!("{shown}: {text:?} is not {what}"));
    let number = |least: u64, most: u64| match text.parse::<u64>() {
        Ok(n) if (least..=most).contains(&n) => Ok(n),
        // Who types gzip's -l wants a list.
        _ if shown == "-l" => {
            Err(wrong(&format!("a level from {least} to {most} (pargzip -l lists files)")))
        }
        _ => Err(wrong(&format!("a number from {least} to {most}"))),
    };
    let size = |least, most| number(least, most).map(|n| usize::try_from(n).unwrap_or(usize::MAX));
    let mask = |radix| {
        let prefix = if radix == 16 { ["0x", "0X"] } else { [""; 2] };
        let digits = prefix.iter().find_map(|p| text.strip_prefix(p)).unwrap_or(&text);
        match u64::from_str_radix(digits, radix) {
            Ok(mask) if mask > 0 => Ok(Some(mask)),
            _ => Err(wrong("a mask of cores")),
        }
    };
    if !o.given.contains(letter) {
        o.given.push(letter);
    }
    let p = &mut o.params;
    match letter {
        'i' => name(o, &value),
        'o' => o.output = Some(value.into()),
        'p' => o.provider = text.into_owned(),
        'c' => p.chunk_size = size(1, Params::MAX_CHUNK as u64 >> 10)? << 10,
        'l' => p.level = number(0, 22)? as u8,
        'd' => o.decompress = true,
        'v' | 'g' => o.verbose = true,
        'x' => o.csv = Some(number(1, 2)?),
        't' => p.num_threads = size(0, Params::MAX_THREADS as u64)?,
        'f' => match text.parse::<f64>() {
            Ok(mhz) if mhz > 0.0 && mhz.is_finite() => o.mhz = Some(mhz),
            _ => return Err(wrong("a frequency in MHz")),
        },
        'n' => o.iterations = number(1, 1_000_000)?,
        'y' => p.core_affinity = mask(16)?,
        'a' => p.core_affinity = mask(10)?,
        'j' => p.max_jobs_outstanding = size(1, Params::MAX_JOBS as u64)?,
        'w' => {
            let bits = text.parse().ok().and_then(Params::window_bits_of);
            p.window_bits = bits.ok_or_else(|| wrong("0 to 5 or 9 to 15"))?;
        }
        's' => p.static_huffman = true,
        'q' => o.quiet = true,
        'F' => {
            let names = "gzip, zlib, raw, cf, lz4 or zstd";
            let format = text.parse().map_err(|()| wrong(names))?;
            (o.format, p.format) = (Some(format), format);
        }
        'C' => o.verify = true,
        'J' => o.json = true,
        'R' => o.force = true,
        'E' => p.engines = Some(size(0, 1024)?),
        'L' => p.limit = Some(bytes_of(&text).ok_or_else(|| wrong("a number of bytes"))?),
        'S' => o.stats = true,
        'W' => {
            p.wait = match &*text {
                "block" => Wait::Block,
                "poll" => Wait::Poll,
                "event" => Wait::Event,
                _ => return Err(wrong("block, poll or event")),
            }
        }
        'D' => {
            p.doorbell = match &*text {
                "batch" => Doorbell::Batch,
                "request" => Doorbell::Request,
                _ => return Err(wrong("batch or request")),
            }
        }
        'O' => o.output = Some("-".into()),
        // The input file is always kept.
        'k' => {}
        '1'..='9' => p.level = letter as u8 - b'0',
        'T' => (o.decompress, o.quiet, o.output) = (true, true, Some("/dev/null".into())),
        'h' => return Ok(Some(Parsed::Help)),
        'V' => return Ok(Some(Parsed::Version)),
        _ => return usage(format!("unknown option {shown}")),
    }
    Ok(None)
}

fn check(o: &Options) -> Result<(), Usage> {
    let format = o.params.format;
    if o.provider == "zlib" && !format.is_deflate() {
        return usage(format!("zlib has no {format}; the provider {format} is its library"));
    }
    if o.provider == "zlib" && o.params.level > 9 && !o.decompress {
        return usage("zlib's levels are 0 to 9");
    }
    let (least, most) = format.levels().into_inner();
    if !(least..=most).contains(&o.params.level) && !o.decompress {
        return usage(format!("{format}'s levels are {least} to {most}"));
    }
    if o.verify && o.decompress {
        return usage("--verify is for compression: decompression checks by itself");
    }
    if o.by_library()
        && let Some(letter) = o.given.chars().find(|&c| "EWD".contains(c))
    {
        return usage(format!("{} is for the device, not for {}", name_of(letter), o.provider));
    }
    if o.json && o.csv.is_some() {
        return usage("--json or -x, not both");
    }
    if o.params.limit.is_some() && !o.decompress {
        return usage("--limit is for -d");
    }
    let own = o.output.as_ref().is_some_and(|path| path.as_os_str() != "-");
    if !o.more.is_empty() && own && !o.given.contains('T') {
        return usage("-o FILE is for one input file");
    }
    Ok(())
}

/// "100", "64K", "3M", "2G".
fn bytes_of(text: &str) -> Option<u64> {
    let (digits, shift) = match text.strip_suffix(['K', 'k']) {
        Some(d) => (d, 10),
        None => match text.strip_suffix(['M', 'm']) {
            Some(d) => (d, 20),
            None => text.strip_suffix(['G', 'g']).map_or((text, 0), |d| (d, 30)),
        },
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(line: &str) -> Result<Options, Usage> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        match parse(&args)? {
            Parsed::Run(options) => Ok(*options),
            Parsed::Help | Parsed::Version => usage("help"),
        }
    }

    #[test]
    fn the_papers_command_lines() {
        let o = run("-pzlib -icalgary.1G -otest1 -l1 -c1000000 -yffff -t16").unwrap();
        assert_eq!((&*o.provider, o.params.num_threads), ("zlib", 16));
        assert_eq!((o.input, o.output), (Some("calgary.1G".into()), Some("test1".into())));
        assert_eq!((o.params.chunk_size, o.params.core_affinity), (1_024_000_000, Some(0xffff)));
        let o =
            run("-pqat -i calgary.1G -o test1 -l 1 -c 64 -j1 -t0 -w5 -s -n3 -x2 -f2694").unwrap();
        assert_eq!((o.params.max_jobs_outstanding, o.params.window_bits), (1, 15));
        assert_eq!((o.iterations, o.csv, o.mhz), (3, Some(2), Some(2694.0)));
        assert!(o.params.static_huffman);
        assert_eq!(run("f -a 255").unwrap().params.core_affinity, Some(255));
        assert_eq!(run("f -y0xAf").unwrap().params.core_affinity, Some(0xaf));
    }

    #[test]
    fn joined_letters_long_names_and_dashes() {
        let o = run("-dvi-").unwrap();
        assert!(o.decompress && o.verbose && o.input == Some("-".into()));
        let o = run("--format=cf --level 9 --limit 3M -d -- -x").unwrap();
        assert_eq!((o.format, o.params.level), (Some(Format::Cf), 9));
        assert_eq!((o.params.limit, o.input), (Some(3 << 20), Some("-x".into())));
        let o = run("-7k f g -i h --to-stdout").unwrap();
        assert_eq!((o.params.level, o.more), (7, vec!["g".into(), "h".into()]));
        assert_eq!(run("--best").unwrap().params.level, 9);
    }

    #[test]
    fn wrong_ones_are_refused() {
        for line in [
            "-c0 f",
            "-c 1048577 f",
            "-l13 f",
            "-l -1 f",
            "-t257 f",
            "-j0 f",
            "-j257 f",
            "-w6 f",
            "-w16 f",
            "-x3 f",
            "-n0 f",
            "-y0 f",
            "-yzz f",
            "-a 0x1 f",
            "-y 0x0x1 f",
            "-y 0x f",
            "--copy f",
            "-pzlib --engines 1 f",
            "-pzlib --wait poll f",
            "-pzlib --doorbell=request f",
            "-f0 f",
            "-fnan f",
            "--nonsense f",
            "--force=1 f",
            "f g -o h",
            "f -i g -oh",
            "-0 f",
            "-l",
            "--level",
            "-pzlib -l10 f",
            "-d --verify f",
            "--json -x1 f",
            "--limit 5 f",
            "-d --limit 5X f",
            "--format lz5 f",
            "--format lz4 -l0 f",
            "--format lz4 -l13 f",
            "--format zstd -l23 f",
            "-pzlib --format lz4 f",
            "-plz4 --format lz4 --engines 1 f",
            "--wait never f",
            "--é",
        ] {
            assert!(run(line).is_err(), "{line}");
        }
    }

    #[test]
    fn nothing_is_ignored_silently() {
        let note = |line| {
            let o = run(line).unwrap();
            o.without_effect(o.params.format)
        };
        assert_eq!(note("-pzlib -j4 -l6 -w3 -s f").as_deref(), Some("-j"));
        assert_eq!(note("-d -l6 -j4 -s -w3 -c4 f").as_deref(), Some("-l, -s, -w, -c"));
        assert_eq!(note("-d -l6 -c4 --format cf f").as_deref(), Some("-l"));
        assert_eq!(note("-l6 -j4 -s -w3 f"), None);
        assert_eq!(note("-l6 -j4 -s -w3 -c4 --format lz4 f").as_deref(), Some("-s, -w"));
        assert_eq!(note("-l6 -j4 -c4 -pzstd --format zstd f").as_deref(), Some("-j"));
        let compare = |line| run(line).unwrap().for_compare();
        assert_eq!(compare("f -o g --force -l6 -c128 -j4 -n2 --engines 3 -q"), Ok(()));
        assert_eq!(compare("f --format zstd -l19"), Ok(()));
        for line in ["-t4 f", "-pzlib f", "--json f", "-x1 f", "-v f", "-s f", "--format zlib f"] {
            assert!(compare(line).is_err(), "{line}");
        }
        assert!(compare("f -o-").is_err() && compare("--stdout f").is_err());
    }

    #[test]
    fn the_tables_agree() {
        for (name, letter) in LONG {
            assert!(LONG.iter().filter(|(n, _)| *n == name).count() == 1, "{name}");
            assert!(letter.is_ascii_uppercase() || SHORT.contains(letter), "{name}");
        }
        // Behind the 30 of our own are gzip's names for some of them.
        for (name, letter) in &LONG[..30] {
            assert!(LONG[..30].iter().filter(|(_, l)| l == letter).count() == 1, "{name}");
        }
        assert!(
            SHORT
                .chars()
                .all(|c| c == 'a' || c.is_ascii_digit() || LONG.iter().any(|(_, l)| *l == c))
        );
    }
}
