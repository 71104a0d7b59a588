//! The command under the name `pargzip`: gzip's options, messages and exit statuses.
//!
//! What it does to files is in [`files`], to bytes in [`work`].

mod args;
mod files;
mod help;
mod list;
mod member;
mod names;
mod work;

use std::{
    ffi::{OsStr, OsString},
    io::{self, Write},
    os::unix::ffi::OsStrExt,
    path::Path,
    process::ExitCode,
    sync::Arc,
};

use args::{Options, Parsed, Task, Usage};
use parcomp::Provider;

/// The name that stands for gzip, where the command is called by it or by what is made from it.
pub(crate) fn is_meant(program: Option<&OsStr>) -> bool {
    let name = base(program);
    [&b"gzip"[..], b"gunzip", b"zcat"].iter().any(|gzip| name.ends_with(gzip))
}

fn base(program: Option<&OsStr>) -> &[u8] {
    let program = program.unwrap_or_default();
    Path::new(program).file_name().unwrap_or(program).as_bytes()
}

/// One call of the command.
struct Run {
    o: Options,
    /// What messages begin with.
    program: String,
    provider: Arc<dyn Provider>,
    /// The exit status so far.
    status: u8,
    totals: list::Totals,
}

/// The exit status after an error.
const ERROR: u8 = 1;
/// The exit status after a warning.
const WARNING: u8 = 2;

/// What ends the command at once, after its message.
struct Abort;

impl Run {
    /// There is nobody to tell when that fails.
    fn say(&self, text: &str) {
        _ = writeln!(io::stderr(), "{}: {text}", self.program);
    }

    /// A part of a line on standard error.
    fn tell(&self, text: &str) {
        _ = io::stderr().write_all(text.as_bytes());
    }

    fn warn(&mut self, text: &str) {
        if !self.o.quiet {
            self.say(text);
        }
        if self.status == 0 {
            self.status = WARNING;
        }
    }

    fn error(&mut self, text: &str) {
        self.say(text);
        self.status = ERROR;
    }

    /// What is wrong with the data of a file: on a line of its own, as what `-v` prints may be before it.
    fn broken(&mut self, name: &str, text: &str) {
        self.tell("\n");
        self.error(&format!("{name}: {text}"));
    }
}

/// The system's words alone.
fn words(e: &io::Error) -> String {
    crate::plain(&e.to_string())
}

/// `pargzip ...`
pub(crate) fn main(program: Option<&OsStr>, args: &[OsString]) -> ExitCode {
    let name = base(program);
    let program = String::from_utf8_lossy(name).into_owned();
    let variable = std::env::var_os("GZIP");
    let options = match args::parse(name, variable.as_deref(), args) {
        Ok(Parsed::Run(options)) => *options,
        Ok(Parsed::Help) => return print(&help::text(&program)),
        Ok(Parsed::License) => return print(help::LICENSE),
        Ok(Parsed::Version) => return print(help::VERSION),
        Err(Usage(message, hint)) => {
            let hint = match hint {
                true => format!("Try `{program} --help' for more information.\n"),
                false => String::new(),
            };
            _ = write!(io::stderr(), "{program}: {message}\n{hint}");
            return ExitCode::from(ERROR);
        }
    };
    let provider = match parcomp::provider("lookaside") {
        Ok(provider) => provider,
        Err(e) => {
            _ = writeln!(io::stderr(), "{program}: {e}");
            return ExitCode::from(ERROR);
        }
    };
    parcomp::broken_pipes_end_the_process();
    let totals = list::Totals::default();
    let mut run = Run { o: options, program, provider, status: 0, totals };
    for note in std::mem::take(&mut run.o.notes) {
        if !run.o.quiet {
            run.say(note);
        }
    }
    match run.all() {
        Ok(()) | Err(Abort) => ExitCode::from(run.status),
    }
}

impl Run {
    fn all(&mut self) -> Result<(), Abort> {
        let files = std::mem::take(&mut self.o.files);
        if files.is_empty() {
            self.stdin()?;
        }
        for file in &files {
            match file.as_bytes() {
                b"-" => self.stdin()?,
                _ => self.path(Path::new(file))?,
            }
        }
        if self.o.task == Task::List {
            self.list_totals()?;
        }
        Ok(())
    }
}

/// Prints what was asked for in place of work.
fn print(text: &str) -> ExitCode {
    parcomp::broken_pipes_end_the_process();
    match io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::from(ERROR),
    }
}
