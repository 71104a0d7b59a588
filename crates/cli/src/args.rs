//! The command line. Each command's options stand in its own module, or here where there are few; help, completions and
//! manual pages are made of what clap knows of them.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{
    ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, error::ErrorKind,
};

use crate::{doctor::Doctor, pages, run::Run, scan, see, serve, shares, stat, vf, xml};

/// Compression, cryptography and pattern matching behind one asynchronous interface
#[derive(Debug, Parser)]
#[command(
    name = "lookaside",
    version,
    max_term_width = 80,
    arg_required_else_help = true,
    after_help = "\
Each command has its own help: lookaside COMMAND --help. To begin with:
lookaside info, and lookaside doctor PROGRAM.

LOOKASIDE_CPU=generic|avx2|avx512bw|avx512 caps the CPU features that are used.
LOOKASIDE_CARD_LIBRARY=FILE names the libqat.so.4 of a QuickAssist card.

Exit status: 0 done; 1 the answer is no (nothing was found, a document is not
well-formed); 2 a mistaken command line, or an error. `run` has its command's,
`xml` has more."
)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What is asked for.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Info(Info),
    Doctor(Doctor),
    Capacity(Capacity),
    Model(Model),
    Run(Run),
    Top(see::top::Top),
    Metrics(see::metrics::Metrics),
    Serve(serve::Options),
    Vf(vf::Vf),
    Stat(stat::Options),
    Scan(Box<Checked<scan::Options>>),
    Xml(Checked<xml::Options>),
    Completions(pages::Completions),
    ManualPages(pages::ManualPages),
}

/// Shows what there is: the CPU, the devices, who serves what
///
/// Devices, engines, the CPU with its tier, family and features, what each device can do with which kernels, and which
/// device serves what.
#[derive(Debug, Args)]
#[command(after_long_help = INFO_JSON)]
pub(crate) struct Info {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// Print a row for each operation and algorithm, and why each route
    #[arg(long, alias = "verbose")]
    pub(crate) all: bool,
}

const INFO_JSON: &str = "\
The JSON object. New keys may come; these stay:
  version; machine {cpu_model, architecture, cpus};
  simd {tier, family, detected_tier, cap, cap_ignored, features[]};
  engines; card; devices[] {name, capabilities[] {op, algorithm,
  served_by, best_batch, max_src_bytes}};
  routes[] {op, entries[] {device, min_bytes, why}};
  settings[]; expect[] {library, what, ratio}";

/// Measures what this machine can do
///
/// In the units that orchestrators account with: throughput of DEFLATE compression at level 1, stateless, with dynamic
/// Huffman codes, 64 KB packets, in Gbit/s of uncompressed data, and decompression of the result; AES-128-CBC with
/// HMAC-SHA256 at 1 KB, and AES-128-GCM at 4 KB, in Gbit/s; RSA-2048 private operations per second. Answers are
/// checked. All measurements take turns in each of five rounds, or of up to fifteen while they lie more than a tenth
/// apart; each figure is the median of the closest five. It warns where these still differ, and where other programs
/// used more than a twentieth of the CPUs.
///
/// With --stored by costs that were measured once: what a request of each operation, algorithm and size takes of an
/// engine. They are kept in $XDG_STATE_HOME/lookaside/costs (~/.local/state), for this CPU and tier; where there are
/// none, they are measured, --seconds each. Prints total and available capacity: RSA, AES-128-CBC with HMAC-SHA256,
/// DEFLATE, patterns, XML.
#[derive(Debug, Args)]
#[command(after_long_help = CAPACITY_JSON)]
pub(crate) struct Capacity {
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
    /// How long each of the ten measurements takes, all rounds together
    #[arg(long, default_value = "2", value_name = "S", value_parser = seconds)]
    pub(crate) seconds: Duration,
    /// Measure with the files of DIR, in the order of their names; otherwise with generated data that resembles such
    /// files
    #[arg(long, value_name = "DIR")]
    pub(crate) corpus: Option<PathBuf>,
    /// By costs that were measured once
    #[arg(long, conflicts_with = "corpus")]
    pub(crate) stored: bool,
    #[command(flatten)]
    pub(crate) shares: shares::Options,
}

const CAPACITY_JSON: &str = "\
The JSON object. New keys may come; these stay:
  version; machine {cpu_model, architecture, cpus}; tier; device; engines;
  seconds; rounds; warning; slas_available: null (there is no limit);
  data {name, source_bytes, packets, packet_bytes};
  services[] {service, units, operations[] {op, ...}}: of dc
  {total_gbit_s, available_gbit_s, per_engine_gbit_s,
  one_engine_gbit_s, ratio, requests, batches, bytes,
  busy_fraction, verified_packets}, of sym {algorithm,
  total_gbit_s, available_gbit_s, per_engine_gbit_s,
  one_engine_gbit_s, packets, requests}, of pke {total_per_s,
  available_per_s, per_engine_per_s, one_engine_per_s,
  requests, batches}
  and each has spread and one_engine_spread: highest less lowest
  round, relative to the median
  ratio is compressed by uncompressed size; requests, batches,
  bytes and busy_fraction are the device's own counters over the
  measurement with all engines
With --stored: version; machine, as above; tier; engines; stored; notes[];
  services[] {service, measure, reference, unit, total, available}: null where
  nothing is known; costs[] {op, algorithm, size, ns}; functions[]; refused[]";

/// Runs a modelled device on a virtual clock
///
/// Throughput by request size and by requests outstanding, then the values that the model's source prints in its text
/// and figures beside the model's, with the deviation. Nothing is executed: to compress as with that device, parcomp -p
/// model:NAME.
#[derive(Debug, Args)]
#[command(after_long_help = MODEL_FORMAT)]
pub(crate) struct Model {
    /// card2015, chipset2019, poweren, or a file
    #[arg(value_name = "NAME|FILE")]
    pub(crate) name: String,
    /// Draw the figures, the printed values as points
    #[arg(long, value_name = "FILE.svg")]
    pub(crate) plot: Option<PathBuf>,
}

const MODEL_FORMAT: &str = "\
The file: lines NAME = VALUE; # begins a comment.
  name = example
  queue = 64            # requests in the device; beyond that it is busy
  [dc.compress]         # operations, or a service: they share the engines
  engines = 2           # requests side by side
  gbit_per_s = 24       # of all engines together, and/or ops_per_s
  latency_us = 30       # between service and answer, beside other requests";

/// A number of seconds of a measurement.
fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|s| (0.01..=3600.0).contains(s));
    let wrong = || "a number from 0.01 to 3600 is wanted".to_owned();
    seconds.map(Duration::from_secs_f64).ok_or_else(wrong)
}

/// The command line as clap knows it.
pub(crate) fn command() -> clap::Command {
    CommandLine::command()
}

/// Reads a command line, the command's own name first.
///
/// # Errors
/// What is wrong with it; or the help or version that it asks for.
pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Command, clap::Error> {
    let args = scan::values_apart(args.into_iter().collect());
    let matches = command().try_get_matches_from(args)?;
    CommandLine::from_arg_matches(&matches).map(|line| line.command)
}

/// A mistake that clap's own rules do not see, in the words of the command `path`, for example `["scan"]`.
fn mistake(path: &[&str], message: impl std::fmt::Display) -> clap::Error {
    let mut line = command();
    line.build();
    let mut command = &mut line;
    for name in path {
        command = command.find_subcommand_mut(name).expect("a command of ours");
    }
    command.error(ErrorKind::ValueValidation, message)
}

/// The options of a command, made of arguments of which clap cannot check all.
pub(crate) trait Options: Sized {
    /// As clap reads them.
    type Arguments: Args;
    /// The names of the command, whose usage is shown beside what is wrong.
    const COMMAND: &[&str];

    /// The options, or what is wrong.
    fn of(arguments: Self::Arguments) -> Result<Self, &'static str>;
}

/// Options that clap and [`Options::of`] accept.
#[derive(Debug)]
pub(crate) struct Checked<T>(pub(crate) T);

impl<T: Options> Args for Checked<T> {
    fn augment_args(command: clap::Command) -> clap::Command {
        T::Arguments::augment_args(command)
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        T::Arguments::augment_args_for_update(command)
    }
}

impl<T: Options> FromArgMatches for Checked<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Checked<T>, clap::Error> {
        let options = T::of(T::Arguments::from_arg_matches(matches)?);
        options.map(Checked).map_err(|message| mistake(T::COMMAND, message))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|new| *self = new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, clap::Error> {
        parse(["lookaside"].into_iter().chain(line.split_whitespace()).map(OsString::from))
    }

    #[test]
    fn clap_finds_no_fault() {
        command().debug_assert();
    }

    #[test]
    fn command_lines() {
        assert!(matches!(parsed("info --json"), Ok(Command::Info(Info { json: true, .. }))));
        assert!(matches!(parsed("info --verbose"), Ok(Command::Info(Info { all: true, .. }))));
        let Ok(Command::Capacity(Capacity { json: false, seconds, corpus: Some(dir), .. })) =
            parsed("capacity --seconds=0.5 --corpus d")
        else {
            panic!("capacity with options")
        };
        assert_eq!((seconds.as_millis(), dir.to_str()), (500, Some("d")));
        for line in ["info --help", "--help", "help", "capacity -h", "-V", "help xml select"] {
            let answer = parsed(line).expect_err(line);
            assert!(!answer.use_stderr(), "{line}");
        }
        for line in ["", "tops", "info x", "info --seconds 1", "info --json=1", "capacity --all"] {
            let answer = parsed(line).expect_err(line);
            assert!(answer.use_stderr(), "{line}");
        }
        assert!(
            matches!(parsed("model a/b"), Ok(Command::Model(Model { name, plot: None })) if name == "a/b")
        );
        for line in ["model --plot=p a", "model a --plot p"] {
            let Ok(Command::Model(Model { name, plot: Some(plot) })) = parsed(line) else {
                panic!("{line}")
            };
            assert_eq!((&*name, plot.to_str()), ("a", Some("p")), "{line}");
        }
        for line in ["model", "model a b", "model --json", "model a --plot", "info --plot=x"] {
            assert!(parsed(line).is_err(), "{line}");
        }
        for bad in ["0", "-1", "nan", "inf", "1e9", "x"] {
            assert!(parsed(&format!("capacity --seconds {bad}")).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_command_keeps_its_own_arguments() {
        let Ok(Command::Run(run)) = parsed("run --json --library=/d -- ls --json") else {
            panic!("run with options")
        };
        assert!(!run.openssl);
        assert_eq!((run.json, run.preload, run.library), (true, false, Some("/d".into())));
        assert_eq!(run.command, ["ls", "--json"]);
        assert!(matches!(parsed("run --openssl ls"), Ok(Command::Run(r)) if r.openssl));
        for line in ["run ls -- x", "run ls --json x", "run ls --help -V"] {
            assert!(matches!(parsed(line), Ok(Command::Run(r)) if r.command.len() == 3), "{line}");
        }
        for line in ["run", "run --", "run --json", "run --nonsense ls", "run --library"] {
            assert!(parsed(line).is_err(), "{line}");
        }
    }

    #[test]
    fn counters() {
        use see::{metrics::Metrics, screen::Order, top::Top};
        let top = |line: &str| match parsed(&format!("top {line}")) {
            Ok(Command::Top(top)) => Ok(top),
            Ok(other) => panic!("{other:?}"),
            Err(e) => Err(e),
        };
        assert_eq!(top("").unwrap(), Top::default());
        let all = "--once --width=60 --sort latency --interval 0.5 --folder /a --folder=/b";
        let given = top(all).unwrap();
        assert!(given.once && given.width == Some(60) && given.order == Order::Latency);
        assert_eq!(given.interval, Some(Duration::from_millis(500)));
        assert_eq!(given.places.folders.len(), 2);
        assert!(matches!(top("--once --json --clean"), Ok(t) if t.json && t.places.clean));
        for bad in [
            "--json",
            "--once=1",
            "--width 39",
            "--width",
            "--interval 0",
            "--interval nan",
            "--sort size",
            "--once --json --interval 1",
            "x",
            "--folder=",
        ] {
            assert!(top(bad).is_err(), "{bad}");
        }
        let metrics = |line: &str| match parsed(&format!("metrics {line}")) {
            Ok(Command::Metrics(metrics)) => Ok(metrics),
            Ok(other) => panic!("{other:?}"),
            Err(e) => Err(e),
        };
        assert_eq!(metrics("").unwrap(), Metrics::default());
        assert!(matches!(metrics("--listen 9"), Ok(m) if m.listen == Some("9".into())));
        assert!(matches!(metrics("--textfile=/x"), Ok(m) if m.textfile == Some("/x".into())));
        for bad in ["--listen 9 --textfile x", "--listen", "--once", "--clean=1"] {
            assert!(metrics(bad).is_err(), "{bad}");
        }
    }
}
