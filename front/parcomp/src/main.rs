//! The command `parcomp`: compresses and decompresses files in parallel, and measures it.
//! Called `pargzip`, it stands for gzip.
#![deny(unsafe_code)]

mod bench;
mod cli;
mod pargzip;

use std::process::ExitCode;

fn main() -> ExitCode {
    let program = std::env::args_os().next();
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    if pargzip::is_meant(program.as_deref()) {
        return pargzip::main(program.as_deref(), &args);
    }
    let text = || -> Vec<String> {
        args.iter().skip(1).map(|a| a.to_string_lossy().into_owned()).collect()
    };
    match args.first().and_then(|a| a.to_str()) {
        Some("bench") => bench::main(&text()),
        Some("compare") => cli::compare(&args[1..]),
        _ => cli::main(&args),
    }
}
