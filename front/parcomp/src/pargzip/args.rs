//! The command line of gzip: letters, long options and what may shorten them, the variable `GZIP`.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
};

/// What is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Task {
    #[default]
    Compress,
    Decompress,
    Test,
    List,
}

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) task: Task,
    pub(crate) stdout: bool,
    pub(crate) keep: bool,
    pub(crate) force: bool,
    pub(crate) recursive: bool,
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
    /// Whether names and times are stored or restored; `None`: stored and not restored.
    pub(crate) names: Option<bool>,
    pub(crate) synchronous: bool,
    /// Whether each chunk becomes a member of its own.
    pub(crate) independent: bool,
    pub(crate) suffix: Vec<u8>,
    pub(crate) level: u8,
    /// Cores at work; `None`: all.
    pub(crate) processes: Option<usize>,
    pub(crate) files: Vec<OsString>,
    /// Messages that do not end the command.
    pub(crate) notes: Vec<&'static str>,
}

impl Options {
    fn new() -> Options {
        Options {
            task: Task::Compress,
            stdout: false,
            keep: false,
            force: false,
            recursive: false,
            quiet: false,
            verbose: false,
            names: None,
            synchronous: false,
            independent: false,
            suffix: b".gz".to_vec(),
            level: 6,
            processes: None,
            files: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Whether names and times are stored, or restored.
    pub(crate) fn names(&self) -> bool {
        self.names.unwrap_or(self.task == Task::Compress)
    }

    /// Whether nothing is written to files.
    pub(crate) fn only_reads(&self) -> bool {
        matches!(self.task, Task::Test | Task::List)
    }
}

#[derive(Debug)]
pub(crate) enum Parsed {
    Help,
    License,
    Version,
    Run(Box<Options>),
}

/// What is wrong with the command line, and whether `--help` is of use then.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Usage(pub(crate) String, pub(crate) bool);

fn usage<T>(message: String) -> Result<T, Usage> {
    Err(Usage(message, true))
}

/// Long names and their letters; capital letters outside of [`SHORT`] stand for options that have none.
const LONG: [(&str, char); 27] = [
    ("ascii", 'a'),
    ("bits", 'b'),
    ("to-stdout", 'c'),
    ("stdout", 'c'),
    ("decompress", 'd'),
    ("uncompress", 'd'),
    ("force", 'f'),
    ("help", 'h'),
    ("independent", 'i'),
    ("keep", 'k'),
    ("list", 'l'),
    ("license", 'L'),
    ("no-name", 'n'),
    ("name", 'N'),
    ("processes", 'p'),
    ("quiet", 'q'),
    ("silent", 'q'),
    ("synchronous", 'Y'),
    ("recursive", 'r'),
    ("suffix", 'S'),
    ("test", 't'),
    ("verbose", 'v'),
    ("version", 'V'),
    ("fast", '1'),
    ("best", '9'),
    ("lzw", 'Z'),
    ("rsyncable", 'R'),
];

/// The letters that may stand on a command line.
const SHORT: &str = "abcdfhH?iklLmMnNpqrStvVZ123456789";
/// The options that have a value.
const VALUED: &str = "bpS";
/// What the variable may have.
const IN_VARIABLE: &str = "nNqv123456789R";

/// `variable`: the value of `GZIP`. `name`: what the command is called, without folders.
pub(crate) fn parse(
    name: &[u8],
    variable: Option<&OsStr>,
    args: &[OsString],
) -> Result<Parsed, Usage> {
    let mut options = Options::new();
    if name.windows(6).any(|w| w == b"gunzip") {
        options.task = Task::Decompress;
    } else if name.windows(4).any(|w| w == b"zcat") {
        (options.task, options.stdout) = (Task::Decompress, true);
    }
    let words = variable.unwrap_or_default().as_bytes().split(|b| b" \t".contains(b));
    let words = words.filter(|w| !w.is_empty()).map(|w| OsString::from_vec(w.to_vec()));
    let words: Vec<_> = words.collect();
    if let Some(parsed) = read(&mut options, &words, true)? {
        return Ok(parsed);
    }
    // A word of the variable that is no option is no file, either.
    if let Some(word) = options.files.first() {
        let word = word.to_string_lossy();
        return usage(format!("{word}: non-option in GZIP environment variable"));
    }
    let warned = !words.is_empty();
    if let Some(parsed) = read(&mut options, args, false)? {
        return Ok(parsed);
    }
    if warned {
        let note = "warning: GZIP environment variable is deprecated; use an alias or script";
        options.notes.insert(0, note);
    }
    if options.suffix.is_empty() || options.suffix.len() > 30 || options.suffix.contains(&b'/') {
        let suffix = String::from_utf8_lossy(&options.suffix);
        return Err(Usage(format!("invalid suffix '{suffix}'"), false));
    }
    Ok(Parsed::Run(Box::new(options)))
}

fn read(o: &mut Options, args: &[OsString], variable: bool) -> Result<Option<Parsed>, Usage> {
    let mut rest = args.iter();
    let mut only_names = false;
    while let Some(arg) = rest.next() {
        let bytes = arg.as_bytes();
        if only_names || bytes == b"-" || bytes.first() != Some(&b'-') {
            o.files.push(arg.clone());
        } else if bytes == b"--" {
            only_names = true;
        } else if let Some(long) = bytes.strip_prefix(b"--") {
            let (long, attached) = match long.iter().position(|&b| b == b'=') {
                Some(at) => (&long[..at], Some(long[at + 1..].to_vec())),
                None => (long, None),
            };
            let (name, letter) = find(long)?;
            let value = match (VALUED.contains(letter), attached) {
                (false, Some(_)) => {
                    return usage(format!("option '--{name}' doesn't allow an argument"));
                }
                (false, None) => Vec::new(),
                (true, Some(value)) => value,
                (true, None) => match rest.next() {
                    Some(value) => value.as_bytes().to_vec(),
                    None => return usage(format!("option '--{name}' requires an argument")),
                },
            };
            let shown = format!("--{name}");
            if let Some(parsed) = one(o, letter, value, variable.then_some(&*shown))? {
                return Ok(Some(parsed));
            }
        } else {
            // Letters without values may be joined; one with a value takes the rest.
            let mut at = 1;
            while at < bytes.len() {
                let letter = char::from(bytes[at]);
                at += 1;
                if !SHORT.contains(letter) {
                    return usage(format!("invalid option -- '{letter}'"));
                }
                let mut value = Vec::new();
                if VALUED.contains(letter) {
                    value = match (&bytes[at..], rest.as_slice()) {
                        ([], []) => {
                            return usage(format!("option requires an argument -- '{letter}'"));
                        }
                        ([], _) => rest.next().map(|v| v.as_bytes().to_vec()).unwrap_or_default(),
                        (attached, _) => attached.to_vec(),
                    };
                    at = bytes.len();
                }
                let shown = format!("-{letter}");
                if let Some(parsed) = one(o, letter, value, variable.then_some(&*shown))? {
                    return Ok(Some(parsed));
                }
            }
        }
    }
    Ok(None)
}

/// The long option that `given` is or begins, if there is one such.
fn find(given: &[u8]) -> Result<(&'static str, char), Usage> {
    let shown = String::from_utf8_lossy(given);
    if let Some(&exact) = LONG.iter().find(|(name, _)| name.as_bytes() == given) {
        return Ok(exact);
    }
    let begun: Vec<_> = LONG.iter().filter(|(n, _)| n.as_bytes().starts_with(given)).collect();
    match begun[..] {
        [] => usage(format!("unrecognized option '--{shown}'")),
        [&first, ref others @ ..] if others.iter().all(|other| other.1 == first.1) => Ok(first),
        _ => {
            let names: Vec<_> = begun.iter().map(|(name, _)| format!("'--{name}'")).collect();
            let names = names.join(" ");
            usage(format!("option '--{shown}' is ambiguous; possibilities: {names}"))
        }
    }
}

/// One option. `Some`: the command line is over. `shown`: it is in the variable, and looks so.
fn one(
    o: &mut Options,
    letter: char,
    value: Vec<u8>,
    shown: Option<&str>,
) -> Result<Option<Parsed>, Usage> {
    if let Some(shown) = shown
        && !IN_VARIABLE.contains(letter)
    {
        return usage(format!("{shown}: option not valid in GZIP environment variable"));
    }
    let number = || std::str::from_utf8(&value).ok().and_then(|v| v.parse::<usize>().ok());
    match letter {
        'a' => o.notes.push("option --ascii ignored on this system"),
        // The bits of LZW, which is not written: nothing for gzip either.
        'b' => match number() {
            Some(_) => {}
            None => return usage("-b operand is not an integer".into()),
        },
        'c' => o.stdout = true,
        'd' => o.task = Task::Decompress,
        'f' => o.force = true,
        'h' | 'H' | '?' => return Ok(Some(Parsed::Help)),
        'i' => o.independent = true,
        'k' => o.keep = true,
        'l' => o.task = Task::List,
        'L' => return Ok(Some(Parsed::License)),
        // Times alone: gzip's manual does not have them, its program does.
        'm' | 'M' => return usage(format!("-{letter} not supported; use -n or -N")),
        'n' => o.names = Some(false),
        'N' => o.names = Some(true),
        'p' => match number() {
            Some(n @ 1..=1024) => o.processes = Some(n),
            _ => return usage("-p operand is not a number from 1 to 1024".into()),
        },
        'q' => (o.quiet, o.verbose) = (true, false),
        'r' => o.recursive = true,
        'S' => o.suffix = value,
        't' => o.task = Task::Test,
        'v' => (o.verbose, o.quiet) = (true, false),
        'V' => return Ok(Some(Parsed::Version)),
        'Y' => o.synchronous = true,
        'Z' => return usage("-Z not supported in this version".into()),
        'R' => return usage("--rsyncable not supported in this version".into()),
        digit => o.level = digit.to_digit(10).unwrap_or(6) as u8,
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(name: &str, line: &str) -> Result<Options, String> {
        let args: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        match parse(name.as_bytes(), None, &args) {
            Ok(Parsed::Run(options)) => Ok(*options),
            Ok(_) => Err("over".into()),
            Err(Usage(message, _)) => Err(message),
        }
    }

    #[test]
    fn letters_join_and_names_shorten() {
        let o = run("pargzip", "-dkfc9S.x a -- -b").unwrap();
        assert!(o.keep && o.force && o.stdout && o.task == Task::Decompress);
        assert_eq!((o.level, &*o.suffix, o.files), (9, &b".x"[..], vec!["a".into(), "-b".into()]));
        assert_eq!(run("pargzip", "--decom --suf=.y --no").unwrap().names, Some(false));
        assert_eq!(run("x-gunzip", "a").unwrap().task, Task::Decompress);
        assert!(run("zcat", "a").unwrap().stdout);
        let ambiguous = run("pargzip", "--s").unwrap_err();
        assert!(ambiguous.starts_with("option '--s' is ambiguous; possibilities: '--"));
    }

    #[test]
    fn the_variable_has_few_options() {
        let with = |variable: &str| parse(b"pargzip", Some(OsStr::new(variable)), &[]);
        let Ok(Parsed::Run(o)) = with(" -9n  -v") else { panic!("they are valid") };
        assert_eq!((o.level, o.names, o.verbose, o.notes.len()), (9, Some(false), true, 1));
        for wrong in ["-c", "--keep", "file", "-Sx"] {
            assert!(with(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_tables_agree() {
        for (name, letter) in LONG {
            assert!(SHORT.contains(letter) || "YR".contains(letter), "{name}");
        }
    }
}
