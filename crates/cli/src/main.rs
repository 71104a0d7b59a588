//! The `lookaside` command: what this machine's device is, and how much of it there is.
#![deny(unsafe_code)]

mod args;
mod capacity;
mod costs;
mod data;
mod descriptors;
mod doctor;
mod expect;
mod info;
mod load;
mod machine;
mod model;
mod openssl;
mod pages;
mod progress;
mod quickassist;
mod replace;
mod rounds;
mod rsa;
mod run;
mod scan;
mod see;
mod serve;
mod shares;
mod stat;
mod sym;
mod table;
mod vf;
mod xml;

use std::{
    env,
    io::{self, Write},
    process::ExitCode,
};

pub(crate) use lookaside::plain_message as plain;
use lookaside_simd::{CAP_VARIABLE, Cpu, Tier};

use args::{Capacity, Command, Info, Model};

/// The exit status of a mistaken command line, and of an error.
const TROUBLE: u8 = 2;

/// What the command prints.
fn report(command: Command) -> Result<String, Box<dyn std::error::Error>> {
    match command {
        Command::Info(Info { json, all }) => info::run(json, all),
        Command::Capacity(Capacity { json, seconds, corpus, .. }) => {
            capacity::run(json, seconds, corpus.as_deref())
        }
        Command::Model(Model { name, plot }) => model::run(&name, plot.as_deref()),
        Command::Top(top) => see::top::run(&top).map(|()| String::new()),
        Command::Metrics(metrics) => see::metrics::run(&metrics).map(|()| String::new()),
        Command::Completions(completions) => Ok(completions.text()),
        Command::ManualPages(pages) => pages.write().map(|()| String::new()),
        Command::Serve(options) => serve::serve(&options),
        Command::Vf(vf) => vf::run(&vf),
        Command::Stat(options) => stat::run(&options),
        // These have exit statuses of their own.
        Command::Run(_) | Command::Scan(_) | Command::Xml(_) | Command::Doctor(_) => {
            Ok(String::new())
        }
    }
}

fn main() -> ExitCode {
    let command = match args::parse(env::args_os()) {
        Ok(command) => command,
        Err(answer) => {
            // Who reads no further wants no more.
            let _ = answer.print();
            return if answer.use_stderr() { ExitCode::from(TROUBLE) } else { ExitCode::SUCCESS };
        }
    };
    if let Some(unknown) = Cpu::host().unknown_cap() {
        let known = Tier::ALL.map(Tier::name).join(", ");
        eprintln!("lookaside: {CAP_VARIABLE}={unknown} is ignored: {known} are known");
    }
    match command {
        Command::Run(run) => run::run(&run).unwrap_or_else(|e| {
            eprintln!("lookaside: {}", plain(&e));
            // As a shell says that a command could not be started.
            ExitCode::from(127)
        }),
        Command::Scan(options) => scan::run(&options.0),
        Command::Xml(options) => xml::run(&options.0),
        Command::Capacity(Capacity { stored: true, json, seconds, shares, .. }) => {
            match shares::run(json, seconds, &shares) {
                Ok((text, refused)) if refused.is_empty() => print(Ok(text)),
                Ok((text, refused)) => {
                    print(Ok(text));
                    refused.iter().for_each(|why| eprintln!("lookaside: {why}"));
                    ExitCode::FAILURE
                }
                Err(e) => print(Err(e)),
            }
        }
        Command::Doctor(doctor) => match doctor::run(&doctor) {
            Ok((text, true)) => print(Ok(text)),
            Ok((text, false)) => {
                print(Ok(text));
                ExitCode::FAILURE
            }
            Err(e) => print(Err(e)),
        },
        other => print(report(other)),
    }
}

/// Prints a report, or why there is none.
fn print(report: Result<String, Box<dyn std::error::Error>>) -> ExitCode {
    let written = report.map(|text| io::stdout().write_all(text.as_bytes()));
    match written {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(e)) if e.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Ok(Err(e)) => {
            eprintln!("lookaside: standard output: {}", plain(&e));
            ExitCode::from(TROUBLE)
        }
        Err(e) => {
            eprintln!("lookaside: {}", plain(&e));
            ExitCode::from(TROUBLE)
        }
    }
}
