//! `parcomp bench`: draws the paper's figures on this machine.
//!
//! [`figures`] says what each figure measures and how it is told; [`measure`] runs the points that
//! they share once, in interleaved rounds; [`table`], [`chart`] and [`page`] write CSV, SVG and one
//! HTML page.

mod chart;
mod corpus;
mod figures;
mod machine;
mod measure;
mod page;
mod setting;
mod stats;
mod table;

use std::{
    fs,
    io::{IsTerminal, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use corpus::Corpus;
use figures::{Answer, Scene};
use machine::Machine;
use measure::Plan;
use page::{About, Drawn};
use setting::Setting;

const HELP: &str = "\
Draws the figures of the paper on this machine: CSV, SVG and one HTML page.

Usage: parcomp bench [OPTIONS]

      --size MB      data per measurement, in 10^6 bytes, as whole copies of the corpus that come
                     nearest (default 64; with --quick 8)
      --rounds N     measurements of each point (default 3; with --quick 1)
      --corpus DIR   compress the files of DIR (may be repeated: the first is used throughout, the
                     others for the ratio); by default the Calgary and Canterbury corpora where
                     they are found, otherwise data made by a seeded generator
      --out DIR      where to write (default target/bench where there is a target folder,
                     otherwise parcomp-bench)
      --quick        a short run: shows that everything works, not how fast it is
  -h, --help         this text

The last line of the output is the path of the page.
";

struct Options {
    size: usize,
    rounds: usize,
    corpora: Vec<String>,
    out: PathBuf,
    quick: bool,
}

enum Wish {
    Run(Options),
    Help,
}

/// Runs the command with the arguments after `bench`.
pub fn main(args: &[String]) -> ExitCode {
    let done = match parse(args) {
        Ok(Wish::Help) => {
            return print(HELP);
        }
        Ok(Wish::Run(options)) => run(&options, &command(args)),
        Err(e) => Err(format!("{e} (parcomp bench --help tells more)")),
    };
    match done {
        Ok(page) => print(&format!("{}\n", page.display())),
        Err(e) => {
            say(format_args!("parcomp bench: {e}\n"));
            ExitCode::FAILURE
        }
    }
}

/// To standard output; a reader that went away is no error of ours.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            say(format_args!("parcomp bench: stdout: {e}\n"));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// To standard error. What cannot be shown is no reason to stop.
fn say(text: std::fmt::Arguments<'_>) {
    _ = std::io::stderr().write_all(crate::plain(&text.to_string()).as_bytes());
}

fn parse(args: &[String]) -> Result<Wish, String> {
    let (mut size, mut rounds, mut out, mut quick) = (None, None, None, false);
    let mut corpora = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let (name, attached) = match arg.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (arg.as_str(), None),
        };
        let mut value = || {
            let next = || rest.next().cloned();
            attached.clone().or_else(next).ok_or(format!("{name} needs a value"))
        };
        match name {
            "--size" => size = Some(count(name, &value()?, 1, 4000)?),
            "--rounds" => rounds = Some(count(name, &value()?, 1, 1000)?),
            "--corpus" => corpora.push(value()?),
            "--out" => out = Some(PathBuf::from(value()?)),
            "--quick" => quick = true,
            "-h" | "--help" => return Ok(Wish::Help),
            other => return Err(format!("unknown option: {other}")),
        }
    }
    Ok(Wish::Run(Options {
        size: size.unwrap_or(if quick { 8 } else { 64 }) * 1_000_000,
        rounds: rounds.unwrap_or(if quick { 1 } else { 3 }),
        corpora,
        out: out.unwrap_or_else(|| match Path::new("target").is_dir() {
            true => PathBuf::from("target/bench"),
            false => PathBuf::from("parcomp-bench"),
        }),
        quick,
    }))
}

fn count(name: &str, text: &str, min: usize, max: usize) -> Result<usize, String> {
    match text.parse() {
        Ok(n) if (min..=max).contains(&n) => Ok(n),
        _ => Err(format!("{name} is {text}, not a number from {min} to {max}")),
    }
}

/// The command as one would type it again.
fn command(args: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@%+".contains(c);
    let quote = |arg: &String| match !arg.is_empty() && arg.chars().all(plain) {
        true => arg.clone(),
        false => format!("'{}'", arg.replace('\'', "'\\''")),
    };
    let words = ["parcomp".to_owned(), "bench".to_owned()].into_iter();
    words.chain(args.iter().map(quote)).collect::<Vec<_>>().join(" ")
}

fn run(options: &Options, command: &str) -> Result<PathBuf, String> {
    let machine = Machine::here();
    let corpora = Corpus::find(&options.corpora)?;
    for corpus in &corpora {
        say(format_args!("data: {}\n", corpus.origin));
    }
    // Before the minutes of measuring, not after.
    fs::create_dir_all(&options.out).map_err(|e| format!("{}: {e}", options.out.display()))?;

    let scene = Scene {
        cores: machine.cores,
        corpora: corpora.iter().map(Corpus::label).collect(),
        amounts: corpora.iter().map(|c| c.amount(options.size)).collect(),
    };
    let figures = figures::all(&scene);
    let mut plan = Plan::default();
    let places: Vec<Vec<usize>> = figures
        .iter()
        .map(|f| f.points.iter().map(|p| plan.add(p.corpus, p.setting)).collect())
        .collect();
    let start = Instant::now();
    let mut progress = Progress::new(plan.len(), options.rounds);
    let outcomes = measure::run(&plan, &corpora, options.size, options.rounds, &mut |r, n, s| {
        progress.next(r, n, s);
    })?;
    progress.finish();

    let drawn = figures.iter().zip(&places).map(|(figure, places)| {
        let pairs = figure.points.iter().zip(places);
        let answers: Vec<_> =
            pairs.map(|(point, i)| Answer { point, outcome: &outcomes[*i] }).collect();
        let drawing = figure.draw(&scene, &answers);
        Drawn { figure, answers, drawing }
    });
    let drawn: Vec<_> = drawn.collect();
    let about = About {
        machine: &machine,
        command,
        corpora: (corpora.iter().zip(&scene.amounts))
            .map(|(c, amount)| format!("{}; compressed: {amount}", c.origin))
            .collect(),
        warning: warning(options, &corpora),
        size: options.size,
        rounds: options.rounds,
        seconds: start.elapsed().as_secs_f64(),
    };
    write(&options.out, &scene, &about, &drawn)
}

fn warning(options: &Options, corpora: &[Corpus]) -> Option<String> {
    let quick = options.quick.then_some(
        "A quick run: it shows that everything works. Its times say little; leave out --quick for \
         a measurement.",
    );
    let made = corpora.iter().any(Corpus::is_generated).then_some(
        "The data is generated, because no corpus was found: compare its ratio with nothing else.",
    );
    let all: Vec<_> = [quick, made].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(" "))
}

/// Writes every file; the page last, so that it never links to what is not there.
fn write(
    out: &Path,
    scene: &Scene,
    about: &About<'_>,
    drawn: &[Drawn<'_>],
) -> Result<PathBuf, String> {
    let put = |name: String, text: &str| -> Result<PathBuf, String> {
        let path = out.join(name);
        fs::write(&path, text).map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(path)
    };
    for Drawn { figure, answers, drawing } in drawn {
        let csv = table::csv(&figure.id, &scene.corpora, answers);
        put(format!("{}.csv", figure.id), &csv)?;
        put(format!("{}.svg", figure.id), &drawing.svg)?;
    }
    put("index.html".into(), &page::html(about, drawn))
}

/// Tells on standard error what is being measured: over itself on a terminal, otherwise a line
/// per round.
struct Progress {
    points: usize,
    rounds: usize,
    terminal: bool,
    start: Instant,
}

impl Progress {
    fn new(points: usize, rounds: usize) -> Progress {
        let terminal = std::io::stderr().is_terminal();
        say(format_args!("{points} points, {rounds} rounds\n"));
        Progress { points, rounds, terminal, start: Instant::now() }
    }

    fn next(&mut self, round: usize, nth: usize, setting: &Setting) {
        let (now, rounds, points) = (round + 1, self.rounds, self.points);
        if self.terminal {
            let done = round * points + nth;
            let seconds = self.start.elapsed().as_secs_f64();
            let left = seconds / done.max(1) as f64 * (rounds * points - done) as f64;
            let left = if done > 4 { format!(", {left:.0} s left") } else { String::new() };
            let who = setting.who.name();
            let point = nth + 1;
            say(format_args!(
                "\r\x1b[Kround {now} of {rounds}, point {point} of {points}: {who}{left}"
            ));
        } else if nth == 0 {
            say(format_args!("round {now} of {rounds}\n"));
        }
    }

    fn finish(&mut self) {
        if self.terminal {
            say(format_args!("\r\x1b[K"));
        }
        say(format_args!("measured in {:.0} s\n", self.start.elapsed().as_secs_f64()));
    }
}
