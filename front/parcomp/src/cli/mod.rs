//! The command line: options, files, reports.

mod args;
mod compare;
mod progress;
mod report;
mod run;

use std::{ffi::OsString, fmt, io::Write, process::ExitCode};

use args::{Parsed, Usage};

/// The exit status of gunzip for "done, but look at the message".
const WARNING: u8 = 2;

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
    _ = writeln!(std::io::stderr(), "parcomp: {message}");
}

/// Prints to standard output; a reader that went away is no error of ours.
fn print(text: &str) {
    _ = std::io::stdout().write_all(text.as_bytes());
}

/// `parcomp ...`
pub(crate) fn main(args: &[OsString]) -> ExitCode {
    exit(match args::parse(args) {
        Ok(Parsed::Help) => {
            print(args::HELP);
            Ok(false)
        }
        Ok(Parsed::Version) => {
            print(concat!("parcomp ", env!("CARGO_PKG_VERSION"), "\n"));
            Ok(false)
        }
        Ok(Parsed::Run(options)) => run::run(&options),
        Err(usage) => Err(usage.into()),
    })
}

/// `parcomp compare ...`
pub(crate) fn compare(args: &[OsString]) -> ExitCode {
    exit(match args::parse(args) {
        Ok(Parsed::Help) => {
            print(args::COMPARE_HELP);
            Ok(false)
        }
        Ok(Parsed::Version) => main_version(),
        Ok(Parsed::Run(options)) => compare::run(&options).map(|()| false),
        Err(usage) => Err(usage.into()),
    })
}

fn main_version() -> Result<bool, Failure> {
    print(concat!("parcomp ", env!("CARGO_PKG_VERSION"), "\n"));
    Ok(false)
}
