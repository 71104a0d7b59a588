//! The command line: options, files, reports.

mod args;
mod compare;
mod help;
mod progress;
mod report;
mod run;

use std::{ffi::OsString, fmt, io::Write, process::ExitCode};

use args::{Options, Parsed, Usage};

/// The exit status of gunzip for "done, but look at the message".
const WARNING: u8 = 2;

const VERSION: &str = concat!("parcomp ", env!("CARGO_PKG_VERSION"), "\n");

/// Why the command ends without success: a message. Empty: there is nobody to tell.
#[derive(Debug)]
pub(crate) struct Failure(String);

impl Failure {
    fn new(message: impl fmt::Display) -> Failure {
        Failure(message.to_string())
    }

    /// What went wrong with which file.
    fn with(name: &str, e: impl fmt::Display) -> Failure {
        Failure(format!("{name}: {e}"))
    }
}

impl From<Usage> for Failure {
    fn from(u: Usage) -> Failure {
        Failure(format!("{u}; see -h"))
    }
}

/// Ends with the status that the result asks for. `Ok(true)`: there was a warning.
fn exit(result: Result<bool, Failure>) -> ExitCode {
    match result {
        Ok(false) => ExitCode::SUCCESS,
        Ok(true) => ExitCode::from(WARNING),
        Err(Failure(message)) => {
            if !message.is_empty() {
                say(&message);
            }
            ExitCode::FAILURE
        }
    }
}

/// A line on standard error. There is nobody to tell when that fails.
fn say(message: &str) {
    _ = writeln!(std::io::stderr(), "parcomp: {}", crate::plain(message));
}

/// Prints to standard output, and says whether that failed. A reader that went away is no error of
/// ours.
fn print(text: &str) -> bool {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            say(&format!("stdout: {e}"));
            true
        }
        _ => false,
    }
}

/// `parcomp ...`
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    exit(match args::parse(args) {
        Ok(Parsed::Help) => Ok(print(help::HELP)),
        Ok(Parsed::Version) => Ok(print(VERSION)),
        Ok(Parsed::Run(options)) => each(*options),
        Err(usage) => Err(usage.into()),
    })
}

/// One input after the other; what is wrong with one is said, and the others follow.
fn each(mut options: Options) -> Result<bool, Failure> {
    let more = std::mem::take(&mut options.more);
    let mut result = run::run(&options);
    for input in more {
        options.input = Some(input);
        let next = run::run(&options);
        result = match (result, next) {
            (Err(Failure(message)), next) => {
                if !message.is_empty() {
                    say(&message);
                }
                // The last message is left to say.
                Err(next.err().unwrap_or(Failure(String::new())))
            }
            (Ok(_), Err(failure)) => Err(failure),
            (Ok(warned), Ok(also)) => Ok(warned || also),
        };
    }
    result
}

/// `parcomp compare ...`
pub(crate) fn compare(args: &[OsString]) -> ExitCode {
    exit(match args::parse(args) {
        Ok(Parsed::Help) => Ok(print(help::COMPARE_HELP)),
        Ok(Parsed::Version) => Ok(print(VERSION)),
        Ok(Parsed::Run(options)) => compare::run(&options),
        Err(usage) => Err(usage.into()),
    })
}
