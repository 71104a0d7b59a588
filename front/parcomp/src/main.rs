//! The command `parcomp`: compresses and decompresses files in parallel, and measures it.
//! Called `pargzip`, it stands for gzip.
#![deny(unsafe_code)]

#[cfg(feature = "bench")]
mod bench;
mod cli;
mod pargzip;

use std::process::ExitCode;

use lookaside::plain_message as plain;

fn main() -> ExitCode {
    let program = std::env::args_os().next();
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    if pargzip::is_meant(program.as_deref()) {
        return pargzip::main(program.as_deref(), &args);
    }
    match args.first().and_then(|a| a.to_str()) {
        Some("bench") => bench(&args[1..]),
        Some("compare") => cli::compare(&args[1..]),
        _ => cli::main(&args),
    }
}

#[cfg(feature = "bench")]
fn bench(args: &[std::ffi::OsString]) -> ExitCode {
    let text: Vec<_> = args.iter().map(|arg| arg.to_string_lossy().into_owned()).collect();
    bench::main(&text)
}

#[cfg(not(feature = "bench"))]
fn bench(_: &[std::ffi::OsString]) -> ExitCode {
    eprintln!(
        "parcomp: built without the feature bench, as it is installed; in the sources: make bench"
    );
    ExitCode::from(2)
}
