//! The command `parcomp`: compresses and decompresses files in parallel, and measures it.
#![deny(unsafe_code)]

mod bench;
mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let text = || -> Vec<String> {
        args.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect()
    };
    match args.first().and_then(|a| a.to_str()) {
        Some("bench") => bench::main(&text()),
        Some("compare") => cli::compare(&args[1..]),
        _ => cli::main(&args),
    }
}
