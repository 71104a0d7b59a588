//! The `lookaside` command: what this machine's device is, and how much of it there is.
#![deny(unsafe_code)]

mod capacity;
mod costs;
mod data;
mod info;
mod load;
mod machine;
mod model;
mod openssl;
mod progress;
mod quickassist;
mod rounds;
mod rsa;
mod run;
mod scan;
mod see;
mod shares;
mod sym;
mod table;
mod xml;

use std::{
    ffi::OsString,
    io::{self, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use lookaside_simd::{CAP_VARIABLE, Cpu, Tier};

const USAGE: &str = "\
usage: lookaside info [--json] [--verbose]
       lookaside capacity [--json] [--seconds S] [--corpus DIR]
       lookaside capacity --stored [--json] [--measure] [--functions FILE]
       lookaside model NAME|FILE [--plot FILE.svg]
       lookaside run [OPTION...] [--] COMMAND [ARG...]
       lookaside top [OPTION...]
       lookaside metrics [OPTION...]
       lookaside scan [OPTION...] -e REGEX|-f RULES... [FILE|FOLDER|-]...
       lookaside xml COMMAND [OPTION...] [FILE|FOLDER|-]...
       lookaside --help | --version
";

const HELP: &str = "
lookaside info
    What there is: devices, engines, the CPU with its tier, family and features,
    what each device can do with which kernels, and which device serves what.
    --verbose      a row for each operation and algorithm, and why each route

lookaside capacity
    What it can do: measures this machine in the units that orchestrators
    account with: throughput of DEFLATE compression at level 1, stateless, with
    dynamic Huffman codes, 64 KB packets, in Gbit/s of uncompressed data, and
    decompression of the result; AES-128-CBC with HMAC-SHA256 at 1 KB, and
    AES-128-GCM at 4 KB, in Gbit/s; RSA-2048 private operations per second.
    Answers are checked. All measurements take turns in each of five rounds, or
    of up to fifteen while they lie more than a tenth apart; each figure is the
    median of the closest five. It warns where these still differ, and where
    other programs used more than a twentieth of the CPUs.
    --seconds S    how long each of the ten measurements takes (2), all rounds
                   together
    --corpus DIR   measure with the files of DIR, in the order of their names;
                   otherwise with generated data that resembles such files
    --stored       by costs that were measured once: what a request of each
                   operation, algorithm and size takes of an engine. They are
                   kept in $XDG_STATE_HOME/lookaside/costs (~/.local/state), for
                   this CPU and tier; where there are none, they are measured,
                   --seconds S each. Prints total and available capacity: RSA,
                   AES-128-CBC with HMAC-SHA256, DEFLATE, patterns, XML
    --measure      with --stored: measure the costs anew
    --functions FILE  with --stored: what is available beside the promises of
                   these virtual functions; exit status 1 if it is not enough
                   for one, which is named with the figures
    --engines N    with --stored: a device of N engines (one for each CPU)

lookaside model NAME|FILE [--plot FILE.svg]
    Runs a modelled device (card2015, chipset2019, poweren, or a file in the
    format of lookaside-model) on a virtual clock: throughput by request size
    and by requests outstanding, then the values that the model's source prints
    in its text and figures beside the model's, with the deviation. Nothing is
    executed: to compress as with that device, parcomp -p model:NAME.
    --plot FILE    draws the figures, the printed values as points

lookaside run -- COMMAND ARG...
    Runs a command with our zlib library in the place of the system's, and with
    our QuickAssist library where it is installed, in it and in every program
    that it starts, and prints to standard error what served the calls. The exit
    status is the command's.
    --library DIR  the folder of our libz.so.1, where it is not beside lookaside
    --preload      load it ahead of everything (LD_PRELOAD too): for programs
                   that have a search path of their own
    --openssl      let OpenSSL programs prefer our provider (OPENSSL_CONF), and
                   print its counters after zlib's

lookaside top
    Shows the processes that keep counters where others can read them: those of
    lookaside run, and all that were started with LOOKASIDE_COUNTERS=1. A line
    for each operation of a device, and for what a library (libz.so.1, ...)
    served on the caller's thread: requests, bytes IN and OUT; of devices the
    requests that WAIT on average, the time that 99 % wait at most (Q99), the
    service times P50 and P99 (within a factor of 2), LANES filled in a batch,
    ERRors, and what FALLs to the next device. Narrow terminals have fewer
    columns. Keys: r b l w e p sort by requests, bytes, latency, waiting,
    errors, process; q quits.
    --once         print one screen: sums since the processes began
    --json         with --once: one JSON object
    --interval S   time between two readings (1); with --once: rates over it
    --sort NAME    requests, bytes, latency, waiting, errors or process
    --width N      at most so many columns (40 to 1000)
    --folder DIR   read the pages of DIR (any number of times), not the user's
                   own, of root everybody's
    --clean        remove pages that killed processes have left; without it,
                   those older than a day

lookaside metrics
    Prints the same counters as OpenMetrics, for Prometheus and others.
    --textfile FILE  write FILE instead, in the format that the textfile
                     collector of node_exporter reads: whole, then renamed
    --listen ADDR    answer scrapes of http://ADDR/metrics: PORT (of this
                     machine alone) or HOST:PORT
    --folder DIR, --clean  as for top

lookaside scan -e REGEX|-f RULES... [FILE|FOLDER|-]...
    Finds patterns, all at once, in files, folders with all that is in them,
    standard input (- or no file), and packet captures (pcap, pcapng), of which
    each direction of a TCP or UDP flow is scanned as one text. Prints a line
    FILE:OFFSET:ID, or FILE:FLOW:OFFSET:ID, for each place where a match ends:
    all of them, as Hyperscan does, not only the longest match. OFFSET counts
    the bytes before that place; ID is the pattern's number.
    -e REGEX       a pattern; numbered from 1. Without -e and -f, the first
                   operand is one
    -f RULES       a file with a pattern in each line: id:/regex/flags (as for
                   Hyperscan: i caseless, s dotall, m multiline, H once, L with
                   start, 8 UTF-8, C combination, ...), or a rule of Snort or
                   Suricata, of which the contents and pcres are searched for
                   and the sid is the ID, or else a regex, whose number is the
                   line's. A rule is reported once for a file or flow: where
                   all of its contents and pcres have been found. What a rule
                   says beside is ignored, and listed on standard error
    -i, -F         patterns are caseless; lines are strings (not of rules)
    --text         print the line too, once for a pattern; of long ones a part
    --start        print START-OFFSET: where the longest match begins
    -c, --count    print FILE:ID:COUNT instead
    -l             print the names of files with matches instead
    --json         print an object for each line: {file, flow, offset, start,
                   id, text}; for -c {file, id, count}, for -l {file}; flow of
                   captures alone, start and text if asked for
    --color=WHEN   always, never or auto (on a terminal)
    --raw          captures are files like others
    --speed        print the rate, and what served it, to standard error
    --counters     print what the scans did, and the patterns that matched most
                   and had most candidates (strings found, around which the rest
                   was checked), to standard error; with --json as the last line
    --explain      print what became of the patterns and what they cost; scans
                   nothing
    --bench        print the rate on the files beside that of libhs.so.5 if it
                   is installed, and compare the numbers of matches
    Exit status: 0 if anything was found, 1 if not, 2 after an error.

lookaside xml COMMAND [OPTION...] [FILE|FOLDER|-]...
    Reads XML documents: files, also gzip'd ones, folders with all that is in
    them, standard input (- or no file); several side by side, with progress on
    a terminal. XML 1.0 (fifth edition) with namespaces. Nothing is fetched. A
    fault is printed to standard error as FILE:LINE:COLUMN: error: RULE, the
    standard's number first.
    check          says nothing of well-formed documents
    validate --schema FILE
                   XML Schema 1.0; schemas that FILE includes or imports are
                   looked for beside it. Faults have path, rule and value
    select XPATH   or -e XPATH...: XPath 1.0. Prints each node that is selected
                   on a line: elements as XML, others their value
                   -n PREFIX=URI  what a prefix in XPATH means
                   --stream       while the document arrives, whatever its size:
                                  names of elements, values of attributes and
                                  texts; paths that need no more than what came
    events         a line for each: kind, name, text as a JSON string
    tree           a line for each node, indented
    format         elements on lines of their own; all but white space between
                   tags stays as it is
    --external     read external entities and the external subset of the DTD
                   from the files that they name, as seen from the document; any
                   file that you can read: not for documents you do not trust
    --json         an object for each line: of check and validate {file, line,
                   column, byte, rule, message, path}, select {file, expression,
                   kind, name, value}, events and tree {kind, name, uri, text}
    --speed        print the rate, and what served it, to standard error
    Exit status: 0; 1 if a document is not well-formed or cannot be read; 2 for
    a mistaken command line; and as xmllint: 3 not valid, 5 the schema is wrong,
    6 cannot write, 10 an expression is wrong, 11 nothing was selected.

--json  Print one JSON object. New keys may come; these stay:
    info:      version; machine {cpu_model, architecture, cpus};
               simd {tier, family, detected_tier, cap, cap_ignored, features[]};
               engines; card; devices[] {name, capabilities[] {op, algorithm,
               served_by, best_batch, max_src_bytes}};
               routes[] {op, entries[] {device, min_bytes, why}}
    capacity:  version; machine, as above; tier; device; engines; seconds;
               rounds; warning; slas_available: null (there is no limit);
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
    capacity --stored: version; machine, as above; tier; engines; stored;
               notes[]; services[] {service, measure, reference, unit, total,
               available}: null where nothing is known; costs[] {op, algorithm,
               size, ns}; functions[]; refused[]

    top:       version; processes[] {pid, program, created, not_run, resets,
               no_room, operations[] {device, op, requests, src_bytes,
               dst_bytes, batches, errors, busy, rerouted, busy_ns, lanes,
               queue_ns and service_ns {total, p50, p99}}, calls[] {library,
               call, calls or count, ...}}; notes[]; removed

LOOKASIDE_CPU=generic|avx2|avx512 caps the CPU features that are used.
LOOKASIDE_CARD_LIBRARY=FILE names the libqat.so.4 of a QuickAssist card: info
says what it is, or why there is none.
Exit status: 0, 1 on failure, 2 for a mistaken command line.
";

enum Command {
    Info { json: bool, verbose: bool },
    Capacity { json: bool, seconds: Duration, corpus: Option<PathBuf> },
    Stored { json: bool, seconds: Duration, options: shares::Options },
    Model { name: String, plot: Option<PathBuf> },
    Run(run::Run),
    Top(see::top::Top),
    Metrics(see::metrics::Metrics),
    Scan(Box<scan::Options>),
    Xml(Box<xml::Options>),
    Help,
    Version,
}

/// What the command line asks for, or what is wrong with it.
fn parse(args: &[OsString]) -> Result<Command, String> {
    if let Some((name, rest)) = args.split_first()
        && name == "run"
    {
        return parse_run(rest);
    }
    if let Some((name, rest)) = args.split_first()
        && name == "scan"
    {
        let options = scan::parse(rest)?;
        return Ok(options.map_or(Command::Help, |options| Command::Scan(Box::new(options))));
    }
    if let Some((name, rest)) = args.split_first()
        && name == "xml"
    {
        let options = xml::parse(rest)?;
        return Ok(options.map_or(Command::Help, |options| Command::Xml(Box::new(options))));
    }
    if let Some((name, rest)) = args.split_first()
        && name == "top"
    {
        return Ok(see::options::top(rest)?.map_or(Command::Help, Command::Top));
    }
    if let Some((name, rest)) = args.split_first()
        && name == "metrics"
    {
        return Ok(see::options::metrics(rest)?.map_or(Command::Help, Command::Metrics));
    }
    let args: Vec<String> = args.iter().map(|a| a.to_string_lossy().into_owned()).collect();
    let Some((name, options)) = args.split_first() else {
        return Err("a command is missing".into());
    };
    let (mut json, mut verbose) = (false, false);
    let mut seconds = Duration::from_secs(2);
    let mut corpus = None;
    let (mut model, mut plot) = (None, None);
    let (mut stored, mut shares) = (false, shares::Options::default());
    let measures = name == "capacity";
    let mut options = options.iter();
    while let Some(option) = options.next() {
        // Both `--seconds 2` and `--seconds=2`.
        let (key, attached) = match option.split_once('=') {
            Some((key, value)) => (key, Some(value.to_owned())),
            None => (option.as_str(), None),
        };
        let mut value = || {
            let separate = || options.next().cloned();
            attached.clone().or_else(separate).ok_or_else(|| format!("{key} wants a value"))
        };
        match key {
            "--help" | "-h" => return Ok(Command::Help),
            "--json" if attached.is_none() && name != "model" => json = true,
            "--verbose" if attached.is_none() && name == "info" => verbose = true,
            "--seconds" if measures => seconds = parse_seconds(&value()?)?,
            "--corpus" if measures => corpus = Some(PathBuf::from(value()?)),
            "--stored" if attached.is_none() && measures => stored = true,
            "--measure" if attached.is_none() && measures => shares.measure = true,
            "--functions" if measures => shares.functions = Some(PathBuf::from(value()?)),
            "--engines" if measures => {
                let n = value()?.parse().ok().filter(|n| (1..=1024).contains(n));
                shares.engines = Some(n.ok_or("--engines wants a number from 1 to 1024")?);
            }
            "--plot" if name == "model" => plot = Some(PathBuf::from(value()?)),
            _ if name == "model" && !option.starts_with('-') && model.is_none() => {
                model = Some(option.clone());
            }
            _ => return Err(format!("unknown option {option}")),
        }
    }
    match name.as_str() {
        "info" => Ok(Command::Info { json, verbose }),
        "capacity" if stored && corpus.is_some() => Err("--corpus is not for --stored".into()),
        "capacity" if stored => Ok(Command::Stored { json, seconds, options: shares }),
        "capacity" if shares != shares::Options::default() => {
            Err("--measure, --functions and --engines are for --stored".into())
        }
        "capacity" => Ok(Command::Capacity { json, seconds, corpus }),
        "model" => match model {
            Some(name) => Ok(Command::Model { name, plot }),
            None => Err("model wants a name or a file".into()),
        },
        "help" | "--help" | "-h" => Ok(Command::Help),
        "--version" | "-V" => Ok(Command::Version),
        other => Err(format!("unknown command {other}")),
    }
}

/// The options of `lookaside run`, which end where the command begins.
fn parse_run(args: &[OsString]) -> Result<Command, String> {
    let mut run = run::Run::default();
    let mut args = args.iter();
    loop {
        let rest = args.as_slice();
        let Some(arg) = args.next() else { break };
        match arg.to_str() {
            Some("--help" | "-h") => return Ok(Command::Help),
            Some("--json") => run.json = true,
            Some("--preload") => run.preload = true,
            Some("--openssl") => run.openssl = true,
            Some("--library") => {
                run.library = Some(args.next().ok_or("--library wants a value")?.into());
            }
            Some("--") => {
                run.command = args.as_slice().to_vec();
                break;
            }
            Some(option) if option.starts_with("--library=") => {
                run.library = Some(option["--library=".len()..].into());
            }
            Some(option) if option.starts_with('-') => {
                return Err(format!("unknown option {option}"));
            }
            _ => {
                run.command = rest.to_vec();
                break;
            }
        }
    }
    match run.command.is_empty() {
        true => Err("the command to run is missing".into()),
        false => Ok(Command::Run(run)),
    }
}

fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse::<f64>().ok().filter(|s| (0.01..=3600.0).contains(s));
    seconds
        .map(Duration::from_secs_f64)
        .ok_or_else(|| format!("--seconds {text}: a number from 0.01 to 3600 is wanted"))
}

fn report(command: Command) -> Result<String, Box<dyn std::error::Error>> {
    match command {
        Command::Run(_) | Command::Scan(_) | Command::Xml(_) => Ok(String::new()),
        Command::Top(top) => see::top::run(&top).map(|()| String::new()),
        Command::Metrics(metrics) => see::metrics::run(&metrics).map(|()| String::new()),
        Command::Help => Ok(format!("{USAGE}{HELP}")),
        Command::Version => Ok(format!("lookaside {}\n", env!("CARGO_PKG_VERSION"))),
        Command::Info { json, verbose } => info::run(json, verbose),
        Command::Model { name, plot } => model::run(&name, plot.as_deref()),
        Command::Capacity { json, seconds, corpus } => {
            capacity::run(json, seconds, corpus.as_deref())
        }
        Command::Stored { json, seconds, options } => shares::run(json, seconds, &options),
    }
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().skip(1).collect();
    let command = match parse(&args) {
        Ok(command) => command,
        Err(mistake) => {
            eprint!("lookaside: {mistake}\n{USAGE}");
            return ExitCode::from(2);
        }
    };
    if let Some(unknown) = Cpu::host().unknown_cap() {
        let known = Tier::ALL.map(Tier::name).join(", ");
        eprintln!("lookaside: {CAP_VARIABLE}={unknown} is ignored: {known} are known");
    }
    if let Command::Run(run) = &command {
        return run::run(run).unwrap_or_else(|e| {
            eprintln!("lookaside: {e}");
            // As a shell says that a command could not be started.
            ExitCode::from(127)
        });
    }
    if let Command::Scan(options) = &command {
        return scan::run(options);
    }
    if let Command::Xml(options) = &command {
        return xml::run(options);
    }
    match report(command) {
        Ok(text) => match io::stdout().write_all(text.as_bytes()) {
            Ok(()) => ExitCode::SUCCESS,
            // Who reads no further wants no more.
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
            Err(e) => {
                eprintln!("lookaside: standard output: {e}");
                ExitCode::FAILURE
            }
        },
        Err(e) => {
            eprintln!("lookaside: {e}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<Command, String> {
        parse(&line.split_whitespace().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn command_lines() {
        assert!(matches!(parsed("info --json"), Ok(Command::Info { json: true, .. })));
        assert!(matches!(parsed("info --verbose"), Ok(Command::Info { verbose: true, .. })));
        let Ok(Command::Capacity { json: false, seconds, corpus: Some(dir) }) =
            parsed("capacity --seconds=0.5 --corpus d")
        else {
            panic!("capacity with options")
        };
        assert_eq!((seconds.as_millis(), dir.to_str()), (500, Some("d")));
        let Ok(Command::Stored { json: true, options, .. }) =
            parsed("capacity --json --stored --functions=f --engines 3 --measure")
        else {
            panic!("capacity by costs")
        };
        let functions = Some(PathBuf::from("f"));
        assert_eq!(options, shares::Options { measure: true, functions, engines: Some(3) });
        for mistaken in [
            "capacity --engines 3",
            "capacity --stored --engines 0",
            "capacity --measure",
            "capacity --stored --corpus d",
            "info --stored",
        ] {
            assert!(parsed(mistaken).is_err(), "{mistaken}");
        }
        for line in ["info --help", "--help", "help", "capacity -h"] {
            assert!(matches!(parsed(line), Ok(Command::Help)), "{line}");
        }
        assert!(matches!(parsed("top --once"), Ok(Command::Top(top)) if top.once));
        assert!(matches!(parsed("metrics"), Ok(Command::Metrics(_))));
        for line in [
            "",
            "tops",
            "top --json",
            "metrics x",
            "info x",
            "info --seconds 1",
            "info --json=1",
            "capacity --verbose",
        ] {
            assert!(parsed(line).is_err(), "{line}");
        }
        assert!(
            matches!(parsed("model a/b"), Ok(Command::Model { name, plot: None }) if name == "a/b")
        );
        for line in ["model --plot=p a", "model a --plot p"] {
            let Ok(Command::Model { name, plot: Some(plot) }) = parsed(line) else {
                panic!("{line}")
            };
            assert_eq!((&*name, plot.to_str()), ("a", Some("p")), "{line}");
        }
        for line in ["model", "model a b", "model --json", "model a --plot", "info --plot=x"] {
            assert!(parsed(line).is_err(), "{line}");
        }
        let Ok(Command::Run(run)) = parsed("run --json --library=/d -- ls --json") else {
            panic!("run with options")
        };
        assert!(!run.openssl);
        assert!(matches!(parsed("run --openssl ls"), Ok(Command::Run(r)) if r.openssl));
        assert_eq!((run.json, run.preload, run.library), (true, false, Some("/d".into())));
        assert_eq!(run.command, ["ls", "--json"]);
        assert!(matches!(parsed("run ls -- x"), Ok(Command::Run(r)) if r.command.len() == 3));
        for line in ["run", "run --", "run --json", "run --nonsense ls", "run --library"] {
            assert!(parsed(line).is_err(), "{line}");
        }
        for bad in ["0", "-1", "nan", "inf", "1e9", "x"] {
            assert!(parsed(&format!("capacity --seconds {bad}")).is_err(), "{bad}");
        }
    }
}
