//! The command line of `lookaside scan`.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
};

use clap::{
    Arg, ArgAction, ArgMatches, Args, FromArgMatches, ValueEnum,
    builder::{OsStringValueParser, ValueParser},
};

use super::{
    report::Style,
    rules::{Reading, Source},
};
use crate::args;

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Options {
    pub(super) sources: Vec<Source>,
    pub(super) paths: Vec<OsString>,
    pub(super) reading: Reading,
    pub(super) style: Style,
    /// Captures are files as any.
    pub(super) raw: bool,
    pub(super) speed: bool,
    pub(super) counters: bool,
    pub(super) explain: bool,
    pub(super) bench: bool,
}

/// Finds patterns in files, folders, packet captures
///
/// All patterns at once, in files, folders with all that is in them, standard input (- or no file), and packet captures
/// (pcap, pcapng), of which each direction of a TCP or UDP flow is scanned as one text. Prints a line FILE:OFFSET:ID, or
/// FILE:FLOW:OFFSET:ID, for each place where a match ends: all of them, as Hyperscan does, not only the longest match.
/// OFFSET counts the bytes before that place; ID is the pattern's number.
#[derive(Args)]
#[command(
    override_usage = "lookaside scan [OPTIONS] REGEX [FILE|FOLDER|-]...\n       \
                      lookaside scan [OPTIONS] -e REGEX|-f RULES... [FILE|FOLDER|-]...",
    after_help = "Exit status: 0 if anything was found, 1 if not, 2 after an error."
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    patterns: Patterns,
    /// Patterns are caseless (not those of rules)
    #[arg(short, long)]
    ignore_case: bool,
    /// Patterns are strings (not those of rules)
    #[arg(short = 'F', long)]
    fixed_strings: bool,
    /// Print the line too, once for a pattern; of long ones a part
    #[arg(long, conflicts_with_all = ["count", "files_with_matches"])]
    text: bool,
    /// Print START-OFFSET: where the longest match begins
    #[arg(long, conflicts_with_all = ["count", "files_with_matches"])]
    start: bool,
    /// Print FILE:ID:COUNT instead
    #[arg(short, long, conflicts_with = "files_with_matches")]
    count: bool,
    /// Print the names of files with matches instead
    #[arg(short = 'l', long)]
    files_with_matches: bool,
    /// Print an object for each line
    ///
    /// {file, flow, offset, start, id, text}; for -c {file, id, count}, for -l {file}; flow of captures alone, start and
    /// text if asked for
    #[arg(long, conflicts_with_all = ["explain", "bench"])]
    json: bool,
    /// When to colour the output
    #[arg(
        long, alias = "colour", value_name = "WHEN", num_args = 0..=1, require_equals = true, default_value = "auto",
        default_missing_value = "always", hide_possible_values = true
    )]
    color: Color,
    /// Captures are files like others
    #[arg(long)]
    raw: bool,
    /// Print the rate, and what served it, to standard error
    #[arg(long)]
    speed: bool,
    /// Print what the scans did, and the patterns that matched most
    ///
    /// And those that had most candidates (strings found, around which the rest was checked); to standard error, with
    /// --json as the last line
    #[arg(long, conflicts_with_all = ["explain", "bench"])]
    counters: bool,
    /// Print what became of the patterns and what they cost; scans nothing
    #[arg(long, conflicts_with = "bench")]
    explain: bool,
    /// Print the rate on the files beside that of libhs.so.5
    ///
    /// If it is installed; compares the numbers of matches
    #[arg(long)]
    bench: bool,
    /// Files, folders and captures; before them REGEX, without -e and -f
    #[arg(value_name = "FILE|FOLDER|-", value_hint = clap::ValueHint::AnyPath)]
    operands: Vec<OsString>,
}

/// When output has colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Color {
    /// On a terminal.
    Auto,
    Always,
    Never,
}

// `-e` and `-f` in the order of the command line, in which patterns are numbered.
struct Patterns(Vec<Source>);

impl Args for Patterns {
    fn augment_args(command: clap::Command) -> clap::Command {
        // Also a value that begins with a dash.
        let option = |id: &'static str, letter, value| {
            let parser = ValueParser::from(OsStringValueParser::new());
            let option = Arg::new(id).short(letter).long(id).value_name(value).value_parser(parser);
            option.action(ArgAction::Append).allow_hyphen_values(true)
        };
        let expression = option("regexp", 'e', "REGEX").help("A pattern; numbered from 1");
        let file = option("file", 'f', "RULES")
            .value_hint(clap::ValueHint::FilePath)
            .help("A file with a pattern, or a rule of Snort or Suricata, in each line")
            .long_help(
                "A file with a pattern in each line: id:/regex/flags (as for Hyperscan: i caseless, s dotall, \
                 m multiline, H once, L with start, 8 UTF-8, C combination, ...), or a rule of Snort or Suricata, of \
                 which the contents and pcres are searched for and the sid is the ID, or else a regex, whose number \
                 is the line's. A rule is reported once for a file or flow: where all of its contents and pcres have \
                 been found. What a rule says beside is ignored, and listed on standard error",
            );
        command.arg(expression).arg(file)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Patterns {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Patterns, clap::Error> {
        let mut found: Vec<(usize, Source)> = Vec::new();
        for (id, source) in [
            ("regexp", expression as fn(&OsStr) -> Source),
            ("file", |path| Source::File(path.into())),
        ] {
            let values = matches.get_many::<OsString>(id).into_iter().flatten();
            let places = matches.indices_of(id).into_iter().flatten();
            found.extend(places.zip(values.map(|value| source(value))));
        }
        found.sort_by_key(|(place, _)| *place);
        Ok(Patterns(found.into_iter().map(|(_, source)| source).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|new| *self = new)
    }
}

fn expression(text: &OsStr) -> Source {
    Source::Expression(text.as_bytes().to_vec())
}

impl args::Options for Options {
    type Arguments = Arguments;
    const COMMAND: &[&str] = &["scan"];

    fn of(arguments: Arguments) -> Result<Options, &'static str> {
        let Arguments { patterns: Patterns(mut sources), mut operands, color, .. } = arguments;
        if sources.is_empty() {
            // As grep: the first operand.
            if operands.is_empty() {
                return Err("scan wants REGEX, -e REGEX or -f RULES");
            }
            sources.push(expression(&operands.remove(0)));
        }
        if color == Color::Always && arguments.json {
            return Err("--color and --json do not go together");
        }
        let mut options = Options {
            sources,
            paths: operands,
            style: Style {
                rows: !arguments.count && !arguments.files_with_matches,
                text: arguments.text,
                start: arguments.start,
                count: arguments.count,
                files: arguments.files_with_matches,
                json: arguments.json,
                color: match color {
                    Color::Always => true,
                    Color::Never => false,
                    Color::Auto => Style::terminal() && !arguments.json,
                },
            },
            reading: Reading { literal: arguments.fixed_strings, ..Reading::default() },
            raw: arguments.raw,
            speed: arguments.speed,
            counters: arguments.counters,
            explain: arguments.explain,
            bench: arguments.bench,
        };
        options.reading.flags.caseless = arguments.ignore_case;
        options.reading.flags.som_leftmost = arguments.start;
        Ok(options)
    }
}

/// `-e=x`, which is the pattern `=x`, as two arguments: clap would drop the sign.
pub(crate) fn values_apart(args: Vec<OsString>) -> Vec<OsString> {
    if args.get(1).is_none_or(|name| name != "scan") {
        return args;
    }
    let mut apart = Vec::with_capacity(args.len());
    let mut only_operands = false;
    for arg in args {
        only_operands |= arg == "--";
        let bytes = arg.as_bytes();
        let sign = bytes.iter().position(|&byte| byte == b'=').filter(|_| !only_operands);
        match sign.map(|at| bytes.split_at(at)) {
            Some(([b'-', letters @ .., b'e' | b'f'], _))
                if letters.iter().all(|letter| b"iFcl".contains(letter)) =>
            {
                let (option, value) = bytes.split_at(bytes.len().min(letters.len() + 2));
                apart.extend([option, value].map(|part| OsStr::from_bytes(part).to_owned()));
            }
            _ => apart.push(arg),
        }
    }
    apart
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Command, parse};

    fn parsed(line: &str) -> Result<Options, clap::Error> {
        let args = ["lookaside", "scan"].into_iter().chain(line.split_whitespace());
        match parse(args.map(OsString::from))? {
            Command::Scan(options) => Ok(options.0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn as_grep() {
        let options = parsed("-ic x a b").unwrap();
        assert_eq!(options.sources, [Source::Expression(b"x".into())]);
        assert_eq!(options.paths, ["a", "b"]);
        assert!(options.reading.flags.caseless && options.style.count && !options.style.rows);
        let options = parsed("-ex -e y -f r --file=s --regexp=a=b -e -v -ie=w - -- -e=z").unwrap();
        let [file, text] =
            [|p: &str| Source::File(p.into()), |t: &str| Source::Expression(t.into())];
        let expected =
            [text("x"), text("y"), file("r"), file("s"), text("a=b"), text("-v"), text("=w")];
        assert_eq!(options.sources, expected);
        assert_eq!(options.paths, ["-", "-e=z"]);
        assert!(options.reading.flags.caseless);
        let style = parsed("x --color=always --start").unwrap().style;
        assert!(style.color && style.start && style.rows);
        assert!(parsed("x --colour y").unwrap().style.color);
    }

    #[test]
    fn mistakes() {
        for line in [
            "",
            "-e",
            "-x y",
            "--nonsense y",
            "x --color=blue",
            "x --count=1",
            "x -cl",
            "x --explain --bench",
            "x --text -c",
            "x --json --color",
            "x --counters --bench",
        ] {
            let error = parsed(line).expect_err(line);
            assert_eq!(error.exit_code(), 2, "{line}");
            assert!(error.to_string().starts_with("error: "), "{error}");
        }
        assert_eq!(parsed("--help").unwrap_err().exit_code(), 0);
    }
}
